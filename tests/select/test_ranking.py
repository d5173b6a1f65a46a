"""Scores and orders as a fold needs them."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm, rankdata
from sklearn.datasets import load_diabetes, load_wine
from sklearn.feature_selection import chi2, f_classif

from gramian.errors import DataError
from gramian.select import filters
from gramian.select.mutual_information import mutual_information

X, Y = load_wine(return_X_y=True)
NAMES = tuple(f"x{j}" for j in range(13))
CLASSES = np.array(["a", "b", "c"])
NUMBERS = load_diabetes(return_X_y=True)


def ranker(score, classes=CLASSES, **given):
    return filters.Ranker(score, NAMES, classes, **given)


def test_mutual_information_is_that_of_the_function_in_every_fold():
    result = ranker("mutual-information", n_neighbors=5).measure(X, Y, random_state=3)
    expected = mutual_information(X, Y, discrete_target=True, n_neighbors=5, random_state=3)
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.p_values is None
    result = ranker("mutual-information", classes=None).measure(*NUMBERS, random_state=3)
    expected = mutual_information(*NUMBERS, discrete_target=False, random_state=3)
    np.testing.assert_array_equal(result.values, expected.values)
    part = Y != 1
    for score in filters.SCORES:
        result = ranker(score).rank(X[part], Y[part], 13, random_state=0)
        codes = Y[part] // 2
        expected = filters.Ranker(score, NAMES, CLASSES[::2]).rank(X[part], codes, 13, random_state=0)
        np.testing.assert_array_equal(result[0].values, expected[0].values)


def test_mrmr_is_the_greedy_definition_of_any_scores():
    for score in filters.SCORES:
        result = ranker(score, redundancy="mrmr").rank(X, Y, 13, random_state=0)
        plain = ranker(score).rank(X, Y, 13, random_state=0)
        np.testing.assert_array_equal(result[0].values, plain[0].values)
        if score == "mutual-information":
            table, relevance = copula_information(X), plain[0].values
        else:
            table = np.abs(np.corrcoef(X.T))
            relevance = filters.correlation_score(X, Y, discrete=True).values
            if score == "chi2":
                relevance = plain[0].values / plain[0].values.max()
        assert result[1].tolist() == definition(relevance, table, 13)
        assert result[1].tolist() != plain[1].tolist()
    values = np.array([np.inf, np.nan, 1.0, -3.0, *np.zeros(9)])
    result = ranker(lambda X, y: values, redundancy="mrmr").rank(X, Y, 13)
    assert result[1][0] == 0
    assert result[1][-2:].tolist() == [3, 1] or result[1][-1] == 1
    result = ranker(lambda X, y: np.zeros(13), redundancy="mrmr").rank(X, Y, 13)
    assert sorted(result[1].tolist()) == list(range(13))


def test_functions_get_labels_as_they_came_and_nan_ranks_last():
    seen = []

    def score(X, y):
        seen.append(y)
        return f_classif(X, y)

    result = ranker(score).measure(X, Y)
    np.testing.assert_array_equal(seen[0], CLASSES[Y])
    F, p = f_classif(X, Y)
    np.testing.assert_array_equal(result.values, F)
    np.testing.assert_array_equal(result.p_values, p)
    result = ranker(lambda X, y: list(chi2(X, y)[0])).measure(X, Y)
    np.testing.assert_array_equal(result.values, chi2(X, Y)[0])
    assert result.p_values is None

    def lost(X, y):
        return np.array([np.nan, *np.arange(12.0)]), np.array([np.nan, *np.full(12, 0.1)])

    result = ranker(lost).rank(X, Y, 13)
    assert result[1][-1] == 0
    assert result[0].values[0] == -np.inf
    assert result[0].p_values.tolist() == [1.0] + [0.1] * 12
    assert result[0].notes == ("The score lost gave NaN for 1 features, which rank last.",)


WINE_ROWS = X


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


def test_ties_processes_and_functions_of_rankers():
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
    sent = pickle.loads(pickle.dumps(ranker("f", redundancy="mrmr")))
    expected = ranker("f", redundancy="mrmr").rank(X, Y, 5, 0)
    np.testing.assert_array_equal(sent.rank(X, Y, 5, 0)[1], expected[1])
    for given, message in (
        (
            (1, 2, 3),
            "score=<lambda> must return one number for each feature, or a pair of scores and p-values",
        ),
        (np.ones(5), "it returned 5 and 5 for 13 features"),
        ((np.ones(13), np.ones(4)), "it returned 13 and 4 for 13 features"),
        (["a"] * 13, "could not convert string to float"),
        (None, "must return one number for each feature"),
    ):
        with pytest.raises(DataError, match=message):
            ranker(lambda X, y, given=given: given).measure(X, Y)


def test_shared_information_is_that_of_the_gaussian_copula():
    X = WINE_ROWS
    shared = filters.shared_information(X)
    expected = copula_information(X)
    for j in range(13):
        np.testing.assert_allclose(shared(j), expected[j], rtol=1e-9, atol=1e-12)
    rng = np.random.default_rng(3)
    x = rng.standard_normal(20000)
    X = np.column_stack([x, 0.8 * x + 0.6 * rng.standard_normal(20000)])
    assert filters.shared_information(X)(0)[1] == pytest.approx(-0.5 * np.log(1 - 0.8**2), abs=0.02)
    assert filters.shared_information(X)(0)[0] == pytest.approx(np.log(20000), rel=1e-6)
    X = np.column_stack([np.arange(5.0), np.full(5, 1e300), -np.arange(5.0)])
    assert filters.shared_information(X)(1).tolist() == [0, 0, 0]
    np.testing.assert_allclose(filters.shared_information(X)(0), [np.log(5), 0, np.log(5)])
