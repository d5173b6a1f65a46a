"""What a process answers when something goes wrong: the status, and words that name the upload."""

import errno
import os

import h5py
import numpy as np
import pytest

from gramian import errors
from gramian.tables.stored import Spool
from served import X

worker = pytest.importorskip("gramian.app.server.worker")
tasks = pytest.importorskip("gramian.app.server.tasks")
BED = bytes([0x6C, 0x1B, 1]) + bytes(3)


def failed(work, **order):
    status, answer = worker.answered(work, order)
    return {"status": status, "error": answer.decode()}


def raising(error, cause=None):
    def run():
        raise error from cause

    return run


def full_disk(code=errno.ENOSPC):
    return OSError(code, os.strerror(code))


@pytest.mark.parametrize(("error", "cause", "status"), [
    (MemoryError(), None, 413),
    (errors.MemoryLimitError("too much"), None, 413),
    (np._core._exceptions._ArrayMemoryError((1 << 40,), np.dtype("f8")), None, 413),
    (errors.FileError("damaged"), MemoryError(), 413),
    (errors.DataError("no table"), errors.MemoryLimitError("too much"), 413),
    (full_disk(errno.EFBIG), None, 413),
    (errors.not_written("x", full_disk(errno.EFBIG)), full_disk(errno.EFBIG), 413),
    (full_disk(), None, 507),
    (full_disk(errno.EDQUOT), None, 507),
    (errors.not_written("x", full_disk()), full_disk(), 507),
    (errors.ParameterError("size", 1, "of a table"), errors.not_written("x", full_disk()), 422),
    (errors.ParameterError("size", 1, "of a table"), full_disk(errno.EDQUOT), 507),
    (errors.FileError("damaged"), None, 400),
    (errors.DataError("no table"), ValueError(), 422),
    (errors.UnavailableError("not for this model"), None, 422),
    (full_disk(errno.EACCES), None, 500),
    (ZeroDivisionError(), None, 422),
    (AttributeError(), None, 500),
])  # fmt: skip
def test_memory_and_disks_have_a_status_whoever_met_their_end(error, cause, status, capsys):
    got = failed(raising(error, cause))
    assert got["status"] == status
    assert ("Traceback" in capsys.readouterr().err) == (not isinstance(error, errors.GramianError))


def test_a_spool_without_room_is_a_full_disk(monkeypatch):
    monkeypatch.setattr("gramian.tables.stored.shutil.disk_usage", lambda folder: os.statvfs_result)
    monkeypatch.setattr(os.statvfs_result, "free", 5, raising=False)
    for order in ({}, {"data": {"path": "/srv/x.csv", "name": "x.csv"}}):
        got = failed(lambda **order: Spool("x.csv", 10), **order)
        assert (got["status"], "disk is full" in got["error"]) == (507, True)


def part(path, name="table", **more):
    return {"path": str(path), "name": name, "kind": "", "given": True, "reading": {}} | more


def cases(folder):
    """Yield files that the server was started with and cannot use, and their kind."""
    for name, content in (
        ("x.csv", b"a,b\n1\n2,3\n"),
        ("x.npy", b"\x93NUMPY"),
        ("x.npz", b"PK\3\4"),
        ("x.mat", b"MATLAB 5.0"),
        ("x.h5", b"\x89HDF\r\n"),
        ("x.h5ad", b"\x89HDF\r\n"),
        ("x.parquet", b"PAR1"),
        ("x.xlsx", b"PK\3\4"),
        ("x.zip", b"PK\3\4"),
        ("x.png", b"\x89PNG"),
        ("x.bed", BED),
        ("x.pkl", b"\x80\4"),
        ("empty.csv", b""),
    ):
        (folder / name).write_bytes(content)
        yield folder / name, "data"
    (folder / "two.bed").write_bytes(BED)
    (folder / "two.bim").write_text("1\n")
    (folder / "two.fam").write_text("1\n")
    yield folder / "two.bed", "data"
    for name in ("pictures", "parquet"):
        (folder / name).mkdir()
    (folder / "pictures" / "a.png").write_bytes(b"\x89PNG")
    (folder / "parquet" / "a.parquet").write_bytes(b"PAR1")
    for name in ("pictures", "parquet", "none.csv", "none/none.csv"):
        yield folder / name, "data"
    with h5py.File(folder / "two.h5", "w") as file:
        file["a/X"], file["b/X"] = X, X
    for key in ("a", "c", "a/Y"):
        yield f"{folder / 'two.h5'}::{key}", "data"
    (folder / "x.gramian").write_bytes(b"no model")
    yield folder / "x.gramian", "model"
    yield folder / "none.gramian", "model"
    (folder / "x.gallery").write_bytes(b"SQLite format 3\0" + bytes(4000))
    yield folder / "x.gallery", "gallery"


def test_every_damaged_file_is_the_clients_error(tmp_path):
    seen = 0
    for path, kind in cases(tmp_path):
        got = failed(tasks.describe, kind=kind, data=part(path))
        assert 400 <= got["status"] < 500, got
        seen += 1
    assert seen > 20


def test_errors_name_the_upload(tmp_path):
    """Messages about a single picture have the last part of its path only."""
    path = tmp_path / f"{'0a' * 16}.png"
    path.write_bytes(b"\x89PNG" + bytes(60))
    data = {"path": str(path), "name": "me.png", "kind": ".png", "reading": {}, "given": False}
    said = failed(tasks.describe_data, data=data)
    assert said["error"].startswith("me.png ")
    assert "0a0a" not in str(said)

    def too_much(data):
        raise MemoryError

    assert failed(too_much, data=data)["error"].startswith("me.png exceeds the memory limit.")


def test_an_answer_is_json_and_not_nested_too_deeply():
    assert failed(lambda: {"median": float("nan")})["status"] == 422
    deep = []
    for _ in range(300):
        deep = [deep]
    got = failed(lambda: {"model": deep})
    assert (got["status"], "more than 100 levels deep" in got["error"]) == (422, True)


def test_names_of_tables_are_short_and_no_paths(tmp_path):
    np.save(tmp_path / "x.npy", X)
    for given in (True, False):
        data = part(tmp_path / "x.npy", "flowers") | {"given": given}
        assert tasks.read_table(data).source == "flowers"
    got = failed(lambda: {"names": ["x" * 3_000_000, "y" * 3_000_000]})
    assert (got["status"], "names are too long" in got["error"]) == (422, True)


def test_an_order_without_data_fails_as_its_work_does():
    def work(data):
        raise errors.DataError("Choose the data to plot.")

    assert failed(work, data=None) == {"status": 422, "error": "Choose the data to plot."}


def test_an_uploaded_table_has_a_limit_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "MOST_ROWS", 59)
    np.save(tmp_path / "x.npy", X)
    data = part(tmp_path / "x.npy", "flowers") | {"given": False}
    assert tasks.describe_data(data)["problem"].startswith("flowers has 60 rows, and the limit is 59.")
    assert tasks.read_table(data | {"given": True}).values.shape[0] == 60
