"""Kernels as callables in scikit-learn's estimators."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from gramian.errors import ParameterError
from gramian.kernels import RBF, Laplacian, Matern, kernel_from_name


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 3.0, (40, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(40)


def test_machines_ridges_and_searches_take_kernels(rows):
    X, y = rows
    labels, new = y > np.median(y), X[:9] + 0.1
    for kernel in (2.0 * RBF(sigma=0.8) + 0.5, Matern(0.9, nu=1.5) * Laplacian(0.2), RBF(gamma=0.4) ** 1.7):
        machine = SVC(kernel=kernel).fit(X, labels)
        expected = SVC(kernel="precomputed").fit(kernel.gram(X), labels)
        assert_allclose(
            machine.decision_function(new), expected.decision_function(kernel.gram(new, X)), rtol=1e-8
        )
        ridge = KernelRidge(kernel=kernel, alpha=0.1).fit(X, y)
        expected = KernelRidge(kernel="precomputed", alpha=0.1).fit(kernel.gram(X), y)
        assert_allclose(ridge.predict(new), expected.predict(kernel.gram(new, X)), rtol=1e-8)
        # float32 rows too: the optimizers take float64.
        assert kernel(X.astype(np.float32)).dtype == np.float64
    labels = y > np.median(y)
    kernels = [2.0 * RBF(sigma=sigma) for sigma in (0.001, 1.0)]
    search = GridSearchCV(SVC(), {"kernel": kernels}, cv=3).fit(X, labels)
    assert search.best_params_["kernel"] == kernels[1]
    copy = clone(SVC(kernel=kernels[1]))
    assert copy.kernel == kernels[1]


def test_a_width_of_the_rows_must_be_filled_in_before_a_fit(rows):
    X, y = rows
    labels, new = y > np.median(y), 0.3 * X[:9] + 2.0
    for kernel in (
        RBF("median"),
        2.0 * Laplacian("median") + 1.0,
        kernel_from_name("dot(x, y) * rbf(gamma='scale')"),
    ):
        with pytest.raises(ParameterError, match=r"depends on the rows.*kernel\.resolve\(X\)"):
            SVC(kernel=kernel).fit(X, labels)
        fixed = kernel.resolve(X)
        # Rows of a prediction leave the width as it is.
        machine = SVC(kernel=fixed).fit(X, labels)
        values = machine.predict(new)
        assert_array_equal([machine.predict(row[None])[0] for row in new], values)
        with pytest.raises(ParameterError, match="two tables of rows"):
            kernel.gram(new, X)
        assert_array_equal(kernel.gram(X, X), kernel.resolve(X).gram(X))
    machine = SVC(kernel=RBF("median").resolve(X)).fit(X, labels)
    gamma = 0.5 / np.median(pdist(X)) ** 2
    expected = SVC(kernel="rbf", gamma=gamma).fit(X, labels)
    assert_allclose(machine.decision_function(new), expected.decision_function(new), rtol=1e-6, atol=1e-9)
    # A column with that name is none.
    RBF(gamma=1.0).on("scale").check_numbers("")
