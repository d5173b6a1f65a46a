"""Formulas k(x, y): what they are, whether they are proven kernels, and how accurately they are evaluated."""

from gramian.kernels.callables import Callable
from gramian.kernels.formulas import RBF, Cosine, Laplacian, Linear, Polynomial, Sigmoid
from gramian.kernels.kernel import Evaluator, Kernel
from gramian.kernels.named import kernel_from_name

__all__ = [
    "RBF",
    "Callable",
    "Cosine",
    "Evaluator",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Sigmoid",
    "kernel_from_name",
]
