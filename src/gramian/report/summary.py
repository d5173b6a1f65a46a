"""The summary of a fitted model, as Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.analysis.components import shares_of
from gramian.analysis.sampling import sampling_note
from gramian.analysis.units import unit_trap
from gramian.checks import counted, duration, listed, percent, shown_lines
from gramian.report.facts import (
    component_rows,
    imputed_share,
    kernel_text,
    method_name,
    size_text,
    validity_text,
    versions,
)
from gramian.report.tables import feature_names
from gramian.rows.names import base_name
from gramian.rows.table import Table

ROWS_SHOWN = 10
WAYS_OUT = 'scale="unit" in Python, --scale unit in the shell'
PACKAGES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}
NO_HASH = "SHA-256: not computed, because the data were not read sequentially"
METHODS = {
    "parallel": "parallel analysis with permuted columns (Horn, 1965)",
    "sign-flip": "signflip parallel analysis (Hong, Sheng and Dobriban, 2020)",
    "gavish-donoho": "the optimal hard threshold for singular values (Gavish and Donoho, 2014)",
    "mle": "the model evidence of Minka (2000)",
    "cv": "bi-cross-validation (Owen and Perry, 2009)",
    "max_rmse": "an upper limit on the reconstruction error",
}

# In the text, and in the list of references.
CITATIONS = {
    "pca": (
        "Jolliffe and Cadima, 2016",
        "Jolliffe, I. T. and Cadima, J. (2016). Principal component analysis: a review and recent "
        "developments. Philosophical Transactions of the Royal Society A 374, 20150202.",
    ),
    "kernel": (
        "Schölkopf et al., 1998",
        "Schölkopf, B., Smola, A. and Müller, K.-R. (1998). Nonlinear component analysis as a kernel "
        "eigenvalue problem. Neural Computation 10, 1299-1319.",
    ),
    "whitening": (
        "Kessy et al., 2018",
        "Kessy, A., Lewin, A. and Strimmer, K. (2018). Optimal whitening and decorrelation. "
        "The American Statistician 72, 309-314.",
    ),
    "faces": (
        "Turk and Pentland, 1991",
        "Turk, M. and Pentland, A. (1991). Eigenfaces for recognition. "
        "Journal of Cognitive Neuroscience 3, 71-86.",
    ),
    "nystroem": (
        "Williams and Seeger, 2001",
        "Williams, C. K. I. and Seeger, M. (2001). Using the Nyström method to speed up kernel "
        "machines. Advances in Neural Information Processing Systems 13.",
    ),
    "random-features": (
        "Rahimi and Recht, 2007",
        "Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines. "
        "Advances in Neural Information Processing Systems 20.",
    ),
    "unusual": (
        "Jackson and Mudholkar, 1979",
        "Jackson, J. E. and Mudholkar, G. S. (1979). Control procedures for residuals associated with "
        "principal component analysis. Technometrics 21, 341-349.",
    ),
}


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model with all inputs of its report.

    Attributes
    ----------
    model : fitted PCA or KernelPCA
    table : Table
        The data of the fit.
    scores : ndarray of shape (n_samples, n_components)
        Empty for a table in a file: they are computed while they are written.
    command : tuple of str
        The shell command of the fit.
    seconds : float
        Time of the fit.
    loadings : {"unit", "correlation"}
    format : {"csv", "parquet"}
    reading : mapping of str to object, or None
        The arguments of :func:`gramian.scan`; None for data that are not from a file.
    """

    model: Any
    table: Any
    scores: npt.NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)))
    command: tuple[str, ...] = ()
    seconds: float | None = None
    loadings: str = "unit"
    format: str = "csv"
    reading: Mapping[str, Any] | None = None


def of_what(model: Any, table: Table | None) -> str:
    """Return the end of a title: what the model was fitted on, and what else it was applied to."""
    fitted = getattr(model, "reading_", {}).get("source", "")
    name = fitted if table is None else base_name(table.source)
    same = table is None or (table.values.shape[0] == model.n_samples_ and fitted in ("", name))
    of = f" of {fitted or name}" if fitted or (same and name) else ""
    if same or table is None:
        return of
    rows = f"{counted(table.values.shape[0], 'row')} of " if fitted == name else ""
    return f"{of}, applied to {rows}{name}"


