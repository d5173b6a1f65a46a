"""Genotypes of PLINK 1: a .bed file with its .bim and .fam; individuals are rows, variants columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import NAMES_SHOWN, counted, listed, slices
from gramian.errors import DataError, FileError, needs
from gramian.progress import track
from gramian.rows.archives import Header, damage, require, require_room
from gramian.rows.lazy.array import LazyArray
from gramian.rows.lazy.spool import Spool
from gramian.rows.lazy.stored import StoredArray
from gramian.rows.opened import Opened
from gramian.rows.source import ArraySource
from gramian.rows.table import Choice, repeated_note, unique_names

BAND_BYTES = 64 << 20
UNKNOWN = "0"  # as PLINK writes an allele that it does not know


class Genotypes(LazyArray):
    """Allele counts that were copied to a temporary file, with means in place of missing calls.

    Attributes
    ----------
    counts : StoredArray of shape (n * d, 1)
        As int8, negative where missing; bands of ``width`` variants, each with all individuals one by one, so
        that a few of either are near each other.
    shape : (n, d)
    width : int
    means : ndarray of float32, shape (d,)
    """

    dtype = np.dtype(np.float32)
    reads_columns = True

    def __init__(
        self, counts: StoredArray, shape: tuple[int, int], width: int, means: npt.NDArray[Any]
    ) -> None:
        self.counts, self.shape, self.width, self.source = counts, shape, width, counts.source
        self.means = means.astype(np.float32)
        self.missing_values = 0
        self.finite = True if np.isfinite(self.means).all() else None

    def __getitem__(self, key: Any) -> npt.NDArray[np.float32]:
        """Return a new array of rows, or of (rows, columns), of slices with a step of 1."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        (n, d), (top, bottom, _) = self.shape, rows.indices(self.shape[0])
        left, right, _ = columns.indices(d)
        out = np.empty((bottom - top, right - left), dtype=np.int8)
        for first in range(left - left % self.width, right, self.width):
            width = min(self.width, d - first)
            batch = self.counts[first * n + top * width : first * n + bottom * width].reshape(-1, width)
            some = slice(max(left, first), min(right, first + width))
            out[:, some.start - left : some.stop - left] = batch[:, some.start - first : some.stop - first]
        return np.where(out < 0, self.means[columns], out.astype(np.float32))

    def unfilled(self) -> Genotypes:
        """Return the same counts with NaN for missing calls."""
        return Genotypes(self.counts, self.shape, self.width, np.full(self.shape[1], np.nan))


def open(opened: Opened, key: str | None) -> ArraySource:
    """Return genotypes as counts of allele 1 in float32, with NaN for missing calls.

    A .bed file holds variant after variant, so that a few individuals take as long as all of them: a large
    one is copied to a temporary file in which rows are at hand too.

    Raises
    ------
    FileError
        If one of the three files is missing, damaged, or of another kind.
    MissingExtraError
        If bed-reader is not installed.
    """
    bed, source = _opened_bed(opened), opened.name
    opened.is_whole = False
    with damage(source):
        shape = (int(bed.iid_count), int(bed.sid_count))
        require(Header(shape, np.dtype(np.int8), bed.read), source)
        names, repeated = unique_names([str(name) for name in bed.sid])
        alleles, others = (
            {name: str(one) for name, one in zip(names, known, strict=True) if one != UNKNOWN}
            for known in (bed.allele_1, bed.allele_2)
        )

    def read(rows: range | None = None, columns: Sequence[int] | None = None) -> npt.NDArray[Any]:
        rows, columns = (
            range(shape[0]) if rows is None else rows,
            range(shape[1]) if columns is None else columns,
        )
        require_room(Header((len(rows), len(columns)), np.dtype(np.float32), bed.read), source)
        index = (slice(rows.start, rows.stop, rows.step), list(columns))
        return np.asarray(bed.read(index=index, dtype="float32"))

    return ArraySource(
        source,
        shape,
        np.dtype(np.int8),
        read,
        copy=partial(_copy, bed, opened, names),
        columns=names,
        row_names=tuple(str(name) for name in bed.iid),
        by_columns=True,
        fills_missing=True,
        alleles=alleles,
        other_alleles=others,
        notes=("values count allele 1 (A1, the fifth column of the .bim file)", *repeated_note(repeated)),
    )


