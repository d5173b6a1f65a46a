"""The whitening map, applied to rows and undone as two thin products.

In the eigenvectors' coordinates every whitening but Cholesky's is diagonal, so that pictures of 32,256 pixels
need no matrix of that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from gramian.analysis.whitening import inverse_deviations
from gramian.arrays import (
    as_float64,
    each_thread,
    from_numpy,
    is_numpy,
    numpy_dtype,
    power_of_two,
    to_dtype,
    to_float64,
    to_numpy,
)
from gramian.errors import DataError
from gramian.operators.centered import CenteredRows
from gramian.records import FloatArray
from gramian.rows import Block, Rows

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
        What everything beside the directions is divided by; 0 leaves it out.
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
    def exponent(self) -> int:
        """Power of two that data far from 1 is divided by, so that no product leaves its range."""
        if self.divisor is None:
            size = max(float(self.deviations.max(initial=0.0)), self.rest)
        else:
            size = float(self.divisor[np.isfinite(self.divisor)].max(initial=0.0))
        exponent = power_of_two(size)
        return exponent if abs(exponent) > NEAR_ONE else 0

    @property
    def _unit(self) -> int:
        """Power of two that centred rows are in units of; divided columns have none."""
        return self.exponent if self.divisor is None else 0

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
        exponent = self.exponent
        double = self.triangle is not None or self.directions.shape[0] * rows.shape[1] <= DOUBLE_BELOW
        divisor = None if self.divisor is None else np.ldexp(self.divisor, -exponent)
        center = np.ldexp(self.center, -exponent)
        return CenteredRows(rows, center, divisor, exponent, np.zeros(1), 0.0, double=double)

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
        if rows.is_spread:
            k, d = self.directions.shape
            return rows.mapped(self.apply, d if self.turned or self.triangle is not None else k)
        view = self.centered(rows)
        factors = self._factors(view)

        def whiten(block: Block) -> Any:
            C = view.block(block.rows, slice(None))
            S = C @ factors[0].T if scores is None else scores[block.rows, :]
            Z = to_dtype(self._whitened(C, S, factors), rows.dtype)
            if not bool(rows.xp.isfinite(rows.xp.sum(rows.xp.abs(Z)))):
                rows.require_finite()
                raise DataError(
                    f"A row lies so far from the fitted rows that its whitened values exceed what "
                    f"{rows.dtype} can hold. Leave out such rows, or fit with a larger regularization."
                )
            return Z

        with np.errstate(over="ignore", invalid="ignore"):
            return rows.map(whiten, view.row_slices(LEAST_ROWS)[0].stop)

    def _factors(self, view: CenteredRows) -> tuple[Any, Any]:
        """What centred rows, and then their scores, are multiplied by."""
        like = view.rows.like
        if self.triangle is not None:
            return from_numpy(np.ldexp(self.triangle, self._unit), like), None
        directions = np.ascontiguousarray(to_numpy(self.directions), dtype=view.arithmetic)
        return from_numpy(directions, like), from_numpy(self._core, like)

    def _whitened(self, C: Any, S: Any, factors: tuple[Any, Any]) -> Any:
        first, core = factors
        if core is None:
            return S
        # The scores are few numbers beside the rows, and may be far from the range of float32.
        P = to_float64(S)
        P = P * core[None, :] if core.ndim == 1 else P @ core
        if not self.turned:
            return P
        Z = to_dtype(P, numpy_dtype(first)) @ first
        return Z + to_float64(C) * self._outside if self.rest > 0 else Z

    # -------------------------------------------------------------------- back

    def undo(self, Z: Any) -> Any:
        """Return rows whose whitened values are Z, as far as the map keeps them; shape (n, d).

        Parameters
        ----------
        Z : array of shape (n, k) or (n, d)
        """
        dtype = numpy_dtype(Z)

        def like(values: Any, kind: Any = np.float64) -> Any:
            return from_numpy(np.ascontiguousarray(values, dtype=kind), Z)

        if self.triangle is not None:
            root = scipy.linalg.solve_triangular(
                np.ldexp(self.triangle, self._unit), np.eye(len(self.center))
            )
            X = to_float64(Z) @ like(root.T)
        else:
            directions = like(to_numpy(self.directions), dtype)
            deviations = np.ldexp(self.deviations, -self._unit)
            P = to_float64(Z @ directions.T) if self.turned else to_float64(Z)
            if self.correction is not None:
                P = P @ like(np.linalg.inv(self.correction))
            rest = float(np.ldexp(self.rest, -self._unit))
            inside = deviations - rest if self.turned else deviations
            X = to_dtype(P * like(inside)[None, :], dtype) @ directions
            X = X + to_float64(Z) * rest if self.turned and rest > 0 else X
        return to_dtype(X * like(self._unscaled, numpy_dtype(X))[None, :], dtype) + like(self.center, dtype)

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
        n = rows.shape[0]
        keep = keep and not rows.is_spread
        inverse = inverse_deviations(np.ldexp(self.deviations, -self._unit))
        (left, squares, norms, products), S = rows.over_parts(
            lambda part: self._sums(part, inverse, scores=scores, keep=keep),
            lambda one, other: ([a + b for a, b in zip(one[0], other[0], strict=True)], None),
        )
        left = left / n
        shift = as_float64(self.directions) @ left
        products = products - n * np.outer(shift * inverse, shift * inverse)
        kept = None if S is None else S - from_numpy(shift.astype(numpy_dtype(S)), S)[None, :]
        unit = self._unscaled
        with np.errstate(over="ignore", under="ignore"):
            squares = np.maximum(squares - n * left * left, 0.0) * unit * unit
        fourth = float(norms[1]) / float(norms[0]) ** 2 if norms[0] > 0 else 0.0
        return Measured(left * unit, squares, fourth, products, kept)

    def _sums(
        self, rows: Rows, inverse: FloatArray, *, scores: bool, keep: bool
    ) -> tuple[list[FloatArray], Any]:
        """Return sums of what :meth:`measure` wants over rows in one place, and their scores if kept."""
        d, xp, k, view = rows.shape[1], rows.xp, len(inverse), self.centered(rows)
        directions = self._factors(view)[0]
        blocks = view.row_slices(LEAST_ROWS)

        # Blocks in the cache are short.
        wide = {} if is_numpy(rows.like) else {"dtype": xp.float64}

        def of_block(part: slice, C: Any) -> tuple[list[Any], list[tuple[int, Any]]]:
            # Sums of columns, of their squares, of row norms to the 2nd and 4th power, of products of scores.
            sums: list[Any] = []
            kept: list[tuple[int, Any]] = []
            if scores:
                S = C @ directions.T
                P = to_float64(S) * from_numpy(inverse, S)[None, :]
                kept = [(part.start, S)] if keep else []
            sums.append(as_float64(xp.sum(C, axis=0, **wide)))
            C = C * C
            norms = as_float64(xp.sum(C, axis=1))
            sums.append(as_float64(xp.sum(C, axis=0, **wide)))
            sums.append(np.array([norms.sum(), norms @ norms]))
            sums.append(as_float64(P.T @ P) if scores else np.zeros((k, k)))
            return sums, kept

        def share(draw: Iterator[slice]) -> tuple[list[Any], list[tuple[int, Any]]]:
            totals: list[Any] = []
            found: list[tuple[int, Any]] = []
            for part, C in view.row_blocks(draw, view.scratch(blocks[0].stop, d)):
                sums, kept = of_block(part, C)
                totals = [a + b for a, b in zip(totals, sums, strict=True)] if totals else sums
                found += kept
            return totals, found

        if is_numpy(rows.like):
            found = [of for of in each_thread(share, blocks) if of[0]]
        else:
            found = list(view.on_device(of_block, 0))
        totals = [np.sum(parts, axis=0) for parts in zip(*(f for f, _ in found), strict=True)]
        return totals, _in_order(rows, found) if keep else None

    # ------------------------------------------------------------ as matrices

    def matrix(self) -> FloatArray:
        """Return W of ``z = W (x - center)``, shape (k, d) or (d, d)."""
        if self.triangle is not None:
            return self.triangle
        U = as_float64(self.directions)
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
        U = as_float64(self.directions)
        with np.errstate(under="ignore"):
            inner = (inverse_deviations(self.deviations) * variances)[:, None] * U
        if self.triangle is not None:
            inner = (self.triangle @ U.T) @ (variances[:, None] * U)
        else:
            inner = inner if self.correction is None else np.asarray(np.linalg.solve(self.correction, inner))
            inner = U.T @ inner if self.turned else inner
        return inner if self.divisor is None else inner * self._unscaled[None, :]


def _in_order(rows: Rows, found: list[tuple[Any, list[tuple[int, Any]]]]) -> Any:
    """Put the blocks that threads have made together, by their first rows."""
    blocks = sorted((block for _, made in found for block in made), key=lambda block: block[0])
    return rows.xp.concat([block for _, block in blocks], axis=0)
