"""Rows of suite ``scale`` about files larger than memory: written once, read block by block."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import generators
import numpy as np
import references
import sklearn.decomposition as peers
from contenders import our_pca
from harness.rows import Contender, Outcome
from harness.timing import TimedRow

from gramian import scan

READ = 8 << 20  # bytes that the cold read asks for at a time
BLOCK = 1 << 16  # rows written at a time


def folder() -> Path:
    """Where the files are: $GRAMIAN_BENCH_FILES, or /var/tmp/gramian-bench; they stay there."""
    path = Path(os.environ.get("GRAMIAN_BENCH_FILES") or "/var/tmp/gramian-bench")
    path.mkdir(parents=True, exist_ok=True)
    return path


def evict(path: Path) -> None:
    """Drop the file from the system's cache, so that the next read is of the disk."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def written(name: str, n: int, d: int, block: Any) -> Path:
    """Return the .npy file of that name and shape, written by ``block(first, count)`` where it is missing."""
    path = folder() / f"{name}-{n}x{d}.npy"
    if not path.exists():
        part = path.with_suffix(".part")
        out = np.lib.format.open_memmap(part, "w+", np.float32, (n, d))
        for start in range(0, n, BLOCK):
            count = min(BLOCK, n - start)
            out[start : start + count] = block(start, count)
        out.flush()
        part.rename(path)
    return path


def tall_blocks(d: int) -> Callable[[int, int], Any]:
    """Blocks of rows from a number on: rank 50 decaying plus noise, all from the same directions."""
    rng = np.random.default_rng(7)
    right = np.linalg.qr(rng.standard_normal((d, generators.RANK)))[0]
    mixing = ((np.sqrt(d) * generators.DECAY ** np.arange(generators.RANK))[:, None] * right.T).astype("f4")

    def block(first: int, count: int) -> Any:
        draw = np.random.default_rng(first)
        X = draw.standard_normal((count, generators.RANK), dtype=np.float32) @ mixing
        return X + np.float32(generators.NOISE) * draw.standard_normal((count, d), dtype=np.float32)

    return block


def faces_file(n: int) -> Path:
    """Extended Yale B pictures shifted by up to four pixels each way, with noise of 4 grey values."""
    pictures = np.load(generators.faces_file())["X"]

    def block(first: int, count: int) -> Any:
        draw = np.random.default_rng(first)
        out = np.empty((count, pictures[0].size), dtype=np.float32)
        for line in out:
            shift = tuple(draw.integers(-4, 5, size=2))
            moved = np.roll(pictures[draw.integers(len(pictures))], shift, axis=(0, 1)).ravel()
            line[:] = moved + 4 * draw.standard_normal(moved.size, dtype=np.float32)
        return out

    return written("faces", n, pictures[0].size, block)


def ours(k: int, limit: int) -> Contender:
    """PCA of a path, which is not in the system's cache."""
    fitted = our_pca(n_components=k, memory_limit=limit)

    def run(path: Path) -> Any:
        evict(path)
        return fitted.run(path)

    return replace(fitted, run=run)


