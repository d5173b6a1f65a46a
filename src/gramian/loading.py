"""Opens saved models of every kind."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any

from gramian.applications import is_installed
from gramian.errors import ModelFileError
from gramian.estimators.saving import Saved, decode, restored
from gramian.store import read_model

# The module that defines each class of models. Opening a file imports no other; an application may be absent.
MODULES = {
    "FaceSpace": "gramian.faces.space",
    "KernelPCA": "gramian.estimators.kernel_pca",
    "Monitor": "gramian.estimators.monitor",
    "PCA": "gramian.estimators.pca",
    "PolynomialMap": "gramian.estimators.feature_maps",
    "RandomFourierMap": "gramian.estimators.feature_maps",
    "TaylorMap": "gramian.estimators.feature_maps",
    "Whitener": "gramian.estimators.whitener",
}


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
    known = [kind for kind, module in MODULES.items() if is_installed(module)]
    if stored.kind in known:
        import_module(MODULES[stored.kind])  # which registers the class
    if stored.kind not in Saved.known:
        raise ModelFileError(
            f"{path} holds a model of kind {stored.kind!r}, which this gramian does not know. "
            f"It knows {', '.join(known)}. Upgrade with: pip install -U gramian"
        )
    try:
        parts = {part: decode(stored.header[part], stored.arrays) for part in ("parameters", "state")}
        return restored(stored.kind, **parts)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} is a gramian file, but its contents are not those of a {stored.kind} ({error}). "
            "Fit the model again, or upgrade gramian if the file is newer."
        ) from error
