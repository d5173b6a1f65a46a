r"""
What PCA finds, in two ways
===========================

PCA answers two questions, and the answers agree. Which line through the mean :math:`m` keeps most of
the variance of the points? Which line is nearest to the points? In the figure the thin lines are the
distances. The symbols are those of the :doc:`first page <plot_00_notation>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import PCA, figures

X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]], dtype=float)
n, d = X.shape
pca = PCA(ddof=0).fit(X)
u_1, u_2 = pca.components_
lambda_1, lambda_2 = pca.explained_variance_
figures.directions(pca, X)

# %%
# Both views are one
# ------------------
#
# The projection of :math:`c_i = x_i - m` on a unit vector :math:`w` is the vector
# :math:`(w^T c_i)\, w`. What remains is orthogonal to :math:`w`. Pythagoras, for each point, and the
# mean over all points:
#
# .. math::
#
#    \|c_i\|^2 &= (w^T c_i)^2 + \|c_i - (w^T c_i)\, w\|^2 \\
#    \frac{1}{n}\sum_i \|c_i\|^2 &= \frac{1}{n}\sum_i (w^T c_i)^2
#    + \frac{1}{n}\sum_i \|c_i - (w^T c_i)\, w\|^2
#
# The left side does not depend on :math:`w`. The first term on the right is the variance of the
# projections, and the second is the mean square distance from the line. Therefore the largest
# variance and the smallest distance have the same :math:`w`. The code turns
# :math:`w = (\cos a, \sin a)` by half a circle.

C = X - X.mean(axis=0)
angles = np.linspace(0, np.pi, 181)
W = np.stack([np.cos(angles), np.sin(angles)])
variance = ((C @ W) ** 2).mean(axis=0)
distance = np.array([((C - np.outer(C @ w, w)) ** 2).sum(axis=1).mean() for w in W.T])
assert np.allclose(variance + distance, (C**2).sum(axis=1).mean())
assert np.argmax(variance) == np.argmin(distance)

figure, ax = plt.subplots()
ax.plot(np.degrees(angles), variance, label="projection")
ax.plot(np.degrees(angles), distance, "--", label="distance from the line")
ax.set(xlabel="angle of w in degrees", ylabel="mean square")
ax.legend()

# %%
# The best direction is an eigenvector
# ------------------------------------
#
# The variance of the projections is a quadratic form of :math:`S`:
#
# .. math::
#
#    \frac{1}{n}\sum_i (w^T c_i)^2 = \frac{1}{n}\sum_i w^T c_i\, c_i^T w = w^T S w .
#
# Maximise :math:`w^T S w` under the constraint :math:`w^T w = 1`. With a Lagrange multiplier
# :math:`\lambda`,
#
# .. math::
#
#    L(w, \lambda) &= w^T S w - \lambda (w^T w - 1) \\
#    \frac{\partial L}{\partial w} &= 2 S w - 2 \lambda w = 0 \quad\Rightarrow\quad S w = \lambda w \\
#    \frac{\partial L}{\partial \lambda} &= 1 - w^T w = 0 \quad\Rightarrow\quad w^T w = 1
#
# (:math:`S` is symmetric, so the gradient of :math:`w^T S w` is :math:`2 S w`.) Every stationary
# :math:`w` is a unit eigenvector, and its variance is the eigenvalue:
# :math:`w^T S w = \lambda w^T w = \lambda`. The largest variance belongs to the largest eigenvalue.

S = C.T @ C / n
assert np.allclose(((C @ W) ** 2).mean(axis=0), ((W.T @ S) * W.T).sum(axis=1))
step, w = 1e-6, np.array([0.6, 0.8])
slopes = [((w + e) @ S @ (w + e) - (w - e) @ S @ (w - e)) / (2 * step) for e in step * np.eye(2)]
assert np.allclose(slopes, 2 * S @ w, atol=1e-6)
assert np.allclose(S @ u_1, lambda_1 * u_1)
best = np.degrees(np.arctan2(u_1[1], u_1[0]))
print(f"best of 181 directions: {np.degrees(angles[np.argmax(variance)]):.0f} degrees; PCA: {best:.2f}")
assert abs(np.degrees(angles[np.argmax(variance)]) - best) < 0.5

# %%
# The Rayleigh quotient
# ---------------------
#
# The same without a derivative. Eigenvectors of the symmetric :math:`S` form an orthonormal basis, so
# :math:`w = \sum_j a_j u_j` for numbers :math:`a_j`. Then
#
# .. math::
#
#    \frac{w^T S w}{w^T w} = \frac{\sum_j \lambda_j a_j^2}{\sum_j a_j^2} ,
#
# a weighted average of the eigenvalues. It lies between :math:`\lambda_d` and :math:`\lambda_1`, and
# is :math:`\lambda_1` at :math:`w = u_1`. Among vectors orthogonal to :math:`u_1` (those with
# :math:`a_1 = 0`) the largest value is :math:`\lambda_2`, at :math:`u_2`; and so on.

w = np.array([2.0, -1.0])  # of any length
a = pca.components_ @ w
assert np.isclose(w @ S @ w / (w @ w), (pca.explained_variance_ * a**2).sum() / (a**2).sum())
assert lambda_2 - 1e-12 <= variance.min()
assert variance.max() <= lambda_1 + 1e-12

# %%
# How much is lost
# ----------------
#
# From :math:`q` scores the sample is reconstructed as :math:`\tilde x = m + \sum_{j \le q} z_j u_j`.
# The error has only the other directions, which are orthonormal:
#
# .. math::
#
#    x_i - \tilde{x}{}_i &= \sum_{j > q} z_{ij} u_j \\
#    \|x_i - \tilde{x}{}_i\|^2 &= \sum_{j > q} z_{ij}^2 \\
#    \frac{1}{n}\sum_i \|x_i - \tilde{x}{}_i\|^2 &= \sum_{j > q} \frac{1}{n}\sum_i z_{ij}^2
#    = \sum_{j > q} \lambda_j
#
# The reconstruction error is the discarded variance. The share that is kept,
# :math:`\sum_{j \le q} \lambda_j / \sum_j \lambda_j`, is the explained variance ratio.

Z = pca.transform(X)
rebuilt = pca.mean_ + np.outer(Z[:, 0], u_1)
assert np.allclose(X - rebuilt, np.outer(Z[:, 1], u_2))
assert np.isclose(((X - rebuilt) ** 2).sum(axis=1).mean(), lambda_2)
errors = pca.reconstruction_errors(X).mean(axis=0)  # of 0, 1 and 2 components
assert np.allclose(errors, [9.75, 0.4081, 0], atol=1e-4)
print(f"one component keeps {pca.explained_variance_ratio_[0]:.1%}")

# %%
# Worked example 1
# ----------------
#
# By hand, for the eight points:
#
# .. math::
#
#    S = \begin{pmatrix} 6.25 & 4.25 \\ 4.25 & 3.5 \end{pmatrix}
#
# .. math::
#
#    \det(S - \lambda I) &= (6.25 - \lambda)(3.5 - \lambda) - 4.25^2 = \lambda^2 - 9.75 \lambda + 3.8125 \\
#    \lambda_{1,2} &= 4.875 \pm \sqrt{4.875^2 - 3.8125} = 4.875 \pm 4.4669 = 9.3419,\; 0.4081 \\
#    0 &= (6.25 - 9.3419)\, a + 4.25\, b \quad\Rightarrow\quad b = 0.7275\, a \\
#    u_1 &= \frac{(1,\, 0.7275)}{\sqrt{1 + 0.7275^2}} = (0.8086,\, 0.5883)

assert np.allclose(S, [[6.25, 4.25], [4.25, 3.5]])
assert np.allclose(np.roots([1, -9.75, 3.8125]), pca.explained_variance_)
assert np.allclose(pca.explained_variance_.round(4), [9.3419, 0.4081])
assert np.allclose(u_1.round(4), [0.8086, 0.5883])

# %%
# Worked example 2
# ----------------
#
# Ten points that many tutorials use; here the covariance has :math:`1/(n-1)`.

Y = np.array([2.5, 2.4, 0.5, 0.7, 2.2, 2.9, 1.9, 2.2, 3.1, 3.0, 2.3, 2.7, 2, 1.6, 1, 1.1, 1.5, 1.6, 1.1, 0.9])
Y = Y.reshape(10, 2)
second = PCA().fit(Y)
assert np.allclose(second.explained_variance_, [1.28402771, 0.0490833989])
assert np.allclose(second.components_[0], [0.677873399, 0.735178656])
figures.directions(second, Y)

# %%
# Slips of well-known notes
# -------------------------
#
# **1/7 for 1/8.** Notes define the covariance with :math:`1/(n-1)`, and then print the matrix of
# worked example 1 for the eight points. That matrix has 1/8. Directions and shares are the same.

assert np.allclose(np.cov(X.T, ddof=0), [[6.25, 4.25], [4.25, 3.5]])
assert np.allclose(np.cov(X.T), [[7.142857, 4.857143], [4.857143, 4.0]])

# %%
# **Vectors exchanged.** Notes list the two eigenvectors under the wrong eigenvalues. One
# multiplication decides: :math:`S u` must be :math:`\lambda u`.

assert np.allclose(S @ u_1, 9.3419 * u_1, atol=1e-3)
assert not np.allclose(S @ u_2, 9.3419 * u_2, atol=1)

# %%
# Exercises
# ---------
#
# **By hand.** 1. Compute :math:`\lambda_j` and :math:`u_j` of
# :math:`S = \begin{pmatrix} 2 & 1 \\ 1 & 2 \end{pmatrix}`.
#
# .. dropdown:: Solution
#
#    :math:`(2 - \lambda)^2 - 1 = 0` gives :math:`\lambda = 3` and :math:`1`. The vectors are
#    :math:`(1, 1)/\sqrt 2` and :math:`(1, -1)/\sqrt 2`.
#
#    .. code-block:: python
#
#       assert np.allclose(np.linalg.eigvalsh([[2, 1], [1, 2]]), [1, 3])
#
# **By hand.** 2. Show that the covariance matrix of all scores is diagonal.
#
# .. dropdown:: Solution
#
#    :math:`Z = C A`, so :math:`\frac{1}{n} Z^T Z = A^T S A`. Its entry :math:`(i, j)` is
#    :math:`u_i^T S u_j = \lambda_j u_i^T u_j`, which is :math:`\lambda_j` for :math:`i = j` and 0 otherwise.
#
#    .. code-block:: python
#
#       assert np.allclose(np.cov(pca.transform(X).T, ddof=0), np.diag(pca.explained_variance_))
#
# **By hand.** 3. Maximise :math:`w^T S w` under *two* constraints, :math:`w^T w = 1` and
# :math:`w^T u_1 = 0`. Show that the answer is again an eigenvector.
#
# .. dropdown:: Solution
#
#    :math:`L = w^T S w - \lambda (w^T w - 1) - \mu\, w^T u_1` gives :math:`2 S w - 2\lambda w - \mu u_1 = 0`.
#    Multiply by :math:`u_1^T`: :math:`2 \lambda_1 u_1^T w - 2 \lambda u_1^T w - \mu = 0`. As
#    :math:`u_1^T w = 0`, :math:`\mu = 0`, and :math:`S w = \lambda w` remains.
#
#    .. code-block:: python
#
#       perpendicular = np.array([-u_1[1], u_1[0]])
#       assert np.allclose(S @ perpendicular, lambda_2 * perpendicular)
#
# **In code.** 4. The second column is measured in millimetres instead of metres. What becomes of
# :math:`u_1`, and what helps?
#
# .. dropdown:: Solution
#
#    Only the large numbers count then. Scaling columns to variance 1 removes the unit.
#
#    .. code-block:: python
#
#       import warnings
#
#       scaled = X * [1, 1000]
#       with warnings.catch_warnings():
#           warnings.simplefilter("ignore")  # gramian warns of this scale
#           assert PCA(1).fit(scaled).components_[0][1] > 0.999
#       one, other = (PCA(1, scale="unit").fit(rows).components_ for rows in (scaled, X))
#       assert np.allclose(one, other)
#
# **In code.** 5. Find :math:`u_1` by repeated multiplication with :math:`S` (the power method). How
# fast does it converge?
#
# .. dropdown:: Solution
#
#    In :math:`S^t w = \sum_j a_j \lambda_j^t u_j` the first term wins; the error falls by
#    :math:`\lambda_2 / \lambda_1 = 0.044` in each step.
#
#    .. code-block:: python
#
#       w, errors = np.array([1.0, 0.0]), []
#       for _ in range(5):
#           w = S @ w / np.linalg.norm(S @ w)
#           errors.append(np.linalg.norm(w - u_1))
#       assert np.allclose(np.array(errors[1:4]) / errors[:3], lambda_2 / lambda_1, rtol=0.05)
#
# **Open.** 6. Regression of the second column on the first gives another line than PCA. Which
# distances does each minimise, and when do you want which?
#
# .. dropdown:: Solution
#
#    Regression measures errors along the second column only, PCA at right angles. Regression predicts
#    one column from the other; PCA treats both as measured with error. The regression line is flatter.
#
#    .. code-block:: python
#
#       slope = S[0, 1] / S[0, 0]
#       assert slope < u_1[1] / u_1[0]
