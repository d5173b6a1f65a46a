"""PCA of rows that come in batches."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from gramian.core.arrays import as_float64, to_numpy
from gramian.core.checks import check_number, counted
from gramian.core.records import Moments
from gramian.engine import stream
from gramian.engine.centered import require_counts
from gramian.engine.solving import plan
from gramian.engine.stream import StreamMoments
from gramian.errors import DataError, ParameterError
from gramian.models.inputs import check_ddof, check_feature_weight, check_scale, store_features
from gramian.models.pca.fits import WEIGHTED, PCAParameters, TableFit
from gramian.statistics.component_rules import RULES
from gramian.tables.rows import Rows, SeenRows

SPLIT = 1e-8  # share of the largest eigenvalue that bounds the products of columns left out as constant
FIXED = "cannot change within a stream", "Set it back, or start again with a fresh model."


class TooFewRowsError(DataError, NotFittedError):  # type: ignore[misc]
    """A stream has too few rows, or rows of too little weight, for a model."""


def check_stream(parameters: PCAParameters, rows: Rows, seen: StreamMoments | None, before: int) -> None:
    """Raise an error for parameters that a stream does not support.

    Parameters
    ----------
    parameters : PCAParameters
    rows : Rows
        The next batch, or all rows so far.
    seen : StreamMoments or None
        What is kept of the batches before; None before the first.
    before : int
        Number of rows before.
    """
    d, count = rows.shape[1], parameters.n_components
    check_number("forgetting", parameters.forgetting, above=0.0, most=1.0, advice="1 forgets nothing.")
    if seen and seen.centered != bool(parameters.center):
        raise ParameterError("center", parameters.center, *FIXED)
    if parameters.solver in ("full", "gram"):
        why = "needs all rows at once, but partial_fit does not store them"
        raise ParameterError(
            "solver", parameters.solver, why, 'Use solver="auto" or "covariance" or "krylov".'
        )
    if isinstance(count, Integral) and int(count) > d:
        why = f"but rows of {counted(d, 'column')} have at most {d} components"
        hint = f"Ask for at most {d}, or a fraction such as 0.95."
        raise ParameterError("n_components", int(count), why, hint)
    # As if rows enough had been seen.
    n = max(rows.shape[0] + before, d + 2)
    fit = TableFit(parameters, SeenRows(dtype=rows.dtype, shape=(n, d), like=rows.home))
    rule = None if fit.wanted.rule is None else RULES[fit.wanted.rule]
    unequal = parameters.forgetting != 1.0 or rows.weights is not None or (seen is not None and seen.weighted)
    if rule is not None and (rule.draws or (unequal and count is not None)):
        stored = "resamples the rows, which partial_fit does not store"
        why = stored if rule.draws else "needs rows of equal weight"
        hint = "Use a number or a fraction, or call gramian.choose_components on a sample of the rows."
        raise ParameterError("n_components", count, why, hint)
    check_scale(parameters.scale, rows, bool(parameters.center))
    check_feature_weight(parameters.feature_weight, rows)
    check_ddof(parameters.ddof, n)
    if seen is None:
        plan(stream.scatter_costs(n, d), fit.request)  # does it fit


def merged_with(parameters: PCAParameters, seen: StreamMoments | None, rows: Rows) -> StreamMoments:
    """Return what is kept of the batches before and these rows.

    Raises
    ------
    DataError
        For a batch with which a variance leaves float64, since no later look would succeed.
    """
    began = time.perf_counter()
    if isinstance(parameters.scale, str) and parameters.scale == "genotype":
        require_counts(rows)
    result = stream.seen_of(rows, center=bool(parameters.center), among=1 if seen is None else seen.rows)
    if seen is not None:
        result = stream.merged(seen, result, float(parameters.forgetting))
    _require_finite_variance(parameters, result)
    earlier = 0.0 if seen is None else seen.seconds
    return replace(result, seconds=earlier + time.perf_counter() - began)


def _require_finite_variance(parameters: PCAParameters, seen: StreamMoments) -> None:
    if not seen.moments.count or isinstance(parameters.scale, str):
        return  # variances are then none, of the size of 1, or of a standard deviation
    squares, count = seen.column_squares, seen.moments.count
    degrees = count - seen.degrees_lost(parameters.ddof)
    divisor = 1.0 if parameters.scale is None else np.asarray(parameters.scale, dtype=np.float64)
    if parameters.feature_weight is not None:
        divisor = divisor / np.sqrt(np.asarray(parameters.feature_weight, dtype=np.float64))
    with np.errstate(over="ignore", under="ignore"):
        # Sums of squares have to be in range too.
        norms = np.sqrt(squares) / divisor
        finite = bool(np.isfinite((norms**2).sum() / (min(degrees, 1.0) if degrees > 0 else 1.0)))
    if not finite:
        column = int(np.argmax(norms))
        deviation = math.sqrt(squares[column] / count)
        raise DataError(
            f"With this batch the standard deviation of column {column} is {deviation:.3g}, and "
            "its square overflows float64. The model is unchanged.",
            "Remove such values, or start again with a fresh model and multiply all rows by a small "
            "number first.",
        )


def require_enough(parameters: PCAParameters, seen: StreamMoments) -> None:
    """Raise a TooFewRowsError where no model follows from so few rows yet."""
    count = parameters.n_components
    least = max(2, int(count) if isinstance(count, Integral) else 0)
    name = f"This {type(parameters).__name__} instance is not fitted yet:"
    if seen.rows < least:
        why = f"at least {least} are needed" + (f" for n_components={count!r}" if least > 2 else "")
        read = counted(seen.rows, "row was", "rows were")
        raise TooFewRowsError(f"{name} {read} read, but {why}.", "Give more rows.")
    if not seen.effective > parameters.ddof * (1 + 1e-9):
        raise TooFewRowsError(
            f"{name} with forgetting={parameters.forgetting!r} the effective number of rows is "
            f"{seen.effective:.3g}, but it must exceed ddof={parameters.ddof!r}.",
            "Use larger batches, a larger forgetting, or weights that count rows.",
        )


def fit_of_stream(parameters: PCAParameters, seen: StreamMoments) -> TableFit:
    """Return the fit to all rows so far; parameters may be others than at the last batch.

    Raises
    ------
    TooFewRowsError
    """
    require_enough(parameters, seen)
    rows = seen.table()
    check_stream(parameters, rows, seen, seen.rows)
    scale = check_scale(parameters.scale, rows, bool(parameters.center))
    metric = check_feature_weight(parameters.feature_weight, rows)
    fit = TableFit(parameters, rows)
    fit.problem = stream.problem_of(seen, scale, check_ddof(parameters.ddof, seen.rows), metric)
    fit.problem.earlier = seen.seconds
    if seen.weighted:
        fit.problem.unit = WEIGHTED
    return fit


def add_batch(model: Any, X: Any, sample_weight: Any) -> None:
    """Merge a batch of rows with those that a PCA describes already."""
    before: StreamMoments | None = vars(model).get("_moments")
    fitted = before is None and "components_" in vars(model)
    begun = fitted or before is not None
    rows = model._new_rows(X, sample_weight=sample_weight) if begun else model._rows(X, None, sample_weight)
    if model.missing != "error" and rows.holes() is not None:
        rows.require_finite(holes=True)
        raise DataError(
            "partial_fit does not impute: a batch says too little of what is missing in it.",
            "Leave out incomplete rows, call fit on all rows, or fill each batch by a fitted model first: "
            "model.impute(batch).",
        )
    if fitted and vars(model).get("imputed_") is not None:
        raise DataError(
            f"The fit imputed {model.n_missing_:,} entries, which are no observations, so that "
            "partial_fit cannot continue it.",
            "Call partial_fit on a fresh model, with complete rows.",
        )
    check_stream(model, rows, before, vars(model).get("n_samples_", 0))
    seen = merged_with(model, moments_of_fit(model) if fitted else before, rows)
    if not begun:
        store_features(model, X, rows)
        model.picture_shape_ = rows.picture_shape
    model._moments, model.n_samples_ = seen, seen.rows
    model._unequal = vars(model).get("_unequal", False) or rows.weights is not None
    for name in model._following:
        model.__dict__.pop(name, None)


def moments_of_fit(model: Any) -> StreamMoments:
    """Return the moments of the rows of ``fit``, with a bound on the discarded part."""
    center = as_float64(model._center)
    # Without centring nothing is left out of the mean.
    centered = "_center_rest" in vars(model) or bool(center.any())
    if centered != bool(model.center):
        raise ParameterError("center", model.center, *FIXED)
    rest = as_float64(vars(model).get("_center_rest", np.zeros(len(center))))
    A = as_float64(model.singular_values_)[:, None] * as_float64(model.components_)
    norms, loss = model._remainder.norms, np.full(A.shape[1], model._remainder.root_loss)
    if model._divisor is not None:
        divisor, constant = as_float64(model._divisor), to_numpy(model.constant_features_)
        if norms[constant].any():
            # Their products with other columns are lost: 2 |x.T S y| <= t x.T S x + y.T S y / t.
            lost, top = norms[constant], math.sqrt(A.shape[1]) * float(np.abs(A[:1]).max())
            loss = np.hypot(loss, math.sqrt(SPLIT) * np.hypot(top, loss))
            loss[constant] = np.hypot(lost.sum(), math.sqrt(len(constant) / SPLIT) * lost)
        A, loss = A * divisor, loss * divisor
    squares = A.T @ A
    # What was discarded is part of the sum of squares of every column.
    np.fill_diagonal(squares, norms**2)
    result = Moments(model._weight, center, squares, rest)
    like = stream.empty_like(model.components_)
    seen = StreamMoments(model.n_samples_, 1, centered, result, float(model._weight), like)
    return replace(seen, blur=stream.blur_of(result), loss=loss**2, loss_kind=model._remainder.kind)
