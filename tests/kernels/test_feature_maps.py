"""Feature maps, polynomial and of random frequencies: features, names and errors against the kernels."""

import math
import tracemalloc
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest

from gramian.errors import DataError, ParameterError
from gramian.kernels import RBF
from gramian.kernels.feature_maps import KernelError, check_gamma, fourier_map, frequencies, polynomial_map

KERNELS = [(None, 1.0), (1.0, 1.0), (1.0, 0.0), (0.3, 2.5)]


def rows(n, d, seed=0, spread=1.5):
    return np.random.default_rng(seed).standard_normal((n, d)) * spread


def expanded(X, degree, gamma, coef0):
    """(gamma x.y + c)^p multiplied out into p factors, each a choice of gamma x_i y_i or c, and collected."""
    features = {}
    letters = [*range(X.shape[1]), None]
    for word in combinations_with_replacement(range(len(letters)), degree):
        ways = math.factorial(degree)
        value = np.ones(len(X))
        for place in range(len(letters)):
            times = word.count(place)
            ways //= math.factorial(times)
            factor = math.sqrt(coef0) if letters[place] is None else math.sqrt(gamma) * X[:, place]
            value = value * factor**times
        features[tuple(word.count(i) for i in range(X.shape[1]))] = math.sqrt(ways) * value
    return features


def test_inner_products_are_the_kernel_and_features_its_terms():
    for (gamma, coef0), d, degree in product(KERNELS, range(1, 7), range(1, 7)):
        case = gamma, coef0, d, degree
        X, Y = rows(25, d), rows(17, d, seed=1)
        phi = polynomial_map(d, degree=degree, gamma=gamma, coef0=coef0)
        exact = ((1 / d if gamma is None else gamma) * (X @ Y.T) + coef0) ** degree
        gap = np.abs(phi(X) @ phi(Y).T - exact).max()
        assert gap <= 1e-12 * np.abs(exact).max(), case
        error = phi.kernel_error(X, Y)
        assert error.maximum == pytest.approx(gap, rel=0.5, abs=1e-14 * error.scale), case
        assert error.ok, case
        assert error.pairs == 25 * 17, case
        assert error.bound < 1e-11 * (1e-3 + (phi.gamma[0] * 60 + coef0) ** degree), case
    for (gamma, coef0), (d, degree) in product(
        [(1.0, 1.0), (0.3, 2.5), (0.5, 0.0)], [(1, 3), (2, 3), (2, 4), (3, 3), (4, 2)]
    ):
        case = gamma, coef0, d, degree
        X = rows(9, d)
        phi = polynomial_map(d, degree=degree, gamma=gamma, coef0=coef0)
        terms = expanded(X, degree, gamma, coef0)
        for power, column in zip(phi.powers.tolist(), phi(X).T, strict=True):
            assert_allclose(column, terms.pop(tuple(power)), rtol=1e-13, err_msg=repr(case))
        # What is left over are the terms that coef0 = 0 makes vanish.
        assert all((values == 0).all() for values in terms.values()), case
        monomials = np.prod(X[:, None, :] ** phi.powers, axis=2)
        assert_allclose(monomials * phi.coefficients, phi(X), rtol=1e-13, err_msg=repr(case))


def test_names_say_the_coefficients():
    for arguments, names in [
        ({"degree": 2}, ("1", "f1", "f2", "0.5 f1^2", "0.707107 f1 f2", "0.5 f2^2")),
        ({"degree": 2, "gamma": 1, "coef0": 0}, ("f1^2", "sqrt(2) f1 f2", "f2^2")),
        ({"degree": 1, "gamma": 0.1, "coef0": 4}, ("2", "0.316228 f1", "0.316228 f2")),
        ({"degree": 1, "gamma": math.pi, "coef0": 0.25}, ("0.5", "1.77245 f1", "1.77245 f2")),
        ({"degree": 1, "gamma": 4, "coef0": math.e}, ("1.64872", "2 f1", "2 f2")),
    ]:
        assert polynomial_map(2, **arguments).names == names
    for d, degree, gamma, coef0 in [(3, 5, None, 1), (2, 20, 0.7, 3), (4, 3, 0.123457, 1.0)]:
        phi = polynomial_map(d, degree=degree, gamma=gamma, coef0=coef0)
        assert len(set(phi.names)) == len(phi)
        for name, value, power in zip(phi.names, phi.coefficients, phi.powers, strict=True):
            text = " ".join(word for word in name.split() if not word.startswith("f")) or "1"
            assert eval(text, {"sqrt": math.sqrt}) == pytest.approx(value, rel=1e-5)
            monomial = [word for word in name.split() if word.startswith("f")]
            assert monomial == [f"f{i + 1}" + (f"^{p}" if p > 1 else "") for i, p in enumerate(power) if p]


