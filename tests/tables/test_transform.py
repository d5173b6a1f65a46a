"""Numbers that are transformed while they are read: in memory, on disk, and as the fitted data were."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import sparse

from gramian import PCA, KernelPCA, Monitor, load, scan
from gramian.errors import DataError, ParameterError
from gramian.tables.stored import StoredRows
from gramian.tables.table import Table
from gramian.tables.treatment import with_transform

COUNTS = np.random.default_rng(0).poisson(3, (400, 5))
PARTS = np.random.default_rng(1).gamma(2.0, size=(400, 5))


def clr(X):
    """The definition: logarithms over the geometric mean of the row (Aitchison 1986)."""
    return np.array([[np.log(x / np.exp(np.mean(np.log(row)))) for x in row] for row in X])


def logcpm(X):
    """The definition: logarithms of one more than the counts per million of the row."""
    return np.array(
        [[np.log(1 + 1e6 * x / sum(row)) if sum(row) else 0.0 for x in row] for row in X.astype(float)]
    )


def write(path, X):
    if path.suffix == ".npy":
        np.save(path, X)
    else:
        frame = pd.DataFrame(X, columns=list("abcde"))
        frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.npy"])
def test_files_in_memory_and_on_disk(tmp_path, name):
    for kind, X, expected in (
        ("log1p", COUNTS.astype(float), np.log1p(COUNTS)),
        ("sqrt", COUNTS.astype(float), np.sqrt(COUNTS)),
        ("logcpm", COUNTS.astype(float), logcpm(COUNTS)),
        ("clr", PARTS, clr(PARTS)),
        ("log", PARTS, np.log(PARTS)),
    ):
        path = write(tmp_path / name, X)
        whole, large = scan(path, transform=kind).read(), scan(path, transform=kind).open(4000)
        assert isinstance(large.values, StoredRows)
        np.testing.assert_allclose(whole.values, expected, atol=1e-12)
        assert large.values[:].tobytes() == whole.values.tobytes()
        assert large.values[30:70, 1:3].tobytes() == np.ascontiguousarray(whole.values[30:70, 1:3]).tobytes()
        assert large.origin.asked == whole.origin.asked
        assert "numbers" in whole.origin.asked[-1] or "counts" in whole.origin.asked[-1]
        # Of chosen columns: the log-ratios are those of these parts alone.
        some = [1, 3]
        part = scan(path, transform=kind, columns="b,d" if name != "x.npy" else "1,3").read()
        of_rows = {"clr": clr, "logcpm": logcpm}
        wanted = of_rows[kind](X[:, some]) if kind in of_rows else expected[:, some]
        np.testing.assert_allclose(part.values, wanted, atol=1e-12)


def test_types_of_numbers_and_missing_values(tmp_path):
    for kind, result in (("u1", "f4"), ("i2", "f4"), ("f4", "f4"), ("i8", "f8"), ("f8", "f8"), ("?", "f4")):
        X = COUNTS.astype(kind)
        np.save(tmp_path / "x.npy", X)
        for how in ("log1p", "sqrt"):
            for table in (
                scan(tmp_path / "x.npy", transform=how).read(),
                scan(tmp_path / "x.npy", transform=how).open(400),
            ):
                assert table.values.dtype == table.values[:].dtype == np.dtype(result), kind
                expected = getattr(np, how)(X.astype(float))
                np.testing.assert_allclose(table.values[:], expected, rtol=3e-7 if result == "f4" else 1e-15)
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\n1,4,\n2,8,2\n1,1,1\n")
    table = scan(path, transform="sqrt", missing="mean").read()
    means = [(2 + np.sqrt(2)) / 3, (3 + np.sqrt(8)) / 3, (1 + np.sqrt(2)) / 2]
    np.testing.assert_allclose(table.missing.means, means)
    # The log-ratios of a row are those of the parts that it has.
    np.testing.assert_allclose(
        scan(path, transform="clr", missing="mean").read().values[0, :2], [-np.log(2), np.log(2)]
    )
    path.write_text("a,b\n1,4\n2,inf\n")
    for how in ("log1p", "clr"):
        with pytest.raises(DataError, match="contains inf"):
            scan(path, transform=how, missing="mean").read()


def test_sparse_matrices_stay_sparse(tmp_path):
    S = sparse.random(50, 9, 0.3, format="csr", random_state=0)
    sparse.save_npz(tmp_path / "s.npz", S)
    for how in ("log1p", "sqrt"):
        values = scan(tmp_path / "s.npz", transform=how).read().values
        assert sparse.issparse(values)
        assert values.nnz == S.nnz
        np.testing.assert_array_equal(values.toarray(), getattr(np, how)(S.toarray()))
    # Two entries in one place are one number.
    twice = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    sparse.save_npz(tmp_path / "t.npz", twice)
    assert scan(tmp_path / "t.npz", transform="log1p").read().values[0, 1] == np.log1p(3.0)
    for how in ("clr", "log"):
        with pytest.raises(ParameterError, match="which has zeros"):
            scan(tmp_path / "s.npz", transform=how).read()
    S.data[40] = -2.0
    row, column = (int(places[40]) for places in S.nonzero())
    sparse.save_npz(tmp_path / "s.npz", S)
    for turned in (False, True):
        where = f"row {column}, column {row}" if turned else f"row {row}, column {column}"
        with pytest.raises(ParameterError, match=f"has -2 in {where}"):
            scan(tmp_path / "s.npz", transform="sqrt", transpose=turned).read()


def test_numbers_without_a_transform_are_named(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name,a,b\nAnn,1,2\nBob,0,3\nCal,4,-1\nDan,1,1\n")
    for how, said in (
        ("clr", r"has 0 in row 1 \(named 'Bob'\), column 'a'. Put a small positive number"),
        ("log", r"has 0 in row 1 \(named 'Bob'\), column 'a'. Put a small positive number"),
        ("log1p", r"has -1 in row 2 \(named 'Cal'\), column 'b'. If it is no count"),
    ):
        with pytest.raises(ParameterError, match=said) as raised:
            scan(path, transform=how).read()
        assert raised.value.parameter == "transform"
    assert scan(path, transform="clr", exclude="Bob,Cal").read().row_names == ("Ann", "Dan")
    assert scan(path, transform="sqrt", drop="b").read().values.tolist() == [[1], [0], [2], [1]]
    with pytest.raises(ParameterError, match="'log1' is not known"):
        scan(path, transform="log1")
    # On disk the pass that meets the number says the same.
    X = PARTS.copy()
    X[333, 2] = 0
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ParameterError, match="has 0 in row 333, column 2"):
        PCA(2).fit(scan(tmp_path / "x.npy", transform="clr").open(4000))


def test_pictures_tables_on_their_side_and_sparse_counts(tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    pictures = np.arange(24).reshape(2, 3, 4).astype(np.uint8)
    for place, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"{place}.png")
    table = scan(folder, transform="log1p").read()
    assert table.picture_shape == (3, 4)
    np.testing.assert_array_equal(table.values, np.log1p(pictures.astype("f4")))
    genes = tmp_path / "g.csv"
    genes.write_text("gene,s1,s2\ng1,1,8\ng2,2,2\n")
    np.testing.assert_allclose(
        scan(genes, transpose=True, transform="clr").read().values, clr([[1, 2], [8, 2]]), atol=1e-15
    )
    X = COUNTS.astype(float)
    X[7] = 0
    for matrix in (sparse.csr_matrix(X), sparse.csc_array(X)):
        values = with_transform(Table(matrix), "logcpm").values
        assert sparse.issparse(values)
        np.testing.assert_allclose(values.toarray(), logcpm(X), atol=1e-12)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_model_transforms_new_files_and_takes_arrays_as_they_are(tmp_path):
    path = write(tmp_path / "x.csv", COUNTS.astype(float))
    new = write(tmp_path / "new.csv", COUNTS[7:19].astype(float))
    for made in (PCA(2), KernelPCA(2, kernel="rbf", gamma=0.1)):
        model = made.fit(scan(path, transform="log1p"))
        assert model.reading_["transform"] == "log1p"
        model.save(tmp_path / "m.gramian")
        model = load(tmp_path / "m.gramian")
        expected = model.transform(np.log1p(COUNTS[7:19]))
        for given in (
            Path(new),
            scan(new),
            scan(new, transform="log1p"),
            scan(new, transform="log1p").read(),
        ):
            np.testing.assert_allclose(model.transform(given), expected, atol=1e-12)
        # Nobody but the file says how: it may have been changed.
        model.reading_["transform"] = "exp"
        with pytest.raises(ParameterError, match="is not known"):
            model.transform(new)
        other = model.transform(scan(new, transform="sqrt"))
        np.testing.assert_allclose(other, model.transform(np.sqrt(COUNTS[7:19])), atol=1e-12)
    watch = Monitor(PCA(2)).fit(scan(path, transform="log1p"))
    of_file, of_array = (watch.statistics(rows).columns for rows in (new, np.log1p(COUNTS[7:19])))
    np.testing.assert_allclose(of_file["T2"], of_array["T2"])
    stream = PCA(2).partial_fit(scan(path, transform="log1p")).partial_fit(new)
    both = np.concatenate([COUNTS, COUNTS[7:19]])
    np.testing.assert_allclose(stream.mean_, np.log1p(both).mean(axis=0))
