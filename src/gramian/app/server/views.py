"""What a process shows: examples, figures, reports, results and kernels; and all its tasks by name."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from gramian import KernelPCA, errors, load
from gramian.app.server import tasks
from gramian.app.server.tasks import Message, applied, asked_of, cached, drawing, read_table, written
from gramian.app.verbs import verb as verb_of
from gramian.core import arrays, checks
from gramian.core.checks import plain
from gramian.errors import DataError, GramianError, InputTypeError, MissingExtraError, needs
from gramian.faces import example_faces
from gramian.figures.images import Picture, contact_sheet, grey, grey_range
from gramian.figures.names import component_titles, usual_color
from gramian.figures.registry import available
from gramian.kernels import kernel_from_name, table, widths
from gramian.models.kernel_pca.projection import as_scaled
from gramian.report.facts import Fitted
from gramian.report.page import report_page
from gramian.report.results import write_results
from gramian.report.sections import MOST_SCORES
from gramian.report.sentences import first_look, methods_lines, python_calls
from gramian.report.tables import write_table
from gramian.statistics.components import decomposition_of, expanded, mapping_of
from gramian.tables.as_rows import as_rows
from gramian.tables.labels import in_order, label_texts
from gramian.tables.metadata import labels_of
from gramian.tables.table import Table

SHOWN = 24  # pictures of data
MOST_NAMES, MOST_CLASSES = 200, 12  # columns to choose from; classes of one that sets the shape

NARROW = 340  # pixels of a figure that fits a phone
# The playground: points, the components, cells of a side of the grid, and lines of each.
POINTS, COMPONENTS, CELLS = 120, 3, 48

# ------------------------------------------------------------------ examples


def example(name: str, answer: Message) -> Message:
    """Write example data: measured penguins, pictures of digits, points on two rings, or drawn faces."""
    from sklearn.datasets import load_digits, make_circles

    if name == "penguins":
        written(answer, files("gramian").joinpath("examples", "penguins.csv").read_bytes())
    elif name == "circle":
        places, inner = make_circles(300, noise=0.05, factor=0.35, random_state=1)
        columns = dict(zip("xy", places.round(4).T, strict=True))
        write_table(answer["path"], {"ring": np.where(inner, "inner", "outer")} | columns, "csv")
    elif name == "digits":
        digits = load_digits()
        _write_pictures(answer["path"], digits.images * (255 / 16), digits.target)
    else:
        faces = example_faces()
        _write_pictures(answer["path"], faces.pictures, faces.people or ())
    return {}


def _write_pictures(path: str, pictures: Any, folders: Any) -> None:
    """Write pictures to a .zip with a folder for each class."""
    with zipfile.ZipFile(path, "w") as archive:
        for place, (picture, folder) in enumerate(zip(pictures, folders, strict=True)):
            png = Picture(np.asarray(picture).astype(np.uint8)).png()
            archive.writestr(f"{folder}/{place:04d}.png", png)


def example_visitor(who: str, answer: Message) -> Message:
    """Write a test picture for the model of the drawn faces: a known person, a stranger, or a house."""
    pictures = dict(zip(("known", "stranger", "house"), example_faces("visitors").pictures, strict=True))
    return written(answer, Picture(pictures[who]).png())


def width(data: Message, scale: str | None = None) -> Message:
    """Return the median distance between rows, a first guess of a kernel's width."""
    X = read_table(data).flat
    return {"median": widths.median_distance(X if scale is None else as_scaled(scale, as_rows(X)))}


