"""PCA of annotated data, with the results where scanpy and its users look for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.arrays import memory_limit_bytes
from gramian.core.checks import listed
from gramian.engine.linear import LinearProblem
from gramian.errors import ABSENT, InputTypeError, ParameterError
from gramian.models.pca.estimator import PCA
from gramian.tables.as_rows import as_rows
from gramian.tables.file_rows import of_anndata

__all__ = ["pca"]

MOST = 50  # components without a number, as in scanpy
MASK = "highly_variable"  # the column of var that is used without a mask, as in scanpy
TOL = 1e-7  # so that float32 scores, and the neighbours in them, are off by little more than their rounding


def pca(
    adata: Any,
    n_comps: int | float | str | None = None,
    *,
    layer: str | None = None,
    zero_center: bool = True,
    mask_var: str | npt.ArrayLike | None = ABSENT,
    random_state: Any = 0,
    dtype: npt.DTypeLike = "float32",
    key_added: str | None = None,
    tol: float | None = None,
    **parameters: Any,
) -> PCA:
    """Fit a PCA to X or a layer of an AnnData, and write the results where ``scanpy.pp.pca`` does.

    ``obsm["X_pca"]`` are the scores, ``varm["PCs"]`` the components as columns, 0 for columns that the mask
    leaves out. ``uns["pca"]`` has ``variance``, ``variance_ratio``, ``params`` and ``certificate``, the error
    bounds as text.

    Parameters
    ----------
    adata : AnnData
        X or the layer may be sparse, and stays so. If it is backed by a file, X is read block by block.
    n_comps : int, float, str or None, default=None
        Number of components, or what else ``n_components`` of :class:`gramian.PCA` may be. None means 50, or
        one less than the smaller of ``n_obs`` and the number of columns used if that is at most 50.
    layer : str or None, default=None
        Name of the layer to use instead of X.
    zero_center : bool, default=True
        Whether column means are subtracted. If not, this is a truncated singular value decomposition;
        ``variance`` is that of the scores about their means, divided by ``n_obs``, as in scanpy.
    mask_var : str, array-like of bool of shape (n_vars,) or None
        Columns to use: the name of a column of ``var``, or the mask itself. None uses all columns. Without
        it the column ``"highly_variable"`` is used where ``var`` has one, as in scanpy.
    random_state : int, RandomState, Generator or None, default=0
        As in :class:`gramian.PCA`.
    dtype : dtype, default="float32"
        Type of the scores.
    key_added : str or None, default=None
        Name of the results in ``obsm``, ``varm`` and ``uns``; None means "X_pca", "PCs" and "pca".
    tol : float or None, default=None
        As in :class:`gramian.PCA`, but None means 1e-7 whatever the type of the data.
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
    InputTypeError
        For parameters that neither this function nor :class:`gramian.PCA` has, and for no AnnData.
    DataError, MemoryLimitError
        As in :meth:`gramian.PCA.fit`.

    References
    ----------
    Wolf, Angerer, Theis (2018), SCANPY: large-scale single-cell gene expression data analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.connect.anndata import pca
    >>> from anndata import AnnData  # doctest: +SKIP
    >>> adata = AnnData(np.random.default_rng(0).standard_normal((30, 8)))  # doctest: +SKIP
    >>> model = pca(adata, 3)  # doctest: +SKIP
    >>> adata.obsm["X_pca"].shape, adata.varm["PCs"].shape  # doctest: +SKIP
    ((30, 3), (8, 3))
    """
    if not hasattr(adata, "obsm"):
        problem = f"adata is a {type(adata).__name__}, not an AnnData."
        raise InputTypeError(problem, "Pass anndata.AnnData(X), or fit gramian.PCA to X.")
    if mask_var is ABSENT:
        mask_var = MASK if MASK in adata.var else None
    if layer is not None and layer not in adata.layers:
        raise ParameterError("layer", layer, f"is not in adata, which has {_known('layer', adata.layers)}")
    mask = _mask(adata, mask_var)
    table = of_anndata(adata, layer, mask, memory_limit_bytes(parameters.get("memory_limit")))
    n, d = table.values.shape
    if n_comps is None:
        n_comps = MOST if min(n, d) > MOST else max(1, min(n, d) - 1)
    tol = TOL if tol is None else tol
    model = PCA(n_comps, center=zero_center, random_state=random_state, tol=tol, **parameters)
    scores = np.asarray(model.set_output(transform="default").fit_transform(table))
    directions = np.zeros((adata.n_vars, model.n_components_), dtype=model.components_.dtype)
    directions[mask] = model.components_.T
    variance, ratio = model.explained_variance_, model.explained_variance_ratio_
    if not zero_center:
        # As TruncatedSVD of scikit-learn has them, which scanpy uses.
        total = LinearProblem(as_rows(table, limit=memory_limit_bytes(model.memory_limit)), ddof=0)
        variance = scores.var(axis=0, dtype=np.float64)
        ratio = variance / (total.measured().total * total.factor())
    params: dict[str, Any] = {
        "zero_center": zero_center,
        "use_highly_variable": isinstance(mask_var, str) and mask_var == MASK,
        "mask_var": mask_var if mask_var is None or isinstance(mask_var, str) else np.asarray(mask_var),
    }
    params |= {"layer": layer} if layer is not None else {}
    in_obsm, in_varm, in_uns = ("X_pca", "PCs", "pca") if key_added is None else (key_added,) * 3
    adata.obsm[in_obsm], adata.varm[in_varm] = scores.astype(dtype, copy=False), directions
    adata.uns[in_uns] = {
        "params": params,
        "variance": variance,
        "variance_ratio": ratio,
        "certificate": str(model.certificate_),
    }
    return model


def _mask(adata: Any, mask_var: Any) -> npt.NDArray[np.bool_] | slice:
    """Return which columns are used."""
    if mask_var is None:
        return slice(None)
    if isinstance(mask_var, str) and mask_var not in adata.var:
        problem = f"is not in var of this AnnData, which has {_known('column', adata.var)}"
        raise ParameterError("mask_var", mask_var, problem)
    named = isinstance(mask_var, str)
    mask = np.asarray(adata.var[mask_var] if named else mask_var)
    if mask.dtype != np.bool_ or mask.shape != (adata.n_vars,) or not mask.any():
        why = f"has dtype {mask.dtype} and shape {mask.shape}, with {np.count_nonzero(mask)} columns"
        hint = f"It must be True or False for each of the {adata.n_vars} columns, and True for at least one."
        raise ParameterError("mask_var", mask_var if named else ABSENT, why, hint)
    return mask


def _known(what: str, names: Any) -> str:
    names = list(names)
    return f"no {what}" if not names else f"{what}s {listed(names)}"
