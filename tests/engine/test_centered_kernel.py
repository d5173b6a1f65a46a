"""The centred kernel matrix against H K H written out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gramian.engine.tiles import CenteredKernelOperator, KernelSource, MatrixSource, TileMatrix
from gramian.kernels import RBF, Linear, Polynomial
from helpers import covering


def centred(K):
    """Kc_ij = K_ij - t_i - t_j + r, entry by entry."""
    K = K.astype(np.longdouble)
    t, r = K.mean(axis=1), K.mean()
    return (K - t[:, None] - t[None, :] + r).astype(np.float64)


def operator_of(K, center=True, storage=np.float64, **bounds):
    source = MatrixSource(K)
    source.relative, source.absolute = bounds.get("relative", 0.0), bounds.get("absolute", 0.0)
    tiles = TileMatrix(len(K), source, np.empty(0), storage or np.float64, share=float(storage is not None))
    return CenteredKernelOperator(tiles, source, center=center, psd=True)


def gram(n=300, seed=0, kernel=None, offset=0.0):
    X = np.random.default_rng(seed).standard_normal((n, 4)) + offset
    return (kernel or RBF(sigma=2.0)).gram(X)


@pytest.mark.parametrize("storage", [np.float64, np.float32, None])
@pytest.mark.parametrize("n", [2, 239, 500])
def test_everything_is_that_of_the_definition(n, storage):
    K = gram(n)
    Kc = centred(K)
    operator = operator_of(K, storage=storage)
    V = np.random.default_rng(1).standard_normal((n, 20))
    tolerance = 1e-6 * n if storage == np.float32 else 1e-12 * n
    assert_allclose(operator.matmat(V), Kc @ V, atol=tolerance)
    assert_allclose(operator.dense(), Kc, atol=tolerance)
    assert operator.trace() == pytest.approx(np.trace(Kc), rel=1e-12)
    assert operator.frobenius() == pytest.approx(np.linalg.norm(Kc), rel=1e-9)
    assert_allclose(operator.row_means, K.mean(axis=1), rtol=1e-13)
    assert operator.mean == pytest.approx(K.mean(), rel=1e-13)


@pytest.mark.parametrize("more", [1, 5])
def test_means_are_those_of_float64_once_a_promoted_matrix_has_been_multiplied(more):
    """Tiles filled in float32 have sums of seven digits, which scores of new rows would be centred by."""
    X = np.random.default_rng(0).standard_normal((500, 3))
    kernel = RBF(sigma=3.0)
    source = KernelSource(kernel.bind(X, 1e-10), X)
    single = source.single()
    tiles = TileMatrix(len(X), single, np.empty(0), np.float32, share=0.0, exact=source)
    operator = CenteredKernelOperator(tiles, single, source, center=True, psd=True)
    K = kernel.gram(X)
    assert np.abs(operator.row_means - K.mean(axis=1)).max() > 1e-9
    V = np.random.default_rng(1).standard_normal((len(X), more))
    exact = operator.promoted()
    for _ in range(2):
        assert_allclose(exact.matmat(V), centred(K) @ V, atol=1e-11)
    for one in (operator, exact):
        assert_allclose(one.row_means, K.mean(axis=1), rtol=1e-14)
        assert one.mean == pytest.approx(K.mean(), rel=1e-14)
        assert one.trace() == pytest.approx(np.trace(centred(K)), rel=1e-13)


@pytest.mark.parametrize("kernel", [RBF(sigma=1e4), Polynomial(2, 1.0, 1e6), Linear()])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_norm_is_never_too_small_when_centring_takes_nearly_all(kernel, offset):
    K = gram(400, kernel=kernel, offset=offset)
    operator = operator_of(K)
    true = np.linalg.norm(centred(K))
    assert operator.frobenius() >= true * (1 - 1e-12)
    assert operator.frobenius() <= true + 1e-5 * np.linalg.norm(K)


@pytest.mark.parametrize(
    ("kernel", "offset", "storage", "n"),
    covering(
        [RBF(sigma=1.0), Polynomial(), Linear()], [0.0, 30.0], [np.float64, np.float32, None], [50, 300]
    ),
)
def test_error_bound_covers_rounding_and_storage(kernel, offset, storage, n):
    K = gram(n, kernel=kernel, offset=offset)
    operator = operator_of(K, storage=storage)
    Kc = centred(K)
    gap = operator.dense() - Kc
    assert np.abs(np.linalg.eigvalsh((gap + gap.T) / 2)).max() <= operator.error_bound
    V = np.linalg.qr(np.random.default_rng(2).standard_normal((n, 5)))[0]
    assert np.linalg.norm(operator.matmat(V) - Kc @ V, 2) <= operator.error_bound


@settings(max_examples=60)
@given(
    n=st.integers(2, 30),
    relative=st.sampled_from([0.0, 1e-9, 1e-3]),
    absolute=st.sampled_from([0.0, 1e-9, 1e-3]),
    signs=st.sampled_from(["random", "same", "checked"]),
    center=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_error_bound_covers_the_stated_error_of_every_entry(n, relative, absolute, signs, center, seed):
    """The worst that an evaluation may do: every entry off by all that is allowed."""
    rng = np.random.default_rng(seed)
    K = gram(n, seed)
    sign = {
        "random": np.sign(rng.standard_normal((n, n))),
        "same": np.ones((n, n)),
        "checked": (-1.0) ** np.add.outer(np.arange(n), np.arange(n)),
    }[signs]
    sign = np.tril(sign) + np.tril(sign, -1).T
    wrong = K + sign * (absolute + relative * np.abs(K))
    operator = operator_of(wrong, center, relative=relative, absolute=absolute)
    exact = centred(K) if center else K
    gap = np.linalg.norm(operator.dense() - exact, 2)
    # The bound refers to the computed entries, which are larger than the exact ones by 1 + relative at most.
    assert gap <= operator.error_bound * (1 + 2 * relative) + 1e-15


def test_traces_and_sums_are_exact():
    X = np.random.default_rng(0).standard_normal((100, 3)) + 1e4
    source = KernelSource(RBF(sigma=1.0).bind(X), X)
    operator = CenteredKernelOperator(TileMatrix(100, source, np.empty(0)), source, center=True, psd=True)
    assert operator.trace() == pytest.approx(100 - 100 * operator.mean, rel=1e-15)
    assert math.isfinite(operator.error_bound)
    xp = pytest.importorskip("array_api_strict")
    K = gram(600)
    device, host = (
        CenteredKernelOperator(
            TileMatrix(600, MatrixSource(made), made[:0, 0], np.float32),
            MatrixSource(made),
            center=True,
            psd=True,
        )
        for made in (xp.asarray(K), K)
    )
    unit = float(np.finfo(np.float32).eps) / 2
    assert host.error_bound < 300 * unit * np.linalg.norm(K)
    assert 600 * unit * np.linalg.norm(K) < device.error_bound < 700 * unit * np.linalg.norm(K)
