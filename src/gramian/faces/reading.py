"""Reads pictures of faces and their people from folders, zip archives, files and arrays."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import numpy as np

from gramian.arrays import memory_limit_bytes
from gramian.checks import amount, check_choice, counted
from gramian.errors import (
    DataError,
    FileError,
    GramianError,
    InputTypeError,
    MemoryLimitError,
    MissingExtraError,
    ParameterError,
)
from gramian.faces.face_images import SMALLEST, Faces, as_pictures
from gramian.io.files import Location, locate, opened_source
from gramian.io.formats import pictures as images
from gramian.io.formats.pictures import PictureFile, PictureForm
from gramian.io.names import PICTURE_SUFFIXES, readable
from gramian.io.scan import check_size
from gramian.io.source import ArraySource, damage
from gramian.progress import track

SOURCES = "a folder, a .zip, a picture, an .npz or .npy file, or a list of pictures"
ARRAYS = (".npz", ".npy")
EXAMPLE = 'size="92x112"'
Size = tuple[int, int]  # width, height


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
        Raise the error of the first bad picture. By default it is skipped and reported in ``skipped``.
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
    reader = _Reader(_wanted_size(size), strict, keep_files)
    if isinstance(source, list | tuple):
        return reader.read_list(source)
    location = _location(source)
    path, suffix = location.path, location.path.suffix.lower()
    name = readable(str(path))
    if path.is_dir():
        return _with_people(reader.read(*images.pictures_in_folder(path), name), reader)
    if suffix == ".zip":
        with images.opened_zip(path) as archive:
            return _with_people(
                reader.read(*images.pictures_in_zip(archive, name, reader.skip), name), reader, zipped=True
            )
    if suffix in ARRAYS:
        if keep_files:
            only = f"stores picture files only, but {name} is an array"
            raise ParameterError(
                "keep_files", allowed=only, hint="Leave it out, or save the pictures as files."
            )
        return _read_arrays(location, reader.size)
    if suffix in PICTURE_SUFFIXES:
        return reader.read_list([path])
    raise FileError(
        f"{name} is not a folder, a .zip archive, a picture ({' '.join(PICTURE_SUFFIXES)}), or an .npz or "
        ".npy file of pictures."
    )


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


def _wanted_size(size: Any) -> Size | None:
    wanted = check_size(size)
    if wanted is not None and min(wanted) < SMALLEST:
        few = f"{wanted[0]}x{wanted[1]} is below the minimum of {SMALLEST} pixels a side"
        raise ParameterError("size", allowed=few, hint=f"Ask for more, such as {EXAMPLE}.")
    return wanted


def _require_side(name: str, width: int, height: int) -> None:
    if min(width, height) < SMALLEST:
        raise DataError(
            f"{name} is {width}x{height} pixels, below the minimum of {SMALLEST} pixels a side.",
            "Leave it out.",
        )


def _require_memory(count: int, size: Size, dtype: np.dtype[Any]) -> None:
    # As they are read, and as float32 for computing.
    needed, limit = count * size[0] * size[1] * (dtype.itemsize + 4), memory_limit_bytes(None)
    if needed > limit:
        raise MemoryLimitError(
            f"{counted(count, 'picture')} of {size[0]}x{size[1]} pixels would take {amount(needed)}, but the "
            f"memory limit is {amount(limit)}.",
            f"Resize them, for instance with {EXAMPLE}.",
        )


# ------------------------------------------------------------------ from files


@dataclass
class _Reader:
    """Reads picture files to one size; skips bad ones, or raises where strict."""

    size: Size | None
    strict: bool
    keep_files: bool
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def skip(self, name: str, error: GramianError) -> None:
        """Record a bad picture; raise its error where strict."""
        if self.strict or isinstance(error, MissingExtraError):
            raise error
        name = readable(name)
        self.skipped.append((name, str(error).removeprefix(f"{name} ")))

    def read_list(self, paths: Sequence[str | os.PathLike[str]]) -> Faces:
        """Read files and folders of files."""
        if not paths:
            raise DataError("The list of pictures is empty.", "Give at least one path.")
        pictures: list[PictureFile] = []
        notes: list[str] = []
        for path in (_location(path).path for path in paths):
            if path.is_dir():
                result, more = images.pictures_in_folder(path)
                pictures += [PictureFile((path / p.name).as_posix(), p.open) for p in result]
                notes += more
            else:
                pictures += images.pictures_in_list([path])
        return self.read(
            pictures, notes, readable(str(paths[0])) if len(paths) == 1 else f"{len(paths)} paths"
        )

    def read(self, pictures: Sequence[PictureFile], notes: Sequence[str], source: str) -> Faces:
        """Check all headers first, then decode."""
        results: list[tuple[PictureFile, PictureForm, bool]] = []
        for picture in track(pictures, "header"):
            try:
                form, several = images.picture_form(picture)
                _require_side(readable(picture.name), form.width, form.height)
                results.append((picture, form, several))
            except GramianError as error:
                self.skip(picture.name, error)
        self._require_some(results, source)
        good, forms, frames = zip(*results, strict=True)
        size = self.size or _common_size(good, forms)
        dtype, said = _common_dtype(forms)
        _require_memory(len(good), size, dtype)
        faces = self._decoded(good, forms, size, dtype)
        self._require_some(faces.names, source)
        more = (
            images.frames_note(sum(frames)) if any(frames) else "",
            *images.transparency_notes(sum(form.transparent for form in forms)),
            said,
            _resized_note(good, forms, size) if self.size else "",
        )
        notes = (*notes, *(note for note in more if note))
        return replace(faces, skipped=tuple(self.skipped), notes=notes, source=source)

    def _decoded(
        self, pictures: Sequence[PictureFile], forms: Sequence[PictureForm], size: Size, dtype: np.dtype[Any]
    ) -> Faces:
        values = np.empty((len(pictures), size[1], size[0]), dtype=dtype)
        read: list[tuple[str, str, Size, bytes]] = []
        for picture, form in track(list(zip(pictures, forms, strict=True)), "picture"):
            try:
                data = images.picture_content(picture)
                result = images.grey_values(picture.name, data, replace(form, width=size[0], height=size[1]))
                if dtype == np.float32 and result.dtype == np.uint16:
                    result = result / np.float32(257)
                if not np.isfinite(result).all():
                    raise DataError(f"{readable(picture.name)} contains NaN or infinity.", "Leave it out.")
            except GramianError as error:
                self.skip(picture.name, error)
                continue
            values[len(read)] = result
            digest = hashlib.sha256(data).hexdigest()
            kept = data if self.keep_files else b""
            read.append((readable(picture.name), digest, (form.width, form.height), kept))
        names, hashes, sizes, files = zip(*read, strict=True) if read else ((),) * 4
        kept_files = files if self.keep_files else None
        return Faces(values[: len(read)], None, names, hashes, sizes=sizes, files=kept_files)

    def _require_some(self, result: Sequence[Any], source: str) -> None:
        if result:
            return
        if len(self.skipped) == 1 and self.skipped[0][0] == source:
            raise DataError(f"{source} {self.skipped[0][1]}")
        shown = "; ".join(f"{name} {why}" for name, why in self.skipped[:3])
        more = f" And {len(self.skipped) - 3} more." if len(self.skipped) > 3 else ""
        raise DataError(f"{source} contains no usable picture: {shown}{more}")


def _common_size(pictures: Sequence[PictureFile], forms: Sequence[PictureForm]) -> Size:
    sizes = Counter((form.width, form.height) for form in forms)
    if len(sizes) == 1:
        return next(iter(sizes))
    named = zip(reversed(forms), reversed(pictures), strict=True)
    names = {(form.width, form.height): readable(picture.name) for form, picture in named}
    common = [(f"{count} {'is' if count == 1 else 'are'}", size) for size, count in sizes.most_common(3)]
    parts = [f"{many} {w}x{h} ({names[w, h]})" for many, (w, h) in common]
    most = "{}x{}".format(*sizes.most_common(1)[0][0])
    raise DataError(
        f"pictures of {len(sizes)} different sizes (width x height): {', '.join(parts)}"
        f"{', ...' if len(sizes) > 3 else ''}.",
        f"Leave some out, or resize all, for instance with size={most!r}; faces must stay aligned.",
    )


def _common_dtype(forms: Sequence[PictureForm]) -> tuple[np.dtype[Any], str]:
    """Return the dtype of all pictures and a note; 8 and 16 bits are brought to one scale."""
    kinds = {form.dtype for form in forms}
    known = kinds <= {np.dtype(np.uint8), np.dtype(np.uint16)}
    if len(kinds) == 1 and known:
        return kinds.pop(), ""
    if known:
        return np.dtype(np.float32), "Grey values of different depths were scaled to 0..255"
    if len(kinds) > 1:
        # White is not defined for integers of 32 bits and for floats.
        raise DataError(
            f"The pictures have grey values of different types ({', '.join(sorted(map(str, kinds)))}), "
            "possibly on different scales. Save all of them with one depth."
        )
    return np.dtype(np.float32), f"Grey values are {kinds.pop()} and were not scaled to 0..255"


def _resized_note(pictures: Sequence[PictureFile], forms: Sequence[PictureForm], size: Size) -> str:
    other = [(p, f) for p, f in zip(pictures, forms, strict=True) if (f.width, f.height) != size]
    if not other:
        return ""
    first, form = other[0]
    return (
        f"{len(other)} of {len(forms)} pictures were resized to {size[0]}x{size[1]}, the first "
        f"{readable(first.name)} from {form.width}x{form.height}"
    )


def _with_people(faces: Faces, reader: _Reader, *, zipped: bool = False) -> Faces:
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
        note = (
            f"only {int(inside.sum())} of {len(paths)} pictures are in folders: people are not taken from "
            "folders"
        )
        return replace(faces, notes=(*faces.notes, note))
    why = "is in no folder, so its person is not known. Move it into a folder, or leave it out."
    for place in np.flatnonzero(~inside):
        reader.skip(faces.names[place], DataError(f"{faces.names[place]} {why}"))
    people = tuple(unicodedata.normalize("NFC", path[0]) for path in paths)
    return replace(faces, people=people, skipped=tuple(reader.skipped)).take(inside)


# ------------------------------------------------------------------ from arrays


def _read_arrays(location: Location, size: Size | None) -> Faces:
    """Read the pictures ``X``, the people ``y`` and the names ``name`` of an .npz file; or an .npy file."""
    source = readable(str(location))
    people = names = None
    notes: tuple[str, ...] = ()
    with opened_source(location, name=source) as (format, _, array):
        assert isinstance(array, ArraySource)
        values = array.read()
        if format.name == "npz":
            people = _entries(location.path, "y", len(values), source)
            try:
                names = _entries(location.path, "name", len(values), source)
            except GramianError as error:
                notes = (f"pictures are named by their numbers because {error}",)
    try:
        pictures = as_pictures(values)
    except DataError as error:
        raise DataError(f"{source}: {error}") from error
    _require_side(source, pictures.shape[2], pictures.shape[1])
    hashes = tuple(hashlib.sha256(picture.tobytes()).hexdigest() for picture in pictures)
    if size is not None:
        _require_memory(len(pictures), size, pictures.dtype)
        pictures = np.stack([images.resized(picture, size) for picture in pictures])
    return Faces(
        pictures,
        None if people is None else tuple(unicodedata.normalize("NFC", readable(who)) for who in people),
        tuple(readable(name) for name in names or map(str, range(len(pictures)))),
        hashes,
        notes=notes,
        source=source,
    )


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
