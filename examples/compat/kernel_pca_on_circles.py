"""Two circles that plain PCA cannot tell apart, a kernel that can, and the way back."""

import numpy as np
from sklearn.datasets import make_circles
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

X, y = make_circles(n_samples=1_000, factor=0.3, noise=0.05, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

pca = PCA(n_components=2)
kernel_pca = KernelPCA(n_components=None, kernel="rbf", gamma=10, fit_inverse_transform=True, alpha=0.1)
for name, model in (("PCA", pca), ("kernel PCA", kernel_pca)):
    train, test = model.fit(X_train).transform(X_train)[:, :2], model.transform(X_test)[:, :2]
    print(f"{name:10} accuracy {LogisticRegression().fit(train, y_train).score(test, y_test):.3f}")

back = kernel_pca.inverse_transform(kernel_pca.transform(X_test))
print("root-mean-square error of the way back:", round(float(np.sqrt(np.mean((X_test - back) ** 2))), 4))
