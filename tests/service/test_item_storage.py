"""What is kept, what survives, and what goes when nobody comes."""

import copy
import errno
import json
import os
import secrets
import time

import pytest

from served import Limits

storages = pytest.importorskip("gramian.service.storage")
sessions = pytest.importorskip("gramian.service.sessions")
MODEL = {"model": {"kind": "PCA"}}


def file_of(folder, text, name=None):
    path = folder / (name or f"{secrets.token_hex(16)}.gramian")
    path.write_text(text)
    return path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_crash_while_saving_keeps_the_old_model(tmp_path, monkeypatch):
    storage = storages.ItemStorage(tmp_path / "models")
    item = storage.put(file_of(tmp_path, "old"), "model", "wine", MODEL)

    def held():
        (result,) = storages.ItemStorage(tmp_path / "models").items("model")
        return (storage.folder / result.file).read_text()

    for full in (True, False):

        def crash(*paths, full=full):
            raise OSError(errno.ENOSPC if full else errno.EIO, "of a test")

        for step in ("gramian.store.atomic.os.fsync", "gramian.store.atomic.os.replace"):
            new = file_of(tmp_path, "new")
            with monkeypatch.context() as broken:
                broken.setattr(step, crash)
                with pytest.raises(storages.Refusal, match="Nothing was saved") as raised:
                    storage.put(new, "model", "wine", MODEL, instead=item)
            assert raised.value.status == 507
            assert held() == "old"
    assert len(os.listdir(storage.folder)) == 3
    # A process that is gone between the file and its description leaves a file that nobody names.
    (storage.folder / f"{item.id}-00000000.gramian").write_text("half")
    os.utime(storage.folder / f"{item.id}-00000000.gramian", (0, 0))
    storage.tidy()
    assert len(os.listdir(storage.folder)) == 3
    storage.put(file_of(tmp_path, "new"), "model", "wine", MODEL, instead=item)
    assert held() == "new"
    assert len(os.listdir(storage.folder)) == 3
    # Where nothing could be saved, what was sent is where it was: it may be another storage's.
    theirs, item = storages.ItemStorage(tmp_path / "theirs"), storage.items()[0]
    with monkeypatch.context() as broken:
        broken.setattr("gramian.store.atomic.os.fsync", crash)
        with pytest.raises(storages.Refusal, match="Nothing was saved"):
            theirs.put(storage.folder / item.file, "model", "wine", MODEL)
    assert held() == "new"
    assert os.listdir(theirs.folder) == []


def test_only_an_id_names_an_item(tmp_path):
    storage = storages.ItemStorage(tmp_path / "models")
    item = storage.put(file_of(tmp_path, "old"), "model", "wine", MODEL)
    for id in ("../../etc/passwd", "", item.id.upper(), item.id + "\n"):
        assert storage.get("model", id) is None
    assert storage.get("data", item.id) is None
    assert storage.get("model", item.id) == item
    assert storage.facts(item) == MODEL


def changed(**fields):
    return lambda known: json.dumps(known | fields)


ODD = {
    "truncated": lambda fields: json.dumps(fields)[:-9],
    "empty": lambda fields: "",
    "a list": lambda fields: "[]",
    "nested too deep": lambda fields: 100_000 * "[",
    "a field of a newer version": changed(colour="red"),
    "a newer summary": changed(summary={"model": {"kind": "PCA"}, "colour": "red"}),
    "NaN": changed(created=float("nan")),
    "infinite": changed(created=float("inf")),
    "text for a number": changed(bytes="12"),
    "a number for text": changed(name=12),
    "another kind": changed(kind="thesis"),
    "an absolute file": changed(file="/etc/passwd"),
    "a file above": changed(file="../secret"),
    "another item's file": changed(file=f"{32 * '0'}-00000000.gramian"),
    "another item's facts": changed(details=f"{32 * '0'}-00000000.facts"),
    "another id": changed(id=32 * "0"),
    "an id with a line": changed(id=32 * "0" + "\n"),
    "an odd summary": changed(summary={"model": 3}),
    "an odd number of components": changed(summary={"model": {"kind": "PCA", "n_components": "many"}}),
    "an odd reading": changed(reading={"rows": [1]}),
    "nested": lambda fields: 100_000 * "[" + 100_000 * "]",
    "too long": lambda fields: json.dumps(fields) + 300_000 * " ",
}


