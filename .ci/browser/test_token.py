"""Who may enter; and two windows of one person, of which one waits for the fit of the other."""

import re

import numpy as np
import pytest

from helpers import npy
from served import serving

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect

TOKEN = "correct-horse-battery"
# The whole spectrum of a kernel matrix of this size takes half a minute and more: the walk is over before.
LONG = np.random.default_rng(0).standard_normal((5000, 100)).astype(np.float32)


@pytest.fixture(scope="module")
def locked():
    with serving(token=TOKEN) as result:
        yield result


def test_without_the_token_there_is_its_page_only(arrive, sight, locked):
    walk = arrive(*sight, where=locked, refused=(401,))
    page = walk.page
    for path in ("/docs", "/data/" + "0" * 32, "/kernels"):
        page.goto(walk.url + path)
        expect(page.get_by_role("heading", level=1)).to_have_text("This page is not available")
    assert page.request.get(f"{walk.url}/api/v1/models").status == 401
    walk.shot("refused")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Enter").click()
    expect(page.locator(".bad")).to_contain_text("requires its token")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Enter").click()
    expect(page).to_have_url(f"{walk.url}/kernels")
    expect(page.get_by_role("heading", level=1)).to_have_text("Check a kernel")
    walk.example("rings")
    walk.run()
    assert page.evaluate("document.cookie") == ""


def test_the_address_that_the_server_prints_enters(arrive, locked):
    walk = arrive(where=locked, refused=(401,))
    walk.page.goto(f"{walk.url}/?token={TOKEN}")
    expect(walk.page).to_have_url(f"{walk.url}/")
    expect(walk.page.get_by_role("button", name="Two rings")).to_be_visible()


def test_a_long_fit_is_shown_makes_others_wait_and_ends_when_it_is_cancelled(arrive):
    first, second = arrive(), arrive(400, "dark", refused=(429,))
    first.upload("long.npy", npy(LONG))
    first.page.get_by_label("Kernel PCA").check()
    first.page.get_by_label("Components").fill("2500")
    first.page.click("#run:enabled")
    expect(first.page.get_by_role("progressbar")).to_be_visible()
    expect(first.page.locator("#jobs .percent")).to_have_text(re.compile(r"^\d+ %$"))
    expect(first.page.locator("#jobs .left")).to_have_text(re.compile("^(about|less than) .* left$"))
    announced = first.page.locator("#jobs [role=status]")
    expect(announced).to_contain_text("%, dense")  # a step that lasts
    heard, shown = announced.text_content(), first.page.text_content("#jobs .percent")
    expect(first.page.locator("#jobs .percent")).not_to_have_text(shown)
    assert announced.text_content() == heard  # not every tick
    first.shot("running")

    second.example("rings")
    second.page.click("#run:enabled")
    expect(second.page.locator("#say")).to_contain_text("At most 1 fit at the same time")
    expect(second.page.locator("#run")).to_be_enabled()
    second.shot("busy")
    second.page.get_by_label("Components").fill("3")
    expect(second.page.locator("#say")).to_have_text("")

    first.page.get_by_role("button", name="Cancel").click()
    expect(first.page.locator("#say")).to_have_text("Cancelled.")
    first.shot("cancelled")
    second.run()
    first.page.get_by_label("Components").fill("2")
    first.page.locator("input[value=PCA]").check()
    first.run()
