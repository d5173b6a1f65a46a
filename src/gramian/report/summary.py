"""The page that explains a fitted model to the person who opens the folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.analysis.components import shares_of
from gramian.checks import counted, duration, percent, shown_lines
from gramian.report.facts import (
    component_rows,
    kernel_text,
    method_name,
    size_text,
    validity_text,
    versions,
)
from gramian.rows.table import Table

ROWS_SHOWN = 10
PACKAGES = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}
NO_HASH = "SHA-256: none, since the data was not read byte by byte from first to last"
METHODS = {
    "parallel": "parallel analysis with permuted columns (Horn 1965)",
    "sign-flip": "signflip parallel analysis (Hong, Sheng, Dobriban 2020)",
    "gavish-donoho": "the optimal hard threshold for singular values (Gavish and Donoho 2014)",
    "mle": "Minka's evidence (Minka 2000)",
    "cv": "bi-cross-validation (Owen and Perry 2009)",
    "max_rmse": "the largest reconstruction error that was allowed",
}


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model with everything that its report tells.

    Attributes
    ----------
    model : fitted PCA or KernelPCA
    table : Table
        What it was fitted on.
    scores : ndarray of shape (n_samples, n_components)
        Empty where they are not at hand, as of a table in a file: they are found while they are written.
    command : tuple of str
        What repeats it, as arguments.
    seconds : float
        How long fitting took.
    loadings : {"unit", "correlation"}
    format : {"csv", "parquet"}
    reading : mapping of str to object, or None
        What :func:`gramian.scan` is given to read the table; None where it is not from a file.
    """

    model: Any
    table: Any
    scores: npt.NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)))
    command: tuple[str, ...] = ()
    seconds: float | None = None
    loadings: str = "unit"
    format: str = "csv"
    reading: Mapping[str, Any] | None = None


def headline(model: Any) -> str:
    """Return what was found, in a sentence."""
    k = model.n_components_
    n, size = model.n_samples_, _size(model)
    count = counted(k, "component")
    ratios = shares_of(model)
    if ratios is None:
        return f"{method_name(model)} of {n:,} rows x {size}: {count}."
    where = " in feature space" if model.model_kind.kernel else ""
    centred = getattr(model, "center", True)
    what = "variance" if centred else "energy (second moments: no mean was subtracted)"
    kept = f"{percent(float(sum(ratios)))} of the {what}{where}"
    return f"{method_name(model)} of {n:,} rows x {size}: {count}, {kept}."


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
    """Return the page as Markdown; ``files`` are beside it, ``notes`` are remarks about them."""
    model = fitted.model
    holds = "holds" if model.certificate_.ok else "DOES NOT HOLD: see below"
    lines = [f"# {method_name(model)} of {_code(fitted.table.source)}", ""]
    lines += [headline(model), "", f"The certificate {holds}.", "", *component_lines(model)]
    if model.n_components_ > ROWS_SHOWN:
        table = next(name for name in files if name.startswith("eigenvalues"))
        lines += ["", f"The other {model.n_components_ - ROWS_SHOWN:,} are in [{table}]({table})."]
    for name, words in (
        ("components.png", "Mean and components as pictures; in a component middle grey is 0"),
        ("scores.svg", "Scores along the first components"),
        ("scree.svg", "Variance of the components"),
    ):
        if name in files:
            lines += ["", f"![{words}]({name})"]
    sections = {
        "Files": _files(fitted, files, notes),
        "Data": data_lines(fitted.table),
        "How it was computed": computed_lines(fitted),
        "What is guaranteed": guaranteed_lines(model),
        "For a methods section": [methods_paragraph(model, fitted.table)],
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
        "scores": "one row for each row of the data: its coordinates along the components",
        "eigenvalues": "a row for each component: variance, explained variance ratio, residual, radius",
        "loadings": f"one row for each column of the data: the components ({kind})",
        "report": "all of this with figures, unusual rows and what all rules say, one page for a browser",
        "mean": "the mean picture",
        "components": "the components as pictures, one file each in [components/](components/)",
    }
    told = [name for name in files if not name.endswith(".svg") and "/" not in name]
    lines = [f"- [{name}]({name}): {words[name.partition('.')[0]]}" for name in told]
    return lines + [f"- {note}" for note in notes]


def data_lines(table: Table) -> list[str]:
    """Return what was read, as a Markdown list."""
    lines = [f"- Source: {_code(table.source)}"]
    size = size_text(int(np.prod(table.values.shape[1:])), table.picture_shape)
    covered = f" of {table.hashed}" if table.hashed else ""
    lines.append(f"- SHA-256{covered}: `{table.sha256}`" if table.sha256 else f"- {NO_HASH}")
    lines.append(f"- Used: {table.values.shape[0]:,} rows x {size}, stored as {table.values.dtype}")
    if table.row_numbers is not None:
        rows = table.row_numbers
        step = f", every {rows.step}th" if rows.step != 1 else ""
        lines.append(f"- Rows {rows[0]} to {rows[-1]} of the source, counted from 0{step}")
    if table.labels is not None:
        lines.append(f"- Set aside as labels: {_code(str(table.label_name))}")
    return lines + [f"- {note[:1].upper()}{note[1:]}" for note in table.notes]


