"""Records of a search through subsets of features, and the table they print."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, overload

import numpy as np

from gramian.errors import MissingExtraError
from gramian.records import FloatArray
from gramian.selection.printing import bar

__all__ = ["Action", "Choice", "History", "Nested", "Step", "listed", "standard_error"]

Action = Literal["start", "add", "remove", "keep"]
NOT_VALIDATED = "training rows: not a validated score"
WIDTH = 110
# Longer tables show their start, the neighbourhood of the choice, and their end.
MOST_LINES = 60
HEAD, AROUND, TAIL = 20, 5, 5
BAR = 12  # characters
SIGNS = {"add": "+", "remove": "-", "start": " "}


def standard_error(fold_scores: FloatArray) -> float:
    """Return the standard error of a mean over folds: their standard deviation (ddof 1) over sqrt(folds).

    NaN for a single fold, which has none.
    """
    k = len(fold_scores)
    return float(np.std(fold_scores, ddof=1) / math.sqrt(k)) if k > 1 else math.nan


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names in one line, the first ones of many.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b and 1 more')
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """One round of the search: every candidate that was scored, and which one was taken.

    Attributes
    ----------
    number : int
        Place in the search. 0 is the subset that it starts from, where that is not empty.
    action : "start", "add", "remove" or "keep"
        "keep": a floating search tried to undo something, and nothing was better.
    moved : tuple of int
        The features that were added or removed, counted from 0.
    subset : tuple of int
        The features after the step.
    fold_scores : ndarray of shape (n_folds,)
        Scores of that subset.
    candidates : tuple of tuple of int
        What could have moved, in the order of the columns.
    candidate_scores : ndarray of shape (n_candidates, n_folds)
        Scores of the subsets that would have resulted.
    models : int
        How many models were scored that had not been scored before: new candidates times folds.
    seconds : float
        How long that took.
    validated : bool
        False where the scores are those of the rows that were fitted.
    """

    number: int
    action: Action
    moved: tuple[int, ...]
    subset: tuple[int, ...]
    fold_scores: FloatArray
    candidates: tuple[tuple[int, ...], ...]
    candidate_scores: FloatArray
    models: int = 0
    seconds: float = 0.0
    validated: bool = True

    @property
    def size(self) -> int:
        """Number of features after the step."""
        return len(self.subset)

    @property
    def mean(self) -> float:
        """Mean score over the folds."""
        return float(self.fold_scores.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean score; NaN for a single fold."""
        return standard_error(self.fold_scores)

    @property
    def candidate_means(self) -> FloatArray:
        """Mean score of each candidate, shape (n_candidates,)."""
        return np.asarray(self.candidate_scores.mean(axis=1))

    def __repr__(self) -> str:
        moved = f" {set(self.moved)}" if self.moved else ""
        error = f" ± {self.standard_error:.4g}" if len(self.fold_scores) > 1 else ""
        note = "" if self.validated else f", {NOT_VALIDATED}"
        size = f"{self.size} feature{'s' * (self.size != 1)}"
        return f"<Step {self.number}: {self.action}{moved}, {size}: {self.mean:.4g}{error}{note}>"


@dataclass(frozen=True)
class Choice:
    """The subset that was kept: the one after step ``history[place]``, and why."""

    place: int
    why: str


