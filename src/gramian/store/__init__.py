"""Records on disk: what they declare (here), model files, and files that appear whole.

A declaration is a type hint, such as ``float``, ``tuple[int, int] | None`` or a dataclass, or one of those
here, which say what a hint cannot.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from numbers import Real
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from scipy import sparse

Bound = dict[str, Any]


@dataclass(frozen=True)
class Array:
    """An array of finite numbers; without sizes one number.

    Attributes
    ----------
    shape : str
        Names of its sizes, such as ``"k d"``: the same name is the same size everywhere. ``_`` is any size.
    least : float
        No entry is below it.
    kinds : str
        Kinds of its dtype; ``"O"`` is text.
    sparse : bool
        Whether a sparse matrix will do.
    """

    shape: str
    least: float = -math.inf
    kinds: str = "f"
    sparse: bool = False

    def check(self, name: str, value: Any, bound: Bound) -> None:
        """Raise a ValueError unless the value is such an array."""
        if not self.shape and _plain(value, float, None, ()):
            value = np.asarray(value, dtype=float)
        entries = value.data if self.sparse and sparse.issparse(value) else value
        if not isinstance(entries, np.ndarray) or entries.dtype.kind not in self.kinds:
            raise ValueError(
                f"{name} is {_described(value)}, not an array of {'text' if self.kinds == 'O' else 'numbers'}"
            )
        names = self.shape.split()
        sizes = zip(names, value.shape, strict=False)
        if len(names) != value.ndim or any(
            n != "_" and bound.setdefault(n, size) != size for n, size in sizes
        ):
            known = ", ".join(f"{n} = {bound[n]}" for n in names if n in bound)
            raise ValueError(f"{name} has the shape {value.shape}, not ({', '.join(names)}) with {known}")
        if self.kinds == "O":
            return
        if not np.isfinite(entries).all():
            raise ValueError(f"{name} has entries that are infinite or no numbers")
        if (entries < self.least).any():
            raise ValueError(f"{name} has entries below {self.least:g}")


@dataclass(frozen=True)
class Given:
    """What a user may pass as an array: None, text, a number, or an array or tuples of numbers.

    Attributes
    ----------
    shape : str
        As of :class:`Array`, for what is no number.
    """

    shape: str

    def check(self, name: str, value: Any, bound: Bound) -> None:
        """Raise a ValueError unless the value is one of these."""
        if value is None or isinstance(value, str):
            return
        try:
            numbers = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} is {_described(value)}, not numbers") from error
        Array(self.shape if numbers.ndim else "").check(name, numbers, bound)


@dataclass(frozen=True)
class Options:
    """Options by name: single values, and tuples of them."""

    names: tuple[str, ...]

    def check(self, name: str, value: Any, bound: Bound) -> None:
        """Raise a ValueError unless these are such options."""
        if not isinstance(value, dict) or not set(value) <= set(self.names):
            raise ValueError(f"{name} is {_described(value)}, not options by name")
        for option, one in value.items():
            if not all(map(is_single, one if isinstance(one, tuple) else (one,))):
                raise ValueError(f"{option} of {name} is {_described(one)}, not a value or several")


@dataclass(frozen=True)
class Sizes:
    """A size, or a tuple of sizes, by names as in :class:`Array`."""

    names: str

    def check(self, name: str, value: Any, bound: Bound) -> None:
        """Raise a ValueError unless the value is what its names stand for."""
        names = self.names.split()
        sizes = value if isinstance(value, tuple) and len(names) > 1 else (value,)
        if len(sizes) != len(names) or not all(type(size) is int and size >= 0 for size in sizes):
            raise ValueError(f"{name} is {_described(value)}, not {len(names)} whole numbers of at least 0")
        for size_name, size in zip(names, sizes, strict=True):
            if bound.setdefault(size_name, size) != size:
                raise ValueError(
                    f"{name} is {_described(value)}, where arrays have {size_name} = {bound[size_name]}"
                )


@dataclass(frozen=True)
class Optional:
    """None, or what another declaration says; in a group, None for all of it or for nothing of it.

    Attributes
    ----------
    hint : declaration
    group : str
    equal : tuple of str
        Two sizes that are the same where the value is None.
    """

    hint: Any
    group: str = ""
    equal: tuple[str, str] | None = None

    def check(self, name: str, value: Any, bound: Bound) -> None:
        """Raise a ValueError unless the value is as declared, and there where the others of the group are."""
        there = value is not None
        if self.group and bound.setdefault(f"with {self.group}", there) != there:
            raise ValueError(f"{name} is {_described(value)}, and others of the {self.group} are not so")
        if there:
            _check(name, value, self.hint, bound)
        elif self.equal is not None:
            first, second = self.equal
            Sizes(first).check(f"{first} of a model without {name}", bound[second], bound)


@dataclass(frozen=True)
class Nested:
    """Any of some classes, with attributes that are sizes by name."""

    classes: tuple[type[Any], ...]
    sizes: Mapping[str, str]

    def check(self, name: str, value: Any, bound: Bound) -> None:
        """Raise a ValueError unless the value is of a class and its sizes agree."""
        _check(name, value, Union[self.classes], bound)  # noqa: UP007
        for attribute, size_name in self.sizes.items():
            Sizes(size_name).check(f"{name}.{attribute}", getattr(value, attribute), bound)


def is_single(value: Any) -> bool:
    """Say whether a value is None, a flag, a number or a text."""
    return value is None or (isinstance(value, bool | int | float | str) and value == value)


def conform(values: Mapping[str, Any], declared: Mapping[str, Any]) -> None:
    """Check named values against their declarations.

    Parameters
    ----------
    values : mapping
    declared : mapping of str to declaration
        A name that ends in ``?`` may be missing.

    Raises
    ------
    ValueError
        Saying what is missing or wrong.
    """
    bound: Bound = {}
    for name, hint in declared.items():
        key = name.removesuffix("?")
        if key in values:
            _check(key, values[key], hint, bound)
        elif key == name:
            raise ValueError(f"{name} is missing")


def _check(name: str, value: Any, hint: Any, bound: Bound) -> None:
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return
    if isinstance(hint, Array | Given | Options | Sizes | Optional | Nested):
        hint.check(name, value, bound)
    elif origin in (Union, types.UnionType):
        _check_any(name, value, inside, bound)
    elif origin is tuple:
        _check_tuple(name, value, inside, bound)
    elif hint is np.ndarray or origin is np.ndarray:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or np.isnan(value).any():
            raise ValueError(f"{name} is {_described(value)}, not an array of numbers")
    elif not _plain(value, hint, origin, inside):
        raise ValueError(f"{name} is {_described(value)}, not {getattr(hint, '__name__', hint)}")


def _plain(value: Any, hint: Any, origin: Any, inside: tuple[Any, ...]) -> bool:
    if origin is Literal:
        return value in inside
    if hint is float:
        return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _check_any(name: str, value: Any, hints: tuple[Any, ...], bound: Bound) -> None:
    if value is None and types.NoneType in hints:
        return None
    refused = None
    for hint in hints:
        try:
            return _check(name, value, hint, bound)
        except ValueError as error:
            refused = error if hint is not types.NoneType else refused
    raise refused or ValueError(name)


def _check_tuple(name: str, value: Any, inside: tuple[Any, ...], bound: Bound) -> None:
    if not isinstance(value, tuple) or (inside[-1] is not ... and len(value) != len(inside)):
        raise ValueError(f"{name} is {_described(value)}, not a sequence of its length")
    hints = [inside[0]] * len(value) if inside[-1] is ... else inside
    for place, (item, hint) in enumerate(zip(value, hints, strict=True)):
        _check(f"{name}[{place}]", item, hint, bound)


def _described(value: Any) -> str:
    text = type(value).__name__ if isinstance(value, np.ndarray) or is_dataclass(value) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
