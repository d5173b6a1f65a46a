"""The three kinds of source that a format returns: an array, pictures, or columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gramian.rows.archives import Header
from gramian.rows.lazy.array import LazyArray, bytes_of_rows

if TYPE_CHECKING:
    # Arrow takes longer to import than everything else here.
    from gramian.rows.columns.source import ColumnSource


@dataclass(frozen=True, eq=False)
class ArraySource:
    """An array in a file that has not been read yet; its shape and dtype are known.

    Attributes
    ----------
    source : str
        What messages call it.
    shape : tuple of int
        (n, d), or (n, height, width) for pictures.
    dtype : numpy.dtype
    read : callable
        Returns rows, a range or None for all, in memory: an array, or a sparse matrix. With ``by_columns``
        also some columns, a list.
    lazy : callable or None
        Returns the array as it is left on disk, under a limit of memory; None if it can only be read whole.
        With ``by_columns`` also some rows and columns of it.
    bytes_read : callable or None
        Bytes that reading some rows takes in memory; by default those of the whole array.
    columns, row_names : tuple of str or None
    set_aside : callable or None
        Returns labels or names of rows that are no column of the array, by the option and a name.
    notes : tuple of str
    notes_in_memory : tuple of str
        Notes that apply only if the numbers are read into memory.
    by_columns : bool
        Whether some columns are read without the others.
    alleles, other_alleles : dict of str to str or None
        Of genotypes: the allele that a column counts, and the other one, by its name.
    sha256 : callable or None
        Returns the hash of the data if it is not that of the file; ``hashed`` says what it covers.
    """

    source: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[..., Any]
    lazy: Callable[..., LazyArray] | None = None
    bytes_read: Callable[[range], int] | None = None
    columns: tuple[str, ...] | None = None
    row_names: tuple[str, ...] | None = None
    set_aside: Callable[[str, str], npt.NDArray[Any]] | None = None
    notes: tuple[str, ...] = ()
    notes_in_memory: tuple[str, ...] = ()
    by_columns: bool = False
    alleles: Mapping[str, str] | None = None
    other_alleles: Mapping[str, str] | None = None
    sha256: Callable[[], str] | None = None
    hashed: str = "the bytes of the file"

    @classmethod
    def of(cls, header: Header, name: str, notes: tuple[str, ...] = (), **more: Any) -> ArraySource:
        """Return the source of an array that is read as a whole."""
        return cls(name, header.shape, header.dtype, partial(rows_of, header.read), notes=notes, **more)

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """All names that a choice may use for columns, none of pictures; None where others are aside."""
        if self.set_aside is not None:
            return None
        positions = range(self.shape[1]) if len(self.shape) == 2 else ()
        return self.columns or tuple(map(str, positions))

    def memory_of(self, rows: range) -> int:
        """Return the bytes that reading some rows takes in memory."""
        return bytes_of_rows(self.shape, self.dtype) if self.bytes_read is None else self.bytes_read(rows)


def rows_of(read: Callable[[], Any], rows: range | None = None) -> Any:
    """Return some rows of an array that is read as a whole."""
    array = read()
    return array if rows is None or len(rows) == array.shape[0] else array[rows.start : rows.stop : rows.step]


@dataclass(frozen=True, eq=False)
class PictureSource:
    """Files of pictures that have not been opened yet.

    Attributes
    ----------
    source : str
    array : callable
        Returns them as an array of grey values, given the slice of rows, and the size that they get.
    """

    source: str
    array: Callable[[slice | None, tuple[int, int] | None], ArraySource]
    column_names: tuple[str, ...] = ()


Source: TypeAlias = "ArraySource | PictureSource | ColumnSource"
