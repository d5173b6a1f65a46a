"""A fit outlives its page: it is found again, with progress, on any page, and cancelled by a click."""

import json
import re

import numpy as np
import pytest

from helpers import npy
from served import client_of, until

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect

# The whole spectrum of a kernel matrix of this size takes half a minute and more: the walk is over before.
LONG = np.random.default_rng(0).standard_normal((5000, 100)).astype(np.float32)
NAME = "Kernel PCA of long.npy"


def start(walk):
    walk.upload("long.npy", npy(LONG))
    walk.page.get_by_label("Kernel PCA").check()
    walk.page.get_by_label("Components").fill("2500")
    walk.page.click("#run:enabled")
    entry = walk.page.locator("#jobs li", has_text=NAME)
    expect(entry.get_by_role("progressbar")).to_be_visible()
    return entry


def test_a_fit_is_found_again_after_a_reload_and_from_other_pages(arrive, sight, server):
    walk = arrive(*sight)
    page, entry = walk.page, start(walk)
    place = page.url
    page.reload()
    expect(entry.locator(".left")).to_have_text(re.compile("so far|left"))
    # Its time is that of the fit, not of the page.
    expect(page.locator("#used")).to_contain_text("100 columns")
    expect(page.locator("#run")).to_be_disabled()
    walk.shot("reloaded")
    page.get_by_role("link", name="gramian").click()
    expect(page.get_by_role("heading", name="Running")).to_be_visible()
    expect(entry.get_by_role("progressbar")).to_be_visible()
    walk.shot("start")
    page.go_back()
    expect(page).to_have_url(place)
    expect(entry.get_by_role("progressbar")).to_be_visible()

    page.goto(walk.url)
    entry.get_by_role("button", name="Cancel").click()
    expect(page.locator("#say")).to_have_text("Cancelled.")
    expect(page.get_by_role("heading", name="Running")).to_be_hidden()
    page.goto(place)
    expect(page.locator("#run")).to_be_enabled()
    with client_of(server) as client:
        until(lambda: client.get("/api/v1/jobs").json()[-1]["state"] == "cancelled")


def test_a_fit_that_ends_elsewhere_is_a_link_with_its_data(arrive):
    walk = arrive()
    page = walk.page
    walk.example("rings")
    place = page.url
    walk.run()
    model = page.url
    page.goto(place)
    link = page.locator("#jobs").get_by_role("link", name="Kernel PCA of rings.csv")
    link.click()
    expect(page).to_have_url(model)
    assert "data=" in model
    assert "label=ring" in model


def test_another_fit_from_a_model_is_cancelled_on_its_page(arrive, server):
    walk = arrive()
    page = walk.page
    walk.upload("long.npy", npy(LONG))
    page.get_by_label("Kernel PCA").check()
    page.get_by_label("Components").fill("2")
    walk.run()
    place = page.url
    # The same fit again, but of the whole spectrum.
    page.route("**/api/v1/jobs", lambda route: route.continue_(post_data=whole(route.request)))
    page.locator("#rows-table tbody tr").first.click()
    page.get_by_role("button", name="Refit without the selected row").click()
    entry = page.locator("#jobs li", has_text="without 1 row")
    expect(entry.get_by_role("progressbar")).to_be_visible()
    walk.shot("refitting")
    entry.get_by_role("button", name="Cancel").click()
    expect(page.locator("#say")).to_have_text("Cancelled.")
    expect(entry).to_have_count(0)
    expect(page).to_have_url(re.compile(re.escape(place)))  # with the row that is selected
    with client_of(server) as client:
        until(lambda: client.get("/api/v1/jobs").json()[-1]["state"] == "cancelled")


def whole(request):
    """Return the fit that is asked for, of 2,500 components; None where nothing is sent."""
    if request.method != "POST":
        return None
    fit = request.post_data_json
    return json.dumps(fit | {"parameters": fit["parameters"] | {"n_components": 2500}})
