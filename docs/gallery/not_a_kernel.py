"""
A function that is not a kernel, and three points that prove it
===============================================================

The sigmoid is called a kernel in many texts. A kernel must have no negative eigenvalue on any set
of points.
"""

from gramian import plots
from gramian.kernels import audit, kernel_from_name

print(kernel_from_name("sigmoid(gamma=1)").validity)

# %%
# The search finds points and weights, small enough to verify by hand: the weighted sum of all
# values must not be negative, and it is.

report = audit("sigmoid(gamma=1)")
print(report)

# %%
# The points, with the size and sign of their weights.

plots.counter_example(report)

# %%
# A sum of kernels needs no search: the proof is a chain of rules.

print(kernel_from_name("rbf(sigma=2) + 0.5 * poly(degree=3)").validity)
