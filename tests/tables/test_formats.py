"""The registry of formats: every one is told by its content, documented, and listed where it should be."""

import io
import re
import struct
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from gramian import scan
from gramian.app.verb import DATA
from gramian.errors import FileError
from gramian.tables.formats import FORMATS, READABLE, by_content, by_name

DOCS = Path(__file__).parents[2] / "docs"
# Kinds that no stream can be: folders, and .bed, which is three files. Text is what nothing else tells.
WITHOUT_CONTENT = {"folder", "zarr", "bed", "text"}
X = np.arange(12.0).reshape(4, 3)


def zipped(name, data=b""):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


def written(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def hdf5(*names):
    def write(buffer):
        with h5py.File(buffer, "w") as file:
            for name in names:
                file[name] = X

    return written(write)


TABLE = pa.table({"x": [1.0, 2.0]})
SAMPLES = {
    "excel": zipped("xl/workbook.xml"),
    "parquet": written(lambda buffer: parquet.write_table(TABLE, buffer)),
    "npy": written(lambda buffer: np.save(buffer, X)),
    "npz": written(lambda buffer: np.savez(buffer, X=X)),
    "mat": b"MATLAB 7.3 MAT-file",
    "h5ad": hdf5("X", "obs", "var"),
    "hdf5": hdf5("X"),
    "netcdf": b"CDF\1" + bytes(28),
    "picture": written(lambda buffer: Image.new("L", (2, 2)).save(buffer, "PNG")),
    "zip": zipped("a.png"),
}


def rows_of(page):
    """Return the first cells of the tables of a page of docs."""
    return " ".join(re.findall(r"(?m)^\|(.*?[^\\])\|", (DOCS / page).read_text(encoding="utf-8")))


def test_every_format_has_a_page_and_what_help_lists_is_read():
    cells = rows_of("cli.md")
    for format in FORMATS:
        for suffix in () if format.name == "picture" else format.suffixes:
            assert f"`{suffix}`" in cells, f"{suffix} is not in the table of cli.md"
    left = rows_of("large_data.md") + (DOCS / "containers.md").read_text(encoding="utf-8")
    for format in FORMATS:
        known = format.suffixes[0] if format.suffixes else format.name
        assert format.name == "text" or not format.in_blocks or known in left, known
    for text in (READABLE, DATA.help):
        named = re.findall(r"\.[a-z0-9]+\b", text)
        assert named
        assert all(suffix == ".gz" or by_name(Path(f"x{suffix}")) for suffix in named)
    assert {suffix for format in FORMATS for suffix in format.suffixes if format.name != "picture"} <= set(
        re.findall(r"\.[a-z0-9]+\b", READABLE)
    )


@pytest.mark.parametrize(
    "data", [b"%PDF-1.4\n\x01\x02\x03 stream", b"\x7fELF\x02\x01\x01", b"\x80\x04\x95\x00", bytes(range(256))]
)
def test_a_stream_of_no_known_kind_is_refused(data):
    with pytest.raises(FileError, match="standard input is n"):
        scan(io.BytesIO(data)).read()


def test_whatever_a_reader_raises_is_an_error_of_the_file(tmp_path, monkeypatch):
    def fails(opened, key):
        raise struct.error("unpack requires a buffer of 8 bytes")

    monkeypatch.setattr("gramian.tables.formats.arrays.open_npy", fails)
    (tmp_path / "x.npy").write_bytes(SAMPLES["npy"])
    for data in (tmp_path / "x.npy", io.BytesIO(SAMPLES["npy"])):
        with pytest.raises(FileError, match=r"cannot be read: it is truncated.* of 8 bytes\)\. Make"):
            scan(data).read()


def test_text_in_any_encoding_stays_text_and_formats_are_told():
    for text in (
        b"x,y\r\n1,2\r\n",
        "\ufeffx,y\n1,2\n".encode(),
        "x,y\n1,2\n".encode("utf-16"),
        b"x,\xe9\n1,2\n",
    ):
        assert scan(io.BytesIO(text)).read().values.tolist() == [[1, 2]]
    assert {format.name for format in FORMATS} == SAMPLES.keys() | WITHOUT_CONTENT
    for name, data in SAMPLES.items():
        assert by_content(io.BytesIO(data)).name == name
    assert by_content(io.BytesIO(b"x,y\n1,2\n")) is None
    assert by_content(io.BytesIO(b"PK\x03\x04 damaged")).name == "zip"
    for format in FORMATS:
        for suffix in format.suffixes:
            assert by_name(Path(f"a.b{suffix.upper()}")) is format
            assert (by_name(Path(f"a{suffix}.gz")) is format) == format.packed
    assert by_name(Path("a")) is None
