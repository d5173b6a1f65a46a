"""Small files, and the command line as a function that gives back what it wrote."""

import json
import shlex
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gramian.app.cli import main
from gramian.report.sections import Drawing

KINDS = ("setosa", "virginica")


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Shell:
    """The command line in this process: ``gramian("fit a.csv --label kind -o m.gramian")``."""

    def __init__(self, capsys):
        self.capsys = capsys

    def __call__(self, *line):
        """Run a line: a text holds words, quoted as in a shell; a path is one word."""
        words = [shlex.split(part) if isinstance(part, str) else [str(part)] for part in line]
        self.capsys.readouterr()
        code = main(list(chain.from_iterable(words)))
        captured = self.capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    def works(self, *line):
        ran = self(*line)
        assert ran.code == 0, (line, ran.err)
        return ran

    def refuses(self, line, code, *messages):
        """Check that a line ends with a code, prints no result, and that its error says all of this."""
        ran = self(line)
        assert (ran.code, ran.out) == (code, ""), (line, ran)
        assert all(message in ran.err for message in messages), (line, ran.err)


@pytest.fixture
def gramian(capsys):
    return Shell(capsys)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a table of flowers, new flowers, and pictures."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    write_flowers(tmp_path / "flowers.csv", rng, 30)
    write_flowers(tmp_path / "new.csv", rng, 5)
    faces = rng.integers(0, 256, size=(20, 6, 5)).astype(np.uint8)
    np.savez(tmp_path / "faces.npz", X=faces, y=np.arange(20))
    return tmp_path


def write_flowers(path, rng, n):
    size = rng.normal(size=n)
    lines = ["flower,species,length,width,height"]
    for i in range(n):
        a, b, c = (size[i] * np.array([3.0, 1.0, 2.0]) + rng.normal(size=3) + 5).round(3)
        lines.append(f"f{i},{KINDS[i % 2]},{a},{b},{c}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def flower_model(folder, gramian):
    gramian.works("fit flowers.csv --label species -o m.gramian")
    return Path("m.gramian")


@pytest.fixture(autouse=True)
def _sketches(request, monkeypatch):
    """Figures of results folders and of reports are empty; tests that read them ask for ``drawn``."""
    if "drawn" in request.fixturenames:
        return
    sketch = SimpleNamespace(content=b"<svg></svg>", title="", caption="", inline=lambda: "<svg></svg>")
    monkeypatch.setattr(Drawing, "drawn", lambda drawing: sketch)


@pytest.fixture
def drawn():
    """Figures of results folders and of reports are drawn."""
