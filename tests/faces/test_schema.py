"""The file of a gallery: made whole, opened only if it is one, and every refusal in plain words."""

import os
import shutil
import sqlite3
import stat

import numpy as np
import pytest

from galleries import META, empty, opened
from gramian import FileError
from gramian.faces.gallery.store import APPLICATION, create_file, plainly, read_meta, transaction

posix_user = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the superuser may read and write everywhere"
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.gallery"
    create_file(path, META, empty)
    return path


def refused(path, match, **options):
    with pytest.raises(FileError, match=match):
        opened(path, **options).close()


def test_a_new_file_is_a_private_database_with_four_tables(path):
    connection = opened(path)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    assert [name for (name,) in tables] == ["meta", "originals", "people", "pictures"]
    assert read_meta(path, connection) == META
    for pragma, value in {"secure_delete": 1, "foreign_keys": 1, "user_version": 1}.items():
        assert connection.execute(f"PRAGMA {pragma}").fetchall() == [(value,)]
    assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
    connection.close()
    assert path.read_bytes()[68:72] == APPLICATION.to_bytes(4, "big") == b"GrFa"
    assert os.listdir(path.parent) == [path.name]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_no_gallery(tmp_path, path):
    refused(tmp_path / "none", "none does not exist. Check the name, or enroll somebody")
    refused(tmp_path, "is a folder. Name the file of the gallery")
    (tmp_path / "empty").touch()
    refused(tmp_path / "empty", "empty is empty, not a gallery")
    (tmp_path / "text").write_text("a list of people\n" * 100, encoding="utf-8")
    refused(tmp_path / "text", "text is not a gallery. Name a file made by: gramian faces enroll")
    (tmp_path / "garbage").write_bytes(np.random.default_rng(0).bytes(10_000))
    refused(tmp_path / "garbage", "garbage is not a gallery")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE birds (name)")
    other.close()
    refused(tmp_path / "other", "other is a database of another program, not a gallery")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        refused(tmp_path / "pipe", "pipe is not a file")


def test_a_truncated_file(path):
    data = path.read_bytes()
    for keep in (10, 60, 100, 2000, 4096, len(data) - 1):
        path.write_bytes(data[:keep])
        refused(path, "is damaged|is not a gallery|database of another program")
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    refused(path, "is damaged: database disk image is malformed. Restore it from a copy")


def test_damage_inside_of_a_file(path):
    connection = opened(path)
    connection.executemany("INSERT INTO people (name) VALUES (?)", [(f"{i:0300}",) for i in range(100)])
    connection.close()
    data = path.read_bytes()
    # A name that the index does not know, and an error whose text is no text.
    path.write_bytes(data.replace(b"00042", b"00bad", 1))
    refused(path, "is damaged: .*index")
    path.write_bytes(data.replace(b"CREATE TABLE people", b"\xff\xfeEATE TABLE people"))
    refused(path, "is damaged: ")


def test_a_newer_schema(path):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    refused(path, r"made by a newer gramian \(schema 2\).*knows up to schema 1: upgrade with pip")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = -1")
    connection.close()
    refused(path, "is damaged: its schema version is -1")


