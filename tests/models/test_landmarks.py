"""Kernel PCA by landmarks against the definition, and what is guaranteed of it."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramian
from gramian import KernelPCA
from gramian.engine.features import random_pivots
from gramian.errors import (
    CostWarning,
    DataError,
    MemoryLimitError,
    ParameterError,
    RankWarning,
    UnavailableError,
)
from gramian.kernels import RBF, kernel_from_name
from gramian.tables.as_rows import as_rows
from helpers import centred, same_up_to_sign


def definition(K_nm, K_mm, k, new=None, center=True):
    """PCA of ``K_nm K_mm^(-1/2)``, with a pseudo-inverse: eigenvalues, scores of the rows and of new ones."""
    values, vectors = np.linalg.eigh(K_mm)
    kept = values > 1e-8 * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    features = K_nm @ root
    mean = features.mean(axis=0) if center else 0.0
    _, s, Vt = np.linalg.svd(features - mean, full_matrices=False)
    scores = (features - mean) @ Vt[:k].T
    return s[:k] ** 2, scores, None if new is None else (new @ root - mean) @ Vt[:k].T


def exact_eigenvalues(kernel, X, center=True):
    K = kernel.gram(np.asarray(X, dtype=np.float64))
    return np.linalg.eigvalsh(centred(K) if center else K)[::-1]


def clusters(sizes, seed=0, d=5):
    """Clusters of unequal sizes, far apart."""
    rng = np.random.default_rng(seed)
    centres = 8.0 * rng.standard_normal((len(sizes), d))
    return np.concatenate(
        [c + 0.5 * rng.standard_normal((n, d)) for c, n in zip(centres, sizes, strict=True)]
    )


def nystroem(k=4, m=60, **settings):
    settings = {"kernel": "rbf", "random_state": 0} | settings
    return KernelPCA(k, solver="nystroem", n_landmarks=m, **settings)


X = np.random.default_rng(0).standard_normal((700, 4)) * [2.0, 1.3, 0.9, 0.6]
NEW = np.random.default_rng(1).standard_normal((40, 4))


@pytest.mark.parametrize(
    "kernel", ["rbf", "0.5 * rbf(sigma=2) + laplacian(gamma=0.3)", "poly", "linear", "cosine"]
)
def test_eigenvalues_and_scores_are_those_of_the_definition(kernel):
    made = kernel_from_name(kernel).resolve(X)
    for rule, center in (("rpcholesky", True), ("uniform", False)):
        model = nystroem(3, 30, kernel=kernel, center=center, landmarks=rule)
        scores_at_once, L = model.fit_transform(X), model.landmarks_
        values, scores, new = definition(made.gram(X, L), made.gram(L), 3, made.gram(NEW, L), center)
        np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-6, atol=1e-6 * values[0])
        size = np.sqrt(values[0])
        same_up_to_sign(model.transform(X), scores, 1e-5 * size)
        same_up_to_sign(model.transform(NEW), new, 1e-5 * size)
        np.testing.assert_array_equal(scores_at_once, model.transform(X))
        assert model.certificate_.ok


def test_landmarks_are_rows_of_a_seed_and_the_plan_says_so():
    for rule in ("rpcholesky", "uniform"):
        model = nystroem(landmarks=rule).fit(X)
        np.testing.assert_array_equal(model.landmarks_, X[model.landmark_indices_])
        assert len(set(model.landmark_indices_.tolist())) == 60
        np.testing.assert_array_equal(nystroem(landmarks=rule).fit(X).landmarks_, model.landmarks_)
        other = nystroem(landmarks=rule, random_state=1).fit(X)
        assert not np.array_equal(other.landmark_indices_, model.landmark_indices_)
    given = KernelPCA(2, kernel="rbf", solver="nystroem", landmarks=X[:9].tolist()).fit(X)
    np.testing.assert_array_equal(given.landmarks_, X[:9])
    assert given.landmark_indices_ is None
    assert not hasattr(given, "eigenvectors_")
    assert given.X_fit_ is None
    made = nystroem()
    before = made.plan(X)
    assert [step.name for step in before.steps][:4] == ["choose", "orthonormalise", "evaluate", "multiply"]
    assert (before.solver, before.took) == ("nystroem", None)
    after = made.fit(X).plan_
    assert after.solver == "nystroem"
    assert after.took > 0
    assert "60 rows by randomly pivoted Cholesky, whose factor takes up to" in str(after)
    assert made.attempts_[-1].plan.operator == after.operator == "covariance of 60 landmarks"
    assert "approximation by 60 landmarks" in str(made.certificate_)
    assert "60 landmarks leave" in str(made.certificate_)


def test_pivots_are_drawn_one_by_one_and_find_small_clusters():
    rows = np.array([[0.0], [0.3], [3.0], [3.2], [9.0]])
    K = RBF(gamma=1.0).gram(rows)
    expected = np.zeros((5, 5))
    for i in range(5):
        left = np.maximum(np.diag(K) - K[:, i] ** 2 / K[i, i], 0.0)
        expected[i] = 0.2 * left / left.sum()
    counts, drawn = np.zeros((5, 5)), np.random.default_rng(0)
    bound, checked = RBF(gamma=1.0).bind(rows), as_rows(rows)
    for _ in range(1500):
        i, j = random_pivots(bound, checked, 2, tol=0.0, center=False, rng=drawn, dtype=np.float64)
        counts[i, j] += 1
    assert np.abs(counts / 1500 - expected).max() < 0.03
    errors = {"rpcholesky": [], "uniform": []}
    rows = clusters([3000, 900, 60, 12, 6], seed=2)
    for rule, result in errors.items():
        for seed in range(3):
            model = nystroem(4, 60, gamma=0.02, landmarks=rule, random_state=seed).fit(rows)
            result.append(model.certificate_.approximation.unexplained)
            if rule == "rpcholesky":
                assert (model.landmark_indices_ >= 3972).any()
    assert np.mean(errors["rpcholesky"]) < np.mean(errors["uniform"]) / 5
    model = nystroem(0.3, 60).fit(X)
    exact = KernelPCA(0.3, kernel="rbf").fit(X)
    assert model.n_components_ >= exact.n_components_
    assert 0.3 <= model.explained_variance_ratio_.sum() <= 1
    k = exact.n_components_
    assert (model.explained_variance_ratio_[:k] <= exact.explained_variance_ratio_[:k] + 1e-12).all()
    with pytest.raises(ParameterError, match=r"n_components=0\.999 is more of the variance than these 5"):
        nystroem(0.999, 5).fit(X)
    model = nystroem(2, 500, gamma=0.01, tol=1e-2).fit(X)
    assert len(model.landmarks_) < 100
    result = model.certificate_.approximation
    assert result.unexplained <= 1e-2 * result.total


def test_exact_eigenvalues_lie_within_the_bounds():
    rng = np.random.default_rng(3)
    base = clusters([400, 150, 40, 10], seed=1)
    cases = {
        "plain": (base, "rbf", 0.3),
        "duplicates": (np.repeat(base[::12], 10, axis=0), "rbf", 0.3),
        "rank deficient": (rng.standard_normal((400, 2)) @ rng.standard_normal((2, 6)), "linear", None),
        "polynomial": (rng.standard_normal((400, 3)), "poly", None),
        "far": (base + 1e4, "rbf", 0.3),
        "wide": (base, "rbf", 1e-6),
        "constant": (np.full((50, 3), 2.0), "rbf", 0.3),
    }
    for name, (rows, kernel, gamma) in cases.items():
        for dtype in (np.float64, np.float32):
            data = rows.astype(dtype)
            resolved = kernel_from_name(kernel, gamma=gamma).resolve(data)
            for center in (True, False):
                exact = exact_eigenvalues(resolved, data, center)[:5]
                slack = 1e-12 * max(exact[0], 1.0)
                for seed, rule in enumerate(("rpcholesky", "uniform")):
                    settings = {"kernel": kernel, "gamma": gamma, "center": center, "landmarks": rule}
                    made = nystroem(None, 40, random_state=seed, **settings)
                    if name == "constant" and center:
                        with pytest.warns(RankWarning, match="rank 0"):
                            result = made.fit(data).certificate_
                    else:
                        result = made.fit(data).certificate_
                    k = min(5, len(result.values))
                    case = (name, dtype, center, rule)
                    assert (result.lower[:k] <= exact[:k] + slack).all(), case
                    assert (exact[:k] <= result.upper[:k] + slack).all(), case


@pytest.mark.parametrize("solver", ["nystroem", "dense"])
@pytest.mark.parametrize(
    ("kernel", "origin", "spread"), [("rbf", 1, 0), ("rbf", 1, 1e-16), ("rbf", 1, 1e-9), ("linear", 1e15, 1)]
)
def test_rows_that_differ_by_rounding_have_no_component(solver, kernel, origin, spread):
    """Their differences are rounding in kernel values; not so where X is centred."""
    if kernel == "linear" and solver != "nystroem":
        return
    X = origin + spread * np.random.default_rng(0).random((60, 3))
    gamma = {"gamma": 1.0} if kernel == "rbf" else {}
    model = KernelPCA(1, kernel=kernel, solver=solver, random_state=0, **gamma)
    with pytest.warns(UserWarning, match="rank 0"):
        model.fit(X)
    assert model.rank_ == 0
    assert model.explained_variance_ratio_[0] == 0
    assert not model.certificate_.ok
    assert not model.transform(X).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_ratio_is_larger_than_the_exact_one_but_for_the_rounding_that_is_stated(dtype):
    """Also where landmarks all but depend on each other."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 2)).astype(dtype)
        settings = {"kernel": "rbf", "gamma": float(10.0 ** rng.uniform(-4, 1))}
        model = KernelPCA(
            3, solver="nystroem", n_landmarks=int(rng.integers(3, 61)), random_state=0, **settings
        )
        about = model.fit(X).certificate_.approximation
        exact = KernelPCA(3, solver="dense", **settings).fit(X.astype(np.float64)).explained_variance_ratio_
        rounding = (about.below + about.above - about.unexplained) / about.total
        assert (model.explained_variance_ratio_ <= exact + rounding + 1e-12).all()


