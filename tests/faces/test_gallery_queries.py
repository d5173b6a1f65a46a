"""What is stored, found, listed and removed, in the tables themselves."""

import hashlib
import re
import sqlite3
import zlib
from contextlib import closing

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.faces.gallery import (
    TABLES,
    add_pictures,
    as_batch,
    list_people,
    now,
    person_number,
    read_originals,
    read_vectors,
    remove_person,
)
from refusals import refused


@pytest.fixture
def connection():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(f"PRAGMA foreign_keys = ON; {TABLES}")
        yield connection


def digest(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def add(connection, people, numbers, *, kept=False, sources=None):
    vectors = [[number, -number] for number in numbers]
    pictures = [str(number).encode() for number in numbers] if kept else None
    batch = as_batch(people, vectors, [digest(number) for number in numbers], sources, pictures, 2)
    return add_pictures(connection, batch)


def rows(connection, table):
    return connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


def test_a_row_is_what_was_given(connection):
    before = now()
    enrolled = add(connection, ["Anna"], [5], sources=["a.png"])
    ((_, person, stored, source, when, vector, crc),) = rows(connection, "pictures")
    assert rows(connection, "people") == [(person, "Anna")]
    assert (stored.hex(), source) == (digest(5), "a.png")
    assert vector == np.array([5, -5], "<f4").tobytes()
    assert crc == zlib.crc32(vector)
    assert before <= when <= now()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", when)
    assert rows(connection, "originals") == []
    assert enrolled.counts == {"Anna": 1}


def test_a_picture_is_stored_once(connection):
    add(connection, ["Anna"], [1], sources=["first.png"])
    enrolled = add(connection, ["Anna", "Anna", "Ben"], [1, 2, 3], sources=["again.png", "2.png", "3.png"])
    assert enrolled.counts == {"Anna": 1, "Ben": 1}
    assert enrolled.repeated == (("Anna", "again.png"),)
    assert [row[3] for row in rows(connection, "pictures")] == ["first.png", "2.png", "3.png"]
    assert add(connection, ["Eve", "Eve"], [4, 4]).repeated == (("Eve", ""),)


def test_a_picture_shows_one_person(connection):
    add(connection, ["Anna"], [1], sources=["a/1.png"])
    with refused(DataError):
        add(connection, ["Ben"], [1], sources=["b/1.png"])
    with refused(DataError):
        add(connection, ["Ben"], [1])
    with refused(DataError):
        add(connection, ["Eve", "Ann"], [7, 7])


def test_a_picture_that_is_known_can_be_kept_later(connection):
    add(connection, ["Anna"], [1], sources=["1.png"])
    assert read_originals(connection, "Anna") == ()
    assert add(connection, ["Anna", "Anna"], [1, 2], kept=True, sources=["x", "2.png"]).counts == {"Anna": 1}
    assert read_originals(connection, "Anna") == (("1.png", b"1"), ("2.png", b"2"))


def test_people_are_listed_by_name_and_number(connection):
    add(connection, ["s10", "s2", "s2"], [1, 2, 3])
    add(connection, ["s1"], [4], kept=True)
    connection.execute("UPDATE pictures SET enrolled = '2020-01-01T00:00:00+00:00' WHERE id = 2")
    people = list_people(connection)
    assert [person.name for person in people] == ["s1", "s2", "s10"]
    assert [(person.pictures, person.kept) for person in people] == [(1, 1), (2, 0), (1, 0)]
    assert people[1].first == "2020-01-01T00:00:00+00:00"
    assert people[1].last > people[1].first


def test_vectors_come_in_the_order_of_enrolment(connection):
    add(connection, ["Ben", "Anna"], [1, 2])
    add(connection, ["Ben"], [3])
    vectors, people = read_vectors(connection, 2)
    np.testing.assert_array_equal(vectors, [[1, -1], [2, -2], [3, -3]])
    assert vectors.dtype == np.float32
    assert vectors.flags.writeable
    assert people.tolist() == ["Ben", "Anna", "Ben"]


def test_no_vectors(connection):
    vectors, people = read_vectors(connection, 2)
    assert vectors.shape == (0, 2)
    assert people.shape == (0,)


def test_a_damaged_vector_is_found(connection):
    add(connection, ["Anna"], [1])
    for damage in ("zeroblob(8)", "zeroblob(4)", "'text'", "17"):
        connection.execute(f"UPDATE pictures SET vector = {damage}")
        with pytest.raises(sqlite3.DatabaseError, match="a vector of Anna is not as it was stored"):
            read_vectors(connection, 2)


def test_a_damaged_picture_is_found(connection):
    add(connection, ["Anna"], [1], kept=True, sources=["a.png"])
    connection.execute("UPDATE originals SET bytes = x'00'")
    with pytest.raises(sqlite3.DatabaseError, match="a picture of Anna is not as it was stored"):
        read_originals(connection, "Anna")


def test_removing_takes_everything_of_one_person(connection):
    add(connection, ["Anna", "Ben", "Anna"], [1, 2, 3], kept=True)
    assert remove_person(connection, " Anna ") == 2
    assert [name for _, name in rows(connection, "people")] == ["Ben"]
    assert [row[2].hex() for row in rows(connection, "pictures")] == [digest(2)]
    assert [data for _, data in rows(connection, "originals")] == [b"2"]


def test_somebody_who_is_not_there(connection):
    with refused(DataError):
        person_number(connection, "Anna")
    add(connection, ["Anna Maria", "Ben", "Anna Marta"], [1, 2, 3])
    with refused(DataError):
        person_number(connection, "anna mari")
    with refused(DataError):
        remove_person(connection, "BEN")
    with refused(DataError):
        read_originals(connection, "Zwingli")
