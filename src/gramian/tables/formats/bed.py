"""Genotypes of PLINK: .bed with .bim and .fam; variants are columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.checks import counted, slices
from gramian.core.progress import track
from gramian.errors import DataError, needs
from gramian.tables.rows import Holes
from gramian.tables.source import ArraySource, Header, Opened, damage, require, require_room
from gramian.tables.stored import FileRows, Spool, StoredRows
from gramian.tables.table import Genome, repeated_note, unique_names

BAND_BYTES = 64 << 20
NOTHING = dict.fromkeys(("sid", "iid"))  # that bed-reader is to read of the files beside a .bed file
UNKNOWN = "0"  # as PLINK writes an allele that it does not know


@dataclass(frozen=True, eq=False, kw_only=True)
class Genotypes(StoredRows):
    """Allele counts that were copied to a temporary file, with NaN for missing calls.

    Attributes
    ----------
    counts : FileRows of shape (n * d, 1)
        As int8, negative where missing; bands of ``width`` variants, each with all individuals one by one, so
        that a few of either are near each other.
    shape : (n, d)
    width : int
    calls : Holes
        Where calls are missing.
    means : ndarray of shape (d,)
        Of the other calls.
    fill : ndarray of shape (d,)
        What stands for a missing call.
    """

    counts: FileRows
    width: int
    calls: Holes
    means: npt.NDArray[Any]
    fill: npt.NDArray[np.float32]
    shape: tuple[int, int] = (0, 0)
    cuts_columns: bool = True

    def read(self, rows: slice, columns: slice) -> npt.NDArray[np.float32]:
        (n, d), left, right = self.shape, columns.start, columns.stop
        out = np.empty((rows.stop - rows.start, right - left), dtype=np.int8)
        for first in range(left - left % self.width, right, self.width):
            width = min(self.width, d - first)
            batch = self.counts[first * n + rows.start * width : first * n + rows.stop * width]
            some = slice(max(left, first), min(right, first + width))
            band = batch.reshape(-1, width)[:, some.start - first : some.stop - first]
            out[:, some.start - left : some.stop - left] = band
        return np.where(out < 0, self.fill[columns], out.astype(np.float32))

    def filled(self, means: npt.NDArray[Any]) -> Genotypes:
        return replace(self, fill=means.astype(np.float32), finite=True)


def open_bed(opened: Opened, key: str | None) -> ArraySource:
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
    bed, lines, people = _opened_bed(opened)
    variants = [(line[0], line[-3], line[1], line[-2], line[-1]) for line in lines]
    note, source = "values count allele 1 (A1, the fifth column of the .bim file)", opened.name
    opened.is_whole = False
    shape = len(people), len(variants)
    require(Header(shape, np.dtype(np.int8), bed.read), source)
    chromosomes, positions, ids, ones, others = zip(*variants, strict=True)
    # "." is no name: such a variant is known by its place.
    loci = zip(chromosomes, positions, ids, strict=True)
    names, repeated = unique_names([f"{a}:{b}" if name == "." else name for a, b, name in loci])
    called = (["" if allele in (UNKNOWN, ".") else allele for allele in every] for every in (ones, others))
    alleles = dict(zip(names, zip(*called, strict=True), strict=True))
    of_one_name = len({line[1] for line in people}) < len(people)
    named = [f"{line[0]}:{line[1]}" if of_one_name else line[1] for line in people]
    notes = (note, *repeated_note(repeated), *["people are named FID:IID: an IID is repeated"] * of_one_name)
    genome = Genome(names, np.array(chromosomes))

    def read(rows: range | None = None, columns: Sequence[int] | None = None) -> npt.NDArray[Any]:
        rows = range(shape[0]) if rows is None else rows
        columns = range(shape[1]) if columns is None else columns
        require_room(Header((len(rows), len(columns)), np.dtype(np.float32), bed.read), source)
        index = (slice(rows.start, rows.stop, rows.step), list(columns))
        return np.asarray(bed.read(index=index, dtype="float32", order="C"))

    return ArraySource(
        source,
        shape,
        np.dtype(np.int8),
        read,
        lazy=partial(_copy, bed, opened),
        columns=names,
        row_names=tuple(named),
        by_columns=True,
        alleles=alleles,
        genome=genome,
        notes=notes,
    )


def _copy(bed: Any, opened: Opened, limit: int, rows: range, columns: Sequence[int]) -> Genotypes:
    """Copy some genotypes to a temporary file.

    Raises
    ------
    FileError
        Where the disk is full.
    """
    n, d = len(rows), len(columns)
    width = max(1, min(d, min(BAND_BYTES, limit // 16) // n))
    spool = Spool(opened.name, n * d)
    of_row, of_column, sums = (np.zeros(length, dtype=np.int64) for length in (n, d, d))
    for chunk in track(slices(d, width), "part of the variants"):
        index = slice(rows.start, rows.stop, rows.step), list(columns[chunk])
        values = bed.read(index=index, dtype="int8", order="C")
        spool.append(values.reshape(-1, 1))
        missing = values < 0
        of_row += missing.sum(axis=1)
        of_column[chunk] = missing.sum(axis=0)
        sums[chunk] = np.sum(values, axis=0, where=~missing, dtype=np.int64)
    means = sums / np.maximum(n - of_column, 1)
    counts, calls = spool.rows(), Holes.of_counts(of_row, of_column)
    finite, fill = None if calls.by_row else True, np.full(d, np.nan, dtype=np.float32)
    more = {"dtype": fill.dtype, "source": counts.source, "note": counts.note, "finite": finite}
    return Genotypes(counts=counts, shape=(n, d), width=width, calls=calls, means=means, fill=fill, **more)


def _opened_bed(opened: Opened) -> tuple[Any, list[list[str]], list[list[str]]]:
    """Return the open file, and the columns of its .bim and .fam files."""
    path, source = opened.path or Path(), opened.name
    with needs("genetics", "bed-reader", "reading PLINK's .bed files"):
        from bed_reader import open_bed
    variants = _lines_of(path.with_suffix(".bim"))
    people = _lines_of(path.with_suffix(".fam"))
    size, (n, d) = path.stat().st_size, (len(people), len(variants))
    if size != _bytes(n, d):
        swapped = " Are the .bim and the .fam file swapped?" if size == _bytes(d, n) else ""
        lines = f"the {counted(n, 'line')} of its .fam file and the {counted(d, 'line')} of its .bim file"
        why = f"{source} has {size:,} bytes, but {lines} need {_bytes(n, d):,}.{swapped}"
        raise DataError(why, "Copy all three again.")
    with damage(source):  # names are read here, since bed-reader takes tabs only
        # Two threads of bed-reader write to the same lines of the cache, and take as long as one.
        bed = open_bed(path, iid_count=n, sid_count=d, properties=NOTHING, num_threads=1)
        opened.enter_context(bed)
        return bed, variants, people


def _bytes(n: int, d: int) -> int:
    """Return the size of a .bed file of n individuals and d variants."""
    return 3 + d * -(-n // 4)


def _lines_of(path: Path) -> list[list[str]]:
    """Return the columns of each line of a .bim or .fam file.

    bed-reader takes tabs between those of a .bim file only, and PLINK writes and reads spaces too.

    Raises
    ------
    DataError, FileError
    """
    with damage(str(path)), path.open(encoding="utf-8") as file:
        lines = [line.split() for line in file]
    for number, line in enumerate(lines, 1):
        if 0 < len(line) < 5:
            why = f"{path}, line {number}: {counted(len(line), 'column')} where 6 are needed."
            raise DataError(why, "Copy it again, together with the .bed file.")
    return list(filter(None, lines))
