"""The only door for user data: whatever came in becomes checked :class:`Rows`."""

from gramian.rows.array import ArrayRows
from gramian.rows.door import as_rows
from gramian.rows.rows import Block, Rows
from gramian.rows.sparse import SparseRows

__all__ = ["ArrayRows", "Block", "Rows", "SparseRows", "as_rows"]
