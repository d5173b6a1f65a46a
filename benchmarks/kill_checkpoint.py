"""Kill a fit with a checkpoint, and a transform, at random moments: is anything lost, and what does it cost?

    python benchmarks/kill_checkpoint.py [--kills 20] [--gigabytes 2] [--columns 2000] [--folder /var/tmp]

A fit over a file of random numbers with a falling spectrum is started, killed with SIGKILL at a random
moment, started again, and so on; after the last kill it runs to its end, and its answer is compared with that
of a fit that nobody killed. Then ``gramian transform`` is killed as often: the output must be the earlier one
or the new one, complete. At last fits with and without a checkpoint alternate, and the ratio of their times
is printed, with the bytes that the checkpoint took.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import shutil
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gramian
from gramian.cli import main
from gramian.store import passes

COMPONENTS = 10


def write(path: Path, gigabytes: float, columns: int) -> None:
    """Write a .npy file of float32: a falling spectrum, noise and a mean."""
    rng = np.random.default_rng(0)
    n = int(gigabytes * 1e9 / 4 / columns)
    basis = (0.9 ** np.arange(60))[:, None] * rng.standard_normal((60, columns))
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (n, columns)}
        )
        for start in range(0, n, 1000):
            m = min(1000, n - start)
            block = rng.standard_normal((m, 60)) @ basis + 0.5 * rng.standard_normal((m, columns)) + 10
            file.write(block.astype(np.float32).tobytes())


def model(path: Path) -> gramian.PCA:
    """Return a PCA that multiplies in every pass anew, in less memory than the file has."""
    limit = max(path.stat().st_size // 3, 80_000_000)
    return gramian.PCA(COMPONENTS, solver="krylov", random_state=0, memory_limit=limit)


def forked(work: Callable[[], object]) -> int:
    """Run something in a process of its own, which starts at once because gramian is imported here."""
    child = os.fork()
    if not child:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            work()
        os._exit(0)
    return child


def ended(child: int) -> int:
    """Wait for the end of a process and return its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(work: Callable[[], object], longest: float) -> bool:
    """Start something, kill it at a random moment, and say whether it was still alive."""
    child = forked(work)
    time.sleep(random.uniform(0, longest))
    os.kill(child, signal.SIGKILL)
    return ended(child) == -signal.SIGKILL


def seconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure_kills(path: Path, kills: int) -> None:
    """Print what so many kills of a fit, and of a transform, have changed."""
    folder, checkpoint = path.parent, path.parent / "checkpoint"
    start = time.perf_counter()
    whole = model(path).fit(path)
    took = time.perf_counter() - start
    passes.SECONDS, usual = 0.02 * took, passes.SECONDS  # a fit of an hour in small
    count = answers = 0
    apart = turned = 0.0
    while count < kills or not answers:
        if count < kills and killed(lambda: model(path).fit(path, checkpoint=checkpoint), 0.4 * took):
            count += 1
            continue
        result = model(path).fit(path, checkpoint=checkpoint)
        apart = max(apart, np.abs(result.explained_variance_ / whole.explained_variance_ - 1).max())
        turned = max(turned, np.abs(result.components_ - whole.components_).max())
        answers += 1
        shutil.rmtree(checkpoint)
    passes.SECONDS = usual
    print(
        f"fit of {took:.1f} s, killed {count} times on the way to {answers} answers: variances differ by "
        f"{apart:.1e} (relative), components by {turned:.1e}.",
        flush=True,
    )
    whole.save(folder / "m.gramian")
    out = folder / "scores.npy"
    command = ["transform", str(folder / "m.gramian"), str(path), "-o", str(out), "--memory-limit", "200MB"]
    took = seconds(lambda: ended(forked(lambda: main(command))))
    new = out.read_bytes()
    lost = count = 0
    for _ in range(kills):
        out.write_bytes(b"earlier")
        count += killed(lambda: main(command), 1.2 * took)
        lost += out.read_bytes() not in (b"earlier", new)
    print(
        f"transform of {took:.1f} s, {count} of {kills} killed: {lost} left anything but a whole file.",
        flush=True,
    )


def measure_cost(path: Path, rounds: int = 3) -> None:
    """Print the ratio of times with and without a checkpoint, and what of the time was writing."""
    checkpoint, keep = path.parent / "checkpoint", passes.Pass.keep
    ratios, shares = [], []
    for _ in range(rounds):
        writing = [0.0]

        def timed(*given: object, writing: list[float] = writing) -> None:
            writing[0] += seconds(lambda: keep(*given))

        without = seconds(lambda: model(path).fit(path))
        passes.Pass.keep = timed
        with_it = seconds(lambda: model(path).fit(path, checkpoint=checkpoint))
        passes.Pass.keep = keep
        ratios.append(with_it / without)
        shares.append(writing[0] / with_it)
        sizes = [file.stat().st_size for file in checkpoint.iterdir()]
        shutil.rmtree(checkpoint)
        print(
            f"without {without:.1f} s, with {with_it:.1f} s, of which writing {writing[0]:.2f} s; "
            f"{sum(sizes) / 1e6:.1f} MB of checkpoint in {len(sizes) - 1} passes",
            flush=True,
        )
    print(
        f"a checkpoint takes {statistics.median(ratios):.3f} of the time without, and writing "
        f"{statistics.median(shares):.4f} of the fit (medians of {rounds})."
    )


def measure() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--columns", type=int, default=2000)
    parser.add_argument("--folder", default="/var/tmp")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        path = Path(place, "x.npy")
        write(path, given.gigabytes, given.columns)
        if given.kills:
            measure_kills(path, given.kills)
        measure_cost(path)


if __name__ == "__main__":
    measure()
