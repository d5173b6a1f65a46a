"""Estimators give for Dask's chunks what they give for arrays, and what they give stays lazy."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian import PCA, KernelPCA, PolynomialMap, RandomFourierMap, Whitener
from gramian.errors import DataError, MemoryLimitError, RankWarning

da = pytest.importorskip("dask.array", reason='needs pip install "gramian[cluster]"')
dd = pytest.importorskip("dask.dataframe", reason="needs pandas")
pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 8)) @ np.diag(np.linspace(4, 0.5, 8)) + 2
X[:, :2] += 9 * rng.standard_normal((300, 1))
COUNTS = rng.integers(0, 3, (300, 8))
NAMES = list("abcdefgh")
RULES = [{"n_components": rule} for rule in ("gavish-donoho", "parallel", "sign-flip", "cv")]


def chunked(values, rows=70):
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


@pytest.mark.parametrize(
    "model",
    [
        PCA(ddof=0, center=False),
        PCA(0.9, scale="pareto", solver="covariance"),
        PCA(3, scale=np.arange(1.0, 9), solver="gram"),
        PCA(3, scale="genotype"),
        PCA(3, solver="full"),
        PCA(3, solver="krylov", whiten=True),
        *(PCA(**rule) for rule in RULES),
        *(Whitener(method) for method in ("zca", "zca-cor")),
        Whitener("pca", n_components=3, regularization="ledoit-wolf"),
        *(KernelPCA(3, kernel="rbf", gamma=0.01, tol=1e-9, solver=solver) for solver in ("krylov", "dense")),
        KernelPCA(0.5, kernel="poly", gamma="scale", center=False, tol=1e-9),
        *(
            KernelPCA(3, kernel="rbf", gamma=0.01, solver="nystroem", n_landmarks=20, landmarks=rule)
            for rule in ("rpcholesky", "uniform")
        ),
        PolynomialMap(2),
        RandomFourierMap(20, gamma=0.05),
    ],
    ids=str,
)
@pytest.mark.walk
def test_estimators(model):
    values = COUNTS if "genotype" in str(model) else X
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    expected = model.fit(values).transform(values)
    given = chunked(values)
    for result in (model.fit(given).transform(given), model.fit_transform(given)):
        assert isinstance(result, da.Array)
        assert result.dtype == expected.dtype
        assert result.shape == expected.shape
        assert_allclose(result.compute(), expected, atol=1e-9)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.transform(values), expected, atol=1e-9)
    if hasattr(model, "inverse_transform"):
        whole = model.inverse_transform(expected)
        back = model.inverse_transform(chunked(expected)).compute()
        assert_allclose(back, whole, atol=1e-9)
    some = np.where(X > 25, np.nan, X)
    holed = chunked(some)
    if getattr(model, "_maps_holes", False):
        assert_allclose(model.transform(holed).compute(), model.transform(some), atol=1e-9)
    else:
        with pytest.raises(DataError, match=r'\. Use missing="em" or "iterative", by which PCA imputes'):
            model.transform(holed).compute()
    with pytest.raises(DataError, match="Input X contains NaN: 2 values are missing in 2 rows and"):
        model.fit(holed)


def test_likelihoods_batches_and_rows_that_are_all_alike():
    ours, whole = PCA(3).fit(chunked(X)), PCA(3).fit(X)
    lazy = ours.score_samples(chunked(X.astype("f4")))
    assert (lazy.shape, lazy.dtype) == ((300,), "f8")
    assert_allclose(lazy.compute(), whole.score_samples(X), rtol=1e-5)
    assert ours.score(chunked(X)) == pytest.approx(whole.score(X))
    assert str(ours.summary()).splitlines()[:-1] == str(whole.summary()).splitlines()[:-1]
    assert_allclose(ours.get_covariance(), whole.get_covariance(), atol=1e-12)
    model = PCA(3).partial_fit(chunked(X[:100])).partial_fit(X[100:120]).partial_fit(chunked(X[120:]))
    assert_allclose(model.explained_variance_, PCA(3).fit(X).explained_variance_, rtol=1e-12)
    long = da.random.default_rng(0).standard_normal((40_000, 100), chunks=(5000, 100))
    with pytest.raises(MemoryLimitError, match=", which copies the data, needs about 96 MB of working"):
        PCA("parallel", memory_limit="20MB").fit(long)
    with pytest.warns(RankWarning, match="rank 0"):
        model = PCA(2).fit(da.ones((50, 4), chunks=(20, 4)))
    assert not model.transform(da.ones((50, 4), chunks=(20, 4))).compute().any()


def test_frames():
    frame = pd.DataFrame(X, columns=NAMES)
    lazy = dd.from_pandas(frame, npartitions=4)
    model, whole = PCA(3).fit(lazy), PCA(3).fit(frame)
    assert model.feature_names_in_.tolist() == NAMES
    result = model.transform(lazy)
    assert isinstance(result, da.Array)
    assert_allclose(result.compute(), whole.transform(frame), atol=1e-12)
    some = lazy[lazy.a > 0]
    assert_allclose(
        Whitener().fit(some).eigenvalues_, Whitener().fit(frame[frame.a > 0]).eigenvalues_, rtol=1e-12
    )
    with pytest.raises(DataError, match=r"(?s)same order.*Put them in order with"):
        model.transform(lazy[NAMES[::-1]])
    with pytest.raises(DataError, match="yet now missing:\n- h"):
        model.transform(lazy[NAMES[:-1]])
    with pytest.raises(DataError, match=r"1 column holds no numbers: 't' \((str|object|string)"):
        PCA().fit(lazy.assign(t="text"))
    with pytest.raises(DataError, match="The Dask collection holds 0 rows, and a minimum of 2 is"):
        PCA().fit(lazy[lazy.a > 1e3])
    with pytest.raises(DataError, match="The Dask collection holds no rows, but at least one is"):
        PCA(2).partial_fit(lazy[lazy.a > 1e3])
    assert model.transform(lazy[lazy.a > 1e3]).compute().shape == (0, 3)


def test_exact_kernel_pca_brings_the_rows_here():
    model = KernelPCA(3, kernel="rbf", gamma=0.01, solver="krylov").fit(chunked(X))
    assert model.certificate_.ok
    assert_array_equal(model.X_fit_, X)
    scores = model.transform(chunked(X[:20]))
    for ours, whole in (
        (model.inverse_transform(scores), model.inverse_transform(scores.compute())),
        (model.denoise(chunked(X[:20])), model.denoise(X[:20])),
    ):
        assert isinstance(ours, da.Array)
        assert_allclose(ours.compute(), whole, atol=1e-6)
    _, residuals = model.denoise(chunked(X[:20]), return_error=True)
    assert_allclose(residuals, model.denoise(X[:20], return_error=True)[1], atol=1e-9)
    with pytest.raises(MemoryLimitError, match=r"This needs all 300 rows of the Dask array in memory"):
        KernelPCA(3, kernel="rbf", memory_limit=50_000).fit(chunked(X))


def test_landmarks_of_rows_that_are_spread():
    options = {"kernel": "rbf", "gamma": 0.01, "solver": "nystroem", "n_landmarks": 20, "random_state": 0}
    ours, whole = KernelPCA(3, **options).fit(chunked(X)), KernelPCA(3, **options).fit(X)
    assert_array_equal(ours.landmark_indices_, whole.landmark_indices_)
    assert_array_equal(ours.landmarks_, whole.landmarks_)
    assert_allclose(ours.certificate_.upper, whole.certificate_.upper, rtol=1e-9)
    streamed = KernelPCA(3, **options)
    for part in (X[:100], X[100:]):
        streamed.partial_fit(part)
    lazily = KernelPCA(3, **options)
    for part in (X[:100], X[100:]):
        lazily.partial_fit(chunked(part, 40))
    assert_allclose(lazily.eigenvalues_, streamed.eigenvalues_, rtol=1e-9)
    with pytest.raises(DataError, match="Input X contains NaN: 2,400 values are missing in 300"):
        lazily.partial_fit(chunked(X * np.nan))
    assert lazily.n_samples_ == 300
    with pytest.raises(MemoryLimitError, match="Choosing 20 landmarks where the rows are needs about 48"):
        KernelPCA(3, **options, memory_limit=30_000).fit(chunked(X))


GROWTH = """
import sys, threading, time
import dask, dask.array as da
from gramian import PCA

def resident():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmRSS"))

dask.config.set(scheduler="threads", num_workers=2)
def rows(n, d, chunk):
    return da.random.RandomState(0).random_sample((n, d), chunks=(chunk, d))

PCA(2, solver="covariance").fit(rows(60, 5, 20))
X, peak, done = rows(9600, 2000, 400), [resident()], threading.Event()
before = peak[0]
def watch():
    while not done.wait(0.002):
        peak[0] = max(peak[0], resident())
watching = threading.Thread(target=watch)
watching.start()
model = PCA(2, solver="covariance").fit(X)
done.set()
watching.join()
chunks = 2 * 400 * 2000 * 8
print(peak[0] - before, model.plan_.bytes + chunks)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.walk
def test_threads_hold_no_more_results_than_planned():
    run = subprocess.run(
        [sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True, timeout=120
    )
    measured, planned = map(int, run.stdout.split())
    assert 0.3 * planned < measured < planned
