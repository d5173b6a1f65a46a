"""What both PCA operators state about rounding: bounds that hold, and are not absurd."""

import numpy as np
import pytest

from gramian.operators.covariance import CovarianceOperator
from gramian.operators.gram import GramOperator
from gramian.operators.moments import center_rows
from gramian.operators.scatter import product_error, product_tolerance
from gramian.rows import as_rows
from helpers import spectrum_matrix


@pytest.mark.parametrize("kind", [CovarianceOperator, GramOperator])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("mean", [0.0, 1000.0])
@pytest.mark.parametrize("shape", [(400, 30), (30, 400), (120, 90)])
def test_the_rounding_bound_holds(kind, dtype, mean, shape):
    X = spectrum_matrix(*shape, [10, 5, 1, 0.1, 0.01], seed=0, mean=mean).astype(dtype)
    operator = kind(center_rows(as_rows(X), center=True, scale=None, ddof=1))
    exact = X.astype(np.float64)
    C = exact - exact.mean(axis=0)
    matrix = C.T @ C if kind is CovarianceOperator else C @ C.T
    V = np.linalg.qr(np.random.default_rng(1).standard_normal((operator.size, 4)))[0]
    slack = 1e-11 * operator.trace()
    assert np.linalg.norm(operator.dense() - matrix, 2) <= operator.error_bound + slack
    assert np.linalg.norm(operator.matmat(V) - matrix @ V, 2) <= 4 * operator.error_bound + slack
    assert operator.error_bound <= 1e-2 * operator.trace()
    assert operator.trace() == pytest.approx(np.trace(matrix), rel=1e-6)
    assert operator.frobenius() is None


def test_float64_bounds_are_deterministic_and_grow_with_the_sum():
    rows = as_rows(np.random.default_rng(2).standard_normal((50, 8)))
    view = center_rows(rows, center=True, scale=None, ddof=1)
    short, kind = product_error(view, 50, 50)
    long, _ = product_error(view, 5000, 50)
    assert kind == "deterministic"
    assert long > short > 0


def test_long_float32_sums_get_an_estimate():
    rows = as_rows(np.random.default_rng(2).standard_normal((50, 8)).astype(np.float32))
    view = center_rows(rows, center=True, scale=None, ddof=1)
    assert product_error(view, 10, 10)[1] == "deterministic"
    bound, kind = product_error(view, 10**6, 1000)
    assert kind == "estimate"
    assert bound < product_error(view, 1000, 1000)[0]


def test_rank_tolerances():
    eps = np.finfo(np.float64).eps
    assert product_tolerance((300, 20), eps / 2, 64) == 300 * eps
    single = float(np.finfo(np.float32).eps)
    assert product_tolerance((10**6, 20), single / 2, 64) == pytest.approx(8 * single)
    assert product_tolerance((16, 9), single / 2, 64) == pytest.approx(4 * single)


@pytest.mark.parametrize("kind", [CovarianceOperator, GramOperator])
def test_a_large_mean_makes_noise(kind):
    X = spectrum_matrix(60, 20, [1.0], seed=3, mean=1e6)
    operator = kind(center_rows(as_rows(X), center=True, scale=None, ddof=1))
    C = X - X.mean(axis=0)
    values = np.linalg.eigvalsh(C.T @ C)
    assert values[:-1].max() <= 10 * operator.noise
    assert operator.noise < 1e-6
