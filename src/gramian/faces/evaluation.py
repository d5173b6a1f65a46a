"""How well people are recognised: repeated splits in which no test picture is seen in fitting."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_curve

from gramian.analysis.tried import standard_error
from gramian.arrays import as_float64
from gramian.checks import check_choice, check_integer, counted
from gramian.errors import InputTypeError, RankWarning
from gramian.estimators.inputs import generators
from gramian.faces.light import LIGHTS
from gramian.faces.pictures import Faces
from gramian.faces.recognition import Recogniser
from gramian.faces.shifts import COPIES, shift_pixels
from gramian.faces.space import FaceSpace
from gramian.faces.splits import Population, Split, component_counts, draw_split, noise_pictures, population
from gramian.progress import track
from gramian.records import FloatArray

COUNTS = (25, 50, 100, 200, 300, 400)
FARS = (0.1, 0.03, 0.01, 0.003, 0.001)
LIGHT = "equalise"  # as good as others on ORL, best on Extended Yale B: docs/faces_evaluation.md
KEEP = 0.99
CONFUSIONS = 10


# ------------------------------------------------------------------ rates


def roc(genuine: Any, impostor: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
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
    scores = [as_float64(given).ravel() for given in (genuine, impostor)]
    same = np.repeat([1, 0], [len(given) for given in scores])
    accepts, right, thresholds = roc_curve(same, np.concatenate(scores), drop_intermediate=False)
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


def rejects_at(genuine: Any, impostor: Any, fars: npt.ArrayLike) -> FloatArray:
    """Return the least rate of false rejects at which false accepts are at most ``fars``.

    Examples
    --------
    >>> rejects_at([3, 2], [1, 2], [0.0, 0.5]).tolist()
    [0.5, 0.0]
    """
    _, accepts, rejects = roc(genuine, impostor)
    # Rates of false accepts fall along the thresholds, and false rejects rise.
    places = np.searchsorted(-accepts, -as_float64(fars) - 1e-12)
    return np.asarray(rejects[places])


def mean_and_error(values: Any) -> tuple[float, float | None]:
    """Return the mean over splits and its standard error; None of a single one.

    Examples
    --------
    >>> mean_and_error([0.5, 1.0]), mean_and_error([0.5])
    ((0.75, 0.25), (0.5, None))
    """
    given = as_float64(values)
    return float(given.mean()), standard_error(given) if len(given) > 1 else None


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
        copies = ", none a copy of another"
        if told["copies"]:
            copies = f", {told['copies']:,} of them copies or near-copies of others, kept on one side"
        splits = f"{counted(told['splits'], 'split')}, {told['enrolled']} of each enrolled"
        return (
            f"{told['pictures']:,} pictures of {told['people']:,} people{copies}; {splits}{left}. "
            f"light {told['light']}{moved}, distance {told['distance']}, "
            f"discriminant {told['discriminant']}, match {told['match']}"
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
    """Return a figure as text; a number is the rate of false accepts at which false rejects are told."""
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
    shift: float = 0.0,
    distance: str = "cosine",
    discriminant: bool | str = "auto",
    match: str = "nearest",
    far: float | None = None,
    leave_out: int = 0,
    others: Faces | None = None,
    random_state: Any = 0,
    memory_limit: int | str | None = None,
) -> Evaluation:
    """Measure how well people are recognised, and a face told from what is none.

    In every split some pictures of each person are enrolled. A model is fitted on these, once, with the
    largest number of components; smaller numbers are its first ones. All other pictures are test pictures:
    nothing sees them before they are asked about. A picture and its copies and near-copies, as
    :func:`gramian.faces.splits.copies_of` finds them, are enrolled together or not at all.

    Parameters
    ----------
    faces : Faces
        With people.
    n_components : int or sequence of int
        Numbers of components; those that the enrolled pictures do not have become the largest they have.
    enrolled : int, optional
        Pictures of each person enrolled; by default half of what the person with the fewest has.
    splits : int, default=10
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
    splits = check_integer("splits", splits)
    comparing = {"distance": distance, "discriminant": discriminant, "match": match, "far": far}
    Recogniser(**comparing).check_parameters()  # type: ignore[arg-type]
    if not isinstance(faces, Faces):
        raise InputTypeError(
            f"faces is {type(faces).__name__}. Give Faces: read_faces(PATH) reads them, and "
            "Faces(pictures, people, names, hashes) makes them of an array."
        )
    people, notes, usable = population(faces, enrolled)
    given = faces.take(usable)
    advice = f"There are {people.count} people, and at least 2 must stay."
    leave_out = check_integer("leave_out", leave_out, 0, people.count - 2, advice)
    copies = COPIES if shift_pixels(shift, given.pictures.shape[2]) else 1
    most = (people.count - leave_out) * people.enrolled * copies - 1
    counts = component_counts(n_components, min(most, given.pictures[0].size), notes)
    rngs = generators(random_state, splits + 1)
    others = noise_pictures(given, rngs[-1]) if others is None else others
    found: list[_Measured] = []
    for rng in track(rngs[:splits], "split"):
        space = FaceSpace(counts[-1], light=light, shift=shift, random_state=rng, memory_limit=memory_limit)
        split = draw_split(people, leave_out, rng)
        found.append(_measure(given, people, others, split, space, counts, comparing))
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
        "shift": shift,
        **comparing,
        **found[-1].fars,
        "others": f"{len(others)} pictures of {others.source}",
    }
    return _summary(found, protocol, counts, people, (*notes, *dict.fromkeys(found[-1].notes)))


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
        recogniser = Recogniser(**comparing, n_components=count)
        recogniser.fit(vectors[0], names[split.enrolled], space.eigenvalues_, space.shift_covariance_)
        row, mistakes = _recognised(recogniser, vectors[1], unknown, people, split)
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
    found: list[_Measured],
    protocol: dict[str, Any],
    counts: Sequence[int],
    people: Population,
    notes: tuple[str, ...],
) -> Evaluation:
    rows = tuple(
        AtCount(n_components=count, **_averaged([split.rows[place] for split in found], AtCount))
        for place, count in enumerate(counts)
    )
    best = max(range(len(counts)), key=lambda place: (rows[place].rank1, -counts[place]))
    mistakes = sum((split.wrong[best] for split in found), Counter[tuple[int, int]]())
    ranked = sorted(mistakes.items(), key=lambda entry: (-entry[1], entry[0]))[:CONFUSIONS]
    return Evaluation(
        protocol=protocol,
        at=rows,
        best=counts[best],
        confusions=tuple((people.names[a], people.names[b], times) for (a, b), times in ranked),
        notes=notes,
        **_averaged([split.model for split in found], Evaluation),
    )
