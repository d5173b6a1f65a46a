"""
Spectra: loadings as lines over a wavelength
============================================

The columns of a spectrum are ordered, so its loadings are lines. Here a peak changes its height, and
moves by some nanometres.
"""

import numpy as np
import pandas as pd

from gramian import PCA, figures

rng = np.random.default_rng(0)
wavelength = np.arange(900, 1300, 2)
center = rng.normal(1050, 4, (80, 1))
height = rng.uniform(0.5, 1.5, (80, 1))
spectra = height * np.exp(-((wavelength - center) ** 2) / 2 / 25**2) + 0.01 * rng.standard_normal((80, 200))
table = pd.DataFrame(spectra, columns=[f"{value} nm" for value in wavelength])

# %%
# PC1 has the shape of the peak: it is the height. PC2 has the shape of the derivative: it is the
# move. Names of columns that are numbers with a unit become the axis.

pca = PCA(2).fit(table)
figures.loadings(pca).set_xlabel("wavelength (nm)")

# %%
# The colour is the position of the peak. It changes along PC2, and hardly along PC1.

figures.scores(pca, table, hue=center.ravel())
