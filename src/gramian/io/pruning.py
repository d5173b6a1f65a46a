"""Variants in linkage disequilibrium: of each pair in a window one is left out, in the order of PLINK."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import blas_threads
from gramian.checks import counted, slices
from gramian.data.table import Table
from gramian.errors import DataError, InputTypeError, ParameterError, option
from gramian.io.spool import columns_taken
from gramian.progress import track

EPSILON = 2.0**-44  # of PLINK: what is nearer counts as equal
BLOCK = 64  # variants whose products are formed at a time, where the window is no wider
WORKED = 1 << 28  # bytes of the genotypes of a block and of its neighbours

IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Windows:
    """Windows of neighbouring variants, and how much two variants in one may have in common.

    Attributes
    ----------
    size : int
        Number of variants, or thousands of base pairs.
    by_distance : bool
        Whether size is a distance.
    step : int
        Variants from the start of a window to that of the next one.
    r2 : float
        Largest squared correlation of two variants in one window.
    """

    size: int
    by_distance: bool
    step: int
    r2: float

    @classmethod
    def of(cls, asked: Any) -> Windows:
        """Return the windows of ``"50,5,0.2"``, ``"200kb,0.2"``, or of a sequence of the same.

        Raises
        ------
        ParameterError, InputTypeError

        Examples
        --------
        >>> Windows.of((50, 5, 0.2))
        Windows(size=50, by_distance=False, step=5, r2=0.2)
        >>> str(Windows.of("200kb,0.2"))
        '200kb,1,0.2'
        """
        how = f"As for --indep-pairwise of PLINK: {option('prune', '50,5,0.2', '200kb,0.2')}."
        if not isinstance(asked, str | list | tuple):
            raise InputTypeError(f"{option('prune')} is a {type(asked).__name__}.", how)
        parts = asked.split(",") if isinstance(asked, str) else list(map(str, asked))
        size = re.fullmatch(r"\s*(\d{1,9})\s*(kb)?\s*", parts[0], re.ASCII | re.IGNORECASE)
        try:
            step = int(parts[1]) if len(parts) == 3 else 1
            r2 = float(parts[-1])
        except ValueError:
            step, r2 = 0, -1.0
        if size is None or len(parts) not in (2, 3) or step < 1 or not 0 <= r2 < 1:
            raise ParameterError("prune", asked, "is not a window, a step and an r2 in [0, 1)", how)
        width, far = int(size[1]), size[2] is not None
        if width < 1 + (not far) or step > (1 if far else width):
            least = "a step of 1" if far else "a window of at least 2 variants and a step of at most that"
            raise ParameterError("prune", asked, f"needs {least}", how)
        return cls(width, far, step, r2)

    def __str__(self) -> str:
        return f"{self.size}{'kb' if self.by_distance else ''},{self.step},{self.r2:g}"

    def ends(self, positions: IndexArray) -> IndexArray:
        """Return the end of the last window that each variant of a chromosome is in.

        Parameters
        ----------
        positions : ndarray of int, shape (m,)
            They rise.
        """
        places = np.arange(len(positions))
        if self.by_distance:
            return np.asarray(np.searchsorted(positions, positions + 1000 * self.size, side="right"))
        ends: IndexArray = np.minimum(places - places % self.step + self.size, len(positions))
        return ends


def pruned(table: Table, windows: Windows) -> Table:
    """Return genotypes without variants that a neighbour predicts, as ``plink2 --indep-pairwise`` keeps them.

    Only founders count. Variants without a chromosome, of the sex chromosomes and of mitochondria are left
    out, and so are constant ones.

    Parameters
    ----------
    table : Table
        Of which ``genome`` is known; NaN stands for a missing call.
    windows : Windows

    Raises
    ------
    DataError
        If no variant is left, positions do not rise, or there are fewer than two founders.

    References
    ----------
    Chang et al. (2015), Second-generation PLINK: rising to the challenge of larger and richer datasets.
    """
    genome, names = table.genome, table.feature_names or ()
    assert genome is not None
    places = np.array([genome.places[name] for name in names], dtype=np.intp)
    autosomes = genome.autosomal[places]
    numbers = range(len(table.values)) if table.row_numbers is None else table.row_numbers
    founders = np.flatnonzero(genome.founders[np.asarray(numbers, dtype=np.intp)])
    if len(founders) < 2 or not autosomes.any():
        what = (
            f"{len(founders)} of its individuals are founders, without parents in the .fam file"
            if len(founders) < 2
            else "no variant has a chromosome other than 0, X, Y and MT"
        )
        raise DataError(
            f"{table.source} cannot be pruned: {what}.", f"Leave out {option('prune')}, or complete the file."
        )
    # In the order of the file, whatever was asked for.
    columns = np.flatnonzero(autosomes)[np.argsort(places[autosomes], kind="stable")]
    keep = np.zeros(len(names), dtype=bool)
    labels = genome.chromosomes[places[columns]]
    starts = [0, *(np.flatnonzero(labels[1:] != labels[:-1]) + 1).tolist(), len(labels)]
    for start, stop in pairwise(starts):
        some = columns[start:stop]
        positions = genome.positions[places[some]]
        if windows.by_distance and (np.diff(positions) < 0).any():
            raise DataError(
                f"{table.source}: the positions of chromosome {labels[start]} do not rise, so windows of a "
                "distance are not defined.",
                "Sort the variants (plink2 --make-pgen --sort-vars), or use windows of a number of variants.",
            )
        ends = windows.ends(positions)
        with blas_threads():  # one: products are so small that a second thread only waits
            keep[some[_independent(table.values, founders, some, ends, windows)]] = True
    if not keep.any():
        raise DataError(f"{table.source} cannot be pruned: all variants are constant.", "Use other data.")
    left, aside = int(keep.sum()), len(names) - len(columns)
    note = (
        f"{counted(left, 'variant was', 'variants were')} kept of {len(names):,}, by r2 <= {windows.r2:g} in "
    )
    note += f"windows of {windows.size:,} {'kb' if windows.by_distance else 'variants'}"
    note += f" (plink2 --indep-pairwise {str(windows).replace(',', ' ')})"
    if aside:
        note += f"; {aside:,} on no autosome were left out"
    if len(founders) < len(table.values):
        note += f"; r2 is that of {counted(len(founders), 'founder')}"
    taken = np.flatnonzero(keep).tolist()
    return replace(
        table,
        values=columns_taken(table.values, taken),
        feature_names=tuple(names[place] for place in taken),
        notes=(*table.notes, note),
    )


def _independent(
    values: Any, founders: IndexArray, columns: IndexArray, ends: IndexArray, windows: Windows
) -> npt.NDArray[np.bool_]:
    """Return which variants of a chromosome are kept.

    In each window the first variant is compared with the others in order, then the next one, and so on: of
    a pair beyond r2 the one with the lower minor allele frequency is left out, the second of equal ones, and
    the next variant follows. Windows are gone through until no pair is left.
    """
    m = len(columns)
    frequencies, kept = np.zeros(m), np.zeros(m, dtype=bool)
    later: list[list[int]] = [[] for _ in range(m)]
    earlier: list[list[int]] = [[] for _ in range(m)]
    for start, frequency, varies, pairs in _linked(values, founders, columns, ends, windows.r2):
        here = slice(start, start + len(frequency))
        frequencies[here], kept[here] = frequency, varies
        for i, j in pairs.tolist():
            later[i].append(j)
            earlier[j].append(i)
    alive, rarer = kept.tolist(), np.minimum(frequencies, 1 - frequencies).tolist()
    loaded = 0
    for start in range(0, m, windows.step):
        end = int(ends[start])
        new, loaded = range(loaded, max(loaded, end)), max(loaded, end)
        firsts = sorted({i for j in new if alive[j] for i in earlier[j] if i >= start and alive[i]})
        changed = bool(firsts)
        while changed:
            changed = False
            for i in firsts:
                if not alive[i]:
                    continue
                j = next((one for one in later[i] if one < end and alive[one]), None)
                if j is not None:
                    changed = True
                    alive[i if rarer[i] < (1 - EPSILON) * rarer[j] else j] = False
    return np.array(alive, dtype=bool)


def _linked(
    values: Any, founders: IndexArray, columns: IndexArray, ends: IndexArray, r2: float
) -> Iterator[tuple[int, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]]:
    """Yield a few variants at a time: the first, frequencies, whether they vary, and pairs (i, j) beyond r2.

    Calls are coded -1, 0 and 1, so that sums of products are integers and exact, and so is each comparison.
    """
    m, n = len(columns), len(founders)
    widest = int(np.max(ends - np.arange(m)))
    step = max(1, min(m, max(BLOCK, widest), WORKED // (8 * n) - widest))
    for part in track(slices(m, step), "part of the variants"):
        stop = int(ends[part.stop - 1])
        X, M = _coded(values, founders, columns[part.start : stop])
        here = part.stop - part.start
        A, B, of_A, of_B = X[:, :here], X, M[:, :here], M
        whole = bool(M.all())
        counts = M.sum(axis=0, dtype=np.float64)[:here]
        sums, squares = A.sum(axis=0, dtype=np.float64), np.square(A).sum(axis=0, dtype=np.float64)
        # All calls the same, also all of them heterozygous, or none.
        varies = squares * counts > sums * sums
        frequency = np.divide(counts + sums, 2 * counts, out=np.zeros(here), where=counts > 0)
        products = (A.T @ B).astype(np.float64)
        if whole:
            total: Any = float(n)
            first, second = sums[:, None], X.sum(axis=0, dtype=np.float64)[None, :]
            first2, second2 = squares[:, None], np.square(X).sum(axis=0, dtype=np.float64)[None, :]
        else:  # over the calls that both have
            total = (of_A.T @ of_B).astype(np.float64)
            first, second = (A.T @ of_B).astype(np.float64), (of_A.T @ B).astype(np.float64)
            first2 = (np.square(A).T @ of_B).astype(np.float64)
            second2 = (of_A.T @ np.square(B)).astype(np.float64)
        common = products * total - first * second
        bound = r2 * (1 + EPSILON) * (first2 * total - first * first) * (second2 * total - second * second)
        places = np.arange(part.start, stop)
        window = (places > places[:here, None]) & (places < ends[part, None])
        pairs = np.argwhere((common * common > bound) & window) + part.start
        yield part.start, frequency, varies, pairs


def _coded(
    values: Any, founders: IndexArray, columns: IndexArray
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return calls as -1, 0, 1, with 0 for missing ones, and whether they are there, of some variants."""
    first, last = int(columns.min()), int(columns.max()) + 1
    some = values[:, first:last][:, columns - first] if last - first <= 2 * len(columns) else None
    if some is None:
        some = np.stack([values[:, place : place + 1][:, 0] for place in columns.tolist()], axis=1)
    if len(founders) < len(some):
        some = some[founders]
    there = ~np.isnan(some)
    coded = np.where(there, some - 1, 0).astype(np.float32)
    return coded, there.astype(np.float32)
