"""The methods of estimators that can be saved; :mod:`gramian.base.encoding` writes and reads the files."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, Self

from gramian.base.declarations import MODELS, Parts
from gramian.records import ModelKind


class Saved:
    """Gives an estimator ``save``; a subclass is known to :func:`gramian.load` by its name."""

    _private: ClassVar[bool] = False  # whether only the owner may read a new file
    model_kind: ClassVar[ModelKind] = ModelKind.OTHER
    # What is there when it is fitted: annotations of a decomposition, or as store.conform takes it.
    _attributes: ClassVar[type | None] = None
    _contents: ClassVar[Mapping[str, Any]] = {}
    _of_columns: ClassVar[bool] = False  # whether it has what is known of the columns of the data, too

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        MODELS[cls.__name__] = cls

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, which :func:`gramian.load` opens.

        Parameters
        ----------
        path : str or Path
            By custom it ends in ``.gramian``. The file appears whole or not at all.

        Raises
        ------
        NotFittedError
            Before ``fit`` or ``partial_fit``. A stream of too few rows for a model is saved, and goes on from
            the file.
        ParameterError
            For a kernel given as a function, which no file can hold.
        """
        from gramian.base.encoding import write

        self._require_savable()
        write(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Open a model of this class that ``save`` has written; :func:`gramian.load` opens any model.

        Parameters
        ----------
        path : str or Path
            Of the file.

        Returns
        -------
        estimator
            The fitted model. Arrays are NumPy arrays, whatever kind they were fitted on.

        Raises
        ------
        FileError
            When the file is not there or cannot be read.
        ModelFileError
            When it is truncated, altered, not a gramian model, of a newer format, or of another class.

        Examples
        --------
        >>> import tempfile, gramian
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     gramian.PCA(1).fit([[1.0, 2.0], [3.0, 3.0]]).save(f"{folder}/model.gramian")
        ...     gramian.PCA.load(f"{folder}/model.gramian").components_.round(4)
        array([[0.8944, 0.4472]])
        """
        from gramian.base.encoding import model_of
        from gramian.store.model_file import read_model

        return model_of(read_model(path), path, cls)

    def _check_restored(self) -> None:
        """Raise a ValueError unless the parts of a model from a file belong together."""

    def _saved_parameters(self) -> Parts:
        parameters: Parts = self.get_params(deep=False)  # type: ignore[attr-defined]
        return parameters

    def _require_savable(self) -> None:
        # Here, so that a model's description can be read without scikit-learn.
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)

    @classmethod
    def _contents_of(cls, state: Parts) -> Mapping[str, Any]:
        """Return the declarations of what a file must hold that holds this."""
        from gramian.base.encoding import COLUMNS, DECOMPOSED, declared

        if cls._attributes is not None:
            return DECOMPOSED | declared(cls._attributes)
        return (COLUMNS if cls._of_columns else {}) | dict(cls._contents)
