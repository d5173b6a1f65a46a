"""What is asked of a gallery's file and put into it, each in SQL; the caller sees to transactions.

What is not as it was stored is an error of the database, like any other damage.
"""

from __future__ import annotations

import difflib
import hashlib
import sqlite3
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.faces.gallery.records import Batch, Enrolled, counted, is_time, now
from gramian.faces.names import person_name, shown
from gramian.rows.pictures import natural_key

__all__ = [
    "Person",
    "add_pictures",
    "list_people",
    "person_number",
    "read_originals",
    "read_vectors",
    "remove_person",
]

# What a person's number leads to, the farthest first.
OF_A_PERSON = (
    "originals WHERE picture IN (SELECT id FROM pictures WHERE person = ?)",
    "pictures WHERE person = ?",
    "people WHERE id = ?",
)
# Those between the first and the last are looked at too.
NO_TIME = "enrolled NOT GLOB '????-??-??T??:??:??+00:00'"


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
    source, owner, known_as = shown(source), shown(owner), shown(known_as)
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
    sqlite3.DatabaseError
        When something is left, which the caller's transaction then undoes.
    """
    number = person_number(connection, name)
    removed = _count(connection, OF_A_PERSON[1], number)
    for what in OF_A_PERSON:
        connection.execute(f"DELETE FROM {what}", (number,))
        _require_none(connection, what, number, name)
    # Something in the file that works by itself could also put rows back.
    for what in OF_A_PERSON:
        _require_none(connection, what, number, name)
    return removed


def _require_none(connection: sqlite3.Connection, what: str, number: int, name: str) -> None:
    if _count(connection, what, number):
        raise sqlite3.DatabaseError(f"{shown(name)} cannot be removed, something is left each time")


def _count(connection: sqlite3.Connection, what: str, number: int) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {what}", (number,)).fetchall()[0][0])


def person_number(connection: sqlite3.Connection, name: str) -> int:
    """Return the number that stands for somebody in the tables.

    A stored name that could not be enrolled is found as :func:`gramian.faces.names.shown` writes it.

    Raises
    ------
    DataError
        When nobody of that name is enrolled; says who has a name like it.
    """
    name = person_name(name)
    rows = connection.execute("SELECT id FROM people WHERE name = ?", (name,)).fetchall()
    if rows:
        return int(rows[0][0])
    people = {
        shown(other): int(number)
        for number, other in connection.execute("SELECT id, name FROM people").fetchall()
    }
    if name in people:
        return people[name]
    folded = {other.casefold(): other for other in people}
    near = [folded[key] for key in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f"Did you mean {' or '.join(near)}?" if near else "See who is: gramian faces list GALLERY"
    raise DataError(f"{name} is not among the {counted(len(people), 'person')} of the gallery. {hint}")


def list_people(connection: sqlite3.Connection) -> tuple[Person, ...]:
    """Return who is enrolled, by name, numbers in names counting as numbers."""
    rows = connection.execute(
        "SELECT name, count(*), min(enrolled), max(enrolled), count(originals.picture), "
        f"sum({NO_TIME}) FROM people "
        "JOIN pictures ON pictures.person = people.id "
        "LEFT JOIN originals ON originals.picture = pictures.id GROUP BY people.id"
    ).fetchall()
    for name, _, first, last, _, others in rows:
        if not all(isinstance(text, str) for text in (name, first, last)):
            raise sqlite3.DatabaseError("a name or a time is no text")
        if others or not (is_time(first) and is_time(last)):
            raise sqlite3.DatabaseError(f"when {name} was enrolled is no time")
    return tuple(sorted((Person(*row[:-1]) for row in rows), key=lambda person: natural_key(person.name)))


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
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        name, source = rows[bad[0]][0], _source(connection, int(bad[0]))
        raise sqlite3.DatabaseError(f"the vector of {source} of {name} holds NaN or infinity")
    return vectors, np.array([row[0] for row in rows], dtype=np.str_)


def _source(connection: sqlite3.Connection, place: int) -> str:
    found = connection.execute(
        "SELECT source FROM pictures ORDER BY id LIMIT 1 OFFSET ?", (place,)
    ).fetchall()
    return str(found[0][0]) if found and found[0][0] else "a picture"


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
    for source, data, digest in rows:
        if (
            not isinstance(source, str)
            or not isinstance(data, bytes)
            or hashlib.sha256(data).digest() != digest
        ):
            raise sqlite3.DatabaseError(f"a picture of {name} is not as it was stored")
    return tuple((source, data) for source, data, _ in rows)
