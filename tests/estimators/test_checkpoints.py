"""A fit with a checkpoint that is ended at any moment goes on, and gives what it would have given."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from gramian import PCA, KernelPCA, scan
from gramian.errors import FileError, ParameterError
from gramian.io.lazy import StoredArray
from gramian.kernels import RBF
from gramian.operators import centered, tiles
from gramian.store import passes
from gramian.store.passes import Passes, remove_checkpoint
from refusals import refused

MODELS = {
    "krylov": lambda **given: PCA(4, random_state=None, solver="krylov", memory_limit=18_500_000, **given),
    "covariance": lambda **given: PCA(4, random_state=0, solver="covariance", **given),
    "gram": lambda **given: PCA(4, random_state=np.random.default_rng(1), solver="gram", **given),
    "scaled": lambda **given: PCA(3, random_state=7, scale="unit", solver="krylov", memory_limit=18_500_000),
}


class Killed(BaseException):
    pass


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A table of 2000 x 300 in seven laps a pass, each of which is kept."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((2000, 60)) * 0.9 ** np.arange(60)) @ rng.standard_normal((60, 300)) + 100
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setattr(centered, "LAP_BYTES", 700_000)
    monkeypatch.setattr(passes, "SECONDS", 0.0)
    monkeypatch.setattr(centered, "CACHE_BYTES", 100_000)
    return tmp_path / "x.npy"


@pytest.fixture
def read(monkeypatch):
    """Entries read so far."""
    count = [0]
    fill = StoredArray._fill

    def counted(self, values, *others):
        count[0] += values.size
        fill(self, values, *others)

    monkeypatch.setattr(StoredArray, "_fill", counted)
    return count


def die_after(monkeypatch, keeps):
    kept, left = passes.Pass.keep, [keeps]

    def keep(self, *given):
        kept(self, *given)
        left[0] -= 1
        if not left[0]:
            raise Killed(f"after {keeps}")

    monkeypatch.setattr(passes.Pass, "keep", keep)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_that_is_killed_again_and_again_ends_as_if_it_had_not_been(name, path, tmp_path, monkeypatch):
    whole = MODELS[name]().fit(path)
    for _ in range(20):
        with monkeypatch.context() as patch:
            die_after(patch, 18)
            try:
                result = MODELS[name]().fit(path, checkpoint=tmp_path / "c")
                break
            except Killed:
                pass
    else:
        raise AssertionError("it never ended")
    # Sums that are resumed are rounded in another order.
    assert result.explained_variance_ == pytest.approx(whole.explained_variance_, rel=1e-11)
    assert np.abs(result.components_ - whole.components_).max() < 1e-5
    assert result.certificate_.ok
    assert result.plan_.solver == whole.plan_.solver == ("krylov" if name == "scaled" else name)


@pytest.mark.parametrize(("n", "limit"), [(1500, 28_000_000), (800, 200_000_000)])
def test_products_with_a_kernel_matrix(n, limit, tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((n, 5))
    monkeypatch.setattr(tiles, "LAP_ENTRIES", 200 * n)
    monkeypatch.setattr(passes, "SECONDS", 0.0)

    def model(rows=X, **given):
        asked = {"solver": "krylov", "random_state": 0, "memory_limit": limit}
        return KernelPCA(3, kernel=RBF(3.0), **asked).fit(rows, **given)

    whole = model()
    killed = 0
    while killed < 9:
        with monkeypatch.context() as patch:
            die_after(patch, 30)
            try:
                result = model(checkpoint=tmp_path / "c")
                break
            except Killed:
                killed += 1
    assert killed
    assert result.eigenvalues_ == pytest.approx(whole.eigenvalues_, rel=1e-12)
    assert np.abs(result.eigenvectors_ - whole.eigenvectors_).max() < 1e-6
    with pytest.raises(ParameterError, match=f"of another fit: the data was {n} x 5 float64, hash"):
        model(X + 1e-9, checkpoint=tmp_path / "c")
    torch = pytest.importorskip("torch")
    with refused(ParameterError, "checkpoint"):
        model(torch.asarray(X), checkpoint=tmp_path / "d")


def test_what_was_done_is_not_read_again(path, tmp_path, monkeypatch, read):
    model = MODELS["krylov"]()
    with monkeypatch.context() as patch:
        die_after(patch, 40)
        with pytest.raises(Killed, match="after 40"):
            model.fit(path, checkpoint=tmp_path / "c")
    before, read[0] = read[0], 0
    first = model.fit(path, checkpoint=tmp_path / "c")
    again, read[0] = read[0], 0
    second = model.fit(path, checkpoint=str(tmp_path / "c"))  # of a fit that is done: the same at once
    assert read[0] < 0.05 * before
    assert np.array_equal(first.components_, second.components_)  # with the seeds of the first call
    (tmp_path / "d").mkdir()
    shutil.copy(tmp_path / "c/fit.json", tmp_path / "d")  # the same seeds, and so the same passes
    read[0] = 0
    model.fit(scan(path), checkpoint=tmp_path / "d")
    assert before + again < 1.02 * read[0]  # with the rows that data is known again by
    remove_checkpoint(tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.walk
def test_a_real_kill(path, tmp_path):
    code = f"""
import os, signal
from pathlib import Path
from gramian import PCA
from gramian.kernels import RBF
from gramian.operators import centered, tiles
from gramian.store import passes
centered.LAP_BYTES, passes.SECONDS = 700_000, 0.0
kept = passes.atomic_write
def cut(name, **options):
    if Path(name).name == "pass-00003.npz":
        with kept(name, **options) as file:
            file.write(b"half of it")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    return kept(name, **options)
