"""Small files, and the command line as a function that gives back what it wrote."""

import json
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from gramian.app.cli import main
from gramian.report import page, sections
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


@pytest.fixture
def gramian(capsys):
    """Run the command line in this process: ``gramian("fit", "a.csv", "-o", "m.gramian")``."""

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    return run


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
    ran = gramian("fit", "flowers.csv", "--label", "species", "-o", "m.gramian")
    assert ran.code == 0, ran.err
    return folder / "m.gramian"


@pytest.fixture(autouse=True)
def _sketches(request, monkeypatch):
    """Figures of results folders and of reports are empty; tests that read them ask for ``drawn``."""
    if "drawn" in request.fixturenames:
        return

    sketch = SimpleNamespace(save=lambda file, format: file.write("<svg></svg>"))
    sketched = type("Sketched", (Drawing,), {"__init__": lambda self, name, *_: vars(self).update(name=name)})
    sketched.draw = lambda self: sketch
    monkeypatch.setattr(page.Figures, "_chart", lambda self, chart: "<svg></svg>")
    monkeypatch.setattr(sections, "Drawing", sketched)


@pytest.fixture
def drawn():
    """Figures of results folders and of reports are drawn."""
