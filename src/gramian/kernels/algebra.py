"""Kernels made of kernels: what they compute, how wrong it can be, and which closure rule proves them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.arrays import namespace
from gramian.errors import DataError
from gramian.kernels.arithmetic import FUNCTION_ULPS, TINY, UNIT, check_number, check_positive, exponential
from gramian.kernels.composites import Bounds, Composite
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.inner_products import Constant, by_series
from gramian.kernels.kernel import ATOM, POWER, PRODUCT, SUM, Kernel, bracketed, literal
from gramian.kernels.series import Series
from gramian.kernels.validity import Validity, proven, unknown

__all__ = ["Constant", "Exp", "Power", "Product", "Scaled", "Sum", "exp"]


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


class Sum(Composite):
    """``left + right``."""

    name = "sum"
    additive = True
    binds = SUM

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def __repr__(self) -> str:
        left, right = self.left, self.right
        if isinstance(right, Constant) and not isinstance(left, Constant):
            sign, text = ("-", literal(-right.value)) if right.value < 0 else ("+", literal(right.value))
        elif isinstance(right, Scaled) and right.factor < 0:
            sign, text = "-", bracketed(-right, PRODUCT)
        else:
            sign, text = "+", bracketed(right, PRODUCT)
        first = literal(left.value) if isinstance(left, Constant) else repr(left)
        if isinstance(left, Constant) and isinstance(right, Constant):
            first, text = repr(left), repr(right)
        return f"{first} {sign} {text}"

    @property
    def formula(self) -> str:
        right = self.right.formula
        return f"{self.left.formula} - {right[1:]}" if right[0] == "-" else f"{self.left.formula} + {right}"

    def judge(self) -> Validity:
        parts = (self.left.validity, self.right.validity)
        if all(parts):
            return proven("A sum of kernels is a kernel.", "", *parts)
        found = by_series(self)
        if found is not None:
            return Validity(found.status, found.reason, "", parts)
        return unknown("A sum is proven only if both parts are; a negative part loses the proof.", "", *parts)

    def series(self, order: int) -> Series | None:
        left, right = self.left.series(order), self.right.series(order)
        return None if left is None or right is None else left + right

    def rebuilt(self, *parts: Kernel) -> Kernel:
        return Sum(*parts)

    def combine(self, *values: Any) -> Any:
        total, other = values
        total += other
        return total

    def bounds(self, *parts: Evaluator) -> Bounds:
        a, b = parts
        error = sum(part.absolute + (part.relative + UNIT) * part.largest for part in (a, b))
        return UNIT, error, a.largest + b.largest


class Product(Composite):
    """``left * right``, value by value."""

    name = "product"
    binds = PRODUCT

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def __repr__(self) -> str:
        return f"{bracketed(self.left, PRODUCT)} * {bracketed(self.right, POWER)}"

    @property
    def formula(self) -> str:
        return f"({self.left.formula}) ({self.right.formula})"

    @property
    def divisible(self) -> bool:  # type: ignore[override]
        """A power of a product is the product of powers."""
        return self.left.divisible and self.right.divisible

    def judge(self) -> Validity:
        parts = (self.left.validity, self.right.validity)
        if all(parts):
            return proven("A product of kernels is a kernel (Schur 1911).", "", *parts)
        found = by_series(self)
        if found is not None:
            return Validity(found.status, found.reason, "", parts)
        return unknown("A product is proven only if both parts are.", "", *parts)

    def series(self, order: int) -> Series | None:
        left, right = self.left.series(order), self.right.series(order)
        return None if left is None or right is None else left * right

    def rebuilt(self, *parts: Kernel) -> Kernel:
        return Product(*parts)

    def combine(self, *values: Any) -> Any:
        total, other = values
        total *= other
        return total

    def bounds(self, *parts: Evaluator) -> Bounds:
        a, b = parts
        relative = a.relative + b.relative + a.relative * b.relative + 2 * UNIT
        absolute = (1 + b.relative) * b.largest * a.absolute + (1 + a.relative) * a.largest * b.absolute
        return relative, absolute * (1 + 2 * UNIT) + a.absolute * b.absolute + TINY, a.largest * b.largest


class Scaled(Composite):
    """``factor * kernel``.

    Parameters
    ----------
    kernel : Kernel
    factor : float
        At least 0 for a kernel.
    """

    name = "scaled"
    additive = True
    binds = PRODUCT

    def __init__(self, kernel: Kernel, factor: float) -> None:
        self.kernel = kernel
        self.factor = factor

    def __repr__(self) -> str:
        return f"{literal(self.factor)} * {bracketed(self.kernel, POWER)}"

    def __neg__(self) -> Kernel:
        return Scaled(self.kernel, -self.factor)

    @property
    def formula(self) -> str:
        inside = self.kernel.formula
        return f"{self.factor:g} {inside}" if self.kernel.binds == ATOM else f"{self.factor:g} ({inside})"

    @property
    def divisible(self) -> bool:  # type: ignore[override]
        """A power of a positive factor is one."""
        return self.factor >= 0 and self.kernel.divisible

    def check(self) -> None:
        super().check()
        check_number("factor", self.factor)

    def judge(self) -> Validity:
        inner = self.kernel.validity
        if self.factor == 0:
            return proven("Zero times a function is the kernel 0.")
        if self.factor > 0:
            status = "still no kernel" if inner.refuted else "still unknown"
            reason = f"A factor > 0 changes nothing about it: {status}."
            return Validity(
                inner.status,
                "A kernel times a number >= 0 is a kernel." if inner.proven else reason,
                "",
                (inner,),
            )
        found = by_series(self)
        if found is not None:
            return Validity(found.status, found.reason, "", (inner,))
        return unknown("A negative factor loses the proof.", "", inner)

    def series(self, order: int) -> Series | None:
        inner = self.kernel.series(order)
        return None if inner is None else inner.scaled(float(self.factor))

    def rebuilt(self, *parts: Kernel) -> Kernel:
        return Scaled(parts[0], self.factor)

    def combine(self, *values: Any) -> Any:
        (value,) = values
        value *= float(self.factor)
        return value

    def bounds(self, *parts: Evaluator) -> Bounds:
        (a,) = parts
        size = abs(float(self.factor))
        return a.relative + 2 * UNIT, size * a.absolute * (1 + 2 * UNIT) + TINY, size * a.largest


class Power(Composite):
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

    def bounds(self, *parts: Evaluator) -> Bounds:
        (a,) = parts
        p, size = float(self.exponent), a.largest * (1 + a.relative) + a.absolute
        with np.errstate(over="ignore"):
            relative = float(np.expm1(np.float64(p) * (a.relative + UNIT))) + (FUNCTION_ULPS + p) * UNIT
            # The slope of t^p is largest at the largest t; for p < 1 at 0, where it moves by a^p at most.
            absolute = p * np.float64(size) ** (p - 1) * a.absolute if p >= 1 else np.float64(a.absolute) ** p
            return relative, float(absolute) * (1 + relative) + TINY, float(np.float64(size) ** p)


class Exp(Composite):
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

    def bounds(self, *parts: Evaluator) -> Bounds:
        (a,) = parts
        error = a.absolute + a.relative * a.largest
        with np.errstate(over="ignore"):
            relative = float(np.expm1(np.float64(error))) * (1 + FUNCTION_ULPS * UNIT) + FUNCTION_ULPS * UNIT
            return relative, TINY, float(np.exp(np.float64(a.largest)))
