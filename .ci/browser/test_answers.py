"""From a file of other people to a sentence that is true of it, in at most four clicks."""

import os
from pathlib import Path

import pytest

import gramian

expect = pytest.importorskip(
    "playwright.sync_api", reason="CONTRIBUTING.md says how to install Playwright"
).expect

EXAMPLES, SHARED = Path(gramian.__file__).parent / "examples", Path(__file__).parents[3] / "shared" / "data"
SHARED = Path(os.environ.get("GRAMIAN_TEST_DATA", SHARED))
ANSWERS = {
    EXAMPLES
    / "penguins.csv": "PC1 separates Gentoo from Adelie and Chinstrap, by a larger flipper_length_mm",
    EXAMPLES / "flowers.csv": "PC1 separates setosa from versicolor and virginica, by a smaller petal_length",
    EXAMPLES / "circle.csv": "These 60 rows show no direction that unrelated columns would not show.",
    EXAMPLES / "digits.npz": "components rebuild a picture of the fit up to",
    SHARED / "tables/datasets_USArrests.csv": "rises with Assault, Rape and Murder.",
    SHARED / "tables/tortues.csv": "The groups of sexe overlap",
    SHARED / "strange/F03_spectra_with_brix.csv": "peaks at 1452.",
    SHARED / "roles/tables/fivethirtyeight__drinks.csv": "is an overall size: all 4 columns rise together.",
    SHARED
    / "roles/tables/KMsurv__kidtran.csv": "The groups of gender are not told apart by the first components.",
    SHARED
    / "roles/tables/dslabs__olive.csv": "PC3 separates Sardinia from Northern Italy and Southern Italy",
}


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_a_file_becomes_an_answer_in_four_clicks(arrive, path):
    if not path.is_file():
        pytest.skip(f"{path} is not there; GRAMIAN_TEST_DATA names its folder")
    walk = arrive()
    page = walk.page
    walk.upload(path.name, path.read_bytes())  # two clicks: the file, and the button
    page.click("#run:enabled")  # the third
    expect(page.locator("#findings")).to_contain_text(ANSWERS[path])
    page.locator("#trust summary").click()  # the fourth: whether to believe it
    expect(page.locator("#trust")).to_contain_text("none was missed")
