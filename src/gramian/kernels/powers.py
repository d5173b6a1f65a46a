"""Powers and exponentials of kernels, value by value."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays import namespace
from gramian.errors import DataError
from gramian.kernels.arithmetic import FUNCTION_ULPS, TINY, UNIT, check_positive, exponential
from gramian.kernels.composites import Bounds, Outer
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.inner_products import by_series
from gramian.kernels.kernel import ATOM, POWER, Kernel, bracketed, literal
from gramian.kernels.series import Series
from gramian.kernels.validity import Validity, proven, unknown
from gramian.records import FloatArray

__all__ = ["Exp", "Power", "exp"]


def exp(kernel: Kernel) -> Kernel:
    """Return the kernel ``exp(k(x, y))``.

    Examples
    --------
    >>> from gramian.kernels import Linear, exp
    >>> exp(Linear()).gram([[0.0], [1.0]]).round(4)
    array([[1.    , 1.    ],
           [1.    , 2.7183]])
    """
    return Exp(kernel)


class Power(Outer):
    """``kernel ** exponent``.

    Parameters
    ----------
    kernel : Kernel
    exponent : float
        A positive whole number; a fraction for infinitely divisible kernels, such as the RBF kernel.
    """

    name = "power"
    binds = POWER

    def __init__(self, kernel: Kernel, exponent: float) -> None:
        self.kernel = kernel
        self.exponent = exponent

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)} ** {literal(self.exponent)}"

    @property
    def formula(self) -> str:
        return f"({self.kernel.formula})^{self.exponent:g}"

    @property
    def whole(self) -> bool:
        """Whether the exponent is a whole number."""
        return float(self.exponent).is_integer()

    @property
    def divisible(self) -> bool:  # type: ignore[override]
        """A power of a power is a power."""
        return self.kernel.divisible

    def check(self) -> None:
        super().check()
        check_positive("exponent", self.exponent)

    def judge(self) -> Validity:
        inner = self.kernel.validity
        if self.whole and inner.proven:
            return proven("A whole power is a product of kernels (Schur 1911).", "", inner)
        if inner.proven and self.kernel.divisible:
            return proven(
                "The kernel is infinitely divisible: it is the exponential of a conditionally positive "
                "definite function, so that every positive power is a kernel (Horn 1969).",
                "",
                inner,
            )
        found = by_series(self)
        if found is not None:
            why = found.reason
            if not self.whole:
                power = f"A fractional power, {self.exponent:g}, is no kernel here"
                why = f"{power} (FitzGerald and Horn 1977). {why}"
            return Validity("refuted", why, "", (inner,))
        if not self.whole:
            return unknown(f"A fractional power, {self.exponent:g}, loses the proof.", "", inner)
        return unknown("A power is proven only if its base is.", "", inner)

    def series(self, order: int) -> Series | None:
        inner = self.kernel.series(order)
        return None if inner is None else inner.power(float(self.exponent))

    def rebuilt(self, *parts: Kernel) -> Kernel:
        return Power(parts[0], self.exponent)

    def combine(self, *values: Any) -> Any:
        (value,) = values
        least = float(namespace(value).min(value)) if not self.whole and 0 not in value.shape else 0.0
        if least < 0:
            raise DataError(
                f"{self!r} has no value where {self.kernel!r} is negative, and it reaches {least:.3g}. "
                "Use a whole exponent."
            )
        return value ** float(self.exponent)

    def outer(self, values: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        p = float(self.exponent)
        # A value that underflowed to 0 has no slope left, though t^(p - 1) is infinite there for p < 1.
        base = np.where(values == 0, 1.0, values)
        rest = np.where(values == 0, float(p == 1), base ** (p - 1))
        return self.combine(values), p * rest

    def graded(self, bound: Any) -> float:
        (part,) = bound.parts
        c = part.kernel.graded(part)
        if not (self.psd and self.whole and c < 1):
            return np.inf
        p = float(self.exponent)
        return float(np.expm1(p * np.log1p(c))) + (FUNCTION_ULPS + p) * UNIT

    def bounds(self, *parts: Evaluator) -> Bounds:
        (a,) = parts
        p, size = float(self.exponent), a.largest * (1 + a.relative) + a.absolute
        with np.errstate(over="ignore"):
            relative = float(np.expm1(np.float64(p) * (a.relative + UNIT))) + (FUNCTION_ULPS + p) * UNIT
            # The slope of t^p is largest at the largest t; for p < 1 at 0, where it moves by a^p at most.
            absolute = p * np.float64(size) ** (p - 1) * a.absolute if p >= 1 else np.float64(a.absolute) ** p
            return relative, float(absolute) * (1 + relative) + TINY, float(np.float64(size) ** p)


class Exp(Outer):
    """``exp(kernel)``."""

    name = "exp"

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __repr__(self) -> str:
        return f"exp({self.kernel!r})"

    @property
    def formula(self) -> str:
        return f"exp({self.kernel.formula})"

    # exp(k)^p = exp(p k), a kernel where exp(k) is one because k is.
    divisible = True

    def judge(self) -> Validity:
        inner = self.kernel.validity
        if inner.proven:
            return proven("exp(k) is a sum of powers of k with factors 1 / m! >= 0.", "", inner)
        found = by_series(self)
        if found is not None:
            return Validity(found.status, found.reason, "", (inner,))
        return unknown("exp is proven only of a kernel.", "", inner)

    def series(self, order: int) -> Series | None:
        inner = self.kernel.series(order)
        return None if inner is None else inner.exp()

    def rebuilt(self, *parts: Kernel) -> Kernel:
        return Exp(*parts)

    def combine(self, *values: Any) -> Any:
        (value,) = values
        return exponential(value)

    def outer(self, values: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        grown = np.exp(values)
        return grown, grown

    def graded(self, bound: Any) -> float:
        (part,) = bound.parts
        c = part.kernel.graded(part)
        # exp(sqrt(k(x, x) k(y, y))) <= exp((k(x, x) + k(y, y)) / 2).
        error = c * part.largest
        return float(np.expm1(error)) + 2 * FUNCTION_ULPS * UNIT if self.psd and error < 1 else np.inf

    def bounds(self, *parts: Evaluator) -> Bounds:
        (a,) = parts
        error = a.absolute + a.relative * a.largest
        with np.errstate(over="ignore"):
            relative = float(np.expm1(np.float64(error))) * (1 + FUNCTION_ULPS * UNIT) + FUNCTION_ULPS * UNIT
            return relative, TINY, float(np.exp(np.float64(a.largest)))
