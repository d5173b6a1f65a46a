"""Weights of rows: integers have the effect of repeated rows, 0 that of none, and files may hold them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import gramian
from gramian import PCA, KernelPCA, Whitener, choose_components, load, scan
from gramian.errors import DataError, ParameterError, RankWarning
from gramian.tables.as_rows import as_rows, weighted

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 6)) * np.linspace(3, 1, 6) + 5
W = rng.integers(0, 4, 80)
REPEATED = X.repeat(W, axis=0)
NEW = rng.standard_normal((9, 6)) + 5
NUMBERS = (
    "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_", "noise_variance_",
    "reconstruction_error_", "total_variance_", "rank_", "n_components_", "components_",
)  # fmt: skip


def assert_same(model, other, rtol=1e-10, leave_out=()):
    """Compare all numbers of two fits of PCA; directions beyond the rank are any."""
    for name in NUMBERS:
        if name in leave_out:
            continue
        ours, theirs = (np.asarray(getattr(one, name), dtype=float) for one in (model, other))
        if name == "components_":
            ours, theirs = ours[: model.rank_], theirs[: model.rank_]
        scale = max(float(np.abs(theirs).max(initial=0)), 1e-300)
        assert_allclose(ours / scale, theirs / scale, rtol=0, atol=rtol, err_msg=name)


@pytest.mark.parametrize("solver", ["full", "covariance", "gram", "krylov"])
def test_integer_weights_are_repeated_rows(solver):
    wide = rng.standard_normal((12, 30))
    few = np.array([2, 0, 1, 1, 3, 1, 0, 2, 1, 1, 1, 4])
    for data, weights in ((X, W), (wide, few)):
        for center, scale in ((True, None), (True, "unit"), (True, "pareto"), (False, None)):
            model = PCA(3, solver=solver, center=center, scale=scale, tol=1e-11, random_state=0)
            again = PCA(**model.get_params())
            scores = model.fit_transform(data, sample_weight=weights)
            assert_same(model, again.fit(data.repeat(weights, axis=0)))
            assert_allclose(scores, again.transform(data), atol=1e-9)
            assert model.certificate_.ok
            assert "of the weighted rows" in str(model.certificate_)


def test_weighted_variances_and_numbers_of_components_by_their_definition():
    wide, weights = rng.standard_normal((8, 30)), [3, 0, 1, 2, 1, 1, 1, 4]
    assert_same(PCA().fit(wide, sample_weight=weights), PCA().fit(wide.repeat(weights, axis=0)))
    assert PCA().fit(wide, sample_weight=np.array(weights) + 0.5).n_components_ == 8
    with pytest.warns(RankWarning, match="rank 6"):
        assert PCA(8).fit(wide, sample_weight=np.minimum(weights, 1)).n_components_ == 8
    weights = rng.random(80) * 3
    S = np.cov(X.T, aweights=weights, ddof=0) * weights.sum() / (weights.sum() - 1)
    model = PCA().fit(X, sample_weight=weights)
    assert_allclose(model.get_covariance(), S, rtol=1e-11)
    assert_allclose(model.mean_, np.average(X, axis=0, weights=weights), rtol=1e-12)
    back = PCA(2).fit(X, sample_weight=weights)
    off = ((X - back.inverse_transform(back.transform(X))) ** 2).sum(axis=1)
    assert_allclose(back.reconstruction_error_, np.average(off, weights=weights), rtol=1e-11)
    assert_same(PCA(0.7).fit(X, sample_weight=W), PCA(0.7).fit(REPEATED))
    left = X.copy()
    left[W == 0] = 1e300
    assert_same(PCA(3).fit(left, sample_weight=W), PCA(3).fit(REPEATED))
    constant = X.copy()
    constant[W > 0, 2] = 7.0
    model = PCA(scale="unit").fit(constant, sample_weight=W)
    assert model.constant_features_.tolist() == [2]


def test_every_kind_of_rows_and_blocks_of_a_file(tmp_path, monkeypatch):
    expected = PCA(3).fit(REPEATED)
    np.save(tmp_path / "X.npy", np.column_stack([X, W]))
    kinds = [sp.csr_matrix(X), X[::-1][::-1], X.tolist()]
    for data in kinds:
        assert_same(PCA(3, solver="krylov", tol=1e-11, random_state=0).fit(data, sample_weight=W), expected)
        assert_same(PCA(3).fit(data, sample_weight=W.tolist()), expected)
    empty = sp.random(80, 9, 0.2, format="csr", random_state=0)
    assert_same(
        PCA(3, scale="unit").fit(empty, sample_weight=W),
        PCA(3, scale="unit").fit(sp.csr_matrix(empty.toarray().repeat(W, axis=0))),
    )
    single = PCA(3).fit(X.astype("f4"), sample_weight=W)
    assert single.components_.dtype == np.float32
    assert single.plan_.arithmetic == "float64"
    assert_same(single, PCA(3).fit(REPEATED.astype("f4").astype("f8")), rtol=1e-6)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    limited = PCA(3, memory_limit="17MB").fit(np.asarray(stored)[:, :6], sample_weight=stored[:, 6])
    assert_same(limited, expected)
    monkeypatch.setattr("gramian.engine.centered.CACHE_BYTES", 1 << 10)
    monkeypatch.setattr("gramian.tables.choose.whole_within", lambda limit: 0)
    np.save(tmp_path / "X.npy", X)
    path, expected = tmp_path / "X.npy", PCA(3).fit(REPEATED)
    for solver in ("covariance", "krylov"):
        model = PCA(3, solver=solver, tol=1e-11, random_state=0)
        assert_same(model.fit(path, sample_weight=W), expected)


def test_chunks_of_dask():
    da = pytest.importorskip("dask.array", reason='needs pip install "gramian[cluster]"')
    chunked = da.from_array(X, chunks=(30, 6))
    for solver in ("covariance", "gram", "krylov"):
        model = PCA(3, scale="unit", solver=solver, tol=1e-11, random_state=0)
        assert_same(model.fit(chunked, sample_weight=W), PCA(3, scale="unit").fit(REPEATED))
    ours, theirs = Whitener().fit(chunked, sample_weight=W), Whitener().fit(REPEATED)
    assert_allclose(ours.transform(NEW), theirs.transform(NEW), rtol=1e-9)
    for how in ({}, {"solver": "nystroem", "landmarks": X[:20]}):
        ours, theirs = (KernelPCA(2, kernel="rbf", gamma=0.05, **how) for _ in range(2))
        ours.fit(chunked, sample_weight=W), theirs.fit(REPEATED)
        assert_allclose(ours.transform(NEW), theirs.transform(NEW), atol=1e-9)


def test_tensors():
    torch = pytest.importorskip("torch", reason='needs pip install "gramian[gpu]"')
    tensor, weights = torch.from_numpy(X), torch.from_numpy(W)
    for model in (PCA(3), PCA(3, solver="krylov", tol=1e-11, random_state=0)):
        data = tensor
        assert_same(model.fit(data, sample_weight=weights), PCA(3).fit(REPEATED))
    for kernel in (KernelPCA(2, kernel="rbf", gamma=0.05), Whitener()):
        ours = kernel.fit(tensor, sample_weight=weights).transform(torch.from_numpy(NEW))
        assert_allclose(ours.numpy(), kernel.fit(REPEATED).transform(NEW), atol=1e-9)


def test_batches_and_forgetting_are_weights_of_one_kind(tmp_path):
    expected, parts = PCA(3).fit(REPEATED), np.array_split(np.arange(80), 4)
    model = PCA(3)
    for rows in parts:
        model.partial_fit(X[rows], sample_weight=W[rows])
    assert_same(model, expected)
    assert model.n_samples_ == 80
    # numpy.cov has both: a decay of the rows, and how often each was there.
    forgetful, decay = PCA(forgetting=0.7), np.empty(80)
    for number, rows in enumerate(parts):
        forgetful.partial_fit(X[rows], sample_weight=W[rows])
        decay[rows] = 0.7 ** (3 - number)
    S = np.cov(X.T, aweights=decay, fweights=W)
    assert_allclose(forgetful.get_covariance(), S, rtol=1e-11)
    # The stream goes on with the sum of the weights, also from a file.
    PCA().partial_fit(X[:50], sample_weight=W[:50]).save(tmp_path / "m.gramian")
    assert_same(load(tmp_path / "m.gramian").partial_fit(X[50:], sample_weight=W[50:]), PCA().fit(REPEATED))


def test_weights_of_several_sizes_and_of_one():
    plain = PCA(3, ddof=0).fit(X)
    for same in (np.ones(80), [1] * 80, np.ones((80, 1))):
        model = PCA(3, ddof=0).fit(X, sample_weight=same)
        assert (model.components_ == plain.components_).all()
        assert "weighted" not in str(model.certificate_)
    expected = PCA(3, ddof=0).fit(REPEATED)
    for size in (1e-15, 1e15):
        model = PCA(3, ddof=0).fit(X, sample_weight=W * size)
        assert_same(model, expected, leave_out=("singular_values_",))
        roots = expected.singular_values_ * np.sqrt(size)
        assert_allclose(model.singular_values_, roots, rtol=1e-10)
        stream = PCA(3, ddof=0).partial_fit(X, sample_weight=W * size)
        assert_same(stream, expected, leave_out=("singular_values_",))
    for size in (1e-60, 1e60):
        for fit in (PCA(3).fit, PCA(3).partial_fit, KernelPCA(2).fit):
            with pytest.raises(DataError, match=r"The largest sample_weight is .* may be 1e-19 to 1e.19"):
                fit(X, sample_weight=W * size)
    kernel = KernelPCA(2, kernel="rbf", gamma=0.05)
    expected = kernel.fit(REPEATED).transform(NEW)
    assert_allclose(kernel.fit(X, sample_weight=W * 2.0**60).transform(NEW), expected, atol=1e-10)


def weighted_kernel(K, weights):
    """W^1/2 Kc W^1/2, Kc centred on the weighted mean, as it is defined."""
    shares = weights / weights.sum()
    H = np.eye(len(K)) - np.ones((len(K), 1)) @ shares[None, :]
    roots = np.sqrt(weights)
    return roots[:, None] * (H @ K @ H.T) * roots[None, :]


def test_kernel_pca_and_landmarks_of_weighted_rows():
    weights = rng.random(80) * (rng.random(80) > 0.2)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-0.05 * distances)
    values = np.linalg.eigvalsh(weighted_kernel(K, weights))[::-1][:3]
    for solver, tol in (("dense", None), ("krylov", 1e-11)):
        model = KernelPCA(3, kernel="rbf", gamma=0.05, solver=solver, tol=tol, random_state=0)
        scores = model.fit_transform(X, sample_weight=weights)
        assert_allclose(model.eigenvalues_, values, rtol=1e-10)
        assert_allclose(model.explained_variance_, values / (weights.sum() - 1), rtol=1e-10)
        assert_allclose(scores, np.sqrt(values) * model.eigenvectors_, atol=1e-9)
        squares = (weights[:, None] * model.eigenvectors_**2).sum(axis=0)
        assert_allclose(squares, 1, rtol=1e-9)
        assert model.certificate_.ok
        given = KernelPCA(3, kernel="precomputed", solver=solver, tol=tol, random_state=0)
        assert_allclose(np.abs(given.fit_transform(K, sample_weight=weights)), np.abs(scores), atol=1e-9)
    asked = {"n_components": 3, "kernel": "rbf", "gamma": 0.05, "solver": "nystroem", "landmarks": X[:30]}
    expected, stream = KernelPCA(**asked).fit(REPEATED), KernelPCA(**asked)
    for rows in np.array_split(np.arange(80), 3):
        stream.partial_fit(X[rows], sample_weight=W[rows])
    for model in (KernelPCA(**asked).fit(X, sample_weight=W), stream):
        assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
        assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-9)
        assert_allclose(model.transform(NEW), expected.transform(NEW), atol=1e-9)
        assert model.n_samples_ == 80


def test_kernel_pca_of_integer_weights_is_that_of_repeated_rows(tmp_path):
    for settings in ({"kernel": "rbf"}, {"kernel": "poly"}, {"kernel": "rbf", "center": False}):
        ours, theirs = (KernelPCA(3, gamma=0.05, **settings) for _ in range(2))
        ours.fit(X, sample_weight=W), theirs.fit(REPEATED)
        assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
        assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10)
        assert_allclose(ours.transform(NEW), theirs.transform(NEW), atol=1e-10)
        # Of rows of weight 0 too.
        assert_allclose(ours.eigenvectors_ * np.sqrt(ours.eigenvalues_), theirs.transform(X), atol=1e-10)
        zero = np.r_[np.zeros(80), np.ones(len(REPEATED))]
        more = KernelPCA(3, gamma=0.05, **settings).fit(np.concatenate([X, REPEATED]), sample_weight=zero)
        assert_allclose(ours._row_means, more._row_means[:80], atol=1e-10)
        ours.save(tmp_path / "k.gramian")
        assert (load(tmp_path / "k.gramian").transform(NEW) == ours.transform(NEW)).all()
        if settings["kernel"] == "rbf":  # the learned map of others does not use weights
            assert_allclose(ours.denoise(NEW[:2]), theirs.denoise(NEW[:2]), atol=1e-3)


@pytest.mark.parametrize("method", ["pca", "zca", "zca-cor", "pca-cor"])
def test_whitening_of_weighted_rows(method):
    for regularization in (None, 0.1):
        ours, theirs = (Whitener(method, regularization=regularization) for _ in range(2))
        Z = ours.fit_transform(X, sample_weight=W)
        theirs.fit(REPEATED)
        assert_allclose(ours.transform(NEW), theirs.transform(NEW), rtol=1e-8, atol=1e-9)
        assert_allclose(Z, theirs.transform(X), atol=1e-9)
        if regularization is None:
            assert_allclose(np.cov(Z.T, fweights=W), np.eye(6), atol=1e-10)


def test_weights_of_columns_of_any_size():
    own = np.linspace(0.5, 2, 6)
    for scale in (None, "unit", "pareto", np.arange(1.0, 7)):
        plain = PCA(scale=scale).fit(X)
        C = (X - X.mean(axis=0)) / (1 if plain.scale_ is None else plain.scale_) * np.sqrt(own)
        model = PCA(3, scale=scale, feature_weight=own)
        stream = PCA(3, scale=scale, feature_weight=own).partial_fit(X[:30]).partial_fit(X[30:])
        scores = model.fit_transform(X)
        for fitted in (model, stream):
            assert_same(fitted, PCA(3).fit(C), leave_out=("mean_",))
        assert_allclose(scores, PCA(3).fit_transform(C), atol=1e-10)
        full = PCA(scale=scale, feature_weight=own)
        assert_allclose(full.inverse_transform(full.fit_transform(X)), X, rtol=1e-12)
    both = PCA(3, feature_weight=own).fit(X, sample_weight=W)
    assert_same(both, PCA(3).fit(REPEATED * np.sqrt(own)), leave_out=("mean_",))
    for wrong in ([1, 2], np.zeros(6), [1, 1, 1, 1, 1, np.inf], "x", np.ones(6) * 1j, np.ones(6, "m8[s]")):
        with pytest.raises(ParameterError, match="must hold 6 positive, finite numbers, one for each"):
            PCA(feature_weight=wrong).fit(X)
    own = np.array([1.0, 2, 1, 1, 0.5, 1])
    for scale in (None, "unit"):
        expected = PCA(3, scale=scale, feature_weight=own).fit(X)
        for power in (-900, -400, 700, 1000):
            model = PCA(3, scale=scale, feature_weight=np.ldexp(own, power)).fit(X)
            assert_allclose(model.components_, expected.components_, atol=1e-12)
            variances = np.ldexp(model.explained_variance_, -power)
            assert_allclose(variances, expected.explained_variance_)
            assert model.certificate_.ok
    first = PCA(1, feature_weight=[1e300, 1, 1, 1, 1, 1e-300]).fit(X)
    assert_allclose(first.components_, np.eye(6)[:1], atol=1e-100)
    assert_allclose(first.explained_variance_, 1e300 * X[:, 0].var(ddof=1))
    with pytest.raises(DataError, match="whose square float64 cannot hold"):
        PCA(1, feature_weight=np.full(6, 1e308)).fit(X * 1e3)
    with pytest.raises(DataError, match="which float32 cannot hold"):
        PCA(1, feature_weight=np.full(6, 1e200)).fit(X.astype("f4"))


def test_a_batch_without_weight_counts_for_nothing():
    first, nothing, last = np.split(X[:60], 3)
    nothing = 1e9 * nothing
    for options in ({}, {"scale": "unit"}, {"center": False}):
        expected = PCA(3, **options).partial_fit(first).partial_fit(last)
        for order in ((nothing, first, last), (first, nothing, last), (first, last, nothing)):
            model = PCA(3, **options)
            for batch in order:
                model.partial_fit(batch, sample_weight=np.full(20, float(batch is not nothing)))
            assert_same(model, expected)
            assert model.n_samples_ == 60
    with pytest.raises(DataError, match=r"This PCA instance is not fitted yet: with forgetting=1\.0"):
        _ = PCA(3).partial_fit(nothing, sample_weight=np.zeros(20)).components_
    # Time passes all the same.
    model = PCA(3, forgetting=0.5)
    for batch, weight in ((first, 1.0), (nothing, 0.0), (last, 1.0)):
        model.partial_fit(batch, sample_weight=np.full(20, weight))
    S = np.cov(np.vstack([first, last]).T, aweights=np.repeat([0.25, 1.0], 20))
    assert_allclose(model.explained_variance_, np.linalg.eigvalsh(S)[::-1][:3], rtol=1e-10)
    kernel = KernelPCA(2, kernel="rbf", gamma=0.1, solver="nystroem", n_landmarks=10)
    expected = kernel.partial_fit(first).partial_fit(last).transform(NEW)
    kernel = KernelPCA(**kernel.get_params()).partial_fit(first)
    kernel.partial_fit(nothing, sample_weight=np.zeros(20)).partial_fit(last)
    assert_allclose(kernel.transform(NEW), expected, atol=1e-12)


def test_rules_and_contributions_are_for_rows_of_equal_weight():
    weights = W * 80 / W.sum()  # their sum is the number of rows, and so no sign of them
    kernel = KernelPCA(2, kernel="rbf", gamma=0.05)
    models = [PCA(2).fit(X, sample_weight=weights), PCA(2).partial_fit(X, sample_weight=weights)]
    for model in [*models, kernel.fit(X, sample_weight=weights)]:
        table = model.table("rows", X)
        assert "cos2 PC1" in table
        assert "contribution PC1" not in table
        assert "contribution PC1" in model.fit(X).table("rows", X)
    deviations = PCA(2).fit(X, sample_weight=W).table("columns")["standard deviation"]
    assert_allclose(deviations, REPEATED.std(axis=0, ddof=1), rtol=1e-10)
    for rule in ("mle", "gavish-donoho", "parallel", "sign-flip", "cv"):
        with pytest.raises(ParameterError, match=": the rule is for rows of equal weight, but the rows have"):
            PCA(rule).fit(X, sample_weight=W)
    with pytest.raises(ParameterError, match=r"needs rows of equal weight\. Use a number or a fraction,"):
        PCA("mle").partial_fit(X, sample_weight=W)
    with pytest.raises(ParameterError, match=": the rule is for rows of equal weight, but the rows have"):
        KernelPCA("parallel", kernel="rbf").fit(X, sample_weight=W)
    model = PCA().fit(X, sample_weight=W)
    said = choose_components(model, rules=["mle", "fraction", "broken-stick"])
    assert said["mle"].number is None
    assert "equal weight" in said["mle"].sentence
    assert (
        said["fraction"].number
        == choose_components(PCA().fit(REPEATED), rules=["fraction"])["fraction"].number
    )
    kernel = KernelPCA(kernel="rbf", gamma=0.05).fit(X, sample_weight=W)
    again = KernelPCA(kernel="rbf", gamma=0.05).fit(REPEATED)
    ours, theirs = (choose_components(one, rules=["fraction"])["fraction"] for one in (kernel, again))
    assert ours.number == theirs.number


def test_routing_of_metadata():
    pd = pytest.importorskip("pandas")
    y = X[:, 0] + rng.standard_normal(80)
    weights = pd.Series(W, name="w")
    with config_context(enable_metadata_routing=True):
        for model in (PCA(2), KernelPCA(2), Whitener("pca", n_components=2)):
            model.set_fit_request(sample_weight=True)
            last = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            pipeline = make_pipeline(model, last).fit(X, y, sample_weight=weights)
            fitted = pipeline[0]
            again = type(model)(**model.get_params()).fit(X, sample_weight=W)
            assert_allclose(fitted.transform(NEW), again.transform(NEW))
            grid = GridSearchCV(pipeline, {"ridge__alpha": [0.1, 1]}, cv=2).fit(X, y, sample_weight=W)
            assert grid.best_score_ < 1
        assert PCA().set_partial_fit_request(sample_weight=True)
    old = make_pipeline(PCA(2), Ridge()).fit(X, y, pca__sample_weight=weights)[0]
    assert_same(old, PCA(2).fit(REPEATED))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx", "npy"])
def test_a_column_of_weights(tmp_path, suffix):
    pd = pytest.importorskip("pandas")
    path, frame = tmp_path / f"t.{suffix}", pd.DataFrame(X, columns=list("abcdef"))
    frame.insert(2, "w", W)
    name = "w"
    if suffix == "npy":
        np.save(path, frame.to_numpy())
        name = "2"
    else:
        if suffix == "xlsx":
            pytest.importorskip("openpyxl")
        getattr(frame, {"csv": "to_csv", "parquet": "to_parquet", "xlsx": "to_excel"}[suffix])(
            path, index=False
        )
    expected = PCA(2).fit(REPEATED)
    model = PCA(2).fit(scan(path, weights=name))
    assert_same(model, expected)
    assert scan(path, weights=name).read().origin.asked == (f"rows were weighted by column {name!r}",)
    assert_allclose(model.transform(scan(path, weights=name)), expected.transform(X), atol=1e-9)
    assert_allclose(
        Whitener().fit(scan(path, weights=name, rows="10:60")).whitening_matrix_,
        Whitener().fit(X[10:60].repeat(W[10:60], axis=0)).whitening_matrix_,
        rtol=1e-9,
    )
    with pytest.raises(DataError, match=r"PolynomialMap does not support weights of rows\. Leave"):
        gramian.PolynomialMap(2).fit(scan(path, weights=name))
    with pytest.raises(DataError, match="The column of weights is -"):
        PCA().fit(scan(path, weights="a" if suffix != "npy" else "0"))


def test_weights_and_columns_of_weights_that_are_none_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,x,y,w\na,1,2,1\nb,,3,5\nc,4,1,2\nd,0,2,1\n")
    model = PCA().fit(scan(path, weights="w", missing="drop-rows"))
    assert_same(model, PCA().fit(np.array([[1.0, 2], [4, 1], [4, 1], [0, 2]])))
    for options, message in [
        ({"weights": "v"}, r"has no such column\. Its 4 columns"),
        ({"weights": "w", "transpose": True}, "weights names a column of the file,"),
        ({"weights": "w", "drop": "w"}, "columns, drop, id, label and"),
    ]:
        with pytest.raises(ParameterError, match=message):
            scan(path, **options).read()
    with pytest.raises(DataError, match="column of weights holds something that is no number"):
        PCA().fit(scan(path, weights="name", missing="drop-rows"))
    with pytest.raises(DataError, match="The rows have weights already, and sample_weight gives"):
        PCA().fit(scan(path, weights="w", missing="drop-rows"), sample_weight=[1, 1, 2])
    nan, negative = W.astype(float), W.astype(float)
    nan[7], negative[3] = np.nan, -1
    cases = {
        "is nan for row 7": nan,
        "is -1 for row 3": negative,
        "is inf for row 0": np.full(80, np.inf),
        "weight of every row is zero": np.zeros(80),
        "shape": np.ones(79),
        "a single number": 2.0,
        "no number": ["a"] * 80,
        "complex128 is no type of real numbers": np.ones(80) * 1j,
        "datetime64.* is no type of real numbers": np.full(80, np.datetime64("2020-01-01")),
        "timedelta64.* is no type of real numbers": np.ones(80, "m8[s]"),
        "may be 1e-19 to": np.full(80, 1e308),
    }
    landmarks = KernelPCA(2, kernel="rbf", gamma=1.0, solver="nystroem", n_landmarks=5)
    for model in (PCA(), KernelPCA(2), landmarks, Whitener()):
        for words, weights in cases.items():
            with pytest.raises(DataError, match=words):
                model.fit(X, sample_weight=weights)
        with pytest.raises(DataError, match="The weights sum to 1, but sums of squares are divided by"):
            model.fit(X, sample_weight=np.full(80, 1 / 80))
    for value in (np.nan, np.inf):
        holed, without = X.copy(), np.arange(80) != 3
        holed[3, 1] = value
        with pytest.raises(DataError, match=r": row 3, column 1\."):
            PCA().fit(holed, sample_weight=without)
    with pytest.raises(DataError, match="The rows have weights already, and sample_weight gives"):
        weighted(weighted(as_rows(X), W), W)
    stream = PCA(2).partial_fit(X)
    with pytest.raises(DataError, match=r"sample_weight is -1 for row 3\. sample_weight says how"):
        stream.partial_fit(X, sample_weight=negative)
    assert stream.n_samples_ == 80
