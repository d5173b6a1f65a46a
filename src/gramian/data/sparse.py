"""Rows of sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from gramian.arrays import as_csr, require_memory
from gramian.checks import slices as cut
from gramian.data import array, table
from gramian.data.rows import Block, Holes, Rows

SAMPLED_ROWS = 4096  # that show how many entries each column has
# Runs of rows that threads share out, at most, and entries of each, at least.
PIECES, LEAST_ENTRIES = 16, 200_000
VECTORS = 8  # of a number for each row and column, needed by any computation with a matrix


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

    @property
    def sampled(self) -> Any:
        """Some rows, which show how many entries each column has."""
        return self.block(self.batches[0]).values

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
    single : bool
        Whether columns that are made dense for a matrix of products, and centred, are float32.
    """

    values: Any
    single: bool = False

    @classmethod
    def checked(cls, X: Any, request: table.RowsRequest) -> SparseRows:
        """Take a matrix of any format; NaN is not searched for.

        Raises
        ------
        DataError, InputTypeError
            For anything that is not a table of real numbers with so many rows.
        MemoryLimitError
            If it has more columns than vectors in memory can have.
        """
        require_lengths(X.shape, "X")
        checked = array.check_by_sklearn(X, request, accept_sparse="csr")
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

    @property
    def sampled(self) -> Any:
        """Some rows, from all parts of the table."""
        return self.values[:: max(1, self.shape[0] // SAMPLED_ROWS)]

    @property
    def block_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.single else np.float64)

    @property
    def in_float32(self) -> SparseRows:
        return replace(self, single=True)

    def take_columns(self, places: Any) -> Any:
        return self.values[:, places]

    @property
    def batches(self) -> list[slice]:
        return [slice(*ends) for ends in self._pieces]

    @cached_property
    def _pieces(self) -> dict[tuple[int, int], Any]:
        """What threads share out: runs of rows by their ends, in the memory of the whole matrix."""
        values, (n, _) = self.values, self.shape
        data, indices, indptr = values.data, values.indices, values.indptr
        pieces = max(1, min(PIECES, n, values.nnz // LEAST_ENTRIES))
        result = {}
        for part in cut(n, -(-n // pieces)):
            lines = indptr[part.start : part.stop + 1]
            entries = slice(lines[0], lines[-1])
            own = (data[entries], indices[entries], lines - lines[0])
            piece = type(values)(own, shape=(part.stop - part.start, values.shape[1]))
            result[part.start, part.stop] = piece
        return result

    def block(self, rows: slice) -> Block:
        values = self._pieces.get((rows.start, rows.stop))
        return Block(rows, self.values[rows, :] if values is None else values, self.weights_of(rows))

    def in_memory(self) -> Any:
        return self.values

    def converted(self, f: Callable[[Any], Any]) -> array.ArrayRows:
        require_memory(8 * self.shape[0] * self.shape[1], "The dense form of X", "Give fewer rows")
        own = {field.name: getattr(self, field.name) for field in fields(Rows)}
        return array.ArrayRows(self.map(lambda block: f(block.values)), **own | {"borrowed": False})

    def owned(self) -> Any:
        return self.values.copy() if self.borrowed else self.values

    def require_finite(self, *, holes: bool = False) -> Holes | None:
        # Few numbers may be in many rows: one look at them spares the blocks.
        return None if np.isfinite(self.values.data).all() else super().require_finite(holes=holes)


def require_lengths(shape: tuple[int, int], source: str) -> None:
    """Raise if not even the means of a sparse matrix fit into memory: a short header can claim any shape.

    Raises
    ------
    MemoryLimitError
    """
    what = f"{source} is a sparse matrix of {' x '.join(f'{n:,}' for n in shape)}: a computation"
    advice = "Leave out columns without entries, X[:, np.unique(X.nonzero()[1])]"
    require_memory(8 * VECTORS * sum(shape), what, advice)
