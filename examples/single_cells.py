"""PCA of single cells with gramian: generated counts, in place of your own .h5ad file; under a minute.

``python examples/single_cells.py [FOLDER]`` writes cells.h5ad and scores.csv there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import anndata
import numpy as np
from scipy import sparse

from gramian.connect.anndata import pca


def generated(cells: int = 3000, genes: int = 1000, kinds: int = 8, seed: int = 0) -> anndata.AnnData:
    """Counts of cells of some kinds, each with genes that it has more of; most entries are 0."""
    rng = np.random.default_rng(seed)
    levels = rng.lognormal(-3.0, 1.2, genes) * np.where(rng.random((kinds, genes)) < 0.06, 8.0, 1.0)
    kind = rng.integers(kinds, size=cells)
    counts = rng.poisson(levels[kind] * rng.lognormal(0.0, 0.3, (cells, 1))).astype(np.float32)
    adata = anndata.AnnData(sparse.csr_matrix(counts))
    adata.obs["kind"] = kind.astype(str)
    return adata


def main(folder: Path, cells: int = 3000) -> None:
    """Run the analysis, and write its files."""
    adata = generated(cells)
    adata.layers["counts"] = adata.X.copy()
    # As sc.pp.normalize_total, sc.pp.log1p and sc.pp.highly_variable_genes do it, in short.
    size = np.maximum(np.asarray(adata.X.sum(axis=1)), 1.0)
    adata.X = sparse.csr_matrix(adata.X.multiply(np.median(size) / size)).log1p().astype(np.float32)
    square = np.asarray(adata.X.multiply(adata.X).mean(axis=0)).ravel()
    variance = square - np.asarray(adata.X.mean(axis=0)).ravel() ** 2
    adata.var["highly_variable"] = variance > np.median(variance)

    model = pca(adata, 20, tol=1e-9)
    print(model.summary())

    folder.mkdir(parents=True, exist_ok=True)
    adata.write_h5ad(folder / "cells.h5ad")
    columns = [f"PC{j}" for j in range(1, 21)]
    table = np.column_stack([adata.obs_names, adata.obs["kind"], adata.obsm["X_pca"]])
    np.savetxt(
        folder / "scores.csv", table, "%s", ",", header=",".join(["cell", "kind", *columns]), comments=""
    )
    print(f"Written: {folder / 'cells.h5ad'}, {folder / 'scores.csv'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("single-cells"))
