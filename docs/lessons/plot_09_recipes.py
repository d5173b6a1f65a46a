r"""
Recipes
=======

Short programs that combine PCA, kernel PCA and whitening with other methods.
"""

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes, load_wine, make_circles
from sklearn.decomposition import FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gramian import PCA, KernelPCA, Whitener, plots
from gramian.faces import drawn_faces
from gramian.kernels import RBF, Polynomial

# %%
# Classical multidimensional scaling
# ----------------------------------
#
# Distances :math:`D_{ij} = \|x_i - x_j\|` between places are given, and a map is wanted. Expand the
# squares, and centre from both sides with :math:`H = I - J`:
#
# .. math::
#
#    D_{ij}^2 &= \|c_i\|^2 + \|c_j\|^2 - 2\, c_i^T c_j \\
#    -\frac{1}{2}\, H D^2 H &= H\, C C^T H = C C^T
#
# The first two terms depend on one index only, so :math:`H` removes them; :math:`D^2` has the squared
# entries. Therefore the map is kernel PCA of the precomputed matrix :math:`-\frac{1}{2} D^2`. The figure
# is the map, up to a rotation and a reflection.

places = np.array([[0, 0], [4, 0], [4, 3], [1, 5], [-2, 2]], dtype=float)
names = ["A", "B", "C", "D", "E"]
D = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
mds = KernelPCA(2, kernel="precomputed").fit(-(D**2) / 2)
positions = mds.transform(-(D**2) / 2)
C = places - places.mean(axis=0)
H = np.eye(5) - 1 / 5
assert np.allclose(-0.5 * H @ D**2 @ H, C @ C.T)
again = np.sqrt(((positions[:, None] - positions[None]) ** 2).sum(axis=2))
assert np.allclose(again, D)
plots.scores(mds, names=names, mapped=positions)

# %%
# Distances along streets (right angles only) fit no map exactly: some eigenvalues are negative.
# ``repair="clip"`` sets them to 0 and reports the change.

streets = np.abs(places[:, None] - places[None]).sum(axis=2)
clipped = KernelPCA(2, kernel="precomputed", repair="clip").fit(-(streets**2) / 2)
print(clipped.repair_)

# %%
# Principal component regression
# ------------------------------
#
# Regress on scores, which are uncorrelated even if columns are not. Choose their number by
# cross-validation of the whole pipeline. Here all ten components are best, which is least squares;
# three components of partial least squares, which are made to predict y, do as well.

X, y = load_diabetes(return_X_y=True)
pcr = make_pipeline(PCA(scale="unit"), LinearRegression())
search = GridSearchCV(pcr, {"pca__n_components": range(1, 11)}, cv=5).fit(X, y)
print(search.best_params_, round(search.best_score_, 3))
pls = cross_val_score(PLSRegression(3), X, y, cv=5).mean()
assert search.best_score_ > 0.45
assert abs(search.best_score_ - pls) < 0.05

# %%
# The answer in terms of the columns: with :math:`\hat y = a + b^T z` and :math:`z = A^T (x - m)`, the
# coefficients of the columns are :math:`A b` (here also divided by the scales).

pca, line = search.best_estimator_
coefficients = (line.coef_ @ pca.components_) / pca.scale_
assert np.allclose(search.predict(X), line.intercept_ + (X - pca.mean_) @ coefficients)

# %%
# Fisherfaces: PCA, then discriminants
# ------------------------------------
#
# With more pixels than pictures the scatter within people is singular. PCA first reduces to at
# most as many components as pictures minus people (here 60 - 20, and 30 are used). Discriminant
# analysis then finds what separates people instead of what varies most (Belhumeur, Hespanha and
# Kriegman 1997).

faces = drawn_faces(20, 6, size=(24, 28))
people = np.array(faces.people)
fisher = make_pipeline(PCA(30, random_state=0), LinearDiscriminantAnalysis())
enrolled = np.arange(len(people)) % 6 < 3
pictures = faces.pictures.reshape(len(people), -1).astype(float)
fisher.fit(pictures[enrolled], people[enrolled])
rate = fisher.score(pictures[~enrolled], people[~enrolled])
print(f"{rate:.0%} of {(~enrolled).sum()} pictures named correctly")
assert rate > 0.9

# %%
# Whitener, then ICA
# ------------------
#
# If sources :math:`s` are independent with variance 1 and :math:`x - m = M s`, then :math:`S = M M^T`. White
# data :math:`z = W (x - m)` are :math:`W M s`, and :math:`W M (W M)^T = W S W^T = I`: a rotation of the
# sources. Independent component analysis looks for this rotation. Whiten with gramian, and let
# FastICA only rotate. Each number is the correlation of a source with its recovered signal.

t = np.linspace(0, 8, 2000)
sources = np.column_stack([np.sin(2 * t), np.sign(np.sin(3 * t)), (2 * t) % 2 - 1])
mixed = sources @ np.array([[1, 1, 1], [0.5, 2, 1], [1.5, 1, 2]]).T
ica = make_pipeline(Whitener("pca"), FastICA(whiten=False, random_state=0))
recovered = ica.fit_transform(mixed)
match = np.abs(np.corrcoef(recovered.T, sources.T)[:3, 3:])
print(match.max(axis=0).round(3))
assert (match.max(axis=0) > 0.98).all()

# %%
# gramian's kernels in other methods
# ----------------------------------
#
# A kernel object is a function of two tables, so scikit-learn takes it as it is. It may be any
# expression of kernels.

