"""Numbers as people write them: padding, missing values, decimal commas, commas between thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

MISSING_TOKENS = ("", "NA", "NaN", "nan", "null", "?", "N/A", "n/a", "NULL", "#N/A", "<NA>",
                  "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")  # fmt: skip

_MOST_MARKS = 3
_INFINITY = r"[+-]?(?i:inf|infinity)"
_EXPONENT = r"([eE][+-]?\d+)?"
_PLAIN = rf"[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}|{_INFINITY}"
_THOUSANDS = rf"[+-]?[1-9]\d{{0,2}}(,\d{{3}})+(\.\d*)?|{_PLAIN}"
_DECIMAL = rf"[+-]?(\d+,\d*|,\d+){_EXPONENT}|{_PLAIN}"
# In ``12,345`` the comma may separate thousands as well as decimals; ``1234`` in the same column decides.
_EITHER = r"[+-]?[1-9]\d{0,2},\d{3}|[+-]?\d{1,3}"
_PATTERNS = (("plain", _PLAIN), ("thousands", _THOUSANDS), ("decimal", _DECIMAL), ("either", _EITHER))
_FIELDS = {separator: re.compile(_THOUSANDS if separator == "," else rf"{_DECIMAL}|{_THOUSANDS}")
           for separator in "\t;|, "}  # fmt: skip
_WRITTEN = {"decimal": ".", "thousands": ""}  # Arrow's form of a comma


def is_number(field: str, separator: str) -> bool:
    """Say whether a field of a text with this separator can be a number.

    Examples
    --------
    >>> is_number("1,5", ";"), is_number("1,5", ","), is_number("1,500", ",")
    (True, False, True)
    """
    return _FIELDS[separator].fullmatch(field.strip()) is not None


def is_missing(field: str, na_values: Sequence[str] = ()) -> bool:
    """Say whether a field stands for a missing value."""
    return field.strip() in MISSING_TOKENS or field.strip() in na_values


class Commas:
    """What commas separate in the columns of a text, as far as they have been read.

    Attributes
    ----------
    is_text : ndarray of bool
        Columns that have been strings.
    pointed : bool
        Whether a column of plain numbers has a decimal point.
    """

    def __init__(self, width: int, separator: str, na_values: Sequence[str] = ()) -> None:
        self._separator, self.na_values = separator, na_values
        self.is_text, self._has_point = np.zeros((2, width), np.bool_)
        self._match = {name: np.ones(width, np.bool_) for name, _ in _PATTERNS}
        self.pointed = False

    def look(self, columns: Sequence[Any], fields: Sequence[Any]) -> None:
        """Look at the next rows: of all columns, and their fields as they are written."""
        text = np.array([pa.types.is_string(column.type) for column in columns], np.bool_)
        self.is_text |= text
        if not self.pointed and not text.all():
            plain = [field for field, is_text in zip(fields, text, strict=True) if not is_text]
            self.pointed = pc.any(pc.match_substring(_together(plain), ".")).as_py() is True
        places = np.flatnonzero(text & self.like_numbers).tolist()
        if not places:
            return
        fields = _cleaned(_together([fields[place] for place in places]), self.na_values)
        self._has_point[places] |= _by_column(pc.match_substring(fields, "."), len(places), False).any(axis=1)
        for name, pattern in _PATTERNS:
            if self._match[name][places].any():
                matches = _by_column(_matches(fields, pattern), len(places), True)
                self._match[name][places] &= matches.all(axis=1)

    @property
    def like_numbers(self) -> npt.NDArray[np.bool_]:
        """Columns that are numbers with commas of one meaning or another."""
        return self._match["thousands"] | self._match["decimal"]

    def numbers(self, meaning: str | None) -> npt.NDArray[np.bool_]:
        """Return which columns are numbers if commas have a meaning."""
        return self._match["plain"] | (self._match[meaning] if meaning else False)

    @property
    def meaning(self) -> str | None:
        """ "decimal", "thousands", or None where that is open."""
        plain, by_thousands, by_decimal, either = (self._match[name] for name, _ in _PATTERNS)
        points = self.pointed or bool((self.is_text & plain & self._has_point).any())
        odd = self.is_text & ~plain
        grouped = odd & by_thousands & (self._has_point | ~by_decimal)
        if (odd & ~grouped & by_decimal & ~either).any():
            return None if points or self._separator == "," else "decimal"
        if grouped.any() or points or self._separator == ",":
            return "thousands"
        return "decimal" if self._separator == ";" else None

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on the meaning of commas, if a column has any."""
        meaning = self.meaning
        used = self.is_text & ~self._match["plain"] & self.numbers(meaning)
        return (f"commas were read as {meaning} separators",) if used.any() else ()

    def converted(self, column: Any, place: int) -> Any:
        """Return a whole column, which :func:`typed` returned, as numbers if commas make numbers of it."""
        if not pa.types.is_string(column.type):
            return _without_marks(column, self.na_values)
        is_number = self.numbers(self.meaning)[place]
        return numbers([column], self.na_values, self.meaning) if is_number else column


def plain_numbers(fields: list[Any], as_text: AbstractSet[int] | None, na_values: Sequence[str]) -> list[Any]:
    """Turn columns of strings into float64 where all fields are plain numbers, or into booleans.

    Examples
    --------
    >>> fields = [pa.array([" 1", "?"]), pa.array(["1,5", "2"])]
    >>> [column.to_pylist() for column in plain_numbers(fields, set(), ())]
    [[1.0, None], ['1,5', '2']]
    """
    columns = list(fields)
    places = [] if as_text is None else [place for place in range(len(fields)) if place not in as_text]
    try:
        # One call for all columns: rows may have many thousand fields.
        values = numbers([fields[place] for place in places], na_values)
    except pa.ArrowInvalid:
        for place in places:
            columns[place] = _plain(fields[place], na_values)
        return columns
    for place, start in zip(places, range(0, len(values), max(1, len(fields[0]))), strict=False):
        columns[place] = values.slice(start, len(fields[0]))
    return columns


