"""Kernels as scikit-learn's Gaussian processes take them: parameters on a logarithmic scale, with bounds.

Nothing of scikit-learn is imported until a Gaussian process asks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import deepcopy
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal, Self

import numpy as np

from gramian.errors import ParameterError
from gramian.kernels import widths
from gramian.records import FloatArray

THEIRS = "sklearn.gaussian_process.kernels"
BOUNDS = (1e-5, 1e5)  # as in scikit-learn
RESOLVE = "Give a number, or fill it in from the rows X of a fit with kernel.resolve(X)."


class Hyperparameters:
    """What scikit-learn's Gaussian processes ask of a kernel besides its values.

    ``theta`` holds the logarithms of all positive numbers among the parameters, those of kernels inside as
    well. Whole numbers that a formula counts with, such as ``degree`` and ``nu``, stay as they are, and so do
    numbers that are 0 or negative.
    """

    # Parameters of the formula that may be any positive number.
    scales: tuple[str, ...] = ()
    _bounds: Mapping[str, Any] = {}

    get_params: Any
    set_params: Any
    parts: Any

    def with_bounds(self, **bounds: tuple[Any, Any] | Literal["fixed"]) -> Self:
        """Return a copy whose parameters a Gaussian process varies within other bounds.

        Parameters
        ----------
        **bounds
            By name, as in ``kernel.hyperparameters``, those of kernels inside as ``kernel__gamma``: the least
            and the largest value, or "fixed" for a parameter that keeps its value. The others have 1e-5 and
            1e5, as in scikit-learn.

        Returns
        -------
        Kernel
            The same function.

        Raises
        ------
        ParameterError
            For a name that is no hyperparameter, or for bounds that are not increasing positive numbers.

        Examples
        --------
        >>> from gramian.kernels import RBF
        >>> kernel = (2.0 * RBF(sigma=1.0)).with_bounds(factor="fixed", kernel__sigma=(0.1, 10.0))
        >>> kernel.n_dims, kernel.bounds.round(2)
        (1, array([[-2.3,  2.3]]))
        """
        known = [one.name for one in self.hyperparameters]
        for name, pair in bounds.items():
            if name not in known:
                why = f"is no hyperparameter of {self!r}. It has: {', '.join(known) or 'none'}"
                raise ParameterError(name, allowed=why)
            ends = np.atleast_2d([1.0, 1.0] if isinstance(pair, str) else np.asarray(pair, dtype=np.float64))
            ordered = ends.shape[-1] == 2 and (ends > 0).all() and (ends[:, 0] <= ends[:, 1]).all()
            if not ordered or (isinstance(pair, str) and pair != "fixed"):
                raise ParameterError(name, pair, 'must be bounded by two positive numbers or "fixed"')
        kernel = deepcopy(self)
        kernel._bounds = {**self._bounds, **bounds}
        return kernel

    def __sklearn_clone__(self) -> Self:
        return deepcopy(self)  # with its bounds

    @property
    def hyperparameters(self) -> list[Any]:
        """The parameters that a Gaussian process may vary, as scikit-learn describes them.

        Raises
        ------
        ParameterError
            Where one is still to be computed from rows, such as ``gamma="median"``.
        """
        made = import_module(THEIRS).Hyperparameter
        result = []
        for name, value, bounds in self._positive():
            length = 1 if np.ndim(value) == 0 else len(value)
            result.append(made(name, "numeric", bounds, length))
        return result

    def check_numbers(self, why: str) -> None:
        """Raise an error for a parameter that is still to be computed from rows.

        Parameters
        ----------
        why : str
            What speaks against computing it from the rows of the call.

        Raises
        ------
        ParameterError
        """
        for name in self.scales:
            value = getattr(self, name)
            if widths.is_median(value) or widths.is_scale(value):
                raise ParameterError(name, value, f"depends on the rows, and {why}", RESOLVE)
        for part in self.parts:
            if isinstance(part, Hyperparameters):
                part.check_numbers(why)

    def _positive(self) -> list[tuple[str, Any, Any]]:
        """The names, values and bounds of parameters that are positive numbers."""
        own = [(name, getattr(self, name), BOUNDS) for name in self.scales]
        for name, value, _ in own:
            if value is None or isinstance(value, str):
                raise ParameterError(
                    name,
                    value,
                    f"depends on the rows, but a Gaussian process starts from the numbers of {self!r}",
                    RESOLVE,
                )
        own = [entry for entry in own if np.min(entry[1]) > 0]
        for part, kernel in self.get_params(deep=False).items():
            if isinstance(kernel, Hyperparameters):
                own += [(f"{part}__{name}", *others) for name, *others in kernel._positive()]
        return [(name, value, self._bounds.get(name, bounds)) for name, value, bounds in own]

    @property
    def theta(self) -> FloatArray:
        """The logarithms of the hyperparameters that are not fixed; assigning to it sets them."""
        values = [np.atleast_1d(value) for _, value, bounds in self._positive() if not _fixed(bounds)]
        return np.log(np.concatenate([np.empty(0), *values]).astype(np.float64))

    @theta.setter
    def theta(self, theta: Any) -> None:
        free = [(name, value) for name, value, bounds in self._positive() if not _fixed(bounds)]
        sizes = [np.size(value) for _, value in free]
        values = np.exp(np.asarray(theta, dtype=np.float64))
        if values.shape != (sum(sizes),):
            raise ParameterError(
                "theta", allowed=f"has shape {values.shape}, but {self!r} has {sum(sizes)} hyperparameters"
            )
        parts = np.split(values, np.cumsum(sizes)[:-1]) if sizes else []
        for (name, old), new in zip(free, parts, strict=True):
            self.set_params(**{name: float(new[0]) if np.ndim(old) == 0 else tuple(new.tolist())})

    @property
    def bounds(self) -> FloatArray:
        """The logarithms of the bounds of ``theta``, of shape (n_dims, 2)."""
        pairs = [one.bounds for one in self.hyperparameters if not one.fixed]
        return np.asarray(np.log(np.vstack([np.empty((0, 2)), *pairs])))

    @property
    def n_dims(self) -> int:
        """The length of ``theta``."""
        return len(self.theta)

    def clone_with_theta(self, theta: Any) -> Self:
        """Return a copy with other hyperparameters.

        Parameters
        ----------
        theta : array-like of shape (n_dims,)
            Their logarithms.

        Returns
        -------
        Kernel
            The copy.
        """
        kernel = deepcopy(self)
        kernel.theta = theta
        return kernel

    @property
    def requires_vector_input(self) -> bool:
        """Whether rows are vectors of numbers, which is so.

        Raises
        ------
        ParameterError
            As :meth:`check_numbers`: a Gaussian process without optimizer asks for nothing else in its fit.
        """
        self.check_numbers("a fit and its predictions would give it different values")
        return True

    def _check_bounds_params(self) -> None:
        import_module(THEIRS).Kernel._check_bounds_params(self)

    def _by_theta(self, slopes: Mapping[str, Any], n: int) -> FloatArray:
        """Return the derivatives by ``theta``, of shape (n, n, n_dims), from those by parameters."""
        free = [name for name, _, bounds in self._positive() if not _fixed(bounds)]
        return np.concatenate([np.empty((n, n, 0)), *(slopes[name] for name in free)], axis=2)


def _fixed(bounds: Any) -> bool:
    return isinstance(bounds, str)


def prefixed(part: str, slopes: Mapping[str, Any], step: Any = 1.0) -> dict[str, Any]:
    """Return derivatives by parameters of a part, as those of the whole: times its derivative by the part."""
    step = step if np.ndim(step) == 0 else step[:, :, None]
    return {f"{part}__{name}": step * slope for name, slope in slopes.items()}


# ----------------------------------------------------------------- registration


class Registration:
    """Registers a class as a kernel of scikit-learn's as soon as their module is imported.

    A Gaussian process takes instances of scikit-learn's abstract class alone. Importing it takes longer than
    everything here, so that it is left to whoever uses it.
    """

    def __init__(self, kernel: type) -> None:
        self.kernel = kernel
        if THEIRS in sys.modules:
            self.register(sys.modules[THEIRS])
        else:
            sys.meta_path.insert(0, self)

    def register(self, module: ModuleType) -> None:
        """Register the class with the imported module."""
        module.Kernel.register(self.kernel)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the module's specification as the other finders have it, with a loader that registers."""
        if name != THEIRS or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec: Any = find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            self.register(module)

        spec.loader.exec_module = execute_and_register
        return spec
