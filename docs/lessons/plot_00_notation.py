"""
Notation
========

Lectures write samples as columns and divide by n. gramian, like the PCA of scikit-learn, writes
samples as rows and divides by n - 1. The table translates. The code below checks its rows on PCA
and on the dual.

.. list-table::
   :header-rows: 1
   :widths: 22 44 34

   * - in lectures
     - meaning
     - in gramian
   * - X, d x n
     - n samples of d features; a sample is a column
     - ``X`` of shape (n, d); a sample is a row
   * - m, or x with a bar
     - mean of the samples
     - ``mean_``
   * - S = (1/n) sum (x - m)(x - m)^T
     - covariance matrix, d x d
     - ``PCA(ddof=0)``; the default ``ddof=1`` divides by n - 1
   * - w, or u_j
     - unit direction, eigenvector of S
     - ``components_[j]``, a row of length d
   * - lambda_j
     - eigenvalue of S: variance along u_j
     - ``explained_variance_[j]``
   * - w^T (x - m)
     - projection of a sample on w
     - ``transform(X)[:, j]``, the score
   * - K, n x n
     - inner products of samples, or of their features
     - ``kernel.gram(X)``; centred: ``kernel.centered_gram(X)``
   * - n lambda_j
     - eigenvalue of the centred K
     - ``singular_values_[j] ** 2``; of a kernel ``eigenvalues_[j]``
   * - beta_j
     - unit eigenvector of the centred K
     - ``KernelPCA.eigenvectors_[:, j]``
   * - alpha_j = beta_j / sqrt(n lambda_j)
     - coefficients of the centred samples in u_j
     - ``KernelPCA.projection_coef_[:, j]``, ``PCA.dual_coefficients(X)[:, j]``
   * - phi(x)
     - features of a sample
     - ``kernel.feature_map(d)(X)``
   * - k(x, y) = phi(x)^T phi(y)
     - kernel
     - ``kernel(x, y)`` of two vectors, ``kernel(X, Y)`` of rows
   * - (x^T y + 1)^p
     - polynomial kernel
     - ``Polynomial(degree=p, gamma=1)``; gamma is 1/d by default
   * - sigma, or gamma = 1 / (2 sigma^2)
     - width of the Gaussian kernel
     - ``RBF(sigma=...)`` or ``RBF(gamma=...)``

The signs of directions are free in the lectures. Here the first entry of largest magnitude is
positive. The figure shows eight points, their projections on u_1, and both directions u_j from m
with the length sqrt(lambda_j).
"""

import numpy as np

from gramian import PCA, KernelPCA, plots
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
plots.directions(pca, X)

# %%
# With n - 1 the eigenvalues are n / (n - 1) times as large. Directions and ratios are the same.

default = PCA().fit(X)
assert np.allclose(default.explained_variance_, pca.explained_variance_ * n / (n - 1))
assert np.allclose(default.components_, pca.components_)
assert np.allclose(default.explained_variance_ratio_, pca.explained_variance_ratio_)

# %%
# The dual names, for the linear kernel:

kernel_pca = KernelPCA(2, kernel="linear").fit(X)
K = Linear().centered_gram(X)
beta, alpha = kernel_pca.eigenvectors_, kernel_pca.projection_coef_
n_lambda = n * pca.explained_variance_
assert np.allclose(kernel_pca.eigenvalues_, n_lambda)
assert np.allclose(pca.singular_values_**2, n_lambda)
assert np.allclose(K @ beta, beta * n_lambda)
assert np.allclose(alpha, beta / np.sqrt(n_lambda))
assert np.allclose(np.abs(alpha), np.abs(pca.dual_coefficients(X)))  # up to the sign of each column

# %%
# Exercises
# ---------
#
# 1. A lecture stores X as 2 x 8. Which call gives its covariance matrix, and which its first
#    direction?

columns = X.T
assert np.allclose(np.cov(columns, ddof=0), S)
assert np.allclose(PCA(1, ddof=0).fit(columns.T).components_[0].round(4), [0.8086, 0.5883])

# %%
# 2. What is (x^T y + 1)^2 for x = (5, 10) and y = (-1, 2)? What happens if you forget gamma?

assert Polynomial(degree=2, gamma=1)([5, 10], [-1, 2]) == (5 * -1 + 10 * 2 + 1) ** 2 == 256
assert Polynomial(degree=2)([5, 10], [-1, 2]) == (15 / 2 + 1) ** 2 == 72.25
