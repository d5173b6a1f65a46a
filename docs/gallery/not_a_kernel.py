"""
A function that is not a kernel, and three points that prove it
===============================================================

The sigmoid is called a kernel in many texts. The matrix of a kernel has no negative eigenvalue, for
any set of points.
"""

from gramian.kernels import audit, kernel_from_name

print(kernel_from_name("sigmoid(gamma=1)").validity)

# %%
# The search finds points x_i and weights v_i. The sum of v_i v_j k(x_i, x_j) of a kernel is never
# negative; here it is -0.36, as you can verify by hand.

report = audit("sigmoid(gamma=1)")
print(report)

# %%
# A sum of kernels needs no search: the proof is a chain of rules.

print(kernel_from_name("rbf(sigma=2) + 0.5 * poly(degree=3)").validity)
