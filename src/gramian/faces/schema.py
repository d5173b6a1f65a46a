"""The file of a gallery: its tables, how it is opened and changed, and what goes wrong in plain words.

One SQLite file, with a rollback journal and not a write-ahead log: beside the file nothing is left after a
change, a reader needs no right to write, and what was removed is in no second file.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from gramian.errors import FileError
from gramian.store.atomic import as_path
from gramian.version import __version__

__all__ = ["APPLICATION", "SCHEMA_VERSION", "connect", "create_file", "plainly", "read_meta", "transaction"]

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

T = TypeVar("T")
META = {
    "fingerprint": str,
    "components": int,
    "variances": bytes,
    "shifts": bytes,
    "created": str,
    "settings": str,
}


def create_file(
    path: str | os.PathLike[str], meta: Mapping[str, Any], fill: Callable[[sqlite3.Connection], T]
) -> T:
    """Write a new gallery: complete under its name, or not at all, and never over another file.

    Its owner alone may read and write it.

    Parameters
    ----------
    path : str or path-like
    meta : mapping of str to str, int or bytes
    fill : callable
        Puts in what the gallery begins with; what it returns is returned.

    Raises
    ------
    FileError
        If the name is taken, or the file cannot be written.
    """
    target = Path(os.path.realpath(as_path(path)))
    if target.exists():
        raise _taken(target)
    temporary = target.with_name(f".gramian-{secrets.token_hex(8)}.tmp")
    try:
        with _creating(target):
            os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with plainly(target, 0.0), closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
            result = _filled(connection, meta, fill)
        with _creating(target):
            _name(temporary, target)
        return result
    finally:
        for left in (temporary, Path(f"{temporary}-journal")):
            with suppress(OSError):
                left.unlink()


def _filled(
    connection: sqlite3.Connection, meta: Mapping[str, Any], fill: Callable[[sqlite3.Connection], T]
) -> T:
    with transaction(connection):
        for statement in TABLES.split(";"):
            connection.execute(statement)
        connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        return fill(connection)


def _name(temporary: Path, target: Path) -> None:
    """Give a file its final name unless that is taken, also by another process a moment ago."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError:
        # A disk without hard links.
        if target.exists():
            raise _taken(target) from None
        os.rename(temporary, target)


def _taken(target: Path) -> FileError:
    return FileError(f"{target} exists already. Open it, or name a new file for another gallery.")


@contextmanager
def _creating(target: Path) -> Iterator[None]:
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError as error:
        raise FileError(
            f"{target} cannot be written: there is no folder {target.parent}. Create it first."
        ) from error
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror}. Choose another place.") from error


def connect(path: str | os.PathLike[str], *, read_only: bool, timeout: float) -> sqlite3.Connection:
    """Open the file of a gallery, refusing everything that is none.

    Parameters
    ----------
    path : str or path-like
    read_only : bool
        Change nothing. A change that was interrupted is undone all the same, where that is allowed.
    timeout : float
        Seconds to wait for another process that is changing the file.

    Raises
    ------
    FileError
        If it is missing, empty, damaged, foreign, of a newer gramian, in use, or may not be opened.
    """
    target = as_path(path)
    if target.is_dir():
        raise FileError(f"{target} is a folder. Name the file of the gallery.")
    if not target.exists():
        raise FileError(
            f"{target} does not exist. Check the name, or enroll somebody: "
            "gramian faces enroll MODEL GALLERY PICTURES"
        )
    if not target.is_file():
        raise FileError(f"{target} is not a file. Name the file of the gallery.")
    if not os.access(target, os.R_OK):
        raise FileError(f"{target} cannot be read: permission denied. Ask its owner.")
    if not read_only:
        _check_writable(target)
    with plainly(target, timeout):
        uri = f"{Path(os.path.abspath(target)).as_uri()}?mode=rw"
        connection = sqlite3.connect(
            uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
        )
        try:
            _check_kind(target, connection)
            _check_whole(target, connection)
            for setting in ("foreign_keys = ON", "trusted_schema = OFF", "temp_store = MEMORY"):
                connection.execute(f"PRAGMA {setting}")
            if read_only:
                connection.execute("PRAGMA query_only = ON")
            else:
                connection.execute("PRAGMA secure_delete = ON")
                # Where another program chose a write-ahead log, old vectors would stay in it.
                connection.execute("PRAGMA journal_mode = DELETE")
        except BaseException:
            connection.close()
            raise
    return connection


