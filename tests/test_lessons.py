"""Every lesson of docs/lessons runs without a network, and its figures can be drawn."""

import ast
import importlib
import json
import re
import socket
import textwrap
from pathlib import Path

import pytest

LESSONS = sorted((Path(__file__).parents[1] / "docs" / "lessons").glob("plot_*.py"))
SOLUTION = re.compile(r"^# +\.\. code-block:: python\n#\n((?:# {4,}.*\n|#\n)+)", re.MULTILINE)


def with_solutions(source):
    """Return a lesson with the code of its folded solutions, which stands in texts, as blocks."""

    def block(match):
        code = textwrap.dedent(re.sub(r"^# ?", "", match[1], flags=re.MULTILINE))
        return f"# %%\n{code}\n# %%\n"

    return SOLUTION.sub(block, source)


def blocks_of(source):
    """Return the code between the texts, as the gallery divides it."""
    source = with_solutions(source)
    tree = ast.parse(source)
    starts = [number for number, line in enumerate(source.splitlines(), 1) if line.startswith("# %%")]
    blocks = [[] for _ in range(len(starts) + 1)]
    for node in tree.body:
        blocks[sum(start < node.lineno for start in starts)].append(node)
    return [ast.Module(block, []) for block in blocks]


@pytest.mark.walk
@pytest.mark.parametrize("lesson", LESSONS, ids=[path.stem for path in LESSONS])
def test_a_lesson_runs(lesson, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("a lesson asks for an address"))
    source = lesson.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__", "__file__": str(lesson)}
    figures = 0
    for block in blocks_of(source):
        exec(compile(block, str(lesson), "exec"), namespace)
        for number in plt.get_fignums():
            figures += 1
            plt.figure(number).savefig(tmp_path / f"{figures}.svg")
        plt.close("all")
    assert figures or lesson.stem == "plot_04_kernels"  # where kernels are numbers
    assert "Exercises" in source
    exercises = source.split("# Exercises", 1)[1]
    assert "assert " in exercises
    assert exercises.count(".. dropdown:: Solution") >= 4
    assert len(SOLUTION.findall(source)) == source.count(".. code-block::")  # each of them runs
    assert all(level in exercises for level in ("**By hand", "**In code", "**Open"))


def test_there_are_lessons():
    assert len(LESSONS) == 10


@pytest.fixture
def instructors(monkeypatch):
    pytest.importorskip("sphinx_gallery")
    monkeypatch.syspath_prepend(str(LESSONS[0].parents[1] / "site"))
    return importlib.import_module("instructors")


LESSON = r'''r"""
A & B
=====

See the :doc:`first page <plot_00_notation>` and `rules <../kernels.html>`_ of :math:`x < y`.

.. list-table::
   :header-rows: 1

   * - symbol
     - meaning
   * - :math:`q`
     -
"""

import matplotlib.pyplot as plt

print("1 < 2")
value = plt.plot([1, 2])

# %%
# Exercises
# ---------
#
# 1. What is :math:`a`?
#
# .. dropdown:: Solution
#
#    .. math::
#
#       a &= \text{answer} \\
#       &= \text{known}
#
#    .. code-block:: python
#
#       assert answer == known
#
# 2. And :math:`b`?
#
# .. dropdown:: Solution
#
#    It is secret.

assert value
'''


def test_instructors_get_slides_notebooks_and_figures_without_solutions(instructors, tmp_path):
    (tmp_path / "plot_10_ab.py").write_text(LESSON, encoding="utf-8")
    instructors.write(tmp_path / "plot_10_ab.py", tmp_path)
    assert (tmp_path / "figures" / "10_ab_1.svg").read_text().startswith("<?xml")
    slides = (tmp_path / "slides" / "10_ab.html").read_text(encoding="utf-8")
    notebook = (tmp_path / "notebooks" / "10_ab.ipynb").read_text(encoding="utf-8")
    for text in (slides, notebook):
        assert "What is" in text
        assert "And" in text
        assert not any(
            word in text for word in ("Solution", "dropdown", "answer", "secret", "plot_00", "../")
        )
    assert slides.count("<article>") == 5  # text, figure, code, text, code
    assert "<title>A &amp; B</title>" in slides
    assert "1 &lt; 2" in slides
    assert "<math" in slides
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", slides)
    cells = json.loads(notebook)["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "markdown", "code"]
    assert "| symbol | meaning |\n|---|---|\n| $q$ |  |" in cells[0]["source"][0]


@pytest.mark.parametrize("lesson", LESSONS, ids=[path.stem for path in LESSONS])
def test_texts_of_a_lesson_are_complete_without_their_solutions(instructors, lesson):
    blocks = instructors.blocks_of(lesson)
    source = lesson.read_text(encoding="utf-8")
    texts = [instructors.with_tables(text) for kind, text, _ in blocks if kind == "text"]
    # No code, so that only the texts are converted; docutils stops at a fault.
    slides = instructors.slides_of([block for block in blocks if block[0] == "text"], lesson.stem, None)
    whole = "".join(texts + slides)
    assert not re.search(r"Solution|dropdown|list-table|:doc:", whole)
    exercises = texts[-1]
    numbers = re.findall(r"^# \*\*(?:By hand|In code|Open)\.\*\* (\d)", source, re.MULTILINE)
    assert re.findall(r"^\*\*(?:By hand|In code|Open)\.\*\* (\d)", exercises, re.MULTILINE) == numbers
