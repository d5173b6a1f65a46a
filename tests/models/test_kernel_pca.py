"""Kernel PCA against its definition, for every solver, kernel, dtype and kind of input."""

import math
import tracemalloc
import warnings
from contextlib import nullcontext
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import gramian.models.kernel_pca.projection as module
from gramian import PCA, KernelPCA
from gramian.errors import (
    CertificateWarning,
    DataError,
    IndefiniteKernelError,
    IndefiniteKernelWarning,
    MemoryLimitError,
    ParameterError,
    RankWarning,
)
from gramian.kernels import RBF, ChiSquared, Cosine, Linear, Matern, Polynomial, Sigmoid, kernel_from_name
from helpers import centred, covering, indefinite, same_up_to_sign


def definition(K, k, new=None, center=True):
    """Kernel PCA written out: centring, eigenvectors, coefficients, scores, new rows.

    ``new`` holds k(new, fitted). Returns eigenvalues, scores of the fitted and of the new rows.
    """
    K = np.asarray(K, dtype=np.float64)
    n = len(K)
    t = K.mean(axis=1) if center else np.zeros(n)
    r = K.mean() if center else 0.0
    Kc = K - t[:, None] - t[None, :] + r
    values, vectors = np.linalg.eigh((Kc + Kc.T) / 2)
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    alpha = vectors / np.sqrt(values)
    scores = Kc @ alpha
    if new is None:
        return values, scores, None
    means = new.mean(axis=1) if center else np.zeros(len(new))
    return values, scores, (new - means[:, None] - t[None, :] + r) @ alpha


def data(n=150, d=4, seed=0, spread=(2.0, 1.3, 0.9, 0.6, 0.4)):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.resize(spread, d)


KERNELS = {
    "linear": ({"kernel": "linear"}, pairwise.linear_kernel),
    "poly": (
        {"kernel": "poly", "gamma": 0.2, "degree": 2, "coef0": 0.5},
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=2, gamma=0.2, coef0=0.5),
    ),
    "poly-default": ({"kernel": "poly"}, pairwise.polynomial_kernel),
    "rbf": ({"kernel": "rbf", "gamma": 0.1}, lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.1)),
    "rbf-default": ({"kernel": "rbf"}, pairwise.rbf_kernel),
    "laplacian": (
        {"kernel": "laplacian", "gamma": 0.1},
        lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.1),
    ),
    "cosine": ({"kernel": "cosine"}, pairwise.cosine_similarity),
    "rbf-object": ({"kernel": RBF(sigma=2.0)}, lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.125)),
}


@pytest.fixture(params=KERNELS.values(), ids=KERNELS.keys())
def named(request):
    return request.param


def test_every_kernel_is_its_definition(named):
    for center, dtype, solver in covering([True, False], [np.float64, np.float32], ["auto", "krylov"]):
        options, function = named
        X, new = data(100).astype(dtype), data(30, seed=1).astype(dtype)
        wide, wide_new = X.astype(np.float64), new.astype(np.float64)
        values, scores, new_scores = definition(function(wide, wide), 3, function(wide_new, wide), center)
        model = KernelPCA(3, solver=solver, center=center, random_state=0, **options).fit(X)
        assert model.certificate_.ok
        assert model.spectrum_.route == ("krylov" if solver == "krylov" else "dense")
        single = dtype == np.float32
        assert_allclose(model.eigenvalues_, values, rtol=1e-4 if single else 1e-9)
        size = math.sqrt(values[0])
        tolerance = size * (3e-4 if single else 1e-4 if solver == "krylov" else 1e-9)
        same_up_to_sign(model.transform(X), scores, tolerance)
        same_up_to_sign(model.transform(new), new_scores, tolerance)
        fitted = clone(model).fit_transform(X)
        assert_allclose(fitted, model.transform(X), atol=tolerance)
        assert fitted.dtype == model.transform(new).dtype == model.eigenvectors_.dtype == dtype
        assert model.projection_coef_.dtype == dtype
        assert model.eigenvalues_.dtype == model.explained_variance_.dtype == np.float64
        assert_array_equal(model.explained_variance_, model.eigenvalues_ / 99)
        K = function(wide, wide)
        total = np.trace(K) - (len(K) * K.mean() if center else 0)
        assert_allclose(model.explained_variance_ratio_, model.eigenvalues_ / total, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_block_krylov_really_iterates(kernel):
    for dtype, memory_limit in product([np.float64, np.float32], [None, 23_000_000]):
        X = data(800, 5).astype(dtype)
        function = getattr(pairwise, f"{'polynomial' if kernel == 'poly' else kernel}_kernel")
        wide = X.astype(np.float64)
        values, scores, new_scores = definition(function(wide, wide), 5, function(-wide[:50], wide))
        model = KernelPCA(5, kernel=kernel, solver="krylov", random_state=0, memory_limit=memory_limit).fit(X)
        steps = " ".join(step.detail for step in model.plan_.steps)
        assert ("recomputed" in steps) == (memory_limit is not None)
        assert not model.spectrum_.note
        assert not model.spectrum_.complete
        assert model.certificate_.ok
        assert model.certificate_.completeness.method != "full decomposition"
        single = dtype == np.float32
        assert_allclose(model.eigenvalues_, values, rtol=1e-4 if single else 1e-6)
        tolerance = math.sqrt(values[0]) * (1e-3 if single else 1e-5)
        same_up_to_sign(model.transform(X), scores, tolerance)
        same_up_to_sign(model.transform(-X[:50]), new_scores, tolerance)
        assert (np.abs(model.eigenvalues_ - values) <= model.certificate_.radii).all()


def test_precomputed_matrix():
    for solver, center, dtype in covering(["dense", "krylov"], [True, False], [np.float64, np.float32]):
        X, new = data(120), data(30, seed=1)
        K = pairwise.rbf_kernel(X, gamma=0.1).astype(dtype)
        between = pairwise.rbf_kernel(new, X, gamma=0.1).astype(dtype)
        values, scores, new_scores = definition(K, 3, between.astype(np.float64), center)
        model = KernelPCA(3, kernel="precomputed", solver=solver, center=center, random_state=0)
        fitted = model.fit_transform(K)
        assert model.certificate_.ok
        assert model.kernel_ is None
        assert model.X_fit_ is None
        tolerance = 2e-4 if dtype == np.float32 else 1e-5
        assert_allclose(model.eigenvalues_, values, rtol=tolerance)
        same_up_to_sign(fitted, scores, 10 * tolerance)
        same_up_to_sign(model.transform(between), new_scores, 10 * tolerance)
        assert_allclose(model.transform(K), fitted, atol=10 * tolerance)
        assert fitted.dtype == dtype


def test_functions_of_two_and_of_many_rows():
    def student(x, y, power):
        return 1.0 / (1.0 + float(((x - y) ** 2).sum())) ** power

    X, new = data(60), data(11, seed=1)
    K, between = (np.array([[student(x, y, 1.5) for y in X] for x in rows]) for rows in (X, new))
    values, scores, new_scores = definition(K, 4, between)
    model = KernelPCA(4, kernel=student, kernel_params={"power": 1.5}).fit(X)
    assert_allclose(model.eigenvalues_, values, rtol=1e-10)
    same_up_to_sign(model.transform(X), scores, 1e-9)
    same_up_to_sign(model.transform(new), new_scores, 1e-9)
    assert model.certificate_.widening_kind == "estimate"
    assert "[estimate]" in str(model.certificate_)
    model = KernelPCA(3, kernel=lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.2)).fit(X)
    assert model.kernel_.vectorised
    assert "called for many rows at once" in str(model.plan_)
    values, _, new_scores = definition(
        pairwise.rbf_kernel(X, gamma=0.2), 3, pairwise.rbf_kernel(new, X, gamma=0.2)
    )
    assert_allclose(model.eigenvalues_, values, rtol=1e-10)
    same_up_to_sign(model.transform(new), new_scores, 1e-9)
    mixed = KernelPCA(3, kernel=kernel_from_name(lambda x, y: float(x @ y)) + RBF()).fit(X)
    assert "called for each pair of rows" in str(mixed.plan_)
    assert mixed.certificate_.widening_kind == "estimate"
    assert_allclose(mixed.eigenvalues_, KernelPCA(3, kernel="linear + rbf").fit(X).eigenvalues_, rtol=1e-9)


