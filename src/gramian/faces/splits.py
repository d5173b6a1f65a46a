"""Which pictures are enrolled, asked about, and those of strangers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.estimators.inputs import generators
from gramian.faces.gallery.records import counted
from gramian.faces.pictures import Faces

__all__ = [
    "Chosen",
    "Population",
    "as_faces",
    "check_leave_out",
    "choose",
    "component_counts",
    "noise_pictures",
    "population",
    "size_text",
    "whole_number",
]

NOISE = 100
Codes = npt.NDArray[np.intp]


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


def population(faces: Faces, enrolled: int | None) -> tuple[Population, list[str], npt.NDArray[np.bool_]]:
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
    enrolled = whole_number("enrolled", enrolled, 1)
    enough = sizes > enrolled
    if enough.sum() < 2:
        raise DataError(
            f"{int(enough.sum())} of {len(names)} people have more than {enrolled} pictures, of which some "
            "are enrolled and others are asked about. Enroll fewer, or add pictures: the most that anybody "
            f"has is {sizes.max()}."
        )
    notes = []
    if not enough.all():
        notes.append(f"{counted(int((~enough).sum()), 'person')} with at most {enrolled} pictures not used.")
    usable = enough[codes]
    kept = np.unique(codes[usable], return_inverse=True)[1].astype(np.intp)
    return Population(tuple(str(name) for name in names[enough]), kept, enrolled), notes, usable


def check_leave_out(leave_out: Any, people: Population) -> int:
    """Return how many people are left out.

    Raises
    ------
    ParameterError
        Unless two are left in.
    """
    count = whole_number("leave_out", leave_out, 0)
    if count > people.count - 2:
        raise ParameterError(
            f"leave_out={count} of {people.count} people leaves fewer than 2. Give at most "
            f"{people.count - 2}."
        )
    return count


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a number as int.

    Raises
    ------
    ParameterError
        Unless it is whole, not below ``least`` and not above ``most``.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(f"{name}={value!r} must be a whole number of at least {least}.")
    if most is not None and value > most:
        raise ParameterError(f"{name}={value!r} is too many: at most {most:,} are possible. Give fewer.")
    return int(value)


def as_faces(name: str, given: Any) -> Faces:
    """Return pictures that know where they are from.

    Raises
    ------
    InputTypeError
        For an array, a path, and anything else.
    """
    if not isinstance(given, Faces):
        raise InputTypeError(
            f"{name} is {type(given).__name__}. Give Faces: read_faces(PATH) reads them, and "
            "Faces(pictures, people, names, hashes) makes them of an array."
        )
    return given


def component_counts(wanted: int | Sequence[int], most: int, notes: list[str]) -> list[int]:
    """Return numbers of components in rising order, none above ``most``; add a note where one was.

    Examples
    --------
    >>> notes = []
    >>> component_counts([50, 25, 100, 200], 80, notes), notes[0][:28]
    ([25, 50, 80], '100 and 200 components becam')
    """
    if isinstance(wanted, str) or wanted is None:
        raise InputTypeError(
            f"n_components={wanted!r} is no number of components. Give a whole number, or several."
        )
    several: Any = [wanted] if np.ndim(wanted) == 0 else wanted
    asked = sorted({whole_number("n_components", count, 1) for count in several})
    if not asked:
        raise ParameterError("n_components is empty. Give at least one number of components.")
    counts = sorted({min(count, most) for count in asked})
    above = [str(count) for count in asked if count > most]
    if above:
        notes.append(
            f"{' and '.join(above)} components became {most}, the most that the enrolled pictures have."
        )
    return counts


def size_text(faces: Faces) -> str:
    """Return width and height of pictures, such as "92x112"."""
    return f"{faces.pictures.shape[2]}x{faces.pictures.shape[1]}"


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
class Chosen:
    """Masks over the pictures."""

    enrolled: npt.NDArray[np.bool_]
    tested: npt.NDArray[np.bool_]
    strangers: npt.NDArray[np.bool_]


def choose(codes: Codes, enrolled: int, leave_out: int, rng: np.random.Generator) -> Chosen:
    """Draw who is left out, and which pictures of all others are enrolled.

    Parameters
    ----------
    codes : ndarray of shape (n,), int
        Who is on each picture, 0 .. n_people - 1.
    enrolled : int
        How many pictures of each person.
    leave_out : int
        How many people.
    rng : Generator
    """
    count = int(codes.max()) + 1
    strangers = np.isin(codes, rng.permutation(count)[:leave_out])
    chosen = np.zeros(len(codes), dtype=bool)
    for person in range(count):
        chosen[rng.permutation(np.flatnonzero(codes == person))[:enrolled]] = True
    chosen &= ~strangers
    return Chosen(chosen, ~chosen & ~strangers, strangers)
