"""``python benchmarks/which_method.py``: figures of docs/which_method.md that its own code does not print.

Held-out accuracy of logistic regression on k components, errors of denoised digits, and classification by the
five nearest rows. All data are scikit-learn's. ``python docs/draw_pictures.py maps`` prints those of maps.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import PCA, KernelPCA
from gramian.errors import RankWarning

TABLES = {
    "digits": (load_digits, (2, 10, 30, 100), None),
    "breast cancer": (load_breast_cancer, (5, 30), "unit"),
    "wine": (load_wine, (5,), "unit"),
    "iris": (load_iris, (2,), "unit"),
}
COUNTS = (4, 8, 16, 32, 64, 128)


def kernel_pca(count: int, **options: object) -> KernelPCA:
    return KernelPCA(count, kernel="rbf", gamma="median", **options)


def accuracies() -> None:
    print("| data | k | PCA | kernel PCA |\n|---|---:|---:|---:|")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name, (load, counts, scale) in TABLES.items():
        X, y = load(return_X_y=True)
        for k in counts:
            shares = [
                cross_val_score(
                    make_pipeline(model, StandardScaler(), LogisticRegression(max_iter=2000)), X, y, cv=folds
                ).mean()
                for model in (PCA(min(k, X.shape[1]), scale=scale), kernel_pca(k, scale=scale))
            ]
            print(f"| {name} | {k} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")


def denoising() -> None:
    X = load_digits().data
    train, new = X[:1000], X[1000:1300]
    for size in (4, 8):
        noisy = new + np.random.default_rng(0).normal(0, size, new.shape)
        models = {
            "PCA": lambda k: PCA(min(k, 64)).fit(train),
            "kernel PCA": lambda k: kernel_pca(k).fit(train),
        }
        for name, fitted in models.items():
            results = []
            for k in COUNTS:
                model, start = fitted(k), time.perf_counter()
                rows = (
                    model.denoise(noisy) if name != "PCA" else model.inverse_transform(model.transform(noisy))
                )
                seconds = time.perf_counter() - start
                results.append((float(np.sqrt(np.mean((rows - new) ** 2))), k, seconds))
            error, k, seconds = min(results)
            print(f"noise {size}, {name}: error {error:.2f} with {k} components, {seconds:.2g} s")


def neighbours() -> None:
    X, y = load_wine(return_X_y=True)
    for scale in (None, "unit"):
        scores = kernel_pca(2, scale=scale).fit_transform(X)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        share = cross_val_score(KNeighborsClassifier(5), scores, y, cv=folds).mean()
        print(f"wine by the five nearest rows in two components, scale={scale!r}: {100 * share:.0f} %")
    digits, y = (rows[:600] for rows in load_digits(return_X_y=True))
    model = kernel_pca(30).fit(digits)
    share = cross_val_score(KNeighborsClassifier(5), model.transform(digits), y, cv=5).mean()
    ratio = model.explained_variance_ratio_[:2].sum()
    print(f"600 digits by 30 components: {100 * share:.0f} %; two have {100 * ratio:.0f} % of the variance")


if __name__ == "__main__":
    warnings.simplefilter("ignore", RankWarning)  # some pixels of digits are always 0
    accuracies()
    denoising()
    neighbours()
