"""What a model file holds: parameters, kernels, records and arrays as JSON with references, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from gramian import records
from gramian.analysis.component_rules import ComponentChoice
from gramian.analysis.ridge_map import RidgeMap
from gramian.arrays import to_numpy
from gramian.errors import ParameterError
from gramian.estimators.saving import Saved, contents, restored
from gramian.kernels import Callable, Kernel
from gramian.kernels.algebra import MAPS
from gramian.kernels.expression import CLASSES
from gramian.kernels.feature_maps import KernelError

__all__ = ["decode", "encode"]

RECORDS: dict[str, type[Any]] = {
    name: value for name, value in vars(records).items() if isinstance(value, type) and is_dataclass(value)
} | {cls.__name__: cls for cls in (KernelError, RidgeMap, ComponentChoice)}


def encode(values: Mapping[str, Any], prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Turn named values into JSON.

    Parameters
    ----------
    values : mapping
    prefix : str
        First part of the names of arrays.
    arrays : dict
        Arrays are put here and leave a reference.

    Raises
    ------
    ParameterError
        For a function, which no file can hold.
    """
    return {name: _encode(value, f"{prefix}.{name}", arrays) for name, value in values.items()}


def decode(values: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that :func:`encode` wrote; what it did not write raises a KeyError or TypeError."""
    return {name: _decode(value, arrays) for name, value in values.items()}


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
    if isinstance(value, Saved):
        inner = {part: encode(held, f"{name}.{part}", arrays) for part, held in contents(value).items()}
        return {"estimator": type(value).__name__, **inner}
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


def _decode(value: Any, arrays: Mapping[str, Any]) -> Any:
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
    if "estimator" in value:
        parts = {part: decode(value[part], arrays) for part in ("parameters", "state")}
        return restored(value["estimator"], **parts)
    if "kernel" in value:
        return CLASSES[value["kernel"]](**{n: _decode(v, arrays) for n, v in value["parameters"].items()})
    return RECORDS[value["record"]](**{n: _decode(v, arrays) for n, v in value["fields"].items()})
