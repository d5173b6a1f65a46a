"""``python benchmarks/faces_evaluation.py PICTURES [options]``: how often people are recognised.

Each random split enrolls some pictures of each person, fits a model on these alone, and tests all others.
It prints rank-1 rates, errors of verification, answers at the calibrated threshold, and how well faces are
distinguished from other pictures. docs/faces_evaluation.md lists the calls behind its figures.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import roc_curve
from sklearn.neighbors import radius_neighbors_graph

from gramian.core.checks import check_integer, counted
from gramian.errors import DataError, GramianError, RankWarning
from gramian.faces import LIGHTS, Faces, FaceSpace, Recogniser, read_faces
from gramian.faces.space import areas
from gramian.models.inputs import generators

COUNTS = (25, 50, 100, 200, 300, 400)
FARS = (0.1, 0.03, 0.01, 0.003, 0.001)
LIGHT = "equalise"  # as good as others on ORL, best on Extended Yale B
KEEP = 0.99
CONFUSIONS = 10
NOISE = 100
# Copies that were compressed to JPEG at quality 50, made two thirds as large, or given noise of three grey
# levels are within 0.045; other pictures of one person are farther than 0.12 apart on ORL and Yale.
SIDE, NEAR = 16, 0.05
Array = npt.NDArray[Any]


# ------------------------------------------------------------------ rates


def roc(genuine: Any, impostor: Any) -> tuple[Array, Array, Array]:
    """Return thresholds and the rates of false accepts and false rejects at them.

    A comparison is accepted when its score is at least the threshold.

    Parameters
    ----------
    genuine, impostor : array-like of shape (g,) and (s,)
        Scores of comparisons of the same person and of different ones; larger is more alike.

    Returns
    -------
    thresholds, false_accepts, false_rejects : ndarray
        Every score that occurs, ascending, and infinity: nothing is accepted.

    Examples
    --------
    >>> thresholds, accepts, rejects = roc([3, 2], [1, 2])
    >>> thresholds.tolist(), accepts.tolist(), rejects.tolist()
    ([1.0, 2.0, 3.0, inf], [1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 1.0])
    """
    same = np.repeat([1, 0], [len(genuine), len(impostor)])
    scores = np.concatenate([genuine, impostor]).astype(np.float64)
    accepts, right, thresholds = roc_curve(same, scores, drop_intermediate=False)
    return thresholds[::-1], accepts[::-1], 1 - right[::-1]


def equal_error(genuine: Any, impostor: Any) -> float:
    """Return the rate at which as many are accepted wrongly as refused wrongly.

    Where no threshold makes them equal, the mean of both at the threshold where they differ least.

    Examples
    --------
    >>> equal_error([3, 4, 5, 1], [0, 1, 2, 3.5])
    0.25
    """
    _, accepts, rejects = roc(genuine, impostor)
    # Rounded, so that the first of equal differences is taken on every machine.
    place = int(np.argmin(np.abs(accepts - rejects).round(12)))
    return float(accepts[place] + rejects[place]) / 2


def rejects_at(genuine: Any, impostor: Any, fars: Any) -> Array:
    """Return the least rate of false rejects at which false accepts are at most ``fars``.

    Examples
    --------
    >>> rejects_at([3, 2], [1, 2], [0.0, 0.5]).tolist()
    [0.5, 0.0]
    """
    _, accepts, rejects = roc(genuine, impostor)
    # Rates of false accepts fall along the thresholds, and false rejects rise.
    places = np.searchsorted(-accepts, -np.asarray(fars, dtype=np.float64) - 1e-12)
    return np.asarray(rejects[places])


def mean_and_error(values: Any) -> tuple[float, float | None]:
    """Return the mean over splits and its standard error; None of a single one.

    Examples
    --------
    >>> mean_and_error([0.5, 1.0]), mean_and_error([0.5])
    ((0.75, 0.25), (0.5, None))
    """
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return float(np.mean(values)), error


# ------------------------------------------------------------------ figures


@dataclass(frozen=True)
class AtCount:
    """What a number of components does, as means over splits; rates are shares from 0 to 1.

    Attributes
    ----------
    n_components : int
    rank1, rank1_error : float, float or None
        Test pictures whose own person is the most alike, and the standard error over splits.
    equal_error, equal_error_error : float, float or None
        Equal error rate of verification, over all pairs of a test picture and a person.
    false_rejects : dict of float to float
        The ROC: rate of false rejects at each rate of false accepts, in verification.
    identified, misnamed : float
        Test pictures that got the right name, and another one, at the calibrated threshold.
    identified_error : float or None
        Standard error of ``identified`` over splits.
    false_accepts, false_accepts_error : float or None
        Pictures of people left out of the gallery that got a name; None where nobody was left out.
    verified, verified_error : float, float or None
        Test pictures whose own person is the most alike, and passes the calibrated threshold of verification.
    false_matches, false_matches_error : float, float or None
        Pairs of a picture of somebody left out (or of a test picture, where nobody was) and another person
        that pass that threshold.
    predicted_false_accept, predicted_false_reject : float, float or None
        What calibration on the enrolled pictures promised.
    face_error, other_error : float
        Median relative error of the reconstruction, of test pictures and of pictures that are no faces.
    told_apart : float
        No faces whose reconstruction error is above that of 99 % of the test pictures.
    face_equal_error : float
        The rate at which as many faces are refused as others pass, by reconstruction error.
    """

    n_components: int
    rank1: float
    rank1_error: float | None
    equal_error: float
    equal_error_error: float | None
    false_rejects: dict[float, float]
    identified: float
    identified_error: float | None
    misnamed: float
    false_accepts: float | None
    false_accepts_error: float | None
    verified: float
    verified_error: float | None
    false_matches: float
    false_matches_error: float | None
    predicted_false_accept: float
    predicted_false_reject: float | None
    face_error: float
    other_error: float
    told_apart: float
    face_equal_error: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Figures of a protocol; prints as tables.

    Attributes
    ----------
    protocol : dict
        What was done: pictures, people, how many pictures are copies of others, enrolled, splits, left out,
        light, the recogniser's parameters, and the rates of false accepts taken for ``far``.
    at : tuple of AtCount
        For each number of components.
    best : int
        The number with the highest rank-1 rate, the smallest of several.
    confusions : tuple of (str, str, int)
        Of ``best``: who was taken for whom, how often over all splits.
    faces_kept, others_refused : float
        By the model's own threshold for a face, calibrated on enrolled pictures: test pictures that pass, and
        pictures that are no faces that do not.
    told_apart : float
        Others that do not pass the threshold that exactly 99 % of the test pictures pass.
    faces_kept_error, others_refused_error, told_apart_error : float or None
    notes : tuple of str
    """

    protocol: dict[str, Any]
    at: tuple[AtCount, ...]
    best: int
    confusions: tuple[tuple[str, str, int], ...]
    faces_kept: float
    faces_kept_error: float | None
    others_refused: float
    others_refused_error: float | None
    told_apart: float
    told_apart_error: float | None
    notes: tuple[str, ...]

    def __str__(self) -> str:
        parts = [self._headline(), "", *self._who(), "", *self._verification(), "", *self._what()]
        if self.confusions:
            parts += ["", f"Most confused, with {self.best} components"]
            parts += [
                f"  {person} taken for {other}: {times} times" for person, other, times in self.confusions
            ]
        return "\n".join([*parts, *(["", *self.notes] if self.notes else [])])

    def _headline(self) -> str:
        protocol = self.protocol
        left = f", {protocol['leave_out']} people left out" if protocol["leave_out"] else ""
        copies = ", none a copy of another"
        if protocol["copies"]:
            copies = f", {protocol['copies']:,} of them copies or near-copies of others, kept on one side"
        splits = f"{counted(protocol['splits'], 'split')}, {protocol['enrolled']} of each enrolled"
        return (
            f"{protocol['pictures']:,} pictures of {protocol['people']:,} people{copies}; {splits}{left}. "
            f"light {protocol['light']}, discriminant {protocol['discriminant']}"
        )

    def _who(self) -> list[str]:
        columns = {"rank-1 %": "rank1", "right name %": "identified", "wrong name %": "misnamed"}
        columns |= {"strangers named %": "false_accepts"} if self.protocol["leave_out"] else {}
        title = f"Who it is, and at the threshold for {100 * self.protocol['far_taken']:g} % of strangers"
        return [title, *self._table(columns | {"predicted refused %": "predicted_false_reject"})]

    def _verification(self) -> list[str]:
        columns: dict[str, str | float] = {"equal error %": "equal_error"}
        columns |= {f"{100 * far:g} %": far for far in FARS}
        title = (
            "One to one: false rejects % at a rate of false accepts, and at the threshold for "
            f"{100 * self.protocol['verify_far_taken']:g} %"
        )
        return [
            title,
            *self._table(columns | {"right name %": "verified", "others passed %": "false_matches"}),
        ]

    def _what(self) -> list[str]:
        columns = {"error of faces": "face_error", "of others": "other_error"}
        return [
            f"A face or not, by reconstruction error ({self.protocol['others']})",
            *self._table(columns | {"told apart %": "told_apart", "equal error %": "face_equal_error"}),
            "By the model's own measure and threshold: "
            f"{_percent(self.faces_kept, self.faces_kept_error)} % of new faces pass, "
            f"{_percent(self.others_refused, self.others_refused_error)} % of others do not. "
            f"Where 99 % of new faces pass, {_percent(self.told_apart, self.told_apart_error)} % do not.",
        ]

    def _table(self, columns: Mapping[str, str | float]) -> list[str]:
        """Return one line a number of components, below the heads; a column is a figure of it."""
        lines = [["components", *columns]]
        lines += [[str(row.n_components), *(_cell(row, one) for one in columns.values())] for row in self.at]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return ["  ".join(map(str.rjust, line, widths)) for line in lines]


