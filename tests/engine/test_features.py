"""Sums of features against their definition, at once and merged from parts."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.engine.features import FeatureSums, feature_sums
from gramian.tables.as_rows import as_rows


def sums_of(X, *, single=False, on=None):
    def functions(values, out):
        out[...] = values

    def diagonal(values):
        return values[:, 0] ** 2

    rows = as_rows(X if on is None else pytest.importorskip("torch").asarray(X))
    there = lambda like: lambda values: (values * 1.0, diagonal(values))  # noqa: E731
    return feature_sums(rows, functions, X.shape[1], diagonal, there, single=single)


@pytest.mark.parametrize("on", [None, "cpu"])
@pytest.mark.parametrize("single", [False, True])
def test_parts_merge_to_what_all_rows_give_within_the_bound(single, on):
    rng = np.random.default_rng(0)
    spread, offset = np.array([1, 1e-3, 5, 1, 1, 0, 1]), np.array([0, 1, 3, 10, 0, 4, 1])
    X = rng.standard_normal((3000, 7)) * spread + offset
    X = X.astype(np.float32).astype(np.float64)
    C = X - X.mean(axis=0)
    for cuts in ([], [1], [1, 2, 900, 2999], list(range(100, 3000, 100))):
        parts = [sums_of(part, single=single, on=on) for part in np.split(X, cuts)]
        result = functools.reduce(FeatureSums.merged, parts)
        assert result.count == 3000
        assert_allclose(result.mean, X.mean(axis=0), atol=1e-6 if single else 1e-14)
        error = np.linalg.norm(result.moments.squares - C.T @ C, 2)
        assert error <= result.rounding <= (1e-4 if single else 1e-11) * np.trace(C.T @ C)
        assert_allclose(result.squares, X.T @ X, rtol=1e-5 if single else 1e-12)
        assert_allclose(result.diagonal, np.sum(X[:, 0] ** 2), rtol=1e-12)


def test_equal_rows_have_no_scatter_and_no_warning():
    for X in (np.full((40, 3), 0.1), np.full((1, 3), 0.1), np.full((5, 2), 1e150)):
        result = functools.reduce(FeatureSums.merged, [sums_of(X), sums_of(X), sums_of(X[:1])])
        assert np.abs(result.moments.squares).max() <= 1e-30 * X.max() ** 2
