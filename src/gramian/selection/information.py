"""Estimates of mutual information in nats: by shares of values, and by distances to nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats
from scipy.spatial import cKDTree
from scipy.special import digamma
from sklearn.utils import check_random_state

from gramian.arrays import dense, memory_limit_bytes, parallel_map
from gramian.checks import slices
from gramian.records import FloatArray
from gramian.selection.labels import column_of

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
    permutations: int,
    stream: np.random.RandomState,
    most: int | None,
) -> FloatArray:
    """Return the estimates for every column with the label, and with each permutation of it, in nats.

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
    permutations : int
    stream : RandomState
        For noise and permutations.
    most : int or None
        Largest number of threads.

    Returns
    -------
    ndarray of shape (1 + permutations, d)
        First those of the label itself. Estimates by neighbours may be negative. Constant columns have 0.
    """
    n, d = X.shape
    result = np.zeros((1 + permutations, d))
    continuous = np.flatnonzero(~discrete)
    # In the order in which scikit-learn draws, so that equal values are told apart as there.
    parts = slices(len(continuous), max(1, TOGETHER // n))
    apart = sparse.issparse(X) and 8 * n * len(continuous) > memory_limit_bytes(None) // MEMORY_SHARE
    noise = _noise(n, parts, stream, apart)
    label = y if classes else noisy(y[None, :], stream.standard_normal((1, n)))[0]
    shuffle = np.random.default_rng(stream.randint(0, 2**31 - 1, size=4))
    target = (_Classes if classes else _Numbers)(label, permutations, k, shuffle)

    def of_some(part: slice) -> None:
        places = continuous[part]
        values = dense(X[:, places]).T.astype(np.float64, order="C")
        result[:, places] = target.with_continuous(noisy(values, noise(part).T))
        result[:, places[values.min(axis=1) == values.max(axis=1)]] = 0.0

    def of_one(place: int) -> None:
        codes = codes_of(column_of(X, place))
        result[:, place] = target.with_discrete(codes) if codes.max() > 0 else 0.0

    parallel_map(of_some, parts, most=most)
    parallel_map(of_one, np.flatnonzero(discrete).tolist(), most=most)
    return result


def _noise(
    n: int, parts: Sequence[slice], stream: np.random.RandomState, apart: bool
) -> Callable[[slice], FloatArray]:
    """Return what gives the noise of some columns, shape (n, b): cut from one table, or drawn apart."""
    if not apart:
        drawn = stream.standard_normal((n, parts[-1].stop if parts else 0))
        return lambda part: drawn[:, part]
    seeds = dict(zip((part.start for part in parts), stream.randint(0, 2**31 - 1, len(parts)), strict=True))
    return lambda part: np.random.RandomState(seeds[part.start]).standard_normal((n, part.stop - part.start))


def _permuted(label: npt.NDArray[Any], permutations: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Return the label and permutations of it as rows."""
    return np.vstack([label, *(rng.permutation(label) for _ in range(permutations))])


class _Classes:
    """Codes of classes."""

    def __init__(self, codes: Codes, permutations: int, k: int, rng: np.random.Generator) -> None:
        self.k = k
        self.labels = _permuted(codes, permutations, rng)
        # A class of one row has no neighbour in it.
        self.kept, inner, self.sizes = _without_single(codes)
        self.inner = _permuted(inner, permutations, rng)
        self.table = digamma_table(len(self.kept))

    def with_continuous(self, columns: FloatArray) -> FloatArray:
        kept = columns[:, self.kept]
        order = np.argsort(kept, axis=1)
        S = np.take_along_axis(kept, order, axis=1)
        return np.array([ross(S, codes[order], self.sizes, self.k, self.table) for codes in self.inner])

    def with_discrete(self, codes: Codes) -> FloatArray:
        return np.array([plug_in(codes, label) for label in self.labels])


class _Numbers:
    """Values of a continuous label."""

    def __init__(self, values: FloatArray, permutations: int, k: int, rng: np.random.Generator) -> None:
        self.k = k
        self.labels = _permuted(values, permutations, rng)
        self.sorted = np.sort(values)
        self.table = digamma_table(len(values))

    def with_continuous(self, columns: FloatArray) -> FloatArray:
        estimates = [kraskov(x, y, self.sorted, self.k, self.table) for y in self.labels for x in columns]
        return np.array(estimates).reshape(len(self.labels), len(columns))

    def with_discrete(self, codes: Codes) -> FloatArray:
        kept, inner, sizes = _without_single(codes)
        if not sizes:
            return np.zeros(len(self.labels))
        table = digamma_table(len(kept))
        order = np.argsort(self.labels[:, kept], axis=1)
        S = np.take_along_axis(self.labels[:, kept], order, axis=1)
        return np.concatenate(
            [ross(s[None, :], inner[o][None, :], sizes, self.k, table) for s, o in zip(S, order, strict=True)]
        )


