"""Records of a search through subsets of features."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from gramian.analysis.candidates import Candidate, Selection
from gramian.checks import counted
from gramian.records import FloatArray

Action = Literal["start", "add", "remove", "keep", "best"]
NOT_VALIDATED = "training rows, not validated"
SIGNS = {"add": "+", "remove": "-", "start": " "}
LONGEST = 90  # characters of a list of names


@dataclass(frozen=True, eq=False, repr=False)
class SearchStep(Candidate):
    """One step of the search: every candidate that was scored, and the one that was chosen.

    Attributes
    ----------
    number : int
        Number of the step. 0 is the starting subset, where it is not empty.
    action : "start", "add", "remove", "keep" or "best"
        "keep": a floating search tried to undo a step, and no candidate was better. "best": an exhaustive
        search scored every subset of so many features, and this one is the best of them.
    moved : tuple of int
        The features that were added or removed, counted from 0.
    subset : tuple of int
        The features after the step.
    candidates : tuple of tuple of int
        The features that could have been moved, in the order of the columns; of an exhaustive search the
        subsets.
    candidate_scores : ndarray of shape (n_candidates, n_folds)
        Scores of the resulting subsets.
    models : int
        Number of models fitted in this step: new candidates times folds.
    seconds : float
    validated : bool
        False where models were scored on their training rows.
    """

    number: int = 0
    action: Action = "start"
    moved: tuple[int, ...] = ()
    candidates: tuple[tuple[int, ...], ...] = ()
    candidate_scores: FloatArray = field(default_factory=lambda: np.empty((0, 1)))
    models: int = 0
    seconds: float = 0.0
    validated: bool = True

    @property
    def subset(self) -> tuple[int, ...]:
        """The features after the step."""
        return tuple(self.candidate)

    @property
    def candidate_means(self) -> FloatArray:
        """Mean score of each candidate, shape (n_candidates,)."""
        return np.asarray(self.candidate_scores.mean(axis=1))

    def __repr__(self) -> str:
        moved = f" {set(self.moved)}" if self.moved else ""
        error = f" ± {self.standard_error:.4g}" if len(self.fold_scores) > 1 else ""
        note = "" if self.validated else f", {NOT_VALIDATED}"
        size = counted(len(self.subset), "feature")
        return f"<Step {self.number}: {self.action}{moved}, {size}: {self.mean:.4g}{error}{note}>"


@dataclass(frozen=True, eq=False)
class Nested(Candidate):
    """Scores of the whole selection in an outer cross-validation.

    Attributes
    ----------
    scores : ndarray of shape (n_folds,)
        Score of each outer fold, held out of the selection.
    supports : ndarray of bool, shape (n_folds, n_features)
        The features selected without each outer fold.
    optimism : float
        The selection score minus the mean of ``scores``.
    """

    supports: np.ndarray[Any, Any] = field(default_factory=lambda: np.empty((0, 0), dtype=bool))
    optimism: float = math.nan

    @property
    def scores(self) -> FloatArray:
        """Score of each part."""
        return self.fold_scores


@dataclass(frozen=True, eq=False, repr=False)
class History(Selection[SearchStep]):
    """Every step of a search, in order; prints as a table with the choice and why.

    Attributes
    ----------
    tried : tuple of SearchStep
        Also ``steps``.
    about : str
        Description of the search.
    choice : Choice or None
        None where a search was interrupted before its first score.
    names : tuple of str
        Of all features.
    nested : Nested or None
    """

    names: tuple[str, ...] = ()
    nested: Nested | None = None

    columns: ClassVar[tuple[str, ...]] = (
        *("step", "action", "moved", "size", "score", "standard_error", "features", "models", "seconds"),
    )

    @property
    def steps(self) -> tuple[SearchStep, ...]:
        """The steps of the search."""
        return self.tried

    def named(self, features: Sequence[int]) -> tuple[str, ...]:
        """Return the names of features given by number.

        Parameters
        ----------
        features : sequence of int
            Places of features, counted from 0.

        Returns
        -------
        tuple of str
            Their names.
        """
        return tuple(self.names[j] for j in features)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return step, action, moved, size, mean, standard error, subset, models, seconds of each step."""
        return [
            (
                *(s.number, s.action, self.named(s.moved), s.size, s.mean, s.standard_error),
                *(self.named(s.subset), s.models, s.seconds),
            )
            for s in self.tried
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; the standard error of one fold is None."""
        plain: dict[str, Any] = {
            "about": self.about,
            "steps": [self._plain(step, row) for step, row in zip(self.tried, self.rows(), strict=True)],
        }
        if self.choice is not None:
            features = list(self.named(self.chosen.subset))
            plain["chosen"] = {"step": self.chosen.number, "why": self.choice.why, "features": features}
        if self.nested is not None:
            plain["nested"] = {
                "scores": self.nested.scores.tolist(),
                "score": self.nested.mean,
                "standard_error": _none_for_nan(self.nested.standard_error),
                "optimism": self.nested.optimism,
                "features": [list(self.named(np.flatnonzero(s).tolist())) for s in self.nested.supports],
            }
        return plain

    def _plain(self, step: SearchStep, values: tuple[Any, ...]) -> dict[str, Any]:
        row = dict(zip(self.columns, values, strict=True))
        return row | {
            "moved": list(row["moved"]),
            "features": list(row["features"]),
            "standard_error": _none_for_nan(step.standard_error),
            "fold_scores": step.fold_scores.tolist(),
            "candidates": [list(self.named(c)) for c in step.candidates],
            "candidate_scores": step.candidate_scores.tolist(),
            "validated": step.validated,
        }

    # ------------------------------------------------------------------ text

    def label_of(self, step: SearchStep) -> str:
        """Return what a step added or removed, by name.

        Parameters
        ----------
        step : SearchStep
            A member of ``tried``.

        Returns
        -------
        str
            Such as ``+ name``.
        """
        return f"{SIGNS.get(step.action, ' ')} {self._joined(step.moved or step.subset)}"

    def shown(self) -> list[int]:
        """Return the places of the steps that moved something."""
        return [place for place, step in enumerate(self.tried) if step.action != "keep"]

    def remarks(self) -> list[str]:
        """Return the choice, the work and how to read the scores."""
        models, seconds = sum(s.models for s in self.tried), sum(s.seconds for s in self.tried)
        notes = []
        if self.choice is not None:
            subset = self.chosen.subset
            what = f"{counted(len(subset), 'feature')} ({self._joined(subset)})"
            notes.append(f"* {what}: {self.choice.why}.")
        notes.append(f"{models:,} models in {seconds:.3g} s.")
        validated = self.tried[0].validated
        if not validated:
            notes.append(f"Scores are on {NOT_VALIDATED}.")
        if self.nested is not None:
            inner = "selection score" if validated else "training score"
            notes.append(
                f"Nested cross-validation of the whole selection: {self.nested.mean:.4g} ± "
                f"{self.nested.standard_error:.2g}. The {inner}, {self.chosen.mean:.4g}, is optimistic by "
                f"{self.nested.optimism:.2g}."
            )
        elif validated:
            notes.append("The best of many scores is optimistic; nested=True measures the optimism.")
        return notes

    def _joined(self, features: Sequence[int]) -> str:
        return textwrap.shorten(", ".join(self.named(features)), LONGEST, placeholder=" ...")


def _none_for_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
