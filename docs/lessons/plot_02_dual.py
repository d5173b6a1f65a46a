"""
More features than samples: the dual
====================================

A picture of 192 x 168 pixels has 32,256 features. Its covariance matrix has a billion entries.
But 200 pictures have only 200 x 200 inner products, and these suffice.
"""

import numpy as np

from gramian import PCA, plots
from gramian.kernels import Linear

print(PCA(10).plan((200, 32_256)))

# %%
# ``plan`` needs no data: a shape will do. The last lines compare both ways. To decompose a matrix of
# order m costs O(m^3), so the smaller matrix wins.
#
# Why inner products suffice
# --------------------------
#
# Let C be the centred rows, S = C^T C / n, and K = C C^T, the Gram matrix. If K beta = n lambda beta,
# then C^T beta is an eigenvector of S: S (C^T beta) = C^T (C C^T beta) / n = lambda (C^T beta). Its
# squared length is beta^T K beta = n lambda, so u = C^T beta / sqrt(n lambda) = C^T alpha has length 1.

rng = np.random.default_rng(0)
n, d = 6, 40
X = rng.standard_normal((n, d)) + 3
C = X - X.mean(axis=0)
K = C @ C.T
n_lambda, beta = np.linalg.eigh(K)
n_lambda, beta = n_lambda[::-1], beta[:, ::-1]  # largest first
print(n_lambda.round(6))

# %%
# The last eigenvalue is zero, always: the rows of C add up to zero, so the vector of ones is in the
# null space of K. Such an eigenvalue has no alpha. Leave it out; never divide by it.

keep = n_lambda > 1e-9 * n_lambda[0]
alpha = beta[:, keep] / np.sqrt(n_lambda[keep])
U = C.T @ alpha
assert keep.sum() == n - 1
assert np.allclose(U.T @ U, np.eye(n - 1))

pca = PCA(n - 1, ddof=0).fit(X)
assert np.allclose(np.abs(U.T @ pca.components_.T), np.eye(n - 1), atol=1e-7)
assert np.allclose(pca.explained_variance_, n_lambda[keep] / n)
assert np.allclose(np.abs(pca.dual_coefficients(X)), np.abs(alpha))

# %%
# New samples need inner products only
# ------------------------------------
#
# The score of a new x is u^T (x - m) = sum_i alpha_i c_i^T (x - m), with the rows c_i of C. With a
# centred Gram matrix between new and old samples this is one product, and no direction of length d
# is needed. The kernel trick starts here.

new = rng.standard_normal((3, d)) + 3
scores = Linear().centered_gram(X, new) @ pca.dual_coefficients(X)
assert np.allclose(scores, pca.transform(new))

# %%
# Slips of well-known notes
# -------------------------
#
# **"n samples give n components."** After centring they give at most n - 1: two points lie on a
# line, three in a plane. Without centring there may be n.

assert PCA().fit(X).rank_ == n - 1  # of the six components, the last has no variance
assert PCA(center=False).fit(X).rank_ == n

# %%
# **"With all dimensions anything can be rebuilt."** True only if the centred samples span all
# features, for which n - 1 >= d is needed. With n <= d all n - 1 components rebuild the samples of the
# fit, but a new sample has, in general, a part outside their span.

many = rng.standard_normal((200, d))
few, enough = PCA(19).fit(many[:20]), PCA().fit(many[:100])
fresh = many[100:]
plots.reconstruction_errors(few, {"20 fitted rows": many[:20], "new rows": fresh})

# %%

assert few.reconstruction_errors(many[:20], [19]).max() < 1e-20
errors = few.reconstruction_errors(fresh, [0, 19]).sum(axis=0)
print(f"relative error of new rows with 19 components: {np.sqrt(errors[1] / errors[0]):.2f}")
assert few.reconstruction_errors(fresh, [19]).min() > 1
assert enough.reconstruction_errors(fresh, [d]).max() < 1e-20  # 100 > 40

# %%
# Exercises
# ---------
#
# 1. How many components do 100 samples of 30 features have, and 30 samples of 100 features?

assert PCA().fit(rng.standard_normal((100, 30))).rank_ == 30
assert PCA().fit(rng.standard_normal((30, 100))).rank_ == 29

# %%
# 2. Show that trace K = n trace S.

assert np.isclose(np.trace(K), n * pca.explained_variance_.sum())

# %%
# 3. alpha^T K alpha is 1. Why, in words?

a = pca.dual_coefficients(X)[:, 0]
assert np.isclose(a @ K @ a, 1)  # it is the squared length of u = C^T alpha

# %%
# 4. Which side does gramian take for 1,000,000 samples of 50 features, and which for 50 of
#    1,000,000?

assert PCA(5).plan((10**6, 50)).operator == "covariance"
assert PCA(5).plan((50, 10**6)).operator == "gram"
