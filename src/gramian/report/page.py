"""The report of a fitted model: one self-contained HTML page without scripts."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Mapping
from datetime import date
from importlib.resources import files
from string import Template
from typing import Any

from gramian.core import checks
from gramian.core.atomic import atomic_write
from gramian.core.notebook import Grid, Section
from gramian.errors import GramianError, MissingExtraError, shortened
from gramian.figures.registry import FIGURES
from gramian.report.facts import Fitted, versions
from gramian.report.sections import Code, Drawing, Explanation, Part, explanation

LONGEST = 60  # characters of a name
CODE, STRONG = re.compile(r"(?<!\\)(``|`)(.+?)\1"), re.compile(r"^\*\*(.+)\*\*$")
TITLES = {figure.name: figure.title for figure in FIGURES}


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file, which appears whole or not at all."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "replace"))


def report_page(fitted: Fitted) -> str:
    """Return the report of a fitted model, as HTML."""
    return as_page(explanation(fitted))


def as_page(whole: Explanation, drawn: Mapping[str, Any] | None = None) -> str:
    """Return a report as HTML, with the figures that were drawn before, by name."""
    figures = Figures(drawn)
    first = [_section(section, as_html(section.parts, figures)) for section in whole.first]
    pages = [(section.title, as_html(section.parts, figures)) for section in whole.sections]
    head = [f"<h1>{text(whole.title)}</h1>", f'<p class="lead">{text(whole.findings)}</p>', *first]
    notes = (f'<p class="soft">{text(note)}</p>' for note in figures.notes)
    template = Template(files("gramian.report").joinpath("page.html").read_text(encoding="utf-8"))
    today, version = date.today().isoformat(), versions()["gramian"]
    return template.substitute(
        title=escaped(whole.title),
        level=whole.trust.level,
        first="\n".join([*head, *notes]),
        appendix="\n".join(_folded(title, page, "h2") for title, page in pages if page),
        foot=f"Written on {today} by gramian {version}. This page loads no external resources.",
    )


def as_html(contents: Iterable[Part], figures: Figures) -> str:
    """Return parts of a section as HTML."""
    blocks, lines = list[str](), list[str]()
    for content in (*contents, None):
        if isinstance(content, str):
            lines.append(content)
            continue
        blocks += [paragraphs(lines)] if lines else []
        lines = []
        if isinstance(content, Grid):
            blocks.append(table(content))
        elif isinstance(content, Code):
            pre = f"<pre>{escaped(content.lines)}</pre>"
            blocks.append(_folded(content.more, pre) if content.more else pre)
        elif isinstance(content, Drawing):
            blocks.append(figures.show(content))
    return "\n".join(filter(None, blocks))


class Figures:
    """Draws figures for one report, and notes those that it cannot draw.

    Parameters
    ----------
    known : mapping of str to Drawn, optional
        Figures that were drawn before, by name.
    form : tuple of int and str
        Millimetres, and the kind of file; by default .svg for a page.

    Attributes
    ----------
    notes : list of str
    """

    def __init__(self, known: Mapping[str, Any] | None = None, form: tuple[Any, ...] = ()) -> None:
        self.notes, self.known, self.form = list[str](), dict(known or {}), form

    def drawing(self, drawing: Drawing) -> Any:
        """Return a drawn figure, or None with a note of the reason."""
        title = TITLES[drawing.name]
        try:
            figure = self.known.pop(drawing.name, None) or drawing.drawn(*self.form)
        except MissingExtraError as error:
            self.notes += [] if str(error) in self.notes else [str(error)]
            return None
        except GramianError as error:  # such as constant data: the page has other figures
            self.notes.append(f"No figure {title!r}: {error}")
            return None
        return figure

    def show(self, drawing: Drawing) -> str:
        """Return a figure as HTML, or "" with a note of the reason."""
        figure, title = self.drawing(drawing), TITLES[drawing.name]
        if figure is None:
            return ""
        inside = f"<p>{escaped(figure.title or title)}</p>{figure.inline()}"
        caption = f"<figcaption>{escaped(figure.caption)}</figcaption>" if figure.caption else ""
        return f'<figure aria-label="{html.escape(title)}">{inside}{caption}</figure>'


# ---------------------------------------------------------------- HTML from text, all of which is escaped


def escaped(value: object) -> str:
    r"""Return escaped text, without control characters except line ends.

    Examples
    --------
    >>> print(escaped("<b>\x1b"))
    &lt;b&gt;\x1b
    """
    return html.escape(checks.shown_lines(value))


def text(value: object) -> str:
    r"""Return text as HTML; text between backticks is code, and a backtick after a backslash is a letter.

    Examples
    --------
    >>> text(r"Source: `<b>.csv`, with the column a\`b")
    'Source: <code dir="auto">&lt;b&gt;.csv</code>, with the column a`b'
    """
    marked = CODE.sub(r'<code dir="auto">\2</code>', escaped(value))
    return STRONG.sub(r"<b>\1</b>", marked).replace(r"\`", "`")


def name(value: object) -> str:
    """Return the name of a row or column, which may be long or right-to-left."""
    return f"<bdi>{escaped(shortened(str(value), LONGEST))}</bdi>"


def paragraphs(lines: Iterable[str]) -> str:
    """Return the Markdown of summaries as HTML: sentences and nested lists."""
    result, items = list[str](), list[str]()
    for line in [*lines, ""]:
        words = line.lstrip()
        if words.startswith("### "):
            result.append(f"<h3>{text(words[4:])}</h3>")
            continue
        depth = min((len(line) - len(words)) // 2, 3)
        if words.startswith("- ") or depth:
            items.append(f'<li class="in{depth}">{text(words.removeprefix("- "))}</li>')
            continue
        result += ["<ul>", *items, "</ul>"] if items else []
        items = []
        result += [f"<p>{text(words)}</p>"] if words else []
    return "\n".join(result)


def table(cells: Grid) -> str:
    """Return a table; one that continues another is collapsed."""
    classes = {"n": ' class="n"', "r": ' class="name"', "t": ' class="say"'}
    show = {"n": escaped, "r": name, "t": escaped}
    titles = "".join(
        f"<th{classes['n'] if kind == 'n' else ''}>{text(title)}</th>"
        for title, kind in zip(cells.heads, cells.kinds, strict=True)
    )
    kinds = cells.kinds
    lines = (
        "".join(f"<td{classes[kind]}>{show[kind](cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
        for row in cells.rows
    )
    inside = "\n".join(f"<tr>{line}</tr>" for line in lines)
    caption = f'<p class="soft">{text(cells.caption)}</p>' if cells.caption else ""
    body = f"<thead><tr>{titles}</tr></thead><tbody>\n{inside}\n</tbody>"
    whole = f'<div>{caption}<div class="wide"><table>{body}</table></div></div>'
    return _folded(cells.more, whole) if cells.more else whole


def _section(section: Section, inside: str) -> str:
    """Return a section of the first page."""
    kind = section.title.partition(" ")[0].lower() or "figure"
    head = f"<h2>{text(section.title)}</h2>\n" if section.title else ""
    return f'<section class="{kind}">\n{head}{inside}\n</section>' if inside else ""


def _folded(summary: str, inside: str, head: str = "span") -> str:
    return f"<details><summary><{head}>{text(summary)}</{head}></summary>\n{inside}\n</details>"
