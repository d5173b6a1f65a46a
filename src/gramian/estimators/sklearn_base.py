"""scikit-learn's base classes, with the types that scikit-learn does not carry.

To a type checker a class that derives from an untyped one has every attribute and takes every parameter. What
follows states the methods that users call. At run time the classes are scikit-learn's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, Self, TypeVar

    import numpy as np
    import numpy.typing as npt

    from gramian.records import RealArray

    F = TypeVar("F", bound=Callable[..., Any])

    class BaseEstimator:
        @property
        def n_features_in_(self) -> int: ...
        @property
        def feature_names_in_(self) -> npt.NDArray[np.object_]: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...
        def _repr_html_inner(self) -> str: ...
        def _repr_mimebundle_(self, **options: Any) -> dict[str, str]: ...

    class TransformerMixin:
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> RealArray: ...
        def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self: ...

    class OutlierMixin:
        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> npt.NDArray[np.intp]: ...

    class MetaEstimatorMixin:
        pass

    def available_if(check: Callable[[Any], object]) -> Callable[[F], F]: ...

else:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, TransformerMixin
    from sklearn.utils.metaestimators import available_if

__all__ = [
    "BaseEstimator",
    "MetaEstimatorMixin",
    "OutlierMixin",
    "TransformerMixin",
    "available_if",
]
