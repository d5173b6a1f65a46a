"""Datasets of HDF5 files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import slices
from gramian.errors import DataError, needs
from gramian.rows.archives import Header, damage, pick_array
from gramian.rows.lazy.array import bytes_of_rows
from gramian.rows.lazy.chunked import BAND_BYTES, StoredDataset
from gramian.rows.lazy.stored import StoredArray
from gramian.rows.opened import Opened
from gramian.rows.source import ArraySource, rows_of

NEAR = 16  # of rows that are this many apart HDF5 takes longer to pick some than to read all
READ_WHOLE = 64 << 20  # bytes up to which a dataset is read as a whole


def opened_hdf5(opened: Opened) -> Any:
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
    with damage(opened.name):
        return opened.enter_context(h5py.File(opened.file, "r"))


def open(opened: Opened, key: str | None) -> ArraySource:
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
    with damage(opened.name):
        names = datasets_in(members)
        key, header, notes = pick_array(
            names, lambda name: header_of(members[name]), key, opened.name, opened.use
        )
        dataset, whole = members[key], bytes_of_rows(header.shape, header.dtype)

    def some(rows: range | None) -> bool:
        return rows is not None and len(rows) < len(dataset) and whole > READ_WHOLE

    def read(rows: range | None = None) -> npt.NDArray[Any]:
        opened.is_whole = not some(rows)
        return rows_of(header.read, rows) if rows is None or opened.is_whole else _taken(dataset, rows)

    def bytes_read(rows: range) -> int:
        return bytes_of_rows((len(rows), *header.shape[1:]), header.dtype) if some(rows) else whole

    lazy = None if opened.path is None else partial(stored_dataset, opened.path, dataset, source=opened.name)
    return ArraySource(
        opened.name, header.shape, header.dtype, read, lazy=lazy, bytes_read=bytes_read, notes=notes
    )


def datasets_in(group: Any) -> list[str]:
    """List the paths of all datasets in a group and below."""
    names: list[str] = []

    def note(name: str, result: Any) -> None:
        if hasattr(result, "dtype"):
            names.append(name)

    group.visititems(note)
    return names


def refuse_elsewhere(dataset: Any) -> None:
    """Raise if a dataset has numbers in other files: a foreign file could name any file of this machine.

    Raises
    ------
    DataError
    """
    if dataset.external or dataset.is_virtual:
        raise DataError(
            f"{dataset.name} stores its numbers in other files, which is not supported. Copy them into one."
        )


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

    for part in name.strip("/").split("/"):
        link = group.get(part, getlink=True)
        if link is None:
            raise KeyError(f"{group.name} has no {part}")
        if not isinstance(link, HardLink):
            raise DataError(
                f"{part!r} in {group.name} is a link, which is not supported. Copy all into one file."
            )
        group = group[part]
    if hasattr(group, "dtype"):
        refuse_elsewhere(group)
    return group


def header_of(dataset: Any, reverse: bool = False) -> Header:
    """Describe a dataset; ``reverse`` reverses its axes, as MATLAB writes them."""
    from h5py import check_string_dtype

    text = check_string_dtype(dataset.dtype) is not None
    plain = np.dtype("V") if dataset.dtype.hasobject else dataset.dtype

    def read() -> npt.NDArray[Any]:
        refuse_elsewhere(dataset)
        array = dataset.asstr()[()].astype(np.str_) if text else dataset[()]
        return np.asarray(array.T if reverse else array)

    shape = tuple(dataset.shape or ())
    return Header(shape[::-1] if reverse else shape, np.dtype(np.str_) if text else plain, read)


def _taken(dataset: Any, rows: range) -> npt.NDArray[Any]:
    """Read some rows: alone where they are far apart, with those between them where they are near."""
    refuse_elsewhere(dataset)
    if rows.step > NEAR:
        return np.asarray(dataset[rows.start : rows.stop : rows.step])
    values = np.empty((len(rows), *dataset.shape[1:]), dataset.dtype)
    each = max(1, BAND_BYTES // max(1, values.itemsize * values[0].size * rows.step))
    for some in slices(len(rows), each):
        part = rows[some]
        values[some] = dataset[part.start : part.stop][:: part.step]
    return values


def stored_dataset(path: Path, dataset: Any, limit: int, *, source: str) -> StoredArray | StoredDataset:
    """Return the numbers of a dataset to be read block by block: by place where they lie in one piece."""
    refuse_elsewhere(dataset)
    offset = None if dataset.chunks or dataset.file.userblock_size else dataset.id.get_offset()
    if offset is None or dataset.dtype.kind == "b":
        return StoredDataset(path, dataset, limit, source)
    return StoredArray(path, offset, dataset.shape, dataset.dtype, source=source)