passes.atomic_write = cut
PCA(4, solver="krylov", random_state=0, memory_limit=18_500_000).fit(Path({str(path)!r}), checkpoint="c")
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    left = {name.split("-")[0] for name in os.listdir(tmp_path / "c")}
    assert left == {"fit.json", "pass", ".gramian"}
    model = PCA(4, solver="krylov", random_state=0, memory_limit=18_500_000)
    result = model.fit(path, checkpoint=tmp_path / "c").components_
    assert np.abs(result - model.fit(path).components_).max() < 1e-5
    assert not list((tmp_path / "c").glob(".gramian-*"))


def test_a_checkpoint_of_another_fit_is_refused(path, tmp_path):
    PCA(4, random_state=0).fit(path, checkpoint=tmp_path / "c")
    with refused(ParameterError, "checkpoint"):
        PCA(5, random_state=0, tol=1e-7).fit(path, checkpoint=tmp_path / "c")
    PCA(4, random_state=0, memory_limit="1GB").fit(path, checkpoint=tmp_path / "c")
    X = np.load(path)
    X[0] += 1
    np.save(path, X)
    with pytest.raises(ParameterError, match=r"the data was .*the file's time was .* Give what was given"):
        PCA(4, random_state=0).fit(path, checkpoint=tmp_path / "c")


def test_what_cannot_be_kept_is_refused(path, tmp_path):
    with refused(ParameterError, "checkpoint"):
        PCA(4).fit(np.load(path), checkpoint=tmp_path / "c")
    with refused(ParameterError, "checkpoint"):
        KernelPCA(4, kernel="rbf", solver="nystroem").fit(np.load(path), checkpoint=tmp_path / "c")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("dear")
    with refused(FileError):
        PCA(4).fit(path, checkpoint=tmp_path / "mine")
    with refused(FileError):
        PCA(4).fit(path, checkpoint=path)
    busy = pytest.raises(FileError, match=r"in use by another fit. Wait for it")
    with Passes.resumed(tmp_path / "c", {}, [1]), busy:
        PCA(4).fit(path, checkpoint=tmp_path / "c")


@pytest.mark.walk
def test_a_damaged_checkpoint(path, tmp_path):
    model = MODELS["krylov"]().fit(path, checkpoint=tmp_path / "c")
    content = bytearray((tmp_path / "c/pass-00002.npz").read_bytes())
    content[len(content) // 2] ^= 255
    (tmp_path / "c/pass-00002.npz").write_bytes(content)
    again = MODELS["krylov"]().fit(path, checkpoint=tmp_path / "c")
    assert again.explained_variance_ == pytest.approx(model.explained_variance_, rel=1e-9)
    with np.load(tmp_path / "c/pass-00002.npz") as file:
        parts = dict(file)
    kind, _, count = json.loads(str(parts["about"]))
    for changed in (
        {"about": np.array("5")},
        {"result0": np.array([print], dtype=object)},
        {"result0": np.ones(1)},
        {"result0": -parts["result0"]},
        {"about": np.array(json.dumps([kind, 1, count]))},
        {"about": np.array(100_000 * "[")},
        None,
    ):
        with open(tmp_path / "c/pass-00002.npz", "wb") as file:
            np.save(file, np.eye(2)) if changed is None else np.savez(file, **parts | changed)
        again = MODELS["krylov"]().fit(path, checkpoint=tmp_path / "c")
        assert again.explained_variance_ == pytest.approx(model.explained_variance_, rel=1e-9)
    for content in ("{", json.dumps({"of": 3}), json.dumps({"of": {}, "seeds": [-1]}), 100_000 * "["):
        (tmp_path / "c/fit.json").write_text(content)
        with refused(FileError):
            PCA(4).fit(path, checkpoint=tmp_path / "c")


def test_a_full_disk_and_a_file_that_breaks_leave_the_checkpoint_whole(path, tmp_path, monkeypatch):
    model = MODELS["scaled"]()
    whole = model.fit(path).explained_variance_
    write = np.savez

    def full(*given, **arrays):
        if len(list((tmp_path / "c").glob("pass-*"))) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*given, **arrays)

    monkeypatch.setattr(np, "savez", full)
    with refused(FileError):
        model.fit(path, checkpoint=tmp_path / "c")
    assert len(os.listdir(tmp_path / "c")) == 4  # with fit.json, and nothing half-written
    monkeypatch.undo()
    fill = StoredArray._fill

    def broken(self, values, place, rows):
        if rows.start > 1200:
            monkeypatch.setattr(os, "preadv", lambda *_: _raise(errno.EIO))
        fill(self, values, place, rows)

    monkeypatch.setattr(StoredArray, "_fill", broken)
    with refused(FileError):
        model.fit(path, checkpoint=tmp_path / "c")
    monkeypatch.undo()
    assert model.fit(path, checkpoint=tmp_path / "c").explained_variance_ == pytest.approx(whole, rel=1e-12)


def _raise(number):
    raise OSError(number, os.strerror(number))


def test_a_file_that_may_not_be_read_is_named(path, monkeypatch):
    monkeypatch.setattr(os, "open", lambda *_: _raise(errno.EACCES))
    with refused(FileError):
        PCA(2, memory_limit=19_000_000).fit(path)
