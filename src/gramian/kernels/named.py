"""From the text or object a user gives to a kernel."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from gramian.errors import InputTypeError, ParameterError
from gramian.kernels.callables import Callable
from gramian.kernels.formulas import RBF, Cosine, Laplacian, Linear, Polynomial, Sigmoid
from gramian.kernels.kernel import Kernel

__all__ = ["NAMES", "kernel_from_name"]

NAMES = ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed")
ALIASES = {"polynomial": "poly", "gaussian": "rbf"}
CLASSES: dict[str, type[Kernel]] = {
    cls.__name__: cls for cls in (Linear, Polynomial, RBF, Laplacian, Sigmoid, Cosine)
}


def kernel_from_name(
    kernel: Any,
    *,
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1,
    params: Mapping[str, Any] | None = None,
) -> Kernel:
    """Return the kernel for a name, a function or a Kernel.

    Parameters
    ----------
    kernel : str, callable or Kernel
        One of linear, poly, rbf, laplacian, sigmoid, cosine; a function of two rows; or an object.
    gamma, degree, coef0 : numbers
        Parameters of the named kernels, with scikit-learn's meanings.
    params : mapping, optional
        Keyword arguments of a function.
    """
    if isinstance(kernel, Kernel):
        if gamma is not None or degree != 3 or coef0 != 1:
            raise ParameterError(
                f"kernel={kernel!r} carries its own parameters, so gamma, degree and coef0 must be left "
                "alone. Set them on the kernel object."
            )
        return kernel
    if callable(kernel):
        return Callable(kernel, params)
    if not isinstance(kernel, str):
        raise InputTypeError(
            f"kernel={kernel!r} is neither a name ({', '.join(NAMES)}), a function k(x, y), "
            "nor an object such as gramian.kernels.RBF(sigma=2.0)."
        )
    table: dict[str, Any] = {
        "linear": Linear,
        "poly": lambda: Polynomial(degree=degree, gamma=gamma, coef0=coef0),
        "rbf": lambda: RBF(gamma=gamma),
        "laplacian": lambda: Laplacian(gamma=gamma),
        "sigmoid": lambda: Sigmoid(gamma=gamma, coef0=coef0),
        "cosine": Cosine,
    }
    if kernel not in table:
        near = [ALIASES[kernel]] if kernel in ALIASES else difflib.get_close_matches(kernel, NAMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ParameterError(f"kernel={kernel!r} is not known. Allowed: {', '.join(NAMES)}.{hint}")
    made: Kernel = table[kernel]()
    return made
