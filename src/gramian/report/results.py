"""Writes the results folder of a fit, with a summary in Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.arrays import as_float64, memory_limit_bytes
from gramian.core.atomic import atomic_folder
from gramian.core.checks import evenly, shown_lines
from gramian.errors import FileError, MissingExtraError
from gramian.figures.images import Picture, contact_sheet, enlarged, grey, grey_range, require_pillow, signed
from gramian.models.pca.tables import items_table, linear_columns
from gramian.report import facts, page, sections, sentences, tables
from gramian.report.facts import Fitted
from gramian.report.sections import Explanation
from gramian.statistics import associations, components, imputation
from gramian.tables.table import Table

MODEL, PAGE, REPORT = "model.gramian", "summary.md", "report.html"
MOST_CELLS = 5_000_000
MOST_PICTURES = 24
DRAWN = ("scores", "scree", "loadings", "biplot", "correlation-circle", "control-chart")
DESCRIBED = 10  # components in the table of columns
OWN = re.compile(
    r"(model\.gramian|summary\.md|report\.html"
    r"|(scores|rows|columns|loadings|eigenvalues|imputed)\.(csv|parquet)"
    rf"|({'|'.join(DRAWN)})\.svg"
    r"|components\.png|mean\.png)"
)


@dataclass
class Written:
    """The written files in order, and notes for the user."""

    folder: Path
    format: str
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, write: Callable[[Path], object]) -> None:
        """Write one file and remember it."""
        write(self.folder / name)
        self.files.append(name)

    def text(self, name: str, content: bytes) -> None:
        """Write a file of text and remember it."""
        self.add(name, partial(Path.write_bytes, data=content))

    def table(self, name: str, columns: tables.Columns) -> None:
        """Write one table and remember it."""
        self.add(f"{name}.{self.format}", lambda path: tables.write_table(path, columns, self.format))


def check_folder(folder: Path) -> None:
    """Refuse a folder with other files under the names of results, before any work.

    Raises
    ------
    FileError
        If results cannot be written there.
    """
    taken = sorted(own_files(folder))
    if taken and not (folder / MODEL).is_file():
        raise FileError(
            f"{folder} contains {', '.join(taken[:4])}, which were not written by gramian and would be "
            "overwritten. Choose another folder, or move them."
        )


def write_results(folder: Path, fitted: Fitted, report: bool = False) -> Written:
    """Write model, tables, figures, pictures and a summary.

    They replace the results of an earlier fit when all of them are complete. Other files stay.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    fitted : Fitted
    report : bool, default=False
        Also write the report for a browser.
    """
    check_folder(folder)
    with atomic_folder(folder, own_files(folder), last=PAGE) as target:
        written = Written(target, fitted.format)
        written.add(MODEL, fitted.model.save)
        survey = _write_scores(written, fitted)
        whole = sections.explanation(fitted, known=None if report else survey)
        _write_tables(written, fitted)
        drawn = _write_figures(written, whole)
        linear = fitted.model.model_kind.linear and fitted.model.n_components_
        if linear and fitted.table.picture_shape is not None:
            _write_pictures(written, fitted)
        if report:
            written.add(REPORT, lambda path: page.write_text(path, page.as_page(whole, drawn)))
        written.text(PAGE, summary_page(fitted, whole, written.files, written.notes).encode())
    return replace(written, folder=folder)


def own_files(folder: Path) -> list[str]:
    """Return the files in a folder under the names of results."""
    return [path.name for path in folder.glob("*") if path.is_file() and OWN.fullmatch(path.name)]


# ------------------------------------------------------------------- summary


def summary_page(fitted: Fitted, whole: Explanation, files: Sequence[str], notes: Sequence[str]) -> str:
    """Return the summary as Markdown, with links to ``files`` in the same folder and ``notes`` about them."""
    lines = [f"# {facts.method_name(fitted.model)} of {sentences.quoted(fitted.table.source)}"]
    lines += ["", whole.findings] if whole.findings else []
    inside = {section.title: as_markdown(section.parts, files) for section in (*whole.first, *whole.sections)}
    for title, contents in (inside | {"Files": _files(files, notes)}).items():
        lines += [*(["", f"## {title}"] if title else []), "", *contents] if contents else []
    return shown_lines("\n".join(lines)) + "\n"


def as_markdown(contents: Iterable[sections.Part], files: Sequence[str]) -> list[str]:
    """Return parts of a section as lines of Markdown; figures and long tables are links to files."""
    lines = [""]
    for content in contents:
        if isinstance(content, str):
            apart = content and lines[-1] and (lines[-1][0] == "|" or not content.startswith((" ", "- ")))
            lines += ["", content] if apart else [content]
        elif isinstance(content, sections.Drawing):
            named = next(
                (name for name in files if name in (f"{content.name}.svg", f"{content.name}.png")), ""
            )
            lines += ["", f"![{page.TITLES[content.name]}]({named})"] if named else []
        elif isinstance(content, sections.Code):
            lines += [] if content.more else ["", f"```{content.language}", content.lines, "```"]
        elif content.more:
            named = next((name for name in files if content.file and name.startswith(content.file)), "")
            lines += ["", f"{content.more}: [{named}]({named})"] if named else []
        else:
            lines += ["", content.caption] if content.caption else []
            lines += ["", *content.markdown().splitlines()]
    while lines and not lines[0]:
        del lines[0]
    return lines


def _files(files: Sequence[str], notes: Sequence[str]) -> list[str]:
    listed = [name for name in files if not name.endswith(".svg")]
    return [*(f"- [{name}]({name})" for name in listed), *(f"- {note}" for note in notes)]


# --------------------------------------------------------------------- tables


def _write_scores(written: Written, fitted: Fitted) -> sections.Survey:
    """Write the table of scores; return those to draw."""
    table, suffix = fitted.table, fitted.format
    if table.in_memory:
        written.table("scores", tables.row_table(table, fitted.scores))
        return sections.Survey(fitted.scores)
    n = table.values.shape[0]
    shown, drawn = np.array(evenly(n, sections.MOST_DRAWN)), []

    def blocks() -> tables.Blocks:
        for rows, scores in tables.mapped(fitted.model, table, memory_limit_bytes(fitted.model.memory_limit)):
            first, last = np.searchsorted(shown, [rows.start, rows.stop])
            drawn.append(scores[shown[first:last] - rows.start, :2])
            yield rows, scores

    written.add(f"scores.{suffix}", lambda path: tables.write_blocks(path, table, blocks(), suffix))
    if len(shown) < n:
        written.notes.append(f"scores.svg shows {len(shown):,} of {n:,} rows, evenly spaced.")
    return sections.Survey(np.concatenate(drawn), shown.tolist() if len(shown) < n else None)


def _write_figures(written: Written, whole: Explanation) -> dict[str, Any]:
    """Write the figures as files, and return them by name for the report, which has the same."""
    drawn = dict[str, Any]()
    try:
        both = (*whole.first, *whole.sections)
        for drawing in (content for section in both for content in section.parts):
            if isinstance(drawing, sections.Drawing) and drawing.name in DRAWN:
                name = f"{drawing.name}.svg"
                if name not in written.files:
                    drawn[drawing.name] = figure = drawing.drawn()
                    written.text(name, figure.content)
    except MissingExtraError as error:
        written.notes.append(f"No figures were written. {error}")
    return drawn


def _write_tables(written: Written, fitted: Fitted) -> None:
    written.table("eigenvalues", facts.component_facts(fitted.model))
    imputed = getattr(fitted.model, "imputed_", None)
    if imputed is not None:
        written.table("imputed", imputed_table(imputed, fitted.table))
    if fitted.model.model_kind.linear:
        _write_statistics(written, fitted)
        _write_loadings(written, fitted)


def _write_loadings(written: Written, fitted: Fitted) -> None:
    k, d = fitted.model.components_.shape
    if k * d > MOST_CELLS:
        written.notes.append(
            f"No table of loadings was written, because {d:,} columns x {k:,} components exceed "
            f"{MOST_CELLS:,} numbers. {MODEL} contains them: gramian.load(...).components_"
        )
        return
    columns = {"feature": np.array(tables.feature_names(fitted.table), dtype=object)}
    values = loadings(fitted.model, fitted.table, fitted.loadings)
    written.table("loadings", columns | dict(zip(components.component_names(k), values.T, strict=True)))


def imputed_table(imputed: imputation.Imputed, table: Table) -> dict[str, npt.NDArray[Any]]:
    """Return the imputed entries, one a row: where they are, their values and standard errors."""
    rows, names = table.row_names, np.array(tables.feature_names(table), dtype=object)
    named = imputed.rows if rows is None else np.array(rows, dtype=object)[imputed.rows]
    columns = {"row": named, "column": names[imputed.columns], "value": imputed.values}
    return columns | {"standard_error": imputed.standard_errors}


def _write_statistics(written: Written, fitted: Fitted) -> None:
    """Write coordinates, cos2 and contributions of columns."""
    model, table = fitted.model, fitted.table
    k = min(DESCRIBED, int(model.n_components_))
    if k * model.n_features_in_ > MOST_CELLS:
        written.notes.append(
            "No table of cos2 and contributions of the columns was written, since they are many. In "
            f'Python: gramian.load("{MODEL}").table("columns")'
        )
    elif k:
        items = replace(linear_columns(model, k), names=tables.feature_names(table))
        columns = items_table(items, k)
        del columns["kind"]
        written.table("columns", {"feature": columns.pop("name"), **columns})


def loadings(model: Any, table: Table, kind: str) -> npt.NDArray[Any]:
    """Return the loadings of a PCA, one row a feature.

    Parameters
    ----------
    model : fitted PCA
    table : Table
        The data of the fit.
    kind : {"unit", "correlation"}
        Unit vectors, or correlations of features with scores: ``component * sd(score) / sd(feature)``, and 0
        for constant features.
    """
    directions: npt.NDArray[Any] = np.asarray(model.components_).T
    return directions if kind == "unit" else associations.correlations(model, table)


# ------------------------------------------------------------------- pictures


def _write_pictures(written: Written, fitted: Fitted) -> None:
    try:
        require_pillow()
    except MissingExtraError as error:
        written.notes.append(f"No component pictures were written. {error}")
        return
    model, shape = fitted.model, fitted.table.picture_shape
    shown = as_float64(model.components_[:MOST_PICTURES]).reshape(-1, *(shape or ()))
    center = as_float64(model.mean_).reshape(shape or ())
    mean = grey(center, *grey_range(center))
    pixels = [signed(picture) for picture in shown]
    titles = components.component_titles(model, len(shown))
    written.add("mean.png", Picture(enlarged(mean)).save)
    sheet = contact_sheet([mean, *pixels], ["mean", *titles])
    written.add("components.png", sheet.save)
