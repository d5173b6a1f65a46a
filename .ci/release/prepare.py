"""Prepares a release, or opens the next version; nothing is built, committed or uploaded.

python .ci/release/prepare.py                  date the top section of CHANGELOG.md, today by UTC
python .ci/release/prepare.py --next 0.3.0     begin the section of a version that is not released yet

Both write what other files repeat: the version into CITATION.cff and conda's recipe, and the address of the
repository, Source of project.urls in pyproject.toml.
"""

import argparse
import datetime
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def replaced(path: Path, *changes: tuple[str, str]) -> None:
    """Replace one line of a file for each pair of a pattern and a text."""
    text = path.read_text(encoding="utf-8")
    for pattern, new in changes:
        text, count = re.subn(pattern, lambda _, new=new: new, text, count=1, flags=re.MULTILINE)
        if not count:
            raise SystemExit(f"{path.name} has no line like {pattern}")
    path.write_text(text, encoding="utf-8")


def main(root: Path, date: str, following: str | None = None) -> None:
    """Write version, date and address into the files below ``root``."""
    module = root / "src" / "gramian" / "core/package.py"
    if following:
        replaced(module, (r"^__version__ = .*$", f'__version__ = "{following}"'))
        replaced(root / "CHANGELOG.md", (r"^(?=## )", f"## {following} (unreleased)\n\n"))
    version = re.search(r'^__version__ = "(.+)"$', module.read_text(encoding="utf-8"), re.MULTILINE)[1]
    source = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]
    if not following:
        replaced(root / "CHANGELOG.md", (rf"^## {re.escape(version)} \(.*\)$", f"## {version} ({date})"))
    replaced(
        root / "CITATION.cff",
        (r"^version: .*$", f"version: {version}"),
        (r"^repository-code: .*$", f'repository-code: "{source}"'),
    )
    replaced(
        root / "packaging" / "conda" / "meta.yaml",
        (r"^{% set version = .* %}$", f'{{% set version = "{version}" %}}'),
        (r"^  home: .*$", f"  home: {source}"),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--next", metavar="VERSION", help="the version to open")
    main(ROOT, datetime.datetime.now(datetime.UTC).date().isoformat(), parser.parse_args().next)
