"""Parallel analysis and sign flips against literal loops, on planted data and on pure noise."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian.statistics.component_rules import REPEATS, parallel_analysis, permuted_columns, sign_flips


def spectrum_of(A, count):
    return np.linalg.svd(A, compute_uv=False)[:count] ** 2


def planted(n, d, k, seed, strength=1.0):
    rng = np.random.default_rng(seed)
    X = strength * rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) + rng.standard_normal((n, d))
    return X - X.mean(axis=0)


def horn(C, rng):
    """Column by column, spectrum by spectrum, comparison by comparison."""
    drawn = []
    for seed in rng.integers(2**62, size=19).tolist():
        draws = np.random.default_rng(seed)
        permuted = draws.permuted(np.ascontiguousarray(C.T), axis=1).T
        for old, new in zip(C.T, permuted.T, strict=True):
            assert sorted(old) == sorted(new)
        drawn.append(np.linalg.eigvalsh(permuted.T @ permuted)[::-1])
    observed = np.linalg.eigvalsh(C.T @ C)[::-1]
    number = 0
    for j in range(C.shape[1]):
        if not observed[j] > max(draw[j] for draw in drawn):
            break
        number += 1
    return number


def test_resampling_is_that_of_the_papers():
    for k in [0, 2, 5]:
        C = planted(60, 12, k, seed=k)
        result = parallel_analysis(C, spectrum_of, np.random.default_rng(3), size=12)
        assert result.number == horn(C, np.random.default_rng(3))
    for shape, k in product([(60, 12), (12, 61)], [0, 2, 4]):
        C = planted(*shape, k, seed=k, strength=2.0)
        result = sign_flips(C, spectrum_of, np.random.default_rng(4), size=min(shape))
        assert result.number == flips(C, np.random.default_rng(4), REPEATS)
        assert len(set(result.evidence["threshold"])) == 1
    seen = []

    def keep(A, count):
        seen.append(np.array(A))
        return spectrum_of(A, count)

    C = planted(50, 13, 0, seed=5)
    sign_flips(C, keep, np.random.default_rng(0), size=13)
    assert len(seen) == 1 + REPEATS
    share = [np.mean(A == -C) for A in seen[1:]]
    assert all(np.array_equal(np.abs(A), np.abs(C)) for A in seen)
    assert 0.47 < np.mean(share) < 0.53
    assert len({A.tobytes() for A in seen}) == 1 + REPEATS


def flips(C, rng, repeats):
    """The upper-edge comparison with the largest of all flips, entry by entry."""
    n, d = C.shape
    edge = 0.0
    for seed in rng.integers(2**62, size=repeats).tolist():
        data = np.random.default_rng(seed).integers(0, 256, (n * d + 7) // 8, dtype=np.uint8)
        flipped = C.copy()
        for place in range(n * d):
            if data[place // 8] >> (7 - place % 8) & 1:
                flipped[place // d, place % d] *= -1
        edge = max(edge, np.linalg.norm(flipped, 2))
    edge *= (n / (n - 1)) ** 0.5
    return int(np.sum(np.linalg.svd(C, compute_uv=False) > edge))


def test_many_components_are_found_whatever_seeds_units_and_types():
    C = planted(60, 12, 1, seed=7)
    before = C.copy()
    for rule in (parallel_analysis, sign_flips):
        first, second = (rule(C, spectrum_of, np.random.default_rng(9), size=12) for _ in range(2))
        assert_array_equal(first.evidence["threshold"], second.evidence["threshold"])
        other = rule(C, spectrum_of, np.random.default_rng(8), size=12)
        assert (first.evidence["threshold"] != other.evidence["threshold"]).any()
    assert_array_equal(C, before)
    C = planted(60, 12, 2, seed=8)
    for rule, power in ((parallel_analysis, 1), (sign_flips, 0.5)):
        plain, scaled = (
            rule(C, spectrum_of, np.random.default_rng(0), size=12, factor=f) for f in (1.0, 4.0)
        )
        for name in plain.evidence:
            if name != "components":
                assert_allclose(scaled.evidence[name], plain.evidence[name] * 4**power)
    C = planted(20, 1, 1, seed=9)
    assert parallel_analysis(C, spectrum_of, np.random.default_rng(0), size=1).number == 0
    assert parallel_analysis(C[:, :0], spectrum_of, np.random.default_rng(0), size=0).number == 0
    C = planted(20, 5, 1, seed=10).astype(np.float32)
    assert permuted_columns(C)(0).dtype == np.float32
    C = planted(300, 40, 20, seed=6, strength=2.0)
    result = parallel_analysis(C, spectrum_of, np.random.default_rng(0), size=40)
    assert result.number == horn(C, np.random.default_rng(0))
    assert result.number > 8
    assert result.evidence["components"].size == 16 if result.number < 16 else 32
    # 19 draws, and the largest as threshold: the twentieth passes with probability 1/20.
    alarms = {"parallel": 0, "sign-flip": 0}
    for seed in range(200):
        C = planted(30, 8, 0, seed=seed)
        for name, rule in (("parallel", parallel_analysis), ("sign-flip", sign_flips)):
            alarms[name] += rule(C, spectrum_of, np.random.default_rng(seed), size=8).number > 0
    # Six standard deviations of 200 tosses at 1/20.
    assert all(0 < count < 10 + 6 * (200 * 0.05 * 0.95) ** 0.5 for count in alarms.values()), alarms


@pytest.mark.walk
def test_noise_in_few_rows_does_not_exceed_its_own_flips():
    for n in [2, 3, 5, 10]:
        alarms = 0
        for seed in range(200):
            C = planted(n, 12, 0, seed=seed)
            result = sign_flips(C, spectrum_of, np.random.default_rng(seed), size=n - 1)
            alarms += result.number > 0
            raw = sign_flips(C, spectrum_of, np.random.default_rng(seed), size=n - 1, centered=False)
            assert_allclose(result.evidence["threshold"] ** 2, raw.evidence["threshold"] ** 2 * n / (n - 1))
        assert alarms < 10 + 6 * (200 * 0.05 * 0.95) ** 0.5
