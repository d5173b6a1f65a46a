"""Tables as people really have them: each file of tests/strange is read to the numbers that it means."""

import io
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from gramian import PCA, propose, roles, scan
from gramian.errors import DataError, ParameterError
from gramian.tables.layout import detect_layout, fields_of, notes_below
from gramian.tables.preview import preview
from gramian.tables.reading import ReadingOptions
from helpers import npy

STRANGE = Path(__file__).parents[1] / "strange"


def read(name, **options):
    return scan(STRANGE / name, **options).read()


def read_text(text, **options):
    return scan(io.BytesIO(text.encode()), **options).read()


def seen_text(text):
    return preview(io.BytesIO(text.encode()))


def seen(name, **options):
    with open(STRANGE / name, "rb") as file:
        return preview(file, ReadingOptions(**options))


def test_titles_above_the_header_are_left_out_with_a_word():
    table = read("title_rows.csv", label="garden")
    assert (table.feature_names, table.row_names[0]) == (("height_cm", "leaves", "soil_ph"), "p01")
    assert table.values[[0, -1]].tolist() == [[65.9, 46, 5.32], [111.2, 85, 5.72]]
    assert table.values.shape == (24, 3)
    assert table.notes[0] == (
        "the header was found in line 4; 2 lines above it were left out: "
        "'Growth of shrubs in three gardens, 2019-2021'"
    )
    shown = seen("title_rows.csv")
    assert (shown.header, shown.lines[3][:2], len(shown.lines)) == (4, ("plant", "garden"), 10)
    table = read("title_with_link.csv")
    assert table.feature_names == tuple(map(str, range(2010, 2019)))
    assert table.row_names == ("Aland", "Bland", "Cland", "Dland", "Eland")


def test_a_row_of_units_is_metadata():
    table = read("units_row.csv")
    assert table.feature_names == ("mass", "length", "pressure", "temperature")
    assert table.units == {"mass": "kg", "length": "mm", "pressure": "kPa", "temperature": "°C"}
    assert table.values[[0, -1]].tolist() == [[2.057, 316, 102.7, 20], [2.182, 327, 100.2, 17.5]]
    assert {column.name: column.unit for column in seen("units_row.csv").columns}["mass"] == "kg"
    above = read_text("kg,mm\nmass,length\n1,2\n3,4\n")
    assert (above.units, above.values.tolist()) == ({"mass": "kg", "length": "mm"}, [[1, 2], [3, 4]])
    # Names that could be units are names where nothing else names the columns.
    assert read_text("m,s,kg\n1,2,3\n4,5,6\n").feature_names == ("m", "s", "kg")
    assert read_text("a,b\nm/s^2,µg·L⁻¹\n1,2\n4,5\n").units == {"a": "m/s^2", "b": "µg·L⁻¹"}


def test_german_numbers_and_american_money():
    table = read("german.csv", label="Land")
    assert table.feature_names == ("Fläche", "Einnahmen", "Dichte", "Einwohner")
    assert table.values[0].tolist() == [65.67, 1628.47, 1119.76, 66051]
    assert table.values[-1].tolist() == [65.85, 1274.73, 1338.49, 49583]
    assert "commas were read as decimal separators, and points as thousands separators" in table.notes
    table = read("money.csv", label="sector")
    place = table.row_names.index("Ivy")
    assert table.values[place].tolist() == [5126.60, -12.47, -0.2, 736]
    assert table.units == {"revenue": "$", "profit": "$", "margin": "%"}
    assert "numbers in parentheses were read as negative in 'profit'" in table.notes


def test_answers_in_words_become_numbers_in_their_order():
    agree = ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree")
    assert seen("survey.csv").answers == (agree, ("Q1", "Q2", "Q3", "Q4", "Q5"))
    table = read("survey.csv", answers=agree)
    assert table.feature_names == ("Q1", "Q2", "Q3", "Q4", "Q5", "age")
    assert table.values[:2].tolist() == [[2, 1, 1, 1, 1, 61], [2, 3, 2, 4, 3, 75]]
    assert table.notes[0].startswith("'Q1', 'Q2', 'Q3', 'Q4', 'Q5': 'Strongly disagree', 'Disagree'")
    # What is a label stays as it is, and an entry that is none of them leaves its column text.
    labelled = read("survey.csv", answers=agree, label="Q1")
    assert (labelled.labels[0], labelled.feature_names[0]) == ("Disagree", "Q2")
    text = "a,b,c\nNever,often,no\n,rarely,yes\n never ,Always,no\n"
    table = read_text(text, answers="Never,Rarely,Often,Always", label="c", missing="mean")
    assert table.values.tolist() == [[1, 3], [1, 2], [1, 4]]
    with pytest.raises(DataError, match="'b'"):
        read_text(text.replace("rarely", "rare"), answers="Never,Rarely,Often,Always", label="c")
    with pytest.raises(ParameterError, match="are not all that a column of"):
        read_text(text, answers="Low,High")
    with pytest.raises(ParameterError, match="no columns of text"):
        scan(io.BytesIO(npy(np.eye(3))), answers="Low,High").read()
    # Two columns of factors, such as a dose, are no answers; nor is one column.
    for columns in ("Never,low\nOften,high\nAlways,low\n", "no,low\nyes,high\nno,low\n"):
        assert preview(io.BytesIO(f"a,b\n{columns}".encode())).answers == ((), ())


