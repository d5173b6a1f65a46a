"""Varimax and promax, against brute force and against literal algorithms."""

import numpy as np
import pytest

from gramian.answers.rotate import promax, varimax


def criterion(L):
    """Kaiser's criterion of loadings with rows of length 1: the sum of the variances of their squares."""
    return np.sum(np.var(L**2, axis=0))


def normalised(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def by_singular_values(A):
    """Horst's iteration for varimax, of rows of length 1 (Horst 1965, chapter 10)."""
    A, R = normalised(A), np.eye(A.shape[1])
    for _ in range(2000):
        L = A @ R
        left, _, right = np.linalg.svd(A.T @ (L**3 - L * np.mean(L**2, axis=0)))
        R = left @ right
    return R


def test_no_angle_is_better_in_two_dimensions():
    for seed in range(5):
        A = np.random.default_rng(seed).normal(size=(7, 2)) * [3, 1]
        R = varimax(A)
        np.testing.assert_allclose(R.T @ R, np.eye(2), atol=1e-12)
        angles = np.linspace(0, np.pi / 2, 1001)
        turned = (np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angles)
        best = max(criterion(normalised(A) @ turn) for turn in turned)
        assert criterion(normalised(A @ R)) == pytest.approx(best, rel=1e-4)
        assert criterion(normalised(A @ R)) >= best * (1 - 1e-12)


def test_equals_another_algorithm_up_to_order_and_signs():
    rng = np.random.default_rng(1)
    simple = np.kron(np.eye(4), np.ones((5, 1))) + 0.2 * rng.normal(size=(20, 4))
    A = simple @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    ours, theirs = A @ varimax(A), A @ by_singular_values(A)
    overlap = np.abs(ours.T @ theirs) / np.sum(theirs**2, axis=0)
    order = overlap.argmax(axis=1)
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs[:, order]), atol=1e-7)


def test_promax_fits_its_target_and_has_unit_variances():
    rng = np.random.default_rng(2)
    A = np.kron(np.eye(3), np.ones((4, 1))) @ np.linalg.cholesky([[1, 0, 0], [0.5, 1, 0], [0, 0.3, 1]]).T
    A = A + 0.05 * rng.normal(size=A.shape)
    L = A @ varimax(A)
    # As R's promax: regression on the fourth powers with signs, then factors of variance 1.
    U = np.linalg.solve(L.T @ L, L.T @ (np.sign(L) * L**4))
    U = U @ np.diag(np.sqrt(np.diag(np.linalg.inv(U.T @ U))))
    R = promax(A)
    np.testing.assert_allclose(A @ R, L @ U, atol=1e-10)
    np.testing.assert_allclose(np.diag(np.linalg.inv(R.T @ R)), 1, atol=1e-10)


def test_columns_without_loadings_and_equal_columns():
    A = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    np.testing.assert_allclose(np.abs(varimax(A)), np.eye(2), atol=1e-12)
    circle = np.stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)], axis=1)
    R = varimax(circle)  # every angle is as good but for the corners
    np.testing.assert_allclose(R.T @ R, np.eye(2), atol=1e-12)
