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
# By simulation: docs/decisions/0011-thresholds-of-few-people.md.
SHARE, EACH, LEAST = 0.05, 5, 10
# The rate where none is asked for lies between these; the trade is told at OTHERS too.
LEAST_FAR, MOST_FAR = 0.001, 0.05
OTHERS = 0.01, 0.001
# As many times more new strangers get a name where the model was fitted on the pictures of those who serve as
# strangers; and people below which no rate is stated. Measured on faces: the decision named above.
KNOWN, STATED = 3.0, 10
# Share of pictures of enrolled people that are rejected, from which the default rate is said to cost much,
# and the larger rate that is named then, relative to it.
COSTLY, LARGER = 0.25, 3.0
NEAR = 1e-6  # distances below this share of the tail's are taken for it: one person under two names


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


def tail_size(n: int, people: int) -> int:
    """Return how many of n comparisons of strangers :func:`tail_threshold` is given: the largest.

    A twentieth of them, and no more than five for each stranger, but at least ten.

    Examples
    --------
    >>> tail_size(4050, 30), tail_size(810, 30), tail_size(100, 5)
    (150, 40, 10)
    """
    return min(n, max(LEAST, round(min(SHARE * n, EACH * people))))


def tail_threshold(closest: FloatArray, n: int, far: float, perfect: float, independent: float) -> float:
    """Return the threshold that a new comparison with a stranger reaches with probability ``far``.

    Near the greatest score the share of comparisons within a distance d is taken to be a power of d, from the
    largest of the given ones on. The power is fitted to them. As it is known from few strangers only, it is
    not put in as if it were known, but the chance is averaged over what it may be: its reciprocal follows a
    gamma distribution of the shape ``independent``, which gives ``(1 + x / k) ** -k`` where a known power
    gives ``exp(-x)``. The fewer strangers, the higher the threshold.

    Parameters
    ----------
    closest : ndarray of shape (m,)
        The most alike of n comparisons, descending; of :func:`tail_size`.
    n : int
    far : float
        Below ``(m + 1) / (n + 1)``: more can be counted.
    perfect : float
        The similarity score of a vector with itself.
    independent : float
        k: how many of the comparisons say something new. N people make N / 2 couples that share nobody.

    References
    ----------
    Hill (1975), A simple general approach to inference about the tail of a distribution, for the power.
    Geisser (1993), Predictive inference, for averaging over it.

    Examples
    --------
    Distances whose share within d is d ** 3:

    >>> distances = (np.arange(1, 1001) / 1000) ** (1 / 3)
    >>> value = tail_threshold(1 - distances[:50], 1000, 0.001, 1.0, 1e9)
    >>> round(float((1 - value) ** 3), 4)
    0.0011
    """
    distances = perfect - closest
    widest = float(distances[-1]) if len(distances) else 0.0
    if len(distances) < 2 or not widest > 0:
        return float(np.nextafter(closest[0] if len(closest) else perfect, np.inf))
    reached = np.maximum(distances[:-1], NEAR * widest)
    power = float(np.mean(np.log(widest / reached)))  # 1 / a, where the share within d is d ** a
    fewer = (len(closest) + 1) / (n + 1) / max(far, np.finfo(float).tiny)
    return perfect - widest * math.exp(-power * independent * math.expm1(math.log(fewer) / independent))


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
    return Comparisons(
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
        The rate that holds: at most ``far``; None where fewer than ten people are enrolled.
    false_reject : float or None
        Share of new pictures of enrolled people predicted to be below; None where nobody has two pictures.
    observed : bool
        Whether there were strangers enough to count so small a rate; otherwise the tail was extrapolated.
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
        For the most alike of all people, at this rate and at others, falling.
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
            note = "" if one.observed else ", extrapolated"
            missed = "an unknown share" if one.false_reject is None else f"{100 * one.false_reject:.0f} %"
            rates.append((f"{one.far:g} (1 in {round(1 / one.far):,}{note})", missed))
        (first, missed), *others = rates
        rate = "a false accept rate" if self.identify.false_accept else "a threshold extrapolated for a rate"
        parts = [f"At {rate} of {first}, {missed} of new pictures of enrolled people are rejected"]
        return "; ".join([*parts, *(f"at {rate}, {missed}" for rate, missed in others)]) + "."


def supported(least: float) -> float:
    """Return the rate of false accepts that is taken where none is asked for.

    The least that the people enrolled can show, rounded up to a thousandth: a smaller one rests on a tail
    that nobody has seen, and costs many of one's own. Not below 0.001; and not above 0.05, as hardly anybody
    wants every tenth stranger taken for a friend: where few people cannot show that, it is extrapolated.

    Examples
    --------
    >>> [supported(1 / (people + 1)) for people in (5, 30, 200, 5000)]
    [0.05, 0.033, 0.005, 0.001]
    """
    return min(MOST_FAR, max(LEAST_FAR, math.ceil(least * 1000 - 1e-9) / 1000))


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
        identified = partial(_by_simulation, simulated.max(axis=1), result.strangers, result.own, perfect)
        verified = partial(_by_simulation, simulated.ravel(), result.pairs, result.own, perfect)
        notes += (_few(n_people),)
    elif _all_alike(result.pairs):
        identified = verified = partial(_nobody, result.own, perfect)
        notes += (ALL_ALIKE,)
    else:
        identified = partial(_identification, result, n_people, perfect, margin)
        verified = partial(_verification, result, perfect)
    notes += () if len(result.own) else (NOBODY_TWICE,)
    rate = supported(margin * result.identification_far) if far is None else far
    verify = verified(supported(result.verification_far) if far is None else far)
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
    return Calibration(identify, verify, tuple(at.values()), len(result.strangers), len(result.own))


def _identification(
    result: Comparisons, n_people: int, perfect: float, margin: float, far: float
) -> Threshold:
    """Return the threshold for the most alike of all people."""
    aim = math.log1p(-far / margin)
    # As many chances as people, none more likely than that of one comparison.
    value, _ = _one_to_one(result, -math.expm1(aim / n_people), perfect)
    # Those who were left out were compared with fewer people.
    rate = -math.expm1(aim * result.share)
    counted = counted_threshold(result.strangers, rate, result.who)
    predicted = far
    if counted is not None and counted[0] <= value:
        value, predicted = counted[0], min(far, counted[1] * far / rate)
    whom = f"{result.n_strangers:,} people who serve as strangers"
    notes = () if counted is not None else (_unobserved(far, whom, result.n_strangers / margin),)
    return Threshold(value, far, predicted, _below(result.own, value), counted is not None, notes)


def _verification(result: Comparisons, perfect: float, far: float) -> Threshold:
    """Return the threshold for one person."""
    value, predicted = _one_to_one(result, far, perfect)
    observed = far * (result.n_couples + 1) >= 1
    whom = f"{result.n_couples:,} pairs of a stranger and a person"
    notes = () if observed else (_unobserved(far, whom, result.n_couples),)
    return Threshold(value, far, predicted, _below(result.own, value), observed, notes)


def _one_to_one(result: Comparisons, rate: float, perfect: float) -> tuple[float, float]:
    """Return the threshold of single comparisons, and the rate that is predicted."""
    if rate * (result.n_pairs + 1) >= len(result.closest) + 1:
        counted = counted_threshold(result.pairs, rate)
        if counted is not None:
            return counted
    return tail_threshold(result.closest, result.n_pairs, rate, perfect, result.n_strangers / 2), rate


def _by_simulation(
    simulated: FloatArray, scores: FloatArray, own: FloatArray, perfect: float, far: float
) -> Threshold:
    """Return the threshold for simulated strangers, and not below the few real ones."""
    counted = counted_threshold(simulated, far)
    if counted is None:
        closest = -np.sort(-simulated)[: tail_size(len(simulated), len(simulated))]
        counted = tail_threshold(closest, len(simulated), far, perfect, len(simulated)), far
    value, predicted = counted
    if len(scores) and scores.max() >= value:
        value = float(np.nextafter(scores.max(), np.inf))
    return Threshold(value, far, predicted, _below(own, value), False)


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


def _unobserved(far: float, whom: str, count: float) -> str:
    return (
        f"{whom} are too few to observe a false accept rate of {far:g}. The threshold is extrapolated from "
        f"the most similar ones with a safety margin, and rejects more enrolled people than necessary. "
        f"Rates from {1 / (count + 1):.2g} can be observed."
    )


def _unstated(n_people: int) -> str:
    return (
        f"{n_people} enrolled people are too few to state a false accept rate: at least {STATED} are needed. "
        "The threshold is extrapolated for the rate asked for."
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
