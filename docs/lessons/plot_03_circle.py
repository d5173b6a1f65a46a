r"""
The circle and feature maps
===========================

Points on a circle satisfy an equation, but not a linear one. PCA finds nothing: both directions
:math:`u_1` and :math:`u_2` have the same variance. New features make the equation linear.
"""

from itertools import product
from math import comb

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

import gramian
from gramian import PCA, PolynomialMap, figures
from gramian.kernels import Polynomial

t = np.linspace(0, 2 * np.pi, 60, endpoint=False)
X = np.column_stack([3 + 1.5 * np.cos(t), 2 + 1.5 * np.sin(t)])
pca = PCA().fit(X)
print(pca.explained_variance_ratio_.round(3))
figures.directions(pca, X)

# %%
# An equation is a null direction
# -------------------------------
#
# A circle with centre :math:`(a, b)` and radius :math:`r`, expanded:
#
# .. math::
#
#    (f_1 - a)^2 + (f_2 - b)^2 &= r^2 \\
#    f_1^2 - 2 a f_1 + a^2 + f_2^2 - 2 b f_2 + b^2 - r^2 &= 0 \\
#    (a^2 + b^2 - r^2) \cdot 1 + 1 \cdot f_1^2 + 1 \cdot f_2^2 + 0 \cdot f_1 f_2 - 2a\, f_1 - 2b\, f_2 &= 0
#
# With the feature map :math:`\phi(f) = (1, f_1^2, f_2^2, f_1 f_2, f_1, f_2)` and
# :math:`u = (a^2 + b^2 - r^2, 1, 1, 0, -2a, -2b)` this is :math:`\phi(f)^T u = 0`. The six features of
# every point lie in a hyperplane of :math:`\mathbb{R}^6`, and :math:`u` is its normal.

f1, f2 = X.T
phi = np.column_stack([np.ones(60), f1**2, f2**2, f1 * f2, f1, f2])
a, b, r = 3, 2, 1.5
u = np.array([a**2 + b**2 - r**2, 1, 1, 0, -2 * a, -2 * b])
assert np.allclose(phi @ u, 0)

# %%
# To find the equation, look for the unit vector :math:`w` with the smallest mean of
# :math:`(\phi(x_i)^T w)^2 = w^T \left(\frac{1}{n} \sum_i \phi(x_i) \phi(x_i)^T\right) w`. By the argument of
# the first lesson it is the eigenvector with the smallest eigenvalue, here 0: the last component of a
# PCA *without* centring. Divide it so that the coefficient of :math:`f_1^2` is 1.

last = PCA(center=False).fit(phi).components_[-1]
print((last / last[1]).round(4))
assert np.allclose(last / last[1], u)

# %%
# Centring would lose the equation. The constant feature has no variance, so there are two null
# directions, and any mixture of them is as good.

assert PCA(center=False).fit(phi).rank_ == 5
assert PCA().fit(phi).rank_ == 4

# %%
# ``gramian.relations`` finds `such equations <../relations.html>`_ in noisy data too. The figure has
# the curve of the equation: it passes through all points.

equations = gramian.relations(X)
print(equations)
figures.relation(equations[0], X)

# %%
# Lift the rings
# --------------
#
# Two rings cannot be separated by a line. With the features
# :math:`\phi(f) = (f_1^2, \sqrt{2} f_1 f_2, f_2^2)` a plane separates them, because the squared radius is
# linear in the features: :math:`f_1^2 + f_2^2 = w^T \phi(f)` with :math:`w = (1, 0, 1)`.
#
# In the figure, PC3 is nearly, but not exactly, this direction: (.694, -.029, .719), and not
# (.707, 0, .707). PCA knows nothing of the rings; it finds variance.

rings, ring = make_circles(200, factor=0.4, noise=0.05, random_state=0)
lifted = np.column_stack([rings[:, 0] ** 2, np.sqrt(2) * rings[:, 0] * rings[:, 1], rings[:, 1] ** 2])
radius = lifted @ [1, 0, 1]
assert radius[ring == 1].max() < radius[ring == 0].min()
lifted_pca = PCA().fit(lifted)
assert np.allclose(np.abs(lifted_pca.components_[2]), [0.694, 0.029, 0.719], atol=5e-4)
space = plt.figure(layout="constrained").add_subplot(projection="3d", azim=20, elev=10)
space.scatter(*lifted.T, c=ring, cmap="coolwarm")
space.quiver(*lifted_pca.mean_, *lifted_pca.components_[2], length=0.5, color="black")  # PC3

# %%
# A curved sheet in space
# -----------------------
#
# Points on a paraboloid :math:`f_3 = f_1^2 + f_2^2` lie on a curved sheet of two dimensions. The best
# plane, through :math:`m` along :math:`u_1` and :math:`u_2`, is outlined; it misses them.
# With the feature :math:`f_1^2 + f_2^2` added, the sheet is a plane, and a null direction says so.

