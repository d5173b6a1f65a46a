"""Files of every kind by their path, and streams by their content."""

import gzip
import hashlib
import io
import os
import re
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

import gramian
from gramian.errors import DataError, FileError, InputTypeError, ParameterError
from gramian.tables.choose import choose
from gramian.tables.files import Location, locate
from gramian.tables.reading import ReadingOptions

CSV = b"x,y\n1,2\n3,4.5\n"
VALUES = [[1, 2], [3, 4.5]]


def png(height=4, width=3):
    buffer = io.BytesIO()
    Image.fromarray(np.arange(height * width, dtype=np.uint8).reshape(height, width)).save(buffer, "PNG")
    return buffer.getvalue()


def content(kind):
    buffer = io.BytesIO()
    if kind == "npy":
        np.save(buffer, VALUES)
    elif kind == "npz":
        np.savez(buffer, X=VALUES)
    elif kind == "parquet":
        parquet.write_table(pa.table({"x": [1, 3], "y": [2, 4.5]}), buffer)
    elif kind == "zip":
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("a.png", png())
    else:
        return {"csv": CSV, "csv.gz": gzip.compress(CSV, mtime=0), "png": png()}[kind]
    return buffer.getvalue()


def read(path, **choice):
    return choose(locate(str(path)), ReadingOptions(**choice))


def read_stream(stream):
    return choose(stream, ReadingOptions())


KINDS = ["csv", "csv.gz", "npy", "npz", "parquet"]


def test_tables_of_every_kind_unless_truncated(tmp_path):
    for kind in KINDS:
        for name in (f"with blank.{kind}", f"имя.{kind}", f"a.b.{kind}", f"UPPER.{kind.upper()}"):
            path = tmp_path / name
            path.write_bytes(content(kind))
            table = read(path)
            assert table.values.tolist() == VALUES
            assert table.source == str(path)
            assert table.origin.sha256 == hashlib.sha256(content(kind)).hexdigest()
    for kind in ["csv.gz", "npy", "npz", "parquet", "zip"]:
        path = tmp_path / f"x.{kind}"
        data = content(kind)
        for share in (0.4, 0.7, 0.95):
            path.write_bytes(data[: int(len(data) * share)])
            with pytest.raises(FileError, match="truncated"):
                read(path)


def test_streams_of_every_kind_and_of_nothing():
    for kind in [*KINDS, "zip", "png"]:
        data = content(kind)
        table = read_stream(io.BytesIO(data))
        assert table.source == "standard input"
        assert table.origin.sha256 == hashlib.sha256(data).hexdigest()
        if kind in KINDS:
            assert table.values.tolist() == VALUES
        else:
            assert table.picture_shape == (4, 3)
    for kind in ("PNG", "JPEG", "PPM", "BMP", "GIF", "TIFF", "WEBP"):
        buffer = io.BytesIO()
        Image.fromarray(np.zeros((4, 3), np.uint8)).save(buffer, kind)
        assert read_stream(io.BytesIO(buffer.getvalue())).values.shape == (1, 4, 3)
    assert read_stream(io.BytesIO(b"BMI,age\n1,2\n")).feature_names == ("BMI", "age")
    assert read_stream(io.BytesIO(b"P5,P6\n1,2\n")).feature_names == ("P5", "P6")
    with pytest.raises(FileError, match=r"standard input is empty \(0 bytes\)\. A stream can be read"):
        read_stream(io.BytesIO())
    with pytest.raises(InputTypeError, match=r"standard input returns str, but bytes are needed\. Open it"):
        read_stream(io.StringIO("1,2"))
    closed = io.BytesIO(CSV)
    closed.close()
    with pytest.raises(FileError, match="standard input cannot be read: it is truncated, damaged"):
        read_stream(closed)


def test_keys_of_archives_are_for_archives_only(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, X=VALUES, Z=np.eye(3))
    assert read(f"{path}::Z").values.shape == (3, 3)
    assert str(locate(f"{path}::Z")) == f"{path}::Z"
    with pytest.raises(DataError, match=r"holds X \(2 x 2 float64\), Z \(3 x 3 float64\)\. Choose one,"):
        read(path)
    path = tmp_path / "a::b.csv"
    path.write_bytes(CSV)
    assert locate(str(path)) == Location(path)
    path = tmp_path / "x.csv"
    path.write_bytes(CSV)
    with pytest.raises(ParameterError, match=r"::NAME chooses one array or sheet of a file of \.xlsx,"):
        locate(f"{path}::X")


