"""The base class of kernels, and kernels made of kernels: their values and the bounds on their errors.

The closure table in ``facts.py`` says what a combination keeps of its parts' facts.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse

from gramian.core import arrays
from gramian.core.arrays import namespace, to_numpy
from gramian.core.checks import check_number, listed
from gramian.core.records import BoundKind, Calls, FloatArray
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.kernels import arithmetic, evaluator
from gramian.kernels.arithmetic import FUNCTION_ULPS, TINY, UNIT
from gramian.kernels.facts import CLOSURE, Facts, Rule, Validity, proven, refuted, unknown

# How tightly an expression binds: sums, products, powers, and what needs no brackets.
SUM, PRODUCT, POWER, ATOM = range(4)
# Smallest k(x, x) whose rounding is not that of underflow.
SAFE = 1e-280
# Relative and absolute bound on the error of an entry, and a bound on the entry.
Bounds = tuple[float, float, float]
TAKE_SPARSE = (
    "Those that do: linear, poly, sigmoid, cosine, rbf, rq, matern with nu=1.5 or 2.5, and sums, products, "
    "multiples, powers, exp and normalized() of them. Or pass X.toarray(), of a frame X.sparse.to_dense()."
)


class Kernel(ABC):
    """A function k(x, y) of two rows.

    Kernels store their arguments untouched, compare by value, and combine: ``k1 + k2``, ``k1 * k2``,
    ``3 * k``, ``k ** 2``, ``exp(k)``, :meth:`normalized`, :meth:`on`. ``repr`` gives the
    expression that :func:`gramian.kernels.kernel_from_name` reads, ``str`` the formula.

    Attributes
    ----------
    validity : Validity
        Whether every Gram matrix is positive semidefinite, with the proof.
    psd : bool
        Whether that is proven.

    Examples
    --------
    >>> from gramian.kernels import RBF, Linear
    >>> kernel = RBF(sigma=2.0) + 0.5 * Linear() ** 2
    >>> kernel
    rbf(sigma=2.0) + 0.5 * linear() ** 2
    >>> kernel.psd, (RBF(sigma=2.0) - Linear()).psd
    (True, False)
    >>> round(kernel([0.0, 1.0], [1.0, 1.0]), 4)
    1.3825
    """

    # NumPy's numbers leave ``3 * k`` to the kernel.
    __array_ufunc__ = None

    name: str = ""
    # The formula with the names of its parameters.
    general: str = ""
    binds: int = ATOM
    # Whether it is a function of the Euclidean distance with derivatives: searches for pre-images need them.
    smooth: bool = False
    # ------------------------------------------------------- for the user

    def gram(self, X: Any, Y: Any = None) -> Any:
        """Return the Gram matrix k(x_i, y_j).

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Rows.
        Y : array or sparse matrix of shape (m, d), optional
            X itself when left out, or where the same array is given; then the matrix is exactly symmetric
            and, for a stationary kernel, its diagonal exactly k(x, x).

        Returns
        -------
        array of shape (n, m)
            float32 for float32 rows where its range holds the values, else float64. Values are computed in
            float64 either way.

        Raises
        ------
        DataError
            For rows that are empty, not finite, of two widths, or outside the kernel's domain, and for values
            beyond float64.
        ParameterError
            For a parameter of the kernel outside its range, and for two tables where a width depends on the
            rows, such as ``gamma="median"``: :meth:`resolve` fills it in from one of them.
        """
        Y = None if Y is X else Y  # then half of the matrix is evaluated
        if Y is not None:
            self.check_numbers("two tables of rows would give it two values")
        X = arithmetic.check_rows("X", X, accept_sparse=True)
        if not X.shape[0]:
            raise DataError("X has no rows: a Gram matrix needs at least one.")
        if Y is not None:
            Y = arithmetic.check_rows("Y", Y, accept_sparse=True)
            if X.shape[1] != Y.shape[1]:
                raise DataError(f"X has {X.shape[1]} columns and Y has {Y.shape[1]}: they must be the same.")
            Y = arrays.alike(Y, X)
        return evaluator.gram_matrix(self.bind(X), X, Y)

    def centered_gram(self, X: Any, new: Any = None) -> Any:
        """Return the Gram matrix of rows centred in feature space, as kernel PCA decomposes it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The rows whose mean in feature space is subtracted.
        new : array or sparse matrix of shape (m, d), optional
            Other rows, centred by the mean of X.

        Returns
        -------
        array of shape (n, n), or (m, n) with ``new``
            Entry i, j is ``(phi(x_i) - m) . (phi(x_j) - m)``, m the mean of phi over X:
            ``k(x_i, x_j) - t_i - t_j + r``, t the means over X of the rows of k, and r their mean. float64.

        Raises
        ------
        DataError
            As :meth:`gram`.

        References
        ----------
        Schoelkopf, Smola and Mueller (1998), Nonlinear component analysis as a kernel eigenvalue problem,
        appendix A.

        Examples
        --------
        >>> from gramian.kernels import Polynomial
        >>> Polynomial(degree=1, gamma=1.0).centered_gram([[0.0], [2.0]], [[5.0]])
        array([[-4.,  4.]])
        """
        K = arrays.to_float64(self.gram(X))
        xp = namespace(K)
        t = xp.mean(K, axis=0)
        if new is None:
            return K - t[:, None] - t[None, :] + xp.mean(t)
        # Widths that depend on data are those of X here as well.
        kernel = self.resolve(arithmetic.check_rows("X", X, accept_sparse=True))
        values = arrays.to_float64(kernel.gram(new, X))
        return values - xp.mean(values, axis=1)[:, None] - t[None, :] + xp.mean(t)

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """Return the value of two numbers or vectors, or the Gram matrix of rows (:meth:`gram`).

        Parameters
        ----------
        X, Y : float, array-like of shape (d,), or as for :meth:`gram`
            Two numbers, two vectors, or rows.

        Returns
        -------
        float, or array of shape (n, m)
            The number k(X, Y) for two numbers or vectors. The matrix is float64, also for float32 rows.

        Raises
        ------
        ParameterError
            As :meth:`gram`, also where Y is X: the fit of scikit-learn's SVC calls so, its ``predict`` with
            other rows.

        Examples
        --------
        >>> from gramian.kernels import Polynomial
        >>> Polynomial(degree=2, gamma=1.0)([5, 10], [-1, 2])
        256.0
        >>> Polynomial(degree=2, gamma=1.0)(2.0, 1.0)
        9.0
        """
        if Y is not None and np.ndim(X) == np.ndim(Y) < 2:
            if np.ndim(X) == 0:
                X, Y = [X], [Y]
            return float(arrays.as_float64(self.gram([to_numpy(X)], [to_numpy(Y)]))[0, 0])
        if Y is not None:
            self.check_numbers("a fit and its predictions would give it different values")
        return self.gram(*((_double(X),) if Y is None or Y is X else (_double(X), _double(Y))))

    def check_numbers(self, why: str) -> None:
        """Raise an error for a parameter that is still to be computed from rows, such as "median".

        Parameters
        ----------
        why : str
            What speaks against computing it from the rows of the call.

        Raises
        ------
        ParameterError
        """
        for kernel in self.parts:
            kernel.check_numbers(why)

    @property
    def validity(self) -> Validity:
        """Whether every Gram matrix is positive semidefinite, with the proof or what speaks against it."""
        try:
            self.check()
        except ParameterError as error:
            return unknown(str(error), repr(self))
        return self._named(self.facts.validity)

    def _named(self, validity: Validity) -> Validity:
        proofs = validity.parts
        if self.parts:
            proofs = tuple(kernel._named(proof) for kernel, proof in zip(self.parts, proofs, strict=False))
        return replace(validity, formula=repr(self), parts=proofs)

    @property
    def psd(self) -> bool:
        """Whether every Gram matrix is proven positive semidefinite."""
        return self.validity.proven

    @property
    def formula(self) -> str:
        """The formula, with the numbers given in the places of the parameters."""
        return self.filled_in(self.general or repr(self))

    def filled_in(self, text: str) -> str:
        """Return a formula with numbers for the parameters that are known without data."""
        values = {
            n: v for n, v in self.get_params(deep=False).items() if not isinstance(v, (str, type(None)))
        }
        return re.sub(r"[a-z]\w*", lambda word: short(values.get(word[0], word[0])), text)

    def normalized(self) -> Kernel:
        """Return ``k(x, y) / sqrt(k(x, x) k(y, y))``; 0 where k(x, x) is 0."""
        return Normalized(self)

    def on(self, *columns: Any) -> Kernel:
        """Return the kernel on some columns only: ``k.on(0, 2)``, ``k.on("age")``.

        Parameters
        ----------
        *columns : int or str
            Places, counted from 0, or names of columns.

        Returns
        -------
        OnColumns
            Ignores the other columns.
        """
        return OnColumns(self, columns[0] if len(columns) == 1 else columns)

    def exp(self) -> Kernel:
        """Return ``exp(k(x, y))``."""
        return Exp(self)

    # ------------------------------------------------------------ algebra

    def __add__(self, other: Any) -> Any:
        return _sum(self, other)

    def __radd__(self, other: Any) -> Any:
        return _sum(other, self)

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1)

    def __rsub__(self, other: Any) -> Any:
        return _sum(other, self, -1)

    def __mul__(self, other: Any) -> Kernel:
        if arithmetic.is_number(other):
            return Scaled(self, other)
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Kernel:
        return Scaled(self, 1 / other) if arithmetic.is_number(other) and other != 0 else NotImplemented

    def __neg__(self) -> Kernel:
        return Scaled(self, -1)

    def __pow__(self, exponent: Any) -> Kernel:
        return Power(self, exponent) if arithmetic.is_number(exponent) else NotImplemented

    # --------------------------------------------------------- parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, those of kernels inside as ``kernel__name``.

        Parameters
        ----------
        deep : bool, default=True
            Include those of kernels inside.

        Returns
        -------
        dict of str to object
            The parameters.
        """
        entries = {name: getattr(self, name) for name in _defaults(type(self))}
        if deep:
            for name, value in list(entries.items()):
                if isinstance(value, Kernel):
                    entries |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return entries

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of kernels inside as ``kernel__name=value``.

        Parameters
        ----------
        **params
            New values by name.

        Returns
        -------
        self
            The changed kernel.

        Raises
        ------
        ParameterError
            For a name that is no parameter. Values are checked when the kernel is used.
        """
        allowed = self.get_params(deep=False)
        for name, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            head, _, inner = name.partition("__")
            if head not in allowed or (inner and not isinstance(getattr(self, head), Kernel)):
                available = ", ".join(allowed) or "none"
                raise ParameterError(
                    name, allowed=f"is no parameter of {type(self).__name__}. It has: {available}"
                )
            if inner:
                getattr(self, head).set_params(**{inner: value})
            else:
                setattr(self, head, value)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel) or type(self) is not type(other):
            return False
        return bool(_plain(self.meaning()) == _plain(other.meaning()))

    def __hash__(self) -> int:
        return hash((type(self), _plain(self.meaning())))

    def meaning(self) -> dict[str, Any]:
        """Return the parameters by which kernels are compared."""
        return self.get_params(deep=False)

    def __repr__(self) -> str:
        defaults = _defaults(type(self))
        arguments = [
            f"{name}={literal(value)}"
            for name, value in self.get_params(deep=False).items()
            if _plain(value) != _plain(defaults[name])
        ]
        return f"{self.name or type(self).__name__}({', '.join(arguments)})"

    def __str__(self) -> str:
        return self.formula

    # ------------------------------------------------- for each formula

    def check(self) -> None:  # noqa: B027  # many kernels have no parameters
        """Raise an error for parameters that are invalid for any data.

        Raises
        ------
        ParameterError
        """

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """What is known of the kernel, for parameters that :meth:`check` lets pass."""

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel with numbers for all parameters that depend on the data.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows that widths and factors are computed from.
        names : sequence of str, optional
            Names of the columns, for kernels on some of them.

        Returns
        -------
        Kernel
            A kernel that no longer depends on data.
        """
        self.check()
        return self

    @property
    def takes_sparse(self) -> bool:
        """Whether it needs only inner products of rows, so that sparse rows stay sparse."""
        return False

    def admit_sparse(self, X: Any) -> None:
        """Raise an error for sparse rows if the kernel needs every entry.

        Raises
        ------
        DataError
        """
        if sparse.issparse(X) and not self.takes_sparse:
            raise DataError(f"X is sparse, and {self!r} takes no sparse rows. {TAKE_SPARSE}")

    def bind(self, X: Any, precision: float = 1e-9, *, centered: bool = False) -> evaluator.Evaluator:
        """Bind to fitted rows: fill in parameters, choose how to compute distances, bound the error.

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
        """
        self.admit_sparse(X)
        X = arrays.as_csr(X) if sparse.issparse(X) else X
        return self.resolve(X).bound_to(X, precision, centered)

    @abstractmethod
    def bound_to(self, X: Any, precision: float, centered: bool) -> evaluator.Evaluator:
        """Return the evaluator of :meth:`bind`, of a kernel whose parameters are all filled in."""

    def calls(self, X: Any) -> Calls | None:
        """Return the cost of values of a user's function, measured on a few rows.

        Parameters
        ----------
        X : array of shape (n, d)
            For a kernel that was resolved on these rows.
        """
        return None

    @property
    def stationary(self) -> bool:
        """Whether it depends on x - y alone."""
        return self.facts.stationary

    @property
    def error_kind(self) -> BoundKind:
        """Kind of the bound on evaluation errors."""
        return self.facts.error_kind

    def admit(self, X: Any) -> None:  # noqa: B027  # most formulas have values everywhere
        """Refuse rows on which the formula has no value.

        Raises
        ------
        DataError
        """

    def floor(self, d: int) -> FloatArray:
        """Return the least value that each of d columns may have; minus infinity for most kernels."""
        return np.full(d, self.facts.floor)

    def graded(self, bound: Any) -> float:
        """Return c with errors of at most ``c sqrt(k(x, x) k(y, y))``, however small that is; inf if unknown.

        Parameters
        ----------
        bound : Evaluator
            This kernel bound to rows.
        """
        facts = bound.facts
        if not (facts.graded or facts.unit_diagonal) or not bound.largest > 0:
            return np.inf
        return float(bound.relative + bound.absolute / bound.largest)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return ()


