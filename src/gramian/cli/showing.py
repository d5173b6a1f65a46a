"""The commands that show a saved model: ``info``, ``plot`` and ``report``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from gramian.checks import check_choice, listed, six_digits
from gramian.cli.inputs import model_path, only_with_data, read_arguments, read_model, read_new_data, recalled
from gramian.cli.options import META, JsonFlag, ModelFile, Reading, argument
from gramian.cli.outputs import answer, check_out, check_place
from gramian.cli.progress import progress
from gramian.errors import ParameterError
from gramian.operations.fit import model_lines
from gramian.operations.shared import Axes
from gramian.options import option
from gramian.plots.registry import FIGURES, available
from gramian.reading import IMPUTED


def info(model: ModelFile, as_json: JsonFlag = False) -> None:
    """Show the contents of a saved model.

    Its parameters, components, plan, certificate and the versions that wrote it.
    """
    from gramian.analysis.components import mapping_of
    from gramian.base.encoding import described
    from gramian.report.facts import info_facts
    from gramian.store.model_file import read_model

    path = model_path(model)
    with progress(f"reading {model}"):
        stored = read_model(path)
        fitted = described(stored) or _loaded(path)
    facts: dict[str, Any] = {"file": str(path), "bytes": path.stat().st_size, "versions": stored.versions}
    facts |= info_facts(fitted, stored.kind)
    lines = [_made(facts["model"])]
    if "components" in facts:
        lines = [*_lines(facts["model"]), "", *model_lines(mapping_of(fitted))]
    if "limits" in facts:
        lines = ["A monitor.", facts["limits"], "", *lines]
    writers = ", ".join(f"{name} {number}" for name, number in stored.versions.items())
    answer(as_json, facts, "\n".join([*lines, "", f"Written by {writers}."]))


def _loaded(path: Path) -> Any:
    from gramian.loading import load

    return load(path)


def _made(facts: dict[str, Any]) -> str:
    parameters = ", ".join(f"{name}={value!r}" for name, value in facts["parameters"].items())
    return f"{facts['kind']}({parameters})"


def _lines(facts: dict[str, Any]) -> list[str]:
    from gramian.report.facts import size_text

    size = size_text(facts["n_features"], facts["picture_shape"])
    kernel = f"Kernel: {six_digits(facts['kernel'])}" if facts["kernel"] else None
    repair = f"Repair: {facts['repair']}" if facts["repair"] else None
    fitted = (
        f"Fitted on {facts['n_samples']:,} rows x {size}; "
        f"{facts['n_components']:,} components, rank {facts['rank']:,}."
    )
    names = f"Columns: {listed(facts['feature_names'])}" if facts["feature_names"] else None
    lines = [_made(facts), kernel, facts["validity"] and six_digits(facts["validity"]), repair, fitted, names]
    return [line for line in lines if line]


# ------------------------ The command that draws a saved model: ``plot``

AXES = Axes()
BY_NAME = {figure.name: figure for figure in FIGURES}
FORMATS = ("svg", "png", "pdf", "html")


def plot(
    model: ModelFile,
    reading: Reading,
    data: Annotated[
        str | None,
        argument("DATA", "Rows to draw, read as by transform. [those of a folder of results]"),
    ] = None,
    what: str | None = option(
        "A,B,..", f"Figures: {', '.join(BY_NAME)}.", usual="all possible", suggestions=tuple(BY_NAME)
    ),
    meta: str | None = META,
    axes: Axes = AXES,
    kind: str = option("KIND", "svg, png, pdf or html.", "svg", "--format", choices=FORMATS),
    out: str = option("FOLDER", "Output folder.", "figures"),
    as_json: JsonFlag = False,
) -> None:
    """Draw a saved model.

    Writes one file for each figure, such as explained variance, eigenvalues with error bounds, scores and
    loadings, and replaces the files of an earlier call. In .html files the scores have a table of the rows
    that you select with the pointer.
    """
    from gramian.analysis.components import mapping_of
    from gramian.plots.names import groupings

    names = [] if what is None else [check_choice("--what", name, tuple(BY_NAME)) for name in what.split(",")]
    folder = Path(out)
    if folder.suffix[1:] in FORMATS:
        raise ParameterError(
            "-o", out, ": plot writes a folder", f"Name a folder, and use --format {folder.suffix[1:]}."
        )
    check_place(folder)
    fitted = read_model(model, whole=True)
    table: Any = None
    if data is not None and fitted.model_kind.faces:
        raise ParameterError("data", problem="Figures of a face model take no DATA.", hint="Leave it out.")
    wanted: dict[str, Any] = {"color": axes.color, "shape": axes.shape}
    look: dict[str, Any] = {}
    if data is not None:
        table, look = _read(data, reading, mapping_of(fitted), wanted, meta)
    elif meta is None and (table := _stored_scores(model, mapping_of(fitted))) is not None:
        _check_labels(table, wanted)
        look = {"mapped": table.values} | (_given(wanted) or groupings(table))
    else:
        only_with_data(**wanted, meta=meta)
    figures = {figure.name: figure for figure in available(fitted, table)}
    if "mapped" in look:  # the stored rows have scores only
        figures = {name: one for name, one in figures.items() if not one.data or "mapped" in one.options}
    for name in names:
        if name not in figures:
            raise ParameterError(
                "--what", name, f"needs {BY_NAME[name].needs}", f"Available: {', '.join(figures)}."
            )
    files = []
    with progress("drawing"):
        for name in names or sorted(figures, key=list(BY_NAME).index):
            drawn = figures[name].draw(fitted, table, **look, x=axes.x, y=axes.y, linked=kind == "html")
            folder.mkdir(parents=True, exist_ok=True)
            drawn.save(folder / f"{name}.{kind}")
            files.append(str(folder / f"{name}.{kind}"))
    answer(as_json, {"files": files}, "\n".join(f"Written: {file}" for file in files))


def _read(
    data: str, reading: Reading, fitted: Any, wanted: dict[str, str | None], meta: str | None
) -> tuple[Any, dict[str, Any]]:
    """Return the rows with their metadata, and what sets colour and shape of their points."""
    from gramian.io.metadata import as_metadata
    from gramian.plots.names import groupings
    from gramian.report.pieces import completed

    data, reading = recalled(fitted, data, reading)
    metadata = None if meta is None else as_metadata(meta, reading.id)
    given = _given(wanted)
    known = {*map(str, getattr(fitted, "feature_names_in_", ())), *(metadata.columns if metadata else ())}
    labels = reading.label_names()
    new = [name for name in dict.fromkeys(given.values()) if name not in known and name not in labels]
    if new and reading.labels_from is not None:
        raise ParameterError(
            "--labels-from",
            problem=f"{new[0]} is a column of DATA, and --labels-from names another file.",
            hint="Leave out one of them, or give a table of all labels with --meta.",
        )
    reading = replace(reading, label=(*labels, *new) or None)
    try:
        table = completed(fitted, read_new_data(data, reading, fitted, meta=metadata))
    except ParameterError as error:  # colour and shape are read as labels
        channel = next((channel for channel, name in given.items() if name == error.value), None)
        if error.parameter != "label" or channel is None or not new or channel in labels:
            raise
        raise ParameterError(f"--{channel}", error.value, error.allowed, error.hint) from error
    return table, given or groupings(table)


def _given(wanted: dict[str, Any]) -> dict[str, Any]:
    return {option: name for option, name in wanted.items() if name is not None}


def _stored_scores(model: str, fitted: Any) -> Any:
    """Return the rows of a folder of results: their names, labels and scores; None where there are none."""
    from gramian.analysis.components import component_names
    from gramian.io.files import Location, opened_source
    from gramian.io.scan import scan

    names = component_names(int(fitted.n_components_)) if fitted.model_kind.gives_scores else []
    paths = [path for suffix in ("csv", "parquet") if (path := Path(model) / f"scores.{suffix}").is_file()]
    if not paths or not names:
        return None
    with progress("reading the scores"):
        with opened_source(Location(paths[0])) as (_, _, source):
            columns: Any = getattr(source, "names", None) or ()
            first, *labels = [name for name in columns if name not in names]
        named = {"id": first} if first == "name" else {"drop": [first]}
        return scan(paths[0], label=labels or None, missing="drop-rows", **named).read()


def _check_labels(stored: Any, wanted: dict[str, Any]) -> None:
    """Raise an error for a column that is not stored with the scores."""
    known = [*([stored.label_name] if stored.label_name else []), *stored.metadata]
    for channel, name in _given(wanted).items():
        if name not in known:
            there = f"which have {', '.join(known)}" if known else "which have no labels"
            raise ParameterError(
                f"--{channel}",
                name,
                f"is not stored with the scores, {there}",
                "Add the file of DATA after the model.",
            )


# ------- The command that explains a saved model on one page: ``report``

MOST_NAMES = 30


def report(
    model: ModelFile,
    reading: Reading,
    data: Annotated[
        str | None,
        argument("DATA", "Fitted or new rows, read as by transform."),
    ] = None,
    meta: str | None = META,
    out: str = option("FILE", "A .html file.", "report.html"),
    as_json: JsonFlag = False,
) -> None:
    """Explain a saved model on one page for a browser.

    The page has the method and its error bounds, what every rule for the number of components says, figures,
    unusual rows, important columns, a methods paragraph for a paper, and the code that repeats the fit. It
    loads nothing from elsewhere. With --label or --meta it says how much these explain of each component.
    Without DATA it lists what needs the data.
    """
    from gramian.analysis.components import mapping_of
    from gramian.arrays import memory_limit_bytes
    from gramian.report import sections
    from gramian.report.page import write_page
    from gramian.report.pieces import completed
    from gramian.store.model_file import read_model as stored_model

    metas = () if meta is None else (meta,)
    inputs = (model, *metas, *(reading.inputs(data) if data is not None else ()))
    check_out(out, *inputs, ends=(".html", ".htm"), writes="report writes a page")
    given = read_model(model, whole=True)
    fitted = mapping_of(given)
    if not fitted.model_kind.has_components:
        kind = type(fitted).__name__
        raise ParameterError(
            "model",
            problem=f"{model} is a {kind}, which has no components.",
            hint="Name a PCA, KernelPCA or Whitener.",
        )
    table = None
    if data is not None:
        if fitted.model_kind.faces:
            raise ParameterError(
                "data", problem="The report of a faces model needs no DATA.", hint="Leave it out."
            )
        limit = memory_limit_bytes(getattr(fitted, "memory_limit", None))
        data, reading = recalled(fitted, data, reading)
        table = completed(fitted, read_new_data(data, reading, fitted, limit, meta=meta))
    else:
        only_with_data(meta=meta)
    same = table is not None and table.values.shape[0] == fitted.n_samples_
    if (method := getattr(fitted, "missing", None)) in IMPUTED:
        reading = replace(reading, missing=method)
    arguments = None
    if data is not None and same and data != "-":
        arguments = read_arguments(data, _as_fitted(reading, fitted))
    with progress("writing"):
        shown = sections.Fitted(given, table, reading=arguments)
        whole = sections.explanation(shown, stored_model(model_path(model)).versions)
        write_page(out, whole)
    answer(as_json, {"files": [out]} | sections.as_json(whole), f"Written: {out}")


def _as_fitted(reading: Reading, model: Any) -> Reading:
    """Name the columns that the model was fitted on, where that takes no page: the file may have others."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    chosen = reading.columns or reading.drop or reading.transpose
    short = 0 < len(names) <= MOST_NAMES and not any("," in name or name.startswith("@") for name in names)
    return replace(reading, columns=",".join(names)) if short and not chosen else reading
