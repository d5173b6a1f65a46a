"""Numbers as people write them in text: padding, missing values, commas; and text that is no formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from gramian.data.labels import MISSING_TOKENS
from gramian.io import written
from gramian.io.parts import STARTS

_MOST_MARKS = 3
_FEW = 20  # kinds of labels
_CODE = r"[+-]?0\d.*|\+.*|[+-]?\d{16,}|\d+[eE]\d+"
_MANY = 200  # columns; the type of each takes time
_FIRST = 200  # texts that are looked at before all of a column
_INFINITY = r"[+-]?(?i:inf|infinity)"
_EXPONENT = r"([eE][+-]?\d+)?"
_PLAIN = rf"[+-]?(\d+\.?\d*|\.\d+){_EXPONENT}|{_INFINITY}"
_THOUSANDS = rf"[+-]?[1-9]\d{{0,2}}(,\d{{3}})+(\.\d*)?|{_PLAIN}"
_DECIMAL = rf"[+-]?(\d+,\d*|,\d+){_EXPONENT}|[+-]?[1-9]\d{{0,2}}((\.\d{{3}})+,\d*|(\.\d{{3}}){{2,}})|{_PLAIN}"
_POINTED = r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?"  # with points between thousands
_POINTS = rf"{_POINTED}|[+-]?(\d+|\d+,\d*|,\d+){_EXPONENT}|{_INFINITY}"
# In ``12,345`` the comma may separate thousands as well as decimals; ``1234`` in the same column decides.
_EITHER = r"[+-]?[1-9]\d{0,2},\d{3}|[+-]?\d{1,3}"
_FIELDS = {separator: re.compile(_THOUSANDS if separator == "," else rf"{_DECIMAL}|{_THOUSANDS}")
           for separator in "\t;|, "}  # fmt: skip
# What matches, and Arrow's form of its commas. "points": they separate decimals, and points thousands.
_COMMAS = {"decimal": (_DECIMAL, "."), "thousands": (_THOUSANDS, ""), "points": (_POINTS, ".")}


def is_number(field: str, separator: str) -> bool:
    """Say whether a field of a text with this separator can be a number.

    Examples
    --------
    >>> is_number("1,5", ";"), is_number("1,5", ","), is_number("1,500", ","), is_number("<$2", ",")
    (True, False, True, True)
    """
    if _FIELDS[separator].fullmatch(field.strip()):
        return True
    digits = written.digits_of(field)
    return digits not in ("", field.strip()) and _FIELDS[";"].fullmatch(digits) is not None


def is_missing(field: str, na_values: Sequence[str] = ()) -> bool:
    """Say whether a field stands for a missing value."""
    return field.strip() in MISSING_TOKENS or field.strip() in na_values


def meaning_of_commas(
    texts: Sequence[Any], plain: Sequence[Any], separator: str, na_values: Sequence[str] = ()
) -> str | None:
    """Return what commas separate in all numbers of a text; None if that is open.

    A comma separates decimals where a column has numbers that nothing else explains, or where semicolons
    separate the fields; but thousands where the numbers have points or commas separate the fields. With
    "points" it separates decimals and points separate thousands, as in ``1.065,5``.

    Parameters
    ----------
    texts : sequence of pyarrow.Array
        Columns of strings that are not plain numbers.
    plain : sequence of pyarrow.Array
        The others, as they are written.
    separator : str
    na_values : sequence of str

    Examples
    --------
    >>> ones = ("1,5", "1,234.5", "1.234,5", "2,345")
    >>> [meaning_of_commas([pa.array([one, "1,234"])], [], "|") for one in ones]
    ['decimal', 'thousands', 'points', None]
    """
    usual = {",": "thousands", ";": "decimal"}.get(separator)
    if not texts:
        return usual
    fields = _cleaned(_together(texts), na_values)

    def by_column(answers: Any, null: bool) -> npt.NDArray[np.bool_]:
        values = pc.fill_null(answers, null).to_numpy(zero_copy_only=False)
        return np.asarray(values).reshape(len(texts), -1)

    odd, thousands, decimal, either = (
        by_column(_matches(fields, pattern), True).all(axis=1)
        for pattern in (_PLAIN, _THOUSANDS, _DECIMAL, _EITHER)
    )
    odd = ~odd
    dots, pointed = pc.match_substring(fields, "."), _matches(fields, _POINTED)
    points = by_column(dots, False).any(axis=1)
    grouped = odd & thousands & (points | ~decimal)
    others = _together(plain).filter(pc.match_substring(_together(plain), ".")) if plain else _together([])
    # A column such as 1.065 and 12.500 may have points between thousands.
    may_group = points & decimal & by_column(pc.or_(pc.invert(dots), pointed), True).all(axis=1)
    decimal_points = bool((points & ~odd & ~may_group).any()) or not _all(_matches(others, _POINTED))
    wanted = odd & ~grouped & decimal & ~either
    if wanted.any():
        twice = by_column(pc.and_(pointed, pc.match_substring_regex(fields, r"\..*[.,]")), False).any(axis=1)
        group = separator != "," and not decimal_points and (len(others) > 0 or may_group.any())
        if group or (wanted & twice).any():
            return None if decimal_points else "points"
        return None if decimal_points or separator == "," else "decimal"
    return "thousands" if grouped.any() or (points & ~odd).any() or len(others) else usual


def as_numbers(columns: Sequence[Any], na_values: Sequence[str], comma: str | None = None) -> list[Any]:
    """Turn columns of strings into float64 where all fields are numbers, or into booleans.

    Examples
    --------
    >>> fields = [pa.array([" 1", "?"]), pa.array(["1,5", "2"])]
    >>> [column.to_pylist() for column in as_numbers(fields, ())]
    [[1.0, None], ['1,5', '2']]
    """
    with suppress(pa.ArrowInvalid):  # one call for all columns: rows may have many thousand fields
        values, count = numbers(columns, na_values, comma), len(columns[0]) if columns else 0
        return [values.slice(place * count, count) for place in range(len(columns))]
    return [_as_number(column, na_values, comma) for column in columns]


def numbers(columns: Sequence[Any], na_values: Sequence[str], comma: str | None = None) -> Any:
    """Convert columns of strings, one after the other, into one array of float64.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a field is no number, or has a comma of another meaning.
    """
    fields = _together(columns)
    if comma is not None:
        fields = _cleaned(fields, na_values)
        pattern, form = _COMMAS[comma]
        if not _all(_matches(fields, pattern)):
            raise pa.ArrowInvalid("a comma of another meaning")
        if comma != "thousands":
            grouped = pc.match_substring_regex(fields, r"\..*,|\..*\." if comma == "decimal" else r"\.")
            if pc.any(grouped).as_py():
                fields = pc.if_else(grouped, pc.replace_substring(fields, ".", ""), fields)
        return _as_float(pc.replace_substring(fields, ",", form), na_values)
    with suppress(pa.ArrowInvalid):  # most need no cleaning, which takes as long as this
        return _as_float(fields, na_values)
    with suppress(pa.ArrowInvalid):
        return _as_float(_without_missing(fields, na_values), na_values)
    return _as_float(_cleaned(fields, na_values), na_values)


def _as_float(fields: Any, na_values: Sequence[str]) -> Any:
    return without_marks(pc.cast(fields, pa.float64()), na_values).combine_chunks()


def one_column(fields: Any, na_values: Sequence[str], comma: str | None) -> Any:
    """Return a whole column of strings in its type, and as numbers if commas make numbers of it."""
    column = typed(fields, na_values)
    if pa.types.is_string(column.type) or (comma == "points" and pa.types.is_floating(column.type)):
        with suppress(pa.ArrowInvalid):
            return numbers([fields], na_values, comma)
    return without_marks(without_blanks(column), na_values)


def without_blanks(column: Any) -> Any:
    """Return a column with null where its text is blank."""
    if not pa.types.is_string(column.type):
        return column
    blank = pc.match_substring_regex(column, r"^\s*$")
    return pc.if_else(blank, None, column) if pc.any(blank).as_py() else column


def as_given(fields: Any, na_values: Sequence[str] | None = None) -> Any:
    """Return what names or labels rows as written, null where it is blank or one of such marks."""
    text = pc.utf8_trim(fields, " \t")
    return (
        pc.if_else(pc.equal(text, ""), None, text) if na_values is None else _without_missing(text, na_values)
    )


def is_one_to_one(texts: Any, numbers: Any) -> bool:
    """Say whether labels are numbers rather than codes such as 01, +49, 100E10 or a number of 20 digits.

    Each number is written in one way; numbers with decimals may be measured, if they are many.

    Examples
    --------
    >>> [is_one_to_one(pa.array(ones), pa.array(map(float, ones))) for ones in (["1", "10"], ["01", "10"])]
    [True, False]
    """
    texts, numbers = texts.drop_null(), numbers.cast(pa.float64(), safe=False).drop_null()
    if not pc.all(pc.equal(numbers, pc.floor(numbers)), min_count=0).as_py() and any(
        len(pc.unique(some)) > _FEW for some in (texts.slice(0, _FIRST), texts)
    ):
        return True
    kinds = pc.unique(texts)
    coded = pc.any(_matches(kinds, _CODE), min_count=0).as_py()
    return not coded and len(kinds) == len(pc.unique(numbers))


def bare(fields: Any, na_values: Sequence[str], *, later: bool = False) -> written.Bare | None:
    """Return a column as numbers without their currencies and the like; None for other columns.

    Parameters
    ----------
    fields : pyarrow.Array
    na_values : sequence of str
    later : bool
        Whether the first numbers may be plain.
    """
    first = _cleaned(fields.slice(0, _FIRST), na_values).drop_null()
    if not _all(written.like_number(first)):
        return None
    if not later and _all(_matches(first, f"{_THOUSANDS}|{_DECIMAL}")):
        return None
    return written.bare(_cleaned(fields, na_values))


def has_any(column: Any, signs: str) -> bool:
    """Say whether there is one of some signs in a column of strings."""
    return any(pc.any(pc.match_substring(column, sign)).as_py() is True for sign in signs)


def is_filled(column: Any) -> bool:
    """Say whether a column of strings, or of something else, holds anything."""
    column = _cleaned(column) if pa.types.is_string(column.type) else column
    return bool(column.null_count < len(column))


def without_marks(values: Any, na_values: Sequence[str]) -> Any:
    """Take out numbers that stand for missing values, however they are written: -999 and -999.0."""
    for mark in na_values if pa.types.is_integer(values.type) or pa.types.is_floating(values.type) else ():
        if re.fullmatch(_PLAIN, mark):
            result = pc.equal(values.cast(pa.float64(), safe=False), float(mark))
            values = pc.if_else(result, pa.scalar(None, values.type), values)
    return values


def _as_number(column: Any, na_values: Sequence[str], comma: str | None) -> Any:
    with suppress(pa.ArrowInvalid):
        return numbers([column], na_values, comma)
    trimmed = _cleaned(column, na_values)
    for kind in (pa.int64(), pa.bool_()):  # Arrow reads 0x1F too
        with suppress(pa.ArrowInvalid):
            return pc.cast(trimmed, kind)
    return column


def all_typed(columns: Sequence[Any], na_values: Sequence[str]) -> list[Any]:
    """Return columns of strings in the types that Arrow finds; of many columns all numbers are float64."""
    text = range(len(columns)) if len(columns) <= _MANY else {0, *likely_text(columns, na_values)}
    rest = [place for place in range(len(columns)) if place not in text]
    found = {place: typed(columns[place], na_values) for place in text}
    found |= zip(rest, as_numbers([columns[place] for place in rest], na_values), strict=True)
    return [found[place] for place in range(len(columns))]


def typed(fields: Any, na_values: Sequence[str]) -> Any:
    """Return a column of strings in the type that Arrow finds for all of it: integers, dates, and so on."""
    sink = pa.BufferOutputStream()
    quoted = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    csv.write_csv(pa.table([pc.fill_null(fields, "")], ["column"]), sink, quoted)
    table = csv.read_csv(
        pa.BufferReader(sink.getvalue()),
        read_options=csv.ReadOptions(column_names=["column"], block_size=1 << 26, use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(null_values=[*MISSING_TOKENS, *na_values]),
    )
    return table.column(0).combine_chunks()


def like_number(column: Any) -> Any:
    """Say of each field whether it can be a number, or stands for a missing one.

    Examples
    --------
    >>> like_number(pa.array(["1,065.5", "#DIV/0!", "3.O", "<$2"])).to_pylist()
    [True, True, False, True]
    """
    text = _cleaned(column)
    return pc.fill_null(pc.or_(is_number_text(text), written.like_number(text)), True)


def likely_text(columns: Sequence[Any], na_values: Sequence[str] = ()) -> list[int]:
    """Return which of many columns of strings, of one length, hold other than numbers."""
    odd = pc.invert(pc.fill_null(is_number_text(_cleaned(_together(columns), na_values)), True))
    values = np.asarray(odd.to_numpy(zero_copy_only=False)).reshape(len(columns), -1)
    return np.flatnonzero(values.any(axis=1)).tolist()


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


def marks(column: Any, na_values: Sequence[str] = (), *, slips: bool = False) -> dict[str, int]:
    """Count the few texts without digits, but known marks, in a column that is otherwise mostly numeric.

    With ``slips`` texts with digits too.

    Examples
    --------
    >>> marks(pa.array(["1", "2.5", "-", "3", "-", "4"]))
    {'-': 2}
    >>> marks(pa.array(["1", "2.5", "3.O", "4"]))
    {}
    """
    text = _cleaned(column, na_values).drop_null()
    odd = text.filter(pc.invert(like_number(text)))
    counts = {str(one["values"]): one["counts"] for one in odd.value_counts().to_pylist()}
    few = 2 * len(odd) < len(text) and len(counts) <= _MOST_MARKS
    return counts if few and (slips or not any(re.search(r"\d", mark) for mark in counts)) else {}


def _together(columns: Sequence[Any]) -> Any:
    return pa.chunked_array(columns, pa.string())


def _without_missing(fields: Any, na_values: Sequence[str]) -> Any:
    missing = pc.is_in(fields, value_set=pa.array([*MISSING_TOKENS, *na_values]))
    return pc.if_else(missing, pa.scalar(None, pa.string()), fields)


def _cleaned(fields: Any, na_values: Sequence[str] = ()) -> Any:
    """Return fields without padding, null where a value is missing."""
    return _without_missing(pc.utf8_trim_whitespace(fields), na_values)


def _all(answers: Any) -> bool:
    return bool(pc.all(answers, min_count=0).as_py())


def _matches(text: Any, pattern: str) -> Any:
    return pc.match_substring_regex(text, f"^(?:{pattern})$")


# ------------------------- text that a spreadsheet would run as a formula: as files write it, and as read

_STARTS = f"[{STARTS}]"
QUOTED = f"'{_STARTS}".encode()  # in every text that has such texts, and in some others


def shown_as_text(texts: Any) -> Any:
    """Return an array of texts with a single quote before those that a spreadsheet would run; numbers stay.

    Texts that begin with single quotes before such a text get one more, so that :func:`as_written` undoes it
    exactly.

    Examples
    --------
    >>> shown_as_text(["=1+1", "'=1+1", "-1.5", "'90s", None]).to_pylist()
    ["'=1+1", "''=1+1", '-1.5', "'90s", None]
    >>> as_written(["'=1+1", "''=1+1", "-1.5", "'90s", None]).to_pylist()
    ['=1+1', "'=1+1", '-1.5', "'90s", None]
    """
    texts = _array(texts)
    return pc.if_else(_is_formula(texts), pc.binary_join_element_wise("'", texts, ""), texts)


def as_written(texts: Any) -> Any:
    """Return texts without the quote that :func:`shown_as_text` put before some."""
    texts = _array(texts)
    quoted = pc.and_(pc.starts_with(texts, "'"), _is_formula(texts))
    return pc.if_else(quoted, pc.utf8_slice_codeunits(texts, 1), texts)


def _array(texts: Any) -> Any:
    return texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())


def _is_formula(texts: Any) -> Any:
    bare = pc.utf8_ltrim(texts, "'")
    return pc.and_(pc.match_substring_regex(bare, f"^{_STARTS}"), pc.invert(is_number_text(bare)))
