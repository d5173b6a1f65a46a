"""A new gallery appears complete under its name or not at all, and what a killed process left is removed."""

import os
import subprocess
import sys

import pytest

from galleries import META, empty, opened
from gramian import FileError
from gramian.faces.gallery import store as creating
from gramian.faces.gallery.store import create_file, remove_leftovers

posix_user = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the superuser may read and write everywhere"
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.gallery"
    create_file(path, META, empty)
    return path


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
    monkeypatch.setattr(creating, "TABLES", creating.TABLES + "; nonsense")
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


def test_a_link_that_leads_nowhere(tmp_path):
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileError, match=r"dangling is a link to nothing, which does not exist\. Remove the"):
        create_file(tmp_path / "dangling", META, empty)
    with pytest.raises(FileError, match="loop is a link that leads back to itself"):
        create_file(tmp_path / "loop", META, empty)
    with pytest.raises(FileError, match="cannot be written: File name too long"):
        create_file(tmp_path / ("x" * 300), META, empty)
    assert sorted(os.listdir(tmp_path)) == ["dangling", "loop"]


# ------------------------------------------------------------ killed in the middle

KILLED = """
import sys, time
from gramian.faces.gallery.store import create_file

def fill(connection):
    connection.execute("PRAGMA cache_size = 1")
    connection.executemany("INSERT INTO people (name) VALUES (?)", [(f"{i:0500}",) for i in range(200)])
    print("now", flush=True)
    time.sleep(60)

create_file(sys.argv[1], {}, fill)
"""

has_locks = pytest.mark.skipif(creating.fcntl is None, reason="locks that end with a process")


@pytest.fixture
def at_work(tmp_path):
    """Another process in the middle of making a gallery, in whose folder its files are."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "theirs")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "now\n"
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


@has_locks
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, at_work):
    suffixes = [".lock", ".tmp", ".tmp-journal"]
    left = sorted(os.listdir(tmp_path))
    assert [name.removeprefix(left[0].removesuffix(".lock")) for name in left] == suffixes
    # Of a process that lives nothing is touched.
    create_file(tmp_path / "first", META, empty)
    assert sorted(os.listdir(tmp_path)) == [*left, "first"]
    at_work.kill()
    at_work.wait()
    assert sorted(os.listdir(tmp_path)) == [*left, "first"]
    create_file(tmp_path / "second", META, empty)
    assert sorted(os.listdir(tmp_path)) == ["first", "second"]


@has_locks
def test_only_what_has_such_a_lock_is_removed(tmp_path):
    (tmp_path / "other").write_text("somebody else's")
    (tmp_path / ".gramian-0000.lock").touch()
    (tmp_path / f".gramian-{'0' * 16}.tmp").touch()
    (tmp_path / f".gramian-{'1' * 16}.lock").symlink_to("other")
    (tmp_path / f".gramian-{'2' * 16}.lock").mkdir()
    before = sorted(os.listdir(tmp_path))
    remove_leftovers(tmp_path)
    remove_leftovers(tmp_path / "nowhere")
    assert sorted(os.listdir(tmp_path)) == before
    (tmp_path / f".gramian-{'0' * 16}.lock").touch()
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [n for n in before if n != f".gramian-{'0' * 16}.tmp"]


@has_locks
def test_a_disk_without_locks(tmp_path, monkeypatch):
    def refuse(descriptor, how):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(creating.fcntl, "flock", refuse)
    (tmp_path / f".gramian-{'0' * 16}.lock").touch()
    create_file(tmp_path / "g", META, empty)
    assert sorted(os.listdir(tmp_path)) == [f".gramian-{'0' * 16}.lock", "g"]


def test_a_system_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(creating, "fcntl", None)
    create_file(tmp_path / "g", META, empty)
    opened(tmp_path / "g").close()
    assert os.listdir(tmp_path) == ["g"]


@has_locks
def test_a_lock_that_was_taken_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    flock, seen = creating.fcntl.flock, []

    def late(descriptor, how):
        if not seen:
            seen.extend(os.listdir(tmp_path))
            (tmp_path / seen[0]).unlink()
        flock(descriptor, how)

    monkeypatch.setattr(creating.fcntl, "flock", late)
    create_file(tmp_path / "g", META, empty)
    assert len(seen) == 1
    assert os.listdir(tmp_path) == ["g"]
