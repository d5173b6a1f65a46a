"""Kernel PCA: the estimator, exact and landmark fits, pre-images."""
