"""Thresholds of likeness at a stated rate of false accepts, from the enrolled pictures alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gramian.errors import ParameterError
from gramian.records import FloatArray

__all__ = ["Calibration", "Threshold", "calibrate", "check_far", "threshold_at", "trials"]

FOLDS = 10
MANY = 200  # people above which there are fewer folds
MOST = 500  # people whose pictures are compared in a large gallery, one of four times as many
PAIRS = 1 << 23
POSITIONS = 5
TAIL, LEAST = 0.2, 10  # the most alike strangers that a tail is fitted to: their share, their number
FEW = 5  # people below which strangers are also drawn
DRAWN = 20_000
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.intp]


class Matcher(Protocol):
    """People to compare with."""

    people: Codes

    def similarity(self, vectors: Any) -> npt.NDArray[np.float32]:
        """Return how alike vectors and people are, shape (m, len(people))."""
        ...


Build = Callable[[Bools], Matcher]


@dataclass(frozen=True)
class Threshold:
    """From which likeness on an answer is given.

    Attributes
    ----------
    value : float
        Answers need at least this.
    far : float
        The rate of false accepts asked for.
    false_accept : float
        The rate predicted: at most ``far``.
    false_reject : float or None
        Share of new pictures of enrolled people predicted to be below; None where nobody has two pictures.
    observed : bool
        Whether there were strangers enough to count; otherwise the tail was extrapolated.
    """

    value: float
    far: float
    false_accept: float
    false_reject: float | None
    observed: bool


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
        Of the same pictures to each of the people.
    couples : ndarray of shape (p,), int
        Which two people each compares, counted from 0.
    own : ndarray of shape (g,), float64
        Of pictures to other pictures of the same person.
    """

    strangers: FloatArray
    who: Codes
    share: float
    pairs: FloatArray
    couples: Codes
    own: FloatArray


@dataclass(frozen=True)
class Calibration:
    """The thresholds of a gallery, and what they were found from.

    Attributes
    ----------
    identify : Threshold
        For the most alike of all people: ``far`` is the share of strangers' pictures that get a name.
    verify : Threshold
        For one person: ``far`` is the share of other people's pictures taken for a given person.
    n_impostor, n_genuine : int
        Number of pictures of left-out people, and of pictures compared with others of the same person.
    notes : tuple of str
        What cannot be promised.
    """

    identify: Threshold
    verify: Threshold
    n_impostor: int
    n_genuine: int
    notes: tuple[str, ...]


def check_far(far: Any) -> float:
    """Return the rate of false accepts as a number.

    Raises
    ------
    ParameterError
        Unless it is above 0 and below 1.
    """
    try:
        value = float(far)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < 1:
        raise ParameterError(
            f"far={far!r} is not a share of strangers above 0 and below 1. Give for instance 0.001."
        )
    return value


def threshold_at(
    scores: FloatArray, far: float, perfect: float, groups: npt.NDArray[Any] | None = None
) -> tuple[float, float, bool]:
    """Return the threshold that a new stranger's picture reaches with probability ``far`` at most.

    It is the least t for which ``(F_1(t) + ... + F_N(t) + 1) / (N + 1) <= far``, where ``F_i(t)`` is the
    share of the pictures of stranger i with a score of at least t: if a new stranger is of the same kind, the
    expected share of his pictures is no larger. Below ``1 / (N + 1)`` nothing was observed. The number of
    strangers within a distance of perfect likeness is then taken to grow as a power of the distance, from the
    most alike one on; the power is fitted to the fifth of the pictures (at least ten) that are most alike.

    Parameters
    ----------
    scores : ndarray of shape (n,), at least one
        Larger is more alike.
    far : float
    perfect : float
        The likeness of a vector to itself.
    groups : ndarray of shape (n,), int, optional
        Whose picture each is, 0 .. N - 1; by default of a stranger each.

    Returns
    -------
    threshold, rate, observed
        What is needed; the rate expected of new strangers; whether strangers were counted.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei and Schuster (2024), Conformal risk control, theorem 1, for the count.
    Hill (1975), A simple general approach to inference about the tail of a distribution, for the power.

    Examples
    --------
    >>> threshold_at(np.arange(1.0, 1000.0) / 1000, 0.01, 1.0)
    (0.991, 0.01, True)
    """
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    owners = np.arange(len(scores)) if groups is None else groups
    counts = np.bincount(owners)
    shares = np.cumsum(1 / counts[owners[order]])
    strangers = len(counts)
    allowed = far * (strangers + 1) - 1
    if allowed < -1e-9:
        distance = perfect - float(falling[0])
        reach = (far * (strangers + 1)) ** _power(perfect - falling)
        return max(perfect - distance * reach, float(np.nextafter(falling[0], np.inf))), far, False
    # Of equal scores all are accepted or none.
    ends = np.append(np.diff(falling) != 0, True)
    fitting = np.flatnonzero(ends & (shares <= allowed + 1e-9))
    if not len(fitting):
        return float(np.nextafter(falling[0], np.inf)), 1 / (strangers + 1), True
    place = int(fitting[-1])
    return float(falling[place]), float(shares[place] + 1) / (strangers + 1), True


