import numpy as np
import pytest

from gramian.selection.information import information


def compared(X, y, *, classes, discrete, permutations=0, most=None, seed=0, k=3):
    return information(
        X,
        y,
        classes=classes,
        discrete=np.asarray(discrete),
        k=k,
        permutations=permutations,
        stream=np.random.RandomState(seed),
        most=most,
    )


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal(n), rng.integers(0, 3, n), rng.standard_normal(n), np.ones(n)])
    return X, rng.integers(0, 2, n)


@pytest.mark.parametrize("classes", [True, False])
def test_every_column_is_handled_by_its_kind_and_constants_tell_nothing(classes):
    X, codes = table()
    y = codes if classes else X[:, 0] + 0.1 * codes
    both = compared(X, y, classes=classes, discrete=[False, True, False, False])
    assert both.shape == (1, 4)
    assert both[0, 3] == 0.0
    assert np.all(both[0, :3] != 0)


@pytest.mark.parametrize("classes", [True, False])
def test_the_number_of_threads_changes_nothing(classes):
    X, codes = table(2000)
    y = codes if classes else X[:, 0] + codes
    one, many = (
        compared(X, y, classes=classes, discrete=[False, True, False, False], permutations=3, most=most)
        for most in (1, 4)
    )
    assert np.array_equal(one, many)


@pytest.mark.parametrize("classes", [True, False])
def test_permutations_leave_the_first_row_alone(classes):
    X, codes = table()
    y = codes if classes else X[:, 0] + codes
    kinds = [False, True, False, False]
    plain = compared(X, y, classes=classes, discrete=kinds)
    permuted = compared(X, y, classes=classes, discrete=kinds, permutations=20)
    assert np.array_equal(plain[0], permuted[0])
    assert permuted.shape == (21, 4)
    assert len(np.unique(permuted[1:, 0])) > 10


def test_rows_of_single_classes_are_left_out():
    X, codes = table()
    X = X[:, [0, 2]]
    extra = np.vstack([X, [[100.0, 100.0], [200.0, -200.0]]])
    labels = np.concatenate([codes, [2, 3]])
    # Noise and scale are those of all rows, which neighbours hardly see.
    with_them = compared(extra, labels, classes=True, discrete=[False, False])
    without = compared(X, codes, classes=True, discrete=[False, False])
    assert with_them == pytest.approx(without, abs=0.02)


def test_a_discrete_column_of_single_values_tells_nothing_about_a_number():
    X = np.arange(10.0)[:, None]
    assert compared(X, np.linspace(0, 1, 10) ** 2, classes=False, discrete=[True]) == 0.0