@cache
def _defaults(cls: type[Kernel]) -> dict[str, Any]:
    """Return what the constructor's parameters are when left out."""
    return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}


def _double(X: Any) -> Any:
    """Return float32 rows as float64 ones: a fit of scikit-learn solves with the matrix."""
    single = getattr(X, "dtype", None) is not None and arrays.numpy_dtype(X) == np.float32
    return arrays.to_float64(X) if single else X


def _sum(left: Any, right: Any, sign: int = 1) -> Any:
    """Return the sum or difference of kernels and numbers, which are constants."""
    left, right = (Constant(term) if arithmetic.is_number(term) else term for term in (left, right))
    if not isinstance(left, Kernel) or not isinstance(right, Kernel):
        return NotImplemented
    return Sum(left, right if sign > 0 else -right)


def bracketed(kernel: Kernel, least: int) -> str:
    """Return the expression, in brackets where it binds less tightly than ``least``."""
    return repr(kernel) if kernel.binds >= least else f"({kernel!r})"


def _plain(value: Any) -> Any:
    """Return a parameter as something that compares by value and has a hash."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(_plain(v) for v in value)
    if isinstance(value, dict):
        return tuple((key, _plain(v)) for key, v in sorted(value.items()))
    return value


def literal(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        inside = ", ".join(literal(v) for v in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, np.generic):
        value = value.item()
    return getattr(value, "__name__", None) or repr(value)


def short(value: Any) -> str:
    """Return a parameter as it stands in a formula: a number in at most six digits."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"({', '.join(map(short, value))})"
    return f"{value:g}" if isinstance(value, Real) else str(value)


