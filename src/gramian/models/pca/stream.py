"""PCA of rows that come in batches."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral
from typing import Any

from sklearn.exceptions import NotFittedError

from gramian.core.checks import check_number, counted
from gramian.engine import stream
from gramian.engine.centered import require_counts
from gramian.engine.solving import plan
from gramian.engine.stream import StreamMoments
from gramian.errors import DataError, DiagnosticWarning, ParameterError
from gramian.models.inputs import check_ddof, check_feature_weight, check_scale, store_features
from gramian.models.pca.fits import WEIGHTED, PCAParameters, TableFit
from gramian.statistics.component_rules import RULES
from gramian.tables.rows import Rows, SeenRows

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
    fit = TableFit(parameters, SeenRows(dtype=rows.dtype, shape=(n, d), like=rows.like))
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
    """Return what is kept of the batches before and these rows."""
    began = time.perf_counter()
    if isinstance(parameters.scale, str) and parameters.scale == "genotype":
        require_counts(rows)
    result = stream.seen_of(rows, center=bool(parameters.center), among=1 if seen is None else seen.rows)
    if seen is not None:
        result = stream.merged(seen, result, float(parameters.forgetting))
    earlier = 0.0 if seen is None else seen.seconds
    return replace(result, seconds=earlier + time.perf_counter() - began)


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
    new = {"sample_weight": sample_weight}
    rows = model._rows(X, **new) if before is None else model._new_rows(X, **new)
    if model.missing != "error" and rows.holes() is not None:
        rows.require_finite(holes=True)
        raise DataError(
            "partial_fit does not impute: a batch says too little of what is missing in it.",
            "Leave out incomplete rows, call fit on all rows, or fill each batch by a fitted model first: "
            "model.impute(batch).",
        )
    check_stream(model, rows, before, 0 if before is None else before.rows)
    seen = merged_with(model, before, rows)
    if before is None and "components_" in vars(model):
        DiagnosticWarning(
            "fit keeps no sums of its rows, so that partial_fit starts a new model of this batch alone. Call "
            "partial_fit from the first batch on."
        ).warn()
    if before is None:
        store_features(model, X, rows)
        model.picture_shape_, model._unequal = rows.picture_shape, False
    model._moments, model.n_samples_ = seen, seen.rows
    model._unequal = model._unequal or rows.weights is not None
    for name in model._following:
        model.__dict__.pop(name, None)
