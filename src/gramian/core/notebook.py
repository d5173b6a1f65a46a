"""How results look: sentences, tables and sections, as text and as HTML; reports have the same ones."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from gramian.core.checks import number, shown

MOST_LINES, MOST_ROWS = 30, 60  # of a table of text, of HTML; results have methods that return all rows


@dataclass(frozen=True)
class Grid:
    """A table in notebooks, at a prompt and in reports.

    Attributes
    ----------
    heads : sequence of str
    rows : sequence of sequences
        Texts and numbers.
    formats : sequence of str
        Of the numbers, by column.
    most : int
        Lines of text at a prompt.
    kinds : str
        A letter for each column of a report: "n" number, "r" name, "t" text.
    caption : str
    more : str
        The title of a table that continues the one before.
    file : str
        The table of a results folder that has all of its rows.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    formats: Sequence[str] = ()
    most: int = MOST_LINES
    kinds: str = ""
    caption: str = ""
    more: str = ""
    file: str = ""

    def __str__(self) -> str:
        rows = self.rows[: self.most]
        columns = []
        for j, (head, form) in enumerate(zip(self.heads, self._forms(), strict=True)):
            cells = [head, *(_text(row[j], form) for row in rows)]
            width, side = max(map(len, cells)), ">" if any(_is_number(row[j]) for row in rows) else "<"
            columns.append([f"{cell:{side}{width}}" for cell in cells])
        lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
        more = len(self.rows) - self.most
        return "\n".join([*lines, f"... and {more:,} more"] if more > 0 else lines)

    def markdown(self) -> str:
        """Return the table with all of its rows as Markdown."""
        rules = ["---:" if kind == "n" else "---" for kind in self.kinds or "t" * len(self.heads)]
        forms = self._forms()
        cells = (
            [
                c if type(c) is str and c.isprintable() else _text(c, f)
                for c, f in zip(row, forms, strict=True)
            ]
            for row in self.rows
        )
        rows = ([cell.replace("|", "\\|") for cell in row] for row in cells)
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.heads, rules, *rows))

    def html(self) -> str:
        """Return the table as HTML."""
        head = "".join(f'<th style="text-align:left">{_safe(name)}</th>' for name in self.heads)
        rows = ("".join(map(_cell, row, self._forms())) for row in self.rows[:MOST_ROWS])
        body = "".join(f"<tr>{cells}</tr>" for cells in rows)
        more = len(self.rows) - MOST_ROWS
        rest = f"<div>... and {more:,} more</div>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def _forms(self) -> Sequence[str]:
        return self.formats or [""] * len(self.heads)


@dataclass(frozen=True)
class Section:
    """A title, and the parts below it: sentences and tables, in reports also code and figures."""

    title: str
    parts: tuple[Any, ...]

    def html(self) -> str:
        """Return the section as HTML, below a title that opens it."""
        return f"<details><summary>{_safe(self.title)}</summary>{as_html(self.parts)}</details>"


class InNotebook:
    """Gives a record HTML for notebooks, and one line in place of all of its fields; str is the full text."""

    def _notebook(self) -> Iterable[str | Grid]:
        """Return sentences and tables in order."""
        return str(self).splitlines()

    def __str__(self) -> str:
        return as_text(self._notebook())

    def _repr_html_(self) -> str:
        return as_html(self._notebook())

    def __repr__(self) -> str:
        name, first = type(self).__name__, str(self).partition("\n")[0]
        return f"<{first}>" if first.startswith(name) else f"<{name}: {first}>"


class Tabulated(InNotebook):
    """Shows the same sentences and tables of a record at a prompt and in a notebook."""

    def parts(self) -> list[str | Grid]:
        """Return the sentences and tables in order."""
        return list(self._notebook())

    __repr__ = InNotebook.__str__


def as_text(contents: Iterable[str | Grid]) -> str:
    """Return sentences and tables as lines of text.

    Examples
    --------
    >>> print(as_text(["Two rows.", Grid(("name", "size"), [("a", 1.5), ("bc", 20.0)])]))
    Two rows.
    name  size
    a      1.5
    bc      20
    """
    return "\n".join(map(str, contents))


def as_html(contents: Iterable[str | Grid | Section]) -> str:
    """Return sentences, tables and sections as HTML; what users named is escaped.

    Examples
    --------
    >>> as_html(["a < b"])
    '<div>a &lt; b</div>'
    """
    return "".join(
        f"<div>{_safe(content)}</div>" if isinstance(content, str) else content.html() for content in contents
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _text(value: Any, form: str) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    if not isinstance(value, Real):
        return shown(value)
    if isinstance(value, Integral):
        return f"{value:,}"
    if math.isnan(value):
        return "-"
    form = form or ".5g"
    return number(float(value), int(form[1:-1])) if form[-1] == "g" else f"{value:{form}}"


def _cell(value: Any, form: str) -> str:
    """Return a cell: numbers at the right, text at the left."""
    side = "right" if _is_number(value) else "left"
    return f'<td style="text-align:{side}">{html.escape(_text(value, form))}</td>'


def _safe(text: Any) -> str:
    return html.escape(shown(text))
