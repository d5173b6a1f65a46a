"""Tables that stay in their files, piece by piece."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import pace, slices, told
from gramian.errors import DataError
from gramian.rows import as_rows
from gramian.rows.kinds.dask import DaskTable, computed
from gramian.rows.lazy.array import LazyArray
from gramian.rows.table import Table

PIECE_BYTES = 64 << 20


def is_stored(table: Table) -> bool:
    """Whether the numbers of a table are in a file, and not in memory."""
    return isinstance(table.values, LazyArray)


def pieces_of(table: Table, limit: int) -> Iterator[tuple[slice, Table]]:
    """Yield consecutive rows of a table in a file; a table in memory is one piece.

    Parameters
    ----------
    table : Table
    limit : int
        Bytes of working memory, of which a piece takes a small part.
    """
    if not is_stored(table):
        yield slice(0, table.values.shape[0]), table
        return
    rows = as_rows(table, check_finite=False, limit=limit)
    n, d = rows.shape
    began = time.perf_counter()
    parts = slices(n, max(1, min(PIECE_BYTES, limit // 16) // (8 * d)))
    for part in told(parts, "piece", text=lambda done: pace(parts[done].start, n, "rows", began)):
        values = rows.block(part).values
        if table.picture_shape is not None:
            values = values.reshape(-1, *table.picture_shape)
        names = None if table.row_names is None else table.row_names[part]
        labels = None if table.labels is None else table.labels[part]
        yield part, replace(table, values=values, row_names=names, labels=labels)


def mapped(model: Any, table: Table, limit: int) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield what a fitted model makes of the rows of a table, as rows of numbers.

    Raises
    ------
    DataError
        That names the row of the file, and not that of the piece.
    """
    if isinstance(table.values, DaskTable):
        yield from computed(model.transform(table))
        return
    for part, piece in pieces_of(table, limit):
        try:
            found = np.asarray(model.transform(piece))
        except DataError:
            as_rows(table, limit=limit)
            raise
        yield part, found.reshape(len(found), -1)
