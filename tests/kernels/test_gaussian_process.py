"""Kernels in scikit-learn's Gaussian processes: against its own kernels, and against differences."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process import kernels as theirs
from sklearn.svm import SVC

from gramian.errors import DataError, ParameterError
from gramian.kernels import (
    RBF,
    ChiSquared,
    Constant,
    Cosine,
    FunctionKernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    exp,
    kernel_from_name,
)


def tilted(X, Y):
    return np.exp(X.sum(axis=-1)[:, None] * 0.1 + Y.sum(axis=-1) * 0.1)


WIDTHS = (0.7, 1.3, 2.0)
# Ours, scikit-learn's, and from their theta to ours: the hyperparameters may come in another order.
PAIRS = {
    "rbf": (RBF(sigma=1.3), theirs.RBF(1.3), [0]),
    "rbf-widths": (RBF(sigma=WIDTHS), theirs.RBF(WIDTHS), [0, 1, 2]),
    "matern1": (Matern(1.5, nu=0.5), theirs.Matern(1.5, nu=0.5), [0]),
    "matern3": (Matern(1.5, nu=1.5), theirs.Matern(1.5, nu=1.5), [0]),
    "matern5-widths": (Matern(WIDTHS, nu=2.5), theirs.Matern(WIDTHS, nu=2.5), [0, 1, 2]),
    "matern1-widths": (Matern(WIDTHS, nu=0.5), theirs.Matern(WIDTHS, nu=0.5), [0, 1, 2]),
    "rq": (RationalQuadratic(1.2, alpha=0.7), theirs.RationalQuadratic(1.2, alpha=0.7), [1, 0]),
    "scaled": (2.5 * RBF(sigma=0.8), 2.5 * theirs.RBF(0.8), [0, 1]),
    "sum": (
        Matern(0.9, nu=1.5) + 2.0 * RationalQuadratic(2.0, alpha=1.5),
        theirs.Matern(0.9, nu=1.5) + 2.0 * theirs.RationalQuadratic(2.0, alpha=1.5),
        [0, 1, 3, 2],
    ),
    "product": (RBF(sigma=2.0) * (Linear() + 1.5), theirs.RBF(2.0) * theirs.DotProduct(1.5**0.5), [0, 1]),
    "power": ((Linear() + 0.5) ** 2, theirs.DotProduct(0.5**0.5) ** 2, [0]),
    "constant": (0.5 * RBF(sigma=1.0) + 0.25, 0.5 * theirs.RBF(1.0) + 0.25, [0, 1, 2]),
}
OTHERS = {
    "linear": Linear(),
    "cosine": Cosine(),
    "poly": Polynomial(degree=3, gamma=0.3, coef0=0.7),
    "poly-homogeneous": Polynomial(degree=2, gamma=0.3, coef0=0.0),
    "sigmoid": Sigmoid(gamma=0.2, coef0=0.3),
    "laplacian": Laplacian(0.4),
    "chi2": ChiSquared(0.6),
    "rbf-gamma": RBF(gamma=0.4),
    "rq-widths": RationalQuadratic(WIDTHS, alpha=2.0),
    "constant": Constant(2.0),
    "difference": Polynomial(degree=2, gamma=0.5) - 0.3 * RBF(gamma=0.2),
    "exp": exp(0.2 * Linear()),
    "exp-poly": exp(Polynomial(degree=2, gamma=0.1)),
    "fractional-power": RBF(gamma=0.3) ** 1.7,
    "normalized": (Polynomial(degree=2, gamma=0.4) + Linear()).normalized(),
    "columns": RBF(sigma=(0.5, 2.0)).on(2, 1) + 0.5 * Laplacian(0.2).on(0),
    "after": (3.0 * Matern(0.8)).after(np.sqrt),
    "function": RBF(gamma=0.4) * FunctionKernel(tilted),
}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 3.0, (40, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(40)


def differences(kernel, X, step=1e-5):
    """The derivative by theta, by central differences of the definition's matrix."""
    slopes = []
    for place in np.eye(kernel.n_dims) * step:
        up, down = (kernel.clone_with_theta(kernel.theta + sign * place).gram(X) for sign in (1, -1))
        slopes.append((up - down) / (2 * step))
    return np.stack(slopes, axis=2) if slopes else np.empty((len(X), len(X), 0))


