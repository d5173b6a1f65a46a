"""Mutual information of each feature with a label, in nats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy import sparse, stats
from scipy.spatial import cKDTree
from scipy.special import digamma
from sklearn.utils import check_random_state

from gramian.core.arrays import dense, memory_limit_bytes, parallel_map
from gramian.core.checks import check_integer, listed, slices
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import FloatArray, Seed
from gramian.errors import DataError, ParameterError
from gramian.models.sklearn import NEVER_OVERWRITTEN, knowing
from gramian.select.targets import Labelled, as_labelled, column_of, looks_discrete
from gramian.statistics.candidates import data_frame


@dataclass(frozen=True, eq=False, repr=False)
class MutualInformation(Tabulated):
    """The mutual information of every feature with the label; prints as a ranking.

    ``np.asarray(found)`` and ``found[j]`` are the values.

    Attributes
    ----------
    values : ndarray of shape (d,)
        Nats, never below 0.
    feature_names : tuple of str
        Names of the columns.
    discrete : ndarray of bool of shape (d,)
        The features treated as discrete.
    label_entropy : float or None
        Entropy of a discrete label, in nats: the upper bound of the values. None for numbers.
    notes : tuple of str
        Automatic decisions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> result = gramian.mutual_information(X, y)
    >>> result.feature_names[result.values.argmax()], bool(result.values.max() <= result.label_entropy)
    ('petal length (cm)', True)
    """

    values: FloatArray
    feature_names: tuple[str, ...]
    discrete: npt.NDArray[np.bool_]
    label_entropy: float | None
    notes: tuple[str, ...] = field(default=())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    @property
    def ranking(self) -> npt.NDArray[np.intp]:
        """Features by falling value; ties in the order of the columns."""
        return np.argsort(-self.values, kind="stable")

    def rows(self) -> list[tuple[str, float, str]]:
        """Return name, nats and kind of each feature, by falling value."""
        order = self.ranking
        names, kinds = np.array(self.feature_names)[order], np.where(self.discrete, "discrete", "continuous")
        return list(zip(names.tolist(), self.values[order].tolist(), kinds[order].tolist(), strict=True))

    def to_frame(self) -> Any:
        """Return the ranking as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            The values of :meth:`rows`.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed; :meth:`rows` needs nothing.
        """
        return data_frame(self.rows(), ["feature", "nats", "kind"])

    def _notebook(self) -> Iterator[str | Grid]:
        yield Grid(("feature", "nats"), [row[:2] for row in self.rows()], ("", ".4f"))
        yield from self.notes


HABITS = {
    "discrete_features": "discrete= says the same, by name too; 'auto' looks at the values of each column",
    "copy": NEVER_OVERWRITTEN,
}


@knowing(HABITS, "mutual_information")
def mutual_information(
    X: Any,
    y: Any = None,
    *,
    discrete: Any = "auto",
    discrete_target: bool | str = "auto",
    n_neighbors: int = 3,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> MutualInformation:
    """Estimate the mutual information of each feature with the label, in nats.

    ``MI = sum f(x, y) ln(f(x, y) / (f(x) f(y)))``: 0 for independent variables, at most the entropy of a
    discrete one. The estimate is that formula with the shares of rows where both are discrete, and
    otherwise from nearest neighbours: by Ross (2014) where one is discrete, by algorithm 1 of Kraskov,
    Stoegbauer and Grassberger (2004) where neither is.

    Parameters
    ----------
    X : array-like, frame, sparse matrix, Path or Scan of shape (n_samples, n_features)
        Of a sparse matrix some columns are made dense at a time.
    y : array-like of shape (n_samples,), optional
        Labels; not needed for a file that is read with ``label=``. Rows without one are left out, with a
        warning.
    discrete : "auto", bool, or array of bools, positions or names
        Which features are discrete. By default those of whole numbers with at most 20 distinct values, or at
        most the square root of the number of rows.
    discrete_target : "auto" or bool
        Whether the label is; by default text, booleans, and whole numbers by the rule above.
    n_neighbors : int
        Neighbours of the estimates for continuous variables. More of them vary less and are more biased. In a
        class with fewer rows all the others are taken; a class of one row is left out.
    random_state : int, RandomState, Generator or None, default=0
        For the noise; None draws a new seed at each call.
    n_jobs : int or None
        Largest number of threads. None: as many as BLAS may use.

    Returns
    -------
    MutualInformation
        With ``values`` of shape (n_features,).

    Raises
    ------
    DataError
        For NaN in X, a single class, only classes of one row.
    ParameterError
        For neighbours that the rows do not have.

    Notes
    -----
    Equal values: to every continuous variable, scaled to unit standard deviation, normal noise of 1e-10 of
    its mean magnitude (at least 1e-10) is added, the same that scikit-learn adds for the same
    ``random_state``; an offset beyond 100 standard deviations is subtracted before. A constant feature has 0.
    For continuous columns of a sparse matrix that would, dense, take more than a quarter of the memory limit
    (``GRAMIAN_MEMORY_LIMIT``) it is drawn for a few columns at a time, as from another ``random_state``.

    Bias: the plug-in estimate is too high by about ``(r - 1)(c - 1) / (2 n)`` for r and c distinct values. A
    nearest-neighbour estimate varies around 0 for independent variables and is cut off there.

    References
    ----------
    Ross (2014), Mutual information between discrete and continuous data sets, PLoS ONE 9(2), e87357.
    Kraskov, Stoegbauer, Grassberger (2004), Estimating mutual information, Physical Review E 69, 066138.

    Examples
    --------
    >>> found = mutual_information([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1])
    >>> np.round(found.values, 4)
    array([0.6931, 0.    ])
    """
    k = check_integer("n_neighbors", n_neighbors)
    most = None if n_jobs is None else effective_n_jobs(n_jobs)
    stream = random_stream(random_state)
    data = as_labelled(X, y, estimator="mutual_information", discrete=discrete_target)
    kinds, classes = _discrete_features(discrete, data), data.classes is not None
    _check_neighbors(data, kinds, k)
    result = information(data.X, data.y, classes=classes, discrete=kinds, k=k, stream=stream, most=most)
    most_of_label = None if data.classes is None else entropy(data.y)
    notes = tuple(_notes(data, k)) if classes and not kinds.all() else ()
    return MutualInformation(np.maximum(result, 0.0), data.names, kinds, most_of_label, notes)


def _discrete_features(discrete: Any, data: Labelled) -> npt.NDArray[np.bool_]:
    d = data.X.shape[1]
    if isinstance(discrete, str) and discrete == "auto":
        return np.array([looks_discrete(column_of(data.X, j)) for j in range(d)])
    if isinstance(discrete, (bool, np.bool_)):
        return np.full(d, bool(discrete))
    try:
        features = np.asarray(discrete)
        if features.ndim != 1 or (features.dtype.kind == "b" and len(features) != d):
            raise IndexError
        if features.dtype.kind in "OU":
            features = np.array([data.names.index(str(name)) for name in features], dtype=np.intp)
        mask = np.zeros(d, dtype=bool)
        mask[features.astype(np.intp) if features.size == 0 else features] = True
    except (IndexError, ValueError, TypeError) as error:
        hint = f"Give 'auto', True, False, {d} booleans, or positions or names of features."
        raise ParameterError("discrete", discrete, f"does not fit {d} features", hint) from error
    return mask


def _check_neighbors(data: Labelled, kinds: npt.NDArray[np.bool_], k: int) -> None:
    n = data.X.shape[0]
    if data.classes is None:
        if k >= n:
            raise ParameterError("n_neighbors", k, f"but there are {n} rows", f"Give at most {n - 1}.")
    elif not kinds.all() and np.bincount(data.y).max() < 2:
        hint = "Use discrete_target=False if they are numbers."
        raise DataError(f"All {n} labels are different, so no row has a neighbour in its class.", hint)


def _notes(data: Labelled, k: int) -> Iterator[str]:
    """Yield what happens to the rows of small classes."""
    sizes = np.bincount(data.y)
    classes = data.classes if data.classes is not None else np.arange(len(sizes))
    single, small = (listed(classes[which].tolist()) for which in (sizes == 1, (sizes > 1) & (sizes <= k)))
    if single:
        yield f"Classes with a single row were left out: {single}."
    if small:
        yield f"Classes with at most {k} rows use fewer than n_neighbors={k} neighbours: {small}."


# ---- Estimates of mutual information in nats: by shares of values, and by distances to nearest neighbours

Codes = npt.NDArray[np.signedinteger[Any]]
# Entries handled together: sorting and gathering stay within the cache of a core.
TOGETHER = 1 << 16
NOISE = 1e-10
MEMORY_SHARE = 4  # the noise of sparse columns may take a quarter of the memory limit, as dense columns would
# Offsets beyond this many standard deviations are subtracted, or the noise, which is relative to the mean
# magnitude, would be larger than what it is to decide.
FAR = 100.0


def information(
    X: Any,
    y: npt.NDArray[Any],
    *,
    classes: bool,
    discrete: npt.NDArray[np.bool_],
    k: int,
    stream: np.random.RandomState,
    most: int | None,
) -> FloatArray:
    """Return the estimates for every column with the label, in nats.

    Parameters
    ----------
    X : ndarray or CSC matrix of shape (n, d)
    y : ndarray of shape (n,)
        Codes from 0 of classes, or numbers.
    classes : bool
        Whether ``y`` is codes.
    discrete : ndarray of bool of shape (d,)
        The discrete columns.
    k : int
        Neighbours.
    stream : RandomState
        For noise.
    most : int or None
        Largest number of threads.

    Returns
    -------
    ndarray of shape (d,)
        Estimates by neighbours may be negative. Constant columns have 0.
    """
    n, d = X.shape
    result = np.zeros(d)
    continuous = np.flatnonzero(~discrete)
    # In the order in which scikit-learn draws, so that equal values are told apart as there.
    chunks = slices(len(continuous), max(1, TOGETHER // n))
    apart = sparse.issparse(X) and 8 * n * len(continuous) > memory_limit_bytes(None) // MEMORY_SHARE
    noise = _noise(n, chunks, stream, apart)
    label = y if classes else noisy(y[None, :], stream.standard_normal((1, n)))[0]
    kept, codes, sizes = _without_single(y) if classes else (slice(None), y, [])
    ascending = np.sort(label)

    def of_some(chunk: slice) -> None:
        columns = continuous[chunk]
        values = dense(X[:, columns]).T.astype(np.float64, order="C")
        varied = noisy(values, noise(chunk).T)
        if classes:
            S, order = _sorted(varied[:, kept])
            result[columns] = ross(S, codes[order], sizes, k)
        else:
            result[columns] = [kraskov(x, label, ascending, k) for x in varied]
        result[columns[values.min(axis=1) == values.max(axis=1)]] = 0.0

    def of_one(column: int) -> None:
        values = codes_of(column_of(X, column))
        if values.max() == 0:
            return
        if classes:
            result[column] = plug_in(values, y)
            return
        several, inner, counts = _without_single(values)
        if counts:
            S, order = _sorted(label[None, several])
            result[column] = ross(S, inner[order], counts, k)[0]

    parallel_map(of_some, chunks, most=most)
    parallel_map(of_one, np.flatnonzero(discrete).tolist(), most=most)
    return result


def _noise(
    n: int, chunks: Sequence[slice], stream: np.random.RandomState, apart: bool
) -> Callable[[slice], FloatArray]:
    """Return what gives the noise of some columns, shape (n, b): cut from one table, or drawn apart."""
    if not apart:
        drawn = stream.standard_normal((n, chunks[-1].stop if chunks else 0))
        return lambda chunk: drawn[:, chunk]
    seeds = dict(
        zip((chunk.start for chunk in chunks), stream.randint(0, 2**31 - 1, len(chunks)), strict=True)
    )
    return lambda chunk: np.random.RandomState(seeds[chunk.start]).standard_normal(
        (n, chunk.stop - chunk.start)
    )


def _sorted(columns: FloatArray) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Return columns, one in each row, sorted, and their order."""
    order = np.argsort(columns, axis=1)
    return np.take_along_axis(columns, order, axis=1), order


