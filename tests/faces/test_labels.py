"""Names of people as they are given from Python."""

import numpy as np
import pytest

from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.faces.recognition import as_names


def test_names_are_text_or_numbers():
    assert as_names(("Zo\u00eb", "Ann"), 2).tolist() == ["Zo\u00eb", "Ann"]
    assert as_names(np.array(["a", "b"]), 2).tolist() == ["a", "b"]
    assert as_names(np.arange(2), 2).tolist() == ["0", "1"]
    assert as_names((name for name in "ab"), 2).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("people", "error", "message"),
    [
        (None, InputTypeError, "people is NoneType. Give one name for each vector"),
        (7, InputTypeError, "people is int"),
        ("Ann", InputTypeError, "people is the text 'Ann'"),
        (b"Ann", InputTypeError, "people is the text b'Ann'"),
        (["Ann", None], InputTypeError, r"people\[1\] is None, which is no name"),
        ([["Ann"], ["Bob"]], InputTypeError, r"people\[0\] is \['Ann'\], which is no name"),
        ([b"Ann", b"Bob"], InputTypeError, r"people\[0\] is b'Ann', which is no name"),
        (["Ann", ""], ParameterError, r"people\[1\] is empty"),
        (["Ann", "  "], ParameterError, r"people\[1\] is empty"),
        (["Ann", float("nan")], ParameterError, r"people\[1\] is NaN"),
        (["Ann"], DataError, "2 vectors but 1 people. Give one name for each vector"),
    ],
)
def test_what_is_no_name_of_each(people, error, message):
    with pytest.raises(error, match=message):
        as_names(people, 2)
