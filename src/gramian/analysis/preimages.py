"""From coordinates in a kernel's feature space back to rows: pre-images, and how far they are off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.analysis.descent import Descended, FixedPoint, LimitedMemory, Local, descend
from gramian.arrays import parallel_map
from gramian.checks import slices
from gramian.errors import IndefiniteKernelError
from gramian.kernels import Evaluator
from gramian.operators.kernel_source import cross_times
from gramian.records import FloatArray

# Norm of the gradient at which a pre-image is found, the data and k(x, x) being of size 1, and most steps.
TOL = 1e-5
LIMIT = 500
COLUMNS = 960  # fitted rows in a tile
BLOCK_BYTES = 8 << 20  # coefficients of a block of pre-images on the fitted rows
# A squared distance may be this much below 0 by rounding, relative to the terms it is the difference of.
ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """What kernel PCA found in feature space, for going back.

    The point with the scores z is ``P = sum_i g_i phi(x_i)``, with ``g = A z + w`` for weights w of the mean.

    Attributes
    ----------
    evaluator : Evaluator
        The kernel, bound to the fitted rows.
    rows : ndarray of shape (n, d), float64
        The fitted rows, or landmarks.
    coefficients : ndarray of shape (n, r)
        A, one column for each component above the rank tolerance.
    scores : ndarray of shape (n, r)
        Scores of the fitted rows.
    mean_weights : ndarray of shape (n,)
        w: 1/n for fitted rows; 0 without centring.
    row_means : ndarray of shape (n,)
        Means of the rows of the Gram matrix; 0 without centring.
    mean : float
        Mean of all of it; 0 without centring.
    """

    evaluator: Evaluator
    rows: FloatArray
    coefficients: FloatArray
    scores: FloatArray
    mean_weights: FloatArray
    row_means: FloatArray
    mean: float

    @cached_property
    def right(self) -> FloatArray:
        """The fitted rows, encoded."""
        return np.ascontiguousarray(self.evaluator.encode(self.rows)[1])

    @cached_property
    def center(self) -> FloatArray:
        """Mean of the fitted rows."""
        return np.asarray(_scaled_mean(self.rows))

    @cached_property
    def spread(self) -> float:
        """Root of the mean squared distance of fitted rows from their mean; their size if that is 0."""
        away = np.abs(self.rows - self.center)
        largest = float(away.max(initial=0.0))
        if largest == 0.0:
            return float(np.abs(self.rows).max(initial=0.0)) or 1.0
        return largest * float(np.sqrt(np.mean(np.sum((away / largest) ** 2, axis=1))))

    @cached_property
    def floor(self) -> FloatArray:
        """Least value of every entry that the kernel takes."""
        return np.asarray(self.evaluator.kernel.floor(self.rows.shape[1]))

    @cached_property
    def norms(self) -> FloatArray:
        """Squared distance of every fitted row from the mean, in feature space."""
        diagonal = np.asarray(self.evaluator.diagonal(self.rows), dtype=np.float64)
        return np.asarray(diagonal - 2.0 * self.row_means + self.mean)

    def weights(self, Z: FloatArray) -> FloatArray:
        """Return g for scores of shape (b, r): shape (b, n)."""
        return np.asarray(Z @ self.coefficients.T + self.mean_weights)

    def combined(self, Z: FloatArray) -> FloatArray:
        """Return ``g @ rows``: the points themselves, where phi is linear."""
        origin = self.center if self.mean_weights.any() else np.zeros(self.rows.shape[1])
        gaps = self.rows - origin
        sums = Z @ self.coefficients.sum(axis=0) + self.mean_weights.sum()
        found = Z @ (self.coefficients.T @ gaps) + self.mean_weights @ gaps
        return np.asarray(found + sums[:, None] * origin)


def nearest_rows(space: FeatureSpace, Z: FloatArray) -> npt.NDArray[np.intp]:
    """Return the number of the fitted row that is nearest in feature space to each point.

    Parameters
    ----------
    Z : ndarray of shape (b, r)
        Scores.
    """
    least = np.full(len(Z), np.inf)
    found = np.zeros(len(Z), dtype=np.intp)
    # Halved and scaled like the scores, so that large ones do not overflow.
    size = max(1.0, float(np.abs(Z).max(initial=0.0)))
    for part in slices(len(space.rows), COLUMNS):
        gaps = 0.5 * space.norms[part] / size - (Z / size) @ space.scores[part].T
        best = gaps.argmin(axis=1)
        value = gaps[np.arange(len(Z)), best]
        closer = value < least
        least[closer], found[closer] = value[closer], part.start + best[closer]
    return found


def residuals(space: FeatureSpace, X: FloatArray, Z: FloatArray) -> FloatArray:
    """Return the distance ``||phi(x) - P||`` in feature space of every row from its point.

    Parameters
    ----------
    X : ndarray of shape (b, d)
    Z : ndarray of shape (b, r)
        Scores of the points P.

    Raises
    ------
    IndefiniteKernelError
        Where the square of a distance is negative beyond rounding, which no valid kernel gives.
    """
    sums = np.concatenate([space.coefficients, space.mean_weights[:, None]], axis=1)
    size = max(1, BLOCK_BYTES // (8 * COLUMNS))

    def work(part: slice) -> FloatArray:
        values = cross_times(space.evaluator, space.evaluator.encode(X[part])[0], space.right, sums)
        return np.asarray(values)

    values = np.concatenate(parallel_map(work, slices(len(X), size)))
    own = np.asarray(space.evaluator.diagonal(X), dtype=np.float64)
    norms = own - 2.0 * values[:, -1] + space.mean
    scores = values[:, :-1] - space.row_means @ space.coefficients
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
            "semi-definite, such as rbf or poly."
        )
    return np.asarray(unit * np.sqrt(np.maximum(squares, 0.0)))


def minimised(space: FeatureSpace, Z: FloatArray, method: str, start: FloatArray | None = None) -> Descended:
    """Return rows whose images are nearest to the points with the scores Z, by descent.

    Parameters
    ----------
    Z : ndarray of shape (b, r)
    method : {"fixed-point", "gradient"}
        The iteration of Mika et al. (1998), for stationary kernels, or a limited-memory quasi-Newton method.
    start : ndarray of shape (b, d), optional
        Where to begin if that is nearer than the nearest fitted row.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature spaces.
    """
    size = int(np.clip(BLOCK_BYTES // (8 * len(space.rows)), 8, 240))
    largest = 240 if len(Z) > 480 else max(8, -(-len(Z) // 2))

    def work(part: slice) -> Descended:
        return _descended(space, Z[part], method, None if start is None else start[part])

    # Warnings of overflow would only say that a step was too long, for which it is halved.
    with np.errstate(over="ignore", invalid="ignore"):
        found = parallel_map(work, slices(len(Z), min(size, largest)))
    return Descended(
        np.concatenate([part.points for part in found]) * space.spread + space.center,
        np.concatenate([part.values for part in found]),
        np.concatenate([part.converged for part in found]),
        max(part.iterations for part in found),
    )


def _descended(space: FeatureSpace, Z: FloatArray, method: str, start: FloatArray | None) -> Descended:
    g = space.weights(Z)
    begin = space.rows[nearest_rows(space, Z)]
    objective = _objective(space, g, begin)
    begin = (begin - space.center) / space.spread
    if start is not None:
        own, every = (start - space.center) / space.spread, np.arange(len(Z))
        nearer = objective(own, every).values < objective(begin, every).values
        begin = np.where(nearer[:, None], own, begin)
    direction = FixedPoint() if method == "fixed-point" else LimitedMemory(len(Z))
    floor = (space.floor - space.center) / space.spread
    return descend(objective, begin, direction, floor=floor, tol=TOL, limit=LIMIT)


def _objective(
    space: FeatureSpace, g: FloatArray, begin: FloatArray
) -> Callable[[FloatArray, npt.NDArray[np.intp]], Local]:
    """Return ``k(x, x) - 2 sum_i g_i k(x, x_i)`` as a function of x in units of the data's spread."""
    evaluator, n, unit = space.evaluator, len(space.rows), space.spread

    def raw(X: FloatArray, rows: Any) -> tuple[FloatArray, ...]:
        own = evaluator.diagonal_slopes(X)
        value, gradient = own.values.astype(np.float64), own.gradient.astype(np.float64)
        stiffness, damping = np.zeros((2, len(X), 1))
        for part in slices(n, COLUMNS):
            W = g[rows, part]
            slopes = evaluator.slopes(X, space.right[part])
            value = value - 2.0 * np.einsum("bn,bn->b", W, slopes.values)
            gradient = gradient - 2.0 * slopes.pull(W)
            if slopes.stiffness is not None:
                stiffness = stiffness + 2.0 * slopes.stiffness(W)
                damping = damping + 2.0 * slopes.stiffness(np.abs(W))
        return value, gradient, stiffness, damping

    own = evaluator.diagonal_slopes(begin).values
    size = np.abs(own) + np.abs(raw(begin, slice(None))[0] - own)
    size = np.where(size > 0, size, 1.0)

    def local(U: FloatArray, rows: npt.NDArray[np.intp]) -> Local:
        value, gradient, *curvature = raw(np.maximum(U * unit + space.center, space.floor), rows)
        scale = (unit / size[rows])[:, None]
        return Local(value / size[rows], gradient * scale, *(part * scale * unit for part in curvature))

    return local


def _scaled_mean(rows: FloatArray) -> FloatArray:
    """The mean, by way of a multiple of the rows whose sum stays in the range of float64."""
    largest = float(np.abs(rows).max(initial=0.0)) or 1.0
    return np.asarray((rows / largest).mean(axis=0) * largest)
