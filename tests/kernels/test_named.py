"""From what a user writes to a kernel."""

import numpy as np
import pytest

from gramian.errors import InputTypeError, ParameterError
from gramian.kernels import (
    RBF,
    Callable,
    Cosine,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    kernel_from_name,
)
from gramian.kernels.named import CLASSES, NAMES


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(degree=4, gamma=0.5, coef0=2.0)),
        ("rbf", RBF(gamma=0.5)),
        ("laplacian", Laplacian(gamma=0.5)),
        ("sigmoid", Sigmoid(gamma=0.5, coef0=2.0)),
        ("cosine", Cosine()),
    ],
)
def test_names_take_their_own_parameters(name, expected):
    assert kernel_from_name(name, gamma=0.5, degree=4, coef0=2.0) == expected


def test_defaults_are_those_of_scikit_learn():
    assert kernel_from_name("poly") == Polynomial(degree=3, gamma=None, coef0=1)
    assert kernel_from_name("rbf") == RBF(gamma=None)
    assert kernel_from_name("sigmoid") == Sigmoid(gamma=None, coef0=1)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("rfb", "rbf"), ("polynomial", "poly"), ("gaussian", "rbf"), ("Linear", "linear"), ("cosin", "cosine")],
)
def test_unknown_names_come_with_a_suggestion(wrong, meant):
    with pytest.raises(ParameterError, match=f"'{wrong}' is not known.* Did you mean '{meant}'"):
        kernel_from_name(wrong)


def test_unknown_names_list_what_is_allowed():
    with pytest.raises(ParameterError, match="Allowed: " + ", ".join(NAMES)):
        kernel_from_name("zzz")


@pytest.mark.parametrize("wrong", [3, None, 1.5, ["rbf"], np.ones(2)])
def test_what_is_no_kernel_at_all_is_a_type_error(wrong):
    with pytest.raises(InputTypeError, match=r"neither a name .* nor an object such as"):
        kernel_from_name(wrong)


def test_an_object_is_itself():
    kernel = RBF(sigma=2.0)
    assert kernel_from_name(kernel) is kernel


@pytest.mark.parametrize("extra", [{"gamma": 1.0}, {"degree": 2}, {"coef0": 0.0}])
def test_an_object_carries_its_own_parameters(extra):
    with pytest.raises(ParameterError, match="carries its own parameters"):
        kernel_from_name(RBF(sigma=2.0), **extra)


def test_a_function_takes_keyword_arguments():
    def product(x, y, factor):
        return factor * float(x @ y)

    kernel = kernel_from_name(product, params={"factor": 3.0})
    assert kernel == Callable(product, {"factor": 3.0})
    np.testing.assert_allclose(kernel.gram([[1.0, 2.0]], [[3.0, 4.0]]), [[33.0]])


def test_saved_names_are_those_of_the_classes():
    assert {cls.__name__: cls for cls in (Linear, Polynomial, RBF, Laplacian, Sigmoid, Cosine)} == CLASSES