def _cell(row: AtCount, figure: str | float) -> str:
    """Return a figure as text; a number is the rate of false accepts at which false rejects are shown."""
    if isinstance(figure, float):
        return _percent(row.false_rejects[figure])
    value = getattr(row, figure)
    if figure in ("face_error", "other_error"):
        return f"{value:.3f}"
    return _percent(value, getattr(row, f"{figure}_error", None))


def _percent(share: float | None, error: float | None = None) -> str:
    if share is None:
        return "-"
    return f"{100 * share:.2f}" + ("" if error is None else f" ±{100 * error:.2f}")


# ------------------------------------------------------------------ the protocol


def evaluate_faces(
    faces: Faces,
    *,
    n_components: int | Sequence[int] = COUNTS,
    enrolled: int | None = None,
    splits: int = 10,
    light: str = LIGHT,
    discriminant: bool = True,
    far: float | None = None,
    leave_out: int = 0,
    others: Faces | None = None,
    random_state: Any = 0,
) -> Evaluation:
    """Measure how well people are recognised, and a face told from what is none.

    In every split some pictures of each person are enrolled. A model is fitted on these, once, with the
    largest number of components; smaller numbers are its first ones. All other pictures are test pictures:
    nothing sees them before they are asked about. A picture and its copies and near-copies, as
    ``copies_of`` finds them, are enrolled together or not at all.

    Parameters
    ----------
    faces : Faces
        With people.
    n_components : int or sequence of int
        Numbers of components; those that the enrolled pictures do not have become the largest they have.
    enrolled : int, optional
        Pictures of each person enrolled; by default half of what the person with the fewest has.
    splits : int, default=10
    light, discriminant, far
        As in ``FaceSpace`` and ``Recogniser``.
    leave_out : int, default=0
        People who are not enrolled, chosen anew in every split: all their pictures are those of strangers.
    others : Faces, optional
        Pictures that are no faces, of the size of the faces; by default noise and pictures whose pixels are
        shuffled.
    random_state : int, RandomState, Generator or None, default=0

    Raises
    ------
    DataError
        Without people, or where fewer than two have enough pictures.

    References
    ----------
    ISO/IEC 19795-1 (2021), Biometric performance testing and reporting, for the rates.

    Examples
    --------
    >>> from example_data import drawn_faces
    >>> found = evaluate_faces(drawn_faces(6, 4, size=(20, 24)), n_components=[4, 10], splits=2)
    >>> [row.n_components for row in found.at], found.protocol["enrolled"]
    ([4, 10], 2)
    """
    comparing = {"discriminant": discriminant, "far": far}
    people, notes, usable = population(faces, enrolled)
    given = faces.take(usable)
    leave_out = check_integer("leave_out", leave_out, 0, people.count - 2)
    most = (people.count - leave_out) * people.enrolled - 1
    counts = component_counts(n_components, min(most, given.pictures[0].size), notes)
    rngs = generators(random_state, splits + 1)
    others = noise_pictures(given, rngs[-1]) if others is None else others
    results: list[_Measured] = []
    for rng in rngs[:splits]:
        space = FaceSpace(counts[-1], light=light, random_state=rng)
        split = draw_split(people, leave_out, rng)
        results.append(_measure(given, people, others, split, space, counts, comparing))
    protocol = {
        "source": faces.source,
        "pictures": len(given),
        "people": people.count,
        "copies": people.copies,
        "size": given.size,
        "enrolled": people.enrolled,
        "splits": splits,
        "leave_out": leave_out,
        "light": light,
        **comparing,
        **results[-1].fars,
        "others": f"{len(others)} pictures of {others.source}",
    }
    return _summary(results, protocol, counts, people, (*notes, *dict.fromkeys(results[-1].notes)))


