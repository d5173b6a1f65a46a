"""Files that are too large to be read as a whole: for each kind, how its numbers are left on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import memory_limit_bytes
from gramian.checks import amount
from gramian.errors import MemoryLimitError
from gramian.rows.annotated import stored_annotated
from gramian.rows.decoding import readable
from gramian.rows.files import Location, kind_of, kind_of_folder, parquet_files, read_folder, read_zip
from gramian.rows.numpy_files import stored_npy, stored_npz
from gramian.rows.plink import stored_bed
from gramian.rows.spool import copied, rows_taken
from gramian.rows.stored import OnDisk, whole_within
from gramian.rows.stored_hdf5 import stored_hdf5
from gramian.rows.stored_zarr import StoredZarr, array_of, header_of
from gramian.rows.table import Choice, Table, array_roles, pick_rows

Stored = Callable[[Location, Choice, int, str], Table | None]


def stored_table(place: Location, choice: Choice, limit: int) -> Table | None:
    """Return the table with its numbers on disk: in the file itself, or copied to a spool.

    Parameters
    ----------
    place : Location
    choice : Choice
    limit : int
        Bytes of working memory.

    Returns
    -------
    Table or None
        None where the file is small, or of a kind that is read as a whole only.

    Raises
    ------
    FileError
        If the disk is full, and as the file's reader says.
    DataError, ParameterError
        As the file's reader says.
    MemoryLimitError
        If the file can only be read as a whole, and is larger than memory.
    """
    folder = place.path.is_dir()
    if not folder and not place.path.is_file():
        return None
    kind = kind_of_folder(place.path) if folder else kind_of(place.path)
    found, source = STORED.get(kind), readable(str(place))
    if found is None or choice.label_row is not None:
        if not folder:
            _refuse_whole(place, limit)
        return None
    if kind not in ("folder", "zip"):
        if kind != "text":
            choice.refuse_marks(source, "numbers")
        choice.refuse_size(source)
    return found(place, choice, limit, source)


def _refuse_whole(place: Location, limit: int) -> None:
    size, most = place.path.stat().st_size, max(limit, memory_limit_bytes(None))
    if size > most:
        raise MemoryLimitError(
            f"{readable(str(place))} has {amount(size)}, and it can only be read as a whole into the "
            f"{amount(most)} of memory that may be used. Save it as .npy, .csv or .parquet, which are read "
            "block by block (without a row of labels)."
        )


def _npy(place: Location, choice: Choice, limit: int, source: str) -> Table | None:
    if place.path.stat().st_size <= whole_within(limit):
        return None
    stored, notes = stored_npy(place.path, source)
    return None if stored is None else table_of_stored(stored, choice, source, notes)


def _zarr(place: Location, choice: Choice, limit: int, source: str) -> Table | None:
    array, notes = array_of(place.path, place.key, source)
    if header_of(array).n_bytes <= whole_within(limit):
        return None
    return table_of_stored(StoredZarr(place.path, array, limit, source), choice, source, notes)


def table_of_stored(stored: OnDisk, choice: Choice, source: str, notes: tuple[str, ...] = ()) -> Table:
    """Make a table of an array that is left in its file; columns that are chosen are copied.

    Raises
    ------
    DataError, ParameterError
        As of :func:`gramian.rows.table.table_from_array`.
    """
    rows = pick_rows(len(stored), choice.rows, source)
    shape = stored.picture_shape
    whole = (len(stored), *shape) if shape else stored.shape
    _, kept, id_column, label = array_roles(whole, choice, source)
    values, where = (stored, ()) if choice.rows is None else rows_taken(stored, rows)
    aside: dict[int, list[npt.NDArray[Any]]] = {
        place: [] for place in (id_column, label) if place is not None
    }

    def change(_: slice, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        for place, found in aside.items():
            found.append(block[:, place].copy())
        return block[:, kept]

    if kept is not None:
        values, note = copied(values, change, len(values) * len(kept) * stored.dtype.itemsize)
        where = (note,)
    taken = {place: np.concatenate(found) for place, found in aside.items()}
    return Table(
        values,
        row_names=None if id_column is None else tuple(map(str, taken[id_column].tolist())),
        labels=None if label is None else taken[label],
        label_name=choice.label,
        picture_shape=shape,
        source=source,
        notes=(*notes, *where),
        row_numbers=None if choice.rows is None else rows,
        column_numbers=None if kept is None else tuple(kept),
    )


def _text(place: Location, choice: Choice, limit: int, source: str) -> Table | None:
    size = place.path.stat().st_size
    if 20 * size <= whole_within(limit):
        return None
    # Arrow takes longer to import than everything else here.
    from gramian.rows.column_blocks import table_from_blocks
    from gramian.rows.text_blocks import TextBlocks

    blocks = TextBlocks(place.path, source, choice.na_values or (), limit)
    if max(size, blocks.needed) <= whole_within(limit):
        return None
    return table_from_blocks(blocks, choice, limit)


def _columns(place: Location, choice: Choice, limit: int, source: str) -> Table | None:
    from gramian.rows.arrow_files import ArrowBlocks
    from gramian.rows.column_blocks import table_from_blocks

    paths = parquet_files(place.path) if place.path.is_dir() else [place.path]
    blocks = ArrowBlocks(paths, source, choice, limit)
    return None if blocks.needed <= whole_within(limit) else table_from_blocks(blocks, choice, limit)


STORED: dict[str, Stored] = {
    "annotated": lambda place, *asked: stored_annotated(place.path, *asked),
    "bed": lambda place, *asked: stored_bed(place.path, *asked),
    "hdf5": lambda place, *asked: stored_hdf5(place.path, place.key, *asked),
    "npz": lambda place, *asked: stored_npz(place.path, place.key, *asked),
    "npy": _npy,
    "text": _text,
    "parquet": _columns,
    "arrow": _columns,
    "zarr": _zarr,
    "folder": lambda place, choice, limit, _: read_folder(place.path, choice, whole_within(limit)),
    "zip": lambda place, choice, limit, _: read_zip(place.path, choice, whole_within(limit)),
}
