"""Pictures of faces in memory, with what is known of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import to_numpy
from gramian.errors import DataError, InputTypeError
from gramian.rows import as_rows
from gramian.rows.scan import Scan
from gramian.rows.table import Table

__all__ = ["Faces", "Pictures", "as_pictures"]

BLOCK = 64  # pictures looked at together
Pictures = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Faces:
    """Pictures of one size, and what is known of each.

    Attributes
    ----------
    pictures : ndarray of shape (n, height, width)
        Grey values: uint8, uint16, or float32 where kinds are mixed or deeper.
    people : tuple of str or None
        Who is on each: the folder it was in. None where pictures are not in folders.
    names : tuple of str
        Path of each within the source.
    hashes : tuple of str
        SHA-256 of the bytes of each file (of its grey values where pictures came as an array).
    skipped : tuple of (name, why)
        Pictures that could not be used.
    notes : tuple of str
        What the reader decided by itself.
    source : str
    paths : tuple of str or None
        What each is opened by, where its name had to be made printable: as the file system or the archive
        has it. None where pictures came as an array.
    """

    pictures: Pictures
    people: tuple[str, ...] | None
    names: tuple[str, ...]
    hashes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    source: str = "memory"
    paths: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.pictures)

    def __repr__(self) -> str:
        n, height, width = self.pictures.shape
        count = 0 if self.people is None else len(set(self.people))
        people = "" if self.people is None else f" of {count} {'person' if count == 1 else 'people'}"
        return f"Faces({n} picture{'s' * (n != 1)}{people}, {width}x{height}, source={self.source!r})"

    def take(self, places: Any) -> Faces:
        """Return some of the pictures, by a slice, positions or a mask."""
        chosen = np.arange(len(self))[places]
        return replace(
            self,
            pictures=self.pictures[places],
            people=None if self.people is None else tuple(self.people[i] for i in chosen),
            names=tuple(self.names[i] for i in chosen),
            hashes=tuple(self.hashes[i] for i in chosen),
            paths=None if self.paths is None else tuple(self.paths[i] for i in chosen),
        )


def as_pictures(faces: Any) -> Pictures:
    """Return pictures of any form as a NumPy array of shape (n, height, width), checked.

    Parameters
    ----------
    faces : Faces, Table, Scan, or array of any kind, of shape (n, height, width)

    Raises
    ------
    DataError
        For another number of axes, pictures of several sizes, NaN, infinity, complex numbers or text.
    InputTypeError
        For what is no array, such as None or the path of a file.
    """
    if isinstance(faces, Faces):
        return faces.pictures
    if isinstance(faces, Scan):
        faces = faces.read()
    if isinstance(faces, Table):
        faces = faces.values
    pictures = _array(faces)
    if pictures.ndim != 3:
        raise DataError(
            f"Pictures of faces have three axes (n, height, width), and these have the shape "
            f"{pictures.shape}. One picture is given as picture[None]."
        )
    if not pictures.size:
        raise DataError(
            f"There are no pictures: the shape is {pictures.shape}, and a minimum of 1 is required."
        )
    if pictures.dtype.kind in "ui":
        return pictures
    as_rows(pictures, estimator="FaceSpace", check_finite=False)
    # Python's numbers in an array of objects, and black and white.
    pictures = pictures.astype(
        {"O": np.float64, "b": np.uint8}.get(pictures.dtype.kind, pictures.dtype), copy=False
    )
    _require_finite(pictures)
    return pictures


def _array(faces: Any) -> Pictures:
    if hasattr(faces, "shape"):
        return to_numpy(faces)
    if not isinstance(faces, Sequence) or isinstance(faces, str | bytes):
        path = isinstance(faces, str | bytes | os.PathLike)
        how = "Read files with read_faces(path)." if path else "Give what read_faces returned, or an array."
        raise InputTypeError(
            f"Pictures of faces are an array (n, height, width), and this is {type(faces).__name__}. {how}"
        )
    try:
        return np.asarray(faces)
    except ValueError as error:
        raise DataError(
            f"Pictures of faces have one size, and these {len(faces)} cannot be stacked to an array "
            "(n, height, width). Bring them to one size first."
        ) from error


def _require_finite(pictures: Pictures) -> None:
    for start in range(0, len(pictures), BLOCK):
        block = pictures[start : start + BLOCK].astype(np.float64, copy=False)
        good = np.isfinite(block).all(axis=(1, 2))
        if not good.all():
            place = int(np.flatnonzero(~good)[0])
            what = "NaN" if np.isnan(block[place]).any() else "infinity"
            raise DataError(
                f"Picture {start + place} (counted from 0) contains {what}, and grey values are finite. "
                "Leave it out, or repair it."
            )
