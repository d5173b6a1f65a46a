"""What the components of a fitted model have to do with metadata of the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import as_float64, from_numpy, memory_limit_bytes
from gramian.core.checks import check_integer
from gramian.core.records import FloatArray
from gramian.engine.centered import center_rows
from gramian.errors import ParameterError
from gramian.statistics.associations import Description, described
from gramian.statistics.components import column_names, kind_of
from gramian.tables.metadata import Metadata, as_metadata, labels_of
from gramian.tables.rows import Rows

Top = list[list[tuple[str, float]]]


def describe(model: Any, X: Any, meta: Any = None, *, top: int = 5) -> Description:
    """Describe each component by its columns, and by the metadata that explain its scores.

    A large r2 of a batch, a plate or a scanner on the first components shows a batch effect.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
        The model whose components are described.
    X : array-like of shape (n_samples, n_features)
        Rows of the fit or new ones; files may be larger than memory.
    meta : path, frame, mapping of str to arrays, or array-like of shape (n_samples,), optional
        Metadata of the rows: the path of a table, a frame of pandas or Polars, columns by name, or one label
        for each row. It is joined by row names if both have them (the index of a frame of pandas, a column
        of names in a file), else by order. By default the labels of a file that was scanned. Rows without a
        value are left out, for each column by itself; a column with infinite values is left out whole. Text
        and booleans are categories, and so are whole numbers with at most 10 distinct values.
    top : int, default=5
        Number of columns to list for each component.

    Returns
    -------
    Description
        Print it, or use ``.table()``; ``gramian.figures.metadata`` draws it.

    Raises
    ------
    DataError
        If metadata and rows cannot be joined.
    ParameterError
        For another model, and without metadata.

    References
    ----------
    Leek et al. (2010), Tackling the widespread and critical impact of batch effects in high-throughput data.
    Benjamini and Hochberg (1995), Controlling the false discovery rate.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> rng = np.random.default_rng(0)
    >>> batch = np.repeat(["monday", "friday"], 20)
    >>> X = rng.normal(size=(40, 6)) + 3.0 * (batch == "friday")[:, None]
    >>> description = gramian.describe(gramian.PCA(2).fit(X), X, {"batch": batch, "age": rng.normal(size=40)})
    >>> description.variables, description.r2[0].round(2).tolist()
    (['batch', 'age'], [0.9, 0.0])
    """
    check_is_fitted(model)
    if not kind_of(model).gives_scores or not hasattr(model, "_scores"):
        kind = type(model).__name__
        raise ParameterError("model", allowed=f"is a {kind}, but must be a fitted PCA or KernelPCA")
    check_integer("top", top, 0)
    rows: Rows = model._new_rows(X, limit=memory_limit_bytes(model.memory_limit))
    source = "the data" if rows.table is None else rows.table.source
    labels = labels_of(rows.table) if meta is None and rows.table is not None else {}
    if meta is None and not labels:
        hint = 'Pass meta, or read the data with label="sex,age" of gramian.scan.'
        raise ParameterError("meta", allowed="is needed", hint=hint)
    metadata = Metadata(labels) if meta is None else as_metadata(meta)
    columns, joined = metadata.joined(rows.shape[0], rows.row_names, source)
    scores = as_float64(model._scores(rows))
    kernel = model.model_kind.kernel
    weights = np.empty((0, scores.shape[1]))
    if top:
        weights = _correlations(model, rows, scores) if kernel else as_float64(model.components_).T
    largest, kind = _largest(weights, column_names(model), top), "correlation" if kernel else "loading"
    variances = as_float64(model.explained_variance_)
    named = (name for component in largest for name, _ in component)
    texts = [] if rows.table is None else rows.table.described(named)
    return replace(
        described(scores, variances, columns, largest, kind, "" if meta is None else joined), texts=texts
    )


def _correlations(model: Any, rows: Rows, scores: FloatArray) -> FloatArray:
    """Return the correlations of columns with scores, shape (d, k); no columns for a precomputed kernel."""
    if model.kernel_ is None:
        return np.empty((0, scores.shape[1]))
    view = center_rows(rows.here(), center=True, scale=None, ddof=0)
    Z = scores - scores.mean(axis=0)
    Z = Z / np.where(Z.any(axis=0), np.linalg.norm(Z, axis=0), 1.0)
    Z = from_numpy(np.ascontiguousarray(Z, dtype=view.arithmetic), rows.like)
    products = as_float64(view.transposed_times(Z))
    norms = np.sqrt(view.column_squares)[:, None]
    return np.divide(products, norms, out=np.zeros(products.shape), where=norms > 0)


def _largest(weights: FloatArray, names: list[str], count: int) -> Top:
    order = np.argsort(-np.abs(weights), axis=0, kind="stable")[:count]
    return [[(names[i], float(weights[i, j])) for i in order[:, j]] for j in range(weights.shape[1])]