def test_linear_kernel_is_pca_far_from_the_origin_and_at_any_scale():
    for scale, solver in product([1e-95, 1e-20, 1e20, 1e95], ["dense", "krylov"]):
        X = data(60, 4)
        expected = KernelPCA(3, random_state=0).fit(X)
        model = KernelPCA(3, solver=solver, random_state=0).fit(X * scale)
        assert_allclose(model.eigenvalues_ / scale / scale, expected.eigenvalues_, rtol=1e-9)
        same_up_to_sign(model.transform(X * scale) / scale, expected.transform(X), 1e-4)
        assert model.certificate_.ok
    for scale in [1e-22, 1e-12, 1e12, 1e22]:
        X = (data(700, 4) * scale).astype(np.float32)
        model = KernelPCA(3, solver="krylov", random_state=0).fit(X)
        expected = PCA(3).fit(X.astype(np.float64))
        assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-5)
        assert model.certificate_.ok
    for solver, offset in product(["dense", "krylov"], [0.0, 100.0, 1e4]):
        X = data(200, 6) + offset
        pca = PCA(4).fit(X)
        model = KernelPCA(4, solver=solver, random_state=0).fit(X)
        assert model.certificate_.ok
        assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-6)
        assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-6)
        new = data(30, 6, seed=5) + offset
        same_up_to_sign(model.transform(new), pca.transform(new), 2e-5)
    X = data(200, 4)
    plain = KernelPCA(3, kernel="linear + rbf(sigma=2)").fit(X)
    moved = KernelPCA(3, kernel="linear + rbf(sigma=2)").fit(X + 1e4)
    assert moved.certificate_.ok
    assert_allclose(moved.eigenvalues_, plain.eigenvalues_, rtol=1e-6)
    same_up_to_sign(moved.transform(X[:9] + 1e4), plain.transform(X[:9]), 1e-4)


