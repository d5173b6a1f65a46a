"""Pre-images against explicit Gram matrices, the iteration written out, and brute-force search."""

import numpy as np
import pytest
from scipy.optimize import brute, minimize

from gramian.kernels import RBF, ChiSquared, Matern, Polynomial, RationalQuadratic
from gramian.models.kernel_pca import preimages
from gramian.models.kernel_pca.preimages import FeatureSpace, minimised, nearest_rows, residuals

KERNELS = {
    "rbf": RBF(gamma=0.3),
    "matern": Matern(1.5, nu=1.5),
    "rq": RationalQuadratic(1.5, alpha=1.0),
    "rbf-sum": RBF(gamma=0.1) + 0.5 * RBF(gamma=2.0),
    "poly": Polynomial(degree=3, gamma=0.4),
    "mixed": RBF(gamma=0.3) + 0.2 * Polynomial(degree=2, gamma=0.5),
    "chi2": ChiSquared(0.7),
}
STATIONARY = ("rbf", "matern", "rq", "rbf-sum")


def space_of(kernel, X, r=3, center=True):
    """Kernel PCA by its definition, with all the feature space needs to know."""
    bound = kernel.bind(X, centered=center)
    K = np.asarray(bound.tile(*bound.encode(X)))
    t, mean = (K.mean(axis=1), K.mean()) if center else (np.zeros(len(X)), 0.0)
    values, vectors = np.linalg.eigh(K - t[:, None] - t[None, :] + mean)
    values, vectors = values[::-1][:r], vectors[:, ::-1][:, :r]
    alpha = vectors / np.sqrt(values)
    alpha = alpha - alpha.mean(axis=0) if center else alpha
    weights = np.full(len(X), 1.0 / len(X) if center else 0.0)
    return FeatureSpace(bound, X, alpha, vectors * np.sqrt(values), weights, t, mean)


def definition(space, X, z):
    """||phi(x) - P||^2 by Gram matrices, for P = sum_i g_i phi(x_i)."""
    kernel = space.evaluator.kernel
    g = space.coefficients @ z + space.mean_weights
    K, new = kernel.gram(space.rows), kernel.gram(X, space.rows)
    own = np.array([kernel.gram(x[None])[0, 0] for x in X])
    return own - 2.0 * new @ g + g @ K @ g


def rows(n=25, seed=0, d=2):
    return np.random.default_rng(seed).uniform(0.3, 3.0, (n, d))


@pytest.mark.parametrize("name", KERNELS)
def test_the_nearest_fitted_row_is_the_nearest_in_feature_space(name, monkeypatch):
    for center in [True, False]:
        monkeypatch.setattr(preimages, "COLUMNS", 7)
        space = space_of(KERNELS[name], rows(), r=8, center=center)
        Z = 0.5 * np.random.default_rng(2).standard_normal((9, 8))
        expected = [np.argmin(definition(space, space.rows, z)) for z in Z]
        np.testing.assert_array_equal(nearest_rows(space, Z), expected)


METHODS = [(name, "gradient") for name in KERNELS] + [(name, "fixed-point") for name in STATIONARY]


@pytest.mark.parametrize(("name", "method"), METHODS)
@pytest.mark.walk
def test_pre_images_are_minima_and_never_worse_than_a_fitted_row(name, method):
    for center in [True, False]:
        space = space_of(KERNELS[name], rows(), center=center)
        bound = space.evaluator
        left, right = bound.encode(rows(8, seed=1))[0], bound.encode(space.rows)[1]
        Z = bound.tile(left, right) @ space.coefficients - space.row_means @ space.coefficients
        result = minimised(space, Z, method)
        assert result[1].all()
        errors = residuals(space, result[0], Z)
        least = residuals(space, space.rows[nearest_rows(space, Z)], Z)
        assert np.all(errors <= least + 1e-12)
        low = 0.0 if name == "chi2" else None
        for x, z, error in zip(result[0], Z, errors, strict=True):
            local = minimize(
                lambda x, z=z, space=space: definition(space, x[None], z)[0],
                x,
                method="L-BFGS-B",
                bounds=[(low, None)] * 2,
                options={"ftol": 1e-15, "gtol": 1e-9},
            )
            assert error**2 <= local.fun + 1e-7
            np.testing.assert_allclose(x, local.x, atol=2e-3)


