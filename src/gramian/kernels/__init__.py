"""Kernels k(x, y), checked for positive semidefiniteness, with bounds on their evaluation errors."""

from gramian.kernels.algebra import Constant as Constant
from gramian.kernels.algebra import Exp as Exp
from gramian.kernels.algebra import Kernel as Kernel
from gramian.kernels.algebra import Normalized as Normalized
from gramian.kernels.algebra import OnColumns as OnColumns
from gramian.kernels.algebra import Power as Power
from gramian.kernels.algebra import Product as Product
from gramian.kernels.algebra import Scaled as Scaled
from gramian.kernels.algebra import Sum as Sum
from gramian.kernels.algebra import exp as exp
from gramian.kernels.auditing import audit as audit
from gramian.kernels.evaluator import Evaluator as Evaluator
from gramian.kernels.expression import kernel_from_name as kernel_from_name
from gramian.kernels.expression import table as table
from gramian.kernels.facts import Facts as Facts
from gramian.kernels.facts import Validity as Validity
from gramian.kernels.formulas import RBF as RBF
from gramian.kernels.formulas import ChiSquared as ChiSquared
from gramian.kernels.formulas import Cosine as Cosine
from gramian.kernels.formulas import Formula as Formula
from gramian.kernels.formulas import FunctionKernel as FunctionKernel
from gramian.kernels.formulas import Laplacian as Laplacian
from gramian.kernels.formulas import Linear as Linear
from gramian.kernels.formulas import Matern as Matern
from gramian.kernels.formulas import Polynomial as Polynomial
from gramian.kernels.formulas import RationalQuadratic as RationalQuadratic
from gramian.kernels.formulas import Sigmoid as Sigmoid

__all__ = sorted(name for name, value in globals().items() if callable(value) and name[0] != "_")
