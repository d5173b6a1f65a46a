"""
Batch effects: what explains a component?
=========================================

Measurements of three cultivars came in two batches, of which one reads too much. Which component
shows the cultivar, which one the batch?
"""

import numpy as np
from sklearn.datasets import load_wine

from gramian import PCA, describe, plots

wine = load_wine(as_frame=True)
rng = np.random.default_rng(0)
batch = rng.integers(0, 2, len(wine.data))
measured = wine.data + 2.5 * batch[:, None] * wine.data.std().to_numpy() * (np.arange(13) % 3 == 0)

# %%
# ``describe`` computes how much of the variance of each component the metadata explain.

meta = {"batch": np.where(batch, "second", "first"), "cultivar": wine.target_names[wine.target]}
pca = PCA(5, scale="unit").fit(measured)
description = describe(pca, measured, meta)
plots.metadata(description)

# %%
# Colour shows the batch and shape the cultivar.

plots.scores(pca, measured, color=meta["batch"], shape=meta["cultivar"])
