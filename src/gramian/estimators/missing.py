"""Missing values in the fit of PCA: which method applies, what it refuses, and the filled table."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from gramian.analysis.imputation import (
    MOST_CHOSEN,
    HeldOut,
    Imputed,
    choose_count,
    choose_strength,
    impute_em,
    impute_iterative,
)
from gramian.arrays import is_numpy, memory_limit_bytes, power_of_two
from gramian.checks import NAMES_SHOWN, check_choice, check_number, counted
from gramian.engine import require_memory
from gramian.errors import DataError, MissingValuesWarning, ParameterError
from gramian.estimators.component_choice import check_wanted
from gramian.estimators.inputs import check_feature_weight, check_scale, generators
from gramian.estimators.linear_fit import PCAParameters
from gramian.records import Certificate, FloatArray
from gramian.rows import Rows
from gramian.rows.kinds.array import ArrayRows
from gramian.rows.rows import Holes, row_text

METHODS = ("error", "mean", "em", "iterative", "projection")
IMPUTING = ("mean", "em", "iterative")
BY = {
    "mean": "column means",
    "em": "EM for probabilistic PCA",
    "iterative": "regularised iterative PCA",
}
# Genotypes are read with their means, whatever the method.


@dataclass(frozen=True, eq=False)
class Filled:
    """A table without missing values, and what was imputed.

    Attributes
    ----------
    rows : Rows
        Complete.
    given : Rows
        As they came.
    method : str
        The method that applies to new rows too.
    missing : int
        Number of missing values.
    imputed : Imputed or None
        None if nothing was missing, or a reader filled it.
    """

    rows: Rows
    given: Rows
    method: str
    missing: int = 0
    imputed: Imputed | None = None

    def stated(self, certificate: Certificate | None) -> Certificate | None:
        """Return the certificate with a statement of which matrix it is about."""
        if certificate is None or not self.missing:
            return certificate
        n, d = self.rows.shape
        return replace(
            certificate,
            about=f"It is about the filled matrix: {self.missing:,} of its {n * d:,} entries "
            f"({100 * self.missing / (n * d):.2g} %) were missing and imputed by "
            f"{BY.get(self.method, BY['mean'])}.",
        )


def method_of(asked: PCAParameters, rows: Rows) -> str:
    """Return the method for missing values that the parameters or the reader of the data name.

    Raises
    ------
    ParameterError
        For an unknown method, or two.
    """
    method: str = check_choice("missing", asked.missing, METHODS)
    read = rows.table.missing if rows.table is not None else ""
    if method != "iterative" and asked.regularization is not None and read != "iterative":
        raise ParameterError(
            f"regularization={asked.regularization!r} applies only to missing='iterative'. Leave it out."
        )
    if read and method not in ("error", "projection", read):
        raise ParameterError(
            f"The data were read with missing={read!r}, but the model has missing={method!r}. Leave out one."
        )
    return read or method


def filled(asked: PCAParameters, rows: Rows, *, quick: bool = False) -> Filled:
    """Return rows without missing values, by the method that was asked for.

    Parameters
    ----------
    asked : PCAParameters
    rows : Rows
    quick : bool
        Fill with means whatever the method: for a plan, which depends on the shape only.

    Raises
    ------
    DataError
        For infinity, a row or column without any entry, and kinds of data that are not filled.
    ParameterError
        For a number of components that the method cannot use.
    MemoryLimitError
    """
    method = method_of(asked, rows)
    read = 0 if rows.table is None else rows.table.missing_values
    if method not in IMPUTING or read:
        return Filled(rows, rows, method, read)
    strength = _check_strength(asked.regularization)
    holes = rows.holes()
    if holes is None:
        return Filled(rows, rows, method)
    if not isinstance(rows, ArrayRows) or not is_numpy(rows.like):
        raise DataError(
            f"{holes.missing:,} values are missing, and missing={method!r} fills NumPy arrays, frames and "
            "files that fit into memory. Read a larger file with gramian.scan(path, missing='mean'), move "
            "arrays of a device to the host, or fill sparse and Dask data first."
        )
    rows.require_finite(holes=True)
    _refuse_empty(rows, holes)
    X = np.asarray(rows.values, dtype=np.float64)
    if method == "mean" or quick:
        values, imputed = _by_means(X, rows.weights)
    else:
        values, imputed = _by_model(asked, rows, X, method, strength)
    complete = replace(rows, values=values.astype(rows.dtype), borrowed=False)
    return Filled(complete, rows, method, holes.missing, imputed)


def _check_strength(strength: Any) -> float | str:
    if strength is None:
        return 1.0
    if isinstance(strength, str) and strength == "cv":
        return "cv"
    advice = (
        "It multiplies the noise variance that is subtracted. 'cv' chooses it by cross-validation; None is 1."
    )
    return check_number("regularization", strength, least=0.0, advice=advice)


def _refuse_empty(rows: Rows, holes: Holes) -> None:
    n, d = rows.shape
    columns = np.flatnonzero(holes.by_column == n).tolist()
    if rows.weights is not None:  # rows of weight 0 determine nothing
        there = ~np.isnan(rows.in_memory()[rows.weights > 0])
        columns = np.flatnonzero(~there.any(axis=0)).tolist()
    names = rows.feature_names
    empty_rows = [row_text(rows, row) for row, count in holes.by_row.items() if count == d]
    empty_columns = [f"column {j}" + (f" ({names[j]!r})" if names else "") for j in columns]
    for what, empty in (("row", empty_rows), ("column", empty_columns)):
        if empty:
            listed = ", ".join(empty[:NAMES_SHOWN])
            more = f" and {len(empty) - NAMES_SHOWN} more" if len(empty) > NAMES_SHOWN else ""
            raise DataError(
                f"{counted(len(empty), f'{what} has', f'{what}s have')} no entry at all: {listed}{more}. "
                f"Nothing determines what is missing there. Leave out such {what}s."
            )


def _by_means(X: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, Imputed]:
    rows, columns = np.nonzero(np.isnan(X))
    means, deviations = _spread(X, weights)
    values = X.copy()
    values[rows, columns] = means[columns]
    nothing = np.empty(0)
    return values, Imputed("mean", rows, columns, means[columns], deviations[columns], nothing, None, 0, True)


def _spread(X: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations of the observed entries of each column."""
    own = np.ones((len(X), 1)) if weights is None else weights[:, None]
    count = (own * ~np.isnan(X)).sum(axis=0)
    # Divided first, so that sums stay finite.
    means = np.nansum(X * (own / count), axis=0)
    top = np.maximum(np.nanmax(np.abs(X), axis=0), np.finfo(float).tiny)
    squares = np.nansum(own * ((X - means) / top) ** 2, axis=0)
    return means, top * np.sqrt(squares / np.maximum(count - 1, 1))


