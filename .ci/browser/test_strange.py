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
    "dates.csv": (["ozone", "nitrate", "wind"], 30, {"scale": "unit"}),
    "genes.tsv": (8 * ["sample"], 8, {"transform": "log1p"}),
    "german.csv": (["Fläche", "Einnahmen", "Dichte", "Einwohner"], 18, {"scale": "unit", "label": "Land"}),
    "limits.csv": (["lead", "copper", "zinc", "coliforms"], 22, {"missing": "em", "label": "zone"}),
    "long.csv": (["memory", "speed", "naming", "balance"], 15, {"missing": "em", "row-names": "subject"}),
    "money.csv": (["revenue", "profit", "margin", "staff"], 16, {"scale": "unit", "label": "sector"}),
    "notes_below.csv": (["depth", "area", "oxygen", "ph"], 18, {"scale": "unit", "row-names": "lake"}),
    "patients.csv": (["sodium", "potassium", "glucose", "urea"], 26, {"label": "ward"}),
    "sheets.xlsx": (
        ["Harvest spring", "Harvest summer", "Sugar spring", "Sugar summer"],
        12,
        {"label": "meadow", "sheet": "Honey"},
    ),
    "title_rows.csv": (["height_cm", "leaves", "soil_ph"], 24, {"scale": "unit", "label": "garden"}),
    "units_row.csv": (["mass", "length", "pressure", "temperature"], 20, {"scale": "unit"}),
}


@pytest.mark.parametrize("name", sorted(one.name for one in FILES.iterdir()))
def test_a_file_becomes_a_figure_in_three_clicks(arrive, name):
    walk = arrive(refused=(422,))
    page, (columns, rows, chosen) = walk.page, EXPECTED[name]
    walk.upload(name, (FILES / name).read_bytes())  # two clicks: the file, and Upload
    expect(page.locator("#run")).to_be_enabled()
    used = page.locator("[name=use]:checked").evaluate_all("all => all.map(one => one.value)")
    if name == "genes.tsv":  # columns of the file become rows
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
