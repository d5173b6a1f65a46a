"""Missing values in the fit of PCA: which method applies, what it raises, and the model that imputes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral, Real
from typing import Any

import numpy as np

from gramian.core.arrays import as_float64, dense, is_numpy, memory_limit_bytes, power_of_two, to_numpy
from gramian.core.checks import check_choice, counted, either, first_few
from gramian.core.records import FloatArray, Moments
from gramian.engine.centered import require_counts
from gramian.engine.solving import require_memory
from gramian.engine.stream import ExpectedProblem, StreamMoments
from gramian.errors import DataError, MissingValuesWarning, ParameterError
from gramian.models.inputs import check_feature_weight, check_scale, ddof_of, generators
from gramian.models.pca.fits import Decomposition, PCAParameters, TableFit
from gramian.statistics import imputation
from gramian.statistics.component_rules import RULES, ComponentChoice
from gramian.statistics.projection import incomplete_rows
from gramian.tables.as_rows import as_rows
from gramian.tables.memory import ArrayRows
from gramian.tables.rows import Holes, Rows, require_magnitudes, row_text

BY = {"mean": "column means", "em": "EM for probabilistic PCA", "iterative": "regularised iterative PCA"}
EXPECTED = "the expected covariance matrix given the observed entries"
METHODS = ("error", "mean", "em", "iterative", "projection")
EPS = float(np.finfo(np.float64).eps)
CONSTANT = 1e-12  # standard deviation relative to the mean at which a column is constant
# Steps in all, however often expected variances scale columns anew, and the least change of these.
STEPS, STEADY = {"em": 1000, "iterative": 5000}, 1e-6
PLANNED = 10  # components, where a plan cannot know how many a fit chooses
# Genotypes are read with their means, whatever the method.


@dataclass(eq=False)
class Filled:
    """A table without missing values, and what was imputed.

    Attributes
    ----------
    asked : PCAParameters
    rows : Rows
        Complete.
    given : Rows
        As they came.
    method : str
    missing : int
        Number of missing values.
    imputed : Imputed or None
        None if nothing was missing, or a reader filled it.
    expected : StreamMoments or None
        For "em", the moments that the model is computed from.
    choice : ComponentChoice or None
        For ``n_components="cv"``, the number that predicts held-out entries best.
    """

    asked: PCAParameters
    rows: Rows
    given: Rows
    method: str
    missing: int = 0
    imputed: imputation.Imputed | None = None
    expected: StreamMoments | None = None
    choice: ComponentChoice | None = None

    def with_values(self, values: FloatArray) -> Filled:
        """Complete the rows."""
        values = values.astype(self.given.dtype)
        self.rows = replace(self.given, values=values, borrowed=False)  # type: ignore[call-arg]
        return self

    def fit(self) -> TableFit:
        """Return the fit to the table, or to its expected moments."""
        parameters, rows, expected = self.asked, self.rows, self.expected
        fit = table = TableFit(parameters, rows)
        if expected is not None:
            scale = check_scale(parameters.scale, rows)
            metric = check_feature_weight(parameters.feature_weight, rows)
            fit, ddof = TableFit(parameters, expected.table()), ddof_of(parameters.ddof, rows)
            fit.problem = ExpectedProblem(fit.rows, True, scale, ddof, metric=metric, seen=expected)
            fit.problem.earlier = expected.seconds
            if fit.wanted.rule is not None and RULES[fit.wanted.rule].draws:
                fit.ruled = table.problem  # the filled table
        return fit if self.choice is None else fit.counted(int(self.choice.number or 1))

    def solved(self, fit: TableFit, seeds: list[int]) -> tuple[Filled, Decomposition]:
        """Return the result of a fit that keeps as much as was asked for, and the table that it is about."""
        table, result = self, self.stated(fit.solve(seeds))
        choice = result.choice or self.choice
        while not self.keeps_enough(result):
            result = self.stated(self.fit().counted(result.count + 1).solve(seeds))
        if self.imputed is not None and result.count < self.imputed.n_components:
            # One model: what imputes has no other components than those of the fit.
            table = filled(self.asked, self.given, number=result.count)
            table, result = table.solved(table.fit().counted(result.count), seeds)
        return table, replace(result, choice=choice)

    def stated(self, result: Decomposition) -> Decomposition:
        """Return a result whose certificate says what was imputed, and whose noise is that of the model."""
        certificate = result.solution.certificate
        if certificate is not None and self.missing:
            n, d = self.rows.shape
            method = self.method if self.method in BY else "mean"
            about = (
                f"{self.missing:,} of {n * d:,} entries ({100 * self.missing / (n * d):.2g} %) were missing. "
                f"They were imputed by {BY[method]}, and the certificate is about "
                f"{EXPECTED if method == 'em' else 'the filled table'}."
            )
            certificate = replace(certificate, about=about)
            result = replace(result, solution=replace(result.solution, certificate=certificate))
        imputed = self.imputed
        if self.method != "iterative" or imputed is None or imputed.noise_variance is None:
            return result
        # Discarded variances sum to the noise of the columns that vary.
        components, k = result.directions.components, imputed.n_components
        d = int(np.count_nonzero(~result.problem.measured().constant))
        values, total = components.values, components.total or 0.0
        beyond, noise = total - float(values[:k].sum()), (d - k) * imputed.noise_variance
        factor = noise / beyond if beyond > components.tolerance * total else 1.0
        total = float(values.sum()) + factor * max(total - float(values.sum()), 0.0)
        components = replace(components, total=total, rest=factor * components.rest, size=d)
        return replace(result, directions=replace(result.directions, components=components))

    def keeps_enough(self, result: Decomposition) -> bool:
        """Return whether the components keep the share that was asked for.

        The number is chosen by the filled table, whose imputed entries have no noise.
        """
        parameters, components, (n, d) = self.asked, result.directions.components, self.rows.shape
        if self.method != "iterative" or self.imputed is None or result.count >= min(n, d):
            return True
        share = parameters.n_components
        if components.ratio is None or not isinstance(share, Real) or isinstance(share, Integral):
            return True
        return float(components.ratio.sum()) >= float(share)

    def store(self, model: Any) -> None:
        """Set what a fitted model says of the entries that were missing."""
        model.n_missing_, model.imputed_ = self.missing, self.imputed
        # Calls of genotypes are missing in every cohort.
        genotypes = self.given.table is not None and self.given.table.alleles is not None
        model._fit_parameters["missing"] = "em" if genotypes and self.method == "error" else self.method
        imputed = self.imputed
        if imputed is None:
            return
        if self.method == "mean":
            X = as_float64(self.rows.in_memory())
            means = np.average(X, axis=0, weights=self.rows.weights)
            model.column_means_, model.imputed_ = means, replace(imputed, values=means[imputed.columns])
            return
        if self.method == "em":
            k, d = imputed.n_components, model.n_features_in_ - len(model.constant_features_)
            left = max(model.total_variance_ - float(model.explained_variance_[:k].sum()), 0.0)
            model.imputed_ = imputed = replace(imputed, noise_variance=left / (d - k))
        assert imputed.noise_variance is not None
        model.noise_variance_ = imputed.noise_variance
        incomplete, values, errors = model._normal_model(), [], []
        for _, X in incomplete_rows(self.given):
            holes = np.isnan(X)
            values.append(incomplete.filled(X)[holes])
            errors.append(incomplete.deviations_at_holes(X)[holes])
        found = np.concatenate(values), np.concatenate(errors)
        model.imputed_ = replace(imputed, values=found[0], standard_errors=found[1])


def method_of(parameters: PCAParameters, rows: Rows) -> str:
    """Return the method for missing values that the parameters or the reader of the data name.

    Raises
    ------
    ParameterError
        For an unknown method, or two.
    """
    method: str = check_choice("missing", parameters.missing, METHODS)
    read = rows.table.missing.method if rows.table is not None else ""
    if read and method not in ("error", "projection", read):
        why = f"contradicts missing={read!r}, with which the data were read"
        raise ParameterError("missing", method, why, "Leave out one.")
    return read or method


def filled(
    parameters: PCAParameters, rows: Rows, *, quick: bool = False, number: int | None = None
) -> Filled:
    """Return rows without missing values, by the method that was asked for.

    Parameters
    ----------
    parameters : PCAParameters
    rows : Rows
    quick : bool
        Fill with means whatever the method: for a plan, which depends on the shape only.
    number : int, optional
        Components that impute, in place of those that the parameters name.

    Raises
    ------
    DataError
        For infinity, a row or column without any entry, and kinds of data that are not filled.
    ParameterError
        For a number of components that the method cannot use.
    MemoryLimitError
    """
    method = method_of(parameters, rows)
    read = 0 if rows.table is None else rows.table.missing.filled
    if method not in BY or read:
        return Filled(parameters, rows, rows, method, read)
    holes = rows.holes()
    if holes is None:
        return Filled(parameters, rows, rows, method)
    if holes.infinite:
        rows.require_finite(holes=True)  # raises
    if not isinstance(rows, ArrayRows) or not is_numpy(rows.like):
        raise DataError(
            f"{counted(holes.missing, 'value')} {'is' if holes.missing == 1 else 'are'} missing, and "
            f"missing={method!r} fills NumPy arrays, frames and files that fit into memory.",
            "Use missing='mean' for a larger file, move arrays of a device to the host, load Dask data by "
            ".compute(), or fill sparse data first.",
        )
    _refuse_empty(rows, holes)
    X = np.asarray(rows.values, dtype=np.float64)
    require_magnitudes(replace(rows, values=np.nan_to_num(X)))
    if method == "em" and parameters.solver not in ("auto", "covariance", "krylov"):
        why = 'needs a table, but missing="em" decomposes the expected covariance matrix'
        hint = 'Use solver="auto" or "covariance" or "krylov", or missing="iterative".'
        raise ParameterError("solver", parameters.solver, why, hint)
    result = Filled(parameters, rows, rows, method, holes.missing)
    if method != "mean" and not quick:
        return _by_model(result, X, number)
    (i, j), (means, deviations) = np.nonzero(np.isnan(X)), _spread(X, rows.weights)
    result.imputed = imputation.Imputed("mean", i, j, means[j], deviations[j], np.empty(0), None, 0, True)
    if method == "em":
        result.expected = _moments(rows, np.zeros(X.shape[1]), np.eye(X.shape[1]), 1)
    if method != "mean" and parameters.n_components == "cv":
        result.choice = ComponentChoice("cv", min(PLANNED, *rows.shape), {}, "Chosen by the fit.")
    return result.with_values(np.where(np.isnan(X), means, X))


def _refuse_empty(rows: Rows, holes: Holes) -> None:
    n, d = rows.shape
    columns = np.flatnonzero(holes.by_column == n).tolist()
    if rows.weights is not None:  # rows of weight 0 determine nothing
        there = ~np.isnan(rows.in_memory()[rows.weights > 0])
        columns = np.flatnonzero(~there.any(axis=0)).tolist()
    names = rows.feature_names
    empty_rows = [row_text(rows, row) for row, count in holes.by_row.items() if count == d]
    empty_columns = [f"column {j}" + (f" ({names[j]!r})" if names else "") for j in columns]
    grid = " gramian.connect.xarray.pca takes such cells of a grid as a mask."
    if names and rows.table is not None:
        grid = f" drop={[names[j] for j in columns]!r} does so."
    for what, empty, advice in (("row", empty_rows, ""), ("column", empty_columns, grid)):
        if empty:
            raise DataError(
                f"{counted(len(empty), f'{what} has', f'{what}s have')} no entry at all: {first_few(empty)}. "
                "Nothing determines what is missing there.",
                f"Leave out such {what}s.{advice}",
            )


def _spread(X: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations of the observed entries of each column."""
    row_weights = np.ones((len(X), 1)) if weights is None else weights[:, None]
    count = (row_weights * ~np.isnan(X)).sum(axis=0)
    # Divided first, so that sums stay finite.
    means = np.clip(np.nansum(X * (row_weights / count), axis=0), np.nanmin(X, axis=0), np.nanmax(X, axis=0))
    top = np.maximum(np.nanmax(np.abs(X), axis=0), np.finfo(float).tiny)
    squares = np.nansum(row_weights * ((X - means) / top) ** 2, axis=0)
    # Weights that are shares of 1 do not say how many rows there are.
    return means, top * np.sqrt(squares / np.where(count > 1, count - 1, count))


