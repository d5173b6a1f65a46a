"""The selector: against scikit-learn's, exhaustive search, the published example, and as an estimator."""

import json
import re
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import feature_selection
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import scan
from gramian.core.arrays import to_numpy
from gramian.errors import DataError, ParameterError
from gramian.select import validation
from gramian.select.wrappers import SequentialFeatureSelector

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def same_history(a, b, tol=0.0):
    """Everything but the work that it took."""
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        for name in ("number", "action", "moved", "subset", "candidates"):
            assert getattr(one, name) == getattr(other, name)
        np.testing.assert_allclose(one.fold_scores, other.fold_scores, rtol=0, atol=tol)
        np.testing.assert_allclose(one.candidate_scores, other.candidate_scores, rtol=0, atol=tol)
    assert a.choice.place == b.choice.place


def test_iris_as_published_and_choices_are_what_they_say():
    X, y = IRIS
    result = SequentialFeatureSelector(KNeighborsClassifier(4), cv=[(np.arange(150),) * 2]).fit(X, y)
    # Features counted from 0: petal width, then petal length, then sepal width.
    steps = [(step.subset, round(step.mean, 4)) for step in result.history_]
    assert steps[:3] == [((3,), 0.96), ((2, 3), 0.9733), ((1, 2, 3), 0.9733)]
    assert result.get_support(indices=True).tolist() == [2, 3]
    # Column 0 alone says most; together with 1 and 2 it says nothing new.
    b, c, noise, other, rest = np.random.default_rng(3).standard_normal((5, 300))
    X, y = np.column_stack([b + c + 0.8 * noise, b, c, other]), b + c + 0.3 * rest
    for estimator in [LinearRegression(), make_pipeline(StandardScaler(), Ridge(solver="lsqr"))]:
        pairs = {pair: cross_val_score(estimator, X[:, pair], y).mean() for pair in combinations(range(4), 2)}
        for floating, pair in ((False, (0, 1)), (True, max(pairs, key=pairs.get))):
            model = SequentialFeatureSelector(estimator, n_features_to_select=2, floating=floating).fit(X, y)
            assert tuple(model.get_support(indices=True)) == pair
            assert model.score_ == pytest.approx(pairs[pair])
    for rule, direction, floating in product(["best", "one-se"], ["forward", "backward"], [False, True]):
        X, y = WINE[0][:, :4], WINE[1]
        result = SequentialFeatureSelector(
            GaussianNB(), n_features_to_select=rule, direction=direction, floating=floating, cv=3
        ).fit(X, y)
        steps = result.history_
        best = max(step.mean for step in steps)
        of_best = min((s for s in steps if s.mean >= best - 1e-12), key=lambda s: s.size)
        least = best - (of_best.standard_error if rule == "one-se" else 0) - 1e-12
        size = min(s.size for s in steps if s.mean >= least)
        assert result.n_features_to_select_ == result.support_.sum() == size
        assert result.score_ == max(s.mean for s in steps if s.size == size)
        visited = {s.size for s in steps}
        assert visited >= set(range(1, 5))


@pytest.mark.walk
def test_the_same_as_scikit_learn():
    for (estimator, data, number), direction in product(
        [
            (KNeighborsClassifier(3), IRIS, 2),
            (make_pipeline(StandardScaler(), GaussianNB()), (WINE[0][:, :7], WINE[1]), 3),
            (Ridge(alpha=0.1), DIABETES, 4),
            (LinearRegression(), DIABETES, 0.6),
        ],
        ["forward", "backward"],
    ):
        X, y = data[0][:, :5], data[1]
        asked = {"n_features_to_select": number, "direction": direction, "cv": 4}
        theirs = feature_selection.SequentialFeatureSelector(estimator, **asked).fit(X, y)
        ours = SequentialFeatureSelector(estimator, **asked).fit(X, y)
        assert ours.get_support(indices=True).tolist() == theirs.get_support(indices=True).tolist()
        assert ours.n_features_to_select_ == theirs.n_features_to_select_
        expected = cross_val_score(estimator, X[:, ours.support_], y, cv=4)
        assert ours.score_ == pytest.approx(expected.mean())
        assert ours.standard_error_ == pytest.approx(expected.std(ddof=1) / 2)
        np.testing.assert_allclose(ours.history_.chosen.fold_scores, expected, atol=1e-9)


def test_ties_and_constants():
    X, y = IRIS
    twice = np.column_stack([X[:, 3], X[:, 3], X[:, 2], X[:, 2]])
    result = SequentialFeatureSelector(GaussianNB(), n_features_to_select=1).fit(twice, y)
    assert (
        result.history_[0].candidate_scores.mean(axis=1)[0]
        == result.history_[0].candidate_scores.mean(axis=1)[1]
    )
    assert result.get_support(indices=True).tolist() == [0]
    noise = np.random.default_rng(0).standard_normal(150)
    back = SequentialFeatureSelector(KNeighborsClassifier(), n_features_to_select=1, direction="backward")
    back.fit(np.column_stack([X[:, 3], X[:, 3], 10 * noise]), y)
    assert [step.moved for step in back.history_] == [(), (2,), (0,)]
    padded = np.column_stack([np.ones(150), X, np.zeros(150)])
    result = SequentialFeatureSelector(KNeighborsClassifier(4), n_features_to_select=2).fit(padded, y)
    assert result.get_support(indices=True).tolist() == [3, 4]
    assert SequentialFeatureSelector(Ridge()).fit(padded, y).score_ == pytest.approx(
        SequentialFeatureSelector(Ridge()).fit(X, y).score_
    )


