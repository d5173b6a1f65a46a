"""Figures of a page: its code runs, and each picture that it saves is shown below the block that saves
it.

A page of Python shows every .svg and .png file that its blocks write with ``save("NAME")``. A page
of commands names what to show in a comment, ``<!-- picture PATH: CAPTION -->``: the path is that of
the file after all commands of the page.
"""

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(?:##+|\A#) (.+)$", re.MULTILINE)  # one # elsewhere is a comment in code
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"""\.save\(\s*["']([\w./-]+\.(?:svg|png))["']""")
SHOWN = re.compile(r"<!-- picture (\S+): (.*?) -->", re.DOTALL)


def added(page: Path, text: str, folder: Path) -> tuple[str, set[Path]]:
    """Return the text with its figures, and the files written to ``folder``."""
    with tempfile.TemporaryDirectory() as work:
        copied: set[Path] = set()

        def shown(name: str, caption: str) -> str:
            target = folder / page.stem / name.replace("/", "-")
            target.parent.mkdir(parents=True, exist_ok=True)
            content = (Path(work) / name).read_bytes()
            if not target.is_file() or target.read_bytes() != content:
                target.write_bytes(content)
            copied.add(target)
            return f"\n![{caption}](figures/{page.stem}/{target.name})\n"

        with contextlib.chdir(work):
            if SAVED.search(text):
                text = with_saved(page, text, shown)
            if SHOWN.search(text):
                run_commands(text, work)
                text = SHOWN.sub(lambda match: shown(match[1], " ".join(match[2].split())), text)
        return text, copied


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
