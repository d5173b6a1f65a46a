"""The figures of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.analysis.components import component_names, shares_of
from gramian.arrays import as_float64
from gramian.errors import DataError, ParameterError
from gramian.plots.charts import Chart, bars, scatter
from gramian.plots.pictures import Picture, contact_sheet, signed

MOST_BARS, MOST_PICTURES = 30, 24


def component_titles(model: Any, k: int) -> list[str]:
    """Return "PC1 (44.3 %)", "PC2 (21.0 %)", ..., without the ratios where they are not known."""
    names = component_names(k)
    ratios = shares_of(model)
    if ratios is None:
        return names
    return [
        f"{name} ({100 * ratio:.{1 if ratio >= 0.001 else 2}f} %)"
        for name, ratio in zip(names, ratios, strict=False)
    ]


def scores(model: Any, X: Any = None, labels: npt.ArrayLike | None = None) -> Chart:
    """Draw the scores of rows along the first two components.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    X : array-like of shape (n_samples, n_features), optional
        Rows to map. An exact KernelPCA remembers the rows it was fitted on; other models need them again.
    labels : array-like of shape (n_samples,), optional
        What the points are coloured by.

    Returns
    -------
    Chart
        SVG that shows itself in a notebook; ``save(path)`` writes it.
    """
    if X is not None:
        mapped = as_float64(model.transform(X))
    elif hasattr(model, "eigenvectors_"):
        mapped = as_float64(model.eigenvectors_) * np.sqrt(as_float64(model.eigenvalues_))
    else:
        raise ParameterError(
            "The model does not keep the rows it was fitted on. Pass them: scores(model, X)."
        )
    return draw_scores(model, mapped, labels)


def draw_scores(model: Any, mapped: Any, labels: npt.ArrayLike | None = None, label_title: str = "") -> Chart:
    """Draw scores that are known already, shape (n_samples, n_components); one component is drawn by row."""
    mapped = as_float64(mapped)
    n, k = mapped.shape
    if labels is not None and len(np.asarray(labels)) != n:
        raise ParameterError(
            f"labels has {len(np.asarray(labels))} entries for {n} rows. Give one for each row."
        )
    if k == 0:
        raise ParameterError("The model has no components to draw.")
    titles = component_titles(model, k)
    names: dict[str, Any] = {"title": "Scores", "labels": labels, "label_title": label_title}
    if k == 1:
        return scatter(np.arange(n, dtype=float), mapped[:, 0], x_title="row", y_title=titles[0], **names)
    return scatter(mapped[:, 0], mapped[:, 1], x_title=titles[0], y_title=titles[1], **names)


def variances(model: Any) -> Chart:
    """Draw the explained variance ratio of each component, and the cumulative one.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
        Ratios are of the total variance; under a kernel that is not proven positive semi-definite that is
        not known, and they are of the components that were computed.
    """
    if model.n_components_ == 0:
        raise ParameterError("The model has no components to draw.")
    ratios = shares_of(model)
    of = "the total variance"
    if ratios is None:
        of = f"the variance of {model.n_components_} components"
        ratios = as_float64(model.explained_variance_)
        ratios = ratios / (ratios.sum() or 1.0)
    shown = min(MOST_BARS, len(ratios))
    title = (
        "Variances" if shown == len(ratios) else f"Variances of the first {shown} of {len(ratios)} components"
    )
    return bars(
        ratios[:shown], component_names(shown), title=title, y_title=f"explained variance ratio (% of {of})"
    )


def components(model: Any, count: int = MOST_PICTURES) -> Picture:
    """Show the first components of a PCA of pictures as pictures: middle grey is 0.

    Parameters
    ----------
    model : fitted PCA
        Fitted on pictures, an array of shape (n_samples, height, width).
    count : int, default 24
        How many.

    Raises
    ------
    DataError
        If the model was not fitted on pictures.
    MissingExtraError
        If Pillow is not installed.
    """
    shape = getattr(model, "picture_shape_", None)
    if shape is None or not hasattr(model, "components_"):
        raise DataError(
            "Components are pictures for a PCA fitted on pictures: a 3-D array, or picture files."
        )
    shown = as_float64(model.components_[:count]).reshape(-1, *shape)
    return contact_sheet([signed(picture) for picture in shown], component_titles(model, len(shown)))
