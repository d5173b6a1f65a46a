"""Tests Mercer's condition: whether a function is a kernel, with points that refute it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
from scipy.linalg import norm

from gramian.core.arrays import as_float64, blas_threads, eigh
from gramian.core.checks import check_integer, check_number, check_seed, counted, evenly
from gramian.core.notebook import Grid, InNotebook
from gramian.core.records import FloatArray, Seed
from gramian.errors import DataError, GramianError, IndefiniteKernelError, InputTypeError, ParameterError
from gramian.kernels import algebra, arithmetic, formulas
from gramian.kernels.expression import PRECOMPUTED, kernel_from_name
from gramian.kernels.facts import Validity, unknown


@dataclass(frozen=True, eq=False, repr=False)
class AuditReport(InNotebook):
    """Whether a function is a kernel, with the proof or a counterexample.

    Attributes
    ----------
    kernel : str
        The function.
    validity : Validity
        What theory says.
    witness : Witness, Asymmetry or None
        Points that refute.
    tested : str
        On which points.
    trials : int
        Gram matrices tested.
    value_tol : float or None
        What was assumed about the rounding of k, relative to the largest value; None where it is proven.

    Examples
    --------
    >>> import gramian
    >>> report = gramian.kernels.audit("sigmoid(gamma=1)")
    >>> report.verdict
    'not a kernel'
    >>> len(report.witness.points)
    3
    """

    kernel: str
    validity: Validity
    witness: Witness | Asymmetry | None
    tested: str
    value_tol: float | None
    trials: int = 1

    @property
    def verdict(self) -> Literal["valid", "not a kernel", "no counterexample"]:
        """In three words: "valid", "not a kernel" or "no counterexample"."""
        if self.witness is not None or self.validity.refuted:
            return "not a kernel"
        return "valid" if self.validity.proven else "no counterexample"

    @property
    def valid(self) -> bool | None:
        """True where it is proven, False where it is refuted, None where neither is known."""
        return {"valid": True, "not a kernel": False}.get(self.verdict)

    def _notebook(self) -> Iterator[str | Grid]:
        witness, trials = self.witness, counted(self.trials, "trial")
        yield self.kernel
        if isinstance(witness, Witness):
            yield f"Verdict: not a kernel, by a witness of {counted(len(witness.points), 'point')}."
        elif witness is not None:
            yield "Verdict: not a kernel, by a witness of 2 points: it is not symmetric."
        elif self.validity.refuted:
            none = f"refuted by theory alone: no witness was found in {trials}"
            yield f"Verdict: not a kernel, {none}. {self.validity.reason}"
        elif self.validity.proven:
            yield "Verdict: valid, proven by theory."
            yield from (f"  {line}" for line in str(self.validity).splitlines())
        else:
            none = f"no counterexample found in {trials}, which proves nothing"
            yield f"Verdict: {none}. {self.validity.reason}"
        yield f"Tested: {self.tested}"
        if self.value_tol is not None:
            yield (
                f"Assumed: every value is accurate to {self.value_tol:g} times the largest. "
                "Raise value_tol for a function that is less accurate."
            )
        if witness is not None:
            yield ""
            yield from witness._notebook()


# Rows of given data that are tested at most: of a formula, and of a function called once for each pair.
MOST_ROWS, MOST_ROWS_CALLED = 1000, 400


def audit(
    kernel: Any,
    X: Any = None,
    *,
    n_features: int | None = None,
    value_tol: float = 1e-10,
    random_state: Seed = 0,
    time_limit: float | None = None,
) -> AuditReport:
    """Check a function for positive semidefiniteness: proven, refuted by a counterexample, or neither.

    A function is a kernel if and only if it is symmetric and none of its Gram matrices has a negative
    eigenvalue. One set of points can refute it; only theory can prove it.

    Parameters
    ----------
    kernel : str, callable or Kernel
        An expression such as ``"rbf(sigma=2) + linear()"``, a function of two rows or a kernel object; or
        ``"precomputed"``, when X is a Gram matrix.
    X : array of shape (n, d), optional
        The rows to test. They alone are tested, at most 1,000 of them (400 for a function of the user's),
        evenly spaced; a witness consists of some of them. Without X, the function searches for a
        counterexample.
    n_features : int, optional
        Search among points of so many features; by default 1, 2 and 3, as far as the function accepts them.
    value_tol : float
        Values of a function, or of a precomputed matrix, are assumed to be right to this multiple of the
        largest, since nothing else is known about their rounding. Formulas bound theirs.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the search; the same integer gives the same report, None draws a new one at each call.
    time_limit : float, optional
        Seconds after which the search ends, and reports what it tried until then; None searches to the end.

    Returns
    -------
    AuditReport
        Its ``witness`` has few points of few digits, so that you can verify it by hand.

    Raises
    ------
    DataError
        When k raises an exception, gives no finite number or a different one at each call, for the rows of X
        or wherever it is tried; the message names the two rows.
    IndefiniteKernelError
        When a proven kernel is refuted, which is a defect of this package.
    ParameterError
        For ``n_features`` other than the columns of X, and ``"precomputed"`` without X.

    Notes
    -----
    Without X about 300 Gram matrices are tested, in about a second for a formula. A function of two rows is
    called about 100,000 times; less once it is refuted. An expression of forty terms takes minutes: give a
    ``time_limit``. The report then depends on the machine.

    References
    ----------
    Aronszajn, N. (1950). Theory of reproducing kernels. Transactions of the American Mathematical Society
    68, 337-404, section 2.
    Mercer, J. (1909). Functions of positive and negative type, and their connection with the theory of
    integral equations. Philosophical Transactions of the Royal Society A 209, 415-446.
    Schoenberg, I. J. (1938). Metric spaces and positive definite functions. Transactions of the American
    Mathematical Society 44, 522-536.
    FitzGerald, C. H. and Horn, R. A. (1977). On fractional Hadamard powers of positive definite matrices.
    Journal of Mathematical Analysis and Applications 61, 633-642, theorem 2.2.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> from gramian.kernels.auditing import audit
    >>> audit(RBF(sigma=2.0)).valid
    True
    >>> report = audit(lambda x, y: abs(x - y).sum())
    >>> report.verdict
    'not a kernel'
    >>> report.witness.gram
    array([[0., 2.],
           [2., 0.]])
    """
    advice = "It is how far a value of k may be off, relative to the largest. Try 1e-10."
    value_tol = check_number("value_tol", value_tol, least=0, below=1, advice=advice)
    d = None if n_features is None else check_integer("n_features", n_features)
    limit = math.inf if time_limit is None else check_number("time_limit", time_limit, above=0)
    rng: Any = random_state
    if not isinstance(rng, np.random.Generator):
        if not isinstance(rng, np.random.RandomState):
            rng = np.random if rng is None else np.random.RandomState(check_seed("random_state", rng))
        rng = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4).tolist())
    if isinstance(kernel, str) and kernel == PRECOMPUTED:
        return _audit_matrix(X, value_tol)
    result = kernel_from_name(kernel)
    result.check()
    examiner = Examiner(result, value_tol, deadline=time.monotonic() + limit)
    # Small eigenproblems are slower on several threads than on one.
    with blas_threads():
        if X is not None:
            names = list(getattr(X, "columns", ()))
            rows = _rows(X, "X")
            if d not in (None, rows.shape[1]):
                hint = "It is for the search without rows: leave it out."
                raise ParameterError("n_features", d, f"but X has {rows.shape[1]} columns", hint)
            most = MOST_ROWS_CALLED if examiner.assumes else MOST_ROWS
            return _audit_rows(examiner, rows, names or None, most)
        return _audit_by_search(examiner, d, rng)


# --------------------------------------------------------------------- routes


def _audit_by_search(examiner: Examiner, n_features: int | None, rng: np.random.Generator) -> AuditReport:
    features = acceptable_features(examiner) if n_features is None else (n_features,)
    lowest = search(examiner, features, rng)
    if lowest is None:
        assert examiner.problem is not None
        raise examiner.problem
    several = ", ".join(map(str, examiner.searched))
    noun = "feature" if several == "1" else "features"
    tested = f"{examiner.trials:,} Gram matrices of points with {several} {noun}, chosen by a search."
    if lowest.ratio >= -1 and examiner.out_of_time:
        tested += " It ended at its time limit; a longer one tries more."
    return _report(examiner, lowest, tested, invent=True)


def _audit_rows(examiner: Examiner, X: Any, names: list[str] | None, most: int) -> AuditReport:
    n = X.shape[0]
    chosen = evenly(n, most)
    points = X[chosen]
    examiner.fix(points, names)
    trial = examiner.examine(points, tuple(chosen))
    # A witness of a few rows is judged by the size of values on all of them.
    examiner.reference = float(np.abs(trial.raw).max())
    some = f"{len(chosen):,} evenly spaced rows of {n:,}" if n > most else f"the {counted(n, 'row')} given"
    return _report(examiner, trial, f"{some}, and nothing else.", invent=False)


def _audit_matrix(K: Any, value_tol: float) -> AuditReport:
    if K is None:
        raise ParameterError("kernel", PRECOMPUTED, "needs X, the square Gram matrix")
    raw = _rows(K, "The precomputed Gram matrix")
    n = raw.shape[0]
    if raw.shape[1] != n:
        raise DataError(f"A precomputed Gram matrix must be square; it came as {n} x {raw.shape[1]}.")
    table = formulas.FunctionKernel(
        lambda X, Y: raw[np.ix_(X[:, 0].astype(int), Y[:, 0].astype(int))], vectorised=True
    )
    report = _audit_rows(Examiner(table, value_tol), np.arange(n, dtype=np.float64)[:, None], None, n)
    validity = unknown("A matrix is one set of points; no other one was tested.", PRECOMPUTED)
    kernel, tested = f"precomputed matrix of {n:,} x {n:,}", "this matrix, and nothing else."
    return replace(report, kernel=kernel, validity=validity, tested=tested)


def _report(examiner: Examiner, trial: Trial, tested: str, invent: bool) -> AuditReport:
    kernel = examiner.kernel
    validity = kernel.validity
    if isinstance(kernel, formulas.FunctionKernel) and not validity.proven:
        validity = unknown(f"{kernel.no_proof}.", repr(kernel))
    trials = examiner.trials  # before a witness is made smaller, which tests more
    witness: Witness | Asymmetry | None = None
    if trial.asymmetry is not None:
        witness = asymmetry_of(examiner, trial.subset(trial.asymmetry), invent)
    elif trial.ratio < -1:
        witness = witness_of(examiner, trial, invent)
    if witness is not None and validity.proven:
        raise IndefiniteKernelError(
            f"{kernel!r} is proven to be a kernel ({validity.reason}), and these points refute it:\n"
            f"{witness}\nOne of the two is wrong: please report this as a defect."
        )
    value_tol = examiner.value_tol if examiner.assumes else None
    return AuditReport(repr(kernel), validity, witness, tested, value_tol, trials)


def _rows(X: Any, name: str) -> FloatArray:
    """Return X as a two-dimensional float64 NumPy array of finite numbers, at least one of them."""
    if hasattr(X, "toarray"):
        raise InputTypeError(f"{name} is sparse. Give some of its rows as an array: X[:1000].toarray().")
    rows = as_float64(arithmetic.check_rows(name, X))
    if not rows.size:
        raise DataError(f"{name} has shape {rows.shape}; it needs at least one row and one column.")
    return rows


# ---- One trial of Mercer's condition: the Gram matrix of some points, and how negative an eigenvalue must be

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
SHOWN = 6


@dataclass(frozen=True, eq=False)
class Margin:
    """The smallest eigenvalue of a symmetric matrix, and a bound on its rounding.

    Attributes
    ----------
    eigenvalue : float
        Smallest eigenvalue of ``scaling_i gram_ij scaling_j``.
    bound : float
        An eigenvalue above ``-bound`` says nothing.
    vector : ndarray of shape (m,)
        v with ``v.T gram v`` below zero where the eigenvalue is; its largest entry is 1 in size.
    scaling : ndarray of shape (m,)
        Positive factors of rows and columns, powers of two: all 1, or those that bring the diagonal near 1.
        They change the eigenvalues and never their signs (Sylvester's law of inertia).
    """

    eigenvalue: float
    bound: float
    vector: FloatArray
    scaling: FloatArray

    @property
    def ratio(self) -> float:
        """The eigenvalue in units of the bound: below -1 it refutes."""
        return self.eigenvalue / self.bound if self.bound > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Trial:
    """The Gram matrix of a few points and what it shows.

    Attributes
    ----------
    points : ndarray of shape (m, d)
    raw : ndarray of shape (m, m)
        k as evaluated, in both orders of its arguments.
    error : ndarray of shape (m, m)
        Bound on the error of every entry.
    rows : tuple of int or None
        Where the points are rows of given data: which.
    """

    points: FloatArray
    raw: FloatArray
    error: FloatArray
    rows: tuple[int, ...] | None = None

    @property
    def gram(self) -> FloatArray:
        """The symmetric part of ``raw``, without overflow."""
        half: FloatArray = self.raw / 2
        return half + half.T

    @cached_property
    def margin(self) -> Margin:
        """The smallest eigenvalue of ``gram``, and what rounding can do to it."""
        return margin(self.gram, self.error)

    @cached_property
    def ratio(self) -> float:
        """The smallest eigenvalue in units of its bound: below -1 it refutes, as asymmetry does."""
        return self.margin.ratio if self.asymmetry is None else -np.inf

    @cached_property
    def asymmetry(self) -> tuple[int, int] | None:
        """The pair of points whose two values differ most beyond rounding, or None."""
        with np.errstate(over="ignore"):
            excess = np.abs(self.raw - self.raw.T) - self.error - self.error.T
        i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
        return (int(min(i, j)), int(max(i, j))) if excess[i, j] > 0 else None

    def subset(self, keep: Any) -> Trial:
        """Return the trial of some of the points, without evaluating k again."""
        index = np.asarray(keep, dtype=np.intp)
        block = np.ix_(index, index)
        rows = None if self.rows is None else tuple(self.rows[i] for i in index)
        return Trial(self.points[index], self.raw[block], self.error[block], rows)


def margin(gram: FloatArray, error: FloatArray) -> Margin:
    """Return the smallest eigenvalue of a symmetric matrix, and the bound below which it says something.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
    error : ndarray of shape (m, m)
        Bound on the error of every entry.

    Returns
    -------
    Margin
        Of the matrix itself, or of the matrix scaled to a diagonal near 1 where only that one refutes.

    Notes
    -----
    The bound is the Frobenius norm of ``error``, which Weyl's inequality carries over to eigenvalues, and
    ``(m + 10) eps ||K||_F`` for the eigenvalue solver.
    """
    plain = _margin(gram, error, np.ones(len(gram)))
    diagonal = np.diagonal(gram)
    if plain.ratio < -1 or not (diagonal > 0).any():
        return plain
    sizes = np.where(diagonal > 0, diagonal, np.abs(gram).max())
    scaling = np.exp2(-np.round(np.log2(sizes) / 2))
    scaled = _margin(gram, error, scaling) if np.ptp(scaling) else plain
    return scaled if scaled.ratio < -1 else plain


def _margin(gram: FloatArray, error: FloatArray, scaling: FloatArray) -> Margin:
    with np.errstate(all="ignore"):
        A, B = (scaling[:, None] * matrix * scaling for matrix in (gram, error))
        # BLAS takes norms without overflow and underflow.
        sizes = [float(norm(matrix.ravel(), check_finite=False)) for matrix in (A, B)]
        bound = (len(A) + 10) * EPS * sizes[0] + sizes[1]
    if not np.isfinite(bound):
        return Margin(0.0, np.inf, np.ones(len(A)), np.ones(len(A)))
    values, vectors = eigh(A)
    vector = scaling * vectors[:, 0]
    return Margin(float(values[0]), bound, vector / vector[int(np.argmax(np.abs(vector)))], scaling)


# ---------------------------------------------------------------- evaluation


@dataclass
class Examiner:
    """Evaluates one kernel on sets of points and keeps count.

    Parameters
    ----------
    kernel : Kernel
    value_tol : float
        Values that no formula of this package bounds are taken to be right to this multiple of the largest.
    reference : float
        The largest value is taken to be no smaller than this, for functions whose own rounding is unknown:
        where such a function is tiny, it may be the difference of values that are not.
    deadline : float
        Time of ``time.monotonic`` at which a search ends.
    """

    kernel: algebra.Kernel
    value_tol: float
    reference: float = 0.0
    trials: int = 0
    searched: list[int] = field(default_factory=list)
    problem: DataError | None = None
    bound: Any = None
    deadline: float = math.inf

    def __post_init__(self) -> None:
        self.fixed = self.kernel

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def fix(self, points: FloatArray, names: Sequence[str] | None = None) -> None:
        """Fill in the parameters that depend on data, so that every set of points meets the same function."""
        self.fixed = self.kernel.resolve(points.copy(), names)
        self.bound = None

    @cached_property
    def assumes(self) -> bool:
        """Whether the rounding of k is unknown, so that ``value_tol`` is assumed."""
        return self.kernel.error_kind != "deterministic"

    def examine(self, points: FloatArray, rows: tuple[int, ...] | None = None) -> Trial:
        """Return the trial of a set of points.

        Raises
        ------
        DataError
            When k has no finite value for a pair of them, naming the pair.
        """
        # A defect of a formula of this package must not pass for a remark about the data.
        expected: type[Exception] = Exception if self.assumes else DataError
        try:
            return self._examine(points, rows)
        except expected as error:
            for x, y in product(points, points):
                self.value(x, y)
            if isinstance(error, DataError):
                raise
            raise DataError(f"{type(error).__name__}: {error}") from error

    def attempt(self, points: FloatArray) -> Trial | None:
        """Return the trial of a set of points, or None where k has no finite value on it."""
        try:
            return self.examine(points)
        except DataError as error:
            self.problem = self.problem or error
            return None

    def _examine(self, points: FloatArray, rows: tuple[int, ...] | None) -> Trial:
        with np.errstate(all="ignore"):
            bound = self.bound or self.fixed.bind(points, precision=0.0)
            if isinstance(self.fixed, formulas.FunctionKernel):
                self.bound = bound  # binding evaluates it on some rows, and gives the same for all rows
            left, right = bound.encode(points)
            raw = np.array(bound.tile(left, right), dtype=np.float64)
            if not self.assumes:
                np.fill_diagonal(raw, bound.diagonal(points))
        if not np.isfinite(raw).all():
            raise DataError("k has no finite value at some pair of these points.")
        self.trials += 1
        sizes = np.abs(raw)
        largest = float(sizes.max(initial=0.0))
        with np.errstate(all="ignore"):
            # The bound is relative to the exact value, which may be larger than the computed one.
            share = bound.relative / (1 - bound.relative) if bound.relative < 0.5 else np.inf
            error = bound.absolute * (1 + share) + share * sizes + TINY
            if self.assumes:
                error = error + self.value_tol * max(largest, self.reference)
            error = np.where(np.isnan(error), np.inf, error)
        return Trial(points, raw, error, rows)

    def value(self, x: FloatArray, y: FloatArray) -> float:
        """Return k of two points by themselves.

        Raises
        ------
        DataError
            Where k has no finite value, naming the points.
        """
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(self.fixed.gram(x[None, :].copy(), y[None, :].copy()))
        except DataError as error:
            raise DataError(f"{error} That was at {_pair(x, y)}.") from None
        except Exception as error:
            wants = "It must return one finite number for every two rows."
            if "read-only" in str(error):
                wants = "It must not change its arguments: let it copy them first, x = x.copy()."
            raised = f"{type(error).__name__}: {error}"
            raise DataError(f"The kernel function raised {raised} at {_pair(x, y)}. {wants}") from error
        if not np.isfinite(value).all():
            raise DataError(f"k(x, y) is {value[0, 0]} at {_pair(x, y)}: it must be one finite number.")
        return float(value[0, 0])

    def confirm(self, trial: Trial) -> Trial:
        """Evaluate every pair of a trial by itself, and refuse a function that then gives something else.

        Raises
        ------
        DataError
            For a function whose value depends on more than its two rows.
        """
        if not self.assumes:
            return trial
        fresh = trial.raw.copy()
        for i, j in np.ndindex(*fresh.shape):
            x, y, first = trial.points[i], trial.points[j], float(fresh[i, j])
            fresh[i, j] = again = self.value(x, y)
            if not abs(again - first) <= 2 * trial.error[i, j]:
                raise DataError(
                    f"The kernel function gave {first!r} and then {again!r} at "
                    f"{_pair(x, y)}. It must give the same number every time."
                )
        return replace(trial, raw=fresh)


def show_point(point: FloatArray) -> str:
    """Return a row as text, in six digits, cut when it is long.

    Examples
    --------
    >>> show_point(np.array([1.0, 0.25]))
    '(1, 0.25)'
    """
    # Without the sign of zero.
    shown = [f"{float(value) + 0.0:.6g}" for value in point[:SHOWN]]
    return f"({', '.join(shown)}{', ...' if len(point) > SHOWN else ''})"


def _pair(x: FloatArray, y: FloatArray) -> str:
    return f"x = {show_point(x)}, y = {show_point(y)}"


# ---- The search for counterexamples without data

# A refutation this many times beyond its bound needs no better one.
CLEAR = -10.0
SCALES = tuple(10.0**e for e in range(-3, 4))
LINE, SQUARE, CUBE = 40, 6, 3
# Numbers of features up to which all are searched, and up to which one is looked for.
TRIED_FEATURES, MOST_FEATURES = 3, 16


def acceptable_features(examiner: Examiner) -> tuple[int, ...]:
    """Return the numbers of features to search in: 1, 2 and 3, as far as the function accepts them.

    Raises
    ------
    GramianError
        When the function has no value for points of 1 to 16 features.
    """
    problem: GramianError | None = None
    results: list[int] = []
    for d in range(1, MOST_FEATURES + 1):
        if results and d > TRIED_FEATURES:
            break
        try:
            examiner.fix(_positive(d))
            examiner.examine(_positive(d))
            results.append(d)
        except GramianError as error:
            problem = problem or error
    if not results:
        assert problem is not None
        tried = f"Points of 1 to {MOST_FEATURES} features were tried; for more, give n_features."
        raise DataError(str(problem), tried)
    return tuple(results)


def _positive(d: int) -> FloatArray:
    # In two digits, because error messages show them.
    return np.random.default_rng(d).uniform(0.5, 1.5, size=(5, d)).round(2)


def search(examiner: Examiner, features: Sequence[int], rng: np.random.Generator) -> Trial | None:
    """Look for a Gram matrix that refutes.

    Parameters
    ----------
    examiner : Examiner
    features : sequence of int
        Numbers of features.
    rng : Generator

    Returns
    -------
    Trial or None
        The first that refutes clearly or is not symmetric; else the one whose smallest eigenvalue lies lowest
        in units of its bound; None where k has no finite value on any set. When the examiner is out of time,
        of the sets tried until then.
    """
    lowest: Trial | None = None
    for d in features:
        examiner.searched.append(d)
        examiner.fix(_positive(d))
        if examiner.assumes:  # its rounding is unknown: values count relative to those at points of size 1
            tried = [examiner.attempt(rng.uniform(low, 1.0, size=(5, d))) for low in (-1.0, 0.0, 0.0)]
            sizes = [float(np.abs(trial.raw).max()) for trial in tried if trial is not None]
            examiner.reference = float(np.median(sizes)) if sizes else 0.0
        for points in candidates(d, rng):
            if examiner.out_of_time and (lowest is not None or examiner.problem):
                break
            trial = examiner.attempt(points)
            if trial is not None and (lowest is None or trial.ratio < lowest.ratio):
                lowest = trial
                if trial.ratio < CLEAR:
                    break
        if examiner.out_of_time or (lowest is not None and lowest.ratio < -1):
            break
    return lowest


# ------------------------------------------------------------- sets of points


def candidates(d: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield sets of points that refute what often passes for a kernel, simple ones first.

    Parameters
    ----------
    d : int
        Number of features.
    rng : Generator

    Yields
    ------
    ndarray of shape (m, d)
        Small whole numbers, lattices of all spacings, random points of sizes 1e-3 to 1e3 (normal, uniform,
        positive only), geometric progressions, duplicated rows.
    """
    yield from _simple(d)
    for scale in (1.0, *SCALES):
        for m in (4, 10):
            yield scale * rng.standard_normal((m, d))
            yield scale * rng.uniform(-1.0, 1.0, (m, d))
            yield scale * rng.uniform(0.0, 1.0, (m, d))
    yield from _lattices(d)


def _simple(d: int) -> Iterator[FloatArray]:
    lines = [[-1, 1], [0, 1], [0, 0, 1], [-1, 0, 1], [0, 1, 2], [0, 1, 2, 4], [0, 1, 2, 3, 4]]
    lines += [[-3, -2, -1, 0, 1, 2, 3], [0, 1, 5, 20]]
    steps = [[0, 0.2, 0.9, 2, 5], [0.25, 0.5, 1, 2, 4], [0, 0.1, 0.5, 1, 2, 4, 10]]
    directions = [np.ones(d)] if d == 1 else [np.ones(d), np.eye(d)[0]]
    for direction in directions:
        for line in (*lines, *steps):
            yield np.outer(np.asarray(line, dtype=np.float64), direction)
    if d > 1:
        corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * min(d, 4), indexing="ij"), -1).reshape(-1, min(d, 4))
        corners = np.pad(corners, ((0, 0), (0, d - corners.shape[1])))
        yield corners
        yield 2 * corners - 1
        yield np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
        for m in (5, 7):
            angle = 2 * np.pi * np.arange(m) / m
            circle = np.column_stack([np.cos(angle), np.sin(angle)])
            yield np.pad(circle, ((0, 0), (0, d - 2)))


