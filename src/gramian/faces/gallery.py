"""A gallery: vectors of the pictures of enrolled people, in one file."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import as_float64
from gramian.core.atomic import as_path, check_writable, locked
from gramian.core.checks import counted, is_visible, shown
from gramian.core.records import FloatArray
from gramian.errors import DataError, FileError, GramianError, InputTypeError, shortened
from gramian.faces.recognition import Recogniser
from gramian.faces.similarity import as_vectors
from gramian.models.model_file import INVALID, check, decode, read_model, write_model
from gramian.tables.names import natural_key

T = TypeVar("T")
SHORT = 12


class Gallery:
    """People, and the vectors of their pictures under one model, in one file.

    Make one with :meth:`create` or :meth:`open`. A change replaces the file as a whole.

    Parameters
    ----------
    path : str or path-like
        A file that :meth:`create` has made.

    Attributes
    ----------
    path : Path
        The file.
    fingerprint : str
        Of the model whose vectors are stored.
    n_components : int
        Length of a vector.
    variances : ndarray of shape (n_components,), float64
        The model's eigenvalues, by which distances may be scaled.
    shift_covariance : ndarray of shape (n_components, n_components), float64, or None
        How vectors change when pictures are moved, as the model learned it.
    created : str
        When the gallery was made, UTC.

    Raises
    ------
    FileError
        When the file is missing, empty, damaged, foreign or of a newer gramian.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> model = SimpleNamespace(fingerprint_="ab" * 32, n_components_=2)
    >>> model.eigenvalues_, model.shift_covariance_ = np.array([2.0, 1.0]), None
    >>> folder = tempfile.TemporaryDirectory()
    >>> gallery = Gallery.create(Path(folder.name) / "people.gallery", model)
    >>> print(gallery.enroll("Anna", [[1.0, 0.5], [1.2, 0.4]], ["1" * 64, "2" * 64]))
    2 pictures of 1 person enrolled
    >>> print(gallery.enroll("Anna", [[1.0, 0.5]], ["1" * 64]))
    0 pictures of 1 person enrolled, 1 known already
    >>> [(person.name, person.pictures) for person in gallery.people()]
    [('Anna', 2)]
    >>> gallery.forget("Anna")
    2
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = as_path(path)
        if not os.path.exists(self.path):
            hint = "Check the name, or enroll somebody: gramian faces enroll MODEL GALLERY PICTURES"
            raise FileError(f"{shortened(self.path)} does not exist.", hint)
        if not self.path.is_file():
            raise FileError(f"{self.path} is a folder or a device.", "Name the file of the gallery.")
        self._content = content = read_content(self.path)
        self._fitted: tuple[Any, Recogniser] | None = None
        self.fingerprint, self.created = content.fingerprint, content.created
        self.variances = content.variances
        shifts = content.shift_covariance
        self.shift_covariance = None if shifts is None else as_float64(shifts)
        self.n_components: int = len(self.variances)

    @classmethod
    def create(cls, path: str | os.PathLike[str], model: Any, **settings: Any) -> Gallery:
        """Make an empty gallery for the vectors of a model, and open it.

        Parameters
        ----------
        path : str or path-like
            A new file; nothing is ever written over. Its owner alone may read it.
        model : FaceSpace
            Fitted.
        **settings
            As for :meth:`configure`.

        Returns
        -------
        Gallery
            Open, and empty.

        Raises
        ------
        FileError
            When the name is taken, or the file cannot be written.
        TypeError, NotFittedError
            For what is no fitted model.
        ParameterError, TypeError
            As for :meth:`configure`.
        """
        create_file(path, content_of(model, settings))
        return cls(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], model: Any = None) -> Gallery:
        """Open a gallery, and check that it belongs to a model.

        Parameters
        ----------
        path : str or path-like
            A file that :meth:`create` has made.
        model : FaceSpace, optional
            The fitted model that the gallery must belong to; None does not check.

        Returns
        -------
        Gallery
            Open.

        Raises
        ------
        DataError
            When it was made with another model.
        FileError
            As for the class.
        TypeError, NotFittedError
            For what is no fitted model.
        """
        if model is not None:
            check_model(model)
        gallery = cls(path)
        if model is not None and model.fingerprint_ != gallery.fingerprint:
            raise DataError(
                f"{path} was made with the model {gallery.fingerprint[:SHORT]}, but this model is "
                f"{model.fingerprint_[:SHORT]}. Their vectors cannot be compared.",
                "Use the gallery's own model, or enroll everybody in a new gallery.",
            )
        return gallery

    def __len__(self) -> int:
        """Number of pictures."""
        return len(self._content.people)

    def _change(self, change: Callable[[GalleryFile], tuple[GalleryFile, T]]) -> T:
        """Replace the file by a changed one, from what is in it now; other processes wait meanwhile."""
        with locked(Path(os.path.realpath(self.path)).parent):
            content, result = change(read_content(self.path))
            if content.fingerprint != self.fingerprint:
                raise FileError(f"{self.path} was replaced by a gallery of another model. Open it again.")
            write_model(self.path, content, private=True)
        self._content, self._fitted = content, None
        return result

    # ------------------------------------------------------------ changes

    def enroll(
        self,
        person: str | Iterable[str],
        vectors: Any,
        hashes: Iterable[str],
        pictures: Iterable[bytes] | None = None,
        *,
        sources: Iterable[str] | None = None,
    ) -> Enrolled:
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
        pictures : iterable of bytes, optional
            The picture files themselves, to be stored too. Without them no picture is.
        sources : iterable of str, optional
            Where each picture came from.

        Returns
        -------
        Enrolled
            How many pictures were added, and which were there.

        Raises
        ------
        DataError
            When a picture is enrolled for somebody else already, for an impossible name, and for vectors
            that are not of this model.
        FileError
            When the file cannot be changed.
        """
        people = [person] * len(vectors) if isinstance(person, str) else person
        rows = as_batch(people, vectors, hashes, sources, pictures, self.n_components)
        return self._change(lambda content: add_pictures(content, rows))

    def forget(self, person: str) -> int:
        """Remove a person with everything that is stored about them.

        The file is replaced by one without them.

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
        FileError
            When the file cannot be changed.
        """

        def without(content: GalleryFile) -> tuple[GalleryFile, int]:
            name = stored_name(content, person)
            left = [picture for picture in content.pictures if picture.person != name]
            return content.holding(left), len(content.people) - len(left)

        return self._change(without)

    def configure(self, **settings: Any) -> None:
        """Store settings of the recogniser with this gallery.

        Parameters
        ----------
        **settings
            Of ``distance``, ``discriminant``, ``match``, ``far`` and ``n_components``, as
            :class:`gramian.faces.recognition.Recogniser` takes them; None takes its default again.

        Raises
        ------
        ParameterError
            For a value that no recogniser takes.
        TypeError
            For another name.
        """

        def with_settings(content: GalleryFile) -> tuple[GalleryFile, None]:
            return replace(content, settings=checked(content.settings | settings, self.n_components)), None

        self._change(with_settings)

    # ------------------------------------------------------------ what is in it

    @property
    def settings(self) -> dict[str, Any]:
        """What was chosen with :meth:`configure`."""
        return dict(self._content.settings)

    def people(self) -> tuple[Person, ...]:
        """Return who is enrolled, by name."""
        pictures: dict[str, list[Picture]] = {}
        for picture in self._content.pictures:
            pictures.setdefault(picture.person, []).append(picture)
        people = []
        for name in sorted(pictures, key=natural_key):
            times = [picture.enrolled for picture in pictures[name]]
            kept = sum(picture.original is not None for picture in pictures[name])
            people.append(Person(name, len(times), min(times), max(times), kept))
        return tuple(people)

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
            When nobody of that name is enrolled; says who has a name like it.
        """
        return stored_name(self._content, name)

    def vectors(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.str_]]:
        """Return all vectors, and whom each belongs to, in the order of enrolment.

        Returns
        -------
        vectors : ndarray of shape (n, n_components), float32
            Of every picture.
        people : ndarray of shape (n,), str
            Names.
        """
        return self._content.vectors, np.array(self._content.people, dtype=np.str_)

    def originals(self, person: str) -> tuple[tuple[str, bytes], ...]:
        """Return the pictures of a person that were stored: where each came from, and its file's bytes.

        Parameters
        ----------
        person : str
            The name.

        Returns
        -------
        tuple of (str, bytes)
            Source and content of each picture.

        Raises
        ------
        DataError
            When nobody of that name is enrolled.
        """
        name = stored_name(self._content, person)
        pictures = (picture for picture in self._content.pictures if picture.person == name)
        return tuple(
            (picture.source, picture.original.tobytes())
            for picture in pictures
            if picture.original is not None
        )

    def recogniser(self, **settings: Any) -> Recogniser:
        """Return a recogniser of the people enrolled, the same one until they or the settings change.

        Parameters
        ----------
        **settings
            Instead of those of :meth:`configure`; None leaves them.

        Returns
        -------
        Recogniser
            Fitted to the vectors of the gallery.

        Raises
        ------
        DataError
            When nobody is enrolled.
        ParameterError, TypeError
            As for :meth:`configure`.
        """
        chosen = self._content.settings | {key: value for key, value in settings.items() if value is not None}
        if self._fitted is None or self._fitted[0] != chosen:
            vectors, people = self.vectors()
            if not len(vectors):
                hint = "Start with: gramian faces enroll MODEL GALLERY PICTURES"
                raise DataError(f"Nobody is enrolled in {self.path}.", hint)
            recogniser = Recogniser(**chosen).fit(vectors, people, self.variances, self.shift_covariance)
            self._fitted = chosen, recogniser
        return self._fitted[1]


