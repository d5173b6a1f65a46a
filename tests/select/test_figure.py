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
    data = figures.relation_data(law, X, hue=free)
    (circle,) = data.holds
    np.testing.assert_allclose(np.hypot(*(circle - [3, 2]).T), 1.5, atol=1e-3)
    assert np.hypot(*np.diff(circle, axis=0).T).sum() == pytest.approx(3 * np.pi, rel=1e-3)
    assert list(data.columns) == ["x", "z"]
    ax = figures.relation(law, X, hue=free)
    assert ax.figure.get_suptitle() == data.title == str(law)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), circle)
    assert not figures.relation(law, X, title=None).figure.get_suptitle()
    far = X + np.array([0, 0, 1e7])
    assert len(figures.relation_data(gramian.relations(far)[0], far).holds[0]) > 100  # written with an origin
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
    lines = zero_set(law, np.array([[-1, -1, 0], [1, 1, 2]]))
    for line in lines:
        np.testing.assert_allclose(line[:, 2], (line[:, :2] ** 2).sum(axis=1), atol=0.01)
    for axis in range(3):  # of planes x, y, z = constant
        assert len({line[0, axis] for line in lines if not np.ptp(line[:, axis])}) > 20
    ax = figures.relation(law, X, view=(0, 90))
    assert (ax.name, ax.azim, ax.elev) == ("3d", 0, 90)
    points = X[:, [0, 2, 3]] * [1, 10, 100]
    model, law = gramian.PCA(scale="unit").fit(points), gramian.relations(points)[0]
    data = figures.directions_data(model, points, law=law)
    np.testing.assert_allclose(law(np.concatenate(data.holds) * model.scale_), 0, atol=1)
    for other in (gramian.relations(X)[0], gramian.relations(points)):
        with pytest.raises(DataError, match=r"gramian\.relations\(X\)"):
            figures.directions(model, points, law=other)
