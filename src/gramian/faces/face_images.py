"""Pictures of faces with their people, names and hashes; how they are read, relit and shifted."""

from __future__ import annotations

import hashlib
import math
import os
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter

from gramian.core.arrays import as_float64, parallel_map, require_memory, to_numpy
from gramian.core.checks import check_choice, check_number, counted, evenly, slices
from gramian.core.records import FloatArray
from gramian.errors import DataError, FileError, GramianError, InputTypeError, ParameterError
from gramian.tables import table
from gramian.tables.as_rows import as_rows
from gramian.tables.files import Location, locate, opened_source
from gramian.tables.formats.pictures import PictureFile, PictureForm, PictureSource, resized
from gramian.tables.names import PICTURE_SUFFIXES, readable
from gramian.tables.scan import Scan, check_size
from gramian.tables.source import damage

SMALLEST = 8  # pixels a side: smaller pictures show no face
# Sides of small pictures are whole numbers, so that proportions are never quite the same.
TOLERATED = 1.1
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
            for name in ("people", "names", "hashes", "sizes", "files")
        }
        return replace(self, pictures=self.pictures[indices], **columns)

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
    strict: bool = False,
    keep_files: bool = False,
) -> Faces:
    """Read pictures of faces as grey values.

    Colour is converted to grey by ITU-R 601-2 luma, pictures are rotated as their camera recorded, the first
    of several frames is used, and 16-bit grey keeps its values. In a folder or zip archive of folders, each
    folder of the first level is a person; a single outer folder of an archive is skipped. Nothing is
    unpacked to disk.

    Parameters
    ----------
    source : path or list of paths
        A folder, a .zip, a picture, an .npz file with pictures ``X`` and people ``y`` (``"FILE.npz::KEY"``
        for pictures under another name), an .npy file, or a list of pictures and folders of pictures
        without people.
    size : "WIDTHxHEIGHT" or (width, height), optional
        Resize every picture, to at least 8 pixels a side; by default all must have the same size.
    strict : bool, default=False
        Raise the error of the first unreadable picture. By default it is skipped and reported in ``skipped``.
    keep_files : bool, default=False
        Also keep the bytes of the files, as ``files``.

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
        For a size below 8 pixels, and for ``keep_files`` with an array.

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
            faces = _from_files(opened, wanted, None if strict or alone else [], keep_files)
            return _with_people(faces, suffix == ".zip", strict) if by_folder else faces
        if keep_files:
            only = f"stores picture files only, but {name} is an array"
            raise ParameterError(
                "keep_files", allowed=only, hint="Leave it out, or save the pictures as files."
            )
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


def _from_files(
    opened: PictureSource, size: Size | None, skipped: list[tuple[str, str]] | None, keep_files: bool
) -> Faces:
    read: list[tuple[str, str, Size, bytes]] = []

    def on_read(picture: PictureFile, form: PictureForm, data: bytes) -> None:
        digest, kept = hashlib.sha256(data).hexdigest(), data if keep_files else b""
        read.append((readable(picture.name), digest, (form.width, form.height), kept))

    array = opened.array(None, size, skipped, on_read, SMALLEST)
    _, height, width = array.shape
    _require_room(array.shape, array.dtype)
    pictures = as_pictures(array.read())
    names, hashes, sizes, kept = zip(*read, strict=True)
    notes = array.notes
    if other := sum(size != (width, height) for size in sizes):
        notes += (f"{other} of {len(sizes)} pictures were resized to {width}x{height}",)
    files = kept if keep_files else None
    about = tuple(skipped or ()), notes, opened.source, sizes, files
    return Faces(pictures, None, names, hashes, *about)


def _with_people(faces: Faces, zipped: bool, strict: bool) -> Faces:
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
    if outside and strict:
        raise DataError(" ".join(outside[0]))
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
    notes: tuple[str, ...] = ()
    if location.path.suffix.lower() == ".npz":
        people = _entries(location.path, "y", len(values), source)
        try:
            names = _entries(location.path, "name", len(values), source)
        except GramianError as error:
            notes = (f"pictures are named by their numbers because {error}",)
    hashes = tuple(hashlib.sha256(picture.tobytes()).hexdigest() for picture in pictures)
    if size is not None:
        _require_room((len(pictures), *size[::-1]), pictures.dtype)
        pictures = np.stack([resized(picture, size) for picture in pictures])
    people = people and tuple(unicodedata.normalize("NFC", readable(who)) for who in people)
    names = tuple(readable(name) for name in names or map(str, range(len(pictures))))
    return Faces(pictures, people, names, hashes, notes=notes, source=source)


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

LIGHTS = ("none", "log", "equalise", "dog")
INNER, OUTER = 1.0, 2.0  # standard deviations of the two Gaussians of "dog", in pixels
JUDGED = 1000  # pictures, evenly spaced, that corrections are compared on
BLOCK = 64  # pictures treated at a time by one worker


def relight(pictures: npt.NDArray[Any], how: str) -> Relit:
    """Return pictures with corrected illumination.

    Grey values are first brought to one scale: 8-bit values as they are, 16-bit values divided by 257, so
    that white is 255 in both; floating values and other integers as they are.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width)
        Grey values.
    how : {"none", "log", "equalise", "dog"}
        - ``"none"``: the grey values v;
        - ``"log"``: ``log(1 + v)``, which turns a factor of the light into a sum;
        - ``"equalise"``: 255 times the share of the picture's pixels that are darker, those of equal grey
          counted half, which no increasing change of the grey values affects;
        - ``"dog"``: the logarithm, smoothed by a Gaussian of 1 pixel less the same smoothed by one of 2
          (standard deviations; edges mirrored), then divided by the root of its mean square, which leaves
          what changes over few pixels, at one contrast.

    Returns
    -------
    ndarray of shape (n, height, width), float32
        The corrected pictures.

    Raises
    ------
    ParameterError
        For another name.
    DataError
        For values of -1 or less, of which there is no logarithm.

    References
    ----------
    Tan and Triggs (2010), Enhanced local texture feature sets for face recognition under difficult lighting
    conditions, section 2, for the difference of Gaussians and the widths.

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
        treated[block] = _treated(grey_scale(pictures[block]), how)

    parallel_map(treat, slices(len(pictures), BLOCK))
    return treated


