"""Pictures of faces in memory, with what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import to_numpy
from gramian.errors import DataError
from gramian.rows import as_rows
from gramian.rows.scan import Scan
from gramian.rows.table import Table

__all__ = ["Faces", "Pictures", "as_pictures"]

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
    """

    pictures: Pictures
    people: tuple[str, ...] | None
    names: tuple[str, ...]
    hashes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    source: str = "memory"

    def __len__(self) -> int:
        return len(self.pictures)

    def __repr__(self) -> str:
        n, height, width = self.pictures.shape
        people = "" if self.people is None else f" of {len(set(self.people))} people"
        return f"Faces({n} pictures{people}, {width}x{height}, source={self.source!r})"

    def take(self, places: Any) -> Faces:
        """Return some of the pictures, by a slice, positions or a mask."""
        chosen = np.arange(len(self))[places]
        return replace(
            self,
            pictures=self.pictures[places],
            people=None if self.people is None else tuple(self.people[i] for i in chosen),
            names=tuple(self.names[i] for i in chosen),
            hashes=tuple(self.hashes[i] for i in chosen),
        )


def as_pictures(faces: Any) -> Pictures:
    """Return pictures of any form as a NumPy array of shape (n, height, width), checked.

    Parameters
    ----------
    faces : Faces, Table, Scan, or array of any kind, of shape (n, height, width)

    Raises
    ------
    DataError
        For another number of axes, NaN, infinity, complex numbers or text.
    """
    if isinstance(faces, Faces):
        return faces.pictures
    if isinstance(faces, Scan):
        faces = faces.read()
    if isinstance(faces, Table):
        faces = faces.values
    pictures = to_numpy(faces) if hasattr(faces, "shape") else np.asarray(faces)
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
    as_rows(pictures, estimator="FaceSpace")
    return pictures
