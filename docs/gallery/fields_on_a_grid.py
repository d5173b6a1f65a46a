"""
Fields on a grid: patterns, bars of error and a pair
====================================================

A made field of the sea surface has a standing wave, a wave that travels east, and noise. Land has no
values. Which patterns does PCA (EOF analysis) find, and which of them can be read one by one?
"""

import altair as alt
import numpy as np
import pandas as pd
import xarray

import gramian.connect.xarray

alt.data_transformers.disable_max_rows()
rng = np.random.default_rng(0)
lat, lon = np.arange(-57.5, 60, 5), np.arange(2.5, 360, 5)
time = pd.date_range("1990-01-01", periods=360, freq="MS")
month = np.arange(360)[:, None, None]
y, x = np.deg2rad(lat)[:, None], np.deg2rad(lon)

seesaw = np.exp(-((y / 0.25) ** 2)) * np.cos(x - 3.5)
index = np.convolve(rng.standard_normal(371), np.ones(12) / 12**0.5, "valid")[:, None, None]
travelling = 1.2 * np.cos(4 * x - 2 * np.pi * month / 30) * np.exp(-(((y + 0.7) / 0.25) ** 2))
values = (
    290 - 20 * y**2 + 1.2 * index * seesaw + travelling + 0.4 * rng.standard_normal((360, len(lat), len(lon)))
)
land = ((lon > 20) & (lon < 60) & (lat[:, None] > -30)) | ((lon > 280) & (lon < 310) & (lat[:, None] > -40))
sst = xarray.DataArray(values, {"time": time, "lat": lat, "lon": lon}, name="sst", attrs={"units": "K"})
sst = sst.where(~land)

# %%
# One call: ``weights="coslat"`` lets every square kilometre count alike. Cells of land are left out, and come
# back as NaN.

ds = gramian.connect.xarray.pca(sst, weights="coslat", n_components=6)
print(ds.scores.sizes)

# %%
# The bars are two standard errors to each side; North's rule of thumb compares one. PC2 and PC3 overlap, and
# the words say the same: the wave travels, so it needs two patterns, which are arbitrary up to a rotation.

scree = (
    ds[["explained_variance_ratio", "explained_variance_ratio_error", "group"]].to_dataframe().reset_index()
)
scree["low"] = scree.explained_variance_ratio - 2 * scree.explained_variance_ratio_error
scree["high"] = scree.explained_variance_ratio + 2 * scree.explained_variance_ratio_error
axis = alt.X("component:O", axis=alt.Axis(labelAngle=0))
bars = (
    alt.Chart(scree)
    .mark_rule(strokeWidth=2)
    .encode(
        axis,
        alt.Y("low", title="ratio of the variance", scale=alt.Scale(type="log", domain=[0.002, 0.5])),
        alt.Y2("high"),
    )
)
points = (
    alt.Chart(scree)
    .mark_tick(thickness=3, width=14)
    .encode(axis, y="explained_variance_ratio", color="group:N")
)
(bars + points).properties(width=330, height=240)

# %%

print(ds.attrs["sampling"])

# %%
# Patterns in kelvin, for a score of one standard deviation. PC1 is the standing wave. PC2 and PC3 are the
# travelling one, a quarter of a wave apart: read the two together.


def maps(patterns, names):
    """Draw maps one below the other."""
    table = patterns.rename("pattern").to_dataframe().reset_index().dropna()
    table["name"] = table["component"].map(names)
    most = float(abs(table["pattern"]).max())
    return (
        alt.Chart(table)
        .mark_rect()
        .encode(
            alt.X("lon:O", axis=alt.Axis(values=[92.5, 182.5, 272.5], labelAngle=0)),
            alt.Y("lat:O", sort="descending", axis=alt.Axis(values=[-42.5, -2.5, 42.5])),
            alt.Color(
                "pattern", title="K", scale=alt.Scale(scheme="redblue", reverse=True, domain=[-most, most])
            ),
        )
        .properties(width=430, height=150)
        .facet(row=alt.Row("name", title=None))
    )


patterns = ds.components * ds.divisor * ds.explained_variance**0.5
maps(patterns.sel(component=[1, 2, 3]), {1: "PC1", 2: "PC2", 3: "PC3"})

# %%
# The score of PC1 is the index that made the field, up to its sign; those of the pair are a sine and a
# cosine.

made = index.ravel() / index.std() * float(ds.explained_variance[0]) ** 0.5
sign = np.sign(np.corrcoef(made, ds.scores[:, 0])[0, 1])
lines = pd.DataFrame({"time": time, "score of PC1": ds.scores[:, 0], "made": sign * made})
alt.Chart(lines.melt("time")).mark_line().encode(
    x="time", y=alt.Y("value", title="K"), color=alt.Color("variable", title=None)
).properties(width=430, height=180)

# %%
# ``inverse`` returns fields: here three components keep the waves and leave the noise out.

rebuilt = gramian.connect.xarray.inverse(ds, 3)
float((rebuilt - sst).std()), float(sst.std("time").mean())
