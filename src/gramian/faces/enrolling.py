"""Enrolls into a gallery that may not be there yet: then it appears with everybody in it, or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gramian.errors import FileError
from gramian.faces.enrolment import Enrolled, as_batch
from gramian.faces.gallery import Gallery
from gramian.faces.queries import add_pictures
from gramian.faces.schema import create_file
from gramian.faces.settings import FittedModel, described

__all__ = ["enroll_into"]


def enroll_into(
    path: str | os.PathLike[str],
    model: FittedModel,
    people: Sequence[str],
    vectors: Any,
    hashes: Sequence[str],
    pictures: Sequence[bytes] | None = None,
    *,
    sources: Sequence[str] | None = None,
    timeout: float = 5.0,
) -> Enrolled:
    """Add pictures of people to a gallery, and make the gallery if there is none: all of them, or none.

    Parameters
    ----------
    path : str or path-like
    model : FaceSpace
        Fitted; its ``transform`` made the vectors.
    people, vectors, hashes, pictures, sources
        As for :meth:`Gallery.enroll_many`.
    timeout : float
        Seconds to wait while another process changes the gallery.

    Raises
    ------
    DataError, FileError
        As for :meth:`Gallery.open` and :meth:`Gallery.enroll_many`; no new gallery is left then.
    """
    if not Path(path).exists():
        batch = as_batch(people, vectors, hashes, sources, pictures, model.n_components_)
        try:
            return create_file(path, described(model, {}), lambda connection: add_pictures(connection, batch))
        except FileError:
            # Another process may have made it meanwhile.
            if not Path(path).exists():
                raise
    with Gallery.open(path, model, timeout=timeout) as gallery:
        return gallery.enroll_many(people, vectors, hashes, pictures, sources=sources)
