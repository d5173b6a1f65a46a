"""Rules for the number of components that read the eigenvalues only, and what every rule hands back.

Rules are functions of spectra and arrays. Those that draw from the data are in the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian.records import FloatArray

__all__ = [
    "ComponentChoice",
    "Scree",
    "broken_stick",
    "elbow",
    "fraction_rule",
    "kaiser",
    "rmse_rule",
]

SHOWN = 20
# Rounding in a sum must not cost a component.
SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class ComponentChoice:
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
        if not self.evidence:
            return ""
        names = sorted(self.evidence, key=lambda name: (name != "components", name))
        width = [max(len(name), 12) for name in names]
        lines = ["  ".join(f"{name:>{w}}" for name, w in zip(names, width, strict=True))]
        columns = [self.evidence[name] for name in names]
        for row in list(zip(*columns, strict=True))[:SHOWN]:
            lines.append("  ".join(f"{value:{w}.6g}" for value, w in zip(row, width, strict=True)))
        more = len(columns[0]) - SHOWN
        return "\n".join([*lines, f"... and {more} more"] if more > 0 else lines)

    def __str__(self) -> str:
        plural = "" if self.number == 1 else "s"
        said = f"{self.answer} component{plural}" if self.number is not None else "no answer"
        table = self.table()
        return f"{self.rule}: {said}. {self.sentence}" + (f"\n{table}" if table else "")


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
    degrees : int
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
    degrees: int = 1
    tolerance: float = 0.0
    known: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)[: self.size]
        top = float(values[0]) if values.size else 0.0
        known = np.where(values > max(self.tolerance * top, 0.0), values, 0.0)
        object.__setattr__(self, "known", known)

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
    counted = {"components": np.arange(first, first + length, dtype=np.float64)}
    return counted | {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}


def leading(above: Any) -> int:
    """Return how many entries are true before the first one that is not."""
    above = np.asarray(above, dtype=bool)
    return int(above.size if above.all() else np.argmin(above))


def counted(number: int, noun: str) -> str:
    """Return ``"1 eigenvalue exceeds"``-like beginnings: the number and its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _compared(
    rule: str, scree: Scree, observed: FloatArray, threshold: FloatArray, names: tuple[str, str], what: str
) -> ComponentChoice:
    number = leading(observed > threshold)
    said = f"{counted(number, names[0])} in a row exceed{'s' if number == 1 else ''} {what}"
    if number:
        said += f" (the last: {observed[number - 1]:.4g} > {threshold[number - 1]:.4g})"
    if number < observed.size:
        said += f"; the next: {observed[number]:.4g} against {threshold[number]:.4g}"
    evidence = numbered(1, dict(zip(names, (observed, threshold), strict=True)))
    return ComponentChoice(rule, number, evidence, said + ".", number == observed.size and not scree.whole)


def kaiser(scree: Scree) -> ComponentChoice:
    """Keep eigenvalues above their mean: above 1 for a correlation matrix.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough.

    References
    ----------
    Guttman (1954), Some necessary conditions for common-factor analysis. Kaiser (1960), The application of
    electronic computers to factor analysis.

    Examples
    --------
    >>> kaiser(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 50, 3, 3)).number
    1
    """
    mean = scree.total / max(scree.varying, 1)
    # Equal eigenvalues are their own mean, and rounding must not put one above it.
    threshold = np.full(scree.known.size, mean * (1 + SLACK))
    return _compared("kaiser", scree, scree.known, threshold, ("eigenvalue", "mean"), "the mean")


def broken_stick(scree: Scree) -> ComponentChoice:
    """Keep shares of the variance above those of a stick of length 1 that is broken at random.

    The j-th longest of p pieces has expected length ``(1/p) sum_{i=j}^p 1/i``.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough; p is the number of eigenvalues that can be different from 0.

    References
    ----------
    Frontier (1976), Etude de la decroissance des valeurs propres. Jackson (1993), Stopping rules in
    principal components analysis.

    Examples
    --------
    >>> broken_stick(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 50, 3, 3)).number
    1
    """
    p = scree.size
    pieces = np.cumsum(1.0 / np.arange(p, 0, -1))[::-1][: scree.known.size] / max(p, 1)
    shares = scree.known / scree.total if scree.total > 0 else scree.known
    names = ("share", "stick_piece")
    return _compared("broken-stick", scree, shares, pieces * (1 + SLACK), names, "that of a broken stick")


