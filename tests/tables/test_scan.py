"""Scans: arguments are checked at once, the file is read later."""

import contextlib
import dataclasses
import io
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gramian.errors import DataError, FileError, GramianError, InputTypeError, ParameterError
from gramian.tables.scan import Scan, scan
from helpers import existing

CSV = "name,x,y,kind\na,1,2,u\nb,3,,v\nc,5,6,u\nd,7,8,v\n"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text(CSV)
    return file


@pytest.fixture
def folder(tmp_path):
    for index, shape in enumerate([(4, 3), (4, 3), (8, 6)]):
        Image.fromarray(np.full(shape, index, np.uint8)).save(tmp_path / f"{index}.png")
    return tmp_path


def test_rows_and_columns_everything_together(path):
    table = scan(path, rows=":3", columns="y,x", label="kind", missing="mean").read()
    assert table.values.tolist() == [[2, 1], [4, 3], [6, 5]]
    assert table.feature_names == ("y", "x")
    assert table.row_names == ("a", "b", "c")
    assert table.labels.tolist() == ["u", "v", "u"]
    assert table.label_name == "kind"
    assert table.notes == (
        'row names were taken from column "name", which holds unique text',
        "1 missing value in 1 column was filled with column means",
    )
    for text, expected in [
        ("1:3", slice(1, 3)),
        ("2:", slice(2, None)),
        (":2", slice(None, 2)),
        (" 0 : 4 : 2 ", slice(0, 4, 2)),
        ("-2:", slice(-2, None)),
        (slice(1, 3), slice(1, 3)),
        (slice(np.int64(1), 3), slice(1, 3)),
    ]:
        later = scan(path, rows=text, columns="x", id="name")
        assert later.rows == expected
        assert later.read().values[:, 0].tolist() == [1, 3, 5, 7][expected]
    with pytest.raises(DataError, match=r"Input X contains NaN: row 1 \(named"):
        scan(path, rows="1:3", label="kind").read()
    with pytest.raises(DataError, match=r"Input X contains NaN: row 1 \(named"):
        scan(path, rows="-3:", label="kind").read()
    assert scan(path, label="kind", missing="drop-rows").read().labels.tolist() == ["u", "u", "v"]
    assert scan(path, drop="kind", missing="drop-columns").read().feature_names == ("x",)


def test_names_can_be_quoted_and_marks_be_numbers(tmp_path, folder):
    file = tmp_path / "x.csv"
    file.write_text('"a, b",c\n1,2\n')
    assert scan(file, columns='"a, b"').read().feature_names == ("a, b",)
    assert scan(file, columns=["a, b"]).read().feature_names == ("a, b",)
    values = np.arange(24, dtype=">i4").reshape(4, 6)
    np.save(tmp_path / "x.npy", values)
    table = scan(tmp_path / "x.npy", rows="::2").read()
    assert table.values.flags.c_contiguous
    assert table.values.dtype == np.int32
    np.testing.assert_array_equal(table.values, values[::2])
    (tmp_path / "x.csv").write_text("x,y\n1,-999\n-,2\n")
    for marks in (["-", -999], "-,-999", ["-", -999.0]):
        table = scan(tmp_path / "x.csv", na_values=marks, missing="mean").read()
        assert table.values.tolist() == [[1, 2], [1, 2]]
    assert scan(tmp_path / "x.csv", na_values=-999).na_values == ("-999",)
    np.save(tmp_path / "x.npy", np.eye(2))
    for place in (tmp_path / "x.npy", folder / "0.png"):
        with pytest.raises(ParameterError, match="na_values does not apply to"):
            scan(place, na_values="-").read()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rows": "5"}, ParameterError),
        ({"rows": "0:4:0"}, ParameterError),
        ({"rows": slice(None, None, -1)}, ParameterError),
        ({"rows": 5}, InputTypeError),
        ({"columns": {"x": 1}}, ParameterError),
        ({"columns": [1]}, ParameterError),
        ({"columns": []}, ParameterError),
        ({"drop": "x,,y"}, ParameterError),
        ({"drop": "x,x"}, ParameterError),
        ({"id": ["x"]}, ParameterError),
        ({"label": ""}, ParameterError),
        ({"columns": "x,y", "drop": "y"}, ParameterError),
        ({"id": "x", "label": "x"}, ParameterError),
        ({"missing": "zero"}, ParameterError),
        ({"na_values": "\udcff"}, ParameterError),
        ({"na_values": []}, ParameterError),
        ({"size": "0x5"}, InputTypeError),
        ({"size": (3, 4, 5)}, InputTypeError),
        ({"size": 3}, InputTypeError),
        ({"size": "24×28"}, ParameterError),
    ],
)
def test_arguments_are_checked_at_once(path, options, error):
    with pytest.raises(
        error, match=r"holds no names|is not|no such|must be|columns, drop, id|rows is a int|is empty"
    ):
        scan(path, **options)


