"""Sentences about a fitted model and its data: for a prompt, a summary, a report and a paper."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from gramian.core.checks import counted, duration, listed, percent
from gramian.report import facts
from gramian.report.tables import feature_names
from gramian.statistics.components import shares_of
from gramian.tables.names import base_name
from gramian.tables.table import Table

PACKAGES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}
LONGEST_PARAMETER = 200  # characters
NO_HASH = "SHA-256: not computed, because the data were not read sequentially"
METHODS = {
    "parallel": "parallel analysis with permuted columns (Horn, 1965)",
    "sign-flip": "signflip parallel analysis (Hong, Sheng and Dobriban, 2020)",
    "gavish-donoho": "the optimal hard threshold for singular values (Gavish and Donoho, 2014)",
    "mle": "the model evidence of Minka (2000)",
    "cv": "bi-cross-validation (Owen and Perry, 2009)",
}

# Works in the text, and in the list of references.
CITATIONS = tomllib.loads(files("gramian.report").joinpath("references.toml").read_text(encoding="utf-8"))


def of_what(model: Any, table: Table | None, *, others: bool = False) -> str:
    """Return the end of a title: what the model was fitted on, and what other rows it was applied to."""
    fitted = getattr(model, "reading_", {}).get("source", "")
    name = fitted if table is None else base_name(table.source)
    equal = table is None or (table.values.shape[0] == model.n_samples_ and fitted in ("", name))
    same = equal and not others
    source = f" of {fitted or name}" if fitted or (same and name) else ""
    if same or table is None:
        return source
    rows = f"{counted(table.values.shape[0], 'row')} of " if fitted == name else ""
    return f"{source}, applied to {rows}{name}"


def used_lines(model: Any, table: Table) -> list[str]:
    """Return the columns that were used, what the user chose while reading, and constant columns."""
    names = [] if table.picture_shape is not None else feature_names(table)
    lines = [f"Columns: {listed(names)}"] if names else []
    lines += [f"Read: {'; '.join(read)}"] if (read := _read(table)) else []
    constant = [names[index] for index in getattr(model, "constant_features_", ()) if names]
    if constant:
        lines.append(f"Constant: {listed(constant)}; without variance, so not scaled")
    return lines


def done_lines(model: Any, table: Table | None) -> list[str]:
    """Return what was done, as a Markdown list of three: data, treatment, and components."""
    source = getattr(model, "reading_", {}).get("source", "") if table is None else table.source
    data = [f"Data: {quoted(source) if source else counted(model.n_samples_, 'row')}"]
    data += [] if table is None else map(literal, _read(table))
    lines = ("; ".join(data), f"Treatment: {' '.join(_treatment(model))}", facts.in_brief(model))
    return [f"- {line}" for line in lines]


def _read(table: Table) -> list[str]:
    """Return what was asked for while reading, and what was done about missing values."""
    return [*table.origin.asked, *filter(None, [table.missing.note])]


def as_items(notes: Iterable[str]) -> list[str]:
    """Return notes, in which a backtick is a letter, as items of a Markdown list."""
    return [f"- {literal(note[:1].upper() + note[1:])}" for note in notes]


def literal(text: str) -> str:
    """Return text for Markdown in which a backtick is a letter."""
    return text.replace("`", "\\`")


def quoted(text: str) -> str:
    """Return text as code in Markdown."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def data_lines(table: Table) -> list[str]:
    """Return source, size and notes of the data, as a Markdown list."""
    lines = [f"- Source: {quoted(table.source)}"]
    size = facts.size_text(int(np.prod(table.values.shape[1:])), table.picture_shape)
    origin = table.origin
    covered = f" of {origin.hashed}" if origin.hashed else ""
    lines.append(f"- SHA-256{covered}: `{origin.sha256}`" if origin.sha256 else f"- {NO_HASH}")
    lines.append(f"- Used: {counted(table.values.shape[0], 'row')} x {size}, stored as {table.values.dtype}")
    if isinstance(rows := table.row_numbers, range):
        step = f", every {rows.step}th" if rows.step != 1 else ""
        lines.append(f"- Rows {rows[0]} to {rows[-1]} of the source, counted from 0{step}")
    if table.labels is not None:
        lines.append(f"- Labels: {quoted(str(table.label_name))}")
    return lines + as_items(table.notes)


