"""Why a value is unlike the others of its column: a slip, a unit, a sign, a code, a swap or a copied row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gramian.core.checks import number
from gramian.core.records import FloatArray
from gramian.tables.codes import USUAL

Kind = Literal["decimal point", "sign", "unit", "swapped", "missing", "copied row", "unit of the row"]
FAR = 5.0  # robust standard deviations beyond which a value is extreme
MIDDLE = (0.05, 0.95)  # quantiles between which a corrected value lies
SLIPS = tuple(10.0**k for k in (-3, -2, -1, 1, 2, 3))
# What a value is multiplied by; Fahrenheit is no factor.
UNITS = {
    25.4: "inches, not millimetres",
    1 / 25.4: "millimetres, not inches",
    2.54: "inches, not centimetres",
    1 / 2.54: "centimetres, not inches",
    0.45359237: "pounds, not kilograms",
    1 / 0.45359237: "kilograms, not pounds",
}
WARM = 20.0  # degrees of either scale, below which a reading in the other one says little
FEWEST = 20  # other values that say what is usual
FEW = 0.25  # of the columns, or two, that may be extreme for the values to be slips
CHANCE = 1e-4  # expected copies of a row among others that are none
ALIKE = 0.9  # share of the columns of a row that one factor brings to the others


@dataclass(frozen=True)
class Cause:
    """A likely cause of an unusual value or row; only named where no other one fits.

    Attributes
    ----------
    kind : str
        "decimal point", "sign", "unit", "swapped" (with a neighbouring column), "missing" (a code of missing
        values), "copied row" or "unit of the row".
    column : str
        Of the value; "" for a whole row.
    value, reading : float or None
        As it is, and as it may have been meant.
    why : str
        A clause with the evidence.
    """

    kind: Kind
    column: str
    value: float | None
    reading: float | None
    why: str

    def __str__(self) -> str:
        if self.value is None:
            return f"The row {self.why}"
        return f"{self.column} = {number(self.value, 6)} {self.why}"


def robust_distances(row: FloatArray, others: FloatArray) -> FloatArray:
    """Return ``|x - median| / (1.4826 MAD)`` of each value among the others; NaN where these hardly vary.

    Of columns without values below 0 or equal to it the smaller one of that and the same of the logarithms.
    """
    distances = _distances(row, others)
    positive = (np.nanmin(others, axis=0) > 0) & (row > 0)
    of_logs = _distances(*(np.log(np.where(positive, some, 1.0)) for some in (row, others)))
    return np.asarray(np.where(positive, np.fmin(distances, of_logs), distances))


def _distances(row: FloatArray, others: FloatArray) -> FloatArray:
    middle = np.nanmedian(others, axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(others - middle), axis=0)
    return np.asarray(np.where(spread > 0, np.abs(row - middle) / np.where(spread > 0, spread, 1.0), np.nan))


def causes_of(
    row: FloatArray, others: FloatArray, names: Sequence[str], row_names: Sequence[str]
) -> list[Cause]:
    """Return the likely causes of extreme values of a row, and of the row as a whole.

    Parameters
    ----------
    row : ndarray of shape (d,)
        May have missing values.
    others : ndarray of shape (m, d)
        The other rows.
    names : sequence of str
        Of the columns.
    row_names : sequence of str
        Of the other rows.

    Returns
    -------
    list of Cause
    """
    if len(others) < FEWEST:
        return []
    causes = _of_row(row, others, row_names)
    if causes:
        return causes
    low, high = np.nanquantile(others, MIDDLE, axis=0)
    least, most = np.nanmin(others, axis=0), np.nanmax(others, axis=0)
    far = np.flatnonzero(robust_distances(row, others) > FAR).tolist()
    if len(far) > max(2, FEW * len(row)):  # the row is another one, and no value of it a slip
        return []
    for i in sorted({i - before for i in far for before in (0, 1)} & set(range(len(row) - 1))):
        j = i + 1
        if _is_swapped(row[[i, j]], low[[i, j]], high[[i, j]]):
            other = f"{names[j]} = {number(row[j], 6)}"
            why = f"may be swapped with {other}: each would be usual in the other column"
            return [Cause("swapped", names[i], float(row[i]), float(row[j]), why)]
    for i in far:
        beside = [j for j in (i - 1, i + 1) if 0 <= j < len(row)]
        if any(least[j] <= row[i] <= most[j] and least[i] <= row[j] <= most[i] for j in beside):
            continue  # it may be swapped
        candidates = _of_value(names[i], float(row[i]), others[:, i], float(low[i]), float(high[i]))
        rest = np.delete(np.arange(len(row)), i)
        usual = _usual(row[rest], low[rest], high[rest])
        scaled = (
            factor
            for factor in candidates
            if factor[0] and _usual(row[rest] * factor[0], low[rest], high[rest]) >= usual
        )
        if len(candidates) == 1 and next(scaled, None) is None:
            causes.append(candidates[0][1])
    return causes


def _is_swapped(pair: FloatArray, low: FloatArray, high: FloatArray) -> bool:
    """Return whether two values would be usual in each other's column, whose usual values do not overlap."""
    apart = bool(high[0] < low[1] or high[1] < low[0])
    return apart and _usual(pair[::-1], low, high) == 2


