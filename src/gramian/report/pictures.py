"""Folders of pictures, and reconstructions of rows from some components with their errors."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.arrays import as_float64, dense, memory_limit_bytes
from gramian.core.atomic import atomic_folder
from gramian.core.checks import evenly, slices
from gramian.errors import FileError
from gramian.figures.images import Picture, contact_sheet, grey, grey_range, require_pillow
from gramian.report.tables import pieces_of, row_names, write_table
from gramian.tables.as_rows import as_rows
from gramian.tables.names import PICTURE_SUFFIXES
from gramian.tables.table import Table

SHEET = "comparison.png"
COMPARED = 8


def grey_limits(table: Table) -> tuple[float, float]:
    """Return the values of black and white for files: the extremes of all pictures.

    Bytes that use the range of a file's grey values remain what they are.
    """
    rows = as_rows(table, limit=memory_limit_bytes(None))
    low, high = rows.reduce(
        lambda block: grey_range(block.values),
        lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    )
    return (0.0, 255.0) if table.values.dtype == np.uint8 and high > 127 else (low, high)


def check_picture_folder(folder: Path, listing: str) -> None:
    """Refuse a folder with other files, so that no original is overwritten.

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
    chosen, edges = evenly(len(names), COMPARED), grey_limits(table)
    shown = [grey(table.values[index], *edges) for index in chosen]
    with atomic_folder(folder, last=listing) as path:
        for index, (name, pixels) in enumerate(zip(names, pictures, strict=True)):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            Picture(pixels).save(path / name)
            if index in chosen:
                shown.append(pixels)
        texts = [names[index].removesuffix(".png") for index in chosen] + list(captions(chosen))
        contact_sheet(shown, texts, columns=len(chosen)).save(path / SHEET)
        write_table(path / listing, {"picture": names, **about()}, "csv")
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
    pieces = [re.sub(r'[<>:"|?*\x00-\x1f]', "_", piece) for piece in re.split(r"[/\\]", name)]
    path = PurePosixPath(*([piece.strip() for piece in pieces if piece.strip(". ")] or ["picture"]))
    return (path.with_suffix("") if path.suffix.lower() in PICTURE_SUFFIXES else path).as_posix()


# -------- Reconstructions of rows from some components, and their errors

BLOCK_BYTES = 64 << 20
PERCENTILES = (0, 10, 50, 90, 100)


class Errors:
    """The errors of reconstructions, row by row.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        The model's mean.
    scale : ndarray of shape (n_features,), optional
        What the model divides columns by: differences are in its units.
    squares, sizes : array of float
        ``||x - x~||^2`` and ``||x - mean||`` of every row.
    """

    def __init__(self, center: npt.NDArray[Any], scale: Any = None) -> None:
        self.center, self.squares, self.sizes = center, array("d"), array("d")
        self.scale = 1.0 if scale is None else as_float64(scale)

    def add(self, original: npt.NDArray[Any], back: npt.NDArray[Any]) -> None:
        """Add a block of rows."""
        original = as_float64(original)
        # Observed entries only; NaN for rows of which none is reconstructed.
        there = ~np.isnan(original)
        distances, sizes = np.where(there, original - back, 0.0), np.where(there, original - self.center, 0.0)
        nothing = np.isnan(back).any(axis=1)
        self.squares.extend(np.where(nothing, np.nan, np.sum((distances / self.scale) ** 2, axis=1)))
        self.sizes.extend(np.linalg.norm(sizes / self.scale, axis=1))

    @property
    def relative(self) -> npt.NDArray[np.float64]:
        """``||x - x~|| / ||x - mean||``; for a row equal to the mean 0, or infinity after an error."""
        distance, size = np.sqrt(self.squares), np.asarray(self.sizes)
        empty = size == 0
        ratio = distance / np.where(empty, 1.0, size)
        return np.where(empty & (distance > 0), np.inf, ratio)

    @property
    def mean_square(self) -> float:
        """Mean over rows of ``||x - x~||^2``."""
        return float(np.nanmean(self.squares))

    def percentiles(self) -> dict[str, float]:
        """Return the relative error at a few percentiles of the rows."""
        # "lower" and "higher" never mix an infinity with a number.
        relative = self.relative
        return percentiles(relative[~np.isnan(relative)], "nearest")


def percentiles(values: npt.NDArray[Any], method: Any = "linear") -> dict[str, float]:
    """Return numbers at a few percentiles."""
    result = np.percentile(values, PERCENTILES, method=method).tolist()
    return {f"{p} %": value for p, value in zip(PERCENTILES, result, strict=True)}


def rebuilt(
    model: Any, table: Table, count: int, errors: Errors, result: Any = None, limit: int = 0
) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield blocks of reconstructions from the first components, and add their errors.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    table : Table
        The originals.
    count : int
        The number of components.
    errors : Errors
        Collects the errors of every block.
    result : array of shape (n_samples, ...), optional
        Known reconstructions.
    limit : int
        Bytes of working memory, for a table in a file.

    Yields
    ------
    rows : slice
    back : ndarray of shape (rows, n_features)
    """
    for chunk, piece in pieces_of(table, limit):
        if result is None:
            scores = np.array(model.transform(piece))
            scores[:, count:] = 0
        values = piece.flat
        for rows in slices(values.shape[0], max(1, BLOCK_BYTES // (8 * values.shape[1]))):
            back = np.asarray(model.inverse_transform(scores[rows]) if result is None else result[rows])
            back = back.reshape(rows.stop - rows.start, -1)
            errors.add(dense(values[rows]), back)
            yield slice(chunk.start + rows.start, chunk.start + rows.stop), back
