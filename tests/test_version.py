import re
from pathlib import Path

import gramian
from gramian.version import __version__


def test_the_package_says_the_same_version():
    assert gramian.__version__ == __version__


def test_the_changelog_begins_with_this_version():
    changelog = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert newest is not None
    assert newest[1] == __version__


def test_the_citation_and_the_conda_recipe_state_this_version():
    root = Path(__file__).parents[1]
    assert f"version: {__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f'"{__version__}"' in (root / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
