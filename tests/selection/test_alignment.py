"""Alignment of a kernel with labels, against double sums and deletion of every row."""

import numpy as np
import pytest

from gramian import KernelPCA
from gramian.kernels import RBF, Linear
from gramian.selection.choose_kernel import alignment, label_gram

rng = np.random.default_rng(0)
X = rng.standard_normal((18, 3))
CLASSES = np.arange(18) % 3
NUMBERS = X[:, 0] + 0.3 * rng.standard_normal(18) + 7


def literal(K, L):
    """<Kc, Lc> / (||Kc|| ||Lc||), sum by sum."""
    n = len(K)

    def centre(A):
        return [
            [A[i, j] - sum(A[i]) / n - sum(A[:, j]) / n + sum(map(sum, A)) / n**2 for j in range(n)]
            for i in range(n)
        ]

    def product(A, B):
        return sum(A[i][j] * B[i][j] for i in range(n) for j in range(n))

    Kc, Lc = centre(K), centre(L)
    return product(Kc, Lc) / np.sqrt(product(Kc, Kc) * product(Lc, Lc))


def labels(y, discrete):
    if not discrete:
        return np.outer(y, y)
    return np.array([[float(a == b) for b in y] for a in y])


def test_value_and_jackknife_are_those_of_the_definition():
    for y, discrete, kernel in [(CLASSES, True, RBF(sigma=1.0)), (NUMBERS, False, Linear())]:
        result = alignment(KernelPCA(kernel=kernel), X, label_gram(y, discrete=discrete))
        K, L = kernel.gram(X), labels(y, discrete)
        assert result.value == pytest.approx(literal(K, L), rel=1e-10)
        keep = [np.arange(18) != i for i in range(18)]
        without = np.array([literal(K[np.ix_(k, k)], L[np.ix_(k, k)]) for k in keep])
        jackknife = np.sqrt(17 / 18 * np.sum((without - without.mean()) ** 2))
        assert result.standard_error == pytest.approx(jackknife, rel=1e-8)
        assert result.n_components is None


def test_two_classes_are_plus_and_minus_one():
    y = np.arange(18) % 2
    signs = np.where(y == 1, 1.0, -1.0)
    one_hot = alignment(KernelPCA(kernel=RBF(sigma=1.0)), X, label_gram(y, discrete=True))
    product = alignment(KernelPCA(kernel=RBF(sigma=1.0)), X, label_gram(signs, discrete=False))
    assert one_hot.value == pytest.approx(product.value, rel=1e-12)


def test_the_kernel_of_the_labels_is_aligned_completely():
    y = NUMBERS[:, None]
    assert alignment(
        KernelPCA(kernel=Linear()), y, label_gram(NUMBERS, discrete=False)
    ).value == pytest.approx(1)


def test_scale_and_shift_are_nothing():
    target = label_gram(CLASSES, discrete=True)
    plain = alignment(KernelPCA(kernel=Linear()), X, target)
    for other in (X * 1e150, X * 1e-150, X + 1e4):
        result = alignment(KernelPCA(kernel=Linear()), other, target)
        assert result.value == pytest.approx(plain.value, rel=1e-8)
        assert result.standard_error == pytest.approx(plain.standard_error, rel=1e-6)
    huge = label_gram(NUMBERS * 1e200, discrete=False)
    np.testing.assert_allclose(huge, label_gram(NUMBERS, discrete=False), atol=1e-12)


def test_a_class_of_one_row_can_be_left_out():
    y = np.array([1] + [0] * 17)
    result = alignment(KernelPCA(kernel=RBF(sigma=1.0)), X, label_gram(y, discrete=True))
    assert np.isfinite(result.value)
    assert np.isfinite(result.standard_error)
