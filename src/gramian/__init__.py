"""gramian: PCA and kernel PCA that say how they were computed and what is guaranteed.

Names are loaded when they are first used, so ``import gramian`` is immediate and a program that
only wants the classes in ``gramian.errors`` never waits for scikit-learn.

Examples
--------
>>> import gramian
>>> issubclass(gramian.errors.DataError, ValueError)
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gramian.core.version import __version__

if TYPE_CHECKING:
    from gramian import errors, faces, figures, kernels
    from gramian.core.progress import set_progress
    from gramian.errors import DiagnosticWarning
    from gramian.explain.choose_components import choose_components
    from gramian.explain.compare import compare
    from gramian.explain.describe import describe
    from gramian.explain.diagnose import diagnose
    from gramian.explain.proposals import propose
    from gramian.explain.rotate import rotate
    from gramian.explain.stability import stability
    from gramian.models.kernel_pca.estimator import KernelPCA
    from gramian.models.kernel_pca.feature_maps import PolynomialMap, RandomFourierMap
    from gramian.models.model_file import load
    from gramian.models.monitor import Monitor
    from gramian.models.pca.estimator import PCA
    from gramian.models.whitener import Whitener
    from gramian.select.choose_kernel import choose_kernel
    from gramian.select.filters import FeatureFilter
    from gramian.select.mutual_information import mutual_information
    from gramian.select.relations import relations
    from gramian.select.wrappers import SequentialFeatureSelector
    from gramian.tables.scan import scan

__all__ = [
    "PCA",
    "DiagnosticWarning",
    "FeatureFilter",
    "KernelPCA",
    "Monitor",
    "PolynomialMap",
    "RandomFourierMap",
    "SequentialFeatureSelector",
    "Whitener",
    "__version__",
    "choose_components",
    "choose_kernel",
    "compare",
    "describe",
    "diagnose",
    "errors",
    "faces",
    "figures",
    "kernels",
    "load",
    "mutual_information",
    "propose",
    "relations",
    "rotate",
    "scan",
    "set_progress",
    "stability",
]

_SUBMODULES = frozenset({"errors", "faces", "figures", "kernels"})
_HOME = {
    "PCA": "gramian.models.pca.estimator",
    "DiagnosticWarning": "gramian.errors",
    "FeatureFilter": "gramian.select.filters",
    "KernelPCA": "gramian.models.kernel_pca.estimator",
    "Monitor": "gramian.models.monitor",
    "PolynomialMap": "gramian.models.kernel_pca.feature_maps",
    "RandomFourierMap": "gramian.models.kernel_pca.feature_maps",
    "SequentialFeatureSelector": "gramian.select.wrappers",
    "Whitener": "gramian.models.whitener",
    "choose_components": "gramian.explain.choose_components",
    "choose_kernel": "gramian.select.choose_kernel",
    "compare": "gramian.explain.compare",
    "describe": "gramian.explain.describe",
    "diagnose": "gramian.explain.diagnose",
    "load": "gramian.models.model_file",
    "mutual_information": "gramian.select.mutual_information",
    "propose": "gramian.explain.proposals",
    "relations": "gramian.select.relations",
    "rotate": "gramian.explain.rotate",
    "scan": "gramian.tables.scan",
    "set_progress": "gramian.core.progress",
    "stability": "gramian.explain.stability",
}

if not TYPE_CHECKING:  # to a type checker a module with this function has every name

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return import_module(f"gramian.{name}")
        if name.startswith("_") or name not in __all__:
            raise AttributeError(f"module 'gramian' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        # Kept, so that the second use costs a dictionary look-up and `gramian.PCA is gramian.PCA`.
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
