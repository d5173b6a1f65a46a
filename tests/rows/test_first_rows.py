"""A plan reads the first rows of a file, estimates how many follow, and writes nothing."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather
from pyarrow import parquet as pq

from gramian import PCA, KernelPCA, scan
from gramian.errors import MissingValuesError
from gramian.rows.formats import parquet, text
from gramian.rows.lazy import spool
from gramian.rows.scan import first_rows

LIMIT = 300_000  # bytes: a table of more than a quarter stays on disk
SHAPE = (4000, 5)


@pytest.fixture
def small_sample(monkeypatch):
    """Take few rows, and raise where a temporary file is made."""
    monkeypatch.setattr(text, "SAMPLE_BYTES", 16384)
    monkeypatch.setattr(text, "_SAMPLE_PIECE", 256)
    monkeypatch.setattr(parquet, "_MOST", 16384)
    with monkeypatch.context() as patched:
        patched.setattr(spool.tempfile, "TemporaryFile", pytest.fail)
        yield


@pytest.fixture
def numbers():
    return np.random.default_rng(0).integers(10, 100, SHAPE)  # lines of equal length


def as_csv(values, path, packed=False):
    lines = ["a,b,c,d,e", *(",".join(map(str, row)) for row in values.tolist())]
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@pytest.mark.usefixtures("small_sample")
def test_the_plan_of_a_large_text_is_that_of_all_its_rows(numbers, tmp_path):
    path = as_csv(numbers, tmp_path / "x.csv")
    assert path.stat().st_size > 3 * text.SAMPLE_BYTES
    for model in PCA(2), KernelPCA(3, kernel="rbf"):
        assert model.plan(path) == model.plan(numbers.astype(float)), model
    np.save(tmp_path / "x.npy", numbers.astype(float))
    stored, model = scan(tmp_path / "x.npy").open(LIMIT), PCA(2, solver="covariance")
    assert not stored.in_memory
    assert model.plan(first_rows(scan(path)).open(LIMIT)) == model.plan(stored)
    weights = np.ones(len(numbers))  # of each row: so all are read
    assert PCA(2).plan(path, sample_weight=weights) == PCA(2).plan(
        numbers.astype(float), sample_weight=weights
    )


@pytest.mark.usefixtures("small_sample")
def test_the_size_is_estimated_and_said(numbers, tmp_path, monkeypatch):
    path, small = as_csv(numbers, tmp_path / "x.csv"), as_csv(numbers[:50], tmp_path / "small.csv")
    table = first_rows(scan(path)).open(LIMIT)
    assert table.values.shape == SHAPE
    assert table.notes == ("about 4,000 rows: estimated from the first 16.4 kB of the file",)
    table = first_rows(scan(small)).open(LIMIT)
    assert np.array_equal(table.values, numbers[:50])
    assert table.notes == ()

    uneven = as_csv(numbers ** (1 + numbers % 5), tmp_path / "uneven.csv")
    assert abs(len(first_rows(scan(uneven)).open(LIMIT).values) - 4000) < 100
    # Of so little packed text, zlib reads ahead.
    monkeypatch.setattr(text, "SAMPLE_BYTES", 1 << 18)
    packed = as_csv(np.tile(numbers, (10, 1)), tmp_path / "x.csv.gz", packed=True)
    assert abs(len(first_rows(scan(packed)).open(LIMIT).values) - 40_000) < 6000


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("limit", [LIMIT, 1 << 30])
def test_options_give_the_shape_that_reading_gives(numbers, tmp_path, limit):
    path = as_csv(numbers, tmp_path / "x.csv")
    for options in (
        {"drop": "b"}, {"label": "e"}, {"rows": "100:"}, {"rows": "-1000::3", "columns": "e,a"},
        {"weights": "c"}, {"transpose": True}, {"transpose": True, "rows": ":3000", "missing": "mean"},
    ):  # fmt: skip
        expected = scan(path, **options).read()
        table = first_rows(scan(path, **options)).open(limit)
        assert table.values.shape == expected.values.shape, options
        assert table.in_memory == (8 * expected.values.size <= limit // 4)
        assert (table.weights is None) == (expected.weights is None)
        if table.feature_names is not None:
            assert table.feature_names == expected.feature_names
        assert np.isfinite(table.values[:]).all()


@pytest.mark.usefixtures("small_sample")
def test_columnar_files_know_their_rows(numbers, tmp_path):
    table = pa.table(dict(zip("abcde", numbers.T, strict=True)))
    pq.write_table(table, tmp_path / "x.parquet")
    feather.write_feather(table, tmp_path / "x.feather")
    for name in "x.parquet", "x.feather":
        opened = first_rows(scan(tmp_path / name, drop="a")).open(LIMIT)
        assert opened.values.shape == (4000, 4)
        assert opened.notes == ()
        assert np.array_equal(opened.values[:200], numbers[:200, 1:])


@pytest.mark.usefixtures("small_sample")
def test_missing_values_of_the_first_rows_count(numbers, tmp_path):
    values = numbers.astype(object)
    values[::4, 1] = "NA"
    path = as_csv(values, tmp_path / "x.csv")
    assert abs(len(first_rows(scan(path, missing="drop-rows")).open(LIMIT).values) - 3000) < 5
    assert first_rows(scan(path, missing="drop-columns")).open(LIMIT).values.shape == (4000, 4)
    with pytest.raises(MissingValuesError, match="row 0"):
        PCA(2).plan(scan(path, missing="error"))


def test_arrays_and_data_in_memory_are_as_they_are(numbers, tmp_path):
    np.save(tmp_path / "x.npy", numbers)
    assert first_rows(numbers) is numbers
    assert first_rows(scan(tmp_path / "x.npy")).open(LIMIT).values.path == tmp_path / "x.npy"
    K = np.cov(numbers[:300])
    path = tmp_path / "k.csv"
    np.savetxt(path, K, delimiter=",")
    assert KernelPCA(2, kernel="precomputed").plan(path) == KernelPCA(2, kernel="precomputed").plan(K)
