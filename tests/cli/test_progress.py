import io
import re
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from gramian import PCA, KernelPCA
from gramian.arrays import parallel_map
from gramian.checks import amount
from gramian.cli import progress as module
from gramian.cli.progress import progress, say
from gramian.io.lazy import StoredArray
from gramian.io.scan import scan
from gramian.operators import centered
from gramian.progress import report, report_to, track


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_shown_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(module, "DELAY", 0.0)
    with progress("reading"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress("reading"):
        pass
    assert sys.stderr.getvalue() == ""


def test_long_work_shows_what_the_solver_says(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(module, "DELAY", 0.0)
    with progress("computing [a]"):
        time.sleep(0.3)
        report("pass 3")
        time.sleep(0.3)
        say("a remark")
    shown = sys.stderr.getvalue()
    assert "computing [a] ..." in shown
    assert "computing [a]: pass 3" in shown
    assert "\r\x1b[Ka remark\n" in shown


def test_what_a_file_holds_does_not_rule_the_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    say("the array a\x1b[2Jb\nis not there")
    assert sys.stderr.getvalue() == "the array a\\x1b[2Jb is not there\n"


def test_counted_work_shows_how_much_is_done_and_the_time_left(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(module, "DELAY", 0.0)
    monkeypatch.setattr("gramian.progress_bar.PAUSE", 0.01)
    with progress("reading"):
        for name in "header", "picture":
            for _ in track(range(10), name):
                time.sleep(0.05)
    shown = sys.stderr.getvalue()
    assert re.search(r"\[#{4} {16}\] reading: header 3 of 10, about 0\.\d+ s left", shown)
    assert re.search(r"\[#{10} {10}\] reading: picture 6 of 10, about 0\.\d+ s left", shown)


def test_parts_of_a_part_do_not_take_its_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress("trying"):
        (line,) = module._lines
        for kernel in track(range(3), "kernel"):
            for _ in track(range(5), "block"):
                assert (line._unit, line._done, line._total) == ("kernel", kernel, 3)
        list(track(range(5), "block"))
        assert (line._unit, line._done, line._total) == ("block", 5, 5)


class Messages(list):
    """Every message that is reported."""

    def update(self, message, unit=None, done=0, total=0):
        self.append(message)


def test_blocks_of_new_rows_are_counted():
    model = KernelPCA(2).fit(np.eye(5))
    with report_to(Messages()) as said:
        model.transform(np.tile(np.eye(5), (1000, 1)))
    assert re.fullmatch(r"block of rows 1 of \d+", said[0])


def test_the_parts_of_work_are_counted(folder, gramian):
    pytest.importorskip("PIL")
    from gramian.plots import Picture

    (folder / "faces").mkdir()
    for number, pixels in enumerate(np.load("faces.npz")["X"][:3]):
        Picture(pixels).save(folder / "faces" / f"{number}.png")
    with report_to(Messages()) as said:
        assert gramian("fit", "faces", "--components", "2", "-o", "f.gramian").code == 0
    assert [s for s in said if "picture " in s] == ["picture 1 of 3", "picture 2 of 3", "picture 3 of 3"]
    assert any(re.match(r"full, about 0\.\d+ s", text) for text in said)


def test_threads_report_too():
    def work(number):
        report(f"part {number}")

    with report_to(Messages()) as said:
        parallel_map(work, range(4), most=2)
    assert sorted(said) == [f"part {number}" for number in range(4)]


@pytest.mark.walk
def test_a_pass_over_a_file_shows_its_rows_their_rate_and_the_time_left(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((2500, 20)))
    monkeypatch.setattr("gramian.io.choose.whole_within", lambda limit: 0)
    monkeypatch.setattr(centered, "LAP_BYTES", 80_000)
    monkeypatch.setattr(centered, "CACHE_BYTES", 80_000)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(module, "DELAY", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    fill = StoredArray._fill
    monkeypatch.setattr(StoredArray, "_fill", lambda *given: time.sleep(0.05) or fill(*given))
    with progress("computing"):
        PCA(2, solver="covariance").fit(tmp_path / "x.npy")
    shown = sys.stderr.getvalue()
    assert re.search(r"pass 1 \(covariance\): [\d,]+ of 2,500 rows, [\d,]+ rows/s, about \S+ s left", shown)


def test_reading_text_shows_bytes(tmp_path):
    path = tmp_path / "x.csv"
    text = "a,b\n" + "".join(f"{i},{i}\n" for i in range(2000))
    path.write_text(text)
    with report_to(Messages()) as said:
        scan(path).open(4000)
    size = len(text)
    expected = [f"{amount(at)} of {amount(size)} ({100 * at // size} %)" for at in range(0, size, 4096)]
    assert [one for one in said if " %)" in one] == expected


def test_reading_parquet_shows_rows(tmp_path):
    pq.write_table(pa.table({"a": np.arange(1000.0), "b": np.arange(1000.0)}), tmp_path / "x.parquet")
    with report_to(Messages()) as said:
        scan(tmp_path / "x.parquet").open(4000)
    assert said[0] == "128 of 1,000 rows"
    assert said[7] == "1,000 of 1,000 rows"


def test_another_pass_over_the_same_begins_a_new_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress("reading"):
        for done in (0, 1, 2):
            report("x", "part", done, 2)
        (line,) = module._lines
        first = line._counted_from
        report("x", "part", 0, 2)
        assert line._counted_from > first
