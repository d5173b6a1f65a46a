"""The report of a fitted model: one self-contained HTML page without scripts."""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import cached_property, partial
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian import plots
from gramian.analysis.component_rules.table import RULES
from gramian.analysis.components import decomposition_of, feature_names_of, mapping_of
from gramian.analysis.monitoring import BOTH
from gramian.analysis.sampling import sampling_note
from gramian.analysis.units import unit_trap
from gramian.arrays import as_float64, memory_limit_bytes
from gramian.checks import counted, listed, percent
from gramian.errors import ParameterError
from gramian.estimators.describe import describe
from gramian.estimators.tables import linear_rows
from gramian.plots.names import component_titles
from gramian.report.facts import component_rows, imputed_share, method_name, size_text, versions
from gramian.report.figures import Figures, figures, scores_chart, shown_first
from gramian.report.findings import findings
from gramian.report.markup import code, escaped, folded, paragraphs, table, text
from gramian.report.rules import rule_choices
from gramian.report.summary import (
    WAYS_OUT,
    Fitted,
    computed_lines,
    data_lines,
    guaranteed_lines,
    headline,
    methods_lines,
    of_what,
)
from gramian.report.survey import Survey, survey
from gramian.report.tables import row_names
from gramian.rows.metadata import labels_of
from gramian.store import atomic_write

FIRST, MOST = 10, 200  # components at once, and at most
UNUSUAL, TOP, LOADED = 10, 10, 5  # rows, columns of a component, components
LONGEST = 200  # characters of a parameter


def write_report(path: str | os.PathLike[str], fitted: Fitted, used: Mapping[str, str] | None = None) -> None:
    """Write :func:`report_page` to a file, which appears whole or not at all."""
    page = report_page(fitted, used)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))


def report_page(fitted: Fitted, used: Mapping[str, str] | None = None) -> str:
    """Return the report of a fitted model, as HTML.

    Parameters
    ----------
    fitted : Fitted
        The model may also be a Whitener or a FaceSpace. Without a table some sections are missing.
    used : mapping of str to str, optional
        The versions that computed it, by default the installed ones.
    """
    page = _Page(fitted, used or versions())
    sections = {title: inside for title, part in page.parts().items() if (inside := part())}
    links = "".join(f'<a href="#s{place}">{text(title)}</a>' for place, title in enumerate(sections))
    body = "\n".join(
        f'<section id="s{place}">\n<h2>{text(title)}</h2>\n{inside}\n</section>'
        for place, (title, inside) in enumerate(sections.items())
    )
    template = Template(files("gramian.report").joinpath("page.html").read_text(encoding="utf-8"))
    today, version = date.today().isoformat(), versions()["gramian"]
    foot = f"Written on {today} by gramian {version}. This page loads no external resources."
    return template.substitute(
        title=escaped(page.title), head=f"{page.head()}\n<nav>{links}</nav>", body=body, foot=foot
    )


