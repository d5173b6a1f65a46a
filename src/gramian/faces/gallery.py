"""A gallery: vectors of the pictures of enrolled people, saved in one file as models are."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import as_float64
from gramian.core.atomic import as_path, locked
from gramian.core.checks import counted, is_visible, shown
from gramian.core.records import FloatArray
from gramian.errors import DataError, FileError, InputTypeError
from gramian.faces.recognition import Recogniser
from gramian.faces.similarity import as_vectors
from gramian.models.model_file import INVALID, check, decode, read_model, write_model
from gramian.tables.names import natural_key

SHORT = 12


@dataclass(eq=False)
class Gallery:
    """People, and the vectors of their pictures under one model.

    Make one with :meth:`create` or :meth:`open`; :meth:`save` writes it.

    Attributes
    ----------
    fingerprint : str
        Of the model whose vectors are stored.
    variances : ndarray of shape (n_components,), float64
        The model's eigenvalues.
    vectors : ndarray of shape (n, n_components), float32
        Of every picture, in the order of enrolment.
    people, hashes : tuple of n str
        The person on each picture, and the SHA-256 of its file.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> model = SimpleNamespace(fingerprint_="ab" * 32, eigenvalues_=np.array([2.0, 1.0]))
    >>> gallery = Gallery.create(model)
    >>> print(gallery.enroll("Anna", [[1.0, 0.5], [1.2, 0.4]], ["1" * 64, "2" * 64]))
    2 pictures of 1 person enrolled
    >>> print(gallery.enroll("Anna", [[1.0, 0.5]], ["1" * 64]))
    0 pictures of 1 person enrolled, 1 known already
    >>> gallery.counts()
    {'Anna': 2}
    >>> gallery.forget("Anna")
    2
    """

    fingerprint: str
    variances: Annotated[FloatArray, "k"]
    vectors: Annotated[npt.NDArray[np.float32], "n k"]
    people: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()

    @classmethod
    def create(cls, model: Any) -> Gallery:
        """Return an empty gallery for the vectors of a model.

        Parameters
        ----------
        model : FaceSpace
            Fitted.

        Raises
        ------
        TypeError, NotFittedError
            For what is no fitted model.
        """
        check_model(model)
        # Where there is no variance, rounding may leave a little less.
        variances = np.maximum(as_float64(model.eigenvalues_), 0.0)
        return cls(model.fingerprint_, variances, np.empty((0, len(variances)), np.float32))

    @classmethod
    def open(cls, path: str | os.PathLike[str], model: Any = None) -> Gallery:
        """Read a gallery, and check that it belongs to a model.

        Parameters
        ----------
        path : str or path-like
            A file that :meth:`save` has written.
        model : FaceSpace, optional
            The fitted model that the gallery must belong to; None does not check.

        Raises
        ------
        DataError
            When it was made with another model.
        FileError
            When the file is missing, empty, damaged, foreign or of a newer gramian.
        TypeError, NotFittedError
            For what is no fitted model.
        """
        if model is not None:
            check_model(model)
        stored = read_model(path)
        if stored.kind != cls.__name__:
            why = f"{path} holds a {shown(stored.kind)}, not a gallery."
            raise FileError(why, "Name one written by gramian faces enroll.")
        try:
            gallery: Gallery = decode(stored.content, stored.arrays)
            check("the gallery", gallery, cls, {})
            if not len(gallery.vectors) == len(gallery.people) == len(gallery.hashes):
                raise ValueError("pictures without a vector")
        except INVALID as error:
            why = f"{path} is damaged: its contents are not those of a gallery."
            raise FileError(why, "Restore it from a copy, or enroll everybody again.") from error
        if model is not None and model.fingerprint_ != gallery.fingerprint:
            raise DataError(
                f"{path} was made with the model {gallery.fingerprint[:SHORT]}, but this model is "
                f"{model.fingerprint_[:SHORT]}. Their vectors cannot be compared.",
                "Use the gallery's own model, or enroll everybody in a new gallery.",
            )
        return gallery

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the gallery to one file: complete under its name, or not at all. Its owner alone may read it.

        Parameters
        ----------
        path : str or path-like
            A file; an earlier one is replaced.

        Raises
        ------
        FileError
            When it cannot be written.
        """
        write_model(path, self, private=True)

    def __len__(self) -> int:
        """Number of pictures."""
        return len(self.people)

    def enroll(self, person: str | Iterable[str], vectors: Any, hashes: Iterable[str]) -> Enrolled:
        """Add pictures: all of them, or none.

        Parameters
        ----------
        person : str or iterable of str
            Whom all pictures show, or whom each does. A name has at most 200 characters; it is stored
            composed (NFC), without blanks around it.
        vectors : array-like of shape (n, n_components)
            What the model's ``transform`` returns; stored as float32.
        hashes : iterable of str
            SHA-256 of each picture file. A picture that the person has already is not stored again.

        Returns
        -------
        Enrolled
            How many pictures were added, and how many were there.

        Raises
        ------
        DataError
            When a picture is enrolled for somebody else already, for an impossible name, and for vectors
            that are not of this model.
        """
        values = as_vectors(vectors, len(self.variances))
        names = [person] * len(values) if isinstance(person, str) else list(person)
        digests = list(hashes)
        for what, column in (("people", names), ("hashes", digests)):
            if len(column) != len(values):
                problem = f"{len(values):,} vectors but {len(column):,} {what}."
                raise DataError(problem, "Give one for each vector.")
        names, known, new = (
            list(map(person_name, names)),
            dict(zip(self.hashes, self.people, strict=True)),
            [],
        )
        for index, (name, digest) in enumerate(zip(names, digests, strict=True)):
            if digest not in known:
                new.append(index)
            elif known[digest] != name:
                raise DataError(
                    f"Picture {index} (counted from 0) is already enrolled for {known[digest]}, so it cannot "
                    f"be {name}. Nothing was stored.",
                    f"Leave it out, or forget {known[digest]} first.",
                )
            known[digest] = name
        self.vectors = np.concatenate([self.vectors, values[new]])
        self.people += tuple(names[index] for index in new)
        self.hashes += tuple(digests[index] for index in new)
        added = Counter(names[index] for index in new)
        return Enrolled({name: added[name] for name in dict.fromkeys(names)}, len(names) - len(new))

    def forget(self, person: str) -> int:
        """Remove a person with everything that is stored about them.

        Parameters
        ----------
        person : str
            The name.

        Returns
        -------
        int
            How many pictures were removed.

        Raises
        ------
        DataError
            When nobody of that name is enrolled.
        """
        name, before = self.person(person), len(self)
        kept = [index for index, other in enumerate(self.people) if other != name]
        self.vectors = self.vectors[kept]
        self.people = tuple(self.people[index] for index in kept)
        self.hashes = tuple(self.hashes[index] for index in kept)
        return before - len(kept)

    def counts(self) -> dict[str, int]:
        """Return who is enrolled, by name, with the number of pictures."""
        numbers = Counter(self.people)
        return {name: numbers[name] for name in sorted(numbers, key=natural_key)}

    def person(self, name: str) -> str:
        """Return the name of somebody as it is stored.

        Parameters
        ----------
        name : str
            A name, written in any normal form of Unicode.

        Returns
        -------
        str
            The stored name.

        Raises
        ------
        DataError
            When nobody of that name is enrolled.
        """
        normal = person_name(name)
        if normal not in self.people:
            many = counted(len(set(self.people)), "person", "people")
            hint = "See who is: gramian faces list GALLERY"
            raise DataError(f"{normal} is not among the {many} of the gallery.", hint)
        return normal

    def recogniser(self, far: float | None = None) -> Recogniser:
        """Return a recogniser of the people who are enrolled now.

        Parameters
        ----------
        far : float, optional
            As for :class:`gramian.faces.Recogniser`.

        Returns
        -------
        Recogniser
            Fitted to the vectors of the gallery.

        Raises
        ------
        DataError
            When nobody is enrolled, or fewer than five people are.
        """
        if not len(self):
            hint = "Start with: gramian faces enroll MODEL GALLERY PICTURES"
            raise DataError("Nobody is enrolled in the gallery.", hint)
        return Recogniser(far=far).fit(self.vectors, self.people, self.variances)


