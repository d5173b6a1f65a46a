"""What scikit-learn's classes and functions take and gramian's do not, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar

from gramian.errors import InputTypeError

F = TypeVar("F", bound=Callable[..., Any])

NEVER_OVERWRITTEN = "leave it out: data are never overwritten"
UNTIL_CERTIFIED = "leave it out, or give tol: the iteration goes on until its residuals are below that"
ALWAYS_ALL = "leave it out: every core is used"
# Of what can be handed to ``fit`` beside X and y.
METADATA = {
    "sample_weight": "rows count the same; for whole weights repeat rows: X[np.repeat(range(n), weights)]",
    "groups": "where there is a cv, give it the splits: cv=list(GroupKFold(5).split(X, y, groups))",
}
ELSEWHERE = "leave it out, or set it where it belongs: in the constructor of the estimator that takes it"


class KnowsHabits:
    """Refuses a parameter of scikit-learn's class with what to write here.

    Attributes
    ----------
    _habits : mapping
        From the name of such a parameter to what to do.
    """

    _habits: ClassVar[dict[str, str]] = {}

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make an instance, as long as every parameter belongs to this class."""
        refuse_habits(cls.__name__, cls._habits, kwargs, cls.__name__)
        return super().__new__(cls)


def knowing(habits: Mapping[str, str], theirs: str) -> Callable[[F], F]:
    """Let a function refuse parameters of scikit-learn's, whose name is given, with what to write here."""

    def decorated(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            refuse_habits(function.__name__, habits, kwargs, theirs)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorated


def refuse_habits(name: str, habits: Mapping[str, str], given: Iterable[str], theirs: str) -> None:
    """Refuse parameters that are scikit-learn's only.

    Raises
    ------
    InputTypeError
    """
    known = {parameter: habits[parameter] for parameter in given if parameter in habits}
    if known:
        raise InputTypeError(
            f"gramian.{name} has not all parameters of scikit-learn's. {_advice(known)}. Or import {theirs} "
            "from gramian.compat.sklearn, which takes them all."
        )


def refuse_metadata(estimator: Any, given: Iterable[str]) -> None:
    """Refuse what is handed to ``fit`` beside X and y: weights of rows, parameters that are routed.

    Raises
    ------
    InputTypeError
    """
    known = {name: METADATA.get(name, ELSEWHERE) for name in given}
    if known:
        raise InputTypeError(
            f"{type(estimator).__name__} is fitted on X and y alone, and routes nothing. {_advice(known)}."
        )


def _advice(known: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {what}" for name, what in known.items())
