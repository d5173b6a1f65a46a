"""A gallery: vectors of the pictures of enrolled people, in one SQLite file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, FileError
from gramian.faces.gallery.queries import (
    add_pictures,
    list_people,
    person_number,
    read_originals,
    read_vectors,
    remove_person,
)
from gramian.faces.gallery.records import (
    Description,
    Enrolled,
    Person,
    as_batch,
    check_model,
    read_settings,
    settings_text,
)
from gramian.faces.gallery.store import GalleryFile, create_file
from gramian.faces.names import person_name
from gramian.faces.recognition import Recogniser
from gramian.records import FloatArray
from gramian.store.atomic import as_path

SHORT = 12


class Gallery:
    """People, and the vectors of their pictures under one model, in one SQLite file.

    Make one with :meth:`create` or :meth:`open`, and close it, or use it in a ``with`` statement. Several
    processes and threads may use the same file at once. Every change is one transaction.

    Parameters
    ----------
    path : str or path-like
        A file that :meth:`create` has made.
    read_only : bool
        Refuse changes; then the file and its folder may be write-protected.
    timeout : float
        Seconds to wait while another process changes the file.

    Attributes
    ----------
    path : Path
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
    read_only : bool

    Raises
    ------
    FileError
        When the file is missing, empty, damaged, foreign, of a newer gramian, in use or protected.

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
    >>> gallery.close()
    >>> folder.cleanup()
    """

    def __init__(
        self, path: str | os.PathLike[str], *, read_only: bool = False, timeout: float = 5.0
    ) -> None:
        self._file = GalleryFile(path, read_only=read_only, timeout=timeout)
        self._fitted: tuple[Any, Recogniser] | None = None
        description = self._file.description
        self.path: Path = self._file.path
        self.read_only: bool = read_only
        self.fingerprint: str = description.fingerprint
        self.n_components: int = description.n_components
        self.variances: FloatArray = description.variances
        self.shift_covariance: FloatArray | None = description.shifts
        self.created: str = description.created

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], model: Any, *, timeout: float = 5.0, **settings: Any
    ) -> Gallery:
        """Make an empty gallery for the vectors of a model, and open it.

        Parameters
        ----------
        path : str or path-like
            A new file; nothing is ever written over. Its owner alone may read it.
        model : FaceSpace
            Fitted.
        timeout : float
            Seconds to wait while another process changes the file.
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
        create_file(path, Description.of(model).rows(settings), lambda connection: None)
        return cls(path, timeout=timeout)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        model: Any = None,
        *,
        read_only: bool = False,
        timeout: float = 5.0,
    ) -> Gallery:
        """Open a gallery, and check that it belongs to a model.

        Parameters
        ----------
        path : str or path-like
            A file that :meth:`create` has made.
        model : FaceSpace, optional
            The fitted model that the gallery must belong to; None does not check.
        read_only : bool, default=False
            Refuse changes.
        timeout : float, default=5.0
            Seconds to wait while another process changes the file.

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
        gallery = cls(path, read_only=read_only, timeout=timeout)
        if model is not None and model.fingerprint_ != gallery.fingerprint:
            gallery.close()
            raise DataError(
                f"{path} was made with the model {gallery.fingerprint[:SHORT]}, but this model is "
                f"{model.fingerprint_[:SHORT]}. Their vectors cannot be compared. Use the gallery's "
                "own model, or enroll everybody in a new gallery."
            )
        return gallery

    def close(self) -> None:
        """Close the file; may be called again."""
        self._file.close()

    def __enter__(self) -> Gallery:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Number of pictures."""
        with self._file.reading() as connection:
            return int(connection.execute("SELECT count(*) FROM pictures").fetchone()[0])

    # ------------------------------------------------------------ changes

    def enroll(
        self,
        person: str,
        vectors: Any,
        hashes: Iterable[str],
        pictures: Iterable[bytes] | None = None,
        *,
        sources: Iterable[str] | None = None,
    ) -> Enrolled:
        """Add pictures of one person: all of them, or none.

        Parameters
        ----------
        person : str
            At most 200 characters; stored composed (NFC), without blanks around it.
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
        person = person_name(person)
        return self.enroll_many([person] * len(vectors), vectors, hashes, pictures, sources=sources)

    def enroll_many(
        self,
        people: Iterable[str],
        vectors: Any,
        hashes: Iterable[str],
        pictures: Iterable[bytes] | None = None,
        *,
        sources: Iterable[str] | None = None,
    ) -> Enrolled:
        """Add pictures of many people: all of them, or none.

        Parameters
        ----------
        people : iterable of str
            Whom each picture shows.
        vectors, hashes, pictures, sources : optional
            As for :meth:`enroll`.

        Returns
        -------
        Enrolled
            How many pictures were added, and which were there.

        Raises
        ------
        DataError, FileError
            As for :meth:`enroll`.
        """
        rows = as_batch(people, vectors, hashes, sources, pictures, self.n_components)
        with self._file.changing() as connection:
            return add_pictures(connection, rows)

    def forget(self, person: str) -> int:
        """Remove a person with everything that is stored about them.

        The bytes are overwritten, and the file is rebuilt without them.

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
        with self._file.guard:
            with self._file.changing() as connection:
                removed = remove_person(connection, person)
                self._file.want_rebuild()
            self._fitted = None
            try:
                self._file.rebuild()
            except FileError as error:
                raise FileError(
                    f"{person_name(person)} was removed from {self.path}, but the file was not rebuilt: "
                    f"{error} Unused parts of the file may hold copies until it is next opened for a change."
                ) from error
        return removed

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
        with self._file.changing() as connection:
            text = settings_text(self.settings | settings, self.n_components)
            connection.execute("UPDATE meta SET value = ? WHERE key = 'settings'", (text,))

    # ------------------------------------------------------------ what is in it

    @property
    def settings(self) -> dict[str, Any]:
        """What was chosen with :meth:`configure`."""
        with self._file.reading() as connection:
            (text,) = connection.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()
            return read_settings(text)

    def people(self) -> tuple[Person, ...]:
        """Return who is enrolled, by name."""
        with self._file.reading() as connection:
            return list_people(connection)

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
        with self._file.reading() as connection:
            person_number(connection, name)
        return person_name(name)

    def vectors(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.str_]]:
        """Return all vectors, and whom each belongs to, in the order of enrolment.

        Returns
        -------
        vectors : ndarray of shape (n, n_components), float32
            Of every picture.
        people : ndarray of shape (n,), str
            Names.

        Raises
        ------
        FileError
            When a vector is not as it was stored.
        """
        with self._file.reading() as connection:
            return read_vectors(connection, self.n_components)

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
        with self._file.reading() as connection:
            return read_originals(connection, person)

    def recogniser(self, **settings: Any) -> Recogniser:
        """Return a recogniser of the people enrolled.

        It is cached until the gallery or the settings change. A long-running program can call this for
        every picture, and never recognises somebody who has been forgotten.

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
        with self._file.guard:
            given = {name: value for name, value in settings.items() if value is not None}
            version = (self._file.version(), sorted(given.items()))
            if self._fitted is None or self._fitted[0] != version:
                vectors, people = self.vectors()
                if not len(vectors):
                    raise DataError(
                        f"Nobody is enrolled in {self.path}. Start with: "
                        "gramian faces enroll MODEL GALLERY PICTURES"
                    )
                recogniser = Recogniser(**(self.settings | given))
                recogniser.fit(vectors, people, self.variances, self.shift_covariance)
                self._fitted = version, recogniser
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
    timeout: float = 5.0,
) -> Enrolled:
    """Add pictures of people to a gallery, and make the gallery if there is none: all of them, or none.

    Parameters
    ----------
    path : str or path-like
    model : FaceSpace
        Fitted; its ``transform`` made the vectors.
    people, vectors, hashes, pictures, sources
        As for :meth:`Gallery.enroll_many`.
    timeout : float
        Seconds to wait while another process changes the gallery.

    Raises
    ------
    DataError, FileError
        As for :meth:`Gallery.open` and :meth:`Gallery.enroll_many`; no new gallery is left then.
    """
    check_model(model)
    # Iterators are read once, and may be needed twice.
    rows = as_batch(people, vectors, hashes, sources, pictures, model.n_components_)
    if not os.path.exists(as_path(path)):
        try:
            return create_file(
                path, Description.of(model).rows({}), lambda connection: add_pictures(connection, rows)
            )
        except FileError:
            # Another process may have made it meanwhile.
            if not os.path.exists(path):
                raise
    with Gallery.open(path, model, timeout=timeout) as gallery, gallery._file.changing() as connection:
        return add_pictures(connection, rows)
