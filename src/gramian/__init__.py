"""gramian: PCA and kernel PCA that say how they were computed and what is guaranteed.

Names are loaded when they are first used, so ``import gramian`` is immediate and a program that
only wants the error classes never waits for scikit-learn.

Examples
--------
>>> import gramian
>>> issubclass(gramian.DataError, ValueError)
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gramian.applications import is_installed
from gramian.version import __version__

if TYPE_CHECKING:
    from gramian import errors, faces, kernels, plots
    from gramian.analysis.comparison import compare
    from gramian.errors import (
        CertificateWarning,
        CostWarning,
        DataError,
        FewRowsWarning,
        FileError,
        GramianError,
        IndefiniteKernelError,
        IndefiniteKernelWarning,
        InputTypeError,
        MemoryLimitError,
        MissingExtraError,
        MissingValuesError,
        MissingValuesWarning,
        ModelFileError,
        ParameterError,
        PreimageWarning,
        RankWarning,
    )
    from gramian.estimators.choose_components import choose_components
    from gramian.estimators.describe import describe
    from gramian.estimators.feature_maps import PolynomialMap, RandomFourierMap, TaylorMap
    from gramian.estimators.kernel_pca import KernelPCA
    from gramian.estimators.monitor import Monitor
    from gramian.estimators.pca import PCA
    from gramian.estimators.rotate import rotate
    from gramian.estimators.stability import stability
    from gramian.estimators.whitener import Whitener
    from gramian.laws.relations import relations
    from gramian.loading import load
    from gramian.progress_bar import set_progress
    from gramian.rows.scan import scan
    from gramian.selection.choose_kernel import choose_kernel
    from gramian.selection.filters import FeatureFilter
    from gramian.selection.mutual_information import mutual_information
    from gramian.selection.wrappers import SequentialFeatureSelector

__all__ = [
    "PCA",
    "CertificateWarning",
    "CostWarning",
    "DataError",
    "FeatureFilter",
    "FewRowsWarning",
    "FileError",
    "GramianError",
    "IndefiniteKernelError",
    "IndefiniteKernelWarning",
    "InputTypeError",
    "KernelPCA",
    "MemoryLimitError",
    "MissingExtraError",
    "MissingValuesError",
    "MissingValuesWarning",
    "ModelFileError",
    "Monitor",
    "ParameterError",
    "PolynomialMap",
    "PreimageWarning",
    "RandomFourierMap",
    "RankWarning",
    "SequentialFeatureSelector",
    "TaylorMap",
    "Whitener",
    "__version__",
    "choose_components",
    "choose_kernel",
    "compare",
    "describe",
    "errors",
    "faces",
    "kernels",
    "load",
    "mutual_information",
    "plots",
    "relations",
    "rotate",
    "scan",
    "set_progress",
    "stability",
]

_SUBMODULES = frozenset({"errors", "faces", "kernels", "plots"})
_HOME = {
    "PCA": "gramian.estimators.pca",
    "FeatureFilter": "gramian.selection.filters",
    "KernelPCA": "gramian.estimators.kernel_pca",
    "Monitor": "gramian.estimators.monitor",
    "PolynomialMap": "gramian.estimators.feature_maps",
    "RandomFourierMap": "gramian.estimators.feature_maps",
    "SequentialFeatureSelector": "gramian.selection.wrappers",
    "TaylorMap": "gramian.estimators.feature_maps",
    "Whitener": "gramian.estimators.whitener",
    "choose_components": "gramian.estimators.choose_components",
    "choose_kernel": "gramian.selection.choose_kernel",
    "compare": "gramian.analysis.comparison",
    "describe": "gramian.estimators.describe",
    "load": "gramian.loading",
    "mutual_information": "gramian.selection.mutual_information",
    "relations": "gramian.laws.relations",
    "rotate": "gramian.estimators.rotate",
    "scan": "gramian.rows.scan",
    "set_progress": "gramian.progress_bar",
    "stability": "gramian.estimators.stability",
}
for _name, _module in (_HOME | {name: f"gramian.{name}" for name in _SUBMODULES}).items():
    if not is_installed(_module):
        __all__.remove(_name)


if not TYPE_CHECKING:  # to a type checker a module with this function has every name

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return import_module(f"gramian.{name}")
        if name.startswith("_") or name not in __all__:
            raise AttributeError(f"module 'gramian' has no attribute {name!r}")
        value = getattr(import_module(_HOME.get(name, "gramian.errors")), name)
        # Kept, so that the second use costs a dictionary look-up and `gramian.PCA is gramian.PCA`.
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
