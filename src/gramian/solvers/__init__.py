"""Finds eigenpairs; sees operators and targets, never an estimator, a kernel's name or a file."""
