"""Formulas k(x, y): what they are, whether they are proven kernels, and how accurately they are evaluated."""

from gramian.kernels.algebra import Product, Scaled, Sum
from gramian.kernels.callables import Callable
from gramian.kernels.distances import ChiSquared, Laplacian
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.formulas import Formula
from gramian.kernels.inner_products import Constant, Cosine, Linear, Polynomial, Sigmoid
from gramian.kernels.kernel import Kernel
from gramian.kernels.listing import table
from gramian.kernels.audit import audit
from gramian.kernels.named import kernel_from_name
from gramian.kernels.normalized import Normalized
from gramian.kernels.powers import Exp, Power, exp
from gramian.kernels.radial import RBF, Matern, RationalQuadratic
from gramian.kernels.transformed import After, OnColumns
from gramian.kernels.validity import Validity

__all__ = [
    "RBF",
    "After",
    "Callable",
    "ChiSquared",
    "Constant",
    "Cosine",
    "Evaluator",
    "Exp",
    "Formula",
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
