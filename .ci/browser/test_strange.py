"""From a file as people have them to a right figure, in at most four clicks."""

from pathlib import Path

import pytest

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect

FILES = Path(__file__).parents[2] / "tests" / "strange"
# The columns that a fit uses, the rows, and what is said in the file or done about it.
EXPECTED = {
    "blanks.csv": (["population", "budget", "forêt"], 14, {"scale": "unit", "missing": "em"}),
    "comma_in_label.csv": (list("abc"), 60, {"label": "How much, if at all, do you like it?"}),
    "countries.csv": (
        [
            "GDP per capita (current US$)",
            "Life expectancy at birth, total (years)",
            "Fertility rate, total (births per woman)",
            "Access to electricity (% of population)",
        ],
        12,
        {"scale": "unit", "row-names": "Country Name"},
    ),
    "dates_in_numbers.csv": (["flow", "depth"], 30, {"scale": "unit", "label": "period"}),
    "dates.csv": (["ozone", "nitrate", "wind"], 30, {"scale": "unit"}),
    "elements.csv": (12 * ["sample"], 12, {"missing": "mean"}),
    "genes.tsv": (8 * ["sample"], 8, {"transform": "logcpm"}),
    "german.csv": (["Fläche", "Einnahmen", "Dichte", "Einwohner"], 18, {"scale": "unit", "label": "Land"}),
    "limits.csv": (["lead", "copper", "zinc", "coliforms"], 22, {"missing": "em", "label": "zone"}),
    "logger.dat": (["PTemp_C_Avg", "PAR_Den_Avg", "RH"], 60, {"scale": "unit"}),
    "long.csv": (["memory", "speed", "naming", "balance"], 15, {"missing": "em", "row-names": "subject"}),
    "money.csv": (["revenue", "profit", "margin", "staff"], 16, {"scale": "unit", "label": "sector"}),
    "notes_below.csv": (["depth", "area", "oxygen", "ph"], 18, {"scale": "unit", "row-names": "lake"}),
    "patients.csv": (["sodium", "potassium", "glucose", "urea"], 26, {"label": "ward"}),
    "players.csv": (["Age", "short", "medium", "long", "KP", "PPA"], 80, {"scale": "unit"}),
    "proteins.txt": (6 * ["sample"], 6, {"transform": "log", "missing": "mean"}),
    "questions.csv": (["Q1", "Q2", "Q3", "Q4"], 24, {"scale": "unit"}),
    "repeated_header.csv": (["iron", "zinc"], 24, {"scale": "unit", "row-names": "sample"}),
    "sheets.xlsx": (
        ["Harvest spring", "Harvest summer", "Sugar spring", "Sugar summer"],
        12,
        {"label": "meadow", "sheet": "Honey"},
    ),
    "slips.csv": (["height", "weight", "sugar"], 40, {"scale": "unit", "missing": "em"}),
    "soils.csv": (["silt", "clay", "pH"], 60, {"scale": "unit"}),
    "survey.csv": (["Q1", "Q2", "Q3", "Q4", "Q5"], 80, {}),
    "totals.csv": (["bakeries", "mills", "cafes", "share"], 5, {"scale": "unit", "row-names": "region"}),
    "title_with_link.csv": ([str(year) for year in range(2010, 2019)], 5, {"row-names": "Petajoules"}),
    "title_rows.csv": (["height_cm", "leaves", "soil_ph"], 24, {"scale": "unit", "label": "garden"}),
    "two_axes.csv": (None, 30, {"label": "Sample ID/Wavenumber"}),
    "two_tables.csv": (list("abc"), 40, {}),
    "units_row.csv": (["mass", "length", "pressure", "temperature"], 20, {"scale": "unit"}),
}


@pytest.mark.parametrize("name", sorted(one.name for one in FILES.iterdir()))
def test_a_file_becomes_a_figure_in_three_clicks(arrive, name):
    walk = arrive(refused=(422,))
    page, (columns, rows, chosen) = walk.page, EXPECTED[name]
    walk.upload(name, (FILES / name).read_bytes())  # two clicks: the file, and Upload
    expect(page.locator("#run")).to_be_enabled()
    in_order = "all => all.sort((a, b) => a.dataset.place - b.dataset.place).map(one => one.value)"
    used = page.locator("[name=use]:checked").evaluate_all(in_order)  # doubtful columns stand first
    if columns is None:
        assert len(used) == 60
    elif name in ("elements.csv", "genes.tsv", "proteins.txt"):  # columns of the file become rows
        expect(page.get_by_label("Swap rows and columns")).to_be_checked()
        assert len(used) == rows
    else:
        assert used == columns
        expect(page.locator("#used")).to_contain_text(f"Used: {len(columns)} columns, {rows} rows")
    for control, value in chosen.items():
        expect(page.locator(f"#{control}")).to_have_value(value)
    walk.run()  # the third
    figure = page.locator("[data-figure=scores] svg")
    expect(figure).to_be_visible()
    expect(figure).to_contain_text("PC1 (")
    walk.shot(name.partition(".")[0])
