"""The file of a gallery: made whole, opened only if it is one, and every refusal in plain words."""

import os
import shutil
import sqlite3
import stat
from contextlib import closing

import numpy as np
import pytest

from gramian.errors import FileError, InputTypeError
from gramian.faces import gallery as module
from gramian.faces.gallery import APPLICATION, Gallery, create_file
from refusals import refused

posix_user = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the superuser may read and write everywhere"
)
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


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.gallery"
    create_file(path, META, empty)
    return path


def opened(path, *, read_only=False, timeout=0.05):
    return Gallery(path, read_only=read_only, timeout=timeout)


@pytest.fixture
def file(path):
    with closing(opened(path)) as file:
        yield file


def not_opened(path, match, **options):
    with pytest.raises(FileError, match=match):
        opened(path, **options).close()


def changed(path, *statements):
    """Do something to a file as another program would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for statement in statements:
            other.execute(statement)


def add(connection, name="Anna"):
    connection.execute("INSERT INTO people (name) VALUES (?)", (name,))


def fill_up(connection):
    connection.executemany("INSERT INTO people (name) VALUES (?)", [(f"{i:0500}",) for i in range(200)])


def names(file):
    with file._reading() as connection:
        return [name for (name,) in connection.execute("SELECT name FROM people")]


# ------------------------------------------------------------------ opening


def test_a_new_file_is_a_private_database_with_four_tables(path, file):
    connection = file._connection
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    assert [name for (name,) in tables] == ["meta", "originals", "people", "pictures"]
    assert (file.fingerprint, file.created) == (META["fingerprint"], META["created"])
    assert (file.variances.tolist(), file.shift_covariance) == ([2.0, 1.0], None)
    for pragma, value in {"secure_delete": 1, "foreign_keys": 1, "user_version": 1}.items():
        assert connection.execute(f"PRAGMA {pragma}").fetchall() == [(value,)]
    assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
    assert path.read_bytes()[68:72] == APPLICATION.to_bytes(4, "big") == b"GrFa"
    assert os.listdir(path.parent) == [path.name]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_no_gallery(tmp_path, path):
    not_opened(tmp_path / "none", "none does not exist. Check the name, or enroll somebody")
    not_opened(tmp_path / ("x" * 300), "does not exist")
    not_opened(tmp_path, "is a folder or a device. Name the file of the gallery")
    (tmp_path / "empty").touch()
    not_opened(tmp_path / "empty", "empty is not a gallery")
    (tmp_path / "text").write_text("a list of people\n" * 100, encoding="utf-8")
    not_opened(tmp_path / "text", "text is not a gallery. Name a file written by gramian faces enroll")
    (tmp_path / "garbage").write_bytes(np.random.default_rng(0).bytes(10_000))
    not_opened(tmp_path / "garbage", "garbage is not a gallery")
    changed(tmp_path / "other", "CREATE TABLE birds (name)")
    not_opened(tmp_path / "other", "other is not a gallery. Name a file written by")
    (tmp_path / "link").symlink_to(path.name)
    opened(tmp_path / "link").close()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        not_opened(tmp_path / "pipe", "pipe is a folder or a device")
    with refused(InputTypeError):
        opened(None)


def test_a_truncated_file(path):
    data = path.read_bytes()
    for keep in (10, 60, 100, 2000, 4096, len(data) - 1):
        path.write_bytes(data[:keep])
        not_opened(path, "is damaged|is not a gallery")
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    not_opened(path, "is damaged: database disk image is malformed. Restore it from a copy")


def test_damage_inside_of_a_file(path):
    with closing(opened(path)) as file, file._changing() as connection:
        fill_up(connection)
    data = path.read_bytes()
    # A name that the index does not know, and an error whose text is no text.
    path.write_bytes(data.replace(b"00042", b"00bad", 1))
    not_opened(path, "is damaged: .*index")
    path.write_bytes(data.replace(b"CREATE TABLE people", b"\xff\xfeEATE TABLE people"))
    not_opened(path, "is damaged: ")


def test_a_newer_schema(path):
    changed(path, "PRAGMA user_version = 2")
    not_opened(path, r"made by a newer gramian \(schema 2\).*reads schemas up to 1. Upgrade with: pip")


def test_what_another_program_did_to_it(path):
    whole = path.read_bytes()
    for match, statement in (
        ("no such table: meta", "DROP TABLE meta"),
        ("no such table: pictures", "DROP TABLE pictures"),
    ):
        path.write_bytes(whole)
        changed(path, statement)
        for read_only in (True, False):
            not_opened(path, f"people.gallery is damaged: {match}", read_only=read_only)
    path.write_bytes(whole)
    changed(path, "VACUUM", "ANALYZE")
    opened(path).close()


def test_waiting_for_another_program_ends(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        not_opened(path, "is in use by another program. Try again later")
        not_opened(path, "is in use by another program", read_only=True)
        other.execute("ROLLBACK")
    opened(path).close()


@posix_user
def test_a_protected_file(path):
    path.chmod(0o400)
    not_opened(path, "people.gallery is write-protected. Change its permissions")
    opened(path, read_only=True).close()
    path.chmod(0o000)
    not_opened(path, "unable to open database file. Check permissions", read_only=True)


@posix_user
def test_a_file_in_a_protected_folder(path):
    path.parent.chmod(0o500)
    try:
        not_opened(
            path, "cannot be changed: .* is write-protected. Change its permissions, or copy the gallery"
        )
        opened(path, read_only=True).close()
    finally:
        path.parent.chmod(0o700)


@posix_user
def test_an_interrupted_change_that_may_not_be_undone(tmp_path, path):
    left = tmp_path / "left"
    left.mkdir()
    with closing(opened(path)) as file:
        file._connection.execute("PRAGMA cache_size = 1")
        file._connection.execute("BEGIN")
        fill_up(file._connection)
        for name in (path.name, f"{path.name}-journal"):
            shutil.copy(tmp_path / name, left / name)
        file._connection.execute("ROLLBACK")
    (left / path.name).chmod(0o400)
    left.chmod(0o500)
    try:
        not_opened(left / path.name, "has an unfinished change, which must be undone first", read_only=True)
    finally:
        left.chmod(0o700)
    (left / path.name).chmod(0o600)
    with closing(opened(left / path.name, read_only=True)) as file:
        assert names(file) == []
    assert os.listdir(left) == [path.name]


def test_every_refusal_of_the_database(file):
    for code, match in (
        (sqlite3.SQLITE_FULL, r"was not changed: what SQLite says\. Check permissions of the file"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "is in use by another program"),
        (None, "is damaged: what SQLite says"),
    ):
        error = sqlite3.OperationalError("what SQLite says")
        if code is not None:
            error.sqlite_errorcode = code
        with pytest.raises(FileError, match=match), file._reading():
            raise error


# ------------------------------------------------------------------ changing


def test_a_change_is_made_as_a_whole_or_not_at_all(file):
    def half(error):
        with file._changing() as connection:
            add(connection)
            raise error

    for error in (ValueError("now"), KeyboardInterrupt("now")):
        with pytest.raises(type(error), match="now"):
            half(error)
    assert names(file) == []
    with file._changing() as connection:
        add(connection)
    assert names(file) == ["Anna"]


def test_reading_changes_nothing(path):
    before = path.read_bytes()
    with closing(opened(path, read_only=True)) as file:
        with (
            pytest.raises(FileError, match="attempt to write a readonly database"),
            file._reading() as connection,
        ):
            add(connection)
        with refused(FileError), file._changing():
            pass
    assert path.read_bytes() == before


def test_a_full_database(file):
    file._connection.execute("PRAGMA max_page_count = 12")
    with pytest.raises(FileError, match="database or disk is full"), file._changing() as connection:
        fill_up(connection)
    assert names(file) == []


def test_closed(file):
    file.close()
    file.close()
    with refused(FileError):
        names(file)


def test_a_log_that_another_program_chose_is_given_up(path):
    changed(path, "PRAGMA journal_mode = WAL", "INSERT INTO people (name) VALUES ('Anna')")
    with closing(opened(path)) as file:
        assert file._connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
        assert names(file) == ["Anna"]
        assert os.listdir(path.parent) == [path.name]


def test_a_file_that_was_to_be_rebuilt_is_when_it_is_opened_for_a_change(file, path):
    with file._changing() as connection:
        add(connection, "x" * 200_000)
    with file._changing() as connection:
        connection.execute("DELETE FROM people")
        connection.execute("INSERT INTO meta VALUES ('rebuild', 1)")
    size = path.stat().st_size
    opened(path, read_only=True).close()
    assert path.stat().st_size == size
    opened(path).close()
    assert path.stat().st_size < size - 190_000
    assert file._connection.execute("SELECT count(*) FROM meta WHERE key = 'rebuild'").fetchall() == [(0,)]


# ------------------------------------------------------------------ making


def test_nothing_is_written_over(path):
    before = path.read_bytes()
    with refused(FileError):
        create_file(path, META, empty)
    assert path.read_bytes() == before


def test_a_name_taken_at_the_last_moment_is_not_written_over(tmp_path, monkeypatch):
    path = tmp_path / "g"
    monkeypatch.setattr(module, "check_writable", lambda target: target.write_text("somebody else's"))
    with refused(FileError):
        create_file(path, META, empty)
    assert path.read_text() == "somebody else's"
    assert os.listdir(tmp_path) == ["g"]


def test_what_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    with pytest.raises(FileError, match="damaged: no such table: birds"):
        create_file(tmp_path / "g", META, lambda connection: connection.execute("SELECT * FROM birds"))

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with refused(FileError):
        create_file(tmp_path / "g", META, empty)
    assert os.listdir(tmp_path) == []


def test_places_where_nothing_can_be_made(tmp_path):
    with refused(FileError):
        create_file(tmp_path / "nowhere" / "g", META, empty)
    with pytest.raises(FileError, match="cannot be written: the name is too long"):
        create_file(tmp_path / ("x" * 300), META, empty)
    (tmp_path / "loop").symlink_to("loop")
    with refused(FileError):
        create_file(tmp_path / "loop", META, empty)
    assert os.listdir(tmp_path) == ["loop"]


@posix_user
def test_a_protected_folder(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(
            FileError, match=r"cannot be written: .* is write-protected\. Choose another place"
        ):
            create_file(tmp_path / "g", META, empty)
    finally:
        tmp_path.chmod(0o700)


def test_names_of_files_that_an_address_would_take_apart(tmp_path):
    for name in ("a?mode=memory#x", "50 % off", "Пётр 写真", ":memory:"):
        create_file(tmp_path / name, META, empty)
        with closing(opened(tmp_path / name)) as file:
            add(file._connection)
        assert b"Anna" in (tmp_path / name).read_bytes()
