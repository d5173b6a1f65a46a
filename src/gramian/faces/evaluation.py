"""How well people are recognised: repeated splits in which no test picture is seen in fitting."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import check_choice
from gramian.errors import DataError, RankWarning
from gramian.estimators.inputs import generators
from gramian.faces.calibration import check_far
from gramian.faces.figures import FARS, AtCount, Evaluation
from gramian.faces.light import LIGHTS
from gramian.faces.pictures import Faces
from gramian.faces.rates import equal_error, mean_and_error, rejects_at
from gramian.faces.recognition import Recogniser
from gramian.faces.shifts import COPIES, shift_pixels
from gramian.faces.space import FaceSpace
from gramian.faces.splits import (
    Chosen,
    Population,
    as_faces,
    check_leave_out,
    choose,
    component_counts,
    noise_pictures,
    population,
    size_text,
    whole_number,
)
from gramian.records import FloatArray

__all__ = ["COUNTS", "LIGHT", "MOST_SPLITS", "evaluate_faces"]

COUNTS = (25, 50, 100, 200, 300, 400)
LIGHT = "equalise"  # as good as others on ORL, best on Extended Yale B: docs/faces_evaluation.md
KEEP = 0.99
MOST_SPLITS = 10_000
CONFUSIONS = 10
logger = logging.getLogger("gramian.faces")


def evaluate_faces(
    faces: Faces,
    *,
    n_components: int | Sequence[int] = COUNTS,
    enrolled: int | None = None,
    splits: int = 10,
    light: str = LIGHT,
    shift: float = 0.0,
    distance: str = "cosine",
    discriminant: bool | str = "auto",
    match: str = "nearest",
    far: float = 0.001,
    leave_out: int = 0,
    others: Faces | None = None,
    random_state: Any = 0,
    memory_limit: int | str | None = None,
) -> Evaluation:
    """Measure how well people are recognised, and a face told from what is none.

    In every split some pictures of each person are enrolled. A model is fitted on these, once, with the
    largest number of components; smaller numbers are its first ones. All other pictures are test pictures:
    nothing sees them before they are asked about.

    Parameters
    ----------
    faces : Faces
        With people.
    n_components : int or sequence of int
        Numbers of components; those that the enrolled pictures do not have become the largest they have.
    enrolled : int, optional
        Pictures of each person enrolled; by default half of what the person with the fewest has.
    splits : int, default=10
        At most 10,000.
    light, shift, distance, discriminant, match, far
        As in :class:`FaceSpace` and :class:`Recogniser`.
    leave_out : int, default=0
        People who are not enrolled, chosen anew in every split: all their pictures are those of strangers.
    others : Faces, optional
        Pictures that are no faces, of the size of the faces; by default noise and pictures whose pixels are
        shuffled.
    random_state : int, RandomState, Generator or None, default=0
    memory_limit : int, str or None
        As in :class:`gramian.PCA`.

    Raises
    ------
    DataError
        Without people, or where fewer than two have enough pictures.
    ParameterError
        A parameter outside of what it may be.
    InputTypeError
        For an array or text instead of ``Faces``.

    References
    ----------
    ISO/IEC 19795-1 (2021), Biometric performance testing and reporting, for the rates.

    Examples
    --------
    >>> from gramian.faces import drawn_faces
    >>> from gramian.faces.evaluation import evaluate_faces
    >>> found = evaluate_faces(drawn_faces(6, 4, size=(20, 24)), n_components=[4, 10], splits=2)
    >>> [row.n_components for row in found.at], found.protocol["enrolled"]
    ([4, 10], 2)
    """
    check_choice("light", light, LIGHTS)
    check_far(far)
    splits = whole_number("splits", splits, 1, MOST_SPLITS)
    faces = as_faces("faces", faces)
    people, notes, usable = population(faces, enrolled)
    given, codes = faces.take(usable), people.codes
    leave_out = check_leave_out(leave_out, people)
    copies = COPIES if shift_pixels(shift, given.pictures.shape[2]) else 1
    most = (people.count - leave_out) * people.enrolled * copies - 1
    counts = component_counts(n_components, min(most, given.pictures[0].size), notes)
    rngs = generators(random_state, splits + 1)
    if others is None:
        others = noise_pictures(given, rngs[-1])
    _check_others(as_faces("others", others), given)
    settings: dict[str, Any] = {
        "distance": distance,
        "discriminant": discriminant,
        "match": match,
        "far": far,
    }
    Recogniser(**settings).check_parameters()
    found: list[_Split] = []
    for number, rng in enumerate(rngs[:splits], start=1):
        logger.info("split %d of %d", number, splits)
        space = FaceSpace(counts[-1], light=light, shift=shift, random_state=rng, memory_limit=memory_limit)
        chosen = choose(codes, people.enrolled, leave_out, rng)
        found.append(_measure(given, people, others, chosen, space, counts, settings))
    protocol = {
        "source": faces.source,
        "pictures": len(given),
        "people": people.count,
        "size": size_text(given),
        "enrolled": people.enrolled,
        "splits": splits,
        "leave_out": leave_out,
        "light": light,
        "shift": shift,
        **settings,
        "others": f"{len(others)} pictures of {others.source}",
    }
    return _summary(found, protocol, counts, people, (*notes, *dict.fromkeys(found[-1].notes)))


def _check_others(others: Faces, faces: Faces) -> None:
    size = size_text(faces)
    if not len(others) or size_text(others) != size:
        raise DataError(
            f"There are {len(others)} pictures that are no faces, {size_text(others)}, and the faces are "
            f'{size}. Give some, read with size="{size}".'
        )


# ------------------------------------------------------------------ one split


@dataclass(frozen=True, eq=False)
class _Split:
    rows: list[dict[str, Any]]
    wrong: list[Counter[tuple[int, int]]]
    kept: float
    refused: float
    told_apart: float
    notes: tuple[str, ...]


def _measure(
    faces: Faces,
    people: Population,
    others: Faces,
    chosen: Chosen,
    space: FaceSpace,
    counts: Sequence[int],
    settings: dict[str, Any],
) -> _Split:
    names = np.array(people.names, dtype=object)[people.codes]
    with warnings.catch_warnings():
        # Copies among the pictures make the last components empty, which harms nothing here.
        warnings.simplefilter("ignore", RankWarning)
        space.fit(faces.pictures[chosen.enrolled], names[chosen.enrolled])
    tested = faces.pictures[chosen.tested]
    vectors = [space.transform(faces.pictures[mask]) for mask in (chosen.enrolled, chosen.tested)]
    # Nothing is left to ask where nobody was left out.
    unknown = space.transform(faces.pictures[chosen.strangers]) if chosen.strangers.any() else None
    errors = space.errors(tested, counts), space.errors(others, counts)
    rows, wrong = [], []
    notes: tuple[str, ...] = ()
    for place, count in enumerate(counts):
        recogniser = Recogniser(**settings, n_components=count)
        recogniser.fit(vectors[0], names[chosen.enrolled], space.eigenvalues_, space.shift_covariance_)
        row, mistakes = _recognised(recogniser, vectors[1], unknown, people, chosen)
        rows.append(row | _faces_known(errors[0][:, place], errors[1][:, place]))
        wrong.append(mistakes)
        notes = recogniser.notes_
    threshold, unlike = space.face_threshold_, (space.face_score(tested), space.face_score(others))
    kept, refused = float((unlike[0] <= threshold).mean()), float((unlike[1] > threshold).mean())
    return _Split(rows, wrong, kept, refused, _told_apart(*unlike), notes)


def _recognised(
    recogniser: Recogniser,
    vectors: npt.NDArray[np.float32],
    unknown: npt.NDArray[np.float32] | None,
    people: Population,
    chosen: Chosen,
) -> tuple[dict[str, Any], Counter[tuple[int, int]]]:
    truth = people.codes[chosen.tested]
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


def _faces_known(faces: FloatArray, others: FloatArray) -> dict[str, float]:
    return {
        "face_error": float(np.median(faces)),
        "other_error": float(np.median(others)),
        "told_apart": _told_apart(faces, others),
        "face_equal_error": equal_error(-faces, -others),
    }


def _told_apart(faces: FloatArray, others: FloatArray) -> float:
    return float((others > np.quantile(faces, KEEP, method="higher")).mean())


# ------------------------------------------------------------------ over splits


def _summary(
    found: list[_Split],
    protocol: dict[str, Any],
    counts: Sequence[int],
    people: Population,
    notes: tuple[str, ...],
) -> Evaluation:
    rows = []
    for place, count in enumerate(counts):
        splits = [split.rows[place] for split in found]
        figures: dict[str, Any] = {"n_components": count}
        for name in splits[0]:
            values = [split[name] for split in splits]
            if name == "false_rejects":
                figures[name] = dict(zip(FARS, np.mean(values, axis=0).tolist(), strict=True))
                continue
            mean, error = (None, None) if values[0] is None else mean_and_error(values)
            figures[name] = mean
            if f"{name}_error" in AtCount.__dataclass_fields__:
                figures[f"{name}_error"] = error
        rows.append(AtCount(**figures))
    best = max(range(len(counts)), key=lambda place: (rows[place].rank1, -counts[place]))
    mistakes = sum((split.wrong[best] for split in found), Counter[tuple[int, int]]())
    ranked = sorted(mistakes.items(), key=lambda entry: (-entry[1], entry[0]))[:CONFUSIONS]
    kept, kept_error = mean_and_error([split.kept for split in found])
    refused, refused_error = mean_and_error([split.refused for split in found])
    told_apart, told_apart_error = mean_and_error([split.told_apart for split in found])
    return Evaluation(
        protocol,
        tuple(rows),
        counts[best],
        tuple((people.names[a], people.names[b], times) for (a, b), times in ranked),
        kept,
        kept_error,
        refused,
        refused_error,
        told_apart,
        told_apart_error,
        notes,
    )
