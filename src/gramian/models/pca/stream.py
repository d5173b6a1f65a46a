"""PCA of rows that come in batches, and of the expected moments of a table with missing values."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from gramian.core.arrays import as_float64, to_numpy
from gramian.core.checks import check_number, counted
from gramian.engine.centered import require_counts
from gramian.engine.linear import LinearProblem
from gramian.engine.solving import plan
from gramian.engine.stream import (
    ExpectedProblem,
    StreamMoments,
    merged,
    problem_of,
    scatter_costs,
    seen_of,
    seen_of_components,
)
from gramian.errors import DataError, ParameterError
from gramian.models.inputs import check_ddof, check_feature_weight, check_scale, ddof_of, store_features
from gramian.models.pca.fits import WEIGHTED, PCAParameters, TableFit
from gramian.statistics.component_rules import RULES
from gramian.tables.rows import Rows, SeenRows

FIXED = "cannot change within a stream", "Set it back, or start again with a fresh model."


class TooFewRowsError(DataError, NotFittedError):  # type: ignore[misc]
    """A stream has too few rows, or rows of too little weight, for a model."""


@dataclass(eq=False)
class StreamFit(TableFit):
    """PCA of rows that came in batches; ``rows`` stands for all of them."""

    seen: StreamMoments

    @cached_property
    def problem(self) -> LinearProblem:
        """What the engine is asked about."""
        asked, seen = self.parameters, self.seen
        scale = check_scale(asked.scale, self.rows, bool(asked.center))
        metric = check_feature_weight(asked.feature_weight, self.rows)
        problem = problem_of(seen, scale, check_ddof(asked.ddof, seen.rows), metric)
        problem.earlier = seen.seconds
        if seen.weighted:
            problem.unit = WEIGHTED
        return problem


@dataclass(eq=False)
class ExpectedFit(StreamFit):
    """PCA of the expected moments of a table with missing values.

    Attributes
    ----------
    filled : Rows
        The table with imputed values, for rules that resample rows.
    """

    filled: Rows

    @cached_property
    def problem(self) -> LinearProblem:
        """What the engine is asked about."""
        asked, rows = self.parameters, self.filled
        scale, metric = check_scale(asked.scale, rows), check_feature_weight(asked.feature_weight, rows)
        ddof = ddof_of(asked.ddof, rows)
        problem = ExpectedProblem(self.rows, True, scale, ddof, metric=metric, seen=self.seen)
        problem.earlier = self.seen.seconds
        return problem

    @cached_property
    def ruled(self) -> LinearProblem:
        """The filled table for rules that draw rows."""
        rule = self.wanted.rule
        draws = rule is not None and RULES[rule].draws
        return TableFit(self.parameters, self.filled).problem if draws else self.problem


@dataclass(frozen=True, eq=False)
class Stream:
    """The moments of earlier batches, and the checks of a stream's parameters.

    Attributes
    ----------
    parameters : PCAParameters
    seen : StreamMoments or None
        What is kept of the batches before; None before the first.
    """

    parameters: PCAParameters
    seen: StreamMoments | None = None

    def check(self, rows: Rows, before: int = 0) -> None:
        """Raise an error for parameters that a stream does not support; ``before`` rows came earlier."""
        asked, d, seen = self.parameters, rows.shape[1], self.seen
        check_number("forgetting", asked.forgetting, above=0.0, most=1.0, advice="1 forgets nothing.")
        if seen and seen.centered != bool(asked.center):
            raise ParameterError("center", asked.center, *FIXED)
        if asked.solver in ("full", "gram"):
            why = "needs all rows at once, but partial_fit does not store them"
            raise ParameterError(
                "solver", asked.solver, why, 'Use solver="auto" or "covariance" or "krylov".'
            )
        count = asked.n_components
        if isinstance(count, Integral) and not isinstance(count, bool) and int(count) > d:
            why = f"but rows of {counted(d, 'column')} have at most {d} components"
            hint = f"Ask for at most {d}, or a fraction such as 0.95."
            raise ParameterError("n_components", int(count), why, hint)
        # As if rows enough had been seen.
        n = max(rows.shape[0] + before, d + 2)
        fit = TableFit(asked, SeenRows(dtype=rows.dtype, shape=(n, d), like=rows.home))
        rule = None if fit.wanted.rule is None else RULES[fit.wanted.rule]
        unequal = asked.forgetting != 1.0 or rows.weights is not None or (seen is not None and seen.weighted)
        if rule is not None and (rule.draws or (unequal and count is not None)):
            stored = "resamples the rows, which partial_fit does not store"
            why = stored if rule.draws else "needs rows of equal weight"
            hint = "Use a number or a fraction, or call gramian.choose_components on a sample of the rows."
            raise ParameterError("n_components", count, why, hint)
        check_scale(asked.scale, rows, bool(asked.center))
        check_feature_weight(asked.feature_weight, rows)
        check_ddof(asked.ddof, n)
        if seen is None:
            plan(scatter_costs(n, d), fit.request)  # does it fit

    def merged(self, rows: Rows) -> StreamMoments:
        """Return what is kept of the batches before and these rows.

        Raises
        ------
        DataError
            For a batch with which a variance leaves float64, since no later look would succeed.
        """
        began, asked, before = time.perf_counter(), self.parameters, self.seen
        center, forgetting = bool(asked.center), float(asked.forgetting)
        if isinstance(asked.scale, str) and asked.scale == "genotype":
            require_counts(rows)
        seen = seen_of(rows, center=center, among=1 if before is None else before.rows)
        seen = seen if before is None else merged(before, seen, forgetting)
        earlier = 0.0 if before is None else before.seconds
        return replace(seen, seconds=earlier + time.perf_counter() - began)

    def require_finite_variance(self) -> None:
        """Raise a DataError where a variance has left float64, since no later look would succeed."""
        asked, seen = self.parameters, self.seen
        if seen is None or not seen.moments.count or isinstance(asked.scale, str):
            return  # variances are then none, of the size of 1, or of a standard deviation
        squares, count = seen.column_squares, seen.moments.count
        degrees = count - seen.degrees_lost(asked.ddof)
        divisor = 1.0 if asked.scale is None else np.asarray(asked.scale, dtype=np.float64)
        if asked.feature_weight is not None:
            divisor = divisor / np.sqrt(np.asarray(asked.feature_weight, dtype=np.float64))
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

    def fit(self) -> StreamFit:
        """Return the fit to all rows so far; parameters may be others than at the last batch.

        Raises
        ------
        TooFewRowsError
        """
        self.require_enough()
        assert self.seen is not None
        table = self.seen.table()
        self.check(table, self.seen.rows)
        return StreamFit(self.parameters, table, self.seen)

    def require_enough(self) -> None:
        """Raise a TooFewRowsError where no model follows from so few rows yet."""
        assert self.seen is not None
        asked, seen, count = self.parameters, self.seen, self.parameters.n_components
        least = max(2, int(count) if isinstance(count, Integral) else 0)
        name = f"This {type(asked).__name__} instance is not fitted yet:"
        if seen.rows < least:
            why = f" for n_components={count!r}" if least > 2 else ""
            raise TooFewRowsError(
                f"{name} {counted(seen.rows, 'row was', 'rows were')} read, but at least {least} are needed"
                f"{why}.",
                "Give more rows.",
            )
        if not seen.effective > asked.ddof * (1 + 1e-9):
            raise TooFewRowsError(
                f"{name} with forgetting={asked.forgetting!r} the effective number of rows is "
                f"{seen.effective:.3g}, but it must exceed ddof={asked.ddof!r}.",
                "Use larger batches, a larger forgetting, or weights that count rows.",
            )


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
    Stream(model, before).check(rows, vars(model).get("n_samples_", 0))
    seen = Stream(model, moments_of_fit(model) if fitted else before).merged(rows)
    Stream(model, seen).require_finite_variance()
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
    return seen_of_components(
        model.n_samples_,
        model._weight,
        as_float64(model.singular_values_)[:, None] * as_float64(model.components_),
        (center, rest),
        model._remainder,
        divisor=None if model._divisor is None else as_float64(model._divisor),
        constant=to_numpy(model.constant_features_),
        centered=centered,
        like=model.components_,
    )
