"""Scientists' files that are read block by block: HDF5 and .h5ad in chunks, sparse matrices."""

import io
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.io import netcdf_file

from gramian import PCA, KernelPCA, scan
from gramian.errors import DataError, FileError, GramianError, MemoryLimitError
from gramian.tables.as_rows import as_rows

LIMIT = 24_000_000  # a quarter of it is less than each dense file


def table(n=12_000, d=150, dtype="f4", offset=3.0):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, 12)) * 0.7 ** np.arange(12)) @ rng.standard_normal((12, d)) + offset
    return (X + 0.01 * rng.standard_normal((n, d))).astype(dtype)


def counts(n=9000, d=700, share=0.05):
    rng = np.random.default_rng(1)
    X = sparse.random(n, d, share, format="csr", random_state=rng, dtype="f4")
    X.data = np.round(1 + 9 * X.data)
    return sparse.csr_matrix(X.multiply(1 + 4.0 * (np.arange(d) < 6) * (np.arange(n) % 7 < 2)[:, None]))


def save_annotated(path, X, **options):
    """Lay out what ``anndata.AnnData(X, obs, var).write_h5ad`` does."""
    n, d = X.shape
    with h5py.File(path, "w") as file:
        for name, length, prefix in (("obs", n, "cell"), ("var", d, "gene")):
            frame = file.create_group(name)
            frame.attrs.update({"_index": "_index", "encoding-type": "dataframe"})
            frame.attrs["column-order"] = np.array(
                ["kind"] if name == "obs" else [], dtype=h5py.string_dtype()
            )
            frame["_index"] = [f"{prefix}{i}" for i in range(length)]
        file["obs"]["kind"] = np.arange(n) % 3
        if sparse.issparse(X):
            group = file.create_group("X")
            group.attrs.update({"encoding-type": f"{X.format}_matrix", "shape": X.shape})
            for part in ("data", "indices", "indptr"):
                group.create_dataset(part, data=getattr(X, part), **options)
        else:
            file.create_dataset("X", data=X, **options)
    return path


def agree(file, array, rel=1e-5):
    assert file.certificate_.ok
    assert file.explained_variance_ == pytest.approx(array.explained_variance_, rel=rel)
    assert np.abs(file.components_ - array.components_).max() < 1e-3
    assert np.abs(file._center - array._center).max() < 1e-6 * np.abs(array._center).max()


