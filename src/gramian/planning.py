"""Chooses the route to the eigenpairs; the only place where a solver is chosen.

The choice depends on shape, dtype, number of components and ``memory_limit``, never on what happens to be
free, so that the same call takes the same route everywhere. Seconds come from nominal rates of two cores.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gramian.errors import CostWarning, MemoryLimitError, ParameterError
from gramian.records import Calls, Plan, Step, Target

__all__ = ["plan_kernel_pca", "plan_pca", "warn_of_cost", "with_calls"]

# Multiply-adds a second of large products, of the thin products of an iteration, and of LAPACK.
PRODUCT_RATE = {8: 40e9, 4: 70e9}
THIN_RATE = {8: 26e9, 4: 50e9}
EIGH_ALL, EIGH_FEW, SVD = 8e-11, 3e-11, 1.2e-10
KERNEL_ENTRY = 1.5e-9  # seconds for one kernel value of 50 features
SMALL = 500 * 500  # entries below which the SVD takes no noticeable time
DOUBLE_BELOW = 5e9  # multiply-adds below which float32 data is multiplied in float64
LONG = 600.0
QUICK = 0.2  # seconds below which the direct route is taken
ITERATIONS = 7
PROBE_COLUMNS = 16 * 7


# ------------------------------------------------------------------------ PCA


def plan_pca(
    shape: tuple[int, int],
    dtype: np.dtype,
    target: Target,
    solver: str,
    memory_limit: int,
    *,
    sparse: bool = False,
) -> Plan:
    """Choose how to decompose an (n, d) table.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : numpy dtype
        float32 or float64.
    target : Target
        What is wanted.
    solver : str
        ``"auto"``, ``"full"``, ``"covariance"``, ``"gram"`` or ``"krylov"``.
    memory_limit : int
        Bytes of working memory that may be used.
    sparse : bool
        Whether the data is sparse.

    Raises
    ------
    MemoryLimitError
        When the route asked for, or every route, needs more memory.
    """
    makers = {
        "full": _plan_full,
        "covariance": _plan_covariance,
        "gram": _plan_gram,
        "krylov": _plan_krylov,
    }
    n, d = shape
    side = "covariance" if d <= n else "gram"
    if solver != "auto":
        plan = makers[solver](shape, dtype, target, sparse)
        plan = replace(plan, reason=f"solver={solver!r} was asked for.") if plan.solver == solver else plan
        direct = makers[side](shape, dtype, target, sparse).bytes
        return _must_fit(_keeping(plan, shape, dtype, sparse), memory_limit, direct)
    if n * d <= SMALL and not sparse:
        plan = _plan_full(shape, dtype, target, sparse)
        if plan.bytes <= memory_limit:
            return plan
    routes = [makers[side](shape, dtype, target, sparse)]
    if routes[0].seconds < QUICK and routes[0].bytes <= memory_limit:
        # An iteration may need many passes where the spectrum is flat; this much time is not worth the risk.
        return routes[0]
    krylov = _plan_krylov(shape, dtype, target, sparse)
    if krylov.solver == "krylov":
        routes += _keeping(krylov, shape, dtype, sparse)
    direct = routes[0].bytes
    return _must_fit(sorted(routes, key=lambda plan: plan.seconds), memory_limit, direct)


def _plan_full(shape: tuple[int, int], dtype: np.dtype, target: Target, sparse: bool) -> Plan:
    n, d = shape
    least = min(n, d)
    return Plan(
        operator="data (SVD)",
        solver="full",
        steps=(
            Step("centre", f"a float64 copy of {n} x {d}", n * d * 2e-9),
            Step(
                "decompose",
                "singular value decomposition, all components",
                SVD * n * d * least / 3 + 1e-3,
            ),
        ),
        bytes=8 * (2 * n * d + 2 * n * least + d * least + 6 * least**2),
        reason=f"{n} x {d} is small, and the SVD resolves the smallest eigenvalues best.",
    )


def _plan_covariance(shape: tuple[int, int], dtype: np.dtype, target: Target, sparse: bool) -> Plan:
    n, d = shape
    return Plan(
        operator="covariance",
        solver="covariance",
        steps=(
            Step(
                "multiply",
                f"the {d} x {d} scatter matrix in one pass over the data",
                _product_seconds(n, d, dtype),
            ),
            Step("decompose", f"{target} of {d}", _eigh_seconds(d, target)),
        ),
        bytes=8 * 5 * d * d + (8 << 20),
        reason=f"{d} columns are no more than {n} rows, so the covariance is the smaller matrix.",
        options={"double": _double(shape, dtype, d)},
    )


def _plan_gram(shape: tuple[int, int], dtype: np.dtype, target: Target, sparse: bool) -> Plan:
    n, d = shape
    k = target.count or n
    return Plan(
        operator="gram",
        solver="gram",
        steps=(
            Step(
                "multiply",
                f"the {n} x {n} matrix of inner products of rows",
                _product_seconds(d, n, dtype),
            ),
            Step("decompose", f"{target} of {n}", _eigh_seconds(n, target)),
            Step("lift", "directions from the dual vectors", n * d * k / PRODUCT_RATE[dtype.itemsize]),
        ),
        bytes=8 * 4 * n * n + 2 * d * k * dtype.itemsize + (8 << 20),
        reason=f"{n} rows are fewer than {d} columns, so the dual Gram matrix is the smaller one.",
        options={"double": _double(shape, dtype, n)},
    )


def _plan_krylov(shape: tuple[int, int], dtype: np.dtype, target: Target, sparse: bool) -> Plan:
    """Plan an iteration; where its basis would fill the space, the product route instead."""
    n, d = shape
    least = min(n, d)
    side = "covariance" if d <= n else "gram"
    block, columns = _basis(least, target)
    if columns == 0:
        direct = (_plan_covariance if side == "covariance" else _plan_gram)(shape, dtype, target, sparse)
        return replace(direct, reason=f"an iteration for {target} of {least} would fill the whole space.")
    double = _double(shape, dtype, block * 8)
    rate = THIN_RATE[8 if double or sparse else dtype.itemsize]
    work = 2 * n * d * (0.05 if sparse else 1.0)
    return Plan(
        operator=side,
        solver="krylov",
        steps=(
            Step("measure", "mean and sums of squares in one pass", n * d * 4e-10),
            Step(
                "iterate",
                f"block Krylov, {block} vectors at a time",
                work * block * ITERATIONS / rate,
            ),
            Step(
                "certify",
                "a fresh random probe for missed eigenvalues",
                work * PROBE_COLUMNS / rate,
            ),
        ),
        bytes=8 * 5 * least * columns + 3 * max(n, d) * columns * dtype.itemsize // 2 + (8 << 20),
        reason=f"{_few(target, least)}: products with blocks of vectors cost less than the {side} matrix.",
        options={
            "double": double,
            "block": block,
            "columns": columns,
            "max_passes": 60,
            "fallback": side,
        },
    )


def _keeping(plan: Plan, shape: tuple[int, int], dtype: np.dtype, sparse: bool) -> list[Plan]:
    """An iteration that keeps the centred data from pass to pass, before the same one that does not."""
    if plan.solver != "krylov" or sparse:
        return [plan]
    size = shape[0] * shape[1] * (8 if plan.options["double"] else dtype.itemsize)
    iterate = replace(plan.steps[1], detail=plan.steps[1].detail + ", the centred data kept")
    steps = tuple(
        replace(step, seconds=step.seconds * 0.8) for step in (plan.steps[0], iterate, plan.steps[2])
    )
    kept = replace(plan, steps=steps, bytes=plan.bytes + size, options={**plan.options, "keep": True})
    return [kept, plan]


def _basis(least: int, target: Target) -> tuple[int, int]:
    """Width of a block and of the basis; zero where a basis would hold much of the space."""
    if target.count is None and target.fraction is None:
        return 0, 0
    if target.count is None:
        block, columns = (32, least // 3) if least >= 768 else (0, 0)
        return block, columns
    k = target.count
    block = 16 if k <= 20 else 32
    # Room for about twelve passes: each restart costs the iteration half of its speed.
    columns = max(12 * block, 3 * k + 4 * block)
    return (block, columns) if 2 * columns <= least else _narrow(least, k)


def _narrow(least: int, k: int) -> tuple[int, int]:
    block = max(4, min(16, k + 2))
    columns = 2 * k + 4 * block
    return (block, columns) if columns + block <= least else (0, 0)


def _product_seconds(inner: int, side: int, dtype: np.dtype) -> float:
    return inner * side * side / 2 / PRODUCT_RATE[dtype.itemsize] + inner * side * 2e-10


def _eigh_seconds(m: int, target: Target) -> float:
    few = target.count is not None and target.count <= m // 4
    return (EIGH_FEW if few else EIGH_ALL) * m**3 + 1e-3


def _double(shape: tuple[int, int], dtype: np.dtype, width: int) -> bool:
    return dtype.itemsize == 4 and float(shape[0]) * shape[1] * width <= DOUBLE_BELOW


# ----------------------------------------------------------------- kernel PCA


def plan_kernel_pca(
    n: int,
    d: int,
    dtype: np.dtype,
    target: Target,
    solver: str,
    memory_limit: int,
    *,
    psd: bool,
    whole: bool = False,
    scalar: bool = False,
) -> Plan:
    """Choose how to decompose the centred kernel matrix of n rows.

    Parameters
    ----------
    n, d : int
        Rows and columns.
    dtype : numpy dtype
        Type in which tiles may be kept.
    target : Target
        What is wanted.
    solver : str
        ``"auto"``, ``"dense"`` or ``"krylov"``.
    memory_limit : int
        Bytes of working memory that may be used.
    psd : bool
        Whether the kernel is proven positive semi-definite.
    whole : bool
        Whether every eigenvalue is wanted, unless the kernel is proven.
    scalar : bool
        Whether every value is a call of a user's function, too slow to make twice.
    """
    block, columns = _basis(n, target)
    fits_fraction = target.fraction is None or psd
    whole = whole and not psd
    iterate = columns > 0 and fits_fraction and not whole
    if solver == "dense" or not iterate or (solver == "auto" and n <= 500):
        reason = "solver='dense' was asked for."
        if solver != "dense":
            reason = f"{n} rows are few." if n <= 500 else f"{target} of {n} need the whole spectrum."
        if solver != "dense" and not fits_fraction:
            reason = "a fraction of the variance of a kernel not proven valid needs every eigenvalue."
        if solver != "dense" and whole:
            reason = "repair='clip' sets all negative eigenvalues to 0, and so needs every one."
        if solver == "krylov" and whole:
            raise ParameterError(
                "solver='krylov' finds the largest eigenvalues only, and repair='clip' needs the negative "
                "ones. Leave solver at 'auto'."
            )
        return _must_fit([_plan_dense_kernel(n, d, target, reason)], memory_limit)
    direct = _plan_dense_kernel(n, d, target, "").bytes
    kept = _plan_iterated_kernel(n, d, dtype, target, block, columns, keep=True)
    if kept.bytes <= memory_limit or scalar:
        return _must_fit([kept], memory_limit, direct)
    again = _plan_iterated_kernel(n, d, dtype, target, 2 * block, columns, keep=False)
    return _must_fit([again], memory_limit, direct)


def with_calls(plan: Plan, n: int, calls: Calls) -> Plan:
    """Add what a user's function costs to the first step of a plan."""
    first, *others = plan.steps
    values = n * (n + 1) // 2
    how = "for each pair of rows" if calls.scalar else "for many rows at once"
    detail = (
        f"{first.detail}; a Python function is called {how}, and {values:,} values take about "
        f"{1e6 * calls.seconds:.2g} us each"
    )
    return replace(plan, steps=(Step(first.name, detail, first.seconds + calls.seconds * values), *others))


