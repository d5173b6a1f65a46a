"""Output files appear under their name complete, or not at all; several that are one result, together."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from gramian.errors import FULL, FileError, InputTypeError, ParameterError, not_written, reason, shortened

try:
    import fcntl
except ImportError:  # Windows, where a lock cannot tell what is left: nothing is removed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a binary file that appears under its name when the block ends well, or not at all.

    Until then it has a temporary name in the same folder. When the block raises anything, the
    temporary file is removed and whatever had the name before is untouched; when the process is killed, the
    next that writes into the folder removes it. A link is followed, an
    existing file keeps its permissions, and a device or pipe such as ``/dev/stdout`` is written
    to directly.

    Parameters
    ----------
    path : str or path-like
    mode : int, default=0o666
        Permissions of a new file, of which the process's umask takes some away.

    Raises
    ------
    FileError
        If the place cannot be written to, the disk or device is full, or the reader of a named pipe is gone.
    """
    target = _as_file(path)
    existing = existing_mode(target)
    if existing is not None and not stat.S_ISREG(existing):
        with _written_directly(target, existing) as file:
            yield file
        return
    target = Path(os.path.realpath(target))
    with _for_want_of_room(target), ExitStack() as stack:
        with as_file_error(target):
            temporary = stack.enter_context(temporary_beside(target, mode))
            descriptor = os.open(temporary, os.O_WRONLY | getattr(os, "O_BINARY", 0))
        try:
            # The descriptor outlives the file object: writers such as Arrow's close what they get.
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                yield file
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        with as_file_error(target):
            if existing is not None:
                os.chmod(temporary, stat.S_IMODE(existing))
            os.replace(temporary, target)
    sync_folder(target.parent)


@contextmanager
def _written_directly(target: Path, mode: int) -> Iterator[BinaryIO]:
    with as_file_error(target):
        opened = open(target, "wb")  # noqa: SIM115
    try:
        with _for_want_of_room(target), opened as file:
            yield file
    except OSError as error:
        # A pipe under /dev, such as /dev/stdout, is one that the process was given: who reads it may stop
        # when it has enough, as head does, and that is no mistake.
        given = target.is_relative_to("/dev") or target.is_relative_to("/proc")
        if error.errno == errno.EPIPE and stat.S_ISFIFO(mode) and not given:
            raise FileError(
                f"{target} was not written to its end: the program that read it is gone. Start it again."
            ) from error
        raise


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
            raise FileError(
                f"{target} cannot be written: {target.parent} is write-protected. Choose another place."
            )


def _as_file(path: str | os.PathLike[str]) -> Path:
    target = as_path(path)
    if os.fspath(path).endswith(("/", os.sep)):
        raise FileError(
            f"{shortened(path)} names a folder. Name a file: leave out the {os.fspath(path)[-1]} at the end."
        )
    return target


def existing_mode(target: Path) -> int | None:
    with as_file_error(target):
        try:
            mode = os.stat(target).st_mode
        except FileNotFoundError:
            return None
    if stat.S_ISDIR(mode):
        if target.suffix == ".zarr":
            raise FileError(f"{target} is there already. Remove it, or choose another name.")
        raise FileError(f"{target} is a folder. Name a file in it.")
    if not os.access(target, os.W_OK):
        raise FileError(f"{target} is write-protected. Choose another name or lift the protection.")
    return mode