def test_a_model_knows_the_answers_of_its_file(tmp_path):
    found = propose(STRANGE / "survey.csv")
    model = PCA(2, **found.parameters).fit(scan(STRANGE / "survey.csv", **found.reading))
    expected = model.transform(scan(STRANGE / "survey.csv"))[:1]
    head, first, *_ = (STRANGE / "survey.csv").read_text().splitlines()
    new = tmp_path / "new.csv"
    new.write_text(f"{head}\n{first}\n")
    np.testing.assert_allclose(model.transform(scan(new)), expected, atol=1e-12)
    new.write_text("Q1,Q2,Q3,Q4,Q5,age\n2,1,1,1,1,61\n")
    np.testing.assert_allclose(model.transform(scan(new)), expected, atol=1e-12)


def test_dates_are_never_numbers():
    table = read("dates.csv", label="station", drop="received,entered")
    assert (table.feature_names, table.row_names[0]) == (("ozone", "nitrate", "wind"), "03.01.2024")
    assert table.values[0].tolist() == [53.2, 11.14, 4.0]
    labels = read("dates.csv", label="received,station", drop="entered")
    assert labels.labels[:2].tolist() == ["01/05/2024", "01/16/2024"]
    kinds = {column.name: column.kind for column in seen("dates.csv").columns}
    assert [kinds[name] for name in ("taken", "received", "entered", "station")] == ["date"] * 3 + ["text"]


def test_days_and_months_that_may_be_exchanged_are_said():
    def told(*days):
        lines = "".join(f"{day},{number}\n" for number, day in enumerate(days))
        return preview(io.BytesIO(f"day,x\n{lines}".encode()))

    clear, unclear = told("1/13/2024", "2/1/2024"), told("1/2/2024", "3/4/2024")
    assert clear.columns[0].first == ("2024-01-13", "2024-02-01")
    assert not clear.notes
    assert unclear.columns[0].first == ("2024-01-02", "2024-03-04")
    assert unclear.notes == ("day and month may be exchanged in 'day': 1/2/2024 was read as month/day/year",)
    assert told("13/1/2024", "2/1/2024").columns[0].first == ("2024-01-13", "2024-01-02")
    assert told("31.02.2024", "1.2.2024").columns[0].kind == "text"


def test_identifiers_and_genes_are_read_as_they_are():
    first = read("patients.csv", label="ward", drop="sex").values[0]
    assert first.tolist() == [1, 100410, 141, 4.4, 6.3, 5.7]
    genes = read("genes.tsv", transpose=True)
    assert (genes.values.shape, genes.row_names[4]) == ((8, 60), "heat_1")
    assert genes.values[:, 0].tolist() == [102, 134, 78, 188, 28, 127, 31, 70]


def test_notes_and_lines_of_one_token_below_the_table():
    table = read("notes_below.csv")
    assert (table.values.shape, table.row_names[-1]) == ((18, 4), "Rara")
    assert table.notes[0] == ("2 lines below the table were left out: 'Source: Office of Waters, table 12'")
    literal = "x,y\n1,2\n3,4\nsome words that are not a row\n"
    assert read_text(literal).values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataError, match=r"standard input, line 4: 1 field where 2 are expected \("):
        read_text(literal, skip_footer=0)
    assert read_text("x,y\n1,2\n3,4\n5,6\n\n", skip_footer=2).values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataError, match=r"standard input has no rows: only a header line\. Add at"):
        read_text("x,y\n1,2\n3,4\n", skip_footer=5)
    for token in ("__________", "---", "END", "End of file", "* * *", "eof"):
        for rows, names in (("n,a,b\nx,1,2\ny,2,3\n", ("x", "y")), ("a,b\n1,2\n2,3\n", None)):
            table = read_text(rows + token + "\n")
            assert (table.values.tolist(), table.row_names) == ([[1, 2], [2, 3]], names)
            assert f"1 line below the table was left out: {token!r}" in table.notes
    assert read_text("a,b\n1,2\n2,3\nchecked\n").values.tolist() == [[1, 2], [2, 3]]


