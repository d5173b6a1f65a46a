"""Variables of MATLAB's .mat files: those of versions 4 to 7, and 7.3, which are HDF5 files."""

import struct
from functools import partial
from inspect import signature
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.rows.archives import Header, damage, pick_array
from gramian.rows.formats.hdf5 import datasets_in, header_of, opened_hdf5
from gramian.rows.opened import Opened
from gramian.rows.source import ArraySource

_TYPES = {
    "double": "f8", "single": "f4", "logical": "?", "char": "U", "sparse": "f8",
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_ELEMENTS = frozenset({*range(1, 8), 9, *range(12, 19)})
_MATRIX, _COMPRESSED = 14, 15


def open(opened: Opened, key: str | None) -> ArraySource:
    """Return one variable of a .mat file, with the axes that MATLAB shows.

    Raises
    ------
    FileError
        If the file is truncated or of another kind.
    DataError
        If the key is unknown or missing, or its array does not fit its use.
    MissingExtraError
        If it is of version 7.3 and h5py is not installed.
    """
    file, source = opened.file, opened.name
    newest = file.read(19) == b"MATLAB 7.3 MAT-file"
    file.seek(0)
    if newest:
        members = opened_hdf5(opened)
        with damage(source):
            numbers = [name for name in datasets_in(members) if _is_array(members[name])]
            _, header, notes = pick_array(
                numbers, lambda name: header_of(members[name], reverse=True), key, source, opened.use
            )
        return ArraySource.of(header, source, notes)
    # SciPy's files take a moment to import.
    from scipy.io import loadmat, whosmat

    # Sparse arrays instead of sparse matrices, where SciPy lets you choose.
    options = {"spmatrix": False} if "spmatrix" in signature(loadmat).parameters else {}

    def read(name: str) -> npt.NDArray[Any]:
        file.seek(0)
        result = loadmat(file, variable_names=[name], **options)[name]
        if np.iscomplexobj(result):
            raise DataError(f"{source}::{name} holds complex numbers. Save its real or its imaginary part.")
        if not hasattr(result, "indptr"):
            return np.asarray(result)
        result.check_format(full_check=True)
        if (np.diff(result.indptr) < 0).any():
            raise ValueError("the columns of its sparse matrix overlap")
        return np.asarray(result.toarray())

    with damage(source):
        _check_elements(file)
        known = {name: (shape, _TYPES[kind]) for name, shape, kind in whosmat(file) if kind in _TYPES}
        variables = {
            name: Header(shape, np.dtype(kind), partial(read, name)) for name, (shape, kind) in known.items()
        }
        _, header, notes = pick_array(list(variables), variables.__getitem__, key, source, opened.use)
    return ArraySource.of(header, source, notes)


def _check_elements(file: IO[bytes]) -> None:
    """Refuse a file whose elements reach beyond its end or are of no known type: SciPy would crash on it."""
    head = file.read(128)
    if 0 not in head[:4]:  # those of version 4 have no elements
        _check_within(file, "<" if head[126:] == b"IM" else ">", 128, file.seek(0, 2))
    file.seek(0)


def _check_within(file: IO[bytes], order: str, start: int, stop: int) -> None:
    while start < stop:
        file.seek(start)
        kind, size = struct.unpack(f"{order}II", file.read(8))
        small, kind = kind >> 16, kind & 0xFFFF  # up to 4 bytes, which stand in place of the size
        end = start + 8 + (0 if small else size)
        if kind not in _ELEMENTS or end > stop or small > 4:
            raise ValueError(
                f"the element at byte {start} is of type {kind} and ends at byte {end} of {stop}"
            )
        if kind == _MATRIX:
            _check_within(file, order, start + 8, end)
        start = end if kind == _COMPRESSED else end + -end % 8


def _is_array(dataset: Any) -> bool:
    """Return whether a dataset is an array and not text, a cell or a structure of MATLAB."""
    kind = dataset.attrs.get("MATLAB_class", b"").decode()
    return kind in _TYPES and kind != "char" and not dataset.name.startswith("/#")
