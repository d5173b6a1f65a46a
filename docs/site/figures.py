"""Figures of a page: its code runs, and each picture that it saves is shown below the block that saves
it.

A page of Python shows every .svg and .png file that its blocks write with ``savefig("NAME")``. A page
of commands names what to show in a comment, ``<!-- picture PATH: CAPTION -->``: the path is that of
the file after all commands of the page.
"""

import contextlib
import doctest
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import gramian

BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(?:##+|\A#) (.+)$", re.MULTILINE)  # one # elsewhere is a comment in code
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"""\.savefig\(\s*["']([\w./-]+\.(?:svg|png))["']""")
SHOWN = re.compile(r"<!-- picture (\S+): (.*?) -->", re.DOTALL)


def added(page: Path, text: str, folder: Path) -> tuple[str, set[Path]]:
    """Return the text with its figures, and the files in ``folder``; run code only if something changed."""
    if not SAVED.search(text) and not SHOWN.search(text):
        return text, set()
    folder = folder / page.stem
    record = folder / "record.json"
    key = hashlib.sha256(f"{newest_source()} {text}".encode()).hexdigest()
    known = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    if known.get("key") != key:
        text, names = drawn(page, text, folder)
        known = {"key": key, "text": text, "names": names}
        record.write_text(json.dumps(known), encoding="utf-8")
    return known["text"], {record, *(folder / name for name in known["names"])}


def newest_source() -> float:
    """Return when the package was changed last."""
    return max(path.stat().st_mtime for path in Path(gramian.__file__).parent.rglob("*.py"))


def drawn(page: Path, text: str, folder: Path) -> tuple[str, list[str]]:
    """Run the code of a page; return its text with the figures, and their names in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):

        def shown(path: str, caption: str) -> str:
            names.append(f"{len(names) + 1}-{Path(path).name}")  # a page may save two files of one name
            shutil.copyfile(Path(work) / path, folder / names[-1])
            return f"\n![{caption}](figures/{page.stem}/{names[-1]})\n"

        if SAVED.search(text):
            text = with_saved(page, text, shown)
        if SHOWN.search(text):
            run_commands(text, work)
            text = SHOWN.sub(lambda match: shown(match[1], " ".join(match[2].split())), text)
    return text, names


def with_saved(page: Path, text: str, shown) -> str:
    """Run the Python of a page in one namespace, as the tests do, and show what each block saves."""
    namespace = {"__name__": page.stem}

    def run(match: re.Match[str]) -> str:
        source = match[1]
        if ">>>" in source:
            parser = doctest.DocTestParser()
            source = "".join(example.source for example in parser.get_examples(source))
        line = text.count("\n", 0, match.start(1))
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n" * line + source, str(page), "exec"), namespace)
        title = HEADING.findall(text, 0, match.start())[-1]
        pictures = [shown(name, f"{title}: {name}") for name in SAVED.findall(source) if Path(name).is_file()]
        return match[0] + "".join(pictures)

    return BLOCK.sub(run, text)


def run_commands(text: str, work: str) -> None:
    """Run the commands of a page in a shell, one after the other."""
    lines = [
        line.removeprefix("$ ")
        for block in CONSOLE.findall(text)
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [shutil.which("bash") or "bash", "-e", "-c", "\n".join(lines)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(command, cwd=work, env=os.environ | {"PATH": path}, **options)
    if done.returncode:
        raise SystemExit(f"The commands of a page failed:\n{done.stdout}")
