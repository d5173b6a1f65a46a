"""
What PCA finds, in two ways
===========================

PCA answers two questions, and the answers agree. Which line through the mean keeps most of the
variance of the points? Which line is nearest to the points? The thin lines in the figure are the
distances, and the lower panel shows the projections.
"""

import altair as alt
import numpy as np

from gramian import PCA, plots

X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]], dtype=float)
pca = PCA(ddof=0).fit(X)
plots.directions(pca, X)

# %%
# Try every direction
# -------------------
#
# Turn a unit vector w = (cos a, sin a) by half a circle. The variance of the projections rises and
# falls, the mean square distance from the line does the opposite, and their sum is constant:
# Pythagoras, for each point. The maximum of the one is therefore the minimum of the other.

C = X - X.mean(axis=0)
angles = np.linspace(0, np.pi, 181)
W = np.stack([np.cos(angles), np.sin(angles)])
variance = ((C @ W) ** 2).mean(axis=0)
distance = np.array([((C - np.outer(C @ w, w)) ** 2).sum(axis=1).mean() for w in W.T])
assert np.allclose(variance + distance, (C**2).sum(axis=1).mean())
assert np.argmax(variance) == np.argmin(distance)

values = [
    {"angle": float(np.degrees(a)), "mean square": float(value), "of": name}
    for name, series in (("projection", variance), ("distance from the line", distance))
    for a, value in zip(angles, series, strict=True)
]
lines = alt.Chart(alt.Data(values=values)).mark_line().encode(x="angle:Q", y="mean square:Q", color="of:N")
lines.properties(width=420, height=240)

# %%
# The maximum is the eigenvector of the covariance matrix with the largest eigenvalue: under w^T w =
# 1, w^T S w is stationary where S w = lambda w (a Lagrange multiplier), and there it is lambda.

S = C.T @ C / len(C)
best = np.degrees(np.arctan2(*pca.components_[0][::-1]))
print(f"best of 181 directions: {np.degrees(angles[np.argmax(variance)]):.0f} degrees; PCA: {best:.2f}")
assert abs(np.degrees(angles[np.argmax(variance)]) - best) < 0.5
assert np.allclose(S @ pca.components_[0], variance.max() * pca.components_[0], rtol=1e-3)

# %%
# Worked example 1
# ----------------
#
# By hand: the characteristic polynomial of S = [[6.25, 4.25], [4.25, 3.5]] is lambda^2 - 9.75
# lambda + 3.8125, and its roots are the variances.

assert np.allclose(S, [[6.25, 4.25], [4.25, 3.5]])
roots = np.roots([1, -(6.25 + 3.5), 6.25 * 3.5 - 4.25**2])
assert np.allclose(roots, pca.explained_variance_)
print(roots.round(4), pca.components_[0].round(4))

# %%
# Worked example 2
# ----------------
#
# Ten points that many tutorials use; here the covariance has 1/(n - 1).

Y = np.array([2.5, 2.4, 0.5, 0.7, 2.2, 2.9, 1.9, 2.2, 3.1, 3.0, 2.3, 2.7, 2, 1.6, 1, 1.1, 1.5, 1.6, 1.1, 0.9])
Y = Y.reshape(10, 2)
second = PCA().fit(Y)
assert np.allclose(second.explained_variance_, [1.28402771, 0.0490833989])
assert np.allclose(second.components_[0], [0.677873399, 0.735178656])
plots.directions(second, Y)

# %%
# How much is lost
# ----------------
#
# The mean square error of k components is the sum of the discarded eigenvalues (with ddof=0). The
# share of the other eigenvalues in the sum of all is the explained variance ratio.

errors = pca.reconstruction_errors(X).mean(axis=0)  # of 0, 1 and 2 components
assert np.allclose(errors, [9.75, 0.4081, 0], atol=1e-4)
assert np.isclose(errors[1], pca.explained_variance_[1])
print(f"one component keeps {pca.explained_variance_ratio_[0]:.1%}")

# %%
# Slips of well-known notes
# -------------------------
#
# **1/7 for 1/8.** Notes define the covariance with 1/(n - 1), and then print [[6.25, 4.25], [4.25,
# 3.5]] for the eight points. That matrix has 1/8. With 1/7 it is [[7.14, 4.86], [4.86, 4]].
# Directions and shares are the same.

assert np.allclose(np.cov(X.T, ddof=0), [[6.25, 4.25], [4.25, 3.5]])
assert np.allclose(np.cov(X.T), [[7.142857, 4.857143], [4.857143, 4.0]])

# %%
# **Vectors exchanged.** Notes list the two eigenvectors under the wrong eigenvalues. One
# multiplication decides: S u must be lambda u.

first, other = pca.components_
assert np.allclose(S @ first, 9.3419 * first, atol=1e-3)
assert not np.allclose(S @ other, 9.3419 * other, atol=1)

# %%
# Exercises
# ---------
#
# 1. Which unit vector gives the smallest variance?

assert np.isclose(((C @ pca.components_[1]) ** 2).mean(), variance.min(), rtol=1e-2)

# %%
# 2. All scores are A^T (x - m) with A = [u_1 u_2]. What is their covariance?

assert np.allclose(np.cov(pca.transform(X).T, ddof=0), np.diag(pca.explained_variance_))

# %%
# 3. The second column is measured in millimetres instead of metres. What becomes of the first
#    direction, and what helps?

scaled = X * [1, 1000]
assert PCA(1).fit(scaled).components_[0][1] > 0.999  # only the large numbers count
assert np.allclose(PCA(1, scale="unit").fit(scaled).components_, PCA(1, scale="unit").fit(X).components_)

# %%
# 4. Regression of the second column on the first gives a flatter line. Why?

slope = S[0, 1] / S[0, 0]  # it measures errors along the second column, not at right angles
assert slope < first[1] / first[0]
