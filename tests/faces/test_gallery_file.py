"""The open file: waiting, reading only, changes as a whole, and what is left from last time."""

import numpy as np
import pytest

from gramian import FileError, InputTypeError, ParameterError
from gramian.faces.gallery.records import described
from gramian.faces.gallery.store import GalleryFile, create_file


class Model:
    fingerprint_ = "ab" * 32
    n_components_ = 2
    eigenvalues_ = np.array([2.0, 1.0])
    shift_covariance_ = None


@pytest.fixture
def path(tmp_path):
    create_file(tmp_path / "g", described(Model, {}), lambda connection: None)
    return tmp_path / "g"


@pytest.fixture
def file(path):
    file = GalleryFile(path, read_only=False, timeout=0.05)
    yield file
    file.close()


def add(connection, name="Anna"):
    connection.execute("INSERT INTO people (name) VALUES (?)", (name,))


def names(file):
    with file.reading() as connection:
        return [name for (name,) in connection.execute("SELECT name FROM people")]


@pytest.mark.parametrize("timeout", [-1, "5", True, float("nan"), 1e9, None])
def test_impossible_times_to_wait(path, timeout):
    with pytest.raises(ParameterError, match=r"timeout=.* must be a number of seconds from 0 to 3600"):
        GalleryFile(path, read_only=True, timeout=timeout)


def test_a_change_is_made_as_a_whole(file):
    def half():
        with file.changing() as connection:
            add(connection)
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        half()
    assert names(file) == []
    with file.changing() as connection:
        add(connection)
    assert names(file) == ["Anna"]


def test_no_change_where_only_reading_is_allowed(path):
    file = GalleryFile(path, read_only=True, timeout=0)
    with pytest.raises(FileError, match=r"was opened for reading only\. Open it again"), file.changing():
        pass
    file.close()


def test_what_a_database_refuses_is_said_in_plain_words(file):
    with pytest.raises(FileError, match="g is damaged: no such table: birds"), file.reading() as connection:
        connection.execute("SELECT * FROM birds")


def test_the_version_changes_with_the_file(file, path):
    first = file.version()
    assert names(file) == []
    assert file.version() == first
    with file.changing() as connection:
        add(connection)
    second = file.version()
    assert second != first
    other = GalleryFile(path, read_only=False, timeout=1)
    with other.changing() as connection:
        add(connection, "Ben")
    assert file.version() not in (first, second)
    other.close()


def test_a_file_that_was_to_be_rebuilt_is_when_it_is_opened_for_a_change(file, path):
    with file.changing() as connection:
        add(connection, "x" * 200_000)
    with file.changing() as connection:
        connection.execute("DELETE FROM people")
        file.want_rebuild()
    size = path.stat().st_size
    GalleryFile(path, read_only=True, timeout=0).close()
    assert path.stat().st_size == size
    other = GalleryFile(path, read_only=False, timeout=0)
    assert path.stat().st_size < size - 190_000
    other.close()
    again = GalleryFile(path, read_only=False, timeout=0)
    assert "rebuild" not in again.meta
    again.close()


def test_closed(file):
    file.close()
    file.close()
    with pytest.raises(FileError, match="has been closed"):
        names(file)


def test_what_a_killed_process_left_is_removed_when_opened_for_a_change(path):
    pytest.importorskip("fcntl")
    left = path.with_name(f".gramian-{'0' * 16}.lock")
    for name in (left, left.with_suffix(".tmp")):
        name.touch()
    GalleryFile(path, read_only=True, timeout=0).close()
    assert left.exists()
    GalleryFile(path, read_only=False, timeout=0).close()
    assert [name.name for name in path.parent.iterdir()] == ["g"]


def test_what_is_no_path():
    with pytest.raises(InputTypeError, match="None is not a path"):
        GalleryFile(None, read_only=True, timeout=0)
