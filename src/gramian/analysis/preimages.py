"""From coordinates in a kernel's feature space back to rows: pre-images, and how far they are off."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.analysis.descent import Descended, FixedPoint, LimitedMemory, Local, descend
from gramian.arrays import (
    as_float64,
    from_numpy,
    is_numpy,
    namespace,
    parallel_map,
    row_products,
    rows_of,
    to_float64,
    to_numpy,
    with_rows,
)
from gramian.checks import slices
from gramian.errors import IndefiniteKernelError
from gramian.kernels import Evaluator
from gramian.kernels.arithmetic import zeros
from gramian.operators.kernel_source import cross_times
from gramian.records import FloatArray

# Norm of the gradient at which a pre-image is found, the data and k(x, x) being of size 1, and most steps.
TOL = 1e-5
LIMIT = 500
COLUMNS = 960  # fitted rows in a tile
BLOCK_BYTES = 8 << 20  # coefficients of a block of pre-images on the fitted rows
DEVICE_BYTES = 64 << 20  # the same for arrays that are not NumPy's, which are not cut into tiles
# A squared distance may be this much below 0 by rounding, relative to the terms it is the difference of.
ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """What kernel PCA found in feature space, for going back: arrays of one kind, on one device.

    The point with the scores z is ``P = sum_i g_i phi(x_i)``, with ``g = A z + w`` for weights w of the mean.

    Attributes
    ----------
    evaluator : Evaluator
        The kernel, bound to the fitted rows.
    rows : array of shape (n, d), float64
        The fitted rows, or landmarks.
    coefficients : array of shape (n, r)
        A, one column for each component above the rank tolerance.
    scores : array of shape (n, r)
        Scores of the fitted rows.
    mean_weights : array of shape (n,)
        w: 1/n for fitted rows; 0 without centring.
    row_means : array of shape (n,)
        Means of the rows of the Gram matrix; 0 without centring.
    mean : float
        Mean of all of it; 0 without centring.
    """

    evaluator: Evaluator
    rows: Any
    coefficients: Any
    scores: Any
    mean_weights: Any
    row_means: Any
    mean: float

    @cached_property
    def right(self) -> Any:
        """The fitted rows, encoded."""
        right = self.evaluator.encode(self.rows)[1]
        return np.ascontiguousarray(right) if is_numpy(right) else right

    @cached_property
    def tiles(self) -> list[slice]:
        """Fitted rows that are worked with at a time."""
        n = self.rows.shape[0]
        return slices(n, COLUMNS if is_numpy(self.rows) else n)

    @cached_property
    def center(self) -> Any:
        """Mean of the fitted rows, by way of a multiple of them whose sum stays in the range of float64."""
        xp = namespace(self.rows)
        largest = float(xp.max(xp.abs(self.rows))) or 1.0
        return xp.mean(self.rows / largest, axis=0) * largest

    @cached_property
    def spread(self) -> float:
        """Root of the mean squared distance of fitted rows from their mean; their size if that is 0."""
        xp = namespace(self.rows)
        away = xp.abs(self.rows - self.center)
        largest = float(xp.max(away))
        if largest == 0.0:
            return float(xp.max(xp.abs(self.rows))) or 1.0
        return largest * math.sqrt(float(xp.mean(xp.sum((away / largest) ** 2, axis=1))))

    @cached_property
    def floor(self) -> Any:
        """Least value of every entry that the kernel takes."""
        return from_numpy(self.evaluator.kernel.floor(self.rows.shape[1]), self.rows)

    @cached_property
    def norms(self) -> Any:
        """Squared distance of every fitted row from the mean, in feature space."""
        return to_float64(self.evaluator.diagonal(self.rows)) - 2.0 * self.row_means + self.mean

    def coordinates(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the scores of rows of shape (b, d), and their squared distances from the mean, in NumPy."""
        sums = namespace(X).concat([self.coefficients, self.mean_weights[:, None]], axis=1)

        def work(part: slice) -> FloatArray:
            left, _ = self.evaluator.encode(X[part, :])
            return as_float64(cross_times(self.evaluator, left, self.right, sums))

        parts = slices(X.shape[0], max(1, BLOCK_BYTES // (8 * COLUMNS)))
        values = np.concatenate(parallel_map(work, parts, most=_workers(X)))
        norms = as_float64(self.evaluator.diagonal(X)) - 2.0 * values[:, -1] + self.mean
        return values[:, :-1] - as_float64(self.row_means @ self.coefficients), norms

    def weights(self, Z: Any) -> Any:
        """Return g for scores of shape (b, r): shape (b, n)."""
        return Z @ self.coefficients.T + self.mean_weights

    def combined(self, Z: Any) -> Any:
        """Return ``g @ rows``: the points themselves, where phi is linear."""
        xp = namespace(self.rows)
        origin = self.center if bool(xp.any(self.mean_weights != 0)) else xp.zeros_like(self.center)
        gaps = self.rows - origin
        sums = Z @ xp.sum(self.coefficients, axis=0) + xp.sum(self.mean_weights)
        result = Z @ (self.coefficients.T @ gaps) + self.mean_weights @ gaps
        return result + sums[:, None] * origin


def nearest_rows(space: FeatureSpace, Z: Any) -> npt.NDArray[np.intp]:
    """Return the number of the fitted row that is nearest in feature space to each point.

    Parameters
    ----------
    Z : array of shape (b, r)
        Scores.
    """
    xp, b = namespace(space.rows), Z.shape[0]
    least = np.full(b, np.inf)
    values = np.zeros(b, dtype=np.intp)
    # Halved and scaled like the scores, so that large ones do not overflow.
    size = max(1.0, _largest(Z))
    for part in space.tiles:
        gaps = 0.5 * space.norms[part] / size - (Z / size) @ space.scores[part, :].T
        best, value = to_numpy(xp.argmin(gaps, axis=1)), as_float64(xp.min(gaps, axis=1))
        closer = value < least
        least[closer], values[closer] = value[closer], part.start + best[closer]
    return values


def residuals(space: FeatureSpace, X: Any, Z: Any) -> FloatArray:
    """Return the distance ``||phi(x) - P||`` in feature space of every row from its point, in NumPy.

    Parameters
    ----------
    X : array of shape (b, d), float64
    Z : array of shape (b, r)
        Scores of the points P.

    Raises
    ------
    IndefiniteKernelError
        Where the square of a distance is negative beyond rounding, which no valid kernel gives.
    """
    scores, norms = space.coordinates(X)
    own, Z = as_float64(space.evaluator.diagonal(X)), as_float64(Z)
    # In units in which no square leaves the range of float64.
    unit = np.maximum(np.sqrt(np.abs(own)), np.abs(Z).max(axis=1, initial=0.0))
    unit[unit == 0] = 1.0
    with np.errstate(invalid="ignore"):
        z, own, norms = Z / unit[:, None], own / unit / unit, norms / unit / unit
        lengths = np.sum(z * z, axis=1)
        squares = norms - 2.0 * np.sum(z * (scores / unit[:, None]), axis=1) + lengths
        terms = np.abs(own) + lengths + abs(space.mean) / unit / unit
        # A search without a minimum ends where there are no numbers left.
        wrong = np.flatnonzero(~(squares >= -ROUNDING * terms))
    if wrong.size:
        row = int(wrong[0])
        raise IndefiniteKernelError(
            f"The squared distance of pre-image {row} in feature space is "
            f"{squares[row] * unit[row] ** 2:.4g}: {space.evaluator.kernel!r} is no valid kernel here, so "
            "that there are no distances. Leave return_error out, or use a kernel that is positive "
            "semidefinite, such as rbf or poly."
        )
    return np.asarray(unit * np.sqrt(np.maximum(squares, 0.0)))


def minimised(space: FeatureSpace, Z: Any, method: str, start: Any = None) -> Descended:
    """Return rows whose images are nearest to the points with the scores Z, by descent.

    Parameters
    ----------
    Z : array of shape (b, r)
    method : {"fixed-point", "gradient"}
        The iteration of Mika et al. (1998), for stationary kernels, or a limited-memory quasi-Newton method.
    start : array of shape (b, d), optional
        Where to begin if that is nearer than the nearest fitted row.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature spaces.
    """
    b, n, xp = Z.shape[0], space.rows.shape[0], namespace(space.rows)
    size = max(8, DEVICE_BYTES // (8 * n))
    if is_numpy(Z):
        size = min(max(8, BLOCK_BYTES // (8 * n)), 240 if b > 480 else max(8, -(-b // 2)))

    def work(part: slice) -> Descended:
        return _descended(space, Z[part, :], method, None if start is None else start[part, :])

    # Warnings of overflow would only say that a step was too long, for which it is halved.
    with np.errstate(over="ignore", invalid="ignore"):
        result = parallel_map(work, slices(b, size), most=_workers(Z))
    return Descended(
        xp.concat([part.points for part in result], axis=0) * space.spread + space.center,
        np.concatenate([part.values for part in result]),
        np.concatenate([part.converged for part in result]),
        max(part.iterations for part in result),
    )


def _descended(space: FeatureSpace, Z: Any, method: str, start: Any) -> Descended:
    g = space.weights(Z)
    begin = rows_of(space.rows, nearest_rows(space, Z))
    objective = _objective(space, g, begin)
    begin = (begin - space.center) / space.spread
    if start is not None:
        own, every = (start - space.center) / space.spread, np.arange(Z.shape[0])
        nearer = np.flatnonzero(objective(own, every).values < objective(begin, every).values)
        begin = with_rows(begin, nearer, rows_of(own, nearer))
    direction = FixedPoint() if method == "fixed-point" else LimitedMemory()
    floor = (space.floor - space.center) / space.spread
    return descend(objective, begin, direction, floor=floor, tol=TOL, limit=LIMIT)


def _objective(space: FeatureSpace, g: Any, begin: Any) -> Callable[[Any, npt.NDArray[np.intp]], Local]:
    """Return ``k(x, x) - 2 sum_i g_i k(x, x_i)`` as a function of x in units of the data's spread."""
    evaluator, unit, xp = space.evaluator, space.spread, namespace(g)

    def raw(X: Any, rows: npt.NDArray[np.intp]) -> tuple[Any, ...]:
        own = evaluator.diagonal_slopes(X)
        value, gradient = to_float64(own.values), to_float64(own.gradient)
        stiffness = damping = zeros(X, 1)
        for part in space.tiles:
            W = rows_of(g[:, part], rows)
            slopes = evaluator.slopes(X, space.right[part, :])
            value = value - 2.0 * row_products(W, slopes.values)
            gradient = gradient - 2.0 * slopes.pull(W)
            if slopes.stiffness is not None:
                stiffness = stiffness + 2.0 * slopes.stiffness(W)
                damping = damping + 2.0 * slopes.stiffness(xp.abs(W))
        return value, gradient, stiffness, damping

    own = as_float64(evaluator.diagonal_slopes(begin).values)
    size = np.abs(own) + np.abs(as_float64(raw(begin, np.arange(begin.shape[0]))[0]) - own)
    size = np.where(size > 0, size, 1.0)

    def local(U: Any, rows: npt.NDArray[np.intp]) -> Local:
        value, gradient, *curvature = raw(xp.maximum(U * unit + space.center, space.floor), rows)
        scale = from_numpy((unit / size[rows])[:, None], U)
        curvature = [part * scale * unit for part in curvature]
        return Local(as_float64(value) / size[rows], gradient * scale, *curvature)

    return local


def _largest(Z: Any) -> float:
    return float(namespace(Z).max(namespace(Z).abs(Z))) if 0 not in Z.shape else 0.0


def _workers(Z: Any) -> int | None:
    """Threads of the host that help; a device has its own."""
    return None if is_numpy(Z) else 1
