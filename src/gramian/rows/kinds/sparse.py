"""Sparse matrices: those of scipy.sparse in memory, and in files, whose rows are read in their turn."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.arrays import as_csr, memory_limit_bytes
from gramian.checks import amount
from gramian.errors import FileError, MemoryLimitError
from gramian.rows.kinds.array import check_by_sklearn
from gramian.rows.lazy.stored import OnDisk, StoredRows, whole_within
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


# -------------------------------------------------------------- in files

PORTION = 1 << 19  # entries that products take at a time
ENTRY = 12  # bytes of a number and its column in memory


def refuse_by_columns(form: str, entries: int, limit: int, source: str, way_out: str) -> None:
    """Refuse a matrix that is not kept by rows, which would have to be read as a whole.

    Raises
    ------
    MemoryLimitError
    """
    if form != "csr":
        raise MemoryLimitError(
            f"{source} holds a sparse matrix by {form.upper()}, so that reading rows takes all of its "
            f"{amount(ENTRY * entries)}, and a table may take {amount(whole_within(limit))}. Write it by "
            f"rows, {way_out}, or raise memory_limit."
        )


@dataclass(frozen=True, eq=False)
class StoredSparse(OnDisk):
    """A matrix in compressed rows whose numbers are in a file.

    Attributes
    ----------
    shape : (n, d)
    indptr : ndarray of int64, shape (n + 1,)
        Where each row begins.
    indices, data : StoredArray, or what else is read when it is sliced
        Columns and numbers of the entries, one below the other.
    source : str

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> StoredSparse(X.shape, X.indptr, X.indices, X.data, "memory")[1:2].toarray()
    array([[1., 0.]])
    """

    shape: tuple[int, int]
    indptr: npt.NDArray[Any]
    indices: Any
    data: Any
    source: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.data.dtype))
        held = sum(getattr(part, "held", 0) for part in (self.data, self.indices))
        object.__setattr__(self, "held", held + self.indptr.nbytes)
        ends, lengths = self.indptr[[0, -1]].tolist() if self.indptr.size else [], np.diff(self.indptr)
        if (
            self.indptr.shape != (self.shape[0] + 1,)
            or ends != [0, len(self.data)]
            or len(self.data) != len(self.indices)
            or lengths.min(initial=0) < 0
        ):
            raise FileError(f"{self.source} is damaged: its indptr does not fit its data. Write it again.")

    def __getitem__(self, rows: slice) -> sparse.csr_matrix:
        """Return consecutive rows in float64."""
        rows = slice(*rows.indices(self.shape[0])[:2])
        first, last = self.indptr[[rows.start, rows.stop]].tolist()
        data, indices = (np.ravel(part[first:last]) for part in (self.data, self.indices))
        indices = indices.astype(np.int32 if self.shape[1] < 2**31 else np.int64, copy=False)
        if indices.size and not 0 <= indices.min() <= indices.max() < self.shape[1]:
            wrong = indices.min() if indices.min() < 0 else indices.max()
            raise FileError(
                f"{self.source}, rows {rows.start:,} to {rows.stop - 1:,}: it is damaged, an entry is in "
                f"column {wrong} of {self.shape[1]:,}. Write it again."
            )
        starts = self.indptr[rows.start : rows.stop + 1] - first
        made = (data.astype(np.float64, copy=False), indices, starts.astype(indices.dtype))
        return sparse.csr_matrix(made, shape=(rows.stop - rows.start, self.shape[1]))


@dataclass(frozen=True, eq=False)
class StoredSparseRows(StoredRows):
    """Sparse rows that are read when their turn comes."""

    is_sparse: ClassVar[bool] = True

    @property
    def portions(self) -> list[slice]:
        """Slices of rows with about ``PORTION`` entries."""
        starts = self._starts
        marks = np.searchsorted(starts, np.arange(starts[0] + PORTION, starts[-1], PORTION), side="right") - 1
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
        return Block(rows, self.values[rows])

    def cut(self, rows: slice, columns: slice) -> Any:
        return self.block(rows).dense[:, columns]

    def whole(self, most: int) -> Any:
        return as_csr(super().whole(most))

    def require_finite(self) -> None:
        if not all(np.isfinite(self.values[part].data).all() for part in self.portions):
            super().require_finite()
