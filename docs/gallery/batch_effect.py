"""
Batch effects: what explains a component?
=========================================

Wines of three cultivars were measured in two batches, and the second batch reads too much in five of
the 13 columns. Which components show the cultivar, and which the batch?
"""

import numpy as np
from sklearn.datasets import load_wine

from gramian import PCA, describe, figures

wine = load_wine(as_frame=True)
rng = np.random.default_rng(0)
batch = rng.integers(0, 2, len(wine.data))
measured = wine.data + 2.5 * batch[:, None] * wine.data.std().to_numpy() * (np.arange(13) % 3 == 0)

# %%
# ``describe`` computes the share of the variance of each component that the metadata explain. Both
# explain much of PC1 and of PC2: no component shows the cultivar alone.

meta = {"batch": np.where(batch, "second", "first"), "cultivar": wine.target_names[wine.target]}
pca = PCA(5, scale="unit").fit(measured)
figures.metadata(describe(pca, measured, meta))

# %%
# The batches (colour) lie beside each other, and each repeats the pattern of the cultivars (shape).

figures.scores(pca, measured, hue=meta["batch"], style=meta["cultivar"])

# %%
# Subtract the means of each batch: it then explains nothing of any component. Do so only if the
# batches have the same mixture of cultivars, or you subtract a part of their difference too.

corrected = measured - measured.groupby(batch).transform("mean")
figures.metadata(describe(PCA(5, scale="unit").fit(corrected), corrected, meta))