def _plan_dense_kernel(n: int, d: int, target: Target, reason: str) -> Plan:
    return Plan(
        operator="centered kernel",
        solver="dense",
        steps=(
            Step("evaluate", f"{n} x {n} kernel values", _kernel_seconds(n, d)),
            Step("decompose", f"{target} of {n}", _eigh_seconds(n, target)),
        ),
        bytes=8 * 5 * n * n,
        reason=reason,
    )


def _plan_iterated_kernel(
    n: int, d: int, dtype: np.dtype, target: Target, block: int, columns: int, *, keep: bool
) -> Plan:
    tiles = n * (n + 512) // 2 * dtype.itemsize if keep else 0
    basis = 8 * n * (3 * columns + 10 * block)
    again = 0.0 if keep else _kernel_seconds(n, d)
    passes = 10
    product = n * n * block / PRODUCT_RATE[8] + again
    probe = 7 * (n * n * 16 / PRODUCT_RATE[8] + again)
    detail = "kept in memory, half of n^2" if keep else "filled anew in every pass"
    reason = f"{_few(target, n)}: block Krylov on tiles costs a small part of the full decomposition."
    if not keep:
        reason += " The tiles do not fit into memory_limit, so they are computed in every pass."
    return Plan(
        operator="centered kernel",
        solver="krylov",
        steps=(
            Step("evaluate", f"lower-triangular tiles, {detail}", _kernel_seconds(n, d)),
            Step("iterate", f"block Krylov, {block} vectors at a time", passes * product),
            Step("certify", "bounds on missed eigenvalues", probe),
        ),
        bytes=tiles + basis + (32 << 20),
        reason=reason,
        options={
            "keep": keep,
            "block": block,
            "columns": columns,
            "max_passes": 80,
            "fallback": "dense",
        },
    )


