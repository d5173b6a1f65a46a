"""Saving fitted models and opening them again; nothing is ever pickled."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from gramian.errors import ModelFileError

__all__ = ["Saved", "contents", "load", "restored"]

# Every kernel and record can be in a file: what knows them all is loaded when a file is written or read.
ENCODING, STORE = "gramian.estimators.encoding", "gramian.store"
HOMES = (
    "gramian.estimators.pca",
    "gramian.estimators.kernel_pca",
    "gramian.estimators.feature_maps",
    "gramian.estimators.whitener",
    "gramian.faces.space",
)


class Saved:
    """Gives an estimator ``save``; a subclass is known to :func:`load` by its name."""

    known: ClassVar[dict[str, type[Any]]] = {}
    private: ClassVar[bool] = False  # whether only the owner may read a new file

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Saved.known[cls.__name__] = cls

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, which :func:`gramian.load` opens.

        Parameters
        ----------
        path : str or Path
            By custom it ends in ``.gramian``. The file appears whole or not at all.

        Raises
        ------
        ParameterError
            For a kernel given as a function, which no file can hold.
        """
        check_is_fitted(self)
        arrays: dict[str, Any] = {}
        encode = import_module(ENCODING).encode
        header = {part: encode(values, part, arrays) for part, values in contents(self).items()}
        import_module(STORE).write_model(path, type(self).__name__, header, arrays, private=self.private)


def contents(model: Any) -> dict[str, dict[str, Any]]:
    """Return what makes a fitted estimator: its parameters, and its state."""
    parameters = model.get_params(deep=False)
    state = {name: value for name, value in vars(model).items() if name not in parameters}
    return {"parameters": parameters, "state": state}


def restored(kind: str, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
    """Return the estimator of a known class that :func:`contents` described."""
    model = Saved.known[kind](**parameters)
    for name, value in state.items():
        setattr(model, name, value)
    return model


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
    for home in HOMES:
        import_module(home)
    stored = import_module(STORE).read_model(path)
    if stored.kind not in Saved.known:
        raise ModelFileError(
            f"{path} holds a model of kind {stored.kind!r}, which this gramian does not know. "
            f"It knows {', '.join(sorted(Saved.known))}. Upgrade with: pip install -U gramian"
        )
    try:
        decode = import_module(ENCODING).decode
        header = {part: decode(stored.header[part], stored.arrays) for part in ("parameters", "state")}
        return restored(stored.kind, **header)
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"{path} is a gramian file, but its contents are not those of a {stored.kind} ({error}). "
            "Fit the model again, or upgrade gramian if the file is newer."
        ) from error
