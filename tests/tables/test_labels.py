"""Labels from another file, by name or by order."""

import io

import numpy as np
import pytest
from PIL import Image

from gramian.errors import DataError, FileError, InputTypeError, ParameterError
from gramian.tables.scan import scan

GENES = "gene,s1,s2,s3\nclass,A,B,A\ng1,1.5,2,3\ng2,4,5,6\n"


@pytest.fixture
def write(tmp_path):
    def written(name, content):
        (tmp_path / name).write_text(content)
        return tmp_path / name

    return written


def test_a_label_names_no_row_of_a_table_that_is_transposed(write):
    text = "gene,s1,s2,s3\ng1,1.5,2,3\ng2,4,5,6\n"
    with pytest.raises(ParameterError, match=r"which is a row after transpose\. Give labels"):
        scan(write("x.csv", text), transpose=True, label="g1")
    kinds = write("kinds.csv", "sample,class\ns1,A\ns2,B\ns3,A\n")
    table = scan(write("x.csv", text), transpose=True, labels_from=f"{kinds}:class").read()
    assert (table.row_names, table.labels.tolist()) == (("s1", "s2", "s3"), ["A", "B", "A"])


def test_labels_go_to_rows_of_their_name(write):
    data = write("x.csv", "name,x\na,1\nb,2\nc,3\n")
    labels = write("y.csv", "name,kind,size\nc,w,3\na,u,1\nz,q,9\nb,v,2\n")
    table = scan(data, labels_from=f"{labels}:kind", rows="1:").read()
    assert (table.labels.tolist(), table.label_name) == (["v", "w"], "kind")
    assert table.notes[-1] == f"{labels}:kind was joined by row names: 2 of 2 rows have an entry"
    turned = write("t.csv", "gene,b,c\ng1,1,2\ng2,3,4\n")
    assert scan(turned, transpose=True, labels_from=f"{labels}:size").read().labels.tolist() == [2, 3]
    assert scan(data, labels_from=write("one.csv", "name,kind\nc,w\na,u\nb,v\n")).read().labels.tolist() == [
        "u",
        "v",
        "w",
    ]
    short = scan(data, labels_from=write("short.csv", "name,kind\na,u\nd,v\n")).read()
    assert (short.labels.tolist(), short.notes[-1][-25:]) == (["u", "", ""], "1 of 3 rows have an entry")
    with pytest.raises(DataError, match="has no entry for"):
        scan(data, labels_from=write("other.csv", "name,kind\nd,u\ne,v\n")).read()
    with pytest.raises(DataError, match=r"more than once\. Give each row one entry\."):
        scan(data, id="name", labels_from=str(write("two.csv", "name,kind\na,u\na,v\n")) + ":kind").read()
    with pytest.raises(ParameterError, match=r"has no such column\. Did you mean"):
        scan(data, labels_from=f"{labels}:knd").read()


def test_all_columns_of_a_sheet_of_samples_are_joined(write):
    data = write("x.csv", "name,x\na,1\nb,2\nc,3\nd,5\n")
    sheet = write("y.csv", "name,age,note,site,batch\nc,3,p,n,1\na,1,q,s,2\nz,9,r,n,1\nb,2.5,t,s,2\n")
    table = scan(data, labels_from=sheet).read()
    assert (table.label_name, table.labels.tolist()) == ("site", ["s", "s", "n", ""])
    assert list(table.metadata) == ["age", "note", "batch"]
    assert table.metadata["age"][:3].tolist() == [1, 2.5, 3]
    assert np.isnan(table.metadata["age"][3])
    assert table.metadata["note"].tolist() == ["q", "t", "p", ""]
    assert table.notes[-1] == f"{sheet} was joined by row names: 3 of 4 rows have an entry"
    assert scan(data, labels_from=sheet, exclude="site=,batch=1").read().row_names == ("a", "b")
    # Without groups the first column labels; the column that names rows need not be the first.
    sheet = write("y.csv", "dose,who\n1.5,b\n2.5,a\n3.5,c\n4.5,d\n")
    table = scan(data, labels_from=sheet, rows="1:").read()
    assert (table.label_name, table.labels.tolist(), table.metadata) == ("dose", [1.5, 3.5, 4.5], {})
    # By order, numbers of batches before unique text, of some rows.
    plain = write("x.csv", "x\n1\n2\n3\n4\n")
    sheet = write("y.csv", "n,who,batch\n1.5,b,1\n2.5,b b,1\n3.5,c,2\n4.5,d,2\n")
    for rows, some in (("1:", slice(1, None)), ("::2", slice(0, 4, 2)), (None, slice(None))):
        table = scan(plain, labels_from=sheet, rows=rows).read()
        assert (table.label_name, table.labels.tolist()) == ("batch", [1, 1, 2, 2][some])
        assert table.metadata["who"].tolist() == ["b", "b b", "c", "d"][some]
    assert scan(plain, labels_from=sheet, rows="1:", exclude="batch=2").read().values.tolist() == [[2]]