LEAST_SQUARES = (
    {"estimator": LinearRegression()},
    {"estimator": Ridge(alpha=0.3), "scoring": "neg_mean_squared_error"},
    {"estimator": Ridge(alpha=5, fit_intercept=False), "scoring": "neg_root_mean_squared_error"},
)


@pytest.mark.parametrize(
    "asked",
    [
        *LEAST_SQUARES,
        LEAST_SQUARES[0] | {"direction": "backward"},
        LEAST_SQUARES[1] | {"floating": True},
        LEAST_SQUARES[2] | {"direction": "backward", "floating": True, "n_features_to_select": 3},
        LEAST_SQUARES[1] | {"n_features_to_select": "one-se"},
    ],
    ids=lambda asked: ",".join(asked),
)
@pytest.mark.walk
def test_fast_and_general_histories_are_the_same(asked, monkeypatch):
    X, y = DIABETES
    X = np.column_stack([100 * X[:, :6] + 3, X[:, 6:]])
    selector = SequentialFeatureSelector(cv=3, **asked)
    fast = clone(selector).fit(X, y)
    monkeypatch.setattr(validation, "least_squares_scorer", lambda *_: None)
    general = clone(selector).fit(X, y)
    same_history(fast.history_, general.history_, tol=1e-9 * max(1, abs(general.score_)))


def test_collinear_columns_are_fitted_one_by_one(monkeypatch):
    X, y = DIABETES
    X = np.column_stack([X[:, :5], X[:, 0] + X[:, 1], X[:, 2]])
    fast = SequentialFeatureSelector(LinearRegression(), cv=3).fit(X, y)
    monkeypatch.setattr(validation, "least_squares_scorer", lambda *_: None)
    general = SequentialFeatureSelector(LinearRegression(), cv=3).fit(X, y)
    same_history(fast.history_, general.history_, tol=1e-9)


def test_the_selection_is_cross_validated_and_its_summary_the_history():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 40)), rng.standard_normal(50)
    selector = SequentialFeatureSelector(LinearRegression(), n_features_to_select=6, cv=3)
    held_out = cross_val_score(make_pipeline(selector, LinearRegression()), X, y, cv=3)
    assert selector.fit(X, y).score_ > 0.2
    assert held_out.mean() < 0
    frame = load_iris(as_frame=True)
    result = SequentialFeatureSelector(KNeighborsClassifier(4), scoring="balanced_accuracy", floating=True)
    result.fit(frame.data, frame.target)
    assert result.summary() is result.history_
    assert str(result.history_).startswith(
        "Forward floating selection among 4 features with KNeighborsClassifier: balanced_accuracy, 5 folds "
        "of 150 rows\n"
    )
    assert "+ petal width (cm)" in str(result.history_)
    assert result.history_.to_frame().shape == (len(result.history_), 6)
    json.dumps(result.history_.to_dict(), allow_nan=False)


def test_an_error_names_the_subset_and_the_fold_and_leaves_nothing():
    class Stops(GaussianNB):
        def fit(self, X, y):
            if X.shape[1] == 2:
                raise ValueError("stopped")
            return super().fit(X, y)

    selector = SequentialFeatureSelector(Stops(), cv=3)
    with pytest.raises(
        DataError, match=r"Fitting Stops on \{.*\} in fold 1 of 3 failed. ValueError: stopped"
    ):
        selector.fit(*WINE)
    assert not hasattr(selector, "support_")


def test_parameters_and_data_refused():
    """What a fit itself refuses, and one of each of what the space, the search and the folds do."""
    for asked, error, said in [
        ({"direction": "up"}, ParameterError, "'up' is not known. Allowed: 'forward', 'backward', 'exhaus"),
        ({"direction": "Forward"}, ParameterError, "Did you mean 'forward'"),
        ({"n_jobs": 0}, ValueError, "n_jobs == 0 in Parallel has no meaning"),
        ({"cv": ShuffleSplit(1), "n_features_to_select": "one-se"}, ParameterError, "there is a single fold"),
        ({"cv": 51}, DataError, "The class 0 has 50 rows, fewer than the 51 folds"),
        ({"scoring": "acuracy"}, ParameterError, "scoring='acuracy' cannot be used"),
        ({"n_features_to_select": 5}, ParameterError, "=5 must be a whole number from 1 to 4"),
    ]:
        with pytest.raises(error, match=re.escape(said)):
            SequentialFeatureSelector(**{"estimator": GaussianNB()} | asked).fit(*IRIS)
    X, y = IRIS
    selector = SequentialFeatureSelector(GaussianNB())
    with pytest.raises(DataError, match="SequentialFeatureSelector requires y to be passed, but"):
        selector.fit(X)
    with pytest.raises(DataError, match=r'Input X contains NaN: row 131, column 0\. Use missing="em"'):
        selector.fit(np.where(X > 7.8, np.nan, X), y)
    with pytest.raises(
        DataError,
        match=r"Scoring KNeighborsClassifier on {'x0'} in fold 1 of 5 failed\. ValueError: .*n_neighbors",
    ):
        SequentialFeatureSelector(KNeighborsClassifier(130)).fit(X, y)
    with pytest.raises(DataError, match="Unknown label type: y contains text such as"):
        SequentialFeatureSelector(Ridge()).fit(X, np.array(["a", "b", "c"])[y])


