"""Fits of annotated data whose results go into a copy of the file: ``fit ... -o FILE.h5ad``."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gramian.cli.options import Model, Reading, as_arguments, given_options, only_for, option
from gramian.cli.outputs import answer, check_out, model_lines
from gramian.cli.progress import progress
from gramian.errors import FileError, ParameterError, needs


@dataclass(frozen=True)
class Annotated:
    """Options of a fit whose results go into an annotated file."""

    layer: str | None = option("NAME", "With -o FILE.h5ad: the layer to use instead of X. [X]")
    var_mask: str | None = option(
        "COLUMN", "With -o FILE.h5ad: use columns where this column of var is true. [all]"
    )

    def wanted(self, out: str | None) -> bool:
        """Whether ``-o`` asks for an annotated file.

        Raises
        ------
        ParameterError
            For an option that then does not apply.
        """
        annotated = out is not None and Path(out).suffix.lower() == ".h5ad"
        if not annotated:
            only_for("-o FILE.h5ad", self, "layer", "var_mask")
        return annotated


def fit_annotated(
    data: str, reading: Reading, options: Model, given: Annotated, made: Any, out: str, as_json: bool
) -> None:
    """Write a copy of an .h5ad file with scores, components and variances.

    Raises
    ------
    ParameterError
        For other data, a kernel, and options that choose a part of the data.
    """
    if Path(data).suffix.lower() != ".h5ad" or options.kernel is not None:
        raise ParameterError(f"-o {out} is for the PCA of an .h5ad file. Write a folder or FILE.gramian.")
    if unused := as_arguments(reading):
        raise ParameterError(
            f"{unused[0]} does not apply to -o {out}, which has all rows and columns of {data}."
        )
    check_out(out, data)
    with needs("anndata", "anndata", f"Writing {out}"):
        import anndata
    from gramian.anndata import pca
    from gramian.report.facts import component_facts, model_facts

    parameters = made.get_params(deep=False)
    with progress(f"reading {data}"):
        try:
            adata = anndata.read_h5ad(data)
        except (OSError, KeyError, ValueError, anndata.AnnDataReadError) as error:
            raise FileError(f"{data} cannot be read as an .h5ad file: {error}") from error
    with progress("computing"):
        fitted = pca(
            adata, parameters.pop("n_components"), layer=given.layer, mask_var=given.var_mask, **parameters
        )
    place = Path(out).absolute().parent
    with progress(f"writing {out}"), tempfile.TemporaryDirectory(prefix=".gramian-", dir=place) as folder:
        # Whole or not at all; anndata writes to a name.
        whole = Path(folder) / "whole.h5ad"
        adata.write_h5ad(whole)
        os.replace(whole, out)
    facts = {"model": model_facts(fitted), "components": component_facts(fitted), "files": [out]}
    facts |= given_options(given)
    written = f"Written: {out} (obsm X_pca, varm PCs, uns pca)"
    answer(as_json, facts, "\n".join([*model_lines(fitted), "", written]))
