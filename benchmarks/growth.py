"""Suite ``growth``: the same work at growing sizes; the site draws seconds and memory over the size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import generators
import landmarks
import references
from contenders import intel_pca, our_kernel_pca, our_pca, peer_kernel_pca, peer_pca, torch_pca
from harness.timing import TimedRow

COLUMNS = 50
GAMMA = 1 / COLUMNS
COMPONENTS = 10
FEW = 100  # rows of the wide tables
LANDMARKS = 1000
# Sizes by family, which is the first part of the rows' names.
SIZES = {
    "rows": (1000, 10_000, 100_000, 1_000_000),
    "columns": (1000, 10_000, 100_000, 300_000),
    "kernel": (1000, 3000, 10_000),
    "landmarks": (10_000, 100_000, 500_000),
    # Last, because PyTorch stays loaded and slows small fits down.
    "square": (300, 1000, 3000, 5000),
}


def rows(quick: bool) -> list[TimedRow]:
    """Return a row for every family and size; quick ones all have the smallest size."""
    make = {"rows": _tall, "columns": _wide, "kernel": _kernel, "landmarks": _landmarks, "square": _square}
    return [
        make[family](f"growth-{family}-{size}", sizes[0] if quick else size)
        for family, sizes in SIZES.items()
        for size in sizes
    ]


def _tall(name: str, n: int) -> TimedRow:
    row = _pca(name, n, COLUMNS, "covariance_eigh")
    # Fits of milliseconds need more than the three runs of the others.
    return replace(row, ratio=1.2, repeats=9 if n > 100_000 else 50)


def _wide(name: str, d: int) -> TimedRow:
    return _pca(name, FEW, d, "full")


def _square(name: str, n: int) -> TimedRow:
    return TimedRow(
        name,
        f"PCA, {COMPONENTS} components, {n:,} x {n:,}: {generators.DECAYING}; mean 0, seed 4; peers: "
        "PCA default (auto) and arpack with tol 0, torch.pca_lowrank with 4 rounds",
        data=lambda: generators.decaying(n, n, 4),
        contenders=(
            our_pca(n_components=COMPONENTS),
            peer_pca("default", n_components=COMPONENTS),
            peer_pca("arpack tol=0", n_components=COMPONENTS, svd_solver="arpack"),
            torch_pca(COMPONENTS, niter=4),
        ),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances={"eigenvalue": 1e-4},
        repeats=5,
        patience=10.0,
    )


def _pca(name: str, n: int, d: int, solver: Any) -> TimedRow:
    settings = {"n_components": COMPONENTS, "svd_solver": solver}
    return TimedRow(
        name,
        f"PCA, {COMPONENTS} components, {n:,} x {d:,} float32 standard normal, seed 0; peers: {solver} of "
        "scikit-learn and of Intel's extension",
        data=lambda: generators.normal(n, d, 0, "float32"),
        contenders=(
            our_pca(n_components=COMPONENTS),
            peer_pca(solver, **settings),
            intel_pca(solver, **settings),
        ),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances={"eigenvalue": 1e-4},
        repeats=3,
        patience=10.0,
    )


def _kernel(name: str, n: int) -> TimedRow:
    settings: dict[str, Any] = {"n_components": COMPONENTS, "gamma": GAMMA}
    return TimedRow(
        name,
        f"kernel PCA, RBF gamma=1/50, {COMPONENTS} components, {n:,} x {COLUMNS} float64 standard normal, "
        "seed 0; peers: KernelPCA arpack and dense",
        data=lambda: generators.normal(n, COLUMNS, 0),
        contenders=(
            our_kernel_pca(**settings),
            peer_kernel_pca("arpack", eigen_solver="arpack", **settings),
            # Cubic: a minute at 10,000 rows.
            *([peer_kernel_pca("dense", eigen_solver="dense", **settings)] if n < 10_000 else []),
        ),
        reference=lambda X: references.KernelReference(X - X.mean(axis=0), GAMMA),
        errors=references.kernel_errors,
        tolerances={"residual": 1e-6},
        repeats=3,
        patience=10.0,
    )


def _landmarks(name: str, n: int) -> TimedRow:
    return TimedRow(
        name,
        f"kernel PCA with {LANDMARKS} uniform landmarks, RBF gamma=1/50, {COMPONENTS} components, {n:,} x "
        f"{COLUMNS} float32 standard normal, seed 0; peer: Nystroem and PCA; errors: the share of the trace "
        "that the landmarks leave unexplained",
        data=lambda: generators.normal(n, COLUMNS, 0, "float32"),
        contenders=(landmarks.ours("uniform", LANDMARKS), landmarks.peer(LANDMARKS)),
        reference=_none,
        errors=lambda _, outcome: {"unexplained": float(outcome.values[-1])},
        repeats=3,
        patience=10.0,
    )


def _none(X: Any) -> None:
    return None
