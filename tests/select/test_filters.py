"""The filter as a selector of scikit-learn, without leaks, on real and awkward data."""

from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import model_selection
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import scan
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.select.filters import FeatureFilter, tried_sizes, why_so_many
from gramian.statistics.candidates import Candidate

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)
SCORES = ("mutual-information", "f")


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


@parametrize_with_checks([FeatureFilter(cv=2, random_state=0), FeatureFilter("f", k=0.5, redundancy="mrmr")])
@pytest.mark.walk
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_how_many_are_kept():
    for k, kept in [(1, 1), (13, 13), (0.5, 7), (0.01, 1), (1.0, 13), (3 / 26, 2), (np.int64(2), 2)]:
        model = FeatureFilter("f", k=k).fit(*WINE)
        assert model.k_ == kept
        assert f"{k:g}" in model.reason_
    X, y = WINE
    assert [FeatureFilter("f", k=0.5).fit(X[:, :d], y).k_ for d in (1, 2, 3, 4, 5)] == [1, 1, 2, 2, 3]
    assert FeatureFilter("f", k=0.25).fit(X[:, :5], y).reason_ == (
        "The share 0.25 of 5 features is 1.25, rounded half up, at least one."
    )


def test_k_is_chosen_as_by_a_pipeline_with_the_filter_in_it():
    for X, y, default in [(*WINE, logistic()), (*NUMBERS, make_pipeline(StandardScaler(), Ridge()))]:
        model = FeatureFilter("f").fit(X, y)
        frame = model.selection_.to_frame()
        tried, mean, error = frame.index.to_numpy(), frame["score"], frame["standard_error"]
        assert tried.tolist() == [1, 2, 3, 4, 5, 7, 10, X.shape[1]][: len(tried)]
        for place in (0, 2, len(tried) - 1):
            pipeline = make_pipeline(FeatureFilter("f", k=int(tried[place])), default)
            expected = model_selection.cross_val_score(pipeline, X, y, cv=5)
            np.testing.assert_allclose(model.selection_[place].fold_scores, expected, rtol=1e-8)
        best = int(np.argmax(mean))
        assert model.k_ == tried[mean >= mean.iloc[best] - error.iloc[best]].min()
        assert f"{model.k_} features (mean " in model.reason_
        assert repr(model.estimator_) == repr(default)
        assert model.selection_.to_frame().loc[model.k_, "chosen"]


def test_other_estimators_scorings_and_folds_with_texts_as_labels():
    X, y = WINE
    cv = model_selection.StratifiedKFold(3, shuffle=True, random_state=0)
    estimator = KNeighborsClassifier()
    model = FeatureFilter("f", estimator=estimator, cv=cv, scoring="balanced_accuracy").fit(X, y)
    pipeline = make_pipeline(SelectKBest(f_classif, k=4), estimator)
    expected = model_selection.cross_val_score(pipeline, X, y, cv=cv, scoring="balanced_accuracy")
    np.testing.assert_allclose(model.selection_[3].fold_scores, expected)
    assert model.score_name_ == "balanced_accuracy"
    assert "balanced_accuracy" in model.reason_
    model = FeatureFilter("f", scoring="neg_mean_absolute_error").fit(*NUMBERS)
    assert all(tried.mean < 0 for tried in model.selection_)
    X, y = IRIS[0][:100], np.array(["no", "yes"])[IRIS[1][:100]]
    model = FeatureFilter("f", scoring="roc_auc").fit(X, y)
    assert all(tried.mean == 1.0 for tried in model.selection_)
    assert model.k_ == 1


@pytest.fixture(params=["mutual-information", "f", "chi2"])
def score(request):
    return request.param


def test_constant_and_equal_columns(score):
    for k in [1, 0.5, "cv"]:
        X, y = IRIS
        X = np.column_stack([np.zeros(150), X, X, np.full(150, 0.1)])
        model = FeatureFilter(score, k, random_state=0, cv=2).fit(X, y)
        assert model.scores_[[0, -1]].tolist() == [0, 0]
        assert np.isfinite(model.scores_).all()
        if model.pvalues_ is not None:
            assert model.pvalues_[[0, -1]].tolist() == [1, 1]
        assert {model.ranking_[0], model.ranking_[-1]} == {9, 10}
    model = FeatureFilter(score, 1, random_state=0).fit(np.ones((10, 3)), np.repeat([0, 1], 5))
    assert model.scores_.tolist() == [0, 0, 0]
    assert model.ranking_.tolist() == [1, 2, 3]
    assert model.k_ == 1
    assert "Selected" in model.summary()


