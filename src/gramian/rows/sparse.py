"""scipy.sparse matrices in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gramian.arrays import as_csr, memory_limit_bytes
from gramian.checks import amount
from gramian.errors import MemoryLimitError
from gramian.rows.array import check_by_sklearn
from gramian.rows.rows import Block, Rows

VECTORS = 8  # of a number for each row and column, that whatever is done with a matrix takes


def require_lengths(shape: tuple[int, int], source: str) -> None:
    """Refuse a sparse matrix of which not even means fit into memory: a few bytes promise any shape.

    Raises
    ------
    MemoryLimitError
    """
    need, limit = 8 * VECTORS * sum(shape), memory_limit_bytes(None)
    if need > limit:
        raise MemoryLimitError(
            f"{source} is a sparse matrix of {shape[0]:,} x {shape[1]:,}: eight numbers a row and column "
            f"take {amount(need)}, and {amount(limit)} of memory may be used. Leave out columns without "
            "entries, X[:, np.unique(X.nonzero()[1])], or raise GRAMIAN_MEMORY_LIMIT."
        )


@dataclass(frozen=True, eq=False)
class SparseRows(Rows):
    """Rows of a sparse matrix.

    Attributes
    ----------
    values : scipy.sparse CSR matrix of shape (n, d)
        float64 whatever came in: centring is implicit for sparse data, as ``X v - 1 (m.T v)``, and that
        difference loses digits that float32 does not have to spare.
    """

    values: Any
    is_sparse: ClassVar[bool] = True

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
            np.may_share_memory(kept, given)
            for name in ("data", "indices", "indptr")
            if isinstance(given := getattr(X, name, None), np.ndarray)
            for kept in (values.data, values.indices, values.indptr)
        )
        return cls(values, dtype=np.dtype(checked.dtype), borrowed=borrowed)

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return int(n), int(d)

    @property
    def share(self) -> float:
        return self.values.nnz / max(1, self.shape[0] * self.shape[1])  # type: ignore[no-any-return]

    @property
    def like(self) -> Any:
        return np.empty((0, 0), dtype=self.dtype)

    def block(self, rows: slice) -> Block:
        everything = rows == slice(0, self.shape[0])
        return Block(rows, self.values if everything else self.values[rows, :])

    def in_memory(self) -> Any:
        return self.values

    def owned(self) -> Any:
        return self.values.copy() if self.borrowed else self.values

    def require_finite(self) -> None:
        # Few numbers may be in many rows: one look at them spares the blocks.
        if not np.isfinite(self.values.data).all():
            super().require_finite()
