r"""
Notation
========

Lectures write samples as columns and divide by :math:`n`. gramian, like the PCA of scikit-learn,
writes samples as rows and divides by :math:`n-1`. The table defines each symbol once and translates
it. All lessons use these symbols.

.. list-table::
   :header-rows: 1
   :widths: 26 42 32

   * - in lectures
     - meaning
     - in gramian
   * - :math:`x_1, \ldots, x_n \in \mathbb{R}^d`
     - n samples of d features :math:`f_1, \ldots, f_d`
     - rows of ``X``, of shape (n, d)
   * - :math:`m = \frac{1}{n}\sum_i x_i`
     - mean of the samples, also :math:`\bar x`
     - ``mean_``
   * - :math:`C`
     - centred samples, one in each row: :math:`c_i = x_i - m`
     - ``X - mean_``
   * - :math:`S = \frac{1}{n}\sum_i (x_i - m)(x_i - m)^T`
     - covariance matrix, d x d
     - ``PCA(ddof=0)``; the default ``ddof=1`` divides by n - 1
   * - :math:`w`
     - any unit vector, a candidate for a direction
     -
   * - :math:`u_1, \ldots, u_d`, or :math:`w_1, \ldots, w_d`
     - principal directions: unit eigenvectors of :math:`S`
     - ``components_[0]``, ...; PC1, ... in figures
   * - :math:`\lambda_1 \ge \lambda_2 \ge \ldots \ge 0`
     - eigenvalues of :math:`S`: variances along :math:`u_j`
     - ``explained_variance_``
   * - :math:`z_{ij} = u_j^T (x_i - m)`
     - projection of sample i on :math:`u_j`
     - ``transform(X)[i, j]``, the score (j from 0)
   * - :math:`A = [u_1 \ldots u_d]`
     - the whole transform: :math:`z = A^T (x - m)`
     - ``components_.T``
   * - :math:`q`
     - number of components that are kept
     - ``n_components``; r in captions of pictures
   * - :math:`\phi(x)`
     - features made of a sample
     - ``kernel.feature_map(d)(X)``
   * - :math:`k(x, y) = \phi(x)^T \phi(y)`
     - kernel
     - ``kernel(x, y)`` of vectors, ``kernel(X, Y)`` of rows
   * - :math:`K_{ij} = k(x_i, x_j)`
     - kernel matrix (Gram matrix), n x n
     - ``kernel.gram(X)``
   * - :math:`J`, :math:`H = I - J`
     - :math:`J` has all entries :math:`1/n`; :math:`H` subtracts means
     -
   * - :math:`\tilde K = H K H`
     - kernel matrix of centred features
     - ``kernel.centered_gram(X)``
   * - :math:`n\lambda_j`
     - eigenvalues of :math:`\tilde K`
     - ``KernelPCA.eigenvalues_``, ``PCA.singular_values_**2``
   * - :math:`\beta_j`
     - unit eigenvectors of :math:`\tilde K`
     - ``KernelPCA.eigenvectors_``
   * - :math:`\alpha_j = \beta_j / \sqrt{n\lambda_j}`
     - weights of the centred samples: :math:`u_j = \sum_i \alpha_{ij} c_i`
     - ``KernelPCA.projection_coef_``, ``PCA.dual_coefficients(X)``
   * - :math:`(x^T y + 1)^p`
     - polynomial kernel
     - ``Polynomial(degree=p, gamma=1)``; gamma is 1/d by default
   * - :math:`\exp(-\gamma \|x - y\|^2)`, :math:`\gamma = \frac{1}{2\sigma^2}`
     - Gaussian kernel (RBF) of width :math:`\sigma`
     - ``RBF(gamma=...)`` or ``RBF(sigma=...)``

Features are counted from 1 in formulas. In figures the first column is x0 unless columns have
names. The signs of directions are free in lectures. Here the first entry of largest magnitude is
positive.

The figure has eight points, their projections on :math:`u_1`, and both directions :math:`u_j` from
:math:`m` with the length :math:`\sqrt{\lambda_j}`.
"""

import numpy as np

from gramian import PCA, KernelPCA, figures
from gramian.kernels import Linear, Polynomial

X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]], dtype=float)
n, d = X.shape
m = X.mean(axis=0)
S = (X - m).T @ (X - m) / n
pca = PCA(ddof=0).fit(X)

assert np.allclose(pca.mean_, m)
for u, variance in zip(pca.components_, pca.explained_variance_, strict=True):
    assert np.allclose(S @ u, variance * u)  # S u = lambda u
assert np.allclose(pca.transform(X), (X - m) @ pca.components_.T)
print(S)
print(pca.explained_variance_.round(4), pca.components_[0].round(4))
figures.directions(pca, X)

