"""What kernels made of kernels have in common: their parts are bound side by side."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from gramian.arrays import namespace
from gramian.errors import DataError
from gramian.kernels.evaluator import Evaluator
from gramian.kernels.kernel import Kernel, as_kernel
from gramian.kernels.slopes import DiagonalSlopes, Slopes
from gramian.records import BoundKind, Calls, FloatArray

__all__ = ["Bounds", "Composite", "CompositeEvaluator", "Outer"]

# Relative and absolute bound on the error of an entry, and a bound on the entry.
Bounds = tuple[float, float, float]


class Composite(Kernel):
    """A kernel whose values are computed from those of other kernels."""

    # Whether centring the whole centres every part, as it does for sums.
    additive: bool = False

    @abstractmethod
    def combine(self, *values: Any) -> Any:
        """Return the values, from those of the parts; the first may be written into."""

    @abstractmethod
    def bounds(self, *parts: Evaluator) -> Bounds:
        """Return bounds of the error and size of an entry, from those of the parts."""

    @abstractmethod
    def rebuilt(self, *parts: Kernel) -> Kernel:
        """Return the same kernel made of other parts."""

    @abstractmethod
    def chain(self, *slopes: Slopes) -> Slopes:
        """Return the values and their derivative, by the chain rule from those of the parts."""

    @abstractmethod
    def diagonal_chain(self, *slopes: DiagonalSlopes) -> DiagonalSlopes:
        """Return the diagonal and its derivative, from those of the parts."""

    @property
    def kinks(self) -> str:
        """Those of the first part that has some."""
        return next((part.kinks for part in self.parts if part.kinks), "")

    def floor(self, d: int) -> FloatArray:
        """Return the largest of the parts' least values, column by column."""
        return np.asarray(np.max([part.floor(d) for part in self.parts], axis=0))

    def check(self) -> None:
        for name, value in self.get_params(deep=False).items():
            if name in ("left", "right", "kernel"):
                as_kernel(name, value).check()

    def rows(self, X: Any) -> Any:
        """Return the rows that the parts see."""
        return X

    def names(self, names: Sequence[str] | None) -> Sequence[str] | None:
        """Return the names of the columns that the parts see."""
        return names

    def resolve(self, X: Any, names: Sequence[str] | None = None) -> Kernel:
        self.check()
        seen, known = self.rows(X), self.names(names)
        return self.rebuilt(*(part.resolve(seen, known) for part in self.parts))

    def bind(
        self,
        X: Any,
        precision: float = 1e-9,
        *,
        centered: bool = False,
        names: Sequence[str] | None = None,
    ) -> Evaluator:
        """Bind every part; where only the centred matrix matters, that is true of sums' parts as well."""
        kernel = self.resolve(X, names)
        assert isinstance(kernel, Composite)
        seen = kernel.rows(X)
        parts = tuple(
            part.bind(seen, precision, centered=centered and self.additive) for part in kernel.parts
        )
        return kernel.bound(seen, parts)

    def bound(self, seen: Any, parts: tuple[Evaluator, ...]) -> Evaluator:
        """Return the evaluator that joins those of the parts, refusing what overflows."""
        relative, absolute, largest = self.bounds(*parts)
        if not np.isfinite(largest):
            raise DataError(f"{self!r} overflows on this data. Scale the data or the kernels in it first.")
        widths = tuple(int(part.encode(seen[:1, :])[0].shape[1]) for part in parts)
        return CompositeEvaluator(self, relative, absolute, largest, parts, widths)

    def calls(self, X: Any) -> Calls | None:
        """Return what the functions among the parts cost together."""
        few = X if X.shape[0] <= 100 else X[:100, :]
        found = [cost for part in self.parts if (cost := part.calls(self.rows(few))) is not None]
        if not found:
            return None
        return Calls(sum(cost.seconds for cost in found), any(cost.scalar for cost in found))

    @property
    def error_kind(self) -> BoundKind:  # type: ignore[override]
        """An estimate where that of a part is one."""
        kinds = {part.error_kind for part in self.parts}
        return "estimate" if "estimate" in kinds else "deterministic"

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        """Whether it depends on x - y alone."""
        return all(part.stationary for part in self.parts)


class Outer(Composite):
    """F(k) of one kernel k, value by value."""

    @abstractmethod
    def outer(self, values: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """Return F and F' of values, which stay as they are."""

    def chain(self, *slopes: Slopes) -> Slopes:
        (inner,) = slopes
        values, slope = self.outer(inner.values)
        return inner.scaled(slope, values)

    def diagonal_chain(self, *slopes: DiagonalSlopes) -> DiagonalSlopes:
        (inner,) = slopes
        values, slope = self.outer(inner.values)
        return DiagonalSlopes(values, (slope * np.ones_like(values))[:, None] * inner.gradient)


@dataclass(frozen=True, eq=False)
class CompositeEvaluator:
    """Evaluators side by side: the rows are encoded for each, one after the other.

    Attributes
    ----------
    kernel, relative, absolute, largest
        See :class:`~gramian.kernels.evaluator.Evaluator`.
    parts : tuple of Evaluator
    widths : tuple of int
        How many columns of the encoded rows belong to each.
    """

    kernel: Composite
    relative: float
    absolute: float
    largest: float
    parts: tuple[Evaluator, ...]
    widths: tuple[int, ...]

    def encode(self, X: Any) -> tuple[Any, Any]:
        """Return the rows as factors of a tile."""
        seen = self.kernel.rows(X)
        pairs = [part.encode(seen) for part in self.parts]
        if len(pairs) == 1:
            return pairs[0]
        xp = namespace(pairs[0][0])
        return xp.concat([p[0] for p in pairs], axis=1), xp.concat([p[1] for p in pairs], axis=1)

    def tile(self, left: Any, right: Any, out: Any = None) -> Any:
        """Return a block of kernel values."""
        if len(self.parts) == 1:
            return self.kernel.combine(self.parts[0].tile(left, right, out))
        values = [
            part.tile(left[:, columns], right[:, columns], out if columns.start == 0 else None)
            for part, columns in self._shares()
        ]
        return self.kernel.combine(*values)

    def _shares(self) -> list[tuple[Evaluator, slice]]:
        """The parts with their columns of the encoded rows."""
        ends = list(accumulate(self.widths))
        starts = [end - width for end, width in zip(ends, self.widths, strict=True)]
        return [(p, slice(*ends)) for p, *ends in zip(self.parts, starts, ends, strict=True)]

    def slopes(self, X: Any, right: Any) -> Slopes:
        """Return a block of kernel values with their derivative by the rows of X."""
        seen = self.kernel.rows(X)
        return self.kernel.chain(*(p.slopes(seen, right[:, columns]) for p, columns in self._shares()))

    def diagonal_slopes(self, X: Any) -> DiagonalSlopes:
        """Return k(x, x) with its derivative by x."""
        seen = self.kernel.rows(X)
        return self.kernel.diagonal_chain(*(part.diagonal_slopes(seen) for part in self.parts))

    def diagonal(self, X: Any) -> Any:
        """Return k(x, x) of every row."""
        seen = self.kernel.rows(X)
        first, *others = (part.diagonal(seen) for part in self.parts)
        # A copy: it is written into, and the formula of a user may give a column of the data itself.
        return self.kernel.combine(namespace(first).asarray(first, copy=True), *others)
