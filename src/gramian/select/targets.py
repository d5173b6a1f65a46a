"""Checks rows together with their labels, for all selectors."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from gramian.core.arrays import from_numpy, memory_limit_bytes, to_numpy
from gramian.core.records import BoolArray, FloatArray, IndexArray, RealArray
from gramian.errors import DataError, InputTypeError, MissingValuesWarning, ParameterError
from gramian.models.inputs import check_features, expected_columns, store_features
from gramian.models.sklearn import BaseEstimator, TransformerMixin
from gramian.tables import table
from gramian.tables.as_rows import as_rows
from gramian.tables.labels import as_array, has_label
from gramian.tables.rows import Rows, require_magnitudes

# Whole numbers with at most this many distinct values are classes, whatever the number of rows.
FEW = 20


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with one label each.

    Attributes
    ----------
    X : ndarray or CSC matrix of shape (n, d)
        float32 or float64, as it came; float64 where it is sparse.
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


def as_labelled(X: Any, y: Any, *, estimator: Any, discrete: bool | str = "auto", cv: Any = None) -> Labelled:
    """Check rows and their labels; rows without a label are left out, with a warning that says how many.

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
    cv : int, splitter or iterable, optional
        Folds of these rows; those that are numbers of rows do not go with rows that are left out.

    Raises
    ------
    DataError
        For an infinite label, labels of another length, a single class.
    MemoryLimitError
        For Dask's rows that do not fit into memory.
    """
    name = estimator if isinstance(estimator, str) else type(estimator).__name__
    rows = as_rows(X, weigh=False, estimator=name, minimum=2)
    if y is None and rows.table is not None:
        y = rows.table.labels
    if y is None:
        hint = "Give one label for each row, or name their column with label."
        raise DataError(f"{name} requires y to be passed, but the target y is None.", hint)
    if not isinstance(estimator, str):
        store_features(estimator, X, rows)
    values, classes, labelled = as_target(y, rows.shape[0], discrete=discrete)
    names = rows.feature_names or tuple(f"x{j}" for j in range(rows.shape[1]))
    if missing := rows.shape[0] - len(labelled):
        without = f"{missing:,} of {rows.shape[0]:,} rows {'has' if missing == 1 else 'have'} no label"
        if not (cv is None or isinstance(cv, Integral) or hasattr(cv, "split")):
            raise DataError(
                f"{without}, and cv gives folds as numbers of rows.", "Leave such rows out of X, y and cv."
            )
        MissingValuesWarning(f"{without} and {'was' if missing == 1 else 'were'} left out.").warn()
        rows = rows.picked(labelled)
    require_magnitudes(rows)
    held = rows.in_memory()
    return Labelled(
        sparse.csc_array(held) if sparse.issparse(held) else to_numpy(held), values, classes, names
    )


def as_target(
    y: Any, n: int, *, discrete: bool | str = "auto"
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None, IndexArray]:
    """Return codes and classes of a discrete label, or float64 numbers and None; and which rows have one.

    Text is numbers where all of it is, and some have decimals.

    Raises
    ------
    DataError
        For infinity, another number of labels than rows, more than one column, a single class, no label.
    """
    if not (isinstance(discrete, bool) or discrete == "auto"):
        raise ParameterError("discrete", discrete, "is not known. Give True, False or 'auto'.")
    values = as_array(y)
    try:
        values = column_or_1d(values, warn=True)
    except ValueError as error:
        raise DataError(f"y must hold one label for each row: {error}") from error
    if len(values) != n:
        raise DataError(f"y has {len(values)} labels but X has {n} rows.", "Give one label for each row.")
    labelled = np.flatnonzero(has_label(values))
    values = values[labelled]
    if not labelled.size:
        raise DataError(f"None of {n} rows has a label.", "Give one label for each row.")
    if values.dtype.kind == "O":
        # Numbers where all are, otherwise text.
        text = all(isinstance(v, str) for v in values)
        values = values.astype(str) if text else np.array(values.tolist())
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        index = int(np.argmin(np.isfinite(values)))
        which = f"label {labelled[index]} is {values[index]}"
        raise DataError(f"Input y contains NaN or infinity: {which}.", "Remove those rows first.")
    if discrete == "auto":
        discrete = looks_discrete(values)
        if values.dtype.kind == "U":
            with suppress(ValueError):
                numbers = values.astype(np.float64)
                discrete = np.array_equal(numbers, np.floor(numbers))
    try:
        if not discrete:
            values = values.astype(np.float64)
        else:
            check_classification_targets(values)
    except ValueError as error:
        why = str(error) if discrete else f"Unknown label type: y contains text such as {str(values[0])!r}."
        raise DataError(why, "Give classes, or treat the label as a number.") from error
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        why = f"All {len(values)} labels are the same{' 1 class' * bool(discrete)}: {classes[0].item()!r}."
        raise DataError(why, f"Give {'at least two classes' if discrete else 'labels that vary'}.")
    return (codes.astype(np.int64), classes, labelled) if discrete else (values, None, labelled)


def column_of(X: Any, j: int) -> np.ndarray[Any, Any]:
    """Return one column, dense, of an array or a CSC matrix.

    Examples
    --------
    >>> column_of(sparse.csc_array([[0.0, 2.0], [1.0, 0.0]]), 1)
    array([2., 0.])
    """
    return np.asarray(X[:, [j]].toarray()[:, 0] if sparse.issparse(X) else X[:, j])


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


# ---- The base of feature selectors: transform takes the selected columns, inverse_transform puts them back


class ColumnSelector(SelectorMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A selector of scikit-learn whose fit leaves ``support_``; it takes what the decompositions take."""

    support_: BoolArray
    column_means_: FloatArray | None

    def transform(self, X: Any) -> RealArray:
        """Return the selected columns of X, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the fit.

        Returns
        -------
        array of shape (n_samples, n_kept)
            In X's kind, float32 or float64.

        Raises
        ------
        DataError
            Where the features of X differ from those of fit.
        """
        check_is_fitted(self)
        limit = memory_limit_bytes(None)
        rows = as_rows(X, estimator=type(self).__name__, expected=expected_columns(self), limit=limit)
        check_features(self, X, rows)
        kept = np.flatnonzero(self.support_)
        columns: RealArray = rows.take_columns(kept)
        return columns

    def inverse_transform(self, X: Any) -> RealArray:
        """Return the selected columns in their original places; the others are 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_kept)
            The selected columns.

        Returns
        -------
        array of shape (n_samples, n_features)
            Rows with all columns.

        Raises
        ------
        DataError
            For another number of columns than were selected.
        InputTypeError
            For sparse data.
        """
        check_is_fitted(self)
        rows = as_rows(X, estimator=type(self).__name__, expected=table.Expected())
        count = int(self.support_.sum())
        rows.require_dense("inverse_transform does not support sparse data. Use X.toarray().", InputTypeError)
        if rows.shape[1] != count:
            raise DataError(f"X has {rows.shape[1]} columns, but {count} features were selected.")
        indices = np.where(self.support_, np.cumsum(self.support_) - 1, count)

        def back(block: Rows) -> Any:
            # What was dropped is read from a column of zeros.
            values = block.in_memory()
            padded = block.xp.concat([values, block.xp.zeros_like(values[:, :1])], axis=1)
            return block.xp.take(padded, from_numpy(indices, values), axis=1)

        return rows.mapped(back, len(indices))

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self.support_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = getattr(self, "redundancy", None) is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
