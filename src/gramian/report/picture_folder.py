"""Folders of pictures: a PNG file for each row, a table about them, and a comparison sheet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import memory_limit_bytes
from gramian.checks import evenly
from gramian.errors import FileError
from gramian.plots.pixels import Picture, contact_sheet, grey, require_pillow
from gramian.report.tables import row_names, write_table
from gramian.rows import as_rows
from gramian.rows.names import PICTURE_SUFFIXES
from gramian.rows.table import Table
from gramian.store import atomic_folder, finish_folder

SHEET = "comparison.png"
COMPARED = 8


def grey_limits(table: Table) -> tuple[float, float]:
    """Return the values of black and white: 0 and 255 for bytes, else the extremes."""
    if table.values.dtype == np.uint8:
        return 0.0, 255.0
    rows = as_rows(table, limit=memory_limit_bytes(None))
    return rows.reduce(
        lambda block: (float(block.values.min()), float(block.values.max())),
        lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    )


def check_picture_folder(folder: Path, listing: str) -> None:
    """Refuse a folder with other files, so that no original is overwritten.

    First finishes what a killed process has left.

    Parameters
    ----------
    folder : Path
    listing : str
        The table that identifies a folder of the same kind.

    Raises
    ------
    FileError
        If it is neither empty nor from an earlier command of the same kind.
    """
    finish_folder(folder)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / listing).is_file():
        raise FileError(f"{folder} is not empty, and its pictures could be overwritten. Name a new folder.")


def write_picture_folder(
    folder: Path,
    table: Table,
    pictures: Iterable[npt.NDArray[np.uint8]],
    listing: str,
    *,
    about: Callable[[], Mapping[str, Any]],
    captions: Callable[[list[int]], Sequence[str]],
) -> int:
    """Write pictures atomically, and return the number of files.

    Parameters
    ----------
    folder : Path
    table : Table
        The rows, pictures themselves.
    pictures : iterable of ndarray of shape (height, width)
        One for each row.
    listing : str
        Name of the table about them.
    about, captions : callable
        Columns of that table, and captions of some rows; called after the last picture.

    Raises
    ------
    FileError
        If the folder contains other files, or is not writable.
    MissingExtraError
        If Pillow is not installed.
    """
    require_pillow()
    check_picture_folder(folder, listing)
    names = picture_names(row_names(table)[1])
    chosen = evenly(len(names), COMPARED)
    shown = [grey(table.values[index], *grey_limits(table)) for index in chosen]
    with atomic_folder(folder, last=listing) as place:
        for index, (name, pixels) in enumerate(zip(names, pictures, strict=True)):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            Picture(pixels).save(place / name)
            if index in chosen:
                shown.append(pixels)
        texts = [names[index].removesuffix(".png") for index in chosen] + list(captions(chosen))
        contact_sheet(shown, texts, columns=len(chosen)).save(place / SHEET)
        write_table(place / listing, {"picture": names, **about()}, "csv")
    return len(names) + 2


def picture_names(names: Sequence[Any]) -> list[str]:
    """Return unique file names for rows, all inside their folder.

    Examples
    --------
    >>> picture_names(["s1/1.pgm", "../s1/1.jpg", 7])
    ['s1/1.png', 's1/1_2.png', '7.png']
    """
    taken = {SHEET.casefold()}
    result = []
    for name in names:
        stem = _safe(str(name))
        new, repeat = f"{stem}.png", 1
        # Some file systems ignore case.
        while new.casefold() in taken:
            repeat += 1
            new = f"{stem}_{repeat}.png"
        taken.add(new.casefold())
        result.append(new)
    return result


def _safe(name: str) -> str:
    parts = [re.sub(r'[<>:"|?*\x00-\x1f]', "_", part) for part in re.split(r"[/\\]", name)]
    path = PurePosixPath(*([part.strip() for part in parts if part.strip(". ")] or ["picture"]))
    return (path.with_suffix("") if path.suffix.lower() in PICTURE_SUFFIXES else path).as_posix()
