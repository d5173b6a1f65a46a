"""The planner: which route, for which shape and limit, and what it says about it."""

import dataclasses
from itertools import product

import numpy as np
import pytest

from gramian import PCA
from gramian.core.records import Calls, Plan, SolveRequest, Step, Target
from gramian.engine.operator import SymmetricCosts, TableCosts
from gramian.engine.solving import plan, ranked, small_first, warn_of_cost
from gramian.engine.tiles import KernelCosts
from gramian.errors import CostWarning, MemoryLimitError

F4, F8 = np.dtype("f4"), np.dtype("f8")
PLENTY = 1 << 50
FIVE, TEN, HALF, ALL = Target(count=5), Target(count=10), Target(fraction=0.5), Target()


def pca(shape, target=FIVE, solver="auto", limit=PLENTY, dtype=F8, *, sparse=False):
    return plan(TableCosts(shape, dtype, sparse), SolveRequest(target, 1e-6, limit, solver))


def kernel(n, target=FIVE, solver="auto", limit=PLENTY, *, psd=True, calls=None, given=False, all_=False):
    costs = KernelCosts((n, 50), calls, given, psd)
    return plan(costs, SolveRequest(target, 1e-6, limit, solver), everything=all_)


@pytest.mark.parametrize(
    ("shape", "target", "solver", "operator"),
    [
        ((150, 4), ALL, "full", "data (SVD)"),
        ((4, 150), FIVE, "full", "data (SVD)"),
        ((569, 30), FIVE, "full", "data (SVD)"),
        ((60, 2000), FIVE, "gram", "gram"),
        ((60, 2000), Target(count=31), "full", "data (SVD)"),
        ((1797, 64), FIVE, "covariance", "covariance"),
        ((1797, 64), Target(count=33), "full", "data (SVD)"),
        ((1797, 64), HALF, "full", "data (SVD)"),
        ((1797, 64), ALL, "full", "data (SVD)"),
        ((300_000, 10), FIVE, "covariance", "covariance"),
        ((64, 6830), FIVE, "gram", "gram"),
        ((64, 6830), ALL, "gram", "gram"),
        ((3000, 90_000), TEN, "krylov", "gram"),
        ((60_000, 9000), TEN, "krylov", "covariance"),
        ((5000, 4000), ALL, "covariance", "covariance"),
    ],
)
def test_auto_takes_the_cheaper_side(shape, target, solver, operator):
    result = pca(shape, target)
    assert (result.solver, result.operator) == (solver, operator)
    assert result.seconds > 0
    assert result.bytes > 0
    assert not result.reason[0].islower()
    assert result.reason.endswith(".")


def test_the_route_asked_for_is_taken_unless_it_would_fill_the_space():
    X = np.zeros((900, 5000), dtype="f4")
    for scale, count, solver in (("genotype", 10, "gram"), ("genotype", 2, "krylov"), ("unit", 10, "krylov")):
        assert PCA(count, scale=scale).plan(X).solver == solver, (scale, count)
    for shape, solver in product(((5000, 900), (900, 5000)), ("full", "covariance", "gram", "krylov")):
        result = pca(shape, solver=solver)
        assert (result.solver, result.reason) == (solver, f"You set solver={solver!r}.")
    for n, solver in product((300, 3000), ("dense", "krylov")):
        assert kernel(n, solver=solver).solver == solver
    cases = [((50, 20), TEN), ((5000, 900), ALL), ((900, 700), HALF), ((3000, 400), Target(count=300))]
    for shape, target in cases:
        result = pca(shape, target, "krylov")
        assert result.solver == "covariance"
        assert "would fill the whole space" in result.reason
        assert pca(shape[::-1], target, "krylov").solver == "gram"
    assert kernel(10, solver="krylov").solver == "dense"
    result = pca((2286, 32256), Target(count=50), "krylov", dtype=F4)
    assert [step.name for step in result.steps] == ["measure", "iterate", "certify", "lift"]
    assert result.arithmetic == "float32"
    assert [step.name for step in pca((20_000, 3000), HALF, "krylov").steps] == [
        "measure",
        "iterate",
        "certify",
    ]


def test_a_plan_depends_on_nothing_but_its_arguments(monkeypatch):
    first = [pca((5000, 900)), kernel(3000), pca((5000, 900), dtype=F4)]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "1kB")
    assert [pca((5000, 900)), kernel(3000), pca((5000, 900), dtype=F4)] == first


