"""Pictures of faces from .npz and .npy files."""

from __future__ import annotations

import hashlib
import unicodedata

import numpy as np

from gramian.errors import DataError, FileError, GramianError
from gramian.faces.pictures import Faces, as_pictures
from gramian.faces.sizes import require_memory, require_side
from gramian.rows.decoding import readable, resized
from gramian.rows.files import Location
from gramian.rows.numpy_files import read_npy, read_npz, read_npz_names
from gramian.rows.pictures import SAVE_FIRST, open_picture

__all__ = ["read_arrays"]


def read_arrays(location: Location, size: tuple[int, int] | None) -> Faces:
    """Read the pictures ``X``, the people ``y`` and the names ``name`` of an .npz file; or an .npy file.

    Parameters
    ----------
    location : Location
    size : (width, height) or None
        Resize every picture to this.

    Raises
    ------
    DataError
        When there are no pictures of at least 8 pixels a side, one of them holds NaN or infinity, or ``y``
        does not name who is on each.
    FileError
        When the file cannot be opened, is damaged, or is a pipe or a device.
    MemoryLimitError
        When so many pixels do not fit.
    """
    path, source = location.path, readable(str(location))
    people = names = None
    notes: tuple[str, ...] = ()
    try:
        with open_picture(path, source, SAVE_FIRST) as file:
            if path.suffix.lower() == ".npy":
                values = read_npy(file, source)
            else:
                values, _ = read_npz(file, location.key, source)
                people = read_npz_names(file, "y", len(values), source)
                try:
                    names = read_npz_names(file, "name", len(values), source)
                except DataError as error:
                    notes = (f"pictures are named by their numbers, for {error}",)
    except OSError as error:
        if isinstance(error, GramianError):
            raise
        raise FileError(f"{source} cannot be opened: {error.strerror}. Check the path.") from error
    try:
        pictures = as_pictures(values)
        count, height, width = pictures.shape
        require_side("each picture", width, height)
    except DataError as error:
        raise DataError(f"{source}: {error}") from error
    hashes = tuple(hashlib.sha256(picture.tobytes()).hexdigest() for picture in pictures)
    if size is not None:
        require_memory(count, *size, pictures.dtype)
        pictures = np.stack([resized(picture, size) for picture in pictures])
    return Faces(
        pictures,
        None if people is None else tuple(unicodedata.normalize("NFC", readable(who)) for who in people),
        tuple(readable(name) for name in names or map(str, range(count))),
        hashes,
        notes=notes,
        source=source,
    )
