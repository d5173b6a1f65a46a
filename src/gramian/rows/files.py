"""From a path or an open file to a table: its kind, the reader for that, or how it is left on disk."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import memory_limit_bytes
from gramian.checks import amount
from gramian.errors import FileError, InputTypeError, MemoryLimitError, ParameterError, reason, shortened
from gramian.rows.annotated import read_annotated, stored_annotated
from gramian.rows.archives import Use
from gramian.rows.array import bytes_of_rows
from gramian.rows.excel import sheet_as_text
from gramian.rows.hdf5 import read_hdf5, stored_hdf5
from gramian.rows.idx import read_idx
from gramian.rows.matlab import is_mat4, read_mat
from gramian.rows.numpy_files import hash_of_npy, read_npy, read_npz, read_sparse_npz, stored_npy, stored_npz
from gramian.rows.pictures import (
    PICTURE_SUFFIXES,
    SAVE_FIRST,
    PictureFile,
    natural_key,
    open_picture,
    opened_zip,
    pictures_in_folder,
    pictures_in_list,
    pictures_in_zip,
    read_pictures,
    readable,
)
from gramian.rows.plink import read_bed, stored_bed
from gramian.rows.spool import copied, rows_taken
from gramian.rows.stored import OnDisk, whole_within
from gramian.rows.stored_zarr import StoredZarr, array_of, header_of, is_zarr, read_zarr
from gramian.rows.table import Choice, Table, array_roles, pick_rows, table_from_array

if TYPE_CHECKING:
    from gramian.rows.columns import ColumnSource

_TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_KINDS = {
    **dict.fromkeys(_TEXT_SUFFIXES, "text"),
    **dict.fromkeys(PICTURE_SUFFIXES, "picture"),
    **dict.fromkeys((".gct", ".gct.gz"), "gct"),
    **dict.fromkeys((".idx", ".idx.gz"), "idx"),
    **dict.fromkeys((".xlsx", ".xlsm"), "excel"),
    **dict.fromkeys((".feather", ".arrow"), "arrow"),
    **dict.fromkeys((".h5", ".hdf5"), "hdf5"),
    ".bed": "bed",
    ".h5ad": "annotated",
    ".mat": "mat",
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".zip": "zip",
}
# As the files of MNIST are named: train-images-idx3-ubyte.gz.
_IDX_NAME = re.compile(r"[.-](idx\d(-\w+)?|ubyte)(\.gz)?$")
ARRAYS = ("npy", "npz", "mat", "hdf5", "idx")
_READ_WHOLE = ("idx", "picture")
_HASHED = 64 << 20  # bytes up to which also those kinds are read at once of which otherwise parts are
_WITH_KEYS = ("npz", "mat", "hdf5", "excel", "zarr")
_WITH_MARKS = ("text", "gct", "excel")
# Kinds that are read from their end, or whose size is checked first: no pipe gives them.
_REGULAR = [suffix for suffix, kind in _KINDS.items() if kind not in ("text", "gct", "idx")]
_SUPPORTED = (
    ".csv .tsv .txt .gct (also with .gz), .xlsx, .parquet, .feather, .arrow, .npy, .npz, .mat, .h5, .h5ad, "
    ".zarr, .bed (PLINK), IDX (FILE::NAME for an array or sheet of several), a picture, and a folder or "
    ".zip of pictures"
)


@dataclass(frozen=True)
class Location:
    """A path that exists, and the array meant in it where it is an archive of arrays."""

    path: Path
    key: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.key is None else f"{self.path}::{self.key}"


def locate(text: str) -> Location:
    """Split ``FILE::KEY`` and check that the file is there.

    Raises
    ------
    FileError
        If there is no such file or folder, or its kind is not supported.
    ParameterError
        If the text is empty, or names a key in a file that is no archive of arrays.
    """
    if not text.strip():
        raise ParameterError("the path is empty. Give the path of a file or a folder.")
    name, separator, key = text.rpartition("::")
    location = Location(Path(text))
    if separator and not _exists(location.path):
        location = Location(Path(name), key)
    path = location.path
    if not _exists(path):
        raise FileError(f"{readable(str(path))}: there is no such file or folder. {_similar(path)}")
    if not path.is_dir() and not path.is_file():
        return location
    kind = kind_of_folder(path) if path.is_dir() else kind_of(path)
    if location.key is not None and kind not in _WITH_KEYS:
        raise ParameterError(
            f"{readable(text)}: ::NAME names an array in an .npz, .mat, .h5 or .zarr file, or a sheet in an "
            f".xlsx file. Leave out ::{key}."
        )
    return location


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        raise FileError(
            f"{shortened(readable(str(path)))!r} cannot be opened: {why}. Check the path."
        ) from error
    return True


def _similar(path: Path) -> str:
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f"Neither is there a folder {readable(str(path.parent))}."
    close = [readable(name) for name in difflib.get_close_matches(path.name, names, n=2)]
    return f"Did you mean {' or '.join(close)}?" if close else "Check the path."


def kind_of(path: Path) -> str:
    """Tell the kind of a file from its name.

    Raises
    ------
    FileError
        If it is one that is not read.
    """
    name = path.name.lower()
    suffix = Path(name).suffix
    if suffix == ".gz":
        suffix = Path(name.removesuffix(".gz")).suffix + ".gz"
    if suffix in _KINDS:
        return _KINDS[suffix]
    if _IDX_NAME.search(name):
        return "idx"
    advice = ""
    if suffix in (".xls", ".ods"):
        advice = " Save the sheet as .xlsx or CSV."
    elif suffix in (".pkl", ".pickle", ".joblib"):
        advice = " Save the array as .npy."
    kind = f"of the kind {readable(suffix)}" if suffix else "without a suffix"
    raise FileError(
        f"{readable(str(path))} is a file {kind}, which is not read. Readable are {_SUPPORTED}.{advice}"
    )


def read_location(location: Location, choice: Choice) -> Table:
    """Read a file or a folder.

    Raises
    ------
    FileError
        If the file is empty, truncated, damaged, or of another kind than its name says.
    DataError
        If what it holds cannot be a table of numbers.
    ParameterError
        If the choice names what is not there, or does not apply to this kind.
    """
    path, source = location.path, readable(str(location.path))
    if path.is_dir():
        zarr = kind_of_folder(path) == "zarr"
        return read_zarr(path, location.key, choice, source) if zarr else read_folder(path, choice)
    with opened(path, source) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return read_stream(file, choice, source)
        kind, content = kind_of(path), None
        small = os.fstat(file.fileno()).st_size <= _HASHED and kind != "bed"  # which is three files
        if kind in _READ_WHOLE or small:
            content = file.read()
        table = _read_kind(
            kind, file if content is None else io.BytesIO(content), location.key, choice, source
        )
    return table if content is None else _hashed(table, content)


def _hashed(table: Table, content: bytes) -> Table:
    return replace(table, sha256=hashlib.sha256(content).hexdigest(), hashed="the bytes of the file")


def read_folder(path: Path, choice: Choice, within: int | None = None) -> Table:
    """Read a folder of pictures, or of Parquet files, which are one table.

    Parameters
    ----------
    path : Path
    choice : Choice
    within : int, optional
        Bytes up to which pictures are held in memory.
    """
    source = readable(str(path))
    if files := parquet_files(path):
        from gramian.rows.columns import table_of_columns
        from gramian.rows.formats.parquet import parquet_source

        choice.refuse_marks(source, "numbers")
        choice.refuse_size(source)
        return table_of_columns(parquet_source(files, source), choice)
    pictures, notes = pictures_in_folder(path)
    return _with_notes(_pictures(pictures, choice, source, within), notes)


def kind_of_folder(path: Path) -> str:
    """Tell what a folder holds: a Zarr store, the Parquet files of one table, or pictures."""
    if is_zarr(path):
        return "zarr"
    return "parquet" if parquet_files(path) else "folder"


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder with nothing else in it, in natural order; else none."""
    with suppress(OSError):
        visible = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
        if all(path.suffix.lower() == ".parquet" for path in visible):
            return sorted(visible, key=lambda path: natural_key(path.name))
    return []


