"""Frozen records that one step passes to the next.

Nothing here computes: a record is the result of a step, and can be printed, compared and saved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from itertools import groupby, pairwise
from typing import Annotated, Any, Literal, TypeVar, get_args, overload

import numpy as np
import numpy.typing as npt

from gramian.core.checks import amount, counted, duration, rounded_up
from gramian.core.notebook import InNotebook

FloatArray = npt.NDArray[np.float64]
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
IntArray = npt.NDArray[np.int64]
IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]
# float32 or float64, as the data. A fit to arrays of another kind, as PyTorch's, returns that kind instead.
RealArray = npt.NDArray[np.floating[Any]]
Seed = int | np.random.RandomState | np.random.Generator | None
# Notes on attributes and fields of model files: no entry is below 0; may be missing.
POSITIVE, OPTIONAL = ">= 0", "optional"
BoundKind = Literal["deterministic", "probabilistic", "estimate"]
BOUND_KINDS = get_args(BoundKind)  # the strongest first
# That a bound from products with a few Gaussian columns is wrong: what the risk of every probe is.
PROBE_PROBABILITY = 1e-6
SENTENCES = 3  # about clusters of components, before the others are counted
MATRICES = {
    "covariance": "covariance matrix",
    "gram": "dual Gram matrix",
    "centered kernel": "centred kernel matrix",
}


class Members(Sequence[T_co]):
    """A dataclass that is the sequence of what its first field has; a slice is a tuple."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        return getattr(self, fields(self)[0].name)[index]  # type: ignore[arg-type, no-any-return]


def _in_unit(record: T, factor: float, *names: str) -> T:
    """Return a record with the fields of these names in another unit; what is unknown stays None."""
    fields = {name: value for name in names if (value := getattr(record, name)) is not None}
    return replace(record, **{name: value * factor for name, value in fields.items()})  # type: ignore[type-var]


class ModelKind(Enum):
    """What a fitted model is, for whoever shows it or applies it.

    Attributes
    ----------
    has_components : bool
        Whether it consists of eigenpairs, with a plan and a certificate.
    faces, kernel, whitens : bool
        Whether it is a space of faces, has components in a kernel's feature space, or whitens rows.
    linear : bool
        Whether ``components_`` are directions in the space of the columns.
    gives_scores : bool
        Whether rows are mapped to scores, and back.
    """

    PCA = "PCA"
    KERNEL_PCA = "KernelPCA"
    WHITENER = "Whitener"
    FACES = "FaceSpace"
    MONITOR = "Monitor"
    OTHER = ""

    def __init__(self, name: str) -> None:
        self.has_components = name not in ("", "Monitor")
        self.faces, self.kernel, self.whitens = name == "FaceSpace", name == "KernelPCA", name == "Whitener"
        self.linear, self.gives_scores = name in ("PCA", "Whitener"), name in ("PCA", "KernelPCA")


@dataclass(frozen=True)
class Target:
    """How many eigenpairs are wanted: a number, a fraction of the trace, or all; ``name`` in words."""

    count: int | None = None
    fraction: float | None = None
    name: str = ""

    def __str__(self) -> str:
        if self.name:
            return self.name
        if self.count is not None:
            return counted(self.count, "component")
        if self.fraction is not None:
            return f"{self.fraction:.6g} of the total"
        return "all components"


@dataclass(frozen=True)
class Calls:
    """Cost of a user's function as a kernel.

    Attributes
    ----------
    seconds : float
        Of one value.
    scalar : bool
        Whether each value is a call.
    """

    seconds: float
    scalar: bool


@dataclass(frozen=True, eq=False)
class SolveRequest:
    """How many pairs an estimator wants, how accurate, in how much memory.

    Attributes
    ----------
    target : Target
    tol : float
        Bound on residuals relative to the largest eigenvalue.
    memory_limit : int
        Bytes of working memory, without the data and the results.
    solver : str
        ``"auto"``, or the name of the solver that comes first.
    seeds : sequence of int, optional
        Of the random streams.
    vectors : bool
        Whether eigenvectors are wanted, or eigenvalues only.
    certify : bool
        Whether the answer is certified.
    resident_bytes : int
        Bytes read from a file, already subtracted from ``memory_limit``; messages name them.
    """

    target: Target
    tol: float
    memory_limit: int
    solver: str = "auto"
    seeds: Sequence[int] | None = None
    vectors: bool = True
    certify: bool = True
    resident_bytes: int = 0

    @cached_property
    def solver_rng(self) -> np.random.Generator:
        """Start of an iteration; direct routes draw nothing."""
        return random_stream(self.seeds, 0)

    @cached_property
    def probe_rng(self) -> np.random.Generator:
        """Start of the probe that certifies."""
        return random_stream(self.seeds, 1)