# ---------------------------------------------------------------------- kernels made of kernels


class Composite(Kernel):
    """A kernel whose values are computed from those of other kernels."""

    # Whether centring the whole centres every part, as it does for sums.
    additive: bool = False

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    @property
    def takes_sparse(self) -> bool:
        return all(kernel.takes_sparse for kernel in self.parts)

    # What follows takes one argument for each part.
    def combine(self, *values: Any, **_: Any) -> Any:
        """Return the values, from those of the parts; the first may be written into."""
        return values[0]

    def error_bounds(self, *evaluators: Any, **_: Any) -> Bounds:
        """Return bounds of the error and size of an entry, from those of the parts."""
        return evaluators[0].relative, evaluators[0].absolute, evaluators[0].largest

    def rule(self, *facts: Facts) -> Rule:
        """Return the row of the closure table that applies."""
        return CLOSURE[self.name]

    @property
    def facts(self) -> Facts:
        """What follows from the facts of the parts."""
        inner_facts = [kernel.facts for kernel in self.parts]
        return self.rule(*inner_facts).facts(self, inner_facts)

    def graded(self, bound: Any) -> float:
        rule = self.rule(*(inner.facts for inner in bound.parts))
        if rule.graded is None or not bound.facts.validity.proven:
            return np.inf
        return float(rule.graded(bound, *(inner.kernel.graded(inner) for inner in bound.parts)))

    def floor(self, d: int) -> FloatArray:
        """Return the largest of the parts' least values, column by column."""
        seen, result = np.arange(d)[self.sees], np.full(d, -np.inf)
        result[seen] = np.max([kernel.floor(len(seen)) for kernel in self.parts], axis=0)
        return result

    def check(self) -> None:
        for kernel in self.parts:
            if not isinstance(kernel, Kernel):
                raise InputTypeError(
                    f"{kernel!r} is no kernel object such as gramian.kernels.RBF(sigma=2.0)."
                )
            kernel.check()

    @property
    def sees(self) -> Any:
        """Which columns of the rows the parts see, as an index."""
        return slice(None)

    def rows(self, X: Any) -> Any:
        """Return the rows that the parts see."""
        return X

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        seen = self.rows(X)
        values = self.get_params(deep=False)
        kernels = {n: v.resolve(seen, names) for n, v in values.items() if isinstance(v, Kernel)}
        return type(self)(**values | kernels)

    def bound_to(self, X: Any, precision: float, centered: bool) -> evaluator.Evaluator:
        seen = self.rows(X)
        # Where only the centred matrix matters, that is true of sums' parts as well.
        evaluators = (kernel.bound_to(seen, precision, centered and self.additive) for kernel in self.parts)
        return self.joined(seen, tuple(evaluators))

    def joined(self, seen: Any, evaluators: tuple[evaluator.Evaluator, ...]) -> evaluator.Evaluator:
        """Return the evaluator that joins those of the parts, refusing what overflows."""
        relative, absolute, largest = self.error_bounds(*evaluators)
        if not np.isfinite(largest):
            raise DataError(f"{self!r} overflows on this data. Scale the data or the kernels in it first.")
        widths = tuple(int(inner.encode(seen[:1, :])[0].shape[1]) for inner in evaluators)
        return CompositeEvaluator(self, relative, absolute, largest, parts=evaluators, widths=widths)

    def calls(self, X: Any) -> Calls | None:
        """Return what the functions among the parts cost together."""
        few = self.rows(X[: min(100, X.shape[0]), :])
        results = [cost for kernel in self.parts if (cost := kernel.calls(few)) is not None]
        if not results:
            return None
        return Calls(sum(cost.seconds for cost in results), any(cost.scalar for cost in results))


