"""Rows rebuilt from a few components, and how far they are from the originals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64
from gramian.errors import FileError
from gramian.plots.pictures import Picture, contact_sheet, grey, require_pillow
from gramian.report.results import grey_limits
from gramian.report.tables import feature_names, row_columns, row_names, write_table
from gramian.rows.table import Table

__all__ = ["Errors", "picture_names", "rebuilt", "write_pictures", "write_rows"]

LIST, SHEET = "reconstruction.csv", "comparison.png"
BLOCK_BYTES = 64 << 20
COMPARED = 8
PERCENTILES = (0, 10, 50, 90, 100)


@dataclass
class Errors:
    """How far rebuilt rows are from the originals, row by row.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        The model's mean.
    squares, sizes : list of float
        ``||x - x~||^2`` and ``||x - mean||`` of every row.
    """

    center: npt.NDArray[Any]
    squares: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)

    def add(self, original: npt.NDArray[Any], back: npt.NDArray[Any]) -> None:
        """Take note of a block of rows."""
        original = as_float64(original)
        self.squares += np.sum((original - back) ** 2, axis=1).tolist()
        self.sizes += np.linalg.norm(original - self.center, axis=1).tolist()

    @property
    def relative(self) -> npt.NDArray[np.float64]:
        """``||x - x~|| / ||x - mean||``; for a row that is the mean 0, or infinity if it is not met."""
        distance, size = np.sqrt(self.squares), np.asarray(self.sizes)
        empty = size == 0
        ratio = distance / np.where(empty, 1.0, size)
        return np.where(empty & (distance > 0), np.inf, ratio)

    @property
    def mean_square(self) -> float:
        """Mean over rows of ``||x - x~||^2``."""
        return float(np.mean(self.squares))

    def percentiles(self) -> dict[str, float]:
        """Return the relative error at a few percentiles of the rows."""
        # "lower" and "higher" never mix an infinity with a number.
        values = np.percentile(self.relative, PERCENTILES, method="nearest")
        return {f"{p} %": float(value) for p, value in zip(PERCENTILES, values, strict=True)}


def rebuilt(
    model: Any, table: Table, count: int, errors: Errors, found: Any = None
) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield blocks of rows rebuilt from the first components, adding their errors.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    table : Table
        The originals.
    count : int
        How many components.
    errors : Errors
        What every block adds its errors to.
    found : array of shape (n_samples, ...), optional
        Rows that were rebuilt already.

    Yields
    ------
    rows : slice
    back : ndarray of shape (rows, n_features)
    """
    if found is None:
        scores = np.array(model.transform(table))
        scores[:, count:] = 0
    values = table.values.reshape(len(table.values), -1)
    step = max(1, BLOCK_BYTES // (8 * values.shape[1]))
    for start in range(0, len(values), step):
        rows = slice(start, min(start + step, len(values)))
        back = np.asarray(model.inverse_transform(scores[rows]) if found is None else found[rows])
        back = back.reshape(rows.stop - start, -1)
        errors.add(values[rows], back)
        yield rows, back


def _center(model: Any) -> npt.NDArray[Any]:
    """Return what the model subtracts from rows, or kernel PCA in feature space: their mean, or nothing."""
    if hasattr(model, "mean_"):
        return as_float64(model.mean_)
    fitted = as_float64(model.X_fit_)
    return fitted.mean(axis=0) if model.center else np.zeros(fitted.shape[1])


def write_rows(target: Any, kind: str, model: Any, table: Table, count: int, found: Any = None) -> Errors:
    """Write rebuilt rows as a table with the names of rows and columns."""
    errors = Errors(_center(model))
    back = np.concatenate([block for _, block in rebuilt(model, table, count, errors, found)])
    names = feature_names(table)
    left = {
        title if title not in names else f"{title} (row)": entries
        for title, entries in row_columns(table).items()
    }
    write_table(target, left | dict(zip(names, back.T, strict=True)), kind)
    return errors


def write_pictures(folder: Path, model: Any, table: Table, count: int, found: Any = None) -> Errors:
    """Write rebuilt pictures as PNG files, their errors as a table, and a sheet that compares some.

    Raises
    ------
    FileError
        If the folder holds other things than rebuilt pictures.
    MissingExtraError
        If Pillow is not installed.
    """
    require_pillow()
    check_pictures_folder(folder)
    shape = table.picture_shape or ()
    limits = grey_limits(table)
    errors, names = Errors(_center(model)), picture_names(row_names(table)[1])
    _make(folder)
    compared: list[tuple[int, Any]] = []
    chosen = set(np.linspace(0, len(names) - 1, min(COMPARED, len(names))).astype(int).tolist())
    for rows, back in rebuilt(model, table, count, errors, found):
        for index, picture in zip(range(rows.start, rows.stop), back, strict=True):
            pixels = grey(picture.reshape(shape), *limits)
            path = folder / names[index]
            _make(path.parent)
            Picture(pixels).save(path)
            if index in chosen:
                compared.append((index, pixels))
    originals = [grey(table.values[index], *limits) for index, _ in compared]
    captions = [names[index].removesuffix(".png") for index, _ in compared]
    captions += [f"error {errors.relative[index]:.3f}" for index, _ in compared]
    sheet = contact_sheet([*originals, *(pixels for _, pixels in compared)], captions, columns=len(compared))
    sheet.save(folder / SHEET)
    columns: dict[str, Any] = {
        "picture": names,
        "relative error": errors.relative,
        "square error": errors.squares,
    }
    write_table(folder / LIST, columns, "csv")
    return errors


def check_pictures_folder(folder: Path) -> None:
    """Refuse a folder that is in use for something else, so that no original is overwritten.

    Raises
    ------
    FileError
        If it is a file, or neither empty nor written by an earlier reconstruction.
    """
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file; pictures are written into a folder. Choose another name.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / LIST).is_file():
        raise FileError(f"{folder} is not empty: pictures in it might be overwritten. Name a new folder.")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be made: {error.strerror}. Choose another place.") from error


def picture_names(names: Sequence[Any]) -> list[str]:
    """Return file names for rows, all different and inside the folder they are written to.

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
        # Some disks do not tell A.png from a.png.
        while new.casefold() in taken:
            repeat += 1
            new = f"{stem}_{repeat}.png"
        taken.add(new.casefold())
        result.append(new)
    return result


def _safe(name: str) -> str:
    parts = [re.sub(r'[<>:"|?*\x00-\x1f]', "_", part) for part in re.split(r"[/\\]", name)]
    parts = [part for part in parts if part.strip(". ")]
    path = PurePosixPath(*(part.strip() for part in parts)) if parts else PurePosixPath("picture")
    known = path.suffix.lower() in (
        ".png",
        ".jpg",
        ".jpeg",
        ".pgm",
        ".ppm",
        ".bmp",
        ".gif",
        ".tif",
        ".tiff",
        ".webp",
    )
    return (path.with_suffix("") if known else path).as_posix()
