"""Text that stands for numbers: missing values, padding, decimal commas, commas between thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
            result.append(_without_numbers(column, na_values))
        elif _all_match(text, _PLAIN):
            result.append(_as_float(text))
        elif comma is not None and _all_match(text, _DECIMAL if comma == "decimal" else _THOUSANDS):
            result.append(_as_float(pc.replace_substring(text, ",", "." if comma == "decimal" else "")))
            by_comma.add(place)
        else:
            result.append(column)
    return result, by_comma


def comma_note(meaning: str | None) -> str:
    """Say what commas were taken for."""
    return f"comma read as the {meaning} separator"


@dataclass
class _Column:
    """What the texts of a column have been so far."""

    text: bool = False
    real: bool = False  # as Arrow read it, in some block
    plain: bool = True
    thousands: bool = True
    decimal: bool = True
    either: bool = True
    pointed: bool = False

    def look_at(self, text: Any) -> None:
        self.text = True
        self.pointed = self.pointed or pc.any(pc.match_substring(text, ".")).as_py() is True
        for name, pattern in (
            ("plain", _PLAIN),
            ("thousands", _THOUSANDS),
            ("decimal", _DECIMAL),
            ("either", _EITHER),
        ):
            if getattr(self, name):
                setattr(self, name, _all_match(text, pattern))


class Commas:
    """What commas separate in a text, whole or as far as it was looked at.

    Parameters
    ----------
    separator : str
    na_values : sequence of str
    """

    def __init__(self, separator: str, na_values: Sequence[str] = ()) -> None:
        self._separator, self._na_values = separator, na_values
        self._columns: dict[int, _Column] = {}

    def look_at(self, columns: Sequence[Any]) -> None:
        """Look at the next rows."""
        for place, column in enumerate(columns):
            seen = self._columns.setdefault(place, _Column())
            if pa.types.is_string(column.type):
                seen.look_at(_without_missing(column, self._na_values))
            seen.real = seen.real or pa.types.is_floating(column.type)

    @property
    def meaning(self) -> str | None:
        """ "decimal", "thousands", or None where that is open."""
        points = any(column.real and not column.text for column in self._columns.values())
        thousands = decimal = False
        for seen in (column for column in self._columns.values() if column.text):
            if seen.plain:
                points = points or seen.pointed
            elif seen.thousands and (seen.pointed or not seen.decimal):
                thousands = True
            elif seen.decimal and not seen.either:
                decimal = True
        if decimal:
            return None if points or self._separator == "," else "decimal"
        if thousands or points or self._separator == ",":
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


def _without_numbers(column: Any, na_values: Sequence[str]) -> Any:
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


def _all_match(text: Any, pattern: str) -> bool:
    return pc.all(_matches(text, pattern), min_count=0).as_py() is True