def enroll_into(
    path: str | os.PathLike[str],
    model: Any,
    people: Iterable[str],
    vectors: Any,
    hashes: Iterable[str],
    pictures: Iterable[bytes] | None = None,
    *,
    sources: Iterable[str] | None = None,
) -> Enrolled:
    """Add pictures of people to a gallery, and make the gallery if there is none: all of them, or none.

    Parameters
    ----------
    path : str or path-like
    model : FaceSpace
        Fitted; its ``transform`` made the vectors.
    people, vectors, hashes, pictures, sources
        As for :meth:`Gallery.enroll`.

    Raises
    ------
    DataError, FileError
        As for :meth:`Gallery.open` and :meth:`Gallery.enroll`; no new gallery is left then.
    """
    if os.path.exists(as_path(path)):
        return Gallery.open(path, model).enroll(people, vectors, hashes, pictures, sources=sources)
    content = content_of(model, {})
    rows = as_batch(people, vectors, hashes, sources, pictures, len(content.variances))
    content, enrolled = add_pictures(content, rows)
    create_file(path, content)
    return enrolled


# ---- What a gallery contains, and its file


class Picture(NamedTuple):
    """An enrolled picture: whom it shows, and the picture file where it is stored too."""

    person: str
    vector: npt.NDArray[np.float32]
    digest: str
    source: str
    enrolled: str
    original: npt.NDArray[np.uint8] | None