def sheet(data: Message, answer: Message) -> Message:
    """Draw some pictures, evenly spaced."""
    rows = read_table(data)
    if rows.picture_shape is None:
        raise DataError("This data has no pictures.")
    shown = np.linspace(0, len(rows.values) - 1, min(SHOWN, len(rows.values))).astype(int)
    pictures = arrays.as_float64(rows.values[shown])
    names = rows.row_names or tuple(map(str, range(len(rows.values))))
    edges = grey_range(pictures)
    pixels = [grey(picture, *edges) for picture in pictures]
    return written(answer, contact_sheet(pixels, [names[place] for place in shown]).png())


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
    model: Message,
    data: Message | None,
    answer: Message,
    name: str,
    width: int | None,
    format: str,
    **chosen: Any,
) -> Message:
    """Write one figure: for the page a specification of Vega-Lite or a picture, else a file."""
    fitted, table = expanded(cached(model, load))[0], applied(model, data)[1]
    figures = {figure.name: figure for figure in available(fitted, table)}
    if table is None and name == "scores":
        raise DataError("A figure of scores needs data.", "Choose the data to plot.")
    options = chosen | _groupings(table, chosen["color"], chosen["shape"]) | {"linked": format == "json"}
    asked = figures[checks.check_choice("figure", name, tuple(figures))]

    def draw() -> Any:
        return asked.draw(fitted, table, **options)

    if format != "json":
        return _written_figure(answer, draw, width, format)
    content = drawing(draw, width)
    if "linked" in asked.options:  # the page shows its own table
        content["spec"] |= content["spec"].pop("hconcat")[0]
    return written(answer, json.dumps(content, allow_nan=False))


def _written_figure(answer: Message, draw: Callable[[], Any], width: int | None, format: str) -> Message:
    """Write a figure in light colours as .svg or .png, or the table that it draws as .csv."""
    with needs("plots", "altair", "Drawing figures"):
        from gramian.figures.style import framed, room
    with room(width):
        drawn = draw()
        is_picture = isinstance(drawn, Picture)
        if format == "csv":
            if is_picture:
                raise DataError("A picture has no table.", "Download it as PNG or SVG.")
            write_table(answer["path"], {name: drawn.data[name] for name in drawn.data.column_names}, "csv")
            return {}
        if is_picture and format == "png":
            return written(answer, drawn.png())
        content = io.BytesIO() if format == "png" else io.StringIO()
        (framed(drawn.png(), drawn.pixels.shape) if is_picture else drawn).save(content, format)
    return written(answer, content.getvalue())


def _groupings(table: Table | None, color: str | None, shape: str | None) -> Message:
    """Return the columns that set colour and shape: those that were asked for, else the labels."""
    if color is None and table is not None:
        usual = usual_color(table)
        return {"color": folders_of(table) if usual is None else usual, "shape": shape}
    return {"color": color, "shape": shape}


def figures(model: Message, data: Message | None) -> Message:
    """List the figures, the columns that may set colour and shape, and what the data show."""
    fitted, table = applied(model, data)
    titles = {figure.name: figure.title for figure in available(expanded(cached(model, load))[0], table)}
    labels = {} if table is None else labels_of(table)
    names = [] if table is None or table.feature_names is None else table.feature_names[:MOST_NAMES]
    usual = _groupings(table, None, None).get("color")
    pair, said = _telling(fitted, table)
    return {
        "figures": list(titles),
        "titles": titles,
        "columns": [*labels, *names],
        "groups": {name: kinds for name, values in labels.items() if (kinds := _kinds(table, name, values))},
        "color": usual if isinstance(usual, str) else "",
        "pair": list(pair),
        "findings": said,
    }


def _kinds(table: Any, name: str, values: Any) -> list[str]:
    """Return the different labels as figures spell them; none where they are many."""
    kinds = in_order({*label_texts(values)} - {""}, table.levels.get(name, ()))
    return kinds if len(kinds) <= MOST_CLASSES else []


def _telling(fitted: Any, table: Table | None) -> tuple[tuple[int, int], list[str]]:
    """Return the two components that show the groups apart, and what the data show."""
    if not fitted.model_kind.has_components:
        return (1, 2), []
    if table is None or not fitted.model_kind.gives_scores:
        return first_look(decomposition_of(fitted), None)
    scores = _scores(fitted, table)[:, :MOST_SCORES]
    return first_look(fitted, replace(table, labels=folders_of(table)), scores)


# ------------------------------------------------------------------- downloads


def _fitted(model: Message, data: Message | None) -> Fitted:
    fitted, table = applied(model, data)
    if data is None or table is None:
        return Fitted(fitted, None)
    return Fitted(fitted, table, _scores(fitted, table), reading=asked_of(data))


def _scores(fitted: Any, table: Table) -> Any:
    scores = np.asarray(fitted.transform(table))
    return scores.reshape(len(scores), -1)


def report(model: Message, data: Message | None, answer: Message) -> Message:
    """Write the report of a model."""
    given = cached(model, load)
    fitted = _fitted(model, None if given.model_kind.faces else data)
    return written(answer, report_page(replace(fitted, model=expanded(given)[0])))


