"""Direct decompositions on matrices of prescribed spectrum."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal

from gramian.core.arrays import as_float64
from gramian.core.records import Target
from gramian.engine.centered import center_rows
from gramian.engine.routes import count_for_fraction, solve_dense, solve_svd
from gramian.engine.scatter import CovarianceOperator, GramOperator
from gramian.tables.as_rows import as_rows
from helpers import spectrum_matrix

VALUES = np.r_[5.0, 4, 3, 3, 3, 1, 0.5, 0.1]


def operator(shape=(90, 30), singular=VALUES, make=np.asarray, kind=None):
    X = make(spectrum_matrix(*shape, singular, seed=0))
    kind = kind or (CovarianceOperator if shape[0] > shape[1] else GramOperator)
    return kind(center_rows(as_rows(X), center=True, scale=None, ddof=1))


def assert_solved(op, spectrum, singular=VALUES):
    matrix = as_float64(op.dense())
    V = as_float64(spectrum.vectors)
    k = spectrum.values.size
    expected = np.zeros(max(k, len(singular)))
    expected[: len(singular)] = np.asarray(singular) ** 2
    top = expected[0]
    assert_allclose(spectrum.values, expected[:k], atol=1e-13 * top)
    assert_allclose(V.T @ V, np.eye(k), atol=1e-13)
    residuals = np.linalg.norm(matrix @ V - V * spectrum.values, axis=0)
    assert_allclose(spectrum.residuals, residuals, atol=1e-12 * top)
    assert (residuals <= 1e-12 * top).all()
    assert (np.diff(spectrum.values) <= 1e-13 * top).all()
    assert spectrum.complete
    assert spectrum.total == pytest.approx(expected.sum())


@pytest.mark.parametrize("shape", [(90, 30), (30, 90), (300, 90), (90, 300)])
def test_a_number_of_pairs(shape):
    op = operator(shape)
    for k in (1, 3, 8, 12, 29):
        spectrum = solve_dense(op, Target(count=k), "route")
        assert spectrum.values.size == k
        assert spectrum.route == "route"
        assert_solved(op, spectrum)
        assert spectrum.rank == min(k, 8) or spectrum.rest.size


def test_another_driver_takes_over(monkeypatch):
    def fails(A):
        raise np.linalg.LinAlgError("did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    op = operator((200, 100))
    assert_solved(op, solve_dense(op, Target(), "covariance"))


@pytest.mark.parametrize("routine", ["dsytrd", "dsterf", "dstein"])
def test_the_usual_driver_takes_over_from_the_tridiagonal_form(monkeypatch, routine):
    real, failed = getattr(scipy.linalg.lapack, routine), []

    def fails(*args, **options):
        failed.append(routine)
        return (*real(*args, **options)[:-1], 1)

    monkeypatch.setattr(scipy.linalg.lapack, routine, fails)
    op = operator((200, 100))
    assert_solved(op, solve_dense(op, Target(count=2), "covariance"))
    assert failed


@pytest.mark.parametrize("wrong", ["of another value", "not finite", "twice the same"])
def test_vectors_that_are_not_those_of_the_values_are_computed_anew(monkeypatch, wrong):
    real = scipy.linalg.lapack.dstein

    def picks(diagonal, beside, values, *blocks):
        all_values = scipy.linalg.lapack.dsterf(diagonal, beside)[0]
        V, failed = real(diagonal, beside, all_values[:2] if wrong == "of another value" else values, *blocks)
        V[:, 0] = {"not finite": np.nan, "twice the same": V[:, 1]}.get(wrong, V[:, 0])
        return V, failed

    op = operator((200, 100))
    monkeypatch.setattr(scipy.linalg.lapack, "dstein", picks)
    assert_solved(op, solve_dense(op, Target(count=2), "covariance"))


@pytest.mark.parametrize("shape", [(90, 30), (30, 90)])
def test_svd(shape):
    C = spectrum_matrix(*shape, VALUES, seed=1)
    expected = np.zeros(30)
    expected[:8] = VALUES**2
    for target in (Target(count=4), Target(fraction=0.9), Target()):
        spectrum = solve_svd(C, target, 0.0, 1e-26)
        k = spectrum.values.size
        assert_allclose(spectrum.values, expected[:k], atol=1e-13)
        scores = C @ spectrum.vectors
        assert_allclose(scores.T @ scores, np.diag(spectrum.values), atol=1e-13)
        assert_allclose(np.r_[spectrum.values, spectrum.rest], expected, atol=1e-13)
        assert spectrum.rank == min(8, k + spectrum.rest.size)
        assert spectrum.complete
        assert (spectrum.residuals < 1e-12).all()


@pytest.mark.parametrize("shape", [(6, 6), (11, 6), (12, 6), (200, 30), (30, 200), (1, 4), (4, 1)])
def test_svd_without_left_vectors_is_that_with_them(shape, monkeypatch):
    C = np.random.default_rng(4).standard_normal(shape)
    before = C.copy()
    _, s, Vt = scipy.linalg.svd(C, full_matrices=False)
    spectrum = solve_svd(C, Target(), 0.0, 1e-26)
    assert_allclose(spectrum.values, s**2, rtol=1e-13)
    assert_allclose(np.abs(spectrum.vectors.T), np.abs(Vt), atol=1e-13)
    assert_array_equal(C, before)

    def fails(A, **options):
        return None, None, None, 1

    monkeypatch.setattr(scipy.linalg.lapack, "dgesdd", fails)
    again = solve_svd(C, Target(), 0.0, 1e-26)
    assert_allclose(again.values, s**2, rtol=1e-13)


def test_count_for_fraction():
    cases = [
        ([4, 3, 2, 1], 10, 0.4, 1),
        ([4, 3, 2, 1], 10, 0.4 + 1e-9, 2),
        ([4, 3, 2, 1], 10, 0.4 + 1e-14, 1),
        ([4, 3, 2, 1], 10, 0.9, 3),
        ([4, 3, 2, 1], 10, 0.9999, 4),
        ([4, 3], 10, 0.7, 2),
        ([4, 3], 10, 0.71, None),
        ([4, -1e-17], 4, 0.999999, 1),
        ([0.1] * 10, 1.0, 0.3, 3),
        ([], 1, 0.5, None),
        ([0, 0], 0, 0.5, 1),
        ([], 0, 0.5, None),
    ]
    for values, total, fraction, k in cases:
        assert count_for_fraction(np.asarray(values, dtype=float), total, fraction) == k
