"""The planner: which route, for which shape and limit, and what it says about it."""

import dataclasses

import numpy as np
import pytest

from gramian.errors import CostWarning, MemoryLimitError, ParameterError
from gramian.planning import plan_kernel_pca, plan_pca, warn_of_cost, with_calls
from gramian.records import Calls, Target

F4, F8 = np.dtype("f4"), np.dtype("f8")
PLENTY = 1 << 50
FIVE, HALF, ALL = Target(count=5), Target(fraction=0.5), Target()


def pca(shape, target=FIVE, solver="auto", limit=PLENTY, dtype=F8, **options):
    return plan_pca(shape, dtype, target, solver, limit, **options)


def kernel(n, target=FIVE, solver="auto", limit=PLENTY, *, d=50, psd=True, dtype=F8, **options):
    return plan_kernel_pca(n, d, dtype, target, solver, limit, psd=psd, **options)


# ------------------------------------------------------------------------ PCA


@pytest.mark.parametrize(
    ("shape", "target", "solver", "operator"),
    [
        ((150, 4), ALL, "full", "data (SVD)"),
        ((4, 150), FIVE, "full", "data (SVD)"),
        ((300_000, 10), FIVE, "covariance", "covariance"),
        ((64, 6830), FIVE, "gram", "gram"),
        ((64, 6830), ALL, "gram", "gram"),
        ((2286, 32256), Target(count=50), "krylov", "gram"),
        ((60_000, 5000), Target(count=10), "krylov", "covariance"),
        ((5000, 4000), ALL, "covariance", "covariance"),
    ],
)
def test_auto_takes_the_cheaper_side(shape, target, solver, operator):
    plan = pca(shape, target)
    assert (plan.solver, plan.operator) == (solver, operator)
    assert plan.seconds > 0
    assert plan.bytes > 0
    assert plan.reason.endswith(".")


@pytest.mark.parametrize("solver", ["full", "covariance", "gram", "krylov"])
@pytest.mark.parametrize("shape", [(5000, 900), (900, 5000)])
def test_the_route_asked_for_is_taken(shape, solver):
    plan = pca(shape, solver=solver)
    assert plan.solver == solver
    assert plan.reason == f"solver={solver!r} was asked for."


@pytest.mark.parametrize(
    ("shape", "target"),
    [((50, 20), FIVE), ((5000, 900), ALL), ((900, 700), HALF), ((3000, 400), Target(count=300))],
)
def test_krylov_that_would_fill_the_space_becomes_a_product(shape, target):
    plan = pca(shape, target, "krylov")
    assert plan.solver == "covariance"
    assert "would fill the whole space" in plan.reason
    assert pca(shape[::-1], target, "krylov").solver == "gram"


def test_krylov_says_what_it_needs():
    plan = pca((2286, 32256), Target(count=50), dtype=F4)
    assert plan.options["fallback"] == "gram"
    assert plan.options["block"] * 2 <= plan.options["columns"] <= 2286 // 2
    assert plan.options["max_passes"] > 7
    assert [step.name for step in plan.steps] == ["measure", "iterate", "certify"]
    fraction = pca((20_000, 3000), HALF, "krylov")
    assert fraction.solver == "krylov"
    assert fraction.options["columns"] <= 1500


def test_the_plan_depends_on_nothing_but_its_arguments(monkeypatch):
    first = pca((5000, 900))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "1kB")
    assert pca((5000, 900)) == first


def test_small_float32_data_is_multiplied_in_float64():
    assert pca((1000, 100), solver="covariance", dtype=F4).options["double"]
    assert not pca((1000, 100), solver="covariance", dtype=F8).options["double"]
    assert not pca((10**7, 1000), solver="covariance", dtype=F4).options["double"]


def test_sparse_data_is_never_decomposed_as_a_whole():
    for shape in [(100, 50), (50, 100), (10**6, 2000), (2000, 10**6)]:
        assert pca(shape, sparse=True).solver != "full"


def test_a_limit_chooses_the_route_that_fits():
    shape, target = (40_000, 9000), Target(count=10)
    roomy = pca(shape, target)
    direct = pca(shape, target, "covariance")
    assert roomy.solver == "krylov"
    assert roomy.seconds < direct.seconds
    bounded = pca((40_000, 9000), target, limit=roomy.bytes)
    assert bounded.steps == roomy.steps
    # The product route would need more, so it is no fallback under this limit.
    assert (roomy.options["fallback"], bounded.options["fallback"]) == ("covariance", None)
    tight = pca(shape, target, limit=roomy.bytes - 1)
    assert roomy.options["keep"]
    assert "keep" not in tight.options
    assert pca(shape, target, limit=tight.bytes) == tight
    with pytest.raises(MemoryLimitError, match="The krylov route needs about"):
        pca(shape, target, limit=tight.bytes - 1)
    small = pca((600, 400), target)
    assert pca((600, 400), target, limit=small.bytes).bytes <= small.bytes
    svd = pca((400, 400), FIVE)
    assert svd.solver == "full"
    other = pca((400, 400), FIVE, limit=svd.bytes - 1)
    assert other.solver != "full"
    assert other.bytes < svd.bytes


