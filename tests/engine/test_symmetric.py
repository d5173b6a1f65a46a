"""Matrices that are there already, and the spectra that rules and criteria ask for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian.core.records import SolveRequest, Target
from gramian.engine import solving
from gramian.engine.linear import factors, leading_values
from gramian.engine.routes import eigenvalues, leading
from gramian.engine.solving import solve
from gramian.errors import MemoryLimitError
from helpers import SymmetricProblem, spectrum_matrix, with_spectrum


def test_eigenpairs_of_a_matrix_all_or_few():
    for m in [1, 2, 40, 300]:
        for values in (np.linspace(3, -1, m), 0.9 ** np.arange(m), np.zeros(m)):
            A = with_spectrum(values)[0]
            before = A.copy()
            exact = np.linalg.eigvalsh(A)[::-1]
            assert_allclose(eigenvalues(A), exact, atol=1e-13)
            values, V, _ = leading(A, Target())
            assert_allclose(values, exact, atol=1e-13)
            assert_allclose(V.T @ V, np.eye(m), atol=1e-12)
            assert_allclose(A @ V, V * values, atol=1e-12)
            assert_array_equal(A, before)
    # With all other eigenvalues.
    for m in [40, 100, 300, 600]:
        for A in clustered(m):
            exact = np.linalg.eigvalsh(A)[::-1]
            for k in (1, 5, m // 4):
                found, V, rest = leading(A, Target(count=k))
                assert_allclose(np.concatenate([found, rest]), exact, rtol=0, atol=1e-13 * exact[0])
                assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
                assert_allclose(A @ V, V * found, atol=1e-12 * exact[0])


def clustered(m):
    """Matrices whose eigenvalues fall, are equal, or come in clusters, as of kernels near the identity."""
    steps = np.repeat(np.linspace(5, 1, 20), m // 20)
    for values in (0.9 ** np.arange(m), np.ones(m), steps, np.append(np.ones(3), np.zeros(m - 3))):
        yield with_spectrum(values)[0]
    rng = np.random.default_rng(1)
    X = rng.standard_normal((m, 5))
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    for gamma in (1e-8, 1.0, 10.0, 100.0, 1e5):
        yield np.exp(-gamma * squares)
    labels = rng.integers(0, 4, m)
    yield (labels[:, None] == labels).astype(float)
    yield np.eye(m) + 1.0


def test_a_given_matrix_takes_part_in_the_engine(monkeypatch):
    """An indefinite matrix by the solver asked for, certified, under the limit."""
    monkeypatch.setattr(solving, "QUICK", 0.0)
    A = with_spectrum(np.r_[5.0, 3, 2, np.linspace(1, -4, 197)])[0]
    for solver in ("auto", "krylov", "dense"):
        solution = solve(SymmetricProblem(A), SolveRequest(Target(count=3), 1e-9, 1 << 40, solver))
        assert solver in ("auto", solution.account.plan.solver)
        assert_allclose(solution.spectrum.values, [5, 3, 2], atol=1e-8)
        assert solution.certificate.ok
    with pytest.raises(MemoryLimitError, match="The krylov route needs about 330 kB of working memory,"):
        solve(SymmetricProblem(A), SolveRequest(Target(count=3), 1e-9, 100))


def test_leading_values_and_factors_are_those_of_the_svd():
    for scale in [1.0, 1e90]:
        A = spectrum_matrix(1500, 900, 100 * 0.9 ** np.arange(60), seed=10) * scale
        result = leading_values(A, 4, 1 << 40)
        assert_allclose(result / scale / scale, (100 * 0.9 ** np.arange(4)) ** 2, rtol=3e-4)
    for shape in ((90, 40), (40, 90), (540, 480)):
        for dtype in ("f8", "f4"):
            A = np.random.default_rng(9).standard_normal(shape).astype(dtype)
            expected = np.linalg.svd(A.astype("f8"), compute_uv=False) ** 2
            for count in (1, 8, 40):
                assert_allclose(leading_values(A, count, 1 << 40), expected[:count], rtol=3e-4)
            assert leading_values(A, 0, 1 << 40).size == 0
    for shape in ((60, 30), (30, 60), (150, 120), (120, 150)):
        for scale in (1.0, 1e-90, 1e90):
            D = np.random.default_rng(11).standard_normal(shape) * scale
            U, s, Vt = factors(D, 5)
            assert_allclose(s, np.linalg.svd(D, compute_uv=False)[:5], rtol=1e-9)
            assert_allclose(D @ Vt.T / scale, U * (s / scale), atol=1e-8)
            assert_allclose(U.T @ U, np.eye(5), atol=1e-8)
            low = D[:, :2] @ np.random.default_rng(12).standard_normal((2, shape[1]))
            assert factors(low, 5)[1].size == 2
        assert factors(np.zeros(shape), 5)[1].size == 0
