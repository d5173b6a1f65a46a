"""Arrays of Zarr stores give what arrays in memory give, or say what is wrong with them."""

import io
import json
import sys

import numpy as np
import pytest

from gramian import PCA, scan
from gramian.errors import (
    DataError,
    FileError,
    GramianError,
    MemoryLimitError,
    MissingExtraError,
    ParameterError,
)

zarr = pytest.importorskip("zarr", reason='needs pip install "gramian[cluster]"')

X = np.random.default_rng(0).standard_normal((3000, 20)).astype("f4") + 3
SMALL = 400_000  # bytes of memory of which a quarter holds no table, but a band of chunks


@pytest.fixture
def store(tmp_path):
    zarr.create_array(tmp_path / "x.zarr", data=X, chunks=(70, 12))
    return tmp_path / "x.zarr"


def test_pca_reads_a_store_as_an_array_and_names_damaged_chunks(store):
    expected = PCA(3, solver="krylov").fit(X).explained_variance_
    np.testing.assert_array_equal(PCA(3, solver="krylov").fit(store).explained_variance_, expected)
    table = scan(store).open(SMALL)
    assert not isinstance(table.values, np.ndarray)
    np.testing.assert_array_equal(table.values[65:1000, 3:14], X[65:1000, 3:14])
    chosen = scan(store, columns="5,0", label="7", rows="10:2900").open(SMALL)
    np.testing.assert_array_equal(chosen.values[0:2890], X[10:2900, [5, 0]])
    np.testing.assert_array_equal(chosen.labels, X[10:2900, 7])
    (store / "c/3/1").write_bytes((store / "c/3/1").read_bytes()[:100])
    for limit in (SMALL, 1 << 30):
        with pytest.raises(FileError, match=r"x.zarr, rows [0-9]+ to [0-9,]+ cannot be read: it is"):
            scan(store).open(limit).values[0:300]
    (store / "c/3/1").unlink()
    for limit in (SMALL, 1 << 30):
        with pytest.raises(FileError, match="rows 210 to 279: the chunk c/3/1 is not there; the store"):
            scan(store).open(limit).values[0:300]


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.filterwarnings("ignore:.*Zarr format 3 specification:UserWarning")
def test_arrays_of_a_group_are_told_apart(tmp_path, consolidated):
    group = zarr.open_group(tmp_path / "g", mode="w")
    options = {"shards": (1500, 20), "chunks": (100, 20), "compressors": None}
    # Zarr 3.0 loses chunks of shards that create_array writes itself.
    group.create_array("a/x", shape=X.shape, dtype=X.dtype, **options)[:] = X
    zarr.create_array(group.store, name="a/faces", data=X.reshape(-1, 4, 5), chunks=(100, 2, 5))
    zarr.create_array(group.store, name="a/old", data=X > 3, chunks=(70, 20))
    zarr.create_array(group.store, name="names", shape=(3000,), dtype=str, chunks=(3000,))
    if consolidated:
        zarr.consolidate_metadata(group.store)
    for limit in (SMALL, 1 << 30):
        table = scan(f"{tmp_path}/g::a/x").open(limit)
        np.testing.assert_array_equal(table.values[0:3000], X)
        faces = scan(f"{tmp_path}/g::a/faces", rows="5:2000").open(limit)
        assert faces.picture_shape == (4, 5)
        np.testing.assert_array_equal(np.reshape(faces.values[0:1995], (1995, 20)), X[5:2000])
        np.testing.assert_array_equal(scan(f"{tmp_path}/g::a/old").open(limit).values[0:3000], X > 3)
    with pytest.raises(DataError, match=r"/g holds a/faces \(3000 x 4 x 5 float32\), a/old \(3000 x 20"):
        scan(tmp_path / "g").read()
    with pytest.raises(DataError, match=r"/g::names holds 3000 text\. A table has real numbers and"):
        scan(f"{tmp_path}/g::names").read()


def test_what_is_no_store_of_numbers_is_refused(store, tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"\. It holds x \(3000 x 20 float32\)\."):
        scan(f"{store}::y").read()
    zarr.create_array(tmp_path / "long.zarr", data=X, chunks=(3000, 20))
    with pytest.raises(MemoryLimitError, match="is stored in chunks of 3000 x 20: reading a row takes 240"):
        scan(tmp_path / "long.zarr").open(SMALL)
    (tmp_path / "pictures").mkdir()
    with pytest.raises(ParameterError, match=r"::NAME chooses one array or sheet of a file of \.xlsx,"):
        scan(f"{tmp_path}/pictures::x")
    old = zarr.create_array(tmp_path / "old.zarr", data=X, zarr_format=2, filters=None)
    np.testing.assert_array_equal(scan(tmp_path / "old.zarr").read().values, old[:])
    described = json.loads((tmp_path / "old.zarr/.zarray").read_text())
    for part in ({"compressor": {"id": "pickle"}}, {"filters": [{"id": "pickle"}]}):
        (tmp_path / "old.zarr/.zarray").write_text(json.dumps(described | part))
        with pytest.raises(GramianError, match="pickle"):
            scan(tmp_path / "old.zarr").read()
    (store / "zarr.json").write_text("{")
    with pytest.raises(FileError, match="truncated, damaged or protected"):
        scan(store).read()
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(MissingExtraError, match=r"reading Zarr stores needs zarr, which is not installed\."):
        scan(store).read()


def test_a_store_in_a_zip_file_is_known_by_its_content(tmp_path):
    faces = X.reshape(-1, 4, 5)
    for name in ("x.zarr", "g.zarr.zip"):
        with zarr.storage.ZipStore(tmp_path / name, mode="w") as store:
            group = zarr.open_group(store, mode="w")
            zarr.create_array(group.store, name="a/x", data=X, chunks=(70, 12))
            zarr.create_array(group.store, name="faces", data=faces, chunks=(100, 4, 5))
        for limit in (SMALL, 1 << 30):
            table = scan(f"{tmp_path}/{name}::a/x").open(limit)
            assert isinstance(table.values, np.ndarray) == (limit != SMALL)
            np.testing.assert_array_equal(table.values[65:1000, 3:14], X[65:1000, 3:14])
            np.testing.assert_array_equal(table.values[5:90], X[5:90])
            read = scan(f"{tmp_path}/{name}::faces", rows="5:2000").open(limit)
            np.testing.assert_array_equal(np.reshape(read.values[0:1995], (1995, 20)), X[5:2000])
    with zarr.storage.ZipStore(tmp_path / "one.zarr", mode="w") as store:
        zarr.create_array(store, shape=(6, 4), chunks=(2, 4), dtype="f4")[:4] = X[:4, :4]
    with pytest.raises(FileError, match="rows 4 to 5: the chunk c/2/0 is not there; the store may"):
        scan(tmp_path / "one.zarr").read()
    (tmp_path / "text.zarr").write_text("no store")
    with pytest.raises(FileError, match="truncated, damaged or protected, or of another kind"):
        scan(tmp_path / "text.zarr").read()
    with zarr.storage.ZipStore(tmp_path / "b.zarr.zip", mode="w") as store:
        zarr.create_array(store, data=X, chunks=(700, 12))
    with pytest.raises(FileError, match=r"is a Zarr store in a stream, which is not supported\. Save it"):
        scan(io.BytesIO((tmp_path / "b.zarr.zip").read_bytes())).read()
