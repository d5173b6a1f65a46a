import io
import re
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from gramian import PCA, KernelPCA
from gramian.core import progress as module
from gramian.core.arrays import parallel_map
from gramian.core.checks import amount
from gramian.core.progress import report, report_to, say, shows_progress, track
from gramian.engine import centered
from gramian.tables.scan import scan
from gramian.tables.stored import FileRows


class Terminal(io.StringIO):
    def isatty(self):
        return True


def as_terminal(monkeypatch):
    """Make standard error a terminal, where bars appear at once."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(module, "DELAY", 0.0)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    return sys.stderr


def until_drawn(terminal, text):
    end = time.monotonic() + 10
    while text not in terminal.getvalue():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_nothing_is_shown_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(module, "DELAY", 0.0)
    with shows_progress("reading"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_nothing(monkeypatch):
    terminal = as_terminal(monkeypatch)
    monkeypatch.setattr(module, "DELAY", 60.0)
    with shows_progress("reading"):
        report("pass 3")
    assert terminal.getvalue() == ""


def test_long_work_shows_what_the_solver_says_below_what_is_remarked(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with shows_progress("computing [a]"):
        until_drawn(terminal, "computing [a]: ...")
        report("pass 3")
        say("a remark")
    shown = terminal.getvalue()
    assert "computing [a]: pass 3" in shown
    assert re.search(r"\r +\ra remark\n", shown)
    assert shown.endswith("\r")


def test_what_a_file_holds_does_not_rule_the_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    say("the array a\x1b[2Jb\nis not there")
    assert sys.stderr.getvalue() == "the array a\\x1b[2Jb is not there\n"


def test_counted_work_shows_how_much_is_done_and_the_time_left(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with shows_progress("reading"):
        until_drawn(terminal, "reading: ...")
        for name in "header", "picture":
            for _ in track(range(10), name):
                time.sleep(0.02)
    assert re.search(r"reading: header 3 of 10  20%\|#{4} {16}\| 00:00<00:00", terminal.getvalue())
    assert re.search(r"reading: picture 6 of 10  50%\|#{10} {10}\|", terminal.getvalue())


def test_parts_of_a_part_do_not_take_its_bar(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with shows_progress("trying"):
        until_drawn(terminal, "trying: ...")
        for kernel in track(range(3), "kernel"):
            list(track(range(5), "block"))
            assert (
                f"trying: kernel {kernel + 1} of 3, block 5 of 5 {round(kernel * 100 / 3):3}%"
                in terminal.getvalue()
            )
        list(track(range(5), "block"))
        report("block 1 of 5", "block", 0, 5)  # another pass begins anew
    assert "trying: block: done 100%" in terminal.getvalue()
    assert re.search(r"trying: block 1 of 5   0%\| {20}\| 00:00<\?", terminal.getvalue())


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
    from gramian.figures.images import Picture

    (folder / "faces").mkdir()
    for number, pixels in enumerate(np.load("faces.npz")["X"][:3]):
        Picture(pixels).save(folder / "faces" / f"{number}.png")
    with report_to(Messages()) as said:
        gramian.works("fit faces --n-components 2 -o f.gramian")
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
    terminal = as_terminal(monkeypatch)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((2500, 20)))
    monkeypatch.setattr("gramian.tables.choose.whole_within", lambda limit: 0)
    monkeypatch.setattr(centered, "LAP_BYTES", 80_000)
    monkeypatch.setattr(centered, "CACHE_BYTES", 80_000)
    fill = FileRows._fill
    monkeypatch.setattr(FileRows, "_fill", lambda *given: time.sleep(0.05) or fill(*given))
    with shows_progress("computing"):
        PCA(2, solver="covariance").fit(tmp_path / "x.npy")
    shown = terminal.getvalue()
    assert re.search(r"pass 1 \(covariance\), part \d+ of \d+ +\d+%", shown)


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
