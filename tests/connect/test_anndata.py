"""AnnData is read, and gets results under scanpy's names. Run in an environment with pandas below 3."""

import importlib

import numpy as np
import pytest
from scipy import sparse

from gramian import PCA
from gramian.errors import DataError, InputTypeError, MemoryLimitError, ParameterError

anndata = pytest.importorskip("anndata", reason="anndata needs pandas below 3 and is not installed here")

from gramian.connect.anndata import pca  # noqa: E402

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
        model = pca(adata, 4, mask_var=None)
        assert adata.obsm["X_pca"].shape == (40, 4)
        assert np.allclose(adata.obsm["X_pca"], C @ adata.varm["PCs"], rtol=0, atol=1e-4)
        assert np.allclose(adata.uns["pca"]["variance"], values[:4], rtol=1e-4)
        assert np.allclose(adata.uns["pca"]["variance_ratio"], values[:4] / values.sum(), rtol=1e-4)
        assert adata.uns["pca"]["params"] == {
            "zero_center": True,
            "use_highly_variable": False,
            "mask_var": None,
        }
        assert adata.obsm["X_pca"].dtype == np.float32
        assert adata.uns["pca"]["certificate"] == str(model.certificate_)
        assert model.feature_names_in_.tolist() == adata.var_names.tolist()
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = anndata.read_h5ad(tmp_path / "a.h5ad")
    assert np.array_equal(again.varm["PCs"], adata.varm["PCs"])
    assert again.uns["pca"]["certificate"] == adata.uns["pca"]["certificate"]


def test_layers_and_masks_choose_the_columns():
    adata = cells()
    model = pca(adata, 6, layer="counts", mask_var="highly_variable", scale="unit")
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


def test_annotated_data_are_read_by_every_estimator():
    adata = cells()
    model = PCA(2).fit(adata)
    assert model.feature_names_in_.tolist() == adata.var_names.tolist()
    assert np.allclose(model.explained_variance_, PCA(2).fit(np.log1p(COUNTS)).explained_variance_, rtol=1e-4)
    assert PCA(2).fit(adata[:, MASK]).n_features_in_ == 6
    assert pca(adata, 2).tol == pca(adata, 2, tol=None).tol == 1e-7
    assert pca(adata, 2, tol=1e-3).tol == 1e-3


def test_masks_and_centring_are_those_of_scanpy_and_a_truncated_decomposition():
    adata, expected = cells(), cells()
    pca(adata)
    pca(expected, 5, mask_var="highly_variable")  # one less than the smaller of 40 cells and 6 genes
    assert np.array_equal(adata.obsm["X_pca"], expected.obsm["X_pca"])
    assert adata.uns["pca"]["params"] == {
        "zero_center": True,
        "use_highly_variable": True,
        "mask_var": "highly_variable",
    }
    del adata.var["highly_variable"]
    pca(adata)
    assert adata.varm["PCs"].shape == (9, 8)
    assert adata.varm["PCs"].any(axis=1).all()
    X = np.log1p(COUNTS).astype(np.float64)
    Vt = np.linalg.svd(X, full_matrices=False)[2]
    scores = X @ Vt[:3].T
    for matrix in (X, sparse.csr_matrix(X), sparse.csr_matrix(np.log1p(COUNTS))):
        adata = cells(matrix)
        pca(adata, 3, zero_center=False, mask_var=None, key_added="svd", dtype=np.float64)
        V = adata.varm["svd"]
        assert np.allclose(np.abs(V.T @ Vt[:3].T), np.eye(3), rtol=0, atol=1e-5)
        assert np.allclose(adata.obsm["svd"], X @ V, rtol=0, atol=1e-5)
        assert np.allclose(adata.uns["svd"]["variance"], scores.var(axis=0), rtol=1e-4)
        assert np.allclose(
            adata.uns["svd"]["variance_ratio"], scores.var(axis=0) / X.var(axis=0).sum(), rtol=1e-4
        )
        assert adata.uns["svd"]["params"]["zero_center"] is False
        assert adata.obsm["svd"].dtype == np.float64
        assert "X_pca" not in adata.obsm


