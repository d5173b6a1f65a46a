"""scikit-learn's signatures: the same names, the same answers, and scikit-learn's words where it refuses."""

import inspect
import pickle
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.decomposition
import sklearn.feature_selection
import sklearn.kernel_approximation
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_circles

from gramian.connect import sklearn as ours
from gramian.connect.sklearn import put_in_place
from gramian.core.arrays import to_numpy

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "compat").glob("*.py"))
X = load_iris().data
PAIRS = [(getattr(sklearn.decomposition, name), getattr(ours, name)) for name in ours.__all__]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_prints_the_same_with_and_without(script, monkeypatch, capsys):
    runpy.run_path(str(script), run_name="__main__")
    without = capsys.readouterr().out
    for name in ours.__all__:
        # To be put back afterwards.
        monkeypatch.setattr(sklearn.decomposition, name, getattr(sklearn.decomposition, name))
    put_in_place()
    runpy.run_path(str(script), run_name="__main__")
    assert without
    assert capsys.readouterr().out == without


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "arpack", "randomized"])
@pytest.mark.parametrize("whiten", [False, True])
def test_pca_has_scikit_learns_numbers_and_gramians_certificate(solver, whiten):
    for data in (X, X.astype(np.float32), pd.DataFrame(X, columns=list("abcd"))):
        theirs = sklearn.decomposition.PCA(2, svd_solver="full", whiten=whiten).fit(data)
        mine = ours.PCA(2, svd_solver=solver, whiten=whiten, random_state=0)
        scores = mine.fit_transform(data)
        rtol = 1e-4 if scores.dtype == np.float32 else 1e-6
        np.testing.assert_allclose(scores, theirs.transform(data), rtol=rtol, atol=rtol)
        np.testing.assert_allclose(mine.transform(data), scores, rtol=rtol, atol=rtol)
        for name in ("components_", "explained_variance_", "singular_values_", "mean_", "noise_variance_"):
            result, expected = getattr(mine, name), getattr(theirs, name)
            np.testing.assert_allclose(result, expected, rtol=rtol)
            assert np.asarray(result).dtype in (np.asarray(expected).dtype, np.float64)
        assert mine.certificate_.ok
        assert list(mine.get_feature_names_out()) == ["pca0", "pca1"]
        assert hasattr(mine, "feature_names_in_") == hasattr(data, "columns")


def test_shares_whitening_and_integers_go_as_in_scikit_learn():
    for kind in (ours.PCA, sklearn.decomposition.PCA):
        exact = kind().fit(X).explained_variance_ratio_.cumsum()[1]
        for asked, count in ((exact, 3), (exact - 1e-9, 2)):
            assert kind(float(asked)).fit(X).n_components_ == count
    flat = np.outer(np.arange(9.0), [1.0, 2.0, 3.0])
    for model in (ours.PCA(3, whiten=True), ours.PCA(3, whiten=True).set_output(transform="pandas")):
        for scores in (model.fit_transform(flat), model.transform(flat)):
            assert (np.asarray(scores)[:, 1:] == 0).all()
            assert np.asarray(scores)[:, 0].std(ddof=1) == pytest.approx(1)
    small = (X * 10).astype(np.uint8)
    for model in (ours.PCA(2), ours.KernelPCA(2, kernel="rbf")):
        assert model.fit_transform(small).dtype == model.transform(small).dtype == np.float64
        with pytest.raises(ValueError, match="Found array with dim 3"):
            model.fit(np.zeros((4, 3, 2)))
    single = ours.KernelPCA(2).fit(X.astype(np.float32))
    assert single.eigenvalues_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32


def test_what_pca_refuses_it_refuses_in_scikit_learns_words():
    for model, data, said in (
        (ours.PCA(5), X, "n_components=5 must be between 0 and min"),
        (ours.PCA(4, svd_solver="arpack"), X, "must be strictly less than"),
        (ours.PCA(0.5, svd_solver="arpack"), X, "must be between 1 and"),
        (ours.PCA("mle"), X[:3], "only supported if n_samples >= n_features"),
        (ours.PCA(svd_solver="best"), X, "The 'svd_solver' parameter of PCA must be a str among"),
        (ours.PCA(), np.full((3, 3), np.nan), "Input X contains NaN"),
    ):
        for fit in (model.fit, model.fit_transform):
            with pytest.raises(ValueError, match=said):
                fit(data)
    with pytest.raises(TypeError, match="PCA only support sparse inputs"):
        ours.PCA(svd_solver="full").fit(sp.csr_matrix(X))
    model = ours.PCA(2).fit(X)
    assert hasattr(model, "certificate_")
    model.set_params(n_components=0).fit(X)
    assert model.components_.shape == (0, 4)
    assert not hasattr(model, "certificate_")