def test_labels_without_names_go_by_order(write, tmp_path):
    data = write("x.csv", "x\n1\n2\n3\n")
    for name, content in [
        ("lines.txt", "u\nv\nu\n"),
        ("header.csv", "kind\nu\nv\nu\n"),
        ("names.csv", "name,kind\na,u\nb,v\nc,u\n"),
    ]:
        path = write(name, content)
        table = scan(data, labels_from=path).read()
        assert table.labels.tolist() == ["u", "v", "u"]
        assert any("'u', was read as a label" in note for note in table.notes) == (name == "lines.txt")
    assert scan(data, labels_from=path, rows="1:").read().labels.tolist() == ["v", "u"]
    twice = scan(write("n.csv", "id,x\na,1\nb,2\n"), labels_from=f"{write('y.csv', 'id,k')}:k")
    write("y.csv", "id,k\nb,u\nb,v\n")
    assert any("y.csv:k was joined by order" in n for n in twice.read().notes)
    with pytest.raises(DataError, match="has 2 rows for the 3 rows of"):
        scan(data, labels_from=write("y.csv", "kind\n1\n2\n")).read()
    with pytest.raises(DataError, match="has 4 rows for the 2 rows of"):
        scan(data, labels_from=write("y.csv", "kind\n1\n2\n3\n4\n"), rows="1:").read()


def test_labels_of_arrays_and_pictures(tmp_path):
    np.savez(
        tmp_path / "x.npz", X=np.zeros((4, 3, 2)), y=np.array(["u", "v", "u", "w"]), z=np.arange(4)[:, None]
    )
    np.save(tmp_path / "y.npy", np.arange(4) / 2)
    file = tmp_path / "x.npz"
    for place, name, labels in [
        (f"{file}::y", "y", ["v", "u"]),
        (f"{file}:z", "z", [1, 2]),
        (tmp_path / "y.npy", "label", [0.5, 1]),
    ]:
        table = scan(f"{file}::X", labels_from=place, rows="1:3").read()
        assert (table.labels.tolist(), table.label_name) == (labels, name)
    with pytest.raises(DataError, match="holds 4 x 3 x 2 float64, but labels need one text or"):
        scan(f"{file}::X", labels_from=f"{file}::X").read()
    with pytest.raises(DataError, match=r"holds X \(4 x 3 x 2 float64\), y \(4 text\), z \(4 x 1 int64\)\."):
        scan(f"{file}::X", labels_from=file).read()
    (tmp_path / "p").mkdir()
    for index in (1, 2, 10):
        Image.fromarray(np.full((2, 2), index, np.uint8)).save(tmp_path / "p" / f"{index}.png")
    (tmp_path / "who.csv").write_text("picture,who\n10.png,c\n1.png,a\n2.png,b\n")
    assert scan(tmp_path / "p", labels_from=tmp_path / "who.csv").read().labels.tolist() == ["a", "b", "c"]


def test_labels_that_cannot_be(write, tmp_path, monkeypatch):
    data = write("x.csv", "x\n1\n2\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(InputTypeError, match=r"labels_from is a list\. Give the path of a file, or"):
        scan(data, labels_from=[1, 2])
    with pytest.raises(FileError, match=r"is a folder, but labels are read from a file\. Give a"):
        scan(data, labels_from=tmp_path)
    with pytest.raises(FileError, match=r"gone\.csv: there is no such file or folder\. Check the path\."):
        scan(data, labels_from="gone.csv:kind")
    with pytest.raises(ParameterError, match="label names a column of the file, and labels_from another"):
        scan(io.BytesIO(b"x"), label="x", labels_from=data)
