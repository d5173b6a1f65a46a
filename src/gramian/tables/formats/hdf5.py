"""Datasets of HDF5 files, variables of netCDF, .h5ad files of single-cell data, and MATLAB's .mat files."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.core.checks import amount, listed
from gramian.errors import DataError, FileError, MemoryLimitError, ParameterError, needs
from gramian.tables import source, stored
from gramian.tables.formats.arrays import open_npz
from gramian.tables.labels import label_texts
from gramian.tables.memory import ENTRY
from gramian.tables.table import repeated_note, unique_names
from gramian.tables.times import times_since

READ_WHOLE = 64 << 20  # bytes up to which a dataset is read as a whole


def opened_hdf5(opened: source.Opened) -> Any:
    """Open an HDF5 file.

    Raises
    ------
    FileError
        If the file is truncated or of another kind.
    MissingExtraError
        If h5py is not installed.
    """
    with needs("hdf5", "h5py", "reading HDF5 files"):
        import h5py
    return opened.enter_context(h5py.File(opened.file, "r"))


def open_hdf5(opened: source.Opened, key: str | None) -> source.ArraySource:
    """Return one dataset of an HDF5 file; the others are not touched.

    Parameters
    ----------
    opened : Opened
    key : str or None
        Its path in the file; None takes the only one that fits, and adds a note.

    Raises
    ------
    FileError, MissingExtraError
        As :func:`opened_hdf5`.
    DataError
        If the key is unknown or missing, or its array does not fit its use.
    """
    members = opened_hdf5(opened)
    names = _no_bounds({name: members[name].attrs for name in datasets_in(members)})
    key, header, notes = source.pick_array(
        names, lambda name: header_of(members[name]), key, opened.name, opened.use
    )
    dataset, whole = members[key], source.bytes_of_rows(header.shape, header.dtype)
    lazy = None if opened.path is None else partial(stored_dataset, opened.path, dataset, source=opened.name)

    def are_some(rows: range) -> bool:
        return len(rows) < len(dataset) and whole > READ_WHOLE and lazy is not None

    def read(rows: range | None = None) -> npt.NDArray[Any]:
        opened.is_whole = rows is None or not are_some(rows)
        if rows is None or lazy is None or opened.is_whole:
            return np.asarray(source.rows_of(header.read, rows))
        some = lazy(sys.maxsize).picked(rows)
        blocks = [some[chunk] for chunk in stored.row_slices(some)]
        return np.concatenate(blocks).reshape(len(rows), *header.shape[1:])

    def bytes_read(rows: range) -> int:
        return whole // len(dataset) * len(rows) if are_some(rows) else whole

    more: dict[str, Any] = {"lazy": lazy, "bytes_read": bytes_read, "notes": notes}
    scales = [scale[0] for scale in dataset.dims if len(scale)]  # as netCDF 4 has them
    if len(scales) == len(dataset.shape):
        dims = {scale.name.rpartition("/")[2]: header_of(scale) for scale in scales}
        more |= _grid(header.shape, dims, scales[0].attrs)
    return source.ArraySource(opened.name, header.shape, header.dtype, read, **more)


def datasets_in(group: Any) -> list[str]:
    """List the paths of all datasets in a group and below."""
    names: list[str] = []
    group.visititems(lambda name, member: names.append(name) if hasattr(member, "dtype") else None)
    return names


def refuse_elsewhere(dataset: Any) -> None:
    """Raise if a dataset has numbers in other files: a foreign file could name any file of this machine.

    Raises
    ------
    DataError
    """
    if dataset.external or dataset.is_virtual:
        why = f"{dataset.name} stores its numbers in other files, which is not supported."
        raise DataError(why, "Copy them into one.")


def member(group: Any, name: str) -> Any:
    """Return a group or dataset that is stored in a group itself.

    Raises
    ------
    KeyError
        If there is no such member.
    DataError
        If it is a link, or a dataset whose numbers are in other files.
    """
    from h5py import HardLink

    for key in name.strip("/").split("/"):
        if not isinstance(group.get(key, getlink=True), HardLink | None):
            why = f"{key!r} in {group.name} is a link, which is not supported."
            raise DataError(why, "Copy all into one file.")
        group = group[key]
    if hasattr(group, "dtype"):
        refuse_elsewhere(group)
    return group


def header_of(dataset: Any, reverse: bool = False) -> source.Header:
    """Describe a dataset; ``reverse`` reverses its axes, as MATLAB writes them."""
    from h5py import check_string_dtype

    text, decoded = check_string_dtype(dataset.dtype) is not None, _decoding(dataset.attrs, dataset.dtype)
    plain = np.dtype("V") if dataset.dtype.hasobject else decoded[0] if decoded else dataset.dtype
    shape = _without_single(tuple(dataset.shape or ()))

    def read() -> npt.NDArray[Any]:
        refuse_elsewhere(dataset)
        array = dataset.asstr()[()].astype(np.str_) if text else dataset[()]
        array = (decoded[1](array) if decoded else np.asarray(array)).reshape(shape)
        return np.asarray(array.T if reverse else array)

    return source.Header(shape[::-1] if reverse else shape, np.dtype(np.str_) if text else plain, read)


def stored_dataset(path: Path, dataset: Any, limit: int, *, source: str) -> stored.StoredRows:
    """Return the numbers of a dataset to be read block by block: by place where they lie in one piece."""
    refuse_elsewhere(dataset)
    offset = None if dataset.chunks or dataset.file.userblock_size else dataset.id.get_offset()
    if offset is None or dataset.dtype.kind == "b":
        rows: stored.StoredRows = stored.ChunkedRows.of(path, dataset, limit, source)
    else:
        rows = stored.FileRows.of(path, source, dataset.shape, dataset.dtype, offset)
    return _decoded(rows, dataset.attrs, dataset.shape)


# ---- Variables of netCDF: those of netCDF 4 are datasets of HDF5. Attributes say what numbers mean (CF)

_CODES, _PACKED = ("_FillValue", "missing_value"), ("scale_factor", "add_offset")


def _classic(variable: Any, file: stored.OpenFile, name: str) -> tuple[source.Header, Any, Any]:
    """Return the header, the rows and the attributes of a variable in a classic file, and keep no map."""
    data = whole = variable.data
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    attrs = {name: value for name, value in vars(variable).items() if name != "data"}
    offset, stride = data.ctypes.data - whole.ctypes.data, data.strides[0] if data.strides else 0
    shape, kind, read_as = data.shape, data.dtype, _decoding(attrs, data.dtype)

    def rows(limit: int = 0) -> stored.StoredRows:
        return _decoded(stored.FileRows.of(file, name, shape, kind, offset, stride=stride), attrs, shape)

    single = _without_single(shape)
    plain = read_as[0] if read_as else kind.newbyteorder("=")
    return source.Header(single, plain, lambda: rows()[:].reshape(single)), rows, attrs


def open_netcdf(opened: source.Opened, key: str | None) -> source.ArraySource:
    """Return one variable of a netCDF file; the others are not touched.

    Raises
    ------
    FileError, DataError, MissingExtraError
        As :func:`open_hdf5`.
    """
    kind, name = opened.file.read(4), opened.name
    if not kind.startswith(b"CDF"):
        return open_hdf5(opened, key)
    if kind[3:] not in (b"\1", b"\2"):
        why = f"{name} is a classic netCDF file of version CDF-5, which is not supported."
        raise FileError(why, "Write it as netCDF 4: nccopy -k nc4 OLD NEW.")
    from scipy.io import netcdf_file

    with tempfile.TemporaryFile() as copy:  # of a stream
        copy.write(opened.content() if opened.path is None else b"")
        copy.seek(0)  # which writes it too
        file = stored.OpenFile(opened.path or os.dup(copy.fileno()))
    with netcdf_file(os.fdopen(os.dup(file.number), "rb"), mmap=True) as mapped:  # only for the places
        every = {member: _classic(one, file, name) for member, one in mapped.variables.items()}
    headers = {member: header for member, (header, _, _) in every.items()}
    attrs = {member: some for member, (_, _, some) in every.items()}
    key, header, notes = source.pick_array(_no_bounds(attrs), headers.__getitem__, key, name, opened.use)
    dims = {dim: headers.get(dim) for dim in attrs[key]["dimensions"]}
    more = {"lazy": every[key][1]} | _grid(header.shape, dims, attrs.get(next(iter(dims), ""), {}))
    return source.ArraySource.of(header, name, notes, **more)


def _grid(shape: tuple[int, ...], dims: Mapping[str, source.Header | None], time: Any) -> dict[str, Any]:
    """Return the positions along the dimensions of a field, and its times by the attributes of the first."""
    axes = [dim for dim in dims.items() if dim[1] is None or len(shape) == len(dims) or dim[1].shape != (1,)]
    first, units, calendar = next(iter(dims.values()), None), time.get("units", ""), time.get("calendar", "")
    counts = first is not None and first.shape == shape[:1] and first.dtype.kind in "iuf"
    times = times_since(first.read(), _text(units), _text(calendar)) if first is not None and counts else None
    return {"axes": source.grid_axes(shape, axes), "row_names": times}


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _no_bounds(attrs: Mapping[str, Any]) -> list[str]:
    """Return the names of arrays, by their attributes without those of the edges of cells."""
    edges = {_text(some.get("bounds", "")) for some in attrs.values()}
    return [name for name in attrs if name.rpartition("/")[2] not in edges]


def _without_single(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without what has one place, such as the level of a field, where that leaves pictures."""
    return shape if len(shape) <= 3 else (shape[0], *(size for size in shape[1:] if size > 1))


