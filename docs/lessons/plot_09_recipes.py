"""
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
# Distances between places are given, and a map is wanted. With D^2 the squared distances, -D^2/2
# centred is the centred Gram matrix of the unknown points: so it is kernel PCA of a precomputed
# matrix. The figure is the map, up to a rotation and a reflection.

places = np.array([[0, 0], [4, 0], [4, 3], [1, 5], [-2, 2]], dtype=float)
names = ["A", "B", "C", "D", "E"]
D = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
mds = KernelPCA(2, kernel="precomputed").fit(-(D**2) / 2)
positions = mds.transform(-(D**2) / 2)
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
# The answer in terms of the columns: coefficients of the scores times the directions.

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
# Independent component analysis looks for a rotation of white data. Whiten with gramian, and let
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
# 1. Distances determine a map up to what? Check one example.

turned = positions @ np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))[0]
assert np.allclose(((turned[:, None] - turned[None]) ** 2).sum(axis=2), D**2)

# %%
# 2. Principal component regression with all components is least squares. Check it.

full = make_pipeline(PCA(), LinearRegression()).fit(X, y)
assert np.allclose(full.predict(X), LinearRegression().fit(X, y).predict(X))
