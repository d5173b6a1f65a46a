"""Functions that are kernels or not, in words and drawn, and contours that follow a slider."""

import re

import pytest

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect


def check(page, expression):
    page.get_by_label("Expression").fill(expression)
    page.get_by_role("button", name="Check").click()


def test_a_kernel_is_refuted_by_points_proven_in_steps_or_misspelt(arrive, sight):
    walk = arrive(*sight, refused=(400, 422))
    page = walk.page
    page.get_by_role("link", name="Kernels").click()
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#badge")).to_have_text("not a kernel")
    expect(page.locator("#verdict")).to_be_focused()
    expect(page.locator("#figure svg")).to_be_visible()
    expect(page.locator("#figure-title")).to_have_text("Counterexample with 2 points")
    expect(page.locator("#sum")).to_contain_text(re.compile(r"^v.T K v = -0.\d+ < 0 with v = "))
    expect(page.locator("#eigenvalue")).to_contain_text("smallest eigenvalue of K is -0.05")
    walk.shot("refuted")

    check(page, "rbf + linear")
    expect(page.locator("#badge")).to_have_text("a kernel")
    expect(page.locator("#verdict")).to_have_text("rbf() + linear()")
    # Each step after those that it uses.
    steps = page.locator("#steps li")
    expect(steps).to_have_count(3)
    expect(steps.nth(0)).to_contain_text("Bochner")
    expect(steps.nth(2)).to_contain_text("A sum of kernels is a kernel.")
    expect(page.locator("#counterexample")).to_be_hidden()
    walk.shot("proven")

    check(page, "min(x, y)")
    expect(page.locator("#badge")).to_have_text("not a kernel")
    expect(page.locator("#figure svg")).to_be_visible()
    walk.shot("formula")

    check(page, "rbf + lineer")
    error, field = page.locator("#expression-error"), page.get_by_label("Expression")
    expect(error).to_contain_text("Column 7: kernel 'lineer' is not known. Did you mean 'linear'?")
    expect(error).to_have_attribute("role", "alert")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    shown, caret = error.locator("pre").text_content().splitlines()
    assert shown[caret.index("^") :] == "lineer"
    expect(page.locator("#found")).to_be_hidden()
    walk.shot("misspelt")
    check(page, "linear")
    expect(page.locator("#badge")).to_have_text("a kernel")
    expect(error).to_be_empty()
    assert field.get_attribute("aria-invalid") is None


def test_contours_follow_the_slider_while_it_moves(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    page.goto(f"{walk.url}/kernels")
    lines = page.locator("#panels path")
    expect(page.locator("#panels svg")).to_have_count(3)
    slider, drawings = page.get_by_label("Width σ"), set()
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    for share in (0.3, 0.5, 0.7, 0.9):
        with page.expect_response("**/kernels/contours"):
            page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        number = page.text_content("#own").removeprefix("rbf(sigma=").removesuffix(")")
        expect(page.locator("#play-formula")).to_contain_text(
            f"{float(number):.3g}"[:4]
        )  # of the latest position
        drawings.add(lines.first.get_attribute("d"))
    page.mouse.up()
    assert len(drawings) == 4
    walk.shot("moved")
    # By keyboard, and for another kernel and other points.
    page.get_by_label("Kernel", exact=True).select_option("polynomial")
    expect(page.locator("#own")).to_have_text("poly(degree=2, gamma=1)")
    page.get_by_label("Degree").press("ArrowRight")
    expect(page.locator("#own")).to_have_text("poly(degree=3, gamma=1)")
    expect(page.locator("#play-formula")).to_contain_text(re.compile(r"3$"))
    before = page.locator("#panels circle").first.get_attribute("cx")
    page.get_by_label("Points", exact=True).select_option("three groups")
    expect(page.locator("#panels circle.kind-2").first).to_be_visible()
    assert page.locator("#panels circle").first.get_attribute("cx") != before
    walk.shot("degree")