@pytest.mark.filterwarnings("ignore:R.2 score is not well-defined")
def test_scores_of_single_rows_that_are_not_defined():
    with pytest.raises(DataError, match=r"\} in fold 1 of 150 gave nan on 1 held-out rows\. Use"):
        SequentialFeatureSelector(Ridge(), cv=150).fit(*IRIS)


def test_arrays_of_every_kind(array_kind):
    X, y = IRIS
    result = SequentialFeatureSelector(GaussianNB(), n_features_to_select=2).fit(array_kind.make(X), y)
    assert result.get_support(indices=True).tolist() == [2, 3]
    selected = result.transform(array_kind.make(X))
    assert array_kind.same(selected)
    np.testing.assert_array_equal(to_numpy(selected), X[:, 2:].astype(array_kind.dtype))
    np.testing.assert_array_equal(result.transform(sp.csr_array(X)).toarray(), X[:, 2:])


def test_frames_files_and_names(tmp_path):
    frame = load_iris(as_frame=True)
    result = SequentialFeatureSelector(GaussianNB(), n_features_to_select=2).set_output(transform="pandas")
    selected = result.fit_transform(frame.data, frame.target)
    pd.testing.assert_frame_equal(selected, frame.data[["petal length (cm)", "petal width (cm)"]])
    assert result.feature_names_in_.tolist() == frame.data.columns.tolist()
    assert result.get_feature_names_out().tolist() == selected.columns.tolist()
    with pytest.raises(DataError, match="feature names"):
        result.transform(frame.data.iloc[:, ::-1])
    with pytest.raises(DataError, match="feature names"):
        result.transform(frame.data.iloc[:, :3])
    plain = SequentialFeatureSelector(GaussianNB()).fit(*IRIS)
    with pytest.raises(DataError, match="X has 3 features, but SequentialFeatureSelector is expecting 4"):
        plain.transform(IRIS[0][:, :3])
    back = result.inverse_transform(selected.to_numpy())
    np.testing.assert_array_equal(back[:, 2:], selected)
    assert not back[:, :2].any()
    frame = load_iris(as_frame=True).frame
    path = tmp_path / "iris.csv"
    frame.to_csv(path, index=False)
    result = SequentialFeatureSelector(GaussianNB(), n_features_to_select=2).fit(scan(path, label="target"))
    assert result.get_feature_names_out().tolist() == ["petal length (cm)", "petal width (cm)"]
    selected = result.transform(scan(path, label="target"))
    np.testing.assert_allclose(selected, frame.iloc[:, 2:4])


@parametrize_with_checks(
    [
        SequentialFeatureSelector(GaussianNB(), cv=3),
        SequentialFeatureSelector(
            Ridge(), n_features_to_select="one-se", direction="backward", floating=True, cv=3
        ),
    ]
)
@pytest.mark.walk
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_an_exhaustive_search_scores_every_subset_and_says_what_it_does_not_take():
    X, y = DIABETES[0][:, :5], DIABETES[1]
    result = SequentialFeatureSelector(Ridge(alpha=0.1), direction="exhaustive", cv=4).fit(X, y)
    every = {
        some: cross_val_score(Ridge(alpha=0.1), X[:, some], y, cv=4).mean()
        for size in range(1, 6)
        for some in combinations(range(5), size)
    }
    scored = [c for step in result.history_ for c in step.candidates]
    assert sorted(scored) == sorted(every)
    for step in result.history_:
        of_size = {some: score for some, score in every.items() if len(some) == step.size}
        np.testing.assert_allclose(
            step.candidate_scores.mean(axis=1), [of_size[c] for c in step.candidates], rtol=1e-8
        )
        assert step.subset == max(of_size, key=of_size.get)
    assert result.history_.chosen.subset == max(every, key=every.get)
    for columns, given, match in [
        (16, {}, "allows at most 15 features, and there are 16"),
        (3, {"floating": True}, "floating=True has no use:"),
    ]:
        with pytest.raises(ParameterError, match=match):
            SequentialFeatureSelector(Ridge(), direction="exhaustive", **given).fit(
                np.eye(40, columns), np.arange(40.0)
            )