def numbers(columns: Sequence[Any], na_values: Sequence[str], comma: str | None = None) -> Any:
    """Convert columns of strings, one after the other, into one array of float64.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a field is no number.
    """
    fields = _together(columns)
    with suppress(pa.ArrowInvalid):  # most need no cleaning, which takes as long as this
        return _as_float(fields, na_values, comma)
    with suppress(pa.ArrowInvalid):
        return _as_float(_without_missing(fields, na_values), na_values, comma)
    return _as_float(_cleaned(fields, na_values), na_values, comma)


def _as_float(fields: Any, na_values: Sequence[str], comma: str | None) -> Any:
    if comma is not None:
        fields = pc.replace_substring(fields, ",", _WRITTEN[comma])
    values = pc.cast(fields, pa.float64())
    return _without_marks(values, na_values).combine_chunks()


def _without_marks(values: Any, na_values: Sequence[str]) -> Any:
    """Take out numbers that stand for missing values, however they are written: -999 and -999.0."""
    for mark in na_values if pa.types.is_integer(values.type) or pa.types.is_floating(values.type) else ():
        if re.fullmatch(_PLAIN, mark):
            result = pc.equal(values.cast(pa.float64(), safe=False), float(mark))
            values = pc.if_else(result, pa.scalar(None, values.type), values)
    return values


def _plain(fields: Any, na_values: Sequence[str]) -> Any:
    with suppress(pa.ArrowInvalid):
        return numbers([fields], na_values)
    trimmed = _cleaned(fields, na_values)
    for kind in (pa.int64(), pa.bool_()):  # Arrow reads 0x1F too
        with suppress(pa.ArrowInvalid):
            return pc.cast(trimmed, kind)
    return fields


def typed(fields: Any, na_values: Sequence[str]) -> Any:
    """Return a column of strings in the type that Arrow finds for all of it: integers, dates, and so on."""
    sink = pa.BufferOutputStream()
    quoted = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    csv.write_csv(pa.table([fields], ["column"]), sink, quoted)
    table = csv.read_csv(
        pa.BufferReader(sink.getvalue()),
        read_options=csv.ReadOptions(column_names=["column"], block_size=1 << 26, use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(null_values=[*MISSING_TOKENS, *na_values]),
    )
    return table.column(0).combine_chunks()


def understood(fields: Sequence[Any], commas: Commas) -> list[Any]:
    """Return whole columns of strings in the types that they have, numbers with commas as float64."""
    columns = [typed(column, commas.na_values) for column in fields]
    commas.look(columns, fields)
    return [commas.converted(column, place) for place, column in enumerate(columns)]


def like_number(column: Any) -> Any:
    """Say of each field whether it can be a number, or stands for a missing one.

    Examples
    --------
    >>> like_number(pa.array(["1,065.5", "#DIV/0!", "3.O"])).to_pylist()
    [True, True, False]
    """
    return pc.fill_null(is_number_text(_cleaned(column)), True)


def is_number_text(texts: Any) -> Any:
    """Say of each text whether it is a number, with any meaning of its commas."""
    return _matches(texts, f"{_THOUSANDS}|{_DECIMAL}")


def undecided_comma(column: Any) -> str | None:
    """Return a value whose comma separates either thousands or decimals, of a column where both may be."""
    text = _cleaned(column)
    if not all(pc.all(_matches(text, one), min_count=0).as_py() for one in (_DECIMAL, _THOUSANDS)):
        return None
    first = pc.index(pc.match_substring(text, ","), pa.scalar(True)).as_py()
    return str(text[first])


def marks(column: Any) -> dict[str, int]:
    """Count the few texts without digits in a column that is otherwise mostly numeric.

    Examples
    --------
    >>> marks(pa.array(["1", "2.5", "-", "3", "-", "4"]))
    {'-': 2}
    >>> marks(pa.array(["1", "2.5", "3.O", "4"]))
    {}
    """
    text = _cleaned(column).drop_null()
    odd = text.filter(pc.invert(like_number(text)))
    counts = {str(one["values"]): one["counts"] for one in odd.value_counts().to_pylist()}
    few = 2 * len(odd) < len(text) and len(counts) <= _MOST_MARKS
    return counts if few and not any(re.search(r"\d", mark) for mark in counts) else {}


def _together(columns: Sequence[Any]) -> Any:
    return pa.chunked_array(columns, pa.string())


def _without_missing(fields: Any, na_values: Sequence[str]) -> Any:
    missing = pc.is_in(fields, value_set=pa.array([*MISSING_TOKENS, *na_values]))
    return pc.if_else(missing, pa.scalar(None, pa.string()), fields)


def _cleaned(fields: Any, na_values: Sequence[str] = ()) -> Any:
    """Return fields without padding, null where a value is missing."""
    return _without_missing(pc.utf8_trim_whitespace(fields), na_values)


def _matches(text: Any, pattern: str) -> Any:
    return pc.match_substring_regex(text, f"^(?:{pattern})$")


def _by_column(answers: Any, width: int, null: bool) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.fill_null(answers, null).to_numpy(zero_copy_only=False)).reshape(width, -1)
