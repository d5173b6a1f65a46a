"""Pictures of faces with the people on them: from a folder, a zip archive, files or arrays."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np

from gramian.arrays import memory_limit_bytes
from gramian.errors import (
    DataError,
    FileError,
    GramianError,
    InputTypeError,
    MemoryLimitError,
    MissingExtraError,
    ParameterError,
)
from gramian.faces.pictures import Faces, Pictures, as_pictures
from gramian.rows.decoding import (
    Picture,
    PictureForm,
    decode_picture,
    picture_content,
    picture_form,
    readable,
    resized,
)
from gramian.rows.files import Location, locate, require_regular
from gramian.rows.numpy_files import read_npy, read_npz, read_npz_names
from gramian.rows.pictures import (
    PICTURE_SUFFIXES,
    frames_note,
    open_member,
    open_picture,
    opened_zip,
    pictures_in_folder,
    pictures_in_list,
    pictures_in_zip,
)
from gramian.rows.scan import check_size

__all__ = [
    "LARGEST",
    "SMALLEST",
    "TOLERATED",
    "Faces",
    "common_size",
    "file_bytes",
    "read_arrays",
    "read_faces",
    "require_memory",
    "require_side",
    "stretched",
    "wanted_size",
]

SMALLEST = 8  # pixels of a side below which nothing of a face is left
LARGEST = 30_000  # pixels of a side above which no picture is resized


def wanted_size(size: Any) -> tuple[int, int] | None:
    """Return (width, height) that pictures of faces are to be resized to; None stays None.

    Raises
    ------
    InputTypeError, ParameterError
        For what is no size, and for one in which no face can be seen.

    Examples
    --------
    >>> wanted_size("92x112")
    (92, 112)
    """
    wanted = check_size(size)
    if wanted is None:
        return None
    if min(wanted) < SMALLEST:
        raise ParameterError(
            f"size={wanted[0]}x{wanted[1]}: nothing of a face is left below {SMALLEST} pixels a side. "
            f'Ask for more, such as size="92x112" (--size 92x112).'
        )
    if max(wanted) > LARGEST:
        raise ParameterError(
            f"size={wanted[0]}x{wanted[1]}: a side may have at most {LARGEST:,} pixels. "
            f'Ask for fewer, such as size="92x112" (--size 92x112).'
        )
    return wanted


def require_side(name: str, width: int, height: int) -> None:
    """Refuse a picture that is too small to show a face.

    Raises
    ------
    DataError
        Below 8 pixels a side.
    """
    if min(width, height) < SMALLEST:
        raise DataError(
            f"{name} is {width}x{height} pixels: nothing of a face is left below {SMALLEST} pixels a side. "
            "Leave it out."
        )


def require_memory(count: int, width: int, height: int, dtype: np.dtype[Any]) -> None:
    """Refuse more pixels than fit into memory.

    Raises
    ------
    MemoryLimitError
        As it says.
    """
    # As they are read, and once more as the float32 numbers that are computed with.
    needed, limit = count * width * height * (dtype.itemsize + 4), memory_limit_bytes(None)
    if needed > limit:
        counted = "1 picture" if count == 1 else f"{count:,} pictures"
        raise MemoryLimitError(
            f"{counted} of {width}x{height} pixels need{'s' if count == 1 else ''} {needed / 1e9:,.1f} GB, "
            f"and {limit / 1e9:,.1f} GB may be used. Make them smaller while reading, for instance with "
            'size="92x112" (--size 92x112).'
        )


def common_size(names: Sequence[str], forms: Sequence[PictureForm]) -> tuple[int, int]:
    """Return the one size (width, height) that all pictures have.

    Raises
    ------
    DataError
        When there are several; the most frequent one is proposed.
    """
    sizes = Counter((form.width, form.height) for form in forms)
    first: dict[tuple[int, int], str] = {}
    for name, form in zip(names, forms, strict=True):
        first.setdefault((form.width, form.height), name)
    ranked = sizes.most_common()
    if len(ranked) == 1:
        return ranked[0][0]
    parts = [
        f"{count} {'is' if count == 1 else 'are'} {w}x{h} ({first[w, h]})" for (w, h), count in ranked[:3]
    ]
    most = "{}x{}".format(*ranked[0][0])
    raise DataError(
        f"pictures of {len(ranked)} different sizes (width x height): {', '.join(parts)}"
        f"{', ...' if len(ranked) > 3 else ''}. Leave out what does not belong, or resize all, for instance "
        f'with size="{most}" (--size {most}); faces must then still be aligned.'
    )


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
    require_regular(path)
    try:
        with path.open("rb") as file:
            if path.suffix.lower() == ".npy":
                values = read_npy(file, path.stat().st_size, source)
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


SOURCES = "a folder, a .zip, a picture, an .npz or .npy file, or a list of pictures"


def read_faces(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    size: str | tuple[int, int] | None = None,
    strict: bool = False,
) -> Faces:
    """Read pictures of faces as grey values.

    Colour becomes grey by ITU-R 601-2 luma, pictures are turned upright as their camera recorded it, of
    several frames the first is taken, and 16-bit grey keeps its values. In a folder of folders each folder
    of the first level is a person. So it is in a zip archive, where a single folder around all others is
    passed over; nothing is unpacked to disk.

    Parameters
    ----------
    source : path or list of paths
        A folder, a .zip, a picture, an .npz file with pictures ``X`` and people ``y`` (``"FILE.npz::KEY"``
        for pictures under another name), an .npy file, or a list of pictures and folders of pictures,
        whose people are not known.
    size : "WIDTHxHEIGHT" or (width, height), optional
        Resize every picture to this, 8 to 30,000 pixels a side; by default all must have one size.
    strict : bool, default=False
        Raise the error of the first bad picture. By default it is skipped and reported in ``skipped``.

    Raises
    ------
    DataError
        When no picture is left, sizes differ, or an array does not name people for all of its pictures.
    FileError
        When there is no such file, or it is damaged, encrypted, a pipe or a device.
    InputTypeError
        When the source is no path and no list of paths.
    MemoryLimitError
        When so many pixels do not fit.
    ParameterError
        When the size is none that a face can have.
    """
    wanted = wanted_size(size)
    bad = _Bad(strict)
    if isinstance(source, list | tuple):
        return _read_list(source, wanted, bad)
    location = _location(source)
    path, suffix = location.path, location.path.suffix.lower()
    shown = readable(str(path))
    if path.is_dir():
        pictures, notes = pictures_in_folder(path)
        return _with_people(_read(pictures, shown, wanted, bad, notes), bad)
    if suffix == ".zip":
        with opened_zip(path) as archive:
            pictures, notes = pictures_in_zip(archive, shown, bad)
            inside = [picture for picture in pictures if not _leads_outside(picture.name, bad)]
            return _with_people(_read(inside, shown, wanted, bad, notes), bad, zipped=True)
    if suffix in (".npz", ".npy"):
        return read_arrays(location, wanted)
    if suffix in PICTURE_SUFFIXES:
        return _read_list([path], wanted, bad)
    raise FileError(
        f"{shown} is no folder, .zip archive or picture ({' '.join(PICTURE_SUFFIXES)}), nor an .npz or .npy "
        "file of pictures. Give one of them."
    )


def _location(source: Any) -> Location:
    text = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if not isinstance(text, str):
        advice = (
            " Give pictures in memory to the method itself, as fit(X)." if hasattr(source, "shape") else ""
        )
        raise InputTypeError(
            f"{_short(source)} ({type(source).__name__}) is no path of pictures. Give {SOURCES}.{advice}"
        )
    # Of a file that is there the kind is judged by its reader: locate would also offer those of tables.
    return Location(Path(text)) if os.path.isfile(text) else locate(text)


def _short(value: Any) -> str:
    text = readable(repr(value))
    return text if len(text) <= 40 and "\n" not in text else "This"


@dataclass
class _Bad:
    """What to do with a bad picture: refuse it, or note it and go on."""

    strict: bool
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, name: str, error: GramianError) -> None:
        if self.strict or isinstance(error, MissingExtraError):
            raise error
        name = readable(name)
        self.skipped.append((name, str(error).removeprefix(f"{name} ")))


def _leads_outside(name: str, bad: _Bad) -> bool:
    """Nothing is unpacked, but a name that leads out of its archive was made by no honest program."""
    outside = ".." in re.split(r"[/\\]", name) or name.startswith(("/", "\\")) or name[1:2] == ":"
    if outside:
        bad(name, DataError(f"{readable(name)} has a path that leads outside of the archive. Leave it out."))
    return outside


def _read_list(paths: Sequence[str | os.PathLike[str]], size: tuple[int, int] | None, bad: _Bad) -> Faces:
    if not paths:
        raise DataError("The list of pictures is empty. Give at least one path.")
    pictures: list[Picture] = []
    notes: list[str] = []
    for path in (_location(path).path for path in paths):
        if path.is_dir():
            found, more = pictures_in_folder(path)
            pictures += [Picture((path / p.name).as_posix(), p.open) for p in found]
            notes += more
        else:
            pictures += pictures_in_list([path])
    source = readable(str(paths[0])) if len(paths) == 1 else f"{len(paths)} paths"
    return _read(pictures, source, size, bad, tuple(notes))


# ------------------------------------------------------------- from files


def _read(
    pictures: Sequence[Picture],
    source: str,
    size: tuple[int, int] | None,
    bad: _Bad,
    notes: tuple[str, ...],
) -> Faces:
    """Look at all headers, so that what does not fit is refused before anything is decoded; then decode."""
    good: list[Picture] = []
    forms: list[PictureForm] = []
    frames: list[bool] = []
    for picture in pictures:
        try:
            form, several = picture_form(picture)
            require_side(readable(picture.name), form.width, form.height)
        except GramianError as error:
            bad(picture.name, error)
            continue
        good.append(picture)
        forms.append(form)
        frames.append(several)
    _require_some(forms, source, bad)
    kept = _same_scale(good, forms, bad)
    good, forms = [good[i] for i in kept], [forms[i] for i in kept]
    animated = sum(frames[i] for i in kept)
    width, height = size or common_size([readable(picture.name) for picture in good], forms)
    dtype, said = _common_dtype(forms)
    require_memory(len(good), width, height, dtype)
    values, names, hashes, paths = _decode(good, (width, height), dtype, bad)
    _require_some(names, source, bad)
    found = (
        frames_note(animated) if animated else "",
        said,
        _resized_note(good, forms, (width, height)) if size else "",
        _same_note(len(hashes) - len(set(hashes))),
    )
    notes = (*notes, *(note for note in found if note))
    return Faces(values, None, names, hashes, tuple(bad.skipped), notes, source, paths)


def _decode(
    pictures: Sequence[Picture], size: tuple[int, int], dtype: np.dtype[Any], bad: _Bad
) -> tuple[Pictures, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    values = np.empty((len(pictures), size[1], size[0]), dtype=dtype)
    names: list[str] = []
    hashes: list[str] = []
    paths: list[str] = []
    for picture in pictures:
        try:
            decoded = decode_picture(picture, size)
            found = decoded.values
            if dtype == np.float32 and found.dtype == np.uint16:
                found = found / np.float32(257)
            if not np.isfinite(found).all():
                raise DataError(f"{readable(picture.name)} holds NaN or infinity. Leave it out.")
        except GramianError as error:
            bad(picture.name, error)
            continue
        values[len(names)] = found
        names.append(readable(picture.name))
        hashes.append(decoded.sha256)
        paths.append(picture.name)
    return values[: len(names)], tuple(names), tuple(hashes), tuple(paths)


def _require_some(found: Sequence[Any], source: str, bad: _Bad) -> None:
    if found:
        return
    if len(bad.skipped) == 1 and bad.skipped[0][0] == source:
        raise DataError(f"{source} {bad.skipped[0][1]}")
    shown = "; ".join(f"{name} {why}" for name, why in bad.skipped[:3])
    more = f" And {len(bad.skipped) - 3} more." if len(bad.skipped) > 3 else ""
    raise DataError(f"{source} holds no picture that can be used: {shown}{more}")


def _same_scale(pictures: Sequence[Picture], forms: Sequence[PictureForm], bad: _Bad) -> list[int]:
    """Return the places of pictures whose grey values are on one scale; the others are bad.

    8 and 16 bits are brought to one scale. Of integers of 32 bits and of floats no one knows the white.
    """
    scales = ["8- or 16-bit" if form.dtype in (np.uint8, np.uint16) else str(form.dtype) for form in forms]
    # Where there are as many of two scales, the known one is kept.
    most = max(Counter(scales).items(), key=lambda item: (item[1], item[0].startswith("8")))[0]
    for picture, scale in zip(pictures, scales, strict=True):
        if scale != most:
            name = readable(picture.name)
            error = DataError(
                f"{name} has {scale} grey values and the others {most} ones, on what may be another scale. "
                "Save it with the depth of the others, or leave it out."
            )
            bad(picture.name, error)
    return [i for i, scale in enumerate(scales) if scale == most]


def _common_dtype(forms: Sequence[PictureForm]) -> tuple[np.dtype[Any], str]:
    """Return what pictures of one scale are kept as, and what to say of it."""
    kinds = {form.dtype for form in forms}
    if len(kinds) > 1:
        return np.dtype(np.float32), "Grey values of different depths were brought to 0..255"
    (kind,) = kinds
    if kind in (np.uint8, np.uint16):
        return kind, ""
    return np.dtype(np.float32), f"Grey values are {kind} and were kept as they are, not brought to 0..255"


def _resized_note(pictures: Sequence[Picture], forms: Sequence[PictureForm], size: tuple[int, int]) -> str:
    other = [i for i, form in enumerate(forms) if (form.width, form.height) != size]
    if not other:
        return ""
    i = other[0]
    return (
        f"{len(other)} of {len(forms)} pictures were resized to {size[0]}x{size[1]}, the first of them "
        f"{readable(pictures[i].name)} from {forms[i].width}x{forms[i].height}"
    )


def _same_note(count: int) -> str:
    if count < 2:
        return "1 picture is a copy of another, byte for byte" if count else ""
    return f"{count} pictures are copies of others, byte for byte"


# ------------------------------------------------------------- who is on them


def _with_people(faces: Faces, bad: _Bad, *, zipped: bool = False) -> Faces:
    """Take people from the folders; pictures that lie beside the folders are bad, where they are fewer."""
    paths = [PurePosixPath(path).parts for path in faces.paths or ()]
    tops = {path[0] for path in paths}
    if zipped and len(tops) == 1 and min(len(path) for path in paths) > 2:
        note = f"{readable(tops.pop())} is the only folder in the archive: people are the folders in it"
        faces, paths = replace(faces, notes=(*faces.notes, note)), [path[1:] for path in paths]
    inside = np.array([len(path) > 1 for path in paths])
    if not inside.any():
        return faces
    if inside.mean() <= 0.5:
        note = (
            f"{int(inside.sum())} of {len(paths)} pictures are in folders and the others are not: "
            "who is on them is not taken from folders"
        )
        return replace(faces, notes=(*faces.notes, note))
    folders = [unicodedata.normalize("NFC", path[0]) for path in paths]
    people = tuple(readable(folder) for folder in folders)
    # Names of undecodable bytes can be different and yet be shown as one: nobody's pictures are mixed up.
    alike = Counter(shown for _, shown in {*zip(folders, people, strict=True)})
    good = np.array([within and alike[who] == 1 for within, who in zip(inside, people, strict=True)])
    for i in np.flatnonzero(~good):
        why = (
            "is in a folder whose name is shown like that of another one. Rename the folder"
            if inside[i]
            else "lies beside the folders, so who is on it is not known. Move it into a folder"
        )
        bad(faces.names[i], DataError(f"{faces.names[i]} {why}, or leave it out."))
    _require_some(np.flatnonzero(good).tolist(), faces.source, bad)
    kept = replace(faces, people=people, skipped=tuple(bad.skipped))
    return kept if good.all() else kept.take(good)


# Sides of small pictures are whole numbers, so that proportions are never quite the same.
TOLERATED = 1.1
Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def file_bytes(source: Source, faces: Faces) -> tuple[bytes, ...]:
    """Return the bytes of the files of pictures.

    Parameters
    ----------
    source : path or list of paths
        What the pictures were read from.
    faces : Faces
        What was read.

    Raises
    ------
    DataError
        When a file is no longer what was read.
    FileError
        When one can no longer be opened.
    ParameterError
        For pictures that came as an array, which are no files.
    """
    if _is_array(source):
        raise ParameterError(
            f"{readable(str(source))} is an array of pictures, and only picture files can be kept. "
            "Leave that out, or save the pictures as files."
        )
    found = []
    with _opener(source) as opened:
        for path, digest in zip(faces.paths or faces.names, faces.hashes, strict=True):
            data = picture_content(Picture(path, partial(opened, path)))
            if hashlib.sha256(data).hexdigest() != digest:
                raise DataError(f"{readable(path)} was changed while it was read. Try again.")
            found.append(data)
    return tuple(found)


def stretched(source: Source, faces: Faces) -> tuple[tuple[str, tuple[int, int]], ...]:
    """Return the pictures that resizing has stretched: name, and (width, height) of the file.

    They are those whose proportions differ by more than 10 % from the others.

    Parameters
    ----------
    source, faces
        As for :func:`file_bytes`.
    """
    if _is_array(source):
        return ()
    height, width = faces.pictures.shape[1:]
    found = []
    with _opener(source) as opened:
        for name, path in zip(faces.names, faces.paths or faces.names, strict=True):
            form, _ = picture_form(Picture(path, partial(opened, path)))
            ratio = (form.width * height) / (form.height * width)
            if max(ratio, 1 / ratio) > TOLERATED:
                found.append((name, (form.width, form.height)))
    return tuple(found)


def _is_array(source: Source) -> bool:
    return isinstance(source, str | os.PathLike) and locate(os.fspath(source)).path.suffix.lower() in (
        ".npy",
        ".npz",
    )


@contextmanager
def _opener(source: Source) -> Iterator[Callable[[str], IO[bytes]]]:
    """Give what opens a picture by its path within the source, which need not be what is shown of it."""
    path = locate(os.fspath(source)).path if isinstance(source, str | os.PathLike) else None
    if path is not None and path.suffix.lower() == ".zip" and not path.is_dir():
        with opened_zip(path) as archive:
            yield partial(_open_member, archive)
    else:
        yield partial(_open_file, path if path is not None and path.is_dir() else Path())


def _open_file(folder: Path, name: str) -> IO[bytes]:
    return open_picture(folder / name, name)


def _open_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return open_member(archive, archive.getinfo(name))