def _decoding(attrs: Any, kind: np.dtype[Any]) -> tuple[np.dtype[Any], Callable[..., Any]] | None:
    """Return the type of a variable's numbers, and what makes these of stored ones; None where they are."""
    there = {name: np.ravel(attrs[name]) for name in (*_CODES, *_PACKED) if name in attrs}
    unsigned = kind.kind == "i" and _text(attrs.get("_Unsigned", "")) == "true"  # as netCDF 3 has them
    if not (there or unsigned) or kind.kind not in "iuf":
        return None
    codes = np.concatenate([there.get(name, np.empty(0)) for name in _CODES])
    codes = codes.astype(kind if kind.kind == "f" else np.float64)
    factor, offset = (float(there.get(name, [usual])[0]) for name, usual in zip(_PACKED, (1, 0), strict=True))
    decoded = np.dtype(np.float64) if {*_PACKED} & {*there} else source.dtype_of_rows(kind)

    def decode(block: Any, *_: Any) -> npt.NDArray[Any]:
        values = block.astype(kind).view(f"{kind.str[0]}u{kind.itemsize}") if unsigned else block
        with np.errstate(over="ignore", invalid="ignore"):
            values = values.astype(decoded) * factor + offset
        return np.where(np.isin(block, codes), np.asarray(np.nan, decoded), values)

    return decoded, decode


