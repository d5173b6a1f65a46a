"""The report of a fitted model: one page that opens anywhere, loads nothing and runs nothing."""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from gramian import plots
from gramian.analysis.component_rules.table import RULES
from gramian.analysis.components import decomposition_of
from gramian.arrays import as_float64, memory_limit_bytes
from gramian.checks import counted, listed, percent
from gramian.plots.names import component_titles, feature_names_of
from gramian.report.facts import component_rows, kernel_text, method_name, size_text, versions
from gramian.report.figures import Figures, scores_chart
from gramian.report.markup import code, escaped, folded, paragraphs, table, text
from gramian.report.pieces import is_stored
from gramian.report.rules import rules_said
from gramian.report.summary import (
    Fitted,
    computed_lines,
    data_lines,
    guaranteed_lines,
    headline,
    methods_paragraph,
)
from gramian.report.survey import Survey, survey
from gramian.report.tables import row_names
from gramian.store import atomic_write

FIRST, MOST = 10, 200  # components at once, and at most
UNUSUAL, TOP, LOADED = 10, 10, 5  # rows, columns of a component, components
LONGEST = 200  # letters of a parameter
REFERENCES = {
    "pca": "Jolliffe, I. T. and Cadima, J. (2016). Principal component analysis: a review and recent "
    "developments. Philosophical Transactions of the Royal Society A 374, 20150202.",
    "kernel": "Schölkopf, B., Smola, A. and Müller, K.-R. (1998). Nonlinear component analysis as a kernel "
    "eigenvalue problem. Neural Computation 10, 1299-1319.",
    "whitening": "Kessy, A., Lewin, A. and Strimmer, K. (2018). Optimal whitening and decorrelation. "
    "The American Statistician 72, 309-314.",
    "faces": "Turk, M. and Pentland, A. (1991). Eigenfaces for recognition. "
    "Journal of Cognitive Neuroscience 3, 71-86.",
    "nystroem": "Williams, C. K. I. and Seeger, M. (2001). Using the Nyström method to speed up kernel "
    "machines. Advances in Neural Information Processing Systems 13.",
    "random-features": "Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines. "
    "Advances in Neural Information Processing Systems 20.",
    "unusual": "Jackson, J. E. and Mudholkar, G. S. (1979). Control procedures for residuals associated with "
    "principal component analysis. Technometrics 21, 341-349.",
}


def write_report(path: str | os.PathLike[str], fitted: Fitted, used: Mapping[str, str] | None = None) -> None:
    """Write :func:`report_page` to a file, which appears whole or not at all."""
    page = report_page(fitted, used)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))


def report_page(fitted: Fitted, used: Mapping[str, str] | None = None) -> str:
    """Return a page about a fitted model, as HTML.

    Parameters
    ----------
    fitted : Fitted
        The model may also be a Whitener or a FaceSpace. Without a table the page says what needs the data.
    used : mapping of str to str, optional
        The versions that computed it; by default those that are installed.
    """
    page = _Page(fitted, used or versions())
    sections = {title: inside for title, part in page.parts().items() if (inside := part())}
    links = "".join(f'<a href="#s{place}">{text(title)}</a>' for place, title in enumerate(sections))
    body = "\n".join(
        f'<section id="s{place}">\n<h2>{text(title)}</h2>\n{inside}\n</section>'
        for place, (title, inside) in enumerate(sections.items())
    )
    template = Template(files("gramian.report").joinpath("page.html").read_text(encoding="utf-8"))
    foot = (
        f"Written on {date.today().isoformat()} by gramian {versions()['gramian']}. This page loads nothing."
    )
    return template.substitute(
        title=escaped(page.title), head=f"{page.head()}\n<nav>{links}</nav>", body=body, foot=foot
    )


