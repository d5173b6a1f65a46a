"""Tables that a generator hands out block by block."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from gramian.arrays import to_numpy
from gramian.checks import listed
from gramian.errors import DataError, GramianError, InputTypeError
from gramian.rows.array import ArrayRows
from gramian.rows.spool import Spool
from gramian.rows.stored import whole_within
from gramian.rows.table import Table

_SOURCE = "the blocks of a generator"


def table_of_blocks(blocks: Iterator[Any], estimator: str, limit: int) -> Table:
    """Put the blocks of a generator one below the other: on disk, and in memory where they are few.

    Parameters
    ----------
    blocks : iterator
        Of arrays or frames (m, d), or pictures (m, height, width).
    estimator : str
        Whose data it is, for messages.
    limit : int
        Bytes of working memory.

    Raises
    ------
    DataError
        If there is no block, or one is no table of numbers, or has other columns than the first.
    FileError
        If the disk is full.
    """
    spool, names, first = Spool(_SOURCE), None, None
    for number in count():
        try:
            block = next(blocks)
        except StopIteration:
            break
        try:
            rows = ArrayRows.checked(block, estimator, 1)
        except GramianError as error:
            kind = InputTypeError if isinstance(error, TypeError) else DataError
            raise kind(f"Block {number} of the generator, counted from 0: {error}") from error
        here = column_names(block)
        if first is None:
            first, names = rows, here
        if rows.shape[1] != first.shape[1] or rows.picture_shape != first.picture_shape or here != names:
            raise DataError(
                f"Block {number} of the generator, counted from 0, has {_said(rows, here)}, and block 0 has "
                f"{_said(first, names)}. Every block needs the same columns, in the same order."
            )
        values = to_numpy(rows.in_memory())
        spool.append(values if rows.picture_shape is None else values.reshape(-1, *rows.picture_shape))
    if first is None:
        raise DataError(
            "The generator gives no block: it is empty, or was used up before, since it can be read only "
            "once. Make a new one, or keep what it gives: fit takes files and arrays as often as you like."
        )
    stored = spool.stored()
    large = stored.nbytes > whole_within(limit)
    shape = (-1, *first.picture_shape) if first.picture_shape else stored.shape
    return Table(
        stored if large else stored[:].reshape(shape),
        feature_names=names,
        picture_shape=first.picture_shape,
        source=_SOURCE,
        notes=(spool.note,) if large else (),
    )


def column_names(block: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a frame; None where not all of them are text."""
    names = getattr(block, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def _said(rows: ArrayRows, names: tuple[str, ...] | None) -> str:
    if rows.picture_shape:
        return f"pictures of {rows.picture_shape[1]}x{rows.picture_shape[0]} (width x height)"
    return f"{rows.shape[1]} columns" + (f" ({listed(names)})" if names else "")
