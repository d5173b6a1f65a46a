"""Centred alignment of a kernel with the labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.estimators.kernel_pca import KernelPCA
from gramian.records import FloatArray
from gramian.selection.criteria_gram import centered, centered_gram
from gramian.selection.kernel_choice import Judgement

__all__ = ["ROWS", "alignment", "label_gram"]

ROWS = 2000  # rows taken at most


def label_gram(y: np.ndarray[Any, Any], *, discrete: bool) -> FloatArray:
    """Return the centred Gram matrix of labels: of indicators of the classes, or of the numbers.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Codes of classes, or numbers.
    discrete : bool
        Whether they are classes: then two rows have the product 1 in one class and 0 in two.

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> label_gram(np.array([0, 0, 1, 1]), discrete=True)[0]
    array([ 0.5,  0.5, -0.5, -0.5])
    """
    if discrete:
        return centered((y[:, None] == y[None, :]).astype(np.float64))
    y = y / np.abs(y).max()
    y = y - y.mean()
    y = y / np.abs(y).max()
    return np.outer(y, y)


def alignment(model: KernelPCA, X: FloatArray, target: FloatArray) -> Judgement:
    """Return ``<Kc, L> / (||Kc|| ||L||)``, the cosine of the centred Gram matrices of rows and labels.

    Parameters
    ----------
    model : KernelPCA
        Not fitted; its kernel has every parameter a number.
    X : ndarray of shape (n, d), float64
    target : ndarray of shape (n, n)
        L, from :func:`label_gram`.

    Returns
    -------
    Judgement
        Between 0 and 1 for a valid kernel, with the jackknife's standard error over rows:
        ``sqrt((n - 1) / n sum (A_i - mean A_i)^2)``, where A_i is the alignment without row i, centred anew.

    References
    ----------
    Cristianini, Shawe-Taylor, Elisseeff, Kandola (2001), On kernel-target alignment. Cortes, Mohri,
    Rostamizadeh (2012), Algorithms for learning kernels based on centered alignment, definition 4.
    Efron, Stein (1981), The jackknife estimate of variance.
    """
    Kc, _ = centered_gram(model, X)
    n = len(X)
    cross, own, other = (_products(A, B) for A, B in ((Kc, target), (Kc, Kc), (target, target)))
    value = float(cross[0] / np.sqrt(own[0] * other[0]))
    # Without its only row of a class a label can be constant, and there is nothing to align with.
    lengths = np.sqrt(np.maximum(own[1], 0.0) * np.maximum(other[1], 0.0))
    least = 1e-12 * np.sqrt(own[0] * other[0])
    without = np.where(lengths > least, cross[1] / np.where(lengths > least, lengths, 1.0), 0.0)
    spread = float(np.sum((without - without.mean()) ** 2))
    return Judgement(value, float(np.sqrt((n - 1) / n * spread)))


def _products(A: FloatArray, B: FloatArray) -> tuple[float, FloatArray]:
    """Return <A, B> of centred matrices, and what it is without each row, both centred anew."""
    products = A * B
    sums, own = products.sum(axis=1), np.diag(products)
    total, m = float(sums.sum()), len(A) - 1
    # Row sums of a centred matrix without row i are minus its column i, and all of it sums to entry (i, i).
    return total, total - 2.0 * sums + own - 2.0 / m * (sums - own) + own / m**2
