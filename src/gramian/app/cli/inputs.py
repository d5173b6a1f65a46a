"""Inputs of commands: data and models, with their notes on standard error."""

import io
import math
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import groupby
from pathlib import Path
from typing import Any

from gramian import errors
from gramian.app.cli.outputs import check_out
from gramian.app.verb import Verb, as_arguments, model_path, parameters_of
from gramian.app.verb import reading as reading_options
from gramian.app.verbs.fit import estimator_class
from gramian.core.checks import amount, names_in, shown
from gramian.core.progress import say, shows_progress
from gramian.tables.reading import IMPUTED, OWN, Remembered

READS = [param.name for param in parameters_of(reading_options)]
ROLES = ("columns", "drop", "id", "label", "weights")  # options that name columns


def files_of(reading: Mapping[str, Any]) -> list[str]:
    """Name the files that options of reading name: lists of columns, and labels."""
    lists = [names[1:] for name in ("columns", "drop") if str(names := reading.get(name, "")).startswith("@")]
    if (labels := reading.get("labels_from")) is None:
        return lists
    return [*lists, labels, labels.rpartition(":")[0].removesuffix(":")]


def proposed(
    data: str, reading: dict[str, Any], values: dict[str, Any], verb: Verb, imputes: bool
) -> tuple[Any, dict[str, Any], dict[str, Any], Any]:
    """Return what is read, and the options with what the data suggest where none is given; print that.

    Parameters
    ----------
    data : str
    reading, values : dict
        The options of reading that are given, and those of the verb: its ``scale``, and all parameters of a
        fit, are proposed too.
    verb : Verb
    imputes : bool
        Whether missing values may be left in for a PCA.

    Returns
    -------
    source : str, binary stream or gramian.tables.scan.Scan
        What was looked at, from which reading goes on.
    reading, values : dict
    found : gramian.answers.proposals.Proposals
        Those that were applied.
    """
    from gramian.answers.proposals import KNOWN, Method, Proposals, of_scan, with_sheet
    from gramian.tables.scan import scan

    source: Any = io.BytesIO(sys.stdin.buffer.read()) if data == "-" else data
    looked, kernel = scan(source, **reading), values.get("kernel")
    if kernel == "precomputed" or (data != "-" and not looked.repeatable):
        return source, reading, values, Proposals()
    method: Method = "pca" if kernel is None and imputes else "kernel-pca"
    takes = signature(estimator_class(kernel)).parameters
    try:
        with shows_progress(f"looking at {'standard input' if data == '-' else data}"):
            found = with_sheet(of_scan(looked, method, {"center": True} | values), looked)
    except errors.GramianError:  # reading says it better
        if data == "-":
            source.seek(0)
        return source, reading, values, Proposals()
    left = {name for name in verb.options if name in takes and name not in values} | KNOWN
    found, source = found.active.only(lambda item: item.option in left and verb.heeds(item)), looked
    for line in found.lines():
        say(f"gramian: proposed {line}")
    if question := found.question():
        names = ",".join(item.name for item in found.doubtful)
        say(f"gramian: {question}{f' To leave out: --drop {shlex.quote(names)}' if names else ''}")
    read: dict[str, Any] = found.merged(looked)
    read |= {name: tuple(value) for name, value in read.items() if isinstance(value, list)}
    return source, reading | read, values | found.parameters, found