# ------------------------------------------------------------------ one split


@dataclass(frozen=True, eq=False)
class _Measured:
    """Figures of one split: for each number of components, and of the model."""

    rows: list[dict[str, Any]]
    wrong: list[Counter[tuple[int, int]]]
    model: dict[str, Any]
    fars: dict[str, float]
    notes: tuple[str, ...]


def _measure(
    faces: Faces,
    people: Population,
    others: Faces,
    split: Split,
    space: FaceSpace,
    counts: Sequence[int],
    comparing: dict[str, Any],
) -> _Measured:
    names = np.array(people.names, dtype=object)[people.codes]
    # Copies among the pictures make the last components empty, which harms nothing here.
    with warnings.catch_warnings(action="ignore", category=RankWarning):
        space.fit(faces.pictures[split.enrolled], names[split.enrolled])
    tested = faces.pictures[split.tested]
    vectors = [space.transform(faces.pictures[mask]) for mask in (split.enrolled, split.tested)]
    # Nothing is left to ask where nobody was left out.
    unknown = space.transform(faces.pictures[split.strangers]) if split.strangers.any() else None
    errors = space.errors(tested, counts), space.errors(others, counts)
    rows, wrong = [], []
    fars: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    for place, count in enumerate(counts):
        recogniser = Recogniser(**comparing)
        recogniser.fit(vectors[0][:, :count], names[split.enrolled], space.eigenvalues_[:count])
        strange = None if unknown is None else unknown[:, :count]
        row, mistakes = _recognised(recogniser, vectors[1][:, :count], strange, people, split)
        rows.append(row | _faces_known(errors[0][:, place], errors[1][:, place]))
        wrong.append(mistakes)
        notes = recogniser.notes_
        fars = {"far_taken": recogniser.far_, "verify_far_taken": recogniser.verify_far_}
    threshold, unlike = space.face_threshold_, (space.face_score(tested), space.face_score(others))
    model = {
        "faces_kept": float((unlike[0] <= threshold).mean()),
        "others_refused": float((unlike[1] > threshold).mean()),
        "told_apart": _told_apart(*unlike),
    }
    return _Measured(rows, wrong, model, fars, notes)