def _number(
    parameters: PCAParameters, method: str, rows: Rows, determining: tuple[int, int]
) -> tuple[int | None, int]:
    """Return the number of components that impute, None for one by cross-validation, and the largest.

    ``determining`` are the numbers of rows of positive weight and of columns that vary.
    """
    shape = rows.shape
    count, most = parameters.n_components, min(determining[0] - 1, determining[1]) - 1
    if not parameters.center:
        why = "estimates column means, but center=False does not subtract them"
        raise ParameterError("missing", method, why, 'Use center=True, or use missing="mean".')
    if most < 1:
        raise DataError(
            f"missing={method!r} needs at least 3 rows and 2 columns that vary, but there are "
            f"{determining[0]} x {determining[1]}.",
            'Use missing="mean".',
        )
    if not isinstance(count, Integral) or isinstance(count, bool):
        _ = TableFit(parameters, rows).wanted  # refused before the search, which takes a while
        return None, most
    if not 1 <= int(count) <= min(shape[0] - 1, shape[1]) - 1 or determining[0] <= int(count) + 1:
        size = f"{determining[0]} rows x {determining[1]} columns"
        why = f"does not suit missing={method!r}, which imputes with 1 to {most} components for {size}"
        hint = "Give such a number, or None: then cross-validation chooses one, and all components are kept."
        raise ParameterError("n_components", count, why, hint)
    return int(count), most


