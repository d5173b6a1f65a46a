"""Attributes that are computed when they are first asked for, and are then like any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class Deferred:
    """An attribute that a look at it computes, as long as the instance does not have it.

    Parameters
    ----------
    name : str
    compute : callable
        Takes the instance and sets the attribute, and others with it, where it can.
    """

    def __init__(self, name: str, compute: Callable[[Any], None]) -> None:
        self.name, self.compute = name, compute

    def __get__(self, instance: object, owner: type) -> Any:
        """Compute the attribute, or say that it is not there."""
        if instance is not None:
            self.compute(instance)
            if self.name in vars(instance):
                return vars(instance)[self.name]
        said = f"{owner.__name__!r} object has no attribute {self.name!r}"
        raise AttributeError(said, name=self.name, obj=instance)


def defer(cls: type, names: Iterable[str], compute: Callable[[Any], None]) -> None:
    """Let a function compute attributes of a class at the first look at one of them."""
    for name in names:
        setattr(cls, name, Deferred(name, compute))
