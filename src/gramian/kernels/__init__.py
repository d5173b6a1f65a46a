"""Kernels k(x, y), checked for positive semidefiniteness, with bounds on their evaluation errors."""

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
from gramian.kernels.auditing import audit
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.expression import kernel_from_name, table
from gramian.kernels.facts import Facts, Validity
from gramian.kernels.formulas import (
    RBF,
    ChiSquared,
    Cosine,
    Formula,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from gramian.kernels.functions import FunctionKernel

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
