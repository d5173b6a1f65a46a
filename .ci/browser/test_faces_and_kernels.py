"""Faces that are rebuilt and recognised, and functions that are kernels or not."""

import re

import pytest

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect


def test_a_face_is_rebuilt_better_by_more_components_and_recognised_by_who_agreed(arrive, sight):
    walk = arrive(*sight)
    page = walk.page
    walk.example("faces")
    expect(page.get_by_label("Face recognition")).to_be_checked()
    walk.shot("data")
    walk.run()
    stated, rebuilt, errors, seen = page.locator("#rebuilt-is"), page.locator("#rebuilt"), [], []
    for r in ("1", "5", "15"):
        page.locator("#r").fill(r)
        expect(stated).to_have_text(re.compile(rf"^{r} components, relative error "))
        errors.append(float(stated.text_content().split()[-1]))
        seen.append(rebuilt.evaluate("one => one.toDataURL()"))
    assert errors == sorted(errors, reverse=True)
    assert len(set(errors)) == 3
    assert seen[0] != seen[1] != seen[2]

    expect(page.locator("#identify")).to_be_hidden()
    expect(page.locator("#enroll")).to_be_disabled()
    page.get_by_label("The people in the pictures consent").check()
    page.locator("#enroll").click()
    expect(page.locator("#identify")).to_be_enabled()
    known = page.request.get(f"{walk.url}/api/v1/examples/door/known").body()
    page.set_input_files("#picture", {"name": "me.png", "mimeType": "image/png", "buffer": known})
    answers = {None: "This is ", "a stranger": "Unknown person", "a house": "Not recognised as a face"}
    for door, answer in answers.items():
        if door:
            page.get_by_role("button", name=door).click()
        expect(page.locator("#answer")).to_be_empty()
        page.locator("#identify:enabled").click()
        expect(page.locator("#answer")).to_contain_text(answer)
        walk.shot(door or "known")


def test_a_kernel_is_refuted_by_points_proven_or_misspelt(arrive, sight):
    walk = arrive(*sight, refused=(400, 422))
    page = walk.page
    page.get_by_role("link", name="Kernels").click()
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#verdict")).to_contain_text("not a kernel")
    expect(page.locator("#figure svg")).to_be_visible()
    walk.shot("refuted")
    page.get_by_label("Expression").fill("rbf + linear")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#verdict")).to_have_text("rbf() + linear(): valid")
    expect(page.locator("#text")).to_contain_text("proven")
    expect(page.locator("#figure svg")).to_have_count(0)
    walk.shot("proven")
    page.get_by_label("Expression").fill("rbf + lineer")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#say")).to_contain_text(
        "column 7: kernel 'lineer' is not known. Did you mean 'linear'?"
    )
    walk.shot("misspelt")
