"""Parts of the rows that are held out in turn, drawn once so that all candidates see the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from gramian.errors import DataError, ParameterError
from gramian.records import FloatArray, IntArray

__all__ = ["Fold", "all_rows", "draw_folds"]

Fold = tuple[IntArray, IntArray]


def draw_folds(cv: Any, X: FloatArray, y: np.ndarray[Any, Any], *, classifier: bool) -> list[Fold]:
    """Draw the folds once.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
        As in scikit-learn: stratified for the classes of a classifier, None is 5.
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    classifier : bool

    Returns
    -------
    list of (train, test)
        Numbers of rows.

    Raises
    ------
    ParameterError
        For what is no way to split.
    DataError
        For a class with fewer rows than folds, more folds than rows, rows that are not there, empty parts.
    """
    if isinstance(cv, (bool, type)):
        raise ParameterError(f"cv={cv!r} is no number of folds. Give at least 2, a splitter or splits.")
    try:
        splitter = check_cv(cv, y, classifier=classifier)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"cv={cv!r} cannot be used: {error} Give at least 2 folds, a splitter or splits."
        ) from error
    if isinstance(splitter, StratifiedKFold):
        _require_each_class(y, splitter.n_splits)
    try:
        parts = list(splitter.split(X, y))
    except (TypeError, ValueError, IndexError) as error:
        grouped = " Where rows belong together, give the splits: cv=list(splitter.split(X, y, groups))."
        raise DataError(
            f"cv={cv!r} cannot split {len(y)} rows: {error} Give fewer folds."
            f"{grouped * ('group' in str(error).lower())}"
        ) from error
    if not parts:
        raise DataError(
            f"cv={cv!r} holds no splits: a generator gives its own only once. Give a list of them, "
            "or a number of folds."
        )
    return [
        (_part(train, "train", k, len(y)), _part(test, "test", k, len(y)))
        for k, (train, test) in enumerate(parts)
    ]


def all_rows(n: int) -> list[Fold]:
    """Return the one fold that fits and scores on all rows."""
    every = np.arange(n)
    return [(every, every)]


def _require_each_class(y: np.ndarray[Any, Any], folds: int) -> None:
    classes, counts = np.unique(y, return_counts=True)
    few = int(np.argmin(counts))
    if counts[few] < folds:
        name, rows = classes[few].item(), int(counts[few])
        advice = f"Give cv={rows} at most, or leave" if rows > 1 else "Leave"
        raise DataError(
            f"The class {name!r} has {rows} row{'s' * (rows != 1)}, fewer than the {folds} folds. "
            f"{advice} out the rows of that class."
        )


def _part(part: Any, what: str, k: int, n: int) -> IntArray:
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or not (rows.size and rows.dtype.kind in "iu"):
        raise DataError(
            f"The {what} part of split {k} is {part!r}; it must hold numbers of rows, at least one. "
            "Give (train, test) for each split."
        )
    outside = rows[(rows < 0) | (rows >= n)]
    if outside.size:
        raise DataError(
            f"The {what} part of split {k} names row {outside[0]}, but the rows are 0 to {n - 1}. Give "
            "splits of these rows."
        )
    return rows.astype(np.intp, copy=False)
