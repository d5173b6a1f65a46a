"""KernelPCA(scale="unit") against kernel PCA of columns that were standardised before."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine

from gramian import KernelPCA, Monitor, choose_components, describe
from gramian.core.arrays import to_numpy
from gramian.errors import DataError, MemoryLimitError, ParameterError
from gramian.kernels import RBF

RNG = np.random.default_rng(0)
# Grams and kilometres, an offset of 1e6 deviations, and a constant column.
X = RNG.standard_normal((120, 5)) * [1e3, 1, 1e-3, 5, 0] + [0, 3, 1e3, -7, 0.1]
X[:, 1] += 2 * np.sin(X[:, 0] / 1e3)
NEW = X[:9] + RNG.standard_normal((9, 5)) * [300, 0.3, 3e-4, 2, 0]
KERNELS = (
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "median"},
    {"kernel": "poly", "gamma": "scale", "degree": 2},
    {"kernel": "linear"},
    {"kernel": "cosine"},
    {"kernel": "laplacian", "gamma": "median"},
    {"kernel": "rbf(sigma=(1, 2, 3, 4, 5)) + 0.5*linear"},
)


def standardised(rows, by=X, weights=None, ddof=1):
    """The definition: columns less their means over their standard deviations; constant ones are 0."""
    rows, by = np.asarray(rows, dtype=np.longdouble), np.asarray(by, dtype=np.longdouble)
    w = np.ones(len(by)) if weights is None else weights
    mean = (w @ by) / w.sum()
    deviation = np.sqrt(w @ (by - mean) ** 2 / (w.sum() - ddof))
    varies = np.ptp(by[w > 0], axis=0) > 0
    return np.where(varies, (rows - mean) / np.where(varies, deviation, 1), 0).astype(np.float64)


def assert_equal_models(model, plain, atol=1e-9):
    assert_allclose(model.eigenvalues_, plain.eigenvalues_, rtol=1e-9)
    scores, expected = np.asarray(model.transform(NEW)), plain.transform(standardised(NEW))
    assert_allclose(scores, expected, atol=atol * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_it_is_kernel_pca_of_standardised_columns(kernel):
    for options in ({}, {"center": False}, {"solver": "nystroem", "n_landmarks": 30, "random_state": 0}):
        model = KernelPCA(4, scale="unit", **kernel, **options).fit(X)
        plain = KernelPCA(4, **kernel, **options).fit(standardised(X))
        assert_equal_models(model, plain)
        assert model.gamma_ == (None if plain.gamma_ is None else pytest.approx(plain.gamma_, rel=1e-9))
        assert model.certificate_.ok
        assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-14)
        assert_allclose(model.scale_[:4], X.std(axis=0, ddof=1)[:4], rtol=1e-9)
        assert model.scale_[4] == 1
        scores = model.fit_transform(X)
        assert_allclose(scores, model.transform(X), atol=1e-10 * np.abs(scores).max())


def test_every_kind_of_rows(rows_kind):
    table = X - [0, 0, 1e3, 0, 0]  # in float32 too
    model = KernelPCA(3, kernel="rbf", gamma=0.2, scale="unit").fit(rows_kind.make(table))
    plain = KernelPCA(3, kernel="rbf", gamma=0.2).fit(standardised(table, table))
    rounding = 1e-9 if rows_kind.dtype == np.float64 else 3e-5
    assert_allclose(to_numpy(model.eigenvalues_), plain.eigenvalues_, rtol=rounding)
    expected = plain.transform(standardised(table, table))
    for rows in (rows_kind.make(table), table):
        assert_allclose(to_numpy(model.transform(rows)), expected, atol=rounding)


def test_certificates_and_digits_are_those_of_the_standardised_rows():
    table = (X[:, :3] + [1e6, 50, 0]).astype(np.float32)
    model = KernelPCA(3, kernel="rbf", scale="unit").fit(table)
    assert_allclose(np.asarray(model.X_fit_), standardised(table, table), rtol=2e-7, atol=1e-9)
    for options in ({"solver": "dense"}, {"solver": "krylov"}, {"tol": 1e-3}):
        for dtype in (np.float64, np.float32):
            table = X.astype(dtype)
            model = KernelPCA(5, kernel="rbf", gamma=0.4, scale="unit", **options).fit(table)
            for rows in (model.X_fit_, standardised(table, table)):
                Z = np.asarray(rows, dtype=np.longdouble)
                K = np.exp(-0.4 * np.sum((Z[:, None] - Z) ** 2, axis=2))
                Kc = (K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()).astype(np.float64)
                exact = np.linalg.eigvalsh(Kc)[::-1][:5]
                room = model.certificate_.radii + 120 * 1e-16 * exact[0]
                if rows is not model.X_fit_:  # and the rounding of rows to their type, which it leaves out
                    room = room + 120 * np.finfo(dtype).eps * 4
                assert (np.abs(model.eigenvalues_ - exact) <= room).all()


def test_weights_are_repeated_rows():
    weights = RNG.integers(0, 4, 120)
    repeated = np.repeat(X, weights, axis=0)
    for options in ({}, {"solver": "nystroem", "landmarks": X[:40]}):
        unfitted = KernelPCA(3, kernel="rbf", gamma=0.2, scale="unit", **options)
        model, plain = unfitted.fit(X, sample_weight=weights), clone(unfitted).fit(repeated)
        assert_allclose(model.scale_, plain.scale_, rtol=1e-12)
        assert_allclose(model.mean_, plain.mean_, rtol=1e-12)
        assert_allclose(model.transform(NEW), plain.transform(NEW), atol=1e-9)
        assert_allclose(model.fit_transform(X, sample_weight=weights), model.transform(X), atol=1e-9)
    Z = standardised(X, X, weights.astype(float))
    assert_allclose(Z, standardised(X, repeated), atol=1e-9)


def test_files_that_are_larger_than_memory_and_parts(tmp_path):
    table = np.tile(X, (900, 1))
    np.save(tmp_path / "x.npy", table)
    options = {"solver": "nystroem", "landmarks": "uniform", "n_landmarks": 30}
    unfitted = KernelPCA(3, kernel="rbf", gamma=0.2, scale="unit", **options)
    file = clone(unfitted).set_params(memory_limit=16_000_000).fit(tmp_path / "x.npy")
    whole = unfitted.fit(table)
    assert_allclose(file.scale_, whole.scale_, rtol=1e-12)
    assert_allclose(file.transform(NEW), whole.transform(NEW), atol=1e-8)
    # Later rows are standardised as the first ones were.
    parts = clone(unfitted).partial_fit(table[: len(X)]).partial_fit(table[len(X) : 3 * len(X)])
    assert_array_equal(parts.mean_, clone(unfitted).fit(X).mean_)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly(degree=2, gamma=0.1)", "laplacian"])
def test_pre_images_are_in_the_units_of_the_data(kernel):
    model = KernelPCA(4, kernel=kernel, scale="unit").fit(X)
    plain = KernelPCA(4, kernel=kernel).fit(standardised(X))
    deviation = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0, ddof=1), 0)
    scores = model.transform(NEW)
    for rows, residuals, expected in (
        (
            *model.inverse_transform(scores, return_error=True),
            plain.inverse_transform(scores, return_error=True),
        ),
        (*model.denoise(NEW, return_error=True), plain.denoise(standardised(NEW), return_error=True)),
    ):
        assert_allclose(rows, expected[0] * deviation + X.mean(axis=0), rtol=1e-6, atol=1e-5)
        if kernel != "linear":  # exact, but for the rounding of what is handed back
            assert_allclose(residuals, expected[1], atol=1e-5)
        assert (rows[:, 4] == X[0, 4]).all()


def test_what_is_no_scale_and_what_has_no_columns(monkeypatch):
    for scale in ("pareto", True, [1.0, 2, 3, 4, 5]):
        with pytest.raises((ParameterError, TypeError), match=r"is not known\. Allowed:"):
            KernelPCA(2, scale=scale).fit(X)
    with pytest.raises(ParameterError, match='divides columns, but with kernel="precomputed" the data'):
        KernelPCA(2, kernel="precomputed", scale="unit").fit(X @ X.T)
    for options in ({}, {"scale": "unit"}, {"kernel": "rbf", "solver": "nystroem"}):
        with pytest.raises(DataError, match="column 2 is"):
            KernelPCA(2, **options).fit(X * [1, 1, 1e-160, 1, 1])
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "2MB")
    with pytest.raises(MemoryLimitError, match=r"The dense form of X takes 3\.2 MB, and 2 MB of memory may"):
        KernelPCA(2, scale="unit", solver="nystroem").fit(sp.random_array((2000, 200), rng=0))
    monkeypatch.undo()
    # A later change of the parameter does not change the model.
    model = KernelPCA(2, kernel="rbf", scale="unit").fit(X)
    scores = model.transform(NEW)
    assert_array_equal(model.set_params(scale=None).transform(NEW), scores)


def test_units_of_columns_landmarks_and_rows_far_away():
    wine = load_wine().data
    units = 10.0 ** RNG.integers(-30, 30, wine.shape[1])
    model = KernelPCA(4, kernel="rbf", gamma="median", scale="unit")
    one, other = model.fit_transform(wine), model.fit_transform(wine * units)
    assert_allclose(one, other, atol=1e-9)
    assert_allclose(model.inverse_transform(other)[:5] / units, wine[:5], rtol=2)
    model = KernelPCA(2, kernel="rbf", scale="unit").fit(X)
    assert np.isfinite(model.transform(np.full((1, 5), 1e150))).all()
    with pytest.raises(DataError, match=r"Standardised rows exceed what float64 can hold \("):
        model.transform(np.full((1, 5), 1e308))
    kernel = {"kernel": "rbf", "gamma": 0.2, "solver": "nystroem"}
    model = KernelPCA(3, scale="unit", landmarks=X[:40], **kernel).fit(X)
    assert_equal_models(model, KernelPCA(3, landmarks=standardised(X[:40]), **kernel).fit(standardised(X)))


@pytest.mark.walk
def test_what_describes_a_model_sees_the_same():
    model = KernelPCA(3, kernel="rbf", scale="unit").fit(X)
    plain = KernelPCA(3, kernel="rbf").fit(standardised(X))
    labels = {"sign": X[:, 1] > 3}
    one, other = describe(model, X, labels), describe(plain, standardised(X), labels)
    assert_allclose(one.r2, other.r2, rtol=1e-8)
    assert [[name for name, _ in top] for top in one.top] == [[name for name, _ in top] for top in other.top]
    for name, values in model.table("rows", X).items():
        if np.asarray(values).dtype.kind == "f":
            assert_allclose(values, plain.table("rows", standardised(X))[name], atol=1e-7, err_msg=name)
    one, other = Monitor(model).fit(X), Monitor(plain).fit(standardised(X))
    assert_allclose(one.statistics(NEW)["T2"], other.statistics(standardised(NEW))["T2"], rtol=1e-6)
    assert_allclose(one.statistics(NEW)["SPE"], other.statistics(standardised(NEW))["SPE"], rtol=1e-5)
    for name, values in one.contributions(NEW).items():
        assert_allclose(values, other.contributions(standardised(NEW))[name], atol=1e-5)
    few = X[:13, :3]
    model, plain = clone(model).fit(few), clone(plain).fit(standardised(few, few))
    rules = [choose_components(one, random_state=0) for one in (model, plain)]
    again = choose_components(model, few, rules=["parallel", "fraction"], random_state=0)
    for rule, asked in (("parallel", [*rules, again]), ("fraction", [*rules, again]), ("cv", rules)):
        assert len({one[rule].number for one in asked}) == 1, rule


def test_kernels_are_compared_on_standardised_columns():
    choose_kernel = pytest.importorskip("gramian.select.choose_kernel").choose_kernel
    candidates = [KernelPCA(kernel=kernel, scale="unit") for kernel in ("rbf(sigma='median')", "linear")]
    labels = X[:, 1] > 3
    selection = choose_kernel(X, labels, candidates=candidates, random_state=0)
    plain = choose_kernel(
        standardised(X), labels, candidates=["rbf(sigma='median')", "linear"], random_state=0
    )
    for one, other in zip(selection.tried, plain.tried, strict=True):
        # The scale is that of the rows of each fold.
        assert one.mean == pytest.approx(other.mean, rel=0.05)
    assert selection.model.scale == "unit"
    resolved = selection.tried[0].candidate.kernel
    assert resolved.resolve(standardised(X)).gamma == pytest.approx(
        RBF(sigma="median").resolve(standardised(X)).gamma, rel=1e-3
    )
