"""What all feature maps share: what they take and refuse, and how the error is measured."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from gramian.errors import DataError, ParameterError
from gramian.kernels.feature_maps import KernelError, check_gamma, fourier_map, polynomial_map

MAPS = {
    "polynomial": polynomial_map(3, degree=2),
    "fourier": fourier_map(3, n_components=40, gamma=0.2, rng=0),
}
X = np.random.default_rng(0).standard_normal((11, 3))


@pytest.fixture(params=MAPS.values(), ids=MAPS.keys())
def phi(request):
    return request.param


def test_lists_frames_integers_and_float32(phi):
    whole = np.round(X * 3)
    expected = phi(whole)
    assert expected.shape == (11, len(phi))
    for other in (
        whole.tolist(),
        pd.DataFrame(whole),
        whole.astype(int),
        whole.astype("f4"),
        whole.astype(">f8"),
    ):
        np.testing.assert_array_equal(phi(other), expected)
        assert phi(other).dtype == np.float64
    assert phi(np.zeros((0, 3))).shape == (0, len(phi))


def test_what_is_no_table_of_numbers_is_refused():
    for bad, message in [
        (X[:, :2], r"X has shape \(11, 2\), but this map takes \(n, 3\)"),
        (X[0], r"X has shape \(3,\)"),
        (X * 1j, "complex128, which is not real numbers"),
        (X * np.where(np.arange(3) == 1, np.nan, 1), "NaN or infinity"),
        (np.where(X > 1, np.inf, X), "NaN or infinity"),
        ([["a", "b", "c"]], "not a table of numbers"),
        (sp.csr_matrix(X), "not a table of numbers"),
    ]:
        for phi in MAPS.values():
            with pytest.raises(DataError, match=message):
                phi(bad)
            with pytest.raises(DataError, match=message):
                phi.kernel_error(X, bad)


def test_the_error_is_measured_on_all_pairs(phi):
    Y = X[:4] + 0.1
    error = phi.kernel_error(X, Y)
    gap = np.abs(phi(X) @ phi(Y).T - phi.kernel(X, Y))
    assert error.maximum == gap.max()
    assert error.rms == pytest.approx(math.sqrt((gap**2).mean()), rel=1e-12)
    assert error.scale == phi.kernel(X, Y).max()
    assert error.pairs == 44
    assert error.relative == error.maximum / error.scale
    assert error.kind == phi.kind
    own = phi.kernel_error(X)
    assert own.pairs == 121
    assert own.ok
    assert own.scale >= error.maximum


def test_the_error_in_words():
    error = KernelError(1e-3, 5e-4, 2.0, 1600, 2e-3, "deterministic", "Measured here.")
    assert str(error) == (
        "kernel error: max 0.001, rms 0.0005, of values up to 2, over 1,600 pairs; bound 0.002 "
        "(deterministic). Measured here."
    )
    assert error.ok
    assert error.relative == 5e-4
    assert KernelError(0.1, 0.1, 0.0, 1, 0.01, "deterministic", "").relative == 0.1
    assert not KernelError(0.1, 0.1, 0.0, 1, 0.01, "deterministic", "").ok


def test_maps_print_what_they_are(phi):
    assert f"3 -> {len(phi)} features" in repr(phi)
    assert "x" in phi.formula


@pytest.mark.parametrize("gamma", [np.full(3, 0.3), np.array([0.1, 2.0, 0.5])])
def test_the_gaussian_kernel_is_its_definition(gamma):
    Y = X[:5] * 2
    expected = [[math.exp(-sum(gamma[i] * (x[i] - y[i]) ** 2 for i in range(3))) for y in Y] for x in X]
    np.testing.assert_allclose(fourier_map(3, gamma=gamma).kernel(X, Y), expected, rtol=1e-14)
    for scale in (1e-100, 1e100):
        scaled = fourier_map(3, gamma=gamma / scale**2).kernel(X * scale, Y * scale)
        np.testing.assert_allclose(scaled, expected, rtol=1e-12)


def test_widths():
    assert check_gamma(None, None, 4).tolist() == [0.25] * 4
    assert check_gamma(None, 2.0, 2).tolist() == [0.125] * 2
    assert check_gamma(None, [1.0, 2.0], 2).tolist() == [0.5, 0.125]
    assert check_gamma([3, 4], None, 2).tolist() == [3.0, 4.0]
    for arguments in [
        {"gamma": 1.0, "sigma": 1.0},
        {"gamma": None, "sigma": 0.0},
        {"gamma": None, "sigma": [1.0, -1.0]},
        {"gamma": None, "sigma": [1.0]},
        {"gamma": None, "sigma": 1e-200},
        {"gamma": None, "sigma": 1e200},
        {"gamma": "auto", "sigma": None},
    ]:
        with pytest.raises(
            ParameterError,
            match=(
                r"gamma=1\.0 and sigma|must be a positive|sigma=0\.0 must be a|sigma=1e-200 has a|"
                r"sigma=1e\+200 has a|sigma=\[1\.0, -1\.0\]|sigma=\[1\.0\] must be a"
            ),
        ):
            check_gamma(arguments["gamma"], arguments["sigma"], 2)
