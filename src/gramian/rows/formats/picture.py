"""Pictures as a table: grey values, one picture a row."""

import hashlib
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import counted
from gramian.errors import DataError
from gramian.progress import track
from gramian.rows.lazy.array import LazyArray
from gramian.rows.lazy.spool import Spool
from gramian.rows.names import readable
from gramian.rows.opened import Opened
from gramian.rows.pictures import (
    PictureFile,
    PictureForm,
    frames_note,
    grey_values,
    picture_content,
    picture_form,
)
from gramian.rows.source import ArraySource, PictureSource
from gramian.rows.table import pick_rows


def open(opened: Opened, key: str | None) -> PictureSource:
    """Return a single picture."""
    data = opened.content()
    return picture_source([PictureFile(Path(opened.name).name, partial(io.BytesIO, data))], opened.name)


def picture_source(pictures: Sequence[PictureFile], name: str, notes: tuple[str, ...] = ()) -> PictureSource:
    """Return pictures as a source, without opening them."""
    return PictureSource(name, partial(array_of_pictures, pictures, name, notes))


def array_of_pictures(
    pictures: Sequence[PictureFile],
    name: str,
    notes: tuple[str, ...],
    rows: slice | None,
    size: tuple[int, int] | None,
) -> ArraySource:
    """Look at the headers of pictures, which become grey values, one picture a row.

    Colour becomes grey as in Pillow's mode "L" (ITU-R 601-2 luma); 16-bit grey keeps its values.
    The orientation that a camera recorded is applied.

    Parameters
    ----------
    pictures : sequence of PictureFile
    name : str
    notes : tuple of str
    rows : slice or None
        Which of them; the others are not opened.
    size : (width, height) or None
        Resize every picture to this; None asks that all have one size already.

    Returns
    -------
    ArraySource
        Of shape (n_pictures, height, width); its hash covers names and contents.

    Raises
    ------
    DataError
        If sizes or kinds of grey differ, or a picture is too large to be decoded safely.
    FileError
        If a picture is damaged.
    MissingExtraError
        If Pillow is not installed.
    """
    pictures = [pictures[row] for row in pick_rows(len(pictures), rows, name)]
    form, frames, coloured = _forms(pictures, size)
    shape, digest = (len(pictures), form.height, form.width), hashlib.sha256()

    def grey() -> Iterator[npt.NDArray[Any]]:
        for picture in track(pictures, "picture"):
            data = picture_content(picture)
            label = picture.name.encode("utf-8", "surrogateescape")
            digest.update(label + b"\0" + len(data).to_bytes(8, "little") + data)
            yield grey_values(picture.name, data, form)

    def read(_: range | None = None) -> npt.NDArray[Any]:
        values = np.empty(shape, dtype=form.dtype)
        for place, picture in enumerate(grey()):
            values[place] = picture
        return values

    def lazy(limit: int) -> LazyArray:
        spool = Spool(name, math.prod(shape) * form.dtype.itemsize, sure=True)
        for picture in grey():
            spool.append(picture[None])
        return spool.stored()

    if frames:
        notes = (*notes, frames_note(frames))
    if coloured:
        notes = (
            *notes,
            f"{counted(coloured, 'colour picture was', 'colour pictures were')} made grey (ITU-R 601-2 luma)",
        )
    return ArraySource(
        name,
        shape,
        form.dtype,
        read,
        lazy=lazy,
        row_names=tuple(readable(picture.name) for picture in pictures),
        notes=notes,
        sha256=digest.hexdigest,
        hashed="the names and contents of the pictures",
    )


def _forms(pictures: Sequence[PictureFile], size: tuple[int, int] | None) -> tuple[PictureForm, int, int]:
    """Check by their headers alone that all pictures fit together, before any is decoded.

    Returns their form, and how many have several frames, have colours, and are to be turned.
    """
    first = None
    frames = coloured = 0
    for picture in track(pictures, "header"):
        form, animated = picture_form(picture)
        frames, coloured = frames + animated, coloured + form.coloured
        form = form if size is None else replace(form, width=size[0], height=size[1])
        first = first or form
        if form != first:
            raise _different(pictures[0].name, first, picture.name, form)
    assert first is not None
    return first, frames, coloured


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
        f'(width x height). Resize them while reading, for instance with size="{size}".'
    )