@contextmanager
def as_file_error(target: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise FileError(
            f"{shortened(target)} cannot be written: there is no folder {shortened(target.parent)}. "
            "Create it first."
        ) from error
    except FileError:
        raise
    except OSError as error:
        if error.errno in FULL:
            raise not_written(target, error) from error
        other = "name" if error.errno == errno.ENAMETOOLONG else "place"
        raise FileError(
            f"{shortened(target)} cannot be written: {reason(error)}. Choose another {other} for it."
        ) from error


@contextmanager
def _for_want_of_room(target: Path) -> Iterator[None]:
    """Say of a full disk what is not written."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise not_written(target, error) from error
        raise


def sync_folder(folder: Path) -> None:
    # Makes the rename survive a power cut. Systems that cannot open a folder lose only that.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# --------------------------------------------------------- several files

# New files are written into the first. Once it has the second name they are complete, and are moved from
# there to where they belong: by this process, or by the next one when this one is killed.
WRITING, READY = ".gramian-writing.tmp", ".gramian-ready.tmp"
LIST = ".gramian-list.json"


@contextmanager
def atomic_folder(folder: Path, old: Iterable[str] = (), last: str | None = None) -> Iterator[Path]:
    """Give a hidden folder to write files into, which appear in ``folder`` together when the block ends well.

    When it does not, or the process is killed, the older files are untouched; other files in the folder are
    so in any case. A process that is killed while files are moved leaves the rest of the moves to
    :func:`finish_folder`, which the next command that writes into the folder calls.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    old : iterable of str
        Names of older files in it that are removed, unless new ones have their names.
    last : str, optional
        The file that says that the others are complete: it goes first and comes last.

    Raises
    ------
    FileError
        If the folder cannot be written to or the disk is full.
    """
    with as_file_error(folder):
        made = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
    writing = folder / WRITING
    try:
        with locked(folder):
            _finish(folder)
            try:
                with as_file_error(folder):
                    writing.mkdir()
                with _for_want_of_room(folder):
                    yield writing
                    _prepare(folder, old, last)
            except BaseException as error:
                shutil.rmtree(writing, ignore_errors=True)
                if isinstance(error, FileError):
                    raise FileError(str(error).replace(os.fspath(writing), os.fspath(folder))) from error
                raise
            try:
                _finish(folder)
            except KeyboardInterrupt:
                _finish(folder)
                raise
    except BaseException:
        if made:
            with suppress(OSError):
                folder.rmdir()
        raise


def finish_folder(folder: Path) -> None:
    """Finish the replacement of files that a killed process left in a folder which is written to next.

    Only a command that writes into the folder calls it: a folder from elsewhere is read without any move.

    Raises
    ------
    FileError
        If what is there was not written by :func:`atomic_folder`, or files cannot be moved.
    """
    if any(os.path.lexists(folder / name) for name in (WRITING, READY)):
        with locked(folder):
            _finish(folder)


def readable_file(folder: Path, name: str) -> Path:
    """Return where to read one file of a folder that :func:`atomic_folder` writes; nothing is moved.

    It is the file under its own name. Before the first replacement in a folder is finished there is none,
    and the complete new file is read where it waits.
    """
    waiting = folder / READY / name
    if not os.path.exists(folder / name) and not os.path.islink(folder / READY) and waiting.is_file():
        return waiting
    return folder / name


def place_inside(folder: Path, name: str) -> Path:
    """Return the place of a relative name in a folder, which no link leads out of.

    Parameters
    ----------
    folder : Path
    name : str
        Parts separated by ``/``.

    Raises
    ------
    FileError
        For a name that is absolute or contains ``..``, and where one of its folders is a link.
    """
    path = PurePosixPath(name)
    if path.as_posix() != name or path.is_absolute() or ".." in path.parts or re.search(r"[\\:\0]", name):
        raise FileError(f"{folder} has a list of files with the name {shortened(name)!r}. Remove that list.")
    place = folder
    for part in path.parts[:-1]:
        place /= part
        if place.is_symlink():
            raise FileError(
                f"{place} is a link, and files in it would be replaced. Remove it, or choose another folder."
            )
    return folder / path


def _prepare(folder: Path, old: Iterable[str], last: str | None) -> None:
    """Give the new files their permissions and a list of moves, then the name that says they are complete."""
    writing = folder / WRITING
    names = sorted(path.relative_to(writing).as_posix() for path in writing.rglob("*") if path.is_file())
    names.sort(key=lambda name: name == last)
    for name in names:
        mode = existing_mode(place_inside(folder, name))
        if mode is not None:
            os.chmod(writing / name, mode & 0o7777)
    plan = {"remove": sorted(set(old) - set(names)), "move": names, "last": last}
    with atomic_write(writing / LIST) as file:
        file.write(json.dumps(plan).encode())
    with as_file_error(folder):
        os.rename(writing, folder / READY)
    sync_folder(folder)


def _finish(folder: Path) -> None:
    """Move what is complete to its place, and remove what is not; again and again if need be."""
    ready = folder / READY
    with as_file_error(folder):
        for left in (ready, folder / WRITING):
            if left.is_symlink():
                raise FileError(f"{left} is a link, which gramian does not make. Remove it.")
        if (ready / LIST).is_file():
            _move(folder, _list_of(ready))
        for left in (ready, folder / WRITING):
            if os.path.lexists(left):
                shutil.rmtree(left)


def _list_of(ready: Path) -> dict[str, Any]:
    """Read a list of moves, which may be of somebody else."""
    try:
        if (ready / LIST).is_symlink():
            raise ValueError("it is a link")
        plan = json.loads((ready / LIST).read_bytes())
        names = [*plan["remove"], *plan["move"], *([] if plan["last"] is None else [plan["last"]])]
        if not all(isinstance(name, str) and name for name in names):
            raise ValueError("it contains what is no name")
        for name in names:
            place_inside(ready.parent, name)
            if place_inside(ready, name).is_symlink():
                raise ValueError(f"{name} is a link")
    except (FileError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise FileError(f"{ready} was not written by gramian: {error}. Remove it.") from error
    return dict(plan)


def _move(folder: Path, plan: dict[str, Any]) -> None:
    ready = folder / READY
    if plan["last"] and (ready / plan["last"]).exists():
        (folder / plan["last"]).unlink(missing_ok=True)
    for name in plan["remove"]:
        (folder / name).unlink(missing_ok=True)
    for name in plan["move"]:
        if (ready / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(ready / name, folder / name)
    sync_folder(folder)


# --------------------------------------- locks, and temporary names beside a target

TEMPORARY = re.compile(r"\.gramian-[0-9a-f]{16}\.tmp")


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
    """Make an empty file or folder with a temporary name beside a target, locked while it is written to.

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
    temporary, lock = target.with_name(f".gramian-{secrets.token_hex(8)}.tmp"), -1
    try:
        lock = _made(temporary, mode, folder)
        yield temporary
    finally:
        _remove(temporary)
        if lock >= 0:
            os.close(lock)


def remove_left(folder: Path) -> None:
    """Remove what :func:`temporary_beside` made in a folder for processes of this user that were killed.

    What a process writes to is locked, also for other machines and containers, and stays.
    """
    with suppress(OSError):
        for name in filter(TEMPORARY.fullmatch, os.listdir(folder) if fcntl is not None else ()):
            with suppress(OSError):
                _remove_unlocked(folder / name)


def _made(temporary: Path, mode: int, folder: bool) -> int:
    """Make a file or folder; return the descriptor of its lock, -1 without locks."""
    while True:
        if folder:
            temporary.mkdir()
        else:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        if fcntl is None:
            return -1
        # Another process may take it for what was left, until it is locked.
        with suppress(FileNotFoundError):
            lock = os.open(temporary, os.O_RDONLY if folder else os.O_RDWR)
            with suppress(OSError):  # of a disk without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.lexists(temporary):
                return lock
            os.close(lock)


def _remove_unlocked(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(descriptor).st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another remover may have been here first, and the name be that of a new file since.
            if not os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                return
            _remove(path)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
