"""Criteria comparable between kernels: pre-images, parallel analysis, alignment, cross-validated score."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone

from gramian.analysis.candidates import Candidate, standard_error
from gramian.analysis.component_rules.resampling import BEYOND, permuted_columns
from gramian.analysis.component_rules.rules import leading
from gramian.arrays import as_float64
from gramian.engine import eigenpairs, eigenvalues, factors
from gramian.errors import (
    CertificateWarning,
    DataError,
    IndefiniteKernelError,
    IndefiniteKernelWarning,
    ParameterError,
    PreimageWarning,
    RankWarning,
    ignoring,
)
from gramian.estimators.kernel_pca import KernelPCA
from gramian.estimators.kernel_rules import first_components
from gramian.kernels import Kernel
from gramian.kernels.evaluator import gram_matrix
from gramian.records import FloatArray
from gramian.selection.kernel_candidates import kernel_of
from gramian.selection.validation import Fold, Scorer, fitted_score, warnings_counted

# Least and most noise, over the spread of the data.
LEAST, MOST = 0.25, 1.0
# Relatively: values that agree like this are equal, and the fewer components are taken.
TIE = 1e-3
# Of the largest eigenvalue: what a negative one may be by rounding.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class TriedKernel(Candidate):
    """One kernel of the comparison.

    Attributes
    ----------
    candidate : KernelPCA
        Not fitted; its kernel has every parameter a number. Also ``model``.
    size : int or None
        Number of components of the value; None where the criterion has none. Also ``n_components``.
    mean, standard_error : float
        Value of the criterion; NaN where it failed. Also ``value``.
    remark : str
        Why there is no value, or a doubt about the kernel.
    said : tuple of str
        Warnings of estimators.
    """

    remark: str = ""
    said: tuple[str, ...] = ()

    @property
    def model(self) -> KernelPCA:
        """The KernelPCA of the candidate, not fitted."""
        model: KernelPCA = self.candidate
        return model

    @property
    def kernel(self) -> Kernel:
        """The kernel, every parameter a number."""
        return kernel_of(self.model)

    @property
    def expression(self) -> str:
        """The kernel as :class:`gramian.KernelPCA` and the command line read it."""
        return repr(self.kernel)

    @property
    def value(self) -> float | None:
        """Value of the criterion; None where it failed, with the reason in ``remark``."""
        return None if math.isnan(self.mean) else self.mean

    @property
    def n_components(self) -> int | None:
        """The number of components that the value belongs to."""
        return self.size


def over_folds(
    model: KernelPCA,
    values: FloatArray,
    best: int,
    counts: Sequence[int],
    rank: int,
    said: tuple[str, ...] = (),
) -> TriedKernel:
    """Return the mean over folds for one number of components, with its standard error.

    Parameters
    ----------
    model : KernelPCA
    values : ndarray of shape (folds, len(counts))
    best : int
        Which of the numbers.
    counts : sequence of int
    rank : int
        Components beyond it are 0; of several numbers the one that is named does not exceed it.

    Examples
    --------
    >>> found = over_folds(KernelPCA(), np.array([[1.0, 2.0], [1.0, 4.0]]), 1, (2, 8), rank=3)
    >>> found.mean, found.standard_error, found.size
    (3.0, 1.0, 3)
    """
    number = int(counts[best])
    named = number if len(counts) == 1 else min(number, max(1, rank))
    return TriedKernel.in_folds(model, named, values[:, best], said=said)


def _measured(
    model: KernelPCA,
    X: FloatArray,
    folds: Sequence[Fold],
    counts: Sequence[int],
    measure: Callable[[KernelPCA, int], Callable[[int], Any]],
) -> tuple[FloatArray, int]:
    """Return a measure for each fold and number of components, shape (folds, counts, ...), and the rank."""
    values, rank = [], 0
    for place, (train, _) in enumerate(folds):
        fitted = clone(model).set_params(n_components=int(counts[-1])).fit(X[train])
        rank, by_count = max(rank, fitted.rank_), measure(fitted, place)
        results: list[Any] = []
        for column, k in enumerate(counts):
            # Components beyond the rank are 0 for all rows.
            same = column and fitted.rank_ <= counts[column - 1]
            results.append(results[-1] if same else by_count(int(k)))
        values.append(results)
    return np.array(values), rank


# ------------------------------------------------------------------ pre-images


def spread(X: FloatArray) -> float:
    """Return the root of the mean variance of the columns that vary.

    Examples
    --------
    >>> spread(np.array([[1e200, 0.1], [3e200, 0.1]]))
    1e+200
    """
    varies = np.ptp(X, axis=0) > 0
    away = X[:, varies] - X[:, varies].mean(axis=0)
    largest = float(np.abs(away).max())
    return largest * float(np.sqrt(np.mean((away / largest) ** 2)))


def noise_size(X: FloatArray) -> float:
    """Return how much noise tells kernels apart on these rows, over their spread.

    Noise as long as the way from a row to the nearest other one, in the median: less can hardly be told from
    the gaps between rows, more wipes out what they show. From 0.25 to 1 times the spread.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Not all rows equal.

    Examples
    --------
    >>> noise_size(np.array([[0.0], [1.0], [5.0], [5.5], [6.0]]))
    0.25
    """
    varies = np.ptp(X, axis=0) > 0
    away = (X[:, varies] - X[:, varies].mean(axis=0)) / spread(X)
    apart = squareform(pdist(away))
    np.fill_diagonal(apart, np.inf)
    near = float(np.median(apart.min(axis=0))) / np.sqrt(away.shape[1])
    return float(np.clip(near, LEAST, MOST))


@dataclass(frozen=True, eq=False)
class NoisyRows:
    """Rows, and what is added to them when they are held out: the same for every kernel.

    Attributes
    ----------
    rows, noise : ndarray of shape (n, d)
    folds : sequence of (train, test)
    axes : ndarray of shape (d, r)
        Principal axes of the rows.
    """

    rows: FloatArray
    noise: FloatArray
    folds: Sequence[Fold]
    axes: FloatArray

    @classmethod
    def of(cls, X: FloatArray, folds: Sequence[Fold], rng: np.random.Generator) -> Self:
        """Draw noise of the size that suits the rows; a column that does not vary gets none."""
        unit = spread(X)
        noise = noise_size(X) * unit * rng.standard_normal(X.shape) * (np.ptp(X, axis=0) > 0)
        return cls(X, noise, folds, factors((X - X.mean(axis=0)) / unit, min(X.shape))[2].T)

    @cached_property
    def unit(self) -> float:
        """In this unit squares are numbers, whatever those of the data are."""
        return float(np.abs(self.noise).max())

    @cached_property
    def added(self) -> FloatArray:
        """Sum of squares of the noise in every fold."""
        return np.array([np.sum((self.noise[test] / self.unit) ** 2) for _, test in self.folds])

    @cached_property
    def linear_filter(self) -> float:
        """The error of the best linear filter.

        Each principal axis of the noisy rows times a factor; what lies outside of the span of the fitted rows
        is left out.
        """
        results = []
        for place, (train, test) in enumerate(self.folds):
            mean = self.rows[train].mean(axis=0)
            fitted = (self.rows[train] - mean) / self.unit
            span = factors(fitted, min(fitted.shape))[2]
            away = self.rows[test] + self.noise[test] - mean
            results.append([self.products(place, mean + away @ span.T @ span)])
        return float(filtered_errors(np.array(results), self.added).mean())

    def products(self, place: int, result: FloatArray) -> FloatArray:
        """Compare what was found for the held-out rows of a fold with the rows themselves.

        Returns
        -------
        ndarray of shape (3, r)
            Along each axis the sums of squares of found rows, of their products with the true ones, and of
            squares of the true ones, all away from the mean of the fitted rows.
        """
        train, test = self.folds[place]
        mean = self.rows[train].mean(axis=0)
        back, true = ((away - mean) / self.unit @ self.axes for away in (result, self.rows[test]))
        return np.array([np.sum(a * b, axis=0) for a, b in ((back, back), (back, true), (true, true))])


def preimage_error(model: KernelPCA, noisy: NoisyRows, counts: Sequence[int]) -> TriedKernel:
    """Return the error of pre-images of held-out rows with noise, for the best number of components.

    A pre-image of a row as it is comes the closer to it the more components there are, and says nothing.
    Noise is added to held-out rows instead, and the pre-images of their projections are compared with the
    rows before the noise, in the space of the data, which all kernels share. The error is the sum of squares
    of what is wrong over that of the noise: 1 for doing nothing, 0 for the rows themselves.

    The number of components is the one whose pre-images have the least error. Kernels are compared after one
    more step: distances from the mean along each principal axis of the data are multiplied by the factor
    that makes the error least. Pulling rows towards the mean, more so along axes with little variance,
    lowers the error for any data; curved kernels do it by themselves, and must not be credited for it.
    A kernel that takes no negative numbers sees noisy rows cut off at 0.

    Parameters
    ----------
    model : KernelPCA
        Not fitted; its kernel has every parameter a number.
    noisy : NoisyRows
    counts : sequence of int
        Numbers of components to try, ascending, at most the rows of every training part.

    Returns
    -------
    TriedKernel
        The standard error is the standard deviation over folds over the root of their number. Of numbers of
        components whose errors agree to 0.1 % the smallest.

    Raises
    ------
    DataError
        Where pre-images are so far away that squares are no numbers.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature spaces.
    """
    X, floor = noisy.rows, kernel_of(model).floor(noisy.rows.shape[1])

    def measure(fitted: KernelPCA, place: int) -> Callable[[int], FloatArray]:
        test = noisy.folds[place][1]
        scores = fitted.transform(np.maximum(X[test] + noisy.noise[test], floor))
        return lambda k: noisy.products(place, first_components(fitted, k).inverse_transform(scores[:, :k]))

    with ignoring(RankWarning, CertificateWarning, IndefiniteKernelWarning, PreimageWarning):
        values, rank = _measured(model, X, noisy.folds, counts, measure)
    if not np.isfinite(values).all():
        raise DataError("Pre-images exceed the range of float64. Scale the data first.")
    plain = np.sum(values[:, :, 0] - 2.0 * values[:, :, 1] + values[:, :, 2], axis=2)
    total = plain.sum(axis=0)
    best = int(np.argmax(total <= total.min() * (1.0 + TIE)))
    return over_folds(model, filtered_errors(values, noisy.added), best, counts, rank)


def filtered_errors(products: FloatArray, added: FloatArray) -> FloatArray:
    """Return errors over the noise, with the factor for each axis that makes their sum over folds least.

    Parameters
    ----------
    products : ndarray of shape (folds, counts, 3, r)
    added : ndarray of shape (folds,)

    Returns
    -------
    ndarray of shape (folds, counts)
    """
    own, cross, true = (products[:, :, i] for i in range(3))
    total = own.sum(axis=0)
    factor = np.where(total > 0, cross.sum(axis=0) / np.where(total > 0, total, 1.0), 0.0)
    errors = np.sum(factor**2 * own - 2.0 * factor * cross + true, axis=2)
    return np.asarray(errors / added[:, None])


# --------------------------------------------------- centred Gram matrices


def centered(K: FloatArray) -> FloatArray:
    """Return H K H with H = I - 1/n.

    Examples
    --------
    >>> centered(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    means = K.mean(axis=0)
    return np.asarray(K - means[:, None] - means[None, :] + means.mean())


def centered_gram(model: KernelPCA, X: FloatArray) -> tuple[FloatArray, float]:
    """Return the centred Gram matrix of the rows over its unit, and the unit.

    Parameters
    ----------
    model : KernelPCA
        Not fitted; its kernel has every parameter a number. With ``repair="clip"`` negative eigenvalues are
        set to 0.
    X : ndarray of shape (n, d), float64

    Returns
    -------
    Kc : ndarray of shape (n, n)
        Over the unit, so that squares of its entries are numbers.
    unit : float
        The largest magnitude before centring.

    Raises
    ------
    IndefiniteKernelError
        For an eigenvalue that is negative beyond rounding, of a kernel that is not proven valid.
    DataError
        For a kernel that is the same number for all pairs of rows.
    """
    kernel = kernel_of(model)
    K = as_float64(gram_matrix(kernel.bind(X, centered=True), X))
    unit = float(np.abs(K).max())
    Kc = centered(K / unit) if unit > 0 else K
    if np.abs(Kc).max() <= 8 * np.finfo(np.float64).eps:
        raise DataError(f"{kernel!r} has the same value for all pairs of rows.")
    if kernel.psd:
        return Kc, unit
    values, vectors = eigenpairs(Kc)
    if model.repair == "clip":
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T), unit
    if values[-1] < -ROUNDING * np.abs(values).max():
        raise IndefiniteKernelError(
            f"The centred kernel matrix has the eigenvalue {values[-1] * unit:.3g}; the largest is "
            f"{values[0] * unit:.3g}. {kernel!r} is not a valid kernel on these rows. "
            "KernelPCA(kernel=..., repair='clip') sets negative eigenvalues to 0."
        )
    return Kc, unit


