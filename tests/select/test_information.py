"""The estimates of mutual information against their definitions, row by row."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma
from sklearn.metrics import mutual_info_score
from sklearn.preprocessing import scale

from gramian.select import mutual_information


def compared(X, y, *, classes, discrete, most=None, seed=0, k=3):
    return mutual_information.information(
        X,
        y,
        classes=classes,
        discrete=np.asarray(discrete),
        k=k,
        stream=np.random.RandomState(seed),
        most=most,
    )


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal(n), rng.integers(0, 3, n), rng.standard_normal(n), np.ones(n)])
    return X, rng.integers(0, 2, n)


def test_what_is_drawn_depends_on_the_seed_alone():
    for classes in [True, False]:
        X, codes = table(2000)
        y = codes if classes else X[:, 0] + codes
        one, many = (
            compared(X, y, classes=classes, discrete=[False, True, False, False], most=most)
            for most in (1, 4)
        )
        assert np.array_equal(one, many)
    assert mutual_information.random_stream(3).standard_normal() == np.random.RandomState(3).standard_normal()
    state = np.random.RandomState(3)
    assert mutual_information.random_stream(state) is state
    pair = [mutual_information.random_stream(np.random.default_rng(1)).standard_normal() for _ in range(2)]
    assert pair[0] == pair[1]


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


def test_estimators_are_their_definitions_column_by_column():
    for sizes, k in product([(20, 15), (2, 30, 5), (4, 4, 4)], [1, 3, 7]):
        rng = np.random.default_rng(sum(sizes) + k)
        labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int8)
        x = rng.standard_normal(len(labels)) + labels
        S, L = in_order(x, labels)
        result = mutual_information.ross(S, L, sizes, k)
        assert result == pytest.approx(ross_by_definition(x, labels, k), abs=1e-12)
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 25).astype(np.int8)
    pairs = [in_order(x, labels) for x in rng.standard_normal((4, 50))]
    together = mutual_information.ross(
        np.vstack([S for S, _ in pairs]), np.vstack([L for _, L in pairs]), (25, 25), 3
    )
    alone = [mutual_information.ross(S, L, (25, 25), 3)[0] for S, L in pairs]
    assert together.tolist() == alone
    for rho, k in product([0.0, 0.9], [1, 3, 10]):
        rng = np.random.default_rng(k)
        x = rng.standard_normal(60)
        y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(60)
        result = mutual_information.kraskov(x, y, np.sort(y), k)
        assert result == pytest.approx(kraskov_by_definition(x, y, k), abs=1e-12)


# Sums of a grid and a radius round to either side of grid points: the rounded differences decide.
grids = st.lists(st.integers(-30, 30), min_size=1, max_size=30)


@settings(max_examples=200)
@given(grids, st.integers(0, 60), st.sampled_from([0.1, 1 / 3, 1e-3, 1e200, 7e-310]))
def test_counting_follows_rounded_differences(values, reach, step):
    S = np.sort(np.array(values) * step)[None, :]
    radius = np.full(S.shape, reach * step)
    result = mutual_information.counts_within(S, S, radius)
    by_definition = (np.abs(S.T - S) <= radius).sum(axis=1)
    assert result[0].tolist() == by_definition.tolist()


codes = st.lists(st.integers(0, 4), min_size=1, max_size=40)


def plug_in_by_definition(x, y):
    """``sum f(x, y) ln(f(x, y) / (f(x) f(y)))`` over all pairs of values."""
    n = len(x)
    total = 0.0
    for a in set(x):
        for b in set(y):
            f_ab = sum(1 for u, v in zip(x, y, strict=True) if u == a and v == b) / n
            f_a, f_b = list(x).count(a) / n, list(y).count(b) / n
            total += f_ab * math.log(f_ab / (f_a * f_b)) if f_ab else 0.0
    return total


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_it_is_the_definition(pairs):
    x, y = (np.array(side) for side in zip(*pairs, strict=True))
    assert mutual_information.plug_in(x, y) == pytest.approx(plug_in_by_definition(x, y), abs=1e-12)
    assert mutual_information.plug_in(x, y) == pytest.approx(mutual_info_score(x, y), abs=1e-12)


@given(codes)
def test_a_variable_tells_its_own_entropy_of_itself(values):
    x = mutual_information.codes_of(np.array(values))
    assert mutual_information.plug_in(x, x) == pytest.approx(mutual_information.entropy(x), abs=1e-12)


def test_every_column_is_handled_by_its_kind():
    X = np.random.default_rng(0).standard_normal((40, 3)) * [1, 1e-8, 1e5] + [0, 0, 3e6]
    noise = np.random.RandomState(0).standard_normal((40, 3))
    scaled = scale(X, with_mean=False)
    expected = scaled + 1e-10 * np.maximum(1, np.abs(scaled).mean(axis=0)) * noise
    np.testing.assert_allclose(mutual_information.noisy(X.T, noise.T).T, expected, rtol=1e-14, atol=1e-14)
    x = np.random.default_rng(0).integers(0, 1000, (1, 50)).astype(np.float64)
    np.testing.assert_allclose(
        mutual_information.unit_scale(x + 2.0**30), mutual_information.unit_scale(x - x.mean()), rtol=1e-10
    )
    x = np.arange(200_000)
    assert mutual_information.plug_in(x, x) == pytest.approx(math.log(200_000))
    for classes in [True, False]:
        X, codes = table()
        y = codes if classes else X[:, 0] + 0.1 * codes
        both = compared(X, y, classes=classes, discrete=[False, True, False, False])
        assert both.shape == (4,)
        assert both[3] == 0.0
        assert np.all(both[:3] != 0)
    X, codes = table()
    X = X[:, [0, 2]]
    extra = np.vstack([X, [[100.0, 100.0], [200.0, -200.0]]])
    labels = np.concatenate([codes, [2, 3]])
    # Noise and scale are those of all rows, which neighbours hardly see.
    with_them = compared(extra, labels, classes=True, discrete=[False, False])
    without = compared(X, codes, classes=True, discrete=[False, False])
    assert with_them == pytest.approx(without, abs=0.02)
    X = np.arange(10.0)[:, None]
    assert compared(X, np.linspace(0, 1, 10) ** 2, classes=False, discrete=[True]) == 0.0
