"""How figures look and are written, where labels stand, and that nothing is imported before."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gramian
from gramian import figures
from gramian.figures import style
from gramian.figures.labels import Labels
from gramian.tables.table import Table
from helpers import boxes_of

STARTS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
SVG = "{http://www.w3.org/2000/svg}"


def texts_of(svg):
    return ["".join(one.itertext()) for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_figure_is_written_in_the_same_bytes_each_time(pca, X, tmp_path):
    for kind, start in STARTS.items():
        content, same = (style.encoded(figures.biplot(pca, X), kind) for _ in range(2))
        assert content.startswith(start)
        assert content == same
        figures.scores(pca, X).figure.savefig(tmp_path / f"a.{kind}")  # as everybody does
        assert (tmp_path / f"a.{kind}").read_bytes().startswith(start)


def test_defaults_yield_to_rcparams_and_change_nothing(pca, X):
    before = dict(mpl.rcParams)
    ax = figures.scores(pca, X)
    assert dict(mpl.rcParams) == before
    np.testing.assert_allclose(ax.figure.get_size_inches() * 25.4, [120, 90])
    assert ax.xaxis.label.get_size() == 8
    assert not ax.spines["top"].get_visible()
    ax.figure.draw_without_rendering()
    assert {one.get_size() for one in ax.get_xticklabels()} == {7}
    mine = {"figure.figsize": (5, 5), "font.size": 14, "axes.edgecolor": "red", "xtick.labelsize": 13}
    with mpl.rc_context(mine):
        ax = pca.biplot(X)
        ax.figure.draw_without_rendering()
        assert ax.figure.get_size_inches().tolist() == [5, 5]
        assert ax.xaxis.label.get_size() == 14
        assert ax.spines["left"].get_edgecolor() == (1, 0, 0, 1)
        assert {one.get_size() for one in ax.get_xticklabels()} == {13}
    with mpl.rc_context({"font.size": 16}):
        assert figures.scores(pca, X, hue=["a", "b"] * 10).get_legend().get_texts()[0].get_size() == 14
    with plt.style.context("dark_background"):
        ax = pca.biplot(X, labels=["a"] * 20)
        ax.figure.draw_without_rendering()
        texts = [*ax.get_xticklabels(), *ax.texts, ax.xaxis.label]
        assert {mpl.colors.to_hex(one.get_color()) for one in texts} == {"#ffffff"}
    assert figures.loadings(pca)[0].figure.number in plt.get_fignums()  # as everybody knows it


def test_a_canvas_has_a_size_and_no_pyplot_in_any_thread(pca, X):
    def draw(width):
        with style.canvas(width):
            ax = figures.biplot(pca, X)
            return style.width_mm(), style.encoded(ax)

    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(draw, [85, 180] * 4))
    assert [width for width, _ in drawn] == [85, 180] * 4
    assert len({content for _, content in drawn}) == 2
    assert not plt.get_fignums()


def test_an_svg_is_small_with_real_text(pca):
    X = np.random.default_rng(0).normal(size=(5000, 4))
    content = style.encoded(figures.scores(pca, X))
    assert len(content) < 120_000
    assert b"data:image/png;base64" in content  # the points
    assert any(text.startswith("PC1 (") for text in texts_of(content))
    names = style.encoded(figures.scores(pca, X[:9], labels=[f"row {i}" for i in range(9)]))
    assert "row 3" in texts_of(names)
    assert len(names) < 20_000


def test_a_caption_has_what_is_known_after_drawing(pca, X):
    ax = figures.scores(pca, np.repeat(X[:1], 20, axis=0), labels=["a long name of a row"] * 20)
    style.encoded(ax)
    assert "of 20 row names hidden to avoid overlap." in style.caption(ax)
    assert style.caption(plt.figure()) == ""


@pytest.mark.walk
def test_nothing_that_draws_is_imported_before_a_figure_is_asked_for():
    program = (
        "import sys, gramian.figures, gramian.report.results, gramian.figures.registry\n"
        "assert not {'matplotlib', 'vl_convert', 'PIL'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_missing_package_is_named_with_its_command():
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import gramian\n"
        "try: gramian.figures.scree\n"
        "except gramian.errors.MissingExtraError as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    said = 'needs matplotlib, which is not installed. Install it with: pip install "gramian[plots]"'
    assert said in ran.stdout
    with pytest.raises(AttributeError, match="no attribute 'pie'"):
        gramian.figures.pie  # noqa: B018
    assert dir(figures) == figures.__all__


def test_an_axis_has_room_whatever_the_numbers():
    assert style.limits([3.0, 3.0]) == [1.5, 4.5]
    assert style.limits([], [np.nan]) == [-1.0, 1.0]
    low, high = style.limits([-1e150, 1e150])
    assert low < -1e150 < 1e150 < high


# --------------------------------------------------------------------- labels


def labelled(ax):
    """Return the boxes of labels and the places of points, in pixels."""
    ax.figure.draw_without_rendering()
    (labels,) = (one for one in ax.artists if isinstance(one, Labels))
    boxes = np.array([box.extents for _, box in boxes_of(labels)]).reshape(-1, 4)
    return labels, boxes, ax.transData.transform(labels.obstacles)


def overlaps(boxes):
    apart = (boxes[:, None, :2] >= boxes[:, 2:]) | (boxes[:, None, 2:] <= boxes[:, :2])
    return (np.sum(~apart.any(axis=2)) - len(boxes)) // 2


def test_of_names_without_room_the_outermost_stay(pca):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(50, 2)), [[9, 0], [-9, 0], [0, 9], [0, -9]]])
    ax = style.subplots()
    style.set_edges(ax, style.edges_of(points))
    labels = Labels(ax)
    labels.block(points)
    labels.add(points, [f"name {i}" for i in range(54)], what="row name")
    _, boxes, _ = labelled(ax)
    assert 0 < len(boxes) < 54
    assert {f"name {i}" for i in range(50, 54)} <= {text for text, _ in boxes_of(labels)}
    assert overlaps(boxes) == 0
    assert (boxes[:, :2] >= ax.bbox.min).all()
    assert (boxes[:, 2:] <= ax.bbox.max).all()
    assert labels.sentence() == f"{54 - len(boxes)} of 54 row names hidden to avoid overlap."


def real_tables(folder):
    """Return tables of up to 55 named rows."""
    states = pd.read_csv(folder / "tables" / "datasets_USArrests.csv", index_col=0)
    yield states
    for name in ("HistData__Guerry", "MASS__crabs", "cluster__animals", "datasets__freeny"):
        table = pd.read_csv(folder / "roles" / "tables" / f"{name}.csv").dropna().head(55)
        texts = table.select_dtypes(exclude="number")
        names = texts.iloc[:, -1] if texts.shape[1] else [f"case {i}" for i in table.index]
        yield table.select_dtypes("number").set_axis(names)


@pytest.mark.walk
def test_labels_overlap_at_no_size_of_real_tables(data_dir):
    shown = covering = 0
    for table in real_tables(data_dir):
        model = gramian.PCA(2, scale="unit").fit(table)
        for width in (85, 120, 180):
            for draw in (model.plot, model.biplot):
                with style.canvas(width):
                    _, boxes, points = labelled(draw(table))
                assert overlaps(boxes) == 0
                inside = (points > boxes[:, None, :2]) & (points < boxes[:, None, 2:])
                shown += len(boxes)
                covering += np.sum(inside.all(axis=2).any(axis=1))
    assert shown > 500
    assert covering <= 0.05 * shown


# -------------------------------------------------------------- hostile names

HOSTILE = [
    "</text><script>alert(1)</script>",
    "<!--<script>",
    "a\u2028b\u2029",
    "tab\t\x01\x0b\x1b[31m",
    "\ufffe\uffff\ufdd0",
    "half \udcff\ud800",
    "$x^$_{",
    "_hidden",
    "50 % \\alpha {",
    "a\nb",
    'x="1.23456" id="text_1"',
    "&amp; & ]]>",
]


def charts(names):
    """Every figure that has names of columns, of rows, or labels."""
    X = np.random.default_rng(0).normal(size=(3 * len(names), len(names)))
    labels = np.array(names[:5] + names[:4] + names[:3], dtype=object).repeat(3)
    table = Table(X, tuple(names), row_names=tuple(names * 3))
    model = gramian.PCA(3).fit(table)
    yield figures.scores(model, table, hue=labels, title=names[6])
    yield figures.scores(model, table, hue=names * 3, labels=names * 3)
    yield figures.scores(gramian.PCA(1).fit(table), table, hue=labels)
    yield from (figures.scores(model, table, hue=name) for name in names[::4])
    yield figures.biplot(model, table, hue=labels)
    yield figures.correlation_circle(model)
    yield from (figures.loadings(model, kind=kind) for kind in ("bars", "lines"))
    yield figures.rotation(gramian.rotate(model))
    yield figures.metadata(gramian.describe(model, table, dict.fromkeys(names, labels)))
    yield figures.whitening(gramian.Whitener(n_components=2).fit(table), table)
    pair = Table(X[:, :2], tuple(names[:2]))
    yield figures.kernel_contours(gramian.KernelPCA(2, kernel="rbf").fit(pair), pair, hue=labels)


@pytest.mark.walk
def test_texts_of_the_user_are_texts_of_the_figure():
    drawn = [style.drawable(name, 28) for name in HOSTILE]
    every = set()
    for ax in charts(HOSTILE):
        svg = style.encoded(ax)
        texts = texts_of(svg)
        every.update(texts)
        assert all(text.isprintable() for text in texts)
        assert b"<script" not in svg
    missing = [
        name for name in drawn if " ".join(name.split()) not in {" ".join(one.split()) for one in every}
    ]
    assert not missing


def test_letters_without_a_glyph_are_drawn_without_a_warning(pca, X):
    for kind in STARTS:
        assert style.encoded(figures.scores(pca, X, labels=["\U00010900"] * 20), kind)


@pytest.mark.walk
def test_figures_of_hostile_text_are_written_as_pixels_and_pages():
    for ax in charts(HOSTILE):
        for kind in ("png", "pdf"):
            assert style.encoded(ax, kind).startswith(STARTS[kind])


def test_ordinary_text_in_figures_stays_as_it_is():
    for name in ["a < b", "<b>", "x</y", "Größe (µm)", "长度", "constructors", "a'b\"c\\d", "100 %", ""]:
        assert style.drawable(name) == name
    assert style.drawable("x" * 60) == "x" * 20 + "…" + "x" * 19
