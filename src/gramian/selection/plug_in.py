"""Entropy and mutual information of discrete variables, from the shares of their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["codes_of", "entropy", "plug_in", "plug_in_bias"]

Codes = npt.NDArray[np.signedinteger[Any]]


def codes_of(values: npt.NDArray[Any]) -> Codes:
    """Return codes 0, 1, ... of the distinct values, in their order.

    Examples
    --------
    >>> codes_of(np.array([2.5, 0.0, 2.5]))
    array([1, 0, 1])
    """
    return np.asarray(np.unique(values, return_inverse=True)[1].reshape(-1))


def entropy(codes: Codes) -> float:
    """Return ``- sum f(y) ln f(y)`` with f the shares of the codes, in nats.

    Examples
    --------
    >>> round(entropy(np.array([0, 1, 0, 1])), 6)
    0.693147
    """
    counts = np.bincount(codes)
    shares = counts[counts > 0] / len(codes)
    return float(-(shares @ np.log(shares)))


def plug_in(x: Codes, y: Codes) -> float:
    """Return ``sum f(x, y) ln(f(x, y) / (f(x) f(y)))`` with f the shares of the rows, in nats.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        Codes from 0.

    Examples
    --------
    >>> round(plug_in(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])), 6)
    0.693147
    """
    n = len(x)
    pairs = x.astype(np.int64) * (int(y.max()) + 1) + y
    # Only the pairs that occur: two variables of many values have mostly empty tables.
    distinct, counts = np.unique(pairs, return_counts=True)
    of_x, of_y = np.bincount(x), np.bincount(y)
    a, b = np.divmod(distinct, int(y.max()) + 1)
    together = counts / n
    ratio = counts * n / (of_x[a].astype(np.float64) * of_y[b])
    return float(together @ np.log(ratio))


def plug_in_bias(x: Codes, y: Codes) -> float:
    """Return by how much the plug-in estimate is too high, to first order: ``(r - 1)(c - 1) / (2 n)``.

    For independent variables of r and c values.

    References
    ----------
    Miller (1955), Note on the bias of information estimates; Roulston (1999), Estimating the errors on
    measured entropy and mutual information, Physica D 125, equation 26.
    """
    return float(x.max()) * float(y.max()) / (2 * len(x))
