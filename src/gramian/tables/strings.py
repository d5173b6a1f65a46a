"""Columns of fields as numbers, dates or text: strings of Arrow to what they stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.tables import cells
from gramian.tables.cells import MISSING_TOKENS, STARTS

_MOST_MARKS = 3
_SLIPS = 0.05  # largest share of the cells of a column of numbers that are none
_FEW = 20  # kinds of labels
_MANY = 200  # columns; the type of each takes time
_FIRST = 200  # texts that are looked at before all of a column
# What matches, and Arrow's form of its commas. "points": they separate decimals, and points thousands.
_COMMAS = {
    "decimal": (cells.DECIMAL, "."), "thousands": (cells.THOUSANDS, ""), "points": (cells.POINTS, "."),
}  # fmt: skip
_TIMES = (pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC"))
_OTHERWISE = pa.array(
    [sign + word for word in ("inf", "infinity", "nan") for sign in ("", "+", "-")] + ["true", "false"]
)
_KINDS = (pa.int64(), pa.bool_(), pa.date32(), *_TIMES)  # other than float64, which is tried before


def as_texts(column: Any) -> list[str]:
    """Return the entries of a column as texts, "" where there is none.

    Examples
    --------
    >>> as_texts(pa.array([0, None, -62200000000], pa.timestamp("s")))
    ['1970-01-01 00:00:00', '', '-0002-12-17 14:13:20']
    """
    try:
        values = column.to_pylist()
    except OverflowError:  # years that Python's calendar lacks
        values = column.cast(pa.string()).to_pylist()
    return ["" if value is None else str(value) for value in values]


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

    even, thousands, decimal, either = (
        by_column(_matches(fields, pattern), True).all(axis=1)
        for pattern in (cells.PLAIN, cells.THOUSANDS, cells.DECIMAL, cells.EITHER)
    )
    odd, dots, pointed = ~even, pc.match_substring(fields, "."), _matches(fields, cells.POINTED)
    points = by_column(dots, False).any(axis=1)
    grouped = odd & thousands & (points | ~decimal)
    others = _together(plain).filter(pc.match_substring(_together(plain), ".")) if plain else _together([])
    # A column such as 1.065 and 12.500 may have points between thousands.
    may_group = points & decimal & by_column(pc.or_(pc.invert(dots), pointed), True).all(axis=1)
    decimal_points = bool((points & even & ~may_group).any()) or not _all(_matches(others, cells.POINTED))
    wanted = odd & ~grouped & decimal & ~either
    if wanted.any():
        twice = by_column(pc.and_(pointed, pc.match_substring_regex(fields, r"\..*[.,]")), False).any(axis=1)
        group = separator != "," and not decimal_points and (len(others) > 0 or may_group.any())
        if group or (wanted & twice).any():
            return None if decimal_points else "points"
        return None if decimal_points or separator == "," else "decimal"
    return "thousands" if grouped.any() or (points & even).any() or len(others) else usual


# ---------------------------------------------------------------- types


def typed(columns: Sequence[Any], na_values: Sequence[str]) -> list[Any]:
    """Return columns of strings in their types; of many columns all numbers are float64.

    Examples
    --------
    >>> columns = ["1", " 2"], ["1.5", "NA"], ["12:30", ""], ["", "a"]
    >>> [str(column.type) for column in typed([pa.array(column) for column in columns], ())]
    ['int64', 'double', 'time32[s]', 'string']
    """
    result = as_numbers(columns, na_values)
    # The type of each takes time; of many columns the first may name rows.
    for index, values in enumerate(result if len(columns) <= _MANY else result[:1]):
        if pa.types.is_floating(values.type):
            result[index] = _whole(columns[index], values, na_values)
    return result


def _whole(fields: Any, values: Any, na_values: Sequence[str]) -> Any:
    """Return numbers as integers where all of them are written so."""
    if values.null_count == len(values):
        return pa.nulls(len(values))
    if not _all(pc.equal(values, pc.floor(values))):
        return values
    return _cast(pc.utf8_trim(_without_missing(fields, na_values), " \t"), (pa.int64(),), values)


def _typed(fields: Any, na_values: Sequence[str]) -> Any:
    text = pc.utf8_trim(_without_missing(fields, na_values), " \t")
    if text.null_count == len(text):
        return pa.nulls(len(text))
    first = text.drop_null().slice(0, _FIRST)
    if _all(pc.match_substring_regex(first, cells.CLOCK)):  # Arrow casts no times of a day
        days = pc.binary_join_element_wise("1970-01-01", text, " ")
        return _cast(days, _TIMES[:1], pc.fill_null(fields, ""), pa.time32("s"))
    return _cast(text, _KINDS, pc.fill_null(fields, ""))


def _cast(text: Any, kinds: Sequence[Any], otherwise: Any, final: Any = None) -> Any:
    first = text.slice(0, _FIRST)
    for kind in kinds:
        with suppress(pa.ArrowInvalid):  # each entry that fails takes time
            pc.cast(first, kind)
            return pc.cast(text, kind).cast(final or kind)
    return otherwise


def one_column(fields: Any, na_values: Sequence[str], comma: str | None) -> Any:
    """Return a whole column of strings in its type, and as numbers if commas make numbers of it."""
    (column,) = typed([fields], na_values)
    if pa.types.is_string(column.type) or (comma == "points" and pa.types.is_floating(column.type)):
        with suppress(pa.ArrowInvalid):
            return numbers([fields], na_values, comma)
    return without_marks(without_blanks(column), na_values)


# ---------------------------------------------------------------- numbers


def as_numbers(columns: Sequence[Any], na_values: Sequence[str], comma: str | None = None) -> list[Any]:
    """Turn columns of strings into float64 where all fields are numbers, else into other types.

    Examples
    --------
    >>> fields = [pa.array([" 1", "?"]), pa.array(["1,5", "2"])]
    >>> [column.to_pylist() for column in as_numbers(fields, ())]
    [[1.0, None], ['1,5', '2']]
    """
    with suppress(pa.ArrowInvalid):  # one call for all columns: rows may have many thousand fields
        values, count = numbers(columns, na_values, comma), len(columns[0]) if columns else 0
        return [values.slice(index * count, count) for index in range(len(columns))]
    result, text = [], words(columns, na_values)
    for index, column in enumerate(columns):
        if index in text:
            result.append(pc.fill_null(column, ""))
            continue
        try:
            if len(column) > _FIRST:  # these fail sooner than the whole column
                numbers([column.slice(0, _FIRST)], na_values, comma)
            result.append(numbers([column], na_values, comma))
        except pa.ArrowInvalid:
            result.append(_typed(column, na_values))
    return result


def words(columns: Sequence[Any], na_values: Sequence[str]) -> set[int]:
    """Return which columns of strings are words without digits: one call says that nothing else needs a try.

    Examples
    --------
    >>> words([pa.array(column) for column in (["a", "NA"], ["b", "3"], ["", "NA"], ["no", "Inf"])], ())
    {0}
    """
    fields = _cleaned(_together(columns), na_values)
    may_be = pc.or_(pc.match_substring_regex(fields, "[0-9]"), pc.is_in(pc.utf8_lower(fields), _OTHERWISE))
    shape = len(columns), len(columns[0]) if columns else 0
    there, other = (
        pc.fill_null(some, False).to_numpy(zero_copy_only=False).reshape(shape).any(axis=1)
        for some in (fields.is_valid(), may_be)
    )
    return {*np.flatnonzero(there & ~other).tolist()}


def numbers(columns: Sequence[Any], na_values: Sequence[str], comma: str | None = None) -> Any:
    """Convert columns of strings, one after the other, into one array of float64.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a field is no number, or has a comma of another meaning.
    """
    fields = _together(columns)
    if comma is None:  # most need no cleaning, which takes as long as this
        with suppress(pa.ArrowInvalid):
            return _as_float(fields, na_values)
        with suppress(pa.ArrowInvalid):
            return _as_float(_without_missing(fields, na_values), na_values)
    fields = _cleaned(fields, na_values)
    if comma is not None:
        pattern, form = _COMMAS[comma]
        if not _all(_matches(fields, pattern)):
            raise pa.ArrowInvalid("a comma of another meaning")
        if comma != "thousands":
            grouped = pc.match_substring_regex(fields, r"\..*,|\..*\." if comma == "decimal" else r"\.")
            if pc.any(grouped).as_py():
                fields = pc.if_else(grouped, pc.replace_substring(fields, ".", ""), fields)
        fields = pc.replace_substring(fields, ",", form)
    return _as_float(fields, na_values)


def _as_float(fields: Any, na_values: Sequence[str]) -> Any:
    return without_marks(pc.cast(fields, pa.float64()), na_values).combine_chunks()


def without_marks(values: Any, na_values: Sequence[str]) -> Any:
    """Take out numbers that stand for missing values, however they are written: -999 and -999.0."""
    for mark in na_values if pa.types.is_integer(values.type) or pa.types.is_floating(values.type) else ():
        if re.fullmatch(cells.PLAIN, mark):
            result = pc.equal(values.cast(pa.float64(), safe=False), float(mark))
            values = pc.if_else(result, pa.scalar(None, values.type), values)
    return values


def without_marks_of(column: Any, marks: Sequence[str]) -> Any:
    """Return a column as a file has it, without texts, and numbers in any spelling, that are missing values.

    Examples
    --------
    >>> without_marks_of(pa.array(["7.5", "-200,0", " n.d. "]), ["-200", "n.d."]).to_pylist()
    ['7.5', '', '']
    """
    if not pa.types.is_string(column.type):
        return without_marks(column, marks)
    text = pc.utf8_trim_whitespace(column)
    pointed = pc.replace_substring_regex(text, r",(\d\d?)$", r".\1")
    values = pc.if_else(_matches(pointed, cells.PLAIN), pointed, None).cast(pa.float64())
    hits = pc.or_(pc.is_in(text, pa.array(marks)), pc.is_null(without_marks(pc.fill_null(values, 0), marks)))
    return pc.if_else(hits, "", column)


def is_one_to_one(texts: Any, numbers: Any) -> bool:
    """Say whether labels are numbers rather than codes such as 01, +49, 100E10 or a number of 20 digits.

    Each number is written in one way; numbers with decimals may be measured, if they are many.

    Examples
    --------
    >>> [is_one_to_one(pa.array(ones), pa.array(map(float, ones))) for ones in (["1", "10"], ["01", "10"])]
    [True, False]
    """
    texts, numbers = texts.drop_null(), numbers.cast(pa.float64(), safe=False).drop_null()
    if not _all(pc.equal(numbers, pc.floor(numbers))) and any(
        len(pc.unique(some)) > _FEW for some in (texts.slice(0, _FIRST), texts)
    ):
        return True
    kinds = pc.unique(texts)
    coded = pc.any(_matches(kinds, cells.CODE), min_count=0).as_py()
    return not coded and len(kinds) == len(pc.unique(numbers))


def is_number_text(texts: Any) -> Any:
    """Say of each text whether it is a number, with any meaning of its commas."""
    return _matches(texts, cells.NUMBER)


def like_number(column: Any) -> Any:
    """Say of each field whether it can be a number, or stands for a missing one.

    Examples
    --------
    >>> like_number(pa.array(["1,065.5", "#DIV/0!", "3.O", "<$2"])).to_pylist()
    [True, True, False, True]
    """
    text = _cleaned(column)
    return pc.fill_null(pc.or_(is_number_text(text), pc.match_substring_regex(text, cells.DRESSED)), True)


def undecided_comma(column: Any) -> str | None:
    """Return a value whose comma separates either thousands or decimals, of a column where both may be."""
    text = _cleaned(column)
    if not all(_all(_matches(text, pattern)) for pattern in (cells.DECIMAL, cells.THOUSANDS)):
        return None
    return str(text[pc.index(pc.match_substring(text, ","), pa.scalar(True)).as_py()])


def marks(column: Any, na_values: Sequence[str] = ()) -> dict[str, int]:
    """Count the few texts without digits, but known marks, in a column that is otherwise mostly numeric.

    Examples
    --------
    >>> marks(pa.array(["1", "2.5", "-", "3", "-", "4"]))
    {'-': 2}
    >>> marks(pa.array(["1", "2.5", "3.O", "4"]))
    {}
    """
    text = _cleaned(column, na_values).drop_null()
    odd = text.filter(pc.invert(like_number(text)))
    counts = {str(counted["values"]): counted["counts"] for counted in odd.value_counts().to_pylist()}
    few = 2 * len(odd) < len(text) and len(counts) <= _MOST_MARKS
    return counts if few and not any(re.search(r"\d", mark) for mark in counts) else {}


class Slips(NamedTuple):
    """The few cells of a column of numbers that are none.

    Attributes
    ----------
    read : dict of int to (str, str)
        By their rows, what is written, and what it most likely stands for, with its unit.
    rest : dict of str to int
        How often others occur, which may stand for missing values.
    fields : pyarrow.Array
        All cells, with what is most likely meant.
    """

    read: dict[int, tuple[str, str]]
    rest: dict[str, int]
    fields: Any


def slips(fields: Any, na_values: Sequence[str] = (), comma: str | None = None) -> Slips | None:
    """Return the cells that are no numbers of a column where few are none, or all have a unit.

    Parameters
    ----------
    fields : pyarrow.Array
    na_values : sequence of str
    comma : str, optional
        What commas separate.

    Examples
    --------
    >>> found = slips(pa.array(["7.1", "7,9", "8.2", None]))
    >>> found.read, found.fields.to_pylist()
    ({1: ('7,9', '7.9')}, ['7.1', '7.9', '8.2', None])
    """
    text, (pattern, _) = _cleaned(fields, na_values), _COMMAS.get(comma or "", (cells.PLAIN, ""))
    first, count = text.slice(0, _FIRST).drop_null(), len(text) - text.null_count
    quantities = all(
        (cells.slip(text) or ("", ""))[1] for text in first.to_pylist()
    )  # most text is none at once
    if count < 3 or not (quantities or pc.mean(like_number(first)).as_py() > 0.5):
        return None
    numbers = pc.or_(_matches(text, pattern), pc.match_substring_regex(text, "^[<>≤≥]"))
    if pc.sum(numbers).as_py() < count - max(1, _SLIPS * count):
        numbers = like_number(text)  # with signs, where most have these
    odd = np.flatnonzero(pc.invert(pc.fill_null(numbers, True)).to_numpy(zero_copy_only=False)).tolist()
    if not odd or not (quantities or len(odd) <= max(1, _SLIPS * count)):
        return None
    plain = text.filter(_matches(text, cells.PLAIN))
    within_one = len(plain) > 0 and pc.max(pc.abs(plain.cast(pa.float64()))).as_py() <= 1
    read, rest, meant, units = dict[int, tuple[str, str]](), dict[str, int](), text.to_pylist(), set[str]()
    for row in odd:
        number, unit = cells.slip(meant[row]) or ("", "")
        if not number:
            rest[meant[row]] = rest.get(meant[row], 0) + 1
            continue
        if unit == "%" and within_one and abs(float(number)) > 1:
            number, unit = f"{float(number) / 100:.12g}", ""
        units.add(unit)
        read[row] = meant[row], f"{number} ({unit})" if unit else number
        meant[row] = number.replace(".", ",") if comma == "points" else number
    even = len(rest) <= _MOST_MARKS and (not quantities or len(units) == 1)
    return Slips(read, rest, pa.array(meant, pa.string())) if even else None


# ------------------------- numbers with currencies, percent signs, parentheses, groups and limits


class Bare(NamedTuple):
    """Texts without what stands around their numbers.

    Attributes
    ----------
    fields : pyarrow.Array
        The numbers as text, with points and commas as they are.
    limits : pyarrow.Array
        The sign before each: "<" or ">", else "".
    unit : str
        The percent sign or currency that stands with them.
    said : set of str
        What else was understood: "parentheses", "groups".
    """

    fields: Any
    limits: Any
    unit: str
    said: frozenset[str] = frozenset()


def bare(fields: Any, na_values: Sequence[str] = (), *, later: bool = True) -> Bare | None:
    """Return a column as numbers without their currencies and the like; None if one is no number.

    Currencies that differ, or a percent sign at some numbers only, make None of them as well: they are no
    numbers of one unit. A currency may stand at the first number alone.

    Parameters
    ----------
    fields : pyarrow.Array
    na_values : sequence of str
    later : bool
        Whether the first numbers may be plain.

    Examples
    --------
    >>> column = bare(pa.array(["$1,065.50", "($12)", None]))
    >>> column.fields.to_pylist(), column.unit
    (['1,065.50', '-12', None], '$')
    """
    first = _cleaned(fields.slice(0, _FIRST), na_values).drop_null()
    if not _all(pc.match_substring_regex(first, cells.DRESSED)) or (
        not later and _all(is_number_text(first))
    ):
        return None
    column = _cleaned(fields, na_values)
    there = column.drop_null()
    matched = pc.extract_regex(there, cells.DRESSED)
    if matched.null_count or not len(there):
        return None
    field = {name: matched.field(name) for name in re.findall(r"\?P<(\w+)>", cells.DRESSED)}
    bracketed = pc.equal(field["open"], "(")
    if pc.any(pc.xor(bracketed, pc.equal(field["close"], ")"))).as_py():
        return None
    units = pc.binary_join_element_wise(field["before"], field["inside"], field["after"], "")
    kinds = set(pc.unique(units).to_pylist())
    # 0 has the same size in every unit.
    zeros = _all(pc.match_substring_regex(field["digits"].filter(pc.equal(units, "")), "^[0.,]*$"))
    if len(kinds - {""}) > 1 or ("" in kinds and kinds & {"%", "‰"} and not zeros):
        return None
    signs = pc.binary_join_element_wise(field["sign"], field["minus"], "")
    negative = pc.or_(bracketed, pc.match_substring_regex(signs, "[-\u2212\u2013]"))
    digits = pc.replace_substring_regex(field["digits"], cells.GROUP, "")
    numbers = pc.if_else(negative, pc.binary_join_element_wise("-", digits, ""), digits)
    limits = pc.replace_substring_regex(
        pc.replace_substring_regex(field["limit"], "[<≤].*", "<"), "[>≥].*", ">"
    )
    conventions = {"parentheses"} if pc.any(bracketed).as_py() else set()
    conventions |= (
        {"groups"} if pc.any(pc.match_substring_regex(field["digits"], cells.GROUP)).as_py() else set()
    )
    numbers, limits = (_spread(some, column) for some in (numbers, limits))
    return Bare(numbers, limits, "".join(kinds - {""}), frozenset(conventions))


def _spread(values: Any, column: Any) -> Any:
    """Return values in the rows of a column that are not null."""
    return pc.replace_with_mask(pa.nulls(len(column), values.type), pc.is_valid(column), values)


def beyond(bare: Bare, values: Any, policy: str) -> tuple[Any, list[str]]:
    """Return numbers without those that are only limits, or with half of a limit, and these entries.

    Parameters
    ----------
    bare : Bare
    values : pyarrow.Array
        Its numbers.
    policy : {"missing", "half"}
        With "half" an entry above a limit is the limit.

    Examples
    --------
    >>> one = bare(pa.array(["<0.5", "3"]))
    >>> beyond(one, pa.array([0.5, 3.0]), "half")[0].to_pylist()
    [0.25, 3.0]
    """
    below, above = (pc.fill_null(pc.equal(bare.limits, sign), False) for sign in "<>")
    both = pc.or_(below, above)
    limits = pc.binary_join_element_wise(bare.limits, bare.fields, "").filter(both).to_pylist()
    if limits and policy == "half":
        values = pc.if_else(below, pc.divide(values, 2.0), values)
    return pc.if_else(both, None, values) if limits and policy == "missing" else values, limits


# ---------------------------------------------------------------- dates


def dates(column: Any) -> tuple[Any, str] | None:
    """Return a column of texts, null where missing, as dates, or as seconds where there are times; else None.

    Between points and hyphens the day comes first. Between slashes a number above 12 decides, otherwise the
    month comes first. The text is a date whose day and month may be exchanged, if no other one decides.

    Examples
    --------
    >>> dates(pa.array(["31.12.2024", None]))[0].to_pylist()
    [datetime.date(2024, 12, 31), None]
    >>> dates(pa.array(["01/02/2024"]))[1]
    '01/02/2024'
    """
    there = column.drop_null()
    first = there.slice(0, _FIRST)
    if not len(first) or not all(map(cells.is_date, first.to_pylist())):
        return None
    iso, unclear, matched = there, "", pc.extract_regex(there, cells.DAY)
    if not matched.null_count:
        field = {name: matched.field(name) for name in re.findall(r"\?P<(\w+)>", cells.DAY)}
        signs = set(pc.unique(field["sign"]).to_pylist()) - {None}
        if len(signs) > 1:
            return None
        value, two = (int(pc.max(_small(field[name])).as_py() or 0) for name in ("one", "two"))
        unclear = str(first[0]) if signs == {"/"} and max(value, two) <= 12 and value + two > 0 else ""
        month, day = ("one", "two") if signs == {"/"} and value <= 12 else ("two", "one")
        century = pc.if_else(pc.less(_small(field["last"]), cells.CENTURY), "20", "19")
        short = pc.equal(pc.utf8_length(field["last"]), 2)
        year = pc.if_else(short, _join(century, field["last"]), field["last"])
        days = (_join(field["month"], field[month]), _join(field["day"], field[day]))
        iso = _join(_join(field["year"], year), *(pc.utf8_lpad(value, 2, "0") for value in days), by="-")
        clock = pc.replace_substring_regex(pc.utf8_trim(field["time"], " T"), r"^(\d:)", r"0\1")
        iso = pc.utf8_rtrim(_join(iso, clock, by=" "), " ")
    values = _cast(iso, (pa.date32(), pa.timestamp("s")), None)
    return None if values is None else (_spread(values, column), unclear)


def _join(*texts: Any, by: str = "") -> Any:
    return pc.binary_join_element_wise(*texts, by)


def _small(texts: Any) -> Any:
    return pc.cast(pc.if_else(pc.equal(texts, ""), "0", texts), pa.int32())


# ---------------------------------------------------------------- text


def without_blanks(column: Any) -> Any:
    """Return a column with null where its text is blank."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    blank = pc.match_substring_regex(column, r"^\s*$")
    return pc.if_else(blank, None, column) if pc.any(blank).as_py() else column


def as_given(fields: Any, na_values: Sequence[str] | None = None) -> Any:
    """Return what names or labels rows as written, null where it is blank or one of such marks."""
    text = pc.utf8_trim(fields, " \t")
    return (
        pc.if_else(pc.equal(text, ""), None, text) if na_values is None else _without_missing(text, na_values)
    )


def is_filled(column: Any) -> bool:
    """Say whether a column of strings, or of something else, holds anything."""
    column = _cleaned(column) if pa.types.is_string(column.type) else column
    return bool(column.null_count < len(column))


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

QUOTED = f"'[{STARTS}]".encode()  # in every text that has such texts, and in some others


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
    return pc.and_(pc.match_substring_regex(bare, f"^[{STARTS}]"), pc.invert(is_number_text(bare)))