@dataclass(frozen=True, eq=False)
class CompositeEvaluator(evaluator.Evaluator):
    """Evaluators side by side: the rows are encoded for each, one after the other.

    Attributes
    ----------
    widths : tuple of int
        How many columns of the encoded rows belong to each of the parts.
    """

    widths: tuple[int, ...] = ()

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Return the rows as factors of a tile."""
        seen = self.kernel.rows(X)
        pairs = [inner.encode(seen) for inner in self.parts]
        if len(pairs) == 1:
            return pairs[0]
        return arithmetic.hstack(*(p[0] for p in pairs)), arithmetic.hstack(*(p[1] for p in pairs))

    def tile(self, left: Any, right: Any, out: Any = None) -> Any:
        """Return a block of kernel values."""
        values = [
            inner.tile(left[:, columns], right[:, columns], out if columns.start == 0 else None)
            for inner, columns in self._shares()
        ]
        return self.kernel.combine(*values)

    def _shares(self) -> list[tuple[evaluator.Evaluator, slice]]:
        """The parts with their columns of the encoded rows."""
        ends = pairwise(accumulate(self.widths, initial=0))
        return [(inner, slice(*share)) for inner, share in zip(self.parts, ends, strict=True)]

    def diagonal(self, X: Any) -> Any:
        """Return k(x, x) of every row."""
        seen = self.kernel.rows(X)
        return self._joined(*(inner.diagonal(seen) for inner in self.parts))

    def _joined(self, first: Any, *others: Any) -> Any:
        # A copy: it is written into, and the formula of a user may give a column of the data itself.
        return self.kernel.combine(namespace(first).asarray(first, copy=True), *others)


class Constant(Kernel):
    """k(x, y) = c: a combination of no kernels.

    Parameters
    ----------
    value : float
        At least 0 for a kernel.

    Examples
    --------
    >>> from gramian.kernels import Constant, Linear
    >>> (Linear() + Constant(2.0)).gram([[1.0], [3.0]])
    array([[ 3.,  5.],
           [ 5., 11.]])
    """

    name = "constant"
    general = "value"
    takes_sparse = True

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    @property
    def facts(self) -> Facts:
        valid = self.value >= 0
        return Facts(
            proven("A constant >= 0: its feature map is one number.")
            if valid
            else refuted("A negative constant: one point refutes it."),
            # Powers of a constant >= 0 are constants >= 0.
            divisible=valid,
        )

    def check(self) -> None:
        check_number("value", self.value)

    def __neg__(self) -> Kernel:
        return Constant(-self.value)

    def bound_to(self, X: Any, precision: float, centered: bool) -> evaluator.Evaluator:
        return evaluator.Evaluator(self, 0.0, 0.0, abs(float(self.value)))

    def encode(self, X: Any, direct: bool) -> tuple[Any, Any]:
        """Return a column of ones."""
        column = arithmetic.ones(X)[:, None]
        return column, column

    def tile(self, left: Any, right: Any, direct: bool, out: Any = None) -> Any:
        """Return a block of the constant."""
        return arithmetic.product(left * float(self.value), right, out)

    def diagonal(self, X: Any) -> Any:
        """Return the constant for every row."""
        return float(self.value) * arithmetic.ones(X)


class Pair(Composite):
    """A kernel made of two."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return self.left, self.right


