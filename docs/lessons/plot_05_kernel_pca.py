"""
Kernel PCA: centring and new points
===================================

PCA needs only inner products. Replace them by a kernel, and PCA takes place in the space of the
features, which need not be written down.
"""

import numpy as np
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression

from gramian import PCA, KernelPCA, plots
from gramian.kernels import RBF, Linear, Polynomial

X, ring = make_circles(200, factor=0.4, noise=0.05, random_state=0)
n = len(X)
k = RBF(gamma=2)

# %%
# By hand, in five steps
# ----------------------
#
# 1. K_ij = k(x_i, x_j).
# 2. Centre in feature space: Kc_ij = K_ij - t_i - t_j + r, with row means t and the overall mean r.

K = k(X)
t, r = K.mean(axis=1), K.mean()
Kc = K - t[:, None] - t[None, :] + r
assert np.allclose(Kc, k.centered_gram(X))
H = np.eye(n) - 1 / n
assert np.allclose(Kc, H @ K @ H)

# %%
# 3. Kc beta = n lambda beta; alpha = beta / sqrt(n lambda).
# 4. Scores of the fitted rows: Kc alpha = sqrt(n lambda) beta.

n_lambda, beta = np.linalg.eigh(Kc)
n_lambda, beta = n_lambda[::-1][:4], beta[:, ::-1][:, :4]
alpha = beta / np.sqrt(n_lambda)
scores = Kc @ alpha
assert np.allclose(scores, np.sqrt(n_lambda) * beta)

# %%
# 5. A new point x is centred by the means of the *fitted* rows: kc(x, x_i) = k(x, x_i) - mean_j
#    k(x, x_j) - t_i + r.

new = np.array([[0.0, 0.0], [1.0, 0.0]])
Kn = k(new, X)
Kn_c = Kn - Kn.mean(axis=1, keepdims=True) - t[None, :] + r
new_scores = Kn_c @ alpha

# %%
# ``KernelPCA`` gives the same numbers, up to the signs of the components.

model = KernelPCA(4, kernel=k).fit(X)
signs = np.sign((model.transform(X) * scores).sum(axis=0))
assert np.allclose(model.eigenvalues_, n_lambda)
assert np.allclose(model.transform(X), signs * scores, atol=1e-6)
assert np.allclose(model.transform(new), signs * new_scores, atol=1e-6)

# %%
# What it finds
# -------------
#
# PCA has straight lines of equal score. On PC3 of the kernel they are circles: it is nearly a function
# of the radius. Two features may well need more than two kernel components.

plots.kernel_contours([PCA(2).fit(X), model], X, color=ring, components=4)

# %%
# A threshold of 0 on PC3 separates the rings.

plots.scores(model, X, y="PC3", color=np.where(ring, "inner", "outer"))

# %%
# A linear classifier of the fitted points confirms both:

accuracy = {
    name: LogisticRegression().fit(Z, ring).score(Z, ring) for name, Z in (("raw", X), ("kernel", scores))
}
print(accuracy)
assert accuracy["raw"] < 0.6
assert accuracy["kernel"] == 1

# %%
# The circle again
# ----------------
#
# With the kernel (x^T y + 1)^2, that is gamma = 1, the feature space has five dimensions besides the
# constant. On a noisy circle the last component, PC5, is the equation of the circle: its lines of
# equal score are circles.

angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
rng = np.random.default_rng(0)
noisy = 1.5 + 0.03 * rng.standard_normal(120)
circle = np.column_stack([3 + noisy * np.cos(angle), 2 + noisy * np.sin(angle)])
quadratic = KernelPCA(5, kernel=Polynomial(degree=2, gamma=1)).fit(circle)
assert quadratic.rank_ == 5
ends = quadratic.transform([[3 + 1, 2], [3, 2 + 1], [3 - 1, 2], [3, 2 - 1]])[:, 4]
assert np.ptp(ends) < 0.2 * abs(ends.mean() - quadratic.transform([[3, 2]])[0, 4])
plots.kernel_contours(quadratic, circle, components=5)

# %%
# The way back
# ------------
#
# A reconstruction in feature space is, in general, not phi of any row. Its `pre-image
# <../preimages.html>`_ is the row whose features are nearest. ``denoise`` replaces each point by the
# pre-image of its reconstruction from few components.

clean = KernelPCA(3, kernel=k).fit(X).denoise(X)
outer = np.hypot(*clean[ring == 0].T)
assert outer.std() < np.hypot(*X[ring == 0].T).std()

# %%
# Slips of well-known notes
# -------------------------
#
# **Centre a new point by its own mean only**, or not at all. As new rows, fitted rows then get other
# scores: all of a component differ by the same number, the sum of t_i alpha_i.

wrong = (k(X) - k(X).mean(axis=1, keepdims=True)) @ alpha
assert np.allclose(wrong - scores, t @ alpha)
assert np.abs(t @ alpha).max() > 0.1
assert np.allclose(k.centered_gram(X, X) @ alpha, scores)

# %%
# **"At most d components."** With the Gaussian kernel there may be n - 1, here ten of two features.

assert KernelPCA(10, kernel=k).fit(X).rank_ == 10

# %%
# Exercises
# ---------
#
# 1. Show that the linear kernel gives the scores of PCA, up to sign.

assert np.allclose(np.abs(KernelPCA(2, kernel=Linear()).fit_transform(X)), np.abs(PCA(2).fit_transform(X)))

# %%
# 2. The total variance in feature space is trace Kc / n. Show that trace Kc = sum_i k(x_i, x_i) - n r.

assert np.isclose(np.trace(Kc), np.trace(K) - n * r)

# %%
# 3. Which components do very wide Gaussian kernels find? (For small gamma, ``exp(-gamma |x - y|^2)``
#    is nearly ``1 - gamma |x - y|^2``.)

wide = KernelPCA(2, kernel=RBF(sigma=100)).fit_transform(X)
assert np.allclose(np.abs(np.corrcoef(wide.T, PCA(2).fit_transform(X).T)[:2, 2:]), np.eye(2), atol=1e-3)

# %%
# 4. And very narrow ones? What is the share of each component?

narrow = KernelPCA(kernel=RBF(sigma=1e-4)).fit(X)
assert np.allclose(narrow.explained_variance_ratio_, 1 / (n - 1))  # no two points are similar
