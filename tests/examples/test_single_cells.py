"""examples/single_cells.py runs, and its files have what it says."""

import numpy as np
import pytest

import helpers

anndata = pytest.importorskip("anndata", reason="anndata needs pandas below 3 and is not installed here")


def test_the_example_writes_scores_that_tell_the_kinds_apart(tmp_path, capsys):
    script = helpers.script("examples/single_cells.py")
    script.main(tmp_path, cells=400)
    said = capsys.readouterr().out
    assert "are accurate to" in said
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad")
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert lines[0].startswith("cell,kind,PC1,PC2")
    assert len(lines) == 401
    assert np.isclose(float(lines[1].split(",")[2]), adata.obsm["X_pca"][0, 0])
    kinds = adata.obs["kind"].to_numpy()
    means = np.array([adata.obsm["X_pca"][kinds == kind].mean(axis=0) for kind in np.unique(kinds)])
    nearest = np.linalg.norm(adata.obsm["X_pca"][:, None] - means, axis=2).argmin(axis=1)
    assert (np.unique(kinds)[nearest] == kinds).mean() > 0.8
