"""Choosing a kernel, its width and the number of components by what can be compared between kernels."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from gramian.arrays import blas_threads, to_numpy
from gramian.checks import check_choice
from gramian.errors import DataError, GramianError, InputTypeError, ParameterError
from gramian.kernels import RBF
from gramian.rows import ArrayRows, Rows, as_rows
from gramian.selection.filter_settings import kind_of_label
from gramian.selection.kernel_candidates import Candidate, as_candidates
from gramian.selection.kernel_choice import KernelChoice, KernelTrial
from gramian.selection.kernel_judging import CRITERIA, Judge, Settings, prepare
from gramian.selection.labels import Labelled, as_labelled

__all__ = ["choose_kernel"]

# Of the best value, and of its standard error: what differs by less is a tie, and goes to the first kernel.
TIE, TIE_ERROR = 1e-3, 0.1
SAID = 3
LOG = logging.getLogger("gramian")


def choose_kernel(
    X: Any,
    y: Any = None,
    candidates: Sequence[Any] | None = None,
    criterion: str | None = None,
    *,
    estimator: Any = None,
    cv: Any = 5,
    n_components: Any = None,
    scoring: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> KernelChoice:
    """Try kernels, and say which one, how wide and with how many components.

    Variance kept or lost in feature space is no criterion: each kernel has a feature space of its own, and a
    wide enough rbf keeps all of it in few components. What is compared lies in the space of the rows, of the
    labels, or is measured against chance.

    Parameters
    ----------
    X : array-like, frame, Path, Scan or Rows of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Labels: classes or numbers. Those of a file that was read with ``label=`` are used where it is None.
    candidates : sequence of str, callable, Kernel or KernelPCA, optional
        What is tried, simple ones first: values that differ by less than 0.1 %, or a tenth of the standard
        error, are a tie, which goes to the first. A KernelPCA brings its other parameters; its
        ``n_components``, where it is a number, is kept. None takes linear, cosine, poly of degree 2 and
        3, rbf of 6 widths around the median distance, laplacian of 2, and for few columns without negative
        entries chi2. Widths that depend on the data are taken from all rows, before folds are cut.
    criterion : {"preimage", "parallel", "alignment", "score"}, optional
        - "preimage", the default without y: noise is added to held-out rows, and the pre-images of their
          projections are compared with the rows before. The error is the mean square of what is wrong over
          that of the noise, the same for all kernels. 300 rows at most.
        - "parallel": by how much of the variance in feature space the leading components exceed those of
          data with permuted columns. Finds the number of components too. 400 rows at most.
        - "alignment": cosine between the centred Gram matrices of rows and labels. Says nothing about the
          number of components. 2000 rows at most.
        - "score", the default with y: cross-validated score of ``estimator`` on the kernel's components.
          500 rows at most.

        Of more rows evenly spaced ones are taken, by label where there are labels; of thousands of columns
        fewer, but at least 100.
    estimator : estimator of scikit-learn, optional
        For "score". None takes logistic regression for classes and ridge for numbers, of standardised scores.
    cv : int, splitter or iterable of (train, test), default=5
        For "preimage" and "score". A number cuts the rows at random, stratified by classes. Splits given as
        numbers of rows are about all rows, of which none are left out then.
    n_components : int, list of int or None
        Numbers to try; None tries 1, 2, 3, 4, 6, 8, ... 64 for "preimage", 1, 2, 4, ... 64 for "score".
    scoring : str or callable, optional
        For "score": of scikit-learn. None is the estimator's own, accuracy or r2.
    random_state : int, RandomState, Generator or None
        Of folds, noise and permutations, which are the same for all kernels.
    n_jobs : int or None
        How many kernels are tried at the same time, as joblib counts.

    Returns
    -------
    KernelChoice
        Prints as a table of all kernels. ``best`` is the kernel, ``model`` a KernelPCA with it.

    Raises
    ------
    ParameterError
        For a criterion or kernel that is not known, a precomputed kernel, settings of another criterion.
    DataError
        For rows that are all equal, a single class, labels that are missing or too few or many, and where no
        kernel can be judged. A kernel that cannot be while others can is in the table with the reason.
    InputTypeError
        For sparse data.

    References
    ----------
    Mika et al. (1998), Kernel PCA and de-noising in feature spaces, for pre-images. Joergensen, Hansen
    (2012), Model selection for Gaussian kernel PCA denoising, for "parallel". Cristianini et al. (2001), On
    kernel-target alignment; Cortes, Mohri, Rostamizadeh (2012), Algorithms for learning kernels based on
    centered alignment.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import choose_kernel
    >>> angle = np.linspace(0, 6.2, 60)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> rings, label = np.concatenate([ring, 3 * ring]), np.repeat([0, 1], 60)
    >>> choice = choose_kernel(rings, label, ["linear", "rbf(sigma=1)"], random_state=0)
    >>> choice.best
    rbf(sigma=1)
    """
    rows = as_rows(X, estimator="choose_kernel", minimum=3)
    if not isinstance(rows, ArrayRows):
        raise InputTypeError("choose_kernel does not take sparse data yet. Use X.toarray().")
    rows = replace(rows, values=to_numpy(rows.in_memory()))
    _check_jobs(n_jobs)
    has_labels = y is not None or (rows.table is not None and rows.table.labels is not None)
    if criterion is None:
        criterion = "score" if has_labels else "preimage"
    check_choice("criterion", criterion, CRITERIA)
    labelled = _labelled(rows, y, criterion, estimator)
    settings = Settings(criterion, estimator, cv, n_components, scoring, random_state)
    if not np.ptp(rows.in_memory(), axis=0).any():
        raise DataError(f"All {rows.shape[0]} rows are equal: there is nothing to tell kernels apart by.")
    tried = as_candidates(candidates, rows)
    judge = prepare(settings, rows, labelled, tried)
    found = Parallel(n_jobs=n_jobs)(
        delayed(_trial)(judge, one, f"kernel {place} of {len(tried)}: {one.kernel!r}")
        for place, one in enumerate(tried, 1)
    )
    trials = tuple(trial for trial, _ in found)
    said: Counter[str] = Counter(text for _, texts in found for text in texts)
    notes = [f"While validating: {text}" for text, _ in said.most_common(SAID)]
    return _chosen(settings, judge, rows, trials, _unused(has_labels, criterion) + notes)


def _check_jobs(n_jobs: Any) -> None:
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise ParameterError(f"n_jobs={n_jobs!r} is no number of jobs. Give 1, 2, ..., -1 for all, or None.")


def _labelled(rows: Rows, y: Any, criterion: str, estimator: Any) -> Labelled | None:
    """Return rows with labels where the criterion reads them; elsewhere labels must only be as many."""
    if criterion in ("alignment", "score"):
        return as_labelled(rows, y, estimator="choose_kernel", discrete=kind_of_label(estimator))
    count = rows.shape[0] if y is None else np.size(to_numpy(y))
    if count != rows.shape[0]:
        raise DataError(f"y has {count} labels but X has {rows.shape[0]} rows. Give one label for each row.")
    return None


def _unused(has_labels: bool, criterion: str) -> list[str]:
    if has_labels and criterion in ("preimage", "parallel"):
        return [f"The labels take no part in criterion={criterion!r}."]
    return []


def _trial(judge: Judge, one: Candidate, doing: str) -> tuple[KernelTrial, tuple[str, ...]]:
    """Judge one kernel; that it cannot be judged must not hide the others."""
    LOG.info(doing)
    model = one.model
    if model.random_state is None:
        model = clone(model).set_params(random_state=judge.seed)
    try:
        # Matrices of a few hundred rows: threads of BLAS cost more than they save.
        with blas_threads():
            found = judge.ask(Candidate(model, one.n_components))
    except GramianError as error:
        return KernelTrial(one.kernel, None, None, None, str(error), one.model), ()
    trial = KernelTrial(
        one.kernel, found.value, found.standard_error, found.n_components, _doubt(one), one.model
    )
    return trial, found.said


def _doubt(one: Candidate) -> str:
    """What must be known about a function that was judged and is not proven to be a kernel."""
    validity = one.kernel.validity
    if validity.proven:
        return ""
    if one.model.repair is not None:
        return "It is not proven to be a kernel; negative eigenvalues are set to 0."
    if validity.refuted:
        return "It is no valid kernel; on these rows the components looked at have no negative eigenvalue."
    return "It is not proven to be a kernel."


# ------------------------------------------------------------------- the choice


def _chosen(
    settings: Settings, judge: Judge, rows: Rows, trials: tuple[KernelTrial, ...], notes: list[str]
) -> KernelChoice:
    judged = [trial for trial in trials if trial.value is not None]
    if not judged:
        said = "; ".join(f"{trial.expression}: {trial.remark}" for trial in trials[:3])
        raise DataError(
            f"None of {len(trials)} kernels can be judged by criterion={settings.criterion!r}. {said}"
        )
    sign = -1.0 if settings.criterion == "preimage" else 1.0
    values = sign * np.array([trial.value for trial in judged], dtype=np.float64)
    top = int(np.argmax(values))
    slack = max(TIE * abs(values[top]), TIE_ERROR * (judged[top].standard_error or 0.0))
    best = judged[int(np.argmax(values >= values[top] - slack))]
    n, d = rows.shape
    return KernelChoice(
        place=trials.index(best),
        n_components=best.n_components if best.n_components is None else max(1, best.n_components),
        criterion=settings.criterion,
        measure=judge.measure,
        candidates=trials,
        reason=_reason(settings.criterion, judge, best, len(judged)),
        notes=(*_remarks(settings, judge, best, judged, sign), *_used(judge.rows, n), *notes),
        about=f"{n:,} rows x {d:,} columns",
    )


def _reason(criterion: str, judge: Judge, best: KernelTrial, count: int) -> str:
    error = "" if best.standard_error is None else f" (standard error {best.standard_error:.2g})"
    k = best.n_components
    number = "" if k is None else f" with {k} component{'s' * (k != 1)}"
    what = f"{best.expression}{number}"
    of = f"of {count} kernel{'s' * (count != 1)}"
    if criterion == "preimage":
        return (
            f"Pre-images by {what} have {best.value:.4g}{error} of the error of noisy held-out rows, the "
            f"least {of}. Doing nothing has 1, the best linear filter {judge.linear_filter:.4g}."
        )
    if criterion == "parallel":
        if not k:
            return (
                f"No component of {of.removeprefix('of ')} exceeds what permuted columns have. The first is "
                "returned, with one component."
            )
        return (
            f"The first {k} component{'s' * (k != 1)} of {best.expression} exceed those of data with "
            f"permuted columns by {best.value:.4g}{error} of the variance in feature space, the most {of}."
        )
    if criterion == "alignment":
        return f"{best.expression} is aligned with the labels by {best.value:.4g}{error}, the most {of}."
    return f"{what} has a mean {judge.measure} of {best.value:.4g}{error} on held-out rows, the best {of}."


def _remarks(
    settings: Settings, judge: Judge, best: KernelTrial, judged: list[KernelTrial], sign: float
) -> list[str]:
    found = []
    assert best.value is not None
    margin = best.standard_error or 0.0
    before = judged[: judged.index(best)]
    near = [t for t in before if t.value is not None and sign * t.value >= sign * best.value - margin]
    if near:
        found.append(
            f"{near[0].expression}, which was listed before it, is within one standard error: "
            f"{near[0].value:.4g}."
        )
    if judge.linear_filter is not None and best.value > judge.linear_filter - margin:
        found.append(
            "No kernel takes out noticeably more noise than a linear filter does: these rows show no curved "
            "structure, or it is weaker than their own noise."
        )
    if settings.criterion == "score":
        found.append(
            "Chosen by the score that is shown, which is therefore optimistic. Validate on other rows."
        )
    return found + _edge(best, judged)


def _edge(best: KernelTrial, judged: list[KernelTrial]) -> list[str]:
    """Say so when the best width is the last one that was tried."""
    widths = [
        t.kernel.sigma for t in judged if isinstance(t.kernel, RBF) and np.ndim(t.kernel.sigma or 0) == 0
    ]
    widths = [width for width in widths if width is not None]
    mine = best.kernel.sigma if isinstance(best.kernel, RBF) else None
    if mine is None or np.ndim(mine) or len(set(widths)) < 3 or min(widths) < mine < max(widths):
        return []
    which = "narrowest" if mine == min(widths) else "widest"
    return [f"It is the {which} rbf that was tried. Try others beyond it too: candidates=[...]."]


def _used(used: int, n: int) -> list[str]:
    return [f"{used:,} of the {n:,} rows were looked at, evenly spaced."] if used < n else []
