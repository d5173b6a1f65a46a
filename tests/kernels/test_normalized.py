"""Kernels of rows scaled to length 1 in feature space."""

import numpy as np
import pytest

import gramian
from exact_kernels import excess
from gramian.errors import DataError
from gramian.kernels import RBF, Cosine, Exp, Linear, Matern, Normalized, Polynomial, kernel_from_name

X = np.abs(np.random.default_rng(3).standard_normal((14, 4))) + 0.05
Y = X[:5] * 1.3 + 0.1


def divided(K):
    size = np.sqrt(np.diag(K))
    return K / size / size[:, None]


def test_normalized_divides_by_the_roots_of_the_diagonal():
    for kernel in [
        Linear(),
        Polynomial(),
        Exp(Linear()),
        RBF() + Linear(),
        3 * Matern(),
        Linear() ** 2 * RBF(),
    ]:
        made = kernel.normalized()
        np.testing.assert_allclose(made.gram(X), divided(kernel.gram(X)), rtol=1e-12, err_msg=repr(kernel))
        every = divided(kernel.gram(np.vstack([X, Y])))
        np.testing.assert_allclose(made.gram(X, Y), every[:14, 14:], rtol=1e-12, err_msg=repr(kernel))
        np.testing.assert_array_equal(np.diag(made.gram(X)), 1, err_msg=repr(kernel))
        np.testing.assert_array_equal(made.bind(X).diagonal(X), 1, err_msg=repr(kernel))
        np.testing.assert_allclose(made.normalized().gram(X), made.gram(X), rtol=1e-13, err_msg=repr(kernel))
        assert np.abs(made.gram(X)).max() <= 1 + 1e-14, kernel
        assert made.psd, kernel
        assert np.linalg.eigvalsh(made.gram(X))[0] > -1e-13, kernel


def test_normalized_linear_is_the_cosine():
    rows = np.vstack([X, np.zeros((1, 4))])
    np.testing.assert_allclose(Linear().normalized().gram(rows), Cosine().gram(rows), atol=1e-14)
    np.testing.assert_array_equal(Linear().normalized().gram(rows)[-1], 0)


def test_what_is_normalized_already():
    np.testing.assert_allclose(RBF().normalized().gram(X), RBF().gram(X), rtol=1e-15)
    assert Normalized(RBF()).stationary


def test_a_negative_diagonal_has_no_root():
    with pytest.raises(
        DataError, match=r"\(linear\(\) - 50\.0\)\.normalized\(\) needs k\(x, x\) >= 0, but it"
    ):
        (Linear() - 50.0).normalized().gram(X)


def test_what_may_be_no_kernel_can_exceed_1():
    kernel = Polynomial(1, 1.0, -1.0).normalized()
    rows = np.array([[1.1], [10.0], [3.0]])
    bound = kernel.bind(rows)
    K = kernel.gram(rows)
    assert K[0, 1] == pytest.approx(10 / np.sqrt(0.21 * 99))
    assert np.abs(K).max() <= bound.largest
    assert excess(kernel + Linear(), rows) <= 1
    assert kernel.validity.status == "unknown"


@pytest.mark.parametrize("kind", ["torch", "array_api_strict"])
def test_normalized_in_other_arrays(kind):
    xp = pytest.importorskip(kind)
    rows = np.vstack([X, np.zeros((1, 4))])
    result = Linear().normalized().gram(xp.asarray(rows))
    np.testing.assert_allclose(np.asarray(result), Linear().normalized().gram(rows), rtol=1e-13)
    with pytest.raises(
        DataError, match=r"\(linear\(\) - 50\.0\)\.normalized\(\) needs k\(x, x\) >= 0, but it"
    ):
        (Linear() - 50.0).normalized().gram(xp.asarray(rows))


def test_rows_that_are_tiny_beside_others_keep_a_small_bound():
    """Rounding is small beside k(x, x) of the row itself, not only beside the largest."""
    for text in [
        "linear",
        "poly(degree=2, gamma=1, coef0=0)",
        "poly(degree=3, gamma=0.5)",
        "linear + rbf",
        "linear * poly(gamma=1)",
        "exp(linear)",
        "2 * linear ** 3",
        "(linear + 0.5).on(0, 2)",
        "linear.normalized()",
        "matern * linear",
    ]:
        rows = X[:8].copy()
        rows[2] = [1e-9, 0, 2e-9, 1e-9]
        rows[5] *= 1e-30
        kernel = kernel_from_name(text).normalized()
        assert kernel.bind(rows).absolute < 1e-12, text
        assert excess(kernel, rows) <= 1, text


def test_a_bound_that_is_not_known_is_infinite():
    rows = X[:4].copy()
    rows[2] *= 1e-30
    assert (Linear() * (RBF() - 0.5)).normalized().bind(rows).absolute == np.inf


def test_a_tiny_row_does_not_hide_the_components_of_the_others():
    rows = np.vstack([X, np.full((1, 4), 1e-12)])
    model = gramian.KernelPCA(3, kernel="linear.normalized()").fit(rows)
    same = gramian.KernelPCA(3, kernel="cosine").fit(rows)
    assert model.rank_ == 3
    assert model.certificate_.ok
    np.testing.assert_allclose(model.eigenvalues_, same.eigenvalues_, rtol=1e-12)
