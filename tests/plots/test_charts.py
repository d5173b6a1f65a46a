import xml.etree.ElementTree as ET

import numpy as np

from gramian.plots.charts import COLOURS, OTHER, bars, scatter, ticks

SVG = "{http://www.w3.org/2000/svg}"


def draw(labels=None, n=20):
    x = np.linspace(-1, 1, n)
    return scatter(
        x, x**2, title="a < b & c", x_title="PC1 (60.0 %)", y_title="PC2", labels=labels, label_title="kind"
    )


def texts(chart):
    return [element.text for element in ET.fromstring(chart.svg).iter(f"{SVG}text")]


def fills(chart):
    group = next(g for g in ET.fromstring(chart.svg).iter(f"{SVG}g") if g.get("class") == "points")
    return [circle.get("fill") for circle in group]


def test_a_scatter_has_a_point_a_row_and_titles():
    chart = draw()
    assert fills(chart) == [COLOURS[0]] * 20
    assert {"a < b & c", "PC1 (60.0 %)", "PC2"} <= set(texts(chart))


def test_labels_are_colours_with_a_legend():
    chart = draw(labels=["<x>", "y"] * 10)
    assert fills(chart) == list(COLOURS[:2]) * 10
    assert {"kind", "<x>", "y"} <= set(texts(chart))


def test_numbers_as_labels_lose_no_order_and_gain_no_decimals():
    assert [t for t in texts(draw(labels=np.array([10.0, 2.0] * 10))) if t in ("2", "10")] == ["2", "10"]


def test_many_numbers_are_a_scale_and_many_texts_are_cut():
    assert len(set(fills(draw(labels=np.arange(20))))) == 20
    chart = draw(labels=[f"person {i}" for i in range(20)])
    assert fills(chart).count(OTHER) == 20 - len(COLOURS)
    assert f"{20 - len(COLOURS)} others" in texts(chart)


def test_very_many_points_are_thinned_and_it_is_said():
    chart = draw(n=20_000)
    assert len(fills(chart)) == 5000
    assert any("5,000 of 20,000 rows" in text for text in texts(chart))


def test_constant_scores_can_be_drawn():
    chart = scatter(np.zeros(3), np.zeros(3), title="t", x_title="x", y_title="y")
    assert "nan" not in chart.svg


def test_bars_are_percent(tmp_path):
    chart = bars(np.array([0.7, 0.3]), ["PC1", "PC2"], title="Variances", y_title="%")
    assert {"PC1", "PC2", "0", "100", "each", "cumulative"} <= set(texts(chart))
    chart.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == chart.svg == chart._repr_svg_()


def test_ticks_are_few_and_inside():
    for low, high in [(0, 1), (-3e-7, 2e-6), (1e9, 1e9 + 5), (-1e5, 3e5)]:
        found = ticks(low, high)
        assert 2 <= len(found) <= 13
        assert all(low - 1e-9 * abs(low) <= t <= high + 1e-9 * abs(high) for t in found)
        assert ticks(1.0, 1.0) == [1.0]
