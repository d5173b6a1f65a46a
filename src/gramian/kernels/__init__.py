"""Kernels k(x, y), checked for positive semidefiniteness, with bounds on their evaluation errors."""

from typing import TYPE_CHECKING, Any

from gramian.kernels.algebra import (
    After,
    Constant,
    Exp,
    Kernel,
    Normalized,
    OnColumns,
    Power,
    Product,
    Scaled,
    Sum,
    exp,
)
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.expression import kernel_from_name, table
from gramian.kernels.facts import Facts, Validity
from gramian.kernels.formulas import (
    RBF,
    ChiSquared,
    Cosine,
    Formula,
    FunctionKernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

if TYPE_CHECKING:
    from gramian.kernels.auditing import audit

__all__ = [
    "RBF",
    "After",
    "ChiSquared",
    "Constant",
    "Cosine",
    "Evaluator",
    "Exp",
    "Facts",
    "Formula",
    "FunctionKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalized",
    "OnColumns",
    "Polynomial",
    "Power",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Sum",
    "Validity",
    "audit",
    "exp",
    "kernel_from_name",
    "table",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "audit":  # a fit audits nothing
            raise AttributeError(f"module 'gramian.kernels' has no attribute {name!r}")
        from gramian.kernels.auditing import audit

        return audit
