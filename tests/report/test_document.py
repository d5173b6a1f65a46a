"""A report as a .docx has the parts of the page, and any names."""

import io

import numpy as np
import pytest

import gramian
from gramian.app.cli import main
from gramian.report.facts import Fitted
from gramian.report.sections import explanation
from gramian.tables.table import Table

docx = pytest.importorskip("docx", reason="needs python-docx")
pytest.importorskip("matplotlib")
HOSTILE = (
    "<script>alert(1)</script>",
    "a\x00\x1b[2J\x0b\ud800\ufffe",
    "**عمود**",
    "`$x_1$` & ]]>",
    300 * "L",
)


def read(content):
    return docx.Document(io.BytesIO(content))


def test_a_document_has_the_first_page_and_the_appendix_of_the_page():
    from gramian.report.document import as_document

    X = np.random.default_rng(0).normal(size=(30, 5))
    X[:15] += 4
    X[7] = 40
    kinds = np.repeat(["<u>a\x07", "b"], 15)
    table = Table(X, HOSTILE, labels=kinds, label_name="kin\x1bd", source="<b>.csv\x08" + 300 * "L")
    model = gramian.PCA(3).fit(table)
    whole = explanation(Fitted(model, table, command=("gramian", "fit", "<b>.csv")))
    document = read(as_document(whole))
    heads = [one.text for one in document.paragraphs if one.style.name in ("Heading 1", "Heading 2")]
    first = [one.title for one in whole.first if one.title]
    assert heads == [
        "PCA of <b>.csv\\x08" + 300 * "L",
        *first,
        "Appendix",
        *[one.title for one in whole.sections],
    ]
    text = "\n".join(one.text for one in document.paragraphs)
    assert whole.trust.answer in text
    assert "gramian fit '<b>.csv'" in text
    assert "a\\x00\\x1b[2J" in "".join(cell.text for table in document.tables for cell in table._cells)
    parts = [part for section in (*whole.first, *whole.sections) for part in section.parts]
    assert len(document.inline_shapes) == sum(type(part).__name__ == "Drawing" for part in parts)
    assert max(shape.width.mm for shape in document.inline_shapes) <= 161
    assert len(document.tables) == sum(type(part).__name__ == "Grid" and not part.more for part in parts)


def test_the_shell_writes_a_document_and_says_how_to_print_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    gramian.PCA(2).fit(np.random.default_rng(0).normal(size=(20, 3))).save("m.gramian")
    assert main(["report", "m.gramian", "-o", "r.docx"]) == 0
    assert read((tmp_path / "r.docx").read_bytes()).paragraphs[0].text == "PCA"
    capsys.readouterr()
    assert main(["report", "m.gramian", "-o", "r.pdf"]) == 2
    assert (
        "ends in .html or .htm or .docx. A browser prints an .html file as .pdf." in capsys.readouterr().err
    )
