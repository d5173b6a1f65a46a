"""Output files appear under their name complete, or not at all; several that are one result, together."""

import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from gramian.errors import FULL, FileError, InputTypeError, ParameterError, not_written, reason, shortened
from gramian.store.locks import locked
from gramian.store.temporaries import temporary_beside


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
    try:
        with ExitStack() as stack:
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
    except OSError as error:
        if error.errno in FULL:
            raise not_written(target, error) from error
        raise
    sync_folder(target.parent)


@contextmanager
def _written_directly(target: Path, mode: int) -> Iterator[BinaryIO]:
    with as_file_error(target):
        opened = open(target, "wb")  # noqa: SIM115
    try:
        with opened as file:
            yield file
    except OSError as error:
        if error.errno in FULL:
            raise not_written(target, error) from error
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
        raise ParameterError(f"{path!r} contains a null character. Pass the name without it.")
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
                yield writing
                _prepare(folder, old, last)
            except BaseException as error:
                shutil.rmtree(writing, ignore_errors=True)
                if isinstance(error, FileError):
                    raise FileError(str(error).replace(os.fspath(writing), os.fspath(folder))) from error
                if isinstance(error, OSError) and error.errno in FULL:
                    raise not_written(folder, error) from error
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
