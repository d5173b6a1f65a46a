"""Checks rows together with their labels, for all selectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gramian.arrays import memory_limit_bytes, to_numpy
from gramian.errors import DataError, ParameterError
from gramian.estimators.inputs import remember_features
from gramian.records import FloatArray
from gramian.rows import as_rows
from gramian.rows.kinds.dask import DaskTable, is_dask
from gramian.rows.table import Table

# Whole numbers with at most this many distinct values are classes, whatever the number of rows.
FEW = 20


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with one label each.

    Attributes
    ----------
    X : ndarray, CSC matrix or Rows of shape (n, d)
        float32 or float64, as it came; float64 where it is sparse; Rows where they are spread.
    y : ndarray of shape (n,)
        int64 codes 0 .. c-1 of a discrete label, otherwise float64 numbers.
    classes : ndarray of shape (c,) or None
        What the codes stand for, sorted; None for numbers.
    names : tuple of str
        Of the features; x0, x1, ... where they have none, as scikit-learn counts them.
    """

    X: Any
    y: np.ndarray[Any, Any]
    classes: np.ndarray[Any, Any] | None
    names: tuple[str, ...]

    @property
    def original(self) -> np.ndarray[Any, Any]:
        """The labels as they came: classes by their own names, or numbers."""
        return self.y if self.classes is None else np.asarray(self.classes[self.y])


def as_labelled(
    X: Any,
    y: Any,
    *,
    estimator: Any,
    discrete: bool | str = "auto",
    by_columns: bool = False,
) -> Labelled:
    """Check rows and their labels.

    Parameters
    ----------
    X : array-like, frame, Path, Scan or Rows of shape (n_samples, n_features)
        Anything that the decompositions take. The labels of a file that was read with
        ``label=`` are used where ``y`` is None.
    y : array-like of shape (n_samples,) or None
        Labels: text, booleans or numbers.
    estimator : object
        Whose data it is: a selector, which remembers number and names of the features as scikit-learn's do,
        or the name of a function, for messages.
    discrete : bool or "auto"
        Whether the label names classes. By default :func:`looks_discrete` decides.
    by_columns : bool
        Whether Dask's rows stay where they are, for what looks at columns one by one.

    Raises
    ------
    DataError
        For a missing label, NaN, labels of another length, a single class.
    MemoryLimitError
        For Dask's rows that do not fit into memory, where all of them are needed.
    """
    name = estimator if isinstance(estimator, str) else type(estimator).__name__
    values = X.values if isinstance(X, Table) else X
    spread = by_columns and (is_dask(values) or isinstance(values, DaskTable))
    rows = as_rows(
        X, weigh=False, estimator=name, minimum=2, limit=memory_limit_bytes(None) if spread else None
    )
    if y is None and rows.table is not None:
        y = rows.table.labels
    if y is None:
        raise DataError(
            f"{name} requires y to be passed, but the target y is None. "
            "Give one label for each row; in the shell, --label COLUMN."
        )
    if not isinstance(estimator, str):
        remember_features(estimator, X, rows)
    values, classes = as_target(y, rows.shape[0], discrete=discrete)
    names = rows.feature_names or tuple(f"x{j}" for j in range(rows.shape[1]))
    if not rows.in_one_place:
        return Labelled(replace(rows, feature_names=names), values, classes, names)
    held = rows.in_memory()
    return Labelled(
        sparse.csc_array(held) if sparse.issparse(held) else to_numpy(held), values, classes, names
    )


def as_target(
    y: Any, n: int, *, discrete: bool | str = "auto"
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
    """Return codes and classes of a discrete label, or float64 numbers and None.

    Raises
    ------
    DataError
        For NaN, another number of labels than rows, more than one column, a single class.
    """
    if not (isinstance(discrete, bool) or discrete == "auto"):
        raise ParameterError(f'discrete={discrete!r} is not known. Give True, False or "auto".')
    values = to_numpy(y) if not isinstance(y, Sequence) else np.asarray(y)
    try:
        values = column_or_1d(values, warn=True)
    except ValueError as error:
        raise DataError(f"y must hold one label for each row: {error}") from error
    if len(values) != n:
        raise DataError(f"y has {len(values)} labels but X has {n} rows. Give one label for each row.")
    if values.dtype.kind in "OUST":
        values = _text(values)
    elif values.dtype.kind == "f" and not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(
            f"Input y contains NaN or infinity: label {place} is {values[place]}. Remove those rows first."
        )
    if discrete == "auto":
        discrete = looks_discrete(values)
    if not discrete:
        return _numbers(values), None
    try:
        check_classification_targets(values)
    except ValueError as error:
        raise DataError(f"{error} Give classes, or treat the label as a number.") from error
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise DataError(
            f"All {n} labels are the same 1 class: {classes[0].item()!r}. At least two classes are needed."
        )
    return codes.astype(np.int64), classes


def column_of(X: Any, j: int) -> np.ndarray[Any, Any]:
    """Return one column, dense, of an array or a CSC matrix.

    Examples
    --------
    >>> column_of(sparse.csc_array([[0.0, 2.0], [1.0, 0.0]]), 1)
    array([2., 0.])
    """
    if not sparse.issparse(X):
        return np.asarray(X[:, j])
    column = np.zeros(X.shape[0])
    stored = slice(X.indptr[j], X.indptr[j + 1])
    column[X.indices[stored]] = X.data[stored]
    return column


def looks_discrete(y: np.ndarray[Any, Any]) -> bool:
    """Return whether a label names classes: text, booleans, or whole numbers with few distinct values.

    Few are at most 20, or at most the square root of the number of rows.

    Examples
    --------
    >>> looks_discrete(np.array([0, 1, 1, 0])), looks_discrete(np.array([0.5, 1.5]))
    (True, False)
    """
    if y.dtype.kind not in "fiu":
        return True
    if y.dtype.kind == "f" and not np.array_equal(y, np.floor(y)):
        return False
    return len(np.unique(y)) <= max(FEW, int(np.sqrt(len(y))))


def _text(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Labels of mixed kind: numbers where all are, otherwise text."""
    if values.dtype.kind != "O":
        return values
    missing = [i for i, v in enumerate(values) if v is None or v != v]
    if missing:
        raise DataError(
            f"Input y contains NaN: label {missing[0]} is {values[missing[0]]!r}. Remove those rows first."
        )
    return values.astype(str) if all(isinstance(v, str) for v in values) else np.array(values.tolist())


def _numbers(values: np.ndarray[Any, Any]) -> FloatArray:
    try:
        numbers = values.astype(np.float64)
    except ValueError as error:
        raise DataError(
            f"Unknown label type: y contains text such as {str(values[0])!r}, not numbers."
        ) from error
    if not np.ptp(numbers) > 0:
        raise DataError(f"All {len(numbers)} labels are {numbers[0]:g}. Give labels that vary.")
    return np.asarray(numbers)
