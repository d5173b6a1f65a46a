"""What a report is about, and facts about data, plan, certificate and model as values for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.answers.diagnose import Diagnosis, diagnosis_of, trust_of
from gramian.core.arrays import as_float64
from gramian.core.checks import counted, most_of, percent, plain, shown, six_digits
from gramian.core.records import Certificate, ModelKind, Plan
from gramian.errors import shortened
from gramian.models import model_file
from gramian.statistics import sampling
from gramian.statistics.components import column_names, component_names, names_of, shares_of
from gramian.tables.reading import IMPUTED

if TYPE_CHECKING:
    from gramian.tables.table import Table

NAME = 24  # letters of a column's name in a list of loadings


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model with all inputs of its report.

    Attributes
    ----------
    model : fitted PCA, KernelPCA, Whitener, FaceSpace or Monitor
    table : Table or None
        The data of the fit, or new rows. Without them some sections are missing.
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
    diagnosis : Diagnosis, optional
        Of this model and table, if it is known.
    answer : Headline, optional
        Of this model and table, if it is known.
    """

    model: Any
    table: Any
    scores: Any = field(default_factory=lambda: np.empty((0, 0)))
    command: tuple[str, ...] = ()
    seconds: float | None = None
    loadings: str = "unit"
    format: str = "csv"
    reading: Mapping[str, Any] | None = None
    diagnosis: Diagnosis | None = None
    answer: Any = None


def payload(record: Any, *names: str) -> dict[str, Any]:
    """Return attributes of a record under their own names."""
    return {name: getattr(record, name) for name in names}


def versions() -> dict[str, str]:
    """Return the versions of all packages that compute."""
    return {**model_file.versions(), "scipy": version("scipy")}


def data_facts(table: Table) -> dict[str, Any]:
    """Return source, size and notes of the data."""
    return {
        "source": table.source,
        "sha256": table.origin.sha256,
        "rows": table.values.shape[0],
        "columns": int(np.prod(table.values.shape[1:])),
        "picture_shape": plain(table.picture_shape),
        "dtype": str(table.values.dtype),
        "label": table.label_name,
        "notes": list(table.notes),
    }