class Sum(Pair):
    """``left + right``.

    Parameters
    ----------
    left, right : Kernel
        The parts.

    Examples
    --------
    >>> from gramian.kernels import RBF, Linear
    >>> kernel = RBF(sigma=1.0) + Linear()
    >>> kernel.gram([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 2.    ]])
    """

    name = "sum"
    additive = True
    binds = SUM

    def __repr__(self) -> str:
        left, right = self.left, self.right
        if isinstance(left, Constant) and isinstance(right, Constant):
            return f"{left!r} + {right!r}"
        first = literal(left.value) if isinstance(left, Constant) else repr(left)
        if isinstance(right, Constant):
            sign, text = ("-", literal(-right.value)) if right.value < 0 else ("+", literal(right.value))
        elif isinstance(right, Scaled) and right.factor < 0:
            plain = right.factor == -1 and not isinstance(right.kernel, (Scaled, Constant))
            sign, text = "-", bracketed(right.kernel if plain else -right, PRODUCT)
        else:
            sign, text = "+", bracketed(right, PRODUCT)
        return f"{first} {sign} {text}"

    @property
    def formula(self) -> str:
        right = self.right.formula
        return f"{self.left.formula} - {right[1:]}" if right[0] == "-" else f"{self.left.formula} + {right}"

    def combine(self, total: Any, other: Any) -> Any:
        total += other
        return total

    def error_bounds(self, a: evaluator.Evaluator, b: evaluator.Evaluator) -> Bounds:
        error = sum(term.absolute + (term.relative + UNIT) * term.largest for term in (a, b))
        return UNIT, error, a.largest + b.largest


