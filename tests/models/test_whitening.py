"""The formulas of whitening against their definitions and against scikit-learn."""

from itertools import product

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage, oas

from gramian.core.arrays import to_numpy
from gramian.core.records import Spectrum
from gramian.errors import ParameterError
from gramian.models.whitener import Whitener
from gramian.models.whitening import (
    check_regularization,
    correction_of,
    orthonormal_rows,
    regularized,
    shrinkage_intensity,
    triangular_root,
)
from gramian.statistics.projection import divided, inverse_deviations, multiplied
from helpers import spectrum_matrix


def sums(X):
    C = X - X.mean(axis=0)
    total = (C**2).sum()
    return np.linalg.norm(C.T @ C) ** 2 / total**2, (np.sum(C**2, axis=1) ** 2).sum() / total**2


def test_intensities_are_those_of_scikit_learn():
    for n, d, singular in [
        (60, 8, [9, 5, 3, 2, 1, 0.5, 0.2, 0.1]),
        (60, 8, [2, 2, 2, 2, 1.9, 1.9, 1.9, 1.8]),
        (10, 200, [5, 4, 3, 2, 1, 1, 1, 1, 1]),
        (30, 5, [3, 1]),
        (8, 3, [5, 1, 1]),
    ]:
        X = spectrum_matrix(n, d, singular, seed=0, mean=0.3)
        expected = {"ledoit-wolf": ledoit_wolf_shrinkage(X), "oas": oas(X)[1]}
        squares, fourth = sums(X)
        for rule, value in expected.items():
            assert shrinkage_intensity(rule, n, d, squares, fourth) == pytest.approx(value, rel=1e-9)


def test_one_column_is_not_shrunk():
    assert shrinkage_intensity("oas", 10, 1, 1.0, 0.2) == 0
    assert shrinkage_intensity("ledoit-wolf", 10, 1, 1.0, 0.2) == 0


def test_an_intensity_stays_between_0_and_1():
    for rule in ["oas", "ledoit-wolf"]:
        for squares, fourth in [(0.25, 0.5), (0.25 - 1e-17, 0.5), (0.2500001, 0.9), (1.0, 1e-9)]:
            assert 0 <= shrinkage_intensity(rule, 5, 4, squares, fourth) <= 1


def test_scores_without_a_deviation_are_0_and_stay_0():
    deviations = np.array([2.0, 1e-200, 0.0])
    Z = np.array([[4.0, 1e-200, 1e-9]])
    np.testing.assert_array_equal(divided(Z, deviations), [[2.0, 1.0, 0.0]])
    np.testing.assert_array_equal(multiplied(divided(Z, deviations), deviations), [[4.0, 1e-200, 0.0]])
    np.testing.assert_array_equal(inverse_deviations(deviations), [0.5, 1e200, 0.0])
    assert divided(Z.astype("f4"), np.array([2.0, 1.0, 0.0])).dtype == np.float32


def test_the_root_makes_measured_scores_white():
    rng = np.random.default_rng(0)
    T = np.eye(6) + 1e-3 * rng.standard_normal((6, 6))
    T = T @ T.T
    K = correction_of(T, len(T))
    np.testing.assert_allclose(K @ T @ K, np.eye(6), atol=1e-14)
    np.testing.assert_allclose(K, K.T, atol=1e-15)
    assert correction_of(np.eye(6) * (1 + 1e-15), 6) is None


def test_the_root_does_not_amplify_what_is_not_there():
    K = correction_of(np.diag([1.0, 1.0, 1e-12]), 3)
    assert np.abs(K).max() == pytest.approx(2.0)


def test_the_triangle_is_that_of_kessy():
    for scale, deviations in product(
        [1e-150, 1.0, 1e150], [[4, 2, 1, 0.5], [3, 3, 3, 1], [1, 1e-2, 1e-4, 1e-6]]
    ):
        rng = np.random.default_rng(1)
        U = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        deviations = np.array(deviations, dtype=float)
        W = triangular_root(U, deviations * scale, 0.0, None) * scale
        S = (U.T * deviations**2) @ U
        assert (np.tril(W, -1) == 0).all()
        assert (np.diag(W) > 0).all()
        np.testing.assert_allclose(W @ S @ W.T, np.eye(4), atol=1e-15 * (deviations[0] / deviations[-1]) ** 2)
        if deviations[-1] > 1e-3:
            # W = L.T with L L.T = S^-1.
            np.testing.assert_allclose(W, np.linalg.cholesky(np.linalg.inv(S)).T, rtol=1e-11, atol=1e-14)


