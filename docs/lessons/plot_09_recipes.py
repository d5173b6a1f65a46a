r"""
Recipes
=======

Six methods that are PCA, kernel PCA or whitening in another guise, or begin with one of them: a map of
distances, regression, discriminants, independent components, support vectors, and scaled columns. The
symbols are those of the :doc:`first page <plot_00_notation>`.
"""

import numpy as np
from scipy.linalg import eigh
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes, load_wine, make_circles
from sklearn.decomposition import FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gramian import PCA, KernelPCA, Whitener, figures
from gramian.faces import example_faces
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
figures.scores(mds, labels=names, mapped=positions)

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
# Regress a number :math:`y` on the scores :math:`Z = C A`. Least squares solves
# :math:`Z^T Z\, b = Z^T (y - \bar y)`, and scores are uncorrelated even if columns are not:
#
# .. math::
#
#    Z^T Z = n \Lambda \quad\Rightarrow\quad b_j = \frac{z_j^T (y - \bar y)}{n \lambda_j} ,
#
# with :math:`z_j` as column j of :math:`Z`. A coefficient does not depend on which other components are
# kept. With :math:`z = A^T (x - m)` the answer in terms of the columns is
#
# .. math::
#
#    \hat y = \bar y + b^T z = \bar y + (A b)^T (x - m) .
#
# Choose the number of components by cross-validation of the whole pipeline. Here all ten are best,
# which is least squares; three components of partial least squares, which are made to predict y, do
# as well.

X, y = load_diabetes(return_X_y=True)
pcr = make_pipeline(PCA(scale="unit"), LinearRegression())
search = GridSearchCV(pcr, {"pca__n_components": range(1, 11)}, cv=5).fit(X, y)
print(search.best_params_, round(search.best_score_, 3))
pls = cross_val_score(PLSRegression(3), X, y, cv=5).mean()
assert search.best_score_ > 0.45
assert abs(search.best_score_ - pls) < 0.05

# %%
# The code checks both formulas. Columns are divided by their scales here, and so is :math:`A b`.

pca, line = search.best_estimator_
Z = pca.transform(X)
assert np.allclose(line.coef_, Z.T @ (y - y.mean()) / (Z**2).sum(axis=0))
assert np.allclose(PCA(2, scale="unit").fit_transform(X), Z[:, :2])  # and so b of two is the same
coefficients = (line.coef_ @ pca.components_) / pca.scale_
assert np.allclose(search.predict(X), y.mean() + (X - pca.mean_) @ coefficients)

# %%
# Linear discriminant analysis
# ----------------------------
#
# PCA does not know classes. Let class g have :math:`n_g` samples with mean :math:`m_g`. The scatter within
# classes and that between them add up to the whole scatter :math:`n S`:
#
# .. math::
#
#    S_w = \sum_g \sum_{i \in g} (x_i - m_g)(x_i - m_g)^T , \qquad S_b = \sum_g n_g (m_g - m)(m_g - m)^T .
#
# Look for the direction :math:`w` along which classes are far apart for their width. The gradient of
# the quotient is zero where
#
# .. math::
#
#    Q(w) &= \frac{w^T S_b w}{w^T S_w w} \\
#    \nabla Q &= \frac{2\, S_b w}{w^T S_w w} - \frac{2\, (w^T S_b w)\, S_w w}{(w^T S_w w)^2} = 0
#    \quad\Rightarrow\quad S_b w = Q\, S_w w .
#
# With :math:`v = S_w^{1/2} w` this is :math:`S_w^{-1/2} S_b S_w^{-1/2} v = Q\, v`: discriminants are the PCA
# of class means after whitening within classes. The means of c classes span at most :math:`c - 1`
# dimensions, so there are at most :math:`c - 1` discriminants.

wines, variety = load_wine(return_X_y=True)
within = sum(np.cov(wines[variety == g].T, ddof=0) * (variety == g).sum() for g in range(3))
between = len(wines) * np.cov(wines.T, ddof=0) - within
quotients, directions = eigh(between, within)  # smallest first
assert np.allclose(quotients[:-2], 0, atol=1e-6)  # three classes: two discriminants
values, v = np.linalg.eigh(within)
root = v @ np.diag(values**-0.5) @ v.T
assert np.allclose(np.linalg.eigvalsh(root @ between @ root), quotients, atol=1e-6)
lda = LinearDiscriminantAnalysis(solver="eigen").fit(wines, variety)
same = np.corrcoef((wines @ directions[:, :-3:-1]).T, lda.transform(wines).T)[:2, 2:]
assert np.allclose(np.abs(np.diag(same)), 1)
print("quotients:", quotients[:-3:-1].round(2))

# %%
# Fisherfaces: PCA, then discriminants
# ------------------------------------
#
# The scatter :math:`S_w` of n pictures of c people has at most the rank :math:`n - c`: each person's
# deviations add up to zero. With more pixels than that it has no inverse. PCA first reduces to at most
# :math:`n - c` components (here 60 - 20, and 30 are used). Discriminant analysis then finds what separates
# people instead of what varies most (Belhumeur, Hespanha and Kriegman 1997).