def test_two_rows(score):
    X = np.array([[1.0, 5.0, 2.0], [2.0, 5.0, 2.0]])
    y = ["a", "b"]
    if score == "mutual-information":
        with pytest.raises(DataError, match="All 2 labels are different, so no row has a neighbour in"):
            FeatureFilter(k=1).fit(X + 0.5, y)
        assert FeatureFilter(k=1).fit(X, y).k_ == 1
    elif score == "f":
        with pytest.raises(DataError, match=r"as many classes as rows.*Add rows"):
            FeatureFilter(score, k=1).fit(X[:, ::-1], y)  # of which the first is constant
    else:
        model = FeatureFilter(score, k=1).fit(X, y)
        assert np.isfinite(model.scores_).all()
        assert model.support_.tolist() == [True, False, False]
    with pytest.raises(DataError, match=r"has 1 row, fewer than the 5 folds\. Leave out the rows of"):
        FeatureFilter(score).fit(X, y)


def test_scores_are_those_of_the_functions_also_of_few_rows():
    X, y = NUMBERS[0][:6], NUMBERS[1][:6] + 0.5
    with pytest.raises(DataError, match="In fold 1, which trains on 3 rows: n_neighbors=3 but"):
        FeatureFilter(cv=2).fit(X, y)
    assert FeatureFilter(cv=2, n_neighbors=2, random_state=0).fit(X, y).k_ >= 1
    with pytest.raises(DataError, match="no degree of freedom is left for an F score"):
        FeatureFilter("f", k=1).fit(X[:2], [0.5, 1.5])
    X, y = WINE
    model, peer = FeatureFilter("f", k=5).fit(X, y), SelectKBest(f_classif, k=5).fit(X, y)
    np.testing.assert_allclose(model.scores_, peer.scores_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(X), peer.transform(X))


def test_a_class_of_one_row(score):
    X, y = IRIS[0][:101], IRIS[1][:101]
    model = FeatureFilter(score, 2, random_state=0).fit(X, y)
    assert np.isfinite(model.scores_).all()
    with pytest.raises(DataError, match=r"The class 2 has 1 row, fewer than the 5 folds\. Leave out"):
        FeatureFilter(score, random_state=0).fit(X, y)


def test_parameters_data_and_folds_that_cannot_be():
    for given, error, match in [
        ({"k": 14}, ParameterError, "k=14 must be a whole"),
        ({"k": 0}, ParameterError, "k=0 must be a whole"),
        ({"k": True}, ParameterError, "k=True must be a"),
        ({"k": 1.5}, ParameterError, r"k=1\.5 must be a"),
        ({"k": [1, 2]}, ParameterError, r"k=\[1, 2\] must be a"),
        ({"k": "all"}, ParameterError, r"is not known\. Allowed:"),
        ({"score_func": "mutual"}, ParameterError, r"is not known\. Allowed:"),
        ({"redundancy": "mRMR"}, ParameterError, r"is not known\. Allowed:"),
        ({"scoring": "best"}, ParameterError, r"cannot be used\. Give"),
        ({"random_state": "x"}, ParameterError, "cannot start a random"),
        ({"estimator": Ridge}, InputTypeError, r"sklearn\.linear_model\._"),
        ({"estimator": "ridge"}, InputTypeError, "is not an estimator"),
        ({"n_neighbors": 0}, ParameterError, "n_neighbors=0 must be"),
    ]:
        with pytest.raises(error, match=match):
            FeatureFilter(**{"score_func": "f"} | given).fit(*WINE)
    X, y = WINE
    for rows, labels, match in [
        (X, None, "FeatureFilter requires y to be"),
        (X, np.ones(178), "All 178 labels are the same 1"),
        (X, y[:5], r"y has 5 labels but X has 178 rows\."),
        (np.where(X > 1000, np.nan, X), y, "Input X contains NaN: 43 values are"),
    ]:
        with pytest.raises(DataError, match=match):
            FeatureFilter("f").fit(rows, labels)
    with pytest.raises(DataError, match='redundancy="mrmr" compares every feature with every other'):
        FeatureFilter("f", redundancy="mrmr").fit(sp.csr_matrix(X), y)
    X, y = np.random.default_rng(0).standard_normal((12, 3)), [0] * 6 + [1] * 6
    with pytest.raises(DataError, match="training rows of fold 1 all have the same label"):
        FeatureFilter("f", cv=model_selection.KFold(2)).fit(X, y)
    with pytest.raises(DataError, match=r"Scoring .* in fold 1 of 3 gave nan on 4 held-out rows\. Use"):
        FeatureFilter("f", cv=3, scoring=lambda estimator, X, y: np.nan).fit(X, y)

    with pytest.raises(ParameterError, match=r"cv=1 must be a whole number of at least 2\. In Python also"):
        FeatureFilter(cv=1).fit(*WINE)


