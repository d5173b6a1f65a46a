"""Files larger than memory: copied to disk in blocks, and equal to what the whole reader gives."""

import gzip
import itertools
import resource
import sys
import tempfile
import threading
import zipfile

import numpy as np
import pandas
import pyarrow as pa
import pytest
from pyarrow import parquet

from gramian import PCA, KernelPCA, PolynomialMap, scan
from gramian.errors import DataError, FileError, GramianError, MemoryLimitError, ParameterError
from gramian.tables.as_rows import as_rows
from gramian.tables.memory import ArrayRows
from gramian.tables.stored import Spool, StoredRows
from gramian.tables.table import Expected

LIMIT = 4000  # so that blocks have 4 kB, the least


def both(path, expected=None, **options):
    """Compare the table in blocks with the whole one, and return how both were refused, if they were."""
    whole, large = [], []
    for result, read in (
        (whole, lambda: scan(path, **options).read(expected)),
        (large, lambda: scan(path, **options).open(LIMIT, expected)),
    ):
        try:
            result.append(read())
        except GramianError as error:
            result.append(error)
    whole, large = whole[0], large[0]
    if isinstance(whole, GramianError) or isinstance(large, GramianError):
        assert type(whole) is type(large), (whole, large)
        return str(large)
    assert isinstance(large.values, StoredRows) or large.values.nbytes <= LIMIT // 4
    assert large.values[:].tobytes() == np.ascontiguousarray(whole.values).tobytes()
    assert large.values.dtype == whole.values.dtype
    for name in (
        "feature_names", "row_names", "label_name", "picture_shape", "source", "row_numbers",
        "column_numbers",
    ):  # fmt: skip
        assert getattr(large, name) == getattr(whole, name), name
    assert large.origin.asked == whole.origin.asked
    notes = tuple(note for note in large.notes if "temporary file" not in note)
    assert notes == whole.notes
    for one, other in ((large.labels, whole.labels), (large.missing.means, whole.missing.means)):
        assert (one is None) == (other is None)
        assert one is None or (repr(one.tolist()) == repr(other.tolist()))
    return ""


N = 900


def numbers(n=N, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).round(6)


def text(rows, header="a,b,c", separator=",", end="\n"):
    lines = [header] if header else []
    return end.join(lines + [separator.join(map(str, row)) for row in rows]) + end


