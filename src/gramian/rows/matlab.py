"""Variables of MATLAB's .mat files: those of versions 4 to 7, and 7.3, which are HDF5 files."""

from functools import partial
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.rows.archives import Stored, Use, damage, pick_array
from gramian.rows.hdf5 import datasets_in, opened_hdf5, stored

_TYPES = {
    "double": "f8", "single": "f4", "logical": "?", "char": "U", "sparse": "f8",
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip


def read_mat(
    file: IO[bytes], key: str | None, source: str, use: Use = "table"
) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Read one variable of a .mat file; the others are not touched.

    Parameters
    ----------
    file : binary file
        Placed at its start.
    key : str or None
        Name of the variable; None takes the only one that can be what is wanted, and says so in a note.
    source : str
    use : {"table", "labels"}

    Returns
    -------
    array : ndarray
        With the axes that MATLAB shows.
    notes : tuple of str

    Raises
    ------
    FileError
        If the file is truncated or of another kind.
    DataError
        If the key is unknown or missing, or its array cannot be what is wanted.
    MissingExtraError
        If it is of version 7.3 and h5py is not installed.
    """
    newest = file.read(19) == b"MATLAB 7.3 MAT-file"
    file.seek(0)
    if newest:
        with opened_hdf5(file, source) as opened:
            numbers = [name for name in datasets_in(opened) if _is_array(opened[name])]
            return pick_array(numbers, lambda name: stored(opened[name], reverse=True), key, source, use)
    # SciPy's files take a moment to import.
    from scipy.io import loadmat, whosmat

    def read(name: str) -> npt.NDArray[Any]:
        file.seek(0)
        found = loadmat(file, variable_names=[name])[name]
        if np.iscomplexobj(found):
            raise DataError(f"{source}::{name} holds complex numbers. Save its real or its imaginary part.")
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    with damage(source):
        found = {name: (shape, _TYPES[kind]) for name, shape, kind in whosmat(file) if kind in _TYPES}
        variables = {
            name: Stored(shape, np.dtype(kind), partial(read, name)) for name, (shape, kind) in found.items()
        }
        return pick_array(list(variables), variables.__getitem__, key, source, use)


def _is_array(dataset: Any) -> bool:
    """Tell variables from what MATLAB keeps text, cells and structures in."""
    kind = dataset.attrs.get("MATLAB_class", b"").decode()
    return kind in _TYPES and kind != "char" and not dataset.name.startswith("/#")