def test_pca_of_a_device_stays_there(monkeypatch):
    xp = pytest.importorskip("array_api_strict")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    flat = np.outer(np.arange(9.0), [1.0, 2.0, 3.0])
    for rows in (X, X.astype(np.float32), flat):
        model = ours.PCA(3, whiten=True)
        expected = model.fit(rows).transform(rows)
        there = xp.asarray(rows, device=xp.Device("device1"))
        with sklearn.config_context(array_api_dispatch=True):
            for scores in (model.fit(there).transform(there), model.fit_transform(there)):
                assert scores.device == there.device
                assert scores.dtype == model.explained_variance_.dtype == there.dtype
                np.testing.assert_allclose(to_numpy(scores), expected, atol=1e-3)


def test_sparse_rows_give_scikit_learns_numbers():
    rows, new = (sp.random(n, 30, 0.2, format="csr", random_state=n) for n in (60, 9))
    for kernel in ("linear", "poly", "rbf", "cosine"):
        settings = {"kernel": kernel, "gamma": 0.1, "eigen_solver": "dense"}
        mine = ours.KernelPCA(3, **settings).fit(rows)
        theirs = sklearn.decomposition.KernelPCA(3, **settings).fit(rows)
        assert mine.certificate_.ok
        assert mine.gamma_ == theirs.gamma_
        np.testing.assert_allclose(mine.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(mine.transform(new), theirs.transform(new), atol=1e-9)
        np.testing.assert_array_equal(mine.X_fit_.toarray(), theirs.X_fit_.toarray())
    # There is no way back to sparse rows, in scikit-learn's words.
    with pytest.raises(NotImplementedError, match="Inverse transform not implemented for sparse"):
        ours.KernelPCA(3, fit_inverse_transform=True).fit(rows)
    S = sp.random(300, 40, density=0.1, random_state=0, format="csr")
    mine = ours.PCA(3, random_state=0).fit(S)
    theirs = sklearn.decomposition.PCA(3, svd_solver="full").fit(S.toarray())
    np.testing.assert_allclose(mine.explained_variance_, theirs.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(mine.transform(S), theirs.transform(S.toarray()), atol=1e-4)
    # ARPACK's limit, by which scikit-learn's users know sparse data.
    assert ours.PCA().fit(S[:20]).n_components_ == 19
    with pytest.raises(ValueError, match="must be strictly less than"):
        ours.PCA(20).fit(S[:20])


def test_incremental_pca_is_pca_of_all_rows():
    digits = load_digits().data
    for data in (digits, digits.astype(np.float32), pd.DataFrame(digits), sp.csr_matrix(digits)):
        single = getattr(data, "dtype", None) == np.float32
        whole = sklearn.decomposition.PCA(7, svd_solver="full").fit(digits)
        theirs = sklearn.decomposition.IncrementalPCA(7, batch_size=200).fit(data)
        mine = ours.IncrementalPCA(7, batch_size=200).fit(data)
        rtol = 1e-4 if single else 1e-9
        for name in ("components_", "explained_variance_", "singular_values_", "mean_", "noise_variance_"):
            np.testing.assert_allclose(getattr(mine, name), getattr(whole, name), rtol=rtol, atol=rtol)
        np.testing.assert_allclose(mine.var_, theirs.var_, rtol=1e-4, atol=1e-9)
        assert mine.n_samples_seen_ == theirs.n_samples_seen_ == 1797
        assert mine.batch_size_ == 200
        assert mine.certificate_.ok
        np.testing.assert_allclose(
            mine.transform(data), whole.transform(digits), atol=1e-2 if single else 1e-8
        )
        twin = pickle.loads(pickle.dumps(mine)).partial_fit(digits[:9])
        assert twin.n_samples_seen_ == 1806


def test_batches_that_gramian_refuses_are_scikit_learns(monkeypatch):
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "1MB")
    wide = np.random.default_rng(0).standard_normal((30, 300))
    both = (ours.IncrementalPCA, sklearn.decomposition.IncrementalPCA)
    mine, theirs = (kind(2).partial_fit(wide[:9]).partial_fit(wide[9:]) for kind in both)
    np.testing.assert_array_equal(mine.components_, theirs.components_)
    assert not hasattr(mine, "certificate_")
    with pytest.raises(TypeError, match=r"IncrementalPCA\.partial_fit does not support sparse input"):
        ours.IncrementalPCA(2).partial_fit(sp.csr_matrix(X))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        ours.IncrementalPCA(2).partial_fit(np.full((5, 3), np.nan))
    with pytest.raises(ValueError, match="The 'n_components' parameter of IncrementalPCA must be"):
        ours.IncrementalPCA(0).partial_fit(X)


@pytest.mark.parametrize(
    "kernel", ["linear", "poly", "rbf", "cosine", "precomputed", lambda a, b: float(a @ b)]
)
def test_kernel_pca_has_scikit_learns_numbers(kernel):
    C = make_circles(150, factor=0.3, noise=0.05, random_state=0)[0]
    train, test = (C @ C.T, C[:20] @ C.T) if kernel == "precomputed" else (C, C[:20])
    inverse = kernel != "precomputed"
    settings = {"kernel": kernel, "gamma": 2.0 if kernel in ("rbf", "poly") else None, "alpha": 0.1}
    theirs, mine = (
        kind(2, fit_inverse_transform=inverse, **settings).fit(train)
        for kind in (sklearn.decomposition.KernelPCA, ours.KernelPCA)
    )
    np.testing.assert_allclose(mine.eigenvalues_, theirs.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(mine.transform(test), theirs.transform(test), atol=1e-5)
    np.testing.assert_allclose(mine.fit_transform(train), theirs.fit_transform(train), atol=1e-5)
    assert mine.certificate_.ok
    assert mine.gamma_ == theirs.gamma_
    if inverse:
        Z = mine.transform(test)
        np.testing.assert_allclose(mine.inverse_transform(Z), theirs.inverse_transform(Z), atol=1e-4)


def test_components_without_eigenvalue_and_copies_go_as_in_scikit_learn():
    C = np.arange(20.0).reshape(10, 2)
    for asked, remove in ((None, False), (5, True), (40, True)):
        shapes = [
            kind(asked, remove_zero_eig=remove, eigen_solver="dense").fit_transform(C).shape
            for kind in (sklearn.decomposition.KernelPCA, ours.KernelPCA)
        ]
        assert shapes[1] == (10, 1)
        assert shapes[0][1] >= 1
    assert ours.KernelPCA(5).fit_transform(C).shape == (10, 5)
    for model in (ours.PCA(2), ours.KernelPCA(2, kernel="rbf")):
        fitted = clone(model).fit(X)
        twin = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(twin.transform(X), fitted.transform(X))
        frame = clone(model).set_output(transform="pandas").fit_transform(X)
        assert frame.shape == (150, 2)
        assert list(frame.columns) == list(fitted.get_feature_names_out())


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "gramian.connect", *arguments], capture_output=True, text=True, cwd=cwd
    )


@pytest.mark.walk
def test_the_runner_passes_arguments_and_exit_codes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom sklearn.decomposition import PCA\n"
        "print(PCA.__module__, *sys.argv[1:])\nsys.exit(3)\n"
    )
    done = run(str(script), "--flag", "x")
    assert (done.returncode, done.stdout) == (3, "gramian.connect.sklearn --flag x\n")
    assert done.stderr == "gramian.connect: replaced sklearn.decomposition: PCA, IncrementalPCA, KernelPCA\n"


def test_signatures_are_scikit_learns_and_the_runner_says_what_it_is():
    shown = run("--help")
    assert shown.returncode == 0
    assert "usage: python -m gramian.connect SCRIPT" in shown.stdout
    assert run().returncode == 2
    missing = run("no-such-script.py")
    assert missing.returncode == 2
    assert missing.stderr == "no-such-script.py: there is no such file. Check the path.\n"
    for theirs, mine in PAIRS:
        ignored = {"annotation": inspect.Parameter.empty}
        signatures = [
            [p.replace(**ignored) for p in inspect.signature(f).parameters.values()] for f in (theirs, mine)
        ]
        assert signatures[0] == signatures[1]
