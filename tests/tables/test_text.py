"""Delimited text: separators, headers, encodings, and text that no table can be made of."""

import gzip
import os

import numpy as np
import pytest

import gramian
from gramian.errors import DataError, FileError
from gramian.tables.columns import table_of_columns
from gramian.tables.formats.text import TextFile, TextSource
from gramian.tables.layout import detect_layout
from gramian.tables.reading import ReadingOptions
from gramian.tables.source import Opened


def read(text, **choice):
    data = text.encode() if isinstance(text, str) else text
    return table_of_columns(TextSource(TextFile(Opened("x.csv", data=data))), ReadingOptions(**choice))


def test_separators_line_ends_and_encodings():
    for separator in [",", ";", "\t", " ", "|"]:
        lines = [["x", "y", "z"], ["1", "2.5", "-3e2"], ["4", "5", "6"]]
        for end in ("\n", "\r\n", "\r"):
            table = read(end.join(separator.join(line) for line in lines) + end)
            assert table.values.tolist() == [[1, 2.5, -300], [4, 5, 6]]
            assert table.feature_names == ("x", "y", "z")
    for encoding in ["utf-8", "utf-8-sig", "utf-16", "cp1251", "cp1252"]:
        text = "имя,x\nЮлия,1\nИлья,2\n" if encoding != "cp1252" else "naïve,x\né,1\nè,2\n"
        table = read(text.encode(encoding))
        assert table.values.tolist() == [[1], [2]]
        if encoding == "cp1252":
            assert table.row_names == ("é", "è")
        guessed = "the text is not UTF-8 and was read as Windows-1252 (Western European)" in table.notes
        assert guessed == encoding.startswith("cp")


def test_numbers_with_commas_and_missing_tokens():
    for separator in ";\t |":
        table = read(f"x{separator}y\n1,5{separator}2\n,25{separator}-3,75e1\n")
        assert table.values.tolist() == [[1.5, 2], [0.25, -37.5]]
        assert "commas were read as decimal separators" in table.notes
    values = read("x,y\n 1 , +2.5\n 3 , -Infinity\n").values
    assert values.tolist() == [[1, 2.5], [3, -np.inf]]
    assert read("x,y\ntrue,1\nfalse,2\n").values.tolist() == [[1, 1], [0, 2]]
    assert read("x,y\n12345678901234567890,9007199254740993\n").values.shape == (1, 2)
    for text, expected in [
        ('x,y\n"1,065",2\n"-2,000,000",1234\n', [[1065, 2], [-2e6, 1234]]),
        ('x,y\n"1,065.5",2\n7,8\n', [[1065.5, 2], [7, 8]]),
        ("x\ty\n1,234,567\t2\n12,345\t5\n", [[1234567, 2], [12345, 5]]),
        ("x;y\n1,234.5;2\n1,234;5\n", [[1234.5, 2], [1234, 5]]),
        ("x y\n12,345 2.5\n1,234 5\n", [[12345, 2.5], [1234, 5]]),
    ]:
        table = read(text)
        assert table.values.tolist() == expected, text
        assert table.notes == ("commas were read as thousands separators",)
    for token in ("", "NA", "NaN", "nan", "null", "?", " NA "):
        values = read(f"x,y\n1,{token}\n3,4\n").values
        np.testing.assert_array_equal(values, [[1, np.nan], [3, 4]])
    for text in ("x,y\n1,-\n.,4\n", "x,y\n1, -\n.,4\n", "x y\n1 -\n. 4\n", "-\t-\n1\t-\n.\t4\n"):
        values = read(text, na_values=("-", ".")).values
        np.testing.assert_array_equal(values[-2:], [[1, np.nan], [np.nan, 4]])
    table = read("n,x,y\na,-999.0,2\n-, -999,3\n", na_values=("-999", "-"))
    np.testing.assert_array_equal(table.values, [[np.nan, 2], [np.nan, 3]])
    assert table.row_names == ("a", "-")
    for more in ("", ",5"):
        with pytest.raises(DataError, match=r"x\.csv has (no numeric|2) columns"):
            read(
                f"x,y{more and ',z'}\n"
                + "".join(f"{row}{more}\n" for row in ("1,2", "-,3", "4,.", "5,-", "6,7", "8,9"))
            )
    for text in ("x,y\n1,2\n3.O,4\n5,6\n", "x,y\nu,2\nv,4\nu,6\n"):
        with pytest.raises(DataError, match=r"x\.csv has 1 column that holds no numbers:") as caught:
            read(text)
        assert "na_values" not in str(caught.value)


