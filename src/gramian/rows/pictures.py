"""Grey pictures from a folder, a list of files, a zip archive or a single file."""

import hashlib
import os
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np

from gramian.errors import DataError, FileError, GramianError
from gramian.rows.decoding import (
    LARGEST_FILE,
    Picture,
    PictureForm,
    grey_values,
    picture_content,
    picture_form,
    readable,
)
from gramian.rows.table import Table, pick_rows

__all__ = [
    "PICTURE_SUFFIXES",
    "Picture",
    "natural_key",
    "pictures_in_folder",
    "pictures_in_list",
    "pictures_in_zip",
    "read_pictures",
]

PICTURE_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp", ".gif", ".tif", ".tiff", ".webp",
)  # fmt: skip

_SKIPPED_SHOWN = 3


def natural_key(name: str) -> tuple[object, ...]:
    """Sort key that puts 2.pgm before 10.pgm.

    Examples
    --------
    >>> sorted(["s10/1.pgm", "s2/10.pgm", "s2/9.pgm"], key=natural_key)
    ['s2/9.pgm', 's2/10.pgm', 's10/1.pgm']
    """
    parts = re.split("([0-9]+)", name)
    numbers = [(len(part.lstrip("0")), part.lstrip("0")) for part in parts[1::2]]
    return (*(x for pair in zip(parts[::2], [*numbers, (0, "")], strict=True) for x in pair), name)


