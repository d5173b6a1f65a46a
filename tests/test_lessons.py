"""Every lesson of docs/lessons runs without a network, and its figures can be drawn."""

import ast
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
    """Return the code between the texts, as the gallery divides it: each with its last expression apart."""
    source = with_solutions(source)
    tree = ast.parse(source)
    starts = [number for number, line in enumerate(source.splitlines(), 1) if line.startswith("# %%")]
    blocks = [[] for _ in range(len(starts) + 1)]
    for node in tree.body:
        blocks[sum(start < node.lineno for start in starts)].append(node)
    for block in blocks:
        last = block.pop() if block and isinstance(block[-1], ast.Expr) else None
        yield ast.Module(block, []), None if last is None else ast.Expression(last.value)


@pytest.mark.walk
@pytest.mark.parametrize("lesson", LESSONS, ids=[path.stem for path in LESSONS])
def test_a_lesson_runs(lesson, tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("a lesson asks for an address"))
    source = lesson.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__", "__file__": str(lesson)}
    figures = 0
    for block, last in blocks_of(source):
        exec(compile(block, str(lesson), "exec"), namespace)
        value = None if last is None else eval(compile(last, str(lesson), "eval"), namespace)
        if hasattr(value, "save"):
            figures += 1
            picture = "svg" if hasattr(value, "to_dict") else "png"
            value.save(str(tmp_path / f"{figures}.{picture}"))
    assert figures
    assert "Exercises" in source
    exercises = source.split("# Exercises", 1)[1]
    assert "assert " in exercises
    assert exercises.count(".. dropdown:: Solution") >= 4
    assert len(SOLUTION.findall(source)) == source.count(".. code-block::")  # each of them runs
    assert all(level in exercises for level in ("**By hand", "**In code", "**Open"))


def test_there_are_lessons():
    assert len(LESSONS) == 10
