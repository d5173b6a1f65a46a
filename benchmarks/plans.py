"""Suite ``plans``: fits of milliseconds, whose plans must say within a factor of 3 what they take."""

from __future__ import annotations

from typing import Any

import generators
from contenders import our_kernel_pca, our_pca
from harness.rows import Contender, Outcome, Row
from harness.timing import TimedRow
from scipy import sparse

SHAPES = ((50, 5), (200, 20), (1000, 50), (300, 3000), (20_000, 50))
COMPONENTS = 4
MOST_TILES = 2000  # rows up to which kernel matrices are in the suite
FILLED = 0.05


def rows(quick: bool) -> list[Row]:
    """Every row of the suite, which is quick at full size."""
    results: list[Row] = []
    for n, d in SHAPES:
        pca = our_pca(n_components=COMPONENTS)
        results += [_fit("pca", pca, n, d, kind) for kind in ("float64", "float32", "sparse")]
        if n <= MOST_TILES:
            results.append(_fit("kernel-pca", our_kernel_pca(n_components=COMPONENTS), n, d, "float64"))
    return results


def _fit(name: str, contender: Contender, n: int, d: int, kind: str) -> TimedRow:
    return TimedRow(
        f"plan-{name}-{n}x{d}-{kind}",
        f"fit, {COMPONENTS} components, {n:,} x {d:,} {kind}: "
        + (f"a share of {FILLED} uniform, seed 0" if kind == "sparse" else "standard normal, seed 0"),
        data=lambda: _data(n, d, kind),
        contenders=(contender,),
        reference=lambda X: None,
        errors=_errors,
        tolerances={"certificate not ok": 0.0},
        repeats=15,
    )


def _data(n: int, d: int, kind: str) -> Any:
    if kind == "sparse":
        return sparse.random_array((n, d), density=FILLED, format="csr", rng=0)
    return generators.normal(n, d, 0, kind)


def _errors(reference: Any, outcome: Outcome) -> dict[str, float]:
    return {"certificate not ok": float(not outcome.certificate)}