def test_repeated_rows_float32_and_scales_that_leave_the_range():
    rows = np.repeat(X[:3], 40, axis=0)
    for rule in ("rpcholesky", "uniform"):
        with pytest.warns(RankWarning, match="has rank 2"):
            model = nystroem(4, 20, landmarks=rule).fit(rows)
        assert model.rank_ == 2
        exact = exact_eigenvalues(RBF(gamma=0.25), rows)
        np.testing.assert_allclose(model.eigenvalues_[:2], exact[:2], rtol=1e-6)
        assert np.isfinite(model.transform(NEW)).all()
        np.testing.assert_array_equal(model.transform(NEW)[:, 2:], 0.0)
    rows = np.random.default_rng(2).standard_normal((700, 30)).astype(np.float32)
    model = nystroem(landmarks="uniform").fit(rows)
    assert model.plan_.arithmetic == "float32"
    assert model.landmarks_.dtype == model.transform(rows).dtype == np.float32
    assert model.eigenvalues_.dtype == np.float64
    twin = nystroem(landmarks="uniform").fit(rows.astype(np.float64))
    np.testing.assert_allclose(model.eigenvalues_, twin.eigenvalues_, rtol=1e-5)
    # Float32 sums divided by short directions would be lost.
    assert nystroem(gamma=1e-4, landmarks="uniform").fit(rows).plan_.arithmetic == "float64"
    model = nystroem(2, 20, kernel="linear").fit(X * 1e95)
    np.testing.assert_allclose(
        model.eigenvalues_ / 1e190, nystroem(2, 20, kernel="linear").fit(X).eigenvalues_
    )
    assert np.isfinite(nystroem(2, 20).fit(X * 1e95).transform(X)).all()
    with pytest.raises(DataError, match=r"column 0 is .* Divide it by 1e.152"):
        nystroem(2, 20, kernel="linear").fit(X * 1e152)
    with pytest.raises(DataError, match="Input X contains NaN: 140 values are missing in 70 rows"):
        nystroem().fit(np.full((70, 2), np.nan))