class Product(Pair):
    """``left * right``, value by value.

    Parameters
    ----------
    left, right : Kernel
        The parts.

    Examples
    --------
    >>> from gramian.kernels import RBF, Linear
    >>> kernel = RBF(sigma=1.0).on(0) * Linear().on(1)
    >>> kernel.gram([[0.0, 1.0], [2.0, 3.0]]).round(4)
    array([[1.   , 0.406],
           [0.406, 9.   ]])
    """

    name = "product"
    binds = PRODUCT

    def __repr__(self) -> str:
        return f"{bracketed(self.left, PRODUCT)} * {bracketed(self.right, POWER)}"

    @property
    def formula(self) -> str:
        return f"({self.left.formula}) ({self.right.formula})"

    def combine(self, total: Any, other: Any) -> Any:
        total *= other
        return total

    def error_bounds(self, a: evaluator.Evaluator, b: evaluator.Evaluator) -> Bounds:
        relative = a.relative + b.relative + a.relative * b.relative + 2 * UNIT
        absolute = (1 + b.relative) * b.largest * a.absolute + (1 + a.relative) * a.largest * b.absolute
        return relative, absolute * (1 + 2 * UNIT) + a.absolute * b.absolute + TINY, a.largest * b.largest


class Scaled(Composite):
    """``factor * kernel``.

    Parameters
    ----------
    kernel : Kernel
        The part.
    factor : float
        At least 0 for a kernel.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> (3 * Linear()).gram([[1.0], [2.0]])
    array([[ 3.,  6.],
           [ 6., 12.]])
    >>> (-3 * Linear()).psd
    False
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
        return f"{short(self.factor)} {inside if self.kernel.binds == ATOM else f'({inside})'}"

    def check(self) -> None:
        super().check()
        check_number("factor", self.factor)

    def rule(self, *facts: Facts) -> Rule:
        if self.factor == 0:
            return CLOSURE["zero"]
        return CLOSURE["positive multiple" if self.factor > 0 else "negative multiple"]

    def combine(self, value: Any) -> Any:
        value *= float(self.factor)
        return value

    def error_bounds(self, a: evaluator.Evaluator) -> Bounds:
        size = abs(float(self.factor))
        return a.relative + 2 * UNIT, size * a.absolute * (1 + 2 * UNIT) + TINY, size * a.largest


class Power(Composite):
    """``kernel ** exponent``.

    Parameters
    ----------
    kernel : Kernel
        The part.
    exponent : float
        A positive whole number; a fraction for infinitely divisible kernels, such as the RBF kernel.

    Examples
    --------
    >>> from gramian.kernels import RBF, Linear
    >>> (Linear() ** 2).gram([[1.0], [3.0]])
    array([[ 1.,  9.],
           [ 9., 81.]])
    >>> (RBF(sigma=1.0) ** 0.5).psd, (Linear() ** 0.5).psd
    (True, False)
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
        return f"({self.kernel.formula})^{short(self.exponent)}"

    @property
    def whole(self) -> bool:
        """Whether the exponent is a whole number."""
        return float(self.exponent).is_integer()

    def check(self) -> None:
        super().check()
        check_number("exponent", self.exponent, above=0)

    def rule(self, *facts: Facts) -> Rule:
        if self.whole:
            return CLOSURE["whole power"]
        (inner,) = facts
        divisible = inner.divisible and inner.validity.proven
        return CLOSURE["power of a divisible kernel" if divisible else "fractional power"]

    def combine(self, value: Any) -> Any:
        if not self.whole:
            arithmetic.check_base(value, f"{self!r} has no value where {self.kernel!r} is negative")
        return value ** float(self.exponent)

    def error_bounds(self, a: evaluator.Evaluator) -> Bounds:
        p, size = float(self.exponent), a.largest * (1 + a.relative) + a.absolute
        with np.errstate(over="ignore"):
            relative = float(np.expm1(np.float64(p) * (a.relative + UNIT))) + (FUNCTION_ULPS + p) * UNIT
            # The slope of t^p is largest at the largest t; for p < 1 at 0, where it moves by a^p at most.
            absolute = p * np.float64(size) ** (p - 1) * a.absolute if p >= 1 else np.float64(a.absolute) ** p
            return relative, float(absolute) * (1 + relative) + TINY, float(np.float64(size) ** p)


