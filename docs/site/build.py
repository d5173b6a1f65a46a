"""Builds the site in build/site/html: ``python docs/site/build.py``, or ``make site``.

The Markdown of docs/ is copied to build/site/source, with what is generated: section pages from
docs/README.md, a page for each command, the formats, the HTTP interface, the Python reference, and
the figures that the code of a page saves. Sphinx runs on that copy, so docs/ holds written text
only.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import links
import pages

import figures

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "site"
SOURCE, HTML = BUILD / "source", BUILD / "html"
RUNNING = BUILD / "running"  # there during a build, and after one that was killed


def write(path: Path, text: str) -> Path:
    """Write a staged page, unless it is there already: an unchanged page need not be read again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return path


def stage() -> None:
    """Write every source of Sphinx, and delete those of an earlier build that no longer exist."""
    written = {write(SOURCE / name, text) for name, text in pages.generated(ROOT).items()}
    for page in pages.written(ROOT):
        staged = SOURCE / pages.name_of(page, ROOT)
        if staged not in written:
            text = pages.relinked(page.read_text(encoding="utf-8"))
            if page.parent.name == "decisions" and page.stem == "README":
                text = pages.with_decisions(text)
            text, pictures = figures.added(page, text, SOURCE / "figures")
            written |= {write(staged, text), *pictures}
    for picture in (path for path in (ROOT / "docs").glob("*/*") if path.suffix in {".png", ".svg"}):
        copy = SOURCE / picture.relative_to(ROOT / "docs")
        copy.parent.mkdir(parents=True, exist_ok=True)
        written.add(Path(shutil.copy2(picture, copy)))
    for scripts, built in pages.GALLERIES.items():
        copies = {path.name for path in (SOURCE / built).rglob("*.py")}
        if copies - {path.name for path in (ROOT / "docs" / scripts).rglob("*.py")}:  # one was deleted
            shutil.rmtree(SOURCE / built)
    made_by_sphinx = tuple(SOURCE / name for name in (*pages.GALLERIES.values(), "reference/api"))
    for path in SOURCE.rglob("*"):
        if path.is_file() and path not in written and not any(path.is_relative_to(f) for f in made_by_sphinx):
            path.unlink()


def main() -> int:
    """Stage, run Sphinx with warnings as errors, and check the result; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="delete the earlier build first")
    if parser.parse_args().fresh or RUNNING.exists():  # what was half written cannot be told from the rest
        shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    RUNNING.touch()
    try:
        stage()
    except (Exception, SystemExit):  # a fault in a page: it is staged again
        RUNNING.unlink()
        raise
    options = ["-W", "--keep-going", "-q", "-j", "auto", "-b", "html", "-d", str(BUILD / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, "-c", str(Path(__file__).parent), SOURCE, HTML]
    code = subprocess.run(command).returncode
    if code in (0, 1):  # 1: warnings; others are a crash or a signal
        RUNNING.unlink()
    if code:
        return code
    problems = links.problems(HTML)
    print("\n".join(problems) or f"{len(list(HTML.rglob('*.html')))} pages: {HTML / 'index.html'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