def test_too_many_features_and_parameters_outside_their_range_are_refused():
    tracemalloc.start()
    with pytest.raises(ParameterError, match=r"max_features=1000000 is exceeded: \(x\.y \+ 1\)\^15 of 10"):
        polynomial_map(10, degree=15, gamma=1)
    with pytest.raises(ParameterError, match=r"max_features=1000000 is exceeded: \("):
        polynomial_map(32256, degree=170)
    with pytest.raises(ParameterError, match=r"max_features=1000000 is exceeded: \(0\.1 x\.y\)\^15 of 10"):
        polynomial_map(10, degree=15, coef0=0)
    # The names f1, f2, ... of 32,256 features are all there is.
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()
    assert len(polynomial_map(10, degree=15, max_features=4_000_000)) == 3_268_760
    with pytest.raises(ParameterError, match=r"max_features=5 is exceeded: \(0\.5 x\.y \+ 1\)\^2 of 2"):
        polynomial_map(2, degree=2, max_features=5)
    with pytest.raises(ParameterError, match=r"degree=171 must be a whole number from 1 to 170\. A"):
        polynomial_map(1, degree=171)
    wrong = {
        "degree": (0, -2, 1.5, "3", True, np.nan, 10**400),
        "gamma": (0, -1.0, np.inf, True, [1.0, 2.0], "scale"),
        "coef0": (-0.5, None),
        "max_features": (0,),
        "n_features": (0, 2.5),
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ParameterError, match="must be a"):
                polynomial_map(**{"n_features": 2, name: value})
    assert polynomial_map(2, degree=3.0, gamma=1).names == polynomial_map(2, degree=3, gamma=1).names


def test_high_degrees_and_any_scale_are_accurate_until_float64_ends():
    for d, degree in [(2, 20), (2, 100), (1, 170), (2, 170)]:
        X = np.random.default_rng(0).uniform(-0.6, 0.6, (12, d))
        error = polynomial_map(d, degree=degree, gamma=1).kernel_error(X)
        assert error.relative < 1e-12
        assert error.ok
    for scale in [1e-100, 1e100]:
        X = rows(8, 3)
        phi = polynomial_map(3, degree=3, gamma=scale**-2)
        assert_allclose(phi(X * scale), polynomial_map(3, degree=3, gamma=1)(X), rtol=1e-12)
        assert phi.kernel_error(X * scale).relative < 1e-12
    error = KernelError(1e-3, 5e-4, 2.0, 1600, 2e-3, "deterministic", "Measured here.")
    assert str(error) == (
        "kernel error: max 0.001, rms 0.0005, of values up to 2, over 1,600 pairs; bound 0.002 "
        "(deterministic). Measured here."
    )
    assert error.ok
    assert error.relative == 5e-4
    assert KernelError(0.1, 0.1, 0.0, 1, 0.01, "deterministic", "").relative == 0.1
    assert not KernelError(0.1, 0.1, 0.0, 1, 0.01, "deterministic", "").ok
    phi = polynomial_map(2, degree=3, gamma=1)
    with pytest.raises(DataError, match=r"A feature of \(x\.y \+ 1\)\^3 exceeds what float64 can hold\."):
        phi([[1e150, 1.0]])
    with pytest.raises(DataError, match=r"A feature of \(x\.y \+ 1\)\^3 exceeds what float32 can hold\."):
        phi.evaluate(np.array([[1e20, 1.0]]), np.float32)
    # The features are within range and the kernel is not.
    with pytest.raises(DataError, match=r"\(x\.y \+ 1\)\^3 exceeds what float64 can hold\. Scale the data"):
        phi.kernel_error([[1e80, 1.0]])
    assert np.isfinite(phi([[1e80, 1.0]])).all()


