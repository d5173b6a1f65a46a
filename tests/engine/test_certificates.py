"""Attacks on the certificate: whatever a solver hands over, what is stated must be true."""

import math
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gramian.core.records import SolveRequest, Spectrum, Target
from gramian.engine.centered import center_rows
from gramian.engine.certificates import certify, largest_missed, largest_possible
from gramian.engine.operator import digest
from gramian.engine.scatter import CovarianceOperator, GramOperator
from gramian.engine.tiles import CenteredKernelOperator, MatrixSource, TileMatrix
from gramian.tables.as_rows import as_rows
from helpers import centred, with_spectrum


@dataclass
class Matrix:
    """A symmetric matrix as an operator; ``computed`` differs from ``exact`` by at most ``error_bound``."""

    exact: np.ndarray
    computed: np.ndarray = None
    psd: bool = True
    knows_trace: bool = True
    knows_norm: bool = True
    error_kind: str = "deterministic"
    relative_tolerance: float = 1e-13
    noise: float = 0.0
    like: np.ndarray = field(default_factory=lambda: np.empty(0))
    products: int = 0

    def __post_init__(self):
        self.computed = self.exact if self.computed is None else self.computed
        self.size = len(self.exact)
        self.error_bound = float(np.linalg.norm(self.computed - self.exact, 2)) + 1e-14 * float(
            np.linalg.norm(self.exact)
        )

    def promoted(self):
        return None

    def matmat(self, V):
        self.products += 1
        return self.computed @ V

    def dense(self):
        return self.computed.copy()

    def trace(self):
        return float(np.trace(self.computed)) if self.knows_trace else None

    def frobenius(self):
        return float(np.linalg.norm(self.computed)) if self.knows_norm else None

    def fingerprint(self):
        return digest(self.computed)


def handed_over(operator, V, theta=None, **changes):
    """Return the record of a solver that found these vectors: Rayleigh quotients and true residuals."""
    A = operator.computed
    lengths = np.einsum("ij,ij->j", V, V)
    theta = np.einsum("ij,ij->j", V, A @ V) / lengths if theta is None else np.asarray(theta, float)
    order = np.argsort(-theta)
    V, theta = V[:, order], theta[order]
    result = Spectrum(
        values=theta,
        vectors=V,
        residuals=np.linalg.norm(A @ V - V * theta, axis=0),
        total=operator.trace(),
        squares=None,
        rank_tolerance=1e-13,
        error_bound=operator.error_bound,
        error_kind=operator.error_kind,
        route="krylov",
        complete=False,
    )
    return replace(result, **changes)


def power_steps(A, k, steps, seed):
    """Return what k vectors look like after a few steps of subspace iteration."""
    V = np.random.default_rng(seed).standard_normal((len(A), k))
    for _ in range(steps):
        V = np.linalg.qr(A @ V)[0]
    return np.linalg.qr(V)[0]


def asked(tol, seed=1):
    """Return a request whose probe is drawn from a seed."""
    request = SolveRequest(Target(), tol, 0)
    vars(request)["probe_rng"] = np.random.default_rng(seed)
    return request


def certificate_of(operator, result, tol=1e-6, seed=1):
    return certify(result, operator, asked(tol, seed), "eigenvalues")[0]


def certified(values, kept, seed=0, tol=1e-6, **options):
    """Return the certificate of the eigenvectors in these places, after every statement was checked."""
    exact, Q = with_spectrum(values, seed)
    operator = Matrix(exact, **options)
    certificate = certificate_of(operator, handed_over(operator, Q[:, kept]), tol)
    assert_true(certificate, exact)
    return certificate


def unpaired(values, eigenvalues, radius):
    """The eigenvalues that are left when each value has one within ``radius``, as small as they can be."""
    left = sorted(eigenvalues, reverse=True)
    for value in sorted(values, reverse=True):
        place = next((i for i, one in enumerate(left) if one <= value + radius), None)
        assert place is not None
        assert left[place] >= value - radius
        left.pop(place)
    return left


def assert_true(certificate, exact, *, completeness=True):
    """Check every statement of a certificate against the exact matrix."""
    eigenvalues = np.linalg.eigvalsh(exact)[::-1]
    rounding = 1e-13 * np.abs(eigenvalues).max()
    for value, radius in zip(certificate.values, certificate.radii, strict=True):
        assert np.abs(eigenvalues - value).min() <= radius + rounding
    missed = unpaired(certificate.values, eigenvalues, certificate.set_radius + rounding)
    k = len(certificate.values)
    assert (eigenvalues[:k] >= certificate.lower - rounding).all()
    if completeness and certificate.completeness is not None and k < len(eigenvalues):
        assert eigenvalues[k] <= certificate.completeness.bound + rounding
        assert missed[0] <= certificate.completeness.bound + rounding
        assert (eigenvalues[:k] <= certificate.upper + rounding).all()


