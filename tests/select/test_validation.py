"""Folds drawn once, and scores in them against scikit-learn's cross-validation."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.select.validation import (
    SubsetScores,
    Validation,
    default_estimator,
    draw_folds,
    estimator_name,
    kind_of_label,
    score_name,
    scorer_of,
)

ROWS = np.arange(24.0).reshape(12, 2)
LETTERS = np.array(list("aaabbbbbbccc"))
X, y = load_iris(return_X_y=True)
NAMES = ("sl", "sw", "pl", "pw")
NO_ROOM = ValueError("no\nroom.")


def same(result, expected):
    expected = list(expected)
    assert len(result) == len(expected)
    for (train, test), (its_train, its_test) in zip(result, expected, strict=True):
        np.testing.assert_array_equal(train, its_train)
        np.testing.assert_array_equal(test, its_test)


def test_refusals_of_folds_and_scorers():
    for cv, classifier, error, said in [
        (
            4,
            True,
            DataError,
            "The class 'a' has 3 rows, fewer than the 4 folds. Give cv=3 at most, or leave out",
        ),
        (StratifiedKFold(4), True, DataError, "The class 'a' has 3 rows, fewer than the 4 folds."),
        (13, False, DataError, "cv=13 cannot split 12 rows: .*13 .*Give fewer folds"),
        (GroupKFold(2), True, DataError, r"cv=.*cannot split 12 rows: .* For grouped rows give the splits"),
        (iter([]), True, DataError, "has no splits. A generator can be read only once: give a list"),
        ([([0, 1], [])], True, DataError, "cannot split 12 rows"),
        ([([0, 1], [2]), ([0.5], [2])], True, DataError, "cannot split 12 rows"),
        ([([0, 1], [12])], True, DataError, "cannot split 12 rows: index 12 is out of bounds"),
        ([(np.ones(3, dtype=bool), [3])], True, DataError, "cannot split 12 rows"),
        ([3, 4], True, DataError, "cv=.* cannot split 12 rows"),
        (KFold, True, DataError, "cannot split 12 rows"),
        (True, True, ParameterError, "cv=True must be a whole number of at least 2. In Python also"),
        (1, True, ParameterError, "cv=1 must be a whole number of at least 2"),
        ("five", True, ParameterError, "cv='five' cannot be used"),
    ]:
        labels = LETTERS if classifier else np.arange(12.0)
        with pytest.raises(error, match=said):
            draw_folds(cv, ROWS, labels, classifier=classifier)
    with pytest.raises(InputTypeError, match=r"sklearn\.linear_model\._ridge\.Ridge"):
        scorer_of(Ridge, None)
    with pytest.raises(InputTypeError, match=r"estimator=None is not an estimator with fit\. Give for"):
        scorer_of(None, None)
    with pytest.raises(ParameterError, match=r"scoring=\['r2'\] cannot be used: Selection needs a single"):
        scorer_of(Ridge(), ["r2"])
    with pytest.raises(ParameterError, match=r"cannot be used\. Give the name of a scikit-learn score,"):
        scorer_of(Ridge(), "R2")
    with pytest.raises(ParameterError, match=r"scoring=None cannot be used: .*score"):
        scorer_of(Mute(), None)
    assert scorer_of(LinearSVC(), "roc_auc") is not None


def validation(estimator, scoring=None, X=X, y=y, cv=None):
    folds = list((cv or StratifiedKFold(5)).split(X, y))
    return Validation(estimator, X, y, folds, scorer_of(estimator, scoring), NAMES)


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


def test_scores_are_those_of_cross_val_score_and_failures_are_named():
    with pytest.raises(DataError, match=r"\} in fold 1 of 5 failed\. ValueError: no room\. Use an") as caught:
        validation(Fails()).scores(np.array([1, 2]))
    assert isinstance(caught.value.__cause__, ValueError)
    both = np.array([0, 2])
    with pytest.raises(
        DataError,
        match=r"Scoring Fails on {'sl', 'pl'} in fold 1 of 5 failed\. KeyError: 3\. Use another scoring",
    ):
        validation(Fails(KeyError(3), "score")).scores(both)
    with pytest.raises(DataError, match=r"\} in fold 1 of 5 gave nan on 30 held-out rows\. Use"):
        validation(Fails(when="nan")).scores(both)
    with pytest.raises(DataError, match=r"Scoring GaussianNB .* could not convert string to float: 'good'"):
        validation(GaussianNB(), lambda estimator, X, y: "good").scores(both)
    with pytest.raises(DataError, match=r"\} in fold 1 of 5 gave -inf on 30 held-out rows\. Use"):
        validation(GaussianNB(), lambda estimator, X, y: -np.inf).scores(both)
    with pytest.raises(KeyboardInterrupt, match="now"):
        validation(Fails(KeyboardInterrupt("now"))).scores(both)
    for estimator, scoring in (
        (GaussianNB(), None),
        (KNeighborsClassifier(3), "balanced_accuracy"),
        (Ridge(), "neg_root_mean_squared_error"),
        (GaussianNB(), make_scorer(mean_absolute_error, greater_is_better=False)),
        (Ridge(), lambda estimator, X, y: float(estimator.coef_.sum())),
    ):
        about = validation(estimator, scoring)
        for columns in ([0, 1], [1, 2, 3]):
            expected = cross_val_score(estimator, X[:, columns], y, cv=StratifiedKFold(5), scoring=scoring)
            np.testing.assert_allclose(about.scores(np.array(columns)), expected, rtol=1e-12)
    seen = []

    class Looks(Ridge):
        def fit(self, X, y):
            seen.append((X.dtype, X.shape, X[0].tolist()))
            return super().fit(X, y)

    single = X.astype(np.float32)
    general = SubsetScores.of(validation(Looks(), X=single, cv=KFold(2)), None, None)
    general.scores(np.array([0, 3]), np.array([2]))
    assert seen[0] == (np.dtype("f4"), (75, 3), single[75, [0, 2, 3]].tolist())
    estimator = GaussianNB()
    validation(estimator).scores(np.array([0]))
    assert not hasattr(estimator, "classes_")


class Mute(BaseEstimator):
    def fit(self, X, y):
        return self


def test_kinds_defaults_names_splitters_and_splits():
    assert kind_of_label(LogisticRegression()) is True
    assert kind_of_label(make_pipeline(StandardScaler(), LogisticRegression())) is True
    assert kind_of_label(Ridge()) is False
    assert kind_of_label(KMeans()) == kind_of_label(None) == "auto"
    for discrete, last in ((True, LogisticRegression), (False, Ridge)):
        assert [type(step) for _, step in default_estimator(discrete).steps] == [StandardScaler, last]
    nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), Ridge()))
    assert estimator_name(nested) == "StandardScaler + StandardScaler + Ridge"
    assert (score_name(max), score_name(Ridge()), score_name(None, "R2")) == ("max", "Ridge", "R2")
    same(draw_folds(3, ROWS, LETTERS, classifier=True), StratifiedKFold(3).split(ROWS, LETTERS))
    same(draw_folds(3, ROWS, np.arange(12.0), classifier=False), KFold(3).split(ROWS))
    same(draw_folds(None, ROWS, np.arange(12.0), classifier=False), KFold(5).split(ROWS))
    same(draw_folds(LeaveOneOut(), ROWS, LETTERS, classifier=True), LeaveOneOut().split(ROWS))
    random = draw_folds(ShuffleSplit(4, random_state=0), ROWS, LETTERS, classifier=True)
    same(random, ShuffleSplit(4, random_state=0).split(ROWS))
    same(draw_folds(iter([([0, 1], [2])]), ROWS, LETTERS, classifier=True), [([0, 1], [2])])
    mask = np.arange(12) < 6
    same(draw_folds([(mask, ~mask)], ROWS, LETTERS, classifier=True), [(np.arange(6), np.arange(6, 12))])
    same(
        draw_folds(PredefinedSplit(np.repeat([0, 1], 6)), ROWS, LETTERS, classifier=True),
        KFold(2).split(ROWS),
    )
    rng = np.random.default_rng(0)
    one, two = (draw_folds(3, ROWS, LETTERS, classifier=True, shuffle=rng) for _ in range(2))
    assert [test.tolist() for _, test in one] != [test.tolist() for _, test in two]
    for _, test in one:
        assert sorted(LETTERS[test]) == ["a", "b", "b", "c"]
