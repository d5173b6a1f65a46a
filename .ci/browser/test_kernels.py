"""Functions that are kernels or not, in words and drawn."""

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
    expect(page.locator("#counterexample")).to_be_visible()
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
    expect(page.locator("#counterexample")).to_be_visible()
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
