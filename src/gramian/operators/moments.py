"""Mean, spread and size of the data, measured block by block in one pass.

Every block is centred on its own mean before anything is squared, and blocks are merged in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.arrays import as_float64, each_thread, is_numpy, namespace, power_of_two
from gramian.operators.centered import CenteredRows, least_rows, uncentered
from gramian.records import FloatArray
from gramian.rows import Block, Rows

__all__ = ["Moments", "center_rows", "from_moments", "merge_moments", "moments", "scatter"]

CHUNK = 256  # rows summed in float32 before the sum moves to float64


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean and sums of squares about the mean, in float64.

    ``squares`` holds one sum a column, shape (d,), or the whole scatter matrix, shape (d, d).
    """

    count: int
    mean: FloatArray
    squares: FloatArray


def merge_moments(a: Moments, b: Moments) -> Moments:
    """Combine the moments of two blocks of rows.

    References
    ----------
    Chan, Golub, LeVeque (1979), Updating formulae and a pairwise algorithm for computing sample variances.
    """
    count = a.count + b.count
    gap = b.mean - a.mean
    spread = np.outer(gap, gap) if a.squares.ndim == 2 else gap * gap
    return Moments(
        count,
        a.mean + gap * (b.count / count),
        a.squares + b.squares + spread * (a.count * b.count / count),
    )


def center_rows(rows: Rows, *, center: bool, scale: Any, ddof: int) -> CenteredRows:
    """Measure mean, spread and size of the data in one pass and return its centred view.

    Parameters
    ----------
    rows : Rows
        The data, possibly not yet searched for NaN.
    center : bool
        Whether column means are subtracted.
    scale : None, "unit", "pareto" or ndarray of shape (d,)
        What columns are divided by: nothing, the standard deviation, its square root, or given numbers.
    ddof : int
        Divisor of the variance is ``n - ddof``.
    """
    exponent, found = _safe(rows, lambda e: moments(rows, e, center))
    return from_moments(rows, found, exponent, center=center, scale=scale, ddof=ddof)


def from_moments(
    rows: Rows, found: Moments, exponent: int, *, center: bool, scale: Any, ddof: int
) -> CenteredRows:
    """Return the centred view for moments that are already known; ``squares`` of shape (d,) or (d, d)."""
    n, d = rows.shape
    squares = np.diag(found.squares).copy() if found.squares.ndim == 2 else found.squares
    eps = float(np.finfo(rows.dtype).eps)
    mean = found.mean if center else np.zeros(d)
    rounding = (eps * np.abs(found.mean)) ** 2 * n if center else np.zeros(d)
    constant = squares <= rounding
    squares = np.where(constant, 0.0, squares) if center and constant.all() else squares
    divisor, unit = _divisor(squares, constant, scale, n - ddof, exponent)
    if divisor is not None:
        squares, rounding = (np.sqrt(squares) / divisor) ** 2, (np.sqrt(rounding) / divisor) ** 2
    # Dense data are exactly these numbers, and their mean is known beyond their precision; see _deviations.
    noise = float(rounding.sum()) * (1.0 if rows.is_sparse else (float(np.finfo(np.float64).eps) / eps) ** 2)
    return CenteredRows(rows, mean, divisor, exponent, squares, noise, unit_exponent=unit, constant=constant)


def _divisor(
    squares: FloatArray, constant: Any, scale: Any, degrees: int, exponent: int
) -> tuple[FloatArray | None, int]:
    """Divisor of ``X / 2**exponent - mean``, and the power of two that is then missing from C."""
    if scale is None:
        return None, exponent
    deviation = np.sqrt(np.where(constant, 1.0, squares) / degrees)
    if isinstance(scale, str) and scale == "unit":
        # Constant columns are zero in C, where the rounding of a large constant would otherwise be added.
        return np.where(constant, np.inf, deviation), 0
    if isinstance(scale, str):
        # The square root of a standard deviation depends on the unit, so the true unit is restored.
        half, odd = divmod(exponent, 2)
        divisor = np.where(constant, np.inf, np.ldexp(np.sqrt(deviation * 2.0**odd), half))
    else:
        divisor = np.asarray(scale, dtype=np.float64)
    # C is kept near 1, so that its squares cannot leave the range of float64.
    shift = power_of_two(float((np.sqrt(squares) / divisor).max()))
    shift = shift if abs(shift) > 100 else 0
    return np.ldexp(divisor, shift), exponent + shift


def moments(rows: Rows, exponent: int, center: bool) -> Moments:
    """Return mean and sums of squares of the columns of ``X / 2**exponent``."""
    n = rows.shape[0]
    if rows.is_sparse:
        return _sparse_moments(rows, exponent, center)
    view = uncentered(rows, exponent)
    if n <= 8192:
        slices = view.column_slices()

        def columns(draw: Iterator[slice]) -> list[tuple[slice, Moments]]:
            scratch = view.scratch(n, slices[0].stop)
            return [(c, _block_moments(view, slice(None), c, center, scratch)) for c in draw]

        parts = each_thread(columns, slices)
        done = sorted((item for part in parts for item in part), key=lambda item: item[0].start)
        means, squares = ([getattr(m, name) for _, m in done] for name in ("mean", "squares"))
        return Moments(n, np.concatenate(means), np.concatenate(squares))

    def share(draw: Iterator[slice]) -> Moments | None:
        total = None
        scratch = view.scratch(view.row_slices(512)[0].stop, rows.shape[1])
        for block in draw:
            part = _block_moments(view, block, slice(None), center, scratch)
            total = part if total is None else merge_moments(total, part)
        return total

    return _merge_all(each_thread(share, view.row_slices(512)))


