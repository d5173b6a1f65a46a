"""Columns in batches of rows, and the table of them: what names rows, what are numbers, what are labels.

The first rows of a file, up to 16 MB, decide that; later rows of another kind raise an error.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, reduce
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.core.checks import NAMES_SHOWN, counted, first_few, listed
from gramian.errors import DataError, shortened
from gramian.tables import stored, strings
from gramian.tables.labels import label_texts
from gramian.tables.layout import INDEX_NAMES, Layout
from gramian.tables.reading import ReadingOptions, group_column, na_values_of, pick_columns, pick_rows
from gramian.tables.source import whole_within
from gramian.tables.table import LOGICAL, Expected, Table, label_fields, repeated_note, unique_names
from gramian.tables.times import set_back, times_of

_OF_HEADER = 3  # first rows that may be parts of a header
_MIDNIGHT = " 00:00:00"
DECIDING = 16 << 20  # bytes of the first rows, which decide what columns are
KEPT = 8 << 20  # bytes of parsed columns that are kept for the next pass
MOST_SPELLED = 200  # groups in whose names a slip is looked for
_kept: list[Any] = []  # the state of a source, its batches, its notes, and the digest of its file

# ---------------------------------------------------------- where columns come from


class ColumnSource:
    """Columns in batches, of a file that stays open until the table is made.

    Attributes
    ----------
    source : str
        What messages call it.
    names : tuple of str or None
        Names of the columns as the file has them; None where columns are known by position.
    path : Path or None
        The file, if it is one.
    separator : str or None
        What separates the fields of a text, in which numbers may be written in several ways; else None.
    na_values : tuple of str
        Texts that stand for a missing value, in addition to the usual ones.
    na_of : mapping of int to tuple of str
        Others in single columns, by their places.
    notes : tuple of str
        What was decided about the file; complete after a pass over it.
    units : mapping of str to str
        Units of columns, by their names.
    descriptions : mapping of str to str
        What the file says of columns below its header, such as the text of a question, by their names.
    levels : mapping of str to tuple of str
        Ordered categories of columns, by their names; complete after a pass over them.
    header : int
        The line of the header, counted from 1; 0 if there is none.
    first_lines : tuple of tuple of str
        The first lines of a text, or rows of a sheet, as they are.
    sheets : tuple of str
        The sheets of a workbook.
    word : str
        What messages call a row of the file.
    """

    source: str
    names: tuple[str, ...] | None = None
    path: Path | None = None
    separator: str | None = None
    na_values: tuple[str, ...] = ()
    na_of: Mapping[int, tuple[str, ...]] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    units: Mapping[str, str] = MappingProxyType({})
    descriptions: Mapping[str, str] = MappingProxyType({})
    levels: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    header: int = 0
    first_lines: tuple[tuple[str, ...], ...] = ()
    sheets: tuple[str, ...] = ()
    word: str = "line"

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """All names that options may use for columns; None where they have none."""
        return None if self.names is None else unique_names(self.names)[0]

    def unique_names(self, width: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the first columns, or their positions, and names that occur more than once."""
        if self.names is None:
            return tuple(map(str, range(width))), ()
        return unique_names(self.names[:width])

    def prepared(self, reading: ReadingOptions, expected: Expected | None = None) -> ColumnSource:
        """Return the source as options want it read."""
        return self

    def _lay_out(self, layout: Layout, names: tuple[str, ...] | None) -> None:
        self._layout, self.names, self.header = layout, names, layout.header
        self.notes += layout.notes
        self.units, self.descriptions = (
            {name: text for name, text in zip(self.column_names or (), texts, strict=False) if text}
            for texts in (layout.units or (), layout.descriptions)
        )
        columns = self.column_names or tuple(map(str, range(layout.n_fields)))
        self.na_values, of_columns = na_values_of(self.na_values, columns, self.source)
        self.na_of = {columns.index(name): marks for name, marks in of_columns.items()}

    def _note(self, note: str) -> None:
        self.notes = self.notes if note in self.notes else (*self.notes, note)

    def _note_table(self, title: str) -> None:
        """Note that another table follows."""
        title = shortened(title.strip("\r ,;\t"), 60)
        self._note(f"another table below a blank {self.word} was left out: {title!r}")

    def _note_below(self, lines: Sequence[str]) -> None:
        """Note which lines below the table were left out."""
        texts, what = [line.strip(f"\r {self.separator}") for line in lines], self.word
        if texts := [line for line in texts if line]:
            many = counted(len(texts), f"{what} below the table was", f"{what}s below the table were")
            self._note(f"{many} left out: {shortened(texts[0], 60)!r}")
        elif any(line.strip() for line in lines):
            self._note(f"blank {what}s below the table were left out")

    def _without_headers(self, columns: list[Any]) -> list[Any]:
        """Return columns of text without rows that repeat the header, and note these."""
        names = self.names or ()
        named = [at for at, name in enumerate(names) if name.strip()]
        first = pa.array([]) if len(named) < 2 else columns[named[0]]
        if not is_text(first) or not pc.any(repeats := pc.equal(first, names[named[0]])).as_py():
            return columns
        others = (pc.equal(columns[at].cast(pa.string()), names[at]) for at in named[1:])
        kept = pc.invert(pc.fill_null(reduce(pc.and_, others, repeats), False))
        if not pc.all(kept).as_py():
            self._note(f"{self.word}s that repeat the header were left out")
        return [column.filter(kept) for column in columns]

    def batches(self, limit: int | None = None, plain: AbstractSet[int] = frozenset()) -> Iterator[list[Any]]:
        """Yield the columns of all rows once, from the first to the last; those of a text as strings.

        Parameters
        ----------
        limit : int or None
            Bytes of working memory, which a batch takes a small part of. None if all rows go into memory.
        plain : set of int
            Columns of a text that may come as float64; more may be added between batches.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class ColumnsInMemory(ColumnSource):
    """Arrow columns as a source of one batch."""

    arrays: Sequence[Any] = ()
    names: tuple[str, ...] | None = None
    source: str = "memory"
    notes: tuple[str, ...] = ()
    separator: str | None = None
    na_values: tuple[str, ...] = ()

    def batches(self, limit: int | None = None, plain: AbstractSet[int] = frozenset()) -> Iterator[list[Any]]:
        """Yield all rows."""
        yield [decoded(array) for array in self.arrays]


def decoded(column: Any) -> Any:
    """Return a column in one piece, without a dictionary or string views, which few functions take."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column