def _without_single(codes: Codes) -> tuple[npt.NDArray[np.intp], Codes, list[int]]:
    """Return the rows of classes with at least two, new codes of them, and the sizes of the classes."""
    sizes = np.bincount(codes)
    kept = np.flatnonzero(sizes[codes] > 1)
    left = sizes[sizes > 1]
    # Of the smallest type: numpy sorts 8 and 16 bits by counting.
    return kept, codes_of(codes[kept]).astype(np.min_scalar_type(len(left))), left.tolist()


# --------------------------------------------------------- nearest neighbours


def ross(S: FloatArray, L: Codes, sizes: Sequence[int], k: int) -> FloatArray:
    """Return the mutual information of columns with a discrete variable, in nats, by nearest neighbours.

    ``psi(n) + <psi(k_i)> - <psi(n_i)> - <psi(m_i)>``, with n_i the size of the class of row i, k_i the
    smaller of k and n_i - 1, and m_i the number of rows nearer than the k_i-th neighbour in the own class,
    itself included. In one dimension all neighbours are found by sorting.

    Parameters
    ----------
    S : ndarray of shape (b, n)
        Columns, each sorted, ascending.
    L : ndarray of shape (b, n)
        Codes 0 .. c-1 of the classes in the order of ``S``.
    sizes : sequence of int
        Rows in each class, all at least 2; they sum to n.
    k : int
        Neighbours.

    Returns
    -------
    ndarray of shape (b,)
        May be negative, where there is little information.

    References
    ----------
    Ross (2014), Mutual information between discrete and continuous data sets, PLoS ONE 9(2), e87357.
    """
    n, table = S.shape[1], digamma_table(S.shape[1])
    # Stable, so that values stay ascending within a class.
    G = np.take_along_axis(S, np.argsort(L, axis=1, kind="stable"), axis=1)
    radius = np.full(S.shape, np.inf)
    start = 0
    for size in sizes:
        _neighbor_distances(G[:, start : start + size], min(k, size - 1), radius[:, start : start + size])
        start += size
    within = counts_within(S, G, np.nextafter(radius, 0.0))
    within_classes = sum(size * (table[min(k, size - 1)] - table[size]) for size in sizes) / n
    return np.asarray(table[n] + within_classes - table[within].mean(axis=1))


