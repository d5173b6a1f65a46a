"""PCA against its definition, against published answers, and as a scikit-learn estimator."""

import pickle
import re
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA as PeerPCA

import gramian
from gramian import PCA, scan
from gramian.core.arrays import as_float64
from gramian.errors import CertificateWarning, DataError, MemoryLimitError, ParameterError, RankWarning
from helpers import covering, spectrum_matrix

SOLVERS = ("full", "covariance", "gram", "krylov", "auto")

DECAY = [10, 5, 3, 1, 0.3, 0.1]
SPECTRA = {
    "separated": spectrum_matrix(60, 20, [*DECAY, 0.03, 0.01], seed=0),
    "separated, wide": spectrum_matrix(20, 60, DECAY, seed=1),
    "graded": spectrum_matrix(90, 7, [1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5], seed=2),
    "clustered": spectrum_matrix(80, 12, [5, 5, 5, 1, 1, 1, 1, 0.1], seed=3),
    "flat": spectrum_matrix(80, 12, [2] * 12, seed=4),
    "flat, wide": spectrum_matrix(12, 80, [2] * 11, seed=5),
    "tiny": spectrum_matrix(70, 9, DECAY, seed=6) * 1e-15,
    "huge": spectrum_matrix(70, 9, DECAY, seed=7) * 1e15,
    "two rows": np.array([[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]),
    "one column": np.array([[1.0], [4.0], [2.0], [2.0]]),
    "two rows, one column": np.array([[1.0], [4.0]]),
    "one constant column": np.insert(spectrum_matrix(30, 4, [4, 3, 2, 1], seed=8), 2, 0.1, axis=1),
    "duplicated rows": np.repeat(spectrum_matrix(20, 6, [3, 2, 1, 0.5], seed=9), 3, axis=0),
    "offset": spectrum_matrix(300, 6, [50, 20, 10, 5, 2, 1], seed=10, mean=1000.0),
}


def definition(X, *, center=True, divisor=None, ddof=1):
    """Mean, eigenvalues and eigenvectors of the covariance, from its formula in float64."""
    X = np.asarray(X, dtype=np.float64)
    mean = X.sum(axis=0) / len(X) if center else np.zeros(X.shape[1])
    C = X - mean if divisor is None else (X - mean) / divisor
    size = np.abs(C).max() or 1.0
    C = C / size
    values, vectors = np.linalg.eigh(C.T @ C / (len(X) - ddof))
    return mean, np.maximum(values[::-1], 0.0) * size**2, vectors[:, ::-1]


def assert_eigenvalues(values, expected, dtype):
    """What is promised: 1e-4 relative above 1e-3 of the largest, else 1e-7 of it; float64 far better."""
    top = expected[0]
    error = np.abs(values - expected[: len(values)])
    if dtype == np.float64:
        assert (error <= 2e-13 * top).all(), error / top
        return
    large = expected[: len(values)] > 1e-3 * top
    allowed = np.where(large, 1e-4 * expected[: len(values)], 1e-7 * top)
    assert (error <= allowed).all(), error / top


def assert_subspaces(components, values, vectors, tol):
    """Compare projectors wherever a gap separates the leading components from the rest."""
    W = np.asarray(components, dtype=np.float64)
    for k in range(1, len(W) + 1):
        rest = values[k] if k < len(values) else 0.0
        gap = (values[k - 1] - rest) / values[0]
        if gap > 1e-3:
            ours, theirs = W[:k].T @ W[:k], vectors[:, :k] @ vectors[:, :k].T
            assert np.abs(ours - theirs).max() <= tol / gap


def assert_is_pca(model, X, dtype, vectors_tol=None):
    mean, values, vectors = definition(X)
    eps = float(np.finfo(dtype).eps)
    k = model.n_components_
    assert model.components_.dtype == model.mean_.dtype == dtype
    assert model.explained_variance_.dtype == model.singular_values_.dtype == np.float64
    assert_allclose(model.mean_, mean, rtol=4 * eps, atol=4 * eps * np.abs(X).max())
    assert_eigenvalues(model.explained_variance_, values, dtype)
    assert_subspaces(model.components_, values, vectors, vectors_tol or 200 * eps)
    W = np.asarray(model.components_, dtype=np.float64)
    assert_allclose(W @ W.T, np.eye(k), atol=30 * eps)
    scores = (np.asarray(X, dtype=np.float64) - mean) @ W.T
    scores[:, model.rank_ :] = 0
    assert model.transform(X).dtype == dtype
    scale = np.abs(scores).max()
    # X - mean is rounded to units in the last place of X; float32 keeps the mean as a pair.
    rounding = 8 * float(np.finfo(np.float64).eps) * np.abs(X).max()
    assert_allclose(model.transform(X), scores, rtol=0, atol=30 * eps * scale + rounding)
    total = values.sum()
    rtol = 1e-12 if dtype == np.float64 else 1e-6
    shares = model.explained_variance_ / total
    assert_allclose(model.explained_variance_ratio_, shares, rtol=rtol)
    assert_allclose(model.total_variance_, total, rtol=rtol)
    assert model.certificate_.ok


@pytest.mark.parametrize("name", SPECTRA)
def test_every_solver_gives_the_definition(name):
    for dtype, solver in product([np.float64, np.float32], SOLVERS):
        X = SPECTRA[name].astype(dtype)
        model = PCA(solver=solver, random_state=0).fit(X)
        assert model.n_components_ == min(X.shape)
        assert_is_pca(model, X, dtype)
        assert_allclose(model.explained_variance_ratio_.sum(), 1.0, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_scale_far_from_one_changes_nothing(solver):
    for scale in [1e-95, 1e-40, 1e40, 1e95]:
        X = SPECTRA["separated"] * scale
        model = PCA(3, solver=solver, random_state=0).fit(X)
        expected = np.array([100, 25, 9]) / 59 * scale**2
        assert_allclose(model.explained_variance_, expected, rtol=1e-11)
        assert_allclose(model.singular_values_, np.array([10, 5, 3]) * scale, rtol=1e-11)
        small = PCA(3, solver=solver, random_state=0).fit(SPECTRA["separated"])
        assert_allclose(model.components_, small.components_, atol=1e-12)
        for name in ("noise_variance_", "total_variance_", "reconstruction_error_"):
            assert_allclose(getattr(model, name) / scale / scale, getattr(small, name), rtol=1e-9)
        assert np.isfinite(model.certificate_.radii).all()
        assert np.isfinite(model.certificate_.completeness.bound)
        assert_allclose(model.transform(X), small.transform(SPECTRA["separated"]) * scale, atol=1e-11 * scale)
        assert_allclose(model.inverse_transform(model.transform(X)), X, atol=0.5 * scale)


@pytest.mark.parametrize("solver", SOLVERS)
def test_components_beyond_the_rank_are_nothing(solver):
    for dtype, shape in product([np.float64, np.float32], [(80, 12), (12, 80)]):
        X = spectrum_matrix(*shape, [5, 2, 1], seed=11).astype(dtype)
        message = "n_components=6 but the data has rank 3: the last 3 components have variance 0"
        with pytest.warns(RankWarning, match=message) as caught:
            model = PCA(6, solver=solver, whiten=False, random_state=0).fit(X)
        assert len(caught) == 1
        assert model.rank_ == 3
        assert (model.explained_variance_[3:] == 0).all()
        assert (model.singular_values_[3:] == 0).all()
        eps = np.finfo(dtype).eps
        W = model.components_.astype(np.float64)
        assert_allclose(W @ W.T, np.eye(6), atol=20 * eps)
        new = np.random.default_rng(0).standard_normal((7, shape[1])).astype(dtype)
        for data in (X, new):
            assert (model.transform(data)[:, 3:] == 0).all()
            assert (np.abs(model.transform(data)[:, :3]).max(axis=0) > 0).all()
        with pytest.warns(RankWarning, match="the last 3"):
            white = PCA(6, solver=solver, whiten=True, random_state=0).fit(X)
        for data in (X, new):
            assert (white.transform(data)[:, 3:] == 0).all()
            assert np.isfinite(white.transform(data)).all()
        assert_allclose(white.inverse_transform(white.transform(X)), X, atol=60 * eps)


def test_constant_data_has_no_components_and_signs_are_fixed():
    for solver, value in product(SOLVERS, [0.0, 7.3, 0.1, -1e30]):
        X = np.full((7, 3), value)
        with pytest.warns(RankWarning, match="rank 0"):
            model = PCA(2, solver=solver, whiten=True).fit(X)
        assert model.rank_ == 0
        assert (model.explained_variance_ == 0).all()
        assert (model.explained_variance_ratio_ == 0).all()
        assert (model.transform(np.eye(3)) == 0).all()
        assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-14)
        assert_allclose(model.inverse_transform(model.transform(X)), X, rtol=1e-15)
        assert model.constant_features_.tolist() == [0, 1, 2]
    for solver, dtype in product(SOLVERS, [np.float64, np.float32]):
        X = SPECTRA["separated"].astype(dtype)
        for data in (X, -X):
            W = PCA(5, solver=solver, random_state=0).fit(data).components_
            size = np.abs(W)
            near = size >= (1 - (1e-6 if dtype == np.float64 else 1e-3)) * size.max(axis=1)[:, None]
            first = near.argmax(axis=1)
            assert (W[np.arange(5), first] > 0).all()


def test_the_layout_and_the_type_of_the_array_do_not_matter():
    X = SPECTRA["separated"]
    wide = np.zeros((60, 40))
    wide[:, ::2] = X
    for solver in SOLVERS:
        expected = PCA(4, solver=solver, random_state=0).fit(X)
        for other in (wide[:, ::2], X.astype(">f8"), X.astype(object), X.tolist()):
            model = PCA(4, solver=solver, random_state=0).fit(other)
            assert_allclose(model.components_, expected.components_, atol=1e-13)
            assert_allclose(model.transform(other), expected.transform(X), atol=1e-12)
    whole = np.random.default_rng(30).integers(0, 255, (30, 6))
    expected = PCA(2).fit(whole.astype("f8")).explained_variance_
    for dtype, out in [("u1", "f4"), ("i2", "f4"), ("i4", "f8"), ("i8", "f8"), ("f2", "f4")]:
        model = PCA(2).fit(whole.astype(dtype))
        assert model.components_.dtype == np.dtype(out)
        assert_allclose(model.explained_variance_, expected, rtol=1e-6)
    assert PCA(1).fit(whole > 100).n_components_ == 1


@pytest.mark.parametrize("shape", [(1500, 800), (600, 1500)])
def test_krylov_iterates_and_gives_the_definition(shape):
    singular = np.r_[100.0, 80, 60, 50, 40, 30 * 0.985 ** np.arange(300)]
    double = spectrum_matrix(*shape, singular, seed=13, mean=5.0)
    for dtype in [np.float64, np.float32]:
        X = double.astype(dtype)
        model = PCA(5, solver="krylov", random_state=0).fit(X)
        assert model.plan_.solver == model.spectrum_.route == "krylov"
        assert model.spectrum_.note == ""
        expected = singular[:5] ** 2 / (shape[0] - 1)
        assert_allclose(model.explained_variance_, expected, rtol=1e-10 if dtype == np.float64 else 1e-5)
        assert (model.spectrum_.residuals <= model.certificate_.tol * model.spectrum_.values[0]).all()
        assert model.certificate_.ok
        C = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
        W = model.components_.astype(np.float64)
        residual = np.linalg.norm(C.T @ (C @ W.T) - W.T * singular[:5] ** 2, axis=0)
        assert (residual <= (2e-6 if dtype == np.float64 else 2e-5) * 1e4).all()
        eps = np.finfo(dtype).eps
        assert_allclose(W @ W.T, np.eye(5), atol=30 * eps)
        assert_allclose(model.transform(X), C @ W.T, atol=100 * eps * np.abs(C @ W.T).max())
        total = float((singular**2).sum())
        assert_allclose(model.explained_variance_ratio_, singular[:5] ** 2 / total, rtol=1e-5)
        assert_allclose(
            model.reconstruction_error_, (total - (singular[:5] ** 2).sum()) / shape[0], rtol=1e-4
        )


@pytest.mark.parametrize(
    ("seed", "k", "solver"), [(128, 30, "auto"), (154, 30, "krylov"), (181, 50, "krylov")]
)
def test_sparse_one_hot_tables_have_variances_more_often_than_a_block_is_wide(seed, k, solver):
    """Of a variance that 17 to 25 directions have, a block of 16 vectors finds 16: the probe sees another."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2000, 16000)), int(rng.integers(300, 1100))
    _ = rng.choice([10, 20, 30, 50]), rng.choice(["auto", "krylov"])
    S = sp.csr_matrix((np.ones(n, np.float32), (np.arange(n), rng.integers(0, d, n))), shape=(n, d))
    counts = S.sum(axis=0).A1.astype(float)
    exact = np.linalg.eigvalsh(np.diag(counts) - np.outer(counts, counts) / n)[::-1] / (n - 1)
    model = PCA(k, solver=solver).fit(S)
    certificate, last = model.certificate_, model.explained_variance_[-1]
    assert model.plan_.solver == "krylov"
    assert certificate.ok
    assert_allclose(model.explained_variance_, exact[:k], rtol=1e-7)
    assert (certificate.completeness.limit in certificate.brief) == (certificate.completeness.bound > last)
    assert certificate.completeness.limit in str(certificate)


@pytest.mark.parametrize("shape", [(900, 600), (600, 900)])
def test_krylov_that_stalls_hands_over(shape):
    X = spectrum_matrix(*shape, np.linspace(1.0, 0.9999, 500), seed=15)
    model = PCA(12, solver="krylov", tol=1e-9, random_state=0).fit(X)
    product = "covariance" if shape[0] > shape[1] else "gram"
    assert [attempt.plan.solver for attempt in model.attempts_] == ["krylov", product]
    assert model.plan_ == model.attempts_[1].plan
    expected = rf"block Krylov stalled after \d+ .*residual of .*; {product} on the .* took over"
    assert re.fullmatch(expected, model.spectrum_.note)
    expected = np.linspace(1.0, 0.9999, 500)[:12]
    assert_allclose(model.singular_values_, expected, rtol=1e-12)
    scores = model.transform(X)
    assert_allclose(scores.T @ scores, np.diag(expected**2), atol=1e-12)
    assert model.certificate_.ok


def test_a_fraction_keeps_the_least_number_that_reaches_it():
    for shape in [(2000, 800), (800, 2000)]:
        singular = 10 * 0.9 ** np.arange(200)
        X = spectrum_matrix(*shape, singular, seed=17)
        share = np.cumsum(singular**2) / (singular**2).sum()
        model = PCA(0.9, solver="krylov", random_state=0).fit(X)
        assert model.spectrum_.route == "krylov"
        assert model.n_components_ == int(np.searchsorted(share, 0.9)) + 1
        assert_allclose(model.singular_values_, singular[: model.n_components_], rtol=1e-9)
    for solver in SOLVERS:
        for shape in [(60, 20), (20, 60)]:
            X = spectrum_matrix(*shape, [3, 2, 2, 1, 1, 1], seed=19)
            share = np.cumsum([9, 4, 4, 1, 1, 1]) / 20
            for fraction, k in [(0.01, 1), (0.45, 1), (0.46, 2), (0.65, 2), (0.95, 5), (0.999999, 6)]:
                model = PCA(fraction, solver=solver, random_state=0).fit(X)
                assert model.n_components_ == k
                assert_allclose(model.explained_variance_ratio_.sum(), share[k - 1])
            for half in (np.float32(0.5), Fraction(1, 2)):
                assert PCA(half, solver=solver).fit(X).n_components_ == 2
            assert PCA(np.int64(3), solver=solver).fit(X).n_components_ == 3


FIRST = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
SECOND = np.array(
    [
        [2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0],
        [2.3, 2.7], [2.0, 1.6], [1.0, 1.1], [1.5, 1.6], [1.1, 0.9],
    ]
)  # fmt: skip


def test_examples_by_hand_and_iris():
    for solver in SOLVERS:
        model = PCA(ddof=0, solver=solver).fit(FIRST)
        assert_allclose(model.get_covariance(), [[6.25, 4.25], [4.25, 3.5]], rtol=1e-13)
        assert_allclose(model.explained_variance_, [9.3419, 0.4081], atol=5e-5)
        assert_allclose(model.components_[0], [0.8086, 0.5883], atol=5e-5)
        model = PCA(solver=solver).fit(SECOND)
        assert_allclose(model.explained_variance_, [1.28402771, 0.0490833989], rtol=1e-8)
        assert_allclose(model.components_[0], [0.677873399, 0.735178656], rtol=1e-8)
    values = PCA().fit(load_iris().data).explained_variance_
    assert_allclose(values, [4.2282417, 0.2426707, 0.0782095, 0.0238351], atol=5e-8)


def test_us_arrests_scaled(data_dir):
    source = data_dir / "tables" / "datasets_USArrests.csv"
    model = PCA(scale="unit").fit(source)
    assert model.feature_names_in_.tolist() == ["Murder", "Assault", "UrbanPop", "Rape"]
    deviations = model.summary().standard_deviation
    assert_allclose(deviations, [1.5748783, 0.9948694, 0.5971291, 0.4164494], atol=5e-8)
    assert_allclose(model.summary().cumulative[-1], 1.0)
    table = pd.read_csv(source, index_col=0)
    assert_allclose(model.transform(source), model.transform(table), atol=1e-14)


@pytest.mark.walk
def test_eigenfaces(data_dir):
    """The first 36 people of Extended Yale B; errors are shares of the distance from the mean."""
    pictures = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    with np.load(data_dir / "faces" / "extended_yale_b_cropped_u8.npz") as stored:
        X = stored["X"]
    model = PCA(100, random_state=0).fit(X[:2286])
    assert model.certificate_.ok
    assert model.components_.shape == (100, 32256)
    assert model.component_pictures_.shape == (100, 192, 168)

    def errors(picture):
        x = picture.reshape(1, 192, 168).astype(np.float32)
        scores = model.transform(x)
        results = []
        for r in (25, 50, 100):
            kept = np.where(np.arange(100) < r, scores, 0).astype(np.float32)
            back = model.inverse_transform(kept)
            assert back.shape == (1, 192, 168)
            mean = model.mean_.reshape(192, 168)
            results.append(np.linalg.norm(x - back) / np.linalg.norm(x - mean))
        return results

    assert_allclose(errors(X[2286]), [0.477, 0.431, 0.393], atol=5e-4)
    with pictures.open(data_dir / "pictures" / "dog.jpg") as file:
        dog = np.asarray(file.convert("L").resize((168, 192)))
    assert_allclose(errors(dog), [0.468, 0.416, 0.357], atol=5e-4)


REFUSED = {
    "is not known. Allowed:": [{"solver": "svd"}, {"solver": "covarance"}, {"solver": None}],
    "is not known. Allowed: 'unit'": [{"scale": "unti"}],
    "must hold 9 positive numbers, one for each column": [
        *(
            {"scale": value}
            for value in ([1.0, 2.0], np.zeros(9), [np.nan] * 9, ["a"] * 9, [1j] * 9, {"a": 1})
        ),
        *({"scale": value} for value in (2.0, [np.ones(9)], [-1.0] * 9, [np.inf] * 9)),
    ],
    "must be a whole number from 0 to 19": [{"ddof": value} for value in (20, -1, 1.0, True, None, "1")],
    "must be a number above 0 and below 1": [{"tol": value} for value in (0.0, "small", 2)],
    "is not an amount of memory": [{"memory_limit": "lots"}, {"memory_limit": -5}],
    "cannot start a random number generator": [{"random_state": "x"}],
}


def test_other_parameters_and_divisors_far_from_one_are_refused():
    for message in REFUSED:
        X = np.random.default_rng(0).standard_normal((20, 9))
        for parameters in REFUSED[message]:
            with pytest.raises(ParameterError, match=re.escape(message)):
                PCA(**parameters).fit(X)
    X = np.random.default_rng(0).standard_normal((20, 9))
    for value in (12, 0, -1, 1.5, 0.0, 1.0, np.nan, True, np.bool_(True), "mel", [2], np.array([3]), {}, 2j):
        for solver in SOLVERS:
            with pytest.raises(ParameterError, match="n_components"):
                PCA(value, solver=solver).fit(X)
        with pytest.raises(ParameterError, match="n_components"):
            PCA(value).plan(X)
    X = np.random.default_rng(0).standard_normal((20, 9))
    assert PCA(scale=[1e90] * 9).fit(X).certificate_.ok
    with pytest.raises(ParameterError, match=r"scale=\[1e\+90, 1e\+90, 1e\+90, 1e\+90, 1e\+90, 1e\+90,"):
        PCA(scale=[1e90] * 9).fit(X.astype(np.float32))
    for divisor, size in ((1e-90, "91"), (1e-38, "39"), (1e38, "-39")):
        for solver in SOLVERS:
            model = PCA(scale=[divisor] * 9, solver=solver)
            with pytest.raises(DataError, match=r"er ones in feature_weight, or X in float64\."):
                model.fit((X if size != "-39" else X / 100).astype(np.float32))
            assert np.isfinite(model.fit(X).transform(X)).all()
    with pytest.warns(RankWarning, match="rank 0"):
        PCA(scale=[1e-90] * 9).fit(np.ones((20, 9), np.float32))


def test_ddof_centring_and_the_probabilistic_model_are_those_of_scikit_learn():
    for solver in SOLVERS:
        X = SPECTRA["separated"]
        unbiased, biased = (PCA(4, ddof=ddof, solver=solver).fit(X) for ddof in (1, 0))
        assert_allclose(biased.explained_variance_ * 60, unbiased.explained_variance_ * 59)
        assert_allclose(biased.noise_variance_ * 60, unbiased.noise_variance_ * 59)
        assert_allclose(biased.reconstruction_error_, unbiased.reconstruction_error_)
        assert_allclose(biased.components_, unbiased.components_, atol=1e-12)
        assert_allclose(PCA(1, ddof=5).fit(X).explained_variance_ * 55, 100)
    for solver in SOLVERS:
        X = SPECTRA["separated"] + np.linspace(-2, 3, 20)
        model = PCA(4, center=False, solver=solver, random_state=0).fit(X)
        _, values, vectors = definition(X, center=False)
        assert_allclose(model.explained_variance_, values[:4], rtol=1e-11)
        assert_subspaces(model.components_, values, vectors, 1e-12)
        assert (model.mean_ == 0).all()
        assert_allclose(model.transform(X), X @ model.components_.T, atol=1e-11)
        assert_allclose(model.explained_variance_ratio_, values[:4] / values.sum())
    for solver, shape, k in covering(SOLVERS, [(80, 6), (9, 30)], [1, 3, None]):
        singular = [7, 5, 3, 2, 1, 0.5][: min(shape[0] - 1, shape[1])]
        X = spectrum_matrix(*shape, singular, seed=21, mean=0.5)
        peer = PeerPCA(k, svd_solver="full").fit(X)
        ours = PCA(k, solver=solver, random_state=0).fit(X)
        assert_allclose(ours.noise_variance_, peer.noise_variance_, atol=1e-13)
        assert_allclose(ours.get_covariance(), peer.get_covariance(), atol=1e-8)
        if k is None and shape == (9, 30):
            with pytest.raises(DataError, match=r"The fitted covariance is singular \(6 of 30 directions"):
                ours.get_precision()
            with pytest.raises(DataError, match=r"The fitted covariance is singular \(6 of 30 directions"):
                ours.score(X)
            continue
        assert_allclose(ours.get_precision(), peer.get_precision(), rtol=1e-8, atol=1e-8)
        new = np.random.default_rng(22).standard_normal((5, shape[1]))
        assert_allclose(ours.score_samples(new), peer.score_samples(new), rtol=1e-8)
        assert_allclose(ours.score(X), peer.score(X), rtol=1e-8)
        normal = multivariate_normal(ours.mean_, ours.get_covariance())
        assert_allclose(ours.score_samples(new), normal.logpdf(new), rtol=1e-8)
    X = np.random.default_rng(23).standard_normal((50, 4)) * [1, 10, 0.1, 5] + 3
    model = PCA(2, scale="unit").fit(X)
    assert_allclose(np.diag(PCA(scale="unit").fit(X).get_covariance()), X.var(0, ddof=1))
    assert_allclose(model.get_precision() @ model.get_covariance(), np.eye(4), atol=1e-12)
    normal = multivariate_normal(X.mean(axis=0), model.get_covariance())
    assert_allclose(model.score_samples(X), normal.logpdf(X), rtol=1e-10)


@pytest.mark.parametrize("scale", ["unit", "pareto", "array"])
def test_scaled_columns(scale):
    for dtype, solver, magnitude in covering([np.float64, np.float32], SOLVERS, [1.0, 1e-95, 1e95]):
        if dtype == np.float32:
            magnitude = {1.0: 1.0, 1e-95: 1e-12, 1e95: 1e12}[magnitude]
        spread = np.array([1.0, 1e-3, 50.0, 7.0, 0.2]) * magnitude
        X = np.random.default_rng(20).standard_normal((40, 5)) * spread + 3 * spread
        X[:, 3] += X[:, 0] * 5
        X = np.insert(X, 2, 0.1 * magnitude, axis=1).astype(dtype)
        deviation = X.astype(np.float64).std(axis=0, ddof=1)
        deviation[2] = 1.0
        if scale == "array":
            divisor = np.array([1.0, 2, 3, 4, 5, 6]) * magnitude
            model = PCA(5, scale=divisor.tolist(), solver=solver, random_state=0).fit(X)
        else:
            divisor = deviation if scale == "unit" else np.sqrt(deviation)
            model = PCA(5, scale=scale, solver=solver, random_state=0).fit(X)
        eps = float(np.finfo(dtype).eps)
        # What a constant column differs from its mean by is rounding, and may be large.
        effective = np.where(np.arange(6) == 2, np.inf, divisor)
        mean, values, _ = definition(X, divisor=effective)
        atol = 1e3 * eps * values[0]
        assert_allclose(model.explained_variance_, values[:5], rtol=0, atol=atol)
        assert_allclose(model.scale_, divisor, rtol=10 * eps)
        assert model.constant_features_.tolist() == [2]
        C = (X - mean) / effective
        W = np.asarray(model.components_, dtype=np.float64)
        scores = C @ W.T
        assert_allclose(model.transform(X), scores, atol=50 * eps * np.abs(scores).max())
        back = np.asarray(model.inverse_transform(model.transform(X)), dtype=np.float64)
        assert_allclose(back / divisor, X / divisor, atol=200 * eps * np.abs(C).max())
        if scale == "unit":
            assert_allclose(model.total_variance_, 5.0, rtol=1e-5)


def test_scores_are_white_and_a_summary_says_what_is_not_met():
    model = PCA(3).fit(SPECTRA["separated"])
    table = model.summary()
    assert_allclose(table.standard_deviation**2, model.explained_variance_)
    assert_array_equal(table.explained_variance_ratio, model.explained_variance_ratio_)
    assert_allclose(table.cumulative, np.cumsum(table.explained_variance_ratio))
    assert [row[0] for row in table.rows()] == ["PC1", "PC2", "PC3"]
    assert "standard deviation" in str(table)
    X = SPECTRA["offset"].astype("f4")
    with pytest.warns(CertificateWarning, match="known to .* of the largest, not to 1.0e-16"):
        model = PCA(2, solver="covariance", tol=1e-16).fit(X)
    assert not model.certificate_.ok
    for solver, scale in product(SOLVERS, [None, "unit"]):
        X = SPECTRA["graded"]
        model = PCA(4, whiten=True, scale=scale, solver=solver, random_state=0)
        Z = model.fit_transform(X)
        assert_allclose(np.cov(Z.T), np.eye(4), atol=1e-6)
        assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
        assert_allclose(model.transform(X), Z, atol=1e-8)
        plain = PCA(4, scale=scale, solver=solver, random_state=0).fit(X)
        assert_allclose(model.inverse_transform(Z), plain.inverse_transform(plain.transform(X)), atol=1e-9)
    for solver, k in product(SOLVERS, [1, 3, 20]):
        X = SPECTRA["separated"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)
            model = PCA(k, solver=solver, random_state=0).fit(X)
        back = model.inverse_transform(model.transform(X))
        error = ((X - back) ** 2).sum(axis=1).mean()
        assert_allclose(model.reconstruction_error_, error, atol=1e-12)
        scaled = PCA(3, scale="unit", solver=solver, random_state=0).fit(X)
        back = scaled.inverse_transform(scaled.transform(X))
        error = (((X - back) / scaled.scale_) ** 2).sum(axis=1).mean()
        assert_allclose(scaled.reconstruction_error_, error, rtol=1e-10)
    for solver in SOLVERS:
        for name in ("separated", "separated, wide", "one constant column", "two rows"):
            X = SPECTRA[name]
            model = PCA(solver=solver).fit(X)
            assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)
    model = PCA(3).fit(SPECTRA["separated"])
    scores = np.where(np.random.default_rng(0).random((5, 3)) < 0.5, 1.5, 0)
    assert_array_equal(model.inverse_transform(sp.csr_matrix(scores)), model.inverse_transform(scores))
    with pytest.raises(DataError, match=r"X has 2 columns, but inverse_transform takes 3 scores\."):
        model.inverse_transform(scores[:, :2])


def test_the_plan_is_what_fit_follows_and_needs_only_a_shape():
    for solver, k in product(SOLVERS, [None, 2, 0.9]):
        for shape in [(60, 20), (20, 60), (210, 200)]:
            X = np.random.default_rng(0).standard_normal(shape)
            model = PCA(k, solver=solver, random_state=0)
            plan = model.plan(X)
            assert not hasattr(model, "components_")
            assert model.fit(X).plan_ == plan
            if solver not in ("auto", "krylov"):
                assert plan.solver == model.spectrum_.route == solver
    rng = np.random.default_rng(7)
    for shape in ((40, 9), (9, 400)):
        X = rng.standard_normal(shape)
        for model in (PCA(3), PCA(0.9), PCA("parallel")):
            assert str(model.plan(X)) == str(model.plan(shape)) == str(model.plan(np.full(shape, np.nan)))
    lines = PCA(3).plan((10**6, 10**4)).matrices
    assert lines[0].startswith("covariance matrix, 10,000 x 10,000, O(n d^2 + d^3): about ")
    assert lines[1].startswith("dual Gram matrix, 1,000,000 x 1,000,000, O(n^2 d + n^3): about ")
    assert PCA(3).fit(X).plan_.matrices == ()
    for shape in [(1, 5), (5, 0)]:
        with pytest.raises(ParameterError, match="must be a whole number of at least"):
            PCA().plan(shape)


def test_a_route_that_does_not_fit_is_refused_before_work(monkeypatch, tmp_path):
    X = np.random.default_rng(0).standard_normal((300, 200))
    with pytest.raises(MemoryLimitError, match=r"The covariance route needs about 19\.9 MB of working"):
        PCA(2, solver="covariance", memory_limit=1000).fit(X)
    with pytest.raises(MemoryLimitError, match=r"The full route needs about 4\.16 MB of working memory, and"):
        PCA(2, memory_limit="1kB").fit(X)
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "1kB")
    with pytest.raises(MemoryLimitError, match=r"The full route needs about 4\.16 MB of working memory, and"):
        PCA(2).fit(X)
    PCA(2, memory_limit="1GB").fit(X)
    monkeypatch.undo()  # of a file its data take a part of the limit
    np.savez(tmp_path / "x.npz", np.zeros((300, 4000), dtype="u1"))
    with pytest.raises(MemoryLimitError, match="The krylov route needs about 17 MB of working memory, and"):
        PCA(2, memory_limit="20MB").fit(tmp_path / "x.npz")


@pytest.mark.parametrize("name", ["separated", "separated, wide", "offset", "clustered"])
def test_fit_transform_is_fit_then_transform(name):
    for dtype, whiten, solver in covering([np.float64, np.float32], [False, True], SOLVERS):
        X = SPECTRA[name].astype(dtype)
        model = PCA(4, solver=solver, whiten=whiten, random_state=0)
        together = model.fit_transform(X)
        apart = model.transform(X)
        assert together.dtype == apart.dtype == dtype
        rounding = np.finfo(dtype).eps * (100 if name != "offset" else 1000)
        assert_allclose(together, apart, atol=rounding * np.abs(apart).max())


def test_array_kinds_through_krylov_beyond_the_rank_and_with_holes(array_kind):
    for shape in [(900, 500), (500, 900)]:
        singular = np.r_[9.0, 7, 5, 4, 3 * 0.95 ** np.arange(100)]
        data = spectrum_matrix(*shape, singular, seed=26)
        model = PCA(4, solver="krylov", random_state=0).fit(array_kind.make(data))
        assert model.spectrum_.route == "krylov"
        assert_allclose(as_float64(model.singular_values_), singular[:4], rtol=1e-5)
        assert array_kind.same(model.components_) or array_kind.name == "numpy-read-only"
    X = array_kind.make(spectrum_matrix(30, 8, [3, 1], seed=27))
    with pytest.warns(RankWarning, match="rank 2"):
        model = PCA(4, whiten=True).fit(X)
    scores = gramian.core.arrays.to_numpy(model.transform(X))
    assert (scores[:, 2:] == 0).all()
    assert_allclose(np.cov(scores[:, :2].T), np.eye(2), atol=1e-5)
    X = SPECTRA["separated"].copy()
    X[3, 5] = np.nan
    model = PCA(2, missing="projection").fit(array_kind.make(SPECTRA["separated"]))
    scores = as_float64(model.transform(array_kind.make(X)))
    assert np.isfinite(scores).all()
    assert np.allclose(scores[4:], as_float64(model.transform(array_kind.make(X[4:]))), rtol=1e-4)
    X[3, 6] = np.inf
    with pytest.raises(DataError, match=r"Input X contains inf \(infinity\): row 3, column 6\. Replace"):
        model.transform(array_kind.make(X))


def test_array_kinds_keep_the_shape_of_pictures(array_kind):
    flat = SPECTRA["separated"]
    pictures = array_kind.make(flat.reshape(60, 4, 5))
    model = PCA(3).fit(pictures)
    assert model.picture_shape_ == (4, 5)
    assert tuple(model.component_pictures_.shape) == (3, 4, 5)
    back = model.inverse_transform(model.transform(pictures))
    assert tuple(back.shape) == (60, 4, 5)
    plain = PCA(3).fit(flat)
    with pytest.raises(AttributeError, match="models fitted on pictures"):
        plain.component_pictures_  # noqa: B018
    expected = plain.transform(flat)
    assert_allclose(as_float64(back).reshape(60, 20), plain.inverse_transform(expected), atol=1e-5)
    assert_allclose(as_float64(model.transform(array_kind.make(flat))), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("solver", "shape"),
    [
        ("covariance", (1500, 120)),
        ("gram", (120, 1500)),
        ("krylov", (1500, 120)),
        ("krylov", (120, 1500)),
        ("auto", (1500, 120)),
    ],
)
def test_sparse_data_is_centred_without_being_densified(monkeypatch, solver, shape):
    rng = np.random.default_rng(28)
    double = np.where(rng.random(shape) < 0.05, rng.standard_normal(shape) + 2, 0)
    double[:, :5] *= [9, 8, 7, 6, 5]
    whole = sp.csr_matrix.toarray

    def toarray(self, *args, **kwargs):
        assert self.shape != shape, "densified whole"
        return whole(self, *args, **kwargs)

    for kind in (sp.csr_matrix, sp.csr_array):
        monkeypatch.setattr(kind, "toarray", toarray)
    for form, scale, dtype in [
        (sp.csr_matrix, None, np.float64),
        (sp.csc_matrix, "unit", np.float32),
        (sp.coo_array, "unit", np.float64),
        (sp.csr_matrix, None, np.float32),
    ]:
        dense = double.astype(dtype)
        model = PCA(3, scale=scale, solver=solver, random_state=0)
        Z = model.fit_transform(form(dense))
        apart = model.transform(form(dense))
        expected = PCA(3, scale=scale, solver="full").fit(dense)
        assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-5)
        eps = np.finfo(dtype).eps
        assert_allclose(model.mean_, dense.mean(axis=0), atol=10 * eps)
        assert Z.dtype == model.components_.dtype == model.mean_.dtype == dtype
        top = np.abs(apart).max()
        assert_allclose(Z, apart, atol=(1000 * eps + model.certificate_.tol) * top)
        C = dense - dense.astype(np.float64).mean(axis=0)
        C = C / model.scale_ if scale else C
        assert_allclose(apart, C @ model.components_.T, atol=1000 * eps * top)


def test_tiny_and_huge_data_and_one_seed():
    dense = np.where(np.random.default_rng(29).random((60, 9)) < 0.4, SPECTRA["separated"][:, :9], 0)
    plain = PCA(3).fit(dense)
    for scale in (1e-95, 1.0, 1e95):
        for solver in SOLVERS:
            model = PCA(3, solver=solver, random_state=0).fit(sp.csr_matrix(dense * scale))
            expected = plain.explained_variance_ * scale**2
            assert_allclose(model.explained_variance_, expected, rtol=1e-10)
    X = spectrum_matrix(900, 500, 10 * 0.95 ** np.arange(100), seed=25)
    first, second = (PCA(4, solver="krylov", random_state=7).fit(X) for _ in range(2))
    assert first.spectrum_.route == "krylov"
    assert_allclose(first.components_, second.components_, atol=1e-12)
    assert_allclose(first.explained_variance_, second.explained_variance_, rtol=1e-13)
    for state in (np.random.RandomState(0), np.random.default_rng(0), 5, None):
        other = PCA(4, solver="krylov", random_state=state).fit(X)
        assert_allclose(other.explained_variance_, first.explained_variance_, rtol=1e-6)
        assert_allclose(other.components_, first.components_, atol=1e-4)
    for solver in SOLVERS:
        for scale in [1e-36, 1e-30, 1e30, 1e37]:
            X = (SPECTRA["separated"] * scale).astype(np.float32)
            model = PCA(3, solver=solver, random_state=0).fit(X)
            assert_allclose(model.explained_variance_, np.array([100, 25, 9]) / 59 * scale**2, rtol=1e-4)
            C = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
            W = model.components_.astype(np.float64)
            assert_allclose(model.transform(X), C @ W.T, atol=1e-5 * scale)
    for solver, scale in product(SOLVERS, [1e160, 1e-170, 1e300]):
        with pytest.raises(DataError, match=r"column 0 is .* Divide it by"):
            PCA(3, solver=solver).fit(SPECTRA["separated"] * scale)


def test_files_are_read_with_their_names(tmp_path):
    X = SPECTRA["separated"][:, :3]
    file = tmp_path / "table.csv"
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.insert(0, "id", [f"row {i}" for i in range(60)])
    frame.to_csv(file, index=False)
    expected = PCA(2).fit(X)
    for source in (file, scan(file), scan(str(file), columns=["a", "b", "c"])):
        model = PCA(2).fit(source)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        assert_allclose(model.transform(source), expected.transform(X), atol=1e-12)
    assert_allclose(model.transform(frame[["a", "b", "c"]]), expected.transform(X))
    with pytest.raises(DataError, match=r", which the model was fitted on\. Expected: a, b, c\. Add"):
        model.transform(scan(file, columns="a,b"))
    assert_array_equal(model.transform(scan(file, columns="c,b,a")), model.transform(file))
    text = tmp_path / "text.csv"
    text.write_text("a,b\n1,x\n2,x\n")
    with pytest.raises(DataError, match="has 1 column that holds no numbers:"):
        PCA().fit(text)


@pytest.mark.parametrize("solver", SOLVERS)
def test_nan_and_infinity_are_named_with_row_and_column(solver):
    for shape, bad in product([(40, 5), (3000, 400), (400, 3000)], [np.nan, np.inf, -np.inf]):
        if solver == "full" and shape != (40, 5):
            shape = (300, 200)
        X = np.random.default_rng(0).standard_normal(shape)
        X[33, 4] = bad
        for data in (X, X.astype("f4")):
            with pytest.raises(DataError, match=r": row 33, column 4\."):
                PCA(2, solver=solver).fit(data)


@pytest.mark.parametrize("shape", [(40, 5), (3000, 400), (400, 3000), (300, 200)])
def test_infinity_of_new_rows_is_named_with_row_and_column(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    model = PCA(2, random_state=0).fit(X)
    for X[33, 4] in (np.inf, -np.inf):
        with pytest.raises(DataError, match=r"Input X contains inf \(infinity\): row 33, column 4\."):
            model.transform(X)


def data(shape):
    n, d, seed = shape
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * 2.0 ** rng.integers(-4, 4, d) + rng.integers(-9, 9, d)


@settings(max_examples=40)
@given(st.tuples(st.integers(2, 25), st.integers(1, 12), st.integers(0, 10**6)), st.sampled_from(SOLVERS))
def test_any_data_gives_the_definition(shape, solver):
    X = data(shape)
    model = PCA(solver=solver, random_state=0).fit(X)
    assert_is_pca(model, X, np.float64, vectors_tol=1e-11)


def test_genotypes_are_scaled_by_the_frequency_of_their_allele(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 60)
    X = rng.binomial(2, p, (200, 60)).astype("f4")
    X[:, 3], X[:, 4], X[:, 5] = 0, 2, 1
    X[7, 8] = X[:, 8].mean()  # a missing call
    frequencies = X.mean(axis=0, dtype="f8") / 2
    varies = np.ptp(X, axis=0) > 0
    divisor = np.where(varies, np.sqrt(2 * frequencies * (1 - frequencies)), 1.0)
    C = (X - 2 * frequencies) / divisor
    values = np.linalg.svd(C, compute_uv=False)[:5] ** 2 / 199
    for data in (X, X.astype("f8"), sp.csr_array(X.astype("f8"))):
        for solver in ("covariance", "gram", "krylov"):
            model = PCA(5, scale="genotype", solver=solver).fit(data)
            assert model.explained_variance_ == pytest.approx(values, rel=1e-4)
            assert model.constant_features_.tolist() == [3, 4, 5]
            assert model.scale_ == pytest.approx(divisor)
    new = X[:9] + 0.0
    scores = (new - 2 * frequencies) / divisor @ model.components_.T
    assert model.transform(sp.csr_array(new)) == pytest.approx(scores, abs=1e-5)
    model.save(tmp_path / "m.gramian")
    assert np.array_equal(gramian.load(tmp_path / "m.gramian").transform(new), model.transform(new))
    stream = PCA(5, scale="genotype")
    for batch in np.split(X.astype("f8"), 4):
        stream.partial_fit(batch)
    assert stream.explained_variance_ == pytest.approx(values, rel=1e-4)
    X[50, 20] = -9
    with pytest.raises(DataError, match='scale="genotype" is for counts of an allele, 0, 1 or 2,'):
        stream.partial_fit(X[50:60])
    with pytest.raises(DataError, match='scale="genotype" is for counts of an allele, 0, 1 or 2,'):
        PCA(2, scale="genotype").fit(X)
    with pytest.raises(ParameterError, match="computes allele frequencies from column means, but"):
        PCA(2, scale="genotype", center=False).fit(X)


@pytest.mark.parametrize(
    "asked", [{}, {"solver": "krylov"}, {"n_components": 0.9}, {"n_components": "parallel"}]
)
def test_plans_are_put_into_words_when_somebody_looks(asked):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 9)) + 0.1 * rng.standard_normal((60, 9))
    model = PCA(**{"n_components": 2, **asked}).fit(X)
    assert not {"plan_", "attempts_"} & vars(model).keys()
    twin = pickle.loads(pickle.dumps(model))
    assert {"plan_", "attempts_"} <= vars(twin).keys()
    assert model.plan_ is model.plan_
    assert model.plan_ == twin.plan_ == model.attempts_[-1].plan or isinstance(asked.get("n_components"), str)
    assert model.plan_.took == twin.plan_.took > 0
    if not isinstance(asked.get("n_components"), str):
        assert model.plan_ == PCA(**{"n_components": 2, **asked}).plan(X)
    before = model.plan_
    assert model.fit(X[:30]).plan_ != before


def test_dual_coefficients_and_reconstruction_errors_by_their_definition():
    rng = np.random.default_rng(5)
    for shape, asked in [((6, 30), {}), ((30, 6), {"scale": "unit", "whiten": True}), ((8, 5), {"ddof": 0})]:
        X = rng.standard_normal(shape) + 3
        model = PCA(3, **asked).fit(X)
        C = (X - X.mean(axis=0)) / (1 if model.scale_ is None else model.scale_)
        alpha = model.dual_coefficients(X)
        assert_allclose(alpha.T @ C, model.components_, atol=1e-10)
        K = C @ C.T
        assert_allclose(alpha.T @ K @ alpha, np.eye(3), atol=1e-10)
        assert_allclose(K @ alpha, alpha * model.singular_values_**2, rtol=1e-8, atol=1e-8)
    with pytest.raises(DataError, match="Coefficients of the fitted rows need those rows: 4 rows,"):
        model.dual_coefficients(X[:4])
    with pytest.raises(DataError, match="Coefficients of the fitted rows need those rows: weights"):
        PCA(2).fit(X, sample_weight=np.arange(1, 9)).dual_coefficients(X)
    with pytest.warns(RankWarning):
        flat = PCA(3).fit(X[:, [0, 0, 0]])
    assert not flat.dual_coefficients(X[:, [0, 0, 0]])[:, 1:].any()
    rng = np.random.default_rng(6)
    for asked in ({}, {"scale": "unit", "whiten": True}, {"center": False}):
        X, new = rng.standard_normal((20, 6)) + 5, rng.standard_normal((4, 6)) + 5
        model = PCA(4, **asked).fit(X)
        for rows in (X, new):
            C = (rows - model.mean_) / (1 if model.scale_ is None else model.scale_)
            P = model.components_
            expected = [((C - C @ P[:r].T @ P[:r]) ** 2).sum(axis=1) for r in (4, 0, 2)]
            assert_allclose(model.reconstruction_errors(rows, [4, 0, 2]).T, expected, rtol=1e-10)
        means = model.reconstruction_errors(X).mean(axis=0)
        assert means.shape == (5,)
        assert means[4] == pytest.approx(model.reconstruction_error_)
    few, new = PCA().fit(rng.standard_normal((5, 9))), rng.standard_normal((4, 9))  # rank 4 of 5 components
    back = ((new - few.inverse_transform(few.transform(new))) ** 2).sum(axis=1)
    assert_allclose(few.reconstruction_errors(new, [4, 5]), np.column_stack([back, back]))
    line = np.outer(np.arange(9.0), [1e3, 2e3])
    assert PCA(1).fit(line).reconstruction_errors(line, [1]).max() < 1e-18
    with pytest.raises(ParameterError, match=r"counts=5 must be a whole number from 0 to 4\."):
        model.reconstruction_errors(X, [5])
    with pytest.raises(DataError, match=r"Input X contains NaN: 6 values are missing in 1 row \(1"):
        model.reconstruction_errors(np.full((1, 6), np.nan))
