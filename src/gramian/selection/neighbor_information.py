"""Mutual information from distances to nearest neighbours, for sorted columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.special import digamma

from gramian.records import FloatArray

__all__ = ["counts_within", "digamma_table", "kraskov", "ross"]

Codes = npt.NDArray[np.signedinteger[Any]]


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
