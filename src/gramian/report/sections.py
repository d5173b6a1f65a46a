"""What a report says of a fitted model: sections of sentences, tables and figures, for page and summary."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from gramian import figures
from gramian.answers.choose_components import choose_components, recommended
from gramian.answers.departure import Departure
from gramian.answers.describe import describe
from gramian.answers.diagnose import Trust, diagnosis_of, trust_of
from gramian.core.arrays import as_float64, dense, memory_limit_bytes
from gramian.core.checks import counted, evenly, listed, number, shown
from gramian.core.notebook import Grid, Section
from gramian.errors import DiagnosticWarning, UnavailableError, ignoring, shortened
from gramian.figures.registry import function_of
from gramian.models.monitor import can_be_monitored, monitor_of
from gramian.models.monitoring import BOTH
from gramian.report import facts, sentences
from gramian.report.headline import headline
from gramian.report.tables import pieces_of
from gramian.statistics.associations import associated
from gramian.statistics.component_rules import REPEATS, RULES, ComponentChoice
from gramian.statistics.components import component_names, decomposition_of, feature_names_of, mapping_of
from gramian.tables.labels import as_array, in_order, label_texts
from gramian.tables.metadata import labels_of
from gramian.tables.table import Table

if TYPE_CHECKING:
    from gramian.models.events import RowStatistics

FEW, MOST_GROUPS, LEVEL = 5, 6, 0.05  # columns and groups of the first page, and of adjusted p values
FIRST, MOST = 10, 200  # components at once, and at most
UNUSUAL, TOP, LOADED = 10, 20, 5  # rows; columns and components of the table of loadings
MOST_DRAWN = 1_000_000  # rows
MOST_SCORES = 8  # components of which all scores are kept, to compare groups
PATIENCE = 10.0  # seconds predicted for one rule
SECONDS = 1e-9  # of a number, for each of the smaller side, to find eigenvalues
EXPLAINED, MOST_EXPLAINED = 3, 2_000_000  # unusual rows with reasons, and numbers of a table looked at again
PASSING = 1e-7  # of a number, to draw it again
ROOM = 105  # mm: text of a figure is readable on a phone and in a column of a wide page
VISIBLE = 1e-3  # error bound, relative to the largest eigenvalue, that a figure shows


@dataclass(frozen=True)
class Code:
    """Lines of code, or other preformatted text below a title."""

    lines: str
    language: str = ""
    more: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure by its name in the registry, drawn when it is shown."""

    name: str
    draw: Callable[[], Any]

    def drawn(self, room: float = ROOM, kind: str = "svg") -> Any:
        """Return the figure with its heading and sentences, by default as in a report for a browser."""
        return function_of("style", "drawn")(self.draw, self.name, room, kind)


Part = str | Grid | Code | Drawing  # text is a line of Markdown


@dataclass(frozen=True)
class Explanation:
    """All that a report says of a model; its attributes are in the order of reading.

    Attributes
    ----------
    findings : str
        What the data show.
    first : tuple of Section
        Of the first page, which fits a sheet: one figure, how groups differ, why rows are unusual, whether to
        trust it, and what was done.
    sections : tuple of Section
        Of the appendix.
    """

    title: str
    findings: str
    trust: Trust
    first: tuple[Section, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True, eq=False)
class Survey:
    """What is shown of the rows of a table.

    Attributes
    ----------
    scores : ndarray
        The first eight of all rows, or of those in ``shown``.
    shown : list of int or None
    statistics : RowStatistics or None
        T2 and SPE with limits, alarms and contributors; None for a model of rank 0.
    """

    scores: Any
    shown: list[int] | None = None
    statistics: RowStatistics | None = None


def explanation(
    fitted: facts.Fitted, used: Mapping[str, str] | None = None, known: Survey | None = None
) -> Explanation:
    """Explain a fitted model.

    Parameters
    ----------
    fitted : Fitted
    used : mapping of str to str, optional
        The versions that computed it, by default the installed ones.
    known : Survey, optional
        Scores that are known. Then nothing else is computed from the data: no rule for the number of
        components, no unusual rows, no metadata.
    """
    return _Explained(fitted, used or facts.versions(), known).whole()


def _sections(made: Mapping[str, Callable[[], Iterable[Part]]]) -> tuple[Section, ...]:
    """Return the sections that are not empty."""
    return tuple(Section(title, contents) for title, make in made.items() if (contents := (*make(),)))


