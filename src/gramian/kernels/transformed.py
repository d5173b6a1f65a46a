"""Kernels of rows that are changed first: some columns only, or mapped rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from numbers import Integral
from typing import Any

import numpy as np

from gramian.arrays import from_numpy, is_numpy, namespace, to_numpy
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.kernels.composites import Bounds, Composite, CompositeEvaluator
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.kernel import ATOM, Kernel, bracketed, literal
from gramian.kernels.slopes import DiagonalSlopes, Slopes, no_slopes, scattered
from gramian.kernels.validity import Validity, proven, unknown
from gramian.records import FloatArray

__all__ = ["MAPS", "After", "OnColumns"]

# Functions that an expression can name and a model file can keep.
MAPS: dict[str, np.ufunc] = {
    "abs": np.abs,
    "cbrt": np.cbrt,
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "square": np.square,
}


class Wrapped(Composite):
    """A kernel with the values of another one, on changed rows."""

    kernel: Kernel
    additive = True

    def combine(self, *values: Any) -> Any:
        return values[0]

    def chain(self, *slopes: Slopes) -> Slopes:
        return slopes[0]

    def diagonal_chain(self, *slopes: DiagonalSlopes) -> DiagonalSlopes:
        return slopes[0]

    def bounds(self, *parts: Evaluator) -> Bounds:
        return parts[0].relative, parts[0].absolute, parts[0].largest

    def graded(self, bound: Any) -> float:
        return float(bound.parts[0].kernel.graded(bound.parts[0]))

    @property
    def divisible(self) -> bool:  # type: ignore[override]
        """As the kernel is."""
        return self.kernel.divisible


class OnColumns(Wrapped):
    """A kernel of some columns.

    Parameters
    ----------
    kernel : Kernel
    columns : int, str, slice or sequence of int or str
        Positions, counted from 0, or names of columns.
    """

    name = "on"

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        self.kernel = kernel
        self.columns = columns

    def __repr__(self) -> str:
        columns = self.columns
        if isinstance(columns, slice):
            ends = [columns.start, columns.stop] if columns.step is None else None
            text = f"slice({', '.join(map(literal, ends or [columns.start, columns.stop, columns.step]))})"
        else:
            text = ", ".join(repr(column) for column in self._listed())
        return f"{bracketed(self.kernel, ATOM)}.on({text})"

    @property
    def formula(self) -> str:
        return f"[{self.kernel.formula}] on {repr(self).rpartition('.on')[2]}"

    def meaning(self) -> dict[str, Any]:
        columns = self.columns if isinstance(self.columns, slice) else tuple(self._listed())
        return {"kernel": self.kernel, "columns": columns}

    def check(self) -> None:
        super().check()
        if isinstance(self.columns, slice):
            ends = (self.columns.start, self.columns.stop, self.columns.step)
            if self.columns.step == 0 or not all(end is None or isinstance(end, Integral) for end in ends):
                raise ParameterError(
                    f"columns={self.columns!r} must be a slice of whole numbers, its step not 0."
                )
        listed = [] if isinstance(self.columns, slice) else self._listed()
        for column in listed:
            if isinstance(column, bool) or not isinstance(column, (int, str)):
                raise ParameterError(
                    f"columns={self.columns!r} must be positions such as 0, names, or a slice."
                )
        if len(set(listed)) < len(listed) or not (listed or isinstance(self.columns, slice)):
            raise ParameterError(f"columns={self.columns!r} must name columns, each once.")

    def _listed(self) -> list[Any]:
        columns = self.columns
        if isinstance(columns, str) or not hasattr(columns, "__iter__"):
            columns = [columns]
        return [c.item() if isinstance(c, np.generic) else c for c in columns]

    def judge(self) -> Validity:
        inner = self.kernel.validity
        if inner.proven:
            return proven("A kernel of some columns is a kernel of the rows.", "", inner)
        if inner.refuted and not isinstance(self.columns, slice) and len(self._listed()) > 1:
            return Validity("refuted", "What refutes it on the columns refutes it here.", "", (inner,))
        return unknown("It is as valid as the kernel of the columns.", "", inner)

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        picked = tuple(self._positions(int(X.shape[1]), names))
        known = None if names is None else [names[p] for p in picked]
        kernel = OnColumns(self.kernel, picked)
        return OnColumns(self.kernel.resolve(kernel.rows(X), known), picked)

    def _positions(self, d: int, names: Sequence[str] | None) -> list[int]:
        if isinstance(self.columns, slice):
            found = list(range(d))[self.columns]
        else:
            found = [self._position(column, d, names) for column in self._listed()]
        if not found:
            raise ParameterError(f"columns={self.columns!r} leave nothing of {d} columns.")
        if len(set(found)) < len(found):
            raise ParameterError(f"columns={self.columns!r} name a column twice.")
        return found

    def _position(self, column: Any, d: int, names: Sequence[str] | None) -> int:
        if isinstance(column, str):
            if names is None or column not in names:
                known = "X has no column names" if names is None else f"X has {', '.join(names[:8])}"
                raise ParameterError(
                    f"There is no column {column!r}: {known}. Name another one, or a position."
                )
            return list(names).index(column)
        if not -d <= column < d:
            raise ParameterError(f"There is no column {column}: X has {d}, counted from 0 to {d - 1}.")
        return int(column) % d

    def rebuilt(self, *parts: Kernel) -> Kernel:
        return OnColumns(parts[0], self.columns)

    def rows(self, X: Any) -> Any:
        picked = list(self.columns)
        if is_numpy(X):
            return X[:, picked]
        xp = namespace(X)
        return xp.take(X, xp.asarray(picked, device=X.device), axis=1)

    def floor(self, d: int) -> FloatArray:
        found = np.full(d, -np.inf)
        found[list(self.columns)] = self.kernel.floor(len(self.columns))
        return found

    def bound(self, seen: Any, parts: tuple[Evaluator, ...]) -> Evaluator:
        made = super().bound(seen, parts)
        assert isinstance(made, CompositeEvaluator)
        return OnColumnsEvaluator(**{f.name: getattr(made, f.name) for f in fields(made)})


class OnColumnsEvaluator(CompositeEvaluator):
    """The part's evaluator; derivatives go back to the columns they belong to."""

    def slopes(self, X: Any, right: Any) -> Slopes:
        """Return a block of kernel values with their derivative by the rows of X."""
        assert isinstance(self.kernel, OnColumns)
        return scattered(super().slopes(X, right), list(self.kernel.columns), X.shape[1])

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        """Return k(x, x) with its derivative by x."""
        assert isinstance(self.kernel, OnColumns)
        inner = super().diagonal_slopes(X)
        gradient = np.zeros(X.shape)
        gradient[:, list(self.kernel.columns)] = inner.gradient
        return DiagonalSlopes(inner.values, gradient)


