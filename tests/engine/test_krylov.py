"""Block Krylov iteration: it converges, restarts, stops on invariant subspaces, and gives up."""

import re
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.core.arrays import as_float64
from gramian.core.records import Target
from gramian.engine.krylov import KrylovRoute
from gramian.engine.operator import Form, SymmetricMatrix


@dataclass
class Matrix:
    """A symmetric matrix with prescribed eigenvalues that counts its products."""

    values: np.ndarray
    like: object = field(default_factory=lambda: np.empty(0))
    make: object = np.asarray
    psd: bool = True
    error_bound: float = 0.0
    error_kind: str = "deterministic"
    relative_tolerance: float = 1e-13
    noise: float = 0.0

    def __post_init__(self):
        m = self.size = len(self.values)
        self.vectors = np.linalg.qr(np.random.default_rng(9).standard_normal((m, m)))[0]
        self.A = self.make((self.vectors * self.values) @ self.vectors.T)
        self.products = []

    def matmat(self, V):
        self.products.append(V.shape[1])
        return self.A @ V

    def dense(self):
        return self.A

    def trace(self):
        return float(np.sum(self.values))

    def frobenius(self):
        return float(np.linalg.norm(self.values))


DECAY = 0.9 ** np.arange(300) * 100


def find(matrix, target, *, tol=1e-8, block=8, columns=120, max_passes=60, seed=0, start=None, **how):
    route = KrylovRoute(Form("given", "whole"), block, columns, max_passes, **how)
    return route.iterate(matrix, target, tol, np.random.default_rng(seed), start)


def solve(matrix, target, **options):
    result = find(matrix, target, **options)
    assert not result.why
    return result.spectrum


def assert_solved(matrix, spectrum, tol):
    k = spectrum.values.size
    V = as_float64(spectrum.vectors)
    top = matrix.values.max()
    expected = np.sort(matrix.values)[::-1][:k]
    assert_allclose(spectrum.values, expected, atol=tol * top)
    assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
    residuals = np.linalg.norm(as_float64(matrix.A) @ V - V * spectrum.values, axis=0)
    assert_allclose(spectrum.residuals, residuals, atol=1e-10 * top)
    assert (residuals <= tol * top).all()
    assert spectrum.route == "krylov"
    assert spectrum.passes == len(matrix.products)
    assert spectrum.squares == pytest.approx(float((matrix.values**2).sum()))


def test_leading_pairs_of_whole_and_invariant_spaces():
    for k in (1, 5, 20):
        for tol in (1e-3, 1e-8, 1e-12):
            matrix = Matrix(DECAY)
            spectrum = solve(matrix, Target(count=k), tol=tol, block=max(8, k + 2))
            assert spectrum.values.size == k
            assert not spectrum.complete
            assert_solved(matrix, spectrum, tol)
    matrix = Matrix(np.linspace(2, 1, 20))
    spectrum = solve(matrix, Target(count=3), block=5, columns=20, tol=1e-14)
    assert_allclose(spectrum.values, matrix.values[:3], rtol=1e-13)
    assert spectrum.complete
    for rank in (1, 3, 10):
        values = np.zeros(150)
        values[:rank] = np.arange(rank, 0, -1.0)
        matrix = Matrix(values)
        spectrum = solve(matrix, Target(count=6), columns=100)
        assert_allclose(spectrum.values, values[:6], atol=1e-12 * rank)
        assert spectrum.rank == min(rank, 6)
        assert len(matrix.products) <= 5
        V = spectrum.vectors
        assert_allclose(V.T @ V, np.eye(6), atol=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        np.r_[[7.0] * 5, [3.0] * 4, 0.5 * 0.8 ** np.arange(200)],
        np.r_[1e150 * 0.5 ** np.arange(100)],
        np.r_[1e-150 * 0.5 ** np.arange(100)],
        np.r_[10.0, 9, 8, -9.5, -3, 0.1 * 0.9 ** np.arange(150)],
    ],
    ids=["clusters", "huge", "tiny", "indefinite"],
)
def test_harder_spectra(values):
    matrix = Matrix(values)
    spectrum = solve(matrix, Target(count=3), block=8, columns=90)
    assert_solved(matrix, spectrum, 1e-8)
    assert spectrum.smallest <= spectrum.values[-1]