def random_stream(seeds: Sequence[int] | None, index: int) -> np.random.Generator:
    """Return one of the independent streams of these seeds; without seeds one that is always the same."""
    if seeds is None:
        return np.random.default_rng(index)
    return np.random.default_rng(np.random.SeedSequence(seeds, spawn_key=(index,)))


@dataclass(frozen=True)
class Step:
    """One piece of work in a plan, with its predicted cost."""

    name: str
    detail: str
    seconds: float


@dataclass(frozen=True)
class Cost:
    """Predicted cost of a route: its steps, and bytes without the input and the results."""

    steps: tuple[Step, ...]
    bytes: int

    @property
    def seconds(self) -> float:
        """Predicted seconds on two ordinary cores."""
        return sum(step.seconds for step in self.steps)


@dataclass(frozen=True)
class Alternative:
    """A route that was not taken, with its predicted cost."""

    solver: str
    matrix: str
    storage: str
    arithmetic: str
    seconds: float
    bytes: int

    def __str__(self) -> str:
        where = f"{self.solver} on the {self.matrix}, {self.storage}, in {self.arithmetic}"
        return f"{where}: about {duration(self.seconds)} and {amount(self.bytes)}"


@dataclass(frozen=True, repr=False)
class Plan(InNotebook):
    """The route to the eigenpairs, chosen before any work; for a fitted model, the one that ran.

    Attributes
    ----------
    operator : str
        The symmetric matrix whose eigenpairs are computed: ``"covariance"``, ``"gram"``,
        ``"centered kernel"`` or ``"data (SVD)"``.
    solver : str
        The solver's name as the estimator's ``solver`` parameter spells it.
    steps : tuple of Step
        What is done, in order, each with predicted seconds.
    bytes : int
        Predicted peak of working memory, without the input and the returned arrays.
    reason : str
        Why this route, in a sentence.
    arithmetic : str
        What most of the work is done in: ``"float32"`` or ``"float64"``.
    alternatives : tuple of Alternative
        What else meets the tolerance and fits the memory limit, cheapest first.
    took : float or None
        Measured seconds, once it has run.
    matrices : tuple of str
        For ``PCA.plan``: the size of the covariance and of the dual Gram matrix, and how the work of a direct
        decomposition of each grows with n rows and d columns.

    Examples
    --------
    >>> import gramian
    >>> plan = gramian.PCA(3).plan((100_000, 50))
    >>> plan.solver, plan.operator, plan.arithmetic
    ('covariance', 'covariance', 'float64')
    """

    operator: str
    solver: str
    steps: tuple[Step, ...]
    bytes: int
    reason: str
    arithmetic: str = "float64"
    alternatives: tuple[Alternative, ...] = ()
    took: float | None = field(default=None, compare=False)
    matrices: tuple[str, ...] = field(default=(), compare=False)

    @property
    def seconds(self) -> float:
        """Predicted seconds on two ordinary cores; a guide for choosing, not a promise."""
        return sum(step.seconds for step in self.steps)

    @property
    def matrix(self) -> str:
        """The operator in words."""
        return MATRICES.get(self.operator, self.operator)

    @property
    def brief(self) -> str:
        """The plan in one line."""
        took = "" if self.took is None else f" It took {duration(self.took)}."
        return (
            f"Plan: solver {self.solver!r} on the {self.matrix} in {self.arithmetic}, "
            f"about {duration(self.seconds)} and {amount(self.bytes)} of working memory.{took}"
        )

    def __str__(self) -> str:
        lines = [self.brief, f"Why: {self.reason}"]
        lines += [f"  {i}. {s.name}: {s.detail}" for i, s in enumerate(self.steps, 1)]
        # Two routes may differ in nothing that is printed.
        lines += dict.fromkeys(f"  or {other}" for other in self.alternatives)
        lines += ["Direct decompositions, of n rows and d columns:"] if self.matrices else []
        lines += [f"  {text}" for text in self.matrices]
        return "\n".join(lines)


