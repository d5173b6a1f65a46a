"""One trial of Mercer's condition: the Gram matrix of some points, and how negative an eigenvalue must be.

A computed eigenvalue below zero says nothing by itself. It says something once it lies below everything that
rounding can do, in the values of k and in the eigenvalue solver; :func:`margin` puts a number on that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from gramian.errors import DataError
from gramian.kernels.algebra import Kernel
from gramian.kernels.callables import Callable
from gramian.records import FloatArray

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
        excess = _gap(self.raw) - self.error - self.error.T
        i, j = np.unravel_index(int(np.argmax(excess)), excess.shape)
        return (int(min(i, j)), int(max(i, j))) if excess[i, j] > 0 else None

    def subset(self, keep: Any) -> Trial:
        """Return the trial of some of the points, without evaluating k again."""
        index = np.asarray(keep, dtype=np.intp)
        block = np.ix_(index, index)
        rows = None if self.rows is None else tuple(self.rows[i] for i in index)
        return Trial(self.points[index], self.raw[block], self.error[block], rows)


def _gap(raw: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        difference: FloatArray = np.abs(raw - raw.T)
    return difference


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
    m = gram.shape[0]
    largest = float(np.abs(gram).max(initial=0.0))
    # Half an exponent for each side, so that numbers near the ends of the range can be squared.
    half = (int(np.frexp(largest)[1]) + 1) // 2
    plain = _margin(gram, error, np.full(m, half))
    diagonal = np.diagonal(gram)
    if plain.ratio < -1 or not largest or not (diagonal > 0).any():
        return plain
    exponents = np.where(diagonal > 0, np.frexp(np.where(diagonal > 0, diagonal, 1.0))[1] // 2, half)
    if np.ptp(exponents) == 0:
        return plain
    scaled = _margin(gram, error, exponents)
    return scaled if scaled.ratio < -1 else plain


def _margin(gram: FloatArray, error: FloatArray, exponents: Any) -> Margin:
    m = gram.shape[0]
    both = -(exponents[:, None] + exponents[None, :])
    uniform = m == 0 or np.ptp(exponents) == 0
    with np.errstate(all="ignore"):
        A, B = np.ldexp(gram, both), np.ldexp(error, both)
        bound = (m + 10) * EPS * float(np.linalg.norm(A)) + float(np.linalg.norm(B))
    if not np.isfinite(bound):
        return Margin(0.0, np.inf, np.ones(m), np.ones(m))
    try:
        values, vectors = np.linalg.eigh(A)
    except np.linalg.LinAlgError:
        values, vectors = scipy.linalg.eigh(A, driver="ev")
    vector = np.ldexp(vectors[:, 0], int(exponents.min()) - exponents)
    vector = vector / vector[int(np.argmax(np.abs(vector)))]
    if uniform:
        back = 2 * int(exponents[0])
        with np.errstate(over="ignore"):
            value, bound = float(np.ldexp(values[0], back)), float(np.ldexp(bound, back))
        return Margin(value, bound, vector, np.ones(m))
    return Margin(float(values[0]), bound, vector, np.ldexp(1.0, -exponents))


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

    kernel: Kernel
    value_tol: float
    reference: float = 0.0
    trials: int = 0
    skipped: int = 0
    evaluations: int = 0
    largest_gap: float = 0.0
    problem: DataError | None = None
    bound: Any = None
    deadline: float = math.inf

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def __post_init__(self) -> None:
        self.fixed = self.kernel

    def fix(self, points: FloatArray, names: Sequence[str] | None = None) -> None:
        """Fill in the parameters that depend on data, so that every set of points meets the same function."""
        self.fixed = self.kernel.resolve(points.copy(), names)
        self.bound = None

    def _bind(self, points: FloatArray) -> Any:
        bound = self.bound or self.fixed.bind(points, precision=0.0)
        if isinstance(self.fixed, Callable):
            # Binding a bare function evaluates it on some rows, and gives the same for all rows.
            self.bound = bound
        return bound

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
        try:
            return self._examine(points, rows)
        except self._expected as error:
            raise self.explain(points, error) from (None if isinstance(error, DataError) else error)

    def attempt(self, points: FloatArray) -> Trial | None:
        """Return the trial of a set of points, or None where k has no finite value on it."""
        try:
            return self._examine(points, None)
        except self._expected as error:
            self.skipped += 1
            self.problem = self.problem or self.explain(points, error)
            return None

    @property
    def _expected(self) -> type[Exception]:
        # A defect of a formula of this package must not pass for a remark about the data.
        return Exception if self.assumes else DataError

    def _examine(self, points: FloatArray, rows: tuple[int, ...] | None) -> Trial:
        with np.errstate(all="ignore"):
            bound = self._bind(points)
            left, right = bound.encode(points)
            raw = np.array(bound.tile(left, right), dtype=np.float64)
            if not self.assumes:
                np.fill_diagonal(raw, bound.diagonal(points))
        self.evaluations += raw.size
        if not np.isfinite(raw).all():
            i, j = np.argwhere(~np.isfinite(raw))[0]
            raise DataError(
                f"k(x, y) is {raw[i, j]} at {_pair(points[i], points[j])}: it must be one finite number."
            )
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
        if largest > 0:
            self.largest_gap = max(self.largest_gap, float((_gap(raw / largest)).max()))
        return Trial(points, raw, error, rows)

    def explain(self, points: FloatArray, error: Exception) -> DataError:
        """Return what went wrong as an error that names the two points."""
        for x in points:
            for y in points:
                try:
                    with np.errstate(all="ignore"):
                        value = np.asarray(self.fixed.gram(x[None, :].copy(), y[None, :].copy()))
                except DataError as found:
                    return DataError(f"{found} That was at {_pair(x, y)}.")
                except Exception as found:
                    wants = "It must return one finite number for every two rows."
                    if "read-only" in str(found):
                        wants = "It must not change its arguments: let it copy them first, x = x.copy()."
                    raised = f"{type(found).__name__}: {found}"
                    return DataError(f"The kernel function raised {raised} at {_pair(x, y)}. {wants}")
                if not np.isfinite(value).all():
                    return DataError(
                        f"k(x, y) is {value.ravel()[0]} at {_pair(x, y)}: it must be one finite number."
                    )
        return error if isinstance(error, DataError) else DataError(f"{type(error).__name__}: {error}")

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
        for i, x in enumerate(trial.points):
            for j, y in enumerate(trial.points):
                value = float(np.asarray(self.fixed.gram(x[None, :].copy(), y[None, :].copy()))[0, 0])
                if not abs(value - trial.raw[i, j]) <= 2 * trial.error[i, j]:
                    raise DataError(
                        f"The kernel function gave {float(trial.raw[i, j])!r} and then {value!r} at "
                        f"{_pair(x, y)}. It must give the same number every time."
                    )
                fresh[i, j] = value
        self.evaluations += fresh.size
        return replace(trial, raw=fresh)


def show_point(point: FloatArray, exact: bool = True) -> str:
    """Return a row as text, cut when it is long; in all its digits, or in four.

    Examples
    --------
    >>> show_point(np.array([1.0, 0.25]))
    '(1, 0.25)'
    """
    # Without the sign of zero.
    few = [float(value) + 0.0 for value in point[:SHOWN]]
    shown = [f"{v:.4g}" if not exact or float(f"{v:.4g}") == v else repr(v) for v in few]
    return f"({', '.join(shown)}{', ...' if len(point) > SHOWN else ''})"


def _pair(x: FloatArray, y: FloatArray) -> str:
    return f"x = {show_point(x)}, y = {show_point(y)}"
