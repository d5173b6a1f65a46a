"""Pictures of faces and galleries that a command line names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from gramian.checks import counted, shown
from gramian.cli.outputs import check_out
from gramian.errors import DataError, FileError
from gramian.progress import say, shows_progress


def open_gallery(name: str, model: Any, access: str) -> Any:
    """Open a gallery of a model; before long work, check the path of one that may have to be created."""
    from gramian.faces.gallery import Gallery

    with shows_progress("reading the gallery"):
        if access != "create":
            return Gallery.open(name, model, read_only=access == "read")
        if os.path.lexists(name):
            Gallery.open(name, model).close()
        else:
            check_out(name)
        return name


def read_pictures(source: Any, model: Any = None, *, size: Any = None, **how: Any) -> Any:
    """Read pictures of faces, in a model's size, and say what was skipped, resized and decided.

    Parameters
    ----------
    source : path, or list of paths
    model : FaceSpace, optional
    size, **how : optional
        As of :func:`gramian.faces.read_faces`.

    Returns
    -------
    gramian.faces.Faces
    """
    from gramian.faces.face_images import read_faces

    with shows_progress(f"reading {shown(source) if isinstance(source, str) else 'pictures'}"):
        faces = read_faces(source, size=size if model is None else model.picture_shape_[::-1], **how)
    for name, why in faces.skipped:
        say(f"gramian: skipped: {name} {why}")
    for note in faces.notes:
        say(f"gramian: {note}")
    return faces


def read_arguments(
    pictures: Sequence[str], model: Any, *, strict: bool = False, required: bool = False, **how: Any
) -> list[Any]:
    """Read pictures in a model's size, and say what was skipped, resized and stretched.

    The Faces of each argument, or of several picture files in a row, have names by which pictures can be
    found from where the command was called. An argument of which nothing can be used is skipped, as a
    picture is, unless it is strict. Missing folders and archives that are required raise an error at once.
    """
    from gramian.io.files import locate

    sources: list[str | list[str]] = []
    for files, group in groupby(pictures, _is_picture):  # picture files in a row are read as one list
        some = list(group)
        sources += [some] if files else some
        for name in [] if files or not required else some:
            if not os.path.exists(name):
                locate(name)
    given: list[Any] = []
    while sources:
        source = sources.pop(0)
        try:
            given.append(_read(source, model, strict=strict, **how))
        except (DataError, FileError) as error:
            if strict:
                raise
            if isinstance(source, list) and len(source) > 1:
                # Which of them are bad is seen when each is read alone.
                sources[:0] = [[one] for one in source]
                continue
            given.append(_nothing(shown(source if isinstance(source, str) else source[0]), shown(error)))
            say(f"gramian: skipped: {shown(error)}")
    return given


def _is_picture(name: str) -> bool:
    from gramian.io.names import PICTURE_SUFFIXES

    return not os.path.isdir(name) and Path(name).suffix.lower() in PICTURE_SUFFIXES


def _nothing(name: str, why: str) -> Any:
    """Return no pictures, and why."""
    import numpy as np

    from gramian.faces.face_images import Faces

    return Faces(np.empty((0, 0, 0)), None, (), (), skipped=((name, why),))


def _read(source: str | list[str], model: Any, **how: Any) -> Any:
    faces = read_pictures(source, model, **how)
    if other := faces.stretched():
        first, (w, h) = other[0]
        say(
            f"gramian: warning: {len(other)} of {counted(len(faces), 'picture')} stretched to the model's "
            f"{faces.size}, the first {first} of {w}x{h}. Answers are unreliable unless pictures are "
            "cropped and aligned."
        )
    if isinstance(source, list):
        return faces
    return replace(faces, names=tuple(f"{source.rstrip('/')}/{name}" for name in faces.names))