def _copy(
    bed: Any,
    opened: Opened,
    names: tuple[str, ...],
    choice: Choice,
    rows: range,
    columns: Sequence[int],
    limit: int,
) -> tuple[Genotypes, tuple[str, ...], npt.NDArray[Any] | None]:
    """Copy some genotypes to a temporary file.

    Raises
    ------
    FileError
        Where the disk is full.
    DataError
        For a variant without any call.
    """
    names, n, d = tuple(names[place] for place in columns), len(rows), len(columns)
    index = slice(rows.start, rows.stop, rows.step)
    width = max(1, min(d, min(BAND_BYTES, limit // 16) // n))
    spool = Spool(opened.name, n * d, sure=True, path=opened.path)
    means, missing = np.empty(d), np.empty(d, dtype=np.int64)
    for part in track(slices(d, width), "part of the variants"):
        values = bed.read(index=(index, list(columns[part])), dtype="int8", order="C")
        spool.append(values.reshape(-1, 1))
        there = values >= 0
        missing[part] = n - there.sum(axis=0)
        with np.errstate(invalid="ignore"):
            means[part] = np.sum(values, axis=0, where=there, dtype=np.int64) / (n - missing[part])
    what = "column means"
    if choice.means is not None and choice.needed is not None:
        known = dict(zip(choice.needed, choice.means, strict=True))
        means = np.array([known.get(name, mean) for name, mean in zip(names, means, strict=True)])
        what = "the means of the fitted data"
    if choice.holes:
        means, what = np.where(missing > 0, np.nan, means), ""
    elif empty := [name for name, mean in zip(names, means.tolist(), strict=True) if math.isnan(mean)]:
        shown = listed(empty[:NAMES_SHOWN])
        raise DataError(
            f"{opened.name} has no genotype call for {shown}. Leave that out (drop=[...], --drop NAME)."
        )
    notes = [spool.note]
    if missing.any():
        filled = counted(int((missing > 0).sum()), "column")
        were = "was" if missing.sum() == 1 else "were"
        filling = f"filled with {what}" if what else "left to be mapped from the other columns"
        notes.append(f"{counted(int(missing.sum()), 'missing value')} in {filled} {were} {filling}")
    left = Genotypes(spool.stored(), (n, d), width, means)
    left.missing_values = 0 if choice.holes else int(missing.sum())
    return left, tuple(notes), None if choice.needed else means


def _opened_bed(opened: Opened) -> Any:
    path, source = opened.path or Path(), opened.name
    with needs("genetics", "bed-reader", "reading PLINK's .bed files"):
        from bed_reader import open_bed
    for suffix in (".bim", ".fam"):
        if not path.with_suffix(suffix).is_file():
            raise FileError(
                f"{source} needs {path.with_suffix(suffix).name} in the same folder, which is missing. "
                "Copy it there: it names the " + ("variants." if suffix == ".bim" else "individuals.")
            )
    # bed-reader takes tabs between the columns of a .bim file only, and PLINK writes and reads spaces too.
    variants = path.with_suffix(".bim")
    with damage(str(variants)), variants.open(encoding="utf-8") as file:
        lines = (line for line in map(str.split, file) if line)
        # "." is no name: such a variant is known by its place.
        named = ((f"{line[0]}:{line[-3]}" if line[1] == "." else line[1], *line[-2:]) for line in lines)
        names, ones, others = zip(*named, strict=True)
    known = {"sid": names, "allele_1": ones, "allele_2": others}
    with damage(source):
        return opened.enter_context(open_bed(path, properties=known))
