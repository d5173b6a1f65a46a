"""Datasets of HDF5 files."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError, MissingExtraError
from gramian.rows.archives import Header, Use, damage, pick_array


@contextmanager
def opened_hdf5(file: IO[bytes], source: str) -> Iterator[Any]:
    """Open an HDF5 file, and say what is wrong with one that cannot be read.

    Raises
    ------
    FileError
        If the file is truncated or of another kind.
    MissingExtraError
        If h5py is not installed.
    """
    try:
        import h5py
    except ModuleNotFoundError as error:
        raise MissingExtraError("hdf5", "h5py", "reading HDF5 files") from error
    with damage(source), h5py.File(file, "r") as opened:
        yield opened


def read_hdf5(
    file: IO[bytes], key: str | None, source: str, use: Use = "table"
) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Read one dataset of an HDF5 file; the others are not touched.

    Parameters
    ----------
    file : binary file
    key : str or None
        Its path in the file; None takes the only one that can be what is wanted, and says so in a note.
    source : str
    use : {"table", "labels"}

    Returns
    -------
    array : ndarray
    notes : tuple of str

    Raises
    ------
    FileError, MissingExtraError
        As :func:`opened_hdf5`.
    DataError
        If the key is unknown or missing, or its array cannot be what is wanted.
    """
    with opened_hdf5(file, source) as opened:
        names = datasets_in(opened)
        key = None if key is None else key.strip("/")
        return pick_array(names, lambda name: header_of(opened[name]), key, source, use)


def datasets_in(group: Any) -> list[str]:
    """List the paths of all datasets in a group and below."""
    names: list[str] = []

    def note(name: str, found: Any) -> None:
        if hasattr(found, "dtype"):
            names.append(name)

    group.visititems(note)
    return names


def refuse_elsewhere(dataset: Any) -> None:
    """Refuse a dataset with numbers in other files: what came from elsewhere could name any of this machine.

    Raises
    ------
    DataError
    """
    if dataset.external or dataset.is_virtual:
        raise DataError(
            f"{dataset.name} keeps its numbers in other files, which are not read. Copy all into one."
        )


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
