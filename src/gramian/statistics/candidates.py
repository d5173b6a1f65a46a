"""Candidates, their scores in every fold, and the choice: one record for every selection."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from gramian.core.notebook import Grid, InNotebook
from gramian.core.records import AnyArray, FloatArray, Members
from gramian.errors import needs

WIDTH = 110
TIED = 1e-12
MOST_LINES = 60  # of a table


# ------------------------------------------------------------------- records


@dataclass(frozen=True, eq=False)
class Candidate:
    """One candidate with its score.

    Attributes
    ----------
    candidate : object
        What was tried: a number of features, a subset, a kernel.
    size : int or None
        How many features or components it has: fewer are simpler. None where that is not known.
    mean : float
        Its score; NaN where it has none.
    standard_error : float
        Of the score; NaN where there is nothing to tell it from, such as a single fold.
    fold_scores : ndarray of shape (n_folds,)
        Empty where the score is no mean over folds.
    """

    candidate: Any
    size: int | None
    mean: float
    standard_error: float = math.nan
    fold_scores: FloatArray = field(default_factory=lambda: np.empty(0), repr=False)

    @classmethod
    def in_folds(cls, candidate: Any, size: int | None, fold_scores: FloatArray, **more: Any) -> Self:
        """Return a candidate with the mean of its scores over folds, and the standard error of that.

        Parameters
        ----------
        candidate : object
            What was tried.
        size : int or None
            Number of its features or components.
        fold_scores : ndarray of shape (n_folds,)
            Its scores.
        **more
            Fields of a subclass.

        Returns
        -------
        Candidate
            Of the class on which this is called.

        Examples
        --------
        >>> Candidate.in_folds("all", 3, np.array([1.0, 3.0]))
        Candidate(candidate='all', size=3, mean=2.0, standard_error=1.0)
        """
        mean = float(fold_scores.mean())
        return cls(candidate, size, mean, standard_error(fold_scores), fold_scores, **more)


@dataclass(frozen=True)
class Choice:
    """Which of the candidates was chosen, counted from 0, and why."""

    place: int
    why: str


T_co = TypeVar("T_co", bound=Candidate, covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class Selection(InNotebook, Members[T_co]):
    """All candidates in order, the chosen one and why; prints as a table.

    Attributes
    ----------
    tried : tuple of Candidate
    about : str
        What was selected, from what, by what.
    choice : Choice
        The best of them, and the reason.
    notes : tuple of str
        What else should be known.
    measure : str
        What the scores are.
    """

    tried: tuple[T_co, ...]
    about: str
    choice: Choice
    notes: tuple[str, ...] = ()
    measure: str = "score"

    columns: ClassVar[tuple[str, ...]] = ("candidate", "size", "score", "standard_error", "chosen")

    @property
    def chosen(self) -> T_co:
        """The candidate that was chosen."""
        return self.tried[self.choice.place]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the values of ``columns`` for each candidate."""
        return [(self.label_of(t), t.size, t.mean, t.standard_error, t is self.chosen) for t in self.tried]

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row for each candidate, by the first of ``columns``.

        Returns
        -------
        pandas.DataFrame
            The values of :meth:`rows`.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed; :meth:`rows` needs nothing.
        """
        return data_frame(self.rows(), self.columns).set_index(self.columns[0])

    # ------------------------------------------------------------------ text

    unit: ClassVar[str] = "features"

    def shown(self) -> list[int]:
        """Return the places of the candidates that the table shows."""
        return list(range(len(self.tried)))

    def label_of(self, candidate: T_co) -> str:  # type: ignore[misc]
        """Return a candidate in words."""
        return str(candidate.candidate)

    def remarks(self) -> list[str]:
        """Return what is said below the table."""
        return [self.choice.why, *self.notes]

    def table(self) -> Grid:
        """Return size, score, standard error and the candidate in words, line by line."""
        shown = [self.tried[j] for j in self.shown()]
        form = number_format([abs(t.mean) for t in shown if math.isfinite(t.mean)])
        errors = any(math.isfinite(t.standard_error) for t in shown)
        rows = [
            (
                "*" * (t is self.chosen),
                *(t.size, t.mean, t.standard_error if errors else ""),
                self.label_of(t),
            )
            for t in shown
        ]
        heads = ("", self.unit, self.measure, "± s.e." * errors, "")
        return Grid(heads, rows, ("", "", form, form, ""), most=MOST_LINES)

    def __str__(self) -> str:
        lines = [self.about, "", str(self.table()), ""]
        for remark in self.remarks():
            lines += textwrap.wrap(remark, WIDTH, break_on_hyphens=False)
        return "\n".join(lines)

    __repr__ = __str__

    def _notebook(self) -> Iterator[str | Grid]:
        yield self.about
        yield self.table()
        yield from self.remarks()


# --------------------------------------------------------------------- rules


def standard_error(scores: FloatArray) -> float:
    """Return the standard error of a mean: the standard deviation (ddof 1) over the root of the number.

    NaN for a single score, which has none.
    """
    return float(np.std(scores, ddof=1)) / math.sqrt(len(scores)) if len(scores) > 1 else math.nan


def tolerance(score: float) -> float:
    """Return by how much scores may differ and still be equal: rounding."""
    return TIED * max(1.0, abs(score))


def best(tried: Sequence[Candidate]) -> int:
    """Return the place of the best mean; of tied ones the first of the smallest.

    Examples
    --------
    >>> best([Candidate("a", 3, 0.9), Candidate("b", 2, 0.9 + 1e-15), Candidate("c", 1, 0.8)])
    1
    """
    means, sizes = np.array([t.mean for t in tried]), np.array([t.size for t in tried])
    return int(np.argmin(np.where(means >= means.max() - tolerance(means.max()), sizes, np.inf)))


def within_one_standard_error(tried: Sequence[Candidate]) -> int:
    """Return the place of the smallest candidate within one standard error, of the best one's, of the best.

    Of several of that size the best.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, section 3.4.3.

    Examples
    --------
    >>> scores = np.array([[0.5, 0.6], [0.8, 1.0], [0.9, 1.0]])
    >>> tried = [Candidate.in_folds(k, k, scores[k - 1]) for k in (1, 2, 3)]
    >>> best(tried), within_one_standard_error(tried)
    (2, 1)
    """
    top = tried[best(tried)]
    error = top.standard_error if math.isfinite(top.standard_error) else 0.0
    enough = [j for j, t in enumerate(tried) if t.mean >= top.mean - error - tolerance(top.mean)]
    least = min(tried[j].size or 0 for j in enough)
    smallest = [j for j in enough if (tried[j].size or 0) == least]
    return smallest[best([tried[j] for j in smallest])]


# ------------------------------------------------------------------ printing


def data_frame(rows: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> Any:
    """Return rows as a pandas data frame.

    Raises
    ------
    MissingExtraError
        Where pandas is not installed.
    """
    with needs("frames", "pandas", "A data frame"):
        pandas = import_module("pandas")
    return pandas.DataFrame(rows, columns=list(columns))


def as_frame(columns: Mapping[str, AnyArray], like: Any = None) -> Any:
    """Return columns as a data frame.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The first one names the rows.
    like : object, optional
        A frame of Polars gives one.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or dict of str to ndarray
        Of pandas with the first column as index, if that is installed; else of Polars; else ``columns``.
    """
    of_polars = type(like).__module__.partition(".")[0] == "polars"
    if not of_polars and find_spec("pandas") is not None:
        import pandas

        return pandas.DataFrame(dict(columns)).set_index(next(iter(columns)))
    if of_polars or find_spec("polars") is not None:
        import polars

        return polars.DataFrame(
            {name: values.tolist() for name, values in columns.items()}, nan_to_null=False
        )
    return dict(columns)


def number_format(sizes: Sequence[float], least: int = 0) -> str:
    """Return the format of numbers with four digits of the largest of some sizes.

    Examples
    --------
    >>> form = number_format([961.5, 3.0])
    >>> f"{961.5:{form}}", f"{3.0:{form}}"
    ('961.5', '3.0')
    """
    largest = max(sizes, default=0.0)
    return f",.{max(least, 3 - math.floor(math.log10(largest)))}f" if 1e-3 <= largest < 1e7 else ".3e"
