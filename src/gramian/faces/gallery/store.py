"""The SQLite file of a gallery: tables, creating, opening, changing, and errors as messages.

It has a rollback journal, not a write-ahead log: no second file is left after a change, a reader needs no
write permission, and removed rows are in no other file.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from gramian.checks import shown
from gramian.errors import FileError, shortened
from gramian.faces.gallery.records import Description
from gramian.store.atomic import as_file_error, as_path
from gramian.store.temporaries import temporary_beside
from gramian.version import __version__

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


class GalleryFile:
    """One connection, used by one thread at a time; errors of SQLite become FileError.

    Parameters
    ----------
    path : str or path-like
    read_only : bool
        Change nothing. A change that was interrupted is undone all the same, where that is allowed.
    timeout : float
        Seconds to wait while another process changes the file.

    Attributes
    ----------
    description : Description
        What the gallery said about itself when it was opened.
    guard : RLock
        Held by whoever uses the connection.

    Raises
    ------
    FileError
        If it is missing, damaged, no gallery, of a newer gramian, in use, or may not be opened.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool, timeout: float) -> None:
        self.path: Path = as_path(path)
        self.read_only: bool = read_only
        self.guard: AbstractContextManager[Any] = threading.RLock()
        _check_place(self.path, read_only)
        with _as_file_errors(self.path):
            uri = f"{Path(os.path.abspath(self.path)).as_uri()}?mode=rw"
            self.connection: sqlite3.Connection = sqlite3.connect(
                uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
            )
        # A gallery that nobody closes is closed when it is no longer used.
        weakref.finalize(self, self.connection.close)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        with self.reading() as connection:
            for setting in ("trusted_schema = OFF", "foreign_keys = ON", "temp_store = MEMORY"):
                connection.execute(f"PRAGMA {setting}")
            _check_gallery(self.path, connection)
            rows = dict(connection.execute("SELECT key, value FROM meta").fetchall())
            self.description: Description = Description.read(rows)
            if self.read_only:
                connection.execute("PRAGMA query_only = ON")
                return
            connection.execute("PRAGMA secure_delete = ON")
            # Where another program chose a write-ahead log, old vectors would stay in it.
            connection.execute("PRAGMA journal_mode = DELETE")
        if REBUILD in rows:
            self.rebuild()

    def close(self) -> None:
        """Close the file; may be called again."""
        with self.guard:
            self.connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for questions."""
        with self.guard, _as_file_errors(self.path):
            yield self.connection

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for a change as a whole or not at all; others may read meanwhile."""
        if self.read_only:
            raise FileError(f"{self.path} was opened read-only. Open it again without read_only.")
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # Where SQLite itself has rolled back, as for a full disk, there is nothing left to undo.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def want_rebuild(self) -> None:
        """Note, inside of a change, that the file is to be rebuilt, now or by the next who opens it."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, 1)", (REBUILD,))

    def rebuild(self) -> None:
        """Write the file anew without its unused parts.

        Where another program moved rows without overwriting them, copies of them are left there.
        """
        with self.reading() as connection:
            connection.execute("VACUUM")
            connection.execute("DELETE FROM meta WHERE key = ?", (REBUILD,))

    def version(self) -> tuple[int, int]:
        """Return what changes whenever the file does, by this connection or by another process."""
        with self.reading() as connection:
            return int(connection.execute("PRAGMA data_version").fetchone()[0]), connection.total_changes


# ------------------------------------------------------------------ opening


def _check_place(path: Path, read_only: bool) -> None:
    if not os.path.exists(path):
        raise FileError(
            f"{shortened(path)} does not exist. Check the name, or enroll somebody: "
            "gramian faces enroll MODEL GALLERY PICTURES"
        )
    if not path.is_file():
        raise FileError(f"{path} is a folder or a device. Name the file of the gallery.")
    # Every change keeps a journal beside the file.
    for place in () if read_only else (path, Path(os.path.realpath(path)).parent):
        if not os.access(place, os.W_OK):
            raise FileError(
                f"{path} cannot be changed: {place} is write-protected. Change its permissions, or copy the "
                "gallery."
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
            f"to {SCHEMA_VERSION}. Upgrade with: pip install -U gramian"
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
    _require_free(target)
    with _as_file_errors(target), closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(TABLES)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", description.items())
        result, content = fill(connection), connection.serialize()
    with as_file_error(target), temporary_beside(target, 0o600) as temporary:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _name(temporary, target)
    return result


def _require_free(target: Path) -> None:
    if os.path.lexists(target):
        raise FileError(f"{shown(target)} exists already. Open it, or choose another name.")


def _name(temporary: Path, target: Path) -> None:
    """Give a file its final name unless that is taken, also by another process a moment ago."""
    try:
        os.link(temporary, target)
    except OSError:
        _require_free(target)
        # A disk without hard links.
        os.rename(temporary, target)
