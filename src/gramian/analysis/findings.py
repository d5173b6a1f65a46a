"""What a fitted model shows by itself of an answer that misleads: units, and the width of a kernel.

Checks that need the rows, and all notes, are in :mod:`gramian.inspect.findings`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gramian.analysis.components import column_names, kind_of, shares_of
from gramian.analysis.units import column_variances, dominance, unit_words
from gramian.arrays import as_float64
from gramian.checks import percent
from gramian.errors import DiagnosticWarning, Surface, asked_by_user, option, worded
from gramian.records import FloatArray, ModelKind

FEWEST = 10  # rows from which scores say something about rows
# scale-dominates
GAP = 20.0  # largest deviation over the median one, if columns do not name one unit
UNITS_GAP = 1.25  # the largest over the smallest, if columns name different units
ALONE, ABOVE = 0.8, 5.0  # squared loading of a component that is one column; its deviation over the median
SHARE = 0.05  # of the variance, from which a column counts
SMOOTH, AXIS = 0.9, 20  # correlation of neighbours on an axis, which share a unit; fewest columns
PEAK = 0.01  # of the largest variance: between the peaks of a spectrum is noise
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
    """

    code: str
    severity: Literal["serious", "note"]
    sentence: str
    remedy: str
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        vars(self).update(_marked=(self.sentence, self.remedy))
        vars(self).update(sentence=worded(self.sentence), remedy=worded(self.remedy))

    def facts(self, surface: Surface = "python") -> dict[str, Any]:
        """Return the attributes as values for JSON.

        Parameters
        ----------
        surface : {"python", "shell", "page"}
            Whose terms sentence and remedy use.

        Returns
        -------
        dict
            By the names of the attributes.
        """
        sentence, remedy = (worded(text, surface) for text in vars(self)["_marked"])
        said = {"code": self.code, "severity": self.severity, "sentence": sentence, "remedy": remedy}
        return said | {"evidence": dict(self.evidence)}

    def line(self, surface: Surface = "python") -> str:
        """Return severity, sentence, remedy and code.

        Parameters
        ----------
        surface : {"python", "shell", "page"}
            Whose terms the remedy uses.

        Returns
        -------
        str
            One line.
        """
        text = worded(" ".join(vars(self)["_marked"]), surface)
        return f"{self.severity.capitalize()}: {text} ({self.code})"


def model_findings(model: Any) -> tuple[Finding, ...]:
    """Return the serious findings that a fitted PCA or KernelPCA shows without its rows; others have none."""
    kind = kind_of(model)
    if kind is ModelKind.PCA:
        return tuple(units_of(model))
    return tuple(width_of(model)) if kind is ModelKind.KERNEL_PCA else ()


def serious_lines(model: Any, surface: Surface = "python") -> tuple[str, ...]:
    """Return a line for each of the findings of a model."""
    return tuple(one.line(surface) for one in model_findings(model))


def warn_of_findings(model: Any) -> None:
    """Warn of what a model shows that the caller has fitted, unless gramian itself asked for the fit."""
    if asked_by_user(1):
        for one in model_findings(model):
            DiagnosticWarning(" ".join(vars(one)["_marked"])).warn()


# ------------------------------------------------------------------ units


def units_of(model: Any, one_unit: Callable[[], bool] | None = None) -> Iterator[Finding]:
    """Find columns that are the first component of a PCA because of their unit.

    Parameters
    ----------
    model : fitted PCA
    one_unit : callable, optional
        Returns whether columns are neighbours on an axis; by default their correlations within the
        components decide.
    """
    if model.scale in ("unit", "genotype") or not model.center or not int(model.rank_):
        return
    if getattr(model, "picture_shape_", None) is not None:
        return
    variances = column_variances(model)
    named = getattr(model, "feature_names_in_", None) is not None
    if variances.max() < (UNITS_GAP if named else ABOVE) ** 2 * variances.min():
        return
    first = as_float64(model.components_)[0]
    found = dominating(variances, lambda: column_names(model), "the first component", first)
    if found is None or (_smooth(model, variances) if one_unit is None else one_unit()):
        return
    sentence, evidence = found
    remedy = f"If columns have different units, use {option('scale', 'unit')}."
    yield Finding("scale-dominates", "serious", sentence, remedy, evidence)


