"""Figures of fitted models: scores, spectra, loadings and pictures.

Figures are Altair charts (``pip install "gramian[plots]"``): interactive in notebooks, written as .svg, .png,
.pdf and .html by ``save`` without a browser, and ``chart.data`` is the table behind them. Pictures need
Pillow (``pip install "gramian[images]"``). Neither is imported before the first figure.

Examples
--------
>>> import numpy as np
>>> import gramian
>>> X = np.random.default_rng(0).normal(size=(30, 4))
>>> chart = gramian.figures.scores(gramian.PCA(2).fit(X), X, color=["a"] * 15 + ["b"] * 15)
>>> chart.data.column_names
['row', 'PC1', 'PC2', 'group']
"""

from typing import Any

from gramian.core.checks import names_its_arguments
from gramian.figures.registry import FUNCTIONS, function_of

__all__ = sorted(FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS:
        raise AttributeError(f"module 'gramian.figures' has no attribute {name!r}")
    value = function_of(FUNCTIONS[name], name)
    globals()[name] = value = value if isinstance(value, type) else names_its_arguments(value)
    return value


def __dir__() -> list[str]:
    return list(__all__)