@dataclass(eq=False)
class _Part:
    """The part of a table that the model is of, scaled as the fit scales it.

    Constant columns and rows of weight 0 have no part. ``means`` and ``deviations`` are those of all columns,
    as far as they are known.
    """

    asked: PCAParameters
    rows: Rows
    X: FloatArray

    def __post_init__(self) -> None:
        weights = self.rows.weights
        self.own = np.ones(len(self.X), dtype=bool) if weights is None else weights > 0
        self.shares = None if weights is None else weights[self.own]
        self.total = float(self.own.sum()) if weights is None else float(weights.sum())
        self.means, self.deviations = _spread(self.X, weights)
        self.varying = np.flatnonzero(self.deviations > CONSTANT * np.abs(self.means))
        self.shape = int(self.own.sum()), len(self.varying)

        self.table = np.asarray(self.X[np.ix_(self.own, self.varying)])
        self.divisor = self._divisor()

    @cached_property
    def exponent(self) -> int:
        return power_of_two(float(np.nanmax(np.abs(self.table / self.divisor))))

    @property
    def scaled(self) -> FloatArray:
        return np.ldexp(self.table / self.divisor, -self.exponent)

    @property
    def back(self) -> FloatArray:
        """What columns of ``scaled`` are multiplied by, to be those of the table."""
        return np.ldexp(self.divisor, self.exponent)

    def _divisor(self) -> FloatArray:
        """Return what the fit divides columns of such means and standard deviations by."""
        parameters, rows, means, deviations = self.asked, self.rows, self.means, self.deviations
        scale = check_scale(parameters.scale, rows)
        metric = check_feature_weight(parameters.feature_weight, rows)
        if scale is None:
            divisor = np.ones(len(means))
        elif not isinstance(scale, str):
            divisor = scale
        else:
            if scale == "genotype":
                divisor = np.sqrt(np.maximum(means * (1 - means / 2), 0.0))
            else:
                divisor = deviations if scale == "unit" else np.sqrt(deviations)
            divisor = np.where((deviations > CONSTANT * np.abs(means)) & (divisor > 0), divisor, 1.0)
        return (divisor if metric is None else divisor / metric)[self.varying]

    def imputed(
        self, impute: Callable[..., imputation.Imputation], moments: Callable[..., Any], k: int, steps: int
    ) -> tuple[imputation.Imputation, FloatArray, str]:
        """Impute in at most so many steps, and return also the sums of squares and why it is undetermined."""
        scaled, result = self.scaled, None
        while True:
            result = impute(scaled, k, start=result, max_iter=steps)
            steps -= result.iterations
            mean, squares = moments(scaled, result, self.shares)
            why = imputation.undetermined(scaled, k, result.model)
            self.means[self.varying] = mean * self.back
            if not isinstance(self.asked.scale, str) or why or steps <= 0:
                break
            # The fit scales columns by what it expects of them, and so has the model to.
            diagonal = np.diag(squares) if squares.ndim == 2 else squares  # iterative: of each column
            variances = diagonal / (self.total - float(self.asked.ddof))
            self.deviations[self.varying] = np.sqrt(variances) * self.back
            divisor = self._divisor()
            if not result.converged or np.abs(divisor / self.divisor - 1.0).max() <= STEADY:
                break
            result, self.divisor = result.rescaled(self.divisor / divisor), divisor
            scaled = self.scaled
        return result, squares, why

    def filled(self, result: imputation.Imputation) -> FloatArray:
        """Return the whole table, with what was imputed."""
        values = np.where(np.isnan(self.X), self.means, self.X)
        filled = np.where(np.isnan(self.table), result.filled * self.back, self.table)
        values[np.ix_(self.own, self.varying)] = filled
        return values

    def moments(self, squares: FloatArray, k: int) -> StreamMoments:
        """Return the moments of the whole table that k components expect."""
        scatter = np.zeros((len(self.means), len(self.means)))
        scatter[np.ix_(self.varying, self.varying)] = squares * np.outer(self.back, self.back)
        return _moments(self.rows, self.means, scatter, k)


