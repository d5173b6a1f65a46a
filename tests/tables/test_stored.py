"""Arrays in files that are read block by block: equal to arrays in memory, in less memory, safe."""

import copy
import errno
import os

import numpy as np
import pytest

from gramian import PCA, Whitener, choose_components, scan
from gramian.errors import DataError, FileError, MemoryLimitError
from gramian.tables.as_rows import as_rows
from gramian.tables.stored import StoredRows

LIMIT = 24_000_000  # a quarter of it is less than each of these files


@pytest.fixture
def saved(tmp_path):
    def save(X):
        np.save(tmp_path / "x.npy", X)
        return tmp_path / "x.npy"

    return save


def table(n, d, dtype="f8", order="C", offset=3.0):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, 12)) * 0.7 ** np.arange(12)) @ rng.standard_normal((12, d)) + offset
    return np.asarray(X + 0.01 * rng.standard_normal((n, d)), dtype=dtype, order=order)


@pytest.mark.parametrize(
    ("n", "d", "dtype", "order"),
    [
        (60_000, 40, "f4", "C"),
        (60_000, 40, "f4", "F"),
        (20_000, 40, ">f8", "C"),
        (900, 6000, "f4", "C"),
        (30_000, 300, "u1", "C"),
        (9000, 400, "f2", "C"),
    ],
)
@pytest.mark.walk
def test_a_file_gives_what_its_array_gives(n, d, dtype, order, saved):
    X = np.clip(table(n, d, "f8", offset=30.0), 0, 255).astype(dtype)
    X = np.asarray(X, order=order)
    model = PCA(5, random_state=0, memory_limit=75_000_000 if d > 1000 else LIMIT)
    file, array = model.fit(saved(X)), PCA(5, random_state=0).fit(X)
    assert file.certificate_.ok
    assert file.explained_variance_ == pytest.approx(array.explained_variance_, rel=1e-5)
    C = X.astype("f8") - X.mean(axis=0, dtype="f8")
    exact = np.linalg.eigvalsh(C.T @ C if n > d else C @ C.T)[:-6:-1] / (n - 1)
    assert file.explained_variance_ == pytest.approx(exact, rel=1e-4)
    assert np.abs(file.transform(saved(X)) - file.transform(X)).max() < 1e-4 * np.abs(X).max()
    assert file.mean_.dtype == array.mean_.dtype == file.transform(saved(X)).dtype


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="descriptors have no names here")
def test_a_copy_of_rows_in_a_file_has_a_descriptor_of_its_own(saved):
    X = table(60_000, 40)
    rows = scan(saved(X)).open(LIMIT).values
    assert isinstance(rows, StoredRows)
    twin = copy.deepcopy(rows)
    del rows
    np.testing.assert_array_equal(twin[3:5], X[3:5])


def test_gram_matrices_and_scales_of_a_file(saved, monkeypatch):
    X = table(300, 9000)
    model = PCA(memory_limit=200_000_000, solver="gram")
    rows = as_rows(saved(X), limit=20_000_000)
    assert isinstance(rows, StoredRows)
    assert model.fit(rows).explained_variance_[:12] == pytest.approx(PCA(12).fit(X).explained_variance_)
    assert model.plan_.solver == "gram"
    X = table(20_000, 60) * np.r_[np.full(30, 1e-3), np.full(30, 1e3)]
    file = PCA(5, scale="unit", memory_limit=LIMIT).fit(saved(X))
    assert file.explained_variance_ == pytest.approx(PCA(5, scale="unit").fit(X).explained_variance_)
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", str(LIMIT))
    path = saved(table(20_000, 60))
    white = Whitener().fit(path).transform(path)
    assert np.allclose(np.cov(white.T), np.eye(60), atol=1e-6)


def test_pictures_blocks_and_a_nan_of_a_file(saved):
    X = (table(12_000, 24 * 30, "f8") * 5 + 60).astype("u1").reshape(12_000, 24, 30)
    model = PCA(3, memory_limit=LIMIT).fit(saved(X))
    assert model.component_pictures_.shape == (3, 24, 30)
    assert model.explained_variance_ == pytest.approx(PCA(3).fit(X).explained_variance_, rel=1e-4)
    for order in "CF":
        X = table(50, 7, order=order)
        stored = as_rows(saved(X), limit=400)
        for key in (slice(3, 9), (slice(0, 50), slice(2, 3)), (slice(5, 40), slice(1, 6))):
            assert np.array_equal(stored[key], X[key])
    X = table(20_000, 60)
    X[17_123, 5] = np.nan
    for limit in (LIMIT, None):
        with pytest.raises(DataError, match=r"Input X contains NaN: row 17123, column 5\. Use"):
            PCA(2, memory_limit=limit).fit(saved(X))
    path = saved(table(20_000, 60))
    with pytest.raises(MemoryLimitError, match="This needs all 20,000 rows of"):
        as_rows(path, limit=LIMIT).in_memory()


@pytest.mark.parametrize("refuses", [False, True], ids=["takes advice", "takes none"])
def test_the_system_is_told_once_that_a_file_is_read_in_order(refuses, saved, monkeypatch):
    X, advised = table(60_000, 40, "f4"), []

    def advise(number, start, length, advice):
        advised.append((os.fstat(number).st_size, start, length, advice))
        if refuses:
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "posix_fadvise", advise, raising=False)
    monkeypatch.setattr(os, "POSIX_FADV_SEQUENTIAL", 2, raising=False)
    file = PCA(5, memory_limit=LIMIT).fit(saved(X))
    assert advised == [(X.nbytes + 128, 0, 0, 2)]
    assert file.explained_variance_ == pytest.approx(PCA(5).fit(X).explained_variance_, rel=1e-5)


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_file_that_changes_while_it_is_read_is_named_with_the_rows(damage, saved):
    path = saved(table(20_000, 60))
    rows = as_rows(path, limit=LIMIT)
    rows.block(slice(0, 5))
    if damage == "cut":
        os.truncate(path, 3_000_000)
    else:
        with path.open("r+b") as file:
            file.seek(5000)
            file.write(b"12345678")
        os.utime(path, ns=(1, 1))
    with pytest.raises(FileError, match=r"/x\.npy, rows 0 to 2,183: the file was changed while it"):
        PCA(2).fit(rows)
    if damage == "cut":  # whoever is the first to read what is gone
        with pytest.raises(FileError, match="rows 19,990 to 19,999 are not there: the file was cut off"):
            rows.block(slice(19_990, 20_000))


def test_scans_densities_and_rules_of_a_file(saved):
    X = table(20_000, 60)
    assert not as_rows(scan(saved(X)), limit=LIMIT).free_to_revisit
    assert as_rows(scan(saved(X)), limit=40 * LIMIT).free_to_revisit
    plan = PCA(3, memory_limit=LIMIT).plan(scan(saved(X)))
    assert plan.bytes < LIMIT
    model = PCA(12, memory_limit=LIMIT).fit(saved(X))
    assert model.score(saved(X)) == pytest.approx(PCA(12).fit(X).score(X))
    rules = ["fraction", "gavish-donoho"]
    file, array = (
        choose_components(PCA(memory_limit=limit), data, rules=rules)
        for limit, data in ((LIMIT, saved(X)), (None, X))
    )
    assert str(file) == str(array)
    with pytest.raises(MemoryLimitError, match=r", which copies the data, needs about 28\.8 MB of working"):
        PCA("parallel", memory_limit=LIMIT).fit(saved(X))
