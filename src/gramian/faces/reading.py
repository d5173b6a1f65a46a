"""Pictures of faces with the people on them: from a folder, a zip archive, files or arrays."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gramian.arrays import memory_limit_bytes
from gramian.errors import DataError, FileError, GramianError, MemoryLimitError, MissingExtraError
from gramian.faces.pictures import Faces, Pictures, as_pictures
from gramian.rows.decoding import Picture, PictureForm, decode_picture, picture_form, readable, resized
from gramian.rows.files import Location, locate
from gramian.rows.numpy_files import read_npy, read_npz, read_npz_names
from gramian.rows.pictures import (
    PICTURE_SUFFIXES,
    pictures_in_folder,
    pictures_in_list,
    pictures_in_zip,
)
from gramian.rows.scan import check_size

__all__ = ["SMALLEST", "Faces", "read_faces"]

SMALLEST = 8  # pixels of a side below which nothing of a face is left


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
        Resize every picture to this; by default all must have one size.
    strict : bool, default=False
        Raise the error of the first bad picture. By default it is skipped and reported in ``skipped``.

    Raises
    ------
    DataError
        When no picture is left, or sizes differ.
    FileError
        When there is no such file, or it is damaged.
    MemoryLimitError
        When so many pixels do not fit.
    """
    wanted = check_size(size)
    bad = _Bad(strict)
    if not isinstance(source, str | os.PathLike):
        return _read_list(source, wanted, bad)
    location = _location(source)
    path, suffix = location.path, location.path.suffix.lower()
    if path.is_dir():
        pictures, notes = pictures_in_folder(path)
        return _with_people(_read(pictures, str(path), wanted, bad, notes), bad)
    if suffix == ".zip":
        with _archive(path) as archive:
            pictures, notes = pictures_in_zip(archive, str(path), bad)
            inside = [picture for picture in pictures if not _leads_outside(picture.name, bad)]
            return _with_people(_read(inside, str(path), wanted, bad, notes), bad, zipped=True)
    if suffix in (".npz", ".npy"):
        return _read_arrays(location, wanted)
    if suffix in PICTURE_SUFFIXES:
        return _read_list([path], wanted, bad)
    raise FileError(
        f"{path} is no folder, .zip archive or picture ({' '.join(PICTURE_SUFFIXES)}), nor an .npz or .npy "
        "file of pictures. Give one of them."
    )


def _location(source: str | os.PathLike[str]) -> Location:
    text = os.fspath(source)
    # Of a file that is there the kind is judged by its reader: locate would also offer those of tables.
    return Location(Path(text)) if os.path.isfile(text) else locate(text)


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


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise FileError(
            f"{path} is a truncated or damaged zip archive ({error}). Make or copy it again."
        ) from error
    except OSError as error:
        raise FileError(f"{path} cannot be opened: {error.strerror}. Check the path.") from error
    with archive:
        yield archive


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
    source = str(paths[0]) if len(paths) == 1 else f"{len(paths)} paths"
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
    animated = 0
    for picture in pictures:
        try:
            form, several = picture_form(picture)
            _require_size(picture, form)
        except GramianError as error:
            bad(picture.name, error)
            continue
        good.append(picture)
        forms.append(form)
        animated += several
    _require_some(forms, source, bad)
    width, height = size or _common_size(good, forms)
    dtype, mixed = _common_dtype(forms)
    _require_memory(len(good), width, height, dtype)
    values, names, hashes = _decode(good, (width, height), dtype, bad)
    _require_some(names, source, bad)
    said = {
        f"{animated} pictures have several frames: the first was used": animated,
        "Grey values of different depths were brought to 0..255": mixed,
        _resized_note(good, forms, (width, height)): size,
        _same_note(hashes): len(set(hashes)) < len(hashes),
    }
    notes = (*notes, *(text for text, holds in said.items() if holds and text))
    return Faces(values, None, names, hashes, tuple(bad.skipped), notes, source)


def _decode(
    pictures: Sequence[Picture], size: tuple[int, int], dtype: np.dtype[Any], bad: _Bad
) -> tuple[Pictures, tuple[str, ...], tuple[str, ...]]:
    values = np.empty((len(pictures), size[1], size[0]), dtype=dtype)
    names: list[str] = []
    hashes: list[str] = []
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
    return values[: len(names)], tuple(names), tuple(hashes)


