"""The false discovery rate and permutation p-values, by their definitions."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from gramian.selection.significance import alike, benjamini_hochberg, pooled_p_values


def literal(p, alpha):
    """Procedure (1): reject the j smallest, j the largest with p_(j) <= alpha j / d."""
    ordered = sorted(p)
    largest = max([j for j in range(1, len(p) + 1) if ordered[j - 1] <= alpha * j / len(p)], default=0)
    return [largest > 0 and value <= ordered[largest - 1] for value in p]


@pytest.mark.parametrize("seed", range(20))
def test_benjamini_and_hochberg(seed):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(30) ** 4, 3)
    found, adjusted = benjamini_hochberg(p, 0.1)
    assert found.tolist() == literal(p, 0.1)
    np.testing.assert_allclose(adjusted, false_discovery_control(p, method="bh"), rtol=1e-12)


def test_nothing_and_everything():
    assert not benjamini_hochberg(np.ones(4), 0.05)[0].any()
    assert benjamini_hochberg(np.full(4, 0.05), 0.05)[0].all()
    assert benjamini_hochberg(np.array([0.05]), 0.05)[0].all()


def test_the_rate_holds_where_nothing_is_true():
    rng = np.random.default_rng(0)
    hits = [benjamini_hochberg(rng.random(50), 0.1)[0].any() for _ in range(2000)]
    assert np.mean(hits) == pytest.approx(0.1, abs=0.03)


def test_pooled_p_values_count_scores_of_the_same_kind():
    rng = np.random.default_rng(1)
    kinds = np.array([3, 0, 3, 7, 3])
    drawn = {}

    def measure(columns, permutations):
        drawn[tuple(columns)] = found = rng.standard_normal((1 + permutations, len(columns)))
        found[0, 0] = 100.0
        return found

    p, most = pooled_p_values(measure, kinds, 0.1)
    assert set(drawn) == {(0, 2, 4), (3,)}
    # N >= 2 d / alpha: a lone discovery needs 0.1 / 5.
    assert {key: len(found) - 1 for key, found in drawn.items()} == {(0, 2, 4): 34, (3,): 100}
    assert most == 100
    assert p[1] == 1
    for columns, found in drawn.items():
        for place, j in enumerate(columns):
            larger = sum(value >= found[0, place] for value in found[1:].ravel())
            assert p[j] == (1 + larger) / (1 + found[1:].size)
    assert p[0] < 0.1 / 5
    assert p[3] < 0.1 / 5


def test_at_least_20_permutations_and_equal_scores_count():
    p, most = pooled_p_values(lambda columns, b: np.zeros((1 + b, len(columns))), np.ones(4, int), 0.5)
    assert most == 20
    assert (p == 1).all()


def test_kinds_are_distinct_values_and_discreteness():
    rng = np.random.default_rng(2)
    X = np.column_stack(
        [np.zeros(60), rng.permutation(60) % 2, rng.permutation(60) % 3, rng.random(60), np.arange(60) // 2]
    )
    discrete = np.array([True, True, True, False, False])
    kinds = alike(X, discrete)
    assert kinds[0] == 0
    assert len(set(kinds[:4])) == 4
    assert kinds[3] == kinds[4]
    assert alike(X, ~discrete)[1] != kinds[1]
