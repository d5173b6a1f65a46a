"""Why the system refused a file, in plain words."""

import errno
import os

from gramian.errors import FileError

__all__ = ["FULL", "not_written", "reason", "shortened"]

# Of a disk, of a user's share of one, of a device, of what a process may write.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
REASONS = {
    errno.ENAMETOOLONG: "the name is too long (most disks allow 255 bytes for each part of it)",
    errno.ELOOP: "its links go in a circle",
    errno.EFBIG: "the file would be larger than this process may write, or than the disk can hold",
}
LONGEST = 120


def reason(error: OSError) -> str:
    """Return why the system refused a file.

    Examples
    --------
    >>> reason(OSError(errno.ELOOP, "Too many levels of symbolic links"))
    'its links go in a circle'
    """
    return REASONS.get(error.errno or 0) or error.strerror or str(error)


def shortened(path: str | os.PathLike[str]) -> str:
    """Return a path for a message, which nobody would read after a name of hundreds of letters.

    Examples
    --------
    >>> shortened("a.csv"), shortened(300 * "x")[:3], len(shortened(300 * "x"))
    ('a.csv', 'xxx', 120)
    """
    text = os.fspath(path)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def not_written(path: str | os.PathLike[str], error: OSError) -> FileError:
    """Return what to say of a file that there is no room for, by an error of ``FULL``."""
    advice = (
        "Raise the limit (ulimit -f), or write to another place."
        if error.errno == errno.EFBIG
        else "Free some space."
    )
    return FileError(f"{shortened(path)} was not written: {reason(error)}. {advice}")
