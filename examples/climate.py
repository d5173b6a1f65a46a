"""EOF analysis of a made field of the sea surface: patterns, errors, a file, new months and a rotation.

python examples/climate.py [--out FOLDER]

Replace ``made_field`` by ``xarray.open_dataset("your.nc")["your variable"]``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import xarray

import gramian.connect.xarray

MONTHS, NEW = 360, 24


def made_field(months: int = MONTHS + NEW) -> xarray.DataArray:
    """Return monthly values with an annual cycle, a standing and a travelling wave, noise, and land."""
    rng = np.random.default_rng(0)
    lat, lon = np.arange(-87.5, 90, 5), np.arange(2.5, 360, 5)
    y, x, month = np.deg2rad(lat)[:, None], np.deg2rad(lon), np.arange(months)[:, None, None]
    index = np.convolve(rng.standard_normal(months + 11), np.ones(12) / 12**0.5, "valid")[:, None, None]
    values = 288 - 30 * y**2 + 5 * np.sin(y) * np.cos(2 * np.pi * month / 12)
    values = values + 1.5 * index * np.exp(-((y / 0.25) ** 2)) * np.cos(x - 3.5)
    values = values + np.cos(4 * x - 2 * np.pi * month / 30) * np.exp(-(((y + 0.7) / 0.25) ** 2))
    values = values + 0.4 * rng.standard_normal(values.shape)
    coords = {"time": pd.date_range("1990-01-01", periods=months, freq="MS"), "lat": lat, "lon": lon}
    sst = xarray.DataArray(values.astype(np.float32), coords, name="sst", attrs={"units": "K"})
    land = ((sst.lon > 20) & (sst.lon < 60) & (sst.lat > -30)) | ((sst.lon > 280) & (sst.lon < 310))
    return sst.where(~land)


def main(out: Path) -> xarray.Dataset:
    """Analyse the field, print what was found, and write the results."""
    out.mkdir(parents=True, exist_ok=True)
    sst = made_field()
    climatology = sst.isel(time=slice(MONTHS)).groupby("time.month").mean()
    anomalies = (sst.groupby("time.month") - climatology).drop_vars("month")
    fitted, new = anomalies.isel(time=slice(MONTHS)), anomalies.isel(time=slice(MONTHS, None))

    ds = gramian.connect.xarray.pca(fitted, weights="coslat", n_components=6)
    print("PC  ratio (standard error)  group")
    for k in ds.component.values:
        one = ds.sel(component=k)
        ratio, error = float(one.explained_variance_ratio), float(one.explained_variance_ratio_error)
        print(f"{k:2d}  {ratio:.3f} ({error:.3f})           {int(one.group)}")
    print(ds.attrs["sampling"])
    print(ds.attrs["certificate"].splitlines()[0])

    ds.to_netcdf(out / "eof.nc", engine="scipy")  # "netcdf4" is as good
    with xarray.open_dataset(out / "eof.nc", engine="scipy") as again:
        scores = gramian.connect.xarray.project(again, new)
        rebuilt = gramian.connect.xarray.inverse(again, scores=scores)
        explained = 1 - float(((new - rebuilt) ** 2).sum() / (new**2).sum())
        print(f"New months: {scores.sizes['time']}, of whose variance 6 components explain {explained:.1%}")

    return ds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path("gramian-demo/climate"), help="where the file goes")
    main(parser.parse_args().out)
