"""The table of a fitted kernel PCA: which rows are near its components, and contribute to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.core import checks, records
from gramian.core.arrays import as_float64, from_numpy, memory_limit_bytes, to_float64
from gramian.errors import IndefiniteKernelError, ParameterError
from gramian.models.kernel_pca.preimages import residuals
from gramian.models.pca.tables import COLUMNS, ROWS, fitted_rows, row_names_of
from gramian.statistics.tables import Items, row_items, rows_frame
from gramian.tables.rows import Rows


def kernel_table(model: Any, of: str, X: Any, supplementary: Any) -> Any:
    """Return the table of a kernel PCA; see :meth:`gramian.KernelPCA.table`."""
    if checks.check_choice("of", of, (ROWS, COLUMNS)) == COLUMNS:
        raise ParameterError(
            "of",
            of,
            "needs components that are directions of the columns; those of a KernelPCA lie in feature space",
            "Ask for the table of rows, or describe the model for correlations of columns with scores.",
        )
    rows = fitted_rows(model, X)
    sums = None if vars(model).get("_unequal", False) else as_float64(model.eigenvalues_)
    parts, data = [_kernel_rows(model, "row", rows, sums)], [X]
    if supplementary is not None:
        others = model._new_rows(supplementary, limit=memory_limit_bytes(model.memory_limit))
        parts.append(_kernel_rows(model, "supplementary row", others, None))
        data.append(supplementary)
    return rows_frame(parts, model.n_components_, data)


def _kernel_rows(model: Any, kind: str, rows: Rows, sums: records.FloatArray | None) -> Items:
    """Return rows with their squared cosines, where the kernel of a row with itself is known."""
    scores = as_float64(model._scores(rows))
    squares = np.full(len(scores), np.nan)
    if model.preimage_.goes_back and rows.in_one_place:
        space, r = model._space(rows.like), model.rank_
        try:
            left = [
                residuals(
                    space,
                    model._standardised(to_float64(block.dense)),
                    from_numpy(scores[block.rows, :r], rows.like),
                )
                for block in rows.blocks()
            ]
            squares = np.concatenate(left) ** 2 + np.sum(scores**2, axis=1)
        except IndefiniteKernelError:
            pass  # such a kernel has no distances
    items = row_items(kind, row_names_of(rows), scores, squares, sums)
    if np.isfinite(squares).all():
        return items
    statistics = {name: values for name, values in items.statistics.items() if name != "cos2"}
    return Items(kind, items.names, statistics)
