"""Arrow columns, whole or in blocks, and the table of them: which become numbers, names and labels."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.checks import NAMES_SHOWN, counted, listed
from gramian.errors import DataError, ParameterError
from gramian.rows.expected import Expected
from gramian.rows.lazy.array import whole_within
from gramian.rows.lazy.spool import Spool, rows_taken
from gramian.rows.table import LOGICAL, Choice, Table, pick_columns, pick_rows, repeated_note, unique_names
from gramian.rows.text_numbers import (
    Commas,
    comma_note,
    converted,
    fields_converted,
    like_number,
    marks,
    number_like,
    numbers_from_text,
    undecided_comma,
)

# Headers that R, pandas and spreadsheets give to a column of row names. "" is the commonest.
_INDEX_NAMES = ("", "rownames", "row.names", "row_names", "unnamed: 0", "__index_level_0__")
EMPTY_LAST = "an empty last column without a name was left out"


@dataclass(frozen=True)
class Columns:
    """Arrow columns with unique names, before any of them is chosen."""

    arrays: tuple[Any, ...]
    names: tuple[str, ...]
    first_is_index: bool
    source: str
    typed: bool
    first_row: int = 0

    def is_number(self, index: int) -> bool:
        t = pa.types
        kinds = (t.is_integer, t.is_floating, t.is_boolean, t.is_decimal, t.is_null)
        return any(is_kind(self.arrays[index].type) for is_kind in kinds)

    def is_text(self, index: int) -> bool:
        kind = self.arrays[index].type
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def table_from_columns(
    arrays: Sequence[Any],
    names: Sequence[str] | None,
    choice: Choice,
    source: str,
    notes: tuple[str, ...] = (),
    separator: str | None = None,
) -> Table:
    """Make a table of Arrow columns.

    Parameters
    ----------
    arrays : sequence of pyarrow.ChunkedArray
        One per column, all of one length.
    names : sequence of str or None
        None where the columns have no names: then a choice knows them by position, counted from 0.
    choice : Choice
    source : str
    notes : tuple of str
        Notes to carry along.
    separator : str or None
        What separated the fields, where the columns come from text and may hold numbers as text.

    Raises
    ------
    DataError
        If there are no rows, no numeric columns, or columns of text that were not given a use.
    ParameterError
        If the choice names rows or columns that do not exist.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table_from_columns([pa.chunked_array([[1, 2]])], ["x"], Choice(), "memory").values.tolist()
    [[1.0], [2.0]]
    """
    if not arrays or len(arrays[0]) == 0:
        raise DataError(f"{source} has no rows. Add at least one row of numbers.")
    row_labels: list[Any] = []
    if choice.label_row is not None:
        arrays, row_labels, choice = _set_row_aside(arrays, names, choice, source)
    if separator is not None:
        arrays, comma_notes = numbers_from_text(arrays, separator, choice.na_values or ())
        notes = (*notes, *comma_notes)
    columns, name_notes = with_names(arrays, names, source, typed=separator is None)
    kept, given, label = pick_columns(columns.names, choice, source)
    id_column, kept, id_notes = find_row_names(columns, choice, given, kept)
    kept, needed_notes = in_order(columns, choice, kept, names is not None)
    refuse_text(columns, kept)
    logical = [columns.names[index] for index in kept if pa.types.is_boolean(columns.arrays[index].type)]
    rows = pick_rows(len(arrays[0]), choice.rows, source)
    notes = (*notes, *name_notes, *id_notes, *needed_notes, *logical_note(logical))
    values = fill(columns, kept, rows)
    table = chosen(columns, names, choice, (kept, id_column, label), rows, values=values, notes=notes)
    if not row_labels:
        return table
    return replace(table, labels=_labels_of_row([row_labels[index] for index in kept]))


def chosen(
    columns: Columns,
    names: Sequence[str] | None,
    choice: Choice,
    roles: tuple[Sequence[int], int | None, int | None],
    rows: range,
    **more: Any,
) -> Table:
    """Return a table of the rows chosen, by the columns of numbers, the one of names, and that of labels."""
    kept, id_column, label = roles
    return Table(
        feature_names=None if names is None else tuple(columns.names[index] for index in kept),
        row_names=None if id_column is None else as_names(cut(columns.arrays[id_column], rows)),
        labels=None if label is None else as_labels(cut(columns.arrays[label], rows)),
        label_name=choice.label or choice.label_row,
        source=columns.source,
        row_numbers=None if choice.rows is None else rows,
        column_numbers=tuple(kept) if names is None else None,
        **more,
    )


def logical_note(names: Sequence[str]) -> tuple[str, ...]:
    """Say which columns held true and false."""
    return (f"{LOGICAL} in {listed(names)}",) if names else ()


def in_order(
    columns: Columns, choice: Choice, kept: list[int], named: bool
) -> tuple[list[int], tuple[str, ...]]:
    """Return columns in the order in which a fitted model wants them, and notes on what that changes."""
    if choice.needed is None or not named:
        return kept, ()
    places, notes = Expected(choice.needed).places([columns.names[i] for i in kept], columns.source)
    return [kept[place] for place in places], notes


def labels_from_columns(
    arrays: Sequence[Any], names: Sequence[str] | None, choice: Choice, source: str
) -> tuple[npt.NDArray[Any], tuple[str, ...] | None, str]:
    """Take labels out of Arrow columns.

    Parameters
    ----------
    arrays, names
        As for :func:`table_from_columns`.
    choice : Choice
        Its label is the column, None where there is but one beside the names; its id the one that names
        rows, by default found as in a table.
    source : str

    Returns
    -------
    labels : ndarray
    row_names : tuple of str or None
    column : str
        Its name.

    Raises
    ------
    ParameterError
        If there are several columns and none was chosen, or it does not exist.
    """
    columns, _ = with_names(arrays, names, source)
    kept, given, label = pick_columns(columns.names, choice, source)
    id_column, kept, _ = find_row_names(columns, choice, given, kept)
    if label is None and len(kept) != 1:
        raise ParameterError(
            f"{source} has the columns {listed(columns.names)}. Say which one holds the labels: "
            f"{source}:{columns.names[kept[-1] if kept else 0]}"
        )
    place = kept[0] if label is None else label
    row_names = None if id_column is None else as_names(columns.arrays[id_column])
    return as_labels(columns.arrays[place]), row_names, columns.names[place]


def _set_row_aside(
    arrays: Sequence[Any], names: Sequence[str] | None, choice: Choice, source: str
) -> tuple[list[Any], list[Any], Choice]:
    """Take out the row that labels the columns, before its text makes text of all of them.

    Returns the columns with the rows that are wanted of those that are left, the labels, and what is left
    of the choice.
    """
    arrays = list(map(decoded, arrays))
    columns, _ = with_names(arrays, names, source)
    id_name = columns.names[0] if choice.id is None else choice.id
    place = pick_columns(columns.names, Choice(id=id_name), source)[1] or 0
    entries = as_names(columns.arrays[place])
    row = choice.label_row
    if names is not None and names[place] == row:
        labels, others = list(names), np.arange(len(entries))
    elif row in entries:
        found = entries.index(row)
        labels = [column[found].as_py() for column in arrays]
        others = np.delete(np.arange(len(entries)), found)
    else:
        close = difflib.get_close_matches(str(row), entries, n=3) or entries
        raise ParameterError(
            f"label={row!r} with transpose names a row, and {source} has none of that name in its column "
            f"{id_name!r}, which holds {listed(close)}."
        )
    if len(others) == 0:
        raise DataError(f"{source} has no rows beside {row!r}. Add at least one row of numbers.")
    others = others[np.array(pick_rows(len(others), choice.rows, source))]
    return [column.take(others) for column in arrays], labels, replace(choice, id=id_name, rows=None)


def _labels_of_row(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Make labels of the values of a row: numbers where all of them are."""
    text = pa.chunked_array([pa.array([None if v is None else str(v) for v in values], pa.string())])
    labels = as_labels(numbers_from_text([text], ",")[0][0])
    if labels.dtype.kind == "f" and np.array_equal(labels, np.rint(labels)):
        return labels.astype(np.int64)
    return labels