def _lattices(d: int) -> Iterator[FloatArray]:
    # On equally spaced points the Gram matrix of a function of x - y is nearly a convolution, so that its
    # eigenvalues follow the Fourier transform: a negative value of that one shows at some spacing.
    sides = {1: LINE, 2: SQUARE}.get(d, CUBE)
    axes = min(d, 3)
    unit = np.stack(np.meshgrid(*[np.arange(sides, dtype=np.float64)] * axes, indexing="ij"), -1)
    unit = np.pad(unit.reshape(-1, axes), ((0, 0), (0, d - axes)))
    for spacing in 10.0 ** np.arange(-2.0, 2.01, 0.25 if d == 1 else 0.5):
        yield spacing * unit
        yield spacing * (unit - (sides - 1) / 2 * (unit.max(axis=0) > 0))


# ---- A counterexample you can verify by hand: few points, few digits, weights with a negative sum

DIGITS = 6
# Up to this many points, every one is tried before one is left out.
GREEDY = 40
COLUMNS = 6


@dataclass(frozen=True, eq=False, repr=False)
class Asymmetry(InNotebook):
    """Two points for which the order of the arguments matters.

    Attributes
    ----------
    points : ndarray of shape (2, d)
    values : (float, float)
        k(x, y) and k(y, x).
    gram : ndarray of shape (2, 2)
        k at the two points, which is not symmetric.
    rows : tuple of int or None
        Where the points are rows of given data: which.
    """

    points: FloatArray
    values: tuple[float, float]
    gram: FloatArray
    rows: tuple[int, ...] | None = None

    def __str__(self) -> str:
        x, y = _names(self.points, self.rows)
        return f"x = {x}\ny = {y}\nk(x, y) = {self.values[0]!r}, but k(y, x) = {self.values[1]!r}."