@dataclass(frozen=True, eq=False)
class Nested:
    """The whole selection, repeated and scored from outside.

    Attributes
    ----------
    scores : ndarray of shape (n_folds,)
        Score of each part that was held out of the selection too.
    supports : ndarray of bool, shape (n_folds, n_features)
        What was selected without that part.
    optimism : float
        By how much the score that chose exceeds the mean of ``scores``.
    """

    scores: FloatArray
    supports: np.ndarray[Any, Any]
    optimism: float

    @property
    def mean(self) -> float:
        """Mean score over the outer folds."""
        return float(self.scores.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean."""
        return standard_error(self.scores)


@dataclass(frozen=True, eq=False, repr=False)
class History(Sequence[Step]):
    """Every step of a search, in order; prints as a table with the choice and why.

    Attributes
    ----------
    steps : tuple of Step
    names : tuple of str
        Of all features.
    about : str
        What was searched, by what.
    choice : Choice or None
        None where a search was stopped before its first score.
    nested : Nested or None
    """

    steps: tuple[Step, ...]
    names: tuple[str, ...]
    about: str
    choice: Choice | None = None
    nested: Nested | None = None

    @property
    def chosen(self) -> Step:
        """The step after which the search had the subset that was kept."""
        if self.choice is None:
            raise AttributeError("Nothing was chosen: the search was stopped before its first score.")
        return self.steps[self.choice.place]

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        return self.steps[index]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def named(self, features: Sequence[int]) -> tuple[str, ...]:
        """Return the names of features given by number."""
        return tuple(self.names[j] for j in features)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return step, action, moved, size, mean, standard error, subset, models, seconds of each step."""
        return [
            (
                s.number,
                s.action,
                self.named(s.moved),
                s.size,
                s.mean,
                s.standard_error,
                self.named(s.subset),
                s.models,
                s.seconds,
            )
            for s in self.steps
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; the standard error of one fold is None."""
        steps = [
            {
                "step": s.number,
                "action": s.action,
                "moved": list(self.named(s.moved)),
                "features": list(self.named(s.subset)),
                "score": s.mean,
                "standard_error": s.standard_error if len(s.fold_scores) > 1 else None,
                "fold_scores": s.fold_scores.tolist(),
                "candidates": [list(self.named(c)) for c in s.candidates],
                "candidate_scores": s.candidate_scores.tolist(),
                "models": s.models,
                "seconds": s.seconds,
                "validated": s.validated,
            }
            for s in self.steps
        ]
        plain: dict[str, Any] = {"about": self.about, "steps": steps}
        if self.choice is not None:
            plain["chosen"] = {"step": self.chosen.number, "why": self.choice.why}
            plain["chosen"]["features"] = list(self.named(self.chosen.subset))
        if self.nested is not None:
            plain["nested"] = {
                "scores": self.nested.scores.tolist(),
                "score": self.nested.mean,
                "standard_error": self.nested.standard_error if len(self.nested.scores) > 1 else None,
                "optimism": self.nested.optimism,
                "features": [list(self.named(np.flatnonzero(s).tolist())) for s in self.nested.supports],
            }
        return plain

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row for each step.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed; :meth:`rows` and :meth:`to_dict` need nothing.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("frames", "pandas", "A data frame") from error
        names = [
            "step",
            "action",
            "moved",
            "size",
            "score",
            "standard_error",
            "features",
            "models",
            "seconds",
        ]
        return pandas.DataFrame(self.rows(), columns=names).set_index("step")

    def __str__(self) -> str:
        lines = [self.about]
        if not self.steps:
            return f"{self.about}\nStopped before the first score."
        lines += ["", *self._table(), ""]
        for note in self._notes():
            lines += textwrap.wrap(note, WIDTH)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _table(self) -> list[str]:
        shown = [place for place, step in enumerate(self.steps) if step.action != "keep"]
        chosen = self.choice.place if self.choice else -1
        means = [self.steps[place].mean for place in shown]
        write = _writer([abs(mean) for mean in means])
        # A bar has a length where zero is the least that there can be.
        wide = BAR if min(means) >= 0 else 0
        several = len(self.steps[0].fold_scores) > 1
        cells = [
            (
                "*" if place == chosen else "",
                f"{step.size:,}",
                write(step.mean),
                write(step.standard_error) if several else "",
                f"{bar(step.mean, max(means), wide):{wide}}  "
                f"{SIGNS[step.action]} {listed(self.named(step.moved or step.subset))}".rstrip(),
            )
            for place, step in ((place, self.steps[place]) for place in shown)
        ]
        head = ("", "features", "score", "± s.e." if several else "", "")
        widths = [max(len(row[j]) for row in (head, *cells)) for j in range(4)]
        lines = [_line(head, widths), *(_line(row, widths) for row in cells)]
        return _shortened(lines, 1 + shown.index(chosen) if chosen in shown else 1)

    def _notes(self) -> list[str]:
        models, seconds = sum(s.models for s in self.steps), sum(s.seconds for s in self.steps)
        notes = []
        if self.choice is not None:
            subset = self.named(self.chosen.subset)
            plural = "s" if len(subset) != 1 else ""
            notes.append(f"* {len(subset):,} feature{plural} ({listed(subset)}): {self.choice.why}.")
        notes.append(f"{models:,} models in {seconds:.3g} s.")
        validated = self.steps[0].validated
        if not validated:
            notes.append(f"Scores are those of the {NOT_VALIDATED}.")
        if self.nested is not None:
            inner = "score on training rows" if not validated else "score that chose"
            score, error = self.nested.mean, self.nested.standard_error
            notes.append(
                f"Nested: {score:.4g} ± {error:.2g} for the whole selection, on rows held out of it. The "
                f"{inner}, {self.chosen.mean:.4g}, is optimistic by {self.nested.optimism:.2g}."
            )
        elif validated:
            notes.append("The best of many scores is optimistic; nested=True measures by how much.")
        return notes


def _writer(sizes: Sequence[float]) -> Any:
    """Return what writes scores with four digits of the largest, aligned."""
    largest = max(sizes)
    if 1e-3 <= largest < 1e7:
        decimals = max(0, 3 - math.floor(math.log10(largest)))
        return lambda value: f"{value:,.{decimals}f}"
    return lambda value: f"{value:.3e}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (f"{cell:>{width}}" for cell, width in zip(cells[:4], widths, strict=True))
    return ("  ".join(padded) + "  " + cells[4]).rstrip()


def _shortened(lines: list[str], chosen: int) -> list[str]:
    if len(lines) <= MOST_LINES:
        return lines
    wanted = {*range(HEAD + 1), *range(len(lines) - TAIL, len(lines))}
    wanted |= {j for j in range(chosen - AROUND, chosen + AROUND + 1) if 0 <= j < len(lines)}
    short: list[str] = []
    for j, line in enumerate(lines):
        if j in wanted:
            short.append(line)
        elif short[-1] != "...":
            short.append("...")
    return short
