import numpy as np
import pytest


@pytest.fixture
def ring(folder):
    t = np.linspace(0, 6, 80)
    rows = np.column_stack([3 + 1.5 * np.cos(t), 2 + 1.5 * np.sin(t)])
    lines = [f"{x!r},{y!r}" for x, y in rows.tolist()]
    (folder / "ring.csv").write_text("width,height\n" + "\n".join(lines) + "\n")
    return folder / "ring.csv"


LAW = "width^2 + height^2 - 6 width - 4 height + 10.75 = 0"


def test_laws_are_printed(ring, gramian):
    ran = gramian.works(f"relations {ring}")
    assert ran.out.startswith("1 relation up to degree 2 (6 monomials) in 80 distinct rows x 2 columns:")
    assert LAW in ran.out


def test_laws_as_json(ring, gramian):
    facts = gramian(f"relations {ring} --degree 3 --json").json
    assert facts["degree"] == 3
    assert facts["monomials"] == 10
    (law,) = facts["relations"]
    assert law["equation"] == LAW
    assert law["columns"] == ["width", "height"]
    assert law["powers"] == [[0, 0], [1, 0], [0, 1], [2, 0], [0, 2]]
    np.testing.assert_allclose(law["coefficients"], [10.75, -6, -4, 1, 1])
    assert law["residual"] < 1e-14


def test_infinity_is_no_json(ring, gramian):
    facts = gramian(f"relations {ring} --columns width --degree 1 --json").json
    assert facts["relations"] == []
    assert facts["nearest_other"] == pytest.approx(1)
    (ring.parent / "line.csv").write_text("a,b\n" + "\n".join(f"{i},7" for i in range(20)) + "\n")
    facts = gramian("relations line.csv --columns b,a --degree 1 --json").json
    assert [law["equation"] for law in facts["relations"]] == ["b - 7 = 0"]


def test_constant_columns_are_equations_and_not_left_out(folder, gramian):
    rng = np.random.default_rng(0)
    rows = [f"r{i},{a!r},{b!r},7" for i, (a, b) in enumerate(rng.standard_normal((20, 2)).tolist())]
    (folder / "constant.csv").write_text("id,a,b,c\n" + "\n".join(rows) + "\n")
    ran = gramian("relations", folder / "constant.csv", "--degree 1")
    assert "c - 7 = 0" in ran.out
    assert "20 distinct rows x 3 columns" in ran.out
    assert "proposed" not in ran.err


def test_no_law_is_no_failure_and_reading_options_choose_the_data(folder, gramian, ring):
    ran = gramian.works("relations flowers.csv --label species --tol 0.01")
    assert ran.out.startswith("No relation up to degree 2")
    assert "in 40 distinct rows" in gramian(f"relations {ring} --rows 0:40").out


def test_what_is_wrong_is_said(ring, gramian):
    for arguments, code, message in [
        ("--rows 0:5", 1, "5 rows and 6 monomials"),
        ("--degree 0", 2, "must be a whole number"),
        ("--degree 60", 2, "1,891 monomials up to it, more than 500"),
        ("--tol 2", 2, "must be a number above 0 and below 1"),
        ("--tol small", 2, "tol='small' is not a number"),
    ]:
        gramian.refuses(f"relations {ring} {arguments}", code, message)


def test_a_figure_of_an_equation(ring, gramian):
    ran = gramian.works(f"relations {ring} -o circle.svg")
    assert "Written: circle.svg" in ran.out
    assert "10.75 = 0" in (ring.parent / "circle.svg").read_text(encoding="utf-8")
    for given, code, message in [
        ("-o circle.csv", 2, "-o circle.csv: relations writes a figure. Name a file that ends in .svg"),
        ("--degree 1 -o no.svg", 1, "no equation is between two columns"),
    ]:
        gramian.refuses(f"relations {ring} {given}", code, message)
    assert not (ring.parent / "no.svg").exists()
