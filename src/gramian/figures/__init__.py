"""Figures of fitted models: scores, spectra, loadings and pictures.

Each function draws with matplotlib (``pip install "gramian[plots]"``) and returns the Axes: those given as
``ax``, or of a new figure at the size of a journal, 120 x 90 mm. Your rcParams and style sheets win over our
defaults. A function whose name ends in ``_data`` returns what is drawn. Pictures need Pillow
(``pip install "gramian[images]"``). Neither is imported before the first figure.

Examples
--------
>>> import numpy as np
>>> import gramian
>>> X = np.random.default_rng(0).normal(size=(30, 4))
>>> ax = gramian.figures.scores(gramian.PCA(2).fit(X), X, hue=["a"] * 15 + ["b"] * 15)
>>> ax.figure.savefig("scores.pdf")  # doctest: +SKIP
"""

from gramian.figures.registry import FUNCTIONS
from gramian.figures.registry import public as __getattr__  # noqa: F401

__all__ = sorted(FUNCTIONS)


def __dir__() -> list[str]:
    return list(__all__)
