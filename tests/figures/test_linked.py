"""Figures that answer the pointer: Vega-Lite accepts them, whatever columns are called."""

import json

import numpy as np
import pytest

import gramian
from gramian.core.checks import plain
from gramian.tables.table import Table

pytest.importorskip("matplotlib")
HOSTILE = ("constructor", "</script><script>", "\x1b[31m", "$x$ & <b>", "datum['a']", "__proto__")


@pytest.fixture
def table():
    X = np.random.default_rng(0).normal(size=(24, 6)) * [9, 4, 2, 1, 1, 1]
    kinds = np.array(HOSTILE * 4)
    return Table(
        X, HOSTILE, labels=kinds, label_name=HOSTILE[1], row_names=[f"{k} {i}" for i, k in enumerate(kinds)]
    )


@pytest.mark.parametrize("name", ["scores", "biplot", "control_chart", "loadings"])
def test_hostile_names_are_drawn_and_end_no_script(name, table):
    vl_convert = pytest.importorskip("vl_convert")
    from gramian.figures import linked

    model = gramian.PCA(3).fit(table)
    rows = () if name == "loadings" else (table,)
    content = plain(getattr(linked, name)(getattr(gramian.figures, f"{name}_data")(model, *rows), 150))
    text = json.dumps(content)
    assert "<script" not in text
    assert "</script" not in text
    assert "\\u001b" not in text
    assert '"constructor"' not in text
    assert set(content) == {"spec", "title", "caption"}
    assert vl_convert.vegalite_to_vega(content["spec"])["marks"]
    if name in ("scores", "biplot"):
        assert len(content["spec"]["data"]["values"]) == 24
        assert content["spec"]["data"]["name"] == "rows"  # which the page reads


def test_a_unit_is_as_long_along_both_axes_of_the_page(table):
    from gramian.figures import linked

    data = gramian.figures.scores_data(gramian.PCA(3).fit(table), table)
    edges, size, equal = linked.framed(data.edges(), 150)
    assert equal
    np.testing.assert_allclose(*(np.ptp(edges, axis=1) / size), rtol=0.01)


def test_names_of_rows_and_arrows_overlap_nowhere_on_the_page():
    from gramian.figures import linked

    rng = np.random.default_rng(0)
    names = [f"row {i}" for i in range(50)]
    table = Table(rng.normal(size=(50, 6)), [f"column {j}" for j in range(6)], row_names=names)
    model = gramian.PCA(2).fit(table)
    for width in (85, 150):
        spec = linked.biplot(gramian.figures.biplot_data(model, table), width)["spec"]
        (x, y) = (
            next(one["encoding"][side]["scale"]["domain"] for one in spec["layer"] if "params" in one)
            for side in "xy"
        )
        unit = np.ptp([x, y], axis=1) / [spec["width"], spec["height"]]
        texts = [
            one for part in spec["layer"] if part["mark"]["type"] == "text" for one in part["data"]["values"]
        ]
        places = (np.array([(one["text_x"], one["text_y"]) for one in texts]) - [x[0], y[0]]) / unit
        halves = np.array([(linked.LETTER * len(one["text"]), linked.TEXT) for one in texts]) / 2
        low, high = places - halves, places + halves
        apart = (low[:, None] >= high).any(axis=2) | (high[:, None] <= low).any(axis=2)
        assert apart.sum() == len(texts) * (len(texts) - 1)
        assert {"column", "row"} == {one["text"].split()[0] for one in texts}
