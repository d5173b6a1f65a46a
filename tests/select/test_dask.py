"""Selection and laws from Dask's chunks: columns are judged where they are, and kept ones stay lazy."""

import numpy as np
import pytest

from gramian import FeatureFilter, mutual_information, relations
from gramian.errors import DataError, MemoryLimitError
from gramian.tables import dask

da = pytest.importorskip("dask.array", reason='needs pip install "gramian[cluster]"')

rng = np.random.default_rng(0)
X = np.abs(rng.standard_normal((200, 6)))
X[:, 4], X[:, 5] = rng.integers(0, 3, 200), X[:, 0] ** 2
Y = np.where(X[:, 0] + X[:, 1] > 1.5, "high", "low")
LAZY, LABELS = da.from_array(X, chunks=(70, 6)), da.from_array(Y, chunks=70)


@pytest.fixture(autouse=True)
def two_columns_at_a_time(monkeypatch):
    monkeypatch.setattr(dask, "CHUNK_BYTES", 200 * 8 * 2)


def test_mutual_information_of_columns_where_they_are():
    for y, options in ((Y, {"n_resamples": 5}), (X[:, 0] + X[:, 1], {"discrete": ["x4"]})):
        ours = mutual_information(LAZY, da.from_array(y, chunks=70), random_state=0, **options)
        whole = mutual_information(X, y, random_state=0, **options)
        np.testing.assert_allclose(ours.values, whole.values, atol=1e-9)
        np.testing.assert_array_equal(ours.discrete, whole.discrete)
        assert ours.feature_names == whole.feature_names
        assert ours.label_entropy == whole.label_entropy
        assert (ours.p_values is None) == (whole.p_values is None)


@pytest.mark.parametrize("score", ["f", "chi2", "correlation", "mutual-information"])
def test_filters(score):
    for k in (2, "cv") if score == "f" else (2,):
        ours = FeatureFilter(score, k=k, random_state=0).fit(LAZY, LABELS)
        whole = FeatureFilter(score, k=k, random_state=0).fit(X, Y)
        np.testing.assert_allclose(ours.scores_, whole.scores_, rtol=1e-9)
        np.testing.assert_array_equal(ours.support_, whole.support_)
        kept = ours.transform(LAZY)
        assert isinstance(kept, da.Array)
        np.testing.assert_array_equal(kept.compute(), whole.transform(X))
        back = ours.inverse_transform(kept)
        assert isinstance(back, da.Array)
        np.testing.assert_array_equal(back.compute(), whole.inverse_transform(whole.transform(X)))


def test_what_needs_all_rows_has_a_limit(monkeypatch):
    with pytest.raises(DataError, match='score="chi2" needs counts, but column'):
        FeatureFilter("chi2", k=2).fit(LAZY - np.array([0, 0, 0, 9, 0, 0]), LABELS)
    law = relations(LAZY[:, [0, 5]])
    assert law[0].equation == "x^2 - y = 0"
    left = law[0](LAZY[:, [0, 5]])
    assert isinstance(left, da.Array)
    assert np.abs(left.compute()).max() < 1e-12
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "9kB")
    for needy in (relations, lambda X: FeatureFilter("f").fit(X, LABELS)):
        with pytest.raises(MemoryLimitError, match=r"This needs all 200 rows of the Dask array in memory"):
            needy(LAZY)
    assert FeatureFilter("f", k=2).fit(LAZY, LABELS).k_ == 2
