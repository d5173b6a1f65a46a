"""Thresholds of likeness at a stated rate of false accepts, from the enrolled pictures alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian.errors import ParameterError
from gramian.faces.thresholds import counted_threshold, tail_size, tail_threshold
from gramian.faces.trials import Build, Codes, Matcher, Trials, trials
from gramian.records import FloatArray

__all__ = ["Calibration", "Threshold", "calibrate", "check_far"]

FEW = 5  # people below which strangers are also drawn
DRAWN = 20_000
ALL_ALIKE = (
    "All pictures of different people are equally alike, so nobody is recognised. So it is after whitening "
    "with a model that was fitted on the same pictures with as many components. Use fewer components, or "
    "another distance."
)
NOBODY_TWICE = "Nobody has two pictures, so the rate of false rejects is not known."


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
        Whether there were strangers enough to count so small a rate; otherwise the tail was extrapolated.
    notes : tuple of str
        What cannot be promised.
    """

    value: float
    far: float
    false_accept: float
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
    n_impostor, n_genuine : int
        Number of pictures of left-out people, and of pictures compared with others of the same person.
    """

    identify: Threshold
    verify: Threshold
    n_impostor: int
    n_genuine: int


def check_far(far: Any) -> float:
    """Return the rate of false accepts as a number.

    Raises
    ------
    ParameterError
        Unless it is above 0 and below 1.
    """
    try:
        value = math.nan if isinstance(far, str | bytes | bool) else float(far)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < 1:
        raise ParameterError(
            f"far={far!r} is not a share of strangers above 0 and below 1. Give for instance 0.001."
        )
    return value


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
    notes: tuple[str, ...] = ()
    if n_people < FEW:
        drawn = _drawn(build(np.ones(len(people), dtype=bool)), variances)
        identify = _threshold_drawn(drawn.max(axis=1), found.strangers, far, perfect, found.own)
        verify = _threshold_drawn(drawn.ravel(), found.pairs, far, perfect, found.own)
        notes += (_few(n_people),)
    elif _all_alike(found.pairs):
        # Whatever is asked, the answer would be chance: nobody is recognised.
        nobody = float(np.nextafter(perfect, np.inf))
        identify = verify = Threshold(nobody, far, 0.0, _below(found.own, nobody), False)
        notes += (ALL_ALIKE,)
    else:
        identify = _identification(found, far, n_people, perfect)
        verify = _verification(found, far, perfect)
    notes += () if len(found.own) else (NOBODY_TWICE,)
    identify, verify = (replace(one, notes=one.notes + notes) for one in (identify, verify))
    return Calibration(identify, verify, len(found.strangers), len(found.own))


def _identification(found: Trials, far: float, n_people: int, perfect: float) -> Threshold:
    """Return the threshold for the most alike of all people."""
    # As many chances as people, none more likely than that of one comparison.
    value, _ = _one_to_one(found, -math.expm1(math.log1p(-far) / n_people), perfect)
    # Those who were left out were compared with fewer people.
    rate = -math.expm1(math.log1p(-far) * found.share)
    counted = counted_threshold(found.strangers, rate, found.who)
    predicted = far
    if counted is not None and counted[0] <= value:
        value, predicted = counted[0], min(far, counted[1] * far / rate)
    whom = f"{found.n_strangers:,} people who can stand for strangers"
    notes = () if counted is not None else (_unobserved(far, whom, found.n_strangers),)
    return Threshold(value, far, predicted, _below(found.own, value), counted is not None, notes)


def _verification(found: Trials, far: float, perfect: float) -> Threshold:
    """Return the threshold for one person."""
    value, predicted = _one_to_one(found, far, perfect)
    observed = far * (found.n_couples + 1) >= 1
    whom = f"{found.n_couples:,} couples of a stranger and a person"
    notes = () if observed else (_unobserved(far, whom, found.n_couples),)
    return Threshold(value, far, predicted, _below(found.own, value), observed, notes)


def _one_to_one(found: Trials, rate: float, perfect: float) -> tuple[float, float]:
    """Return the threshold of single comparisons, and the rate that is predicted."""
    if rate * (found.n_pairs + 1) >= len(found.closest) + 1:
        counted = counted_threshold(found.pairs, rate)
        if counted is not None:
            return counted
    return tail_threshold(found.closest, found.n_pairs, rate, perfect, found.n_strangers / 2), rate


def _threshold_drawn(
    drawn: FloatArray, scores: FloatArray, far: float, perfect: float, own: FloatArray
) -> Threshold:
    """Return the threshold for drawn strangers, and not below the few real ones."""
    counted = counted_threshold(drawn, far)
    if counted is None:
        closest = -np.sort(-drawn)[: tail_size(len(drawn), len(drawn))]
        counted = tail_threshold(closest, len(drawn), far, perfect, len(drawn)), far
    value, predicted = counted
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


def _unobserved(far: float, whom: str, count: int) -> str:
    return (
        f"With {whom} a rate of {far:g} cannot be observed: the threshold is extrapolated from those most "
        "alike, with a margin for how few they are, and refuses more of one's own than it need. Rates from "
        f"{1 / (count + 1):.2g} on can be counted."
    )


def _few(n_people: int) -> str:
    return (
        f"With {n_people} {'person' if n_people == 1 else 'people'} enrolled hardly anything is known of "
        f"strangers: {DRAWN:,} were drawn from a normal distribution with the model's variances. Real people "
        "differ in other ways, so the rate of false accepts is a guess."
    )
