"""The kernels that are compared."""

import numpy as np
import pandas
import pytest
from scipy.spatial.distance import pdist

from gramian import KernelPCA
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.kernels import RBF, Cosine, Laplacian, Linear, Polynomial
from gramian.select.choose_kernel import as_candidates, default_kernels
from gramian.tables.as_rows import as_rows

X = np.random.default_rng(0).standard_normal((40, 3))
ROWS = as_rows(X)


def test_the_default_list_follows_the_columns_and_the_scale():
    result = default_kernels(X)
    middle, sums = np.median(pdist(X)), np.median(pdist(X, "cityblock"))
    factor = 1 / np.median(np.sum(X**2, axis=1))
    widths = [f * middle for f in (4, 2, 1, 0.5, 0.25, 0.125)]
    assert [type(k) for k in result] == [Linear, Cosine, *[Polynomial] * 2, *[RBF] * 6, *[Laplacian] * 2]
    assert [k.degree for k in result[2:4]] == [2, 3]
    np.testing.assert_allclose([k.gamma for k in result[2:4]], factor, rtol=1e-3)
    np.testing.assert_allclose([k.sigma for k in result[4:10]], widths, rtol=1e-3)
    np.testing.assert_allclose([k.gamma for k in result[10:]], [0.5 / sums, 1 / sums], rtol=1e-3)
    assert all(len(f"{k.sigma:g}") <= 6 for k in result[4:10])
    assert not any(isinstance(k, Cosine) for k in default_kernels(X[:, :1]))
    for scale in [2.0**-498, 2.0**498]:
        for plain, scaled in zip(default_kernels(X), default_kernels(X * scale), strict=True):
            if isinstance(plain, RBF):
                assert scaled.sigma == pytest.approx(plain.sigma * scale, rel=1e-3)
            if isinstance(plain, Polynomial):
                assert scaled.gamma * scale * scale == pytest.approx(plain.gamma, rel=1e-3)
    sparse = np.zeros((40, 3))
    sparse[:5] = np.abs(X[:5])
    names = [type(k).__name__ for k in default_kernels(sparse)]
    assert {"Polynomial", "RBF"} <= set(names)
    rows = np.zeros((2001, 2))
    rows[1] = 1.0
    assert default_kernels(rows)[0] == Linear()


def test_names_expressions_objects_functions_and_models():
    def product(a, b):
        return float(a @ b)

    given = [
        "linear",
        "rbf(sigma=2) + 0.5*linear",
        RBF(sigma=1.5),
        product,
        KernelPCA(7, kernel="rbf", gamma=0.3),
    ]
    result = as_candidates(given, ROWS)
    assert [repr(one.kernel) for one in result[:3]] == [
        "linear()",
        "rbf(sigma=2) + 0.5 * linear()",
        "rbf(sigma=1.5)",
    ]
    assert result[3].kernel.function is product
    assert result[4].kernel == RBF(gamma=0.3)
    assert [one.n_components for one in result] == [None] * 4 + [7]
    assert result[4].gamma is None
    (one,) = as_candidates([KernelPCA(kernel="poly", degree=2, preimage="ridge", center=False)], ROWS)
    assert one.kernel == Polynomial(2, 1 / 3, 1.0)
    assert (one.preimage, one.center, one.degree) == ("ridge", False, 3)
    (one,) = as_candidates(["rbf(sigma=(1, 2, 3))"], ROWS)
    assert repr(one.kernel) == "rbf(sigma=(1, 2, 3))"
    frame = as_rows(pandas.DataFrame(X, columns=["a", "b", "c"]))
    result = as_candidates(
        ["rbf", "rbf(sigma='median')", "laplacian(gamma='median')", "linear.on('b')"], frame
    )
    assert result[0].kernel == RBF(gamma=1 / 3)
    assert result[1].kernel.gamma == pytest.approx(0.5 / np.median(pdist(X)) ** 2)
    assert result[2].kernel.gamma == pytest.approx(1 / np.median(pdist(X, "cityblock")))
    assert repr(result[3].kernel) == "linear().on(1)"


def test_what_is_wrong_is_said():
    for given, kind, match in [
        ([], InputTypeError, r"candidates=\[\] is not"),
        ("rbf", InputTypeError, "is not a list of"),
        (RBF(), InputTypeError, r"candidates=rbf\(\) is"),
        (3, InputTypeError, "candidates=3 is not a"),
        (["rbff"], ParameterError, r"is not known\. Did you"),
        ([None], InputTypeError, "kernel=None is not a"),
        (["precomputed"], ParameterError, "cannot be compared: a"),
        ([KernelPCA(kernel="precomputed")], ParameterError, "cannot be compared: a"),
        ([KernelPCA(0.9)], ParameterError, "The n_components of"),
        ([KernelPCA("parallel")], ParameterError, "The n_components of"),
        ([KernelPCA(0)], ParameterError, "The n_components of"),
        (["rbf(sigma=(1, 2))"], ParameterError, "sigma has 2 widths"),
    ]:
        with pytest.raises(kind, match=match):
            as_candidates(given, ROWS)
    with pytest.raises(DataError, match=r"The median distance of rows is 0, which is no width\. Give"):
        as_candidates(["rbf(sigma='median')"], as_rows(np.ones((5, 2))))
