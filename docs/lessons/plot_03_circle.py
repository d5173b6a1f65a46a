"""
The circle and feature maps
===========================

Points on a circle satisfy an equation, but not a linear one. PCA finds nothing: both directions
have the same variance. New features make the equation linear.
"""

from itertools import product
from math import comb

import numpy as np
from sklearn.datasets import make_circles

import gramian
from gramian import PCA, PolynomialMap, plots
from gramian.kernels import Polynomial

t = np.linspace(0, 2 * np.pi, 60, endpoint=False)
X = np.column_stack([3 + 1.5 * np.cos(t), 2 + 1.5 * np.sin(t)])
pca = PCA().fit(X)
print(pca.explained_variance_ratio_.round(3))
plots.directions(pca, X)

# %%
# An equation is a null direction
# -------------------------------
#
# Write (f1 - a)^2 + (f2 - b)^2 = r^2 as a sum: (a^2 + b^2 - r^2) 1 + 1 f1^2 + 1 f2^2 + 0 f1 f2 - 2a
# f1 - 2b f2 = 0. With phi(f) = (1, f1^2, f2^2, f1 f2, f1, f2) this is phi^T u = 0: the six features
# of every point lie in a hyperplane of R^6, and u = (a^2 + b^2 - r^2, 1, 1, 0, -2a, -2b) is its
# normal.

f1, f2 = X.T
phi = np.column_stack([np.ones(60), f1**2, f2**2, f1 * f2, f1, f2])
a, b, r = 3, 2, 1.5
u = np.array([a**2 + b**2 - r**2, 1, 1, 0, -2 * a, -2 * b])
assert np.allclose(phi @ u, 0)

# %%
# To find the equation, look for the unit vector w with the smallest mean of (phi^T w)^2. It is the
# last component of a PCA *without* centring. Divide it so that the coefficient of f1^2 is 1.

last = PCA(center=False).fit(phi).components_[-1]
print((last / last[1]).round(4))
assert np.allclose(last / last[1], u)

# %%
# Centring would lose the equation: the constant feature has no variance, so there are two null
# directions, and any mixture of them is as good.

assert PCA(center=False).fit(phi).rank_ == 5
assert PCA().fit(phi).rank_ == 4

# %%
# ``gramian.relations`` finds `such equations <../relations.html>`_ in noisy data too. The figure shows
# the curve of the equation: it passes through all points.

equations = gramian.relations(X)
print(equations)
plots.relation(equations[0], X)

# %%
# Lift the rings
# --------------
#
# Two rings cannot be separated by a line. With the features f1^2, sqrt(2) f1 f2, f2^2 the inner
# ring lies on one side of a plane: the sum of the first and the last feature is the squared radius.
# In the figure PC3, (.694, -.029, .719), is nearly the direction of this sum.
# Exercise 3 shows the purpose of sqrt(2).

rings, ring = make_circles(200, factor=0.4, noise=0.05, random_state=0)
lifted = np.column_stack([rings[:, 0] ** 2, np.sqrt(2) * rings[:, 0] * rings[:, 1], rings[:, 1] ** 2])
radius = lifted[:, 0] + lifted[:, 2]
assert radius[ring == 1].max() < radius[ring == 0].min()
plots.directions(PCA().fit(lifted), lifted, color=np.where(ring, "inner", "outer"))

# %%
# The kernel saves the features
# -----------------------------
#
# The inner product of the features is a function of the inner product of the points: (x^T y + 1)^2
# = phi(x)^T phi(y), if three of the six features are multiplied by sqrt(2). Such a function
# is a kernel. For x = (5, 10) and y = (-1, 2) both sides are 256.

k = Polynomial(degree=2, gamma=1)
feature_map = k.feature_map(2)
print(feature_map.names)
x, y = np.array([5.0, 10.0]), np.array([-1.0, 2.0])
assert k(x, y) == 256
assert np.isclose(float((feature_map([x]) @ feature_map([y]).T)[0, 0]), 256)

# %%
# Slips of well-known notes
# -------------------------
#
# **Monomial counts.** "Four features have 1 + 4 + 6 + 4 = 15 monomials up to degree 3." This sum of
# C(4, i) counts only products of different features. With squares and cubes there are C(4 + 3, 3) =
# 35.

monomials = [powers for powers in product(range(4), repeat=4) if sum(powers) <= 3]
assert len(monomials) == comb(7, 3) == 35
assert sum(max(powers) <= 1 for powers in monomials) == 1 + 4 + 6 + 4
assert PolynomialMap(degree=3, gamma=1).fit(np.ones((2, 4))).transform(np.ones((1, 4))).shape == (1, 35)

# %%
# **"There are exponentially many."** For a fixed degree p the number grows like d^p / p!, a power
# of d. It is still soon too large: see the last exercise.

assert [comb(d + 2, 2) for d in (10, 100, 1000)] == [66, 5151, 501501]

# %%
# Exercises
# ---------
#
# 1. Which equation do the points (t, t^2) satisfy?

s = np.linspace(-1, 1, 40)
assert gramian.relations(np.column_stack([s, s**2]))[0].equation == "x^2 - y = 0"

# %%
# 2. What are centre and radius of the circle x^2 + y^2 - 6x - 4y + 10.75 = 0?

centre = np.array([6, 4]) / 2
assert np.isclose(np.sqrt((centre**2).sum() - 10.75), 1.5)

# %%
# 3. Show that (x^T y)^2 of two features is the inner product of (f1^2, sqrt(2) f1 f2, f2^2).

G = Polynomial(degree=2, gamma=1, coef0=0).gram(rings)
assert np.allclose(G, lifted @ lifted.T)

# %%
# 4. How many monomials up to degree 15 do ten features have? And two features, up to degree 20?

assert (comb(25, 15), comb(22, 20)) == (3_268_760, 231)
