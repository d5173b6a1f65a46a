"""
Spectra: loadings as lines over a wavelength
============================================

Columns of a spectrum are ordered. Loadings are then lines, and a peak that moves appears as a
derivative.
"""

import numpy as np
import pandas as pd

from gramian import PCA, Whitener, plots

rng = np.random.default_rng(0)
wavelength = np.arange(900, 1300, 2)
center = rng.normal(1050, 12, (80, 1))
height = rng.uniform(0.5, 1.5, (80, 1))
spectra = height * np.exp(-((wavelength - center) ** 2) / 2 / 25**2) + 0.01 * rng.standard_normal((80, 200))
table = pd.DataFrame(spectra, columns=[f"{value} nm" for value in wavelength])

# %%
# PC1 and PC2 are the height of the peak and its position. Names of columns that are numbers with a
# unit become the axis.

pca = PCA(3).fit(table)
plots.loadings(pca, position="wavelength (nm)")

# %%
# Neighbouring wavelengths are correlated. Whitening gives columns of variance 1 without
# correlation.

white = Whitener("zca", n_components=10).fit(table)
plots.whitening(white, table, x=60, y=90)
