"""Tables as clients send and want them: JSON, lines of JSON, Parquet, .npy, CSV, and files of any kind."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.errors import DataError
from gramian.report.facts import plain
from gramian.report.tables import row_table, write_table
from gramian.rows.expected import Expected
from gramian.rows.names import PICTURE_SUFFIXES
from gramian.rows.preview import Preview, preview
from gramian.rows.scan import scan
from gramian.rows.table import Table

Said = dict[str, Any]
DEEPEST = 100  # levels of an answer; serializers fail at some 200
FILES_OF_PICTURES = (*PICTURE_SUFFIXES, ".zip")


def read_table(data: Said, expected: Expected | None = None, size: tuple[int, int] | None = None) -> Table:
    """Read what a client sent, or a file that the server was started with.

    Parameters
    ----------
    data : dict
        ``path`` and ``kind``, a suffix or "" to be told from the content; ``reading``, as ``scan`` takes it;
        and ``given`` where the path is not one that the server has made.
    expected : Expected, optional
    size : (height, width), optional
        Of pictures, where nothing else is asked for.

    Raises
    ------
    GramianError
    """
    reading, kind = dict(data["reading"]), data["kind"]
    if data["given"]:
        table = scan(data["path"], **reading).read(expected)
    else:
        if size is not None and kind in FILES_OF_PICTURES:
            reading.setdefault("size", (size[1], size[0]))
        with open(data["path"], "rb") as file:
            table = scan(_rows_in(file, kind), **reading).read(expected)
    return replace(table, source=data["name"])  # reports show it, and visitors must not see a path


def columns_of(data: Said) -> Preview | None:
    """Look at the columns of a file before any is chosen; None where it has none, as pictures."""
    if not os.path.isfile(data["path"]):
        return None
    with open(data["path"], "rb") as file:
        return preview(_rows_in(file, data["kind"]), data["name"])


def _rows_in(file: IO[bytes], kind: str) -> IO[bytes]:
    """Return a stream that ``scan`` reads, and that is called as the file."""
    if kind not in (".json", ".ndjson"):
        return file
    stream: Any = json_rows(file, lines=kind == ".ndjson")
    stream.name = file.name
    return stream  # type: ignore[no-any-return]


def check_depth(value: Any, most: int = DEEPEST) -> None:
    """Check that lists and dictionaries are not nested so deeply that an answer with them cannot be sent.

    Raises
    ------
    DataError

    Examples
    --------
    >>> check_depth({"a": [1]}, most=2)
    """
    if isinstance(value, dict | list | tuple):
        if most == 0:
            raise DataError(
                f"The file nests values more than {DEEPEST} levels deep. Save it again where it was made."
            )
        for one in value.values() if isinstance(value, dict) else value:
            check_depth(one, most - 1)


def without_shell(text: str) -> str:
    """Return an error without what it says of the command line.

    Examples
    --------
    >>> without_shell('Leave out with drop=["a"] (--drop a), or fill it (--missing on the command line).')
    'Leave out with drop=["a"], or fill it.'
    """
    return re.sub(r' \(--(?:"[^"]*"|[^()"])*\)', "", text)


# ------------------------------------------------------------------------ JSON


def json_rows(file: IO[bytes], lines: bool = False) -> IO[bytes]:
    """Return rows in JSON as a stream that ``scan`` reads.

    Parameters
    ----------
    file : binary file
        ``[[1, 2], [3, 4]]``, ``[{"a": 1, "b": 2}]``, ``{"columns": ["a", "b"], "values": [[1, 2]]}``, or
        pictures as lists of lists of lists.
    lines : bool
        One row a line.

    Raises
    ------
    DataError

    Examples
    --------
    >>> scan(json_rows(io.BytesIO(b'[{"a": 1, "b": null}]')), missing="drop-columns").read().feature_names
    ('a',)
    """
    try:
        rows = [_parsed(line) for line in file if line.strip()] if lines else _parsed(file.read())
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"The body is not strict JSON: {why}. A missing value is null.") from error
    names = None
    if isinstance(rows, dict):
        names, rows = rows.get("columns"), rows.get("values")
    how = "Send a list of rows, each a list of numbers or an object of named ones."
    if not isinstance(rows, list) or not rows or not isinstance(names, list | None):
        raise DataError(f"The body holds no rows. {how}")
    if all(isinstance(row, dict) for row in rows):
        # In the order of their first appearance.
        names = list(dict.fromkeys(name for row in rows for name in row))
        return _as_arrow(names, [[row.get(name) for row in rows] for name in names])
    if names is None:
        return _as_npy(rows)
    if any(not isinstance(row, list) or len(row) != len(names) for row in rows):
        raise DataError(
            f"The body names {len(names)} columns, and has rows that are not of that length. {how}"
        )
    return _as_arrow(names, list(zip(*rows, strict=True)))


def _parsed(text: bytes) -> Any:
    def refuse(name: str) -> float:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def _as_npy(rows: list[Any]) -> IO[bytes]:
    stream = io.BytesIO()
    try:
        values = np.array(rows)
        if values.dtype.kind == "O" and not any(isinstance(entry, str) for entry in values.flat):
            values = values.astype(np.float64)  # null becomes NaN
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            "The rows of the body are not lists of numbers of one length. Correct them."
        ) from error
    if values.dtype.kind not in "buif":
        raise DataError("The body holds text, or numbers that are too large, where numbers are needed.")
    np.save(stream, values, allow_pickle=False)
    stream.seek(0)
    return stream


def _as_arrow(names: list[Any], columns: Sequence[Sequence[Any]]) -> IO[bytes]:
    import pyarrow as pa

    stream = io.BytesIO()
    try:
        table = pa.table([pa.array(column) for column in columns], names=list(map(str, names)))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise DataError(f"A column of the body mixes kinds of values ({error}). Send one kind.") from error
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    stream.seek(0)
    return stream


# --------------------------------------------------------------------- answers


def write_rows(
    answer: Said, table: Table, names: Sequence[str], values: npt.NDArray[Any], **more: npt.NDArray[Any]
) -> Said:
    """Write rows that were found for the rows of a table, and a column of each thing more that is known.

    Parameters
    ----------
    answer : dict
        ``path`` and ``kind``: json, ndjson, csv, parquet or npy.
    table : Table
    names : sequence of str
        Of the columns of ``values``.
    values : ndarray of shape (n, k)
    **more : ndarray of shape (n,)
    """
    kind = answer["kind"]
    columns = row_table(table, values, names) | more
    told = {"rows": len(values), "notes": list(table.notes)}
    if kind not in ("json", "ndjson"):
        write_table(answer["path"], columns, kind)
        return told
    with open(answer["path"], "x", encoding="utf-8") as file:
        if kind == "json":
            labels = None if table.labels is None else plain(table.labels)
            whole = {"columns": list(names), "values": plain(values), "names": plain(table.row_names)}
            file.write(json.dumps(whole | {"labels": labels} | plain(more) | told, allow_nan=False))
        else:
            plainly = {name: plain(list(column)) for name, column in columns.items()}
            for row in zip(*plainly.values(), strict=True):
                file.write(json.dumps(dict(zip(plainly, row, strict=True)), allow_nan=False) + "\n")
    return told
