r"""
Whitening: PCA and ZCA
======================

White data have mean zero, variance one and no correlation. Infinitely many transforms make data
white, because any rotation of white data is white. Two of them matter: one gives scores, the
other stays as near to the data as possible.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from gramian import PCA, Whitener, figures
from gramian.faces import example_faces

X = load_iris().data
C = X - X.mean(axis=0)
S = np.cov(X.T)
variances, U = np.linalg.eigh(S)
root = np.diag(variances**-0.5)

# %%
# Every whitening
# ---------------
#
# Look for a matrix :math:`W` with :math:`z = W (x - m)` white. The covariance of :math:`z` is
# :math:`W S W^T`, so the condition is
#
# .. math::
#
#    W S W^T = I .
#
# Write :math:`S = U \Lambda U^T`, with directions :math:`u_j` as columns of :math:`U` and variances on the
# diagonal of :math:`\Lambda`; all :math:`\lambda_j > 0`. *PCA whitening* divides each score by its
# standard deviation, and *ZCA* rotates back:
#
# .. math::
#
#    W_{\mathrm{PCA}} &= \Lambda^{-1/2} U^T: &
#    W S W^T &= \Lambda^{-1/2} U^T U \Lambda U^T U \Lambda^{-1/2} = I \\
#    W_{\mathrm{ZCA}} &= U \Lambda^{-1/2} U^T = S^{-1/2}: &
#    W S W^T &= S^{-1/2}\, S\, S^{-1/2} = I
#
# Every other one is a rotation (or reflection) of these. Let :math:`W` be any solution and
# :math:`R = W S^{1/2}`. Then :math:`R R^T = W S W^T = I`, so :math:`R` is orthogonal and
# :math:`W = R\, S^{-1/2}`.

pca_white, zca_white = C @ (root @ U.T).T, C @ (U @ root @ U.T).T
assert np.allclose(np.cov(pca_white.T), np.eye(4))
assert np.allclose(np.cov(zca_white.T), np.eye(4))
assert np.allclose(np.abs(Whitener("pca").fit_transform(X)), np.abs(pca_white[:, ::-1]))
assert np.allclose(Whitener("zca").fit_transform(X), zca_white)

W = np.linalg.cholesky(np.linalg.inv(S)).T
R = W @ U @ np.diag(variances**0.5) @ U.T
assert np.allclose(W @ S @ W.T, np.eye(4))
assert np.allclose(R @ R.T, np.eye(4))

# %%
# The first and third columns of iris, and the same axes after whitening. After PCA whitening they are
# components, PC1 and PC3; after ZCA they are still columns, changed as little as possible.

assert np.allclose(np.abs(PCA(whiten=True).fit_transform(X)), np.abs(pca_white[:, ::-1]))
figures.whitening(Whitener("pca").fit(X), X, components=(1, 3))
figures.whitening(Whitener("zca").fit(X), X, components=(1, 3))

# %%
# Why whiten
# ----------
#
# Distances between white samples do not depend on units or correlations of the columns:
#
# .. math::
#
#    \|z - z'\|^2 = (x - x')^T W^T W (x - x') = (x - x')^T S^{-1} (x - x') ,
#
# the Mahalanobis distance, for every whitening, because
# :math:`W^T W = S^{-1/2} R^T R\, S^{-1/2} = S^{-1}`. Methods that compare distances, or look for a
# rotation only (independent component analysis), start from white data. The price: noise in directions
# of small variance counts as much as everything else.

x, other = X[0], X[100]
mahalanobis = (x - other) @ np.linalg.inv(S) @ (x - other)
for white in (pca_white, zca_white, C @ W.T):
    assert np.isclose(((white[0] - white[100]) ** 2).sum(), mahalanobis)

# %%
# ZCA is the nearest
# ------------------
#
# With :math:`c = x - m` and :math:`W = R S^{-1/2}`, the mean square change is
#
# .. math::
#
#    E \|z - c\|^2 &= E\, z^T z + E\, c^T c - 2\, E\, z^T c \\
#    &= d + \operatorname{trace}\, S - 2 \operatorname{trace}(W S) \\
#    \operatorname{trace}(W S) &= \operatorname{trace}(R\, S^{1/2})
#    = \sum_j \sqrt{\lambda_j}\; u_j^T R\, u_j \le \sum_j \sqrt{\lambda_j}
#
# because :math:`R u_j` has length 1. Equality for :math:`R = I`: ZCA changes the samples least.

n = len(X)
distance = ((zca_white - C) ** 2).sum() / (n - 1)
assert np.isclose(distance, 4 + np.trace(S) - 2 * np.sqrt(variances).sum())
rng = np.random.default_rng(0)
for _ in range(100):
    R = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    assert ((zca_white @ R.T - C) ** 2).sum() / (n - 1) > distance

# %%
# Pictures
# --------
#
# The scores of PCA whitening, drawn as grey values from the top left, look like noise: they are
# coordinates, not pixels. ZCA gives a value for each pixel. Light, which has large variances, becomes
# weak, and edges stand out. All panels have one size.

faces = example_faces().pictures
models = [Whitener(method, n_components=100).fit(faces) for method in ("pca", "zca")]
shown = [faces[5], *(model.transform(faces[[5]])[0] for model in models)]
shown[1] = np.pad(shown[1].ravel(), (0, faces[0].size - 100)).reshape(faces[0].shape)
for panel, (picture, name) in enumerate(zip(shown, ("original", "pca", "zca"), strict=True), 1):
    plt.subplot(1, 3, panel, title=name)
    plt.imshow(np.reshape(picture, faces[0].shape), cmap="gray")

# %%
# Directions without variance
# ---------------------------
#
# With fewer samples than features some :math:`\lambda_j` are zero, and :math:`\Lambda^{-1/2}` does not
# exist. Dividing by rounding errors would fill the result with noise, so such directions are left out.
# Or `regularize <../whitening.html>`_ every variance, :math:`\lambda_j + \epsilon`.

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
# **"Whitening needs** :math:`\Lambda^{1/2}` **."** Multiplying by the standard deviations squares the
# variances; divide by them.

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
# **By hand.** 1. Give both whitening matrices of
# :math:`S = \begin{pmatrix} 2.5 & 1.5 \\ 1.5 & 2.5 \end{pmatrix}`.
#
# .. dropdown:: Solution
#
#    :math:`\lambda = 4, 1` with :math:`u_1 = (1, 1)/\sqrt 2`, :math:`u_2 = (1, -1)/\sqrt 2`. PCA whitening
#    has the rows :math:`u_1^T / 2` and :math:`u_2^T`. ZCA is :math:`\frac{1}{2} u_1 u_1^T + u_2 u_2^T =
#    \begin{pmatrix} 0.75 & -0.25 \\ -0.25 & 0.75 \end{pmatrix}`.
#
#    .. code-block:: python
#
#       zca, S2 = np.array([[0.75, -0.25], [-0.25, 0.75]]), np.array([[2.5, 1.5], [1.5, 2.5]])
#       assert np.allclose(zca @ S2 @ zca, np.eye(2))
#
# **By hand.** 2. Rotate white data by 45 degrees. Are they white?
#
# .. dropdown:: Solution
#
#    Yes: :math:`R\, I R^T = I`.
#
#    .. code-block:: python
#
#       a = np.pi / 4
#       turned = zca_white[:, :2] @ [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
#       assert np.allclose(np.cov(turned.T), np.eye(2))
#
# **In code.** 3. How do you undo whitening? Which parameter of ``PCA`` whitens scores?
#
# .. dropdown:: Solution
#
#    :math:`x = m + W^{-1} z`. ``inverse_transform`` does it. ``PCA(whiten=True)`` is PCA whitening.
#
#    .. code-block:: python
#
#       model = Whitener("zca").fit(X)
#       assert np.allclose(model.inverse_transform(model.transform(X)), X)
#       assert np.allclose(PCA(whiten=True).fit_transform(X), Whitener("pca").fit_transform(X))
#
# **In code.** 4. What are the eigenvalues of PCA after whitening?
#
# .. dropdown:: Solution
#
#    All are 1: every direction is as good as any other, and PCA finds nothing more.
#
#    .. code-block:: python
#
#       assert np.allclose(PCA().fit(zca_white).explained_variance_, 1)
#
# **Open.** 5. Should you whiten before a classifier of nearest neighbours?
#
# .. dropdown:: Solution
#
#    It depends on where the classes differ. Whitening ignores labels. If they differ along large
#    variances, whitening weakens these; if along small ones, it helps. Try both by cross-validation. Iris
#    is a case where it does not help:
#
#    .. code-block:: python
#
#       from sklearn.model_selection import cross_val_score
#       from sklearn.neighbors import KNeighborsClassifier
#       from sklearn.pipeline import make_pipeline
#
#       labels, knn = load_iris().target, KNeighborsClassifier()
#       plain = cross_val_score(knn, X, labels).mean()
#       after = cross_val_score(make_pipeline(Whitener("pca"), knn), X, labels).mean()
#       assert plain > after