def test_sparse_rows_and_other_array_kinds():
    data = np.where(X > 1, X, 0.0)
    dense = nystroem().fit(data)
    model = nystroem().fit(sp.csr_array(data))
    assert sp.issparse(model.landmarks_)
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(sp.csr_array(data)), dense.transform(data), atol=1e-6)
    with pytest.raises(DataError, match=r"X is sparse, and laplacian\(\) takes no sparse rows\. Those"):
        nystroem(kernel="laplacian").fit(sp.csr_array(data))
    strict = pytest.importorskip("array_api_strict")
    model = nystroem().fit(strict.asarray(X))
    result = model.transform(strict.asarray(NEW))
    np.testing.assert_allclose(np.asarray(result), nystroem().fit(X).transform(NEW), atol=1e-8)


def test_landmarks_may_be_sparse_and_far_and_saved_models_go_on(tmp_path):
    rows = sp.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    given = {"kernel": "rbf", "gamma": 0.1, "solver": "nystroem"}
    model, same = (KernelPCA(3, landmarks=nodes[:20], **given).fit(nodes) for nodes in (rows, rows.toarray()))
    np.testing.assert_allclose(model.eigenvalues_, same.eigenvalues_, rtol=1e-9)
    for kernel, offset in (("linear", 1e5), ("rbf", 10.0)):
        model = KernelPCA(2, **given | {"kernel": kernel}, center=False, landmarks=X[:6] + offset).fit(X)
        # What has been found of the rows, not of the landmarks.
        np.testing.assert_allclose((model.transform(X) ** 2).sum(axis=0), model.eigenvalues_, rtol=1e-4)
    model = nystroem(2, 30).partial_fit(X[:300])
    model.save(tmp_path / "m.gramian")
    twin = gramian.load(tmp_path / "m.gramian")
    np.testing.assert_array_equal(twin.transform(NEW), model.transform(NEW))
    assert str(twin.certificate_) == str(model.certificate_)
    np.testing.assert_allclose(
        twin.partial_fit(X[300:]).eigenvalues_, model.partial_fit(X[300:]).eigenvalues_, rtol=1e-12
    )