@contextmanager
def changing(path: str | os.PathLike[str], model: Any = None) -> Iterator[Gallery]:
    """Open a gallery, and save it when the block ends; other processes wait with their changes meanwhile.

    Parameters
    ----------
    path : str or path-like
    model : FaceSpace, optional
        With a model, a gallery that does not exist is made.

    Raises
    ------
    DataError, FileError
        As for :meth:`Gallery.open` and :meth:`Gallery.save`.
    """
    target = Path(os.path.realpath(as_path(path)))
    with locked(target.parent):
        new = model is not None and not target.exists()
        gallery = Gallery.create(model) if new else Gallery.open(target, model)
        yield gallery
        gallery.save(target)


def check_model(model: Any) -> None:
    """Refuse what is no fitted FaceSpace, in scikit-learn's words."""
    if not hasattr(model, "fingerprint_"):
        check_is_fitted(model, "fingerprint_")


@dataclass(frozen=True)
class Enrolled:
    """What was stored.

    Attributes
    ----------
    counts : mapping of str to int
        For each person, in the order given, how many pictures are new in the gallery; may be 0.
    known : int
        Number of pictures that their person was enrolled with already; they are stored once.
    """

    counts: Mapping[str, int]
    known: int

    def __str__(self) -> str:
        people = counted(len(self.counts), "person", "people")
        text = f"{counted(sum(self.counts.values()), 'picture')} of {people} enrolled"
        return text + (f", {self.known:,} known already" if self.known else "")


# -------- Names of people: normalised and checked before they are stored

LONGEST_NAME = 200


def person_name(name: Any) -> str:
    """Return a person's name as it is stored: composed (NFC), without blanks around it.

    Raises
    ------
    InputTypeError
        For what is not text.
    DataError
        For a name that is empty, longer than 200 characters, or holds characters that cannot be seen.

    Examples
    --------
    >>> person_name(" Zoe\u0308 ") == "Zo\u00eb"
    True
    """
    if not isinstance(name, str):
        raise InputTypeError(f"A person's name must be text, not {type(name).__name__}.")
    normal = unicodedata.normalize("NFC", name).strip()
    visible = "\ufffd" not in normal and all(map(is_visible, normal))
    if not (visible and 1 <= len(normal) <= LONGEST_NAME):
        why = f"The name {normal[:20]!a} has {len(normal)} characters, or one that cannot be displayed."
        raise DataError(why, f"Give 1 to {LONGEST_NAME} characters that can be.")
    return normal
