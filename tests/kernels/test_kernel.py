"""What every kernel object offers, and the evaluator that it is bound to data with."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from gramian.errors import ParameterError
from gramian.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial, Sigmoid

X = np.random.default_rng(3).standard_normal((12, 4))
KERNELS = [
    Linear(),
    Cosine(),
    RBF(),
    RBF(sigma=2.0),
    RBF(gamma=0.5),
    Laplacian(gamma=0.1),
    Polynomial(degree=2, gamma=0.3, coef0=0.0),
    Sigmoid(gamma=0.1, coef0=0.5),
]


@pytest.fixture(params=KERNELS, ids=repr)
def kernel(request):
    return copy.deepcopy(request.param)


def test_prints_as_what_makes_it_again(kernel):
    names = {cls.__name__: cls for cls in (Linear, Cosine, RBF, Laplacian, Polynomial, Sigmoid)}
    assert eval(repr(kernel), names) == kernel


def test_printed_forms():
    assert repr(Linear()) == "Linear()"
    assert repr(RBF(sigma=2.0)) == "RBF(sigma=2.0, gamma=None)"
    assert repr(Polynomial(2)) == "Polynomial(degree=2, gamma=None, coef0=1.0)"


def test_constructor_stores_its_arguments_untouched():
    marker = object()
    assert RBF(sigma=marker).sigma is marker
    assert Polynomial(degree=marker).degree is marker
    assert Sigmoid(gamma=marker).gamma is marker


def test_compares_and_hashes_by_value(kernel):
    same = type(kernel)(**kernel.get_params())
    assert same == kernel
    assert hash(same) == hash(kernel)
    others = [other for other in KERNELS if other != kernel]
    assert len(others) == len(KERNELS) - 1
    assert kernel != "rbf"


def test_copies_pickles_and_clones(kernel):
    for made in (copy.copy(kernel), pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert made == kernel
        assert made is not kernel
        np.testing.assert_array_equal(made.gram(X), kernel.gram(X))


def test_parameters_are_set_by_name():
    kernel = RBF(gamma=1.0)
    assert kernel.set_params(gamma=2.0) is kernel
    assert kernel == RBF(gamma=2.0)
    with pytest.raises(ParameterError, match=r"RBF has no parameter 'width'. It has: sigma, gamma"):
        kernel.set_params(width=1.0)
    with pytest.raises(ParameterError, match=r"Linear has no parameter 'gamma'. It has: none"):
        Linear().set_params(gamma=1.0)


def test_resolving_fills_in_one_over_the_number_of_features():
    for kind in (RBF, Laplacian, Polynomial, Sigmoid):
        assert kind().resolve(8).gamma == 0.125
        assert kind().gamma is None
        assert kind(gamma=3.0).resolve(8).gamma == 3.0


def test_binding_leaves_the_kernel_and_the_data_alone(kernel):
    before, rows = repr(kernel), X.copy()
    rows.flags.writeable = False
    kernel.gram(rows)
    kernel.gram(rows, rows)
    kernel.bind(rows)
    assert repr(kernel) == before
    np.testing.assert_array_equal(rows, X)


def test_scratch_memory_changes_nothing(kernel):
    bound = kernel.bind(X)
    left, right = bound.encode(X)
    expected = bound.tile(left, right)
    np.testing.assert_array_equal(bound.tile(left, right, np.full((12, 12), np.nan)), expected)
    np.testing.assert_array_equal(left, bound.encode(X)[0])


def test_tiles_of_new_rows_agree_with_the_whole(kernel):
    new = X[::-1][:5] + 0.1
    bound = kernel.bind(X)
    tile = bound.tile(bound.encode(new)[0], bound.encode(X)[1])
    np.testing.assert_allclose(tile, kernel.gram(X, new).T, rtol=1e-13, atol=1e-15)


def test_float32_rows_are_evaluated_in_float64(kernel):
    rows = X.astype(np.float32)
    K = kernel.gram(rows)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, kernel.gram(rows.astype(np.float64)))


def test_stated_error_is_small_for_ordinary_data(kernel):
    bound = kernel.bind(X)
    assert 0 <= bound.absolute < 1e-12
    assert 0 <= bound.relative < 1e-12


def test_a_kernel_is_one_class():
    """A formula of one's own: four methods, and everything else follows."""

    class Chi(Kernel):
        psd = True

        def encode(self, X, direct):
            return X, X

        def tile(self, left, right, direct, out=None):
            pairs = left[:, None, :], right[None, :, :]
            return (2 * pairs[0] * pairs[1] / (pairs[0] + pairs[1])).sum(axis=2)

        def diagonal(self, X):
            return X.sum(axis=1)

        def evaluation_error(self, d, largest, direct):
            return 1e-15 * (d + 4), 0.0

    rows = np.abs(X) + 0.1
    K = Chi().gram(rows)
    expected = [[sum(2 * a * b / (a + b) for a, b in zip(x, y, strict=True)) for y in rows] for x in rows]
    np.testing.assert_allclose(K, expected, rtol=1e-13)
    assert repr(Chi()) == "Chi()"


@pytest.mark.parametrize("kind", ["torch", "array_api_strict"])
@pytest.mark.parametrize("gap", [1.0, 1e5])
def test_other_array_kinds_give_the_same_values(kernel, kind, gap):
    xp = pytest.importorskip(kind)
    rows = X.copy()
    rows[6:] += gap
    bounded = rows / gap
    for values in (rows, bounded):
        K = kernel.gram(xp.asarray(values))
        assert type(K) is type(xp.asarray(values))
        assert K.dtype == xp.float64
        K = np.asarray(K)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(K, kernel.gram(values), rtol=1e-9, atol=1e-12)
        if kernel.stationary:
            np.testing.assert_array_equal(np.diag(K), np.ones(12))
        between = np.asarray(kernel.gram(xp.asarray(values), xp.asarray(values[:3])))
        np.testing.assert_allclose(between, kernel.gram(values, values[:3]), rtol=1e-9, atol=1e-12)
