r"""
Kernels, and how to know one
============================

A function :math:`k(x, y)` is a kernel if it is an inner product :math:`\phi(x)^T \phi(y)` of some
features. Two ways lead to certainty: exhibit the features, or prove that every Gram matrix is
symmetric and has no negative eigenvalue. One matrix with a negative eigenvalue refutes; no number of
matrices proves.
"""

from math import factorial

import numpy as np

from gramian.kernels import RBF, Linear, Polynomial, Sigmoid, audit, kernel_from_name

X = np.random.default_rng(0).standard_normal((40, 3))

# %%
# Exhibit the features: finitely many
# -----------------------------------
#
# For a polynomial kernel ``feature_map`` writes them down.

k = Polynomial(degree=2, gamma=1)
phi = k.feature_map(3)
assert np.allclose(phi(X) @ phi(X).T, k(X))
print(phi.names)

# %%
# The Gaussian kernel as a series
# -------------------------------
#
# It has infinitely many features. For numbers :math:`x` and :math:`y`,
#
# .. math::
#
#    e^{-\gamma (x - y)^2} &= e^{-\gamma x^2}\, e^{-\gamma y^2}\, e^{2 \gamma x y} \\
#    &= e^{-\gamma x^2}\, e^{-\gamma y^2} \sum_{r=0}^{\infty} \frac{(2\gamma x y)^r}{r!}
#    = \sum_{r=0}^{\infty} \phi_r(x)\, \phi_r(y) \\
#    \phi_r(x) &= e^{-\gamma x^2} \sqrt{\frac{(2\gamma)^r}{r!}}\; x^r
#
# The first forty suffice here to seven digits.

x, gamma = X[:, 0], 0.5
features = np.column_stack(
    [np.exp(-gamma * x**2) * np.sqrt((2 * gamma) ** r / factorial(r)) * x**r for r in range(40)]
)
assert np.allclose(features @ features.T, RBF(gamma=gamma)(x[:, None]), atol=1e-7)

# %%
# The Gaussian kernel as an integral
# ----------------------------------
#
# Another map gives a sample a *function* of :math:`z \in \mathbb{R}^d`, a bump around the sample. The
# inner product of two functions is the integral of their product. Take
#
# .. math::
#
#    \phi_z(x) = a\, e^{-2 \gamma \|x - z\|^2} , \qquad a^2 = \left(\frac{4\gamma}{\pi}\right)^{d/2} .
#
# With the midpoint :math:`c = \frac{x + y}{2}`, expanding both sides shows
# :math:`\|x - z\|^2 + \|y - z\|^2 = 2 \|z - c\|^2 + \frac{1}{2} \|x - y\|^2`. Therefore
#
# .. math::
#
#    \int \phi_z(x)\, \phi_z(y)\, dz &= a^2 \int e^{-2\gamma (\|x - z\|^2 + \|y - z\|^2)}\, dz \\
#    &= a^2\, e^{-\gamma \|x - y\|^2} \int e^{-4\gamma \|z - c\|^2}\, dz \\
#    &= a^2\, e^{-\gamma \|x - y\|^2} \left(\frac{\pi}{4\gamma}\right)^{d/2} = e^{-\gamma \|x - y\|^2}
#
# So the Gaussian kernel is an inner product. The code approximates the integral over a grid of
# :math:`z` in the plane.

points, gamma = X[:5, :2], 0.5
axis = np.linspace(-8, 8, 161)
z = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
cell = (axis[1] - axis[0]) ** 2
a = (4 * gamma / np.pi) ** 0.5  # d = 2: the fourth root, squared
bumps = a * np.exp(-2 * gamma * ((points[:, None] - z) ** 2).sum(axis=2))
assert np.allclose(bumps @ bumps.T * cell, RBF(gamma=gamma)(points))

# %%
# Mercer's condition
# ------------------
#
# *A kernel has no negative eigenvalue.* For weights :math:`v` of any finite set of points,
#
# .. math::
#
#    v^T K v = \sum_{i,j} v_i v_j\, \phi(x_i)^T \phi(x_j) = \| \sum_i v_i \phi(x_i) \|^2 \ge 0 .
#
# *Conversely*, let every Gram matrix be symmetric without negative eigenvalues. For the points at hand
# features follow from :math:`K = B \Lambda B^T`: give point i column i of :math:`\Lambda^{1/2} B^T`.
# The inner products are the entries of :math:`B \Lambda^{1/2} \Lambda^{1/2} B^T = K`. For all points at
# once, take the function :math:`\phi(x) = k(x, \cdot)`, and define
# :math:`\langle k(x, \cdot), k(y, \cdot) \rangle = k(x, y)` (Moore and Aronszajn). The condition on all
# Gram matrices is what makes this an inner product.

