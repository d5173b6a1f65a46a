"""Who is on a picture: a person, somebody unknown, or not a face."""

from __future__ import annotations

import difflib
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from gramian.arrays import as_float64, to_numpy
from gramian.checks import check_choice
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.faces.answers import Answer, answer, as_face_scores
from gramian.faces.calibration import Calibration, calibrate, check_far
from gramian.faces.discriminants import discriminants, projection, why_none
from gramian.faces.distances import DISTANCES, MATCHES, Index, Vectors, whitening
from gramian.faces.labels import as_names
from gramian.faces.trials import Bools
from gramian.records import FloatArray

__all__ = ["Answer", "Recogniser"]


class Recogniser:
    """Compares vectors of pictures with those of enrolled people.

    Parameters
    ----------
    distance : {"cosine", "euclidean", "mahalanobis", "whitened-cosine"}, default="cosine"
        "mahalanobis" is Euclidean, and "whitened-cosine" the cosine, after every component is divided by its
        standard deviation.
    discriminant : "auto", True or False, default="auto"
        Compare along linear discriminants of the people instead of along components. "auto" does so once ten
        people have two pictures: fewer leave so few directions that any stranger is like somebody.
    match : {"nearest", "mean"}, default="nearest"
        A person is as alike as the most alike picture, or as the mean of the pictures.
    far : float, default=0.001
        Share of strangers' pictures that may get a name; in a verification, share of other people's pictures
        that may be taken for a given person.
    n_components : int or None, default=None
        Use the first components only.

    Attributes
    ----------
    people_ : tuple of str
        Sorted.
    threshold_, verify_threshold_ : float
        The likeness that identification and verification need.
    predicted_false_accept_ : float
        The share of strangers' pictures expected to get a name, at most ``far``.
    predicted_false_reject_ : float or None
        The share of new pictures of enrolled people expected to be refused by ``threshold_``; None where
        nobody has two pictures.
    calibration_ : Calibration
        Both thresholds with their rates.
    n_impostor_, n_genuine_ : int
        Number of pictures that stood for strangers, and for new pictures of enrolled people.
    discriminant_ : LinearDiscriminantAnalysis or None
    n_vectors_, n_components_ : int
    notes_, verify_notes_ : tuple of str
        What was decided, and what cannot be promised of identification and of verification.

    Notes
    -----
    The defaults are those that do best in docs/faces_evaluation.md. People who are left out stand for
    strangers, but a model that was fitted on their pictures knows them: where it was fitted on the very
    pictures that are enrolled, with nearly as many components, and these are whitened, more strangers than
    ``far`` get a name.

    References
    ----------
    Turk and Pentland (1991), Eigenfaces for recognition. Belhumeur, Hespanha and Kriegman (1997), Eigenfaces
    vs. Fisherfaces.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> places = 3 * rng.standard_normal((12, 20))
    >>> vectors = np.repeat(places, 4, axis=0) + rng.standard_normal((48, 20))
    >>> people = np.repeat([f"p{i:02}" for i in range(12)], 4)
    >>> recogniser = Recogniser(far=0.05).fit(vectors, people, vectors.var(axis=0))
    >>> known, stranger = recogniser.identify([places[3], 3 * rng.standard_normal(20)])
    >>> known.kind, known.person, stranger.kind
    ('person', 'p03', 'unknown')
    """

    def __init__(
        self,
        *,
        distance: str = "cosine",
        discriminant: bool | str = "auto",
        match: str = "nearest",
        far: float = 0.001,
        n_components: int | None = None,
    ) -> None:
        self.distance = distance
        self.discriminant = discriminant
        self.match = match
        self.far = far
        self.n_components = n_components

    def fit(self, vectors: Any, people: Any, variances: Any, shift_covariance: Any = None) -> Self:
        """Take people in, and find thresholds.

        Parameters
        ----------
        vectors : array-like of shape (n, k)
            Of enrolled pictures.
        people : sequence of n str
            Who is on each.
        variances : array-like of shape (k,)
            Of the components, over faces: ``eigenvalues_`` of the model.
        shift_covariance : array-like of shape (k, k), optional
            How vectors change when pictures are moved: ``shift_covariance_`` of the model. Discriminants
            count it as variation of one person.

        Raises
        ------
        ParameterError
            A parameter outside of what it may be, and an empty name.
        DataError
            NaN or infinity, no vector, other numbers of people or variances than of vectors.
        InputTypeError
            For people who are no names, and variances that are no numbers.
        """
        far = self.check_parameters()
        values = _as_vectors(vectors)
        names = as_names(people, len(values))
        spread = _as_variances(variances)
        factors = whitening(spread)
        if len(spread) != values.shape[1]:
            raise DataError(
                f"{len(spread)} variances but vectors of {values.shape[1]} components. Give eigenvalues_ of "
                "the model that made the vectors."
            )
        self.n_features_in_ = values.shape[1]
        self.n_components_ = self._count(values.shape[1])
        self._factors = factors[: self.n_components_] if self._whitens else None
        self._shifts = self._shifts_taken(shift_covariance)
        found, codes = np.unique(names, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        self.people_ = tuple(str(name) for name in found)
        kept, codes = self._taken(values[order]), codes[order].astype(np.intp)
        self._learn(kept, codes)
        shown = spread[: self.n_components_] * (1.0 if self._factors is None else self._factors**2)
        self._calibrate(kept, codes, far, shown)
        self.n_vectors_ = len(values)
        return self

    def check_parameters(self) -> float:
        check_choice("distance", self.distance, DISTANCES)
        check_choice("match", self.match, MATCHES)
        if not (isinstance(self.discriminant, (bool, np.bool_)) or self.discriminant == "auto"):
            raise ParameterError(
                f"discriminant={self.discriminant!r} is not known. Give True, False or 'auto'."
            )
        return check_far(self.far)

    @property
    def _whitens(self) -> bool:
        return self.distance in ("mahalanobis", "whitened-cosine")

    @property
    def _cosine(self) -> bool:
        return self.distance in ("cosine", "whitened-cosine")

    def _count(self, available: int) -> int:
        count = self.n_components
        if count is None:
            return available
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= available:
            raise ParameterError(
                f"n_components={count!r} but vectors have {available} components. Give a number from 1 to "
                f"{available}, or None for all."
            )
        return int(count)

    def _taken(self, values: Vectors) -> Vectors:
        kept = values[:, : self.n_components_]
        return kept if self._factors is None else (kept * self._factors).astype(np.float32)

    def _shifts_taken(self, given: Any) -> FloatArray | None:
        """Return a covariance in the coordinates that vectors are compared in."""
        if given is None:
            return None
        shifts, k = as_float64(given), self.n_features_in_
        if shifts.shape != (k, k) or not np.isfinite(shifts).all():
            raise DataError(
                f"shift_covariance has the shape {shifts.shape}, or holds NaN or infinity, and vectors have "
                f"{k} components. Give shift_covariance_ of the model that made the vectors."
            )
        shifts = shifts[: self.n_components_, : self.n_components_]
        return shifts if self._factors is None else shifts * np.outer(self._factors, self._factors)

    def _learn(self, kept: Vectors, codes: npt.NDArray[np.intp]) -> None:
        notes = []
        wanted = bool(self.discriminant)
        if self.discriminant == "auto":
            why = why_none(codes)
            wanted = not why
            notes += [why] if why else []
        self.discriminant_: LinearDiscriminantAnalysis | None = None
        if wanted:
            try:
                self.discriminant_ = discriminants(kept, codes, self._shifts)
            except DataError as error:
                if self.discriminant != "auto":
                    raise
                notes.append(f"No discriminants are used: {error}")
        self._matcher = _Matcher(kept, codes, self.discriminant_, cosine=self._cosine, match=self.match)
        self.notes_: tuple[str, ...] = tuple(notes)

    def _calibrate(
        self, kept: Vectors, codes: npt.NDArray[np.intp], far: float, variances: FloatArray
    ) -> None:
        whole = self._matcher

        def build(mask: Bools) -> _Matcher:
            if mask.all():
                return whole
            try:
                some = kept[mask], codes[mask], self._shifts
                model = None if self.discriminant_ is None else discriminants(*some)
            except DataError:
                # Too little is left to find discriminants from: those of all people have to do.
                model = self.discriminant_
            return _Matcher(kept[mask], codes[mask], model, cosine=self._cosine, match=self.match)

        found = calibrate(
            kept, codes, build, far=far, perfect=1.0 if self._cosine else 0.0, variances=variances
        )
        self.calibration_: Calibration = found
        self.threshold_ = found.identify.value
        self.verify_threshold_ = found.verify.value
        self.predicted_false_accept_ = found.identify.false_accept
        self.predicted_false_reject_ = found.identify.false_reject
        self.n_impostor_, self.n_genuine_ = found.n_impostor, found.n_genuine
        self.verify_notes_ = self.notes_ + found.verify.notes
        self.notes_ += found.identify.notes

    # -------------------------------------------------------------- answers

    def similarity(self, vectors: Any) -> Vectors:
        """Return how alike pictures and people are, shape (m, n_people), float32; larger is more alike.

        Parameters
        ----------
        vectors : array-like of shape (m, k)

        Returns
        -------
        ndarray of shape (m, n_people)
            Columns as in ``people_``.
        """
        values = _as_vectors(vectors, empty=True)
        if not hasattr(self, "_matcher"):
            raise ParameterError("The recogniser knows nobody yet. Call fit first.")
        if values.shape[1] != self.n_features_in_:
            raise DataError(
                f"The vectors have {values.shape[1]} components, and those of the people enrolled have "
                f"{self.n_features_in_}. Use the model that the people were enrolled with."
            )
        return self._matcher.similarity(self._taken(values))

    def identify(
        self, vectors: Any, face_scores: Any = None, face_threshold: float | None = None
    ) -> list[Answer]:
        """Say who is on pictures.

        Parameters
        ----------
        vectors : array-like of shape (m, k)
        face_scores : array-like of shape (m,), optional
            How unlike a face each picture is: ``face_score`` of the model.
        face_threshold : float, optional
            What is above it is not a face: ``face_threshold_`` of the model.
        """
        likeness = self.similarity(vectors)
        faces = as_face_scores(face_scores, face_threshold, len(likeness))
        two = min(2, likeness.shape[1])
        # Only the two most alike are needed, of perhaps thousands.
        places = np.argpartition(-likeness, two - 1, axis=1)[:, :two]
        answers = []
        for scores, top, face in zip(likeness, places, faces, strict=True):
            ranked = sorted(((float(scores[i]), -int(i)) for i in top), reverse=True)
            named = [(score, self.people_[-place]) for score, place in ranked]
            answers.append(answer(named, self.threshold_, face, face_threshold))
        return answers

    def verify(
        self, vectors: Any, person: str, face_scores: Any = None, face_threshold: float | None = None
    ) -> list[Answer]:
        """Say whether pictures show a given person.

        Parameters
        ----------
        vectors : array-like of shape (m, k)
        person : str
        face_scores, face_threshold
            As in :meth:`identify`.

        Raises
        ------
        DataError
            For somebody who is not enrolled.
        """
        likeness = self.similarity(vectors)
        if person not in self.people_:
            near = difflib.get_close_matches(str(person), self.people_, n=3)
            hint = f"Did you mean {' or '.join(near)}?" if near else "See people_."
            raise DataError(f"{person!r} is not among the {len(self.people_):,} people enrolled. {hint}")
        scores = likeness[:, self.people_.index(person)]
        faces = as_face_scores(face_scores, face_threshold, len(scores))
        return [
            answer([(float(score), person)], self.verify_threshold_, face, face_threshold, asked=True)
            for score, face in zip(scores, faces, strict=True)
        ]


class _Matcher:
    """Some of the people, with the discriminants that they are compared along."""

    def __init__(
        self,
        vectors: Vectors,
        codes: npt.NDArray[np.intp],
        model: LinearDiscriminantAnalysis | None,
        *,
        cosine: bool,
        match: str,
    ) -> None:
        self.people, places = np.unique(codes, return_inverse=True)
        self._projection = None if model is None else projection(model)
        self._index = Index(self._projected(vectors), places, cosine=cosine, match=match)

    def _projected(self, vectors: Vectors) -> Vectors:
        return vectors if self._projection is None else vectors @ self._projection

    def similarity(self, vectors: Vectors) -> Vectors:
        return self._index.similarity(self._projected(vectors))


def _as_vectors(vectors: Any, *, empty: bool = False) -> Vectors:
    try:
        given = np.asarray(to_numpy(vectors))
    except (TypeError, ValueError) as error:
        raise DataError(f"The vectors are no array ({error}). Give what transform returns.") from error
    if given.ndim != 2 or given.dtype.kind not in "fiu":
        raise DataError(
            f"The vectors are {given.dtype} of shape {given.shape}. Give real numbers of shape (n, k), as "
            "transform returns them; for one picture vector[None]."
        )
    if not given.shape[1] or not (empty or len(given)):
        raise DataError(f"The vectors have shape {given.shape}. Give at least one vector of one component.")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(given, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise DataError(
            f"Vector {bad[0]} holds NaN, infinity, or a number too large for float32. Leave its picture out."
        )
    return values


def _as_variances(variances: Any) -> FloatArray:
    try:
        return as_float64(variances)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"variances are no numbers ({error}). Give eigenvalues_ of the model that made the vectors."
        ) from error
