"""Options of reading data, and the rows and columns that they choose."""

import difflib
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

from gramian.core.checks import NAMES_SHOWN, either, listed
from gramian.errors import ParameterError

LimitPolicy = Literal["missing", "half"]
SlipPolicy = Literal["read", "missing"]
MissingPolicy = Literal["error", "mean", "drop-rows", "drop-columns", "em", "iterative"]
Transform = Literal["log", "log1p", "sqrt", "logcpm", "clr"]
COLUMN_OPTIONS = ("columns", "drop", "id", "label", "weights")
# Of text and sheets.
TEXT_OPTIONS = ("na_values", "header", "skip_footer", "skip_after_header", "below_limit", "slips")
OWN = ("rows", "exclude", "corrections")  # which are about the rows of one file
IMPUTED = ("em", "iterative")  # what PCA does with missing values that reading leaves in


def one_name(name: str) -> str | tuple[str, ...]:
    """Return one name as an option that takes several has it: text with a comma would be more than one."""
    return (name,) if "," in name else name


class Remembered(str):
    """A name from the reading of the fitted data; in a file that lacks it, it is left out."""


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options of reading: which part of the data, and how."""

    rows: Any = None
    exclude: Any = None
    columns: Any = None
    drop: Any = None
    id: Any = None
    label: Any = None
    labels_from: Any = None
    weights: Any = None
    transpose: bool = False
    transform: Transform | None = None
    missing: MissingPolicy | None = None
    size: Any = None
    na_values: Any = None
    header: int | None = None
    skip_footer: int | None = None
    skip_after_header: int | None = None
    pivot: Any = None
    answers: Any = None
    below_limit: LimitPolicy | None = None
    slips: SlipPolicy | None = None
    corrections: Any = None

    @property
    def given(self) -> dict[str, Any]:
        """Those that are neither None nor False."""
        chosen = {field.name: getattr(self, field.name) for field in fields(ReadingOptions)}
        return {name: value for name, value in chosen.items() if value is not None and value is not False}

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Names of the columns of labels in the file."""
        if self.label is None:
            return ()
        return self.label if isinstance(self.label, tuple) else (self.label,)

    @property
    def groups(self) -> tuple[str, ...]:
        """What ``exclude`` says of columns of the file: COLUMN=VALUE."""
        return () if self.transpose else tuple(entry for entry in self.exclude or () if "=" in entry)


NO_OPTIONS = ReadingOptions()

# ---- Rows and columns that options choose


def pick_rows(n_rows: int, rows: slice | None, source: str) -> range:
    """Turn a slice into row numbers.

    Raises
    ------
    ParameterError
        If the slice reaches outside or selects nothing.

    Examples
    --------
    >>> pick_rows(10, slice(2, 8, 3), "memory")
    range(2, 8, 3)
    """
    if rows is None:
        return range(n_rows)
    limits = [limit for limit in (rows.start, rows.stop) if limit is not None]
    picked, outside = range(n_rows)[rows], any(abs(limit) > n_rows for limit in limits)
    if outside or not picked:
        what = "reaches outside" if outside else "selects none of"
        hint = f"Rows are counted from 0; ask for a part of 0:{n_rows}."
        raise ParameterError("rows", slice_text(rows), f"{what} the {n_rows} rows of {source}", hint)
    return picked


def slice_text(rows: slice) -> str:
    """Return a slice as it is written.

    Examples
    --------
    >>> slice_text(slice(None, 8, 2))
    ':8:2'
    """
    bounds = [rows.start, rows.stop] if rows.step is None else [rows.start, rows.stop, rows.step]
    return ":".join("" if bound is None else str(bound) for bound in bounds)