def headline(model: Any) -> str:
    """Return the result in a sentence."""
    k = model.n_components_
    n, size = model.n_samples_, _size(model)
    if share := imputed_share(model):
        size += f" ({percent(share)} of the entries imputed)"
    count = counted(k, "component")
    ratios = shares_of(model)
    if ratios is None:
        return f"{method_name(model)} of {n:,} rows x {size}: {count}."
    where = " in feature space" if model.model_kind.kernel else ""
    centred = getattr(model, "center", True)
    what = "variance" if centred else "energy (second moments: no mean was subtracted)"
    kept = f"{percent(float(sum(ratios)))} of the {what}{where}"
    return f"{method_name(model)} of {n:,} rows x {size}: {count}, {kept}."


def used_lines(model: Any, table: Table) -> list[str]:
    """Return the columns that were used, what the user chose while reading, and constant columns."""
    names = [] if table.picture_shape is not None else feature_names(table)
    lines = [f"Columns: {listed(names)}"] if names else []
    read = [*table.asked, *filter(None, [table.missing_note])]
    lines += [f"Read: {'; '.join(read)}"] if read else []
    constant = [names[place] for place in getattr(model, "constant_features_", ()) if names]
    if constant:
        lines.append(f"Constant: {listed(constant)}; without variance, so not scaled")
    return lines


def _size(model: Any) -> str:
    return size_text(model.n_features_in_, getattr(model, "picture_shape_", None))


def component_lines(model: Any) -> list[str]:
    """Return the first components as the lines of a Markdown table."""
    head = [
        "| | eigenvalue | standard deviation | explained variance ratio | cumulative |",
        "|---|---:|---:|---:|---:|",
    ]
    return head + [f"| {' | '.join(row)} |" for row in component_rows(model, ROWS_SHOWN)]


def summary_page(fitted: Fitted, files: Sequence[str], notes: Sequence[str]) -> str:
    """Return the summary as Markdown, with links to ``files`` in the same folder and ``notes`` about them."""
    model = fitted.model
    lines = [f"# {method_name(model)} of {_code(fitted.table.source)}", ""]
    for said in (headline(model), unit_trap(model, WAYS_OUT), sampling_note(model), model.certificate_.brief):
        lines += [said, ""] if said else []
    lines += component_lines(model)
    if model.n_components_ > ROWS_SHOWN:
        table = next(name for name in files if name.startswith("eigenvalues"))
        lines += ["", f"The other {model.n_components_ - ROWS_SHOWN:,} are in [{table}]({table})."]
    for name, words in (
        ("components.png", "Mean and components as pictures; in a component, middle grey is 0"),
        ("scores.svg", "Scores along the first components"),
        ("biplot.svg", "Scores as points and loadings as arrows"),
        ("loadings.svg", "Loadings of the first components"),
        ("correlation-circle.svg", "Correlations of columns with the first components"),
        ("scree.svg", "Variance of the components"),
    ):
        if name in files:
            lines += ["", f"![{words}]({name})"]
    sections = {
        "Files": _files(fitted, files, notes),
        "Data": data_lines(fitted.table),
        "How it was computed": computed_lines(fitted),
        "What is guaranteed": guaranteed_lines(model),
        "For a methods section": methods_lines(model, fitted.table),
        "To repeat it": _repeat(fitted),
        "Versions": [f"- {name} {number}" for name, number in versions().items()],
    }
    for title, inside in sections.items():
        lines += ["", f"## {title}", "", *inside] if inside else []
    return shown_lines("\n".join(lines)) + "\n"


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def _files(fitted: Fitted, files: Sequence[str], notes: Sequence[str]) -> list[str]:
    kind = "correlations of columns with scores" if fitted.loadings == "correlation" else "unit vectors"
    words = {
        "model": 'the fitted model: `gramian transform`, or in Python `gramian.load("model.gramian")`',
        "scores": "the scores of each row of the data",
        "eigenvalues": "each component: variance, explained variance ratio, residual, error bound",
        "columns": "each column: mean, standard deviation, and for the first 10 components coordinate, "
        "correlation, cos2 and contribution",
        "rows": "each row: distance from the mean, and for the first 10 components coordinate, cos2 and "
        "contribution",
        "loadings": f"the loadings of each column of the data ({kind})",
        "imputed": "the imputed entries: row, column, value, standard error",
        "report": "a report with figures, unusual rows and all component rules, for a browser",
        "mean": "the mean picture",
        "components": "the components as pictures, also as single files in [components/](components/)",
    }
    listed = [name for name in files if not name.endswith(".svg") and "/" not in name]
    lines = [f"- [{name}]({name}): {words[name.partition('.')[0]]}" for name in listed]
    return lines + [f"- {note}" for note in notes]


