"""The polynomial kernel's feature map: features, names and counts against the kernel and by hand."""

import math
import tracemalloc
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from gramian.errors import DataError, ParameterError
from gramian.kernels.feature_maps import polynomial_map

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


def test_inner_products_are_the_kernel():
    for gamma, coef0 in KERNELS:
        for d in range(1, 7):
            for degree in range(1, 7):
                X, Y = rows(25, d), rows(17, d, seed=1)
                phi = polynomial_map(d, degree=degree, gamma=gamma, coef0=coef0)
                exact = ((1 / d if gamma is None else gamma) * (X @ Y.T) + coef0) ** degree
                gap = np.abs(phi(X) @ phi(Y).T - exact).max()
                assert gap <= 1e-12 * np.abs(exact).max(), (gamma, coef0, d, degree)
                error = phi.kernel_error(X, Y)
                assert error.maximum == pytest.approx(gap, rel=0.5, abs=1e-14 * error.scale), (
                    gamma,
                    coef0,
                    d,
                    degree,
                )
                assert error.ok, (gamma, coef0, d, degree)
                assert error.pairs == 25 * 17, (gamma, coef0, d, degree)
                assert error.bound < 1e-11 * (1e-3 + (phi.gamma[0] * 60 + coef0) ** degree), (
                    gamma,
                    coef0,
                    d,
                    degree,
                )


def test_every_feature_is_its_term_of_the_expansion():
    for gamma, coef0 in [(1.0, 1.0), (0.3, 2.5), (0.5, 0.0)]:
        for d, degree in [(1, 3), (2, 3), (2, 4), (3, 3), (4, 2)]:
            X = rows(9, d)
            phi = polynomial_map(d, degree=degree, gamma=gamma, coef0=coef0)
            terms = expanded(X, degree, gamma, coef0)
            for power, column in zip(phi.powers.tolist(), phi(X).T, strict=True):
                np.testing.assert_allclose(
                    column, terms.pop(tuple(power)), rtol=1e-13, err_msg=repr((gamma, coef0, d, degree))
                )
            # What is left over are the terms that coef0 = 0 makes vanish.
            assert all((values == 0).all() for values in terms.values()), (gamma, coef0, d, degree)
            monomials = np.prod(X[:, None, :] ** phi.powers, axis=2)
            np.testing.assert_allclose(
                monomials * phi.coefficients, phi(X), rtol=1e-13, err_msg=repr((gamma, coef0, d, degree))
            )


def test_degree_3_in_two_dimensions_by_hand():
    phi = polynomial_map(2, degree=3, gamma=1, coef0=1)
    assert phi.names == (
        "1", "sqrt(3) f1", "sqrt(3) f2", "sqrt(3) f1^2", "sqrt(6) f1 f2", "sqrt(3) f2^2",
        "f1^3", "sqrt(3) f1^2 f2", "sqrt(3) f1 f2^2", "f2^3",
    )  # fmt: skip
    s, t = math.sqrt(3), math.sqrt(6)
    by_hand = [1, 2 * s, 5 * s, 4 * s, 10 * t, 25 * s, 8, 20 * s, 50 * s, 125]
    np.testing.assert_allclose(phi([[2.0, 5.0]])[0], by_hand)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"degree": 2}, ("1", "f1", "f2", "0.5 f1^2", "0.707107 f1 f2", "0.5 f2^2")),
        ({"degree": 2, "gamma": 1, "coef0": 0}, ("f1^2", "sqrt(2) f1 f2", "f2^2")),
        ({"degree": 1, "gamma": 0.1, "coef0": 4}, ("2", "0.316228 f1", "0.316228 f2")),
        ({"degree": 1, "gamma": math.pi, "coef0": 0.25}, ("0.5", "1.77245 f1", "1.77245 f2")),
        ({"degree": 1, "gamma": 4, "coef0": math.e}, ("1.64872", "2 f1", "2 f2")),
    ],
)
def test_coefficients_in_names_are_roots_of_whole_numbers_or_decimals(arguments, names):
    assert polynomial_map(2, **arguments).names == names


