"""Pictures of faces with the people on them: from a folder, a zip archive, files or arrays."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gramian.errors import DataError, FileError, GramianError, InputTypeError, MissingExtraError
from gramian.faces.pictures import Faces, Pictures
from gramian.faces.reading_arrays import read_arrays
from gramian.faces.sizes import SMALLEST, common_size, require_memory, require_side, wanted_size
from gramian.rows.decoding import PictureFile as Picture
from gramian.rows.decoding import PictureForm, decode_picture, picture_form, readable
from gramian.rows.files import Location, locate
from gramian.rows.pictures import (
    PICTURE_SUFFIXES,
    frames_note,
    opened_zip,
    pictures_in_folder,
    pictures_in_list,
    pictures_in_zip,
)

__all__ = ["SMALLEST", "Faces", "read_faces"]

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
