"""Files that are too large to be read as a whole: for each kind, how its numbers are left on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import memory_limit_bytes
from gramian.checks import amount
from gramian.errors import FileError, MemoryLimitError
from gramian.rows.annotated import stored_annotated
from gramian.rows.decoding import readable
from gramian.rows.expected import Expected
from gramian.rows.files import Location, kind_of, parquet_files, read_folder, read_zip
from gramian.rows.numpy_files import stored_npy, stored_npz
from gramian.rows.plink import stored_bed
from gramian.rows.spool import copied, rows_taken
from gramian.rows.stored import StoredArray, whole_within
from gramian.rows.stored_hdf5 import stored_hdf5
from gramian.rows.table import Choice, Table, array_roles, pick_rows

Left = Callable[[Path, str | None, Choice, Expected | None, int, str], Table | None]


def left_on_disk(
    place: Location,
    choice: Choice,
    expected: Expected | None,
    limit: int,
    swapped: bool,
    missing: str | None,
) -> Table | None:
    """Return the table with its numbers on disk: in the file itself, or copied to a spool.

    Parameters
    ----------
    place : Location
    choice : Choice
    expected : Expected or None
        What a fitted model expects.
    limit : int
        Bytes of working memory.
    swapped : bool
        Whether rows and columns are swapped afterwards.
    missing : str or None
        What becomes of missing values afterwards.

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
    path = place.path
    folder = path.is_dir()
    if not folder and not path.is_file():
        return None
    kind = ("parquet" if parquet_files(path) else "folder") if folder else kind_of(path)
    left = _LEFT.get(kind)
    table = None
    if kind in _AS_IT_LIES:
        step = choice.rows and choice.rows.step not in (None, 1)
        whole = swapped or choice.size or choice.na_values or step
        if not whole and (missing is None or (kind, missing) == ("bed", "mean")):
            table = _AS_IT_LIES[kind](path, place.key, choice, expected, limit, str(place))
    elif left is not None and choice.label_row is None:
        return left(path, choice, limit)
    if table is None and not folder:
        _refuse_whole(path, limit)
    return table


def _refuse_whole(path: Path, limit: int) -> None:
    size, most = path.stat().st_size, max(limit, memory_limit_bytes(None))
    if size > most:
        raise MemoryLimitError(
            f"{readable(str(path))} has {amount(size)}, and with what is asked for it can only be read as a "
            f"whole into the {amount(most)} of memory that may be used. Save it as .npy, .csv or .parquet, "
            "which are read block by block (without a row of labels)."
        )


def _npy(path: Path, choice: Choice, limit: int) -> Table | None:
    if path.stat().st_size <= whole_within(limit):
        return None
    source = readable(str(path))
    choice.refuse_marks(source, "numbers")
    choice.refuse_size(source)
    stored, notes = stored_npy(path, source)
    return None if stored is None else table_of_stored(stored, choice, source, notes)


def table_of_stored(stored: StoredArray, choice: Choice, source: str, notes: tuple[str, ...] = ()) -> Table:
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


def _text(path: Path, choice: Choice, limit: int) -> Table | None:
    size = path.stat().st_size
    if 20 * size <= whole_within(limit):
        return None
    # Arrow takes longer to import than everything else here.
    from gramian.rows.column_blocks import table_from_blocks
    from gramian.rows.text_blocks import TextBlocks

    source = readable(str(path))
    choice.refuse_size(source)
    try:
        blocks = TextBlocks(path, source, choice.na_values or (), limit)
        if max(size, blocks.needed) <= whole_within(limit):
            return None
        return table_from_blocks(blocks, choice, limit)
    except OSError as error:
        raise _unreadable(error, source) from error


def _columns(path: Path, choice: Choice, limit: int) -> Table | None:
    from gramian.rows.arrow_files import ArrowBlocks
    from gramian.rows.column_blocks import table_from_blocks

    source = readable(str(path))
    choice.refuse_marks(source, "numbers")
    choice.refuse_size(source)
    paths = parquet_files(path) if path.is_dir() else [path]
    blocks = ArrowBlocks(paths, source, choice, limit)
    return None if blocks.needed <= whole_within(limit) else table_from_blocks(blocks, choice, limit)


def _unreadable(error: OSError, source: str) -> OSError:
    if isinstance(error, FileError):
        return error
    return FileError(f"{source} cannot be read: {error.strerror or error}. Check the path.")


def _folder(path: Path, choice: Choice, limit: int) -> Table | None:
    return read_folder(path, choice, whole_within(limit))


def _zip(path: Path, choice: Choice, limit: int) -> Table | None:
    return read_zip(path, choice, whole_within(limit))


# Numbers are copied to a spool, with whatever is asked for; None for what is small.
_LEFT: dict[str, Callable[[Path, Choice, int], Table | None]] = {
    "npy": _npy,
    "text": _text,
    "parquet": _columns,
    "arrow": _columns,
    "folder": _folder,
    "zip": _zip,
}
# Numbers stay where they are, in their order; None for what is small, or asks for more.
_AS_IT_LIES: dict[str, Left] = {
    "npz": stored_npz,
    "hdf5": stored_hdf5,
    "annotated": stored_annotated,
    "bed": stored_bed,
}