@dataclass(frozen=True)
class Spread:
    """The workers that process the parts of a table.

    Attributes
    ----------
    parts : int
    tasks : int
        Of a pass: parts made, worked on, and their results combined.
    workers : int
        Processes; 0 for threads of this one.
    threads : int
        How many there are of all workers together.
    columns : int
        Bytes that threads of this process hold while parts are cut anew by columns.
    results : int
        How many results of parts this process holds at a time.
    """

    parts: int
    tasks: int
    workers: int
    threads: int
    columns: int = 0
    results: int = 0

    def __str__(self) -> str:
        where = f" on {counted(self.workers, 'worker')}" if self.workers else ""
        return f"{counted(self.parts, 'chunk')}{where}: a pass is {self.tasks:,} tasks"


@dataclass(frozen=True, repr=False)
class Attempt(InNotebook):
    """A route that was run.

    Attributes
    ----------
    plan : Plan
        The route with its predicted and its measured seconds.
    passes : int
        Block products with the matrix.
    error : float
        Largest certified error of an eigenvalue relative to the largest one; infinite where none is known.
    rank : int
        Number of eigenvalues above the rank tolerance among those computed.
    why : str
        Why it was not enough; "" for an answer that was accepted.
    """

    plan: Plan
    passes: int
    error: float
    rank: int
    why: str = ""

    @property
    def accepted(self) -> bool:
        """Whether it was enough."""
        return not self.why

    def __str__(self) -> str:
        plan = self.plan
        ran = f"{plan.solver} on the {plan.matrix} in {plan.arithmetic}"
        sentence = f"{ran}: {duration(plan.took or 0.0)}, eigenvalues to {self.error:.1e} of the largest"
        return f"{sentence}; accepted" if self.accepted else f"{sentence}; not accepted: {self.why}"


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum(InNotebook):
    """Eigenpairs of a symmetric operator, largest first.

    Attributes
    ----------
    values : ndarray of shape (k,), float64
        Eigenvalues, descending.
    vectors : array of shape (m, k)
        Orthonormal eigenvectors as columns, in the array kind and dtype of the input.
    residuals : ndarray of shape (k,), float64
        Norms of ``A v - value v`` for the matrix that was computed.
    total : float or None
        Trace of the operator; None where it says nothing (a kernel not proven positive semidefinite).
    squares : float or None
        Squared Frobenius norm of the operator where it was free, else None.
    rank_tolerance : float
        Eigenvalues at or below this multiple of the largest one are rounding.
    error_bound : float
        Bound on the spectral norm of (computed matrix - exact matrix).
    error_kind : str
        Kind of that bound.
    route : str
        Which route the pairs came from: ``"full"``, ``"covariance"``, ``"gram"``, ``"dense"``, ``"krylov"``.
    complete : bool
        Whether a full decomposition was computed, which cannot miss an eigenvalue.
    rest : ndarray
        The remaining eigenvalues, where a full decomposition knows them.
    passes : int
        Number of block products with the operator (0 for a direct solver).
    smallest : float or None
        Smallest (Ritz) value seen.
    note : str
        What happened on the way that the user should know, such as a fallback.
    search_error : float or None
        Bound on the error of the matrix that was searched, where its pairs were then improved in a more
        accurate one, which ``error_bound`` is about; None where both are the same.
    """

    values: Annotated[FloatArray, "r"]
    vectors: Any
    residuals: Annotated[FloatArray, "r"]
    total: float | None
    squares: float | None
    rank_tolerance: float
    error_bound: float
    error_kind: BoundKind
    route: str
    complete: bool
    rest: Annotated[FloatArray, "_"] = field(default_factory=lambda: np.empty(0))
    passes: int = 0
    smallest: float | None = None
    note: str = ""
    search_error: float | None = None

    def __str__(self) -> str:
        k, rank = self.values.size, self.rank
        top = f", the largest {self.values[0]:.6g}" if k else ""
        return f"{counted(k, 'eigenvalue')} by {self.route!r}, {rank} above the rank tolerance{top}"

    @property
    def searched_to(self) -> float:
        """Bound on the error of the matrix that was searched for missed eigenvalues."""
        return self.error_bound if self.search_error is None else self.search_error

    @cached_property
    def rank(self) -> int:
        """Number of computed eigenvalues above the rank tolerance."""
        if not self.values.size:
            return 0
        top = float(self.values[0])
        every = np.concatenate([self.values, self.rest])
        return int(np.sum(every > max(self.rank_tolerance * top, 0.0))) if top > 0 else 0

    def scaled(self, factor: float) -> Spectrum:
        """Return the record in another unit; the sum of squares may not fit into a number."""
        if factor == 1.0:
            return self
        names = ("values", "residuals", "rest", "total", "error_bound", "search_error", "smallest")
        return _in_unit(replace(self, squares=None), factor, *names)

    def first(self, k: int) -> Spectrum:
        """Return the first k pairs; the other eigenvalues go to the rest."""
        k = min(k, self.values.size)
        vectors, rest = self.vectors[:, :k], np.concatenate([self.values[k:], self.rest])
        return replace(self, values=self.values[:k], vectors=vectors, residuals=self.residuals[:k], rest=rest)