class Exp(Composite):
    """``exp(kernel)``.

    Parameters
    ----------
    kernel : Kernel
        The part.

    Examples
    --------
    >>> from gramian.kernels import Exp, Linear
    >>> Exp(Linear()) == Linear().exp()
    True
    >>> Exp(Linear()).gram([[0.0], [1.0]]).round(4)
    array([[1.    , 1.    ],
           [1.    , 2.7183]])
    """

    name = "exp"

    def __repr__(self) -> str:
        return f"exp({self.kernel!r})"

    @property
    def formula(self) -> str:
        return f"exp({self.kernel.formula})"

    def combine(self, value: Any) -> Any:
        return arithmetic.exponential(value)

    def error_bounds(self, a: evaluator.Evaluator) -> Bounds:
        error = a.absolute + a.relative * a.largest
        with np.errstate(over="ignore"):
            relative = float(np.expm1(np.float64(error))) * (1 + FUNCTION_ULPS * UNIT) + FUNCTION_ULPS * UNIT
            return relative, TINY, float(np.exp(np.float64(a.largest)))


class Normalized(Composite):
    """``k(x, y) / sqrt(k(x, x) k(y, y))``, and 0 where k(x, x) is 0: the cosine in feature space.

    Parameters
    ----------
    kernel : Kernel
        The part.

    Examples
    --------
    >>> from gramian.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0).normalized().gram([[1.0], [3.0]]).round(4)
    array([[1. , 0.8],
           [0.8, 1. ]])
    """

    name = "normalized"

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)}.normalized()"

    @property
    def formula(self) -> str:
        return f"[k(x, y) / sqrt(k(x, x) k(y, y)), k = {self.kernel.formula}]"

    def joined(self, seen: Any, evaluators: tuple[evaluator.Evaluator, ...]) -> evaluator.Evaluator:
        (inner,) = evaluators
        diagonal = arrays.as_float64(inner.diagonal(seen))
        positive = diagonal[diagonal > 0]
        least = float(positive.min()) if positive.size else 1.0
        # How wrong a value can be for roots of k(x, x) and k(y, y), which are wrong by half of it each.
        error = inner.kernel.graded(inner) if least > SAFE else np.inf
        if not np.isfinite(error):
            error = inner.relative + inner.absolute / least
        # Cauchy and Schwarz bound the value by 1 for a kernel; for what may be none, its own size does.
        largest = 1.0 if inner.facts.validity.proven else max(1.0, inner.largest / least)
        absolute = (3.0 * error + 8.0 * UNIT) * largest if error < 0.1 else np.inf
        return NormalizedEvaluator(self, 0.0, absolute, largest, parts=evaluators)


