"""The figure of points that refute a kernel."""

import numpy as np
import pytest

from gramian import figures
from gramian.errors import DataError
from gramian.kernels import audit, kernel_from_name


@pytest.mark.parametrize(("expression", "features"), [("rbf - 0.5*laplacian", 1), ("rbf - laplacian", 3)])
def test_points_and_weights_give_the_negative_sum(expression, features, tmp_path):
    report = audit(kernel_from_name(expression), n_features=features, random_state=0)
    chart = figures.counter_example(report)
    data, points = chart.data, np.asarray(report.witness.points)
    np.testing.assert_array_equal(data["first"].to_numpy(), points[:, 0])
    np.testing.assert_array_equal(
        data["second"].to_numpy(), points[:, 1] if features > 1 else 0 * points[:, 0]
    )
    v = data["weight"].to_numpy()
    assert v @ np.asarray(report.witness.gram) @ v < 0
    assert [sign == "negative" for sign in data["sign"].to_pylist()] == (v < 0).tolist()
    title = chart.to_dict()["title"]
    assert f"{report.witness.quadratic_form:.4g}" in " ".join(title["subtitle"])
    assert ("first two of 3" in " ".join(title["subtitle"])) == (features == 3)
    chart.save(tmp_path / "points.svg")
    assert "first coordinate" in (tmp_path / "points.svg").read_text(encoding="utf-8")


def test_a_function_of_ones_own_and_a_kernel():
    def lopsided(X, Y):
        return X[:, :1] - Y[:, 0]

    chart = figures.counter_example(audit(lopsided, n_features=1, random_state=0))
    assert "differ" in " ".join(chart.to_dict()["title"]["subtitle"])
    with pytest.raises(DataError, match=r"There is no counterexample for rbf\(\)\."):
        figures.counter_example(audit(kernel_from_name("rbf"), n_features=1, random_state=0))
