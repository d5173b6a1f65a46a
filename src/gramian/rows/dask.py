"""Tables in Dask's chunks, worked on where the chunks are: by threads of this machine, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from gramian.arrays import one_thread
from gramian.checks import slices
from gramian.errors import DataError, InputTypeError
from gramian.rows.array import ArrayRows
from gramian.rows.rows import Block, Rows
from gramian.rows.stored import OnDisk, StoredRows

R = TypeVar("R")
MERGED = 8  # results that one task combines
CHUNK_BYTES = 64 << 20  # of chunks that are cut anew, because columns were apart


def is_dask(X: Any) -> bool:
    """Return whether X is one of Dask's collections, without importing it."""
    return hasattr(X, "__dask_graph__")


class DaskTable(OnDisk):
    """A Dask array whose chunks hold whole rows; what is sliced is computed.

    Parameters
    ----------
    values : dask.array.Array of shape (n, d)
        n may be unknown: it is counted, in a pass over the data, when it is asked for.
    """

    source = "the Dask array"

    def __init__(self, values: Any) -> None:
        self.lazy, self.dtype = values, values.dtype

    @cached_property
    def values(self) -> Any:
        """The array with known lengths of its chunks."""
        if not np.isnan(self.lazy.shape[0]):
            return self.lazy
        counted = self.lazy.copy()
        return counted.compute_chunk_sizes()

    @cached_property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        n, d = self.values.shape
        return int(n), int(d)

    @cached_property
    def places(self) -> list[slice]:
        """Rows of every chunk; some may have none."""
        ends = list(accumulate(self.values.chunks[0]))
        return [slice(int(start), int(stop)) for start, stop in zip([0, *ends], ends, strict=False)]

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        return np.asarray(self.values[key].compute())


