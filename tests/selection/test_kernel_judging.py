"""Rows, folds and settings of the criteria."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit

from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.rows import as_rows
from gramian.selection.kernel_candidates import as_candidates
from gramian.selection.kernel_judging import Settings, prepare, spread_rows
from gramian.selection.labels import as_labelled

X = np.random.default_rng(0).standard_normal((60, 3))
y = (X[:, 0] > 0).astype(int)


def judge(criterion="score", X=X, y=y, kernels=("linear",), **given):
    rows = as_rows(X)
    labelled = as_labelled(X, y, estimator="test") if criterion in ("score", "alignment") else None
    settings = {"estimator": None, "cv": 5, "n_components": None, "scoring": None, "random_state": 0} | given
    return prepare(Settings(criterion, **settings), rows, labelled, as_candidates(list(kernels), rows))


def ask(*arguments, kernels=("linear",), X=X, **given):
    one = as_candidates(list(kernels), as_rows(X))[0]
    return judge(*arguments, kernels=kernels, X=X, **given).ask(one)


@pytest.mark.parametrize("criterion", ["preimage", "parallel", "alignment", "score"])
def test_the_same_seed_gives_the_same_judgement(criterion):
    assert ask(criterion) == ask(criterion)


def test_what_values_are_called():
    assert [judge(c).measure for c in ("preimage", "parallel", "alignment", "score")] == [
        "error",
        "energy",
        "alignment",
        "accuracy",
    ]
    assert judge(y=X[:, 0]).measure == "r2"
    assert judge(scoring="f1").measure == "f1"
    assert judge(estimator=Ridge(), y=X[:, 0]).measure == "r2"
    assert judge(scoring=lambda *_: 1.0).measure == "<lambda>"


@pytest.mark.parametrize(
    ("criterion", "count"), [("preimage", 300), ("parallel", 400), ("score", 500), ("alignment", 2000)]
)
def test_of_many_rows_some_are_looked_at(criterion, count):
    many = np.random.default_rng(0).standard_normal((2100, 2))
    assert judge(criterion, X=many, y=(many[:, 0] > 0).astype(int)).rows == count
    assert judge(criterion).rows == 60


def test_of_many_columns_fewer_rows_are_looked_at():
    wide = np.random.default_rng(0).standard_normal((150, 20_000))
    labels = np.arange(150) % 2
    assert judge("parallel", X=wide).rows == 100
    assert judge("alignment", X=wide, y=labels).rows == 150


def test_of_many_classes_more_rows_are_looked_at():
    labels = (np.arange(1000) % 150).astype(str)
    many = np.random.default_rng(0).standard_normal((1000, 2))
    found = judge("score", X=many, y=labels)
    assert 750 <= found.rows <= 1000
    assert np.isfinite(ask("score", X=many, y=labels, n_components=2).value)


def test_splits_given_as_numbers_of_rows_are_about_all_of_them():
    many = np.random.default_rng(0).standard_normal((600, 2))
    splits = list(KFold(2).split(many))
    assert judge("preimage", X=many, cv=splits).rows == 600
    assert judge("preimage", X=many, cv=KFold(2)).rows == 300


def test_one_split_has_no_standard_error():
    assert ask("score", cv=ShuffleSplit(1, random_state=0)).standard_error is None


def test_rows_are_taken_evenly():
    np.testing.assert_array_equal(spread_rows(7, 7), np.arange(7))
    np.testing.assert_array_equal(spread_rows(9, 5), [0, 2, 4, 6, 8])
    labels = np.tile(np.arange(10), 100)
    picked = spread_rows(1000, 100, labels)
    np.testing.assert_array_equal(np.bincount(labels[picked]), [10] * 10)


def test_rare_classes_are_kept():
    labels = np.zeros(10_000, dtype=int)
    labels[4567:4572] = 1
    picked = spread_rows(10_000, 100, labels, least=5)
    assert np.sum(labels[picked] == 1) == 5
    assert len(picked) <= 110
    many = np.random.default_rng(0).standard_normal((10_000, 2))
    assert np.isfinite(ask("score", X=many, y=labels).value)


def test_numbers_of_components():
    assert ask("score", n_components=2).n_components == 2
    assert ask("score", n_components=[3, 1]).n_components in (1, 3)
    assert ask("preimage", n_components=range(1, 3)).n_components == 2
    assert ask("alignment", n_components=np.int64(2)).n_components == 2
    assert ask("alignment").n_components is None


@pytest.mark.parametrize(
    ("criterion", "given", "kind", "match"),
    [
        ("preimage", {"estimator": Ridge()}, ParameterError, "estimator belongs to criterion='score'"),
        ("parallel", {"scoring": "f1"}, ParameterError, "scoring belongs to criterion='score'"),
        ("parallel", {"cv": 3}, ParameterError, "holds no rows out, so that cv=3 has no meaning"),
        ("alignment", {"cv": KFold(5)}, ParameterError, "holds no rows out"),
        ("parallel", {"n_components": 2}, ParameterError, "finds the number of components itself"),
        (
            "alignment",
            {"n_components": [2, 3]},
            ParameterError,
            r"does not choose between n_components=\[2, 3\]",
        ),
        ("parallel", {"X": X[:, :1]}, DataError, "permutes columns against each other, and X has one"),
        ("score", {"estimator": Ridge}, InputTypeError, "is no estimator of scikit-learn"),
        ("score", {"scoring": "best"}, ParameterError, "scoring='best' cannot be used"),
        ("score", {"cv": 1}, ParameterError, "cv=1 is no number of folds"),
        ("score", {"cv": True}, ParameterError, "cv=True is no number of folds"),
        ("score", {"y": [0] + [1] * 59}, DataError, "The class 0 has 1 row, fewer than the 5 folds"),
        ("preimage", {"X": X[:4]}, DataError, "cv=5 but there are 4 rows: every fold needs one"),
        ("score", {"n_components": 0}, ParameterError, "n_components=0 must be a number of at least 1"),
        ("score", {"n_components": 0.5}, ParameterError, "n_components=0.5 must be a number of at least 1"),
        ("score", {"n_components": []}, ParameterError, r"n_components=\[\] must be"),
        ("score", {"n_components": "all"}, ParameterError, "n_components='all' must be"),
        (
            "score",
            {"n_components": [2, 49]},
            ParameterError,
            "n_components=49 but only 48 rows are left to fit",
        ),
    ],
)
def test_what_is_wrong_is_said(criterion, given, kind, match):
    with pytest.raises(kind, match=match):
        judge(criterion, **given)


def test_rows_that_are_looked_at_must_differ():
    many = np.zeros((601, 2))
    many[1] = 1.0
    with pytest.raises(DataError, match="The 300 rows looked at are all equal"):
        judge("preimage", X=many)


def test_an_estimator_of_ones_own():
    assert ask("score", estimator=LogisticRegression(C=1e-9)).value < ask("score").value
