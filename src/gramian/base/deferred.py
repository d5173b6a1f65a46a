"""Attributes that are computed when they are first asked for, and are then like any other."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar


class Deferring:
    """Computes attributes that an instance does not have when somebody asks for one of them.

    ``hasattr`` asks too, since only the computation shows whether there is an answer; ``vars`` does not.
    """

    _following: ClassVar[Collection[str]] = ()  # their names

    def _look(self) -> None:
        """Set these attributes, where that is possible now."""
        raise NotImplementedError

    if not TYPE_CHECKING:  # to a type checker a class with this method has every attribute

        def __getattr__(self, name: str) -> Any:
            if name in self._following:
                self._look()
                if name in vars(self):
                    return vars(self)[name]
            return object.__getattribute__(self, name)  # raises, a property its own error
