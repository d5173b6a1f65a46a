"""Whitening: linear maps after which columns are uncorrelated and of variance 1.

A covariance ``S = U.T diag(variances) U`` has many square roots of its inverse, all rotations of each other.
Here are their formulas; :class:`Whitening` applies them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # whose parts are imported when they are first used

from gramian.core import arrays
from gramian.core.checks import check_choice, check_number, slices
from gramian.core.records import FloatArray, Spectrum
from gramian.engine.centered import CenteredRows
from gramian.engine.scatter import CovarianceOperator, GramOperator
from gramian.errors import DataError
from gramian.statistics.projection import inverse_deviations
from gramian.tables.rows import Block, Rows

METHODS = ("pca", "zca", "zca-cor", "pca-cor", "cholesky")
SHRINKAGE = ("ledoit-wolf", "oas")
ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of sums that would be 0 or 1
COLUMNS = 4096  # of the directions worked on at a time


# ------------------------------------------------- what scores are divided by


def check_regularization(value: Any) -> float | str | None:
    """Return ``regularization``, or refuse it; 0 adds nothing and is None.

    Raises
    ------
    ParameterError
        For anything but a number of at least 0, the name of a shrinkage, or None.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return check_choice("regularization", value, SHRINKAGE)
    advice = "It is added to every variance. Give 'ledoit-wolf' or 'oas' to estimate it, or leave it out."
    return check_number("regularization", value, least=0.0, advice=advice) or None


def shrinkage_intensity(rule: str, n: float, d: int, squares: float, fourth: float) -> float:
    """Return the weight of ``mu I`` in a shrunk covariance ``(1 - weight) S + weight mu I``, mu = trace(S)/d.

    The same number as ``sklearn.covariance`` finds from the rows, here from sums over the centred rows c,
    none of which needs a (d, d) matrix; ``t`` is the sum of ``||c||^2``.

    Parameters
    ----------
    rule : {"ledoit-wolf", "oas"}
    n, d : float, int
        Rows, or the sum of their weights, and columns.
    squares : float
        Squared Frobenius norm of ``C.T C``, which is that of ``C C.T``, over ``t^2``.
    fourth : float
        Sum of ``||c||^4`` over ``t^2``, both weighted; used by Ledoit and Wolf only.

    References
    ----------
    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices. Chen,
    Wiesel, Eldar and Hero (2010), Shrinkage algorithms for MMSE covariance estimation, equation 23, without
    its terms in 2 / d, as scikit-learn has it.

    Examples
    --------
    >>> round(shrinkage_intensity("oas", n=10, d=2, squares=0.75, fourth=0.0), 4)
    0.6364
    """
    # What S has beyond a multiple of the identity of the same trace.
    beyond = squares - 1.0 / d
    if d == 1:
        return 0.0
    if beyond <= 0:
        return 1.0
    if rule == "oas":
        return min((squares + 1.0) / ((n + 1) * beyond), 1.0)
    return min(max((fourth - squares / n) / beyond, 0.0), 1.0)


def regularized(
    rule: float | str,
    variances: FloatArray,
    total: float,
    spectrum: Spectrum,
    view: CenteredRows,
    fourth: float,
) -> tuple[float, FloatArray, float]:
    """Return variances that have no zero among them, unless what was added is itself rounding.

    Parameters
    ----------
    rule : float or {"ledoit-wolf", "oas"}
        What is added, or how it is estimated.
    variances : ndarray of shape (k,)
        0 beyond the rank.
    total : float
        Sum of all variances.
    spectrum : Spectrum
        Whose rank tolerance says what rounding is.
    view : CenteredRows
        The fitted rows, centred.
    fourth : float
        As for :func:`shrinkage_intensity`.

    Returns
    -------
    amount : float
        What was added, or the intensity of the shrinkage.
    variances : ndarray of shape (k,)
        0 leaves a direction out.
    rest : float
        Variance of all directions orthogonal to the k.
    """
    n, d = view.rows.weight, view.rows.shape[1]
    weight = 0.0
    if isinstance(rule, str):
        squares = _sum_of_squares(spectrum, view) if total > 0 else 1.0 / d
        weight = shrinkage_intensity(rule, n, d, squares, fourth)
    added = weight * total / d if isinstance(rule, str) else rule
    least = spectrum.rank_tolerance * float(variances.max(initial=0.0))
    values = (1.0 - weight) * variances + added
    amount, rest = weight if isinstance(rule, str) else added, added if added > least else 0.0
    return amount, np.where(values > least, values, 0.0), rest


