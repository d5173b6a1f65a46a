"""Numbers and dates as people write them: currencies, percent, grouped digits, limits of detection."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

_CURRENCY = r"(?:US|CA|AU?|C|NZ|HK)?\$|[€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK"
_BLANK = "[ \u00a0\u2009\u202f]"
_GROUP = "[ \u00a0\u2009\u202f'\u2019]"  # between thousands, and nothing else
_DIGITS = (
    rf"[1-9]\d{{0,2}}(?:{_GROUP}\d{{3}})+(?:[.,]\d*)?|\d[\d.,]*(?:[eE][+-]?\d+)?|[.,]\d+(?:[eE][+-]?\d+)?"
)
_SIGN = "[-+\u2212\u2013]"
_NUMBER = (
    rf"^(?P<limit>[<>≤≥]=?)?{_BLANK}*(?P<before>{_CURRENCY})?{_BLANK}*(?P<open>\()?(?P<sign>{_SIGN})?{_BLANK}*"
    rf"(?P<inside>{_CURRENCY})?{_BLANK}*(?P<minus>{_SIGN})?(?P<digits>{_DIGITS})"
    rf"{_BLANK}*(?P<after>{_CURRENCY}|[%‰])?(?P<close>\))?$"
)
_ONE = re.compile(_NUMBER)
_DAY = (
    r"^(?:(?P<year>\d{4})(?P<slash>[/.])(?P<month>\d\d?)[/.](?P<day>\d\d?)"
    r"|(?P<one>\d\d?)(?P<sign>[/.-])(?P<two>\d\d?)[/.-](?P<last>\d{4}|\d\d))"
    r"(?P<time>[ T]+\d\d?:\d\d(?::\d\d)?)?$"
)
_ISO = r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?$"
_CENTURY = 69  # two digits from here on are of the 20th century, as in POSIX
_FIRST = 200  # texts of a column that are looked at before all of them


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


def digits_of(text: str) -> str:
    """Return the digits of a number with a currency, percent sign, limit, parentheses or groups; else "".

    Examples
    --------
    >>> [digits_of(text) for text in ("($1,065.50)", "1 516,12", "<0.5", "12 %", "12 kg", "(kg)")]
    ['1,065.50', '1516,12', '0.5', '12', '', '']
    """
    match = _ONE.match(text.strip())
    if match is None or (match["open"] is None) != (match["close"] is None):
        return ""
    return re.sub(_GROUP, "", match["digits"])


def like_number(column: Any) -> Any:
    """Say of each text whether it is such a number."""
    return pc.match_substring_regex(column, _NUMBER)


def bare(column: Any) -> Bare | None:
    """Return a column of texts, null where missing, as bare numbers; None if one is no number.

    Currencies that differ, or a percent sign at some numbers only, make None of them as well: they are no
    numbers of one unit. A currency may stand at the first number alone.

    Examples
    --------
    >>> column = bare(pa.array(["$1,065.50", "($12)", None]))
    >>> column.fields.to_pylist(), column.unit
    (['1,065.50', '-12', None], '$')
    """
    there = column.drop_null()
    first = there.slice(0, _FIRST)
    if not len(first) or not pc.all(like_number(first)).as_py():
        return None
    parts = pc.extract_regex(there, _NUMBER)
    if parts.null_count:
        return None
    part = {name: parts.field(name) for name in ("limit", "before", "open", "sign", "inside")}
    part |= {name: parts.field(name) for name in ("minus", "digits", "after", "close")}
    if pc.any(pc.xor(pc.equal(part["open"], ""), pc.equal(part["close"], ""))).as_py():
        return None
    units = pc.binary_join_element_wise(part["before"], part["inside"], part["after"], "")
    kinds = set(pc.unique(units).to_pylist())
    if len(kinds - {""}) > 1 or ("" in kinds and kinds & {"%", "‰"} and not _zeros(part["digits"], units)):
        return None
    negative = pc.or_(
        pc.equal(part["open"], "("),
        pc.match_substring_regex(
            pc.binary_join_element_wise(part["sign"], part["minus"], ""), "[-\u2212\u2013]"
        ),
    )
    digits = pc.replace_substring_regex(part["digits"], _GROUP, "")
    fields = pc.if_else(negative, pc.binary_join_element_wise("-", digits, ""), digits)
    limits = pc.replace_substring_regex(pc.replace_substring(part["limit"], "≤", "<"), "≥.*|>.*", ">")
    limits = pc.utf8_slice_codeunits(limits, 0, 1)
    valid, empty = pc.is_valid(column), pa.nulls(len(column), pa.string())
    said = {"parentheses"} if pc.any(pc.equal(part["open"], "(")).as_py() else set()
    said |= {"groups"} if pc.any(pc.match_substring_regex(part["digits"], _GROUP)).as_py() else set()
    fields, limits = (pc.replace_with_mask(empty, valid, one) for one in (fields, limits))
    return Bare(fields, limits, "".join(kinds - {""}), frozenset(said))


def _zeros(digits: Any, units: Any) -> bool:
    """Say whether all numbers without a unit are 0, which has the same size in every unit."""
    return all(
        not set(text or "") - set("0.,") for text in pc.unique(digits.filter(pc.equal(units, ""))).to_pylist()
    )


class Dates(NamedTuple):
    """A column of dates.

    Attributes
    ----------
    values : pyarrow.Array
        Of days, or of seconds where there are times.
    unclear : str
        A date whose day and month may be exchanged, where no other one decides; else "".
    """

    values: Any
    unclear: str = ""


def is_date(text: str) -> bool:
    """Say whether a text is a date, perhaps with a time.

    Examples
    --------
    >>> [is_date(text) for text in ("31.12.2024", "12/31/24 08:30", "2024-12-31", "1.2.3", "1.5")]
    [True, True, True, False, False]
    """
    match = re.match(_DAY, text.strip())
    if match is None:
        return re.match(_ISO, text.strip()) is not None
    # 1.2.24 may as well number a section.
    return match["sign"] != "." or len(match["last"]) == 4 or len(match["one"] + match["two"]) == 4


def dates(column: Any) -> Dates | None:
    """Return a column of texts, null where missing, as dates; None if one is no date.

    Between points and hyphens the day comes first. Between slashes a number above 12 decides, otherwise the
    month comes first.

    Examples
    --------
    >>> dates(pa.array(["31.12.2024", None])).values.to_pylist()
    [datetime.date(2024, 12, 31), None]
    >>> dates(pa.array(["01/02/2024"])).unclear
    '01/02/2024'
    """
    there = column.drop_null()
    first = there.slice(0, _FIRST)
    if not len(first) or not all(map(is_date, first.to_pylist())):
        return None
    parts = pc.extract_regex(there, _DAY)
    if parts.null_count:
        return _as_dates(there, column)
    part = {
        name: parts.field(name) for name in ("year", "month", "day", "one", "sign", "two", "last", "time")
    }
    signs = set(pc.unique(part["sign"]).to_pylist()) - {None}
    if len(signs) > 1:
        return None
    high = [_largest(part[name]) for name in ("one", "two")]
    month_first = signs == {"/"} and high[0] <= 12
    unclear = str(first[0]) if signs == {"/"} and max(high) <= 12 and high[0] + high[1] > 0 else ""
    month, day = ("one", "two") if month_first else ("two", "one")
    early = pc.less(_small(part["last"]), _CENTURY)
    century = pc.if_else(early, "20", "19")
    short = pc.equal(pc.utf8_length(part["last"]), 2)
    year = pc.if_else(short, pc.binary_join_element_wise(century, part["last"], ""), part["last"])
    numbers = (
        pc.binary_join_element_wise(part["year"], year, ""),
        pc.utf8_lpad(pc.binary_join_element_wise(part["month"], part[month], ""), 2, "0"),
        pc.utf8_lpad(pc.binary_join_element_wise(part["day"], part[day], ""), 2, "0"),
    )
    clock = pc.utf8_trim(part["time"], " T")
    clock = pc.if_else(
        pc.match_substring_regex(clock, r"^\d:"), pc.binary_join_element_wise("0", clock, ""), clock
    )
    iso = pc.utf8_rtrim(
        pc.binary_join_element_wise(pc.binary_join_element_wise(*numbers, "-"), clock, " "), " "
    )
    result = _as_dates(iso, column)
    return None if result is None else result._replace(unclear=unclear)


def _as_dates(texts: Any, column: Any) -> Dates | None:
    """Return texts in ISO order in the rows of a column that are not null."""
    for kind in (pa.date32(), pa.timestamp("s")):
        with suppress(pa.ArrowInvalid):
            values = pc.cast(texts, kind)
            return Dates(pc.replace_with_mask(pa.nulls(len(column), kind), pc.is_valid(column), values))
    return None


def _small(texts: Any) -> Any:
    return pc.cast(pc.if_else(pc.equal(texts, ""), "0", texts), pa.int32())


def _largest(texts: Any) -> int:
    return int(pc.max(_small(texts)).as_py() or 0)


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