def _decoded(rows: stored.StoredRows, attrs: Any, shape: tuple[int, ...]) -> stored.StoredRows:
    """Return rows of a variable as its numbers, and as pictures where these are."""
    decoded, shape = _decoding(attrs, rows.stored), _without_single(shape)
    picture = shape[1:] if len(shape) == 3 else None
    rows = rows if rows.picture_shape == picture else replace(rows, picture_shape=picture)
    return rows.derived(f=decoded[1], stored=decoded[0], dtype=decoded[0]) if decoded else rows


# ---- Annotated matrices of single-cell data: .h5ad files, as the anndata package lays them out


def open_h5ad(opened: source.Opened, key: str | None) -> source.ArraySource:
    """Return the matrix X of a .h5ad file with the names of its rows and columns.

    A sparse matrix becomes dense where that is small; ``label`` and ``id`` are columns of obs.

    Raises
    ------
    FileError
        If the file is truncated or of another kind.
    DataError
        If it has no matrix X of numbers with names, or sizes disagree.
    MissingExtraError
        If h5py is not installed.
    """
    members, name = opened_hdf5(opened), opened.name
    obs, X = member(members, "obs"), member(members, "X")
    columns, repeated = unique_names(_index(member(members, "var")))
    row_names, shape = _index(obs), _shape(X)
    if shape != (len(row_names), len(columns)):
        raise ValueError(f"X is {shape}, with names of {len(row_names)} rows and {len(columns)} columns")
    entries = X if hasattr(X, "dtype") else member(X, "data")
    source.require(replace(header_of(entries), shape=shape), f"{name}::X")
    share, is_dense = entries.size / max(1, math.prod(shape)), hasattr(X, "dtype")
    made_dense = () if is_dense else (f"the sparse matrix X ({share:.0%} non-zero) was made dense",)

    def set_aside(option: str, column: str) -> npt.NDArray[Any]:
        values = _column(obs, column, option, name)
        if values.size != len(row_names):
            raise ValueError(f"X is {shape}, with {values.size} labels")
        return values

    path = opened.path
    return source.ArraySource(
        name,
        shape,
        entries.dtype,
        partial(_read_matrix, X, name),
        lazy=None if path is None else partial(lazy_matrix, X, name, path),
        columns=columns,
        row_names=row_names,
        set_aside=set_aside,
        names_aside=tuple(map(str, obs.attrs.get("column-order", ()))),
        notes=repeated_note(repeated),
        notes_in_memory=made_dense,
    )


