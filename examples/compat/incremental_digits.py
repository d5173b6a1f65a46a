"""Components of the digits, read part by part."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, IncrementalPCA

X = load_digits().data
incremental = IncrementalPCA(n_components=7, batch_size=200)
for part in np.array_split(X, 9):
    incremental.partial_fit(part)
scores = incremental.transform(X)
whole = PCA(n_components=7, svd_solver="full").fit_transform(X)
print("shape:", scores.shape, "seen:", int(incremental.n_samples_seen_))
# scikit-learn's last components depend on the parts, gramian's do not.
agree = [abs(np.corrcoef(scores[:, j], whole[:, j])[0, 1]) for j in range(5)]
print("correlation with PCA of all:", np.round(agree, 2))
