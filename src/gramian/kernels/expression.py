"""Names of kernels, expressions such as ``rbf(sigma=2) + 0.5 * poly``, and the table of all kernels.

Expressions are parsed and never executed.
"""

from __future__ import annotations

import ast
import difflib
import operator
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gramian.core.checks import counted, slices
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.kernels.algebra import COMPOSITES, Constant, Kernel
from gramian.kernels.arithmetic import is_number
from gramian.kernels.facts import CLOSURE, Facts, Validity, proven
from gramian.kernels.formulas import NAMED, RBF, FunctionKernel, Linear

FORMULAS: dict[str, type[Kernel]] = {cls.name: cls for cls in NAMED}
ALIASES = {
    "polynomial": "poly",
    "gaussian": "rbf",
    "rational_quadratic": "rq",
    "chi_squared": "chi2",
    "laplace": "laplacian",
}
PRECOMPUTED = "precomputed"
METHODS = ("normalized", "on", "exp")
LONGEST = 2000  # characters; an expression that a person writes has fewer
DEEPEST = 100  # kernels inside of each other, or added up; more would exhaust the stack elsewhere
SHOWN = 100  # characters of it in a message
WIDTH = 100  # of the list of kernels
ONLY_EIGENVALUES = (
    "Its eigenvalues decide; KernelPCA rejects a negative one, or sets it to 0 with repair='clip'."
)
DISTANCES = (
    "||x - y||^a is conditionally negative definite for 0 < a <= 2, so are sums of such functions, and "
    "exp(-f) and all its powers are kernels for such an f (Schoenberg 1938)."
)
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: lambda a, b: _power(a, b),
}


def kernel_from_name(
    kernel: Any,
    *,
    gamma: Any = None,
    degree: int = 3,
    coef0: float = 1,
    params: Mapping[str, Any] | None = None,
) -> Kernel:
    """Return the kernel for a name, an expression, a function or a Kernel.

    Parameters
    ----------
    kernel : str, callable or Kernel
        A name such as rbf, an expression such as ``"rbf(sigma=2) + 0.5 * linear"``, a function of two rows
        (or of many), or an object.
    gamma, degree, coef0 : numbers
        Parameters of a name that stands alone, with scikit-learn's meanings; ``gamma="median"`` takes the
        median distance between rows, "scale" ``1 / (d X.var())``.
    params : mapping, optional
        Keyword arguments of a function.

    Returns
    -------
    Kernel
        Its parameters may still depend on data.

    Raises
    ------
    ParameterError
        For an expression that cannot be parsed, with the column; for parameters that it has already.
    InputTypeError
        For an object that is not a kernel.

    Examples
    --------
    >>> from gramian.kernels import kernel_from_name
    >>> kernel_from_name("rbf", gamma=0.5)
    rbf(gamma=0.5)
    >>> kernel = kernel_from_name("rbf(sigma=2) + 0.5 * linear")
    >>> kernel.psd, kernel([1.0, 0.0], [1.0, 0.0])
    (True, 1.5)
    """
    cls = FORMULAS.get(ALIASES.get(kernel.strip(), kernel.strip())) if isinstance(kernel, str) else None
    if cls is not None:
        wanted = {"gamma": gamma, "degree": degree, "coef0": coef0}
        takes = cls().get_params(deep=False)
        if gamma is not None and "length_scale" in takes:
            hint = f"Write '{cls.name}(length_scale=2.0)'."
            raise ParameterError("kernel", kernel, "takes no gamma", hint)
        return cls(**{name: v for name, v in wanted.items() if name in takes and v is not None})
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InputTypeError(f"kernel={kernel.__name__} is a class. Pass an object: {kernel.__name__}().")
    if not callable(kernel) and not isinstance(kernel, str):
        raise InputTypeError(
            f"kernel={kernel!r} is not a name, an expression, a function or a Kernel object."
        )
    if isinstance(kernel, (Kernel, str)):
        made = kernel if isinstance(kernel, Kernel) else parse(kernel)
        if gamma is not None or degree != 3 or coef0 != 1:
            hint = "Set gamma, degree and coef0 there."
            raise ParameterError("kernel", kernel, "has its own parameters", hint)
        return made
    return FunctionKernel(kernel, params)


# ------------------------------------------------------------------------------------- expressions


