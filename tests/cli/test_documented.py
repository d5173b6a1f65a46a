"""docs/cli.md has a section, the options and an example for every command, and the examples run."""

import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gramian.cli.app import app

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


def through_a_shell(line, folder):
    shim = folder / "bin" / "gramian"
    shim.parent.mkdir(exist_ok=True)
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gramian "$@"\n')
    shim.chmod(0o755)
    path = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        line, shell=True, capture_output=True, text=True, timeout=120, env={**os.environ, "PATH": path}
    )
    return run.returncode, run.stdout, run.stderr


def test_the_examples_run_and_show_what_the_page_shows(folder, gramian):
    pytest.importorskip("PIL")
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for line, shown in examples():
        if "|" in line:
            if os.name == "nt":
                continue
            code, out, err = through_a_shell(line, folder)
        else:
            ran = gramian(*shlex.split(line)[1:])
            code, out, err = ran.code, ran.out, ran.err
        assert code == 0, f"{line}\n{err}"
        assert not shown or checker.check_output(shown, out, flags), f"{line}\n{out}"
