"""Tables of rows, columns and categories: coordinates, squared cosines, contributions, v-tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.records import FloatArray
from gramian.statistics.components import component_names

STATISTICS = ("coordinate", "correlation", "cos2", "contribution", "v-test")


@dataclass(frozen=True, eq=False)
class Items:
    """Items of one kind with their statistics.

    Attributes
    ----------
    kind : str
        Such as "row" or "category".
    names : sequence of m str
    facts : mapping of str to ndarray of shape (m,)
        Numbers that do not depend on a component.
    statistics : mapping of str to ndarray of shape (m, k)
        By the names in ``STATISTICS``, one column a component.
    """

    kind: str
    names: Sequence[str]
    statistics: Mapping[str, FloatArray]
    facts: Mapping[str, FloatArray] = field(default_factory=dict)


def row_items(
    kind: str,
    names: Sequence[str],
    scores: FloatArray,
    squares: FloatArray,
    sums: FloatArray | None,
    spread: FloatArray | float = 0.0,
) -> Items:
    """Return coordinates, squared cosines and contributions of rows.

    Parameters
    ----------
    kind : str
    names : sequence of n str
    scores : ndarray of shape (n, k)
    squares : ndarray of shape (n,)
        Squared distances of the rows from the mean, in fitted units.
    sums : ndarray of shape (k,) or None
        Sums of squared scores over the rows of the fit; None for other rows, which contribute nothing.
    spread : ndarray of shape (n, k) or 0
        Conditional variances of the scores of rows with missing values: their expected squares are larger.

    Returns
    -------
    Items
        ``cos2[i, j] = scores[i, j]**2 / squares[i]``, 0 for a row at the mean; its sum over all components
        is 1. ``contribution[i, j] = scores[i, j]**2 / sums[j]``; its sum over the rows is 1.

    References
    ----------
    Lebart, Morineau, Warwick (1984), Multivariate Descriptive Statistical Analysis, chapter 1.
    """
    expected = scores**2 + spread
    statistics = {"coordinate": scores, "cos2": _ratio(expected, squares[:, None])}
    if sums is not None:
        statistics["contribution"] = _ratio(expected, sums[None, :])
    return Items(kind, names, statistics, {"distance": np.sqrt(squares)})


def column_items(
    names: Sequence[str],
    directions: FloatArray,
    variances: FloatArray,
    deviations: FloatArray,
    *,
    centered: bool,
    facts: Mapping[str, FloatArray],
) -> Items:
    """Return coordinates, correlations, squared cosines and contributions of the fitted columns.

    Parameters
    ----------
    names : sequence of d str
    directions : ndarray of shape (d, k)
        Unit vectors.
    variances : ndarray of shape (k,)
        Of the components.
    deviations : ndarray of shape (d,)
        Standard deviations of the columns in fitted units; of no centre, roots of second moments.
    centered : bool
        Whether they are about the mean: otherwise there is no correlation.
    facts : mapping of str to ndarray of shape (d,)

    Returns
    -------
    Items
        The coordinate is the covariance of the column with the standardised score, ``direction * sqrt(l)``:
        under unit scale the correlation. The contribution is the squared entry of the unit vector.
    """
    coordinates = directions * np.sqrt(variances)
    correlations = _ratio(coordinates, deviations[:, None])
    statistics = {"coordinate": coordinates, "cos2": correlations**2, "contribution": directions**2}
    if centered:
        statistics["correlation"] = correlations
    return Items("column", names, statistics, facts)


def supplementary_column(
    name: str, values: FloatArray, scores: FloatArray, *, standardized: bool, ddof: float
) -> Items:
    """Return the correlation of a column that the model was not fitted on with the scores.

    Parameters
    ----------
    name : str
    values : ndarray of shape (n,)
        NaN where there is no value: these rows are left out.
    scores : ndarray of shape (n, k)
    standardized : bool
        Whether the fitted columns have variance 1, and this one too.
    ddof : float
        Divisor of its variance is the number of values less this.
    """
    there = np.isfinite(values)
    x, Z = values[there], scores[there]
    x, Z = x - x.mean(), Z - Z.mean(axis=0)
    norm = math.sqrt(float(x @ x))
    correlation = _ratio(x @ Z, norm * np.sqrt(np.sum(Z**2, axis=0)))
    deviation = norm / math.sqrt(len(x) - ddof)
    statistics = {
        "coordinate": correlation * (1.0 if standardized else deviation),
        "correlation": correlation,
    }
    statistics["cos2"] = correlation**2
    return Items(
        "supplementary column",
        [name],
        {key: value[None, :] for key, value in statistics.items()},
        {
            "mean": values[there].mean(keepdims=True),
            "standard deviation": np.array([deviation]),
            "rows": np.array([float(len(x))]),
        },
    )


def category_items(
    name: str, labels: npt.NDArray[Any], levels: Sequence[str], scores: FloatArray, distances: FloatArray
) -> Items:
    """Return the mean scores of the rows of each category, with their v-tests.

    Parameters
    ----------
    name : str
        Of the column of labels: items are named ``name=label``.
    labels : ndarray of str, shape (n,)
        "" where there is none: these rows are left out.
    levels : sequence of c str
        The categories, in order.
    scores : ndarray of shape (n, k)
    distances : ndarray of shape (c,)
        Of the mean of the rows of each category from the mean of the fit, in the order of ``levels``.

    Returns
    -------
    Items
        The v-test is the mean score in standard deviations of a mean of as many rows that are drawn without
        replacement, with population variances: beyond 1.96 the mean differs from 0 at the level 0.05.

    References
    ----------
    Lebart, Morineau, Piron (1995), Statistique exploratoire multidimensionnelle, section 2.2.4.
    """
    there = labels != ""
    n = int(there.sum())
    center, variance = scores[there].mean(axis=0), scores[there].var(axis=0)
    sizes = np.array([float(np.sum(labels == level)) for level in levels])
    means = np.array([scores[labels == level].mean(axis=0) for level in levels])
    error = np.sqrt(variance * ((n - sizes) / (sizes * max(n - 1, 1)))[:, None])
    statistics = {
        "coordinate": means,
        "cos2": _ratio(means**2, distances[:, None] ** 2),
        "v-test": _ratio(means - center, error),
    }
    return Items(
        "category",
        [f"{name}={level}" for level in levels],
        statistics,
        {"rows": sizes, "distance": distances},
    )


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide, with 0 where the divisor is 0."""
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


