"""Tests Mercer's condition: whether a function is a kernel, with points that refute it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gramian.arrays import as_float64, blas_threads
from gramian.checks import check_integer, check_number, check_seed, counted, evenly
from gramian.errors import DataError, IndefiniteKernelError, InputTypeError, ParameterError
from gramian.kernels.arithmetic import check_rows
from gramian.kernels.auditing.search import acceptable_features, search
from gramian.kernels.auditing.trials import TINY, Examiner, Margin, Trial
from gramian.kernels.auditing.witness import (
    Asymmetry,
    Witness,
    asymmetry_in,
    asymmetry_of,
    certified,
    shrunk,
    witness_of,
)
from gramian.kernels.callables import Callable
from gramian.kernels.expression import PRECOMPUTED, kernel_from_name
from gramian.kernels.facts import Validity, unknown
from gramian.notebook import Grid, InNotebook
from gramian.records import FloatArray, Seed

Verdict = Literal["valid", "not a kernel", "no counterexample"]


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
    lowest : Margin
        Smallest eigenvalue of what was tested, the one that lay lowest in units of its bound.
    asymmetry : float
        Largest ``|k(x, y) - k(y, x)|`` that was seen, relative to the largest |k| on the same points.
    tested : str
        On which points.
    trials, skipped, evaluations : int
        Gram matrices tested; sets of points left out because k has no finite value there; values of k.
    value_tol : float or None
        What was assumed about the rounding of k, relative to the largest value; None where it is proven.
    """

    kernel: str
    validity: Validity
    witness: Witness | Asymmetry | None
    lowest: Margin
    asymmetry: float
    tested: str
    value_tol: float | None
    trials: int = 1
    skipped: int = 0
    evaluations: int = 0

    @property
    def verdict(self) -> Verdict:
        """In three words: "valid", "not a kernel" or "no counterexample"."""
        if self.witness is not None or self.validity.refuted:
            return "not a kernel"
        return "valid" if self.validity.proven else "no counterexample"

    @property
    def eigenvalue(self) -> float | None:
        """Smallest eigenvalue of the witness's Gram matrix, or the lowest; None for an asymmetry."""
        return self._shown.eigenvalue if self._shown is not None else None

    @property
    def bound(self) -> float | None:
        """An eigenvalue above ``-bound`` says nothing: rounding can do that much."""
        return self._shown.bound if self._shown is not None else None

    @property
    def _shown(self) -> Margin | Witness | None:
        if isinstance(self.witness, Asymmetry):
            return None
        return self.lowest if self.witness is None else self.witness

    @property
    def valid(self) -> bool | None:
        """True where it is proven, False where it is refuted, None where neither is known."""
        return {"valid": True, "not a kernel": False}.get(self.verdict)

    def _sentences(self) -> list[str]:
        lines = [self.kernel, f"Verdict: {self._verdict()}", f"Symmetric: {self._symmetry()}"]
        if self.eigenvalue is not None and self.bound is not None:
            lines.append(
                f"Smallest eigenvalue: {self.eigenvalue:.4g}{self._scaling()}; above {-self.bound:.1e} it "
                f"could be rounding of the {self._sources()}, and of the eigenvalue solver."
            )
        lines.append(f"Tested: {self.tested}")
        if self.value_tol is not None:
            lines.append(
                f"Assumed: every value is accurate to {self.value_tol:g} times the largest. "
                "Raise value_tol for a function that is less accurate."
            )
        return lines

    def __str__(self) -> str:
        return "\n".join(self._sentences() + ([] if self.witness is None else ["", str(self.witness)]))

    def _notebook(self) -> Iterator[str | Grid]:
        yield from "\n".join(self._sentences()).splitlines()
        if self.witness is not None:
            yield from self.witness._notebook()

    def _verdict(self) -> str:
        if self.verdict == "valid":
            return "\n  ".join(["valid, proven by theory.", *str(self.validity).splitlines()])
        if self.verdict == "no counterexample":
            return (
                f"no counterexample found in {counted(self.trials, 'trial')}, which proves nothing. "
                f"{self.validity.reason}"
            )
        if isinstance(self.witness, Witness):
            return f"not a kernel, by a witness of {counted(len(self.witness.points), 'point')}."
        if self.witness is not None:
            return "not a kernel, by a witness of 2 points: it is not symmetric."
        return (
            "not a kernel, refuted by theory alone: no witness was found in "
            f"{counted(self.trials, 'trial')}. {self.validity.reason}"
        )

    def _symmetry(self) -> str:
        if isinstance(self.witness, Asymmetry):
            return "no, see the witness."
        if not self.asymmetry:
            return "yes."
        return f"yes, within rounding: differences reach {self.asymmetry:.1e} of the largest value."

    def _scaling(self) -> str:
        scaled = isinstance(self.witness, Witness) and (self.witness.scaling != 1).any()
        return ", rows and columns scaled to a diagonal near 1" if scaled else ""

    def _sources(self) -> str:
        return "values of k, as assumed below" if self.value_tol is not None else "values of k"


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

    Notes
    -----
    Without X up to about 4,000 Gram matrices are tested: one to three seconds for a formula. A function of
    two rows is called about 125,000 times, two to five seconds for a simple one; less once it is refuted. An
    expression of forty terms takes minutes: give a ``time_limit``. The report then depends on the machine.

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
    value_tol = check_number(
        "value_tol",
        value_tol,
        least=0,
        below=1,
        advice="It is how far a value of k may be off, relative to the largest. Try 1e-10.",
    )
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
                raise ParameterError(
                    f"n_features={d} but X has {rows.shape[1]} columns. It is for the search without rows: "
                    "leave it out."
                )
            return _audit_rows(examiner, rows, names or None)
        return _audit_by_search(examiner, d, rng)