def dominating(
    variances: FloatArray, names: Callable[[], Sequence[str]], subject: str, first: FloatArray | None = None
) -> tuple[str, dict[str, Any]] | None:
    """Return a sentence about columns that decide by their scale, with evidence; None where none do.

    Parameters
    ----------
    variances : ndarray of shape (d,)
    names : callable
        Returns the names of the columns.
    subject : str
        What the columns decide.
    first : ndarray of shape (d,), optional
        The first component.
    """
    vary = variances[variances > 0]
    if len(vary) < 2:
        return None
    widest = float(np.sqrt(vary.max() / vary.min()))
    if widest < UNITS_GAP:
        return None
    named = names()
    count, clause = dominance(variances, named) if widest >= ABOVE else (0, "")
    units = unit_words(named)
    order = np.argsort(-variances, kind="stable")
    shares = variances[order] / variances.sum()
    if count:
        sentence = f"{clause} and {'decides' if count == 1 else 'decide'} {subject}."
    elif len(units) > 1:
        sentence = f"Columns have different units ({', '.join(sorted(units))}), and these decide {subject}."
    elif not units and widest >= GAP and _apart(variances, vary, first):
        most = max(1, int((shares >= SHARE).sum()))
        who = f"{named[order[0]]} has" if most == 1 else f"{most} of {len(named):,} columns have"
        share = percent(float(shares[:most].sum()))
        sentence = (
            f"{who} {share} of the variance, since deviations of columns differ "
            f"{widest:,.0f}-fold. {'It decides' if most == 1 else 'They decide'} {subject}."
        )
    else:
        return None
    columns = [named[j] for j in order[: max(1, count)]]
    evidence = {"columns": columns, "largest share": float(shares[0]), "ratio of deviations": widest}
    return sentence, evidence


def _apart(variances: FloatArray, vary: FloatArray, first: FloatArray | None) -> bool:
    """Return whether the largest deviation is far above the median one, or is the first component."""
    middle = float(np.median(vary))
    if vary.max() >= GAP**2 * middle:
        return True
    if first is None:
        return False
    j = int(np.argmax(np.abs(first)))
    return bool(first[j] ** 2 >= ALONE and variances[j] >= ABOVE**2 * middle)


def _smooth(model: Any, variances: FloatArray) -> bool:
    """Return whether components make neighbouring columns alike, as on an axis of wavelengths."""
    if len(variances) < AXIS:
        return False
    V = as_float64(model.components_) * np.sqrt(as_float64(model.explained_variance_))[:, None]
    products, squares = (V[:, 1:] * V[:, :-1]).sum(axis=0), (V**2).sum(axis=0)
    return correlated_neighbours(products, squares)


def correlated_neighbours(products: FloatArray, squares: FloatArray) -> bool:
    """Return whether most neighbouring columns correlate strongly, by their products and squares.

    Between the peaks of a spectrum is noise, which says nothing.
    """
    large = squares > PEAK * squares.max()
    pairs = large[1:] & large[:-1]
    correlations = products[pairs] / np.sqrt(squares[1:] * squares[:-1])[pairs]
    return len(correlations) >= AXIS // 2 and float(np.median(correlations)) >= SMOOTH


# ------------------------------------------------------------------ kernels


def width_of(model: Any, rows: Any = None) -> Iterator[Finding]:
    """Find a kernel in which all rows are equally unlike, or equally alike.

    Parameters
    ----------
    model : fitted KernelPCA
    rows : ndarray of shape (n, d), optional
        Of which the remedy names the median width.
    """
    kernel, shares, n = model.kernel_, shares_of(model), int(model.n_samples_)
    width = next((name for name in WIDTHS if getattr(kernel, name, None) is not None), None)
    if width is None or shares is None or not int(model.rank_) or n < FEWEST or not model.center:
        return
    if not kernel.facts.stationary or not kernel.facts.unit_diagonal:
        return
    first = float(shares[0])
    variance = float(model.explained_variance_[0]) / first if first > 0 else 0.0
    if first < min(NARROW / n, NARROW_SHARE):
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
    median = None
    if rows is not None and len(rows) > 2 and rows.std(axis=0).any():
        median = getattr(type(kernel)(**{width: "median"}).resolve(rows), width)
    value = "" if median is None else f", which is {median:.3g} for these rows"
    evidence = {width: getattr(kernel, width), f"{width} of the median": median}
    evidence |= {"share of PC1": first, "variance": variance}
    yield Finding(code, "serious", sentence, f"Use {option(width, 'median')}{value}.", evidence)
