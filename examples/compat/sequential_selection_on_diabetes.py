"""Features of the diabetes data, forwards and backwards, and by mutual information."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SequentialFeatureSelector, mutual_info_regression
from sklearn.linear_model import RidgeCV

diabetes = load_diabetes()
X, y = diabetes.data, diabetes.target
names = np.array(diabetes.feature_names)
ridge = RidgeCV(alphas=np.logspace(-6, 6, num=5)).fit(X, y)
print("largest weights:", names[np.argsort(np.abs(ridge.coef_))[::-1][:3]])
for direction in ("forward", "backward"):
    selector = SequentialFeatureSelector(ridge, n_features_to_select=2, direction=direction).fit(X, y)
    print(f"{direction}:", names[selector.get_support()])
while_better = SequentialFeatureSelector(ridge, tol=1e-3, cv=3).fit(X, y)
print("while it gains 0.001:", names[while_better.get_support()])
print("mutual information:", mutual_info_regression(X, y, random_state=0).round(2))