def _check_writable(target: Path) -> None:
    if not os.access(target, os.W_OK):
        raise FileError(f"{target} is write-protected. Lift the protection, or ask its owner.")
    folder = Path(os.path.realpath(target)).parent
    if not os.access(folder, os.W_OK):
        raise FileError(
            f"{target} cannot be changed: its folder {folder} is write-protected, and every change keeps a "
            "journal beside the file. Lift the protection, or copy the gallery to another place."
        )


def _check_kind(target: Path, connection: sqlite3.Connection) -> None:
    if os.path.getsize(target) == 0:
        raise FileError(f"{target} is empty, not a gallery. Remove it, or name another file.")
    kind = connection.execute("PRAGMA application_id").fetchone()[0]
    if kind != APPLICATION:
        raise FileError(
            f"{target} is a database of another program, not a gallery. Name a file made by: "
            "gramian faces enroll"
        )
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise FileError(
            f"{target} was made by a newer gramian (schema {version}); this gramian {__version__} knows up "
            f"to schema {SCHEMA_VERSION}: upgrade with pip install -U gramian"
        )
    if version < 1:
        raise _damaged(target, f"its schema version is {version}")


def _check_whole(target: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file whose structure is damaged, or whose last page is cut, which SQLite fills with zeros."""
    # In one reading, so that no other process makes the file longer or shorter between the two.
    connection.execute("BEGIN")
    try:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        if os.path.getsize(target) < pages * size:
            raise _damaged(target, "its end is missing")
        # Pictures that are kept may be large. They are checked when they are asked for.
        for table in ("meta", "people", "pictures"):
            found = connection.execute(f"PRAGMA integrity_check({table})").fetchall()
            if found != [("ok",)]:
                raise _damaged(target, " ".join(str(found[0][0]).split()))
    finally:
        connection.execute("COMMIT")


def read_meta(path: str | os.PathLike[str], connection: sqlite3.Connection) -> dict[str, Any]:
    """Return what a gallery says about itself.

    Raises
    ------
    FileError
        If something that every gallery has is missing.
    """
    with plainly(path, 0.0):
        meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    meta.setdefault("shifts", b"")  # galleries made before a model could know of them
    for key, kind in META.items():
        if not isinstance(meta.get(key), kind) or (key == "settings" and not _is_mapping(meta[key])):
            raise _damaged(path, f"its {key} is missing or malformed")
    if len(meta["variances"]) != 8 * meta["components"]:
        raise _damaged(path, "its variances are not one for each component")
    if len(meta["shifts"]) not in (0, 4 * meta["components"] ** 2):
        raise _damaged(path, "its covariance of shifts is not of the size of its vectors")
    return meta


def _is_mapping(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Make a change as a whole or not at all; others may read meanwhile, but not change."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Where SQLite itself has rolled back, as for a full disk, there is nothing left to undo.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _damaged(path: str | os.PathLike[str], how: str) -> FileError:
    return FileError(f"{path} is damaged: {how}. Restore it from a copy, or enroll everybody again.")


@contextmanager
def plainly(path: str | os.PathLike[str], timeout: float) -> Iterator[None]:
    """Say in plain words what SQLite refuses.

    Raises
    ------
    FileError
        For every error of SQLite.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        code = getattr(error, "sqlite_errorcode", None)
        raise _plain(Path(path), timeout, str(error), code) from error


def _plain(path: Path, timeout: float, text: str, code: int | None) -> FileError:
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        return FileError(
            f"{path} was left in the middle of a change, which must be undone first. Open it once where it "
            "and its folder may be written to."
        )
    kind = None if code is None else code & 0xFF
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return FileError(
            f"{path} is in use by another program, also after waiting {timeout:g} s. Try again later."
        )
    if kind == sqlite3.SQLITE_READONLY:
        return FileError(f"{path} is write-protected or was opened for reading only. Nothing was changed.")
    if kind == sqlite3.SQLITE_CANTOPEN:
        return FileError(
            f"{path} cannot be opened, or its folder does not let a journal be written beside it. "
            "Check permissions. Nothing was changed."
        )
    if kind == sqlite3.SQLITE_NOTADB:
        return FileError(f"{path} is not a gallery. Name a file made by: gramian faces enroll")
    if kind == sqlite3.SQLITE_FULL:
        return FileError(f"{path} was not changed: the disk is full. Free some space.")
    if kind == sqlite3.SQLITE_IOERR:
        return FileError(f"{path} cannot be read or written ({text}). Check the disk. Nothing was changed.")
    if text.startswith("Cannot operate on a closed"):
        return FileError(f"{path} has been closed. Open the gallery again.")
    return _damaged(path, text)
