"""Laws of degree 1 from one pass over Dask's chunks and files are those of rows in memory."""

import numpy as np
import pytest

from gramian import relations
from gramian.errors import DataError, MemoryLimitError
from gramian.select.polynomials import Monomials, points_of, stand_ins, triangle
from gramian.tables.as_rows import as_rows

da = pytest.importorskip("dask.array", reason='needs pip install "gramian[cluster]"')


def table(n=700, noise=0.0, offset=0.0):
    rng = np.random.default_rng(0)
    a, b, c, d = rng.standard_normal((4, n)) + offset
    columns = [a, b, 2 * a - b + 3, c, c / 2 + d, d, np.full(n, 7.5)]
    return np.column_stack(columns) + noise * rng.standard_normal((n, 7))


def stored(X, path, monkeypatch):
    np.save(path / "x.npy", X)
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "100kB")
    return as_rows(np.load(path / "x.npy", mmap_mode="r"), limit=100_000, check_finite=False)


@pytest.mark.parametrize("kind", ["dask", "stored"])
@pytest.mark.walk
def test_laws_are_those_of_numpy(kind, tmp_path, monkeypatch):
    for noise, offset, dtype in ((0, 0, "f8"), (1e-2, 1e4, "f8"), (1e-3, 0, "f4"), (0.4, 0, "f8")):
        X = (table(5000, noise, offset)).astype(dtype)
        here = relations(X, 1)
        Y = da.from_array(X, chunks=(670, 7)) if kind == "dask" else stored(X, tmp_path, monkeypatch)
        there = relations(Y, 1)
        assert [law.equation for law in there] == [law.equation for law in here]
        assert len(here) == (0 if noise == 0.4 else 3 - (noise > 0))
        for one, other in zip(there, here, strict=True):
            np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-7)
            np.testing.assert_allclose(one.errors, other.errors, rtol=0.01, atol=1e-13)
            assert one.residual == pytest.approx(other.residual, rel=1e-5, abs=1e-11)
            # Other rows are held out together.
            assert one.held_out == pytest.approx(other.held_out, rel=0.05, abs=1e-11)
        assert there.nearest == pytest.approx(here.nearest, rel=1e-6)
        assert "in 5,000 rows x 7 columns" in str(there)
        monkeypatch.delenv("GRAMIAN_MEMORY_LIMIT", raising=False)


def test_stand_ins_have_the_products_of_the_rows():
    X = table(700, 0.1, 5.0)
    result, distinct = stand_ins(as_rows(X), 30)
    assert (result.n, distinct) == (700, 30)
    np.testing.assert_array_equal(result.largest, np.abs(X).max(axis=0))
    monomials = Monomials(7, 1)
    R, literal = triangle(result.values, monomials, result.counts), np.column_stack([np.ones(700), X])
    np.testing.assert_allclose(R.T @ R, literal.T @ literal, rtol=1e-12)
    sizes = [result.counts[part].sum() for part in result.parts]
    np.testing.assert_allclose(sizes, 140)
    # Fewer rows than parts, and rows of fewer than columns.
    for n in (3, 11):
        assert stand_ins(as_rows(X[:n]), 30)[0].n == n
    whole = points_of(X)
    assert whole.shuffled(np.random.default_rng(0)).values.shape == X.shape
    drawn = result.shuffled(np.random.default_rng(0))
    assert drawn.n == 700
    np.testing.assert_allclose(drawn.values.mean(axis=0), X.mean(axis=0))
    np.testing.assert_allclose(drawn.values.std(axis=0), X.std(axis=0))


def test_what_one_pass_cannot_tell_is_refused(monkeypatch):
    X = table()
    same = da.from_array(np.tile(X[:15], (100, 1)), chunks=(70, 7))
    with pytest.raises(DataError, match="15 distinct rows and 8 monomials up to degree 1 of 7"):
        relations(same, 1)
    X[500, 2] = np.nan
    with pytest.raises(DataError, match=r'Input X contains NaN: row 500, column 2\. Use missing="em"'):
        relations(da.from_array(X, chunks=(70, 7)), 1)
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "9kB")
    with pytest.raises(MemoryLimitError, match=r"This needs all 700 rows of the Dask array in memory"):
        relations(da.from_array(X, chunks=(70, 7)))