def test_blocks_of_rows_make_no_difference(monkeypatch):
    X = rows(41, 3)
    phi = polynomial_map(3, degree=3)
    whole = phi(X)
    monkeypatch.setattr("gramian.kernels.feature_maps.BLOCK", 60)
    assert_array_equal(phi(X), whole)
    assert phi.radius(X) == pytest.approx(np.linalg.norm(X, axis=1).max() / math.sqrt(3), rel=1e-14)


def test_monomials_without_coefficients():
    rng = np.random.default_rng(0)
    for d, degree, coef0 in [(1, 1, 1), (2, 3, 1), (3, 2, 0), (4, 5, 1)]:
        X, Y = rng.standard_normal((6, d)), rng.standard_normal((4, d))
        mapping = polynomial_map(d, degree=degree, coef0=coef0, weights=None)
        degrees = range(degree + 1) if coef0 else [degree]
        powers = [p for p in product(range(degree + 1), repeat=d) if sum(p) in degrees]
        expected = {p: np.prod(X ** np.array(p), axis=1) for p in powers}
        values = mapping(X)
        assert values.shape == (6, len(expected))
        for column, power in zip(values.T, mapping.powers.tolist(), strict=True):
            assert_allclose(column, expected[tuple(power)], rtol=1e-13)
        assert set(mapping.coefficients) == {1.0}
        assert not any("sqrt" in name for name in mapping.names)
        kernel = sum(np.outer(np.prod(X**p, axis=1), np.prod(Y**p, axis=1)) for p in mapping.powers)
        assert_allclose(mapping.kernel(X, Y), kernel, rtol=1e-12, atol=1e-12)
        error = mapping.kernel_error(X, Y)
        assert error.maximum <= error.bound < 1e-8
    for wrong in ({"gamma": 0.5}, {"coef0": 2.0}):
        with pytest.raises(ParameterError, match="part of the coefficients"):
            polynomial_map(2, weights=None, **wrong)
    with pytest.raises(ParameterError, match="weights"):
        polynomial_map(2, weights="none")


MAPS = {
    "polynomial": polynomial_map(3, degree=2),
    "fourier": fourier_map(3, n_components=40, gamma=0.2, rng=0),
}
POINTS = np.random.default_rng(0).standard_normal((11, 3))


@pytest.fixture(params=MAPS.values(), ids=MAPS.keys())
def phi(request):
    return request.param


def test_what_is_no_table_of_numbers_is_refused():
    for (bad, message), phi in product(
        [
            (POINTS[:, :2], r"X has shape \(11, 2\), but this map takes \(n, 3\)"),
            (POINTS[0], r"X has shape \(3,\)"),
            (POINTS * 1j, "complex128, which is not real numbers"),
            (POINTS * np.where(np.arange(3) == 1, np.nan, 1), "NaN or infinity"),
            (np.where(POINTS > 1, np.inf, POINTS), "NaN or infinity"),
            ([["a", "b", "c"]], "not a table of numbers"),
            (sp.csr_matrix(POINTS), "not a table of numbers"),
        ],
        MAPS.values(),
    ):
        with pytest.raises(DataError, match=message):
            phi(bad)
        with pytest.raises(DataError, match=message):
            phi.kernel_error(POINTS, bad)


