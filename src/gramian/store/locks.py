"""One process at a time in a folder: a lock that ends with its process, also when that is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gramian.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def lock_folder(folder: Path, in_use: str = "") -> int | None:
    """Lock a folder for this process until the descriptor that is returned is closed.

    Parameters
    ----------
    folder : Path
    in_use : str
        Message of the error where another process has the lock; without one, wait for it.

    Returns
    -------
    descriptor : int or None
        None on systems without such locks. A disk without locks stops nobody.

    Raises
    ------
    FileError
        If another process has the lock, and there is a message.
    OSError
        If the folder cannot be opened.
    """
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if in_use else 0))
    except BlockingIOError as error:
        os.close(descriptor)
        raise FileError(in_use) from error
    except OSError:
        pass
    return descriptor


@contextmanager
def locked(folder: Path, in_use: str = "") -> Iterator[None]:
    """Hold the lock of :func:`lock_folder` while the block runs."""
    descriptor = lock_folder(folder, in_use)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
