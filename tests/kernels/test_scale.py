"""gamma="scale": 1 over the number of features times the variance of all entries, as SVC has it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from gramian import KernelPCA
from gramian.errors import DataError, ParameterError
from gramian.kernels import RBF, ChiSquared, Laplacian, Polynomial, Sigmoid, kernel_from_name

X, y = load_iris(return_X_y=True)
GAMMA = 1.0 / (4 * X.var())


@pytest.mark.filterwarnings("ignore::gramian.errors.IndefiniteKernelWarning")  # of sigmoid
def test_every_kernel_with_a_gamma_takes_it():
    for cls in (RBF, Laplacian, ChiSquared, Polynomial, Sigmoid):
        kernel = cls(gamma="scale")
        assert kernel.resolve(X).gamma == pytest.approx(GAMMA, rel=1e-12)
        assert kernel_from_name(repr(kernel)) == kernel
        assert kernel.validity.status == cls(gamma=0.3).validity.status
        assert "gamma" in str(kernel) or "scale" in str(kernel)
        model = KernelPCA(2, kernel=kernel.name, gamma="scale", coef0=0.1).fit(X)
        assert model.gamma_ == pytest.approx(GAMMA, rel=1e-12)
        with pytest.raises(ParameterError, match="must be a"):
            cls(gamma="scales").gram(X)


def test_it_is_the_one_of_svc(array_kind):
    machine = SVC(gamma="scale").fit(X, y)
    for rows in (X, sp.csr_matrix(X), sp.csc_array(X), array_kind.make(X)):
        gamma = RBF(gamma="scale").resolve(rows).gamma
        assert gamma == pytest.approx(machine._gamma, rel=1e-6)
    # Of one value everywhere SVC takes 1.
    assert RBF(gamma="scale").resolve(np.full((3, 2), 7.0)).gamma == 1.0
    offset = sp.csr_array(1e8 + np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert RBF(gamma="scale").resolve(offset).gamma == pytest.approx(0.5, rel=1e-6)
    for far in (1e200 * X, sp.csr_array(1e200 * X)):
        with pytest.raises(DataError, match=r"has no value: X\.var\(\) is inf\. Scale the data\."):
            RBF(gamma="scale").resolve(far)


def test_the_gamma_that_was_used():
    for settings, gamma in [
        ({"kernel": "rbf"}, 0.25),
        ({"kernel": "poly", "gamma": 0.1}, 0.1),
        ({"kernel": RBF(sigma=2.0)}, 0.125),
        ({"kernel": "linear"}, None),
        ({"kernel": "rbf + linear"}, None),
        ({"kernel": "precomputed"}, None),
    ]:
        rows = X @ X.T if settings["kernel"] == "precomputed" else X
        assert KernelPCA(2, **settings).fit(rows).gamma_ == gamma
    median = KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    assert median.gamma_ == median.kernel_.gamma
    assert not hasattr(KernelPCA(2), "gamma_")
