"""Reconstruction error against the number of components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.components import kind_of
from gramian.errors import DataError
from gramian.plots.names import fitted
from gramian.plots.style import COLOURS, HEIGHT, axis, layered, limits
from gramian.records import ModelKind


def reconstruction_errors(model: Any, X: Any) -> Any:
    """Draw the relative error of reconstructions from r components, for r from 0 to all of the model.

    Parameters
    ----------
    model : fitted PCA
        The model that reconstructs the rows.
    X : array-like of shape (n_samples, n_features), or dict of str to array-like
        Rows, or several sets of rows by name, such as ``{"fitted": X, "new": Y}``.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each set and r: set, components, and the relative error
        ``sqrt(sum ||x - x~||^2 / sum ||x - mean||^2)``.

    Raises
    ------
    DataError
        For another model, and for rows that are all equal to the mean.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
    >>> chart = gramian.plots.reconstruction_errors(gramian.PCA().fit(X), X)
    >>> np.round(chart.data["error"].to_pylist(), 4).tolist()
    [1.0, 0.2046, 0.0]
    """
    if kind_of(fitted(model)) is not ModelKind.PCA:
        raise DataError(
            f"Errors for every number of components are those of a PCA, not of a {type(model).__name__}."
        )
    sets = dict(X) if isinstance(X, Mapping) else {"rows": X}
    columns: dict[str, list[Any]] = {"set": [], "components": [], "error": []}
    for name, rows in sets.items():
        sums = model.reconstruction_errors(rows).sum(axis=0)
        if not sums[0] > 0:
            raise DataError(f"The {name} are all equal to the mean, so they have no relative error.")
        columns["set"] += [str(name)] * len(sums)
        columns["components"] += range(len(sums))
        columns["error"] += np.sqrt(sums / sums[0]).tolist()
    plain = alt.Axis(format="d", tickMinStep=1)
    x = axis(
        alt.X, "components", "number of components", limits(columns["components"], margin=0.03), axis=plain
    )
    y = axis(alt.Y, "error", "relative error of the reconstruction", limits(columns["error"], zero=True))
    lines = alt.Chart().encode(
        x=x, y=y, tooltip=["set:N", "components:Q", alt.Tooltip("error:Q", format=".4f")]
    )
    scale = alt.Scale(domain=list(sets), range=list(COLOURS[: len(sets)]))
    several = alt.Color("set:N", title=None, scale=scale)
    lines = lines.encode(color=several if len(sets) > 1 else alt.value(COLOURS[0]))
    marks = [lines.mark_line(strokeWidth=1.6)]
    if len(columns["error"]) <= 60 * len(sets):
        marks.append(lines.mark_point(filled=True, size=30, opacity=1))
    said = "Distance of rows from their reconstruction over their distance from the mean (root mean squares)."
    return layered(columns, marks, "Reconstruction error", said, height=HEIGHT - 60)
