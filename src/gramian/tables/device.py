"""Passes over rows that are arrays of a device, and what fits there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import array_api_compat

from gramian.core.arrays import DEVICE_TILE, device_memory, is_numpy, memory_limit_bytes
from gramian.core.checks import amount, slices
from gramian.errors import MemoryLimitError
from gramian.tables.rows import Rows

R = TypeVar("R")
# Share of a device's free memory that one block of a table may take: what is made of it in float64 takes a
# multiple of it.
BLOCK = 1 / 24
MOST_BYTES = 1 << 30  # of one block; more is not faster
SAFE = 0.9  # of the free memory, which others may take from
FULL_TILES = 8 << 30  # bytes that are free where tiles of a kernel matrix are large
# Capabilities of CUDA devices that multiply float64 at half the speed of float32 or more.
FULL_DOUBLE = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0))


# ------------------------------------------------------------------ passes over a device


def device_blocks(
    rows: Rows, work: Callable[[slice, Any], R], axis: int = 0, *, width: int = 0
) -> Iterator[R]:
    """Yield ``work`` of blocks of rows (0) or of columns (1) on a device, in order.

    Parameters
    ----------
    rows : Rows
        On a device, or moved there.
    work : callable
        Takes the slice and the numbers.
    axis : int
    width : int
        Numbers that are made of a row, where they are more than it has.

    Raises
    ------
    MemoryLimitError
        Where the device has no memory for a block.
    """
    every = slice(None)
    for chunk in slices(rows.shape[axis], block_length(rows, axis, width)):
        with explained_memory_errors(rows.like, named(rows)), full_precision():
            result = work(chunk, rows.cut(chunk, every) if axis == 0 else rows.cut(every, chunk))
        yield result


@contextmanager
def explained_memory_errors(like: Any, what: str) -> Iterator[None]:
    """Raise a MemoryLimitError that states what would fit if a step runs out of device memory."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    kinds = () if torch is None else (torch.OutOfMemoryError,)
    kinds += () if cupy is None else (cupy.cuda.memory.OutOfMemoryError,)
    try:
        yield
    except kinds as error:
        if is_numpy(like):
            raise
        error.__traceback__ = None  # what it holds is not free before
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()
        raise MemoryLimitError(_does_not_fit(what, "it is out of memory", like)) from error


@contextmanager
def full_precision() -> Iterator[None]:
    """Have PyTorch multiply float32 as float32 inside: rounding bounds do not hold for TF32 and bfloat16."""
    torch = sys.modules.get("torch")
    kinds = [] if torch is None else [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul]
    if torch is not None and not all(hasattr(kind, "fp32_precision") for kind in kinds):
        # Before PyTorch 2.9.
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)
        return
    former = [kind.fp32_precision for kind in kinds]
    for kind in kinds:
        kind.fp32_precision = "ieee"
    try:
        yield
    finally:
        for kind, precision in zip(kinds, former, strict=True):
            kind.fp32_precision = precision


def _does_not_fit(what: str, why: str, like: Any) -> str:
    free = free_memory(like)
    # In float64: the covariance and its intermediates; half of a kernel matrix.
    columns, rows = int((free / 32) ** 0.5), int((free / 8) ** 0.5)
    return (
        f"{what} do not fit on the device: {why}, and {amount(free)} of its memory are free. What would "
        f"fit: {int(SAFE * free) // 8:,} numbers, for PCA in {columns:,} columns; of a kernel matrix that is "
        f"kept {rows:,} rows. Move them to the host, or give batches to partial_fit."
    )


def tile_length(like: Any) -> int:
    """Return how many rows a tile of a kernel matrix has on a device: so many that starting costs little."""
    free = free_memory(like)
    cuda = getattr(array_api_compat.device(like), "type", None) == "cuda"
    return DEVICE_TILE * (1 if not cuda or free < FULL_TILES else 4)


def quick_double(like: Any) -> bool:
    """Return whether float64 products are about as fast as float32 where an array is: on few devices."""
    device = None if is_numpy(like) else array_api_compat.device(like)
    if getattr(device, "type", None) != "cuda":
        return False
    return sys.modules["torch"].cuda.get_device_capability(device) in FULL_DOUBLE


def named(rows: Rows) -> str:
    """Return the size of a table, for messages."""
    n, d = rows.shape
    return f"{n:,} rows x {d:,} columns"


def block_length(rows: Rows, axis: int, width: int = 0) -> int:
    """Return how many rows (0) or columns (1) a block on a device has."""
    n, d = rows.shape
    size = min(MOST_BYTES, int(BLOCK * free_memory(rows.like)))
    length = size // max(1, max(rows.shape[1 - axis], width) * rows.dtype.itemsize)
    return max(1, min((n, d)[axis], max(length, rows.least_columns if axis else 1)))


def free_memory(like: Any) -> int:
    """Return the free bytes where an array is; for the host, its memory limit."""
    return device_memory(like) or memory_limit_bytes(None)
