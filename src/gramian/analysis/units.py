"""Columns that carry nearly all variance because of their unit, and not because of what they say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64
from gramian.checks import percent
from gramian.records import FloatArray, IntArray

SHARE = 0.95
RATIO = 5.0
NAMED = 3


def dominant_columns(variances: npt.ArrayLike) -> IntArray:
    """Return the few columns whose scale decides the components, largest first; most often none.

    Parameters
    ----------
    variances : array-like of shape (d,)
        Variances of the columns as PCA sees them, scaled where it scales.

    Returns
    -------
    ndarray of shape (m,)
        The fewest columns, at most half of those that vary, that have at least 95 % of the total variance
        together, and of which each has at least 5 times the standard deviation of every other column. Empty
        where there are none.

    Notes
    -----
    Standard deviations of columns in one unit form a continuum: neighbouring pixels, wavelengths and genes
    have similar ones. A wide gap in it separates units. It is a rule of thumb, and no error if it is wrong.

    Examples
    --------
    Bill length, bill depth and flipper length of penguins in millimetres, and their mass in grams:

    >>> dominant_columns([29.8, 3.9, 197.7, 643131.1])
    array([3])
    >>> dominant_columns([29.8, 3.9, 197.7])
    array([], dtype=int64)
    """
    values = np.asarray(variances, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    values = values[order]
    values = values[values > 0]
    shares = np.cumsum(values) / (values.sum() or 1.0)
    for j in range(1, values.size // 2 + 1):
        if shares[j - 1] >= SHARE and values[j - 1] >= RATIO**2 * values[j]:
            return order[:j].astype(np.int64)
    return np.empty(0, dtype=np.int64)


def column_norms(model: Any) -> FloatArray:
    """Return norms of the centred columns that a PCA was fitted on."""
    moments = getattr(model, "_moments", None)
    if moments is not None:
        return np.asarray(np.ldexp(np.sqrt(moments.column_squares), moments.exponent))
    return as_float64(model._remainder.norms)


def column_variances(model: Any) -> FloatArray:
    """Return variances of the columns as a fitted PCA has scaled them."""
    norms, divisor = column_norms(model), model._divisor
    norms = norms if divisor is None else norms / as_float64(divisor)
    # Shares alone matter, and a largest norm of 1 keeps squares in range.
    return np.asarray((norms / (norms.max(initial=0.0) or 1.0)) ** 2)


def dominance(variances: npt.ArrayLike, names: Sequence[str]) -> tuple[int, str]:
    """Return the number of columns that dominate by their scale, and a clause that names them.

    Examples
    --------
    >>> dominance([29.8, 3.9, 197.7, 643131.1], ["bill", "depth", "flipper", "mass"])
    (1, 'mass has 99.96 % of the variance because of its scale')
    """
    values = np.asarray(variances, dtype=np.float64)
    columns = dominant_columns(values)
    if not columns.size:
        return 0, ""
    share = percent(float(values[columns].sum() / values.sum()))
    who = [names[j] for j in columns.tolist()]
    shown = who if len(who) <= NAMED + 1 else [*who[:NAMED], f"{len(who) - NAMED} other columns"]
    have, their = ("has", "its") if len(who) == 1 else ("have", "their")
    subject = shown[0] if len(who) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return len(who), f"{subject} {have} {share} of the variance because of {their} scale"


# Words of a unit in the name of a column, such as "height_cm" or "mass (kg)".
UNITS = frozenset(
    re.findall(
        r"\S+",
        """
        nm um mm cm dm m km in inch ft mi mg g kg t lb oz ms s sec min h hr hour hours day days month months
        year years yr yrs jahr jahre c k degc degf pa hpa kpa mpa bar psi v mv a ma w kw mw wh kwh j kj mj
        cal kcal hz khz mhz ghz ml cl l n nmol umol mmol mol ppm ppb percent pct usd eur dollars mph kmh bpm
        mmhg
        """,
    )
)


def unit_words(names: Sequence[str]) -> set[str]:
    """Return the units that names of columns end in.

    Examples
    --------
    >>> sorted(unit_words(["height_cm", "weight (kg)", "age"]))
    ['cm', 'kg']
    """
    ends = (
        re.findall(r"[^\W\d_]+|%", name.casefold())[-1:] for name in names if re.search(r"[ _(\[/]", name)
    )
    return {"".join(end) for end in ends if "".join(end) in UNITS}
