"""Items on disk: whole or not there, whatever ends the process, and whoever changes the folder."""

import errno
import json
import os

import pytest

from gramian.errors import FileError, ParameterError

items = pytest.importorskip("gramian.app.server.state")
FACTS = {"rows": 2, "columns": 2}


@pytest.fixture
def store(tmp_path):
    with items.store_folder(tmp_path / "store") as root:
        yield items.State(root, [], items.Limits())


def put(store, name="x.csv", content=b"a,b\n1,2\n", facts=FACTS):
    with store.building("data", name, ".csv") as item:
        with open(item.path, "xb") as file:
            file.write(content)
        return store.put(item.model_copy(update={"reading": items.Reading(label=["kind"])}), facts)


def test_an_item_is_there_as_a_whole_and_goes_as_a_whole(store):
    first, second = put(store), put(store, "y.csv")
    assert [one.name for one in store.all("data")] == ["x.csv", "y.csv"]
    again = items.State(store.root, [], items.Limits()).find("data", first.id)
    assert again == first
    assert (again.about, again.reading.options()) == ("2 rows, 8 bytes", {"label": ["kind"]})
    with open(first.path, "rb") as file:
        assert file.read() == b"a,b\n1,2\n"
    assert list(store.work.iterdir()) == []
    store.remove(first)
    with pytest.raises(items.Refusal, match="There is no data with this id"):
        store.find("data", first.id)
    with pytest.raises(items.Refusal, match="There is no model with this id"):
        store.find("model", second.id)


@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_a_full_disk_changes_nothing(store, monkeypatch, at):
    put(store)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"os.{at}", full)
    with pytest.raises(items.Refusal, match="Nothing was saved") as raised:
        put(store, "y.csv")
    monkeypatch.undo()
    assert raised.value.status_code == 507
    assert [one.name for one in store.all("data")] == ["x.csv"]
    assert list(store.work.iterdir()) == []


def test_what_a_killed_server_left_is_removed_and_nothing_else(store):
    item = put(store)
    (store.work / (32 * "a")).mkdir()
    (store.work / (32 * "b" + ".csv")).write_text("half")
    (store.work / "mine.txt").write_text("mine")
    again = items.State(store.root, [], items.Limits())
    assert [path.name for path in store.work.iterdir()] == ["mine.txt"]
    assert again.find("data", item.id) == item


def test_a_changed_description_is_skipped_and_stays(store, tmp_path, caplog):
    (tmp_path / "secret").write_text("secret")
    good = json.loads((store.root / "items" / put(store).id / "item.json").read_text())
    for change in (
        {"id": 32 * "0"},
        {"name": 3},
        {"bytes": "8"},
        {"suffix": "/../../secret"},
        {"path": "/etc/passwd", "given": True},
        {"kind": "else"},
        {"reading": {"nothing": 1}},
        {"more": 1},
    ):
        item = put(store)
        described = store.root / "items" / item.id / "item.json"
        described.write_text(json.dumps(good | {"id": item.id} | change))
        with pytest.raises(items.Refusal, match="There is no data"):
            store.find("data", item.id)
        assert described.exists()
    for content in (b"", b"[]", b"\xff", b"[" * 100_000, b"{" + 9_000_000 * b" " + b"}"):
        item = put(store)
        (store.root / "items" / item.id / "item.json").write_bytes(content)
        assert item.id not in {one.id for one in store.all("data")}
    assert len(store.all("data")) == 1
    assert "was skipped and left in place" in caplog.text


def test_no_link_is_followed(store, tmp_path):
    (tmp_path / "secret").write_text("secret")
    linked, whole, described = put(store), put(store), put(store)
    os.unlink(linked.path)
    os.symlink(tmp_path / "secret", linked.path)
    os.rename(store.root / "items" / whole.id, tmp_path / "moved")
    os.symlink(tmp_path / "moved", store.root / "items" / whole.id)
    os.rename(store.root / "items" / described.id / "item.json", tmp_path / "item.json")
    os.symlink(tmp_path / "item.json", store.root / "items" / described.id / "item.json")
    assert store.all("data") == []
    item = put(store)
    os.symlink(tmp_path, store.root / "items" / item.id / "link")
    store.remove(item)
    (store.work / (32 * "c")).symlink_to(tmp_path)
    store.empty_work()
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_store_is_new_or_empty_or_an_earlier_one(tmp_path):
    with items.store_folder(tmp_path / "a" / "b") as root:
        assert (root / items.MARKER).is_file()
        assert root.stat().st_mode & 0o777 == 0o700
        with pytest.raises(FileError, match="in use by another server"), items.store_folder(root):
            pass
    with items.store_folder(root):
        pass
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    for place, error, text in (
        ("", ParameterError, "not a folder name"),
        (tmp_path / "file", FileError, "is not a folder. Name a new or an empty folder"),
        (tmp_path / "full", FileError, r"contains mine but no \.gramian-store"),
    ):
        with pytest.raises(error, match=text), items.store_folder(place):
            pass
    marker = root / items.MARKER
    for content, text in (
        ("{", "another version of gramian, or .gramian-store is damaged"),
        ('{"format": "gramian-store", "version": 1}', "another version"),
        ("[" * 100_000, "damaged"),
    ):
        marker.write_text(content)
        with pytest.raises(FileError, match=text), items.store_folder(root):
            pass
    marker.unlink()
    marker.symlink_to(tmp_path / "file")
    with pytest.raises(FileError, match="is damaged"), items.store_folder(root):
        pass
    (tmp_path / "new").mkdir()
    with items.store_folder(tmp_path / "new") as new:
        pass
    (new / "work").rmdir()
    (new / "work").symlink_to(tmp_path / "full")
    with pytest.raises(FileError, match="is a link or write-protected"), items.store_folder(new):
        pass
    assert (tmp_path / "full" / "mine").read_text() == "mine"
