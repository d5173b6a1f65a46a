"""What whitening divides by: variances as they are, with something added, or shrunk."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from gramian.analysis.whitening import inverse_root, shrinkage_intensity
from gramian.analysis.whitening_map import Measured
from gramian.arrays import namespace
from gramian.checks import check_choice
from gramian.errors import ParameterError
from gramian.operators.centered import CenteredRows
from gramian.operators.covariance import CovarianceOperator
from gramian.operators.gram import GramOperator
from gramian.records import FloatArray, Spectrum

__all__ = ["Settled", "as_measured", "check_regularization", "regularized", "standard_deviations"]

SHRINKAGE = ("ledoit-wolf", "oas")


@dataclass(frozen=True, eq=False)
class Settled:
    """What scores are divided by.

    Attributes
    ----------
    amount : float or None
        What was added to the variances, or the intensity of the shrinkage.
    variances : ndarray of shape (k,)
        Variances after that; 0 leaves a direction out.
    deviations : ndarray of shape (k,)
        Their square roots, also where a variance is too small to be written down.
    rest : float
        The same for everything beside the k directions.
    correction : ndarray of shape (k, k) or None
        What whitened scores are multiplied by to be white to rounding.
    """

    amount: float | None
    variances: FloatArray
    deviations: FloatArray
    rest: float
    correction: FloatArray | None


def check_regularization(value: Any) -> float | str | None:
    """Return ``regularization``, or refuse it; 0 adds nothing and is None.

    Raises
    ------
    ParameterError
        For anything but a number of at least 0, the name of a shrinkage, or None.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return check_choice("regularization", value, SHRINKAGE)
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise ParameterError(
            f"regularization={value!r} must be a number of at least 0, which is added to every variance, "
            "or 'ledoit-wolf', 'oas' or None."
        )
    return float(value) or None


def standard_deviations(spectrum: Spectrum, largest: float, rank: int, k: int) -> FloatArray:
    """Return the standard deviations of k scores, 0 beyond the rank.

    Parameters
    ----------
    spectrum : Spectrum
        In any unit: small variances may be outside of what float64 can hold in that of the data.
    largest : float
        The largest variance, in units of the data.
    rank, k : int
        Number of directions with variance, and of all.
    """
    found = np.zeros(k)
    if rank:
        found[:rank] = np.sqrt(spectrum.values[:rank] / spectrum.values[0]) * np.sqrt(largest)
    return found


def as_measured(variances: FloatArray, deviations: FloatArray, products: FloatArray) -> Settled:
    """Divide by the variances as they are, corrected by what the divided scores were measured to have.

    Parameters
    ----------
    variances, deviations : ndarray of shape (k,)
        0 beyond the rank.
    products : ndarray of shape (k, k)
        Covariance of the divided scores.
    """
    rank = int((deviations > 0).sum())
    whole = np.eye(len(deviations))
    whole[:rank, :rank] = products[:rank, :rank]
    return Settled(None, variances, deviations, 0.0, inverse_root(whole))


def regularized(
    rule: float | str,
    variances: FloatArray,
    total: float,
    spectrum: Spectrum,
    view: CenteredRows,
    found: Measured,
) -> Settled:
    """Divide by variances that have no zero among them, unless what was added is itself rounding.

    Parameters
    ----------
    rule : float or {"ledoit-wolf", "oas"}
        What is added, or how it is estimated.
    variances : ndarray of shape (k,)
        0 beyond the rank.
    total : float
        Sum of all variances.
    spectrum : Spectrum
        Whose rank tolerance says what rounding is.
    view : CenteredRows
        The fitted rows, centred.
    found : Measured
        What was measured of them.
    """
    n, d = view.rows.shape
    weight, added = 0.0, rule
    if isinstance(added, str):
        squares = _sum_of_squares(spectrum, view) if total > 0 else 1.0 / d
        weight = shrinkage_intensity(added, n, d, squares, found.fourth)
        added = weight * total / d
    least = spectrum.rank_tolerance * float(variances.max(initial=0.0))
    values = (1.0 - weight) * variances + added
    values = np.where(values > least, values, 0.0)
    return Settled(
        amount=weight if isinstance(rule, str) else added,
        variances=values,
        deviations=np.sqrt(values),
        rest=float(np.sqrt(added)) if added > least else 0.0,
        correction=None,
    )


def _sum_of_squares(spectrum: Spectrum, view: CenteredRows) -> float:
    """Sum of the squares of all eigenvalues, over the square of their sum."""
    values = np.concatenate([spectrum.values, spectrum.rest])
    n, d = view.rows.shape
    if spectrum.complete and values.size >= min(n, d):
        values = values / values.sum()
        return float(values @ values)
    A = (GramOperator if n < d else CovarianceOperator)(view).dense()
    xp = namespace(A)
    A = A / float(xp.linalg.trace(A))
    return float(xp.sum(A * A))