class _Page:
    """The parts of a page; what several of them need is found once."""

    def __init__(self, fitted: Fitted, used: Mapping[str, str]) -> None:
        self.fitted, self.table, self.used = fitted, fitted.table, used
        self.given = fitted.model
        self.model: Any = decomposition_of(fitted.model)
        self.figures = Figures()
        kind = self.given.model_kind
        self.faces, self.whitens = kind.faces, kind.whitens
        self.pictures = getattr(self.model, "picture_shape_", None) is not None
        self.seen: Survey | None = None
        if self.table is not None and self.model.n_components_ and not (self.faces or self.whitens):
            limit = memory_limit_bytes(getattr(self.model, "memory_limit", None))
            self.seen = survey(self.model, self.table, limit)
        self.choices, self.left_out = rules_said(self.model, self.table)
        what = "Faces: " if self.faces else ""
        of = (
            f" of {os.path.basename(self.table.source) or self.table.source}"
            if self.table is not None
            else ""
        )
        self.title = f"{what}{method_name(self.model)}{of}"

    def parts(self) -> dict[str, Any]:
        """Return what makes each section, "" where there is nothing to say."""
        return {
            "Components": self.components,
            "How many components": self.rules,
            "Rows": self.rows,
            "Columns": self.columns,
            "Data": self.data,
            "How it was computed": self.computed,
            "What is guaranteed": self.guaranteed,
            "For a methods section": self.methods,
            "To repeat it": self.repeat,
            "Versions": self.versions,
        }

    # ------------------------------------------------------------------ parts

    def head(self) -> str:
        model = self.model
        ratios, ok = model.explained_variance_ratio_, model.certificate_.ok
        kept = "" if ratios is None else percent(float(np.sum(ratios)))
        tiles = {
            "rows": f"{model.n_samples_:,}",
            "pixels" if self.pictures else "columns": f"{model.n_features_in_:,}",
            "components": f"{model.n_components_:,}",
            "of the variance": kept,
            "with variance": f"{model.rank_:,}" if model.rank_ < model.n_components_ else "",
            "certificate": "holds" if ok else "DOES NOT HOLD",
        }
        items = "".join(f"<li><b>{v}</b><span>{k}</span></li>" for k, v in tiles.items() if v)
        notes = "".join(f'<p class="soft">{text(note)}</p>' for note in self.figures.notes)
        warning = "" if ok else '<p class="bad">The certificate does not hold: see what is guaranteed.</p>'
        return (
            f'<h1>{text(self.title)}</h1>\n<p class="lead">{text(headline(model))}</p>\n{warning}'
            f'<ul class="tiles">{items}</ul>{notes}'
        )

    def components(self) -> str:
        model, k = self.model, int(self.model.n_components_)
        if not k:
            return "<p>The model has no components.</p>"
        head = ("", "eigenvalue", "standard deviation", "share", "cumulative")
        rows = component_rows(model, MOST)
        parts = [table(head, rows[:FIRST], "rnnnn")]
        if k > FIRST:
            rest = f"Components {FIRST + 1} to {min(k, MOST)} of {k:,}"
            parts.append(folded(rest, table(head, rows[FIRST:], "rnnnn")))
        words = "the variance of the components"
        parts.append(self.figures.show(words, lambda: plots.scree(model, self.choices or None)))
        return "\n".join(parts)

    def rules(self) -> str:
        if not (self.choices or self.left_out):
            return ""
        k = self.model.n_components_
        rows = [(c.rule, c.answer, c.sentence, RULES[c.rule].trust) for c in self.choices]
        head, kinds = ("rule", "would keep", "because", "when to trust it"), "rntt"
        said = table(head, rows, kinds) if rows else ""
        left = [f"- {line}" for line in self.left_out]
        return (
            f"<p>This model keeps {k:,}. Rules look for different things, and need not agree.</p>\n{said}"
            f"{paragraphs(['Not asked:', '', *left]) if left else ''}"
        )

    def rows(self) -> str:
        model, data, seen = self.model, self.table, self.seen
        show = self.figures.show
        if self.faces:
            words = "how unlike the fitted faces pictures are"
            return show(words, lambda: plots.face_scores(self.given))
        if data is None:
            return "<p>Scores of rows and unusual rows need the data: gramian report MODEL DATA.</p>"
        if self.whitens:
            words = "two columns before and after whitening"
            return show(words, lambda: plots.whitening(model, data)) if model.n_features_in_ > 1 else ""
        if seen is None:
            return ""
        n = len(seen.distances)
        parts = []
        if n != model.n_samples_:
            parts.append(f"<p>These are {n:,} rows; the model was fitted on {model.n_samples_:,}.</p>")
        words = "the rows along the first two components"
        parts.append(show(words, lambda: scores_chart(model, data, seen.scores, seen.shown)))
        parts += ["<h3>Unusual rows</h3>", self._unusual(seen)]
        if data.picture_shape is not None and not is_stored(data):
            words = "pictures beside what is rebuilt of them"
            parts.append(show(words, lambda: plots.reconstructions(model, data)))
        return "\n".join(parts)

    def _unusual(self, seen: Survey) -> str:
        """Return the rows that are farthest from the middle, and from what the components can tell."""
        _, names = row_names(self.table)
        title = "row, from 0" if self.table.row_names is None else "name"
        far = "Far from the middle: Hotelling's T squared, the sum over components of score² / variance"
        parts = [_largest(far, title, names, seen.distances, "T squared")]
        if seen.errors is None:
            return parts[0]
        errors = np.asarray(seen.errors.squares)
        if not errors.sum() > 1e-20 * float(np.sum(np.square(seen.errors.sizes))):
            return parts[0] + "<p>Every row is rebuilt as a whole: the components leave nothing over.</p>"
        units = "" if getattr(self.model, "scale_", None) is None else ", columns scaled as for fitting"
        left = f"Badly rebuilt: Q, the squared distance of a row from what components tell of it{units}"
        return f'<div class="pair">{parts[0]}{_largest(left, title, names, errors, "Q")}</div>'

    def columns(self) -> str:
        model, show = self.model, self.figures.show
        if not model.model_kind.linear or not model.n_components_:
            return ""
        if self.pictures:
            return show("the components as pictures", lambda: plots.components(self.given))
        names = feature_names_of(model)
        count = min(LOADED, model.n_components_, max(1, model.rank_))
        tables = []
        for title, direction in zip(
            component_titles(model, count), as_float64(model.components_[:count]), strict=True
        ):
            top = np.argsort(-np.abs(direction), kind="stable")[:TOP].tolist()
            rows = [(names[j], f"{direction[j]:+.3f}") for j in top]
            tables.append(table(("column", "loading"), rows, "rn", title))
        of = f"{TOP} of {len(names):,} columns" if len(names) > TOP else counted(len(names), "column")
        said = f"<p>The {of} with the largest loadings, entries of unit vectors, of each component:</p>"
        figure = show("the loadings", lambda: plots.loadings(model)) if len(names) > 1 else ""
        return f'{figure}{said}<div class="pair small">{"".join(tables)}</div>'

    def data(self) -> str:
        model, seen = self.model, self.seen
        lines = []
        if self.table is not None:
            lines += data_lines(self.table)
            lines += [f"- Asked for: {one}" for one in self.table.asked]
        else:
            size = size_text(model.n_features_in_, getattr(model, "picture_shape_", None))
            lines.append(
                f"- Fitted on {model.n_samples_:,} rows x {size}; the data are not in the model file"
            )
        if getattr(model, "column_means_", None) is not None:
            lines.append("- Missing values are filled with the means of the columns that were fitted")
        constant = np.asarray(getattr(model, "constant_features_", ()), dtype=int)
        if constant.size:
            names = feature_names_of(model)
            which = "" if self.pictures else f": {listed(names[j] for j in constant)}"
            lines.append(f"- Constant, and so in no component: {counted(constant.size, 'column')}{which}")
        if seen is not None and seen.repeated is not None:
            said = counted(seen.repeated, "row is a repetition", "rows are repetitions")
            lines.append(f"- {said} of an earlier row" if seen.repeated else "- No row is there twice")
        lines += [f"- {note[:1].upper()}{note[1:]}" for note in getattr(self.given, "notes_", ())]
        return paragraphs(lines)

    def computed(self) -> str:
        model = self.model
        attempts = getattr(model, "attempts_", ())
        ran = "\n".join(["", "What was run:", *(f"  {a}" for a in attempts)]) if attempts else ""
        lines = computed_lines(replace(self.fitted, model=model))
        return paragraphs(lines) + folded("The plan in full", code(f"{model.plan_}{ran}"))

    def guaranteed(self) -> str:
        if not self.model.n_components_:
            return ""
        words = "eigenvalues in the intervals that are guaranteed"
        figure = self.figures.show(words, lambda: plots.eigenvalues(self.model))
        return paragraphs(guaranteed_lines(self.model)) + figure

    def methods(self) -> str:
        model = self.model
        choice = getattr(model, "component_choice_", None)
        solver = getattr(model, "solver", "auto")
        keys = ["kernel" if kernel_text(model) else "whitening" if self.whitens else "pca"]
        keys += ["faces"] if self.faces else []
        keys += [solver] if solver in REFERENCES else []
        keys += ["unusual"] if self.seen is not None else []
        told = methods_paragraph(model, self.table, self.used)
        lines = [told, "", *(f"- {REFERENCES[key]}" for key in keys)]
        lines += [f"- Rule: {choice.sentence}"] if choice is not None else []
        return paragraphs(lines)

    def repeat(self) -> str:
        shell = f"<p>In the shell:</p>{code(shlex.join(self.fitted.command))}" if self.fitted.command else ""
        stdin = "-" in self.fitted.command
        said = "<p>The data came from standard input: give the same bytes again.</p>" if stdin else ""
        return f"{shell}{said}<p>In Python:</p>{code(python_calls(self.given, self.fitted.reading))}"

    def versions(self) -> str:
        return paragraphs(f"- {package} {number}" for package, number in self.used.items())