def _usual(values: FloatArray, low: FloatArray, high: FloatArray) -> int:
    return int(((low <= values) & (values <= high)).sum())


def _of_value(
    name: str, value: float, others: FloatArray, low: float, high: float
) -> list[tuple[float, Cause]]:
    """Return all causes that fit a value, with the factor that corrects it, or 0."""
    usual = f"90 % of the others lie within {number(low, 6)} to {number(high, 6)}"
    result = list[tuple[float, Cause]]()

    def read(kind: Kind, factor: float, reading: float, what: str) -> None:
        if low <= reading <= high:
            why = f"may be {what}: {number(reading, 6)} would be usual ({usual})"
            result.append((factor, Cause(kind, name, value, reading, why)))

    if value in USUAL and not (others == value).any():
        result.append((0.0, Cause("missing", name, value, None, f"may stand for a missing value ({usual})")))
    for factor in SLIPS:
        read("decimal point", factor, value * factor, "a slip of the decimal point")
    read("sign", 0.0, -value, "a slip of the sign")
    for factor, what in UNITS.items():
        read("unit", factor, value * factor, f"in {what}")
    if abs(value) > WARM:
        read("unit", 0.0, (value - 32) / 1.8, "in degrees Fahrenheit, not Celsius")
        read("unit", 0.0, value * 1.8 + 32, "in degrees Celsius, not Fahrenheit")
    return result


def _of_row(row: FloatArray, others: FloatArray, row_names: Sequence[str]) -> list[Cause]:
    """Return the cause of a row that is the copy of another one, or wholly in another unit."""
    held = np.isfinite(row)
    if held.sum() < 3:
        return []
    alike = others[:, held] == row[held]
    copies, few = np.flatnonzero(alike.all(axis=1)), alike[~alike.all(axis=1)]
    if len(copies) and len(few) and np.ptp(row[held]) > 0:
        # Columns that agree together count as fewer: by the spread of how many agree in other rows.
        shares, spread = alike.mean(axis=0), few.sum(axis=1).var()
        together = max(1.0, float(spread / max((shares * (1 - shares)).sum(), 1e-9)))
        if len(others) * float(np.prod(shares)) ** (1 / together) < CHANCE:
            return [Cause("copied row", "", None, None, f"has the same values as row {row_names[copies[0]]}")]
    low, high = np.nanquantile(others[:, held], MIDDLE, axis=0)
    values = row[held]
    if _usual(values, low, high) > (1 - ALIKE) * len(values):
        return []
    fits = [f for f in (*SLIPS, *UNITS) if _usual(values * f, low, high) >= ALIKE * len(values)]
    if len(fits) != 1:
        return []
    return [Cause("unit of the row", "", None, None, f"is in another unit: times {fits[0]:.6g} it is usual")]