def computed_lines(fitted: Fitted) -> list[str]:
    """Return parameters, kernel, route and the number of components, as a Markdown list."""
    model = fitted.model
    given = [f"{name}={value!r}" for name, value in model.get_params(deep=False).items()]
    lines = [f"- {type(model).__name__}({', '.join(given)})"]
    if kernel_text(model):
        lines.append(f"- Kernel, with every parameter a number: {_code(kernel_text(model))}")
        if "'median'" in repr(model.kernel) + repr(model.gamma):
            lines.append("- Median widths are those of the distances between at most 5000 evenly spaced rows")
    if validity_text(model):
        # A list inside the list for every step of the chain, four blanks for its two.
        proof = validity_text(model).splitlines()
        chain = [(len(line) - len(line.lstrip()), line.lstrip()) for line in proof]
        lines += [f"{' ' * 2 * depth}- {text}" for depth, text in chain]
    plan = model.plan_
    lines.append(f"- Route: {plan.solver} on the {plan.matrix}. {plan.reason}")
    lines += [f"    {place}. {step.name}: {step.detail}" for place, step in enumerate(plan.steps, 1)]
    note = model.spectrum_.note
    lines += [f"- On the way: {note[:1].upper()}{note[1:]}"] if note else []
    choice = getattr(model, "component_choice_", None)
    lines += [f"- Number of components, by {choice.rule}: {choice.sentence}"] if choice is not None else []
    constant = len(getattr(model, "constant_features_", ()))
    if constant:
        lines.append(f"- {counted(constant, 'column is', 'columns are')} constant")
    if model.rank_ < model.n_components_:
        lines.append(
            f"- The numerical rank is {model.rank_}: the components beyond it have variance 0 and scores 0"
        )
    seconds = plan.took if fitted.seconds is None else fitted.seconds
    return lines if seconds is None else [*lines, f"- It took {duration(seconds)}"]


def guaranteed_lines(model: Any) -> list[str]:
    """Return the certificate in words: a sentence, and a Markdown list of why."""
    first, *others = str(model.certificate_).splitlines()
    repair = getattr(model, "repair_", None)
    changed = [] if repair is None else [f"- Repair: {repair}"]
    return [first, "", *(f"- {sentence}" for sentence in others), *changed]


def methods_paragraph(model: Any, table: Table | None = None, used: Mapping[str, str] | None = None) -> str:
    """Return what a paper says about how this was computed, and with its table about how that was read.

    ``used`` are the versions that computed it, by default those that are installed.
    """
    gramian, *others = [f"{PACKAGES.get(name, name)} {n}" for name, n in (used or versions()).items()]
    kernel = kernel_text(model)
    what = (
        f"Kernel principal component analysis with the kernel {kernel}"
        if kernel
        else f"Whitening ({model.method})"
        if model.model_kind.whitens
        else "Principal component analysis"
    )
    read = "" if table is None else _reading(table)
    plan = model.plan_
    return (
        f"{what} of {model.n_samples_:,} samples with {_size(model)} was computed with "
        f"{gramian} ({', '.join(others)}). {read}{_treatment(model)} {_selection(model)} "
        f"Eigenpairs were found by the {plan.solver} route on the {plan.matrix}.{_bound(model)}"
    )


def _reading(table: Table) -> str:
    """Say everything that changed the data while it was read."""
    changes = [*table.asked, *table.notes]
    if table.values.dtype.kind in "iu":
        changes.append(f"values stored as {table.values.dtype} became floating-point numbers")
    return f"While the data were read, {'; '.join(changes)}. " if changes else ""


def _treatment(model: Any) -> str:
    if model.model_kind.kernel:
        return f"The data were {'' if model.center else 'not '}centred in feature space."
    scales = {
        "unit": "scaled to unit variance",
        "pareto": "divided by the square root of their standard deviations",
        "genotype": "divided by sqrt(2 p (1 - p)) for allele frequencies p",
    }
    divisor = "n" if model.ddof == 0 else f"n - {model.ddof}"
    if model.model_kind.whitens:
        by = model.regularization_
        added = "" if by is None else f", regularised by {model.regularization} ({by:.4g})"
        return f"The data were centred; variances divide by {divisor}{added}."
    scaled = f" and {scales[model.scale]}" if model.scale in scales else ""
    whitened = "; scores were scaled to unit variance" if model.whiten else ""
    centred = f"{'' if model.center else 'not '}centred{scaled}"
    return f"The data were {centred}; variances divide by {divisor}{whitened}."


def _selection(model: Any) -> str:
    k, ratios = model.n_components_, shares_of(model)
    where = " in feature space" if model.model_kind.kernel else ""
    what = ("variance" if getattr(model, "center", True) else "second moments") + where
    kept = f"{counted(k, 'component was', 'components were')} kept"
    choice = getattr(model, "component_choice_", None)
    if choice is not None and choice.rule in METHODS:
        carried = "" if ratios is None else f", carrying {percent(float(sum(ratios)))} of the {what}"
        by = METHODS[choice.rule]
        if choice.rule == "cv" and where:
            by = "how well pre-images tell hidden entries of held-out rows"
        return f"{kept}, as chosen by {by}{carried}."
    if isinstance(model.n_components, float):
        return f"{kept}, the fewest that carry {100 * model.n_components:g} % of the {what}."
    return f"{kept}." if ratios is None else f"{kept}, carrying {percent(float(sum(ratios)))} of the {what}."


def _bound(model: Any) -> str:
    certificate = model.certificate_
    if not len(certificate.values) or not certificate.values[0] > 0:
        return ""
    radius = float(certificate.radii.max()) / float(certificate.values[0])
    near = certificate.approximation
    return (
        f" Each eigenvalue was certified to be within {radius:.1e}, relative to the largest, "
        f"of an eigenvalue of the {'exact matrix' if near is None else f'approximation by {near.by}'}."
    )


def _repeat(fitted: Fitted) -> list[str]:
    if not fitted.command:
        return []
    lines = ["```sh", shlex.join(fitted.command), "```"]
    if "-" in fitted.command:
        lines += ["", "The data came from standard input: give the same bytes again (see the SHA-256 above)."]
    return lines
