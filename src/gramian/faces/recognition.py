"""Recognition: a known person, an unknown person, or not a face."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from gramian.core.arrays import as_float64, blas_threads
from gramian.core.checks import check_choice, check_integer, check_share
from gramian.core.records import FloatArray
from gramian.errors import DataError, ParameterError
from gramian.faces import face_images, similarity
from gramian.faces.similarity import Bools, Calibration, Codes, Matcher, Vectors, calibrate
from gramian.faces.space import FaceSpace

# For up to so many pictures an answer takes half as long without BLAS threads (benchmarks/faces_latency.py).
FEW = 4
Ranked = Sequence[tuple[float, str]]  # similarity and name, the most similar first


@dataclass(frozen=True)
class Answer:
    """The answer to one picture; prints as a sentence.

    Attributes
    ----------
    kind : {"person", "unknown", "not-a-face"}
        What the picture shows.
    person : str or None
        The person recognised; None unless ``kind`` is "person".
    score : float
        The largest similarity score, a cosine or a negative distance; in a verification the score of the
        claimed person.
    runner_up : str or None
        The most similar person apart from ``person``; for an unknown person the most similar one. None in a
        verification, and where there is nobody else.
    runner_up_score : float or None
        The similarity score of ``runner_up``.
    threshold : float
        The smallest similarity score that is accepted.
    face_score, face_threshold : float or None
        Distance from the faces, and its limit; None where they were not given.

    Examples
    --------
    >>> from gramian.faces import Answer
    >>> print(Answer("person", "Anna", 0.93, "Berta", 0.41, threshold=0.6))
    Anna (similarity 0.93; threshold 0.6; next: Berta, 0.41)
    >>> print(Answer("unknown", None, 0.52, "Anna", 0.52, threshold=0.6))
    Unknown person (similarity 0.52 to Anna; threshold 0.6)
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
            limit = f"{self.face_threshold:.2g}"
            return f"Not recognised as a face (distance {self.face_score:.3g}; limit {limit})"
        threshold, second = f"threshold {self.threshold:.3g}", self.runner_up
        if self.kind == "person":
            other = "" if second is None else f"; next: {second}, {self.runner_up_score:.3g}"
            return f"{self.person} (similarity {self.score:.3g}; {threshold}{other})"
        nearest = "" if second is None else f" to {second}"
        return f"Unknown person (similarity {self.score:.3g}{nearest}; {threshold})"


