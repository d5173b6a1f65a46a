"""Rows on fields on a grid: EOF analysis beside xeofs, in memory and in Dask's chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import generators
import numpy as np
import references
from harness.rows import Contender, FloatArray, Outcome, Row
from harness.timing import TimedRow

COMPONENTS, LAND = 10, 0.3
SIZES = {"360x36x72": (360, 36, 72), "3000x180x360": (3000, 180, 360)}
QUICK = (60, 18, 36)
LIMITS = {"360x36x72": 0.5, "3000x180x360": 0.25}
CHUNK, LIMIT = 100, "400MB"  # times in a chunk, and working memory of ours


def rows(quick: bool) -> list[Row]:
    """Return the rows; ``quick`` shrinks them."""
    return [_row(name, QUICK if quick else size) for name, size in SIZES.items()] + [_chunked(quick)]


def field(size: tuple[int, int, int]) -> Any:
    """Return a field of the sea: components that decay about 280, and NaN on land, on a regular grid."""
    import xarray

    n, height, width = size
    values = generators.decaying(n, height * width, 0, 280.0)
    land = np.random.default_rng(1).random(height * width) < LAND
    values[:, land] = np.nan
    coords = {
        "time": np.arange(n),
        "lat": 90 - (np.arange(height) + 0.5) * 180 / height,
        "lon": np.arange(width) * 360 / width,
    }
    return xarray.DataArray(values.reshape(size), coords, name="sst")


def in_chunks(da: Any, step: int) -> Any:
    """Return the field in Dask's chunks, which are views: Dask would copy an array that it is given."""
    import dask.array

    values, (n, height, width) = da.values, da.shape

    def block(block_info: Any = None) -> Any:
        start, stop = block_info[None]["array-location"][0]
        return values[start:stop]

    times = tuple(min(step, n - start) for start in range(0, n, step))
    chunks = times, (height,), (width,)
    return da.copy(data=dask.array.map_blocks(block, chunks=chunks, dtype=values.dtype, name=f"field-{step}"))


def weighted(da: Any) -> FloatArray:
    """Return the table whose variances are decomposed, by the definition."""
    sea = ~np.isnan(da.values[0]).ravel()
    X = da.values.reshape(len(da), -1)[:, sea].astype(np.float64)
    X -= X.mean(axis=0)
    X *= np.sqrt(np.cos(np.deg2rad(np.repeat(da.lat.values, da.sizes["lon"])[sea])))
    return X


def ours(**settings: Any) -> Contender:
    def run(da: Any) -> Any:
        import gramian.connect.xarray

        return gramian.connect.xarray.pca(da, weights="coslat", n_components=COMPONENTS, **settings)

    def outcome(da: Any, ds: Any) -> Outcome:
        vectors = _at_sea(ds.components)
        holds = ds.attrs["certificate"].startswith("Certificate: holds")
        return Outcome(ds.explained_variance.values, vectors, certificate=holds)

    return Contender("gramian.connect.xarray.pca", run, outcome, ours=True, requires="xarray")


def xeofs(name: str = "default", **settings: Any) -> Contender:
    def run(da: Any) -> Any:
        from xeofs.single import EOF

        model = EOF(n_modes=COMPONENTS, use_coslat=True, random_state=0, **settings).fit(da, "time")
        return model.explained_variance(), model.components(), model.scores()

    def outcome(da: Any, result: Any) -> Outcome:
        components = result[1].transpose("mode", "lat", "lon").sel(lat=da.lat)  # which xeofs sorts
        return Outcome(result[0].values, _at_sea(components))

    return Contender(f"xeofs EOF {name}", run, outcome, requires="xeofs")


def _at_sea(components: Any) -> Any:
    table = components.values.reshape(COMPONENTS, -1)
    return table[:, ~np.isnan(table[0])]


def _row(name: str, size: tuple[int, int, int]) -> TimedRow:
    small = name == "360x36x72"
    return TimedRow(
        f"grids-{name}",
        f"EOF analysis, {COMPONENTS} components, weights coslat, {name} float32 with an offset of 280 and "
        f"{LAND:.0%} land; {generators.DECAYING}; peer: EOF of xeofs",
        data=lambda: field(size),
        contenders=(ours(), xeofs(), *([xeofs("full", solver="full")] if small else [])),
        reference=lambda da: references.pca_reference(weighted(da)),
        errors=references.pca_errors,
        tolerances={"eigenvalue": 1e-6},
        ratio=LIMITS[name],
        repeats=15 if small else 3,
    )


def _chunked(quick: bool) -> TimedRow:
    size = QUICK if quick else SIZES["3000x180x360"]
    chunk = size[0] // 3 if quick else CHUNK

    def lazy(contender: Contender) -> Contender:
        inner: Callable[[Any], Any] = contender.run
        return Contender(
            f"{contender.name} in chunks",
            lambda da: inner(in_chunks(da, chunk)),
            contender.outcome,
            ours=contender.ours,
            slow=not contender.ours,
            requires=contender.requires,
        )

    return TimedRow(
        "grids-chunks",
        f"the same as grids-3000x180x360 in Dask's chunks of {CHUNK} times; ours with memory_limit={LIMIT!r}",
        data=lambda: field(size),
        contenders=(lazy(ours(memory_limit=LIMIT)), lazy(xeofs())),
        reference=lambda da: references.pca_reference(weighted(da)),
        errors=references.pca_errors,
        tolerances={"eigenvalue": 1e-6},
        repeats=3,
    )
