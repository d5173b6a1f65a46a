"""The only entry for user data: every input becomes checked :class:`Rows`."""

from gramian.tables.as_rows import as_rows
from gramian.tables.memory import ArrayRows, SparseRows
from gramian.tables.rows import Block, Rows

__all__ = ["ArrayRows", "Block", "Rows", "SparseRows", "as_rows"]
