"""The kinds of file that are read: a record of each here, and a function ``open_NAME`` in a module.

Detection, messages and what the page offers to choose follow from ``FORMATS``; tests compare the docs.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from gramian.errors import needs
from gramian.tables.names import PICTURE_SUFFIXES


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes
    ----------
    name : str
        Its module's ``open_NAME(opened, key)`` returns a :class:`gramian.tables.source.Source`.
    module : str
        By default of that name too.
    suffixes : tuple of str
    magic : tuple of bytes
        How such files begin.
    holds : str
        Where several formats begin alike, a regular expression of the names in such an archive, one a line.
    begins : bytes
        Regular expression of the first bytes of such files, if they have no fixed signature.
    keyed : bool
        Whether ``FILE::NAME`` is one of several in it.
    marks : bool
        Whether ``na_values`` may stand for missing values.
    in_blocks : bool
        Whether a large one is left on disk; others are read as a whole.
    packed : bool
        Whether it is read also with .gz.
    listed : str
        Its entry in the list of readable formats; by default its suffixes.
    named : str
        Regular expression of names without such a suffix.
    """

    name: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...] = ()
    begins: bytes = b""
    module: str = ""
    holds: str = ""
    keyed: bool = False
    marks: bool = False
    in_blocks: bool = False
    packed: bool = False
    listed: str = ""
    named: str = ""

    @property
    def open(self) -> Callable[[Any, str | None], Any]:
        """The function that opens such a file; its module is imported on first use."""
        with needs("cli", "pyarrow", f"Reading files of the format {self.name}"):
            module = import_module(f"{__name__}.{self.module or self.name}")
        return getattr(module, f"open_{self.name}")  # type: ignore[no-any-return]


_ZIP, _HDF5 = (b"PK\x03\x04", b"PK\x05\x06"), (b"\x89HDF\r\n",)
_BOOK, _IN_BOOK = (*_ZIP, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), r"^xl/workbook\.xml$|^content\.xml$"
_BOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
# Text may begin with BM or P5 as well, but a bitmap has four zero bytes after its length.
_BITMAP = rb"(?s)RIFF.{4}WEBP|BM.{4}\0\0\0\0|P[1-6][\r\n]"
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")

TEXT = Format("text", (".csv", ".tsv", ".txt", ".dat", ".data"), marks=True, in_blocks=True, packed=True)
PICTURE = Format("picture", PICTURE_SUFFIXES, _IMAGES, _BITMAP, "pictures", listed="pictures")
FOLDER = Format("folder", (), module="pictures", in_blocks=True, listed="a folder of them")
PARQUET = Format("parquet", (".parquet",), (b"PAR1",), in_blocks=True)
_STORE = r"(^|/)(zarr\.json|\.zarray|\.zgroup)$"
ZARR = Format("zarr", (".zarr",), _ZIP, holds=_STORE, keyed=True, in_blocks=True, named=r"\.zarr\.zip$")

FORMATS = (
    TEXT,
    Format("excel", _BOOKS, _BOOK, b"", "sheets", _IN_BOOK, keyed=True, marks=True),
    PARQUET,
    Format("npy", (".npy",), (b"\x93NUMPY",), module="arrays", in_blocks=True),
    Format("npz", (".npz",), _ZIP, b"", "arrays", r"\.npy$", keyed=True, in_blocks=True),
    Format("mat", (".mat",), (b"MATLAB ",), module="hdf5", keyed=True),
    Format("h5ad", (".h5ad",), _HDF5, b"", "hdf5", r"(?s)^X$.*^obs$.*^var$", in_blocks=True),
    Format("hdf5", (".h5", ".hdf5"), _HDF5, keyed=True, in_blocks=True),
    Format("netcdf", (".nc", ".nc4"), (b"CDF",), module="hdf5", keyed=True, in_blocks=True),
    ZARR,
    Format("bed", (".bed",), listed=".bed (PLINK)"),
    PICTURE,
    FOLDER,
    Format("zip", (".zip",), _ZIP, module="pictures", in_blocks=True, listed="a .zip of them"),
)
_LISTED = (
    format.listed or " ".join(format.suffixes) + " (also with .gz)" * format.packed for format in FORMATS
)
READABLE = ", ".join(_LISTED) + " (FILE::NAME for an array or sheet of several)"
_BY_SUFFIX = {
    suffix + packed: format
    for format in FORMATS
    for suffix in format.suffixes
    for packed in (("", ".gz") if format.packed else ("",))
}


def suffix_of(path: Path) -> str:
    """Return how the name of a file ends, with the suffix before .gz."""
    name = Path(path.name.lower())
    return Path(name.stem).suffix + ".gz" if name.suffix == ".gz" else name.suffix


def by_name(path: Path) -> Format | None:
    """Return the format of a file by its name."""
    named = (format for format in FORMATS if format.named and re.search(format.named, path.name.lower()))
    return next(named, None) or _BY_SUFFIX.get(suffix_of(path))


def by_content(file: Any) -> Format | None:
    """Return the format of a file by its first bytes; None if it may be text."""
    head = file.read(64)
    fixed = (format for format in FORMATS if head.startswith(format.magic))
    candidates = [*fixed, *(format for format in FORMATS if format.begins and re.match(format.begins, head))]
    names = ""
    if len(candidates) > 1:
        file.seek(0)
        with suppress(Exception):  # libraries raise anything on what is not theirs
            names = _names_in(file, head)
    matching = (format for format in candidates[:-1] if re.search(format.holds, names, re.MULTILINE))
    return next(matching, candidates[-1] if candidates else None)


def _names_in(file: Any, head: bytes) -> str:
    """Return the names in an archive, one a line."""
    if head.startswith(_ZIP):
        return "\n".join(zipfile.ZipFile(file).namelist())
    import h5py

    with h5py.File(file, "r") as members:
        return "\n".join(sorted(members))