def elbow(scree: Scree) -> ComponentChoice:
    """Split the scree plot where two normal groups with one variance have the largest likelihood.

    Parameters
    ----------
    scree : Scree
        The whole spectrum is needed.

    Notes
    -----
    With means of the first q and of the other p - q eigenvalues and the pooled variance
    ``(SS_1 + SS_2) / (p - 2)``, the log-likelihood is ``-p/2 log(2 pi variance) - (p - 2)/2``, so the best q
    has the least sum of squares within the groups. q goes from 1 to p - 1.

    References
    ----------
    Zhu and Ghodsi (2006), Automatic dimensionality selection from the scree plot via the use of profile
    likelihood, section 2.

    Examples
    --------
    >>> elbow(Scree(np.array([9.0, 8.0, 1.1, 1.0, 0.9, 0.8]), 20.8, 50, 6, 6)).number
    2
    """
    if not scree.whole:
        return needs_whole("elbow", scree)
    values, p = scree.known, scree.size
    if p < 3 or not values[0] > 0:
        return ComponentChoice("elbow", None, {}, "An elbow needs at least 3 eigenvalues, not all 0.")
    values = values / values[0]
    within = _within(values)[:-1] + _within(values[::-1])[::-1][1:]
    rounding = float(np.finfo(np.float64).eps) * p
    variance = np.maximum(within, rounding) / (p - 2)
    likelihood = -p / 2 * np.log(2 * np.pi * variance) - (p - 2) / 2
    number = int(np.argmax(likelihood)) + 1
    evidence = numbered(1, {"log_likelihood": likelihood, "eigenvalue": scree.known[:-1]})
    said = (
        f"The scree plot splits best after {number}: log-likelihood {likelihood[number - 1]:.4g}, eigenvalue "
        f"{scree.known[number - 1]:.4g} before and {scree.known[number]:.4g} after."
    )
    return ComponentChoice("elbow", number, evidence, said)


def _within(values: FloatArray) -> FloatArray:
    """Sums of squares about the mean of the first 1, 2, ..., p values."""
    count = np.arange(1, values.size + 1)
    squares = np.cumsum(values**2) - np.cumsum(values) ** 2 / count
    return np.asarray(np.maximum(squares, 0.0))


def needs_whole(rule: str, scree: Scree) -> ComponentChoice:
    """Return the answer of a rule that cannot work with a part of the spectrum."""
    said = (
        f"It needs the whole spectrum, and {scree.known.size} of {scree.size} eigenvalues are known: give "
        "the data, or a model with n_components=None."
    )
    return ComponentChoice(rule, None, {}, said)


def fraction_rule(scree: Scree, fraction: float) -> ComponentChoice:
    """Keep the fewest components that carry a fraction of the variance.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough if it carries the fraction.
    fraction : float
        In (0, 1).

    Examples
    --------
    >>> fraction_rule(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 50, 3, 3), 0.9).number
    2
    """
    left = scree.left
    shares = 1 - left / left[0] if left[0] > 0 else np.ones(left.size)
    what = f"{100 * fraction:g} % of the " + ("variance" if scree.centered else "second moments")

    def said(number: int, reached: bool) -> str:
        share = f"{100 * shares[number]:.4g} %"
        if not reached:
            return f"The {number} known components carry {share}, less than {what}."
        return f"The fewest that carry {what}: {number} carry {share}."

    above = shares >= fraction - SLACK
    return _least("fraction", scree, above, {"share": shares}, said)


def rmse_rule(scree: Scree, max_rmse: float) -> ComponentChoice:
    """Keep the fewest components whose reconstruction error is small enough.

    The error is the root mean square over all ``n d`` entries of X - X~ in the units that were fitted,
    ``sqrt(degrees sum_{j>k} lambda_j / (n d))``.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough if it reaches the error: the rest is in the trace.
    max_rmse : float
        In the units that were fitted.

    Examples
    --------
    >>> rmse_rule(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 51, 3, 3, degrees=50), 0.4).number
    2
    """
    entries = max(scree.n_samples * scree.n_features, 1)
    errors = np.sqrt(scree.left * scree.degrees / entries)
    # Relative to the error asked for, and to the largest one where that is at rounding level.
    enough = errors <= max_rmse * (1 + 1e-9) + SLACK * errors[0]

    def said(number: int, reached: bool) -> str:
        least = f"a root-mean-square error of {errors[number]:.4g} per entry"
        if not reached:
            return f"The {number} known components leave {least}, more than {max_rmse:g}."
        if number == 0:
            return f"The mean alone has {least}, at most {max_rmse:g}."
        return f"The fewest with an error of at most {max_rmse:g}: {number} leave {least}."

    return _least("max_rmse", scree, enough, {"rmse": errors}, said)


def _least(
    rule: str, scree: Scree, reached: Any, columns: dict[str, FloatArray], said: Callable[[int, bool], str]
) -> ComponentChoice:
    found = bool(reached.any())
    number = int(np.argmax(reached)) if found else scree.known.size
    return ComponentChoice(rule, number, numbered(0, columns), said(number, found), not found)
