"""Arrays of HDF5 and MATLAB files: which is meant, what it becomes, and files that are damaged."""

import gzip
import io
import sys
from contextlib import suppress
from itertools import product

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from gramian.errors import DataError, FileError, MemoryLimitError, MissingExtraError, ParameterError
from gramian.tables.scan import Scan, scan
from helpers import existing

X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = np.array(["u", "v", "u", "w"])


def write_h5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            text = array.dtype.kind == "U"
            file.create_dataset(name.replace("__", "/"), data=array.astype(object) if text else array)


def write_mat73(path, **arrays):
    """Write as MATLAB does: a block of its own before the HDF5 file, and the axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
        file["words"] = np.zeros((1, 4), np.uint16)
        file["words"].attrs["MATLAB_class"] = np.bytes_("char")
        file["#refs#/a"] = np.eye(2)
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")


def test_datasets_of_hdf5(tmp_path):
    path = tmp_path / "x.h5"
    write_h5(path, train__data=X, train__target=Y, test__data=X[:2], note=np.float64(3))
    for key in ("train/data", "/train/data"):
        table = scan(f"{path}::{key}", rows="1:", labels_from=f"{path}::train/target").read()
        np.testing.assert_array_equal(table.values, X[1:])
        assert table.values.dtype == np.float32
        assert table.labels.tolist() == ["v", "u", "w"]
    with pytest.raises(DataError, match=r"holds note \(single float64\), test/data \(2 x 3 float32\),"):
        scan(path).read()
    with pytest.raises(DataError, match=r"\. It holds note \(single float64\), test/data \(2 x 3"):
        scan(f"{path}::data").read()
    with pytest.raises(DataError, match=r"holds 4 text\. A table has real numbers and two axes, rows"):
        scan(f"{path}::train/target").read()
    write_h5(tmp_path / "one.hdf5", a__b=X)
    assert scan(tmp_path / "one.hdf5").read().notes == (
        "array 'a/b' was read, the only table in the archive",
    )
    assert scan(io.BytesIO((tmp_path / "one.hdf5").read_bytes())).read().values.shape == (4, 3)


def test_variables_of_matlab_and_damaged_files(tmp_path):
    savemat(tmp_path / "old.mat", {"X": X, "y": np.arange(4), "c": {"a": 1}}, do_compression=True)
    savemat(tmp_path / "four.mat", {"X": X, "y": np.arange(4)}, format="4")
    write_mat73(tmp_path / "new.mat", X=X, y=np.arange(4.0)[:, None])
    for name in ("old", "four", "new"):
        path = tmp_path / f"{name}.mat"
        table = scan(f"{path}::X", labels_from=f"{path}::y").read()
        np.testing.assert_array_equal(table.values, X)
        assert table.labels.tolist() == [0, 1, 2, 3]
        with pytest.raises(DataError, match=r"t64\)\. Choose one, as in"):
            scan(path).read()
    savemat(tmp_path / "s.mat", {"S": sparse.csc_matrix(X)})
    np.testing.assert_array_equal(scan(tmp_path / "s.mat").read().values, X)
    assert scan(io.BytesIO((tmp_path / "s.mat").read_bytes())).read().values.shape == (4, 3)
    path = tmp_path / "x.mat"
    savemat(
        path, {"S": sparse.csc_matrix(np.triu(np.arange(16.0).reshape(4, 4))), "X": X, "c": {"a": "text"}}
    )
    whole = path.read_bytes()
    for place in range(132, len(whole) - 4, 96):
        path.write_bytes(whole[:place] + b"\xff\xff\xff\x7f" + whole[place + 4 :])
        with suppress(DataError, FileError):
            scan(f"{path}::X").read()
    path.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(FileError, match=r"x\.mat is no \.mat file, or damaged, or too large"):
        scan(path).read()


def test_numbers_in_other_files(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(range(48)))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", (3, 2), dtype="f8", external=[(str(tmp_path / "secret"), 0, 48)])
    with pytest.raises(DataError, match="/X stores its numbers in other files, which is not"):
        scan(tmp_path / "x.h5").read()


def test_damaged_files_and_matrices_that_lack_something(tmp_path):
    write_h5(tmp_path / "x.h5", X=np.zeros((99, 9)))
    write_mat73(tmp_path / "new.mat", X=np.zeros((99, 9)))
    for name in ("x.h5", "new.mat"):
        data = (tmp_path / name).read_bytes()
        for keep in (3, 150, len(data) - 200):
            (tmp_path / name).write_bytes(data[:keep])
            with pytest.raises(FileError, match=r"truncated|no \.mat file"):
                scan(tmp_path / name).read()
        (tmp_path / name).write_bytes(b"x,y\n1,2\n" * 99)
        with pytest.raises(FileError, match=r"of another kind|no \.mat file"):
            scan(tmp_path / name).read()
    path = tmp_path / "x.h5ad"
    for place, value in [("obs/_index", ["a"]), ("var/_index", ["a"] * 9), ("obs/depth", [1, 2])]:
        write_h5ad(path, X)
        with h5py.File(path, "a") as file:
            del file[place]
            file[place] = np.array(value, dtype=object if place.endswith("index") else int)
        with pytest.raises(FileError, match=r"damaged or .*X is \(4, 3\), with "):
            scan(path, label="depth").read()
    # What points outside of the matrix would be written there, where other things are.
    for part, value in [("indices", 99), ("indices", -5), ("indptr", 99)]:
        write_h5ad(path, sparse.csr_matrix(X))
        with h5py.File(path, "a") as file:
            file[f"X/{part}"][1] = value
        with pytest.raises(FileError, match="damaged"):
            scan(path).read()
    write_h5ad(path, X)
    with pytest.raises(ParameterError, match="is no column of obs of"):
        scan(path, label="knd").read()
    with pytest.raises(ParameterError, match=r"has no such column\. Did you mean"):
        scan(path, drop="gene9").read()
    write_h5(path, X=X)
    with pytest.raises(FileError, match="cannot be read: it is truncated, damaged or protected, or"):
        scan(path).read()
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(FileError, match="truncated"):
        scan(path).read()


def test_what_takes_more_memory_than_there_may_be(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", (10**7, 10**5), "f4", chunks=(1000, 1000))
    with pytest.raises(MemoryLimitError, match=r"takes 4 TB, and .* may be used\. Save a part of it"):
        scan(tmp_path / "x.h5").read()
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "100 kB")
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 50_000))
    with pytest.raises(MemoryLimitError, match=r"when it is unpacked, takes .* kB, and 100 kB of memory"):
        scan(tmp_path / "x.csv.gz").read()
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "1 MB")
    write_h5ad(tmp_path / "x.h5ad", sparse.csr_matrix((40, 10_000), dtype=np.float64))
    with pytest.raises(MemoryLimitError, match=r"holds 40 x 10000 float64, which takes 3\.2 MB, and 1 MB of"):
        scan(tmp_path / "x.h5ad").read()
    assert scan(tmp_path / "x.h5ad", rows="2:3").read().values.shape == (1, 10_000)
    with h5py.File(tmp_path / "x.h5ad", "a") as file:
        del file["var/_index"]
        file["var"].create_dataset("_index", 10**9, h5py.string_dtype(), chunks=1000)
    with pytest.raises(MemoryLimitError, match="/var/_index holds 1000000000 text, which takes 64 GB, and"):
        scan(tmp_path / "x.h5ad").read()


def test_what_is_not_installed_is_named(tmp_path, monkeypatch):
    write_h5(tmp_path / "x.h5", X=X)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match=r"reading HDF5 files needs h5py, which is not installed\."):
        scan(tmp_path / "x.h5").read()


def write_h5ad(path, X, n=4, kinds=("u", "v")):
    with h5py.File(path, "w") as file:
        if sparse.issparse(X):
            group = file.create_group("X")
            group.attrs.update({"encoding-type": f"{X.format}_matrix", "shape": X.shape})
            group.update({name: getattr(X, name) for name in ("data", "indices", "indptr")})
        else:
            file["X"] = X
        for name, index, columns in (("obs", "cell", ["kind", "depth"]), ("var", "gene", [])):
            group = file.create_group(name)
            group.attrs.update(
                {"_index": "_index", "column-order": np.array(columns, dtype=h5py.string_dtype())}
            )
            length = X.shape[0 if name == "obs" else 1]
            group["_index"] = np.array([f"{index}{place}" for place in range(length)], dtype=object)
        file["obs/kind/categories"] = np.array(kinds, dtype=object)
        file["obs/kind/codes"] = np.array([0, 1, -1, 0], np.int8)
        file["obs/depth"] = np.arange(4)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_annotated_matrices(tmp_path, kind):
    path = tmp_path / "x.h5ad"
    write_h5ad(path, kind(X))
    table = scan(path, label="kind", rows="1:", columns="gene2,gene0").read()
    np.testing.assert_array_equal(table.values, X[1:, [2, 0]])
    assert table.labels.tolist() == ["v", "", "u"]
    assert table.row_names == ("cell1", "cell2", "cell3")
    assert table.feature_names == ("gene2", "gene0")
    assert scan(path, label="depth", drop="gene1").read().labels.tolist() == [0, 1, 2, 3]
    assert scan(path, id="depth").read().row_names == ("0", "1", "2", "3")
    known = scan(io.BytesIO(path.read_bytes()), label="kind").read()  # by its content
    assert (known.feature_names, known.labels.tolist()) == (("gene0", "gene1", "gene2"), ["u", "v", "", "u"])
    if sparse.issparse(kind(X)):
        assert scan(path).read().notes == ("the sparse matrix X (92% non-zero) was made dense",)


def test_real_archives(data_dir):
    usps = existing(data_dir, "digits", "usps.h5")
    table = scan(f"{usps}::test/data", labels_from=f"{usps}::test/target").read()
    assert (table.values.shape, len(set(table.labels))) == ((2007, 256), 10)
    faces = scan(existing(data_dir, "faces", "olivettifaces.mat"), transpose=True).read()
    assert (faces.values.shape, faces.values.dtype) == ((400, 4096), np.uint8)


def moved_elsewhere(path, part, how, elsewhere):
    """Move a part of a file to another one, as HDF5 has three ways to do."""
    with h5py.File(path, "a") as file, h5py.File(elsewhere, "w") as other:
        file.copy(file[part], other, "part")
        shape, kind = other["part"].shape, other["part"].dtype
        del file[part]
        if how == "link":
            file[part] = h5py.ExternalLink(str(elsewhere), "/part")
        elif how == "external":
            file.create_dataset(part, shape, kind, external=[(str(elsewhere), 0, h5py.h5f.UNLIMITED)])
        else:
            layout = h5py.VirtualLayout(shape, kind)
            layout[:] = h5py.VirtualSource(str(elsewhere), "part", shape)
            file.create_virtual_dataset(part, layout)


@pytest.mark.parametrize("how", ["external", "virtual", "link"])
def test_no_part_of_an_annotated_matrix_is_read_from_another_file(tmp_path, how):
    path = tmp_path / "x.h5ad"
    dense, texts = ("X", "obs/depth"), ("obs/_index", "var/_index", "obs/kind/categories")
    for part in (*dense, "obs/kind/codes", "X/data", "X/indices", "X/indptr", *texts):
        if how == "external" and part in texts:  # HDF5 keeps no text of any length in external files
            continue
        write_h5ad(path, sparse.csr_matrix(X) if "/" in part and part.startswith("X") else X)
        moved_elsewhere(path, part, how, tmp_path / "secret")
        # A sparse matrix beyond the limit is refused as such, wherever its parts are.
        ways = (Scan.read,) if part.startswith("X/") else (Scan.read, lambda asked: asked.open(1))
        for read, label in product(ways, ("kind", "depth")):
            if part.startswith("obs/") and label not in part and "_index" not in part:
                continue
            with pytest.raises(DataError, match=r", which is not supported\. Copy"):
                read(scan(path, label=label))


def test_of_a_large_dataset_only_the_rows_asked_for_are_read(tmp_path, monkeypatch):
    values = np.random.default_rng(0).standard_normal((40_000, 6)).astype(">f4")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("rows", data=values, chunks=(100, 6))
        file.create_dataset("flags", data=values > 0, chunks=(100, 6))
        file.create_dataset("pictures", data=values.reshape(-1, 2, 3))
    monkeypatch.setattr("gramian.tables.formats.hdf5.READ_WHOLE", 1000)
    read = []
    opened = type(tmp_path).open

    class Counting(io.FileIO):
        def readinto(self, into):
            read.append(super().readinto(into))
            return read[-1]

    def counting(path, mode):
        return Counting(path) if path.suffix == ".h5" else opened(path, mode)

    for name, rows in product(("rows", "flags", "pictures"), ("::5000", "3:39999:7", "-50:", "5:9")):
        for columns in (None, "4,0") if name != "pictures" else (None,):
            asked = scan(f"{tmp_path}/x.h5::{name}", rows=rows, columns=columns)
            expected = asked.read()
            with monkeypatch.context() as patched:
                patched.setattr(type(tmp_path), "open", counting)
                read.clear()
                result = asked.open(4 << 20)
            np.testing.assert_array_equal(result.values, expected.values)
            for fact in ("row_numbers", "column_numbers", "picture_shape", "notes"):
                assert getattr(result, fact) == getattr(expected, fact)
            # Beside the chunks the index of them is read.
            assert sum(read) < 100_000 or rows == "3:39999:7"
    assert sum(read) > 0
