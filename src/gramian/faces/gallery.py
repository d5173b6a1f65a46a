"""A gallery: vectors of the pictures of enrolled people, in one SQLite file."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import sqlite3
import threading
import unicodedata
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian.arrays import as_float64
from gramian.checks import counted, is_hidden, shown
from gramian.errors import DataError, FileError, InputTypeError, shortened
from gramian.faces.recognition import Recogniser
from gramian.faces.similarity import as_vectors
from gramian.io.names import natural_key
from gramian.records import FloatArray
from gramian.store.atomic import as_path, atomic_write, check_writable, locked
from gramian.version import __version__

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
    read_only : bool
        Whether changes raise an error.

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
        self.path: Path = as_path(path)
        self.read_only: bool = read_only
        self._guard: AbstractContextManager[Any] = threading.RLock()  # held by whoever uses the connection
        self._fitted: tuple[Any, Recogniser] | None = None
        _check_place(self.path, read_only)
        with _as_file_errors(self.path):
            uri = f"{Path(os.path.abspath(self.path)).as_uri()}?mode=rw"
            self._connection: sqlite3.Connection = sqlite3.connect(
                uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
            )
        # A gallery that nobody closes is closed when it is no longer used.
        weakref.finalize(self, self._connection.close)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        with self._reading() as connection:
            for setting in ("trusted_schema = OFF", "foreign_keys = ON", "temp_store = MEMORY"):
                connection.execute(f"PRAGMA {setting}")
            _check_gallery(self.path, connection)
            rows = dict(connection.execute("SELECT key, value FROM meta").fetchall())
            self.fingerprint, self.variances, self.shift_covariance, self.created = read_meta(rows)
            self.n_components: int = len(self.variances)
            if self.read_only:
                connection.execute("PRAGMA query_only = ON")
                return
            connection.execute("PRAGMA secure_delete = ON")
            # Where another program chose a write-ahead log, old vectors would stay in it.
            connection.execute("PRAGMA journal_mode = DELETE")
        if REBUILD in rows:
            self._rebuild()

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
        create_file(path, meta_of(model, settings), lambda connection: None)
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
                f"{model.fingerprint_[:SHORT]}. Their vectors cannot be compared.",
                "Use the gallery's own model, or enroll everybody in a new gallery.",
            )
        return gallery

    def close(self) -> None:
        """Close the file; may be called again."""
        with self._guard:
            self._connection.close()

    def __enter__(self) -> Gallery:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Number of pictures."""
        with self._reading() as connection:
            return int(connection.execute("SELECT count(*) FROM pictures").fetchone()[0])

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for questions."""
        with self._guard, _as_file_errors(self.path):
            yield self._connection

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for a change as a whole or not at all; others may read meanwhile."""
        if self.read_only:
            raise FileError(f"{self.path} was opened read-only.", "Open it again without read_only.")
        with self._reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # Where SQLite itself has rolled back, as for a full disk, there is nothing left to undo.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _rebuild(self) -> None:
        """Write the file anew without its unused parts.

        Where another program moved rows without overwriting them, copies of them are left there.
        """
        with self._reading() as connection:
            connection.execute("VACUUM")
            connection.execute("DELETE FROM meta WHERE key = ?", (REBUILD,))

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
        with self._changing() as connection:
            return add_pictures(connection, rows)

    enroll_many = enroll

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
        with self._guard:
            with self._changing() as connection:
                number = (person_number(connection, person),)
                removed = connection.execute("DELETE FROM pictures WHERE person = ?", number).rowcount
                connection.execute("DELETE FROM people WHERE id = ?", number)
                # Now, or by the next who opens it.
                connection.execute("INSERT OR REPLACE INTO meta VALUES (?, 1)", (REBUILD,))
            self._fitted = None
            try:
                self._rebuild()
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
        with self._changing() as connection:
            text = settings_text(self.settings | settings, self.n_components)
            connection.execute("UPDATE meta SET value = ? WHERE key = 'settings'", (text,))

    # ------------------------------------------------------------ what is in it

    @property
    def settings(self) -> dict[str, Any]:
        """What was chosen with :meth:`configure`."""
        with self._reading() as connection:
            (text,) = connection.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()
            return read_settings(text)

    def people(self) -> tuple[Person, ...]:
        """Return who is enrolled, by name."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT name, count(*), min(enrolled), max(enrolled), count(originals.picture) FROM people "
                "JOIN pictures ON pictures.person = people.id "
                "LEFT JOIN originals ON originals.picture = pictures.id GROUP BY people.id"
            )
            return tuple(sorted((Person(*row) for row in rows), key=lambda one: natural_key(one.name)))

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
        with self._reading() as connection:
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
        with self._reading() as connection:
            # In the order of the pictures, so that the file is read from front to back.
            rows = connection.execute(
                "SELECT name, vector, crc FROM pictures JOIN people ON people.id = person "
                "ORDER BY pictures.id"
            ).fetchall()
            for name, vector, crc in rows:
                whole = isinstance(vector, bytes) and len(vector) == 4 * self.n_components
                if not whole or zlib.crc32(vector) != crc:
                    raise sqlite3.DatabaseError(f"a vector of {name} is not as it was stored")
        joined = np.frombuffer(bytearray().join(row[1] for row in rows), dtype="<f4")
        vectors = joined.reshape(len(rows), self.n_components).astype(np.float32, copy=False)
        return vectors, np.array([row[0] for row in rows], dtype=np.str_)

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
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT source, bytes, hash FROM pictures JOIN originals ON originals.picture = pictures.id "
                "WHERE person = ? ORDER BY pictures.id",
                (person_number(connection, person),),
            ).fetchall()
            if any(hashlib.sha256(data).digest() != digest for _, data, digest in rows):
                raise sqlite3.DatabaseError(f"a picture of {person} is not as it was stored")
        return tuple((source, data) for source, data, _ in rows)

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
        with self._guard:
            given = {name: value for name, value in settings.items() if value is not None}
            with self._reading() as connection:  # the first changes with every change by another process
                changes = connection.execute("PRAGMA data_version").fetchone(), connection.total_changes
            version = (*changes, sorted(given.items()))
            if self._fitted is None or self._fitted[0] != version:
                vectors, people = self.vectors()
                if not len(vectors):
                    raise DataError(
                        f"Nobody is enrolled in {self.path}.",
                        "Start with: gramian faces enroll MODEL GALLERY PICTURES",
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
            return create_file(path, meta_of(model, {}), lambda connection: add_pictures(connection, rows))
        except FileError:
            # Another process may have made it meanwhile.
            if not os.path.exists(path):
                raise
    with Gallery.open(path, model, timeout=timeout) as gallery, gallery._changing() as connection:
        return add_pictures(connection, rows)


# ---- Queries of a gallery's file, in SQL; the caller handles transactions


def add_pictures(connection: sqlite3.Connection, rows: Sequence[Row]) -> Enrolled:
    """Store the rows that are new, inside of the caller's transaction.

    Raises
    ------
    DataError
        When a picture is enrolled for somebody else.
    """
    counts = dict.fromkeys((row[0] for row in rows), 0)
    connection.executemany("INSERT OR IGNORE INTO people (name) VALUES (?)", [(name,) for name in counts])
    numbers = {name: person_number(connection, name) for name in counts}
    repeated, time = [], now()
    for name, vector, digest, source, original in rows:
        result = connection.execute(
            "SELECT pictures.id, name, source FROM pictures JOIN people ON people.id = person WHERE hash = ?",
            (digest,),
        ).fetchall()
        if not result:
            added = connection.execute(
                "INSERT INTO pictures (person, hash, source, enrolled, vector, crc) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (numbers[name], digest, source, time, vector, zlib.crc32(vector)),
            )
            picture = added.lastrowid
            counts[name] += 1
        else:
            picture, owner, known_as = result[0]
            if owner != name:
                known_as = f" ({known_as})" if known_as and known_as != source else ""
                raise DataError(
                    f"{source or 'A picture'} is already enrolled for {owner}{known_as}, so it cannot be "
                    f"{name}. Nothing was stored.",
                    f"Leave it out, or forget {owner} first.",
                )
            repeated.append((name, source))
        if original is not None:
            connection.execute("INSERT OR IGNORE INTO originals VALUES (?, ?)", (picture, original))
    return Enrolled(counts, tuple(repeated))


def person_number(connection: sqlite3.Connection, name: str) -> int:
    """Return the number that stands for somebody in the tables.

    Raises
    ------
    DataError
        When nobody of that name is enrolled; says who has a name like it.
    """
    name = person_name(name)
    result = connection.execute("SELECT id FROM people WHERE name = ?", (name,)).fetchall()
    if result:
        return int(result[0][0])
    people = {other.casefold(): other for (other,) in connection.execute("SELECT name FROM people")}
    near = [people[key] for key in difflib.get_close_matches(name.casefold(), people, n=3)]
    hint = f"Did you mean {' or '.join(near)}?" if near else "See who is: gramian faces list GALLERY"
    many = counted(len(people), "person", "people")
    raise DataError(f"{name} is not among the {many} of the gallery.", hint)


# ---- The SQLite file of a gallery: tables, creating, opening, changing, and errors as messages

T = TypeVar("T")
# "GrFa", as the four bytes at offset 68 of the file.
APPLICATION = 0x47724661
SCHEMA_VERSION = 1

# A picture's bytes are in a table of their own, so that reading the vectors does not pass over them.
TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE pictures (
    id INTEGER PRIMARY KEY,
    person INTEGER NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    hash BLOB NOT NULL UNIQUE,
    source TEXT NOT NULL,
    enrolled TEXT NOT NULL,
    vector BLOB NOT NULL,
    crc INTEGER NOT NULL
);
CREATE INDEX pictures_person ON pictures (person);
CREATE TABLE originals (
    picture INTEGER PRIMARY KEY REFERENCES pictures (id) ON DELETE CASCADE,
    bytes BLOB NOT NULL
);
"""
REBUILD = "rebuild"  # in the table meta: the file is to be written anew, without its unused parts
NOT_A_GALLERY = "is not a gallery. Name a file written by gramian faces enroll."
IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
# Codes of errors that are not the file's own fault.
OUTSIDE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


