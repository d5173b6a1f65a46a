"""The map against its formula, written out as a matrix in NumPy."""

from itertools import product

import numpy as np
import pytest

from gramian.core.arrays import to_numpy
from gramian.errors import DataError
from gramian.models.whitening import Whitening, triangular_root
from gramian.tables.as_rows import as_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((700, 5)) * [1, 5, 0.1, 2, 3] + [3, 0, -1, 100, 2]
U = np.linalg.qr(RNG.standard_normal((5, 5)))[0]
CENTER = X.mean(axis=0)
DIVISOR = np.array([1.0, 5.0, 0.1, 2.0, np.inf])
DEVIATIONS = np.array([3.0, 2.0, 0.5])
K = np.array([[1.0, 0.02, 0.0], [0.02, 0.97, 0.01], [0.0, 0.01, 1.03]])


def inner(turned, rest, correction, divisor):
    """W by its definition."""
    V = U[:3]
    W = (np.eye(3) if correction is None else correction) @ np.diag(1 / DEVIATIONS) @ V
    if turned:
        W = V.T @ W
        W = W + (np.eye(5) - V.T @ V) / rest if rest else W
    return W if divisor is None else W / divisor


MAPS = [
    (False, 0.0, None, None),
    (False, 0.0, K, None),
    (True, 0.0, None, None),
    (True, 0.0, K, DIVISOR),
    (True, 0.7, None, None),
    (True, 0.7, None, DIVISOR),
    (False, 0.0, None, DIVISOR),
]


def make(turned, rest, correction, divisor, scale=1.0):
    scaled = 1.0 if divisor is not None else scale
    return Whitening(
        U[:3],
        CENTER * scale,
        None if divisor is None else divisor * scale,
        DEVIATIONS * scaled,
        rest * scaled,
        correction,
        turned,
    )


@pytest.mark.parametrize("parts", MAPS)
def test_the_map_is_its_matrix(parts):
    for scale in [1e-150, 1e-40, 1.0, 1e40, 1e150]:
        mapping = make(*parts, scale=scale)
        W = inner(*parts)
        np.testing.assert_allclose(mapping.matrix() * scale, W, atol=1e-13)
        np.testing.assert_allclose(mapping.apply(as_rows(X * scale)), (X - CENTER) @ W.T, atol=1e-11)


@pytest.mark.parametrize("parts", MAPS)
def test_the_way_back_is_the_inverse_on_what_is_kept(parts):
    for scale in [1e-150, 1.0, 1e150]:
        mapping = make(*parts, scale=scale)
        Z = mapping.apply(as_rows(X * scale))
        back = mapping.undo(Z)
        C = (X - CENTER) / (1.0 if parts[3] is None else parts[3])
        kept = C if parts[1] else C @ U[:3].T @ U[:3]
        unscaled = 1.0 if parts[3] is None else np.where(np.isfinite(parts[3]), parts[3], 0.0)
        np.testing.assert_allclose(back / scale, CENTER + kept * unscaled, atol=1e-11)


def test_a_triangle_is_applied_as_it_is():
    W = triangular_root(U, np.array([3.0, 2, 1, 0.5, 0.1]), 0.0, None)
    mapping = Whitening(U, CENTER, None, np.ones(5), triangle=W)
    Z = mapping.apply(as_rows(X))
    np.testing.assert_allclose(Z, (X - CENTER) @ W.T, atol=1e-11)
    np.testing.assert_allclose(mapping.undo(Z), X, atol=1e-11)
    assert mapping.apply(as_rows(X.astype("f4"))).dtype == np.float32


