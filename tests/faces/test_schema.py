"""The file of a gallery: made whole, opened only if it is one, and every refusal in plain words."""

import os
import shutil
import sqlite3
import stat

import numpy as np
import pytest

from gramian import FileError
from gramian.faces import schema
from gramian.faces.schema import APPLICATION, connect, create_file, plainly, read_meta, transaction

META = {
    "fingerprint": "ab" * 32,
    "components": 2,
    "variances": np.array([2.0, 1.0]).tobytes(),
    "shifts": b"",
    "created": "2026-01-02T03:04:05+00:00",
    "gramian": "0.1.0",
    "settings": "{}",
}


def empty(connection):
    return None


posix_user = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the superuser may read and write everywhere"
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.gallery"
    create_file(path, META, empty)
    return path


def opened(path, *, read_only=False, timeout=0.05):
    return connect(path, read_only=read_only, timeout=timeout)


def refused(path, match, **options):
    with pytest.raises(FileError, match=match):
        opened(path, **options).close()


def test_a_file_that_was_made_before_shifts_has_none(path):
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM meta WHERE key = 'shifts'")
    connection.close()
    connection = opened(path)
    assert read_meta(path, connection) == META
    connection.close()


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


def test_nothing_is_written_over(path):
    before = path.read_bytes()
    with pytest.raises(FileError, match=r"people\.gallery exists already"):
        create_file(path, META, empty)
    assert path.read_bytes() == before


def test_a_name_taken_at_the_last_moment_is_not_written_over(tmp_path, monkeypatch):
    path, link = tmp_path / "g", os.link

    def late(source, target):
        path.write_text("somebody else's")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(FileError, match="exists already"):
        create_file(path, META, empty)
    assert path.read_text() == "somebody else's"
    assert os.listdir(tmp_path) == ["g"]


def test_a_disk_without_hard_links(tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    create_file(tmp_path / "g", META, empty)
    opened(tmp_path / "g").close()
    assert os.listdir(tmp_path) == ["g"]


def test_what_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "TABLES", schema.TABLES + "; nonsense")
    with pytest.raises(FileError, match="damaged: near"):
        create_file(tmp_path / "g", META, empty)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match=r"there is no folder .*nowhere\. Create it first"):
        create_file(tmp_path / "nowhere" / "g", META, empty)


@posix_user
def test_a_protected_folder(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileError, match=r"cannot be written: Permission denied\. Choose another place"):
            create_file(tmp_path / "g", META, empty)
    finally:
        tmp_path.chmod(0o700)


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


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ("DELETE FROM meta WHERE key = 'fingerprint'", "its fingerprint is missing or malformed"),
        ("UPDATE meta SET value = 'two' WHERE key = 'components'", "its components is missing or malformed"),
        ("UPDATE meta SET value = x'00' WHERE key = 'shifts'", "covariance of shifts is not of the size"),
        ("UPDATE meta SET value = 3 WHERE key = 'components'", "variances are not one for each component"),
        ("UPDATE meta SET value = '{' WHERE key = 'settings'", "its settings is missing or malformed"),
        ("UPDATE meta SET value = '[]' WHERE key = 'settings'", "its settings is missing or malformed"),
        ("DROP TABLE meta", "is damaged: no such table: meta"),
    ],
)
def test_what_every_gallery_says_about_itself(path, change, match):
    connection = opened(path)
    connection.execute(change)
    with pytest.raises(FileError, match=match):
        read_meta(path, connection)
    connection.close()


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
