"""PCA of annotated data, with the results where scanpy and its users look for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.base.fitted import parameter_at_fit
from gramian.checks import listed
from gramian.errors import ABSENT, ParameterError
from gramian.io.rows import of_anndata
from gramian.pca.estimator import PCA

__all__ = ["pca"]

MOST = 50  # components without a number, as in scanpy


def pca(
    adata: Any,
    n_components: int | float | str | None = None,
    *,
    layer: str | None = None,
    mask_var: str | npt.ArrayLike | None = None,
    **parameters: Any,
) -> PCA:
    """Fit a PCA to X or a layer of an AnnData, and write the results into it, under scanpy's names.

    ``obsm["X_pca"]`` are the scores, ``varm["PCs"]`` the components as columns, 0 for columns that the mask
    leaves out. ``uns["pca"]`` has ``variance``, ``variance_ratio``, ``params`` and ``certificate``, the error
    bounds as text.

    Parameters
    ----------
    adata : AnnData
        In memory; X or the layer may be sparse, and stays so.
    n_components : int, float, str or None, default=None
        As in :class:`gramian.PCA`; None means 50, or ``min(n_obs - 1, n_columns)`` if that is less.
    layer : str or None, default=None
        Name of the layer to use instead of X.
    mask_var : str, array-like of bool of shape (n_vars,) or None, default=None
        Columns to use: the name of a column of ``var``, such as ``"highly_variable"``, or the mask itself.
        None uses all columns, also where ``var`` has ``"highly_variable"``, which scanpy then uses.
    **parameters
        Other parameters of :class:`gramian.PCA`.

    Returns
    -------
    PCA
        The fitted model; its columns are ``adata.var_names`` within the mask.

    Raises
    ------
    ParameterError
        For a layer or mask that is not there, or is not boolean.
    DataError
        For AnnData that is backed by a file, and as in :meth:`gramian.PCA.fit`.

    References
    ----------
    Wolf, Angerer, Theis (2018), SCANPY: large-scale single-cell gene expression data analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.anndata import pca
    >>> from anndata import AnnData  # doctest: +SKIP
    >>> adata = AnnData(np.random.default_rng(0).standard_normal((30, 8)))  # doctest: +SKIP
    >>> model = pca(adata, 3)  # doctest: +SKIP
    >>> adata.obsm["X_pca"].shape, adata.varm["PCs"].shape  # doctest: +SKIP
    ((30, 3), (8, 3))
    """
    if layer is not None and layer not in adata.layers:
        raise ParameterError(
            "layer", layer, f"is not in this AnnData, which has {_known('layer', adata.layers)}"
        )
    mask = _mask(adata, mask_var)
    values, source = (adata.X, "X") if layer is None else (adata.layers[layer], f"layer {layer!r}")
    table = of_anndata(adata, values, source, slice(None) if mask is None else mask)
    if n_components is None:
        n_components = max(1, min(MOST, table.values.shape[0] - 1, table.values.shape[1]))
    model = PCA(n_components, **parameters)
    scores = np.asarray(model.set_output(transform="default").fit_transform(table))
    directions = np.zeros((adata.n_vars, model.n_components_), dtype=model.components_.dtype)
    directions[slice(None) if mask is None else mask] = model.components_.T
    params: dict[str, Any] = {
        "zero_center": bool(parameter_at_fit(model, "center")),
        "use_highly_variable": isinstance(mask_var, str) and mask_var == "highly_variable",
    }
    params |= {"layer": layer} if layer is not None else {}
    params |= {"mask_var": mask_var} if isinstance(mask_var, str) else {}
    adata.obsm["X_pca"], adata.varm["PCs"] = scores, directions
    adata.uns["pca"] = {
        "params": params,
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
        "certificate": str(model.certificate_),
    }
    return model


def _mask(adata: Any, mask_var: Any) -> npt.NDArray[np.bool_] | None:
    """Return which columns are used, or None for all of them."""
    if mask_var is None:
        return None
    if isinstance(mask_var, str) and mask_var not in adata.var:
        problem = f"is not in var of this AnnData, which has {_known('column', adata.var)}"
        raise ParameterError("mask_var", mask_var, problem)
    named = isinstance(mask_var, str)
    mask = np.asarray(adata.var[mask_var] if named else mask_var)
    if mask.dtype != np.bool_ or mask.shape != (adata.n_vars,) or not mask.any():
        raise ParameterError(
            "mask_var",
            mask_var if named else ABSENT,
            f"has dtype {mask.dtype} and shape {mask.shape}, with {np.count_nonzero(mask)} columns",
            f"It must be True or False for each of the {adata.n_vars} columns, and True for at least one.",
        )
    return mask


def _known(what: str, names: Any) -> str:
    names = list(names)
    return f"no {what}" if not names else f"{what}s {listed(names)}"
