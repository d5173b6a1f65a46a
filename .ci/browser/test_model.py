"""The page of a model: parts by keyboard, figures in their cards, choosers, hostile names, no data."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_wine

import gramian
from helpers import npy

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect

HOSTILE = ("<img src=x onerror=alert(1)>", "`a` b `", "x" * 300, "שלום", "constructor", "</script>")


def groups(rows=60, columns=4):
    """Return a CSV file of numbers with two columns of groups."""
    rng = np.random.default_rng(0)
    head = ["kind", "place", *(f"c{j}" for j in range(columns))]
    lines = [
        [
            "ab"[i % 2],
            "north" if i % 3 else "south",
            *(f"{value:.3f}" for value in rng.standard_normal(columns) + i % 2),
        ]
        for i in range(rows)
    ]
    return "\n".join(map(",".join, [head, *lines])).encode()


def tab_to(page, wanted):
    for _ in range(120):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"Tab does not lead to {wanted}")


def test_parts_findings_and_certificate_by_keyboard(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    walk.upload("groups.csv", groups())
    walk.run()
    expect(page.locator("#findings")).to_contain_text(
        "The groups of kind overlap on the first components (the nearest group is right for"
    )
    tab_to(page, page.get_by_role("link", name="How it was computed"))
    page.keyboard.press("Enter")
    certificate = page.locator("#certificate")
    expect(certificate.locator("summary")).to_contain_text("The eigenvalues are accurate to")
    expect(certificate.locator("pre")).to_be_hidden()
    tab_to(page, certificate.locator("summary"))
    page.keyboard.press("Enter")
    expect(certificate.locator("pre")).to_contain_text("Certificate: holds")
    for name, heading in {"Loadings": "Loadings", "To repeat it": "To repeat it"}.items():
        link = page.get_by_role("navigation", name="Parts").get_by_role("link", name=name)
        tab_to(page, link)
        page.keyboard.press("Enter")
        title = page.get_by_role("heading", level=2, name=heading)
        expect(title).to_be_focused()
        expect(title).to_be_in_viewport()
        expect(link).to_have_attribute("aria-current", "true")
    expect(page.locator("#code")).to_contain_text("gramian.PCA(")
    walk.shot("end")


def test_figures_fill_their_cards_and_are_drawn_again_for_another_width(arrive):
    walk = arrive()
    page = walk.page
    walk.upload("groups.csv", groups())
    walk.run()
    expect(page.locator("[data-figure=control-chart]")).to_have_count(0)  # rows in no order
    for name in ("scores", "loadings", "correlation-circle"):
        card = page.locator(f"[data-figure={name}]")
        inside = card.evaluate("one => one.clientWidth - 2 * parseFloat(getComputedStyle(one).paddingLeft)")
        drawn = card.locator("svg").evaluate("one => one.getBoundingClientRect().width")
        assert 0.9 * inside <= drawn <= inside + 1, (name, drawn, inside)
    edges = page.locator(".cards > :not([hidden])").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().left)"
    )
    assert len(set(edges)) <= 2  # one grid
    walk.shot("wide")
    for width, height in ((390, 844), (844, 390), (390, 844)):  # a phone that is turned
        with page.expect_response("**/figures/biplot*"), page.expect_response("**/figures/scree*"):
            page.set_viewport_size({"width": width, "height": height})
        walk.shot(str(width))


def test_figures_follow_colour_shape_axes_and_theme(arrive):
    walk = arrive()
    page = walk.page
    walk.upload("groups.csv", groups())
    expect(page.get_by_label("Groups (labels)")).to_have_value("kind")
    walk.run()
    scores, said = (page.locator(f"[data-figure=scores] {part}") for part in ("svg", "figcaption"))
    expect(page.get_by_label("Arrows")).to_be_checked()  # of a few columns
    expect(said).to_contain_text("Arrows are loadings times")
    expect(scores).to_contain_text("c3")
    page.get_by_label("Arrows").uncheck()
    expect(said).not_to_contain_text("Arrows")
    expect(scores).not_to_contain_text("c3")
    expect(page.get_by_label("Colour")).to_have_value("kind")
    page.get_by_label("Colour").select_option("c1")
    expect(scores).to_contain_text("c1")
    page.get_by_label("Colour").select_option("")
    expect(scores).not_to_contain_text("c1")
    expect(page.get_by_label("Shape")).to_have_value("")  # no second grouping unasked
    page.get_by_label("Shape").select_option("place")
    expect(scores).to_contain_text("north")
    page.get_by_label("Shape").select_option("kind")
    expect(scores).not_to_contain_text("north")
    shapes = page.locator("[data-figure=scores] .mark-symbol.role-mark path")
    assert len(set(shapes.evaluate_all("all => all.map(one => one.getAttribute('d'))"))) == 2
    page.get_by_label("Y axis").select_option("PC3")
    for figure in ("scores", "correlation-circle"):
        expect(page.locator(f"[data-figure={figure}] svg")).to_contain_text("PC3 (")
    walk.shot("light")
    ink = "one => getComputedStyle(one).fill"
    words = page.locator("[data-figure=scree] svg text").first
    light = words.evaluate(ink)
    page.emulate_media(color_scheme="dark")
    assert words.evaluate(ink) != light  # without another request
    walk.shot("dark")


def test_hostile_names_and_300_columns(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    X = np.random.default_rng(0).standard_normal((30, len(HOSTILE)))
    lines = [",".join(['"' + name.replace('"', '""') + '"' for name in ("id", *HOSTILE)])]
    lines += [f"<b>{i}</b>," + ",".join(f"{value:.4f}" for value in row) for i, row in enumerate(X)]
    walk.upload("<img src=x onerror=alert(2)>.csv", "\n".join(lines).encode())
    walk.run()
    expect(page.locator("#rows-table")).to_contain_text("<b>")
    expect(page.locator("main img[src=x], main b > b")).to_have_count(0)
    walk.shot("hostile")
    walk.upload("wide.csv", groups(40, 300))
    walk.run()
    expect(page.get_by_label("Colour").locator("option")).to_have_count(203)
    walk.shot("300")


def test_a_model_without_data_and_without_scores(arrive, tmp_path):
    walk = arrive()
    page = walk.page
    X = np.random.default_rng(0).standard_normal((50, 4))
    for name, model in {"pca": gramian.PCA(2), "map": gramian.RandomFourierMap(20)}.items():
        path = tmp_path / f"{name}.gramian"
        model.fit(X).save(path)
        sent = page.request.post(
            f"{walk.url}/api/v1/models?name={name}",
            data=path.read_bytes(),
            headers={"Content-Type": "application/octet-stream"},
        )
        page.goto(f"{walk.url}/models/{sent.json()['id']}")
        page.wait_for_selector("main[data-ready]")
        expect(page.locator("[data-figure=scores]")).to_have_count(0)
        expect(page.get_by_role("link", name="Scores")).to_be_hidden()
        circle = page.locator("[data-figure=correlation-circle] svg")
        expect(circle).to_have_count(1 if name == "pca" else 0)
        expect(page.get_by_role("link", name="Model", exact=True)).to_be_visible()
        walk.shot(name)
    # A row of another table is explained, and nothing is offered that needs the order of the fit.
    sent = page.request.post(
        f"{walk.url}/api/v1/models?name=pca",
        data=(tmp_path / "pca.gramian").read_bytes(),
        headers={"Content-Type": "application/octet-stream"},
    )
    rows = page.request.post(
        f"{walk.url}/api/v1/data?name=rows.npy",
        data=npy(X),
        headers={"Content-Type": "application/octet-stream"},
    )
    page.goto(f"{walk.url}/models/{sent.json()['id']}?data={rows.json()['id']}")
    page.wait_for_selector("main[data-ready]")
    page.get_by_role("button", name="select row 3", exact=True).click()
    page.get_by_role("button", name="Why is it there?").click()
    expect(page.locator("#explanation")).to_contain_text("Row 3 is")
    expect(page.locator("#mend")).to_be_hidden()
    expect(page.locator("#say")).not_to_contain_text("Cannot")


def test_a_table_in_an_uploaded_npy_needs_no_names(arrive):
    walk = arrive()
    walk.upload("plain.npy", npy(np.random.default_rng(0).standard_normal((40, 3))))
    walk.run()
    expect(walk.page.locator("[data-figure=correlation-circle] svg")).to_be_visible()
    expect(walk.page.get_by_label("Shape")).to_have_count(0)


def test_further_questions_are_forms_made_of_options(arrive, sight):
    walk = arrive(*sight, refused=(422,))
    page = walk.page
    walk.example("penguins")
    walk.run()
    place = page.locator("#operation-stability")
    place.locator("summary").first.click()  # which answers it
    expect(place).to_contain_text("can be read alone")
    expect(place.locator("figure svg")).to_be_visible()
    place.get_by_text("Options").click()
    expect(place.get_by_label("n_resamples")).to_have_value("200")
    place.get_by_label("n_resamples").fill("20")
    place.get_by_role("button", name="Run").click()
    place.get_by_text("All numbers").click()
    expect(place.locator("pre")).to_contain_text("20 samples")
    expect(place.locator("figure svg")).to_be_visible()
    walk.shot("stability")
    place.get_by_label("level").fill("2")
    place.get_by_role("button", name="Run").click()
    expect(page.locator("#stability-level-error")).to_contain_text("level=2.0 must be")
    compared = page.locator("#operation-compare")
    compared.locator("summary").click()
    compared.get_by_role("button", name="Run").click()
    expect(compared).to_contain_text("The result is the same")
    together = page.locator("#operation-rotate")
    together.locator("summary").first.click()
    expect(together.locator("[role=status] > p").first).to_contain_text("of the variance).")
    expect(page.locator("#enough")).to_contain_text("Look at 2 or 3;")
    walk.shot("compared")
    walk.example("rings")
    walk.run()
    expect(page.locator("#operation-describe")).to_be_visible()
    expect(page.locator("#operation-stability, #operation-rotate, #operation-compare")).to_have_count(0)


def wine(scaled):
    """Return a model of the wines on the page: with columns of unit variance, or not."""
    data = load_wine()
    lines = [",".join(["kind", *data.feature_names])]
    lines += [
        ",".join(map(str, [f"k{kind}", *row])) for kind, row in zip(data.target, data.data, strict=True)
    ]
    return "\n".join(lines).encode(), "unit" if scaled else ""


def fitted(walk, content, scale):
    walk.upload("wine.csv", content)
    walk.page.get_by_label("Column scaling").select_option(scale)
    walk.page.get_by_label("Components").fill("3")
    walk.run()


def test_scores_are_above_the_fold_and_findings_above_the_numbers(arrive):
    walk = arrive()
    page = walk.page
    page.set_viewport_size({"width": 1280, "height": 800})
    fitted(walk, *wine(scaled=True))
    box = page.locator("[data-figure=scores] svg").bounding_box()
    assert box["y"] + box["height"] < 815
    fitted(walk, *wine(scaled=False))
    finding = page.locator(".finding")
    expect(finding).to_contain_text("roline has 99")
    places = [
        page.locator(one).bounding_box()["y"]
        for one in ("h1", ".finding", "#numbers", "nav.tabs", ".badge.good")
    ]
    assert places == sorted(places)
    assert page.locator("[data-figure=scores] svg").bounding_box()["y"] < 600
    walk.shot("serious")
    finding.get_by_role("button", name="Refit with columns of unit variance").click()
    page.wait_for_url("**/models/*", wait_until="commit")
    expect(page.get_by_role("heading", level=1)).to_contain_text("with columns of unit variance")
    page.wait_for_selector("main[data-ready]")
    expect(finding).to_have_count(0)
    trust = page.locator("#trust")
    expect(trust.locator("summary")).to_have_text(
        "Can I trust this? Yes. No check found anything that misleads."
    )
    trust.locator("summary").click()
    expect(trust).to_contain_text("The eigenvalues are accurate to")
    expect(page.locator("#numbers")).to_contain_text("66.53 % of the variance")


def test_rows_are_marked_and_left_out_of_another_fit(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    walk.upload("groups.csv", groups())
    walk.run()
    table, said = page.locator("#rows-table tbody tr"), page.locator("#selected")
    expect(table).to_have_count(60)
    heights = page.locator("#rows-table tbody tr").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert max(heights) < 26  # one line each
    inside = page.locator("#rows .wide").evaluate(
        "one => one.clientHeight - one.querySelector('thead').offsetHeight"
    )
    assert inside // max(heights) >= 24
    first, second = (table.nth(place).locator("button").text_content() for place in (0, 1))
    table.nth(0).click()
    expect(said).to_have_text(f"1 row selected: {first}")
    expect(table).to_have_count(60)  # the list stays
    expect(table.nth(0)).to_have_class("marked")
    bright = "all => all.filter(one => Number(one.getAttribute('opacity')) > 0.5).length"
    assert (
        page.locator("[data-figure=scores] svg .mark-symbol.role-mark path").evaluate_all(bright) == 1 + 4
    )  # arrows
    table.nth(1).locator("button").focus()
    page.keyboard.press("Enter")
    expect(said).to_have_text(f"2 rows selected: {first}, {second}")
    walk.shot("marked")
    page.get_by_label("Group").select_option("a")
    expect(said).to_have_text("Group a is selected.")
    expect(table).to_have_count(30)
    page.get_by_role("button", name="Refit with only a").click()
    page.wait_for_url("**/models/*", wait_until="commit")
    expect(page.locator("#numbers")).to_contain_text("30 rows")
    page.wait_for_selector("main[data-ready]")
    expect(table).to_have_count(30)
    row = table.nth(0).locator("button").text_content()
    assert int(row) % 2 == 0  # numbers are those of the file
    table.nth(0).click()
    page.get_by_role("button", name="Refit without the selected row").click()
    expect(page.locator("#numbers")).to_contain_text("29 rows")
    page.wait_for_selector("main[data-ready]")
    expect(page.locator("#rows-table")).not_to_contain_text(f"select row {row}")
    assert row not in page.locator("#rows-table tbody td:first-child").all_text_contents()
    walk.shot("refitted")


def test_a_figure_is_downloaded_with_its_data(arrive, tmp_path):
    walk = arrive(scheme="dark")
    page = walk.page
    walk.upload("groups.csv", groups())
    walk.run()
    card = page.locator("[data-figure=scores]")
    for kind, start in {
        "SVG": b"<?xml",
        "PNG": b"\x89PNG",
        "CSV": b"row,PC1,PC2,group",
    }.items():
        card.locator(".menu summary").click()
        with page.expect_download() as waiting:
            card.get_by_role("link", name=kind).click()
        assert waiting.value.suggested_filename == f"PCA-of-groups-biplot.{kind.lower()}"
        waiting.value.save_as(tmp_path / kind)
        content = (tmp_path / kind).read_bytes()
        assert content.startswith(start)
        assert b"var(" not in content
        page.keyboard.press("Escape")
    walk.shot("menu")


def reactor(rows=80, wild=56, holes=(3, 10, 11)):
    """Return a CSV file without names of rows, with a wild row below some that are left out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 1)) * [3, 2, 2, 1] + rng.standard_normal((rows, 4))
    X[wild] = [90, -80, 70, 60]
    lines = [
        ",".join(["ab"[i % 2], *("" if i in holes else f"{value:.11f}" for value in row)])
        for i, row in enumerate(X)
    ]
    return "\n".join(["phase,temp,pressure,flow,level", *lines]).encode()