def choose_light(pictures: npt.NDArray[Any], people: npt.NDArray[Any] | None) -> tuple[str, str]:
    """Return the correction by which most pictures are most similar to another one of their person, and why.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width)
        Of more than 1000, evenly spaced ones are compared, by the cosine of their differences from the mean.
    people : ndarray of shape (n,) or None
        Who is on each.

    Returns
    -------
    light : str
        The first of :data:`LIGHTS` with the largest share.
    why : str

    Raises
    ------
    DataError
        Where nobody has two pictures.
    """
    some = evenly(len(pictures), JUDGED)
    people = np.arange(len(some)) if people is None else np.unique(people[some], return_inverse=True)[1]
    several = np.bincount(people)[people] > 1
    if not several.any():
        hint = 'Name the people, or use light="none" or "equalise".'
        raise DataError('light="auto" compares pictures of one person, but nobody has two.', hint)
    shares = {}
    for light in LIGHTS:
        Z = as_float64(relight(pictures[some], light).reshape(len(some), -1))
        Z -= Z.mean(axis=0)
        norms = np.linalg.norm(Z, axis=1, keepdims=True)
        Z /= np.where(norms > 0, norms, 1.0)
        similarity = Z @ Z.T
        np.fill_diagonal(similarity, -np.inf)
        shares[light] = float(np.mean((people[similarity.argmax(axis=1)] == people)[several]))
    best = max(shares, key=shares.__getitem__)
    told = ", ".join(f"{light} {100 * share:.0f} %" for light, share in shares.items())
    return best, f"light {best}: pictures most similar to another one of their person: {told}"


def unlight(pictures: npt.NDArray[Any], how: str) -> npt.NDArray[Any]:
    """Return grey values where the treatment can be undone: after "log"; other pictures as they are.

    Examples
    --------
    >>> unlight(relight(np.full((1, 1, 1), 99.0), "log"), "log").round(3).tolist()
    [[[99.0]]]
    """
    return np.expm1(pictures) if how == "log" else pictures