def _neighbor_distances(G: FloatArray, k: int, out: FloatArray) -> None:
    """Distance of every entry of sorted rows to its k-th neighbour: of all windows of k + 1 around it, the
    one with the nearest far end."""
    size = G.shape[1]
    low, high = G[:, : size - k], G[:, k:]
    for before in range(k + 1):
        here = slice(before, size - k + before)
        farther = np.maximum(G[:, here] - low, high - G[:, here])
        np.minimum(out[:, here], farther, out=out[:, here])


def counts_within(S: FloatArray, centers: FloatArray, radius: FloatArray) -> npt.NDArray[np.intp]:
    """Count the entries s of each sorted row of ``S`` with ``|s - center| <= radius``, in rounded arithmetic.

    Parameters
    ----------
    S, centers, radius : ndarray of shape (b, n)
        Every center is an entry of its row.
    """
    b, n = S.shape
    first, last = np.empty((b, n), dtype=np.intp), np.empty((b, n), dtype=np.intp)
    for row, values in enumerate(S):
        first[row] = np.searchsorted(values, centers[row] - radius[row], side="left")
        last[row] = np.searchsorted(values, centers[row] + radius[row], side="right")
    # center +- radius is rounded, and may pass an entry or stop before it: what counts is the rounded
    # difference, as the definition computes it.
    flat, base = S.ravel(), n * np.arange(b)[:, None]
    while (more := (last < n) & (flat[base + np.minimum(last, n - 1)] - centers <= radius)).any():
        last += more
    while (less := flat[base + last - 1] - centers > radius).any():
        last -= less
    while (more := (first > 0) & (centers - flat[base + np.maximum(first, 1) - 1] <= radius)).any():
        first -= more
    while (less := centers - flat[base + first] > radius).any():
        first += less
    return last - first


