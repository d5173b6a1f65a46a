"""
Kernels, and how to know one
============================

A function k(x, y) is a kernel if it is an inner product phi(x)^T phi(y) of some features. Two
ways lead to certainty: exhibit the features, or prove that every Gram matrix is symmetric and has
no negative eigenvalue. One matrix with a negative eigenvalue refutes; no number of matrices proves.
"""

import numpy as np

from gramian import plots
from gramian.kernels import RBF, Linear, Polynomial, Sigmoid, audit, kernel_from_name

X = np.random.default_rng(0).standard_normal((40, 3))

# %%
# Exhibit the features
# --------------------
#
# ``feature_map`` writes them down where there are finitely many.

k = Polynomial(degree=2, gamma=1)
phi = k.feature_map(3)
assert np.allclose(phi(X) @ phi(X).T, k(X))
print(phi.names)

# %%
# The Gaussian kernel has infinitely many. For numbers, exp(-(x - y)^2 / 2) = exp(-x^2/2) exp(-y^2/2)
# sum_m (xy)^m / m!, so feature m is exp(-x^2/2) x^m / sqrt(m!). The first twenty suffice here.

x = X[:, 0]
terms = [x**m / np.sqrt(float(np.prod(np.arange(1.0, m + 1)))) for m in range(20)]
features = np.exp(-(x**2) / 2)[:, None] * np.column_stack(terms)
assert np.allclose(features @ features.T, RBF(sigma=1)(x[:, None]), atol=1e-6)

# %%
# Look at eigenvalues
# -------------------
#
# For weights v, ``v^T K v = |sum_i v_i phi(x_i)|^2``, which is never negative. So a negative
# eigenvalue refutes.

print(f"smallest eigenvalue, Gaussian: {np.linalg.eigvalsh(RBF(sigma=1)(X))[0]:.1e}")
print(f"smallest eigenvalue, sigmoid:  {np.linalg.eigvalsh(Sigmoid(gamma=1)(X))[0]:.1e}")
assert np.linalg.eigvalsh(Sigmoid(gamma=1)(X))[0] < -1

# %%
# ``audit`` `searches for a counterexample <../audit.html>`_ of few points. The figure shows three points
# with the size and the sign of their weights v: v^T K v is -0.36, by hand from the printed table.

report = audit("sigmoid(gamma=1)", random_state=0)
assert report.verdict == "not a kernel"
print(report)
plots.counter_example(report)

# %%
# Build from proven parts
# -----------------------
#
# `Sums, products, positive multiples and limits <../kernels.html>`_ of kernels are kernels. A sum has
# the features of both, a product all products of pairs of features.

both = Polynomial(degree=1, gamma=1) + Linear()
first, second = Polynomial(degree=1, gamma=1).feature_map(3)(X), X
assert np.allclose(np.hstack([first, second]) @ np.hstack([first, second]).T, both(X))
pairs = (first[:, :, None] * second[:, None, :]).reshape(40, -1)
assert np.allclose(pairs @ pairs.T, (Polynomial(degree=1, gamma=1) * Linear())(X))
print((RBF(sigma=1) * Linear() + 1).validity)

# %%
# A difference of kernels may be a kernel or not: no rule proves it. ``audit`` refutes this one.

assert audit(kernel_from_name("rbf - 0.5*laplacian"), random_state=0).verdict == "not a kernel"

# %%
# Slips of well-known notes
# -------------------------
#
# **"tanh(x^T y + 1) is a kernel."** It is in many lists, and three points refute it.

three = np.array([[-1.0], [0.0], [1.0]])
assert np.linalg.eigvalsh(np.tanh(three @ three.T + 1))[0] < 0

# %%
# **"Positive entries make positive eigenvalues."** [[1, 2], [2, 1]] has the eigenvalue -1.

assert np.allclose(np.linalg.eigvalsh([[1.0, 2.0], [2.0, 1.0]]), [-1, 3])

# %%
# **"Tested on my data, so it is a kernel."** (1 + x^T y)^1.5 passes on any three numbers for which
# it has a value (FitzGerald and Horn 1977), and fails on four.

power = kernel_from_name("poly(degree=1.5, gamma=1)")
assert power.validity.refuted
four = np.array([[-0.3], [-0.1], [0.1], [0.3]])
assert np.linalg.eigvalsh((1 + four @ four.T) ** 1.5)[0] < 0
assert np.linalg.eigvalsh((1 + four[:3] @ four[:3].T) ** 1.5)[0] > 0

# %%
# Exercises
# ---------
#
# 1. Is k(x, y) = x + y (numbers) a kernel?

assert np.linalg.eigvalsh([[0.0, 1.0], [1.0, 2.0]])[0] < 0  # x = 0, y = 1

# %%
# 2. Is min(x, y) for positive numbers? (It is the length of the overlap of [0, x] and [0, y].)

points = np.array([0.5, 1.0, 2.5])
steps = np.array([0.5, 0.5, 1.5])  # lengths between the points
indicator = np.tril(np.ones((3, 3))) * np.sqrt(steps)
assert np.allclose(indicator @ indicator.T, np.minimum.outer(points, points))

# %%
# 3. Why does a negative diagonal entry of a Gram matrix refute at once?

assert audit("linear - 1", random_state=0).verdict == "not a kernel"  # k(0, 0) = |phi(0)|^2 = -1

# %%
# 4. Normalise the linear kernel: k(x, y) / sqrt(k(x, x) k(y, y)). What is its diagonal, and its name?

cosine = Linear().normalized()
assert np.allclose(np.diag(cosine(X)), 1)
assert cosine.psd
