"""Checked data as blocks of rows: the interface of every kind of data."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse

from gramian.core import arrays
from gramian.core.checks import counted, first_few, slices
from gramian.core.records import FloatArray, IndexArray, RealArray, Spread
from gramian.errors import DataError, DiagnosticWarning, GramianError, MissingValuesError
from gramian.tables.table import Table

if TYPE_CHECKING:
    from gramian.core.progress import Passes

R = TypeVar("R")
BLOCK_BYTES = 4 << 20
# Results that may wait for their turn: more would take memory, fewer would keep many workers waiting.
IN_FLIGHT = 32
PLACES_SHOWN = 3  # missing values that a message names


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a table.

    Attributes
    ----------
    rows : slice
        Which rows they are.
    values : array of shape (m, d)
        Their numbers, in the kind of the table: those of sparse data are sparse.
    weights : ndarray of shape (m,) or None
        Their weights; None where all are 1.
    """

    rows: slice
    values: Any
    weights: FloatArray | None = None

    @property
    def dense(self) -> Any:
        """The numbers as a dense array: a view where they are one already."""
        return arrays.dense(self.values)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows(ABC):
    """A checked table of n samples by d features, wherever its numbers are.

    A kind of data implements :attr:`shape`, :meth:`block` or :meth:`cut`, and :attr:`like`; everything else
    follows from them.

    Attributes
    ----------
    dtype : numpy.dtype
        Type of the results that users get: float32 for float32 input (and for 8- and 16-bit
        integers, which float32 holds exactly), otherwise float64.
    feature_names : tuple of str or None
    row_names : sequence of str or None
        Names where the input had them.
    picture_shape : tuple of int or None
        Height and width, where each row is a picture.
    table : Table or None
        What was read, where the input was a file.
    borrowed : bool
        Whether the numbers are, or may be, in the caller's memory.
    part : str
        What these are rows of, where they are part of a larger table.
    weights : ndarray of shape (n,) or None
        How often each row counts; None where all count once. Passes that
        measure or multiply rows for a fit use them; a map of rows to scores does not.
    """

    dtype: np.dtype[Any]
    feature_names: tuple[str, ...] | None = None
    row_names: Sequence[str] | None = None
    picture_shape: tuple[int, int] | None = None
    table: Table | None = None
    borrowed: bool = True
    part: str = ""
    weights: FloatArray | None = None
    # Whether products use the entries that are not zero only: centring would fill such rows.
    skips_zeros: ClassVar[bool] = False
    # Whether another pass reads nothing: rows in files are read again when their turn comes.
    free_to_revisit: ClassVar[bool] = True
    # Whether this machine has all rows; parts that are elsewhere are worked on there.
    in_one_place: ClassVar[bool] = True
    # Whether one pass can store results of every row for the next: not elsewhere.
    keeps_scores: ClassVar[bool] = True
    speed: ClassVar[float] = 0.0  # bytes of them that are read in a second; 0 where nothing is
    spread: ClassVar[Spread | None] = None  # how work is shared where it is not in one place
    room: ClassVar[int | None] = None  # bytes that may be kept where the rows are, if that is elsewhere
    unchecked: ClassVar[bool] = False  # whether they are values of a table that is not prepared for computing
    passes: ClassVar[Passes | None] = None  # over a file

    # --------------------------------------------------------- implemented by a kind of data

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of samples and features."""

    @property
    def like(self) -> Any:
        """A small dense array of the kind and dtype that results are returned in; NumPy's for most."""
        return np.empty((0, 0), dtype=self.dtype)

    def block(self, rows: slice) -> Block:
        """Return the rows of a slice; a kind of data implements this, or :meth:`cut`."""
        return Block(rows, self.cut(rows, slice(None)), self.weights_of(rows))

    def cut(self, rows: slice, columns: slice) -> Any:
        """Return a dense block of some columns: a view where that is possible."""
        return self.block(rows).dense[:, columns]

    def in_memory(self) -> Any:
        """Return the whole table as one array, perhaps the caller's own; needs memory for all of it."""
        return self.block(slice(None)).values

    def owned(self) -> Any:
        """Return the whole table as one array that shares no memory with the caller's input.

        For callers that store it. Converted or read data is not copied again.
        """
        values = self.in_memory()
        if not self.borrowed:
            return values
        if sparse.issparse(values):
            return values.copy()
        return np.array(values) if arrays.is_numpy(values) else self.xp.asarray(values, copy=True)

    def converted(self, f: Callable[[Any], Any]) -> Rows:
        """Return dense rows whose numbers are ``f`` of the numbers of these, wherever they are.

        ``f`` takes the values of a block and returns as many rows and columns, of the dtype of these rows.
        """
        raise NotImplementedError

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the rows beside their numbers, as arguments of another kind of rows."""
        return {field.name: getattr(self, field.name) for field in fields(Rows)}

    def here(self) -> Rows:
        """Return the rows with all numbers on this machine."""
        return self

    def shares_memory(self, array: Any) -> bool:
        """Whether an array may lie in the memory of these rows."""
        return False

    def require_dense(self, message: str, error: type[GramianError] = DataError) -> None:
        """Raise an error with that message where the rows are sparse."""
        if self.skips_zeros:
            raise error(message)

    # -------------------------------------------------------------- derived

    @cached_property
    def weight(self) -> float:
        """Sum of :attr:`weights`, or the number of rows."""
        return float(self.shape[0] if self.weights is None else self.weights.sum())

    @cached_property
    def repeats(self) -> int:
        """Number of rows that these stand for: the sum of integer weights, else how many are not 0."""
        if self.weights is None:
            return self.shape[0]
        whole = bool((self.weights == np.floor(self.weights)).all())
        return int(self.weight) if whole else int(np.count_nonzero(self.weights))

    def weights_of(self, rows: slice) -> FloatArray | None:
        """Return the weights of some rows; None where all are 1."""
        return None if self.weights is None else self.weights[rows]

    @property
    def xp(self) -> Any:
        """Array namespace that results are returned in."""
        return arrays.namespace(self.like)

    @property
    def least_columns(self) -> int:
        """Number of columns below which a block of columns takes as long as one of so many."""
        return 1

    @property
    def cuts_columns(self) -> bool:
        """Whether a block of columns is made without looking at the others."""
        return True

    @property
    def share(self) -> float:
        """Share of the entries that are there: all of them, unless the rows are sparse."""
        return 1.0

    @property
    def block_dtype(self) -> np.dtype[Any]:
        """Type of the numbers in a block."""
        return self.dtype

    @property
    def in_float32(self) -> Rows:
        """The same rows, for products in float32 where their blocks are of another type."""
        return self

    @property
    def batches(self) -> list[slice]:
        """Slices of rows for computations on as many rows as memory holds."""
        return [slice(0, self.shape[0])]

    @property
    def stored_bytes(self) -> int:
        """Bytes that a pass over rows in a file reads."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def resident_bytes(self) -> int:
        """Bytes of the numbers where they are in memory because they were read for this."""
        read = self.table is not None and not self.borrowed and self.free_to_revisit
        return int(getattr(self.in_memory(), "nbytes", 0)) if read else 0

    def at(self, indices: Any) -> Any:
        """Return some rows, in the order of their numbers given, as one array or sparse matrix."""
        order = np.argsort(indices, kind="stable")
        ascending, taken = np.asarray(indices)[order], []
        for block in self.blocks():
            low, high = np.searchsorted(ascending, [block.rows.start, block.rows.stop])
            if high > low:
                taken.append(arrays.rows_of(block.values, ascending[low:high] - block.rows.start))
        return arrays.rows_of(arrays.stacked(taken), np.argsort(order, kind="stable"))

    def picked(self, indices: IndexArray) -> Rows:
        """Return some rows, whose numbers rise, as rows of their own; all of them are on this machine."""
        this: Any = self
        some: Rows = replace(this, values=arrays.rows_of(this.values, indices), row_names=None, table=None)
        return some

    def take_columns(self, columns: IndexArray) -> Any:
        """Return some columns of all rows."""
        values = self.in_memory()
        return self.xp.take(values, arrays.from_numpy(columns, values), axis=1)

    def blocks(self, rows_per_block: int | None = None) -> Iterator[Block]:
        """Yield all rows in order, in blocks of about ``BLOCK_BYTES`` or of so many rows."""
        return map(self.block, self._parts(rows_per_block))

    def reduce(
        self, f: Callable[[Block], R], combine: Callable[[R, R], R], rows_per_block: int | None = None
    ) -> R:
        """Combine ``f`` of every block from the first to the last.

        Parameters
        ----------
        f : callable
            Takes a :class:`Block`; called from several threads at once, each with one BLAS thread. At most
            ``IN_FLIGHT`` results exist at a time, so a result should be small compared with a block.
        combine : callable
            Takes the result of earlier rows and that of the next ones. Rows stay in order, whatever the
            number of threads.
        rows_per_block : int, optional

        Examples
        --------
        >>> import operator
        >>> from gramian.tables.as_rows import as_rows
        >>> rows = as_rows([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> float(rows.reduce(lambda block: block.values.sum(), operator.add, rows_per_block=2))
        21.0
        """
        chunks = self._parts(rows_per_block)
        if len(chunks) == 1:
            return f(self.block(chunks[0]))
        results: list[R] = []
        for start in range(0, len(chunks), IN_FLIGHT):
            some = self._each(f, chunks[start : start + IN_FLIGHT])
            results = [functools.reduce(combine, [*results, *some])]
        return results[0]

    def map_reduce(self, f: Callable[..., R], combine: Callable[[R, R], R], *aligned: Any) -> R:
        """Combine ``f`` of the parts of the table that are in one place each: of all of it, unless spread.

        Parameters
        ----------
        f : callable
            Takes a part, as Rows of its own, and its rows of the arrays in ``aligned``.
        combine : callable
            Takes the result of earlier parts and that of the next ones.
        *aligned : arrays of n rows, or None
        """
        return f(self, *aligned)

    def map_parts(self, f: Callable[[Rows], Any]) -> PartState:
        """Store ``f`` of every part with the part, for later steps on the same parts."""
        return PartState(self, f)

    def over_columns(self, f: Callable[..., R], combine: Callable[[R, R], R], *aligned: Any) -> R:
        """Combine ``f`` of blocks of columns, and of their part of arrays of d entries, in one place each."""
        return f(self, *aligned)

    def mapped(
        self, f: Callable[[Rows], Any], columns: int, dtype: Any = None, *, holes: bool = False
    ) -> RealArray:
        """Return ``f`` of all rows, of so many columns and that dtype or theirs.

        Where rows are spread it is lazy, and parts are searched for NaN and infinity when they are computed,
        unless ``f`` does so, as it must where it maps rows with ``holes``.
        """
        result: RealArray = f(self)
        return result

    def map(self, f: Callable[[Block], Any], rows_per_block: int | None = None) -> Any:
        """Return the results of ``f`` for all rows, one below the other.

        Parameters
        ----------
        f : callable
            Takes a :class:`Block` of m rows and returns an array of m rows; called as by :meth:`reduce`.
        rows_per_block : int, optional

        Examples
        --------
        >>> from gramian.tables.as_rows import as_rows
        >>> as_rows([[1.0, 2.0], [3.0, 4.0]]).map(lambda block: block.dense[:, :1])
        array([[1.],
               [3.]])
        """
        first, *others = self._parts(rows_per_block)
        result = f(self.block(first))
        if not others:
            return result
        if not arrays.is_numpy(result):
            return arrays.namespace(result).concat([result, *self._each(f, others)], axis=0)
        out = np.empty((self.shape[0], *result.shape[1:]), dtype=result.dtype)
        out[first] = result

        def put(block: Block) -> None:
            out[block.rows] = f(block)

        self._each(put, others)
        return out

    def holes(self) -> Holes | None:
        """Return where NaN and infinity are; None where all entries are finite."""
        return self.reduce(_not_finite, _joined)

    def require_finite(self, *, holes: bool = False) -> Holes | None:
        """Raise a DataError that says where NaN and infinity are, if there are any; return where NaN may be.

        Parameters
        ----------
        holes : bool
            Whether NaN is allowed; infinity never is, nor is NaN in a sparse matrix.
        """
        where = self.holes()
        if where is None or (holes and not where.infinite and not self.skips_zeros):
            return where
        if where.infinite:
            total = f" ({where.infinite} such values in total)" if where.infinite > 1 else ""
            why = f"Input X contains inf (infinity): {self._place(where.first_infinite)}{total}."
            hint = "Replace it with a finite number or leave out the row."
            raise DataError(why, hint)
        columns = np.flatnonzero(where.by_column == self.shape[0]).tolist()
        # One row, or a chunk, says nothing about a column.
        empty = "" if self.part or self.shape[0] < 2 else first_few(columns, self.column_text)
        others = where.missing > self.shape[0] * len(columns)
        message = f"Input X contains NaN: {where.extent(self._place)}."
        rows, complete = len(where.by_row) < self.shape[0], bool((where.by_column == 0).any())
        raise MissingValuesError(message, empty=empty, others=others, rows=rows, columns=complete)

    def _place(self, where: tuple[int, int]) -> str:
        row, column = where
        return f"{row_text(self, row)}, {self.column_text(column)}"

    def column_text(self, column: int) -> str:
        """Return the number of a column and its name, for messages."""
        return f"column {column}" + (f" ({self.feature_names[column]!r})" if self.feature_names else "")

    def _parts(self, rows_per_block: int | None) -> list[slice]:
        n, d = self.shape
        return slices(n, rows_per_block or max(1, BLOCK_BYTES // max(1, d * self.dtype.itemsize)))

    def _each(self, f: Callable[[Block], R], chunks: list[slice]) -> list[R]:
        """Apply ``f`` to blocks that are made only when their turn comes."""

        def work(chunk: slice) -> R:
            return f(self.block(chunk))

        return arrays.parallel_map(work, chunks, like=self.like)


class PartState:
    """The state of every part of a table, stored with the part; one part unless rows are distributed.

    Parameters
    ----------
    rows : Rows
    f : callable
        From a part, as Rows of its own, to its state.

    Attributes
    ----------
    starts : ndarray of int
        Number of the first row of each part.
    """

    def __init__(self, rows: Rows, f: Callable[[Rows], Any]) -> None:
        self.rows, self.starts, self.state = rows, np.zeros(1, dtype=np.intp), f(rows)

    def ask(self, f: Callable[..., R], *arguments: Sequence[Any]) -> list[R]:
        """Return ``f`` of every part, of its state, and of its entries in other lists."""
        return [f(self.rows, self.state, *(some[0] for some in arguments))]

    def update(self, f: Callable[..., Any], *arguments: Sequence[Any]) -> None:
        """Replace the state of every part by what ``f`` returns."""
        (self.state,) = self.ask(f, *arguments)


@dataclass(frozen=True, eq=False)
class Holes:
    """Where entries of a table are NaN or infinite.

    Attributes
    ----------
    by_row : dict of int to int
        Number of NaN in the rows that have any.
    by_column : ndarray of shape (d,)
        Number of NaN in each column.
    first : tuple of (int, int)
        Row and column of the first few NaN.
    infinite : int
        Number of infinite entries.
    first_infinite : (int, int)
    """

    by_row: dict[int, int]
    by_column: IndexArray
    first: tuple[tuple[int, int], ...] = ()
    infinite: int = 0
    first_infinite: tuple[int, int] = (0, 0)

    @classmethod
    def of_counts(cls, of_rows: IndexArray, by_column: IndexArray, start: int = 0) -> Holes:
        """Return the holes of rows from one on, by the number of NaN in each row and column."""
        indices = np.flatnonzero(of_rows)
        return cls(dict(zip((start + indices).tolist(), of_rows[indices].tolist(), strict=True)), by_column)

    @property
    def missing(self) -> int:
        """Number of NaN."""
        return int(self.by_column.sum())

    @property
    def empty(self) -> list[int]:
        """Rows that hold nothing but NaN."""
        return [row for row, count in self.by_row.items() if count == len(self.by_column)]

    def extent(self, describe: Callable[[tuple[int, int]], str]) -> str:
        """Say how many entries are missing and where the first ones are."""
        columns = int((self.by_column > 0).sum())
        if self.missing == 1:
            return describe(self.first[0])
        shown = "; ".join(map(describe, self.first))
        more = " and more" if self.missing > len(self.first) else ""
        empty = len(self.empty)
        without = f" ({empty:,} without any value)" if empty and len(self.by_column) > 1 else ""
        return (
            f"{self.missing:,} values are missing in {counted(len(self.by_row), 'row')}{without} and "
            f"{counted(columns, 'column')}: {shown}{more}"
        )


def magnitudes(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return between what the largest magnitude of a column lies, if the column is not 0."""
    info = np.finfo(np.float32)
    return (float(info.tiny), float(info.max)) if dtype == np.float32 else (1e-100, 1e100)


def require_magnitudes(rows: Rows, columns: IndexArray | None = None) -> IndexArray:
    """Check the largest magnitudes of some columns, or of all, whose squares float64 then holds.

    Returns
    -------
    ndarray of int
        Columns whose float32 numbers are all subnormal, of which a warning says that they count as 0.

    Raises
    ------
    DataError
        For NaN and infinity, a float64 column beyond 1e100, and one of nothing but numbers below 1e-100.
    """
    columns = np.arange(rows.shape[1]) if columns is None else columns
    least, most = magnitudes(rows.dtype)
    if rows.weights is not None:  # rows of weight 0 are left out below
        rows.require_finite()

    def largest(block: Block) -> FloatArray:
        values, out = block.values, np.zeros(len(columns))
        if block.weights is not None:
            values = arrays.rows_of(values, np.flatnonzero(block.weights))
        if not values.shape[0]:
            return out
        if sparse.issparse(values):
            position = np.full(rows.shape[1], -1)
            position[columns] = np.arange(len(columns))
            position = position[values.indices]
            np.maximum.at(out, position[position >= 0], np.abs(values.data[position >= 0]))
            return out
        xp = arrays.namespace(values)
        if len(columns) < rows.shape[1]:
            values = xp.take(values, arrays.from_numpy(columns, values), axis=1)
        return np.asarray(arrays.to_numpy(xp.max(xp.abs(values), axis=0)), dtype=np.float64)

    sizes = rows.reduce(largest, np.maximum)
    if least <= float(sizes.min()) and float(sizes.max()) <= most:
        return columns[:0]
    if not np.isfinite(sizes).all():
        rows.require_finite()
    small = (sizes > 0) & (sizes < least)
    single = rows.dtype == np.float32
    for column in np.flatnonzero((sizes > most) | (small & (not single)))[:1]:
        what = f"The largest magnitude in {rows.column_text(int(columns[column]))} is {sizes[column]:.2g}"
        hint = f"Divide it by 1e{math.floor(math.log10(sizes[column])):+03d} first."
        raise DataError(f"{what}, and may be 1e-100 to 1e+100.", hint)
    if small.any():
        names = first_few([rows.column_text(int(column)) for column in columns[small]])
        DiagnosticWarning(
            f"{counted(int(small.sum()), 'column holds', 'columns hold')} only numbers below {least:.2g}, "
            f"which float32 does not hold exactly, and counts as 0: {names}. Divide by a small number first."
        ).warn()
    unseen: IndexArray = columns[small]
    return unseen


def row_number(rows: Rows, row: int) -> int:
    """Return the number of a row in its file, which counts rows that were left out."""
    numbers = None if rows.table is None else rows.table.row_numbers
    return row if numbers is None else numbers[row]


def row_text(rows: Rows, row: int) -> str:
    """Return the number of a row in its file and its name, for messages."""
    named = f" (named {rows.row_names[row]!r})" if rows.row_names else ""
    return f"row {row_number(rows, row)}{rows.part}{named}"


def _joined(earlier: Holes | None, later: Holes | None) -> Holes | None:
    if earlier is None or later is None:
        return earlier or later
    earlier.by_row.update(later.by_row)  # a copy for every block would take long
    return replace(
        earlier,
        by_column=earlier.by_column + later.by_column,
        first=(earlier.first + later.first)[:PLACES_SHOWN],
        infinite=earlier.infinite + later.infinite,
        first_infinite=earlier.first_infinite if earlier.infinite else later.first_infinite,
    )


def _not_finite(block: Block) -> Holes | None:
    """Return where a block has NaN or infinity; None where all is finite."""
    values = block.values.data if sparse.issparse(block.values) else block.values
    xp = arrays.namespace(values)
    # One sum decides for nearly all data; a sum can overflow, so only the entries are decisive.
    with np.errstate(over="ignore", invalid="ignore"):
        if bool(xp.isfinite(xp.sum(values))):
            return None
    values, start = arrays.to_numpy(block.dense), block.rows.start
    missing = np.isnan(values)
    of_row = missing.sum(axis=1)
    count = int(of_row.sum())
    # Most tables with holes have no infinity, and counting is faster than listing.
    beyond = values.size - int(np.count_nonzero(np.isfinite(values))) > count
    infinite = np.argwhere(np.isinf(values)) if beyond else np.empty((0, 2), dtype=np.intp)
    if not len(infinite) and not count:
        return None
    rows = np.flatnonzero(of_row)[:PLACES_SHOWN]
    first = [(start + int(i), int(j)) for i in rows for j in np.flatnonzero(missing[i])[:PLACES_SHOWN]]
    where = (start + int(infinite[0, 0]), int(infinite[0, 1])) if len(infinite) else (0, 0)
    more: Any = {"first": (*first[:PLACES_SHOWN],), "infinite": len(infinite), "first_infinite": where}
    return replace(Holes.of_counts(of_row, missing.sum(axis=0), start), **more)


# ----------------------------------------------- rows that came and went


@dataclass(frozen=True, eq=False, kw_only=True)
class SeenRows(Rows):
    """A table that keeps only its size and kind; asking for its numbers raises by design.

    Attributes
    ----------
    shape : (n, d)
    like : array
        Empty, of the kind and dtype that results are returned in.
    """

    shape: tuple[int, int] = (0, 0)
    like: Any = None

    def block(self, rows: slice) -> Block:
        raise NotImplementedError("these rows were not kept")
