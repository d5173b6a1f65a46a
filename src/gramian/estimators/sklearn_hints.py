"""Names of parameters that gramian does not have, scikit-learn's among them: what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from gramian.checks import allowed_of
from gramian.errors import InputTypeError

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])

NEVER_OVERWRITTEN = "leave it out: gramian never overwrites the data"
UNTIL_CERTIFIED = "leave it out, or set tol: the iteration runs until its residuals are below tol"
ALWAYS_ALL = "leave it out: gramian uses every core"
# Metadata that users pass to ``fit`` in addition to X and y.
METADATA = {
    "sample_weight": "leave it out; for integer weights repeat rows: X[np.repeat(range(n), weights)]",
    "groups": "pass the splits to cv instead: cv=list(GroupKFold(5).split(X, y, groups))",
}
ELSEWHERE = "leave it out, or set it in the constructor of the estimator that has this parameter"


def knows_names(cls: type[C]) -> type[C]:
    """Make a class raise an error with advice for parameters that it does not have.

    Parameters
    ----------
    cls : type
        Its ``_habits``, where it has them, map names of parameters of scikit-learn's class to advice. The
        signature stays as it is.
    """
    made: Any = cls
    made.__init__ = knowing(getattr(made, "_habits", {}), cls.__name__, cls.__name__)(made.__init__)
    return cls


def knowing(habits: Mapping[str, str], ours: str, theirs: str) -> Callable[[F], F]:
    """Make a function raise an InputTypeError with advice for parameters that it does not have.

    Parameters
    ----------
    habits : mapping of str to str
        Advice for those that only scikit-learn's has.
    ours, theirs : str
        What users call the function, and scikit-learn's.
    """

    def decorated(function: F) -> F:
        names = [name for name in signature(function).parameters if name != "self"]

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            unknown = [name for name in kwargs if name not in names]
            if known := {name: habits[name] for name in unknown if name in habits}:
                raise InputTypeError(
                    f"gramian.{ours} does not support {', '.join(known)}. {_advice(known)}. Or import "
                    f"{theirs} from gramian.compat.sklearn, which takes every parameter of scikit-learn's."
                )
            if unknown:
                raise InputTypeError(
                    f"{ours} has no parameter {unknown[0]!r}. {allowed_of(unknown[0], names)}"
                )
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorated


def refuse_metadata(estimator: Any, given: Iterable[str]) -> None:
    """Raise an error for metadata that ``fit`` does not support, such as weights of rows.

    Raises
    ------
    InputTypeError
    """
    known = {name: METADATA.get(name, ELSEWHERE) for name in given}
    if known:
        raise InputTypeError(
            f"{type(estimator).__name__} does not support {', '.join(known)}. {_advice(known)}."
        )


def _advice(known: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {what}" for name, what in known.items())
