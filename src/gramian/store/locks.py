"""One process at a time in a folder: a lock that ends with its process, also when that is killed."""

from __future__ import annotations

import os
from pathlib import Path

from gramian.errors import FileError
from gramian.store.atomic import as_file_error

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def lock_folder(folder: Path, in_use: str) -> int | None:
    """Lock a folder for this process until the descriptor that is returned is closed.

    Parameters
    ----------
    folder : Path
    in_use : str
        The message of the error, where another process has the lock.

    Returns
    -------
    descriptor : int or None
        None on systems without such locks. A disk without locks stops nobody.

    Raises
    ------
    FileError
        If another process has the lock, or the folder cannot be opened.
    """
    if fcntl is None:
        return None
    with as_file_error(folder):
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise FileError(in_use) from error
    except OSError:
        pass
    return descriptor