def kraskov(x: FloatArray, y: FloatArray, sorted_y: FloatArray, k: int) -> float:
    """Return the mutual information of two continuous variables, in nats, by nearest neighbours.

    ``psi(n) + psi(k) - <psi(n_x + 1) + psi(n_y + 1)>``, with n_x and n_y the numbers of other rows that are
    nearer in one variable than the k-th neighbour is in the larger of both distances.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
    sorted_y : ndarray of shape (n,)
        ``y`` in ascending order.
    k : int
        Neighbours, less than n.

    Returns
    -------
    float
        May be negative, where there is little information.

    References
    ----------
    Kraskov, Stoegbauer, Grassberger (2004), Estimating mutual information, Physical Review E 69, 066138,
    algorithm 1 (equation 8).
    """
    points, table = np.column_stack([x, y]), digamma_table(len(x))
    tree = cKDTree(points, compact_nodes=False, balanced_tree=False)
    # The nearest point is the row itself, or one at the same place.
    distance = tree.query(points, k=[k + 1], p=np.inf)[0][:, 0]
    radius = np.nextafter(distance, 0.0)[None, :]
    n_x = counts_within(np.sort(x)[None, :], x[None, :], radius)
    n_y = counts_within(sorted_y[None, :], y[None, :], radius)
    return float(table[len(x)] + table[k] - table[n_x].mean() - table[n_y].mean())


