"""Products, distances and powers against loops; what counts as a number, and as rows."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.errors import DataError
from gramian.kernels.arithmetic import (
    absolute_distances,
    check_rows,
    exponential,
    is_number,
    largest_norm,
    ones,
    product,
    squared_distances,
    squared_norms,
    whole_power,
)

RNG = np.random.default_rng(2)
X, Y = RNG.standard_normal((7, 3)), RNG.standard_normal((5, 3))
KINDS = ["numpy", "torch", "array_api_strict"]


def made(kind, values):
    return np.array(values) if kind == "numpy" else pytest.importorskip(kind).asarray(np.array(values))


def test_numbers():
    for value in [1, 0, -2.5, np.float64(1), np.float32(2), np.int64(3), Fraction(1, 3), 1e308, 10**300]:
        assert is_number(value), value


def test_what_is_no_number():
    for value in [True, np.True_, "1", None, 1j, math.nan, math.inf, -math.inf, [1], np.ones(1)]:
        assert not is_number(value), value


@pytest.mark.parametrize("kind", KINDS)
def test_products_and_norms(kind):
    a, b = made(kind, X), made(kind, Y)
    np.testing.assert_allclose(np.asarray(product(a, b)), X @ Y.T, rtol=1e-13)
    np.testing.assert_allclose(np.asarray(squared_norms(a)), (X**2).sum(axis=1), rtol=1e-14)
    np.testing.assert_array_equal(np.asarray(ones(a)), np.ones(7))
    np.testing.assert_allclose(np.asarray(exponential(a + 0.0)), np.exp(X), rtol=1e-15)


def test_products_go_where_they_are_asked_to():
    out = np.empty((7, 5))
    assert product(X, Y, out) is out
    np.testing.assert_array_equal(out, X @ Y.T)


def test_distances():
    for kind in KINDS:
        for weights in [None, np.array([0.5, 2.0, 1e-3])]:
            scale = np.ones(3) if weights is None else weights
            squares = [
                [sum(w * (p - q) ** 2 for w, p, q in zip(scale, x, y, strict=True)) for y in Y] for x in X
            ]
            result = squared_distances(made(kind, X), made(kind, Y), weights)
            np.testing.assert_allclose(np.asarray(result), squares, rtol=1e-14, err_msg=repr((kind, weights)))
            absolute = [[sum(abs(p - q) for p, q in zip(x, y, strict=True)) for y in Y] for x in X]
            np.testing.assert_allclose(
                np.asarray(absolute_distances(made(kind, X), made(kind, Y))),
                absolute,
                rtol=1e-14,
                err_msg=repr((kind, weights)),
            )


def test_distances_of_many_rows_are_worked_out_a_few_at_a_time():
    torch = pytest.importorskip("torch")
    many, d = RNG.standard_normal((60, 40)), RNG.standard_normal((3000, 40))
    result = squared_distances(torch.asarray(many), torch.asarray(d))
    np.testing.assert_allclose(result.numpy(), squared_distances(many, d), rtol=1e-12)


def test_whole_powers():
    for degree in [1, 2, 3, 4, 5, 6, 7, 11, 16, 31]:
        values = X.copy()
        result = whole_power(values, degree)
        assert result is values, degree
        np.testing.assert_allclose(result, X**degree, rtol=1e-14, err_msg=repr(degree))


@settings(max_examples=30)
@given(st.integers(1, 40), st.floats(-3, 3))
def test_whole_powers_are_exact_to_the_stated_rounding(degree, base):
    exact = Fraction(base) ** degree
    result = Fraction(float(whole_power(np.array([[base]]), degree)[0, 0]))
    assert abs(result - exact) <= abs(exact) * Fraction(degree) / 2**53 + Fraction(1, 2**1000)


def test_largest_norm():
    assert largest_norm(X) == pytest.approx(np.linalg.norm(X, axis=1).max(), rel=1e-15)
    assert largest_norm(X * 1e300) == pytest.approx(np.linalg.norm(X, axis=1).max() * 1e300, rel=1e-15)
    assert largest_norm(np.zeros((2, 2))) == 0
    assert largest_norm(np.array([[np.inf, 1.0]])) == np.inf


def test_rows_of_many_kinds():
    for given_rows in (X, X.tolist(), pd.DataFrame(X)):
        np.testing.assert_array_equal(check_rows("X", given_rows), X)
    assert check_rows("X", X) is X
    single = X.astype("f4")
    assert check_rows("X", single) is single
    assert check_rows("X", np.arange(6).reshape(3, 2)).dtype.kind == "i"


def test_what_is_no_table_of_rows():
    for bad, message in [
        (np.arange(3.0), r"X has shape \(3,\), but a kernel takes rows: shape \(n, d\)"),
        (np.zeros((2, 2, 2)), r"X has shape \(2, 2, 2\)"),
        ([1.0, 2.0], r"X has shape \(2,\)"),
        (X * 1j, "complex128, which is not real numbers"),
        (np.array([["a"]]), "<U1, which is not real numbers"),
        ([["a"]], "X is not a table of numbers"),
        (sp.csr_array(X), "X is not a table of numbers"),
        (np.where(X > 1, np.nan, X), "X has NaN or infinity"),
        (np.where(X > 1, np.inf, X), "X has NaN or infinity"),
    ]:
        with pytest.raises(DataError, match=message):
            check_rows("X", bad)
