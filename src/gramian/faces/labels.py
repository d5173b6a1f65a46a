"""The names of people, as they are given to a recogniser."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, InputTypeError, ParameterError

__all__ = ["as_names"]

ADVICE = "Give one name for each vector."


def as_names(people: Any, count: int) -> npt.NDArray[Any]:
    """Return one name for each vector, as an array of text.

    Parameters
    ----------
    people : sequence of str or numbers
        Labels of a data set may be numbers.
    count : int
        How many are needed.

    Raises
    ------
    InputTypeError
        For what is no sequence, or holds what is no name.
    ParameterError
        For an empty name, and NaN.
    DataError
        For another number of names.

    Examples
    --------
    >>> as_names(["Ann", 7], 2).tolist()
    ['Ann', '7']
    """
    if isinstance(people, (str, bytes)):
        raise InputTypeError(f"people is the text {people!r}. {ADVICE}")
    try:
        given = list(people)
    except TypeError as error:
        raise InputTypeError(f"people is {type(people).__name__}. {ADVICE}") from error
    if len(given) != count:
        raise DataError(f"{count:,} vectors but {len(given):,} people. {ADVICE}")
    return np.array([_as_name(name, place) for place, name in enumerate(given)], dtype=object)


def _as_name(name: Any, place: int) -> str:
    if not isinstance(name, (str, numbers.Real)):
        raise InputTypeError(f"people[{place}] is {name!r}, which is no name. {ADVICE}")
    if isinstance(name, str) and not name.strip():
        raise ParameterError(f"people[{place}] is empty. {ADVICE}")
    if not isinstance(name, str) and math.isnan(name):
        raise ParameterError(f"people[{place}] is NaN, which is no name. {ADVICE}")
    return str(name)