def data_lines(table: Table) -> list[str]:
    """Return source, size and notes of the data, as a Markdown list."""
    lines = [f"- Source: {_code(table.source)}"]
    size = size_text(int(np.prod(table.values.shape[1:])), table.picture_shape)
    covered = f" of {table.hashed}" if table.hashed else ""
    lines.append(f"- SHA-256{covered}: `{table.sha256}`" if table.sha256 else f"- {NO_HASH}")
    lines.append(f"- Used: {table.values.shape[0]:,} rows x {size}, stored as {table.values.dtype}")
    if isinstance(rows := table.row_numbers, range):
        step = f", every {rows.step}th" if rows.step != 1 else ""
        lines.append(f"- Rows {rows[0]} to {rows[-1]} of the source, counted from 0{step}")
    if table.labels is not None:
        lines.append(f"- Labels: {_code(str(table.label_name))}")
    return lines + [f"- {note[:1].upper()}{note[1:]}" for note in table.notes]


def computed_lines(fitted: Fitted) -> list[str]:
    """Return parameters, kernel, route and the number of components, as a Markdown list."""
    model = fitted.model
    given = [f"{name}={value!r}" for name, value in model.get_params(deep=False).items()]
    lines = [f"- {type(model).__name__}({', '.join(given)})"]
    if kernel_text(model):
        lines.append(f"- Kernel with all parameters: {_code(kernel_text(model))}")
        if "'median'" in repr(model.kernel) + repr(model.gamma):
            lines.append("- Median widths use the distances between at most 5000 evenly spaced rows")
    if validity_text(model):
        # Each step of the proof is a nested list.
        proof = validity_text(model).splitlines()
        chain = [(len(line) - len(line.lstrip()), line.lstrip()) for line in proof]
        lines += [f"{' ' * 2 * depth}- {text}" for depth, text in chain]
    plan = model.plan_
    lines.append(f"- Solver: {plan.solver} on the {plan.matrix}. {plan.reason}")
    lines += [f"    {place}. {step.name}: {step.detail}" for place, step in enumerate(plan.steps, 1)]
    note = model.spectrum_.note
    lines += [f"- Note: {note[:1].upper()}{note[1:]}"] if note else []
    choice = getattr(model, "component_choice_", None)
    lines += [f"- Number of components, by {choice.rule}: {choice.sentence}"] if choice is not None else []
    constant = len(getattr(model, "constant_features_", ()))
    if constant:
        lines.append(f"- {counted(constant, 'column is', 'columns are')} constant")
    if model.rank_ < model.n_components_:
        lines.append(
            f"- The numerical rank is {model.rank_}: further components have variance 0 and scores 0"
        )
    seconds = plan.took if fitted.seconds is None else fitted.seconds
    return lines if seconds is None else [*lines, f"- Time: {duration(seconds)}"]


def guaranteed_lines(model: Any) -> list[str]:
    """Return the certificate as a sentence and a Markdown list of reasons."""
    first, *others = str(model.certificate_).splitlines()
    repair = getattr(model, "repair_", None)
    changed = [] if repair is None else [f"- Repair: {repair}"]
    return [first, "", *(f"- {sentence}" for sentence in others), *changed]


