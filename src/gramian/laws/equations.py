"""Equations as people write them: as many digits as the data justify, whole numbers where they are whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.kernels.monomials import monomial_name
from gramian.records import FloatArray, IntArray

MOST_DIGITS = 16
# Coefficients are never shown to more than about ten digits without need.
SHOWN = 5e-11
# What rounding the coefficients for print may add to a residual, and the least residual that is looked at.
ADDED, FINEST = 0.3, 1e-9
LARGEST_FACTOR, LARGEST_WHOLE = 12, 1000


def variables(names: Sequence[str], origin: FloatArray, unit: FloatArray) -> list[str]:
    """Return how the variables are written: ``x``, ``(x - 1000000)``, ``(x / 1e+150)``.

    A name that could be read as part of the formula stands in backquotes.

    Examples
    --------
    >>> variables(["x", "body mass"], np.array([1e6, 0]), np.array([1.0, 1.0]))
    ['(x - 1000000)', '`body mass`']
    """
    written = []
    for name, start, step in zip(names, origin.tolist(), unit.tolist(), strict=True):
        plain = name if name.isidentifier() else f"`{name}`"
        if start:
            plain = f"({plain} {'-' if start > 0 else '+'} {_number(abs(start))})"
        written.append(plain if step == 1 else f"({plain} / {step:g})")
    return written


def justified(powers: IntArray, values: FloatArray, triangle: FloatArray, n: int) -> FloatArray:
    """Round coefficients to the fewest digits that the data leave open.

    One after the other, terms of high degree first, is rounded to the shortest number within two standard
    errors, and the others are fitted again with it held: rounding each by itself would spoil the equation
    where large terms cancel.

    Parameters
    ----------
    powers : ndarray of shape (s, d)
    values : ndarray of shape (s,)
        The first in order is kept as it is.
    triangle : ndarray of shape (s, s)
        ``|triangle @ values|`` is the root mean square of the residuals.
    n : int
        Number of rows.
    """
    best = float(np.linalg.norm(triangle @ values))
    doubts, order = 2.0, term_order(powers)
    for _ in range(40):
        rounded = values.copy()
        for done in range(1, len(order)):
            place = order[done]
            error = best / np.sqrt(n) * _follow(rounded, values, order[:done], order[done:], triangle)
            least = min(doubts, 1) * SHOWN * abs(rounded[place])
            rounded[place] = _shortest(float(rounded[place]), max(doubts * error, least))
        if np.linalg.norm(triangle @ (rounded - values)) <= ADDED * max(best, FINEST):
            return rounded
        doubts /= 2
    return values


def _follow(
    rounded: FloatArray, values: FloatArray, held: IntArray, free: IntArray, triangle: FloatArray
) -> float:
    """Move the free coefficients, in place, to where the held ones being rounded matters least.

    From the fit and not by a new one: least squares with one coefficient held would have the bias that the
    fit is free of.

    Returns
    -------
    float
        Standard error of the first free coefficient where the residual is 1 and there is one row.
    """
    sizes = np.linalg.norm(triangle[:, free], axis=0)
    sizes[sizes == 0] = 1.0
    inverse = np.linalg.pinv(triangle[:, free] / sizes)
    moved = triangle[:, held] @ (rounded[held] - values[held])
    rounded[free] = values[free] - (inverse @ moved) / sizes
    return float(np.linalg.norm(inverse[0]) / sizes[0])


def term_order(powers: IntArray) -> IntArray:
    """Return the places of the terms in print: from high degree to low."""
    return np.lexsort((np.arange(len(powers)), -powers.sum(axis=1)))


def whole_factor(values: FloatArray, errors: FloatArray) -> int:
    """Return the small factor that makes all coefficients whole numbers, where they certainly are; else 1.

    Examples
    --------
    >>> whole_factor(np.array([1, 7 / 3, -2 / 3]), np.zeros(3))
    3
    >>> whole_factor(np.array([1, -6, 10.75]), np.zeros(3))
    1
    """
    doubt = np.maximum(2 * errors, SHOWN * np.abs(values))
    if np.all(np.abs(values * 1000 - np.round(values * 1000)) <= 1000 * doubt):
        return 1
    for factor in range(2, LARGEST_FACTOR + 1):
        nearest = np.round(factor * values)
        if (
            np.all(np.abs(factor * values - nearest) <= factor * doubt)
            and np.all(factor * doubt < 1e-3)
            and np.all((nearest != 0) & (np.abs(nearest) <= LARGEST_WHOLE))
        ):
            return factor
    return 1


def equation(powers: IntArray, values: FloatArray, names: Sequence[str]) -> str:
    """Return the equation, terms of high degree first.

    Examples
    --------
    >>> equation(np.array([[0, 0], [2, 0], [0, 2]]), np.array([-1.0, 1.0, 2.5]), ["x", "y"])
    'x^2 + 2.5 y^2 - 1 = 0'
    """
    parts: list[str] = []
    for place in term_order(powers):
        value, power = float(values[place]), powers[place].tolist()
        number, name = _number(abs(value)), monomial_name(power, names)
        term = number if not any(power) else name if number == "1" else f"{number} {name}"
        sign = "-" if value < 0 else "+"
        parts.append(f"{sign} {term}" if parts else term if value > 0 else f"-{term}")
    return f"{' '.join(parts)} = 0"


def _shortest(value: float, doubt: float) -> float:
    """Return the number of fewest digits within ``doubt``."""
    for digits in range(MOST_DIGITS):
        short = float(f"{value:.{digits}e}")
        if abs(short - value) <= doubt:
            return short
    return value


def _number(value: float) -> str:
    if 1e-5 <= value < 1e16:
        return np.format_float_positional(value, trim="-")
    return f"{value!r}".replace(".0e", "e").removesuffix(".0")