@pytest.mark.parametrize("how", ODD)
def test_a_description_that_cannot_be_read_is_skipped_and_stays(how, tmp_path, caplog):
    (tmp_path / "secret").write_text("secret")
    storage = storages.ItemStorage(tmp_path / "models")
    good, odd = (storage.put(file_of(tmp_path, "x"), "model", "wine", MODEL) for _ in range(2))
    path = storage.folder / f"{odd.id}.json"
    path.write_text(ODD[how](json.loads(path.read_text())))
    for one in storage.folder.iterdir():
        os.utime(one, (0, 0))
    before = contents(storage.folder)
    storage.tidy()
    assert storage.items() == [good]
    assert storage.get("model", odd.id) is None
    assert contents(storage.folder) == before
    assert path.name in caplog.text


def test_facts_that_cannot_be_read_leave_the_summary(tmp_path, caplog):
    storage = storages.ItemStorage(tmp_path / "models")
    item = storage.put(file_of(tmp_path, "x"), "model", "wine", MODEL)
    visible = storages.VisibleItems(None, storage, ())
    nested = [f'{{"model": {count * "["}{count * "]"}}}' for count in (300, 100_000)]
    for text in ("{", "[]", '{"model": NaN}', *nested):
        (storage.folder / item.details).write_text(text)
        assert visible.with_facts("model", item.id) == (item, MODEL)
    assert item.details in caplog.text


def test_a_list_reads_no_long_part(tmp_path):
    storage = storages.ItemStorage(tmp_path / "data")
    facts = {"rows": 3, "columns": 2, "picture_shape": [2, 1], "preview": 100_000 * ["column"]}
    made = [storage.put(file_of(tmp_path, "x"), "data", f"data {i}", facts) for i in range(3)]
    for item in made:
        assert storage.facts(item) == facts
        (storage.folder / item.details).unlink()
    assert storage.items() == made
    assert made[0].summary.plain() == {"rows": 3, "columns": 2, "picture_shape": [2, 1]}
    described = sum(path.stat().st_size for path in storage.folder.glob("*.json"))
    assert described < 3 * 1000


def test_nobody_changes_an_item(tmp_path):
    storage = storages.ItemStorage(tmp_path / "data")
    facts = {"rows": 3, "columns": 2, "reading": {"columns": ["a"]}}
    item = storage.put(file_of(tmp_path, "x"), "data", "x", facts)
    given = item.model_copy(update={"whose": "given", "details": json.dumps(facts)})
    visible = storages.VisibleItems(None, None, [given])
    before = copy.deepcopy((item, given))
    for part in (
        item.payload(storage.folder),
        given.payload(storage.folder),
        visible.payload("data", item.id),
    ):
        part["reading"]["columns"].append("b")
        part["reading"]["rows"] = "0:1"
    visible.with_facts("data", item.id)[1]["reading"]["rows"] = "0:1"
    assert (item, given) == before
    assert visible.payload("data", item.id)["reading"] == {"columns": ["a"]}
    for change in ("name", "summary"):
        with pytest.raises(ValueError, match="frozen"):
            setattr(item, change, None)
    with pytest.raises(ValueError, match="frozen"):
        item.summary.rows = 4


def test_a_storage_takes_so_much_and_no_more(tmp_path):
    for whose, status in (("yours", 413), ("kept", 507)):
        storage = storages.ItemStorage(tmp_path / whose, whose, most=2, bytes=5000)
        item = storage.put(file_of(tmp_path, 1000 * "x"), "model", "wine", MODEL)
        with pytest.raises(storages.Refusal, match="in total") as raised:
            storage.put(file_of(tmp_path, 4000 * "x"), "model", "wine", MODEL)
        assert raised.value.status == status
        storage.put(file_of(tmp_path, 4000 * "x"), "model", "wine", MODEL, instead=item)
        storage.put(file_of(tmp_path, "x"), "model", "wine", MODEL)
        with pytest.raises(storages.Refusal, match="in total"):
            storage.put(file_of(tmp_path, "x"), "model", "wine", MODEL)


def test_only_names_of_the_server_are_removed(tmp_path):
    precious = file_of(tmp_path, "precious", "precious")
    storage = storages.ItemStorage(tmp_path / "models")
    item = storage.put(file_of(tmp_path, "x"), "model", "wine", MODEL)
    theirs = {"thesis.tex", "model.gramian", f"{32 * 'A'}-{8 * '0'}.gramian", f"{32 * '0'}.json.bak"}
    for name in theirs:
        (storage.folder / name).write_text("theirs")
    (storage.folder / "folder").mkdir()
    links = {f"{32 * '1'}-{8 * '1'}.gramian", f"{32 * '1'}.json", f".gramian-{16 * '1'}.tmp"}
    for name in links:
        (storage.folder / name).symlink_to(precious)
    crashed = {f"{32 * '2'}-{8 * '2'}.gramian", f"{item.id}-{8 * '2'}.facts", f".gramian-{16 * '2'}.tmp"}
    for name in crashed:
        (storage.folder / name).write_text("half")
    for path in storage.folder.iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    own = {item.file, item.details, f"{item.id}.json"}
    storage.tidy()
    assert set(os.listdir(storage.folder)) == own | theirs | links | {"folder"}
    assert storage.items() == [item]
    storage.clear()
    assert set(os.listdir(storage.folder)) == theirs | links | {"folder"}
    assert precious.read_text() == "precious"


