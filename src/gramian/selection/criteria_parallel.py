"""Kernel parallel analysis: how much of the variance in feature space chance does not explain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.analysis.component_rules.resampling import BEYOND, REPEATS, permuted_columns
from gramian.analysis.component_rules.rules import leading
from gramian.errors import ParameterError
from gramian.estimators.kernel_pca import KernelPCA
from gramian.records import FloatArray
from gramian.selection.criteria_gram import centered_gram
from gramian.selection.kernel_choice import Judgement

__all__ = ["REPEATS", "ROWS", "parallel_energy"]

ROWS = 400  # rows taken at most


def parallel_energy(model: KernelPCA, X: FloatArray, seeds: Sequence[int]) -> Judgement:
    """Return the share of the variance in feature space that leading components have beyond chance.

    Chance is the data with every column permuted by itself. With the eigenvalues l_1 >= l_2 >= ... of the
    centred kernel matrix and t_i the largest i-th eigenvalue of the permuted data sets, the components are
    the q leading ones with l_i > t_i, and the energy is ``sum_{i <= q} (l_i - t_i) / sum_i l_i``.

    Parameters
    ----------
    model : KernelPCA
        Not fitted; its kernel has every parameter a number.
    X : ndarray of shape (n, d), float64
    seeds : sequence of int
        One for each permuted data set. The largest of 19 is the 95 % level.

    Returns
    -------
    Judgement
        The number of components is q, possibly 0. The standard error is that of the data's eigenvalues, over
        rows and to first order (their influence function), with the thresholds' share held.

    Raises
    ------
    ParameterError
        For a model that does not centre.

    References
    ----------
    Joergensen, Hansen (2012), Model selection for Gaussian kernel PCA denoising, IEEE Transactions on Neural
    Networks and Learning Systems 23 (1). Critchley (1985), Influence in principal components analysis.
    """
    if not model.center:
        raise ParameterError("Permuted columns say nothing about features that are not centred.")
    Kc, unit = centered_gram(model, X)
    values, vectors = np.linalg.eigh(Kc)
    observed = _descending(np.asarray(values))
    draw = permuted_columns(X)
    threshold = np.zeros(len(X))
    for seed in seeds:
        permuted, its_unit = centered_gram(model, np.ascontiguousarray(draw(seed)))
        drawn = _descending(np.asarray(np.linalg.eigvalsh(permuted))) * (its_unit / unit)
        threshold = np.maximum(threshold, drawn)
    number = leading(observed > threshold * (1 + BEYOND))
    total = float(np.trace(Kc))
    energy = float(np.sum(observed[:number] - threshold[:number])) / total
    along = (vectors[:, ::-1][:, :number] ** 2) @ observed[:number]
    influence = (along - observed[:number].sum() / total * np.diag(Kc)) * (len(X) / total)
    return Judgement(energy, float(influence.std(ddof=1) / np.sqrt(len(X))), number)


def _descending(values: FloatArray) -> FloatArray:
    """Ascending eigenvalues the other way round; those that are rounding become 0."""
    values = values[::-1]
    return np.asarray(np.where(values > len(values) * np.finfo(np.float64).eps * values[0], values, 0.0))
