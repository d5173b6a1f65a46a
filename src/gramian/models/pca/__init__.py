"""PCA: the estimator, its fits, missing values."""