class After(Wrapped):
    """``k(map(x), map(y))``.

    Parameters
    ----------
    kernel : Kernel
    map : callable or object with a ``transform`` method
        Takes rows (n, d) as a float64 NumPy array and returns rows (n, d'), each from the row in its place
        alone.
    """

    name = "after"
    # What depends on map(x) - map(y) alone need not depend on x - y alone.
    stationary = False

    @property
    def kinks(self) -> str:
        """A map is a function about which nothing is known."""
        return f"The derivative of the map {self._label} is not known."

    def __init__(self, kernel: Kernel, map: Any) -> None:
        self.kernel = kernel
        self.map = map

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)}.after({self._label})"

    @property
    def formula(self) -> str:
        return f"[{self.kernel.formula}] of {self._label}(x), {self._label}(y)"

    def chain(self, *slopes: Slopes) -> Slopes:
        raise no_slopes(self.kinks)

    def diagonal_chain(self, *slopes: DiagonalSlopes) -> DiagonalSlopes:
        raise no_slopes(self.kinks)

    @property
    def _label(self) -> str:
        label = getattr(self.map, "__name__", None) or type(self.map).__name__
        return "abs" if label == "absolute" else str(label)

    def check(self) -> None:
        super().check()
        if not callable(self.map) and not hasattr(self.map, "transform"):
            raise InputTypeError(
                f"map={self.map!r} is neither a function of rows nor an object with a transform method. "
                "Pass numpy.log1p, or a fitted transformer."
            )

    def judge(self) -> Validity:
        inner = self.kernel.validity
        if inner.proven:
            return proven("A kernel of mapped rows is a kernel, whatever the map of a row is.", "", inner)
        return unknown("It is as valid as the kernel on the rows that the map can give.", "", inner)

    def rebuilt(self, *parts: Kernel) -> Kernel:
        return After(parts[0], self.map)

    def names(self, names: Sequence[str] | None) -> Sequence[str] | None:
        return names if isinstance(self.map, np.ufunc) else None

    def rows(self, X: Any) -> Any:
        given = np.array(to_numpy(X), dtype=np.float64)
        with np.errstate(all="ignore"):
            mapped = self.map.transform(given) if hasattr(self.map, "transform") else self.map(given)
        mapped = np.asarray(mapped)
        if mapped.ndim != 2 or len(mapped) != len(given) or mapped.dtype.kind not in "biuf":
            raise DataError(
                f"The map {self._label} made {mapped.dtype} of shape {mapped.shape} of {len(given)} rows. "
                "It must return numbers, a row for each."
            )
        if not np.isfinite(mapped).all():
            row, column = (int(index) for index in np.argwhere(~np.isfinite(mapped))[0])
            raise DataError(
                f"The map {self._label} gives {mapped[row, column]} in row {row}, column {column}. Choose "
                "a map that has a value on all rows."
            )
        return from_numpy(mapped.astype(np.float64), X)
