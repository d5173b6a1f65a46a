"""PCA of fields on a grid: values by the definition, coordinates, masks, files, and what is refused."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray

from gramian import PCA, scan
from gramian.connect.xarray import inverse, pca, project
from gramian.errors import (
    DataError,
    InputTypeError,
    MissingExtraError,
    MissingValuesError,
    ParameterError,
)
from gramian.report.headline import headline

LAT, LON = np.linspace(-75.0, 75.0, 6), np.arange(0.0, 360.0, 45.0)
TIMES = pd.date_range("2000-01-01", periods=20, freq="MS")
VARIANCES = np.array([9.0, 4.0, 1.0, 0.25])
LAND = np.zeros((6, 8), dtype=bool)
LAND[1, 2:5] = LAND[4, 0] = True
K = 3


def grid(values, **options):
    coords = {"time": TIMES[: len(values)], "lat": LAT, "lon": LON}
    return xarray.DataArray(values, coords, name="sst", attrs={"units": "K"}, **options)


def made(seed=0, offset=280.0):
    """Fields with well separated variances."""
    rng = np.random.default_rng(seed)
    patterns = rng.standard_normal((4, 48))
    values = (rng.standard_normal((20, 4)) * np.sqrt(VARIANCES)) @ patterns + 0.05 * rng.standard_normal(
        (20, 48)
    )
    return (offset + values).reshape(20, 6, 8)


SST = grid(made())
SEA = SST.where(~LAND)


def defined(X, weight, divisor=1.0, k=K):
    """Components, scores, variances and total of a table by the singular value decomposition."""
    C = (X - X.mean(axis=0)) * np.sqrt(weight) / divisor
    _, s, Vt = np.linalg.svd(C, full_matrices=False)
    signs = np.sign(Vt[np.arange(k), np.abs(Vt[:k]).argmax(axis=1)])
    V = Vt[:k] * signs[:, None]
    return V, C @ V.T, s[:k] ** 2 / (len(X) - 1), float((s**2).sum() / (len(X) - 1))


def area(lat=LAT):
    return np.broadcast_to(np.cos(np.deg2rad(lat))[:, None], (len(lat), 8))


def same(one, other, atol=1e-9, but=""):
    for name in one.data_vars.keys() - {but}:
        expected = other[name].transpose(*one[name].dims)
        assert np.allclose(
            one[name].astype(float), expected.astype(float), rtol=0, atol=atol, equal_nan=True
        ), name


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", [("time", "lat", "lon"), ("lat", "lon", "time"), ("lon", "time", "lat")])
def test_results_are_those_of_the_definition_on_the_coordinates(order, dtype):
    ds = pca(SEA.astype(dtype).transpose(*order), weights="coslat", n_components=K)
    sea = ~LAND.ravel()
    X = SST.astype(dtype).values.astype(float).reshape(20, 48)[:, sea]
    V, T, variances, total = defined(X, area().ravel()[sea])
    single = dtype == np.float32
    components = ds.components.transpose("component", "lat", "lon")
    assert np.isnan(components.values[:, LAND]).all()
    assert np.allclose(components.values[:, ~LAND], V, rtol=0, atol=1e-4 if single else 1e-10)
    assert np.allclose(ds.scores, T, rtol=0, atol=2e-3 if single else 1e-9)
    assert np.allclose(ds.explained_variance, variances, rtol=1e-5 if single else 1e-11)
    assert np.allclose(ds.explained_variance_ratio, variances / total, rtol=1e-5 if single else 1e-11)
    assert np.allclose(ds["mean"].transpose("lat", "lon"), SEA.mean("time"), rtol=1e-6, equal_nan=True)
    assert (components.dtype, ds.scores.dtype, ds.explained_variance.dtype) == (dtype, dtype, np.float64)
    for name in ("time", "lat", "lon"):
        assert ds[name].identical(SEA[name])
    assert ds.component.values.tolist() == [1, 2, 3]


def test_standard_errors_and_words_are_those_of_the_sample():
    model = PCA(K).fit(SST.values.reshape(20, 48))
    ds = pca(SST, n_components=K)
    sample = model.sampling_
    assert np.allclose(ds.explained_variance_error, ds.explained_variance * np.sqrt(2 / 19))  # North et al.
    assert np.allclose(ds.explained_variance_ratio_error, sample.ratio_standard_errors)
    assert ds.attrs["sampling"] == sample.brief
    assert ds.attrs["certificate"] == str(model.certificate_)
    assert ds.attrs["certificate"].startswith("Certificate: holds")
    angles, noise = 2 * np.pi * np.arange(400) / 40, np.random.default_rng(0).standard_normal((400, 6, 8))
    travelling = np.cos(angles[:, None, None] - np.deg2rad(LON)) + 0.1 * noise
    pair = pca(xarray.DataArray(travelling, dims=("time", "lat", "lon")), n_components=2)
    assert pair.group.values.tolist() == [1, 1]
    assert "cannot tell PC1 and PC2 apart" in pair.attrs["sampling"]
    uncentred = pca(SST, n_components=K, center=False)  # normal theory does not apply
    assert "group" not in uncentred
    assert uncentred.attrs["sampling"] == ""


def test_units_attributes_and_names_are_kept():
    ds = pca(SST.assign_coords(height=2.0), n_components=2)
    assert (ds.scores.units, ds.explained_variance.units, ds.components.units) == ("K", "K2", "1")
    assert ds["mean"].attrs == SST.attrs
    assert float(ds.scores.height) == float(ds.components.height) == 2.0
    back = inverse(ds)
    assert (back.name, back.attrs, back.dims) == ("sst", {"units": "K"}, ("time", "lat", "lon"))
    scaled = pca(SST, n_components=2, scale="unit")
    assert (scaled.scores.units, scaled.divisor.units) == ("1", "K")
    # Products of factors have no label that is that of one of them.
    assert (ds.components * ds.divisor * np.sqrt(ds.explained_variance)).attrs == {}
    assert scaled.attrs["scale"] == "unit"
    bare = pca(SST.drop_vars(["time", "lat", "lon"]).drop_attrs().rename(None), n_components=2)
    assert "units" not in bare.scores.attrs
    assert inverse(bare).name is None


@pytest.mark.parametrize("options", [{}, {"whiten": True}, {"scale": "unit"}])
def test_fields_come_back_from_their_scores(options):
    ds = pca(SEA, weights="coslat", n_components=19, **options)
    assert np.allclose(inverse(ds), SEA, rtol=0, atol=1e-10, equal_nan=True)
    first = inverse(ds, 2)
    assert np.allclose(first, inverse(ds, scores=ds.scores.sel(component=[1, 2])), equal_nan=True)
    second = inverse(ds, scores=ds.scores.sel(component=2)) - ds["mean"]
    assert np.allclose(second, first - inverse(ds, 1), rtol=0, atol=1e-10, equal_nan=True)
    some = inverse(ds, scores=ds.scores.isel(time=[4]))
    assert np.allclose(some, SEA.isel(time=[4]), rtol=0, atol=1e-10, equal_nan=True)


def test_new_fields_are_projected_in_any_order_of_cells_and_dimensions():
    ds = pca(SEA[:15], weights="coslat", n_components=K)
    new = SST[15:]  # values on land are ignored
    sea = ~LAND.ravel()
    root = np.sqrt(area().ravel()[sea])
    model = PCA(K).fit(SEA[:15].values.reshape(15, 48)[:, sea] * root)
    expected = model.transform(new.values.reshape(5, 48)[:, sea] * root)
    scores = project(ds, new)
    assert np.allclose(scores, expected, rtol=0, atol=1e-9)
    assert scores.dims == ("time", "component")
    assert scores.time.identical(new.time)
    for other in (new[:, ::-1], new.transpose("lon", "lat", "time"), new.roll(lon=3, roll_coords=True)):
        assert np.allclose(project(ds, other).transpose("time", "component"), expected, rtol=0, atol=1e-9)
    assert np.allclose(project(ds, new[2]), expected[2], rtol=0, atol=1e-9)
    members = xarray.concat([new, new + 1], "member")
    assert project(ds, members).sizes == {"member": 2, "time": 5, "component": K}
    assert np.allclose(project(ds, SEA[:15]), ds.scores, rtol=0, atol=1e-9)


def test_a_file_holds_all_that_inverse_and_project_need(tmp_path):
    for options in ({}, {"scale": "unit", "whiten": True}, {"missing": "em"}):
        ds = pca(SEA, weights="coslat", n_components=K, **options)
        ds.to_netcdf(tmp_path / "eof.nc", engine="scipy")
        with xarray.open_dataset(tmp_path / "eof.nc", engine="scipy") as again:
            assert again.attrs == ds.attrs
            assert again.time.equals(ds.time)
            assert np.array_equal(inverse(again, 2), inverse(ds, 2), equal_nan=True)
            assert np.array_equal(project(again, SEA), project(ds, SEA))


def test_sample_dimensions_are_rows():
    members = xarray.concat([SEA, SEA + grid(made(1, 0.0))], "member")
    ds = pca(members, ("member", "time"), n_components=K)
    expected = pca(xarray.concat([members[0], members[1]], "time"), n_components=K)
    assert ds.scores.sizes == {"member": 2, "time": 20, "component": K}
    assert np.allclose(ds.scores.values.reshape(40, K), expected.scores)
    assert np.allclose(ds.components, expected.components, equal_nan=True)
    assert inverse(ds, 1).sizes == {"member": 2, "time": 20, "lat": 6, "lon": 8}
    whole = (SST * 100).round().astype(np.int16)
    ds = pca(whole.drop_vars(["lat", "lon", "time"]), n_components=19)
    assert ds.components.dtype == np.float32  # which holds int16 exactly
    assert np.allclose(inverse(ds), whole, rtol=1e-5)
    assert pca(SST[:2], n_components=1).sizes["component"] == 1
    assert pca(SST[:4]).sizes["component"] == 3  # without a warning of the rank
    assert np.allclose(inverse(pca(SST[:, 0, 0], n_components=1)), SST[:, 0, 0])
    field = SST.copy()
    field[:, 2, 3] = 280.1
    ds = pca(field, scale="unit", n_components=19)
    assert (ds.components[:, 2, 3] == 0).all()
    assert np.allclose(inverse(ds), field)


def test_latitudes_are_known_and_poles_take_no_part():
    expected = pca(SST, weights=np.cos(np.deg2rad(SST.lat)), n_components=K)
    curved = SST.drop_vars(["lat", "lon"]).rename(lat="y", lon="x")
    wide = xarray.DataArray(np.repeat(LAT[:, None], 8, axis=1), dims=("y", "x"))
    fields = [
        SST,
        SST.rename(lat="Latitude"),
        SST.assign_coords(lat=LAT.astype(np.float32)),
        SST.rename(lat="j").assign_coords(j=("j", LAT, {"standard_name": "latitude"})),
        SST.rename(lat="j").assign_coords(j=("j", LAT, {"units": "degrees_north"})),
        SST.rename(lat="j").assign_coords(
            j=("j", np.deg2rad(LAT), {"standard_name": "latitude", "units": "radian"})
        ),
        SST.assign_coords(nav_lat=(("lat", "lon"), wide.values)),  # the dimension counts
        curved.assign_coords(nav_lat=wide),
        SST.stack(cell=("lat", "lon")),
    ]
    for field in fields:
        ds = pca(field, weights="coslat", n_components=K)
        assert np.allclose(ds.scores, expected.scores, rtol=0, atol=1e-5), field.coords
    upside_down = pca(SST[:, ::-1], weights="coslat", n_components=K)
    same(upside_down.sel(lat=LAT), expected)
    lat = np.linspace(-90, 90, 6)
    for kind in (np.float64, np.float32):
        field = SEA.copy().assign_coords(lat=lat.astype(kind))
        field[3, 0, 1] = np.nan  # a missing value where it does not count
        ds = pca(field, weights="coslat", n_components=19)
        assert (ds.components[:, [0, -1]] == 0).all()
        assert np.isinf(ds.divisor[[0, -1]]).all()
        back = inverse(ds)
        assert np.allclose(back[:, 1:-1], SEA[:, 1:-1], rtol=0, atol=1e-5, equal_nan=True)
        assert np.allclose(back[:, [0, -1]], field[:, [0, -1]].mean("time"))
        assert np.allclose(project(ds, field), ds.scores, rtol=0, atol=1e-5)


def test_weights_may_be_missing_at_masked_cells_only():
    weights = xarray.DataArray(np.where(LAND, np.nan, area()), {"lat": LAT, "lon": LON}, ("lat", "lon"))
    expected = pca(SEA, weights="coslat", n_components=K)
    same(pca(SEA, weights=weights[::-1], n_components=K), expected)
    for field, given in [
        (SST, weights),
        (SST, -weights),
        (SST, weights * 0),
        (SST, SST.isel(lat=0, lon=0, drop=True)),
        (SST, "cosine"),
        (SST, np.ones(6)),
        (SST.rename(lat="y"), "coslat"),
        (SST.assign_coords(lat=LAT * 10), "coslat"),
    ]:
        with pytest.raises(ParameterError, match="weights"):
            pca(field, weights=given)


def test_variables_are_stacked_by_xarray():
    rng = np.random.default_rng(3)
    depth = xarray.DataArray(40 * rng.standard_normal((20, 5)), {"time": TIMES}, ("time", "x"))
    both = xarray.Dataset({"sst": SST, "depth": depth}).to_stacked_array("cell", ["time"])
    divisor = xarray.where(both["variable"] == "sst", float(SST.std()), float(depth.std()))
    ds = pca(both, scale=divisor, n_components=K)
    X, divisors = np.hstack([SST.values.reshape(20, 48), depth.values]), np.repeat([1.0, 1.0], [48, 5])
    divisors[:48], divisors[48:] = float(SST.std()), float(depth.std())
    V, T, _, _ = defined(X, 1.0, divisors)
    assert np.allclose(ds.components, V, rtol=0, atol=1e-9)
    assert np.allclose(project(ds, both), T, rtol=0, atol=1e-8)
    assert np.allclose(inverse(pca(both, n_components=19)), X)
    with pytest.raises(InputTypeError, match=r'are a Dataset\. Pass .* ds\.to_stacked_array\("cell"'):
        pca(xarray.Dataset({"sst": SST}))


def test_missing_values_are_those_of_pca_or_named():
    field, sea = SEA.copy(), ~LAND.ravel()
    field[3, 2, 3] = field[7, 0, 0] = field[7, 0, 1] = np.nan
    X = field.values.reshape(20, 48)[:, sea]
    for method in ("mean", "em", "iterative"):
        model = PCA(2, missing=method).fit(X)
        ds = pca(field, n_components=2, missing=method)
        assert np.allclose(ds.scores, model.transform(X), rtol=0, atol=1e-9), method
        assert np.allclose(ds.components.values[:, ~LAND], model.components_, rtol=0, atol=1e-9)
        assert np.allclose(project(ds, field[7]), model.transform(X[[7]])[0], rtol=0, atol=1e-9), method
    model = PCA(2, missing="projection").fit(SST.values.reshape(20, 48)[:, sea])
    ds = pca(SEA, n_components=2, missing="projection")
    assert np.allclose(project(ds, field), model.transform(X), rtol=0, atol=1e-9)
    for given in (field, field.chunk(time=6)):
        with pytest.raises(MissingValuesError, match="3 values are missing in 2 of 20 samples, at cells"):
            pca(given, n_components=2)
    with pytest.raises(MissingValuesError, match="2 values are missing in 1 of 1 sample, at cells that take"):
        project(pca(SEA, n_components=2), field[7])
    gap, far = SEA.copy(), SEA.copy()
    gap[5] = np.nan
    far[5, 0, 0] = np.inf
    for field, options, message in [
        (gap, {}, "44 values are missing in 1 of 20 samples, at cells .*, the first at time=2000-06-01"),
        (gap, {"missing": "em"}, "1 row has no entry at all"),
        (far, {}, "1 value is infinite, the first at time=2000-06-01 00:00:00, lat=-75, lon=0"),
        (SST * np.nan, {}, "has no value in any cell: all are"),
    ]:
        with pytest.raises(DataError, match=message):
            pca(field, n_components=2, **options)


class Recorded:
    """An array that notes the largest part that was read of it at a time."""

    def __init__(self, values):
        self.values, self.most = values, 0
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim

    def __getitem__(self, key):
        part = self.values[key]
        self.most = max(self.most, part.size)
        return part


def test_chunks_give_the_results_of_the_array_and_are_read_one_by_one():
    import dask.array

    lat, unknown = np.linspace(-90, 90, 6), "explained_variance_ratio_error"  # of other eigenvalues
    field = SEA.assign_coords(lat=lat)
    expected = pca(field, weights="coslat", n_components=K, solver="krylov")
    for chunks in ((5, 6, 8), (7, 2, 3), (20, 3, 8)):
        source = Recorded(field.values)
        lazy = field.copy(data=dask.array.from_array(source, chunks=chunks, meta=np.empty((0, 0, 0))))
        ds = pca(lazy, weights="coslat", n_components=K)
        same(ds, expected, but=unknown)
        assert source.most == np.prod(chunks)
        scores = project(ds, lazy)
        assert scores.chunks is not None
        assert np.allclose(scores, expected.scores, rtol=0, atol=1e-9)


def test_fields_that_are_no_samples_of_numbers_are_refused():
    for given, options in [
        (SST[:1], {}),
        (SST.rename(time="t"), {}),
        (SST * 1j, {}),
        (SST.rename(lon="component"), {}),
        (SST, {"feature_weight": 1}),
        (SST, {"scale": "units"}),
        (SST, {"scale": 7.0}),
        (SST, {"scale": -xarray.ones_like(SST[0])}),
        (SST, {"n_components": 30}),
        (SST.where(~LAND, -9.99e33).astype("f4").assign_attrs(_FillValue=np.float64(-9.99e33)), {}),
        (SST.astype(int).where(~LAND, -999).chunk(time=3).assign_attrs(missing_value=[-999]), {}),
    ]:
        with pytest.raises(
            (DataError, ParameterError),
            match=r"as results have|components need|which its|has no|feature_weight|holds|is not|must|but",
        ):
            pca(given, **options)
    with pytest.raises(InputTypeError, match=r"The fields are a ndarray\. Pass xarray"):
        pca(SST.values)
    ds = pca(SST.astype(int).assign_attrs(_FillValue=np.nan, missing_value=1e20), n_components=1)
    assert ds.sizes["component"] == 1


def test_results_and_new_fields_must_belong_together():
    ds = pca(SST, n_components=2)
    for given in (SST.assign_coords(lat=LAT + 1), SST[:, 0], SST.isel(lon=slice(4)).drop_vars("lon")):
        with pytest.raises(
            DataError,
            match=(
                r"than the fields that were fitted:|has the dimensions|" ", but the fields that were fitted"
            ),
        ):
            project(ds, given)
    west = SST.assign_coords(lon=(LON + 180) % 360 - 180)
    other = pca(west.sortby("lon"), n_components=2)
    for results, given in ((ds, west), (other, SST)):
        with pytest.raises(DataError, match=r"write both as x.assign_coords\(lon=x.lon % 360\)"):
            project(results, given)
        results, given = (x.assign_coords(lon=x.lon % 360) for x in (results, given))
        np.testing.assert_allclose(project(results, given), results.scores, atol=1e-9)
    with pytest.raises(InputTypeError, match=r"ds is not what gramian\.connect\.xarray\.pca returns"):
        inverse(SST)
    for options in ({"n_components": 3}, {"scores": ds.scores.assign_coords(component=[1, 7])}):
        with pytest.raises(ParameterError, match=r"n_components=3 must be a whole|scores belong to"):
            inverse(ds, **options)


def test_xarray_loads_when_it_is_needed(monkeypatch):
    code = "import sys, gramian, gramian.connect.xarray; print('xarray' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(MissingExtraError, match="PCA of fields on a grid needs xarray, which is not"):
        pca(SST)


@pytest.mark.filterwarnings("ignore")
def test_values_are_those_of_xeofs():
    xeofs = pytest.importorskip("xeofs", reason="xeofs is in the environment of make bench-fields")
    for own, theirs in (({}, {}), ({"scale": "unit", "ddof": 0}, {"standardize": True})):
        model = xeofs.single.EOF(K, use_coslat=True, random_state=0, solver="full", **theirs).fit(SEA, "time")
        ds = pca(SEA, weights="coslat", n_components=K, **own)
        factor = 20 / 19 if own else 1  # they divide by n in deviations, and by n - 1 in variances
        assert np.allclose(ds.explained_variance * factor, model.explained_variance(), rtol=1e-10)
        assert np.allclose(ds.explained_variance_ratio, model.explained_variance_ratio(), rtol=1e-10)
        scores, components = model.scores().transpose("time", "mode"), model.components()
        signs = xarray.DataArray(np.sign((ds.scores.values * scores.values).sum(axis=0)), dims="mode")
        assert np.allclose(ds.scores, scores * signs, rtol=0, atol=1e-9)
        patterns = (components * signs).transpose("mode", "lat", "lon")
        assert np.allclose(ds.components, patterns, rtol=0, atol=1e-9, equal_nan=True)
        fields = model.inverse_transform(scores)
        assert np.allclose(inverse(ds), fields, rtol=0, atol=1e-8, equal_nan=True)


def test_the_headline_says_what_the_first_pattern_and_its_series_are():
    rng, months = np.random.default_rng(0), np.arange(240)
    phase, noise = 2 * np.pi * months[:, None, None] / 12, 0.3 * rng.standard_normal((240, 6, 8))
    time, wave = pd.date_range("2000-01-01", periods=240, freq="MS"), np.sin(np.deg2rad(LON))
    place, blob = "lat=15, lon=90", np.exp(-((LAT[:, None] - 15) ** 2 + (LON - 90) ** 2) / 5000)
    chance, trend = rng.standard_normal((240, 1, 1)), -months[:, None, None] / 40
    ends = r"lat=-?\d+, lon=(90|270) and lat=-?\d+, lon=(270|90)"
    signals = {
        f"is strongest at {place}; at {place} it repeats after about 12 steps": np.sin(phase) * blob,
        f"is strongest at {place}; at {place} it falls over the whole time": trend * blob,
        "are not told apart by these samples: read them together": 0,
        f"is a contrast between {ends}": chance * wave,
        f"has one sign over 100 % of the cells, strongest at {place}": chance * (2 + blob),
    }
    for said, signal in signals.items():
        da = xarray.DataArray(
            2 * signal + noise, {"time": time, "lat": LAT, "lon": LON}, ("time", "lat", "lon")
        )
        ds = pca(da, n_components=5)
        assert re.fullmatch(rf"PC1.* \(.* of the variance\) {said}\.", ds.attrs["headline"]), ds.attrs[
            "headline"
        ]
    members = da.expand_dims(member=2).copy()
    assert "steps" not in pca(members, ("member", "time")).attrs["headline"]
    assert pca(da, center=False).attrs["headline"] == ""


@pytest.mark.parametrize("kind", ["zarr", "zarr 3", "h5"])
def test_a_fit_of_a_field_in_a_file_has_its_headline(kind, tmp_path):
    blob = np.exp(-((LAT[:, None] - 15) ** 2 + (LON - 90) ** 2) / 5000)
    da = grid(made() + 30 * np.random.default_rng(1).standard_normal((20, 1, 1)) * blob)
    if kind == "h5":  # with scales of dimensions, as netCDF 4 has them
        path, h5py = tmp_path / "field.h5", pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            field = file.create_dataset("sst", data=da.values)
            for axis, values in enumerate((np.arange(20), LAT, LON)):
                scale = file.create_dataset(("time", "lat", "lon")[axis], data=values)
                scale.make_scale()
                field.dims[axis].attach_scale(scale)
    else:
        pytest.importorskip("zarr")
        path = tmp_path / "field.zarr"
        da.to_zarr(path, zarr_format=3 if kind == "zarr 3" else 2, consolidated=False)
    table = scan(f"{path}::sst").read()
    assert [*table.axes] == ["lat", "lon"]
    np.testing.assert_array_equal(table.axes["lat"], LAT)
    model = PCA(K).fit(table)
    found = headline(model, table, model.transform(table))
    assert (found.kind, found.sentences) == ("grid", (pca(da, n_components=K).attrs["headline"],))
    assert "strongest at lat=15, lon=90" in found.sentences[0]
    pictures = replace(table, axes={})
    assert headline(model, pictures, model.transform(pictures)).kind == "pictures"
