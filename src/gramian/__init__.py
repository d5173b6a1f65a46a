"""gramian: PCA and kernel PCA that say how they were computed and what is guaranteed.

Names are loaded when they are first used, so ``import gramian`` is immediate and a program that
only wants the classes in ``gramian.errors`` never waits for scikit-learn.

Examples
--------
>>> import gramian
>>> issubclass(gramian.errors.DataError, ValueError)
True
"""

from importlib import import_module
from typing import Any

from gramian.core import package

# Where each public name is defined: the lines "from module import name as name" that type checkers read.
_LINES = __spec__.loader.get_data(__file__ + "i").decode().splitlines()
_HOMES = {name: module for _, module, _, name, *_ in map(str.split, _LINES)}
__all__ = sorted(_HOMES)

# Models have methods that draw, and import no figures.
package.figures = lambda: import_module("gramian.figures")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gramian' has no attribute {name!r}")
    if _HOMES[name] == "gramian":
        return import_module(f"gramian.{name}")
    value = getattr(import_module(_HOMES[name]), name)
    # Kept, so that the second use costs a dictionary look-up and `gramian.PCA is gramian.PCA`.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
