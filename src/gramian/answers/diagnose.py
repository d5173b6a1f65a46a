"""Whether the answer of a fitted model means what it seems to mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import Members, ModelKind
from gramian.errors import InputTypeError
from gramian.statistics.components import decomposition_of, kind_of, mapping_of
from gramian.statistics.findings import Finding, model_findings
from gramian.statistics.sampling import sampling_of

NOTHING_FOUND = "No check found anything that misleads."
ONLY_MODEL = "Only the model was examined: rows were not given."
NOT_EXAMINED = "What may mislead is examined for PCA and kernel PCA, and not for this model."
DIAGNOSED = ModelKind.PCA, ModelKind.KERNEL_PCA
LEADING = 2  # components that a reader looks at first
ANSWERS = {
    "green": "Yes. No check found anything that misleads.",
    "amber": "With care. Nothing was found that makes it wrong, but read these points first.",
    "red": "Not as it stands. Read these points first.",
}


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Tabulated, Members[Finding]):
    """The findings of what misleads in a fitted model, serious ones first; prints as sentences.

    Attributes
    ----------
    findings : tuple of Finding
        Each with ``code``, ``severity``, ``sentence``, ``remedy`` and ``evidence``.
    looked_at_rows : bool
        Whether rows were given. Without them only what the model stores was examined.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian
    >>> X = load_iris(as_frame=True).data
    >>> X["number"] = range(len(X))
    >>> diagnosis = gramian.diagnose(gramian.PCA(2).fit(X), X)
    >>> [finding.code for finding in diagnosis]
    ['identifier', 'row-order']
    """

    findings: tuple[Finding, ...]
    looked_at_rows: bool

    @property
    def serious(self) -> tuple[Finding, ...]:
        """The findings by which the answer misleads."""
        return tuple(finding for finding in self if finding.severity == "serious")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The other findings."""
        return tuple(finding for finding in self if finding.severity == "note")

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of all findings."""
        return tuple(finding.code for finding in self)

    def lines(self) -> list[str]:
        """Return a line for each finding; one that says so where nothing was found."""
        result = [finding.line() for finding in self]
        result = result or [NOTHING_FOUND]
        return result if self.looked_at_rows else [*result, ONLY_MODEL]

    def facts(self) -> list[dict[str, Any]]:
        """Return the findings as values for JSON.

        Returns
        -------
        list of dict
            With ``code``, ``severity``, ``sentence``, ``remedy`` and ``evidence``.
        """
        return [finding.facts() for finding in self]

    def _notebook(self) -> Iterator[str | Grid]:
        yield from self.lines()


def diagnose(model: Any, X: Any = None, labels: Any = None) -> Diagnosis:
    """Return what misleads in a fitted PCA or kernel PCA, with evidence and the step that mends it.

    A certificate is about arithmetic. A diagnosis is about the question: whether units, a kernel's width,
    single rows, identifiers or chance are what the components show.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or Monitor
        Of a monitor the model that it watches.
    X : array-like of shape (n_samples, n_features), optional
        The rows of the fit. Of more than 2,000 rows (kernel PCA: 500) evenly spaced pairs of neighbours
        are examined. Without them, checks of scores are left out.
    labels : path, frame, mapping of str to arrays, or array-like of shape (n_samples,), optional
        Groups of the rows, such as treatment and batch, joined as by :func:`gramian.describe`; those of a
        file by default.

    Returns
    -------
    Diagnosis
        Serious findings first; empty where nothing is known that misleads.

    Raises
    ------
    InputTypeError
        For models other than PCA and KernelPCA.
    DataError
        If X has other columns than the fit, or values that cannot be used.

    Notes
    -----
    ``make diagnose`` measures all checks on tables with a known trap and on tables without one. "no-signal"
    compares the largest eigenvalue of the correlations with the law of Tracy and Widom, or with those of 29
    tables of shuffled columns (parallel analysis). "one-row" uses the beta distribution of one of n squared
    normal scores. "identifier" asks :func:`gramian.roles`.

    References
    ----------
    Horn (1965), A rationale and test for the number of factors in factor analysis. Podani and Miklos (2002),
    Resemblance coefficients and the horseshoe effect in principal coordinates analysis. Jolicoeur and
    Mosimann (1960), Size and shape variation in the painted turtle.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4)) * [1, 2, 1, 900]
    >>> found = gramian.diagnose(gramian.PCA(2).fit(X), X)
    >>> found.codes
    ('scale-dominates', 'no-signal')
    """
    from sklearn.utils.validation import check_is_fitted  # which a saved model is shown without

    model = mapping_of(model)
    if kind_of(model) not in DIAGNOSED:
        raise InputTypeError(f"diagnose takes a fitted PCA or KernelPCA, not a {type(model).__name__}.")
    check_is_fitted(model)
    return _diagnosed(model, X, labels)


def _diagnosed(model: Any, X: Any = None, labels: Any = None) -> Diagnosis:
    # What needs rows loads scikit-learn, which a model alone is shown without.
    from gramian.answers.findings import Evidence, findings
    from gramian.tables.metadata import as_metadata, label_columns

    rows = None if X is None else model._new_rows(X)
    table = None if rows is None else rows.table
    if labels is not None:
        names, n = (None, model.n_samples_) if rows is None else (rows.row_names, rows.shape[0])
        labels, _ = as_metadata(labels).joined(n, names)
    elif table is not None:
        labels = label_columns(table)
    return Diagnosis(findings(Evidence(model, rows, labels)), rows is not None)


def diagnosis_of(model: Any, table: Any = None) -> Diagnosis | None:
    """Return the diagnosis of any model and the table of its fit; None if it is of another kind.

    Of a space of faces its PCA is diagnosed. Without the rows of the fit it has what the model alone shows.
    """
    model = decomposition_of(mapping_of(model))
    if kind_of(model) not in DIAGNOSED:
        return None
    same = table is not None and table.values.shape[0] == model.n_samples_ and not kind_of(model).faces
    return _diagnosed(model, table) if same else Diagnosis(model_findings(model), False)


def serious_and_notes(diagnosis: Diagnosis | None) -> tuple[list[str], list[str]]:
    """Return what stands above the numbers of a fit, and what stands below them."""
    if diagnosis is None:
        return [], []
    notes = [finding.line() for finding in diagnosis.notes]
    more = [] if diagnosis.looked_at_rows else [ONLY_MODEL]
    return [finding.line() for finding in diagnosis.serious], [*notes, *more]


@dataclass(frozen=True)
class Trust:
    """Whether the answer of a fitted model can be trusted.

    Attributes
    ----------
    level : {"green", "amber", "red"}
        "red" where a finding is serious or the certificate does not hold; "amber" where there are notes, and
        where the sample does not separate the first two components from their neighbours.
    answer : str
        One line.
    reasons : tuple of str
        What misleads, then what the sample can tell, then how exact the arithmetic is.
    """

    level: Literal["green", "amber", "red"]
    answer: str
    reasons: tuple[str, ...]


def trust_of(model: Any, diagnosis: Diagnosis | None) -> Trust:
    """Return whether the answer of a fitted model can be trusted: by diagnosis, sample and certificate."""
    model = decomposition_of(mapping_of(model))
    serious, notes = serious_and_notes(diagnosis)
    notes += [NOT_EXAMINED] if diagnosis is None else []
    sample, certificate = sampling_of(model), model.certificate_
    mixed = sample is not None and not sample.separated[:LEADING].all()
    level: Any = "red" if serious or not certificate.ok else "amber" if notes or mixed else "green"
    reasons = [*serious, *notes, "" if sample is None else sample.brief]
    reasons.insert(len(reasons) if certificate.ok else 0, certificate.brief)
    return Trust(level, ANSWERS[level], tuple(filter(None, reasons)))
