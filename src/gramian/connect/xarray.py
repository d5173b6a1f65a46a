"""PCA of fields on a grid, which climate science calls EOF analysis: xarray in, xarray out."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.core.arrays import as_float64, is_dask, memory_limit_bytes
from gramian.core.checks import check_choice, check_integer, counted, listed, slices
from gramian.core.package import __version__
from gramian.core.records import AnyArray, BoolArray, FloatArray
from gramian.errors import DataError, InputTypeError, MissingValuesError, ParameterError, needs
from gramian.models.pca.estimator import PCA
from gramian.statistics.associations import field_pattern
from gramian.statistics.normal_model import NormalModel
from gramian.statistics.projection import LinearProjection
from gramian.tables.as_rows import as_rows
from gramian.tables.table import Expected

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

__all__ = ["inverse", "pca", "project"]

COMPONENT = "component"
MOST = 10  # components without a number
CHUNK_BYTES = 64 << 20  # of chunks that are cut anew, because cells were apart
SEARCHED = 64  # rows that are searched for NaN at a time
LATITUDES = ("lat", "lats", "latitude", "latitudes", "nav_lat", "clat", "xlat")
POLE = 1e-15  # cosine of the latitude
CODES = ("_FillValue", "missing_value")  # attributes of numbers as they are stored
IMPUTING = ("mean", "em", "iterative")
CHOOSE = (
    'Use missing="em" or "iterative", by which PCA imputes them, or missing="mean"; '
    "or fill them first, as da.interpolate_na('time') does. Cells that never have a value need no method."
)
INCOMPLETE = (
    'Fill them first, or fit the components with missing="em" or "projection", which map fields '
    "by the cells that have a value."
)
BoolArray = BoolArray


def pca(
    da: DataArray,
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
    da : DataArray
        Real numbers with ``sample_dim`` and any other dimensions, in any order. Chunks of Dask are processed
        where they are, in several passes of ``solver="krylov"``: chunk along time. Several variables are
        stacked by ``ds.to_stacked_array("cell", ["time"])``, so that they share scores.
    sample_dim : str or sequence of str, default="time"
        Dimension of the samples, or several of them, such as ``("member", "time")``.
    weights : "coslat", DataArray or None, default=None
        Weight of each cell in variances: centred and scaled values are multiplied by its square root.
        "coslat" is the cosine of the latitude, the area of a cell of a regular grid. The latitude is the
        coordinate with CF's ``standard_name`` or ``units``, or a usual name.
    n_components : int, float, str or None, default=None
        As in :class:`gramian.PCA`; None means 10, or all if there are fewer.
    scale : None, "unit" or DataArray, default=None
        Divide centred values by the standard deviation of each cell ("unit"), or by your own numbers.
        Standard errors allow for "unit", and take other divisors as known.
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

        A cell of weight 0, as at a pole, takes no part: its components are 0, and its divisor is infinite.
        Attributes have what the first pattern and its series are (``headline``), the options and the
        certificate, as numbers and text that netCDF can store.

    Raises
    ------
    ParameterError
        For an unknown dimension, weights that are negative or do not fit, no latitude, and as in
        :class:`gramian.PCA`.
    DataError
        For missing values without a method for them, infinity, a time without any value, fewer than two
        times, and as in :meth:`gramian.PCA.fit`.
    MissingExtraError
        Without xarray.

    See Also
    --------
    project : Scores of other times.
    inverse : Fields from scores.

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
    field = _checked(da)
    dims = _sample_dims(field, sample_dim)
    grid, table, weight = _grid(field, dims, weights)
    samples = _without(field, grid.base.dims, dims)
    if is_dask(table):
        # Its passes take chunks as they are; the dual Gram matrix is of columns, for which Dask holds all.
        parameters.setdefault("solver", "krylov")
    try:
        model = PCA(
            min(MOST, max(1, len(table) - 1), table.shape[1]) if n_components is None else n_components,
            scale=_scale(scale, grid),
            feature_weight=None if (weight == 1).all() else weight,
            **parameters,
        )
        scores = np.asarray(model.set_output(transform="default").fit_transform(table))
    except DataError as error:
        advice = "" if parameters.get("missing") in IMPUTING else CHOOSE
        raise grid.explained(error, table, samples, advice) from None
    options = {"weights": _said(weights), "scale": _said(scale)}
    return _results(model, scores, grid, samples, options)


def project(ds: Dataset, new: DataArray) -> DataArray:
    """Return the scores of other fields on the components of :func:`pca`.

    Parameters
    ----------
    ds : Dataset
        As that returns it, or as read from a file.
    new : DataArray
        Fields on the same cells, in any order, with any other dimensions or none. Values at cells that took
        no part are ignored.

    Returns
    -------
    DataArray
        With the other dimensions of ``new`` and ``component``; lazy for Dask's chunks.

    Raises
    ------
    DataError
        For other cells, infinity, and for missing values if the components were fitted with
        ``missing="error"``, the default.

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
    grid, field = _Grid.of_results(ds), _checked(new)
    cells = grid.base.dims
    dims = tuple(dim for dim in field.dims if dim not in cells)
    if set(field.dims) != {*dims, *cells}:
        needed = f"but needs {_listed((*dims, *cells))}."
        raise DataError(f"{_whose(field)} has the dimensions {_listed(field.dims)}, {needed}")
    table = _columns(_flat(_aligned(field, grid.base, "new"), dims, cells), grid.used)
    samples, k = _without(field, cells, dims), ds.sizes[COMPONENT]
    projection = grid.projection(ds, scoring=True)
    holes = projection.incomplete is not None
    try:
        rows = as_rows(table, estimator="project", check_finite=False, expected=Expected(holes=holes))
        scores = rows.mapped(projection.scores, k, holes=holes).reshape((*samples.shape, k))
    except DataError as error:
        raise grid.explained(error, table, samples, INCOMPLETE) from None
    return _labelled(scores, samples, ds[COMPONENT]).rename("scores").assign_attrs(ds["scores"].attrs)


