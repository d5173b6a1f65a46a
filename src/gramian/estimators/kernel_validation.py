"""Cross-validation of the number of kernel components, by the pre-images of held-out rows."""

from __future__ import annotations

import copy
import warnings

import numpy as np
from sklearn.base import clone

from gramian.analysis.component_rules.rules import ComponentChoice
from gramian.arrays import as_float64
from gramian.errors import CertificateWarning, PreimageWarning, RankWarning
from gramian.estimators.kernel_pca import KernelPCA
from gramian.records import FloatArray
from gramian.rows import Rows

__all__ = ["first_components", "held_out_preimages"]

FOLDS = 3
ROWS = 300  # rows taken at most, evenly spaced
TRIED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
GROUPS = 3  # of columns, hidden one after the other
PASSES = 6  # times that hidden entries are filled in from the pre-image


def held_out_preimages(model: KernelPCA, rows: Rows, rng: np.random.Generator) -> ComponentChoice:
    """Choose the number of components whose pre-images tell best what was hidden of rows not fitted.

    The pre-image of a whole row comes ever closer to it the more components there are, and says nothing.
    Of each held-out row a third of the columns is hidden instead, started at the mean and filled in from the
    pre-image, and so with the other thirds; what is filled in is compared with what was hidden, in the manner
    of bi-cross-validation (Owen and Perry 2009). The choice is the smallest number within one standard error
    of the best.

    Parameters
    ----------
    model : KernelPCA
        Kernel and pre-image method; its number of components is not looked at.
    rows : Rows
        Of more than 300, 300 evenly spaced ones are taken.
    rng : Generator
        Cuts them into three parts, each held out once, and the columns into thirds.

    Returns
    -------
    ComponentChoice
        Evidence: the numbers tried, and the mean square error of a hidden entry, its column scaled to unit
        variance.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature spaces.
    Owen, Perry (2009), Bi-cross-validation of the SVD and the nonnegative matrix factorization.
    """
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        return ComponentChoice("cv", None, {}, "A precomputed kernel has no rows to go back to.")
    X = as_float64(rows.in_memory())
    X = X[np.unique(np.linspace(0, len(X) - 1, min(len(X), ROWS)).round().astype(np.int64))]
    if len(X) < 2 * FOLDS or X.shape[1] < 2:
        said = f"{len(X)} rows x {X.shape[1]} columns are too few to hide some of both."
        return ComponentChoice("cv", None, {}, said)
    part = rng.permutation(np.arange(len(X)) % FOLDS)
    group = rng.permutation(np.arange(X.shape[1]) % min(GROUPS, X.shape[1]))
    smallest = min(int(np.sum(part != fold)) for fold in range(FOLDS))
    tried = np.array([k for k in TRIED if k < smallest])
    errors = np.zeros((FOLDS, len(tried) + 1))
    for fold in range(FOLDS):
        errors[fold] = _errors(model, X[part != fold], X[part == fold], tried, group)
    return _choice(np.concatenate([[0], tried]), errors)


def first_components(model: KernelPCA, k: int) -> KernelPCA:
    """Return a fitted model with its first k components only, which is what a fit with that number gives.

    Parameters
    ----------
    model : KernelPCA
        Fitted; it stays as it is, and shares its arrays.
    k : int
        From 1 to ``model.n_components_``.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 3.0]])
    >>> first_components(KernelPCA(3, kernel="rbf").fit(X), 2).transform(X).shape
    (4, 2)
    """
    part = copy.copy(model)
    part.n_components = part.n_components_ = k
    part.rank_ = min(model.rank_, k)
    part.eigenvalues_ = model.eigenvalues_[:k]
    part.eigenvectors_ = model.eigenvectors_[:, :k]
    part.projection_coef_ = model.projection_coef_[:, :k]
    part.explained_variance_ = model.explained_variance_[:k]
    shares = model.explained_variance_ratio_
    part.explained_variance_ratio_ = None if shares is None else shares[:k]
    # Learned from all scores.
    part._ridge_map = None
    return part


def _errors(
    model: KernelPCA, fitted: FloatArray, held_out: FloatArray, tried: FloatArray, group: FloatArray
) -> FloatArray:
    """Mean square error of hidden entries: of their columns' means, and of pre-images by each number."""
    mean, spread = fitted.mean(axis=0), fitted.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    errors = np.zeros(len(tried) + 1)
    with warnings.catch_warnings():
        for category in (RankWarning, CertificateWarning, PreimageWarning):
            warnings.simplefilter("ignore", category)
        trained = clone(model).set_params(n_components=int(tried[-1])).fit(fitted)
        for hidden in (group == g for g in range(int(group.max()) + 1)):
            share = float(hidden.mean())
            errors[0] += share * float(np.mean(((held_out - mean) / spread)[:, hidden] ** 2))
            for place, k in enumerate(tried, 1):
                gap = _filled(trained, held_out, mean, hidden, int(k)) - held_out
                errors[place] += share * float(np.mean((gap / spread)[:, hidden] ** 2))
    return errors


def _filled(trained: KernelPCA, rows: FloatArray, mean: FloatArray, hidden: FloatArray, k: int) -> FloatArray:
    """Return the rows with hidden columns filled in from pre-images of their first k components."""
    found = np.where(hidden, mean, rows)
    for _ in range(PASSES):
        scores = as_float64(trained.transform(found))
        # Without the scores beyond the first k it is the projection on k components.
        scores = np.where(np.arange(scores.shape[1]) < k, scores, 0.0)
        found = np.where(hidden, as_float64(trained.inverse_transform(scores)), rows)
    return found


def _choice(tried: FloatArray, errors: FloatArray) -> ComponentChoice:
    mean = errors.mean(axis=0)
    spread = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    least = int(mean.argmin())
    best = int(np.flatnonzero(mean <= mean[least] + spread[least])[0])
    number = int(tried[best])
    said = (
        f"The mean square error of hidden entries of held-out rows, in units of their columns' variance, is "
        f"{mean[best]:.4g} at {number}, within one standard error ({spread[least]:.2g}) of the least, "
        f"{mean[least]:.4g} at {tried[least]}; without components it is {mean[0]:.4g}."
    )
    evidence = {"components": tried.astype(np.float64), "error": mean, "standard_error": spread}
    return ComponentChoice("cv", number, evidence, said)
