"""The scripts of the site: its menu, figures and link checker; and the guard of ratios of the benchmarks."""

import contextlib
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
                monkeypatch.delitem(sys.modules, new)
        return module

    return imported


def test_every_page_is_in_the_index_once():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): ", index, re.MULTILINE)
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted({*pages, "decisions/README.md"}), (
        "docs/README.md lists every page of docs/ once"
    )


def test_the_readme_is_short_and_installs_first():
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
    assert "PCA </pca>" in pages["sections/guide.md"]
    assert "](../formats.md)" in pages["sections/data.md"]
    commands = site.command_pages((docs / "cli.md").read_text(encoding="utf-8"))
    assert "](cli/fit.md)" in commands["cli.md"]
    assert "--components" in commands["cli/fit.md"]
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
        "```python\n>>> class Chart:\n...     def save(self, name):\n"
        '...         Path(name).write_text("<svg/>")\n>>> Chart().save("one.svg")\n```\n\nEnd.\n'
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