@dataclass(frozen=True, eq=False)
class Components:
    """The variances of the components that were kept, and their total.

    Attributes
    ----------
    values : ndarray of shape (k,), float64
        Variances (or energies, or eigenvalues of Kc), descending, 0 beyond the rank.
    total : float or None
        Their sum over all components; None where it means nothing.
    size : int
        Number of all components.
    rank : int
        Number of values above the rank tolerance.
    tolerance : float
        Values at or below this multiple of the largest one are rounding.
    rest : ndarray
        The values that were left out, where they are known; rounding among them.
    """

    values: FloatArray
    total: float | None
    size: int
    rank: int
    tolerance: float
    rest: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def ratio(self) -> FloatArray | None:
        """Shares of the total; their sum does not exceed 1."""
        if self.total is None:
            return None
        return self.values / (max(self.total, float(self.values.sum())) or 1.0)

    @cached_property
    def left(self) -> float:
        """Sum of the values left out; those at rounding level count as zero."""
        if self.values.size + self.rest.size == self.size:
            top = float(self.values[0]) if self.values.size else 0.0
            return float(self.rest[self.rest > self.tolerance * top].sum())
        total = self.total or 0.0
        left = total - float(self.values.sum())
        return left if left > self.tolerance * total else 0.0

    @property
    def noise(self) -> float:
        """Mean of the values left out."""
        return self.left / (self.size - self.values.size) if self.size > self.values.size else 0.0


@dataclass(frozen=True, repr=False)
class Repair(InNotebook):
    """How setting negative eigenvalues to zero changed the matrix.

    Attributes
    ----------
    count : int
        How many eigenvalues of the n were negative beyond rounding.
    size : int
        n.
    smallest : float
        The most negative of them; 0 where there is none.
    negative, total : float
        Sum of their magnitudes, and that of all eigenvalues.
    change : float
        Frobenius norm of the change over that of the matrix: no smaller change makes it positive
        semidefinite (Higham 1988, Computing a nearest symmetric positive semidefinite matrix).
    """

    count: int
    size: int
    smallest: float
    negative: float
    total: float
    change: float

    def __str__(self) -> str:
        if not self.count:
            return "Nothing was clipped: no eigenvalue is negative beyond rounding."
        share = 100 * self.negative / self.total
        return (
            f"{self.count:,} of {self.size:,} eigenvalues were negative, down to {self.smallest:.6g}, and "
            f"were set to 0. That is {share:.2g} % of the sum of their magnitudes and changes the matrix by "
            f"{100 * self.change:.2g} % in the Frobenius norm, the smallest change that makes it a kernel's."
        )


@dataclass(frozen=True)
class Completeness:
    """An upper bound on the eigenvalues that were not computed.

    Attributes
    ----------
    method : str
        ``"full decomposition"``, ``"trace"``, ``"Frobenius norm"`` or ``"Lanczos"``.
    kind : str
        Kind of the bound.
    bound : float
        No missed eigenvalue exceeds this, in the units of the certificate's eigenvalues.
    delta : float
        The same relative to the last computed eigenvalue: ``bound = (1 + delta) * value``.
    probability : float
        Probability that the statement is wrong (0 for a deterministic bound).
    """

    method: str
    kind: BoundKind
    bound: float
    delta: float
    probability: float = 0.0

    @property
    def limit(self) -> str:
        """The bound in words, also as a multiple of the last computed eigenvalue, which is rounded up."""
        text = f"{self.bound:.6g}"
        if not math.isfinite(self.delta):
            return text
        unit = 10.0 ** (math.floor(math.log10(abs(self.delta) or 1.0)) - 1)
        delta = math.ceil(self.delta / unit) * unit
        return f"{text} = (1 {'+' if delta >= 0 else '-'} {abs(delta):.2g}) times the last one computed"