@dataclass(frozen=True, eq=False, repr=False)
class Witness(InNotebook):
    """Points whose Gram matrix has a negative eigenvalue, which that of a kernel never has.

    Attributes
    ----------
    points : ndarray of shape (m, d)
        For a precomputed matrix, indices of its rows, of shape (m, 1).
    gram : ndarray of shape (m, m)
        k at the points.
    eigenvalue : float
        Smallest eigenvalue of ``scaling_i gram_ij scaling_j``.
    bound : float
        Bound on the error of that eigenvalue; the eigenvalue lies below its negative.
    vector : ndarray of shape (m,)
        Weights v in few digits with ``v.T gram v < 0``.
    quadratic_form : float
        ``v.T gram v`` of the numbers above.
    uncertainty : float
        How far that can be from the value for the exact k.
    scaling : ndarray of shape (m,)
        All 1 but where only the matrix scaled to a diagonal near 1 shows the negative eigenvalue clearly.
    rows : tuple of int or None
        Where the points are rows of given data: which.
    """

    points: FloatArray
    gram: FloatArray
    eigenvalue: float
    bound: float
    vector: FloatArray
    quadratic_form: float
    uncertainty: float
    scaling: FloatArray
    rows: tuple[int, ...] | None = None

    def _notebook(self) -> Iterator[str | Grid]:
        names, m = _names(self.points, self.rows), len(self.points)
        shown = range(m if m <= COLUMNS else 0)
        heads = "", "x", "v", *(f"k(x_i, x_{j + 1})" for j in shown)
        rows = [
            (f"x_{i + 1}", name, self.vector[i], *(self.gram[i, j] for j in shown))
            for i, name in enumerate(names)
        ]
        digits = self._digits()
        yield Grid(heads, rows, ("", "", f".{max(6, digits)}g", *[f".{digits}g"] * len(shown)), most=m)
        scaled = ", rows and columns scaled to a diagonal near 1" if (self.scaling != 1).any() else ""
        yield f"Smallest eigenvalue: {self.eigenvalue:.4g}{scaled}; rounding reaches {-self.bound:.1e}."
        yield (
            f"The sum of v_i v_j k(x_i, x_j) is {self.quadratic_form:.4g} (error at most "
            f"{self.uncertainty:.1e}), and for a kernel it is never negative."
        )

    def _digits(self) -> int:
        """Return how many digits show the negative sum to whoever adds it up."""
        for digits in range(3, 17):
            gram = np.array([[float(f"{k:.{digits}g}") for k in row] for row in self.gram])
            vector = np.array([float(f"{v:.{max(6, digits)}g}") for v in self.vector])
            if quadratic_form(gram, vector)[0] < 0.5 * self.quadratic_form:
                return digits
        return 17


