"""The files that pictures were read from, opened once more: to keep their bytes, and to see their shapes."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from gramian.errors import DataError, ParameterError
from gramian.faces.pictures import Faces
from gramian.rows.decoding import PictureFile as Picture
from gramian.rows.decoding import picture_content, picture_form, readable
from gramian.rows.files import locate
from gramian.rows.pictures import open_member, open_picture, opened_zip

__all__ = ["TOLERATED", "file_bytes", "stretched"]

# Sides of small pictures are whole numbers, so that proportions are never quite the same.
TOLERATED = 1.1
Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def file_bytes(source: Source, faces: Faces) -> tuple[bytes, ...]:
    """Return the bytes of the files of pictures.

    Parameters
    ----------
    source : path or list of paths
        What the pictures were read from.
    faces : Faces
        What was read.

    Raises
    ------
    DataError
        When a file is no longer what was read.
    FileError
        When one can no longer be opened.
    ParameterError
        For pictures that came as an array, which are no files.
    """
    if _is_array(source):
        raise ParameterError(
            f"{readable(str(source))} is an array of pictures, and only picture files can be kept. "
            "Leave that out, or save the pictures as files."
        )
    found = []
    with _opener(source) as opened:
        for path, digest in zip(faces.paths or faces.names, faces.hashes, strict=True):
            data = picture_content(Picture(path, partial(opened, path)))
            if hashlib.sha256(data).hexdigest() != digest:
                raise DataError(f"{readable(path)} was changed while it was read. Try again.")
            found.append(data)
    return tuple(found)


def stretched(source: Source, faces: Faces) -> tuple[tuple[str, tuple[int, int]], ...]:
    """Return the pictures that resizing has stretched: name, and (width, height) of the file.

    They are those whose proportions differ by more than 10 % from the others.

    Parameters
    ----------
    source, faces
        As for :func:`file_bytes`.
    """
    if _is_array(source):
        return ()
    height, width = faces.pictures.shape[1:]
    found = []
    with _opener(source) as opened:
        for name, path in zip(faces.names, faces.paths or faces.names, strict=True):
            form, _ = picture_form(Picture(path, partial(opened, path)))
            ratio = (form.width * height) / (form.height * width)
            if max(ratio, 1 / ratio) > TOLERATED:
                found.append((name, (form.width, form.height)))
    return tuple(found)


def _is_array(source: Source) -> bool:
    return isinstance(source, str | os.PathLike) and locate(os.fspath(source)).path.suffix.lower() in (
        ".npy",
        ".npz",
    )


@contextmanager
def _opener(source: Source) -> Iterator[Callable[[str], IO[bytes]]]:
    """Give what opens a picture by its path within the source, which need not be what is shown of it."""
    path = locate(os.fspath(source)).path if isinstance(source, str | os.PathLike) else None
    if path is not None and path.suffix.lower() == ".zip" and not path.is_dir():
        with opened_zip(path) as archive:
            yield partial(_open_member, archive)
    else:
        yield partial(_open_file, path if path is not None and path.is_dir() else Path())


def _open_file(folder: Path, name: str) -> IO[bytes]:
    return open_picture(folder / name, name)


def _open_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return open_member(archive, archive.getinfo(name))