def test_what_cannot_be_approximated_is_refused():
    fits = {
        r"needs a kernel that is proven .* sigmoid": nystroem(kernel="sigmoid"),
        r"does not support kernel=.precomputed.": nystroem(kernel="precomputed"),
        r"repair='clip' is for kernels with negative": nystroem(repair="clip"),
        r"n_components='cv' is a rule that fits": nystroem("cv"),
        r"n_landmarks=701 must be a whole number from 1 to 700": nystroem(m=701),
        r"n_landmarks=0 must be": nystroem(m=0),
        r"n_components=10 but 5 landmarks have at most 5": nystroem(10, 5),
        r"landmarks='best' is not known": nystroem(landmarks="best"),
        r"n_landmarks=60 is not allowed with an array of landmarks": nystroem(landmarks=X[:9]),
        r"landmarks has 2 columns, but X has 4": nystroem(m=None, landmarks=X[:9, :2]),
        r"solver='random-features' is not known": KernelPCA(2, kernel="rbf", solver="random-features"),
        r"n_landmarks applies only to solver=.nystroem., but": KernelPCA(2, n_landmarks=10),
        r"landmarks applies only to solver=.nystroem., but": KernelPCA(2, landmarks="uniform"),
    }
    for message, model in fits.items():
        with pytest.raises(ParameterError, match=message):
            model.fit(X if model.kernel != "precomputed" else X @ X.T)
    with pytest.raises(MemoryLimitError, match="with n_landmarks=60 for 700 rows needs about 957 kB of"):
        nystroem(memory_limit=10_000).fit(X)


def test_the_warning_of_a_long_fit_names_landmarks(monkeypatch):
    monkeypatch.setattr("gramian.engine.solving.LONG", 0.0)
    with pytest.warns(CostWarning, match=r"KernelPCA\(solver='nystroem'\) with few n_landmarks"):
        KernelPCA(2, kernel="rbf").fit(X)
    with pytest.warns(CostWarning, match="A sample of the rows costs less"):
        KernelPCA(2, kernel="precomputed").fit(X @ X.T)


