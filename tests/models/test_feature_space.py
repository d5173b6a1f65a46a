"""Pre-images by their definitions: the feature space, the search within it, and the learned map."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brute, minimize, rosen, rosen_der

from gramian.kernels import RBF, ChiSquared, Matern, Polynomial, RationalQuadratic
from gramian.models.kernel_pca import preimages

KERNELS = {
    "rbf": RBF(gamma=0.3),
    "matern": Matern(1.5, nu=1.5),
    "rq": RationalQuadratic(1.5, alpha=1.0),
    "rbf-sum": RBF(gamma=0.1) + 0.5 * RBF(gamma=2.0),
    "poly": Polynomial(degree=3, gamma=0.4),
    "mixed": RBF(gamma=0.3) + 0.2 * Polynomial(degree=2, gamma=0.5),
    "chi2": ChiSquared(0.7),
}
SMOOTH = ("rbf", "matern", "rq")


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
    return preimages.FeatureSpace(bound, X, alpha, vectors * np.sqrt(values), weights, t, mean)


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
        assert_array_equal(preimages.nearest_rows(space, Z), expected)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.walk
def test_pre_images_are_minima_and_never_worse_than_a_fitted_row(name):
    for center in [True, False]:
        space = space_of(KERNELS[name], rows(), center=center)
        bound = space.evaluator
        left, right = bound.encode(rows(8, seed=1))[0], bound.encode(space.rows)[1]
        Z = bound.tile(left, right) @ space.coefficients - space.row_means @ space.coefficients
        result = preimages.minimised(space, Z)
        assert result[1].all()
        errors = preimages.residuals(space, result[0], Z)
        least = preimages.residuals(space, space.rows[preimages.nearest_rows(space, Z)], Z)
        assert np.all(errors <= least + 1e-12)
        for x, z, error in zip(result[0], Z, errors, strict=True):
            local = minimize(
                lambda x, z=z, space=space: definition(space, x[None], z)[0],
                x,
                method="L-BFGS-B",
                options={"ftol": 1e-15, "gtol": 1e-9},
            )
            assert error**2 <= local.fun + 1e-7
            assert_allclose(x, local.x, atol=2e-3)


@pytest.mark.walk
def test_a_search_of_the_whole_plane_finds_nothing_better():
    space = space_of(KERNELS["rbf"], rows())
    Z = space.scores[:3] + 0.05
    result = preimages.minimised(space, Z)
    for z, error in zip(Z, preimages.residuals(space, result[0], Z), strict=True):
        best = brute(
            lambda x, z=z: definition(space, x[None], z)[0], ((-1, 5), (-1, 5)), Ns=25, full_output=True
        )[1]
        assert error**2 <= best + 1e-6


def test_the_fixed_point_is_that_of_mika_and_goes_on_by_quasi_newton():
    space = space_of(KERNELS["rbf"], rows())
    Z = space.scores[:4] * 0.9
    result = preimages.minimised(space, Z)
    for b, z in enumerate(Z):
        g = space.coefficients @ z + 1.0 / len(space.rows)
        x = space.rows[preimages.nearest_rows(space, z[None])[0]]
        for _ in range(2000):
            weights = g * np.exp(-0.3 * np.sum((x - space.rows) ** 2, axis=1))
            x = weights @ space.rows / weights.sum()
        assert_allclose(result[0][b], x, atol=1e-4)
    # The centre lies far away because the sum of weights is nearly 0, or has no meaning; f = x^2 / 2.
    for stiffness in (1e-9, -3.0, 0.0):

        def objective(X, rows, stiffness=stiffness):
            return preimages.Local(np.sum(X**2, axis=1) / 2, X, np.full((len(X), 1), stiffness))

        result = preimages.fixed_points(objective, np.ones((2, 3)), tol=1e-9, limit=50)
        assert result[1].all()
        assert_allclose(result[0], 0.0, atol=1e-8)


def test_a_start_is_used_where_it_is_nearer():
    X = np.array([[0.0, 0.0], [10.0, 10.0], [20.0, 0.0], [0.0, 20.0]])
    space = space_of(RBF(gamma=0.5), X, r=3)
    # Seen from the mean every place far from all rows looks alike: only the start knows of this one.
    Z = np.zeros((1, 3))
    far = preimages.minimised(space, Z, np.array([[0.01, 0.0]]))
    near = preimages.minimised(space, Z)
    assert preimages.residuals(space, far[0], Z)[0] <= preimages.residuals(space, near[0], Z)[0] + 1e-9
    own = preimages.residuals(space, np.array([[0.3, 0.2]]), space.scores[:1])[0]
    started = preimages.minimised(space, space.scores[:1], np.array([[0.3, 0.2]]))
    assert preimages.residuals(space, started[0], space.scores[:1])[0] < own


def test_batches_do_not_matter(monkeypatch):
    space = space_of(KERNELS["matern"], rows())
    whole = preimages.minimised(space, space.scores)[0]
    monkeypatch.setattr(preimages, "COLUMNS", 6)
    monkeypatch.setattr(preimages, "BLOCK_BYTES", 8)
    assert_allclose(preimages.minimised(space, space.scores)[0], whole, atol=1e-4)


def smooth(values, gradient):
    """What is known of a function without a centre to step to."""
    return preimages.Local(values, gradient, np.zeros((len(values), 1)))


def rosenbrock(X, rows):
    return smooth(np.array([rosen(x) for x in X]), np.array([rosen_der(x) for x in X]))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_bowl_and_curved_valleys_are_followed(rng):
    B = rng.standard_normal((8, 3))
    right = rng.standard_normal((5, 8))

    def objective(X, rows):
        away = X @ B.T - right[rows]
        return smooth(0.5 * np.sum(away**2, axis=1), away @ B)

    result = preimages.quasi_newton(objective, np.full((5, 3), 2.0), tol=1e-9, limit=200)
    assert result[1].all()
    expected = np.array([np.linalg.lstsq(B, r)[0] for r in right])
    assert_allclose(result[0], expected, atol=1e-5)
    start = rng.uniform(-1.5, 1.5, (6, 3))
    result = preimages.quasi_newton(rosenbrock, start, tol=1e-8, limit=500)
    assert result[1].all()
    for x, begin in zip(result[0], start, strict=True):
        assert_allclose(rosen(x), minimize(rosen, begin, jac=rosen_der, tol=1e-12).fun, atol=1e-9)
    start = rng.uniform(-1.5, 1.5, (4, 3))
    before = rosenbrock(start, np.arange(4)).values
    for limit in range(1, 12):
        result = preimages.quasi_newton(rosenbrock, start, tol=0.0, limit=limit)
        assert np.all(rosenbrock(result[0], np.arange(4)).values <= before)


def test_saddles_are_left_and_what_is_no_number_is_not_stepped_into():
    def objective(X, rows):
        inside = X[:, 0] > -1
        value = np.where(inside, X[:, 0], np.nan)
        return smooth(value, np.where(inside[:, None], [[50.0, 0.0, 0.0]], np.nan))

    result = preimages.quasi_newton(objective, np.zeros((2, 3)), tol=1e-8, limit=20)
    assert np.isfinite(result[0]).all()
    assert np.all(result[0][:, 0] > -1)
    assert not result[1].any()

    def objective(X, rows):
        # Falls ever faster until |x| = 1000, and rises beyond.
        x = X[:, 0]
        value = np.where(np.abs(x) < 1000, -(x**2), (x**2) - 2e6)
        return smooth(
            value / 1e6, np.column_stack([np.where(np.abs(x) < 1000, -2 * x, 2 * x), 0 * x, 0 * x]) / 1e6
        )

    result = preimages.quasi_newton(objective, np.array([[1.0, 0.0, 0.0]]), tol=1e-9, limit=60)
    assert result[0][0, 0] > 500


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
        learned = preimages.learn_map(Z, Y)
        assert (learned.width is not None) == bent
        A = features(learned, Z)
        centred, mean = A - A.mean(axis=0), Y.mean(axis=0)
        beta = np.linalg.solve(
            centred.T @ centred + learned.penalty * np.eye(A.shape[1]), centred.T @ (Y - mean)
        )
        new = rng.standard_normal((5, 2))
        expected = (features(learned, new) - A.mean(axis=0)) @ beta + mean
        assert_allclose(learned(new), expected, rtol=1e-6, atol=1e-8)
        assert learned.score == pytest.approx(criterion(A, Y, learned.penalty), rel=1e-6)


def test_no_other_penalty_is_better_for_any_number_of_components():
    for bent in [False, True]:
        Z, rng = data(seed=3)
        Y = np.sin(Z) if bent else Z @ rng.standard_normal((2, 2))
        Y = Y + 0.3 * rng.standard_normal(Y.shape)
        learned = preimages.learn_map(Z, Y)
        A = features(learned, Z)
        centred = A - A.mean(axis=0)
        for share in preimages.PENALTIES:
            if share > 1e-10:  # below, the oracle's matrix is singular
                score = criterion(A, Y, share * np.linalg.norm(centred) ** 2)
                assert learned.score <= score * (1 + 1e-6)
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((6, 2))
    wide = preimages.learn_map(rng.standard_normal((6, 5)), Y)
    assert np.isfinite(wide(rng.standard_normal((3, 5)))).all()
    assert wide.penalty > 0
    none = preimages.learn_map(np.zeros((6, 0)), Y)
    assert_allclose(none(np.zeros((2, 0))), np.tile(Y.mean(axis=0), (2, 1)))
    flat = preimages.learn_map(np.zeros((6, 2)), np.full((6, 3), 7.0))
    assert_allclose(flat(np.ones((1, 2))), np.full((1, 3), 7.0))


def test_lines_come_back_to_rounding_curves_need_more_and_noise_is_shrunk():
    Z, rng = data()
    B, c = rng.standard_normal((2, 4)), 1e3 * rng.standard_normal(4)
    learned = preimages.learn_map(Z, Z @ B + c)
    assert learned.width is None
    new = 10 * rng.standard_normal((6, 2))
    assert_allclose(learned(new), new @ B + c, rtol=1e-12, atol=1e-9)
    t = np.linspace(-3, 3, 200)[:, None]
    learned = preimages.learn_map(t, np.hstack([np.sin(t), np.cos(t)]))
    middle = np.array([[0.123], [1.234]])
    assert_allclose(learned(middle), np.hstack([np.sin(middle), np.cos(middle)]), atol=1e-3)
    Z, rng = data(n=60)
    Y = rng.standard_normal((60, 3))
    learned = preimages.learn_map(Z, Y)
    assert_allclose(learned(np.zeros((1, 2)))[0], Y.mean(axis=0), atol=0.5)


def test_many_components_and_rows_are_cut_to_what_can_be_solved(monkeypatch):
    monkeypatch.setattr(preimages, "COMPONENTS", 3)
    monkeypatch.setattr(preimages, "LANDMARKS", 7)
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((50, 9))
    learned = preimages.learn_map(Z, np.sin(2 * Z))
    assert learned.linear.shape == (3, 9)
    assert len(learned.landmarks) in (0, 7)
    assert learned(Z).shape == (50, 9)
