"""Output files appear under their name complete, or not at all; several that are one result, together."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from gramian.errors import FULL, FileError, InputTypeError, ParameterError, not_written, reason, shortened

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a binary file that appears under its name when the block ends well, or not at all.

    Until then it has a temporary name in the same folder. When the block raises anything, the
    temporary file is removed and whatever had the name before is untouched; when the process is killed, the
    next that writes into the folder removes it. A link is followed, an
    existing file keeps its permissions, and a device or pipe such as ``/dev/stdout`` is written
    to directly: whoever reads a pipe may stop when it has enough, as head does.

    Parameters
    ----------
    path : str or path-like
    mode : int, default=0o666
        Permissions of a new file, of which the process's umask takes some away.

    Raises
    ------
    FileError
        If the place cannot be written to, or the disk or device is full.
    """
    target = _as_file(path)
    # A folder of atomic_folder has a temporary name itself, and moves when everything is in it.
    hidden = TEMPORARY.fullmatch(target.parent.name) is not None
    existing = None if hidden else existing_mode(target)
    if existing is not None and not stat.S_ISREG(existing):
        with as_file_error(target):
            opened = open(target, "wb")  # noqa: SIM115
        with as_file_error(target, only_full=True), opened as file:
            yield file
        return
    target = temporary = Path(os.path.realpath(target))
    with ExitStack() as stack:
        try:
            if not hidden:
                temporary = stack.enter_context(temporary_beside(target, mode))
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), mode)
        except OSError as error:
            raise _not_opened(target, error) from error
        try:
            # The descriptor outlives the file object: writers such as Arrow's close what they get.
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                yield file
            if not hidden:
                os.fsync(descriptor)
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise not_written(target, error) from error
        finally:
            os.close(descriptor)
        if not hidden:
            with as_file_error(target):
                if existing is not None:
                    os.chmod(temporary, stat.S_IMODE(existing))
                os.replace(temporary, target)


def as_path(path: str | os.PathLike[str]) -> Path:
    """Check that an argument can be the name of a file."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise InputTypeError(f"{path!r} is not a path. Pass a string or a pathlib.Path.")
    if "\0" in os.fspath(path):
        raise ParameterError("path", path, "contains a null character", "Pass the name without it.")
    return Path(path)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that :func:`atomic_write` could not write, before any work.

    Raises
    ------
    FileError
        If it is a folder or protected, or its folder is not there or protected.
    """
    target = _as_file(path)
    if existing_mode(target) is None:
        with as_file_error(target):
            os.stat(target.parent)
        if not os.access(target.parent, os.W_OK):
            why = f"{target.parent} is write-protected"
            raise FileError(f"{target} cannot be written: {why}. Choose another place.")


def _as_file(path: str | os.PathLike[str]) -> Path:
    target, text = as_path(path), os.fspath(path)
    if text.endswith(("/", os.sep)):
        hint = f"Name a file: leave out the {text[-1]} at the end."
        raise FileError(f"{shortened(text)} names a folder.", hint)
    return target


def existing_mode(target: Path) -> int | None:
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _not_opened(target, error) from error
    if stat.S_ISDIR(mode):
        if target.suffix == ".zarr":
            raise FileError(f"{target} is there already. Remove it, or choose another name.")
        raise FileError(f"{target} is a folder. Name a file in it.")
    if not os.access(target, os.W_OK):
        raise FileError(f"{target} is write-protected. Choose another name or lift the protection.")
    return mode


