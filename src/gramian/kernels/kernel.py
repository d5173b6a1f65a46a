"""What a kernel is: a function of two rows that stores its arguments, prints as a formula and combines."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Self

import numpy as np

from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.kernels.arithmetic import check_rows, is_number
from gramian.kernels.evaluator import Evaluator, gram_matrix
from gramian.kernels.validity import Validity, unknown
from gramian.records import BoundKind, Calls, FloatArray

__all__ = ["Kernel"]

# How tightly an expression binds: sums, products, powers, and what needs no brackets.
SUM, PRODUCT, POWER, ATOM = range(4)


class Kernel(ABC):
    """A function k(x, y) of two rows.

    Kernels store their arguments untouched, compare by value, and combine: ``k1 + k2``, ``k1 * k2``,
    ``3 * k``, ``k ** 2``, ``exp(k)``, :meth:`normalized`, :meth:`on`, :meth:`after`. ``repr`` gives the
    expression that :func:`gramian.kernels.kernel_from_name` reads, ``str`` the formula.

    Attributes
    ----------
    validity : Validity
        Whether every Gram matrix is positive semi-definite, with the proof.
    psd : bool
        Whether that is proven.
    """

    # NumPy's numbers leave ``3 * k`` to the kernel.
    __array_ufunc__ = None

    name: str = ""
    binds: int = ATOM
    stationary: bool = False
    # Whether shifting all rows alike leaves the centred Gram matrix as it is.
    shifts_out: bool = False
    # Whether every positive power of the kernel is a kernel too (infinitely divisible).
    divisible: bool = False
    # Kind of the bound on evaluation errors.
    error_kind: BoundKind = "deterministic"

    # ------------------------------------------------------- for the user

    def gram(self, X: Any, Y: Any = None) -> Any:
        """Return the Gram matrix k(x_i, y_j).

        Parameters
        ----------
        X : array of shape (n, d)
        Y : array of shape (m, d), optional
            X itself when left out; then the matrix is exactly symmetric and, for a stationary kernel,
            its diagonal exactly k(x, x).

        Returns
        -------
        array of shape (n, m)
            float32 for float32 rows where its range holds the values, else float64. Values are computed in
            float64 either way.
        """
        X = check_rows("X", X)
        if not X.shape[0]:
            raise DataError("X has no rows: a Gram matrix needs at least one.")
        if Y is not None:
            Y = check_rows("Y", Y)
            if X.shape[1] != Y.shape[1]:
                raise DataError(
                    f"X has {X.shape[1]} columns and Y has {Y.shape[1]}: a kernel takes two rows alike."
                )
        return gram_matrix(self.bind(X), X, Y)

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """Return :meth:`gram`."""
        return self.gram(X, Y)

    @property
    def validity(self) -> Validity:
        """Whether every Gram matrix is positive semi-definite, with the proof or what speaks against it."""
        try:
            self.check()
        except ParameterError as error:
            return unknown(str(error), repr(self))
        found = self.judge()
        return Validity(found.status, found.reason, repr(self), found.parts)

    @property
    def psd(self) -> bool:
        """Whether every Gram matrix is proven positive semi-definite."""
        return self.validity.proven

    @property
    def formula(self) -> str:
        """The formula, with the parameters in their places."""
        return repr(self)

    def normalized(self) -> Kernel:
        """Return ``k(x, y) / sqrt(k(x, x) k(y, y))``; 0 where k(x, x) is 0."""
        return _make("normalized", "Normalized", self)

    def on(self, *columns: Any) -> Kernel:
        """Return the kernel on some columns only: ``k.on(0, 2)``, ``k.on("age")``, ``k.on(slice(3))``."""
        return _make("transformed", "OnColumns", self, columns[0] if len(columns) == 1 else columns)

    def after(self, map: Any) -> Kernel:
        """Return ``k(map(x), map(y))``.

        Parameters
        ----------
        map : callable or object with a ``transform`` method
            Takes rows (n, d), returns rows (n, d'), each from the row in its place alone.
        """
        return _make("transformed", "After", self, map)

    def exp(self) -> Kernel:
        """Return ``exp(k(x, y))``."""
        return _make("powers", "Exp", self)

    def feature_map(self, n_features: int, **options: Any) -> Any:
        """Return the explicit map phi with ``k(x, y) = phi(x) . phi(y)``, where one can be written down.

        Raises
        ------
        ParameterError
            For a kernel whose feature map is not known or infinite.
        """
        raise ParameterError(
            f"{self!r} has no feature map that can be written down. The kernels linear, poly and rbf have "
            "one (rbf: the first terms of it); gramian.RandomFourierMap approximates rbf with few features."
        )

    # ------------------------------------------------------------ algebra

    def __add__(self, other: Any) -> Kernel:
        return _make("algebra", "Sum", self, _constant(other)) if _combines(other) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return _make("algebra", "Sum", _constant(other), self) if is_number(other) else NotImplemented

    def __sub__(self, other: Any) -> Kernel:
        return _make("algebra", "Sum", self, -_constant(other)) if _combines(other) else NotImplemented

    def __rsub__(self, other: Any) -> Kernel:
        return _make("algebra", "Sum", _constant(other), -self) if is_number(other) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if is_number(other):
            return _make("algebra", "Scaled", self, other)
        return _make("algebra", "Product", self, other) if isinstance(other, Kernel) else NotImplemented

    def __rmul__(self, other: Any) -> Kernel:
        return _make("algebra", "Scaled", self, other) if is_number(other) else NotImplemented

    def __truediv__(self, other: Any) -> Kernel:
        return (
            _make("algebra", "Scaled", self, 1 / other) if is_number(other) and other != 0 else NotImplemented
        )

    def __neg__(self) -> Kernel:
        return _make("algebra", "Scaled", self, -1)

    def __pow__(self, exponent: Any) -> Kernel:
        return _make("powers", "Power", self, exponent) if is_number(exponent) else NotImplemented

    # --------------------------------------------------------- parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, those of kernels inside as ``kernel__name``."""
        if type(self).__init__ is object.__init__:
            return {}
        found = {name: getattr(self, name) for name in _defaults(type(self))}
        if deep:
            for name, value in list(found.items()):
                if isinstance(value, Kernel):
                    found |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of kernels inside as ``kernel__name=value``."""
        allowed = self.get_params(deep=False)
        for name, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            own, _, inner = name.partition("__")
            if own not in allowed or (inner and not isinstance(getattr(self, own), Kernel)):
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}. "
                    f"It has: {', '.join(allowed) or 'none'}."
                )
            if inner:
                getattr(self, own).set_params(**{inner: value})
            else:
                setattr(self, own, value)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel) or type(self) is not type(other):
            return False
        mine, theirs = self.meaning(), other.meaning()
        return all(_same(value, theirs[name]) for name, value in mine.items())

    def __hash__(self) -> int:
        return hash((type(self), tuple(_hashable(v) for v in self.meaning().values())))

    def meaning(self) -> dict[str, Any]:
        """Return the parameters by which kernels are compared."""
        return self.get_params(deep=False)

    def __repr__(self) -> str:
        defaults = _defaults(type(self))
        given = [
            f"{name}={literal(value)}"
            for name, value in self.get_params(deep=False).items()
            if not _same(value, defaults[name])
        ]
        return f"{self.name or type(self).__name__}({', '.join(given)})"

    def __str__(self) -> str:
        try:
            return self.formula
        except (KeyError, TypeError, ValueError):
            # Parameters that mean nothing have no place in a formula, but can be shown.
            return repr(self)

    # ------------------------------------------------- for each formula

    def check(self) -> None:  # noqa: B027 - most have nothing to refuse
        """Refuse parameters that mean nothing, whatever the data.

        Raises
        ------
        ParameterError
        """

    @abstractmethod
    def judge(self) -> Validity:
        """Return what is known about its being a kernel, for parameters that :meth:`check` lets pass."""

    def series(self, order: int) -> Any:
        """Return the Taylor series of f where ``k(x, y) = f(x . y)`` for one feature, else None."""
        return None

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel with every parameter that depends on the data filled in.

        Parameters
        ----------
        X : array of shape (n, d)
        names : sequence of str, optional
            Names of the columns, for kernels on some of them.
        """
        self.check()
        return self

    @abstractmethod
    def bind(
        self,
        X: Any,
        precision: float = 1e-9,
        *,
        centered: bool = False,
        names: Sequence[str] | None = None,
    ) -> Evaluator:
        """Bind to fitted rows: fill in parameters, choose how distances are formed, bound the error.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows that the kernel will be evaluated on.
        precision : float
            Largest error of an entry, relative to the largest, that is accepted before differences are
            summed directly.
        centered : bool
            Whether only the centred Gram matrix is wanted, so that rows may be shifted where that leaves it
            as it is.
        names : sequence of str, optional
            Names of the columns.
        """

    def calls(self, X: Any) -> Calls | None:
        """Return what values cost where a user's function computes them, measured on a few rows.

        Parameters
        ----------
        X : array of shape (n, d)
            For a kernel that was resolved on these rows.
        """
        return None

    @property
    def kinks(self) -> str:
        """Why the kernel has no derivative by x that could be followed, as a sentence; "" where it has one.

        A kernel without kinks implements ``slopes`` and ``diagonal_slopes``, on which pre-images rest.
        """
        return f"No derivative of {self!r} is known."

    def floor(self, d: int) -> FloatArray:
        """Return the least value that the kernel takes in each of d columns; minus infinity for most."""
        return np.full(d, -np.inf)

    def graded(self, bound: Any) -> float:
        """Return c with errors of at most ``c sqrt(k(x, x) k(y, y))``, however small that is; inf if unknown.

        Parameters
        ----------
        bound : Evaluator
            This kernel bound to rows.
        """
        return np.inf

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return tuple(v for v in self.get_params(deep=False).values() if isinstance(v, Kernel))


@cache
def _defaults(cls: type[Kernel]) -> dict[str, Any]:
    """Return what the constructor's parameters are when left out."""
    parameters = inspect.signature(cls.__init__).parameters
    return {name: parameter.default for name, parameter in parameters.items() if name != "self"}


def _make(module: str, name: str, *arguments: Any) -> Kernel:
    """Combine kernels, into what is a kernel itself: its module comes after this one."""
    made: Kernel = getattr(import_module(f"gramian.kernels.{module}"), name)(*arguments)
    return made


def _combines(other: Any) -> bool:
    return isinstance(other, Kernel) or is_number(other)


def _constant(value: Any) -> Any:
    return value if isinstance(value, Kernel) else _make("inner_products", "Constant", value)


def leaves(kernel: Kernel) -> list[Kernel]:
    """Return the kernels at the ends of an expression."""
    return [leaf for part in kernel.parts for leaf in leaves(part)] if kernel.parts else [kernel]


def bracketed(kernel: Kernel, least: int) -> str:
    """Return the expression, in brackets where it binds less tightly than ``least``."""
    return repr(kernel) if kernel.binds >= least else f"({kernel!r})"


def as_kernel(name: str, value: Any) -> Kernel:
    """Return a kernel that another one is made of, or refuse what is none."""
    if not isinstance(value, Kernel):
        raise InputTypeError(f"{name}={value!r} is no kernel object such as gramian.kernels.RBF(sigma=2.0).")
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple, np.ndarray)) or isinstance(b, (list, tuple, np.ndarray)):
        return np.ndim(a) == np.ndim(b) == 1 and len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tuple(value.ravel().tolist())
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(v) for v in value)
    if isinstance(value, dict):
        return tuple(sorted((str(k), _hashable(v)) for k, v in value.items()))
    if isinstance(value, slice):
        return value.start, value.stop, value.step
    try:
        return hash(value)
    except TypeError:
        return id(value)


def literal(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        inside = ", ".join(literal(v) for v in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, np.generic):
        value = value.item()
    return getattr(value, "__name__", None) or repr(value)