K = RBF(gamma=0.5)(X)
values, B = np.linalg.eigh(K)
assert values.min() > 0
coordinates = B * np.sqrt(values)  # one row for each point
assert np.allclose(coordinates @ coordinates.T, K)
v = np.random.default_rng(1).standard_normal(40)
assert np.isclose(v @ K @ v, ((v @ coordinates) ** 2).sum())

# %%
# So a negative eigenvalue refutes.

print(f"smallest eigenvalue, Gaussian: {np.linalg.eigvalsh(RBF(sigma=1)(X))[0]:.1e}")
print(f"smallest eigenvalue, sigmoid:  {np.linalg.eigvalsh(Sigmoid(gamma=1)(X))[0]:.1e}")
assert np.linalg.eigvalsh(Sigmoid(gamma=1)(X))[0] < -1

# %%
# ``audit`` `searches for a counterexample <../audit.html>`_ of few points. The figure has the three
# points :math:`-1, 0, 1` and their weights :math:`v = (-1, 1, -1)`. By hand from the printed table,
# :math:`v^T K v = 2 \cdot 0.964 + 0.762 - 4 \cdot 0.762 + 2 \cdot 0 = -0.36`.

report = audit("sigmoid(gamma=1)", random_state=0)
assert report.verdict == "not a kernel"
print(report)

# %%
# Closure rules
# -------------
#
# Let :math:`k_1` and :math:`k_2` be kernels with features :math:`\phi` and :math:`\psi`.
#
# .. list-table::
#    :header-rows: 1
#    :widths: 30 70
#
#    * - kernel
#      - features, or reason
#    * - :math:`c\, k_1`, :math:`c \ge 0`
#      - :math:`\sqrt{c}\, \phi`
#    * - :math:`k_1 + k_2`
#      - both: :math:`(\phi, \psi)`
#    * - :math:`k_1 k_2`
#      - all products :math:`\phi_r \psi_s`, because
#        :math:`\sum_{r,s} \phi_r(x)\psi_s(x)\, \phi_r(y)\psi_s(y) = k_1 k_2`
#    * - :math:`g(x)\, k_1(x, y)\, g(y)`
#      - :math:`g(x)\, \phi(x)`
#    * - a limit of kernels
#      - :math:`v^T K v \ge 0` stays true in the limit
#    * - :math:`P(k_1)`, a polynomial P with coefficients :math:`\ge 0`
#      - from sums, products and multiples
#    * - :math:`e^{k_1}`
#      - limit of such polynomials
#
# The last rules prove the Gaussian kernel a third time:
# :math:`e^{-\gamma \|x - y\|^2} = g(x)\, e^{2\gamma\, x^T y}\, g(y)` with :math:`g(x) = e^{-\gamma \|x\|^2}`.
# The `table of kernels <../kernels.html>`_ names the proof of each.

both = Polynomial(degree=1, gamma=1) + Linear()
first, second = Polynomial(degree=1, gamma=1).feature_map(3)(X), X
assert np.allclose(np.hstack([first, second]) @ np.hstack([first, second]).T, both(X))
pairs = (first[:, :, None] * second[:, None, :]).reshape(40, -1)
assert np.allclose(pairs @ pairs.T, (Polynomial(degree=1, gamma=1) * Linear())(X))
g = np.exp(-0.5 * (X**2).sum(axis=1))
assert np.allclose(g[:, None] * np.exp(X @ X.T) * g, RBF(gamma=0.5)(X))
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
# **"Positive entries make positive eigenvalues."** The matrix with rows (1, 2) and (2, 1) has the
# eigenvalue -1.

assert np.allclose(np.linalg.eigvalsh([[1.0, 2.0], [2.0, 1.0]]), [-1, 3])

# %%
# **"Tested on my data, so it is a kernel."** :math:`(1 + x^T y)^{1.5}` passes on any three numbers for
# which it has a value (FitzGerald and Horn 1977), and fails on four.

power = kernel_from_name("poly(degree=1.5, gamma=1)")
assert power.validity.refuted
four = np.array([[-0.3], [-0.1], [0.1], [0.3]])
assert np.linalg.eigvalsh((1 + four @ four.T) ** 1.5)[0] < 0
assert np.linalg.eigvalsh((1 + four[:3] @ four[:3].T) ** 1.5)[0] > 0

