"""Scores, distances and residuals of all rows, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import as_float64, dense
from gramian.checks import evenly, slices
from gramian.plots.images import center_of
from gramian.report.figures import MOST_DRAWN
from gramian.report.pieces import pieces_of
from gramian.report.reconstruction import BLOCK_BYTES, Errors
from gramian.rows.table import Table


@dataclass(frozen=True, eq=False)
class Survey:
    """The result of a pass over all rows.

    Attributes
    ----------
    scores : ndarray
        The first two of all rows, or of those in ``shown``.
    shown : list of int or None
    distances : ndarray of shape (n_samples,)
        Hotelling's T squared: the sum over components of ``score ** 2 / variance``.
    errors : Errors or None
        Of reconstructions from all components, in the units of scaled columns; None under a kernel, where
        they need a pre-image.
    repeated : int or None
        Rows equal to an earlier one; None for too many rows.
    """

    scores: npt.NDArray[Any]
    shown: list[int] | None
    distances: npt.NDArray[np.float64]
    errors: Errors | None
    repeated: int | None


def survey(model: Any, table: Table, limit: int) -> Survey:
    """Map all rows of a table, in pieces if it is in a file.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    table : Table
    limit : int
        Bytes of working memory.

    References
    ----------
    Jackson and Mudholkar (1979), Control procedures for residuals associated with principal component
    analysis, Technometrics 21.
    """
    n = table.values.shape[0]
    kept = np.array(evenly(n, MOST_DRAWN))
    variances = np.asarray(model.explained_variance_)[: model.rank_]
    variances = np.ones(len(variances)) if getattr(model, "whiten", False) else variances
    scale = getattr(model, "scale_", None)
    divisor = 1.0 if scale is None else as_float64(scale)
    errors = Errors(center_of(model) / divisor) if model.model_kind.linear else None
    drawn, distances = [], []
    different: set[int] = set()
    for part, piece in pieces_of(table, limit):
        scores = np.asarray(model.transform(piece)).reshape(part.stop - part.start, -1)
        first, last = np.searchsorted(kept, [part.start, part.stop])
        drawn.append(scores[kept[first:last] - part.start, :2])
        distances.append((as_float64(scores[:, : len(variances)]) ** 2 / variances).sum(axis=1))
        flat = piece.flat
        for rows in slices(flat.shape[0], max(1, BLOCK_BYTES // (8 * flat.shape[1]))):
            values = np.ascontiguousarray(dense(flat[rows]))
            if errors is not None:
                back = np.asarray(model.inverse_transform(scores[rows]))
                errors.add(as_float64(values) / divisor, back.reshape(values.shape) / divisor)
            if n <= MOST_DRAWN:
                different.update(hash(row.tobytes()) for row in values)
    return Survey(
        np.concatenate(drawn),
        kept.tolist() if len(kept) < n else None,
        np.concatenate(distances),
        errors,
        n - len(different) if n <= MOST_DRAWN else None,
    )
