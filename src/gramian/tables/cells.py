"""One cell as people write it: numbers, dates, units, marks of missing values, and signs of formulas."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

# ---------------------------------------------------------------- missing values

MISSING_TOKENS = ("", "NA", "NaN", "nan", "null", "?", "..", "N/A", "n/a", "NULL", "#N/A", "<NA>",
                  "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")  # fmt: skip
NOTHING = re.compile(r"[-\u2013\u2014.*?_/\\]*")  # stands for no value, and names nothing


def is_missing(field: str, na_values: Sequence[str] = ()) -> bool:
    """Say whether a field stands for a missing value."""
    return field.strip() in MISSING_TOKENS or field.strip() in na_values


# ---------------------------------------------------------------- numbers, by the meaning of their commas

INFINITY = r"[+-]?(?i:inf|infinity)"
EXPONENT = r"([eE][+-]?\d+)?"
PLAIN = rf"[+-]?(\d+\.?\d*|\.\d+){EXPONENT}|{INFINITY}"
THOUSANDS = rf"[+-]?[1-9]\d{{0,2}}(,\d{{3}})+(\.\d*)?|{PLAIN}"
DECIMAL = rf"[+-]?(\d+,\d*|,\d+){EXPONENT}|[+-]?[1-9]\d{{0,2}}((\.\d{{3}})+,\d*|(\.\d{{3}}){{2,}})|{PLAIN}"
POINTED = r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?"  # with points between thousands
POINTS = rf"{POINTED}|[+-]?(\d+|\d+,\d*|,\d+){EXPONENT}|{INFINITY}"
# In ``12,345`` the comma may separate thousands as well as decimals; ``1234`` in the same column decides.
EITHER = r"[+-]?[1-9]\d{0,2},\d{3}|[+-]?\d{1,3}"
NUMBER = f"{THOUSANDS}|{DECIMAL}"
CODE = r"[+-]?0\d.*|\+.*|[+-]?\d{16,}|\d+[eE]\d+"  # digits that are no number

# Numbers with currencies, percent, grouped digits, limits of detection.
_CURRENCY = r"(?:US|CA|AU?|C|NZ|HK)?\$|[€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK"
_BLANK = "[ \u00a0\u2009\u202f]"
GROUP = "[ \u00a0\u2009\u202f'\u2019]"  # between thousands, and nothing else
_GROUPED = rf"[1-9]\d{{0,2}}(?:{GROUP}\d{{3}})+(?:[.,]\d*)?"
_DIGITS = rf"{_GROUPED}|\d[\d.,]*(?:[eE][+-]?\d+)?|[.,]\d+(?:[eE][+-]?\d+)?"
_SIGN = "[-+\u2212\u2013]"
_BEFORE = (
    rf"(?P<limit>[<>≤≥]=?)?{_BLANK}*(?P<before>{_CURRENCY})?{_BLANK}*(?P<open>\()?(?P<sign>{_SIGN})?{_BLANK}*"
    rf"(?P<inside>{_CURRENCY})?{_BLANK}*(?P<minus>{_SIGN})?"
)
_AFTER = rf"{_BLANK}*(?P<after>{_CURRENCY}|[%‰])?"
DRESSED = rf"^{_BEFORE}(?P<digits>{_DIGITS}){_AFTER}(?P<close>\))?$"


@lru_cache
def number_form(separator: str) -> re.Pattern[str]:
    """Return what matches a number, without blanks around it, in a text with this separator.

    Examples
    --------
    >>> fields = "1,5", "1,500", "-1,5", "<$2", "(3)", "(3"
    >>> [[field for field in fields if number_form(separator).fullmatch(field)] for separator in ";,"]
    [['1,5', '1,500', '-1,5', '<$2', '(3)'], ['1,500', '-1,5', '<$2', '(3)']]
    """
    digits = rf"(?=[\d.,])(?:{NUMBER})"
    dressed = rf"(?!{digits}\Z){_BEFORE}(?:{_GROUPED}|{digits}){_AFTER}(?(open)\))"
    return re.compile(f"{THOUSANDS if separator == ',' else NUMBER}|{dressed}")


def is_number(field: str, separator: str = ";") -> bool:
    """Say whether a field of a text with this separator can be a number."""
    return number_form(separator).fullmatch(field.strip()) is not None


def digits_of(text: str) -> str:
    """Return the digits of a number with a currency, percent sign, limit, parentheses or groups; else "".

    Examples
    --------
    >>> [digits_of(text) for text in ("($1,065.50)", "1 516,12", "<0.5", "12 %", "12 kg", "(kg)")]
    ['1,065.50', '1516,12', '0.5', '12', '', '']
    """
    text = text.strip()
    if text.replace(".", "", 1).isdecimal():
        return text
    match = re.match(DRESSED, text)
    if match is None or (match["open"] is None) != (match["close"] is None):
        return ""
    return re.sub(GROUP, "", match["digits"])


# ---------------------------------------------------------------- dates

DAY = (
    r"^(?:(?P<year>\d{4})(?P<slash>[/.])(?P<month>\d\d?)[/.](?P<day>\d\d?)"
    r"|(?P<one>\d\d?)(?P<sign>[/.-])(?P<two>\d\d?)[/.-](?P<last>\d{4}|\d\d))"
    r"(?P<time>[ T]+\d\d?:\d\d(?::\d\d)?)?$"
)
CLOCK = r"^\d\d:\d\d(:\d\d)?$"
CENTURY = 69  # two digits from here on are of the 20th century, as in POSIX
# 1.2.24 may as well number a section.
_DATE = re.compile(
    r"(?:\d{4}[/.]\d\d?[/.]\d\d?|\d\d?[/-]\d\d?[/.-]\d\d(?:\d\d)?|\d\d?\.\d\d?[/.-]\d{4}|\d\d\.\d\d[/.-]\d\d)"
    r"(?:[ T]+\d\d?:\d\d(?::\d\d)?)?|\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?"
)
_MOMENT = re.compile(
    r"\d{4}[-/.]\d\d?[-/.]\d\d?([ T]\d\d?:\d\d.*)?|\d\d?[-/.]\d\d?[-/.]\d{2,4}( \d\d?:.*)?"
    r"|\d\d?:\d\d(:\d\d(\.\d+)?)?( ?[AaPp][Mm])?"
)


def is_date(text: str) -> bool:
    """Say whether a text is a date, perhaps with a time.

    Examples
    --------
    >>> [is_date(text) for text in ("31.12.2024", "12/31/24 08:30", "2024-12-31", "1.2.3", "1.5")]
    [True, True, True, False, False]
    """
    return _DATE.fullmatch(text.strip()) is not None


def kinds(fields: Iterable[str], separator: str = ";", na_values: Iterable[str] = ()) -> list[str]:
    """Return what each field holds: "number", which may be a date, "text", or "" for nothing.

    Examples
    --------
    >>> kinds(("1.5", "<2", "31.12.2024", "u", "NA", "-"))
    ['number', 'number', 'number', 'text', '', '']
    """
    number, missing = number_form(separator), {*MISSING_TOKENS, *na_values}
    return [
        "" if field in missing or NOTHING.fullmatch(field)
        else "number" if number.fullmatch(field) or _DATE.fullmatch(field)
        else "text"
        for field in map(str.strip, fields)
    ]  # fmt: skip


def is_moment(text: str) -> bool:
    """Say whether a text is a date or a time in any form, also in one that is not read as such."""
    return _MOMENT.fullmatch(text) is not None


# ---------------------------------------------------------------- units

_PREFIXED = "m|g|s|A|K|mol|M|cd|Hz|N|Pa|J|W|C|V|F|Ω|T|lm|lx|Bq|Gy|Sv|l|L|bar|eV|B|cal|U|t"
_UNITS = (
    "%|‰|ppm|ppb|ppt|°|°?[CF]|[Dd]eg|rad|sec|min|h|hrs?|days?|d|weeks?|wk|months?|mo|years?|yrs?|yr|in|inch|ft|yd|mi|miles?|"
    "lbs?|oz|mph|kph|psi|mmHg|ha|acres?|gal|rpm|bpm|dB|counts?|cfu|IU|USD|EUR|GBP|CHF|JPY|US\\$|[$€£¥]|a\\.?u\\.?|AU|"
    "cells|degrees|percent|kilograms?|grams?|met(?:er|re)s?|seconds?|minutes?|hours?"
)
_UNIT = rf"(?:[kMGTmµμunpcdh]?(?:{_PREFIXED})|{_UNITS})(?:\^?[-−]?\d|[²³⁻¹⁰])*"
_IS_UNIT = re.compile(rf"(?:\d+|10\^?\d+)?\s?(?:1\s?/\s?)?{_UNIT}(?:\s?[/·*.⋅ ]\s?(?:\d+\s?)?{_UNIT})*")
_BRACKETED = re.compile(r"[(\[]([^()\[\]]{1,16})[)\]]")
# What begins a row of units.
OF_UNITS = rf"(?i)\W*(?:units?|einheit(?:en)?|unités?)\b|\W*$|{_IS_UNIT.pattern}$|[(\[].*[)\]]$"


def is_unit(field: str) -> bool:
    """Say whether a field of a row of units is one, such as m/s² or (mm)."""
    return (_BRACKETED.fullmatch(field) or _IS_UNIT.fullmatch(field)) is not None


def unit_of(field: str) -> str:
    """Return the unit in a field of a row of units; "" where there is none."""
    field = field.strip()
    match = _BRACKETED.fullmatch(field)
    return (match[1].strip() if match else field) if not NOTHING.fullmatch(field) else ""


# Words of a unit in the name of a column, such as "height_cm" or "mass (kg)".
_NAMED_UNITS = """
nm um mm cm dm m km in inch ft mi mg g kg t lb oz ms s sec min h hr hour hours day days month months year
years yr yrs jahr jahre c k degc degf pa hpa kpa mpa bar psi v mv a ma w kw mw wh kwh j kj mj cal kcal hz
khz mhz ghz ml cl l n nmol umol mmol mol ppm ppb percent pct usd eur dollars mph kmh bpm mmhg %"""
UNITS = frozenset(_NAMED_UNITS.split())
# Words before or after the numbers of an axis, beside units after them.
_NAMED_AXES = """
nm wl wn wavelength wavenumber lambda hz freq frequency mz rt ev time min minute minutes sec second
seconds hour hours day days week weeks month months year years lag angle cm-1 cm^-1"""
OF_AXES = frozenset(_NAMED_AXES.split())
_UNIT_AT_END = re.compile(r"(.*[ _(\[/])([^\W\d_]+|%)\W*")


def units_of(names: Sequence[str]) -> list[str]:
    """Return the unit that each name of a column ends in; "" where there is none.

    A letter at the end of names that are otherwise equal is no unit.

    Examples
    --------
    >>> units_of(["height_cm", "weight (kg)", "age", "mass_g", "test_a", "test_c"])
    ['cm', 'kg', '', 'g', '', '']
    """
    split = [None if name.isalnum() else _UNIT_AT_END.fullmatch(name.casefold()) for name in names]
    stems = Counter(match[1] for match in split if match)
    return [
        match[2] if match and match[2] in UNITS and (len(match[2]) > 1 or stems[match[1]] == 1) else ""
        for match in split
    ]


# ---------------------------------------------------------------- slips

_STRAY = re.compile(
    r"^(?:ca?\.|[~≈'`\u00b4\u2019])\s*(?=\S)|(?<=\d)\s*[.,;:*?!\x1a'`\u00b4\u2019†‡]+$"
)  # beside a number
_WITH_UNIT = re.compile(r"([-+]?[\d.,]*\d)(\s*)([^\d\s.,].*)")
_SPLIT = re.compile(r"([-+]?\d+)\s?(?:\.\s?[.,]?|,\s?\.?)\s?(\d+)")  # by one sign or two, with blanks


def slip(text: str) -> tuple[str, str] | None:
    """Return the number that a cell is most likely meant to be, and its unit; None where that is open.

    Parameters
    ----------
    text : str
        No number as the others of its column are written.

    Examples
    --------
    >>> [slip(text) for text in ("7,9", "O.5", "12.3.", "12 kg", "5%", "1 204", "1,204", "12-14", "<1")]
    [('7.9', ''), ('0.5', ''), ('12.3', ''), ('12', 'kg'), ('5', '%'), ('1204', ''), None, None, None]
    """
    text, unit = _STRAY.sub("", text.strip().replace("\u2212", "-")), ""
    if (apart := _WITH_UNIT.fullmatch(text)) and is_unit(apart[3]) and (apart[2] or not apart[3].isalpha()):
        text, unit = apart[1], apart[3]
    elif (dressed := re.match(DRESSED, text)) and digits_of(text) and not dressed["limit"]:
        unit = dressed["before"] or dressed["inside"] or ""
        minus = dressed["open"] or dressed["sign"] or dressed["minus"] or ""
        text = ("" if minus in ("", "+") else "-") + digits_of(text)
    if re.fullmatch(r"[-+]?[\dOolI|.,]+", text) and re.search(r"\d", text):
        text = text.translate(str.maketrans("OolI|", "00111"))
    if (match := _SPLIT.fullmatch(text)) and ("." in text or len(match[2]) != 3):
        text = f"{match[1]}.{match[2]}"
    return (text, unit) if re.fullmatch(PLAIN, text) and re.search(r"\d", text) else None


# ---------------------------------------------------------------- formulas

# Of text that a spreadsheet runs as a formula; the last four are the same signs in full width.
# https://owasp.org/www-community/attacks/CSV_Injection
STARTS = "-=+@\t\r\n\uff0d\uff1d\uff0b\uff20"
