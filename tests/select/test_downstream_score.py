"""Downstream scores, against a pipeline that is fitted anew for every fold and number."""

import numpy as np
import pytest
from sklearn.datasets import make_circles
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import KernelPCA
from gramian.errors import DataError
from gramian.kernels import RBF, Linear, Polynomial
from gramian.select.choose_kernel import downstream_score
from gramian.select.validation import draw_folds

X, y = make_circles(80, factor=0.4, noise=0.1, random_state=0)
FOLDS = draw_folds(4, X, y, classifier=True)


def ask(kernel, estimator, counts, labels=y, scoring=None, folds=FOLDS):
    scorer = check_scoring(estimator, scoring=scoring)
    model = KernelPCA(kernel=kernel, random_state=0)
    return downstream_score(model, X, labels, folds, estimator, scorer, counts)


def literal(kernel, estimator, counts, labels=y):
    means, errors = [], []
    for k in counts:
        scores = []
        for train, test in FOLDS:
            whole = make_pipeline(KernelPCA(k, kernel=kernel, random_state=0), estimator)
            scores.append(whole.fit(X[train], labels[train]).score(X[test], labels[test]))
        means.append(np.mean(scores))
        errors.append(np.std(scores, ddof=1) / 2)
    best = int(np.argmax(means))
    return means[best], errors[best], counts[best]


def test_it_is_the_pipeline_and_names_estimators_that_fail():
    for estimator, labels in [
        (make_pipeline(StandardScaler(), LogisticRegression()), y),
        (make_pipeline(StandardScaler(), Ridge()), X[:, 0] ** 2 + y),
        (KNeighborsClassifier(3), np.where(y == 1, "inner", "outer")),
    ]:
        for kernel in [RBF(sigma=0.5), Polynomial(2, 1.0)]:
            counts = (1, 2, 4)
            result = ask(kernel, estimator, counts, labels)
            value, error, number = literal(kernel, estimator, counts, labels)
            assert result.mean == pytest.approx(value, rel=1e-6)
            assert result.standard_error == pytest.approx(error, rel=1e-5, abs=1e-12)
            assert result.size == number
    assert ask(Linear(), DummyClassifier(), (1, 2, 8)).size == 1
    assert ask(Linear(), KNeighborsClassifier(3), (2, 8)).size == 2
    assert np.isnan(ask(Linear(), LogisticRegression(), (2,), folds=FOLDS[:1]).standard_error)
    with pytest.raises(DataError, match=r"Scoring KNeighborsClassifier with 1 components in fold 1 of 4"):
        ask(Linear(), KNeighborsClassifier(70), (1, 2))
    with pytest.raises(DataError, match="Scoring LogisticRegression with 2 components in fold 1 of"):
        downstream_score(
            KernelPCA(kernel=Linear()), X, y, FOLDS, LogisticRegression(), lambda *_: float("nan"), (2,)
        )
