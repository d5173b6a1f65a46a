"""scikit-learn's base classes with types, and advice on parameters of its own that gramian does not have.

To a type checker a class that derives from an untyped one has every attribute and takes every parameter. What
follows states the methods that users call. At run time the classes are scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from gramian.errors import InputTypeError, allowed_of

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:
    from typing import Literal, Self

    import numpy as np
    import numpy.typing as npt

    from gramian.core.records import RealArray

    class BaseEstimator:
        @property
        def n_features_in_(self) -> int: ...
        @property
        def feature_names_in_(self) -> npt.NDArray[np.object_]: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __sklearn_tags__(self) -> Any: ...
        def _repr_html_inner(self) -> str: ...
        def _repr_mimebundle_(self, **options: Any) -> dict[str, str]: ...

    class TransformerMixin:
        def fit_transform(self, X: Any, y: Any = None) -> RealArray: ...
        def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self: ...

    class OutlierMixin:
        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> npt.NDArray[np.intp]: ...

    class MetaEstimatorMixin:
        pass

else:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, TransformerMixin  # noqa: F401

# ---- Names of parameters that gramian does not have, scikit-learn's among them: what to write instead.

NEVER_OVERWRITTEN = "leave it out: gramian never overwrites the data"
UNTIL_CERTIFIED = "leave it out, or set tol: the iteration runs until its residuals are below tol"
ALWAYS_ALL = "leave it out: gramian uses every core"
DROP_IN = "Or import {} from gramian.connect.sklearn, which takes every parameter of scikit-learn's."


def knows_names(cls: type[C]) -> type[C]:
    """Make a class raise an error with advice for parameters that it does not have.

    Parameters
    ----------
    cls : type
        Its ``_habits``, where it has them, map names of parameters of scikit-learn's class to advice. The
        signature stays as it is.
    """
    made: Any = cls
    made.__init__ = knowing(getattr(made, "_habits", {}), cls.__name__)(made.__init__)
    return cls


def knowing(habits: Mapping[str, str], ours: str) -> Callable[[F], F]:
    """Make a function raise an InputTypeError with advice for parameters that it does not have.

    Parameters
    ----------
    habits : mapping of str to str
        Advice for those that only scikit-learn's has.
    ours : str
        What users call the function.
    """

    def decorated(function: F) -> F:
        names = [name for name in signature(function).parameters if name != "self"]

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs.keys() <= set(names):
                return function(*args, **kwargs)
            unknown = [name for name in kwargs if name not in names]
            if unsupported := {name: habits[name] for name in unknown if name in habits}:
                advice = "; ".join(f"{name}: {what}" for name, what in unsupported.items())
                why = f"gramian.{ours} does not support {', '.join(unsupported)}. {advice}."
                raise InputTypeError(why, DROP_IN.format(ours) * (ours in ("PCA", "KernelPCA")))
            raise InputTypeError(f"{ours} has no parameter {unknown[0]!r}. {allowed_of(unknown[0], names)}")

        return call  # type: ignore[return-value]

    return decorated