def test_the_triangle_takes_what_lies_beside_the_directions():
    U = np.linalg.qr(np.random.default_rng(2).standard_normal((6, 2)))[0].T
    S = U.T @ np.diag([9.0, 4.0]) @ U + 0.25 * (np.eye(6) - U.T @ U)
    W = triangular_root(U, np.array([3.0, 2.0]), 0.5, None)
    np.testing.assert_allclose(W, np.linalg.cholesky(np.linalg.inv(S)).T, atol=1e-13)


def test_the_triangle_takes_the_correction():
    rng = np.random.default_rng(3)
    U = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    T = np.eye(4) + 0.05 * np.ones((4, 4))
    root = np.array([3.0, 2.0, 1.0, 0.5])
    W = triangular_root(U, root, 0.0, correction_of(T, len(T)))
    S = U.T @ np.diag(root) @ T @ np.diag(root) @ U
    np.testing.assert_allclose(W @ S @ W.T, np.eye(4), atol=1e-13)
    assert (np.tril(W, -1) == 0).all()


def test_nearly_orthonormal_rows_become_so(array_kind):
    for d in [9, 5000]:
        rng = np.random.default_rng(4)
        U = np.linalg.qr(rng.standard_normal((d, 6)))[0].T
        off = U + 1e-5 * np.triu(rng.standard_normal((6, 6))) @ U
        result = orthonormal_rows(array_kind.make(off))
        assert array_kind.same(result) or array_kind.name == "numpy-read-only"
        result = to_numpy(result).astype("f8")
        np.testing.assert_allclose(
            result @ result.T, np.eye(6), atol=1e-9 if array_kind.dtype == "f8" else 2e-7
        )
        # The nearest such rows: the orthogonal factor of the polar decomposition.
        left, _, right = np.linalg.svd(off, full_matrices=False)
        np.testing.assert_allclose(result, left @ right, atol=1e-9 if array_kind.dtype == "f8" else 2e-7)
        kept = to_numpy(orthonormal_rows(array_kind.make(U)))
        np.testing.assert_array_equal(kept, to_numpy(array_kind.make(U)))


# ------------------------------------------------- what scores are divided by


def test_regularizations_that_are_understood():
    for value, expected in [
        (None, None),
        (0, None),
        (0.0, None),
        (2, 2.0),
        (np.float32(0.5), 0.5),
        ("oas", "oas"),
    ]:
        assert check_regularization(value) == expected


def test_regularizations_that_are_refused():
    for value in [
        -1e-9,
        np.nan,
        np.inf,
        True,
        [1.0],
        1j,
        "ledoit",
    ]:
        with pytest.raises(ParameterError, match="regularization"):
            check_regularization(value)


def test_variances_beyond_the_rank_stay_out():
    products = np.eye(3) * 1.25
    correction = correction_of(products, 2)
    np.testing.assert_allclose(correction, np.diag([1.25**-0.5, 1.25**-0.5, 1.0]))


def spectrum(values, tolerance):
    values = np.array(values)
    return Spectrum(
        values, None, np.zeros(3), values.sum(), None, tolerance, 0.0, "deterministic", "full", True
    )


@pytest.mark.parametrize(("added", "kept"), [(0.5, True), (1e-12, False)])
def test_what_is_added_may_not_be_rounding_itself(added, kept):
    variances = np.array([4.0, 1.0, 0.0])
    amount, values, rest = regularized(added, variances, 5.0, spectrum([4.0, 1.0, 0.0], 1e-10), view(), 0.0)
    np.testing.assert_allclose(values, [4 + added, 1 + added, added if kept else 0])
    np.testing.assert_allclose(rest, added if kept else 0)
    assert amount == added


def view():
    class View:
        class rows:
            shape, weight = (10, 4), 10.0

    return View


@pytest.mark.parametrize("shape", [(60, 200), (200, 60), (900, 500)])
def test_few_components_do_not_change_the_intensity(shape):
    for rule in ["oas", "ledoit-wolf"]:
        X = spectrum_matrix(*shape, 10 * 0.9 ** np.arange(40), seed=0)
        whole = Whitener(regularization=rule).fit(X)
        few = Whitener(regularization=rule, n_components=3, random_state=0).fit(X)
        assert few.regularization_ == pytest.approx(whole.regularization_, rel=1e-9)
        assert 0 < few.regularization_ < 1
        np.testing.assert_allclose(
            few.regularized_eigenvalues_, whole.regularized_eigenvalues_[:3], rtol=1e-9
        )