def computed_lines(model: Any, seconds: float | None = None) -> list[str]:
    """Return parameters, kernel, route and the number of components, as a Markdown list.

    ``seconds`` is the time of the fit, by default that of its plan.
    """
    parameters = [f"{name}={value!r}" for name, value in model.get_params(deep=False).items()]
    lines = [f"- {type(model).__name__}({', '.join(parameters)})"]
    if facts.kernel_text(model):
        lines.append(f"- Kernel with all parameters: {quoted(facts.kernel_text(model))}")
        if "'median'" in repr(model.kernel) + repr(model.gamma):
            lines.append("- Median widths use the distances between at most 1000 evenly spaced rows")
    if facts.validity_text(model):
        # Each step of the proof is a nested list.
        proof = facts.validity_text(model).splitlines()
        chain = [(len(line) - len(line.lstrip()), line.lstrip()) for line in proof]
        lines += [f"{' ' * 2 * depth}- {text}" for depth, text in chain]
    plan = model.plan_
    lines.append(f"- Solver: {plan.solver} on the {plan.matrix}. {plan.reason}")
    lines += [f"    {number}. {step.name}: {step.detail}" for number, step in enumerate(plan.steps, 1)]
    note, choice = model.spectrum_.note, getattr(model, "component_choice_", None)
    lines += [f"- Note: {note[:1].upper()}{note[1:]}"] if note else []
    lines += [f"- Number of components, by {choice.rule}: {choice.sentence}"] if choice is not None else []
    if model.rank_ < model.n_components_:
        rank = f"- The numerical rank is {model.rank_}"
        lines.append(f"{rank}: further components have variance 0 and scores 0")
    seconds = plan.took if seconds is None else seconds
    return lines if seconds is None else [*lines, f"- Time: {duration(seconds)}"]


def exactness_lines(model: Any) -> list[str]:
    """Return the certificate as a sentence and a Markdown list of reasons."""
    first, *others = str(model.certificate_).splitlines()
    repair = vars(model).get("repair_")
    changed = [] if repair is None else [f"- Repair: {repair}"]
    return [first, "", *(f"- {sentence}" for sentence in others), *changed]


def methods_paragraph(model: Any, table: Table | None = None, used: Mapping[str, str] | None = None) -> str:
    """Return the paragraph of a paper about this fit, and with its table about how the data were read.

    ``used`` are the versions that computed it, by default the installed ones.
    """
    gramian, *others = [f"{PACKAGES.get(name, name)} {n}" for name, n in (used or facts.versions()).items()]
    kernel, method = facts.kernel_text(model), vars(model).get("method")
    name = "Kernel principal component analysis" if kernel else "Principal component analysis"
    name = name if method is None else f"{method.upper()} whitening"
    cited = "; ".join(CITATIONS[key]["short"] for key in cited_works(model))
    using = f" with the kernel {kernel}" if kernel else ""
    plan, samples = model.plan_, counted(model.n_samples_, "sample")
    sentences = [
        f"{name} ({cited}){using} of {samples} with {facts.model_size(model)} was computed with "
        f"{gramian} ({', '.join(others)}).",
        *_reading(table),
        *_treatment(model),
        *_divisor(model),
        *_selection(model),
        f'Eigenvalues and eigenvectors were computed by the solver "{plan.solver}" from the {plan.matrix}.',
        *_bound(model),
    ]
    return " ".join(sentences)


def methods_lines(
    model: Any, table: Table | None = None, used: Mapping[str, str] | None = None, further: Sequence[str] = ()
) -> list[str]:
    """Return the methods paragraph and a Markdown list of references, also to further works."""
    choice = getattr(model, "component_choice_", None)
    rule = [f"- Rule: {choice.sentence}"] if choice is not None else []
    works = [f"- {CITATIONS[key]['full']}" for key in (*cited_works(model), *further)]
    return [methods_paragraph(model, table, used), "", *works, *rule]


