"""Faces that are rebuilt and recognised."""

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
