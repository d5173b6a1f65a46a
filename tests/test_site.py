"""The scripts of the site: its menu, figures and link checker; and the guard of ratios of the benchmarks."""

import contextlib
import fnmatch
import importlib
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def load(monkeypatch):
    """Import a script of a folder by its name, and forget it afterwards."""

    def imported(folder, name):
        monkeypatch.syspath_prepend(str(ROOT / folder))
        before = set(sys.modules)
        module = importlib.import_module(name)
        for new in set(sys.modules) - before:
            if str(ROOT / folder) in str(getattr(sys.modules[new], "__file__", "")):
                del sys.modules[new]
        return module

    return imported


def test_every_page_is_in_the_index_once_and_the_readme_is_short():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): ", index, re.MULTILINE)
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted({*pages, "decisions/README.md"}), (
        "docs/README.md lists every page of docs/ once"
    )
    text = (ROOT / "README.md").read_bytes()
    assert len(text) < 7000
    assert b'pip install "gramian[all]"' in text.partition(b"##")[0]


def test_each_section_and_command_has_a_page(load):
    site, docs = load("docs/site", "pages"), ROOT / "docs"
    index = (docs / "README.md").read_text(encoding="utf-8")
    pages = dict(site.section_pages(index, docs))
    assert list(pages) == [
        f"sections/{title.lower()}.md" for title in re.findall(r"^## (\w+)", index, re.MULTILINE)
    ]
    assert "PCA </pca>" in pages["sections/core.md"]
    core = re.findall(
        r"^- \[[^\]]+\]\(([^)]+)\)", index.partition("## Core")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert len(core) == 12
    assert sum(len((docs / page).read_text(encoding="utf-8").split()) for page in core) < 15_000
    assert "](../formats.md)" in pages["sections/data.md"]
    commands = site.command_pages((docs / "cli.md").read_text(encoding="utf-8"))
    assert "](cli/fit.md)" in commands["cli.md"]
    assert "--n-components" in commands["cli/fit.md"]
    assert "\n## Shared options\n" in commands["cli.md"]
    assert "](../cli.md#shared-options)" in commands["cli/fit.md"]
    assert "## faces verify" in commands["cli/faces.md"]
    assert "](../faces.md)" in commands["cli/faces.md"]
    assert "| parquet | `.parquet` |" in site.formats()


def test_links_have_their_targets_and_nothing_is_loaded_from_a_network(load, tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="top"><a href="b.html#here">b</a> <a href="#top">a</a> <a href="https://example.org">out</a></p>'
    )
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1><img src="data:image/png;base64,AA==">')
    links = load("docs/site", "links")
    assert links.problems(tmp_path) == []
    (tmp_path / "b.html").write_text('<script src="https://example.org/x.js"></script><a href="c.html">c</a>')
    (tmp_path / "c.css").write_text("@import 'https://example.org/font.css';")
    assert links.problems(tmp_path) == [
        "a.html links to b.html#here, which has no such place",
        "b.html links to c.html, which is not there",
        "b.html loads https://example.org/x.js",
        "c.css loads https://example.org/font.css",
    ]


def test_after_an_interruption_the_site_is_built_from_nothing(load, tmp_path, monkeypatch):
    build = load("docs/site", "build")
    for name in ("SOURCE", "HTML", "RUNNING", "BUILD"):
        monkeypatch.setattr(build, name, tmp_path / "site" / getattr(build, name).relative_to(build.BUILD))
    monkeypatch.setattr(sys, "argv", ["build.py"])
    earlier, outcome = tmp_path / "site" / "doctrees" / "environment.pickle", []
    monkeypatch.setattr(build, "stage", lambda: outcome.append(earlier.exists()))

    def built(*command):
        earlier.parent.mkdir(exist_ok=True)
        earlier.touch()
        if isinstance(code, BaseException):
            raise code
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(build.subprocess, "run", built)
    for code in (0, 1, -9, 0, 2, 0, KeyboardInterrupt(), 0, 0):
        with contextlib.suppress(KeyboardInterrupt):
            assert build.main() == code
    # Nothing is kept after a signal, a crash and Ctrl-C.
    assert outcome == [False, True, True, False, True, False, True, False, True]


def test_what_a_page_saves_is_shown_below_its_code(load, tmp_path):
    figures = load("docs/site", "figures")
    text = (
        "# P\n\n```python\nfrom pathlib import Path\n```\n\n"
        "```python\n>>> class Chart:\n...     def savefig(self, name):\n"
        '...         Path(name).write_text("<svg/>")\n>>> Chart().savefig("one.svg")\n```\n\nEnd.\n'
    )
    shown, files = figures.added(tmp_path / "p.md", text, tmp_path / "figures")
    assert (tmp_path / "figures" / "p" / "1-one.svg").read_text() == "<svg/>"
    assert shown.endswith("```\n\n![P: one.svg](figures/p/1-one.svg)\n\nEnd.\n")
    (tmp_path / "figures" / "p" / "1-one.svg").write_text("drawn before")
    assert figures.added(tmp_path / "p.md", text, tmp_path / "figures") == (shown, files)
    assert (tmp_path / "figures" / "p" / "1-one.svg").read_text() == "drawn before"
    figures.added(tmp_path / "p.md", text + "More.\n", tmp_path / "figures")
    assert (tmp_path / "figures" / "p" / "1-one.svg").read_text() == "<svg/>"
    plain = "# P\n\n```python\nraise AssertionError\n```\n"
    assert figures.added(tmp_path / "p.md", plain, tmp_path) == (plain, set())


def test_the_guard_compares_with_the_latest_run_on_this_machine(load, tmp_path):
    guard = load("benchmarks", "guard")
    here = {"cpu": "A", "cores": 2, "packages": {"numpy": "2.0"}, "load_average": [0]}
    runs = {"2026-01-01": (here, 0.5), "2026-01-02": (here, 0.4), "2026-01-03": (here | {"cpu": "B"}, 9.0)}
    for date, (machine, ratio) in runs.items():
        row = {"measured": f"{date}T00:00Z", "ratio": ratio}
        content = {
            "suite": "exact",
            "machine": machine,
            "rows": {"square-5k": row, "help": row | {"ratio": None}},
        }
        (tmp_path / f"exact-{date}.json").write_text(json.dumps(content))
    before = guard.baselines(sorted(tmp_path.glob("*.json")), guard.identity(here | {"load_average": [1]}))
    assert before == {"square-5k": (0.4, "2026-01-02T00:00Z")}
    assert guard.compare("square-5k", 0.59, before, 1.5)[1]
    line, good = guard.compare("square-5k", 0.61, before, 1.5)
    assert not good
    assert "0.610, 0.400 on 2026-01-02  WORSE" in line
    assert not guard.compare("square-5k", float("nan"), before, 1.5)[1]
    assert guard.compare("new", 3.0, before, 1.5)[1]


def test_the_page_of_results_states_and_draws_how_time_grows(load, tmp_path):
    measured = load("docs/site", "measured")
    machine = {
        "cpu": "A",
        "cores": 2,
        "memory_bytes": None,
        "python": "3",
        "packages": {},
        "peers": {"p": "1"},
    }
    rows = {}
    for size, seconds, growth in ((1000, [0.1], 1e6), (10_000, [0.9, 1.0, 5.0], 1e8)):
        ours = {
            **{"name": "gramian.PCA", "ours": True, "seconds": seconds, "peak_growth": growth},
            **{"errors": {}, "accurate": True},
        }
        peer = ours | {"name": "peer", "ours": False, "peak_growth": None}
        rows[f"growth-rows-{size}"] = {"contenders": [ours, peer], "best_peer": "peer", "ratio": 1.0}
    content = {"suite": "growth", "machine": machine, "rows": rows}
    (tmp_path / "growth-2026-01-01.json").write_text(json.dumps(content))
    pages = measured.pages(tmp_path)
    assert list(pages) == ["measured.md", "growth-rows.svg"]
    assert "| gramian.PCA | 1.00 | 2.00 | 10,000 | 1 | 100 |" in pages["measured.md"]
    assert "| peer | 1.00 |  | 10,000 | 1 |  |" in pages["measured.md"]
    assert "(growth-rows.svg)" in pages["measured.md"]
    assert "gramian.PCA" in pages["growth-rows.svg"]


def test_ratios_are_told_and_drawn_by_shape(load):
    shapes = load("docs/site", "shapes")
    suites = {
        "everyday": {"everyday-fit-100x5": {"ratio": 1.7}, "everyday-fit-1797x64": {"ratio": 2.4}},
        "growth": {"growth-columns-1000": {"ratio": 1.6}, "growth-columns-300000": {"ratio": 0.09}},
        "exact": {"tall-1m": {"ratio": 0.95}, "yale-95": {"ratio": 0.08}, "help": {"ratio": None}},
    }
    ratios = shapes.ratios(suites)
    assert shapes.sentences(ratios) == [
        "- **As fast:** tall tables whose variances decay (0.95).",
        "- **Faster or slower:** wide tables and pictures (0.08 to 1.60).",
        "- **Slower:** PCA of small tables (1.70 to 2.40).",
    ]
    assert "| wide tables and pictures | 3 | 0.08 to 1.60 | 0.23 | faster or slower |" in shapes.table(ratios)
    drawn = {(point["shape"], point["size"], point["line"]) for point in shapes.points(ratios)}
    assert drawn == {
        *(("small", size, True) for size in (100, 1797)),
        *(("wide", size, True) for size in (1000, 300_000)),
        ("tall", 1_000_000, False),
    }
    figure = shapes.svg(ratios)
    assert ">small<" in figure
    assert ">kernel PCA<" not in figure


def test_every_group_and_mark_is_a_row_of_a_benchmark(load):
    shapes = load("docs/site", "shapes")
    suites = ("everyday", "exact", "kernels", "scale", "growth", "selection", "cluster")
    rows = {row.name for suite in suites for row in load("benchmarks", suite).rows(True)}
    patterns = {pattern for group in shapes.GROUPS.values() for pattern in group}
    assert [one for one in {*patterns, *shapes.LINES.values()} if not fnmatch.filter(rows, one)] == []
    assert {row for marks in shapes.POINTS.values() for row in marks} <= rows


def test_two_source_trees_are_compared_by_pairs(load):
    against = load("benchmarks", "harness.against")

    def compared(*ratios):
        old, new = [against.Run(2.0, 2.0)] * len(ratios), [against.Run(2 * r, 2.0) for r in ratios]
        return against.Comparison("row", old, new, (None, 3_000_000))

    slow = compared(1.2, 1.1, 1.3, 1.06, 1.2, 1.1, 1.01)
    assert slow.interval == (1.01, 1.3)
    assert slow.slower
    assert slow.line()[1:] == ("7", "2", "2.2", "1.100", "1.010 to 1.300", "1.000", "-", "3 MB", "SLOWER")
    # The same median, but a ratio below 1 is within the interval; and 41 pairs say more than 5.
    unclear = compared(1.2, 1.1, 0.9, 1.06, 1.2)
    assert not unclear.slower
    assert unclear.line()[-1] == "unclear: repeat it"
    low, high = compared(*(1 + k / 1000 for k in range(-20, 21))).interval
    assert (low, high) == (pytest.approx(0.994), pytest.approx(1.006))
    assert compared(0.5, 0.6, 0.7).line()[-1] == ""
    assert compared(1.5, 1.6).line()[-1] == "unclear: repeat it"
    failed = against.Comparison("row", failure="no such function")
    assert failed.line()[-1] == "no such function"
    assert "0 of 1 rows compared; slower than 1.05 times: none" in against.table([failed])
