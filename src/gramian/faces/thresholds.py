"""Thresholds of similarity scores for a given false accept rate, from the enrolled pictures alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import counted, evenly
from gramian.faces.similarity import Codes, Matcher
from gramian.records import FloatArray

FEW = 5  # people below which strangers are also simulated
SIMULATED = 20_000
# Of held-out comparisons.
FOLDS = 10
MANY = 200  # people above which there are fewer folds
MOST = 500  # people whose pictures are compared in a large gallery, one of four times as many
PAIRS = 1 << 23
POSITIONS = 5
# The least rate where none is asked for, and the one where none is stated; the trade is told at OTHERS too.
LEAST_FAR, UNSTATED_FAR = 0.001, 0.05
OTHERS = 0.01, 0.001
# As many times more new strangers get a name where the model was fitted on the pictures of those who serve as
# strangers; and people below which no rate is stated. docs/decisions/0011-thresholds-of-few-people.md.
KNOWN, STATED = 3.0, 10
# Share of pictures of enrolled people that are rejected, from which the default rate is said to cost much,
# and the larger rate that is named then, relative to it.
COSTLY, LARGER = 0.25, 3.0


def counted_threshold(
    scores: FloatArray, far: float, groups: npt.NDArray[Any] | None = None
) -> tuple[float, float] | None:
    """Return the threshold that a new stranger's picture reaches with probability ``far`` at most.

    It is the least t for which ``(F_1(t) + ... + F_N(t) + 1) / (N + 1) <= far``, where ``F_i(t)`` is the
    share of the pictures of stranger i with a score of at least t: if a new stranger is of the same kind, the
    expected share of his pictures is no larger.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Larger is more alike.
    far : float
    groups : ndarray of shape (n,), int, optional
        Whose picture each is, 0 .. N - 1; by default of a stranger each.

    Returns
    -------
    threshold, rate
        The rate expected of new strangers; None where N strangers cannot show so small a rate.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei and Schuster (2024), Conformal risk control, theorem 1.

    Examples
    --------
    >>> counted_threshold(np.arange(1.0, 1000.0) / 1000, 0.01)
    (0.991, 0.01)
    >>> counted_threshold(np.arange(1.0, 100.0) / 100, 0.001)
    """
    owners = np.arange(len(scores)) if groups is None else groups
    counts = np.bincount(owners)
    strangers = len(counts)
    allowed = far * (strangers + 1) - 1
    if not len(scores) or allowed < -1e-9:
        return None
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    shares = np.cumsum(1 / counts[owners[order]])
    # Of equal scores all are accepted or none.
    ends = np.append(np.diff(falling) != 0, True)
    fitting = np.flatnonzero(ends & (shares <= allowed + 1e-9))
    if not len(fitting):
        return float(np.nextafter(falling[0], np.inf)), 1 / (strangers + 1)
    place = int(fitting[-1])
    return float(falling[place]), float(shares[place] + 1) / (strangers + 1)


# ------------------------------------------------------------------ held-out comparisons

Bools = npt.NDArray[np.bool_]
Build = Callable[[Bools], Matcher]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Similarity scores of pictures that were held out from everything they are compared with.

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
    n_pairs : int
        Of how many.
    own : ndarray of shape (g,), float64
        Of pictures to other pictures of the same person.
    """

    strangers: FloatArray
    who: Codes
    share: float
    pairs: FloatArray
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

    @property
    def identification_far(self) -> float:
        """The least rate of strangers with a name that they can show, among all people."""
        return -math.expm1(-math.log1p(1 / max(1, self.n_strangers)) / self.share)

    @property
    def verification_far(self) -> float:
        """The least rate of others taken for a given person that they can show."""
        return 1 / (self.n_couples + 1)


