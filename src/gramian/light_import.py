"""Imports SciPy and scikit-learn without the parts of others that take most of the time and are not used.

scikit-learn imports pandas, ``scipy.stats`` and ``scipy.special``, and SciPy's sparse matrices import
``numpy.f2py`` and ``numpy.testing``, for functions that no estimator here calls. Meanwhile stand-ins take
their places, and then leave them: whoever imports one of these modules later gets the module itself, and so
do SciPy and scikit-learn where one of those functions is called.
"""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from threading import Lock
from types import ModuleType
from typing import Any

DEFERRED = ("pandas", "scipy.stats", "scipy.special", "numpy.f2py", "numpy.testing")
_leaving = Lock()


class _StandIn(ModuleType):
    """Imports the module that it stands for when somebody asks for one of its names."""

    def __init__(self, spec: ModuleSpec) -> None:
        super().__init__(spec.name)
        # Its submodules can be imported, and those who walk through all modules do not wake it.
        self.__spec__, self.__file__ = spec, spec.origin
        self.__path__ = spec.submodule_search_locations or []

    def __getattr__(self, name: str) -> Any:
        self.leave()
        return getattr(import_module(self.__name__), name)

    def __reduce__(self) -> Any:
        return import_module, (self.__name__,)

    def enter(self) -> None:
        """Take the place of the module, as an attribute of its package too."""
        package, _, name = self.__name__.rpartition(".")
        sys.modules[self.__name__] = self
        if package:
            setattr(sys.modules[package], name, self)

    def leave(self) -> None:
        """Leave the place to the module itself."""
        package, _, name = self.__name__.rpartition(".")
        with _leaving:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            if package and vars(sys.modules[package]).get(name) is self:
                delattr(sys.modules[package], name)


def _spec(name: str) -> ModuleSpec | None:
    with suppress(ImportError, ValueError):
        return find_spec(name)
    return None


def lightly(*names: str) -> Any:
    """Import modules, unless they are imported already, and return the last."""
    if any(name not in sys.modules for name in names):
        # Without pandas the failing import is quick, and means something to scikit-learn.
        specs = [_spec(name) for name in DEFERRED if name not in sys.modules]
        stand_ins = [_StandIn(spec) for spec in specs if spec is not None]
        for stand_in in stand_ins:
            stand_in.enter()
        try:
            for name in names:
                import_module(name)
        finally:
            for stand_in in stand_ins:
                stand_in.leave()
    return sys.modules[names[-1]]


def _special() -> Any:
    """Return the module of ``scipy.special`` that has its functions of NumPy arrays.

    The package itself parses the documentation of each of them when it is imported.
    """
    try:
        return lightly("scipy.special._ufuncs")
    except ImportError:  # of a SciPy that keeps them elsewhere
        return import_module("scipy.special")


sparse = lightly("scipy.sparse")
special = _special()