def test_repeated_rows_and_components_beyond_the_rank():
    """Forty rows so far apart that k is 0 between them, each three times: 39 eigenvalues of 3."""
    for solver in ["dense", "krylov"]:
        X = np.repeat(1e3 * np.arange(40.0)[:, None], 3, axis=0)
        model = KernelPCA(20, kernel="rbf", gamma=1.0, solver=solver, random_state=0).fit(X)
        assert_allclose(model.eigenvalues_, 3.0, rtol=1e-9)
        assert model.rank_ == 20
        assert model.certificate_.ok
        scores = model.transform(X)
        assert_allclose(scores[0::3], scores[1::3], atol=1e-6)
        assert_allclose(scores.T @ scores, 3.0 * np.eye(20), atol=1e-6)
    for kernel, dtype in product(["linear", "rbf", "poly", "cosine", "laplacian"], [np.float64, np.float32]):
        X = np.full((12, 3), 1.7, dtype=dtype)
        model = KernelPCA(2, kernel=kernel)
        with pytest.warns(RankWarning, match="has rank 0"):
            scores = model.fit_transform(X)
        assert_array_equal(scores, 0)
        assert_array_equal(model.transform(X + 1), 0)
        assert_array_equal(model.eigenvalues_, 0)
        assert np.isfinite(model.explained_variance_ratio_).all()
        assert "nan" not in str(model.certificate_)
    for model, X in (
        (KernelPCA(2, kernel="precomputed"), np.zeros((4, 4))),
        (KernelPCA(2, kernel="rbf", solver="krylov"), np.ones((90, 2))),
    ):
        with pytest.warns(RankWarning, match="The centred kernel matrix has rank 0: nothing varies"):
            assert model.fit(X).rank_ == 0
    for solver, dtype in product(["dense", "krylov"], [np.float64, np.float32]):
        X = data(80, 3).astype(dtype)
        model = KernelPCA(5, solver=solver, random_state=0)
        with pytest.warns(RankWarning, match="n_components=5 but .* has rank 3: the last 2"):
            scores = model.fit_transform(X)
        assert model.rank_ == 3
        assert scores.shape == (80, 5)
        assert_array_equal(model.eigenvalues_[3:], 0)
        assert_array_equal(scores[:, 3:], 0)
        assert_array_equal(model.transform(X[:7] + 1)[:, 3:], 0)
        assert_array_equal(model.explained_variance_ratio_[3:], 0)
        V = model.eigenvectors_
        assert_allclose(V.T @ V, np.eye(5), atol=1e-5 if dtype == np.float32 else 1e-9)
        assert np.isfinite(model.projection_coef_).all()


def test_iris_as_published_and_as_many_components_as_asked_for():
    X = load_iris().data
    expected = [48.72566, 17.85913, 5.31710, 3.72334]
    for solver in ("dense", "krylov"):
        model = KernelPCA(4, kernel="rbf", gamma=0.2, solver=solver, random_state=0).fit(X)
        assert_allclose(model.eigenvalues_, expected, atol=6e-6)
    model = KernelPCA(3, kernel="poly", gamma=0.25, degree=3, coef0=1).fit(X)
    assert_allclose(model.eigenvalues_, [251928.541, 7354.3506, 3576.1253], rtol=2e-8)
    for center in [True, False]:
        X = data(40, 3)
        model = KernelPCA(center=center).fit(X)
        assert model.n_components_ == model.rank_ == 3
        model = KernelPCA(kernel="poly", degree=2, center=center).fit(X)
        assert model.n_components_ == math.comb(3 + 2, 2) - (1 if center else 0)
        model = KernelPCA(kernel="laplacian", center=center).fit(X)
        assert model.n_components_ == 39 + (0 if center else 1)
        assert (model.eigenvalues_ > 0).all()
    for fraction, kernel, solver in [
        *((f, k, "dense") for f in (0.3, 0.5, 0.9, 0.95, 0.999) for k in ("rbf", "linear", "poly")),
        (0.5, "rbf", "krylov"),
        (0.95, "rbf", "krylov"),
        (0.9, "poly", "krylov"),
    ]:
        X = data(800 if solver == "krylov" else 120, 5)
        gamma = 0.02 if solver == "krylov" else None
        model = KernelPCA(fraction, kernel=kernel, gamma=gamma, solver=solver, random_state=0).fit(X)
        assert model.spectrum_.route == solver
        values = np.maximum(np.linalg.eigvalsh(centred(model.kernel_.gram(X)))[::-1], 0.0)
        reached = np.cumsum(values) / values.sum()
        k = int(np.flatnonzero(reached >= fraction)[0]) + 1
        assert model.n_components_ == k
        assert model.explained_variance_ratio_.sum() >= fraction - 1e-9
        assert model.explained_variance_ratio_[:-1].sum() < fraction
        assert_allclose(model.eigenvalues_, values[:k], rtol=1e-4)


