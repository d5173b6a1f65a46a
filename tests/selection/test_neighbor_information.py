import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from gramian.selection.neighbor_information import counts_within, digamma_table, kraskov, ross


def ross_by_definition(x, labels, k):
    """psi(n) + <psi(k_i)> - <psi(n_i)> - <psi(m_i)>, each row by itself."""
    n = len(x)
    total = 0.0
    for i in range(n):
        apart = np.abs(x - x[i])
        own = np.sort(np.delete(apart, i)[np.delete(labels, i) == labels[i]])
        k_i = min(k, len(own))
        nearer = np.sum(apart <= np.nextafter(own[k_i - 1], 0))
        total += digamma(k_i) - digamma(len(own) + 1) - digamma(nearer)
    return digamma(n) + total / n


def kraskov_by_definition(x, y, k):
    """psi(n) + psi(k) - <psi(n_x + 1) + psi(n_y + 1)>, each row by itself."""
    n = len(x)
    total = 0.0
    for i in range(n):
        dx, dy = np.abs(np.delete(x, i) - x[i]), np.abs(np.delete(y, i) - y[i])
        reach = np.sort(np.maximum(dx, dy))[k - 1]
        total += digamma(np.sum(dx < reach) + 1) + digamma(np.sum(dy < reach) + 1)
    return digamma(n) + digamma(k) - total / n


def in_order(x, labels):
    order = np.argsort(x)
    return x[order][None, :], labels[order][None, :]


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("sizes", [(20, 15), (2, 30, 5), (4, 4, 4)])
def test_ross_is_its_definition(sizes, k):
    rng = np.random.default_rng(sum(sizes) + k)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int8)
    x = rng.standard_normal(len(labels)) + labels
    S, L = in_order(x, labels)
    found = ross(S, L, sizes, k, digamma_table(len(x)))
    assert found == pytest.approx(ross_by_definition(x, labels, k), abs=1e-12)


def test_columns_together_are_columns_alone():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 25).astype(np.int8)
    pairs = [in_order(x, labels) for x in rng.standard_normal((4, 50))]
    table = digamma_table(50)
    together = ross(np.vstack([S for S, _ in pairs]), np.vstack([L for _, L in pairs]), (25, 25), 3, table)
    alone = [ross(S, L, (25, 25), 3, table)[0] for S, L in pairs]
    assert together.tolist() == alone


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_kraskov_is_its_definition(k, rho):
    rng = np.random.default_rng(k)
    x = rng.standard_normal(60)
    y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(60)
    found = kraskov(x, y, np.sort(y), k, digamma_table(60))
    assert found == pytest.approx(kraskov_by_definition(x, y, k), abs=1e-12)


# Sums of a grid and a radius round to either side of grid points: the rounded differences decide.
grids = st.lists(st.integers(-30, 30), min_size=1, max_size=30)


@settings(max_examples=200)
@given(grids, st.integers(0, 60), st.sampled_from([0.1, 1 / 3, 1e-3, 1e200, 7e-310]))
def test_counting_follows_rounded_differences(values, reach, step):
    S = np.sort(np.array(values) * step)[None, :]
    radius = np.full(S.shape, reach * step)
    found = counts_within(S, S, radius)
    by_definition = (np.abs(S.T - S) <= radius).sum(axis=1)
    assert found[0].tolist() == by_definition.tolist()