class _Explained:
    """The sections, and the results that several of them share."""

    def __init__(self, fitted: facts.Fitted, used: Mapping[str, str], known: Survey | None) -> None:
        self.fitted, self.table, self.used, self.quick = fitted, fitted.table, used, known is not None
        self.given = mapping_of(fitted.model)
        self.model: Any = decomposition_of(self.given)
        self.kind = self.given.model_kind
        self.pictures = getattr(self.model, "picture_shape_", None) is not None
        self.k = int(self.model.n_components_)
        self.survey = known
        self.choices: Sequence[ComponentChoice] = ()
        if not self.quick:
            if self.table is not None and self.k and self.kind.gives_scores:
                limit = memory_limit_bytes(getattr(self.model, "memory_limit", None))
                self.survey = survey(self.model, self.table, limit, fitted.model)
            self.choices = rule_choices(self.model, self.table)
        seen = self.survey
        statistics = None if seen is None else seen.statistics
        # Rows of another table may be as many as those of the fit.
        self.others = statistics is not None and statistics.rows != "fit"
        self.diagnosis = fitted.diagnosis
        if self.diagnosis is None:
            self.diagnosis = diagnosis_of(self.given, None if self.others else self.table)
        scores = None if seen is None else seen.scores
        self.answer = fitted.answer or headline(self.model, self.table, scores, self.diagnosis)
        self.figure = self._first_figure()

    def whole(self) -> Explanation:
        trust = trust_of(self.given, self.diagnosis)
        first = {
            "": self._shown_first,
            "How the groups differ": self.groups,
            "Why rows are unusual": self.reasons,
            "Can I trust this?": lambda: (f"**{trust.answer}**", "", *sentences.as_items(trust.reasons)),
            "What was done": lambda: sentences.done_lines(self.model, self.table),
        }
        if trust.level == "red":  # what misleads comes before what it shows
            first = {"Can I trust this?": first.pop("Can I trust this?")} | first
        sections = {
            "Scores": self.rows,
            "Components as pictures" if self.pictures else "Loadings": self.columns,
            "Metadata": self.metadata,
            "How many components": self.components,
            "Unusual rows": self.unusual,
            "Quality of the data": self.data,
            "How exact it is": self.exactness,
            "How it was computed": self.computed,
            "For a methods section": self.methods,
            "To repeat it": self.repeat,
        }
        what = "Eigenfaces" if self.kind.faces else facts.method_name(self.model)
        return Explanation(
            title=what + sentences.of_what(self.given, self.table, others=self.others),
            findings=" ".join(self.answer.sentences),
            trust=trust,
            first=_sections(first),
            sections=_sections(sections),
        )

    def _shown_first(self) -> Iterable[Part]:
        """Yield the figure of the first page, which rows set its limits, and what its columns are."""
        yield from filter(None, [self.figure])
        if isinstance(event := self.answer.evidence, Departure):
            last = shown(event.reference)
            yield f"Components and limits of this chart are those of the rows until `{last}`."
        found, texts = " ".join(self.answer.sentences), {} if self.table is None else self.table.descriptions
        if named := [name for name in texts if sentences.quoted(name) in found]:
            yield from ("", *(f"- {sentences.literal(line)}" for line in self.table.described(named)))

    def _first_figure(self) -> Drawing | None:
        """Return the figure of the first page, which the appendix does not repeat."""
        name, event = self.answer.figure, self.answer.evidence
        if isinstance(event, Departure):
            return Drawing(name, lambda: figures.control_chart(event.watch, self.table))
        if name == "scores" and self.survey is not None:
            return self._scores(self.answer.pair)
        if name != "scree" and self.k and self.kind.linear and self.model.n_features_in_ > 1:
            return self._components()
        return Drawing("scree", lambda: figures.scree(self.model, self.choices or None)) if self.k else None

    def _scores(self, pair: tuple[int, int]) -> Drawing:
        assert self.survey is not None
        table, shown, options = self.table, self.survey.shown, {"mapped": self.survey.scores}
        table = table if shown is None else replace(table, **table.labels_at(shown))
        options |= {"components": pair} if pair != (1, 2) else {}
        return Drawing("scores", lambda: figures.scores(self.model, table, **options))

    def _components(self) -> Drawing:
        if self.pictures:
            return Drawing("components", lambda: figures.components(self.given))
        return Drawing("loadings", lambda: figures.loadings(self.model))

    def _others(self, *drawn: Drawing) -> Iterable[Drawing]:
        """Return figures without the one of the first page."""
        return (drawing for drawing in drawn if self.figure is None or drawing.name != self.figure.name)

    def groups(self) -> Iterable[Part]:
        """Yield the means of the groups in the columns where they differ most."""
        table = self.table
        if table is None or table.labels is None or not self._is_small() or facts.imputed_share(self.model):
            return
        texts, X = label_texts(as_array(table.labels)), as_float64(dense(table.values))
        kinds = in_order({*texts.tolist()} - {""}, table.levels.get(table.label_name or "", ()))
        found = associated(texts, X) if len(kinds) <= MOST_GROUPS else ""
        if isinstance(found, str):
            return
        names, p = feature_names_of(self.model), np.where(np.isfinite(found.p), found.p, 1.0)
        differ = stats.false_discovery_control(p) < LEVEL
        groups = f"the groups of {sentences.quoted(table.label_name)}" if table.label_name else "the groups"
        if not differ.any():
            yield f"The means of {groups} differ in no column by more than chance."
            return
        order = [j for j in np.argsort(-found.r2, kind="stable") if differ[j]][:FEW]
        means = np.stack([X[texts == kind].mean(axis=0) for kind in kinds], axis=1)
        rows = [(names[j], *map(number, means[j]), f"{100 * found.r2[j]:.0f} %") for j in order]
        many = f"{differ.sum():,} of {counted(len(names), 'column')}"
        differing = f"The means of {groups} differ by more than chance in {many}"
        yield f"{differing}. The largest differences, with means of the values as analysed:"
        heads = ("column", *(shortened(kind, facts.NAME) for kind in kinds), "variance between groups")
        yield self._of_columns(heads, rows)

    def _of_columns(self, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
        """Return a table with a row of numbers for each column, and what the file says of these."""
        kinds, texts = "r" + "n" * (len(heads) - 1), {} if self.table is None else self.table.descriptions
        if any(row[0] in texts for row in rows):
            heads, kinds = (*heads, "description"), kinds + "t"
            rows = [(*row, shortened(texts.get(row[0], ""))) for row in rows]
        return Grid(heads, rows, kinds=kinds)

    def reasons(self) -> Iterable[Part]:
        """Yield why the most unusual rows of a small table are so."""
        result = None if self.survey is None or self.quick else self.survey.statistics
        if result is None or not self._is_small():
            return
        from gramian.answers.explanation import unusual_rows

        explained = []
        with suppress(UnavailableError):  # a kernel without derivatives
            explained = unusual_rows(monitor_of(self.fitted.model), self.table, result, EXPLAINED)
        why = (" ".join([reason.sentence, *(f"{cause}." for cause in reason.causes)]) for reason in explained)
        yield from (f"- {sentences.literal(reason)}" for reason in why)
        if explained and self.table.row_names is None:
            yield from ("", "Rows are counted from 0.")

    def _is_small(self) -> bool:
        """Return whether all rows of a table of numbers may be looked at again."""
        table = self.table
        return bool(table.in_memory and table.values.size <= MOST_EXPLAINED and not self.pictures)

    def rows(self) -> Iterable[Part]:
        model, data, seen = self.model, self.table, self.survey
        if self.kind.faces:
            return
        if data is None:
            yield "Scores and unusual rows need the data: gramian report MODEL DATA."
        elif self.kind.whitens and self.k > 1 and not self.pictures:
            yield Drawing("whitening", lambda: figures.whitening(model, data))
        elif seen is not None:
            n = data.values.shape[0]
            if n != model.n_samples_:
                which = "This is" if n == 1 else "These are"
                yield f"{which} {counted(n, 'row')}. The model was fitted on {model.n_samples_:,}."
            elif self.others:
                yield "These are not the rows of the fit."
            table = data if seen.shown is None else replace(data, **data.labels_at(seen.shown))
            shown = (self.answer.figure, self.answer.pair) == ("scores", (1, 2))
            if not shown:
                yield self._scores((1, 2))
            if self.kind.linear and not self.pictures and model.n_features_in_ > 1 and self.k > 1:
                yield Drawing("biplot", lambda: figures.biplot(model, table, mapped=seen.scores))
            if data.picture_shape is not None and data.in_memory:
                yield Drawing("reconstructions", lambda: figures.reconstructions(model, data))

    def columns(self) -> Iterable[Part]:
        model, names = self.model, feature_names_of(self.model)
        if not model.model_kind.linear or not self.k:
            return
        drawn = [self._components()] if len(names) > 1 else []
        if self.pictures:
            yield from self._others(*drawn)
            return
        if drawn and self.k > 1 and not self.kind.whitens and model.center:
            drawn.append(Drawing("correlation-circle", lambda: figures.correlation_circle(model)))
        yield from self._others(*drawn)
        loadings = as_float64(model.components_[: min(LOADED, self.k, max(1, model.rank_))]).T
        top = np.argsort(-np.abs(loadings).max(axis=1).round(6), kind="stable")[:TOP]
        rows = [(names[j], *(f"{loading:+z.3f}" for loading in loadings[j])) for j in top]
        subset = "" if len(rows) == len(names) else f" of the {len(rows)} columns with the largest"
        yield f"Loadings (entries of unit vectors){subset}:"
        yield self._of_columns(("column", *component_names(loadings.shape[1])), rows)

    def metadata(self) -> Iterable[Part]:
        if self.quick or self.table is None or not self.kind.gives_scores or not labels_of(self.table):
            return
        description = describe(self.given, self.table, top=0)
        if description.variables and self.k:
            heads, *rows = description.lines()
            yield Drawing("metadata", lambda: figures.metadata(description))
            yield Grid(heads, rows, kinds="r" + "n" * (len(heads) - 2) + "t")
        yield from map(sentences.literal, description.sentences())

    def components(self) -> Iterable[Part]:
        model, k = self.model, self.k
        if not k:
            yield "The model has no components."
            return
        heads = ("", "eigenvalue", "standard deviation", "explained variance ratio", "cumulative")
        rows = facts.component_rows(model, MOST)
        yield from self._others(Drawing("scree", lambda: figures.scree(model, self.choices or None)))
        yield Grid(heads, rows[:FIRST], kinds="rnnnn")
        if k > FIRST:
            more = f"Components {FIRST + 1} to {min(k, MOST)} of {k:,}"
            yield Grid(heads, rows[FIRST:], kinds="rnnnn", more=more, file="eigenvalues")
        if self.choices:
            advice = recommended(self.choices)
            more = " The rules below answer other questions." if advice else ""
            yield f"This model keeps {counted(k, 'component')}. {advice}{more}"
            names = {rule: f"{name.partition(' (')[0]} ({rule})" for rule, name in sentences.METHODS.items()}
            choices = ((names.get(c.rule, c.rule), c) for c in self.choices)
            answers = [(name, c.answer, c.sentence, RULES[c.rule].trust) for name, c in choices]
            yield Grid(("rule", "components", "reason", "when to trust it"), answers, kinds="rntt")

    def unusual(self) -> Iterable[Part]:
        """Yield the rows that are largest relative to their limits, and those that contribute most."""
        if self.quick or self.survey is None:
            return
        result = self.survey.statistics
        if result is None:
            yield "The rows of the fit do not vary, so no row can be compared with them."
        else:
            names = [name for name in BOTH if name in result.columns]
            rows = []
            for i in result.worst(UNUSUAL).tolist():
                causes = ", ".join(filter(None, (result[f"contributor {j}"][i] for j in (1, 2, 3))))
                numbers = (number(result[name][i]) for name in names)
                rows.append((str(result["row"][i]), *numbers, result["alarm"][i], causes))
            title = "row (from 0)" if self.table.row_names is None else "name"
            heads = (title, *names, "alarm", "largest contributions")
            about = [result.summary, *map(str, result.frozen), *result.limits.sentences]
            yield sentences.literal(" ".join(about))
            kinds = "r" + "n" * len(names) + "tt"
            yield Grid(heads, rows, kinds=kinds, caption="Largest T2 or SPE, relative to its limit")

    def data(self) -> Iterable[Part]:
        model = self.model
        if self.table is not None:
            yield from sentences.data_lines(self.table)
            yield from sentences.as_items(f"Option: {option}" for option in self.table.origin.asked)
        else:
            rows = counted(model.n_samples_, "row")
            yield f"- Fitted on {rows} x {facts.model_size(model)}; the model file does not contain the data"
        if getattr(model, "column_means_", None) is not None:
            yield "- Missing values are filled with the column means of the fit"
        constant = np.asarray(getattr(model, "constant_features_", ()), dtype=int)
        if constant.size:
            names = feature_names_of(model)
            which = "" if self.pictures else f": {sentences.literal(listed(names[j] for j in constant))}"
            yield f"- Constant: {counted(constant.size, 'column')}, which no component uses{which}"
        yield from sentences.as_items(getattr(self.given, "notes_", ()))

    def exactness(self) -> Iterable[Part]:
        lines, certificate = sentences.exactness_lines(self.model), self.model.certificate_
        if self.k and (certificate.upper - certificate.values > VISIBLE * certificate.values[:1]).any():
            yield Drawing("eigenvalues", lambda: figures.eigenvalues(self.model))
        yield from lines if self.k else ()

    def computed(self) -> Iterable[Part]:
        yield from sentences.computed_lines(self.model, self.fitted.seconds)
        attempts = getattr(self.model, "attempts_", ())
        ran = "\n".join(["", "Attempts:", *(f"  {a}" for a in attempts)]) if attempts else ""
        yield Code(f"{self.model.plan_}{ran}", more="Full plan")

    def methods(self) -> Iterable[Part]:
        unusual = self.survey is not None and not self.quick
        further = ["faces"] * self.kind.faces + ["unusual"] * unusual
        return sentences.methods_lines(self.model, self.table, self.used, further)

    def repeat(self) -> Iterable[Part]:
        if self.fitted.command:
            yield "In the shell:"
            yield Code(shlex.join(self.fitted.command), "sh")
        if "-" in self.fitted.command:
            yield "The data came from standard input. Provide the same bytes again."
        yield "In Python:"
        yield Code(sentences.python_calls(self.given, None if self.others else self.fitted.reading), "python")
        yield from ("With:", "", *(f"- {package} {number}" for package, number in self.used.items()))


# ---------------------------------------------------------------- results that sections share


def survey(model: Any, table: Table, limit: int, monitor: Any = None) -> Survey:
    """Map all rows of a table, in pieces if it is in a file.

    Parameters
    ----------
    model : fitted PCA or KernelPCA
    table : Table
    limit : int
        Bytes of working memory.
    monitor : Monitor, optional
        Whose limits are used; by default those that follow from the model, by theory.
    """
    n, statistics = table.values.shape[0], None
    if can_be_monitored(model):
        watched = model if monitor is None else monitor
        with ignoring(DiagnosticWarning):  # no events are shown, for which the order of rows matters
            statistics = monitor_of(watched, table).statistics(table, rows="auto")
    kept = np.array(evenly(n, MOST_DRAWN))
    drawn = []
    for chunk, piece in pieces_of(table, limit):
        scores = np.asarray(model.transform(piece)).reshape(chunk.stop - chunk.start, -1)
        first, last = np.searchsorted(kept, [chunk.start, chunk.stop])
        drawn.append(scores[kept[first:last] - chunk.start, :MOST_SCORES])
    return Survey(np.concatenate(drawn), None if n <= MOST_DRAWN else kept.tolist(), statistics)


def rule_choices(model: Any, table: Table | None) -> Sequence[ComponentChoice]:
    """Apply the rules that are fast enough: all to a small table in memory, else those of the spectrum.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, or another one, which has no rules
    table : Table or None
        The data of the fit, which some rules need.
    """
    if not model.model_kind.gives_scores or not model.n_components_:
        return ()
    here = None if table is None or not table.in_memory or table.values.shape[0] < 2 else table
    if model.model_kind.kernel:
        fits = float(model.plan_.seconds) * (REPEATS + 1)
        rules = [] if here is None else ["fraction", *["parallel"] * (fits <= PATIENCE)]
    elif here is None:
        rules = [name for name, rule in RULES.items() if not rule.draws]
    else:
        n, d = here.values.shape[0], math.prod(here.values.shape[1:])
        once = n * d * (SECONDS * min(n, d) + PASSING)
        rules = [
            name for name, rule in RULES.items() if once * (REPEATS + 1 if rule.draws else 1) <= PATIENCE
        ]
    return tuple(choose_components(model, here, rules=rules).values()) if rules else ()
