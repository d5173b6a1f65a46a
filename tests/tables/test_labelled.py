"""xarray's arrays are tables with the names that they have."""

import numpy as np
import pytest

from gramian import PCA, KernelPCA
from gramian.errors import DataError, InputTypeError

xarray = pytest.importorskip("xarray", reason="xarray is not installed")

rng = np.random.default_rng(0)
VALUES = rng.standard_normal((12, 4))


def array(**options):
    coords = {"time": [f"t{i}" for i in range(12)], "station": list("abcd")}
    return xarray.DataArray(VALUES, dims=("time", "station"), coords=coords, **options)


def test_chunks_of_dask_stay_chunks():
    dask = pytest.importorskip("dask.array")
    X = array()
    model = PCA(2).fit(X.chunk({"time": 5}))
    scores = model.transform(X.chunk({"time": 5})[:, ::-1])
    assert isinstance(scores, dask.Array)
    assert np.allclose(scores, PCA(2).fit_transform(VALUES), rtol=0, atol=1e-12)
    kernel = KernelPCA(2, kernel="rbf").fit(X.chunk({"time": 5}))
    assert kernel.feature_names_in_.tolist() == list("abcd")


def test_names_and_missing_values_are_kept_and_what_is_no_table_refused():
    cube = xarray.DataArray(np.zeros((3, 4, 5)), dims=("time", "lat", "lon"))
    with pytest.raises(DataError, match=r"\), but a table has two: samples, then features\. Stack the"):
        PCA(1).fit(cube)
    with pytest.raises(DataError, match=r",\), but a table has two: samples, then features\."):
        PCA(1).fit(array()[:, 0])
    with pytest.raises(DataError, match=r"\), but rows are the first one and features the second\."):
        PCA(1).fit(xarray.DataArray(VALUES, dims=("feature", "sample")))
    with pytest.raises(InputTypeError, match=r"X is an xarray\.Dataset of several variables\. Pass one,"):
        PCA(1).fit(array().to_dataset(name="v"))
    stacked = xarray.DataArray(rng.standard_normal((6, 2, 3)), dims=("time", "lat", "lon"))
    assert PCA(1).fit(stacked.stack(feature=["lat", "lon"])).components_.shape == (1, 6)
    X = array()
    for model in (PCA(2), KernelPCA(2, kernel="rbf")):
        expected = model.fit(VALUES).transform(VALUES)
        scores = model.fit(X).transform(X.isel(station=[3, 1, 0, 2]))
        assert model.feature_names_in_.tolist() == list("abcd")
        assert np.allclose(scores, expected, rtol=0, atol=1e-12)
    rows = PCA(2).fit(X).table("rows", X)
    assert list(rows.index if hasattr(rows, "index") else rows["name"])[3] == "t3"
    with pytest.raises(DataError, match=r", which the model was fitted on\. Expected: a, b, c, d\."):
        model.transform(X[:, :3])
    X = xarray.DataArray(VALUES, dims=("time", "height"), coords={"height": [1.0, 2.0, 3.0, 4.0]})
    assert PCA(2).fit(X).feature_names_in_.tolist() == ["1.0", "2.0", "3.0", "4.0"]
    assert not hasattr(PCA(2).fit(X.assign_coords(height=range(4))), "feature_names_in_")
    X = array().copy()
    X[0, 0] = np.nan
    assert PCA(2, missing="mean").fit(X).n_missing_ == 1
