"""For everybody: by keyboard alone, and what axe-core finds on each page."""

import json

import pytest

from served import client_of, fitted, serving

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect

GRAVE = ("serious", "critical")


def tab_to(page, wanted):
    """Press Tab until something has the focus, which can be seen."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            assert wanted.evaluate("one => getComputedStyle(one).outlineStyle") != "none"
            return
    raise AssertionError(f"Tab does not lead to {wanted}")


def test_the_keyboard_is_enough(arrive):
    walk = arrive()
    page = walk.page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    walk.shot("skip")
    tab_to(page, page.get_by_role("button", name="Two rings"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/data/*")
    tab_to(page, page.get_by_label("use x"))
    page.keyboard.press("Space")
    expect(page.get_by_label("use x")).not_to_be_checked()
    page.keyboard.press("Space")
    tab_to(page, page.get_by_label("Kernel PCA"))
    page.keyboard.press("ArrowLeft")
    expect(page.locator("input[value=PCA]")).to_be_checked()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("Kernel PCA")).to_be_checked()
    tab_to(page, page.get_by_label("Width σ"))
    expect(page.locator("#run")).to_be_enabled()
    tab_to(page, page.locator("#run"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/models/*")
    page.wait_for_selector("main[data-ready]")
    tab_to(page, page.get_by_role("button", name="select row").first)
    page.keyboard.press("Enter")
    expect(page.locator("#selected")).to_contain_text("1 row selected")
    walk.shot("marked")


@pytest.fixture
def places(arrive, server):
    """Return the addresses of all pages."""
    entries = {"start": "/", "kernels": "/kernels", "docs": "/docs", "problem": "/models/" + "0" * 32}
    fits = {"rings": [("PCA", {"n_components": 2}), ("KernelPCA", {"n_components": 3})], "penguins": []}
    fits |= {"digits": [("PCA", {"n_components": 5})], "faces": [("PCA", {"n_components": 20})]}
    with client_of(server) as client:
        for example, models in fits.items():
            data = client.post(f"/api/v1/examples/{example}").json()["id"]
            entries[f"data-{example}"] = f"/data/{data}"
            for estimator, parameters in models:
                label = {"reading": {"label": "ring"}} if example == "rings" else {}
                fit = {"data": data, "estimator": estimator, "parameters": parameters, **label}
                model = fitted(client, fit)["id"]
                asked = f"data={data}" + ("&label=ring" if label else "")
                entries[f"{estimator}-{example}"] = f"/models/{model}?{asked}"
    return entries


@pytest.fixture(scope="module")
def locked():
    with serving(token="a token for axe-core") as result:
        yield result


def examine(walk, name, axe):
    """Return what axe-core finds on a page, in either scheme of colours."""
    results = []
    walk.page.evaluate(axe)
    for scheme in ("light", "dark"):
        walk.page.emulate_media(color_scheme=scheme)
        walk.shot(f"{name}-{scheme}")
        told = walk.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        for rule in told["violations"]:
            places = [one["html"][:200] for one in rule["nodes"][:3]]
            if rule["impact"] in GRAVE:
                results.append(f"{name}, {scheme}: {rule['id']} ({rule['help']}) {json.dumps(places)}")
    return results


@pytest.mark.parametrize("width", [1280, 400])
def test_no_page_shuts_anybody_out(arrive, width, places, locked, axe):
    result = []
    walk, outside = arrive(width, refused=(404,)), arrive(width, where=locked, refused=(401,))
    for name, address in places.items():
        walk.page.goto(walk.url + address)
        if address.startswith("/models") and name != "problem":
            walk.page.wait_for_selector("main[data-ready]")
        if address.startswith("/data"):
            walk.page.wait_for_selector("#run:enabled")
        if name == "docs":
            assert walk.page.evaluate("document.body.scrollHeight") < 6000  # routes are folded
            walk.page.get_by_text("POST /api/v1/models/{id}/rotate").click()
            expect(walk.page.get_by_text("varimax keeps components uncorrelated").first).to_be_visible()
        if name == "kernels":
            walk.page.get_by_role("button", name="Check").click()
            expect(walk.page.locator("#counterexample")).to_be_visible()
        result += examine(walk, name, axe)
    outside.page.goto(outside.url)
    result += examine(outside, "login", axe)
    assert not result, "\n".join(result)