def scatter(
    rows: Rows, *, center: bool, double: bool = False, workers_limit: int = 1024
) -> tuple[int, Moments]:
    """Return mean and the scatter matrix ``C.T C`` in one pass over the data.

    Each block is centred on its own mean, multiplied in the data's dtype, and added in float64; blocks are
    merged by the between-block scatter of their means. The search for NaN is part of the pass: a NaN shows
    in the scatter.

    Returns
    -------
    exponent, moments : tuple
        The moments' ``squares`` has shape (d, d); both are of ``X / 2**exponent``.
    """
    return _safe(rows, lambda exponent: _scatter(uncentered(rows, exponent, double), center, workers_limit))


def _scatter(view: CenteredRows, center: bool, workers_limit: int) -> Moments:
    n, d = view.rows.shape
    least = least_rows(d)

    def share(draw: Iterator[slice]) -> tuple[FloatArray, list[int], list[FloatArray], list[FloatArray]]:
        squares, counts, means, lefts = np.zeros((d, d)), [], [], []
        scratch = view.scratch(view.row_slices(least)[0].stop, d)
        product = view.scratch(d, d)
        for block in draw:
            values = view.block(block, slice(None), scratch)
            count, mean, deviations = _deviations(values, center, scratch)
            if is_numpy(deviations):
                # NumPy recognises A.T @ A and computes one triangle only.
                squares += np.matmul(deviations.T, deviations, out=product)
            else:
                squares += as_float64(deviations.T @ deviations)
            left = as_float64(_column_means(deviations)) if center else mean
            counts.append(count)
            lefts.append(left)
            means.append(mean + left)
        return squares, counts, means, lefts

    slices = view.row_slices(least)
    parts = each_thread(share, slices) if d <= workers_limit else [share(iter(slices))]
    squares = parts[0][0]
    for part in parts[1:]:
        squares += part[0]
    counts, means, lefts = (
        np.array([x for part in parts for x in part[i]], dtype=np.float64) for i in (1, 2, 3)
    )
    mean = counts @ means / n
    if center:
        # Between the blocks, and what the rounded means of the blocks left inside them.
        spread, inside = (m * np.sqrt(counts)[:, None] for m in (means - mean, lefts))
        squares += spread.T @ spread - inside.T @ inside
        np.fill_diagonal(squares, np.maximum(np.diag(squares), 0.0))
    return Moments(n, mean, squares)


def _safe(rows: Rows, measure: Any) -> tuple[int, Moments]:
    """Measure; where squares left the range of floating point, look for NaN, rescale and measure again."""
    info = np.finfo(np.float64 if rows.is_sparse else rows.dtype)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        found = measure(0)
        total = float(np.trace(found.squares) if found.squares.ndim == 2 else found.squares.sum())
        sure = np.isfinite(total) and np.isfinite(found.mean).all()
        # In float64 the eigenvalues, of the size of the total, are themselves squared further on.
        highest = 0.4 if info.bits == 64 else 0.75
        if sure and float(info.tiny) ** 0.4 < total < float(info.max) ** highest:
            return 0, found
        rows.require_finite()
        largest = _largest(rows, found.mean if sure else None)
        exponent = power_of_two(largest)
        if exponent == 0:
            return 0, found
        return exponent, measure(exponent)


def _largest(rows: Rows, mean: FloatArray | None) -> float:
    """Largest absolute entry, about the mean where that is known."""

    def largest(block: Block) -> float:
        values = as_float64(block.dense)
        return float(np.abs(values if mean is None else values - mean).max())

    return rows.reduce(largest, max)


def _block_moments(view: CenteredRows, rows: slice, columns: slice, center: bool, scratch: Any) -> Moments:
    xp = view.rows.xp
    values = view.block(rows, columns, scratch)
    count, mean, deviations = _deviations(values, center, scratch)
    squares = np.zeros(values.shape[1])
    for start in range(0, count, CHUNK):
        part = deviations[start : min(count, start + CHUNK), :]
        squares += as_float64(
            np.einsum("ij,ij->j", part, part) if is_numpy(part) else xp.sum(part * part, axis=0)
        )
    if center:
        left = as_float64(_column_means(deviations))
        squares = np.maximum(squares - count * left * left, 0.0)
        mean = mean + left
    return Moments(count, mean, squares)


def _deviations(values: Any, center: bool, scratch: Any) -> tuple[int, FloatArray, Any]:
    count, d = values.shape
    if not center:
        return count, np.zeros(d), values
    mean = _column_means(values)
    if is_numpy(values):
        out = scratch[:count, :d] if scratch is not None else None
        return count, mean.astype(np.float64), np.subtract(values, mean, out=out)
    return count, as_float64(mean), values - mean


def _column_means(values: Any) -> Any:
    if is_numpy(values):
        # As a product: several times as fast as a reduction along the first axis.
        return np.ones(len(values), dtype=values.dtype) @ values / values.dtype.type(len(values))
    return namespace(values).mean(values, axis=0)


def _merge_all(parts: list[Moments | None]) -> Moments:
    found = [part for part in parts if part is not None]
    total = found[0]
    for part in found[1:]:
        total = merge_moments(total, part)
    return total


def _sparse_moments(rows: Rows, exponent: int, center: bool) -> Moments:
    n = rows.shape[0]
    values = rows.in_memory() * 2.0**-exponent if exponent else rows.in_memory()
    mean = np.asarray(values.mean(axis=0)).ravel() if center else np.zeros(rows.shape[1])
    by_column = values.tocsc(copy=True)
    counts = np.diff(by_column.indptr)
    by_column.data -= np.repeat(mean, counts)
    by_column.data **= 2
    squares = np.asarray(by_column.sum(axis=0)).ravel() + (n - counts) * mean**2
    return Moments(n, mean, squares)