def test_float32_multiplies_above_its_floor_only_and_sparse_rows_are_never_decomposed_whole():
    # The side that is not the smaller one does not count.
    for shape, (target, single) in product(
        ((2000, 400), (400, 2000)),
        ((FIVE, True), (Target(count=200), True), (Target(count=201), False), (ALL, False), (HALF, True)),
    ):
        items = ranked(TableCosts(shape, F4), SolveRequest(target, 1e-5, PLENTY))
        assert any(not item.route.form.double for item in items) is single
    tiles = ranked(KernelCosts((900, 5)), SolveRequest(Target(count=200), 1e-5, PLENTY))
    assert all(item.route.form.double for item in tiles)
    for costs in (TableCosts((9000, 900), F8), TableCosts((9000, 900), F4, True, speed=1e9)):
        assert all(item.route.form.double for item in ranked(costs, SolveRequest(FIVE, 1e-3, PLENTY)))
    sparse = ranked(TableCosts((9000, 900), F4, True), SolveRequest(FIVE, 1e-3, PLENTY))
    single = {(form.matrix, form.storage) for item in sparse if not (form := item.route.form).double}
    assert single == {("covariance", "whole")}
    indefinite = KernelCosts((9000, 9), single=False)
    assert all(item.route.form.double for item in ranked(indefinite, SolveRequest(FIVE, 1e-3, PLENTY)))
    for shape in [(100, 50), (50, 100), (10**6, 2000), (2000, 10**6)]:
        assert all(
            item.route.solver != "full"
            for item in ranked(TableCosts(shape, F8, True), SolveRequest(FIVE, 1, PLENTY))
        )


