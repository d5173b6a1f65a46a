"""How results look in a notebook: sentences, and tables of HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from gramian.checks import shown

MOST_ROWS = 60  # of a table; results have methods that return all of them


@dataclass(frozen=True)
class Grid:
    """A table: the heads of its columns, and rows of text and numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def __str__(self) -> str:
        head = "".join(f'<th style="text-align:left">{_safe(name)}</th>' for name in self.heads)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows[:MOST_ROWS])
        more = len(self.rows) - MOST_ROWS
        rest = f"<div>... and {more:,} more</div>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


class InNotebook:
    """Gives a record HTML for notebooks, and one line in place of all of its fields; str is the full text."""

    def _notebook(self) -> Iterable[str | Grid]:
        """Return sentences and tables in order."""
        return str(self).splitlines()

    def _repr_html_(self) -> str:
        return as_html(self._notebook())

    def __repr__(self) -> str:
        name, first = type(self).__name__, str(self).partition("\n")[0]
        return f"<{first}>" if first.startswith(name) else f"<{name}: {first}>"


def as_html(parts: Iterable[str | Grid]) -> str:
    """Return sentences and tables as HTML; what users named is escaped.

    Examples
    --------
    >>> as_html(["a < b"])
    '<div>a &lt; b</div>'
    """
    return "".join(str(part) if isinstance(part, Grid) else f"<div>{_safe(part)}</div>" for part in parts)


def _cell(value: Any) -> str:
    """Return a cell: numbers at the right, text at the left."""
    if value is None or isinstance(value, bool) or not isinstance(value, Real):
        text = ("yes" if value else "") if isinstance(value, bool) or value is None else _safe(value)
        return f'<td style="text-align:left">{text}</td>'
    if isinstance(value, Integral):
        return f'<td style="text-align:right">{value:,}</td>'
    number = float(value)
    return f'<td style="text-align:right">{"-" if math.isnan(number) else f"{number:.5g}"}</td>'


def _safe(text: Any) -> str:
    return html.escape(shown(text))
