"""Missing values under a low-rank model: EM for probabilistic PCA, and regularised iterative PCA.

Every function takes an array with NaN at the holes. Rows with identical holes share their small matrices,
and the k x k systems of all rows are solved in one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy import sparse

from gramian.core.arrays import leading_pairs
from gramian.core.checks import slices
from gramian.core.records import POSITIVE, BoolArray, FloatArray, IndexArray

IndexArray = IndexArray

PAIRS = 512  # columns of products of two components that are multiplied at a time
BATCH = 1 << 22  # numbers in the k x k matrices of one batch of hole patterns
FEW_HOLES = 0.05  # share of holes up to which products over these alone are faster
WORTH_A_PRODUCT = 50  # holes of a pattern for which one of their own is faster
FEW_COLUMNS = 100  # up to which the rows of a pattern are worth their triangular factor
CACHED = 1 << 19  # numbers that are multiplied while they are in the cache
EPS = float(np.finfo(np.float64).eps)
# Least noise variance relative to the variance of all columns: data of exactly low rank has a likelihood
# without a maximum.
LEAST_NOISE = 1e-11
WELL_CONDITIONED = 1e8  # size of a matrix times that of its inverse, up to which inversion is exact enough
FOLDS = 5
# A noise variance is 0 below this share of that of the columns; observed entries that could show it are few
# below this share of them.
COLLAPSED, FEW = 1e-6, 0.2
NOISE_EVERY = 10  # steps of iterative PCA between estimates of the noise variance
# Components among which cross-validation chooses, and its folds, fewer where these entries are held out.
COUNTS, COUNT_FOLDS, DECISIVE = (*range(1, 11), 12, 14, 17, 20), 10, 6000
# After so many entries a number with such an error, relative to the least, is no longer tried.
TELLING, BEHIND = 1000, 1.1
# Standard errors by which the error of more components may exceed the least: too many cost little where they
# are regularised, and few entries have most of the squared error.
WITHIN = 0.5


@dataclass(frozen=True, eq=False)
class LowRank:
    """The model ``x = mean + weights z + noise`` with standard normal z and noise.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    weights : ndarray of shape (d, k)
    noise : float
        Variance of the noise in every column.
    spread : ndarray of shape (d, k + 1, k + 1) or None
        Covariance of the weights and the mean of each column, given the observed entries.
    """

    mean: FloatArray
    weights: FloatArray
    noise: float
    spread: FloatArray | None = None

    @property
    def products(self) -> FloatArray:
        """Expected products of the weights and the mean of each column, shape (d, k + 1, k + 1)."""
        A = np.column_stack([self.weights, self.mean])
        outer = A[:, :, None] * A[:, None, :]
        return outer if self.spread is None else outer + self.spread


@dataclass(frozen=True, eq=False)
class Imputation:
    """The result of an imputation.

    Attributes
    ----------
    filled : ndarray of shape (n, d), float64
        The data, with conditional expectations at the holes.
    trace : ndarray of shape (iterations,)
        Root-mean-square change of fitted entries (EM) or imputed ones (iterative PCA) in each step, relative
        to that of the observed ones from their mean.
    model : LowRank
    iterations : int
    converged : bool
    """

    filled: FloatArray
    trace: FloatArray
    model: LowRank
    iterations: int
    converged: bool

    def rescaled(self, factors: FloatArray) -> Imputation:
        """Return the same of columns that are multiplied by factors, shape (d,), as a start."""
        model = self.model
        noise = model.noise * float(np.mean(factors**2))
        spread = None if model.spread is None else model.spread * (factors**2)[:, None, None]
        model = LowRank(model.mean * factors, model.weights * factors[:, None], noise, spread)
        return replace(self, filled=self.filled * factors, model=model)


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct patterns of holes of a table.

    Attributes
    ----------
    observed : ndarray of bool, shape (u, d)
        Whether a row of the pattern has an entry.
    of_row : ndarray of shape (n,)
        Number of each row's pattern.
    """

    observed: BoolArray
    of_row: IndexArray

    @cached_property
    def masks(self) -> FloatArray:
        """The same as numbers, 1 where a row of the pattern has an entry."""
        return self.observed.astype(np.float64)

    @classmethod
    def of(cls, observed: BoolArray) -> Patterns:
        """Return the patterns of a mask of shape (n, d)."""
        packed = np.packbits(observed, axis=1)
        whole = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, of_row = np.unique(whole, return_index=True, return_inverse=True)
        return cls(observed[first], of_row.reshape(-1))

    @cached_property
    def sorted_rows(self) -> IndexArray:
        """Numbers of the rows in the order of their patterns."""
        return np.argsort(self.of_row, kind="stable")

    def batches(self, k: int) -> Iterator[tuple[slice, IndexArray, IndexArray]]:
        """Yield slices of patterns whose k x k matrices, and whose masks, fit into a batch.

        With each slice come its rows, in the order of their patterns, and the places of these in the slice.
        """
        order = self.sorted_rows
        for batch in slices(len(self.observed), max(1, BATCH // max(k * k, self.observed.shape[1]))):
            first, last = np.searchsorted(self.of_row, (batch.start, batch.stop), sorter=order)
            rows = order[first:last]
            yield batch, rows, self.of_row[rows] - batch.start


def grams_of_holes(observed: BoolArray, W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``W_O.T W_O`` over the observed rows O of every pattern, and over the others, shape (u, k, k).

    Where few rows are missing, products are formed of these alone.
    """
    holes = ~observed
    if (count := np.count_nonzero(holes)) > FEW_HOLES * holes.size:
        return grams(observed.astype(np.float64), W), grams(holes.astype(np.float64), W)
    if count < WORTH_A_PRODUCT * len(holes):
        masks = sparse.csr_array(holes, dtype=np.float64)
        gone = _symmetric(len(holes), W.shape[1], lambda i, j: masks @ (W[:, i] * W[:, j]))
    else:
        (u, d), entries = holes.shape, np.flatnonzero(holes)
        missing = np.split(
            np.ascontiguousarray(W)[entries % d], np.searchsorted(entries, d * np.arange(1, u))
        )
        gone = np.array([directions.T @ directions for directions in missing])
    return W.T @ W - gone, gone


def grams(masks: FloatArray, W: FloatArray) -> FloatArray:
    """Return ``W_O.T W_O`` for the observed rows O of every pattern, shape (u, k, k).

    Parameters
    ----------
    masks : ndarray of shape (u, d)
    W : ndarray of shape (d, k)
    """
    return _symmetric(len(masks), W.shape[1], lambda i, j: masks @ (W[:, i] * W[:, j]))


def _inverses(A: FloatArray) -> FloatArray:
    """Return the inverses of positive definite matrices, which are positive definite despite rounding."""
    try:
        result = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        result = np.full(A.shape, np.nan)
    near = ~(np.abs(A).max(axis=(1, 2)) * np.abs(result).max(axis=(1, 2)) <= WELL_CONDITIONED)
    if near.any():
        values, V = np.linalg.eigh(A[near])
        values = np.maximum(values, len(A[0]) * EPS * values[:, -1:])
        result[near] = (V / values[:, None, :]) @ V.transpose(0, 2, 1)
    return np.asarray(result)


def _symmetric(count: int, k: int, entries: Callable[[IndexArray, IndexArray], FloatArray]) -> FloatArray:
    """Return symmetric matrices, shape (count, k, k), whose entries are computed a few places at a time."""
    out, (left, right) = np.empty((count, k, k)), np.triu_indices(k)
    for batch in slices(len(left), PAIRS):
        i, j = left[batch], right[batch]
        out[:, i, j] = out[:, j, i] = entries(i, j)
    return out


# ------------------------------------------------------ EM of probabilistic PCA


@dataclass(frozen=True, eq=False)
class _Compact:
    """Few rows with the same sums of products as the rows of each pattern of holes."""

    C: FloatArray  # (m, d), centred, 0 at the holes; rows are multiplied by the roots of their weights
    ones: FloatArray  # (m,): the column of ones, multiplied so too
    patterns: Patterns
    counts: FloatArray  # (u,): sums of the weights
    unit: float  # what one row counts; weights that are shares of 1 do not count rows

    @classmethod
    def of(cls, C: FloatArray, row_weights: FloatArray, patterns: Patterns) -> _Compact:
        """Replace the rows of a pattern that has many by their triangular factor."""
        rows, d = np.column_stack([C, np.ones(len(C))]) * np.sqrt(row_weights)[:, None], C.shape[1]
        sizes = np.bincount(patterns.of_row)
        large = (sizes > 2 * (d + 1)) & (d <= FEW_COLUMNS)
        rest = ~large[patterns.of_row]
        factors, of_row = [rows[rest]], [patterns.of_row[rest]]
        by_pattern = np.split(patterns.sorted_rows, np.cumsum(sizes)[:-1]) if large.any() else []
        for number in np.flatnonzero(large):
            seen = np.append(patterns.observed[number], True)
            R = np.linalg.qr(rows[by_pattern[number]][:, seen], mode="r")
            factors.append(np.zeros((len(R), d + 1)))
            factors[-1][:, seen] = R
            of_row.append(np.full(len(R), number))
        few, which = np.concatenate(factors), np.concatenate(of_row)
        counts = np.asarray(np.bincount(patterns.of_row, weights=row_weights), dtype=np.float64)
        unit = min(1.0, float(row_weights.sum()) / np.count_nonzero(row_weights))
        return cls(np.ascontiguousarray(few[:, :d]), few[:, d], replace(patterns, of_row=which), counts, unit)


def impute_em(
    X: FloatArray,
    k: int,
    *,
    weights: FloatArray | None = None,
    start: Imputation | None = None,
    tol: float = 1e-5,
    max_iter: int = 1000,
) -> Imputation:
    """Fill holes by probabilistic PCA of the observed entries, whose directions are uncertain.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        float64 with NaN at the holes; every row and column has an entry.
    k : int
        Number of components, below ``min(n, d)``.
    weights : ndarray of shape (n,), optional
        How often each row counts; rows of weight 0 are filled, and count for nothing.
    start : Imputation, optional
        Where the iteration starts; by default at the PCA of X with column means at the holes.
    tol : float
        The iteration stops when a step changes the fitted entries by less than ``tol`` times the standard
        deviation of the observed ones, in the root-mean-square, and the noise variance by less than ``tol``
        times itself.
    max_iter : int

    Returns
    -------
    Imputation

    Notes
    -----
    Maximum likelihood takes weights for known. Where many are estimated from few rows, a row without the
    entries that determine a score then gets values far outside the data. Here the weights and the mean of a
    column have a normal distribution, whose covariance is the noise variance s times the inverse of their
    normal equations (variational Bayes, flat prior). E[z] then has about ``s (1 + d / n)`` in place of s.
    Mean and directions take ``(d - k) (k + 1)`` degrees of freedom from the noise, as in iterative PCA: the
    others choose the basis and the origin of z. Each step gives z unit covariance, which is undone in the
    weights (parameter expansion).

    References
    ----------
    Bishop (1999), Variational principal components. Ilin and Raiko (2010), Practical approaches to principal
    component analysis in the presence of missing values, section 4. Liu, Rubin, Wu (1998), Parameter
    expansion to accelerate EM: the PX-EM algorithm.

    Examples
    --------
    >>> X = np.outer(np.arange(6.0), [1.0, 2.0, 3.0])
    >>> X[2, 1] = np.nan
    >>> impute_em(X, 1).filled[2, 1].round(3)
    np.float64(4.0)
    """
    observed = ~np.isnan(X)
    row_weights = _row_weights(X, weights)
    patterns, entries = Patterns.of(observed), float(row_weights @ observed.sum(axis=1))
    centre = _means(X, observed, row_weights)
    C = np.where(observed, X - centre, 0.0)
    model = _first_model(C, row_weights, k)
    if start is not None:
        model = replace(start.model, mean=start.model.mean - centre)
    square = max(_weighted_square(C, row_weights) / entries, np.finfo(float).tiny)
    least = LEAST_NOISE * X.shape[1] * square
    compact = _Compact.of(C, row_weights, patterns)
    model = replace(model, noise=max(model.noise, least))
    trace: list[float] = []
    settled = False
    while len(trace) < max_iter and not (settled and trace[-1] <= tol):
        before = model.noise
        model, change = _updated(compact, entries, square, model, least)
        trace.append(math.sqrt(change / square))
        settled = abs(model.noise - before) <= tol * max(model.noise, COLLAPSED * square)
    model = replace(model, mean=model.mean + centre)
    filled = np.where(observed, X, _expected_rows(X, patterns, model))
    return Imputation(filled, np.array(trace), model, len(trace), settled and trace[-1] <= tol)


def _row_weights(X: FloatArray, weights: FloatArray | None) -> FloatArray:
    return np.ones(len(X)) if weights is None else weights


def _means(X: FloatArray, observed: BoolArray, row_weights: FloatArray) -> FloatArray:
    return np.asarray(row_weights @ np.where(observed, X, 0.0) / (row_weights @ observed))


def _weighted_square(C: FloatArray, row_weights: FloatArray) -> float:
    return float(row_weights @ (C**2).sum(axis=1))


def _first_model(C: FloatArray, row_weights: FloatArray, k: int) -> LowRank:
    """Return the maximum-likelihood model of complete data (Tipping and Bishop, equations 7 and 8)."""
    d, total = C.shape[1], float(row_weights.sum())
    values, V = _leading(C, row_weights, k)
    values = values / total
    noise = max(_weighted_square(C, row_weights) / total - float(values.sum()), 0.0) / max(1, d - k)
    return LowRank(np.zeros(d), V * np.sqrt(np.maximum(values - noise, 0.0)), noise)


def _leading(C: FloatArray, row_weights: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return the k largest eigenvalues of ``C.T diag(own) C``, descending, and their directions (d, k)."""
    C = C * np.sqrt(row_weights)[:, None]
    n, d = C.shape
    tall = n >= d
    S = C.T @ C if tall else C @ C.T
    values, vectors = leading_pairs(S, k)
    values = np.maximum(values[:k], 0.0)
    if not tall:
        vectors = C.T @ vectors
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=0), np.finfo(float).tiny)
    return values, vectors


def _expectation(compact: _Compact, model: LowRank) -> tuple[FloatArray, FloatArray]:
    """Return the weighted moments of z given the observed entries.

    These are E[z] and 1 of each row, shape (m, k + 1), and E[z z.T], E[z] and 1 summed over the rows of each
    pattern, shape (u, k + 1, k + 1).
    """
    C, patterns, k = compact.C, compact.patterns, model.weights.shape[1]
    masks, products = patterns.masks, model.products
    B, Z = C @ model.weights, np.column_stack([np.empty((len(C), k)), compact.ones])
    moments = np.zeros((len(masks), k + 1, k + 1))
    eye = model.noise * np.eye(k)
    for batch, rows, which in patterns.batches(k):
        G = _sums(masks[batch], products)
        inverse = _inverses(G[:, :k, :k] + eye)
        # The mean is taken off the observed entries only.
        right = B[rows] - G[which, :k, k] * compact.ones[rows, None]
        Z[rows, :k] = np.matmul(inverse[which], right[:, :, None])[:, :, 0]
        outer = Z[rows][:, :, None] * Z[rows][:, None, :]
        moments[batch] = np.add.reduceat(outer, np.flatnonzero(np.diff(which, prepend=-1)), axis=0)
        moments[batch, :k, :k] += compact.counts[batch, None, None] * model.noise * inverse
    return Z, moments


def _sums(masks: FloatArray, products: FloatArray) -> FloatArray:
    """Return sums of symmetric matrices of shape (d, k, k) over the places of each mask of length d."""
    return _symmetric(len(masks), products.shape[1], lambda i, j: masks @ products[:, i, j])


def _updated(
    compact: _Compact, entries: float, square: float, model: LowRank, least: float
) -> tuple[LowRank, float]:
    """Return the next model, with z back at unit covariance, and the mean square change of fitted entries."""
    (d, k), unit = model.weights.shape, compact.unit
    scores, moments = _expectation(compact, model)
    total, right, whole = float(compact.counts.sum()), compact.C.T @ scores, moments.sum(axis=0)
    inverse = _inverses(_sums(compact.patterns.masks.T, moments))
    solved = np.matmul(inverse, right[:, :, None])[:, :, 0]
    # The normal equations make the expected squared error the part that is not explained.
    left = max(entries - unit * (d - k) * (k + 1), unit)
    noise = max((entries * square - float((right * solved).sum())) / left, least)
    middle = whole[:k, k] / total
    basis = np.eye(k + 1)
    values, V = np.linalg.eigh(whole[:k, :k] / total - np.outer(middle, middle))
    root = V * np.sqrt(np.maximum(values, EPS * values[-1]))
    # Of all bases the one nearest to the last, so that weights converge and not only the model.
    U, _, Vt = np.linalg.svd((solved[:, :k] @ root).T @ model.weights)
    basis[:k, :k], basis[:k, k] = root @ (U @ Vt), middle
    # Products of many small matrices as products of two tall ones.
    half = (inverse.reshape(-1, k + 1) @ basis).reshape(inverse.shape).transpose(0, 2, 1)
    spread = (half.reshape(-1, k + 1) @ (unit * noise * basis)).reshape(inverse.shape)
    solved = solved @ basis
    change = float(((solved - np.column_stack([model.weights, model.mean])) ** 2).sum()) / d
    return LowRank(solved[:, k], solved[:, :k], noise, spread), change


def _expected_rows(X: FloatArray, patterns: Patterns, model: LowRank) -> FloatArray:
    """Return ``mean + weights E[z]`` of every row."""
    W = model.weights
    k = W.shape[1]
    B = np.where(np.isnan(X), 0.0, X - model.mean) @ W
    Z = np.empty_like(B)
    for batch, rows, which in patterns.batches(k):
        inverse = _inverses(grams(patterns.masks[batch], W) + model.noise * np.eye(k))
        Z[rows] = np.matmul(inverse[which], B[rows][:, :, None])[:, :, 0]
    return np.asarray(model.mean + Z @ W.T)


def expected_scatter(
    X: FloatArray, result: Imputation, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the mean, and the expected sum of squares and products about it given the observed entries.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        float64 with NaN at the holes.
    result : Imputation
        By :func:`impute_em`.
    weights : ndarray of shape (n,), optional

    Returns
    -------
    mean : ndarray of shape (d,)
    scatter : ndarray of shape (d, d)
        ``sum_i (xhat_i - mean)(xhat_i - mean).T + Cov[x_i | observed]``. With noise s, observed entries O and
        ``M = s I + W_O.T W_O`` the covariance of missing entries is ``s I + s W M^-1 W.T``.

    References
    ----------
    Tipping and Bishop (1999), Probabilistic principal component analysis, appendix B.
    """
    row_weights, W, noise = _row_weights(X, weights), result.model.weights, result.model.noise
    d, k = W.shape
    total = float(row_weights.sum())
    mean = row_weights @ result.filled / total
    C = (result.filled - mean) * np.sqrt(row_weights)[:, None]
    patterns = Patterns.of(~np.isnan(X))
    counts = np.bincount(patterns.of_row, weights=row_weights, minlength=len(patterns.masks))
    scatter = C.T @ C
    scatter.flat[:: d + 1] += noise * (counts @ (1.0 - patterns.masks))
    for batch in slices(len(patterns.masks), max(1, CACHED // (k * max(k, d)))):
        masks = patterns.masks[batch]
        # Rows whose products sum to the covariances: W.T divided by the factors of M, at the holes.
        M = grams(masks, W) + noise * np.eye(k)
        try:
            factors = np.linalg.inv(np.linalg.cholesky(M))
        except np.linalg.LinAlgError:  # noise that rounding hides
            values, V = np.linalg.eigh(M)
            factors = (V / np.sqrt(np.maximum(values, noise))[:, None, :]).transpose(0, 2, 1)
        factors *= np.sqrt(noise * counts[batch])[:, None, None]
        roots = (factors.reshape(-1, k) @ W.T).reshape(-1, k, d)
        roots *= (1.0 - masks)[:, None, :]
        whole = roots.reshape(-1, d)
        scatter += whole.T @ whole
    return mean, scatter


def filled_squares(
    X: FloatArray, result: Imputation, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return mean and sums of squares about it of the columns of a table that was filled."""
    total = float(_row_weights(X, weights).sum())
    mean = np.average(result.filled, axis=0, weights=weights)
    return mean, total * np.average((result.filled - mean) ** 2, axis=0, weights=weights)


def undetermined(X: FloatArray, k: int, model: LowRank | None = None) -> str:
    """Return why k components are too many for the observed entries of X; "" if they are not.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        float64 with NaN at the holes.
    k : int
    model : LowRank, optional
        The fitted model, whose noise may have collapsed.
    """
    observed = ~np.isnan(X)
    counts, d = observed.sum(axis=1), X.shape[1]
    # A row with k entries or fewer fits any k directions; the others determine mean and directions.
    left = int(np.maximum(counts - k, 0).sum()) - (d - k) * (k + 1)
    if left <= 0:
        return "the model has no fewer parameters than the observed entries determine"
    if model is None or model.noise > COLLAPSED * float(np.nanvar(X, axis=0).mean()):
        return ""
    # Without noise, rows have to determine all scores.
    patterns = Patterns.of(observed)
    values = (
        np.linalg.eigvalsh(grams(patterns.masks[batch], model.weights)) for batch, *_ in patterns.batches(k)
    )
    unknown = any((some[:, 0] <= np.maximum(model.noise, k * EPS * some[:, -1])).any() for some in values)
    if unknown or left < FEW * int(counts.sum()):
        return "the noise variance tends to 0, where the likelihood has no maximum"
    return ""


# ------------------------------------------------------------- iterative PCA


def impute_iterative(
    X: FloatArray,
    k: int,
    *,
    weights: FloatArray | None = None,
    start: Imputation | None = None,
    ddof: float = 0.0,
    tol: float = 1e-7,
    max_iter: int = 5000,
) -> Imputation:
    """Fill holes by regularised iterative PCA.

    Parameters
    ----------
    X, k, weights, start, max_iter
        As of :func:`impute_em`.
    ddof : float
        Variances divide by the sum of the weights less this.
    tol : float
        The iteration stops when the imputed entries change by less than ``tol`` times the standard deviation
        of the observed ones, in the root-mean-square.

    Returns
    -------
    Imputation

    Notes
    -----
    The noise variance is the sum of squared residuals of the observed entries, after least squares on the
    directions in each row, divided by their degrees of freedom: k less than the entries of each row, and
    ``(d - k) (k + 1)`` less for mean and directions; at least 1. For complete tables that is
    ``(n - 1 - k) (d - k)``. At the fixed
    point the imputed entries are the conditional expectations under the probabilistic PCA of the final
    directions and variances, with what variances are reduced by as its noise.

    References
    ----------
    Josse and Husson (2012), Handling missing values in exploratory multivariate data analysis methods,
    section 2.3.
    """
    observed = ~np.isnan(X)
    holes = ~observed
    row_weights = _row_weights(X, weights)
    total, of_hole = float(row_weights.sum()), row_weights[np.nonzero(holes)[0]]
    degrees, rows = total - ddof, max(total, float(np.count_nonzero(row_weights)))
    entries = float(row_weights @ observed.sum(axis=1))
    filled = np.where(observed, X, _means(X, observed, row_weights) if start is None else start.filled)
    size = max(
        math.sqrt(_weighted_square(filled - row_weights @ filled / total, row_weights) / entries), 1e-300
    )
    trace: list[float] = []
    patterns, noise, settled = Patterns.of(observed), math.nan, False
    for step in range(max_iter):
        mean = row_weights @ filled / total
        C = filled - mean
        values, V = _leading(C, row_weights, k)
        values, scores = values / degrees, C @ V
        if step % NOISE_EVERY == 0:
            before, noise = noise, _residual_variance(np.where(observed, C, 0.0), row_weights, patterns, V)
            settled = abs(noise - before) <= tol * max(noise, COLLAPSED * size**2)
        less = excess(rows, X.shape[1], k) * noise
        kept = np.divide(np.maximum(values - less, 0.0), values, out=np.zeros(k), where=values > 0)
        new = mean + (scores * kept) @ V.T
        squares = (new[holes] - filled[holes]) ** 2
        change = math.sqrt(float(of_hole @ squares) / max(float(of_hole.sum()), 1e-300))
        filled[holes] = new[holes]
        trace.append(change / size)
        if trace[-1] <= tol and settled:
            break
    model = LowRank(mean, V * np.sqrt(np.maximum(values - noise, 0.0)), noise)
    return Imputation(filled, np.array(trace), model, len(trace), trace[-1] <= tol and settled)


def excess(n: float, d: int, k: int) -> float:
    """Return by how many noise variances the k largest variances of n x d entries are reduced.

    Noise of ``d - k`` columns raises them by its variance times ``(d - k) / (n - 1 - k)``. As much again as
    one noise variance is lost since directions are not exact: with a root-mean-square error in mind, singular
    values are shrunk by ``(n + d) noise / (their size)`` where they are large.

    References
    ----------
    Gavish and Donoho (2017), Optimal shrinkage of singular values.
    """
    return 1.0 + (d - k) / max(n - 1 - k, 1)


def _residual_variance(C: FloatArray, row_weights: FloatArray, patterns: Patterns, V: FloatArray) -> float:
    """Return the variance of the residuals of observed entries; C is centred, and 0 at the holes."""
    d, k = V.shape
    B, squares = C @ V, (C**2).sum(axis=1)
    seen = patterns.masks.sum(axis=1)[patterns.of_row]
    for batch, rows, which in patterns.batches(k):
        inverse = np.linalg.pinv(grams(patterns.masks[batch], V), rcond=1e-8, hermitian=True)
        squares[rows] -= (B[rows] * np.matmul(inverse[which], B[rows][:, :, None])[:, :, 0]).sum(axis=1)
    more = seen > k
    # Integer weights count rows; weights that are shares of 1 do not say how many rows there are.
    unit = min(1.0, float(row_weights.sum()) / np.count_nonzero(row_weights))
    left = float(row_weights[more] @ (seen[more] - k)) - unit * (d - k) * (k + 1)
    return float(row_weights[more] @ np.maximum(squares[more], 0.0) / max(left, unit))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Observed entries that are left out, a fold at a time, to measure how well others predict them.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        With NaN at the holes.
    rng : Generator
        Deals the observed entries to folds.
    weights : ndarray of shape (n,) or None
        Of rows, in the error too.
    count : int
        Of folds.
    """

    X: FloatArray
    rng: np.random.Generator
    weights: FloatArray | None = None
    count: int = FOLDS

    @cached_property
    def folds(self) -> list[tuple[IndexArray, IndexArray]]:
        """Rows and columns of the entries of each fold.

        An entry that its row or column would be empty without is not held out.
        """
        indices = np.argwhere(~np.isnan(self.X) & (self._own > 0)[:, None])
        fold, folds = self.rng.permutation(len(indices)) % self.count, []
        for number in range(self.count):
            rows, columns = indices[fold == number].T
            there = ~np.isnan(self.X)
            there[rows, columns] = False
            # Rows of weight 0 determine no column.
            alone = (there.sum(axis=1)[rows] == 0) | (self._own @ there == 0)[columns]
            folds.append((rows[~alone], columns[~alone]))
        return folds

    @property
    def _own(self) -> FloatArray:
        return _row_weights(self.X, self.weights)

    def sample(self, method: str) -> HeldOut:
        """Return random rows, so many that one fold decides; all where more rows take no longer."""
        there, (n, d) = ~np.isnan(self.X) & (self._own > 0)[:, None], self.X.shape
        size = math.ceil(n * DECISIVE * self.count / max(np.count_nonzero(there), 1))
        repeated = method == "em" and d <= FEW_COLUMNS and (d + 1) * len(Patterns.of(there).observed) <= size
        if size >= n or repeated:
            return self
        order = self.rng.permutation(n)
        keep = np.union1d(order[:size], order[there[order].argmax(axis=0)])  # an entry of every column
        return replace(self, X=self.X[keep], weights=None if self.weights is None else self.weights[keep])

    def size(self, fold: tuple[IndexArray, IndexArray]) -> float:
        """Return the sum of the weights of the entries of one fold."""
        return float(self._own[fold[0]].sum())

    def squares(
        self, fold: tuple[IndexArray, IndexArray], impute: Callable[[FloatArray], Imputation]
    ) -> FloatArray:
        """Return the squared errors of the entries of one fold, times their weights."""
        train = self.X.copy()
        train[fold] = np.nan
        return np.asarray(self._own[fold[0]] * (impute(train).filled[fold] - self.X[fold]) ** 2)


def choose_count(held_out: HeldOut, most: int, method: str) -> tuple[int, dict[int, float]]:
    """Return the number of components that predicts held-out entries well, and the errors of those tried.

    Parameters
    ----------
    held_out : HeldOut
        Its folds are taken until ``DECISIVE`` entries are held out.
    most : int
        The largest number. Those of ``COUNTS`` that the observed entries determine are tried, and this one
        if it is not beyond them.
    method : {"em", "iterative"}

    Returns
    -------
    best : int
        The largest whose squared errors exceed those of the number with the least by at most ``WITHIN``
        standard errors of the mean difference.
    errors : dict of int to float
        Root-mean-square error of held-out entries: of a number that falls behind, in the folds until then.

    References
    ----------
    Josse and Husson (2012), Selecting the number of components in principal component analysis using
    cross-validation approximations, which calls the exact form k-fold.
    """

    def filled(X: FloatArray) -> Imputation:
        if method == "em":
            return impute_em(X, k, weights=held_out.weights, tol=1e-2, max_iter=100)
        return impute_iterative(X, k, weights=held_out.weights, tol=1e-4, max_iter=200)

    tried = sorted({count for count in COUNTS if count <= most} | {min(most, COUNTS[-1])})
    tried = [k for k in tried if not undetermined(held_out.X, k)] or tried[:1]
    squares, size, seen = {k: np.empty(0) for k in tried}, 0.0, 0
    errors: dict[int, float] = {}
    for fold in held_out.folds:
        size += held_out.size(fold)
        for k in tried:
            squares[k] = np.append(squares[k], held_out.squares(fold, filled))
            errors[k] = math.sqrt(float(squares[k].sum()) / size) if size else 0.0
        least, seen = min(errors[k] for k in tried), seen + len(fold[0])
        if seen >= TELLING:
            tried = [k for k in tried if errors[k] <= BEHIND * least]
        if seen >= DECISIVE or len(tried) == 1:
            break
    if not size:
        return tried[0], errors
    best = min(tried, key=errors.__getitem__)
    excesses = {k: squares[k] - squares[best] for k in tried if k >= best}
    rooms = {k: WITHIN * math.sqrt(len(more)) * float(more.std()) for k, more in excesses.items()}
    return max(k for k, more in excesses.items() if float(more.sum()) <= rooms[k]), errors


@dataclass(frozen=True, eq=False)
class Imputed:
    """The entries that a fit imputed.

    Attributes
    ----------
    method : str
        "mean", "em" or "iterative".
    rows, columns : ndarray of shape (m,)
        Where they are, by rows, then columns.
    values : ndarray of shape (m,), float64
        In units of the data.
    standard_errors : ndarray of shape (m,), float64
        Standard deviation of each value under the model; for "mean" that of its column.
    trace : ndarray of shape (iterations,)
        Root-mean-square changes of fitted (EM) or imputed (iterative PCA) entries in each step, relative to
        the observed ones.
    noise_variance : float
        Of the model that imputed, in squared fitted (scaled) units; None for "mean".
    iterations : int
    converged : bool
    regularization : float
        Multiple of the noise variance that "iterative" reduced variances by: the parameter, times
        ``1 + (d - k) / (n - 1 - k)``.
    n_components : int
        Components that imputed; 0 for "mean".
    """

    method: str
    rows: Annotated[IndexArray, "m", POSITIVE]
    columns: Annotated[IndexArray, "m", POSITIVE]
    values: Annotated[FloatArray, "m"]
    standard_errors: Annotated[FloatArray, "m", POSITIVE]
    trace: Annotated[FloatArray, "_"]
    noise_variance: float | None
    iterations: int
    converged: bool
    regularization: float = 1.0
    n_components: int = 0

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Imputed({len(self):,} values by {self.method!r})"
