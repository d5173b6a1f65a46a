"""
Single cells: sparse counts of eight kinds
==========================================

Counts of genes in cells are mostly 0. gramian keeps them sparse, and centres without filling the zeros.
With AnnData, ``gramian.connect.anndata.pca`` takes the place of ``scanpy.pp.pca``.
"""

import numpy as np
from scipy import sparse

from gramian import PCA

rng = np.random.default_rng(0)
levels = rng.lognormal(-3, 1.2, 1000) * np.where(rng.random((8, 1000)) < 0.06, 8, 1)
kind = rng.integers(8, size=1500)
counts = rng.poisson(levels[kind] * rng.lognormal(0, 0.3, (1500, 1))).astype("f4")
X = sparse.csr_matrix(np.log1p(counts))
print(f"{X.shape[0]} cells x {X.shape[1]} genes, {X.nnz / np.prod(X.shape):.0%} of the entries are not 0")

# %%
# Seven components separate eight kinds; the others are the noise of counting.

model = PCA(20).fit(X)
print(model.certificate_.brief)
model.plot(X, hue=[f"kind {number}" for number in kind])