def test_blanks_quotes_comments_and_headers():
    table = read("   1.0   2.0\t3.0  \n  4.0   5.0   6.0\n")
    assert table.values.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert table.feature_names is None
    table = read('name,"a, b","c\nd"\n"x, y",1,2\n"z\n",3,4\n')
    assert table.feature_names == ("a, b", "c\nd")
    assert table.row_names == ("x, y", "z\n")
    table = read('"first  name" "b c"\n1 2\n')
    assert table.feature_names == ("first  name", "b c")
    table = read("# made by a machine\n# x y\n1 2\n3 4\n")
    assert table.feature_names == ("x", "y")
    assert "1 comment line was left out at the top" in table.notes
    assert read("#id\tx\na\t1\nb\t2\n").feature_names == ("x",)
    assert read("# one\n# two words here\nx,y\n1,2\n").feature_names == ("x", "y")
    table = read('"Murder" "Rape"\n"Alabama" 13.2 21.2\n"New York" 10 44.5\n')
    assert table.feature_names == ("Murder", "Rape")
    assert table.row_names == ("Alabama", "New York")


def test_headers_and_rows_of_any_number():
    for text, names in [
        ("x,y\n1,2\n", ("x", "y")),
        ("1,2\n3,4\n", None),
        ("1,2,3", None),
        ("x,y", ("x", "y")),
        (",900,902\ns1,1,2\ns2,3,4\n", ("", "900", "902")),
        ("a,1.5,2\nb,3,4\n", None),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", None),
        ("NA,2\n3,4\n", None),
        ("x,y\nNA,2\n3,4\n", ("x", "y")),
        ("a b\nr1 1 2\nr2 3 4\n", ("", "a", "b")),
        ("name,town\nAnn,Rome\n", ("name", "town")),
    ]:
        assert detect_layout(text.encode(), "x.csv").names == names, text
    for end in ("\n", "\r\n", "\r"):
        for top in ([], ["# one"], ["# one", "# two"], [""], ["", ""]):
            table = read(end.join([*top, "x,y", "1,2", "3,4"]) + end)
            assert (table.feature_names, table.values.tolist()) == (("x", "y"), [[1, 2], [3, 4]]), top
    with pytest.raises(DataError, match=r"x\.csv, line 4: 1 field where 2 are expected \("):
        read("# one\nx,y\n1,2\n3\n")
    assert read("x\n1\n2\n").values.tolist() == [[1], [2]]
    assert read("1.5\n2\n").values.tolist() == [[1.5], [2]]
    # Padding makes a row longer than a block without making the table wide.
    long = ",".join(f"{' ' * 800_000}{number}" for number in range(3))
    values = read("\n".join(["1,2,3"] * 20 + [long])).values
    assert values.shape == (21, 3)
    assert values[20].tolist() == [0, 1, 2]
    values = np.arange(200_000.0).reshape(-1, 2) / 7
    text = "\n".join(f"{a!r},{b!r}" for a, b in values.tolist())
    np.testing.assert_array_equal(read(text).values, values)
    packed = gzip.compress(b"1,2\n", mtime=0)
    assert read(packed).values.tolist() == [[1, 2]]
    for damaged in (packed[:-6], packed[:12]):
        with pytest.raises(FileError, match=r"gzip\) cannot be read: it is truncated"):
            read(damaged)
    rows = "".join(f"e{row},{row}\n" for row in range(40_000))
    data = f"name,x\n{rows}\xe9,5\n".encode("cp1252")
    table = read(data)
    assert table.row_names[-2:] == ("e39999", "\xe9")
    assert table.notes[0] == "the text is not UTF-8 and was read as Windows-1252 (Western European)"


