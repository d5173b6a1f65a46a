"""The command that draws a saved model: ``plot``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from gramian.checks import check_choice
from gramian.cli.inputs import read_model, read_new_data
from gramian.cli.options import JsonFlag, ModelFile, Reading, argument, asked
from gramian.cli.outputs import answer, check_place
from gramian.cli.progress import progress
from gramian.errors import ParameterError

# What can be drawn, and what that takes.
TAKES = {
    "scree": "a PCA, KernelPCA or Whitener, or a model of faces",
    "eigenvalues": "a PCA, KernelPCA or Whitener, or a model of faces",
    "scores": "a PCA or KernelPCA, and DATA",
    "loadings": "a PCA of a table",
    "biplot": "a PCA of a table with two components, and DATA",
    "correlation-circle": "a PCA of a table with two components, and DATA",
    "components": "a PCA of pictures, or a model of faces",
    "reconstructions": "a PCA or KernelPCA of pictures, and DATA",
    "contours": "a PCA or KernelPCA of two columns, and DATA",
    "whitening": "a Whitener, and DATA",
    "face-scores": "a model of faces",
}
FORMATS = ("svg", "png", "pdf", "html")


def plot(
    model: ModelFile,
    reading: Reading,
    data: Annotated[
        str | None,
        argument("DATA", "Rows to draw, read as by transform."),
    ] = None,
    what: str | None = asked("A,B,..", f"Figures: {', '.join(TAKES)}. [all that the model and DATA give]"),
    color: str | None = asked(
        "COLUMN", "Column that points are coloured by; may hold text. [that of --label]"
    ),
    x: str = asked("PC1", "Component across, such as PC3; for whitening the number of a column. [1]", "1"),
    y: str = asked("PC2", "Component upwards; for whitening a column. [2]", "2"),
    kind: str = asked("KIND", "svg, png, pdf or html. [svg]", "svg", "--format"),
    out: str = asked("FOLDER", "Where the figures go. [figures]", "figures"),
    as_json: JsonFlag = False,
) -> None:
    """Draw a saved model.

    A file for each figure: what components carry and what rules say of their number, eigenvalues in the
    intervals that are guaranteed, scores with their groups, loadings, pictures. Files of an earlier call are
    replaced. Of .html files the scores have a table that shows the rows selected with the pointer.
    """
    from gramian.plots.drawable import drawable

    check_choice("--format", kind, FORMATS)
    asked = None if what is None else [check_choice("--what", name, tuple(TAKES)) for name in what.split(",")]
    folder = Path(out)
    if folder.suffix[1:] in FORMATS:
        raise ParameterError(f"-o {out}: plot writes a folder. Name one, and --format {folder.suffix[1:]}.")
    check_place(folder)
    fitted = read_model(model)
    table = None
    if data is not None and fitted.model_kind.faces:
        raise ParameterError("A model of faces is drawn without DATA. Leave it out.")
    if data is not None:
        table, color = _read(data, reading, fitted, color)
    elif color is not None:
        raise ParameterError(
            "--color is a column of DATA, which is not given. Name its file after the model."
        )
    figures = drawable(fitted, table, color=color, x=x, y=y, linked=kind == "html")
    for name in asked or ():
        if name not in figures:
            raise ParameterError(f"--what {name} takes {TAKES[name]}. Here there are: {', '.join(figures)}.")
    files = []
    with progress("drawing"):
        for name in asked or figures:
            drawn = figures[name]()
            folder.mkdir(parents=True, exist_ok=True)
            drawn.save(folder / f"{name}.{kind}")
            files.append(str(folder / f"{name}.{kind}"))
    answer(as_json, {"files": files}, "\n".join(f"Written: {file}" for file in files))


def _read(data: str, reading: Reading, fitted: Any, color: str | None) -> tuple[Any, Any]:
    """Return the rows, and what they are coloured by."""
    if color in list(getattr(fitted, "feature_names_in_", ())):
        return read_new_data(data, reading, fitted), color
    if color is not None and reading.labelled:
        raise ParameterError(
            f"--color {color} and labels are two colours for a point. Leave out one of them."
        )
    table = read_new_data(data, reading if color is None else replace(reading, label=color), fitted)
    return table, None if table.labels is None else table.label_name or table.labels
