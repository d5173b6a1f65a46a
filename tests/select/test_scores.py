"""Scores of single features against scikit-learn, SciPy and their formulas in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.feature_selection import chi2, f_classif, f_regression

from gramian.errors import DataError, ParameterError
from gramian.select import filters
from gramian.select.filters import Ranker, chi2_score, f_score

IRIS = load_iris(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)
ASKED = {"discrete": True, "names": tuple("abcdefghij")}


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
    for shift in [0, 5]:
        X, y = IRIS
        y = y + shift
        expected, p = chi2(X, y)
        result = chi2_score(X, y, **ASKED)
        np.testing.assert_allclose(result.values, expected, rtol=1e-12)
        np.testing.assert_allclose(result.p_values, p, rtol=1e-10)
        counts = np.random.default_rng(0).integers(0, 4, (30, 6))
        expected, p = chi2(counts, y[::5])
        np.testing.assert_allclose(
            chi2_score(counts.astype(float), y[::5], **ASKED).values, expected, rtol=1e-12
        )


def test_chi2_refuses_what_it_cannot_read():
    with pytest.raises(DataError, match='score_func="chi2" needs counts, but column'):
        chi2_score(np.array([[1.0, 1.0], [0.0, -2.0]]), np.array([0, 1]), **ASKED)
    with pytest.raises(
        ParameterError, match=r'needs classes, but the label is a number\. Use score_func="f"'
    ):
        chi2_score(*IRIS, discrete=False, names=ASKED["names"])


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
        one, other = f_score(X, y, discrete=True), f_score(X * scale, y, discrete=True)
        np.testing.assert_allclose(other.values, one.values, rtol=1e-9)
        np.testing.assert_allclose(other.p_values, one.p_values, rtol=1e-8)
        one = f_score(NUMBERS[0], NUMBERS[1], discrete=False)
        other = f_score(NUMBERS[0] * scale, NUMBERS[1] * scale, discrete=False)
        np.testing.assert_allclose(other.values, one.values, rtol=1e-9)
        np.testing.assert_allclose(
            chi2_score(X * scale, y, **ASKED).values / scale, chi2_score(X, y, **ASKED).values, rtol=1e-12
        )
    X, y = IRIS
    mixed = f_score(X * [1e-90, 1, 1e90, 1e8], y, discrete=True)
    np.testing.assert_allclose(mixed.values, f_score(X, y, discrete=True).values, rtol=1e-9)


def test_constant_and_equal_columns_and_blocks_of_them(monkeypatch):
    for discrete in [True, False]:
        for value in [0.0, 0.1, 7.0, 1e90]:
            X = np.column_stack([IRIS[0], np.full(150, value)])
            for score in ("f", "chi2") if discrete else ("f",):
                result = Ranker(score, ASKED["names"], discrete).rank(X, IRIS[1], 5)[0]
                assert (result.values[-1], result.p_values[-1]) == (0.0, 1.0)
                assert np.isfinite(result.values).all()
    rng = np.random.default_rng(3)
    columns = np.abs(rng.standard_normal((37, 3)) + 100)
    X = np.asfortranarray(np.hstack([columns, np.arange(37.0)[:, None], columns, columns]))
    for y, discrete in ((rng.integers(0, 3, 37), True), (rng.standard_normal(37), False)):
        for score in ("f", "chi2") if discrete else ("f",):
            rank = np.argsort(Ranker(score, ASKED["names"], discrete).rank(X, y, 10)[1])
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
