"""Tasks of a worker that show: examples, figures, reports and results."""

from __future__ import annotations

import base64
import json
import shutil
import zipfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from gramian.analysis.components import decomposition_of, mapping_of
from gramian.arrays import as_float64
from gramian.checks import check_choice
from gramian.errors import DataError, MissingExtraError, ParameterError, needs
from gramian.faces.drawing import drawn_faces, drawn_others
from gramian.kernels.widths import median_distance
from gramian.loading import load
from gramian.plots.names import groupings
from gramian.plots.pixels import Picture, contact_sheet, enlarged, grey
from gramian.plots.registry import available
from gramian.report.facts import plain
from gramian.report.figures import shown_first
from gramian.report.findings import findings
from gramian.report.page import python_calls, report_page
from gramian.report.results import write_results
from gramian.report.summary import Fitted, methods_lines
from gramian.report.tables import write_table
from gramian.rows.metadata import labels_of
from gramian.rows.table import Table
from gramian.service.bodies import Message, read_table
from gramian.service.tasks import applied, by_name, cached

SHOWN = 24  # pictures of data
MOST_NAMES, MOST_CLASSES = 200, 12  # columns to choose from; classes of one that sets the shape
PEOPLE, TRAINED, ENROLLED, SIZE, SEED = 30, 24, 5, (46, 56), 1  # of the drawn faces

# ------------------------------------------------------------------ examples


def example(name: str, answer: Message) -> Message:
    """Write example data: measured penguins, pictures of digits, points on two rings, or drawn faces."""
    if name == "penguins":
        content = files("gramian").joinpath("examples", "penguins.csv").read_bytes()
        Path(answer["path"]).write_bytes(content)
    elif name == "circle":
        _write_rings(answer["path"])
    elif name == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        _write_pictures(answer["path"], digits.images * (255 / 16), digits.target)
    else:
        faces = drawn_faces(TRAINED, ENROLLED, size=SIZE, seed=SEED)
        _write_pictures(answer["path"], faces.pictures, faces.people or ())
    return {}


def _write_rings(path: str) -> None:
    from sklearn.datasets import make_circles

    places, inner = make_circles(300, noise=0.05, factor=0.35, random_state=SEED)
    x, y = places.round(4).T
    write_table(path, {"ring": np.where(inner, "inner", "outer"), "x": x, "y": y}, "csv")


def _write_pictures(path: str, pictures: Any, folders: Any) -> None:
    """Write pictures to a .zip with a folder for each class."""
    with zipfile.ZipFile(path, "w") as archive:
        for place, (picture, folder) in enumerate(zip(pictures, folders, strict=True)):
            png = Picture(np.asarray(picture).astype(np.uint8)).png()
            archive.writestr(f"{folder}/{place:04d}.png", png)


def example_visitor(who: str, answer: Message) -> Message:
    """Draw a test picture for the model of the drawn faces: a known person, a stranger, or a house."""
    if who == "house":
        picture = drawn_others(1, size=SIZE, seed=SEED).pictures[0]
    else:
        number = 1 if who == "known" else PEOPLE - 1
        people = drawn_faces(PEOPLE, ENROLLED + 1, size=SIZE, seed=SEED).pictures
        picture = people[number * (ENROLLED + 1) + ENROLLED]
    Path(answer["path"]).write_bytes(Picture(picture).png())
    return {}


def width(data: Message) -> Message:
    """Return the median distance between rows, a first guess of a kernel's width."""
    return {"median": median_distance(read_table(data).flat)}


def sheet(data: Message, answer: Message) -> Message:
    """Draw some pictures, evenly spaced."""
    rows = read_table(data)
    if rows.picture_shape is None:
        raise DataError("This data has no pictures.")
    shown = np.linspace(0, len(rows.values) - 1, min(SHOWN, len(rows.values))).astype(int)
    pictures = as_float64(rows.values[shown])
    names = rows.row_names or tuple(map(str, range(len(rows.values))))
    low, high = (0.0, 255.0) if rows.values.dtype == np.uint8 else (pictures.min(), pictures.max())
    pixels = [enlarged(grey(picture, low, high)) for picture in pictures]
    Path(answer["path"]).write_bytes(contact_sheet(pixels, [names[place] for place in shown]).png())
    return {}


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
    x: int,
    y: int,
    color: str | None,
    shape: str | None,
    width: int | None,
) -> Message:
    """Write one figure: a specification that Vega-Lite draws, or a picture."""
    fitted, table = cached(model, load), None if data is None else applied(model, data)[1]
    figures = {figure.name: figure for figure in available(fitted, table)}
    if table is None and name == "scores":
        raise ParameterError("A figure of scores needs data. Choose the data to plot.")
    options: Message = {**_groupings(table, color, shape), "x": x, "y": y, "linked": name == "scores"}
    asked = figures[check_choice("figure", name, tuple(figures))]
    with needs("plots", "altair", "Drawing figures"):
        from gramian.plots.style import in_page, room
    with room(width):
        drawn = asked.draw(fitted, table, **options)
        spec = {} if isinstance(drawn, Picture) else drawn.to_dict()
    if isinstance(drawn, Picture):
        content = {"png": base64.b64encode(drawn.png()).decode()}
    else:
        if name == "scores":  # the page shows its own table
            spec |= spec.pop("hconcat")[0]
        content = {"spec": in_page(spec)}
    with open(answer["path"], "x", encoding="utf-8") as file:
        file.write(json.dumps(plain(content), allow_nan=False))
    return {}


