"""PCA: the estimator, its fits, missing values."""

from gramian import sklearn_import  # noqa: F401  # before anything imports scikit-learn
