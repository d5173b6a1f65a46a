"""How many features: against a pipeline validated by scikit-learn, and the one-standard-error rule."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, load_wine
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from gramian import DataError, ParameterError
from gramian.selection.choosing_k import choose_folds, cross_validate_k, one_standard_error, tried_sizes
from gramian.selection.labels import as_labelled

WINE = load_wine(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)


def order_by(score):
    def order(X, y, limit, random_state):
        return np.argsort(-score(X, y)[0], kind="stable")

    return order


def validate(order, X, y, sizes, cv, estimator, **given):
    data = as_labelled(X, y, estimator="test")
    folds, _ = choose_folds(cv, data)
    return cross_validate_k(
        order,
        data,
        data.X,
        data.original,
        np.array(sizes),
        folds,
        estimator,
        check_scoring(estimator),
        random_states=[None] * len(folds),
        **given,
    )


# ---------------------------------------------------------------------- the scores


@pytest.mark.parametrize(
    ("X", "y", "score", "estimator", "cv"),
    [
        (*WINE, f_classif, make_pipeline(StandardScaler(), LogisticRegression()), 5),
        (
            *WINE,
            f_classif,
            DecisionTreeClassifier(random_state=0),
            StratifiedKFold(4, shuffle=True, random_state=0),
        ),
        (*NUMBERS, f_regression, Ridge(), 5),
        (*NUMBERS, f_regression, Ridge(), KFold(3)),
    ],
)
def test_scores_are_those_of_a_pipeline_with_the_filter_in_it(X, y, score, estimator, cv):
    sizes = [1, 3, 10]
    found = validate(order_by(score), X, y, sizes, cv, estimator)
    for place, size in enumerate(sizes):
        pipeline = make_pipeline(SelectKBest(score, k=size), estimator)
        expected = cross_val_score(pipeline, X, y, cv=cv)
        np.testing.assert_allclose(found.fold_scores[place], expected, rtol=1e-10)
    np.testing.assert_allclose(found.mean, found.fold_scores.mean(axis=1))
    folds = found.fold_scores.shape[1]
    np.testing.assert_allclose(found.error, found.fold_scores.std(axis=1, ddof=1) / folds**0.5)


def test_the_ranking_sees_training_rows_only():
    seen = []

    def order(X, y, limit, random_state):
        seen.append((len(X), X[:, 0].tolist(), limit, random_state))
        return np.arange(X.shape[1])

    X, y = WINE
    X = X.copy()
    X[:, 0] = np.arange(len(X))
    validate(order, X, y, [1, 4], 3, DecisionTreeClassifier())
    assert len(seen) == 3
    for (_, rows, limit, _), (train, _) in zip(seen, StratifiedKFold(3).split(X, y), strict=True):
        assert rows == train.tolist()
        assert limit == 4


def test_processes_give_the_same():
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    one, two = (
        validate(order_by(f_classif), *WINE, [1, 5], 3, estimator, n_jobs=jobs).fold_scores
        for jobs in (None, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_warnings_of_the_estimator_are_said_once():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = validate(order_by(f_classif), *WINE, [1, 5], 3, LogisticRegression(max_iter=2))
    assert len(found.notes) == 1
    assert found.notes[0].startswith("While validating: ConvergenceWarning: lbfgs failed to converge")
    assert found.notes[0].endswith("(6 times)")


class Stubborn(ClassifierMixin, BaseEstimator):
    """Refuses more than two features, and scores NaN with two."""

    def fit(self, X, y):
        if X.shape[1] > 2:
            raise ValueError("too many for me.")
        self.classes_ = np.unique(y)
        self.width_ = X.shape[1]
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        return np.nan if self.width_ == 2 else 0.5


def test_what_cannot_be_fitted_or_scored_is_named():
    with pytest.raises(DataError, match="Stubborn could not be validated with K=3 in fold 0: too many"):
        validate(order_by(f_classif), *WINE, [1, 3], 3, Stubborn())
    with pytest.raises(DataError, match="The score with K=2 in fold 0 is nan, with 60 rows held out"):
        validate(order_by(f_classif), *WINE, [1, 2], 3, Stubborn())


def test_a_ranking_that_cannot_be_names_its_fold():
    def order(X, y, limit, random_state):
        raise ParameterError("n_neighbors=3 but there are 2 rows.")

    with pytest.raises(ParameterError, match="In fold 0, which trains on 118 rows: n_neighbors=3"):
        validate(order, *WINE, [1], 3, LogisticRegression())


# --------------------------------------------------------------------- the choice


def test_one_standard_error_by_hand():
    scores = np.array([[0.5, 0.5, 0.5], [0.8, 0.9, 0.7], [0.9, 0.9, 0.8], [0.9, 1.0, 0.8], [0.7, 0.7, 0.7]])
    found = one_standard_error(np.array([1, 2, 3, 5, 9]), scores)
    error = np.std([0.9, 1.0, 0.8], ddof=1) / np.sqrt(3)
    assert error == pytest.approx(0.0577, abs=1e-4)
    assert (found.best, found.chosen) == (5, 3)
    assert found.at(5) == (pytest.approx(0.9), pytest.approx(error))
    assert found.at(3)[0] == pytest.approx(0.8667, abs=1e-4)


def test_ties_go_to_fewer():
    found = one_standard_error(np.array([2, 4, 8]), np.array([[0.1, 0.1], [0.7, 0.9], [0.9, 0.7]]))
    assert (found.best, found.chosen) == (4, 4)
    # The same folds in another order have means that differ by rounding.
    scores = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]])
    assert one_standard_error(np.array([1, 2, 3]), scores + 0.1).best == 1


def test_one_fold_has_no_standard_error():
    found = one_standard_error(np.array([1, 2]), np.array([[0.5], [0.6]]))
    assert found.error.tolist() == [0, 0]
    assert found.chosen == 2


def test_tried_sizes():
    assert tried_sizes(1, 10).tolist() == [1]
    assert tried_sizes(6, 10).tolist() == [1, 2, 3, 4, 5, 6]
    assert tried_sizes(54, 1000).tolist() == [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 54]
    sizes = tried_sizes(5000, 420)
    assert sizes[-4:].tolist() == [200, 300, 400, 420]
    assert tried_sizes(5000, 10)[-1] == 100
    for d in range(1, 300):
        sizes = tried_sizes(d, 10**6)
        assert sizes[-1] == d
        assert (np.diff(sizes) > 0).all()


# ---------------------------------------------------------------------- the folds


def labelled(y, d=3):
    return as_labelled(np.random.default_rng(0).standard_normal((len(y), d)), y, estimator="test")


def test_folds_are_those_of_scikit_learn():
    data = labelled(np.repeat(["a", "b"], 10))
    folds, notes = choose_folds(None, data)
    assert notes == ()
    for (train, test), (expected, held) in zip(folds, StratifiedKFold(5).split(data.X, data.y), strict=True):
        np.testing.assert_array_equal(train, expected)
        np.testing.assert_array_equal(test, held)
    folds, _ = choose_folds(4, labelled(np.arange(30) + 0.5))
    assert [test.tolist() for _, test in folds] == [t.tolist() for _, t in KFold(4).split(np.zeros(30))]
    assert len(choose_folds(RepeatedKFold(n_splits=2, n_repeats=3), labelled(np.arange(30) + 0.5))[0]) == 6
    own = [(np.arange(10, 20), np.arange(10)), (np.arange(10), np.arange(10, 20))]
    assert len(choose_folds(own, labelled(np.tile([0, 1], 10)))[0]) == 2


def test_fewer_folds_than_asked_for():
    folds, notes = choose_folds(5, labelled(["a"] * 10 + ["b"] * 3))
    assert len(folds) == 3
    assert notes == ("3 folds instead of 5: class 'b' has 3 rows.",)
    folds, notes = choose_folds(5, labelled(np.array([0] * 10 + [1] * 9 + [2])))
    assert len(folds) == 5
    assert notes == ("Class 2 has a single row, which nothing can predict when it is held out.",)
    folds, notes = choose_folds(5, labelled(np.array([0] * 4 + [1] * 4 + [2, 3])))
    assert notes[0] == "4 folds instead of 5: class 0 has 4 rows."
    assert notes[1].startswith("Classes 2, 3 have a single row")
    folds, notes = choose_folds(5, labelled(np.array([0.1, 0.2, 0.3, 0.7])))
    assert [len(test) for _, test in folds] == [2, 2]
    assert notes == ("2 folds instead of 5: there are 4 rows.",)


@pytest.mark.parametrize(
    ("cv", "y", "error", "message"),
    [
        (1, [0, 1] * 5, ParameterError, "cv=1 is not a number of folds. Give a whole number of at least 2"),
        (True, [0, 1] * 5, ParameterError, "cv=True is not a number of folds"),
        ("five", [0, 1] * 5, ParameterError, "cv='five' cannot be used"),
        (GroupKFold(2), [0, 1] * 5, DataError, "cannot split 10 rows: The 'groups' parameter"),
        ([], [0, 1] * 5, DataError, "holds no splits"),
        ([([0, 1, 2], [99])], [0, 1] * 5, DataError, "split 0 names row 99"),
        (3, [0.1, 0.2, 0.3], DataError, "a minimum of 4 samples, but there are 3. Give k as a number"),
        (3, ["a", "b", "c"], DataError, "Each of the 3 classes has one row, so that none can be held out"),
        (5, [0] * 6 + [1], DataError, r"training rows of fold \d all have the same label"),
    ],
)
def test_folds_that_cannot_be(cv, y, error, message):
    with pytest.raises(error, match=message):
        choose_folds(cv, labelled(np.array(y)))
