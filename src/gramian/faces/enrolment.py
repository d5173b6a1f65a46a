"""What is put into a gallery, checked before anything is stored: names, vectors, hashes and pictures."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import to_numpy
from gramian.errors import DataError, InputTypeError
from gramian.faces.names import person_name

__all__ = ["Batch", "Enrolled", "as_batch", "as_list", "counted"]

HASH = re.compile("[0-9a-f]{64}")
WANTED = {
    "people": "one name for each vector",
    "hashes": "the SHA-256 of each picture file",
    "sources": "the name of each picture",
    "pictures": "the bytes of each picture file",
}


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows that are ready to be stored, one a picture.

    Attributes
    ----------
    people : tuple of str
    vectors : ndarray of shape (n, k), little-endian float32
    hashes : tuple of bytes
        SHA-256 of each picture file.
    sources : tuple of str
    originals : tuple of bytes or None
    """

    people: tuple[str, ...]
    vectors: npt.NDArray[np.float32]
    hashes: tuple[bytes, ...]
    sources: tuple[str, ...]
    originals: tuple[bytes, ...] | None

    def __iter__(self) -> Iterator[tuple[str, bytes, bytes, str, bytes | None]]:
        """Yield person, vector, hash, source and original of each picture."""
        originals = self.originals or (None,) * len(self.people)
        vectors = (vector.tobytes() for vector in self.vectors)
        return zip(self.people, vectors, self.hashes, self.sources, originals, strict=True)


@dataclass(frozen=True)
class Enrolled:
    """What was stored.

    Attributes
    ----------
    counts : mapping of str to int
        For each person, in the order given, how many pictures are new in the gallery; may be 0.
    repeated : tuple of (person, source)
        Pictures that the person was enrolled with already; they are stored once.
    """

    counts: Mapping[str, int]
    repeated: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        text = f"{counted(sum(self.counts.values()), 'picture')} of {counted(len(self.counts), 'person')}"
        return f"{text} enrolled" + (f", {len(self.repeated):,} known already" if self.repeated else "")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "picture"), counted(2, "person")
    ('1 picture', '2 people')
    """
    many = "people" if noun == "person" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def as_list(what: str, given: Any) -> list[Any]:
    """Return one of the arguments of :func:`as_batch` as a list.

    Raises
    ------
    InputTypeError
        For a single text, and for what is no sequence.
    """
    if isinstance(given, str | bytes):
        raise InputTypeError(f"{what} is the text {given!r}. Give a list with {WANTED[what]}.")
    try:
        return list(given)
    except TypeError:
        raise InputTypeError(f"{what} is {type(given).__name__}. Give a list with {WANTED[what]}.") from None


def as_batch(
    people: Iterable[str],
    vectors: Any,
    hashes: Iterable[str],
    sources: Iterable[str] | None,
    pictures: Iterable[bytes] | None,
    n_components: int,
) -> Batch:
    """Check what is to be enrolled.

    Parameters
    ----------
    people : iterable of str
    vectors : array-like of shape (n, n_components)
    hashes : iterable of str
        SHA-256 of each picture file, 64 hexadecimal digits.
    sources : iterable of str or None
    pictures : iterable of bytes or None
    n_components : int

    Raises
    ------
    DataError, InputTypeError
        For anything that cannot be stored as it is.
    """
    values = _as_vectors(vectors, n_components)
    people, hashes = as_list("people", people), as_list("hashes", hashes)
    sources = None if sources is None else as_list("sources", sources)
    pictures = None if pictures is None else as_list("pictures", pictures)
    for name in people:
        if not isinstance(name, str):
            raise InputTypeError(f"The name of a person is {type(name).__name__}. Give text.")
    names = {name: person_name(name) for name in dict.fromkeys(people)}
    given = {"people": people, "hashes": hashes, "sources": sources, "pictures": pictures}
    for what, entries in given.items():
        if entries is not None and len(entries) != len(values):
            raise DataError(f"{len(values):,} vectors but {len(entries):,} {what}. Give one for each vector.")
    for digest in hashes:
        if not isinstance(digest, str) or not HASH.fullmatch(digest):
            raise DataError(
                f"{digest!r} is not a SHA-256 in 64 small hexadecimal digits. Give that of the picture file: "
                "hashlib.sha256(data).hexdigest()"
            )
    for place, picture in enumerate(pictures or ()):
        if not isinstance(picture, bytes):
            raise InputTypeError(
                f"A picture to keep is {type(picture).__name__}. Give the bytes of its file."
            )
        if hashlib.sha256(picture).hexdigest() != hashes[place]:
            raise DataError(
                f"Picture {place} is not the one with that SHA-256. Give pictures in the order of the hashes."
            )
    return Batch(
        tuple(names[name] for name in people),
        values,
        tuple(bytes.fromhex(digest) for digest in hashes),
        # A name from a disk may hold bytes that are no text.
        tuple(str(source).encode("utf-8", "replace").decode() for source in sources or [""] * len(values)),
        None if pictures is None else tuple(pictures),
    )


def _as_vectors(vectors: Any, n_components: int) -> npt.NDArray[np.float32]:
    try:
        given = np.asarray(to_numpy(vectors))
    except (TypeError, ValueError) as error:
        raise DataError(f"The vectors are no array ({error}). Give what transform returns.") from error
    if given.dtype.kind not in "fiu":
        raise DataError(f"The vectors are {given.dtype}, not real numbers. Give what transform returns.")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(given, dtype="<f4")
    if values.ndim != 2 or values.shape[1] != n_components:
        raise DataError(
            f"The vectors have shape {values.shape}; this gallery stores {n_components} numbers for each "
            "picture. Give what transform of its model returns."
        )
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise DataError(
            f"Vector {bad[0]} holds NaN, infinity, or a number too large for float32. Leave its picture out."
        )
    return values
