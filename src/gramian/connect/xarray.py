"""PCA of fields on a grid, which climate science calls EOF analysis: xarray in, xarray out."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gramian import errors
from gramian.answers.grid import grid_sentence
from gramian.answers.rotate import ORTHOGONAL, rotated
from gramian.core import checks
from gramian.core.arrays import as_float64, is_dask, memory_limit_bytes
from gramian.core.checks import check_choice, check_integer, check_number, counted, listed
from gramian.core.records import FloatArray
from gramian.core.version import __version__
from gramian.engine.centered import center_rows
from gramian.errors import DataError, InputTypeError, MissingValuesError, ParameterError, needs
from gramian.models.pca.estimator import PCA
from gramian.statistics.components import column_variances
from gramian.statistics.normal_model import NormalModel
from gramian.statistics.projection import LinearProjection
from gramian.statistics.units import SHARE
from gramian.tables.as_rows import as_rows
from gramian.tables.table import Expected

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

__all__ = ["inverse", "pca", "project", "rotate"]

COMPONENT = "component"
MOST = 10  # components without a number
CHUNK_BYTES = 64 << 20  # of chunks that are cut anew, because cells were apart
SEARCHED = 64  # rows that are searched for NaN at a time
LATITUDES = ("lat", "lats", "latitude", "latitudes", "nav_lat", "clat", "xlat")
POLE = 1e-15  # cosine of the latitude
UNEQUAL = 1.25  # the longest step of a series relative to the usual one
CODES = ("_FillValue", "missing_value")  # attributes of numbers as they are stored
SCALES = ("unit", "variable")
IMPUTING = ("mean", "em", "iterative")
CHOOSE = (
    'Use missing="em" or "iterative", by which PCA imputes them, or missing="mean"; '
    "or fill them first, as da.interpolate_na('time') does. Cells that never have a value need no method."
)
INCOMPLETE = (
    'Fill them first, or fit the components with missing="em" or "projection", which map fields '
    "by the cells that have a value."
)
BoolArray = npt.NDArray[np.bool_]


def pca(
    da: DataArray | Dataset,
    sample_dim: Hashable | Sequence[Hashable] = "time",
    *,
    weights: Any = None,
    n_components: int | float | str | None = None,
    scale: Any = None,
    **parameters: Any,
) -> Dataset:
    """Find the components (EOFs) of fields on a grid, and return them and their scores on their coordinates.

    Every cell is a column of :class:`gramian.PCA` and every time a row. Cells that are NaN at every time,
    such as land in a field of the sea, take no part and come back as NaN.

    Parameters
    ----------
    da : DataArray or Dataset
        Real numbers with ``sample_dim`` and any other dimensions, in any order. The variables of a Dataset
        are stacked, so that they share scores; all need ``sample_dim``. Chunks of Dask are processed where
        they are, in several passes of ``solver="krylov"``: chunk along time.
    sample_dim : str or sequence of str, default="time"
        Dimension of the samples, or several of them, such as ``("member", "time")``.
    weights : "coslat", DataArray or None, default=None
        Weight of each cell in variances: centred and scaled values are multiplied by its square root.
        "coslat" is the cosine of the latitude, the area of a cell of a regular grid. The latitude is the
        coordinate with CF's ``standard_name`` or ``units``, or a usual name. A mapping names one of these for
        each variable.
    n_components : int, float, str or None, default=None
        As in :class:`gramian.PCA`; None means 10, or all if there are fewer.
    scale : None, "unit", "variable", float, DataArray or mapping, default=None
        Divide centred values by the standard deviation of each cell ("unit"), by one number for each
        variable, the root of the mean variance of its cells by their weights ("variable"), or by your own
        numbers. A mapping names one of these for each variable. Standard errors allow for "unit", and take
        other divisors as known.
    **parameters
        Other parameters of :class:`gramian.PCA`, such as ``missing``, ``tol`` or ``memory_limit``. For cells
        without a value at some times the default, ``missing="error"``, raises an error that names them.

    Returns
    -------
    Dataset
        With a dimension ``component`` that counts from 1:

        - ``components``: unit vectors over all cells, as xeofs returns them. They are of weighted and scaled
          values: ``components * divisor * sqrt(explained_variance)`` are patterns in units of the data.
        - ``scores`` of every time, ``sum(components * (da - mean) / divisor)``.
        - ``explained_variance`` and ``explained_variance_ratio`` with their standard errors, which North's
          rule of thumb draws as bars: about ``explained_variance * sqrt(2 / n_times)``. Times count as
          independent: with an effective number of times n, multiply by ``sqrt(n_times / n)``.
        - ``group``: components with the same number are not separated by the sample; the attribute
          ``sampling`` says so in words. Read their span, not the single patterns.
        - ``mean`` and ``divisor`` of each cell. The divisor is ``scale / sqrt(weight)``.

        For a Dataset there are ``components_NAME``, ``mean_NAME`` and ``divisor_NAME`` for each variable. A
        cell of weight 0, as at a pole, takes no part: its components are 0, and its divisor is infinite.
        Attributes have what the first pattern and its series are (``headline``), the options and the
        certificate, as numbers and text that netCDF can store.

    Raises
    ------
    ParameterError
        For an unknown dimension, weights that are negative or do not fit, no latitude, and as in
        :class:`gramian.PCA`.
    DataError
        For missing values without a method for them, infinity, a time or a variable without any value, fewer
        than two times, and as in :meth:`gramian.PCA.fit`.
    MissingExtraError
        Without xarray.

    Warns
    -----
    DiagnosticWarning
        If one variable of several in different units has 95 % of the variance.

    See Also
    --------
    project : Scores of other times.
    inverse : Fields from scores.
    rotate : Varimax rotation.

    References
    ----------
    North, Bell, Cahalan and Moeng (1982), Sampling errors in the estimation of empirical orthogonal
    functions.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> import gramian.connect.xarray
    >>> rng = np.random.default_rng(0)
    >>> lat, lon = np.linspace(-60, 60, 7), np.arange(0, 360, 30)
    >>> wave = np.cos(np.deg2rad(lat))[:, None] * np.sin(np.deg2rad(lon))
    >>> values = rng.standard_normal((100, 1, 1)) * wave + 0.1 * rng.standard_normal((100, 7, 12))
    >>> da = xarray.DataArray(values, {"time": np.arange(100), "lat": lat, "lon": lon})
    >>> ds = gramian.connect.xarray.pca(da, weights="coslat", n_components=3)
    >>> ds.components.dims, ds.scores.dims
    (('component', 'lat', 'lon'), ('time', 'component'))
    >>> ds.explained_variance_ratio.values.round(2)
    array([0.97, 0.  , 0.  ])
    """
    if "feature_weight" in parameters:
        raise ParameterError("feature_weight", allowed="is called weights for fields")
    fields = _fields(da)
    dims = _sample_dims(fields, sample_dim)
    several, scales = hasattr(da, "data_vars"), [_of(scale, name, "scale") for name in fields]
    variables, tables, cell_weights = zip(
        *(_part(name, field, dims, _of(weights, name, "weights"), several) for name, field in fields.items()),
        strict=True,
    )
    layout, table, weight = _Layout(variables), _joined(tables), np.concatenate(cell_weights)
    samples = _without(next(iter(fields.values())), variables[0].base.dims, dims)
    if is_dask(table):
        # Its passes take chunks as they are; the dual Gram matrix is of columns, for which Dask holds all.
        parameters.setdefault("solver", "krylov")
    try:
        model = PCA(
            min(MOST, max(1, len(table) - 1), table.shape[1]) if n_components is None else n_components,
            scale=layout.divisors(scales, table, weight, parameters),
            feature_weight=None if (weight == 1).all() else weight,
            **parameters,
        )
        scores = np.asarray(model.set_output(transform="default").fit_transform(table))
    except DataError as error:
        advice = "" if parameters.get("missing") in IMPUTING else CHOOSE
        raise layout.explained(error, table, samples, advice) from None
    layout.warn_of_units(model, scales)
    options = {"weights": _said(weights), "scale": _said(scale)}
    return _results(model, scores, layout, samples, options, [kind is not None for kind in scales])


def project(ds: Dataset, new: DataArray | Dataset) -> DataArray:
    """Return the scores of other fields on the components of :func:`pca` or :func:`rotate`.

    Parameters
    ----------
    ds : Dataset
        As those return it, or as read from a file.
    new : DataArray or Dataset
        Fields on the same cells, in any order, with any other dimensions or none; a Dataset if one was
        fitted. Values at cells that took no part are ignored.

    Returns
    -------
    DataArray
        With the other dimensions of ``new`` and ``component``; lazy for Dask's chunks.

    Raises
    ------
    DataError
        For other cells, a missing variable, infinity, and for missing values if the components were fitted
        with ``missing="error"``, the default, or rotated.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> import gramian.connect.xarray
    >>> values = np.random.default_rng(0).standard_normal((30, 4, 5))
    >>> da = xarray.DataArray(values, dims=("time", "lat", "lon"))
    >>> ds = gramian.connect.xarray.pca(da[:20], n_components=2)
    >>> gramian.connect.xarray.project(ds, da[20:]).sizes
    Frozen({'time': 10, 'component': 2})
    """
    layout = _Layout.of_results(ds)
    fields, tables = layout.matched(_fields(new), several=hasattr(new, "data_vars")), []
    dims = tuple(dim for dim in fields[0].dims if dim not in layout.parts[0].base.dims)
    for variable, field in zip(layout.parts, fields, strict=True):
        if set(field.dims) != {*dims, *variable.base.dims}:
            needed = f"but needs {_listed((*dims, *variable.base.dims))}."
            raise DataError(f"{_whose(variable.name)} has the dimensions {_listed(field.dims)}, {needed}")
        tables.append(
            _columns(_flat(_aligned(field, variable.base, "new"), dims, variable.base.dims), variable.used)
        )
    samples, k = _without(fields[0], layout.parts[0].base.dims, dims), ds.sizes[COMPONENT]
    projection = layout.projection(ds, scoring=True)
    holes = projection.incomplete is not None
    table, expected = _joined(tables), Expected(holes=holes)
    try:
        rows = as_rows(table, estimator="project", check_finite=False, expected=expected)
        scores = rows.mapped(projection.scores, k, holes=holes).reshape((*samples.shape, k))
    except DataError as error:
        raise layout.explained(error, table, samples, INCOMPLETE) from None
    return _labelled(scores, samples, ds[COMPONENT]).rename("scores").assign_attrs(ds["scores"].attrs)


def inverse(
    ds: Dataset, n_components: int | None = None, *, scores: DataArray | None = None
) -> DataArray | Dataset:
    """Return the fields that components and scores stand for, in units of the data.

    Parameters
    ----------
    ds : Dataset
        As :func:`pca` or :func:`rotate` returns it, or as read from a file.
    n_components : int, optional
        Use the first ones only.
    scores : DataArray, optional
        Scores in place of those in ``ds``, as of :func:`project`; those of some components, such as
        ``ds.scores.sel(component=[2])``, give what these contribute.

    Returns
    -------
    DataArray or Dataset
        ``mean + divisor * sum(scores * components)``, of the kind that was fitted. It is NaN where the fitted
        fields always were, and the mean where the weight is 0.

    Raises
    ------
    ParameterError
        For a number of components, or scores of components, that ``ds`` does not have.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> import gramian.connect.xarray
    >>> values = np.random.default_rng(0).standard_normal((30, 2, 2))
    >>> da = xarray.DataArray(values, dims=("time", "lat", "lon"), name="sst")
    >>> ds = gramian.connect.xarray.pca(da, n_components=4)
    >>> bool(np.allclose(gramian.connect.xarray.inverse(ds), da))
    True
    """
    layout = _Layout.of_results(ds)
    scores = ds["scores"] if scores is None else scores
    if COMPONENT not in scores.dims:
        scores = scores.expand_dims(COMPONENT)
    if n_components is not None:
        n_components = check_integer("n_components", n_components, 1, scores.sizes[COMPONENT])
        scores = scores.isel({COMPONENT: slice(n_components)})
    labels = scores[COMPONENT].values
    if not np.isin(labels, ds[COMPONENT].values).all():
        has = f"belong to components {listed(labels.tolist())}, but ds has {ds.sizes[COMPONENT]}"
        raise ParameterError("scores", allowed=has)
    scores = scores.transpose(..., COMPONENT)
    samples = scores.isel({COMPONENT: 0}, drop=True)
    values = layout.projection(ds.sel({COMPONENT: labels})).back(np.asarray(scores).reshape(-1, len(labels)))
    results = {}
    for variable, block in zip(layout.parts, layout.split(values), strict=True):
        full = variable.on_grid(block, variable.rest).reshape(samples.shape + variable.base.shape)
        field = _labelled(full, samples, variable.base).assign_attrs(variable.base.attrs)
        results[variable.name] = field.rename(variable.name or None)
    if not layout.parts[0].suffix:
        return next(iter(results.values()))
    import xarray

    return xarray.Dataset(results)


def rotate(ds: Dataset, n_components: int | None = None) -> Dataset:
    """Rotate components by varimax, so that each is large in few cells.

    It is the rotation of :func:`gramian.rotate`: of ``components * sqrt(explained_variance)``, with Kaiser's
    normalisation, in which each cell counts alike whatever its weight.

    Parameters
    ----------
    ds : Dataset
        As :func:`pca` returns it.
    n_components : int, optional
        Rotate the first ones, and leave out the others; by default all with variance. Another number gives
        other patterns.

    Returns
    -------
    Dataset
        As of :func:`pca`, on the same coordinates, without standard errors: ``components`` of length 1 that
        are not orthogonal, uncorrelated ``scores``, and their variances, which sum to the variance before.
        The attribute ``rotation`` says what is lost.

    Raises
    ------
    ParameterError
        For rotated components, or fewer than two with variance.

    References
    ----------
    Kaiser (1958), The varimax criterion for analytic rotation in factor analysis. Richman (1986), Rotation of
    principal components.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> import gramian.connect.xarray
    >>> causes = np.random.default_rng(0).standard_normal((50, 2))
    >>> da = xarray.DataArray(causes @ [[1, 1, 0, 0], [0, 0, 1, 1]], dims=("time", "cell"))
    >>> rotated = gramian.connect.xarray.rotate(gramian.connect.xarray.pca(da, n_components=2))
    >>> rotated.components.values.round(1)
    array([[0.1, 0.1, 0.7, 0.7],
           [0.7, 0.7, 0.1, 0.1]])
    """
    layout = _Layout.of_results(ds)
    rank = int(ds.attrs["rank"])
    if "rotation" in ds.attrs or rank < 2:
        few = f"{counted(rank, 'component')} with variance"
        has = "rotated components" if "rotation" in ds.attrs else few
        raise ParameterError("ds", allowed=f"has {has}, but rotate needs two or more as pca returns them")
    k = rank if n_components is None else check_integer("n_components", n_components, 2, rank)
    first = ds.isel({COMPONENT: slice(k)})
    deviations = np.sqrt(first["explained_variance"].values)
    A = as_float64(layout.stacked(first, "components")).T * deviations
    L, R = rotated(A, "varimax")
    variances = np.sum(L**2, axis=0)
    whitened = bool(ds.attrs["whiten"])
    standardized = first["scores"].values / (1.0 if whitened else deviations)
    scores = standardized @ np.linalg.inv(R).T * (1.0 if whitened else np.sqrt(variances))
    of_sample = [name for name in ds.data_vars if name == "group" or str(name).endswith("_error")]
    result = first.drop_vars(of_sample)
    for variable, block in zip(layout.parts, layout.split((L / np.sqrt(variances)).T), strict=True):
        old = first[f"components{variable.suffix}"]
        result[old.name] = old.copy(data=variable.on_grid(block.astype(old.dtype)))
    total = float(ds.attrs["total_variance"]) or 1.0
    result["explained_variance"] = first["explained_variance"].copy(data=variances)
    result["explained_variance_ratio"] = first["explained_variance_ratio"].copy(data=variances / total)
    result["scores"] = first["scores"].copy(data=scores.astype(ds["scores"].dtype))
    result.attrs = {key: value for key, value in ds.attrs.items() if key not in ("sampling", "headline")}
    return result.assign_attrs(rotation=f"varimax. {ORTHOGONAL}", rank=k)


# ------------------------------------------------ cells as columns, and back


@dataclass(frozen=True, eq=False)
class _Part:
    """The cells of one variable.

    Attributes
    ----------
    name : str
        Empty for a DataArray without a name.
    suffix : str
        Of the names of its results; empty for a DataArray.
    base : DataArray
        The grid, with its coordinates and the attributes of the variable.
    used : ndarray of bool, shape (d,)
        Cells that take part.
    rest : ndarray of shape (d,)
        Means of the other cells; NaN where they have no value.
    """

    name: str
    suffix: str
    base: DataArray
    used: BoolArray
    rest: FloatArray

    def on_grid(self, values: Any, elsewhere: float | FloatArray = 0.0) -> Any:
        """Return values (..., m) of the cells that take part on the grid; cells without a value are NaN."""
        if not self.used.all():
            full = np.empty((*values.shape[:-1], self.used.size), values.dtype)
            full[...] = np.where(np.isnan(self.rest), np.nan, elsewhere)
            full[..., np.flatnonzero(self.used)] = values
            values = full
        return values.reshape((*values.shape[:-1], *self.base.shape))


@dataclass(frozen=True, eq=False)
class _Layout:
    """Variables one after the other, as columns of a table."""

    parts: Sequence[_Part]

    @classmethod
    def of_results(cls, ds: Dataset) -> _Layout:
        """Return the layout of what :func:`pca` returned."""
        names = [str(name) for name in getattr(ds, "data_vars", ()) if str(name).startswith("components")]
        if not names or "rank" not in ds.attrs:
            raise InputTypeError(
                "ds is not what gramian.connect.xarray.pca or rotate returns.", "Pass their result."
            )
        variables = []
        for suffix in (name.removeprefix("components") for name in names):
            mean, divisor = ds[f"mean{suffix}"], ds[f"divisor{suffix}"]
            used = np.isfinite(divisor.values).ravel()
            name = suffix.removeprefix("_") or str(ds.attrs.get("variable", ""))
            variables.append(_Part(name, suffix, mean, used, as_float64(mean.values).ravel()))
        return cls(variables)

    def split(self, values: Any) -> list[Any]:
        """Return the columns of each variable."""
        ends = np.cumsum([np.count_nonzero(variable.used) for variable in self.parts])
        return np.split(values, ends[:-1], axis=-1)

    def stacked(self, ds: Dataset, name: str) -> npt.NDArray[Any]:
        """Return a result of all variables at the cells that take part, shape (..., m)."""
        found = []
        for variable in self.parts:
            values = ds[f"{name}{variable.suffix}"]
            outer = values.shape[: values.ndim - variable.base.ndim]
            found.append(_columns(values.values.reshape(*outer, -1), variable.used))
        return np.concatenate(found, axis=-1)

    def projection(self, ds: Dataset, *, scoring: bool = False) -> LinearProjection:
        """Return the map to scores (``scoring``), or from them."""
        directions, k = self.stacked(ds, "components"), int(ds.attrs["rank"])
        center, divisor = self.stacked(ds, "mean"), self.stacked(ds, "divisor")
        variances, incomplete = ds["explained_variance"].values, None
        deviations = np.sqrt(variances) if ds.attrs["whiten"] else None
        if scoring and "rotation" in ds.attrs:
            # What rotated components do not span is orthogonal to them.
            directions = np.linalg.pinv(as_float64(directions)).T
        elif scoring and ds.attrs["missing"] != "error":
            imputing = np.where(np.arange(k) < ds.attrs["imputing_components"], variances[:k], 0.0)
            noise, strength = float(ds.attrs["noise_variance"]), float(ds.attrs["imputing_regularization"])
            method = str(ds.attrs["missing"])
            incomplete = NormalModel(
                directions[:k], imputing, noise, center, divisor, method, strength, center
            )
        return LinearProjection(directions, center, divisor, deviations, k, incomplete)

    def matched(self, fields: Mapping[str, DataArray], *, several: bool) -> list[DataArray]:
        """Return the fields of the variables that were fitted."""
        if several != bool(self.parts[0].suffix):
            kind, fitted = ("a Dataset", "a DataArray") if several else ("a DataArray", "a Dataset")
            raise InputTypeError(f"new is {kind}, but the components were fitted to {fitted}.")
        if not several:
            return list(fields.values())
        lacked = [variable.name for variable in self.parts if variable.name not in fields]
        if lacked:
            raise DataError(f"new lacks the variables {listed(lacked)}, but has {listed(fields)}.")
        return [fields[variable.name] for variable in self.parts]

    def divisors(
        self, scales: Sequence[Any], table: Any, weight: FloatArray, parameters: Mapping[str, Any]
    ) -> str | FloatArray | None:
        """Return ``scale`` of PCA for the ``scale`` of each variable."""
        named = [check_choice("scale", scale, SCALES) for scale in scales if isinstance(scale, str)]
        if all(scale is None for scale in scales):
            return None
        if named == ["unit"] * len(scales):
            return "unit"
        result, deviations = np.ones(len(weight)), weight
        if named:
            if parameters.get("missing") in IMPUTING:
                hint = "With missing values give numbers, or 'unit' for every variable."
                raise ParameterError("scale", "variable", "is computed from complete values", hint)
            center, ddof = parameters.get("center", True), parameters.get("ddof", 1)
            rows = as_rows(table, estimator="PCA", minimum=2)
            view = center_rows(rows, center=center, scale="unit", ddof=ddof)
            deviations = np.where(view.constant, 0.0, np.asarray(view.data_divisor))
        split = self.split(result), self.split(deviations), self.split(weight)
        for variable, scale, divisor, deviation, area in zip(self.parts, scales, *split, strict=True):
            if isinstance(scale, str):
                mean = math.sqrt(np.average(deviation**2, weights=area))
                divisor[:] = np.where(deviation > 0, deviation, 1.0) if scale == "unit" else mean or 1.0
            elif scale is not None:
                divisor[:] = _cells(scale, variable.base, "scale")[variable.used]
                if not (divisor > 0).all():
                    raise ParameterError("scale", allowed="must be positive at all cells that take part")
        return result

    def explained(self, error: DataError, table: Any, samples: DataArray, advice: str) -> DataError:
        """Return an error that names the times and cells without a value, if these are the reason.

        ``advice`` is for missing values, and empty where these are imputed.
        """
        holes = as_rows(table, check_finite=False, limit=memory_limit_bytes(None)).holes()
        if holes is None:
            return error
        if holes.infinite:
            what = counted(holes.infinite, "value is infinite", "values are infinite")
            where = self._place(samples, *holes.first_infinite) + " and more" * (holes.infinite > 1)
            return DataError(f"{what}: {where}.", "Replace them, or leave out these times or cells.")
        if holes.empty:
            what = counted(len(holes.empty), "sample has", "samples have")
            rows = checks.first_few(holes.empty, lambda row: _place(samples, row) or "the only one")
            return DataError(
                f"{what} no value at all: {rows}. Nothing determines what is missing there.",
                "Leave them out, as da.dropna('time', how='all') does.",
            )
        if not advice:
            return error
        what = counted(holes.missing, "value is", "values are")
        share = f"{len(holes.by_row):,} of {counted(len(table), 'sample')}"
        where = self._place(samples, *holes.first[0]) + " and more" * (holes.missing > 1)
        return MissingValuesError(
            f"{what} missing in {share}, at cells that take part: {where}.", hint=advice
        )

    def _place(self, samples: DataArray, row: int, column: int) -> str:
        """Return the coordinates of a value."""
        variable, cell = self._cell(column)
        coordinates = ", ".join(filter(None, [_place(samples, row), cell]))
        return f"{variable.name} at {coordinates}" if variable.name else coordinates

    def _cell(self, column: int) -> tuple[_Part, str]:
        """Return the variable and the coordinates of a cell that takes part."""
        for variable in self.parts:
            cells = np.flatnonzero(variable.used)
            if column < len(cells):
                break
            column -= len(cells)
        return variable, _place(variable.base, cells[column])

    def cell(self, column: int) -> str:
        """Return the coordinates of a cell, of several variables with its name."""
        variable, where = self._cell(column)
        return f"{where} of {variable.name}" if variable.suffix else where

    def warn_of_units(self, model: PCA, scales: Sequence[Any]) -> None:
        """Warn if the unit of one variable decides the components."""
        units = {variable.base.attrs.get("units") for variable in self.parts}
        if len(units) < 2 or any(scale is not None for scale in scales):
            return
        variances = np.array([variance.sum() for variance in self.split(column_variances(model))])
        share = float(variances.max() / (variances.sum() or 1.0))
        if share >= SHARE:
            name = self.parts[int(np.argmax(variances))].name
            errors.DiagnosticWarning(
                f"{name!r} has {checks.percent(share)} of the variance of all variables and decides the "
                'components. If variables have different units, use scale="variable".'
            ).warn()


def _fields(da: Any) -> dict[str, DataArray]:
    """Return variables by name."""
    with needs("xarray", "xarray", "PCA of fields on a grid"):
        import xarray
    if isinstance(da, xarray.DataArray):
        fields = {str(da.name or ""): da}
    elif isinstance(da, xarray.Dataset):
        fields = {str(name): field for name, field in da.data_vars.items()}
    else:
        raise InputTypeError(f"The fields are a {type(da).__name__}.", "Pass xarray's DataArray or Dataset.")
    if not fields:
        raise DataError("The Dataset has no variable.")
    for name, field in fields.items():
        if field.dtype.kind not in "iufb":
            hint = "Convert it, or leave it out: ds.drop_vars(...)."
            raise DataError(f"{_whose(name)} holds {field.dtype}, not real numbers.", hint)
        if COMPONENT in field.dims:
            raise DataError(f"{_whose(name)} has a dimension {COMPONENT!r}, as results have.", "Rename it.")
        few = field.isel(dict.fromkeys(field.dims[:1], 0)) if is_dask(field.data) else field
        for code in (np.asarray(field.attrs[key]) for key in CODES if key in field.attrs):
            rounded = code.astype(few.dtype) if {few.dtype.kind, code.dtype.kind} == {"f"} else code
            if code.dtype.kind in "iuf" and code.size == 1 and (few == rounded.item()).any():
                hint = f"Make it NaN: xarray.decode_cf(ds), or da.where(da != {code.item():g})."
                what = f"{code.item():g}, which its attributes name as a missing value."
                raise DataError(f"{_whose(name)} holds {what}", hint)
    return fields


def _sample_dims(fields: Mapping[str, DataArray], sample_dim: Any) -> tuple[Hashable, ...]:
    dims = tuple(sample_dim) if isinstance(sample_dim, list | tuple) else (sample_dim,)
    for name, field in fields.items():
        if not dims or not set(dims) <= set(field.dims):
            lacks = f"is not among the dimensions of {_whose(name, 'the data')}: {_listed(field.dims)}"
            advice = "Name that of the samples, or choose variables: ds[['sst', 'slp']]."
            raise ParameterError("sample_dim", sample_dim, lacks, advice)
        n = math.prod(field.sizes[dim] for dim in dims)
        if n < 2:
            few = f"has {counted(n, 'sample')} along {_listed(dims)}, but components need two."
            raise DataError(f"{_whose(name)} {few}", "Pass more, or another sample_dim.")
    return dims


def _of(value: Any, name: str, parameter: str) -> Any:
    """Return what is given for one variable."""
    if not isinstance(value, Mapping):
        return value
    if name not in value:
        raise ParameterError(parameter, allowed=f"names {listed(value)}, but not the variable {name!r}")
    return value[name]


def _part(
    name: str, field: DataArray, dims: tuple[Hashable, ...], weights: Any, several: bool
) -> tuple[_Part, Any, FloatArray]:
    """Return the cells of a variable, its values as a table of those that take part, and their weights."""
    cells = tuple(dim for dim in field.dims if dim not in dims)
    base, table = _without(field, dims, cells), _flat(field, dims, cells)
    weight, empty = _weight(weights, base), _empty_columns(table)
    if empty.all():
        raise DataError(f"{_whose(name)} has no value in any cell: all are NaN.", "Pass data with values.")
    if np.isnan(weight[~empty]).any() or not weight[~empty].any():
        what = "is NaN at cells that have values" if weight[~empty].any() else "is 0 at all cells with values"
        raise ParameterError("weights", allowed=what)
    used, rest = ~empty & (weight > 0), np.full(len(weight), np.nan)
    aside = np.flatnonzero(~empty & (weight == 0))
    if len(aside):
        rest[aside] = np.asarray(np.nanmean(table[:, aside], axis=0, dtype=np.float64))
    variable = _Part(name, f"_{name}" if several else "", base, used, rest)
    return variable, _columns(table, used), weight[used]


def _without(field: DataArray, dropped: Sequence[Hashable], order: Sequence[Hashable]) -> DataArray:
    """Return one slice of a field, which has the coordinates of the other dimensions."""
    return field.isel(dict.fromkeys(dropped, 0), drop=True).transpose(*order)


def _flat(field: DataArray, dims: Sequence[Hashable], cells: Sequence[Hashable]) -> Any:
    """Return a field as a table (samples, cells), of NumPy or of Dask in chunks of whole rows."""
    values = field.transpose(*dims, *cells).data
    shape = values.shape
    if is_dask(values) and any(blocks > 1 for blocks in values.numblocks[len(dims) :]):
        rows = max(1, CHUNK_BYTES // (values.dtype.itemsize * math.prod(shape[1:])))
        values = values.rechunk(dict.fromkeys(range(len(dims), len(shape)), -1) | ({0: rows} if dims else {}))
    return values.reshape(math.prod(shape[: len(dims)]), math.prod(shape[len(dims) :]))


def _empty_columns(table: Any) -> BoolArray:
    """Return which columns are NaN in every row."""
    if table.dtype.kind != "f":
        return np.zeros(table.shape[1], dtype=bool)
    empty: BoolArray = np.isnan(np.asarray(table[0]))
    if is_dask(table):
        return np.isnan(table).all(axis=0).compute() if empty.any() else empty
    for rows in checks.slices(len(table), SEARCHED):
        if not empty.any():
            break
        empty &= np.isnan(table[rows]).all(axis=0)
    return empty


def _columns(table: Any, used: BoolArray) -> Any:
    if used.all():
        return table
    columns = np.flatnonzero(used)
    if not is_dask(table):
        return table.take(columns, axis=-1)
    chunks = table.chunks[0], (len(columns),)
    return table.map_blocks(lambda block: block.take(columns, axis=1), dtype=table.dtype, chunks=chunks)


def _joined(tables: Sequence[Any]) -> Any:
    return tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)


def _aligned(field: DataArray, base: DataArray, what: str) -> DataArray:
    """Return a field with the cells of a grid in the order of the grid."""
    for dim in base.dims:
        here, there = field.indexes.get(dim), base.indexes.get(dim)
        if here is not None and there is not None and not here.equals(there):
            if not there.isin(here).all():
                advice = "Interpolate it to their grid, or assign their coordinates."
                if {here.dtype.kind, there.dtype.kind} <= {*"iuf"} and (there % 360).isin(here % 360).all():
                    advice = f"They agree modulo 360: write both as x.assign_coords({dim}=x.{dim} % 360)."
                raise DataError(
                    f"{what} has other values of {dim!r} than the fields that were fitted: {here[0]} to "
                    f"{here[-1]} ({len(here)}), not {there[0]} to {there[-1]} ({len(there)}).",
                    advice,
                )
            field = field.sel({dim: there})
        elif field.sizes[dim] != base.sizes[dim]:
            fitted = f"but the fields that were fitted have {base.sizes[dim]:,}."
            raise DataError(f"{what} has {field.sizes[dim]:,} values along {dim!r}, {fitted}")
    return field


def _cells(value: Any, base: DataArray, parameter: str) -> FloatArray:
    """Return a number for each cell from a number or a DataArray."""
    if not hasattr(value, "dims"):
        return np.full(base.size, check_number(parameter, value))
    unknown = [dim for dim in value.dims if dim not in base.dims]
    if unknown:
        over = f"has the dimensions {_listed(value.dims)}, but cells have {_listed(base.dims)}"
        raise ParameterError(parameter, allowed=over)
    grid = base.isel({dim: 0 for dim in base.dims if dim not in value.dims}, drop=True)
    wide = _aligned(value, grid, parameter).broadcast_like(base).transpose(*base.dims)
    values = as_float64(wide.values).ravel()
    if (values < 0).any() or np.isinf(values).any():
        raise ParameterError(parameter, allowed="must hold finite numbers of at least 0")
    return values


def _weight(weights: Any, base: DataArray) -> FloatArray:
    """Return the weight of each cell."""
    if weights is None:
        return np.ones(base.size)
    if not isinstance(weights, str):
        if not hasattr(weights, "dims"):
            raise ParameterError("weights", weights, "must be 'coslat', a DataArray or None")
        return _cells(weights, base, "weights")
    check_choice("weights", weights, ("coslat",))
    latitude = _latitude(base)
    degrees = latitude.astype(np.float64)
    if str(latitude.attrs.get("units", "")).startswith("rad"):
        degrees = np.rad2deg(degrees)
    if not (abs(degrees) <= 90 * (1 + 1e-6)).all():
        low, high = float(degrees.min()), float(degrees.max())
        why = f"needs degrees, but {latitude.name!r} is from {low:.6g} to {high:.6g}"
        raise ParameterError("weights", weights, why)
    cosine = np.cos(np.deg2rad(degrees))
    # The cosine of a pole is 0, and 6e-17 in float64.
    return _cells(cosine.where(cosine > POLE, 0.0), base, "weights")


def _latitude(base: DataArray) -> DataArray:
    """Return the coordinate with the latitude."""
    found = [
        coordinate
        for name, coordinate in base.coords.items()
        if str(name).lower() in LATITUDES
        or coordinate.attrs.get("standard_name") == "latitude"
        or re.fullmatch("degrees?_?n(orth)?", str(coordinate.attrs.get("units", "")).lower())
    ]
    found = [coordinate for coordinate in found if coordinate.name in base.dims] or found
    if len(found) == 1:
        (latitude,) = found
        return latitude
    problem = f"finds {_listed(c.name for c in found)}" if found else "finds no latitude"
    why = f"{problem} among the coordinates {_listed(base.coords)} of the dimensions {_listed(base.dims)}"
    hint = "Name one 'lat', such as da.rename(y='lat'), or pass weights=np.cos(np.deg2rad(da.y))."
    raise ParameterError("weights", "coslat", why, hint)


def _labelled(values: Any, outer: DataArray, inner: DataArray) -> DataArray:
    """Return values with the dimensions and coordinates of one array, then of another."""
    import xarray

    coords = xarray.merge([outer.coords.to_dataset(), inner.coords.to_dataset()], compat="override")
    return xarray.DataArray(values, coords=coords.coords, dims=(*outer.dims, *inner.dims))


def _results(
    model: PCA,
    scores: npt.NDArray[Any],
    layout: _Layout,
    samples: DataArray,
    options: Mapping[str, str],
    scaled: Sequence[bool],
) -> Dataset:
    """Return what a fit found as a Dataset."""
    import xarray

    k = int(model.n_components_)
    units = [variable.base.attrs.get("units") for variable in layout.parts]
    left_units = {"1" if is_scaled else unit for is_scaled, unit in zip(scaled, units, strict=True)}
    unit = left_units.pop() if len(left_units) == 1 else None
    result = _of_cells(model, layout, scaled)
    dims = [*samples.dims, COMPONENT]
    result["scores"] = _variable(dims, scores.reshape(*samples.shape, k), "scores", unit)
    result |= _of_components(model, unit)
    coordinates = [
        array.coords.to_dataset() for array in (samples, *(variable.base for variable in layout.parts))
    ]
    coords = xarray.merge(coordinates, compat="override").coords
    attrs = {"headline": _headline(model, scores, layout, samples)} | _attributes(model, options)
    if not layout.parts[0].suffix and layout.parts[0].name:
        attrs["variable"] = layout.parts[0].name
    return xarray.Dataset(result, coords, attrs).assign_coords({COMPONENT: np.arange(1, k + 1)})


def _variable(dims: Sequence[Hashable], values: Any, long_name: str | None, units: Any = None) -> Any:
    """Return a variable of a Dataset."""
    attributes = {"long_name": long_name, "units": units}
    return dims, values, {key: value for key, value in attributes.items() if value is not None}


def _of_cells(model: PCA, layout: _Layout, scaled: Sequence[bool]) -> dict[str, Any]:
    """Return the directions, means and divisors of each field on its grid."""
    center, divisor = as_float64(model._center), model._host_divisor
    whole = np.asarray(model.components_), center, np.ones(len(center)) if divisor is None else divisor
    result: dict[str, Any] = {}
    for variable, is_scaled, *blocks in zip(layout.parts, scaled, *map(layout.split, whole), strict=True):
        (directions, mean, own_divisor), dims, suffix = blocks, variable.base.dims, variable.suffix
        what, units = variable.name or "the field", variable.base.attrs.get("units") if is_scaled else "1"
        on_grid = variable.on_grid(directions)
        result[f"components{suffix}"] = _variable([COMPONENT, *dims], on_grid, f"components of {what}", "1")
        result[f"mean{suffix}"] = dims, variable.on_grid(mean, variable.rest), variable.base.attrs
        factor = variable.on_grid(own_divisor, np.inf)
        # With a name here, the patterns that are a product of three would have that of the third.
        result[f"divisor{suffix}"] = _variable(dims, factor, None, units)
    return result


def _of_components(model: PCA, unit: Any) -> dict[str, Any]:
    """Return the variances of scores in such a unit, with their standard errors as far as they are known."""
    k, sample = int(model.n_components_), model.sampling_
    square = unit if unit in (None, "1") else f"{unit}2" if str(unit).isalpha() else f"({unit})2"
    columns = [
        ("explained_variance", model.explained_variance_, "explained variance", square),
        ("explained_variance_ratio", model.explained_variance_ratio_, "ratio to the total variance", "1"),
    ]
    result = {}
    if sample is not None:
        numbers = [number for number, together in enumerate(sample.groups, 1) for _ in together]
        group = np.zeros(k, dtype=np.int32)  # 0 beyond the rank
        group[: len(numbers)] = numbers
        result["group"] = _variable([COMPONENT], group, "components of one number are not separated")
        errors_of, ratio_errors = sample.standard_errors, sample.ratio_standard_errors
        columns += [
            ("explained_variance_error", errors_of, "standard error of the variance", square),
            ("explained_variance_ratio_error", ratio_errors, "standard error of the ratio", "1"),
        ]
    for name, values, long_name, units in columns:
        padded = np.pad(as_float64(values), (0, k - len(values)), constant_values=np.nan)
        result[name] = _variable([COMPONENT], padded, long_name, units)
    return result


def _attributes(model: PCA, options: Mapping[str, str]) -> dict[str, Any]:
    """Return what a fit was asked for and found, as numbers and text."""
    normal, sample, imputed = model._normal_model(), model.sampling_, model.imputed_
    attrs: dict[str, Any] = {
        name: int(value) if isinstance(value, bool) else value
        for name, value in model.get_params().items()
        if isinstance(value, str | int | float) and name != "forgetting"
    }
    return attrs | {
        **options,
        "gramian": __version__,
        "missing": model._missing_method,
        "rank": int(model.rank_),
        "total_variance": float(model.total_variance_),
        "noise_variance": float(normal.noise),
        "imputing_components": int(model.rank_ if imputed is None else imputed.n_components),
        "imputing_regularization": float(normal.strength),
        "sampling": "" if sample is None else sample.brief,
        "certificate": str(model.certificate_),
    }


def _headline(model: PCA, scores: npt.NDArray[Any], layout: _Layout, samples: DataArray) -> str:
    """Return what the fit shows; "" where nothing varies or rows have weights."""
    sample, divisor, weight = model.sampling_, model._host_divisor, model.feature_weight
    if sample is None or not sample.groups:
        return ""
    direction = as_float64(model.components_)[0]
    return grid_sentence(
        direction if divisor is None else direction * divisor,
        np.ones(len(direction)) if weight is None else as_float64(weight),
        as_float64(model.explained_variance_ratio_),
        len(sample.groups[0]),
        as_float64(scores) if _has_equal_steps(samples) else None,
        layout.cell,
    )


def _has_equal_steps(samples: DataArray) -> bool:
    """Return whether samples are times, or numbers, of about equal steps, such as months."""
    if samples.ndim != 1:
        return False
    if (index := samples.indexes.get(samples.dims[0])) is None:
        return True
    try:
        steps: npt.NDArray[Any] = np.diff(np.asarray(index))
        steps = (steps.astype("m8[s]") if steps.dtype.kind in "mO" else steps).astype(np.float64)
    except (TypeError, ValueError):  # names
        return False
    return bool(len(steps) and steps.min() > 0 and steps.max() <= UNEQUAL * np.median(steps))


def _said(value: Any) -> str:
    """Return an option of each variable as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_said(value[name])}" for name in value)
    return "none" if value is None else value if isinstance(value, str) else "given"


def _place(grid: DataArray, cell: int) -> str:
    """Return the coordinates of a place on a flattened grid."""
    numbers = zip(grid.dims, np.unravel_index(cell, grid.shape), strict=True)
    values = [(dim, grid.indexes[dim][i] if dim in grid.indexes else i) for dim, i in numbers]
    return ", ".join(f"{dim}={f'{at:.6g}' if isinstance(at, float) else at}" for dim, at in values)


def _whose(name: str, otherwise: str = "The field") -> str:
    return repr(name) if name else otherwise


def _listed(names: Iterable[Hashable]) -> str:
    return listed(map(str, names)) or "none"
