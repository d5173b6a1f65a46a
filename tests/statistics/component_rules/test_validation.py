"""Bi-cross-validation against its definition with pseudo-inverses, and on planted data."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.statistics.component_rules import SPLITS, bi_cross_validation


def factors_of(D, count):
    U, s, Vt = np.linalg.svd(D, full_matrices=False)
    r = min(count, int(np.sum(s > 1e-12 * s[0]))) if s.size and s[0] > 0 else 0
    return U[:, :r], s[:r], Vt[:r]


def definition(X, rng, *, centered):
    """Hold out each block, truncate the opposite one, and multiply by its pseudo-inverse."""
    n, d = X.shape
    most = min(n // 2 - centered, d // 2)
    errors = np.zeros(most + 1)
    for seed in rng.integers(2**62, size=SPLITS).tolist():
        draws = np.random.default_rng(seed)
        rows, columns = draws.permutation(n), draws.permutation(d)
        for out in (rows[: n // 2], rows[n // 2 :]):
            kept = np.setdiff1d(rows, out)
            Y = X - X[kept].mean(axis=0) if centered else X
            for left in (columns[: d // 2], columns[d // 2 :]):
                right = np.setdiff1d(columns, left)
                A, B = Y[np.ix_(out, left)], Y[np.ix_(out, right)]
                C, D = Y[np.ix_(kept, left)], Y[np.ix_(kept, right)]
                U, s, Vt = np.linalg.svd(D, full_matrices=False)
                for k in range(most + 1):
                    truncated = (U[:, :k] * s[:k]) @ Vt[:k]
                    errors[k] += ((A - B @ np.linalg.pinv(truncated, rcond=1e-10) @ C) ** 2).sum()
    return errors / (SPLITS * n * d)


def test_the_errors_are_those_of_the_definition_for_any_rank():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 20))
    assert bi_cross_validation(X, factors_of, np.random.default_rng(0)).number == 3
    X = np.random.default_rng(4).standard_normal((80, 30))
    result = bi_cross_validation(X, factors_of, np.random.default_rng(0))
    assert result.number == 0
    assert "is least at 0" in result.sentence
    assert result.evidence["held_out_error"][0] == pytest.approx(1.0, rel=0.1)
    assert bi_cross_validation(np.full((8, 4), 3.0), factors_of, np.random.default_rng(0)).number == 0
    for n, d, centered, most in [(3, 5, True, 0), (4, 2, True, 1), (2, 2, False, 1), (9, 1, True, 0)]:
        X = np.random.default_rng(5).standard_normal((n, d))
        result = bi_cross_validation(X, factors_of, np.random.default_rng(0), centered=centered)
        assert (result.number is None) == (most == 0)
        if most == 0:
            assert f"Halves of {n} rows x {d} columns" in result.sentence
    rng = np.random.default_rng(7)
    X = (rng.standard_normal((60, 2)) @ rng.standard_normal((2, 20)) + rng.standard_normal((60, 20))) * 1e12
    rough, fine = (
        bi_cross_validation(x, factors_of, np.random.default_rng(0)) for x in (X.astype(np.float32), X)
    )
    name = "held_out_error"
    assert_allclose(rough.evidence[name], fine.evidence[name], rtol=1e-4)
    for centered, shape in product([True, False], [(30, 9), (9, 31), (16, 16)]):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1])) * 3
        X += rng.standard_normal(shape) + 5
        result = bi_cross_validation(X, factors_of, np.random.default_rng(1), centered=centered)
        expected = definition(X, np.random.default_rng(1), centered=centered)
        assert_allclose(result.evidence["held_out_error"], expected, rtol=1e-9)
        assert result.number == int(np.argmin(expected))
    rng = np.random.default_rng(2)
    X = 3 * rng.standard_normal((200, 20)) @ rng.standard_normal((20, 90)) + rng.standard_normal((200, 90))
    result = bi_cross_validation(X, factors_of, np.random.default_rng(0))
    assert result.number == 20
    assert result.evidence["components"].tolist() == list(range(33))
    rng = np.random.default_rng(6)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 5)) * 9 + 0.1 * rng.standard_normal((40, 5))
    result = bi_cross_validation(X, factors_of, np.random.default_rng(0))
    assert result.number == 2
    assert result.sentence.endswith("More than 2 cannot be tried with half of the data.")
