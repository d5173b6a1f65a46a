"""What the enrolled pictures tell of strangers and of new pictures: each compared as if not enrolled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gramian.faces.thresholds import tail_size
from gramian.records import FloatArray

__all__ = ["Bools", "Build", "Codes", "Matcher", "Trials", "trials"]

FOLDS = 10
MANY = 200  # people above which there are fewer folds
MOST = 500  # people whose pictures are compared in a large gallery, one of four times as many
PAIRS = 1 << 23
POSITIONS = 5
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.intp]


class Matcher(Protocol):
    """People to compare with."""

    people: Codes

    def similarity(self, vectors: Any) -> npt.NDArray[np.float32]:
        """Return how alike vectors and people are, shape (m, len(people))."""
        ...


Build = Callable[[Bools], Matcher]


@dataclass(frozen=True, eq=False)
class Trials:
    """Likenesses of pictures that were held out from everything they are compared with.

    Attributes
    ----------
    strangers : ndarray of shape (s,), float64
        Of pictures of people who were left out, to whoever is most alike.
    who : ndarray of shape (s,), int
        Which of the people who were left out each shows, counted from 0.
    share : float
        How many people they were compared with, as a share of all.
    pairs : ndarray of shape (p,), float64
        Of the same pictures to each of the people; of very many every so many.
    closest : ndarray of shape (m,), float64
        The largest of all of these, descending.
    n_pairs : int
        Of how many.
    own : ndarray of shape (g,), float64
        Of pictures to other pictures of the same person.
    """

    strangers: FloatArray
    who: Codes
    share: float
    pairs: FloatArray
    closest: FloatArray
    n_pairs: int
    own: FloatArray

    @property
    def n_strangers(self) -> int:
        """Number of people who were left out."""
        return len(np.unique(self.who))

    @property
    def n_couples(self) -> int:
        """Number of couples of somebody who was left out and somebody who was not."""
        return round(self.n_pairs * self.n_strangers / max(1, len(self.who)))


def trials(vectors: Any, people: Codes, build: Build) -> Trials:
    """Compare enrolled pictures with each other, as if each had not been enrolled.

    A stranger's picture is one of a person who is neither in the gallery nor among those that discriminants
    are found from; a picture of an enrolled person is one that is in neither, while others of the person are.

    Parameters
    ----------
    vectors : ndarray of shape (n, k)
    people : ndarray of shape (n,), int
        0 .. n_people - 1.
    build : callable
        Makes a gallery of the pictures of a mask, fitting what is fitted on these alone.
    """
    n_people = int(people.max()) + 1
    most = tail_size(len(vectors) * n_people, n_people)  # all of the tail may be in one part
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    shares, n_pairs = [], 0
    for left_out in _left_out(n_people):
        held = np.isin(people, left_out)
        if held.all():
            continue
        gallery = build(~held)
        shares.append(len(gallery.people) / n_people)
        strange = np.flatnonzero(held)
        count = len(strange) * len(gallery.people)
        every, n_pairs = max(1, -(-count // (PAIRS // FOLDS))), n_pairs + count
        for block in np.array_split(strange, -(-count // PAIRS)):
            scores = gallery.similarity(vectors[block])
            pairs = scores.ravel()
            parts.append((scores.max(axis=1), people[block], pairs[::every].copy(), _largest(pairs, most)))
    own = [np.empty(0)]
    for held in _positions(people):
        gallery = build(~held)
        scores = gallery.similarity(vectors[held])
        columns = np.searchsorted(gallery.people, people[held])
        own.append(scores[np.arange(len(scores)), columns].astype(np.float64))
    nothing = np.empty(0), np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
    best, who, pairs, closest = (np.concatenate(part) for part in zip(nothing, *parts, strict=True))
    return Trials(
        best.astype(np.float64),
        np.unique(who, return_inverse=True)[1],
        float(np.mean(shares)) if shares else 1.0,
        pairs.astype(np.float64),
        _largest(closest, min(len(closest), tail_size(n_pairs, len(np.unique(who))))).astype(np.float64),
        n_pairs,
        np.concatenate(own),
    )


def _largest(values: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """Return the largest values, descending."""
    if count < len(values):
        values = np.partition(values, len(values) - count)[len(values) - count :]
    return -np.sort(-values)


def _left_out(n_people: int) -> Iterator[npt.NDArray[np.intp]]:
    """Yield people that are left out together; in a large gallery one part of them, once."""
    everybody = np.arange(n_people)
    if n_people > 4 * MOST:
        yield everybody[np.linspace(0, n_people - 1, MOST).astype(int)]
        return
    folds = min(n_people, FOLDS if n_people <= MANY else FOLDS // 2)
    for fold in range(folds):
        yield everybody[everybody % folds == fold]


def _positions(people: Codes) -> Iterator[Bools]:
    """Yield pictures that are held out together, one of a person, such that each person keeps one.

    Where hardly anybody has three pictures they are held out of every other person, so that discriminants can
    still be found.
    """
    counts = np.bincount(people)
    order = np.argsort(people, kind="stable")
    starts = np.cumsum(counts) - counts
    place = np.empty(len(people), dtype=np.intp)
    place[order] = np.arange(len(people)) - np.repeat(starts, counts)
    several = counts[people] > 1
    if not several.any():
        return
    groups = 1 if np.median(counts[counts > 1]) > 2 else 2
    some = np.zeros(len(counts), dtype=bool)
    if len(counts) > 4 * MOST:
        some[np.linspace(0, len(counts) - 1, MOST).astype(int)] = True
    else:
        some[:] = True
    most = min(int(counts.max()), 1 if len(counts) > 4 * MOST else POSITIONS)
    for position in range(most):
        for group in range(groups):
            held = several & some[people] & (place == position) & (people % groups == group)
            if held.any():
                yield held
