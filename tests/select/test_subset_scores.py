"""Scores of subsets are cached within a search."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold

from gramian.errors import DataError
from gramian.select.validation import SubsetScores, Validation, scorer_of

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 5))
y = X @ [1, 0.5, 0, 0, -1] + 0.3 * rng.standard_normal(40)
FOLDS = list(KFold(4).split(X))
NONE = np.array([], dtype=np.intp)


def validation(estimator=None, kind=Validation):
    estimator = estimator or Ridge()
    return kind(estimator, X, y, FOLDS, scorer_of(estimator, None), tuple("abcde"))


class Counting(Validation):
    """Notes which subsets are fitted."""

    def scores(self, columns):
        row = super().scores(columns)
        self.__dict__.setdefault("fitted", []).append(set(columns.tolist()))
        return row


def counting(estimator=None):
    return validation(estimator, Counting)


def test_no_subset_is_fitted_twice():
    general = counting()
    memory = SubsetScores(general, None)
    first = memory.scores(np.array([0]), np.array([1, 2]))
    again = memory.scores(np.array([0]), np.array([1, 2]))
    # {0, 2} also comes from {0, 2, 3} without 3, and from {2} with 0.
    back = memory.scores(np.array([0, 2, 3]), np.array([3, 0]))
    other = memory.scores(np.array([2]), np.array([0, 3]))
    assert general.fitted == [{0, 1}, {0, 2}, {2, 3}]
    assert again.tolist() == first.tolist()
    assert back[0].tolist() == other[0].tolist() == first[1].tolist()
    assert back[1].tolist() == other[1].tolist()
    expected = np.array([validation().scores(np.array([0, j])) for j in (1, 2)])
    assert first.tolist() == expected.tolist()


def test_failing_candidates_are_named_and_jobs_give_the_same():
    class Stops(Ridge):
        def fit(self, X, y):
            if X[0, 0] in (float(v) for v in globals()["X"][[0, 10], 2]):
                raise ValueError("stop")
            return super().fit(X, y)

    with pytest.raises(DataError, match=r"on {'c'}.*stop"):
        SubsetScores(counting(Stops()), None).scores(NONE, np.array([0, 1, 2, 3]))
    for estimator in [LinearRegression(), Ridge(alpha=3)]:
        memory = SubsetScores.of(validation(estimator), None, None)
        assert memory._fast is not None
        exact = [validation(estimator).scores(np.array(c)) for c in ([0, 1, 2], [1, 2, 3])]
        np.testing.assert_allclose(memory.scores(np.array([1, 2]), np.array([0, 3])), exact, atol=1e-9)
        assert SubsetScores.of(validation(Ridge(positive=True)), None, None)._fast is None
    groups = np.array([3, 0, 2])
    alone, many = (
        SubsetScores(validation(), None, n_jobs).scores(np.array([1]), groups) for n_jobs in (None, 2)
    )
    assert many.tolist() == alone.tolist()
    assert SubsetScores(validation(), None).scores(np.array([1]), NONE).shape[0] == 0
