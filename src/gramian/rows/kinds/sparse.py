"""Rows of sparse matrices, in memory and in files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from gramian.arrays import as_csr
from gramian.rows.kinds.array import ArrayRows, check_by_sklearn
from gramian.rows.kinds.stored import StoredRows
from gramian.rows.lazy.sparse import ENTRY, require_lengths
from gramian.rows.rows import Block, Rows

BATCH = 1 << 19  # entries that products take at a time


class Sparse(Rows):
    """What sparse rows have in common, in memory and in files."""

    skips_zeros: ClassVar[bool] = True

    @property
    def block_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @cached_property
    def _by_column(self) -> Any:
        """The matrix in memory, in the order that blocks of columns are cut in."""
        return self.in_memory().tocsc()

    def cut(self, rows: slice, columns: slice) -> Any:
        values = self._by_column if rows == slice(None) else self.block(rows).values
        return values[:, columns].toarray()

    def at(self, places: Any) -> Any:
        return Rows.at(self, places)


@dataclass(frozen=True, eq=False)
class SparseRows(Sparse):
    """Rows of a sparse matrix.

    Attributes
    ----------
    values : scipy.sparse CSR matrix of shape (n, d)
        float64 for any input: centring is implicit for sparse data, as ``X v - 1 (m.T v)``, and that
        difference loses digits that float32 does not have to spare.
    """

    values: Any

    @classmethod
    def checked(cls, X: Any, estimator: str, minimum: int) -> SparseRows:
        """Take a matrix of any format; NaN is not searched for.

        Raises
        ------
        DataError, InputTypeError
            For anything that is not a table of real numbers with so many rows.
        MemoryLimitError
            If it has more columns than vectors in memory can have.
        """
        require_lengths(X.shape, "X")
        checked = check_by_sklearn(X, estimator, minimum, accept_sparse="csr")
        values = as_csr(checked.astype(np.float64, copy=False))
        borrowed = any(
            np.may_share_memory(own, original)
            for name in ("data", "indices", "indptr")
            if isinstance(original := getattr(X, name, None), np.ndarray)
            for own in (values.data, values.indices, values.indptr)
        )
        return cls(values, dtype=np.dtype(checked.dtype), borrowed=borrowed)

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return int(n), int(d)

    @property
    def share(self) -> float:
        return self.values.nnz / max(1, self.shape[0] * self.shape[1])  # type: ignore[no-any-return]

    def take_columns(self, places: Any) -> Any:
        return self.values[:, places]

    def block(self, rows: slice) -> Block:
        everything = rows == slice(0, self.shape[0])
        return Block(rows, self.values if everything else self.values[rows, :], self.weights_of(rows))

    def in_memory(self) -> Any:
        return self.values

    def owned(self) -> Any:
        return self.values.copy() if self.borrowed else self.values

    def require_finite(self, *, holes: bool = False) -> None:
        # Few numbers may be in many rows: one look at them spares the blocks.
        if not np.isfinite(self.values.data).all():
            super().require_finite(holes=holes)


@dataclass(frozen=True, eq=False)
class StoredSparseRows(Sparse, StoredRows):
    """Sparse rows that are read when their turn comes."""

    @property
    def batches(self) -> list[slice]:
        """Slices of rows with about ``BATCH`` entries."""
        starts = self._starts
        marks = np.searchsorted(starts, np.arange(starts[0] + BATCH, starts[-1], BATCH), side="right") - 1
        ends = np.unique(np.r_[0, marks, self.shape[0]]).tolist()
        return [slice(left, right) for left, right in pairwise(ends)]

    @property
    def stored_bytes(self) -> int:
        return int(self._starts[-1] - self._starts[0]) * ENTRY

    @property
    def share(self) -> float:
        return self.stored_bytes / ENTRY / max(1, self.shape[0] * self.shape[1])

    @property
    def _starts(self) -> Any:
        return self.values.indptr  # type: ignore[attr-defined]

    @property
    def least_columns(self) -> int:
        return 1

    def block(self, rows: slice) -> Block:
        return Block(rows, self.values[rows], self.weights_of(rows))

    def whole(self, most: int) -> Any:
        return as_csr(super().whole(most))

    def require_finite(self, *, holes: bool = False) -> None:
        if not all(np.isfinite(self.values[part].data).all() for part in self.batches):
            super().require_finite(holes=holes)


def rows_in_memory(values: Any, estimator: str = "gramian", minimum: int = 1) -> Rows:
    """Return an array or a sparse matrix as rows; raises as :meth:`ArrayRows.checked`."""
    return (SparseRows if sparse.issparse(values) else ArrayRows).checked(values, estimator, minimum)
