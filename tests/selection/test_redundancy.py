"""mRMR against the greedy definition written out."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata
from sklearn.datasets import load_wine

from gramian.selection.redundancy import greedy_order, shared_correlation, shared_information

WINE = load_wine(return_X_y=True)


def definition(relevance, table, count):
    """The difference criterion, one feature at a time."""
    order = []
    while len(order) < count:
        best, value = None, -np.inf
        for j in range(len(relevance)):
            if j in order:
                continue
            mean = sum(table[j][s] for s in order) / len(order) if order else 0.0
            if relevance[j] - mean > value + 1e-12:
                best, value = j, relevance[j] - mean
        order.append(best)
    return order


def copula_information(X):
    """-1/2 ln(1 - rho^2) of normal scores, pair by pair, at most ln n."""
    n, d = X.shape
    normal = np.column_stack([norm.ppf((rankdata(X[:, j]) - 0.5) / n) for j in range(d)])
    table = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            rho = np.corrcoef(normal[:, i], normal[:, j])[0, 1]
            table[i, j] = min(-0.5 * np.log(max(1 - rho**2, 1e-300)), np.log(n))
    return table


@pytest.mark.parametrize("seed", range(5))
def test_greedy_order_is_the_definition(seed):
    rng = np.random.default_rng(seed)
    relevance = rng.random(12)
    table = np.abs(np.corrcoef(rng.standard_normal((12, 20))))
    assert greedy_order(relevance, table.__getitem__, 12).tolist() == definition(relevance, table, 12)


def test_ties_go_to_the_first_column():
    relevance = np.array([0.2, 0.5, 0.5, 0.5])
    table = np.eye(4)
    assert greedy_order(relevance, table.__getitem__, 4).tolist() == [1, 2, 3, 0]
    # The same sums in another order.
    relevance = np.array([0.1 + 0.2, 0.3])
    assert greedy_order(relevance[::-1], np.zeros((2, 2)).__getitem__, 2).tolist() == [0, 1]


def test_the_rest_follows_by_what_it_has_after_the_last_step():
    rng = np.random.default_rng(0)
    relevance, table = rng.random(8), np.abs(np.corrcoef(rng.standard_normal((8, 9))))
    order = greedy_order(relevance, table.__getitem__, 3).tolist()
    assert order[:3] == definition(relevance, table, 3)
    value = relevance - table[:, order[:3]].mean(axis=1)
    assert order[3:] == sorted(set(range(8)) - set(order[:3]), key=lambda j: -value[j])


def test_a_copy_comes_after_what_is_new():
    X = np.column_stack([WINE[0], WINE[0][:, 6]])
    relevance = np.array([0.1] * 6 + [1.0] + [0.5] * 6 + [1.0])
    order = greedy_order(relevance, shared_correlation(X), 14).tolist()
    assert order[0] == 6
    assert order.index(13) > 1


def test_shared_correlation():
    X, _ = WINE
    shared = shared_correlation(np.column_stack([X, np.full(len(X), 3.3)]))
    expected = np.abs(np.corrcoef(X.T))
    for j in range(13):
        np.testing.assert_allclose(shared(j), [*expected[j], 0], atol=1e-12)
    assert (shared(13) == 0).all()


def test_shared_information_is_that_of_the_gaussian_copula():
    X, _ = WINE
    shared = shared_information(X)
    expected = copula_information(X)
    for j in range(13):
        np.testing.assert_allclose(shared(j), expected[j], rtol=1e-9, atol=1e-12)


def test_shared_information_does_not_change_under_increasing_maps():
    X = np.random.default_rng(1).standard_normal((50, 4)) @ np.random.default_rng(2).standard_normal((4, 4))
    plain, mapped = (
        shared_information(X),
        shared_information(np.column_stack([np.exp(X[:, :2]), X[:, 2:] ** 3])),
    )
    for j in range(4):
        np.testing.assert_array_equal(plain(j), mapped(j))


def test_shared_information_of_normal_variables():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(20000)
    X = np.column_stack([x, 0.8 * x + 0.6 * rng.standard_normal(20000)])
    assert shared_information(X)(0)[1] == pytest.approx(-0.5 * np.log(1 - 0.8**2), abs=0.02)
    assert shared_information(X)(0)[0] == pytest.approx(np.log(20000), rel=1e-6)


def test_constant_columns_share_nothing():
    X = np.column_stack([np.arange(5.0), np.full(5, 1e300), -np.arange(5.0)])
    assert shared_information(X)(1).tolist() == [0, 0, 0]
    np.testing.assert_allclose(shared_information(X)(0), [np.log(5), 0, np.log(5)])
