"""From a file to a model: columns, plan, figures linked with rows, downloads; and files that are bad."""

import io
import re
import zipfile

import numpy as np
import pytest

import gramian
from helpers import npy
from served import X

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect

SYMBOLS = "[data-figure=scores] svg .mark-symbol.role-mark >> nth=0 >> path"  # rows; then heads of arrows
TABLE = "#rows-table tbody tr"


def table_with_everything():
    """Return a CSV file with names, kinds, holes and a constant, and the names of its rows."""
    rng, names = np.random.default_rng(0), [f"plant {place}" for place in range(30)]
    lines = ["name,kind,length,width,height,planet"]
    for place, name in enumerate(names):
        a, b, c = rng.standard_normal(3) + place % 3
        lines.append(f"{name},{'abc'[place % 3]},{a:.4f},{'' if place in (4, 7) else f'{b:.4f}'},{c:.4f},3")
    return "\n".join(lines).encode(), names


def places_of(walk):
    """Return where on the screen the points of the figure of scores are."""
    walk.page.locator("[data-figure=scores] .place").scroll_into_view_if_needed()
    read = """all => all.map(one => { const box = one.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2]; })"""
    return np.array(walk.page.locator(SYMBOLS).evaluate_all(read))


def test_a_table_is_marked_planned_fitted_and_its_points_select_rows(arrive, sight):
    walk = arrive(*sight, refused=(422,))
    page, (content, names) = walk.page, table_with_everything()
    walk.upload("plants.csv", content)
    expect(page.locator("#columns-table tr.marked th")).to_have_text(["width", "planet"])
    expect(page.locator("#columns-table tr", has_text="planet")).to_contain_text("constant")
    expect(page.get_by_label("use kind")).to_be_disabled()
    expect(page.get_by_label("Row names")).to_have_value("name")
    expect(page.get_by_label("Groups (labels)")).to_have_value("kind")
    expect(page.get_by_label("use planet")).not_to_be_checked()
    expect(page.locator("li", has_text='"planet" is the same in all rows: left out.')).to_be_visible()
    expect(page.get_by_label("Missing values")).to_have_value("em")
    page.locator("li[data-option=missing]").get_by_role("button").first.click()
    expect(page.locator("#missing-error")).to_contain_text("2 values are missing")
    expect(page.get_by_label("Missing values")).to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Fill with means").click()
    expect(page.locator("#plan-summary")).to_contain_text("Plan: solver")
    expect(page.locator("#used")).to_have_text(
        "Used: 3 columns, 30 rows; 2 missing values in 1 column were filled with column means."
    )
    expect(page.locator("#missing-error")).to_be_empty()
    walk.shot("columns")
    walk.run()
    expect(page.locator("#numbers")).to_contain_text("3 columns")
    expect(page.locator(TABLE)).to_have_count(30)
    assert max(map(len, page.locator("#rows-table td.n").all_text_contents())) < 12
    walk.shot("model")

    places = places_of(walk)
    across = np.sort(places[:, 0])
    widest = 6 + np.diff(across[6:24]).argmax()
    edge = across[widest : widest + 2].mean()
    inside = places[:, 0] < edge
    low, high = places.min(axis=0) - 4, (edge, places[:, 1].max() + 4)
    page.mouse.move(*low)
    page.mouse.down()
    page.mouse.move(*high, steps=5)
    page.mouse.up()
    expect(page.locator("#selected")).to_contain_text(f"{inside.sum()} rows selected")
    result = page.locator(f"{TABLE} td:first-child").all_text_contents()
    assert sorted(result) == sorted(name for name, one in zip(names, inside, strict=True) if one)
    walk.shot("selected")
    page.mouse.click(edge + 3, low[1])
    expect(page.locator(TABLE)).to_have_count(30)

    page.get_by_label("select row plant 4", exact=True).click()
    expect(page.locator("#selected")).to_have_text("1 row selected: plant 4")
    opaque = page.locator(SYMBOLS).evaluate_all("all => all.map(one => Number(one.getAttribute('opacity')))")
    assert [place for place, one in enumerate(opaque) if one > 0.5] == [4]