def parse(text: str) -> Kernel:
    """Return the kernel that an expression describes.

    Parameters
    ----------
    text : str
        Names of kernels with parameters, numbers, ``+ - * / **``, brackets, ``exp(..)``, and the methods
        ``.normalized()`` and ``.on(0, "age")``. Or a formula of two rows x and y, such as
        ``min(x, y)``, ``exp(-norm(x - y))`` or ``log(1 + linear)``.

    Raises
    ------
    ParameterError
        With the column where reading stopped.

    Examples
    --------
    >>> from gramian.kernels.expression import parse
    >>> parse("rbf(sigma=2) + 0.5*poly(degree=2)")
    rbf(sigma=2) + 0.5 * poly(degree=2)
    """
    return _Reader(text).kernel()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.depth = 0
        self.values: dict[ast.AST, Any] = {}  # what the nodes of the tree stand for

    def kernel(self) -> Kernel:
        tree, value = self.read()
        return PointFormula(self.text.strip()) if isinstance(value, Points) else self.as_kernel(value, tree)

    def read(self) -> tuple[ast.expr, Any]:
        """Return the tree of the text, and the Kernel, number or Points that it stands for."""
        if len(self.text) > LONGEST:
            raise ParameterError("kernel", allowed=f"has {len(self.text)} characters, more than {LONGEST}")
        if not self.text.isprintable():
            raise ParameterError("kernel", self.text, "must be one line of plain text")
        self.shift = len(self.text) - len(self.text.lstrip())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.text.strip(), mode="eval").body
            return tree, self.value(tree)
        except SyntaxError as error:
            column = self.shift + error.offset - 1 if error.offset else len(self.text.rstrip())
            raise self.fault(column, f"this cannot be read ({error.msg})") from None
        except (RecursionError, MemoryError):
            raise self.fault(0, "this is nested too deeply") from None

    def fault(self, column: int, problem: str) -> ParameterError:
        start = max(0, column - SHOWN // 2) if len(self.text) > SHOWN else 0
        shown = self.text[start : start + SHOWN]
        pointed = f"{problem}.\n  {shown}\n  {' ' * (column - start)}^"
        whole = f"kernel={shown!r}, column {column + 1}: {pointed}"
        return ParameterError("kernel", self.text, problem, problem=whole)

    def at(self, node: ast.expr) -> int:
        """The column of a node: counted in characters where the tree counts bytes."""
        return self.shift + len(self.text.strip().encode()[: node.col_offset].decode())

    # ------------------------------------------------- kernels, numbers, functions of two rows

    def value(self, node: ast.expr) -> Any:
        """Return the Kernel, number or Points that a node stands for."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fault(self.at(node), f"this is nested too deeply: more than {DEEPEST} levels")
        self.values[node] = result = self._value(node)
        self.depth -= 1
        return result

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            if is_number(node.value):
                return node.value
            raise self.fault(self.at(node), f"{node.value!r} is neither a kernel nor a finite number")
        if isinstance(node, ast.Name):
            return POINTS[node.id] if node.id in POINTS else self.formula(node)()
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            inner = self.value(node.operand)
            if isinstance(node.op, ast.UAdd):
                return inner
            return applied(operator.neg, inner) if isinstance(inner, Points) else -inner
        if isinstance(node, ast.BinOp):
            return self.combined(node)
        if isinstance(node, ast.Call):
            return self.called(node)
        raise self.fault(self.at(node), f"{_shown(node)} has no meaning here; see {_allowed()}")

    def combined(self, node: ast.BinOp) -> Any:
        combine = OPERATORS.get(type(node.op))
        if combine is None:
            raise self.fault(self.at(node.right), "kernels and formulas combine with + - * / and **")
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, Points) or isinstance(right, Points):
            return applied(combine, points_of(left, node.left), points_of(right, node.right))
        if isinstance(node.op, (ast.Pow, ast.Div)) and isinstance(right, Kernel):
            raise self.fault(self.at(node.right), "what follows / and ** is a number, such as 2")
        try:
            made = combine(left, right)
        except (ArithmeticError, TypeError, ValueError):
            made = None
        if isinstance(made, Kernel):
            return self.checked(made, node.right)
        if is_number(made):
            return made
        raise self.fault(self.at(node.right), "this cannot be computed")

    def formula(self, node: ast.Name) -> type[Kernel]:
        name = ALIASES.get(node.id.lower(), node.id)
        if name in FUNCTIONS:
            raise self.fault(self.at(node), f"{name} is a function, such as exp(linear) or abs(x)")
        if name in FORMULAS:
            return FORMULAS[name]
        near = difflib.get_close_matches(name.lower(), [*FORMULAS, *ALIASES, *FUNCTIONS], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        available = f"Known: {', '.join(FORMULAS)}; of x and y {', '.join(FUNCTIONS)}"
        raise self.fault(self.at(node), f"kernel {node.id!r} is not known.{hint} {available}")

    # --------------------------------------------------------------- calls

    def called(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            return self.method(node, node.func)
        if not isinstance(node.func, ast.Name):
            raise self.fault(self.at(node), f"{_shown(node.func)} is not the name of a kernel")
        name = node.func.id
        if name in FUNCTIONS:
            function, count = FUNCTIONS[name]
            values = [(self.value(item), item) for item in self.arguments(node, count, name)]
            if name == "exp" and not isinstance(values[0][0], Points):
                return self.as_kernel(*values[0]).exp()
            return applied(function, *(points_of(*item) for item in values))
        cls = self.formula(node.func)
        literals = [self.literal(argument) for argument in node.args]
        named: dict[Any, Any] = {keyword.arg: self.literal(keyword.value) for keyword in node.keywords}
        try:
            made = cls(*literals, **named)
        except TypeError:
            takes = ", ".join(cls().get_params()) or "no parameter"
            raise self.fault(self.at(node), f"{name} takes {takes}") from None
        return self.checked(made, node)

    def checked(self, made: Kernel, node: ast.expr) -> Kernel:
        """Return a kernel, or refuse its parameters, which stand at ``node``."""
        try:
            made.check()
        except ParameterError as error:
            raise self.fault(self.at(node), str(error).rstrip(".")) from None
        return made

    def method(self, node: ast.Call, function: ast.Attribute) -> Kernel:
        kernel = self.as_kernel(self.value(function.value), function.value)
        name = function.attr
        if name in ("normalized", "exp"):
            self.arguments(node, 0, name)
            return kernel.normalized() if name == "normalized" else kernel.exp()
        if name == "on":
            return self.on(kernel, node)
        raise self.fault(self.at(node), f"kernels have no method {name!r}; they have {', '.join(METHODS)}")

    def on(self, kernel: Kernel, node: ast.Call) -> Kernel:
        columns = [self.literal(argument) for argument in node.args]
        if node.keywords or not columns:
            raise self.fault(self.at(node), "on() takes columns by position or name, such as on(0, 'age')")
        return self.checked(kernel.on(*columns), node.args[0])

    def arguments(self, node: ast.Call, count: int, name: str) -> list[ast.expr]:
        if len(node.args) != count or node.keywords:
            raise self.fault(self.at(node), f"{name}() takes {counted(count, 'argument')}")
        return node.args

    def as_kernel(self, value: Any, node: ast.expr) -> Kernel:
        if isinstance(value, Points):
            raise self.fault(self.at(node), f"{_shown(node)} is a formula of x and y, and no kernel")
        return value if isinstance(value, Kernel) else Constant(value)

    def literal(self, node: ast.expr) -> Any:
        """Return a number, text, None, or a tuple of them."""
        with suppress(ValueError):
            value = ast.literal_eval(node)
            entries = value if isinstance(value, (tuple, list)) else [value]
            if all(entry is None or isinstance(entry, str) or is_number(entry) for entry in entries):
                return tuple(entries) if isinstance(value, (tuple, list)) else value
        raise self.fault(
            self.at(node), "a parameter is a number, a list of numbers, 'median', 'scale'" + " or None"
        )


def _power(a: Any, b: Any) -> Any:
    """Raise a number to a power in floating point: whole numbers can be written that fill any memory."""
    if isinstance(a, Kernel):
        return a**b
    if not (is_number(a) and is_number(b)):
        return np.power(a, b)
    made = float(a) ** float(b)
    exact = isinstance(a, int) and isinstance(b, int) and b >= 0 and made < 2**53
    return int(made) if exact else made


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")


def _allowed() -> str:
    allowed = ", ".join(FORMULAS) + ", numbers, + - * / **, exp(..) and the methods " + ", ".join(METHODS)
    return f"{allowed}; or formulas of two rows, such as min(x, y)"


class PointFormula(FunctionKernel):
    """A formula of two rows x and y. It is known to be a kernel where :class:`_Proof` says why.

    Parameters
    ----------
    text : str
        Such as ``"min(x, y)"``. Functions: min, max, abs, exp, log, sqrt, cos, sin, tanh and, of all columns,
        norm, dot and sum. Kernels may be parts of it.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.kernels import kernel_from_name
    >>> kernel_from_name("sum(min(x, y))").gram(np.array([[1.0, 2.0], [3.0, 0.0]])).tolist()
    [[3.0, 1.0], [1.0, 3.0]]
    """

    name = "formula"
    general = "a formula of two rows, such as exp(-norm(x - y))"
    no_proof = "No rule proves this formula of two rows"

    def __init__(self, text: str) -> None:
        self.text = text
        reader = _Reader(text)
        self._tree, self._points = reader.read()
        self._validity = _Proof(reader.values).validity(self._tree)
        super().__init__(self._points, None, vectorised=True)

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.text,)

    def set_params(self, **params: Any) -> Self:
        """Set the text, which is read again."""
        super().set_params(**params)
        self.__init__(self.text)  # type: ignore[misc]
        return self

    @property
    def facts(self) -> Facts:
        """What the terms of the formula prove."""
        facts, proof = super().facts, self._validity
        divisible = proof is not None and proof.reason == DISTANCES
        return facts if proof is None else replace(facts, validity=proof, divisible=divisible)

    @property
    def label(self) -> str:
        """The formula itself."""
        return self.text

    @property
    def formula(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        """Return the formula with every parameter of its kernels a number."""
        kernels = {node: kernel.resolve(X, names) for node, kernel in self._points.kernels.items()}
        written = {id(node): ast.parse(repr(kernel), mode="eval").body for node, kernel in kernels.items()}
        return PointFormula(ast.unparse(deepcopy(self._tree, written))) if kernels else self

    def check_numbers(self, why: str) -> None:
        """Raise an error for a parameter of a kernel inside that is still to be computed from rows."""
        for kernel in self._points.kernels.values():
            kernel.check_numbers(why)

    def _numbers(self, x: Any, y: Any, *shape: int) -> Any:
        values = self._points(x, y)
        if values.shape != shape:
            raise DataError(
                f"{self.text} gives {values.shape[-1]} numbers for two rows of {x.shape[1]} columns, one for "
                "each column. Add them up with sum(...), or use dot or norm."
            )
        if not np.isfinite(values).all():
            raise DataError(f"{self.text} has no finite value for some of these rows. Scale or choose them.")
        return values


@dataclass(frozen=True)
class _Proof:
    """Proves that formulas of two rows are kernels, from distances and the closure rules.

    Attributes
    ----------
    values : mapping of node to object
        The Kernel, number or Points that each node of a formula stands for.
    """

    values: Mapping[ast.AST, Any]

    def validity(self, node: ast.expr) -> Validity | None:
        """Return the proof that a formula is a kernel, None where there is none."""
        value, (factor, scaled) = self.values[node], self.scaled(node)
        if not isinstance(value, Points):
            kernel = value if isinstance(value, Kernel) else Constant(value)
            return kernel.validity if kernel.psd else None
        match node:
            case ast.Call(ast.Name("exp"), [inside]) if self.is_distance(inside, -1):
                return proven(DISTANCES, ast.unparse(node))
            case _ if scaled is not node:
                rule, operands = "positive multiple", [scaled] if factor > 0 else []
            case ast.Call(ast.Name("exp" | "sum" as rule), [inside]):
                operands = [inside]
            case ast.BinOp(left, ast.Add() | ast.Mult() as combined, right):
                rule, operands = "sum" if isinstance(combined, ast.Add) else "product", [left, right]
            case ast.BinOp(left, ast.Pow(), right) if (power := self.number(right)) > 0 and power % 1 == 0:
                rule, operands = "whole power", [left]
            case _:
                return None
        proofs = [proof for operand in operands if (proof := self.validity(operand)) is not None]
        whole = len(proofs) == len(operands) > 0
        return proven(CLOSURE[rule].proof, ast.unparse(node), *proofs) if whole else None

    def is_distance(self, node: ast.expr, sign: float = 1.0) -> bool:
        """Say whether a formula times a sign is conditionally negative definite up to a number."""
        factor, node = self.scaled(node)
        match node:
            case _ if is_number(self.values[node]):
                return True
            case ast.BinOp(left, ast.Add() | ast.Sub() as combined, right):
                other = sign * factor * (1 if isinstance(combined, ast.Add) else -1)
                return self.is_distance(left, sign * factor) and self.is_distance(right, other)
        return sign * factor > 0 and self.power(node) >= 1

    def power(self, node: ast.expr) -> float:
        """Return the largest power of a formula that is known to be conditionally negative definite, else 0.

        The formula is 0 where x = y. The powers up to 2 of ||x - y|| are, sums of such functions, and
        their powers up to 1 (Berg, Christensen and Ressel 1984, corollary 3.2.10).
        """
        factor, node = self.scaled(node)
        match node:
            case _ if factor <= 0:
                return 0.0
            case ast.Call(ast.Name("norm" | "abs"), [inside]) if self.is_difference(inside):
                return 2.0
            case ast.Call(ast.Name("dot"), [one, other]) if self.is_difference(one):
                return float(ast.dump(one) == ast.dump(other))
            case ast.Call(ast.Name("sum"), [inside]):
                return float(self.power(inside) >= 1)
            case ast.Call(ast.Name("sqrt"), [inside]):
                return 2 * self.power(inside)
            case ast.BinOp(left, ast.Pow(), right) if (exponent := self.number(right)) > 0:
                even = self.is_difference(left) and exponent % 2 == 0
                return (2.0 if even else self.power(left)) / exponent
            case ast.BinOp(left, ast.Add(), right):
                return float(min(self.power(left), self.power(right)) >= 1)
        return 0.0

    def scaled(self, node: ast.expr) -> tuple[float, ast.expr]:
        """Return the number that a formula has as a factor, and the rest."""
        match node:
            case ast.UnaryOp(ast.USub(), rest):
                factor = -1.0
            case ast.BinOp(rest, ast.Mult(), number) if self.number(number):
                factor = self.number(number)
            case ast.BinOp(number, ast.Mult(), rest) if self.number(number):
                factor = self.number(number)
            case ast.BinOp(rest, ast.Div(), number) if self.number(number):
                factor = 1 / self.number(number)
            case _:
                return 1.0, node
        more, rest = self.scaled(rest)
        return factor * more, rest

    def number(self, node: ast.expr) -> float:
        """Return the number that a node stands for, else 0."""
        return float(self.values[node]) if is_number(self.values[node]) else 0.0

    def is_difference(self, node: ast.expr) -> bool:
        return ast.unparse(node) in ("x - y", "y - x")


# What a model file may hold, by the names of the classes.
SAVED: tuple[type[Kernel], ...] = (*FORMULAS.values(), *COMPOSITES, PointFormula)
CLASSES: dict[str, type[Kernel]] = {cls.__name__: cls for cls in SAVED}


# --------------------------------------------------------------------------------- the list of all


@dataclass(frozen=True)
class KernelEntry:
    """One kernel of the table.

    Attributes
    ----------
    name : str
        As an expression spells it.
    formula : str
    parameters : tuple of (str, str)
        Names and defaults.
    validity : str
        ``proven``, ``refuted`` or ``unknown``, for the default parameters.
    reason : str
        The theorem, closure rule or refutation.
    """

    name: str
    formula: str
    parameters: tuple[tuple[str, str], ...]
    validity: str
    reason: str

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self.parameters)
        about = [f"parameters: {parameters}"] if parameters else []
        lines = [
            textwrap.fill(text, WIDTH, initial_indent=" " * 16, subsequent_indent=" " * 18)
            for text in [*about, f"{self.validity}: {self.reason}"]
        ]
        return "\n".join([f"{self.name:16}{self.formula}", *lines])


class KernelTable(tuple[KernelEntry, ...]):
    """All kernels, as a tuple that prints as a table.

    Examples
    --------
    >>> import gramian
    >>> [row.name for row in gramian.kernels.table()][:4]
    ['linear', 'poly', 'rbf', 'laplacian']
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def table() -> KernelTable:
    """Return all kernels and combinations with formula, parameters and validity.

    Returns
    -------
    KernelTable
        One entry for each kernel and combination; prints as a table.

    Examples
    --------
    >>> from gramian.kernels import table
    >>> next(row.formula for row in table() if row.name == "poly")
    '(gamma x . y + coef0)^degree'
    """
    k = Linear()
    combinations = [
        ("k1 + k2", "k1(x, y) + k2(x, y)", k + RBF()),
        ("k1 * k2", "k1(x, y) k2(x, y)", k * RBF()),
        ("c * k", "c k(x, y)", 2.0 * k),
        ("k ** p", "k(x, y)^p", k**2),
        ("exp(k)", "exp(k(x, y))", k.exp()),
        ("k.normalized()", "k(x, y) / sqrt(k(x, x) k(y, y))", k.normalized()),
        ("k.on(columns)", "k of some columns", k.on(0, 1)),
    ]
    return KernelTable(
        [_entry(name, cls.general, cls(), cls().get_params(deep=False)) for name, cls in FORMULAS.items()]
        + [_entry("a function", FunctionKernel.general, FunctionKernel(max))]
        + [_entry("a formula", PointFormula.general, PointFormula("x*y"))]
        + [KernelEntry("precomputed", "K[i, j]", (), "unknown", ONLY_EIGENVALUES)]
        + [_entry(name, formula, kernel, when=" if its parts are") for name, formula, kernel in combinations]
    )


def _entry(
    name: str, formula: str, kernel: Kernel, params: Mapping[str, Any] | None = None, when: str = ""
) -> KernelEntry:
    validity, shown = kernel.validity, tuple((key, repr(value)) for key, value in (params or {}).items())
    return KernelEntry(name, formula, shown, f"{validity.status}{when}", validity.reason)


# ---- Formulas of two rows, such as ``min(x, y)`` or ``log(1 + linear)``, evaluated for many rows at once

MOST = 1 << 22  # numbers of an intermediate array


def _norm(a: Any) -> Any:
    return np.sqrt(np.sum(np.square(a), axis=-1, keepdims=True))


# Their numbers of arguments; those of columns give one number, all others one for each column.
FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
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


@dataclass(frozen=True, eq=False)
class Points:
    """A formula as a function of many rows at once.

    Attributes
    ----------
    formula : callable
        From rows (n, d) and (m, d) to values that broadcast to (n, m, d), or (n, m, 1) for one number.
    kernels : dict of ast.expr to Kernel
        The parts that are expressions of kernels.
    """

    formula: Callable[[npt.NDArray[Any], npt.NDArray[Any]], Any]
    kernels: Mapping[ast.expr, Kernel] = field(default_factory=dict)

    def __call__(self, X: npt.NDArray[Any], Y: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the values of shape (n, m), or (n, m, d) where the formula has one for each column."""
        size = max(1, MOST // max(1, len(Y) * X.shape[1]))
        return np.concatenate([self._block(X[rows], Y) for rows in slices(len(X), size)])

    def _block(self, X: npt.NDArray[Any], Y: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        with np.errstate(all="ignore"):
            values = np.asarray(self.formula(X, Y), dtype=np.float64)
        width = values.shape[2] if values.ndim else 1
        values = np.broadcast_to(values, (len(X), len(Y), width))
        return values[:, :, 0] if values.shape[2] == 1 else values


POINTS = {"x": Points(lambda X, Y: X[:, None, :]), "y": Points(lambda X, Y: Y[None, :, :])}


def applied(function: Callable[..., Any], *points: Points) -> Points:
    """Return a function of the values of formulas."""
    kernels = {node: kernel for point in points for node, kernel in point.kernels.items()}
    return Points(lambda X, Y: function(*(point.formula(X, Y) for point in points)), kernels)


def points_of(value: Any, node: ast.expr) -> Points:
    """Return what a node stands for as a formula, where it is a kernel or a number."""
    if isinstance(value, Kernel):
        return Points(lambda X, Y: np.asarray(value.gram(X, Y), dtype=np.float64)[:, :, None], {node: value})
    return value if isinstance(value, Points) else Points(lambda X, Y: np.float64(value))