def test_a_scan_is_frozen_reads_later_and_is_refused_then(path):
    for options, message in (
        ({"columns": "z", "label": "kind"}, r"has no such column\. Its 4 columns"),
        ({"drop": "kinds"}, r"has no such column\. Did you mean"),
        ({"rows": "0:5", "label": "kind"}, "reaches outside the 4 rows of"),
        ({"rows": "2:2", "label": "kind"}, "selects none of the 4 rows of"),
        ({"size": "3x4"}, r"which holds a table\. Leave it out\."),
    ):
        with pytest.raises(ParameterError, match=message):
            scan(path, **options).read()

    class Place:
        def __fspath__(self):
            return os.fsencode(path)

    assert scan(Place(), drop="kind,y").read().values.shape == (4, 1)
    later = scan(str(path), drop=["kind", "y"])
    assert later == Scan(str(path), drop=("kind", "y"))
    path.write_text("x,y,kind\n9,8,u\n")
    assert later.read().values.tolist() == [[9]]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        later.missing = "mean"
    path.unlink()
    with pytest.raises(FileError, match=r"cannot be read: No such file or directory\. Check the path\."):
        later.read()


def test_paths_are_checked_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # without files of a similar name, which a message would suggest
    for wrong, error, message in (
        (np.eye(2), InputTypeError, r"path is a ndarray\. Allowed are a"),
        (None, InputTypeError, r"path is a NoneType\. Allowed are a"),
        ([], ParameterError, r"path=\[\] names no picture\. Give at"),
        ([1], InputTypeError, r"path is a list\. Allowed are a path,"),
        (["gone.png"], FileError, r"gone\.png: there is no such file or"),
        ("gone.csv", FileError, r"gone\.csv: there is no such file or"),
        (Path("gone.csv"), FileError, r"gone\.csv: there is no such file or"),
    ):
        with pytest.raises(error, match=message):
            scan(wrong)


def test_pictures_come_from_folders_and_lists(folder, path):
    with pytest.raises(DataError, match=r"pictures of different sizes: 0\.png is 3x4, 2\.png is 6x8"):
        scan(folder).read()
    assert scan(folder, rows="0:2").read().values.shape == (2, 4, 3)
    assert scan(folder, size="6x8").read().values.shape == (3, 8, 6)
    table = scan([folder / "1.png", str(folder / "0.png")]).read()
    assert table.values[:, 0, 0].tolist() == [1, 0]
    with pytest.raises(ParameterError, match="transpose=True is for tables, but"):
        scan(folder, rows="0:2", transpose=True).read()
    assert scan([folder], size="6x8").read().values.shape == (3, 8, 6)
    with pytest.raises(DataError, match=r"is not named like a picture\. A list of paths is for"):
        scan([path]).read()


@given(st.lists(st.sampled_from([*",; \t|\n\r\"#.-+e0123456789", "NA", "a", "é", "\n", ",", "1"]),
                max_size=60))  # fmt: skip
def test_no_text_raises_anything_foreign(pieces):
    try:
        table = scan(io.BytesIO("".join(pieces).encode())).read()
    except GramianError:
        return
    assert table.values.ndim == 2
    assert np.isfinite(table.values).all()


@given(st.binary(max_size=80))
def test_no_bytes_raise_anything_foreign(data):
    with contextlib.suppress(GramianError):
        scan(io.BytesIO(data)).read()


def test_public_tables(data_dir):
    table = scan(existing(data_dir, "tables", "datasets_USArrests.csv")).read()
    assert table.values.shape == (50, 4)
    assert table.feature_names == ("Murder", "Assault", "UrbanPop", "Rape")
    assert table.row_names[:2] == ("Alabama", "Alaska")
    file = existing(data_dir, "tables", "oil_flow", "DataTrn.txt")
    table = scan(file).read()
    np.testing.assert_array_equal(table.values, np.loadtxt(file))
    assert table.feature_names is None
    assert scan(existing(data_dir, "tables", "places.csv")).read().values.shape == (329, 14)
    turtles = scan(existing(data_dir, "tables", "tortues.csv"), label="sexe").read()
    assert turtles.feature_names == ("long", "larg", "haut")
    file = existing(data_dir, "tables", "multidrug_nci60.npz")
    with pytest.raises(DataError, match="Input X contains NaN: 3,300 values are missing in 54 rows"):
        scan(f"{file}::compound").read()
    assert scan(f"{file}::compound", missing="mean").read().values.shape == (60, 1429)
    with pytest.raises(DataError, match=r"ABC .*compound .*cls .*::compound"):  # names the folder of data
        scan(file).read()


@pytest.mark.walk
def test_nci60_with_labels(data_dir):
    table = scan(existing(data_dir, "tables", "ISLR_NCI60.csv"), label="labs").read()
    assert table.values.shape == (64, 6830)
    assert len(set(table.labels)) == 14
    with pytest.raises(DataError, match="holds no numbers: 'labs'"):
        scan(data_dir / "tables" / "ISLR_NCI60.csv").read()


def test_faces_of_orl_and_yale(data_dir):
    faces = scan(existing(data_dir, "faces", "orl"), rows="0:20", size="46x56").read()
    assert faces.values.shape == (20, 56, 46)
    file = existing(data_dir, "faces", "extended_yale_b_cropped_u8.npz")
    yale = scan(f"{file}::X", rows="0:100").read()
    assert yale.values.shape == (100, 192, 168)
    assert yale.values.dtype == np.uint8
    assert yale.picture_shape == (192, 168)