def cold_read(path: Path) -> None:
    """Read a file once from the disk."""
    evict(path)
    buffer = bytearray(READ)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def own_product(path: Path) -> None:
    """Multiply as many blocks with themselves as the file has, each the same one in memory."""
    X = np.load(path, mmap_mode="r")
    block = np.array(X[:BLOCK])
    out = np.empty((X.shape[1], X.shape[1]), dtype=np.float32)
    for _ in range(-(-len(X) // len(block))):
        np.matmul(block.T, block, out=out)


def _incremental(k: int, batch: int) -> Contender:
    def run(path: Path) -> Any:
        evict(path)
        model = peers.IncrementalPCA(k)
        X = np.load(path, mmap_mode="r")
        for start in range(0, len(X), batch):
            model.partial_fit(np.array(X[start : start + batch]), check_input=False)
        return model

    def outcome(state: Any, model: Any) -> Outcome:
        return Outcome(values=model.explained_variance_, vectors=model.components_)

    return Contender(f"IncrementalPCA, batches of {batch}", run, outcome)


def _nothing(state: Any, result: Any) -> Outcome:
    return Outcome()


def _errors(reference: Any, outcome: Outcome) -> dict[str, float]:
    if outcome.values is None:
        return {"residual": 0.0}
    return {"residual": reference.residual(outcome.values, outcome.vectors)}


def _reference(path: Path) -> references.PcaReference:
    return in_passes(np.load(path, mmap_mode="r"))


def in_passes(X: Any) -> references.PcaReference:
    """Means in float64; residuals are then measured in one more pass."""
    n, d = X.shape
    mean, squares = np.zeros(d), 0.0
    for part in references.slices(n, d):
        mean += X[part].sum(axis=0, dtype=np.float64)
    mean /= n
    for part in references.slices(n, d):
        squares += float(((X[part] - mean) ** 2).sum())
    # The largest variance is at most their sum, which is what residuals are relative to here.
    return references.PcaReference(X, mean, np.array([squares / (n - 1)]))


def tall(name: str, n: int, limit: int) -> TimedRow:
    """PCA of a file of 100 columns in one pass."""
    size = n * 400 / 1e9
    return TimedRow(
        name,
        f"fit of a .npy of {n:,} x 100 float32 ({size:.3g} GB, rank 50 decaying plus noise, seed 7) that is "
        f"not in the system's cache, 50 components, memory_limit {limit / 1e9:g} GB; beside the slower of "
        "one cold read of the file and its blocks' products alone (of one block in memory, again and again)",
        data=lambda: written("tall", n, 100, tall_blocks(100)),
        contenders=(
            ours(50, limit),
            Contender("one cold read", lambda path: cold_read(path), _nothing),
            Contender("its products alone", lambda path: own_product(path), _nothing),
        ),
        reference=_reference,
        errors=_errors,
        tolerances={"residual": 1e-5},
        ratio=1.2,
        against=max,
        growth=limit + 100e6,
        warm=False,
        repeats=2,
    )


def wide(n: int, k: int, limit: int) -> TimedRow:
    """PCA of pictures in a file, in a few passes."""
    return TimedRow(
        "file-faces",
        f"fit of a .npy of {n:,} x 32,256 float32 ({n * 32_256 * 4 / 1e9:.2g} GB: Extended Yale B, shifted, "
        f"with noise) that is not in the system's cache, {k} components, memory_limit {limit / 1e9:g} GB; "
        "peer: IncrementalPCA in batches of 1,000",
        data=lambda: faces_file(n),
        contenders=(ours(k, limit), replace(_incremental(k, 1000), slow=True)),
        reference=_reference,
        errors=_errors,
        tolerances={"residual": 1e-5},
        growth=limit + 100e6,
        warm=False,
        only_once=True,
        requires=generators.no_faces,
    )


def text_file(n: int, d: int) -> Path:
    """A CSV file of standard normal numbers with a header, seed 0."""
    path = folder() / f"wide-{n}x{d}.csv"
    if not path.exists():
        part = path.with_suffix(".part")
        names = ",".join(f"c{j}" for j in range(d))
        X = np.random.default_rng(0).standard_normal((n, d))
        np.savetxt(part, X, "%.6f", ",", header=names, comments="")
        part.rename(path)
    return path


def wide_text(n: int, d: int, limit: int) -> TimedRow:
    """Reading a text of few rows and many columns in blocks, beside reading it at once."""

    def reader(name: str, limit: int, *, ours: bool) -> Contender:
        def outcome(path: Path, table: Any) -> Outcome:
            return Outcome(values=np.asarray(table.values[:]).sum(axis=1))

        return Contender(name, lambda path: scan(path).open(limit), outcome, ours=ours)

    return TimedRow(
        "text-wide",
        f"read a CSV file of {n:,} x {d:,} standard normal numbers in blocks, memory_limit "
        f"{limit / 1e6:g} MB; "
        "beside it the same file read at once",
        data=lambda: text_file(n, d),
        contenders=(
            reader("in blocks", limit, ours=True),
            reader("at once", 1 << 40, ours=False),
        ),
        reference=lambda path: np.loadtxt(path, delimiter=",", skiprows=1).sum(axis=1),
        errors=lambda exact, outcome: {"sums": float(np.abs(outcome.values - exact).max())},
        tolerances={"sums": 1e-6},
        ratio=3.0,
        repeats=3,
    )


def rows(quick: bool) -> list[TimedRow]:
    """Every row, at full or at quick size."""
    return [
        tall("file-2gb", *((200_000, 60_000_000) if quick else (5_000_000, 200_000_000))),
        # Minutes, most of them for the disk.
        replace(
            tall("file-16gb", *((200_000, 60_000_000) if quick else (40_000_000, 1_000_000_000))),
            slow=not quick,
        ),
        wide(2200 if quick else 20_000, 20 if quick else 100, 400_000_000 if quick else 1_000_000_000),
        wide_text(60, 2000 if quick else 20_000, 2_000_000 if quick else 20_000_000),
    ]
