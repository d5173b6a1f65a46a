r"""
Kernel PCA: centring and new points
===================================

PCA needs only inner products. Replace them by a kernel, and PCA takes place in the space of the
features :math:`\phi(x)`, which need not be written down.
"""

import numpy as np
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression

from gramian import PCA, KernelPCA, figures
from gramian.kernels import RBF, Polynomial

X, ring = make_circles(200, factor=0.4, noise=0.05, random_state=0)
n = len(X)
k = RBF(gamma=2)

# %%
# Centring without features
# -------------------------
#
# Let :math:`\Phi` have the features :math:`\phi(x_i)^T` as its rows. Write :math:`y = \phi(x)` with
# coordinates :math:`y_i`; their means over the samples are :math:`b_i = E\, y_i`. PCA needs the centred
# features :math:`y - b`. With the n x n matrix :math:`J`, all entries of which are :math:`1/n`,
#
# .. math::
#
#    b^T &= \frac{1}{n} \mathbf{1}^T \Phi , \qquad \mathbf{1}\, b^T = J \Phi \\
#    \tilde\Phi &= \Phi - J \Phi = (I - J)\, \Phi = H \Phi \\
#    \tilde K &= \tilde\Phi \tilde\Phi^T = H\, \Phi \Phi^T H^T = H K H \\
#    &= K - J K - K J + J K J
#
# (:math:`H` is symmetric.) In entries, with the row means :math:`t_i = \frac{1}{n}\sum_l K_{il}` and
# the overall mean :math:`r = \frac{1}{n}\sum_i t_i`,
#
# .. math::
#
#    \tilde{K}{}_{ij} = K_{ij} - t_i - t_j + r .
#
# The features have disappeared. A kernel with few features checks it.

K = k(X)
t, r = K.mean(axis=1), K.mean()
J = np.full((n, n), 1 / n)
H = np.eye(n) - J
Kc = K - t[:, None] - t[None, :] + r
assert np.allclose(Kc, H @ K @ H)
assert np.allclose(Kc, k.centered_gram(X))

quadratic = Polynomial(degree=2, gamma=1)
Phi = quadratic.feature_map(2)(X)
assert np.allclose((Phi - Phi.mean(axis=0)) @ (Phi - Phi.mean(axis=0)).T, H @ quadratic(X) @ H)

# %%
# Five steps
# ----------
#
# The dual, with :math:`\tilde\Phi` in the place of :math:`C`:
#
# 1. :math:`K_{ij} = k(x_i, x_j)`.
# 2. :math:`\tilde K = H K H`.
# 3. :math:`\tilde K \beta_j = n\lambda_j\, \beta_j`, and :math:`\alpha_j = \beta_j / \sqrt{n\lambda_j}`
#    for :math:`\lambda_j > 0`.
# 4. Scores of the samples:
#    :math:`\tilde K \alpha_j = n\lambda_j\, \alpha_j = \sqrt{n\lambda_j}\, \beta_j`.

n_lambda, beta = np.linalg.eigh(Kc)
n_lambda, beta = n_lambda[::-1][:4], beta[:, ::-1][:, :4]
alpha = beta / np.sqrt(n_lambda)
scores = Kc @ alpha
assert np.allclose(scores, np.sqrt(n_lambda) * beta)

# %%
# 5. A new point :math:`x`. The direction is :math:`w_j = \sum_i \alpha_{ij} (\phi(x_i) - b)`, so
#
# .. math::
#
#    w_j^T (\phi(x) - b) &= \sum_i \alpha_{ij}\, \tilde k(x, x_i) \\
#    \tilde k(x, x_i) &= (\phi(x) - b)^T (\phi(x_i) - b) \\
#    &= k(x, x_i) - \frac{1}{n}\sum_l k(x, x_l) - t_i + r
#
# The point is centred by the means of the *fitted* samples.

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
# The step that lectures cross out
# --------------------------------
#
# Between steps 3 and 5 one could compute :math:`w_j = \tilde\Phi^T \alpha_j`, and then
# :math:`w_j^T (\phi(x) - b)`. For a kernel with finitely many features, such as a polynomial, this
# works: :math:`w_j` has one entry for each feature. For the Gaussian kernel :math:`w_j` has infinitely
# many entries and cannot be written down. Lectures cross this step out: go from :math:`\alpha_j` to the
# scores directly. Both ways agree where both exist.

Phi_c = Phi - Phi.mean(axis=0)
values, vectors = np.linalg.eigh(H @ quadratic(X) @ H)
a = vectors[:, -3:] / np.sqrt(values[-3:])
w = Phi_c.T @ a  # the explicit directions, six entries each
assert np.allclose(w.T @ w, np.eye(3))
explicit = (quadratic.feature_map(2)(new) - Phi.mean(axis=0)) @ w
assert np.allclose(explicit, quadratic.centered_gram(X, new) @ a)
print(dict(zip(quadratic.feature_map(2).names, w[:, -1].round(3).tolist(), strict=True)))

