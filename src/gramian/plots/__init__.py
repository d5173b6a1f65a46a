"""Shows fitted models: scores, variances and component pictures.

Charts are SVG text without any dependency; pictures need Pillow (``pip install "gramian[images]"``).
Both show themselves in a notebook and have ``save(path)``.

Examples
--------
>>> import numpy as np
>>> import gramian
>>> X = np.random.default_rng(0).normal(size=(30, 4))
>>> chart = gramian.plots.scores(gramian.PCA(2).fit(X), X, labels=["a"] * 15 + ["b"] * 15)
>>> chart.svg[:4]
'<svg'
"""

from gramian.plots.charts import Chart
from gramian.plots.figures import components, scores, variances
from gramian.plots.pictures import Picture

__all__ = ["Chart", "Picture", "components", "scores", "variances"]