# --------------------------------------------------------------------- routes


def _audit_by_search(examiner: Examiner, n_features: int | None, rng: np.random.Generator) -> AuditReport:
    wanted = acceptable_features(examiner) if n_features is None else (n_features,)
    lowest: list[Trial] = []
    searched: list[int] = []
    for d in wanted:
        result = search(examiner, d, rng)
        searched.append(d)
        lowest += [] if result is None else [result]
        if examiner.out_of_time or (result is not None and result.ratio < -1):
            break
    if not lowest:
        assert examiner.problem is not None
        raise examiner.problem
    several = " and ".join(", ".join(map(str, searched)).rsplit(", ", 1))
    noun = "features" if searched[-1] > 1 else "feature"
    tested = f"{examiner.trials:,} Gram matrices of points with {several} {noun}, chosen by a search."
    worst = min(lowest, key=lambda trial: trial.ratio)
    if worst.ratio >= -1 and examiner.out_of_time:
        tested += " It ended at its time limit; a longer one tries more."
    if examiner.skipped:
        tested += f" {counted(examiner.skipped, 'set')} of points left out, where k has no finite value."
    return _report(examiner, worst, tested, rng)


def _audit_rows(examiner: Examiner, X: Any, names: list[str] | None) -> AuditReport:
    n = X.shape[0]
    most = MOST_ROWS_CALLED if examiner.assumes else MOST_ROWS
    chosen = evenly(n, most)
    points = X[chosen]
    examiner.fix(points, names)
    trial = examiner.examine(points, tuple(chosen))
    # A witness of a few rows is judged by the size of values on all of them.
    examiner.reference = float(np.abs(trial.raw).max())
    some = f"{len(chosen):,} evenly spaced rows of {n:,}" if n > most else f"the {counted(n, 'row')} given"
    return _report(examiner, trial, f"{some}, and nothing else.", None)


def _audit_matrix(K: Any, value_tol: float) -> AuditReport:
    if K is None:
        raise ParameterError('kernel="precomputed" needs X, the square Gram matrix.')
    raw = _rows(K, "The precomputed Gram matrix")
    n = raw.shape[0]
    if raw.shape[1] != n:
        raise DataError(f"A precomputed Gram matrix must be square; it came as {n} x {raw.shape[1]}.")
    largest = float(np.abs(raw).max())
    error = np.full((n, n), value_tol * largest + TINY)
    indices = np.arange(n, dtype=np.float64)[:, None]
    trial = Trial(indices, raw, error, tuple(range(n)))
    witness: Witness | Asymmetry | None = None
    if trial.asymmetry is not None:
        witness = asymmetry_in(trial.subset(trial.asymmetry))
    elif trial.ratio < -1:
        witness = certified(shrunk(trial))
    return AuditReport(
        kernel=f"precomputed matrix of {n:,} x {n:,}",
        validity=unknown("A matrix is one set of points; no other one was tested.", PRECOMPUTED),
        witness=witness,
        lowest=trial.margin,
        asymmetry=float(np.abs(raw / largest - raw.T / largest).max()) if largest else 0.0,
        tested="this matrix, and nothing else.",
        value_tol=value_tol,
    )


def _report(examiner: Examiner, trial: Trial, tested: str, rng: np.random.Generator | None) -> AuditReport:
    kernel = examiner.kernel
    validity = kernel.validity
    if isinstance(kernel, Callable):
        validity = unknown(f"{kernel.no_proof}.", repr(kernel))
    # Counted before a witness is made smaller, which tests more.
    trials, skipped, evaluations = examiner.trials, examiner.skipped, examiner.evaluations
    witness: Witness | Asymmetry | None = None
    if trial.asymmetry is not None:
        witness = asymmetry_of(examiner, trial.subset(trial.asymmetry), invent=rng is not None)
    elif trial.ratio < -1:
        witness = witness_of(examiner, trial, rng)
    if witness is not None and validity.proven:
        raise IndefiniteKernelError(
            f"{kernel!r} is proven to be a kernel ({validity.reason}), and these points refute it:\n"
            f"{witness}\nOne of the two is wrong: please report this as a defect."
        )
    return AuditReport(
        kernel=repr(kernel),
        validity=validity,
        witness=witness,
        lowest=trial.margin,
        asymmetry=examiner.largest_gap,
        tested=tested,
        trials=trials,
        skipped=skipped,
        evaluations=evaluations,
        value_tol=examiner.value_tol if examiner.assumes else None,
    )


def _rows(X: Any, name: str) -> FloatArray:
    """Return X as a two-dimensional float64 NumPy array of finite numbers, at least one of them."""
    if hasattr(X, "toarray"):
        raise InputTypeError(f"{name} is sparse. Give some of its rows as an array: X[:1000].toarray().")
    rows = as_float64(check_rows(name, X))
    if not rows.size:
        raise DataError(f"{name} has shape {rows.shape}; it needs at least one row and one column.")
    return rows
