"""docs/pictures.md has each figure once, with a picture that docs/draw_pictures.py draws."""

import re
from pathlib import Path

import pytest

from gramian.figures.registry import DRAWINGS
from helpers import script

DOCS = Path(__file__).parents[1] / "docs"
MOST = 1_000_000  # bytes of all pictures


@pytest.fixture
def drawing():
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL")
    return script("docs/draw_pictures.py")


def test_the_page_has_each_figure_once(drawing):
    text = (DOCS / "pictures.md").read_text(encoding="utf-8")
    shown = re.findall(r"^!\[[^\]]{20,}\]\((pictures/(\w+)\.(?:svg|png))\)$", text, re.MULTILINE)
    names = [name for _, name in shown]
    assert sorted(names) == sorted(DRAWINGS) == sorted(drawing.PICTURES)
    files = {DOCS / file for file, _ in shown}
    assert files == set((DOCS / "pictures").iterdir())
    assert sum(file.stat().st_size for file in files) < MOST
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        picture, *said = [part for part in section.strip().split("\n\n")[1:] if not part.startswith("## ")]
        assert picture.startswith("![")
        assert len(said) == 2  # how to read it, and what not to conclude


def test_pictures_are_drawn_again(drawing, tmp_path):
    for name in "loadings", "components":
        path = drawing.draw(name, tmp_path)
        assert path.name in {file.name for file in (DOCS / "pictures").iterdir()}
        assert path.stat().st_size > 1000
