"""Pre-images of kernel PCA's scores: the method that a kernel allows, and how it finds rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import scipy  # whose parts are imported when they are first used
from scipy.linalg import eigh, svd

from gramian import arrays, errors
from gramian.base.declarations import register_record
from gramian.checks import check_choice, evenly, slices
from gramian.errors import DataError, IndefiniteKernelError, ParameterError, by_surface, option
from gramian.kernels import Evaluator, Kernel, Linear
from gramian.kernels.arithmetic import zeros
from gramian.records import FloatArray
from gramian.store import Array

PREIMAGES = ("auto", "fixed-point", "gradient", "ridge")
FOR = by_surface("For inverse_transform and denoise", "For pre-images")
# Why a model has no pre-images, with advice.
PRECOMPUTED = (
    "a precomputed kernel has no rows",
    "A precomputed kernel has no rows, so there are no pre-images. Fit on the rows with the kernel itself, "
    + by_surface("as a name (kernel='rbf'), expression, object or function.", "such as rbf."),
)
FEATURES = (
    "a model of random features stores no rows",
    f"A model of random features stores no rows, so there are no pre-images. {FOR}, fit with "
    f"{option('solver', 'nystroem')}, whose landmarks are rows.",
)
SPARSE = (
    "the fitted rows are sparse",
    f"A model fitted on sparse rows has no pre-images, because they would be dense. {FOR}, fit on "
    f"{by_surface('X.toarray()', 'dense rows')}.",
)


@dataclass(frozen=True)
class PreimageMethod:
    """The method that maps scores back to rows.

    Attributes
    ----------
    method : {"exact", "fixed-point", "gradient", "ridge", "none"}
        How pre-images are found.
    reason : str
        Why this method, as a sentence.
    advice : str
        Advice if there are no pre-images.
    """

    method: str
    reason: str
    advice: str = field(default="", compare=False)

    @property
    def goes_back(self) -> bool:
        """Whether the model has pre-images."""
        return self.method != "none"

    def __str__(self) -> str:
        return f"{self.method}: {self.reason}"


def preimage_method(
    asked: Any, kernel: Kernel | None, *, sparse: bool = False, nodes: bool = True
) -> PreimageMethod:
    """Return the requested method if the kernel allows it, or the best one for "auto".

    Parameters
    ----------
    asked : {"auto", "fixed-point", "gradient", "ridge"}
    kernel : Kernel or None
        With every parameter a number; None for a precomputed one.
    sparse : bool
        Whether the model holds sparse rows.
    nodes : bool
        Whether it holds rows at all: fitted ones, or landmarks.

    Raises
    ------
    ParameterError
        For a method that the kernel does not allow.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> print(preimage_method("auto", RBF(gamma=1.0)))
    fixed-point: the kernel depends on x - y alone and is smooth.
    """
    asked = check_choice("preimage", asked, PREIMAGES)
    lacks = [(kernel is None, PRECOMPUTED), (not nodes, FEATURES), (sparse, SPARSE)]
    for reason, advice in [pair for lacking, pair in lacks if lacking]:
        if asked != "auto":
            raise ParameterError("preimage", asked, "needs rows", advice)
        return PreimageMethod("none", f"{reason}.", advice)
    assert kernel is not None
    if asked == "fixed-point" and not kernel.stationary:
        needs = f"needs a kernel of x - y alone, such as rbf, matern or rq, not {kernel!r}"
        raise ParameterError("preimage", asked, needs, f"Use {option('preimage', 'gradient', 'auto')}.")
    if asked in ("fixed-point", "gradient") and kernel.not_differentiable:
        needs = f"needs derivatives. {kernel.not_differentiable}"
        raise ParameterError("preimage", asked, needs, f"Use {option('preimage', 'ridge', 'auto')}.")
    if isinstance(kernel, Linear):
        return PreimageMethod("exact", "the feature space of the linear kernel is the space of the rows.")
    if asked == "gradient" and kernel.validity.refuted:
        needs = f"minimises distances in feature space, and {kernel!r} is no valid kernel: it has none"
        raise ParameterError("preimage", asked, needs, f"Use {option('preimage', 'ridge', 'auto')}.")
    if asked != "auto":
        return PreimageMethod(asked, "you chose this method.")
    if kernel.not_differentiable:
        return PreimageMethod("ridge", kernel.not_differentiable)
    if not kernel.psd:
        return PreimageMethod(
            "ridge", "the kernel is not proven valid, so distances in feature space may not exist."
        )
    if kernel.stationary:
        return PreimageMethod("fixed-point", "the kernel depends on x - y alone and is smooth.")
    return PreimageMethod("gradient", "the kernel is smooth.")


def found_rows(
    space: FeatureSpace, method: str, Z: Any, start: Any, ridge: Callable[[FeatureSpace], RidgeMap]
) -> Any:
    """Return the rows whose images are nearest to points with the scores Z.

    Parameters
    ----------
    space : FeatureSpace
    method : str
        One of those of :class:`PreimageMethod`.
    Z : array of shape (n, r)
    start : array of shape (n, d) or None
        Rows that are tried as a start.
    ridge : callable
        Returns the learned map of a space.

    Raises
    ------
    DataError
        Where rows leave the range of float64.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if method == "exact":
            rows = space.combined(Z)
        elif method == "ridge":
            rows = arrays.namespace(Z).maximum(
                arrays.from_numpy(ridge(space)(arrays.as_float64(Z)), Z), space.floor
            )
        else:
            rows = _searched(space, method, Z, start)
    xp = arrays.namespace(rows)
    if not bool(xp.all(xp.isfinite(rows))):
        given, known = (np.abs(arrays.as_float64(scores)).max() for scores in (Z, space.scores))
        raise DataError(
            f"Scores reach {given:.3g}, so that rows leave the range of float64. Give scores "
            f"nearer to those of the fitted rows, which reach {known:.3g}."
        )
    return rows


