"""Sparse matrices in files, in compressed rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gramian.checks import amount
from gramian.errors import FileError, MemoryLimitError
from gramian.rows.archives import require_memory
from gramian.rows.lazy.array import LazyArray, whole_within

ENTRY = 12  # bytes of a number and its column in memory
VECTORS = 8  # of a number for each row and column, needed by any computation with a matrix


def require_lengths(shape: tuple[int, int], source: str) -> None:
    """Raise if not even the means of a sparse matrix fit into memory: a short header can claim any shape.

    Raises
    ------
    MemoryLimitError
    """
    what = f"{source} is a sparse matrix of {' x '.join(f'{n:,}' for n in shape)}: a computation"
    advice = "Leave out columns without entries, X[:, np.unique(X.nonzero()[1])]"
    require_memory(8 * VECTORS * sum(shape), what, advice)


def refuse_by_columns(form: str, entries: int, limit: int, source: str, way_out: str) -> None:
    """Raise for a matrix that is not stored by rows, which would have to be read as a whole.

    Raises
    ------
    MemoryLimitError
    """
    if form != "csr":
        raise MemoryLimitError(
            f"{source} holds a sparse matrix in {form.upper()} format, so reading rows needs all of its "
            f"{amount(ENTRY * entries)}, but a table may take at most {amount(whole_within(limit))}. Write "
            f"it by rows, {way_out}, or raise memory_limit."
        )


@dataclass(frozen=True, eq=False)
class StoredSparse(LazyArray):
    """A matrix in compressed rows whose numbers are in a file.

    Attributes
    ----------
    shape : (n, d)
    indptr : ndarray of int64, shape (n + 1,)
        Where each row begins.
    indices, data : StoredArray, or another array that is read when it is sliced
        Columns and numbers of the entries, one below the other.
    source, note : str

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
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.data.dtype))
        resident_bytes = sum(getattr(part, "resident_bytes", 0) for part in (self.data, self.indices))
        object.__setattr__(self, "resident_bytes", resident_bytes + self.indptr.nbytes)
        ends, lengths = self.indptr[[0, -1]].tolist() if self.indptr.size else [], np.diff(self.indptr)
        if (
            self.indptr.shape != (self.shape[0] + 1,)
            or ends != [0, len(self.data)]
            or len(self.data) != len(self.indices)
            or lengths.min(initial=0) < 0
        ):
            raise FileError(f"{self.source} is damaged: its indptr does not fit its data. Write it again.")

    def cut(self, rows: slice, columns: slice) -> sparse.csr_matrix:
        """Return consecutive rows in float64."""
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
        result = sparse.csr_matrix(made, shape=(rows.stop - rows.start, self.shape[1]))
        return result if columns == slice(0, self.shape[1], 1) else result[:, columns]