rng = np.random.default_rng(0)
flat = rng.uniform(-1, 1, (80, 2))
sheet = np.column_stack([flat, (flat**2).sum(axis=1)])
sheet_pca = PCA().fit(sheet)
law = gramian.relations(sheet)[0]
space = plt.figure(layout="constrained").add_subplot(projection="3d", azim=30, elev=12)
space.scatter(*sheet.T)
corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)])
space.plot(*(sheet_pca.mean_ + corners @ sheet_pca.components_[:2]).T)

# %%

with_square = np.column_stack([sheet, (flat**2).sum(axis=1)])
assert sheet_pca.rank_ == 3
assert PCA().fit(with_square).rank_ == 3  # of four features: one equation
assert law.equation == "x^2 + y^2 - z = 0"

# %%
# The kernel saves the features
# -----------------------------
#
# The inner product of the features is a function of the inner product of the points. For
# :math:`x = (x_1, x_2)` and :math:`y = (y_1, y_2)`,
#
# .. math::
#
#    (x^T y + 1)^2 &= (x_1 y_1 + x_2 y_2 + 1)^2 \\
#    &= x_1^2 y_1^2 + x_2^2 y_2^2 + 1 + 2 x_1 y_1 x_2 y_2 + 2 x_1 y_1 + 2 x_2 y_2 \\
#    &= \phi(x)^T \phi(y), \quad
#    \phi(x) = (x_1^2, x_2^2, 1, \sqrt{2} x_1 x_2, \sqrt{2} x_1, \sqrt{2} x_2)
#
# A function that is an inner product of features is a *kernel*. For :math:`x = (5, 10)` and
# :math:`y = (-1, 2)` both sides are 256.

k = Polynomial(degree=2, gamma=1)
feature_map = k.feature_map(2)
print(feature_map.names)
x, y = np.array([5.0, 10.0]), np.array([-1.0, 2.0])
assert k(x, y) == 256
assert np.isclose(float((feature_map([x]) @ feature_map([y]).T)[0, 0]), 256)

# %%
# How many features
# -----------------
#
# A monomial of degree at most :math:`p` in :math:`d` features chooses :math:`p` factors, with repetition,
# from :math:`1, f_1, \ldots, f_d`. There are :math:`\binom{d+p}{p}` such choices. For fixed :math:`p` this
# grows like :math:`d^p / p!`; the kernel costs :math:`d` multiplications and one power.

assert [comb(d + 2, 2) for d in (10, 100, 1000)] == [66, 5151, 501501]

# %%
# Slips of well-known notes
# -------------------------
#
# **Monomial counts.** "Four features have 1 + 4 + 6 + 4 = 15 monomials up to degree 3." This sum of
# :math:`\binom{4}{i}` counts only products of different features. With squares and cubes there are
# :math:`\binom{4+3}{3} = 35`.

monomials = [powers for powers in product(range(4), repeat=4) if sum(powers) <= 3]
assert len(monomials) == comb(7, 3) == 35
assert sum(max(powers) <= 1 for powers in monomials) == 1 + 4 + 6 + 4
assert PolynomialMap(degree=3, gamma=1).fit(np.ones((2, 4))).transform(np.ones((1, 4))).shape == (1, 35)

# %%
# **"There are exponentially many."** For a fixed degree the number is a power of d. It is still soon
# too large: 3,268,760 for ten features and degree 15.

assert comb(25, 15) == 3_268_760

