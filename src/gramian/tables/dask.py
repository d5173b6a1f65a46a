"""Tables in Dask's chunks, worked on where the chunks are: by threads of this machine, or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import accumulate
from pickle import PickleBuffer
from typing import Any, ClassVar, TypeVar

import numpy as np

from gramian.core.arrays import one_thread
from gramian.core.checks import slices
from gramian.core.progress import Passes
from gramian.core.records import AnyArray, Spread
from gramian.errors import DataError, InputTypeError
from gramian.tables.memory import ArrayRows
from gramian.tables.rows import Block, PartState, Rows
from gramian.tables.stored import UNPACKED, StoredRows, require_rows
from gramian.tables.table import RowsRequest

R = TypeVar("R")
# Results that one task of a worker, or of this process, combines: it holds them all.
MERGED, MERGED_HERE = 8, 2
CHUNK_BYTES = 64 << 20  # of chunks that are cut anew, because columns were apart
NOT_NUMPY = (
    "The chunks of X are {}, but chunks of a Dask array must be NumPy arrays. Convert them: "
    "X.map_blocks(lambda block: block.toarray()) for sparse chunks, .get() for CuPy's."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class DaskRows(StoredRows):
    """Rows of a Dask array: a pass is a tree of tasks, and results for each row stay lazy.

    Attributes
    ----------
    lazy : dask.array.Array of shape (n, d)
        Its chunks hold whole rows. n may be unknown: it is counted, in a pass over the data, when it is asked
        for.
    counted : list of dask.array.Array
        The array with known lengths of its chunks, once they are counted.
    """

    lazy: Any
    counted: list[Any] = field(default_factory=list)
    source: str = "the Dask array"
    limit: int = 0
    speed: float = UNPACKED  # type: ignore[misc]
    cuts_columns: bool = True  # where the chunks are
    in_one_place: ClassVar[bool] = False
    keeps_scores: ClassVar[bool] = False

    @property
    def values(self) -> Any:
        """The array with known lengths of its chunks."""
        if not np.isnan(self.lazy.shape[0]):
            return self.lazy
        if not self.counted:
            self.counted.append(self.lazy.copy().compute_chunk_sizes())
        return self.counted[0]

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return int(n), int(d)

    @cached_property
    def places(self) -> list[slice]:
        """Rows of every chunk; some may have none."""
        ends = list(accumulate(self.values.chunks[0]))
        return [slice(int(start), int(stop)) for start, stop in zip([0, *ends], ends, strict=False)]

    def __getitem__(self, key: Any) -> AnyArray:
        return np.asarray(self.values[key].compute())

    @classmethod
    def checked(cls, X: Any, request: RowsRequest) -> DaskRows:
        """Take a Dask array or frame; NaN is not searched for.

        Raises
        ------
        DataError, InputTypeError
            For anything that is not a table of real numbers with so many rows.
        """
        if hasattr(X, "to_dask_array"):
            ArrayRows.checked(X._meta_nonempty, RowsRequest())  # of a frame, whose columns may be no numbers
            X = X.to_dask_array()  # whose lengths are counted when they are needed
        if not hasattr(X, "map_blocks") or not hasattr(X, "chunks"):
            what = f"X is a {type(X).__module__}.{type(X).__name__}. Of Dask's collections, only arrays"
            hint = "Convert a bag with X.to_dataframe()."
            raise InputTypeError(f"{what} and data frames are supported.", hint)
        if not isinstance(X._meta, np.ndarray):
            raise InputTypeError(NOT_NUMPY.format(f"{type(X._meta).__module__}.{type(X._meta).__name__}"))
        if np.isnan(X.shape[1:]).any():
            why = "The number of columns of the Dask array is not known."
            raise DataError(why, "Call X.compute_chunk_sizes() first.")
        n, minimum, picture_shape = X.shape[0] if X.ndim else 0, request.minimum, None
        # A few rows of the same type and size are checked in its place.
        few = np.zeros((minimum if np.isnan(n) else min(int(n), minimum), *X.shape[1:]), X.dtype)
        dtype = ArrayRows.checked(few if X.ndim else few[0], request).dtype
        if X.ndim == 3:
            picture_shape = (int(X.shape[1]), int(X.shape[2]))
            chunks = (X.chunks[0], (picture_shape[0] * picture_shape[1],))
            X = X.rechunk({1: -1, 2: -1}).map_blocks(
                lambda some: some.reshape(len(some), -1), drop_axis=2, chunks=chunks, dtype=X.dtype
            )
        if X.numblocks[1] > 1:
            rows = max(1, CHUNK_BYTES // (X.shape[1] * dtype.itemsize))
            X = X.rechunk({1: -1} if np.isnan(n) else {0: rows, 1: -1})
        lazy, limit = X if X.dtype == dtype else X.astype(dtype), request.working
        rows = cls(lazy=lazy, limit=limit, dtype=dtype, picture_shape=picture_shape)
        if np.isnan(n) and minimum > 1:
            require_rows(rows.shape[0], "The Dask collection", request)
        return rows

    # ---------------------------------------------------------------- where the chunks are

    def map_reduce(self, f: Callable[..., R], combine: Callable[[R, R], R], *aligned: Any) -> R:
        weights = [*map(self.weights_of, self.places)]
        return self._combined(f, combine, self.values, self.places, aligned, weights)

    def over_columns(self, f: Callable[..., R], combine: Callable[[R, R], R], *aligned: Any) -> R:
        (n, d), (width, most) = self.shape, self._widths(self.room)

        def of(some: slice) -> R:
            # Dask holds all columns that it is asked for, because each chunk has some of every one.
            chunks, weights = self.values[:, some].rechunk((n, width)), self.weights
            of_columns = [None if array is None else array[some] for array in aligned]
            widths = slices(chunks.shape[1], width)
            return self._combined(f, combine, chunks, widths, of_columns, [weights] * len(widths))

        return reduce(combine, map(of, slices(d, most)))

    def _widths(self, room: int) -> tuple[int, int]:
        """Return columns of a block and of a pass over columns, for so many bytes."""
        d, column = self.shape[1], self.shape[0] * self.dtype.itemsize
        width = max(1, min(d, min(CHUNK_BYTES, room // 16) // column))
        return width, max(width, min(d, room // 4 // column))

    def _combined(
        self,
        f: Callable[..., R],
        combine: Callable[[R, R], R],
        chunked: Any,
        ranges: list[slice],
        aligned: Any,
        weights: Sequence[Any],
    ) -> R:
        from dask import compute, delayed

        work = delayed(_Work(f, combine, self.dtype), traverse=False)
        on_part, merged = delayed(_on_part, pure=False), delayed(_merged, pure=False)
        results = [
            on_part(work, chunk, weight, *(None if array is None else array[inside] for array in aligned))
            for chunk, inside, weight in zip(chunked.to_delayed().ravel(), ranges, weights, strict=True)
            if inside.stop > inside.start
        ]
        if not results:
            raise DataError("The Dask collection holds no rows, but at least one is needed.")
        most = MERGED if self._client is not None else MERGED_HERE
        while len(results) > 1:
            results = [merged(work, results[some]) for some in slices(len(results), most)]
        return compute(results[0])[0].value  # type: ignore[no-any-return]

    def mapped(
        self, f: Callable[[Rows], Any], columns: int, dtype: Any = None, *, holes: bool = False
    ) -> Any:
        lazy, home_type = self.lazy, self.dtype  # the only objects sent to workers
        dtype = dtype or home_type

        def of_chunk(chunk: Any, block_info: Any = None) -> Any:
            if not chunk.shape[0]:  # sparse chunks have no length
                return np.empty((0, columns), dtype)
            number = block_info[0]["chunk-location"][0] if block_info else 0
            block = _rows_of(chunk, home_type, f" of chunk {number}")
            with one_thread():
                if not holes:
                    block.require_finite()
                return f(block)

        chunks, meta = (lazy.chunks[0], (columns,)), np.empty((0, 0), dtype)
        return lazy.map_blocks(of_chunk, dtype=dtype, chunks=chunks, meta=meta)

    def reduce(
        self, f: Callable[[Block], R], combine: Callable[[R, R], R], rows_per_block: int | None = None
    ) -> R:
        def of_part(some_rows: Rows, rows: range) -> R:
            start = rows.start

            def shifted(block: Block) -> R:
                return f(replace(block, rows=slice(block.rows.start + start, block.rows.stop + start)))

            return some_rows.reduce(shifted, combine, rows_per_block)

        return self.map_reduce(of_part, combine, range(self.shape[0]))

    def at(self, indices: Any) -> Any:
        wanted, where = np.unique(np.asarray(indices), return_inverse=True)
        return self[wanted.tolist()].astype(self.dtype, copy=False)[where]

    def converted(self, f: Callable[[Any], Any]) -> DaskRows:
        lazy = self.mapped(lambda rows: f(rows.in_memory()), self.shape[1])
        return replace(self, lazy=lazy, counted=[], passes=Passes())

    def map_parts(self, f: Callable[[Rows], Any]) -> PartState:
        return DaskPartState(self, f)

    @property
    def room(self) -> int:  # type: ignore[override]
        """Bytes that may be stored with the chunks: half of the workers' memory, or this machine's limit."""
        if "distributed" not in sys.modules:
            return self.limit
        try:
            client = sys.modules["distributed"].get_client()
        except ValueError:  # there is no cluster
            return self.limit
        limits = client.run_on_scheduler(
            lambda dask_scheduler: [worker.memory_limit for worker in dask_scheduler.workers.values()]
        )
        # 0 where a worker has no limit of its own.
        return sum(limits) // 2 if all(limits) else self.limit

    def picked(self, indices: Any = None, columns: Any = None) -> DaskRows:
        more: Any = {"lazy": self.values[indices], "row_names": None, "table": None}
        return replace(self, counted=[], passes=Passes(), **more)

    def here(self) -> ArrayRows:
        """Return the rows as an array in memory, where that may hold them."""
        return ArrayRows(self.in_memory(), **self.facts)

    @cached_property
    def spread(self) -> Spread:  # type: ignore[override]
        """By whom the chunks are worked on now, and in how many tasks."""
        from dask import config, optimize
        from dask.system import CPU_COUNT

        client = self._client
        count = len(self.batches)
        made = len(optimize(self.values)[0].__dask_graph__())
        tasks, left, levels = made + count, count, 0
        while left > 1:
            left = -(-left // (MERGED_HERE if client is None else MERGED))
            tasks, levels = tasks + left, levels + 1
        if client is not None:
            threads = client.nthreads()
            return Spread(count, tasks, len(threads), max(1, sum(threads.values())))
        (n, d), (width, most) = self.shape, self._widths(self.limit)
        threads = config.get("num_workers", None) or CPU_COUNT
        held = most + threads * max(width, d // count)
        # One result waits in each level, and each thread makes one of another.
        results = min(count, levels + 2 * threads)
        return Spread(count, tasks, 0, threads, n * self.dtype.itemsize * held, results)

    @property
    def _client(self) -> Any:
        """The client of the workers on which Dask computes; None for this process."""
        from dask.base import get_scheduler

        client = getattr(get_scheduler(collections=[self.lazy]), "__self__", None)
        return client if hasattr(client, "nthreads") else None

    @property
    def batches(self) -> list[slice]:
        return [rows for rows in self.places if rows.stop > rows.start]

    def _parts(self, rows_per_block: int | None) -> list[slice]:
        return self.batches


class DaskPartState(PartState):
    """What is kept of every chunk, where the chunk is; each version is made of the one before."""

    def __init__(self, rows: DaskRows, f: Callable[[Rows], Any]) -> None:
        from dask import persist

        chunks = zip(rows.values.to_delayed().ravel(), rows.places, strict=True)
        self.parts, ranges = zip(*((p, q) for p, q in chunks if q.stop > q.start), strict=True)
        self.starts = np.array([rows.start for rows in ranges], dtype=np.intp)
        self.dtype = rows.dtype
        self.states = persist(*self._mapped(f))

    def _mapped(self, f: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        from dask import delayed

        work, of_part = delayed(f, traverse=False), delayed(_on_rows, pure=False)
        return [of_part(work, self.dtype, *some) for some in zip(self.parts, *arguments, strict=True)]

    def ask(self, f: Callable[..., R], *arguments: Sequence[Any]) -> list[R]:
        from dask import compute

        return list(compute(*self._mapped(f, self.states, *arguments)))

    def update(self, f: Callable[..., Any], *arguments: Sequence[Any]) -> None:
        from dask import persist

        self.states = persist(*self._mapped(f, self.states, *arguments))


def _on_rows(f: Callable[..., Any], dtype: np.dtype[Any], chunk: Any, *arguments: Any) -> Any:
    with one_thread():
        return f(_rows_of(chunk, dtype), *arguments)


def _rows_of(chunk: Any, dtype: np.dtype[Any], where: str = "") -> ArrayRows:
    """Return a chunk as rows; it may differ from its Dask metadata."""
    if not isinstance(chunk, np.ndarray):
        raise InputTypeError(NOT_NUMPY.format(f"{type(chunk).__module__}.{type(chunk).__name__}"))
    return ArrayRows(chunk.astype(dtype, copy=False), dtype=dtype, part=where)


class _Sized:
    """What is sent between workers: Dask combines results where most of their bytes are."""

    def __sizeof__(self) -> int:
        from cloudpickle import dumps

        arrays: list[PickleBuffer] = []
        head = dumps(self.__dict__, protocol=5, buffer_callback=arrays.append)
        return len(head) + sum(array.raw().nbytes for array in arrays)


@dataclass(frozen=True)
class _Work(_Sized):
    """What is done with every chunk, sent once to each worker."""

    f: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class _Result(_Sized):
    """The result of one chunk, or of several."""

    value: Any


def _on_part(work: _Work, chunk: Any, weights: Any, *aligned: Any) -> _Result:
    # Workers of Dask have a thread for each task.
    with one_thread():
        return _Result(work.f(replace(_rows_of(chunk, work.dtype), weights=weights), *aligned))


def _merged(work: _Work, result: list[_Result]) -> _Result:
    return _Result(reduce(work.combine, [each.value for each in result]))
