"""Scores and orders as a fold needs them."""

import pickle

import numpy as np
from sklearn.datasets import load_diabetes, load_wine

from gramian.select import filters
from gramian.select.mutual_information import mutual_information

X, Y = load_wine(return_X_y=True)
NAMES = tuple(f"x{j}" for j in range(13))
NUMBERS = load_diabetes(return_X_y=True)


def ranker(score, discrete=True, **given):
    return filters.Ranker(score, NAMES, discrete, **given)


def test_mutual_information_is_that_of_the_function_in_every_fold():
    result = ranker("mutual-information", n_neighbors=5).rank(X, Y, 3)[0]
    expected = mutual_information(X, Y, discrete_target=True, n_neighbors=5, random_state=3)
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.p_values is None
    result = ranker("mutual-information", discrete=False).rank(*NUMBERS, 3)[0]
    expected = mutual_information(*NUMBERS, discrete_target=False, random_state=3)
    np.testing.assert_array_equal(result.values, expected.values)
    part = Y != 1
    for score in filters.SCORES:
        result = ranker(score).rank(X[part], Y[part], 0)
        codes = Y[part] // 2
        expected = ranker(score).rank(X[part], codes, 0)
        np.testing.assert_array_equal(result[0].values, expected[0].values)


def test_rankers_are_sent_to_processes():
    sent = pickle.loads(pickle.dumps(ranker("f")))
    np.testing.assert_array_equal(sent.rank(X, Y)[1], ranker("f").rank(X, Y)[1])
