"""Commands on a file larger than a quarter of memory_limit: piece by piece, and nothing half-written."""

import os

import numpy as np
import pyarrow.parquet
import pytest

from gramian.report import sections, tables
from gramian.tables.stored import FileRows

resource = pytest.importorskip("resource")  # POSIX
LIMIT = "--memory-limit 24MB"


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A folder with a table of 20,000 x 60, a model of it, and pieces of 2,000 rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tables, "PIECE_BYTES", 2_000 * 8 * 60)
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((20_000, 12)) * 0.7 ** np.arange(12)) @ rng.standard_normal((12, 60)) + 3
    np.save("x.npy", X)
    return tmp_path


@pytest.fixture
def model(large, gramian):
    gramian.works("fit x.npy --n-components 3 -o m.gramian")
    return "m.gramian"


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_transform_gives_what_it_gives_of_a_small_one(kind, model, gramian):
    gramian.works(f"transform {model} x.npy -o small.{kind}")
    gramian.works(f"transform {model} x.npy -o large.{kind} {LIMIT}")
    if kind == "parquet":
        first, second = (pyarrow.parquet.read_table(f"{name}.parquet") for name in ("small", "large"))
        assert first.equals(second)
    else:
        same = [np.fromfile(f"{name}.{kind}", np.uint8) for name in ("small", "large")]
        assert np.array_equal(*same)


@pytest.mark.walk
def test_fit_writes_the_same_folder(large, gramian):
    gramian.works("fit x.npy --n-components 3 -o small")
    gramian.works(f"fit x.npy --n-components 3 -o large {LIMIT}")
    assert set(os.listdir("large")) == set(os.listdir("small"))
    scores = [np.loadtxt(f"{name}/scores.csv", delimiter=",", skiprows=1) for name in ("small", "large")]
    assert np.abs(scores[0] - scores[1]).max() < 1e-9
    page = (large / "large/summary.md").read_text()
    assert "![Scores](scores.svg)" in page
    assert "SHA-256: not computed, because the data were not read sequentially" in page


def test_of_very_many_rows_some_are_drawn(large, gramian, monkeypatch, drawn):
    monkeypatch.setattr(sections, "MOST_DRAWN", 500)
    gramian.works(f"fit x.npy --n-components 2 -o r {LIMIT}")
    assert "scores.svg shows 500 of 20,000 rows, evenly spaced." in (large / "r/summary.md").read_text()
    assert 500 <= (large / "r/scores.svg").read_text().count("<use ") < 550  # points, and ticks


def test_plan_does_not_read(large, gramian, monkeypatch):
    monkeypatch.setattr(FileRows, "_fill", None)
    ran = gramian(f"plan x.npy --n-components 3 --json {LIMIT}")
    assert ran.json["data"]["rows"] == 20_000
    assert ran.json["plan"]["bytes"] < 24e6


def test_rows_are_rebuilt_and_whitened_piece_by_piece(model, gramian, monkeypatch):
    for name, more in (("small", ""), ("large", LIMIT)):
        ran = gramian(f"reconstruct {model} x.npy -o {name}.npy {more}")
        assert "Mean square error" in ran.err
    assert np.abs(np.load("small.npy") - np.load("large.npy")).max() < 1e-9
    gramian.works("whiten x.npy -o w.npy")
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "24MB")
    gramian.works("whiten x.npy -o v.npy")
    assert np.abs(np.load("w.npy") - np.load("v.npy")).max() < 1e-6


def test_correlations_and_pictures(large, gramian):
    X = (np.load("x.npy")[:, :48] * 8 + 100).clip(0, 255).reshape(-1, 6, 8)
    np.save("p.npy", X)
    for name, more in (("small", ""), ("large", "--memory-limit 19MB")):
        ran = gramian(f"fit p.npy --n-components 2 --loadings correlation -o {name} {more}")
        assert "pictures of 8 x 6" in ran.out
    assert (large / "large/mean.png").read_bytes() == (large / "small/mean.png").read_bytes()
    items = [
        np.loadtxt(f"{name}/loadings.csv", delimiter=",", skiprows=1, usecols=(1, 2))
        for name in ("small", "large")
    ]
    assert np.abs(items[0] - items[1]).max() < 1e-6
    refused = gramian("reconstruct large p.npy -o folder --memory-limit 19MB")
    assert "p.npy is too large for one. Name a .csv" in refused.err


def test_what_needs_all_of_it_says_so(large, gramian, monkeypatch):
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "5MB")
    ran = gramian("relations x.npy")
    assert "This command needs all 9.6 MB of x.npy in memory" in ran.err


def test_a_bad_entry_is_named_by_its_row_in_the_file(model, gramian):
    X = np.load("x.npy")
    X[17_123, 5] = np.inf
    np.save("x.npy", X)
    ran = gramian(f"transform {model} x.npy -o s.csv {LIMIT}")
    assert "row 17123, column 5" in ran.err
    assert not os.path.exists("s.csv")


@pytest.fixture
def full_disk():
    """Files of more than 20,000 bytes meet a limit, as they meet the end of a disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


# NumPy before 2.2 leaves the archive open.
@pytest.mark.filterwarnings("ignore:Exception ignored in.*ZipFile:pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_leaves_what_was_there(model, large, gramian, full_disk):
    gramian.works("fit x.npy --n-components 3 -o r")
    before = {path: path.read_bytes() for path in (large / "r").iterdir()}
    outputs = [large / f"s.{kind}" for kind in ("csv", "parquet", "npy")]
    for path in outputs:
        path.write_text("earlier")
    full_disk()
    for path in outputs:
        ran = gramian(f"transform {model} x.npy -o", path.name, f"{LIMIT}")
        assert ran.code == 1
        assert f"{path} was not written: " in ran.err or f"{path.name} was not written: " in ran.err
        assert path.read_text() == "earlier"
    ran = gramian(f"fit x.npy --n-components 3 -o r {LIMIT}")
    assert ran.code == 1
    assert {path: path.read_bytes() for path in (large / "r").iterdir()} == before
    assert not list(large.rglob(".gramian-*"))