def _number(asked: PCAParameters, method: str, rows: Rows) -> tuple[int | None, int]:
    """Return the number of components that impute, None for one by cross-validation, and the largest."""
    shape = rows.shape
    count, most = asked.n_components, min(shape[0] - 1, shape[1]) - 1
    if not asked.center:
        raise ParameterError(
            f"missing={method!r} estimates column means, but center=False does not subtract them. "
            "Use center=True, or use missing='mean'."
        )
    if most < 1:
        raise DataError(
            f"missing={method!r} needs at least 3 rows and 2 columns, but there are {shape[0]} x {shape[1]}. "
            "Use missing='mean'."
        )
    if not isinstance(count, Integral) or isinstance(count, bool):
        check_wanted(asked, rows)  # refused before the search, which takes a while
        return None, most
    if not 1 <= int(count) <= most:
        raise ParameterError(
            f"missing={method!r} imputes with 1 to {most} components for {shape[0]} rows x {shape[1]} "
            f"columns, but n_components={count!r}. Give such a number, or None: then cross-validation "
            "chooses the number that imputes, and all components of the filled table are kept."
        )
    return int(count), most


def _divisor(asked: PCAParameters, X: FloatArray, rows: Rows) -> FloatArray:
    """Return what the fit would divide columns by, from their observed entries."""
    scale, metric = check_scale(asked.scale, rows), check_feature_weight(asked.feature_weight, rows)
    if scale is None:
        divisor = np.ones(X.shape[1])
    elif not isinstance(scale, str):
        divisor = scale
    else:
        means, deviations = _spread(X, rows.weights)
        if scale == "genotype":
            divisor = np.sqrt(np.maximum(means * (1 - means / 2), 0.0))
        else:
            divisor = deviations if scale == "unit" else np.sqrt(deviations)
        divisor = np.where(deviations > 1e-12 * np.abs(means), divisor, 1.0)
    return divisor if metric is None else divisor / metric


def _by_model(
    asked: PCAParameters, rows: Rows, X: FloatArray, method: str, strength: float | str
) -> tuple[FloatArray, Imputed]:
    """Return the filled table and what was imputed, by a model of scaled columns."""
    (n, d), weights = rows.shape, rows.weights
    number, most = _number(asked, method, rows)
    k = number or min(most, MOST_CHOSEN)
    require_memory(
        f"Imputing {n:,} rows x {d:,} columns with {k} components",
        # The table and copies of it, and the k x k matrices of every row and column.
        8 * (6 * n * d + 2 * (n + d) * (k + 1) ** 2),
        memory_limit_bytes(asked.memory_limit),
        "Use missing='mean', fewer components, or raise memory_limit.",
    )
    divisor = _divisor(asked, X, rows)
    scaled = X / divisor
    exponent = power_of_two(float(np.nanmax(np.abs(scaled))))
    scaled = np.ldexp(scaled, -exponent)
    chosen, units = 1.0, 0.0
    held_out = HeldOut(scaled, generators(asked.random_state, 1)[0], weights)
    k = number or choose_count(held_out, most, method)[0]
    if method == "em":
        result = impute_em(scaled, k, weights=weights)
        own = 1.0 if weights is None else weights[:, None]
        units = exponent * math.log(2.0) * float((own * ~np.isnan(X)).sum())
    else:
        chosen = choose_strength(held_out, k)[0] if isinstance(strength, str) else strength
        result = impute_iterative(scaled, k, strength=chosen, weights=weights)
    if not result.converged:
        warnings.warn(
            f"The imputation by {BY[method]} did not converge in {result.iterations:,} steps. Use fewer "
            "components: the observed entries may not determine so many.",
            MissingValuesWarning,
            stacklevel=6,
        )
    i, j = np.nonzero(np.isnan(X))
    back, values = np.ldexp(divisor, exponent)[j], X.copy()
    values[i, j] = result.filled[i, j] * back
    return values, Imputed(
        method,
        i,
        j,
        values[i, j],
        np.sqrt(result.variances) * back,
        result.trace - units,
        float(np.ldexp(result.model.noise, 2 * exponent)),
        result.iterations,
        result.converged,
        chosen,
        k,
    )
