"""The only entry for user data: every input becomes checked :class:`Rows`."""

from gramian.data.as_rows import as_rows
from gramian.data.memory import ArrayRows, SparseRows
from gramian.data.rows import Block, Rows

__all__ = ["ArrayRows", "Block", "Rows", "SparseRows", "as_rows"]
