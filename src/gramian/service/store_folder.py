"""The folder of ``--store``: a marker identifies it, and a lock lets one server use it."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gramian.errors import FileError, ParameterError, shortened
from gramian.service.item_storage import TEMPORARY
from gramian.store.atomic import as_file_error, as_path, atomic_write
from gramian.store.locks import lock_folder

MARKER = ".gramian-store"
VERSION = 1
# Bodies, responses and temporary files of libraries; the JavaScript of Vega.
WORK = re.compile(rf"[0-9a-f]{{32}}[a-z0-9.-]{{0,40}}|{TEMPORARY.pattern}|vega\.js")
FOLDERS = ("models", "visitors", "work")


def prepare_store(store: str | os.PathLike[str]) -> Path:
    """Create a store, or check an existing one; return its absolute path.

    Raises
    ------
    ParameterError
        If the name is empty.
    FileError
        If the folder holds other files, cannot be written to, or another server uses it.
    """
    place = as_path(store)
    if not os.fspath(store).strip():
        raise ParameterError(
            f"store={os.fspath(store)!r} is not a folder name. Name a folder, or leave out --store."
        )
    root = Path(os.path.realpath(place))
    if os.path.lexists(root) and not root.is_dir():
        raise FileError(f"store {shortened(store)} is not a folder. Name a new or an empty folder.")
    with as_file_error(root):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(root), as_file_error(root):
        if os.path.lexists(root / MARKER):
            _check_marker(root / MARKER)
        elif others := [name for name in sorted(os.listdir(root)) if not TEMPORARY.fullmatch(name)]:
            raise FileError(
                f"store {root} contains {shortened(others[0])} but no {MARKER}, so it is not a store. "
                "Name a new or an empty folder."
            )
        _fill(root)
    return root


def _fill(root: Path) -> None:
    """Create what is missing in a store."""
    for folder in (root, *(root / name for name in FOLDERS)):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise FileError(f"{folder} is not a folder of the store. Move it elsewhere.")
        folder.mkdir(mode=0o700, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise FileError(f"store {folder} is write-protected. Make it writable, or name another folder.")
    if not (root / MARKER).exists():
        with atomic_write(root / MARKER, mode=0o600) as file:
            file.write(json.dumps({"format": "gramian-store", "version": VERSION}).encode())


def is_whole(root: Path, temporary: bool) -> bool:
    """Return whether nothing removed the folders of a store, and no other user replaced a temporary one."""
    return (not temporary or _is_private(root)) and all((root / name).is_dir() for name in FOLDERS)


def _is_private(folder: Path) -> bool:
    """Return whether only the user of this process can enter a folder."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    own = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
    return own and stat.S_ISDIR(found.st_mode)


def restore_temporary(root: Path) -> None:
    """Create a temporary store again, after a cleaner of temporary folders removed it or parts of it.

    Raises
    ------
    FileError
        If another user has taken its name meanwhile.
    """
    with as_file_error(root):
        root.mkdir(mode=0o700, exist_ok=True)
        if not _is_private(root):
            raise FileError(f"{root} is not the server's folder. Restart the server.")
        _fill(root)


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Lock a store against other servers. The lock ends with the process.

    Raises
    ------
    FileError
        If another server uses the store.
    """
    in_use = f"store {root} is in use by another server. Stop it, or name another folder."
    descriptor = lock_folder(root, in_use)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def empty_work(folder: Path) -> None:
    """Remove the server's own temporary files."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not WORK.fullmatch(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.is_file(follow_symlinks=False):
                os.unlink(entry)


def _check_marker(marker: Path) -> None:
    try:
        if marker.is_symlink() or not marker.is_file():  # opening a pipe would block
            raise ValueError("it is not a regular file")
        content = json.loads(marker.read_bytes())
        if content["format"] != "gramian-store" or not isinstance(content["version"], int):
            raise ValueError("it has another format")
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise FileError(
            f"{marker} is damaged ({error}). Restore it from a backup, or name another folder."
        ) from error
    if content["version"] > VERSION:
        raise FileError(
            f"store {marker.parent} was written by a newer gramian (version {content['version']}; this one "
            f"supports {VERSION}). Upgrade with pip install -U gramian, or name another folder."
        )
