"""How many of the ranked features to keep, by cross-validation with the ranking inside every fold."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed

from gramian.errors import DataError, GramianError, ParameterError
from gramian.records import FloatArray
from gramian.selection.filter_summary import estimator_name
from gramian.selection.folds import Fold, draw_folds
from gramian.selection.labels import Labelled

__all__ = ["ChoiceOfK", "choose_folds", "cross_validate_k", "one_standard_error", "tried_sizes"]

Indices = npt.NDArray[np.intp]
Order = Callable[[Any, Any, int, Any], Indices]

STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
LEAST_CEILING = 100


@dataclass(frozen=True, eq=False)
class ChoiceOfK:
    """Validated scores of several numbers of features, and the choice between them.

    Attributes
    ----------
    sizes : ndarray of shape (t,)
        Numbers of features, ascending.
    fold_scores : ndarray of shape (t, folds)
    mean, error : ndarray of shape (t,)
        Mean over folds, and its standard error, the standard deviation over folds (divisor folds - 1) over
        the root of their number.
    best : int
        The number with the largest mean; the smaller one of equals.
    chosen : int
        The smallest number whose mean is within one standard error of the best one's, of the best one.
    notes : tuple of str
    """

    sizes: npt.NDArray[np.intp]
    fold_scores: FloatArray
    mean: FloatArray
    error: FloatArray
    best: int
    chosen: int
    notes: tuple[str, ...] = ()

    def at(self, size: int) -> tuple[float, float]:
        """Return mean and standard error at one number of features."""
        place = int(np.searchsorted(self.sizes, size))
        return float(self.mean[place]), float(self.error[place])


def tried_sizes(d: int, n: int) -> npt.NDArray[np.intp]:
    """Return the numbers of features to try: 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, ..., d.

    Beyond 100 only as many as there are rows: with more, a linear model fits any label.

    Examples
    --------
    >>> tried_sizes(12, 50).tolist()
    [1, 2, 3, 4, 5, 7, 10, 12]
    >>> tried_sizes(3000, 38).tolist()
    [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100]
    """
    ceiling = min(d, max(LEAST_CEILING, n))
    steps = {int(step * 10**power) for power in range(len(str(ceiling))) for step in STEPS}
    return np.array(sorted({size for size in steps if size <= ceiling} | {ceiling}), dtype=np.intp)


def one_standard_error(
    sizes: npt.NDArray[np.intp], fold_scores: FloatArray, notes: Sequence[str] = ()
) -> ChoiceOfK:
    """Choose the smallest number of features that is within one standard error of the best.

    Parameters
    ----------
    sizes : ndarray of shape (t,)
        Ascending.
    fold_scores : ndarray of shape (t, folds)
        Larger is better.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, section 3.4.3.

    Examples
    --------
    >>> scores = np.array([[0.5, 0.6], [0.8, 1.0], [0.9, 1.0]])
    >>> found = one_standard_error(np.array([1, 2, 3]), scores)
    >>> found.best, found.chosen
    (3, 2)
    """
    folds = fold_scores.shape[1]
    mean = fold_scores.mean(axis=1)
    spread = fold_scores.std(axis=1, ddof=1) if folds > 1 else np.zeros(len(sizes))
    error = spread / np.sqrt(folds)
    # Means of equal folds in another order differ by rounding.
    slack = 1e-12 * max(1.0, float(np.abs(mean).max()))
    best = int(np.argmax(mean >= mean.max() - slack))
    chosen = int(np.argmax(mean >= mean[best] - error[best] - slack))
    return ChoiceOfK(sizes, fold_scores, mean, error, int(sizes[best]), int(sizes[chosen]), tuple(notes))


def choose_folds(cv: Any, data: Labelled) -> tuple[list[Fold], tuple[str, ...]]:
    """Return the parts that are trained on and held out, and what was decided about them.

    A number of folds is that of scikit-learn's check_cv: stratified for classes, not shuffled. There are
    fewer where a class has fewer rows, and for numbers where a fold would have a single row.

    Raises
    ------
    ParameterError
        For folds that cannot be made.
    DataError
        For too few rows, and training rows of a single class.
    """
    folds, notes = _number_of_folds(cv, data)
    if isinstance(folds, int) and data.classes is not None:
        with warnings.catch_warnings():
            # A class of a single row, which the notes tell of.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            folds = list(StratifiedKFold(folds).split(data.X, data.y))
    splits = draw_folds(folds, data.X, data.y, classifier=data.classes is not None)
    for place, (train, _) in enumerate(splits):
        if np.unique(data.y[train]).size < 2:
            raise DataError(
                f"The training rows of fold {place} all have the same label, so that nothing can be learned "
                "there. Give fewer folds, more rows of each class, or k as a number."
            )
    return splits, notes


def _number_of_folds(cv: Any, data: Labelled) -> tuple[Any, tuple[str, ...]]:
    asked = 5 if cv is None else cv
    if not isinstance(asked, Integral):
        return asked, ()
    if isinstance(asked, bool) or asked < 2:
        raise ParameterError(f"cv={cv!r} is not a number of folds. Give a whole number of at least 2.")
    n = len(data.y)
    if data.classes is None:
        if n < 4:
            raise DataError(
                "Cross-validation needs at least two folds of two rows, a minimum of 4 samples, but there "
                f"are {n}. Give k as a number."
            )
        folds = min(int(asked), n // 2)
        notes = () if folds == asked else (f"{folds} folds instead of {asked}: there are {n} rows.",)
        return folds, notes
    sizes = np.bincount(data.y)
    several = sizes[sizes > 1]
    if not several.size:
        raise DataError(
            f"Each of the {len(sizes)} classes has one row, so that none can be held out. Give k as a "
            "number, or more rows of each class."
        )
    return _class_folds(int(asked), sizes, data.classes)


def _class_folds(asked: int, sizes: npt.NDArray[Any], classes: Any) -> tuple[int, tuple[str, ...]]:
    smallest = int(np.argmin(np.where(sizes > 1, sizes, sizes.max() + 1)))
    folds = min(asked, int(sizes[smallest]))
    notes = []
    if folds < asked:
        rows = f"class {_shown(classes[smallest])} has {sizes[smallest]} rows"
        notes.append(f"{folds} folds instead of {asked}: {rows}.")
    single = np.flatnonzero(sizes == 1)
    if single.size:
        named = ", ".join(_shown(classes[j]) for j in single[:5]) + (", ..." if single.size > 5 else "")
        which = f"Class {named} has" if single.size == 1 else f"Classes {named} have"
        notes.append(f"{which} a single row, which nothing can predict when it is held out.")
    return folds, tuple(notes)


def _shown(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def cross_validate_k(
    order: Order,
    data: Labelled,
    X: npt.NDArray[Any],
    y: npt.NDArray[Any],
    sizes: npt.NDArray[np.intp],
    folds: Sequence[Fold],
    estimator: Any,
    scorer: Callable[..., float],
    *,
    random_states: Sequence[Any],
    n_jobs: int | None = None,
) -> ChoiceOfK:
    """Score an estimator on the K best features, for every K and fold, ranked on the training rows only.

    Parameters
    ----------
    order : callable
        Takes rows, labels, the largest K and a random state; returns numbers of features, best first.
    data : Labelled
        Rows and labels that are ranked.
    X, y : ndarray of shape (n, d) and (n,)
        The rows and labels that the estimator sees.
    sizes : ndarray of shape (t,)
        The Ks, ascending.
    folds : sequence of (train, test)
    estimator : object
        Cloned for every fit; sees the features in the order of their columns.
    scorer : callable
        Takes a fitted estimator, rows and labels; larger is better.
    random_states : sequence
        One for each fold.

    Raises
    ------
    DataError
        Where the estimator cannot be fitted, and where a score is not finite.
    """
    runs = Parallel(n_jobs=n_jobs)(
        delayed(_one_fold)(order, data.X, data.y, y, X, sizes, fold, place, estimator, scorer, state)
        for place, (fold, state) in enumerate(zip(folds, random_states, strict=True))
    )
    said: Counter[str] = sum((warned for _, warned in runs), Counter())
    notes = [f"While validating: {text} ({count} times)" for text, count in said.most_common(3)]
    return one_standard_error(sizes, np.array([scores for scores, _ in runs]).T, notes)


def _one_fold(
    order: Order,
    rows: Any,
    labels: Any,
    y: Any,
    X: Any,
    sizes: Any,
    fold: Fold,
    place: int,
    estimator: Any,
    scorer: Callable[..., float],
    state: Any,
) -> tuple[list[float], Counter[str]]:
    train, test = fold
    try:
        ranked = order(rows[train], labels[train], int(sizes[-1]), state)
    except (DataError, ParameterError) as error:
        raise type(error)(f"In fold {place}, which trains on {len(train)} rows: {error}") from error
    scores = []
    # What a solver complains about hundreds of times is said once, in the notes.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for size in sizes:
            columns = np.sort(ranked[:size])
            where = f"with K={size} in fold {place}"
            model = clone(estimator)
            try:
                model.fit(X[np.ix_(train, columns)], y[train])
                score = float(scorer(model, X[np.ix_(test, columns)], y[test]))
            except GramianError:
                raise
            except ValueError as error:
                said = " ".join(str(error).split()).rstrip(".")
                raise DataError(
                    f"{estimator_name(estimator)} could not be validated {where}: {said}. "
                    "Give another estimator, scoring or cv, or k as a number."
                ) from error
            if not np.isfinite(score):
                raise DataError(
                    f"The score {where} is {score}, with {len(test)} rows held out. Give another scoring, or "
                    "fewer folds."
                )
            scores.append(score)
    texts = (f"{warning.category.__name__}: {str(warning.message).splitlines()[0]}" for warning in caught)
    return scores, Counter(texts)
