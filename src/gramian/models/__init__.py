"""PCA, kernel PCA, whitening and monitoring, what they share, and how they are saved."""
