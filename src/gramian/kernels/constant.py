"""The kernel that is the same for all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.kernels.arithmetic import check_number, ones, product
from gramian.kernels.formulas import Formula
from gramian.kernels.kernel import Kernel
from gramian.kernels.series import Series
from gramian.kernels.slopes import DiagonalSlopes, Slopes, flat
from gramian.kernels.validity import Validity, proven, refuted

__all__ = ["Constant"]


class Constant(Formula):
    """k(x, y) = c.

    Parameters
    ----------
    value : float
        At least 0 for a kernel.
    """

    name = "constant"
    general = "value"
    kinks = ""

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def check(self) -> None:
        check_number("value", self.value)

    def judge(self) -> Validity:
        if self.value >= 0:
            return proven("A constant >= 0: its feature map is one number.")
        return refuted("A negative constant: one point refutes it.")

    @property
    def divisible(self) -> bool:  # type: ignore[override]
        """Powers of a constant >= 0 are constants >= 0."""
        return self.value >= 0

    def __neg__(self) -> Kernel:
        return Constant(-self.value)

    @property
    def formula(self) -> str:
        return f"{self.value:g}"

    def series(self, order: int) -> Series:
        return Series.of([float(self.value)] + [0.0] * order)

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        column = ones(X)[:, None]
        return column, column

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        return product(left * float(self.value), right, out)

    def slopes(self, X: Any, left: Any, right: Any, direct: bool) -> Slopes:
        still = np.zeros(X.shape)
        return Slopes(self.tile(left, right, direct), lambda W: still, lambda W: still)

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        return flat(self.diagonal(X), X.shape[1])

    def diagonal(self, X: Any) -> Any:
        return float(self.value) * ones(X)

    def evaluation_error(self, d: int, largest: float, direct: bool) -> tuple[float, float]:
        return 0.0, 0.0

    def size(self, largest: float) -> float:
        return abs(float(self.value))
