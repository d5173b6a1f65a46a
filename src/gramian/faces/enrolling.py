"""Enrolls into a gallery that may not be there yet: then it appears with everybody in it, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from gramian.errors import FileError
from gramian.faces.creating import create_file
from gramian.faces.enrolment import Enrolled, as_batch, as_list
from gramian.faces.gallery import Gallery
from gramian.faces.queries import add_pictures
from gramian.faces.settings import FittedModel, check_model, described
from gramian.store.atomic import as_path

__all__ = ["enroll_into"]


def enroll_into(
    path: str | os.PathLike[str],
    model: FittedModel,
    people: Iterable[str],
    vectors: Any,
    hashes: Iterable[str],
    pictures: Iterable[bytes] | None = None,
    *,
    sources: Iterable[str] | None = None,
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
    check_model(model)
    target = as_path(path)
    # Given one after the other they are there once, and may be needed twice.
    people, hashes = as_list("people", people), as_list("hashes", hashes)
    sources = None if sources is None else as_list("sources", sources)
    pictures = None if pictures is None else as_list("pictures", pictures)
    if not os.path.exists(target):
        batch = as_batch(people, vectors, hashes, sources, pictures, model.n_components_)
        try:
            return create_file(path, described(model, {}), lambda connection: add_pictures(connection, batch))
        except FileError:
            # Another process may have made it meanwhile.
            if not os.path.exists(target):
                raise
    with Gallery.open(path, model, timeout=timeout) as gallery:
        return gallery.enroll_many(people, vectors, hashes, pictures, sources=sources)