@pytest.mark.parametrize("mode", ["r", "r+"])
@pytest.mark.parametrize("kind", ["sparse", "dense", "chunks"])
def test_annotated_data_in_a_file_are_read_in_place(tmp_path, mode, kind):
    adata = cells(np.log1p(COUNTS) if kind != "sparse" else None)
    adata.write_h5ad(tmp_path / "a.h5ad", compression="gzip" if kind == "chunks" else None)
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed=mode)
    pca(adata, 3)
    pca(backed, 3)
    assert np.allclose(backed.obsm["X_pca"], adata.obsm["X_pca"], rtol=0, atol=1e-5)
    assert np.allclose(backed.varm["PCs"], adata.varm["PCs"], rtol=0, atol=1e-5)
    assert backed.isbacked
    assert PCA(2).fit(backed).feature_names_in_.tolist() == adata.var_names.tolist()
    part, whole = backed[5:30, ::2], adata[5:30, ::2]
    assert np.allclose(PCA(2).fit(part).explained_variance_, PCA(2).fit(whole).explained_variance_, rtol=1e-5)
    if kind != "sparse":
        with pytest.raises(DataError, match=r"rows in another order than the file. Sort the index"):
            PCA(2).fit(backed[[3, 1, 2, 5]])
    layer = PCA(3).fit(COUNTS[:, MASK])
    pca(backed, 3, layer="counts")
    assert np.allclose(backed.uns["pca"]["variance"], layer.explained_variance_, rtol=1e-5)
    if mode == "r+" and kind != "sparse":  # what is written through it counts
        backed.X[0, 0] = 50.0
        with pytest.warns(UserWarning, match="decides"):
            assert PCA(2).fit(backed).mean_[0] > 1.0
    backed.file.close()


def test_annotated_data_larger_than_memory_are_read_block_by_block_or_refused_with_the_need(tmp_path):
    counts = sparse.random(60_000, 300, density=0.07, format="csr", dtype=np.float32, random_state=0)
    anndata.AnnData(counts).write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    model = pca(backed, 5, memory_limit="30MB")
    assert "MB" in str(model.plan_)
    assert np.allclose(model.explained_variance_, PCA(5).fit(counts).explained_variance_, rtol=1e-4)
    with pytest.raises(MemoryLimitError, match=r"needs .*B"):
        pca(backed, 5, memory_limit="2MB")
    backed.file.close()


def test_scanpy_gives_the_same_and_goes_on_with_the_results():
    sc = pytest.importorskip("scanpy", reason="scanpy is not installed here; make bench-fields installs it")
    counts = sparse.csr_matrix(cell_counts(300, 80))
    for options in (
        {},
        {"layer": "scaled"},
        {"mask_var": None, "n_comps": 7},
        {"mask_var": np.arange(80) % 3 > 0, "key_added": "own"},
        {"zero_center": False, "n_comps": 6},
        {"dtype": "float64", "random_state": 3},
    ):
        both = []
        for function, more in ((pca, {"tol": 1e-9}), (sc.pp.pca, {"svd_solver": "arpack"})):
            adata = anndata.AnnData(
                counts.astype(np.float64), layers={"scaled": counts.toarray() / np.float64(3)}
            )
            adata.var["highly_variable"] = np.arange(80) % 4 > 0
            function(adata, **options, **more)
            both.append(adata)
        ours, theirs = both
        assert set(ours.obsm) == set(theirs.obsm)
        assert set(ours.varm) == set(theirs.varm)
        for name in ours.uns:
            assert set(ours.uns[name]) == {*theirs.uns[name], "certificate"}
            own, other = ours.uns[name]["params"], theirs.uns[name]["params"]
            # scanpy compares an array with a name there, entry by entry.
            other["use_highly_variable"] = np.all(other["use_highly_variable"])
            assert {key: str(value) for key, value in own.items()} == {k: str(v) for k, v in other.items()}
            for what in ("variance", "variance_ratio"):
                assert np.allclose(ours.uns[name][what], theirs.uns[name][what], rtol=1e-6), options
        for slot in ("obsm", "varm"):
            for name in getattr(ours, slot):
                mine, his = getattr(ours, slot)[name], getattr(theirs, slot)[name]
                assert mine.shape == his.shape
                assert mine.dtype == his.dtype
                assert np.abs(mine - his).max() < 1e-5 * np.abs(his).max(), (slot, name, options)


