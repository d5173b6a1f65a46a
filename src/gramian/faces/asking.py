"""From pictures to answers in one step: the scores, whether it is a face, and who it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from gramian.arrays import blas_threads
from gramian.errors import InputTypeError
from gramian.faces.pictures import as_pictures
from gramian.faces.recognition import Answer, Recogniser
from gramian.faces.space import FaceSpace

__all__ = ["identify", "verify"]

# Up to so many pictures the threads of BLAS wait for each other longer than they work: on two busy cores an
# answer takes half as long without them (benchmarks/faces_latency.py).
FEW = 4


def identify(model: FaceSpace, recogniser: Recogniser, faces: Any) -> list[Answer]:
    """Say who is on pictures.

    Parameters
    ----------
    model : FaceSpace
        That of the gallery.
    recogniser : Recogniser
        :meth:`gramian.faces.Gallery.recogniser` returns it.
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
    InputTypeError
        For what is no model, or no recogniser.

    Examples
    --------
    >>> from gramian.faces import FaceSpace, Recogniser, drawn_faces
    >>> faces = drawn_faces(12, 4, size=(24, 28))
    >>> space = FaceSpace(20).fit(faces)
    >>> recogniser = Recogniser(far=0.05).fit(space.transform(faces), faces.people, space.eigenvalues_)
    >>> [answer.person for answer in identify(space, recogniser, faces.take(slice(0, 2)))]
    ['p01', 'p01']
    >>> verify(space, recogniser, faces.take([0]), "p02")[0].kind
    'unknown'
    """
    _check(model, recogniser)
    return _answers(model, recogniser.identify, faces)


def verify(model: FaceSpace, recogniser: Recogniser, faces: Any, person: str) -> list[Answer]:
    """Say whether pictures show a given person.

    Parameters
    ----------
    model, recogniser, faces
        As in :func:`identify`.
    person : str

    Raises
    ------
    DataError
        As :func:`identify`, and for somebody who is not enrolled.
    """
    _check(model, recogniser)

    def asked(vectors: Any, **likeness: Any) -> list[Answer]:
        return recogniser.verify(vectors, person, **likeness)

    return _answers(model, asked, faces)


def _check(model: Any, recogniser: Any) -> None:
    if not isinstance(model, FaceSpace):
        raise InputTypeError(f"model is {type(model).__name__}. Give a FaceSpace; gramian.load opens one.")
    if not isinstance(recogniser, Recogniser):
        raise InputTypeError(
            f"recogniser is {type(recogniser).__name__}. Give a Recogniser; that of a gallery is "
            "gallery.recogniser()."
        )


def _answers(model: FaceSpace, ask: Callable[..., list[Answer]], faces: Any) -> list[Answer]:
    pictures = as_pictures(faces)
    with blas_threads() if len(pictures) <= FEW else nullcontext():
        scores = model.face_score(pictures)
        return ask(model.transform(pictures), face_scores=scores, face_threshold=model.face_threshold_)