def held_out(vectors: Any, people: Codes, build: Build) -> Comparisons:
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
            parts.append((scores.max(axis=1), people[block], pairs[::every].copy()))
    own = [np.empty(0)]
    for held in _positions(people):
        gallery = build(~held)
        scores = gallery.similarity(vectors[held])
        columns = np.searchsorted(gallery.people, people[held])
        own.append(scores[np.arange(len(scores)), columns].astype(np.float64))
    nothing = np.empty(0), np.empty(0, dtype=np.intp), np.empty(0)
    best, who, pairs = (np.concatenate(part) for part in zip(nothing, *parts, strict=True))
    return Comparisons(
        best.astype(np.float64),
        np.unique(who, return_inverse=True)[1],
        float(np.mean(shares)) if shares else 1.0,
        pairs.astype(np.float64),
        n_pairs,
        np.concatenate(own),
    )


def _left_out(n_people: int) -> Iterator[npt.NDArray[np.intp]]:
    """Yield people that are left out together; in a large gallery one part of them, once."""
    everybody = np.arange(n_people)
    if n_people > 4 * MOST:
        yield everybody[evenly(n_people, MOST)]
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
    large = len(counts) > 4 * MOST
    some = np.isin(people, evenly(len(counts), MOST if large else len(counts)))
    most = min(int(counts.max()), 1 if large else POSITIONS)
    for position in range(most):
        for group in range(groups):
            held = several & some & (place == position) & (people % groups == group)
            if held.any():
                yield held


# ------------------------------------------------------------------ calibration

ALL_ALIKE = (
    "All pictures of different people are equally similar, so nobody is recognised. Whitening has this "
    "effect when the model was fitted on the same pictures with as many components. Use fewer components or "
    "another distance."
)
NOBODY_TWICE = "Nobody has two pictures, so the false reject rate is unknown."


@dataclass(frozen=True)
class Threshold:
    """From which similarity score on an answer is given.

    Attributes
    ----------
    value : float
        Answers need at least this.
    far : float
        The rate of false accepts asked for, or chosen by :func:`supported`.
    false_accept : float or None
        The rate that is counted: at most ``far``, or the least that the people enrolled can show; None where
        fewer than ten are.
    false_reject : float or None
        Share of new pictures of enrolled people predicted to be below; None where nobody has two pictures.
    observed : bool
        Whether there were strangers enough to count so small a rate; otherwise none of them is accepted.
    notes : tuple of str
        What cannot be promised.
    """

    value: float
    far: float
    false_accept: float | None
    false_reject: float | None
    observed: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """The thresholds of a gallery, and what they were found from.

    Attributes
    ----------
    identify : Threshold
        For the most alike of all people: ``far`` is the share of strangers' pictures that get a name.
    verify : Threshold
        For one person: ``far`` is the share of other people's pictures taken for a given person.
    trade : tuple of Threshold
        For the most alike of all people, at this rate and at others that can be counted, falling.
    n_impostor, n_genuine : int
        Number of pictures of left-out people, and of pictures compared with others of the same person.
    """

    identify: Threshold
    verify: Threshold
    trade: tuple[Threshold, ...]
    n_impostor: int
    n_genuine: int

    def __str__(self) -> str:
        if self.identify.false_accept == 0:
            return ALL_ALIKE
        rates = []
        for one in self.trade:
            missed = "an unknown share" if one.false_reject is None else f"{100 * one.false_reject:.0f} %"
            rates.append((f"{one.far:g} (1 in {round(1 / one.far):,})", missed))
        (first, missed), *others = rates
        rate = (
            "a false accept rate" if self.identify.observed else "a threshold above all strangers, for a rate"
        )
        parts = [f"At {rate} of {first}, {missed} of new pictures of enrolled people are rejected"]
        return "; ".join([*parts, *(f"at {rate}, {missed}" for rate, missed in others)]) + "."


def supported(least: float) -> float:
    """Return the rate of false accepts that is taken where none is asked for.

    The least that the people enrolled can show, rounded up to a thousandth, and not below 0.001.

    Examples
    --------
    >>> [supported(1 / (people + 1)) for people in (10, 30, 200, 5000)]
    [0.091, 0.033, 0.005, 0.001]
    """
    return max(LEAST_FAR, math.ceil(least * 1000 - 1e-9) / 1000)


