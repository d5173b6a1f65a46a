"""A label, and its permutations, compared with columns: which estimate goes with which kinds of variable."""

from __future__ import annotations

from itertools import chain
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gramian.arrays import parallel_map
from gramian.records import FloatArray
from gramian.selection.neighbor_information import digamma_table, kraskov, ross
from gramian.selection.plug_in import codes_of, plug_in
from gramian.selection.tie_breaking import noise_blocks, noisy

__all__ = ["information"]

Codes = npt.NDArray[np.signedinteger[Any]]
# Entries handled together: sorting and gathering stay within the cache of a core.
TOGETHER = 1 << 16


def information(
    X: npt.NDArray[Any],
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
    X : ndarray of shape (n, d)
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
    found = np.zeros((1 + permutations, d))
    continuous = np.flatnonzero(~discrete)
    blocks = noise_blocks(stream, n, len(continuous)) if len(continuous) else iter(())
    first = next(blocks, None)
    # After the noise of the columns, in the order in which scikit-learn draws.
    label = y if classes else noisy(y[None, :], stream.standard_normal((1, n)))[0]
    shuffle = np.random.default_rng(stream.randint(0, 2**31 - 1, size=4))
    target: _Target = (_Classes if classes else _Numbers)(label, permutations, k, shuffle)

    def of_some(job: tuple[npt.NDArray[np.intp], FloatArray]) -> None:
        places, noise = job
        values = X[:, places].T.astype(np.float64, order="C")
        found[:, places] = target.with_continuous(noisy(values, noise))
        found[:, places[values.min(axis=1) == values.max(axis=1)]] = 0.0

    def of_one(place: int) -> None:
        codes = codes_of(X[:, place])
        found[:, place] = target.with_discrete(codes) if codes.max() > 0 else 0.0

    together = max(1, TOGETHER // n)
    for columns, noise in chain([] if first is None else [first], blocks):
        places = continuous[columns]
        parts = [slice(start, start + together) for start in range(0, len(places), together)]
        parallel_map(of_some, [(places[part], noise[part]) for part in parts], most=most)
    parallel_map(of_one, np.flatnonzero(discrete).tolist(), most=most)
    return found


class _Target(Protocol):
    """A label and its permutations, to be compared with columns: estimates of shape (labels, columns)."""

    def with_continuous(self, columns: FloatArray) -> FloatArray: ...

    def with_discrete(self, codes: Codes) -> FloatArray: ...


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