def test_attributes_labels_and_the_way_back():
    X, y = WINE
    model = FeatureFilter("f", 3).fit(X, y)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_array_equal(back[:, model.support_], X[:, model.support_])
    assert (back[:, ~model.support_] == 0).all()
    with pytest.raises(DataError, match=r"X has 4 columns, but 3 features were selected\."):
        model.inverse_transform(X[:, :4])
    with pytest.raises(DataError, match="expecting 13 features"):
        model.transform(X[:, :4])
    sparse = model.transform(sp.csr_matrix(X))
    np.testing.assert_array_equal(sparse.toarray(), model.transform(X))
    with pytest.raises(InputTypeError, match=r"inverse_transform does not support sparse data\. Use"):
        model.inverse_transform(sparse)
    for score in SCORES:
        X, y = load_wine(return_X_y=True, as_frame=True)
        model = FeatureFilter(score, k=4, random_state=0).fit(X, y)
        assert model.scores_.shape == model.ranking_.shape == model.support_.shape == (13,)
        assert sorted(model.ranking_.tolist()) == list(range(1, 14))
        assert (np.diff(model.scores_[np.argsort(model.ranking_)]) <= 0).all()
        assert model.k_ == model.support_.sum() == 4
        np.testing.assert_array_equal(model.support_, model.ranking_ <= 4)
        assert model.get_feature_names_out().tolist() == X.columns[model.support_].tolist()
        assert model.get_support(indices=True).tolist() == np.flatnonzero(model.support_).tolist()
        assert (model.task_, model.n_samples_, model.n_features_in_) == ("classes", 178, 13)
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.selection_ is model.estimator_ is None
        assert model.reason_ == "Requested: 4 features."
        assert (model.pvalues_ is None) == (score == "mutual-information")
    X, y = WINE
    assert FeatureFilter("f", k=1).fit(X, y).task_ == "classes"
    assert FeatureFilter("f", k=1).fit(X, y + 0.5).task_ == "numbers"
    assert FeatureFilter("f", k=1, estimator=Ridge()).fit(X, y).task_ == "numbers"
    pipeline = make_pipeline(StandardScaler(), Ridge())
    assert FeatureFilter("f", k=1, estimator=pipeline).fit(X, y).task_ == "numbers"
    many = np.arange(178) // 2
    assert FeatureFilter("f", k=1).fit(X, many).task_ == "numbers"
    assert FeatureFilter("f", k=1, estimator=KNeighborsClassifier()).fit(X, many).task_ == "classes"
    assert FeatureFilter("f", k=1).fit(X, np.array(["a", "b", "c"])[y]).classes_.tolist() == ["a", "b", "c"]


def test_any_kind_of_array(array_kind):
    X, y = WINE
    model = FeatureFilter("f", 3).fit(array_kind.make(X), y)
    expected = FeatureFilter("f", 3).fit(X.astype(array_kind.dtype), y)
    np.testing.assert_array_equal(model.ranking_, expected.ranking_)
    kept = model.transform(array_kind.make(X))
    assert array_kind.same(kept)
    assert array_kind.same(model.inverse_transform(kept))


