"""Tables in requests and responses: JSON, JSON lines, Parquet, .npy, CSV, and files of any kind."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gramian.checks import plain
from gramian.data.table import Expected, Table
from gramian.errors import DataError
from gramian.io.files import locate
from gramian.io.metadata import LabelPlace
from gramian.io.names import PICTURE_SUFFIXES
from gramian.io.preview import Preview
from gramian.io.scan import Scan, scan
from gramian.report.tables import row_table, write_table

Message = dict[str, Any]
DEEPEST = 100  # levels of a response; serializers fail at about 200
FILES_OF_PICTURES = (*PICTURE_SUFFIXES, ".zip")


def read_table(data: Message, expected: Expected | None = None, size: tuple[int, int] | None = None) -> Table:
    """Read a body, uploaded data, or a source of the command line.

    Parameters
    ----------
    data : dict
        ``path``; ``kind``, a suffix or "" to detect it; ``reading``, the options of ``scan``; ``given`` for a
        source of the command line; perhaps ``labels``, the data of labels, with the ``column`` of them;
        perhaps ``content``, a small body that is in no file.
    expected : Expected, optional
    size : (height, width), optional
        Default size of pictures.

    Raises
    ------
    GramianError
    """
    with scanned(data, size) as asked:
        table = asked.read(expected)
    return replace(table, source=data["name"])  # reports show it, and visitors must not see a path


@contextmanager
def scanned(data: Message, size: tuple[int, int] | None = None) -> Iterator[Scan]:
    """Open what :func:`read_table` reads."""
    reading = dict(data["reading"])
    if size is not None and data["kind"] in FILES_OF_PICTURES and not data["given"]:
        reading.setdefault("size", (size[1], size[0]))
    with ExitStack() as files:

        def place(part: Message) -> Any:
            """Return where to read: visitors' files have formats, but perhaps no suffix."""
            if part["given"]:
                return locate(part["path"])
            if (content := part.get("content")) is not None:
                return _rows_in(io.BytesIO(content.encode("latin-1")), part["kind"], part["path"])
            return _rows_in(files.enter_context(open(part["path"], "rb")), part["kind"], part["path"])

        if (labels := data.get("labels")) is not None:
            reading["labels_from"] = LabelPlace(place(labels), labels["column"], labels["name"])
        yield scan(data["path"] if data["given"] else place(data), **reading)


def asked_of(data: Message) -> Message:
    """Return the path and the options by which data are read, as a report names them: without ids."""
    asked = {"path": data["name"], **data["reading"]}
    if (labels := data.get("labels")) is not None:
        asked["labels_from"] = ":".join(filter(None, (labels["name"], labels["column"])))
    return asked


def columns_of(data: Message, **more: Any) -> Preview | None:
    """Return a preview of the columns of a file, also with further options; None without columns."""
    if not os.path.isfile(data["path"].partition("::")[0]):
        return None
    with scanned({**data, "reading": data["reading"] | more}) as asked:
        return asked.preview()


def _rows_in(file: IO[bytes], kind: str, name: str) -> IO[bytes]:
    """Return a stream for ``scan`` with the name of the file."""
    if kind not in (".json", ".ndjson"):
        return file
    stream: Any = json_rows(file, lines=kind == ".ndjson")
    stream.name = name
    return stream  # type: ignore[no-any-return]


def check_depth(value: Any, most: int = DEEPEST) -> None:
    """Check that lists and dictionaries are not nested too deeply for JSON.

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
                f"The file nests values more than {DEEPEST} levels deep. Save it again with its program."
            )
        for one in value.values() if isinstance(value, dict) else value:
            check_depth(one, most - 1)


# ------------------------------------------------------------------------ JSON


def json_rows(file: IO[bytes], lines: bool = False) -> IO[bytes]:
    """Return rows in JSON as a stream for ``scan``.

    Parameters
    ----------
    file : binary file
        ``[[1, 2], [3, 4]]``, ``[{"a": 1, "b": 2}]``, ``{"columns": ["a", "b"], "values": [[1, 2]]}``, or
        pictures as lists of lists of lists.
    lines : bool
        Whether each line is a row.

    Raises
    ------
    DataError

    Examples
    --------
    >>> scan(json_rows(io.BytesIO(b'[{"a": 1, "b": null}]')), missing="drop-columns").read().feature_names
    ('a',)
    """
    try:
        rows = [strict_json(line) for line in file if line.strip()] if lines else strict_json(file.read())
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"The data are not strict JSON: {why}. Write a missing value as null.") from error
    names = None
    if isinstance(rows, dict):
        names, rows = rows.get("columns"), rows.get("values")
    how = "Use a list of rows, each a list of numbers or an object with named numbers."
    if not isinstance(rows, list) or not rows or not isinstance(names, list | None):
        raise DataError(f"The data have no rows. {how}")
    if all(isinstance(row, dict) for row in rows):
        # In order of first appearance.
        names = list(dict.fromkeys(name for row in rows for name in row))
        return _as_arrow(names, [[row.get(name) for row in rows] for name in names])
    if names is None:
        return _as_npy(rows)
    if any(not isinstance(row, list) or len(row) != len(names) for row in rows):
        raise DataError(f"There are {len(names)} column names, but not every row has this length. {how}")
    return _as_arrow(names, list(zip(*rows, strict=True)))


def strict_json(text: bytes) -> Any:
    """Parse JSON; NaN and infinities raise ValueError."""

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
        raise DataError("The rows are not lists of numbers of equal length. Correct them.") from error
    if values.dtype.kind not in "buif":
        raise DataError("The data contain text, or numbers that are too large. Correct them.")
    np.save(stream, values, allow_pickle=False)
    stream.seek(0)
    return stream


def _as_arrow(names: list[Any], columns: Sequence[Sequence[Any]]) -> IO[bytes]:
    import pyarrow as pa

    stream = io.BytesIO()
    try:
        table = pa.table([pa.array(column) for column in columns], names=list(map(str, names)))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise DataError(f"A column mixes types of values ({error}). Use one type.") from error
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    stream.seek(0)
    return stream


# --------------------------------------------------------------------- responses


def write_rows(
    answer: Message, table: Table, names: Sequence[str], values: npt.NDArray[Any], **more: npt.NDArray[Any]
) -> Message:
    """Write results for the rows of a table.

    Parameters
    ----------
    answer : dict
        ``path`` and ``kind``: json, ndjson, csv, parquet or npy.
    table : Table
    names : sequence of str
        Names of the columns of ``values``.
    values : ndarray of shape (n, k)
    **more : ndarray of shape (n,)
        Further columns.
    """
    kind = answer["kind"]
    facts = {"rows": len(values), "notes": list(table.notes)}
    columns = {} if kind == "json" else row_table(table, values, names) | more
    if kind not in ("json", "ndjson"):
        write_table(answer["path"], columns, kind)
        return facts
    with open(answer["path"], "x", encoding="utf-8") as file:
        if kind == "json":
            labels = None if table.labels is None else plain(table.labels)
            whole = {"columns": list(names), "values": plain(values), "names": plain(table.row_names)}
            whole["numbers"] = plain(table.row_numbers)  # in the file, where rows were left out
            file.write(json.dumps(whole | {"labels": labels} | plain(more) | facts, allow_nan=False))
        else:
            plainly = {name: plain(list(column)) for name, column in columns.items()}
            for row in zip(*plainly.values(), strict=True):
                file.write(json.dumps(dict(zip(plainly, row, strict=True)), allow_nan=False) + "\n")
    return facts
