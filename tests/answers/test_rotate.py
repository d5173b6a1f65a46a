"""Rotated components of a PCA."""

import numpy as np
import pytest

import gramian
from gramian import PCA, KernelPCA
from gramian.errors import ParameterError
from helpers import spectrum_matrix


def standardised(model, X):
    scores = model.transform(X)[:, :3]
    return scores if model.whiten else scores / np.sqrt(model.explained_variance_[:3])


def test_variances_and_scores_of_rotated_components():
    X = spectrum_matrix(60, 7, [9, 6, 4, 2, 1, 0.5, 0.2], seed=0, mean=3.0)
    for model in (PCA(7), PCA(3), PCA(4, scale="unit", ddof=0), PCA(3, whiten=True)):
        model.fit(X)
        for method in ("varimax", "promax"):
            found = gramian.rotate(model, method, n_components=3)
            A = model.components_[:3].T * np.sqrt(model.explained_variance_[:3])
            np.testing.assert_allclose(found.loadings, A @ found.rotation_matrix)
            np.testing.assert_allclose(found.variances, np.sum(found.loadings**2, axis=0))
            assert (np.diff(found.variances) <= 0).all()
            assert (found.loadings[np.abs(found.loadings).argmax(axis=0), range(3)] > 0).all()
            F = standardised(model, X) @ np.linalg.inv(found.rotation_matrix).T
            np.testing.assert_allclose(np.cov(F.T, ddof=model.ddof), found.correlations, atol=1e-9)
            np.testing.assert_allclose(np.diag(found.correlations), 1)
            # Scores times loadings are what the three components rebuild.
            scale = 1.0 if model.scale_ is None else model.scale_
            C = (X - X.mean(axis=0)) / scale
            P = model.components_[:3]
            np.testing.assert_allclose(F @ found.loadings.T, C @ P.T @ P, atol=1e-9)
        found = gramian.rotate(model, "varimax", n_components=3)
        total = model.explained_variance_[:3].sum()
        assert found.variances.sum() == pytest.approx(total)
        assert found.ratio.sum() == pytest.approx(model.explained_variance_ratio_[:3].sum())
        if model.scale is not None:
            F = standardised(model, X) @ found.rotation_matrix
            pairs = [[np.corrcoef(x, f)[0, 1] for f in F.T] for x in X.T]
            np.testing.assert_allclose(found.loadings, pairs, atol=1e-9)


def test_a_rotation_prints_what_is_lost():
    X = np.random.default_rng(1).normal(size=(30, 25))
    found = gramian.rotate(PCA(2).fit(X))
    text = " ".join(str(found).split())
    assert "the 20 of 25 columns with the largest loadings" in text
    assert "it holds for their common subspace" in text
    assert found.table().shape == (25, 2)
    assert found.table().columns.tolist() == ["RC1", "RC2"]


def test_refusals():
    X = np.random.default_rng(2).normal(size=(9, 3))
    for model, options, match in (
        (KernelPCA(2), {}, "model is a KernelPCA, but must be a"),
        (PCA(1), {}, "model has 1 component with"),
        (PCA(2), {"method": "oblimin"}, r"is not known\. Allowed:"),
        (PCA(2), {"n_components": 3}, "n_components=3 must be a whole"),
    ):
        with pytest.raises(ParameterError, match=match):
            gramian.rotate(model.fit(X), **options)