def test_titles_of_plink_stand_above_text_alone(tmp_path):
    (tmp_path / "x.csv").write_text("id,x,y\nb,1,2\na,3,4\n")
    (tmp_path / "panel.txt").write_text("#FID\tIID\tpop\nF\ta\tnorth\nF\tb\tsouth\n")
    table = gramian.scan(tmp_path / "x.csv", labels_from=f"{tmp_path / 'panel.txt'}:pop").read()
    assert table.labels.tolist() == ["south", "north"]


def test_text_that_is_refused():
    for text in [
        "x,y\n",
        "\n\n",
        "   \n",
        "# only a comment\n",
        "name,town\nAnn,Rome\nBob,Oslo\n",
        "hello",
        "a" * 200_000,
        "x,y\n1," + "b" * 200_000 + "\n",
        'x,y\n1,"2\n3,4',
    ]:
        with pytest.raises(DataError, match=r"x\.csv has"):
            read(text)
    with pytest.raises(DataError, match=r"x\.csv has 1 column that holds no numbers:"):
        read("x\ty\n12,345\t2\n1,234\t5\n")
    with pytest.raises(DataError, match=r"x\.csv has 2 columns that hold no numbers:"):
        read('n,x,y\n1,"1,5","1,065"\n2,"2,5","2,065"\n')
    with pytest.raises(DataError, match=r"x\.csv has 1 column that holds no numbers:"):
        read("x;y\n1.5;2,5\n2.5;3,5\n")
    with pytest.raises(FileError, match=r"x\.csv is neither text nor a file of another known kind:"):
        read(b"1,2\n\x00\x00")
    with pytest.raises(FileError, match=r"x\.csv begins as UTF-16 text but is damaged or cut off\."):
        read(b"\xff\xfea")


def test_a_ragged_table_names_the_line_and_its_number_of_fields():
    for text, place in [
        ("a,b\n1,2\n3\n4,5,6\n", "line 3: 1 field where 2 are expected"),
        ("a,b\n1,2\n3,4\n5,6,7\n8,9,10\n11,12,13\n", "line 4: 3 fields where 2"),  # most rows have three
        ("id,a,b\nx,1,2\ny,3\nz,4,5,6\n", "line 3: 2 fields where 3"),
        ("a;b\n1,5;2\n3\n4;5;6\n", "line 3: 1 field where 2"),
        ("4,5,6\n1,2,3\n4,5\n6,7,8\n", "line 3: 2 fields where 3"),
    ]:
        with pytest.raises(DataError, match=place):
            read(text)
    assert read("Name,Value\nTemp,25\nwave,p,q\n400,1,2\n410,2,2\n420,4,3\n").values.shape == (3, 3)


def test_a_look_and_the_reading_share_one_pass_until_the_file_changes(tmp_path, monkeypatch):
    parse, parsed = TextSource._parsed, []
    monkeypatch.setattr(TextSource, "_parsed", lambda *given: parsed.append(1) or parse(*given))
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\nSource: us\n")
    found = gramian.scan(path).preview(1 << 20)
    table = gramian.scan(path).read()
    assert len(parsed) == 1
    assert table.values.tolist() == [[1, 2], [3, 4]]
    assert set(found.notes) <= set(table.notes)
    times = path.stat()
    path.write_text("a,b\n1,2\n3,9\nSource: us\n")  # as long, and at the same time
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert gramian.scan(path).read().values.tolist() == [[1, 2], [3, 9]]