@pytest.mark.parametrize("solver", ["auto", "full", "covariance", "gram", "krylov"])
def test_nothing_fits(solver):
    expected = r"route needs about .* GB of working memory, and memory_limit allows 1e-06 GB\. Raise"
    with pytest.raises(MemoryLimitError, match=expected):
        pca((5000, 900), solver=solver, limit=1000)
    with pytest.raises(MemoryError, match="few components, which solver='krylov'"):
        pca((5000, 900), ALL, solver=solver, limit=1000)


def test_an_iteration_that_does_not_fit_wants_less_data():
    with pytest.raises(MemoryLimitError, match="ask for fewer components, or use fewer rows"):
        pca((50_000, 9000), FIVE, solver="krylov", limit=1000)


# ----------------------------------------------------------------- kernel PCA


@pytest.mark.parametrize(
    ("n", "target", "solver"),
    [(100, FIVE, "dense"), (500, FIVE, "dense"), (3000, FIVE, "krylov"), (3000, ALL, "dense")],
)
def test_few_components_of_many_rows_are_iterated(n, target, solver):
    plan = kernel(n, target)
    assert plan.solver == solver
    assert plan.operator == "centered kernel"


def test_a_fraction_needs_a_valid_kernel_to_iterate():
    assert kernel(9000, HALF).solver == "krylov"
    plan = kernel(9000, HALF, psd=False)
    assert plan.solver == "dense"
    assert "not proven valid" in plan.reason
    assert kernel(9000, FIVE, psd=False).solver == "krylov"


def test_dense_when_asked():
    plan = kernel(3000, solver="dense")
    assert plan.solver == "dense"
    assert plan.reason == "solver='dense' was asked for."
    assert kernel(300, solver="krylov").solver == "krylov"
    assert kernel(10, solver="krylov").solver == "dense"


def test_tiles_are_kept_where_they_fit():
    kept = kernel(20_000)
    assert kept.options["keep"]
    assert kept.bytes > 20_000**2 // 2 * 8
    again = kernel(20_000, limit=kept.bytes - 1)
    assert not again.options["keep"]
    assert again.bytes < kept.bytes
    assert again.seconds > kept.seconds
    assert "do not fit into memory_limit" in again.reason
    with pytest.raises(MemoryLimitError, match="krylov route needs"):
        kernel(20_000, limit=10**6)
    with pytest.raises(MemoryLimitError, match="krylov route needs"):
        kernel(20_000, limit=kept.bytes - 1, scalar=True)
    with pytest.raises(MemoryLimitError, match="dense route needs"):
        kernel(20_000, ALL, limit=10**6)


@pytest.mark.parametrize("scalar", [True, False])
def test_a_python_function_is_what_the_time_goes_to(scalar):
    plan = kernel(1000)
    own = with_calls(plan, 1000, Calls(2e-5, scalar))
    assert own.steps[1:] == plan.steps[1:]
    assert own.seconds - plan.seconds == pytest.approx(2e-5 * 1000 * 1001 / 2)
    how = "for each pair of rows" if scalar else "for many rows at once"
    assert f"called {how}, and 500,500 values take about 20 us each" in own.steps[0].detail
    with pytest.warns(CostWarning, match="minutes"):
        warn_of_cost(with_calls(kernel(10_000), 10_000, Calls(1e-3, scalar)), "Sample.")


def test_only_a_function_called_pair_by_pair_is_too_slow_to_compute_twice():
    limit = kernel(20_000).bytes - 1
    assert not kernel(20_000, limit=limit, scalar=False).options["keep"]
    with pytest.raises(MemoryLimitError, match="krylov route needs"):
        kernel(20_000, limit=limit, scalar=True)


def test_clipping_needs_every_eigenvalue_unless_the_kernel_is_proven():
    plan = kernel(3000, psd=False, whole=True)
    assert plan.solver == "dense"
    assert plan.reason == "repair='clip' sets all negative eigenvalues to 0, and so needs every one."
    assert kernel(300, psd=False, whole=True).solver == "dense"
    assert kernel(3000, solver="dense", psd=False, whole=True).reason == "solver='dense' was asked for."
    assert kernel(3000, psd=True, whole=True).solver == "krylov"
    assert kernel(3000, solver="krylov", psd=True, whole=True).solver == "krylov"
    with pytest.raises(
        ParameterError, match=r"solver='krylov' finds the largest eigenvalues only.*Leave solver"
    ):
        kernel(3000, solver="krylov", psd=False, whole=True)


def test_float32_tiles_take_half():
    ratio = kernel(20_000, dtype=F4).bytes / kernel(20_000).bytes
    assert 0.45 < ratio < 0.8


# --------------------------------------------------------------------- cost


def test_a_long_plan_warns_with_advice():
    plan = pca((10**6, 10**5), ALL)
    assert plan.seconds > 3600
    with pytest.warns(CostWarning, match=r"predicted to take about \d+ minutes \(.*\) Sample\."):
        warn_of_cost(plan, "Sample.")
    with pytest.warns(CostWarning, match="minutes"):
        warn_of_cost(kernel(200_000, ALL), "Sample.")


def test_a_short_plan_is_silent():
    warn_of_cost(pca((1000, 50)), "")
    assert dataclasses.replace(pca((1000, 50)), steps=()).seconds == 0


def test_seconds_grow_with_the_work():
    for target in (FIVE, ALL):
        for small, large in [((1000, 500), (4000, 500)), ((1000, 500), (1000, 4000))]:
            assert pca(small, target).seconds < pca(large, target).seconds
    assert kernel(2000).seconds < kernel(4000).seconds
