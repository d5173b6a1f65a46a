"""The curve or surface of an equation over the rows."""

import numpy as np
import pytest

import gramian
from gramian import figures
from gramian.errors import DataError
from gramian.figures.planes import zero_set

pytest.importorskip("matplotlib")


def test_a_relation_is_drawn_where_it_holds():
    t = np.linspace(0, 6, 80)
    free = np.random.default_rng(0).random(80)
    X = np.column_stack([3 + 1.5 * np.cos(t), free, 2 + 1.5 * np.sin(t)])
    law = gramian.relations(X)[0]
    chart = figures.relation(law, X, color=free)
    data = {name: np.array(values) for name, values in chart.data.to_pydict().items()}
    np.testing.assert_allclose(np.hypot(data["x"] - 3, data["y"] - 2), 1.5, atol=1e-3)
    assert np.hypot(data["x2"] - data["x"], data["y2"] - data["y"]).sum() == pytest.approx(
        3 * np.pi, rel=1e-3
    )
    assert chart.to_dict()["$schema"]
    far = X + np.array([0, 0, 1e7])
    assert figures.relation(gramian.relations(far)[0], far).data.num_rows > 100  # written with an origin
    four = np.column_stack([free, t, free**2, free + t + free**2])
    for law_, rows, message in [
        (gramian.relations(four, degree=1)[0], four, r"x1 \+ x2 \+ x3 - x4 = 0 is between 4"),
        (law, X[:, :2], "X has 2 columns, and the equation"),
        (gramian.relations(X), X, r"A Relations is no single equation\."),
    ]:
        with pytest.raises(DataError, match=message):
            figures.relation(law_, rows)


def test_a_surface_is_a_net_of_lines_on_which_the_equation_holds():
    flat = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    X = np.column_stack([flat[:, 0], np.full(60, 7.0) + flat[:, 1] ** 3, flat[:, 1], (flat**2).sum(axis=1)])
    law = next(one for one in gramian.relations(X) if one.equation == "x1^2 + x3^2 - x4 = 0")
    ends = zero_set(law, [(-1, 1), (-1, 1), (0, 2)])
    np.testing.assert_allclose(ends[..., 2], (ends[..., :2] ** 2).sum(axis=2), atol=0.01)
    for j, (low, high) in enumerate([(-1, 1), (-1, 1), (0, 2)]):  # lines at nine values of each column
        level = low + (high - low) * 0.25
        assert (np.abs(ends[..., j] - level) < 1e-12).all(axis=1).sum() > 10
        assert low - 1e-12 <= ends[..., j].min() < ends[..., j].max() <= high + 1e-12
    above = figures.relation(law, X, view=(0, 90)).data.to_pydict()  # x3 to the right, x1 down
    assert np.abs(above["x"]).max() <= 1 + 1e-9
    assert len(above["x"]) > 500
    points = X[:, [0, 2, 3]] * [1, 10, 100]
    model, law = gramian.PCA(scale="unit").fit(points), gramian.relations(points)[0]
    drawn = figures.directions(model, points, law=law, view=(0, 90))
    net = drawn.vconcat[0].layer[3].data.to_pandas()  # in units of the scales, as the points
    assert net[["from_x", "to_x"]].abs().to_numpy().max() == pytest.approx(np.abs(drawn.data["across"]).max())
    for other in (gramian.relations(X)[0], gramian.relations(points)):
        with pytest.raises(DataError, match=r"gramian\.relations\(X\)"):
            figures.directions(model, points, law=other)
