"""Kernels compared on data whose answer is known."""

import json
import re
import warnings
from functools import cache

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine, make_circles
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

from gramian import KernelPCA
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.kernels import RBF, Linear, Sigmoid
from gramian.select.choose_kernel import KernelSelection, TriedKernel, choose_kernel, spread_rows
from gramian.statistics.candidates import Choice

RINGS, RING = make_circles(100, factor=0.4, noise=0.05, random_state=0)
FEW = ("linear", "rbf(sigma=1)", "rbf(sigma=0.4)")
CRITERIA = ("preimage", "score")
LABELLED = ("score",)


def choose(X, y=None, candidates=FEW, criterion=None, **given):
    return choose_kernel(X, y, list(candidates), criterion, random_state=0, **given)


def plane(n=120, noise=0.2):
    rng = np.random.default_rng(1)
    loadings = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
    Z = rng.standard_normal((n, 2))
    return Z @ loadings + noise * rng.standard_normal((n, 6)), Z[:, 0] - Z[:, 1]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.walk
def test_on_linear_data_linear_is_not_beaten_beyond_a_standard_error(criterion):
    X, y = plane()
    choice = choose(
        X, y if criterion in LABELLED else None, ("linear", "rbf(sigma=1)", "rbf(sigma=3)"), criterion
    )
    linear, best = choice.tried[0], choice.tried[choice.choice.place]
    assert abs(best.mean - linear.mean) <= linear.standard_error


def test_the_criterion_and_the_measure_follow_the_labels():
    X, y = RINGS[:30], RING[:30]
    assert choose(X, None, ("linear",)).criterion == "preimage"
    assert choose(X, y, ("linear",)).criterion == "score"
    assert choose(X, np.where(y == 1, "in", "out"), ("linear",)).measure == "accuracy"
    assert choose(X, X[:, 0] ** 2, ("linear",)).measure == "r2"
    assert [judge(c).measure for c in CRITERIA] == ["error", "accuracy"]
    assert judge(y=CLOUD[:, 0]).measure == "r2"
    assert judge(scoring="f1").measure == "f1"
    assert judge(estimator=Ridge(), y=CLOUD[:, 0]).measure == "r2"
    assert judge(scoring=lambda *_: 1.0).measure == "<lambda>"


def test_the_model_has_the_components_that_were_promised():
    choice = choose(RINGS, RING)
    scores = choice.model.fit_transform(RINGS)
    assert scores.shape == (100, choice.n_components)
    assert LogisticRegression(C=100).fit(scores, RING).score(scores, RING) > 0.95
    assert ask("score", estimator=LogisticRegression(C=1e-9)).mean < ask("score").mean
    assert ask("score", n_components=2).size == 2
    assert ask("score", n_components=[3, 1]).size in (1, 3)
    assert ask("preimage", n_components=range(1, 3)).size == 2
    choice = choose(RINGS, RING, (KernelPCA(3, kernel="rbf"), KernelPCA(kernel="rbf")), n_components=[2, 5])
    assert choice.tried[0].size == 3
    assert choice.tried[1].size in (2, 5)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_what_is_no_kernel_stays_in_the_table_with_the_reason(criterion):
    y = RING if criterion in LABELLED else None
    choice = choose(RINGS * 3, y, ("sigmoid(gamma=2)", "chi2", "linear"), criterion)
    assert choice.best == Linear()
    assert [np.isnan(trial.mean) for trial in choice.tried] == [True, True, False]
    assert "negative" in choice.tried[0].remark or "not a valid kernel" in choice.tried[0].remark
    assert "is for histograms" in choice.tried[1].remark
    with pytest.raises(DataError, match=r"e-12\), so this is not a valid kernel on this data; 40"):
        choose(RINGS * 3, y, ("sigmoid(gamma=2)",), criterion)


