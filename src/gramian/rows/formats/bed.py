"""Genotypes of PLINK 1: a .bed file with .bim and .fam beside it; individuals are rows, variants columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import NAMES_SHOWN, counted, listed, slices, told
from gramian.errors import DataError, FileError, ParameterError, needs
from gramian.rows.archives import Header, damage, require, require_room
from gramian.rows.kinds.array import bytes_of_rows
from gramian.rows.lazy.spool import Spool
from gramian.rows.lazy.stored import OnDisk, StoredArray, whole_within
from gramian.rows.table import Choice, Table, pick_columns, pick_rows, repeated_note, unique_names

BAND_BYTES = 64 << 20
UNKNOWN = "0"  # as PLINK writes an allele that it does not know


class Genotypes(OnDisk):
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
    finite = True

    def __init__(
        self, counts: StoredArray, shape: tuple[int, int], width: int, means: npt.NDArray[Any]
    ) -> None:
        self.counts, self.shape, self.width, self.source = counts, shape, width, counts.source
        self.means = means.astype(np.float32)

    def __getitem__(self, key: Any) -> npt.NDArray[np.float32]:
        """Return a new array of rows, or of (rows, columns), of slices with a step of 1."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        (n, d), (top, bottom, _) = self.shape, rows.indices(self.shape[0])
        left, right, _ = columns.indices(d)
        out = np.empty((bottom - top, right - left), dtype=np.int8)
        for first in range(left - left % self.width, right, self.width):
            width = min(self.width, d - first)
            band = self.counts[first * n + top * width : first * n + bottom * width].reshape(-1, width)
            some = slice(max(left, first), min(right, first + width))
            out[:, some.start - left : some.stop - left] = band[:, some.start - first : some.stop - first]
        return np.where(out < 0, self.means[columns], out.astype(np.float32))


def read_bed(path: Path, choice: Choice, source: str) -> Table:
    """Read genotypes as counts of allele 1 in float32, with NaN for missing calls.

    Raises
    ------
    FileError
        If one of the three files is missing, damaged, or of another kind.
    MemoryLimitError
        If they take more memory than may be used.
    MissingExtraError
        If bed-reader is not installed.
    """
    with _opened(path, source) as bed:
        picked = _Wanted(bed, choice, source)
        require_room(Header((len(picked.rows), len(picked.columns)), np.dtype(np.float32), bed.read), source)
        values = bed.read(index=(picked.index, picked.columns), dtype="float32")
        labels = None
        if picked.label is not None:
            labels = bed.read(index=(picked.index, [picked.label]), dtype="float32")[:, 0]
        return picked.table(values, labels)


def stored_bed(path: Path, choice: Choice, limit: int, source: str) -> Table | None:
    """Copy genotypes to a temporary file in which rows are at hand too; None where they are small.

    A .bed file holds variant after variant, so that a few individuals take as long as all of them.

    Raises
    ------
    FileError, MissingExtraError
        As of :func:`read_bed`; also where the disk is full.
    DataError
        For a variant without any call.
    """
    with _opened(path, source) as bed:
        if bytes_of_rows(bed.shape, np.int8) <= whole_within(limit) or choice.label is not None:
            return None
        picked = _Wanted(bed, choice, source)
        n, d = len(picked.rows), len(picked.columns)
        width = max(1, min(d, min(BAND_BYTES, limit // 16) // n))
        spool = Spool(source, n * d, sure=True, path=path)
        means, missing = np.empty(d), np.empty(d, dtype=np.int64)
        for part in told(slices(d, width), "part of the variants"):
            values = bed.read(index=(picked.index, picked.columns[part]), dtype="int8", order="C")
            spool.append(values.reshape(-1, 1))
            there = values >= 0
            missing[part] = n - there.sum(axis=0)
            with np.errstate(invalid="ignore"):
                means[part] = np.sum(values, axis=0, where=there, dtype=np.int64) / (n - missing[part])
    what = "column means"
    if choice.means is not None and choice.needed is not None:
        known = dict(zip(choice.needed, choice.means, strict=True))
        means = np.array([known.get(name, mean) for name, mean in zip(picked.names, means, strict=True)])
        what = "the means of the fitted data"
    if empty := [name for name, mean in zip(picked.names, means.tolist(), strict=True) if math.isnan(mean)]:
        shown = listed(empty[:NAMES_SHOWN])
        raise DataError(f"{source} has no call of {shown}. Leave that out (drop=[...], --drop NAME).")
    notes = [spool.note]
    if missing.any():
        columns = counted(int((missing > 0).sum()), "column")
        notes.append(f"{counted(int(missing.sum()), 'missing value')} in {columns} filled with {what}")
    return picked.table(
        Genotypes(spool.stored(), (n, d), width, means), None, tuple(notes), None if choice.needed else means
    )


class _Wanted:
    """Which rows and columns of an open .bed file are wanted, and what they are called."""

    def __init__(self, bed: Any, choice: Choice, source: str) -> None:
        self.source = source
        require(Header(tuple(bed.shape), np.dtype(np.int8), bed.read), source)
        features, self.repeated = unique_names([str(name) for name in bed.sid])
        if choice.id is not None or choice.label_row is not None:
            raise ParameterError(f"rows of {source} are named by its .fam file. Leave out id, and label too.")
        needed = choice.needed if set(choice.needed or ()) <= set(features) else None
        wanted = Choice(columns=needed or choice.columns, drop=choice.drop, label=choice.label)
        self.columns, _, self.label = pick_columns(features, wanted, source)
        self.label_name = choice.label
        self.rows = pick_rows(bed.shape[0], choice.rows, source)
        self.index = slice(self.rows.start, self.rows.stop, self.rows.step)
        self.numbers = None if choice.rows is None else self.rows
        self.names = tuple(features[place] for place in self.columns)
        first = bed.allele_1
        known = ((name, str(first[place])) for name, place in zip(self.names, self.columns, strict=True))
        self.alleles = {name: allele for name, allele in known if allele != UNKNOWN}
        self.row_names = tuple(str(bed.iid[row]) for row in self.rows)

    def table(
        self, values: Any, labels: Any, notes: tuple[str, ...] = (), means: npt.NDArray[Any] | None = None
    ) -> Table:
        return Table(
            values,
            feature_names=self.names,
            row_names=self.row_names,
            labels=labels,
            label_name=self.label_name,
            source=self.source,
            notes=(
                "values count allele 1 (A1, the fifth column of the .bim file)",
                *repeated_note(self.repeated),
                *notes,
            ),
            row_numbers=self.numbers,
            means=means,
            alleles=self.alleles,
        )


@contextmanager
def _opened(path: Path, source: str) -> Iterator[Any]:
    with needs("genetics", "bed-reader", "reading PLINK's .bed files"):
        from bed_reader import open_bed
    for suffix in (".bim", ".fam"):
        if not path.with_suffix(suffix).is_file():
            raise FileError(
                f"{source} needs {path.with_suffix(suffix).name} beside it, which is not there. Copy it too: "
                "it names the " + ("variants." if suffix == ".bim" else "individuals.")
            )
    # bed-reader takes tabs between the columns of a .bim file only, and PLINK writes and reads spaces too.
    variants = path.with_suffix(".bim")
    with damage(str(variants)), variants.open(encoding="utf-8") as file:
        names, alleles = zip(*((line[1], line[-2]) for line in map(str.split, file) if line), strict=True)
    known = {"sid": names, "allele_1": alleles}
    with damage(source), open_bed(path, properties=known) as bed:
        yield bed