@pytest.mark.parametrize("name", PAIRS)
def test_likelihoods_and_gradients_are_those_of_scikit_learns_kernels(name, rows):
    X, y = rows
    ours, other, places = PAIRS[name]
    a = GaussianProcessRegressor(ours, alpha=0.01, optimizer=None).fit(X, y)
    b = GaussianProcessRegressor(other, alpha=0.01, optimizer=None).fit(X, y)
    mine, gradient = a.log_marginal_likelihood(a.kernel_.theta, eval_gradient=True)
    expected, slopes = b.log_marginal_likelihood(b.kernel_.theta, eval_gradient=True)
    # The parameter of DotProduct is the root of our constant.
    roots = [0.5 if one.name.endswith("sigma_0") else 1.0 for one in other.hyperparameters]
    slopes = slopes * (roots if len(roots) == len(slopes) else 1.0)
    assert mine == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(gradient, slopes[places], rtol=1e-8, atol=1e-8)
    predictions = (process.predict(X[:5] + 0.1, return_std=True) for process in (a, b))
    for one, two in zip(*predictions, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", [*PAIRS, *OTHERS])
def test_gradients_are_those_of_differences(name, rows):
    kernel = OTHERS[name] if name in OTHERS else PAIRS[name][0]
    X = rows[0][:12]
    X = np.vstack([X, X[:1]])  # two equal rows
    K, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_array_equal(K, kernel.gram(X))
    np.testing.assert_array_equal(np.diag(K), kernel.diag(X))
    assert gradient.shape == (13, 13, kernel.n_dims)
    np.testing.assert_allclose(gradient, differences(kernel, X), atol=2e-9 * np.abs(K).max())


def test_a_fit_finds_the_optimum_of_scikit_learns_kernels(rows):
    X, y = rows
    a = GaussianProcessRegressor(2.0 * RBF(sigma=1.0), alpha=0.01, normalize_y=True).fit(X, y)
    b = GaussianProcessRegressor(2.0 * theirs.RBF(1.0), alpha=0.01, normalize_y=True).fit(X, y)
    assert a.log_marginal_likelihood_value_ == pytest.approx(b.log_marginal_likelihood_value_, rel=1e-8)
    np.testing.assert_allclose(a.kernel_.theta, b.kernel_.theta, rtol=1e-4)
    assert isinstance(a.kernel_.kernel.sigma, float)
    assert repr(a.kernel).startswith("2.0 * rbf(sigma=1.0)")  # the caller's own is as it was
    np.testing.assert_allclose(a.predict(X.astype(np.float32)), a.predict(X), rtol=1e-4)
    single = GaussianProcessRegressor(2.0 * RBF(sigma=1.0), alpha=1e-6).fit(X.astype(np.float32), y)
    assert single.L_.dtype == np.float64


def test_kernels_of_both_packages_combine(rows):
    X, y = rows[0][:, :2], rows[1]
    ours = Matern((1.0, 1.0), nu=2.5) + theirs.WhiteKernel(0.1)
    other = theirs.Matern((1.0, 1.0), nu=2.5) + theirs.WhiteKernel(0.1)
    values = [
        GaussianProcessRegressor(kernel, random_state=0, n_restarts_optimizer=1).fit(X, y)
        for kernel in (ours, other, theirs.ConstantKernel(2.0) * RBF(gamma=0.5) + theirs.WhiteKernel(0.1))
    ]
    assert values[0].log_marginal_likelihood_value_ == pytest.approx(
        values[1].log_marginal_likelihood_value_, rel=1e-8
    )
    assert values[2].kernel_.n_dims == 3
    labels = (y > np.median(y)).astype(int) + (y > 2)
    mine, expected = (
        GaussianProcessClassifier(kernel).fit(X, labels) for kernel in (RBF(sigma=1.0), theirs.RBF(1.0))
    )
    np.testing.assert_allclose(mine.predict_proba(X), expected.predict_proba(X), atol=1e-5)


def test_bounds_are_kept_by_clones_and_hold(rows):
    X, y = rows
    kernel = (2.0 * RBF(sigma=WIDTHS)).with_bounds(factor="fixed", kernel__sigma=(0.5, 2.5))
    copy = clone(kernel)
    assert [one.name for one in copy.hyperparameters] == ["factor", "kernel__sigma"]
    np.testing.assert_allclose(copy.bounds, np.log([[0.5, 2.5]] * 3))
    with pytest.warns(Warning, match="upper bound 2.5"):
        fitted = GaussianProcessRegressor(copy, alpha=0.01).fit(X, y)
    assert fitted.kernel_.factor == 2.0
    assert fitted.kernel_(X[:4], eval_gradient=True)[1].shape == (4, 4, 3)
    assert max(fitted.kernel_.kernel.sigma) == pytest.approx(2.5)
    assert (copy + 1.0).n_dims == 4  # a part keeps its bounds
    assert kernel == 2.0 * RBF(sigma=WIDTHS)


def test_what_no_gaussian_process_can_vary(rows):
    X, y = rows
    alone = FunctionKernel(lambda a, b: np.exp(-np.sum((a - b) ** 2)))
    assert GaussianProcessRegressor(alone, alpha=0.01).fit(X, y).kernel_.n_dims == 0
    assert (Constant(0.0) + Polynomial(2, gamma=0.5, coef0=0.0)).n_dims == 1
    for kernel in (RBF(), RBF("median"), 2.0 * Laplacian(), Polynomial(gamma="scale")):
        with pytest.raises(ParameterError, match=r"depends on the rows.*resolve"):
            GaussianProcessRegressor(kernel).fit(X, y)
        GaussianProcessRegressor(kernel.resolve(X), alpha=1.0).fit(X, y)
    with pytest.raises(ParameterError, match="X alone"):
        RBF(gamma=1.0)(X, X[:2], eval_gradient=True)
    with pytest.raises(ParameterError, match=r"no hyperparameter.*It has: gamma"):
        RBF(gamma=1.0).with_bounds(sigma=(1, 2))
    for wrong in ("free", (2, 1), (0, 1), (1, 2, 3)):
        with pytest.raises(ParameterError, match="two positive numbers"):
            RBF(gamma=1.0).with_bounds(gamma=wrong)
    with pytest.raises(ParameterError, match="has 1 hyperparameters"):
        RBF(gamma=1.0).clone_with_theta([0.0, 1.0])
    with pytest.raises(DataError, match="NaN"):
        RBF(gamma=1.0)(np.full((2, 2), np.nan), eval_gradient=True)


def test_a_width_of_the_rows_must_be_filled_in_before_a_fit_of_scikit_learns(rows):
    X, y = rows
    labels, new = y > np.median(y), 0.3 * X[:9] + 2.0
    for kernel in (
        RBF("median"),
        2.0 * Laplacian("median") + 1.0,
        kernel_from_name("dot(x, y) * rbf(gamma='scale')"),
    ):
        for fit in (
            lambda kernel: SVC(kernel=kernel).fit(X, labels),
            lambda kernel: GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, y),
        ):
            with pytest.raises(ParameterError, match=r"depends on the rows.*kernel\.resolve\(X\)"):
                fit(kernel)
            fixed = kernel.resolve(X)
            # Rows of a prediction leave the width as it is.
            values = fit(fixed).predict(new)
            np.testing.assert_allclose([fit(fixed).predict(row[None])[0] for row in new], values, rtol=1e-9)
        with pytest.raises(ParameterError, match="two tables of rows"):
            kernel.gram(new, X)
        np.testing.assert_array_equal(kernel.gram(X, X), kernel.resolve(X).gram(X))
    machine = SVC(kernel=RBF("median").resolve(X)).fit(X, labels)
    gamma = 0.5 / np.median(pdist(X)) ** 2
    expected = SVC(kernel="rbf", gamma=gamma).fit(X, labels)
    np.testing.assert_allclose(
        machine.decision_function(new), expected.decision_function(new), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(
    "first", ["sklearn.gaussian_process", pytest.param("gramian.kernels", marks=pytest.mark.walk)]
)
def test_kernels_are_registered_whichever_is_imported_first(first):
    code = f"""
import sys, {first}, gramian.kernels
assert ("sklearn.gaussian_process.kernels" in sys.modules) == ("{first}" != "gramian.kernels")
from sklearn.gaussian_process import GaussianProcessRegressor
kernel = gramian.kernels.RBF(gamma=0.5)
GaussianProcessRegressor(kernel, alpha=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("gramian")]
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