# %%
# Exercises
# ---------
#
# **By hand.** 1. Is :math:`k(x, y) = x + y` (numbers) a kernel?
#
# .. dropdown:: Solution
#
#    No. For 0 and 1 the Gram matrix has rows (0, 1) and (1, 2), and determinant -1: one eigenvalue is
#    negative.
#
#    .. code-block:: python
#
#       assert np.linalg.eigvalsh([[0.0, 1.0], [1.0, 2.0]])[0] < 0
#
# **By hand.** 2. Is :math:`\min(x, y)` a kernel for positive numbers?
#
# .. dropdown:: Solution
#
#    Yes. Let :math:`\phi_z(x)` be 1 for :math:`z \le x` and 0 otherwise. Then
#    :math:`\int_0^\infty \phi_z(x) \phi_z(y)\, dz` is the length of the overlap of [0, x] and [0, y].
#
#    .. code-block:: python
#
#       numbers, steps = np.array([0.5, 1.0, 2.5]), np.array([0.5, 0.5, 1.5])  # lengths between them
#       indicator = np.tril(np.ones((3, 3))) * np.sqrt(steps)
#       assert np.allclose(indicator @ indicator.T, np.minimum.outer(numbers, numbers))
#
# **By hand.** 3. Solve the integral :math:`\int_{-\infty}^{\infty} e^{-2\gamma(x-z)^2}
# e^{-2\gamma(y-z)^2}\, dz` for numbers, by completing the square.
#
# .. dropdown:: Solution
#
#    .. math::
#
#       (x - z)^2 + (y - z)^2 &= 2 z^2 - 2 z (x + y) + x^2 + y^2 \\
#       &= 2 \left(z - \frac{x + y}{2}\right)^2 - \frac{(x + y)^2}{2} + x^2 + y^2 \\
#       &= 2 \left(z - \frac{x + y}{2}\right)^2 + \frac{(x - y)^2}{2}
#
#    so the integral is :math:`e^{-\gamma (x - y)^2} \int e^{-4\gamma t^2} dt =
#    \sqrt{\frac{\pi}{4\gamma}}\; e^{-\gamma (x - y)^2}`.
#
#    .. code-block:: python
#
#       from scipy.integrate import quad
#
#       one, other, gamma = 0.3, -1.1, 0.7
#       product = lambda z: np.exp(-2 * gamma * ((one - z) ** 2 + (other - z) ** 2))
#       expected = np.sqrt(np.pi / (4 * gamma)) * np.exp(-gamma * (one - other) ** 2)
#       assert np.isclose(quad(product, -np.inf, np.inf)[0], expected)
#
# **In code.** 4. How many terms of the series does :math:`|x| \le 3`, :math:`\gamma = \frac{1}{2}` need
# for an error below :math:`10^{-10}`?
#
# .. dropdown:: Solution
#
#    The error is largest at :math:`x = y = 3`: the tail of a Poisson distribution with mean 9. Between 30
#    and 40 terms.
#
#    .. code-block:: python
#
#       terms = [np.exp(-9) * 9**r / factorial(r) for r in range(60)]
#       needed = next(r for r in range(60) if 1 - sum(terms[:r]) < 1e-10)
#       assert 30 < needed < 40
#
# **In code.** 5. Normalise the linear kernel to :math:`k(x, y) / \sqrt{k(x, x)\, k(y, y)}`. What is its
# diagonal, its name, and the rule that proves it?
#
# .. dropdown:: Solution
#
#    The diagonal is 1, and it is the cosine. The rule is :math:`g(x)\, k(x, y)\, g(y)` with
#    :math:`g(x) = 1/\sqrt{k(x, x)}`.
#
#    .. code-block:: python
#
#       cosine = Linear().normalized()
#       assert np.allclose(np.diag(cosine(X)), 1)
#       assert cosine.psd
#
# **Open.** 6. A function passed on a million data sets. Would you use it? What can go wrong if it is
# not a kernel?
#
# .. dropdown:: Solution
#
#    Distances in feature space may become the roots of negative numbers, a support vector machine is no
#    longer convex, and variances of kernel PCA may be negative. With your own function, either prove it
#    by the rules, or clip negative eigenvalues and report by how much.
#
#    .. code-block:: python
#
#       assert audit("linear - 1", random_state=0).verdict == "not a kernel"  # k(0, 0) = -1
