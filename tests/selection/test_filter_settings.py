"""Parameters of the filter: every one that cannot be, with its message."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import InputTypeError, ParameterError
from gramian.selection.filter_settings import (
    check_settings,
    default_estimator,
    kind_of_label,
    near_one,
    number_of_features,
)

GIVEN = {"score_func": "f", "k": "cv", "estimator": None, "redundancy": None, "n_neighbors": 3, "alpha": 0.05}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"score_func": "F"},
            ParameterError,
            "score_func='F' is not known. Allowed: 'mutual-information', 'f'",
        ),
        ({"score_func": 3}, ParameterError, "score_func=3 is not known"),
        ({"score_func": "corelation"}, ParameterError, "Did you mean 'correlation'"),
        ({"redundancy": "mRMR"}, ParameterError, "redundancy='mRMR' is not known. Allowed: 'mrmr'"),
        ({"n_neighbors": 0}, ParameterError, "n_neighbors=0 must be a whole number from 1"),
        ({"n_neighbors": 2.0}, ParameterError, "n_neighbors=2.0 must be a whole number"),
        ({"n_neighbors": True}, ParameterError, "n_neighbors=True must be a whole number"),
        (
            {"alpha": 0},
            ParameterError,
            "alpha=0 is not a false discovery rate. Give a number between 0 and 1",
        ),
        ({"alpha": 1.0}, ParameterError, "alpha=1.0 is not a false discovery rate"),
        ({"alpha": "0.1"}, ParameterError, "alpha='0.1' is not a false discovery rate"),
        ({"k": "fdr", "redundancy": "mrmr"}, ParameterError, "Leave one of them out"),
        ({"estimator": "ridge"}, InputTypeError, "estimator='ridge' is no estimator of scikit-learn"),
        ({"estimator": LogisticRegression}, InputTypeError, "Give one, such as LogisticRegression"),
    ],
)
def test_what_cannot_be(given, error, message):
    with pytest.raises(error, match=message):
        check_settings(SimpleNamespace(**GIVEN | given))


def test_what_can_be():
    check_settings(SimpleNamespace(**GIVEN))
    check_settings(
        SimpleNamespace(**GIVEN | {"score_func": max, "k": np.arange(3), "n_neighbors": np.int64(4)})
    )
    check_settings(SimpleNamespace(**GIVEN | {"k": "fdr", "alpha": np.float32(0.1), "estimator": Ridge()}))


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "k=0 but there are 9 features. Give a number from 1 to 9, a share such as 0.1, 'cv' or 'fdr'"),
        (-1, "k=-1 but there are 9"),
        (10, "k=10 but there are 9"),
        (0.0, "k=0.0 is not a share"),
        (1.5, "k=1.5 is not a share"),
        (float("nan"), "k=nan is not a share"),
        (True, "k=True is not a number of features"),
        (None, "k=None is not a number of features"),
        ([1, 2], r"k=\[1, 2\] is not a number of features"),
        ("all", "k='all' is not known. Allowed: 'cv', 'fdr'"),
    ],
)
def test_numbers_that_cannot_be(k, message):
    with pytest.raises(ParameterError, match=message):
        number_of_features(k, 9)


def test_numbers_and_shares():
    assert [number_of_features(k, 9) for k in (1, 9, np.int32(4), 0.5, 0.05, 1.0, np.float64(0.28))] == [
        *(1, 9, 4, 5, 1, 9, 3)
    ]
    assert number_of_features("cv", 9) is number_of_features("fdr", 9) is None


def test_the_kind_of_label():
    assert kind_of_label(LogisticRegression()) is True
    assert kind_of_label(make_pipeline(StandardScaler(), LogisticRegression())) is True
    assert kind_of_label(Ridge()) is False
    assert kind_of_label(KMeans()) == kind_of_label(None) == "auto"


def test_defaults_standardise():
    for discrete, last in ((True, LogisticRegression), (False, Ridge)):
        steps = [type(step) for _, step in default_estimator(discrete).steps]
        assert steps == [StandardScaler, last]


def test_near_one_rounds_nothing():
    X = np.random.default_rng(0).standard_normal((5, 4)) * [1e-300, 1e300, 1, 0]
    near = near_one(X)
    assert (np.abs(near[:, :3]).max(axis=0) < 1).all()
    assert (np.abs(near[:, :3]).max(axis=0) >= 0.5).all()
    for j in range(3):
        factor = X[0, j] / near[0, j]
        assert np.frexp(factor)[0] == 0.5
        np.testing.assert_array_equal(near[:, j] * factor, X[:, j])
    assert near_one(np.ones((2, 2), "f4")).dtype == np.float64
