"""Eigenpairs of covariance, Gram and kernel matrices: operators, routes by cost, solvers, certificates."""