def _without_single(codes: Codes) -> tuple[npt.NDArray[np.intp], Codes, list[int]]:
    """Return the rows of classes with at least two, new codes of them, and the sizes of the classes."""
    sizes = np.bincount(codes)
    kept = np.flatnonzero(sizes[codes] > 1)
    left = sizes[sizes > 1]
    # Of the smallest type: numpy sorts 8 and 16 bits by counting.
    return kept, codes_of(codes[kept]).astype(np.min_scalar_type(len(left))), left.tolist()


# --------------------------------------------------------- nearest neighbours


def ross(S: FloatArray, L: Codes, sizes: Sequence[int], k: int, table: FloatArray) -> FloatArray:
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
    table : ndarray of shape (n + 1,)
        The digamma function of 0 .. n.

    Returns
    -------
    ndarray of shape (b,)
        May be negative, where there is little information.

    References
    ----------
    Ross (2014), Mutual information between discrete and continuous data sets, PLoS ONE 9(2), e87357.
    """
    n = S.shape[1]
    # Stable, so that values stay ascending within a class.
    G = np.take_along_axis(S, np.argsort(L, axis=1, kind="stable"), axis=1)
    radius = np.full(S.shape, np.inf)
    start = 0
    for size in sizes:
        _neighbor_distances(G[:, start : start + size], min(k, size - 1), radius[:, start : start + size])
        start += size
    within = counts_within(S, G, np.nextafter(radius, 0.0))
    known = sum(size * (table[min(k, size - 1)] - table[size]) for size in sizes) / n
    return np.asarray(table[n] + known - table[within].mean(axis=1))


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


def kraskov(x: FloatArray, y: FloatArray, sorted_y: FloatArray, k: int, table: FloatArray) -> float:
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
    table : ndarray of shape (n + 1,)
        The digamma function of 0 .. n.

    Returns
    -------
    float
        May be negative, where there is little information.

    References
    ----------
    Kraskov, Stoegbauer, Grassberger (2004), Estimating mutual information, Physical Review E 69, 066138,
    algorithm 1 (equation 8).
    """
    points = np.column_stack([x, y])
    tree = cKDTree(points, compact_nodes=False, balanced_tree=False)
    # The nearest point is the row itself, or one at the same place.
    distance = tree.query(points, k=[k + 1], p=np.inf)[0][:, 0]
    radius = np.nextafter(distance, 0.0)[None, :]
    n_x = counts_within(np.sort(x)[None, :], x[None, :], radius)
    n_y = counts_within(sorted_y[None, :], y[None, :], radius)
    return float(table[len(x)] + table[k] - table[n_x].mean() - table[n_y].mean())


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


def plug_in_bias(x: Codes, y: Codes) -> float:
    """Return by how much the plug-in estimate is too high, to first order: ``(r - 1)(c - 1) / (2 n)``.

    For independent variables of r and c values.

    References
    ----------
    Miller (1955), Note on the bias of information estimates; Roulston (1999), Estimating the errors on
    measured entropy and mutual information, Physica D 125, equation 26.
    """
    return float(x.max()) * float(y.max()) / (2 * len(x))


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
    >>> unit_scale(np.array([[-1e200, 1e200], [5.0, 5.0]]))
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    # By a power of two first, which rounds nothing and lets the square of any value be held.
    largest = np.abs(columns).max(axis=1)
    scaled = np.ldexp(columns, -np.frexp(largest)[1][:, None])
    mean, spread = scaled.mean(axis=1), scaled.std(axis=1)
    far = np.abs(mean) > FAR * spread
    if far.any():
        scaled[far] -= mean[far, None]
        spread[far] = scaled[far].std(axis=1)
    constant = (columns.min(axis=1) == columns.max(axis=1)) | (spread == 0)
    scaled[constant] = 0.0
    scaled /= np.where(constant, 1.0, spread)[:, None]
    return np.asarray(scaled)