def cited_works(model: Any) -> list[str]:
    """Return the keys of ``CITATIONS`` for a model."""
    method = "kernel" if facts.kernel_text(model) else "whitening" if model.model_kind.whitens else "pca"
    solver = getattr(model, "solver", "auto")
    return [method, solver] if solver in CITATIONS else [method]


def _reading(table: Table | None) -> list[str]:
    """Return a sentence about every change of the data while they were read."""
    if table is None:
        return []
    changes = [*table.origin.asked, *table.notes]
    if table.values.dtype.kind in "iu":
        changes.append(f"values stored as {table.values.dtype} became floating-point numbers")
    return [f"The data were read as follows: {'; '.join(changes)}."] if changes else []


def _treatment(model: Any) -> list[str]:
    if model.model_kind.kernel:
        before = "Columns were centred and scaled to unit variance before the kernel was computed."
        centred = f"The data were {'' if model.center else 'not '}centred in feature space."
        return [before, centred] if getattr(model, "scale", None) else [centred]
    scales = {
        "unit": "scaled to unit variance",
        "pareto": "divided by the square root of their standard deviations",
        "genotype": "divided by sqrt(2 p (1 - p)) for allele frequencies p",
        "given": "each divided by a given number",
    }
    if model.model_kind.whitens:
        by, rule = model.regularization_, model.regularization
        added = [] if by is None else [f"The covariance matrix was regularised by {rule} ({by:.4g})."]
        return ["The data were centred.", *added]
    rule = model.scale if model.scale is None or isinstance(model.scale, str) else "given"
    scaled = f" and {scales[rule]}" if rule in scales else ""
    whitened = ["Scores were scaled to unit variance."] if model.whiten else []
    return [f"Columns were {'' if model.center else 'not '}centred{scaled}.", *whitened]


def _divisor(model: Any) -> list[str]:
    if model.model_kind.kernel:
        return []
    rows = "the sum of the weights" if vars(model).get("_unequal", False) else "n"
    return [f"Variances were computed with divisor {rows if model.ddof == 0 else f'{rows} - {model.ddof}'}."]


def _selection(model: Any) -> list[str]:
    k, ratios = model.n_components_, shares_of(model)
    what = ("variance" if getattr(model, "center", True) else "second moments") + facts.where_text(model)
    number = f"{counted(k, 'component was', 'components were')} retained"
    choice = getattr(model, "component_choice_", None)
    if choice is not None and choice.rule in METHODS:
        by = METHODS[choice.rule]
        if choice.rule == "cv" and model.model_kind.kernel:
            by = "the error of pre-images at hidden entries of held-out rows"
        number += f", chosen by {by}"
    elif isinstance(model.n_components, float):
        return [f"{number}, the fewest that explained {100 * model.n_components:g} % of the {what}."]
    if ratios is None:
        return [f"{number}."]
    subject = "it" if k == 1 else "they"
    return [f"{number}; {subject} explained {percent(float(sum(ratios)))} of the {what}."]


def _bound(model: Any) -> list[str]:
    certificate = model.certificate_
    if not len(certificate.values) or not certificate.values[0] > 0:
        return []
    radius = float(certificate.radii.max()) / float(certificate.values[0])
    near = certificate.approximation
    exact = "exact matrix" if near is None else f"approximation by {near.by}"
    return [
        f"Each computed eigenvalue was certified to lie within {radius:.1e} of an eigenvalue of the {exact}, "
        "relative to the largest."
    ]


# ---------------------------------------------------------------- code


def python_calls(model: Any, reading: Mapping[str, Any] | None) -> str:
    """Return Python code that fits the same model."""
    takes = inspect.signature(type(model)).parameters
    parameters = model.get_params(deep=False).items()
    changed = [(key, value) for key, value in parameters if repr(value) != repr(takes[key].default)]
    arguments = ", ".join(f"{key}={_literal(key, value)}" for key, value in changed)
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
    text = repr(repr(value)) if key == "kernel" and not isinstance(value, str | None) else repr(value)
    long = f"...  # {len(text):,} characters: see {key} of the saved model"
    return text if len(text) <= LONGEST_PARAMETER else long
