"""What a gallery holds: pictures of people as vectors, the model these belong to, and the settings chosen."""

from __future__ import annotations

import difflib
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
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.faces.names import person_name
from gramian.faces.recognition import Recogniser
from gramian.faces.similarity import as_vectors
from gramian.records import FloatArray
from gramian.version import __version__

HASH = re.compile("[0-9a-f]{64}")
# What a recogniser can be told, and a gallery can remember.
SETTINGS = ("distance", "discriminant", "match", "far", "n_components")
# Scores are float32, and a variance is at most the square of the largest of them.
LARGEST = float(np.finfo(np.float32).max) ** 2


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
        if not isinstance(picture, bytes):
            raise InputTypeError(
                f"A picture to keep is {type(picture).__name__}. Give the bytes of its file."
            )
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
        DataError
            For variances that no vector of float32 has.
        InputTypeError, NotFittedError
            As :func:`check_model`.
        """
        check_model(model)
        # Where there is no variance, rounding may leave a little less.
        variances = np.maximum(np.asarray(model.eigenvalues_, dtype=np.float64), 0.0)
        if not (variances <= LARGEST).all():
            raise DataError(
                f"The model's variances go up to {variances.max():.3g}, and scores like that are too large "
                "for float32. Divide the pictures by a constant and fit again."
            )
        return cls(model.fingerprint_, variances, model.shift_covariance_, now())

    def rows(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is written into the table ``meta``.

        Raises
        ------
        ParameterError
            As :func:`check_settings`.
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
            # Galleries made before a model could know of shifts have none.
            shifts = np.frombuffer(rows.get("shifts", b""), dtype="<f4").astype(np.float64)
            good = HASH.fullmatch(rows["fingerprint"]) is not None and len(variances) == count > 0
            good = good and bool(
                ((variances >= 0) & (variances <= LARGEST)).all() and np.isfinite(shifts).all()
            )
            square = shifts.reshape(count, count) if len(shifts) else None
            read_settings(rows["settings"], count)
            described = cls(rows["fingerprint"], variances.astype(np.float64), square, str(rows["created"]))
        except (KeyError, TypeError, ValueError) as error:
            raise sqlite3.DatabaseError("what it says of its model is missing or malformed") from error
        if not good:
            raise sqlite3.DatabaseError("what it says of its model cannot be so")
        return described


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


# ------------------------------------------------------------------ settings


def settings_text(settings: Mapping[str, Any], n_components: int) -> str:
    """Return settings as text to be stored, without those that are None.

    Raises
    ------
    ParameterError
        As :func:`check_settings`.

    Examples
    --------
    >>> settings_text({"match": "mean", "far": None}, 5)
    '{"match": "mean"}'
    """
    check_settings(settings, n_components)
    chosen = {name: value for name, value in settings.items() if value is not None}
    # Numbers of NumPy become Python's own.
    return json.dumps(chosen, sort_keys=True, allow_nan=False, default=lambda number: number.item())


def read_settings(text: Any, n_components: int) -> dict[str, Any]:
    """Return the settings that :func:`settings_text` wrote.

    Raises
    ------
    sqlite3.DatabaseError
        For a text that it cannot have written.

    Examples
    --------
    >>> read_settings('{"match": "mean"}', 5)
    {'match': 'mean'}
    """
    try:
        found = dict(json.loads(text))
        check_settings(found, n_components)
    except (TypeError, ValueError, RecursionError) as error:
        raise sqlite3.DatabaseError("its settings are missing or malformed") from error
    return found


def check_settings(settings: Mapping[str, Any], n_components: int) -> None:
    """Refuse a setting that no recogniser of such vectors takes; None is its default.

    Raises
    ------
    ParameterError
        For another name, or a value outside of what it may be.
    """
    for name in settings:
        if name not in SETTINGS:
            near = difflib.get_close_matches(name, SETTINGS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ParameterError(f"{name} is no setting of a gallery. There are {', '.join(SETTINGS)}.{hint}")
    given = {name: value for name, value in settings.items() if value is not None}
    Recogniser(**given).check_parameters(n_components)