def _power(distances: FloatArray) -> float:
    """Return 1 / a, where P(distance < t) grows as t ** a, from ascending distances; 0 if unknown."""
    m = min(len(distances) - 1, max(LEAST, round(TAIL * len(distances))))
    if m < 1 or not distances[0] > 0:
        return 0.0
    return float(np.mean(np.log(distances[m] / distances[:m])))


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
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    shares = []
    for left_out in _left_out(n_people):
        held = np.isin(people, left_out)
        if held.all():
            continue
        gallery = build(~held)
        scores = gallery.similarity(vectors[held])
        couples = people[held][:, None] * n_people + gallery.people[None, :]
        every = max(1, -(-scores.size // (PAIRS // FOLDS)))
        parts.append((scores.max(axis=1), people[held], scores.ravel()[::every], couples.ravel()[::every]))
        shares.append(len(gallery.people) / n_people)
    own = [np.empty(0)]
    for held in _positions(people):
        gallery = build(~held)
        scores = gallery.similarity(vectors[held])
        columns = np.searchsorted(gallery.people, people[held])
        own.append(scores[np.arange(len(scores)), columns].astype(np.float64))
    nothing = (np.empty(0), np.empty(0, dtype=np.intp)) * 2
    best, who, pairs, couples = (np.concatenate(part) for part in zip(nothing, *parts, strict=True))
    return Trials(
        best.astype(np.float64),
        np.unique(who, return_inverse=True)[1],
        float(np.mean(shares)) if shares else 1.0,
        pairs.astype(np.float64),
        np.unique(couples, return_inverse=True)[1],
        np.concatenate(own),
    )


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


def calibrate(
    vectors: Any, people: Codes, build: Build, *, far: float, perfect: float, variances: FloatArray
) -> Calibration:
    """Find the thresholds of a gallery.

    Parameters
    ----------
    vectors, people, build
        As in :func:`trials`.
    far : float
    perfect : float
        The likeness of a vector to itself.
    variances : ndarray of shape (k,), float64
        Of the vectors, over faces: where there are fewer than five people, strangers are also drawn from a
        normal distribution with these variances, and the higher threshold is taken.
    """
    found = trials(vectors, people, build)
    n_people = int(people.max()) + 1
    # A stranger is alike to somebody by as many chances as there are people.
    rate = -math.expm1(math.log1p(-far) * found.share)
    if n_people < FEW:
        drawn = _drawn(build(np.ones(len(people), dtype=bool)), variances)
        identify = _threshold_drawn(drawn.max(axis=1), found.strangers, far, perfect, found.own)
        verify = _threshold_drawn(drawn.ravel(), found.pairs, far, perfect, found.own)
    elif _all_alike(found.pairs):
        # Whatever is asked, the answer would be chance: nobody is recognised.
        nobody = float(np.nextafter(perfect, np.inf))
        identify = verify = Threshold(nobody, far, 0.0, _below(found.own, nobody), False)
    else:
        identify = _threshold(found.strangers, found.who, far, rate, perfect, found.own)
        verify = _threshold(found.pairs, found.couples, far, far, perfect, found.own)
    notes = _notes(found, n_people, far, identify)
    return Calibration(identify, verify, len(found.strangers), len(found.own), notes)


def _threshold(
    scores: FloatArray, groups: Codes, far: float, rate: float, perfect: float, own: FloatArray
) -> Threshold:
    """Return the threshold for ``far``, which is ``rate`` where fewer people are compared with."""
    value, predicted, observed = threshold_at(scores, rate, perfect, groups)
    return Threshold(value, far, min(far, predicted * far / rate), _below(own, value), observed)


def _threshold_drawn(
    drawn: FloatArray, scores: FloatArray, far: float, perfect: float, own: FloatArray
) -> Threshold:
    """Return the threshold for drawn strangers, and not below the few real ones."""
    value, predicted, _ = threshold_at(drawn, far, perfect)
    if len(scores) and scores.max() >= value:
        value = float(np.nextafter(scores.max(), np.inf))
    return Threshold(value, far, predicted, _below(own, value), False)


def _below(own: FloatArray, value: float) -> float | None:
    return float((own < value).mean()) if len(own) else None


def _all_alike(pairs: FloatArray) -> bool:
    """Say whether all pictures of different people are equally alike, as whitening can make them."""
    return len(pairs) > 0 and float(np.ptp(pairs)) <= 1e-3 * float(np.abs(pairs).max()) + 1e-6


def _drawn(gallery: Matcher, variances: FloatArray) -> FloatArray:
    rng = np.random.default_rng(0)
    strangers = rng.standard_normal((DRAWN, len(variances))) * np.sqrt(variances)
    return np.asarray(gallery.similarity(strangers.astype(np.float32)), dtype=np.float64)


def _notes(found: Trials, n_people: int, far: float, identify: Threshold) -> tuple[str, ...]:
    notes = []
    if n_people < FEW:
        notes.append(
            f"With {n_people} {'person' if n_people == 1 else 'people'} enrolled hardly anything is known of "
            f"strangers: {DRAWN:,} were drawn from a normal distribution with the model's variances. Real "
            "people differ in other ways, so the rate of false accepts is a guess."
        )
    elif _all_alike(found.pairs):
        notes.append(
            "All pictures of different people are equally alike, so nobody is recognised. So it is after "
            "whitening with a model that was fitted on the same pictures with as many components. Use fewer "
            "components, or another distance."
        )
    elif not identify.observed:
        strangers = len(np.unique(found.who))
        notes.append(
            f"With {strangers:,} people who can stand for strangers a rate of {far:g} cannot be observed: "
            "the threshold is extrapolated from those most alike, by a power law, and refuses many of one's "
            f"own. "
            f"Rates from {1 / (strangers + 1):.2g} on can be counted."
        )
    if not len(found.own):
        notes.append("Nobody has two pictures, so the rate of false rejects is not known.")
    return tuple(notes)
