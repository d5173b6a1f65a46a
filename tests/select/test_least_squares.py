"""Scores of least squares without a fit for each candidate, against scikit-learn's fits."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from gramian.select import validation as least_squares
from gramian.select.validation import SCORES, least_squares_scorer, of_fold

MODELS = {
    "ols": LinearRegression(),
    "ols without intercept": LinearRegression(fit_intercept=False),
    "ridge": Ridge(),
    "strong ridge": Ridge(1e3, solver="cholesky"),
    "ridge by svd": Ridge(0.1, solver="svd"),
    "standardised": make_pipeline(StandardScaler(), Ridge(3)),
    "only divided": make_pipeline(StandardScaler(with_mean=False), Ridge(2.0, fit_intercept=False)),
}


def table(n=90, d=10, seed=0, offset=50.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.logspace(0, 2, d) + offset * np.arange(d)
    return X, X @ rng.standard_normal(d) / 10 + rng.standard_normal(n) * 5


def by_definition(model, X, y, folds, scoring, subsets):
    return np.array([cross_val_score(model, X[:, sorted(s)], y, cv=folds, scoring=scoring) for s in subsets])


@pytest.mark.walk
def test_scores_are_those_of_fitting_each_candidate():
    for name in MODELS:
        for scoring in SCORES if name in ("ridge", "only divided") else (None,):
            X, y = table()
            folds = list(KFold(3).split(X))
            scorer = least_squares_scorer(MODELS[name], X, y, folds, scoring)
            kept, far = np.array([1, 4, 5, 8]), [0, 2, 3, 6, 7, 9]
            grown = np.array(far)
            shrunk = kept
            expected = by_definition(MODELS[name], X, y, folds, scoring, [{*kept, g} for g in grown])
            np.testing.assert_allclose(scorer.scores(kept, grown), expected, rtol=1e-9, atol=1e-9)
            expected = by_definition(MODELS[name], X, y, folds, scoring, [set(kept) - {g} for g in shrunk])
            np.testing.assert_allclose(scorer.scores(kept, shrunk), expected, rtol=1e-9, atol=1e-9)


def test_walks_residuals_and_penalties():
    X, y = table()
    folds = list(ShuffleSplit(3, test_size=0.3, random_state=0).split(X))
    scorer = least_squares_scorer(Ridge(), X, y, folds, None)
    for kept in ([], [7], [7, 2], [7, 2, 0, 9], [2, 0], [2, 0, 5]):
        rest = np.array([j for j in range(10) if j not in kept])
        fresh = least_squares_scorer(Ridge(), X, y, folds, None)
        walked = scorer.scores(np.array(kept, dtype=int), rest)
        np.testing.assert_allclose(walked, fresh.scores(np.array(kept, dtype=int), rest), rtol=1e-11)
    rows = np.arange(len(X))
    scorer = least_squares_scorer(LinearRegression(), X, y, [(rows, rows)], None)
    result = scorer.scores(np.array([0, 3]), np.array([5]))
    assert result[0, 0] == pytest.approx(LinearRegression().fit(X[:, [0, 3, 5]], y).score(X[:, [0, 3, 5]], y))
    X = np.random.default_rng(0).standard_normal((12, 3))
    y = np.r_[np.full(4, 2.0), np.arange(8.0)]
    folds = list(KFold(3).split(X))
    model = MODELS["standardised"]
    scorer = least_squares_scorer(model, X, y, folds, None)
    expected = by_definition(model, X, y, folds, None, [{0}, {1}])
    np.testing.assert_allclose(scorer.scores(np.array([], dtype=int), np.array([0, 1])), expected, rtol=1e-9)
    problem = of_fold(ROWS, LABELS, FOLD, 2.0, True, None)
    (_, errors), *_ = problem.residuals(np.array([5, 0, 3]), np.array([3]))
    np.testing.assert_allclose(errors[:, 0], residuals([0, 5]), atol=1e-12)
    problem = of_fold(ROWS, LABELS, FOLD, 0.0, True, None)
    np.testing.assert_allclose(problem.start, LABELS[30:] - LABELS[:30].mean())
    assert np.array_equal(problem.y, LABELS[30:])
    X, y = table(offset=0.0)
    X = X / np.logspace(0, 2, 10)
    X[:, 6] = X[:, 1]
    folds = list(KFold(3).split(X))
    scorer = least_squares_scorer(Ridge(1.0), X, y, folds, None)
    expected = by_definition(Ridge(1.0), X, y, folds, None, [{1, 4, 6}])
    np.testing.assert_allclose(scorer.scores(np.array([1, 4]), np.array([6])), expected, rtol=1e-9)
    for offset in [0.0, 1e6]:
        X, y = table(n=30, d=60, offset=offset)
        folds = list(KFold(5).split(X))
        scorer = least_squares_scorer(Ridge(), X, y, folds, None)
        kept = np.arange(0, 20)
        expected = by_definition(Ridge(), X, y, folds, None, [{*kept, 40}])
        np.testing.assert_allclose(scorer.scores(kept, np.array([40])), expected, rtol=1e-7)


def test_what_it_cannot_do_exactly_is_left_to_the_estimator():
    for model, scoring in [
        (LogisticRegression(), None),
        (ElasticNet(), None),
        (Ridge(solver="sag"), None),
        (Ridge(positive=True), None),
        (LinearRegression(positive=True), None),
        (Ridge(alpha=np.array([1.0, 2.0])), None),
        (Ridge(alpha=-1.0), None),
        (make_pipeline(MinMaxScaler(), Ridge()), None),
        (make_pipeline(StandardScaler(), StandardScaler(), Ridge()), None),
        (type("MyRidge", (Ridge,), {})(), None),
        (Ridge(), "explained_variance"),
        (Ridge(), lambda model, X, y: 0.0),
    ]:
        X, y = table()
        assert least_squares_scorer(model, X, y, list(KFold(3).split(X)), scoring) is None
    X, y = table()
    X[:, 6] = 2 * X[:, 1] - X[:, 4]
    X[:, 7] = X[:, 1] * (1 + 1e-9)
    X[:, 8] = 5.0
    folds = list(KFold(3).split(X))
    scorer = least_squares_scorer(LinearRegression(), X, y, folds, None)
    result = scorer.scores(np.array([1, 4]), np.array([0, 6, 7, 8, 2]))
    assert np.isnan(result).all(axis=1).tolist() == [False, True, True, True, False]
    # Among the columns kept they spoil all candidates.
    assert np.isnan(scorer.scores(np.array([1, 4, 6]), np.array([0, 2]))).all()
    assert np.isnan(scorer.scores(np.array([1, 4, 6]), np.array([1, 4]))).all()
    # And once they are gone the others are exact again.
    again = scorer.scores(np.array([1, 4]), np.array([0]))
    expected = by_definition(LinearRegression(), X, y, folds, None, [{0, 1, 4}])
    np.testing.assert_allclose(again, expected, rtol=1e-9)


def test_classes_single_rows_and_too_little_memory_are_left_too(monkeypatch):
    X, y = table()
    assert least_squares_scorer(Ridge(), X, y.astype(str), list(KFold(3).split(X)), None) is None
    assert least_squares_scorer(Ridge(), X, y, list(KFold(90).split(X)), None) is None
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "5KB")
    assert least_squares_scorer(Ridge(), X, y, list(KFold(3).split(X)), None) is None


RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((40, 6)) + 3
LABELS = RNG.standard_normal(40) + ROWS[:, 2]
FOLD = (np.arange(30), np.arange(30, 40))


def residuals(columns):
    model = Ridge(2.0).fit(ROWS[:30][:, columns], LABELS[:30])
    return LABELS[30:] - model.predict(ROWS[30:][:, columns])


def test_residuals_of_many_candidates_come_in_batches(monkeypatch):
    for batch in [1, 25, 1 << 22]:
        monkeypatch.setattr(least_squares, "BATCH", batch)
        problem = of_fold(ROWS, LABELS, FOLD, 2.0, True, None)
        results = list(problem.residuals(np.array([1]), np.array([0, 2, 3])))
        assert np.concatenate([places for places, _ in results]).tolist() == [0, 1, 2]
        errors = np.hstack([columns for _, columns in results])
        for place, j in enumerate((0, 2, 3)):
            np.testing.assert_allclose(errors[:, place], residuals(sorted([1, j])), atol=1e-12)