# ----------------------------------------------------------- parallel analysis


def parallel_energy(model: KernelPCA, X: FloatArray, seeds: Sequence[int]) -> TriedKernel:
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
    TriedKernel
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
        raise ParameterError("criterion='parallel' needs center=True.")
    Kc, unit = centered_gram(model, X)
    values, vectors = eigenpairs(Kc)
    observed = _without_rounding(values)
    draw = permuted_columns(X)
    threshold = np.zeros(len(X))
    for seed in seeds:
        permuted, its_unit = centered_gram(model, np.ascontiguousarray(draw(seed)))
        threshold = np.maximum(threshold, _without_rounding(eigenvalues(permuted)) * (its_unit / unit))
    number = leading(observed > threshold * (1 + BEYOND))
    total = float(np.trace(Kc))
    energy = float(np.sum(observed[:number] - threshold[:number])) / total
    along = (vectors[:, :number] ** 2) @ observed[:number]
    influence = (along - observed[:number].sum() / total * np.diag(Kc)) * (len(X) / total)
    return TriedKernel(model, number, energy, standard_error(influence))


def _without_rounding(values: FloatArray) -> FloatArray:
    """Eigenvalues that are rounding become 0."""
    return np.asarray(np.where(values > len(values) * np.finfo(np.float64).eps * values[0], values, 0.0))


