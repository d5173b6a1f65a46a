"""The only door for user data: whatever came in becomes checked :class:`Rows`."""

from gramian.rows.rows import Rows, as_rows

__all__ = ["Rows", "as_rows"]
