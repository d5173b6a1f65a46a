"""Rules for the number of components of kernel PCA, which fit the model they are asked about again.

A model is cloned and fitted, so that kernel PCA itself can ask them.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian.core.arrays import as_float64
from gramian.core.checks import evenly
from gramian.core.records import FloatArray, Plan, Step
from gramian.errors import GramianWarning, ignoring
from gramian.kernels import Kernel
from gramian.models.pca.rules import UNEQUAL, refusal
from gramian.statistics.component_rules import REPEATS, ComponentChoice, numbered, parallel_analysis
from gramian.tables.rows import Rows

FOLDS = 3
ROWS = 300  # rows taken at most, evenly spaced
TRIED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
GROUPS = 3  # of columns, hidden one after the other
PASSES = 6  # times that hidden entries are filled in from the pre-image
# Seconds: of a small fit on top of its plan, and of a pass with a search for pre-images.
FIT, PASS = 1.2e-3, 7e-3


def components_of_kernel(
    model: Any, rows: Rows, rule: str, *, fraction: float = 0.95, rng: np.random.Generator
) -> ComponentChoice:
    """Ask one of ``KERNEL_RULES`` about rows.

    Parameters
    ----------
    model : KernelPCA
        Its number of components is not looked at.
    rows : Rows
    rule : {"parallel", "fraction", "cv"}
    fraction : float
        For the rule "fraction".
    rng : Generator
        Left as it is, so that the answer does not depend on the rules asked before.
    """
    rng = copy.deepcopy(rng)
    if rule == "fraction":
        return _fraction(model, rows, fraction)
    if rows.weights is not None:
        return ComponentChoice(rule, None, {}, UNEQUAL)
    if rule == "parallel":
        return _parallel(model, rows, rng)
    return held_out_preimages(model, rows, rng)


def with_kernel(model: Any, kernel: Kernel | None, **parameters: Any) -> Any:
    """Return an unfitted copy with a kernel whose parameters are numbers; with its own where that is None."""
    if kernel is not None:
        defaults = {"gamma": None, "degree": 3, "coef0": 1, "kernel_params": None}
        parameters |= {"kernel": kernel, **defaults}
    return clone(model).set_params(**parameters)


def with_kernel_rule(result: Plan, rule: str) -> Plan:
    """Return a plan with the step that asks a rule, which fits the model many times."""
    passes = FOLDS * GROUPS * len(TRIED) * PASSES
    fits, then = (REPEATS + 2, 0.0) if rule == "parallel" else (FOLDS, passes * PASS)
    step = Step("choose", f"{fits} fits, for the rule '{rule}'", fits * (result.seconds + FIT) + then)
    return replace(result, steps=(step, *result.steps))


def _fraction(model: Any, rows: Rows, fraction: float) -> ComponentChoice:
    fresh = clone(model).set_params(n_components=float(fraction))
    fitted = fresh.fit(rows.in_memory(), sample_weight=rows.weights)
    shares = np.cumsum(as_float64(fitted.explained_variance_ratio_))
    number = int(fitted.n_components_)
    sentence = (
        f"The fewest components that explain {100 * fraction:g} % of the variance in feature space: {number} "
        f"explain {100 * shares[-1]:.4g} %."
    )
    return ComponentChoice("fraction", number, numbered(1, {"cumulative": shares}), sentence)


def _parallel(model: Any, rows: Rows, rng: np.random.Generator) -> ComponentChoice:
    """Horn's comparison with the kernel matrix of permuted columns, the kernel's parameters held."""
    sentence = refusal("parallel", rows.shape, center=bool(model.center), sparse=rows.skips_zeros)
    if sentence:
        return ComponentChoice("parallel", None, {}, sentence)
    n = rows.shape[0]
    values = as_float64(rows.in_memory())
    with ignoring(GramianWarning):
        kernel = clone(model).set_params(n_components=1).fit(values).kernel_
        if kernel is None:
            sentence = "The rule permutes columns of the data, and a precomputed kernel has none."
            return ComponentChoice("parallel", None, {}, sentence)

        def spectrum_of(A: Any, count: int) -> FloatArray:
            again = with_kernel(model, kernel, n_components=count, random_state=0)
            return np.asarray(again.fit(np.ascontiguousarray(A)).eigenvalues_)

        return parallel_analysis(values, spectrum_of, rng, size=n - 1, factor=1 / (n - 1))


def held_out_preimages(model: Any, rows: Rows, rng: np.random.Generator) -> ComponentChoice:
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
        sentence = "A precomputed kernel has no rows, so there are no pre-images."
        return ComponentChoice("cv", None, {}, sentence)
    if rows.skips_zeros:
        sentence = "Pre-images are dense, but X is sparse. Pass X.toarray()."
        return ComponentChoice("cv", None, {}, sentence)
    X = as_float64(rows.in_memory())
    X = X[evenly(len(X), ROWS)]
    if len(X) < 2 * FOLDS or X.shape[1] < 2:
        sentence = f"{len(X)} rows x {X.shape[1]} columns are too few to hold out some of both."
        return ComponentChoice("cv", None, {}, sentence)
    fold_numbers = rng.permutation(np.arange(len(X)) % FOLDS)
    group = rng.permutation(np.arange(X.shape[1]) % min(GROUPS, X.shape[1]))
    smallest = min(int(np.sum(fold_numbers != fold)) for fold in range(FOLDS))
    tried = np.array([k for k in TRIED if k < smallest])
    errors = np.zeros((FOLDS, len(tried) + 1))
    for fold in range(FOLDS):
        errors[fold] = _errors(model, X[fold_numbers != fold], X[fold_numbers == fold], tried, group)
    return _choice(np.concatenate([[0], tried]), errors)


def first_components(model: Any, k: int) -> Any:
    """Return a fitted model with its first k components only, which is what a fit with that number gives.

    Parameters
    ----------
    model : KernelPCA
        Fitted; it stays as it is, and shares its arrays.
    k : int
        From 1 to ``model.n_components_``.

    Examples
    --------
    >>> from gramian import KernelPCA
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 3.0]])
    >>> first_components(KernelPCA(3, kernel="rbf").fit(X), 2).transform(X).shape
    (4, 2)
    """
    result = copy.copy(model)
    result.n_components = result.n_components_ = k
    result.rank_ = min(model.rank_, k)
    result.eigenvalues_ = model.eigenvalues_[:k]
    result.eigenvectors_ = model.eigenvectors_[:, :k]
    result.projection_coef_ = model.projection_coef_[:, :k]
    result.explained_variance_ = model.explained_variance_[:k]
    shares = model.explained_variance_ratio_
    result.explained_variance_ratio_ = None if shares is None else shares[:k]
    # Learned from all scores.
    result._ridge_map = None
    return result


def _errors(
    model: Any, fitted: FloatArray, held_out: FloatArray, tried: FloatArray, group: FloatArray
) -> FloatArray:
    """Mean square error of hidden entries: of their columns' means, and of pre-images by each number."""
    mean, spread = fitted.mean(axis=0), fitted.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    errors = np.zeros(len(tried) + 1)
    with ignoring(GramianWarning):
        trained = clone(model).set_params(n_components=int(tried[-1])).fit(fitted)
        for hidden in (group == g for g in range(int(group.max()) + 1)):
            share = float(hidden.mean())
            errors[0] += share * float(np.mean(((held_out - mean) / spread)[:, hidden] ** 2))
            for index, k in enumerate(tried, 1):
                gap = _filled(trained, held_out, mean, hidden, int(k)) - held_out
                errors[index] += share * float(np.mean((gap / spread)[:, hidden] ** 2))
    return errors


