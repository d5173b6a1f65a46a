"""One vocabulary for what parameters may be, and for how numbers and names are printed.

Light on purpose: the shell answers ``--help`` without NumPy.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from numbers import Integral, Real
from typing import Any, TypeVar

from gramian.errors import ParameterError

T = TypeVar("T")
NAMES_SHOWN = 8
ENOUGH, ALL = 0.95, 0.995  # of the variance: what is worth stating, and a share that says nothing
JOINERS = "\u200c\u200d\u00a0\u202f"  # of Persian, Indian scripts and emoji; spaces without a break


# ----------------------------------------------------------------- parameters


def check_integer(name: str, value: Any, least: int = 1, most: int | None = None, advice: str = "") -> int:
    """Return ``value`` as int.

    Parameters
    ----------
    name : str
        The parameter, such as ``"degree"``.
    value : object
        What was given; a bool is no integer.
    least, most : int
        What is allowed, both included.
    advice : str
        What to do instead.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> check_integer("degree", 3)
    3
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and value >= least and (most is None or value <= most):
        return int(value)
    allowed = f"from {least} to {most}" if most is not None else f"of at least {least}"
    raise ParameterError(name, value, f"must be a whole number {allowed}", advice)


def check_number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    least: float = -math.inf,
    most: float = math.inf,
    advice: str = "",
) -> float:
    """Return ``value`` as a finite float within ``above < value < below`` and ``least <= value <= most``.

    Raises
    ------
    ParameterError
    """
    real = isinstance(value, Real) and not isinstance(value, bool)
    # NumPy would round the bounds to the type of its own numbers.
    plain = value.item() if real and hasattr(value, "item") else value
    if real and abs(plain) <= sys.float_info.max and above < plain < below and least <= plain <= most:
        return float(plain)
    limits = {"above": above, "of at least": least, "below": below, "of at most": most}
    bounds = [f"{word} {limit:g}" for word, limit in limits.items() if math.isfinite(limit)]
    kind = "a finite number" if not bounds else f"a number {' and '.join(bounds)}"
    raise ParameterError(name, value, f"must be {kind}", advice)


def check_share(name: str, value: Any, advice: str = "") -> float:
    """Return a share strictly between 0 and 1."""
    return check_number(name, value, above=0.0, below=1.0, advice=advice)


