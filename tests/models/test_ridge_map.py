"""The learned map against ridge regression and its leave-one-out error written out with the hat matrix."""

import numpy as np
import pytest

from gramian.models.kernel_pca import preimages as ridge_map
from gramian.models.kernel_pca.preimages import learn_map


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 2)) * [2.0, 1.0]
    return Z, rng


def criterion(A, Y, alpha):
    """Mean squared error of left-out rows by the hat matrix, intercept included by centring."""
    n = len(A)
    A, Y = A - A.mean(axis=0), Y - Y.mean(axis=0)
    H = A @ np.linalg.solve(A.T @ A + alpha * np.eye(A.shape[1]), A.T) + 1.0 / n
    return np.mean(((Y - H @ Y) / (1.0 - np.diag(H))[:, None]) ** 2)


def features(learned, Z):
    z = (Z - learned.mean) / learned.unit
    if learned.width is None:
        return z
    squares = np.sum((z[:, None, :] - learned.landmarks[None]) ** 2, axis=-1)
    return np.hstack([z, np.exp(-squares / (2 * learned.width**2))])


def test_the_map_is_ridge_regression_with_the_penalty_it_states():
    for bent in [False, True]:
        Z, rng = data()
        Y = Z @ rng.standard_normal((2, 3)) + rng.standard_normal(3) + 0.1 * rng.standard_normal((80, 3))
        if bent:
            Y[:, 0] += np.sin(2 * Z[:, 0])
        learned = learn_map(Z, Y)
        assert (learned.width is not None) == bent
        A = features(learned, Z)
        centred, mean = A - A.mean(axis=0), Y.mean(axis=0)
        beta = np.linalg.solve(
            centred.T @ centred + learned.penalty * np.eye(A.shape[1]), centred.T @ (Y - mean)
        )
        new = rng.standard_normal((5, 2))
        expected = (features(learned, new) - A.mean(axis=0)) @ beta + mean
        np.testing.assert_allclose(learned(new), expected, rtol=1e-6, atol=1e-8)
        assert learned.score == pytest.approx(criterion(A, Y, learned.penalty), rel=1e-6)


def test_no_other_penalty_that_was_tried_is_better():
    for bent in [False, True]:
        Z, rng = data(seed=3)
        Y = np.sin(Z) if bent else Z @ rng.standard_normal((2, 2))
        Y = Y + 0.3 * rng.standard_normal(Y.shape)
        learned = learn_map(Z, Y)
        A = features(learned, Z)
        centred = A - A.mean(axis=0)
        for share in ridge_map.PENALTIES:
            if share > 1e-10:  # below, the oracle's matrix is singular
                score = criterion(A, Y, share * np.linalg.norm(centred) ** 2)
                assert learned.score <= score * (1 + 1e-6)


def test_rows_that_are_linear_in_the_scores_come_back_to_rounding():
    Z, rng = data()
    B, c = rng.standard_normal((2, 4)), 1e3 * rng.standard_normal(4)
    learned = learn_map(Z, Z @ B + c)
    assert learned.width is None
    new = 10 * rng.standard_normal((6, 2))
    np.testing.assert_allclose(learned(new), new @ B + c, rtol=1e-12, atol=1e-9)


def test_curves_need_more_than_lines():
    t = np.linspace(-3, 3, 200)[:, None]
    learned = learn_map(t, np.hstack([np.sin(t), np.cos(t)]))
    middle = np.array([[0.123], [1.234]])
    np.testing.assert_allclose(learned(middle), np.hstack([np.sin(middle), np.cos(middle)]), atol=1e-3)


def test_pure_noise_is_shrunk_towards_the_mean():
    Z, rng = data(n=60)
    Y = rng.standard_normal((60, 3))
    learned = learn_map(Z, Y)
    np.testing.assert_allclose(learned(np.zeros((1, 2)))[0], Y.mean(axis=0), atol=0.5)


def test_more_components_than_rows_and_none():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((6, 2))
    wide = learn_map(rng.standard_normal((6, 5)), Y)
    assert np.isfinite(wide(rng.standard_normal((3, 5)))).all()
    assert wide.penalty > 0
    none = learn_map(np.zeros((6, 0)), Y)
    np.testing.assert_allclose(none(np.zeros((2, 0))), np.tile(Y.mean(axis=0), (2, 1)))
    flat = learn_map(np.zeros((6, 2)), np.full((6, 3), 7.0))
    np.testing.assert_allclose(flat(np.ones((1, 2))), np.full((1, 3), 7.0))


def test_many_components_and_rows_are_cut_to_what_can_be_solved(monkeypatch):
    monkeypatch.setattr(ridge_map, "COMPONENTS", 3)
    monkeypatch.setattr(ridge_map, "LANDMARKS", 7)
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((50, 9))
    learned = learn_map(Z, np.sin(2 * Z))
    assert learned.linear.shape == (3, 9)
    assert len(learned.landmarks) in (0, 7)
    assert learned(Z).shape == (50, 9)


def test_far_outside_only_the_linear_part_is_left():
    t = np.linspace(-3, 3, 100)[:, None]
    learned = learn_map(t, np.sin(t))
    far = learned(np.array([[1e9], [1e200]]))
    assert np.isfinite(far).all()