def test_rows_in_parts_are_as_all_at_once():
    model = nystroem(3, 50, gamma=0.3)
    for part in np.split(X, [100, 101, 400]):
        assert model.partial_fit(part) is model
    whole = KernelPCA(3, kernel="rbf", gamma=0.3, solver="nystroem", landmarks=model.landmarks_).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(NEW), whole.transform(NEW), atol=1e-9)
    assert model.n_samples_ == 700
    # A fit begins anew.
    assert model.fit(X[:200]).n_samples_ == 200
    assert model.partial_fit(X[:150]).n_samples_ == 150
    with pytest.raises(DataError, match="features"):
        model.partial_fit(X[:, :2])
    with pytest.raises(TypeError, match="unexpected keyword argument 'groups'"):
        model.partial_fit(X, groups=np.ones(700))
    exact = KernelPCA(2, kernel="rbf")
    assert not hasattr(exact, "partial_fit")
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as raised:
        exact.partial_fit(X)
    assert isinstance(raised.value.__cause__, UnavailableError)
    assert "Use solver='nystroem' with n_landmarks=1000" in str(raised.value.__cause__)


@pytest.mark.parametrize("how", ["uniform", "rpcholesky"])
def test_a_file_larger_than_memory_gives_what_its_array_gives(how, tmp_path):
    X = np.random.default_rng(3).standard_normal((4000, 30)) + 5.0
    np.save(tmp_path / "x.npy", X)
    solver = {"solver": "nystroem", "landmarks": how}
    models = [
        KernelPCA(3, kernel="rbf", gamma=0.02, n_landmarks=40, random_state=0, memory_limit=limit, **solver)
        for limit in (3_500_000, None)
    ]
    file, array = models[0].fit(tmp_path / "x.npy"), models[1].fit(X)
    assert file.eigenvalues_ == pytest.approx(array.eigenvalues_, rel=1e-9)
    assert np.array_equal(file.landmark_indices_, array.landmark_indices_)
    assert np.allclose(file.transform(tmp_path / "x.npy"), array.transform(X), atol=1e-8)
    for name in ("upper", "lower"):
        assert getattr(file.certificate_, name) == pytest.approx(getattr(array.certificate_, name), rel=1e-3)


def test_landmarks_lead_back_to_rows_and_failed_fits_change_nothing():
    rng = np.random.default_rng(0)
    first, more = rng.standard_normal((60, 2)), rng.standard_normal((60, 2)) + 5.0
    settings = {"kernel": "rbf", "solver": "nystroem", "n_landmarks": 20, "random_state": 0}
    model = KernelPCA(3, preimage="ridge", **settings).partial_fit(first)
    model.inverse_transform(model.transform(first))
    model.partial_fit(more)
    known = KernelPCA(3, preimage="ridge", **settings).partial_fit(first).partial_fit(more)
    scores = model.transform(more)
    np.testing.assert_array_equal(model.inverse_transform(scores), known.inverse_transform(scores))
    model = KernelPCA(2, kernel="rbf", solver="nystroem", n_landmarks=9).fit(np.eye(12))
    before = dict(vars(model))
    with pytest.raises(ParameterError, match="n_landmarks applies only to solver="):
        model.set_params(solver="krylov").fit(np.eye(12))
    model.set_params(solver="nystroem")
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    angle = np.linspace(0.0, 6.2, 400)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    for method in ("fixed-point", "ridge"):
        model = nystroem(8, 60, gamma=2.0, preimage=method).fit(circle)
        exact = KernelPCA(8, kernel="rbf", gamma=2.0, preimage=method).fit(circle)
        # The learned map knows nothing of a point so far outside.
        far = 0.1 if method == "ridge" else 1e-2
        np.testing.assert_allclose(model.denoise([[1.2, 0.9]]), exact.denoise([[1.2, 0.9]]), atol=far)
        back, error = model.inverse_transform(model.transform(circle[:5]), return_error=True)
        np.testing.assert_allclose(back, circle[:5], atol=0.1)
        assert (error < 0.3).all()
    rows = X + 1e4
    model = nystroem(4, 20, kernel="linear").fit(rows)
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), rows, atol=1e-4)