LAYOUTS = {
    "one piece": {},
    "rows": {"chunks": (500, 150), "compression": "gzip", "compression_opts": 1},
    "tiles": {"chunks": (700, 40), "compression": "lzf", "shuffle": True},
    "automatic": {"compression": "gzip", "compression_opts": 1},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.walk
def test_a_dataset_gives_what_its_array_gives(layout, tmp_path):
    X = table()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("group/X", data=X, **LAYOUTS[layout])
        file["y"] = np.zeros(len(X))
    path = scan(f"{tmp_path}/x.h5::group/X")
    rows = as_rows(path, limit=LIMIT)
    assert not rows.free_to_revisit
    for part in (slice(0, 3), slice(495, 1605), slice(11_990, 12_000)):
        assert np.array_equal(rows.block(part).values, X[part])
    model = PCA(4, random_state=0, memory_limit=LIMIT).fit(path)
    agree(model, PCA(4, random_state=0).fit(X))
    assert model.plan_.bytes < LIMIT
    new = scan(f"{tmp_path}/x.h5::group/X", rows="100:11000")
    assert np.allclose(model.transform(new), model.transform(X[100:11_000]), atol=1e-4)
    some = as_rows(scan(f"{tmp_path}/x.h5::group/X", columns=["7", "0"], label="3"), limit=LIMIT)
    assert not some.free_to_revisit
    assert np.array_equal(some.block(slice(5, 9)).values, X[5:9, [7, 0]])
    assert np.array_equal(some.table.labels, X[:, 3])


def test_every_chunk_is_unpacked_once_in_a_pass(tmp_path, monkeypatch):
    from gramian.engine.centered import center_rows
    from gramian.tables.stored import ChunkedRows

    X = table()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", data=X, **LAYOUTS["tiles"])
    read, made = [], ChunkedRows.read_rows
    monkeypatch.setattr(
        ChunkedRows, "read_rows", lambda self, *batch: read.append(batch) or made(self, *batch)
    )
    rows = as_rows(scan(tmp_path / "x.h5"), limit=LIMIT)
    read.clear()
    center_rows(rows, center=True, scale=None, ddof=1)
    assert sorted(read) == [(first, min(first + 1400, 12_000)) for first in range(0, 12_000, 1400)]
    with ThreadPoolExecutor(4) as pool:
        parts = [slice(i, i + 37) for i in range(0, 11_000, 371)]
        for part, result in zip(parts, pool.map(rows.__getitem__, parts), strict=True):
            assert np.array_equal(result, X[part])


def test_chunks_and_counts_that_are_refused_with_what_to_do(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", data=table(), chunks=(12_000, 10))
    with pytest.raises(MemoryLimitError, match="is stored in chunks of 12000 x 10: reading a row takes"):
        PCA(2, memory_limit=LIMIT).fit(scan(tmp_path / "x.h5"))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name in ("barcodes", "data", "indices", "indptr", "shape"):
            file[f"matrix/{name}"] = np.arange(4)
    with pytest.raises(DataError, match=r"holds matrix/barcodes \(4 int64\), matrix/data \(4 int64\),"):
        scan(tmp_path / "x.h5").read()


@pytest.mark.parametrize("damage", ["bytes", "changed"])
def test_a_dataset_that_breaks_is_named_with_its_rows(damage, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=table(), chunks=(500, 150), compression="gzip", fletcher32=True)
    content = bytearray(path.read_bytes())
    if damage == "bytes":
        middle = len(content) // 2
        content[middle : middle + 99] = bytes(99)
        path.write_bytes(content)
    rows = as_rows(path, limit=LIMIT, check_finite=False)
    rows.block(slice(0, 5))
    if damage == "changed":
        path.write_bytes(content + b"more")
    message = "damaged" if damage == "bytes" else "was changed while it was read"
    with pytest.raises(FileError, match=rf"x.h5, rows [\d,]+ to [\d,]+.* {message}"):
        PCA(2).fit(rows)


def test_annotated_dense_data_keeps_its_names(tmp_path):
    X = table()
    path = save_annotated(tmp_path / "x.h5ad", X, chunks=(300, 150), compression="gzip", compression_opts=1)
    source = scan(path, drop="gene3,gene70", label="kind", rows="10:")
    kept = np.delete(X[10:], (3, 70), axis=1)
    rows = as_rows(source, limit=LIMIT)
    assert not rows.free_to_revisit
    assert rows.row_names[0] == "cell10"
    assert rows.table.labels[:3].tolist() == [1, 2, 0]
    model = PCA(3, random_state=0, memory_limit=LIMIT).fit(source)
    agree(model, PCA(3, random_state=0).fit(kept))
    assert model.feature_names_in_[3] == "gene4"
    # Other columns too, in another order: found by name.
    scores = (np.delete(X, (3, 70), axis=1) - model.mean_) @ model.components_.T
    assert np.allclose(model.transform(path), scores, atol=1e-4)
    assert PCA(3, random_state=0).fit(source).explained_variance_ == pytest.approx(model.explained_variance_)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_annotated_sparse_data_comes_into_memory_as_such(form, tmp_path):
    X = counts()
    path = save_annotated(tmp_path / "x.h5ad", X.asformat(form), chunks=True, compression="lzf")
    rows = as_rows(path, limit=12_000_000)
    assert rows.skips_zeros
    assert (rows.in_memory() != X).nnz == 0
    assert rows.feature_names[:2] == ("gene0", "gene1")
    agree(PCA(4, random_state=0).fit(rows), PCA(4, random_state=0).fit(X.toarray().astype("f8")))
    with pytest.raises(MemoryLimitError, match=r"x\.h5ad::X, a sparse matrix, needs .* MB, and 3 MB"):
        as_rows(path, limit=3_000_000)


def test_sparse_data_that_is_refused_as_in_memory(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((1, 900_000)))
    with pytest.raises(DataError, match=r"holds 1 row, and a minimum of 2 is required by PCA\. Give"):
        PCA(1, memory_limit="20MB").fit(tmp_path / "x.npy")
    X = counts()
    X.indices[200_000] = 5000
    path = save_annotated(tmp_path / "x.h5ad", X)
    with pytest.raises(FileError, match=r"cannot be read: it is .* damaged"):
        PCA(2).fit(as_rows(path, limit=12_000_000))
    X.indptr[5] = 10**6
    with pytest.raises(FileError, match=r"cannot be read: it is .* damaged"):
        as_rows(save_annotated(path, X), limit=12_000_000)
    X = counts()
    parts = {"format": b"csr", "data": X.data, "indices": X.indices, "indptr": X.indptr}
    np.savez(tmp_path / "x.npz", shape=[9000.5, 700.0], **parts)
    with pytest.raises(FileError, match=r"cannot be read: it is .* damaged"):
        as_rows(tmp_path / "x.npz", limit=12_000_000)


def test_a_sparse_npz_is_sparse_rows_of_a_possible_size(tmp_path):
    X = counts(300, 40)
    for form in ("csr", "csc", "coo"):
        sparse.save_npz(tmp_path / "x.npz", X.asformat(form))
        rows = as_rows(scan(tmp_path / "x.npz"))
        assert rows.skips_zeros
        assert (rows.in_memory() != X).nnz == 0
    some = scan(tmp_path / "x.npz", rows="5:90", columns="3,1", label="7").read()
    assert np.array_equal(some.values.toarray(), X.toarray()[5:90, [3, 1]])
    assert np.array_equal(some.labels, X.toarray()[5:90, 7])
    agree(PCA(3, random_state=0).fit(scan(tmp_path / "x.npz")), PCA(3, random_state=0).fit(X.toarray()))
    assert scan(tmp_path / "x.npz", transpose=True).read().values.shape == (40, 300)
    X.data[5] = np.nan
    sparse.save_npz(tmp_path / "x.npz", X)
    with pytest.raises(DataError, match=r'Input X contains NaN: row 1, column 25\. Use missing="em"'):
        scan(tmp_path / "x.npz", missing="mean").read()
    X = counts(300, 40)
    X = sparse.csr_matrix(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=(300, 10**12)
    )
    sparse.save_npz(tmp_path / "x.npz", X)
    for data, model in (
        (X, KernelPCA(2)),
        (tmp_path / "x.npz", PCA(2)),
        (tmp_path / "x.npz", PCA(2, memory_limit=12_000)),
        (scan(tmp_path / "x.npz", columns="0:3"), PCA(2)),
    ):
        with pytest.raises(MemoryLimitError, match="is a sparse matrix of 300 x 1,000,000,000,000: a"):
            model.fit(data)


# ---- netCDF: classic files by SciPy, netCDF 4 as h5py writes dimension scales


LAT, LON, TIMES = np.linspace(-60, 60, 7), np.arange(0, 360, 30.0), 40
LAND = (slice(2, 4), slice(3, 6))


def field():
    rng = np.random.default_rng(0)
    wave = np.cos(np.deg2rad(LAT))[:, None] * np.sin(np.deg2rad(LON))
    return 15 + rng.standard_normal((TIMES, 1, 1)) * wave + 0.1 * rng.standard_normal((TIMES, 7, 12))


def packed(values):
    """Return a field in 1/100 of a degree from 15, with a code on land, and its attributes."""
    stored = np.round((values - 15) / 0.01).astype("i2")
    stored[:, *LAND] = -32768
    return stored, {
        "scale_factor": np.float64(0.01),
        "add_offset": np.float64(15),
        "_FillValue": np.int16(-32768),
    }


def save_classic(path, stored, attrs, units="days since 1990-01-01", records=True, level=False):
    with netcdf_file(path, "w") as file:
        sizes = {"time": None if records else TIMES, "level": 1, "lat": 7, "lon": 12, "nv": 2}
        for name, size in sizes.items():
            file.createDimension(name, size)
        edges = np.stack([LAT - 5, LAT + 5], axis=1)
        others = {"time": np.arange(TIMES) * 30.0, "lat": LAT, "lon": LON, "edges": edges}
        for name, values in others.items():
            dims = ("lat", "nv") if name == "edges" else (name,)
            file.createVariable(name, "d", dims)[:] = values
        file.variables["time"].units, file.variables["lat"].bounds = units, "edges"
        dims = ("time", "level", "lat", "lon") if level else ("time", "lat", "lon")
        variable = file.createVariable("sst", stored.dtype.newbyteorder(">"), dims)
        variable[:] = stored[:, None] if level else stored
        for name, value in attrs.items():
            setattr(variable, name, value)
    return path


def save_netcdf4(path, stored, attrs, **options):
    with h5py.File(path, "w") as file:
        variable = file.create_dataset("sst", data=stored, **options)
        variable.attrs.update(attrs)
        for axis, (name, values) in enumerate(
            {"time": np.arange(TIMES) * 30.0, "lat": LAT, "lon": LON}.items()
        ):
            file[name] = values
            file[name].make_scale(name)
            variable.dims[axis].attach_scale(file[name])
        file["time"].attrs["units"] = "days since 1990-01-01"
    return path


@pytest.mark.parametrize("kind", ["classic", "records between others", "level", "4", "4 in chunks"])
@pytest.mark.parametrize("limit", [None, 40_000])
def test_a_field_in_netcdf_is_decoded_and_named_by_its_times(tmp_path, kind, limit):
    (stored, attrs), path = packed(field()), tmp_path / "sst.nc"
    if kind.startswith("4"):
        save_netcdf4(
            path, stored, attrs, **({"chunks": (2, 3, 5), "compression": "gzip"} if "c" in kind else {})
        )
    else:
        save_classic(path, stored, attrs, records="records" in kind, level=kind == "level")
    table = scan(path).open(limit)
    expected = stored * 0.01 + 15
    expected[:, *LAND] = 0
    assert isinstance(table.values, np.ndarray) == (limit is None)
    np.testing.assert_array_equal(table.values[:].reshape(TIMES, 7, 12), expected)
    assert table.picture_shape == (7, 12)
    assert [*table.axes] == ["lat", "lon"]
    assert table.row_names[:3] == ("1990-01-01", "1990-01-31", "1990-03-02")
    assert "6 cells have no value at any time" in table.notes[1]
    uploaded = scan(io.BytesIO(path.read_bytes())).read()
    np.testing.assert_array_equal(uploaded.values, expected)
    some = scan(path, rows="5:20").open(limit)
    np.testing.assert_array_equal(some.values[:].reshape(15, 7, 12), expected[5:20])
    model, memory = PCA(2).fit(scan(path)), PCA(2).fit(expected)
    np.testing.assert_allclose(
        model.transform(scan(path, rows="5:20")), memory.transform(expected[5:20]), atol=1e-12
    )


def test_a_cloud_in_a_field_is_no_land(tmp_path):
    stored, attrs = packed(field())
    model = PCA(2).fit(scan(save_classic(tmp_path / "sst.nc", stored, attrs)))
    stored[3, 0, 0] = -32768
    path = save_classic(tmp_path / "new.nc", stored, attrs)
    for read in (PCA(2).fit, model.transform):
        with pytest.raises(DataError, match=r"row 3 \(named '1990-04-01'\), column 0\. "):
            read(scan(path))
    assert PCA(2, missing="em").fit(scan(path)).imputed_.rows.tolist() == [3]


@pytest.mark.parametrize(
    ("units", "calendar", "name"),
    [
        ("hours since 2000-1-1 06:00:00.0", "", "2000-01-01T06:00:00"),
        ("days since 1-1-1", "", None),
        ("days since 1990-01-01", "noleap", None),
        ("months since 1990-01-01", "standard", None),
        ("days since 1990-13-01", "standard", None),
    ],
)
def test_only_times_of_the_usual_calendar_name_rows(tmp_path, units, calendar, name):
    path = save_classic(tmp_path / "sst.nc", field(), {}, units)
    with netcdf_file(path, "a") as file:
        file.variables["time"].calendar = calendar
    names = scan(path).read().row_names
    assert names is None if name is None else names[0] == name


def test_unsigned_bytes_and_codes_of_floats_are_read_as_meant(tmp_path):
    values = np.arange(TIMES * 84).reshape(TIMES, 7, 12) % 250
    path = save_classic(tmp_path / "u.nc", values.astype("u1").view("i1"), {"_Unsigned": b"true"})
    np.testing.assert_array_equal(scan(path).read().values, values)
    codes = np.where(values == 7, 1e20, values).astype("f4")
    path = save_classic(tmp_path / "f.nc", codes, {"missing_value": 1e20})
    with pytest.raises(DataError, match="values are missing"):
        scan(path).read()


def test_what_is_no_whole_netcdf_file_is_an_error_in_a_sentence(tmp_path):
    path = save_classic(tmp_path / "sst.nc", *packed(field()))
    data = path.read_bytes()
    cases = {
        data[: len(data) // 2]: "truncated, damaged",
        data[:60]: "truncated, damaged",
        b"CDF\5" + data[4:]: "version CDF-5, which is not supported. Write it as netCDF 4",
        b"x,y\n1,2\n": "truncated, damaged",
        b"\x89HDF\r\n": "truncated, damaged",
    }
    for damaged, why in cases.items():
        (tmp_path / "bad.nc").write_bytes(damaged)
        with pytest.raises(FileError, match=why):
            scan(tmp_path / "bad.nc").read()
    with pytest.raises(
        DataError, match=r"no array 'x'\. It holds .*lat \(7 float64\), .*sst \(40 x 7 x 12 float64\)"
    ):
        scan(f"{path}::x").read()
    rng = np.random.default_rng(0)
    for _ in range(200):
        hostile = bytearray(data)
        for place in rng.integers(0, 700, rng.integers(1, 6)):
            hostile[place] = rng.integers(256)
        (tmp_path / "bad.nc").write_bytes(hostile)
        with suppress(GramianError):
            scan(tmp_path / "bad.nc::sst").read()
