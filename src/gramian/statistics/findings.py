"""What a fitted model shows by itself of an answer that misleads: units, and the width of a kernel.

Checks that need the rows, and all notes, are in :mod:`gramian.answers.findings`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gramian.core.arrays import as_float64
from gramian.core.checks import percent, shown
from gramian.core.records import ModelKind
from gramian.errors import DataError, DiagnosticWarning
from gramian.statistics import components

FEWEST = 10  # rows from which scores say something about rows
# kernel-narrow, kernel-wide: the first share in multiples of 1 / n, and at most; the variance of a kernel
NARROW, NARROW_SHARE, WIDE = 5.0, 0.2, 0.03
WIDTHS = ("gamma", "sigma", "length_scale")


@dataclass(frozen=True)
class Finding:
    """Something about a fitted model that its reader should know before its numbers.

    Attributes
    ----------
    code : str
        Its name, such as ``"scale-dominates"``.
    severity : {"serious", "note"}
        "serious" where the answer misleads.
    sentence : str
        What is the case, with the numbers that show it.
    remedy : str
        The one step that mends it.
    evidence : mapping of str to object
        The numbers that decided, as values for JSON.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X = load_wine(as_frame=True).data
    >>> finding = gramian.diagnose(gramian.PCA(2).fit(X), X).findings[0]
    >>> finding.code, finding.severity
    ('scale-dominates', 'serious')
    >>> finding.remedy
    'If columns have different units, use scale="unit".'
    """

    code: str
    severity: Literal["serious", "note"]
    sentence: str
    remedy: str
    evidence: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def facts(self) -> dict[str, Any]:
        """Return the attributes as values for JSON, by their names."""
        return vars(self) | {"evidence": dict(self.evidence)}

    def line(self) -> str:
        """Return severity, sentence, remedy and code in one line."""
        return f"{self.severity.capitalize()}: {shown(f'{self.sentence} {self.remedy}')} ({self.code})"


def model_findings(model: Any) -> tuple[Finding, ...]:
    """Return the serious findings that a fitted PCA or KernelPCA shows without its rows; others have none."""
    kind = components.kind_of(model)
    if kind is ModelKind.PCA:
        return tuple(unit_findings(model))
    return tuple(width_findings(model)) if kind is ModelKind.KERNEL_PCA else ()


def serious_lines(model: Any) -> tuple[str, ...]:
    """Return a line for each of the findings of a model."""
    return tuple(finding.line() for finding in model_findings(model))


def warn_of_findings(model: Any) -> None:
    """Warn of what a model shows that the caller of the caller has fitted, unless that is gramian itself.

    scikit-learn's and joblib's calls are their callers'.
    """
    frame = sys._getframe(2)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("sklearn.", "joblib.")):
        frame = frame.f_back
    if not str(frame.f_globals.get("__name__", "")).startswith("gramian."):
        for finding in model_findings(model):
            DiagnosticWarning(f"{finding.sentence} {finding.remedy}").warn()


# ------------------------------------------------------------------ units


def unit_findings(model: Any) -> Iterator[Finding]:
    """Find columns that are the first component of a PCA because of their unit, by the model alone."""
    if not int(model.rank_) or has_one_unit(model):
        return
    variances, named = components.column_variances(model), components.names_of(model) is not None
    # Most fits end here: names without units, and deviations without a gap, which is above half of them.
    below = 0 if named else (len(variances) - 1) // 2
    gap = components.UNITS_GAP if named else components.RATIO
    if variances.max() < gap**2 * np.partition(variances, below)[below]:
        return
    from gramian.statistics.units import neighbours, unit_difference  # which most fits do not need

    found = unit_difference(components.column_names(model), np.sqrt(variances))
    # Components are the rows of a table whose columns correlate like those of the fit.
    V = as_float64(model.components_) * np.sqrt(as_float64(model.explained_variance_))[:, None]
    if found[0] and not neighbours(np.concatenate([V, -V])):
        yield scale_dominates(*found, "the first component")


def has_one_unit(model: Any) -> bool:
    """Return whether columns of a fitted PCA or KernelPCA are pixels, rows, or scaled to one variance."""
    scale = getattr(model, "scale", None)
    scaled = isinstance(scale, str) and scale != "pareto"
    pictures = getattr(model, "picture_shape_", None) is not None
    return scaled or pictures or not model.center or vars(model).get("kernel_", "") is None


def scale_dominates(clause: str, evidence: Mapping[str, Any], subject: str) -> Finding:
    """Return the finding that columns decide by their unit; the clause is of :func:`unit_difference`."""
    decide = "decides" if len(evidence["columns"]) == 1 else "decide"
    # A name of a column stays as it is.
    capital = clause.startswith(("columns ", "deviations ", "ranges "))
    sentence = f"{clause[0].upper() if capital else clause[0]}{clause[1:]} and {decide} {subject}."
    remedy = 'If columns have different units, use scale="unit".'
    return Finding("scale-dominates", "serious", sentence, remedy, evidence)


# ------------------------------------------------------------------ kernels


def width_findings(model: Any, rows: Any = None, identity: bool = False) -> Iterator[Finding]:
    """Find a kernel in which all rows are equally unlike, or equally alike.

    Parameters
    ----------
    model : fitted KernelPCA
    rows : ndarray of shape (n, d), optional
        As the kernel sees them. The remedy names their median width.
    identity : bool
        Whether rows show that the kernel matrix is near the identity.
    """
    kernel: Any = getattr(model, "kernel_", None)  # a description of a model may have none
    shares, n = components.shares_of(model), int(model.n_samples_)
    width = next((name for name in WIDTHS if getattr(kernel, name, None) is not None), None)
    if width is None or shares is None or not int(model.rank_) or n < FEWEST or not model.center:
        return
    first = float(shares[0])
    variance = float(model.explained_variance_[0]) / first if first > 0 else 0.0
    if not (kernel.facts.stationary and kernel.facts.unit_diagonal):
        return
    if identity or first < min(NARROW / n, NARROW_SHARE):
        code = "kernel-narrow"
        sentence = (
            f"The kernel is so narrow that all rows are equally unlike: PC1 has {percent(first)} of the "
            f"variance, and one of {n:,} equal components would have {percent(1 / n)}."
        )
    elif variance < WIDE:
        code = "kernel-wide"
        sentence = (
            "The kernel is so wide that its values are nearly equal for all pairs of rows: its components "
            "are nearly those of PCA."
        )
    else:
        return
    evidence = {width: getattr(kernel, width), "share of PC1": first, "variance": variance}
    value = ""
    if rows is not None and len(rows) > 2 and rows.std(axis=0).any():
        with suppress(DataError):  # rows are too far apart
            median = getattr(type(kernel)(**{width: "median"}).resolve(rows), width)
            evidence[f"{width} of the median"] = median
            value = f", which is {median:.3g} for these rows"
    yield Finding(code, "serious", sentence, f'Use {width}="median"{value}.', evidence)
