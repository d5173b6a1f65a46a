"""Scores and orders as a fold needs them."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.feature_selection import chi2, f_classif

from gramian import DataError, ParameterError
from gramian.selection.mutual_information import mutual_information
from gramian.selection.ranking import SCORES, Ranker
from gramian.selection.scores import correlation_score

X, Y = load_wine(return_X_y=True)
NAMES = tuple(f"x{j}" for j in range(13))
CLASSES = np.array(["a", "b", "c"])
NUMBERS = load_diabetes(return_X_y=True)


def ranker(score, classes=CLASSES, **given):
    return Ranker(score, NAMES, classes, **given)


def greedy(relevance, table):
    """The difference criterion of mRMR, one feature at a time."""
    order = [int(np.argmax(relevance))]
    while len(order) < len(relevance):
        value = {j: relevance[j] - np.mean(table[j, order]) for j in range(len(relevance)) if j not in order}
        order.append(max(value, key=value.get))
    return order


@pytest.mark.parametrize("score", SCORES)
def test_order_is_by_falling_score(score):
    found = ranker(score).rank(X, Y, 13, random_state=0)
    values = found.scores.values[found.order]
    assert (np.diff(values) <= 0).all()
    assert sorted(found.order.tolist()) == list(range(13))
    np.testing.assert_array_equal(ranker(score).order(X, Y, 13, 0), found.order)


def test_mutual_information_is_that_of_the_function():
    found = ranker("mutual-information", n_neighbors=5).measure(X, Y, random_state=3)
    expected = mutual_information(X, Y, discrete_target=True, n_neighbors=5, random_state=3)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.p_values is None
    found = ranker("mutual-information", classes=None).measure(*NUMBERS, random_state=3)
    expected = mutual_information(*NUMBERS, discrete_target=False, random_state=3)
    np.testing.assert_array_equal(found.values, expected.values)


def test_ties_are_in_the_order_of_the_columns():
    twice = np.hstack([X, X])
    found = Ranker("f", NAMES * 2, CLASSES).rank(twice, Y, 26).order
    for j in range(13):
        assert found.tolist().index(j) < found.tolist().index(j + 13)


def test_a_class_that_a_fold_has_no_row_of():
    part = Y != 1
    for score in SCORES:
        found = ranker(score).rank(X[part], Y[part], 13, random_state=0)
        codes = Y[part] // 2
        expected = Ranker(score, NAMES, CLASSES[::2]).rank(X[part], codes, 13, random_state=0)
        np.testing.assert_array_equal(found.scores.values, expected.scores.values)


@pytest.mark.parametrize("score", SCORES)
def test_mrmr_is_the_greedy_definition(score):
    found = ranker(score, redundancy="mrmr").rank(X, Y, 13, random_state=0)
    plain = ranker(score).rank(X, Y, 13, random_state=0)
    np.testing.assert_array_equal(found.scores.values, plain.scores.values)
    if score == "mutual-information":
        from scipy.stats import norm, rankdata

        normal = norm.ppf((rankdata(X, axis=0) - 0.5) / len(X))
        with np.errstate(divide="ignore"):
            table = np.minimum(-0.5 * np.log(1 - np.minimum(np.corrcoef(normal.T) ** 2, 1.0)), np.log(len(X)))
        relevance = plain.scores.values
    else:
        table = np.abs(np.corrcoef(X.T))
        relevance = correlation_score(X, Y, discrete=True).values
        if score == "chi2":
            relevance = plain.scores.values / plain.scores.values.max()
    assert found.order.tolist() == greedy(relevance, table)
    assert found.order.tolist() != plain.order.tolist()


def test_mrmr_of_infinite_and_missing_scores():
    values = np.array([np.inf, np.nan, 1.0, -3.0, *np.zeros(9)])
    found = ranker(lambda X, y: values, redundancy="mrmr").rank(X, Y, 13)
    assert found.order[0] == 0
    assert found.order[-2:].tolist() == [3, 1] or found.order[-1] == 1
    found = ranker(lambda X, y: np.zeros(13), redundancy="mrmr").rank(X, Y, 13)
    assert sorted(found.order.tolist()) == list(range(13))


def test_functions_get_labels_as_they_came():
    seen = []

    def score(X, y):
        seen.append(y)
        return f_classif(X, y)

    found = ranker(score).measure(X, Y)
    np.testing.assert_array_equal(seen[0], CLASSES[Y])
    F, p = f_classif(X, Y)
    np.testing.assert_array_equal(found.values, F)
    np.testing.assert_array_equal(found.p_values, p)
    found = ranker(lambda X, y: list(chi2(X, y)[0])).measure(X, Y)
    np.testing.assert_array_equal(found.values, chi2(X, Y)[0])
    assert found.p_values is None


def test_a_score_that_is_no_number_ranks_last():
    def lost(X, y):
        return np.array([np.nan, *np.arange(12.0)]), np.array([np.nan, *np.full(12, 0.1)])

    found = ranker(lost).rank(X, Y, 13)
    assert found.order[-1] == 0
    assert found.scores.values[0] == -np.inf
    assert found.scores.p_values.tolist() == [1.0] + [0.1] * 12
    assert found.scores.notes == ("score=lost gave no number for 1 features: they rank last.",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1, 2, 3), "returned 3 things. It must return one score for each feature"),
        (np.zeros(4), r"returned scores of shape \(4,\) for 13 features"),
        ((np.zeros(13), np.zeros(4)), r"returned p-values of shape \(4,\) for 13 features"),
        ((None, np.zeros(13)), "returned no scores"),
        ("abc", "returned what is no number for each feature: could not convert"),
    ],
)
def test_functions_that_return_something_else(given, message):
    def mine(X, y):
        return given

    with pytest.raises(DataError, match=f"score=mine {message}"):
        ranker(mine).measure(X, Y)


def test_chi2_names_the_column_and_wants_classes():
    with pytest.raises(DataError, match="column 'x1' has the negative value -1"):
        ranker("chi2").measure(X * np.where(np.arange(13) == 1, -1 / X[:, 1].max(), 1), Y)
    with pytest.raises(ParameterError, match="the label is a number"):
        ranker("chi2", classes=None).measure(X, Y)


def test_p_values_of_mutual_information_by_permutation():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    features = rng.standard_normal((60, 30))
    features[:, 4] += 2 * y
    features[:, 5:8] = rng.integers(0, 3, (60, 3))
    features[:, 7] = y
    features[:, 8] = 1.5
    p, permutations = Ranker("mutual-information", NAMES, np.array([0, 1])).by_permutation(
        features, y, 0.05, np.random.default_rng(1)
    )
    assert permutations >= 40
    assert (p[[4, 7]] < 0.05 / 30).all()
    assert p[8] == 1
    chance = np.delete(p, [4, 7, 8])
    assert 0.2 < chance.mean() < 0.8
    again, _ = Ranker("mutual-information", NAMES, np.array([0, 1])).by_permutation(
        features, y, 0.05, np.random.default_rng(1)
    )
    np.testing.assert_array_equal(p, again)


def test_p_values_without_relation_are_uniform():
    rng = np.random.default_rng(2)
    features, y = rng.standard_normal((40, 400)), rng.permutation(np.repeat([0, 1], 20))
    p, _ = Ranker("mutual-information", NAMES, np.array([0, 1])).by_permutation(features, y, 0.1, rng)
    for level in (0.05, 0.2, 0.5):
        assert np.mean(p <= level) == pytest.approx(level, abs=0.07)


def test_a_ranker_can_be_sent_to_another_process():
    sent = pickle.loads(pickle.dumps(ranker("f", redundancy="mrmr")))
    np.testing.assert_array_equal(sent.order(X, Y, 5, 0), ranker("f", redundancy="mrmr").order(X, Y, 5, 0))
