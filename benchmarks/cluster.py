"""Suite ``cluster``: a table in Zarr chunks, by Dask's threads and by workers, beside dask_ml and batches."""

from __future__ import annotations

import atexit
import shutil
import sys
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import dask.array as da
import files
import numpy as np
import sklearn.decomposition as peers
import zarr
from contenders import our_pca
from distributed import Client, LocalCluster
from harness.rows import Check, Contender, Options, Outcome, Report, Standing
from harness.timing import TimedRow

D, CHUNK, COMPONENTS = 200, 50_000, 50
WORKER_BYTES = 2e9
EFFICIENCY = 0.8


@dataclass
class Work:
    """The table, and who works on it: workers, each with one thread, or threads of this process."""

    path: Path
    workers: int = 0

    @property
    def chunked(self) -> Any:
        return da.from_zarr(str(self.path))

    @cached_property
    def client(self) -> Client:
        local = LocalCluster(n_workers=self.workers, threads_per_worker=1, dashboard_address=":0")
        result = Client(local, set_as_default=False)
        atexit.register(local.close)
        atexit.register(result.close)
        result.wait_for_workers(self.workers)
        result.run(_imported)
        return result

    def fit(self, model: Any) -> Any:
        if not self.workers:
            return model.fit(self.chunked)
        with self.client.as_current():
            self.client.run(_forget_peak)
            return model.fit(self.chunked)

    def peak(self) -> int:
        """Bytes of the largest worker since the last fit began."""
        return max(self.client.run(_peak).values()) if self.workers else 0


def _imported() -> None:
    import gramian

    gramian.PCA(1).fit(np.eye(3))


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def table(n: int) -> Path:
    """Write a store of rank 50 decaying plus noise; it is removed when the benchmarks end."""
    path = files.folder() / f"tall-{n}x{D}.zarr"
    if not path.exists():
        if "--child" not in sys.argv:
            atexit.register(shutil.rmtree, path, ignore_errors=True)
        part, block = path.with_suffix(".part"), files.tall_blocks(D)
        array = zarr.create_array(part, shape=(n, D), chunks=(CHUNK, D), dtype="f4", overwrite=True)
        for start in range(0, n, CHUNK):
            array[start : start + CHUNK] = block(start, min(CHUNK, n - start))
        part.rename(path)
    return path


def _ours(peaks: list[int]) -> Contender:
    fitted = our_pca(n_components=COMPONENTS)

    def run(work: Work) -> Any:
        import gramian

        return work.fit(gramian.PCA(COMPONENTS, random_state=0))

    def outcome(work: Work, model: Any) -> Outcome:
        peaks.append(work.peak())
        return fitted.outcome(work, model)

    return replace(fitted, run=run, outcome=outcome)


def _peers() -> tuple[Contender, ...]:
    return _dask_ml("randomized"), replace(_dask_ml("full"), slow=True), _batches()


def _dask_ml(solver: str) -> Contender:
    def run(work: Work) -> Any:
        from dask_ml.decomposition import PCA

        return work.fit(PCA(COMPONENTS, svd_solver=solver, random_state=0))

    return Contender(f"dask_ml PCA {solver}", run, _outcome, requires="dask_ml")


def _batches() -> Contender:
    def run(work: Work) -> Any:
        model, array = peers.IncrementalPCA(COMPONENTS), zarr.open(work.path, mode="r")
        for start in range(0, array.shape[0], CHUNK):
            model.partial_fit(array[start : start + CHUNK], check_input=False)
        return model

    return Contender(f"IncrementalPCA, batches of {CHUNK}", run, _outcome)


def _outcome(work: Work, model: Any) -> Outcome:
    return Outcome(values=np.asarray(model.explained_variance_, dtype="f8"), vectors=model.components_)


def _errors(reference: Any, outcome: Outcome) -> dict[str, float]:
    return {"residual": reference.residual(outcome.values, outcome.vectors)}


@dataclass(frozen=True)
class ClusterRow(TimedRow):
    """A row that also looks at the memory of workers."""

    peaks: list[int] = field(default_factory=list)

    def _memory(self, options: Options, taking_part: list[Contender], standings: list[Standing]) -> None:
        """Measure this process where it works itself; workers are looked at during the fits."""
        if not any(self.peaks):
            super()._memory(options, taking_part, standings)

    def _checks(self, report: Report) -> list[Check]:
        results = [check for check in super()._checks(report) if not check.text.startswith("residual")]
        if report.ours is not None and report.ours.errors:
            results.append(Check("residual of ours", report.ours.errors["residual"], 1e-5))
        if any(self.peaks):
            results.append(Check("peak memory of a worker, GB", max(self.peaks) / 1e9, WORKER_BYTES / 1e9))
        return results


def _beside(name: str, n: int, workers: int, who: str) -> ClusterRow:
    peaks: list[int] = []
    return ClusterRow(
        name,
        f"fit of {n:,} x {D} float32 in Zarr chunks of {CHUNK:,} rows (rank 50 decaying plus noise, seed 7), "
        f"{COMPONENTS} components, by {who}; peers: dask_ml.decomposition.PCA there, IncrementalPCA here",
        data=lambda: Work(table(n), workers),
        contenders=(_ours(peaks), *_peers()),
        reference=lambda work: files.in_passes(zarr.open(work.path, mode="r")),
        errors=_errors,
        # Who is further off than that is no peer; ours is checked against 1e-5.
        tolerances={"residual": 1e-2},
        ratio=0.5,
        growth=WORKER_BYTES,
        repeats=2,
        peaks=peaks,
    )


def _weak(n: int) -> ClusterRow:
    """Twice the rows for twice the workers."""

    def alone(work: tuple[Work, Work]) -> Any:
        import gramian

        return work[1].fit(gramian.PCA(COMPONENTS, random_state=0))

    peaks: list[int] = []
    both = _ours(peaks)
    return ClusterRow(
        "cluster-weak",
        f"weak scaling: fit of {n:,} x {D} by two workers beside {n // 2:,} x {D} by one, of one thread each",
        data=lambda: (Work(table(n), 2), Work(table(n // 2), 1)),
        contenders=(
            replace(
                both,
                run=lambda work: both.run(work[0]),
                outcome=lambda work, model: both.outcome(work[0], model),
            ),
            Contender("half of the rows, one worker", alone, lambda work, model: Outcome()),
        ),
        reference=lambda work: files.in_passes(zarr.open(work[0].path, mode="r")),
        errors=lambda reference, outcome: (
            {"residual": 0.0} if outcome.values is None else _errors(reference, outcome)
        ),
        tolerances={"residual": 1e-2},
        ratio=1 / EFFICIENCY,
        repeats=3,
        peaks=peaks,
    )


def rows(quick: bool) -> list[ClusterRow]:
    """Every row of the suite, at full or at quick size."""
    n = 200_000 if quick else 4_000_000
    return [
        _beside("cluster-threads", n, 0, "Dask's threads"),
        _beside("cluster-workers", n, 2, "two workers of one thread each"),
        replace(_weak(n), slow=not quick),
    ]
