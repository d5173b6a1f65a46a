"""Rows of an array in a file, which are read when their turn comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_csr, memory_limit_bytes
from gramian.checks import amount, counted
from gramian.data import sparse, table
from gramian.data.rows import Block, Holes, Rows
from gramian.errors import DataError, MemoryLimitError
from gramian.io.lazy import ENTRY, Converted, LazyArray
from gramian.io.source import dtype_of_rows, whole_within
from gramian.progress import Passes

# Bytes of a row that are read at a time when blocks of columns are: less makes the system read in vain.
LEAST_RUN = 4096
COLUMNS_AT_ONCE = 16 << 20  # bytes of a block of columns
BATCH = 1 << 19  # entries of sparse rows that products take at a time


@dataclass(frozen=True, eq=False)
class StoredRows(Rows):
    """Rows that are read when their turn comes.

    Attributes
    ----------
    values : LazyArray
        (n, d) real numbers, not searched for NaN.
    limit : int
        Bytes of working memory; a quarter of it may be taken by the whole table where that is needed.
    passes : Passes
        Number of full passes so far.
    """

    values: LazyArray
    limit: int
    passes: Passes = field(default_factory=Passes, kw_only=True)  # type: ignore[misc]
    free_to_revisit: ClassVar[bool] = False

    @classmethod
    def of(cls, values: LazyArray, limit: int | None = None) -> StoredRows:
        """Return the rows of an array that is read when it is sliced."""
        return cls(
            values,
            limit or memory_limit_bytes(None),
            dtype=dtype_of_rows(values.dtype),
            picture_shape=values.picture_shape,
            borrowed=False,
        )

    shape, cuts_columns, resident_bytes, speed = (
        property(attrgetter(f"values.{of}")) for of in ("shape", "reads_columns", "resident_bytes", "speed")
    )

    @property
    def least_columns(self) -> int:
        size = self.values.dtype.itemsize
        return int(max(LEAST_RUN // size, COLUMNS_AT_ONCE // (self.shape[0] * size)))

    def cut(self, rows: slice, columns: slice) -> Any:
        return np.asarray(self.values[rows, columns]).astype(self.dtype, copy=False)

    def some(self, places: Iterable[int]) -> Any:
        """Return rows by their numbers, as a dense array."""
        return np.concatenate([self.cut(slice(place, place + 1), slice(None)) for place in places])

    def at(self, places: Any) -> Any:
        return self.some(np.asarray(places).tolist())

    def picked(self, places: npt.NDArray[np.intp]) -> Rows:
        values = self.values.picked(places)
        return replace(self, values=values, passes=Passes(), row_names=None, table=None)

    def take_columns(self, places: npt.NDArray[np.intp]) -> Any:
        return self.mapped(lambda part: part.map(lambda block: block.values[:, places]), len(places))

    def converted(self, f: Callable[[Any], Any]) -> StoredRows:
        own = {field.name: getattr(self, field.name) for field in fields(Rows)}
        return StoredRows(Converted(self.values, f, self.dtype), self.limit, **own)

    def in_memory(self) -> Any:
        """Read the whole table, for those who truly need it.

        Raises
        ------
        MemoryLimitError
            If it takes more than a quarter of the working memory.
        """
        return self.whole(whole_within(self.limit))

    def whole(self, most: int) -> Any:
        """Read the whole table if it takes at most so many bytes."""
        if self.stored_bytes > most:
            raise MemoryLimitError(
                f"This needs all {self.shape[0]:,} rows of {self.values.source} in memory "
                f"({amount(self.stored_bytes)}), but a table may take {amount(most)} of the "
                f"{amount(self.limit)} that may be used. Raise GRAMIAN_MEMORY_LIMIT, or give fewer rows; PCA "
                "reads block by block."
            )
        return self.block(slice(None)).values


@dataclass(frozen=True, eq=False)
class StoredSparseRows(sparse.Sparse, StoredRows):
    """Sparse rows that are read when their turn comes."""

    @property
    def batches(self) -> list[slice]:
        """Slices of rows with about ``BATCH`` entries."""
        starts = self._starts
        marks = np.searchsorted(starts, np.arange(starts[0] + BATCH, starts[-1], BATCH), side="right") - 1
        ends = np.unique(np.r_[0, marks, self.shape[0]]).tolist()
        return [slice(left, right) for left, right in pairwise(ends)]

    @property
    def stored_bytes(self) -> int:
        return int(self._starts[-1] - self._starts[0]) * ENTRY

    @property
    def share(self) -> float:
        return float(self.stored_bytes / ENTRY / max(1, self.shape[0] * self.shape[1]))

    @property
    def _starts(self) -> Any:
        return self.values.indptr  # type: ignore[attr-defined]

    @property
    def least_columns(self) -> int:
        return 1

    def block(self, rows: slice) -> Block:
        return Block(rows, self.values[rows], self.weights_of(rows))

    def whole(self, most: int) -> Any:
        return as_csr(super().whole(most))

    def require_finite(self, *, holes: bool = False) -> Holes | None:
        finite = all(np.isfinite(self.values[part].data).all() for part in self.batches)
        return None if finite else super().require_finite(holes=holes)


def require_rows(number: int, source: str, request: table.RowsRequest) -> None:
    """Raise a DataError for fewer rows than an estimator needs."""
    if number < request.minimum:
        raise DataError(
            f"{source} holds {counted(number, 'row')}, and a minimum of {request.minimum} is required by "
            f"{request.estimator}. Give more rows."
        )