def _sum_of_squares(spectrum: Spectrum, view: CenteredRows) -> float:
    """Sum of the squares of all eigenvalues, over the square of their sum."""
    values = np.concatenate([spectrum.values, spectrum.rest])
    n, d = view.rows.shape
    if spectrum.complete and values.size >= min(n, d):
        values = values / values.sum()
        return float(values @ values)
    A = (GramOperator if n < d else CovarianceOperator)(view).dense()
    xp = arrays.namespace(A)
    A = A / float(xp.linalg.trace(A))
    return float(xp.sum(A * A))


# ------------------------------------------------------------- roots of matrices


def correction_of(products: FloatArray, rank: int) -> FloatArray | None:
    """Return ``T^-1/2`` for a T that should be the identity, or None where it is, to rounding.

    Parameters
    ----------
    products : ndarray of shape (k, k)
        Covariance of scores over their deviations; T is the identity beyond the rank.
    rank : int
    """
    whole = np.eye(len(products))
    whole[:rank, :rank] = products[:rank, :rank]
    gap = float(np.abs(whole - np.eye(len(whole))).max(initial=0.0))
    if gap <= ROUNDING:
        return None
    values, vectors = arrays.eigh(whole)
    # It corrects rounding; where that is as large as the values themselves, it must not amplify it.
    return np.asarray((vectors / np.sqrt(np.maximum(values, 0.25))) @ vectors.T)


def orthonormal_rows(directions: Any) -> Any:
    """Return directions that are orthonormal to rounding, where they were so nearly.

    ZCA goes through the directions twice, so that what they lack shows twice in the covariance.

    Parameters
    ----------
    directions : array of shape (k, d)

    References
    ----------
    Higham (1986), Computing the polar decomposition: one step towards the nearest orthonormal rows.
    """
    k, d = directions.shape
    parts = slices(d, COLUMNS)
    dtype = arrays.numpy_dtype(directions)

    def block(part: slice) -> Any:
        return arrays.to_float64(directions[:, part])

    gap = arrays.as_float64(sum(B @ B.T for B in map(block, parts))) - np.eye(k)
    if float(np.abs(gap).max(initial=0.0)) <= max(2 * float(np.finfo(dtype).eps), ROUNDING):
        return np.ascontiguousarray(directions) if arrays.is_numpy(directions) else directions
    step = arrays.from_numpy(np.eye(k) - gap / 2, directions)
    turned = [arrays.to_dtype(step @ block(part), dtype) for part in parts]
    return arrays.namespace(directions).concat(turned, axis=1)


def triangular_root(
    directions: FloatArray, deviations: FloatArray, rest: float, correction: FloatArray | None
) -> FloatArray:
    """Return the upper triangular W of positive diagonal with ``W.T W = S^-1``.

    ``L = W.T`` is the Cholesky factor of ``S^-1 = L L.T``. S is never formed: W is the inverse of R in
    ``M = R Q``, where ``S = M M.T``.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    deviations : ndarray of shape (k,)
        Square roots of the variances along them, all positive.
    rest : float
        Square root of the variance along every other direction; positive where k < d.
    correction : ndarray of shape (k, k) or None
        As of :class:`Whitening`; None where k < d.
    """
    k, d = directions.shape
    top = max(float(deviations.max()), rest)
    root = deviations / top
    if k == d:
        back = np.diag(root) if correction is None else np.linalg.inv(correction) * root[:, None]
        # Not the transpose: what rounding has left of orthogonality would be divided by small deviations.
        M = np.linalg.solve(directions, back)
    else:
        least = rest / top
        beyond = np.sqrt(np.maximum(root**2 - least**2, 0.0))
        M = np.hstack([directions.T * beyond, least * np.eye(d)])
    R = scipy.linalg.rq(M, mode="economic")[0]
    R = R * np.where(np.diag(R) < 0, -1.0, 1.0)
    return np.asarray(scipy.linalg.solve_triangular(R, np.eye(d)) / top)


# ---------- the map, as two thin products: no matrix of the order of the columns is made

LEAST_ROWS = 128  # in a block, so that reading the directions costs less than multiplying by them
DOUBLE_BELOW = 1 << 22  # entries of the directions up to which float32 rows are multiplied in float64
NEAR_ONE = 30  # powers of two by which data may be off before it is scaled


