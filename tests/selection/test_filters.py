"""The filter as a selector of scikit-learn, without leaks, on real and awkward data."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine
from sklearn.feature_selection import SelectFdr, SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import PCA, DataError, InputTypeError, KernelPCA, ParameterError, scan
from gramian.selection.filters import FeatureFilter
from gramian.selection.mutual_information import mutual_information

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)
SCORES = ("mutual-information", "f", "correlation")


@pytest.fixture
def golub(data_dir):
    file = data_dir / "tables" / "golub_leukemia_38x3051.npz"
    if not file.exists():
        pytest.skip(f"no {file.name}")
    with np.load(file) as data:
        return data["X"], data["y"].astype(int)


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


@parametrize_with_checks(
    [
        FeatureFilter(cv=2, random_state=0),
        FeatureFilter("correlation", k=1),
        FeatureFilter("f", k=0.5, redundancy="mrmr"),
        FeatureFilter("f", k="fdr", alpha=0.999),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ----------------------------------------------------------- scores and ranking


@pytest.mark.parametrize("score", SCORES)
def test_attributes(score):
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
    assert model.cv_results_ is model.estimator_ is None
    assert model.reason_ == "So many were asked for: k=4."
    assert (model.pvalues_ is None) == (score == "mutual-information")


def test_scores_are_those_of_the_functions():
    X, y = WINE
    np.testing.assert_array_equal(
        FeatureFilter(k=1, random_state=0, n_neighbors=4).fit(X, y).scores_.argsort(),
        mutual_information(X, y, n_neighbors=4, random_state=0).values.argsort(),
    )
    model, peer = FeatureFilter("f", k=5).fit(X, y), SelectKBest(f_classif, k=5).fit(X, y)
    np.testing.assert_allclose(model.scores_, peer.scores_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(X), peer.transform(X))
    model = FeatureFilter(f_classif, k=5).fit(X, y)
    np.testing.assert_array_equal(model.pvalues_, peer.pvalues_)
    np.testing.assert_array_equal(model.support_, peer.get_support())


def test_the_kind_of_label_is_that_of_the_estimator():
    X, y = WINE
    assert FeatureFilter("f", k=1).fit(X, y).task_ == "classes"
    assert FeatureFilter("f", k=1).fit(X, y + 0.5).task_ == "numbers"
    assert FeatureFilter("f", k=1, estimator=Ridge()).fit(X, y).task_ == "numbers"
    assert (
        FeatureFilter("f", k=1, estimator=make_pipeline(StandardScaler(), Ridge())).fit(X, y).task_
        == "numbers"
    )
    many = np.arange(178) // 2
    assert FeatureFilter("f", k=1).fit(X, many).task_ == "numbers"
    assert FeatureFilter("f", k=1, estimator=KNeighborsClassifier()).fit(X, many).task_ == "classes"
    assert FeatureFilter("f", k=1).fit(X, np.array(["a", "b", "c"])[y]).classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("k", "kept"), [(1, 1), (13, 13), (0.5, 7), (0.01, 1), (1.0, 13), (3 / 26, 2), (np.int64(2), 2)]
)
def test_how_many_are_kept(k, kept):
    model = FeatureFilter("f", k=k).fit(*WINE)
    assert model.k_ == kept
    assert f"k={k:g}" in model.reason_


def test_a_share_is_rounded_half_up():
    X, y = WINE
    assert [FeatureFilter("f", k=0.5).fit(X[:, :d], y).k_ for d in (1, 2, 3, 4, 5)] == [1, 1, 2, 2, 3]
    assert FeatureFilter("f", k=0.25).fit(X[:, :5], y).reason_ == (
        "k=0.25 is a share of 5 features: 1.25, rounded half up, at least one."
    )


def test_mrmr_passes_over_copies():
    X, y = WINE
    X = np.hstack([X, X])
    for score in SCORES:
        plain, few = (FeatureFilter(score, 3, redundancy=r, random_state=0).fit(X, y) for r in (None, "mrmr"))
        assert plain.support_.sum() == few.support_.sum() == 3
        kept = np.flatnonzero(few.support_) % 13
        assert len(set(kept)) == 3
        np.testing.assert_array_equal(plain.scores_, few.scores_)


# ------------------------------------------------------------- cross-validation of K


@pytest.mark.parametrize(
    ("X", "y", "default"),
    [(*WINE, logistic()), (*NUMBERS, make_pipeline(StandardScaler(), Ridge()))],
)
def test_k_is_chosen_as_by_a_pipeline_with_the_filter_in_it(X, y, default):
    model = FeatureFilter("f").fit(X, y)
    found = model.cv_results_
    assert found["k"].tolist() == [1, 2, 3, 4, 5, 7, 10, X.shape[1]][: len(found["k"])]
    for place in (0, 2, len(found["k"]) - 1):
        pipeline = make_pipeline(FeatureFilter("f", k=int(found["k"][place])), default)
        expected = cross_val_score(pipeline, X, y, cv=5)
        np.testing.assert_allclose(found["fold_scores"][place], expected, rtol=1e-8)
    mean, error = found["mean_score"], found["standard_error"]
    np.testing.assert_allclose(mean, found["fold_scores"].mean(axis=1))
    best = int(np.argmax(mean))
    assert found["best_k"] == found["k"][best]
    assert model.k_ == found["one_standard_error_k"] == found["k"][mean >= mean[best] - error[best]].min()
    assert f"{model.k_} features validated" in model.reason_
    assert repr(model.estimator_) == repr(default)


def test_other_estimators_scorings_and_folds():
    X, y = WINE
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    estimator = KNeighborsClassifier()
    model = FeatureFilter("f", estimator=estimator, cv=cv, scoring="balanced_accuracy").fit(X, y)
    pipeline = make_pipeline(SelectKBest(f_classif, k=4), estimator)
    expected = cross_val_score(pipeline, X, y, cv=cv, scoring="balanced_accuracy")
    np.testing.assert_allclose(model.cv_results_["fold_scores"][3], expected)
    assert model.score_name_ == "balanced_accuracy"
    assert "balanced_accuracy" in model.reason_
    model = FeatureFilter("f", scoring="neg_mean_absolute_error").fit(*NUMBERS)
    assert (model.cv_results_["mean_score"] < 0).all()


def test_texts_as_labels_reach_the_scoring():
    X, y = IRIS[0][:100], np.array(["no", "yes"])[IRIS[1][:100]]
    model = FeatureFilter("f", scoring="roc_auc").fit(X, y)
    np.testing.assert_allclose(model.cv_results_["mean_score"], 1.0)
    assert model.k_ == 1


def test_random_state_decides_all():
    X, y = WINE
    X = X.round(1)
    one, two = (FeatureFilter(random_state=5, cv=2).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.cv_results_["fold_scores"], two.cv_results_["fold_scores"])


def test_golub_the_ranking_belongs_inside_of_the_folds(golub):
    """With labels that are pure chance, a ranking on all rows makes them predictable."""
    X, y = golub
    rng = np.random.default_rng(0)
    folds = StratifiedKFold(5)
    chosen = FeatureFilter("f", k=20)
    leaking, free = [], []
    for _ in range(6):
        chance = rng.permutation(y)
        leaking.append(cross_val_score(logistic(), chosen.fit_transform(X, chance), chance, cv=folds).mean())
        free.append(cross_val_score(make_pipeline(chosen, logistic()), X, chance, cv=folds).mean())
    majority = (y == 1).mean()
    assert np.mean(leaking) > 0.85 > majority
    assert np.mean(free) < majority
    # With the real labels there is something to find, and the leak shows less.
    leak = cross_val_score(logistic(), chosen.fit_transform(X, y), y, cv=folds).mean()
    real = cross_val_score(make_pipeline(chosen, logistic()), X, y, cv=folds).mean()
    assert 1.0 == leak > real > 0.9


def test_chance_stays_chance_inside_of_the_folds():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 1000)), np.repeat([0, 1], 20)
    model = FeatureFilter("f").fit(X, y)
    assert (model.cv_results_["mean_score"] < 0.75).all()
    outside = cross_val_score(logistic(), SelectKBest(f_classif, k=20).fit_transform(X, y), y)
    assert outside.mean() > 0.9


# ------------------------------------------------------------------ false discoveries


def test_fdr_is_that_of_scikit_learn():
    X, y = WINE
    X = np.hstack([X, np.random.default_rng(0).standard_normal((178, 40))])
    model, peer = FeatureFilter("f", "fdr", alpha=0.01).fit(X, y), SelectFdr(f_classif, alpha=0.01).fit(X, y)
    np.testing.assert_array_equal(model.support_, peer.get_support())
    assert model.reason_ == (
        f"{model.k_} of 53 features are significant at a false discovery rate of 0.01 "
        "(Benjamini and Hochberg)."
    )


def test_fdr_of_mutual_information():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 60)), np.repeat([0, 1], 40)
    X[:, :3] += 2 * y[:, None]
    model = FeatureFilter(k="fdr", random_state=0).fit(X, y)
    assert model.support_[:3].all()
    assert model.k_ <= 6
    assert "40 permutations of the label, pooled over alike features" in model.notes_[-1]
    assert (model.pvalues_ > 0).all()


def test_no_discovery_is_said_where_columns_are_wanted():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((40, 30)), np.repeat([0, 1], 20)
    model = FeatureFilter("f", "fdr", alpha=0.001).fit(X, y)
    assert model.k_ == 0
    assert not model.get_support().any()
    assert model.get_feature_names_out().tolist() == []
    message = "There is nothing to keep. No feature is significant at a false discovery rate of 0.001"
    with pytest.raises(DataError, match=message):
        model.transform(X)
    with pytest.raises(DataError, match="Give a larger alpha, or k as a number or 'cv'"):
        make_pipeline(model, logistic()).fit(X, y)


# ------------------------------------------------------------------ what is awkward


@pytest.fixture(params=["mutual-information", "f", "chi2", "correlation"])
def score(request):
    return request.param


@pytest.mark.parametrize("k", [1, 0.5, "cv"])
@pytest.mark.parametrize("redundancy", [None, "mrmr"])
def test_constant_and_equal_columns(score, k, redundancy):
    X, y = IRIS
    X = np.column_stack([np.zeros(150), X, X, np.full(150, 0.1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FeatureFilter(score, k, redundancy=redundancy, random_state=0, cv=2).fit(X, y)
    assert model.scores_[[0, -1]].tolist() == [0, 0]
    assert np.isfinite(model.scores_).all()
    if model.pvalues_ is not None:
        assert model.pvalues_[[0, -1]].tolist() == [1, 1]
    if redundancy is None:
        assert {model.ranking_[0], model.ranking_[-1]} == {9, 10}


@pytest.mark.parametrize("k", [1, "fdr"])
def test_all_columns_constant(score, k):
    model = FeatureFilter(score, k, random_state=0).fit(np.ones((10, 3)), np.repeat([0, 1], 5))
    assert model.scores_.tolist() == [0, 0, 0]
    assert model.ranking_.tolist() == [1, 2, 3]
    assert model.k_ == (1 if k == 1 else 0)
    assert "Kept" in model.summary()


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_changes_nothing(score, scale):
    X, y = IRIS
    plain, scaled = (FeatureFilter(score, random_state=0, cv=3).fit(x, y) for x in (X, X * scale))
    np.testing.assert_array_equal(plain.ranking_, scaled.ranking_)
    np.testing.assert_allclose(
        plain.cv_results_["fold_scores"], scaled.cv_results_["fold_scores"], rtol=1e-12
    )


def test_labels_of_any_scale():
    X, y = NUMBERS
    plain = FeatureFilter("f", cv=3).fit(X, y)
    for scale in (1e-150, 1e200):
        scaled = FeatureFilter("f", cv=3).fit(X, y * scale)
        np.testing.assert_allclose(scaled.scores_, plain.scores_, rtol=1e-9)
        np.testing.assert_allclose(
            scaled.cv_results_["mean_score"], plain.cv_results_["mean_score"], rtol=1e-9
        )


def test_float32_with_an_offset():
    X, y = IRIS
    moved = (X + 4096).astype("f4")
    assert np.array_equal(
        FeatureFilter("f", k=2).fit(moved, y).ranking_, FeatureFilter("f", k=2).fit(X, y).ranking_
    )
    model = FeatureFilter("f", cv=2).fit(moved, y)
    assert model.transform(moved).dtype == np.float32
    assert model.k_ == FeatureFilter("f", cv=2).fit(X, y).k_


def test_two_rows(score):
    X = np.array([[1.0, 5.0, 2.0], [2.0, 5.0, 2.0]])
    y = ["a", "b"]
    if score == "mutual-information":
        with pytest.raises(DataError, match="no row has a neighbour in its class"):
            FeatureFilter(k=1).fit(X + 0.5, y)
        assert FeatureFilter(k=1).fit(X, y).k_ == 1
    else:
        model = FeatureFilter(score, k=1).fit(X, y)
        assert np.isfinite(model.scores_).all()
        assert model.support_.tolist() == [True, False, False]
    with pytest.raises(DataError, match="Each of the 2 classes has one row"):
        FeatureFilter(score).fit(X, y)


def test_few_rows_with_numbers():
    X, y = NUMBERS[0][:6], NUMBERS[1][:6] + 0.5
    with pytest.raises(
        ParameterError, match="In fold 0, which trains on 3 rows: n_neighbors=3 but there are 3"
    ):
        FeatureFilter(cv=2).fit(X, y)
    assert FeatureFilter(cv=2, n_neighbors=2, random_state=0).fit(X, y).k_ >= 1
    model = FeatureFilter("f", k=1).fit(X[:2], [0.5, 1.5])
    assert model.pvalues_.tolist() == [1.0] * 10
    assert "no degree of freedom" in model.notes_[0]


def test_a_class_of_one_row(score):
    X, y = IRIS[0][:101], IRIS[1][:101]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FeatureFilter(score, random_state=0).fit(X, y)
    assert "Class 2 has a single row, which nothing can predict when it is held out." in model.notes_
    assert np.isfinite(model.cv_results_["mean_score"]).all()


# ------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"k": 14}, ParameterError, "k=14 but there are 13 features. Give a number from 1 to 13"),
        ({"score_func": "mutual"}, ParameterError, "score_func='mutual' is not known"),
        (
            {"score_func": f_classif, "k": "fdr", "redundancy": "mrmr"},
            ParameterError,
            "k='fdr' keeps every significant",
        ),
        (
            {"score_func": lambda X, y: np.ones(13), "k": "fdr"},
            ParameterError,
            "k='fdr' needs p-values, and score_func=",
        ),
        ({"cv": 1}, ParameterError, "cv=1 is not a number of folds"),
        ({"scoring": "best"}, ParameterError, "scoring='best' cannot be used"),
        ({"random_state": "x"}, ParameterError, "random_state='x' cannot start"),
        ({"estimator": Ridge, "k": "cv"}, InputTypeError, "is no estimator of scikit-learn"),
    ],
)
def test_parameters_that_cannot_be(given, error, message):
    with pytest.raises(error, match=message):
        FeatureFilter(**{"score_func": "f"} | given).fit(*WINE)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (sp.csr_matrix(WINE[0]), WINE[1], InputTypeError, "does not take sparse data"),
        (WINE[0], None, DataError, "requires y to be passed"),
        (WINE[0], np.ones(178), DataError, "same 1 class"),
        (WINE[0], WINE[1][:5], DataError, "y has 5 labels but X has 178 rows"),
        (np.where(WINE[0] > 1000, np.nan, WINE[0]), WINE[1], DataError, "NaN"),
    ],
)
def test_data_that_cannot_be(X, y, error, message):
    with pytest.raises(error, match=message):
        FeatureFilter("f").fit(X, y)


def test_what_cannot_be_validated_is_refused_before_the_ranking():
    def never(X, y):
        raise AssertionError("ranked")

    with pytest.raises(ParameterError, match="cv=1"):
        FeatureFilter(never, cv=1).fit(*WINE)


# ----------------------------------------------------------------------- there and back


def test_there_and_back():
    X, y = WINE
    model = FeatureFilter("f", 3).fit(X, y)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_array_equal(back[:, model.support_], X[:, model.support_])
    assert (back[:, ~model.support_] == 0).all()
    with pytest.raises(DataError, match="X has 4 columns, but 3 features were kept"):
        model.inverse_transform(X[:, :4])
    with pytest.raises(DataError, match="expecting 13 features"):
        model.transform(X[:, :4])
    sparse = model.transform(sp.csr_matrix(X))
    np.testing.assert_array_equal(sparse.toarray(), model.transform(X))
    with pytest.raises(InputTypeError, match="takes dense data"):
        model.inverse_transform(sparse)


def test_any_kind_of_array(array_kind):
    X, y = WINE
    model = FeatureFilter("f", 3).fit(array_kind.make(X), y)
    expected = FeatureFilter("f", 3).fit(X.astype(array_kind.dtype), y)
    np.testing.assert_array_equal(model.ranking_, expected.ranking_)
    kept = model.transform(array_kind.make(X))
    assert array_kind.same(kept)
    assert array_kind.same(model.inverse_transform(kept))


def test_frames_keep_their_names():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = FeatureFilter("f", 2).set_output(transform="pandas").fit(X, y)
    kept = model.transform(X)
    assert isinstance(kept, pd.DataFrame)
    assert kept.columns.tolist() == model.get_feature_names_out().tolist() == ["flavanoids", "proline"]
    assert kept.index.equals(X.index)


def test_files_bring_their_labels_and_names(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["a", "b", "c", "d"]
    file = Path(tmp_path / "iris.csv")
    X.assign(kind=np.array(["x", "y", "z"])[y]).to_csv(file, index=False)
    model = FeatureFilter("f", 2).fit(scan(file, label="kind"))
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert model.get_feature_names_out().tolist() == ["c", "d"]
    np.testing.assert_allclose(model.transform(scan(file, label="kind")), X[["c", "d"]])


# ------------------------------------------------------------------- in a pipeline


def test_which_principal_components_help():
    """The components of the largest variance are not those that tell the classes apart."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.standard_normal((120, 6)) * [20, 10, 5, 1, 1, 0.3]
    X[:, 3] += 3 * y
    X = X @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    pipeline = make_pipeline(PCA(6), FeatureFilter("f"), logistic()).fit(X, y)
    chosen = pipeline[1]
    names = chosen.get_feature_names_out(pipeline[0].get_feature_names_out())
    assert names[0] == "PC4"
    assert pipeline.score(X, y) > 0.9
    first = make_pipeline(PCA(1), logistic()).fit(X, y)
    assert first.score(X, y) < 0.7


