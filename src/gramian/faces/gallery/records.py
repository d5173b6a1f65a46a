"""Contents of a gallery: pictures of people as vectors, the model of the vectors, and settings."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.checks import counted
from gramian.errors import DataError
from gramian.faces.names import person_name
from gramian.faces.recognition import Recogniser
from gramian.faces.similarity import as_vectors
from gramian.records import FloatArray
from gramian.version import __version__

HASH = re.compile("[0-9a-f]{64}")


# ------------------------------------------------------------------ pictures of people


# Person, vector, hash, source and, where it is stored too, the picture file.
Row = tuple[str, bytes, bytes, str, bytes | None]


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
) -> list[Row]:
    """Check pictures and return one row for each, ready to be stored.

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
    empty: dict[str, list[Any]] = {"sources": [""] * len(values), "pictures": [None] * len(values)}
    columns = {"people": people, "hashes": hashes, "sources": sources, "pictures": pictures}
    lists = {name: empty[name] if given is None else list(given) for name, given in columns.items()}
    for name, given in lists.items():
        if len(given) != len(values):
            raise DataError(f"{len(values):,} vectors but {len(given):,} {name}. Give one for each vector.")
    rows = []
    for place, (name, digest, source, picture) in enumerate(zip(*lists.values(), strict=True)):
        if not isinstance(digest, str) or not HASH.fullmatch(digest):
            raise DataError(
                f"{digest!r} is not a SHA-256 of 64 lowercase hexadecimal digits. Give that of the picture "
                "file: hashlib.sha256(data).hexdigest()"
            )
        if picture is not None and hashlib.sha256(picture).hexdigest() != digest:
            raise DataError(f"Picture {place} has another SHA-256. Give pictures in the order of the hashes.")
        vector = values[place].astype("<f4").tobytes()
        # A name from a disk may hold bytes that are no text.
        source = str(source).encode("utf-8", "replace").decode()
        rows.append((person_name(name), vector, bytes.fromhex(digest), source, picture))
    return rows


# ------------------------------------------------------------------ the model


def check_model(model: Any) -> None:
    """Refuse what is no fitted FaceSpace, in scikit-learn's words.

    Raises
    ------
    TypeError
        For something other than a model.
    sklearn.exceptions.NotFittedError
        For a model that is not fitted.
    """
    if not hasattr(model, "fingerprint_"):
        check_is_fitted(model, "fingerprint_")


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
    def of(cls, model: Any) -> Self:
        """Describe a model.

        Raises
        ------
        TypeError, NotFittedError
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
