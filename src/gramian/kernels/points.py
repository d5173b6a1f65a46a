"""Formulas of two rows, such as ``min(x, y)`` or ``log(1 + linear)``, evaluated for many rows at once.

Nothing is executed but the functions of ``FUNCTIONS`` on arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Callable as Function
from typing import Any

import numpy as np
import numpy.typing as npt

POINTS = ("x", "y")
MOST = 1 << 22  # numbers of an intermediate array


def _norm(a: Any) -> Any:
    return np.sqrt(np.sum(np.square(a), axis=-1, keepdims=True))


# Their numbers of arguments; those of columns give one number, all others one for each column.
FUNCTIONS: dict[str, tuple[Function[..., Any], int]] = {
    "min": (np.minimum, 2),
    "max": (np.maximum, 2),
    "abs": (np.abs, 1),
    "exp": (np.exp, 1),
    "log": (np.log, 1),
    "sqrt": (np.sqrt, 1),
    "cos": (np.cos, 1),
    "sin": (np.sin, 1),
    "tanh": (np.tanh, 1),
    "norm": (_norm, 1),
    "dot": (lambda a, b: np.sum(a * b, axis=-1, keepdims=True), 2),
    "sum": (lambda a: np.sum(a, axis=-1, keepdims=True), 1),
}
OPERATORS: dict[type[ast.operator], Function[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}


def of_points(tree: ast.AST) -> bool:
    """Say whether an expression is a formula of two rows, and not one of kernels alone.

    Examples
    --------
    >>> [of_points(ast.parse(text)) for text in ("min(x, y)", "log(1 + linear)", "exp(linear) + rbf")]
    [True, True, False]
    """
    return any(
        (isinstance(node, ast.Name) and node.id in POINTS)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in FUNCTIONS
            and node.func.id != "exp"
        )
        for node in ast.walk(tree)
    )


def is_kernel(node: ast.expr) -> bool:
    """Say whether a part of a formula is an expression of kernels."""
    return not of_points(node) and any(isinstance(inner, ast.Name) for inner in ast.walk(node))


class Formula:
    """A formula as a function of many rows at once.

    Parameters
    ----------
    tree : ast.expr
        Checked.
    kernels : dict of ast.expr to Kernel
        Its parts that are expressions of kernels.
    """

    def __init__(self, tree: ast.expr, kernels: dict[ast.expr, Any]) -> None:
        self.tree, self.kernels = tree, kernels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and ast.dump(self.tree) == ast.dump(other.tree)

    def __hash__(self) -> int:
        return hash(ast.dump(self.tree))

    def __call__(self, X: npt.NDArray[Any], Y: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the values of shape (n, m), or (n, m, d) where the formula has one for each column."""
        size = max(1, MOST // max(1, len(Y) * X.shape[1]))
        blocks = [self._block(X[start : start + size], Y) for start in range(0, len(X), size)]
        return np.concatenate(blocks)

    def _block(self, X: npt.NDArray[Any], Y: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        with np.errstate(all="ignore"):
            values = np.asarray(self._value(self.tree, X, Y), dtype=np.float64)
        width = values.shape[2] if values.ndim else 1
        values = np.broadcast_to(values, (len(X), len(Y), width))
        return values[:, :, 0] if values.shape[2] == 1 else values

    def _value(self, node: ast.expr, X: npt.NDArray[Any], Y: npt.NDArray[Any]) -> Any:
        if node in self.kernels:
            return np.asarray(self.kernels[node].gram(X, Y), dtype=np.float64)[:, :, None]
        if isinstance(node, ast.Constant):
            return np.float64(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            return X[:, None, :] if node.id == "x" else Y[None, :, :]
        if isinstance(node, ast.UnaryOp):
            inner = self._value(node.operand, X, Y)
            return -inner if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](self._value(node.left, X, Y), self._value(node.right, X, Y))
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        return FUNCTIONS[node.func.id][0](*(self._value(argument, X, Y) for argument in node.args))
