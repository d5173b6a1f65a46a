"""What a process does with tables and models: describes, plans, fits, carries out verbs, and draws.

A task returns facts, or the content of a file. Its ``data`` and ``model`` are what :meth:`Item.source` of
``state.py`` returns.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

import gramian
from gramian import errors
from gramian.answers import departure, diagnose, proposals
from gramian.app import verb, verbs
from gramian.app.verbs.fit import with_usual_components
from gramian.core.checks import check_choice, plain
from gramian.errors import DataError
from gramian.figures.registry import available, function_of
from gramian.models import inputs, model_file, monitor
from gramian.report import facts as facts_of
from gramian.report.headline import Headline, headline
from gramian.report.results import write_results
from gramian.report.sections import MOST_SCORES
from gramian.report.sentences import methods_lines, python_calls
from gramian.report.tables import completed, write_table
from gramian.statistics.components import component_names, decomposition_of, mapping_of
from gramian.tables.labels import in_order, label_texts
from gramian.tables.metadata import labels_of, usual_hue, with_metadata
from gramian.tables.names import PICTURE_SUFFIXES
from gramian.tables.preview import Preview
from gramian.tables.reading import IMPUTED
from gramian.tables.roles import roles_of
from gramian.tables.scan import Scan, scan
from gramian.tables.table import Expected, Table
from gramian.tables.times import in_time

MODELS_CACHED = 8
MOST_ROWS = 5_000_000  # of a table that was uploaded
TOLD = 100  # names of columns and labels in the facts of a table
FILES_OF_PICTURES = (*PICTURE_SUFFIXES, ".zip")
MOST_NAMES, MOST_CLASSES = 200, 12  # columns to choose from; classes of one that sets the shape

WIDTH = 560  # pixels of a figure by default
PIXELS = 96 / 25.4  # of a millimetre
LINKED = ("scores", "biplot", "control-chart", "loadings")  # figures that answer the pointer
ROWS_TEXT = (
    "Send a list of rows, each a list of numbers or an object with named numbers; a missing value is null."
)
Message = dict[str, Any]
_latest: dict[str, Table] = {}  # the table that was read last for a model

# --------------------------------------------------------------- tables


@contextmanager
def scanned(data: Message, size: tuple[int, int] | None = None) -> Iterator[Scan]:
    """Open uploaded data, which have a format but perhaps no suffix, or a source of the command line.

    Parameters
    ----------
    data : dict
    size : (height, width), optional
        Default size of pictures.
    """
    options = dict(data["reading"])
    if size is not None and data["kind"] in FILES_OF_PICTURES and not data["given"]:
        options.setdefault("size", (size[1], size[0]))
    if data["given"]:
        yield scan(data["path"], **options)
        return
    with open(data["path"], "rb") as file:
        yield scan(json_rows(file, data["path"]) if data["kind"] == ".json" else file, **options)


def read_table(data: Message, expected: Expected | None = None, size: tuple[int, int] | None = None) -> Table:
    """Read data into memory, for a fitted model what that expects."""
    with scanned(data, size) as scan:
        return _named(scan.read(expected), data)


def _named(table: Table, data: Message) -> Table:
    """Return a table under the name of its data, if it is not too long."""
    if not data["given"] and (rows := table.values.shape[0]) > MOST_ROWS:
        hint = "Fit it in a shell, or upload a part of the rows."
        raise DataError(f"{data['name']} has {rows:,} rows, and the limit is {MOST_ROWS:,}.", hint)
    return replace(table, source=data["name"])


def json_rows(file: IO[bytes], name: str = "") -> IO[bytes]:
    """Return rows in JSON as a stream for ``scan``.

    Parameters
    ----------
    file : binary file
        ``[[1, 2], [3, 4]]``, ``[{"a": 1, "b": 2}]``, or pictures as lists of lists of lists.
    name : str

    Raises
    ------
    DataError

    Examples
    --------
    >>> scan(json_rows(io.BytesIO(b'[{"a": 1, "b": null}]')), missing="drop-columns").read().feature_names
    ('a',)
    """

    def refuse(name: str) -> float:
        raise ValueError(f"{name} is not JSON")

    stream = io.BytesIO()
    try:
        content = file.read()
        rows = json.loads(content, parse_constant=refuse)
        if not isinstance(rows, list):
            raise ValueError("they are no list")
        if all(isinstance(row, dict) for row in rows):
            frame = pd.DataFrame(rows)
            frame.set_axis(frame.columns.map(str), axis=1).to_parquet(stream)
        elif b'"' in content:  # which NumPy would read as numbers
            raise ValueError("they hold text")
        else:
            np.save(stream, np.array(rows, dtype=np.float64))  # null becomes NaN
    except (LookupError, OverflowError, RecursionError, TypeError, ValueError) as error:
        text = f"The body has no rows in strict JSON: {errors.shortened(str(error))}."
        raise DataError(f"{text} {ROWS_TEXT}") from error
    stream.seek(0)
    stream.name = name
    return stream


# --------------------------------------------------------------- items


def describe(kind: str, data: Message) -> Message:
    """Return the facts of a model or data; other files raise an error."""
    if kind == "data":
        return describe_data(data)
    stored = model_file.read_model(data["path"])
    return {**facts_of.info_facts(gramian.load(data["path"]), stored.kind), "versions": stored.versions}


def describe_data(data: Message) -> Message:
    """Return the facts of a table or pictures; ``problem`` says why a table cannot be used as it is."""
    facts: Message = {"source": data["name"], "reading": data["reading"], "problem": None, "preview": None}
    with scanned(data) as scan:
        seen = scan.preview() if os.path.isfile(data["path"].partition("::")[0]) else None
        again = partial(_preview, scan)
        methods = proposals.METHODS
        found = {each: proposals.proposals(seen, each, scan.options, None, again) for each in methods}
        facts["proposals"] = plain({method: list(map(asdict, items)) for method, items in found.items()})
        if seen is not None:
            facts |= {"rows": seen.rows, "columns": seen.width}
            dropped = {item.value for items in found.values() for item in items if item.option == "drop"}
            facts["preview"] = seen.facts(dropped)
            roles = {role.name: role for role in roles_of(seen)}
            for column in facts["preview"]["columns"]:
                role = roles[column["name"]]
                column |= {"role": role.role, "why": role.why, "otherwise": role.otherwise}
        try:
            facts |= _table_facts(_named(scan.read(), data))
        except errors.GramianError as error:
            if seen is None:
                raise
            facts["problem"] = str(error)
    return facts


def _preview(scan: Scan, **more: Any) -> Preview | None:
    """Return a preview of the same file with further options."""
    return replace(scan, **more).preview()


def _table_facts(table: Table) -> Message:
    kinds = set() if table.labels is None else {*label_texts(table.labels)} - {""}
    labels = in_order(map(errors.shortened, kinds), table.levels.get(table.label_name or "", ()))
    names = plain(table.feature_names and table.feature_names[:TOLD])
    return facts_of.data_facts(table) | {"labels": labels[:TOLD] or None, "feature_names": names}


# --------------------------------------------------------------- fits


def _prepared(fit: Message, data: Message) -> tuple[Any, Table]:
    """Return the unfitted model and its training data."""
    name, parameters = fit["estimator"], fit["parameters"]
    kind = getattr(gramian, name)
    # The server sets the memory limit.
    allowed = [name for name in inspect.signature(kind).parameters if name != "memory_limit"]
    for parameter in parameters:
        check_choice("parameter", parameter, allowed)
    model, table = kind(**parameters), read_table(data)
    if name != "PCA" and (method := table.missing.method) in IMPUTED:
        advice = 'Use missing="mean", "drop-rows" or "drop-columns".'
        raise errors.ParameterError("missing", method, f"imputes by a PCA, not for a {name}", advice)
    return model if name == "Whitener" else with_usual_components(model, table), table


def plan(fit: Message, data: Message, memory_limit: int) -> Message:
    """Return the plan of a fit in a process with this limit."""
    model, table = _prepared(fit, data)
    chosen = model.set_params(memory_limit=memory_limit).plan(table)
    used = facts_of.used_text(table)
    return {"plan": plain(facts_of.plan_facts(chosen)), "text": str(chosen), "used": used}


def fit(fit: Message, data: Message, path: str) -> Message:
    """Fit and save a model."""
    model, table = _prepared(fit, data)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        model.fit(table)
    seconds = time.perf_counter() - start
    model.save(path)
    diagnosis = diagnose.diagnosis_of(model, completed(model, table))
    ours = [warning for warning in raised if issubclass(warning.category, errors.GramianWarning)]
    return {
        **facts_of.info_facts(model, fit["estimator"], diagnosis=diagnosis),
        "seconds": seconds,
        "warnings": [str(warning.message) for warning in ours],
        # What the page sends for another fit of the same data.
        "fit": fit | {"reading": fit["reading"] | data["reading"]},
    }


# --------------------------------------------------------------- models applied


@lru_cache(MODELS_CACHED)
def _loaded(path: str, changed: int) -> Any:
    return gramian.load(path)


def _changed(path: str) -> int:
    """Return when a file was changed, perhaps one with an array or sheet; 0 where it is not there."""
    file = path if os.path.exists(path) else path.partition("::")[0]
    return os.stat(file).st_mtime_ns if os.path.exists(file) else 0


def model_of(model: Message) -> Any:
    """Return a fitted model, of a monitor the monitor."""
    return _loaded(model["path"], _changed(model["path"]))


def applied(model: Message, data: Message | None) -> tuple[Any, Any, Any]:
    """Return a model, of a monitor what it watches too, and the whole rows for it, if any."""
    whole = model_of(model)
    fitted = mapping_of(whole)
    table = None if data is None else completed(fitted, rows_for(fitted, model, data))
    return whole, fitted, table


def rows_for(fitted: Any, model: Message, data: Message) -> Table:
    """Return the rows of a file for a fitted model; they stay until others are read."""
    key = json.dumps([model["path"], data["path"], data["reading"], _changed(data["path"])], sort_keys=True)
    if key not in _latest:
        _latest.clear()
        _latest[key] = read_table(
            data, inputs.expected_columns(fitted), getattr(fitted, "picture_shape_", None)
        )
    return _latest[key]


def _reader(message: Mapping[str, Any]) -> Callable[..., Any]:
    """Return what reads the inputs of a verb, which an order names."""

    def read(param: verb.Parameter, model: Any, limit: int | None) -> Any:
        kind, source = param.about.kind, message.get(param.name)
        if source is None:
            return None
        if kind == "model":
            return model_of(source)
        table = read_table(source) if model is None else rows_for(model, message["model"], source)
        meta = message.get("meta") if param.positional else None
        return table if meta is None else with_metadata(table, meta["path"], source["reading"].get("id"))

    return read


def as_json(content: Message) -> bytes:
    """Return an answer of any length."""
    return json.dumps(plain(content), allow_nan=False).encode()


def drawing(draw: Callable[[], Any], width: int, name: str) -> Message:
    """Return a figure that nobody points at for a page: .svg, a title, and sentences below it."""
    return dict(function_of("style", "in_page")(draw, width / PIXELS, name))


def _rows_as_facts(result: verb.Result, table: Any) -> Message | None:
    """Return the numbers for each row of a table, their names, and further columns; None without any."""
    more: Message
    if result.rows is not None:
        table, names = result.rows.table, result.rows.names
        values = np.concatenate([block for _, block in result.rows.blocks])
        names, more = names or component_names(values.shape[1]), result.rows.more()
    elif "rows" in result.tables:
        more = {name: column for name, column in result.tables["rows"].items() if name != "row"}
        names = [name for name, column in more.items() if column.dtype.kind == "f"]
        values = np.stack([more.pop(name) for name in names], axis=1)
    else:
        return None
    # The numbers are those in the file, where rows were left out.
    rows = {"names": table.row_names, "numbers": table.row_numbers, "labels": table.labels, **more}
    return rows | {"columns": list(names), "values": values, "rows": len(values), "notes": list(table.notes)}


def operate(operation: str, options: Message, draw: int | None = None, **message: Message | None) -> bytes:
    """Return the result of a verb: its file, rows for rows, or else its text, facts and figures."""
    asked = verbs.verb(operation)
    values = asked.values(options)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", errors.MissingValuesWarning)
        opened = asked.opened(values, _reader(message))
        reading = (message.get("data") or {}).get("arguments")
        result = asked(values, opened, verb.Context(reading=reading))
        rows = _rows_as_facts(result, opened.get("data"))
    if isinstance(result.content, bytes):
        return result.content
    facts = result.facts() if callable(result.facts) else result.facts
    notes = [*(str(warning.message) for warning in raised), *result.notes]
    if rows is not None:
        rows["notes"] += [*([facts["summary"]] if "summary" in facts else []), *notes]
        return as_json(rows | ({"events": facts["events"]} if "events" in facts else {}))
    text = str(result.text() if callable(result.text) else result.text)
    drawn: Message = {}
    for name, figure in result.figures.items() if draw else ():
        try:
            drawn[name] = drawing(figure, draw or WIDTH, name)
        except DataError as error:  # the result shows nothing that could be drawn
            notes.append(str(error).partition("\n")[0])
    return as_json({"text": text, "notes": notes, "facts": facts, "figures": drawn})


def as_csv(columns: Mapping[str, Any]) -> bytes:
    """Return a table as CSV."""
    content = io.BytesIO()
    write_table(content, columns, "csv")
    return content.getvalue()


# ------------------------------------------------------------------- figures


def with_folders(table: Table | None) -> Table | None:
    """Return a table in which pictures without labels have those of their folders, if there are several."""
    if table is None or table.labels is not None or table.picture_shape is None or table.row_names is None:
        return table
    folders = [name.rpartition("/")[0] for name in table.row_names]
    return replace(table, labels=np.array(folders)) if 1 < len(set(folders)) < len(folders) else table


def figure(
    model: Message, data: Message | None, name: str, width: int | None, format: str, **look: Any
) -> bytes:
    """Return one figure: for the page a specification of Vega-Lite or an .svg, else a file."""
    whole, _, table = applied(model, data)
    figures = {figure.name: figure for figure in available(whole, table)}
    if table is None and name == "scores":
        raise DataError("A figure of scores needs data.", "Choose the data to plot.")
    if (reference := look.pop("reference")) is not None and table is not None:
        whole = monitor.monitor_of(whole, table, reference=tuple(reference))
    asked = figures[check_choice("figure", name, tuple(figures))]
    rows = with_folders(table)
    if (components := look.pop("components")) is not None:
        look["components"] = components.split(",")
    if format == "csv":
        return as_csv(asked.data_of(whole, rows, **look).columns)
    across = (width or WIDTH) / PIXELS
    if format == "json" and name in LINKED:
        drawn = asked.data_of(whole, rows, **look)
        return as_json(function_of("linked", asked.function)(drawn, across))
    draw = partial(asked.draw, whole, rows, **look)
    if format == "json":
        return as_json(drawing(draw, width or WIDTH, name))
    return bytes(function_of("style", "content")(draw, format, across))


def figures(model: Message, data: Message | None) -> Message:
    """List the figures, the columns that may set colour and shape, and what the data show."""
    whole, fitted, table = applied(model, data)
    titles = {figure.name: figure.title for figure in available(whole, table)}
    labels = {} if table is None else labels_of(table)
    names = [] if table is None or table.feature_names is None else table.feature_names[:MOST_NAMES]
    rows, diagnosis = with_folders(table), None if table is None else diagnose.diagnosis_of(fitted, table)
    if not fitted.model_kind.has_components:
        answer = Headline("components", ())
    elif table is None or not fitted.model_kind.gives_scores:
        answer = headline(decomposition_of(fitted))
    else:
        scores = _scores(fitted, table)[:, :MOST_SCORES]
        answer = headline(fitted, rows, scores, diagnosis)
    codes, event = () if diagnosis is None else diagnosis.codes, answer.evidence
    # The order of rows means something: time, or neighbours that are alike.
    ordered = whole is not fitted or (
        table is not None and (in_time(table.row_names) or "row-order" in codes)
    )
    return {
        "figures": list(titles),
        "titles": titles,
        "columns": [*labels, *names],
        "groups": {name: kinds for name, values in labels.items() if (kinds := _kinds(table, name, values))},
        "hue": usual if isinstance(usual := usual_hue(rows), str) else "",
        "figure": answer.figure,
        "pair": list(answer.pair),
        "findings": list(answer.sentences),
        "ordered": ordered,
        "reference": [table.row_names[0], event.reference] if isinstance(event, departure.Departure) else [],
    }


def _kinds(table: Any, name: str, values: Any) -> list[str]:
    """Return the different labels as figures spell them; none where they are many."""
    kinds = in_order({*label_texts(values)} - {""}, table.levels.get(name, ()))
    return kinds if len(kinds) <= MOST_CLASSES else []


# ------------------------------------------------------------------- downloads


def _scores(fitted: Any, table: Table) -> Any:
    scores = np.asarray(fitted.transform(table))
    return scores.reshape(len(scores), -1)


def results(model: Message, data: Message, path: str) -> bytes:
    """Return the folder of results, which is written beside a path, as a .zip."""
    fitted, folder = mapping_of(model_of(model)), Path(path).with_name("results")
    if not fitted.model_kind.gives_scores:
        problem = f"A {type(fitted).__name__} has no folder of results."
        raise errors.InputTypeError(problem, "Choose a PCA or a KernelPCA.")
    _, fitted, table = applied(model, data)
    whole = facts_of.Fitted(fitted, table, _scores(fitted, table), reading=data["arguments"])
    write_results(folder, whole, report=True)
    return Path(shutil.make_archive(path, "zip", folder)).read_bytes()


def code(model: Message, data: Message | None) -> Message:
    """Return Python code that fits the same model, and a paragraph for a methods section."""
    fitted, reading = mapping_of(model_of(model)), None if data is None else data["arguments"]
    methods = "\n".join(methods_lines(decomposition_of(fitted))) if fitted.model_kind.has_components else ""
    return {"python": python_calls(fitted, reading), "methods": methods}


# ------------------------------------------------------------------- drawing


def program() -> bytes:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed, which sets ``vegaEmbed`` in a page."""
    with errors.needs("app", "vl-convert-python", "Figures that answer the pointer"):
        import vl_convert
    return str(vl_convert.javascript_bundle()).encode()
