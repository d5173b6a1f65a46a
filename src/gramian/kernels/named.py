"""From the text or object a user gives to a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gramian.errors import InputTypeError, ParameterError
from gramian.kernels.algebra import Product, Scaled, Sum
from gramian.kernels.callables import Callable
from gramian.kernels.expression import ALIASES, FORMULAS, parse
from gramian.kernels.kernel import Kernel
from gramian.kernels.normalized import Normalized
from gramian.kernels.powers import Exp, Power
from gramian.kernels.transformed import After, OnColumns

__all__ = ["CLASSES", "NAMES", "PRECOMPUTED", "kernel_from_name"]

PRECOMPUTED = "precomputed"
NAMES = (*FORMULAS, PRECOMPUTED)
# What a model file may hold, by the names of the classes.
COMPOSITES: tuple[type[Kernel], ...] = (Sum, Product, Scaled, Power, Exp, Normalized, OnColumns, After)
CLASSES: dict[str, type[Kernel]] = {cls.__name__: cls for cls in (*FORMULAS.values(), *COMPOSITES)}


def kernel_from_name(
    kernel: Any,
    *,
    gamma: Any = None,
    degree: int = 3,
    coef0: float = 1,
    params: Mapping[str, Any] | None = None,
) -> Kernel:
    """Return the kernel for a name, an expression, a function or a Kernel.

    Parameters
    ----------
    kernel : str, callable or Kernel
        A name such as rbf, an expression such as ``"rbf(sigma=2) + 0.5 * linear"``, a function of two rows
        (or of many), or an object.
    gamma, degree, coef0 : numbers
        Parameters of a name that stands alone, with scikit-learn's meanings; ``gamma="median"`` takes the
        median distance between rows.
    params : mapping, optional
        Keyword arguments of a function.

    Raises
    ------
    ParameterError
        For an expression that cannot be read, with the column; for parameters beside what has its own.
    InputTypeError
        For what is no kernel at all.
    """
    alone = isinstance(kernel, str) and ALIASES.get(kernel.strip(), kernel.strip()) in FORMULAS
    if alone:
        cls = FORMULAS[ALIASES.get(kernel.strip(), kernel.strip())]
        wanted = {"gamma": gamma, "degree": degree, "coef0": coef0}
        takes = cls().get_params(deep=False)
        if gamma is not None and "length_scale" in takes:
            raise ParameterError(
                f"kernel={kernel!r} takes {', '.join(takes)} and no gamma. Write it as an expression: "
                f"'{cls.name}(length_scale=2.0)'."
            )
        return cls(**{name: v for name, v in wanted.items() if name in takes and v is not None})
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InputTypeError(f"kernel={kernel.__name__} is a class. Pass an object: {kernel.__name__}().")
    if not callable(kernel) and not isinstance(kernel, str):
        raise InputTypeError(
            f"kernel={kernel!r} is neither a name ({', '.join(NAMES)}), an expression such as "
            "'rbf(sigma=2) + linear', a function k(x, y), nor an object such as "
            "gramian.kernels.RBF(sigma=2.0)."
        )
    if isinstance(kernel, (Kernel, str)):
        made = kernel if isinstance(kernel, Kernel) else parse(kernel)
        if gamma is not None or degree != 3 or coef0 != 1:
            raise ParameterError(
                f"kernel={kernel!r} carries its own parameters, so gamma, degree and coef0 must be left "
                "alone. Set them inside of it."
            )
        return made
    return Callable(kernel, params)