def _few(target: Target, m: int) -> str:
    if target.count is None:
        return f"{target} usually takes few of {m} eigenpairs"
    return f"{target} of {m} are few"


def _kernel_seconds(n: int, d: int) -> float:
    return n * n / 2 * (KERNEL_ENTRY / 2 + d / PRODUCT_RATE[8])


# --------------------------------------------------------------------- shared


def _must_fit(plans: list[Plan], memory_limit: int, direct: int = 0) -> Plan:
    """Return the first plan that fits; ``direct`` is what the fallback of an iteration would need."""
    for plan in plans:
        if plan.bytes <= memory_limit:
            if plan.solver == "krylov" and direct > memory_limit:
                return replace(plan, options={**plan.options, "fallback": None})
            return plan
    least = min(plans, key=lambda plan: plan.bytes)
    raise MemoryLimitError(
        f"The {least.solver} route needs about {least.bytes / 1e9:.3g} GB of working memory, and "
        f"memory_limit allows {memory_limit / 1e9:.3g} GB. Raise memory_limit, or ask for {_smaller(plans)}."
    )


def _smaller(plans: list[Plan]) -> str:
    if any(plan.solver == "krylov" for plan in plans):
        return "fewer components, or use fewer rows"
    return "few components, which solver='krylov' finds in less memory"


def warn_of_cost(plan: Plan, advice: Iterator[str] | str) -> None:
    """Warn where a plan is predicted to take more than ten minutes."""
    if plan.seconds > LONG:
        warnings.warn(
            f"This is predicted to take about {plan.seconds / 60:.0f} minutes ({plan.reason}) {advice}",
            CostWarning,
            stacklevel=4,
        )
