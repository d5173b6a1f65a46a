"""Queries of a gallery's file, in SQL; the caller handles transactions.

A checksum that does not match is an error of the database, like any other damage.
"""

from __future__ import annotations

import difflib
import hashlib
import sqlite3
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gramian.checks import counted
from gramian.errors import DataError
from gramian.faces.gallery.records import Enrolled, Person, Row, now
from gramian.faces.names import person_name
from gramian.rows.names import natural_key


def add_pictures(connection: sqlite3.Connection, rows: Sequence[Row]) -> Enrolled:
    """Store the rows that are new, inside of the caller's transaction.

    Raises
    ------
    DataError
        When a picture is enrolled for somebody else.
    """
    counts = dict.fromkeys((row[0] for row in rows), 0)
    connection.executemany("INSERT OR IGNORE INTO people (name) VALUES (?)", [(name,) for name in counts])
    numbers = {name: person_number(connection, name) for name in counts}
    repeated, time = [], now()
    for name, vector, digest, source, original in rows:
        result = connection.execute(
            "SELECT pictures.id, name, source FROM pictures JOIN people ON people.id = person WHERE hash = ?",
            (digest,),
        ).fetchall()
        if not result:
            added = connection.execute(
                "INSERT INTO pictures (person, hash, source, enrolled, vector, crc) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (numbers[name], digest, source, time, vector, zlib.crc32(vector)),
            )
            picture = added.lastrowid
            counts[name] += 1
        else:
            picture, owner, known_as = result[0]
            if owner != name:
                known_as = f" ({known_as})" if known_as and known_as != source else ""
                raise DataError(
                    f"{source or 'A picture'} is already enrolled for {owner}{known_as}, so it cannot be "
                    f"{name}. Nothing was stored. Leave it out, or forget {owner} first."
                )
            repeated.append((name, source))
        if original is not None:
            connection.execute("INSERT OR IGNORE INTO originals VALUES (?, ?)", (picture, original))
    return Enrolled(counts, tuple(repeated))


def remove_person(connection: sqlite3.Connection, name: str) -> int:
    """Remove somebody with all pictures, inside of the caller's transaction; say how many there were.

    Raises
    ------
    DataError
        When nobody of that name is enrolled.
    """
    number = (person_number(connection, name),)
    removed = connection.execute("DELETE FROM pictures WHERE person = ?", number).rowcount
    connection.execute("DELETE FROM people WHERE id = ?", number)
    return removed


def person_number(connection: sqlite3.Connection, name: str) -> int:
    """Return the number that stands for somebody in the tables.

    Raises
    ------
    DataError
        When nobody of that name is enrolled; says who has a name like it.
    """
    name = person_name(name)
    result = connection.execute("SELECT id FROM people WHERE name = ?", (name,)).fetchall()
    if result:
        return int(result[0][0])
    people = {other.casefold(): other for (other,) in connection.execute("SELECT name FROM people")}
    near = [people[key] for key in difflib.get_close_matches(name.casefold(), people, n=3)]
    hint = f"Did you mean {' or '.join(near)}?" if near else "See who is: gramian faces list GALLERY"
    many = counted(len(people), "person", "people")
    raise DataError(f"{name} is not among the {many} of the gallery. {hint}")


def list_people(connection: sqlite3.Connection) -> tuple[Person, ...]:
    """Return who is enrolled, by name, numbers in names counting as numbers."""
    rows = connection.execute(
        "SELECT name, count(*), min(enrolled), max(enrolled), count(originals.picture) FROM people "
        "JOIN pictures ON pictures.person = people.id "
        "LEFT JOIN originals ON originals.picture = pictures.id GROUP BY people.id"
    )
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
        "SELECT name, vector, crc FROM pictures JOIN people ON people.id = person ORDER BY pictures.id"
    ).fetchall()
    for name, vector, crc in rows:
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
    if any(hashlib.sha256(data).digest() != digest for _, data, digest in rows):
        raise sqlite3.DatabaseError(f"a picture of {name} is not as it was stored")
    return tuple((source, data) for source, data, _ in rows)
