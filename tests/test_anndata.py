"""AnnData is read, and gets results under scanpy's names. Run in an environment with pandas below 3."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from gramian import PCA
from gramian.errors import DataError, ParameterError

anndata = pytest.importorskip("anndata", reason="anndata needs pandas below 3 and is not installed here")

from gramian.anndata import pca  # noqa: E402

rng = np.random.default_rng(0)
COUNTS = rng.poisson(2.0, (40, 9)).astype(np.float32)
MASK = np.arange(9) % 3 != 1


def cells(X=None):
    adata = anndata.AnnData(sparse.csr_matrix(np.log1p(COUNTS)) if X is None else X)
    adata.obs_names = [f"cell{i}" for i in range(40)]
    adata.var_names = [f"gene{i}" for i in range(9)]
    adata.var["highly_variable"] = MASK
    adata.layers["counts"] = COUNTS.copy()
    return adata


def test_results_have_scanpys_names_and_the_definitions_values(tmp_path):
    X = np.log1p(COUNTS).astype(np.float64)
    C = X - X.mean(axis=0)
    values = np.linalg.eigvalsh(C.T @ C / 39)[::-1]
    for matrix in (None, np.log1p(COUNTS), sparse.csc_matrix(np.log1p(COUNTS))):
        adata = cells(matrix)
        model = pca(adata, 4)
        assert adata.obsm["X_pca"].shape == (40, 4)
        assert np.allclose(adata.obsm["X_pca"], C @ adata.varm["PCs"], rtol=0, atol=1e-4)
        assert np.allclose(adata.uns["pca"]["variance"], values[:4], rtol=1e-4)
        assert np.allclose(adata.uns["pca"]["variance_ratio"], values[:4] / values.sum(), rtol=1e-4)
        assert adata.uns["pca"]["params"] == {"zero_center": True, "use_highly_variable": False}
        assert adata.uns["pca"]["certificate"] == str(model.certificate_)
        assert model.feature_names_in_.tolist() == adata.var_names.tolist()
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = anndata.read_h5ad(tmp_path / "a.h5ad")
    assert np.array_equal(again.varm["PCs"], adata.varm["PCs"])
    assert again.uns["pca"]["certificate"] == adata.uns["pca"]["certificate"]


def test_layers_and_masks_choose_the_columns():
    adata = cells()
    model = pca(adata, layer="counts", mask_var="highly_variable", scale="unit")
    expected = PCA(6, scale="unit").fit(COUNTS[:, MASK])
    assert np.allclose(adata.uns["pca"]["variance"], expected.explained_variance_, rtol=1e-5)
    assert (adata.varm["PCs"][~MASK] == 0).all()
    assert np.allclose(adata.varm["PCs"][MASK], expected.components_.T, rtol=0, atol=1e-5)
    params = adata.uns["pca"]["params"]
    assert (params["layer"], params["mask_var"], params["use_highly_variable"]) == (
        "counts",
        "highly_variable",
        True,
    )
    assert model.feature_names_in_.tolist() == adata.var_names[MASK].tolist()
    pca(adata, 2, mask_var=MASK)
    assert (adata.varm["PCs"][~MASK] == 0).all()
    # New cells, whose genes are put in the order of the fit by name.
    other = adata[:5, ::-1].copy()
    other.X = other.layers["counts"]
    assert np.allclose(model.transform(other), expected.transform(COUNTS[:5][:, MASK]), rtol=0, atol=1e-4)


def test_annotated_data_are_read_by_every_estimator(tmp_path):
    adata = cells()
    model = PCA(2).fit(adata)
    assert model.feature_names_in_.tolist() == adata.var_names.tolist()
    assert np.allclose(model.explained_variance_, PCA(2).fit(np.log1p(COUNTS)).explained_variance_, rtol=1e-4)
    view = adata[:, MASK]
    assert PCA(2).fit(view).n_features_in_ == 6
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    for read in (PCA(2).fit, pca):
        with pytest.raises(DataError, match=r"backed by a file. Pass pathlib.Path\(adata.filename\)"):
            read(backed)
    assert PCA(2).fit(Path(backed.filename)).n_features_in_ == 9
    backed.file.close()


def test_what_is_not_there_is_named():
    adata = cells()
    with pytest.raises(ParameterError, match="layer='raw' is not in this AnnData, which has layers 'counts'"):
        pca(adata, layer="raw")
    with pytest.raises(
        ParameterError,
        match="mask_var='hvg' is not in var of this AnnData, which has columns 'highly_variable'",
    ):
        pca(adata, mask_var="hvg")
    with pytest.raises(
        ParameterError, match=r"dtype int64 and shape \(9,\).*True or False for each of the 9"
    ):
        pca(adata, mask_var=np.arange(9))
    with pytest.raises(ParameterError, match="True for at least one"):
        pca(adata, mask_var=np.zeros(9, dtype=bool))
    with pytest.raises(DataError, match=r"X of this AnnData is empty. Name a layer"):
        PCA(2).fit(anndata.AnnData(obs=adata.obs, var=adata.var, layers={"counts": COUNTS}))
    assert not adata.obsm
