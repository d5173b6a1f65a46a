"""The file of a gallery: its tables, how it is opened and changed, and what goes wrong in plain words.

One SQLite file, with a rollback journal and not a write-ahead log: beside the file nothing is left after a
change, a reader needs no right to write, and what was removed is in no second file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from gramian.errors import FileError
from gramian.faces.names import shown
from gramian.store.atomic import as_path
from gramian.version import __version__

__all__ = [
    "APPLICATION",
    "SCHEMA_VERSION",
    "TABLES",
    "broken_link",
    "connect",
    "damaged",
    "plainly",
    "transaction",
]

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

# More than any statement here needs: a second line, should a file hold something that works by itself.
LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 1,  # a file is rebuilt in another one
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 3,  # removing somebody removes pictures, and these their files
}
SHOWN = 80


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
        If it is missing, empty, damaged, altered, foreign, of a newer gramian, in use, or may not be opened.
    """
    target = as_path(path)
    if os.path.islink(target) and not os.path.exists(target):
        raise broken_link(target)
    if os.path.isdir(target):
        raise FileError(f"{target} is a folder. Name the file of the gallery.")
    if not os.path.exists(target):
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
            for limit, most in LIMITS.items():
                connection.setlimit(limit, most)
            for setting in ("trusted_schema = OFF", "foreign_keys = ON", "temp_store = MEMORY"):
                connection.execute(f"PRAGMA {setting}")
            _check_kind(target, connection)
            _check_tables(target, connection)
            _check_whole(target, connection)
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
        raise damaged(target, f"its schema version is {version}")


def _check_tables(target: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file in which anything else is than the tables of a gallery.

    A view can answer without end, and a trigger keep what is removed: nothing is asked of them before this.
    """
    found, expected = _content(connection), _expected()
    known = [row[:2] for row in expected]
    for row in found:
        if row[:2] not in known:
            raise _altered(target, f"it holds the {row[0]} {_cut(row[1])}, which gramian did not make")
    for kind, name in known:
        if (kind, name) not in [row[:2] for row in found]:
            raise _altered(target, f"its {kind} {name} is missing")
    for row in expected:
        if found.count(row) != 1 or len(found) != len(expected):
            raise _altered(target, f"its {row[0]} {row[1]} is not as gramian made it")


def _content(connection: sqlite3.Connection) -> list[tuple[str, str, str, str]]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return [(str(kind), str(name), str(table), str(sql)) for kind, name, table, sql in rows]


@cache
def _expected() -> list[tuple[str, str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TABLES)
        return _content(connection)


def _cut(name: str) -> str:
    return name if len(name) <= SHOWN else f"{name[:SHOWN]}..."


def _altered(target: Path, how: str) -> FileError:
    return FileError(
        f"{shown(target)} was altered by another program: {shown(how)}. Do not use it: restore it from a "
        "copy, or enroll everybody again."
    )


def _check_whole(target: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file whose structure is damaged, or whose last page is cut, which SQLite fills with zeros."""
    # In one reading, so that no other process makes the file longer or shorter between the two.
    connection.execute("BEGIN")
    try:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        if os.path.getsize(target) < pages * size:
            raise damaged(target, "its end is missing")
        # Pictures that are kept may be large. They are checked when they are asked for.
        for table in ("meta", "people", "pictures"):
            found = connection.execute(f"PRAGMA integrity_check({table})").fetchall()
            if found != [("ok",)]:
                raise damaged(target, " ".join(str(found[0][0]).split()))
    finally:
        connection.execute("COMMIT")


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


def damaged(path: str | os.PathLike[str], how: str) -> FileError:
    """Return the error for a file that is not as it was stored."""
    return FileError(
        f"{shown(path)} is damaged: {shown(how)}. Restore it from a copy, or enroll everybody again."
    )


def broken_link(path: Path) -> FileError:
    """Return the error for a link that leads to no file."""
    try:
        os.stat(path)
    except FileNotFoundError:
        where = f"to {shown(os.readlink(path))}, which does not exist"
        return FileError(f"{shown(path)} is a link {where}. Remove the link, or name the file itself.")
    except OSError:
        pass
    return FileError(f"{shown(path)} is a link that leads back to itself. Remove it, or name a file.")


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
    return damaged(path, text)
