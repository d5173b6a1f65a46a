"""Opens saved models of every kind."""

from __future__ import annotations

from os import PathLike
from typing import Any

from gramian.errors import ModelFileError
from gramian.estimators.feature_maps import PolynomialMap, RandomFourierMap, TaylorMap
from gramian.estimators.kernel_pca import KernelPCA
from gramian.estimators.pca import PCA
from gramian.estimators.saving import Saved, decode, restored
from gramian.estimators.whitener import Whitener
from gramian.faces.space import FaceSpace
from gramian.store import read_model

KINDS = (FaceSpace, KernelPCA, PCA, PolynomialMap, RandomFourierMap, TaylorMap, Whitener)


def load(path: str | PathLike[str]) -> Any:
    """Open a model that ``save`` has written.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    estimator
        The fitted model, of the class that was saved. Arrays are NumPy arrays, whatever kind they were
        fitted on.

    Raises
    ------
    FileError
        When the file is not there or cannot be read.
    ModelFileError
        When it is truncated, altered, not a gramian model, or of a newer format.
    """
    stored = read_model(path)
    if stored.kind not in Saved.known:
        raise ModelFileError(
            f"{path} holds a model of kind {stored.kind!r}, which this gramian does not know. "
            f"It knows {', '.join(kind.__name__ for kind in KINDS)}. Upgrade with: pip install -U gramian"
        )
    try:
        parts = {part: decode(stored.header[part], stored.arrays) for part in ("parameters", "state")}
        return restored(stored.kind, **parts)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} is a gramian file, but its contents are not those of a {stored.kind} ({error}). "
            "Fit the model again, or upgrade gramian if the file is newer."
        ) from error