faces = example_faces().take([i for i in range(160) if i % 8 < 6])  # six pictures of twenty people
people = np.array(faces.people)
fisher = make_pipeline(PCA(30, random_state=0), LinearDiscriminantAnalysis())
enrolled = np.arange(len(people)) % 6 < 3
pictures = faces.pictures.reshape(len(people), -1).astype(float)
deviations = pictures[enrolled] - pictures[enrolled].reshape(20, 3, -1).mean(axis=1).repeat(3, axis=0)
assert np.linalg.matrix_rank(deviations) == 60 - 20
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
sources = Whitener("zca").fit_transform(sources)  # nearly independent; now exactly uncorrelated
M = np.array([[1, 1, 1], [0.5, 2, 1], [1.5, 1, 2]])
mixed = sources @ M.T
ica = make_pipeline(Whitener("pca"), FastICA(whiten=False, random_state=0))
recovered = ica.fit_transform(mixed)
rotation = ica[0].whitening_matrix_ @ M
assert np.allclose(rotation @ rotation.T, np.eye(3))
match = np.abs(np.corrcoef(recovered.T, sources.T)[:3, 3:])
print(match.max(axis=0).round(3))
assert (match.max(axis=0) > 0.98).all()

# %%
# gramian's kernels in other methods
# ----------------------------------
#
# A support vector machine for labels :math:`y_i = \pm 1` minimises a quadratic function of weights
# :math:`a_i \ge 0`, :math:`\frac{1}{2} a^T Q a - \sum_i a_i` with :math:`Q_{ij} = y_i y_j k(x_i, x_j)`. For a
# kernel it is convex, so that there are no wrong minima: with :math:`v_i = y_i a_i`,
#
# .. math::
#
#    a^T Q a = \sum_{i,j} y_i a_i\; y_j a_j\; k(x_i, x_j) = v^T K v \ge 0 .
#
# A kernel object is a function of two tables, so scikit-learn takes it as it is. It may be any
# expression of kernels.

R, ring = make_circles(200, factor=0.5, noise=0.1, random_state=0)
kernel = 0.5 * RBF(sigma=0.5) + Polynomial(degree=2, gamma=1)
assert kernel.psd  # proven, for all points
sign = np.where(ring == 1, 1, -1)
assert np.linalg.eigvalsh(sign[:, None] * kernel(R) * sign)[0] > -1e-9
accuracy = cross_val_score(SVC(kernel=kernel), R, ring).mean()
print(f"{accuracy:.0%} of held-out points")
assert accuracy > 0.95

# %%
# Scaled columns, then PCA, in one pipeline
# -----------------------------------------
#
# Columns of different units are divided by their standard deviations :math:`s_j`. The covariance of
# scaled columns has the entries
#
# .. math::
#
#    \frac{1}{n - 1} \sum_i \frac{x_{ij} - m_j}{s_j} \cdot \frac{x_{il} - m_l}{s_l} = \frac{S_{jl}}{s_j s_l} ,
#
# the correlations. ``PCA(scale="unit")`` is a StandardScaler (with n - 1) and a PCA in one. Other
# transformers of scikit-learn, such as the filters for spectra of chemotools, go before PCA in the
# same way: ``make_pipeline(SavitzkyGolay(), PCA(5))``.

model = PCA(3, scale="unit").fit(wines)
own = model.transform(wines)
other = make_pipeline(StandardScaler(), PCA(3)).fit_transform(wines)
assert np.allclose(other, own * np.sqrt(len(wines) / (len(wines) - 1)))
R3 = np.corrcoef(wines.T) @ model.components_.T
assert np.allclose(R3, model.components_.T * model.explained_variance_)

# %%
# Exercises
# ---------
#
# **By hand.** 1. What does :math:`S_b w = Q\, S_w w` say for *two* classes? Give :math:`w`.
#
# .. dropdown:: Solution
#
#    Let :math:`\delta = m_1 - m_2`. Then :math:`m_1 - m = \frac{n_2}{n} \delta` and
#    :math:`m_2 - m = -\frac{n_1}{n} \delta`, so :math:`S_b = \frac{n_1 n_2}{n} \delta \delta^T`, and
#
#    .. math::
#
#       S_w w = \frac{1}{Q} S_b w = \frac{n_1 n_2\, \delta^T w}{n\, Q}\; \delta .
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
#    Its places :math:`y_i` in the plane minimise :math:`\sum_{i \ne j} p_{ij} \ln \frac{p_{ij}}{q_{ij}}`,
#    where :math:`p_{ij}` falls with the distance of the samples like a Gaussian kernel of a width of its own
#    for each sample, and :math:`q_{ij} \propto 1 / (1 + \|y_i - y_j\|^2)`. Only pairs with large
#    :math:`p_{ij}` count much: it keeps neighbours. It does not keep distances between groups, their sizes,
#    or directions, and new points have no place in it. PCA keeps variance, has a formula for new points,
#    and says how much is lost. gramian has no t-SNE; scores of PCA are its usual input. Both keep the
#    neighbours of the wines:
#
#    .. code-block:: python
#
#       from sklearn.manifold import TSNE, trustworthiness
#
#       scaled = StandardScaler().fit_transform(wines)
#       map_of_wines = TSNE(random_state=0, init="pca", max_iter=500).fit_transform(own)
#       neighbours = [trustworthiness(scaled, plane) for plane in (map_of_wines, own[:, :2])]
#       assert min(neighbours) > 0.85  # 1: every neighbour in the plane is one of the samples too
#       assert neighbours[0] > neighbours[1]
#       assert not hasattr(TSNE, "transform")
