"""Shares of the variance of columns that a label explains, without cancellation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc

from gramian.arrays import dense, parallel_map
from gramian.records import FloatArray

BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class Explained:
    """What a label explains of columns.

    Attributes
    ----------
    share, rest : ndarray of shape (d,)
        Of the variance of each column: what the label explains, and what it does not.
    between, within : int
        Degrees of freedom of the F test.
    """

    share: FloatArray
    rest: FloatArray
    between: int
    within: int

    @property
    def p_values(self) -> FloatArray:
        """Of the F test; 1 without degrees of freedom."""
        if self.within < 1:
            return np.ones(self.share.size)
        # The upper tail of F, whose argument 1 - R^2 stays finite where F does not.
        return np.asarray(betainc(self.within / 2, self.between / 2, self.rest))


def unit_columns(columns: FloatArray) -> FloatArray:
    """Return columns, one in each row, centred and of length 1; a constant one becomes zero.

    Parameters
    ----------
    columns : ndarray of shape (b, n)
        Finite numbers of any scale.

    Examples
    --------
    >>> unit_columns(np.array([[1e200, 3e200], [5.0, 5.0]])).round(4)
    array([[-0.7071,  0.7071],
           [ 0.    ,  0.    ]])
    """
    varies = columns.max(axis=1) > columns.min(axis=1)
    # By a power of two, which rounds nothing and lets the square of any number be held.
    B = np.ldexp(columns, -np.frexp(np.abs(columns).max(axis=1))[1][:, None])
    B -= B.mean(axis=1)[:, None]
    # Far from 0 the first mean is rounded by more than what the column varies.
    B -= B.mean(axis=1)[:, None]
    B = np.ldexp(B, -np.frexp(np.abs(B).max(axis=1))[1][:, None])
    length = np.sqrt((B * B).sum(axis=1))
    B /= np.where(varies, length, 1.0)[:, None]
    B[~varies] = 0.0
    return np.asarray(B)


def explained(X: Any, y: Any, discrete: bool) -> Explained:
    """Return what classes, or numbers on a line, explain of the columns of an array or a CSC matrix.

    Parameters
    ----------
    X : array or CSC matrix of shape (n, d)
        A block of columns at a time is made dense.
    y : ndarray of shape (n,)
    discrete : bool
        Whether y has classes.
    """
    n = len(y)
    # Of this size is what rounding leaves of a feature that the label explains completely.
    rounding = n * (4 * np.finfo(np.float64).eps) ** 2
    if discrete:
        codes = np.unique(y, return_inverse=True)[1]
        members = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
        between, within = len(members) - 1, n - len(members)
    else:
        line = unit_columns(np.asarray(y, dtype=np.float64)[None, :])
        between, within = 1, n - 2

    def work(block: FloatArray) -> FloatArray:
        U = unit_columns(block)
        if discrete:
            share, rest = np.zeros(len(U)), np.zeros(len(U))
            for rows in members:
                part = np.take(U, rows, axis=1)
                mean = part.mean(axis=1)
                share += len(rows) * mean**2
                rest += ((part - mean[:, None]) ** 2).sum(axis=1)
        else:
            r = (U * line).sum(axis=1)
            share, rest = r**2, ((U - r[:, None] * line) ** 2).sum(axis=1)
        varies = U.any(axis=1)
        rest = np.where(varies, np.where(rest <= rounding, 0.0, rest), 1.0)
        return np.vstack([np.where(share <= rounding, 0.0, share), rest])

    share, rest = by_columns(X, work)
    # Both are rounded on their own.
    return Explained(np.minimum(share, 1.0), np.minimum(rest, 1.0), between, within)


def by_columns(X: Any, work: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Apply work to blocks of columns, each as a contiguous row, so that equal columns give equal results."""
    n, d = X.shape
    width = max(1, BLOCK_ENTRIES // n)

    def piece(start: int) -> FloatArray:
        return work(np.ascontiguousarray(dense(X[:, start : start + width]).T, dtype=np.float64))

    return np.concatenate(parallel_map(piece, range(0, d, width)), axis=1)
