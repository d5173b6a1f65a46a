import numpy as np
import pytest

from gramian.errors import DataError, ParameterError
from gramian.kernels import kernel_from_name
from gramian.kernels.auditing.search import CLEAR, acceptable_features, candidates, improve, search
from gramian.kernels.auditing.trials import Examiner


def examiner(kernel):
    return Examiner(kernel_from_name(kernel), 1e-10)


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_candidates_are_of_all_sizes_and_kinds(d):
    sets = list(candidates(d, np.random.default_rng(0)))
    assert all(points.ndim == 2 and points.shape[1] == d and np.isfinite(points).all() for points in sets)
    assert max(len(points) for points in sets) <= 64
    sizes = np.log10([np.abs(points).max() for points in sets])
    assert sizes.min() < -2.5
    assert sizes.max() > 2
    assert sum((points >= 0).all() for points in sets) > 30
    assert any(len(np.unique(points, axis=0)) < len(points) for points in sets)


def test_features_that_a_function_accepts():
    assert acceptable_features(examiner("rbf")) == (1, 2, 3)
    assert acceptable_features(examiner("rbf().on(1)")) == (2, 3)
    assert acceptable_features(examiner(lambda x, y: float(x[5] * y[5]))) == (6,)
    with pytest.raises(ParameterError, match=r"no column 20.*1 to 16 features were tried"):
        acceptable_features(examiner("rbf().on(20)"))
    with pytest.raises(DataError, match=r"IndexError.*1 to 16 features were tried"):
        acceptable_features(examiner(lambda x, y: float(x[20] * y[20])))


def test_an_improvement_lowers_the_eigenvalue():
    given = examiner("poly(degree=1.5, gamma=1)")
    start = given.examine(np.array([[0.0], [0.2], [0.7], [1.0]]))
    better = improve(given, start, np.random.default_rng(0), 100)
    assert better.ratio < 2 * start.ratio < 0
    assert better.points.shape == start.points.shape


def test_the_search_stops_at_a_clear_refutation():
    given = examiner("sigmoid(gamma=1)")
    result = search(given, 1, np.random.default_rng(0))
    assert result.ratio < CLEAR
    assert given.trials < 50


def test_the_search_ends():
    calls = []

    def k(x, y):
        calls.append(1)
        return float(x @ y)

    result = search(examiner(k), 2, np.random.default_rng(0))
    assert result.ratio > -1
    assert len(calls) < 100_000


def test_nothing_is_found_where_nothing_has_a_value():
    def k(x, y):
        raise ValueError("no")

    given = examiner(k)
    assert search(given, 1, np.random.default_rng(0)) is None
    assert given.skipped > 80
    given = examiner(k)
    given.deadline = 0.0  # has passed
    assert search(given, 1, np.random.default_rng(0)) is None
    assert given.skipped < 20
