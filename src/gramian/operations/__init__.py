"""The verbs of gramian: every function in a file of this folder that is declared as an operation."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from gramian.applications import is_installed
from gramian.operations.operation import Operation

__all__ = ["operations"]


@cache
def operations() -> dict[str, Operation]:
    """Return all operations that are installed, by name.

    Their files declare options only; what computes is imported when they run.

    Examples
    --------
    >>> operations()["stability"].summary
    'Show how much the components of a saved PCA would change with another sample.'
    """
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    known = [one for module in modules for one in vars(module).values() if isinstance(one, Operation)]
    return {one.name: one for one in known if is_installed(one.application)}
