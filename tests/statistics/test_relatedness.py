"""Kinship of individuals: the screening of all pairs, and the pairs that are found."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.statistics.relatedness import MOST_FLOPS, SCREENED, _screened, related


def calls(missing, seed=0):
    """Return the calls of 30 people, the last two the same person; some are missing."""
    rng = np.random.default_rng(seed)
    people = rng.binomial(2, rng.uniform(0.1, 0.5, 2000), (30, 2000)).astype(np.float32)
    people[-1] = people[-2]
    people[rng.random(people.shape) < missing] = np.nan
    return people


def kinship(a, b):
    """Return the estimate of Manichaikul et al. (2010), equation 11, over the variants that both have."""
    a, b = (one[~np.isnan(a) & ~np.isnan(b)] for one in (a, b))
    opposite, shared = (np.abs(a - b) == 2).sum(), ((a == 1) & (b == 1)).sum()
    one, other = (a == 1).sum(), (b == 1).sum()
    return 0.5 - (4 * opposite + one + other - 2 * shared) / (4 * min(one, other))


def test_the_screening_is_kinship_and_finds_the_same_person_alone():
    for missing, tolerance in [(0.0, 1e-6), (0.05, 0.05)]:
        people = calls(missing)
        expected = [[kinship(a, b) for b in people] for a in people]
        assert_allclose(_screened(people), expected, rtol=0, atol=tolerance)
    for missing in [0.0, 0.05]:
        people = calls(missing)
        (pair,) = related(people)
        assert (pair.first, pair.second) == (28, 29)
        assert pair.kinship == pytest.approx(kinship(people[28], people[29]), abs=1e-12)


def cohort(n, variants, copies, wrong, seed=0):
    """Return calls of n people whose last ones are the first once more, some calls wrong and 4 % missing."""
    rng = np.random.default_rng(seed)
    people = rng.binomial(copies, rng.uniform(0.02, 0.5, variants), (n, variants)).astype("f4") * (
        2 // copies
    )
    people[-3:] = people[:3]
    swapped = rng.random((3, variants)) < wrong
    people[-3:][swapped] = 2 - people[-3:][swapped]
    people[rng.random(people.shape) < 0.04] = np.nan
    return people


@pytest.mark.parametrize(
    ("n", "variants", "copies", "wrong"),
    [pytest.param(4000, 4000, 2, 0.005, marks=pytest.mark.walk), (300, 130, 2, 0), (300, 2000, 1, 0.005)],
    ids=["many", "few", "inbred"],
)
def test_the_same_person_twice_is_found_where_kinship_is_not(n, variants, copies, wrong):
    people = cohort(n, variants, copies, wrong)
    assert n == 300 or 3 * n**2 * SCREENED > MOST_FLOPS
    expected = {(0, n - 3), (1, n - 2), (2, n - 1)}
    pairs = related(people)
    assert {(one.first, one.second) for one in pairs} == expected
    assert {one.degree for one in pairs} == {"the same person or twins"}
    assert related(people[:-3]) == []