def joined(chunks: Sequence[Any], source: str) -> Any:
    """Return the parts of a column as one, in the type that holds them all.

    Raises
    ------
    DataError
        If there is no such type.
    """
    tables = [pa.table([chunk], ["column"]) for chunk in chunks]
    try:
        return pa.concat_tables(tables, promote_options="permissive").column(0).combine_chunks()
    except pa.ArrowException as error:
        raise DataError(f"{source} holds files whose columns are of different types: {error}.") from error


def batches_of(
    source: ColumnSource, limit: int | None = None, plain: AbstractSet[int] = frozenset()
) -> Iterator[list[Any]]:
    """Yield the batches of a source; those of a small text or sheet are kept until another one is parsed.

    A look at a table and its reading then share one pass.
    """
    state = _state(source)
    if state is not None and _kept and _kept[0] == state and _kept[3] == _digest(state[0]):
        source.notes = _kept[2]
        yield from (_without_marks(source, batch) for batch in _kept[1])
        return
    batches, size = [], 0
    for batch in source.batches(limit, plain):
        size += sum(column.nbytes for column in batch)
        if size <= KEPT:
            batches.append(batch)
        yield _without_marks(source, batch)
    if state is not None and size <= KEPT and not plain:
        _kept[:] = state, batches, source.notes, _digest(state[0])


def _without_marks(source: ColumnSource, batch: list[Any]) -> list[Any]:
    """Return a batch without the missing values of single columns."""
    changed = {at: strings.without_marks_of(batch[at], marks) for at, marks in source.na_of.items()}
    return [changed.get(at, column) for at, column in enumerate(batch)] if changed else batch


def _state(source: ColumnSource) -> tuple[Any, ...] | None:
    """Return what tells parsed texts and sheets apart, also from what the same file held before."""
    if source.path is None or (source.separator is None and not source.sheets):
        return None
    try:
        file = source.path.stat()
    except OSError:  # it is gone, and still open
        return None
    how = source.names, vars(source).get("_layout"), source.na_values, vars(source).get("skip_footer")
    return source.path, file.st_mtime_ns, file.st_size, source.source, source.sheets, *how


def _digest(path: Path) -> bytes | object:
    """Return what differs where the bytes do: two writes in a clock tick leave one time of change."""
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return object()  # equal to nothing


def whole_fields(source: ColumnSource, most: int | None = None) -> list[Any]:
    """Return columns in memory, those of a text as strings: all rows, or those of so many bytes."""
    batches = batches_of(source) if most is None else _first_of(batches_of(source, most), most)
    return [joined(chunks, source.source) for chunks in zip(*batches, strict=True)]


# ------------------------------------------------------------ columns as a whole