def _names(points: FloatArray, rows: tuple[int, ...] | None) -> list[str]:
    if rows is None:
        return [show_point(point) for point in points]
    if points.shape[1] == 1 and points[:, 0].tolist() == list(rows):
        return [f"row {i}" for i in rows]
    return [f"row {i}: {show_point(p)}" for i, p in zip(rows, points, strict=True)]


def quadratic_form(gram: FloatArray, vector: FloatArray) -> tuple[float, float]:
    """Return ``v.T K v``, and a bound on its rounding: products are rounded, and their sum is exact.

    Examples
    --------
    >>> quadratic_form(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([1.0, -1.0]))[0]
    -2.0
    """
    with np.errstate(over="ignore"):
        products = np.outer(vector, vector) * gram
    return math.fsum(products.ravel()), 3 * EPS * math.fsum(np.abs(products).ravel())


# ------------------------------------------------------------------ shrinking


def _enough(trial: Trial, start: Trial) -> bool:
    return trial.ratio <= max(CLEAR, 0.9 * start.ratio) and trial.ratio < -1


def shrunk(trial: Trial) -> Trial:
    """Leave points out as long as the rest still refutes.

    Parameters
    ----------
    trial : Trial
        One that refutes.

    Returns
    -------
    Trial
        None of whose points can be left out, where there are at most 40 of them.
    """
    start = trial
    order = np.argsort(-np.abs(_weights(trial)), kind="stable")
    heaviest = (trial.subset(np.sort(order[: 2**size])) for size in range(1, len(order).bit_length()))
    trial = next((smaller for smaller in heaviest if _enough(smaller, start)), trial)
    while len(trial.points) > 1:
        order = np.argsort(np.abs(_weights(trial)), kind="stable")
        tried = order if len(order) <= GREEDY else order[:2]
        one_less = (trial.subset(np.delete(np.arange(len(order)), i)) for i in tried)
        result = min(one_less, key=lambda t: t.ratio)
        if not _enough(result, start):
            break
        trial = result
    return trial


