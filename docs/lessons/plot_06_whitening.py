"""
Whitening: PCA beside ZCA
=========================

White data have mean zero, variance one and no correlation. Infinitely many transforms make data
white, because any rotation of white data is white. Two of them matter: one gives scores, the
other stays as near to the data as possible.
"""

import numpy as np
from sklearn.datasets import load_iris

from gramian import PCA, Whitener, plots
from gramian.faces import drawn_faces

X = load_iris().data
C = X - X.mean(axis=0)
variances, U = np.linalg.eigh(np.cov(X.T))
root = np.diag(variances**-0.5)

# %%
# The covariance is S = U L U^T. PCA whitening divides the scores by their standard deviations: z =
# L^(-1/2) U^T (x - m). ZCA rotates back: z = U L^(-1/2) U^T (x - m) = S^(-1/2) (x - m).

pca_white, zca_white = C @ (root @ U.T).T, C @ (U @ root @ U.T).T
assert np.allclose(np.cov(pca_white.T), np.eye(4))
assert np.allclose(np.cov(zca_white.T), np.eye(4))
assert np.allclose(np.abs(Whitener("pca").fit_transform(X)), np.abs(pca_white[:, ::-1]))
assert np.allclose(Whitener("zca").fit_transform(X), zca_white)

# %%
# The first and third columns of iris, and the same axes after whitening. After PCA whitening they are
# components, PC1 and PC3; after ZCA they are still columns, changed as little as possible.

plots.whitening([Whitener("pca").fit(X), Whitener("zca").fit(X)], X, x=1, y=3)

# %%
# ZCA is the nearest
# ------------------
#
# Among all rotations R, z = R S^(-1/2) (x - m) is nearest to x - m for R = I.

rng = np.random.default_rng(0)
distance = ((zca_white - C) ** 2).sum()
for _ in range(100):
    R = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    assert ((zca_white @ R.T - C) ** 2).sum() > distance

# %%
# Pictures
# --------
#
# The 40 scores of PCA whitening, drawn as grey values from the top left, look like noise: they are
# coordinates, not pixels. ZCA gives a value for each pixel. Light, which has large variances, becomes
# weak, and edges stand out.

faces = drawn_faces(60, 10, size=(24, 28)).pictures
models = [Whitener(method, n_components=40).fit(faces) for method in ("pca", "zca")]
plots.whitening(models, faces)

# %%
# Directions without variance
# ---------------------------
#
# With fewer rows than columns some variances are zero. Dividing by their rounding errors would fill the
# result with noise, so such directions are left out. Or `regularize <../whitening.html>`_ every variance.

few = rng.standard_normal((20, 100))
white = Whitener().fit(few)
assert white.rank_ == 19
Z = white.transform(few)
gaps = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)[np.triu_indices(20, 1)]
assert np.allclose(gaps, gaps[0])  # without regularization all rows are equally far from each other

# %%
# Slips of well-known notes
# -------------------------
#
# **"Whitening needs L^(1/2)."** Multiplying by the standard deviations squares the variances;
# divide by them.

assert not np.allclose(np.cov((C @ U @ np.diag(variances**0.5)).T), np.eye(4))
assert np.allclose(np.diag(np.cov((C @ U @ np.diag(variances**0.5)).T)), variances**2)

# %%
# **"Standardised columns are white."** They have variance one, but they are correlated.

standard = C / C.std(axis=0, ddof=1)
assert np.allclose(np.diag(np.cov(standard.T)), 1)
assert abs(np.corrcoef(X.T)[2, 3]) > 0.9

# %%
# Exercises
# ---------
#
# 1. Rotate white data by 45 degrees. Are they white?

a = np.pi / 4
turned = zca_white[:, :2] @ [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
assert np.allclose(np.cov(turned.T), np.eye(2))

# %%
# 2. How do you undo whitening?

model = Whitener("zca").fit(X)
assert np.allclose(model.inverse_transform(model.transform(X)), X)

# %%
# 3. What are the eigenvalues of PCA after whitening, and what does that say of PCA on white data?

assert np.allclose(PCA().fit(zca_white).explained_variance_, 1)  # every direction is as good

# %%
# 4. Which parameter of PCA whitens scores?

assert np.allclose(PCA(whiten=True).fit_transform(X), Whitener("pca").fit_transform(X))
