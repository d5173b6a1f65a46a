"""Saving fitted models and opening them again; nothing is ever pickled."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from importlib import import_module
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian import records
from gramian.analysis.component_rules import ComponentChoice
from gramian.analysis.ridge_map import RidgeMap
from gramian.arrays import to_numpy
from gramian.errors import ModelFileError, ParameterError
from gramian.kernels import Callable, Kernel
from gramian.kernels.maps import KernelError
from gramian.kernels.named import CLASSES
from gramian.kernels.transformed import MAPS
from gramian.store import read_model, write_model

__all__ = ["Saved", "load"]

HOMES = (
    "gramian.estimators.pca",
    "gramian.estimators.kernel_pca",
    "gramian.estimators.feature_maps",
    "gramian.estimators.whitener",
)
RECORDS: dict[str, type[Any]] = {
    name: value for name, value in vars(records).items() if isinstance(value, type) and is_dataclass(value)
} | {cls.__name__: cls for cls in (KernelError, RidgeMap, ComponentChoice)}


class Saved:
    """Gives an estimator ``save``; a subclass is known to :func:`load` by its name."""

    known: ClassVar[dict[str, type[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Saved.known[cls.__name__] = cls

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, which :func:`gramian.load` opens.

        Parameters
        ----------
        path : str or Path
            By custom it ends in ``.gramian``. The file appears whole or not at all.

        Raises
        ------
        ParameterError
            For a kernel given as a function, which no file can hold.
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        state = {name: value for name, value in vars(self).items() if name not in parameters}
        header = {
            "parameters": {n: _encode(v, f"parameters.{n}", arrays) for n, v in parameters.items()},
            "state": {n: _encode(v, f"state.{n}", arrays) for n, v in state.items()},
        }
        write_model(path, type(self).__name__, header, arrays)


def load(path: str | PathLike[str]) -> Any:
    """Open a model that ``save`` has written.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    estimator
        The fitted model, of the class that was saved. Arrays are NumPy arrays, whatever kind they were
        fitted on.

    Raises
    ------
    FileError
        When the file is not there or cannot be read.
    ModelFileError
        When it is truncated, altered, not a gramian model, or of a newer format.
    """
    for home in HOMES:
        import_module(home)
    stored = read_model(path)
    cls = Saved.known.get(stored.kind)
    if cls is None:
        raise ModelFileError(
            f"{path} holds a model of kind {stored.kind!r}, which this gramian does not know. "
            f"It knows {', '.join(sorted(Saved.known))}. Upgrade with: pip install -U gramian"
        )
    try:
        header = {
            part: {name: _decode(value, stored.arrays) for name, value in stored.header[part].items()}
            for part in ("parameters", "state")
        }
        model = cls(**header["parameters"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"{path} is a gramian file, but its contents are not those of a {stored.kind} ({error}). "
            "Fit the model again, or upgrade gramian if the file is newer."
        ) from error
    for name, value in header["state"].items():
        setattr(model, name, value)
    return model


def _encode(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """Turn a value into JSON; arrays go to ``arrays`` and leave a reference."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.dtype):
        return {"dtype": value.name}
    if isinstance(value, (list, tuple)):
        return {"tuple": [_encode(v, f"{name}.{i}", arrays) for i, v in enumerate(value)]}
    if isinstance(value, slice):
        return {"slice": [_encode(end, name, arrays) for end in (value.start, value.stop, value.step)]}
    if isinstance(value, dict):
        return {"map": {str(k): _encode(v, f"{name}.{k}", arrays) for k, v in value.items()}}
    if isinstance(value, Kernel):
        return _encode_kernel(value, name, arrays)
    if is_dataclass(value) and type(value).__name__ in RECORDS:
        inner = {f.name: _encode(getattr(value, f.name), f"{name}.{f.name}", arrays) for f in fields(value)}
        return {"record": type(value).__name__, "fields": inner}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    if isinstance(value, np.ufunc) and MAPS.get(_map_name(value)) is value:
        return {"function": _map_name(value)}
    if callable(value) or hasattr(value, "transform"):
        raise ParameterError(
            f"A kernel given as a function, or after a map ({getattr(value, '__name__', value)!r}), cannot "
            "be saved: a file holds numbers, not code. Use a named kernel, an object from gramian.kernels, a "
            f"map among {', '.join(MAPS)}, or kernel='precomputed'."
        )
    array = to_numpy(value)
    if array.dtype == object:
        return {"names": [str(v) for v in array]}
    arrays[name] = array
    return {"array": name}


def _map_name(function: np.ufunc) -> str:
    return "abs" if function is np.abs else function.__name__


def _encode_kernel(kernel: Kernel, name: str, arrays: dict[str, Any]) -> Any:
    if isinstance(kernel, Callable):
        return _encode(kernel.function, name, arrays)
    if type(kernel).__name__ not in CLASSES:
        raise ParameterError(
            f"A kernel of the class {type(kernel).__name__} cannot be saved. "
            f"Those that can: {', '.join(CLASSES)}."
        )
    inner = {n: _encode(v, f"{name}.{n}", arrays) for n, v in kernel.get_params(deep=False).items()}
    return {"kernel": type(kernel).__name__, "parameters": inner}


def _decode(value: Any, arrays: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "dtype" in value:
        return np.dtype(value["dtype"])
    if "tuple" in value:
        return tuple(_decode(v, arrays) for v in value["tuple"])
    if "slice" in value:
        return slice(*value["slice"])
    if "map" in value:
        return {k: _decode(v, arrays) for k, v in value["map"].items()}
    if "names" in value:
        return np.array(value["names"], dtype=object)
    if "function" in value:
        return MAPS[value["function"]]
    if "kernel" in value:
        return CLASSES[value["kernel"]](**{n: _decode(v, arrays) for n, v in value["parameters"].items()})
    return RECORDS[value["record"]](**{n: _decode(v, arrays) for n, v in value["fields"].items()})
