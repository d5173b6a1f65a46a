"""Scores and unusual rows of all rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import dense
from gramian.checks import evenly, slices
from gramian.estimators.monitor import RowStatistics, can_be_monitored, monitor_of
from gramian.report.figures import MOST_DRAWN
from gramian.report.pieces import pieces_of
from gramian.rows.table import Table

BLOCK_BYTES = 64 << 20
MOST_SCORES = 8  # components of which all scores are kept, to compare groups


@dataclass(frozen=True, eq=False)
class Survey:
    """What is shown of the rows of a table.

    Attributes
    ----------
    scores : ndarray
        The first eight of all rows, or of those in ``shown``.
    shown : list of int or None
    statistics : RowStatistics or None
        T2 and SPE with limits, alarms and contributors; None for a model of rank 0.
    repeated : int or None
        Rows equal to an earlier one; None for too many rows.
    """

    scores: npt.NDArray[Any]
    shown: list[int] | None
    statistics: RowStatistics | None
    repeated: int | None


def survey(model: Any, table: Table, limit: int, monitor: Any = None) -> Survey:
    """Map all rows of a table, in pieces if it is in a file.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    table : Table
    limit : int
        Bytes of working memory.
    monitor : Monitor, optional
        Whose limits are used; by default those that follow from the model, by theory.
    """
    n, statistics = table.values.shape[0], None
    if can_be_monitored(model):
        given = model if monitor is None else monitor
        statistics = monitor_of(given, table).statistics(table, rows="auto")
    kept = np.array(evenly(n, MOST_DRAWN))
    drawn = []
    different: set[int] = set()
    for part, piece in pieces_of(table, limit):
        scores = np.asarray(model.transform(piece)).reshape(part.stop - part.start, -1)
        first, last = np.searchsorted(kept, [part.start, part.stop])
        drawn.append(scores[kept[first:last] - part.start, :MOST_SCORES])
        if n <= MOST_DRAWN:
            flat = piece.flat
            for rows in slices(flat.shape[0], max(1, BLOCK_BYTES // (8 * flat.shape[1]))):
                different.update(hash(row.tobytes()) for row in np.ascontiguousarray(dense(flat[rows])))
    return Survey(
        np.concatenate(drawn),
        kept.tolist() if len(kept) < n else None,
        statistics,
        n - len(different) if n <= MOST_DRAWN else None,
    )
