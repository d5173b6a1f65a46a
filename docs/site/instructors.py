"""Slides, notebooks and figures of the lessons in build/instructors: ``make instructors``.

All three come from the lessons' scripts, without their folded solutions. Slides are one page for each
lesson that opens without a network; figures are .svg.
"""

import base64
import contextlib
import html
import io
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from docutils.core import publish_parts
from docutils.writers import html5_polyglot
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
from sphinx_gallery.notebook import jupyter_notebook, save_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

sys.path.insert(0, str(Path(__file__).parent))

import mathml

ROOT = Path(__file__).parents[2]
OUT = ROOT / "build" / "instructors"
FOLDED = re.compile(r"^\.\. dropdown:: Solution\n(?:[ ]+.*\n?|\n)*", re.MULTILINE)
LINK = re.compile(r"(?::doc:)?`([^`<]+?)\s*<[^`>]*>`_?")  # to pages that are not here: only its text
TABLE = re.compile(r"^\.\. list-table::\n(?: +:.*\n)*\n((?: +.*\n?|\n)+)", re.MULTILINE)
PAGE = (Path(__file__).parent / "templates" / "slides.html").read_text(encoding="utf-8")


class Translator(html5_polyglot.HTMLTranslator):
    """Writes formulas as the site does."""

    visit_math, visit_math_block = mathml.visit_math, mathml.visit_displayed


def blocks_of(lesson: Path) -> list:
    """Return the blocks of a lesson, without solutions and links: kind, content, and number of the line."""
    return [
        (kind, LINK.sub(r"\1", FOLDED.sub("", content)) if kind == "text" else content, line)
        for kind, content, line in split_code_and_text_blocks(lesson)[1]
    ]


def with_tables(text: str) -> str:
    """Return a text with its tables in Markdown, which sphinx-gallery's notebooks cannot write."""

    def table(match: re.Match[str]) -> str:
        rows = [re.split(r"\n\s+-(?:\s|$)", row) for row in re.split(r"(?:^|\n)\s+\* - ", match[1])[1:]]
        lines = [f"| {' | '.join(' '.join(cell.split()) for cell in row)} |" for row in rows]
        return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:], "", ""])

    return TABLE.sub(table, text)


def executed(code: str, namespace: dict, figure: Path) -> tuple[str, bool]:
    """Run a block; return what it prints, and whether it draws a figure, which is saved."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, figure.stem, "exec"), namespace)
    is_drawn = bool(plt.get_fignums())
    if is_drawn:
        plt.savefig(figure)
        plt.close("all")
    return output.getvalue(), is_drawn


def slides_of(blocks: list, name: str, figures: Path) -> list[str]:
    """Run a lesson; return its slides: texts, figures, and code with what it prints."""
    writer = html5_polyglot.Writer()
    writer.translator_class = Translator
    # A fault in a text stops the run.
    settings = {"doctitle_xform": False, "initial_header_level": 2, "report_level": 2, "halt_level": 2}
    look = HtmlFormatter(noclasses=True, style="a11y-high-contrast-light")
    slides, namespace, count = [], {"__name__": name}, 1
    for kind, content, _ in blocks:
        if kind == "text":
            slides.append(publish_parts(content, writer=writer, settings_overrides=settings)["body"])
            continue
        figure = figures / f"{name}_{count}.svg"
        printed, is_figure = executed(content, namespace, figure)
        if is_figure:
            picture = base64.b64encode(figure.read_bytes()).decode()
            slides.append(f'<img alt="Figure {count}" src="data:image/svg+xml;base64,{picture}">')
            count += 1
        output = f"<pre class='output'>{html.escape(printed)}</pre>" if printed else ""
        slides.append(highlight(content, PythonLexer(), look) + output)
    return slides


def write(lesson: Path, out: Path) -> None:
    """Write the notebook, the figures and the slides of a lesson."""
    folders = {name: out / name for name in ("notebooks", "figures", "slides")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    name, blocks = lesson.stem.removeprefix("plot_"), blocks_of(lesson)
    cells = [(kind, with_tables(text) if kind == "text" else text, line) for kind, text, line in blocks]
    save_notebook(jupyter_notebook(cells, DEFAULT_GALLERY_CONF, out), folders["notebooks"] / f"{name}.ipynb")
    slides = "".join(f"<article>{slide}</article>\n" for slide in slides_of(blocks, name, folders["figures"]))
    title = html.escape(blocks[0][1].strip().partition("\n")[0])
    page = PAGE.replace("{title}", title).replace("{slides}", slides)
    (folders["slides"] / f"{name}.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    for script in sorted((ROOT / "docs" / "lessons").glob("plot_*.py")):
        write(script, OUT)
    print(f"Open {OUT / 'slides'} in a browser: arrow keys turn the slides.")
