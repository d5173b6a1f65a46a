"""Tables in Dask's chunks give what arrays give."""

import re
import tracemalloc
from itertools import product

import numpy as np
import pytest

from gramian import PCA, Whitener
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.tables.as_rows import as_rows

da = pytest.importorskip("dask.array", reason='needs pip install "gramian[cluster]"')

X = np.random.default_rng(0).standard_normal((500, 12)) * np.linspace(5, 1, 12) + 3
WIDE = X.T @ np.random.default_rng(1).standard_normal((500, 900))


@pytest.mark.parametrize(
    "options", [{"n_components": 3}, {"n_components": 0.9}, {}, {"scale": "unit"}], ids=str
)
def test_pca_of_chunks_is_that_of_the_array(options):
    for values, chunks in [
        (X, (70, 5)),
        (X, ((0, 500, 0), 12)),
        (WIDE, (5, 100)),
        (X.astype("f4"), (130, 12)),
    ]:
        ours = PCA(random_state=0, **options).fit(da.from_array(values, chunks=chunks))
        whole = PCA(random_state=0, **options).fit(values)
        rtol = 1e-10 if values.dtype == np.float64 else 1e-5
        top = whole.explained_variance_[0]
        np.testing.assert_allclose(
            ours.explained_variance_, whole.explained_variance_, rtol=rtol, atol=rtol * 1e-4 * top
        )
        assert ours.certificate_.ok
        lazy = ours.transform(da.from_array(values, chunks=chunks))
        assert lazy.dtype == values.dtype
        scale = np.sqrt(top) * 10
        np.testing.assert_allclose(lazy.compute() / scale, ours.transform(values) / scale, atol=1e-6)
        np.testing.assert_allclose(
            ours.inverse_transform(lazy).compute() / scale,
            whole.inverse_transform(whole.transform(values)) / scale,
            atol=1e-5,
        )


def test_lengths_that_are_not_known_are_counted():
    chunked = da.from_array(np.round(10 * X).astype(int), chunks=(70, 12))
    unknown = chunked[chunked[:, 0] > 0]
    assert np.isnan(unknown.shape[0])
    result = PCA(3).fit(unknown)
    np.testing.assert_allclose(result.explained_variance_, PCA(3).fit(unknown.compute()).explained_variance_)
    assert np.isnan(result.transform(unknown).shape[0])
    rows = unknown.compute()
    for options in ({"solver": "full"}, {"solver": "krylov", "random_state": 0}, {"whiten": True}):
        model, expected = PCA(3, **options), PCA(3, **options).fit(rows)
        np.testing.assert_allclose(model.fit_transform(unknown), expected.transform(rows), atol=1e-8)
        assert model.score(unknown) == pytest.approx(PCA(3).fit(rows).score(rows))
    with pytest.raises(ParameterError, match="n_components=13 but 359 rows x 12 columns have at most 12"):
        PCA(13).fit(unknown)
    pictures = X[:60].reshape(60, 4, 3)
    lazy = da.from_array(pictures, chunks=(25, 2, 3))
    some = lazy[lazy[:, 0, 0] > 0]
    for model in (PCA(3), Whitener(n_components=3)):
        back = model.fit(some).inverse_transform(model.transform(some))
        expected = model.inverse_transform(model.transform(some.compute()))
        assert back.ndim == 3
        np.testing.assert_allclose(back.compute(), expected, atol=1e-10)


def test_what_is_no_table_is_refused():
    with pytest.raises(DataError, match="Expected 2D array"):
        PCA().fit(da.ones(10))
    with pytest.raises(DataError, match=r'Input X contains NaN: row 71, column 2\. Use missing="em"'):
        PCA().fit(da.where(da.arange(500, chunks=70)[:, None] * 12 + da.arange(12) == 71 * 12 + 2, np.nan, X))
    holed = X.copy()
    holed[71, 2] = np.nan
    with pytest.raises(DataError, match=r"Input X contains NaN: row 1 of chunk 1, column 2\. Use"):
        Whitener(n_components=2).fit(X).transform(da.from_array(holed, chunks=(70, 12))).compute()
    with pytest.raises(DataError, match=r"Input X contains NaN: row 1 of chunk 1, column 2\. Use"):
        PCA(2).fit(X).transform(da.from_array(holed, chunks=(70, 12))).compute()
    model = PCA(2, missing="projection").fit(X)
    lazy = model.transform(da.from_array(holed, chunks=(70, 12)))
    np.testing.assert_allclose(lazy.compute(), model.transform(holed), rtol=1e-12)
    with pytest.raises(DataError, match="minimum of 2 is required"):
        PCA().fit(da.ones((1, 3)))
    with pytest.raises(InputTypeError, match=r"X is a dask\.bag\.core\.Bag\. Of Dask"):
        PCA().fit(pytest.importorskip("dask.bag").from_sequence([1, 2]))
    sparse = pytest.importorskip("scipy.sparse")
    other = da.from_array(X, chunks=(70, 12)).map_blocks(
        sparse.csr_matrix, dtype=float, meta=np.empty((0, 0))
    )
    with pytest.raises(InputTypeError, match=r"The chunks of X are scipy\.sparse\._csr\.csr_matrix, but"):
        PCA(2).fit(other)
    known = da.from_array(X, chunks=(70, 12)).map_blocks(sparse.csr_matrix)
    for chunks, call in product(
        (other, known),
        (PCA(2).fit, PCA(2, missing="em").fit, lambda some: PCA(2).fit(X).transform(some).compute()),
    ):
        with pytest.raises(InputTypeError, match=r"Convert them: X.map_blocks.*toarray"):
            call(chunks)


def test_the_plan_counts_tasks_and_memory():
    from dask.callbacks import Callback

    chunked, done = da.from_array(X, chunks=(20, 12)).astype("f8") + 1, []
    plan = PCA(3, solver="covariance").plan(chunked)
    said = re.search(r"25 chunks: a pass is (\d+) tasks$", plan.steps[0].detail)
    with Callback(posttask=lambda key, *_: done.append(key)):
        PCA(3, solver="covariance").fit(chunked)
    assert len(done) == int(said[1])
    assert PCA(3).plan(chunked[:, :5]).seconds < plan.seconds

    def made(block_info):  # 80 MB
        (first, last), _ = block_info[None]["array-location"]
        return np.arange(first, last)[:, None] + np.arange(50_000.0)

    chunked = da.map_blocks(made, chunks=((20,) * 10, (50_000,)), dtype=float, meta=np.empty((0, 0)))
    whole, parts = as_rows(chunked, limit=1 << 40), as_rows(chunked, limit=40 << 20)
    held = 0

    def sums(part, numbers):
        np.testing.assert_array_equal(part.in_memory()[3], 3 + numbers)
        return part.in_memory().sum(axis=0)

    def joined(first, second):
        return np.append(first, second)

    for rows in (whole, parts):
        tracemalloc.start()
        result = rows.over_columns(sums, joined, np.arange(50_000.0))
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        np.testing.assert_allclose(result, 200 * np.arange(50_000) + np.arange(200).sum())
        assert held < rows.spread.columns + (4 << 20)
    assert parts.spread.columns < whole.spread.columns
    assert held < 60e6
    plan = PCA(3, solver="gram", memory_limit="1GB").plan(chunked)
    assert plan.bytes > as_rows(chunked, limit=10**9).spread.columns > 80e6
