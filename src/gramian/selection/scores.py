"""Scores of single features against a label, with the p-values that the classical tests give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from gramian.analysis.explained import Explained, by_columns, explained
from gramian.arrays import dense
from gramian.errors import DataError, ParameterError
from gramian.records import FloatArray

Values = Any  # an array, or a CSC matrix, of which a block of columns at a time is made dense

NO_FREEDOM = "There are as many {groups} as rows, so no degree of freedom is left and every p-value is 1."


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of single features against a label.

    Attributes
    ----------
    values : ndarray of shape (d,), float64
        Larger is better.
    p_values : ndarray of shape (d,) or None
        Probability of a score as large without any relation; None where the score has no test.
    notes : tuple of str
        What should be known about them.
    """

    values: FloatArray
    p_values: FloatArray | None = None
    notes: tuple[str, ...] = ()


def _notes(result: Explained, discrete: bool) -> tuple[str, ...]:
    return (NO_FREEDOM.format(groups="classes" if discrete else "coefficients"),) * (result.within < 1)


def f_score(X: Values, y: Values, *, discrete: bool) -> Scores:
    """Return the F statistic of every feature against a label.

    For classes that of the one-way analysis of variance, ``(B / (c - 1)) / (W / (n - c))`` with B and W the
    sums of squares between and within the c classes; for numbers that of the simple regression, ``r^2 / (1
    - r^2) * (n - 2)``. Features are centred before they are squared.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Finite numbers of any scale.
    y : ndarray of shape (n,)
        Codes of classes, or numbers.
    discrete : bool
        Whether ``y`` names classes.

    Returns
    -------
    Scores
        Infinite, with p-value 0, where nothing is left within the classes or beside the line. A constant
        feature has 0 and p-value 1; all have where no degree of freedom is left.

    References
    ----------
    Fisher (1925), Statistical Methods for Research Workers, chapter VII.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [5.0, 5.0]])
    >>> found = f_score(X, np.array([0, 0, 1, 1]), discrete=True)
    >>> found.values.round(4).tolist(), found.p_values.round(4).tolist()
    ([18.0, 0.0], [0.0513, 1.0])
    """
    result = explained(X, y, discrete)
    if result.within < 1:
        values = np.zeros(result.share.size)
    else:
        with np.errstate(divide="ignore"):
            values = result.share / result.rest * (result.within / result.between)
    return Scores(values, result.p_values, _notes(result, discrete))


def correlation_score(X: Values, y: Values, *, discrete: bool) -> Scores:
    """Return the size of the correlation of every feature with a label, from 0 to 1.

    For numbers ``|r|``, of Pearson. For classes the correlation ratio ``sqrt(B / (B + W))``, with B and W
    the sums of squares between and within classes: the largest correlation that the feature has with any
    numbers given to the classes. With two classes it is ``|r|`` with the label as 0 and 1. p-values are
    those of :func:`f_score`, for numbers the two-sided t test of r.

    Parameters
    ----------
    X, y, discrete
        As for :func:`f_score`.

    Returns
    -------
    Scores
        A constant feature has 0 and p-value 1.

    References
    ----------
    Fisher (1925), Statistical Methods for Research Workers, section 45, for the correlation ratio.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [4.0, 0.0], [5.0, 1.0]])
    >>> correlation_score(X, np.array([0, 0, 1, 1]), discrete=True).values.round(4).tolist()
    [0.9487, 0.0]
    """
    result = explained(X, y, discrete)
    return Scores(np.sqrt(result.share), result.p_values, _notes(result, discrete))


def chi2_score(X: Values, y: Values, *, discrete: bool = True, names: Sequence[str] | None = None) -> Scores:
    """Return the chi-squared statistic of every feature, read as counts, against classes.

    ``sum over classes of (O - E)^2 / E`` with O the sum of the feature over the rows of a class and E the
    share of the rows that are in the class, times the sum over all rows; c - 1 degrees of freedom. It
    measures counts: a feature in other units has another score.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Counts, or other numbers of at least 0.
    y : ndarray of shape (n,)
        Codes of classes.
    discrete : bool
        Whether ``y`` names classes; it must.
    names : sequence of str, optional
        Of the features, for messages.

    Raises
    ------
    DataError
        For a negative number.
    ParameterError
        For a label that is a number.

    References
    ----------
    Pearson (1900), On the criterion that a given system of deviations ..., Philosophical Magazine 50.

    Examples
    --------
    >>> X = np.array([[3.0, 1.0], [1.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    >>> chi2_score(X, np.array([0, 0, 1, 1])).values.tolist()
    [4.0, 0.0]
    """
    if not discrete:
        raise ParameterError(
            "score='chi2' needs classes, but the label is a number. "
            "Use score='f', 'correlation' or 'mutual-information'."
        )
    least = dense(X.min(axis=0)).ravel()
    negative = np.flatnonzero(least < 0)
    if negative.size:
        j = int(negative[0])
        name = names[j] if names is not None else f"x{j}"
        raise DataError(
            f"score='chi2' needs counts, but column {name!r} has the negative value {least[j]:g}. "
            "Negative values in data passed to chi2 are not allowed: use another score, or leave such "
            "columns out."
        )
    _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    shares = sizes / sizes.sum()

    def work(block: FloatArray) -> FloatArray:
        exponent = np.frexp(block.max(axis=1))[1]
        varies = block.max(axis=1) > block.min(axis=1)
        block = np.ldexp(block, -exponent[:, None])
        total = block.sum(axis=1)
        result = np.zeros(len(block))
        for code, share in enumerate(shares):
            expected = share * np.where(varies, total, 1.0)
            result += (np.compress(codes == code, block, axis=1).sum(axis=1) - expected) ** 2 / expected
        with np.errstate(over="ignore"):
            return np.where(varies, np.ldexp(result, exponent), 0.0)[None, :]

    (values,) = by_columns(X, work)
    return Scores(values, np.asarray(chdtrc(len(sizes) - 1, values)))
