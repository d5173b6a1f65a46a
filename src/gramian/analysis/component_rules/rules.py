"""What rules for the number of components are given, and what every rule hands back.

Rules are functions of spectra and arrays; whoever asks one that needs spectra of other data gives it a
function that finds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian.checks import counted
from gramian.notebook import Grid, InNotebook
from gramian.records import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ComponentChoice(InNotebook):
    """What a rule says about the number of components, and why.

    Attributes
    ----------
    rule : str
        Its name.
    number : int or None
        How many components it finds, possibly 0; None where it has no answer, and ``sentence`` says why.
    evidence : dict of str to ndarray
        What was compared, column by column; ``"components"`` says which line is about which number.
    sentence : str
        The answer with the numbers that decided.
    at_least : bool
        Whether only a part of the spectrum was known, all of it belongs to the components, and there may be
        more.

    Examples
    --------
    >>> print(ComponentChoice("kaiser", 2, {}, "2 eigenvalues exceed their mean."))
    kaiser: 2 components. 2 eigenvalues exceed their mean.
    """

    rule: str
    number: int | None
    evidence: Mapping[str, FloatArray]
    sentence: str
    at_least: bool = False

    @property
    def answer(self) -> str:
        """The number in words: ``"3"``, ``"at least 3"`` or ``"-"``."""
        if self.number is None:
            return "-"
        return f"at least {self.number}" if self.at_least else str(self.number)

    def table(self) -> str:
        """Return the evidence as lines of text, one for each number of components."""
        return str(self._grid()) if self.evidence else ""

    @property
    def brief(self) -> str:
        """The answer in one line."""
        nouns = "component" if self.number == 1 else "components"
        said = f"{self.answer} {nouns}" if self.number is not None else "no answer"
        return f"{self.rule}: {said}. {self.sentence}"

    def __str__(self) -> str:
        table = self.table()
        return self.brief + (f"\n{table}" if table else "")

    def _notebook(self) -> Iterator[str | Grid]:
        yield self.brief
        if self.evidence:
            yield self._grid()

    def _grid(self) -> Grid:
        names = sorted(self.evidence, key=lambda name: (name != "components", name))
        rows = list(zip(*(self.evidence[name] for name in names), strict=True))
        return Grid(names, rows, [".6g"] * len(names), most=20)


@dataclass(frozen=True, eq=False)
class Scree:
    """Eigenvalues of a covariance, as many as are known, with what rules need to know about the data.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The largest eigenvalues, descending, as variances in the units that were fitted.
    total : float
        Sum of all eigenvalues, known or not.
    n_samples : int
    n_features : int
        Number of columns.
    varying : int
        Number of columns that vary: a constant one carries neither signal nor noise.
    centered : bool
        Whether a mean was subtracted, which costs one row.
    degrees : float
        What sums of squares were divided by.
    tolerance : float
        Eigenvalues at or below this multiple of the largest one are rounding, and count as 0.
    """

    values: FloatArray
    total: float
    n_samples: int
    n_features: int
    varying: int
    centered: bool = True
    degrees: float = 1
    tolerance: float = 0.0

    @cached_property
    def known(self) -> FloatArray:
        """The eigenvalues, with 0 for those that are rounding."""
        values = np.asarray(self.values, dtype=np.float64)[: self.size]
        top = float(values[0]) if values.size else 0.0
        return np.where(values > max(self.tolerance * top, 0.0), values, 0.0)

    @property
    def rows(self) -> int:
        """Number of rows that are independent of the mean."""
        return self.n_samples - int(self.centered)

    @property
    def size(self) -> int:
        """How many eigenvalues can be different from 0."""
        return max(min(self.rows, self.varying), 0)

    @property
    def whole(self) -> bool:
        """Whether every eigenvalue that can be different from 0 is known."""
        return self.known.size >= self.size

    @property
    def left(self) -> FloatArray:
        """Sum of the eigenvalues beyond the first 0, 1, ..., k ones, by the trace where some are unknown."""
        if self.whole:
            return np.concatenate([np.cumsum(self.known[::-1])[::-1], [0.0]])
        left = self.total - np.concatenate([[0.0], np.cumsum(self.known)])
        return np.maximum(left, 0.0)


def numbered(first: int, columns: Mapping[str, Any]) -> dict[str, FloatArray]:
    """Return evidence with a column that counts components from ``first``."""
    length = len(next(iter(columns.values())))
    number = {"components": np.arange(first, first + length, dtype=np.float64)}
    return number | {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}


def leading(above: Any) -> int:
    """Return how many entries are true before the first one that is not."""
    above = np.asarray(above, dtype=bool)
    return int(above.size if above.all() else np.argmin(above))


def compared(
    rule: str,
    observed: FloatArray,
    threshold: FloatArray,
    names: tuple[str, str],
    what: str,
    *,
    beyond: float = 0.0,
    part: bool = False,
) -> ComponentChoice:
    """Keep what exceeds its threshold, up to the first that does not.

    Parameters
    ----------
    rule : str
    observed, threshold : ndarray of shape (k,)
    names : tuple of two str
        Of the columns of the evidence.
    what : str
        The threshold in words.
    beyond : float
        The part of a threshold by which it must be exceeded to count: rounding.
    part : bool
        Whether there are more that are not known.
    """
    number = leading(observed > threshold * (1 + beyond))
    said = f"{counted(number, names[0].replace('_', ' '))} exceed{'s' if number == 1 else ''} {what}"
    if number:
        said += f" (component {number}: {observed[number - 1]:.4g} > {threshold[number - 1]:.4g})"
    if number < observed.size:
        said += f"; component {number + 1} does not: {observed[number]:.4g} <= {threshold[number]:.4g}"
    evidence = numbered(1, dict(zip(names, (observed, threshold), strict=True)))
    return ComponentChoice(rule, number, evidence, said + ".", part and number == observed.size)
