"""What is asked of a gallery's file and put into it, each in SQL; the caller sees to transactions.

What is not as it was stored is an error of the database, like any other damage.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import sqlite3
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.faces.enrolment import Batch, Enrolled, counted, person_name
from gramian.rows.pictures import natural_key

__all__ = [
    "Person",
    "add_pictures",
    "list_people",
    "now",
    "person_number",
    "read_originals",
    "read_settings",
    "read_vectors",
    "remove_person",
]


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


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def add_pictures(connection: sqlite3.Connection, batch: Batch) -> Enrolled:
    """Store what is new in a batch, inside of the caller's transaction.

    Raises
    ------
    DataError
        When a picture is enrolled for somebody else.
    """
    counts = dict.fromkeys(batch.people, 0)
    numbers = {name: _added_person(connection, name) for name in counts}
    repeated, time = [], now()
    for name, vector, digest, source, original in batch:
        found = connection.execute(
            "SELECT pictures.id, name, source FROM pictures JOIN people ON people.id = person WHERE hash = ?",
            (digest,),
        ).fetchall()
        if not found:
            added = connection.execute(
                "INSERT INTO pictures (person, hash, source, enrolled, vector, crc) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (numbers[name], digest, source, time, vector, zlib.crc32(vector)),
            )
            picture = added.lastrowid
            counts[name] += 1
        else:
            picture, owner, known_as = found[0]
            if owner != name:
                raise _other_person(name, source, owner, known_as)
            repeated.append((name, source))
        if original is not None:
            connection.execute("INSERT OR IGNORE INTO originals VALUES (?, ?)", (picture, original))
    return Enrolled(counts, tuple(repeated))


def _added_person(connection: sqlite3.Connection, name: str) -> int:
    connection.execute("INSERT OR IGNORE INTO people (name) VALUES (?)", (name,))
    return int(connection.execute("SELECT id FROM people WHERE name = ?", (name,)).fetchall()[0][0])


def _other_person(name: str, source: str, owner: str, known_as: str) -> DataError:
    known_as = f" ({known_as})" if known_as and known_as != source else ""
    return DataError(
        f"{source or 'A picture'} is enrolled for {owner} already{known_as}, so it cannot be {name}. "
        f"Nothing was stored. Leave it out, or forget {owner} first."
    )


def remove_person(connection: sqlite3.Connection, name: str) -> int:
    """Remove somebody with all pictures, inside of the caller's transaction; say how many there were.

    Raises
    ------
    DataError
        When nobody of that name is enrolled.
    """
    number = person_number(connection, name)
    counts = connection.execute("SELECT count(*) FROM pictures WHERE person = ?", (number,)).fetchall()
    connection.execute("DELETE FROM people WHERE id = ?", (number,))
    return int(counts[0][0])


def person_number(connection: sqlite3.Connection, name: str) -> int:
    """Return the number that stands for somebody in the tables.

    Raises
    ------
    DataError
        When nobody of that name is enrolled; says who has a name like it.
    """
    name = person_name(name)
    rows = connection.execute("SELECT id FROM people WHERE name = ?", (name,)).fetchall()
    if rows:
        return int(rows[0][0])
    known = [str(other) for (other,) in connection.execute("SELECT name FROM people").fetchall()]
    folded = {other.casefold(): other for other in known}
    near = [folded[key] for key in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f"Did you mean {' or '.join(near)}?" if near else "See who is: gramian faces list GALLERY"
    raise DataError(f"{name} is not among the {counted(len(known), 'person')} of the gallery. {hint}")


def list_people(connection: sqlite3.Connection) -> tuple[Person, ...]:
    """Return who is enrolled, by name, numbers in names counting as numbers."""
    rows = connection.execute(
        "SELECT name, count(*), min(enrolled), max(enrolled), count(originals.picture) FROM people "
        "JOIN pictures ON pictures.person = people.id "
        "LEFT JOIN originals ON originals.picture = pictures.id GROUP BY people.id"
    ).fetchall()
    for name, _, first, last, _ in rows:
        if not all(isinstance(text, str) for text in (name, first, last)):
            raise sqlite3.DatabaseError("a name or a time is no text")
    return tuple(sorted((Person(*row) for row in rows), key=lambda person: natural_key(person.name)))


def read_vectors(
    connection: sqlite3.Connection, n_components: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.str_]]:
    """Return all vectors (n, n_components) and whose they are (n,), in the order of enrolment.

    Raises
    ------
    sqlite3.DatabaseError
        When a vector is not as it was stored.
    """
    # In the order of the pictures, so that the file is read from front to back.
    rows = connection.execute(
        "SELECT name, vector, crc FROM pictures LEFT JOIN people ON people.id = person ORDER BY pictures.id"
    ).fetchall()
    for name, vector, crc in rows:
        if not isinstance(name, str):
            raise sqlite3.DatabaseError("a picture belongs to nobody")
        if not isinstance(vector, bytes) or len(vector) != 4 * n_components or zlib.crc32(vector) != crc:
            raise sqlite3.DatabaseError(f"a vector of {name} is not as it was stored")
    joined = np.frombuffer(bytearray().join(row[1] for row in rows), dtype="<f4")
    vectors = joined.reshape(len(rows), n_components).astype(np.float32, copy=False)
    return vectors, np.array([row[0] for row in rows], dtype=np.str_)


def read_originals(connection: sqlite3.Connection, name: str) -> tuple[tuple[str, bytes], ...]:
    """Return the stored pictures of somebody: where each came from, and the bytes of its file.

    Raises
    ------
    DataError
        When nobody of that name is enrolled.
    sqlite3.DatabaseError
        When a picture is not as it was stored.
    """
    rows = connection.execute(
        "SELECT source, bytes, hash FROM pictures JOIN originals ON originals.picture = pictures.id "
        "WHERE person = ? ORDER BY pictures.id",
        (person_number(connection, name),),
    ).fetchall()
    for _, data, digest in rows:
        if not isinstance(data, bytes) or hashlib.sha256(data).digest() != digest:
            raise sqlite3.DatabaseError(f"a picture of {name} is not as it was stored")
    return tuple((source, data) for source, data, _ in rows)


def read_settings(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the settings that were chosen for a gallery.

    Raises
    ------
    sqlite3.DatabaseError
        When they are not as they were stored.
    """
    rows = connection.execute("SELECT value FROM meta WHERE key = 'settings'").fetchall()
    try:
        chosen: dict[str, Any] = dict(json.loads(rows[0][0]))
    except (IndexError, TypeError, ValueError) as error:
        raise sqlite3.DatabaseError("its settings are missing or malformed") from error
    return chosen