def test_doubts_ties_and_notes():
    def product(a, b):
        return float(a @ b)

    mild = KernelPCA(1, kernel="sigmoid", gamma=2)
    choice = choose(RINGS[:60], RING[:60], ("linear", product, mild), "score", cv=2, n_components=1)
    remarks = [trial.remark for trial in choice.tried]
    assert remarks[:2] == ["", "It is not proven positive semidefinite."]
    assert remarks[2].startswith("It is not a valid kernel, but has no negative eigenvalues")
    assert f"- {choice.tried[2].expression}: {remarks[2]}" in str(choice).splitlines()
    for criterion in LABELLED:
        choice = choose(RINGS * 3, RING, (KernelPCA(kernel="sigmoid", gamma=2, repair="clip"),), criterion)
        assert np.isfinite(choice.tried[0].mean)
        assert choice.model.repair == "clip"
        assert choice.tried[0].remark.endswith("negative eigenvalues are set to 0.")
    choice = choose(RINGS, RING, ("rbf(sigma=0.5)", "rbf(sigma=0.45)", "rbf(sigma=0.4)"))
    assert choice.choice.place == 0
    assert choose(RINGS, None, (Linear(), Linear()), "preimage").choice.place == 0
    # Of the same object only one is marked.
    kernel = Linear()
    assert [row[4] for row in choose(RINGS[:60], RING[:60], (kernel, kernel)).rows()] == [True, False]
    labels = choose(RINGS[:60], RING[:60], ("linear",), "preimage")
    assert labels.notes[-1] == "criterion='preimage' does not use the labels."
    scored = choose(RINGS, RING, ("linear", "rbf(sigma=0.5)"))
    assert any("is optimistic" in note for note in scored.notes)
    straight = choose(np.random.default_rng(0).standard_normal((30, 3)), cv=2)
    assert any(note.startswith("No kernel removes noticeably more") for note in straight.notes)


def test_scale_and_offset_change_nothing():
    width = "rbf(sigma='median')"
    for criterion in CRITERIA:
        X, y = plane(40)
        y = y if criterion in LABELLED else None
        plain = choose(X, y, ("linear", width), criterion, **two_folds(criterion))
        for change in (
            lambda X: X * 2.0**300,
            lambda X: X * 2.0**-300,
            lambda X: (X + 100).astype(np.float32),
        ):
            other = choose(change(X), y, ("linear", width), criterion, **two_folds(criterion))
            assert other.choice.place == plain.choice.place
            assert other.n_components == plain.n_components
            for mine, its in zip(plain.tried, other.tried, strict=True):
                assert its.mean == pytest.approx(mine.mean, rel=2e-3, abs=1e-6)


def two_folds(criterion):
    return {"cv": 2} if criterion in ("preimage", "score") else {}


