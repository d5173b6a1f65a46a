"""Scores of single features against scikit-learn, SciPy and their formulas in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes, load_iris
from sklearn.feature_selection import chi2, f_classif, f_regression, r_regression

from gramian.errors import DataError, ParameterError
from gramian.select import filters
from gramian.select.filters import Ranker, chi2_score, correlation_score, f_score

IRIS = load_iris(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)


def exact_f(x, y):
    """F of the one-way analysis of variance, in fractions."""
    x = [Fraction(float(v)) for v in x]
    groups = [[v for v, label in zip(x, y, strict=True) if label == c] for c in sorted(set(y.tolist()))]
    mean = sum(x) / len(x)
    between = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups)
    within = sum((v - sum(g) / len(g)) ** 2 for g in groups for v in g)
    return float((between / (len(groups) - 1)) / (within / (len(x) - len(groups))))


def exact_squared_correlation(x, y):
    x, y = ([Fraction(float(v)) for v in column] for column in (x, y))
    mx, my = sum(x) / len(x), sum(y) / len(y)
    cross = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return cross**2 / (sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))


def test_scores_are_those_of_scikit_learn_and_pearson():
    one_row = IRIS[0][:11], np.array([0] * 5 + [1] * 5 + [2])
    for (X, y), theirs in ((IRIS, f_classif), (one_row, f_classif), (NUMBERS, f_regression)):
        F, p = theirs(X, y)
        result = f_score(X, y, discrete=theirs is f_classif)
        np.testing.assert_allclose(result.values, F, rtol=1e-9)
        np.testing.assert_allclose(result.p_values, p, rtol=1e-8)
    X, y = NUMBERS
    result = correlation_score(X, y, discrete=False)
    np.testing.assert_allclose(result.values, np.abs(r_regression(X, y)), rtol=1e-10)
    np.testing.assert_allclose(
        result.p_values, [stats.pearsonr(X[:, j], y).pvalue for j in range(10)], rtol=1e-8
    )
    for shift in [0, 5]:
        X, y = IRIS
        y = y + shift
        expected, p = chi2(X, y)
        result = chi2_score(X, y)
        np.testing.assert_allclose(result.values, expected, rtol=1e-12)
        np.testing.assert_allclose(result.p_values, p, rtol=1e-10)
        counts = np.random.default_rng(0).integers(0, 4, (30, 6))
        expected, p = chi2(counts, y[::5])
        np.testing.assert_allclose(chi2_score(counts.astype(float), y[::5]).values, expected, rtol=1e-12)


def test_the_correlation_ratio_is_the_largest_correlation_and_chi2_refuses_what_it_cannot_read():
    X, y = IRIS
    result = correlation_score(X, y, discrete=True)
    for j in range(4):
        means = np.array([X[y == c, j].mean() for c in range(3)])
        assert result.values[j] == pytest.approx(np.corrcoef(X[:, j], means[y])[0, 1], rel=1e-12)
        for codes in np.random.default_rng(0).standard_normal((50, 3)):
            assert abs(np.corrcoef(X[:, j], codes[y])[0, 1]) <= result.values[j] + 1e-12
    F, p = f_classif(X, y)
    np.testing.assert_allclose(result.p_values, p, rtol=1e-8)
    np.testing.assert_allclose(result.values**2, 2 * F / (2 * F + 147), rtol=1e-10)
    with pytest.raises(DataError, match='score="chi2" needs counts, but column'):
        chi2_score(np.array([[1.0, 1.0], [0.0, -2.0]]), np.array([0, 1]), names=["a", "b"])
    with pytest.raises(DataError, match='score="chi2" needs counts, but column'):
        chi2_score(np.array([[-1.0], [0.0]]), np.array([0, 1]))
    with pytest.raises(ParameterError, match=r'needs classes, but the label is a number\. Use score="f"'):
        chi2_score(*IRIS, discrete=False)


def test_offsets_and_scales_change_nothing():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    x = np.round(1e8 + rng.standard_normal(60) + 0.3 * y, 4)
    result = f_score(x[:, None], y, discrete=True).values[0]
    assert result == pytest.approx(exact_f(x, y), rel=1e-9)
    numbers = rng.standard_normal(60)
    share = float(exact_squared_correlation(x, numbers))
    result = f_score(x[:, None], numbers, discrete=False).values[0]
    assert result == pytest.approx(share / (1 - share) * 58, rel=1e-9)
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 30)
    X = (1000 + rng.standard_normal((60, 5)) + y[:, None]).astype("f4")
    result = f_score(X, y, discrete=True).values
    np.testing.assert_allclose(result, [exact_f(x, y) for x in X.T], rtol=1e-9)
    for scale in [1e-90, 1e90]:
        X, y = IRIS
        for score in (f_score, correlation_score):
            one, other = score(X, y, discrete=True), score(X * scale, y, discrete=True)
            np.testing.assert_allclose(other.values, one.values, rtol=1e-9)
            np.testing.assert_allclose(other.p_values, one.p_values, rtol=1e-8)
            one, other = score(NUMBERS[0], NUMBERS[1], discrete=False), score(*NUMBERS, discrete=False)
            other = score(NUMBERS[0] * scale, NUMBERS[1] * scale, discrete=False)
            np.testing.assert_allclose(other.values, one.values, rtol=1e-9)
        np.testing.assert_allclose(
            chi2_score(X * scale, y).values / scale, chi2_score(X, y).values, rtol=1e-12
        )
    X, y = IRIS
    mixed = f_score(X * [1e-90, 1, 1e90, 1e8], y, discrete=True)
    np.testing.assert_allclose(mixed.values, f_score(X, y, discrete=True).values, rtol=1e-9)


def test_constant_and_equal_columns_and_blocks_of_them(monkeypatch):
    for discrete in [True, False]:
        for value in [0.0, 0.1, 7.0, 1e90]:
            X = np.column_stack([IRIS[0], np.full(150, value)])
            for score in (f_score, correlation_score) + ((chi2_score,) if discrete else ()):
                result = score(X, IRIS[1], discrete=discrete)
                assert (result.values[-1], result.p_values[-1]) == (0.0, 1.0)
                assert np.isfinite(result.values).all()
    rng = np.random.default_rng(3)
    columns = np.abs(rng.standard_normal((37, 3)) + 100)
    X = np.asfortranarray(np.hstack([columns, np.arange(37.0)[:, None], columns, columns]))
    for y, classes in ((rng.integers(0, 3, 37), np.arange(3)), (rng.standard_normal(37), None)):
        for score in ("f", "correlation", "chi2")[: 3 if classes is not None else 2]:
            rank = np.argsort(Ranker(score, tuple("abcdefghij"), classes).rank(X, y, 10)[1])
            assert (np.diff(rank[[[0, 4, 7], [1, 5, 8], [2, 6, 9]]], axis=1) == 1).all()
    expected = f_score(*IRIS, discrete=True).values
    monkeypatch.setattr(filters, "BLOCK_ENTRIES", 150 * 3)
    np.testing.assert_allclose(f_score(*IRIS, discrete=True).values, expected, rtol=1e-12)


def test_what_a_label_explains_completely_and_what_leaves_no_freedom():
    y = np.array([0, 0, 1, 1, 2, 2])
    X = np.column_stack([y, 0.1 * y + 0.3, [0.1 + 0.2, 0.3, 0.7, 0.7, 0.1, 0.1], [1, 2, 3, 4, 5, 6.5]])
    result = f_score(X, y, discrete=True)
    assert np.isinf(result.values[:3]).all()
    assert (result.p_values[:3] == 0).all()
    assert np.isfinite(result.values[3])
    np.testing.assert_allclose(correlation_score(X, y, discrete=True).values[:3], 1.0)
    numbers = f_score(X[:, :2], 3.0 * y - 1, discrete=False)
    assert np.isinf(numbers.values).all()
    assert (numbers.p_values == 0).all()
    X = np.array([[1.0, 5.0], [2.0, 5.0]])
    for y, discrete, what in (
        (np.array([0, 1]), True, "classes"),
        (np.array([0.5, 0.7]), False, "coefficients"),
    ):
        with pytest.raises(DataError, match=f"as many {what} as rows.*Add rows, or use another score"):
            f_score(X, y, discrete=discrete)
        result = correlation_score(X, y, discrete=discrete)
        np.testing.assert_allclose(result.values, [1, 0])
        assert result.p_values.tolist() == [1, 1]
        assert f"as many {what} as rows" in result.notes[0]