@dataclass(frozen=True, eq=False)
class Measured:
    """What one pass over the fitted rows found.

    Attributes
    ----------
    means : ndarray of shape (d,)
        What the column means had left, in units of the data; already taken off the other sums.
    squares : ndarray of shape (d,)
        Sums of squares of the centred columns, in squared units of the data.
    fourth : float
        Sum of ``||c||^4`` over the centred (scaled) rows, over the square of the sum of ``||c||^2``.
    products : ndarray of shape (k, k)
        ``Z.T Z`` for the scores Z over their deviations, uncorrected; zeros where it was not wanted.
    scores : array of shape (n, k) or None
        Scores, in units of the map's own, where they were to be kept.
    """

    means: FloatArray
    squares: FloatArray
    fourth: float
    products: FloatArray
    scores: Any


@dataclass(frozen=True, eq=False)
class Whitening:
    """The affine map ``z = W (x - center)`` in both directions.

    With U the directions, v the squared deviations, K the correction and c = (x - center) / divisor, W c is
    ``K diag(v)^-1/2 U c``; turned back into columns ``U.T K diag(v)^-1/2 U c``, to which ``c - U.T U c`` over
    ``rest`` is added; or the triangle times c.

    Parameters
    ----------
    directions : array of shape (k, d)
        Orthonormal rows.
    center : ndarray of shape (d,)
        Subtracted from every row.
    divisor : ndarray of shape (d,) or None
        What centred columns are divided by; infinite leaves a column out.
    deviations : ndarray of shape (k,)
        What scores are divided by; 0 leaves a direction out.
    rest : float
        Divisor of the part orthogonal to the directions; 0 leaves it out.
    correction : ndarray of shape (k, k) or None
        Inverse square root of the covariance that the divided scores were measured to have.
    turned : bool
        Whether whitened scores are turned back into columns (ZCA).
    triangle : ndarray of shape (d, d) or None
        W itself, where it is triangular.
    """

    directions: Any
    center: FloatArray
    divisor: FloatArray | None
    deviations: FloatArray
    rest: float = 0.0
    correction: FloatArray | None = None
    turned: bool = False
    triangle: FloatArray | None = None

    @cached_property
    def _unit(self) -> int:
        """Power of two that centred rows are in units of, so that no product leaves its range.

        Divided columns have none.
        """
        size = max(float(self.deviations.max(initial=0.0)), self.rest) if self.divisor is None else 1.0
        exponent = arrays.power_of_two(size)
        return exponent if abs(exponent) > NEAR_ONE else 0

    @cached_property
    def _core(self) -> FloatArray:
        """What scores, in units of the map's own, are multiplied by: (k, k), or its diagonal (k,)."""
        inverse = inverse_deviations(np.ldexp(self.deviations, -self._unit))
        if self.turned:
            inverse = inverse - self._outside
        return inverse if self.correction is None else inverse[:, None] * self.correction

    @property
    def _outside(self) -> float:
        return 1.0 / float(np.ldexp(self.rest, -self._unit)) if self.rest > 0 else 0.0

    def centered(self, rows: Rows) -> CenteredRows:
        """Return rows as the map centres and scales them."""
        double = self.triangle is not None or self.directions.shape[0] * rows.shape[1] <= DOUBLE_BELOW
        divisor = np.full(len(self.center), 2.0**self._unit) if self._unit else self.divisor
        return CenteredRows(rows, self.center, divisor, np.zeros(1), 0.0, double=double)

    # ------------------------------------------------------------------- there

    def apply(self, rows: Rows, scores: Any = None) -> Any:
        """Return whitened rows, shape (n, k) or (n, d), in the kind and dtype of ``rows``.

        Parameters
        ----------
        rows : Rows
            Not yet searched for NaN: it shows in the result.
        scores : array of shape (n, k), optional
            Scores of these rows, where :meth:`measure` has kept them.

        Raises
        ------
        DataError
            For NaN and infinity, and where a result is beyond the range of the dtype.
        """
        view = self.centered(rows)
        factors = self._factors(view)

        def whiten(block: Block) -> Any:
            C = view.block(block.rows, slice(None))
            S = C @ factors[0].T if scores is None else scores[block.rows, :]
            Z = arrays.to_dtype(self._whitened(C, S, factors), rows.dtype)
            if not bool(rows.xp.isfinite(rows.xp.sum(rows.xp.abs(Z)))):
                rows.require_finite()
                why = f"Whitened values of a row far from the fitted rows exceed what {rows.dtype} can hold."
                raise DataError(why, "Leave out such rows, or fit with a larger regularization.")
            return Z

        with np.errstate(over="ignore", invalid="ignore"):
            return rows.map(whiten, view.row_slices(LEAST_ROWS)[0].stop)

    def _factors(self, view: CenteredRows) -> tuple[Any, Any]:
        """What centred rows, and then their scores, are multiplied by."""
        like = view.rows.like
        if self.triangle is not None:
            return arrays.from_numpy(np.ldexp(self.triangle, self._unit), like), None
        directions = np.ascontiguousarray(arrays.to_numpy(self.directions), dtype=view.arithmetic)
        return arrays.from_numpy(directions, like), arrays.from_numpy(self._core, like)

    def _whitened(self, C: Any, S: Any, factors: tuple[Any, Any]) -> Any:
        first, core = factors
        if core is None:
            return S
        # The scores are few numbers beside the rows, and may be far from the range of float32.
        P = arrays.to_float64(S)
        P = P * core[None, :] if core.ndim == 1 else P @ core
        if not self.turned:
            return P
        Z = arrays.to_dtype(P, arrays.numpy_dtype(first)) @ first
        return Z + arrays.to_float64(C) * self._outside if self.rest > 0 else Z

    # -------------------------------------------------------------------- back

    @np.errstate(over="ignore", invalid="ignore")
    def undo(self, Z: Any) -> Any:
        """Return rows whose whitened values are Z, as far as the map keeps them; shape (n, d).

        Parameters
        ----------
        Z : array of shape (n, k) or (n, d)

        Raises
        ------
        DataError
            Where a row is beyond the range of the values' dtype.
        """
        dtype = arrays.numpy_dtype(Z)

        def like(values: Any, kind: Any = np.float64) -> Any:
            return arrays.from_numpy(np.ascontiguousarray(values, dtype=kind), Z)

        if self.triangle is not None:
            root = scipy.linalg.solve_triangular(
                np.ldexp(self.triangle, self._unit), np.eye(len(self.center))
            )
            X = arrays.to_float64(Z) @ like(root.T)
        else:
            directions = like(arrays.to_numpy(self.directions), dtype)
            deviations = np.ldexp(self.deviations, -self._unit)
            P = arrays.to_float64(Z @ directions.T) if self.turned else arrays.to_float64(Z)
            if self.correction is not None:
                P = P @ like(np.linalg.inv(self.correction))
            rest = float(np.ldexp(self.rest, -self._unit))
            inside = deviations - rest if self.turned else deviations
            X = arrays.to_dtype(P * like(inside)[None, :], dtype) @ directions
            X = X + arrays.to_float64(Z) * rest if self.turned and rest > 0 else X
        X = arrays.to_dtype(X * like(self._unscaled, arrays.numpy_dtype(X))[None, :], dtype) + like(
            self.center, dtype
        )
        return arrays.require_range(X, "Rows of these whitened values")

    @property
    def _unscaled(self) -> FloatArray:
        """What rows in units of the map's own are multiplied by; columns left out stay at the mean."""
        if self.divisor is None:
            return np.full(len(self.center), np.ldexp(1.0, self._unit))
        return np.where(np.isfinite(self.divisor), self.divisor, 0.0)

    # ----------------------------------------------------------- fitted rows

    def measure(self, rows: Rows, *, scores: bool, keep: bool = False) -> Measured:
        """Go over the fitted rows once more, with the map as it stands.

        Parameters
        ----------
        rows : Rows
        scores : bool
            Whether products of scores are wanted.
        keep : bool
            Whether the scores are kept for :meth:`apply`.
        """
        n = rows.weight
        keep = keep and rows.keeps_scores
        inverse = inverse_deviations(np.ldexp(self.deviations, -self._unit))
        (left, squares, norms, products), S = rows.map_reduce(
            lambda part: self._sums(part, inverse, scores=scores, keep=keep),
            lambda one, other: ([a + b for a, b in zip(one[0], other[0], strict=True)], None),
        )
        left = left / n
        shift = arrays.as_float64(self.directions) @ left
        products = products - n * np.outer(shift * inverse, shift * inverse)
        kept = None if S is None else S - arrays.from_numpy(shift.astype(arrays.numpy_dtype(S)), S)[None, :]
        unit = self._unscaled
        with np.errstate(over="ignore", under="ignore"):
            squares = np.maximum(squares - n * left * left, 0.0) * unit * unit
        fourth = float(norms[1]) / float(norms[0]) ** 2 if norms[0] > 0 else 0.0
        return Measured(left * unit, squares, fourth, products, kept)

    def _sums(
        self, rows: Rows, inverse: FloatArray, *, scores: bool, keep: bool
    ) -> tuple[list[FloatArray], Any]:
        """Return sums of what :meth:`measure` wants over rows in one place, and their scores if kept."""
        xp, k, view = rows.xp, len(inverse), self.centered(rows)
        directions = self._factors(view)[0]
        blocks = view.row_slices(LEAST_ROWS)

        # Blocks in the cache are short.
        wide = {} if arrays.is_numpy(rows.like) else {"dtype": xp.float64}

        def of_block(part: slice, C: Any) -> tuple[list[Any], list[tuple[int, Any]]]:
            weights, kept, products = rows.weights_of(part), [], np.zeros((k, k))
            if scores:
                S = C @ directions.T
                kept = [(part.start, S)] if keep else []
                P = arrays.to_float64(S) * arrays.from_numpy(inverse, S)[None, :]
                P = P if weights is None else P * xp.sqrt(arrays.from_numpy(weights, S))[:, None]
                products = arrays.as_float64(P.T @ P)
            C = C if weights is None else arrays.to_float64(C)

            def column_sums(values: Any) -> FloatArray:
                if weights is None:
                    return arrays.as_float64(xp.sum(values, axis=0, **wide))
                return arrays.as_float64(arrays.from_numpy(weights, values) @ values)

            squares = C * C
            norms = arrays.as_float64(xp.sum(squares, axis=1))
            own = np.ones(len(norms)) if weights is None else weights
            powers = np.array([own @ norms, own @ (norms * norms)])
            # Sums of columns, of their squares, of row norms to the 2nd and 4th power, of products of scores.
            return [column_sums(C), column_sums(squares), powers, products], kept

        def share(draw: Iterator[slice]) -> tuple[list[Any], list[tuple[int, Any]]]:
            totals: list[Any] = []
            results: list[tuple[int, Any]] = []
            for part, C in view.along(draw, 0, blocks[0].stop):
                sums, kept = of_block(part, C)
                totals = [a + b for a, b in zip(totals, sums, strict=True)] if totals else sums
                results += kept
            return totals, results

        if arrays.is_numpy(rows.like):
            results = [of for of in arrays.each_thread(share, blocks) if of[0]]
        else:
            results = list(view.on_device(of_block, 0))
        totals = [np.sum(parts, axis=0) for parts in zip(*(f for f, _ in results), strict=True)]
        return totals, _in_order(rows, results) if keep else None

    # ------------------------------------------------------------ as matrices

    def matrix(self) -> FloatArray:
        """Return W of ``z = W (x - center)``, shape (k, d) or (d, d)."""
        if self.triangle is not None:
            return self.triangle
        U = arrays.as_float64(self.directions)
        inner = inverse_deviations(self.deviations)[:, None] * U
        inner = inner if self.correction is None else self.correction @ inner
        if self.turned:
            inner = U.T @ inner
            if self.rest > 0:
                inner = inner + (np.eye(U.shape[1]) - U.T @ U) / self.rest
        return inner if self.divisor is None else inner / self.divisor[None, :]

    def cross_covariance(self, variances: FloatArray) -> FloatArray:
        """Return the covariance of z with x, in units of the data, shape (k, d) or (d, d).

        Parameters
        ----------
        variances : ndarray of shape (k,)
            Variance of the fitted (scaled) data along each direction.
        """
        U = arrays.as_float64(self.directions)
        with np.errstate(under="ignore"):
            inner = (inverse_deviations(self.deviations) * variances)[:, None] * U
        if self.triangle is not None:
            inner = (self.triangle @ U.T) @ (variances[:, None] * U)
        else:
            inner = inner if self.correction is None else np.asarray(np.linalg.solve(self.correction, inner))
            inner = U.T @ inner if self.turned else inner
        return inner if self.divisor is None else inner * self._unscaled[None, :]


def _in_order(rows: Rows, result: list[tuple[Any, list[tuple[int, Any]]]]) -> Any:
    """Put the blocks that threads have made together, by their first rows."""
    blocks = sorted((block for _, made in result for block in made), key=lambda block: block[0])
    return rows.xp.concat([block for _, block in blocks], axis=0)