def _is_picture(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in PICTURE_SUFFIXES


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any(part.startswith(".") and part not in (".", "..") for part in parts) or ("__MACOSX" in parts)


def pictures_in_folder(folder: Path) -> tuple[list[Picture], tuple[str, ...]]:
    """Find the pictures in a folder and the folders below it, in natural order of their paths.

    Returns
    -------
    pictures : list of Picture
    notes : tuple of str
        What was skipped.

    Raises
    ------
    DataError
        If there is no picture.
    FileError
        If a folder cannot be listed.
    """

    def refuse(error: OSError) -> None:
        raise FileError(f"{error.filename} cannot be listed: {error.strerror}.") from error

    names = [
        (Path(parent) / name).relative_to(folder).as_posix()
        for parent, _, files in os.walk(folder, onerror=refuse)
        for name in files
    ]
    kept, notes = _only_pictures(names, f"folder {folder}")
    return [Picture(name, partial(_open, folder / name)) for name in kept], notes


def pictures_in_list(paths: Sequence[Path]) -> list[Picture]:
    """Take the pictures of a list, in its order.

    Raises
    ------
    DataError
        If the name of one is not that of a picture.
    """
    for path in paths:
        if not _is_picture(path.name):
            raise DataError(
                f"{path} is not named like a picture. A list of paths is for pictures: {_suffixes()}."
            )
    return [Picture(path.as_posix(), partial(_open, path)) for path in paths]


def pictures_in_zip(
    archive: zipfile.ZipFile, source: str, on_bad: Callable[[str, GramianError], None] | None = None
) -> tuple[list[Picture], tuple[str, ...]]:
    """Find the pictures in a zip archive, in natural order; nothing is unpacked to disk.

    Parameters
    ----------
    archive : ZipFile
    source : str
    on_bad : callable, optional
        Called with the name of a picture that is too large and the error, and the picture is left out; by
        default the error is raised.

    Raises
    ------
    DataError
        If there is no picture, or one is too large.
    """
    entries = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    kept, notes = _only_pictures(list(entries), source)
    found = []
    for name in kept:
        if entries[name].file_size > LARGEST_FILE:
            error = DataError(
                f"{name} in {source} unpacks to {entries[name].file_size} bytes, more than the "
                f"{LARGEST_FILE} that a picture may have. Leave it out or make it smaller."
            )
            if on_bad is None:
                raise error
            on_bad(name, error)
            continue
        found.append(Picture(name, partial(archive.open, entries[name])))
    return found, notes


def _open(path: Path) -> IO[bytes]:
    if path.exists() and not path.is_file():
        # A named pipe would be waited for, perhaps for ever.
        raise FileError(f"{readable(str(path))} is no regular file. Leave it out.")
    return path.open("rb")


def _only_pictures(names: list[str], source: str) -> tuple[list[str], tuple[str, ...]]:
    visible = [name for name in names if not _is_hidden(name)]
    kept = sorted(filter(_is_picture, visible), key=natural_key)
    other = sorted(name for name in visible if not _is_picture(name))
    shown = ", ".join(other[:_SKIPPED_SHOWN]) + (", ..." if len(other) > _SKIPPED_SHOWN else "")
    if not kept:
        found = f"{len(other)} other files ({shown})" if other else "no files"
        raise DataError(
            f"{source} holds no pictures but {found}. Pictures are {_suffixes()}; "
            "a table is given by the path of its own file."
        )
    if not other:
        return kept, ()
    plural = "file was" if len(other) == 1 else "files were"
    return kept, (f"{len(other)} other {plural} skipped in {source}: {shown}",)


def _suffixes() -> str:
    return " ".join(PICTURE_SUFFIXES)


def read_pictures(
    pictures: Sequence[Picture],
    source: str,
    rows: slice | None = None,
    size: tuple[int, int] | None = None,
) -> Table:
    """Read pictures as grey values, one picture a row.

    Colour becomes grey as in Pillow's mode "L" (ITU-R 601-2 luma); 16-bit grey keeps its values.
    The orientation that a camera recorded is applied.

    Parameters
    ----------
    pictures : sequence of Picture
    source : str
    rows : slice or None
        Which of them; the others are not opened.
    size : (width, height) or None
        Resize every picture to this; None asks that all have one size already.

    Returns
    -------
    Table
        ``values`` has shape (n_pictures, height, width); ``sha256`` covers names and contents.

    Raises
    ------
    DataError
        If sizes or kinds of grey differ, or a picture is too large to be decoded safely.
    FileError
        If a picture is damaged.
    MissingExtraError
        If Pillow is not installed.
    """
    pictures = [pictures[row] for row in pick_rows(len(pictures), rows, source)]
    form, frames = _common_form(pictures, size)
    values = np.empty((len(pictures), form.height, form.width), dtype=form.dtype)
    digest = hashlib.sha256()
    for place, picture in enumerate(pictures):
        data = picture_content(picture)
        name = picture.name.encode("utf-8", "surrogateescape")
        digest.update(name + b"\0" + len(data).to_bytes(8, "little") + data)
        values[place] = grey_values(picture.name, data, form)
    notes = (f"{frames} pictures have several frames: the first was used",) if frames else ()
    return Table(
        values,
        row_names=tuple(readable(picture.name) for picture in pictures),
        picture_shape=(form.height, form.width),
        source=source,
        notes=notes,
        sha256=digest.hexdigest(),
    )


def _common_form(pictures: Sequence[Picture], size: tuple[int, int] | None) -> tuple[PictureForm, int]:
    """Check by their headers alone that all pictures fit together, before any is decoded.

    Returns the common form, and how many of the pictures have several frames.
    """
    forms = []
    frames = 0
    for picture in pictures:
        form, animated = picture_form(picture)
        frames += animated
        forms.append(form if size is None else replace(form, width=size[0], height=size[1]))
        if forms[-1] != forms[0]:
            raise _different(pictures[0].name, forms[0], picture.name, forms[-1])
    return forms[0], frames


def _different(first: str, one: PictureForm, second: str, other: PictureForm) -> DataError:
    first, second = readable(first), readable(second)
    if one.dtype != other.dtype:
        return DataError(
            f"pictures of different kinds: {first} has {one.dtype} grey values, {second} has "
            f"{other.dtype}. Save all of them with the same depth."
        )
    size = f"{one.width}x{one.height}"
    return DataError(
        f"pictures of different sizes: {first} is {size}, {second} is {other.width}x{other.height} "
        f'(width x height). Resize them while reading, for instance with size="{size}" '
        f"(--size {size})."
    )