def _by_model(table: Filled, X: FloatArray, number: int | None) -> Filled:
    """Fill the table by a model of scaled columns.

    Values and standard errors of the imputed entries follow from the fitted model later.
    """
    parameters, rows, method = table.asked, table.given, table.method
    ddof_of(parameters.ddof, rows)
    if isinstance(parameters.scale, str) and parameters.scale == "genotype":
        require_counts(rows)
    subset = _Part(parameters, rows, X)
    stated, most = _number(parameters, method, rows, subset.shape)
    count = number or stated
    _require_room(parameters, rows.shape, count or min(most, imputation.COUNTS[-1]), method)
    held_out = imputation.HeldOut(subset.scaled, generators(parameters.random_state, 1)[0], subset.shares)
    k = min(count or most, most)
    if not count:
        k, table.choice = _cross_validated(parameters, held_out, most, method)
    if method == "em":
        chosen, moments = 1.0, imputation.expected_scatter
        impute = partial(imputation.impute_em, weights=subset.shares)
    else:
        chosen = imputation.excess(max(subset.total, float(subset.shape[0])), subset.shape[1], k)
        moments, ddof = imputation.filled_squares, float(parameters.ddof)
        impute = partial(imputation.impute_iterative, weights=subset.shares, ddof=ddof)
    result, squares, why = subset.imputed(impute, moments, k, STEPS[method])
    _warn(result, method, why)
    values, (i, j) = subset.filled(result), np.nonzero(np.isnan(X))
    noise, steps = float(np.ldexp(result.model.noise, 2 * subset.exponent)), result.iterations
    table.imputed = imputation.Imputed(
        method, i, j, values[i, j], np.empty(len(i)), result.trace, noise, steps, result.converged, chosen, k
    )
    if method == "em":
        table.expected = subset.moments(squares, k)
    return table.with_values(values)


