"""A kernel bound to data: it fills tiles of the Gram matrix, in float64, and has slopes if smooth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from gramian.core import arrays, records
from gramian.core.checks import slices
from gramian.kernels.facts import Facts

TILE = arrays.THIN
# Far below the largest number of float32: rows of Y may have larger values than those of X.
SINGLE_MAX = 1e30


@dataclass(frozen=True, eq=False)
class Evaluator:
    """A kernel bound to one set of fitted rows.

    Attributes
    ----------
    kernel : Kernel
        The kernel with every parameter a number.
    relative, absolute : float
        Bound on an entry's evaluation error: ``absolute + relative * |k|``.
    largest : float
        Bound on ``|k|`` over the fitted rows.
    shift : array of shape (d,) or None
        Subtracted from every row first: where distances are expanded into a product, and where only the
        centred matrix matters and a shift does not change that.
    direct : bool
        Whether distances are summed from differences instead of expanded into a product: slower, and
        accurate for clusters that lie many widths apart.
    single : (float, float) or None
        Bound on an entry's error, relative and absolute, where encoded rows are rounded to float32 and a
        tile is filled in it; None where that is not offered, or would be too far off.
    parts : tuple of Evaluator
        Those of the kernels that this one is made of.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import RBF
    >>> X = np.array([[0.0], [2.0]])
    >>> bound = RBF(sigma=1.0).bind(X)
    >>> left, right = bound.encode(X)
    >>> bound.tile(left, right).round(6)
    array([[1.      , 0.135335],
           [0.135335, 1.      ]])
    >>> bound.relative < 1e-13, bound.largest
    (True, 1.0)
    """

    kernel: Any
    relative: float
    absolute: float
    largest: float
    shift: Any = None
    direct: bool = False
    single: tuple[float, float] | None = None
    parts: tuple[Evaluator, ...] = ()

    @cached_property
    def facts(self) -> Facts:
        """What is known of the kernel, found out once."""
        facts: Facts = self.kernel.facts
        return facts

    def _rows(self, X: Any) -> Any:
        self.kernel.admit(X)
        if sparse.issparse(X):
            return sparse.csr_array(X, dtype=np.float64)
        return arrays.to_float64(X) if self.shift is None else arrays.to_float64(X) - self.shift

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Return the rows as left and right factors of a tile: float64 arrays with a row for each."""
        factors: tuple[Any, Any] = self.kernel.encode(self._rows(X), self.direct)
        return factors

    def tile(self, left: Any, right: Any, out: Any = None) -> Any:
        """Return k of every row of ``left`` with every row of ``right``; ``out`` may be written into."""
        return self.kernel.tile(left, right, self.direct, out)

    def diagonal(self, X: Any) -> Any:
        """Return k(x, x) of every row, float64."""
        self.kernel.admit(X)
        # Where it is 1, only the number of rows counts, and they are not copied.
        return self.kernel.diagonal(X if self.facts.unit_diagonal else self._rows(X))

    def slopes(self, X: Any, right: Any) -> Slopes:
        """Return k of every float64 row of ``X`` with every encoded row, and the derivative by X."""
        X = X if self.shift is None else X - self.shift
        slopes: Slopes = self.kernel.slopes(X, self.kernel.encode(X, self.direct)[0], right, self.direct)
        return slopes

    def times(self, new: Any, fitted: Any, coefficients: Any, size: int = 960) -> Any:
        """Return ``k(new, fitted) @ coefficients`` for encoded rows, tile by tile.

        Parameters
        ----------
        new : array of shape (b, .)
            Left factor of encoded new rows.
        fitted : array of shape (n, .)
            Right factor of encoded fitted rows.
        coefficients : array of shape (n, k), float64
        """
        total, n = None, fitted.shape[0]
        scratch = np.empty((new.shape[0], min(size, n))) if arrays.is_numpy(coefficients) else None
        for chunk in slices(n, size):
            whole = scratch is not None and chunk.stop - chunk.start == scratch.shape[1]
            tile = self.tile(new, fitted[chunk, :], scratch if whole else None)
            product = tile @ coefficients[chunk, :]
            total = product if total is None else total + product
        return total


def exact_diagonal(K: Any, diagonal: Any) -> Any:
    """Return a square tile made exactly symmetric, with the diagonal given."""
    K = K + K.T
    K *= 0.5
    if arrays.is_numpy(K):
        np.fill_diagonal(K, arrays.as_float64(diagonal))
        return K
    xp = arrays.namespace(K)
    unit = xp.eye(K.shape[0], dtype=K.dtype, device=K.device)
    return K * (1.0 - unit) + unit * diagonal


def gram_matrix(bound: Evaluator, X: Any, Y: Any = None) -> Any:
    """Return the Gram matrix of X with Y, or of X with itself: then by half of its tiles.

    Returns
    -------
    array of shape (n, m)
        float32 where all rows are float32 and its range holds the values, else float64.
    """
    single = arrays.numpy_dtype(X) == np.float32 and (Y is None or arrays.numpy_dtype(Y) == np.float32)
    single = single and bound.largest < SINGLE_MAX
    dtype = np.dtype(np.float32 if single else np.float64)
    left, right = bound.encode(X)
    if Y is not None:
        right = bound.encode(Y)[1]
    if not arrays.is_numpy(left) and not sparse.issparse(left):
        K = bound.tile(left, right)
        return arrays.to_dtype(K if Y is not None else exact_diagonal(K, bound.diagonal(X)), dtype)
    K = np.empty((left.shape[0], right.shape[0]), dtype=dtype)
    _fill(bound, left, right, K, arrays.as_float64(bound.diagonal(X)) if Y is None else None)
    return K


def _fill(bound: Evaluator, left: Any, right: Any, K: Any, diagonal: records.FloatArray | None) -> None:
    """Fill every tile; with the diagonal of a symmetric matrix those on and below it, and mirror them."""

    def share(draw: Iterator[tuple[slice, slice]]) -> None:
        scratch = np.empty((TILE, TILE))
        for rows, columns in draw:
            whole = rows.stop - rows.start == columns.stop - columns.start == TILE
            tile = bound.tile(left[rows], right[columns], scratch if whole else None)
            if diagonal is not None and rows == columns:
                tile = exact_diagonal(tile, arrays.from_numpy(diagonal[rows], tile))
            elif diagonal is not None:
                K[columns, rows] = tile.T
            K[rows, columns] = tile

    tiles = product(slices(K.shape[0], TILE), slices(K.shape[1], TILE))
    arrays.each_thread(share, [(r, c) for r, c in tiles if diagonal is None or c.start <= r.start])


# -------------------------------------------------- derivatives by the first row


Pull = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Slopes:
    """A block of kernel values k(x_b, y_i) with the derivative by x_b, never held entry by entry.

    Attributes
    ----------
    values : array of shape (b, n)
        k of every row with every fitted row.
    pull : callable
        From weights W of shape (b, n) to ``sum_i W_bi dk(x_b, y_i)/dx_b``, shape (b, d).
    stiffness : callable
        The pull is ``stiffness * (centre - x)`` with a weighted mean ``centre`` of the y_i: from W to that
        factor, shape (b, d). ``x + pull / stiffness`` is then one step of the fixed-point iteration.
    """

    values: Any
    pull: Pull
    stiffness: Pull
