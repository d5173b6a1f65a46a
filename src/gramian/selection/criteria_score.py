"""What an estimator makes of kernel PCA's scores, with the decomposition inside every fold."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian.errors import CertificateWarning, DataError, GramianError, RankWarning
from gramian.estimators.kernel_pca import KernelPCA
from gramian.records import FloatArray
from gramian.selection.folds import Fold
from gramian.selection.kernel_choice import Judgement, judgement

__all__ = ["COUNTS", "ROWS", "downstream_score"]

ROWS = 500  # rows taken at most
COUNTS = (1, 2, 4, 8, 16, 32, 64)
TIE = 1e-3
SAID = 3


def downstream_score(
    model: KernelPCA,
    X: FloatArray,
    y: np.ndarray[Any, Any],
    folds: Sequence[Fold],
    estimator: Any,
    scorer: Callable[..., float],
    counts: Sequence[int],
) -> Judgement:
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
    Judgement
        The mean over folds; the standard error is the standard deviation over folds over the root of their
        number. Of numbers of components whose means agree to 0.1 % the smallest.

    Raises
    ------
    DataError
        Where the estimator cannot be fitted, and for a score that is no number.
    """
    found = np.zeros((len(folds), len(counts)))
    ranks = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (RankWarning, CertificateWarning):
            warnings.simplefilter("ignore", category)
        for place, (train, test) in enumerate(folds):
            fitted = clone(model).set_params(n_components=int(counts[-1])).fit(X[train])
            ranks.append(fitted.rank_)
            known, new = fitted.transform(X[train]), fitted.transform(X[test])
            for column, k in enumerate(counts):
                if column and fitted.rank_ <= counts[column - 1]:
                    # The others are 0 for all rows.
                    found[place, column] = found[place, column - 1]
                    continue
                part = known[:, :k], y[train], new[:, :k], y[test]
                found[place, column] = _score(
                    clone(estimator), scorer, part, f"with {k} components in fold {place}"
                )
    mean = found.mean(axis=0)
    best = int(np.argmax(mean >= mean.max() - TIE * abs(mean.max())))
    said = Counter(f"{w.category.__name__}: {str(w.message).splitlines()[0]}" for w in caught)
    return judgement(found, best, counts, max(ranks), tuple(text for text, _ in said.most_common(SAID)))


def _score(
    estimator: Any, scorer: Callable[..., float], part: tuple[Any, Any, Any, Any], where: str
) -> float:
    known, labels, new, held_out = part
    try:
        score = float(scorer(estimator.fit(known, labels), new, held_out))
    except GramianError:
        raise
    except ValueError as error:
        raise DataError(
            f"{type(estimator).__name__} could not be validated {where}: {str(error).splitlines()[0]}"
        ) from error
    if not np.isfinite(score):
        raise DataError(
            f"The score {where} is {score}, with {len(held_out)} rows held out. Give another scoring, or "
            "fewer folds."
        )
    return score