def _cross_validated(
    parameters: PCAParameters, held_out: imputation.HeldOut, most: int, method: str
) -> tuple[int, ComponentChoice | None]:
    """Return the number of components that imputes held-out entries well and, for "cv", all errors."""
    by_folds = replace(held_out, count=imputation.COUNT_FOLDS).sample(method)
    k, errors = imputation.choose_count(by_folds, most, method)
    if parameters.n_components != "cv":
        return k, None
    evidence = {"components": np.array(list(errors)), "held_out_error": np.array(list(errors.values()))}
    why = (
        f"{k} is the largest number of components, of {len(errors)} tried, whose error of held-out entries "
        "exceeds the least by half a standard error or less."
    )
    if len(by_folds.X) < len(held_out.X):
        why += f" They were fitted to a random sample of {len(by_folds.X):,} of {len(held_out.X):,} rows."
    return k, ComponentChoice("cv", k, evidence, why)


def _require_room(parameters: PCAParameters, shape: tuple[int, int], k: int, method: str) -> None:
    n, d = shape
    instead = ("iterative", "mean") if method == "em" else ("mean",)
    # The table and copies of it, the k x k matrices of every row and column, and the expected covariance.
    need = 8 * (6 * n * d + (2 * n + 4 * d) * (k + 1) ** 2 + (3 * d * d if method == "em" else 0))
    what = f"Imputing {n:,} rows x {d:,} columns with {k} components"
    way_out = f"Use missing={either(instead)}, fewer components, or raise memory_limit."
    require_memory(what, need, memory_limit_bytes(parameters.memory_limit), way_out)