# ---------------------------------------------------------------------- as a table


def items_table(parts: Sequence[Items], k: int) -> dict[str, npt.NDArray[Any]]:
    """Return items as columns: name, kind, facts, then each statistic of PC1, PC2, ...

    A coordinate is named ``PC1``, another statistic ``cos2 PC1``. Entries that an item lacks are NaN.
    """
    columns: dict[str, npt.NDArray[Any]] = {
        "name": np.array([name for part in parts for name in part.names], dtype=object),
        "kind": np.array([part.kind for part in parts for _ in part.names], dtype=object),
    }
    facts = list(dict.fromkeys(name for part in parts for name in part.facts))
    for name in facts:
        columns[name] = np.concatenate(
            [part.facts.get(name, np.full(len(part.names), np.nan)) for part in parts]
        )
    for name in STATISTICS:
        if any(name in part.statistics for part in parts):
            values = np.vstack(
                [part.statistics.get(name, np.full((len(part.names), k), np.nan)) for part in parts]
            )
            prefix = "" if name == "coordinate" else f"{name} "
            columns |= {f"{prefix}{pc}": values[:, j] for j, pc in enumerate(component_names(k))}
    return columns


def rows_frame(parts: Sequence[Items], k: int, tables: Sequence[Any]) -> Any:
    """Return items that are the rows of tables as a frame; those of a frame of pandas have its index."""
    frame, start = as_frame(items_table(parts, k), tables[0]), 0
    if type(frame).__module__.partition(".")[0] != "pandas":
        return frame
    pieces = []
    for part, X in zip(parts, tables, strict=True):
        there, stop = type(X).__module__.partition(".")[0] == "pandas", start + len(part.names)
        pieces.append(X.index if there else frame.index[start:stop])
        start = stop
    frame.index = pieces[0].append(pieces[1:])
    return frame


def as_frame(columns: Mapping[str, npt.NDArray[Any]], like: Any = None) -> Any:
    """Return columns as a data frame.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The first one names the rows.
    like : object, optional
        A frame of Polars gives one.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or dict of str to ndarray
        Of pandas with the first column as index, if that is installed; else of Polars; else ``columns``.
    """
    of_polars = type(like).__module__.partition(".")[0] == "polars"
    if not of_polars and find_spec("pandas") is not None:
        import pandas

        return pandas.DataFrame(dict(columns)).set_index(next(iter(columns)))
    if of_polars or find_spec("polars") is not None:
        import polars

        return polars.DataFrame(
            {name: values.tolist() for name, values in columns.items()}, nan_to_null=False
        )
    return dict(columns)
