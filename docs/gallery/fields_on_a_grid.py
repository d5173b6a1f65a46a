"""
Fields on a grid: patterns, bars of error and a pair
====================================================

A made field of the sea surface has a standing wave, a wave that travels east, and noise. Land has no
values. Which patterns does PCA (EOF analysis) find, and which of them can be read one by one?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray

import gramian.connect.xarray

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

ratio, two = ds.explained_variance_ratio, 2 * ds.explained_variance_ratio_error
figure, ax = plt.subplots()
for group in np.unique(ds.group):
    own = ds.group == group
    ax.errorbar(ds.component[own], ratio[own], two[own], fmt="_", label=f"group {group}")
ax.set(xlabel="component", ylabel="ratio of the variance", yscale="log")
ax.legend()

# %%

print(ds.attrs["sampling"])

# %%
# Patterns in kelvin, for a score of one standard deviation. PC1 is the standing wave. PC2 and PC3 are the
# travelling one, a quarter of a wave apart: read the two together.


def maps(patterns, names):
    """Draw maps one below the other."""
    most = float(abs(patterns).max())
    figure, axes = plt.subplots(len(patterns), sharex=True, layout="constrained")
    for ax, pattern, name in zip(axes, patterns, names, strict=True):
        field = pattern.transpose("lat", "lon")
        cells = ax.pcolormesh(field.lon, field.lat, field, cmap="RdBu_r", vmin=-most, vmax=most)
        ax.set(title=name, ylabel="lat")
    axes[-1].set_xlabel("lon")
    figure.colorbar(cells, ax=axes, label="K")


patterns = ds.components * ds.divisor * ds.explained_variance**0.5
maps(patterns.sel(component=[1, 2, 3]), ["PC1", "PC2", "PC3"])

# %%
# The score of PC1 is the index that made the field, up to its sign; those of the pair are a sine and a
# cosine.

made = index.ravel() / index.std() * float(ds.explained_variance[0]) ** 0.5
sign = np.sign(np.corrcoef(made, ds.scores[:, 0])[0, 1])
figure, ax = plt.subplots()
ax.plot(time, ds.scores[:, 0], label="score of PC1")
ax.plot(time, sign * made, "--", label="made")
ax.set_ylabel("K")
ax.legend()

# %%
# ``inverse`` returns fields: here three components keep the waves and leave the noise out.

rebuilt = gramian.connect.xarray.inverse(ds, 3)
float((rebuilt - sst).std()), float(sst.std("time").mean())