@pytest.mark.parametrize(
    ("d", "degree", "gamma", "coef0"), [(3, 5, None, 1), (2, 20, 0.7, 3), (4, 3, 0.123457, 1.0)]
)
def test_names_say_the_coefficients(d, degree, gamma, coef0):
    phi = polynomial_map(d, degree=degree, gamma=gamma, coef0=coef0)
    assert len(set(phi.names)) == len(phi)
    for name, value, power in zip(phi.names, phi.coefficients, phi.powers, strict=True):
        text = " ".join(word for word in name.split() if not word.startswith("f")) or "1"
        assert eval(text, {"sqrt": math.sqrt}) == pytest.approx(value, rel=1e-5)
        monomial = [word for word in name.split() if word.startswith("f")]
        assert monomial == [f"f{i + 1}" + (f"^{p}" if p > 1 else "") for i, p in enumerate(power) if p]


@pytest.mark.parametrize(
    ("d", "degree", "count"), [(4, 3, 35), (2, 20, 231), (2, 3, 10), (2, 4, 15), (1, 9, 10)]
)
def test_counts(d, degree, count):
    phi = polynomial_map(d, degree=degree)
    assert len(phi) == len(phi.names) == phi(rows(2, d)).shape[1] == count
    full = polynomial_map(d, degree=degree, coef0=0)
    assert len(full) == math.comb(d + degree - 1, degree) == len(full.names)
    assert (full.powers.sum(axis=1) == degree).all()


def test_too_many_features_are_refused_with_their_number_before_anything_is_allocated():
    tracemalloc.start()
    with pytest.raises(ParameterError, match=r"max_features=1000000 is exceeded: \(x\.y \+ 1\)\^15 of 10"):
        polynomial_map(10, degree=15, gamma=1)
    with pytest.raises(ParameterError, match=r"max_features=1000000 is exceeded: \("):
        polynomial_map(32256, degree=1000)
    with pytest.raises(ParameterError, match=r"max_features=1000000 is exceeded: \(0\.1 x\.y\)\^15 of 10"):
        polynomial_map(10, degree=15, coef0=0)
    # The names f1, f2, ... of 32,256 features are all there is.
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()
    assert len(polynomial_map(10, degree=15, max_features=4_000_000)) == 3_268_760
    with pytest.raises(
        ParameterError, match=r"max_features=5 is exceeded: \(0\.5 x\.y \+ 1\)\^2 of 2 features"
    ):
        polynomial_map(2, degree=2, max_features=5)
    with pytest.raises(ParameterError, match=r"degree=1001 must be a whole number from 1 to 1000\. A"):
        polynomial_map(1, degree=1001)


def test_parameters_outside_their_range():
    for arguments in [
        {"degree": 0},
        {"degree": -2},
        {"degree": 1.5},
        {"degree": "3"},
        {"degree": True},
        {"degree": np.nan},
        {"degree": 10**400},
        {"gamma": 0},
        {"gamma": -1.0},
        {"gamma": np.inf},
        {"gamma": True},
        {"gamma": [1.0, 2.0]},
        {"gamma": "scale"},
        {"coef0": -0.5},
        {"coef0": None},
        {"names": ["a"]},
        {"names": "ab"},
        {"max_features": 0},
        {"n_features": 0},
        {"n_features": 2.5},
    ]:
        with pytest.raises(ParameterError, match="must be a"):
            polynomial_map(**{"n_features": 2, **arguments})


def test_whole_floats_are_degrees():
    assert polynomial_map(2, degree=3.0, gamma=1).names == polynomial_map(2, degree=3, gamma=1).names


