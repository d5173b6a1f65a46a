"""Which pictures are enrolled, asked about, and those of strangers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import radius_neighbors_graph

from gramian.arrays import as_float64
from gramian.checks import check_integer, counted
from gramian.errors import DataError
from gramian.estimators.inputs import generators
from gramian.faces.detector import areas
from gramian.faces.pictures import Faces, Pictures
from gramian.faces.similarity import Codes
from gramian.faces.space import as_counts
from gramian.faces.thresholds import Bools

NOISE = 100
# Copies that were compressed to JPEG at quality 50, made two thirds as large, or given noise of three grey
# levels are within 0.045; other pictures of one person are farther than 0.12 apart on ORL and Yale.
SIDE, NEAR = 16, 0.05


@dataclass(frozen=True, eq=False)
class Population:
    """People with enough pictures.

    Attributes
    ----------
    names : tuple of str
    codes : ndarray of shape (n,), int
        Who is on each picture, by the position in ``names``.
    enrolled : int
        How many pictures of each are enrolled; a picture and its copies count as one.
    originals : ndarray of shape (n,), int
        The first of the pictures that each is a copy or near-copy of: its own position, where it is none.
    """

    names: tuple[str, ...]
    codes: Codes
    enrolled: int
    originals: Codes

    @property
    def count(self) -> int:
        """Number of people."""
        return len(self.names)

    @property
    def copies(self) -> int:
        """Number of pictures that are copies or near-copies of another one."""
        return int((self.originals != np.arange(len(self.originals))).sum())


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
    originals = copies_of(faces.pictures)
    usable = _of_one_person(codes, originals)
    notes = []
    if not usable.all():
        shared = counted(int((~usable).sum()), "picture")
        notes.append(f"{shared} not used: the same is also filed under another person.")
    first = usable & (originals == np.arange(len(originals)))
    sizes = np.bincount(codes[first], minlength=len(names))
    if enrolled is None:
        enrolled = max(1, int(sizes[sizes > 1].min(initial=sizes.max())) // 2)
    enrolled = check_integer("enrolled", enrolled)
    enough = sizes > enrolled
    if enough.sum() < 2:
        raise DataError(
            f"{int(enough.sum())} of {len(names)} people have more than {enrolled} pictures, of which some "
            "are enrolled and others are asked about. Enroll fewer, or add pictures: the most that anybody "
            f"has is {sizes.max()}, without copies."
        )
    if not enough.all():
        few = counted(int((~enough).sum()), "person", "people")
        notes.append(f"{few} with at most {enrolled} pictures not used.")
    usable &= enough[codes]
    kept = np.unique(codes[usable], return_inverse=True)[1].astype(np.intp)
    places = np.cumsum(usable) - 1  # where each picture is among those that are used
    found = tuple(str(name) for name in names[enough])
    return Population(found, kept, enrolled, places[originals[usable]]), notes, usable


def _of_one_person(codes: Codes, originals: Codes) -> Bools:
    """Say of each picture whether it and all of its copies show the same person."""
    other = np.unique(originals[codes != codes[originals]])
    return ~np.isin(originals, other)


def copies_of(pictures: Pictures) -> Codes:
    """Return for each picture the first one that it is a copy of, by its pixels: mostly itself.

    A copy may be another file of the same pixels, or of nearly the same: two pictures are near-copies if,
    averaged to 16 x 16 cells and brought to mean 0 and length 1, they are no farther than 0.05 apart, which
    is a correlation of 0.99875. So are copies in another format, quality, size, brightness or contrast;
    cut-outs and pictures of one series are not. Copies of copies are copies.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width)

    Returns
    -------
    ndarray of shape (n,), int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.random((2, 24, 20))
    >>> copies_of(np.stack([first, second, 100 * first + 7, second])).tolist()
    [0, 1, 0, 1]
    """
    down, across = (areas(side, min(SIDE, side)) for side in pictures.shape[1:])
    small = np.stack([down @ as_float64(picture) @ across.T for picture in pictures])
    small = small.reshape(len(pictures), -1)
    small -= small.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(small, axis=1, keepdims=True)
    small /= np.where(lengths > 0, lengths, 1.0)
    near = radius_neighbors_graph(small, NEAR, mode="connectivity", include_self=True)
    _, groups = connected_components(near, directed=False)
    _, first = np.unique(groups, return_index=True)
    return np.asarray(first[groups], dtype=np.intp)


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
        # Copies are on the side of the first of them.
        different = np.unique(people.originals[people.codes == person])
        chosen |= np.isin(people.originals, rng.permutation(different)[: people.enrolled])
    chosen &= ~strangers
    return Split(chosen, ~chosen & ~strangers, strangers)
