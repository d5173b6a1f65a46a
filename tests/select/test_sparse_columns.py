"""Selection among columns of scipy.sparse matrices: what dense ones give, a few columns dense at a time."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier

from gramian import FeatureFilter, SequentialFeatureSelector, mutual_information

RNG = np.random.default_rng(0)
CLASSES = RNG.integers(0, 3, 120)
# Counts, of which the first columns tell the class, and two columns of fractions.
COUNTS = RNG.poisson(0.2 + 0.8 * (np.arange(12) % 3 == CLASSES[:, None]) * (np.arange(12) < 6)).astype(float)
SOME = np.where(RNG.random((120, 2)) < 0.5, RNG.standard_normal((120, 2)) + CLASSES[:, None], 0.0)
DENSE = np.hstack([COUNTS, SOME])
NUMBERS = DENSE[:, 0] + 0.1 * RNG.standard_normal(120)


X = sp.csr_matrix(DENSE)


def test_mutual_information_of_sparse_columns():
    for y, kind in product((CLASSES, NUMBERS), (sp.csr_matrix, sp.csc_array, sp.coo_array)):
        X = kind(DENSE)
        result = mutual_information(X, y, random_state=0)
        dense = mutual_information(DENSE, y, random_state=0)
        np.testing.assert_array_equal(result.discrete, dense.discrete)
        assert result.discrete.tolist() == [True] * 12 + [False] * 2
        np.testing.assert_allclose(result.values, dense.values, atol=1e-12)
        again = mutual_information(X, y, random_state=0, n_jobs=1)
        np.testing.assert_array_equal(again.values, result.values)
        assert result.notes == dense.notes
    theirs = mutual_info_classif(sp.csr_matrix(COUNTS), CLASSES)
    np.testing.assert_allclose(mutual_information(sp.csr_matrix(COUNTS), CLASSES).values, theirs, atol=1e-12)


def test_a_filter_of_sparse_columns_fits_on_the_chosen_ones_made_dense():
    for score, k, y in [
        ("f", "cv", CLASSES),
        ("f", 3, NUMBERS),
        ("chi2", 5, CLASSES),
        ("mutual-information", 5, CLASSES),
    ]:
        rows, dense = (sp.csr_matrix(COUNTS), COUNTS) if score == "chi2" else (X, DENSE)
        rows, dense = (rows, dense) if score != "mutual-information" else (sp.csr_matrix(COUNTS), COUNTS)
        model = FeatureFilter(score, k, random_state=0).fit(rows, y)
        expected = FeatureFilter(score, k, random_state=0).fit(dense, y)
        np.testing.assert_allclose(model.scores_, expected.scores_, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(model.support_, expected.support_)
        np.testing.assert_array_equal(model.transform(rows).toarray(), expected.transform(dense))
        if k == "cv":
            for a, b in zip(model.selection_, expected.selection_, strict=True):
                np.testing.assert_allclose(a.fold_scores, b.fold_scores, atol=1e-6)
    with pytest.raises(ValueError, match='score_func="chi2" needs counts, but column'):
        FeatureFilter("chi2").fit(X, CLASSES)
    for estimator, y in [(KNeighborsClassifier(3), CLASSES), (Ridge(), NUMBERS)]:
        settings = {"n_features_to_select": 2, "cv": 2}
        result = SequentialFeatureSelector(estimator, **settings).fit(X, y)
        dense = SequentialFeatureSelector(estimator, **settings).fit(DENSE, y)
        np.testing.assert_array_equal(result.support_, dense.support_)
        np.testing.assert_allclose(result.score_, dense.score_, atol=1e-9)
        np.testing.assert_array_equal(result.transform(X).toarray(), dense.transform(DENSE))


def test_noise_that_would_fill_memory_is_drawn_for_few_columns(monkeypatch):
    columns = RNG.standard_normal((400, 20))
    y = (columns[:, 0] + RNG.standard_normal(400) > 0).astype(int)
    dense = mutual_information(columns, y, random_state=0)
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "30kB")
    apart = [mutual_information(sp.csc_array(columns), y, random_state=0, n_jobs=jobs) for jobs in (1, 2)]
    np.testing.assert_array_equal(*(result.values for result in apart))
    # No two values are equal here, so that the noise decides nothing.
    np.testing.assert_allclose(apart[0].values, dense.values, atol=1e-6)


@pytest.mark.walk
def test_the_table_is_never_made_dense(monkeypatch):
    n, d, held = 2000, 20_000, 10
    places = RNG.integers(0, d, n * held)
    rows = sp.csr_array((np.ones(n * held), places, np.arange(0, n * held + 1, held)), shape=(n, d))
    y = RNG.integers(0, 2, n)
    counts = np.arange(d) < 100
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "50MB")
    for work in (
        lambda: FeatureFilter("f", 10).fit(rows, y),
        lambda: FeatureFilter("chi2", 10).fit(rows, y),
        lambda: mutual_information(rows[:, :1000], y, discrete=counts[:1000], random_state=0),
    ):
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6, peak  # dense: 320 MB
