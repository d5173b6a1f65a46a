"""Kernels of rows that are changed first: some columns, mapped rows, length 1 in feature space."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from gramian.arrays import as_float64, from_numpy, is_numpy, namespace, to_float64, to_numpy
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.kernels.arithmetic import UNIT
from gramian.kernels.composites import Bounds, Composite, CompositeEvaluator
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.kernel import ATOM, Kernel, bracketed, literal
from gramian.kernels.validity import Validity, proven, unknown

__all__ = ["MAPS", "After", "Normalized", "OnColumns"]

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

    def bounds(self, *parts: Evaluator) -> Bounds:
        return parts[0].relative, parts[0].absolute, parts[0].largest

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

    def __init__(self, kernel: Kernel, map: Any) -> None:
        self.kernel = kernel
        self.map = map

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)}.after({self._label})"

    @property
    def formula(self) -> str:
        return f"[{self.kernel.formula}] of {self._label}(x), {self._label}(y)"

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


class Normalized(Composite):
    """``k(x, y) / sqrt(k(x, x) k(y, y))``, and 0 where k(x, x) is 0: the cosine in feature space.

    Parameters
    ----------
    kernel : Kernel
    """

    name = "normalized"

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, ATOM)}.normalized()"

    @property
    def formula(self) -> str:
        return f"[k(x, y) / sqrt(k(x, x) k(y, y)), k = {self.kernel.formula}]"

    @property
    def divisible(self) -> bool:  # type: ignore[override]
        """A power of the normalised kernel is the normalised power."""
        return self.kernel.divisible

    def judge(self) -> Validity:
        inner = self.kernel.validity
        if inner.proven:
            return proven("g(x) k(x, y) g(y) is a kernel for every function g.", "", inner)
        return unknown("It is as valid as the kernel where k(x, x) > 0.", "", inner)

    def rebuilt(self, *parts: Kernel) -> Kernel:
        return Normalized(*parts)

    def combine(self, *values: Any) -> Any:
        return values[0]

    def bounds(self, *parts: Evaluator) -> Bounds:
        return parts[0].relative, parts[0].absolute, 1.0

    def bound(self, seen: Any, parts: tuple[Evaluator, ...]) -> Evaluator:
        (part,) = parts
        if not np.isfinite(part.largest):
            raise DataError(f"{self!r} overflows on this data. Scale the data or the kernels in it first.")
        diagonal = as_float64(part.diagonal(seen))
        positive = diagonal[diagonal > 0]
        least = float(positive.min()) if positive.size else 1.0
        # How wrong a value of k(x, x) can be, relatively; of two of them the root is taken.
        error = part.relative + part.absolute / least
        # Cauchy and Schwarz bound the value by 1 for a kernel; for what may be none, its own size does.
        largest = max(1.0, part.largest / least)
        largest = 1.0 if largest == 1.0 or self.kernel.psd else largest
        absolute = (3.0 * error + 8.0 * UNIT) * largest if error < 0.1 else np.inf
        width = int(part.encode(seen[:1, :])[0].shape[1])
        return NormalizedEvaluator(self, 0.0, absolute, largest, parts, (width,))


class NormalizedEvaluator(CompositeEvaluator):
    """The part's evaluator, with 1 / sqrt(k(x, x)) of every row beside its code."""

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Return the rows as factors of a tile, with a last column that scales them."""
        (part,) = self.parts
        left, right = part.encode(X)
        xp = namespace(left)
        diagonal = to_float64(part.diagonal(X))
        least = float(xp.min(diagonal)) if diagonal.shape[0] else 0.0
        if least < 0:
            raise DataError(
                f"{self.kernel!r} needs k(x, x) >= 0, but it reaches {least:.3g}: "
                f"{part.kernel!r} is no kernel."
            )
        inverse = xp.where(
            diagonal > 0,
            1.0 / xp.sqrt(xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal))),
            0.0 * diagonal,
        )[:, None]
        return xp.concat([left, inverse], axis=1), xp.concat([right, inverse], axis=1)

    def tile(self, left: Any, right: Any, out: Any = None) -> Any:
        """Return a block of kernel values."""
        values = self.parts[0].tile(left[:, :-1], right[:, :-1], out)
        values *= left[:, -1:]
        values *= right[:, -1:].T
        return values

    def diagonal(self, X: Any) -> Any:
        """Return 1, or 0 where k(x, x) is 0."""
        diagonal = to_float64(self.parts[0].diagonal(X))
        xp = namespace(diagonal)
        return xp.where(diagonal > 0, xp.ones_like(diagonal), 0.0 * diagonal)
