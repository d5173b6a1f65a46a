"""Groups of rows along a component, by the dip test of a single peak."""

import numpy as np
import pytest

from gramian import PCA
from gramian.statistics.clusters import COMPONENTS, DIP, dip, parted


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
