"""Monitoring as an estimator: which rows are unlike the normal ones, and because of which columns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gramian import errors
from gramian.core.arrays import as_float64, dense, memory_limit_bytes
from gramian.core.checks import check_choice, check_integer, check_share, counted, slices
from gramian.core.records import OPTIONAL, POSITIVE, FloatArray, ModelKind
from gramian.errors import DataError, ParameterError, UnavailableError, ignoring, of_new_rows
from gramian.models import events, monitoring
from gramian.models.fitted import parameter_at_fit
from gramian.models.pca.estimator import PCA
from gramian.models.pca.missing import rows_as_fitted
from gramian.models.saving import Saved
from gramian.models.sklearn import BaseEstimator, OutlierMixin, knows_names
from gramian.statistics import components, projection
from gramian.tables import table
from gramian.tables.as_rows import as_rows
from gramian.tables.memory import index_names
from gramian.tables.rows import Rows
from gramian.tables.times import set_back, times_of
from gramian.tables.treatment import rows_named, rows_taken_of

if TYPE_CHECKING:
    from gramian.models.kernel_pca.estimator import KernelPCA
else:
    KernelPCA = BaseEstimator  # kernels are for those who use them; a file's annotations are evaluated

LIMITS = ("empirical", "theory")
BLOCK = 480  # rows of a kernel PCA that are worked on at a time
MOST_EVENTS = 1000  # whose variables are computed
RULES = (1, 2, 3, 5, 10)
# A column is frozen if a run of one value is more than FROZEN times as long as the longest one of the normal
# rows, and that is at most this share of them: a stationary column hardly is, whatever its runs.
FROZEN, SHORT = 3, 0.1
COMPLETE = 1e-3  # share of the discarded variance that may be unknown, by rounding
MOMENT = re.compile(r"\d{4}-\d\d")  # the beginning of a time
NOTHING = 1e-10  # share of the variance below which no component was discarded


class MonitorAttributes(OutlierMixin, BaseEstimator):
    """The attributes of a fitted Monitor."""

    model_: PCA | KernelPCA
    limits_: monitoring.ControlLimits
    offset_: ClassVar[float] = -1.0
    _held_out: Annotated[FloatArray, "m s", POSITIVE]
    # The longest run of one value in each column of the normal rows, 0 where it is too long to tell.
    _runs: Annotated[npt.NDArray[np.intp], "_", POSITIVE, OPTIONAL]


@knows_names
@dataclass(eq=False, repr=False)
class Monitor(Saved, MonitorAttributes):
    """Alarms for rows that are unlike normal rows, by Hotelling's T2 and SPE of a PCA or kernel PCA.

    T2 is the distance of a row from the mean within the components, ``sum score^2 / variance``. SPE (squared
    prediction error, also Q) is the squared distance of a row from its projection onto the components: in
    fitted (scaled) units for PCA, in feature space for KernelPCA. A row has an alarm if one of them exceeds
    its limit.

    Parameters
    ----------
    model : PCA or KernelPCA
        Unfitted: ``fit`` fits a clone to the normal rows. Fitted: ``fit`` uses the normal rows for the limits
        only. A PCA with ``missing`` "em", "iterative" or "projection" takes rows with missing values: T2 and
        SPE of the observed entries under its normal model are turned into the values of equal probability for
        a complete row, so that the same limits apply. A KernelPCA has SPE if it is exact or has landmarks,
        and kernel and fitted rows are known and dense; otherwise T2 alone decides.
    alpha : float, default=0.01
        Share of normal rows with an alarm: in total, over both statistics, and for one row.
    limit : {"empirical", "theory"}, default="empirical"
        What decides alarms of new rows. "empirical" uses a quantile of held-out normal rows, without
        assumptions on their distribution. "theory" assumes normal rows, and takes the moments of T2 and SPE,
        and how many rows say as much as an independent one, from held-out rows. With fewer than about
        ``2 / alpha`` held-out rows theory decides; if they are fewer only because they depend on each other,
        the larger of the two limits.
    cv : int, default=5
        Number of folds for held-out rows, if the normal rows are those of the fit; at most the number of
        rows. Folds are consecutive rows, as in scikit-learn's KFold, and rows next to a fold that depend on
        its rows are left out with it. Shuffle rows that are sorted by something else than time.
    consecutive : int, default=1
        Alarms in a row that begin an event in the table of :meth:`statistics`.

    Attributes
    ----------
    model_ : PCA or KernelPCA
        The fitted model.
    limits_ : ControlLimits
        The limits by every method and those that decide; print it.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    n_features_in_, feature_names_in_
        Of the model.

    References
    ----------
    Jackson and Mudholkar (1979), Control procedures for residuals associated with principal component
    analysis, Technometrics 21. Tracy, Young, Mason (1992), Multivariate control charts for individual
    observations, Journal of Quality Technology 24. Miller, Swanson, Heckler (1998), Contribution plots: a
    missing link in multivariate quality control. Alcala and Qin (2009), Reconstruction-based contribution
    for process monitoring, Automatica 45.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(500, 6))
    >>> monitor = gramian.Monitor(gramian.PCA(2), alpha=0.01).fit(X)
    >>> new = X[:3] + [[0, 0, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0], [0, 0, 0, 0, 0, -2]]
    >>> monitor.predict(new)
    array([ 1, -1, -1])
    >>> monitor.statistics(new)["contributor 1"].tolist()[1:]
    ['x2', 'x5']
    """

    model_kind: ClassVar = ModelKind.MONITOR

    model: PCA | KernelPCA
    _: KW_ONLY
    alpha: float = 0.01
    limit: str = "empirical"
    cv: int = 5
    consecutive: int = 1

    # ------------------------------------------------------------------ fit

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to normal rows if it is not fitted, and set the limits.

        Held-out rows are those of X if the model has not seen them. Otherwise the model is fitted ``cv``
        times, without one fold each, and gives the statistics of that fold.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, Path or Scan of shape (n_samples, n_features)
            Rows that are normal, in the order of time if there is one. Files may be larger than memory for a
            PCA.
        y : object, ignored
            For pipelines.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ParameterError
            For a model that is no PCA or KernelPCA, or a parameter outside its range.
        DataError
            For infinity, NaN where the model does not map rows with missing values, and so many components
            that no degrees of freedom are left.

        Warns
        -----
        FewRowsWarning
            For fewer than five rows of the fit for each component.
        """
        self._check()
        if _is_begun(self.model):
            self.model_ = self.model
            rows = self._new_rows(X)
        else:
            limit = memory_limit_bytes(self.model.memory_limit)
            linear = isinstance(self.model, PCA)  # which looks at its sums
            rows = as_rows(X, estimator="Monitor", minimum=2, check_finite=not linear, limit=limit)
            # A frame has names that rows lack.
            named = hasattr(X, "columns") and rows.table is None
            self.model_ = clone(self.model).fit(X if named else rows)
            imputed = getattr(self.model_, "imputed_", None)
            if imputed is not None and imputed.method == "mean":
                why = "gives rows with missing values too small a T2 and SPE"
                raise ParameterError("missing", "mean", why, 'Use missing="em" or "iterative".')
        measure = _statistics_of(self.model_)
        reference = _known(self.model_)
        values = measure.of_rows(rows)
        same = self.model_ is not self.model or self._are_of_the_fit(rows, values)
        if same and reference.degrees <= reference.k:
            raise DataError(
                f"{counted(rows.shape[0], 'row')} and {counted(reference.k, 'component')} leave no degrees "
                "of freedom: T2 of every row is the same. Fit more rows, or fewer components."
            )
        held_out = self._of_folds(rows, values) if same else values
        self._held_out = _determined(held_out)
        self._settle(*((rows, values) if same else ()))
        vars(self).pop("_runs", None)
        if (found := _longest_runs(rows)) is not None:
            self._runs = np.where(found[0] <= SHORT * rows.shape[0], found[0], 0)
        if reference.too_few:
            errors.FewRowsWarning(reference.too_few).warn()
        return self

    def _check(self) -> None:
        check_share("alpha", self.alpha, "It is the share of normal rows with an alarm.")
        check_choice("limit", self.limit, LIMITS)
        check_integer("cv", self.cv, 2)
        check_integer("consecutive", self.consecutive, 1)
        if not _is_known(self.model):
            kind = type(self.model).__name__
            raise ParameterError("model", allowed=f"is a {kind}, but must be a PCA or a KernelPCA")

    def _settle(self, rows: Rows | None = None, sizes: FloatArray | None = None) -> None:
        """Set the limits; the rows of the fit, with their statistics, complete the model."""
        reference = _known(self.model_)
        reference.own = None if sizes is None else _determined(sizes)
        reference.held_out = self._held_out[:, : 1 if reference.without_spe else 2]
        if rows is not None and reference.discarded is None and not reference.without_spe:
            statistics = _statistics_of(self.model_)
            if isinstance(statistics, monitoring.LinearStatistics):
                reference.discarded = statistics.discarded(rows, reference.degrees)
        self.limits_ = monitoring.control_limits(float(self.alpha), reference, self.limit)

    def _of_folds(self, rows: Rows, sizes: FloatArray) -> FloatArray:
        """Return the statistics of the rows of each fold by a model of the other folds."""
        if getattr(self.model_, "kernel_", self) is None:  # a precomputed matrix has no folds
            return np.empty((0, 2))
        rows = rows.here()
        (n, d), count = rows.shape, int(self.cv)
        if count > n:
            hint = "Use a smaller cv, or more rows."
            raise ParameterError("cv", count, f"but {n:,} rows have at most {n:,} folds", hint)
        results, parameters = [], self.model_.get_params(deep=False)
        # All components are all of a fold too; an imputation leaves out one.
        everything = parameters["n_components"] is None
        most = d - (vars(self.model_).get("imputed_") is not None) if isinstance(self.model_, PCA) else n
        # Rows next to a fold say what its rows say.
        gap = min(math.ceil(max(monitoring.correlation_times(_determined(sizes))) - 1), n // (2 * count))
        # What they say is said of the model itself.
        with ignoring(errors.GramianWarning):
            for fold in np.array_split(np.arange(n), count):
                near = np.arange(max(fold[0] - gap, 0), min(fold[-1] + 1 + gap, n))
                others = rows.picked(np.delete(np.arange(n), near))
                model = clone(self.model_)
                if not everything:
                    k = min(int(self.model_.rank_), others.shape[0] - 1, most)
                    model.set_params(n_components=k)
                results.append(_statistics_of(model.fit(others)).of_rows(rows.picked(fold)))
        return monitoring.of_all_rows(_determined(np.concatenate(results)), _determined(sizes), 1 - 1 / count)

    # ------------------------------------------------------------ new rows

    def predict(self, X: Any) -> npt.NDArray[np.intp]:
        """Return -1 for new rows with an alarm and 1 for others, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the fit, of any kind that ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples,), int
            -1 or 1.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def decision_function(self, X: Any) -> FloatArray:
        """Return ``1 - max(T2 / its limit, SPE / its limit)`` of new rows: negative for an alarm.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the fit, of any kind that ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples,), float64
            At most 1.
        """
        return self.score_samples(X) - self.offset_

    def score_samples(self, X: Any) -> FloatArray:
        """Return ``-max(T2 / its limit, SPE / its limit)`` of new rows: the lower, the less normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the fit, of any kind that ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_samples,), float64
            At most 0; -1 is at the limit.
        """
        check_is_fitted(self)
        limits = list(self.limits_.deciding().values())
        return -events.excess_of(self._measured(self._new_rows(X)).T[: len(limits)], limits)

    def statistics(self, X: Any, *, rows: str = "new") -> events.RowStatistics:
        """Return T2, SPE, limits, alarms and contributors of rows as a table.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, Path or Scan of shape (n_samples, n_features)
            Files larger than memory are read block by block.
        rows : {"new", "fit", "auto"}, default="new"
            Whether these are new rows, or those of the fit: their statistics have other distributions.
            "auto" compares their number, and the sum of their T2 or what was imputed, with those of the fit.

        Returns
        -------
        RowStatistics
            ``table["T2"]`` is a column; ``table.to_frame()`` a frame. T2 is NaN for a row without any
            observed entry, and SPE for one with no more than there are components; NaN is no alarm.

        Raises
        ------
        DataError
            For ``rows="fit"`` and other rows than those of the fit.

        Warns
        -----
        MissingValuesWarning
            For rows whose observed entries do not determine T2.
        """
        check_is_fitted(self)
        check_choice("rows", rows, ("new", "fit", "auto"))
        data = self._new_rows(X)
        if rows != "new":
            same = self._are_of_the_fit(data, _statistics_of(self.model_).of_rows(data))
            if rows == "fit" and not same:
                raise DataError(
                    f'rows="fit", but these {data.shape[0]:,} rows are not the '
                    f'{self.model_.n_samples_:,} rows of the fit. Use rows="new".'
                )
            rows = "fit" if same else "new"
            if same and isinstance(self.model_, PCA):
                data = rows_as_fitted(self.model_, data)
        _warn_of_times(X, data.row_names)
        limits = self.limits_.deciding(rows)
        names = np.array([*components.feature_names_of(self.model_), ""], dtype=object)
        values = self._measured(data, list(limits.values()))
        columns: dict[str, Any] = {"row": _row_names(X, data)}
        for index, (name, limit) in enumerate(limits.items()):
            columns |= {name: values[:, index], f"{name} limit": np.full(len(values), limit)}
        which = sum((columns[name] > limit) << index for index, (name, limit) in enumerate(limits.items()))
        columns["alarm"] = np.array(["", "T2", "SPE", "T2 and SPE"], dtype=object)[which]
        for index in range(monitoring.CONTRIBUTORS):
            columns[f"contributor {index + 1}"] = names[values[:, 2 + index].astype(int)]
        found = self._events(columns, data, list(limits.values()), names)
        frozen = self._frozen(data, columns["row"]) if rows == "new" else ()
        return events.RowStatistics(columns, self.limits_, found, frozen, rows)

    def _frozen(self, rows: Rows, names: npt.NDArray[Any]) -> tuple[events.Frozen, ...]:
        """Return the columns of new rows that have one value for too long, the longest run first."""
        normal, found = vars(self).get("_runs"), _longest_runs(rows)
        if normal is None or found is None or len(normal) != len(found[0]):
            return ()
        lengths, begins = found
        indices = np.flatnonzero((normal > 0) & (lengths > FROZEN * normal))
        columns = components.feature_names_of(self.model_)
        return tuple(
            events.Frozen(str(columns[j]), names[begins[j]], int(lengths[j]), int(normal[j]))
            for j in indices[np.argsort(-lengths[indices], kind="stable")]
        )

    def _events(
        self, columns: Mapping[str, npt.NDArray[Any]], data: Rows, limits: list[float], names: Any
    ) -> events.Events:
        """Return the events of rows, with the columns that contribute most to their first alarms."""
        alarms = np.asarray(columns["alarm"] != "")
        excess = events.excess_of([columns[name] for name in monitoring.BOTH[: len(limits)]], limits)
        runs = events.runs_of(alarms, int(self.consecutive))
        onsets = [run.start + np.flatnonzero(alarms[slice(*run)])[: events.ONSET] for run in runs]
        top = np.full((len(runs), monitoring.CONTRIBUTORS), -1)
        measure = _statistics_of(self.model_)
        if runs and measure.explains:
            explained = onsets[:MOST_EVENTS]
            some = data.picked(np.concatenate(explained))
            sizes = np.concatenate([measure.sizes(block, limits) for block in measure.blocks(some)])
            ends = np.cumsum([0, *map(len, explained)])[:-1]
            means = np.add.reduceat(sizes, ends, axis=0)
            top[: len(explained)] = monitoring.top_contributors(means)
        exceeded = [
            " and ".join(name for name in monitoring.BOTH if any(name in columns["alarm"][i] for i in onset))
            for onset in onsets
        ]
        starts, stops = np.array(runs, dtype=np.intp).reshape(-1, 2).T
        found = {
            "start": columns["row"][starts],
            "end": columns["row"][stops - 1],
            "length": stops - starts,
            "alarms": np.array([alarms[slice(*run)].sum() for run in runs], dtype=np.intp),
            "statistic": np.array(exceeded, dtype=object),
            "excess": np.array([np.nanmax(excess[slice(*run)]) for run in runs]),
        }
        found |= {f"variable {index + 1}": names[top[:, index]] for index in range(monitoring.CONTRIBUTORS)}
        return events.Events(found, tuple(runs), int(self.consecutive))

    def run_rules(
        self, X: Any = None, *, faulty: Any = None, consecutive: Sequence[int] = RULES
    ) -> events.RunRules:
        """Return false events on normal rows, and the delay on faulty ones, by alarms in a row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Normal rows in the order of time. By default the held-out rows of the fit, which set the
            empirical limits: their share of alarms is that of ``alpha`` by construction.
        faulty : array-like of shape (m, n_features), optional
            Rows of a fault, from its first row on.
        consecutive : sequence of int, default=(1, 2, 3, 5, 10)
            The rules: alarms in a row that begin an event.

        Returns
        -------
        RunRules
            Print it, or use :meth:`RunRules.to_frame`.

        Raises
        ------
        DataError
            Without X, if the limits are not from held-out rows.
        """
        check_is_fitted(self)
        for run in consecutive:
            check_integer("consecutive", run, 1)
        if X is None and not len(self._held_out):
            raise DataError("The limits are not from held-out rows. Give normal rows.")
        if X is None:
            limits = list(self.limits_.deciding().values())
            normal = events.excess_of(self._held_out.T[: len(limits)], limits) > 1
        else:
            normal = self.predict(X) == -1
        broken = None if faulty is None else self.predict(faulty) == -1
        return events.run_rules(normal, broken, consecutive)

    def contributions(self, X: Any) -> dict[str, FloatArray]:
        """Return what each column contributes to T2 and SPE of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows, dense.

        Returns
        -------
        dict of str to ndarray of shape (n_samples, n_features)
            For PCA these are reconstruction-based contributions: by how much "T2", and "SPE" in fitted units,
            fall if the column has the value that makes them smallest. With the statistic ``x.T M x`` that is
            ``(M x)_i^2 / M_ii``, at least 0 and at most the statistic. They do not sum to it: correlated
            columns could each explain the same. A fault in one column alone has the largest contribution in
            that column, however large its neighbours' (complete decompositions ``x_i (M x)_i`` do sum to the
            statistic, and smear over correlated columns).

            For KernelPCA they are local, from the gradient: ``(x - mean) * dT2/dx / 2`` and
            ``(dSPE/dx / 2)^2``.

            "SPE" is missing if no component was discarded. Missing values contribute 0.

        Raises
        ------
        UnavailableError
            For another kernel than rbf, rq, and matern with nu=1.5 or 2.5.
        """
        check_is_fitted(self)
        measure = _statistics_of(self.model_)
        if not measure.explains:
            others = "rbf, rq, and matern with nu=1.5 or 2.5 have one; for the linear kernel, use PCA."
            why = f"need the derivative of the kernel. {_without_spe(self.model_) or others}"
            raise UnavailableError("contributions", allowed=why)
        data = self._new_rows(X)
        with of_new_rows():
            data.require_finite(holes=measure.takes_holes)
        results = [measure.contributions(block) for block in measure.blocks(data)]
        both = map(np.concatenate, zip(*results, strict=True))
        return dict(zip(monitoring.BOTH[: len(self.limits_.deciding())], both, strict=False))

    def _new_rows(self, X: Any) -> Rows:
        if isinstance(X, table.Table) and getattr(self.model_, "_maps_holes", False):
            X = X.observed
        return self.model_._new_rows(X, limit=memory_limit_bytes(self.model_.memory_limit))

    def _measured(self, rows: Rows, limits: Sequence[float] | None = None) -> FloatArray:
        """Return T2, SPE and contributors, and warn of rows without T2."""
        values = _statistics_of(self.model_).of_rows(rows, limits)
        projection.warn_of_undetermined(rows, np.flatnonzero(np.isnan(values[:, 0])))
        return values

    def _are_of_the_fit(self, rows: Rows, values: FloatArray) -> bool:
        """Return whether rows with these statistics are those of the fit.

        Where the fit imputed values, the model imputes them again at the same places. Weights of the rows of
        a fit are not known, so that their number decides.
        """
        model: Any = self.model_
        if rows.shape[0] != model.n_samples_ or vars(model).get("_unequal", False):
            return bool(rows.shape[0] == model.n_samples_)
        imputed = vars(model).get("imputed_")
        if imputed is None:  # the mean square of a score is its variance, so that the sum of T2 is known
            reference = _known(model)
            total = reference.degrees * reference.k
            return abs(float(values[:, 0].sum()) - total) <= monitoring.SAME_ROWS * total
        offset = as_float64(model.impute(rows))[imputed.rows, imputed.columns] - imputed.values
        unit = model._column_deviations()[imputed.columns]
        return bool(np.linalg.norm(offset) <= monitoring.SAME_ROWS * np.linalg.norm(unit))

    # ------------------------------------------------------------ of the model

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the model."""
        return int(self.model_.n_features_in_)

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Names of the columns of the model, where it has them."""
        return self.model_.feature_names_in_

    @property
    def _column_names(self) -> npt.NDArray[np.object_] | None:
        return getattr(self.model_, "_column_names", None)

    @property
    def reading_(self) -> dict[str, Any]:
        """How the data of the model were read."""
        return dict(getattr(self.model_, "reading_", {}))

    @property
    def _maps_holes(self) -> bool:
        return _takes_holes(self.model_)

    def _check_restored(self) -> None:
        """Take the fitted model of the file as the parameter too, and check the statistics."""
        self.model = self.model_
        self._check()
        names = tuple(self.limits_.deciding())
        if self._held_out.shape[1] != 2 or names not in (monitoring.BOTH[:1], monitoring.BOTH):
            raise ValueError("_held_out and limits_ have other statistics than T2 and SPE")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if _is_known(self.model):
            of_model = self.model.__sklearn_tags__().input_tags
            tags.input_tags.sparse, tags.input_tags.pairwise = of_model.sparse, of_model.pairwise
            tags.input_tags.allow_nan = getattr(self.model, "missing", None) in ("em", "iterative")
        return tags


def monitor_of(
    model: Any,
    X: Any = None,
    *,
    alpha: float | None = None,
    consecutive: int | None = None,
    normal: Any = None,
    reference: Sequence[str] | None = None,
) -> Monitor:
    """Return the monitor for a model: with the limits of normal rows, or by theory without any.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or Monitor
        A monitor is returned as it is, unless there are normal rows.
    X : array-like, optional
        If these are the rows of the fit, limits for such rows follow from them too.
    alpha : float, optional
        By default 0.01, or that of the monitor.
    consecutive : int, optional
        Alarms in a row that begin an event, by default 1, or that of the monitor.
    normal : array-like, optional
        Normal rows, which set the limits.
    reference : sequence of two str, optional
        The first and the last of the rows of X, a Table, that are normal: names, numbers or times. A model
        with the parameters and as many components is fitted to them.

    Raises
    ------
    ParameterError
        For another model, and for another alpha without normal rows.
    """
    is_monitor = isinstance(model, Monitor)
    if reference is not None:
        if normal is not None:
            raise ParameterError("reference", list(reference), "is not used with normal", "Give one of them.")
        watched: Any = components.mapping_of(model)
        normal, count = period(X, reference), int(watched.n_components_)
        again = clone(watched).set_params(n_components=count)
        model = clone(model).set_params(model=again) if is_monitor else Monitor(again)
        is_monitor = True
    if is_monitor and normal is None and alpha is not None:
        hint = "Leave alpha out, or give normal rows."
        raise ParameterError("alpha", alpha, "is not used: a saved monitor has its own", hint)
    parameters = {"alpha": alpha, "consecutive": consecutive}
    changes = {name: value for name, value in parameters.items() if value is not None}
    fitted = model.model if reference is not None else components.mapping_of(model)
    if is_monitor and normal is None:
        monitor: Monitor = copy(model).set_params(**changes) if changes else model
        monitor._check()
        return monitor
    monitor = clone(model) if is_monitor else Monitor(fitted)
    monitor.set_params(model=fitted, **changes)
    if normal is not None:
        return monitor.fit(normal)
    monitor._check()
    monitor.model_ = fitted
    monitor._held_out = np.empty((0, 2))
    rows = None if X is None else monitor._new_rows(X)
    values = None if rows is None else _statistics_of(fitted).of_rows(rows)
    same = rows is not None and values is not None and monitor._are_of_the_fit(rows, values)
    monitor._settle(*((rows, values) if same else ()))
    return monitor


def period(rows: table.Table, ends: Sequence[str]) -> table.Table:
    """Return the rows from one to another: names, numbers counted from 0, or times such as "2024-05".

    Rows without any value, as of a logger that was off, are left out.

    Examples
    --------
    >>> hours = table.Table(np.eye(3), row_names=("2024-05-01 01:00", "2024-05-01 02:00", "2024-05-02 01:00"))
    >>> period(hours, ("2024-05-01", "2024-05-01")).row_names, len(period(hours, ("1", "2")).values)
    (('2024-05-01 01:00', '2024-05-01 02:00'), 2)
    """
    if len(ends) != 2:
        raise ParameterError("reference", list(ends), "is not two rows", "Give the first and the last one.")
    names = rows.row_names or ()
    named = {*ends} <= {*names} or not names
    times = None if named or not all(map(MOMENT.match, ends)) else times_of(names)
    if times is not None:
        first, last = sorted(end.replace(" ", "T") for end in ends)
        texts = np.datetime_as_string(times).tolist()
        rows_inside = np.flatnonzero([text >= first and text[: len(last)] <= last for text in texts])
    else:
        rows_inside = np.flatnonzero(rows_named(rows, ends, "reference"))
        rows_inside = np.arange(rows_inside[0], rows_inside[-1] + 1)
    if len(rows_inside) < 2:
        hint = f"Rows are from {names[0]} to {names[-1]}." if names else "Name two different rows."
        problem = f"has {counted(len(rows_inside), 'row')} of {rows.source}, too few for limits"
        raise ParameterError("reference", list(ends), problem, hint)
    inside = rows_taken_of(rows, rows_inside)
    empty = np.isnan(as_float64(dense(inside.values))).reshape(len(rows_inside), -1).all(axis=1)
    return rows_taken_of(inside, np.flatnonzero(~empty)) if empty.any() else inside


def can_be_monitored(model: Any) -> bool:
    """Return whether a fitted model gives T2 and SPE of new rows, and its rows vary."""
    return _is_known(model) and int(model.rank_) > 0


# ------------------------------------------------------------ what a model says


def _statistics_of(model: Any) -> monitoring.Statistics:
    """Return T2 and SPE of rows by a fitted PCA or KernelPCA; without SPE by its scores."""
    r = int(model.rank_)
    if r == 0:
        raise DataError("The model has rank 0: its rows do not vary, so no row compares with them.")
    variances = as_float64(model.explained_variance_)[:r]
    if isinstance(model, PCA):
        return monitoring.LinearStatistics(
            directions=as_float64(model.components_)[:r],
            variances=variances,
            blocks=model._projection().centered_blocks,
            noise=float(model.noise_variance_) if model._maps_holes else None,
        )
    if _without_spe(model):
        scores = model._projection.scores
        return monitoring.Statistics(
            variances=variances, blocks=lambda rows: [as_float64(scores(rows))[:, :r]]
        )

    def standardised(rows: Rows) -> Iterator[FloatArray]:
        for chunk in slices(rows.shape[0], BLOCK):
            yield model._standardised(as_float64(dense(rows.block(chunk).values)))

    space = model._space(np.empty((0, 0)))
    return monitoring.KernelStatistics(space=space, variances=variances, blocks=standardised)


def _determined(values: FloatArray) -> FloatArray:
    """Return T2 and SPE of the rows that have both."""
    return values[np.isfinite(values).all(axis=1)]


def _known(model: Any) -> monitoring.Known:
    """Return what a fitted model says about the distribution of its statistics."""
    r, ratios = int(model.rank_), components.shares_of(model)
    linear = isinstance(model, PCA)
    without = _without_spe(model)
    rest = 1.0 if ratios is None else 1 - float(ratios.sum())
    if not without and rest <= max(NOTHING, model.spectrum_.rank_tolerance):
        without = "No component was discarded, so rows have no distance from the components (no SPE)."
    discarded, moments = None, vars(model).get("_moments")
    if vars(model).get("imputed_") is not None and not without:
        # The model of incomplete rows; a filled table lacks what varies at its holes.
        discarded = np.full(model.n_features_in_ - r, float(model.noise_variance_))
    elif ratios is not None and not without:
        every = components.known_variances(model)
        left = rest / float(ratios.sum()) * float(every[: ratios.size].sum())
        if abs(left - float(every[ratios.size :].sum())) <= COMPLETE * left:
            discarded = every[r:]
    n = float(model.n_samples_ if moments is None else moments.effective)
    centered = bool(model.center if linear else parameter_at_fit(model, "center"))
    return monitoring.Known(n, r, centered, float(model.ddof) if linear else 1.0, without, discarded)


def _is_begun(model: Any) -> bool:
    return bool(vars(model).keys() & {"_moments", "components_", "projection_coef_"})


def _is_known(model: Any) -> bool:
    """Return whether this is a PCA or a KernelPCA, without loading kernels."""
    return getattr(type(model), "model_kind", None) in (ModelKind.PCA, ModelKind.KERNEL_PCA)


def _without_spe(model: Any) -> str:
    """Return why a fitted model gives no SPE of new rows; "" if it does."""
    if isinstance(model, PCA):
        return ""
    if model.kernel_ is None:
        return "There is no SPE: a precomputed kernel has no k(x, x) of new rows."
    if sparse.issparse(model.X_fit_) or sparse.issparse(model.landmarks_):
        return "There is no SPE for a kernel PCA of sparse rows; there is for X.toarray()."
    return ""


def _row_names(X: Any, rows: Rows) -> npt.NDArray[Any]:
    """Return the index of a frame, else names or numbers of rows."""
    if (index := index_names(X)) is not None:
        values = np.asarray(index.values)
        if values.dtype.kind == "O":
            return np.array([*index], dtype=object)
        seconds = values.astype("M8[s]") if values.dtype.kind == "M" else values  # shorter to print
        return seconds if (seconds == values).all() else values
    if rows.row_names is not None:
        return np.array(rows.row_names, dtype=object)
    numbers = None if rows.table is None else rows.table.row_numbers
    return np.arange(rows.shape[0]) if numbers is None else np.asarray(numbers)


def _longest_runs(rows: Rows) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]] | None:
    """Return those of each column of rows that are dense and in memory."""
    X = getattr(rows, "values", None)
    return events.longest_runs(X) if isinstance(X, np.ndarray) else None


def _warn_of_times(X: Any, names: Sequence[str] | None) -> None:
    """Warn where rows are not in the order of time."""
    index = np.asarray(getattr(X, "index", None))
    times = times_of(index if index.dtype.kind == "M" else names or ())
    if times is None:
        return
    steps = np.diff(times).astype(np.float64) / 1000
    others = np.setdiff1d(np.flatnonzero(steps < 0), set_back(times) - 1)
    if len(others):
        row = int(others[0]) + 1
        errors.DiagnosticWarning(
            f"{counted(len(others), 'row is', 'rows are')} earlier than the row before. The first is row "
            f"{row} ({times[row].astype('M8[s]')}). Sort rows by time: events are runs of rows."
        ).warn()


def _takes_holes(model: Any) -> bool:
    """Return whether a model takes rows with missing values, or would if it is not fitted yet."""
    if _is_begun(model):
        return bool(getattr(model, "_maps_holes", False))
    return getattr(model, "missing", None) in ("em", "iterative")