def _require_size(picture: Picture, form: PictureForm) -> None:
    if min(form.width, form.height) < SMALLEST:
        raise DataError(
            f"{readable(picture.name)} is {form.width}x{form.height} pixels: nothing of a face is left below "
            f"{SMALLEST} pixels a side. Leave it out."
        )


def _require_some(found: Sequence[Any], source: str, bad: _Bad) -> None:
    if not found:
        shown = "; ".join(f"{name} {why}" for name, why in bad.skipped[:3])
        more = f" And {len(bad.skipped) - 3} more." if len(bad.skipped) > 3 else ""
        raise DataError(f"{source} holds no picture that can be used: {shown}{more}")


def _common_size(pictures: Sequence[Picture], forms: Sequence[PictureForm]) -> tuple[int, int]:
    sizes = Counter((form.width, form.height) for form in forms)
    first: dict[tuple[int, int], str] = {}
    for picture, form in zip(pictures, forms, strict=True):
        first.setdefault((form.width, form.height), readable(picture.name))
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


def _common_dtype(forms: Sequence[PictureForm]) -> tuple[np.dtype[Any], bool]:
    kinds = {form.dtype for form in forms}
    if len(kinds) == 1 and kinds <= {np.dtype(np.uint8), np.dtype(np.uint16)}:
        return kinds.pop(), False
    return np.dtype(np.float32), len(kinds) > 1


def _require_memory(count: int, width: int, height: int, dtype: np.dtype[Any]) -> None:
    # As they are read, and once more as the float32 numbers that are computed with.
    needed, limit = count * width * height * (dtype.itemsize + 4), memory_limit_bytes(None)
    if needed > limit:
        raise MemoryLimitError(
            f"{count:,} pictures of {width}x{height} pixels need {needed / 1e9:,.1f} GB, and "
            f"{limit / 1e9:,.1f} GB may be used. Make them smaller while reading, for instance with "
            'size="92x112" (--size 92x112).'
        )


def _resized_note(pictures: Sequence[Picture], forms: Sequence[PictureForm], size: tuple[int, int]) -> str:
    other = [i for i, form in enumerate(forms) if (form.width, form.height) != size]
    if not other:
        return ""
    i = other[0]
    return (
        f"{len(other)} of {len(forms)} pictures were resized to {size[0]}x{size[1]}, the first of them "
        f"{readable(pictures[i].name)} from {forms[i].width}x{forms[i].height}"
    )


def _same_note(hashes: Sequence[str]) -> str:
    same = len(hashes) - len(set(hashes))
    return f"{same} pictures are copies of others, byte for byte"


# ------------------------------------------------------------- who is on them


def _with_people(faces: Faces, bad: _Bad, *, zipped: bool = False) -> Faces:
    """Take people from the folders; pictures that lie beside the folders are bad, where they are fewer."""
    paths = [PurePosixPath(name).parts for name in faces.names]
    tops = {path[0] for path in paths}
    if zipped and len(tops) == 1 and min(len(path) for path in paths) > 2:
        note = f"{tops.pop()} is the only folder in the archive: people are the folders in it"
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
    for i in np.flatnonzero(~inside):
        bad(
            faces.names[i],
            DataError(
                f"{faces.names[i]} lies beside the folders, so who is on it is not known. "
                "Move it into a folder, or leave it out."
            ),
        )
    people = tuple(unicodedata.normalize("NFC", path[0]) for path in paths)
    kept = replace(faces, people=people, skipped=tuple(bad.skipped))
    return kept if inside.all() else kept.take(inside)


# ------------------------------------------------------------- from arrays


def _read_arrays(location: Location, size: tuple[int, int] | None) -> Faces:
    path, source = location.path, str(location)
    people = names = None
    try:
        with path.open("rb") as file:
            if path.suffix.lower() == ".npy":
                values = read_npy(file, path.stat().st_size, source)
            else:
                values, _ = read_npz(file, location.key, source)
                people = read_npz_names(file, "y", len(values), source)
                names = read_npz_names(file, "name", len(values), source)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{source} cannot be opened: {error.strerror}. Check the path.") from error
    pictures = as_pictures(values)
    hashes = tuple(hashlib.sha256(picture.tobytes()).hexdigest() for picture in pictures)
    if size is not None:
        pictures = np.stack([resized(picture, size) for picture in pictures])
    names = names or tuple(str(place) for place in range(len(pictures)))
    return Faces(pictures, people, names, hashes, source=source)