@pytest.mark.parametrize("labelled", [True, False])
def test_unit_scale_compares_kernels_of_standardised_columns(labelled):
    X, y = (values[::2] for values in load_wine(return_X_y=True))
    y = y if labelled else None
    scaled = choose_kernel(X, y, ["linear", "rbf(sigma='median')"], scale="unit")
    beforehand = choose_kernel(
        (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y, ["linear", "rbf(sigma='median')"]
    )
    assert [one.mean for one in scaled.tried] == pytest.approx([one.mean for one in beforehand.tried])
    assert scaled.about == f"{beforehand.about}, of standardised columns"
    assert (scaled.model.scale, beforehand.model.scale) == ("unit", None)
    assert scaled.model.fit(X).eigenvalues_[0] > 0
    with pytest.raises(ParameterError, match="scale='big'"):
        choose_kernel(X, y, scale="big")


def test_of_many_rows_some_are_looked_at_and_few_are_no_trouble():
    for criterion in CRITERIA:
        X = np.repeat(np.column_stack([RINGS[:40], np.full(40, 0.1)]), 2, axis=0)
        y = np.repeat(RING[:40], 2) if criterion in LABELLED else None
        choice = choose(X, y, criterion=criterion, **two_folds(criterion))
        assert all(np.isfinite(trial.mean) for trial in choice.tried)
    assert np.isfinite(choose(RINGS[:3], criterion="preimage", cv=3).tried[0].mean)
    with pytest.raises(DataError, match=r"cv=5 cannot split 3 rows: .*n_splits=5"):
        choose(RINGS[:3])
    for criterion, count in [("preimage", 300), ("score", 500)]:
        many = np.random.default_rng(0).standard_normal((2100, 2))
        assert rows_used(criterion, X=many, y=(many[:, 0] > 0).astype(int)) == count
        assert rows_used(criterion) == 60
    wide = np.random.default_rng(0).standard_normal((150, 20_000))
    labels = np.arange(150) % 2
    assert rows_used("score", X=wide, y=labels) == 100
    labels = (np.arange(1000) % 150).astype(str)
    many = np.random.default_rng(0).standard_normal((1000, 2))
    assert 750 <= rows_used("score", X=many, y=labels, n_components=2) <= 1000
    assert np.isfinite(ask("score", X=many, y=labels, n_components=2).mean)


@pytest.mark.walk
def test_several_kernels_at_the_same_time():
    some, kinds = RINGS[:60], RING[:60]
    alone, together = choose(some, kinds), choose(some, kinds, n_jobs=2)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        before = warnings.filters[:]
        threads = choose(some, kinds, ("rbf(sigma=1)", "linear"))
    assert warnings.filters == before
    assert threads.rows() == choose(some, kinds, ("rbf(sigma=1)", "linear")).rows()
    assert together.rows() == alone.rows()


@cache
def error_of_rings():
    return choose(RINGS, RING, FEW[2:]).rows()[0][1]


def test_arrays_of_every_kind_are_rows(array_kind):
    choice = choose(array_kind.make(RINGS), RING, FEW[2:])
    assert choice.rows()[0][1] == pytest.approx(error_of_rings(), rel=1e-5)


def test_pictures_are_rows():
    pictures = np.random.default_rng(0).standard_normal((20, 2, 2))
    assert choose(pictures).about == "Kernel for 20 rows x 4 columns, by preimage"


def test_settings_and_data_that_cannot_be():
    for X, y, given, kind, match in [
        (RINGS, None, {"criterion": "pre-image"}, ParameterError, "Did you mean 'preimage'"),
        (RINGS, None, {"criterion": "score"}, DataError, "requires y to be passed"),
        (RINGS, RING[:5], {}, DataError, "y has 5 labels but X has 100 rows"),
        (RINGS, RING[:5], {"criterion": "preimage"}, DataError, "y has 5 labels but X has 100 rows"),
        (RINGS, np.zeros(100, int), {}, DataError, "the same 1 class"),
        (RINGS, np.where(RING == 1, np.inf, 1.0), {}, DataError, "Input y contains NaN or infinity"),
        (np.where(RINGS > 1, np.nan, RINGS), None, {}, DataError, "Input X contains NaN"),
        (np.ones((20, 2)), None, {}, DataError, "The 20 rows used are all equal"),
        (RINGS[:2], None, {}, DataError, "minimum of 3 is required by choose_kernel"),
        (sparse.csr_array(RINGS), None, {}, InputTypeError, "does not support sparse data. Use X.toarray()"),
        (sparse.csr_array(RINGS), RING, {}, InputTypeError, "does not support sparse data"),
        (RINGS, None, {"n_jobs": 0}, ValueError, "n_jobs == 0 in Parallel has no meaning"),
        (
            RINGS,
            RING,
            {"estimator": LogisticRegression()} | {"criterion": "preimage"},
            ParameterError,
            "estimator",
        ),
        (RINGS, None, {"candidates": ()}, InputTypeError, "is not a list of kernels"),
    ]:
        with pytest.raises(kind, match=match):
            choose(X, y, **given)
    for criterion, given, kind, match in [
        ("preimage", {"estimator": Ridge()}, ParameterError, "estimator applies to criterion=.score. only"),
        ("preimage", {"scoring": "f1"}, ParameterError, "scoring applies to criterion=.score. only"),
        ("score", {"estimator": Ridge}, InputTypeError, "is not an estimator with fit"),
        ("score", {"scoring": "best"}, ParameterError, "scoring='best' cannot be used"),
        ("score", {"cv": 1}, ParameterError, "cv=1 must be a whole number of at least 2"),
        ("score", {"cv": True}, ParameterError, "cv=True must be a whole number"),
        ("score", {"y": [0] + [1] * 59}, DataError, "The class 0 has 1 row, fewer than the 5 folds"),
        ("preimage", {"X": CLOUD[:4]}, DataError, "cv=5 cannot split 4 rows"),
        ("score", {"n_components": 0}, ParameterError, "n_components=0 must be a whole number of at least 1"),
        ("score", {"n_components": 0.5}, ParameterError, "n_components=0.5 must be a whole number"),
        ("score", {"n_components": "all"}, ParameterError, "n_components='all' must be"),
        (
            "score",
            {"n_components": [2, 49]},
            ParameterError,
            "n_components=49 is too many: the 48 rows used for fitting",
        ),
    ]:
        with pytest.raises(kind, match=match):
            judge(criterion, **given)


CLOUD = np.random.default_rng(0).standard_normal((60, 3))
SIDE = (CLOUD[:, 0] > 0).astype(int)


def judge(criterion="score", X=CLOUD, y=SIDE, **given):
    return choose(X, y if criterion == "score" else None, ("linear",), criterion, **given)


def ask(*arguments, **given):
    return judge(*arguments, **given).tried[0]


def rows_used(*arguments, X=CLOUD, **given):
    match = re.search(r"([\d,]+) of the [\d,]+ rows were used", str(judge(*arguments, X=X, **given)))
    return int(match[1].replace(",", "")) if match else len(X)


def test_rows_are_taken_evenly_with_rare_classes_and_must_differ():
    many = np.random.default_rng(0).standard_normal((600, 2))
    splits = list(KFold(2).split(many))
    assert rows_used("preimage", X=many, cv=splits) == 600
    assert rows_used("preimage", X=many, cv=KFold(2)) == 300
    np.testing.assert_array_equal(spread_rows(7, 7), np.arange(7))
    np.testing.assert_array_equal(spread_rows(9, 5), [0, 2, 4, 6, 8])
    labels = np.tile(np.arange(10), 100)
    picked = spread_rows(1000, 100, labels)
    np.testing.assert_array_equal(np.bincount(labels[picked]), [10] * 10)
    labels = np.zeros(10_000, dtype=int)
    labels[4567:4572] = 1
    picked = spread_rows(10_000, 100, labels, least=5)
    assert np.sum(labels[picked] == 1) == 5
    assert len(picked) <= 110
    many = np.random.default_rng(0).standard_normal((10_000, 2))
    assert np.isfinite(ask("score", X=many, y=labels).mean)
    many = np.zeros((601, 2))
    many[1] = 1.0
    with pytest.raises(DataError, match="The 300 rows used are all equal, so kernels cannot be"):
        judge("preimage", X=many)


LONG = RBF(sigma=(1.25, 2.5, 3.75, 4.125, 5.0625)) + 0.5 * Linear()


def tried(kernel, value, error, number, remark=""):
    return TriedKernel(KernelPCA(kernel=kernel, preimage="ridge"), number, value, error, remark=remark)


CHOICE = KernelSelection(
    tried=(
        tried(Linear(), 0.5, 0.01, 2),
        tried(RBF(sigma=2), 0.98765, np.nan, 4),
        tried(Sigmoid(), np.nan, np.nan, None, "It is no kernel on these rows. " * 6),
        tried(LONG, 0.75, 0.125, None),
    ),
    about="Kernel for 10 rows x 2 columns, by score",
    choice=Choice(1, "rbf is the best of them."),
    notes=("First note.", "Second note."),
    criterion="score",
    measure="accuracy",
)


def test_the_best_is_ready_to_be_fitted_and_has_plain_values():
    assert CHOICE.best == RBF(sigma=2)
    model = CHOICE.model
    assert (model.n_components, model.kernel, model.preimage) == (4, RBF(sigma=2), "ridge")
    assert model.fit_transform(np.random.default_rng(0).standard_normal((10, 2))).shape == (10, 4)
    assert CHOICE.rows()[0] == ("linear()", 0.5, 0.01, 2, False, "")
    assert np.isnan(CHOICE.tried[2].mean)
    facts = json.loads(json.dumps(CHOICE.to_dict(), allow_nan=False))
    assert (facts["kernel"], facts["components"], facts["measure"]) == ("rbf(sigma=2)", 4, "accuracy")
    assert [row["best"] for row in facts["candidates"]] == [False, True, False, False]
    assert facts["candidates"][2]["value"] is None
    frame = CHOICE.to_frame()
    assert list(frame.columns) == ["accuracy", "standard_error", "components", "best", "remark"]
    assert frame.loc["linear()", "components"] == 2
    assert np.isnan(frame.loc["sigmoid()", "accuracy"])


def test_it_prints_as_a_table():
    lines = str(CHOICE).splitlines()
    assert lines[:6] == [
        "Kernel for 10 rows x 2 columns, by score",
        "",
        "   components  accuracy  ± s.e.",
        "            2    0.5000  0.0100  linear()",
        "*           4    0.9877       -  rbf(sigma=2)",
        "                      -       -  sigmoid()",
    ]
    assert lines[6] == f"                 0.7500  0.1250  {LONG!r}"
    assert "- sigmoid(): It is no kernel on these rows." in "\n".join(lines)
    assert max(map(len, lines)) <= 110
    assert lines[8] == "rbf is the best of them."
    assert lines[-2:] == ["- First note.", "- Second note."]
    assert repr(CHOICE) == str(CHOICE)
    assert CHOICE._repr_html_().startswith("<div>Kernel for")