def read_zip(path: Path, choice: Choice, within: int | None = None) -> Table:
    """Read a zip archive of pictures; as :func:`read_folder`."""
    source = readable(str(path))
    with opened(path, source) as file:
        return _zip(file, choice, source, within)


def _zip(file: IO[bytes], choice: Choice, source: str, within: int | None = None) -> Table:
    with opened_zip(file, source) as archive:
        pictures, notes = pictures_in_zip(archive, source)
        return _with_notes(_pictures(pictures, choice, source, within), notes)


@contextmanager
def opened(path: Path, source: str) -> Iterator[io.BufferedReader]:
    """Open a file, and say what is wrong with one that cannot be read.

    Raises
    ------
    FileError
        If it is empty, not there, not allowed, or a pipe where that cannot be.
    """
    regular = path.suffix.lower() in _REGULAR
    try:
        with open_picture(path, source, SAVE_FIRST) if regular else path.open("rb") as file:
            found = os.fstat(file.fileno())
            if stat.S_ISREG(found.st_mode) and found.st_size == 0:
                raise FileError(f"{source} is empty (0 bytes). Make or copy it again.")
            yield file
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{source} cannot be read: {reason(error)}. Check the path.") from error


def read_stream(stream: IO[bytes], choice: Choice, source: str | None = None) -> Table:
    """Read a binary stream to its end; its kind is told from its content.

    What it is called, unless ``source`` says that, is its ``name``, or else standard input.

    Raises
    ------
    InputTypeError
        If the stream gives text instead of bytes.
    FileError, DataError, ParameterError
        As for a file.

    Examples
    --------
    >>> read_stream(io.BytesIO(b"x,y\\n1,2\\n"), Choice()).feature_names
    ('x', 'y')
    """
    if source is None:
        name = getattr(stream, "name", None)
        source = name if isinstance(name, str) and name != "<stdin>" else "standard input"
    try:
        data = stream.read()
    except (OSError, ValueError) as error:
        raise FileError(f"{source} cannot be read: {error}.") from error
    if not isinstance(data, bytes):
        raise InputTypeError(
            f"{source} gives {type(data).__name__}, but bytes are needed. "
            'Open it with mode "rb", or pass sys.stdin.buffer.'
        )
    if not data:
        raise FileError(f"{source} is empty (0 bytes). A stream can be read only once.")
    kind, file = kind_of_content(data, source)
    table = _read_kind(kind, file, None, choice, source)
    return _hashed(table, data)