@contextmanager
def as_file_error(target: Path, *, only_full: bool = False) -> Iterator[None]:
    """Raise a FileError in place of the errors of the system, or only in place of those of a full disk."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        if only_full and error.errno not in FULL:
            raise
        raise _not_opened(target, error) from error


def _not_opened(target: Path, error: OSError) -> FileError:
    """Return what to say of a file that the system does not let us write."""
    if error.errno in FULL:
        return not_written(target, error)
    if isinstance(error, FileNotFoundError) and not target.parent.is_dir():
        why = f"there is no folder {shortened(target.parent)}. Create it first."
    else:
        other = "name" if error.errno == errno.ENAMETOOLONG else "place"
        why = f"{reason(error)}. Choose another {other} for it."
    return FileError(f"{shortened(target)} cannot be written: {why}")


# --------------------------------------------------------- several files


@contextmanager
def atomic_folder(folder: Path, old: Iterable[str] = (), last: str | None = None) -> Iterator[Path]:
    """Give a hidden folder to write files into, which move to ``folder`` when the block ends well.

    When it does not, or the process is killed before, the older files are untouched; other files in the
    folder are so in any case. Each file is replaced whole.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    old : iterable of str
        Names of older files in it that are removed, unless new ones have their names.
    last : str, optional
        The file that explains the others: it goes first and comes last.

    Raises
    ------
    FileError
        If the folder cannot be written to or the disk is full.
    """
    with as_file_error(folder):
        new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
    writing = folder
    try:
        with as_file_error(folder, only_full=True), temporary_beside(folder / "x", folder=True) as writing:
            yield writing
            files = filter(Path.is_file, writing.rglob("*"))
            names = sorted(path.relative_to(writing).as_posix() for path in files)
            for name in names:
                with open(writing / name, "rb+") as file:
                    os.fsync(file.fileno())
                if not new and (mode := existing_mode(place_inside(folder, name))) is not None:
                    os.chmod(writing / name, mode & 0o7777)
            with as_file_error(folder):
                _move(writing, folder, names, set(old), last)
    except BaseException as error:
        if new:
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, FileError):
            raise FileError(str(error).replace(os.fspath(writing), os.fspath(folder))) from error
        raise


def _move(writing: Path, folder: Path, names: list[str], old: set[str], last: str | None) -> None:
    """Replace files one by one."""
    if last is not None:
        (folder / last).unlink(missing_ok=True)
    for name in old.difference(names):
        (folder / name).unlink(missing_ok=True)
    for name in sorted(names, key=lambda name: name == last):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(writing / name, folder / name)


def place_inside(folder: Path, name: str) -> Path:
    """Return the place of a file in a folder, which no link leads out of.

    Raises
    ------
    FileError
        Where one of its folders is a link.
    """
    path = folder
    for folder_name in PurePosixPath(name).parts[:-1]:
        path /= folder_name
        if path.is_symlink():
            problem = f"{path} is a link, and files in it would be replaced."
            raise FileError(problem, "Remove it, or choose another folder.")
    return folder / name


# --------------------------------------- locks, and temporary names beside a target

TEMPORARY = re.compile(r"\.gramian-[0-9a-f]{16}\.tmp")
DAY = 86400.0  # seconds after which a temporary file is of a process that was killed


@contextmanager
def locked(folder: Path, in_use: str = "") -> Iterator[None]:
    """Lock a folder for this process until the block ends or the process does, also when that is killed.

    Systems and disks without such locks stop nobody.

    Parameters
    ----------
    folder : Path
    in_use : str
        Message of the error where another process has the lock; without one, wait for it.

    Raises
    ------
    FileError
        If the folder cannot be opened, or another process has the lock and there is a message.
    """
    if fcntl is None:
        yield
        return
    with as_file_error(folder):
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if in_use else 0))
        except BlockingIOError as error:
            raise FileError(in_use) from error
        except OSError:
            pass
        yield
    finally:
        os.close(descriptor)


@contextmanager
def temporary_beside(target: Path, mode: int = 0o666, *, folder: bool = False) -> Iterator[Path]:
    """Make an empty file or folder with a temporary name beside a target.

    When the block ends it is removed, unless it was renamed. What killed processes left beside the target is
    removed a day later.

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
    with suppress(OSError):
        for name in filter(TEMPORARY.fullmatch, os.listdir(target.parent)):
            if time.time() - os.lstat(target.parent / name).st_mtime > DAY:
                _remove(target.parent / name)
    # A short name of its own: the target's name plus a suffix may exceed what the disk allows.
    temporary = target.with_name(f".gramian-{secrets.token_hex(8)}.tmp")
    try:
        if folder:
            temporary.mkdir()
        else:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        yield temporary
    finally:
        _remove(temporary)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
