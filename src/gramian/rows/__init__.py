"""The only entry for user data: every input becomes checked :class:`Rows`."""

from gramian.rows.as_rows import as_rows
from gramian.rows.kinds.array import ArrayRows
from gramian.rows.kinds.sparse import SparseRows
from gramian.rows.rows import Block, Rows

__all__ = ["ArrayRows", "Block", "Rows", "SparseRows", "as_rows"]