COLUMNS = ("people", "vectors", "hashes", "sources", "enrolled", "originals")  # fields of Picture, in order


@dataclass(frozen=True, eq=False)
class GalleryFile:
    """What a file holds: the model of the vectors, settings of the recogniser, and columns of n pictures."""

    fingerprint: str
    variances: Annotated[FloatArray, "k"]
    shift_covariance: Annotated[npt.NDArray[np.float32] | None, "k k"]
    created: str
    settings: dict[str, Any]
    vectors: Annotated[npt.NDArray[np.float32], "n k"]
    people: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    enrolled: tuple[str, ...] = ()
    originals: tuple[npt.NDArray[np.uint8] | None, ...] = ()

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures in the order of enrolment."""
        return tuple(map(Picture._make, zip(*(getattr(self, name) for name in COLUMNS), strict=True)))

    def holding(self, pictures: Sequence[Picture]) -> GalleryFile:
        """Return the same with other pictures."""
        vectors = np.array([picture.vector for picture in pictures], np.float32)
        columns: dict[str, Any] = {
            name: tuple(picture[i] for picture in pictures) for i, name in enumerate(COLUMNS)
        }
        return replace(self, **columns | {"vectors": vectors.reshape(-1, len(self.variances))})


def add_pictures(content: GalleryFile, rows: Sequence[Picture]) -> tuple[GalleryFile, Enrolled]:
    """Return a content with the pictures that are new, and what was added.

    Raises
    ------
    DataError
        When a picture is enrolled for somebody else.
    """
    counts = dict.fromkeys((row.person for row in rows), 0)
    pictures = {picture.digest: picture for picture in content.pictures}
    repeated = []
    for row in rows:
        present = pictures.get(row.digest)
        if present is None:
            pictures[row.digest] = row
            counts[row.person] += 1
            continue
        if present.person != row.person:
            known_as = f" ({present.source})" if present.source and present.source != row.source else ""
            raise DataError(
                f"{row.source or 'A picture'} is already enrolled for {present.person}{known_as}, so it "
                f"cannot be {row.person}. Nothing was stored.",
                f"Leave it out, or forget {present.person} first.",
            )
        repeated.append((row.person, row.source))
        if present.original is None:
            pictures[row.digest] = present._replace(original=row.original)
    return content.holding(list(pictures.values())), Enrolled(counts, tuple(repeated))


def stored_name(content: GalleryFile, name: str) -> str:
    """Return a person's name as it is stored.

    Raises
    ------
    DataError
        When nobody of that name is enrolled; says who has a name like it.
    """
    name = person_name(name)
    people = {person.casefold(): person for person in content.people}
    if name in content.people:
        return name
    near = [people[key] for key in difflib.get_close_matches(name.casefold(), people, n=3)]
    hint = f"Did you mean {' or '.join(near)}?" if near else "See who is: gramian faces list GALLERY"
    many = counted(len(set(content.people)), "person", "people")
    raise DataError(f"{name} is not among the {many} of the gallery.", hint)


def create_file(path: str | os.PathLike[str], content: GalleryFile) -> None:
    """Write a new gallery: complete under its name, or not at all, and never over another file.

    Its owner alone may read and write it.

    Parameters
    ----------
    path : str or path-like
    content : GalleryFile

    Raises
    ------
    FileError
        If the name is taken, or the file cannot be written.
    """
    target = Path(os.path.realpath(as_path(path)))
    taken = f"{shown(target)} exists already. Open it, or choose another name."
    if os.path.lexists(target):
        raise FileError(taken)
    check_writable(target)
    with locked(target.parent):  # against another process that makes it meanwhile
        if os.path.lexists(target):
            raise FileError(taken)
        write_model(target, content, private=True)


def read_content(path: Path) -> GalleryFile:
    """Read a gallery that :func:`write_content` has written.

    Raises
    ------
    FileError
        When it is no gallery, or not as it was written.
    """
    stored = read_model(path)
    if stored.kind != GalleryFile.__name__:
        raise FileError(
            f"{path} holds a {shown(stored.kind)}, not a gallery. Name one written by gramian faces enroll."
        )
    try:
        content: GalleryFile = decode(stored.content, stored.arrays)
        check("the gallery", content, GalleryFile, {})
        checked(content.settings, len(content.variances))
        if len(content.pictures) != len(content.vectors):
            raise ValueError("pictures without a vector")
        return content
    except (GramianError, *INVALID) as error:
        raise FileError(
            f"{path} is damaged: its contents are not those of a gallery. Restore it from a copy, or enroll "
            "everybody again."
        ) from error


# ---- What is enrolled: pictures of people as vectors, the model of the vectors, and settings

HASH = re.compile("[0-9a-f]{64}")


# ------------------------------------------------------------------ pictures of people


@dataclass(frozen=True)
class Enrolled:
    """What was stored.

    Attributes
    ----------
    counts : mapping of str to int
        For each person, in the order given, how many pictures are new in the gallery; may be 0.
    repeated : tuple of (person, source)
        Pictures that the person was enrolled with already; they are stored once.
    """

    counts: Mapping[str, int]
    repeated: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        people = counted(len(self.counts), "person", "people")
        text = f"{counted(sum(self.counts.values()), 'picture')} of {people} enrolled"
        return text + (f", {len(self.repeated):,} known already" if self.repeated else "")


@dataclass(frozen=True)
class Person:
    """Somebody in a gallery.

    Attributes
    ----------
    name : str
        As enrolled.
    pictures : int
        How many are enrolled.
    first, last : str
        When the first and the last of them were, UTC.
    kept : int
        How many of the pictures themselves are stored.
    """

    name: str
    pictures: int
    first: str
    last: str
    kept: int


def as_batch(
    people: Iterable[str],
    vectors: Any,
    hashes: Iterable[str],
    sources: Iterable[str] | None,
    pictures: Iterable[bytes] | None,
    n_components: int,
) -> list[Picture]:
    """Check pictures and return one row for each, ready to be stored.

    Parameters
    ----------
    people : iterable of str
    vectors : array-like of shape (n, n_components)
    hashes : iterable of str
        SHA-256 of each picture file, 64 hexadecimal digits.
    sources : iterable of str or None
    pictures : iterable of bytes or None
    n_components : int

    Raises
    ------
    DataError, InputTypeError
        For anything that cannot be stored as it is.
    """
    values = as_vectors(vectors, n_components)
    empty: dict[str, list[Any]] = {"sources": [""] * len(values), "pictures": [None] * len(values)}
    columns = {"people": people, "hashes": hashes, "sources": sources, "pictures": pictures}
    lists = {name: empty[name] if column is None else list(column) for name, column in columns.items()}
    for name, column in lists.items():
        if len(column) != len(values):
            raise DataError(
                f"{len(values):,} vectors but {len(column):,} {name}.", "Give one for each vector."
            )
    rows, time = [], now()
    for index, (name, digest, source, picture) in enumerate(zip(*lists.values(), strict=True)):
        if not isinstance(digest, str) or not HASH.fullmatch(digest):
            hint = "Give that of the picture file: hashlib.sha256(data).hexdigest()"
            raise DataError(f"{digest!r} is not a SHA-256 of 64 lowercase hexadecimal digits.", hint)
        if picture is not None and hashlib.sha256(picture).hexdigest() != digest:
            raise DataError(
                f"Picture {index} has another SHA-256.", "Give pictures in the order of the hashes."
            )
        vector = values[index].astype(np.float32)
        # A name from a disk may hold bytes that are no text.
        source = str(source).encode("utf-8", "replace").decode()
        original = None if picture is None else np.frombuffer(picture, np.uint8)
        rows.append(Picture(person_name(name), vector, digest, source, time, original))
    return rows


def check_model(model: Any) -> None:
    """Refuse what is no fitted FaceSpace, in scikit-learn's words."""
    if not hasattr(model, "fingerprint_"):
        check_is_fitted(model, "fingerprint_")


