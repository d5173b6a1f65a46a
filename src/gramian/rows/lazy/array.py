"""Numbers in a file that are read where they are sliced, and some rows and columns of such."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import stacked
from gramian.errors import MemoryLimitError

FAR_APART = 16  # of rows with more than so many from one to the next each is read alone

# float32 has a 24-bit significand: every 8- and 16-bit integer and every float16 is exact in it.
EXACT_IN_FLOAT32 = tuple(np.dtype(t) for t in ("i1", "u1", "i2", "u2", "f2"))


def dtype_of_rows(stored: npt.DTypeLike) -> np.dtype[Any]:
    """Return the dtype that numbers of a file have as rows; true and false are bytes there.

    Examples
    --------
    >>> dtype_of_rows("u1"), dtype_of_rows("i4")
    (dtype('float32'), dtype('float64'))
    """
    kind = np.dtype(stored).newbyteorder("=")
    single = kind in (*EXACT_IN_FLOAT32, np.float32) or kind.kind == "b"
    return np.dtype(np.float32 if single else np.float64)


def bytes_of_rows(shape: tuple[int, ...], stored: npt.DTypeLike) -> int:
    """Return the bytes that numbers of a file take in memory as rows."""
    return math.prod(shape) * dtype_of_rows(stored).itemsize


def whole_within(limit: int) -> int:
    """Return the bytes in memory of a table in a file up to which it is read as a whole."""
    return limit // 4


class LazyArray:
    """Numbers in a file that are read where this is sliced: it has a shape and a dtype like an array.

    Attributes
    ----------
    note : str
        Where the numbers were copied to, for the user; "" where they were not.
    resident_bytes : int
        Bytes of it that are kept in memory.
    reads_columns : bool
        Whether some columns are read without the others.
    speed : float
        Bytes of the numbers that are read, and unpacked, in a second.
    finite : bool or None
        Whether there is neither NaN nor infinity, where that is known.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    picture_shape: tuple[int, int] | None = None
    path: Path | None = None
    source: str = ""
    note: str = ""
    ndim = 2
    resident_bytes: int = 0
    finite: bool | None = None
    reads_columns: bool = False
    speed: float = 1.5e9

    def __getitem__(self, key: Any) -> Any:
        """Return rows, or (rows, columns), of slices with a step of 1."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        n, d = self.shape
        return self.cut(slice(*rows.indices(n)), slice(*columns.indices(d)))

    def cut(self, rows: slice, columns: slice) -> Any:
        """Read the rows and columns from their ``start`` to their ``stop``, perhaps to be read only."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers as they are read."""
        return math.prod(self.shape) * self.dtype.itemsize

    def picked(
        self, rows: Sequence[int] | npt.NDArray[Any] | None = None, columns: Sequence[int] | None = None
    ) -> LazyArray:
        """Return some rows, which rise, or some columns in the order given, without reading them."""
        n, d = self.shape
        everything = rows is None or (isinstance(rows, range) and rows == range(n))
        whole = everything and (columns is None or list(columns) == list(range(d)))
        return self if whole else Picked(self, range(n) if rows is None else rows, columns)

    def filled(self, means: npt.NDArray[Any]) -> LazyArray:
        """Return the same numbers, with the column's one in place of NaN."""
        return Picked(self, range(len(self)), None, means.astype(self.dtype))

    @property
    def T(self) -> LazyArray:
        """The same numbers with rows and columns swapped.

        Raises
        ------
        MemoryLimitError
            For all but arrays in one piece.
        """
        raise MemoryLimitError(
            f"transpose=True reads columns, but {self.source} is too large for memory and is "
            "stored by rows. Raise memory_limit, or save it as .npy, which is read by columns too."
        )


class Derived(LazyArray):
    """Numbers that are computed from another array in a file when they are read."""

    def __init__(self, base: LazyArray, shape: tuple[int, int]) -> None:
        self.base, self.shape, self.dtype = base, shape, base.dtype
        self.path, self.source, self.note = base.path, base.source, base.note
        self.resident_bytes, self.finite = base.resident_bytes, base.finite


class Picked(Derived):
    """Some rows and columns of an array in a file."""

    def __init__(
        self,
        base: LazyArray,
        rows: Sequence[int] | npt.NDArray[Any],
        columns: Sequence[int] | None,
        fill: npt.NDArray[Any] | None = None,
    ) -> None:
        super().__init__(base, (len(rows), base.shape[1] if columns is None else len(columns)))
        self.rows, self.fill = rows, fill
        self.columns = None if columns is None else np.asarray(columns)
        self.picture_shape = base.picture_shape if columns is None else None
        self.finite = True if fill is not None else base.finite
        self.reads_columns = base.reads_columns and columns is None
        self.speed = base.speed * self.shape[1] / base.shape[1]

    def cut(self, rows: slice, columns: slice) -> Any:
        some = np.asarray(self.rows[rows])
        if not self.reads_columns:
            result = self._rows_of_base(some, slice(None))
            result = (result if self.columns is None else result[:, self.columns])[:, columns]
        else:
            result = self._rows_of_base(some, columns)
        return result if self.fill is None else np.where(np.isnan(result), self.fill[columns], result)

    def _rows_of_base(self, some: npt.NDArray[Any], columns: slice) -> Any:
        first, last = (int(some[0]), int(some[-1]) + 1) if len(some) else (0, 0)
        if last - first > FAR_APART * len(some):
            return stacked([self.base[row : row + 1, columns] for row in some.tolist()])
        result = self.base[first:last, columns]
        return result if last - first == len(some) else result[some - first]

    @property
    def T(self) -> LazyArray:
        """The same numbers with rows and columns swapped; raises as that of the array itself."""
        rows: Any = self.rows
        return super().T if self.columns is not None else self.base.T.picked(columns=rows)

    @property
    def indptr(self) -> npt.NDArray[np.int64]:
        """Where each row begins, of sparse rows."""
        lengths = np.diff(self.base.indptr)[np.asarray(self.rows)]  # type: ignore[attr-defined]
        return np.concatenate([[0], np.cumsum(lengths)])
