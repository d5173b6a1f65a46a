from html import unescape

import numpy as np
import pytest

import gramian as package


def code_of(page):
    """Return the code at the end of a page: of Python, perhaps after the command."""
    return [unescape(part.split("</pre>")[0]) for part in page.read_text("utf-8").split("<pre>")]


def test_what_a_report_repeats_is_the_same_model(folder, gramian):
    for options in (
        "--n-components 2 --scale unit --random-state 3",
        "--kernel rbf --gamma median --n-components 0.9 --memory-limit 1GB",
        "--kernel 'rbf(sigma=2) + linear' --solver nystroem --n-landmarks 9 --n-components 2",
    ):
        gramian.works(f"fit flowers.csv --label species {options} -o m.gramian")
        first = package.load("m.gramian").explained_variance_
        # The label is not named here, and yet the code has to leave it out.
        ran = gramian("report m.gramian flowers.csv --id flower -o page.html")
        assert (ran.code, ran.out) == (0, "Written: page.html\n"), ran.err
        made = {}
        exec(code_of(folder / "page.html")[-1], made)
        np.testing.assert_allclose(made["model"].explained_variance_, first, rtol=1e-9)


@pytest.mark.walk
def test_other_rows_that_are_as_many_as_those_of_the_fit_are_not_taken_for_them(folder, gramian):
    rng = np.random.default_rng(0)
    for name in ("monday", "tuesday"):
        X = rng.normal(size=(48, 2)) @ np.array([[1, 2, 0, 1], [0, 1, 1, -1]]) + 0.1 * rng.normal(
            size=(48, 4)
        )
        lines = [
            ",".join("" if i % 9 == j else f"{x:.4f}" for j, x in enumerate(row)) for i, row in enumerate(X)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c,d", *lines]))
    for missing in ("em", "mean"):
        gramian.works(f"fit monday.csv --n-components 2 --missing {missing} -o m.gramian")
        for name, own in (("monday", True), ("tuesday", False)):
            gramian.works(f"report m.gramian {name}.csv -o page.html")
            page = (folder / "page.html").read_text("utf-8")
            assert ("These are not the rows of the fit." in page) is not own
            assert (f"scan('{name}.csv'" in code_of(folder / "page.html")[-1]) is own
            assert (f", applied to {name}.csv</h1>" in page) is not own


def test_reports_of_other_rows_of_no_rows_and_of_a_fit(folder, gramian):
    fit = "fit flowers.csv --label species --n-components 2"
    gramian.works(f"{fit} -o results --report")
    again = code_of(folder / "results" / "report.html")[-2]
    assert again.split() == f"gramian {fit} --report -o results --as-is".split()
    assert "[report.html](report.html)" in (folder / "results" / "summary.md").read_text()
    whole = gramian("report results new.csv -o new.html --json").json
    assert whole["files"] == ["new.html"]
    assert whole["trust"]["level"] in ("green", "amber", "red")
    assert whole["findings"]
    new = (folder / "new.html").read_text(encoding="utf-8")
    assert "These are 5 rows. The model was fitted on 30." in new
    assert "gramian fit" not in new
    gramian.works("report results")
    assert "X = ...  # the data of the fit" in (folder / "report.html").read_text(encoding="utf-8")


def test_what_is_refused(folder, gramian):
    gramian.works("fit flowers.csv --label species -o m.gramian")
    for arguments, words in (
        ("report m.gramian -o page.pdf", "Name a file that ends in .html"),
        ("report m.gramian nothing.csv", "no such file"),
        ("fit flowers.csv --label species -o n.gramian --report", "folder of results"),
    ):
        ran = gramian(arguments)
        assert ran.code != 0
        assert words in ran.err
    assert not (folder / "report.html").exists()


def test_a_saved_stream_of_too_few_rows_says_what_is_missing(folder, gramian):
    package.PCA(3).partial_fit(np.zeros((1, 4))).save("stream.gramian")
    for arguments in ("report stream.gramian -o page.html", "plot stream.gramian -o out"):
        gramian.refuses(arguments, 1, "1 row was read, but at least 3 are needed for n_components=3")
