"""The file of a new gallery: complete under its name, or not at all, also where a process is killed."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from gramian.errors import FileError
from gramian.faces.names import shown
from gramian.faces.schema import (
    APPLICATION,
    SCHEMA_VERSION,
    TABLES,
    broken_link,
    plainly,
    transaction,
)
from gramian.store.atomic import as_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["create_file", "remove_leftovers"]

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
