"""The search space: free groups and fixed columns, from names, numbers, masks or labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.checks import check_integer, listed
from gramian.errors import ParameterError
from gramian.records import IntArray

SHAPES = "Give lists of features, such as [[0, 1], ['height', 'weight']], or one label for each feature."


@dataclass(frozen=True, eq=False)
class Space:
    """What can be chosen.

    Attributes
    ----------
    free : tuple of ndarray of int
        Groups of columns that move together, by their first column; columns of a group ascend.
    fixed : ndarray of int
        Columns that every subset has, ascending.
    """

    free: tuple[IntArray, ...]
    fixed: IntArray

    @property
    def n_features(self) -> int:
        """Number of features there are."""
        return len(self.fixed) + sum(map(len, self.free))


def space_of(groups: Any, fixed: Any, names: Sequence[str]) -> Space:
    """Return what can be chosen.

    Parameters
    ----------
    groups : sequence of sequences of int or str, array-like of shape (n_features,), or None
        Features that move together, by number or name; or a label for each feature, equal ones belong
        together. Features that are in no list are groups of their own.
    fixed : sequence of int or str, mask of shape (n_features,), or None
        Features that every subset has; with one of a group, all of it.
    names : sequence of str
        Of all features.

    Raises
    ------
    ParameterError
        For features that are not there, overlapping or empty groups, and where all features are fixed.
    """
    result = _groups(groups, names)
    stays = set(_fixed(fixed, names))
    held = [group for group in result if stays & set(group)]
    free = [group for group in result if not stays & set(group)]
    if not free:
        raise ParameterError(
            f"fixed={fixed!r} includes all {len(names)} features, with their groups. Leave one free."
        )
    ordered = sorted((sorted(group) for group in free), key=lambda group: group[0])
    return Space(
        tuple(np.array(group, dtype=np.intp) for group in ordered),
        np.array(sorted(j for group in held for j in group), dtype=np.intp),
    )


def _groups(groups: Any, names: Sequence[str]) -> list[list[int]]:
    d = len(names)
    if groups is None:
        return [[j] for j in range(d)]
    items = list(groups)
    if items and all(np.ndim(item) == 1 for item in items):
        return _members(items, names)
    if len(items) != d:
        raise ParameterError(f"groups={groups!r} has {len(items)} labels for {d} features. {SHAPES}")
    labelled: dict[Any, list[int]] = {}
    for j, label in enumerate(items):
        labelled.setdefault(label, []).append(j)
    return list(labelled.values())


def _members(groups: list[Any], names: Sequence[str]) -> list[list[int]]:
    owner: dict[int, int] = {}
    results = []
    for number, group in enumerate(groups):
        members = [_feature(item, names, "groups") for item in group]
        if not members:
            raise ParameterError(f"groups[{number}] is empty. Leave it out.")
        for j in members:
            if j in owner:
                raise ParameterError(
                    f"The feature {names[j]!r} (number {j}) is in groups[{owner[j]}] and groups[{number}]. "
                    "Groups must not overlap."
                )
            owner[j] = number
        results.append(members)
    return results + [[j] for j in range(len(names)) if j not in owner]


def _fixed(fixed: Any, names: Sequence[str]) -> list[int]:
    if fixed is None:
        return []
    items = list(fixed)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != len(names):
            raise ParameterError(
                f"fixed is a mask of {len(items)} booleans, but there are {len(names)} features."
            )
        return np.flatnonzero(items).tolist()
    return [_feature(item, names, "fixed") for item in items]


def _feature(item: Any, names: Sequence[str], parameter: str) -> int:
    """Return the number of a feature given by number or name."""
    if not isinstance(item, str):
        return check_integer(f"A feature in {parameter}", item, 0, len(names) - 1, "Or give a name.")
    count = list(names).count(item)
    if count != 1:
        problem = f"{count} features have that name" if count else f"the features are {listed(names)}"
        raise ParameterError(f"{parameter} names {item!r}, but {problem}. Give a unique name, or numbers.")
    return list(names).index(item)