R, ring = make_circles(200, factor=0.5, noise=0.1, random_state=0)
kernel = 0.5 * RBF(sigma=0.5) + Polynomial(degree=2, gamma=1)
assert kernel.psd  # proven, so the optimisation is convex
accuracy = cross_val_score(SVC(kernel=kernel), R, ring).mean()
print(f"{accuracy:.0%} of held-out points")
assert accuracy > 0.95

# %%
# Scaled columns, then PCA, in one pipeline
# -----------------------------------------
#
# ``PCA(scale="unit")`` is a StandardScaler (with n - 1) and a PCA in one. Spectra often need more
# before: smoothing, derivatives, or scatter correction. Packages such as chemotools have these as
# scikit-learn transformers, which go before PCA in the same way: ``make_pipeline(SavitzkyGolay(),
# StandardNormalVariate(), PCA(5))``.

wine = load_wine().data
own = PCA(3, scale="unit").fit_transform(wine)
other = make_pipeline(StandardScaler(), PCA(3)).fit_transform(wine)
assert np.allclose(other, own * np.sqrt(len(wine) / (len(wine) - 1)))

# %%
# Exercises
# ---------
#
# **By hand.** 1. *Linear discriminant analysis (LDA).* Two classes have means :math:`m_1` and :math:`m_2`
# and the within-class scatter :math:`S_w`, the sum of both scatter matrices. Find the direction
# :math:`w` that maximises the squared distance of the projected means over the scatter of the projected
# classes.
#
# .. dropdown:: Solution
#
#    Let :math:`\delta = m_1 - m_2`. Maximise
#    :math:`Q(w) = \frac{(w^T \delta)^2}{w^T S_w w}`. The gradient is zero where
#
#    .. math::
#
#       2\, (w^T \delta)\, \delta\, (w^T S_w w) &= (w^T \delta)^2\; 2 S_w w \\
#       S_w w &= \frac{w^T S_w w}{w^T \delta}\; \delta
#
#    The fraction is a number and does not change the direction, so :math:`w \propto S_w^{-1} (m_1 - m_2)`.
#    PCA would take the direction of largest variance, which may hide the classes completely:
#
#    .. code-block:: python
#
#       rng = np.random.default_rng(0)
#       long = rng.standard_normal((400, 2)) * [10, 1]  # large variance along the first column
#       labels = np.repeat([0, 1], 200)
#       long[labels == 1, 1] += 4  # the classes differ along the second
#       delta = long[labels == 0].mean(axis=0) - long[labels == 1].mean(axis=0)
#       scatter = sum(np.cov(long[labels == one].T) * 199 for one in (0, 1))
#       w = np.linalg.solve(scatter, delta)
#       w /= np.linalg.norm(w)
#       lda = LinearDiscriminantAnalysis(solver="eigen").fit(long, labels)
#       theirs = lda.coef_[0] / np.linalg.norm(lda.coef_)
#       assert np.isclose(abs(theirs @ w), 1)
#       assert abs(w[1]) > 0.99
#       assert abs(PCA(1).fit(long).components_[0][0]) > 0.99
#
# **By hand.** 2. Three places have the distances AB = 3, AC = 4, BC = 5. Compute
# :math:`-\frac{1}{2} H D^2 H` and find a map.
#
# .. dropdown:: Solution
#
#    :math:`D^2` has the entries 9, 16, 25. Its row means are :math:`\frac{25}{3}, \frac{34}{3}`,
#    :math:`\frac{41}{3}`, and the overall mean is :math:`\frac{100}{9}`. So
#    :math:`c_A^T c_A = -\frac{1}{2}(0 - \frac{50}{3} + \frac{100}{9}) = \frac{25}{9}`, and so on. The
#    triangle has a right angle at A: (0, 0), (3, 0), (0, 4).
#
#    .. code-block:: python
#
#       squares = np.array([[0, 9, 16], [9, 0, 25], [16, 25, 0]])
#       H3 = np.eye(3) - 1 / 3
#       corners = np.array([[0, 0], [3, 0], [0, 4]]) - [1, 4 / 3]
#       assert np.isclose((-0.5 * H3 @ squares @ H3)[0, 0], 25 / 9)
#       assert np.allclose(-0.5 * H3 @ squares @ H3, corners @ corners.T)
#
# **In code.** 3. Distances determine a map up to what? Check one example.
#
# .. dropdown:: Solution
#
#    Up to a shift, a rotation and a reflection.
#
#    .. code-block:: python
#
#       turned = positions @ np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))[0]
#       assert np.allclose(((turned[:, None] - turned[None]) ** 2).sum(axis=2), D**2)
#
# **In code.** 4. Principal component regression with all components is least squares. Check it.
#
# .. dropdown:: Solution
#
#    All scores are an invertible linear map of the columns.
#
#    .. code-block:: python
#
#       full = make_pipeline(PCA(), LinearRegression()).fit(X, y)
#       assert np.allclose(full.predict(X), LinearRegression().fit(X, y).predict(X))
#
# **Open.** 5. Lectures end with pictures by t-SNE. What does such a map keep that PCA does not, and what
# does it lose?
#
# .. dropdown:: Solution
#
#    It keeps neighbours: near points stay near. It does not keep distances between groups, their sizes,
#    or directions, and new points have no place in it. PCA keeps variance, has a formula for new points,
#    and says how much is lost. gramian has no t-SNE; scores of PCA are its usual input:
#
#    .. code-block:: python
#
#       from sklearn.manifold import TSNE
#
#       map_of_wine = TSNE(random_state=0, init="pca", max_iter=250).fit_transform(own)
#       assert map_of_wine.shape == (178, 2)
#       assert not hasattr(TSNE, "transform")
