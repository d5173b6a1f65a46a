"""Genotypes of PLINK: .bed with .bim and .fam; variants are columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.checks import counted
from gramian.errors import DataError, needs
from gramian.tables.source import ArraySource, Header, Opened, damage, require, require_room
from gramian.tables.table import repeated_note, unique_names

NOTHING = dict.fromkeys(("sid", "iid"))  # that bed-reader is to read of the files beside a .bed file
UNKNOWN = "0"  # as PLINK writes an allele that it does not know


def open_bed(opened: Opened, key: str | None) -> ArraySource:
    """Return genotypes as counts of allele 1 in float32, with NaN for missing calls.

    Raises
    ------
    MemoryLimitError
        If those of the rows that are read do not fit into memory.
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

    def read(rows: range | None = None) -> npt.NDArray[Any]:
        rows = range(shape[0]) if rows is None else rows
        require_room(Header((len(rows), shape[1]), np.dtype(np.float32), bed.read), source)
        index = slice(rows.start, rows.stop, rows.step), slice(None)
        return np.asarray(bed.read(index=index, dtype="float32", order="C"))

    return ArraySource(
        source,
        shape,
        np.dtype(np.int8),
        read,
        columns=names,
        row_names=tuple(named),
        alleles=alleles,
        notes=notes,
    )


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
    # Names are read here, since bed-reader takes tabs only.
    # Two threads of it write to the same lines of the cache, and take as long as one.
    bed = open_bed(path, iid_count=n, sid_count=d, properties=NOTHING, num_threads=1)
    return opened.enter_context(bed), variants, people


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
