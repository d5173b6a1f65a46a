"""What the page proposes for a table, what a fit then uses, and what somebody sees first."""

import re
from importlib.resources import files

import pytest

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect

PENGUINS = files("gramian").joinpath("examples", "penguins.csv").read_text().splitlines()
NUMBERED = "\n".join(
    ["rownames," + PENGUINS[0], *(f"{i},{line}" for i, line in enumerate(PENGUINS[1:], 1))]
).encode()
USED = (
    "Used: 4 columns, 342 rows; 2 rows without any value were left out: row 3 (named '4'), "
    "row 271 (named '272')."
)
BOXES = "[name=use]:checked"
FIRST = "#rows-table tbody td:first-child"


def undo(page, words):
    return page.locator("li[data-option]", has_text=words).get_by_role("button")


def test_penguins_from_a_file_to_a_biplot_in_three_clicks(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    walk.choose("penguins.csv", NUMBERED)  # the first click
    expect(page.get_by_label("First lines of penguins.csv")).to_contain_text("1,Adelie,Torgersen,39.1")
    walk.shot("preview")
    page.get_by_role("button", name="Upload").click()
    expect(page.locator("#used")).to_have_text(USED)
    used = page.locator(BOXES).evaluate_all("all => all.map(one => one.value)")
    assert used == ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    for name, role in {"rownames": "row names", "species": "groups"}.items():
        expect(page.locator("#columns-table tr", has=page.get_by_label(f"use {name}"))).to_contain_text(role)
    expect(page.get_by_label("show island")).to_be_checked()
    expect(page.locator("li", has_text='"island" holds text: shown, but not used.')).to_be_visible()
    for option, value in {"#row-names": "rownames", "#label": "species", "#scale": "unit"}.items():
        expect(page.locator(option)).to_have_value(value)
    walk.shot("proposed")
    walk.run()  # the third
    figure = page.locator("[data-figure=scores]")
    expect(figure).to_contain_text("Gentoo")
    expect(figure).to_contain_text("body_mass_g")
    # PC1 is not the body mass alone.
    expect(page.locator("[data-figure=scores]")).to_contain_text(re.compile(r"PC1 \(68\.\d+ %"))
    walk.shot("model")


def test_every_proposal_is_undone_by_a_click_and_done_again(arrive, sight):
    walk = arrive(*sight, refused=(422,))
    page = walk.page
    walk.upload("penguins.csv", NUMBERED)
    used, error = page.locator("#used"), page.locator("#missing-error")
    expect(used).to_have_text(USED)
    undo(page, "looks like a time").click()
    expect(page.get_by_label("use year")).to_be_checked()
    expect(used).to_contain_text("5 columns, 342 rows; rows with missing values were dropped: 2 of 344")
    undo(page, "counts the rows").click()
    # Without names the rows are numbered from 0, and the column is not used as numbers unasked.
    expect(page.locator("#row-names")).to_have_value("")
    expect(page.get_by_label("use rownames")).not_to_be_checked()
    expect(used).to_contain_text("5 columns, 342 rows")
    page.get_by_label("use rownames").check()
    expect(used).to_contain_text("6 columns, 342 rows")
    undo(page, "counts the rows").click()
    expect(page.get_by_label("use rownames")).to_be_hidden()
    expect(used).to_contain_text("5 columns, 342 rows")
    undo(page, "have no measurement").click()
    expect(error).to_contain_text("8 values are missing")
    expect(page.get_by_label("Missing values")).to_have_attribute("aria-invalid", "true")
    walk.shot("missing")
    undo(page, "have no measurement").click()
    expect(used).to_contain_text("342 rows")
    expect(error).to_be_empty()
    undo(page, "of the variance because of its scale").click()
    expect(page.get_by_label("Column scaling")).to_have_value("")
    undo(page, "names 3 groups").click()
    expect(page.get_by_label("Groups (labels)")).to_have_value("")
    expect(page.get_by_label("use species")).to_be_disabled()
    undo(page, "looks like a time").click()
    walk.run()
    expect(page.locator("main")).to_contain_text("body_mass_g has 99.96 % of the variance")


def test_texts_among_numbers_are_read_as_missing_values_until_that_is_undone(arrive):
    walk = arrive()
    page = walk.page
    rows = [[f"{i * i % 7}.5", f"{i * 3 % 11}", f"{i * 5 % 13}", f"{i * 7 % 17}"] for i in range(40)]
    rows[20][1], rows[30][2] = "err", "off"
    walk.upload("sensors.csv", "\n".join(["a,b,c,d", *map(",".join, rows)]).encode())
    used, boxes = page.locator("#used"), page.locator(BOXES)
    expect(used).to_contain_text("4 columns, 40 rows")
    page.locator("#lines").click()
    undo(page, "are numbers but for").click()
    expect(used).to_contain_text("2 columns, 40 rows")
    expect(boxes).to_have_count(2)
    page.locator("#lines").click()
    expect(undo(page, "are numbers but for")).to_contain_text("Apply")
    expect(page.get_by_label("Missing values")).to_have_value("")
    walk.shot("texts")
    field = page.get_by_label("Entries that mean a missing value")
    expect(field).to_have_value("")
    field.fill("err, off, 0.5")
    page.get_by_role("button", name="Read again").click()
    expect(used).to_contain_text("4 columns, 40 rows")
    expect(page.locator("#columns-table tbody tr", has_text="a").first).to_contain_text("6")
    page.locator("#lines").click()
    field.fill("err, off")
    page.get_by_role("button", name="Read again").click()
    expect(used).to_contain_text("4 columns, 40 rows")
    walk.run()
    expect(page.locator("main")).to_contain_text("(1.2 %) were missing")


def test_row_names_stay_with_their_rows(arrive):
    walk = arrive()
    page = walk.page
    walk.upload("penguins.csv", NUMBERED)
    expect(page.locator("#used")).to_have_text(USED)
    walk.run()
    expect(page.locator(FIRST)).to_have_count(200)
    named = page.locator(FIRST).all_text_contents()
    page.go_back()
    expect(page.locator("#used")).to_have_text(USED)
    page.get_by_label("Row names").select_option("")
    expect(page.locator("#run:enabled")).to_be_visible()
    walk.run()
    expect(page.locator(FIRST)).to_have_count(200)
    # Names are those of the file; without names rows are numbered as in the file, from 0.
    assert page.locator(FIRST).all_text_contents() == [str(int(name) - 1) for name in named]
    walk.shot("numbered")


def test_a_wrong_number_of_components_is_said_beside_its_field(arrive, sight):
    walk = arrive(*sight, refused=(422,))
    page = walk.page
    walk.example("penguins")
    expect(page.locator("#run:enabled")).to_be_visible()
    field = page.get_by_label("Components")
    field.fill("7")
    error = page.locator("#components-error")
    expect(error).to_contain_text("at most 4 components")
    expect(error).to_have_attribute("role", "alert")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_attribute("aria-describedby", "components-help components-error")
    expect(page.locator("#plan-summary")).to_have_text("No plan yet: correct the field with the error.")
    expect(page.locator("#run")).to_be_disabled()
    walk.shot("components")
    page.get_by_label("Kernel PCA").check()
    page.get_by_label("Kernel", exact=True).select_option("own")
    field.fill("2")
    page.get_by_label("Expression").fill("rbf(")
    expect(page.locator("#expression-error")).to_contain_text("was never closed")
    expect(error).to_be_empty()
    walk.shot("expression")


def test_examples_are_cards_with_a_picture_of_their_result(arrive, sight):
    walk = arrive(*sight)
    pictures = walk.page.locator("[data-example] img")
    expect(pictures).to_have_count(4)
    for picture in pictures.all():
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("one => one.naturalWidth") == 250 or "png" in picture.get_attribute("src")
    walk.shot("start")


def test_a_file_is_dropped(arrive):
    walk = arrive()
    drop = """([zone, names]) => {
        const data = new DataTransfer();
        for (const name of names) data.items.add(new File(["a,b\\n1,2\\n3,5\\n"], name));
        const event = new DragEvent("drop", {dataTransfer: data, cancelable: true});
        document.querySelector(zone).dispatchEvent(event);
    }"""
    walk.page.evaluate(drop, [".drop", ["a.csv", "b.csv"]])
    expect(walk.page.locator("#file-error")).to_contain_text("One file at a time")
    walk.page.evaluate(drop, [".drop", ["a.csv"]])
    expect(walk.page.get_by_label("First lines of a.csv")).to_have_text("a,b\n1,2\n3,5\n")
    expect(walk.page.locator("#file-error")).to_be_empty()
    walk.page.get_by_role("button", name="Upload").click()
    expect(walk.page.locator("#used")).to_contain_text("2 columns, 2 rows")
