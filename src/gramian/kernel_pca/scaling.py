"""Columns in units of their standard deviations, which a kernel takes in place of the columns themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np

from gramian import arrays
from gramian.base.inputs import ddof_of
from gramian.checks import check_choice
from gramian.data import Rows
from gramian.errors import ParameterError
from gramian.operators.centered import center_rows
from gramian.records import POSITIVE, FloatArray

SCALES = ("unit",)


@dataclass(frozen=True, eq=False)
class Standardisation:
    """Columns less their means, over their standard deviations.

    Attributes
    ----------
    center, rest : ndarray of shape (d,)
        The means, as sums of two numbers of float64.
    divisor : ndarray of shape (d,)
        Standard deviations; 0 for a constant column, which is 0 in every standardised row.
    """

    center: Annotated[FloatArray, "d"]
    rest: Annotated[FloatArray, "d"]
    divisor: Annotated[FloatArray, "d", POSITIVE]

    @classmethod
    def of(cls, scale: Any, rows: Rows, *, precomputed: bool = False) -> Self | None:
        """Measure the columns as ``scale`` says; None where it asks for nothing.

        Raises
        ------
        ParameterError
            For another rule than "unit", and for a kernel matrix, which has no columns.
        DataError
            For a column whose squares float64 cannot hold.
        """
        check_scale(scale, precomputed=precomputed)
        if scale is None:
            return None
        view = center_rows(rows.at_home, center=True, scale=scale, ddof=ddof_of(1, rows))
        assert view.divisor is not None
        assert view.rest is not None
        divisor = np.ldexp(view.divisor, -view.unit_exponent)
        return cls(view.mean, view.rest, np.where(np.isinf(divisor), 0.0, divisor))

    def rows(self, rows: Rows) -> Rows:
        """Return standardised rows of the same kind and dtype."""
        return rows.converted(lambda values: self.apply(values, rows.dtype))

    def apply(self, values: Any, dtype: np.dtype[Any]) -> Any:
        """Return a block of rows, dense or sparse, standardised in float64 and rounded to a dtype."""
        X = arrays.to_float64(arrays.dense(values))
        center, rest, divisor = (arrays.from_numpy(part, X) for part in self.parts)
        with np.errstate(over="ignore"):
            Z = arrays.to_dtype((X - center - rest) / divisor, dtype)
        return arrays.require_range(Z, "Standardised rows")

    def back(self, rows: Any) -> Any:
        """Return standardised rows of float64 in the units of the columns."""
        parts = (self.divisor, self.rest, self.center)
        divisor, rest, center = (arrays.from_numpy(part, rows) for part in parts)
        with np.errstate(over="ignore"):
            return rows * divisor + rest + center

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is subtracted, twice, and what that is divided by: infinite for a constant column."""
        return self.center, self.rest, np.where(self.divisor > 0, self.divisor, np.inf)


def as_scaled(scale: Any, rows: Rows) -> Any:
    """Return all rows, as one array, as a kernel takes them."""
    scaling = Standardisation.of(scale, rows)
    return (rows if scaling is None else scaling.rows(rows)).in_memory()


def check_scale(scale: Any, *, precomputed: bool = False) -> None:
    """Raise a ParameterError for what is neither None nor "unit", and for a scaled kernel matrix."""
    if scale is None:
        return
    check_choice("scale", scale, SCALES)
    if precomputed:
        raise ParameterError(
            "scale",
            scale,
            'divides columns, but with kernel="precomputed" the data are kernel values',
            "Leave it out, or give the rows themselves and the kernel's name.",
        )