@dataclass(frozen=True, repr=False)
class Approximation(InNotebook):
    """How far the eigenvalues of an approximate matrix can be from those of the exact one.

    Attributes
    ----------
    by : str
        What took the place of the exact matrix, such as ``"1000 landmarks"``.
    unexplained : float
        Sum of k(x, x) over the fitted rows less what the approximation explains of it.
    total : float
        Sum of k(x, x).
    below, above : float
        The j-th largest eigenvalue of the exact matrix is at least that of the approximate one less
        ``below``, and at most that plus ``above``; rounding included.
    kind : str
        Kind of these bounds.
    """

    by: str
    unexplained: float
    total: float
    below: float
    above: float
    kind: BoundKind

    def scaled(self, factor: float) -> Approximation:
        """Return the bounds in another unit."""
        return _in_unit(self, factor, "unexplained", "total", "below", "above")

    def __str__(self) -> str:
        share = ""
        if self.total > 0:
            percent = 100 * self.unexplained / self.total
            share = f"; {self.by} leave {percent:.2g} % of the sum of k(x, x) unexplained"
        return (
            f"An eigenvalue of the exact matrix is at most {self.below:.3g} below and {self.above:.3g} above "
            f"that of the approximate one in its place, rounding included{share} [{self.kind}]."
        )


