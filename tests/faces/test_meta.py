"""What a gallery says about itself is believed only where it can be so."""

import sqlite3

import numpy as np
import pytest

from galleries import META, empty, opened
from gramian import FileError
from gramian.faces.gallery.store import create_file, read_meta


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.gallery"
    create_file(path, META, empty)
    return path


def test_a_file_that_was_made_before_shifts_has_none(path):
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM meta WHERE key = 'shifts'")
    connection.close()
    connection = opened(path)
    assert read_meta(path, connection) == META
    connection.close()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ("DELETE FROM meta WHERE key = 'fingerprint'", "its fingerprint is missing or malformed"),
        ("UPDATE meta SET value = 'two' WHERE key = 'components'", "its components is missing or malformed"),
        ("UPDATE meta SET value = x'00' WHERE key = 'shifts'", "covariance of shifts is not of the size"),
        ("UPDATE meta SET value = 3 WHERE key = 'components'", "variances are not one for each component"),
        ("UPDATE meta SET value = '{' WHERE key = 'settings'", "its settings are missing or malformed"),
        ("UPDATE meta SET value = '[]' WHERE key = 'settings'", "its settings are missing or malformed"),
        ("DROP TABLE meta", "is damaged: no such table: meta"),
    ],
)
def test_what_every_gallery_says_about_itself(path, change, match):
    connection = opened(path)
    connection.execute(change)
    with pytest.raises(FileError, match=match):
        read_meta(path, connection)
    connection.close()


def put(path, key, value):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
    connection.close()


def floats(*values, kind="<f8"):
    return np.array(values, dtype=kind).tobytes()


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("fingerprint", "\x1b[2J", "its fingerprint is missing or malformed"),
        ("fingerprint", "AB" * 32, "its fingerprint is missing or malformed"),
        ("created", "\x1b[31m", r"the time when it was created is '\\x1b\[31m'"),
        ("created", "2026-01-02T03:04:05+00:00\n", "the time when it was created is"),
        ("components", 0, "it says that its vectors have 0 components"),
        ("components", -1, "it says that its vectors have -1 components"),
        ("components", 2**62, "its variances are not one for each component"),
        ("variances", floats(1.0, np.nan), "its variances are not all numbers that a variance can be"),
        ("variances", floats(1.0, -1.0), "its variances are not all numbers"),
        ("variances", floats(1e300, 1.0), "its variances are not all numbers"),
        ("shifts", floats(1, 0, 0, np.inf, kind="<f4"), "its covariance of shifts holds NaN or infinity"),
        ("settings", '{"a":' * 5000 + "1" + "}" * 5000, "its settings are missing or malformed"),
        ("settings", '{"a":' * 150 + "1" + "}" * 150, "its settings are not what can be chosen: a is no"),
        ("settings", '{"evil": 5}', "its settings are not what can be chosen: evil is no setting"),
        ("settings", '{"far": 5}', "settings are not what can be chosen: far=5 is not a share of strangers"),
        ("settings", '{"far": NaN}', "its settings are not what can be chosen: far=nan"),
        ("settings", '{"far": "\\u001b[2J"}', r"not what can be chosen: far='\\x1b\[2J' is not a share"),
        ("settings", '{"n_components": 3}', "n_components=3 but vectors have 2 components. Restore it"),
    ],
)
def test_what_cannot_be_so(path, key, value, match):
    put(path, key, value)
    connection = opened(path)
    with pytest.raises(FileError, match=f"people.gallery is damaged: .*{match}") as raised:
        read_meta(path, connection)
    assert "\x1b" not in str(raised.value)
    connection.close()


def test_what_no_gallery_says_is_not_read(path):
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO meta VALUES ('other', zeroblob(1000))")
    connection.close()
    connection = opened(path, read_only=True)
    assert read_meta(path, connection) == META
    connection.close()
