"""Opens saved models of every kind."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any, overload

from gramian.applications import is_installed
from gramian.base.declarations import MODELS as KNOWN
from gramian.base.encoding import M, model_of
from gramian.errors import ModelFileError
from gramian.store.model_file import read_model

# The module that defines each class of models. Opening a file imports no other; an application may be absent.
MODULES = {
    "FaceSpace": "gramian.faces.space",
    "KernelPCA": "gramian.kernel_pca.estimator",
    "Monitor": "gramian.models.monitor",
    "PCA": "gramian.pca.estimator",
    "PolynomialMap": "gramian.kernel_pca.feature_maps",
    "RandomFourierMap": "gramian.kernel_pca.feature_maps",
    "Whitener": "gramian.models.whitener",
}


@overload
def load(path: str | PathLike[str]) -> Any: ...


@overload
def load(path: str | PathLike[str], kind: type[M]) -> M: ...


def load(path: str | PathLike[str], kind: type[Any] | None = None) -> Any:
    """Open a model that ``save`` has written.

    Parameters
    ----------
    path : str or Path
        Of the file.
    kind : type, optional
        Class of the model, such as :class:`gramian.PCA`. A model of another class raises an error, and type
        checkers know the attributes of the result, as of ``PCA.load(path)``. Without it the type is ``Any``:
        the class is known only to the file.

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
        When it is truncated, altered, not a gramian model, of a newer format, or not of ``kind``.

    Examples
    --------
    >>> import tempfile, gramian
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gramian.PCA(1).fit([[1.0, 2.0], [3.0, 3.0]]).save(f"{folder}/model.gramian")
    ...     gramian.load(f"{folder}/model.gramian", gramian.PCA).components_.round(4)
    array([[0.8944, 0.4472]])
    """
    stored = read_model(path)
    known = [kind for kind, module in MODULES.items() if is_installed(module)]
    if stored.kind in known:
        import_module(MODULES[stored.kind])  # which registers the class
    if stored.kind == "Gallery":
        raise ModelFileError(f"{path} is a gallery of people, not a model. Name the model it was made with.")
    if stored.kind not in KNOWN:
        raise ModelFileError(
            f"{path} holds a model of kind {stored.kind!r}, which this gramian does not know. "
            f"It knows {', '.join(known)}.",
            "Upgrade with: pip install -U gramian",
        )
    return model_of(stored, path, kind or KNOWN[stored.kind])