def test_rows_of_any_kind_and_errors_on_all_pairs(phi):
    Y = POINTS[:4] + 0.1
    error = phi.kernel_error(POINTS, Y)
    gap = np.abs(phi(POINTS) @ phi(Y).T - phi.kernel(POINTS, Y))
    assert error.maximum == gap.max()
    assert error.rms == pytest.approx(math.sqrt((gap**2).mean()), rel=1e-12)
    assert error.scale == phi.kernel(POINTS, Y).max()
    assert error.pairs == 44
    assert error.relative == error.maximum / error.scale
    assert error.kind == phi.kind
    own = phi.kernel_error(POINTS)
    assert own.pairs == 121
    assert own.ok
    assert own.scale >= error.maximum
    assert f"3 -> {len(phi)} features" in repr(phi)
    assert "x" in phi.formula
    whole = np.round(POINTS * 3)
    expected = phi(whole)
    assert expected.shape == (11, len(phi))
    for other in (
        whole.tolist(),
        pd.DataFrame(whole),
        whole.astype(int),
        whole.astype("f4"),
        whole.astype(">f8"),
    ):
        assert_array_equal(phi(other), expected)
        assert phi(other).dtype == np.float64
    assert phi(np.zeros((0, 3))).shape == (0, len(phi))


@pytest.mark.parametrize("gamma", [np.full(3, 0.3), np.array([0.1, 2.0, 0.5])])
def test_the_gaussian_kernel_is_its_definition(gamma):
    Y = POINTS[:5] * 2
    expected = [[math.exp(-sum(gamma[i] * (x[i] - y[i]) ** 2 for i in range(3))) for y in Y] for x in POINTS]
    assert_allclose(fourier_map(3, gamma=gamma).kernel(POINTS, Y), expected, rtol=1e-14)
    for scale in (1e-100, 1e100):
        scaled = fourier_map(3, gamma=gamma / scale**2).kernel(POINTS * scale, Y * scale)
        assert_allclose(scaled, expected, rtol=1e-12)


def test_widths_and_numbers_outside_their_range():
    assert check_gamma(None, 4).tolist() == [0.25] * 4
    assert check_gamma([3, 4], 2).tolist() == [3.0, 4.0]
    for gamma in (0.0, [1.0, -1.0], [1.0], "auto"):
        with pytest.raises(ParameterError, match="must be a positive"):
            check_gamma(gamma, 2)
    for arguments, message in [
        ({"n_components": 0}, "n_components=0 must be a whole"),
        ({"n_components": -3}, "n_components=-3 must be a whole"),
        ({"n_components": 2.5}, r"n_components=2\.5 must be a whole"),
        ({"n_components": None}, "n_components=None must be a whole"),
        ({"n_components": 10**14}, "n_components=100000000000000 of 2"),
        ({"gamma": -1}, "gamma=-1 must be a positive number,"),
    ]:
        with pytest.raises(ParameterError, match=message):
            fourier_map(2, **arguments)


X = np.random.default_rng(0).standard_normal((60, 5))


def test_features_are_cosines_and_sines():
    phi = fourier_map(5, n_components=6, gamma=0.3, rng=1)
    W = phi.frequencies
    assert W.shape == (3, 5)
    expected = [[f(w @ x) / math.sqrt(3) for f in (math.cos, math.sin) for w in W] for x in X]
    assert_allclose(phi(X), expected, atol=1e-14)
    assert_allclose((phi(X) ** 2).sum(axis=1), 1.0, rtol=1e-14)
    assert len(fourier_map(5, n_components=5, rng=1)) == 6
    assert phi.names == ("cos(w1.x)", "cos(w2.x)", "cos(w3.x)", "sin(w1.x)", "sin(w2.x)", "sin(w3.x)")


def test_frequencies_are_normal_however_few():
    for orthogonal, (d, count) in product([True, False], [(1, 4000), (3, 3001), (40, 2000)]):
        case = orthogonal, d, count
        W = frequencies(count, d, orthogonal=orthogonal, rng=np.random.default_rng(5))
        assert W.shape == (count, d), case
        # Rows of different groups are independent, so one of each group is a sample without any doubt.
        independent = W[:: d if orthogonal else 1]
        assert kstest(independent[:, 0], "norm").pvalue > 1e-3, case
        assert kstest((W**2).sum(axis=1), "chi2", args=(d,)).pvalue > 1e-3, case
        assert_allclose(W.mean(axis=0), 0, atol=5 / math.sqrt(count), err_msg=repr(case))
        for start in range(0, count, d):
            group = W[start : start + d]
            inner = group @ group.T
            if orthogonal:
                assert_allclose(
                    inner, np.diag(np.diag(inner)), atol=1e-12 * d * inner.max(), err_msg=repr(case)
                )
    W = frequencies(3, 20000, orthogonal=True, rng=np.random.default_rng(0))
    inner = W @ W.T
    assert_allclose(inner - np.diag(np.diag(inner)), 0, atol=1e-8)