@pytest.mark.filterwarnings("ignore")  # of scanpy and the packages it uses
def test_scanpys_functions_run_on_the_results(monkeypatch):
    sc = pytest.importorskip("scanpy", reason="scanpy is not installed here; make bench-fields installs it")
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed here")
    plt.switch_backend("agg")
    adata = anndata.AnnData(sparse.csr_matrix(cell_counts(200, 80)))
    adata.obs["kind"] = np.where(np.arange(200) % 2, "a", "b")
    adata.var["highly_variable"] = np.arange(80) % 4 > 0
    pca(adata, 10)
    sc.pp.neighbors(adata, n_neighbors=10)
    assert adata.obsp["distances"].shape == (200, 200)
    for draw in (sc.pl.pca, sc.pl.pca_loadings, sc.pl.pca_variance_ratio, sc.pl.pca_overview):
        draw(adata, show=False)
    plt.close("all")
    new = anndata.AnnData(adata.X[:20].toarray() + 0.01)
    new.var = adata.var.copy()
    adata.obs["kind"] = adata.obs["kind"].astype("category")
    # scanpy 1.11 hands over a number of trees that newer releases of pynndescent leave open.
    trees = importlib.import_module("pynndescent.rp_trees")
    forest = trees.make_forest
    monkeypatch.setattr(trees, "make_forest", lambda X, k, n, *rest: forest(X, k, n or 4, *rest))
    sc.tl.ingest(new, adata, obs="kind", embedding_method="pca")
    assert (new.obs["kind"].astype(str) == adata.obs["kind"].iloc[:20].astype(str).to_numpy()).mean() > 0.4
    assert new.obsm["X_pca"].shape == (20, 10)


def cell_counts(cells, genes):
    """Logarithms of counts of cells of four kinds."""
    draw = np.random.default_rng(1)
    levels = draw.lognormal(0.0, 1.0, genes) * np.where(draw.random((4, genes)) < 0.2, 5.0, 1.0)
    return np.log1p(draw.poisson(levels[draw.integers(4, size=cells)])).astype(np.float32)


def test_what_is_not_there_is_named():
    adata = cells()
    with pytest.raises(ParameterError, match="layer='raw' is not in adata, which has layers 'counts'"):
        pca(adata, layer="raw")
    with pytest.raises(ParameterError, match="mask_var='hvg' is not in var of this AnnData, which has"):
        pca(adata, mask_var="hvg")
    with pytest.raises(ParameterError, match=r"dtype int64 and shape \(9,\).*True or False for each of the"):
        pca(adata, mask_var=np.arange(9))
    with pytest.raises(ParameterError, match="True for at least one"):
        pca(adata, mask_var=np.zeros(9, dtype=bool))
    with pytest.raises(InputTypeError, match=r"gramian\.PCA does not support svd_solver"):
        pca(adata, svd_solver="arpack")
    with pytest.raises(DataError, match=r"X of this AnnData is empty. Name a layer"):
        PCA(2).fit(anndata.AnnData(obs=adata.obs, var=adata.var, layers={"counts": COUNTS}))
    with pytest.raises(InputTypeError, match=r"adata is a ndarray, not an AnnData. Pass anndata"):
        pca(COUNTS)
    assert not adata.obsm