# ------------------------------------------------------------------ opening


def _check_place(path: Path, read_only: bool) -> None:
    if not os.path.exists(path):
        raise FileError(
            f"{shortened(path)} does not exist.",
            "Check the name, or enroll somebody: gramian faces enroll MODEL GALLERY PICTURES",
        )
    if not path.is_file():
        raise FileError(f"{path} is a folder or a device.", "Name the file of the gallery.")
    # Every change keeps a journal beside the file.
    for place in () if read_only else (path, Path(os.path.realpath(path)).parent):
        if not os.access(place, os.W_OK):
            raise FileError(
                f"{path} cannot be changed: {place} is write-protected.",
                "Change its permissions, or copy the gallery.",
            )


def _check_gallery(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse what is no gallery, of a newer gramian, or damaged."""

    def request(question: str) -> list[Any]:
        return [row[0] for row in connection.execute(question).fetchall()]

    if request("PRAGMA application_id") != [APPLICATION]:
        raise FileError(f"{path} {NOT_A_GALLERY}")
    (version,) = request("PRAGMA user_version")
    if version > SCHEMA_VERSION:
        raise FileError(
            f"{path} was made by a newer gramian (schema {version}). gramian {__version__} reads schemas up "
            f"to {SCHEMA_VERSION}.",
            "Upgrade with: pip install -U gramian",
        )
    # SQLite would fill a page that is cut with zeros.
    if path.stat().st_size % 512:
        raise sqlite3.DatabaseError("its end is missing")
    # Pictures that are kept may be large. They are checked when they are asked for.
    for table in ("meta", "people", "pictures"):
        for result in request(f"PRAGMA integrity_check({table})"):
            if result != "ok":
                raise sqlite3.DatabaseError(result)


@contextmanager
def _as_file_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into FileError."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise FileError(f"{shortened(path)} {_refusal(error)}") from error


def _refusal(error: Exception) -> str:
    if isinstance(error, sqlite3.ProgrammingError):
        return "has been closed. Open the gallery again."
    code = getattr(error, "sqlite_errorcode", None) or 0
    cause = " ".join(shown(str(error)).split())
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        return "has an unfinished change, which must be undone first. Open it once with write permission."
    if code & 0xFF in IN_USE:
        return "is in use by another program. Try again later."
    if code & 0xFF in OUTSIDE:
        return f"was not changed: {cause}. Check permissions of the file and its folder, and the disk."
    if code & 0xFF == sqlite3.SQLITE_NOTADB:
        return NOT_A_GALLERY
    return f"is damaged: {cause}. Restore it from a copy, or enroll everybody again."


# ------------------------------------------------------------------ making


def create_file(
    path: str | os.PathLike[str], description: Mapping[str, Any], fill: Callable[[sqlite3.Connection], T]
) -> T:
    """Write a new gallery: complete under its name, or not at all, and never over another file.

    Its owner alone may read and write it.

    Parameters
    ----------
    path : str or path-like
    description : mapping of str to str, int or bytes
        What goes into the table ``meta``.
    fill : callable
        Puts in what the gallery begins with; what it returns is returned.

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
    with _as_file_errors(target), closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(TABLES)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", description.items())
        result, content = fill(connection), connection.serialize()
    with locked(target.parent):  # against another process that makes it meanwhile
        if os.path.lexists(target):
            raise FileError(taken)
        with atomic_write(target, mode=0o600) as file:
            file.write(content)
    return result


# ---- Contents of a gallery: pictures of people as vectors, the model of the vectors, and settings

HASH = re.compile("[0-9a-f]{64}")


# ------------------------------------------------------------------ pictures of people


# Person, vector, hash, source and, where it is stored too, the picture file.
Row = tuple[str, bytes, bytes, str, bytes | None]


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
) -> list[Row]:
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
    lists = {name: empty[name] if given is None else list(given) for name, given in columns.items()}
    for name, given in lists.items():
        if len(given) != len(values):
            raise DataError(
                f"{len(values):,} vectors but {len(given):,} {name}.", "Give one for each vector."
            )
    rows = []
    for place, (name, digest, source, picture) in enumerate(zip(*lists.values(), strict=True)):
        if not isinstance(digest, str) or not HASH.fullmatch(digest):
            raise DataError(
                f"{digest!r} is not a SHA-256 of 64 lowercase hexadecimal digits.",
                "Give that of the picture file: hashlib.sha256(data).hexdigest()",
            )
        if picture is not None and hashlib.sha256(picture).hexdigest() != digest:
            raise DataError(
                f"Picture {place} has another SHA-256.", "Give pictures in the order of the hashes."
            )
        vector = values[place].astype("<f4").tobytes()
        # A name from a disk may hold bytes that are no text.
        source = str(source).encode("utf-8", "replace").decode()
        rows.append((person_name(name), vector, bytes.fromhex(digest), source, picture))
    return rows


