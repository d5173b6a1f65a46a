"""Minka's Bayesian choice of the number of components."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from gramian.analysis.component_rules.rules import ComponentChoice, Scree, numbered
from gramian.records import FloatArray

# Relative gap below which two eigenvalues count as this far apart: the logarithm of 0 would decide alone.
LEAST = 1e-15


def log_evidence(values: FloatArray, n: int, most: int | None = None) -> FloatArray:
    """Return Laplace's approximation to the log evidence of k = 1, 2, ... components.

    Parameters
    ----------
    values : ndarray of shape (d,)
        All eigenvalues of the covariance, descending; only ratios matter.
    n : int
        Number of rows.
    most : int, optional
        Largest k, at most d - 1.

    Returns
    -------
    ndarray of shape (most,)
        Entry k - 1 is about k components, up to a constant.

    Notes
    -----
    Equation 30 of the reference in O(d^2) operations: the pairs i <= k < j of its Hessian are the pairs
    i <= k, i < j less those with j <= k, and both are running sums.

    References
    ----------
    Minka (2000), Automatic choice of dimensionality for PCA, equations 30 and 31.

    Examples
    --------
    >>> evidence = log_evidence(np.array([9.0, 8.0, 1.2, 1.05, 0.95, 0.8]), 200)
    >>> int(np.argmax(evidence)) + 1
    2
    """
    lam = np.asarray(values, dtype=np.float64) / values[0]
    d = lam.size
    most = d - 1 if most is None else min(most, d - 1)
    k = np.arange(1, most + 1)
    tail = np.cumsum(lam[::-1])[::-1]
    noise = np.maximum(tail[1 : most + 1] / (d - k), LEAST)
    logs = np.cumsum(np.log(np.maximum(lam[:most], LEAST)))
    half = (d - k + 1) / 2
    uniform = np.cumsum(gammaln(half) - half * np.log(np.pi)) - k * np.log(2)
    pairs = d * k - k * (k + 1) / 2
    evidence = uniform - n / 2 * (logs + (d - k) * np.log(noise)) + (pairs + k) / 2 * np.log(2 * np.pi)
    hessian = _gaps(lam, most) - (k - 1) * logs + pairs * np.log(n)
    apart = [np.log(np.maximum(lam[:j] - v, LEAST)).sum() for j, v in zip(k, noise, strict=True)]
    hessian += (d - k) * (np.array(apart) - k * np.log(noise) - logs)
    return np.asarray(evidence - hessian / 2 - k / 2 * np.log(n))


def _gaps(lam: FloatArray, most: int) -> FloatArray:
    """Sums of log(lam_i - lam_j): of pairs i < j with i <= k, and once more of those with j <= k."""
    rows, columns = np.zeros(most), np.zeros(lam.size)
    for i in range(most):
        gap = np.log(np.maximum(lam[i] - lam[i + 1 :], LEAST))
        rows[i] = gap.sum()
        columns[i + 1 :] += gap
    return np.asarray(np.cumsum(rows) + np.cumsum(columns[:most]))


def minka(scree: Scree) -> ComponentChoice:
    """Keep the number of components with the largest evidence, from 1 to d - 1.

    Parameters
    ----------
    scree : Scree
        Of more rows than columns that vary. Where a part of the spectrum is known, the trace says what the
        mean of the others is, and they count as equal to it.

    References
    ----------
    Minka (2000), Automatic choice of dimensionality for PCA.

    Examples
    --------
    >>> values = np.array([9.0, 8.0, 1.2, 1.05, 0.95, 0.8])
    >>> minka(Scree(values, float(values.sum()), 200, 6, 6, degrees=199)).number
    2
    """
    d, known = scree.varying, scree.known
    if scree.n_samples <= d:
        said = (
            f"Minka's evidence needs more rows than columns, and there are {scree.n_samples} rows x {d} "
            "columns that vary. Use 'gavish-donoho', 'parallel' or 'sign-flip'."
        )
        return ComponentChoice("mle", None, {}, said)
    rank = int(np.sum(known > 0))
    if d < 2 or rank == 0:
        return ComponentChoice("mle", rank, {}, f"{rank} of {d} columns that vary: nothing to compare.")
    if scree.whole and rank < d:
        said = f"{d - rank} of {d} eigenvalues are 0, so {rank} components hold the data without any noise."
        return ComponentChoice("mle", rank, {}, said)
    most = min(rank, d - 1)
    rest = np.full(d - known.size, float(scree.left[-1]) / max(d - known.size, 1))
    evidence = log_evidence(np.concatenate([known, np.minimum(rest, known[-1])]), scree.n_samples, most)
    number = int(np.argmax(evidence)) + 1
    others = np.delete(evidence, number - 1)
    said = f"The log evidence is largest at {number}: {evidence[number - 1]:.6g}"
    said += f", {evidence[number - 1] - others.max():.3g} above the next best." if others.size else "."
    if not scree.whole:
        said += f" The {d - known.size} unknown eigenvalues count as equal, by the trace."
    at_least = number == known.size and not scree.whole
    columns = {"log_evidence": evidence, "eigenvalue": known[:most]}
    return ComponentChoice("mle", number, numbered(1, columns), said, at_least)