def test_which_kernel_components_help():
    rng = np.random.default_rng(1)
    angle, y = rng.uniform(0, 2 * np.pi, 200), np.repeat([0, 1], 100)
    radius = 1 + y + 0.1 * rng.standard_normal(200)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    pipeline = make_pipeline(KernelPCA(8, kernel="rbf", gamma=1.0), FeatureFilter("f"), logistic()).fit(X, y)
    assert pipeline.score(X, y) > 0.95
    assert 1 <= pipeline[1].k_ < 8
    # The first two components are the position around the ring; what helps comes later.
    assert pipeline[1].ranking_[:2].min() > 1


def test_in_a_grid():
    grid = GridSearchCV(
        make_pipeline(FeatureFilter("f", 2), logistic()),
        {"featurefilter__k": [1, 5, 13], "featurefilter__redundancy": [None, "mrmr"]},
        cv=3,
    ).fit(*WINE)
    assert grid.best_score_ > 0.95


def test_digits_need_few_of_their_pixels():
    X, y = load_digits(return_X_y=True)
    model = FeatureFilter("f", estimator=KNeighborsClassifier(), cv=3).fit(X[:600], y[:600])
    assert model.k_ < 64
    assert (model.scores_[np.ptp(X[:600], axis=0) == 0] == 0).all()