def _recognised(
    recogniser: Recogniser,
    vectors: npt.NDArray[np.float32],
    unknown: npt.NDArray[np.float32] | None,
    people: Population,
    split: Split,
) -> tuple[dict[str, Any], Counter[tuple[int, int]]]:
    truth = people.codes[split.tested]
    known = np.searchsorted(np.array(people.names, dtype=object), np.array(recogniser.people_, dtype=object))
    likeness = recogniser.similarity(vectors)
    answered = known[likeness.argmax(axis=1)]
    right, named = answered == truth, likeness.max(axis=1) >= recogniser.threshold_
    own = known[None, :] == truth[:, None]
    genuine, impostor = likeness[own], likeness[~own]
    accepted, matched = None, impostor
    if unknown is not None:
        strange = recogniser.similarity(unknown)
        accepted = float((strange.max(axis=1) >= recogniser.threshold_).mean())
        impostor, matched = np.concatenate([impostor, strange.ravel()]), strange
    passed = likeness.max(axis=1) >= recogniser.verify_threshold_
    pairs = zip(truth[~right].tolist(), answered[~right].tolist(), strict=True)
    row = {
        "rank1": float(right.mean()),
        "equal_error": equal_error(genuine, impostor),
        "false_rejects": rejects_at(genuine, impostor, FARS),
        "identified": float((right & named).mean()),
        "misnamed": float((~right & named).mean()),
        "false_accepts": accepted,
        "verified": float((right & passed).mean()),
        "false_matches": float((matched >= recogniser.verify_threshold_).mean()),
        "predicted_false_accept": recogniser.predicted_false_accept_,
        "predicted_false_reject": recogniser.predicted_false_reject_,
    }
    return row, Counter(pairs)


