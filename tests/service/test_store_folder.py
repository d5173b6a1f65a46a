"""A folder becomes a store only where nothing of its owner can be lost, and one server uses it."""

import json
import os
import signal
import subprocess
import sys

import pytest

from gramian.errors import FileError, InputTypeError, ParameterError
from served import Limits, create_app

storage = pytest.importorskip("gramian.service.storage")
state = pytest.importorskip("gramian.service.sessions")
settings = pytest.importorskip("gramian.service.settings")
metrics = pytest.importorskip("gramian.service.logs")
ITEM, VISITOR = f"{32 * 'a'}-{8 * 'b'}.gramian", 64 * "c"


def tree(folder):
    return {
        path.relative_to(folder): path.readlink()
        if path.is_symlink()
        else path.is_file() and path.read_bytes()
        for path in folder.rglob("*")
    }


def fill(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def opened(folder):
    """What a server does with its store when it starts and when it ends."""
    root = storage.prepare_store(folder)
    whole = settings.Settings(store=root, limits=Limits(workers=0))
    made = state.State(whole, root, [], metrics.Metrics())
    storage.empty_work(made.work)
    return made


@pytest.mark.parametrize(
    "names",
    [
        ["notes.txt"],
        [".hidden"],
        ["work/thesis.tex"],
        ["models/mine.gramian"],
        ["models/a/b", "visitors/x"],
        [f"models/{ITEM}"],
        ["work/" + 32 * "a", f"visitors/{VISITOR}/{ITEM}"],
        [f"models/{ITEM}", "visitors/mine"],
        [f"models/{ITEM}", f"visitors/{VISITOR}/mine"],
        [f"models/{ITEM}", f"visitors/{VISITOR}/{ITEM}/mine"],
        [f"models/{ITEM}", f"visitors/{VISITOR}/{ITEM}", "work/mine"],
        [f"models/{ITEM}", f"visitors/{VISITOR}/{ITEM}", "other"],
        [f"models/{ITEM}", "visitors"],
    ],
    ids=" ".join,
)
def test_a_folder_of_other_files_is_no_store(names, tmp_path):
    fill(tmp_path, *names)
    before = tree(tmp_path)
    for open_it in (storage.prepare_store, lambda folder: create_app(store=folder)):
        with pytest.raises(FileError, match=r"but no \.gramian-store, so it is not a store\. Name a new"):
            open_it(tmp_path)
    assert tree(tmp_path) == before


def test_links_are_not_followed(tmp_path):
    precious = tmp_path / "precious"
    fill(precious, ITEM, 32 * "a")
    before = tree(precious)
    store = tmp_path / "store"
    for name in ("models", "visitors", "work"):
        opened(store)
        (store / name).rmdir()
        (store / name).symlink_to(precious)
        with pytest.raises(FileError, match=r"is not a folder of the store\. Move"):
            storage.prepare_store(store)
        (store / name).unlink()
    made = opened(store)
    os.utime(precious, (0, 0))
    for link in (made.sessions.folder / VISITOR, made.work / (32 * "a"), made.work / f"{32 * 'b'}-folder"):
        link.symlink_to(precious)
    again = opened(store)
    again.sessions.remove_idle()
    assert again.sessions.here == []
    assert tree(precious) == before


def test_a_new_and_an_empty_folder_become_stores(tmp_path):
    for folder in (tmp_path, tmp_path / "new" / "store"):
        opened(folder)
        marker = json.loads((folder / ".gramian-store").read_text())
        assert marker == {"format": "gramian-store", "version": 1}
        assert (folder / "models").stat().st_mode & 0o777 == 0o700
        assert {path.name for path in folder.iterdir()} >= {"models", "visitors", "work"}
    # Once it is a store, what its owner adds stays, and so do names that are nearly the server's.
    theirs = {"notes.txt", "work/thesis.tex", "work/deep/" + 32 * "a", "models/mine.gramian"}
    theirs |= {f"visitors/{VISITOR}/mine", "visitors/mine/x"}
    fill(tmp_path, *theirs)
    fill(tmp_path, "work/" + 32 * "a" + ".csv", "work/" + 32 * "b" + "-folder/table.csv", "work/vega.js")
    for path in tmp_path.rglob("*"):
        os.utime(path, (0, 0))
    made = opened(tmp_path)
    os.utime(made.sessions.folder / VISITOR, (0, 0))
    made.sessions.remove_idle()
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left - {"new/store/.gramian-store"} == theirs | {".gramian-store"}


def test_what_cannot_be_a_store(tmp_path):
    fill(tmp_path, "file")
    for name, error, text in (
        ("", ParameterError, "is not a folder name"),
        ("  ", ParameterError, "is not a folder name"),
        ("a\0b", ParameterError, "null character"),
        (b"store", InputTypeError, "is not a path"),
        (tmp_path / "file", FileError, "is not a folder"),
        (tmp_path / "file" / "store", FileError, "cannot be written"),
        (tmp_path / (300 * "x"), FileError, "name is too long"),
    ):
        with pytest.raises(error, match=text):
            create_app(store=name)


def test_a_write_protected_store(tmp_path, monkeypatch):
    # Root may write everywhere, so the system's answer is the test's.
    monkeypatch.setattr("gramian.service.storage.os.access", lambda path, mode: path.name != "models")
    with pytest.raises(FileError, match=r"is write-protected\. Make it writable, or name another"):
        create_app(store=tmp_path / "store")


def test_markers_of_other_versions_and_damaged_ones(tmp_path):
    storage.prepare_store(tmp_path)
    for text, match in (
        ('{"format": "gramian-store", "version": 2}', "written by a newer gramian"),
        ('{"format": "other", "version": 1}', "is damaged"),
        ('{"format": "gramian-store", "version": "1"}', "is damaged"),
        ("[]", "is damaged"),
        (100_000 * "[", "is damaged"),
        ("", "is damaged"),
        (100_000 * "[", "is damaged"),
    ):
        (tmp_path / ".gramian-store").write_text(text)
        with pytest.raises(FileError, match=match):
            storage.prepare_store(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_marker_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / ".gramian-store")
    with pytest.raises(FileError, match="is damaged"):
        storage.prepare_store(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_one_server_uses_a_store_until_it_is_gone(tmp_path):
    storage.prepare_store(tmp_path)
    program = (
        "import sys; from pathlib import Path; from gramian.store.atomic import locked\n"
        "with locked(Path(sys.argv[1])): print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(FileError, match=r"is in use by another server\. Stop it, or name another"):
            create_app(store=tmp_path)
        other.send_signal(signal.SIGKILL)
    create_app(store=tmp_path)
    with (
        storage.locked(tmp_path),
        pytest.raises(FileError, match=r"is in use by another server\. Stop it, or name another"),
    ):
        storage.prepare_store(tmp_path)
