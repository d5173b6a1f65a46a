"""Parameters are checked in one place, with messages that say what to do."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from gramian.base.inputs import (
    check_ddof,
    check_features,
    check_scale,
    check_target,
    check_tol,
    expected_columns,
    generators,
    store_features,
)
from gramian.data import as_rows
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.records import Target
from refusals import refused


def test_targets():
    for value, target in [
        (None, Target()),
        (3, Target(count=3)),
        (np.int32(3), Target(count=3)),
        (0.25, Target(fraction=0.25)),
        (np.float32(0.25), Target(fraction=0.25)),
        (Fraction(1, 4), Target(fraction=0.25)),
    ]:
        assert check_target(value, 9, (20, 9)) == target


def test_no_targets():
    for value in [
        10,
        0,
        1.0,
        -0.5,
        np.nan,
        np.bool_(True),
        "3",
        np.array([3]),
        {},
    ]:
        with refused(ParameterError, "n_components"):
            check_target(value, 9, (20, 9), of="things")


def test_tolerances():
    assert check_tol(None, np.dtype("f8")) == 1e-6
    assert check_tol(None, np.dtype("f4")) == 1e-5
    assert check_tol(np.float32(0.5), np.dtype("f4")) == 0.5
    for value in (0, 1, -1e-3, np.nan, "1e-3", True, [1e-3]):
        with refused(ParameterError, "tol"):
            check_tol(value, np.dtype("f8"))


def test_ddof():
    assert check_ddof(0, 5) == 0
    assert check_ddof(np.int64(4), 5) == 4
    for value in (5, -1, 1.0, True, None, "1"):
        with refused(ParameterError, "ddof"):
            check_ddof(value, 5)


def test_scales():
    rows = as_rows(np.eye(3))
    assert check_scale(None, rows) is None
    assert check_scale("unit", rows) == "unit"
    given = check_scale((1, 2, 3), rows)
    assert given.dtype == np.float64
    assert given.tolist() == [1, 2, 3]
    for value in ([1, 2], [[1, 2, 3]], 2.0, [1, 0, 2], [1, -1, 2], [1, np.inf, 2], [1, np.nan, 2]):
        with refused(ParameterError, "scale"):
            check_scale(value, rows)
    for value in (["a", "b", "c"], {"a": 1}, [1j, 2, 3]):
        with refused(ParameterError, "scale"):
            check_scale(value, rows)


def test_generators_are_two_and_reproducible():
    draws = [[g.standard_normal() for g in generators(state)] for state in (7, 7, 8)]
    assert draws[0] == draws[1] != draws[2]
    assert draws[0][0] != draws[0][1]
    for make in (np.random.RandomState, np.random.default_rng):
        first, second = ([g.standard_normal() for g in generators(make(3))] for _ in range(2))
        assert first == second
    state = np.random.default_rng(0)
    assert generators(state)[0].random() != generators(state)[0].random()
    assert generators(None)[0].random() != generators(None)[0].random()
    assert [g.random() for g in generators(5, 3)][:2] == [g.random() for g in generators(5)]
    for value in ("x", -1, 1.5):
        with refused(ParameterError, "random_state"):
            generators(value)


class Model(BaseEstimator):
    pass


def test_features_are_remembered_and_checked():
    frame = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]})
    model = Model()
    store_features(model, frame, as_rows(frame))
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["a", "b"]
    check_features(model, frame, as_rows(frame))
    other = frame.rename(columns={"b": "c"})
    with pytest.raises(DataError, match=r"unseen at fit time:\n- c\n"):
        check_features(model, other, as_rows(other))
    turned = frame[["b", "a"]]
    with pytest.raises(
        DataError, match=r"should match those that were passed(.|\n)*X\[model\.feature_names_in_\]\.$"
    ):
        check_features(model, turned, as_rows(turned))
    check_features(model, turned[model.feature_names_in_], as_rows(turned[model.feature_names_in_]))
    plain = frame.to_numpy()
    store_features(model, plain, as_rows(plain))
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(DataError, match="X has 1 features, but Model is expecting 2 features"):
        check_features(model, plain[:, :1], as_rows(plain[:, :1]))


def test_mixed_names_are_a_type_error():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", 1])
    with pytest.raises(InputTypeError, match="Feature names are only supported if all"):
        store_features(Model(), frame, as_rows(frame))


def test_features_of_files(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,5\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n3,5\n")
    model = Model()
    first = as_rows(tmp_path / "a.csv")
    store_features(model, tmp_path / "a.csv", first)
    assert model.feature_names_in_.tolist() == ["x", "y"]
    check_features(model, tmp_path / "a.csv", first)
    with refused(DataError):
        as_rows(tmp_path / "b.csv", expected=expected_columns(model))
