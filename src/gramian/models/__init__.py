"""Estimators on top of PCA and kernel PCA: whitening and monitoring."""

from gramian import sklearn_import  # noqa: F401  # before anything imports scikit-learn
