"""Figures of a saved model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gramian.checks import check_choice
from gramian.errors import ParameterError
from gramian.operations.operation import DATA, META, WHOLE_MODEL, Asked, Out, Result, operation
from gramian.options import given_options, option
from gramian.plots.registry import FIGURES, available

BY_NAME = {figure.name: figure for figure in FIGURES}
CHANNELS = ("color", "shape")


def _names(flag: str, value: str | list[str] | None) -> list[str]:
    """Return the names of figures in a list with commas, or in several."""
    names = ",".join([value] if isinstance(value, str) else value or []).split(",")
    return [check_choice(flag, name, tuple(BY_NAME)) for name in names if name]


@dataclass(frozen=True)
class Plot:
    """Which figures, and what they show."""

    what: str | None = option(
        "A,B,..",
        f"Figures: {', '.join(BY_NAME)}.",
        usual="all possible",
        suggestions=tuple(BY_NAME),
        check=_names,
    )
    color: str | None = option(
        "COLUMN",
        "Column that sets the colour of points; may hold text.",
        usual="the first of --label or --meta",
        label="colour",
    )
    shape: str | None = option("COLUMN", "Column that sets the shape of points.", usual="none")
    x: str = option(
        "PC1", "Component on the X axis, such as PC3; for whitening a column number.", "1", label="X axis"
    )
    y: str = option("PC2", "Component on the Y axis; for whitening a column number.", "2", label="Y axis")
    format: str = option("KIND", "svg, png, pdf or html.", "svg", choices=("svg", "png", "pdf", "html"))

    @property
    def channels(self) -> dict[str, str]:
        """The columns that set colour and shape."""
        return {name: value for name, value in given_options(self).items() if name in CHANNELS}


def _labels(options: Plot) -> dict[str, Any]:
    return {"channels": options.channels}


@operation(
    WHOLE_MODEL,
    replace(
        DATA,
        help="Rows to draw, read as by transform. [those of a folder of results]",
        required=False,
        how=_labels,
    ),
    META,
    outs=[Out("figures", "FOLDER", "Output folder.", "figures", writes="plot writes a folder")],
    doing="drawing",
    shell_only=True,
)
def plot(options: Plot, model: Any, data: Any = None, asked: Asked | None = None) -> Result:
    """Draw a saved model.

    Writes one file for each figure, such as explained variance, eigenvalues with error bounds, scores and
    loadings, and replaces the files of an earlier call. In .html files the scores have a table of the rows
    that you select with the pointer.
    """
    from gramian.analysis.components import mapping_of
    from gramian.report.pieces import completed

    fitted, channels = mapping_of(model), options.channels
    look: dict[str, Any] = dict(channels)
    if data is not None and fitted.model_kind.faces:
        raise ParameterError("data", problem="Figures of a face model take no DATA.", hint="Leave it out.")
    table = completed(fitted, data) if data is not None else _stored_scores(asked, fitted)
    if table is None and channels:
        raise ParameterError(
            f"--{next(iter(channels))}",
            allowed="is about the rows of DATA, but there is no DATA",
            hint="Add its file after the model.",
        )
    figures = {figure.name: figure for figure in available(model, table)}
    if data is None and table is not None:  # the stored rows have scores only
        _check_labels(table, channels)
        look["mapped"] = table.values
        figures = {name: one for name, one in figures.items() if not one.data or "mapped" in one.options}
    names = _names("--what", options.what)
    for name in names:
        if name not in figures:
            raise ParameterError(
                "--what", name, f"needs {BY_NAME[name].needs}", f"Available: {', '.join(figures)}."
            )
    look |= {"x": options.x, "y": options.y, "linked": options.format == "html"}
    drawn = names or sorted(figures, key=list(BY_NAME).index)
    return Result(figures={name: partial(figures[name].draw, model, table, **look) for name in drawn})


def _stored_scores(asked: Asked | None, fitted: Any) -> Any:
    """Return the rows of a folder of results: their names, labels and scores; None where there are none."""
    from gramian.analysis.components import component_names
    from gramian.io.files import Location, opened_source
    from gramian.io.scan import scan

    if asked is None or not fitted.model_kind.gives_scores:
        return None
    names = component_names(int(fitted.n_components_))
    paths = [path for kind in ("csv", "parquet") if (path := Path(asked.model) / f"scores.{kind}").is_file()]
    if not paths or not names:
        return None
    with opened_source(Location(paths[0])) as (_, _, source):
        columns: Any = getattr(source, "names", None) or ()
        first, *labels = [name for name in columns if name not in names]
    named = {"id": first} if first == "name" else {"drop": [first]}
    return scan(paths[0], label=labels or None, missing="drop-rows", **named).read()


def _check_labels(stored: Any, channels: dict[str, str]) -> None:
    """Raise an error for a column that is not stored with the scores."""
    known = [*([stored.label_name] if stored.label_name else []), *stored.metadata]
    for channel, name in channels.items():
        if name not in known:
            there = f"which have {', '.join(known)}" if known else "which have no labels"
            raise ParameterError(
                f"--{channel}",
                name,
                f"is not stored with the scores, {there}",
                "Add the file of DATA after the model.",
            )