def kind_of_content(data: bytes, source: str) -> tuple[str, io.BytesIO]:
    """Tell the kind of the bytes of a file, and return them unpacked as one.

    Raises
    ------
    FileError
        If it is damaged.
    """
    content = _unpacked(data, source)
    kind, file = _sniff(content[:64]) or "text", io.BytesIO(content)
    return _kind_of_zip(file) if kind == "zip" else kind, file


def read_picture_list(paths: Sequence[Path], choice: Choice, within: int | None = None) -> Table:
    """Read a list of picture files, in its order; as :func:`read_folder`.

    Raises
    ------
    DataError
        If one is no picture, or sizes differ.
    FileError
        If one is missing or damaged.
    """
    return _pictures(pictures_in_list(paths), choice, f"{len(paths)} pictures", within)


def _with_notes(table: Table, notes: tuple[str, ...]) -> Table:
    return replace(table, notes=(*notes, *table.notes)) if notes else table


def _sniff(head: bytes) -> str | None:
    """Tell the kind from the first bytes; None for what may be text."""
    for magic, kind in (
        (b"\x93NUMPY", "npy"),
        (b"PK\x03\x04", "zip"),
        (b"PK\x05\x06", "zip"),
        (b"PAR1", "parquet"),
        (b"ARROW1", "arrow"),
        (b"\x89HDF\r\n", "hdf5"),
        (b"MATLAB ", "mat"),
        (b"#1.2", "gct"),
        (b"#1.3", "gct"),
        (b"\x89PNG", "picture"),
        (b"\xff\xd8\xff", "picture"),
        (b"GIF87a", "picture"),
        (b"GIF89a", "picture"),
        (b"II*\0", "picture"),
        (b"MM\0*", "picture"),
    ):
        if head.startswith(magic):
            return kind
    if re.match(rb"\0\0[\x08\x09\x0b-\x0e][\1-\3]", head):
        return "idx"
    if is_mat4(head):
        return "mat"
    webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    # Text may begin with BM or P5 as well, but a bitmap has four zero bytes after its length.
    bitmap = head[:2] == b"BM" and head[6:10] == b"\0\0\0\0"
    return "picture" if webp or bitmap or re.match(rb"P[1-6][\r\n]", head) else None


def _kind_of_zip(file: IO[bytes]) -> str:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return "zip"
    if "xl/workbook.xml" in names:
        return "excel"
    return "npz" if any(name.endswith(".npy") for name in names) else "zip"