class Roles(NamedTuple):
    """The positions of columns by their use.

    ``values`` are those of numbers, in the order that is wanted; ``groups`` choose rows, besides another use.
    """

    values: list[int]
    id: int | None
    weights: int | None
    labels: dict[str, int]
    groups: dict[str, int]

    @property
    def aside(self) -> list[int]:
        """The columns that are read as they are, not as numbers."""
        indices = (self.id, self.weights, *self.labels.values(), *self.groups.values())
        return [index for index in indices if index is not None]


def pick_columns(names: Sequence[str], reading: ReadingOptions, source: str) -> Roles:
    """Return the positions of the columns that options name.

    Raises
    ------
    ParameterError
        If a name is unknown; the message suggests the closest ones.

    Examples
    --------
    >>> pick_columns(["name", "x", "y"], ReadingOptions(drop=("y",), id="name"), "memory")
    Roles(values=[1], id=0, weights=None, labels={}, groups={})
    """
    position = {name: index for index, name in enumerate(names)}

    def find(role: str, wanted: Sequence[str]) -> list[int]:
        unknown = [name for name in wanted if name not in position]
        if unknown:
            raise unknown_columns(role, unknown, names, source)
        return [position[name] for name in wanted]

    id_column = find("id", [reading.id])[0] if reading.id is not None else None
    labels = dict(zip(reading.label_columns, find("label", reading.label_columns), strict=True))
    weights = find("weights", [reading.weights])[0] if reading.weights is not None else None
    indices = list(range(len(names))) if reading.columns is None else find("columns", reading.columns)
    out = {*find("drop", reading.drop or ()), *labels.values(), id_column, weights}
    values = [index for index in indices if index not in out]
    groups = {name: position[name] for entry in reading.groups for name in _group_columns(entry, position)}
    return Roles(values, id_column, weights, labels, groups)


def _group_columns(entry: str, names: Collection[str]) -> list[str]:
    """Return the column of COLUMN=VALUE, or those of similar names, which a message then suggests."""
    column = group_column(entry, names)
    return difflib.get_close_matches(entry.rpartition("=")[0], names) if column is None else [column]


def group_column(entry: str, names: Container[str]) -> str | None:
    """Return the longest of some names that COLUMN=VALUE begins with, or None.

    Examples
    --------
    >>> group_column("a=b=c", {"a", "a=b"})
    'a=b'
    """
    cuts = [index for index, letter in enumerate(entry) if letter == "="]
    return next((entry[:cut] for cut in reversed(cuts) if entry[:cut] in names), None)


def na_values_of(
    entries: Sequence[str], names: Sequence[str], source: str
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the texts that stand for missing values in all columns, and those of COLUMN=TEXT by column.

    Raises
    ------
    ParameterError
        If there is no such column.

    Examples
    --------
    >>> na_values_of(["-", "CO=-200"], ["CO", "T"], "air.csv")
    (('-',), {'CO': ('-200',)})
    """
    every, single = list[str](), dict[str, tuple[str, ...]]()
    for entry in entries:
        column, (begin, equals, _) = group_column(entry, names), entry.partition("=")
        if column is not None:
            single[column] = (*single.get(column, ()), entry[len(column) + 1 :])
        elif not (begin and equals):
            every.append(entry)
        elif not isinstance(entry, Remembered):
            raise unknown_columns("na_values", [begin], names, source)
    return tuple(every), single


def unknown_columns(name: str, unknown: Sequence[str], names: Sequence[str], source: str) -> ParameterError:
    """Return the error for names of no columns, with the closest ones."""
    folded = {name.casefold(): name for name in reversed(names)}
    close = {
        folded[match]: None
        for wanted in unknown[:3]
        for match in difflib.get_close_matches(wanted.casefold(), folded, n=3)
    }
    hint = f"Did you mean {listed(close)}?" if close else f"Its {len(names)} columns are {listed(names)}."
    where = f"{name}={either(unknown[:NAMES_SHOWN])}"
    wrong = f"{source} has no such column."
    return ParameterError(name, str(unknown[0]), f": {wrong}", hint, problem=f"{where}: {wrong}")
