"""What is kept, what survives, and what goes when nobody comes."""

import errno
import json
import os
import time

import pytest

from served import Limits

pytestmark = pytest.mark.walk

shelves = pytest.importorskip("gramian.service.shelves")
visitors = pytest.importorskip("gramian.service.visitors")
MODEL = {"model": {"kind": "PCA"}}


def file_of(folder, text, name="sent.gramian"):
    path = folder / name
    path.write_text(text)
    return path


def test_a_crash_while_saving_keeps_the_old_model(tmp_path, monkeypatch):
    shelf = shelves.Shelf(tmp_path / "models")
    item = shelf.put(file_of(tmp_path, "old"), "model", "wine", MODEL)

    def held():
        (found,) = shelves.Shelf(tmp_path / "models").items("model")
        return (shelf.folder / found.file).read_text()

    for full in (True, False):

        def crash(*paths, full=full):
            raise OSError(errno.ENOSPC if full else errno.EIO, "of a test")

        for step in ("gramian.store.atomic.os.fsync", "gramian.store.atomic.os.replace"):
            new = file_of(tmp_path, "new")
            with monkeypatch.context() as broken:
                broken.setattr(step, crash)
                with pytest.raises(shelves.Refusal, match="Nothing was saved") as raised:
                    shelf.put(new, "model", "wine", MODEL, instead=item)
            assert raised.value.status == 507
            assert held() == "old"
    assert len(os.listdir(shelf.folder)) == 2
    # A process that is gone between the file and its description leaves a file that nobody names.
    (shelf.folder / f"{item.id}-00000000.gramian").write_text("half")
    os.utime(shelf.folder / f"{item.id}-00000000.gramian", (0, 0))
    shelf.tidy()
    assert len(os.listdir(shelf.folder)) == 2
    shelf.put(file_of(tmp_path, "new"), "model", "wine", MODEL, instead=item)
    assert held() == "new"
    assert len(os.listdir(shelf.folder)) == 2


def test_a_description_that_is_damaged_is_no_item(tmp_path):
    shelf = shelves.Shelf(tmp_path / "models")
    item = shelf.put(file_of(tmp_path, "old"), "model", "wine", MODEL)
    for id in ("../../etc/passwd", "", item.id.upper(), item.id + "\n"):
        assert shelf.get("model", id) is None
    assert shelf.get("data", item.id) is None
    (shelf.folder / f"{item.id}.json").write_text("{")
    assert shelf.items() == []


def test_things_of_those_who_do_not_come_back_go(tmp_path):
    everybody = visitors.Visitors(tmp_path, Limits(idle_seconds=100))
    stays, goes = everybody.make(), everybody.make()
    for visitor, _ in (stays, goes):
        visitor.shelf.put(file_of(tmp_path, "x"), "data", "x", {})
    os.utime(goes[0].shelf.folder, (time.time() - 101,) * 2)
    assert everybody.find(goes[1]) is not None  # coming back in time is enough
    os.utime(goes[0].shelf.folder, (time.time() - 101,) * 2)
    everybody.remove_idle()
    assert everybody.find(goes[1]) is None
    assert everybody.find(stays[1]) is stays[0]
    for cookie in ("", "x", "../" + stays[1], "\udcff", None):
        assert everybody.find(cookie) is None
    assert stays[1] not in json.dumps(os.listdir(tmp_path))