def _groupings(table: Table | None, color: str | None, shape: str | None) -> Message:
    """Return the columns that set colour and shape: those that were asked for, else the labels."""
    usual = {} if table is None else {"color": folders_of(table), **groupings(table)}
    asked = {"color": color, "shape": shape}
    return {name: usual.get(name) if one is None else one or None for name, one in asked.items()}


def figures(model: Message, data: Message | None) -> Message:
    """List the figures, the columns that may set colour and shape, and what the data show."""
    fitted, table = cached(model, load), None if data is None else applied(model, data)[1]
    titles = {figure.name: figure.title for figure in available(fitted, table)}
    labels = {} if table is None else labels_of(table)
    names = [] if table is None or table.feature_names is None else table.feature_names[:MOST_NAMES]
    usual = {name: one for name, one in _groupings(table, None, None).items() if isinstance(one, str)}
    pair, said = _shown_first(mapping_of(fitted), table)
    return {
        "figures": list(titles),
        "titles": titles,
        "columns": [*labels, *names],
        "shapes": [name for name, values in labels.items() if len(set(values.tolist())) <= MOST_CLASSES],
        "color": usual.get("color", ""),
        "shape": usual.get("shape", ""),
        "pair": list(pair),
        "findings": said,
    }


def _shown_first(fitted: Any, table: Table | None) -> tuple[tuple[int, int], list[str]]:
    """Return the two components to show first, and what the data show."""
    if not fitted.model_kind.has_components:
        return (1, 2), []
    if table is None or not fitted.model_kind.gives_scores:
        return (1, 2), findings(decomposition_of(fitted))
    scores = np.asarray(fitted.transform(table)).reshape(len(table.values), -1)
    table = replace(table, labels=folders_of(table))
    pair, why = shown_first(table, scores)
    said = findings(fitted, table.labels, table.label_name or "", scores)
    return pair, [*said, why] if why else said


# ------------------------------------------------------------------- downloads


def _fitted(model: Message, data: Message | None) -> Fitted:
    if data is None:
        return Fitted(mapping_of(cached(model, load)), None)
    fitted, table = applied(model, data)
    scores = np.asarray(fitted.transform(table))
    reading = {"path": data["name"], **data["reading"]}
    return Fitted(fitted, table, scores.reshape(len(scores), -1), reading=reading)


def report(model: Message, data: Message | None, answer: Message) -> Message:
    """Write the report of a model."""
    given = cached(model, load)
    fitted = _fitted(model, None if given.model_kind.faces else data)
    with open(answer["path"], "x", encoding="utf-8") as file:
        file.write(report_page(replace(fitted, model=given)))
    return {}


def results(model: Message, data: Message, answer: Message) -> Message:
    """Write the folder of results as a .zip."""
    fitted, folder = mapping_of(cached(model, load)), Path(answer["path"] + "-folder")
    if not fitted.model_kind.has_components or fitted.model_kind.faces:
        raise ParameterError(
            f"A {type(fitted).__name__} has no folder of results. Choose a PCA or a KernelPCA."
        )
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
    reading = None if data is None else {"path": data["name"], **data["reading"]}
    fitted = mapping_of(cached(model, load))
    methods = "\n".join(methods_lines(decomposition_of(fitted))) if fitted.model_kind.has_components else ""
    return {"python": python_calls(fitted, reading), "methods": methods}


# ------------------------------------------------------------------- drawing


def program(answer: Message) -> Message:
    """Write the JavaScript of Vega, which vl-convert contains."""
    try:
        from gramian.plots.style import browser_program
    except ModuleNotFoundError as error:
        raise MissingExtraError("plots", error.name or "altair", "Drawing figures") from error
    Path(answer["path"]).write_text(browser_program(), encoding="utf-8")
    return {}


VIEWS = by_name(example, example_visitor, width, figure, figures, report, results, code, sheet, program)