def results(model: Message, data: Message, answer: Message) -> Message:
    """Write the folder of results as a .zip."""
    fitted, folder = mapping_of(cached(model, load)), Path(answer["path"] + "-folder")
    if not fitted.model_kind.has_components or fitted.model_kind.faces:
        problem = f"A {type(fitted).__name__} has no folder of results."
        raise InputTypeError(problem, "Choose a PCA or a KernelPCA.")
    try:
        write_results(folder, _fitted(model, data), report=True)
        with zipfile.ZipFile(answer["path"], "x", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(folder).as_posix())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {}


def code(model: Message, data: Message | None) -> Message:
    """Return Python code that fits the same model, and a paragraph for a methods section."""
    reading = None if data is None else asked_of(data)
    fitted = mapping_of(cached(model, load))
    methods = "\n".join(methods_lines(decomposition_of(fitted))) if fitted.model_kind.has_components else ""
    return {"python": python_calls(fitted, reading), "methods": methods}


# ------------------------------------------------------------------ kernels


def kernel(expression: str, seconds: float, **chosen: Any) -> Message:
    """Check whether an expression is a kernel; return the proof or a counterexample."""
    verb = verb_of("kernels audit")
    result = verb(verb.values(chosen | {"time_limit": seconds, "kernel": expression}), {})
    facts: Message = plain(result.facts) | {
        "text": result.text,
        "figure": None,
        "formula": "",
    }
    with suppress(GramianError):  # a Python function has no formula
        facts["formula"] = str(kernel_from_name(facts["kernel"]))
    with suppress(MissingExtraError):
        for draw in result.figures.values():
            facts["figure"] = drawing(draw, NARROW)["spec"]
    return facts


def kernel_table() -> Message:
    """Return all kernels."""
    return {"kernels": plain([asdict(entry) for entry in table()])}


def contours(expression: str, points: str) -> Message:
    """Return lines of equal score of a kernel PCA of points in the plane, as paths in a square of side 1."""
    with needs("plots", "altair", "Drawing figures"):
        from gramian.figures.planes import level_lines
    kernel = kernel_from_name(expression)
    X, classes = _in_plane(points)
    with errors.ignoring(errors.RankWarning):  # of a kernel with fewer components
        model = KernelPCA(COMPONENTS, kernel=kernel).fit(X)
    side = np.linspace(0.0, 1.0, CELLS + 1)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    scores = np.asarray(model.transform(grid.reshape(-1, 2) * 2 - 1), np.float64).reshape(*grid.shape[:2], -1)
    panels = []
    for place, title in enumerate(component_titles(model, scores.shape[-1])):
        lines = [(level, ends.round(3)) for level, ends in level_lines(grid, scores[..., place])]
        panels.append({"title": title, "lines": lines})
    places = np.column_stack([(X + 1) / 2, classes]).round(3)
    return dict(plain({"formula": str(kernel), "panels": panels, "points": places}))


def _in_plane(points: str) -> tuple[Any, Any]:
    """Return points within the square from -1 to 1, and their classes."""
    from sklearn.datasets import make_blobs, make_circles, make_moons

    if points == "rings":
        X, classes = make_circles(POINTS, noise=0.05, factor=0.4, random_state=1)
    elif points == "moons":
        X, classes = make_moons(POINTS, noise=0.08, random_state=1)
    else:
        X, classes = make_blobs(POINTS, centers=3, cluster_std=1.0, random_state=1)
    X = X - (X.max(axis=0) + X.min(axis=0)) / 2
    return 0.8 * X / np.abs(X).max(), classes


# ------------------------------------------------------------------- drawing


def program(answer: Message) -> Message:
    """Write the JavaScript of Vega, which vl-convert contains."""
    with needs("plots", "altair", "Drawing figures"):
        from gramian.figures.style import browser_program
    return written(answer, browser_program())


TASKS = {
    task.__name__: task
    for task in (
        *(tasks.describe_model, tasks.describe_gallery, tasks.describe_data, tasks.plan, tasks.fit),
        *(tasks.operate, tasks.components, tasks.recognise, tasks.enroll),
        *(example, example_visitor, width, figure, figures, report, results, code, sheet, program),
        *(kernel, kernel_table, contours),
    )
}
