"""What PCA of a table in chunks takes on many workers: a model, and the runs that it was fitted to.

``python benchmarks/scaling.py --measure`` runs it on one and two workers of this machine and writes down
what they took, and docs/scaling.md; without that the model is fitted to what was written down, and printed.

A pass over n rows of d numbers in p chunks, by w workers of one thread, takes

    n d 4 / (w R) + n d^2 / 2 / (w F) + T tasks + (p / w + log2 w) 8 d^2 / B

seconds: reading and unpacking at R bytes a second, multiplying at F multiply-adds a second, T seconds of the
scheduler for each task, and results of 8 d^2 bytes that are combined over links of B bytes a second.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

RESULTS = Path(__file__).parent / "results" / "scaling.json"
PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
NETWORK = 1.25e9  # bytes a second: 10 Gb/s
MERGED = 8


@dataclass(frozen=True)
class Run:
    """One pass: its size, who made it, and the seconds that were measured."""

    n: int
    d: int
    chunk: int
    workers: int
    seconds: float = 0.0

    @property
    def chunks(self) -> int:
        return -(-self.n // self.chunk)

    @property
    def tasks(self) -> int:
        """Chunks read, worked on, and combined by eight."""
        total, left = 2 * self.chunks, self.chunks
        while left > 1:
            left = -(-left // MERGED)
            total += left
        return total

    @property
    def terms(self) -> list[float]:
        """What 1 / R, 1 / F and T are multiplied by, and a second of the start."""
        return [4 * self.n * self.d / self.workers, self.n * self.d**2 / 2 / self.workers, self.tasks, 1.0]

    @property
    def moved(self) -> float:
        """Bytes of results that change workers."""
        return 8 * self.d**2 * (self.chunks * (1 - 1 / self.workers) + 1)

    def sent(self, bandwidth: float) -> float:
        """Seconds of combining results, links of all workers at once."""
        return 8 * self.d**2 * (self.chunks / self.workers + math.log2(self.workers)) / bandwidth


def fitted(runs: list[Run]) -> np.ndarray:
    """Coefficients of the terms, none below 0, with relative errors of least squares."""
    seconds = np.array([run.seconds for run in runs])
    result, _ = nnls(np.array([run.terms for run in runs]) / seconds[:, None], np.ones(len(runs)))
    return result


def predicted(run: Run, result: np.ndarray, bandwidth: float = NETWORK) -> float:
    """Seconds of a pass on machines with links of that bandwidth."""
    return float(np.dot(run.terms, result)) + run.sent(bandwidth)


def measured(shrink: int) -> list[Run]:
    """Time a pass over stores of a few sizes, by one worker and by two."""
    import cluster
    import dask.array as da
    import files
    import zarr

    import gramian

    sizes = (800_000, 200, 50_000), (800_000, 200, 10_000), (1_600_000, 200, 50_000), (3_200_000, 50, 200_000)
    runs = []
    for n, d, chunk in sizes:
        n, chunk = n // shrink, chunk // shrink
        path, block = files.folder() / f"scaling-{n}x{d}-{chunk}.zarr", files.tall_blocks(d)
        try:
            array = zarr.create_array(path, shape=(n, d), chunks=(chunk, d), dtype="f4", overwrite=True)
            for start in range(0, n, chunk):
                array[start : start + chunk] = block(start, min(chunk, n - start))
            for workers in (1, 2):
                work, taken = cluster.Work(path, workers), []
                with work.client.as_current():
                    for _ in range(3):
                        model = gramian.PCA(10, solver="covariance", tol=1e-3)
                        begun = time.perf_counter()
                        model.fit(da.from_zarr(str(path)))
                        taken.append(time.perf_counter() - begun)
                runs.append(Run(n, d, chunk, workers, min(taken)))
                print(runs[-1], file=sys.stderr, flush=True)
                work.client.close()
        finally:
            shutil.rmtree(path, ignore_errors=True)
    return runs


def report(runs: list[Run]) -> str:
    """Say what was measured, what was fitted, and what follows for many workers."""
    result = fitted(runs)
    read, multiply, task, start = result
    off = [predicted(run, result) / run.seconds for run in runs]

    def rate(one: float, unit: str) -> str:
        return f"{1 / one / 1e9:.2g} {unit} a second" if one else "too fast to be seen"

    lines = [
        f"A worker reads and unpacks {rate(read, 'GB')} and makes {rate(multiply, 'GF (multiply-adds)')};",
        f"a task takes the scheduler {1e3 * task:.2g} ms, and a fit {start:.2g} s beside its pass.",
        "",
        f"{'rows':>14}{'columns':>9}{'chunk':>9}{'workers':>9}{'measured':>10}{'model':>9}",
    ]
    for run, ratio in zip(runs, off, strict=True):
        lines.append(
            f"{run.n:>14,}{run.d:>9}{run.chunk:>9,}{run.workers:>9}{run.seconds:>8.2f} s{ratio:>8.2f}x"
        )
    lines += [
        "",
        f"{'':>8}{'columns':>9}{'chunk':>9}{'workers':>9}{'tasks':>12}{'moved':>10}{'pass':>11}"
        f"{'of ideal':>10}",
    ]
    for size, name in ((1e12, "1 TB"), (1e14, "100 TB")):
        for d, megabytes in ((200, 64), (200, 512), (2000, 512)):
            n, chunk = int(size / 4 / d), int(megabytes * 1e6 / 4 / d)
            for workers in (10, 100, 1000):
                run = Run(n, d, chunk, workers)
                seconds = predicted(run, result)
                ideal = float(np.dot(run.terms[:2], result[:2]))
                lines.append(
                    f"{name:>8}{d:>9}{megabytes:>6} MB{workers:>9,}{run.tasks:>12,}{run.moved / 1e9:>7.1f} GB"
                    f"{seconds:>9,.0f} s{ideal / seconds:>10.0%}"
                )
    return "\n".join(lines)


def main() -> None:
    """Measure where that is asked for, and print the model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true", help="run it on this machine first")
    parser.add_argument("--shrink", type=int, default=1, help="divide rows by this")
    asked = parser.parse_args()
    if asked.measure:
        runs = measured(asked.shrink)
        RESULTS.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")
        before, _, after = PAGE.read_text().partition("```text\n")
        PAGE.write_text(f"{before}```text\n{report(runs)}\n```{after.partition('```')[2]}")
    else:
        runs = [Run(**run) for run in json.loads(RESULTS.read_text())]
    print(report(runs))


if __name__ == "__main__":
    main()
