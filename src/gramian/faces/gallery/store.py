"""The file of a gallery: its tables, how it is opened and changed, and what goes wrong in plain words.

One SQLite file, with a rollback journal and not a write-ahead log: beside the file nothing is left after a
change, a reader needs no right to write, and what was removed is in no second file.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gramian.errors import FileError, ParameterError
from gramian.faces.gallery.records import are_variances, is_time, read_text
from gramian.faces.names import shown
from gramian.store.atomic import as_path
from gramian.version import __version__

__all__ = [
    "APPLICATION",
    "REBUILD",
    "SCHEMA_VERSION",
    "TABLES",
    "GalleryFile",
    "broken_link",
    "connect",
    "create_file",
    "damaged",
    "plainly",
    "read_meta",
    "remove_leftovers",
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


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


T = TypeVar("T")
# What a gallery is called while it is made. The lock is there as long as its files are, and is held as long
# as the process lives that makes it.
LOCK = re.compile(r"\.gramian-[0-9a-f]{16}\.lock")


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
    given = as_path(path)
    with _creating(given):
        _require_free(given)
    target = Path(os.path.realpath(given))
    remove_leftovers(target.parent)
    with _creating(target), _locked(target.parent) as lock:
        temporary = lock.with_suffix(".tmp")
        try:
            os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            with (
                plainly(target, 0.0),
                closing(sqlite3.connect(temporary, isolation_level=None)) as connection,
            ):
                result = _filled(connection, meta, fill)
            _name(temporary, target)
        finally:
            _remove(temporary, Path(f"{temporary}-journal"))
    return result


def _require_free(path: Path) -> None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode) and not os.path.exists(path):
        raise broken_link(path)
    raise _taken(path)


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
    return FileError(f"{shown(target)} exists already. Open it, or name a new file for another gallery.")


@contextmanager
def _creating(target: Path) -> Iterator[None]:
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError as error:
        raise FileError(
            f"{shown(target)} cannot be written: there is no folder {shown(target.parent)}. Create it first."
        ) from error
    except OSError as error:
        raise FileError(
            f"{shown(target)} cannot be written: {error.strerror}. Choose another place."
        ) from error


# ------------------------------------------------------------ what a killed process leaves


@contextmanager
def _locked(folder: Path) -> Iterator[Path]:
    """Make a file that says that this process is at work, and lock it until the end."""
    path, descriptor = _lock_file(folder)
    try:
        # Between making and locking it another process may have taken it for a leftover.
        while not (_lock(descriptor) and _is_there(path, descriptor)):
            os.close(descriptor)
            path, descriptor = _lock_file(folder)
        yield path
    finally:
        # While it is still locked, so that nobody finds one without an owner.
        _remove(path)
        os.close(descriptor)
        # Where a file that is open cannot be removed.
        _remove(path)


def _lock_file(folder: Path) -> tuple[Path, int]:
    path = folder / f".gramian-{secrets.token_hex(8)}.lock"
    return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)


def remove_leftovers(folder: Path) -> None:
    """Remove what a process left that was killed while it made a gallery in a folder.

    Of a process that is at work nothing is touched: it holds a lock, which ends with it. Where there are no
    such locks nothing is removed.
    """
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for name in [entry.name for entry in entries if LOCK.fullmatch(entry.name)]:
            with suppress(OSError):
                _remove_leftover(folder / name)


def _remove_leftover(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        mine = os.fstat(descriptor).st_uid == os.geteuid()
        if mine and _lock(descriptor, without=False) and _is_there(path, descriptor):
            temporary = path.with_suffix(".tmp")
            _remove(temporary, Path(f"{temporary}-journal"), path)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, without: bool = True) -> bool:
    """Take a lock that ends with the process; where the disk has no locks, the answer is ``without``."""
    if fcntl is None:
        return without
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return without
    return True


def _is_there(path: Path, descriptor: int) -> bool:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))


def _remove(*paths: Path) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


META = {
    "fingerprint": str,
    "components": int,
    "variances": bytes,
    "shifts": bytes,
    "created": str,
    "settings": str,
}
REBUILD = "rebuild"  # the file is to be written anew, without its unused parts


def read_meta(path: str | os.PathLike[str], connection: sqlite3.Connection) -> dict[str, Any]:
    """Return what a gallery says about itself, without what no gallery says.

    Raises
    ------
    FileError
        If something that every gallery has is missing, or is not what it can be.
    """
    wanted = (*META, "gramian", REBUILD)
    with plainly(path, 0.0):
        places = ", ".join("?" * len(wanted))
        rows = connection.execute(f"SELECT key, value FROM meta WHERE key IN ({places})", wanted)
        meta = dict(rows.fetchall())
    meta.setdefault("shifts", b"")  # galleries made before a model could know of them
    for key, kind in META.items():
        if not isinstance(meta.get(key), kind):
            raise damaged(path, f"its {key} is missing or malformed")
    wrong = _wrong(meta)
    if wrong:
        raise damaged(path, wrong)
    return meta


def _wrong(meta: dict[str, Any]) -> str:
    """Say what cannot be so, or nothing."""
    count = meta["components"]
    if not re.fullmatch("[0-9a-f]{64}", meta["fingerprint"]):
        return "its fingerprint is missing or malformed"
    if not is_time(meta["created"]):
        return f"the time when it was created is {meta['created'][:40]!r}"
    if count < 1:
        return f"it says that its vectors have {count} components"
    if len(meta["variances"]) != 8 * count:
        return "its variances are not one for each component"
    if not are_variances(np.frombuffer(meta["variances"], dtype="<f8")):
        return "its variances are not all numbers that a variance can be"
    if len(meta["shifts"]) not in (0, 4 * count**2):
        return "its covariance of shifts is not of the size of its vectors"
    if not np.isfinite(np.frombuffer(meta["shifts"], dtype="<f4")).all():
        return "its covariance of shifts holds NaN or infinity"
    try:
        read_text(meta["settings"], count)
    except ValueError as error:
        return f"its settings are {error}"
    return ""


class GalleryFile:
    """One connection, used by one thread at a time, every refusal in plain words.

    Parameters
    ----------
    path : str or path-like
    read_only : bool
    timeout : float
        Seconds to wait while another process changes the file.

    Attributes
    ----------
    meta : dict
        What the gallery said about itself when it was opened.
    guard : RLock
        Held by whoever uses the connection.

    Raises
    ------
    FileError
        As :func:`gramian.faces.gallery.store.connect`.
    ParameterError
        For a time that nobody can wait.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool, timeout: float) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, Real) or not 0 <= float(timeout) <= 3600:
            raise ParameterError(f"timeout={timeout!r} must be a number of seconds from 0 to 3600.")
        self.path: Path = as_path(path)
        self.read_only: bool = read_only
        self.timeout: float = float(timeout)
        self.guard: AbstractContextManager[Any] = threading.RLock()
        self.connection: sqlite3.Connection = connect(path, read_only=read_only, timeout=self.timeout)
        try:
            self.meta: dict[str, Any] = read_meta(path, self.connection)
            if not read_only:
                remove_leftovers(Path(os.path.realpath(self.path)).parent)
                if REBUILD in self.meta:
                    self.rebuild()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; may be called again."""
        with self.guard:
            self.connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for questions."""
        with self.guard, plainly(self.path, self.timeout):
            yield self.connection

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for a change, which is made as a whole or not at all."""
        if self.read_only:
            raise FileError(f"{self.path} was opened for reading only. Open it again without read_only.")
        with self.reading() as connection, transaction(connection):
            yield connection

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