def _read_kind(kind: str, file: IO[bytes], key: str | None, choice: Choice, source: str) -> Table:
    file.seek(0)
    if kind == "picture":
        picture = PictureFile(Path(source).name, partial(io.BytesIO, file.read()))
        return _pictures([picture], choice, source)
    if kind == "zip":
        return _zip(file, choice, source)
    if kind not in _WITH_MARKS:
        choice.refuse_marks(source, "numbers")
    choice.refuse_size(source)
    if kind == "annotated":
        return read_annotated(file, choice, source)
    if kind == "bed":
        return read_bed(Path(file.name), choice, source)
    if kind in ARRAYS:
        array, notes = matrix_in(kind, file, key, source)
        table = _with_notes(table_from_array(array, choice, source), notes)
        if kind != "npy" or isinstance(file, io.BytesIO):
            return table
        return replace(table, sha256=hash_of_npy(file, array), hashed="the bytes of the file")
    # Arrow takes longer to import than everything else here, and only columns need it.
    from gramian.rows.columns import table_of_columns

    return table_of_columns(column_source(kind, file, key, source), choice)


def matrix_in(kind: str, file: IO[bytes], key: str | None, source: str) -> tuple[Any, tuple[str, ...]]:
    """Read the table of a file of a kind in ``ARRAYS``, which may be a sparse matrix, and notes."""
    sparse = read_sparse_npz(file, source) if kind == "npz" and key is None else None
    return array_in(kind, file, key, source) if sparse is None else (sparse, ())