def test_waiting_for_another_program_ends(path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    refused(path, "is in use by another program, also after waiting 0.05 s. Try again later")
    refused(path, "is in use by another program", read_only=True)
    other.execute("ROLLBACK")
    other.close()
    opened(path).close()


def test_a_transaction_is_whole_or_not_at_all(path):
    connection = opened(path)

    def interrupted():
        with transaction(connection):
            connection.execute("INSERT INTO people (name) VALUES ('Anna')")
            raise KeyboardInterrupt("now")

    with pytest.raises(KeyboardInterrupt, match="now"):
        interrupted()
    assert connection.execute("SELECT count(*) FROM people").fetchall() == [(0,)]
    with transaction(connection):
        connection.execute("INSERT INTO people (name) VALUES ('Anna')")
    assert connection.execute("SELECT count(*) FROM people").fetchall() == [(1,)]
    connection.close()


def test_reading_changes_nothing(path):
    before = path.read_bytes()
    connection = opened(path, read_only=True)
    with pytest.raises(FileError, match="was opened for reading only"), plainly(path, 0.0):
        connection.execute("INSERT INTO people (name) VALUES ('Anna')")
    connection.close()
    assert path.read_bytes() == before


@posix_user
def test_a_protected_file(path):
    path.chmod(0o400)
    refused(path, "is write-protected. Lift the protection")
    opened(path, read_only=True).close()
    path.chmod(0o000)
    refused(path, "cannot be read: permission denied", read_only=True)


@posix_user
def test_a_file_in_a_protected_folder(path):
    path.parent.chmod(0o500)
    try:
        refused(path, "its folder .* is write-protected, and every change keeps a journal")
        connection = opened(path, read_only=True)
        assert read_meta(path, connection) == META
        connection.close()
    finally:
        path.parent.chmod(0o700)


@posix_user
def test_an_interrupted_change_that_may_not_be_undone(tmp_path, path):
    connection = opened(path)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO people (name) VALUES (?)", [(f"{i:0500}",) for i in range(200)])
    left = tmp_path / "left"
    left.mkdir()
    for name in (path.name, f"{path.name}-journal"):
        shutil.copy(tmp_path / name, left / name)
    connection.execute("ROLLBACK")
    connection.close()
    (left / path.name).chmod(0o400)
    left.chmod(0o500)
    try:
        refused(left / path.name, "left in the middle of a change, which must be undone", read_only=True)
    finally:
        left.chmod(0o700)
    (left / path.name).chmod(0o600)
    connection = opened(left / path.name, read_only=True)
    assert connection.execute("SELECT count(*) FROM people").fetchall() == [(0,)]
    connection.close()
    assert os.listdir(left) == [path.name]


@pytest.mark.parametrize(
    ("code", "match"),
    [
        (sqlite3.SQLITE_READONLY_DIRECTORY, "is write-protected or was opened for reading only"),
        (sqlite3.SQLITE_CANTOPEN, "its folder does not let a journal be written beside it"),
        (sqlite3.SQLITE_FULL, "was not changed: the disk is full. Free some space"),
        (sqlite3.SQLITE_IOERR_READ, r"cannot be read or written \(what SQLite says\). Check the disk"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "is in use by another program, also after waiting 3 s"),
        (None, "is damaged: what SQLite says"),
    ],
)
def test_every_refusal_of_the_database(path, code, match):
    error = sqlite3.OperationalError("what SQLite says")
    if code is not None:
        error.sqlite_errorcode = code
    with pytest.raises(FileError, match=match), plainly(path, 3.0):
        raise error


def test_a_full_database(path):
    connection = opened(path)
    connection.execute("PRAGMA max_page_count = 12")
    with pytest.raises(FileError, match="the disk is full"), plainly(path, 0.0), transaction(connection):
        connection.executemany("INSERT INTO people (name) VALUES (?)", [(f"{i:0500}",) for i in range(200)])
    assert connection.execute("SELECT count(*) FROM people").fetchall() == [(0,)]
    connection.close()


def test_a_closed_file(path):
    connection = opened(path)
    connection.close()
    with pytest.raises(FileError, match=r"has been closed\. Open the gallery again"):
        read_meta(path, connection)


def test_a_log_that_another_program_chose_is_given_up(path):
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("INSERT INTO people (name) VALUES ('Anna')")
    other.commit()
    other.close()
    connection = opened(path)
    assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
    assert connection.execute("SELECT name FROM people").fetchall() == [("Anna",)]
    assert os.listdir(path.parent) == [path.name]
    connection.close()


def test_names_of_files_that_an_address_would_take_apart(tmp_path):
    for name in ("a?mode=memory#x", "50 % off", "Пётр 写真", ":memory:"):
        create_file(tmp_path / name, META, empty)
        connection = opened(tmp_path / name)
        connection.execute("INSERT INTO people (name) VALUES ('Anna')")
        connection.close()
        assert b"Anna" in (tmp_path / name).read_bytes()


# ------------------------------------------------------------ what gramian did not make

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (
            ["CREATE TRIGGER t BEFORE DELETE ON people BEGIN SELECT RAISE(IGNORE); END"],
            "it holds the trigger t, which gramian did not make",
        ),
        (["CREATE TABLE hidden AS SELECT * FROM pictures"], "it holds the table hidden"),
        (["CREATE VIEW v AS SELECT 1"], "it holds the view v"),
        (["CREATE INDEX i ON people (upper(name))"], "it holds the index i"),
        (["CREATE VIRTUAL TABLE r USING rtree(id, a, b)"], "it holds the table r"),
        (["ANALYZE"], "it holds the table sqlite_stat1"),
        (["ALTER TABLE people ADD COLUMN g AS (abs(id))"], "its table people is not as gramian made it"),
        (["ALTER TABLE pictures DROP COLUMN source"], "its table pictures is not as gramian made it"),
        (["DROP TABLE originals"], "its table originals is missing"),
        (["DROP INDEX pictures_person"], "its index pictures_person is missing"),
        (
            ["DROP TABLE people", f"CREATE VIEW people AS {ENDLESS} AS id, 'a' || x AS name FROM c"],
            "it holds the view people",
        ),
        (["DROP TABLE meta", f"CREATE VIEW meta AS {ENDLESS} AS key, 1 AS value FROM c"], "the view meta"),
        (['CREATE TABLE "\x1b[2J\n" (a)'], r"the table \\x1b\[2J\\n, which"),
        ([f"CREATE TABLE {'a' * 300} (a)"], f"the table {'a' * 80}\\.\\.\\., which"),
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_what_was_put_into_a_file_is_refused_before_anything_is_asked(path, changes, match, read_only):
    other = sqlite3.connect(path, isolation_level=None)
    for change in changes:
        other.execute(change)
    other.close()
    before = path.read_bytes()
    refused(path, f"people.gallery was altered by another program: .*{match}", read_only=read_only)
    assert path.read_bytes() == before


def test_the_same_thing_twice(path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA writable_schema = ON")
    other.execute("INSERT INTO sqlite_master SELECT * FROM sqlite_master WHERE type = 'table'")
    other.close()
    refused(path, "is damaged: malformed database schema|was altered by another program")


def test_a_file_that_was_rebuilt_by_another_program_is_one(path):
    with sqlite3.connect(path) as other:
        other.execute("VACUUM")
    other.close()
    opened(path).close()


def test_a_link_that_leads_nowhere(tmp_path, path):
    (tmp_path / "dangling").symlink_to("nothing")
    refused(tmp_path / "dangling", "dangling is a link to nothing, which does not exist")
    (tmp_path / "loop").symlink_to("loop")
    refused(tmp_path / "loop", "loop is a link that leads back to itself")
    (tmp_path / "link").symlink_to(path.name)
    opened(tmp_path / "link").close()
    refused(tmp_path / ("x" * 300), "does not exist")