@dataclass(eq=False, repr=False, kw_only=True)
class Recogniser:
    """Compare vectors of pictures with those of enrolled people.

    Parameters
    ----------
    distance : {"cosine", "euclidean", "mahalanobis", "whitened-cosine"}, default="cosine"
        "mahalanobis" is Euclidean, and "whitened-cosine" the cosine, after every component is divided by its
        standard deviation.
    discriminant : "auto", True or False, default="auto"
        Compare along linear discriminants of the people instead of along components. "auto" does so once ten
        people have two pictures: with fewer, the few directions make any stranger similar to somebody.
    match : {"nearest", "mean"}, default="nearest"
        The similarity to a person is that to the nearest picture, or to the mean of the pictures.
    far : float or None, default=None
        False accept rate: the share of strangers' pictures that may be identified as somebody; in a
        verification, the share of other people's pictures that may pass for a given person. None takes the
        smallest rate that the enrolled people can show, from 0.001 to 0.05: for identification about 1 in
        as many as are enrolled, 3 if the model was fitted on their pictures, for verification less.
    n_components : int or None, default=None
        Use the first components only.

    Attributes
    ----------
    people_ : tuple of str
        Sorted.
    far_, verify_far_ : float
        The false accept rates used for identification and for verification.
    threshold_, verify_threshold_ : float
        The smallest similarity scores accepted in identification and in verification.
    predicted_false_accept_ : float or None
        Share of strangers' pictures that are identified as somebody, at most ``far_``; None where fewer than
        ten people are enrolled, who cannot show it.
    predicted_false_reject_ : float or None
        Predicted share of new pictures of enrolled people below ``threshold_``; None where nobody has two
        pictures.
    calibration_ : Calibration
        Both thresholds with their rates; prints what other settings of ``far`` would do.
    n_impostor_, n_genuine_ : int
        Number of pictures used as those of strangers, and as new pictures of enrolled people.
    discriminant_ : LinearDiscriminantAnalysis or None
        The fitted discriminants; None where vectors are compared as they are.
    n_vectors_, n_components_ : int
        Number of enrolled vectors, and of their entries that are compared.
    notes_, verify_notes_ : tuple of str
        Automatic decisions and limits, for identification and for verification.

    Notes
    -----
    The defaults do best in docs/faces_evaluation.md. Held-out people serve as strangers, but a model fitted
    on their pictures knows them: up to three times as many new strangers are identified as somebody. Where
    the vectors have mean 0, which shows that, the threshold of identification is that for a third of ``far``.
    With nearly as many whitened components as pictures even that is too little.

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

    distance: str = "cosine"
    discriminant: bool | str = "auto"
    match: str = "nearest"
    far: float | None = None
    n_components: int | None = None

    def fit(self, vectors: Any, people: Any, variances: Any, shift_covariance: Any = None) -> Self:
        """Enroll people, and calibrate thresholds.

        Parameters
        ----------
        vectors : array-like of shape (n, k)
            Of enrolled pictures.
        people : sequence of n str
            Who is on each.
        variances : array-like of shape (k,)
            Of the components, over faces: ``eigenvalues_`` of the model.
        shift_covariance : array-like of shape (k, k), optional
            Covariance of the change of vectors when pictures are shifted: ``shift_covariance_`` of the model.
            Discriminants add it to the covariance within people.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ParameterError
            A parameter outside of what it may be.
        DataError
            For NaN or infinity, no vector, an empty name, and lengths that do not match.
        """
        self.check_parameters()
        values, spread = similarity.as_vectors(vectors, at_least=1), as_float64(variances)
        names, factors = _as_names(people, len(values)), similarity.whitening(spread)
        if len(spread) != values.shape[1]:
            hint = "Give eigenvalues_ of the model that made the vectors."
            raise DataError(f"{len(spread)} variances but vectors of {values.shape[1]} components.", hint)
        self.n_features_in_ = values.shape[1]
        self.check_parameters(self.n_features_in_)
        self.n_components_ = int(self.n_features_in_ if self.n_components is None else self.n_components)
        whitens = self.distance in ("mahalanobis", "whitened-cosine")
        self._factors = (factors if whitens else np.ones(len(factors)))[: self.n_components_]
        # In the coordinates that vectors are compared in.
        self._shifts: FloatArray | None = None
        if shift_covariance is not None:
            shifts = as_float64(shift_covariance)[: self.n_components_, : self.n_components_]
            self._shifts = np.asarray(shifts * np.outer(self._factors, self._factors))
        result, codes = np.unique(names, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        self.people_ = tuple(str(name) for name in result)
        kept, codes = self._taken(values[order]), codes[order].astype(np.intp)
        self._learn(kept, codes)
        self._calibrate(kept, codes, spread[: self.n_components_] * self._factors**2)
        self.n_vectors_ = len(values)
        return self

    def check_parameters(self, available: int | None = None) -> None:
        """Check the parameters, for vectors of ``available`` components.

        Parameters
        ----------
        available : int, optional
            Number of components of the vectors.

        Raises
        ------
        ParameterError
        """
        check_choice("distance", self.distance, similarity.DISTANCES)
        check_choice("match", self.match, similarity.MATCHES)
        if not (isinstance(self.discriminant, (bool, np.bool_)) or self.discriminant == "auto"):
            allowed = "is not known. Give True, False or 'auto'."
            raise ParameterError("discriminant", self.discriminant, allowed)
        if self.far is not None:
            check_share("far", self.far, "It is a share of strangers, such as 0.01.")
        if self.n_components is not None:
            every = "; None takes all"
            advice = f"Vectors have {available} components{every}." if available else ""
            check_integer("n_components", self.n_components, 1, available, advice)

    def _taken(self, values: Vectors) -> Vectors:
        return (values[:, : self.n_components_] * self._factors).astype(np.float32)

    def _matcher_of(self, kept: Vectors, codes: Codes, model: LinearDiscriminantAnalysis | None) -> Matcher:
        cosine = self.distance in ("cosine", "whitened-cosine")
        return Matcher(kept, codes, model, cosine=cosine, match=self.match)

    def _learn(self, kept: Vectors, codes: Codes) -> None:
        why = similarity.why_none(codes) if self.discriminant == "auto" else ""
        self.discriminant_: LinearDiscriminantAnalysis | None = None
        if self.discriminant and not why:
            try:
                self.discriminant_ = similarity.discriminants(kept, codes, self._shifts)
            except DataError as error:
                if self.discriminant != "auto":
                    raise
                why = f"No discriminants are used: {error}"
        self._matcher = self._matcher_of(kept, codes, self.discriminant_)
        self.notes_: tuple[str, ...] = (why,) if why else ()

    def _calibrate(self, kept: Vectors, codes: Codes, variances: FloatArray) -> None:
        def build(mask: Bools) -> Matcher:
            if mask.all():
                return self._matcher
            model = self.discriminant_
            if model is not None:
                # Where too little is left to find them from, those of all people have to do.
                with suppress(DataError):
                    model = similarity.discriminants(kept[mask], codes[mask], self._shifts)
            return self._matcher_of(kept[mask], codes[mask], model)

        perfect = 1.0 if self._matcher.cosine else 0.0
        far = None if self.far is None else float(self.far)
        moved = self._shifts is not None
        result = calibrate(kept, codes, build, far=far, perfect=perfect, variances=variances, moved=moved)
        self.calibration_: Calibration = result
        self.far_, self.verify_far_ = result.identify.far, result.verify.far
        self.threshold_ = result.identify.value
        self.verify_threshold_ = result.verify.value
        self.predicted_false_accept_ = result.identify.false_accept
        self.predicted_false_reject_ = result.identify.false_reject
        self.n_impostor_, self.n_genuine_ = result.n_impostor, result.n_genuine
        self.verify_notes_ = self.notes_ + result.verify.notes
        self.notes_ += result.identify.notes

    # -------------------------------------------------------------- answers

    def similarity(self, vectors: Any) -> Vectors:
        """Return the similarity of pictures and people, shape (m, n_people), float32; larger is more similar.

        Parameters
        ----------
        vectors : array-like of shape (m, k)
            Vectors of pictures, as ``FaceSpace.transform`` returns them.

        Returns
        -------
        ndarray of shape (m, n_people)
            Columns as in ``people_``.

        Raises
        ------
        DataError
            Before :meth:`fit`, and for vectors of another length.
        """
        if not hasattr(self, "_matcher"):
            raise DataError("Nobody is enrolled in this recogniser.", "Call fit first.")
        return self._matcher.similarity(self._taken(similarity.as_vectors(vectors, self.n_features_in_)))

    def identify(
        self, vectors: Any, face_scores: Any = None, face_threshold: float | None = None
    ) -> list[Answer]:
        """Identify the person on each picture.

        Parameters
        ----------
        vectors : array-like of shape (m, k)
            Vectors of pictures, as ``FaceSpace.transform`` returns them.
        face_scores : array-like of shape (m,), optional
            Distance of each picture from the faces: ``face_score`` of the model.
        face_threshold : float, optional
            Larger distances are not recognised as faces: ``face_threshold_`` of the model.

        Returns
        -------
        list of Answer
            One for each picture.
        """
        likeness = self.similarity(vectors)
        two = min(2, likeness.shape[1])
        # Only the two most alike are needed, of perhaps thousands.
        nearest = np.argpartition(-likeness, two - 1, axis=1)[:, :two]
        named = []
        for scores, top in zip(likeness, nearest, strict=True):
            ranked = sorted(((float(scores[i]), -int(i)) for i in top), reverse=True)
            named.append([(score, self.people_[-index]) for score, index in ranked])
        return _answered(named, self.threshold_, face_scores, face_threshold)

    def verify(
        self, vectors: Any, person: str, face_scores: Any = None, face_threshold: float | None = None
    ) -> list[Answer]:
        """Verify that pictures show a given person.

        Parameters
        ----------
        vectors : array-like of shape (m, k)
            Vectors of pictures, as ``FaceSpace.transform`` returns them.
        person : str
            The claimed name.
        face_scores, face_threshold : optional
            As in :meth:`identify`.

        Returns
        -------
        list of Answer
            One for each picture; its score is that of the claimed person.

        Raises
        ------
        DataError
            For somebody who is not enrolled.
        """
        likeness = self.similarity(vectors)
        if person not in self.people_:
            raise DataError(f"{person!r} is not among the {len(self.people_):,} people enrolled (people_).")
        named = [[(float(score), person)] for score in likeness[:, self.people_.index(person)]]
        return _answered(named, self.verify_threshold_, face_scores, face_threshold, claimed=True)


def _answered(
    ranked: Sequence[Ranked], threshold: float, scores: Any, limit: Any, *, claimed: bool = False
) -> list[Answer]:
    """Return the answers for the most similar people of each picture, or for the claimed person alone."""
    if (scores is None) != (limit is None):
        hint = "Give both or neither: face_score(pictures) and face_threshold_ of the model."
        raise ParameterError("face_scores", allowed="and face_threshold belong together", hint=hint)
    answers = []
    faces = [None] * len(ranked) if scores is None else as_float64(scores).tolist()
    for people, face in zip(ranked, faces, strict=True):
        (score, person), kind = people[0], "unknown"
        if face is not None and not face <= limit:
            kind = "not-a-face"
        elif score >= threshold:
            kind = "person"
        others = [] if claimed else people[1:] if kind == "person" else people
        runner_up_score, runner_up = others[0] if others else (None, None)
        name = person if kind == "person" else None
        answers.append(Answer(kind, name, score, runner_up, runner_up_score, threshold, face, limit))
    return answers


def _as_names(people: Any, count: int) -> npt.NDArray[Any]:
    """Return one name for each vector; labels of a data set may be numbers."""
    names = list(people)
    if len(names) != count:
        raise DataError(f"{count:,} vectors but {len(names):,} people.", "Give one name for each vector.")
    for index, name in enumerate(names):
        if not isinstance(name, (str, Real)) or name != name or not str(name).strip():
            raise DataError(f"people[{index}] is {name!r}, not a name.", "Give one for each vector.")
    return np.array([str(name) for name in names], dtype=object)


def identify(model: FaceSpace, recogniser: Recogniser, faces: Any) -> list[Answer]:
    """Identify the person on each picture.

    Parameters
    ----------
    model : FaceSpace
        The model of the gallery.
    recogniser : Recogniser
        From :meth:`gramian.faces.Gallery.recogniser`.
    faces : Faces or array of shape (n, height, width)
        Of the model's size.

    Returns
    -------
    list of Answer
        One for each picture.

    Raises
    ------
    DataError
        For pictures of another size, and a recogniser of another model's vectors.

    Examples
    --------
    >>> from gramian.faces import FaceSpace, Recogniser, example_faces
    >>> faces = example_faces().take(slice(0, 96))
    >>> space = FaceSpace(20).fit(faces)
    >>> recogniser = Recogniser(far=0.05).fit(space.transform(faces), faces.people, space.eigenvalues_)
    >>> [answer.person for answer in identify(space, recogniser, faces.take(slice(0, 2)))]
    ['p01', 'p01']
    >>> verify(space, recogniser, faces.take([0]), "p03")[0].kind
    'unknown'
    """
    return _answers(model, recogniser.identify, faces)


def verify(model: FaceSpace, recogniser: Recogniser, faces: Any, person: str) -> list[Answer]:
    """Verify that pictures show a given person.

    Parameters
    ----------
    model, recogniser, faces : FaceSpace, Recogniser, Faces or array
        As in :func:`identify`.
    person : str
        The claimed name.

    Returns
    -------
    list of Answer
        One for each picture; its score is that of the claimed person.

    Raises
    ------
    DataError
        As :func:`identify`, and for somebody who is not enrolled.

    Examples
    --------
    >>> from gramian.faces import FaceSpace, Recogniser, example_faces, verify
    >>> faces = example_faces().take(slice(0, 96))
    >>> space = FaceSpace(20).fit(faces)
    >>> recogniser = Recogniser(far=0.05).fit(space.transform(faces), faces.people, space.eigenvalues_)
    >>> [verify(space, recogniser, faces.take([0]), name)[0].kind for name in ("p01", "p03")]
    ['person', 'unknown']
    """
    return _answers(model, partial(recogniser.verify, person=person), faces)


def _answers(model: FaceSpace, request: Callable[..., list[Answer]], faces: Any) -> list[Answer]:
    pictures = face_images.as_pictures(faces)
    with blas_threads() if len(pictures) <= FEW else nullcontext():
        scores = model.face_score(pictures)
        return request(model.transform(pictures), face_scores=scores, face_threshold=model.face_threshold_)