def methods_paragraph(model: Any, table: Table | None = None, used: Mapping[str, str] | None = None) -> str:
    """Return the paragraph of a paper about this fit, and with its table about how the data were read.

    ``used`` are the versions that computed it, by default the installed ones.
    """
    gramian, *others = [f"{PACKAGES.get(name, name)} {n}" for name, n in (used or versions()).items()]
    kernel, method = kernel_text(model), getattr(model, "method", None)
    name = "Kernel principal component analysis" if kernel else "Principal component analysis"
    name = name if method is None else f"{method.upper()} whitening"
    cited = "; ".join(CITATIONS[key][0] for key in cited_works(model))
    using = f" with the kernel {kernel}" if kernel else ""
    plan = model.plan_
    sentences = [
        f"{name} ({cited}){using} of {model.n_samples_:,} samples with {_size(model)} was computed with "
        f"{gramian} ({', '.join(others)}).",
        *_reading(table),
        *_treatment(model),
        *_selection(model),
        f'Eigenvalues and eigenvectors were computed by the solver "{plan.solver}" from the {plan.matrix}.',
        *_bound(model),
    ]
    return " ".join(sentences)


def methods_lines(
    model: Any,
    table: Table | None = None,
    used: Mapping[str, str] | None = None,
    further: Sequence[str] = (),
) -> list[str]:
    """Return the methods paragraph and a Markdown list of references, also to further works."""
    choice = getattr(model, "component_choice_", None)
    rule = [f"- Rule: {choice.sentence}"] if choice is not None else []
    works = [f"- {CITATIONS[key][1]}" for key in (*cited_works(model), *further)]
    return [methods_paragraph(model, table, used), "", *works, *rule]


def cited_works(model: Any) -> list[str]:
    """Return the keys of ``CITATIONS`` for a model."""
    method = "kernel" if kernel_text(model) else "whitening" if model.model_kind.whitens else "pca"
    solver = getattr(model, "solver", "auto")
    return [method, solver] if solver in CITATIONS else [method]


def _reading(table: Table | None) -> list[str]:
    """Return a sentence about every change of the data while they were read."""
    if table is None:
        return []
    changes = [*table.asked, *table.notes]
    if table.values.dtype.kind in "iu":
        changes.append(f"values stored as {table.values.dtype} became floating-point numbers")
    return [f"The data were read as follows: {'; '.join(changes)}."] if changes else []


def _treatment(model: Any) -> list[str]:
    if model.model_kind.kernel:
        return [f"The data were {'' if model.center else 'not '}centred in feature space."]
    scales = {
        "unit": "scaled to unit variance",
        "pareto": "divided by the square root of their standard deviations",
        "genotype": "divided by sqrt(2 p (1 - p)) for allele frequencies p",
        "given": "each divided by a given number",
    }
    weighted = vars(model).get("_unequal", False)
    rows = "the sum of the weights" if weighted else "n"
    divisor = f"Variances were computed with divisor {rows if model.ddof == 0 else f'{rows} - {model.ddof}'}."
    if model.model_kind.whitens:
        by, rule = model.regularization_, model.regularization
        added = [] if by is None else [f"The covariance matrix was regularised by {rule} ({by:.4g})."]
        return ["The data were centred.", divisor, *added]
    rule = model.scale if model.scale is None or isinstance(model.scale, str) else "given"
    scaled = f" and {scales[rule]}" if rule in scales else ""
    whitened = ["Scores were scaled to unit variance."] if model.whiten else []
    return [f"Columns were {'' if model.center else 'not '}centred{scaled}.", divisor, *whitened]


def _selection(model: Any) -> list[str]:
    k, ratios = model.n_components_, shares_of(model)
    in_features = model.model_kind.kernel
    what = "variance" if getattr(model, "center", True) else "second moments"
    what += " in feature space" if in_features else ""
    number = f"{counted(k, 'component was', 'components were')} retained"
    choice = getattr(model, "component_choice_", None)
    if choice is not None and choice.rule in METHODS:
        by = METHODS[choice.rule]
        if choice.rule == "cv" and in_features:
            by = "the error of pre-images at hidden entries of held-out rows"
        number += f", chosen by {by}"
    elif isinstance(model.n_components, float):
        return [f"{number}, the fewest that explained {100 * model.n_components:g} % of the {what}."]
    return [
        f"{number}."
        if ratios is None
        else f"{number}; {'it' if k == 1 else 'they'} explained {percent(float(sum(ratios)))} of the {what}."
    ]


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


def _repeat(fitted: Fitted) -> list[str]:
    if not fitted.command:
        return []
    lines = ["```sh", shlex.join(fitted.command), "```"]
    if "-" in fitted.command:
        lines += [
            "",
            "The data came from standard input. Provide the same bytes again (SHA-256 above).",
        ]
    return lines
