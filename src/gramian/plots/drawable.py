"""Which figures there are of a fitted model, with and without rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian import plots
from gramian.analysis.components import kind_of
from gramian.checks import evenly
from gramian.estimators.pca import PCA
from gramian.plots.images import MOST_REBUILT


def drawable(
    model: Any,
    table: Any = None,
    *,
    color: Any = None,
    x: int | str = 1,
    y: int | str = 2,
    linked: bool = False,
) -> dict[str, Callable[[], Any]]:
    """Return what draws each figure that there can be, by its name.

    Parameters
    ----------
    model : fitted estimator
    table : Table, optional
        Rows to draw.
    color, x, y, linked
        As for :func:`gramian.plots.scores`.
    """
    kind, given = kind_of(model), table is not None
    known, maps = kind.has_components, kind.gives_scores
    linear = maps and kind.linear
    faces, whitens = kind.faces, kind.whitens
    pictures = known and getattr(model, "picture_shape_", None) is not None
    plane = linear and not pictures and given and model.n_components_ > 1
    points = {"x": x, "y": y, "color": color}
    figures: dict[str, tuple[bool, Callable[[], Any]]] = {
        "scree": (known, lambda: plots.scree(model)),
        "eigenvalues": (known, lambda: plots.eigenvalues(model)),
        "scores": (maps and given, lambda: plots.scores(model, table, linked=linked, **points)),
        "loadings": (linear and not pictures, lambda: plots.loadings(model)),
        "biplot": (plane, lambda: plots.biplot(model, table, **points)),
        "correlation-circle": (plane, lambda: plots.correlation_circle(model, table, x=x, y=y)),
        "components": (pictures and (linear or faces), lambda: plots.components(model)),
        "reconstructions": (maps and pictures and given, lambda: plots.reconstructions(model, _some(table))),
        "contours": (maps and given and model.n_features_in_ == 2, lambda: _contours(model, table, color)),
        "whitening": (whitens and given, lambda: plots.whitening(model, table, x=x, y=y)),
        "face-scores": (faces, lambda: plots.face_scores(model)),
    }
    return {name: draw for name, (possible, draw) in figures.items() if possible}


def _some(table: Any) -> Any:
    """Return a few pictures from all over a table: the first may all be of one kind."""
    values = table.values
    return values[evenly(len(values), MOST_REBUILT)] if isinstance(values, np.ndarray) else table


def _contours(model: Any, table: Any, color: Any) -> Any:
    """Draw contours beside those of plain PCA."""
    alone = kind_of(model).linear or len(table.values) < 2
    return plots.kernel_contours([model] if alone else [PCA(2).fit(table), model], table, color=color)