@settings(max_examples=150)
@given(
    n=st.integers(2, 12),
    k=st.integers(1, 11),
    shape=st.sampled_from(["flat", "clustered", "steep", "low rank", "random"]),
    psd=st.booleans(),
    steps=st.integers(0, 6),
    error=st.sampled_from([0.0, 1e-12, 1e-6, 1e-2]),
    bent=st.sampled_from([0.0, 1e-8, 1e-3, 0.3]),
    shifted=st.sampled_from([0.0, 1e-6, 0.2]),
    knows=st.sampled_from([(True, True), (False, True), (True, False), (False, False)]),
    seed=st.integers(0, 10**6),
)
def test_every_bound_is_true_whatever_the_solver_hands_over(
    n, k, shape, psd, steps, error, bent, shifted, knows, seed
):
    """Unfinished, not orthonormal, with wrong values, of a matrix formed with errors."""
    rng = np.random.default_rng(seed)
    k = min(k, n)
    values = {
        "flat": np.ones(n),
        "clustered": 1.0 + 1e-7 * rng.random(n) * (np.arange(n) % 3),
        "steep": 10.0 ** -np.arange(n),
        "low rank": np.where(np.arange(n) < max(1, n // 3), rng.random(n) + 0.1, 0.0),
        "random": rng.random(n),
    }[shape]
    if not psd:
        values = values * rng.choice([-1.0, 1.0], n)
    exact, _ = with_spectrum(values, seed)
    noise = rng.standard_normal((n, n))
    noise = noise + noise.T
    operator = Matrix(
        exact,
        exact + error * noise / np.linalg.norm(noise, 2),
        psd=psd,
        knows_trace=knows[0],
        knows_norm=knows[1],
    )
    V = power_steps(operator.computed, k, steps, seed + 1)
    V = V + bent * rng.standard_normal((n, k)) / math.sqrt(n)
    theta = None
    if shifted:
        theta = np.diag(V.T @ operator.computed @ V) + shifted * rng.standard_normal(k)
    certificate = certificate_of(operator, handed_over(operator, V, theta))
    assert_true(certificate, exact)


def test_statements_about_larger_matrices_and_clusters():
    for psd in [True, False]:
        for seed in range(10):
            rng = np.random.default_rng(seed)
            values = np.concatenate([1.0 + 1e-9 * rng.random(4), [0.9, 0.8], 0.6 * rng.random(194)])
            if not psd:
                values[6:] *= rng.choice([-1.0, 1.0], 194)
            exact, _ = with_spectrum(values, seed)
            operator = Matrix(exact, psd=psd)
            V = power_steps(exact @ exact if not psd else exact, 6, seed, seed)
            assert_true(certificate_of(operator, handed_over(operator, V)), exact)
    # What is left bounds the second eigenvalue: the first is larger by what the residual leaves open.
    for width, steps in [(1e-6, 6), (0.03, 3), (0.03, 30)]:
        for seed in range(20):
            rng = np.random.default_rng(seed)
            exact, _ = with_spectrum(np.concatenate([1 + width * rng.random(40), 0.1 * rng.random(20)]), seed)
            V = power_steps(exact, 1, steps, seed)
            operator = Matrix(exact)
            certificate = certificate_of(operator, handed_over(operator, V))
            assert_true(certificate, exact)
            assert certificate.upper[0] <= 1 + width + 1.2 * certificate.set_radius


def test_pairs_are_certified_by_the_probe_or_a_decomposition():
    values = np.concatenate([1 + 1e-10 * np.arange(5), [1 - 1e-8], 0.2 * np.ones(60)])
    certificate = certified(values, range(6))
    assert certificate.ok
    assert certificate.set_radius < 1e-12
    # Three of six equal eigenvalues: each is right, and the fourth is not denied.
    certificate = certified(np.concatenate([np.ones(6), 0.01 * np.ones(50)]), range(3))
    assert certificate.completeness.bound >= 1.0
    certificate = certified(HIDDEN, range(5))
    assert certificate.ok
    assert "Lanczos" in certificate.completeness.method
    assert 0.5 <= certificate.completeness.bound <= 1.35 * 0.6
    operator, result = all_but_the_first(0, HIDDEN[:40])
    certificate = certificate_of(operator, result)
    assert not certificate.ok
    assert certificate.completeness.method == "decomposition of the rest"
    assert certificate.completeness.kind == "deterministic"
    assert certificate.completeness.probability == 0
    assert certificate.completeness.bound == pytest.approx(1.0, rel=1e-10)


@settings(max_examples=100)
@given(
    values=st.lists(st.floats(-1, 1), min_size=1, max_size=3),
    below=st.floats(-1, 1),
    coupling=st.sampled_from([0.0, 1e-9, 1e-2, 0.3, 2.0]),
    seed=st.integers(0, 10**6),
)
def test_no_matrix_has_a_larger_missed_eigenvalue(values, below, coupling, seed):
    """Of matrices T + E_1 on the vectors, B off them and E_2 between, with the norm of (E_1, E_2) given."""
    rng, t, k = np.random.default_rng(seed), np.sort(values)[::-1], len(values)
    bound = largest_missed(t, below, coupling)
    assert bound <= max(t[0], below) + 2 / math.sqrt(3) * coupling + 1e-15
    for _ in range(20):
        R = rng.standard_normal((k + 3, k)) * rng.choice([0.0, 1.0], (k + 3, 1))
        R[:k] = (R[:k] + R[:k].T) / 2
        R *= coupling / (np.linalg.norm(R, 2) or 1.0)
        B, _ = with_spectrum(below - rng.random(3) * rng.choice([0, 1], 3), seed)
        A = np.block([[np.diag(t) + R[:k], R[k:].T], [R[k:], B]])
        missed = unpaired(t, np.linalg.eigvalsh(A), coupling + 1e-12)
        assert missed[0] <= bound + 1e-12


def test_solvers_stopped_early_and_those_that_need_no_probe():
    for k in [1, 3, 7]:
        for steps in [1, 2, 4, 8]:
            exact, _ = with_spectrum(np.linspace(1.0, 0.0, 80) ** 2)
            operator = Matrix(exact)
            certificate = certificate_of(operator, handed_over(operator, power_steps(exact, k, steps, 5)))
            assert not certificate.ok
            assert "not to 1.0e-06, because of the residuals" in certificate.reasons[0]
            assert_true(certificate, exact)
    for rest, method in [(1e-4, "trace"), (0.05, "Frobenius norm")]:
        exact, Q = with_spectrum([1.0, 0.9, 0.8, *[rest] * 50])
        operator = Matrix(exact)
        certificate = certificate_of(operator, handed_over(operator, Q[:, :3]))
        assert certificate.ok
        assert certificate.completeness.method == method
        assert certificate.completeness.kind == "deterministic"
        assert operator.products == 0
        assert_true(certificate, exact)


HIDDEN = np.concatenate([[1.0, 0.9, 0.8, 0.7, 0.6, 0.5], 0.3 * np.ones(154)])


def all_but_the_first(seed, values=HIDDEN, k=5, **options):
    exact, Q = with_spectrum(values, seed)
    operator = Matrix(exact, **options)
    return operator, handed_over(operator, Q[:, 1 : k + 1])


@pytest.mark.parametrize("psd", [True, False])
def test_a_missed_eigenvalue_is_found_by_the_probe_alone(psd):
    """Trace and norm of the long tail hide it: 60 probes, none of which may be fooled."""
    operator, result = all_but_the_first(0, psd=psd)
    rest = float(np.trace(operator.exact) - result.values.sum())
    assert rest > 40
    for seed in range(60):
        certificate = certificate_of(operator, result, seed=seed)
        assert not certificate.ok
        assert certificate.completeness.bound >= 1.0
        if psd:
            assert "Lanczos" in certificate.completeness.method
            assert certificate.completeness.kind == "probabilistic"
            assert 0 < certificate.completeness.probability <= 1e-6
            assert "may have been missed" in certificate.reasons[0]


@pytest.mark.parametrize("n", [8, 60, 150])
def test_an_eigenvalue_left_out_anywhere_is_never_certified(n):
    for seed, left_out in product(range(5), [0, 2, 4]):
        values = np.concatenate([[1.0, 0.9, 0.8, 0.7, 0.6], 0.1 * np.ones(n - 5)])
        values[:5] *= 5.0 ** np.arange(0, -5, -1)
        exact, Q = with_spectrum(values, seed)
        operator = Matrix(exact)
        kept = [j for j in range(6) if j != left_out]
        certificate = certificate_of(operator, handed_over(operator, Q[:, kept]), seed=seed)
        if values[left_out] > 1.4 * values[5]:
            assert not certificate.ok
        assert_true(certificate, exact)


@pytest.mark.parametrize("knows", [True, False])
def test_the_probe_alone_covers_both_signs(knows):
    """Neither trace nor norm: the Krylov space sees both ends of the spectrum."""
    values = np.concatenate([[1.0, 0.9], 0.4 * np.linspace(-2, 1, 170)])
    exact, Q = with_spectrum(values)
    operator = Matrix(exact, psd=False, knows_trace=knows, knows_norm=knows)
    for (kept, ok), seed in product((([0, 1], True), ([1, 2], False)), range(4)):
        certificate = certificate_of(operator, handed_over(operator, Q[:, kept]), seed=seed)
        assert "Lanczos" in certificate.completeness.method
        assert certificate.completeness.probability == 1e-6
        assert certificate.ok == ok
        assert_true(certificate, exact)


def test_a_norm_that_is_all_cancellation_proves_nothing():
    """Centring takes nearly all of K away: the difference of the squares is rounding."""
    n = 300
    rng = np.random.default_rng(0)
    ones = np.ones((n, 1)) / math.sqrt(n)
    Q = np.linalg.qr(np.hstack([ones, rng.standard_normal((n, n - 1))]))[0][:, ::-1]
    values = np.concatenate([[3e-7, 2e-7], 1e-7 * np.ones(n - 3), [0.0]])
    K = (Q * values) @ Q.T + 1.0
    K = (K + K.T) / 2
    source = MatrixSource(K)
    operator = CenteredKernelOperator(TileMatrix(n, source, np.empty(0)), source, center=True, psd=True)
    Kc = operator.dense()
    assert operator.frobenius() >= np.linalg.norm(Kc)
    assert operator.error_bound < 1e-8
    operator.computed = Kc
    certificate = certificate_of(operator, handed_over(operator, Q[:, 1:2]), tol=0.2)
    assert certificate.completeness.bound >= 3e-7
    assert not certificate.ok


@pytest.mark.parametrize("bend", [1e-9, 1e-4, 1e-2])
def test_loss_of_orthogonality_is_stated_and_widens_the_radii(bend):
    exact, Q = with_spectrum([1.0, 0.8, 0.5, *[0.01] * 20])
    operator = Matrix(exact)
    V = Q[:, :3].copy()
    V[:, 1] += bend * V[:, 0]
    certificate = certificate_of(operator, handed_over(operator, V))
    assert certificate.orthogonality == pytest.approx(bend, rel=0.1)
    sigma = np.linalg.svd(V, compute_uv=False)[-1]
    R = operator.computed @ V - V * certificate.values
    assert certificate.set_radius >= np.linalg.norm(R, 2) / sigma
    assert_true(certificate, exact)


def test_short_and_equal_vectors_and_negative_values_shrink_nothing():
    """Residuals of vectors of length 0.1 are ten times too small."""
    exact, _ = with_spectrum(np.linspace(1, 0.1, 20))
    operator = Matrix(exact)
    V = 0.1 * power_steps(exact, 2, 2, 0)
    certificate = certificate_of(operator, handed_over(operator, V))
    assert_true(certificate, exact)
    assert (certificate.radii >= 9.9 * certificate.residuals).all()
    certificate = certified([1.0, 0.1, 0.05, 0.01, 0.0], [0, 0])
    assert not certificate.ok
    assert certificate.orthogonality == pytest.approx(1.0)
    assert certificate.set_radius > 0.9
    # Negative eigenvalues cancel what was missed: here the trace of the rest is zero.
    certificate = certified([2.0, 1.0, 0.9, -1.0, -1.0, *[0.0] * 20], [1, 2], psd=False)
    assert certificate.completeness.method != "trace"
    assert not certificate.ok


def krylov_space(values, columns, steps, rng):
    """diag(values) on the Krylov space of a Gaussian block, and that block in its basis."""
    G = rng.standard_normal((len(values), columns))
    basis, block = np.empty((len(values), 0)), G
    for _ in range(steps):
        for _ in range(2):
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        basis = np.column_stack([basis, block])
        block = values[:, None] * block
    return basis.T @ (values[:, None] * basis), basis.T @ G


@pytest.mark.parametrize("spectrum", ["chebyshev", "one", "linear", "signs", "cluster", "falling"])
@pytest.mark.parametrize(("size", "steps", "columns"), [(40, 3, 1), (100, 4, 2)])
@pytest.mark.walk
def test_stated_probability_is_not_exceeded_in_simulation(spectrum, size, steps, columns):
    """The largest eigenvalue exceeds its bound in one of ten draws at most, on spectra made to hide it."""
    values = {
        "chebyshev": np.append(
            0.75 * (1 + np.cos(np.pi * (np.arange(size - 1) + 0.5) / (size - 1))) / 2, 1.0
        ),
        "one": np.append(np.full(size - 1, 0.7), 1.0),
        "linear": np.linspace(0, 1, size),
        "signs": np.append(np.linspace(-3, 0.8, size - 1), 1.0),
        "cluster": np.append(np.linspace(0, 0.1, size - 5), [0.95] * 4 + [1.0]),
        "falling": 1.0 / np.arange(1, size + 1) ** 2,
    }[spectrum]
    rng = np.random.default_rng(9)
    draws, stated = 200, 0.1
    missed = 0
    for _ in range(draws):
        projected, start = krylov_space(values, columns, steps, rng)
        missed += largest_possible(projected, start, steps, stated) < values.max() * (1 - 1e-12)
    assert missed / draws <= stated + 3 * math.sqrt(stated * (1 - stated) / draws)


def test_the_probe_needs_few_steps_and_follows_from_its_generator_and_the_data():
    """Where the rest falls, what is measured replaces the logarithm of the order; where not, 8 steps do."""
    for values, most in [(1.0 / np.arange(1, 20_001), 5), (np.linspace(1, 0, 20_000), 8)]:
        projected, start = krylov_space(values, 8, most, np.random.default_rng(3))
        assert 1.0 <= largest_possible(projected, start, most, 1e-6) <= 1.33
    operator, result = all_but_the_first(0)
    once, again = (
        [certificate_of(operator, result, seed=s).completeness.bound for s in range(8)] for _ in "12"
    )
    assert once == again
    # The same up to rounding, which two seeds alone may share.
    assert len(set(once)) > 1
    # Two matrices that look alike to a solver are not probed alike, whatever the seed.
    again = certificate_of(operator, result).completeness.bound
    assert certificate_of(operator, result).completeness.bound == again
    seen = []
    matmat = operator.matmat
    operator.matmat = lambda V: seen.append(V) or matmat(V)
    certificate_of(operator, result)
    operator.fingerprint = lambda: b"another matrix"
    certificate_of(operator, result)
    assert np.abs(seen[0] - seen[len(seen) // 2]).max() > 0.01


def test_full_decompositions_all_pairs_no_pairs_and_the_zero_matrix():
    exact, Q = with_spectrum([3.0, 2.0, 1.0, 0.5])
    operator = Matrix(exact)
    certificate = certificate_of(operator, handed_over(operator, Q[:, :2], complete=True))
    assert certificate.ok
    assert certificate.completeness.method == "full decomposition"
    assert certificate.completeness.kind == "deterministic"
    assert "No larger eigenvalue was missed: the decomposition is complete" in str(certificate)
    exact, Q = with_spectrum([1.0, 0.5, -0.5, 0.1])
    operator = Matrix(exact)
    certificate = replace(certificate_of(operator, handed_over(operator, Q[:, :2])), completeness=None)
    assert "There is no upper bound on eigenvalues that were not computed." in str(certificate)
    exact, Q = with_spectrum([3.0, 2.0, 1.0, -0.5])
    operator = Matrix(exact, psd=False)
    certificate = certificate_of(operator, handed_over(operator, Q))
    assert certificate.ok
    assert operator.products == 0
    exact, Q = with_spectrum([1.0, 0.5])
    operator = Matrix(exact)
    certificate = certificate_of(operator, handed_over(operator, Q[:, :0]))
    assert "no components to certify" in str(certificate)
    operator = Matrix(np.zeros((6, 6)))
    certificate = certificate_of(operator, handed_over(operator, np.eye(6)[:, :2]))
    assert certificate.completeness.bound == 0
    assert not np.isnan(certificate.radii).any()
    assert "nan" not in str(certificate)


def test_kinds_follow_the_weakest_part_and_units_the_factor():
    for kind in ("deterministic", "probabilistic", "estimate"):
        certificate = certified([1.0, 0.9, *[1e-4] * 10], [0, 1], error_kind=kind)
        assert certificate.widening_kind == kind
        assert certificate.completeness.kind == kind
        assert certificate.directions.kind == kind
        assert str(certificate).count(f"[{kind}]") == 4
    operator, result = all_but_the_first(0, error_kind="estimate")
    assert certificate_of(operator, result).completeness.kind == "estimate"
    exact, Q = with_spectrum(HIDDEN)
    operator = Matrix(exact, exact + 1e-9 * np.eye(len(exact)))
    result = handed_over(operator, Q[:, :5])
    plain = certificate_of(operator, result)
    scaled, _ = certify(result, operator, asked(1e-6), "variances", factor=0.125)
    for name in ("values", "residuals", "radii", "set_radius", "widening"):
        assert_array_equal(getattr(scaled, name), 0.125 * getattr(plain, name))
    assert scaled.completeness.bound == 0.125 * plain.completeness.bound
    assert scaled.completeness.delta == plain.completeness.delta
    assert scaled.ok == plain.ok
    assert scaled.orthogonality == plain.orthogonality
    assert "5 variances" in str(scaled)


def rows_of(kind, n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = {
        "normal": lambda: rng.standard_normal((n, d)),
        "positive": lambda: rng.random((n, d)) + 0.5,
        "offset": lambda: rng.standard_normal((n, d)) + 1e4,
        "wide": lambda: rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-6, 6, d),
        "wide rows": lambda: rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-4, 4, (n, 1)),
        "signs": lambda: np.where(np.arange(n * d).reshape(n, d) % 2, 1.1, -1.1),
        "equal": lambda: np.full((n, d), 1.1) * np.array([1.0, -1.0])[np.arange(n) * 2 // n][:, None],
        "binary": lambda: (rng.random((n, d)) < 0.01) * 0.7,
    }[kind]()
    return X.astype(np.float32)


KINDS = ["normal", "positive", "offset", "wide", "wide rows", "binary"]


@pytest.mark.parametrize(
    ("maker", "n", "d"),
    [
        (CovarianceOperator, 30000, 3),
        (CovarianceOperator, 4000, 60),
        (CovarianceOperator, 500, 200),
        (GramOperator, 4, 20000),
        (GramOperator, 60, 4000),
    ],
)
def test_float32_products_keep_their_error_bound(maker, n, d):
    for kind, center in product(KINDS, [True, False]):
        X = rows_of(kind, n, d)
        view = center_rows(as_rows(X), center=center, scale=None, ddof=1)
        assert view.arithmetic == np.float32
        operator = maker(view)
        exact = exact_product(maker, X, center)
        allowed = operator.error_bound
        assert np.linalg.norm(operator.dense() - exact, 2) <= operator.dense_error
        assert np.linalg.norm(applied(operator) - exact @ start(operator), 2) <= allowed
        assert abs(operator.trace() - np.trace(exact)) <= (1 + math.sqrt(operator.size)) * allowed
        assert allowed <= 1e-4 * np.trace(exact)


def test_roundings_that_all_go_one_way():
    """The bound for independent errors is no proof of entries that round alike, and does not say so."""
    for kind, center in product(["signs", "equal"], [True, False]):
        X = rows_of(kind, 30000, 3)
        operator = CovarianceOperator(center_rows(as_rows(X), center=center, scale=None, ddof=1))
        exact = exact_product(CovarianceOperator, X, center)
        worst = 515 * 2.0**-24 * np.trace(exact)
        assert operator.error_kind == "estimate"
        assert np.linalg.norm(applied(operator) - exact @ start(operator), 2) <= worst


def exact_product(maker, X, center):
    exact = X.astype(np.longdouble)
    exact = exact - exact.mean(axis=0) if center else exact
    exact = exact.astype(np.float64)
    return exact.T @ exact if maker is CovarianceOperator else exact @ exact.T


def start(operator):
    rng = np.random.default_rng(1)
    return np.linalg.qr(rng.standard_normal((operator.size, min(operator.size, 3))))[0]


def applied(operator):
    return operator.matmat(start(operator))


@pytest.mark.parametrize("maker", [CovarianceOperator, GramOperator])
def test_float64_products_keep_their_error_bound(maker):
    for kind in KINDS:
        X = rows_of(kind, 300, 40).astype(np.float64)
        operator = maker(center_rows(as_rows(X), center=True, scale=None, ddof=1))
        exact = exact_product(maker, X, True)
        gap = (operator.dense() - exact).astype(np.float64)
        if maker is GramOperator:
            # Rounding of the mean shifts all rows alike, which moves no eigenvalue of the centred matrix.
            gap = centred(gap)
        assert np.linalg.norm(gap, 2) <= operator.dense_error
        assert operator.error_kind == "deterministic"