@lru_cache(maxsize=64)
def digamma_table(n: int) -> FloatArray:
    """Return the digamma function of 0 .. n; minus infinity at 0."""
    return np.asarray(digamma(np.arange(n + 1, dtype=np.float64)))


# ------------------------------------------------------------ shares of values


def codes_of(values: npt.NDArray[Any]) -> Codes:
    """Return codes 0, 1, ... of the distinct values, in their order.

    Examples
    --------
    >>> codes_of(np.array([2.5, 0.0, 2.5]))
    array([1, 0, 1])
    """
    return np.asarray(np.unique(values, return_inverse=True)[1].reshape(-1))


def entropy(codes: Codes) -> float:
    """Return ``- sum f(y) ln f(y)`` with f the shares of the codes, in nats.

    Examples
    --------
    >>> round(entropy(np.array([0, 1, 0, 1])), 6)
    0.693147
    """
    return float(stats.entropy(np.bincount(codes)))


def plug_in(x: Codes, y: Codes) -> float:
    """Return ``sum f(x, y) ln(f(x, y) / (f(x) f(y)))`` with f the shares of the rows, in nats.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        Codes from 0.

    Examples
    --------
    >>> round(plug_in(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])), 6)
    0.693147
    """
    n = len(x)
    pairs = x.astype(np.int64) * (int(y.max()) + 1) + y
    # Only the pairs that occur: two variables of many values have mostly empty tables.
    distinct, counts = np.unique(pairs, return_counts=True)
    of_x, of_y = np.bincount(x), np.bincount(y)
    a, b = np.divmod(distinct, int(y.max()) + 1)
    together = counts / n
    ratio = counts * n / (of_x[a].astype(np.float64) * of_y[b])
    return float(together @ np.log(ratio))


# ------------------------------------------------------------- noise for ties


def random_stream(random_state: Any) -> np.random.RandomState:
    """Return the generator whose stream scikit-learn's estimators would draw from."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**32, size=4))
    state: np.random.RandomState = check_random_state(random_state)
    return state


def noisy(columns: FloatArray, noise: FloatArray) -> FloatArray:
    """Return columns with unit standard deviation and noise of 1e-10 of their mean magnitude, or of 1.

    Parameters
    ----------
    columns, noise : ndarray of shape (b, n)
        One column in each row.
    """
    scaled = unit_scale(columns)
    scaled += NOISE * np.maximum(1.0, np.abs(scaled).mean(axis=1))[:, None] * noise
    return np.asarray(scaled)


def unit_scale(columns: FloatArray) -> FloatArray:
    """Return columns divided by their standard deviations; a constant one becomes zero.

    A column whose mean is beyond 100 standard deviations is centred.

    Parameters
    ----------
    columns : ndarray of shape (b, n)
        One column in each row.

    Examples
    --------
    >>> unit_scale(np.array([[-1e90, 1e90], [5.0, 5.0]]))
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    scaled = np.array(columns)
    mean, spread = scaled.mean(axis=1), scaled.std(axis=1)
    far = np.abs(mean) > FAR * spread
    if far.any():
        scaled[far] -= mean[far, None]
        spread[far] = scaled[far].std(axis=1)
    constant = (columns.min(axis=1) == columns.max(axis=1)) | (spread == 0)
    scaled[constant] = 0.0
    scaled /= np.where(constant, 1.0, spread)[:, None]
    return np.asarray(scaled)
