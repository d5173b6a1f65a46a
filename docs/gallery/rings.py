"""
Two rings: what PCA misses and kernel PCA shows
===============================================

One ring lies inside another. No line separates them, but a threshold on the third component of
kernel PCA does.
"""

from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression

from gramian import PCA, KernelPCA, choose_kernel, figures

X, ring = make_circles(400, noise=0.05, factor=0.4, random_state=0)
train, test = slice(0, 200), slice(200, 400)

# %%
# Fit both on half of the points, and classify the other half by a plane in the space of the scores.

models = [PCA(2).fit(X[train]), KernelPCA(3, kernel="rbf", gamma=2.0).fit(X[train])]
for model in models:
    plane = LogisticRegression().fit(model.transform(X[train]), ring[train])
    accuracy = plane.score(model.transform(X[test]), ring[test])
    print(f"{type(model).__name__}: {accuracy:.0%} of new points classified correctly")

# %%
# Lines of equal score: straight for PCA, nearly circles for PC3 of kernel PCA. A threshold on PC3
# separates the rings.

figures.kernel_contours(models, X, hue=ring)

# %%
# ``choose_kernel`` compares kernels on held-out points. All but the linear and the cosine kernel
# separate the rings.

figures.selection(choose_kernel(X, ring, random_state=0))
