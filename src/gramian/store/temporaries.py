"""Temporary names beside a target: locked while they are written to, and removed after a kill by the next."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a lock cannot tell what is left: nothing is removed
    fcntl = None  # type: ignore[assignment]

TEMPORARY = re.compile(r"\.gramian-[0-9a-f]{16}\.tmp")


@contextmanager
def temporary_beside(target: Path, mode: int = 0o666, *, folder: bool = False) -> Iterator[Path]:
    """Make an empty file or folder with a temporary name beside a target.

    When the block ends it is removed, unless it was renamed. What killed processes left beside the target is
    removed first.

    Parameters
    ----------
    target : Path
    mode : int
        Permissions of a file, of which the process's umask takes some away.
    folder : bool

    Raises
    ------
    OSError
        If it cannot be made.
    """
    remove_left(target.parent)
    # A short name of its own: the target's name plus a suffix may exceed what the disk allows.
    temporary, lock = target.with_name(f".gramian-{secrets.token_hex(8)}.tmp"), None
    try:
        while lock is None:
            lock = _made(temporary, mode, folder)
        yield temporary
    finally:
        _remove(temporary)
        if lock is not None and lock >= 0:
            os.close(lock)


def remove_left(folder: Path) -> None:
    """Remove what :func:`temporary_beside` made in a folder for processes of this user that were killed.

    What a process writes to is locked, also for other machines and containers, and stays.
    """
    with suppress(OSError):
        for name in filter(TEMPORARY.fullmatch, os.listdir(folder) if fcntl is not None else ()):
            with suppress(OSError):
                _remove_unlocked(folder / name)


def _made(temporary: Path, mode: int, folder: bool) -> int | None:
    """Make a file or folder; return the descriptor of its lock, -1 without locks, None if it was removed."""
    if folder:
        temporary.mkdir()
    else:
        lock = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    if fcntl is None:
        if not folder:
            os.close(lock)
        return -1
    # Another process may take it for what was left, until it is locked.
    if folder:
        try:
            lock = os.open(temporary, os.O_RDONLY)
        except FileNotFoundError:
            return None
    with suppress(OSError):  # of a disk without locks
        fcntl.flock(lock, fcntl.LOCK_EX)
    if os.path.lexists(temporary):
        return lock
    os.close(lock)
    return None


def _remove_unlocked(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(descriptor).st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
