"""The only entry for user data: every input becomes checked :class:`Rows`."""

from gramian.data.array import ArrayRows
from gramian.data.as_rows import as_rows
from gramian.data.rows import Block, Rows
from gramian.data.sparse import SparseRows

__all__ = ["ArrayRows", "Block", "Rows", "SparseRows", "as_rows"]
