"""Kernel PCA: the estimator, exact and landmark fits, pre-images."""

from gramian import sklearn_import  # noqa: F401  # before anything imports scikit-learn
