"""Text that stands for numbers: missing values, padding, decimal commas, commas between thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

MISSING_TOKENS = ("", "NA", "NaN", "nan", "null", "?", "N/A", "n/a", "NULL", "#N/A", "<NA>",
                  "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")  # fmt: skip

_MOST_MARKS = 3
_INFINITY = r"[+-]?(?i:inf|infinity)"
_EXPONENT = r"([eE][+-]?\d+)?"
_PLAIN = rf"[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}|{_INFINITY}"
_THOUSANDS = rf"[+-]?[1-9]\d{{0,2}}(,\d{{3}})+(\.\d*)?|{_PLAIN}"
_DECIMAL = rf"[+-]?(\d+,\d*|,\d+){_EXPONENT}|{_PLAIN}"
# In ``12,345`` the comma may separate thousands as well as decimals; ``1234`` beside it decides.
_EITHER = r"[+-]?[1-9]\d{0,2},\d{3}|[+-]?\d{1,3}"
_PATTERNS = (("plain", _PLAIN), ("thousands", _THOUSANDS), ("decimal", _DECIMAL), ("either", _EITHER))
_FIELDS = {separator: re.compile(_THOUSANDS if separator == "," else rf"{_DECIMAL}|{_THOUSANDS}")
           for separator in "\t;|, "}  # fmt: skip


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


def numbers_from_text(
    columns: Sequence[Any], separator: str, na_values: Sequence[str] = ()
) -> tuple[list[Any], tuple[str, ...]]:
    """Turn columns of text that are numbers into float64; what is no number stays as it is.

    Parameters
    ----------
    columns : sequence of pyarrow.ChunkedArray
        Of text, and of numbers where each field is a plain one already.
    separator : str
        What separated the fields: a decimal comma needs another one.
    na_values : sequence of str
        What else stands for a missing value; one that is a number also as another spelling of it.

    Returns
    -------
    columns : list of pyarrow.ChunkedArray
    notes : tuple of str
        What a comma was taken for.

    Examples
    --------
    >>> columns, notes = numbers_from_text([pa.chunked_array([["1,065", "-"]])], ",", ["-"])
    >>> columns[0].to_pylist(), notes
    ([1065.0, None], ('comma read as the thousands separator',))
    """
    commas = Commas(separator, na_values)
    commas.look_at(columns)
    result, by_comma = converted(columns, commas.meaning, na_values)
    return result, (comma_note(commas.meaning),) if by_comma else ()


def converted(
    columns: Sequence[Any], comma: str | None, na_values: Sequence[str] = ()
) -> tuple[list[Any], set[int]]:
    """Turn columns of text that are numbers into float64, and say which by what a comma separates."""
    result, by_comma = [], set()
    for place, column in enumerate(columns):
        text = _without_missing(column, na_values) if pa.types.is_string(column.type) else None
        if text is None:
            result.append(without_numbers(column, na_values))
        elif _all_match(text, _PLAIN):
            result.append(_as_float(text))
        elif comma is not None and _all_match(text, _DECIMAL if comma == "decimal" else _THOUSANDS):
            result.append(_as_float(pc.replace_substring(text, ",", "." if comma == "decimal" else "")))
            by_comma.add(place)
        else:
            result.append(column)
    return result, by_comma


def fields_converted(
    fields: Any, width: int, comma: str | None, na_values: Sequence[str] = ()
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Do what :func:`converted` does, of columns of text whose fields follow row by row.

    Returns
    -------
    values : ndarray of shape (m, width)
        NaN where a value is missing, and in columns that are no numbers.
    are_numbers, by_comma : ndarray of shape (width,)
        Which columns are numbers, and in which of those a comma separates.
    """
    text = _without_missing(fields, na_values)
    plain = _each_match(text, _PLAIN, width)
    by_comma = np.zeros_like(plain)
    if comma is not None:
        by_comma = ~plain & _each_match(text, _DECIMAL if comma == "decimal" else _THOUSANDS, width)
        text = pc.replace_substring(text, ",", "." if comma == "decimal" else "")
    are_numbers = plain | by_comma
    values = np.full((len(text) // width, width), np.nan)
    if not are_numbers.all():
        text = text.take(np.flatnonzero(np.tile(are_numbers, len(values))))
    values[:, are_numbers] = _as_float(text).to_numpy().reshape(len(values), -1)
    return values, are_numbers, by_comma


def comma_note(meaning: str | None) -> str:
    """Say what commas were taken for."""
    return f"comma read as the {meaning} separator"


class Commas:
    """What commas separate in a text, whole or as far as it was looked at.

    Parameters
    ----------
    separator : str
    na_values : sequence of str
    """

    def __init__(self, separator: str, na_values: Sequence[str] = ()) -> None:
        self._separator, self._na_values = separator, na_values
        # Of each column so far: whether it was text, was a real number, had a point, matched a pattern.
        self._text = self._real = self._pointed = np.zeros(0, np.bool_)
        self._match = {name: np.ones(0, np.bool_) for name, _ in _PATTERNS}
        self.real = False  # whether a number of a column without text was written as a real one

    def look_at(self, columns: Sequence[Any]) -> None:
        """Look at the next rows, of all columns."""
        if not self._text.size:
            self._text, self._real, self._pointed = np.zeros((3, len(columns)), np.bool_)
            self._match = {name: np.ones(len(columns), np.bool_) for name, _ in _PATTERNS}
        for place, column in enumerate(columns):
            self._real[place] |= pa.types.is_floating(column.type)
            if not pa.types.is_string(column.type):
                continue
            text, self._text[place] = _without_missing(column, self._na_values), True
            self._pointed[place] |= pc.any(pc.match_substring(text, ".")).as_py() is True
            for name, pattern in _PATTERNS:
                if self._match[name][place]:
                    self._match[name][place] = _all_match(text, pattern)

    def look_at_fields(self, fields: Any, places: npt.NDArray[np.intp]) -> None:
        """Look at the next rows of the columns of text in these places, whose fields follow row by row."""
        text, width = _without_missing(fields, self._na_values), len(places)
        self._text[places] = True
        points = pc.fill_null(pc.match_substring(text, "."), False).to_numpy().reshape(-1, width)
        self._pointed[places] |= points.any(axis=0)
        for name, pattern in _PATTERNS:
            if self._match[name][places].any():
                self._match[name][places] &= _each_match(text, pattern, width)

    @property
    def meaning(self) -> str | None:
        """ "decimal", "thousands", or None where that is open."""
        plain, by_thousands, by_decimal, either = (self._match[name] for name, _ in _PATTERNS)
        points = self.real or (self._real & ~self._text).any() or (self._text & plain & self._pointed).any()
        odd = self._text & ~plain
        grouped = odd & by_thousands & (self._pointed | ~by_decimal)
        decimal = (odd & ~grouped & by_decimal & ~either).any()
        if decimal:
            return None if points or self._separator == "," else "decimal"
        if grouped.any() or points or self._separator == ",":
            return "thousands"
        return "decimal" if self._separator == ";" else None


def like_number(column: Any) -> bool:
    """Say whether all of a text are numbers, with commas of one meaning or another."""
    return _all_match(_without_missing(column), f"{_THOUSANDS}|{_DECIMAL}")


def number_like(column: Any) -> Any:
    """Say of each field whether it can be a number, or stands for a missing one.

    Examples
    --------
    >>> number_like(pa.chunked_array([["1,065.5", "#DIV/0!", "3.O"]])).to_pylist()
    [True, True, False]
    """
    text = pc.utf8_trim_whitespace(pc.cast(column, pa.string()))
    missing = pc.is_in(text, value_set=pa.array(MISSING_TOKENS))
    return pc.or_(_matches(text, f"{_THOUSANDS}|{_DECIMAL}"), missing)


def undecided_comma(column: Any) -> str | None:
    """Return a value whose comma separates either thousands or decimals, of a column where both may be."""
    text = _without_missing(column)
    if not (_all_match(text, _DECIMAL) and _all_match(text, _THOUSANDS)):
        return None
    first = pc.index(pc.match_substring(text, ","), pa.scalar(True)).as_py()
    return str(text[first])


def marks(column: Any) -> dict[str, int]:
    """Count the few texts without digits that keep a column from being numbers, most of which it is.

    Examples
    --------
    >>> marks(pa.chunked_array([["1", "2.5", "-", "3", "-", "4"]]))
    {'-': 2}
    >>> marks(pa.chunked_array([["1", "2.5", "3.O", "4"]]))
    {}
    """
    text = _without_missing(column).drop_null()
    odd = text.filter(pc.invert(_matches(text, f"{_THOUSANDS}|{_DECIMAL}")))
    found = {str(one["values"]): one["counts"] for one in odd.value_counts().to_pylist()}
    few = 2 * len(odd) < len(text) and len(found) <= _MOST_MARKS
    return found if few and not any(re.search(r"\d", mark) for mark in found) else {}


def _without_missing(column: Any, na_values: Sequence[str] = ()) -> Any:
    text = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(text, value_set=pa.array([*MISSING_TOKENS, *na_values]))
    return pc.if_else(missing, pa.scalar(None, pa.string()), text)


def without_numbers(column: Any, na_values: Sequence[str]) -> Any:
    """Take out numbers that stand for missing values, however they were written: -999 and -999.0."""
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return column
    for mark in na_values:
        if re.fullmatch(_PLAIN, mark):
            found = pc.equal(column.cast(pa.float64(), safe=False), float(mark))
            column = pc.if_else(found, pa.scalar(None, column.type), column)
    return column


def _as_float(text: Any) -> Any:
    """Convert, after writing infinity and signs the one way that Arrow knows."""
    text = pc.replace_substring_regex(text, "(?i)infinity", "inf")
    return pc.cast(pc.replace_substring_regex(text, r"^\+", ""), pa.float64())


def _matches(text: Any, pattern: str) -> Any:
    return pc.match_substring_regex(text, f"^(?:{pattern})$")


def _each_match(text: Any, pattern: str, width: int) -> npt.NDArray[np.bool_]:
    """Say of each of so many columns, whose fields follow row by row, whether all of them match."""
    matches = pc.fill_null(_matches(text, pattern), True).to_numpy().reshape(-1, width)
    return np.asarray(matches.all(axis=0))


def _all_match(text: Any, pattern: str) -> bool:
    return pc.all(_matches(text, pattern), min_count=0).as_py() is True
