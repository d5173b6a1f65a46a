from fractions import Fraction

import numpy as np
import pytest

from gramian.kernels import kernel_from_name
from gramian.kernels.auditing.trials import Examiner
from gramian.kernels.auditing.witness import asymmetry_of, certified, exact_form, rounded, shrunk, witness_of


def distance(x, y):
    return float(np.abs(x - y).sum())


def examiner(kernel):
    return Examiner(kernel_from_name(kernel), 1e-10)


def test_two_points_remain_of_many():
    X = np.random.default_rng(0).standard_normal((60, 2))
    result = shrunk(examiner(distance).examine(X, tuple(range(60))))
    assert len(result.points) == 2
    np.testing.assert_array_equal(X[list(result.rows)], result.points)


def test_no_point_can_be_left_out():
    given = examiner("poly(degree=2.5, gamma=1)")
    result = shrunk(given.examine(np.linspace(0, 3, 20)[:, None]))
    assert len(result.points) == 5
    for i in range(5):
        assert result.subset(np.delete(np.arange(5), i)).ratio > -10


def test_a_witness_that_needs_all_its_points():
    # I - c 1 1.T has a negative eigenvalue for c > 1 / m only.
    report = shrunk(examiner(lambda x, y: float(x[0] == y[0]) - 0.041).examine(np.arange(30.0)[:, None]))
    assert len(report.points) == 25


def test_many_points_are_certified_without_fractions():
    trial = examiner(lambda x, y: float(x[0] == y[0]) - 1 / 119.5).examine(np.arange(120.0)[:, None])
    result = certified(trial)
    assert len(result.points) == 120
    assert result.quadratic_form + result.uncertainty < 0


def test_points_are_rounded_as_long_as_they_refute():
    given = examiner("sigmoid(gamma=1)")
    start = given.examine(np.array([[-1.0123], [0.0456], [0.9871]]))
    points = rounded(given, start).points
    assert points.ravel().tolist() == [-1.0, 0.0, 1.0]


def test_a_witness_is_exact_about_its_own_numbers():
    given = examiner("poly(degree=1.5, gamma=1)")
    result = witness_of(
        given, given.examine(np.array([[0.0], [0.4], [2.0], [2.9]])), np.random.default_rng(0)
    )
    v = [Fraction(x) for x in result.vector.tolist()]
    K = [[Fraction(x) for x in row] for row in result.gram.tolist()]
    value = sum(v[i] * v[j] * K[i][j] for i in range(len(v)) for j in range(len(v)))
    assert float(value) == result.quadratic_form < 0
    assert result.quadratic_form + result.uncertainty < 0
    assert result.eigenvalue == pytest.approx(np.linalg.eigvalsh(result.gram)[0], rel=1e-6)


def test_the_printed_table_is_enough_to_check():
    given = examiner("poly(degree=2.5, gamma=1)")
    start = given.examine(np.array([[0.0], [0.2], [1.0], [2.0], [2.3]]))
    result = witness_of(given, start, None)
    rows = [line.split(")", 1)[1].split() for line in str(result).splitlines()[1:-1]]
    v = np.array([float(row[0]) for row in rows])
    K = np.array([[float(x) for x in row[1:]] for row in rows])
    assert v @ K @ v < 0
    assert "for a kernel it is never negative" in str(result)


def test_large_witnesses_are_printed_without_their_matrix():
    trial = examiner(lambda x, y: float(x[0] == y[0]) - 0.1).examine(np.arange(12.0)[:, None])
    text = str(certified(trial))
    assert "k(x_i, x_j)\n" not in text
    assert text.count("\n") == 13


def test_an_asymmetry_in_few_digits():
    given = examiner(lambda x, y: float(x[0] ** 2 * y[0]))
    trial = given.examine(np.array([[1.2345], [0.4321], [2.3456]]))
    result = asymmetry_of(given, trial.subset(trial.asymmetry), invent=True)
    assert all(float(f"{x:.1g}") == x for x in result.points.ravel())
    x, y = result.points.ravel()
    assert result.values == pytest.approx((x * x * y, y * y * x))
    kept = asymmetry_of(given, trial.subset(trial.asymmetry), invent=False)
    assert set(kept.points.ravel()) <= {1.2345, 0.4321, 2.3456}


def test_exact_sums():
    K = np.array([[1e16, 1.0], [1.0, -1e16]])
    assert exact_form(K, np.array([1.0, 1.0])) == 2.0
    assert exact_form(np.full((2, 2), -1.7e308), np.array([1.0, 1.0])) == -np.inf
