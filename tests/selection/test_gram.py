"""The centred Gram matrix that criteria read."""

import numpy as np
import pytest

from gramian import KernelPCA
from gramian.errors import DataError, IndefiniteKernelError
from gramian.kernels import RBF, Constant, Linear, Sigmoid
from gramian.selection.choose_kernel import centered, centered_gram
from refusals import refused

X = np.random.default_rng(0).standard_normal((30, 3))
H = np.eye(30) - 1 / 30


def test_centring_is_that_of_the_definition():
    K = RBF(sigma=1.0).gram(X)
    np.testing.assert_allclose(centered(K), H @ K @ H, atol=1e-14)


def test_the_unit_gives_the_matrix_back():
    for kernel in [RBF(sigma=1.0), Linear()]:
        Kc, unit = centered_gram(KernelPCA(kernel=kernel), X)
        np.testing.assert_allclose(Kc * unit, H @ kernel.gram(X) @ H, atol=1e-12)


def test_scale_leaves_the_shape():
    for scale in [1e-150, 1e150]:
        Kc, unit = centered_gram(KernelPCA(kernel=Linear()), X)
        scaled, its_unit = centered_gram(KernelPCA(kernel=Linear()), X * scale)
        np.testing.assert_allclose(scaled, Kc, atol=1e-12)
        assert its_unit == pytest.approx(unit * scale * scale)


def test_no_kernel_is_refused():
    with refused(IndefiniteKernelError):
        centered_gram(KernelPCA(kernel=Sigmoid(gamma=1.0)), X)


def test_clipping_sets_negative_eigenvalues_to_0():
    Kc, unit = centered_gram(KernelPCA(kernel=Sigmoid(gamma=1.0), repair="clip"), X)
    values, vectors = np.linalg.eigh(H @ Sigmoid(gamma=1.0).gram(X) @ H)
    np.testing.assert_allclose(Kc * unit, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-12)


def test_a_function_that_happens_to_be_valid_passes():
    Kc, unit = centered_gram(KernelPCA(kernel=Linear().resolve(X)), X)
    from gramian.kernels import FunctionKernel

    by_function, its_unit = centered_gram(KernelPCA(kernel=FunctionKernel(lambda a, b: float(a @ b))), X)
    np.testing.assert_allclose(by_function * its_unit, Kc * unit, atol=1e-12)


def test_a_constant_tells_nothing():
    with refused(DataError):
        centered_gram(KernelPCA(kernel=Constant(2.0)), X)
