"""Random Fourier features: their distribution, their error, and the bound on it."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from gramian.errors import DataError, ParameterError
from gramian.kernels import RBF
from gramian.kernels.feature_maps import fourier_map, frequencies

X = np.random.default_rng(0).standard_normal((60, 5))


def test_features_are_cosines_and_sines():
    phi = fourier_map(5, n_components=6, gamma=0.3, rng=1)
    W = phi.frequencies
    assert W.shape == (3, 5)
    expected = [[f(w @ x) / math.sqrt(3) for f in (math.cos, math.sin) for w in W] for x in X]
    np.testing.assert_allclose(phi(X), expected, atol=1e-14)
    np.testing.assert_allclose((phi(X) ** 2).sum(axis=1), 1.0, rtol=1e-14)
    assert phi.names == ("cos(w1.x)", "cos(w2.x)", "cos(w3.x)", "sin(w1.x)", "sin(w2.x)", "sin(w3.x)")


def test_frequencies_are_normal():
    for orthogonal in [True, False]:
        for d, count in [(1, 4000), (3, 3001), (40, 2000)]:
            W = frequencies(count, d, orthogonal=orthogonal, rng=np.random.default_rng(5))
            assert W.shape == (count, d), (orthogonal, d, count)
            # Rows of different groups are independent, so one of each group is a sample without any doubt.
            independent = W[:: d if orthogonal else 1]
            assert kstest(independent[:, 0], "norm").pvalue > 1e-3, (orthogonal, d, count)
            assert kstest((W**2).sum(axis=1), "chi2", args=(d,)).pvalue > 1e-3, (orthogonal, d, count)
            np.testing.assert_allclose(
                W.mean(axis=0), 0, atol=5 / math.sqrt(count), err_msg=repr((orthogonal, d, count))
            )
            for start in range(0, count, d):
                group = W[start : start + d]
                inner = group @ group.T
                if orthogonal:
                    np.testing.assert_allclose(
                        inner,
                        np.diag(np.diag(inner)),
                        atol=1e-12 * d * inner.max(),
                        err_msg=repr((orthogonal, d, count)),
                    )


def test_fewer_frequencies_than_features_cost_no_square_matrix():
    W = frequencies(3, 20000, orthogonal=True, rng=np.random.default_rng(0))
    inner = W @ W.T
    np.testing.assert_allclose(inner - np.diag(np.diag(inner)), 0, atol=1e-8)


def test_an_odd_number_of_features_ends_with_an_offset():
    phi = fourier_map(5, n_components=5, gamma=0.3, rng=1)
    assert len(phi) == len(phi.names) == phi(X).shape[1] == 5
    assert phi.names[2:] == ("sin(w1.x)", "sin(w2.x)", "sqrt(2) cos(w3.x + b)")
    expected = [math.sqrt(2 / 3) * math.cos(phi.frequencies[2] @ x + phi.offset) for x in X]
    np.testing.assert_allclose(phi(X)[:, 4], expected, atol=1e-14)
    assert len(fourier_map(2, n_components=1, rng=0).names) == 1


def test_the_mean_over_draws_is_the_kernel():
    for count in [1, 7, 10]:
        for orthogonal in [True, False]:
            exact = RBF(gamma=0.2).gram(X[:12])
            rng = np.random.default_rng(3)
            draws = []
            for _ in range(150):
                phi = fourier_map(5, n_components=count, gamma=0.2, orthogonal=orthogonal, rng=rng)
                draws.append(phi(X[:12]) @ phi(X[:12]).T)
            gap = np.mean(draws, axis=0) - exact
            deviation = np.std(draws, axis=0) / math.sqrt(150)
            assert (np.abs(gap) <= 5 * deviation + 1e-14).all(), (count, orthogonal)


def test_the_error_of_independent_frequencies_is_the_one_known():
    """Variance (1 - k^2)^2 / (2 m) for m pairs of cosine and sine (Sutherland and Schneider 2015)."""
    exact = RBF(gamma=0.2).gram(X)
    rng = np.random.default_rng(4)
    squares = []
    for _ in range(60):
        phi = fourier_map(5, n_components=100, gamma=0.2, orthogonal=False, rng=rng)
        squares.append((phi(X) @ phi(X).T - exact) ** 2)
    expected = ((1 - exact**2) ** 2 / 100).mean()
    assert np.mean(squares) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("d", [5, 20])
def test_orthogonal_frequencies_are_better(d):
    data = np.random.default_rng(1).standard_normal((80, d))

    def rms(orthogonal):
        rng = np.random.default_rng(7)
        maps = [
            fourier_map(d, n_components=4 * d, sigma=math.sqrt(d), orthogonal=orthogonal, rng=rng)
            for _ in range(20)
        ]
        return math.sqrt(np.mean([phi.kernel_error(data).rms ** 2 for phi in maps]))

    assert rms(True) < 0.8 * rms(False)


def test_the_bound_holds_as_often_as_it_says():
    """One pair, confidence 0.5: more than half of 120 draws stay within."""
    for count in [1, 15, 80]:
        for orthogonal in [True, False]:
            x, y = X[:1], X[1:2]
            rng = np.random.default_rng(6)
            within = []
            for _ in range(120):
                phi = fourier_map(5, n_components=count, gamma=0.05, orthogonal=orthogonal, rng=rng)
                within.append(phi.kernel_error(x, y).maximum <= phi.error_bound(1, 0.5))
            assert np.mean(within) >= 0.5, (count, orthogonal)


def test_the_bound_is_hoeffdings():
    phi = fourier_map(5, n_components=200, orthogonal=False, rng=0)
    assert phi.independent == 100
    # P(|mean - k| >= t) <= 2 exp(-m t^2 / 2) for means of m numbers in [-1, 1].
    t = phi.error_bound(10, 0.9)
    assert 10 * 2 * math.exp(-100 * t**2 / 2) == pytest.approx(0.1)
    grouped = fourier_map(5, n_components=206, orthogonal=True, rng=0)
    assert grouped.independent == 20
    assert grouped.error_bound() == pytest.approx(math.sqrt(2 * math.log(200) / 20))
    # Nine draws in [-1, 1] and one in [-2, 2]: the squared ranges sum to 9 * 4 + 16.
    odd = fourier_map(5, n_components=19, orthogonal=False, rng=0)
    expected = math.exp(-2 * (10 * odd.error_bound(1, 0.5)) ** 2 / (9 * 4 + 16))
    assert 2 * expected == pytest.approx(0.5)
    few = fourier_map(50, n_components=20, orthogonal=True, rng=0)
    assert few.independent == 1
    assert few.error_bound() == 2.0
    error = phi.kernel_error(X)
    assert error.kind == "probabilistic"
    assert error.bound == pytest.approx(phi.error_bound(60 * 59 // 2), rel=1e-6)
    assert "Hoeffding's for 100 independent draws" in error.about
    assert "probability 0.99" in error.about


def test_one_width_for_each_feature():
    sigma = np.array([0.5, 1, 2, 4, 8])
    phi = fourier_map(5, n_components=20, sigma=sigma, rng=2)
    plain = fourier_map(5, n_components=20, sigma=1.0, rng=2)
    np.testing.assert_allclose(phi(X), plain(X / sigma), atol=1e-12)
    np.testing.assert_allclose(phi.kernel(X), RBF(sigma=1.0).gram(X / sigma), atol=1e-13)
    assert fourier_map(5, n_components=4000, sigma=sigma, rng=2).kernel_error(X).maximum < 0.1


def test_an_origin_leaves_the_kernel_and_keeps_phases_exact():
    far = X * 1e-6 + 1e9
    centred = fourier_map(5, n_components=50, sigma=1e-6, rng=0, origin=np.full(5, 1e9))
    plain = fourier_map(5, n_components=50, sigma=1e-6, rng=0)
    assert centred.kernel_error(far).maximum < 0.6
    with pytest.raises(DataError, match=r"Rows far from the origin round w \. x by 1e\+01 radians\."):
        plain(far)


@pytest.mark.parametrize("value", [1e150, 1e308])
def test_rows_whose_phases_have_no_digits_are_refused(value):
    with pytest.raises(DataError, match=r"radians\. Scale the data first"):
        fourier_map(2, rng=0)([[value, 1.0]])


def test_parameters_outside_their_range():
    for arguments in [
        {"n_components": 0},
        {"n_components": -3},
        {"n_components": 2.5},
        {"n_components": None},
        {"n_components": 10**14},
        {"gamma": -1},
    ]:
        with pytest.raises(
            ParameterError,
            match=(
                r"n_components=0 must be a whole|n_components=-3 must be a whole|"
                r"n_components=2\.5 must be a whole|n_components=None must be a whole|"
                r"n_components=100000000000000 of 2|gamma=-1 must be a positive number,"
            ),
        ):
            fourier_map(2, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        (0,),
        (1, 1.0),
        (1, 0),
    ],
)
def test_arguments_of_the_bound(arguments):
    with pytest.raises(ParameterError, match="0 must be a"):
        fourier_map(2, rng=0).error_bound(*arguments)
