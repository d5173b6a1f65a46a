"""Gives the package its long description: README.md, whose links then work on every page that shows it.

The links are relative, for clones and the site of the repository. Its address is Source of project.urls in
pyproject.toml; everything else about the package is there too.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent
LINK = re.compile(r"(?P<picture>!?)\[(?P<label>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)]+)\)")


def absolute(text: str, source: str, version: str) -> str:
    """Return Markdown with links to the pages of a version, and to the bytes of its pictures."""

    def address(link: re.Match[str]) -> str:
        place = f"{source}/{'raw' if link['picture'] else 'blob'}/v{version}/{link['path']}"
        return f"{link['picture']}[{link['label']}]({place})"

    return LINK.sub(address, text)


def version() -> str:
    """Return the version that the package states."""
    module = (ROOT / "src/gramian/core/package.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', module, re.MULTILINE)[1]


if __name__ == "__main__":
    from setuptools import setup

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    setup(
        long_description=absolute(readme, project["urls"]["Source"], version()),
        long_description_content_type="text/markdown",
    )