# ------------------------------------------------------------------ the model


def check_model(model: Any) -> None:
    """Refuse what is no fitted FaceSpace, in scikit-learn's words.

    Raises
    ------
    TypeError
        For something other than a model.
    sklearn.exceptions.NotFittedError
        For a model that is not fitted.
    """
    if not hasattr(model, "fingerprint_"):
        check_is_fitted(model, "fingerprint_")


def meta_of(model: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is written into the table ``meta`` for a fitted model.

    Raises
    ------
    TypeError, NotFittedError
        As :func:`check_model`.
    ParameterError, TypeError
        As :func:`settings_text`.
    """
    check_model(model)
    # Where there is no variance, rounding may leave a little less.
    variances, shifts = np.maximum(as_float64(model.eigenvalues_), 0.0), model.shift_covariance_
    return {
        "fingerprint": model.fingerprint_,
        "components": len(variances),
        "variances": variances.astype("<f8").tobytes(),
        "shifts": b"" if shifts is None else np.asarray(shifts, dtype="<f4").tobytes(),
        "created": now(),
        "gramian": __version__,
        "settings": settings_text(settings, len(variances)),
    }


def read_meta(rows: Mapping[str, Any]) -> tuple[str, FloatArray, FloatArray | None, str]:
    """Return fingerprint, variances, shifts and creation time, as :func:`meta_of` has written them.

    Raises
    ------
    sqlite3.DatabaseError
        When it is not as it was written.
    """
    try:
        variances = np.frombuffer(rows["variances"], dtype="<f8").astype(np.float64)
        if len(variances) != (count := int(rows["components"])):
            raise ValueError(f"{len(variances)} variances of {count} components")
        shifts = np.frombuffer(rows["shifts"], dtype="<f4").astype(np.float64)
        read_settings(rows["settings"])
        square = shifts.reshape(count, count) if len(shifts) else None
        return str(rows["fingerprint"]), variances, square, str(rows["created"])
    except (KeyError, TypeError, ValueError) as error:
        raise sqlite3.DatabaseError("what it says of its model is missing or malformed") from error


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# ------------------------------------------------------------------ settings


def settings_text(settings: Mapping[str, Any], n_components: int) -> str:
    """Return what was chosen for the recogniser as text to be stored, without what is None.

    Raises
    ------
    ParameterError
        For a value that no recogniser of such vectors takes.
    TypeError
        For another name.

    Examples
    --------
    >>> settings_text({"match": "mean", "far": None}, 5)
    '{"match": "mean"}'
    """
    chosen = {name: value for name, value in settings.items() if value is not None}
    Recogniser(**chosen).check_parameters(n_components)
    # Numbers of NumPy become Python's own.
    return json.dumps(chosen, sort_keys=True, default=lambda number: number.item())


def read_settings(text: Any) -> dict[str, Any]:
    """Return what :func:`settings_text` wrote.

    Raises
    ------
    sqlite3.DatabaseError
        For a text that it cannot have written.

    Examples
    --------
    >>> read_settings('{"match": "mean"}')
    {'match': 'mean'}
    """
    try:
        return dict(json.loads(text))
    except (RecursionError, TypeError, ValueError) as error:
        raise sqlite3.DatabaseError("its settings are missing or malformed") from error


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
    for place, letter in enumerate(normal):
        if letter == "\ufffd" or is_hidden(normal, place):
            raise DataError(
                f"The name {normal!a} contains the character {letter!a}, which cannot be displayed.",
                "Leave it out.",
            )
    if all(unicodedata.category(letter)[0] in "MZ" for letter in normal):
        raise DataError(f"The name {normal!a} has no letter.", "Give at least one.")
    return normal
