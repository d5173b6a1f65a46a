"""What is said about one picture: a person, somebody unknown, or not a face."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gramian.arrays import as_float64
from gramian.errors import DataError, ParameterError

__all__ = ["Answer", "answer", "as_face_scores"]


@dataclass(frozen=True)
class Answer:
    """What is said about one picture; prints as a sentence.

    Attributes
    ----------
    kind : {"person", "unknown", "not-a-face"}
    person : str or None
        Who it is; None unless ``kind`` is "person".
    score : float
        The greatest likeness, a cosine or minus a distance; in a verification that to the person asked about.
    runner_up : str or None
        Who is most alike of all others than ``person``: for an unknown person the nearest one. None in a
        verification, and where there is nobody else.
    runner_up_score : float or None
    threshold : float
        The likeness that a person must have.
    face_score, face_threshold : float or None
        How unlike a face the picture is, and how much a face may be; None where that was not asked.
    """

    kind: str
    person: str | None
    score: float
    runner_up: str | None
    runner_up_score: float | None
    threshold: float
    face_score: float | None = None
    face_threshold: float | None = None

    def __str__(self) -> str:
        if self.kind == "not-a-face":
            return (
                f"not a face (unlikeness {self.face_score:.3g}, a face has at most {self.face_threshold:.3g})"
            )
        if self.kind == "person":
            other = (
                ""
                if self.runner_up is None
                else f"; next is {self.runner_up} with {self.runner_up_score:.3g}"
            )
            return f"{self.person} (likeness {self.score:.3g}, {self.threshold:.3g} is needed{other})"
        nearest = "" if self.runner_up is None else f" to the nearest, {self.runner_up}"
        return f"unknown (likeness {self.score:.3g}{nearest}, {self.threshold:.3g} is needed)"


def answer(
    named: Sequence[tuple[float, str]],
    threshold: float,
    face_score: float | None,
    face_threshold: float | None,
    *,
    asked: bool = False,
) -> Answer:
    """Make an answer of likenesses.

    Parameters
    ----------
    named : sequence of (float, str)
        The most alike people, the most alike first: one or two; only the one asked about in a verification.
    threshold : float
    face_score, face_threshold : float or None
    asked : bool, default=False
        Whether it is a verification.

    Examples
    --------
    >>> print(answer([(0.9, "Ann"), (0.2, "Bob")], 0.5, None, None))
    Ann (likeness 0.9, 0.5 is needed; next is Bob with 0.2)
    """
    score, person = named[0]
    if face_score is not None and face_threshold is not None and not face_score <= face_threshold:
        kind = "not-a-face"
    else:
        kind = "person" if score >= threshold else "unknown"
    others = [] if asked else list(named[1:] if kind == "person" else named)
    runner_up_score, runner_up = others[0] if others else (None, None)
    return Answer(
        kind,
        person if kind == "person" else None,
        score,
        runner_up,
        runner_up_score,
        threshold,
        face_score,
        None if face_threshold is None else float(face_threshold),
    )


def as_face_scores(scores: Any, threshold: Any, count: int) -> Sequence[float | None]:
    """Return one score for each picture, or None for each.

    Raises
    ------
    DataError, ParameterError
        For another number of them, what are no numbers, and where only one of both is given.
    """
    if scores is None and threshold is None:
        return [None] * count
    if scores is None or threshold is None:
        given, verb, missing = "face_scores", "were", "face_threshold"
        if scores is None:
            given, verb, missing = "face_threshold", "was", "face_scores"
        raise ParameterError(
            f"{given} {verb} given without {missing}. Give both, or neither: face_score(pictures) "
            "and face_threshold_ of the model."
        )
    if not isinstance(threshold, numbers.Real) or math.isnan(threshold):
        raise ParameterError(
            f"face_threshold={threshold!r} is not a number. Give face_threshold_ of the model."
        )
    try:
        values = as_float64(scores)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"face_scores are no numbers ({error}). Give face_score(pictures) of the model."
        ) from error
    if values.shape != (count,):
        raise DataError(
            f"{count:,} vectors but face scores of shape {values.shape}. Give one number for each vector."
        )
    return [float(value) for value in values]