def test_it_restarts_when_the_basis_is_full_until_a_standstill():
    values = np.r_[20.0, 18, 16, 14, 12, np.linspace(10, 0, 395)]
    matrix = Matrix(values)
    spectrum = solve(matrix, Target(count=5), block=6, columns=40)
    assert_solved(matrix, spectrum, 1e-8)
    assert sum(matrix.products) > 40 + 6
    # On noise residuals fall slowly at first: the passes foreseen are more than it takes.
    noise = {"tol": 1e-6, "block": 16, "columns": 40}
    for seed in (1, 2):
        X = np.random.default_rng(seed).standard_normal((500, 300))
        matrix = SymmetricMatrix(X.T @ X, psd=True)
        assert "stalled after 7 " in find(matrix, Target(count=5), max_passes=25, **noise).why
        assert not find(matrix, Target(count=5), max_passes=150, foresees=False, **noise).why
        # Fewer vectors at a time fall later, and are given as many.
        assert not find(matrix, Target(count=5), tol=1e-6, block=4, columns=40).why
    flat = Matrix(np.linspace(1, 0.99999, 400))
    result = find(flat, Target(count=5), tol=1e-17, columns=40, max_passes=400, foresees=False)
    assert "stalled" in result.why
    assert result.spectrum.passes < 400


def test_fractions_end_the_iteration_and_flat_spectra_stall():
    share = np.cumsum(DECAY) / DECAY.sum()
    for fraction in (0.1, 0.5, 0.9, 0.99):
        matrix = Matrix(DECAY)
        spectrum = solve(matrix, Target(fraction=fraction), columns=280)
        assert spectrum.values.size == np.searchsorted(share, fraction) + 1
        assert_solved(matrix, spectrum, 1e-8)
    matrix = Matrix(np.linspace(2, 1, 200))
    assert "stalled after" in find(matrix, Target(fraction=0.9), columns=48).why
    matrix = Matrix(np.linspace(1, 0.99999, 400))
    result = find(matrix, Target(count=5), tol=1e-10, block=16, max_passes=30)
    assert re.search(r"stalled after \d+ block products at a relative residual of", result.why)
    assert result.spectrum.passes == len(matrix.products) <= 20
    assert 0 < result.spectrum.residuals.max() < 1


def test_start_vectors_save_passes_however_wide():
    cold = Matrix(DECAY)
    solve(cold, Target(count=3), block=8)
    for width in (1, 3, 8, 12):
        warm = Matrix(DECAY)
        start = warm.vectors[:, :width]
        spectrum = solve(warm, Target(count=3), block=8, columns=160, start=start)
        assert_solved(warm, spectrum, 1e-8)
        assert len(warm.products) <= len(cold.products)
        if width >= 3:
            assert len(warm.products) <= 2
    A = np.diag(np.linspace(2.0, 1.0, 700))
    rng = np.random.default_rng(0)
    start = np.linalg.qr(rng.standard_normal((700, 150)))[0]
    route = KrylovRoute(Form("given", "whole"), 16, 300, 40)
    result = route.iterate(SymmetricMatrix(A, psd=True), Target(count=150), 1e-6, rng, start)
    assert result.spectrum.values.size == 150
    assert result.why or np.allclose(result.spectrum.values, np.diag(A)[:150], atol=1e-4)
    # The pairs that are there take part in the answer, and are multiplied once.
    matrix = Matrix(np.concatenate([np.full(20, 2.0), np.linspace(1.5, 0.1, 280)]))
    rng = np.random.default_rng(1)
    missed = matrix.vectors[:, :3] + 0.05 * rng.standard_normal((300, 3))
    start = np.column_stack([matrix.vectors[:, 3:27], missed])
    matrix.products.clear()
    spectrum = solve(matrix, Target(count=24), block=8, columns=160, start=start)
    assert matrix.products[0] == 27
    assert set(matrix.products[1:]) == {8}
    assert_solved(matrix, spectrum, 1e-8)


@pytest.mark.parametrize("columns", [200, 56], ids=["one basis", "restarted"])
@pytest.mark.parametrize(
    "values",
    [
        DECAY,
        np.linspace(5, 0, 300),
        np.r_[[3.0] * 4, [2.5] * 4, np.linspace(2, 0, 292)],
        np.r_[np.repeat([3.0, 2.5, 2.2, 2.1, 2.05], 4), np.zeros(280)],  # where nothing follows a block
    ],
    ids=["decay", "flat", "equal", "exhausted"],
)
def test_eigenpairs_of_the_basis_are_computed_only_where_they_may_be_near_enough(values, columns, caplog):
    looks = []
    for product in (np.inf, 0.0):
        matrix = Matrix(values)
        caplog.clear()
        with caplog.at_level("INFO", "gramian"):
            spectrum = solve(
                matrix,
                Target(count=20),
                block=4,
                columns=columns,
                max_passes=400,
                product=product,
                foresees=False,
            )
        assert_solved(matrix, spectrum, 1e-8)
        looks.append(len([r for r in caplog.records if r.getMessage().startswith("pass ")]))
        passes = len(matrix.products)
    assert looks[1] < looks[0]
    assert passes <= 1.35 * looks[0] + 10
