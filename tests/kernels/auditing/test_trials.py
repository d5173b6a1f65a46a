import numpy as np
import pytest

from gramian.errors import DataError
from gramian.kernels import RBF, Linear, kernel_from_name
from gramian.kernels.auditing.trials import Examiner, margin, show_point


def no_error(m):
    return np.zeros((m, m))


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_the_margin_is_the_smallest_eigenvalue_at_every_scale(scale):
    K = scale * np.array([[1.0, 2.0], [2.0, 1.0]])
    result = margin(K, no_error(2))
    assert result.eigenvalue == pytest.approx(-scale, rel=1e-12)
    assert result.ratio < -1e12
    np.testing.assert_allclose(np.abs(result.vector), [1.0, 1.0])
    assert result.vector[0] * result.vector[1] < 0


def test_scaling_shows_what_the_largest_entries_hide():
    K = np.array([[1e20, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]])
    result = margin(K, no_error(3))
    assert (result.scaling != 1).any()
    assert result.ratio < -1
    assert result.vector @ K @ result.vector < 0


def test_an_error_of_the_entries_widens_the_bound():
    K = np.array([[1.0, 1.1], [1.1, 1.0]])
    assert margin(K, no_error(2)).ratio < -1
    assert margin(K, np.full((2, 2), 0.06)).ratio > -1
    assert margin(K, np.full((2, 2), np.inf)).ratio == 0


@pytest.mark.parametrize("m", [1, 5, 40, 200])
def test_rounding_alone_never_refutes(m):
    rng = np.random.default_rng(m)
    for rank in (1, 2, m):
        B = rng.standard_normal((m, rank)) * 10.0 ** rng.uniform(-5, 5, (m, 1))
        K = B @ B.T
        size = np.sqrt(np.outer(np.diag(K), np.diag(K)))
        assert margin((K + K.T) / 2, 2 * (rank + 2) * np.finfo(float).eps * size).ratio > -1


def test_zero_says_nothing():
    assert margin(no_error(3), no_error(3)).ratio == 0


def test_a_trial_holds_what_the_kernel_says():
    X = np.random.default_rng(0).standard_normal((5, 2))
    trial = Examiner(RBF(sigma=1.0), 1e-10).examine(X)
    np.testing.assert_allclose(trial.gram, RBF(sigma=1.0).gram(X), rtol=1e-13)
    assert trial.error.max() < 1e-13
    assert trial.asymmetry is None
    part = trial.subset([0, 3])
    np.testing.assert_array_equal(part.points, X[[0, 3]])
    np.testing.assert_array_equal(part.gram, trial.gram[np.ix_([0, 3], [0, 3])])


def test_functions_are_trusted_to_value_tol_of_the_usual_size():
    X = np.array([[1.0], [2.0]])
    examiner = Examiner(kernel_from_name(lambda x, y: float(x @ y)), 1e-3)
    assert examiner.examine(X).error.max() == pytest.approx(4e-3, rel=1e-6)
    examiner.reference = 100.0
    assert examiner.examine(X).error.max() == pytest.approx(0.1, rel=1e-6)


def test_sets_without_values_are_counted():
    examiner = Examiner(kernel_from_name("chi2"), 1e-10)
    assert examiner.attempt(np.array([[-1.0], [1.0]])) is None
    assert (examiner.skipped, examiner.trials) == (1, 0)
    assert examiner.attempt(np.array([[2.0], [1.0]])) is not None
    with pytest.raises(DataError, match=r"use counts. That was at x = \(-1\), y = \(-1\)"):
        examiner.examine(np.array([[-1.0], [1.0]]))


def test_a_defect_of_a_formula_is_not_hidden(monkeypatch):
    def broken(*_):
        raise RuntimeError("a defect")

    monkeypatch.setattr(Linear, "tile", broken)
    with pytest.raises(RuntimeError, match="a defect"):
        Examiner(Linear(), 1e-10).attempt(np.ones((2, 1)))


def test_a_function_that_changes_its_mind_is_refused():
    values = iter(range(1000))
    examiner = Examiner(kernel_from_name(lambda x, y: float(next(values))), 1e-10)
    examiner.fix(np.ones((2, 1)))
    with pytest.raises(DataError, match="must give the same number every time"):
        examiner.confirm(examiner.examine(np.array([[1.0], [2.0]])))


def test_points_are_shown_as_they_are():
    assert show_point(np.array([0.1, 1 / 3])) == "(0.1, 0.3333333333333333)"
    assert show_point(np.array([0.1, 1 / 3]), exact=False) == "(0.1, 0.3333)"
    assert show_point(np.arange(9.0)) == "(0, 1, 2, 3, 4, 5, ...)"
