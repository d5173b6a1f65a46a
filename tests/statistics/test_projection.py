import numpy as np
import pytest

from gramian.errors import DataError
from gramian.statistics.projection import LinearProjection
from gramian.tables.as_rows import as_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4)) * [1, 5, 0.1, 2] + [3, 0, -1, 100]
W = np.linalg.qr(RNG.standard_normal((4, 4)))[0][:3]
CENTER, DIVISOR, DEVIATIONS = X.mean(axis=0), np.array([1.0, 5.0, 0.1, 2.0]), np.array([2.0, 0.5, 0.0])


def definition(X, whiten):
    Z = ((X - CENTER) / DIVISOR) @ W.T
    if whiten:
        Z = np.column_stack([Z[:, 0] / 2.0, Z[:, 1] / 0.5, np.zeros(len(Z))])
    return Z


@pytest.mark.parametrize("whiten", [False, True])
def test_scores_and_the_way_back_are_the_definition(whiten):
    projection = LinearProjection(W, CENTER, DIVISOR, DEVIATIONS if whiten else None, 3)
    Z = projection.scores(as_rows(X))
    np.testing.assert_allclose(Z, definition(X, whiten), atol=1e-12)
    unwhitened = Z * DEVIATIONS if whiten else Z
    np.testing.assert_allclose(projection.back(Z), CENTER + DIVISOR * (unwhitened @ W), atol=1e-12)


def test_scores_beyond_the_rank_are_exactly_zero():
    Z = LinearProjection(W, CENTER, None, None, 2).scores(as_rows(X))
    assert (Z[:, 2] == 0).all()
    assert (Z[:, :2] != 0).any()


def test_a_nan_is_found_in_the_scores():
    bad = X.copy()
    bad[7, 2] = np.nan
    projection = LinearProjection(W, CENTER, None, None, 3)
    with pytest.raises(DataError, match=r'Input X contains NaN: row 7, column 2\. Use missing="em"'):
        projection.scores(as_rows(bad, check_finite=False))
