"""Shows fitted models: figures of scores, spectra and loadings, and pictures.

Figures are Altair charts (``pip install "gramian[plots]"``): interactive in notebooks, written as .svg, .png,
.pdf and .html by ``save`` without a browser, and ``chart.data`` is the table behind them. Pictures need
Pillow (``pip install "gramian[images]"``). Nothing of either is imported before a figure is asked for.

Examples
--------
>>> import numpy as np
>>> import gramian
>>> X = np.random.default_rng(0).normal(size=(30, 4))
>>> chart = gramian.plots.scores(gramian.PCA(2).fit(X), X, color=["a"] * 15 + ["b"] * 15)
>>> chart.data.column_names
['row', 'PC1', 'PC2', 'group']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gramian.errors import needs
from gramian.plots.pixels import Picture

if TYPE_CHECKING:
    from gramian.plots.columns import biplot, correlation_circle, loadings
    from gramian.plots.contours import kernel_contours
    from gramian.plots.curves import selection
    from gramian.plots.images import components, reconstructions
    from gramian.plots.points import scores
    from gramian.plots.score_histograms import face_scores
    from gramian.plots.spectra import eigenvalues, scree
    from gramian.plots.whitening_panels import whitening
    from gramian.plots.witness import counter_example

_HOME = {
    "biplot": "columns",
    "components": "images",
    "correlation_circle": "columns",
    "counter_example": "witness",
    "eigenvalues": "spectra",
    "face_scores": "score_histograms",
    "kernel_contours": "contours",
    "loadings": "columns",
    "reconstructions": "images",
    "scores": "points",
    "scree": "spectra",
    "selection": "curves",
    "whitening": "whitening_panels",
}
__all__ = [
    "Picture",
    "biplot",
    "components",
    "correlation_circle",
    "counter_example",
    "eigenvalues",
    "face_scores",
    "kernel_contours",
    "loadings",
    "reconstructions",
    "scores",
    "scree",
    "selection",
    "whitening",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'gramian.plots' has no attribute {name!r}")
    with needs("plots", "altair", "Drawing figures"):
        value = getattr(import_module(f"gramian.plots.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