def _largest(caption: str, title: str, names: Any, values: Any, head: str) -> str:
    """Return the rows of the largest values, beside the median of all."""
    top = np.argsort(-values, kind="stable")[:UNUSUAL].tolist()
    median = float(np.median(values))
    times = [f"{values[i] / median:,.1f}" if median > 0 else "-" for i in top]
    rows = [(str(names[i]), f"{values[i]:.4g}", t) for i, t in zip(top, times, strict=True)]
    return table((title, head, "times the median"), rows, "rnn", caption)


def python_calls(model: Any, reading: Mapping[str, Any] | None) -> str:
    """Return the calls that fit such a model again."""
    takes = inspect.signature(type(model)).parameters
    given = {
        key: value
        for key, value in model.get_params(deep=False).items()
        if repr(value) != repr(takes[key].default)
    }
    told = ", ".join(f"{key}={_literal(key, value)}" for key, value in given.items())
    lines = ["import gramian"]
    if reading is None:
        lines += ["", "X = ...  # the data that the model was fitted on"]
    else:
        options = [f"{value!r}" if key == "path" else f"{key}={value!r}" for key, value in reading.items()]
        lines += ["", f"X = gramian.scan({', '.join(options)}).read()"]
    place = "gramian.faces" if model.model_kind.faces else "gramian"
    return "\n".join([*lines, f"model = {place}.{type(model).__name__}({told}).fit(X)"])


def _literal(key: str, value: Any) -> str:
    """Return a parameter as Python takes it; a kernel is the text that makes it."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    said = repr(repr(value)) if key == "kernel" and not isinstance(value, str | None) else repr(value)
    return said if len(said) <= LONGEST else f"...  # {len(said):,} letters: see {key} of the saved model"