def inverse(ds: Dataset, n_components: int | None = None, *, scores: DataArray | None = None) -> DataArray:
    """Return the fields that components and scores stand for, in units of the data.

    Parameters
    ----------
    ds : Dataset
        As :func:`pca` returns it, or as read from a file.
    n_components : int, optional
        Use the first ones only.
    scores : DataArray, optional
        Scores in place of those in ``ds``, as of :func:`project`; those of some components, such as
        ``ds.scores.sel(component=[2])``, give what these contribute.

    Returns
    -------
    DataArray
        ``mean + divisor * sum(scores * components)``. It is NaN where the fitted fields always were, and the
        mean where the weight is 0.

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
    grid = _Grid.of_results(ds)
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
    values = grid.projection(ds.sel({COMPONENT: labels})).back(np.asarray(scores).reshape(-1, len(labels)))
    full = grid.on_grid(values, grid.rest).reshape(samples.shape + grid.base.shape)
    field = _labelled(full, samples, grid.base).assign_attrs(grid.base.attrs)
    return field.rename(ds.attrs.get("variable"))


# ------------------------------------------------ cells as columns, and back


@dataclass(frozen=True, eq=False)
class _Grid:
    """The cells of the fields.

    Attributes
    ----------
    base : DataArray
        The grid, with its coordinates and the attributes of the fields.
    used : ndarray of bool, shape (d,)
        Cells that take part.
    rest : ndarray of shape (d,)
        Means of the other cells; NaN where they have no value.
    """

    base: DataArray
    used: BoolArray
    rest: FloatArray

    @classmethod
    def of_results(cls, ds: Dataset) -> _Grid:
        """Return the grid of what :func:`pca` returned."""
        if "rank" not in getattr(ds, "attrs", ()) or "components" not in ds:
            raise InputTypeError("ds is not what gramian.connect.xarray.pca returns.", "Pass its result.")
        return cls(ds["mean"], np.isfinite(ds["divisor"].values).ravel(), as_float64(ds["mean"]).ravel())

    def on_grid(self, values: Any, elsewhere: float | FloatArray = 0.0) -> Any:
        """Return values (..., m) of the cells that take part on the grid; cells without a value are NaN."""
        if not self.used.all():
            full = np.empty((*values.shape[:-1], self.used.size), values.dtype)
            full[...] = np.where(np.isnan(self.rest), np.nan, elsewhere)
            full[..., np.flatnonzero(self.used)] = values
            values = full
        return values.reshape((*values.shape[:-1], *self.base.shape))

    def at_cells(self, values: DataArray) -> AnyArray:
        """Return a result at the cells that take part, shape (..., m)."""
        outer = values.shape[: values.ndim - self.base.ndim]
        cells: AnyArray = _columns(values.values.reshape(*outer, -1), self.used)
        return cells

    def projection(self, ds: Dataset, *, scoring: bool = False) -> LinearProjection:
        """Return the map to scores (``scoring``), or from them."""
        directions, center, divisor = (self.at_cells(ds[name]) for name in ("components", "mean", "divisor"))
        k, variances, incomplete = int(ds.attrs["rank"]), ds["explained_variance"].values, None
        deviations = np.sqrt(variances) if ds.attrs["whiten"] else None
        if scoring and ds.attrs["missing"] != "error":
            imputing = np.where(np.arange(k) < ds.attrs["imputing_components"], variances[:k], 0.0)
            noise, strength = float(ds.attrs["noise_variance"]), float(ds.attrs["imputing_regularization"])
            method = str(ds.attrs["missing"])
            incomplete = NormalModel(
                directions[:k], imputing, noise, center, divisor, method, strength, center
            )
        return LinearProjection(directions, center, divisor, deviations, k, incomplete)

    def explained(self, error: DataError, table: Any, samples: DataArray, advice: str) -> DataError:
        """Return an error that names the first time and cell without a value, if these are the reason.

        ``advice`` is for missing values, and empty where these are imputed.
        """
        holes = as_rows(table, check_finite=False, limit=memory_limit_bytes(None)).holes()
        if holes is None or not (holes.infinite or advice):
            return error
        row, column = holes.first_infinite if holes.infinite else holes.first[0]
        where = ", ".join(filter(None, [_place(samples, row), self.place(column)]))
        if holes.infinite:
            what = counted(holes.infinite, "value is infinite", "values are infinite")
            return DataError(f"{what}, the first at {where}.", "Replace it, or leave out such cells.")
        what = counted(holes.missing, "value is", "values are")
        share = f"{len(holes.by_row):,} of {counted(len(table), 'sample')}"
        return MissingValuesError(
            f"{what} missing in {share}, at cells that take part, the first at {where}.", hint=advice
        )

    def place(self, column: int) -> str:
        """Return the coordinates of a cell that takes part."""
        return _place(self.base, int(np.flatnonzero(self.used)[column]))


def _checked(da: Any) -> DataArray:
    """Return fields of real numbers, in which missing values are NaN."""
    with needs("xarray", "xarray", "PCA of fields on a grid"):
        import xarray
    if not isinstance(da, xarray.DataArray):
        hint = 'Pass xarray\'s DataArray: ds["sst"], or ds.to_stacked_array("cell", ["time"]) for several.'
        raise InputTypeError(f"The fields are a {type(da).__name__}.", hint)
    if da.dtype.kind not in "iufb":
        raise DataError(f"{_whose(da)} holds {da.dtype}, not real numbers.", "Convert it.")
    if COMPONENT in da.dims:
        raise DataError(f"{_whose(da)} has a dimension {COMPONENT!r}, as results have.", "Rename it.")
    few = da.isel(dict.fromkeys(da.dims[:1], 0)) if is_dask(da.data) else da
    for code in (np.asarray(da.attrs[key]) for key in CODES if key in da.attrs):
        rounded = code.astype(few.dtype) if {few.dtype.kind, code.dtype.kind} == {"f"} else code
        if code.dtype.kind in "iuf" and code.size == 1 and (few == rounded.item()).any():
            hint = f"Make it NaN: xarray.decode_cf(ds), or da.where(da != {code.item():g})."
            what = f"{code.item():g}, which its attributes name as a missing value."
            raise DataError(f"{_whose(da)} holds {what}", hint)
    return da


def _sample_dims(field: DataArray, sample_dim: Any) -> tuple[Hashable, ...]:
    dims = tuple(sample_dim) if isinstance(sample_dim, list | tuple) else (sample_dim,)
    if not dims or not set(dims) <= set(field.dims):
        lacks = f"is not among the dimensions of the data: {_listed(field.dims)}"
        raise ParameterError("sample_dim", sample_dim, lacks, "Name that of the samples.")
    n = math.prod(field.sizes[dim] for dim in dims)
    if n < 2:
        few = f"has {counted(n, 'sample')} along {_listed(dims)}, but components need two."
        raise DataError(f"{_whose(field)} {few}", "Pass more, or another sample_dim.")
    return dims


def _grid(field: DataArray, dims: tuple[Hashable, ...], weights: Any) -> tuple[_Grid, Any, FloatArray]:
    """Return the cells of fields, the values as a table of those that take part, and their weights."""
    cells = tuple(dim for dim in field.dims if dim not in dims)
    base, table = _without(field, dims, cells), _flat(field, dims, cells)
    weight, empty = _weight(weights, base), _empty_columns(table)
    if empty.all():
        raise DataError(f"{_whose(field)} has no value in any cell: all are NaN.", "Pass data with values.")
    if np.isnan(weight[~empty]).any() or not weight[~empty].any():
        what = "is NaN at cells that have values" if weight[~empty].any() else "is 0 at all cells with values"
        raise ParameterError("weights", allowed=what)
    used, rest = ~empty & (weight > 0), np.full(len(weight), np.nan)
    aside = np.flatnonzero(~empty & (weight == 0))
    if len(aside):
        rest[aside] = np.asarray(np.nanmean(table[:, aside], axis=0, dtype=np.float64))
    return _Grid(base, used, rest), _columns(table, used), weight[used]


def _scale(scale: Any, grid: _Grid) -> str | FloatArray | None:
    """Return ``scale`` of PCA."""
    if scale is None or isinstance(scale, str):
        return None if scale is None else check_choice("scale", scale, ("unit",))
    divisor = _cells(scale, grid.base, "scale")[grid.used]
    if not (divisor > 0).all():
        raise ParameterError("scale", allowed="must be positive at all cells that take part")
    return divisor


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
    for rows in slices(len(table), SEARCHED):
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
    """Return a number for each cell from a DataArray."""
    if not hasattr(value, "dims"):
        word = {"weights": "coslat", "scale": "unit"}[parameter]
        raise ParameterError(parameter, value, f"must be {word!r}, a DataArray or None")
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
    model: PCA, scores: AnyArray, grid: _Grid, samples: DataArray, options: dict[str, str]
) -> Dataset:
    """Return what a fit found as a Dataset."""
    import xarray

    k, base = int(model.n_components_), grid.base
    unit, is_scaled = base.attrs.get("units"), options["scale"] != "none"
    of_scores = "1" if is_scaled else unit
    center, divisor, cells = as_float64(model._center), model._host_divisor, base.dims
    divisor = np.ones(len(center)) if divisor is None else divisor
    directions, name = grid.on_grid(np.asarray(model.components_)), base.name or "the field"
    result = {
        "components": _variable([COMPONENT, *cells], directions, f"components of {name}", "1"),
        "mean": (cells, grid.on_grid(center, grid.rest), base.attrs),
        # With a name here, the patterns that are a product of three would have that of the third.
        "divisor": _variable(cells, grid.on_grid(divisor, np.inf), None, unit if is_scaled else "1"),
    }
    dims = [*samples.dims, COMPONENT]
    result["scores"] = _variable(dims, scores.reshape(*samples.shape, k), "scores", of_scores)
    result |= _of_components(model, of_scores)
    coordinates = [array.coords.to_dataset() for array in (samples, base)]
    coords = xarray.merge(coordinates, compat="override").coords
    attrs = {
        "headline": field_pattern(model, as_float64(scores), grid.place, samples.ndim == 1)
    } | _attributes(model, options)
    if base.name:
        attrs["variable"] = str(base.name)
    return xarray.Dataset(result, coords, attrs).assign_coords({COMPONENT: np.arange(1, k + 1)})


def _variable(dims: Sequence[Hashable], values: Any, long_name: str | None, units: Any = None) -> Any:
    """Return a variable of a Dataset."""
    attributes = {"long_name": long_name, "units": units}
    return dims, values, {key: value for key, value in attributes.items() if value is not None}


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


def _attributes(model: PCA, options: dict[str, str]) -> dict[str, Any]:
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


def _said(value: Any) -> str:
    """Return an option as text."""
    return "none" if value is None else value if isinstance(value, str) else "given"


def _place(grid: DataArray, cell: int) -> str:
    """Return the coordinates of a place on a flattened grid."""
    numbers = zip(grid.dims, np.unravel_index(cell, grid.shape), strict=True)
    values = [(dim, grid.indexes[dim][i] if dim in grid.indexes else i) for dim, i in numbers]
    return ", ".join(f"{dim}={f'{at:.6g}' if isinstance(at, float) else at}" for dim, at in values)


def _whose(field: DataArray) -> str:
    return repr(field.name) if field.name else "The field"


def _listed(names: Iterable[Hashable]) -> str:
    return listed(map(str, names)) or "none"
