"""The figure of points that refute a kernel."""

import numpy as np
import pytest

from gramian import figures
from gramian.errors import DataError
from gramian.kernels import audit, kernel_from_name


@pytest.mark.parametrize(("expression", "features"), [("rbf - 0.5*laplacian", 1), ("rbf - laplacian", 3)])
def test_points_and_weights_give_the_negative_sum(expression, features):
    report = audit(kernel_from_name(expression), n_features=features, random_state=0)
    data, ax = figures.counter_example_data(report), figures.counter_example(report)
    points = np.asarray(report.witness.points)
    np.testing.assert_array_equal(data.columns["first"], points[:, 0])
    np.testing.assert_array_equal(data.columns["second"], points[:, 1] if features > 1 else 0 * points[:, 0])
    v = data.columns["weight"]
    assert v @ np.asarray(report.witness.gram) @ v < 0
    assert [len(dots.get_offsets()) for dots in ax.collections] == [(v >= 0).sum(), (v < 0).sum()]
    areas = np.concatenate([dots.get_sizes() for dots in ax.collections])
    np.testing.assert_allclose(sorted(areas / areas.max()), sorted(np.abs(v) / np.abs(v).max()))
    assert [text.get_text() for text in ax.texts] == data.columns["name"]
    assert f"{report.witness.quadratic_form:.4g}" in data.notes[0]
    assert ("first two of 3" in data.notes[1]) == (features == 3)
    assert ax.get_xlabel() == "first coordinate"


def test_a_function_of_ones_own_and_a_kernel():
    def lopsided(X, Y):
        return X[:, :1] - Y[:, 0]

    assert "differ" in figures.counter_example_data(audit(lopsided, n_features=1, random_state=0)).notes[0]
    with pytest.raises(DataError, match=r"There is no counterexample for rbf\(\)\."):
        figures.counter_example(audit(kernel_from_name("rbf"), n_features=1, random_state=0))
