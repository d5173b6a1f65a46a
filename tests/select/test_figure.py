"""The curve of an equation over the rows."""

import numpy as np
import pytest

import gramian
from gramian import figures
from gramian.errors import DataError

pytest.importorskip("matplotlib")


def test_a_relation_is_drawn_where_it_holds():
    t = np.linspace(0, 6, 80)
    free = np.random.default_rng(0).random(80)
    X = np.column_stack([3 + 1.5 * np.cos(t), free, 2 + 1.5 * np.sin(t)])
    law = gramian.relations(X)[0]
    data = figures.relation_data(law, X, hue=free)
    (circle,) = data.curves
    np.testing.assert_allclose(np.hypot(*(circle - [3, 2]).T), 1.5, atol=1e-3)
    assert np.hypot(*np.diff(circle, axis=0).T).sum() == pytest.approx(3 * np.pi, rel=1e-3)
    assert list(data.columns) == ["x", "z"]
    ax = figures.relation(law, X, hue=free)
    assert ax.figure.get_suptitle() == data.title == str(law)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), circle)
    assert not figures.relation(law, X, title=None).figure.get_suptitle()
    far = X + np.array([0, 0, 1e7])
    assert (
        len(figures.relation_data(gramian.relations(far)[0], far).curves[0]) > 100
    )  # written with an origin
    four = np.column_stack([free, t, free**2, free + t + free**2])
    for law_, rows, message in [
        (gramian.relations(four, degree=1)[0], four, r"x1 \+ x2 \+ x3 - x4 = 0 is between 4"),
        (law, X[:, :2], "X has 2 columns, and the equation"),
        (gramian.relations(X), X, r"A Relations is no single equation\."),
    ]:
        with pytest.raises(DataError, match=message):
            figures.relation(law_, rows)