@pytest.mark.parametrize(("d", "degree"), [(2, 20), (2, 100), (1, 1000), (2, 1000)])
def test_high_degrees_are_accurate(d, degree):
    X = np.random.default_rng(0).uniform(-0.6, 0.6, (12, d))
    error = polynomial_map(d, degree=degree, gamma=1).kernel_error(X)
    assert error.relative < 1e-12
    assert error.ok


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_gamma_brings_any_scale_into_range(scale):
    X = rows(8, 3)
    phi = polynomial_map(3, degree=3, gamma=scale**-2)
    np.testing.assert_allclose(phi(X * scale), polynomial_map(3, degree=3, gamma=1)(X), rtol=1e-12)
    assert phi.kernel_error(X * scale).relative < 1e-12


def test_features_beyond_float64_are_refused():
    phi = polynomial_map(2, degree=3, gamma=1)
    with pytest.raises(DataError, match=r"A feature of \(x\.y \+ 1\)\^3 exceeds what float64 can hold\."):
        phi([[1e150, 1.0]])
    with pytest.raises(DataError, match=r"A feature of \(x\.y \+ 1\)\^3 exceeds what float32 can hold\."):
        phi.evaluate(np.array([[1e20, 1.0]]), np.float32)
    # The features are within range and the kernel is not.
    with pytest.raises(DataError, match=r"\(x\.y \+ 1\)\^3 exceeds what float64 can hold\. Scale the data"):
        phi.kernel_error([[1e80, 1.0]])
    assert np.isfinite(phi([[1e80, 1.0]])).all()


def test_the_circle_is_a_null_direction_of_the_features():
    """SPEC: points on (x - 3)^2 + (y - 2)^2 = 2.25 obey x^2 + y^2 - 6 x - 4 y + 10.75 = 0."""
    angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    X = np.column_stack([3 + 1.5 * np.cos(angle), 2 + 1.5 * np.sin(angle)])
    phi = polynomial_map(2, degree=2, gamma=1)
    _, values, vectors = np.linalg.svd(phi(X))
    assert values[-1] < 1e-12 * values[0]
    assert values[-2] > 1e-3 * values[0]
    law = vectors[-1] * phi.coefficients
    # 1, x, y, x^2, x y, y^2
    np.testing.assert_allclose(law / law[3], [10.75, -6, -4, 1, 0, 1], atol=1e-10)


def test_an_error_larger_than_the_bound_is_not_ok(monkeypatch):
    phi = polynomial_map(2, degree=3, gamma=1)
    X = rows(10, 2)
    assert phi.kernel_error(X).ok
    phi.coef0 = 1.0 + 1e-6
    broken = phi.kernel_error(X)
    # The kernel has changed and the roots of its coefficients with it, so the check still holds...
    assert broken.ok
    # ... and not when the features alone are those of another kernel.
    monkeypatch.setattr(phi, "_weights", polynomial_map(2, degree=3, gamma=1, coef0=1.0)._weights)
    broken = phi.kernel_error(X)
    assert not broken.ok
    assert 1e-8 < broken.relative < 1e-4


def test_blocks_of_rows_make_no_difference(monkeypatch):
    X = rows(41, 3)
    phi = polynomial_map(3, degree=3)
    whole = phi(X)
    monkeypatch.setattr("gramian.kernels.feature_maps.BLOCK", 60)
    np.testing.assert_array_equal(phi(X), whole)
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
            np.testing.assert_allclose(column, expected[tuple(power)], rtol=1e-13)
        assert set(mapping.coefficients) == {1.0}
        assert not any("sqrt" in name for name in mapping.names)
        kernel = sum(np.outer(np.prod(X**p, axis=1), np.prod(Y**p, axis=1)) for p in mapping.powers)
        np.testing.assert_allclose(mapping.kernel(X, Y), kernel, rtol=1e-12, atol=1e-12)
        error = mapping.kernel_error(X, Y)
        assert error.maximum <= error.bound < 1e-8
    for wrong in ({"gamma": 0.5}, {"coef0": 2.0}):
        with pytest.raises(ParameterError, match="part of the coefficients"):
            polynomial_map(2, weights=None, **wrong)
    with pytest.raises(ParameterError, match="weights"):
        polynomial_map(2, weights="none")