def test_one_pass_measures_the_rows():
    for scale, divisor in product([1e-150, 1.0, 1e150], [None, DIVISOR]):
        mapping = make(False, 0.0, None, divisor, scale)
        result = mapping.measure(as_rows(X * scale), scores=True, keep=True)
        C = (X - CENTER) / (1.0 if divisor is None else divisor)
        Z = C @ U[:3].T / DEVIATIONS
        np.testing.assert_allclose(result.products, Z.T @ Z, rtol=1e-10, atol=1e-9)
        squares = ((X - CENTER) ** 2).sum(axis=0) * (1.0 if divisor is None else np.isfinite(divisor))
        np.testing.assert_allclose(result.squares / scale / scale, squares, rtol=1e-10)
        norms = (C**2).sum(axis=1)
        assert result.fourth == pytest.approx((norms**2).sum() / norms.sum() ** 2)
        again = mapping.apply(as_rows(X * scale), result.scores)
        np.testing.assert_allclose(again, mapping.apply(as_rows(X * scale)), atol=1e-12)
        np.testing.assert_allclose(result.means / scale, 0, atol=1e-13)
        without = mapping.measure(as_rows(X * scale), scores=False)
        assert without.scores is None
        np.testing.assert_allclose(without.squares, result.squares, rtol=1e-14)


@pytest.mark.parametrize("parts", MAPS)
def test_the_cross_covariance_is_that_of_the_rows(parts):
    covariance = U[:3].T @ np.diag(DEVIATIONS**2) @ U[:3]
    correction = parts[2]
    if correction is not None:
        T = np.linalg.inv(correction) @ np.linalg.inv(correction)
        covariance = U[:3].T @ np.diag(DEVIATIONS) @ T @ np.diag(DEVIATIONS) @ U[:3]
    mapping = make(*parts)
    unscaled = np.ones(5) if parts[3] is None else np.where(np.isfinite(parts[3]), parts[3], 0.0)
    # W of the divided columns, the covariance of these, and the columns' own unit.
    W = inner(*parts[:3], None)
    expected = W @ covariance * unscaled
    np.testing.assert_allclose(mapping.cross_covariance(DEVIATIONS**2), expected, atol=1e-13)


def test_array_kinds_are_kept(array_kind):
    for parts in MAPS:
        mapping = make(*parts)
        Z = mapping.apply(as_rows(array_kind.make(X)))
        assert array_kind.same(Z) or array_kind.name == "numpy-read-only"
        exact = array_kind.dtype == np.float64
        np.testing.assert_allclose(to_numpy(Z), (X - CENTER) @ inner(*parts).T, atol=1e-11 if exact else 2e-4)
        back = mapping.undo(Z)
        assert array_kind.same(back) or array_kind.name == "numpy-read-only"
        np.testing.assert_allclose(
            to_numpy(back), mapping.undo(to_numpy(Z).astype("f8")), atol=1e-11 if exact else 1e-4
        )


def test_nan_and_rows_too_far_away_are_refused():
    bad = X.copy()
    bad[7, 2] = np.nan
    for parts in MAPS:
        with pytest.raises(DataError, match=r'Input X contains NaN: row 7, column 2\. Use missing="em"'):
            make(*parts).apply(as_rows(bad, check_finite=False))
    far = X.copy()
    far[3] = 1e307
    small = Whitening(U[:3], CENTER, None, DEVIATIONS * 1e-10)
    with pytest.raises(DataError, match="Whitened values of a row far from the fitted rows exceed"):
        small.apply(as_rows(far))


def test_what_the_means_had_left_is_measured():
    off = np.array([1e-3, -2e-3, 0.0, 5e-4, 1e-3])
    mapping = Whitening(U[:3], CENTER + off, None, DEVIATIONS)
    result = mapping.measure(as_rows(X), scores=True, keep=True)
    exact = Whitening(U[:3], CENTER, None, DEVIATIONS).measure(as_rows(X), scores=True, keep=True)
    np.testing.assert_allclose(result.means, -off, atol=1e-13)
    np.testing.assert_allclose(result.products, exact.products, atol=1e-9)
    np.testing.assert_allclose(result.squares, exact.squares, rtol=1e-12)
    np.testing.assert_allclose(result.scores, exact.scores, atol=1e-11)