def _read_matrix(X: Any, name: str, rows: range | None = None) -> npt.NDArray[Any]:
    """Read rows of X as a dense array."""
    rows = range(_shape(X)[0]) if rows is None else rows
    taken, shape = slice(rows.start, rows.stop, rows.step), (len(rows), _shape(X)[1])
    if hasattr(X, "dtype"):
        source.require_room(replace(header_of(X), shape=shape), f"{name}::X")
        return np.asarray(X[taken])
    matrix = _sparse(X)
    source.require_room(source.Header(shape, matrix.dtype, matrix.toarray), f"{name}::X")
    return np.asarray(matrix[taken].toarray())


def lazy_matrix(X: Any, name: str, path: Path, limit: int) -> Any:
    """Return X to be read block by block; sparse X comes into memory as such."""
    if hasattr(X, "dtype"):
        return stored_dataset(path, X, limit, source=f"{name}::X")
    need = ENTRY * member(X, "data").shape[0]
    if need > limit:
        why = f"{name}::X, a sparse matrix, needs {amount(need)}, and {amount(limit)} of memory may be used."
        raise MemoryLimitError(why, "Write fewer genes or cells, or raise memory_limit.")
    return _sparse(X).tocsr()


def _shape(X: Any) -> tuple[int, ...]:
    return tuple(X.shape if hasattr(X, "dtype") else map(int, X.attrs["shape"]))


def _sparse(X: Any) -> Any:
    kind = sparse.csc_matrix if X.attrs["encoding-type"] == "csc_matrix" else sparse.csr_matrix
    result = kind(tuple(_read(member(X, name)) for name in ("data", "indices", "indptr")), shape=_shape(X))
    result.check_format(full_check=True)  # an index outside of the matrix would write there
    return result


def _read(dataset: Any) -> npt.NDArray[Any]:
    result = header_of(dataset)
    source.require_room(result, dataset.name)
    return result.read()


def _index(frame: Any) -> tuple[str, ...]:
    return tuple(map(str, _read(member(frame, frame.attrs["_index"])).tolist()))


def _column(frame: Any, name: str, role: str, source: str) -> npt.NDArray[Any]:
    """Read a column of obs: numbers, text, or categories; what is missing is NaN, or empty text."""
    names = [str(name) for name in frame.attrs["column-order"]]
    if name not in names:
        raise ParameterError(role, name, f"is no column of obs of {source}", f"It has {listed(names)}.")
    column = member(frame, name)
    if hasattr(column, "dtype"):
        return _read(column)
    if "mask" in column:  # of types of pandas that have NA
        values, there = _read(member(column, "values")), ~_read(member(column, "mask")).astype(bool)
        numbers = values.dtype.kind in "iuf"
        return np.where(there, values if numbers else values.astype(np.str_), np.nan if numbers else "")
    if "categories" not in column:
        why = f"{source}: column {name!r} of obs is neither numbers, text nor categories."
        raise DataError(why, "Use another.")
    categories = _read(member(column, "categories"))
    texts = np.append(label_texts(categories).astype(np.str_), "")
    return np.asarray(texts[_read(member(column, "codes"))])


# ---- Variables of MATLAB's .mat files: those of version 7.3 are HDF5 files

# SciPy may end the process on damaged files, so another one reads these.
_OLDER = """
import io, sys, numpy, scipy.io
variables = scipy.io.loadmat(io.BytesIO(sys.stdin.buffer.read()))
dense = {name: one.toarray() if hasattr(one, "toarray") else one for name, one in variables.items()}
arrays = {name: one for name, one in dense.items() if getattr(one, "dtype", numpy.dtype("O")).kind in "buifU"}
archive = io.BytesIO()
numpy.savez(archive, **arrays)
sys.stdout.buffer.write(archive.getvalue())
"""
_NUMERIC = {"double", "single", "logical", *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))}


def open_mat(opened: source.Opened, key: str | None) -> source.ArraySource:
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
    title = opened.name
    if opened.file.read(19) != b"MATLAB 7.3 MAT-file":
        ran = subprocess.run([sys.executable, "-c", _OLDER], input=opened.content(), capture_output=True)
        if ran.returncode:
            raise FileError(f"{title} is no .mat file, or damaged, or too large. Save it again, with -v7.3.")
        return open_npz(opened.enter_context(source.Opened(title, data=ran.stdout, use=opened.use)), key)
    opened.file.seek(0)
    members = opened_hdf5(opened)
    every = (name for name in datasets_in(members) if not name.startswith("#"))
    names = [name for name in every if _matlab_class(members[name]) in _NUMERIC]
    _, header, notes = source.pick_array(
        names, lambda name: header_of(members[name], reverse=True), key, title, opened.use
    )
    return source.ArraySource.of(header, title, notes)


def _matlab_class(member: Any) -> str:
    return str(member.attrs.get("MATLAB_class", b"").decode())