def _faces_known(faces: Array, others: Array) -> dict[str, float]:
    return {
        "face_error": float(np.median(faces)),
        "other_error": float(np.median(others)),
        "told_apart": _told_apart(faces, others),
        "face_equal_error": equal_error(-faces, -others),
    }


def _told_apart(faces: Array, others: Array) -> float:
    return float((others > np.quantile(faces, KEEP, method="higher")).mean())


# ------------------------------------------------------------------ over splits


def _averaged(splits: Sequence[dict[str, Any]], record: Any) -> dict[str, Any]:
    """Return the means of figures over splits, with standard errors where a record has room for them."""
    figures: dict[str, Any] = {}
    for name in splits[0]:
        values = [split[name] for split in splits]
        if name == "false_rejects":
            figures[name] = dict(zip(FARS, np.mean(values, axis=0).tolist(), strict=True))
            continue
        figures[name], error = (None, None) if values[0] is None else mean_and_error(values)
        if f"{name}_error" in record.__dataclass_fields__:
            figures[f"{name}_error"] = error
    return figures


def _summary(
    result: list[_Measured],
    protocol: dict[str, Any],
    counts: Sequence[int],
    people: Population,
    notes: tuple[str, ...],
) -> Evaluation:
    rows = tuple(
        AtCount(n_components=count, **_averaged([split.rows[place] for split in result], AtCount))
        for place, count in enumerate(counts)
    )
    best = max(range(len(counts)), key=lambda place: (rows[place].rank1, -counts[place]))
    mistakes = sum((split.wrong[best] for split in result), Counter[tuple[int, int]]())
    ranked = sorted(mistakes.items(), key=lambda entry: (-entry[1], entry[0]))[:CONFUSIONS]
    return Evaluation(
        protocol=protocol,
        at=rows,
        best=counts[best],
        confusions=tuple((people.names[a], people.names[b], times) for (a, b), times in ranked),
        notes=notes,
        **_averaged([split.model for split in result], Evaluation),
    )


# ------------------------------------------------------------------ splits


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
    codes: Array
    enrolled: int
    originals: Array

    @property
    def count(self) -> int:
        """Number of people."""
        return len(self.names)

    @property
    def copies(self) -> int:
        """Number of pictures that are copies or near-copies of another one."""
        return int((self.originals != np.arange(len(self.originals))).sum())


def population(faces: Faces, enrolled: int | None) -> tuple[Population, list[str], Array]:
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
    result = tuple(str(name) for name in names[enough])
    return Population(result, kept, enrolled, places[originals[usable]]), notes, usable


def _of_one_person(codes: Array, originals: Array) -> Array:
    """Say of each picture whether it and all of its copies show the same person."""
    other = np.unique(originals[codes != codes[originals]])
    return ~np.isin(originals, other)


def copies_of(pictures: Array) -> Array:
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
    small = np.stack([down @ picture.astype(np.float64) @ across.T for picture in pictures])
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
    asked = sorted(set(np.atleast_1d(wanted).tolist()))
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
    >>> from example_data import drawn_faces
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

    enrolled: Array
    tested: Array
    strangers: Array


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


# ------------------------------------------------------------------ command line


def main(arguments: Sequence[str] | None = None) -> int:
    """Read pictures, evaluate, print tables."""
    given = vars(_parser().parse_args(arguments))
    source, size, others = (given.pop(name) for name in ("pictures", "size", "others"))
    try:
        faces = read_faces(source, size=size)
        if others is not None:
            others = read_faces(others, size=faces.size)
        print(evaluate_faces(faces, others=others, **given))
    except GramianError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", help="a folder of folders, one per person, or .npz with X and y")
    parser.add_argument("--size", metavar="WxH", help="resize pictures to this size")
    parser.add_argument("--others", metavar="PATH", help="pictures that are no faces [noise]")
    parser.add_argument("-r", "--components", dest="n_components", default=COUNTS, type=_counts)
    parser.add_argument("--enrolled", type=int, help="pictures of each person enrolled [half of them]")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--light", choices=LIGHTS, default=LIGHT)
    parser.add_argument("--discriminant", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--far", type=float, help="share of strangers that may get a name")
    parser.add_argument("--leave-out", type=int, default=0, help="people left out, as strangers")
    parser.add_argument("--seed", type=int, default=0, dest="random_state")
    return parser


def _counts(text: str) -> list[int]:
    return [int(count) for count in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
