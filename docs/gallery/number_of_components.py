"""
How many components are more than noise?
========================================

A table with five strong directions, and what each rule answers. The truth is known, because the
data are generated.
"""

import numpy as np

from gramian import PCA, choose_components, figures

rng = np.random.default_rng(0)
signal = rng.standard_normal((300, 5)) * [7, 6, 5, 4, 3]
X = signal @ np.linalg.qr(rng.standard_normal((40, 5)))[0].T + rng.standard_normal((300, 40))

# %%
# Each rule states its evidence. Six of the eight rules that look for noise answer five, the others
# four. A share of the variance answers another question, and keeps much of the noise.

rules = choose_components(X, random_state=0)
print(rules)

# %%
# The scree plot marks the answer of each rule.

pca = PCA(20).fit(X)
figures.scree(pca, rules)

# %%
# The gap after the fifth eigenvalue is visible. The error bounds below show that rounding cannot
# close it.

figures.eigenvalues(pca)
