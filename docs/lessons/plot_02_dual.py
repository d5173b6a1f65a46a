r"""
More features than samples: the dual
====================================

A picture of 192 x 168 pixels has :math:`d = 32\,256` features. Its covariance matrix :math:`S` has a
billion entries. But :math:`n = 200` pictures have only 200 x 200 inner products, and these suffice.
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import PCA
from gramian.kernels import Linear

print(PCA(10).plan((200, 32_256)))

# %%
# ``plan`` needs no data: a shape will do. The last lines compare both ways. To decompose a matrix of
# order :math:`r` costs :math:`O(r^3)`, so the smaller matrix wins.
#
# Why inner products suffice
# --------------------------
#
# Let :math:`C` be the centred samples, one in each row. Then :math:`S = \frac{1}{n} C^T C` is d x d, and
# :math:`K = C C^T` is n x n with the inner products :math:`K_{ij} = c_i^T c_j`.
#
# *Step 1: a direction is a sum of samples.* For :math:`\lambda \ne 0`,
#
# .. math::
#
#    S u = \lambda u \quad\Rightarrow\quad
#    u = \frac{1}{\lambda} S u = \frac{1}{n\lambda} \sum_i c_i (c_i^T u) = \sum_i \alpha_i c_i = C^T \alpha .
#
# *Step 2: an equation for the weights.* Put :math:`u = C^T \alpha` into :math:`S u = \lambda u`, and
# multiply by :math:`C` from the left:
#
# .. math::
#
#    \frac{1}{n} C^T C\, C^T \alpha &= \lambda\, C^T \alpha \\
#    \frac{1}{n} C C^T C C^T \alpha &= \lambda\, C C^T \alpha \\
#    K (K \alpha) &= n\lambda\, (K \alpha)
#
# So :math:`K\alpha` is an eigenvector of :math:`K` with eigenvalue :math:`n\lambda`, and it is enough to
# solve :math:`K \beta = n\lambda\, \beta`.
#
# *Step 3: back, and the length.* If :math:`K \beta = n\lambda\, \beta` with :math:`\|\beta\| = 1`, then
#
# .. math::
#
#    S (C^T \beta) &= \frac{1}{n} C^T (C C^T \beta) = \frac{1}{n} C^T (n\lambda\, \beta)
#    = \lambda\, (C^T \beta) \\
#    \|C^T \beta\|^2 &= \beta^T C C^T \beta = \beta^T K \beta = n\lambda
#
# Therefore :math:`u = C^T \alpha` with :math:`\alpha = \beta / \sqrt{n\lambda}` is a unit eigenvector of
# :math:`S`, and :math:`\alpha^T K \alpha = 1`.

rng = np.random.default_rng(0)
n, d = 6, 40
X = rng.standard_normal((n, d)) + 3
C = X - X.mean(axis=0)
S, K = C.T @ C / n, C @ C.T
n_lambda, beta = np.linalg.eigh(K)
n_lambda, beta = n_lambda[::-1], beta[:, ::-1]  # largest first
print(n_lambda.round(6))

# %%
# The last eigenvalue is zero, always: the rows of :math:`C` add up to zero, so
# :math:`K \mathbf{1} = C (C^T \mathbf{1}) = 0`. Such an eigenvalue has no :math:`\alpha`. Leave it out;
# never divide by it.

keep = n_lambda > 1e-9 * n_lambda[0]
alpha = beta[:, keep] / np.sqrt(n_lambda[keep])
U = C.T @ alpha
assert keep.sum() == n - 1
assert np.allclose(S @ U, U * (n_lambda[keep] / n))  # step 3
assert np.allclose(U.T @ U, np.eye(n - 1))
assert np.allclose(alpha, C @ U / n_lambda[keep])  # step 1
assert np.allclose((alpha.T @ K @ alpha), np.eye(n - 1))

pca = PCA(n - 1, ddof=0).fit(X)
assert np.allclose(np.abs(U.T @ pca.components_.T), np.eye(n - 1), atol=1e-7)
assert np.allclose(pca.explained_variance_, n_lambda[keep] / n)
assert np.allclose(np.abs(pca.dual_coefficients(X)), np.abs(alpha))

# %%
# The same from one decomposition: :math:`C = B\, \Sigma\, U^T` (SVD) gives
# :math:`C^T C = U \Sigma^2 U^T` and :math:`C C^T = B \Sigma^2 B^T`. Both have the eigenvalues
# :math:`\sigma_j^2 = n\lambda_j`.

singular = np.linalg.svd(C, compute_uv=False)
assert np.allclose(singular[:-1] ** 2, n_lambda[keep])

# %%
# New samples need inner products only
# ------------------------------------
#
# The score of a new :math:`x` is
#
# .. math::
#
#    u^T (x - m) = \sum_i \alpha_i\, c_i^T (x - m) .
#
# Each term is an inner product with a sample of the fit. No direction of length d is needed. The kernel
# trick starts here.

new = rng.standard_normal((3, d)) + 3
scores = Linear().centered_gram(X, new) @ pca.dual_coefficients(X)
assert np.allclose(scores, pca.transform(new))

# %%
# Slips of well-known notes
# -------------------------
#
# **"n samples give n components."** After centring they give at most :math:`n-1`: two points lie on a
# line, three in a plane. Without centring there may be n. ``rank_`` is the number of components with
# variance.

assert PCA().fit(X).rank_ == n - 1
assert PCA(center=False).fit(X).rank_ == n

# %%
# **"With all dimensions anything can be rebuilt."** True only if the centred samples span all features,
# for which :math:`n - 1 \ge d` is needed. With :math:`n \le d` all :math:`n-1` components rebuild the
# samples of the fit, but a new sample has, in general, a part outside their span. The curves end at
# ``rank_``, here 19.

many = rng.standard_normal((200, d))
few, enough = PCA(19).fit(many[:20]), PCA().fit(many[:100])
fresh = many[100:]
for name, some in (("20 fitted samples", many[:20]), ("new samples", fresh)):
    squares = few.reconstruction_errors(some).sum(axis=0)  # from 0, 1, 2, ... components
    plt.plot(np.sqrt(squares / squares[0]), label=name)
plt.xlabel("number of components")
plt.ylabel("relative error")
plt.legend()

# %%

assert few.rank_ == 19
assert few.reconstruction_errors(many[:20], [19]).max() < 1e-20
errors = few.reconstruction_errors(fresh, [0, 19]).sum(axis=0)
print(f"relative error of new samples with 19 components: {np.sqrt(errors[1] / errors[0]):.2f}")
assert few.reconstruction_errors(fresh, [19]).min() > 1
assert enough.reconstruction_errors(fresh, [d]).max() < 1e-20  # 100 > 40

# %%
# Exercises
# ---------
#
# **By hand.** 1. How many components do 100 samples of 30 features have, and 30 samples of 100
# features?
#
# .. dropdown:: Solution
#
#    :math:`\min(n - 1, d)`, unless samples are in special position: 30 and 29.
#
#    .. code-block:: python
#
#       assert PCA().fit(rng.standard_normal((100, 30))).rank_ == 30
#       assert PCA().fit(rng.standard_normal((30, 100))).rank_ == 29
#
# **By hand.** 2. Three samples of four features: (1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1). Find
# :math:`K` of the centred samples, its eigenvalues, and one :math:`u`.
#
# .. dropdown:: Solution
#
#    :math:`m = (\frac{1}{3}, \frac{1}{3}, \frac{1}{3}, 1)`. The diagonal of :math:`K` is
#    :math:`\frac{4}{9} + \frac{1}{9} + \frac{1}{9} = \frac{2}{3}`, and every other entry is
#    :math:`-\frac{2}{9} - \frac{2}{9} + \frac{1}{9} = -\frac{1}{3}`. So :math:`K = I - J`, with
#    eigenvalues 1, 1, 0. One :math:`\beta` is :math:`(1, -1, 0)/\sqrt 2`, and
#    :math:`u = C^T \beta = (1, -1, 0, 0)/\sqrt 2`.
#
#    .. code-block:: python
#
#       three = np.column_stack([np.eye(3), np.ones(3)])
#       centred = three - three.mean(axis=0)
#       assert np.allclose(np.linalg.eigvalsh(centred @ centred.T), [0, 1, 1])
#       u = centred.T @ [1, -1, 0] / np.sqrt(2)
#       assert np.allclose(centred.T @ centred @ u, u)
#
# **By hand.** 3. Show that :math:`\operatorname{trace}\, K = n \operatorname{trace}\, S`.
#
# .. dropdown:: Solution
#
#    :math:`\operatorname{trace}\, C C^T = \operatorname{trace}\, C^T C`: both are the sum of all squared
#    entries.
#
#    .. code-block:: python
#
#       assert np.isclose(np.trace(K), n * pca.explained_variance_.sum())
#
# **In code.** 4. Compute the ten first components of 100 samples of 100,000 features without any
# matrix larger than the data, and check :math:`u_i^T u_j`.
#
# .. dropdown:: Solution
#
#    .. code-block:: python
#
#       wide = rng.standard_normal((100, 100_000))
#       wide -= wide.mean(axis=0)
#       values, vectors = np.linalg.eigh(wide @ wide.T)
#       directions = wide.T @ (vectors[:, -10:] / np.sqrt(values[-10:]))
#       assert np.allclose(directions.T @ directions, np.eye(10))
#
# **Open.** 5. For which n and d does each side cost less? Which side does gramian take for 1,000,000
# samples of 50 features, and which for 50 of 1,000,000?
#
# .. dropdown:: Solution
#
#    :math:`S` costs :math:`O(n d^2 + d^3)`, and :math:`K` costs :math:`O(n^2 d + n^3)`: take the smaller
#    of n and d. For large n *and* d, and few components, an iterative method needs neither matrix.
#
#    .. code-block:: python
#
#       assert PCA(5).plan((10**6, 50)).operator == "covariance"
#       assert PCA(5).plan((50, 10**6)).operator == "gram"