# %%
# Rows and columns
# ----------------
#
# With samples as rows, the sum of outer products is one matrix product:
#
# .. math::
#
#    S = \frac{1}{n}\sum_{i=1}^n c_i c_i^T = \frac{1}{n} C^T C .
#
# A lecture with samples as columns writes :math:`\frac{1}{n} C C^T` for the same matrix.

C = X - m
assert np.allclose(sum(np.outer(c, c) for c in C) / n, C.T @ C / n)

# %%
# n or n - 1
# ----------
#
# With :math:`n-1` all eigenvalues are :math:`n/(n-1)` times as large. Directions and ratios are the
# same, because :math:`S` changes by a factor only.

default = PCA().fit(X)
assert np.allclose(default.explained_variance_, pca.explained_variance_ * n / (n - 1))
assert np.allclose(default.components_, pca.components_)
assert np.allclose(default.explained_variance_ratio_, pca.explained_variance_ratio_)

# %%
# The dual names
# --------------
#
# For the linear kernel :math:`k(x, y) = x^T y` the matrix :math:`\tilde K` is :math:`C C^T`. Any other kernel
# takes its place.

kernel_pca = KernelPCA(2, kernel="linear").fit(X)
K = Linear().centered_gram(X)
beta, alpha = kernel_pca.eigenvectors_, kernel_pca.projection_coef_
n_lambda = n * pca.explained_variance_
assert np.allclose(K, C @ C.T)
assert np.allclose(Polynomial(degree=2, gamma=1).gram(X), (X @ X.T + 1) ** 2)
assert np.allclose(kernel_pca.eigenvalues_, n_lambda)
assert np.allclose(pca.singular_values_**2, n_lambda)
assert np.allclose(K @ beta, beta * n_lambda)
assert np.allclose(alpha, beta / np.sqrt(n_lambda))
assert np.allclose(np.abs(alpha), np.abs(pca.dual_coefficients(X)))  # up to the sign of each column

# %%
# Exercises
# ---------
#
# **By hand.** 1. Compute :math:`m` and :math:`S` of the points (0, 0), (2, 0), (2, 2), (0, 2), with
# :math:`n` and with :math:`n-1`.
#
# .. dropdown:: Solution
#
#    :math:`m = (1, 1)`. The centred points are :math:`(\pm 1, \pm 1)`, all four of them. Each diagonal
#    entry is :math:`\frac{1}{4} \cdot 4 = 1`, and the products :math:`1, -1, 1, -1` cancel. So
#    :math:`S = I` with n, and :math:`\frac{4}{3} I` with n - 1.
#
#    .. code-block:: python
#
#       square = np.array([[0, 0], [2, 0], [2, 2], [0, 2]])
#       assert np.allclose(np.cov(square.T, ddof=0), np.eye(2))
#       assert np.allclose(np.cov(square.T), 4 / 3 * np.eye(2))
#
# **By hand.** 2. What is :math:`(x^T y + 1)^2` for :math:`x = (5, 10)` and :math:`y = (-1, 2)`? What
# happens if you forget gamma?
#
# .. dropdown:: Solution
#
#    :math:`x^T y = -5 + 20 = 15`, so the kernel is :math:`16^2 = 256`. With the default
#    :math:`\gamma = 1/d = 1/2` it is :math:`(7.5 + 1)^2 = 72.25`.
#
#    .. code-block:: python
#
#       assert Polynomial(degree=2, gamma=1)([5, 10], [-1, 2]) == 256
#       assert Polynomial(degree=2)([5, 10], [-1, 2]) == 72.25
#
# **In code.** 3. A lecture stores X as 2 x 8. Which call gives its covariance matrix, and which its
# first direction?
#
# .. dropdown:: Solution
#
#    ``np.cov`` expects samples as columns, and ``PCA`` as rows.
#
#    .. code-block:: python
#
#       columns = X.T
#       assert np.allclose(np.cov(columns, ddof=0), S)
#       assert np.allclose(PCA(1, ddof=0).fit(columns.T).components_[0].round(4), [0.8086, 0.5883])
#
# **Open.** 4. Why do statisticians divide by n - 1? When does it matter here?
#
# .. dropdown:: Solution
#
#    The deviations from the *sample* mean are too small on average: the expectation of
#    :math:`\frac{1}{n}\sum_i (x_i - m)^2` is :math:`\frac{n-1}{n}` times the variance of the population.
#    For shares, directions and scores it does not matter. It matters for eigenvalues of few samples,
#    and for whitening, which divides by standard deviations.
#
#    .. code-block:: python
#
#       samples = np.random.default_rng(0).standard_normal((100_000, 5))  # of variance 1
#       assert abs(samples.var(axis=1).mean() - 4 / 5) < 0.01
#       assert abs(samples.var(axis=1, ddof=1).mean() - 1) < 0.01
