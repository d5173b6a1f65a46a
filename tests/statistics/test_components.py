"""Signs, completion of a basis, and the table of variances."""

from dataclasses import replace

import numpy as np
import sklearn.decomposition
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

from gramian import PCA, KernelPCA, PolynomialMap, Whitener
from gramian.core.arrays import as_float64
from gramian.core.records import ModelKind
from gramian.engine.solving import complete_basis, fixed_signs
from gramian.statistics.component_rules import ComponentChoice
from gramian.statistics.components import Summary, component_names, kind_of


def test_names_signs_and_bases():
    assert component_names(3) == ["PC1", "PC2", "PC3"]
    assert component_names(0) == []
    for column, sign in [
        ([0.1, -0.9, 0.2], -1),
        ([0.1, 0.9, -0.2], 1),
        ([-0.5, 0.5], -1),
        ([0.5, -0.5], 1),
        ([-0.5, 0.5 + 1e-9], -1),
        ([-0.5, 0.5 + 1e-4], 1),
        ([0.0, 0.0], 1),
        ([-1.0], -1),
    ]:
        signs = fixed_signs(np.array(column)[:, None])
        assert signs.tolist() == [sign]
    column = np.array([[-0.5], [0.5 + 1e-4]])
    assert fixed_signs(column.astype(np.float32)).tolist() == [-1]
    assert fixed_signs(column).tolist() == [1]
    Q = np.eye(4)[:, :3]
    assert_array_equal(complete_basis(Q, 2), Q[:, :2])
    assert complete_basis(Q, 3).shape == (4, 3)


def test_signs_and_bases_in_every_kind(array_kind):
    V = np.random.default_rng(0).standard_normal((9, 4))
    expected = np.sign(V[np.abs(V).argmax(axis=0), range(4)])
    signs = fixed_signs(array_kind.make(V))
    assert isinstance(signs, np.ndarray)
    assert_array_equal(signs, expected)
    assert fixed_signs(array_kind.make(np.empty((5, 0)))).shape == (0,)
    for r, k in [(0, 1), (0, 6), (2, 5), (3, 6), (5, 6)]:
        Q = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0][:, :r]
        made = array_kind.make(Q)
        whole = complete_basis(made, k)
        assert array_kind.same(whole) or array_kind.name == "numpy-read-only"
        V = as_float64(whole)
        assert V.shape == (6, k)
        assert_array_equal(V[:, :r], as_float64(made))
        assert_allclose(V.T @ V, np.eye(k), atol=20 * np.finfo(array_kind.dtype).eps)
        assert_array_equal(as_float64(complete_basis(made, k)), V)


def table(k):
    share = np.full(k, 1 / k)
    return Summary(component_names(k), np.arange(k, 0, -1.0), share, np.cumsum(share))


def test_every_model_says_what_it_is_and_prints_a_summary():
    for model, kind in (
        (PCA(), ModelKind.PCA),
        (KernelPCA(), ModelKind.KERNEL_PCA),
        (Whitener(), ModelKind.WHITENER),
        (PolynomialMap(), ModelKind.OTHER),
        (Ridge(), ModelKind.OTHER),
    ):
        assert kind_of(model) is kind
        assert type(model).__name__ == kind.value or not kind.has_components
        assert kind.gives_scores == (kind in (ModelKind.PCA, ModelKind.KERNEL_PCA))
    X = np.random.default_rng(0).standard_normal((9, 3))
    assert kind_of(sklearn.decomposition.PCA(2).fit(X)) is ModelKind.PCA
    assert kind_of(sklearn.decomposition.KernelPCA(2, kernel="rbf").fit(X)) is ModelKind.KERNEL_PCA
    lines = str(table(2)).splitlines()
    assert lines[0].split() == ["standard", "deviation", "explained", "variance", "ratio", "cumulative"]
    assert lines[1].split() == ["PC1", "2", "0.5000", "0.5000"]
    assert lines[2].split() == ["PC2", "1", "0.5000", "1.0000"]
    assert repr(table(2)) == str(table(2))
    assert table(2).rows() == [("PC1", 2.0, 0.5, 0.5), ("PC2", 1.0, 0.5, 1.0)]
    lines = str(table(40)).splitlines()
    assert len(lines) == 32
    assert lines[-1] == "... and 10 more"
    assert len(table(40).rows()) == 40
    choice = ComponentChoice("kaiser", 2, {}, "2 eigenvalues exceed their mean.")
    chosen = replace(table(2), choice=choice)
    assert str(chosen).splitlines()[-1] == "Chosen by kaiser: 2 eigenvalues exceed their mean."
    assert chosen.rows() == table(2).rows()