@dataclass(frozen=True, eq=False)
class DirectionBounds:
    """How far each computed direction can be from that of the exact matrix.

    Components whose eigenvalues cannot be told apart form a cluster. Only the subspace of a cluster is
    determined, so that its members share one bound.

    Attributes
    ----------
    first : ndarray of shape (r,), int
        The first component of each component's cluster, counted from 0; itself where it is alone.
    gaps : ndarray of shape (r,)
        Lower bound on the distance of each cluster to every other eigenvalue; 0 where none is certain, and
        at most the largest eigenvalue.
    sines : ndarray of shape (r,)
        Upper bound on the sine of the angle between a computed direction and the exact one; for a cluster,
        of the largest principal angle between the subspaces. 1 says nothing.
    others : float
        Upper bound on the eigenvalues that were not computed, in units of the certificate; -inf if there
        are none.
    known : bool
        Whether ``others`` is an eigenvalue with its error, and not merely an upper bound.
    kind : str
        Kind of the weakest bound behind it.
    """

    first: Annotated[IntArray, "r", POSITIVE]
    gaps: Annotated[FloatArray, "r", POSITIVE]
    sines: Annotated[FloatArray, "r", POSITIVE]
    others: float
    known: bool
    kind: BoundKind

    @property
    def angles(self) -> FloatArray:
        """The bounds as angles, in radians."""
        return np.arcsin(np.minimum(self.sines, 1.0))

    @property
    def clusters(self) -> list[range]:
        """The components of each cluster, counted from 0; most have one member."""
        edges = [*np.flatnonzero(self.first == np.arange(self.first.size)).tolist(), self.first.size]
        return [range(a, b) for a, b in pairwise(edges)]


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(InNotebook):
    """Error bounds of a set of eigenvalues, and the kind of each bound.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The computed eigenvalues, in ``unit``.
    residuals : ndarray of shape (k,)
        Residual norms in the same unit.
    radii : ndarray of shape (k,)
        An eigenvalue of the exact matrix lies within ``radii[j]`` of ``values[j]``.
    set_radius : float
        k eigenvalues of the exact matrix, counted with multiplicity, lie within this distance of the k
        values, pair by pair.
    widening : float
        The part of the radii that covers forming the matrix: evaluation of the kernel and rounding.
    widening_kind : str
        Kind of the bound behind ``widening``.
    orthogonality : float
        Spectral norm of ``V.T V - I`` of the computed vectors, measured in float64.
    completeness : Completeness or None
        What is known about eigenvalues that were not computed; None when nothing is.
    tol : float
        The tolerance relative to the largest eigenvalue that was asked for.
    unit : str
        What the eigenvalues are.
    ok : bool
        Every radius is within ``tol`` of the largest value, and no eigenvalue can have been missed that
        exceeds the last one by more than 35 % (``completeness`` states by how much).
    reasons : tuple of str
        Why ``ok`` is False, one sentence each.
    approximation : Approximation or None
        How far the matrix that all of this is about is from the exact one, where it only approximates that.
    directions : DirectionBounds or None
        How far the computed directions can be from those of that matrix; None where that was not asked.
    about : str
        A sentence on the matrix where it is not that of the data as given; "" otherwise.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X = load_wine().data
    >>> certificate = gramian.PCA(2, scale="unit").fit(X).certificate_
    >>> certificate.ok, bool(certificate.radii.max() < 1e-10 * certificate.values[0])
    (True, True)
    >>> certificate.directions.clusters  # no two of them are equal within the bounds
    [range(0, 1), range(1, 2)]
    """

    values: Annotated[FloatArray, "r"]
    residuals: Annotated[FloatArray, "r"]
    radii: Annotated[FloatArray, "r"]
    set_radius: float
    widening: float
    widening_kind: BoundKind
    orthogonality: float
    completeness: Completeness | None
    tol: float
    unit: str
    ok: bool
    reasons: tuple[str, ...] = ()
    approximation: Approximation | None = None
    directions: DirectionBounds | None = None
    about: str = ""

    @property
    def lower(self) -> FloatArray:
        """The j-th largest eigenvalue of the exact matrix is at least ``lower[j]``."""
        below = 0.0 if self.approximation is None else self.approximation.below
        return self.values - self.set_radius - below

    @property
    def upper(self) -> FloatArray:
        """The j-th largest eigenvalue of the exact matrix is at most ``upper[j]``.

        Infinite where nothing is known of eigenvalues that were not computed; otherwise as certain as the
        kinds of ``completeness`` and of ``approximation``.
        """
        missed = math.inf if self.completeness is None else self.completeness.bound
        above = 0.0 if self.approximation is None else self.approximation.above
        return np.maximum(self.values + self.set_radius, missed) + above

    @property
    def brief(self) -> str:
        """The certificate in one sentence."""
        if not len(self.values):
            return "There are no components, so there is nothing to certify."
        about = f"{self.about} " if self.about else ""
        if not self.ok:
            return f"{about}The accuracy is not proven (no certificate): {' '.join(self.reasons)}"
        top = float(self.values[0]) or 1.0
        source = "" if self.approximation is None else f" of the approximation by {self.approximation.by}"
        radius = rounded_up(float(self.radii.max()) / top)
        missed = "none was missed"
        if self.completeness is not None and self.completeness.method != "full decomposition":
            larger = self.completeness.bound > float(self.values[-1] + self.radii.max())
            missed = (
                f"none was missed above {self.completeness.limit}" if larger else "no larger one was missed"
            )
        accurate = f"The eigenvalues{source} are accurate to {radius} of the largest"
        return f"{about}{accurate}, and {missed} (certificate)."

    def __repr__(self) -> str:
        return f"<{self.brief}>"

    def __str__(self) -> str:
        k = len(self.values)
        if k == 0:
            return "Certificate: there are no components to certify."
        top = float(self.values[0]) or 1.0
        source, matrix = "", "exact matrix"
        if self.approximation is not None:
            source = f" for the approximation by {self.approximation.by}"
            matrix = "approximate matrix as computed"
        risk = ""
        if self.widening_kind == "probabilistic":
            risk = f", except with probability {PROBE_PROBABILITY:.1e}"
        lines = [
            *([self.about] if self.about else []),
            f"Certificate: {'holds' if self.ok else 'DOES NOT HOLD'}{source} "
            f"(tolerance {self.tol:.1e} of the largest eigenvalue).",
            f"Each of the {k} {self.unit} is within {float(self.radii.max()) / top:.1e} (relative to the "
            f"largest, {top:.6g}) of an eigenvalue of the {matrix}{risk} [{self.widening_kind}].",
            f"Together they match {k} eigenvalues of that matrix, counted with multiplicity, within "
            f"{self.set_radius / top:.1e}; the vectors are orthonormal to "
            f"{self.orthogonality:.1e} [{self.widening_kind}].",
            f"Forming the matrix adds {self.widening / top:.1e} to these bounds; the largest residual is "
            f"{float(self.residuals.max()) / top:.1e}.",
            _completeness_sentence(self.completeness),
            *self.direction_sentences(),
            *([] if self.approximation is None else [str(self.approximation)]),
        ]
        return "\n".join(lines + [f"Not met: {reason}" for reason in self.reasons])

    def direction_sentences(self) -> list[str]:
        """Return what is known of the directions, in sentences."""
        bounds = self.directions
        if bounds is None:
            return []
        sure = np.flatnonzero(bounds.sines < 1.0)
        lines = []
        if sure.size:
            every, single = sure.size == bounds.sines.size, sure.size == 1
            what = "Each direction is" if every else f"The direction{_of(sure)} {'is' if single else 'are'}"
            rotated = "" if len(bounds.clusters) == bounds.first.size else ", up to rotations of close ones"
            worst = float(bounds.angles[sure].max())
            exact = "the exact one" if self.approximation is None else "that of the approximate matrix"
            lines = [f"{what} within {worst:.1e} radians of {exact}{rotated} [{bounds.kind}]."]
        return lines + self.rotation_sentences()

    def rotation_sentences(self) -> list[str]:
        """Return a sentence for each cluster of components that the certificate cannot tell apart."""
        bounds = self.directions
        if bounds is None:
            return []
        lines: list[str] = []
        unknown: list[int] = []
        most = 0
        for cluster in bounds.clusters:
            names, top, last = (
                _named(cluster),
                float(self.values[cluster[0]]),
                float(self.values[cluster[-1]]),
            )
            if bounds.sines[cluster[-1]] >= 1.0 and not last - bounds.others > self.set_radius:
                if not bounds.known:
                    unknown += cluster
                    continue
                names, last = f"{names} and the first component left out", bounds.others - self.widening
            elif len(cluster) == 1:
                continue
            most += 1
            if top - last <= 2.0 * self.widening:
                lines.append(f"{names} are equal within rounding: any rotation of them is equally valid.")
            else:
                lines.append(
                    f"{names} are equal within the error bounds, so that only their span is certain: "
                    "a smaller tol may tell them apart."
                )
        if most > SENTENCES:
            more = counted(most - SENTENCES, "more cluster")
            lines[SENTENCES:] = [f"So are {more} of components, each by itself."]
        if unknown:
            lines.append(
                f"Nothing bounds the direction{_of(unknown)}: an eigenvalue that was not computed may be as "
                "large. Keep more components to bound the first ones."
            )
        return lines


