"""Recognition: a known person, an unknown person, or not a face."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from gramian.core.arrays import as_float64, blas_threads
from gramian.core.checks import check_share
from gramian.core.records import AnyArray, FloatArray
from gramian.errors import DataError, ParameterError
from gramian.faces import face_images, similarity
from gramian.faces.similarity import Bools, Codes, Matcher, Threshold, Vectors, calibrate
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
        The largest similarity score, a cosine; in a verification the score of the claimed person.
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
    discriminant : bool, default=True
        Compare along linear discriminants of the people instead of along components, once ten people have two
        pictures: with fewer, the few directions make any stranger similar to somebody.
    far : float or None, default=None
        False accept rate: the share of strangers' pictures that may be identified as somebody; in a
        verification, the share of other people's pictures that may pass for a given person. None takes the
        smallest rate that the enrolled people can show, from 0.001 to 0.05: for identification about 1 in
        as many as are enrolled, 3 if the model was fitted on their pictures, for verification less.

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
    identification_, verification_ : Threshold
        Both thresholds with their rates.
    discriminant_ : LinearDiscriminantAnalysis or None
        The fitted discriminants; None where vectors are compared as they are.
    notes_, verify_notes_ : tuple of str
        Automatic decisions and limits, for identification and for verification.

    Notes
    -----
    The similarity is the cosine to the nearest picture of a person. Held-out people serve as strangers, but
    a model fitted on their pictures knows them: up to three times as many new strangers are identified as
    somebody. Where the vectors have mean 0, which shows that, the threshold of identification is that for a
    third of ``far``.

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

    discriminant: bool = True
    far: float | None = None

    def fit(self, vectors: Any, people: Any, variances: Any) -> Self:
        """Enroll people, and calibrate thresholds.

        Parameters
        ----------
        vectors : array-like of shape (n, k)
            Of enrolled pictures.
        people : sequence of n str
            Who is on each.
        variances : array-like of shape (k,)
            Of the components, over faces: ``eigenvalues_`` of the model.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ParameterError
            A parameter outside of what it may be.
        DataError
            For NaN or infinity, fewer than five people, an empty name, and lengths that do not match.
        """
        if self.far is not None:
            check_share("far", self.far, "It is a share of strangers, such as 0.01.")
        values, spread = similarity.as_vectors(vectors, at_least=1), as_float64(variances)
        names = _as_names(people, len(values))
        if len(spread) != values.shape[1]:
            hint = "Give eigenvalues_ of the model that made the vectors."
            raise DataError(f"{len(spread)} variances but vectors of {values.shape[1]} components.", hint)
        self.n_features_in_ = values.shape[1]
        result, codes = np.unique(names, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        self.people_ = tuple(str(name) for name in result)
        self._learn(values[order], codes[order].astype(np.intp))
        self._calibrate(values[order], codes[order].astype(np.intp), spread)
        return self

    def _learn(self, values: Vectors, codes: Codes) -> None:
        self.discriminant_: LinearDiscriminantAnalysis | None = None
        self.notes_: tuple[str, ...] = ()
        several = int((np.bincount(codes) > 1).sum())
        if self.discriminant and several >= similarity.FEWEST:
            self.discriminant_ = similarity.discriminants(values, codes)
        if self.discriminant and self.discriminant_ is None:
            self.notes_ = (
                f"No discriminants are used: {several} of {len(self.people_)} people have two pictures, and "
                f"at least {similarity.FEWEST} with different ones are needed to reject strangers.",
            )
        self._matcher = Matcher(values, codes, self.discriminant_)

    def _calibrate(self, values: Vectors, codes: Codes, variances: FloatArray) -> None:
        def build(mask: Bools) -> Matcher:
            model = self.discriminant_
            if model is not None:
                # Where too little is left to find them from, those of all people have to do.
                model = similarity.discriminants(values[mask], codes[mask]) or model
            return Matcher(values[mask], codes[mask], model)

        far = None if self.far is None else float(self.far)
        identify, verify = calibrate(values, codes, build, far=far, variances=variances)
        self.identification_: Threshold = identify
        self.verification_: Threshold = verify
        self.far_, self.verify_far_ = identify.far, verify.far
        self.threshold_, self.verify_threshold_ = identify.value, verify.value
        self.predicted_false_accept_ = identify.false_accept
        self.predicted_false_reject_ = identify.false_reject
        self.verify_notes_ = self.notes_ + verify.notes
        self.notes_ += identify.notes

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
        return self._matcher.similarity(similarity.as_vectors(vectors, self.n_features_in_))

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


def _as_names(people: Any, count: int) -> AnyArray:
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
