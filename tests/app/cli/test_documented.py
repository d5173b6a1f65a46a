"""Console blocks of the README and docs/ can be pasted: they run, and print what the page shows.

docs/cli.md has besides a section, the options and an example for every command.
"""

import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from gramian.app.cli.app import app
from helpers import script

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
TEXT = (DOCS / "cli.md").read_text(encoding="utf-8")
COMMANDS = tuple(typer.main.get_command(app).commands)


def examples(text):
    """Return every example of a page, in order, with the output that it shows."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            yield line, shown


PAGES = {
    path.relative_to(ROOT).as_posix(): found
    for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
    if (found := list(examples(path.read_text(encoding="utf-8"))))
}


def test_the_readme_and_every_command_are_documented():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"demo", "test"} <= set(re.findall(r"`make (\w+)`", text)) & set(targets)
    for command in COMMANDS:
        assert f"\n## {command}\n" in TEXT
        assert any(re.search(rf"\bgramian {command}\b", line) for line, _ in examples(TEXT))


@pytest.fixture(scope="module")
def update_help():
    return script("docs/update_help.py")


def test_the_options_on_the_page_are_those_there_are(update_help):
    assert update_help.updated(TEXT) == TEXT, "run: python docs/update_help.py"


def test_every_option_is_named_where_its_command_is_and_explained_once(update_help):
    blocks = {match[2]: match[0] for match in update_help.BLOCK.finditer(TEXT)}
    lists = blocks.pop("reading"), blocks.pop("several commands")
    assert {command.split()[0] for command in blocks} == {*COMMANDS}
    for command, block in blocks.items():
        for head, text in update_help.entries(command).items():
            name, words = re.escape(head.split()[0].strip(",")), " ".join(text.split())
            named = re.compile(rf"(^|`){name}(?![\w-])", re.MULTILINE)
            of_reading = re.search(r"\[options\s+of\s+reading\]", block) and named.search(lists[0])
            assert of_reading or named.search(block), (command, head)
            explained = " ".join(" ".join((block, *lists, blocks["fit"])).split())
            assert words[:30] in explained, (command, head)


def through_pipes(line, gramian, monkeypatch):
    """Run a line stage by stage: gramian in this process, other programs by a shell."""
    if line.startswith("cd "):
        monkeypatch.chdir(line[3:])
        return 0, "", ""
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


LONG = ("docs/cli.md", "docs/first_hour.md", "docs/quickstart.md")  # seconds: make walk


def as_case(page):
    return pytest.param(page, marks=[pytest.mark.walk] if page in LONG else [])


@pytest.mark.parametrize("page", [as_case(page) for page in PAGES])
def test_the_examples_run_and_show_what_the_page_shows(page, tmp_path, gramian, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    if page != "README.md" and PAGES[page][0][0] != "gramian demo":  # which writes them
        shutil.copytree(ROOT / "src" / "gramian" / "examples", tmp_path, dirs_exist_ok=True)
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for line, shown in PAGES[page]:
        if os.name == "nt" and not all(s.startswith(("gramian ", "cd ")) for s in line.split(" | ")):
            continue
        code, out, err = through_pipes(line, gramian, monkeypatch)
        assert code == 0, f"{line}\n{err}"
        assert not shown or checker.check_output(shown, out, flags), f"{line}\n{out}"