def test_of_two_tables_the_first_is_read_and_said():
    table = read("two_tables.csv")
    assert (table.values.shape, table.feature_names) == ((40, 3), ("a", "b", "c"))
    assert "another table below a blank line was left out: 'Annual'" in table.notes
    rows = "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(30_000))  # and in the blocks of a long file
    for below in ("name,value\nx,1\n", "Means\na,b,c\n1,2,3\n", "Means\n\nn,m\nx,1\n"):
        for limit in (None, 1 << 20):
            source = scan(io.BytesIO(f"a,b,c\n{rows}\n\n{below}{below}".encode()))
            table = source.read() if limit is None else source.open(limit)
            assert table.values.shape == (30_000, 3)
            assert any("another table below a blank line" in note for note in table.notes), below
    parts = "n,a,b\nx,1,2\ny,3,4\n\nz,5,6\n\n\nu,7,8\n"  # blank lines in one table
    assert read_text(parts).row_names == ("x", "y", "z", "u")


def test_a_line_of_another_length_is_named():
    rows = "a,b,c\n" + "1,2,3\n" * 30
    with pytest.raises(DataError, match=r"line 32.*correct that line"):
        read_text(rows + "1,2\n" + "1,2,3\n" * 3)


def test_a_header_of_several_lines():
    table = read("logger.dat")
    assert table.feature_names == ("RECORD", "PTemp_C_Avg", "PAR_Den_Avg", "RH")
    assert (table.values.shape, table.row_names[0]) == ((60, 4), "2020-05-30 10:00:00")
    assert table.units["RH"] == "%"
    assert "1 line below the header was left out: 'Avg, Avg, Smp'" in table.notes
    spectra = read("two_axes.csv", label="Sample ID/Wavenumber")
    assert spectra.values.shape == (30, 60)
    assert (spectra.feature_names[0], spectra.feature_names[-1]) == ("14730.00", "1300.00")
    # A first spectrum that falls all the way is no second axis.
    axis = ",".join(str(1000 + 10 * j) for j in range(20))
    fall, rise = (",".join(f"{np.exp(s * j / 9):.4f}" for j in range(20)) for s in (-1, 1))
    wavy = ",".join(f"{np.sin(j):.4f}" for j in range(20))
    for first in (fall, rise):
        assert read_text("\n".join([axis, first, wavy, wavy])).values.shape == (3, 20)


def test_what_is_no_note():
    for lines in (
        ["1,2", "3"],
        ["a,1", "b"],
        ["a,1", 'b,"two', 'more words stand in here"'],
        ["a,1", "Total,1"],
    ):
        assert notes_below([fields_of(line.encode(), ",") for line in lines], ",", 2) == 0, lines
    with pytest.raises(
        DataError, match=r"standard input, line 3: 1 field where 3 are expected \("
    ):  # a file that was cut
        read_text("name,x,y\na,1,2\nb\n")


def test_notes_are_found_behind_many_rows():
    rows = "".join(f"{row},{row / 7}\n" for row in range(300_000))
    table = read_text(f"x,y\n{rows}\nSource: nobody\n")
    assert table.values.shape == (300_000, 2)
    assert "1 line below the table was left out: 'Source: nobody'" in table.notes


def test_sheets_with_merged_cells():
    table = read("sheets.xlsx", label="meadow")
    assert table.feature_names == ("Harvest spring", "Harvest summer", "Sugar spring", "Sugar summer")
    assert table.labels.tolist() == ["clover"] * 4 + ["heather"] * 4 + ["lime"] * 4
    assert table.values[[0, -1]].tolist() == [[6.8, 12.3, 78, 79.8], [14.6, 22.1, 79.1, 81.7]]
    assert table.units == dict(zip(table.feature_names, ("kg", "kg", "%", "%"), strict=True))
    assert table.notes[0] == (
        "sheet 'Honey' was read, the largest table of 'Read me', 'Honey', 'Old hives'; another can be chosen"
    )
    assert scan(f"{STRANGE / 'sheets.xlsx'}::Old hives").read().values.shape == (5, 2)
    shown = seen("sheets.xlsx")
    assert (shown.sheets, shown.header) == (("Honey", "Read me", "Old hives"), 4)