def exact_rbf(X, sigma):
    """The Gram matrix by differences in extended precision."""
    wide = X.astype(np.longdouble)
    gap = ((wide[:, None, :] - wide[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-gap / (2 * np.longdouble(sigma) ** 2)).astype(np.float64)


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_clusters_far_apart_are_never_certified_wrongly(solver):
    """One product in float32 errs here by 6 % of an eigenvalue, which no residual can see."""
    for gap, dtype, offset in covering([3.0, 300.0, 1000.0, 1e6], [np.float32, np.float64], [0.0, 1e4]):
        rng = np.random.default_rng(0)
        centres = gap * rng.uniform(-1, 1, (8, 4))
        centres[0] = 0
        X = (np.repeat(centres, 40, axis=0) + rng.standard_normal((320, 4)) + offset).astype(dtype)
        eigenvalues = np.linalg.eigvalsh(centred(exact_rbf(X, 1.0)))[::-1]
        model = KernelPCA(6, kernel=RBF(sigma=1.0), solver=solver, random_state=0).fit(X)
        certificate = model.certificate_
        assert certificate.ok
        errors = np.abs(model.eigenvalues_ - eigenvalues[:6])
        assert (errors <= certificate.radii + 1e-13 * eigenvalues[0]).all()
        assert errors.max() <= 1e-5 * eigenvalues[0]
        assert certificate.completeness.bound >= eigenvalues[6] - 1e-13 * eigenvalues[0]
        assert certificate.radii.max() <= (1e-5 if dtype == np.float32 else 1e-6) * eigenvalues[0]


@pytest.mark.filterwarnings("ignore::gramian.errors.DiagnosticWarning")
def test_kernels_near_the_identity_miss_no_larger_eigenvalue():
    """Their eigenvalues are one cluster, some of them equal."""
    rng = np.random.default_rng(38)
    for X, k, gamma, center in [
        (load_wine().data, 2, 3.0, True),
        (rng.standard_normal((100, 2)), 5, 3e4, False),
        *((rng.standard_normal((n, 3)), n // 8, 300.0, bool(n % 2)) for n in (40, 77, 129, 250, 512, 560)),
    ]:
        K = exact_rbf(X, (2 * gamma) ** -0.5)
        exact = np.linalg.eigvalsh(centred(K) if center else K)[::-1]
        certificate = KernelPCA(k, kernel="rbf", gamma=gamma, center=center).fit(X).certificate_
        assert certificate.ok
        assert "none was missed" in certificate.brief
        assert "the decomposition is complete [deterministic]" in str(certificate)
        assert (exact[:k] <= certificate.upper + 1e-14).all()


@settings(max_examples=120)
@given(
    n=st.integers(30, 90),
    d=st.integers(1, 6),
    k=st.integers(1, 6),
    groups=st.integers(1, 30),
    gap=st.floats(0, 7),
    width=st.floats(-2, 3),
    noise=st.sampled_from([0.0, 1e-3, 1.0]),
    offset=st.sampled_from([0.0, 1e4, 1e7]),
    make=st.sampled_from([np.float32, np.float64, sparse.csr_array]),
    solver=st.sampled_from(["dense", "krylov"]),
    seed=st.integers(0, 10**6),
)
def test_what_a_certificate_says_is_true_of_any_groups_of_rows(
    n, d, k, groups, gap, width, noise, offset, make, solver, seed
):
    """Groups, copies and offsets of any size, for a kernel of any width; sparse rows are not shifted."""
    rng = np.random.default_rng(seed)
    centres = 10.0**gap * rng.standard_normal((groups, d))
    centres *= rng.random((groups, d)) < (0.7 if make is sparse.csr_array else 1)
    X = make(centres[rng.integers(0, groups, n)] + noise * rng.standard_normal((n, d)) + offset)
    sigma = 10.0**width
    eigenvalues = np.linalg.eigvalsh(centred(exact_rbf(X.toarray() if sparse.issparse(X) else X, sigma)))[
        ::-1
    ]
    rounding = 1e-12 * eigenvalues[0] + 1e-13
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CertificateWarning)
        warnings.simplefilter("ignore", RankWarning)
        model = KernelPCA(k, kernel=RBF(sigma=sigma), solver=solver, random_state=seed).fit(X)
    certificate = model.certificate_
    for value, radius in zip(certificate.values, certificate.radii, strict=True):
        assert np.abs(eigenvalues - value).min() <= radius + rounding
    assert certificate.completeness.bound >= eigenvalues[k] - rounding
    assert np.isfinite(model.transform(X)).all()
    if certificate.ok:
        assert_allclose(certificate.values, eigenvalues[:k], atol=1e-5 * eigenvalues[0] + rounding)


def test_a_kernel_so_wide_that_centring_takes_nearly_all():
    """K is 1 almost everywhere; what is left after centring is near the linear kernel."""
    for sigma, solver in product([1e3, 1e6], ["dense", "krylov"]):
        X = data(300, 4)
        wide = X.astype(np.longdouble)
        gap = ((wide[:, None, :] - wide[None, :, :]) ** 2).sum(axis=2)
        centred_exactly = np.expm1(-gap / (2 * np.longdouble(sigma) ** 2))
        t = centred_exactly.mean(axis=1)
        Kc = centred_exactly - t[:, None] - t[None, :] + centred_exactly.mean()
        eigenvalues = np.linalg.eigvalsh(Kc.astype(np.float64))[::-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CertificateWarning)
            model = KernelPCA(2, kernel=RBF(sigma=sigma), solver=solver, random_state=0).fit(X)
        certificate = model.certificate_
        assert (np.abs(model.eigenvalues_ - eigenvalues[:2]) <= certificate.radii).all()
        assert certificate.completeness.bound >= eigenvalues[2]
        if sigma == 1e6:
            # Values near 1 - 1e-12 hold four digits of the distances.
            assert not certificate.ok


def test_matrices_and_parameters_that_are_refused():
    X = data(200, 4) + 1e4
    model = KernelPCA(2, kernel="poly", degree=2, gamma=1.0)
    with pytest.warns(CertificateWarning, match="because of forming the matrix"):
        model.fit(X)
    assert not model.certificate_.ok
    assert str(model.certificate_).startswith("Certificate: DOES NOT HOLD")
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (32, 44))
    for solver in ("dense", "krylov"):
        with pytest.raises(DataError, match=r"The eigenvalues of this kernel matrix overflow float64\."):
            KernelPCA(2, kernel="precomputed", solver=solver).fit(signs @ signs.T * 1e306)
    assert np.isfinite(KernelPCA(2).fit(signs * 1e95).eigenvalues_).all()
    model = KernelPCA(2, kernel="rbf", gamma=0.1).fit(data(80, 5) * 1e95)
    assert_allclose(model.eigenvalues_, [1.0, 1.0], rtol=1e-12)
    assert model.rank_ == 2
    K = pairwise.rbf_kernel(data(30))
    with pytest.raises(DataError, match="29 features, but KernelPCA is expecting 30"):
        KernelPCA(2, kernel="precomputed").fit(K).transform(np.ones((3, 29)))
    K[3, 17] += 0.5
    with pytest.raises(DataError, match=r"The precomputed matrix is not symmetric: K\[3, 17\] and"):
        KernelPCA(2, kernel="precomputed").fit(K)
    with pytest.raises(DataError, match='kernel="precomputed" needs the square matrix of kernel'):
        KernelPCA(2, kernel="precomputed").fit(data(30, 4))
    for options in [
        {"n_components": 0},
        {"n_components": 41},
        {"n_components": 1.5},
        {"n_components": "mle"},
        {"n_components": True},
        {"kernel": "rbff"},
        {"kernel": "rbf", "gamma": -1.0},
        {"kernel": "rbf", "gamma": 0},
        {"kernel": "poly", "degree": 0},
        {"kernel": RBF(sigma=1.0), "gamma": 2.0},
        {"kernel": RBF(sigma=1.0), "degree": 2},
        {"kernel": RBF(sigma=1.0), "coef0": 0},
        {"kernel": RBF(sigma=1.0, gamma=1.0)},
        {"solver": "denes"},
        *({"repair": repair} for repair in ("shift", True, 1)),
        {"tol": 0.0},
        {"memory_limit": -1},
    ]:
        with pytest.raises(
            ParameterError, match=r"must be|and sigma|is not|kernel=rbf\(sigma|but \d+ rows|True"
        ):
            KernelPCA(**options).fit(data(40, 3))


def test_new_rows_of_either_type_are_mapped_in_blocks(monkeypatch):
    X, new = data(1500, 3), data(3000, 3, seed=1)
    model = KernelPCA(2, kernel="rbf", random_state=0).fit(X)
    model.transform(new[:10])
    tracemalloc.start()
    scores = model.transform(new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scores.shape == (3000, 2)
    assert peak < 3000 * 1500 * 8
    for kernel in ["linear", "rbf", "poly", "laplacian", "cosine"]:
        X = data(60, 3)
        single = KernelPCA(2, kernel=kernel).fit(X.astype(np.float32))
        double = KernelPCA(2, kernel=kernel).fit(X)
        assert single.transform(X).dtype == np.float64
        assert double.transform(X.astype(np.float32)).dtype == np.float32
        size = math.sqrt(double.eigenvalues_[0])
        same_up_to_sign(single.transform(X), double.transform(X), 1e-4 * size)
    X, new = data(90, 3), data(53, 3, seed=1)
    model = KernelPCA(3, kernel="rbf").fit(X)
    whole = model.transform(new)
    monkeypatch.setattr(module, "BLOCK", 7)
    assert_allclose(model.transform(new), whole, atol=1e-13)
    assert_allclose(np.vstack([model.transform(row[None, :]) for row in new]), whole, atol=1e-13)


def test_input_is_left_alone_signs_are_fixed_and_parallel_fits_agree():
    X = data(50, 3)
    X.flags.writeable = False
    before = X.copy()
    model = KernelPCA(2, kernel="rbf").fit(X)
    model.transform(X)
    assert_array_equal(X, before)
    for solver in ["dense", "krylov"]:
        model = KernelPCA(2, kernel="rbf", solver=solver, random_state=0).fit(X)
        assert_array_equal(model.X_fit_, X)
    K = pairwise.rbf_kernel(before)
    K.flags.writeable = False
    KernelPCA(2, kernel="precomputed").fit(K).transform(K)
    X = data(100, 3)
    for solver in ("dense", "krylov"):
        V = KernelPCA(3, kernel="rbf", solver=solver, random_state=3).fit(X).eigenvectors_
        for column in V.T:
            near = np.flatnonzero(np.abs(column) >= (1 - 1e-6) * np.abs(column).max())
            assert column[near[0]] > 0
    X = data(600, 4)
    model = KernelPCA(3, kernel="rbf", random_state=0)
    expected = clone(model).fit(X).eigenvalues_
    result = joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(lambda: clone(model).fit(X).eigenvalues_)() for _ in range(4)
    )
    for values in result:
        assert_allclose(values, expected, rtol=1e-10)


def test_negative_eigenvalues_among_those_asked_for_are_named_unless_rounding():
    K = indefinite([5.0, 3.0, -2.0])
    for asked in (3, 4, None):
        with pytest.raises(IndefiniteKernelError, match="The Gram matrix has the eigenvalue -2, negative"):
            KernelPCA(asked, kernel="precomputed").fit(K)
    for solver in ["auto", "dense", "krylov"]:
        K = indefinite(np.concatenate([[9.0, 7.0], 0.5 * np.linspace(-1, 1, 40)]))
        with pytest.raises(
            (IndefiniteKernelError, ParameterError),
            match=r"The Gram matrix has the eigenvalue -0\.5, negative beyond",
        ):
            KernelPCA(0.9, kernel="precomputed", solver=solver).fit(K)
    X = data(50, 2)
    K = X @ X.T
    assert np.linalg.eigvalsh(centred(K))[0] < 0
    model = KernelPCA(kernel="precomputed").fit(K)
    assert model.n_components_ == 2
    with pytest.warns(RankWarning, match="rank 2"):
        model = KernelPCA(10, kernel="precomputed").fit(K)
    assert_array_equal(model.eigenvalues_[2:], 0)
    assert_array_equal(model.transform(K)[:, 2:], 0)


def test_negative_eigenvalues_outside_of_what_is_asked_for_leave_no_ratio():
    smaller = [[9.0, 7.0, 6.0], 0.1 * np.linspace(-1, 1, 56)]
    larger = [[4.0, 2.0], [-9.0, -8.0, -7.0], 0.1 * np.ones(50)]
    for parts, solver in product((smaller, larger), ("dense", "krylov")):
        K, wanted, size = indefinite(np.concatenate(parts)), parts[0], "[89]" if parts is larger else "0"
        model = KernelPCA(len(wanted), kernel="precomputed", solver=solver, random_state=0)
        with pytest.warns(IndefiniteKernelWarning, match=rf"of -{size}\S* or below.*repair=.clip.") as caught:
            model.fit(K)
        assert [warning.filename for warning in caught] == [__file__]
        assert_allclose(model.eigenvalues_, wanted, rtol=1e-8)
        assert model.explained_variance_ratio_ is None
        assert model.certificate_.ok or parts is larger
        assert np.isfinite(model.transform(K)).all()
    X = data(60, 3)
    K = pairwise.rbf_kernel(X)
    dense = KernelPCA(3, kernel="precomputed", solver="dense").fit(K)
    named = KernelPCA(3, kernel="rbf").fit(X)
    assert_allclose(dense.explained_variance_ratio_, named.explained_variance_ratio_, rtol=1e-9)
    krylov = KernelPCA(3, kernel="precomputed", solver="krylov", random_state=0).fit(K)
    assert krylov.explained_variance_ratio_ is None
    fraction = KernelPCA(0.9, kernel="precomputed").fit(K)
    assert fraction.explained_variance_ratio_.sum() >= 0.9


def test_sigmoid_is_audited():
    X = data(80, 3)
    K = pairwise.sigmoid_kernel(X, gamma=0.5, coef0=-1.0)
    eigenvalues = np.linalg.eigvalsh(centred(K))[::-1]
    assert eigenvalues[-1] < -0.1
    options = {"kernel": "sigmoid", "gamma": 0.5, "coef0": -1.0}
    with pytest.raises(IndefiniteKernelError, match="The Gram matrix has the eigenvalue -"):
        KernelPCA(**options).fit(X)
    with pytest.warns(IndefiniteKernelWarning):
        model = KernelPCA(2, **options).fit(X)
    assert_allclose(model.eigenvalues_, eigenvalues[:2], rtol=1e-9)
    assert model.explained_variance_ratio_ is None
    positive = int((eigenvalues > 1e-9).sum())
    with pytest.warns(IndefiniteKernelWarning):
        model = KernelPCA(positive, kernel=Sigmoid(gamma=0.5, coef0=-1.0)).fit(X)
    assert_allclose(model.eigenvalues_, eigenvalues[:positive], atol=1e-9)
    with pytest.raises(IndefiniteKernelError, match="The Gram matrix has the eigenvalue -"):
        KernelPCA(positive + 1, **options).fit(X)


@settings(max_examples=40)
@given(n=st.integers(3, 25), k=st.integers(1, 8), seed=st.integers(0, 10**6))
def test_a_random_symmetric_matrix_gives_its_eigenvalues_or_an_error(n, k, seed):
    A = np.random.default_rng(seed).standard_normal((n, n))
    K = A + A.T
    k = min(k, n)
    eigenvalues = np.linalg.eigvalsh(centred(K))[::-1]
    model = KernelPCA(k, kernel="precomputed")
    if eigenvalues[k - 1] > 1e-9:
        with nullcontext() if eigenvalues[-1] > -1e-9 else pytest.warns(IndefiniteKernelWarning):
            model.fit(K)
        assert_allclose(model.eigenvalues_, eigenvalues[:k], rtol=1e-8)
        assert np.isfinite(model.transform(K)).all()
    elif eigenvalues[-1] < -1e-9:
        with pytest.raises(IndefiniteKernelError, match=r"eigenvalues are positive\. Ask for no more"):
            model.fit(K)
    else:
        with pytest.warns(RankWarning, match="has rank"):
            model.fit(K)


def test_matrices_and_parameters_inside_of_kernels_are_tuned():
    X, y = make_circles(90, noise=0.05, factor=0.3, random_state=0)
    pipe = make_pipeline(KernelPCA(2, kernel="precomputed"), LogisticRegression())
    search = GridSearchCV(pipe, {"kernelpca__n_components": [1, 2]}, cv=3)
    assert search.fit(pairwise.rbf_kernel(X, gamma=3.0), y).best_score_ > 0.95
    X, y = make_circles(120, noise=0.05, factor=0.3, random_state=0)
    pipe = make_pipeline(KernelPCA(2, kernel=RBF(sigma=1.0) + 0.01 * Linear()), LogisticRegression())
    grid = {"kernelpca__kernel__left__sigma": [30.0, 0.4], "kernelpca__kernel__right__factor": [0.01, 0.0]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    assert search.best_params_["kernelpca__kernel__left__sigma"] == 0.4
    assert search.best_score_ > 0.95
    by_text = GridSearchCV(
        pipe, {"kernelpca__kernel": ["linear", "rbf(sigma=0.4) ** 2", "rbf + linear"]}, cv=3
    )
    assert by_text.fit(X, y).best_params_ == {"kernelpca__kernel": "rbf(sigma=0.4) ** 2"}


@pytest.mark.parametrize("kind", ["torch", "array_api_strict"])
def test_same_kind_out(kind):
    for solver, kernel, dtype in covering(
        ["dense", "krylov"],
        ["linear", "rbf", "poly", "laplacian", "cosine", "precomputed"],
        ["float64", "float32"],
    ):
        xp = pytest.importorskip(kind, reason=f"{kind} is not installed")
        X, new = data(70, 3), data(9, 3, seed=1)
        if kernel == "precomputed":
            X, new = pairwise.rbf_kernel(X), pairwise.rbf_kernel(new, X)
        X, new = X.astype(dtype), new.astype(dtype)
        model = KernelPCA(3, kernel=kernel, solver=solver, random_state=0)
        expected = clone(model).fit(X)
        values = xp.asarray(X)
        scores = model.fit_transform(values)
        mapped = model.transform(xp.asarray(new))
        for array in (scores, mapped, model.eigenvectors_, model.projection_coef_):
            assert type(array) is type(values)
            assert array.dtype == getattr(xp, dtype)
        assert type(model.eigenvalues_) is type(values)
        assert model.eigenvalues_.dtype == xp.float64
        single = dtype == "float32"
        assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-5 if single else 1e-8)
        size = math.sqrt(expected.eigenvalues_[0]) * (1e-3 if single else 1e-4)
        assert_allclose(np.asarray(scores), expected.fit_transform(X), atol=size)
        assert_allclose(np.asarray(mapped), expected.transform(new), atol=size)
        assert model.certificate_.ok


def three_columns(n=90, seed=0):
    return np.abs(data(n, 3, seed)) + 0.1


COMBINED = {
    "sum": ("rbf(sigma=2) + 0.5 * poly(degree=2)", RBF(sigma=2) + 0.5 * Polynomial(2)),
    "product": ("matern * rbf(sigma=(1, 2, 3))", Matern() * RBF(sigma=(1, 2, 3))),
    "power": ("chi2 ** 0.5", ChiSquared() ** 0.5),
    "exp": ("exp(0.1 * linear)", (0.1 * Linear()).exp()),
    "normalized": ("(linear + 1).normalized()", (Linear() + 1).normalized()),
    "columns": ("rbf.on(0, 2) + cosine", RBF().on(0, 2) + Cosine()),
}


@pytest.mark.parametrize("name", COMBINED)
def test_an_expression_is_the_kernel_it_describes(name):
    for solver, dtype in product(["dense", "krylov"], [np.float64, np.float32]):
        text, kernel = COMBINED[name]
        X, new = three_columns().astype(dtype), three_columns(20, 1).astype(dtype)
        wide, wide_new = X.astype(np.float64), new.astype(np.float64)
        resolved = kernel.resolve(wide)
        values, scores, new_scores = definition(resolved.gram(wide), 3, resolved.gram(wide_new, wide))
        model = KernelPCA(3, kernel=text, solver=solver, random_state=0)
        fitted = model.fit_transform(X)
        single = dtype == np.float32
        assert model.kernel_ == resolved
        assert model.certificate_.ok
        assert_allclose(model.eigenvalues_, values, rtol=1e-4 if single else 1e-8)
        size = math.sqrt(values[0]) * (1e-3 if single else 1e-4)
        same_up_to_sign(fitted, scores, size)
        same_up_to_sign(model.transform(new), new_scores, size)
        by_object = KernelPCA(3, kernel=kernel, solver=solver, random_state=0).fit(X)
        assert_allclose(by_object.eigenvalues_, model.eigenvalues_, rtol=1e-9)
        assert (np.abs(model.eigenvalues_ - values) <= model.certificate_.radii + 1e-12 * values[0]).all()


def test_columns_by_name_and_medians_are_numbers_in_what_was_fitted():
    frames = pytest.importorskip("pandas")
    X = data(40, 3)
    frame = frames.DataFrame(X, columns=["age", "weight", "größe"])
    model = KernelPCA(2, kernel="rbf.on('größe', 'age') * linear.on('weight')").fit(frame)
    by_place = KernelPCA(2, kernel="rbf.on(2, 0) * linear.on(1)").fit(X)
    assert model.kernel_ == by_place.kernel_
    assert_allclose(model.eigenvalues_, by_place.eigenvalues_, rtol=1e-12)
    assert_allclose(model.transform(frame), by_place.transform(X), atol=1e-12)
    with pytest.raises(ParameterError, match="is not there: X has"):
        KernelPCA(2, kernel="rbf.on('height')").fit(frame)
    X = data(60, 3)
    for options in ({"kernel": "rbf", "gamma": "median"}, {"kernel": "rbf(sigma='median')"}):
        model = KernelPCA(2, **options).fit(X)
        assert repr(model.kernel_) == f"rbf(gamma={model.kernel_.gamma!r})"
        # New rows are mapped with the width of the fitted ones.
        fixed = KernelPCA(2, kernel=model.kernel_).fit(X)
        assert_allclose(model.transform(X[:5] * 9), fixed.transform(X[:5] * 9), atol=1e-12)


def test_clipping_is_the_eigenvalues_with_the_negative_ones_set_to_0():
    for center, solver in product([True, False], ["auto", "dense"]):
        X, new = data(80, 3), data(15, 3, seed=1)
        options = {"gamma": 0.5, "coef0": -1.0}
        K, between = pairwise.sigmoid_kernel(X, **options), pairwise.sigmoid_kernel(new, X, **options)
        every, vectors = np.linalg.eigh(centred(K) if center else K)
        every, vectors = every[::-1], vectors[:, ::-1][:, :4]
        values = np.maximum(every[:4], 0.0)
        model = KernelPCA(4, kernel="sigmoid", repair="clip", solver=solver, center=center, **options)
        fitted = model.fit_transform(X)
        assert_allclose(model.eigenvalues_, values, rtol=1e-9)
        same_up_to_sign(fitted, vectors * np.sqrt(values), 1e-8)
        _, _, new_scores = definition(K, 4, between, center)
        same_up_to_sign(model.transform(new), new_scores, 1e-7)
        repair = model.repair_
        negative = every[every < -1e-10]
        assert (repair.count, repair.size) == (negative.size, 80)
        assert repair.smallest == pytest.approx(every[-1])
        assert repair.negative == pytest.approx(-negative.sum())
        assert repair.total == pytest.approx(np.abs(every).sum())
        clipped_matrix = np.linalg.norm(np.minimum(every, 0)) / np.linalg.norm(every)
        assert repair.change == pytest.approx(clipped_matrix)
        assert_allclose(model.explained_variance_ratio_, values / every[every > 0].sum(), rtol=1e-9)
        assert f"{negative.size} of 80 eigenvalues were negative" in str(repair)
        assert model.certificate_.ok


def test_clipping_keeps_what_is_positive_and_all_of_a_proven_kernel():
    K = indefinite([5.0, 3.0, 1e-17, -2.0])
    model = KernelPCA(kernel="precomputed", repair="clip").fit(K)
    assert_allclose(model.eigenvalues_, [5.0, 3.0], rtol=1e-12)
    with pytest.warns(RankWarning, match="n_components=4 .* rank 2"):
        model = KernelPCA(4, kernel="precomputed", repair="clip").fit(K)
    assert_allclose(model.eigenvalues_, [5.0, 3.0, 0, 0], atol=1e-15)
    assert_array_equal(model.transform(K)[:, 2:], 0)
    assert model.repair_.count == 1
    assert model.repair_.smallest == pytest.approx(-2.0)
    for fraction in [0.3, 0.7, 0.95]:
        values = np.concatenate([[9.0, 7.0, 1.0, 0.5], -0.5 * np.ones(4)])
        model = KernelPCA(fraction, kernel="precomputed", repair="clip").fit(indefinite(values))
        share = np.cumsum(values[:4]) / 17.5
        assert model.n_components_ == int(np.flatnonzero(share >= fraction)[0]) + 1
        assert_allclose(model.explained_variance_ratio_, values[: model.n_components_] / 17.5, rtol=1e-9)
    for solver in ["auto", "dense", "krylov"]:
        X = data(510, 3)
        model = KernelPCA(3, kernel="rbf", repair="clip", solver=solver, random_state=0).fit(X)
        plain = KernelPCA(3, kernel="rbf", solver=solver, random_state=0).fit(X)
        assert_allclose(model.eigenvalues_, plain.eigenvalues_, rtol=1e-9)
        assert model.plan_ == plain.plan_
        assert plain.repair_ is None
        assert (model.repair_.count, model.repair_.change) == (0, 0.0)
        assert "Nothing was clipped" in str(model.repair_)
    K = indefinite(np.linspace(1, -1, 40))
    with pytest.raises(ParameterError, match='finds only the largest eigenvalues, but repair="clip"'):
        KernelPCA(2, kernel="precomputed", repair="clip", solver="krylov").fit(K)


def curve(n=120):
    rng = np.random.default_rng(0)
    t = rng.uniform(-1.5, 1.5, n)
    return np.column_stack([t, t**2, t**3 - t, t]) + 0.1 * rng.standard_normal((n, 4))


@pytest.mark.parametrize("rule", ["parallel", "cv"])
def test_a_rule_gives_the_number_that_choose_components_gives(rule, tmp_path):
    from gramian import choose_components, load

    rows = curve(24)
    model = KernelPCA(rule, random_state=0)
    expected = choose_components(KernelPCA(), rows, rules=[rule], random_state=0)
    model.fit(rows)
    assert model.n_components_ == max(1, expected[rule].number)
    assert model.component_choice_.number == expected[rule].number
    assert model.plan(rows).operator == "centered kernel"
    model.save(tmp_path / "m.gramian")
    assert load(tmp_path / "m.gramian").component_choice_.sentence == model.component_choice_.sentence
    assert KernelPCA(2, kernel="rbf").fit(rows).component_choice_ is None


def test_rules_and_plans_are_what_fit_follows():
    rows = np.random.default_rng(3).standard_normal((24, 3))
    with pytest.warns(RankWarning, match="n_components='cv' finds no component; one is kept"):
        model = KernelPCA("cv", random_state=0).fit(rows)
    assert (model.n_components_, model.component_choice_.number) == (1, 0)
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        KernelPCA("mle").fit(curve())
    with pytest.raises(ParameterError, match=": A precomputed kernel has no rows, so there are no"):
        KernelPCA("cv", kernel="precomputed").fit(np.eye(20))
    table = pd.DataFrame(curve(), columns=["a", "b", "c", "d"])
    model = KernelPCA("parallel", kernel="linear.on('d', 'a')", random_state=0).fit(table)
    assert model.n_components_ >= 1
    with pytest.raises(MemoryLimitError, match=r"The krylov route needs about 21\.1 MB of working memory,"):
        KernelPCA(2, kernel="rbf", memory_limit=1000).fit(data(600))
    X = data(700, 3)
    for options in ({"n_components": 3}, {"n_components": None}, {"n_components": 0.5}):
        model = KernelPCA(kernel="rbf", random_state=0, **options)
        plan = model.plan(X)
        assert not hasattr(model, "eigenvalues_")
        assert plan == model.fit(X).plan_
        assert plan.operator == "centered kernel"