@pytest.mark.parametrize("d", [5, 20])
def test_orthogonal_frequencies_are_better(d):
    data = np.random.default_rng(1).standard_normal((80, d))

    def rms(orthogonal):
        rng = np.random.default_rng(7)
        maps = [
            fourier_map(d, n_components=4 * d, gamma=0.5 / d, orthogonal=orthogonal, rng=rng)
            for _ in range(20)
        ]
        return math.sqrt(np.mean([phi.kernel_error(data).rms ** 2 for phi in maps]))

    assert rms(True) < 0.8 * rms(False)


def test_the_bound_is_hoeffdings_and_holds_as_often_as_it_says():
    """One pair, confidence 0.5: more than half of 120 draws stay within."""
    for count, orthogonal in product([2, 16, 80], [True, False]):
        x, y = X[:1], X[1:2]
        rng = np.random.default_rng(6)
        within = []
        for _ in range(120):
            phi = fourier_map(5, n_components=count, gamma=0.05, orthogonal=orthogonal, rng=rng)
            within.append(phi.kernel_error(x, y).maximum <= phi.error_bound(1, 0.5))
        assert np.mean(within) >= 0.5, (count, orthogonal)
    phi = fourier_map(5, n_components=200, orthogonal=False, rng=0)
    assert phi.independent == 100
    # P(|mean - k| >= t) <= 2 exp(-m t^2 / 2) for means of m numbers in [-1, 1].
    t = phi.error_bound(10, 0.9)
    assert 10 * 2 * math.exp(-100 * t**2 / 2) == pytest.approx(0.1)
    grouped = fourier_map(5, n_components=206, orthogonal=True, rng=0)
    assert grouped.independent == 20
    assert grouped.error_bound() == pytest.approx(math.sqrt(2 * math.log(200) / 20))
    few = fourier_map(50, n_components=20, orthogonal=True, rng=0)
    assert few.independent == 1
    assert few.error_bound() == 2.0
    error = phi.kernel_error(X)
    assert error.kind == "probabilistic"
    assert error.bound == pytest.approx(phi.error_bound(60 * 59 // 2), rel=1e-6)
    assert "Hoeffding's for 100 independent draws" in error.about
    assert "probability 0.99" in error.about


def test_widths_origins_phases_and_bounds():
    for value in [1e150, 1e308]:
        with pytest.raises(DataError, match=r"radians\. Scale the data first"):
            fourier_map(2, rng=0)([[value, 1.0]])
    for arguments in [(0,), (1, 1.0), (1, 0)]:
        with pytest.raises(ParameterError, match="0 must be a"):
            fourier_map(2, rng=0).error_bound(*arguments)
    sigma = np.array([0.5, 1, 2, 4, 8])
    phi = fourier_map(5, n_components=20, gamma=0.5 / sigma**2, rng=2)
    plain = fourier_map(5, n_components=20, gamma=0.5, rng=2)
    assert_allclose(phi(X), plain(X / sigma), atol=1e-12)
    assert_allclose(phi.kernel(X), RBF(sigma=1.0).gram(X / sigma), atol=1e-13)
    assert fourier_map(5, n_components=4000, gamma=0.5 / sigma**2, rng=2).kernel_error(X).maximum < 0.1
    far = X * 1e-6 + 1e9
    centred = fourier_map(5, n_components=50, gamma=0.5e12, rng=0, origin=np.full(5, 1e9))
    plain = fourier_map(5, n_components=50, gamma=0.5e12, rng=0)
    assert centred.kernel_error(far).maximum < 0.6
    with pytest.raises(DataError, match=r"Rows far from the origin round w \. x by 1e\+01 radians\."):
        plain(far)