def read_table(
    data: str,
    reading: dict[str, Any],
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
    reading : dict
    expected : gramian.tables.treatment.Expected, optional
        What a fitted model expects of new data.
    source : binary stream or gramian.tables.scan.Scan, optional
        What was looked at before.
    limit : int, optional
        Bytes of working memory; a larger table stays in its file. None reads all of it, as far as the
        machine has memory.
    imputes : bool
        Whether missing values may be left in for a PCA.

    Returns
    -------
    gramian.tables.table.Table

    Raises
    ------
    ParameterError
        If missing values are left in for a PCA, and there is none.
    MemoryLimitError
        If all of it is needed, and memory is too small.
    """
    from gramian.core.arrays import memory_limit_bytes
    from gramian.tables.scan import Scan, scan

    if reading.get("missing") in IMPUTED and not imputes:
        allowed = "imputes by a PCA: it applies to fit and plan without a kernel and to models of such fits"
        advice = 'Use missing="mean", "drop-rows" or "drop-columns".'
        raise errors.ParameterError("missing", reading["missing"], allowed, advice)
    source = source or (sys.stdin.buffer if data == "-" else data)
    with shows_progress(f"reading {'standard input' if data == '-' else data}"):
        request = replace(source if isinstance(source, Scan) else scan(source), **reading)
        # A quarter of this may be read as a whole.
        working = 4 * memory_limit_bytes(None) if limit is None else limit
        try:
            table = request.open(working, expected)
        except errors.MissingValuesError as error:
            if not error.choices:  # it says already what to do
                raise
            raise errors.MissingValuesError(error.where, **error.choices | {"imputes": imputes}) from None
    if limit is None and not table.in_memory:
        size = math.prod(table.values.shape) * table.values.dtype.itemsize
        raise errors.MemoryLimitError(
            f"This command needs all {amount(size)} of {data} in memory, but {amount(working / 4)} may be "
            "used. Choose rows or columns, or raise GRAMIAN_MEMORY_LIMIT; fit, plan, transform, "
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
    reading: dict[str, Any],
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
    from gramian.models.inputs import expected_columns

    if reading.get("missing") == "drop-columns":
        allowed = "would depend on the new data instead of the fitted one"
        advice = 'Use missing="drop-rows", or fill the values first.'
        raise errors.ParameterError("missing", reading["missing"], allowed, advice)
    label, new = reading.get("label"), []
    labels = [label] if isinstance(label, str) and reading.get("transpose") else [*_names(label)]
    if channels:
        from gramian.statistics.components import names_of
        from gramian.tables.metadata import as_metadata

        meta = None if meta is None else as_metadata(meta, reading.get("id"))
        fitted_names = {*(names_of(model) or ()), *(meta.columns if meta else ()), *labels}
        new = [name for name in dict.fromkeys(channels.values()) if name not in fitted_names]
    if new and reading.get("labels_from") is not None:
        problem = f"{new[0]} is a column of DATA, and labels_from names another file."
        advice = "Leave out one of them, or give a table of all labels as meta."
        raise errors.ParameterError("labels_from", problem=problem, hint=advice)
    chosen = reading | ({"label": (*labels, *new)} if new else {})
    try:
        table = read_table(data, chosen, expected_columns(model), limit=limit, imputes=True)
    except errors.ParameterError as error:
        channel = next((channel for channel, name in (channels or {}).items() if name == error.value), None)
        if error.parameter != "label" or channel is None or channel in labels:
            raise
        raise errors.ParameterError(channel, error.value, error.allowed, error.hint) from error
    return table if meta is None else add_metadata(table, meta, reading.get("id"))


def table_of_fit(name: str, model: Any) -> str:
    """Return the file of the rows of a fit: where it was, or else beside the model or its folder.

    Parameters
    ----------
    name : str
        The file or folder of the model.
    model : fitted estimator

    Raises
    ------
    ParameterError
        If it is not there.
    """
    from gramian.statistics.components import mapping_of

    source = getattr(mapping_of(model), "_table_file", {}).get("path", "")
    file, folder = source.partition("::")[0], model_path(name).parent
    paths = (Path(file), *(parent / Path(file).name for parent in (folder, folder.parent)))
    found = next((str(path) for path in paths if file and path.exists()), "")
    if not found:
        problem = f"{name} does not say in which file its rows are."
        problem = f"The rows of the fit were in {file}, which is not there." if file else problem
        raise errors.ParameterError("data", problem=problem, hint="Add the file of the rows after the model.")
    return found


def own_options(model: Any) -> dict[str, Any]:
    """Return the options by which the rows of a fit were chosen and corrected in their table."""
    from gramian.statistics.components import mapping_of

    file = mapping_of(model)._table_file
    return {name: file[name] for name in OWN if name in file}


def check_unchanged(model: Any, name: str, table: Any) -> None:
    """Raise an error for a table that is not as it was for the fit; say which one is used.

    Raises
    ------
    DataError
    """
    from gramian.statistics.components import mapping_of

    fitted, now = mapping_of(model)._table_file["sha256"], table.origin.sha256
    if fitted and now and fitted != now:
        hint = "Name it after the model to use it as it is now."
        raise errors.DataError(f"{name} has changed since the fit.", hint)
    state = "unchanged since then" if fitted and now else "and whether it changed since then is not known"
    say(f"gramian: the table is that of the fit: {name}, {state}")


def recalled(model: Any, data: str, reading: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return what is read, and the options, with those by which the data of the fit were read.

    Options that are given win, and each column has one use. Columns that another file lacks are left out.

    Parameters
    ----------
    model : fitted estimator
    data : str
    reading : dict
        The options given.
    """
    from gramian.models.inputs import expected_columns
    from gramian.tables.names import base_name

    fitted: dict[str, Any] = dict(getattr(model, "reading_", {}))
    source, key = fitted.pop("source", ""), fitted.pop("key", None)
    same = base_name(data) == source
    if same and key is not None and "::" not in data:
        data = f"{data}::{key}"
    if "label" in reading or "labels_from" in reading:
        fitted |= {"label": None, "labels_from": None}
    if "columns" in reading:
        fitted["drop"] = None
    if not same:  # where it depends on the rows or the place of one file
        fitted |= dict.fromkeys(("labels_from", "size", "header", "skip_footer", "skip_after_header"))
        if expected_columns(model).holes:  # mapped from what is there, better than without these rows
            fitted["missing"] = None
        if fitted.get("transpose"):
            fitted["label"] = None
    used = {name for option in ROLES for name in _names(reading.get(option))} | {reading.get("id")}
    for option, value in fitted.items():
        if option in ROLES and not (option == "label" and fitted.get("transpose")):
            several = (value,) if isinstance(value, str) else value or ()
            names = tuple(Remembered(name) for name in several if name not in used)
            fitted[option] = names[0] if names and option in ("id", "weights") else names
        elif option in ("na_values", "answers"):
            fitted[option] = tuple(map(Remembered, value or ()))
    fitted = {name: value for name, value in fitted.items() if _is_asked(value) and name not in reading}
    if fitted:
        options = shlex.join(as_arguments({name: fitted[name] for name in READS if name in fitted}))
        say(f"gramian: read as {'' if same else f'{source} was '}for the fit: {options}")
    return data, reading | fitted


def _is_asked(value: Any) -> bool:
    """Say whether an option was given; 0 is a line of a file."""
    return bool(value) or (value == 0 and value is not False)


def _names(value: Any) -> tuple[str, ...]:
    """Return the names in an option: of a list as the command line has it, or already apart."""
    if isinstance(value, str) and not value.startswith("@"):
        return tuple(names_in(value))
    return tuple(value) if isinstance(value, tuple) else ()


def read_arguments(data: str, reading: dict[str, Any]) -> dict[str, Any]:
    """Return what :func:`gramian.scan` is given to read the same in Python."""
    return {"path": data} | {name: _plain(value) for name, value in reading.items()}


def _plain(value: Any) -> Any:
    """Return names as text, several as a list, and one that is no such text too."""
    if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
        return str(value) if isinstance(value, str) else value
    alone = len(value) == 1 and "," not in value[0] and not value[0].startswith("@")
    return str(value[0]) if alone else [str(item) for item in value]


def add_metadata(table: Any, meta: Any, id: str | None) -> Any:
    """Return a table with the metadata of a file, and print how they were joined.

    Parameters
    ----------
    table : gramian.tables.table.Table
    meta : str or gramian.tables.metadata.Metadata
    id : str or None
        The column that names rows, in the file of metadata too where it is there.
    """
    from gramian.tables.metadata import with_metadata

    joined = with_metadata(table, meta, id)
    say(f"gramian: {joined.notes[-1]}")
    return joined


def read_model(model: str) -> Any:
    """Open a saved model.

    Raises
    ------
    GramianError
        For a stream of too few rows, which is not a fitted model yet.
    """
    from sklearn.utils.validation import check_is_fitted

    from gramian.models.model_file import load

    with shows_progress(f"reading {model}"):
        fitted = load(model_path(model))
        check_is_fitted(fitted)
        return fitted


def open_gallery(name: str, model: Any, access: str) -> Any:
    """Open a gallery of a model; before long work, check one that will be changed, and return its path."""
    from gramian.faces.gallery import Gallery

    with shows_progress("reading the gallery"):
        if access == "read":
            return Gallery.open(name, model)
        if os.path.lexists(name):
            Gallery.open(name, model)
        else:
            check_out(name)
        return name


def read_pictures(source: Any, model: Any, size: Any = None) -> Any:
    """Read pictures of faces, in a model's size, and say what was skipped, resized and decided.

    Parameters
    ----------
    source : path, or list of paths
    model : FaceSpace, optional
    size : optional
        As of :func:`gramian.faces.read_faces`.

    Returns
    -------
    gramian.faces.Faces
    """
    from gramian.faces.face_images import read_faces

    with shows_progress(f"reading {shown(source) if isinstance(source, str) else 'pictures'}"):
        faces = read_faces(source, size=size if model is None else model.picture_shape_[::-1])
    for name, why in faces.skipped:
        say(f"gramian: skipped: {name} {why}")
    for note in faces.notes:
        say(f"gramian: {note}")
    return faces


def read_all_pictures(pictures: Sequence[str], model: Any, *, required: bool = False) -> list[Any]:
    """Read pictures in a model's size, and say what was skipped and resized.

    The Faces of each argument, or of several picture files in a row, have names by which pictures can be
    found from where the command was called. An argument of which nothing can be used is skipped, as a
    picture is. Missing folders and archives that are required raise an error at once.
    """
    from gramian.tables.files import locate

    sources: list[str | list[str]] = []
    for files, group in groupby(pictures, _is_picture):  # picture files in a row are read as one list
        some = list(group)
        sources += [some] if files else some
        for name in [] if files or not required else some:
            if not os.path.exists(name):
                locate(name)
    results: list[Any] = []
    while sources:
        source = sources.pop(0)
        try:
            results.append(_read_some(source, model))
        except (errors.DataError, errors.FileError) as error:
            if isinstance(source, list) and len(source) > 1:
                # Which of them are bad is seen when each is read alone.
                sources[:0] = [[path] for path in source]
                continue
            results.append(_nothing(shown(source if isinstance(source, str) else source[0]), shown(error)))
            say(f"gramian: skipped: {shown(error)}")
    return results


def _is_picture(name: str) -> bool:
    from gramian.tables.names import PICTURE_SUFFIXES

    return not os.path.isdir(name) and Path(name).suffix.lower() in PICTURE_SUFFIXES


def _nothing(name: str, why: str) -> Any:
    """Return no pictures, and why."""
    import numpy as np

    from gramian.faces.face_images import Faces

    return Faces(np.empty((0, 0, 0)), None, (), (), skipped=((name, why),))


def _read_some(source: str | list[str], model: Any) -> Any:
    faces = read_pictures(source, model)
    if isinstance(source, list):
        return faces
    return replace(faces, names=tuple(f"{source.rstrip('/')}/{name}" for name in faces.names))
