"""From columns in batches to a table: one pass suffices if the first rows have the same types as all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.checks import listed
from gramian.errors import DataError
from gramian.rows.columns.label_row import labels_of_row, without_label_row
from gramian.rows.columns.numerals import Commas, numbers, typed
from gramian.rows.columns.roles import (
    all_different,
    as_labels,
    as_names,
    find_row_names,
    first_free,
    in_order,
    is_number,
    refuse_text,
)
from gramian.rows.columns.source import Batch, ColumnSource, joined, whole_fields
from gramian.rows.columns.whole import as_columns
from gramian.rows.lazy.array import whole_within
from gramian.rows.lazy.spool import GrowingTable, rows_taken
from gramian.rows.table import (
    LOGICAL,
    Choice,
    Table,
    label_fields,
    pick_columns,
    pick_rows,
    repeated_note,
)

EMPTY_LAST = "an empty last column without a name was left out"


def table_of_columns(source: ColumnSource, choice: Choice, limit: int | None = None) -> Table:
    """Make a table of columns.

    Parameters
    ----------
    source : ColumnSource
    choice : Choice
        Columns without names are known by position, counted from 0.
    limit : int, optional
        Bytes of working memory: numbers that take more than a quarter of it are left on disk. None reads all
        into memory.

    Raises
    ------
    DataError
        If there are no rows, no numeric columns, or columns of text without a use.
    ParameterError
        If the choice names rows or columns that do not exist.
    FileError
        If the disk is full, and as the source says.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gramian.rows.columns.source import ColumnsInMemory
    >>> table_of_columns(ColumnsInMemory([pa.array([1, 2])], ("x",)), Choice()).values.tolist()
    [[1.0], [2.0]]
    """
    source, choice = source.prepared(choice)
    row_labels: list[Any] | None = None
    if choice.label_row is not None:
        limit = None
        source, row_labels, choice = without_label_row(source, choice)
    plan: _Plan | None = None
    while True:
        reading = _Reading(source, choice, limit, plan)
        for batch in source.batches(limit, reading.as_text):
            reading.add(batch)
        decided = reading.decide()
        if decided == reading.plan:
            break
        plan = decided
    table = reading.table()
    if row_labels is None:
        return table
    labels = labels_of_row(row_labels, decided.value_columns)
    return replace(table, labels=labels, label_name=choice.label_row)


# ---------------------------------------------------- one pass over all batches


@dataclass(frozen=True)
class _Plan:
    """The decisions that depend on all rows.

    Attributes
    ----------
    text : frozenset of int
        Columns of a text that are not plain numbers in some rows.
    aside : frozenset of int
        Columns that are needed as a whole: of labels, and those that may name rows.
    comma : str or None
        What commas separate.
    id_column : int or None
    value_columns : tuple of int
        Columns of numbers, in the order that is wanted.
    empty_last : bool
        Whether the last column has no name and holds nothing.
    """

    text: frozenset[int]
    aside: frozenset[int]
    comma: str | None
    id_column: int | None
    value_columns: tuple[int, ...]
    empty_last: bool


class _Reading:
    """One pass over all batches by a plan; the first batch makes one where there is none."""

    def __init__(self, source: ColumnSource, choice: Choice, limit: int | None, plan: _Plan | None) -> None:
        self._source, self._choice, self.plan = source, choice, plan
        self._within = None if limit is None else whole_within(limit)
        self.as_text = set(plan.text if plan else ())
        self._n_rows = 0
        self._first: Batch | None = None
        self._commas: Commas | None = None
        self._kinds: dict[str, set[int]] = {"null": set(), "logical": set(), "number": set(), "text": set()}
        self._aside: dict[int, list[Any]] = {}
        self._typed: dict[int, tuple[int, Any]] = {}
        self._numbers: GrowingTable | None = GrowingTable(source.source, self._within, source.path)
        self._names: tuple[str, ...] = ()
        self._notes: tuple[str, ...] = ()

    # ------------------------------------------------------------- batch by batch

    def add(self, batch: Batch) -> None:
        """Take the next rows: note what the columns hold, and keep numbers, names and labels."""
        start, count = self._n_rows, len(batch.columns[0])
        if not count:
            return
        self._n_rows += count
        self._look(batch)
        if self._first is None:
            self._first = batch
            self.plan = self.plan or self.decide()
            self.as_text |= self.plan.text
        assert self.plan is not None
        for place in self.plan.aside:
            self._aside.setdefault(place, []).append(batch.fields[place])
        if not self.plan.value_columns and not self._small:
            raise self._refused((), (), batch, start)
        if self.plan.value_columns and (self._numbers is not None or not self._small):
            self._fill(batch, self.plan, start, _share(self._choice.rows, start, count))

    def _look(self, batch: Batch) -> None:
        columns, separator = batch.columns, self._source.separator
        if separator is not None:
            self._commas = self._commas or Commas(len(columns), separator, self._source.na_values)
            self._commas.look(columns, batch.fields)
        for place, column in enumerate(columns):
            self._kinds[_kind(column, separator is not None)].add(place)

    def _fill(self, batch: Batch, plan: _Plan, start: int, rows: range) -> None:
        """Keep the numbers of some rows; if a column holds none, wait until all rows are read."""
        odd = [place for place in plan.value_columns if not is_number(batch.columns[place])]
        columns = dict(
            zip(plan.value_columns, (batch.columns[place] for place in plan.value_columns), strict=True)
        )
        if odd and self._commas is not None and self._commas.numbers(plan.comma)[odd].all():
            values = numbers([batch.fields[place] for place in odd], self._source.na_values, plan.comma)
            count = len(batch.columns[0])
            columns |= {place: values.slice(index * count, count) for index, place in enumerate(odd)}
        elif odd:
            self._numbers = None
            candidate = self._candidate()
            wrong = [place for place in odd if place != candidate and not self._may_be_numbers(place)]
            if wrong and (self._within is None or not self._small):
                raise self._refused(plan.value_columns, wrong, batch, start)
            return
        if rows and self._numbers is not None:
            matrix = _matrix(list(columns.values()))
            self._numbers.append(matrix[rows.start : rows.stop : rows.step])

    @property
    def _small(self) -> bool:
        """Whether the rows so far would be left in memory."""
        width = 0 if self._first is None else len(self._first.columns)
        return self._within is None or 8 * self._n_rows * width <= self._within

    def _may_be_numbers(self, place: int) -> bool:
        return self._commas is not None and bool(self._commas.like_numbers[place])

    def _candidate(self) -> int | None:
        """Return the column that may turn out to name the rows."""
        place = first_free(self._names, self._choice)
        known = None if self._first is None or place is None else self._first.columns[place]
        return place if known is not None and all_different(known) else None

    # -------------------------------------------------- what all rows decide

    def decide(self) -> _Plan:
        """Return the plan of the rows read so far; it equals ``plan`` if that was right.

        Raises
        ------
        DataError
            If there are no rows, or columns of text without a use.
        """
        source, choice, first = self._source, self._choice, self._first
        if first is None:
            why = ": only a header line" if source.separator and source.names else ""
            raise DataError(f"{source.source} has no rows{why}. Add at least one row of numbers.")
        last, text = len(first.columns) - 1, self._kinds["text"]
        numeric = self._kinds["number"] | self._kinds["logical"]
        empty_last = source.last_may_be_empty and last not in text | numeric
        names, _ = source.unique_names(last + 1 - empty_last)
        id_column: int | None
        notes: tuple[str, ...]
        roles = pick_columns(names, choice, source.source)
        value_columns, given = roles.values, roles.id
        comma = None if self._commas is None else self._commas.meaning
        stay = text if self._commas is None else text.difference(np.flatnonzero(self._commas.numbers(comma)))
        free = first_free(names, choice) if len(names) > 1 else None
        aside = set(roles.aside)
        if free is not None and free != given and (free in stay or (free == 0 and source.first_is_index)):
            aside.add(free)
        if self.plan is None:
            as_text = frozenset(text)
        else:  # a column of numbers in some rows and text in others: all of it decides what commas mean
            mixed = {place for place in text & numeric if self._may_be_numbers(place)}
            as_text = self.plan.text | mixed
        self._names = names
        candidate = self._candidate()
        if self.plan is not None and free == candidate and free in aside - self.plan.aside:
            # Numbers at first, text in a later batch: the next pass decides by all of it.
            id_column, notes = (free if given is None else given), ()
            value_columns = [place for place in value_columns if place != free]
        else:
            id_column, value_columns, notes = find_row_names(
                names,
                source.first_is_index,
                choice,
                given,
                value_columns,
                lambda place: self._whole(place) if place in aside else pa.nulls(0),
            )
        if source.names is not None:
            value_columns, more = in_order(names, choice, value_columns, source.source)
            notes = (*notes, *more)
        wrong = [place for place in value_columns if place in stay]
        if self.plan is not None and as_text == self.plan.text and (wrong or not value_columns):
            raise self._refused(value_columns, wrong, first, 0)
        if self.plan is not None and text.isdisjoint(value_columns):
            comma = self.plan.comma
        self._notes = notes
        return _Plan(as_text, frozenset(aside), comma, id_column, tuple(value_columns), empty_last)

    def _whole(self, place: int) -> Any:
        """Return a column that was set aside, in its type."""
        assert self._first is not None
        parts = self._aside.get(place, [self._first.fields[place]])
        if self._typed.get(place, (0, None))[0] == len(parts):
            return self._typed[place][1]
        column = joined(parts, self._source.source)
        commas = self._commas
        if commas is not None:
            column = commas.converted(typed(column, commas.na_values), place)
        self._typed[place] = len(parts), column
        return column

    def _refused(
        self, value_columns: Sequence[int], wrong: Sequence[int], batch: Batch, start: int
    ) -> DataError:
        """Return the error about columns of text, by all of their rows unless these are many."""
        source = self._source
        if self._small:
            columns = as_columns(whole_fields(source), source)
            wrong = [place for place in value_columns if not is_number(columns.arrays[place])] or wrong
        else:
            columns = as_columns(batch.fields, source, start)
            stop = start + len(batch.fields[0]) - 1
            columns = replace(columns, source=f"{source.source}, rows {start:,} to {stop:,},")
        return refuse_text(columns, value_columns, wrong)

    def table(self) -> Table:
        """Return the table."""
        source, choice, plan = self._source, self._choice, self.plan
        assert plan is not None
        assert self._numbers is not None
        rows = pick_rows(self._n_rows, choice.rows, source.source)
        values = self._numbers.rows()
        if _from_the_end(choice.rows):
            values = rows_taken(values, rows)
            few = self._within is not None and values.nbytes <= self._within
            values = values[:] if few else values
        roles = pick_columns(self._names, choice, source.source)

        def aside(place: int) -> Any:
            return self._whole(place).take(pa.array(np.array(rows)))

        _, repeated = source.unique_names(len(self._names))
        logical = self._kinds["logical"] - self._kinds["number"] - self._kinds["text"]
        named = [self._names[place] for place in plan.value_columns if place in logical]
        return Table(
            values,
            feature_names=None if source.names is None else tuple(self._names[p] for p in plan.value_columns),
            row_names=None if plan.id_column is None else as_names(aside(plan.id_column)),
            **label_fields({name: as_labels(aside(place)) for name, place in roles.labels.items()}),
            source=source.source,
            notes=(
                *source.notes,
                *(self._commas.notes if self._commas else ()),
                *((EMPTY_LAST,) if plan.empty_last else ()),
                *repeated_note(repeated),
                *self._notes,
                *((f"{LOGICAL} in {listed(named)}",) if named else ()),
            ),
            row_numbers=None if choice.rows is None else rows,
            column_numbers=plan.value_columns if source.names is None else None,
            weights=None if roles.weights is None else as_labels(aside(roles.weights)),
        )


def _matrix(columns: Sequence[Any]) -> npt.NDArray[Any]:
    """Copy columns of numbers into one array, in one call for all columns of a type."""
    single = all(pa.types.is_float32(column.type) or pa.types.is_float16(column.type) for column in columns)
    kind = pa.float32() if single else pa.float64()
    places: dict[Any, list[int]] = {}
    for place, column in enumerate(columns):
        places.setdefault(column.type, []).append(place)
    parts = []
    for some in places.values():
        # Integers beyond 2**53 are rounded as everywhere in NumPy.
        together = pa.chunked_array([columns[place] for place in some]).cast(kind, safe=False)
        parts.append(together.to_numpy().reshape(len(some), -1))
    order = np.argsort(np.concatenate(list(places.values())))
    return np.ascontiguousarray((parts[0] if len(parts) == 1 else np.concatenate(parts)[order]).T)


def _kind(column: Any, from_text: bool) -> str:
    if column.null_count == len(column) and (from_text or pa.types.is_null(column.type)):
        return "null"
    if pa.types.is_boolean(column.type):
        return "logical"
    return "number" if is_number(column) else "text"


def _from_the_end(rows: slice | None) -> bool:
    return rows is not None and min(rows.start or 0, rows.stop or 0) < 0


def _share(rows: slice | None, start: int, count: int) -> range:
    """Return which rows of a batch are wanted; all, where they are counted from the end of the file."""
    wanted = range(start + count)[slice(None) if rows is None or _from_the_end(rows) else rows]
    here = wanted[bisect_left(wanted, start) :]
    return range(here.start - start, here.stop - start, here.step)
