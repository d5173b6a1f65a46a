"""Components of pictures: which estimator finds them, in which precision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import RankWarning
from gramian.estimators.kernel_pca import KernelPCA
from gramian.estimators.pca import PCA

__all__ = ["decomposed"]


def decomposed(
    pictures: npt.NDArray[np.float32], n_components: Any, kernel: Any, **shared: Any
) -> tuple[PCA | KernelPCA, tuple[str, ...]]:
    """Return the fitted estimator, and what was decided by itself.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width)
    n_components, kernel
        As in :class:`gramian.faces.FaceSpace`.
    **shared
        Further parameters of both estimators.
    """
    if kernel is not None:
        gamma = "median" if kernel in ("rbf", "laplacian") else None
        return KernelPCA(n_components, kernel=kernel, gamma=gamma, **shared).fit(pictures), ()
    model = PCA(n_components, **shared)
    count = len(pictures) if n_components is None else n_components
    if not isinstance(count, (int, np.integer)) or 2 * count <= len(pictures):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)
            model.fit(pictures)
        if model.rank_ == model.n_components_:
            return model, ()
    # What is small beside the rest needs float64 to be found, not to be kept.
    model.fit(pictures.astype(np.float64))
    model.components_ = model.components_.astype(np.float32)
    model.mean_ = model.mean_.astype(np.float32)
    return model, ("computed in float64, because float32 may not resolve the last components",)
