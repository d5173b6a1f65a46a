"""Selection and laws from Dask's chunks: columns are judged where they are, and kept ones stay lazy."""

import numpy as np
import pytest

from gramian import FeatureFilter, relations
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


@pytest.mark.parametrize("score", ["f", "chi2", "mutual-information"])
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
    with pytest.raises(DataError, match='score_func="chi2" needs counts, but column'):
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
