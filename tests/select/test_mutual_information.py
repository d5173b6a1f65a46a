import math
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from gramian.errors import DataError, MissingExtraError
from gramian.select.mutual_information import mutual_information
from gramian.tables.scan import scan

TABLES = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}


def test_classes_numbers_and_equal_values_have_the_values_of_scikit_learn():
    for dtype, seed, name in product([np.float64, np.float32], [0], TABLES):
        X, y = TABLES[name](return_X_y=True)
        X = X.astype(dtype)
        result = mutual_information(X, y, discrete=False, random_state=seed)
        np.testing.assert_allclose(result, mutual_info_classif(X, y, random_state=seed), atol=1e-6)
    for k in [1, 3, 8]:
        X, y = load_diabetes(return_X_y=True)
        result = mutual_information(X, y, discrete=[1], discrete_target=False, n_neighbors=k, random_state=0)
        mask = np.arange(10) == 1
        expected = mutual_info_regression(X, y, discrete_features=mask, n_neighbors=k, random_state=0)
        np.testing.assert_allclose(result, expected, atol=1e-6)
        assert result.discrete.tolist() == mask.tolist()
    X = np.random.default_rng(0).standard_normal((50, 40)).round(1)
    for y, peer in ((X[:, 0] > 0, mutual_info_classif), (X[:, 0] + X[:, 1] / 3, mutual_info_regression)):
        result = mutual_information(X, y, random_state=5)
        np.testing.assert_allclose(result, peer(X, y, random_state=5), atol=1e-6)


def test_kinds_are_found_by_the_values_and_labels_may_be_text():
    n = 100
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 20, n), rng.integers(0, 90, n), rng.standard_normal(n)])
    result = mutual_information(X, X[:, 0] > 9)
    assert result.discrete.tolist() == [True, False, False]
    named = mutual_information(X, X[:, 0] > 9, discrete=["x2"])
    assert named.discrete.tolist() == [False, False, True]
    assert mutual_information(X, X[:, 0] > 9, discrete=True).discrete.all()
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for labels in (names, names.tolist(), names.astype(object), y == 0):
        result = mutual_information(X, labels, random_state=0)
        codes = np.unique(labels, return_inverse=True)[1]
        assert np.array_equal(result, mutual_information(X, codes, random_state=0))


def test_the_ranking_is_printed():
    X, y = load_iris(return_X_y=True, as_frame=True)
    result = mutual_information(X, y, random_state=0)
    lines = str(result).splitlines()
    assert lines[0].split() == ["feature", "nats"]
    assert lines[1].startswith(result.feature_names[result.ranking[0]])
    assert len(result) == 4
    assert list(result) == result.values.tolist()
    assert result[result.ranking[0]] == max(result)
    wide = mutual_information(np.random.default_rng(0).standard_normal((20, 33)), y[:100:5])
    assert "... and 3 more" in str(wide)


def test_scale_offsets_duplicates_and_small_classes():
    X = np.random.default_rng(0).standard_normal((13, 1))
    labels = ["a"] * 7 + ["b"] * 3 + ["c", "c", "d"]
    notes = mutual_information(X, labels, random_state=0).notes
    assert "Classes with a single row were left out: 'd'." in notes
    assert "Classes with at most 3 rows use fewer than n_neighbors=3 neighbours: 'b', 'c'." in notes
    X, y = load_iris(return_X_y=True)
    many, all_others = (
        mutual_information(X, y, discrete=False, n_neighbors=k, random_state=0) for k in (500, 49)
    )
    assert np.array_equal(many, all_others)
    assert "Classes with at most 500 rows" in many.notes[0]
    for factor in [1e-95, 1e95]:
        X, y = load_iris(return_X_y=True)
        result = mutual_information(X * factor, y, discrete=False, random_state=0)
        np.testing.assert_allclose(
            result, mutual_information(X, y, discrete=False, random_state=0), atol=1e-12
        )
    X, y = load_iris(return_X_y=True)
    far = (X + 1e4).astype(np.float32)
    np.testing.assert_allclose(
        mutual_information(far, y, discrete=False, random_state=0),
        mutual_information(X, y, discrete=False, random_state=0),
        atol=0.03,
    )
    X = np.column_stack([np.ones(30), np.full(30, 0.1), np.arange(30.0)])
    result = mutual_information(X, np.arange(30) > 14, discrete=False, random_state=0)
    assert result.values[:2].tolist() == [0.0, 0.0]
    X, y = load_iris(return_X_y=True)
    twice = mutual_information(np.vstack([X, X]), np.concatenate([y, y]), random_state=0)
    assert np.isfinite(twice.values).all()
    assert twice.values[2] == pytest.approx(mutual_information(X, y, random_state=0).values[2], abs=0.2)


def test_a_frame_of_the_ranking_needs_pandas(monkeypatch):
    pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    frame = mutual_information(X, y, random_state=0).to_frame()
    assert list(frame.columns) == ["feature", "nats", "kind"]
    assert frame["nats"].is_monotonic_decreasing
    result = mutual_information([[0], [1]], [0, 1])
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"A data frame needs pandas, which is not installed\."):
        result.to_frame()


def test_a_file_brings_its_labels(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,kind\n1.5,0,x\n2.5,1,y\n1.25,0,x\n2.25,1,y\n", encoding="utf-8")
    result = mutual_information(scan(path, label="kind"), random_state=0, n_neighbors=1)
    assert result.feature_names == ("a", "b")
    assert result.values[1] == pytest.approx(math.log(2))


def test_parameters_out_of_range_and_labels_that_never_repeat_are_refused():
    for options, match in [
        ({"n_neighbors": 0}, r"n_neighbors=0 must be a whole number of at least 1"),
        ({"n_neighbors": True}, r"n_neighbors=True must be a whole number"),
        ({"discrete": "some"}, r"discrete='some' does not fit 4 features"),
        ({"discrete": [7]}, r"discrete=\[7\] does not fit"),
        ({"discrete": [True]}, r"discrete=\[True\] does not fit"),
        ({"discrete": ["petal"]}, r"does not fit 4 features"),
        ({"discrete_target": "maybe"}, r"'maybe' is not known. Give True, False"),
        ({"random_state": "x"}, r"'x' cannot be used to seed a numpy.random.RandomState instance"),
        ({"discrete_target": False, "n_neighbors": 150}, r"n_neighbors=150 but there are 150 rows"),
    ]:
        X, y = load_iris(return_X_y=True)
        with pytest.raises(ValueError, match=match):
            mutual_information(X, y, **options)
    with pytest.raises(DataError, match="All 5 labels are different, so no row has a neighbour in"):
        mutual_information(np.eye(5) / 3, list("abcde"), discrete=False)