class NormalizedEvaluator(CompositeEvaluator):
    """The part's evaluator, with 1 / sqrt(k(x, x)) of every row as a last column of its encoding."""

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Return the rows as factors of a tile, with a last column that scales them."""
        (inner,) = self.parts
        left, right = inner.encode(X)
        diagonal = arrays.to_float64(inner.diagonal(X))
        least = float(namespace(diagonal).min(diagonal)) if diagonal.shape[0] else 0.0
        if least < 0:
            raise DataError(f"{self.kernel!r} needs k(x, x) >= 0, but it reaches {least:.3g}.")
        inverse = _inverse_roots(diagonal)[:, None]
        return arithmetic.hstack(left, inverse), arithmetic.hstack(right, inverse)

    def tile(self, left: Any, right: Any, out: Any = None) -> Any:
        """Return a block of kernel values."""
        values = self.parts[0].tile(left[:, :-1], right[:, :-1], out)
        values *= arrays.dense(left[:, -1:])
        values *= arrays.dense(right[:, -1:]).T
        return values

    def diagonal(self, X: Any) -> Any:
        """Return 1, or 0 where k(x, x) is 0."""
        return arrays.to_float64(arrays.to_float64(self.parts[0].diagonal(X)) > 0)


def _inverse_roots(sizes: Any) -> Any:
    """Return 1 over the root of every number; 0 where it is 0."""
    xp, positive = namespace(sizes), sizes > 0
    return xp.where(positive, 1.0 / xp.sqrt(xp.where(positive, sizes, 1.0)), 0.0)


class OnColumns(Composite):
    """A kernel of some columns.

    Parameters
    ----------
    kernel : Kernel
        The part.
    columns : int, str or sequence of int or str
        Positions, counted from 0, or names of columns.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> Linear().on(0, 2).gram([[1.0, 50.0, 2.0], [3.0, 70.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    name = "on"
    additive = True
    takes_sparse = False

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        self.kernel = kernel
        self.columns = columns

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)}.on({', '.join(map(repr, self._listed()))})"

    @property
    def formula(self) -> str:
        return f"[{self.kernel.formula}] on {repr(self).rpartition('.on')[2]}"

    def meaning(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "columns": tuple(self._listed())}

    def check(self) -> None:
        super().check()
        if any(isinstance(column, bool) or not isinstance(column, (int, str)) for column in self._listed()):
            why = "must be positions such as 0, or names"
            raise ParameterError("columns", self.columns, why)

    def _listed(self) -> list[Any]:
        columns = self.columns
        if isinstance(columns, str) or not hasattr(columns, "__iter__"):
            columns = [columns]
        return [c.item() if isinstance(c, np.generic) else c for c in columns]

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        d = int(X.shape[1])
        columns = [self._position(column, d, names) for column in self._listed()]
        picked = tuple(column % d for column in columns)
        if not picked or len(set(picked)) < len(picked):
            raise ParameterError("columns", self.columns, f"must leave some of {d} columns, each once")
        picked_names = None if names is None else [names[p] for p in picked]
        kernel = OnColumns(self.kernel, picked)
        return OnColumns(self.kernel.resolve(kernel.rows(X), picked_names), picked)

    def _position(self, column: Any, d: int, names: Sequence[str] | None) -> int:
        if isinstance(column, str):
            if names is None or column not in names:
                problem = "X has no column names" if names is None else f"X has {listed(names)}"
                raise ParameterError("columns", column, f"is not there: {problem}")
            return list(names).index(column)
        if not -d <= column < d:
            why = f"is not there: X has {d}, counted from 0 to {d - 1}"
            raise ParameterError("columns", column, why)
        return int(column)

    def rows(self, X: Any) -> Any:
        return namespace(X).take(X, arrays.from_numpy(np.array(self.columns), X), axis=1)

    @property
    def sees(self) -> Any:
        return list(self.columns)


def exp(kernel: Kernel) -> Kernel:
    """Return the kernel ``exp(k(x, y))``.

    Parameters
    ----------
    kernel : Kernel
        The exponent.

    Returns
    -------
    Exp
        A kernel where its part is one.

    Examples
    --------
    >>> from gramian.kernels import Linear, exp
    >>> exp(Linear()).gram([[0.0], [1.0]]).round(4)
    array([[1.    , 1.    ],
           [1.    , 2.7183]])
    """
    return Exp(kernel)


# All that a combination can be.
COMPOSITES: tuple[type[Kernel], ...] = (Sum, Product, Scaled, Power, Exp, Normalized, OnColumns)
