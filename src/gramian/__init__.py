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

from gramian.core import notebook
from gramian.core.version import __version__ as __version__

if TYPE_CHECKING:  # a name that is imported as itself is public
    from gramian import errors as errors
    from gramian import faces as faces
    from gramian import figures as figures
    from gramian import kernels as kernels
    from gramian.answers.choose_components import choose_components as choose_components
    from gramian.answers.compare import compare as compare
    from gramian.answers.describe import describe as describe
    from gramian.answers.diagnose import diagnose as diagnose
    from gramian.answers.explanation import explain as explain
    from gramian.answers.proposals import propose as propose
    from gramian.answers.rotate import rotate as rotate
    from gramian.answers.stability import stability as stability
    from gramian.core.progress import set_progress as set_progress
    from gramian.errors import DiagnosticWarning as DiagnosticWarning
    from gramian.models.kernel_pca.estimator import KernelPCA as KernelPCA
    from gramian.models.kernel_pca.feature_maps import PolynomialMap as PolynomialMap
    from gramian.models.kernel_pca.feature_maps import RandomFourierMap as RandomFourierMap
    from gramian.models.model_file import load as load
    from gramian.models.monitor import Monitor as Monitor
    from gramian.models.pca.estimator import PCA as PCA
    from gramian.models.whitener import Whitener as Whitener
    from gramian.select.choose_kernel import choose_kernel as choose_kernel
    from gramian.select.filters import FeatureFilter as FeatureFilter
    from gramian.select.mutual_information import mutual_information as mutual_information
    from gramian.select.relations import relations as relations
    from gramian.select.wrappers import SequentialFeatureSelector as SequentialFeatureSelector
    from gramian.tables.roles import roles as roles
    from gramian.tables.scan import scan as scan

_MODULES = ("errors", "faces", "figures", "kernels")
_HOMES = {
    "PCA": "gramian.models.pca.estimator",
    "DiagnosticWarning": "gramian.errors",
    "FeatureFilter": "gramian.select.filters",
    "KernelPCA": "gramian.models.kernel_pca.estimator",
    "Monitor": "gramian.models.monitor",
    "PolynomialMap": "gramian.models.kernel_pca.feature_maps",
    "RandomFourierMap": "gramian.models.kernel_pca.feature_maps",
    "SequentialFeatureSelector": "gramian.select.wrappers",
    "Whitener": "gramian.models.whitener",
    "choose_components": "gramian.answers.choose_components",
    "choose_kernel": "gramian.select.choose_kernel",
    "compare": "gramian.answers.compare",
    "describe": "gramian.answers.describe",
    "diagnose": "gramian.answers.diagnose",
    "explain": "gramian.answers.explanation",
    "load": "gramian.models.model_file",
    "mutual_information": "gramian.select.mutual_information",
    "propose": "gramian.answers.proposals",
    "relations": "gramian.select.relations",
    "roles": "gramian.tables.roles",
    "rotate": "gramian.answers.rotate",
    "scan": "gramian.tables.scan",
    "set_progress": "gramian.core.progress",
    "stability": "gramian.answers.stability",
}

# Models have methods that draw, and import no figures.
notebook.figures = lambda: import_module("gramian.figures")

if not TYPE_CHECKING:  # a type checker reads the imports above, and would believe that every name is here
    __all__ = sorted([*_MODULES, *_HOMES, "__version__"])

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"gramian.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'gramian' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        # Kept, so that the second use costs a dictionary look-up and `gramian.PCA is gramian.PCA`.
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return list(__all__)