def check_seed(name: str, value: Any) -> int:
    """Return a seed for a random number generator, from 0 to 2**32 - 1."""
    return check_integer(name, value, 0, 2**32 - 1)


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``allowed``."""
    if isinstance(value, str) and value in allowed:
        return value
    raise ParameterError(name, value, allowed)


# ------------------------------------------------------------------- printing


def counted(number: int, noun: str, many: str | None = None) -> str:
    """Return a number with its noun, in the plural where it has one.

    Examples
    --------
    >>> counted(1, "picture"), counted(2000, "picture"), counted(2, "person", "people")
    ('1 picture', '2,000 pictures', '2 people')
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def listed(names: Iterable[object]) -> str:
    """List names in quotes, the first eight and then a count.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    return first_few(list(names), repr)


def either(values: Iterable[object]) -> str:
    """Join the values that a parameter may have, for a message.

    Examples
    --------
    >>> either(["mean", "em"])
    "'mean' or 'em'"
    """
    return " or ".join(map(repr, values))


def first_few(items: Sequence[T], text: Callable[[T], str] = str, most: int = NAMES_SHOWN) -> str:
    """Join the texts of the first few items, and say how many more there are.

    Examples
    --------
    >>> first_few(["a", "b"]), first_few(range(10))
    ('a, b', '0, 1, 2, 3, 4, 5, 6, 7 and 2 more')
    """
    first = ", ".join(map(text, items[:most]))
    hidden = len(items) - most
    return f"{first} and {hidden:,} more" if hidden > 0 else first


def shown(text: Any) -> str:
    r"""Return a text on one line, with what no line can show written as an escape.

    What a file holds may have been put there to change what a terminal shows, and programs that draw text
    end at some control characters.

    Examples
    --------
    >>> print(shown("Anna\x1b[2J"))
    Anna\x1b[2J
    """
    line = str(text)
    if line.isprintable():
        return line
    return "".join(c if is_visible(c) else c.encode("unicode_escape").decode() for c in line)


def is_visible(letter: str) -> bool:
    """Return whether a character can be drawn or joins others, unlike controls and marks of direction."""
    return letter.isprintable() or letter in JOINERS


def shown_lines(text: Any) -> str:
    r"""Return lines of text, each as by :func:`shown`.

    Examples
    --------
    >>> print(shown_lines("a\x07\nb"))
    a\x07
    b
    """
    lines = str(text).split("\n")
    return "\n".join(lines if "".join(lines).isprintable() else map(shown, lines))


def percent(ratio: float | None) -> str:
    """Return a ratio in percent; what rounding makes of it must not claim all where a little is missing."""
    if ratio is None:
        return "not known"
    text = f"{100 * ratio:.2f}"
    return "99.99 %" if text == "100.00" and ratio < 1 - 1e-9 else f"{text} %"


def most_of(ratios: Iterable[float]) -> tuple[int, float]:
    """Return how many components to state, and their share of the variance: of nearly all of it, 95 %.

    Examples
    --------
    >>> most_of([0.5, 0.3]), most_of([0.5, 0.46, 0.04])
    ((2, 0.8), (2, 0.96))
    """
    cumulative = list(accumulate(map(float, ratios)))
    number = len(cumulative)
    if number and cumulative[-1] >= ALL:
        number = next(count for count, share in enumerate(cumulative, 1) if share >= ENOUGH)
    return number, cumulative[number - 1] if number else 0.0


def six_digits(text: str) -> str:
    """Return a text whose long numbers are rounded to six significant digits.

    Examples
    --------
    >>> six_digits("rbf(gamma=0.00020746887966804973) + 0.25*linear")
    'rbf(gamma=0.000207469) + 0.25*linear'
    """
    return re.sub(r"\d+\.\d{6,}(?:e[-+]?\d+)?", lambda match: f"{float(match[0]):.6g}", text)


def names_in(text: str) -> list[str]:
    """Return the names in a text with commas between them; one that contains a comma is quoted, as in a file.

    Examples
    --------
    >>> names_in('a, "b, c"'), names_in(""), names_in("a\\rb,c")
    (['a', 'b, c'], [], ['a\\rb,c'])
    """
    try:
        return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:  # a line ends within it
        return [text]


def number(value: float, digits: int = 4) -> str:
    """Return a number as a person writes it, rounded to significant digits but never to tens or hundreds.

    Examples
    --------
    >>> number(2.71828), number(37024.6), number(1831), number(3e-7), number(6.02e23)
    ('2.718', '37,025', '1,831', '3e-07', '6.02e+23')
    """
    return f"{value:,.0f}" if 10**digits <= abs(value) + 0.5 < 1e9 else f"{value:,.{digits}g}"


def duration(seconds: float) -> str:
    """Return seconds, or minutes where they are many.

    Examples
    --------
    >>> duration(0.0004), duration(0.25), duration(71.2), duration(600)
    ('0.01 s', '0.25 s', '71 s', '10 min')
    """
    if seconds < 0.95:
        return f"{max(seconds, 0.01):.2g} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def rounded_up(bound: float) -> str:
    """Return an upper bound with one digit, never below it.

    Examples
    --------
    >>> rounded_up(2.1e-14), rounded_up(3e-7), rounded_up(0.96), rounded_up(0.0)
    ('3e-14', '3e-7', '1e+0', '0')
    """
    if not 0 < bound < math.inf:
        return f"{bound:g}"
    text = f"{bound:.0e}"
    if float(text) < bound:
        text = f"{bound + 0.5 * 10.0 ** math.floor(math.log10(bound)):.0e}"
    return text.replace("e-0", "e-").replace("e+0", "e+")


def amount(size: float) -> str:
    """Return a number of bytes in a unit that keeps it short.

    Examples
    --------
    >>> amount(300), amount(999_900), amount(2.5e9), amount(8e12), amount(8e16)
    ('300 bytes', '1 MB', '2.5 GB', '8 TB', '80,000 TB')
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB" if size < 999.5 else f"{size:,.0f} TB"


# ------------------------------------------------------------------- ranges


def slices(length: int, size: int) -> list[slice]:
    """Cut ``range(length)`` into slices of at most ``size``, in order."""
    starts = range(0, length, size)
    return list(map(slice, starts, [*starts[1:], length]))


def evenly(length: int, most: int) -> list[int]:
    """Return at most ``most`` evenly spaced places of ``range(length)``, the first and the last among them.

    Examples
    --------
    >>> evenly(10, 4), evenly(3, 8)
    ([0, 3, 6, 9], [0, 1, 2])
    """
    import numpy as np  # which the help of commands does without

    count = min(length, most)
    return np.rint(np.arange(count) * (length - 1) / max(count - 1, 1)).astype(int).tolist()  # type: ignore[no-any-return]


def plain(value: Any) -> Any:
    """Convert a value for strict JSON: infinities and NaN become null, unknown types text.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float32(0.5), "b": (1, np.inf), "c": np.arange(2)})
    {'a': 0.5, 'b': [1, None], 'c': [0, 1]}
    """
    if hasattr(value, "tolist"):  # of NumPy, which is not loaded for this
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        finite = math.isfinite
        return [v if type(v) is str or (type(v) is float and finite(v)) else plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


# ------------------------------------------------------------------ solvers

# As users spell them, declared once: parameters, messages and help read this list.
SOLVERS = {
    "PCA": ("full", "covariance", "gram", "krylov"),
    "KernelPCA": ("dense", "krylov", "nystroem"),
}
# They solve an approximation of the problem.
APPROXIMATE = ("nystroem",)


def solver_names(estimator: str, approximate: bool | None = None) -> tuple[str, ...]:
    """Return the solvers of an estimator except "auto": all, the exact or the approximate ones.

    Examples
    --------
    >>> solver_names("KernelPCA"), solver_names("KernelPCA", approximate=False)
    (('dense', 'krylov', 'nystroem'), ('dense', 'krylov'))
    """
    return tuple(name for name in SOLVERS[estimator] if approximate in (None, name in APPROXIMATE))