# %%
# Exercises
# ---------
#
# **By hand.** 1. What are centre and radius of :math:`x^2 + y^2 - 6x - 4y + 10.75 = 0`?
#
# .. dropdown:: Solution
#
#    :math:`-2a = -6` and :math:`-2b = -4`, so the centre is (3, 2), and
#    :math:`r^2 = a^2 + b^2 - 10.75 = 2.25`, so :math:`r = 1.5`.
#
#    .. code-block:: python
#
#       assert (3**2 + 2**2 - 10.75) ** 0.5 == 1.5
#
# **By hand.** 2. Show that :math:`(x^T y)^2` of two features is the inner product of
# :math:`(f_1^2, \sqrt{2} f_1 f_2, f_2^2)`. Why :math:`\sqrt 2`?
#
# .. dropdown:: Solution
#
#    :math:`(x_1 y_1 + x_2 y_2)^2 = x_1^2 y_1^2 + 2 x_1 x_2 y_1 y_2 + x_2^2 y_2^2`. The mixed term occurs
#    twice; :math:`\sqrt 2 \cdot \sqrt 2 = 2` accounts for it.
#
#    .. code-block:: python
#
#       G = Polynomial(degree=2, gamma=1, coef0=0).gram(rings)
#       assert np.allclose(G, lifted @ lifted.T)
#
# **By hand.** 3. Give :math:`\phi` with :math:`\phi(x)^T \phi(y) = (x^T y + 1)^3` for two features, and
# then for :math:`p = 4`.
#
# .. dropdown:: Solution
#
#    By the multinomial theorem
#
#    .. math::
#
#       (x_1 y_1 + x_2 y_2 + 1)^p = \sum_{i + j + l = p} \frac{p!}{i!\, j!\, l!}\, (x_1 y_1)^i (x_2 y_2)^j ,
#
#    so the features are :math:`\sqrt{p! / (i!\, j!\, l!)}\; f_1^i f_2^j` for all
#    :math:`i + j \le p`, with :math:`l = p - i - j`. For :math:`p = 3` these are the ten features
#
#    .. math::
#
#       1,\; \sqrt{3} f_1,\; \sqrt{3} f_2,\; \sqrt{3} f_1^2,\; \sqrt{6} f_1 f_2,\; \sqrt{3} f_2^2,\;
#       f_1^3,\; \sqrt{3} f_1^2 f_2,\; \sqrt{3} f_1 f_2^2,\; f_2^3 ,
#
#    and for :math:`p = 4` the fifteen
#
#    .. math::
#
#       & 1,\; 2 f_1,\; 2 f_2,\; \sqrt{6} f_1^2,\; \sqrt{12} f_1 f_2,\; \sqrt{6} f_2^2,\;
#       2 f_1^3,\; \sqrt{12} f_1^2 f_2,\; \sqrt{12} f_1 f_2^2,\; 2 f_2^3, \\
#       & f_1^4,\; 2 f_1^3 f_2,\; \sqrt{6} f_1^2 f_2^2,\; 2 f_1 f_2^3,\; f_2^4
#
#    .. code-block:: python
#
#       from math import factorial
#
#       def features(rows, p):
#           return np.column_stack([
#               np.sqrt(factorial(p) / (factorial(i) * factorial(j) * factorial(p - i - j)))
#               * rows[:, 0] ** i * rows[:, 1] ** j
#               for i in range(p + 1) for j in range(p + 1 - i)
#           ])
#
#       for p in (3, 4):
#           assert features(rings, p).shape[1] == comb(2 + p, p)
#           assert np.allclose(features(rings, p) @ features(rings, p).T, (rings @ rings.T + 1) ** p)
#       f, g = rings.T
#       s = np.sqrt
#       three = [f**0, s(3)*f, s(3)*g, s(3)*f*f, s(6)*f*g, s(3)*g*g, f**3, s(3)*f*f*g, s(3)*f*g*g, g**3]
#       four = [f**0, 2*f, 2*g, s(6)*f*f, s(12)*f*g, s(6)*g*g, 2*f**3, s(12)*f*f*g, s(12)*f*g*g, 2*g**3,
#               f**4, 2*f**3*g, s(6)*f*f*g*g, 2*f*g**3, g**4]
#       for p, written in ((3, three), (4, four)):
#           written = np.column_stack(written)
#           assert np.allclose(written @ written.T, (rings @ rings.T + 1) ** p)
#
# **In code.** 4. Which equation do the points :math:`(t, t^2)` satisfy? Find it without
# ``gramian.relations``.
#
# .. dropdown:: Solution
#
#    .. code-block:: python
#
#       s = np.linspace(-1, 1, 40)
#       monomials = np.column_stack([s**0, s, s**2, s * s, s * s**2, s**4])  # 1, x, y, x^2, xy, y^2
#       null = np.linalg.svd(monomials)[2][-1]
#       assert np.allclose(null / null[2], [0, 0, 1, -1, 0, 0])  # y - x^2 = 0
#       assert gramian.relations(np.column_stack([s, s**2]))[0].equation == "x^2 - y = 0"
#
# **In code.** 5. How much noise can the circle bear before the equation is wrong?
#
# .. dropdown:: Solution
#
#    Noise of 0.001 changes no coefficient by more than 0.1. Noise of 0.5, a third of the radius, gives
#    another curve.
#
#    .. code-block:: python
#
#       def found(noise):
#           f, g = (X + noise * np.random.default_rng(1).standard_normal(X.shape)).T
#           phi = np.column_stack([f**0, f**2, g**2, f * g, f, g])
#           w = PCA(center=False).fit(phi).components_[-1]
#           return w / w[1]
#
#       assert np.abs(found(0.001) - u).max() < 0.1
#       assert np.abs(found(0.5) - u).max() > 1
#
# **Open.** 6. For which d and p would you compute with features, and for which with the kernel?
#
# .. dropdown:: Solution
#
#    Features cost :math:`O(n D^2)` for :math:`D = \binom{d+p}{p}` of them, the kernel :math:`O(n^2 d + n^3)`.
#    With many samples and few monomials (two features up to degree 20 have only 231), features are
#    cheaper. With :math:`D > n` the kernel is.
#
#    .. code-block:: python
#
#       assert comb(22, 20) == 231
