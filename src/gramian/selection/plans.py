"""What a search has to do, settled for the features there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from gramian.errors import ParameterError
from gramian.selection.candidates import CandidateScorer
from gramian.selection.history import Step
from gramian.selection.search import Rule, Space, backward, forward

__all__ = ["Plan", "plan_of"]

WANTED = "Give 'best', 'one-se', a number of features from 1 to {d}, or a share between 0 and 1."


@dataclass(frozen=True, eq=False)
class Plan:
    """Which search, how far, and which of its subsets is kept.

    Attributes
    ----------
    space : Space
    adding : bool
        Forward, not backward.
    floating : bool
    rule : "best", "one-se" or "size"
    limit : int or None
        Number of features to go to.
    patience : int or None
    """

    space: Space
    adding: bool
    floating: bool
    rule: Rule
    limit: int | None
    patience: int | None

    def steps(self, scorer: CandidateScorer) -> Iterator[Step]:
        """Search."""
        run = forward if self.adding else backward
        return run(scorer, self.space, floating=self.floating, limit=self.limit, patience=self.patience)

    @property
    def n_features(self) -> int:
        """Number of features there are."""
        return len(self.space.fixed) + sum(map(len, self.space.free))

    @property
    def moves(self) -> int:
        """How many groups move one way before the search ends: about, where groups differ in size."""
        groups = len(self.space.free)
        if self.limit is None:
            return groups if self.adding or len(self.space.fixed) else groups - 1
        room = self.limit - len(self.space.fixed) if self.adding else self.n_features - self.limit
        return min(groups, math.ceil(room * groups / (self.n_features - len(self.space.fixed))))

    def moved(self, step: Step) -> int:
        """Return how many groups are not where the search began."""
        subset = set(step.subset)
        inside = sum(int(group[0]) in subset for group in self.space.free)
        return inside if self.adding else len(self.space.free) - inside

    @property
    def name(self) -> str:
        """The search in words."""
        return ("forward" if self.adding else "backward") + " floating" * self.floating


def plan_of(space: Space, wanted: Any, adding: bool, floating: bool, patience: Any) -> Plan:
    """Settle what to do.

    Parameters
    ----------
    space : Space
    wanted : "best", "one-se", int or float in (0, 1)
        Parameter ``n_features_to_select``.
    adding, floating : bool
    patience : int or None

    Raises
    ------
    ParameterError
        For a number that cannot be reached, and a patience without use or below 1.
    """
    d = len(space.fixed) + sum(map(len, space.free))
    if isinstance(wanted, str):
        if wanted not in ("best", "one-se"):
            raise ParameterError(f"n_features_to_select={wanted!r} is not known. {WANTED.format(d=d)}")
        rule: Rule = "best" if wanted == "best" else "one-se"
        return Plan(space, adding, floating, rule, None, _patience(patience))
    if patience is not None:
        raise ParameterError(
            f"patience={patience!r} is for 'best' and 'one-se', but n_features_to_select={wanted!r} has its "
            "own end. Leave out one of the two."
        )
    limit = _limit(wanted, d)
    held = len(space.fixed)
    if limit < held:
        raise ParameterError(
            f"n_features_to_select={wanted!r} is {limit} features, but {held} are fixed. Give {held} or more."
        )
    least = min(map(len, space.free))
    if not held and limit < least:
        raise ParameterError(
            f"n_features_to_select={wanted!r} is {limit} features, but the smallest group has {least}. "
            f"Features are counted, not groups: give at least {least}."
        )
    return Plan(space, adding, floating, "size", limit, None)


def _limit(wanted: Any, d: int) -> int:
    advice = WANTED.format(d=d)
    if isinstance(wanted, (bool, np.bool_)) or not isinstance(wanted, Real):
        raise ParameterError(f"n_features_to_select={wanted!r} is no number of features. {advice}")
    if isinstance(wanted, (int, np.integer)):
        if not 1 <= wanted <= d:
            raise ParameterError(f"n_features_to_select={wanted} but there are {d} features. {advice}")
        return int(wanted)
    if not 0 < float(wanted) < 1:
        raise ParameterError(f"n_features_to_select={wanted!r} is no share between 0 and 1. {advice}")
    # 0.29 of 100 is 28.999999999999996 in binary.
    return max(1, math.floor(float(wanted) * d + 1e-9))


def _patience(patience: Any) -> int | None:
    if patience is None:
        return None
    whole = isinstance(patience, (int, np.integer)) and not isinstance(patience, bool)
    if not whole or patience < 1:
        raise ParameterError(
            f"patience={patience!r} must be a whole number of steps, at least 1, or None to go to the end."
        )
    return int(patience)
