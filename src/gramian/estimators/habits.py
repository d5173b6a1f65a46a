"""Parameters of scikit-learn's classes that gramian's have not, and what to write instead."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from gramian.errors import InputTypeError

NEVER_OVERWRITTEN = "leave it out: data are never overwritten"
UNTIL_CERTIFIED = "leave it out, or give tol: the iteration goes on until its residuals are below that"
ALWAYS_ALL = "leave it out: every core is used"


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
        known = {name: cls._habits[name] for name in kwargs if name in cls._habits}
        if known:
            advice = "; ".join(f"{name}: {what}" for name, what in known.items())
            raise InputTypeError(
                f"gramian.{cls.__name__} has not all parameters of scikit-learn's. {advice}. Or import "
                f"{cls.__name__} from gramian.compat.sklearn, which takes them all."
            )
        return super().__new__(cls)
