"""Pre-images of noisy held-out rows, against loops over folds, numbers and axes."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_circles

from gramian import KernelPCA
from gramian.errors import IndefiniteKernelError
from gramian.kernels import RBF, ChiSquared, Laplacian, Linear, Sigmoid
from gramian.select.choose_kernel import NoisyRows, noise_size, preimage_error, spread

COUNTS = (1, 2, 3, 6, 12)


def folds_of(n, count=4, seed=0):
    part = np.random.default_rng(seed).permutation(np.arange(n) % count)
    return [(np.flatnonzero(part != fold), np.flatnonzero(part == fold)) for fold in range(count)]


def noisy_of(X, seed=0):
    return NoisyRows.of(X, folds_of(len(X)), np.random.default_rng(seed))


def rings(n=120):
    return make_circles(n, factor=0.4, noise=0.05, random_state=0)[0]


def plane(n=120, noise=0.1):
    rng = np.random.default_rng(1)
    loadings = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
    return rng.standard_normal((n, 2)) @ loadings + noise * rng.standard_normal((n, 6))


def literal(kernel, X, counts):
    """A model for each number of components; the number by plain error, the value after factors."""
    rng = np.random.default_rng(0)
    unit = np.sqrt(np.mean(np.var(X, axis=0)))
    near = np.median([min(np.linalg.norm(x - z) for j, z in enumerate(X) if j != i) for i, x in enumerate(X)])
    size = min(1.0, max(0.25, near / unit / np.sqrt(X.shape[1])))
    noise = size * unit * rng.standard_normal(X.shape)
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    folds = folds_of(len(X))
    plain, values = [], []
    for k in counts:
        result, true = [], []
        for train, test in folds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = KernelPCA(k, kernel=kernel, random_state=0).fit(X[train])
                back = model.inverse_transform(model.transform(X[test] + noise[test]))
            result.append((back - X[train].mean(axis=0)) @ axes.T)
            true.append((X[test] - X[train].mean(axis=0)) @ axes.T)
        plain.append(sum(np.sum((f - t) ** 2) for f, t in zip(result, true, strict=True)))
        factor = [
            sum(f[:, j] @ t[:, j] for f, t in zip(result, true, strict=True))
            / sum(f[:, j] @ f[:, j] for f in result)
            for j in range(len(axes))
        ]
        values.append(
            [
                np.sum((f * factor - t) ** 2) / np.sum(noise[test] ** 2)
                for f, t, (_, test) in zip(result, true, folds, strict=True)
            ]
        )
    best = int(np.argmin(plain))
    return np.mean(values[best]), np.std(values[best], ddof=1) / 2, counts[best]


def test_it_is_the_definition_and_for_the_linear_kernel_the_linear_filter():
    for kernel in [Linear(), RBF(sigma=0.5), Laplacian(gamma=0.5)]:
        X = plane(40)
        counts = (1, 2, 4)
        result = preimage_error(KernelPCA(kernel=kernel, random_state=0), noisy_of(X), counts)
        value, error, number = literal(kernel, X, counts)
        assert result.mean == pytest.approx(value, rel=1e-5)
        assert result.standard_error == pytest.approx(error, rel=1e-4)
        assert result.size == number
    noisy = noisy_of(plane())
    assert preimage_error(KernelPCA(kernel=Linear()), noisy, (6,)).mean == pytest.approx(noisy.linear_filter)
    noisy = noisy_of(np.random.default_rng(0).standard_normal((20, 40)))
    result = preimage_error(KernelPCA(kernel=Linear()), noisy, (14,))
    assert result.mean == pytest.approx(noisy.linear_filter)


def test_noise_follows_the_rows_also_equal_ones():
    X = np.repeat([[0.0, 1.0], [2.0, 1.0]], [11, 1], axis=0)
    assert np.isfinite(noisy_of(X).linear_filter)
    assert np.isfinite(preimage_error(KernelPCA(kernel=Linear()), noisy_of(X), (1, 2)).mean)
    assert preimage_error(KernelPCA(kernel=Linear()), noisy_of(plane(noise=0.05)), COUNTS).size == 2
    assert preimage_error(KernelPCA(kernel=Linear()), noisy_of(rings()), (1, 12)).size == 2
    with pytest.raises(IndefiniteKernelError, match="The Gram matrix has the eigenvalue -"):
        preimage_error(KernelPCA(kernel=Sigmoid(gamma=5.0)), noisy_of(rings()), (60,))
    for scale in [2.0**-300, 2.0**300]:
        plain = preimage_error(KernelPCA(kernel=RBF(sigma=0.5)), noisy_of(rings()), (4, 8))
        scaled = preimage_error(KernelPCA(kernel=RBF(sigma=0.5 * scale)), noisy_of(rings() * scale), (4, 8))
        assert scaled.mean == pytest.approx(plain.mean, rel=1e-4)
    X = np.column_stack([rings(), np.full(120, 0.1)])
    assert not noisy_of(X).noise[:, 2].any()
    assert spread(X) == pytest.approx(spread(rings()), rel=1e-12)
    assert noise_size(X) == noise_size(rings()) == 0.25
    rng = np.random.default_rng(0)
    assert 0.3 < noise_size(rng.standard_normal((100, 6))) < 0.9
    assert noise_size(rng.standard_normal((10, 500))) == 1.0
    X = rings() + 1.5
    X -= X.min(axis=0)
    result = preimage_error(KernelPCA(kernel=ChiSquared(gamma=5.0)), noisy_of(X), (4, 8))
    assert result.mean < 1.5


@pytest.mark.walk
def test_on_a_plane_no_width_beats_the_linear_kernel():
    for noise in [0.05, 0.7]:
        noisy = noisy_of(plane(noise=noise))
        linear = preimage_error(KernelPCA(kernel=Linear()), noisy, COUNTS)
        for sigma in (1.0, 2.0, 4.0, 8.0):
            result = preimage_error(KernelPCA(kernel=RBF(sigma=sigma)), noisy, COUNTS)
            assert result.mean > linear.mean - linear.standard_error