# %%
# What it finds
# -------------
#
# PCA has straight lines of equal score. On PC3 of the kernel they are nearly circles: the score is
# nearly a function of the radius. Two features may well need more than two kernel components.

figures.kernel_contours([PCA(2).fit(X), model], X, hue=np.where(ring, "inner", "outer"))

# %%
# A threshold of 0 on PC3 separates the rings.

figures.scores(model, X, components=(1, 3), hue=np.where(ring, "inner", "outer"))

# %%
# A linear classifier of the fitted points confirms both:

accuracy = {
    name: LogisticRegression().fit(Z, ring).score(Z, ring) for name, Z in (("raw", X), ("kernel", scores))
}
print(accuracy)
assert accuracy["raw"] < 0.6
assert accuracy["kernel"] == 1

# %%
# How much is lost
# ----------------
#
# The total variance is known without any eigenvalue, and the reconstruction error in feature space is
# again the discarded variance:
#
# .. math::
#
#    \sum_j n\lambda_j &= \operatorname{trace}\, \tilde K = \sum_i k(x_i, x_i) - n r \\
#    \frac{1}{n}\sum_i \|\phi(x_i) - b - \sum_{j \le q} z_{ij} w_j\|^2
#    &= \frac{1}{n}\sum_i \left(\tilde{K}{}_{ii} - \sum_{j \le q} z_{ij}^2\right) = \sum_{j > q} \lambda_j

assert np.isclose(np.trace(Kc), np.trace(K) - n * r)
left = np.diag(Kc) - (scores**2).sum(axis=1)
assert np.isclose(left.mean(), (np.trace(Kc) - n_lambda.sum()) / n)
assert np.allclose(model.explained_variance_ratio_, n_lambda / np.trace(Kc))

# %%
# The circle again
# ----------------
#
# With the kernel :math:`(x^T y + 1)^2` the feature space has five dimensions besides the constant. On a
# noisy circle the last component, PC5, is the equation of the circle: its lines of equal score are
# circles.

angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
rng = np.random.default_rng(0)
noisy = 1.5 + 0.03 * rng.standard_normal(120)
circle = np.column_stack([3 + noisy * np.cos(angle), 2 + noisy * np.sin(angle)])
on_circle = KernelPCA(5, kernel=quadratic).fit(circle)
assert on_circle.rank_ == 5
ends = on_circle.transform([[3 + 1, 2], [3, 2 + 1], [3 - 1, 2], [3, 2 - 1]])[:, 4]
assert np.ptp(ends) < 0.2 * abs(ends.mean() - on_circle.transform([[3, 2]])[0, 4])
figures.kernel_contours([on_circle], circle, components=5)

# %%
# The way back: pre-images
# ------------------------
#
# Scores :math:`z` determine the point :math:`P = b + \sum_j z_j w_j` of the feature space. It is a
# weighted sum of the samples' features:
#
# .. math::
#
#    P = \sum_i g_i\, \phi(x_i) , \qquad g = \frac{1}{n}\mathbf{1} + H \sum_j z_j \alpha_j .
#
# In general :math:`P` is not :math:`\phi` of any row. Its `pre-image <../preimages.html>`_ is the row
# whose features are nearest. For the Gaussian kernel, with :math:`k(x, x) = 1`,
#
# .. math::
#
#    \|\phi(x) - P\|^2 &= 1 - 2 \sum_i g_i\, k(x, x_i) + \|P\|^2 \\
#    \nabla_x \sum_i g_i\, k(x, x_i) &= 2 \gamma \sum_i g_i\, k(x, x_i)\, (x_i - x) = 0 \\
#    x &= \frac{\sum_i g_i\, k(x, x_i)\, x_i}{\sum_i g_i\, k(x, x_i)}
#
# The right side contains :math:`x` too. Mika et al. (1998) iterate it from a start.

denoiser = KernelPCA(3, kernel=k).fit(X)
z = denoiser.transform(X)
g = 1 / n + z @ (H @ denoiser.projection_coef_).T  # a row of weights for each point
x = X.copy()
for _ in range(200):
    weights = g * k(x, X)
    x = weights @ X / weights.sum(axis=1, keepdims=True)
clean = denoiser.denoise(X)
assert np.abs(x - clean).max() < 1e-3

# %%
# ``denoise`` replaced each point by the pre-image of its reconstruction from three components. The
# rings have become thinner.

outer = np.hypot(*clean[ring == 0].T)
assert outer.std() < np.hypot(*X[ring == 0].T).std()
print(f"spread of the outer radius: {np.hypot(*X[ring == 0].T).std():.3f}, denoised {outer.std():.3f}")