def with_names(
    arrays: Sequence[Any], names: Sequence[str] | None, source: str, typed: bool = True
) -> tuple[Columns, tuple[str, ...]]:
    notes: tuple[str, ...] = ()
    arrays = tuple(map(decoded, arrays))
    if names is None:
        return Columns(arrays, tuple(map(str, range(len(arrays)))), False, source, typed), notes
    if len(arrays) > 1 and names[-1] == "" and pa.types.is_null(arrays[-1].type):
        arrays, names = arrays[:-1], names[:-1]
        notes = (EMPTY_LAST,)
    unique, repeated = unique_names(names)
    first_is_index = names[0].casefold() in _INDEX_NAMES
    return Columns(arrays, unique, first_is_index, source, typed), (*notes, *repeated_note(repeated))


def decoded(column: Any) -> Any:
    """Give dictionary-encoded columns and string views in the plain form that functions take."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column


def find_row_names(
    columns: Columns, choice: Choice, given: int | None, kept: list[int]
) -> tuple[int | None, list[int], tuple[str, ...]]:
    """Take the first column for row names where it can be nothing else."""
    first = first_free(columns.names, choice)
    if first is None or first == given or len(columns.names) == 1:
        return given, kept, ()
    column, name = columns.arrays[first], columns.names[first]
    rest = [index for index in kept if index != first]
    countable = pa.types.is_integer(column.type) or columns.is_text(first)
    if first == 0 and columns.first_is_index and countable and all_different(column):
        if given is not None:
            return given, rest, (f"{name!r} left out: it names rows, as does the id {choice.id!r}",)
        known = "which has no name" if name == "column 0" else repr(name)
        return first, rest, (f"first column, {known}, used as row names",)
    if given is not None or not columns.is_text(first) or not all_different(column):
        return given, kept, ()
    # More likely a column of numbers with a slip in it.
    if 2 * (pc.sum(number_like(column)).as_py() or 0) > len(column):
        return None, kept, ()
    return first, rest, (f"column {name!r} holds unique text: used as row names",)


def first_free(names: Sequence[str], choice: Choice) -> int | None:
    """Return the first column that nobody asked for, which may name rows."""
    taken = {choice.label, *(choice.drop or ()), *(choice.columns or ()), *(choice.needed or ())}
    return next((index for index, name in enumerate(names) if name not in taken), None)


def all_different(column: Any) -> bool:
    return bool(column.null_count == 0 and pc.count_distinct(column).as_py() == len(column))


def refuse_text(columns: Columns, kept: Sequence[int]) -> None:
    text = [index for index in kept if not columns.is_number(index)]
    if len(text) == len(kept):
        held = f": {_describe(columns, text)}" if text else ""
        raise DataError(
            f"{columns.source} has no numeric columns{held}. {_why_text(columns, text)}"
            "At least one column must hold numbers and not be dropped, an id or a label."
        )
    if not text:
        return
    names = [columns.names[index] for index in text[:NAMES_SHOWN]]
    more = ", ..." if len(text) > NAMES_SHOWN else ""
    quoted = ", ".join(f'"{name}"' for name in names)
    raise DataError(
        f"{columns.source} has {counted(len(text), 'column that holds', 'columns that hold')} no numbers: "
        f"{_describe(columns, text)}. {_why_text(columns, text)}"
        f"Leave out with drop=[{quoted}{more}] (--drop {_for_shell(names)}{more}), "
        f'or take one out as labels with label="{names[0]}" (--label {_for_shell(names[:1])}) '
        f'or as row names with id="{names[0]}" (--id {_for_shell(names[:1])}).'
    )


def _why_text(columns: Columns, text: Sequence[int]) -> str:
    """Say of columns of text that are nearly numbers what keeps them from it, and what to do."""
    if columns.typed:
        return ""
    found: dict[str, int] = {}
    nearly, advice = [], ""
    for index in filter(columns.is_text, text):
        if here := marks(columns.arrays[index]):
            nearly.append(columns.names[index])
            found = {mark: found.get(mark, 0) + here.get(mark, 0) for mark in {**found, **here}}
        elif not advice and (value := undecided_comma(columns.arrays[index])) is not None:
            advice = (
                f"In {columns.names[index]!r}, {value} may be {value.replace(',', '')} or "
                f"{value.replace(',', '.')}, and nothing tells whether the comma separates thousands or "
                "decimals: write one or the other. "
            )
    if not nearly:
        return advice
    counts = " and ".join(f"{mark!r} ({counted(count, 'time')})" for mark, count in found.items())
    python = ", ".join(f'"{mark}"' for mark in found)
    return advice + (
        f"{listed(nearly)} would be numbers but for {counts}: if that stands for a missing value, read it as "
        f'one with na_values=[{python}] (--na-values "{",".join(found)}"). '
    )


def _for_shell(names: Sequence[str]) -> str:
    text = ",".join(names)
    return f'"{text}"' if any(character.isspace() for character in text) else text


def _describe(columns: Columns, text: Sequence[int]) -> str:
    parts = [f"{columns.names[index]!r} ({_sample_value(columns, index)})" for index in text[:NAMES_SHOWN]]
    hidden = len(text) - NAMES_SHOWN
    return ", ".join(parts) + (f" and {hidden} more" if hidden > 0 else "")


def _sample_value(columns: Columns, index: int) -> str:
    """Show the first value that is no number: in a column of numbers with a slip, the slip."""
    column = columns.arrays[index]
    if not columns.is_text(index):
        return str(column.type)
    odd = pc.index(number_like(column), pa.scalar(False)).as_py()
    row = max(odd, 0)
    value = str(column[row].as_py())
    shown = value if len(value) <= 24 else f"{value[:21]}..."
    return f"{shown!r} in row {columns.first_row + row}"


def cut(column: Any, rows: range) -> Any:
    if rows.step == 1:
        return column.slice(rows.start, len(rows))
    return column.take(np.arange(rows.start, rows.stop, rows.step))


def fill(columns: Columns, kept: Sequence[int], rows: range) -> npt.NDArray[Any]:
    """Copy column by column into one array, so that never more than one column exists twice."""
    single = _single(columns, kept)
    kind = pa.float32() if single else pa.float64()
    values = np.empty((len(rows), len(kept)), dtype=np.float32 if single else np.float64)
    for place, index in enumerate(kept):
        start = 0
        for chunk in cut(columns.arrays[index], rows).chunks:
            stop = start + len(chunk)
            # Integers beyond 2**53 are rounded like everywhere in NumPy, not refused.
            numbers = chunk if chunk.type == kind else chunk.cast(kind, safe=False)
            values[start:stop, place] = numbers.to_numpy(zero_copy_only=False)
            start = stop
    return values


def _single(columns: Columns, kept: Sequence[int]) -> bool:
    """Say whether float32 holds all numbers of the columns."""
    kinds = (columns.arrays[index].type for index in kept)
    return all(pa.types.is_float32(kind) or pa.types.is_float16(kind) for kind in kinds)


def as_names(column: Any) -> tuple[str, ...]:
    return tuple("" if value is None else str(value) for value in column.to_pylist())


def as_labels(column: Any) -> npt.NDArray[Any]:
    kind = column.type
    if pa.types.is_integer(kind) and column.null_count == 0:
        return np.asarray(column.to_numpy())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
    return np.array(as_names(column), dtype=np.str_)


# ----------- block after block, and what only all blocks together decide

if TYPE_CHECKING:
    from gramian.rows.arrow_files import ArrowBlocks
    from gramian.rows.delimited import TextBlocks

    # The rows of a file, block after block, as often as they are asked for.
    Blocks: TypeAlias = "TextBlocks | ArrowBlocks"


class OtherEncoding(Exception):
    """A block is not in the encoding that the text seemed to have: it has to be read again."""


@dataclass(frozen=True)
class WideBlock:
    """Rows whose numbers are one array: an Arrow column takes as long for one row as for a thousand.

    Attributes
    ----------
    values : ndarray
        (m, number of ``places``), NaN where a value is missing.
    places : ndarray of int
        The columns of the file that ``values`` has.
    columns : callable
        Returns the same rows as Arrow columns.
    others : dict of int to pyarrow.ChunkedArray
        Columns that are no numbers, of a file that has types.
    text : pyarrow.ChunkedArray or None
        Of delimited text, the fields of all columns that are read as text, row by row.
    text_places : ndarray of int
        Which columns those are.
    real : bool
        Whether any of the numbers was written as a real one.
    """

    values: npt.NDArray[Any]
    places: npt.NDArray[np.intp]
    columns: Callable[[], list[Any]]
    others: dict[int, Any] = field(default_factory=dict)
    text: Any = None
    text_places: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    real: bool = False

    def column(self, place: int) -> Any:
        """Return a column that is not among the numbers."""
        if place in self.others:
            return self.others[place]
        index = int(np.searchsorted(self.text_places, place))
        return self.text.take(np.arange(index, len(self.text), len(self.text_places)))

    def numbers(
        self, kept: Sequence[int], comma: str | None, na_values: Sequence[str]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp], npt.NDArray[np.intp]] | None:
        """Return the values of some columns, and which of all columns of text are none or have commas.

        None if any of those columns is no number.
        """
        values, places = self.values, self.places
        stayed = commas = self.text_places
        if self.text_places.size:
            found, are_numbers, by_comma = fields_converted(
                self.text, len(self.text_places), comma, na_values
            )
            stayed, commas = stayed[~are_numbers], commas[by_comma]
            values = np.concatenate([values, found[:, are_numbers]], axis=1)
            places = np.concatenate([places, self.text_places[are_numbers]])
        order = np.argsort(places, kind="stable")
        wanted = np.searchsorted(places[order], kept)
        if not kept or not np.isin(kept, places).all():
            return None
        return values[:, order[wanted]], stayed, commas


@dataclass(frozen=True)
class _Guess:
    """What only the whole file decides, as far as it is known.

    Attributes
    ----------
    text : frozenset of int
        Columns that are not read as numbers: those of text, in some block at least, of names and of labels.
    comma : str or None
        What commas separate.
    id_column : int or None
    kept : tuple of int
        Columns of numbers, in the order that is wanted.
    empty_last : bool
        Whether the last column has no name and holds nothing.
    unnamed : bool
        Whether the first column is known not to name rows by itself.
    """

    text: frozenset[int] = frozenset()
    comma: str | None = None
    id_column: int | None = None
    kept: tuple[int, ...] = ()
    empty_last: bool = False
    unnamed: bool = False


def table_from_blocks(blocks: Blocks, choice: Choice, limit: int) -> Table:
    """Make a table of columns that come in blocks, its numbers in a spool where they are many.

    What the whole file decides is guessed from the first block. Where a later one shows that it is otherwise,
    all are read again by what is known then.

    Parameters
    ----------
    blocks : Blocks
    choice : Choice
    limit : int
        Bytes of working memory.

    Raises
    ------
    DataError, ParameterError
        As of :func:`gramian.rows.columnar.table_from_columns`.
    FileError
        If the disk is full.
    """
    guess: _Guess | None = None
    while True:
        try:
            guess = guess or _first_guess(blocks, choice)
            reading = _Reading(blocks, choice, guess)
            for block in blocks.read(guess.text):
                reading.add(block)
            right = reading.right()
            if right == guess:
                return reading.table(limit)
            guess = right
        except OtherEncoding:
            guess = None


def _first_guess(blocks: Blocks, choice: Choice) -> _Guess:
    block = next(blocks.read(frozenset()), None)
    if block is None:
        raise DataError(f"{blocks.source} has no rows. Add at least one row of numbers.")
    arrays = _by_columns(block)
    commas = Commas(blocks.separator or ",", blocks.na_values)
    if blocks.separator is not None:
        commas.look_at(arrays)
    empty_last = _nothing_last(blocks, arrays)
    reading = _Reading(blocks, choice, _Guess(comma=commas.meaning, empty_last=empty_last))
    columns = reading.columns(arrays)
    id_column, kept, _ = reading.roles(columns)
    text = {place for place in (id_column, reading.label(columns)) if place is not None}
    if blocks.separator is not None:
        text |= {place for place, array in enumerate(arrays) if pa.types.is_string(array.type)}
    kept, _ = in_order(columns, choice, kept, blocks.names is not None)
    return _Guess(frozenset(text), commas.meaning, id_column, tuple(kept), empty_last)


def _nothing_last(blocks: Blocks, arrays: list[Any]) -> bool:
    return (
        blocks.names is not None
        and len(blocks.names) > 1
        and blocks.names[-1] == ""
        and pa.types.is_null(arrays[-1].type)
    )


class _Reading:
    """One reading of all blocks under a guess, and what they show."""

    def __init__(self, blocks: Blocks, choice: Choice, guess: _Guess) -> None:
        self._blocks, self._choice, self._guess = blocks, choice, guess
        self._n_rows = 0
        self._first: Columns | None = None
        self._odd: Columns | None = None  # a block with a column that is no number, for all that is known
        self._nothing_last = True
        self._commas = Commas(blocks.separator or ",", blocks.na_values)
        self._kinds: defaultdict[str, set[int]] = defaultdict(set)  # which columns held what, in some block
        self._aside: dict[int, list[Any]] = {}
        self._by_comma: set[int] = set()
        self._stayed_text: set[int] = set()
        self._spool = Spool(blocks.source, blocks.needed, path=blocks.path)

    def columns(self, arrays: list[Any]) -> Columns:
        """Return the columns of a block as they are understood."""
        names = self._blocks.names
        if self._blocks.separator is not None:
            arrays, by_comma = converted(arrays, self._guess.comma, self._blocks.na_values)
            self._by_comma |= by_comma
            self._stayed_text |= {place for place, one in enumerate(arrays) if pa.types.is_string(one.type)}
        if self._guess.empty_last and names is not None:
            arrays, names = arrays[:-1], names[:-1]
        elif pa.types.is_null(arrays[-1].type):
            arrays = [*arrays[:-1], arrays[-1].cast(pa.float64())]
        source = self._blocks.source
        return with_names(arrays, names, source, self._blocks.separator is None)[0]

    def roles(self, columns: Columns) -> tuple[int | None, list[int], tuple[str, ...]]:
        """Return the column of names, those of numbers, and notes."""
        kept, given, _ = pick_columns(columns.names, self._choice, columns.source)
        if self._guess.unnamed:
            return given, kept, ()
        return find_row_names(columns, self._choice, given, kept)

    def _given(self, columns: Columns) -> int | None:
        return pick_columns(columns.names, self._choice, columns.source)[1]

    def label(self, columns: Columns) -> int | None:
        """Return the column of labels."""
        return pick_columns(columns.names, self._choice, columns.source)[2]

    def add(self, block: list[Any] | WideBlock) -> None:
        """Take the numbers of a block into the spool, and keep names and labels."""
        if isinstance(block, WideBlock) and self._first is not None and self._added(block, self._first):
            return
        arrays = _by_columns(block)
        start, count = self._n_rows, len(arrays[0])
        self._n_rows += count
        if not count:
            return
        self._nothing_last = self._nothing_last and _nothing_last(self._blocks, arrays)
        if self._blocks.separator is not None:
            self._commas.look_at(arrays)
        for place, array in enumerate(arrays):
            self._kinds[_kind(array)].add(place)
        columns = self.columns(arrays)
        self._first = self._first or columns
        for aside in (self._guess.id_column, self.label(columns)):
            if aside is not None:
                self._aside.setdefault(aside, []).append(decoded(arrays[aside]))
        kept = self._guess.kept
        if not kept or not all(map(columns.is_number, kept)):
            span = f"{columns.source}, rows {start:,} to {start + count - 1:,},"
            self._doubt(replace(columns, source=span, first_row=start))
        rows = _share(self._choice.rows, start, count)
        if rows and self._odd is None:
            self._spool.append(fill(columns, kept, rows))

    def _added(self, block: WideBlock, first: Columns) -> bool:
        """Do what :meth:`add` does without work for each column of numbers, or return False."""
        blocks, guess = self._blocks, self._guess
        numbers = block.numbers(guess.kept, guess.comma, blocks.na_values)
        if numbers is None or not np.isin([*self._aside], block.places, invert=True).all():
            return False
        values, stayed, by_comma = numbers
        start, count = self._n_rows, len(values)
        self._n_rows += count
        self._note_kinds(block)
        for place, found in self._aside.items():
            found.append(decoded(block.column(place)))
        if block.text_places.size:
            self._commas.look_at_fields(block.text, block.text_places)
        self._commas.real = self._commas.real or block.real
        self._stayed_text.update(stayed.tolist())
        self._by_comma.update(by_comma.tolist())
        rows = _share(self._choice.rows, start, count)
        if rows and self._odd is None:
            kind = np.float32 if _single(first, guess.kept) else np.float64
            self._spool.append(values[rows.start : rows.stop : rows.step].astype(kind, copy=False))
        return True

    def _note_kinds(self, block: WideBlock) -> None:
        """Note what the columns of a block hold."""
        # A column of a text that holds nothing has no type.
        nothing = np.isnan(block.values).all(axis=0) & (self._blocks.separator is not None)
        self._kinds["null"].update(block.places[nothing].tolist())
        self._kinds["number"].update(block.places[~nothing].tolist())
        self._kinds["text"].update(block.text_places.tolist())
        for place, array in block.others.items():
            self._kinds[_kind(array)].add(place)
        if self._nothing_last:
            last = len(self._blocks.names or ()) - 1
            holds_nothing = last in block.others and pa.types.is_null(block.others[last].type)
            self._nothing_last = holds_nothing or last in block.places[nothing]

    def _doubt(self, columns: Columns) -> None:
        """Refuse columns of text, unless all that comes may show that they are numbers or names."""
        self._odd = self._odd or columns
        candidate = self._may_name_rows()
        if not self._guess.kept and candidate is None:
            refuse_text(columns, ())
        for place in self._guess.kept:
            if not (
                columns.is_number(place)
                or (columns.is_text(place) and place == candidate)
                or (columns.is_text(place) and not columns.typed and like_number(columns.arrays[place]))
            ):
                refuse_text(columns, self._guess.kept)

    def _may_name_rows(self) -> int | None:
        """Return the first column that has no use, unless it is known that it does not name rows."""
        first, guess = self._first, self._guess
        place = None if first is None or guess.unnamed else first_free(first.names, self._choice)
        if first is None or place is None or place == self._given(first):
            return None
        return place if all_different(first.arrays[place]) else None

    def right(self) -> _Guess:
        """Return what this reading showed; equal to its guess where that was right."""
        guess, first = self._guess, self._first
        if first is None:
            raise DataError(f"{self._blocks.source} has no rows: only a header line. Add at least one row.")
        text = self._kinds["text"]
        mixed = text & set().union(*(places for kind, places in self._kinds.items() if kind != "text"))
        right = replace(
            guess,
            text=guess.text | mixed if self._blocks.separator else guess.text,
            comma=guess.comma if text.isdisjoint(guess.kept) else self._commas.meaning,
            empty_last=self._nothing_last,
        )
        candidate = self._may_name_rows()
        if candidate in text:
            given = self._given(first)
            kept = tuple(place for place in guess.kept if place != candidate)
            named_by = candidate if given is None else given
            if (named_by, kept) != (guess.id_column, guess.kept):
                return replace(right, text=right.text | {candidate}, id_column=named_by, kept=kept)
        if right == guess:
            whole = self._whole(first)
            id_column, found, _ = self.roles(whole)
            found_now = tuple(in_order(whole, self._choice, found, self._blocks.names is not None)[0])
            if (id_column, found_now) != (guess.id_column, guess.kept):
                refuse_text(whole, found_now)
                return replace(right, id_column=id_column, kept=found_now, unnamed=True)
            if self._odd is not None:
                refuse_text(self._odd, guess.kept)
        return right

    def _whole(self, first: Columns) -> Columns:
        """Return the columns of the first block, but whole ones where they were set aside."""
        arrays = list(first.arrays)
        for place, found in self._aside.items():
            column = _joined(found)
            if self._blocks.separator is not None:
                column = self._blocks.typed(column)
                column = converted([column], self._commas.meaning, self._blocks.na_values)[0][0]
            arrays[place] = column
        return replace(first, arrays=tuple(arrays))

    def table(self, limit: int) -> Table:
        """Return the table."""
        assert self._first is not None
        blocks, choice, guess = self._blocks, self._choice, self._guess
        columns = self._whole(self._first)
        typed = blocks.separator is None
        names = blocks.names[:-1] if guess.empty_last and blocks.names else blocks.names
        notes = [*blocks.notes]
        if self._by_comma - self._stayed_text and guess.comma == self._commas.meaning:
            notes.append(comma_note(guess.comma))
        if guess.empty_last:
            notes.append(EMPTY_LAST)
        notes += with_names(columns.arrays, names, columns.source, typed)[1]
        _, found, id_notes = self.roles(columns)
        kept = guess.kept
        _, needed_notes = in_order(columns, choice, found, names is not None)
        logical = self._kinds["logical"] - self._kinds["number"] - self._kinds["text"]
        picked = pick_rows(self._n_rows, choice.rows, columns.source)
        stored = self._spool.stored()
        place_notes: tuple[str, ...] = ()
        if _from_the_end(choice.rows):
            stored, place_notes = rows_taken(stored, picked)
        large = stored.nbytes > whole_within(limit)
        return chosen(
            columns,
            names,
            choice,
            (kept, guess.id_column, self.label(columns)),
            picked,
            values=stored if large else stored[:],
            notes=(
                *notes,
                *id_notes,
                *needed_notes,
                *logical_note([columns.names[i] for i in kept if i in logical]),
                *((self._spool.note, *place_notes) if large else ()),
            ),
            sha256=blocks.sha256,
            hashed="the bytes of the file" if blocks.sha256 else "",
        )


def _by_columns(block: list[Any] | WideBlock) -> list[Any]:
    return block.columns() if isinstance(block, WideBlock) else block


def _kind(array: Any) -> str:
    t = pa.types
    if t.is_null(array.type):
        return "null"
    if t.is_boolean(array.type):
        return "logical"
    return "number" if t.is_integer(array.type) or t.is_floating(array.type) else "text"


def _joined(parts: list[Any]) -> Any:
    tables = [pa.table([part], ["column"]) for part in parts]
    return pa.concat_tables(tables, promote_options="permissive").column(0)


def _from_the_end(rows: slice | None) -> bool:
    return rows is not None and min(rows.start or 0, rows.stop or 0) < 0


def _share(rows: slice | None, start: int, count: int) -> range:
    """Return which rows of a block are wanted; all, where they are counted from the end of the file."""
    if rows is None or _from_the_end(rows):
        return range(count)
    step = rows.step or 1
    first = rows.start or 0
    first += max(0, -(-(start - first) // step)) * step
    stop = count if rows.stop is None else min(count, rows.stop - start)
    return range(first - start, max(stop, first - start), step)
