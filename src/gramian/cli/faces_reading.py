"""Reads the pictures that a command about people is given: what can be used is, the rest is reported."""

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gramian.cli.faces_model import report_reading
from gramian.cli.progress import progress, say
from gramian.errors import DataError, FileError, GramianError
from gramian.faces.names import shown

__all__ = ["Reading", "read_arguments", "skipped_facts", "without_pictures"]

Skipped = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read from one argument, or from several picture files in a row."""

    source: str | list[str]
    faces: Any

    @property
    def names(self) -> list[str]:
        """Name of each picture, as it can be found from where the command was called."""
        if isinstance(self.source, list):
            return list(self.faces.names)
        return [f"{self.source.rstrip('/')}/{name}" for name in self.faces.names]


def read_arguments(
    pictures: Sequence[str], space: Any, *, strict: bool = False, all_there: bool = False
) -> tuple[list[Reading], list[Skipped], GramianError | None]:
    """Read pictures in a model's size, and say what was skipped, resized and stretched.

    An argument of which nothing can be used is skipped, as a picture is.

    Parameters
    ----------
    pictures : sequence of str
        Arguments of a command: files, folders, archives.
    space : FaceSpace
    strict : bool
        Raise the error of the first bad picture or argument.
    all_there : bool
        Refuse a folder or archive that does not exist, before anything is read.

    Returns
    -------
    readings : list of Reading
    skipped : list of (name, why)
    error : GramianError or None
        Why there is nothing at all.
    """
    sources = _sources(pictures)
    if all_there:
        _require_there(sources)
    readings: list[Reading] = []
    skipped: list[Skipped] = []
    error: GramianError | None = None
    while sources:
        source = sources.pop(0)
        try:
            readings.append(_read(source, space, strict))
            skipped += readings[-1].faces.skipped
        except (DataError, FileError) as raised:
            if strict:
                raise
            if isinstance(source, list) and len(source) > 1:
                # Which of them are bad is seen when each is read alone.
                sources[:0] = [[one] for one in source]
                continue
            error = raised
            skipped.append(_skipped(source, raised))
            if len(pictures) > 1:
                say(f"gramian: skipped: {' '.join(skipped[-1])}")
    if readings:
        return readings, skipped, None
    if len(pictures) > 1:
        error = DataError(f"None of the {len(pictures):,} pictures and folders given can be used.")
    return [], skipped, error


def _sources(pictures: Sequence[str]) -> list[str | list[str]]:
    """Take picture files that follow each other together: they are read as one list."""
    from gramian.rows.pictures import PICTURE_SUFFIXES

    sources: list[str | list[str]] = []
    for picture in pictures:
        if os.path.isdir(picture) or Path(picture).suffix.lower() not in PICTURE_SUFFIXES:
            sources.append(picture)
        elif sources and isinstance(sources[-1], list):
            sources[-1].append(picture)
        else:
            sources.append([picture])
    return sources


def _require_there(sources: list[str | list[str]]) -> None:
    from gramian.rows.files import locate

    for source in sources:
        if isinstance(source, str) and not os.path.exists(source):
            locate(source)


def _skipped(source: str | list[str], error: GramianError) -> Skipped:
    text, name = str(error), source if isinstance(source, str) else source[0]
    if isinstance(source, list):
        # Of one picture alone the reader says the same in more words.
        text = text.rpartition("that can be used: ")[2]
    for said in (f"{name} ", f"{name}: ", f"folder {name} "):
        text = text.removeprefix(said)
    return shown(name), shown(text)


def _read(source: str | list[str], space: Any, strict: bool) -> Reading:
    from gramian.faces.gallery.records import counted
    from gramian.faces.reading import read_faces, stretched

    height, width = space.picture_shape_
    with progress(f"reading {shown(source) if isinstance(source, str) else 'pictures'}"):
        faces = read_faces(source, size=(width, height), strict=strict)
        other = stretched(source, faces)
    report_reading(faces)
    if other:
        first, (w, h) = other[0]
        have, were = ("has", "was") if len(other) == 1 else ("have", "were")
        say(
            f"gramian: warning: {len(other)} of {counted(len(faces), 'picture')} {have} other proportions "
            f"than the model's {width}x{height} and {were} stretched, the first {first} of {w}x{h}. "
            "Crop and align them, or the answers mean little."
        )
    return Reading(source, faces)


def skipped_facts(skipped: list[Skipped]) -> list[dict[str, str]]:
    """Return what was skipped, for JSON."""
    return [{"picture": name, "why": why} for name, why in skipped]


def without_pictures(faces: Any) -> list[str]:
    """Return the folders of people of whom every picture was skipped."""
    if not faces.skipped:
        return []
    first = [unicodedata.normalize("NFC", part) for part in PurePosixPath(faces.names[0]).parts]
    level = first.index(faces.people[0])
    # A path that leads out of an archive is nobody's.
    inside = [name for name, _ in faces.skipped if not re.match(r"[/\\]|.:", name)]
    paths = [PurePosixPath(unicodedata.normalize("NFC", name)).parts for name in inside]
    found = {path[level] for path in paths if len(path) > level + 1 and ".." not in path}
    return sorted(who for who in found - set(faces.people) if "\\" not in who)