def test_things_of_those_who_do_not_come_back_go(tmp_path):
    everybody = sessions.Sessions(tmp_path, Limits(idle_seconds=100))
    stays, goes = everybody.make(), everybody.make()
    for visitor, _ in (stays, goes):
        visitor.put(file_of(tmp_path, "x"), "data", "x", {})
    os.utime(goes[0].folder, (time.time() - 101,) * 2)
    assert everybody.find(goes[1]) is not None  # coming back in time is enough
    os.utime(goes[0].folder, (time.time() - 101,) * 2)
    (item,) = goes[0].items()
    everybody.remove_idle()
    assert everybody.deleted == {item.id}
    assert everybody.find(goes[1]) is None
    assert everybody.find(stays[1]) is stays[0]
    for cookie in ("", "x", "../" + stays[1], "\udcff", None):
        assert everybody.find(cookie) is None
    assert stays[1] not in json.dumps(os.listdir(tmp_path))


def come(everybody, network="192.0.2.1", away=0.0, returned=False):
    visitor, cookie = everybody.make(network)
    if returned:
        everybody.find(cookie)
    os.utime(visitor.folder, (time.time() - away,) * 2)
    return cookie


def test_those_who_never_come_back_lock_nobody_out(tmp_path):
    everybody = sessions.Sessions(tmp_path, Limits(visitors=4))
    stays = come(everybody, away=500, returned=True)
    strangers = [come(everybody, away=away) for away in (20, 30, 15)]
    newcomer = come(everybody)
    assert everybody.find(strangers[1]) is None  # who was away longest, and never came back
    assert all(everybody.find(cookie) for cookie in (stays, strangers[0], strangers[2], newcomer))
    for _ in range(10):
        with pytest.raises(storages.Refusal, match="too many visitors") as raised:
            come(everybody)
        assert (raised.value.status, raised.value.headers["Retry-After"]) == (429, "10")


def test_one_network_locks_no_other_out(tmp_path):
    everybody = sessions.Sessions(tmp_path, Limits(visitors=6))
    attack = [come(everybody, "2001:db8::/64", returned=True) for _ in range(6)]
    for _ in range(3):  # each newcomer stays
        come(everybody, "192.0.2.1", returned=True)
    assert sum(everybody.find(cookie) is not None for cookie in attack) == 3
    with pytest.raises(storages.Refusal, match="too many visitors"):
        come(everybody, "2001:db8::/64")
    everybody.limits = Limits(visitors=6, idle_seconds=10_000)
    for visitor in everybody.known:
        os.utime(visitor.folder, (time.time() - 700,) * 2)
    come(everybody, "2001:db8::/64")  # after ten minutes away anybody makes room
    assert len(everybody.here) == 6


def test_a_restart_knows_no_network_until_visitors_return(tmp_path):
    everybody = sessions.Sessions(tmp_path, Limits(visitors=3))
    cookies = [come(everybody, "192.0.2.1") for _ in range(3)]
    everybody = sessions.Sessions(tmp_path, Limits(visitors=3))
    with pytest.raises(storages.Refusal, match="too many visitors"):
        come(everybody, "192.0.2.2")
    assert all(everybody.find(cookie, "192.0.2.1") for cookie in cookies)
    come(everybody, "192.0.2.2")
    assert sum(everybody.find(cookie) is not None for cookie in cookies) == 2


def test_a_running_fit_keeps_its_visitor(tmp_path):
    everybody = sessions.Sessions(tmp_path, Limits(visitors=1, idle_seconds=1))
    cookie = come(everybody, away=1000)
    everybody.find(cookie).jobs["id"] = type("Running", (), {"running": True})()
    os.utime(everybody.known[0].folder, (0, 0))
    everybody.remove_idle()
    with pytest.raises(storages.Refusal, match="too many visitors"):
        come(everybody)
    assert everybody.find(cookie) is not None
