"""Checks the pages of the site: every local link has its target, and nothing is loaded from a network."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
STYLES = {"stylesheet", "icon", "preload", "shortcut icon", "preconnect", "dns-prefetch", "modulepreload"}


class Page(HTMLParser):
    """The anchors, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Remember what a tag names, links or loads."""
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if values.get(LOADED.get(tag, "")):
            self.loaded.append(values[LOADED[tag]])
        if tag == "link" and values.get("rel", "") in STYLES:
            self.loaded.append(values.get("href", ""))


def problems(folder: Path) -> list[str]:
    """Return a line for every broken local link, and every file that a page loads from elsewhere."""
    paths = (path for path in sorted(folder.rglob("*.html")) if not path.is_relative_to(folder / "_static"))
    read = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    lines = []
    for path, page in read.items():
        name = path.relative_to(folder)
        for address in [*page.links, *page.loaded]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    lines.append(f"{name} loads {address}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                lines.append(f"{name} links to {address}, which is not there")
            elif parts.fragment and target in read and unquote(parts.fragment) not in read[target].anchors:
                lines.append(f"{name} links to {address}, which has no such place")
    for path in sorted(folder.rglob("*.css")):
        for address in re.findall(
            r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")\s]+)", path.read_text("utf-8")
        ):
            lines.append(f"{path.relative_to(folder)} loads {address}")
    return lines
