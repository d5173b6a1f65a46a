"""Values to JSON and back; whole models are in test_saving.py."""

import json

import numpy as np
import pytest

from gramian.base.encoding import decode, encode
from gramian.errors import ParameterError
from gramian.kernel_pca import estimator  # noqa: F401
from gramian.kernels import kernel_from_name
from gramian.records import Repair, Target
from refusals import refused

VALUES = {
    "none": None,
    "flag": True,
    "number": 0.1,
    "text": "rbf",
    "dtype": np.dtype("float32"),
    "tuple": (1, ("a", 2.5)),
    "slice": slice(1, None, 2),
    "map": {"a": 1, "b": (2,)},
    "record": Repair(1, 10, -0.5, 0.5, 3.0, 0.1),
    "nested": Target(fraction=0.5),
    "kernel": kernel_from_name("(rbf(sigma=(1, 2)) + 0.5 * linear.on(0)).after(log1p) ** 2"),
    "function": np.log1p,
    "absolute": np.abs,
}


def test_back_and_forth_through_text():
    arrays = {}
    header = json.loads(json.dumps(encode(VALUES, "parameters", arrays)))
    assert decode(header, arrays) == VALUES
    assert not arrays


def test_arrays_leave_a_reference():
    arrays = {}
    made = encode({"mean": np.arange(3.0), "inner": {"a": np.eye(2)}}, "state", arrays)
    assert set(arrays) == {"state.mean", "state.inner.a"}
    back = decode(json.loads(json.dumps(made)), arrays)
    np.testing.assert_array_equal(back["mean"], np.arange(3.0))
    np.testing.assert_array_equal(back["inner"]["a"], np.eye(2))


def test_names_stay_an_array_of_text():
    back = decode(encode({"names": np.array(["a", "b"], dtype=object)}, "state", {}), {})
    assert back["names"].dtype == object
    assert back["names"].tolist() == ["a", "b"]


def test_functions_stay_outside():
    for value in [len, lambda x: x, np.sin]:
        with refused(ParameterError, "kernel"):
            encode({"kernel": value}, "parameters", {})


def test_what_was_not_written_is_a_value_error():
    for value in [{"record": "Secret", "fields": {}}, {"kernel": "Secret"}, {"array": "x"}]:
        with pytest.raises(ValueError, match=r"^a: '(Secret|x)'"):
            decode({"a": value}, {})
