"""Tables of Arrow columns that come block after block, and what only all blocks together decide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from gramian.errors import DataError
from gramian.rows.columnar import (
    EMPTY_LAST,
    Columns,
    all_different,
    chosen,
    decoded,
    fill,
    find_row_names,
    first_free,
    in_order,
    logical_note,
    refuse_text,
    with_names,
)
from gramian.rows.spool import Spool, rows_taken
from gramian.rows.stored import whole_within
from gramian.rows.table import Choice, Table, pick_columns, pick_rows
from gramian.rows.text_numbers import Commas, comma_note, converted, like_number

if TYPE_CHECKING:
    from gramian.rows.arrow_files import ArrowBlocks
    from gramian.rows.text_blocks import TextBlocks

    # The rows of a file, block after block, as often as they are asked for.
    Blocks: TypeAlias = "TextBlocks | ArrowBlocks"


class OtherEncoding(Exception):
    """A block is not in the encoding that the text seemed to have: it has to be read again."""


@dataclass(frozen=True)
class _Guess:
    """What only the whole file decides, as far as it is known.

    Attributes
    ----------
    text : frozenset of int
        Columns that are read as text, since they are in some block or are no numbers.
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
            for arrays in blocks.read(guess.text):
                reading.add(arrays)
            right = reading.right()
            if right == guess:
                return reading.table(limit)
            guess = right
        except OtherEncoding:
            guess = None


def _first_guess(blocks: Blocks, choice: Choice) -> _Guess:
    arrays = next(blocks.read(frozenset()), None)
    if arrays is None:
        raise DataError(f"{blocks.source} has no rows. Add at least one row of numbers.")
    commas = Commas(blocks.separator or ",", blocks.na_values)
    if blocks.separator is not None:
        commas.look_at(arrays)
    empty_last = _nothing_last(blocks, arrays)
    reading = _Reading(blocks, choice, _Guess(comma=commas.meaning, empty_last=empty_last))
    columns = reading.columns(arrays)
    id_column, kept, _ = reading.roles(columns)
    texts = {place for place, array in enumerate(arrays) if pa.types.is_string(array.type)}
    texts |= {place for place in (id_column, reading.label(columns)) if place is not None}
    text = frozenset(texts if blocks.separator else ())
    kept, _ = in_order(columns, choice, kept, blocks.names is not None)
    return _Guess(text, commas.meaning, id_column, tuple(kept), empty_last)


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
        self._kinds: dict[int, set[str]] = {}
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

    def add(self, arrays: list[Any]) -> None:
        """Take the numbers of a block into the spool, and keep names and labels."""
        start, count = self._n_rows, len(arrays[0])
        self._n_rows += count
        if not count:
            return
        self._nothing_last = self._nothing_last and _nothing_last(self._blocks, arrays)
        if self._blocks.separator is not None:
            self._commas.look_at(arrays)
        for place, array in enumerate(arrays):
            self._kinds.setdefault(place, set()).add(_kind(array))
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
        mixed = {place for place, kinds in self._kinds.items() if "text" in kinds and len(kinds) > 1}
        right = replace(
            guess,
            text=guess.text | mixed if self._blocks.separator else guess.text,
            comma=self._commas.meaning if any("text" in self._kinds[i] for i in guess.kept) else guess.comma,
            empty_last=self._nothing_last,
        )
        candidate = self._may_name_rows()
        if candidate is not None and "text" in self._kinds[candidate]:
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
        logical = [columns.names[i] for i in kept if self._kinds[i] - {"null"} == {"logical"}]
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
                *logical_note(logical),
                *((self._spool.note, *place_notes) if large else ()),
            ),
            sha256=blocks.sha256,
            hashed="the bytes of the file" if blocks.sha256 else "",
        )


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
