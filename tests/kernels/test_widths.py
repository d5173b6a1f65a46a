"""Widths: the median distance against all distances written out, and gamma="scale" as SVC has it."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from gramian import KernelPCA, kernels
from gramian.errors import DataError, ParameterError
from gramian.kernels.widths import MEDIAN_ROWS, median_distance


def rows(n, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def literal(X, power=2):
    """The median over all pairs i < j."""
    X = np.asarray(X, dtype=np.float64)
    n = len(X)
    pairs = [np.sum(np.abs(X[i] - X[j]) ** power) ** (1 / power) for i in range(n) for j in range(i)]
    return float(np.median(pairs))


def test_it_is_the_median_of_all_pairs_in_any_unit_and_with_any_offset():
    for offset in [0.0, 1.0, 1e4, 1e8]:
        X = rows(60) + offset
        assert median_distance(X) == pytest.approx(literal(X), rel=1e-9)
        far = np.vstack([X, X[:5] + 1e6])
        assert median_distance(far) == pytest.approx(literal(far), rel=1e-9)
    for n in [2, 3, 4, 5, 10, 41]:
        for d in [1, 3, 20]:
            X = rows(n, d)
            assert median_distance(X) == pytest.approx(literal(X), rel=1e-12), (n, d)
            assert median_distance(X, "cityblock") == pytest.approx(literal(X, 1), rel=1e-12), (n, d)
    for scale in [1e-150, 1e-99, 1e-20, 1e20, 1e99, 1e150]:
        X = rows(40)
        assert median_distance(X * scale) / scale == pytest.approx(literal(X), rel=1e-12), scale
        assert median_distance(X * scale, "cityblock") / scale == pytest.approx(literal(X, 1), rel=1e-12), (
            scale
        )
    near = np.concatenate([rows(30), rows(10, seed=1) + 1e7])
    assert median_distance(near) == pytest.approx(literal(near), rel=1e-8)
    tight = np.concatenate([1e-5 * rows(50), 1e-5 * rows(3, seed=1) + 1e7])
    assert median_distance(tight) == pytest.approx(literal(tight), rel=1e-8)
    X = np.repeat(rows(20), 2, axis=0)
    assert median_distance(X) == pytest.approx(literal(X), rel=1e-12)
    X = np.concatenate([np.zeros((30, 2)), [[3.0, 4.0]], [[0.0, 1.0]]])
    assert literal(X) == 0
    apart = pdist(X)
    assert median_distance(X) == np.median(apart[apart > 0])
    assert median_distance(X, "cityblock") > 0


def test_rows_between_the_chosen_ones_are_not_seen(monkeypatch):
    assert MEDIAN_ROWS == 1000
    n = 500
    monkeypatch.setattr(kernels.widths, "MEDIAN_ROWS", n)
    X = np.zeros((2 * n - 1, 1))
    X[::2, 0] = np.arange(n)
    X[1::2] = 1e9
    assert median_distance(X) == pytest.approx(n * (1 - np.sqrt(0.5)), abs=1)


def test_equal_rows_have_no_width_and_arrays_of_other_kinds_the_same():
    for X in [np.ones((5, 2)), np.zeros((3, 1)), np.ones((1, 4)), np.full((4, 2), 1e8)]:
        for metric in ["euclidean", "cityblock"]:
            with pytest.raises(DataError, match=r"The median distance of rows is 0, which is no width\."):
                median_distance(X, metric)
    X = rows(30)
    torch = pytest.importorskip("torch")
    assert median_distance(torch.asarray(X)) == median_distance(X)
    assert median_distance(X.astype("f4")) == pytest.approx(literal(X.astype("f4")), rel=1e-12)
    assert median_distance(np.arange(10)[:, None]) == 3.0


def test_kernels_take_the_median_for_their_width():
    for kernel, name in [
        (kernels.RBF(sigma="median"), "gamma"),
        (kernels.RBF(gamma="median"), "gamma"),
        (kernels.Matern("median"), "length_scale"),
    ]:
        X = rows(50)
        median = literal(X)
        result = getattr(kernel.resolve(X), name)
        assert result == pytest.approx(0.5 / median**2 if name == "gamma" else median, rel=1e-12)
        assert_allclose(kernel.gram(X), type(kernel)(median).gram(X), rtol=1e-9)
    X = rows(50)
    assert kernels.Laplacian("median").resolve(X).gamma == pytest.approx(1 / literal(X, 1), rel=1e-12)
    assert kernels.RationalQuadratic("median").resolve(X).length_scale == pytest.approx(literal(X), rel=1e-12)
    # A part of a kernel sees the rows of its own.
    both = kernels.RBF(sigma="median").on(0) + kernels.Laplacian("median").on(1, 2)
    resolved = both.resolve(X)
    assert resolved.left.kernel.gamma == pytest.approx(0.5 / literal(X[:, :1]) ** 2, rel=1e-12)
    assert resolved.right.kernel.gamma == pytest.approx(1 / literal(X[:, 1:3], 1), rel=1e-12)
    for kernel in [kernels.RBF(sigma="median"), kernels.RBF(gamma="median"), kernels.Matern("median")]:
        with pytest.raises(ParameterError, match=r"has a square that float64 cannot hold\. Scale the data"):
            kernel.resolve(rows(5) * 1e-157)


X, y = load_iris(return_X_y=True)
GAMMA = 1.0 / (4 * X.var())


@pytest.mark.filterwarnings("ignore::gramian.errors.IndefiniteKernelWarning")  # of sigmoid
def test_every_kernel_with_a_gamma_takes_it():
    for cls in (kernels.RBF, kernels.Laplacian, kernels.ChiSquared, kernels.Polynomial, kernels.Sigmoid):
        kernel = cls(gamma="scale")
        assert kernel.resolve(X).gamma == pytest.approx(GAMMA, rel=1e-12)
        assert kernels.kernel_from_name(repr(kernel)) == kernel
        assert kernel.validity.status == cls(gamma=0.3).validity.status
        assert "gamma" in str(kernel) or "scale" in str(kernel)
        model = KernelPCA(2, kernel=kernel.name, gamma="scale", coef0=0.1).fit(X)
        assert model.gamma_ == pytest.approx(GAMMA, rel=1e-12)
        with pytest.raises(ParameterError, match="must be a"):
            cls(gamma="scales").gram(X)


def test_it_is_the_one_of_svc(array_kind):
    machine = SVC(gamma="scale").fit(X, y)
    for rows in (X, sp.csr_matrix(X), sp.csc_array(X), array_kind.make(X)):
        gamma = kernels.RBF(gamma="scale").resolve(rows).gamma
        assert gamma == pytest.approx(machine._gamma, rel=1e-6)
    # Of one value everywhere SVC takes 1.
    assert kernels.RBF(gamma="scale").resolve(np.full((3, 2), 7.0)).gamma == 1.0
    offset = sp.csr_array(1e8 + np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert kernels.RBF(gamma="scale").resolve(offset).gamma == pytest.approx(0.5, rel=1e-6)
    for far in (1e200 * X, sp.csr_array(1e200 * X)):
        with pytest.raises(DataError, match=r"has no value: X\.var\(\) is inf\. Scale the data\."):
            kernels.RBF(gamma="scale").resolve(far)


def test_the_gamma_that_was_used():
    for settings, gamma in [
        ({"kernel": "rbf"}, 0.25),
        ({"kernel": "poly", "gamma": 0.1}, 0.1),
        ({"kernel": kernels.RBF(sigma=2.0)}, 0.125),
        ({"kernel": "linear"}, None),
        ({"kernel": "rbf + linear"}, None),
        ({"kernel": "precomputed"}, None),
    ]:
        rows = X @ X.T if settings["kernel"] == "precomputed" else X
        assert KernelPCA(2, **settings).fit(rows).gamma_ == gamma
    median = KernelPCA(2, kernel="rbf", gamma="median").fit(X)
    assert median.gamma_ == median.kernel_.gamma
    assert not hasattr(KernelPCA(2), "gamma_")