def content_of(model: Any, settings: Mapping[str, Any]) -> GalleryFile:
    """Return an empty gallery of a fitted model.

    Raises
    ------
    TypeError, NotFittedError
        For what is no fitted model.
    ParameterError, TypeError
        As :func:`checked`.
    """
    check_model(model)
    # Where there is no variance, rounding may leave a little less.
    variances, shifts = np.maximum(as_float64(model.eigenvalues_), 0.0), model.shift_covariance_
    shifts = None if shifts is None else as_float64(shifts).astype(np.float32)
    nothing = np.empty((0, len(variances)), np.float32)
    return GalleryFile(
        model.fingerprint_, variances, shifts, now(), checked(settings, len(variances)), nothing
    )


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# ------------------------------------------------------------------ settings


def checked(settings: Mapping[str, Any], n_components: int) -> dict[str, Any]:
    """Return what was chosen for the recogniser, without what is None.

    Raises
    ------
    ParameterError
        For a value that no recogniser of such vectors takes.
    TypeError
        For another name.

    Examples
    --------
    >>> checked({"match": "mean", "far": None}, 5)
    {'match': 'mean'}
    """
    chosen = {name: value for name, value in sorted(dict(settings).items()) if value is not None}
    Recogniser(**chosen).check_parameters(n_components)
    # Numbers of NumPy become Python's own.
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in chosen.items()}


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
    if not normal:
        raise DataError(f"A person's name is empty ({name!r}).", "Give at least one letter.")
    if len(normal) > LONGEST_NAME:
        raise DataError(
            f"The name {shown(normal[:20])!r}... has {len(normal)} characters; at most {LONGEST_NAME} are "
            "allowed.",
            "Shorten it.",
        )
    for letter in normal:
        if letter == "\ufffd" or not is_visible(letter):
            why = f"The name {normal!a} contains the character {letter!a}, which cannot be displayed."
            raise DataError(why, "Leave it out.")
    if all(unicodedata.category(letter)[0] in "MZ" for letter in normal):
        raise DataError(f"The name {normal!a} has no letter.", "Give at least one.")
    return normal
