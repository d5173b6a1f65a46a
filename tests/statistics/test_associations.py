"""r2, eta2 and their tests, against SciPy and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.linear_model import LinearRegression

from gramian.statistics.associations import associated, described


def test_a_description_adjusts_over_all_pairs_and_weights_by_variance():
    rng = np.random.default_rng(1)
    T = rng.normal(size=(40, 2)) * [3, 1]
    metadata = {
        "noise": rng.normal(size=40),
        "plate": np.where(T[:, 0] > 0, "left", "right"),
        "id": np.arange(40) + 0.5,
    }
    metadata["same"] = np.zeros(40)
    variances = np.array([9.0, 1.0])
    found = described(T, variances, metadata, [[("gene", 0.9)], [("other", -0.8)]], "loading", "by order")
    assert found.variables[0] == "plate"
    assert set(found.left_out) == {"same"}
    p = np.concatenate([found.p[i] for i in range(3)])
    ranked = np.sort(p)
    for value, adjusted in zip(p, found.p_adjusted.ravel(), strict=True):
        # Benjamini and Hochberg: the smallest m p(i) / i at or above its rank.
        rank = np.searchsorted(ranked, value)
        assert adjusted == pytest.approx(min(1, *(6 * ranked[i] / (i + 1) for i in range(rank, 6))))
    assert_allclose(found.weighted_r2, found.r2 @ [0.9, 0.1])
    table = found.table()
    assert table.shape == (6, 9)
    place = found.variables.index("noise")
    expected = [np.corrcoef(metadata["noise"], T[:, j])[0, 1] for j in (0, 1)]
    assert_allclose(found.r[place], expected, atol=1e-14)
    assert np.isnan(found.r[0]).all()
    assert table.loc["plate", "component"].tolist() == ["PC1", "PC2"]
    text = str(found)
    assert "2 categories, n = 40" in text
    assert "same was left out: 40 rows with a value, all of them equal." in text
    assert "PC1: gene +0.900" in text
    assert f"Correlations of noise: PC1 {expected[0]:+.3f}, PC2 {expected[1]:+.3f}." in text


def test_numbers_categories_and_few_whole_numbers_equal_their_definitions():
    scores = np.array([[1.0], [2.0], [2.5], [4.0], [5.5], [6.0]])
    ages, batches = np.array([31.0, 33, 33, 40, 52, 55]), np.array([1.0, 1, 2, 2, 3, 3])
    assert (associated(ages, scores).kind, associated(batches, scores).kind) == ("number", "category")
    rng = np.random.default_rng(0)
    T = rng.normal(size=(60, 3)) * [5, 2, 1] + [0, 3, -1]
    age = T[:, 0] + 4 * rng.normal(size=60)
    age[:9] = np.nan
    found = associated(age, T)
    assert (found.kind, found.rows, found.levels) == ("number", 51, 0)
    for j in range(3):
        r, p = stats.pearsonr(age[9:], T[9:, j])
        assert found.r2[j] == pytest.approx(r**2)
        assert found.p[j] == pytest.approx(p)
    site = np.array(["a", "b", "c", ""], dtype=object)[rng.integers(4, size=60)]
    there = site != ""
    for values in (site, np.where(there, np.searchsorted(["a", "b", "c"], site.astype(str)), np.nan)):
        found = associated(values, T)
        assert (found.kind, found.rows, found.levels) == ("category", there.sum(), 3)
        for j in range(3):
            groups = [T[site == level, j] for level in "abc"]
            assert found.p[j] == pytest.approx(stats.f_oneway(*groups).pvalue)
            indicators = (site[there, None] == np.array(["a", "b", "c"])).astype(float)
            fit = LinearRegression().fit(indicators, T[there, j])
            assert found.r2[j] == pytest.approx(fit.score(indicators, T[there, j]))
    T = np.column_stack([np.arange(12.0), np.zeros(12), np.arange(12.0) * 1e200])
    found = associated(np.arange(12.0), T)
    assert_allclose(found.r2, [1, 0, 1])
    assert found.p[0] == pytest.approx(0, abs=1e-12)
    assert np.isnan(found.p[1])
    for values, why in (
        (np.full(12, np.nan), "no row has a value"),
        (np.array(["x"] * 12), "12 rows with a value, all of them equal"),
        (np.array([f"s{i}" for i in range(12)]), "every row has a value of its own"),
        (np.array([0.5, 1.25] + [np.nan] * 10), "only 2 rows with a value"),
    ):
        assert associated(values, T) == why
