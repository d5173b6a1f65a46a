"""Reconstructions of rows from some components, and their errors."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64, dense
from gramian.checks import slices
from gramian.plots.images import center_of
from gramian.plots.pixels import grey
from gramian.report.picture_folder import grey_limits, write_picture_folder
from gramian.report.pieces import pieces_of
from gramian.report.tables import feature_names, write_blocks
from gramian.rows.kinds.dask import DaskTable, computed
from gramian.rows.table import Table

LIST = "reconstruction.csv"
BLOCK_BYTES = 64 << 20
PERCENTILES = (0, 10, 50, 90, 100)


@dataclass
class Errors:
    """The errors of reconstructions, row by row.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        The model's mean.
    squares, sizes : array of float
        ``||x - x~||^2`` and ``||x - mean||`` of every row.
    """

    center: npt.NDArray[Any]
    squares: array[float] = field(default_factory=lambda: array("d"))
    sizes: array[float] = field(default_factory=lambda: array("d"))

    def add(self, original: npt.NDArray[Any], back: npt.NDArray[Any]) -> None:
        """Add a block of rows."""
        original = as_float64(original)
        # Observed entries only; NaN for rows of which none is reconstructed.
        known = ~np.isnan(original)
        distances, sizes = np.where(known, original - back, 0.0), np.where(known, original - self.center, 0.0)
        nothing = np.isnan(back).any(axis=1)
        self.squares.extend(np.where(nothing, np.nan, np.sum(distances**2, axis=1)))
        self.sizes.extend(np.linalg.norm(sizes, axis=1))

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
    found : array of shape (n_samples, ...), optional
        Known reconstructions.
    limit : int
        Bytes of working memory, for a table in a file.

    Yields
    ------
    rows : slice
    back : ndarray of shape (rows, n_features)
    """
    if isinstance(table.values, DaskTable):
        lazy = model.transform(table)
        lazy[:, count:] = 0
        for part, original, back in computed(table.values.lazy, model.inverse_transform(lazy)):
            errors.add(original, back)
            yield part, back
        return
    for part, piece in pieces_of(table, limit):
        if result is None:
            scores = np.array(model.transform(piece))
            scores[:, count:] = 0
        values = piece.flat
        for rows in slices(values.shape[0], max(1, BLOCK_BYTES // (8 * values.shape[1]))):
            back = np.asarray(model.inverse_transform(scores[rows]) if result is None else result[rows])
            back = back.reshape(rows.stop - rows.start, -1)
            errors.add(dense(values[rows]), back)
            yield slice(part.start + rows.start, part.start + rows.stop), back


def write_rows(
    target: Any, kind: str, model: Any, table: Table, count: int, result: Any = None, limit: int = 0
) -> Errors:
    """Write reconstructions as a table with row and column names."""
    errors = Errors(center_of(model))
    blocks = rebuilt(model, table, count, errors, result, limit)
    write_blocks(target, table, blocks, kind, feature_names(table))
    return errors


def write_pictures(folder: Path, model: Any, table: Table, count: int, result: Any = None) -> Errors:
    """Write reconstructed pictures as PNG files, with a table of errors and a sheet that compares some.

    Raises
    ------
    FileError
        If the folder contains other files.
    MissingExtraError
        If Pillow is not installed.
    """
    errors, limits = Errors(center_of(model)), grey_limits(table)
    blocks = rebuilt(model, table, count, errors, result)
    pictures = (grey(row.reshape(table.picture_shape or ()), *limits) for _, back in blocks for row in back)
    write_picture_folder(
        folder,
        table,
        pictures,
        LIST,
        about=lambda: {"relative error": errors.relative, "square error": errors.squares},
        captions=lambda chosen: [f"error {error:.3f}" for error in errors.relative[chosen]],
    )
    return errors