def used_text(table: Table) -> str:
    """Return how many columns and rows a fit uses, and what was done about missing values.

    Examples
    --------
    >>> from gramian.tables.treatment import handle_missing
    >>> from gramian.tables.table import Table
    >>> holed = Table(np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, 5.0]]))
    >>> used_text(handle_missing(holed, "drop-rows"))
    '2 columns, 2 rows; 1 row without any value was left out: row 1'
    """
    rows, width = table.values.shape[0], math.prod(table.values.shape[1:])
    kind = ("column", "row") if table.picture_shape is None else ("pixel", "picture")
    size = f"{counted(width, kind[0])}, {counted(rows, kind[1])}"
    imputed = "missing values are imputed" if table.missing.method in IMPUTED else ""
    return "; ".join(filter(None, (size, table.missing.note, imputed)))


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Return the solver, its reason, its steps and their predicted cost."""
    facts = payload(plan, "solver", "operator", "reason", "seconds", "bytes")
    return facts | {"steps": [asdict(step) for step in plan.steps], "matrices": list(plan.matrices)}


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """Return the error bounds, their kind, and the certificate as text."""
    complete = certificate.completeness
    facts = payload(certificate, "ok", "tol", "unit", "set_radius", "widening") | {
        "kind": certificate.widening_kind,
        "orthogonality": certificate.orthogonality,
        "completeness": complete and asdict(complete),
        "reasons": certificate.reasons,
        "directions": None if certificate.directions is None else vars(certificate.directions),
        "brief": certificate.brief,
        "text": str(certificate),
    }
    return {name: plain(value) for name, value in facts.items()}


def sampling_facts(model: Any) -> dict[str, Any] | None:
    """Return standard errors of variances and ratios, and groups of components that are not separated."""
    result = sampling.sampling_of(model)
    names = ("standard_errors", "ratio_standard_errors", "groups", "next_separated", "n_effective", "brief")
    return None if result is None else dict(plain(payload(result, *names)))


def component_facts(model: Any, exactness: bool = True) -> dict[str, list[Any]]:
    """Return the columns of the table of components, those of error bounds only where they are wanted.

    The residual and the radius are in the units of the eigenvalue; the angle is an upper bound on the error
    of the direction, or of the subspace of its cluster, in radians. None means unknown, such as the explained
    variance ratio under a kernel that is not proven positive semi-definite.
    """
    k = model.n_components_
    variances = as_float64(model.explained_variance_)
    eigenvalues = as_float64(vars(model).get("eigenvalues_", variances))
    ratios = shares_of(model)
    columns: dict[str, Any] = {
        "component": component_names(k),
        "eigenvalue": eigenvalues,
        "variance": variances,
        "standard deviation": np.sqrt(variances),
        "explained variance ratio": [None] * k if ratios is None else ratios,
        "cumulative": [None] * k if ratios is None else np.cumsum(ratios),
    }
    if exactness:
        certificate, bounds = model.certificate_, model.certificate_.directions
        pairs = () if bounds is None else zip(bounds.angles, bounds.sines, strict=True)
        angles = [angle if sine < 1.0 else None for angle, sine in pairs]
        measured = {"residual": certificate.residuals, "radius": certificate.radii, "angle": angles}
        columns |= {name: _padded(values, k) for name, values in measured.items()}
    if not (model.model_kind.kernel or model.model_kind.whitens):
        # The two are the same thing.
        del columns["variance"]
    return {name: plain(values) for name, values in columns.items()}


def component_rows(model: Any, count: int) -> list[list[str]]:
    """Return name, eigenvalue, deviation, ratio and cumulative ratio of the first components as text."""
    facts = component_facts(model, exactness=False)
    names = ("component", "eigenvalue", "standard deviation", "explained variance ratio", "cumulative")
    columns = (facts[name] for name in names)
    return [
        [name, f"{value:.6g}", f"{deviation:.6g}", *map(percent, ratios)]
        for name, value, deviation, *ratios in list(zip(*columns, strict=True))[:count]
    ]


def loaded_columns(model: Any, count: int) -> list[list[tuple[str, float]]]:
    """Return the three columns with the largest loadings of the first components, without those of 0.

    Empty for pictures, whose pixels have no names, and for models without loadings.
    """
    directions = getattr(model, "components_", None)
    if directions is None or not model.model_kind.linear or getattr(model, "picture_shape_", None):
        return []
    names, result = column_names(model), []
    for direction in as_float64(directions[: min(count, model.rank_)]):
        # Of loadings that only rounding tells apart, the first column comes first.
        order = np.argsort(-np.abs(direction).round(6), kind="stable")[:3]
        result.append([(names[j], float(direction[j])) for j in order if abs(direction[j]) >= 0.005])
    # Directions beyond the rank complete the basis, and any would do.
    return result + [[] for _ in range(min(count, len(directions)) - len(result))]


def largest_loadings(model: Any, count: int) -> list[str]:
    """Return :func:`loaded_columns` as text, in which a long name would hide the others."""
    loaded = loaded_columns(model, count)
    texts = {name: shortened(shown(name), NAME) for name in {name for one in loaded for name, _ in one}}
    return [", ".join(f"{texts[name]} {value:+.2f}" for name, value in one) for one in loaded]


def _padded(values: Any, k: int) -> list[Any]:
    # Components beyond the rank complete the basis and are not eigenpairs that anyone computed.
    computed = [None if value is None else float(value) for value in values[:k]]
    return computed + [None] * (k - len(computed))


def size_text(columns: int, picture_shape: Any) -> str:
    """Return the size of a row as text."""
    if picture_shape is None:
        return counted(columns, "column")
    height, width = picture_shape
    return f"{counted(height * width, 'pixel')} (pictures of {width} x {height})"


def model_size(model: Any) -> str:
    """Return the size of a row of the fit as text."""
    return size_text(model.n_features_in_, getattr(model, "picture_shape_", None))


def kernel_text(model: Any) -> str:
    """Return the kernel with its parameters, or "" for PCA."""
    kernel = vars(model).get("kernel_")  # a description of a model may have none
    return str(vars(model).get("kernel") or "") if kernel is None else repr(kernel)


def where_text(model: Any) -> str:
    """Return where the variance of a kernel PCA is; "" for others."""
    return " in feature space" if model.model_kind.kernel else ""


def validity_text(model: Any) -> str:
    """Return the proof of positive semidefiniteness, a chain of closure rules; "" without a kernel."""
    kernel = vars(model).get("kernel_")
    return "" if kernel is None else str(kernel.validity)


def method_name(model: Any) -> str:
    """Return the name of the method."""
    text = kernel_text(model)
    if model.model_kind.whitens:
        return f"Whitening by {model.method}"
    return f"Kernel PCA with {six_digits(text)}" if text else "PCA"


def imputed_share(model: Any) -> float:
    """Return the share of the entries of the fitted table that were imputed."""
    return float(getattr(model, "n_missing_", 0)) / (int(model.n_samples_) * int(model.n_features_in_))


def in_brief(model: Any) -> str:
    """Return size and variance of a result in a sentence."""
    share, ratios = imputed_share(model), shares_of(model)
    imputed = f" ({percent(share)} of the entries imputed)" if share else ""
    count = counted(model.n_components_, "component")
    rows = counted(model.n_samples_, "row")
    result = f"{method_name(model)} of {rows} x {model_size(model)}{imputed}: {count}"
    if ratios is None:
        return f"{result}."
    centred = getattr(model, "center", True)
    what = "variance" if centred else "energy (second moments: no mean was subtracted)"
    number, share = most_of(ratios)
    share_text = f"{percent(share)} of the {what}{where_text(model)}"
    if number == len(ratios):
        return f"{result}, {share_text}."
    return f"{result}; the first {'one has' if number == 1 else f'{number} have'} {share_text}."


def model_facts(model: Any) -> dict[str, Any]:
    """Return kind, parameters, sizes, plan, certificate and sampling errors of a fitted model."""
    ratios = shares_of(model)
    return {
        "kind": type(model).__name__,
        "brief": in_brief(model),
        "parameters": plain(model.get_params(deep=False)),
        "kernel": kernel_text(model) or None,
        "validity": validity_text(model) or None,
        "repair": None if getattr(model, "repair_", None) is None else str(model.repair_),
        "n_components": int(model.n_components_),
        "rank": int(model.rank_),
        "explained_variance_ratio": None if ratios is None else plain(np.sum(ratios)),
        "n_samples": int(model.n_samples_),
        "n_features": int(model.n_features_in_),
        "imputed_share": imputed_share(model),
        "feature_names": plain(names_of(model)),
        "picture_shape": plain(getattr(model, "picture_shape_", None)),
        "plan": plan_facts(model.plan_),
        "certificate": certificate_facts(model.certificate_),
        "sampling": sampling_facts(model),
    }


def diagnosis_facts(diagnosis: Diagnosis | None) -> dict[str, Any]:
    """Return what a diagnosis found, and whether it has looked at rows."""
    found = [] if diagnosis is None else plain(diagnosis.facts())
    return {"diagnosis": found, "diagnosed_rows": diagnosis is not None and diagnosis.looked_at_rows}


def info_facts(model: Any, kind: str, diagnosis: Diagnosis | None = None) -> dict[str, Any]:
    """Return the facts of a fitted model, its components, what misleads in them and whether to trust them.

    Parameters
    ----------
    model : fitted estimator
    kind : str
        Its name in its file.
    diagnosis : Diagnosis, optional
        By default of the model alone.
    """
    if model.model_kind.has_components:
        diagnosis = diagnosis_of(model) if diagnosis is None else diagnosis
        about = {"model": model_facts(model) | {"kind": kind}, "components": component_facts(model)}
        return about | {"trust": plain(asdict(trust_of(model, diagnosis)))} | diagnosis_facts(diagnosis)
    if model.model_kind is ModelKind.MONITOR:
        return info_facts(model.model_, type(model.model_).__name__, diagnosis) | {
            "limits": str(model.limits_)
        }
    # A map of features has no components.
    return {"model": {"kind": kind, "parameters": plain(model.get_params(deep=False))}}


def calibration_facts(recogniser: Any, person: str | None) -> dict[str, Any]:
    """Return the threshold for identification or verification, and its predicted error rates."""
    used = recogniser.identification_ if person is None else recogniser.verification_
    return {
        "far": used.far,
        "predicted_false_accept": used.false_accept,
        "predicted_false_reject": used.false_reject,
        "counted": used.observed,
        "people": len(recogniser.people_),
        "threshold": used.value,
        "far_asked": recogniser.far,
        "notes": list(recogniser.notes_ if person is None else recogniser.verify_notes_),
    }


def skipped_facts(skipped: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the pictures that were skipped, with the reasons."""
    return [{"picture": name, "why": why} for name, why in skipped]


def gallery_facts(gallery: Any) -> dict[str, Any]:
    """Return the model and the people of an open gallery."""
    people = [{"name": name, "pictures": count} for name, count in gallery.counts().items()]
    return {"model": gallery.fingerprint, "components": len(gallery.variances), "people": people}


def audit_facts(report: Any) -> dict[str, Any]:
    """Return the result of an audit of a kernel."""
    validity, witness = report.validity, report.witness
    return payload(report, "kernel", "verdict", "valid", "value_tol", "tested", "trials") | {
        "validity": {"status": validity.status, "reason": validity.reason},
        "steps": list(_steps(validity).values()),
        "witness": None if witness is None else vars(witness),
    }


def _steps(validity: Any) -> dict[str, dict[str, str]]:
    """Return the steps of a proof by their expressions, each after those that it uses."""
    below = {name: step for inner in validity.parts for name, step in _steps(inner).items()}
    step = {"expression": validity.formula, "status": validity.status, "reason": validity.reason}
    return below | {validity.formula: step}