class Columns:
    """The first rows of a source, or all, in the types that they have; how their numbers are written.

    Parameters
    ----------
    fields : list of pyarrow.Array
        As the source has them: of a text all are strings.
    source : ColumnSource
    reading : ReadingOptions, optional
        Of these, what entries beyond limits and slips become.
    first_row : int
        Number of the first of their rows in the file.

    Attributes
    ----------
    arrays : list of pyarrow.Array
        Without the last columns that have no name and hold nothing.
    names : tuple of str
        Unique.
    repeated : tuple of str
        Names that occur more than once.
    comma : str or None
        What commas separate.
    written : set of int
        Columns that are not read as plain numbers.
    words : set of int
        Those without any digit.
    """

    def __init__(
        self,
        fields: list[Any],
        source: ColumnSource,
        reading: ReadingOptions | None = None,
        first_row: int = 0,
    ) -> None:
        self.fields, self.source, self.first_row = fields, source, first_row
        reading = reading or ReadingOptions()
        self.below_limit, self.slips = reading.below_limit or "missing", reading.slips
        self.comma: str | None = None
        self.written: set[int] = set()
        self.words: set[int] = set()
        self._signs: dict[int, str] = {}  # units of the columns that are read without such and other signs
        self._limits: dict[int, tuple[int, str]] = {}  # how many entries, and one of them
        # How many cells, one of them and its meaning.
        self._slips: dict[int, tuple[int, tuple[str, str]]] = {}
        self._how: dict[str, set[int]] = {"commas": set(), "groups": set(), "parentheses": set()}
        self._unclear: dict[int, str] = {}
        arrays = fields if source.separator is None else self._as_written(fields)
        width = len(arrays)
        while width > 1 and source.names is not None and source.names[width - 1] == "":
            if arrays[width - 1].null_count < len(arrays[width - 1]):
                break
            width -= 1
        self.arrays = [self._dated(index, column) for index, column in enumerate(arrays[:width])]
        self.names, self.repeated = source.unique_names(width)

    @classmethod
    def whole(cls, source: ColumnSource, reading: ReadingOptions | None = None) -> Columns:
        """Return all columns of a source, read as options say."""
        source = source.prepared(reading or ReadingOptions())
        return cls(whole_fields(source), source, reading)

    def row_names(self, name: str) -> tuple[str, ...]:
        """Return a column as names of rows."""
        return as_names(self.as_file_has(name))

    def as_file_has(self, name: str) -> Any:
        """Return a column as it is written, null where it is blank."""
        field = self.fields[self.names.index(name)]
        return field if self.source.separator is None else strings.as_given(field)

    def rows_of(self, groups: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which rows have one of some texts: each is COLUMN=TEXT."""
        out = np.zeros(len(self.arrays[0]), dtype=bool)
        for entry in groups:
            name = group_column(entry, self.names)
            if name is not None and is_text(column := self.arrays[self.names.index(name)]):
                same = pc.equal(strings.as_given(column), entry[len(name) + 1 :])
                out |= np.array(pc.fill_null(same, False))
        return out

    def labels(self, index: int) -> npt.NDArray[Any]:
        """Return a column as labels."""
        return as_labels(self.arrays[index], self.fields[index], self.source)

    def described(
        self, id: str | None, label: str | None = None
    ) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...] | None]:
        """Return columns as labels, first the one of that name, without that of row names; and these."""
        reading = ReadingOptions(id=id if id in self.names and id != label else None, label=label)
        roles = pick_columns(self.names, reading, self.source.source)
        index, others, _ = find_row_names(self, reading, roles.id, roles.values)
        row_names = None if index is None else self.row_names(self.names[index])
        return {self.names[at]: self.labels(at) for at in (*roles.labels.values(), *others)}, row_names

    def _as_written(self, fields: Sequence[Any]) -> list[Any]:
        """Return the first rows as numbers where they are, with any commas and signs."""
        marks, result = self.source.na_values, strings.typed(fields, self.source.na_values)
        numeric = list(map(is_number, result))
        texts = [index for index, is_numeric in enumerate(numeric) if not is_numeric]
        found = strings.words([fields[index] for index in texts], marks)
        self.words = {texts[place] for place in found}
        tried = [index for index in texts if index not in self.words]
        bare = {index: strings.bare(fields[index], marks, later=False) for index in tried}
        signed = {index: some for index, some in bare.items() if some is not None}
        shown = [signed[at].fields if at in signed else field for at, field in enumerate(fields)]
        plain = list(compress(fields, numeric))
        separator = self.source.separator or ","
        self.comma = strings.meaning_of_commas([shown[index] for index in texts], plain, separator, marks)
        if self.comma == "points":
            texts = [
                at for at, column in enumerate(result) if at in texts or pa.types.is_floating(column.type)
            ]
        self.written = set(range(len(fields)) if self.comma == "points" else texts)
        for index, column in self.as_numbers({index: fields[index] for index in texts}, signed).items():
            if is_number(column) or is_number(result[index]):
                result[index] = column
        return [strings.without_marks(column, marks) for column in result] if marks else result

    def as_numbers(
        self, fields: Mapping[int, Any], signed: Mapping[int, strings.Bare] = MappingProxyType({})
    ) -> dict[int, Any]:
        """Return some columns of text as numbers where they are, with commas and signs as in earlier rows."""
        result, marks = dict(fields), self.source.na_values
        plain = [index for index in fields if index not in self._signs and index not in signed]
        columns = strings.as_numbers([fields[index] for index in plain], marks, self.comma)
        result.update(zip(plain, columns, strict=True))
        words = strings.words(list(fields.values()), marks)
        for place, (index, texts) in enumerate(fields.items()):
            if place in words:
                continue
            if not is_number(result[index]):
                result[index] = self._signed(index, texts, signed.get(index) or strings.bare(texts, marks))
            if self.slips and not is_number(result[index]):
                result[index] = self._corrected(index, texts)
                continue  # a comma may be the slip
            commas = "[.,]" if self.comma == "points" else ","
            if is_number(result[index]) and pc.any(pc.match_substring_regex(texts, commas)).as_py():
                self._how["commas"].add(index)
        return result

    def _signed(self, index: int, texts: Any, bare: strings.Bare | None) -> Any:
        """Return a column of numbers with currencies, limits and the like; its texts if it is none."""
        if bare is None or (index in self._signs and bare.unit not in (self._signs[index], "")):
            return texts
        (values,) = strings.as_numbers([bare.fields], self.source.na_values, self.comma)
        if not is_number(values):
            return texts
        read, limits = strings.beyond(bare, values.cast(pa.float64()), self.below_limit)
        if index not in self._signs and limits and read.null_count == len(read):
            return texts  # "<50" and ">=50" are two groups
        self._signs.setdefault(index, bare.unit)
        for sign in bare.said:
            self._how[sign].add(index)
        if limits:
            count, example = self._limits.get(index, (0, limits[0]))
            self._limits[index] = count + len(limits), example
        return read

    def _corrected(self, index: int, texts: Any) -> Any:
        """Return a column with slips as what they are meant to be, or missing; its texts if it is none."""
        found = strings.slips(texts, self.source.na_values, self.comma)
        if found is None or not found.read or found.rest:
            return texts
        many, example = self._slips.get(index, (0, next(iter(found.read.values()))))
        self._slips[index] = many + len(found.read), example
        slips = pa.array(np.isin(np.arange(len(texts)), [*found.read]))
        fields = pc.if_else(slips, None, texts) if self.slips == "missing" else found.fields
        (values,) = strings.as_numbers([fields], self.source.na_values, self.comma)
        return values if is_number(values) else self._signed(index, fields, strings.bare(fields))

    def _dated(self, index: int, column: Any) -> Any:
        """Return a column of dates as such, and other text without blanks."""
        column = strings.without_blanks(column)
        may_be = pa.types.is_string(column.type) and index not in self.words
        found = strings.dates(column) if may_be else None
        if found is None:
            return column
        if found[1]:
            self._unclear[index] = found[1]
        return found[0]

    @property
    def units(self) -> dict[str, str]:
        """Units of columns, of the file or of their numbers, by their names."""
        signs = {self.names[at]: unit for at, unit in self._signs.items() if unit and at < len(self.names)}
        return signs | dict(self.source.units)

    def notes(self, indices: AbstractSet[int] | None = None) -> tuple[str, ...]:
        """Say how the numbers of all columns, or of these, were read."""
        names = self.names
        indices = set(range(len(names))) if indices is None else indices

        def shown(some: Iterable[int]) -> str:
            return listed([names[at] for at in sorted(indices & {*some})])

        commas, groups, brackets = (shown(some) if some else "" for some in self._how.values())
        points = "decimal separators, and points as thousands"
        what = points if self.comma == "points" else self.comma
        notes = [f"commas were read as {what} separators"] if commas else []
        if groups:
            notes.append(f"blanks or apostrophes between thousands were left out of {groups}")
        if brackets:
            notes.append(f"numbers in parentheses were read as negative in {brackets}")
        for unit in sorted({*self._signs.values()} - {""}):
            some = shown(at for at, sign in self._signs.items() if sign == unit)
            notes += [f"{unit!r} was read as the unit of {some}"] if some else []
        if limits := sorted(indices & {*self._limits}):
            (_, example), name = self._limits[limits[0]], names[limits[0]]
            many = counted(sum(self._limits[at][0] for at in limits), "entry", "entries")
            half = self.below_limit == "half"
            how = "half of the limit, or as a limit from above" if half else "missing"
            how += "" if half else ", where half of each limit could be taken"
            count = "counts" if many == "1 entry" else "count"
            notes.append(f"{many} beyond a limit, such as {example!r} in {name!r}, {count} as {how}")
        if slips := sorted(indices & {*self._slips}):
            (_, (written, meant)), name = self._slips[slips[0]], names[slips[0]]
            many = counted(sum(self._slips[at][0] for at in slips), "slip")
            how = "read as meant" if self.slips == "read" else "left missing"
            notes.append(f"{many} in columns of numbers, such as {written!r} for {meant} in {name!r}: {how}")
        for at in sorted(indices & {*self._unclear}):
            what = f"{self._unclear[at]} was read as month/day/year"
            notes.append(f"day and month may be exchanged in {names[at]!r}: {what}")
        return tuple(notes)


def is_number(column: Any) -> bool:
    """Say whether a column holds numbers."""
    return _is_number_type(column.type)


@cache  # rows may have many thousand fields
def _is_number_type(kind: Any) -> bool:
    t = pa.types
    return any(is_it(kind) for is_it in (t.is_floating, t.is_integer, t.is_boolean, t.is_decimal, t.is_null))


def _is_plain(kind: Any) -> bool:
    return bool(pa.types.is_float64(kind) or pa.types.is_int64(kind) or pa.types.is_null(kind))


def is_text(column: Any) -> bool:
    """Say whether a column holds text."""
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def all_different(column: Any) -> bool:
    """Say whether a column has a value in every row, and none twice."""
    if pa.types.is_nested(column.type):  # Arrow compares no lists
        return False
    return bool(len(column) and not column.null_count and pc.count_distinct(column).as_py() == len(column))


def name_rows(column: Any) -> bool:
    """Say whether values differ in all rows, or are times that rise but where a clock is set back."""
    if all_different(column):
        return True
    times = times_of(as_names(column))
    steps = () if times is None else np.diff(times) <= np.timedelta64(0)
    return times is not None and 0 < int(np.sum(steps)) == len(set_back(times))


def as_names(column: Any) -> tuple[str, ...]:
    """Return a column as names of rows, a whole number without a point."""
    if is_text(column):
        return tuple(pc.fill_null(column, "").to_pylist())
    if pa.types.is_floating(column.type):
        return tuple(label_texts(column.to_numpy(zero_copy_only=False)).tolist())
    texts = strings.as_texts(column)
    days = pa.types.is_timestamp(column.type) and all(text.endswith(_MIDNIGHT) for text in texts if text)
    return tuple(text.removesuffix(_MIDNIGHT) for text in texts) if days else tuple(texts)


def as_labels(column: Any, fields: Any = None, source: ColumnSource | None = None) -> npt.NDArray[Any]:
    """Return a column as labels: numbers, or text; of a text as it is written, unless these are numbers."""
    kind = column.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if source is not None and source.separator is not None:
        texts = strings.as_given(fields, source.na_values)
        texts = pc.if_else(pc.is_null(column), pa.scalar(None, pa.string()), texts) if number else texts
        if not (number and strings.is_one_to_one(texts, column)):
            return np.array(as_names(texts), dtype=np.str_)
    if pa.types.is_integer(kind) and column.null_count == 0:
        return np.asarray(column.to_numpy())
    if number:
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    return np.char.strip(np.array(as_names(column), dtype=np.str_))


# ------------------------------------------------------------- what names rows


def first_free(names: Sequence[str], reading: ReadingOptions, expected: Expected | None = None) -> int | None:
    """Return the first column without another use, which may name rows."""
    taken = {
        reading.weights,
        *reading.label_columns,
        *(reading.drop or ()),
        *(reading.columns or ()),
        *(expected.names or () if expected is not None else ()),
    }
    return next((index for index, name in enumerate(names) if name not in taken), None)


def find_row_names(
    columns: Columns,
    reading: ReadingOptions,
    id_column: int | None,
    value_columns: list[int],
    expected: Expected | None = None,
) -> tuple[int | None, list[int], tuple[str, ...]]:
    """Use the first free column as row names if it has no other possible role.

    Returns
    -------
    id_column : int or None
    value_columns : list of int
        Columns of numbers.
    notes : tuple of str
    """
    names = columns.names
    first = first_free(names, reading, expected)
    if first is None or first == id_column or len(names) == 1:
        return id_column, value_columns, ()
    column, name = columns.arrays[first], names[first]
    rest = [index for index in value_columns if index != first]
    text, day = is_text(column), pa.types.is_temporal(column.type)
    is_index = first == 0 and columns.source.names is not None
    is_index = is_index and columns.source.names[0].casefold() in INDEX_NAMES  # type: ignore[index]
    if is_index and (text or pa.types.is_integer(column.type)) and all_different(column):
        if id_column is not None:
            return id_column, rest, (f'"{name}" was left out because it names rows, as "{reading.id}" does',)
        called = "which has no name" if name == "column 0" else f'"{name}"'
        return first, rest, (f"row names were taken from the first column, {called}",)
    may_name = id_column is None and (name_rows(column) if day else text and all_different(column))
    if not may_name or (text and _is_mostly_numbers(column)):
        return id_column, value_columns, ()
    what = "dates" if day else "unique text"
    return first, rest, (f'row names were taken from column "{name}", which holds {what}',)


def _is_mostly_numbers(column: Any) -> bool:
    """Say whether a column of text is more likely one of numbers with a slip in it."""
    return 2 * int(pc.sum(strings.like_number(column)).as_py() or 0) > len(column)


# -------------------------------------------------------------- the table of all rows


class _Growing:
    """A table of columns as it grows, batch by batch; the first rows decide what columns are.

    Attributes
    ----------
    columns : Columns
        The first rows.
    id : int or None
        The column that names rows.
    values : list of int
        Columns of numbers, in the order that is wanted.
    plain : set of int
        Those that are float64 without more ado.
    aside : dict of int to list
        The others that are used, as they are written: names of rows, labels and weights.
    """

    def __init__(
        self, columns: Columns, reading: ReadingOptions, within: int | None, expected: Expected | None
    ) -> None:
        self.columns, self.reading, self.expected = columns, reading, expected
        self.source = source = columns.source
        self.numbers, self.n_rows = stored.Spool(source.source, within=within), 0
        empty = len(columns.fields) - len(columns.names)
        what = "columns without a name were" if empty > 1 else "column without a name was"
        first = "" if empty > 1 else "an "
        self.notes: tuple[str, ...] = (f"{first}empty last {what} left out",) if empty else ()
        self.notes += repeated_note(columns.repeated)
        self.roles = pick_columns(columns.names, reading, source.source)
        self.id, self.values, self.id_notes = find_row_names(
            columns, reading, self.roles.id, self.roles.values, expected
        )
        if source.names is not None and expected is not None and expected.names is not None:
            order, more = expected.places([columns.names[index] for index in self.values], source.source)
            self.values, self.notes = [self.values[index] for index in order], (*self.notes, *more)
        self.aside: dict[int, list[Any]] = {index: [] for index in self.roles.aside}
        if self.id is not None:
            self.aside.setdefault(self.id, [])
        plain = (index for index in self.values if _is_plain(columns.arrays[index].type))
        self.plain = {*plain}.difference(columns.written, self.aside)
        self.logical = set(self.values)
        self.append(columns.fields, columns.arrays)

    def append(self, batch: list[Any], arrays: list[Any] | None = None) -> None:
        """Add rows; of the first ones the columns in their types are known.

        Raises
        ------
        DataError
            If they are of another kind than the first ones.
        """
        source, start, count = self.source, self.n_rows, len(batch[0])
        if any(map(strings.is_filled, batch[len(self.columns.names) :])):
            raise DataError(
                f"{source.source}: the last column has no name and is empty in the first rows, but not in "
                f"rows {start:,} to {start + count - 1:,}.",
                "Name it.",
            )
        columns = {index: (arrays or batch)[index] for index in self.values}
        odd = {index: column for index, column in columns.items() if not is_number(column)}
        if odd and arrays is None and source.separator is not None:
            columns |= self.columns.as_numbers(odd)
            odd = {index: column for index, column in columns.items() if not is_number(column)}
        if odd or not columns:
            rows = Columns(batch, source, self.reading, start) if arrays is None else self.columns
            raise refuse_text(rows, self.values, [*odd], self.reading, self.expected)
        for index, some in self.aside.items():
            some.append(batch[index])
        self.logical &= {index for index, column in columns.items() if pa.types.is_boolean(column.type)}
        if wanted := _share(self.reading.rows, start, count):
            self.numbers.append(_matrix([*columns.values()])[wanted.start : wanted.stop : wanted.step])
        self.n_rows += count

    def table(self, within: int | None) -> Table:
        """Return the rows that were asked for."""
        source, reading, names, units = self.source, self.reading, self.columns.names, self.columns.units
        texts = source.descriptions
        rows = pick_rows(self.n_rows, reading.rows, source.source)
        wholes = {index: joined(chunks, source.source) for index, chunks in self.aside.items()}
        spelled = tuple(spelling_notes({name: wholes[index] for name, index in self.roles.labels.items()}))
        if source.separator is not None:
            wholes = {index: strings.as_given(column) for index, column in wholes.items()}
        id, id_notes = self.id, self.id_notes
        if id is not None and reading.id is None and not name_rows(wholes[id]):
            if self.expected is None:
                raise DataError(
                    f"The first rows of {source.source} are named in column {names[id]!r}, but "
                    "later rows have the same names.",
                    "Say what it is with id, label or drop.",
                )
            id, id_notes = None, ()
        wholes = {index: column.take(pa.array(np.array(rows))) for index, column in wholes.items()}
        values = self.numbers.rows()
        if _from_the_end(reading.rows):
            values = stored.rows_taken(values, rows)
            values = values[:] if within is not None and values.nbytes <= within else values
        logical = [names[index] for index in self.values if index in self.logical]
        features = tuple(names[index] for index in self.values)
        weights = self.roles.weights

        def labels(index: int, written: ColumnSource | None = source) -> npt.NDArray[Any]:
            column = typed = wholes[index]
            if source.separator is not None:
                typed = strings.one_column(column, source.na_values, self.columns.comma)
            return as_labels(typed, column, written)

        return Table(
            values,
            feature_names=None if source.names is None else features,
            row_names=None if id is None else as_names(wholes[id]),
            **label_fields({name: labels(at) for name, at in self.roles.labels.items()}),
            source=source.source,
            notes=(
                *source.notes,
                *self.columns.notes({*self.values, *self.aside} - {self.id}),
                *spelled,
                *self.notes,
                *id_notes,
                *((f"{LOGICAL} in {listed(logical)}",) if logical else ()),
            ),
            row_numbers=None if reading.rows is None else rows,
            column_numbers=tuple(self.values) if source.names is None else None,
            weights=None if weights is None else labels(weights, None),
            groups={name: labels(at) for name, at in self.roles.groups.items()},
            units={name: units[name] for name in features if name in units},
            descriptions={name: texts[name] for name in (*features, *self.roles.labels) if name in texts},
            levels=source.levels,
        )


def spelling_notes(columns: dict[str, Any]) -> Iterator[str]:
    """Say in which columns of labels texts differ only in capitals."""
    texts = {name: strings.as_given(column) for name, column in columns.items() if is_text(column)}

    def kinds(column: Any) -> int:
        return int(pc.count_distinct(column).as_py())

    for name, column in texts.items():
        if kinds(pc.utf8_lower(column)) < kinds(column) <= MOST_SPELLED:
            alike: dict[str, list[str]] = {}
            for text in filter(None, pc.unique(column).to_pylist()):
                alike.setdefault(text.lower(), []).append(text)
            both = listed(next(some for some in alike.values() if len(some) > 1))
            yield f"{both} are different groups of {name!r}: if they are one, write them alike in the file"


def table_of_columns(
    source: ColumnSource,
    reading: ReadingOptions,
    limit: int | None = None,
    expected: Expected | None = None,
) -> Table:
    """Make a table of columns.

    Parameters
    ----------
    source : ColumnSource
    reading : ReadingOptions
        Columns without names are known by position, counted from 0.
    limit : int, optional
        Bytes of working memory: numbers that take more than a quarter of it are left on disk. None reads all
        into memory.
    expected : Expected, optional
        What a fitted model expects of new data.

    Raises
    ------
    DataError
        If there are no rows, no numeric columns, or columns of text without a use.
    ParameterError
        If the options name rows or columns that do not exist.
    FileError
        If the disk is full, and as the source says.

    Examples
    --------
    >>> table_of_columns(ColumnsInMemory([pa.array([1, 2])], ("x",)), ReadingOptions()).values.tolist()
    [[1.0], [2.0]]
    """
    source = source.prepared(reading, expected)
    within = None if limit is None else whole_within(limit)
    plain: set[int] = set()
    batches = (batch for batch in batches_of(source, limit, plain) if batch and len(batch[0]))
    head = list(_first_of(batches, DECIDING if within is None else min(DECIDING, within)))
    if not head:
        why = ": only a header line" if source.separator and source.names else ""
        raise DataError(f"{source.source} has no rows{why}. Add at least one row of numbers.")
    first = [joined(chunks, source.source) for chunks in zip(*head, strict=True)]
    growing = _Growing(Columns(first, source, reading), reading, within, expected)
    plain |= growing.plain
    for batch in batches:
        growing.append(batch)
    return growing.table(within)


def _first_of(batches: Iterator[list[Any]], most: int) -> Iterator[list[Any]]:
    """Yield batches until they have so many bytes."""
    for batch in batches:
        yield batch
        most -= sum(column.nbytes for column in batch)
        if most <= 0:
            return


def _matrix(columns: Sequence[Any]) -> npt.NDArray[Any]:
    """Copy columns of numbers into one array, in one call for all columns of a type."""
    single = all(pa.types.is_float32(column.type) or pa.types.is_float16(column.type) for column in columns)
    kind = pa.float32() if single else pa.float64()
    by_type: dict[Any, list[int]] = {}
    for index, column in enumerate(columns):
        by_type.setdefault(column.type, []).append(index)
    blocks = []
    for some in by_type.values():
        # Integers beyond 2**53 are rounded as everywhere in NumPy.
        together = pa.chunked_array([columns[index] for index in some]).cast(kind, safe=False)
        blocks.append(together.to_numpy().reshape(len(some), -1))
    order = np.argsort(np.concatenate(list(by_type.values())))
    return np.ascontiguousarray((blocks[0] if len(blocks) == 1 else np.concatenate(blocks)[order]).T)


def _from_the_end(rows: slice | None) -> bool:
    return rows is not None and min(rows.start or 0, rows.stop or 0) < 0


def _share(rows: slice | None, start: int, count: int) -> range:
    """Return which rows of a batch are wanted; all, where they are counted from the end of the file."""
    wanted = range(start + count)[slice(None) if rows is None or _from_the_end(rows) else rows]
    here = wanted[bisect_left(wanted, start) :]
    return range(here.start - start, here.stop - start, here.step)


# ------------------------------------------------ columns of text that have no use


def refuse_text(
    columns: Columns,
    value_columns: Sequence[int],
    wrong: Sequence[int],
    reading: ReadingOptions,
    expected: Expected | None = None,
) -> DataError:
    """Return the error that names the columns of text, and one way to read the table."""
    text = [index for index in value_columns if not is_number(columns.arrays[index])] or [*wrong]
    slips, names, source = slips_of(columns, text), columns.names, columns.source.source
    shown = first_few(text, lambda at: f"{names[at]!r} ({_sample_value(columns, at, slips)})")
    comma = _undecided_comma(columns, text)
    if len(text) == len(value_columns) and expected is None:
        what = f"{source} has no numeric columns" + (f": {shown}" if text else "")
        hint = "At least one column must hold numbers and not be dropped, an id or a label."
        if slips or marks_of(columns, text, slips):
            hint = "Do as gramian.propose suggests."
        return DataError(f"{what}. {comma}".rstrip(), hint)
    holding = counted(len(text), "column that holds", "columns that hold")
    what = f"{source} has {holding} no numbers: {shown}. {comma}".rstrip()
    if expected is not None:
        check = "Check that this is the right file, and name marks of missing values with na_values."
        return DataError(what, f"The model was fitted on numbers in such columns. {check}")
    counts = {at: columns.arrays[at].null_count for at in value_columns if at not in text}
    rest = [at for at, count in counts.items() if count < len(columns.arrays[at])]
    out = [*(reading.drop or ()), *(names[at] for at in value_columns if at not in rest)]
    option, some = "drop", out
    if reading.columns is not None or len(out) > max(NAMES_SHOWN, len(rest)):
        option, some = "columns", [names[at] for at in rest]
    call = f"{option}={json.dumps([*map(str, some)], ensure_ascii=False)}"
    if reading.missing is None and any(counts[at] for at in rest):
        call += ', missing="mean"'
    return DataError(what, f"Do as gramian.propose suggests, or read it with {call}.")


def marks_of(
    columns: Columns, text: Sequence[int], slips: Mapping[int, strings.Slips]
) -> dict[int, dict[str, int]]:
    """Return the marks of missing values in columns of text that are numbers but for these, and their counts.

    Words that name the column, or stand in its first rows only, are of a header, which begins with the first.
    """
    result = {}
    text = [at for at in text if is_text(columns.arrays[at]) and at not in columns.words]
    for index in text if columns.source.separator is not None else ():
        column = columns.arrays[index]
        marks = strings.marks(column, columns.source.na_values)
        marks = marks or (slips[index].rest if index in slips else {})
        words = [mark for mark in marks if re.search(r"[^\W\d_]", mark)]
        begins = not (columns.first_row or pc.all(strings.like_number(column.slice(0, 1))).as_py())
        below = column.slice(_OF_HEADER if begins else 0)
        of_header = set(words).difference(pc.unique(pc.utf8_trim_whitespace(below)).to_pylist())
        if marks and not of_header and columns.names[index].strip() not in marks:
            result[index] = marks
    return result


def slips_of(columns: Columns, text: Sequence[int]) -> dict[int, strings.Slips]:
    """Return the few cells that are no numbers in columns of text that are numbers but for these."""
    text = [at for at in text if is_text(columns.arrays[at]) and at not in columns.words]
    text = text if columns.source.separator is not None else []
    every = ((at, strings.slips(columns.fields[at], columns.source.na_values, columns.comma)) for at in text)
    return {index: some for index, some in every if some is not None}


def _undecided_comma(columns: Columns, text: Sequence[int]) -> str:
    """Say of the first column of which that is so that its commas may be of two kinds."""
    for at in text if columns.source.separator is not None else ():
        if is_text(columns.arrays[at]) and (value := strings.undecided_comma(columns.arrays[at])) is not None:
            return (
                f"In {columns.names[at]!r}, {value} may be {value.replace(',', '')} or "
                f"{value.replace(',', '.')}, and no other value decides whether the comma separates "
                "thousands or decimals: write one or the other."
            )
    return ""


def _sample_value(columns: Columns, index: int, slips: Mapping[int, strings.Slips]) -> str:
    """Show the first value that is no number: in a column of numbers with a slip, the slip."""
    column = columns.arrays[index]
    if pa.types.is_temporal(column.type):
        return f"dates such as {next(iter(column.drop_null().to_pylist()), '')}"
    if not is_text(column):
        return str(column.type)
    if index in slips and slips[index].read:
        row, (written, meant) = next(iter(slips[index].read.items()))
        return f"{written!r} in row {columns.first_row + row}, most likely {meant}"
    row = pc.index(strings.like_number(column), pa.scalar(False)).as_py()
    if row < 0:  # what commas separate in it is open, or differs from the first rows
        row = max(pc.index(pc.match_substring(column, ","), pa.scalar(True)).as_py(), 0)
    value = str(column[row].as_py())
    shown = value if len(value) <= 24 else f"{value[:21]}..."
    return f"{shown!r} in row {columns.first_row + row}"


# ------------------------------------------------ frames in memory


def frame_columns(frame: Any) -> Columns:
    """Return the columns of a frame of pandas, polars or pyarrow.

    Columns of objects that Arrow has no type for become text.
    """
    keys = getattr(frame, "column_names", frame.columns)
    names = [str(key) for key in keys]
    # Names of pandas may repeat.
    series = (frame.iloc[:, at] if hasattr(frame, "iloc") else frame[key] for at, key in enumerate(keys))
    arrays = [_of_series(column) for column in series]
    if not arrays or not len(arrays[0]):
        raise DataError("The frame has no rows. Add at least one row of numbers.")
    source = ColumnsInMemory(arrays, tuple(names), "the frame")
    return Columns(arrays, source)


def _of_series(series: Any) -> Any:
    if isinstance(series, pa.ChunkedArray | pa.Array):
        return decoded(series)
    try:
        column = pa.array(series, from_pandas=True) if hasattr(series, "iloc") else series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        column = pa.array([None if value is None or value != value else str(value) for value in series])
    return decoded(column)