def _filled(trained: Any, rows: FloatArray, mean: FloatArray, hidden: FloatArray, k: int) -> FloatArray:
    """Return the rows with hidden columns filled in from pre-images of their first k components."""
    values = np.where(hidden, mean, rows)
    for _ in range(PASSES):
        scores = as_float64(trained.transform(values))
        # Without the scores beyond the first k it is the projection on k components.
        scores = np.where(np.arange(scores.shape[1]) < k, scores, 0.0)
        values = np.where(hidden, as_float64(trained.inverse_transform(scores)), rows)
    return values


def _choice(tried: FloatArray, errors: FloatArray) -> ComponentChoice:
    mean = errors.mean(axis=0)
    spread = errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    least = int(mean.argmin())
    best = int(np.flatnonzero(mean <= mean[least] + spread[least])[0])
    number = int(tried[best])
    sentence = (
        f"The mean square error of hidden entries of held-out rows, in units of their columns' variance, is "
        f"{mean[best]:.4g} at {number}, within one standard error ({spread[least]:.2g}) of the least, "
        f"{mean[least]:.4g} at {tried[least]}; without components it is {mean[0]:.4g}."
    )
    evidence = {"components": tried.astype(np.float64), "error": mean, "standard_error": spread}
    return ComponentChoice("cv", number, evidence, sentence)