def margin_of(vectors: Any, n_people: int, variances: FloatArray, moved: bool = False) -> float:
    """Return by what rates are divided: 1, or ``KNOWN`` if the model was fitted on these very pictures.

    Their vectors have mean 0 then, nearly so if the model was fitted on moved copies as well. The squared
    length of the mean of those of N new people is about an N-th of the sum of the variances.

    Examples
    --------
    >>> new = np.random.default_rng(0).standard_normal((30, 40))
    >>> margin_of(new, 30, np.ones(40)), margin_of(new - new.mean(axis=0), 30, np.ones(40))
    (1.0, 3.0)
    """
    mean = np.asarray(vectors, dtype=np.float64).mean(axis=0)
    share = float(mean @ mean) * n_people / max(float(np.sum(variances)), np.finfo(float).tiny)
    return KNOWN if share < (0.3 if moved else 0.01) else 1.0


def calibrate(
    vectors: Any,
    people: Codes,
    build: Build,
    *,
    far: float | None,
    perfect: float,
    variances: FloatArray,
    moved: bool = False,
) -> Calibration:
    """Find the thresholds of a gallery.

    Parameters
    ----------
    vectors, people, build
        As in :func:`held_out`.
    far : float or None
        None takes what the people enrolled can show: :func:`supported`.
    perfect : float
        The similarity score of a vector with itself.
    variances : ndarray of shape (k,), float64
        Of the vectors, over faces: where there are fewer than five people, strangers are also simulated, from
        a normal distribution with these variances, and the higher threshold is taken.
    moved : bool
        Whether the model was fitted on moved copies of pictures as well.
    """
    result = held_out(vectors, people, build)
    n_people = int(people.max()) + 1
    margin = margin_of(vectors, n_people, variances, moved) if n_people >= STATED else 1.0
    notes: tuple[str, ...] = ()
    identified: Callable[[float], Threshold]
    verified: Callable[[float], Threshold]
    if n_people < FEW:
        simulated = _simulated(build(np.ones(len(people), dtype=bool)), variances)
        identified = partial(_by_simulation, simulated.max(axis=1), result.strangers, result.own)
        verified = partial(_by_simulation, simulated.ravel(), result.pairs, result.own)
        notes += (_few(n_people),)
    elif _all_alike(result.pairs):
        identified = verified = partial(_nobody, result.own, perfect)
        notes += (ALL_ALIKE,)
    else:
        identified, verified = partial(_identification, result, margin), partial(_verification, result)
    notes += () if len(result.own) else (NOBODY_TWICE,)
    default = (margin * result.identification_far, result.verification_far)
    usual = map(supported, default) if n_people >= STATED else (UNSTATED_FAR, UNSTATED_FAR)
    rate, verified_rate = usual if far is None else (far, far)
    verify = verified(verified_rate)
    at = {one: identified(one) for one in sorted({rate, *OTHERS}, reverse=True)}
    if FEW <= n_people < STATED:
        notes += (_unstated(n_people),)
    identify, verify = (replace(one, notes=one.notes + notes) for one in (at[rate], verify))
    if far is None and identify.value <= perfect and (identify.false_reject or 0.0) > COSTLY:
        identify = replace(identify, notes=(*identify.notes, _costly(identify, identified(LARGER * rate))))
    if n_people < STATED:
        identify, verify = (
            replace(one, false_accept=None if one.false_accept else 0.0) for one in (identify, verify)
        )
    trade = tuple(one for one in at.values() if one.observed or one.far == rate)
    return Calibration(identify, verify, trade, len(result.strangers), len(result.own))