def _warn(result: imputation.Imputation, method: str, why: str) -> None:
    """Warn of an imputation that did not converge, or of components that the observed entries do not show."""
    if result.converged and not why:
        return
    cause = f": {why}" if why else f" in {result.iterations:,} steps"
    other = "missing='iterative'"
    instead = f" or {other}, which is regularised" if method == "em" else ""
    MissingValuesWarning(
        f"The imputation by {BY[method]} {'is not determined' if why else 'did not converge'}{cause}. Use "
        f"fewer components{instead}."
    ).warn()


def _moments(rows: Rows, mean: FloatArray, squares: FloatArray, k: int) -> StreamMoments:
    """Return expected moments as those of a stream of the rows."""
    n = rows.shape[0]
    result = Moments(rows.weight, mean, squares, np.zeros(len(mean)))
    # The covariances of the rows are sums of k products each.
    like = np.empty((0, 0), dtype=rows.dtype)
    return StreamMoments(n, 1, True, result, rows.weight, like, blur=n * k * EPS)


SAME_VALUE = 1e-4  # difference of an imputed entry, relative to size and error, up to which it is the same


def rows_as_fitted(model: Any, rows: Rows) -> Rows:
    """Return the rows of a fit as it took them, whether or not the imputed entries are filled in.

    For "em" these entries are missing, since their covariance is part of the fit; otherwise they have
    their imputed values.
    """
    imputed: imputation.Imputed | None = model.imputed_
    if imputed is None:
        return rows
    at = imputed.rows, imputed.columns
    X = np.array(to_numpy(dense(rows.in_memory())), dtype=np.float64)
    same = rows.shape[0] == model.n_samples_ and int(np.isnan(X).sum()) == int(np.isnan(X[at]).sum())
    unit = np.abs(imputed.values) + imputed.standard_errors
    if not same or (np.abs(X[at] - imputed.values) > SAME_VALUE * unit).any():
        raise DataError(
            f"X is not the table of the fit, in which {len(imputed):,} entries were imputed: other "
            "entries are missing, or filled with other values.",
            "Pass the table with its missing entries, or impute(X).",
        )
    X[at] = np.nan if imputed.method == "em" else imputed.values
    if rows.skips_zeros:
        return as_rows(X, check_finite=False)
    return replace(rows.here(), values=X)  # type: ignore[call-arg]