def test_frames_and_files_bring_their_names(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = FeatureFilter("f", 2).set_output(transform="pandas").fit(X, y)
    kept = model.transform(X)
    assert isinstance(kept, pd.DataFrame)
    assert kept.columns.tolist() == model.get_feature_names_out().tolist() == ["flavanoids", "proline"]
    assert kept.index.equals(X.index)
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["a", "b", "c", "d"]
    file = Path(tmp_path / "iris.csv")
    X.assign(kind=np.array(["x", "y", "z"])[y]).to_csv(file, index=False)
    model = FeatureFilter("f", 2).fit(scan(file, label="kind"))
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert model.get_feature_names_out().tolist() == ["c", "d"]
    np.testing.assert_allclose(model.transform(scan(file, label="kind")), X[["c", "d"]])


WINE_FRAME = load_wine(return_X_y=True, as_frame=True)


def test_ranking_choice_and_reason_of_thirty_and_notes():
    model = FeatureFilter("f").fit(*WINE_FRAME)
    text = model.summary()
    lines = text.splitlines()
    assert lines[0] == "13 features by f with 3 classes, 178 rows"
    assert lines[1].split() == ["rank", "feature", "F", "p"]
    assert lines[2].split()[:3] == ["1", "flavanoids", "233.93"]
    assert lines[2].endswith("selected")
    best = [line for line in lines if line.startswith("*")]
    assert f"Selected {model.k_}. {model.reason_}" in " ".join(text.split())
    assert len(best) == 1
    assert int(best[0].split()[1]) == model.k_
    assert "Cross-validated: StandardScaler + LogisticRegression" in text
    assert sum(line.endswith("selected") for line in lines) == model.k_
    assert str(model).startswith("FeatureFilter(")
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 100)), np.repeat([0, 1], 25)
    text = FeatureFilter("f", 40).fit(X, y).summary()
    assert sum(line.split()[:1] != [] and line.split()[0].isdecimal() for line in text.splitlines()) >= 30
    assert "... and 70 more" in text
    assert "... and 95 more" in FeatureFilter("f", 40).fit(X, y).summary(5)
    assert "more" not in FeatureFilter("f", 40).fit(X, y).summary(100).split("Selected")[0]
    assert "... and 70 more\n" in FeatureFilter("f", 3).fit(X, y).summary()


def test_heads_labels_and_scores_of_any_size():
    X, y = WINE_FRAME
    assert "  nats" in FeatureFilter(k=1, random_state=0).fit(X, y).summary()
    assert (
        FeatureFilter("f", 1).fit(X, y + 0.5).summary().startswith("13 features by f with a number, 178 rows")
    )
    for scale, first in ((1e-90, "1.654e-86"), (1.0, "16,540.07"), (1e90, "1.654e+94")):
        lines = FeatureFilter("chi2", 3).fit(X * scale, y).summary().splitlines()[2:15]
        assert lines[0].split()[2] == first
    y = np.array([0, 0, 1, 1])
    X = np.column_stack([y, [1.0, 2.0, 2.5, 4.0], np.ones(4)])
    lines = FeatureFilter("f", 1).fit(X, y).summary().splitlines()
    assert "inf" in lines[2]
    assert lines[2].endswith("selected")
    assert lines[4].split() == ["3", "x2", "0.000", "1"]
    lines = FeatureFilter("f", 1).fit(X[:, [0, 2]], y).summary().splitlines()
    assert lines[2].endswith("selected")


def in_folds(sizes, scores):
    return [Candidate.in_folds(k, k, row) for k, row in zip(sizes, np.array(scores), strict=True)]


def test_jobs_change_nothing():
    one = FeatureFilter("f", cv=3).fit(*WINE)
    with joblib.parallel_config(backend="threading"):
        two = FeatureFilter("f", cv=3, n_jobs=2).fit(*WINE)
    for a, b in zip(one.selection_, two.selection_, strict=True):
        np.testing.assert_array_equal(a.fold_scores, b.fold_scores)


def test_sizes_that_are_tried_and_reasons():
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
    scores, sizes = [[0.5, 0.5], [0.8, 0.9], [0.9, 0.9], [0.8, 1.0]], (1, 2, 1000, 2000)
    assert why_so_many(in_folds(sizes, scores), "accuracy") == (
        "1,000 features (mean accuracy 0.9 over 2 folds): the best score; no smaller number is within one "
        "standard error (0)."
    )
    scores[3] = [0.84, 1.0]
    assert why_so_many(in_folds(sizes, scores), "R2") == (
        "2 features (mean R2 0.85 over 2 folds): the fewest within one standard error (0.08) of the best, "
        "0.92 with 2,000."
    )
    assert why_so_many(in_folds(sizes, np.ones((4, 2))), "R2") == (
        "1 feature (mean R2 1 over 2 folds): the best score. It predicts the label without an error: ask "
        "whether it is the label in another form."
    )
