"""A pipeline of PCA and a classifier, its number of components by cross-validation."""

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_digits(return_X_y=True)
steps = [
    ("scaler", StandardScaler()),
    ("pca", PCA(svd_solver="full")),
    ("logistic", LogisticRegression(max_iter=2_000, tol=0.01)),
]
search = GridSearchCV(Pipeline(steps), {"pca__n_components": [5, 15, 30, 45]}, cv=3).fit(X[:900], y[:900])
print("best:", search.best_params_, f"accuracy {search.best_score_:.3f}")
for count, score in zip(
    search.cv_results_["param_pca__n_components"], search.cv_results_["mean_test_score"], strict=True
):
    print(f"{count:3} components {score:.3f}")
