"""Text that a spreadsheet would run is written as text, and read again as it was."""

import csv
import io
import re

import openpyxl
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

import gramian
from gramian.report.tables import write_table
from gramian.tables.formats.text import TextFile, TextSource
from gramian.tables.source import Opened
from gramian.tables.strings import as_written, shown_as_text

HOSTILE = (
    '=HYPERLINK("http://evil")',
    "=cmd|'/C calc'!A0",
    "@SUM(1)",
    "+1+1",
    "-2+3",
    "\t=1",
    "\r=1",
    "\uff1d1+1",
)
NUMBERS = ("-1.5", "+2", "-inf", "-1e-5", "-1,234.5", "-1,5")
texts = st.text(st.sampled_from("'=+-@\t\r\n\" ;a1.e,"), max_size=8) | st.sampled_from(HOSTILE + NUMBERS)


def runs(cell):
    """Transcribed from the advice of OWASP, except that a number is a number."""
    number = re.fullmatch(r"[+-]?([\d.,]+(e[+-]?\d+)?|inf)", cell)
    return cell[:1] in tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20") and not number


@given(st.lists(texts, max_size=5))
@example([*HOSTILE, *(f"'{text}" for text in HOSTILE), *(f"''{text}" for text in HOSTILE)])
def test_every_text_is_read_as_it_was_and_none_runs(cells):
    written = shown_as_text(pa.array(cells, pa.string()))
    assert not any(map(runs, written.to_pylist()))
    assert as_written(written).to_pylist() == cells


@given(st.tuples(texts, texts), st.tuples(texts, texts))
def test_files_keep_names_and_cells(names, cells):
    """What a reader does to any file, which is to trim names, is none of this."""
    left, right = (f"{name}{end}" for name, end in zip(names, "lr", strict=True))
    columns = {left: list(cells), right: list(cells[::-1])} | {f"x{j}": [1.5, -2.5] for j in range(6)}
    file = io.BytesIO()
    write_table(file, columns, "csv")
    for row in csv.reader(io.StringIO(file.getvalue().decode(), newline="")):
        assert not any(map(runs, row))
    source = TextSource(TextFile(Opened("memory", data=file.getvalue())))
    assert [name.strip() for name in source.names[:2]] == [left.strip(), right.strip()]
    (batch,) = source.batches()
    assert [field.to_pylist() for field in batch[:2]] == [list(cells), list(cells[::-1])]


def test_numbers_and_quotes_of_others_stay(tmp_path):
    plain = pa.array([*NUMBERS, "'90s", "'", "''", "'quoted'", "a=b", "'-1.5", None])
    assert shown_as_text(plain) == as_written(plain) == plain
    (tmp_path / "a.csv").write_text("\"'=name\",'-x,y\n\"'=1+1\",1,2\n'90s,3,4\n")
    table = gramian.scan(tmp_path / "a.csv", label="=name").read()
    assert table.labels.tolist() == ["=1+1", "'90s"]
    assert table.feature_names == ("-x", "y")
    book = openpyxl.Workbook()
    for row in (["'=name", "x", "y"], ["'=1+1", 1, 2], ["'90s", 3, 4]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    table = gramian.scan(tmp_path / "a.xlsx", label="'=name").read()
    assert table.labels.tolist() == ["'=1+1", "'90s"]
