"""Pre-images of kernel PCA's scores: the method that a kernel allows, and how it finds rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import scipy  # whose parts are imported when they are first used

from gramian import errors
from gramian.core import arrays
from gramian.core.checks import check_choice, evenly, slices
from gramian.core.records import BoolArray, FloatArray, IndexArray
from gramian.errors import DataError, IndefiniteKernelError, ParameterError
from gramian.kernels import Evaluator, Kernel, Linear
from gramian.kernels.arithmetic import zeros

PREIMAGES = ("auto", "fixed-point", "ridge")
SMOOTH = "a smooth kernel of distances: rbf, rq, or matern with nu=1.5 or 2.5"
FOR = "For inverse_transform and denoise"
# Why a model has no pre-images, with advice.
PRECOMPUTED = (
    "a precomputed kernel has no rows",
    "A precomputed kernel has no rows, so there are no pre-images. Fit on the rows with the kernel itself, "
    + "as a name (kernel='rbf'), expression, object or function.",
)
SPARSE = (
    "the fitted rows are sparse",
    f"A model fitted on sparse rows has no pre-images, because they would be dense. {FOR}, fit on "
    "X.toarray().",
)


@dataclass(frozen=True)
class PreimageMethod:
    """The method that maps scores back to rows.

    Attributes
    ----------
    method : {"exact", "fixed-point", "ridge", "none"}
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


