"""Pictures of faces in memory, with their people, names and hashes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import to_numpy
from gramian.checks import counted
from gramian.data import as_rows, table
from gramian.errors import DataError, InputTypeError
from gramian.io.scan import Scan

SMALLEST = 8  # pixels a side: smaller pictures show no face
# Sides of small pictures are whole numbers, so that proportions are never quite the same.
TOLERATED = 1.1
Pictures = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Faces:
    """Pictures of one size, with their people, names and hashes.

    Attributes
    ----------
    pictures : ndarray of shape (n, height, width)
        Grey values: uint8, uint16, or float32 where kinds are mixed or deeper.
    people : tuple of str or None
        The person on each: the name of its folder. None where pictures are not in folders.
    names : tuple of str
        Path of each within the source.
    hashes : tuple of str
        SHA-256 of the bytes of each file (of its grey values where pictures came as an array).
    skipped : tuple of (name, why)
        Pictures that could not be used.
    notes : tuple of str
        Automatic decisions of the reader.
    source : str
        Where the pictures come from, such as a path.
    sizes : tuple of (width, height) or None
        Of each file, before it was resized. None where pictures came as an array.
    files : tuple of bytes or None
        The files themselves, where they were asked for.

    Examples
    --------
    >>> from gramian.faces import example_faces
    >>> faces = example_faces()
    >>> faces.pictures.shape, faces.people[::80]
    ((320, 44, 36), ('p01', 'p11', 'p21', 'p31'))
    >>> first = faces.take([0, 1])
    >>> len(first.names), first.people
    (2, ('p01', 'p01'))
    """

    pictures: Pictures
    people: tuple[str, ...] | None
    names: tuple[str, ...]
    hashes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    source: str = "memory"
    sizes: tuple[tuple[int, int], ...] | None = None
    files: tuple[bytes, ...] | None = None

    def __len__(self) -> int:
        return len(self.pictures)

    def __repr__(self) -> str:
        people = ""
        if self.people is not None:
            people = f" of {counted(len(set(self.people)), 'person', 'people')}"
        return f"Faces({counted(len(self), 'picture')}{people}, {self.size}, source={self.source!r})"

    @property
    def size(self) -> str:
        """Width and height, such as "92x112"."""
        return f"{self.pictures.shape[2]}x{self.pictures.shape[1]}"

    def take(self, places: Any) -> Faces:
        """Return some of the pictures, by a slice, positions or a mask.

        Parameters
        ----------
        places : slice, array-like of int of shape (m,) or of bool of shape (n,)
            Which pictures, counted from 0.

        Returns
        -------
        Faces
            The chosen ones with all that belongs to them.
        """
        chosen = np.arange(len(self))[places]
        columns: dict[str, Any] = {
            name: None if (values := getattr(self, name)) is None else tuple(values[i] for i in chosen)
            for name in ("people", "names", "hashes", "sizes", "files")
        }
        return replace(self, pictures=self.pictures[places], **columns)

    def stretched(self) -> list[tuple[str, tuple[int, int]]]:
        """Return pictures whose proportions resizing has changed by more than 10 %, and their sizes."""
        height, width = self.pictures.shape[1:]
        if self.sizes is None:
            return []
        ratios = [(w * height) / (h * width) for w, h in self.sizes]
        named = zip(self.names, self.sizes, ratios, strict=True)
        return [(name, size) for name, size, ratio in named if max(ratio, 1 / ratio) > TOLERATED]


def as_pictures(faces: Any) -> Pictures:
    """Return pictures of any form as a NumPy array of shape (n, height, width), checked.

    Parameters
    ----------
    faces : Faces, Table, Scan, or array of any kind, of shape (n, height, width)

    Raises
    ------
    DataError
        For another number of axes, NaN, infinity, complex numbers or text.
    InputTypeError
        For None and the path of a file.
    """
    if isinstance(faces, Faces):
        return faces.pictures
    if isinstance(faces, Scan):
        faces = faces.read()
    if isinstance(faces, table.Table):
        faces = faces.values
    if faces is None or isinstance(faces, str | bytes | os.PathLike):
        raise InputTypeError(
            f"Pictures of faces are an array (n, height, width), not {type(faces).__name__}.",
            "Read files with read_faces(path).",
        )
    pictures = to_numpy(faces) if hasattr(faces, "shape") else np.asarray(faces)
    if pictures.ndim != 3:
        raise DataError(
            f"Pictures of faces have three axes (n, height, width), not the shape {pictures.shape}.",
            "In Python picture[None] makes one picture such an array.",
        )
    if not pictures.size:
        raise DataError(
            f"There are no pictures: the shape is {pictures.shape}, and a minimum of 1 is required."
        )
    if pictures.dtype.kind in "ui":
        return pictures
    as_rows(pictures, estimator="FaceSpace", check_finite=False)
    # Python's numbers in an array of objects, and black and white.
    kinds: dict[str, Any] = {"O": np.float64, "b": np.uint8}
    pictures = pictures.astype(kinds.get(pictures.dtype.kind, pictures.dtype), copy=False)
    bad = np.flatnonzero(~np.isfinite(pictures).all(axis=(1, 2)))
    if len(bad):
        raise DataError(
            f"Picture {bad[0]} (counted from 0) contains NaN or infinity.", "Leave it out, or repair it."
        )
    return pictures
