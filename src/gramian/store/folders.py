"""Results that are several files take the place of older ones together, also where a process is killed."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from gramian.errors import FULL, FileError, not_written
from gramian.store.atomic import as_file_error, atomic_write, existing_mode, sync_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# New files are written into the first. Once it has the second name they are complete, and are moved from
# there to where they belong: by this process, or by the next one when this one is killed.
WRITING, READY = ".gramian-writing.tmp", ".gramian-ready.tmp"
LIST = ".gramian-list.json"


@contextmanager
def atomic_folder(folder: Path, old: Iterable[str] = (), last: str | None = None) -> Iterator[Path]:
    """Give a hidden folder to write files into, which appear in ``folder`` together when the block ends well.

    When it does not, or the process is killed, the older files are untouched; other files in the folder are
    so in any case. A process that is killed while files are moved leaves the rest of the moves to
    :func:`finish_folder`, which the next command on the folder calls.

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
        with _alone(folder):
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
    """Finish what a process left that was killed while it wrote into a folder."""
    if any(os.path.lexists(folder / name) for name in (WRITING, READY)):
        with _alone(folder):
            _finish(folder)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for other processes that write into the folder; where the disk has no locks, nobody waits."""
    if fcntl is None:
        yield
        return
    with as_file_error(folder):
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _prepare(folder: Path, old: Iterable[str], last: str | None) -> None:
    """Give the new files their permissions and a list of moves, then the name that says they are complete."""
    writing = folder / WRITING
    names = sorted(path.relative_to(writing).as_posix() for path in writing.rglob("*") if path.is_file())
    names.sort(key=lambda name: name == last)
    for name in names:
        mode = existing_mode(folder / name)
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
        if (ready / LIST).is_file():
            _move(folder, json.loads((ready / LIST).read_bytes()))
        for left in (ready, folder / WRITING):
            if os.path.lexists(left):
                shutil.rmtree(left)


def _move(folder: Path, plan: dict[str, Any]) -> None:
    ready = folder / READY
    for name in (*plan["remove"], *plan["move"]):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise FileError(f"{ready} was not written by gramian: it names {name}. Remove it.")
    if plan["last"] and (ready / plan["last"]).exists():
        (folder / plan["last"]).unlink(missing_ok=True)
    for name in plan["remove"]:
        (folder / name).unlink(missing_ok=True)
    for name in plan["move"]:
        if (ready / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(ready / name, folder / name)
    sync_folder(folder)
