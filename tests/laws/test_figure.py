"""The curve of an equation over the rows."""

import numpy as np
import pytest

import gramian
from gramian import plots
from gramian.errors import DataError
from refusals import refused

pytest.importorskip("altair")


def test_a_relation_is_drawn_where_it_holds():
    t = np.linspace(0, 6, 80)
    free = np.random.default_rng(0).random(80)
    X = np.column_stack([3 + 1.5 * np.cos(t), free, 2 + 1.5 * np.sin(t)])
    law = gramian.relations(X)[0]
    chart = plots.relation(law, X, color=free)
    data = {name: np.array(values) for name, values in chart.data.to_pydict().items()}
    np.testing.assert_allclose(np.hypot(data["x"] - 3, data["y"] - 2), 1.5, atol=1e-3)
    assert np.hypot(data["x2"] - data["x"], data["y2"] - data["y"]).sum() == pytest.approx(
        3 * np.pi, rel=1e-3
    )
    assert chart.to_dict()["$schema"]
    far = X + np.array([0, 0, 1e7])
    assert plots.relation(gramian.relations(far)[0], far).data.num_rows > 100  # written with an origin
    three = gramian.relations(np.column_stack([free, t, free + t]), degree=1)[0]
    for law_, rows in [
        (three, X),
        (law, X[:, :2]),
        (gramian.relations(X), X),
    ]:
        with refused(DataError):
            plots.relation(law_, rows)
