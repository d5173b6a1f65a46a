"""A plan carried out: units, ranks, directions and the ways out of a route that does not do."""

from dataclasses import replace

import numpy as np
import pytest

from gramian.arrays import as_float64
from gramian.errors import DataError
from gramian.estimators.decomposition import Request, decompose
from gramian.planning import plan_pca
from gramian.records import Target
from gramian.rows import as_rows
from helpers import spectrum_matrix

VALUES = np.array([6.0, 3, 2, 1])


def run(X, solver, target=None, *, options=None, **request):
    rows = as_rows(X)
    target = target or Target(count=3)
    plan = plan_pca(rows.shape, rows.dtype, target, solver, 1 << 40)
    if options:
        plan = replace(plan, options={**plan.options, **options})
    defaults = {
        "target": target,
        "tol": 1e-6,
        "center": True,
        "scale": None,
        "ddof": 1,
        "solver_rng": np.random.default_rng(0),
        "probe_rng": np.random.default_rng(1),
    }
    return decompose(rows, plan, Request(**{**defaults, **request}))


@pytest.mark.parametrize("solver", ["full", "covariance", "gram"])
@pytest.mark.parametrize("shape", [(40, 9), (9, 40)])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_values_are_in_units_of_the_data(solver, shape, scale):
    X = spectrum_matrix(*shape, VALUES, seed=0) * scale
    found = run(X, solver)
    np.testing.assert_allclose(found.values, VALUES[:3] ** 2 * scale**2, rtol=1e-11)
    assert found.total == pytest.approx((VALUES**2).sum() * scale**2)
    np.testing.assert_allclose(found.certificate.values, found.values / (shape[0] - 1), rtol=1e-12)
    assert found.certificate.ok
    assert found.rank == 3
    if found.scores is not None:
        C = X - X.mean(axis=0)
        np.testing.assert_allclose(found.scores, C @ found.directions, atol=1e-11 * scale)


@pytest.mark.parametrize("solver", ["full", "covariance", "gram"])
@pytest.mark.parametrize("shape", [(40, 9), (9, 40)])
def test_no_more_values_than_the_smaller_side(solver, shape):
    X = spectrum_matrix(*shape, VALUES, seed=0)
    found = run(X, solver, Target())
    assert found.values.size == 9
    assert found.rank == 4
    assert (found.values[4:] == 0).all()
    assert found.spectrum.rest.size == 0
    fraction = run(X, solver, Target(fraction=0.9))
    assert fraction.values.size == 2
    assert fraction.spectrum.rest.size == 7
    W = found.directions
    np.testing.assert_allclose(W.T @ W, np.eye(9), atol=1e-13)


def test_small_singular_values_keep_the_lifted_directions_orthonormal():
    X = spectrum_matrix(12, 60, [1, 1e-2, 1e-5, 1e-6], seed=1)
    found = run(X, "gram", Target(count=4))
    assert found.rank == 4
    assert found.scores is None
    W = found.directions
    np.testing.assert_allclose(W.T @ W, np.eye(4), atol=1e-13)
    exact = np.linalg.svd(X - X.mean(axis=0))[2][:2].T
    np.testing.assert_allclose(np.abs((exact * W[:, :2]).sum(axis=0)), 1, rtol=1e-12)


@pytest.mark.parametrize("solver", ["covariance", "gram", "krylov"])
def test_float32_products_are_repeated_in_float64_when_tol_asks_for_it(solver):
    shape = (600, 150) if solver != "gram" else (150, 600)
    X = spectrum_matrix(*shape, VALUES, seed=2, mean=3).astype(np.float32)
    rough = run(X, solver, options={"double": False}, tol=1e-4)
    assert rough.spectrum.note == ""
    fine = run(X, solver, options={"double": False}, tol=1e-8)
    assert fine.spectrum.note == "multiplied in float64 to meet tol"
    assert fine.certificate.ok
    assert fine.spectrum.error_bound < rough.spectrum.error_bound
    C = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    exact = np.linalg.svd(C, compute_uv=False)[:3] ** 2
    np.testing.assert_allclose(fine.values, exact, rtol=1e-8)
    np.testing.assert_allclose(rough.values, exact, rtol=1e-4)


@pytest.mark.parametrize("shape", [(300, 200), (200, 300)])
def test_a_stalled_iteration_hands_over(shape):
    X = spectrum_matrix(*shape, np.linspace(1, 0.9999, 150), seed=3)
    found = run(X, "krylov", options={"max_passes": 2}, tol=1e-10)
    product = "covariance" if shape[0] > shape[1] else "gram"
    assert found.spectrum.route == product
    assert "stalled after 2 block products" in found.spectrum.note
    assert found.spectrum.note.endswith(f"the {product} route took over")
    np.testing.assert_allclose(found.values, np.linspace(1, 0.9999, 150)[:3] ** 2, rtol=1e-12)


@pytest.mark.parametrize("solver", ["full", "covariance", "gram"])
def test_every_kind_keeps_its_kind(array_kind, solver):
    X = array_kind.make(spectrum_matrix(30, 8, VALUES, seed=4))
    found = run(X, solver, Target(count=6))
    assert array_kind.same(found.directions) or array_kind.name == "numpy-read-only"
    W = as_float64(found.directions)
    np.testing.assert_allclose(W.T @ W, np.eye(6), atol=20 * np.finfo(array_kind.dtype).eps)
    np.testing.assert_allclose(found.values[:4], VALUES**2, rtol=1e-5)
    assert (found.values[4:] == 0).all()


@pytest.mark.parametrize("solver", ["full", "covariance", "gram"])
@pytest.mark.parametrize("scale", [1e160, 1e-165])
def test_a_variance_outside_of_float64_is_refused(solver, scale):
    with pytest.raises(DataError, match=r"variance of this data is about 2\^-?\d+, outside"):
        run(spectrum_matrix(20, 5, VALUES, seed=5) * scale, solver)
    scaled = run(spectrum_matrix(20, 5, VALUES, seed=5) * scale, solver, scale="unit")
    assert scaled.total == pytest.approx(5 * 19)
