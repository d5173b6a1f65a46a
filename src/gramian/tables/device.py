"""Rows of the host that a device computes with: they are moved there once."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

import array_api_compat
import numpy as np

from gramian.core.arrays import DEVICE_TILE, device_memory, is_numpy, memory_limit_bytes, to_numpy
from gramian.core.checks import amount, slices
from gramian.errors import DataError, MemoryLimitError, ParameterError, needs
from gramian.tables.memory import ArrayRows
from gramian.tables.rows import Block, Holes, Rows

R = TypeVar("R")
# Share of a device's free memory that one block of a table may take: what is made of it in float64 takes a
# multiple of it.
BLOCK = 1 / 24
MOST_BYTES = 1 << 30  # of one block; more is not faster
SAFE = 0.9  # of the free memory, which others may take from
FULL_TILES = 8 << 30  # bytes that are free where tiles of a kernel matrix are large
# Capabilities of CUDA devices that multiply float64 at half the speed of float32 or more.
FULL_DOUBLE = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0))


@dataclass(frozen=True, eq=False)
class DeviceRows(Rows):
    """Rows of the host, in memory or stored, that are arrays of a device for whoever computes with them.

    What looks at the rows themselves, as the search for NaN, does so on the host.

    Attributes
    ----------
    host : Rows
    device : torch.device
    """

    host: Rows
    device: Any
    keeps_scores: ClassVar[bool] = False

    # What is asked of the rows, not of where they are worked on.
    shape, at_home, home, free_to_revisit, speed, cuts_columns, least_columns = (
        property(attrgetter(f"host{attribute}"))
        for attribute in (
            ".shape",
            "",
            ".like",
            ".free_to_revisit",
            ".speed",
            ".cuts_columns",
            ".least_columns",
        )
    )

    @cached_property
    def like(self) -> Any:
        return _torch().asarray(np.empty((0, 0), dtype=self.dtype), device=self.device)

    @property
    def resident_bytes(self) -> int:
        return 0  # on the device

    @cached_property
    def _whole(self) -> Any:
        if self.host.stored_bytes > SAFE * free_memory(self.like):
            why = "all of them have to be there at once"
            raise MemoryLimitError(_does_not_fit(named(self), why, self.like))
        table = _torch().empty(self.shape, dtype=self.like.dtype, device=self.device)
        for rows, block in self._blocks():
            table[rows] = block
        return table

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        """Move blocks of rows to the device, one after the other."""
        for rows in slices(self.shape[0], block_length(self, 0)):
            block = np.ascontiguousarray(self.host.cut(rows, slice(None)))
            yield rows, _torch().asarray(block, device=self.device, copy=True)

    def cut(self, rows: slice, columns: slice) -> Any:
        return self._whole[rows, columns]

    def in_memory(self) -> Any:
        """Return the whole table on the device.

        Raises
        ------
        MemoryLimitError
            If it takes more than the device has.
        """
        return self._whole

    def owned(self) -> Any:
        return self.host.owned()

    def converted(self, f: Callable[[Any], Any]) -> DeviceRows:
        return replace(self, host=self.host.converted(f))

    def reduce(
        self, f: Callable[[Block], R], combine: Callable[[R, R], R], rows_per_block: int | None = None
    ) -> R:
        return self.host.reduce(f, combine, rows_per_block)

    def require_finite(self, *, holes: bool = False) -> Holes | None:
        return self.host.require_finite(holes=holes)

    def mapped(
        self, f: Callable[[Rows], Any], columns: int, dtype: Any = None, *, holes: bool = False
    ) -> Any:
        """Return ``f`` of all rows in the host's memory, computed block by block on the device."""
        out = np.empty((self.shape[0], columns), dtype=dtype or self.dtype)

        try:
            for rows, values in self._blocks():
                where = f" of the block from row {rows.start} on"
                with full_precision():
                    out[rows] = to_numpy(f(ArrayRows(values, dtype=self.dtype, part=where)))
        except DataError:
            # Who looks at one block does not know where in the table it is.
            self.host.require_finite(holes=holes)
            raise
        return out


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
        f"kept {rows:,} rows. Leave device out to work on the host, or give batches to partial_fit."
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
    return _torch().cuda.get_device_capability(device) in FULL_DOUBLE


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


# ------------------------------------------------------------------------ where work is done


def sent_to(rows: Rows, device: str | None) -> Rows:
    """Return rows that are worked on where an estimator's ``device`` says: the one place that decides it.

    Parameters
    ----------
    rows : Rows
    device : str or None
        None leaves work where the rows are. "cuda" or "cuda:1", or "cpu" for PyTorch on the host.

    Raises
    ------
    ParameterError
        For another word, a device that is not there, and for arrays that are on another device already.
    DataError
        For sparse rows.
    MissingExtraError
        Without PyTorch.
    """
    if device is None or isinstance(rows, DeviceRows):
        return rows
    if not isinstance(device, str) or not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        metal = device == "mps"
        why = ": it has no float64, which means, sums and certificates need" if metal else ""
        hint = 'Write "cuda", "cuda:1" or "cpu" (PyTorch on the host), or leave it out.'
        raise ParameterError("device", device, f"is not supported{why}", hint)
    torch = _torch()
    if device.startswith("cuda"):
        there = torch.cuda.device_count() if torch.cuda.is_available() else 0
        number = int(device.partition(":")[2] or 0)
        if number >= there:
            sees = f"sees {there or 'no'} CUDA device{'' if there == 1 else 's'} here"
            hint = "Leave device out to work on the host."
            raise ParameterError("device", device, f", but PyTorch {torch.__version__} {sees}", hint)
        device = f"cuda:{number if ':' in device else torch.cuda.current_device()}"
    if rows.skips_zeros or not rows.in_one_place:
        kind, way = ("sparse", "X.toarray()") if rows.skips_zeros else ("in chunks of Dask", "a file")
        advice = f"Leave it out, or pass {way}."
        raise DataError(f"device={device!r} takes dense rows of one machine, but X is {kind}.", advice)
    if not is_numpy(rows.like):
        where = str(array_api_compat.device(rows.like))
        if where == device and array_api_compat.is_torch_array(rows.like):
            return rows
        problem = f", but X is an array on {where!r} already. Results are computed where the array is"
        hint = f"Leave device out, or move it: X.to({device!r}) in PyTorch."
        raise ParameterError("device", device, problem, hint)
    return DeviceRows(host=rows, device=torch.device(device), **rows.facts)


def free_memory(like: Any) -> int:
    """Return the free bytes where an array is; for the host, its memory limit."""
    return device_memory(like) or memory_limit_bytes(None)


def _torch() -> Any:
    with needs("gpu", "torch", "device=..."):
        import torch
    return torch