def _searched(space: FeatureSpace, method: str, Z: Any, start: Any) -> Any:
    result = minimised(space, Z, method, start)
    if not space.evaluator.kernel.psd:
        # Where there are no distances, what was made small means nothing.
        residuals(space, result.points, Z)
    missed = int(np.sum(~result.converged))
    if missed:
        errors.PreimageWarning(
            f"{missed} of {Z.shape[0]} pre-images did not converge in {LIMIT} steps; they are the "
            f"nearest rows found. {by_surface('return_error=True says how far each is off; ')}"
            f"{option('preimage', 'ridge')} needs no steps."
        ).warn()
    return result.points


# ------------ the search in feature space, and how far rows are from the point

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
        return np.ascontiguousarray(right) if arrays.is_numpy(right) else right

    @cached_property
    def tiles(self) -> list[slice]:
        """Fitted rows that are worked with at a time."""
        n = self.rows.shape[0]
        return slices(n, COLUMNS if arrays.is_numpy(self.rows) else n)

    @cached_property
    def center(self) -> Any:
        """Mean of the fitted rows, by way of a multiple of them whose sum stays in the range of float64."""
        xp = arrays.namespace(self.rows)
        largest = float(xp.max(xp.abs(self.rows))) or 1.0
        return xp.mean(self.rows / largest, axis=0) * largest

    @cached_property
    def spread(self) -> float:
        """Root of the mean squared distance of fitted rows from their mean; their size if that is 0."""
        xp = arrays.namespace(self.rows)
        away = xp.abs(self.rows - self.center)
        largest = float(xp.max(away))
        if largest == 0.0:
            return float(xp.max(xp.abs(self.rows))) or 1.0
        return largest * math.sqrt(float(xp.mean(xp.sum((away / largest) ** 2, axis=1))))

    @cached_property
    def floor(self) -> Any:
        """Least value of every entry that the kernel takes."""
        return arrays.from_numpy(self.evaluator.kernel.floor(self.rows.shape[1]), self.rows)

    @cached_property
    def norms(self) -> Any:
        """Squared distance of every fitted row from the mean, in feature space."""
        return arrays.to_float64(self.evaluator.diagonal(self.rows)) - 2.0 * self.row_means + self.mean

    def coordinates(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the scores of rows of shape (b, d), and their squared distances from the mean, in NumPy."""
        sums = arrays.namespace(X).concat([self.coefficients, self.mean_weights[:, None]], axis=1)

        def work(part: slice) -> FloatArray:
            left, _ = self.evaluator.encode(X[part, :])
            return arrays.as_float64(self.evaluator.times(left, self.right, sums))

        parts = slices(X.shape[0], max(1, BLOCK_BYTES // (8 * COLUMNS)))
        values = np.concatenate(arrays.parallel_map(work, parts, like=X))
        norms = arrays.as_float64(self.evaluator.diagonal(X)) - 2.0 * values[:, -1] + self.mean
        return values[:, :-1] - arrays.as_float64(self.row_means @ self.coefficients), norms

    def weights(self, Z: Any) -> Any:
        """Return g for scores of shape (b, r): shape (b, n)."""
        return Z @ self.coefficients.T + self.mean_weights

    def combined(self, Z: Any) -> Any:
        """Return ``g @ rows``: the points themselves, where phi is linear."""
        xp = arrays.namespace(self.rows)
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
    xp, b = arrays.namespace(space.rows), Z.shape[0]
    least = np.full(b, np.inf)
    values = np.zeros(b, dtype=np.intp)
    # Halved and scaled like the scores, so that large ones do not overflow.
    size = max(1.0, _largest(Z))
    for part in space.tiles:
        gaps = 0.5 * space.norms[part] / size - (Z / size) @ space.scores[part, :].T
        best, value = arrays.to_numpy(xp.argmin(gaps, axis=1)), arrays.as_float64(xp.min(gaps, axis=1))
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
    own, Z = arrays.as_float64(space.evaluator.diagonal(X)), arrays.as_float64(Z)
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
            f"that there are no distances. {by_surface('Leave return_error out, or use', 'Use')} a kernel "
            "that is positive semidefinite, such as rbf or poly."
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
    b, n, xp = Z.shape[0], space.rows.shape[0], arrays.namespace(space.rows)
    size = max(8, DEVICE_BYTES // (8 * n))
    if arrays.is_numpy(Z):
        size = min(max(8, BLOCK_BYTES // (8 * n)), 240 if b > 480 else max(8, -(-b // 2)))

    def work(part: slice) -> Descended:
        return _descended(space, Z[part, :], method, None if start is None else start[part, :])

    # Warnings of overflow would only say that a step was too long, for which it is halved.
    with np.errstate(over="ignore", invalid="ignore"):
        result = arrays.parallel_map(work, slices(b, size), like=Z)
    return Descended(
        xp.concat([part.points for part in result], axis=0) * space.spread + space.center,
        np.concatenate([part.values for part in result]),
        np.concatenate([part.converged for part in result]),
        max(part.iterations for part in result),
    )


def _descended(space: FeatureSpace, Z: Any, method: str, start: Any) -> Descended:
    g = space.weights(Z)
    begin = arrays.rows_of(space.rows, nearest_rows(space, Z))
    objective = _objective(space, g, begin)
    begin = (begin - space.center) / space.spread
    if start is not None:
        own, every = (start - space.center) / space.spread, np.arange(Z.shape[0])
        nearer = np.flatnonzero(objective(own, every).values < objective(begin, every).values)
        begin = arrays.with_rows(begin, nearer, arrays.rows_of(own, nearer))
    direction = FixedPoint() if method == "fixed-point" else LimitedMemory()
    floor = (space.floor - space.center) / space.spread
    return descend(objective, begin, direction, floor=floor, tol=TOL, limit=LIMIT)


def _objective(space: FeatureSpace, g: Any, begin: Any) -> Callable[[Any, npt.NDArray[np.intp]], Local]:
    """Return ``k(x, x) - 2 sum_i g_i k(x, x_i)`` as a function of x in units of the data's spread."""
    evaluator, unit, xp = space.evaluator, space.spread, arrays.namespace(g)

    def raw(X: Any, rows: npt.NDArray[np.intp]) -> tuple[Any, ...]:
        own = evaluator.diagonal_slopes(X)
        value, gradient = arrays.to_float64(own.values), arrays.to_float64(own.gradient)
        stiffness = damping = zeros(X, 1)
        for part in space.tiles:
            W = arrays.rows_of(g[:, part], rows)
            slopes = evaluator.slopes(X, space.right[part, :])
            value = value - 2.0 * arrays.row_products(W, slopes.values)
            gradient = gradient - 2.0 * slopes.pull(W)
            if slopes.stiffness is not None:
                stiffness = stiffness + 2.0 * slopes.stiffness(W)
                damping = damping + 2.0 * slopes.stiffness(xp.abs(W))
        return value, gradient, stiffness, damping

    own = arrays.as_float64(evaluator.diagonal_slopes(begin).values)
    size = np.abs(own) + np.abs(arrays.as_float64(raw(begin, np.arange(begin.shape[0]))[0]) - own)
    size = np.where(size > 0, size, 1.0)

    def local(U: Any, rows: npt.NDArray[np.intp]) -> Local:
        value, gradient, *curvature = raw(xp.maximum(U * unit + space.center, space.floor), rows)
        scale = arrays.from_numpy((unit / size[rows])[:, None], U)
        curvature = [part * scale * unit for part in curvature]
        return Local(arrays.as_float64(value) / size[rows], gradient * scale, *curvature)

    return local


def _largest(Z: Any) -> float:
    return float(arrays.namespace(Z).max(arrays.namespace(Z).abs(Z))) if 0 not in Z.shape else 0.0


# -------- descent of many rows at once, where no step ever makes a row worse

IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
HALVINGS = 40
# A step must bring this part of what its slope promises (Armijo 1966).
PROMISE = 1e-4
# Of the objective's size: smaller gains are rounding.
NOISE = 1e-13
# How much of the weights' sum of magnitudes a fixed-point step is divided by at least.
DAMPING = 0.05
MEMORY = 10


@dataclass(frozen=True, eq=False)
class Local:
    """What an objective says about points of shape (b, d): of their kind, but for the values.

    Attributes
    ----------
    values : ndarray of shape (b,)
        In units in which they are about 1 in size.
    gradient : array of shape (b, d)
    stiffness, damping : array of shape (b, 1) or (b, d)
        Where the gradient is ``stiffness * (x - centre)``: that factor, and the same of the magnitudes of all
        weights in it, which is positive and at least as large; 0 where it is not.
    """

    values: FloatArray
    gradient: Any
    stiffness: Any
    damping: Any

    def taken(self, rows: IndexArray) -> Local:
        """Return the same of some rows."""
        return Local(*(arrays.rows_of(fact, rows) for fact in vars(self).values()))

    def replaced(self, rows: IndexArray, new: Local) -> Local:
        """Return it with new facts about some rows in place of the old ones."""
        pairs = zip(vars(self).values(), vars(new).values(), strict=True)
        return Local(*(arrays.with_rows(old, rows, fact) for old, fact in pairs))


Objective = Callable[[Any, IndexArray], Local]


class FixedPoint:
    """Steps of the fixed-point iteration, damped where weights of both signs cancel.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature spaces,
    equation 10.
    """

    def __call__(self, here: Local, free: Any) -> Any:
        """Return ``centre - x``, or a part of it; ``free`` is 0 where an entry is held fast, else 1."""
        xp = arrays.namespace(here.gradient)
        divisor = xp.maximum(here.stiffness, DAMPING * here.damping)
        seen = divisor > 0
        return xp.where(seen, -here.gradient * free / xp.where(seen, divisor, 1.0), 0.0)

    def learn(self, step: Any, change: Any) -> None:
        """Nothing is learned: every step starts afresh."""

    def keep(self, rows: IndexArray) -> None:
        """Nothing is remembered."""


class LimitedMemory:
    """Quasi-Newton steps from the last few changes of the gradient, for each row its own.

    References
    ----------
    Nocedal (1980), Updating quasi-Newton matrices with limited storage; Nocedal and Wright (2006), Numerical
    Optimization, algorithm 7.4.
    """

    def __init__(self) -> None:
        # Step, change of the gradient, and one over their product; for each row its own.
        self.pairs: list[tuple[Any, Any, Any]] = []
        self.scale: Any = None

    def __call__(self, here: Local, free: Any) -> Any:
        """Return minus the estimated inverse Hessian times the gradient."""
        xp, q = arrays.namespace(here.gradient), here.gradient * free
        length = xp.linalg.vector_norm(q, axis=1)
        before = xp.zeros_like(length) if self.scale is None else self.scale
        # Of the first step nothing is known but the units, in which the data has size 1.
        self.scale = scale = xp.where(before <= 0, 0.1 / xp.clip(length, 0.1, None), before)
        shares = []
        for s, y, inverse in reversed(self.pairs):
            share = inverse * arrays.row_products(s, q)
            q = q - share[:, None] * y
            shares.append(share)
        q = q * scale[:, None]
        for s, y, inverse in self.pairs:
            q = q + (shares.pop() - inverse * arrays.row_products(y, q))[:, None] * s
        p = -q * free
        # What is no descent, by rounding or by entries held fast, gives way to the gradient.
        steep = arrays.row_products(p, here.gradient) <= -1e-12 * xp.linalg.vector_norm(p, axis=1) * length
        return xp.where(steep[:, None], p, -scale[:, None] * here.gradient * free)

    def learn(self, step: Any, change: Any) -> None:
        """Remember a pair where the function curves upwards; elsewhere dare longer steps."""
        xp, curvature, size = (
            arrays.namespace(step),
            arrays.row_products(step, change),
            arrays.row_products(change, change),
        )
        good = curvature > 1e-10 * xp.sqrt(size * arrays.row_products(step, step))
        inverse = xp.where(good, 1.0 / xp.where(good, curvature, 1.0), 0.0)
        kept = good[:, None]
        self.pairs.append((xp.where(kept, step, 0.0), xp.where(kept, change, 0.0), inverse))
        del self.pairs[:-MEMORY]
        moved = xp.any(step != 0, axis=1)
        fallen = xp.where(moved & ~good, 4.0 * self.scale, self.scale)
        self.scale = xp.where(good, curvature / xp.where(good, size, 1.0), fallen)

    def keep(self, rows: IndexArray) -> None:
        """Forget all rows but these."""
        self.pairs = [
            (arrays.rows_of(s, rows), arrays.rows_of(y, rows), arrays.rows_of(i, rows))
            for s, y, i in self.pairs
        ]
        self.scale = arrays.rows_of(self.scale, rows)


@dataclass(frozen=True, eq=False)
class Descended:
    """Where a descent ended.

    Attributes
    ----------
    points : array of shape (b, d)
    values : ndarray of shape (b,)
    converged : ndarray of shape (b,), bool
        Whether the gradient is within the tolerance, or no gain beyond rounding is left.
    iterations : int
        Of the row that took the most.
    """

    points: Any
    values: FloatArray
    converged: BoolArray
    iterations: int


def descend(
    objective: Objective,
    start: Any,
    direction: FixedPoint | LimitedMemory,
    *,
    floor: Any,
    tol: float,
    limit: int,
) -> Descended:
    """Minimise a function of every row on its own.

    Parameters
    ----------
    objective : callable
        From points (a, d) and the numbers (a,) of the rows they belong to, to :class:`Local`.
    start : array of shape (b, d), float64
        Of any kind; what is decided of a whole row is decided on the host.
    direction : FixedPoint or LimitedMemory
        Where to go from points, given what is known there.
    floor : array of shape (d,)
        Least value of every entry, minus infinity for most.
    tol : float
        Norm of the gradient, without entries held by the floor, at which a row is done.
    limit : int
        Most steps.

    Returns
    -------
    Descended
        No row has a larger value than at the start.
    """
    xp = arrays.namespace(start)
    points = xp.maximum(start, floor)
    active, at = np.arange(points.shape[0]), points
    here = objective(points, active)
    values = here.values.copy()
    converged = np.zeros(len(active), dtype=bool)
    count = 0
    for count in range(limit + 1):
        free = arrays.to_float64(~((at <= floor) & (here.gradient > 0)))
        done = arrays.as_float64(xp.linalg.vector_norm(here.gradient * free, axis=1)) <= tol
        step = direction(here, free)
        gain = -arrays.as_float64(arrays.row_products(step, here.gradient))
        done |= gain <= NOISE * np.maximum(1.0, np.abs(here.values))
        converged[active[done]] = True
        if done.all() or count == limit:
            break
        if done.any():
            left = np.flatnonzero(~done)
            active, at, here, step = (
                active[left],
                arrays.rows_of(at, left),
                here.taken(left),
                arrays.rows_of(step, left),
            )
            direction.keep(left)
        moved, new = _line_search(objective, at, here, step, floor, active)
        stuck = ~arrays.to_numpy(xp.any(moved != at, axis=1))
        direction.learn(moved - at, new.gradient - here.gradient)
        points, values[active] = arrays.with_rows(points, active, moved), new.values
        at, here = moved, new
        if stuck.any():
            left = np.flatnonzero(~stuck)
            active, at, here = active[left], arrays.rows_of(at, left), here.taken(left)
            direction.keep(left)
        if not len(active):
            break
    return Descended(points, values, converged, count)


def _line_search(
    objective: Objective, points: Any, here: Local, step: Any, floor: Any, rows: IndexArray
) -> tuple[Any, Local]:
    """Go along the steps, halved until the values fall as promised; a row that never does stays."""
    xp = arrays.namespace(points)
    moved = xp.maximum(points + step, floor)
    new = objective(moved, rows)
    todo = np.flatnonzero(_failed(here, new, moved - points))
    length = 1.0
    for _ in range(HALVINGS):
        if not len(todo):
            return moved, new
        length /= 2
        start = arrays.rows_of(points, todo)
        tried = xp.maximum(start + length * arrays.rows_of(step, todo), floor)
        there = objective(tried, rows[todo])
        moved, new = arrays.with_rows(moved, todo, tried), new.replaced(todo, there)
        todo = todo[_failed(here.taken(todo), there, tried - start)]
    return arrays.with_rows(moved, todo, arrays.rows_of(points, todo)), new.replaced(todo, here.taken(todo))


def _failed(here: Local, new: Local, step: Any) -> BoolArray:
    promised = arrays.as_float64(arrays.row_products(step, here.gradient))
    # What is no number has left the range of float64.
    return ~(new.values <= here.values + PROMISE * np.minimum(promised, 0.0))


# ----------------- a map from scores to rows, learned by ridge regression

LANDMARKS = 1000
COMPONENTS = 500  # scores beyond these are left out of the map
# Widths that are tried, as multiples of the median distance between scores.
WIDTHS = (0.5, 1.0, 2.0, 4.0)
# Penalties that are tried, as parts of the largest squared singular value.
PENALTIES = np.logspace(-12, 1, 40)
# Of the rows; with more degrees of freedom cross-validation divides rounding by rounding.
MOST_FREEDOM = 0.9
# Criterion, penalty, degrees of freedom, coefficients.
Fit = tuple[float, float, float, FloatArray]


@dataclass(frozen=True, eq=False)
class RidgeMap:
    """Rows as a regularised least-squares function of scores.

    ``x = intercept + z . linear + sum_m exp(-||z - c_m||^2 / (2 width^2)) * radial_m``.

    Attributes
    ----------
    mean : ndarray of shape (r,)
        Subtracted from scores first.
    unit : float
        Divides scores: the largest of them.
    linear : ndarray of shape (r, d)
    intercept : ndarray of shape (d,)
    landmarks : ndarray of shape (m, r)
        The c_m, as ``(scores - mean) / unit``; without rows where the linear part alone does better.
    radial : ndarray of shape (m, d)
    width : float or None
        None without landmarks.
    penalty : float
        The penalty on squared coefficients, in the units of the features.
    score : float
        The criterion of generalised cross-validation: an estimate of the mean squared error of a row.
    freedom : float
        Effective degrees of freedom, the trace of the hat matrix.
    """

    mean: Annotated[FloatArray, Array("r")]
    unit: float
    linear: Annotated[FloatArray, Array("r d")]
    intercept: Annotated[FloatArray, Array("d")]
    landmarks: Annotated[FloatArray, Array("m r")]
    radial: Annotated[FloatArray, Array("m d")]
    width: float | None
    penalty: float
    score: float
    freedom: float

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return the rows of scores of shape (b, r): shape (b, d)."""
        Z = (Z[:, : len(self.mean)] - self.mean) / self.unit
        result = Z @ self.linear + self.intercept
        if self.width is not None:
            with np.errstate(over="ignore"):
                squares = scipy.spatial.distance.cdist(Z, self.landmarks, "sqeuclidean")
            result += _bumps(squares, self.width) @ self.radial
        return np.asarray(result)


register_record(RidgeMap)


def learn_map(scores: FloatArray, rows: FloatArray) -> RidgeMap:
    """Learn rows from scores; penalty, width and whether bumps are used, by generalised cross-validation.

    Parameters
    ----------
    scores : ndarray of shape (n, r)
    rows : ndarray of shape (n, d)

    References
    ----------
    Bakir, Weston, Schoelkopf (2004), Learning to find pre-images. Golub, Heath, Wahba (1979), Generalized
    cross-validation as a method for choosing a good ridge parameter.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> learned = learn_map(z, 3.0 * z + 1.0)
    >>> learned(np.array([[2.0]])).round(6)
    array([[7.]])
    """
    n = len(rows)
    scores = scores[:, :COMPONENTS]
    factor = 2.0 ** arrays.power_of_two(float(np.abs(rows).max(initial=0.0)))
    intercept = (rows / factor).mean(axis=0)
    target = rows / factor - intercept
    mean = scores.mean(axis=0)
    unit = float(np.abs(scores - mean).max(initial=0.0)) or 1.0
    Z = (scores - mean) / unit
    picked = evenly(n, LANDMARKS)
    squares = scipy.spatial.distance.cdist(Z, Z[picked], "sqeuclidean") if Z.shape[1] else np.zeros((n, 0))
    apart = squares[squares > 0]
    median = float(np.sqrt(np.median(apart))) if apart.size else 0.0

    def fit(width: float) -> Fit:
        if width == np.inf:
            return _fitted(Z, target, exact=True)
        bumps = _bumps(squares, width)
        return _fitted(np.concatenate([Z, bumps - bumps.mean(axis=0)], axis=1), target, exact=False)

    # One width a thread: eigenvectors of a thousand columns take several threads longer than one.
    widths = [np.inf, *(share * median for share in WIDTHS if median > 0)]
    with arrays.blas_threads():
        fits = arrays.parallel_map(fit, widths)
    # Ties go to the simpler map.
    best = min(range(len(fits)), key=lambda i: fits[i][0] * (1.0 if i == 0 else 1.0 + 1e-6))
    score, penalty, freedom, coefficients = fits[best]
    width = widths[best]
    landmarks = Z[picked] if best else Z[:0]
    means = _bumps(squares, width).mean(axis=0) if best else np.zeros(0)
    linear, radial = np.split(coefficients * factor, [Z.shape[1]])
    return RidgeMap(
        mean=mean,
        unit=unit,
        linear=linear,
        intercept=intercept * factor - means @ radial,
        landmarks=landmarks,
        radial=radial,
        width=float(width) if best else None,
        penalty=penalty,
        score=score * factor * factor,
        freedom=freedom,
    )


def _fitted(A: FloatArray, Y: FloatArray, *, exact: bool) -> Fit:
    """Ridge regression of centred columns on centred columns, the penalty by cross-validation."""
    n = len(A)
    sigma, shares, right = _decomposed(A, Y, exact)
    total = float(np.sum(Y * Y))
    explained = np.sum(shares * shares, axis=1)
    penalties = PENALTIES * float(sigma.max(initial=0.0)) ** 2
    if exact:
        penalties = np.concatenate([[0.0], penalties])
    left_out = penalties[:, None] / (sigma * sigma + penalties[:, None])
    # One more for the intercept.
    freedom = 1.0 + np.sum(1.0 - left_out, axis=1)
    missed = total - (1.0 - left_out**2) @ explained
    rounding = n * float(np.finfo(np.float64).eps) * total
    score = np.maximum(missed, rounding) * n / np.maximum(n - freedom, 1.0) ** 2
    allowed = freedom <= MOST_FREEDOM * n
    allowed[-1] = True
    # Nothing is better than what leaves no error, and a larger penalty would seem to be.
    for result in np.flatnonzero(allowed & (missed <= rounding))[:1]:
        allowed[result + 1 :] = False
    best = int(np.argmin(np.where(allowed, score, np.inf)))
    penalty = float(penalties[best])
    filtered = sigma / (sigma * sigma + penalty) if sigma.size else sigma
    coefficients = np.asarray(right @ (filtered[:, None] * shares))
    return float(score[best]), penalty, float(freedom[best]), coefficients


def _decomposed(A: FloatArray, Y: FloatArray, exact: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular values of A above rounding, ``U.T Y`` and V.

    Not exact is by the smaller of A.T A and A A.T: half of the digits, of which the penalties need no more.
    """
    n, p = A.shape
    if exact:
        U, sigma, Vt = svd(A, full_matrices=False, check_finite=False)
        good = sigma > max(n, p) * np.finfo(np.float64).eps * sigma.max(initial=0.0)
        return sigma[good], U.T[good] @ Y, Vt.T[:, good]
    values, vectors = eigh(A.T @ A if p <= n else A @ A.T, check_finite=False)
    good = values > 1e-14 * values.max(initial=0.0)
    sigma, vectors = np.sqrt(values[good]), vectors[:, good]
    if p <= n:
        return sigma, (vectors.T @ (A.T @ Y)) / sigma[:, None], vectors
    return sigma, vectors.T @ Y, (A.T @ vectors) / sigma


def _bumps(squares: FloatArray, width: float) -> FloatArray:
    return np.asarray(np.exp(squares * (-0.5 / width / width)))