def _weights(trial: Trial) -> FloatArray:
    return trial.margin.vector / trial.margin.scaling


# -------------------------------------------------------------------- results


def asymmetry_of(examiner: Examiner, pair: Trial, invent: bool) -> Asymmetry:
    """Return two points for which the order matters, in few digits where points may be invented."""
    simple = examiner.confirm(_in_few_digits(examiner, pair, lambda t: t.asymmetry) if invent else pair)
    values = (float(simple.raw[0, 1]), float(simple.raw[1, 0]))
    return Asymmetry(simple.points, values, simple.raw, simple.rows)


def witness_of(examiner: Examiner, trial: Trial, invent: bool) -> Witness:
    """Return what is left of a refuting trial when everything that can go has gone.

    Parameters
    ----------
    examiner : Examiner
    trial : Trial
        One that refutes.
    invent : bool
        Whether points may be rounded: not where they are data.
    """
    small = shrunk(trial)
    if invent:
        goal = min(-1.0, 0.3 * small.ratio)
        small = shrunk(_in_few_digits(examiner, small, lambda t: t.ratio <= goal))
    return certified(examiner.confirm(small))


def _in_few_digits(examiner: Examiner, trial: Trial, refutes: Callable[[Trial], Any]) -> Trial:
    """Return the trial with its points in the fewest of one to six digits that refute, else as it is."""
    largest = float(np.abs(trial.points).max(initial=0.0))
    for digits in range(1, DIGITS + 1) if largest else ():
        points = np.round(trial.points, digits - 1 - math.floor(math.log10(largest))) + 0.0
        rounded = examiner.attempt(points)
        if rounded is not None and refutes(rounded):
            return rounded
    return trial


def certified(trial: Trial) -> Witness:
    """Give a refuting trial its weights in few digits and the sum that they make."""
    gram, lowest = trial.gram, trial.margin
    vector = _simple_vector(gram, lowest.vector)
    form, rounding = quadratic_form(gram, vector)
    uncertainty = float(np.abs(vector) @ trial.error @ np.abs(vector)) + rounding
    numbers = lowest.eigenvalue, lowest.bound, vector, form, uncertainty, lowest.scaling
    return Witness(trial.points, gram, *numbers, trial.rows)


def _simple_vector(gram: FloatArray, exact: FloatArray) -> FloatArray:
    """Return the eigenvector as small whole numbers, or with few decimals, if that keeps half of the sum."""
    goal = 0.5 * float(exact @ gram @ exact)
    whole = ((float(k), np.round(k * exact)) for k in range(1, 21))
    decimal = ((1.0, np.round(exact, digits)) for digits in range(2, 17))
    for scale, vector in (*whole, *decimal):
        if float(vector @ gram @ vector) <= goal * scale**2 < 0:
            return vector + 0.0
    return exact
