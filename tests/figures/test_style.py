"""How figures are written, and that nothing is imported before."""

import itertools
import json
import re
import subprocess
import sys

import altair as alt
import numpy as np
import pytest
from gramian.figures._altair_style import OF_OBJECTS, Part, drawable, in_page, limits, room

import gramian
from gramian import figures
from gramian.errors import MissingExtraError, ParameterError
from gramian.figures.points import LabelLayout
from gramian.tables.table import Table

STARTS = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE html>", "json": b"{"}


@pytest.mark.walk
def test_a_figure_is_written_as_what_its_name_says(pca, X, tmp_path):
    chart = figures.scores(pca, X)
    for kind, start in STARTS.items():
        path = tmp_path / f"a.{kind}"
        chart.save(path)
        assert path.read_bytes().startswith(start)
    page = (tmp_path / "a.html").read_text()
    assert 'src="http' not in page  # opens where there is no network
    with pytest.raises(ParameterError, match=r"fp='a.bmp' has no known format. Use a name with .svg, .png"):
        chart.save("a.bmp")


def test_charts_can_be_set_beside_each_other_and_hold_any_number_of_rows(pca):
    chart = figures.scores(pca, np.random.default_rng(0).normal(size=(6000, 4)))
    assert chart.to_dict()["config"]["axis"]["labelFontSize"] == 11
    mine = chart.configure_axis(labelFontSize=20).to_dict()["config"]["axis"]
    assert (mine["labelFontSize"], mine["titleFontSize"]) == (20, 12)
    assert len((chart | figures.scree(pca)).to_dict()["hconcat"]) == 2


def test_figures_of_files_are_those_that_altair_writes(pca, X, monkeypatch):
    kinds = ["a", "b"] * (len(X) // 2) + ["a"] * (len(X) % 2)
    charts = [(figures.scores, X, {"color": kinds}), (figures.biplot, X, {}), (figures.scree, None, {})]
    with room(None):
        given = [
            draw(pca, *([] if rows is None else [rows]), **more).to_dict() for draw, rows, more in charts
        ]
    for name in ("copy", "to_dict"):
        monkeypatch.delattr(Part, name)
    for (draw, rows, more), spec in zip(charts, given, strict=True):
        assert json.dumps(draw(pca, *([] if rows is None else [rows]), **more).to_dict()) == json.dumps(spec)


def test_tables_go_where_altair_is_told_to_put_them(pca, X, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with alt.data_transformers.enable("json"):
        assert "url" in figures.scores(pca, X).to_dict()["data"]
    assert list(tmp_path.glob("*.json"))


@pytest.mark.walk
def test_nothing_that_draws_is_imported_before_a_figure_is_asked_for():
    program = (
        "import sys, gramian.figures, gramian.figures.names, gramian.figures.images\n"
        "assert not {'altair', 'vl_convert', 'PIL'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_missing_package_is_named_with_its_command(pca, X, monkeypatch, tmp_path):
    chart = figures.scores(pca, X)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "vl_convert", None)
        with pytest.raises(MissingExtraError, match="Writing figures needs vl-convert-python, which is not"):
            chart.save(tmp_path / "a.svg")
    program = (
        "import sys; sys.modules['altair'] = None\n"
        "import gramian\n"
        "try: gramian.figures.scree\n"
        "except gramian.errors.MissingExtraError as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert 'needs altair, which is not installed. Install it with: pip install "gramian[plots]"' in ran.stdout
    with pytest.raises(AttributeError, match="no attribute 'pie'"):
        gramian.figures.pie  # noqa: B018
    assert dir(figures) == figures.__all__


def test_names_hide_neither_points_nor_names():
    rng = np.random.default_rng(0)
    points = rng.uniform(10, 90, (40, 2))
    labels = LabelLayout([0, 100], [0, 100], (300, 300))
    labels.block(points)
    middle = labels.places(points, ["abcd"] * 40)
    kept = middle[np.isfinite(middle[:, 0])] * 3
    assert 10 < len(kept) < 40
    apart = np.abs(kept[:, None] - kept[None]) >= np.array([24, 11]) - 1e-9
    assert (apart.any(axis=2) | np.eye(len(kept), dtype=bool)).all()
    assert (np.abs(kept[:, None] - 3 * points[None]) >= np.array([15, 8.5]) - 1e-9).any(axis=2).all()


def test_an_axis_has_room_whatever_the_numbers():
    assert limits([3.0, 3.0]) == [1.5, 4.5]
    assert limits([], [np.nan]) == [-1.0, 1.0]
    low, high = limits([-1e150, 1e150])
    assert low < -1e150 < 1e150 < high


HOSTILE = [
    "</script><script>alert(1)</script>",
    "</SCRIPT x",
    "<!--<script>",
    "a\u2028b\u2029",
    "tab\t\x01\x0b\x1b[31m",
    "\ufffe\uffff\ufdd0",
    "half \udcff\ud800",
    "PC1.a[0]:Q",
    *sorted(OF_OBJECTS),
]


def charts(names):
    """Every figure that has names of columns, of rows, or labels."""
    X = np.random.default_rng(0).normal(size=(3 * len(names), len(names)))
    labels = np.array(names * 3, dtype=object)
    table = Table(X, tuple(names), row_names=tuple(names * 3))
    model = gramian.PCA(3).fit(table)
    yield figures.scores(model, table, color=labels, linked=True)
    for name in names[::4]:
        yield figures.scores(model, table, color=name)
    yield figures.biplot(model, table, color=labels)
    yield figures.correlation_circle(model, table)
    yield from (figures.loadings(model, kind=kind, position=names[0]) for kind in ("bars", "heat", "lines"))
    yield figures.face_scores(dict.fromkeys(names, X[:, 0]), {names[0]: 0.5}, title=names[1])
    yield figures.whitening(gramian.Whitener(n_components=2).fit(table), table)
    pair = Table(X[:, :2], tuple(names[:2]))
    yield figures.kernel_contours(gramian.KernelPCA(2, kernel="rbf").fit(pair), pair, color=labels)


def ranges_of_numbers(part):
    """The ranges of all scales of numbers in a specification."""
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    own = (isinstance(part, dict) and part.get("type") == "quantitative" and part.get("scale")) or {}
    return [own.get("range", []), *itertools.chain.from_iterable(map(ranges_of_numbers, parts))]


def test_a_page_interpolates_the_colours_of_scales_of_numbers(pca, X):
    pair = gramian.KernelPCA(1, kernel="rbf").fit(X[:, :2])
    stable = figures.stability(gramian.stability(pca, X, n_resamples=20))
    drawn = [
        stable,
        figures.kernel_contours(pair, X[:, :2]),
        figures.loadings(pca, kind="heat"),
        figures.scree(pca),
    ]
    colours = [str(ranges_of_numbers(in_page(chart.to_dict()))) for chart in drawn]
    assert "#0072B2" in colours[0]
    assert all("var(" not in one for one in colours)  # between variables Vega draws one colour


def texts(part):
    """Every text in a specification."""
    if isinstance(part, dict):
        part = [*part, *part.values()]
    if isinstance(part, list):
        return list(itertools.chain.from_iterable(map(texts, part)))
    return [part] if isinstance(part, str) else []


def fields(part):
    """What a specification says is a column of its data."""
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    own = {part["field"]} if isinstance(part, dict) and isinstance(part.get("field"), str) else set()
    return own.union(*map(fields, parts))


@pytest.mark.walk
def test_no_text_of_the_user_is_more_than_text_in_a_figure():
    plain = [f"name {place}" for place in range(len(HOSTILE))]
    for chart, same in zip(charts(HOSTILE), charts(plain), strict=True):
        spec = chart.to_dict()
        page = json.dumps(spec, ensure_ascii=False)
        assert not re.search("</script|<script|<!--", page, re.IGNORECASE)
        result = texts(spec)
        assert all(drawable(text) == text for text in result)
        assert all(text.isprintable() for text in result)
        assert not OF_OBJECTS.intersection(result)
        assert fields(spec) == fields(same.to_dict())


@pytest.mark.walk
def test_figures_of_hostile_text_are_drawn(tmp_path):
    """The program that draws would end the process."""
    model = gramian.PCA(2).fit(np.random.default_rng(0).normal(size=(20, 3)))
    hostile = (HOSTILE * 2)[:20]
    chart = figures.scores(model, np.eye(20, 3), color=hostile, names=hostile).properties(title=HOSTILE[4])
    for kind in ("svg", "png", "html"):
        chart.save(tmp_path / f"a.{kind}")
    page = (tmp_path / "a.html").read_text()
    assert "alert(1)" in page
    assert len(re.findall("</script>", page)) == page.count("<script")
    alone = alt.hconcat(chart, figures.scree(model))  # Altair's own from here on
    assert not re.search("</script|<!--", json.dumps(alone.to_dict()), re.IGNORECASE)


def test_ordinary_text_in_figures_stays_as_it_is():
    for name in ["a < b", "<b>", "x</y", "Größe (µm)", "长度", "constructors", "a'b\"c\\d", "100 %", ""]:
        assert drawable(name) == name
