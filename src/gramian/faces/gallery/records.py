"""What a gallery holds: pictures of people as vectors, the model these belong to, and the settings chosen."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian.checks import counted
from gramian.errors import DataError, InputTypeError
from gramian.faces.names import person_name
from gramian.faces.recognition import Recogniser
from gramian.faces.similarity import as_vectors
from gramian.records import FloatArray
from gramian.version import __version__

HASH = re.compile("[0-9a-f]{64}")


# ------------------------------------------------------------------ pictures of people


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows that are ready to be stored, one a picture.

    Attributes
    ----------
    people : tuple of str
    vectors : ndarray of shape (n, k), float32
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
        vectors = (vector.tobytes() for vector in self.vectors.astype("<f4", copy=False))
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
        people = counted(len(self.counts), "person", "people")
        text = f"{counted(sum(self.counts.values()), 'picture')} of {people} enrolled"
        return text + (f", {len(self.repeated):,} known already" if self.repeated else "")


@dataclass(frozen=True)
class Person:
    """Somebody in a gallery.

    Attributes
    ----------
    name : str
    pictures : int
        How many are enrolled.
    first, last : str
        When the first and the last of them were, UTC.
    kept : int
        How many of the pictures themselves are stored.
    """

    name: str
    pictures: int
    first: str
    last: str
    kept: int


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
    values = as_vectors(vectors, n_components)
    names, digests = _as_list("people", people, len(values)), _as_list("hashes", hashes, len(values))
    sources = [""] * len(values) if sources is None else _as_list("sources", sources, len(values))
    originals = None if pictures is None else _as_list("pictures", pictures, len(values))
    for digest in digests:
        if not isinstance(digest, str) or not HASH.fullmatch(digest):
            raise DataError(
                f"{digest!r} is not a SHA-256 in 64 small hexadecimal digits. Give that of the picture file: "
                "hashlib.sha256(data).hexdigest()"
            )
    for place, picture in enumerate(originals or ()):
        if hashlib.sha256(picture).hexdigest() != digests[place]:
            raise DataError(
                f"Picture {place} is not the one with that SHA-256. Give pictures in the order of the hashes."
            )
    return Batch(
        tuple(person_name(name) for name in names),
        values,
        tuple(bytes.fromhex(digest) for digest in digests),
        # A name from a disk may hold bytes that are no text.
        tuple(str(source).encode("utf-8", "replace").decode() for source in sources),
        None if originals is None else tuple(originals),
    )


def _as_list(what: str, given: Any, count: int) -> list[Any]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputTypeError(f"{what} is {given!r}. Give a list with one for each vector.")
    found = list(given)
    if len(found) != count:
        raise DataError(f"{count:,} vectors but {len(found):,} {what}. Give one for each vector.")
    return found


# ------------------------------------------------------------------ the model


class FittedModel(Protocol):
    """What a gallery needs to know of a fitted :class:`gramian.faces.FaceSpace`."""

    fingerprint_: str
    n_components_: int
    eigenvalues_: FloatArray
    shift_covariance_: FloatArray | None


def check_model(model: Any) -> None:
    """Refuse what is no fitted model of faces.

    Raises
    ------
    InputTypeError
        For something else than a model.
    sklearn.exceptions.NotFittedError
        For a model that is not fitted.
    """
    if hasattr(model, "fingerprint_"):
        return
    if isinstance(model, BaseEstimator):
        check_is_fitted(model, "fingerprint_")
    raise InputTypeError(
        f"The model is {type(model).__name__}. Give a fitted FaceSpace: that which FaceSpace(...).fit "
        "returns, or load of a saved one."
    )


@dataclass(frozen=True, eq=False)
class Description:
    """What a gallery says about itself in its table ``meta``.

    Attributes
    ----------
    fingerprint : str
    variances : ndarray of shape (k,), float64
    shifts : ndarray of shape (k, k), float64, or None
    created : str
    """

    fingerprint: str
    variances: FloatArray
    shifts: FloatArray | None
    created: str

    @property
    def n_components(self) -> int:
        """Length of a vector."""
        return len(self.variances)

    @classmethod
    def of(cls, model: FittedModel) -> Self:
        """Describe a model.

        Raises
        ------
        InputTypeError, NotFittedError
            As :func:`check_model`.
        """
        check_model(model)
        # Where there is no variance, rounding may leave a little less.
        variances = np.maximum(np.asarray(model.eigenvalues_, dtype=np.float64), 0.0)
        # A model saved before it could know of shifts has none.
        shifts = getattr(model, "shift_covariance_", None)
        return cls(model.fingerprint_, variances, shifts, now())

    def rows(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is written into the table ``meta``.

        Raises
        ------
        ParameterError, TypeError
            As :func:`settings_text`.
        """
        return {
            "fingerprint": self.fingerprint,
            "components": self.n_components,
            "variances": self.variances.astype("<f8").tobytes(),
            "shifts": b"" if self.shifts is None else np.asarray(self.shifts, dtype="<f4").tobytes(),
            "created": self.created,
            "gramian": __version__,
            "settings": settings_text(settings, self.n_components),
        }

    @classmethod
    def read(cls, rows: Mapping[str, Any]) -> Self:
        """Return what was written by :meth:`rows`.

        Raises
        ------
        sqlite3.DatabaseError
            When it is not as it was written.
        """
        try:
            count, variances = int(rows["components"]), np.frombuffer(rows["variances"], dtype="<f8")
            if len(variances) != count:
                raise ValueError(f"{len(variances)} variances of {count} components")
            # Galleries made before a model could know of shifts have none.
            shifts = np.frombuffer(rows.get("shifts", b""), dtype="<f4").astype(np.float64)
            square = shifts.reshape(count, count) if len(shifts) else None
            read_settings(rows["settings"])
            return cls(str(rows["fingerprint"]), variances.astype(np.float64), square, str(rows["created"]))
        except (KeyError, TypeError, ValueError) as error:
            raise sqlite3.DatabaseError("what it says of its model is missing or malformed") from error


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# ------------------------------------------------------------------ settings


def settings_text(settings: Mapping[str, Any], n_components: int) -> str:
    """Return what was chosen for the recogniser as text to be stored, without what is None.

    Raises
    ------
    ParameterError
        For a value that no recogniser of such vectors takes.
    TypeError
        For another name.

    Examples
    --------
    >>> settings_text({"match": "mean", "far": None}, 5)
    '{"match": "mean"}'
    """
    chosen = {name: value for name, value in settings.items() if value is not None}
    Recogniser(**chosen).check_parameters(n_components)
    # Numbers of NumPy become Python's own.
    return json.dumps(chosen, sort_keys=True, default=lambda number: number.item())


def read_settings(text: Any) -> dict[str, Any]:
    """Return what :func:`settings_text` wrote.

    Raises
    ------
    sqlite3.DatabaseError
        For a text that it cannot have written.

    Examples
    --------
    >>> read_settings('{"match": "mean"}')
    {'match': 'mean'}
    """
    try:
        return dict(json.loads(text))
    except (RecursionError, TypeError, ValueError) as error:
        raise sqlite3.DatabaseError("its settings are missing or malformed") from error