class _Page:
    """The sections of a report, and the results that several of them share."""

    def __init__(self, fitted: Fitted, used: Mapping[str, str]) -> None:
        self.fitted, self.table, self.used = fitted, fitted.table, used
        self.given = mapping_of(fitted.model)
        self.model: Any = decomposition_of(self.given)
        self.figures = Figures()
        kind = self.given.model_kind
        self.faces, self.whitens = kind.faces, kind.whitens
        self.pictures = getattr(self.model, "picture_shape_", None) is not None
        self.survey: Survey | None = None
        if self.table is not None and self.model.n_components_ and not (self.faces or self.whitens):
            limit = memory_limit_bytes(getattr(self.model, "memory_limit", None))
            self.survey = survey(self.model, self.table, limit, fitted.model)
        self.choices, self.left_out = rule_choices(self.model, self.table)
        what = "Eigenfaces" if self.faces else method_name(self.model)
        self.title = what + of_what(self.given, self.table)

    def parts(self) -> dict[str, Any]:
        """Return the function of each section, which returns "" to leave it out."""
        return {
            "Scores": self.rows,
            "Components as pictures" if self.pictures else "Loadings": self.columns,
            "Metadata": self.metadata,
            "How many components": self.components,
            "Unusual rows": self.unusual,
            "Quality of the data": self.data,
            "What is guaranteed": self.guaranteed,
            "How it was computed": self.computed,
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
            "of the entries imputed": percent(share) if (share := imputed_share(model)) else "",
            "components": f"{model.n_components_:,}",
            "of the variance": kept,
            "numerical rank": f"{model.rank_:,}" if model.rank_ < model.n_components_ else "",
            "certificate": "holds" if ok else "DOES NOT HOLD",
        }
        items = "".join(f"<li><b>{v}</b><span>{k}</span></li>" for k, v in tiles.items() if v)
        said = filter(None, [sampling_note(model), model.certificate_.brief, *self.figures.notes])
        notes = "".join(f'<p class="soft">{text(note)}</p>' for note in said)
        warning = "" if ok else '<p class="bad">The certificate does not hold. See What is guaranteed.</p>'
        if trap := unit_trap(model, WAYS_OUT):
            warning += f'<p class="bad">{text(trap)}</p>'
        data, seen = self.table, self.survey
        given = (data.labels if seen.shown is None else None, data.label_name, seen.scores) if seen else ()
        lead = " ".join([*findings(model, *given), *filter(None, [self._telling[1]])])
        return (
            f'<h1>{text(self.title)}</h1>\n<p class="lead">{text(lead)}</p>\n{warning}'
            f'<p class="soft">{text(headline(model))}</p><ul class="tiles">{items}</ul>{notes}'
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
        drawn = self.figures.show("scree", lambda: plots.scree(model, self.choices or None))
        return figures(drawn, f"<div>{''.join(parts)}</div>") + self._rules()

    def _rules(self) -> str:
        if not (self.choices or self.left_out):
            return ""
        rows = [(c.rule, c.answer, c.sentence, RULES[c.rule].trust) for c in self.choices]
        answers = table(("rule", "components", "reason", "when to trust it"), rows, "rntt") if rows else ""
        left = ["Not computed:", "", *(f"- {line}" for line in self.left_out)] if self.left_out else []
        kept = counted(self.model.n_components_, "component")
        intro = f"<p>This model keeps {kept}. The rules use different criteria and may disagree.</p>\n"
        return intro + answers + paragraphs(left)

    def rows(self) -> str:
        model, data, seen = self.model, self.table, self.survey
        show = self.figures.show
        if self.faces:
            return figures(show("face-scores", lambda: plots.face_scores(self.given)))
        if data is None:
            return "<p>Scores and unusual rows need the data: gramian report MODEL DATA.</p>"
        if self.whitens:
            if model.n_features_in_ == 1:
                return ""
            return figures(show("whitening", lambda: plots.whitening(model, data)))
        if seen is None:
            return ""
        n = self.table.values.shape[0]
        parts = []
        if n != model.n_samples_:
            parts.append(f"<p>These are {n:,} rows. The model was fitted on {model.n_samples_:,}.</p>")
        drawn = [show("scores", lambda: scores_chart(model, data, seen.scores, seen.shown))]
        if self._telling[0] != (1, 2):
            usual = partial(scores_chart, model, data, seen.scores, seen.shown, pair=(1, 2))
            drawn.append(show("scores", usual))
        if self._is_of_columns() and model.n_components_ > 1:
            draw = partial(scores_chart, model, data, seen.scores, seen.shown, "biplot")
            drawn.append(show("biplot", draw))
        parts.append(figures(*drawn))
        if data.picture_shape is not None and data.in_memory:
            parts.append(figures(show("reconstructions", lambda: plots.reconstructions(model, data))))
        return "\n".join(parts)

    @cached_property
    def _telling(self) -> tuple[tuple[int, int], str]:
        """Return the two components that show the groups apart, and why if they are not the first two."""
        seen = self.survey
        return shown_first(self.table, seen.scores) if seen and seen.shown is None else ((1, 2), "")

    def _is_of_columns(self) -> bool:
        """Return whether the model has loadings of several columns."""
        is_table = self.model.model_kind.linear and not self.pictures
        return bool(is_table and self.model.n_features_in_ > 1)

    def unusual(self) -> str:
        return "" if self.survey is None else self._unusual(self.survey) + self._contributors()

    def _contributors(self) -> str:
        """Return the rows of the fit that contribute most to each component."""
        model, k = self.model, min(LOADED, int(self.model.rank_))
        if model.model_kind.kernel or self.table.values.shape[0] != model.n_samples_ or not k:
            return ""
        statistics = linear_rows(model, self.table, k).statistics
        if "contribution" not in statistics:  # of rows that count differently
            return ""
        title, names = row_names(self.table)
        scores, cos2, shares = (statistics[name] for name in ("coordinate", "cos2", "contribution"))

        def line(i: int, j: int) -> list[str]:
            return [str(names[i]), f"{scores[i, j]:.4g}", f"{cos2[i, j]:.3f}", percent(shares[i, j])]

        tables = self._largest((title, "score", "cos2", "contribution"), shares, line)
        said = (
            "<p>For each component, the rows that contribute most to its variance. cos2 is the share of the "
            "squared distance of a row from the mean that the component represents.</p>"
        )
        return f"<h3>Rows that contribute most</h3>{said}{tables}"

    def _largest(
        self, head: Sequence[str], sizes: npt.NDArray[Any], line: Callable[[int, int], Sequence[str]]
    ) -> str:
        """Return a table for each component: the lines of the rows or columns of the largest sizes."""
        tables = []
        for j, caption in enumerate(component_titles(self.model, sizes.shape[1])):
            top = np.argsort(-sizes[:, j], kind="stable")[:TOP].tolist()
            tables.append(table(head, [line(i, j) for i in top], "r" + "n" * (len(head) - 1), caption))
        return f'<div class="pair small">{"".join(tables)}</div>'

    def _unusual(self, seen: Survey) -> str:
        """Return the rows that are largest relative to their limits, with the columns that cause it."""
        result = seen.statistics
        if result is None:
            return "<p>The rows of the fit do not vary, so no row can be compared with them.</p>"
        title = "row (from 0)" if self.table.row_names is None else "name"
        names = [name for name in BOTH if name in result.columns]
        rows = []
        for place in result.worst(UNUSUAL).tolist():
            causes = [result[f"contributor {j}"][place] for j in (1, 2, 3)]
            numbers = [f"{result[name][place]:.4g}" for name in names]
            rows.append(
                (str(result["row"][place]), *numbers, result["alarm"][place], ", ".join(filter(None, causes)))
            )
        head = (title, *names, "alarm", "largest contributions")
        kinds = "r" + "n" * len(names) + "tt"
        lines = [result.summary, *result.limits.sentences]
        caption = "Largest T2 or SPE, relative to its limit"
        return paragraphs([" ".join(lines)]) + table(head, rows, kinds, caption)

    def columns(self) -> str:
        model, show = self.model, self.figures.show
        if not model.model_kind.linear or not model.n_components_:
            return ""
        if self.pictures:
            return figures(show("components", lambda: plots.components(self.given)))
        names = feature_names_of(model)
        count = min(LOADED, model.n_components_, max(1, model.rank_))
        heads, facts = self._column_facts()
        loadings = as_float64(model.components_[:count]).T

        def line(i: int, j: int) -> list[str]:
            return [names[i], f"{loadings[i, j]:+z.3f}", *facts[i]]

        tables = self._largest(("column", "loading", *heads), np.abs(loadings), line)
        of = f"{TOP} of {len(names):,} columns" if len(names) > TOP else counted(len(names), "column")
        said = f"<p>For each component, the {of} with the largest loadings (entries of unit vectors):</p>"
        drawn = [show("loadings", lambda: plots.loadings(model))] if len(names) > 1 else []
        if drawn and model.n_components_ > 1 and not self.whitens:
            drawn.append(show("correlation-circle", lambda: plots.correlation_circle(model)))
        return figures(*drawn) + said + tables

    def _column_facts(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return what is said of each column in the tables of loadings: titles, and numbers by column."""
        means, deviations = as_float64(self.model.mean_), None
        with suppress(ParameterError):  # of a model that an older gramian saved
            if not self.whitens:
                deviations = self.model._column_deviations()
        if deviations is None:
            return ("mean",), [(f"{mean:.4g}",) for mean in means]
        return ("mean", "std. dev."), [
            (f"{m:.4g}", f"{d:.4g}") for m, d in zip(means, deviations, strict=True)
        ]

    def metadata(self) -> str:
        if self.table is None or not self.given.model_kind.gives_scores or not labels_of(self.table):
            return ""
        description = describe(self.given, self.table, top=0)
        if not description.variables or not self.model.n_components_:
            return paragraphs(description.sentences())
        figure = self.figures.show("metadata", lambda: plots.metadata(description))
        head, *rows = description.lines()
        lines = table(head, rows, "r" + "n" * (len(head) - 2) + "t")
        return f"{figures(figure)}{lines}{paragraphs(description.sentences())}"

    def data(self) -> str:
        model, seen = self.model, self.survey
        lines = []
        if self.table is not None:
            lines += data_lines(self.table)
            lines += [f"- Option: {one}" for one in self.table.asked]
        else:
            size = size_text(model.n_features_in_, getattr(model, "picture_shape_", None))
            lines.append(
                f"- Fitted on {model.n_samples_:,} rows x {size}; the model file does not contain the data"
            )
        if getattr(model, "column_means_", None) is not None:
            lines.append("- Missing values are filled with the column means of the fit")
        constant = np.asarray(getattr(model, "constant_features_", ()), dtype=int)
        if constant.size:
            names = feature_names_of(model)
            which = "" if self.pictures else f": {listed(names[j] for j in constant)}"
            lines.append(f"- Constant: {counted(constant.size, 'column')}, which no component uses{which}")
        if seen is not None and seen.repeated is not None:
            said = counted(seen.repeated, "row is a duplicate", "rows are duplicates")
            lines.append(f"- {said} of an earlier row" if seen.repeated else "- There are no duplicate rows")
        lines += [f"- {note[:1].upper()}{note[1:]}" for note in getattr(self.given, "notes_", ())]
        return paragraphs(lines)

    def computed(self) -> str:
        model = self.model
        attempts = getattr(model, "attempts_", ())
        ran = "\n".join(["", "Attempts:", *(f"  {a}" for a in attempts)]) if attempts else ""
        lines = computed_lines(replace(self.fitted, model=model))
        return paragraphs(lines) + folded("Full plan", code(f"{model.plan_}{ran}"))

    def guaranteed(self) -> str:
        if not self.model.n_components_:
            return ""
        figure = self.figures.show("eigenvalues", lambda: plots.eigenvalues(self.model))
        return figures(figure, f"<div>{paragraphs(guaranteed_lines(self.model))}</div>")

    def methods(self) -> str:
        further = ["faces"] * self.faces + ["unusual"] * (self.survey is not None)
        return paragraphs(methods_lines(self.model, self.table, self.used, further))

    def repeat(self) -> str:
        shell = f"<p>In the shell:</p>{code(shlex.join(self.fitted.command))}" if self.fitted.command else ""
        stdin = "-" in self.fitted.command
        said = "<p>The data came from standard input. Provide the same bytes again.</p>" if stdin else ""
        return f"{shell}{said}<p>In Python:</p>{code(python_calls(self.given, self.fitted.reading))}"

    def versions(self) -> str:
        return paragraphs(f"- {package} {number}" for package, number in self.used.items())


def python_calls(model: Any, reading: Mapping[str, Any] | None) -> str:
    """Return Python code that fits the same model."""
    takes = inspect.signature(type(model)).parameters
    given = {
        key: value
        for key, value in model.get_params(deep=False).items()
        if repr(value) != repr(takes[key].default)
    }
    arguments = ", ".join(f"{key}={_literal(key, value)}" for key, value in given.items())
    lines = ["import gramian"]
    if reading is None:
        lines += ["", "X = ...  # the data of the fit"]
    else:
        options = [f"{value!r}" if key == "path" else f"{key}={value!r}" for key, value in reading.items()]
        lines += ["", f"X = gramian.scan({', '.join(options)}).read()"]
    kind = type(model)
    package = kind.__module__.rpartition(".")[0] if model.model_kind.faces else "gramian"
    return "\n".join([*lines, f"model = {package}.{kind.__name__}({arguments}).fit(X)"])


def _literal(key: str, value: Any) -> str:
    """Return a parameter as Python code; a kernel as its text."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    said = repr(repr(value)) if key == "kernel" and not isinstance(value, str | None) else repr(value)
    return said if len(said) <= LONGEST else f"...  # {len(said):,} characters: see {key} of the saved model"