def mixed():
    """Row names, integers, reals with late holes, labels of text with quoted newlines."""
    X = numbers()
    rows = []
    for i, (x, y, _) in enumerate(X):
        hole = "" if i == N - 3 else y
        label = '"two\nlines"' if i % 7 == 0 else f'"it is ""{i % 3}"""'
        rows.append((f"row {i}", i if i < N - 5 else i + 0.5, hole, x, label))
    return text(rows, "name,whole,holed,real,kind")


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "mean"},
        {"missing": "drop-rows"},
        {"missing": "drop-columns"},
        {},
        {"missing": "mean", "rows": "10:800"},
        {"missing": "mean", "rows": "::7"},
        {"missing": "mean", "rows": "5::3"},
        {"missing": "mean", "rows": "-50:"},
        {"missing": "mean", "rows": "-50:-3:4"},
        {"columns": "real,whole"},
        {"drop": "holed"},
        {"columns": "real,whole", "rows": "0:901"},
        {"columns": "real,whole", "rows": "10:10"},
        {"columns": "wholly"},
        {"columns": "whole,real", "id": "kind"},
        {"drop": "holed,name"},
        {"drop": "holed", "transpose": True},
    ],
    ids=str,
)
def test_a_text_in_blocks_is_the_text_as_a_whole(options, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(mixed())
    aside = {"drop": "kind"} if "transpose" in options else {"label": "kind"} if "id" not in options else {}
    if "transpose" in options:
        options = options | {"drop": "kind,holed"}
    both(path, **(aside | options))


@pytest.mark.parametrize("shape", [(N, 3), (90, 130)], ids=["tall", "wide"])
@pytest.mark.parametrize(
    "form",
    ["gz", "late float", "late text", "decimal", "thousands", "cp1252", "utf-16", "comments",
     "spaces", "no header", "one short", "empty last", "crlf", "marks", "true", "holes", "late quotes"],
)  # fmt: skip
@pytest.mark.walk
def test_a_text_in_blocks_may_have_any_form(form, shape, tmp_path):
    N, X, path, options = shape[0], numbers(*shape), tmp_path / "x.csv", {}
    late = [i > 0.8 * N for i in range(N)]
    names = ["a", "b", "c", *(f"c{j}" for j in range(3, shape[1]))]
    head = ",".join(names)
    plain = [list(map(str, row)) for row in X]
    content = text(plain, head).encode()
    if form == "gz":
        path = tmp_path / "x.csv.gz"
        content = gzip.compress(content[:9000]) + gzip.compress(content[9000:])
    elif form == "late float":
        content = text([(i + 0.5 * late[i], *row) for i, row in enumerate(plain)], f"i,{head}").encode()
    elif form == "late text":  # labels that look like numbers at first
        codes = ["x" if late[i] else "01" for i in range(N)]
        content = text(
            [(*row, code) for row, code in zip(plain, codes, strict=True)], f"{head},code"
        ).encode()
        options = {"label": "code"}
    elif form == "decimal":
        cells = [[x.replace(".", ",") if late[i] else str(i) for x in row] for i, row in enumerate(plain)]
        content = text(cells, ";".join(names), ";").encode()
    elif form == "thousands":
        cells = [[f'"{i * 1001:,}"' if late[i] else i % 900, *row] for i, row in enumerate(plain)]
        content = text(cells, f"i,{head}").encode()
    elif form == "cp1252":
        rows = [("é" if late[i] else f"e{i}", *row) for i, row in enumerate(plain)]
        content, options = text(rows, f"name,{head}").encode("cp1252"), {"label": "name"}
    elif form == "utf-16":
        content = text(plain, head).encode("utf-16")
    elif form == "comments":
        content = f"# of a machine\n#{head}\n".encode() + text(plain, None).encode()
    elif form == "spaces":
        content = text(plain, " ".join(names), "   ").encode()
    elif form == "no header":
        content, options = text(plain, None).encode(), {"columns": "2,0"}
    elif form == "one short":
        content = text([(f"r{i}", *row) for i, row in enumerate(plain)], head).encode()
    elif form == "empty last":
        content = text([(*row, "") for row in plain], f"{head},").encode()
    elif form == "crlf":
        content = text(plain, head, end="\r\n").encode()
    elif form == "marks":
        cells = [("-999" if late[i] else row[0], *row[1:]) for i, row in enumerate(plain)]
        content, options = text(cells, head).encode(), {"na_values": -999.0, "missing": "mean"}
    elif form == "holes":
        cells = [["" if (i + j) % 7 == 0 else x for j, x in enumerate(row)] for i, row in enumerate(plain)]
        content, options = text(cells, head).encode(), {"missing": "mean"}
    elif form == "late quotes":
        cells = [[f'"{x}"' if late[i] else x for x in row] for i, row in enumerate(plain)]
        content = text(cells, head).encode()
    else:
        content = text([(str(late[i]), *row) for i, row in enumerate(plain)], f"late,{head}").encode()
    path.write_bytes(content)
    assert both(path, **options) == ""
    if form != "cp1252":  # whose names may look like those of rows at first
        both(path, Expected(("c", "a")), **({} if form in ("no header", "late text") else options))


def test_wide_text_and_later_rows_are_refused_as_the_whole_is(tmp_path):
    rows = [list(map(str, row)) for row in numbers(40, 130)]
    path = tmp_path / "x.csv"
    for place, cells in ((30, rows[30][:-1]), (31, [*rows[31], "1"]), (35, [*rows[35][:-1], "slip"])):
        path.write_text(
            text([*rows[:place], cells, *rows[place + 1 :]], ",".join(f"c{j}" for j in range(130)))
        )
        assert (f"line {place + 2}" if place < 35 else f"'slip' in row {place}") in both(path)
    rows, path = list(map(list, numbers().tolist())), tmp_path / "x.csv"
    for name, cells in (
        ("n", [i if i < 500 else f"u{i}" for i in range(N)]),
        ("n", [f"u{min(i, 500)}" for i in range(N)]),
        ("y", [i if i < 500 else "1,5" for i in range(N)]),
    ):
        path.write_text(
            text([(cell, *row) for cell, row in zip(cells, rows, strict=True)], f"{name}\ta\tb\tc", "\t")
        )
        with pytest.raises(DataError, match=r"has 1 column that holds no numbers:|, but later rows have"):
            scan(path).open(LIMIT)
    path.write_text(text([(*row, "" if i < 500 else 1) for i, row in enumerate(rows)], "a,b,c,"))
    with pytest.raises(DataError, match="the last column has no name and is empty in the first"):
        scan(path).open(LIMIT)


@pytest.mark.parametrize("kind", ["named", "decimal", "parquet"])
@pytest.mark.walk
def test_rows_of_a_wide_table_take_no_call_for_each_column(kind, tmp_path):
    n, d, calls = 64, 500, []
    suffix = "parquet" if kind == "parquet" else "csv"
    for rows in (n, 2 * n):
        frame = pandas.DataFrame(numbers(2 * n, d)[:rows], [f"r{i}" for i in range(rows)])
        frame.columns, path = [f"c{j}" for j in range(d)], tmp_path / f"{rows}.{suffix}"
        if kind == "parquet":
            frame.to_parquet(path, index=False, row_group_size=8)
        elif kind == "decimal":
            frame.to_csv(path, sep=";", decimal=",")
        else:
            frame.to_csv(path)
        count = itertools.count()
        for place in (sys, threading):
            place.setprofile(lambda _, event, *__, count=count: "call" in event and next(count))
        try:
            values = scan(path).open(LIMIT).values
        finally:
            for place in (sys, threading):
                place.setprofile(None)
        assert isinstance(values, StoredRows)
        assert np.array_equal(values[:], frame.to_numpy())
        calls.append(next(count))
    assert calls[1] - calls[0] < n * d


@pytest.mark.parametrize("kind", ["parquet", "folder"])
def test_columns_in_blocks_are_the_columns_as_a_whole(kind, tmp_path):
    X = numbers(N, 4)
    late = pa.array([None if i == N - 5 else x for i, x in enumerate(X[:, 1])])
    table = pa.table(
        {"name": [f"r{i}" for i in range(N)], "i": np.arange(N) + 2**60, "late": late, "f": X[:, 2],
         "s": X[:, 3].astype("f4"), "yes": X[:, 0] > 0,
         "kind": pa.array(["x", "y", "z"] * (N // 3)).dictionary_encode()}
    )  # fmt: skip
    path = tmp_path / f"x.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=100)
    else:
        path.mkdir()
        (path / "_SUCCESS").touch()
        for part in range(12):  # 10 after 9, and columns in any order
            piece = table.slice(part * 75, 75).select(table.column_names[:: -1 if part % 2 else 1])
            parquet.write_table(piece, path / f"part-{part}.parquet")
    for options in (
        {"label": "kind", "missing": "mean"},
        {"label": "kind", "missing": "drop-rows", "rows": "-500:-10:3"},
        {"columns": "s"},
        {"columns": "s,f", "id": "name"},
        {"drop": "late,kind", "transpose": True},
    ):
        assert both(path, **options) == ""
    assert both(path, Expected(("s", "f"))) == ""
    assert "'kind' ('x' in row 0)" in both(path)
    if kind == "folder":
        parquet.write_table(table.drop_columns(["s"]), path / "part-99.parquet")
        assert "part-99.parquet has other columns than part-0.parquet: only one of them has 's'" in both(path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_options_of_a_stored_array_give_what_they_give_of_the_array(order, tmp_path):
    X = numbers(N, 4)
    X[5, 1] = X[800, 3] = np.nan
    for dtype in ("f8", "f4", "u1", "?"):
        with np.errstate(invalid="ignore"):
            np.save(tmp_path / "x.npy", np.asarray((X * 40).astype(dtype), order=order))
        for options in (
            {"rows": "::3"},
            {"rows": "8:700"},
            {"columns": "2,0", "rows": "6:"},
            {"label": "1", "id": "0"},
            {"transpose": True},
            {"transpose": True, "rows": "6:30"},
            {"missing": "mean"},
            {"missing": "mean", "rows": "4:"},
            {"missing": "drop-rows"},
            {"missing": "drop-columns", "rows": "7:"},
            {"size": "3x3"},
            {"columns": "9"},
        ):
            both(tmp_path / "x.npy", **({"missing": "mean"} | options))


def test_pictures_in_blocks_are_the_pictures_at_once(tmp_path):
    image = pytest.importorskip("PIL.Image")
    P = np.random.default_rng(0).integers(0, 256, (40, 8, 7), dtype=np.uint8)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        (tmp_path / "x").mkdir()
        for i, picture in enumerate(P):
            image.fromarray(picture).save(tmp_path / "x" / f"{i}.png")
            archive.write(tmp_path / "x" / f"{i}.png", f"{i}.png")
    for path in (tmp_path / "x", tmp_path / "x.zip", [tmp_path / "x" / f"{i}.png" for i in range(30)]):
        for options in ({}, {"rows": "3:33:2", "size": "9x8"}):
            both(path, **options)


def blocks(X, size=37):
    return (X[start : start + size] for start in range(0, len(X), size))


def test_a_generator_gives_what_its_blocks_give_if_they_fit():
    X = numbers(20_000, 40) @ np.diag(0.9 ** np.arange(40))
    model, array = PCA(5, memory_limit="24MB", random_state=0), PCA(5, random_state=0).fit(X)
    assert np.array_equal(model.fit_transform(blocks(X)), model.transform(blocks(X, 9)))
    assert model.explained_variance_ == pytest.approx(array.explained_variance_)
    frame = pandas.DataFrame(X, columns=[f"c{i}" for i in range(40)])
    model.fit(blocks(frame, 777))
    assert model.feature_names_in_[3] == "c3"
    assert np.allclose(model.transform(blocks(frame[frame.columns[::-1]], 777)), model.transform(frame))
    assert KernelPCA(2).fit_transform(blocks(X[:200])).shape == (200, 2)
    # float32 until a block of float64 comes: nothing is rounded
    rows = as_rows(iter([X[:500].astype("f4"), X[500:900]]), limit=LIMIT)
    assert np.array_equal(rows[:], np.concatenate([X[:500].astype("f4"), X[500:900]]))
    pictures = as_rows(blocks(X.reshape(-1, 8, 5)), limit=LIMIT)
    assert pictures.picture_shape == (8, 5)
    assert np.array_equal(pictures.block(slice(99, 104)).values, X[99:104])
    X, used = numbers(), blocks(numbers())
    frame = pandas.DataFrame(X, columns=list("abc"))
    list(used)
    for wrong in (
        iter([]),
        used,
        iter([X, X[:, :2]]),
        iter([frame, frame[["b", "a", "c"]]]),
        iter([X, X[0]]),
        iter([X.astype(str)[:, :1] + "a"]),
    ):
        with pytest.raises(DataError, match="he generator"):
            PCA(2).fit(wrong)


def test_a_memory_map_is_read_from_its_file_where_that_is_sure(tmp_path):
    X = numbers(2000, 6)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r+")
    mapped[7, 3] = 1e6  # not flushed
    rows = as_rows(mapped, limit=LIMIT)
    assert isinstance(rows, StoredRows)
    assert np.array_equal(rows.block(slice(0, 2000)).values, mapped)
    raw = np.memmap(tmp_path / "raw", dtype="f4", mode="w+", shape=(500, 6), offset=24, order="F")
    raw[:] = X[:500]
    assert np.array_equal(as_rows(raw, limit=LIMIT).block(slice(5, 9)).values, X[5:9].astype("f4"))
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[0, 0] = 5.0
    for other in (mapped[1:], mapped[:, 1:4], mapped.T[:], private):
        assert isinstance(as_rows(other, limit=LIMIT), ArrayRows)
    (tmp_path / "x.npy").rename(tmp_path / "old.npy")
    np.save(tmp_path / "x.npy", X + 1)
    assert isinstance(as_rows(mapped, limit=LIMIT), ArrayRows)


def test_a_full_disk_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(FileError, match="its temporary copy does not fit into"):
            as_rows(blocks(numbers(9000)), limit=LIMIT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises(FileError, match=rf"{tmp_path}: it has .* of room\. 1,000,000 TB are needed"):
        Spool("x.parquet", 10**18)
    rows = as_rows(blocks(numbers()), limit=LIMIT)
    assert not list(tmp_path.iterdir())
    assert "temporary file in" in rows.table.notes[0]
    assert np.array_equal(rows[3:5], numbers()[3:5])


def test_who_needs_all_rows_gets_them_or_is_told_what_to_do(tmp_path, monkeypatch):
    X = numbers(2000, 8)
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "200kB")
    with pytest.raises(ParameterError, match=r"which holds a table\. Leave it out\."):
        as_rows(scan(tmp_path / "x.npy", size="3x3"))
    assert isinstance(as_rows(scan(tmp_path / "x.npy")), ArrayRows)
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "100kB")
    with pytest.raises(MemoryLimitError, match="This needs all 2,000 rows of"):
        as_rows(scan(tmp_path / "x.npy"))
    np.savez_compressed(tmp_path / "x.npz", X=np.resize(X, (20_000, 8)))
    with pytest.raises(MemoryLimitError, match=r"holds 20000 x 8 float64, which takes 1\.28 MB, and 100 kB"):
        as_rows(scan(tmp_path / "x.npz"))


def test_models_map_files_larger_than_memory(tmp_path, monkeypatch):
    X = numbers(3000, 4)
    np.save(tmp_path / "x.npy", X)
    model, mapper = KernelPCA(3).fit(X[:200]), PolynomialMap(2).fit(X)
    expected = model.transform(X), mapper.transform(X)
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "380kB")
    assert np.allclose(model.transform(tmp_path / "x.npy"), expected[0], atol=1e-12)
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "370kB")
    assert PolynomialMap(2).fit(tmp_path / "x.npy").kernel_error_.maximum == mapper.kernel_error_.maximum
    assert np.array_equal(mapper.transform(tmp_path / "x.npy"), expected[1])


def table_file(folder, kind, X):
    """Write a table as a file of a kind, or as .npy of a dtype."""
    path = folder / f"x.{kind if kind in ('h5', 'zarr', 'parquet', 'csv') else 'npy'}"
    if kind == "h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file.create_dataset("x", data=X.astype("u1"), chunks=(100, X.shape[1]))
    elif kind == "zarr":
        pytest.importorskip("zarr").save_array(path, X.astype("u1"))
    elif kind == "parquet":
        pandas.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).to_parquet(path, row_group_size=500)
    elif kind == "csv":
        np.savetxt(path, X, "%d", ",")
    else:
        np.save(path, X > 50 if kind == "?" else X.astype(kind))
    return path


@pytest.mark.parametrize("kind", ["?", "u1", "f4", "h5", "zarr", "parquet", "csv"])
@pytest.mark.walk
def test_what_fits_into_memory_fits_into_more(kind, tmp_path):
    # In blocks this takes 17.5 MB; as float32 the table takes 5 MB, and as float64 twice that.
    X = np.random.default_rng(0).integers(0, 100, (5000, 250))
    path, fitting, whole = table_file(tmp_path, kind, X), [], []
    for limit in np.geomspace(14e6, 90e6, 6 if kind in ("csv", "parquet") else 12).astype(int).tolist():
        model = PCA(5, memory_limit=limit)
        try:
            fit, *_ = model._completed(path, None)
            assert fit.plan.bytes + fit.rows.resident_bytes <= limit
            fitting.append(True)
            whole.append(fit.rows.free_to_revisit)
        except MemoryLimitError:
            fitting.append(False)
            whole.append(False)
        assert not whole[-1] or 4 * fit.rows.resident_bytes <= limit
    assert fitting == sorted(fitting)
    assert whole == sorted(whole)
    assert (fitting[0], whole[0], fitting[-1], whole[-1]) == (False, False, True, True)
    # As a whole the table would leave too little for any route.
    assert PCA(5, memory_limit=21_000_000, random_state=0).fit(path).n_components_ == 5
