"""What a process does with tables and models: describes, plans, fits, carries out verbs, and draws.

A task returns facts, or the content of a file; one with an ``answer`` writes a file of this path itself.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from gramian import PCA, KernelPCA, Whitener, errors, load
from gramian.answers.departure import Departure
from gramian.answers.diagnose import Diagnosis, diagnosis_of
from gramian.answers.proposals import METHODS, proposals
from gramian.app.verb import Context, Parameter, Result
from gramian.app.verbs import verb as verb_of
from gramian.app.verbs.fit import with_usual_components
from gramian.core import progress
from gramian.core.checks import check_choice, plain
from gramian.errors import DataError
from gramian.figures.registry import available, function_of
from gramian.kernels import kernel_from_name
from gramian.models.inputs import expected_columns
from gramian.models.model_file import read_model
from gramian.models.monitor import monitor_of
from gramian.report import facts as facts_of
from gramian.report.facts import Fitted
from gramian.report.headline import Headline, headline
from gramian.report.page import report_page
from gramian.report.results import write_results
from gramian.report.sections import MOST_SCORES
from gramian.report.sentences import methods_lines, python_calls
from gramian.report.tables import completed, write_table
from gramian.statistics.components import component_names, decomposition_of, mapping_of
from gramian.statistics.findings import Finding
from gramian.tables.labels import in_order, label_texts
from gramian.tables.metadata import labels_of, usual_hue, with_metadata
from gramian.tables.names import PICTURE_SUFFIXES
from gramian.tables.preview import Preview
from gramian.tables.reading import IMPUTED
from gramian.tables.roles import roles_of
from gramian.tables.scan import Scan, scan
from gramian.tables.table import Expected, Table
from gramian.tables.times import in_time

ESTIMATORS: dict[str, type[Any]] = {kind.__name__: kind for kind in (PCA, KernelPCA, Whitener)}
MODELS_CACHED = 8
MOST_ROWS = 5_000_000  # of a table that was uploaded
TOLD = 100  # names of columns and labels in the facts of a table
SECONDS_BETWEEN = 0.1  # two reports of how far a fit is
FILES_OF_PICTURES = (*PICTURE_SUFFIXES, ".zip")
MOST_NAMES, MOST_CLASSES = 200, 12  # columns to choose from; classes of one that sets the shape

WIDTH = 560  # pixels of a figure by default
PIXELS = 96 / 25.4  # of a millimetre
LINKED = ("scores", "biplot", "control-chart", "loadings")  # figures that answer the pointer
ROWS_TEXT = (
    "Send a list of rows, each a list of numbers or an object with named numbers; a missing value is null."
)
Message = dict[str, Any]
Say = Callable[[Message], None]
_latest: dict[str, Table] = {}  # the table that was read last for a model

# --------------------------------------------------------------- tables


def read_table(data: Message, expected: Expected | None = None, size: tuple[int, int] | None = None) -> Table:
    """Read a body, uploaded data, or a source of the command line.

    Parameters
    ----------
    data : dict
        ``path``; ``kind``, a suffix or "" to detect it; ``reading``, the options of ``scan``; ``given`` for a
        source of the command line.
    expected : Expected, optional
    size : (height, width), optional
        Default size of pictures.

    Raises
    ------
    GramianError
    """
    with scanned(data, size) as scan:
        table = scan.read(expected)
    if not data["given"] and (rows := table.values.shape[0]) > MOST_ROWS:
        hint = "Fit it in a shell, or upload a part of the rows."
        raise DataError(f"{data['name']} has {rows:,} rows, and the limit is {MOST_ROWS:,}.", hint)
    return replace(table, source=data["name"])


@contextmanager
def scanned(data: Message, size: tuple[int, int] | None = None) -> Iterator[Scan]:
    """Open what :func:`read_table` reads: uploads have formats, but perhaps no suffix."""
    options = dict(data["reading"])
    if size is not None and data["kind"] in FILES_OF_PICTURES and not data["given"]:
        options.setdefault("size", (size[1], size[0]))
    if data["given"]:
        yield scan(data["path"], **options)
        return
    with open(data["path"], "rb") as file:
        yield scan(json_rows(file, data["path"]) if data["kind"] == ".json" else file, **options)


def columns_of(data: Message, **more: Any) -> Preview | None:
    """Return a preview of the columns of a file, also with further options; None without columns."""
    if not os.path.isfile(data["path"].partition("::")[0]):
        return None
    with scanned({**data, "reading": data["reading"] | more}) as scan:
        return scan.preview()


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
        rows = json.loads(file.read(), parse_constant=refuse)
        if not isinstance(rows, list):
            raise ValueError("they are no list")
        if all(isinstance(row, dict) for row in rows):
            frame = pd.DataFrame(rows)
            frame.set_axis(frame.columns.map(str), axis=1).to_parquet(stream)
        else:
            values = np.array(rows)
            if values.dtype.kind == "O" and not any(isinstance(entry, str) for entry in values.flat):
                values = values.astype(np.float64)  # null becomes NaN
            if values.dtype.kind not in "buif":
                raise ValueError("they hold text, or numbers that are too large")
            np.save(stream, values, allow_pickle=False)
    except (LookupError, OverflowError, RecursionError, TypeError, ValueError) as error:
        text = f"The body has no rows in strict JSON: {errors.shortened(str(error))}."
        raise DataError(f"{text} {ROWS_TEXT}") from error
    stream.seek(0)
    stream.name = name
    return stream


# --------------------------------------------------------------- items


def describe(kind: str, source: Message) -> Message:
    """Return the facts of a model or data; other files raise an error."""
    if kind == "data":
        return describe_data(source)
    stored = read_model(source["path"])
    return {**facts_of.info_facts(load(source["path"]), stored.kind), "versions": stored.versions}


def describe_data(data: Message) -> Message:
    """Return the facts of a table or pictures; ``problem`` says why a table cannot be used as it is."""
    with scanned(data) as scan:
        options = scan.options
    seen, problem = columns_of(data), None
    facts: Message = {"rows": seen.rows, "columns": seen.width} if seen else {}
    try:
        table = read_table(data)
        kinds = set() if table.labels is None else {*label_texts(table.labels)} - {""}
        levels = table.levels.get(table.label_name or "", ())
        facts |= facts_of.data_facts(table)
        facts["labels"] = in_order(map(errors.shortened, kinds), levels)[:TOLD] or None
        facts["feature_names"] = plain(table.feature_names and table.feature_names[:TOLD])
    except errors.GramianError as error:
        if seen is None:
            raise
        problem = str(error)
    facts |= {"source": data["name"], "reading": data["reading"], "problem": problem}
    again = partial(columns_of, data)
    found = {method: proposals(seen, method, options, None, again) for method in METHODS}
    proposed = {method: list(map(asdict, items)) for method, items in found.items()}
    wanted = {item.value for items in found.values() for item in items if item.option == "drop"}
    preview = None if seen is None else _preview(seen, wanted)
    return facts | {"preview": preview, "proposals": plain(proposed)}


def _preview(seen: Preview, wanted: set[Any]) -> Message:
    """Return the facts of a preview, and of each column what it is."""
    found = {role.name: role for role in roles_of(seen)}
    facts: Message = seen.facts(wanted)
    for column in facts["columns"]:
        role = found[column["name"]]
        column |= {"role": role.role, "why": role.why, "otherwise": role.otherwise}
    return facts


# --------------------------------------------------------------- fits


def _prepared(fit: Message, data: Message) -> tuple[Any, Table]:
    """Return the unfitted model and its training data."""
    kind, parameters = ESTIMATORS[fit["estimator"]], fit["parameters"]
    # The server sets the memory limit.
    allowed = [name for name in inspect.signature(kind).parameters if name != "memory_limit"]
    for name in parameters:
        check_choice("parameter", name, allowed)
    model, table = kind(**parameters), read_table(data)
    if kind is not PCA and (method := table.missing.method) in IMPUTED:
        advice = 'Use missing="mean", "drop-rows" or "drop-columns".'
        raise errors.ParameterError("missing", method, f"imputes by a PCA, not for a {kind.__name__}", advice)
    return with_usual_components(model, table) if kind in (PCA, KernelPCA) else model, table


def plan(fit: Message, data: Message) -> Message:
    """Return the plan of a fit."""
    return _planned(*_prepared(fit, data))


def _planned(model: Any, table: Table) -> Message:
    chosen = model.plan(table)
    used = facts_of.used_text(table)
    return {"plan": plain(facts_of.plan_facts(chosen)), "text": str(chosen), "used": used}


def fit(fit: Message, data: Message, answer: Message, say: Say) -> Message:
    """Fit and save a model; send the plan first, and then the progress."""
    with progress.report_to(_Messages(say)):
        model, table = _prepared(fit, data)
    say(_planned(model, table))
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as raised, progress.report_to(_Messages(say)):
        warnings.simplefilter("always")
        model.fit(table)
    seconds = time.perf_counter() - start
    model.save(answer["path"])
    diagnosis = diagnosis_of(model, completed(model, table))
    return {
        **facts_of.info_facts(model, fit["estimator"], diagnosis=diagnosis),
        "seconds": seconds,
        "warnings": [
            str(warning.message) for warning in raised if issubclass(warning.category, errors.GramianWarning)
        ],
        # What the page sends for another fit of the same data.
        "fit": fit | {"reading": fit["reading"] | data["reading"]},
    }


class _Messages:
    """Sends the progress of a fit to the server, but not too often."""

    def __init__(self, say: Say) -> None:
        self._say, self._last = say, 0.0
        self._counts: tuple[str | None, int, int] = (None, 0, 0)
        self._lock = threading.Lock()

    def update(self, message: str, unit: str | None = None, done: int = 0, total: int = 0) -> None:
        with self._lock:
            if unit is not None:
                self._counts = unit, done, total
            now = time.monotonic()
            if now - self._last < SECONDS_BETWEEN:
                return
            self._last, (unit, done, total) = now, self._counts
            self._say({"text": message, "counted": unit, "done": done, "total": total})


# --------------------------------------------------------------- models applied


@lru_cache(MODELS_CACHED)
def _loaded(path: str, changed: int) -> Any:
    return load(path)


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
    table = None if data is None else rows_for(fitted, model, data)
    return whole, fitted, None if table is None else completed(fitted, table)


def rows_for(fitted: Any, model: Message, data: Message) -> Table:
    """Return the rows of a file for a fitted model; those of an upload stay until others are read."""
    key = json.dumps([model["path"], data["path"], data["reading"], _changed(data["path"])], sort_keys=True)
    if key in _latest:
        return _latest[key]
    _latest.clear()
    table = read_table(data, expected_columns(fitted), getattr(fitted, "picture_shape_", None))
    if not data.get("once"):  # the body of a request
        _latest[key] = table
    return table


def _reader(message: Message) -> Callable[..., Any]:
    """Return what reads the inputs of a verb, which an order names."""

    def read(param: Parameter, model: Any, limit: int | None) -> Any:
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
    return json.dumps(content, allow_nan=False).encode()


def drawing(draw: Callable[[], Any], width: int, name: str) -> Message:
    """Return a figure that nobody points at for a page: .svg, a title, and sentences below it."""
    return dict(function_of("style", "in_page")(draw, width / PIXELS, name))


def _rows_as_facts(result: Result, table: Any) -> Message | None:
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
    rows |= {"columns": list(names), "values": values, "rows": len(values), "notes": list(table.notes)}
    return dict(plain(rows))


def operate(operation: str, options: Message, draw: int | None, **message: Message) -> bytes:
    """Return the result of a verb: rows for rows, or else its text, facts and figures."""
    verb = verb_of(operation)
    values = verb.values(options)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", errors.MissingValuesWarning)
        inputs = verb.opened(values, _reader(message))
        result = verb(values, inputs, Context(reading=message.get("data", {}).get("arguments")))
        rows = _rows_as_facts(result, inputs.get("data"))
    facts = result.facts() if callable(result.facts) else result.facts
    notes = [*(str(warning.message) for warning in raised), *result.notes]
    if rows is not None:
        rows["notes"] += [*([facts["summary"]] if "summary" in facts else []), *notes]
        return as_json(rows | ({"events": plain(facts["events"])} if "events" in facts else {}))
    text = str(result.text() if callable(result.text) else result.text)
    drawn: Message = {}
    for name, figure in result.figures.items() if draw else ():
        try:
            drawn[name] = drawing(figure, draw or WIDTH, name)
        except DataError as error:  # the result shows nothing that could be drawn
            notes.append(str(error).partition("\n")[0])
    return as_json({"text": text, "notes": notes, "facts": plain(facts), "figures": drawn})


def as_csv(columns: Mapping[str, Any]) -> bytes:
    """Return a table as CSV."""
    content = io.BytesIO()
    write_table(content, columns, "csv")
    return content.getvalue()


# ------------------------------------------------------------------- figures


def folders_of(table: Table) -> Any:
    """Return the labels of rows, or the folders of pictures if there are several."""
    if table.labels is not None:
        return table.labels
    if table.picture_shape is None or table.row_names is None:
        return None
    folders = [name.rpartition("/")[0] for name in table.row_names]
    return np.array(folders) if 1 < len(set(folders)) < len(folders) else None


def figure(
    model: Message, data: Message | None, name: str, width: int | None, format: str, **chosen: Any
) -> bytes:
    """Return one figure: for the page a specification of Vega-Lite or an .svg, else a file."""
    whole, _, table = applied(model, data)
    figures = {figure.name: figure for figure in available(whole, table)}
    if table is None and name == "scores":
        raise DataError("A figure of scores needs data.", "Choose the data to plot.")
    if (reference := chosen.pop("reference")) is not None and table is not None:
        whole = monitor_of(whole, table, reference=tuple(reference))
    figure_asked = figures[check_choice("figure", name, tuple(figures))]
    options = chosen | {"hue": _hue(table, chosen["hue"])}
    if (components := options.pop("components")) is not None:
        options["components"] = components.split(",")
    draw = partial(figure_asked.draw, whole, table, **options)
    across = (width or WIDTH) / PIXELS
    if format not in ("json", "csv"):
        return bytes(function_of("style", "content")(draw, format, across))
    if format == "csv":
        return as_csv(figure_asked.data_of(whole, table, **options).columns)
    if name in LINKED:
        return as_json(
            plain(
                function_of("linked", figure_asked.function)(
                    figure_asked.data_of(whole, table, **options), across
                )
            )
        )
    return as_json(drawing(draw, width or WIDTH, name))


def _hue(table: Table | None, hue: str | None) -> Any:
    """Return the column that sets the colour: the one that was asked for, else the labels."""
    if hue is not None or table is None:
        return hue
    usual = usual_hue(table)
    return folders_of(table) if usual is None else usual


def figures(model: Message, data: Message | None) -> Message:
    """List the figures, the columns that may set colour and shape, and what the data show."""
    whole, fitted, table = applied(model, data)
    titles = {figure.name: figure.title for figure in available(whole, table)}
    labels = {} if table is None else labels_of(table)
    names = [] if table is None or table.feature_names is None else table.feature_names[:MOST_NAMES]
    usual = _hue(table, None)
    diagnosis = _diagnosis(model, fitted, table)
    answer = _answer(fitted, table, diagnosis)
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
        "hue": usual if isinstance(usual, str) else "",
        "figure": answer.figure,
        "pair": list(answer.pair),
        "findings": list(answer.sentences),
        "ordered": ordered,
        "reference": [table.row_names[0], event.reference] if isinstance(event, Departure) else [],
    }


def _diagnosis(model: Message, fitted: Any, table: Table | None) -> Diagnosis | None:
    """Return what misleads in a model of these rows, if its fit has not said that already."""
    if "diagnosis" in model:
        return Diagnosis(tuple(Finding(**finding) for finding in model["diagnosis"]), looked_at_rows=True)
    return None if table is None else diagnosis_of(fitted, table)


def _kinds(table: Any, name: str, values: Any) -> list[str]:
    """Return the different labels as figures spell them; none where they are many."""
    kinds = in_order({*label_texts(values)} - {""}, table.levels.get(name, ()))
    return kinds if len(kinds) <= MOST_CLASSES else []


def _answer(fitted: Any, table: Table | None, diagnosis: Diagnosis | None) -> Headline:
    """Return what the data show."""
    if not fitted.model_kind.has_components:
        return Headline("components", ())
    if table is None or not fitted.model_kind.gives_scores:
        return headline(decomposition_of(fitted))
    scores = _scores(fitted, table)[:, :MOST_SCORES]
    return headline(fitted, replace(table, labels=folders_of(table)), scores, diagnosis)


# ------------------------------------------------------------------- downloads


def _scores(fitted: Any, table: Table) -> Any:
    scores = np.asarray(fitted.transform(table))
    return scores.reshape(len(scores), -1)


def report(model: Message, data: Message | None) -> bytes:
    """Return the report of a model."""
    if data is None or model_of(model).model_kind.faces:
        return report_page(Fitted(model_of(model), None)).encode()
    whole, fitted, table = applied(model, data)
    diagnosis = _diagnosis(model, fitted, table) if "diagnosis" in model else None
    return report_page(Fitted(whole, table, reading=data["arguments"], diagnosis=diagnosis)).encode()


def results(model: Message, data: Message, answer: Message) -> Message:
    """Write the folder of results as a .zip."""
    fitted, folder = mapping_of(model_of(model)), Path(answer["path"] + "-folder")
    if not fitted.model_kind.gives_scores:
        problem = f"A {type(fitted).__name__} has no folder of results."
        raise errors.InputTypeError(problem, "Choose a PCA or a KernelPCA.")
    _, fitted, table = applied(model, data)
    try:
        whole = Fitted(fitted, table, _scores(fitted, table), reading=data["arguments"])
        write_results(folder, whole, report=True)
        shutil.move(shutil.make_archive(str(folder), "zip", folder), answer["path"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {}


def code(model: Message, data: Message | None) -> Message:
    """Return Python code that fits the same model, and a paragraph for a methods section."""
    fitted, reading = mapping_of(model_of(model)), None if data is None else data["arguments"]
    methods = "\n".join(methods_lines(decomposition_of(fitted))) if fitted.model_kind.has_components else ""
    return {"python": python_calls(fitted, reading), "methods": methods}


# ------------------------------------------------------------------ kernels


def kernel(expression: str, seconds: float, **chosen: Any) -> Message:
    """Check whether an expression is a kernel; return the proof or a counterexample."""
    verb = verb_of("kernels audit")
    result = verb(verb.values(chosen | {"time_limit": seconds, "kernel": expression}), {})
    facts: Message = plain(result.facts) | {"text": result.text, "formula": ""}
    with suppress(errors.GramianError):  # a Python function has no formula
        facts["formula"] = str(kernel_from_name(facts["kernel"]))
    return facts


def kernel_table() -> Message:
    """Return all kernels."""
    return dict(plain(verb_of("kernels table")({}, {}).facts))


# ------------------------------------------------------------------- drawing


def program() -> bytes:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed, which sets ``vegaEmbed`` in a page."""
    with errors.needs("app", "vl-convert-python", "Figures that answer the pointer"):
        import vl_convert
    return str(vl_convert.javascript_bundle()).encode()
