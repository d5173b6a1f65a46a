"""Folders of results: the old or the new ones, whatever moment a process is killed or the disk is full."""

import errno
import os
import shutil
import stat
import sys

import pytest

from gramian.core.atomic import atomic_folder
from gramian.errors import FileError

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

OLD = {"page.md": b"old", "a.csv": b"old", "old.csv": b"old", "parts/1.png": b"old", "parts/2.png": b"old"}
NEW = {"page.md": b"new", "a.csv": b"new", "b.csv": b"new", "parts/1.png": b"new"}
FOREIGN = {"mine.txt": b"mine", "parts/mine.png": b"mine"}
EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree")


def content(folder):
    """Every file that a person sees."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    entries = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return {name: data for name, data in entries.items() if not name.startswith(".gramian-")}


def write(folder, files, old=()):
    with atomic_folder(folder, old, last="page.md") as place:
        for name, data in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "r", OLD)
    for name, data in FOREIGN.items():
        (tmp_path / "r" / name).write_bytes(data)
    return tmp_path / "r"


def test_new_files_take_the_place_of_old_ones_at_the_end_and_others_stay(folder):
    with atomic_folder(folder, OLD) as place:
        (place / "a.csv").write_bytes(b"new")
        assert content(folder) == OLD | FOREIGN
    write(folder, NEW, OLD)
    assert content(folder) == NEW | FOREIGN
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, OSError])
def test_an_exception_leaves_everything_as_it_was(folder, stop):
    before = sorted(folder.rglob("*"))

    def write_half():
        with atomic_folder(folder, OLD) as place:
            (place / "a.csv").write_bytes(b"half")
            raise stop("midway")

    with pytest.raises(stop, match="midway"):
        write_half()
    assert sorted(folder.rglob("*")) == before
    assert content(folder) == OLD | FOREIGN


def test_folders_made_for_nothing_are_removed_and_named(tmp_path):
    with pytest.raises(ValueError, match="midway"), atomic_folder(tmp_path / "a" / "b"):
        raise ValueError("midway")
    assert not (tmp_path / "a" / "b").exists()
    with (
        pytest.raises(FileError, match=r"r/a\.csv was not written: No space left") as raised,
        atomic_folder(tmp_path / "r") as place,
    ):
        raise FileError(f"{place}/a.csv was not written: No space left on device.")
    assert ".gramian-" not in str(raised.value)


def in_a_child(at, refuse, work):
    """Do some work in a process that is killed, or finds the disk full, at one operation on files."""
    seen = 0

    def count(event, arguments):
        nonlocal seen
        if event not in EVENTS or (event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        seen += 1
        if seen == at:
            if not refuse:
                os._exit(9)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sys.addaudithook(count)
    try:
        work()
    except FileError as error:
        os._exit(1 if "No space left on device. Free some space" in str(error) else 3)
    except BaseException:
        os._exit(4)
    os._exit(0 if seen < at else 2)


def every_moment(folder, refuse):
    """Yield the exit code of a second writing, stopped at each operation in turn."""
    at = 0
    while True:
        at += 1
        child = os.fork()
        if not child:
            in_a_child(at, refuse, lambda: write(folder, NEW, OLD))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        yield code
        if code == 0:
            return
        for left in folder.glob(".gramian-*"):
            shutil.rmtree(left)
        write(folder, OLD, NEW)


@needs_fork
@pytest.mark.walk
def test_a_kill_at_any_moment_leaves_whole_files_and_no_page_of_others(folder):
    results = []
    for code in every_moment(folder, refuse=False):
        assert code in (0, 9)
        now = content(folder)
        assert FOREIGN.items() <= now.items()
        assert all(data in (OLD.get(name), NEW.get(name)) for name, data in (now.items() - FOREIGN.items()))
        if "page.md" in now:
            assert now in (OLD | FOREIGN, NEW | FOREIGN)
        results.append(now)
    assert OLD | FOREIGN in results
    assert results[-1] == NEW | FOREIGN
    assert len(results) > 15


@needs_fork
def test_a_full_disk_at_any_moment_leaves_the_old_files_or_no_page(folder):
    codes = []
    for code in every_moment(folder, refuse=True):
        codes.append(code)
        now = content(folder)
        assert now in (OLD | FOREIGN, NEW | FOREIGN) or "page.md" not in now
    # The last is 0: it has fewer operations. What is refused without harm is 2.
    assert set(codes) == {0, 1, 2}
    assert codes.count(1) > 10


def test_a_page_never_explains_other_files(folder, monkeypatch):
    moved = []
    replace = os.replace
    monkeypatch.setattr(
        os, "replace", lambda a, b: (moved.append((b.name, (folder / "page.md").exists())), replace(a, b))
    )
    write(folder, NEW, OLD)
    assert [name for name, _ in moved][-1] == "page.md"
    assert not any(there for _, there in moved)


def test_what_cannot_be_replaced_is_refused_before_anything_is(folder):
    (folder / "b.csv").mkdir()
    with pytest.raises(FileError, match=r"is a folder\. Name a file in it\."):
        write(folder, NEW, OLD)
    assert content(folder) == OLD | FOREIGN


def test_permissions_of_old_files_stay(folder):
    (folder / "a.csv").chmod(0o600)
    write(folder, NEW, OLD)
    assert stat.S_IMODE((folder / "a.csv").stat().st_mode) == 0o600


def everything(place):
    """Every file and link below a place, with its content or target."""
    return {
        path: os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def test_a_link_to_a_folder_is_never_written_through(folder):
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "1.png").write_bytes(b"mine")
    (folder / "more").symlink_to(outside)
    before = everything(folder.parent)
    with pytest.raises(FileError, match=r"is a link, and files in it would be replaced\. Remove it,"):
        write(folder, {"more/1.png": b"new"})
    assert everything(folder.parent) == before


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "r").write_bytes(b"")
    with (
        pytest.raises(FileError, match=r"cannot be written: File exists\. Choose another place for"),
        atomic_folder(tmp_path / "r"),
    ):
        pytest.fail("the block must not run")
