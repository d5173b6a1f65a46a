"""Rows that are left out of a table: by name, by number, or all of a group."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import dense
from gramian.checks import listed
from gramian.data.labels import NO_LABEL, has_label
from gramian.data.table import Table
from gramian.errors import ParameterError, choice
from gramian.io.missing import rows_taken_of
from gramian.io.parts import group_column
from gramian.io.spool import parts

NUMBER = re.compile("0|[1-9][0-9]{0,17}")  # 007 is a name
SEARCHED = 10_000  # names, among which similar ones are suggested
ADVICE = "Give names or numbers of rows, or COLUMN=VALUE for all rows of a group."


def without(table: Table, entries: Sequence[str]) -> Table:
    """Leave out rows of a table.

    Parameters
    ----------
    table : Table
    entries : sequence of str
        Each is the name of a row; or the number of a row of the file, counted from 0, where no row has that
        name; or COLUMN=VALUE, of labels, metadata, the columns of ``table.groups``, or a feature.

    Raises
    ------
    ParameterError
        For an entry without a row, and if no row is left.

    Examples
    --------
    >>> table = Table(np.eye(3), row_names=("a", "b", "c"), label_name="k", labels=np.array(["u", "v", "v"]))
    >>> without(table, ("k=v",)).row_names
    ('a',)
    """
    n = table.values.shape[0]
    out = np.zeros(n, dtype=bool)
    named: dict[str, list[int]] = {}
    for row, name in enumerate(table.row_names or ()):
        named.setdefault(name, []).append(row)
    numbers = range(n) if table.row_numbers is None else table.row_numbers
    known = {**table.groups, **table.metadata}
    if table.labels is not None:
        known[table.label_name or "label"] = table.labels
    columns = {*known, *(table.feature_names or ())}
    for entry in entries:
        if entry in named:
            out[named[entry]] = True
        elif NUMBER.fullmatch(entry) and int(entry) in numbers:
            out[numbers.index(int(entry))] = True
        elif (column := group_column(entry, columns)) is not None:
            values = known[column] if column in known else _feature(table, column)
            out |= _rows_with(values, entry, column, table)
        else:
            raise _unknown(entry, table, numbers, known)
    if out.all():
        hint = "Leave out fewer."
        raise ParameterError("exclude", list(entries), f"leaves none of the {n} rows of {table.source}", hint)
    return replace(rows_taken_of(table, np.flatnonzero(~out)), groups={})


def _feature(table: Table, name: str) -> npt.NDArray[Any]:
    """Return a column of the numbers, which may be in a file."""
    place, values = (table.feature_names or ()).index(name), table.flat
    return np.concatenate([np.ravel(dense(values[part, place : place + 1])) for part in parts(values)])


def _rows_with(values: npt.NDArray[Any], entry: str, column: str, table: Table) -> npt.NDArray[np.bool_]:
    """Return the rows that COLUMN=VALUE is about; an empty value stands for none."""
    value = entry[len(column) + 1 :]
    if value in NO_LABEL:
        rows = ~has_label(values)
    elif values.dtype.kind not in "fiu":
        rows = values.astype(np.str_) == value
    else:
        try:
            rows = values == np.float64(value).astype(np.result_type(values.dtype, np.float32))
        except ValueError:
            rows = np.zeros(len(values), dtype=bool)
    if not rows.any():
        present = [_text(one) for one in np.unique(values).tolist() if one == one]
        problem = f"names no row: {column!r} of {table.source} has no such value"
        near = difflib.get_close_matches(value, present[:SEARCHED], n=3)
        hint = f"Did you mean {choice(*(f'{column}={one}' for one in near))}?"
        raise ParameterError("exclude", entry, problem, hint if near else f"It has {listed(present)}.")
    return np.asarray(rows)


def _text(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _unknown(entry: str, table: Table, numbers: Sequence[int], known: Any) -> ParameterError:
    """Return the error for what is neither a row nor a column."""
    column, equals, value = entry.partition("=")
    columns = [*known, *(table.feature_names or ())]
    near = [f"{one}={value}" for one in difflib.get_close_matches(column, columns)] if equals else []
    near += difflib.get_close_matches(entry, (table.row_names or ())[:SEARCHED], n=3)
    if near:
        advice = f"Did you mean {choice(*dict.fromkeys(near[:3]))}?"
    elif table.row_names is not None:
        advice = f"Rows are named {listed(table.row_names)}. {ADVICE}"
    else:
        advice = f"Rows are numbered {numbers[0]} to {numbers[-1]}. {ADVICE}"
    return ParameterError("exclude", entry, f"is neither a row nor a group of {table.source}", advice)
