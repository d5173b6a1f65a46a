"""Estimators on top of PCA and kernel PCA: whitening and monitoring."""
