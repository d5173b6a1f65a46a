"""Which pictures are enrolled, asked about, and those of strangers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.checks import check_integer, counted
from gramian.errors import DataError
from gramian.estimators.inputs import generators
from gramian.faces.pictures import Faces
from gramian.faces.similarity import Codes
from gramian.faces.space import as_counts
from gramian.faces.thresholds import Bools

__all__ = ["Population", "Split", "component_counts", "draw_split", "noise_pictures", "population"]

NOISE = 100


@dataclass(frozen=True, eq=False)
class Population:
    """People with enough pictures.

    Attributes
    ----------
    names : tuple of str
    codes : ndarray of shape (n,), int
        Who is on each picture, by the position in ``names``.
    enrolled : int
        How many pictures of each are enrolled.
    """

    names: tuple[str, ...]
    codes: Codes
    enrolled: int

    @property
    def count(self) -> int:
        """Number of people."""
        return len(self.names)


def population(faces: Faces, enrolled: int | None) -> tuple[Population, list[str], Bools]:
    """Return those with more pictures than are enrolled, notes, and a mask of their pictures.

    Parameters
    ----------
    faces : Faces
    enrolled : int or None
        None is half of what the person with the fewest has, of those with two or more.

    Raises
    ------
    DataError
        Without people, or where fewer than two have enough pictures.
    """
    if faces.people is None:
        raise DataError(
            f"{faces.source} does not say who is on its pictures. Put them into folders, one a person, or "
            "give an .npz file with pictures X and people y."
        )
    names, codes = np.unique(np.array(faces.people, dtype=object), return_inverse=True)
    sizes = np.bincount(codes)
    if enrolled is None:
        enrolled = max(1, int(sizes[sizes > 1].min(initial=sizes.max())) // 2)
    enrolled = check_integer("enrolled", enrolled)
    enough = sizes > enrolled
    if enough.sum() < 2:
        raise DataError(
            f"{int(enough.sum())} of {len(names)} people have more than {enrolled} pictures, of which some "
            "are enrolled and others are asked about. Enroll fewer, or add pictures: the most that anybody "
            f"has is {sizes.max()}."
        )
    notes = []
    if not enough.all():
        notes.append(
            f"{counted(int((~enough).sum()), 'person', 'people')} with at most {enrolled} pictures not used."
        )
    usable = enough[codes]
    kept = np.unique(codes[usable], return_inverse=True)[1].astype(np.intp)
    return Population(tuple(str(name) for name in names[enough]), kept, enrolled), notes, usable


def component_counts(wanted: int | Sequence[int], most: int, notes: list[str]) -> list[int]:
    """Return numbers of components in rising order, none above ``most``; add a note where one was.

    Examples
    --------
    >>> notes = []
    >>> component_counts([50, 25, 100, 200], 80, notes), notes[0][:28]
    ([25, 50, 80], '100 and 200 components becam')
    """
    asked = sorted(set(as_counts(wanted)))
    counts = sorted({min(count, most) for count in asked})
    above = [str(count) for count in asked if count > most]
    if above:
        notes.append(
            f"{' and '.join(above)} components became {most}, the most that the enrolled pictures have."
        )
    return counts


def noise_pictures(faces: Faces, random_state: Any = 0) -> Faces:
    """Return pictures that are no faces: noise, and faces whose pixels are shuffled.

    Parameters
    ----------
    faces : Faces
        Whose size, kind of numbers and grey values they have.
    random_state : int, RandomState, Generator or None, default=0

    Examples
    --------
    >>> from gramian.faces import drawn_faces
    >>> noise_pictures(drawn_faces(2, 2, size=(20, 24))).pictures.shape
    (200, 24, 20)
    """
    (rng,) = generators(random_state, 1)
    pictures = faces.pictures
    low, high = float(pictures.min()), float(pictures.max())
    noise = rng.uniform(low, high, (NOISE, *pictures.shape[1:])).astype(pictures.dtype)
    chosen = pictures[rng.integers(0, len(pictures), NOISE)].reshape(NOISE, -1)
    shuffled = rng.permuted(chosen, axis=1).reshape(noise.shape)
    names = [f"noise{i}" for i in range(NOISE)] + [f"shuffled{i}" for i in range(NOISE)]
    made = np.concatenate([noise, shuffled])
    return Faces(made, None, tuple(names), ("",) * len(names), source="noise and shuffled faces")


@dataclass(frozen=True, eq=False)
class Split:
    """Masks over the pictures."""

    enrolled: Bools
    tested: Bools
    strangers: Bools


def draw_split(people: Population, leave_out: int, rng: np.random.Generator) -> Split:
    """Draw who is left out, and which pictures of all others are enrolled.

    Parameters
    ----------
    people : Population
    leave_out : int
        How many people.
    rng : Generator
    """
    strangers = np.isin(people.codes, rng.permutation(people.count)[:leave_out])
    chosen = np.zeros(len(strangers), dtype=bool)
    for person in range(people.count):
        chosen[rng.permutation(np.flatnonzero(people.codes == person))[: people.enrolled]] = True
    chosen &= ~strangers
    return Split(chosen, ~chosen & ~strangers, strangers)
