"""Inputs of commands: data and models, with their notes on standard error."""

import csv
import io
import math
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

from gramian.checks import amount
from gramian.cli.options import Reading
from gramian.errors import GramianError, MemoryLimitError, MissingValuesError, ParameterError
from gramian.options import as_arguments, declared_of, given_options
from gramian.progress import say, shows_progress
from gramian.reading import IMPUTED, Remembered

ROLES = ("columns", "drop", "id", "label", "weights")  # options that name columns


def proposed(
    data: str,
    reading: Reading,
    options: Any,
    *,
    imputes: bool = True,
    keep: Callable[[Any], bool] = lambda one: True,
) -> tuple[Any, Reading, Any, Any]:
    """Return what is read, and the options with what the data suggest where none is given; print that.

    Parameters
    ----------
    data : str
    reading : Reading
    options : record of an operation
        Its ``scale``, and all parameters of a fit, are proposed too.
    imputes : bool
        Whether missing values may be left in for a PCA.
    keep : callable
        Says of a proposal whether it is wanted.

    Returns
    -------
    source : str, binary stream or gramian.io.scan.Scan
        What was looked at, from which reading goes on.
    reading, options : records
    found : gramian.analysis.proposals.Proposals
        Those that were applied.
    """
    from gramian.analysis.proposals import KNOWN, Method, Proposals, of_scan
    from gramian.io.scan import scan
    from gramian.operations.fit import kind_and_rules

    source: Any = io.BytesIO(sys.stdin.buffer.read()) if data == "-" else data
    names = {(declared_of(one).parameters or (one.name,))[0]: one.name for one in fields(options)}
    given = given_options(options)
    chosen = {name: _number(given[own]) for name, own in names.items() if own in given}
    chosen["center"] = "no_center" not in given
    looked, kernel = scan(source, **asdict(reading)), chosen.get("kernel")
    if kernel == "precomputed" or (data != "-" and not looked.repeatable):
        return source, reading, options, Proposals()
    method: Method = "pca" if kernel is None and imputes else "kernel-pca"
    takes = signature(kind_and_rules(kernel is None)[0]).parameters
    try:
        with shows_progress(f"looking at {'standard input' if data == '-' else data}"):
            found = of_scan(looked, method, chosen)
    except GramianError:  # reading says it better
        if data == "-":
            source.seek(0)
        return source, reading, options, Proposals()
    left = {name for name in names if name in takes and name not in chosen} | KNOWN
    found, source = found.active.only(lambda one: one.option in left and keep(one)), looked
    for line in found.lines():
        say(f"gramian: proposed {line}")
    read: dict[str, Any] = found.merged(looked)
    read |= {name: tuple(value) for name, value in read.items() if isinstance(value, list)}
    model = {names[name]: str(value) for name, value in found.parameters.items()}
    return source, replace(reading, **read), replace(options, **model), found


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def read_table(
    data: str,
    reading: Reading,
    expected: Any = None,
    *,
    source: Any = None,
    limit: int | None = None,
    imputes: bool = False,
) -> Any:
    """Read the data that the options choose, and print the notes of the reader.

    Parameters
    ----------
    data : str
    reading : Reading
    expected : gramian.io.treatment.Expected, optional
        What a fitted model expects of new data.
    source : binary stream or gramian.io.scan.Scan, optional
        What was looked at before.
    limit : int, optional
        Bytes of working memory; a larger table stays in its file. None reads all of it, as far as the
        machine has memory.
    imputes : bool
        Whether missing values may be left in for a PCA.

    Returns
    -------
    gramian.data.table.Table

    Raises
    ------
    ParameterError
        If missing values are left in for a PCA, and there is none.
    MemoryLimitError
        If all of it is needed, and memory is too small.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.io.scan import Scan, scan

    if reading.missing in IMPUTED and not imputes:
        raise ParameterError(
            "--missing",
            reading.missing,
            "imputes by a PCA: it applies to fit and plan without --kernel and to models of such fits",
            "Use --missing mean, drop-rows or drop-columns.",
        )
    source = source or (sys.stdin.buffer if data == "-" else data)
    with shows_progress(f"reading {'standard input' if data == '-' else data}"):
        asked = replace(source if isinstance(source, Scan) else scan(source), **asdict(reading))
        # A quarter of this may be read as a whole.
        working = 4 * memory_limit_bytes(None) if limit is None else limit
        try:
            table = asked.open(working, expected)
        except MissingValuesError as error:
            raise error.with_(imputes=imputes) from None
    if limit is None and not table.in_memory:
        size = math.prod(table.values.shape) * table.values.dtype.itemsize
        raise MemoryLimitError(
            f"This command needs all {amount(size)} of {data} in memory, but {amount(working / 4)} may be "
            "used. Choose --rows or --columns, or raise GRAMIAN_MEMORY_LIMIT; fit, plan, transform, "
            "reconstruct and whiten read large files in blocks."
        )
    if data != "-":
        # With the ::KEY that the reader leaves out.
        table = replace(table, source=data)
    for note in table.notes:
        say(f"gramian: {note}")
    return table


def read_new_data(
    data: str,
    reading: Reading,
    model: Any,
    limit: int | None = None,
    meta: Any = None,
    channels: Mapping[str, str] | None = None,
) -> Any:
    """Read data for a fitted model, its columns in its order; join metadata.

    Parameters
    ----------
    data, reading, model, limit
        As of :func:`read_table`.
    meta : str, optional
        A file of metadata.
    channels : mapping of str to str, optional
        The columns that set colour and shape: they are read as labels.

    Raises
    ------
    ParameterError
        If missing values would be treated in another way than when the model was fitted.
    """
    from gramian.base.inputs import expected_columns

    if reading.missing == "drop-columns":
        raise ParameterError(
            "--missing",
            reading.missing,
            "would depend on the new data instead of the fitted one",
            "Use --missing drop-rows, or fill the values first.",
        )
    labels, new = reading.label_names(), []
    if channels:
        from gramian.analysis.components import names_of
        from gramian.io.metadata import as_metadata

        meta = None if meta is None else as_metadata(meta, reading.id)
        known = {*(names_of(model) or ()), *(meta.columns if meta else ()), *labels}
        new = [name for name in dict.fromkeys(channels.values()) if name not in known]
    if new and reading.labels_from is not None:
        raise ParameterError(
            "--labels-from",
            problem=f"{new[0]} is a column of DATA, and --labels-from names another file.",
            hint="Leave out one of them, or give a table of all labels with --meta.",
        )
    chosen = replace(reading, label=(*labels, *new)) if new else reading
    try:
        table = read_table(data, chosen, expected_columns(model), limit=limit, imputes=True)
    except ParameterError as error:
        channel = next((channel for channel, name in (channels or {}).items() if name == error.value), None)
        if error.parameter != "label" or channel is None or channel in labels:
            raise
        raise ParameterError(f"--{channel}", error.value, error.allowed, error.hint) from error
    return table if meta is None else add_metadata(table, meta, reading.id)


def recalled(model: Any, data: str, reading: Reading) -> tuple[str, Reading]:
    """Return what is read, and the options, with those by which the data of the fit were read.

    Options that are given win, and each column has one use. Columns that another file lacks are left out.

    Parameters
    ----------
    model : fitted estimator
    data : str
    reading : Reading
        The options given.
    """
    from gramian.base.inputs import expected_columns
    from gramian.io.names import base_name

    fitted: dict[str, Any] = dict(getattr(model, "reading_", {}))
    source, key = fitted.pop("source", ""), fitted.pop("key", None)
    same = base_name(data) == source
    if same and key is not None and "::" not in data:
        data = f"{data}::{key}"
    given = given_options(reading)
    if "label" in given or "labels_from" in given:
        fitted |= {"label": None, "labels_from": None}
    if "columns" in given:
        fitted["drop"] = None
    if not same:  # where it depends on the rows or the place of one file
        fitted |= dict.fromkeys(("labels_from", "size", "header", "skip_footer"))
        if expected_columns(model).holes:  # mapped from what is there, better than without these rows
            fitted["missing"] = None
        if fitted.get("transpose"):
            fitted["label"] = None
    used = {name for option in ROLES for name in _names(given.get(option))} | {given.get("id")}
    for option, value in fitted.items():
        if option in ROLES and not (option == "label" and fitted.get("transpose")):
            several = (value,) if isinstance(value, str) else value or ()
            names = tuple(Remembered(name) for name in several if name not in used)
            fitted[option] = names[0] if names and option in ("id", "weights") else names
        elif option == "na_values":
            fitted[option] = tuple(map(Remembered, value or ()))
    fitted = {name: value for name, value in fitted.items() if _is_asked(value) and name not in given}
    if fitted:
        options = shlex.join(as_arguments(Reading(**fitted)))
        say(f"gramian: read as {'' if same else f'{source} was '}for the fit: {options}")
    return data, replace(reading, **fitted)


def _is_asked(value: Any) -> bool:
    """Say whether an option was given; 0 is a line of a file."""
    return bool(value) or (value == 0 and value is not False)


def _names(value: Any) -> tuple[str, ...]:
    """Return the names in an option: of a list as the command line has it, or already apart."""
    if isinstance(value, str) and not value.startswith("@"):
        return tuple(name.strip() for name in next(csv.reader([value], skipinitialspace=True), []))
    return tuple(value) if isinstance(value, tuple) else ()


def read_arguments(data: str, reading: Reading) -> dict[str, Any]:
    """Return what :func:`gramian.scan` is given to read the same in Python."""
    return {"path": data} | {name: _plain(value) for name, value in given_options(reading).items()}


def _plain(value: Any) -> Any:
    """Return names as text, several as a list, and one that is no such text too."""
    if not isinstance(value, tuple) or not all(isinstance(one, str) for one in value):
        return str(value) if isinstance(value, str) else value
    alone = len(value) == 1 and "," not in value[0] and not value[0].startswith("@")
    return str(value[0]) if alone else [str(one) for one in value]


def add_metadata(table: Any, meta: Any, id: str | None) -> Any:
    """Return a table with the metadata of a file, and print how they were joined.

    Parameters
    ----------
    table : gramian.data.table.Table
    meta : str or gramian.io.metadata.Metadata
    id : str or None
        The column that names rows, in the file of metadata too where it is there.
    """
    from gramian.io.metadata import with_metadata

    joined = with_metadata(table, meta, id)
    say(f"gramian: {joined.notes[-1]}")
    return joined


def model_path(model: str) -> Path:
    """Return the path of the model file; for a folder that fit wrote, of the one inside."""
    path = Path(model)
    return path / "model.gramian" if os.path.exists(path / "model.gramian") else path


def read_model(model: str, *, whole: bool = False) -> Any:
    """Open a saved model; of a monitor the PCA or kernel PCA, unless all of it is needed.

    Raises
    ------
    GramianError
        For a stream of too few rows, which is not a fitted model yet.
    """
    from sklearn.utils.validation import check_is_fitted

    from gramian.analysis.components import mapping_of
    from gramian.base.model_file import load

    with shows_progress(f"reading {model}"):
        fitted = load(model_path(model))
        check_is_fitted(fitted)
        return fitted if whole else mapping_of(fitted)