@pytest.mark.parametrize("name", ["rbf", "poly", "mixed"])
@pytest.mark.walk
def test_a_search_of_the_whole_plane_finds_nothing_better(name):
    space = space_of(KERNELS[name], rows())
    Z = space.scores[:3] + 0.05
    result = minimised(space, Z, "fixed-point" if name == "rbf" else "gradient")
    for z, error in zip(Z, residuals(space, result[0], Z), strict=True):
        best = brute(
            lambda x, z=z: definition(space, x[None], z)[0], ((-1, 5), (-1, 5)), Ns=25, full_output=True
        )[1]
        assert error**2 <= best + 1e-6


def test_the_fixed_point_is_that_of_mika_written_out():
    space = space_of(KERNELS["rbf"], rows())
    Z = space.scores[:4] * 0.9
    result = minimised(space, Z, "fixed-point")
    for b, z in enumerate(Z):
        g = space.coefficients @ z + 1.0 / len(space.rows)
        x = space.rows[nearest_rows(space, z[None])[0]]
        for _ in range(2000):
            weights = g * np.exp(-0.3 * np.sum((x - space.rows) ** 2, axis=1))
            x = weights @ space.rows / weights.sum()
        np.testing.assert_allclose(result[0][b], x, atol=1e-4)


def test_a_start_is_used_where_it_is_nearer():
    X = np.array([[0.0, 0.0], [10.0, 10.0], [20.0, 0.0], [0.0, 20.0]])
    space = space_of(RBF(gamma=0.5), X, r=3)
    # Seen from the mean every place far from all rows looks alike: only the start knows of this one.
    Z = np.zeros((1, 3))
    far = minimised(space, Z, "gradient", np.array([[0.01, 0.0]]))
    near = minimised(space, Z, "gradient")
    assert residuals(space, far[0], Z)[0] <= residuals(space, near[0], Z)[0] + 1e-9
    own = residuals(space, np.array([[0.3, 0.2]]), space.scores[:1])[0]
    started = minimised(space, space.scores[:1], "fixed-point", np.array([[0.3, 0.2]]))
    assert residuals(space, started[0], space.scores[:1])[0] < own


def test_histograms_stay_histograms():
    X = rows(20, d=3)
    X[:, 0] = 0.0
    space = space_of(ChiSquared(0.7), X)
    result = minimised(space, 2 * space.scores, "gradient")
    assert np.all(result[0] >= 0)
    np.testing.assert_allclose(result[0][:, 0], 0.0, atol=1e-12)


def test_batches_do_not_matter(monkeypatch):
    space = space_of(KERNELS["mixed"], rows())
    whole = minimised(space, space.scores, "gradient")[0]
    monkeypatch.setattr(preimages, "COLUMNS", 6)
    monkeypatch.setattr(preimages, "BLOCK_BYTES", 8)
    np.testing.assert_allclose(minimised(space, space.scores, "gradient")[0], whole, atol=1e-4)


def test_both_signs_of_a_square_are_as_good():
    X = np.random.default_rng(0).standard_normal((30, 2))
    space = space_of(Polynomial(degree=2, gamma=1.0, coef0=0.0), X, r=3, center=False)
    result = minimised(space, space.scores, "gradient")
    # Three components hold all three monomials, so that nothing is lost but the sign.
    np.testing.assert_allclose(residuals(space, result[0], space.scores), 0.0, atol=1e-4)
    away = np.minimum(np.linalg.norm(result[0] - X, axis=1), np.linalg.norm(result[0] + X, axis=1))
    assert away.max() < 1e-3