def test_a_wild_row_is_named_as_in_the_file_and_left_out_under_that_name(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    walk.upload("reactor_log.csv", reactor())
    walk.run()
    expect(page.locator(".finding")).to_contain_text("Row 56 alone has")
    expect(page.locator("#rows-table tbody tr").first).to_contain_text("56")
    expect(page.locator("#trust summary")).to_have_text(
        "Can I trust this? Not as it stands. Read these points first."
    )
    page.get_by_role("button", name="Refit without row 56").click()
    page.wait_for_url("**exclude=56**")
    page.wait_for_selector("main[data-ready]")
    expect(page.locator("h1")).to_have_text("PCA of reactor_log.csv without row 56")
    expect(page.locator("#trust summary")).to_contain_text("With care.")
    walk.shot("refit")


def test_numbers_of_tooltips_and_tables_have_four_digits(arrive):
    walk = arrive()
    page = walk.page
    walk.upload("log.csv", log())
    expect(page.locator("#columns-table")).to_contain_text("minimum")
    assert not re.search(r"\.\d{5}", page.locator("#columns-table").inner_text())
    walk.run()
    assert not re.search(r"\.\d{5}", page.locator("#rows-table").inner_text())
    for name in ("scores", "control-chart", "loadings"):
        marks = page.locator(f"[data-figure={name}] :is(.mark-symbol, .mark-rect) path")
        marks.nth(1).hover(force=True)
        tip = page.locator("#vg-tooltip-element.visible")
        expect(tip).to_be_visible()
        numbers = re.findall(r"\d+\.\d+", tip.inner_text())
        assert numbers, name
        assert all(len(one.replace(".", "").strip("0")) <= 4 for one in numbers), (name, numbers)
        page.mouse.move(0, 0)


def test_the_way_back_from_a_model_leads_to_its_data_and_settings(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    walk.upload("reactor_log.csv", reactor())
    page.check("input[name=method][value=KernelPCA]")
    page.select_option("#kernel", "cosine")
    page.select_option("#scale", "unit")
    page.fill("#components", "2")
    page.fill("#exclude", "5, 7")
    page.uncheck("input[name=use][value=level]")
    expect(page.locator("#used")).to_contain_text("3 columns, 75 rows")
    walk.run()
    page.get_by_role("link", name="Data and settings").click()
    expect(page.locator("#used")).to_contain_text("3 columns, 75 rows")
    settings = {"components": "2", "kernel": "cosine", "scale": "unit", "exclude": "5, 7", "label": "phase"}
    for field, value in settings.items():
        expect(page.locator(f"#{field}")).to_have_value(value)
    expect(page.locator("input[name=method][value=KernelPCA]")).to_be_checked()
    expect(page.locator("input[name=use][value=level]")).not_to_be_checked()
    walk.shot("back")
    walk.run()
    expect(page.locator("#numbers")).to_contain_text("2 components")


def test_a_click_on_a_row_is_followed_by_the_reason(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    rows = [
        f"{10 + i * 37 % 101 / 50},{30 + i * 53 % 97 / 40},{5 + i * 29 % 89 / 60},{'ab'[i % 2]}"
        for i in range(60)
    ]
    rows[7] = "113.4,31.2,5.8,b"
    walk.upload("plots.csv", "\n".join(["height,width,depth,kind", *rows]).encode())
    walk.run()
    page.get_by_role("button", name="select row 7", exact=True).click()
    page.get_by_role("button", name="Why is it there?").click()
    expect(page.locator("#explanation-title")).to_contain_text("Row 7 is unusual")
    expect(page.locator("#causes")).to_contain_text(
        "height = 113.4 may be a slip of the decimal point: 11.34 would be usual"
    )
    expect(page.locator("#explanation-table tbody th").first).to_have_text("height")
    walk.shot("row")
    page.get_by_label("Group", exact=True).select_option("a")
    expect(page.locator("#explanation")).to_be_hidden()
    page.get_by_role("button", name="What tells a from the others?").click()
    expect(page.locator("#explanation-title")).to_contain_text("The means of 30 rows and 30 others")
    walk.shot("group")


def test_a_cell_is_corrected_set_to_missing_or_its_row_left_out_from_the_explanation(arrive, sight):
    walk = arrive(*sight, refused=(422,))
    page = walk.page
    rows = [
        f"r:{i},{10 + i * 37 % 101 / 50},{30 + i * 53 % 97 / 40},{5 + i * 29 % 89 / 60}" for i in range(60)
    ]
    rows[7] = "`r$ 7` <b>,113.4,31.2,5.8"
    walk.upload("plots.csv", "\n".join(["plot,height,width,depth=cm", *rows]).encode())
    walk.run()

    def why(row):
        page.get_by_role("button", name=f"select row {row}", exact=True).click()
        page.get_by_role("button", name="Why is it there?").click()
        page.locator("#explanation").wait_for()

    stable = page.locator("#operation-stability")
    expect(stable).to_be_visible()
    why("`r$ 7` <b>")
    expect(page.get_by_label("Correct", exact=True)).to_have_value("height")
    expect(page.get_by_label("to", exact=True)).to_have_value("11.34")
    walk.shot("mend")
    first = page.url
    page.get_by_role("button", name="Correct", exact=True).click()
    page.wait_for_url(lambda url: "corrections=" in url)
    page.wait_for_selector("main[data-ready]")
    expect(page.locator("#code")).to_contain_text("corrections=['`r$ 7` <b>:height=11.34']")
    expect(page.locator("h1")).to_have_text("PCA of plots.csv with height of `r$ 7` <b> corrected")
    # The other cells of a row are corrected too; a value that is no number is refused in words.
    why("r:3")
    page.get_by_label("Correct", exact=True).select_option("depth=cm")
    page.get_by_label("to", exact=True).fill("five")
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.locator("#say")).to_contain_text("corrections='r:3:depth=cm=five' is not understood")
    page.get_by_role("button", name="Set to missing").click()
    page.wait_for_url(lambda url: "missing=em" in url)
    page.wait_for_selector("main[data-ready]")
    expect(page.locator("#code")).to_contain_text(
        "missing='em', corrections=['`r$ 7` <b>:height=11.34', 'r:3:depth=cm=']"
    )
    expect(page.locator("#operation-describe")).to_be_visible()
    expect(stable).to_have_count(0)  # nothing is resampled of imputed rows
    page.get_by_role("link", name="Data and settings").click()
    expect(page.get_by_label("Cells to correct")).to_have_value("`r$ 7` <b>:height=11.34, r:3:depth=cm=")
    page.goto(first)  # which has the explanation
    page.wait_for_selector("main[data-ready]")
    page.get_by_role("button", name="Leave this row out").click()
    page.wait_for_url(lambda url: "exclude=" in url)
    page.wait_for_selector("main[data-ready]")
    expect(page.locator("#numbers")).to_contain_text("59 rows")


def log(rows=240):
    """Return a log in which the third sensor drifts from 150 on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2)) @ rng.normal(size=(2, 6)) + 0.2 * rng.normal(size=(rows, 6))
    X[150:, 2] += np.linspace(0, 6, rows - 150)
    times = np.datetime64("2024-05-01T00:00") + np.arange(rows) * np.timedelta64(10, "m")
    names = [str(time).replace("T", " ") for time in times]
    lines = [",".join([name, *map("{:.4f}".format, row)]) for name, row in zip(names, X, strict=True)]
    return "\n".join(["time," + ",".join(f"TI{j}" for j in range(6)), *lines]).encode()


def test_a_reference_period_is_dragged_or_named_and_events_follow(arrive, sight):
    walk = arrive(*sight, refused=(422,))
    page = walk.page
    walk.upload("log.csv", log())
    page.fill("#components", "2")
    walk.run()
    # By a headline that says when the rows leave the pattern, else by all rows.
    chart, said, events = (
        page.locator(one) for one in ("[data-figure=control-chart]", "#events-said", "#events tbody tr")
    )
    page.get_by_label("Normal rows: from").fill("2024-05-01")
    page.get_by_label("until", exact=True).fill("2024-05-01 15:50")
    page.get_by_role("button", name="Set limits").click()
    expect(said).to_contain_text("by the limits of rows 2024-05-01 to 2024-05-01 15:50")
    expect(events.first).to_contain_text("2024-05-02")
    expect(events.first.locator("td").last).to_contain_text("TI2")
    walk.shot("named")
    chart.locator("svg").evaluate("one => one.scrollIntoView({block: 'center'})")
    box = chart.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 105, steps=4)
    page.mouse.move(box["x"] + 0.55 * box["width"], box["y"] + 105, steps=4)
    page.mouse.up()
    expect(said).not_to_contain_text("to 2024-05-01 15:50")
    first = page.get_by_label("Normal rows: from")
    assert re.fullmatch(r"2024-05-01 0\d:\d\d", first.input_value())
    dragged = first.input_value()
    expect(page.locator("#say")).to_have_text("")
    walk.shot("dragged")
    page.reload()
    page.wait_for_selector("main[data-ready]")
    expect(first).to_have_value(dragged)
    page.get_by_role("button", name="By all rows").click()
    expect(said).not_to_contain_text("by the limits")
    first.fill("2031-01")
    page.get_by_label("until", exact=True).fill("2031-02")
    page.get_by_role("button", name="Set limits").click()
    expect(page.locator("#say")).to_contain_text(
        "has 0 rows of log.csv, too few for limits. Rows are from 2024-05-01 00:00 to"
    )
    page.get_by_label("Arrows").uncheck()  # what works then takes the error away
    expect(page.locator("#say")).to_have_text("")


def test_the_address_of_a_view_shows_it_again_in_another_browser(arrive, sight):
    walk, other = arrive(*sight), arrive(*sight)
    page = walk.page
    walk.upload("groups.csv", groups())
    walk.run()
    page.get_by_label("Y axis").select_option("PC3")
    page.get_by_label("Colour").select_option("place")
    page.get_by_label("Arrows").uncheck()
    page.get_by_role("button", name="select row 7", exact=True).click()
    page.get_by_role("button", name="Why is it there?").click()
    page.locator("#explanation").wait_for()
    expect(page.locator("[data-figure=scores] svg")).to_contain_text("PC3 (")
    for one in (page, other.page):
        if one is page:
            page.reload()
        else:
            one.goto(page.url)
        one.wait_for_selector("main[data-ready]")
        expect(one.get_by_label("X axis")).to_have_value("1")
        expect(one.get_by_label("Y axis")).to_have_value("3")
        expect(one.get_by_label("Colour")).to_have_value("place")
        expect(one.get_by_label("Arrows")).not_to_be_checked()
        expect(one.locator("[data-figure=scores] svg")).to_contain_text("PC3 (")
        expect(one.locator("#explanation-title")).to_contain_text("Row 7 is not unusual")
    # A group, Back, and names that are nowhere.
    page.get_by_label("Group", exact=True).select_option("north")
    group = page.url
    page.get_by_role("navigation", name="Parts").get_by_role("link", name="Loadings").click()
    page.get_by_role("button", name="Clear").click()
    page.go_back()
    page.wait_for_selector("main[data-ready]")
    expect(page.locator("#selected")).to_have_text("Group north is selected.")
    plain = re.sub("[?&](hue|components)=.*", "", group)
    page.goto(f"{plain}&hue=<b>&selected=nobody&group=$`<i>&components=99,x&style=none#nowhere")
    page.wait_for_selector("main[data-ready]")
    expect(page.get_by_label("Colour")).to_have_value("")
    expect(page.locator("#selected")).to_contain_text("Click points")
    expect(page.locator("#choose-x-error")).to_contain_text(
        "components=99,x in the address are not two of the components"
    )
    page.goto(f"{plain}&components=pc3,PC2")
    page.wait_for_selector("main[data-ready]")
    expect(page.get_by_label("X axis")).to_have_value("3")
    expect(page.get_by_label("Y axis")).to_have_value("2")


def test_a_log_becomes_the_time_and_the_column_of_its_fault(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    walk.upload("log.csv", log())
    walk.run()
    expect(page.locator("#findings")).to_contain_text("then TI2 leaves the pattern of the others")
    page.locator("#trust summary").click()
    expect(page.locator("#trust")).to_contain_text("follows the order of rows")
    walk.shot("log")
    expect(page.locator("#events-said")).to_contain_text(
        "by the limits of rows 2024-05-01 00:00 to 2024-05-01 19:50"
    )
    expect(page.locator("#events tbody tr").first).to_contain_text("TI2")
