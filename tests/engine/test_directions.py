"""Angles between computed and exact directions never exceed their bounds, and equal components are named."""

import warnings

import numpy as np
import pytest
from scipy.linalg import subspace_angles

import gramian
from gramian import PCA, KernelPCA
from gramian.core.records import Spectrum
from gramian.engine.certificates import direction_bounds

CIRCLE = np.arange(60) * 2 * np.pi / 60
SPECTRA = {
    "separated": [9.0, 5.0, 3.0, 1.0, 0.3, 0.1],
    "clustered": [9.0, 5.0 + 1e-7, 5.0, 1.0 + 1e-4, 1.0, 0.1],
    "double": [9.0, 5.0, 5.0, 1.0, 1.0, 1.0],
    "graded": [1e6, 1.0, 1e-3, 1e-4, 1e-5, 1e-6],
    "rank-deficient": [9.0, 5.0, 3.0, 0.0, 0.0, 0.0],
}


def table(variances, n, d, seed=0):
    """Return rows whose covariance has these leading eigenvalues, with a mean, and a smaller tail."""
    rng = np.random.default_rng(seed)
    k, side = len(variances), min(n - 1, d)
    tail = np.linspace(0.02, 0.01, side - k) * min(variances) if side > k else np.empty(0)
    U = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, side))])[0][:, 1:]
    V = np.linalg.qr(rng.standard_normal((d, side)))[0]
    return (U * np.sqrt(np.r_[variances, tail] * (n - 1))) @ V.T + rng.standard_normal(d)


def exact_directions(X):
    """Right singular vectors of the centred table, in long precision where that changes anything."""
    X = X.astype(np.longdouble)
    return np.linalg.svd((X - X.mean(axis=0)).astype(np.float64), full_matrices=False)[2]


def largest_sine(A, B):
    return float(np.sin(subspace_angles(A.T.astype(float), B.T)).max())


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_no_angle_exceeds_its_bound(spectrum):
    bounded = 0
    for n, d in ((40, 12), (12, 40), (120, 120)):
        for dtype in (np.float64, np.float32):
            X = table(SPECTRA[spectrum], n, d).astype(dtype)
            exact = exact_directions(X)
            for solver in ("full", "covariance", "gram", "krylov"):
                model = PCA(5, solver=solver, random_state=0).set_params(tol=1e-4 if n == 120 else None)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", gramian.errors.RankWarning)
                    warnings.simplefilter("ignore", gramian.errors.CertificateWarning)
                    bounds = model.fit(X).certificate_.directions
                assert (np.diff(bounds.first) >= 0).all()
                for part in bounds.clusters:
                    sine, some = bounds.sines[part.start], slice(part.start, part.stop)
                    assert (bounds.sines[some] == sine).all()
                    if sine < 1.0:
                        bounded += 1
                        # The reference has errors of its own, of a few units in the last place.
                        room = 1e-14 * model.explained_variance_[0] / bounds.gaps[part.start]
                        assert largest_sine(model.components_[some], exact[some]) <= sine + room
    assert bounded >= 24


def test_bounds_are_those_of_davis_and_kahan_and_equal_components_named():
    rng = np.random.default_rng(0)
    for seed in range(20):
        values = np.sort(rng.uniform(0, 10, 8))[::-1]
        A = np.diag(values)
        V = np.linalg.qr(np.eye(8)[:, :3] + 10.0 ** -(seed % 6 + 1) * rng.standard_normal((8, 3)))[0]
        T, W = np.linalg.eigh(V.T @ A @ V)
        V, T = (V @ W)[:, ::-1], T[::-1]
        residuals = np.linalg.norm(A @ V - V * T, axis=0)
        spectrum = Spectrum(T, V, residuals, None, None, 0.0, 0.0, "deterministic", "krylov", False)
        bounds = direction_bounds(spectrum, 1.0, values[3], True, "deterministic")
        for part in bounds.clusters:
            some = slice(part.start, part.stop)
            off = largest_sine(V.T[some], np.eye(8)[some])
            assert off <= bounds.sines[part.start] + 1e-15
        assert seed % 6 < 2 or bounds.sines[0] < 1.0
    circle = np.c_[np.cos(CIRCLE), np.sin(CIRCLE)]
    words = "PC1 and PC2 are equal within rounding: any rotation of them is equally valid."
    for solver in ("full", "covariance", "gram", "krylov"):
        model = PCA(2, solver=solver).fit(circle)
        assert words in str(model.certificate_)
        assert words in str(model.summary())
    # The other half of a pair may have been left out.
    assert "PC1 and the first component left out are equal" in str(PCA(1).fit(circle).certificate_)
    stretched = PCA(2).fit(circle * [1.0, 1.0 + 1e-9])
    assert "rotation" not in str(stretched.certificate_)
    assert stretched.certificate_.directions.sines.max() < 1e-3
    # Three pairs and one component alone.
    several = np.c_[circle, 0.5 * circle, 0.1 * np.cos(2 * CIRCLE)]
    several[:, 2:4] = 0.5 * np.c_[np.cos(3 * CIRCLE), np.sin(3 * CIRCLE)]
    assert [list(part) for part in PCA().fit(several).certificate_.directions.clusters] == [
        [0, 1],
        [2, 3],
        [4],
    ]
    X = np.random.default_rng(0).standard_normal((600, 300))
    model = PCA(3, solver="krylov", random_state=0, tol=1e-3).fit(X)
    bounds = model.certificate_.directions
    assert bounds.sines[-1] == 1.0
    assert "Nothing bounds the direction" in str(model.certificate_)


def test_kernel_components_landmarks_and_saved_models_have_bounds(tmp_path):
    X = table(SPECTRA["separated"], 40, 12)
    model = KernelPCA(5, kernel="linear").fit(X)
    bounds = model.certificate_.directions
    exact = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0].T
    for j in range(5):
        scores = model.transform(X)[:, j]
        assert largest_sine(scores[None, :], exact[j : j + 1]) <= bounds.sines[j] + 1e-13
    assert bounds.sines.max() < 1e-9
    model = KernelPCA(2, kernel="rbf", solver="nystroem", n_landmarks=10, random_state=0)
    text = str(model.fit(table(SPECTRA["separated"], 40, 12)).certificate_)
    assert "radians of that of the approximate matrix" in text
    model = PCA(2).fit(np.c_[np.cos(CIRCLE), np.sin(CIRCLE)])
    model.save(tmp_path / "circle.gramian")
    again = gramian.load(tmp_path / "circle.gramian")
    assert str(again.certificate_) == str(model.certificate_)
    assert again.certificate_.directions.clusters == [range(2)]
