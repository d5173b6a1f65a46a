"""benchmarks/attack_server.py would notice: each mechanism taken away again is a finding."""

import contextlib
import io
import os
import threading
import time
import types

import pytest

from gramian.app.cli import main
from gramian.app.server import app, state
from gramian.errors import GramianError
from served import create_app, httpx


@pytest.fixture(scope="module")
def module(attack_server):
    return attack_server


class InThread:
    """A server of this process, where a mechanism can be taken away."""

    def __init__(self, log, arguments):
        self.log, self.how, self.url, self._server = log, "", "", None
        options = dict(zip(arguments[::2], arguments[1::2], strict=True)) if "--store" in arguments else {}
        sources = () if options else arguments
        self.process = types.SimpleNamespace(poll=lambda: None, returncode=1)
        log.touch()
        try:
            made = create_app(*sources, store=options.get("--store"))
        except GramianError as error:
            log.write_text(str(error))
            return
        self._server = app.Listener(made, "127.0.0.1", 0, lambda url: None)
        self._thread = threading.Thread(target=self._server.listen)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)
        self.url = self._server.url.rstrip("/")

    def client(self, **options):
        return httpx.Client(base_url=self.url, timeout=30, trust_env=False, **options)

    def end(self, number=None):
        if self._server is not None:
            self._server.should_exit = True
            self._thread.join(20)


def in_process(self, *arguments, cwd, code=None, stdin=None):
    """Run a command in this process."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
        ended = main(list(map(os.fspath, arguments)))
    return types.SimpleNamespace(code=ended, err=err.getvalue(), how=" ".join(map(str, arguments)))


@pytest.fixture
def findings(module, monkeypatch, tmp_path, capsys):
    """Return a function that attacks servers and commands of this process, and returns the findings."""
    monkeypatch.setattr(module, "Served", InThread)
    monkeypatch.setattr(module.Attack, "shell", in_process)
    monkeypatch.delenv("GRAMIAN_TOKEN", raising=False)

    def attacked(item):
        attack = module.Attack(tmp_path, item)
        module.ATTACKS[item](attack)
        assert len(attack.findings) == capsys.readouterr().out.count("FINDING")
        return attack.findings

    return attacked


def test_changes_of_folders_are_noticed(module, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("mine")
    (tmp_path / "link").symlink_to("a")
    before = module.snapshot(tmp_path)
    assert module.changes(before, tmp_path) == []
    os.utime(tmp_path / "a" / "x", (0, 0))
    assert module.changes(before, tmp_path) == ["a/x"]
    before = module.snapshot(tmp_path)
    for change, name in (
        (lambda: (tmp_path / "a" / "y").mkdir(), "a/y"),
        (lambda: (tmp_path / "a" / "x").chmod(0o600), "a/x"),
        (lambda: ((tmp_path / "link").unlink(), (tmp_path / "link").symlink_to("b")), "link"),
        (lambda: (tmp_path / "a" / "x").unlink(), "a/x"),
    ):
        change()
        assert module.changes(before, tmp_path) == [name]
        before = module.snapshot(tmp_path)


def test_places_and_control_characters_are_noticed(module, tmp_path):
    assert module.exposed(f"Source: {tmp_path}/t.csv", tmp_path) == [str(tmp_path)]
    assert module.exposed("Source: t.csv", tmp_path) == []
    assert all(module.CONTROL.search(f"a{sign}b") for sign in "\x01\x0b\x1b\x7f\x9b\r\ufffe")
    assert not module.CONTROL.search("a\tb\n\u00eb")


def test_a_log_with_a_failure_is_noticed(module, tmp_path, capsys):
    attack = module.Attack(tmp_path, "log")
    log = tmp_path / "log"
    for text, count in (("a warning\n", 0), ("a request failed\nTraceback\n", 1)):
        log.write_text(text)
        module.check_log(attack, types.SimpleNamespace(log=log, how=""))
        assert len(attack.findings) == count
    assert "FINDING" in capsys.readouterr().out


@pytest.mark.walk
def test_foreign_folders_taken_as_stores_are_noticed(findings, monkeypatch):
    monkeypatch.setattr(state.os, "listdir", lambda folder: [])
    assert any("the server started" in one for one in findings("foreign-folders"))


@pytest.mark.walk
def test_hosts_that_are_not_checked_are_noticed(findings, monkeypatch):
    monkeypatch.setattr(app.Guard, "_is_ours", lambda self, host: True)
    monkeypatch.setattr(app, "READS", ("POST", "PUT", "DELETE"))
    found = findings("headers")
    assert any("Host 'evil.example'" in one for one in found)
    assert any("POST of a page of another site" in one for one in found)
