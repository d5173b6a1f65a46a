"""A user's own function as a kernel, about which nothing is known."""

from __future__ import annotations

from collections.abc import Callable as Function
from collections.abc import Mapping
from typing import Any

import numpy as np

from gramian.arrays import as_float64, from_numpy, to_numpy
from gramian.errors import DataError
from gramian.kernels.kernel import Kernel

__all__ = ["Callable"]


class Callable(Kernel):
    """A function ``k(x, y)`` of two rows that returns a number, called once for each pair.

    Parameters
    ----------
    function : callable
        Takes two arrays of shape (d,).
    params : mapping, optional
        Keyword arguments for it.
    """

    psd = False
    validity = "unknown: a bare function carries no proof"
    error_kind = "estimate"

    def __init__(self, function: Function[..., float], params: Mapping[str, Any] | None = None) -> None:
        self.function = function
        self.params = params

    def __hash__(self) -> int:
        return hash(id(self.function))

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        return X, X

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        keywords = dict(self.params or {})
        x, y = to_numpy(left), to_numpy(right)
        values = np.array([[self._value(a, b, keywords) for b in y] for a in x], dtype=np.float64)
        return from_numpy(values.reshape(x.shape[0], y.shape[0]), left)

    def _value(self, a: Any, b: Any, keywords: dict[str, Any]) -> float:
        value = self.function(a, b, **keywords)
        if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in "biuf" or not np.isfinite(value):
            raise DataError(
                f"The kernel function returned {value!r} for two rows; it must return one finite number."
            )
        return float(value)

    def diagonal(self, X: Any) -> Any:
        keywords = dict(self.params or {})
        rows = as_float64(X)
        return from_numpy(np.array([self._value(a, a, keywords) for a in rows], dtype=np.float64), X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        # Nothing is known about the function's own rounding: that of one multiplication is assumed.
        return 4 * float(np.finfo(np.float64).eps), 0.0
