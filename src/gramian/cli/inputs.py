"""What a command reads: data and models, with their remarks on standard error."""

import os
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gramian.cli.options import Reading
from gramian.cli.progress import progress, say
from gramian.errors import FileError, ParameterError


def read_table(data: str, reading: Reading, expected: Any = None) -> Any:
    """Read the data that the options ask for, and say what the reader decided by itself.

    Parameters
    ----------
    data : str
    reading : Reading
    expected : gramian.rows.expected.Expected, optional
        What a fitted model expects of new data.

    Returns
    -------
    gramian.rows.table.Table
    """
    from gramian.rows.scan import scan

    source: Any = sys.stdin.buffer if data == "-" else data
    with progress(f"reading {'standard input' if data == '-' else data}"):
        table = scan(source, **asdict(reading)).read(expected)
    if data != "-":
        # With the ::KEY that the reader leaves out.
        table = replace(table, source=data)
    for note in table.notes:
        say(f"gramian: {note}")
    return table


def read_new_data(data: str, reading: Reading, model: Any) -> Any:
    """Read data for a fitted model: its columns in its order, missing values as they were when it was fitted.

    Raises
    ------
    ParameterError
        For a treatment of missing values that would not be that of the model.
    """
    from gramian.estimators.inputs import expected_columns

    if reading.missing == "drop-columns":
        raise ParameterError(
            "--missing drop-columns would depend on the new data instead of the fitted one. "
            "Use --missing drop-rows, or fill the values first."
        )
    return read_table(data, reading, expected_columns(model))


def model_path(model: str) -> Path:
    """Return the model file that is meant: the one in it, for a folder written by fit."""
    from gramian.store import finish_folder

    path = Path(model)
    inside = path / "model.gramian"
    if not os.path.isdir(path):
        return path
    # What a fit left that was killed while it replaced files; who may not write there reads what is there.
    with suppress(FileError):
        finish_folder(path)
    return inside if os.path.exists(inside) else path


def read_model(model: str) -> Any:
    """Open a saved model."""
    from gramian.loading import load

    with progress(f"reading {model}"):
        return load(model_path(model))
