"""Tables that stay in their files, piece by piece."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.checks import NAMES_SHOWN, counted, slices
from gramian.core.progress import pace, track
from gramian.errors import DataError, MissingValuesWarning, ignoring
from gramian.tables.as_rows import as_rows
from gramian.tables.rows import row_text
from gramian.tables.table import Table
from gramian.tables.treatment import rows_of_table, with_rows

PIECE_BYTES = 64 << 20


def completed(model: Any, table: Table) -> Table:
    """Return a table with its missing values imputed by a PCA, without rows that determine nothing.

    Scores of the rows stay what they are. A table in a file, and one for another model, stays as it is.
    """
    values = table.values
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or not hasattr(model, "impute"):
        return table
    missing = int(np.isnan(values).sum())
    if not missing:
        return table
    with ignoring(MissingValuesWarning):
        filled = np.asarray(model.impute(table))
    whole = np.isfinite(filled.reshape(len(filled), -1)).all(axis=1)
    table = replace(table, values=filled, imputed=np.isnan(values))
    places = np.flatnonzero(~whole)
    if len(places):
        names = [row_text(rows_of_table(table), place) for place in places[:NAMES_SHOWN]]
        many = counted(len(places), "row with too few values was", "rows with too few values were")
        table = with_rows(table, np.flatnonzero(whole), f"{many} left out: {', '.join(names)}")
    note = f"{counted(missing, 'missing value')} in the data: expected values under the model stand for them"
    return replace(table, notes=(*table.notes, note))


def pieces_of(table: Table, limit: int) -> Iterator[tuple[slice, Table]]:
    """Yield consecutive rows of a table in a file; a table in memory is one piece.

    Parameters
    ----------
    table : Table
    limit : int
        Bytes of working memory; a piece uses a small part.
    """
    if table.in_memory:
        yield slice(0, table.values.shape[0]), table
        return
    rows = as_rows(table, check_finite=False, limit=limit)
    n, d = rows.shape
    began = time.perf_counter()
    parts = slices(n, max(1, min(PIECE_BYTES, limit // 16) // (8 * d)))
    for part in track(parts, "piece", text=lambda done: pace(parts[done].start, n, "rows", began)):
        values = rows.block(part).values
        if table.picture_shape is not None:
            values = values.reshape(-1, *table.picture_shape)
        yield part, replace(table, values=values, **table.labels_at(part))


def mapped(
    model: Any, table: Table, limit: int, *, errors: bool = False
) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield the scores of the rows of a table, with ``errors`` also standard errors and the observed share.

    Raises
    ------
    DataError
        With the row number of the file, not of the piece.
    """
    for part, piece in pieces_of(table, limit):
        try:
            values = _with_errors(model, piece) if errors else np.asarray(model.transform(piece))
        except DataError:
            as_rows(table, limit=limit)
            raise
        yield part, values.reshape(len(values), -1)


def _with_errors(model: Any, table: Table) -> npt.NDArray[np.float64]:
    quality = model.projection_quality(table)
    return np.column_stack([quality.scores, quality.standard_errors, quality.observed])
