"""Pre-images of held-out rows: how much of the noise in them a kernel's components take out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone

from gramian.errors import CertificateWarning, DataError, PreimageWarning, RankWarning
from gramian.estimators.kernel_pca import KernelPCA
from gramian.estimators.kernel_rules import first_components
from gramian.records import FloatArray
from gramian.selection.folds import Fold
from gramian.selection.kernel_choice import Judgement, judgement

__all__ = ["COUNTS", "ROWS", "NoisyRows", "filtered_errors", "noise_size", "preimage_error", "spread"]

ROWS = 300  # rows taken at most
COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# Least and most noise, over the spread of the data.
LEAST, MOST = 0.25, 1.0
# Relatively: values that agree like this are equal, and the fewer components are taken.
TIE = 1e-3


def spread(X: FloatArray) -> float:
    """Return the root of the mean variance of the columns that vary.

    Examples
    --------
    >>> spread(np.array([[1e200, 0.1], [3e200, 0.1]]))
    1e+200
    """
    varies = np.ptp(X, axis=0) > 0
    if not varies.any():
        return 0.0
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
        axes = np.linalg.svd((X - X.mean(axis=0)) / unit, full_matrices=False)[2].T
        return cls(X, noise, folds, np.asarray(axes))

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
        found = []
        for place, (train, test) in enumerate(self.folds):
            mean = self.rows[train].mean(axis=0)
            fitted = (self.rows[train] - mean) / self.unit
            size, span = np.linalg.svd(fitted, full_matrices=False)[1:]
            span = span[size > max(fitted.shape) * np.finfo(np.float64).eps * size[0]]
            away = self.rows[test] + self.noise[test] - mean
            found.append([self.products(place, mean + away @ span.T @ span)])
        return float(filtered_errors(np.array(found), self.added).mean())

    def products(self, place: int, found: FloatArray) -> FloatArray:
        """Compare what was found for the held-out rows of a fold with the rows themselves.

        Returns
        -------
        ndarray of shape (3, r)
            Along each axis the sums of squares of found rows, of their products with the true ones, and of
            squares of the true ones, all away from the mean of the fitted rows.
        """
        train, test = self.folds[place]
        mean = self.rows[train].mean(axis=0)
        back, true = ((away - mean) / self.unit @ self.axes for away in (found, self.rows[test]))
        return np.array([np.sum(a * b, axis=0) for a, b in ((back, back), (back, true), (true, true))])


def preimage_error(model: KernelPCA, noisy: NoisyRows, counts: Sequence[int]) -> Judgement:
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
    Judgement
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
    X, floor = noisy.rows, model.kernel.floor(noisy.rows.shape[1])
    found = np.zeros((len(noisy.folds), len(counts), 3, noisy.axes.shape[1]))
    ranks = []
    with warnings.catch_warnings():
        for category in (RankWarning, CertificateWarning, PreimageWarning):
            warnings.simplefilter("ignore", category)
        for place, (train, test) in enumerate(noisy.folds):
            fitted = clone(model).set_params(n_components=int(counts[-1])).fit(X[train])
            ranks.append(fitted.rank_)
            scores = fitted.transform(np.maximum(X[test] + noisy.noise[test], floor))
            for column, k in enumerate(counts):
                if column and fitted.rank_ <= counts[column - 1]:
                    # The others have eigenvalue 0.
                    found[place, column] = found[place, column - 1]
                    continue
                back = first_components(fitted, int(k)).inverse_transform(scores[:, :k])
                found[place, column] = noisy.products(place, back)
    if not np.isfinite(found).all():
        raise DataError("Pre-images leave the range of float64. Scale the data first.")
    plain = np.sum(found[:, :, 0] - 2.0 * found[:, :, 1] + found[:, :, 2], axis=2)
    total = plain.sum(axis=0)
    best = int(np.argmax(total <= total.min() * (1.0 + TIE)))
    return judgement(filtered_errors(found, noisy.added), best, counts, max(ranks))


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
