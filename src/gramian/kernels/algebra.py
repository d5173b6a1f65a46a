"""Kernels made of kernels: what they compute, how wrong it can be, and which closure rule proves them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gramian.kernels.arithmetic import TINY, UNIT, check_number
from gramian.kernels.composites import Bounds, Composite, Outer
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.inner_products import Constant, by_series
from gramian.kernels.kernel import ATOM, POWER, PRODUCT, SUM, Kernel, bracketed, literal
from gramian.kernels.series import Series
from gramian.kernels.slopes import DiagonalSlopes, Slopes
from gramian.kernels.validity import Validity, proven, unknown
from gramian.records import FloatArray

__all__ = ["Constant", "Product", "Scaled", "Sum"]


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
            plain = right.factor == -1 and not isinstance(right.kernel, (Scaled, Constant))
            sign, text = "-", bracketed(right.kernel if plain else -right, PRODUCT)
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

    def chain(self, *slopes: Slopes) -> Slopes:
        a, b = slopes
        return replace(a.joined(b, 1.0, 1.0), values=a.values + b.values)

    def diagonal_chain(self, *slopes: DiagonalSlopes) -> DiagonalSlopes:
        a, b = slopes
        return DiagonalSlopes(a.values + b.values, a.gradient + b.gradient)

    def graded(self, bound: Any) -> float:
        a, b = (part.kernel.graded(part) for part in bound.parts)
        # By Cauchy and Schwarz for the roots of k1(x, x), k2(x, x) and of k1(y, y), k2(y, y).
        return max(a, b) + 2 * UNIT if self.psd else np.inf

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

    def chain(self, *slopes: Slopes) -> Slopes:
        a, b = slopes
        return replace(a.joined(b, b.values, a.values), values=a.values * b.values)

    def diagonal_chain(self, *slopes: DiagonalSlopes) -> DiagonalSlopes:
        a, b = slopes
        gradient = b.values[:, None] * a.gradient + a.values[:, None] * b.gradient
        return DiagonalSlopes(a.values * b.values, gradient)

    def graded(self, bound: Any) -> float:
        a, b = (part.kernel.graded(part) for part in bound.parts)
        return a + b + a * b + 2 * UNIT if self.psd else np.inf

    def bounds(self, *parts: Evaluator) -> Bounds:
        a, b = parts
        relative = a.relative + b.relative + a.relative * b.relative + 2 * UNIT
        absolute = (1 + b.relative) * b.largest * a.absolute + (1 + a.relative) * a.largest * b.absolute
        return relative, absolute * (1 + 2 * UNIT) + a.absolute * b.absolute + TINY, a.largest * b.largest


class Scaled(Outer):
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

    def outer(self, values: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        return float(self.factor) * values, float(self.factor)

    def graded(self, bound: Any) -> float:
        (part,) = bound.parts
        c = part.kernel.graded(part)
        return c + 2 * UNIT if self.psd else np.inf

    def bounds(self, *parts: Evaluator) -> Bounds:
        (a,) = parts
        size = abs(float(self.factor))
        return a.relative + 2 * UNIT, size * a.absolute * (1 + 2 * UNIT) + TINY, size * a.largest
