"""Fitting by batches: what was seen is merged at once, and decomposed when somebody asks what it says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gramian.analysis.component_rules.table import RULES
from gramian.arrays import as_float64, to_numpy
from gramian.checks import check_integer, check_number, counted
from gramian.engine import plan
from gramian.engine.seen import FREQUENT_DIRECTIONS, problem_of, scatter_costs, sketch_costs
from gramian.errors import DataError, ParameterError
from gramian.estimators.component_choice import check_wanted
from gramian.estimators.inputs import (
    check_ddof,
    check_features,
    check_scale,
    drawn_seeds,
    expected_columns,
    remember_features,
)
from gramian.estimators.saving import register_record
from gramian.estimators.sklearn_hints import refuse_metadata
from gramian.operators.frequent_directions import Sketch
from gramian.operators.moments import require_counts
from gramian.operators.seen import Seen, merged, seen_of, seen_of_components, sketched
from gramian.rows import Rows
from gramian.rows.rows import SeenRows
from gramian.store import Array, Given

# What is known of a stream before anything is decomposed.
AT_ONCE = {
    "n_samples_",
    "n_features_in_",
    "feature_names_in_",
    "counted_alleles_",
    "column_means_",
    "picture_shape_",
    "_seen",
}
LEAST_SKETCH = 20
FIXED = (
    "center, sketch_size, and whether solver is 'frequent-directions', cannot change within a "
    "stream. Set them back, or start again with a fresh model."
)

register_record(Sketch, rows=Array("m d"), shrunk=Array("", least=0))
register_record(
    Seen,
    kind=Array("_ _"),
    squared_weights=Array("", least=0),
    loss=Given(Array("d", least=0)),
    hidden=Array("_", least=0, kinds="iu"),
)


class TooFewRowsError(DataError, NotFittedError):
    """A stream has too few rows, or rows of too little weight, for a model."""


class Streaming:
    """Gives an estimator ``partial_fit``; what follows from the data is computed when it is asked for."""

    contents: ClassVar[Mapping[str, Any]]

    def partial_fit(self, X: Any, y: Any = None, **metadata: Any) -> Self:
        """Take in a batch of rows; afterwards the model is that of all rows since the first call.

        Mean and covariance are merged exactly, in float64, and the rows are let go. Any batch size will do,
        one row included, and the order of the batches does not matter beyond rounding. What :meth:`fit` sets
        is there after two rows (or as many as ``n_components`` asks for), and is computed when it is first
        asked for, so that a batch costs one pass over it and no decomposition.

        After :meth:`fit` the batch is merged with the components that fit kept. What it discarded is an error
        of the covariance, at most the largest discarded eigenvalue, and ``certificate_`` includes it.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, array-API array, Path or Scan of shape (n_samples, n_features)
            At least one row, of the columns of the first batch.
        y : ignored
        **metadata
            None, as in :meth:`fit`.

        Raises
        ------
        DataError
            NaN or infinity, other columns than before, or a variance beyond float64; nothing of the batch is
            taken in then.
        MemoryLimitError
            When the matrix of ``n_features x n_features`` numbers does not fit into ``memory_limit``.
        ParameterError
            For a solver that needs the rows again ("full", "gram"), for a rule that draws from the data, and
            after :meth:`fit` by an older gramian.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PCA
        >>> X = np.random.default_rng(0).standard_normal((1000, 5)) * [5, 4, 3, 2, 1]
        >>> model = PCA(2)
        >>> for batch in np.array_split(X, 7):
        ...     _ = model.partial_fit(batch)
        >>> np.allclose(model.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=1e-12)
        True
        """
        refuse_metadata(self, metadata)
        before: Seen | None = self.__dict__.get("_seen")
        fitted = before is None and "components_" in self.__dict__
        begun = fitted or before is not None
        rows = self._rows(X, expected=expected_columns(self) if begun else None)
        if begun:
            check_features(self, X, rows)
        self._check_stream(rows, before)
        seen = self._merged(self._seen_by_fit() if fitted else before, rows)
        self._require_finite_variance(seen)
        if not begun:
            remember_features(self, X, rows)
            self.picture_shape_ = rows.picture_shape
        self._seen, self.n_samples_ = seen, seen.rows
        for found in self._decomposed:
            self.__dict__.pop(found, None)
        return self

    def __getattr__(self, name: str) -> Any:
        """Decompose what was seen, where that has not been done since the last batch."""
        if "_seen" in self.__dict__ and "components_" not in self.__dict__ and name in self._decomposed:
            self._settle_stream()
        # Also what a property says that refused.
        return object.__getattribute__(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a model; too few rows of a stream are refused in words of their own."""
        if "_seen" in self.__dict__ and "components_" not in self.__dict__:
            self._settle_stream()
        return "components_" in self.__dict__

    def _require_savable(self) -> None:
        if "_seen" in self.__dict__:
            try:
                self._require_enough(self._seen)
            except TooFewRowsError:
                return  # the stream alone is saved
        check_is_fitted(self)

    @classmethod
    def _contents_of(cls, state: Mapping[str, Any]) -> Mapping[str, Any]:
        if "_seen" not in state or "components_" in state:
            return cls.contents
        return {name: hint for name, hint in cls.contents.items() if name.removesuffix("?") in AT_ONCE}

    @property
    def _decomposed(self) -> set[str]:
        return {name.removesuffix("?") for name in type(self).contents} - AT_ONCE

    def _check_stream(self, rows: Rows, before: Seen | None) -> None:
        """Refuse early what a stream cannot be asked for."""
        check_number("forgetting", self.forgetting, above=0.0, most=1.0, advice="1 forgets nothing.")
        d = rows.shape[1]
        size = self._sketch_size(d, before)
        kept = None if before is None else (before.centered, before.sketch and before.sketch.size)
        if kept not in (None, (bool(self.center), size)):
            raise ParameterError(FIXED)
        if self.solver in ("full", "gram"):
            raise ParameterError(
                f"solver={self.solver!r} needs all rows at once, and partial_fit lets them go. Take "
                "solver='auto', 'covariance' or 'krylov'."
            )
        count = self.n_components
        if isinstance(count, Integral) and not isinstance(count, bool) and int(count) > d:
            raise ParameterError(
                f"n_components={count} but rows of {counted(d, 'column')} have at most {d} components. "
                f"Ask for at most {d}, or a fraction such as 0.95."
            )
        # As if rows enough had been seen.
        seen = rows.shape[0] + self.__dict__.get("n_samples_", 0)
        enough = SeenRows(dtype=rows.dtype, count=max(seen, d + 2), columns=d, kind=rows.home)
        wanted = check_wanted(self, enough)
        rule = None if wanted.rule is None else RULES[wanted.rule]
        if rule is not None and (rule.draws or (self.forgetting != 1.0 and self.n_components is not None)):
            why = (
                "draws from the rows, which partial_fit lets go"
                if rule.draws
                else "counts rows of equal weight"
            )
            raise ParameterError(
                f"n_components={self.n_components!r} {why}. Take a number or a fraction; or ask "
                "gramian.choose_components about a sample of the rows."
            )
        check_scale(self.scale, rows, bool(self.center))
        check_ddof(self.ddof, enough.count)
        if before is None:
            n = enough.shape[0]
            costs = scatter_costs(n, d) if size is None else sketch_costs((n, d), size)
            plan(costs, self._ask(enough, wanted.target))  # refuses what does not fit

    def _sketch_size(self, d: int, before: Seen | None = None) -> int | None:
        """Return the number of rows of the sketch, as before if it may be; None where none is asked for."""
        if self.solver != FREQUENT_DIRECTIONS:
            if self.sketch_size is not None:
                raise ParameterError(
                    f"sketch_size={self.sketch_size!r} goes with solver='frequent-directions' only. "
                    "Leave it out."
                )
            return None
        count = self.n_components
        number = count is None or isinstance(count, Integral)
        if self.max_rmse is not None or not number:
            raise ParameterError(
                "solver='frequent-directions' does not know the whole spectrum, which "
                f"n_components={count!r} and max_rmse={self.max_rmse!r} need. Give the number of components, "
                "n_components=10."
            )
        if self.scale is not None:
            raise ParameterError(
                "solver='frequent-directions' takes no scale: the spread of a column is known only when the "
                "sketch has been made. Divide the columns first."
            )
        if self.sketch_size is None:
            kept = 0 if before is None or before.sketch is None else before.sketch.size
            size = kept if kept >= max(1, int(count or 0)) else max(LEAST_SKETCH, 2 * int(count or 0))
        else:
            advice = "It bounds the number of components, and the larger, the more accurate they are."
            size = check_integer("sketch_size", self.sketch_size, max(1, int(count or 1)), advice=advice)
        if size >= d:
            raise ParameterError(
                f"A sketch of {size} rows is no smaller than the {d} x {d} covariance of "
                f"{counted(d, 'column')}. Take solver='auto', which is exact, or a smaller sketch_size."
            )
        return size

    def _seen_by_fit(self) -> Seen:
        """Return what fit kept of its rows, with a bound on what it discarded."""
        center = as_float64(self._center)
        # Without centring nothing is left out of the mean; older files always lack this.
        centered = "_center_rest" in self.__dict__ or bool(center.any())
        if centered != bool(self.center):
            raise ParameterError(FIXED)
        if "_remainder" not in self.__dict__:
            raise ParameterError(
                "This model was saved by an older gramian, and lacks what partial_fit continues from. Call "
                "partial_fit(X) in place of fit(X), on a fresh model (sklearn.base.clone)."
            )
        rest = as_float64(self.__dict__.get("_center_rest", np.zeros(len(center))))
        return seen_of_components(
            self.n_samples_,
            as_float64(self.singular_values_)[:, None] * as_float64(self.components_),
            (center, rest),
            self._remainder,
            divisor=None if self._divisor is None else as_float64(self._divisor),
            constant=to_numpy(self.constant_features_),
            centered=centered,
            like=self.components_,
            size=self._sketch_size(self.n_features_in_),
        )

    def _merged(self, before: Seen | None, rows: Rows) -> Seen:
        began = time.perf_counter()
        center, forgetting = bool(self.center), float(self.forgetting)
        size = self._sketch_size(rows.shape[1], before)
        if isinstance(self.scale, str) and self.scale == "genotype":
            require_counts(rows)
        if size is not None:
            seen = sketched(before, rows, center=center, size=size, forgetting=forgetting)
        else:
            seen = seen_of(rows, center=center, among=1 if before is None else before.rows)
            seen = seen if before is None else merged(before, seen, forgetting)
        earlier = 0.0 if before is None else before.seconds
        return replace(seen, seconds=earlier + time.perf_counter() - began)

    def _require_finite_variance(self, seen: Seen) -> None:
        """Raise for a batch with which a variance leaves float64, since no later look would succeed."""
        if isinstance(self.scale, str):
            return  # such variances are of the size of 1, or of a standard deviation
        squares, count = seen.column_squares, seen.moments.count
        degrees = count - seen.degrees_lost(self.ddof)
        divisor = 1.0 if self.scale is None else np.asarray(self.scale, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            # Sums of squares have to be in range too.
            norms = np.ldexp(np.sqrt(squares), seen.exponent) / divisor
            finite = bool(np.isfinite((norms**2).sum() / (min(degrees, 1.0) if degrees > 0 else 1.0)))
        if not finite:
            column = int(np.argmax(norms))
            deviation = float(np.ldexp(np.sqrt(squares[column] / count), seen.exponent))
            raise DataError(
                f"With this batch the standard deviation of column {column} is {deviation:.3g}, and "
                "its square exceeds what float64 can hold. The model is as it was. Remove such values, "
                "or start again with a fresh model and multiply all rows by a small number first."
            )

    def _settle_stream(self) -> None:
        """Decompose what was seen and set every attribute."""
        seen: Seen = self.__dict__["_seen"]
        self._require_enough(seen)
        table = seen.table()
        self._check_stream(table, seen)  # parameters may be others since the last batch
        scale = check_scale(self.scale, table, bool(self.center))
        problem = problem_of(seen, scale, check_ddof(self.ddof, seen.rows))
        seeds = drawn_seeds(self.random_state)
        self._adopt(table, problem, *self._decompose(table, problem, check_wanted(self, table), seeds))

    def _require_enough(self, seen: Seen) -> None:
        count = self.n_components
        least = max(2, int(count) if isinstance(count, Integral) else 0)
        name = f"This {type(self).__name__} instance is not fitted yet:"
        if seen.rows < least:
            why = f" for n_components={count}" if least > 2 else ""
            raise TooFewRowsError(
                f"{name} {counted(seen.rows, 'row was', 'rows were')} seen, and at least {least} are needed"
                f"{why}. Call partial_fit with more."
            )
        if not seen.effective > self.ddof * (1 + 1e-9):
            raise TooFewRowsError(
                f"{name} with forgetting={self.forgetting!r} the rows weigh as much as {seen.effective:.3g} "
                f"equal ones, and more than ddof={self.ddof} are needed. Give larger batches or forget less."
            )