def _identification(result: Comparisons, margin: float, far: float) -> Threshold:
    """Return the threshold for the most alike of all people."""
    # Those who were left out were compared with fewer people.
    rate = -math.expm1(math.log1p(-far / margin) * result.share)
    counted = counted_threshold(result.strangers, rate, result.who)
    whom = f"{result.n_strangers:,} people who serve as strangers"
    least = margin * result.identification_far
    return _threshold(counted, result.strangers, result.own, far, far / rate, whom, least)


def _verification(result: Comparisons, far: float) -> Threshold:
    """Return the threshold for one person."""
    counted = counted_threshold(result.pairs, far) if far * (result.n_couples + 1) >= 1 - 1e-9 else None
    whom = f"{result.n_couples:,} pairs of a stranger and a person"
    return _threshold(counted, result.pairs, result.own, far, 1.0, whom, result.verification_far)


def _threshold(
    counted: tuple[float, float] | None,
    strangers: FloatArray,
    own: FloatArray,
    far: float,
    scale: float,
    whom: str,
    least: float,
) -> Threshold:
    """Return the threshold that was counted; or one above all strangers, where they cannot show the rate."""
    if counted is not None:
        return Threshold(counted[0], far, min(far, counted[1] * scale), _below(own, counted[0]), True)
    note = (
        f"{whom} are too few to count a false accept rate of {far:g}. The threshold is above all of them. "
        f"Rates from {least:.2g} can be counted."
    )
    value = _above(strangers)
    return Threshold(value, far, min(1.0, least), _below(own, value), False, (note,))


def _by_simulation(simulated: FloatArray, scores: FloatArray, own: FloatArray, far: float) -> Threshold:
    """Return the threshold for simulated strangers, and not below the few real ones."""
    value, predicted = counted_threshold(simulated, far) or (_above(simulated), far)
    if len(scores) and scores.max() >= value:
        value = _above(scores)
    return Threshold(value, far, predicted, _below(own, value), False)


def _above(scores: FloatArray) -> float:
    return float(np.nextafter(scores.max(), np.inf))


def _nobody(own: FloatArray, perfect: float, far: float) -> Threshold:
    """Return a threshold that nobody passes: whatever is asked, the answer would be chance."""
    value = float(np.nextafter(perfect, np.inf))
    return Threshold(value, far, 0.0, _below(own, value), False)


def _below(own: FloatArray, value: float) -> float | None:
    return float((own < value).mean()) if len(own) else None


def _all_alike(pairs: FloatArray) -> bool:
    """Say whether all pictures of different people are equally alike, as whitening can make them."""
    return len(pairs) > 0 and float(np.ptp(pairs)) <= 1e-3 * float(np.abs(pairs).max()) + 1e-6


def _simulated(gallery: Matcher, variances: FloatArray) -> FloatArray:
    rng = np.random.default_rng(0)
    strangers = rng.standard_normal((SIMULATED, len(variances))) * np.sqrt(variances)
    return np.asarray(gallery.similarity(strangers.astype(np.float32)), dtype=np.float64)


def _unstated(n_people: int) -> str:
    return (
        f"{n_people} enrolled people are too few to state a false accept rate: at least {STATED} are needed. "
        "The rate asked for only sets the threshold."
    )


def _costly(default: Threshold, larger: Threshold) -> str:
    """Say what the default rate costs, and what a larger one would."""
    lost, less = (f"{100 * (one.false_reject or 0.0):.0f} %" for one in (default, larger))
    return (
        f"{lost} of new pictures of enrolled people are predicted to be rejected at the default rate of "
        f"{default.far:g}, and {less} at a rate of {larger.far:g}, which names more strangers. Enroll more "
        "people and more pictures of each, or choose a larger rate."
    )


def _few(n_people: int) -> str:
    return (
        f"{counted(n_people, 'enrolled person', 'enrolled people')} cannot show how similar strangers are. "
        f"{SIMULATED:,} strangers were simulated from a normal distribution with the model's variances. The "
        f"false accept rate is a rough estimate, and is not stated for fewer than {STATED} people."
    )
