"""Rotations of loadings to simple structure: varimax and promax."""

from __future__ import annotations

import numpy as np

from gramian.records import FloatArray

SWEEPS, ENOUGH = 200, 1e-14
GAIN = 1e-10  # of the criterion in a sweep, relatively, at which sweeps end
POWER = 4  # of promax's target, as in R


def varimax(loadings: FloatArray) -> FloatArray:
    """Return the orthogonal matrix R that maximises the varimax criterion of ``loadings @ R``.

    Rows are scaled to length 1 before (Kaiser's normalisation), so that each column counts alike.

    Parameters
    ----------
    loadings : ndarray of shape (d, k)

    Returns
    -------
    ndarray of shape (k, k)

    References
    ----------
    Kaiser (1958), The varimax criterion for analytic rotation in factor analysis, equation 5 and section 3.

    Examples
    --------
    >>> A = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    >>> np.abs(A @ varimax(A)).round(4).tolist()
    [[1.4142, 0.0], [1.4142, 0.0], [0.0, 1.4142]]
    """
    lengths = np.linalg.norm(loadings, axis=1)
    A = loadings / np.where(lengths > 0, lengths, 1.0)[:, None]
    d, k = A.shape
    R = np.eye(k)
    criterion = float(np.sum(np.var(A**2, axis=0)))
    # Each plane has a solution in closed form; sweeps over all planes converge quadratically, and slowly
    # where no rotation is much better than others.
    for _ in range(SWEEPS):
        before = criterion
        for i in range(k - 1):
            for j in range(i + 1, k):
                x, y = A[:, i], A[:, j]
                u, v = x * x - y * y, 2.0 * x * y
                above = 2.0 * (u @ v - u.sum() * v.sum() / d)
                below = u @ u - v @ v - (u.sum() ** 2 - v.sum() ** 2) / d
                angle = 0.25 * np.arctan2(above, below)
                # At a minimum as flat as rounding nothing is gained.
                if np.hypot(above, below) <= ENOUGH * d or abs(angle) <= ENOUGH:
                    continue
                turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
                A[:, [i, j]], R[:, [i, j]] = A[:, [i, j]] @ turn, R[:, [i, j]] @ turn
        criterion = float(np.sum(np.var(A**2, axis=0)))
        if criterion - before <= GAIN * criterion:
            break
    return R


def promax(loadings: FloatArray) -> FloatArray:
    """Return the oblique matrix R of promax, after varimax: ``loadings @ R`` has simple structure.

    The correlations of the rotated components are ``inv(R.T @ R)``, with ones on its diagonal.

    Parameters
    ----------
    loadings : ndarray of shape (d, k)

    References
    ----------
    Hendrickson and White (1964), Promax: a quick method for rotation to oblique simple structure.
    """
    R = varimax(loadings)
    L = loadings @ R
    U = np.linalg.lstsq(L, L * np.abs(L) ** (POWER - 1), rcond=None)[0]
    # Unscaled columns of U may differ by orders of magnitude.
    U = U / np.linalg.norm(U, axis=0)
    U = U * np.sqrt(np.diag(np.linalg.inv(U.T @ U)))
    return np.asarray(R @ U)
