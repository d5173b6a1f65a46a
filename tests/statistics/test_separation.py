"""Whether components tell groups apart."""

import numpy as np

from gramian.statistics.separation import separation_of


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
