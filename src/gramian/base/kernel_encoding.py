"""Kernels in model files, and the functions that they come after."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.base.encoding import Form, register_forms
from gramian.errors import ParameterError, option
from gramian.kernels import FunctionKernel, Kernel
from gramian.kernels.algebra import MAPS
from gramian.kernels.expression import CLASSES, PointFormula


def _tell_kernel(kernel: Kernel) -> dict[str, Any]:
    if type(kernel).__name__ not in CLASSES:
        raise ParameterError(
            "kernel",
            allowed=f"of the class {type(kernel).__name__} cannot be saved",
            hint=f"Kernels that can be saved: {', '.join(CLASSES)}.",
        )
    return {"kernel": type(kernel).__name__, "parameters": kernel.get_params(deep=False)}


def _tell_function(value: Any) -> dict[str, Any]:
    function = value.function if isinstance(value, FunctionKernel) else value
    name = "abs" if function is np.abs else str(getattr(function, "__name__", function))
    if not isinstance(function, np.ufunc) or MAPS.get(name) is not function:
        raise ParameterError(
            "kernel",
            allowed=f"given as a function, or after a map ({name!r}), cannot be saved: a file holds numbers, "
            "not code",
            hint="Use a named kernel, an object from gramian.kernels, a map among "
            f"{', '.join(MAPS)}, or {option('kernel', 'precomputed')}.",
        )
    return {"function": name}


def _make_kernel(payload: dict[str, Any]) -> Kernel:
    kernel = CLASSES[payload["kernel"]](**payload["parameters"])
    kernel.check()
    return kernel


KERNELS = Form(
    "kernel",
    lambda value: (
        isinstance(value, Kernel)
        and (not isinstance(value, FunctionKernel) or isinstance(value, PointFormula))
    ),
    _tell_kernel,
    _make_kernel,
)
FUNCTIONS = Form(
    "function",
    lambda value: (callable(value) or hasattr(value, "transform")) and not hasattr(value, "__array__"),
    _tell_function,
    lambda payload: MAPS[payload["function"]],
)
register_forms(KERNELS, FUNCTIONS)
