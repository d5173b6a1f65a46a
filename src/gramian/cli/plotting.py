"""The command that draws a saved model: ``plot``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from gramian.checks import check_choice
from gramian.cli.inputs import only_with_data, read_model, read_new_data, recalled
from gramian.cli.options import META, JsonFlag, ModelFile, Reading, argument, option
from gramian.cli.outputs import answer, check_place
from gramian.cli.progress import progress
from gramian.errors import ParameterError
from gramian.plots.registry import FIGURES, available

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
        "A,B,..", f"Figures: {', '.join(BY_NAME)}. [all possible]", suggestions=tuple(BY_NAME)
    ),
    color: str | None = option(
        "COLUMN", "Column that sets the colour of points; may hold text. [the first of --label or --meta]"
    ),
    shape: str | None = option(
        "COLUMN", "Column that sets the shape of points. [the second of --label or --meta]"
    ),
    meta: str | None = META,
    x: str = option("PC1", "Component on the X axis, such as PC3; for whitening a column number. [1]", "1"),
    y: str = option("PC2", "Component on the Y axis; for whitening a column number. [2]", "2"),
    kind: str = option("KIND", "svg, png, pdf or html. [svg]", "svg", "--format", choices=FORMATS),
    out: str = option("FOLDER", "Output folder. [figures]", "figures"),
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
            f"-o {out}: plot writes a folder. Name a folder, and use --format {folder.suffix[1:]}."
        )
    check_place(folder)
    fitted = read_model(model, whole=True)
    table: Any = None
    if data is not None and fitted.model_kind.faces:
        raise ParameterError("Figures of a face model take no DATA. Leave it out.")
    wanted: dict[str, Any] = {"color": color, "shape": shape}
    look: dict[str, Any] = {}
    if data is not None:
        table, look = _read(data, reading, mapping_of(fitted), wanted, meta)
    elif meta is None and (table := _stored_scores(model, mapping_of(fitted))) is not None:
        _check_labels(table, wanted)
        look = {"mapped": table.values} | (_given(wanted) or groupings(table))
    else:
        only_with_data(color=color, shape=shape, meta=meta)
    figures = {figure.name: figure for figure in available(fitted, table)}
    if "mapped" in look:  # the stored rows have scores only
        figures = {name: one for name, one in figures.items() if not one.data or "mapped" in one.options}
    for name in names:
        if name not in figures:
            raise ParameterError(
                f"--what {name} needs {BY_NAME[name].needs}. Available: {', '.join(figures)}."
            )
    files = []
    with progress("drawing"):
        for name in names or sorted(figures, key=list(BY_NAME).index):
            drawn = figures[name].draw(fitted, table, **look, x=x, y=y, linked=kind == "html")
            folder.mkdir(parents=True, exist_ok=True)
            drawn.save(folder / f"{name}.{kind}")
            files.append(str(folder / f"{name}.{kind}"))
    answer(as_json, {"files": files}, "\n".join(f"Written: {file}" for file in files))


def _read(
    data: str, reading: Reading, fitted: Any, wanted: dict[str, str | None], meta: str | None
) -> tuple[Any, dict[str, Any]]:
    """Return the rows with their metadata, and what sets colour and shape of their points."""
    from gramian.plots.names import groupings
    from gramian.report.pieces import completed
    from gramian.rows.metadata import as_metadata

    data, reading = recalled(fitted, data, reading)
    metadata = None if meta is None else as_metadata(meta, reading.id)
    given = _given(wanted)
    known = {*map(str, getattr(fitted, "feature_names_in_", ())), *(metadata.columns if metadata else ())}
    labels = reading.label_names()
    new = [name for name in dict.fromkeys(given.values()) if name not in known and name not in labels]
    if new and reading.labels_from is not None:
        raise ParameterError(
            f"{new[0]} is a column of DATA, and --labels-from names another file. Leave out one "
            "of them, or give a table of all labels with --meta."
        )
    reading = replace(reading, label=(*labels, *new) or None)
    try:
        table = completed(fitted, read_new_data(data, reading, fitted, meta=metadata))
    except ParameterError as error:  # colour and shape are read as labels
        channel = next((channel for channel, name in given.items() if f"label={name!r}" in str(error)), None)
        if channel is None or new == [] or channel in labels:
            raise
        raise ParameterError(str(error).replace("label=", f"{channel}=")) from error
    return table, given or groupings(table)


def _given(wanted: dict[str, Any]) -> dict[str, Any]:
    return {option: name for option, name in wanted.items() if name is not None}


def _stored_scores(model: str, fitted: Any) -> Any:
    """Return the rows of a folder of results: their names, labels and scores; None where there are none."""
    from gramian.analysis.components import component_names
    from gramian.rows.files import Location, opened_source
    from gramian.rows.scan import scan

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
                f"--{channel} {name} is not stored with the scores, {there}. Add the file of DATA after the "
                "model."
            )
