"""Imports SciPy, scikit-learn and Altair without what takes most of the time and is not used.

scikit-learn imports pandas, narwhals, joblib and parts of SciPy, SciPy's sparse matrices import parts of
NumPy, and Altair its sets of data, for functions that nothing here calls. Meanwhile stand-ins take their
places, and then leave them: whoever imports one of these modules later gets the module itself, and so do
SciPy, scikit-learn and Altair where one of those functions is called.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from threading import Lock, get_ident
from types import ModuleType
from typing import Any

DEFERRED = (
    *("pandas", "joblib", "narwhals", "narwhals.stable", "narwhals.stable.v2", "sklearn.utils.parallel"),
    *("scipy.stats", "scipy.special", "scipy.linalg", "scipy.sparse.linalg", "scipy.sparse.csgraph"),
    *("numpy.f2py", "numpy.testing", "numpy.ma", "numpy.polynomial", "numpy.ctypeslib"),
    *("scipy._lib.array_api_compat.numpy", "scipy._lib.array_api_extra"),
    *("sklearn.externals.array_api_compat.numpy", "sklearn.externals.array_api_extra"),
    *("altair.datasets", "altair.utils.html"),
)
# What is imported from them by name, and used later.
NAMES = (*("LinearOperator", "_get_threadpool_controller", "cg", "cpu_count", "laplacian", "spec_to_html"),)
_leaving = Lock()


class _StandIn(ModuleType):
    """Imports the module that it stands for when somebody asks for one of its names."""

    def __init__(self, spec: ModuleSpec) -> None:
        super().__init__(spec.name)
        # Its submodules can be imported, and those who walk through all modules do not wake it.
        self.__spec__, self.__file__, self.__cached__ = spec, spec.origin, spec.cached
        self.__path__ = spec.submodule_search_locations or []
        self.thread = get_ident()  # others may want a class of one of these names

    def __getattr__(self, name: str) -> Any:
        if name in NAMES and sys.modules.get(self.__name__) is self and get_ident() == self.thread:
            return _Later(self, name)
        return self.named(name)

    def named(self, name: str) -> Any:
        """Return what has this name in the module itself."""
        self.leave()
        return getattr(import_module(self.__name__), name)

    def __reduce__(self) -> Any:
        return import_module, (self.__name__,)

    def leave(self) -> None:
        """Leave the place to the module itself, in its package too where that imports it again."""
        package, _, name = self.__name__.rpartition(".")
        with _leaving:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            names = vars(sys.modules.get(package, self))
            if names.get(name) is self and "__getattr__" in names:
                del names[name]


class _Later:
    """A function or class of a module, which is imported when it is called, derived from or compared with."""

    def __init__(self, module: _StandIn, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *given: Any, **options: Any) -> Any:
        return self._module.named(self._name)(*given, **options)

    def __mro_entries__(self, _: Any) -> tuple[Any]:
        return (self._module.named(self._name),)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._module.named(self._name))


class _Deferring:
    """Imports a stand-in where a module is imported the first time."""

    def __init__(self) -> None:
        self.made: dict[str, _StandIn] = {}

    def find_spec(self, name: str, path: Sequence[str] | None = None, *_: Any) -> ModuleSpec | None:
        """Return how a stand-in is made, unless its module is asked for or not installed."""
        if name not in DEFERRED or name in self.made or (spec := PathFinder.find_spec(name, path)) is None:
            return None
        spec.loader = self  # type: ignore[assignment]  # one by its methods: importlib.abc takes long
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the stand-in of a module."""
        return self.made.setdefault(spec.name, _StandIn(spec))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing yet."""


def lightly(*names: str) -> Any:
    """Import modules, unless they are imported already, and return the last."""
    if any(name not in sys.modules for name in names):
        deferring: Any = _Deferring()
        sys.meta_path.insert(0, deferring)
        try:
            for name in names:
                import_module(name)
        finally:
            sys.meta_path.remove(deferring)
            for stand_in in deferring.made.values():
                stand_in.leave()
    return sys.modules[names[-1]]


class _Special:
    """The functions of ``scipy.special`` of NumPy arrays, imported when the first of them is used.

    The package itself parses the documentation of each of them when it is imported.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            module = lightly("scipy.special._ufuncs")
        except ImportError:  # of a SciPy that keeps them elsewhere
            module = import_module("scipy.special")
        return getattr(module, name)


sparse = lightly("scipy.sparse")
special: Any = _Special()
