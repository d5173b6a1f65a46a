import io
import logging
import sys
import time

from gramian.cli import progress as module
from gramian.cli.progress import progress, say


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
    monkeypatch.setenv("TERM", "xterm")
    level = logging.getLogger("gramian").level
    with progress("computing [a]"):
        time.sleep(0.3)
        logging.getLogger("gramian.solvers.krylov").info("pass %d", 3)
        time.sleep(0.3)
        say("a remark")
    shown = sys.stderr.getvalue()
    assert "computing [a] ..." in shown
    assert "pass 3" in shown
    assert "a remark" in shown
    assert logging.getLogger("gramian").level == level


def test_what_a_file_holds_does_not_rule_the_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    say("the array a\x1b[2Jb\nis not there")
    assert sys.stderr.getvalue() == "the array a\\x1b[2Jb is not there\n"