def test_the_sheet_with_the_largest_table_is_read_and_named(tmp_path):
    book = openpyxl.Workbook()
    for row in (["Ser.No.:", "900G1"], ["High voltage/kV", 40], ["Time/s", 60]):
        book.active.append(row)
    points = book.create_sheet("Points")
    for i in range(300):
        points.append([f"p{i}", i % 7, i % 5] if i else ["id", "x", "y"])
    wide = book.create_sheet("Wide")
    for i in range(20):
        wide.append([i * j % 3 for j in range(25)] if i else [f"w{j}" for j in range(25)])
    book.save(tmp_path / "x.xlsx")
    assert scan(tmp_path / "x.xlsx").read().values.shape == (299, 2)
    points.append(["p300", "a", "b"])
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(DataError, match=r"x\.xlsx::Points has no numeric columns: .* Do as gramian\.propose"):
        scan(tmp_path / "x.xlsx").read()


def test_lines_of_a_sheet_are_its_rows(tmp_path):
    book = openpyxl.Workbook()
    for row in (["A title"], [], ["two\nlines"], [], ["x", "y\nz"], [1, 2], [], [3, 4], ["* a note"]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    table = scan(tmp_path / "x.xlsx").read()
    assert (table.feature_names, table.values.tolist()) == (("x", "y\nz"), [[1, 2], [3, 4]])
    assert "the header was found in row 5" in table.notes[0]
    assert scan(tmp_path / "x.xlsx", header=5).read().values.tolist() == table.values.tolist()


def test_long_tables():
    assert seen("long.csv").long == ("subject", "test", "score")
    table = read("long.csv", pivot="subject,test,score", label="arm", missing="em")
    assert table.feature_names == ("memory", "speed", "naming", "balance")
    assert (table.row_names[0], table.labels[:2].tolist()) == ("s01", ["drug", "placebo"])
    assert table.values.shape == (15, 4)
    assert np.argwhere(np.isnan(table.values)).tolist() == [[3, 1], [9, 3]]
    assert table.values[0].tolist() == [43.7, 47.0, 49.5, 45.9]
    assert "58 rows became 15 rows x 4 columns, one for each 'test': 2 values are absent" in table.notes
    fewer = read("long.csv", pivot="subject,test,score", drop="speed,arm", missing="em")
    assert fewer.values.shape == (15, 3)
    wide = seen("long.csv", pivot=("subject", "test", "score"))
    assert (wide.row_names, wide.long, wide.width) == ("subject", None, 5)
    for name in ("german.csv", "patients.csv", "genes.tsv", "limits.csv"):
        assert seen(name).long is None, name


def test_rows_of_a_long_table_of_times_are_in_their_order():
    """A historian writes sensor after sensor, and the first one lacks a value."""
    for times in (
        ("2024-03-01 10:00", "2024-03-01 10:05", "2024-03-01 10:10"),
        ("1.2.2024", "2.2.2024", "13.2.2024"),
    ):
        lines = [f"{times[i]},p,{i}" for i in (2, 0)] + [f"{times[i]},q,{i + 5}" for i in (1, 0, 2)]
        table = read_text("\n".join(["time,tag,value", *lines]), pivot="time,tag,value", missing="em")
        np.testing.assert_array_equal(table.values, [[0, 5], [np.nan, 6], [2, 7]])
        assert list(table.row_names) == sorted(table.row_names)
        assert any("rows are in the order of time" in note for note in table.notes)


def test_long_tables_that_cannot_be_made_wide():
    twice = "id,what,x\na,u,1\na,v,2\nb,u,3\nb,u,4\n"
    for text, options in (
        (twice, {"pivot": "id,what,x"}),
        (twice, {"pivot": "id,what,y"}),
        (twice, {"pivot": "id,x,what"}),
        ("id,what,x,k\na,u,1,p\na,v,2,q\nb,u,3,p\n", {"pivot": "id,what,x", "label": "k"}),
        ("id,what,x\na,u,1\n,v,2\n", {"pivot": "id,what,x"}),
    ):
        with pytest.raises((DataError, ParameterError), match="standard input"):
            read_text(text, **options)
    for wrong in ("id", "id,id,x", "id,id"):
        with pytest.raises(ParameterError, match="is not three columns, or two where years are columns"):
            read_text(twice, pivot=wrong)
    with pytest.raises(DataError, match=r"no columns of numbers that years name, such as 2015\. Name the"):
        read_text(twice, pivot="id,x")


def countries(absent):
    """Return a table of 12 countries, 3 indicators and 4 years, of which the last one is empty."""
    lines = ['"Data Source","World Development Indicators",', "", '"Last Updated Date","2024-05-30",', ""]
    lines += [
        '"Country Name","Country Code","Indicator Name","Indicator Code","2018","2019","2020","2021",""'
    ]
    for i in range(12):
        for j in range(3):
            cells = [str((1 + (i + year) % 5) * 10**j) for year in range(3)] + [absent]
            cells = [absent if i == j and year > 1 else cell for year, cell in enumerate(cells)]
            fields = f"Land {i}", f"L{i}", f"What {j}", f"W.{j}", *cells, ""
            lines.append(",".join(f'"{field}"' for field in fields))
    return "\n".join(lines)


def test_years_across_the_columns_of_countries_and_indicators():
    of_all, label = "Country Name,Indicator Name", "year,Country Code"
    for text in (countries(".."), countries("")):
        data = io.BytesIO(text.encode())
        found = propose(scan(data))
        assert found.reading["pivot"] == ["Country Name", "Indicator Name", "2019"]
        assert f'2019 has most values, in 100.00 % of rows; "{of_all}" takes all years' in found[0].why
        table = scan(data, pivot=found.reading["pivot"]).read()
        assert table.feature_names == ("What 0", "What 1", "What 2")
        assert table.row_names[:2] == ("Land 0", "Land 1")
        table = read_text(text, pivot=of_all, label=label, missing="em")
        assert table.row_names[:4] == ("Land 0 2018", "Land 0 2019", "Land 0 2020", "Land 1 2018")
        assert table.labels[:4].tolist() == [2018, 2019, 2020, 2018]
        assert table.metadata["Country Code"][:4].tolist() == ["L0", "L0", "L0", "L1"]
        assert table.values[1].tolist() == [2, 20, 200]
        assert np.isnan(table.values[2]).tolist() == [True, False, False]
        assert "36 rows became 36 rows x 3 columns" in table.notes[-1]
    lines = countries("").splitlines()
    one = "\n".join(line for line in lines if "What 1" not in line and "What 2" not in line)
    assert "pivot" not in propose(scan(io.BytesIO(one.encode()))).reading


def test_limits_of_detection():
    table = read("limits.csv", label="zone", missing="em")
    assert int(np.isnan(table.values).sum()) == 5
    assert table.notes[0] == (
        "5 entries beyond a limit, such as '<0.3' in 'lead', count as missing, "
        "where half of each limit could be taken"
    )
    half = read("limits.csv", label="zone", below_limit="half").values
    assert half[np.isnan(table.values)].tolist() == [0.15, 0.15, 50.0, 0.15, 0.15]
    np.testing.assert_array_equal(half[~np.isnan(table.values)], table.values[~np.isnan(table.values)])
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        read("limits.csv", below_limit="third")


def test_limits_and_signs_in_late_rows_are_those_of_the_first():
    rows = "".join(f"{row}.5,${row}\n" for row in range(1000))
    late = f"x,y\n{rows * 100}<7,2\n(3),$1\n"
    values = scan(io.BytesIO(late.encode()), missing="drop-rows").open(1 << 20).values
    assert (values.shape, values[-1:].tolist()) == ((100_001, 2), [[-3, 1]])
    with pytest.raises(DataError, match="standard input has 1 column that holds no numbers:"):
        scan(io.BytesIO(f"{late}5,€1\n".encode())).open(1 << 20)


def test_blank_text_is_missing():
    table = read("blanks.csv", label="canton", missing="drop-rows")
    assert table.values[0].tolist() == [15251, 44585.47, 34.1]
    assert table.values.shape == (13, 3)
    canton = seen("blanks.csv").columns[1]
    assert (canton.missing, canton.distinct) == (2, 2)


def test_a_header_that_is_asked_for():
    text = "first,second\n1,2\nx,y\n3,4\n5,6\n"
    assert read_text(text, header=3).feature_names == ("x", "y")
    assert read_text(text, header=3).values.tolist() == [[3, 4], [5, 6]]
    assert read_text("1,2\n3,4\n", header=1).feature_names == ("1", "2")
    none = read_text("7,8\n1,2\n", header=0)
    assert (none.feature_names, none.values.tolist()) == (None, [[7, 8], [1, 2]])
    assert read_text("# by hand\n# x y\n1 2\n3 4\n", header=2).feature_names == ("x", "y")
    for header in (9, 2):
        with pytest.raises(ParameterError, match=r"of standard input is empty or does not exist\. Count"):
            read_text("x,y\n\n1,2\n", header=header)
    with pytest.raises(DataError, match="line 2: 3 fields where 1 are expected"):
        read_text("2020\na,b,c\n1,2,3\n4,5,6\n", header=1)
    for wrong in (-1, 1.5):
        with pytest.raises(ParameterError, match=r"must be a whole number of at least 0\."):
            read_text(text, header=wrong)
    with pytest.raises(ParameterError, match="header does not apply to standard input, which holds no"):
        scan(io.BytesIO(npy(np.eye(3))), header=1).read()
    with pytest.raises(ParameterError, match="pivot does not apply to standard input, which holds no"):
        scan(io.BytesIO(npy(np.eye(3))), pivot="a,b,c").read()


def test_where_tables_begin():
    for text, names, skipped in (
        ("A title\nx,y\n1,2\n3,4\n", ("x", "y"), 2),
        ("A title, with a comma\n\nx,y,z\n1,2,3\n3,4,5\n6,7,8\n", ("x", "y", "z"), 3),
        ("A title,,\n1,2,3\n4,5,6\n", None, 1),
        ("country,2019,2020,2021\nA,1.5,2,3\nB,3,4,5\n", ("country", "2019", "2020", "2021"), 1),
        ("2019,2020,2021\n2022,2023,2024\n", None, 0),
        ("x,y\n-,2\n3,4\n", ("x", "y"), 1),
        ("x,y\n3.O,2\n5,6\n", ("x", "y"), 1),
        ("name,x,y\na,,\nb,1,2\nc,3,4\n", ("name", "x", "y"), 1),
        (",Size,,Mass\nid,a,b,c\n1,2,3,4\n5,6,7,8\n", ("id", "a", "b", "c"), 2),
        (";2020;;2021;\nplace;min;max;min;max\nA;1;2;3;4\nB;5;6;7;8\n",
         ("place", "2020 min", "2020 max", "2021 min", "2021 max"), 2),
        ("age,<18,18-64,>65\nA,1,2,3\nB,4,5,6\n", ("age", "<18", "18-64", ">65"), 1),
        ("p,10%,50%\nA,1,2\nB,3,4\n", ("p", "10%", "50%"), 1),
        ("p,q\n10%,50%\n1%,2%\n", ("p", "q"), 1),
        ("Report; of 2020\n\na;b\n1,5;2\n2,5;3\n", ("a", "b"), 3),
        ("name,phone,x\na,079 123 456,1\nb,078 999 000,2\n", ("name", "phone", "x"), 1),
        ("line of a long preamble\n" * 40 + "x;y\n" + "1;2\n" * 60, ("x", "y"), 41),
    ):  # fmt: skip
        layout = detect_layout(text.encode(), "x.csv", most=200)
        assert (layout.names, layout.skipped) == (names, skipped), text
    names = [f"column_{number}" for number in range(20_000)]
    text = "\n".join([",".join(names), *[",".join(["1"] * 20_000)] * 3])
    layout = detect_layout(text.encode(), "x.csv")
    assert (list(layout.names), layout.plain) == (names, True)


def test_a_header_that_goes_on_in_the_first_row_is_named():
    text = "gene,s1,s2\nclass,A,B\ng1,1.5,2\ng2,3,4\n"
    with pytest.raises(DataError, match="standard input has no numeric columns:") as caught:
        read_text(text)
    assert "'s1' ('A' in row 0)" in str(caught.value)
    assert read_text(text, header=2).values.tolist() == [[1.5, 2], [3, 4]]


@pytest.mark.parametrize("name", ["penguins", *sorted(path.name for path in STRANGE.iterdir())])
def test_the_advice_of_a_refusal_reads_the_file(name, tmp_path):
    path = STRANGE / name
    if name == "penguins":
        rows = [f"{'ACG'[n % 3]},{'BD'[n % 2]},{n * 1.5},{n * n},{['m', 'f', ''][n % 3]}" for n in range(12)]
        path = tmp_path / "peng uins.csv"
        path.write_text("\n".join(["species,island,bill,mass,sex", *rows, "A,B,,,\n"]))
    try:
        scan(path).read()
    except DataError as error:
        if str(error).endswith("Do as gramian.propose suggests."):
            assert scan(path, **propose(path).reading).read().values.shape[1] > 1
            return
        advice = str(error).rpartition("ead it with ")[2].removesuffix(".")
    else:
        return
    assert np.isfinite(scan(path, **eval(f"dict({advice})")).read().values).all()


def test_one_column_beside_names_of_rows_as_r_writes_it():
    rows = [5.1, 6.3, 1.2]
    for head, names in (('"x"', ("1", "2", "3")), ('"","x"', ("1", "2", "3")), ('"x"', ("a", "b", "c"))):
        text = "\n".join([head, *(f'"{name}",{x}' for name, x in zip(names, rows, strict=True))])
        table = read_text(text)
        assert (table.feature_names, table.row_names, table.values[:, 0].tolist()) == (("x",), names, rows)
    titled = read_text("Towns\n2019,5\n2020,6\n2021,7\n")
    assert (titled.feature_names, titled.values.shape) == (None, (3, 2))


def test_groups_beyond_limits_are_text():
    text = "x,y\n" + "".join(f"{i}.5,{'<' if i % 3 else '>='} 50\n" for i in range(12))
    found = seen_text(text)
    assert (found.columns[1].kind, found.columns[1].distinct) == ("text", 2)


def test_slips_in_columns_of_numbers_are_named_and_read_as_meant():
    found = propose(STRANGE / "slips.csv")
    assert found.reading["slips"] == "read"
    assert found.reading["na_values"] == ["8-9"]
    for told in (
        '"7,9" in row 6 of "height" is most likely 7.9',
        '"1O.4" in row 33 of "weight" is most likely 10.4',
    ):
        assert told in found[0].why
    table = read("slips.csv", missing="em", **{name: found.reading[name] for name in ("slips", "na_values")})
    assert table.values[[6, 21, 9, 33], [0, 0, 1, 1]].tolist() == [7.9, 8.2, 12, 10.4]
    assert table.values[15, 2] == 0.05  # five percent among shares
    assert np.argwhere(np.isnan(table.values)).tolist() == [[16, 2]]
    assert "5 slips in columns of numbers, such as '7,9' for 7.9 in 'height': read as meant" in table.notes
    assert not any("commas" in note for note in table.notes)
    missing = read("slips.csv", missing="em", slips="missing", na_values="8-9").values
    assert np.isnan(missing).sum() == 6
    with pytest.raises(
        DataError, match=r"'7,9' in row 6, most likely 7\.9.*Do as gramian\.propose suggests\."
    ):
        read("slips.csv")


def test_a_slip_below_the_first_rows_is_read_and_codes_are_no_slips():
    rows = "".join(f"{i},{i % 7}.5\n" for i in range(200_000))
    text = f"x,y\n{rows}1,O.5\n"
    assert scan(io.BytesIO(text.encode()), slips="read").open(1 << 20).values[200_000:][0, 1] == 0.5
    with pytest.raises(DataError, match=r"'O\.5' in row 200000, most likely 0\.5\)\. Do as gramian"):
        scan(io.BytesIO(text.encode())).open(1 << 20)
    codes = "".join(f"{i}{'a' if i % 4 else ''},{i}\n" for i in range(40))
    assert "slips" not in propose(scan(io.BytesIO(f"house,x\n{codes}".encode()))).reading


def test_rows_that_are_sums_and_means_of_others_are_left_out():
    found = propose(STRANGE / "totals.csv")
    names = ("Total hills", "Total plain", "All", "Mean", "SD")
    assert {*found.reading["exclude"]} == {f"region={name}" for name in names}
    for told in (
        '"Total hills" is the sum of the 2 rows above',
        '"Total plain" is the sum of the 3 rows above',
        '"All" is the sum of the 5 rows above',
        '"Mean" is the mean of the 5 rows above',
        '"SD" is named as a statistic of the other rows',
    ):
        assert told in found[0].why
    table = read("totals.csv", **found.reading)
    assert table.row_names == ("Alm", "Bach", "Cleef", "Dorn", "Esch")
    # Its other proposals are about the rows that stay.
    assert (
        found.parameters == propose(scan(STRANGE / "totals.csv", exclude=found.reading["exclude"])).parameters
    )


def test_names_like_those_of_totals_are_no_totals():
    films = (
        "Total Recall",
        "Point Blank",
        "Blank",
        "Max",
        "Mean Streets",
        "Jaws",
        "Alien",
        "Up",
        "Her",
        "Big",
        "Eden",
    )
    rows = "".join(
        f"{name},{i * i % 11 + 3}.5,{i * 7 % 13}\n"
        for i, name in enumerate(films[5:] + films[:5] + films[5:7])
    )
    assert "exclude" not in propose(scan(io.BytesIO(f"film,a,b\n{rows}".encode()))).reading


def test_quality_controls_are_left_out_by_the_fewest_names():
    lines = [
        f"{'QC' if i % 5 == 0 else 's'}{i},{'qc' if i % 5 == 0 else 'AB'[i % 2]},{i * i % 17}.2,{i * 3 % 7}.1"
        for i in range(20)
    ]
    found = propose(scan(io.BytesIO("\n".join(["sample,class,a,b", *lines]).encode())))
    assert found.reading["exclude"] == ["class=qc"]
    assert (found[0].why, found.reading["label"]) == ('"qc" is named as a quality control', "class")
    people = "".join(f"{['QC', 'ON', 'BC', 'AB'][i % 4]},{i * i % 17}.2,{i * 3 % 7}.1\n" for i in range(20))
    assert "exclude" not in propose(scan(io.BytesIO(f"province,a,b\n{people}".encode()))).reading


def test_lines_below_the_header_and_repeated_headers_are_no_rows():
    table = read("questions.csv")
    assert (table.values.shape, table.feature_names) == ((24, 4), ("Q1", "Q2", "Q3", "Q4"))
    assert "1 line below the header was left out: " in table.notes[0]
    assert table.notes[1].startswith("line 2 describes the columns: 'How old are you?")
    assert table.descriptions["Q1"] == seen("questions.csv").columns[0].description == "How old are you?"
    table = read("repeated_header.csv")
    assert (table.values.shape, table.notes[0]) == ((24, 2), "lines that repeat the header were left out")
    words = "a,b\nx,y\n" + "1,2\n3,4\n5,6\n"
    with pytest.raises(DataError, match="'x' in row 0"):
        read_text(words)
    assert read_text(words, skip_after_header=1).values.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert read_text(words, header=1, skip_after_header=2).values.tolist() == [[3, 4], [5, 6]]
    units = "a,b\nkg,m\n1,2\n3,4\n"
    assert read_text(units, skip_after_header=1).units == {"a": "kg", "b": "m"}
    with pytest.raises(DataError, match="'kg' in row 0"):
        read_text(units, skip_after_header=0)
    # Rows of text in a table of text are rows.
    assert read_text("name,kind,x\nthe first,of two,1\nthe other,of two,2\n", label="kind").values.shape == (
        2,
        1,
    )


def test_repeated_headers_far_below_and_in_sheets(tmp_path):
    rows = "".join(f"r{i},{i % 7}.5\n" for i in range(150_000))
    source = scan(io.BytesIO(f"n,x\n{rows}n,x\nlast,1\n".encode()))
    assert source.open(1 << 20).values.shape == (150_001, 1)
    book = openpyxl.Workbook()
    for row in (("n", "x"), ("a", 1), ("n", "x"), ("b", 2)):
        book.active.append(row)
    book.save(tmp_path / "book.xlsx")
    assert scan(tmp_path / "book.xlsx").read().values.tolist() == [[1], [2]]


def test_dates_that_hide_in_numbers_are_times():
    found = {one.name: one for one in roles(STRANGE / "dates_in_numbers.csv")}
    told = {
        "visit": "holds days, the first one written as 20240120",
        "period": "holds months, the first one written as 202401",
        "date": "holds days since 1900, as in Excel",
        "logged": "holds seconds since 1970",
        "year": "holds years with fractions",
    }
    assert {name: one.why for name, one in found.items() if one.role == "time"} == told
    assert {found[name].role for name in ("flow", "depth")} == {"measure"}  # as large as dates are


def test_units_in_all_cells_of_a_column_are_slips_of_one_kind():
    text = "x,mass,room,mixed\n" + "".join(
        f"{i * i % 7},{i}.5 kg,{i}b,{i} {'kg' if i % 2 else 'm'}\n" for i in range(30)
    )
    found = propose(scan(io.BytesIO(text.encode())))
    assert found.reading["slips"] == "read"
    assert '"0.5 kg" in row 0 of "mass" is most likely 0.5 (kg)' in found[0].why
    assert found[0].evidence["columns"] == ["mass"]
    assert read_text(text, slips="read", columns="mass").values[:3, 0].tolist() == [0.5, 1.5, 2.5]