def array_in(
    kind: str, file: IO[bytes], key: str | None, source: str, use: Use = "table"
) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Read an array of a file of a kind in ``ARRAYS``, and notes on which."""
    if kind == "npy":
        return read_npy(file, source, use), ()
    if kind == "idx":
        return read_idx(_unpacked(file.read(), source), source, use), ()
    return {"npz": read_npz, "mat": read_mat, "hdf5": read_hdf5}[kind](file, key, source, use)


def column_source(kind: str, file: IO[bytes], key: str | None, source: str) -> ColumnSource:
    """Return the columns of a file of any other kind of table."""
    from gramian.rows.formats.gct import gct_source
    from gramian.rows.formats.parquet import arrow_source, parquet_source
    from gramian.rows.formats.text import text_source

    if kind == "parquet":
        return parquet_source([file], source)
    if kind == "arrow":
        return arrow_source(file, source)
    if kind == "gct":
        return gct_source(file, source)
    if kind == "excel":
        data, notes = sheet_as_text(file, key, source)
        return text_source(io.BytesIO(data), source, notes=notes)
    return text_source(file, source)


def _pictures(
    pictures: Sequence[PictureFile], choice: Choice, source: str, within: int | None = None
) -> Table:
    choice.refuse_columns(source)
    choice.refuse_marks(source, "pictures")
    return read_pictures(pictures, source, choice.rows, choice.size, within)


def _unpacked(data: bytes, source: str) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    limit = memory_limit_bytes(None)
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            data = packed.read(limit)
            more = packed.read(1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{source} is truncated or damaged gzip ({error}). Make or copy it again.") from error
    if more:
        raise MemoryLimitError(
            f"{source} takes more than the {amount(limit)} of memory that may be used when it is unpacked. "
            "Pack a part of it, or raise GRAMIAN_MEMORY_LIMIT."
        )
    if not data:
        raise FileError(f"{source} is empty: 0 bytes when unpacked. Make or copy it again.")
    return data


# --------------------------------------- too large to be read as a whole

Stored = Callable[[Location, Choice, int, str], Table | None]


def stored_table(place: Location, choice: Choice, limit: int) -> Table | None:
    """Return the table with its numbers on disk: in the file itself, or copied to a spool.

    Parameters
    ----------
    place : Location
    choice : Choice
    limit : int
        Bytes of working memory.

    Returns
    -------
    Table or None
        None where the file is small, or of a kind that is read as a whole only.

    Raises
    ------
    FileError
        If the disk is full, and as the file's reader says.
    DataError, ParameterError
        As the file's reader says.
    MemoryLimitError
        If the file can only be read as a whole, and is larger than memory.
    """
    folder = place.path.is_dir()
    if not folder and not place.path.is_file():
        return None
    kind = kind_of_folder(place.path) if folder else kind_of(place.path)
    found, source = STORED.get(kind), readable(str(place))
    if found is None or choice.label_row is not None:
        if not folder:
            _refuse_whole(place, limit)
        return None
    if kind not in ("folder", "zip"):
        if kind != "text":
            choice.refuse_marks(source, "numbers")
        choice.refuse_size(source)
    return found(place, choice, limit, source)


def _refuse_whole(place: Location, limit: int) -> None:
    size, most = place.path.stat().st_size, max(limit, memory_limit_bytes(None))
    if size > most:
        raise MemoryLimitError(
            f"{readable(str(place))} has {amount(size)}, and it can only be read as a whole into the "
            f"{amount(most)} of memory that may be used. Save it as .npy, .csv or .parquet, which are read "
            "block by block (without a row of labels)."
        )


def _npy(place: Location, choice: Choice, limit: int, source: str) -> Table | None:
    stored, notes = stored_npy(place.path, source)
    if stored is None or bytes_of_rows(stored.shape, stored.dtype) <= whole_within(limit):
        return None
    return table_of_stored(stored, choice, source, notes)


def _hdf5(place: Location, choice: Choice, limit: int, source: str) -> Table | None:
    found, notes = stored_hdf5(place.path, place.key, choice, limit, source)
    return table_of_stored(found, choice, source, notes) if isinstance(found, OnDisk) else found


def _zarr(place: Location, choice: Choice, limit: int, source: str) -> Table | None:
    array, notes = array_of(place.path, place.key, source)
    header = header_of(array)
    if bytes_of_rows(header.shape, header.dtype) <= whole_within(limit):
        return None
    return table_of_stored(StoredZarr(place.path, array, limit, source), choice, source, notes)


def table_of_stored(stored: OnDisk, choice: Choice, source: str, notes: tuple[str, ...] = ()) -> Table:
    """Make a table of an array that is left in its file; columns that are chosen are copied.

    Raises
    ------
    DataError, ParameterError
        As of :func:`gramian.rows.table.table_from_array`.
    """
    rows = pick_rows(len(stored), choice.rows, source)
    shape = stored.picture_shape
    whole = (len(stored), *shape) if shape else stored.shape
    _, kept, id_column, label = array_roles(whole, choice, source)
    values, where = (stored, ()) if choice.rows is None else rows_taken(stored, rows)
    aside: dict[int, list[npt.NDArray[Any]]] = {
        place: [] for place in (id_column, label) if place is not None
    }

    def change(_: slice, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        for place, found in aside.items():
            found.append(block[:, place].copy())
        return block[:, kept]

    if kept is not None:
        values, note = copied(values, change, len(values) * len(kept) * stored.dtype.itemsize)
        where = (note,)
    taken = {place: np.concatenate(found) for place, found in aside.items()}
    return Table(
        values,
        row_names=None if id_column is None else tuple(map(str, taken[id_column].tolist())),
        labels=None if label is None else taken[label],
        label_name=choice.label,
        picture_shape=shape,
        source=source,
        notes=(*notes, *where),
        row_numbers=None if choice.rows is None else rows,
        column_numbers=None if kept is None else tuple(kept),
    )


def _text(place: Location, choice: Choice, limit: int, source: str) -> Table | None:
    # Arrow takes longer to import than everything else here.
    from gramian.rows.columns import table_of_columns
    from gramian.rows.formats.text import text_source

    with opened(place.path, source) as file:
        return table_of_columns(text_source(file, source), choice, limit)


def _columns(place: Location, choice: Choice, limit: int, source: str) -> Table | None:
    from gramian.rows.columns import table_of_columns
    from gramian.rows.formats.parquet import arrow_source, parquet_source

    if place.path.is_dir():
        return table_of_columns(parquet_source(parquet_files(place.path), source), choice, limit)
    arrow = kind_of(place.path) == "arrow"
    columns = arrow_source(place.path, source) if arrow else parquet_source([place.path], source)
    table = table_of_columns(columns, choice, limit)
    small = not isinstance(table.values, OnDisk) and place.path.stat().st_size <= _HASHED
    return _hashed(table, place.path.read_bytes()) if small else table


STORED: dict[str, Stored] = {
    "annotated": lambda place, *asked: stored_annotated(place.path, *asked),
    "bed": lambda place, *asked: stored_bed(place.path, *asked),
    "hdf5": _hdf5,
    "npz": lambda place, *asked: stored_npz(place.path, place.key, *asked),
    "npy": _npy,
    "text": _text,
    "parquet": _columns,
    "arrow": _columns,
    "zarr": _zarr,
    "folder": lambda place, choice, limit, _: read_folder(place.path, choice, whole_within(limit)),
    "zip": lambda place, choice, limit, _: read_zip(place.path, choice, whole_within(limit)),
}
