"""What a gallery says about itself."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from gramian import ParameterError
from gramian.faces.recognition import Recogniser
from gramian.faces.settings import SETTINGS, check_settings, described, settings_text


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