# ------------------------------------------------------------------ alignment


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


def alignment(model: KernelPCA, X: FloatArray, target: FloatArray) -> TriedKernel:
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
    TriedKernel
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
    apart = float(np.sum((without - without.mean()) ** 2))
    return TriedKernel(model, None, value, float(np.sqrt((n - 1) / n * apart)))


def _products(A: FloatArray, B: FloatArray) -> tuple[float, FloatArray]:
    """Return <A, B> of centred matrices, and what it is without each row, both centred anew."""
    products = A * B
    sums, own = products.sum(axis=1), np.diag(products)
    total, m = float(sums.sum()), len(A) - 1
    # Row sums of a centred matrix without row i are minus its column i, and all of it sums to entry (i, i).
    return total, total - 2.0 * sums + own - 2.0 / m * (sums - own) + own / m**2


# ---------------------------------------------------------------------- score


def downstream_score(
    model: KernelPCA,
    X: FloatArray,
    y: np.ndarray[Any, Any],
    folds: Sequence[Fold],
    estimator: Any,
    scorer: Scorer,
    counts: Sequence[int],
) -> TriedKernel:
    """Return the cross-validated score of an estimator on kernel PCA's scores, for the best number of them.

    In every fold the training rows alone are decomposed; the held-out rows are transformed by that.

    Parameters
    ----------
    model : KernelPCA
        Not fitted; its kernel has every parameter a number.
    X : ndarray of shape (n, d), float64
    y : ndarray of shape (n,)
    folds : sequence of (train, test)
    estimator : object
        Cloned for every fit.
    scorer : callable
        Takes a fitted estimator, rows and labels; larger is better.
    counts : sequence of int
        Numbers of components to try, ascending, at most the rows of every training part.

    Returns
    -------
    TriedKernel
        The mean over folds; the standard error is the standard deviation over folds over the root of their
        number. Of numbers of components whose means agree to 0.1 % the smallest.

    Raises
    ------
    DataError
        Where the estimator cannot be fitted, and for a score that is no number.
    """

    def measure(fitted: KernelPCA, place: int) -> Callable[[int], float]:
        (train, test), where = folds[place], f"components in fold {place + 1} of {len(folds)}"
        known, new = fitted.transform(X[train]), fitted.transform(X[test])
        return lambda k: fitted_score(
            estimator, scorer, (known[:, :k], y[train]), (new[:, :k], y[test]), f"with {k} {where}"
        )

    with warnings_counted(ignored=(RankWarning, CertificateWarning)) as said:
        values, rank = _measured(model, X, folds, counts, measure)
    mean = values.mean(axis=0)
    best = int(np.argmax(mean >= mean.max() - TIE * abs(mean.max())))
    return over_folds(model, values, best, counts, rank, tuple(said))
