"""Tables that stay in their files, piece by piece; tables of results as CSV, Parquet or NumPy files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.core.atomic import atomic_write
from gramian.core.checks import NAMES_SHOWN, counted, slices
from gramian.core.progress import track
from gramian.errors import DataError, MissingValuesWarning, ParameterError, ignoring
from gramian.statistics.components import component_names
from gramian.tables.as_rows import as_rows
from gramian.tables.cells import STARTS
from gramian.tables.formats.zarr import write_zarr
from gramian.tables.table import Table, unique_names
from gramian.tables.treatment import with_rows

FORMATS = ("csv", "parquet", "npy", "zarr")
PIECE_BYTES = 64 << 20
BATCH = 10_000  # rows of CSV that are text at a time
ALL = slice(None)
PLAIN = re.compile(r"[^\t\r\n\"',;|]+")  # a column name that a spreadsheet of any language shows in one cell
Columns = Mapping[str, "npt.NDArray[Any] | Sequence[Any]"]
Target = str | os.PathLike[str] | IO[bytes]
Blocks = Iterator[tuple[slice, npt.NDArray[Any]]]  # of consecutive rows


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format of a table by the suffix of its file name.

    Raises
    ------
    ParameterError
        For an unknown suffix.
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        problem = "does not end in .csv, .parquet, .npy or .zarr"
        raise ParameterError("-o", os.fspath(path), problem, "Use one, or - for CSV.")
    return suffix


def row_names(table: Table) -> tuple[str, Sequence[Any]]:
    """Return the title and the entries of the column of row names.

    Rows without names are numbered as in the file, from 0.
    """
    if table.row_names is not None:
        return "name", table.row_names
    return "row", table.row_numbers if table.row_numbers is not None else range(table.values.shape[0])


def feature_names(table: Table) -> tuple[str, ...]:
    """Return the column names; pixels by row and column, unnamed columns by position."""
    if table.feature_names is not None:
        return table.feature_names
    if table.picture_shape is not None:
        height, width = table.picture_shape
        return tuple(f"r{i}c{j}" for i in range(height) for j in range(width))
    return tuple(f"x{j}" for j in range(table.values.shape[1]))


def row_table(
    table: Table, values: npt.NDArray[Any], names: Iterable[str] | None = None, rows: slice = ALL
) -> dict[str, Any]:
    """Return names, labels and numbers of some rows; the numbers are PC1, PC2, ... unless they have names.

    If names collide, the numbers keep theirs.
    """
    title, entries = row_names(table)
    left: dict[str, Any] = {title: entries[rows]}
    labels = {} if table.labels is None else {table.label_name or "label": table.labels}
    for name, label_values in (labels | dict(table.metadata)).items():
        left[f"{name} (label)" if name == title else name] = label_values[rows]
    titles = list(component_names(values.shape[1]) if names is None else names)
    moved = unique_names([*titles, *left])[0][len(titles) :]
    return dict(zip(moved, left.values(), strict=True)) | dict(zip(titles, values.T, strict=True))


def write_table(target: Target, columns: Columns, kind: str) -> None:
    """Write columns as a table: atomically to a file, or to an open stream.

    Parameters
    ----------
    target : path or binary file
    columns : mapping of str to array
        In order. Missing numbers are None or NaN, and empty in a CSV file.
    kind : {"csv", "parquet", "npy", "zarr"}
        A stream takes CSV only. ``"npy"`` and ``"zarr"`` contain only the floating-point columns, without
        names.
    """
    write_pieces(target, [columns], len(next(iter(columns.values()), ())), kind)


def write_pieces(target: Target, pieces: Iterable[Columns], rows: int, kind: str) -> None:
    """Write a table in pieces, as :func:`write_table` does.

    A file has a temporary name until the last piece is in it.
    """
    if kind == "zarr":
        write_zarr(Path(target), map(_numbers, pieces), rows)  # type: ignore[arg-type]
    elif isinstance(target, str | os.PathLike):
        with atomic_write(target) as file:
            _WRITERS[kind](file, pieces, rows)
    else:
        _WRITERS[kind](target, pieces, rows)


def write_blocks(
    target: Target, table: Table, blocks: Blocks, kind: str, names: Iterable[str] | None = None
) -> None:
    """Write numbers for the rows of a table, block by block, with names and labels of the rows."""
    pieces = (row_table(table, values, names, rows) for rows, values in blocks)
    write_pieces(target, pieces, table.values.shape[0], kind)


def _write_npy(file: IO[bytes], pieces: Iterable[Columns], rows: int) -> None:
    for index, columns in enumerate(pieces):
        array = _numbers(columns)
        if index == 0:
            shape = (rows, array.shape[1]) if array.size else (0, 0)
            head = {"descr": array.dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, head)
        file.write(array.tobytes())


def _numbers(columns: Columns) -> npt.NDArray[Any]:
    arrays = [np.asarray(values) for values in columns.values()]
    numbers = [array for array in arrays if array.dtype.kind == "f"]
    return np.stack(numbers, axis=1) if numbers else np.empty((0, 0))


def _write_csv(file: IO[bytes], pieces: Iterable[Columns], rows: int) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    options = arrow_csv.WriteOptions(include_header=False)
    for index, columns in enumerate(pieces):
        if index == 0:
            names = _shown(pa.array(list(columns), pa.string())).to_pylist()
            heads = [name if PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"' for name in names]
            file.write((",".join(heads) + "\n").encode())
        for batch in _arrow(columns).to_batches(BATCH):
            safe = [_shown(values) if pa.types.is_string(values.type) else values for values in batch]
            sink = pa.BufferOutputStream()
            arrow_csv.write_csv(pa.record_batch(safe, batch.schema.names), sink, options)
            file.write(sink.getvalue().to_pybytes())


def _shown(texts: Any) -> Any:
    """Return texts of which a spreadsheet runs none as a formula."""
    if not re.search(rf"(?:^|\0)'*[{STARTS}]", "\0".join(filter(None, texts.to_pylist()))):
        return texts  # without Arrow's functions, whose import takes as long as writing a small table
    from gramian.tables.strings import shown_as_text

    return shown_as_text(texts)


def _write_parquet(file: IO[bytes], pieces: Iterable[Columns], rows: int) -> None:
    from pyarrow import parquet

    tables = map(_arrow, pieces)
    first = next(tables)
    with parquet.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _arrow(columns: Columns) -> Any:
    import pyarrow as pa

    stored = []
    for column in columns.values():
        values: Any = column if isinstance(column, np.ndarray) else list(column)
        kind = values.dtype if isinstance(column, np.ndarray) else None
        if kind is not None and kind.kind in "OUS":
            texts = [None if value is None else str(value) for value in values.tolist()]
            stored.append(pa.array(texts, pa.string()))
        elif kind in (np.float32, np.float64) and not np.isnan(values).any():
            # As ``pa.array``, which first imports numpy.ma.
            buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
            stored.append(pa.Array.from_buffers(pa.from_numpy_dtype(kind), len(values), buffers))
        else:
            stored.append(pa.array(values, from_pandas=True))
    return pa.Table.from_arrays(stored, names=list(columns))


_WRITERS = {"csv": _write_csv, "parquet": _write_parquet, "npy": _write_npy}


# ---------------------------------------------------------------- tables in files, piece by piece


def completed(model: Any, table: Table) -> Table:
    """Return a table with its missing values imputed by a PCA, without rows that determine nothing.

    Scores of the rows stay what they are. A table in a file, and one for another model, stays as it is.
    """
    values = table.values
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or not hasattr(model, "impute"):
        return table
    missing = int(np.isnan(values).sum())
    if not missing:
        return table
    with ignoring(MissingValuesWarning):
        filled = np.asarray(model.impute(table))
    whole = np.isfinite(filled.reshape(len(filled), -1)).all(axis=1)
    table = replace(table, values=filled, imputed=np.isnan(values))
    incomplete = np.flatnonzero(~whole)
    if len(incomplete):
        names = map(table.row_text, incomplete[:NAMES_SHOWN].tolist())
        many = counted(len(incomplete), "row with too few values was", "rows with too few values were")
        table = with_rows(table, np.flatnonzero(whole), f"{many} left out: {', '.join(names)}")
    note = f"{counted(missing, 'missing value')} in the data: expected values under the model stand for them"
    return replace(table, notes=(*table.notes, note))


def pieces_of(table: Table, limit: int) -> Iterator[tuple[slice, Table]]:
    """Yield consecutive rows of a table in a file; a table in memory is one piece.

    Parameters
    ----------
    table : Table
    limit : int
        Bytes of working memory; a piece uses a small part.
    """
    if table.in_memory:
        yield slice(0, table.values.shape[0]), table
        return
    rows = as_rows(table, check_finite=False, limit=limit)
    n, d = rows.shape
    chunks = slices(n, max(1, min(PIECE_BYTES, limit // 16) // (8 * d)))
    for chunk in track(chunks, "piece"):
        values = rows.block(chunk).values
        if table.picture_shape is not None:
            values = values.reshape(-1, *table.picture_shape)
        yield chunk, replace(table, values=values, **table.labels_at(chunk))


def mapped(model: Any, table: Table, limit: int, *, errors: bool = False) -> Blocks:
    """Yield the scores of the rows of a table, with ``errors`` also standard errors and the observed share.

    Raises
    ------
    DataError
        With the row number of the file, not of the piece.
    """
    for chunk, piece in pieces_of(table, limit):
        try:
            if errors:
                quality = model.projection_quality(piece)
                values = np.column_stack([quality.scores, quality.standard_errors, quality.observed])
            else:
                values = np.asarray(model.transform(piece))
        except DataError:
            as_rows(table, limit=limit)
            raise
        yield chunk, values.reshape(len(values), -1)
