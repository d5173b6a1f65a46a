"""Tables of Excel, Feather and Arrow files."""

import datetime
import io
import sys
import zipfile

import openpyxl
import pytest

from gramian.errors import DataError, FileError, MemoryLimitError, MissingExtraError, ParameterError
from gramian.tables.as_rows import as_rows
from gramian.tables.scan import scan


def write_book(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


ROWS = [["name", "x", "y", "kind"], ["a", 1, 2.5, "u"], ["b", None, "-", "v"], ["c", 3, "1,065", "u"]]


def test_sheets_of_excel_and_what_they_hold_beside_numbers(tmp_path):
    path = write_book(tmp_path / "x.xlsx", first=ROWS, second=[[1, 2], [3, 4]], none=[])
    table = scan(path, label="kind", na_values="-", missing="mean").read()
    assert table.values.tolist() == [[1, 2.5], [2, (2.5 + 1065) / 2], [3, 1065]]
    assert table.row_names == ("a", "b", "c")
    assert table.labels.tolist() == ["u", "v", "u"]
    note = "sheet 'first' was read, the largest table of 'first', 'second', 'none'; another can be chosen"
    assert table.notes[0] == note
    assert scan(f"{path}::second").read().values.tolist() == [[1, 2], [3, 4]]
    assert scan(
        io.BytesIO(path.read_bytes()), label="kind", drop="y", missing="mean"
    ).read().values.shape == (3, 1)
    with pytest.raises(ParameterError, match=r"\. Its sheets are"):
        scan(f"{path}::third").read()
    with pytest.raises(DataError, match=r"is empty\. Its sheets are"):
        scan(f"{path}::none").read()
    errors = ["#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#N/A"]
    rows = [["x", "y"], [1, 2], [2.5, 4], *([error, 6] for error in errors)]
    path = write_book(tmp_path / "x.xlsx", a=rows)
    with pytest.raises(DataError, match="Input X contains NaN: 7 values are missing in 7 rows and"):
        as_rows(scan(path))
    table = scan(path, missing="drop-rows").read()
    assert (table.values.tolist(), table.row_names) == ([[1, 2], [2.5, 4]], None)
    day = datetime.datetime(2020, 1, 2)
    path = write_book(
        tmp_path / "x.xlsx", a=[["x", "t", "b"], [1, day, True], [2, day, False], [None, None, None]]
    )
    assert scan(path, drop="t").read().values.tolist() == [[1, 1], [2, 0]]
    with pytest.raises(DataError, match="has 1 column that holds no numbers:"):
        scan(path).read()
    labels = write_book(tmp_path / "y.xlsx", a=[["x"], [9]], b=[["kind"], [5], [6]])
    assert scan(path, drop="t", labels_from=f"{labels}::b:kind").read().labels.tolist() == [5, 6]


def test_excel_files_that_cannot_be_read(tmp_path, monkeypatch):
    path = write_book(tmp_path / "x.xlsx", a=ROWS)
    data = path.read_bytes()
    for content in (data[:100], data[:-200], b"x,y\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(FileError, match="truncated, damaged or protected, or of another kind"):
            scan(path).read()
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match="reading workbooks needs python_calamine, which is not"):
        scan(path).read()


def rewritten(path, old, new):
    """Change the first sheet of a workbook as no spreadsheet program would."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, part in parts.items():
            book.writestr(name, part.replace(old, new) if "sheet1" in name else part)


def test_sheets_that_claim_to_be_huge_and_far_cells(tmp_path, monkeypatch):
    path = write_book(tmp_path / "x.xlsx", a=[["x", "y"], [1, 2], [3, 4]])
    rewritten(path, b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>7</v></c></row></sheetData>')
    with pytest.raises(MemoryLimitError, match="Save the sheet as CSV"):
        scan(path).read()
    path = write_book(tmp_path / "x.xlsx", a=[["x", "y"], [1, 2], [3, 4]])
    rewritten(path, b'ref="A1:B3"', b'ref="A1:XFD1048576"')
    assert scan(path).read().values.tolist() == [[1, 2], [3, 4]]
    rewritten(path, b"</sheetData>", b'<row r="999999999999"><c r="A1"><v>7</v></c></row></sheetData>')
    assert scan(path).read().values.tolist() == [[1, 2], [3, 4]]
    rewritten(path, b"<v>1</v>", b"<v>1" + b"0" * 10**6 + b"</v>")
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "4 MB")
    with pytest.raises(MemoryLimitError, match=r"takes 5\.08 MB, and 4 MB of memory may be used\. Save the"):
        scan(path).read()


def open_document(path, *rows, of_row="", of_cell=""):
    attributes = f'{of_cell} office:value-type="{{}}" {{}}="{{}}"'
    cell = f"<table:table-cell {attributes}><text:p>{{}}</text:p></table:table-cell>"
    kinds = {str: ("string", "office:string-value"), int: ("float", "office:value")}
    lines = ("".join(cell.format(*kinds[type(one)], one, one) for one in row) for row in rows)
    body = "".join(f"<table:table-row {of_row}>{line}</table:table-row>" for line in lines)
    for tag in ('table:table table:name="a"', "office:spreadsheet", "office:body", "office:document-content"):
        body = f"<{tag}>{body}</{tag.split()[0]}>"
    names = {
        name: f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text", "manifest")
    }
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr("META-INF/manifest.xml", f"<manifest:manifest {names['manifest']}></manifest:manifest>")
        book.writestr("content.xml", body.replace("-content>", f"-content {' '.join(names.values())}>", 1))
    return path


def test_open_document_sheets(tmp_path):
    path = open_document(tmp_path / "x.ods", ["name", "x", "y"], ["a", 1, 2], ["b", 3, 4])
    for source in (path, io.BytesIO(path.read_bytes())):
        table = scan(source).read()
        assert (table.row_names, table.values.tolist()) == (("a", "b"), [[1, 2], [3, 4]])
    many = {
        "of_row": 'table:number-rows-repeated="1048576"',
        "of_cell": 'table:number-columns-repeated="16384"',
    }
    open_document(path, [1], **many)
    with pytest.raises(MemoryLimitError, match="Save the sheet as CSV"):
        scan(path).read()
