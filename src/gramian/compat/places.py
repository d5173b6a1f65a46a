"""Where scikit-learn's names are that gramian has too, and how its own are put there."""

from __future__ import annotations

import sklearn.decomposition
import sklearn.feature_selection
import sklearn.kernel_approximation

from gramian.compat import sklearn as ours

PLACES = {
    sklearn.decomposition: ("PCA", "IncrementalPCA", "KernelPCA"),
    sklearn.kernel_approximation: ("Nystroem",),
    sklearn.feature_selection: (
        "SequentialFeatureSelector",
        "mutual_info_classif",
        "mutual_info_regression",
    ),
}


def put_in_place() -> None:
    """Replace scikit-learn's names by gramian's, for everything that is imported from now on."""
    for module, names in PLACES.items():
        for name in names:
            setattr(module, name, getattr(ours, name))
