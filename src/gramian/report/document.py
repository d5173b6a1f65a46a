"""The report of a fitted model as a .docx, for a word processor."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from gramian.core import checks
from gramian.core.notebook import Grid
from gramian.errors import needs
from gramian.report.page import CODE, STRONG, Figures
from gramian.report.sections import Code, Drawing, Explanation

with needs("docx", "python-docx", "Writing a .docx"):
    import docx
    from docx.shared import Mm, Pt, RGBColor

FIRST, WIDTH, TALLEST = 95, 160, 200  # mm: figures of the first page, of the appendix, and the tallest
SMALL, FONT, MONOSPACED = 8, "Calibri", "Consolas"
LONGEST = 255  # characters of a property
COLOURS = {
    "green": RGBColor(0x1A, 0x7F, 0x37),
    "amber": RGBColor(0x9A, 0x67, 0),
    "red": RGBColor(0xB3, 0x26, 0x1E),
}


def as_document(whole: Explanation) -> bytes:
    """Return a report as a .docx: the first page, then the appendix without tables that continue others."""
    document: Any = docx.Document()
    sheet, normal = document.sections[0], document.styles["Normal"]
    sheet.page_width, sheet.page_height = Mm(210), Mm(297)
    sheet.left_margin = sheet.right_margin = sheet.top_margin = sheet.bottom_margin = Mm(20)
    normal.font.name = FONT
    normal.font.size, normal.paragraph_format.space_after = Pt(10), Pt(4)
    title = checks.shown(whole.title)
    document.core_properties.title, document.core_properties.author = title[:LONGEST], "gramian"
    document.add_heading(title, 1)
    _add_lines(document, whole.findings, whole.trust.level)
    first, others = Figures(form=(FIRST, "png")), Figures(form=(WIDTH, "png"))
    for section in whole.first:
        if section.title:
            document.add_heading(section.title, 2)
        _add_parts(document, section.parts, first, whole.trust.level)
    document.add_page_break()
    document.add_heading("Appendix", 1)
    for section in whole.sections:
        document.add_heading(section.title, 2)
        _add_parts(document, section.parts, others, whole.trust.level)
    for note in dict.fromkeys([*first.notes, *others.notes]):
        _add_lines(document, note)
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def _add_parts(document: Any, contents: Iterable[Any], figures: Figures, level: str) -> None:
    for content in contents:
        if isinstance(content, str):
            _add_lines(document, content, level)
        elif isinstance(content, Drawing):
            _add_figure(document, figures.drawing(content))
        elif isinstance(content, Grid) and not content.more:
            _add_lines(document, content.caption)
            _add_table(document, content)
        elif isinstance(content, Code) and not content.more:
            run = document.add_paragraph().add_run(checks.shown_lines(content.lines))
            run.font.name, run.font.size = MONOSPACED, Pt(SMALL)


def _add_lines(document: Any, line: str, level: str = "") -> None:
    """Add a line of Markdown as a heading, an item or a paragraph."""
    words = line.strip()
    if not words:
        return
    depth = min((len(line) - len(line.lstrip())) // 2 + 1, 3)
    if words.startswith("### "):
        document.add_heading(checks.shown(words[4:]), 3)
        return
    item = words.startswith("- ") or depth > 1
    style = f"List Bullet{'' if depth == 1 else f' {depth}'}" if item else None
    paragraph = document.add_paragraph(style=style)
    strong = STRONG.match(words)
    texts = CODE.split(checks.shown(strong[1] if strong else words.removeprefix("- ")))
    for number, text in enumerate(texts):
        if number % 3 != 1:  # a fence
            run = paragraph.add_run(text if number % 3 else text.replace(r"\`", "`"))
            run.font.name = MONOSPACED if number % 3 else None
            run.bold = bool(strong) or None
            run.font.color.rgb = COLOURS[level] if strong else None


def _add_figure(document: Any, figure: Any) -> None:
    if figure is None:
        return
    if figure.title:
        document.add_paragraph().add_run(checks.shown(figure.title)).bold = True
    picture = document.add_picture(io.BytesIO(figure.content))
    ratio = min(1.0, Mm(TALLEST) / picture.height)
    picture.width, picture.height = int(ratio * picture.width), int(ratio * picture.height)
    _add_lines(document, figure.caption)


def _add_table(document: Any, grid: Grid) -> None:
    table = document.add_table(0, len(grid.heads), "Light List Accent 1")
    for row in (grid.heads, *grid.rows):
        for cell, value in zip(table.add_row().cells, row, strict=True):
            run = cell.paragraphs[0].add_run(checks.shown(value))
            run.font.size = Pt(SMALL)
    document.add_paragraph()