def test_paths_kinds_and_empty_files_that_are_refused(tmp_path):
    (tmp_path / "USArrests.csv").write_bytes(CSV)
    with pytest.raises(FileError, match=r"there is no such file or folder\. Did you mean"):
        locate(str(tmp_path / "USArests.csv"))
    with pytest.raises(FileError, match=r"there is no such file or folder\. The folder"):
        locate(str(tmp_path / "gone" / "x.csv"))
    with pytest.raises(FileError, match=r"there is no such file or folder\. The folder"):
        locate(str(tmp_path / "USArrests.csv" / "x.csv"))
    with pytest.raises(FileError, match=r"there is no such file or folder\. Check the path\."):
        locate(str(tmp_path / "gone.npz::X"))
    with pytest.raises(ParameterError, match=r"is empty\. Give the path of a file or a folder\."):
        locate("  ")
    for name in ("a\0b.csv", "a" * 5000):
        with pytest.raises(FileError, match="cannot be opened"):
            locate(name)
    with pytest.raises(FileError, match=r"\[2J\.csv: there is no such file or folder\. Check the path\."):
        locate("a\x1b[2J.csv")
    with pytest.raises(FileError, match="xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"):
        locate("x" * 300)
    for name in ["x.vcf.gz", "x.rds", "x.idx", "x.feather", "x.npy.gz", "x"]:
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(FileError, match=r"is a file of the kind|is a file without a"):
            locate(str(tmp_path / name))
    (tmp_path / "x.npz").write_bytes(content("zip"))
    with pytest.raises(DataError, match=r"holds no arrays of numbers or text\. Is it the right file\?"):
        read(tmp_path / "x.npz")
    (tmp_path / "x.zip").write_bytes(content("npz"))
    with pytest.raises(DataError, match=r"holds no pictures but 1 other file \(X\.npy\)\. Pictures are"):
        read(tmp_path / "x.zip")
    for kind in (*KINDS, "zip", "png", "tsv", "txt"):
        path = tmp_path / f"x.{kind}"
        path.write_bytes(b"")
        with pytest.raises(FileError, match=r"is empty \(0 bytes\)\. Make or copy it"):
            read(path)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"", mtime=0))
    with pytest.raises(FileError, match="0 bytes when unpacked"):
        read(tmp_path / "x.csv.gz")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("csv", "is neither text nor a file of another known kind: bytes of it are 0. Save the table as CSV"),
        ("csv.gz", "is neither text nor"),
        ("npy", "of another kind .the magic string is not correct"),
        ("npz", "of another kind .File is not a zip file"),
        ("parquet", "or this is not a parquet file"),
        ("zip", "of another kind .File is not a zip file"),
        ("png", "is not a picture despite its name"),
    ],
)
def test_files_named_like_another_kind_are_refused(tmp_path, name, message):
    path = tmp_path / f"x.{name}"
    for kind in ("csv", "npy", "npz", "parquet", "zip", "png"):
        # An archive of arrays is a zip archive; what the wrong one lacks is said elsewhere.
        if kind not in name and {name, kind} != {"npz", "zip"}:
            path.write_bytes(content(kind))
            with pytest.raises(FileError, match=message):
                read(path)


def test_documents_are_said_to_be_no_tables(tmp_path):
    for name, content, what in [
        (
            "report.pdf",
            b"%PDF-1.4\n1 0 obj\n",
            "is a file of the kind .pdf, which is not supported. Save it as one that is read: .csv",
        ),
        (
            "survey.dta",
            b"stata",
            "a .zip of them (FILE::NAME for an array or sheet of several). pandas.read_stata reads",
        ),
        ("report.csv", b"%PDF-1.4\n1 0 obj, 2\n", "report.csv is not a table: it is a PDF document"),
        ("binary.csv", b"%PDF-1.4\n\0\xff\n", "binary.csv is not a table: it is a PDF document"),
        (
            "page.csv",
            b"\n<!DOCTYPE html>\n<html><td>1,2</td></html>",
            "page.csv is not a table: it is a web page",
        ),
        ("letter.txt", b"{\\rtf1\\ansi 1,2}", "letter.txt is not a table: it is a text document"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileError, match=re.escape(what)):
            gramian.scan(tmp_path / name).read()
        if name.endswith(".dta"):
            continue  # a stream has no suffix
        with pytest.raises(FileError, match="is not a table"):
            gramian.scan(named(content, name)).read()


def named(content, name):
    """A stream of an upload, whose name does not count."""
    stream = io.BytesIO(content)
    stream.name = name
    return stream


def test_folder_list_and_single_picture(tmp_path):
    paths = [tmp_path / "s1" / "2.png", tmp_path / "s1" / "10.png"]
    paths[0].parent.mkdir()
    for path in paths:
        path.write_bytes(png())
    (tmp_path / "notes.txt").write_text("x")
    table = read(tmp_path, rows=slice(1, 2))
    assert table.row_names == ("s1/10.png",)
    assert table.notes == (f"1 other file was skipped in folder {tmp_path}: notes.txt",)
    assert choose(paths[::-1], ReadingOptions()).row_names[0].endswith("s1/10.png")
    single = read(paths[0])
    assert single.values.shape == (1, 4, 3)
    assert single.row_names == ("2.png",)
    assert single.origin.sha256 == hashlib.sha256(png()).hexdigest()
    (tmp_path / "x.png").write_bytes(png())
    np.save(tmp_path / "x.npy", np.zeros((3, 4, 5)))
    for name in ("x.png", "x.npy"):
        with pytest.raises(ParameterError, match=r"which holds pictures\. Leave it out\."):
            read(tmp_path / name, label="0")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd on this system")
def test_pipes_are_read_by_their_content():
    reading, writing = os.pipe()
    os.write(writing, CSV)
    os.close(writing)
    try:
        assert read(f"/dev/fd/{reading}").values.tolist() == VALUES
    finally:
        os.close(reading)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_file_without_permission(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(CSV)
    path.chmod(0)
    with pytest.raises(FileError, match="Permission denied"):
        read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_named_like_an_archive_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("x.zip", "x.npz", "x.npy", "x.png", "x.parquet"):
        (tmp_path / name).symlink_to(tmp_path / "pipe")
        with pytest.raises(FileError, match=r"is not a regular file\. Save its"):
            read(tmp_path / name)
