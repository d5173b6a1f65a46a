"""Names of components, columns and rows in figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian.core import arrays, checks
from gramian.errors import DataError, ParameterError
from gramian.statistics.components import component_names, decomposition_of, shares_of
from gramian.tables.memory import index_names
from gramian.tables.metadata import labels_of
from gramian.tables.table import Table

NOTHING = "The model has no components to draw."


def fitted(model: Any) -> Any:
    """Return a fitted decomposition, for a FaceSpace the one that it contains.

    Raises
    ------
    sklearn.exceptions.NotFittedError
    """
    check_is_fitted(model)
    return decomposition_of(model)


def component_titles(model: Any, k: int) -> list[str]:
    """Return "PC1 (44.3 %)", "PC2 (21.0 %)", ..., without unknown ratios."""
    names = component_names(k)
    ratios = shares_of(model)
    if ratios is None:
        return names
    digits = [1 if ratio >= 0.001 else 2 for ratio in ratios]
    return [f"{name} ({100 * r:.{d}f} %)" for name, r, d in zip(names, ratios, digits, strict=False)]


def axis_title(model: Any, index: int) -> str:
    """Return "PC1 (44.3 % of the variance)" for place 0."""
    what = "variance" if getattr(model, "center", True) else "second moments"
    return component_titles(model, index + 1)[index].replace(" %)", f" % of the {what})")


def place_of(component: int | str, count: int, name: str = "component", advice: str = "") -> int:
    """Return the place, from 0, of a component given as 3 or "PC3".

    Raises
    ------
    ParameterError
        If there is no such component.

    Examples
    --------
    >>> place_of("PC3", 5), place_of(1, 5)
    (2, 0)
    """
    if count == 0:
        raise DataError(NOTHING)
    number = component
    if isinstance(component, str):
        matched = re.fullmatch(r"(?:PC)?(\d+)", component.strip(), re.IGNORECASE)
        if matched is None:
            raise ParameterError(name, component, "is not a component", f"Choose PC1 to PC{count}.")
        number = int(matched[1])
    return checks.check_integer(name, number, 1, count, advice or f"The model has PC1 to PC{count}.") - 1


def numbers_of(X: Any) -> npt.NDArray[Any]:
    """Return the numbers of an array, a data frame or a table."""
    values = getattr(X, "values", X)
    return arrays.to_numpy(X if callable(values) else values)


def row_names_of(X: Any) -> Sequence[Any] | None:
    """Return the row names of a table or the index of a data frame; None without names."""
    names = getattr(X, "row_names", None)
    return index_names(X) if names is None else names


def usual_hue(X: Any) -> Any:
    """Return what sets the colour of points by default: the first labels of a table, or the name of these."""
    first = next(iter(labels_of(X)), None) if isinstance(X, Table) else None
    return first if first is None or X.labels is None or X.label_name is not None else X.labels
