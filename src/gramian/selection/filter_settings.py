"""What a filter is asked to do: its parameters checked, and what they stand for."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian.checks import check_choice
from gramian.errors import InputTypeError, ParameterError
from gramian.records import FloatArray
from gramian.selection.ranking import SCORES

__all__ = [
    "check_settings",
    "default_estimator",
    "kind_of_label",
    "near_one",
    "number_of_features",
]

REDUNDANCY = ("mrmr",)
RULES = ("cv", "fdr")


def check_settings(model: Any) -> None:
    """Refuse parameters of a FeatureFilter that cannot be, alone or together.

    Raises
    ------
    ParameterError
        For a value that is not allowed.
    InputTypeError
        For an estimator that is none.
    """
    if not callable(model.score_func):
        check_choice("score_func", model.score_func, SCORES)
    if model.redundancy is not None:
        check_choice("redundancy", model.redundancy, REDUNDANCY)
    k, alpha = model.n_neighbors, model.alpha
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ParameterError(f"n_neighbors={k!r} must be a whole number from 1.")
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise ParameterError(
            f"alpha={alpha!r} is not a false discovery rate. Give a number between 0 and 1, such as 0.05."
        )
    if isinstance(model.k, str) and model.k == "fdr" and model.redundancy is not None:
        raise ParameterError(
            f"k='fdr' keeps every significant feature, and redundancy={model.redundancy!r} passes over those "
            "that repeat others. Leave one of them out."
        )
    estimator = model.estimator
    if estimator is not None and (isinstance(estimator, type) or not hasattr(estimator, "fit")):
        raise InputTypeError(
            f"estimator={estimator!r} is no estimator of scikit-learn. Give one, such as "
            "LogisticRegression(), or None."
        )


def number_of_features(k: Any, d: int) -> int | None:
    """Return how many of d features were asked for, or None where the data decide.

    Raises
    ------
    ParameterError
        For what is neither a number, a share nor a rule.

    Examples
    --------
    >>> number_of_features(3, 10), number_of_features(0.25, 10), number_of_features("cv", 10)
    (3, 3, None)
    """
    advice = f"Give a number from 1 to {d}, a share such as 0.1, 'cv' or 'fdr'."
    if isinstance(k, str):
        check_choice("k", k, RULES)
        return None
    if isinstance(k, bool) or not isinstance(k, Real):
        raise ParameterError(f"k={k!r} is not a number of features. {advice}")
    if isinstance(k, Integral):
        if not 1 <= int(k) <= d:
            raise ParameterError(f"k={k} but there are {d} features. {advice}")
        return int(k)
    if not 0 < float(k) <= 1:
        raise ParameterError(f"k={k!r} is not a share of the features. {advice}")
    return max(1, int(np.floor(float(k) * d + 0.5)))


def kind_of_label(estimator: Any) -> bool | str:
    """Say by the estimator whether labels are classes; "auto" where it does not say.

    Examples
    --------
    >>> kind_of_label(Ridge()), kind_of_label(None)
    (False, 'auto')
    """
    if estimator is not None and is_classifier(estimator):
        return True
    if estimator is not None and is_regressor(estimator):
        return False
    return "auto"


def default_estimator(discrete: bool) -> Any:
    """Return what is validated by default: logistic or ridge regression of standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000) if discrete else Ridge())


def near_one(X: npt.NDArray[Any]) -> FloatArray:
    """Return columns over the power of two above their largest magnitude, which rounds nothing.

    Examples
    --------
    >>> near_one(np.array([[1.0, 6e200], [3.0, 3e200]])).round(3)
    array([[0.25, 0.98],
           [0.75, 0.49]])
    """
    X = X.astype(np.float64)
    return np.asarray(np.ldexp(X, -np.frexp(np.abs(X).max(axis=0))[1]))