def test_rings_are_told_apart_by_the_third_component_of_a_kernel(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    walk.example("rings")
    expect(page.get_by_label("Kernel PCA")).to_be_checked()
    expect(page.locator("#plan")).to_contain_text("200 x 200 kernel values")
    page.locator("#run-card details").evaluate("one => { one.open = true; }")
    with page.expect_request("**/api/v1/plans") as planned:
        page.get_by_label("Width σ").fill("0.6")
        assert page.locator("#run").is_disabled()
    assert "rbf(sigma=0.6)" in planned.value.post_data
    walk.shot("sigma")
    page.get_by_label("Width σ").fill("")
    walk.run()
    expect(page.get_by_role("heading", name="Lines of equal score")).to_be_visible()
    assert page.locator("[data-figure=contours] svg path").count() > 20
    expect(page.get_by_label("X axis")).to_have_value("1")
    page.get_by_text("PC3 separates").click()
    expect(page.get_by_label("X axis")).to_have_value("3")
    expect(page.locator("[data-figure=scores] svg")).to_contain_text("PC3 (")
    fills = page.locator(SYMBOLS).evaluate_all("all => all.map(one => one.getAttribute('fill'))")
    across, kinds = places_of(walk)[:, 0], np.array(fills)
    first, second = (across[kinds == kind] for kind in sorted(set(kinds)))
    assert first.max() < second.min() or second.max() < first.min()
    walk.shot("model")


def test_another_line_is_the_header_and_last_lines_are_left_out(arrive, sight):
    walk = arrive(*sight, refused=(422,))
    page = walk.page
    rows = "".join(f"p{i},{20 + i * 37 % 101 / 10},{7 + i * i * 53 % 97 / 10}\n" for i in range(20))
    walk.upload("plots.csv", f"Plots of 2021\n\nplot,height,width\n{rows}9,29,9\n".encode())
    expect(page.locator("#lines")).to_have_text("The header is line 3 of the file")
    expect(page.locator("#used")).to_contain_text("2 columns, 21 rows")
    page.locator("#lines").click()
    expect(page.locator("#lines-table tr.marked")).to_have_text(re.compile(r"header\s*plot\s*height\s*width"))
    walk.shot("lines")
    page.get_by_role("button", name="take line 4 as the header").click()
    expect(page.get_by_label("use 20.0")).to_be_visible()
    expect(page.locator("#lines")).to_have_text("The header is line 4 of the file")
    page.go_back()
    page.locator("#lines").click()
    page.get_by_label("Lines to leave out at the end").fill("1")
    page.get_by_role("button", name="Read again").click()
    expect(page.locator("#used")).to_contain_text("2 columns, 20 rows")
    expect(page.locator("#lines")).to_have_text(
        "The header is line 3 of the file; 1 line at the end left out"
    )
    page.locator("#lines").click()
    page.get_by_label("Lines to leave out at the end").fill("99")
    page.get_by_role("button", name="Read again").click()
    expect(page.locator("#reading .error")).to_contain_text("has no rows")
    expect(page.locator("#used")).to_contain_text("2 columns, 21 rows")


def test_a_column_is_shown_but_not_used_and_rows_are_left_out(arrive, sight):
    walk = arrive(*sight, refused=(422,))
    page, rng = walk.page, np.random.default_rng(0)
    samples = [f"sample{i}" for i in range(12)]
    lines = [",".join([name, *(f"{x:.3f}" for x in rng.standard_normal(4))]) for name in samples]
    walk.upload("table.csv", "\n".join(["sample,a,b,c,age", *lines]).encode())
    expect(page.locator("#used")).to_contain_text("4 columns, 12 rows")
    page.get_by_label("use age").uncheck()
    page.get_by_label("show age").check()
    expect(page.locator("#used")).to_contain_text("3 columns, 12 rows")
    page.get_by_label("Rows to leave out").fill("sample3, sample5")
    expect(page.locator("#used")).to_contain_text("3 columns, 10 rows")
    page.get_by_label("Rows to leave out").fill("sample33")
    expect(page.locator("#exclude-error")).to_contain_text("sample33")
    walk.shot("exclude")
    page.get_by_label("Rows to leave out").fill("")
    expect(page.locator("#run")).to_be_enabled()
    walk.run()
    expect(page.locator("[data-figure=scores] svg")).to_contain_text("age")


def test_kernel_pca_is_scaled_too_and_follows_what_is_proposed_for_it(arrive):
    walk = arrive()
    page = walk.page
    walk.example("penguins")
    expect(page.get_by_label("Column scaling")).to_have_value("unit")
    page.get_by_label("Kernel PCA").check()
    expect(page.get_by_label("Components")).to_have_attribute("placeholder", "10, or all")
    expect(page.get_by_label("Column scaling")).to_have_value("unit")
    expect(page.locator("li", has_text="this is the width")).to_be_visible()
    with page.expect_request("**/api/v1/jobs") as asked:
        page.click("#run:enabled")
    fit = asked.value.post_data_json
    assert fit["parameters"] == {"scale": "unit", "kernel": "rbf", "gamma": "median"}
    page.wait_for_url("**/models/*")


def test_further_questions_about_data_need_no_model(arrive, sight):
    walk = arrive(*sight, refused=(422,))
    page = walk.page
    walk.example("rings")
    page.get_by_role("button", name="Further questions").click()
    place = page.locator("#operation-relations")
    expect(page.locator("#operations summary").first).to_be_focused()
    place.locator("summary").click()
    place.get_by_role("button", name="Run").click()
    expect(place.locator("pre")).to_be_visible()
    walk.shot("relations")
    selected = page.locator("#operation-select")
    selected.locator("summary").click()
    k = selected.locator("#select-k")
    k.fill("many")
    selected.get_by_role("button", name="Run").click()
    expect(page.locator("#select-k-error")).not_to_be_empty()
    k.fill("1")
    selected.get_by_role("button", name="Run").click()
    expect(selected.locator("pre")).to_be_visible()


def test_questions_about_data_are_about_the_first_of_several_labels_and_columns_as_scaled(arrive):
    walk = arrive()
    walk.example("penguins")
    walk.page.get_by_role("button", name="Further questions").click()
    enough = walk.page.locator("#operation-choose-components")
    enough.locator("summary").first.click()
    enough.get_by_role("button", name="Run").click()
    expect(enough).to_contain_text("keep 3 to compress")
    selected = walk.page.locator("#operation-select")
    selected.locator("summary").click()
    selected.get_by_role("button", name="Run").click()
    expect(selected.locator("pre")).to_contain_text("4 features by mutual-information with 3 classes")
    kernel = walk.page.locator("#operation-choose-kernel")
    kernel.locator("summary").first.click()
    for scale in ("unit", ""):
        walk.page.get_by_label("Column scaling").select_option(scale)
        with walk.page.expect_response("**/choose-kernel?*") as asked:
            kernel.get_by_role("button", name="Run").click()
        assert (asked.value.status, "&scale=unit" in asked.value.url) == (200, bool(scale))


def test_components_of_digits_are_pictures(arrive, sight):
    walk = arrive(*sight)
    walk.example("digits")
    walk.shot("data")
    walk.run()
    pictures = walk.page.get_by_role("group", name="Components as pictures")
    expect(pictures).to_be_visible()
    assert pictures.locator("img, image").count()
    walk.shot("model")


def test_what_is_downloaded_opens(arrive, tmp_path):
    walk = arrive()
    page = walk.page
    walk.example("rings")
    walk.run()
    kept = {}
    for link, name in {
        "Results folder": "results.zip",
        "Report": "report.html",
        "Model": None,
    }.items():
        with page.expect_download() as waiting:
            page.get_by_role("link", name=link, exact=True).click()
        path = kept[link] = tmp_path / (name or "found.gramian")
        assert name in (None, waiting.value.suggested_filename)
        waiting.value.save_as(path)
    with zipfile.ZipFile(kept["Results folder"]) as archive:
        assert archive.testzip() is None
        archive.extract("model.gramian", tmp_path)
    models = [gramian.load(tmp_path / "model.gramian"), gramian.load(kept["Model"])]
    np.testing.assert_array_equal(models[0].projection_coef_, models[1].projection_coef_)
    assert "<svg" in kept["Report"].read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def truncated():
    stream = io.BytesIO()
    np.savez(stream, X=X)
    return stream.getvalue()[:-200]


def test_a_bad_file_is_refused_in_words_and_the_page_goes_on(arrive, sight, truncated):
    walk = arrive(*sight, refused=(400, 422))
    page, said = walk.page, walk.page.locator("#say")
    bad = {
        "cut.npz": truncated,
        "uneven.csv": b"a,b\n1,2\n3\n4,5,6\n",
        "page.csv": b"<!doctype html><html><body><p>Not found, sorry</p></body></html>",
        "empty.csv": b"",
    }
    for name, content in bad.items():
        walk.upload(name, content)
        error = page.locator("#file-error, #plan-summary-error")
        expect(error).to_have_text(re.compile(r"\w+ .*\."))
        expect(error).to_have_attribute("role", "alert")
        print(f"{name}: {error.text_content()}")
        if page.url.rstrip("/") == walk.url:
            expect(page.locator("#file")).to_have_attribute("aria-invalid", "true")
            expect(page.locator("#file")).to_have_attribute("aria-describedby", re.compile("file-error"))
        expect(said).not_to_contain_text(re.compile("Traceback|/tmp|object Object|undefined"))
        walk.shot(name.partition(".")[0])
    walk.upload("good.npy", npy(X))
    page.wait_for_url("**/data/*")
    walk.run()


def test_a_document_is_said_to_be_no_table(arrive):
    walk = arrive(refused=(400,))
    walk.upload("report.pdf", b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n")
    expect(walk.page.locator("#file-error")).to_contain_text(
        "report.pdf is not a table: it is a PDF document"
    )
