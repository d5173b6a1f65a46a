"""Pictures of faces with their people, names and hashes; how they are read and relit."""

from __future__ import annotations

import hashlib
import math
import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.arrays import parallel_map, require_memory, to_numpy
from gramian.core.checks import check_choice, counted, slices
from gramian.errors import DataError, FileError, InputTypeError, ParameterError
from gramian.tables import table
from gramian.tables.as_rows import as_rows
from gramian.tables.files import Location, locate, opened_source
from gramian.tables.formats.pictures import PictureFile, PictureForm, PictureSource, resized
from gramian.tables.names import PICTURE_SUFFIXES, readable
from gramian.tables.scan import Scan, check_size
from gramian.tables.source import damage

SMALLEST = 8  # pixels a side: smaller pictures show no face
Pictures = npt.NDArray[Any]
Size = tuple[int, int]  # width, height
Relit = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class Faces:
    """Pictures of one size, with their people, names and hashes.

    Attributes
    ----------
    pictures : ndarray of shape (n, height, width)
        Grey values of one kind: uint8, uint16, or what deeper files and arrays hold.
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

    def take(self, indices: Any) -> Faces:
        """Return some of the pictures, by a slice, positions or a mask.

        Parameters
        ----------
        indices : slice, array-like of int of shape (m,) or of bool of shape (n,)
            Which pictures, counted from 0.

        Returns
        -------
        Faces
            The chosen ones with all that belongs to them.
        """
        chosen = np.arange(len(self))[indices]
        columns: dict[str, Any] = {
            name: None if (values := getattr(self, name)) is None else tuple(values[i] for i in chosen)
            for name in ("people", "names", "hashes")
        }
        return replace(self, pictures=self.pictures[indices], **columns)


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
        why = f"Pictures of faces are an array (n, height, width), not {type(faces).__name__}."
        raise InputTypeError(why, "Read files with read_faces(path).")
    pictures = to_numpy(faces) if hasattr(faces, "shape") else np.asarray(faces)
    if pictures.ndim != 3:
        why = f"Pictures of faces have three axes (n, height, width), not the shape {pictures.shape}."
        raise DataError(why, "In Python picture[None] makes one picture such an array.")
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


SOURCES = "a folder, a .zip, a picture, an .npz or .npy file, or a list of pictures"


def read_faces(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    size: str | tuple[int, int] | None = None,
) -> Faces:
    """Read pictures of faces as grey values.

    Colour is converted to grey by ITU-R 601-2 luma, pictures are rotated as their camera recorded, the first
    of several frames is used, and 16-bit grey keeps its values. In a folder or zip archive of folders, each
    folder of the first level is a person; a single outer folder of an archive is skipped. Nothing is
    unpacked to disk. Unreadable pictures are skipped and reported in ``skipped``.

    Parameters
    ----------
    source : path or list of paths
        A folder, a .zip, a picture, an .npz file with pictures ``X`` and people ``y`` (``"FILE.npz::KEY"``
        for pictures under another name), an .npy file, or a list of pictures and folders of pictures
        without people.
    size : "WIDTHxHEIGHT" or (width, height), optional
        Resize every picture, to at least 8 pixels a side; by default all must have the same size.

    Returns
    -------
    Faces
        Pictures of one size, with people where folders or an array name them.

    Raises
    ------
    DataError
        When no picture can be used, sizes differ, or an array does not name people for all of its pictures.
    FileError
        When the file does not exist, or is damaged, encrypted, a pipe or a device.
    InputTypeError
        When the source is not a path or a list of paths.
    MemoryLimitError
        When the pixels exceed the memory limit.
    ParameterError
        For a size below 8 pixels.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from gramian.faces import example_faces, read_faces
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for person, pixels in zip(["Anna", "Berta"], example_faces().pictures):
    ...         Path(name, person).mkdir()
    ...         Image.fromarray(pixels).save(Path(name, person, "1.png"))
    ...     faces = read_faces(name, size="24x28")
    ...
    >>> faces.pictures.shape, faces.people, faces.names
    ((2, 28, 24), ('Anna', 'Berta'), ('Anna/1.png', 'Berta/1.png'))
    """
    wanted = check_size(size)
    if wanted is not None and min(wanted) < SMALLEST:
        few = f"{wanted[0]}x{wanted[1]} is below the minimum of {SMALLEST} pixels a side"
        raise ParameterError("size", allowed=few, hint='Ask for more, such as size="92x112".')
    listed: Any = source if isinstance(source, list | tuple) else [source]
    if not listed:
        raise DataError("The list of pictures is empty.", "Give at least one path.")
    locations = [_location(path) for path in listed]
    location, path = locations[0], locations[0].path
    suffix, name = path.suffix.lower(), readable(str(location))
    name = name if len(listed) == 1 else f"{len(listed)} paths"
    alone = len(listed) == 1 and suffix in PICTURE_SUFFIXES and not path.is_dir()
    if not (listed is source or alone or path.is_dir() or suffix in (".zip", ".npz", ".npy")):
        raise FileError(
            f"{name} is not a folder, a .zip archive, a picture ({' '.join(PICTURE_SUFFIXES)}), or an .npz "
            "or .npy file of pictures."
        )
    by_folder = not (listed is source or alone)
    sources = location if by_folder else [location.path for location in locations]
    with opened_source(sources, name=name) as (_, _, opened):
        if isinstance(opened, PictureSource):
            faces = _from_files(opened, wanted, None if alone else [])
            return _with_people(faces, suffix == ".zip") if by_folder else faces
        return _from_array(opened.read(), location, wanted)


def example_faces(kind: str = "faces") -> Faces:
    """Return pictures that come with gramian: people who do not exist, under changing expressions and light.

    Parameters
    ----------
    kind : {"faces", "things", "visitors"}
        - ``"faces"``: eight pictures of each of forty people, "p01" to "p40", in order;
        - ``"things"``: sixty pictures of houses, trees and stripes;
        - ``"visitors"``: a new picture of p03, one of a person who is not among the faces, and a house.

    Returns
    -------
    Faces
        uint8 pictures of 36x44 pixels.

    Raises
    ------
    ParameterError
        For another kind.

    Examples
    --------
    >>> example_faces(), example_faces("visitors").names
    (Faces(320 pictures of 40 people, 36x44, source='faces.npz'), ('p03.png', 'stranger.png', 'house.png'))
    """
    check_choice("kind", kind, ("faces", "things", "visitors"))
    faces = read_faces(str(files("gramian") / "examples" / f"{kind}.npz"))
    return replace(faces, source=f"{kind}.npz")


def _location(source: Any) -> Location:
    if not isinstance(source, str | os.PathLike):
        raise InputTypeError(f"{type(source).__name__} is not a path of pictures.", f"Give {SOURCES}.")
    text = os.fspath(source)
    # locate would also suggest files of tables.
    return Location(Path(text)) if os.path.isfile(text) else locate(text)


def _require_room(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    # As they are read, and as float32 for computing.
    need = math.prod(shape) * (dtype.itemsize + 4)
    require_memory(
        need, f"Holding {shape[0]:,} pictures of {shape[2]}x{shape[1]} pixels", "Make them smaller"
    )


def _from_files(opened: PictureSource, size: Size | None, skipped: list[tuple[str, str]] | None) -> Faces:
    read: list[tuple[str, str, Size]] = []

    def on_read(picture: PictureFile, form: PictureForm, data: bytes) -> None:
        size = form.width, form.height
        read.append((readable(picture.name), hashlib.sha256(data).hexdigest(), size))

    array = opened.array(None, size, skipped, on_read, SMALLEST)
    _, height, width = array.shape
    _require_room(array.shape, array.dtype)
    pictures = as_pictures(array.read())
    names, hashes, sizes = zip(*read, strict=True)
    notes = array.notes
    if other := [size for size in sizes if size != (width, height)]:
        first = "x".join(map(str, other[0]))
        notes += (
            f"{len(other)} of {len(sizes)} pictures were resized to {width}x{height}, the first from "
            f"{first}. Only cropped and aligned pictures give reliable answers",
        )
    return Faces(pictures, None, names, hashes, tuple(skipped or ()), notes, opened.source)


def _with_people(faces: Faces, zipped: bool) -> Faces:
    """Take people from the folders; skip pictures outside the folders where they are the minority."""
    # Without the steps up and to the root that names in an archive may hold.
    paths = [PurePosixPath(normpath(f"/{name}")).parts[1:] for name in faces.names]
    tops = {path[0] for path in paths}
    if zipped and len(tops) == 1 and min(len(path) for path in paths) > 2:
        note = f"{tops.pop()} is the only folder in the archive: its folders are the people"
        faces, paths = replace(faces, notes=(*faces.notes, note)), [path[1:] for path in paths]
    inside = np.array([len(path) > 1 for path in paths])
    if not inside.any():
        return faces
    if inside.mean() <= 0.5:
        few = f"only {int(inside.sum())} of {len(paths)} pictures are in folders"
        note = f"{few}: people are not taken from folders"
        return replace(faces, notes=(*faces.notes, note))
    why = "is in no folder, so its person is not known. Move it into a folder, or leave it out."
    outside = tuple((faces.names[index], why) for index in np.flatnonzero(~inside))
    people = tuple(unicodedata.normalize("NFC", path[0]) for path in paths)
    return replace(faces, people=people, skipped=faces.skipped + outside).take(inside)


def _from_array(values: Any, location: Location, size: Size | None) -> Faces:
    """Take pictures of an .npy file, or of an .npz file with the people ``y`` and the names ``name``."""
    source = readable(str(location))
    try:
        pictures = as_pictures(values)
    except DataError as error:
        raise DataError(f"{source}: {error}") from error
    if min(pictures.shape[1:]) < SMALLEST:
        _, height, width = pictures.shape
        raise DataError(
            f"{source} is {width}x{height} pixels, below the minimum of {SMALLEST} pixels a side."
        )
    people = names = None
    if location.path.suffix.lower() == ".npz":
        people, names = (_entries(location.path, key, len(values), source) for key in ("y", "name"))
    hashes = tuple(hashlib.sha256(picture.tobytes()).hexdigest() for picture in pictures)
    if size is not None:
        _require_room((len(pictures), *size[::-1]), pictures.dtype)
        pictures = np.stack([resized(picture, size) for picture in pictures])
    people = people and tuple(unicodedata.normalize("NFC", readable(who)) for who in people)
    names = tuple(readable(name) for name in names or map(str, range(len(pictures))))
    return Faces(pictures, people, names, hashes, source=source)


def _entries(path: Path, key: str, count: int, source: str) -> tuple[str, ...] | None:
    """Return an array of an .npz file, one text or whole number a picture; None if it is not there."""
    with damage(source), np.load(path) as arrays:
        if key not in arrays:
            return None
        values = arrays[key]
    entries = tuple(map(str, values.tolist())) if values.ndim else ()
    if values.dtype.kind not in "iuU" or values.shape != (count,) or not all(map(str.strip, entries)):
        raise DataError(
            f"{source}: {key} holds {values.dtype} of shape {values.shape}, but a text or whole number for "
            f"each of the {count} pictures is needed, and none may be empty. Correct it, or leave {key} out."
        )
    return entries


# ---- Illumination correction

LIGHTS = ("none", "equalise")
BLOCK = 64  # pictures treated at a time by one worker


def relight(pictures: npt.NDArray[Any], how: str) -> Relit:
    """Return pictures with corrected illumination.

    Grey values are first brought to one scale: 8-bit values as they are, 16-bit values divided by 257, so
    that white is 255 in both; floating values and other integers as they are.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width)
        Grey values.
    how : {"none", "equalise"}
        - ``"none"``: the grey values v;
        - ``"equalise"``: 255 times the share of the picture's pixels that are darker, those of equal grey
          counted half, which no increasing change of the grey values affects.

    Returns
    -------
    ndarray of shape (n, height, width), float32
        The corrected pictures.

    Raises
    ------
    ParameterError
        For another name.

    Examples
    --------
    >>> relight(np.array([[[0, 10], [10, 200]]], dtype=np.uint8), "equalise").tolist()
    [[[31.875, 127.5], [127.5, 223.125]]]
    """
    check_choice("light", how, LIGHTS)
    if how == "none" and pictures.dtype == np.float32:
        return pictures
    treated = np.empty(pictures.shape, dtype=np.float32)

    def treat(block: slice) -> None:
        grey = grey_scale(pictures[block])
        treated[block] = _equalised(grey) if how == "equalise" else grey

    parallel_map(treat, slices(len(pictures), BLOCK))
    return treated


def grey_scale(pictures: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return pictures with 16-bit grey values brought to 0..255; others as they are."""
    if pictures.dtype == np.uint16:
        return (pictures / np.float32(257)).astype(np.float32)
    return pictures


def _equalised(pictures: npt.NDArray[Any]) -> npt.NDArray[Any]:
    from scipy.stats import rankdata  # which takes longer to import than all else

    ranks = rankdata(pictures.reshape(len(pictures), -1), axis=1)
    return np.reshape((ranks - 0.5) * (255 / pictures[0].size), pictures.shape)
