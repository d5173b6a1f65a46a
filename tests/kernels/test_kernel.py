"""What every kernel object offers: parameters, comparison, copies, and the rows that it takes."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from exact_kernels import expressions
from gramian.errors import DataError, ParameterError
from gramian.kernels import (
    RBF,
    ChiSquared,
    Constant,
    Cosine,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Power,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
)
from gramian.kernels.facts import Facts, proven

X = np.random.default_rng(3).standard_normal((12, 4))
KERNELS = [
    Linear(),
    Cosine(),
    RBF(),
    RBF(sigma=2.0),
    RBF(gamma=0.5),
    RBF(sigma=(1.0, 2.0, 0.5, 3.0)),
    Laplacian(gamma=0.1),
    Polynomial(degree=2, gamma=0.3, coef0=0.0),
    Matern(0.7, 2.5),
    RationalQuadratic(0.5, 2.0),
    Sigmoid(gamma=0.1, coef0=0.5),
    Constant(2.0),
    RBF() + Linear(),
    RBF() * Linear(),
    2 * RBF(),
    RBF() ** 2,
    RBF().exp(),
    Linear().normalized(),
    RBF().on(0, 2),
]


@pytest.fixture(params=KERNELS, ids=repr)
def kernel(request):
    return copy.deepcopy(request.param)


def test_parameters_are_stored_untouched_printed_and_resolved():
    for made, text in [
        (Linear(), "linear()"),
        (RBF(sigma=2.0), "rbf(sigma=2.0)"),
        (RBF(sigma=2), "rbf(sigma=2)"),
        (RBF(sigma=[1.0, 2]), "rbf(sigma=(1.0, 2))"),
        (RBF(sigma=np.array([1.5])), "rbf(sigma=(1.5,))"),
        (RBF(sigma=np.float64(2)), "rbf(sigma=2.0)"),
        (RBF(gamma="median"), "rbf(gamma='median')"),
        (Polynomial(2), "poly(degree=2)"),
        (Polynomial(3, None, 1.0), "poly()"),
        (Polynomial(coef0=np.int64(2)), "poly(coef0=2)"),
        (Matern(nu=1.5), "matern()"),
    ]:
        assert repr(made) == text, (made, text)
    marker = object()
    assert RBF(sigma=marker).sigma is marker
    assert Polynomial(degree=marker).degree is marker
    assert Sigmoid(gamma=marker).gamma is marker
    assert Sum(marker, 3).left is marker
    assert (2 * RBF()).factor == 2
    assert isinstance((2 * RBF()).factor, int)
    for made in (RBF(sigma="x"), Matern(nu=2), Polynomial(degree=None), Laplacian(gamma=[1.0])):
        assert str(made)
        assert repr(made)
    for kind in (RBF, Laplacian, Polynomial, Sigmoid):
        assert kind().resolve(X).gamma == 0.25
        assert kind().gamma is None
        assert kind(gamma=3.0).resolve(X).gamma == 3.0


NO_NUMBERS = (float("nan"), float("inf"), "1", True, [1.0], 1j)
NO_WIDTHS = (0.0, -2.0, float("nan"), "wide", False, (), (1, -1), (1, "a"), ((1, 2), (3,)), np.ones((2, 2)))
NO_MULTIPLE = (0, 0.0, -1.0, *NO_NUMBERS)
NOT_FINITE = (None, *NO_NUMBERS[:3])
WIDTH = r"must be a number above 0\. Give one, one for every"
DEFAULTED = r", or leave it out for 1 over the number of columns\."
MEANINGLESS = {  # what makes a kernel of a value, values without a meaning, and what is said of them
    "laplacian-gamma": (Laplacian, NO_MULTIPLE, r"must be a number above 0\. Or give"),
    "chi2-gamma": (ChiSquared, NO_MULTIPLE, r"must be a number above 0\. Or give"),
    "rbf-gamma": (lambda v: RBF(gamma=v), NO_MULTIPLE, DEFAULTED),
    "poly-gamma": (lambda v: Polynomial(gamma=v), NO_MULTIPLE, DEFAULTED),
    "sigmoid-gamma": (lambda v: Sigmoid(gamma=v), (*NO_NUMBERS[:2], "auto", "median"), DEFAULTED),
    "poly-degree": (Polynomial, (0, -1, None, (1, 2), *NO_NUMBERS), "Give a whole number such as 3"),
    "poly-coef0": (lambda v: Polynomial(coef0=v), NOT_FINITE, r"must be a finite number\."),
    "sigmoid-coef0": (lambda v: Sigmoid(coef0=v), NOT_FINITE, r"must be a finite number\."),
    "constant": (Constant, (*NOT_FINITE, True), r"must be a finite number\."),
    "factor": (lambda v: Scaled(RBF(), v), NOT_FINITE, r"must be a finite number\."),
    "rbf-width": (RBF, NO_WIDTHS, WIDTH),
    "matern-width": (Matern, NO_WIDTHS, WIDTH),
    "rq-width": (RationalQuadratic, NO_WIDTHS, WIDTH),
    "matern-nu": (lambda v: Matern(nu=v), (1, "1.5", None, math.inf, (1, 2)), r"0\.5, 1\.5 or 2\.5\."),
    "rq-alpha": (lambda v: RationalQuadratic(alpha=v), (0, -1, "1", None, math.inf), "number above 0"),
    "exponent": (lambda v: Power(RBF(), v), (0, -1, float("nan"), "2", None), r"must be a number above 0\."),
}


@pytest.mark.parametrize("name", MEANINGLESS)
def test_parameters_that_mean_nothing_are_refused(name):
    make, values, message = MEANINGLESS[name]
    for value in values:
        with pytest.raises(ParameterError, match=message):
            make(value).gram(np.abs(X))
        assert make(value).validity.status == "unknown", value


def test_sequences_are_compared_whatever_holds_them_and_other_classes_differ():
    forms = [RBF(sigma=[1.0, 2.0]), RBF(sigma=(1, 2)), RBF(sigma=np.array([1.0, 2.0]))]
    assert all(a == b and hash(a) == hash(b) for a in forms for b in forms)
    assert RBF(sigma=(1.0,)) != RBF(sigma=1.0)
    assert RBF(sigma=np.array([1.0])) != RBF(sigma=1.0)
    assert RBF(sigma=(1.0, 2.0)) != RBF(sigma=(1.0, 2.0, 3.0))
    assert RBF(sigma=(1.0, 2.0)) != RBF(sigma="median")

    class Mine(RBF):
        pass

    assert Mine() != RBF()
    assert RBF() != Laplacian()


@settings(max_examples=80)
@given(expressions(6))
def test_copies_pickles_and_clones(kernel):
    for made in (copy.copy(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert made == kernel
        assert made is not kernel
        assert hash(made) == hash(kernel)
        assert repr(made) == repr(kernel)
    for part in kernel.parts:
        assert part is getattr(kernel, "left", None) or part is not clone(kernel).parts[0]


def test_parameters_are_set_by_name_also_inside_of_others():
    kernel = RBF(gamma=1.0)
    assert kernel.set_params(gamma=2.0) is kernel
    assert kernel == RBF(gamma=2.0)
    with pytest.raises(ParameterError, match=r"width is no parameter of RBF\. It has: sigma, gamma\."):
        kernel.set_params(width=1.0)
    with pytest.raises(ParameterError, match=r"gamma is no parameter of Linear\. It has: none\."):
        Linear().set_params(gamma=1.0)
    with pytest.raises(ParameterError, match=r"sigma__a is no parameter of RBF\. It has: sigma, gamma\."):
        RBF(sigma=1.0).set_params(sigma__a=1.0)
    kernel = (RBF(sigma=1.0) + 2 * Polynomial()).normalized()
    assert kernel.get_params(deep=False) == {"kernel": RBF(sigma=1.0) + 2 * Polynomial()}
    names = set(kernel.get_params())
    assert {"kernel__left__sigma", "kernel__right__factor", "kernel__right__kernel__degree"} < names
    kernel.set_params(kernel__left__sigma=3.0, kernel__right__kernel__degree=2, kernel__right__factor=0.5)
    assert kernel == (RBF(sigma=3.0) + 0.5 * Polynomial(2)).normalized()
    # A part and what is inside of it, together: the part comes first.
    kernel.set_params(kernel__left__gamma=None, kernel=RBF() + Linear(), kernel__left__sigma=7.0)
    assert kernel == (RBF(sigma=7.0) + Linear()).normalized()
    with pytest.raises(ParameterError, match=r"degree is no parameter of RBF\. It has: sigma, gamma\."):
        kernel.set_params(kernel__left__degree=2)
    with pytest.raises(ParameterError, match=r"left__sigma is no parameter of Normalized\. It has: kernel\."):
        kernel.set_params(left__sigma=2)


@settings(max_examples=60)
@given(expressions(6))
def test_every_parameter_can_be_set_to_what_it_is(kernel):
    twin = clone(kernel)
    for name, value in kernel.get_params().items():
        twin.set_params(**{name: value})
    assert twin == kernel
    again = clone(kernel)
    again.set_params(**kernel.get_params())
    assert again == kernel


def test_rows_of_many_kinds_and_binding_change_nothing(kernel):
    expected = kernel.gram(X)
    for rows in (X.tolist(), pd.DataFrame(X), np.asfortranarray(X)):
        assert_allclose(kernel.gram(rows), expected, rtol=1e-13, atol=1e-15)
        assert_allclose(kernel.gram(X, rows), kernel.gram(X, X), rtol=1e-13, atol=1e-15)
    assert_array_equal(kernel(X), expected)
    before, rows = repr(kernel), X.copy()
    rows.flags.writeable = False
    kernel.gram(rows)
    kernel.gram(rows, rows)
    kernel.bind(rows)
    assert repr(kernel) == before
    assert_array_equal(rows, X)
    bound = kernel.bind(X)
    left, right = bound.encode(X)
    expected = bound.tile(left, right)
    assert_array_equal(bound.tile(left, right, np.full((12, 12), np.nan)), expected)
    assert_array_equal(left, bound.encode(X)[0])
    same = type(kernel)(**kernel.get_params(deep=False))
    assert same == kernel
    assert hash(same) == hash(kernel)
    assert len([other for other in KERNELS if other != kernel]) == len(KERNELS) - 1
    assert kernel != "rbf"
    assert kernel is not None


def test_other_array_kinds_give_the_same_values(kernel):
    for kind in ["torch", "array_api_strict"]:
        for gap in [1.0, 1e5]:
            xp = pytest.importorskip(kind)
            rows = X.copy()
            rows[6:] += gap
            for values in (rows, rows / gap):
                K = kernel.gram(xp.asarray(values))
                assert type(K) is type(xp.asarray(values)), (kind, gap)
                assert K.dtype == xp.float64, (kind, gap)
                K = np.asarray(K)
                assert_array_equal(K, K.T, err_msg=repr((kind, gap)))
                assert_allclose(K, kernel.gram(values), rtol=1e-9, atol=1e-12, err_msg=repr((kind, gap)))
                if kernel.stationary:
                    assert_array_equal(np.diag(K), np.diag(kernel.gram(values)), err_msg=repr((kind, gap)))
                single = kernel.gram(xp.asarray(values.astype("f4")))
                assert single.dtype == xp.float32, (kind, gap)
                assert_allclose(np.asarray(single), kernel.gram(values.astype("f4")), rtol=1e-6, atol=1e-7)
                between = np.asarray(kernel.gram(xp.asarray(values), xp.asarray(values[:3])))
                expected = kernel.gram(values, values[:3])
                assert_allclose(between, expected, rtol=1e-9, atol=1e-12, err_msg=repr((kind, gap)))


class Histogram(Kernel):
    """sum_j min(x_j, y_j), without anything but the least that a kernel needs."""

    facts = Facts(proven("A sum of kernels min(x, y)."))

    def bound_to(self, X, precision, centered):
        return Bound(self)


class Bound:
    relative, absolute, largest = 1e-15, 0.0, 1e3

    def __init__(self, kernel):
        self.kernel = kernel

    def encode(self, X):
        return X, X

    def tile(self, left, right, out=None):
        return np.minimum(left[:, None], right).sum(axis=2)

    def diagonal(self, X):
        return X.sum(axis=1)


def test_rows_vectors_and_centred_features():
    for left, right, message in [
        (X[0], None, r"X has shape \(4,\), but a kernel takes rows: shape \(n, d\)"),
        ([1.0, 2.0], None, r"X has shape \(2,\)"),
        (X, X[0], r"Y has shape \(4,\)"),
        (X, X[:, :2], "X has 4 columns and Y has 2: they must be the same"),
        (X[:0], None, "X has no rows"),
        (X * np.nan, None, "X has NaN or infinity"),
        (X, np.full((2, 4), np.inf), "Y has NaN or infinity"),
        (X * 1j, None, "complex128, which is not real numbers"),
        ([["a", "b"]], None, "X is not a table of numbers"),
    ]:
        for made in (RBF(), Linear(), RBF() + Laplacian()):
            with pytest.raises(DataError, match=message):
                made.gram(left, right)
    assert Polynomial(degree=2, gamma=1.0)([5, 10], [-1, 2]) == 256.0  # (x . y + 1)^2, x . y = 15
    assert Polynomial(degree=2)([5, 10], [-1, 2]) == 72.25  # gamma is 1 / d
    assert (2 * Linear())(np.array([5, 10]), (-1, 2)) == 30.0
    for one, two in ((0.0, 1.0), (0, np.float32(1)), (np.array(0.0), 1)):  # numbers are rows of one column
        value = RBF(gamma=0.5)(one, two)
        assert isinstance(value, float)
        assert value == pytest.approx(np.exp(-0.5), rel=1e-14)
    with pytest.raises(DataError, match=r"X has shape \(\), but a kernel takes rows: shape \(n, d\)\."):
        RBF()(0.0, [1.0])
    with pytest.raises(DataError, match=r"X has shape \(2,\), but a kernel takes rows: shape \(n, d\)\."):
        RBF()([1, 2])
    rows, new = X[:9], X[9:13]
    k = Polynomial(degree=2, gamma=1.0, coef0=0.5)
    phi = k.feature_map(rows.shape[1])
    mean = phi(rows).mean(axis=0)
    expected = (phi(rows) - mean) @ (phi(rows) - mean).T
    assert_allclose(k.centered_gram(rows), expected, rtol=1e-12, atol=1e-12)
    median = RBF("median")
    assert_array_equal(median.centered_gram(rows, 3 * new), median.resolve(rows).centered_gram(rows, 3 * new))
    expected = (phi(new) - mean) @ (phi(rows) - mean).T
    assert_allclose(k.centered_gram(rows, new), expected, rtol=1e-12, atol=1e-12)
    rows = np.abs(X) + 0.1
    expected = [[sum(map(min, x, y)) for y in rows] for x in rows]
    assert_allclose(Histogram().gram(rows), expected, rtol=1e-14)
    assert repr(Histogram()) == "Histogram()"
    assert_allclose((RBF() * Histogram()).gram(rows), RBF().gram(rows) * expected, rtol=1e-13)
    assert (RBF() * Histogram()).psd