def test_a_limit_chooses_the_route_that_fits_if_any():
    for solver in ["auto", "full", "covariance", "gram", "krylov"]:
        with pytest.raises(
            MemoryLimitError, match=r"MB of working memory, and memory_limit allows 1 kB\. Raise"
        ):
            pca((5000, 900), solver=solver, limit=1000)
        with pytest.raises(MemoryError, match=r"B of working memory, and memory_limit allows 1 kB\. Raise"):
            pca((5000, 900), ALL, solver=solver, limit=1000)
    # A table whose first choice is the SVD.
    results = [pca((500, 500))]
    while smaller := [other.bytes for other in results[-1].alternatives if other.bytes < results[-1].bytes]:
        assert pca((500, 500), limit=results[-1].bytes).steps == results[-1].steps
        results.append(pca((500, 500), limit=results[-1].bytes - 1))
        assert results[-1].bytes in smaller
    assert len(results) > 1
    with pytest.raises(MemoryLimitError, match=r"The krylov route needs about 19\.7 MB of working memory,"):
        pca((500, 500), limit=min(item.bytes for item in results) // 2)


def test_few_components_are_iterated_and_every_eigenvalue_is_not():
    with pytest.raises(MemoryLimitError, match=r"The krylov route needs about 69\.8 MB of working memory,"):
        pca((50_000, 9000), FIVE, solver="krylov", limit=1000)
    for n, target, solver in [(100, FIVE, "dense"), (3000, FIVE, "krylov"), (3000, ALL, "dense")]:
        result = kernel(n, target)
        assert (result.solver, result.operator) == (solver, "centered kernel")
    assert kernel(9000, HALF).solver == "krylov"
    result = kernel(9000, HALF, psd=False, all_=True)
    assert result.solver == "dense"
    assert not any(other.solver == "krylov" for other in result.alternatives)
    assert "need the whole spectrum" in result.reason
    assert kernel(9000, FIVE, psd=False).solver == "krylov"


def test_tiles_are_kept_where_they_fit():
    n = 20_000
    kept = kernel(n, psd=False)
    assert kept.bytes > n * n // 2 * 8
    single = kernel(n)
    assert (single.arithmetic, kept.arithmetic) == ("float32", "float64")
    assert 0.45 < single.bytes / kept.bytes < 0.8
    none = next(other.bytes for other in single.alternatives if "recomputed in every pass" in other.storage)
    assert none < single.bytes / 3
    before = single.seconds
    # What the limit leaves is filled with tiles, whichever way the others are made.
    for limit, share in [(single.bytes - 1, 97), ((single.bytes + none) // 2, 48)]:
        part = kernel(n, limit=limit)
        assert part.bytes in (limit, limit - 1)
        assert part.seconds > before
        assert f"do not fit into memory_limit, so only {share}% of them stay in memory" in part.reason
        assert f"{share}% in memory, the others recomputed in every pass" in part.steps[0].detail
        quick = plan(KernelCosts((n, 50), quick=True), SolveRequest(FIVE, 1e-6, limit))
        assert quick.seconds < part.seconds
        assert quick.bytes == part.bytes
        before = part.seconds
    for limit in (none, none + 10**6):  # room for less than a hundredth of them
        part = kernel(n, limit=limit)
        assert part.bytes == none
        assert "do not fit into memory_limit, so they are recomputed in every pass" in part.reason
    with pytest.raises(MemoryLimitError, match="The krylov route needs about 160 MB of working memory,"):
        kernel(n, limit=10**6)
    with pytest.raises(MemoryLimitError, match=r"The dense route needs about 14\.4 GB of working memory,"):
        kernel(n, ALL, limit=10**6)


def test_functions_and_given_matrices_count_in_plans():
    for n in (3000, 20_000):
        result = kernel(n, given=True, psd=False)
        assert "half of n^2" not in str(result)
        assert result.arithmetic == "float64"
    few = plan(SymmetricCosts(3000), SolveRequest(FIVE, 1e-9, PLENTY))
    assert few.solver == "krylov"
    assert plan(SymmetricCosts(3000), SolveRequest(ALL, 1e-9, PLENTY)).solver == "dense"
    assert plan(SymmetricCosts(50), SolveRequest(FIVE, 1e-9, PLENTY)).solver == "dense"
    making = (Step("make", "a smaller matrix", 7.0),)
    made = Plan("smaller matrix", "by-name", making, 10**9, "It is approximate.")
    costs = SymmetricCosts(300, substitute=made, too_large=("A smaller matrix", "Take an even smaller one."))
    inner, result = (
        plan(c, SolveRequest(ALL, 1e-9, 2 * 10**9, "auto")) for c in (SymmetricCosts(300), costs)
    )
    assert (result.solver, result.operator) == ("by-name", "smaller matrix")
    assert result.steps == (*making, *inner.steps)
    assert result.bytes == inner.bytes + 10**9
    assert result.reason == "It is approximate."
    with pytest.raises(MemoryLimitError, match="A smaller matrix needs about 1 GB of working memory, and"):
        plan(costs, SolveRequest(ALL, 1e-9, 10**9))
    own = kernel(1000, calls=Calls(2e-5, True))
    assert own.seconds > 2e-5 * 1000 * 1001 / 2
    for scalar, how in ((True, "for each pair of rows"), (False, "for many rows at once")):
        detail = kernel(1000, calls=Calls(2e-5, scalar)).steps[0].detail
        assert f"called {how}, and 500,500 values take about 20 us each" in detail
        with pytest.warns(CostWarning, match="minutes"):
            warn_of_cost(kernel(10_000, calls=Calls(1e-3, scalar)), lambda: "Sample.", np.empty(0))
    limit = kernel(20_000, psd=False).bytes - 1
    assert kernel(20_000, limit=limit, psd=False, calls=Calls(1e-9, False)).bytes <= limit
    with pytest.raises(MemoryLimitError, match=r"The krylov route needs about 1\.78 GB of working memory,"):
        kernel(20_000, limit=limit, psd=False, calls=Calls(1e-9, True))
    # What a stall leaves to do needs no call where the whole matrix is kept.
    costs = KernelCosts((3000, 5), Calls(1e-5, True))
    first = ranked(costs, SolveRequest(FIVE, 1e-6, PLENTY))[0]
    assert first.route.form.whole


def test_the_route_that_is_taken_at_once_is_the_one_that_is_ranked_first():
    tables = [
        TableCosts((n, d), dtype, sparse=sparse, speed=speed)
        for n in (2, 30, 178, 260, 500, 1797, 3000, 10**5)
        for d in (1, 13, 64, 90, 255, 500, 900, 6000)
        for dtype in (F4, F8)
        for sparse, speed in ((False, 0.0), (True, 0.0), (False, 1e9))
    ]
    kernels = [
        KernelCosts((n, 5), single=single) for n in (2, 60, 569, 1000, 5000) for single in (True, False)
    ]
    others = [SymmetricCosts(size) for size in (1, 13, 600, 4000)]
    plain = 0
    for costs, target, limit, everything in product(
        tables + kernels + others, (Target(count=1), FIVE, HALF, ALL), (10**5, 10**8, PLENTY), (False, True)
    ):
        request = SolveRequest(target, 1e-6, limit)
        first = small_first(costs, request)
        if first is not None:
            plain += 1
            expected = ranked(costs, request, everything=everything)[0]
            assert (first.route, first.seconds) == (expected.route, pytest.approx(expected.seconds))
    assert plain > 500
    assert small_first(tables[0], SolveRequest(FIVE, 1e-6, PLENTY, solver="krylov")) is None


def test_seconds_grow_with_the_work_and_what_else_would_do():
    ask_of_few = SolveRequest(Target(count=2), tol=1e-6, memory_limit=1 << 40)
    for costs in (TableCosts((20, 3), np.dtype("f8")), KernelCosts((20, 3)), SymmetricCosts(20)):
        assert 1e-3 < plan(costs, ask_of_few).seconds < 3e-3
    for item in ranked(KernelCosts((1000, 3)), ask_of_few):
        least = 1e-3 if item.route.direct else 10e-3
        assert least < item.seconds
    for target, (small, large) in product(
        (FIVE, ALL), [((1000, 500), (4000, 500)), ((1000, 500), (1000, 4000))]
    ):
        assert pca(small, target).seconds < pca(large, target).seconds
    assert kernel(2000).seconds < kernel(4000).seconds
    result = pca((40_000, 2000), TEN)
    assert 0 < len(result.alternatives) <= 3
    seconds = [other.seconds for other in result.alternatives]
    assert seconds == sorted(seconds)
    text = str(result)
    for other in result.alternatives:
        assert (
            f"  or {other.solver} on the {other.matrix}, {other.storage}, in {other.arithmetic}: about "
            in text
        )
    assert "It took" not in text
    assert "It took 3 s." in str(dataclasses.replace(result, took=3.0))
    result = pca((10**6, 10**5), ALL)
    assert result.seconds > 3600
    with pytest.warns(CostWarning, match=r"predicted to take about \d+ minutes \(.*\) Sample\."):
        warn_of_cost(result, lambda: "Sample.", np.empty(0))
    warn_of_cost(pca((1000, 50)), lambda: "", np.empty(0))
