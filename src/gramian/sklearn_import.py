"""Imports scikit-learn without pandas and ``scipy.stats``, which take more than half of the time.

``sklearn.utils.fixes`` imports both for functions that no estimator here calls. While scikit-learn is
imported, stand-ins take their places, and then leave them: whoever imports pandas or ``scipy.stats`` later
gets the module itself, and so does scikit-learn where one of those functions is called.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

DEFERRED = ("pandas", "scipy.stats")


class _StandIn(ModuleType):
    """Imports the module that it stands for when somebody asks for one of its names."""

    def __getattr__(self, name: str) -> Any:
        self.leave()
        return getattr(import_module(self.__name__), name)

    def leave(self) -> None:
        """Leave the place to the module itself."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def _import() -> None:
    # Without pandas the failing import is quick, and means something to scikit-learn.
    missing = [name for name in DEFERRED if name not in sys.modules and _is_there(name)]
    stand_ins = [_StandIn(name) for name in missing]
    sys.modules.update({stand_in.__name__: stand_in for stand_in in stand_ins})
    try:
        import_module("sklearn.base")
    finally:
        for stand_in in stand_ins:
            stand_in.leave()


if "sklearn" not in sys.modules:
    _import()