def grey_scale(pictures: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return pictures with 16-bit grey values brought to 0..255; others as they are."""
    if pictures.dtype == np.uint16:
        return (pictures / np.float32(257)).astype(np.float32)
    return pictures


def _treated(pictures: npt.NDArray[Any], how: str) -> npt.NDArray[Any]:
    if how == "none":
        return pictures
    if how == "equalise":
        from scipy.stats import rankdata  # which takes longer to import than all else

        ranks = rankdata(pictures.reshape(len(pictures), -1), axis=1)
        return np.reshape((ranks - 0.5) * (255 / pictures[0].size), pictures.shape)
    logarithms = _logarithms(pictures)
    return logarithms if how == "log" else edges(logarithms, 1e-5)


def edges(pictures: npt.NDArray[Any], rounding: Any) -> npt.NDArray[Any]:
    """Return differences of two Gaussians, at contrast 1; 0 where there is no more than rounding."""
    axes = (1, 2)
    inner, outer = (gaussian_filter(pictures, sigma, axes=axes, mode="mirror") for sigma in (INNER, OUTER))
    result = inner - outer
    root = np.sqrt(np.mean(result.astype(np.float64) ** 2, axis=axes, keepdims=True))
    # A picture of one grey has no contrast to bring to 1.
    return np.where(root > rounding, result / np.maximum(root, rounding), 0.0)


def _logarithms(pictures: npt.NDArray[Any]) -> Relit:
    least = float(pictures.min(initial=0))
    if least <= -1:
        hint = 'Scale grey values to 0..255, or use light="none" or "equalise".'
        raise DataError(f"A grey value is {least:.6g}, but the logarithm needs values above -1.", hint)
    return np.asarray(np.log1p(pictures, dtype=np.float32))


# ---- Copies of pictures moved by a few pixels, from which a model learns what bad alignment does

LARGEST_SHIFT = 0.25
WAYS = ((0, 1), (0, -1), (1, 0), (-1, 0))  # down and right, in units of the shift
COPIES = 1 + len(WAYS)
SCORED = 256  # pictures whose scores are held at a time


def shift_pixels(shift: Any, width: int) -> int:
    """Return by how many pixels pictures are moved.

    Parameters
    ----------
    shift : float
        As a share of the width, from 0 to 0.25.
    width : int

    Raises
    ------
    ParameterError
        For a share outside of what it may be.

    Examples
    --------
    >>> shift_pixels(0.04, 92), shift_pixels(0.001, 92), shift_pixels(0, 92)
    (4, 1, 0)
    """
    advice = (
        "It is a share of the width of a picture. Give for instance 0.04, or 0 to fit on the pictures alone."
    )
    value = check_number("shift", shift, least=0, most=LARGEST_SHIFT, advice=advice)
    return max(1, round(value * width)) if value > 0 else 0


def moved(pictures: Relit, pixels: int) -> Iterator[Relit]:
    """Yield the pictures moved right, left, down and up; what is bared repeats the edge.

    Parameters
    ----------
    pictures : ndarray of shape (n, height, width)
    pixels : int

    Examples
    --------
    >>> [copy[0, 0].tolist() for copy in moved(np.array([[[1, 2, 3]]], dtype=np.float32), 1)][:2]
    [[1.0, 1.0, 2.0], [2.0, 3.0, 3.0]]
    """
    height, width = pictures.shape[1:]
    padded = np.pad(pictures, ((0, 0), (pixels, pixels), (pixels, pixels)), mode="edge")
    for y, x in WAYS:
        top, left = pixels * (1 - y), pixels * (1 - x)
        yield padded[:, top : top + height, left : left + width]


def with_moved(pictures: Relit, pixels: int) -> Relit:
    """Return the pictures followed by their moved copies, five times as many; for 0 pixels as they are."""
    return np.concatenate([pictures, *moved(pictures, pixels)]) if pixels else pictures


def shift_covariance(transform: Callable[[Relit], Any], pictures: Relit, pixels: int) -> FloatArray | None:
    """Return how scores change when pictures are moved: the mean of ``d d^T``, shape (k, k).

    ``d`` is the scores of a moved picture less those of the picture.

    Parameters
    ----------
    transform : callable
        Returns the scores of pictures, shape (n, k).
    pictures : ndarray of shape (n, height, width)
    pixels : int
        None is returned for 0.

    References
    ----------
    Simard, LeCun and Denker (1993), Efficient pattern recognition using a new transformation distance: what
    leaves alone who it is should cost nothing in a comparison.
    """
    if not pixels:
        return None
    total: Any = 0.0
    for some in slices(len(pictures), SCORED):
        block = pictures[some]
        scores = as_float64(transform(block))
        for copy in moved(block, pixels):
            change = as_float64(transform(copy)) - scores
            total = total + change.T @ change
    return np.asarray(total / (len(WAYS) * len(pictures)))
