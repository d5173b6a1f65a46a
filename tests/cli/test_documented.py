"""docs/cli.md has a section, the options and an example for every command, and the examples run."""

import doctest
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from gramian.cli import demonstration
from gramian.cli.app import app
from gramian.cli.demonstration import digits_table

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "cli.md").read_text(encoding="utf-8")
COMMANDS = tuple(typer.main.get_command(app).commands)


def examples():
    """Return every example of the page, in order, with the output that it shows."""
    for block in re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            yield line, shown


def test_every_command_has_a_section_and_an_example():
    for command in COMMANDS:
        assert f"\n## {command}\n" in TEXT
        assert any(re.search(rf"\bgramian {command}\b", line) for line, _ in examples())


def test_the_options_on_the_page_are_those_there_are():
    spec = importlib.util.spec_from_file_location("update_help", DOCS / "update_help.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.updated(TEXT) == TEXT, "run: python docs/update_help.py"


def through_pipes(line, gramian, monkeypatch):
    """Run a line stage by stage: gramian in this process, other programs by a shell."""
    given = b""
    for stage in line.split(" | "):
        if stage.startswith("gramian "):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
            ran = gramian(*shlex.split(stage)[1:])
            code, out, err = ran.code, ran.out, ran.err
        else:
            run = subprocess.run(stage, shell=True, capture_output=True, input=given, timeout=120)
            code, out, err = run.returncode, run.stdout.decode(), run.stderr.decode()
        given = out.encode()
    return code, out, err


def test_the_examples_run_and_show_what_the_page_shows(folder, gramian, monkeypatch):
    pytest.importorskip("PIL")
    digits = digits_table()
    few = replace(digits, values=digits.values[:250], labels=digits.labels[:250])
    monkeypatch.setattr(demonstration, "digits_table", lambda: few)
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for line, shown in examples():
        if os.name == "nt" and "|" in line:
            continue
        code, out, err = through_pipes(line, gramian, monkeypatch)
        assert code == 0, f"{line}\n{err}"
        assert not shown or checker.check_output(shown, out, flags), f"{line}\n{out}"
