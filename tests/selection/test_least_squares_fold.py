import numpy as np
import pytest
from sklearn.linear_model import Ridge

from gramian.selection import least_squares_fold
from gramian.selection.least_squares_fold import of_fold

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6)) + 3
y = RNG.standard_normal(40) + X[:, 2]
FOLD = (np.arange(30), np.arange(30, 40))


def residuals(columns):
    model = Ridge(2.0).fit(X[:30][:, columns], y[:30])
    return y[30:] - model.predict(X[30:][:, columns])


@pytest.mark.parametrize("batch", [1, 25, 1 << 22])
def test_residuals_of_many_candidates_come_in_batches(monkeypatch, batch):
    monkeypatch.setattr(least_squares_fold, "BATCH", batch)
    problem = of_fold(X, y, FOLD, 2.0, True, None)
    found = list(problem.added(np.array([1]), [np.array([j]) for j in (0, 2, 3)]))
    assert np.concatenate([places for places, _ in found]).tolist() == [0, 1, 2]
    errors = np.hstack([columns for _, columns in found])
    for place, j in enumerate((0, 2, 3)):
        np.testing.assert_allclose(errors[:, place], residuals(sorted([1, j])), atol=1e-12)


def test_residuals_without_columns_do_not_depend_on_their_order():
    problem = of_fold(X, y, FOLD, 2.0, True, None)
    (_, errors), *_ = problem.removed(np.array([5, 0, 3]), [np.array([3])])
    np.testing.assert_allclose(errors[:, 0], residuals([0, 5]), atol=1e-12)


def test_without_features_the_mean_is_left():
    problem = of_fold(X, y, FOLD, 0.0, True, None)
    np.testing.assert_allclose(problem.start, y[30:] - y[:30].mean())
    assert np.array_equal(problem.y, y[30:])
