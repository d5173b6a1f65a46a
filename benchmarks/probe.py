"""``python benchmarks/probe.py``: the figures of docs/decisions/0024-a-probe-of-the-product.md, in a minute.

Prints the error of a scatter matrix of float32 products with its estimate and its bound by a probe, relative
to the largest eigenvalue; the CPU time of a pass with and without the probe, in alternation; and that of a
pass over a file with float32 products and their probe, and with float64 products. The largest errors over
bounds are printed by ``python benchmarks/calibrate.py products``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gramian
from gramian.engine.centered import scatter
from gramian.engine.linear import PROBE_COLUMNS, LinearProblem
from gramian.engine.scatter import CovarianceOperator
from gramian.tables.as_rows import as_rows
from gramian.tables.rows import Rows

REPEATS = 7


def cpu_times(*runs: Callable[[], object]) -> list[float]:
    """Return the least CPU time of each, in alternation after one run that does not count."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(REPEATS + 1):
        for run, one in zip(runs, seconds, strict=True):
            start = time.process_time()
            run()
            one.append(time.process_time() - start)
    return [min(one[1:]) for one in seconds]


def bounds(n: int, d: int) -> None:
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    problem = LinearProblem(as_rows(X))
    operator = problem._covariance(double=False)
    view = problem.measured()
    estimate = CovarianceOperator(view, whole=True, matrix=operator.dense()).dense_error
    C = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    exact = C.T @ C
    error = np.linalg.norm(operator.dense() - exact, 2)
    largest = np.linalg.eigvalsh(exact)[-1]
    said = ", ".join(
        f"{name} {value / largest:.1g}"
        for name, value in (
            ("error", error),
            ("estimate", estimate),
            ("bound by the probe", operator.dense_error),
        )
    )
    print(f"{n:,} x {d}, of the largest eigenvalue: {said}")


def passes(n: int, d: int) -> None:
    rows = as_rows(np.random.default_rng(0).standard_normal((n, d), dtype=np.float32))
    probe = np.random.default_rng(1).standard_normal((d, PROBE_COLUMNS))
    probed, plain = cpu_times(
        lambda: scatter(rows, center=True, probe=probe), lambda: scatter(rows, center=True)
    )
    print(f"scatter of {n:,} x {d}: {probed:.3f} s of CPU time with the probe, {plain:.3f} s without")


def file_passes(n: int, d: int, folder: Path) -> None:
    path = folder / "x.npy"
    np.save(path, np.random.default_rng(0).standard_normal((n, d), dtype=np.float32))
    probe = np.random.default_rng(1).standard_normal((d, PROBE_COLUMNS))

    def rows() -> Rows:
        return as_rows(gramian.scan(path))

    single, double = cpu_times(
        lambda: scatter(rows(), center=True, probe=probe), lambda: scatter(rows(), center=True, double=True)
    )
    print(
        f"pass over a file of {n:,} x {d} ({path.stat().st_size / 1e6:.0f} MB): {single:.3f} s of CPU time "
        f"in float32 with the probe, {double:.3f} s in float64"
    )


def main() -> None:
    bounds(1_000_000, 50)
    passes(300_000, 100)
    with tempfile.TemporaryDirectory() as folder:
        for n, d in ((800_000, 100), (1_600_000, 50)):
            file_passes(n, d, Path(folder))


if __name__ == "__main__":
    main()