def preimage_method(method: Any, kernel: Kernel | None, *, sparse: bool = False) -> PreimageMethod:
    """Return the requested method if the kernel allows it, or the best one for "auto".

    Parameters
    ----------
    method : {"auto", "fixed-point", "ridge"}
    kernel : Kernel or None
        With every parameter a number; None for a precomputed one.
    sparse : bool
        Whether the model holds sparse rows.

    Raises
    ------
    ParameterError
        For a method that the kernel does not allow.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> print(preimage_method("auto", RBF(gamma=1.0)))
    fixed-point: the kernel is a smooth function of the distance of rows.
    """
    method = check_choice("preimage", method, PREIMAGES)
    lacks = [(kernel is None, PRECOMPUTED), (sparse, SPARSE)]
    for reason, advice in [pair for lacking, pair in lacks if lacking]:
        if method != "auto":
            raise ParameterError("preimage", method, "needs rows", advice)
        return PreimageMethod("none", f"{reason}.", advice)
    assert kernel is not None
    if method == "fixed-point" and not kernel.smooth:
        needs = f"needs {SMOOTH}, not {kernel!r}"
        raise ParameterError("preimage", method, needs, 'Use preimage="ridge" or "auto".')
    if isinstance(kernel, Linear):
        return PreimageMethod("exact", "the feature space of the linear kernel is the space of the rows.")
    if method != "auto":
        return PreimageMethod(method, "you chose this method.")
    if kernel.smooth:
        return PreimageMethod("fixed-point", "the kernel is a smooth function of the distance of rows.")
    return PreimageMethod("ridge", f"a search needs {SMOOTH}.")


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
            floor = arrays.from_numpy(space.evaluator.kernel.floor(space.rows.shape[1]), Z)
            rows = arrays.namespace(Z).maximum(
                arrays.from_numpy(ridge(space)(arrays.as_float64(Z)), Z), floor
            )
        else:
            rows, converged = minimised(space, Z, start)
            if missed := int(np.sum(~converged)):
                errors.PreimageWarning(
                    f"{missed} of {Z.shape[0]} pre-images did not converge in {LIMIT} steps; they are the "
                    "nearest rows found. return_error=True says how far each is off; "
                    'preimage="ridge" needs no steps.'
                ).warn()
    xp = arrays.namespace(rows)
    if not bool(xp.all(xp.isfinite(rows))):
        reached, usual = (np.abs(arrays.as_float64(scores)).max() for scores in (Z, space.scores))
        raise DataError(
            f"Scores reach {reached:.3g}, so that rows leave the range of float64. Give scores "
            f"nearer to those of the fitted rows, which reach {usual:.3g}."
        )
    return rows


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
    def norms(self) -> Any:
        """Squared distance of every fitted row from the mean, in feature space."""
        return arrays.to_float64(self.evaluator.diagonal(self.rows)) - 2.0 * self.row_means + self.mean

    def coordinates(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the scores of rows of shape (b, d), and their squared distances from the mean, in NumPy."""
        sums = arrays.namespace(X).concat([self.coefficients, self.mean_weights[:, None]], axis=1)

        def work(chunk: slice) -> FloatArray:
            left, _ = self.evaluator.encode(X[chunk, :])
            return arrays.as_float64(self.evaluator.times(left, self.right, sums))

        chunks = slices(X.shape[0], max(1, BLOCK_BYTES // (8 * COLUMNS)))
        values = np.concatenate(arrays.parallel_map(work, chunks, like=X))
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


def nearest_rows(space: FeatureSpace, Z: Any) -> IndexArray:
    """Return the number of the fitted row that is nearest in feature space to each point.

    Parameters
    ----------
    Z : array of shape (b, r)
        Scores.
    """
    xp, b = arrays.namespace(space.rows), Z.shape[0]
    least = np.full(b, np.inf)
    values = np.zeros(b, dtype=np.intp)
    for chunk in space.tiles:
        gaps = 0.5 * space.norms[chunk] - Z @ space.scores[chunk, :].T
        best, value = arrays.to_numpy(xp.argmin(gaps, axis=1)), arrays.as_float64(xp.min(gaps, axis=1))
        closer = value < least
        least[closer], values[closer] = value[closer], chunk.start + best[closer]
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
    with np.errstate(over="ignore", invalid="ignore"):
        scores, norms = space.coordinates(X)
    if not np.isfinite(norms).all():
        outside = "Rows of these scores lie so far outside that their kernel values overflow"
        raise DataError(f"{outside}. Give scores nearer to those of the fitted rows, or no return_error.")
    diagonal, Z = arrays.as_float64(space.evaluator.diagonal(X)), arrays.as_float64(Z)
    # In units in which no square leaves the range of float64.
    unit = np.maximum(np.sqrt(np.abs(diagonal)), np.abs(Z).max(axis=1, initial=0.0))
    unit[unit == 0] = 1.0
    with np.errstate(invalid="ignore"):
        z, diagonal, norms = Z / unit[:, None], diagonal / unit / unit, norms / unit / unit
        lengths = np.sum(z * z, axis=1)
        squares = norms - 2.0 * np.sum(z * (scores / unit[:, None]), axis=1) + lengths
        terms = np.abs(diagonal) + lengths + abs(space.mean) / unit / unit
        wrong = np.flatnonzero(~(squares >= -ROUNDING * terms))
    if wrong.size:
        row = int(wrong[0])
        raise IndefiniteKernelError(
            f"The squared distance of pre-image {row} in feature space is "
            f"{squares[row] * unit[row] ** 2:.4g}: {space.evaluator.kernel!r} is no valid kernel here, so "
            "that there are no distances. Leave return_error out, or use a kernel "
            "that is positive semidefinite, such as rbf or poly."
        )
    return np.asarray(unit * np.sqrt(np.maximum(squares, 0.0)))


def minimised(space: FeatureSpace, Z: Any, start: Any = None) -> Descended:
    """Return rows whose images are nearest to the points with the scores Z, by :func:`fixed_points`.

    Parameters
    ----------
    Z : array of shape (b, r)
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

    def work(chunk: slice) -> Descended:
        z = Z[chunk, :]
        nearest = arrays.rows_of(space.rows, nearest_rows(space, z))
        objective = _objective(space, space.weights(z), nearest)
        begin = (nearest - space.center) / space.spread
        if start is not None:
            scaled_start, every = (start[chunk, :] - space.center) / space.spread, np.arange(z.shape[0])
            nearer = np.flatnonzero(objective(scaled_start, every).values < objective(begin, every).values)
            begin = arrays.with_rows(begin, nearer, arrays.rows_of(scaled_start, nearer))
        return fixed_points(objective, begin, tol=TOL, limit=LIMIT)

    # Warnings of overflow would only say that a step was too long, for which it is halved.
    with np.errstate(over="ignore", invalid="ignore"):
        result = arrays.parallel_map(work, slices(b, size), like=Z)
    return (
        xp.concat([points for points, _ in result], axis=0) * space.spread + space.center,
        np.concatenate([converged for _, converged in result]),
    )


def _objective(space: FeatureSpace, g: Any, begin: Any) -> Callable[[Any, IndexArray], Local]:
    """Return ``1 - 2 sum_i g_i k(x, x_i)`` as a function of x in units of the data's spread."""
    evaluator, unit = space.evaluator, space.spread

    def raw(X: Any, rows: IndexArray) -> tuple[Any, ...]:
        value, gradient, stiffness = zeros(X, 1)[:, 0] + 1.0, zeros(X, X.shape[1]), zeros(X, 1)
        for chunk in space.tiles:
            W = arrays.rows_of(g[:, chunk], rows)
            slopes = evaluator.slopes(X, space.right[chunk, :])
            value = value - 2.0 * arrays.row_products(W, slopes.values)
            gradient = gradient - 2.0 * slopes.pull(W)
            stiffness = stiffness + 2.0 * slopes.stiffness(W)
        return value, gradient, stiffness

    size = 1.0 + np.abs(arrays.as_float64(raw(begin, np.arange(begin.shape[0]))[0]) - 1.0)

    def local(U: Any, rows: IndexArray) -> Local:
        value, gradient, stiffness = raw(U * unit + space.center, rows)
        scale = arrays.from_numpy((unit / size[rows])[:, None], U)
        return Local(arrays.as_float64(value) / size[rows], gradient * scale, stiffness * scale * unit)

    return local


# -------- descent of rows, where no step ever makes a row worse

IndexArray = IndexArray
BoolArray = BoolArray
# Of the objective's size: smaller gains are rounding.
NOISE = 1e-13
TOO_LARGE = 1e10  # stands for values that are not finite; objectives are of size 1


@dataclass(frozen=True, eq=False)
class Local:
    """What an objective says about points of shape (b, d): of their kind, but for the values.

    Attributes
    ----------
    values : ndarray of shape (b,)
        In units in which they are about 1 in size.
    gradient : array of shape (b, d)
    stiffness : array of shape (b, d)
        The gradient is ``stiffness * (x - centre)``.
    """

    values: FloatArray
    gradient: Any
    stiffness: Any

    def taken(self, rows: IndexArray) -> Local:
        """Return the same of some rows."""
        return Local(*(arrays.rows_of(fact, rows) for fact in vars(self).values()))


Objective = Callable[[Any, IndexArray], Local]


# Points (b, d), and whether the gradient is within the tolerance there, or no gain beyond rounding is left.
Descended = tuple[Any, BoolArray]


def fixed_points(objective: Objective, start: Any, *, tol: float, limit: int) -> Descended:
    """Minimise a function of every row on its own by fixed-point iteration, and L-BFGS-B where that ends.

    Parameters
    ----------
    objective : callable
        From points (a, d) and the numbers (a,) of the rows they belong to, to :class:`Local`.
    start : array of shape (b, d), float64
        Of any kind; what is decided of a whole row is decided on the host.
    tol : float
        Norm of the gradient at which a row is done.
    limit : int
        Most steps.

    Returns
    -------
    Descended
        No row has a larger value than at the start.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature spaces,
    equation 10.
    """
    xp = arrays.namespace(start)
    points = at = start
    active = np.arange(points.shape[0])
    here = objective(points, active)
    for _ in range(limit):
        positive = here.stiffness > 0
        step = xp.where(positive, -here.gradient / xp.where(positive, here.stiffness, 1.0), 0.0)
        at = at + step
        new = objective(at, active)
        left = np.flatnonzero(new.values < here.values - NOISE)
        if not left.size:
            break
        active, at, here = active[left], arrays.rows_of(at, left), new.taken(left)
        points = arrays.with_rows(points, active, at)
    return quasi_newton(objective, points, tol=tol, limit=limit)


def quasi_newton(objective: Objective, start: Any, *, tol: float, limit: int) -> Descended:
    """Minimise a function of every row by L-BFGS-B, on parameters as for :func:`fixed_points`.

    All rows are minimised in one sum, and those that have not converged then alone.
    """
    points = np.array(arrays.as_float64(start))
    b, d = points.shape
    ended = np.zeros(b, dtype=bool)

    def facts(X: FloatArray, rows: IndexArray) -> tuple[FloatArray, FloatArray]:
        here = objective(arrays.from_numpy(X, start), rows)
        return here.values, arrays.as_float64(here.gradient)

    def minimise(rows: IndexArray, ftol: float) -> None:
        def total(x: FloatArray) -> tuple[float, FloatArray]:
            values, gradient = facts(x.reshape(-1, d), rows)
            # A step that leaves the range of float64 is too long.
            finite = np.isfinite(values).all() and np.isfinite(gradient).all()
            return (float(values.sum()), gradient.ravel()) if finite else (TOO_LARGE * b, np.zeros_like(x))

        result = scipy.optimize.minimize(
            total,
            points[rows].ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": limit, "maxcor": 20, "ftol": ftol, "gtol": tol / math.sqrt(d)},
        )
        moved = result.x.reshape(-1, d)
        better = facts(moved, rows)[0] <= facts(points[rows], rows)[0]
        points[rows[better]] = moved[better]
        ended[rows] = result.success and ftol > 0

    def slopes() -> FloatArray:
        return np.asarray(np.linalg.norm(facts(points, every)[1], axis=1))

    every = np.arange(b)
    if (left := np.flatnonzero(~(slopes() <= tol))).size > 1:
        minimise(left, 0.0)
    for row in np.flatnonzero(~(slopes() <= tol)):
        minimise(np.array([row]), NOISE)  # which no gain beyond rounding ends too
    return arrays.from_numpy(points, start), ended | (slopes() <= tol)


# ----------------- a map from scores to rows, learned by ridge regression

LANDMARKS = 1000
COMPONENTS = 500  # scores beyond these are left out of the map
# Widths that are tried, as multiples of the median distance between scores.
WIDTHS = (0.5, 1.0, 2.0, 4.0)
# Penalties that are tried, as parts of the sum of squares of the features.
PENALTIES = np.logspace(-13, 1, 40)


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
        Mean squared error of an entry of a row that is left out.
    """

    mean: Annotated[FloatArray, "r"]
    unit: float
    linear: Annotated[FloatArray, "r d"]
    intercept: Annotated[FloatArray, "d"]
    landmarks: Annotated[FloatArray, "m r"]
    radial: Annotated[FloatArray, "m d"]
    width: float | None
    penalty: float
    score: float

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return the rows of scores of shape (b, r): shape (b, d)."""
        Z = (Z[:, : len(self.mean)] - self.mean) / self.unit
        result = Z @ self.linear + self.intercept
        if self.width is not None:
            with np.errstate(over="ignore"):
                squares = scipy.spatial.distance.cdist(Z, self.landmarks, "sqeuclidean")
            result += _bumps(squares, self.width) @ self.radial
        return np.asarray(result)


def learn_map(scores: FloatArray, rows: FloatArray) -> RidgeMap:
    """Learn rows from scores; penalty, width and whether bumps are used, by leaving rows out one at a time.

    Parameters
    ----------
    scores : ndarray of shape (n, r)
    rows : ndarray of shape (n, d)

    References
    ----------
    Bakir, Weston, Schoelkopf (2004), Learning to find pre-images.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> learned = learn_map(z, 3.0 * z + 1.0)
    >>> learned(np.array([[2.0]])).round(6)
    array([[7.]])
    """
    from sklearn.linear_model import Ridge, RidgeCV

    n = len(rows)
    scores = scores[:, :COMPONENTS]
    factor = float(np.abs(rows).max(initial=0.0)) or 1.0
    mean = scores.mean(axis=0)
    unit = float(np.abs(scores - mean).max(initial=0.0)) or 1.0
    Z, target = (scores - mean) / unit, rows / factor
    picked = evenly(n, LANDMARKS)
    squares = scipy.spatial.distance.cdist(Z, Z[picked], "sqeuclidean") if Z.shape[1] else np.zeros((n, 0))
    apart = squares[squares > 0]
    median = float(np.sqrt(np.median(apart))) if apart.size else 0.0

    def features(width: float | None) -> FloatArray:
        return Z if width is None else np.concatenate([Z, _bumps(squares, width)], axis=1)

    def fit(width: float | None) -> Any:
        A = features(width)
        size = float(np.square(A - A.mean(axis=0)).sum()) or 1.0
        return RidgeCV(PENALTIES * size).fit(A, target)

    # One width a thread: eigenvectors of a thousand columns take several threads longer than one.
    widths = [None, *(share * median for share in WIDTHS if median > 0)] if Z.shape[1] else []
    with arrays.blas_threads():
        fits = arrays.parallel_map(fit, widths)
    if not fits:
        blank = np.zeros((0, rows.shape[1]))
        constant = rows.mean(axis=0)
        return RidgeMap(mean, unit, blank, constant, Z[:0], blank, None, 0.0, float(rows.var(axis=0).mean()))
    # Ties go to the simpler map.
    best = max(range(len(fits)), key=lambda i: fits[i].best_score_ * (1.0 if i == 0 else 1.0 + 1e-6))
    chosen, width = fits[best], widths[best]
    # Cross-validation computes coefficients as differences, in few digits where the penalty is small.
    result = Ridge(chosen.alpha_, solver="svd").fit(features(width), target)
    linear, radial = np.split(np.atleast_2d(result.coef_).T * factor, [Z.shape[1]])
    intercept, landmarks = np.atleast_1d(result.intercept_) * factor, Z[:0] if width is None else Z[picked]
    penalty, score = float(chosen.alpha_), -float(chosen.best_score_) * factor**2
    return RidgeMap(mean, unit, linear, intercept, landmarks, radial, width, penalty, score)


def _bumps(squares: FloatArray, width: float) -> FloatArray:
    return np.asarray(np.exp(squares * (-0.5 / width / width)))
