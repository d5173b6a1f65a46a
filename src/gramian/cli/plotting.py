"""The command that draws a saved model: ``plot``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from gramian.checks import check_choice
from gramian.cli.inputs import read_model, read_new_data
from gramian.cli.options import JsonFlag, ModelFile, Reading, argument, option
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
        argument("DATA", "Rows to draw, read as by transform."),
    ] = None,
    what: str | None = option("A,B,..", f"Figures: {', '.join(BY_NAME)}. [all possible]"),
    color: str | None = option(
        "COLUMN", "Column that sets the colour of points; may hold text. [that of --label]"
    ),
    x: str = option("PC1", "Component on the X axis, such as PC3; for whitening a column number. [1]", "1"),
    y: str = option("PC2", "Component on the Y axis; for whitening a column number. [2]", "2"),
    kind: str = option("KIND", "svg, png, pdf or html. [svg]", "svg", "--format"),
    out: str = option("FOLDER", "Output folder. [figures]", "figures"),
    as_json: JsonFlag = False,
) -> None:
    """Draw a saved model.

    Writes one file for each figure, such as explained variance, eigenvalues with error bounds, scores and
    loadings, and replaces the files of an earlier call. In .html files the scores have a table of the rows
    that you select with the pointer.
    """
    from gramian.analysis.components import mapping_of

    check_choice("--format", kind, FORMATS)
    names = [] if what is None else [check_choice("--what", name, tuple(BY_NAME)) for name in what.split(",")]
    folder = Path(out)
    if folder.suffix[1:] in FORMATS:
        raise ParameterError(
            f"-o {out}: plot writes a folder. Name a folder, and use --format {folder.suffix[1:]}."
        )
    check_place(folder)
    fitted = read_model(model, whole=True)
    table = None
    if data is not None and fitted.model_kind.faces:
        raise ParameterError("Figures of a face model take no DATA. Leave it out.")
    if data is not None:
        table, color = _read(data, reading, mapping_of(fitted), color)
    elif color is not None:
        raise ParameterError(
            "--color names a column of DATA, but there is no DATA. Add its file after the model."
        )
    figures = {figure.name: figure for figure in available(fitted, table)}
    for name in names:
        if name not in figures:
            raise ParameterError(
                f"--what {name} needs {BY_NAME[name].needs}. Available: {', '.join(figures)}."
            )
    files = []
    with progress("drawing"):
        for name in names or figures:
            drawn = figures[name].draw(fitted, table, color=color, x=x, y=y, linked=kind == "html")
            folder.mkdir(parents=True, exist_ok=True)
            drawn.save(folder / f"{name}.{kind}")
            files.append(str(folder / f"{name}.{kind}"))
    answer(as_json, {"files": files}, "\n".join(f"Written: {file}" for file in files))


def _read(data: str, reading: Reading, fitted: Any, color: str | None) -> tuple[Any, Any]:
    """Return the rows, and what they are coloured by."""
    if color in list(getattr(fitted, "feature_names_in_", ())):
        return read_new_data(data, reading, fitted), color
    if color is not None and reading.labelled:
        raise ParameterError(f"--color {color} and the labels both set the colour. Leave out one of them.")
    table = read_new_data(data, reading if color is None else replace(reading, label=color), fitted)
    return table, None if table.labels is None else table.label_name or table.labels
