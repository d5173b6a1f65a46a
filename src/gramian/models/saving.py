"""Saving and opening fitted models, and the attributes that every decomposition has."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from gramian.core import records
from gramian.core.records import OPTIONAL, POSITIVE, FloatArray, ModelKind
from gramian.tables.reading import OWN, ReadingOptions

if TYPE_CHECKING:
    from gramian.statistics.component_rules import ComponentChoice

    Reading = dict[str, Any]
    TableFile = dict[str, Any]
else:
    Single = bool | int | float | str | None
    _NAMES = "source", "key", *ReadingOptions.__dataclass_fields__
    Reading = dict[Literal[_NAMES], Single | tuple[Single, ...]]
    # The file of the rows as it was named, its SHA-256, and which rows they are.
    TableFile = dict[Literal[("path", "sha256", *OWN)], str | tuple[str, ...]]


class ColumnAttributes:
    """What is known of the d columns of the fitted rows."""

    n_features_in_: Annotated[int, "d"]
    feature_names_in_: Annotated[npt.NDArray[np.object_], "d", OPTIONAL]
    _column_names: Annotated[npt.NDArray[np.object_] | None, "d", OPTIONAL]
    counted_alleles_: Annotated[npt.NDArray[np.object_], "d", OPTIONAL]
    column_means_: Annotated[FloatArray | None, "d", OPTIONAL]
    reading_: Annotated[Reading, OPTIONAL]
    _table_file: Annotated[TableFile, OPTIONAL]


class DecompositionAttributes(ColumnAttributes):
    """The attributes of every estimator of k eigenpairs of n rows."""

    n_samples_: Annotated[int, "n"]
    picture_shape_: tuple[int, int] | None
    _unequal: Annotated[bool, OPTIONAL]  # whether rows have weights of their own
    n_components_: Annotated[int, "k"]
    rank_: int
    explained_variance_ratio_: Annotated[FloatArray | None, "k", POSITIVE]
    plan_: records.Plan
    attempts_: tuple[records.Attempt, ...]
    spectrum_: records.Spectrum
    certificate_: records.Certificate
    component_choice_: Annotated[ComponentChoice | None, OPTIONAL]
    _fit_parameters: dict[str, Any]


class Saved:
    """Gives an estimator ``save`` and ``load``; :mod:`gramian.models.model_file` lists its name."""

    _private: ClassVar[bool] = False  # whether only the owner may read a new file
    model_kind: ClassVar[ModelKind] = ModelKind.OTHER

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
        from gramian.models.model_file import write_model  # which a fit does not need

        self._require_savable()
        write_model(path, self, private=self._private)

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
            When it is truncated, altered, not a gramian model, of another format, or of another class.

        Examples
        --------
        >>> import tempfile, gramian
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     gramian.PCA(1).fit([[1.0, 2.0], [3.0, 3.0]]).save(f"{folder}/model.gramian")
        ...     gramian.PCA.load(f"{folder}/model.gramian").components_.round(4)
        array([[0.8944, 0.4472]])
        """
        from gramian.models.model_file import load

        return load(path, cls)

    def _require_savable(self) -> None:
        # Here, so that a model's description can be read without scikit-learn.
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)

    def _check_restored(self) -> None:
        """Raise a ValueError unless the parts of a model from a file belong together."""
