"""Whether components tell groups apart, and groups of rows by the dip test of a single peak."""

import numpy as np
import pytest

from gramian import PCA
from gramian.statistics.groups import COMPONENTS, DIP, dip, parted, separation_of


def test_the_component_that_parts_groups_best_is_found():
    for component in [0, 1]:
        rng = np.random.default_rng(0)
        Z, kinds = rng.normal(size=(90, 3)), np.repeat(["a", "b", "c"], 30)
        Z[kinds == "b", component] += 8
        found = separation_of(Z * [5, 1, 0.1], kinds)
        assert (found.component, found.group, found.others, found.above) == (
            component,
            ("b",),
            ("a", "c"),
            True,
        )
        assert found.sided == 1
        assert found.p == 0.005
    rng = np.random.default_rng(0)
    Z, kinds = rng.normal(size=(200, 4)), np.repeat(["a", "b"], 100)
    assert separation_of(Z, kinds).pair == (1, 2)
    Z[kinds == "b", 2] += 1.5
    found = separation_of(Z, kinds)
    assert (found.component, found.group, found.pair) == (2, (), (3, 1))
    Z[kinds == "b", 2] += 5
    assert (separation_of(Z, kinds).group, separation_of(Z, kinds).pair) == (("a",), (3, 1))
    Z[kinds == "b", 0] += 1.2  # then they are no longer told apart much worse by the first
    Z[kinds == "b", 2] -= 5
    assert separation_of(Z, kinds).component is None


def test_the_nearest_group_and_labels_that_separate_nothing():
    claims = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        found = separation_of(rng.normal(size=(80, 4)), rng.integers(0, 3, 80).astype(str))
        claims.append(found.p <= 0.01)
    assert sum(claims) <= 4
    Z = np.random.default_rng(0).normal(size=(20, 2))
    assert separation_of(Z, np.full(20, "a")) is None
    assert separation_of(Z, np.arange(20).astype(str)) is None
    assert separation_of(Z, np.array([*"ab"] + ["c"] * 18)) is None
    assert separation_of(np.zeros((20, 2)), np.repeat(["a", "b"], 10)) is None
    # Each mean is taken without the row itself.
    rng = np.random.default_rng(1)
    Z, kinds = rng.normal(size=(40, 2)), np.repeat(["a", "b"], 20)
    Z[20:, 0] += 1
    within = np.sqrt(sum(((Z[kinds == k] - Z[kinds == k].mean(axis=0)) ** 2).sum(axis=0) for k in "ab") / 40)
    right = []
    for i in range(40):
        left = np.arange(40) != i
        means = {k: Z[left & (kinds == k)].mean(axis=0) for k in "ab"}
        right.append(min("ab", key=lambda k: (((Z[i] - means[k]) / within) ** 2).sum()) == kinds[i])
    assert separation_of(Z, kinds).right == np.mean(right)


def test_a_component_that_does_not_vary_within_groups_tells_them_apart():
    kinds = np.random.default_rng(0).integers(3, size=60)
    Z = np.column_stack([np.random.default_rng(1).normal(size=60), kinds])
    for within in (0.0, 1e-9):
        Z[:, 1] = kinds + within * np.random.default_rng(2).normal(size=60)
        assert separation_of(Z, kinds.astype(str)).right == 1


def test_the_limit_holds_and_few_points_are_no_groups():
    for n in [30, 200]:
        rng = np.random.default_rng(
            0
        )  # of all distributions with one peak, the uniform one has the largest dips
        found = [dip(np.sort(rng.uniform(size=n))) * np.sqrt(n) > DIP for _ in range(2000)]
        assert COMPONENTS * np.mean(found) <= 0.01
    assert dip(np.repeat([0.0, 1.0], 50)) == pytest.approx(0.25)  # half of the rows are on either side
    assert dip(np.arange(100.0)) == pytest.approx(1 / 200)  # a step of the sample
    rng = np.random.default_rng(0)
    assert parted(np.append(rng.normal(size=200), [50.0, 51.0, 52.0])[:, None]) is None
    assert parted(np.repeat([0.0, 1.0], 50)[:, None]) is None
    assert parted(np.zeros((1, 2))) is parted(np.arange(12.0)[:, None]) is None


def test_a_process_that_drifts_has_levels_and_no_groups():
    rng = np.random.default_rng(0)
    drifts = [np.cumsum(rng.normal(size=(300, 2)), axis=0) for _ in range(100)]
    assert not any(map(parted, drifts))
    assert sum(map(bool, (parted(rng.permutation(one)) for one in drifts))) > 10  # in no order, they are some
    assert parted(np.concatenate([rng.normal(size=100), rng.normal(6, size=50)])[:, None]) is not None


def test_groups_that_no_component_shows_are_found_along_a_sum_of_several():
    rng, sums, group = np.random.default_rng(0), 0, np.arange(200) < 60
    for _ in range(40):
        X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 8)) + rng.normal(size=(200, 8))
        found = parted(PCA(4).fit_transform(X + np.outer(group, rng.normal(0, 3, 8))))
        if found is not None:
            same = np.mean(found.above == group)
            assert max(same, 1 - same) > 0.9
            sums += np.count_nonzero(found.weights) > 1
        assert parted(PCA(4).fit_transform(X)) is None
    assert sums >= 5
