"""The figures of an evaluation, as a record and as tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["FARS", "AtCount", "Evaluation"]

FARS = (0.1, 0.03, 0.01, 0.003, 0.001)


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
        What was done: pictures, people, enrolled, splits, left out, light, and the recogniser's parameters.
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        facts = asdict(self)
        facts["confusions"] = [
            {"person": person, "taken_for": other, "times": times} for person, other, times in self.confusions
        ]
        for row in facts["at"]:
            row["false_rejects"] = [
                {"far": far, "false_rejects": rate} for far, rate in row["false_rejects"].items()
            ]
        return facts

    def __str__(self) -> str:
        parts = [self._headline(), "", *self._who(), "", *self._verification(), "", *self._what()]
        if self.confusions:
            parts += ["", f"Most confused, with {self.best} components"]
            parts += [
                f"  {person} taken for {other}: {times} times" for person, other, times in self.confusions
            ]
        return "\n".join([*parts, *(["", *self.notes] if self.notes else [])])

    def _headline(self) -> str:
        told = self.protocol
        left = f", {told['leave_out']} people left out" if told["leave_out"] else ""
        moved = f", shift {told['shift']:g}" if told["shift"] else ""
        splits = "1 split" if told["splits"] == 1 else f"{told['splits']} splits"
        return (
            f"{told['pictures']:,} pictures of {told['people']:,} people; {splits}, {told['enrolled']} of "
            f"each enrolled{left}. light {told['light']}{moved}, distance {told['distance']}, discriminant "
            f"{told['discriminant']}, match {told['match']}"
        )

    def _who(self) -> list[str]:
        strangers = self.protocol["leave_out"]
        lines = [
            f"Who it is, and at the threshold for {100 * self.protocol['far']:g} % of strangers",
            "components  rank-1 %     right name %  wrong name %  "
            + ("strangers named %  " if strangers else "")
            + "predicted refused %",
        ]
        for row in self.at:
            named = f"{_percent(row.false_accepts, row.false_accepts_error):17}  " if strangers else ""
            lines.append(
                f"{row.n_components:>10}  {_percent(row.rank1, row.rank1_error):11}  "
                f"{_percent(row.identified, row.identified_error):12}  {_percent(row.misnamed):12}  {named}"
                f"{_percent(row.predicted_false_reject)}"
            )
        return lines

    def _verification(self) -> list[str]:
        lines = [
            "One to one: false rejects % at a rate of false accepts, and at the threshold for "
            f"{100 * self.protocol['far']:g} %",
            "components  equal error %  "
            + "  ".join(f"{f'{100 * far:g} %':>6}" for far in FARS)
            + "  right name %  others passed %",
        ]
        for row in self.at:
            rates = "  ".join(f"{100 * row.false_rejects[far]:6.2f}" for far in FARS)
            shown = _percent(row.equal_error, row.equal_error_error)
            lines.append(
                f"{row.n_components:>10}  {shown:13}  {rates}  "
                f"{_percent(row.verified, row.verified_error):12}  "
                f"{_percent(row.false_matches, row.false_matches_error)}"
            )
        return lines

    def _what(self) -> list[str]:
        lines = [
            f"A face or not, by reconstruction error ({self.protocol['others']})",
            "components  error of faces  of others  told apart %  equal error %",
        ]
        for row in self.at:
            lines.append(
                f"{row.n_components:>10}  {row.face_error:14.3f}  {row.other_error:9.3f}  "
                f"{_percent(row.told_apart):12}  {_percent(row.face_equal_error)}"
            )
        lines.append(
            "By the model's own measure and threshold: "
            f"{_percent(self.faces_kept, self.faces_kept_error)} % of new faces pass, "
            f"{_percent(self.others_refused, self.others_refused_error)} % of others do not. "
            f"Where 99 % of new faces pass, {_percent(self.told_apart, self.told_apart_error)} % do not."
        )
        return lines


def _percent(share: float | None, error: float | None = None) -> str:
    if share is None:
        return "-"
    return f"{100 * share:.2f}" + ("" if error is None else f" ±{100 * error:.2f}")
