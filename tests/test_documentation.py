"""Runs the Python in README.md and docs/: a page's blocks in order, in one namespace.

What a block prints is compared with the text block that follows it immediately, if there is one.
"""

import doctest
import re
from pathlib import Path

import pytest

from gramian import errors

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("README.md"), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
# Seconds: make walk and make docs.
LONG = tuple(f"docs/{name}.md" for name in ("audit", "choosing_kernels", "figures", "filters", "wrappers"))
NAMED = re.compile(r"GRAMIAN_[A-Z_]+|(?<=getLogger\(\")[\w.]+")
OF_OTHERS = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TMPDIR"}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def as_case(page):
    name = str(page.relative_to(ROOT))
    return pytest.param(page, id=name, marks=[pytest.mark.walk] if name in LONG else [])


@pytest.mark.parametrize("page", [as_case(page) for page in PAGES])
def test_code_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for package in ("torch", "skl2onnx", "anndata"):  # which make dev does not bring everywhere
        if f"import {package}" in text:
            pytest.importorskip(package, reason=f"{package} is not installed")
    namespace = {"__name__": page.stem}
    for match in BLOCK.finditer(text):
        first_line = text.count("\n", 0, match.start(1))
        if ">>>" in match[1]:
            run_session(match[1], namespace, page, first_line)
        else:
            # Blank lines in front, so that a traceback names the line of the page.
            exec(compile("\n" * first_line + match[1], str(page), "exec"), namespace)
            printed = capsys.readouterr().out
            assert match[2] is None or doctest.OutputChecker().check_output(match[2], printed, OPTIONS), (
                printed
            )


def run_session(source, namespace, page, first_line):
    example = doctest.DocTestParser().get_doctest(source, namespace, page.name, page, first_line)
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    report = []
    failed = runner.run(example, out=report.append, clear_globs=False).failed
    namespace.update(example.globs)
    assert not failed, "".join(report)


def test_the_paper_cites_its_bibliography_and_shows_figures_that_are_there():
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    entries = re.findall(
        r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(set(re.findall(r"@(\w+)", paper))) == sorted(entries)
    assert all((ROOT / "paper" / name).is_file() for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", paper))
    assert 750 <= len(paper.partition("# Summary")[2].split()) <= 1750  # what the journal allows


def test_the_page_of_the_environment_has_every_variable_logger_and_warning():
    src, named = ROOT / "src", {name for name in errors.__all__ if is_warning(getattr(errors, name))}
    for path in src.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        named |= set(NAMED.findall(text))
        if "getLogger(__name__)" in text:
            named.add(".".join(path.relative_to(src).with_suffix("").parts))
    page = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    first_cells = "".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    assert named == {name for name in re.findall(r"`([\w.]+)`", first_cells) if name not in OF_OTHERS}


def is_warning(value):
    return isinstance(value, type) and issubclass(value, Warning)
