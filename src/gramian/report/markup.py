"""HTML from text, all of which is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from gramian.checks import shown_lines

LONGEST = 60  # characters of a name
CODE = re.compile(r"(``|`)(.+?)\1")


def escaped(value: object) -> str:
    r"""Return escaped text, without control characters except line ends.

    Examples
    --------
    >>> print(escaped("<b>\x1b"))
    &lt;b&gt;\x1b
    """
    return html.escape(shown_lines(value))


def text(value: object) -> str:
    """Return text as HTML; text between backticks is code.

    Examples
    --------
    >>> text("Source: `<b>.csv`")
    'Source: <code dir="auto">&lt;b&gt;.csv</code>'
    """
    return CODE.sub(r'<code dir="auto">\2</code>', escaped(value))


def name(value: object) -> str:
    """Return the name of a row or column, which may be long or right-to-left."""
    whole = str(value)
    if len(whole) <= LONGEST:
        return f"<bdi>{escaped(whole)}</bdi>"
    return f'<bdi title="{escaped(whole[:1000])}">{escaped(whole[: LONGEST - 3])}...</bdi>'


def paragraphs(lines: Iterable[str]) -> str:
    """Return the Markdown of summaries as HTML: sentences and nested lists."""
    parts, items = list[str](), list[str]()
    for line in [*lines, ""]:
        words = line.lstrip()
        depth = min((len(line) - len(words)) // 2, 3)
        if words.startswith("- ") or depth:
            items.append(f'<li class="in{depth}">{text(words.removeprefix("- "))}</li>')
            continue
        parts += ["<ul>", *items, "</ul>"] if items else []
        items = []
        parts += [f"<p>{text(words)}</p>"] if words else []
    return "\n".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kinds: str, caption: str = "") -> str:
    """Return a table.

    Parameters
    ----------
    head : sequence of str
    rows : iterable of sequences of str
    kinds : str
        A letter for each column: "n" for numbers, "r" for names of rows and columns, "t" for text.
    caption : str
    """
    classes = {"n": ' class="n"', "r": ' class="name"', "t": ' class="say"'}
    show = {"n": text, "r": name, "t": text}
    titles = "".join(
        f"<th{classes['n'] if kind == 'n' else ''}>{text(title)}</th>"
        for title, kind in zip(head, kinds, strict=True)
    )
    stacks = "t" in kinds  # full width for text on a phone, where the cells of a row name their columns
    names = [f' data-of="{escaped(title)}"' if stacks and title else "" for title in head]
    lines = (
        "".join(
            f"<td{classes[k]}{of}>{show[k](cell)}</td>" for cell, k, of in zip(row, kinds, names, strict=True)
        )
        for row in rows
    )
    inside = "\n".join(f"<tr>{line}</tr>" for line in lines)
    said = f'<p class="soft">{text(caption)}</p>' if caption else ""
    stacked = ' class="stack"' if stacks else ""
    body = f"<thead><tr>{titles}</tr></thead><tbody>\n{inside}\n</tbody>"
    return f'<div>{said}<div class="wide"><table{stacked}>{body}</table></div></div>'


def code(lines: str) -> str:
    """Return preformatted text."""
    return f"<pre>{escaped(lines)}</pre>"


def folded(summary: str, inside: str) -> str:
    """Return a collapsed section."""
    return f"<details><summary>{text(summary)}</summary>\n{inside}\n</details>"
