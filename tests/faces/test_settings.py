"""What a gallery says about itself."""

import json
import sqlite3
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from gramian import DataError, InputTypeError, ParameterError
from gramian.faces import FaceSpace
from gramian.faces.gallery.records import (
    SETTINGS,
    check_model,
    check_settings,
    described,
    is_time,
    now,
    read_settings,
    read_text,
    settings_text,
)
from gramian.faces.recognition import Recogniser


def test_a_model_is_described_by_what_its_vectors_depend_on():
    model = SimpleNamespace(
        fingerprint_="ab" * 32,
        n_components_=np.int64(2),
        eigenvalues_=np.array([2.5, 1]),
        shift_covariance_=np.eye(2) / 4,
    )
    meta = described(model, {"distance": "cosine"})
    assert meta["fingerprint"] == "ab" * 32
    assert meta["components"] == 2
    assert type(meta["components"]) is int
    assert meta["variances"] == np.array([2.5, 1], dtype="<f8").tobytes()
    assert meta["shifts"] == np.array([0.25, 0, 0, 0.25], dtype="<f4").tobytes()
    assert json.loads(meta["settings"]) == {"distance": "cosine"}
    model.shift_covariance_ = None
    assert described(model, {})["shifts"] == b""
    model.eigenvalues_ = np.array([2.5, -1e-17])
    assert described(model, {})["variances"] == np.array([2.5, 0], dtype="<f8").tobytes()
    for value in (1e300, np.nan, np.inf):
        model.eigenvalues_ = np.array([value, 1.0])
        with pytest.raises(DataError, match=r"variances go up to .* too large for float32\. Divide the pict"):
            described(model, {})


def test_settings_that_are_none_are_not_stored():
    assert settings_text(dict.fromkeys(SETTINGS)) == "{}"
    assert json.loads(settings_text({"far": 0.01, "discriminant": False})) == {
        "far": 0.01,
        "discriminant": False,
    }


def test_another_setting_is_refused():
    with pytest.raises(ParameterError, match=r"distanz is no setting of a gallery.*Did you mean distance\?"):
        check_settings({"distanz": "cosine"})
    with pytest.raises(ParameterError, match="There are distance, discriminant, match, far, n_components"):
        check_settings({"colour": 1})


@pytest.mark.parametrize(
    ("setting", "match"),
    [
        ({"distance": "cosinus"}, r"distance='cosinus' is not known.*Did you mean 'cosine'\?"),
        ({"match": 1}, r"match=1 is not known. Allowed: 'nearest', 'mean'"),
        ({"far": 2}, r"far=2 is not a share of strangers above 0 and below 1"),
        ({"discriminant": "yes"}, r"discriminant='yes' is not known. Give True, False or 'auto'"),
        ({"n_components": 0}, r"n_components=0 is not a whole number of at least 1"),
        ({"n_components": True}, r"n_components=True is not a whole number"),
        ({"n_components": 2.0}, r"n_components=2.0 is not a whole number"),
        ({"far": "0.1"}, r"far='0.1' is not a share of strangers"),
        ({"far": True}, r"far=True is not a share of strangers"),
        ({"far": [0.1]}, r"far=\[0.1\] is not a share of strangers"),
    ],
)
def test_values_that_no_recogniser_takes(setting, match):
    with pytest.raises(ParameterError, match=match):
        settings_text(setting)


def test_values_that_one_takes():
    given = {
        "distance": "mahalanobis",
        "match": "mean",
        "far": 0.5,
        "discriminant": "auto",
        "n_components": 3,
    }
    assert json.loads(settings_text(given)) == given
    assert {name: getattr(Recogniser(**given), name) for name in SETTINGS} == given


def test_numbers_of_numpy_are_stored_as_they_are():
    given = {"far": np.float32(0.25), "n_components": np.int64(3), "discriminant": np.bool_(True)}
    assert settings_text(given) == '{"discriminant": true, "far": 0.25, "n_components": 3}'
    assert (
        settings_text({"far": np.float64(0.25), "match": np.str_("mean")}) == '{"far": 0.25, "match": "mean"}'
    )


def test_no_more_components_than_a_vector_has():
    check_settings({"n_components": 3}, 3)
    with pytest.raises(ParameterError, match=r"n_components=4 but vectors have 3 components. Give a number"):
        settings_text({"n_components": 4}, 3)


def test_what_was_stored_is_read():
    given = {"far": 0.25, "n_components": 3, "discriminant": True}
    assert read_text(settings_text(given), 3) == given


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (None, "missing or malformed"),
        (b"{}", "missing or malformed"),
        ("[1]", "missing or malformed"),
        ("[" * 500 + "]" * 500, "missing or malformed"),
        ('{"far": ' + " " * 1000 + "0.5}", "missing or malformed"),
        ('{"far": NaN}', "not what can be chosen: far=nan is not a share of strangers above 0 and below 1$"),
        ('{"evil": 1}', "not what can be chosen: evil is no setting of a gallery$"),
        ('{"match": []}', r"not what can be chosen: match=\[\] is not known$"),
        ('{"n_components": 4}', "not what can be chosen: n_components=4 but vectors have 3 components$"),
    ],
)
def test_settings_that_nobody_can_have_stored(text, match):
    with pytest.raises(ValueError, match=match):
        read_text(text, 3)


@pytest.mark.parametrize("value", ["'{'", "'17'", "x'ff'", "NULL"])
def test_damaged_settings_are_found(value):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE meta (key, value)")
    with pytest.raises(sqlite3.DatabaseError, match="its settings are missing or malformed"):
        read_settings(connection)
    connection.execute(f"INSERT INTO meta VALUES ('settings', {value})")
    with pytest.raises(sqlite3.DatabaseError, match="its settings are missing or malformed"):
        read_settings(connection)
    connection.execute("UPDATE meta SET value = '{}'")
    assert read_settings(connection) == {}
    connection.close()


def test_a_time_to_the_second():
    assert is_time(now())
    for other in (
        "2026-01-02T03:04:05",
        "2026-01-02T03:04:05+00:00\n",
        "\u0662026-01-02T03:04:05+00:00",
        5,
        b"",
    ):
        assert not is_time(other)


def test_what_is_no_fitted_model():
    check_model(SimpleNamespace(fingerprint_="ab" * 32))
    for use in (check_model, lambda model: described(model, {})):
        with pytest.raises(NotFittedError, match="This FaceSpace instance is not fitted yet"):
            use(FaceSpace(3))
        with pytest.raises(InputTypeError, match=r"The model is NoneType\. Give a fitted FaceSpace"):
            use(None)
        with pytest.raises(InputTypeError, match=r"The model is str\. Give a fitted FaceSpace"):
            use("m.gramian")
