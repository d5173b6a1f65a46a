"""The base of feature selectors: transform takes the selected columns, inverse_transform puts them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian.arrays import from_numpy, memory_limit_bytes
from gramian.errors import DataError, InputTypeError
from gramian.estimators.inputs import check_features, expected_columns
from gramian.estimators.sklearn_base import BaseEstimator, TransformerMixin
from gramian.records import FloatArray, RealArray
from gramian.rows import Rows, as_rows
from gramian.rows.expected import Expected

if TYPE_CHECKING:

    class SelectorMixin(TransformerMixin):
        def get_support(self, indices: bool = False) -> npt.NDArray[Any]: ...
        def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]: ...

else:
    from sklearn.feature_selection import SelectorMixin


class ColumnSelector(SelectorMixin, BaseEstimator):
    """A selector of scikit-learn whose fit leaves ``support_``; it takes what the decompositions take."""

    support_: npt.NDArray[np.bool_]
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
            Where no feature was selected, or the features of X differ from those of fit.
        """
        check_is_fitted(self)
        limit = memory_limit_bytes(None)
        rows = as_rows(X, estimator=type(self).__name__, expected=expected_columns(self), limit=limit)
        check_features(self, X, rows)
        kept = np.flatnonzero(self.support_)
        if not kept.size:
            raise DataError(
                "No feature was selected. Use a less strict rule, or ask for a number of features."
            )
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
        """
        check_is_fitted(self)
        rows = as_rows(X, estimator=type(self).__name__, expected=Expected())
        count = int(self.support_.sum())
        rows.require_dense("inverse_transform does not support sparse data. Use X.toarray().", InputTypeError)
        if rows.shape[1] != count:
            raise DataError(f"X has {rows.shape[1]} columns, but {count} features were selected.")
        places = np.where(self.support_, np.cumsum(self.support_) - 1, count)

        def back(part: Rows) -> Any:
            # What was dropped is read from a column of zeros.
            values = part.in_memory()
            padded = part.xp.concat([values, part.xp.zeros_like(values[:, :1])], axis=1)
            return part.xp.take(padded, from_numpy(places, values), axis=1)

        return rows.mapped(back, len(places))

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
