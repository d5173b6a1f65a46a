"""Scores and orders as a fold needs them."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm, rankdata
from sklearn.datasets import load_diabetes, load_wine

from gramian.select import filters
from gramian.select.mutual_information import mutual_information

X, Y = load_wine(return_X_y=True)
WINE = X
NAMES = tuple(f"x{j}" for j in range(13))
NUMBERS = load_diabetes(return_X_y=True)


def ranker(score, discrete=True, **given):
    return filters.Ranker(score, NAMES, discrete, **given)


def test_mutual_information_is_that_of_the_function_in_every_fold():
    result = ranker("mutual-information", n_neighbors=5).rank(X, Y, 13, 3)[0]
    expected = mutual_information(X, Y, discrete_target=True, n_neighbors=5, random_state=3)
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.p_values is None
    result = ranker("mutual-information", discrete=False).rank(*NUMBERS, 10, 3)[0]
    expected = mutual_information(*NUMBERS, discrete_target=False, random_state=3)
    np.testing.assert_array_equal(result.values, expected.values)
    part = Y != 1
    for score in filters.SCORES:
        result = ranker(score).rank(X[part], Y[part], 13, 0)
        codes = Y[part] // 2
        expected = ranker(score).rank(X[part], codes, 13, 0)
        np.testing.assert_array_equal(result[0].values, expected[0].values)


def test_rankers_are_sent_to_processes():
    sent = pickle.loads(pickle.dumps(ranker("f")))
    np.testing.assert_array_equal(sent.rank(X, Y, 13)[1], ranker("f").rank(X, Y, 13)[1])


def test_mrmr_is_the_greedy_definition_of_any_scores():
    for score in filters.SCORES:
        result = ranker(score, redundancy="mrmr").rank(X, Y, 13, random_state=0)
        plain = ranker(score).rank(X, Y, 13, random_state=0)
        np.testing.assert_array_equal(result[0].values, plain[0].values)
        if score == "mutual-information":
            table, relevance = copula_information(X), plain[0].values
        else:
            table = np.abs(np.corrcoef(X.T))
            relevance = np.sqrt(2 * (F := plain[0].values) / (2 * F + 175))
            if score == "chi2":
                relevance = plain[0].values / plain[0].values.max()
        assert result[1].tolist() == definition(relevance, table, 13)
        assert result[1].tolist() != plain[1].tolist()


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


def test_ties_and_limits_of_the_greedy_order():
    relevance = np.array([0.2, 0.5, 0.5, 0.5])
    table = np.eye(4)
    assert filters.greedy_order(relevance, table.__getitem__, 4).tolist() == [1, 2, 3, 0]
    # The same sums in another order.
    relevance = np.array([0.1 + 0.2, 0.3])
    assert filters.greedy_order(relevance[::-1], np.zeros((2, 2)).__getitem__, 2).tolist() == [0, 1]
    rng = np.random.default_rng(0)
    relevance, table = rng.random(8), np.abs(np.corrcoef(rng.standard_normal((8, 9))))
    order = filters.greedy_order(relevance, table.__getitem__, 3).tolist()
    assert order[:3] == definition(relevance, table, 3)
    value = relevance - table[:, order[:3]].mean(axis=1)
    assert order[3:] == sorted(set(range(8)) - set(order[:3]), key=lambda j: -value[j])


def test_shared_information_is_that_of_the_gaussian_copula():
    X = WINE
    shared = filters._redundancy(X, True)
    expected = copula_information(X)
    for j in range(13):
        np.testing.assert_allclose(shared(j), expected[j], rtol=1e-9, atol=1e-12)
    rng = np.random.default_rng(3)
    x = rng.standard_normal(20000)
    X = np.column_stack([x, 0.8 * x + 0.6 * rng.standard_normal(20000)])
    assert filters._redundancy(X, True)(0)[1] == pytest.approx(-0.5 * np.log(1 - 0.8**2), abs=0.02)
    assert filters._redundancy(X, True)(0)[0] == pytest.approx(np.log(20000), rel=1e-6)
    X = np.column_stack([np.arange(5.0), np.full(5, 1e300), -np.arange(5.0)])
    assert filters._redundancy(X, True)(1).tolist() == [0, 0, 0]
    np.testing.assert_allclose(filters._redundancy(X, True)(0), [np.log(5), 0, np.log(5)])
