"""Scores of candidates against scikit-learn's cross-validation."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from gramian import DataError, InputTypeError, ParameterError
from gramian.selection.candidates import CrossValidated, Trial, fold_scores, scorer_of, with_or_without

X, y = load_iris(return_X_y=True)
NAMES = ("sl", "sw", "pl", "pw")
NONE = np.array([], dtype=np.intp)
NO_ROOM = ValueError("no\nroom.")


def trial(estimator, scoring=None, X=X, y=y, cv=None):
    folds = list((cv or StratifiedKFold(5)).split(X, y))
    return Trial(estimator, X, y, folds, scorer_of(estimator, scoring), NAMES)


class Fails(ClassifierMixin, BaseEstimator):
    """Fails where column 2 is used."""

    def __init__(self, error=NO_ROOM, when="fit"):
        self.error, self.when = error, when

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self._fails = X.max() > 6.5 and X.shape[1] > 1
        if self._fails and self.when == "fit":
            raise self.error
        return self

    def score(self, X, y):
        if self._fails and self.when == "score":
            raise self.error
        return np.nan if self._fails and self.when == "nan" else 0.5


@pytest.mark.parametrize(
    ("estimator", "scoring"),
    [
        (GaussianNB(), None),
        (KNeighborsClassifier(3), "balanced_accuracy"),
        (Ridge(), "neg_root_mean_squared_error"),
        (GaussianNB(), make_scorer(mean_absolute_error, greater_is_better=False)),
        (Ridge(), lambda estimator, X, y: float(estimator.coef_.sum())),
    ],
)
def test_scores_are_those_of_cross_val_score(estimator, scoring):
    about = trial(estimator, scoring)
    found = CrossValidated(about).scores(np.array([1]), [np.array([0]), np.array([2, 3])], True)
    expected = [
        cross_val_score(estimator, X[:, columns], y, cv=StratifiedKFold(5), scoring=scoring)
        for columns in ([0, 1], [1, 2, 3])
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    found = CrossValidated(about).scores(np.arange(4), [np.array([0]), np.array([1, 2])], False)
    expected = [
        cross_val_score(estimator, X[:, columns], y, cv=StratifiedKFold(5), scoring=scoring)
        for columns in ([1, 2, 3], [0, 3])
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_candidates_in_parallel_give_the_same_in_the_same_order():
    groups = [np.array([j]) for j in (3, 0, 2)]
    alone = CrossValidated(trial(GaussianNB())).scores(np.array([1]), groups, True)
    many = CrossValidated(trial(GaussianNB()), n_jobs=2).scores(np.array([1]), groups, True)
    assert many.tolist() == alone.tolist()


def test_scores_come_one_by_one():
    each = CrossValidated(trial(Fails())).each(np.array([0]), [np.array([1]), np.array([2])], True)
    with pytest.raises(DataError, match=r"Fitting Fails on \{sl, sw\} in fold 1 of 5 failed"):
        list(each)
    each = CrossValidated(trial(Fails())).each(np.array([1]), [np.array([3]), np.array([2])], True)
    assert next(each).tolist() == [0.5] * 5


def test_no_candidate_gives_no_score():
    assert CrossValidated(trial(GaussianNB())).scores(np.array([1]), [], True).shape == (0, 5)


def test_a_failing_fit_names_subset_fold_and_cause():
    general = CrossValidated(trial(Fails()))
    with pytest.raises(
        DataError,
        match=r"Fitting Fails on \{sw, pl\} in fold 1 of 5 failed\. ValueError: no room\. Change the "
        r"estimator so that it can be fitted on any subset of the features, or leave these features out\.",
    ) as caught:
        general.scores(np.array([1]), [np.array([3]), np.array([2])], True)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_failing_score_is_told_from_a_failing_fit():
    with pytest.raises(
        DataError,
        match=r"Scoring Fails on \{sl, pl\} in fold 1 of 5 failed\. KeyError: 3\. Choose another scoring",
    ):
        fold_scores(trial(Fails(KeyError(3), "score")), np.array([0, 2]))


def test_scores_that_are_no_numbers():
    with pytest.raises(
        DataError,
        match=r"Scoring Fails on \{sl, pl\} in fold 1 of 5 gave nan, which cannot be compared. Choose",
    ):
        fold_scores(trial(Fails(when="nan")), np.array([0, 2]))
    text = trial(GaussianNB(), lambda estimator, X, y: "good")
    with pytest.raises(DataError, match=r"Scoring GaussianNB .* could not convert string to float: 'good'"):
        fold_scores(text, np.array([0]))
    with pytest.raises(DataError, match=r"Scoring GaussianNB .* gave -inf, which cannot"):
        fold_scores(trial(GaussianNB(), lambda estimator, X, y: -np.inf), np.array([0]))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_more_neighbours_than_a_fold_has_rows(n_jobs):
    with pytest.raises(
        DataError, match=r"Scoring KNeighborsClassifier on \{sl\} in fold 1 of 5 failed.*n_neighbors"
    ):
        CrossValidated(trial(KNeighborsClassifier(121)), n_jobs).scores(np.array([0]), [NONE, NONE], True)


def test_keyboard_interrupt_goes_through():
    with pytest.raises(KeyboardInterrupt, match="now"):
        fold_scores(trial(Fails(KeyboardInterrupt("now"))), np.array([0, 2]))


def test_the_estimator_itself_is_never_fitted():
    estimator = GaussianNB()
    fold_scores(trial(estimator), np.array([0]))
    assert not hasattr(estimator, "classes_")


def test_subsets_ascend():
    assert with_or_without(np.array([1, 3]), np.array([0, 2]), True).tolist() == [0, 1, 2, 3]
    assert with_or_without(np.array([1, 3, 5]), np.array([3]), False).tolist() == [1, 5]
    assert with_or_without(np.array([], dtype=np.intp), np.array([4]), True).dtype == np.intp


def test_columns_reach_the_estimator_in_order_and_in_their_dtype():
    seen = []

    class Looks(Ridge):
        def fit(self, X, y):
            seen.append((X.dtype, X.shape, X[0].tolist()))
            return super().fit(X, y)

    single = X.astype(np.float32)
    general = CrossValidated(trial(Looks(), X=single, cv=KFold(2)))
    general.scores(np.array([3]), [np.array([0, 2])], True)
    assert seen[0] == (np.dtype("f4"), (75, 3), single[75, [0, 2, 3]].tolist())


def test_scorer_of_refuses():
    with pytest.raises(InputTypeError, match=r"estimator=.*Ridge'> is no estimator with fit. Give one"):
        scorer_of(Ridge, None)
    with pytest.raises(InputTypeError, match="estimator=None is no estimator"):
        scorer_of(None, None)
    with pytest.raises(
        ParameterError, match=r"scoring=\['r2'\] names several scores, but a selection follows"
    ):
        scorer_of(Ridge(), ["r2"])
    with pytest.raises(ParameterError, match=r"scoring='R2' cannot be used: .* Give the name of a score"):
        scorer_of(Ridge(), "R2")
    with pytest.raises(ParameterError, match=r"scoring=None cannot be used: .*score"):
        scorer_of(Mute(), None)
    assert scorer_of(LinearSVC(), "roc_auc") is not None


class Mute(BaseEstimator):
    def fit(self, X, y):
        return self