# %%
# Slips of well-known notes
# -------------------------
#
# **Centre a new point by its own mean only**, or not at all. As new points, fitted samples then get
# other scores: all of a component differ by the same number, :math:`\sum_i t_i \alpha_{ij}`.

wrong = (k(X) - k(X).mean(axis=1, keepdims=True)) @ alpha
assert np.allclose(wrong - scores, t @ alpha)
assert np.abs(t @ alpha).max() > 0.1
assert np.allclose(k.centered_gram(X, X) @ alpha, scores)

# %%
# **"At most d components."** With the Gaussian kernel there may be :math:`n-1`, here ten of two
# features.

assert KernelPCA(10, kernel=k).fit(X).rank_ == 10

# %%
# Exercises
# ---------
#
# **By hand.** 1. Show that :math:`H^2 = H`, and that the rows of :math:`\tilde K` add up to 0.
#
# .. dropdown:: Solution
#
#    :math:`J^2 = J`, because :math:`\mathbf{1}^T \mathbf{1} = n`. So :math:`(I - J)^2 = I - 2J + J = H`, and
#    :math:`H \mathbf{1} = 0` gives :math:`\tilde K \mathbf{1} = H K H \mathbf{1} = 0`.
#
#    .. code-block:: python
#
#       assert np.allclose(H @ H, H)
#       assert np.allclose(Kc.sum(axis=1), 0)
#
# **By hand.** 2. Centre :math:`K = \begin{pmatrix} 2 & 0 \\ 0 & 4 \end{pmatrix}`, and find the scores of
# both samples.
#
# .. dropdown:: Solution
#
#    :math:`t = (1, 2)` and :math:`r = 1.5`, so :math:`\tilde{K}{}_{11} = 2 - 1 - 1 + 1.5 = 1.5`,
#    :math:`\tilde{K}{}_{12} = 0 - 1 - 2 + 1.5 = -1.5` and :math:`\tilde{K}{}_{22} = 1.5`. The eigenvalue
#    is 3, :math:`\beta = (1, -1)/\sqrt 2`, and the scores are :math:`\sqrt 3\, \beta = \pm 1.2247`.
#
#    .. code-block:: python
#
#       two = KernelPCA(1, kernel="precomputed").fit(np.diag([2.0, 4.0]))
#       assert np.allclose(np.abs(two.transform(np.diag([2.0, 4.0]))), np.sqrt(1.5))
#
# **By hand.** 3. For small :math:`\gamma`, :math:`e^{-\gamma \|x - y\|^2}` is nearly
# :math:`1 - \gamma \|x - y\|^2`. What is :math:`\tilde K` then, and which components follow?
#
# .. dropdown:: Solution
#
#    :math:`-\gamma \|x_i - x_j\|^2 = -\gamma \|c_i\|^2 - \gamma \|c_j\|^2 + 2\gamma\, c_i^T c_j`. Centring
#    removes the terms that depend on one index only, so :math:`\tilde K \approx 2\gamma\, C C^T`: the
#    components of PCA.
#
#    .. code-block:: python
#
#       import warnings
#
#       with warnings.catch_warnings():
#           warnings.simplefilter("ignore")  # gramian warns of this width
#           wide = KernelPCA(2, kernel=RBF(sigma=100)).fit_transform(X)
#       plain = PCA(2).fit_transform(X)
#       assert np.allclose(np.abs(np.corrcoef(wide.T, plain.T)[:2, 2:]), np.eye(2), atol=1e-3)
#
# **In code.** 4. Show that the linear kernel gives the scores of PCA, up to sign.
#
# .. dropdown:: Solution
#
#    .. code-block:: python
#
#       linear = KernelPCA(2, kernel="linear").fit_transform(X)
#       assert np.allclose(np.abs(linear), np.abs(PCA(2).fit_transform(X)))
#
# **In code.** 5. What do very narrow Gaussian kernels find?
#
# .. dropdown:: Solution
#
#    No two points are similar: :math:`K \approx I`, so :math:`\tilde K \approx H`, and every component has
#    the share :math:`1/(n-1)`.
#
#    .. code-block:: python
#
#       with warnings.catch_warnings():
#           warnings.simplefilter("ignore")  # gramian warns of this width too
#           narrow = KernelPCA(kernel=RBF(sigma=1e-4)).fit(X)
#       assert np.allclose(narrow.explained_variance_ratio_, 1 / (n - 1))
#
# **Open.** 6. How would you choose :math:`\gamma` without labels?
#
# .. dropdown:: Solution
#
#    There is no single answer. The exercises above are the two ends: all rows alike, or none. A median
#    distance as :math:`\sigma` stays between them. A criterion that can be tested is the error of
#    pre-images of rows that were left out. See `Choose a kernel <../choosing_kernels.html>`_.
#
#    .. code-block:: python
#
#       median = KernelPCA(4, kernel="rbf", gamma="median").fit(X)
#       assert 0.1 < median.explained_variance_ratio_.sum() < 0.99