@dataclass(frozen=True, eq=False)
class DaskRows(StoredRows):
    """Rows of a Dask array: a pass is a tree of tasks, and what is made of each row stays lazy."""

    values: DaskTable
    is_spread: ClassVar[bool] = True

    @classmethod
    def checked(cls, X: Any, estimator: str, minimum: int, limit: int) -> DaskRows:
        """Take a Dask array or frame; NaN is not searched for.

        Raises
        ------
        DataError, InputTypeError
            For anything that is not a table of real numbers with so many rows.
        """
        if hasattr(X, "to_dask_array"):
            X = _numbers_of(X)
        if not hasattr(X, "map_blocks") or not hasattr(X, "chunks"):
            raise InputTypeError(
                f"X is a {type(X).__module__}.{type(X).__name__}. Of Dask's collections, arrays and data "
                "frames are tables: X.to_dataframe() makes one of a bag."
            )
        if not isinstance(X._meta, np.ndarray):
            raise InputTypeError(
                f"The chunks of X are {type(X._meta).__module__}.{type(X._meta).__name__}, and chunks of a "
                "Dask array are taken as NumPy arrays. Make them such: "
                "X.map_blocks(lambda block: block.toarray()) of sparse ones, .get() of CuPy's."
            )
        if np.isnan(X.shape[1:]).any():
            raise DataError(
                "The number of columns of the Dask array is not known. Call X.compute_chunk_sizes() first."
            )
        n, picture_shape = X.shape[0] if X.ndim else 0, None
        # A few rows of the same type and size are checked in its place.
        few = np.zeros((minimum if np.isnan(n) else min(int(n), minimum), *X.shape[1:]), X.dtype)
        dtype = ArrayRows.checked(few if X.ndim else few[0], estimator, minimum).dtype
        if X.ndim == 3:
            picture_shape = (int(X.shape[1]), int(X.shape[2]))
            chunks = (X.chunks[0], (picture_shape[0] * picture_shape[1],))
            X = X.rechunk({1: -1, 2: -1}).map_blocks(_flat, drop_axis=2, chunks=chunks, dtype=X.dtype)
        if X.numblocks[1] > 1:
            rows = max(1, CHUNK_BYTES // (X.shape[1] * dtype.itemsize))
            X = X.rechunk({1: -1} if np.isnan(n) else {0: rows, 1: -1})
        table = DaskTable(X if X.dtype == dtype else X.astype(dtype))
        return cls(table, limit, dtype=dtype, picture_shape=picture_shape)

    # ---------------------------------------------------------------- where the chunks are

    def over_parts(self, f: Callable[..., R], combine: Callable[[R, R], R], *aligned: Any) -> R:
        return self._combined(f, combine, self.values.values, self.values.places, aligned)

    def over_columns(self, f: Callable[..., R], combine: Callable[[R, R], R], *aligned: Any) -> R:
        n, d = self.shape
        width = max(1, min(d, CHUNK_BYTES // (n * self.dtype.itemsize)))
        return self._combined(f, combine, self.values.values.rechunk((n, width)), slices(d, width), aligned)

    def _combined(
        self,
        f: Callable[..., R],
        combine: Callable[[R, R], R],
        chunked: Any,
        places: list[slice],
        aligned: Any,
    ) -> R:
        from dask import compute, delayed

        work = delayed(_Work(f, combine, self.dtype), traverse=False)
        on_part, merged = delayed(_on_part, pure=False), delayed(_merged, pure=False)
        found = [
            on_part(work, part, *(None if array is None else array[place] for array in aligned))
            for part, place in zip(chunked.to_delayed().ravel(), places, strict=True)
            if place.stop > place.start
        ]
        while len(found) > 1:
            found = [merged(work, found[some]) for some in slices(len(found), MERGED)]
        return compute(found[0])[0]  # type: ignore[no-any-return]

    def mapped(self, f: Callable[[Rows], Any], columns: int) -> Any:
        given = self.values.lazy

        def of_chunk(chunk: Any, block_info: Any = None) -> Any:
            if not len(chunk):
                return np.empty((0, columns), self.dtype)
            number = block_info[0]["chunk-location"][0] if block_info else 0
            with one_thread():
                return f(ArrayRows(chunk, dtype=self.dtype, part=f" of chunk {number}"))

        return given.map_blocks(
            of_chunk,
            dtype=self.dtype,
            chunks=(given.chunks[0], (columns,)),
            meta=np.empty((0, 0), self.dtype),
        )

    def reduce(
        self, f: Callable[[Block], R], combine: Callable[[R, R], R], rows_per_block: int | None = None
    ) -> R:
        def of_part(part: Rows, starts: npt.NDArray[np.int64]) -> R:
            start = int(starts[0])

            def shifted(block: Block) -> R:
                return f(Block(slice(block.rows.start + start, block.rows.stop + start), block.values))

            return part.reduce(shifted, combine, rows_per_block)

        return self.over_parts(of_part, combine, _Counting())

    def map(self, f: Callable[[Block], Any], rows_per_block: int | None = None) -> Any:
        raise NotImplementedError("rows on a cluster are mapped by their parts")

    @property
    def portions(self) -> list[slice]:
        return [place for place in self.values.places if place.stop > place.start]

    def _parts(self, rows_per_block: int | None) -> list[slice]:
        return self.portions


def _flat(pictures: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return pictures.reshape(len(pictures), -1)


class _Counting:
    """The numbers of rows, of which a part gets its own."""

    def __getitem__(self, rows: slice) -> npt.NDArray[np.int64]:
        return np.array([rows.start])


@dataclass(frozen=True)
class _Work:
    """What is done with every chunk, sent once to each worker."""

    f: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    dtype: np.dtype[Any]


def _on_part(work: _Work, chunk: Any, *aligned: Any) -> Any:
    # Workers of Dask have a thread for each task.
    with one_thread():
        return work.f(ArrayRows(chunk, dtype=work.dtype), *aligned)


def _merged(work: _Work, found: list[Any]) -> Any:
    total = found[0]
    for more in found[1:]:
        total = work.combine(total, more)
    return total


def _numbers_of(frame: Any) -> Any:
    """Return the Dask array of a data frame, whose lengths are counted when they are needed.

    Raises
    ------
    DataError
        If a column holds no numbers.
    """
    ArrayRows.checked(frame._meta_nonempty, "gramian", 1)
    return frame.to_dask_array()
