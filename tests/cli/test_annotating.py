"""fit with -o FILE.h5ad: the results in a copy of annotated data."""

import numpy as np
import pytest

from gramian import PCA


def test_options_of_annotated_files_need_one(folder, gramian):
    ran = gramian("fit", "flowers.csv", "--layer", "counts", "-o", "m.gramian")
    assert ran.code == 2
    assert "--layer applies only to -o FILE.h5ad. Write such a file" in ran.err
    ran = gramian("fit", "flowers.csv", "-o", "a.h5ad")
    assert ran.code == 2
    assert "is for the PCA of an .h5ad file" in ran.err


def test_a_copy_of_the_file_gets_the_results(tmp_path, monkeypatch, gramian):
    anndata = pytest.importorskip("anndata", reason="anndata needs pandas below 3 and is not installed here")
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).poisson(2.0, (30, 6)).astype(np.float32)
    adata = anndata.AnnData(np.log1p(X), layers={"counts": X})
    adata.var["useful"] = np.arange(6) < 4
    adata.write_h5ad("cells.h5ad")
    ran = gramian(
        *("fit", "cells.h5ad", "--layer", "counts", "--var-mask", "useful", "--components", "3"),
        *("-o", "out.h5ad"),
    )
    assert ran.code == 0
    assert "Written: out.h5ad" in ran.out
    result = anndata.read_h5ad("out.h5ad")
    expected = PCA(3).fit(X[:, :4])
    assert np.allclose(result.uns["pca"]["variance"], expected.explained_variance_, rtol=1e-5)
    assert np.allclose(result.obsm["X_pca"], expected.transform(X[:, :4]), rtol=0, atol=1e-4)
    assert np.array_equal(result.X, adata.X)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    for extra, message in (
        (("-o", "cells.h5ad"), "cells.h5ad"),
        (("-o", "b.h5ad", "--rows", "0:9"), "--rows does not apply to -o b.h5ad"),
        (("-o", "b.h5ad", "--layer", "none"), "layers 'counts'"),
        (("-o", "b.h5ad", "--var-mask", "none"), "--var-mask none is not in var"),
        (("-o", "b.h5ad", "--report"), "--report needs a folder"),
    ):
        ran = gramian("fit", "cells.h5ad", *extra)
        assert ran.code == 2, ran
        assert message in ran.err
    assert not (tmp_path / "b.h5ad").exists()
