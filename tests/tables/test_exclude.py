"""Rows that are left out while a table is read: by name, by number, or all of a group."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from gramian import PCA, scan
from gramian.errors import ParameterError
from gramian.tables.reading import ReadingOptions
from gramian.tables.stored import StoredRows

TEXT = """who,kind,a=b,a,x
Ann,u,1.5,1,2
Bob,v,2.5,2,3
"Cal, C.",u,2.5,3,5
3,,1.5,4,7
x=y,w,0.5,5,11
"""


@pytest.fixture
def people(tmp_path):
    (tmp_path / "x.csv").write_text(TEXT)
    frame = pd.read_csv(tmp_path / "x.csv")
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=2)
    return tmp_path


def test_names_numbers_and_groups_as_in_the_file(people):
    every = ["Ann", "Bob", "Cal, C.", "3", "x=y"]
    for name in ("x.csv", "x.parquet"):
        for entries, out in (
            ("Ann", ["Ann"]),
            ('"Cal, C.",Bob', ["Bob", "Cal, C."]),
            ("3", ["3"]),  # a name before a number
            ("2", ["Cal, C."]),
            ([0, "x=y"], ["Ann", "x=y"]),
            (np.array([1, 2]), ["Bob", "Cal, C."]),
            ("kind=u", ["Ann", "Cal, C."]),
            ("kind=", ["3"]),
            ("a=b=2.5", ["Bob", "Cal, C."]),  # the longest name of a column
            ("a=2.0,x=2", ["Ann", "Bob"]),
            ("kind=u,Ann,0", ["Ann", "Cal, C."]),
            ("who=Bob", ["Bob"]),
        ):
            table = scan(people / name, drop="kind", exclude=entries).read()
            kept = [row for row in every if row not in out]
            assert list(table.row_names) == kept, (name, entries)
            assert list(table.row_numbers) == [every.index(row) for row in kept]
            assert table.values[:, 2].tolist() == [[2, 3, 5, 7, 11][every.index(row)] for row in kept]
            assert table.groups == {}
            assert table.origin.asked[0].startswith("rows were left out: ")
    # Columns that have another use too, and those that have none.
    for how in (
        {"label": "kind"},
        {"label": "a,kind"},
        {"drop": "a=b,kind"},
        {"columns": "x,a"},
        {"id": "kind", "drop": "who"},
        {"weights": "a", "drop": "kind"},
    ):
        table = scan(people / "x.csv", exclude="kind=u", **how).read()
        assert list(table.row_numbers) == [1, 3, 4], how
        for of in (table.labels, table.weights, *table.metadata.values()):
            assert of is None or len(of) == 3
    options = {"drop": "who,kind", "rows": "1:4"}
    assert scan(people / "x.csv", exclude="2", **options).read().values[:, 2].tolist() == [3, 7]
    with pytest.raises(ParameterError, match="Rows are numbered 1 to 3") as raised:
        scan(people / "x.csv", exclude="4", **options).read()
    assert raised.value.parameter == "exclude"


def test_entries_that_are_not_there(people):
    for entries, said in (
        ("Anne", r"exclude='Anne' is neither a row nor a group of .*Rows are named 'Ann', 'Bob'"),
        ("knd=u", "is neither a row nor a group"),
        ("kind=x", r"names no row: 'kind' of .* has no such value. It has '', 'u', 'v', 'w'."),
        ("a=7", r"'a' of .* has no such value. It has '1', '2', '3', '4', '5'."),
        ("a=text", "has no such value"),
        ("-1", "is neither a row nor a group"),
        ("01", "is neither a row nor a group"),  # as a name could be written
        ("9" * 5000, "is neither a row nor a group"),
        ("99", "Rows are named 'Ann', 'Bob'"),
        ("=u", "is neither a row nor a group"),
        ("a=1,a=2,a=3,a=4,a=5", "leaves none of the 5 rows"),
    ):
        with pytest.raises(ParameterError, match=said) as raised:
            scan(people / "x.csv", drop="kind", exclude=entries).read()
        assert raised.value.parameter == "exclude"
    with pytest.raises(ParameterError, match="holds no names"):
        scan(people / "x.csv", exclude=[])


def test_labels_of_another_file_are_joined_before(people):
    sheet = people / "y.csv"
    sheet.write_text("site\nn\ns\nn\ns\ns\n")
    table = scan(people / "x.csv", drop="who,kind", labels_from=sheet, exclude="site=n,3").read()
    assert (table.labels.tolist(), table.values[:, 2].tolist()) == (["s", "s"], [3, 11])


def test_transposed_tables_arrays_and_pictures(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("gene,s1,s2,s3,s4\ng1,1,2,3,4\ng2,4,3,0,1\n")
    for entries, left in (
        ("s2", ("s1", "s3", "s4")),
        ("0", ("s2", "s3", "s4")),
        ("g2=0,g1=4", ("s1", "s2")),
    ):
        assert scan(path, transpose=True, exclude=entries).read().row_names == left
    X = np.arange(24.0).reshape(8, 3)
    X[:, 2] %= 2
    np.save(tmp_path / "x.npy", X)
    table = scan(tmp_path / "x.npy", exclude="2=0,1", columns="0,1").read()
    assert table.values[:, 0].tolist() == [9, 15, 21]
    folder = tmp_path / "p"
    folder.mkdir()
    for place in range(4):
        Image.fromarray(np.full((3, 2), place, np.uint8)).save(folder / f"{place}.png")
    table = scan(folder, exclude="2.png,0").read()
    assert table.values[:, 0, 0].tolist() == [1, 3]


def test_tables_on_disk_of_which_only_the_columns_are_read(tmp_path):
    assert ReadingOptions(exclude=("a", "k=v", "=")).groups == ("k=v", "=")
    assert ReadingOptions(exclude=("k=v",), transpose=True).groups == ()
    rng = np.random.default_rng(0)
    X, kinds = rng.standard_normal((900, 4)).astype("f4"), np.array(["u", "v", "w"])[np.arange(900) % 3]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=kinds)
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", X)
    for name, how in (
        ("x.csv", {"label": "kind", "exclude": "kind=v,4,800"}),
        ("x.parquet", {"drop": "kind", "exclude": ["kind=v", f"a={X[3, 0]}"]}),
        ("x.npy", {"exclude": np.arange(100, 850)}),
    ):
        whole, large = scan(tmp_path / name, **how).read(), scan(tmp_path / name, **how).open(4000)
        assert isinstance(large.values, StoredRows), name
        assert 100 < len(whole.values) < 700
        assert large.values[:].tobytes() == whole.values.tobytes()
        assert list(large.row_numbers) == list(whole.row_numbers)
        one = PCA(2).fit(large)
        np.testing.assert_allclose(one.components_, PCA(2).fit(whole.values).components_, atol=1e-5)
        assert one.n_samples_ == len(whole.values)
        assert "exclude" not in getattr(one, "reading_", {})


def test_single_cells_are_corrected(people, tmp_path):
    read = scan(people / "x.csv", drop="kind").read().values
    for cells, places in (
        ("Ann:a=7", {(0, 1): 7}),
        ({("Cal, C.", "a=b"): 2, (1, "x"): None}, {(2, 0): 2, (1, 2): np.nan}),
        ({("Ann", "a"): pd.NA, (1, "x"): np.nan}, {(0, 1): np.nan, (1, 2): np.nan}),
        (["3:x=-1e3", "x=y:a="], {(3, 2): -1000, (4, 1): np.nan}),
        ("Ann:a=7,Ann:a=8", {(0, 1): 8}),  # the last one
    ):
        wanted = read.copy()
        for place, value in places.items():
            wanted[place] = value
        table = scan(people / "x.csv", drop="kind", corrections=cells, missing="em").read()
        np.testing.assert_array_equal(table.values, wanted)
        assert table.origin.asked[-1].startswith("cells were corrected: ")
        assert "corrections" not in table.origin.reading  # which new rows are read by
    # A row may be corrected and left out, and a transform follows.
    table = scan(people / "x.csv", drop="kind", corrections="Ann:a=7,Bob:x=8", exclude="Ann", transform="log")
    assert table.read().values[0, 2] == np.log(8)
    np.save(tmp_path / "x.npy", np.arange(12).reshape(4, 3))
    table = scan(tmp_path / "x.npy", columns="0,2", corrections="1:2=0.5").read()
    assert table.values.tolist() == [[0, 2], [3, 0.5], [6, 8], [9, 11]]
    path = tmp_path / "g.csv"
    path.write_text("gene,s1,s2\ng1,1,2\ng2,4,3\n")
    assert scan(path, transpose=True, corrections="s2:g1=9").read().values.tolist() == [[1, 4], [9, 3]]


def test_cells_that_are_not_there(people, tmp_path):
    for cells, said in (
        ("Anne:a=1", r"'Anne:a=1' names 0 rows of .*, and must name one. Rows are named 'Ann', 'Bob'"),
        ("Ann:aa=1", r"'aa': .* has no such column. Did you mean 'a'"),
        ("Ann:kind=1", "has no such column"),
        ("Ann:a", "is not understood. Write ROW:COLUMN=VALUE"),
        ("Ann=1", "is not understood"),
        ("Ann:a=1,5", "is not understood"),
        ("Ann:a=inf", "is not understood"),
        ({5: 3}, "corrections='5=3' is not understood"),
    ):
        with pytest.raises(ParameterError, match=said) as raised:
            scan(people / "x.csv", drop="kind", corrections=cells).read()
        assert raised.value.parameter == "corrections"
    np.save(tmp_path / "single.npy", np.eye(3, dtype=np.float32))
    with pytest.raises(ParameterError, match=r"'1:2=1e99' is beyond the numbers of .*, which are float32"):
        scan(tmp_path / "single.npy", corrections="1:2=1e99").read()
    twice = tmp_path / "twice.csv"
    twice.write_text("who,a,b\nAnn,1,2\nAnn,3,4\n")
    with pytest.raises(ParameterError, match=r"names 2 rows of .*, and must name one"):
        scan(twice, id="who", corrections="Ann:a=1").read()
    Image.fromarray(np.full((3, 2), 1, np.uint8)).save(tmp_path / "1.png")
    with pytest.raises(ParameterError, match="corrections needs a table of numbers in memory"):
        scan([tmp_path / "1.png"], corrections="1.png:0=1").read()