def _of(indices: Any) -> str:
    return f"{'s' if len(indices) > 1 else ''} of {_named(indices)}"


def _named(indices: Any) -> str:
    """Return components in words: PC1, PC2 and PC5 to PC7."""
    words = []
    for _, pairs in groupby(enumerate(indices), lambda pair: pair[1] - pair[0]):
        run = [f"PC{index + 1}" for _, index in pairs]
        words += run if len(run) < 3 else [f"{run[0]} to {run[-1]}"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _completeness_sentence(c: Completeness | None) -> str:
    if c is None:
        return "There is no upper bound on eigenvalues that were not computed."
    if c.method == "full decomposition":
        return f"No larger eigenvalue was missed: the decomposition is complete [{c.kind}]."
    how = f"An upper bound on any eigenvalue it did not find is {c.limit}"
    how += f", by {'' if c.method.startswith('Lanczos') else 'the '}{c.method}"
    if c.probability:
        how += f", except with probability {c.probability:.1e}"
    return f"{how} [{c.kind}]."


@dataclass(frozen=True, eq=False)
class Moments:
    """Count (or sum of weights), mean and sums of squares about the mean, in float64.

    ``squares`` holds one sum a column, shape (d,), or the whole scatter matrix, shape (d, d). The mean is
    ``mean + rest``: ``rest`` is what its rounding leaves out.
    """

    count: Annotated[float, "", POSITIVE]
    mean: Annotated[FloatArray, "m"]
    squares: FloatArray
    rest: Annotated[FloatArray | float, "m"] = 0.0
