"""The search for counterexamples: trials, sets of points, and witnesses that a person can verify."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian.errors import DataError
from gramian.kernels import Linear, auditing, kernel_from_name


def no_error(m):
    return np.zeros((m, m))


def test_margins_sums_and_asymmetries_are_as_stated():
    for scale in [1e-300, 1e-150, 1.0, 1e150, 1e300]:
        K = scale * np.array([[1.0, 2.0], [2.0, 1.0]])
        result = auditing.margin(K, no_error(2))
        assert result.eigenvalue == pytest.approx(-scale, rel=1e-12)
        assert result.ratio < -1e12
        assert_allclose(np.abs(result.vector), [1.0, 1.0])
        assert result.vector[0] * result.vector[1] < 0
    given = examiner(lambda x, y: float(x[0] ** 2 * y[0]))
    trial = given.examine(np.array([[1.2345], [0.4321], [2.3456]]))
    result = auditing.asymmetry_of(given, trial.subset(trial.asymmetry), invent=True)
    assert all(float(f"{x:.1g}") == x for x in result.points.ravel())
    x, y = result.points.ravel()
    assert result.values == pytest.approx((x * x * y, y * y * x))
    kept = auditing.asymmetry_of(given, trial.subset(trial.asymmetry), invent=False)
    assert set(kept.points.ravel()) <= {1.2345, 0.4321, 2.3456}
    rng = np.random.default_rng(0)
    for K in (np.array([[1e16, 1.0], [1.0, -1e16]]), rng.standard_normal((30, 30)) ** 9):
        v = rng.integers(-9, 10, len(K)) * 1.0
        exact = sum(Fraction(v[i]) * Fraction(v[j]) * Fraction(K[i, j]) for i, j in np.ndindex(K.shape))
        value, rounding = auditing.quadratic_form(K, v)
        assert abs(Fraction(value) - exact) <= Fraction(rounding)
        assert rounding < 1e-15 * (np.abs(v) @ np.abs(K) @ np.abs(v))


def test_a_defect_of_a_formula_is_not_hidden(monkeypatch):
    def broken(*_):
        raise RuntimeError("a defect")

    monkeypatch.setattr(Linear, "tile", broken)
    with pytest.raises(RuntimeError, match="a defect"):
        auditing.Examiner(Linear(), 1e-10).attempt(np.ones((2, 1)))


def test_a_function_that_changes_its_mind_is_refused():
    values = iter(range(1000))
    examiner = auditing.Examiner(kernel_from_name(lambda x, y: float(next(values))), 1e-10)
    examiner.fix(np.ones((2, 1)))
    with pytest.raises(DataError, match=r"The kernel function gave 5\.0 and then 10\.0 at x = \(1\), y"):
        examiner.confirm(examiner.examine(np.array([[1.0], [2.0]])))


def examiner(kernel):
    return auditing.Examiner(kernel_from_name(kernel), 1e-10)


def test_nothing_is_found_where_nothing_has_a_value():
    def k(x, y):
        raise ValueError("no")

    given = examiner(k)
    assert auditing.search(given, (1,), np.random.default_rng(0)) is None
    given = examiner(k)
    given.deadline = 0.0  # has passed
    assert auditing.search(given, (1,), np.random.default_rng(0)) is None


def distance(x, y):
    return float(np.abs(x - y).sum())


def test_as_few_points_remain_as_refute_and_many_are_certified():
    X = np.random.default_rng(0).standard_normal((60, 2))
    result = auditing.shrunk(examiner(distance).examine(X, tuple(range(60))))
    assert len(result.points) == 2
    assert_array_equal(X[list(result.rows)], result.points)
    given = examiner("poly(degree=2.5, gamma=1)")
    result = auditing.shrunk(given.examine(np.linspace(0, 3, 20)[:, None]))
    assert len(result.points) == 5
    for i in range(5):
        assert result.subset(np.delete(np.arange(5), i)).ratio > -10
    # I - c 1 1.T has a negative eigenvalue for c > 1 / m only.
    report = auditing.shrunk(
        examiner(lambda x, y: float(x[0] == y[0]) - 0.041).examine(np.arange(30.0)[:, None])
    )
    assert len(report.points) == 25
    trial = examiner(lambda x, y: float(x[0] == y[0]) - 1 / 119.5).examine(np.arange(120.0)[:, None])
    result = auditing.certified(trial)
    assert len(result.points) == 120
    assert result.quadratic_form + result.uncertainty < 0
    given = examiner("sigmoid(gamma=1)")
    start = given.examine(np.array([[-1.0123], [0.0456], [0.9871]]))
    assert auditing.witness_of(given, start, invent=True).points.ravel().tolist() == [-1.0, 0.0, 1.0]


def test_the_printed_table_is_enough_to_check_unless_it_is_large():
    given = examiner("poly(degree=2.5, gamma=1)")
    start = given.examine(np.array([[0.0], [0.2], [1.0], [2.0], [2.3]]))
    result = auditing.witness_of(given, start, invent=False)
    rows = [line.split(")", 1)[1].split() for line in str(result).splitlines()[1:-2]]
    v = np.array([float(row[0]) for row in rows])
    K = np.array([[float(x) for x in row[1:]] for row in rows])
    assert v @ K @ v < 0
    assert "for a kernel it is never negative" in str(result)
    trial = examiner(lambda x, y: float(x[0] == y[0]) - 0.1).examine(np.arange(12.0)[:, None])
    text = str(auditing.certified(trial))
    assert "k(x_i, x_j)\n" not in text
    assert text.count("\n") == 14
    assert auditing.show_point(np.array([0.1, 1 / 3])) == "(0.1, 0.333333)"
    assert auditing.show_point(np.arange(9.0)) == "(0, 1, 2, 3, 4, 5, ...)"
