"""Chooses a kernel, its width and the number of components by a criterion comparable between kernels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.parallel import Parallel, delayed

from gramian.analysis.candidates import Choice, Selection
from gramian.analysis.component_rules.resampling import REPEATS
from gramian.arrays import as_float64, blas_threads, to_numpy
from gramian.checks import check_choice, check_integer, counted, evenly
from gramian.errors import DataError, GramianError, InputTypeError, ParameterError
from gramian.estimators.inputs import generators
from gramian.estimators.kernel_pca import KernelPCA
from gramian.kernels import RBF, Kernel
from gramian.progress import report
from gramian.progress_bar import shows_progress
from gramian.records import FloatArray, Seed
from gramian.rows import Rows, as_rows
from gramian.selection.criteria import (
    NoisyRows,
    TriedKernel,
    alignment,
    downstream_score,
    label_gram,
    parallel_energy,
    preimage_error,
)
from gramian.selection.kernel_candidates import as_candidates, kernel_of
from gramian.selection.labels import Labelled, as_labelled
from gramian.selection.validation import (
    Fold,
    default_estimator,
    draw_folds,
    is_number,
    kind_of_label,
    notes_of,
    score_name,
    scorer_of,
)

CRITERIA = ("preimage", "parallel", "alignment", "score")
READ_LABELS = ("alignment", "score")
FOLDS = 5
ROWS = {"preimage": 300, "parallel": 400, "alignment": 2000, "score": 500}  # taken at most
COUNTS = {"preimage": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64), "score": (1, 2, 4, 8, 16, 32, 64)}
# Of many columns fewer rows, so that what is looked at has at most this many entries; alignment passes over
# them once for each kernel, the others many times.
ENTRIES, ENTRIES_ONCE = 1 << 20, 1 << 24
FEWEST = 100
# Of the best value, and of its standard error: what differs by less is a tie, and goes to the first kernel.
TIE, TIE_ERROR = 1e-3, 0.1


@dataclass(frozen=True, eq=False, repr=False)
class KernelSelection(Selection[TriedKernel]):
    """The kernels that were compared, and the chosen one; prints as a table.

    Attributes
    ----------
    tried : tuple of TriedKernel
        In the order that they were given; also ``candidates``.
    choice : Choice
        The best of them, and the reason; also ``place`` and ``reason``.
    n_components : int or None
        The chosen number of components; None where the criterion does not choose one.
    criterion : {"preimage", "parallel", "alignment", "score"}
    measure : str
        Name of the values: error, energy, alignment, or the name of a score.
    notes : tuple of str
    about : str
        Description of the comparison.
    """

    criterion: str = ""

    columns: ClassVar[tuple[str, ...]] = (
        *("kernel", "value", "standard_error", "components", "best", "remark"),
    )
    unit: ClassVar[str] = "components"
    bars: ClassVar[bool] = False

    @property
    def candidates(self) -> tuple[TriedKernel, ...]:
        """All kernels that were tried."""
        return self.tried

    @property
    def place(self) -> int:
        """Which of the candidates is best."""
        return -1 if self.choice is None else self.choice.place

    @property
    def reason(self) -> str:
        """Why it is the best, with the numbers that decided."""
        return "" if self.choice is None else self.choice.why

    @property
    def n_components(self) -> int | None:
        """The number of components that goes with the best kernel."""
        number = self.chosen.size
        return number if number is None else max(1, number)

    @property
    def best(self) -> Kernel:
        """The best kernel, for ``KernelPCA(kernel=...)``; every parameter is a number."""
        return self.chosen.kernel

    @property
    def model(self) -> KernelPCA:
        """A KernelPCA with this kernel and number of components, ready to be fitted."""
        model: KernelPCA = clone(self.chosen.model).set_params(n_components=self.n_components)
        return model

    def rows(self) -> list[tuple[Any, ...]]:
        """Return expression, value, standard error, components, whether it is best, and remark, for each."""
        return [
            (t.expression, t.mean, t.standard_error, t.size, place == self.place, t.remark)
            for place, t in enumerate(self.tried)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; None for a value that there is not."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows()]
        return {
            "about": self.about,
            "criterion": self.criterion,
            "measure": self.measure,
            "kernel": repr(self.best),
            "components": self.n_components,
            "reason": self.reason,
            "notes": list(self.notes),
            "candidates": [
                {name: None if value != value else value for name, value in row.items()} for row in rows
            ],
        }

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row for each kernel."""
        frame = super().to_frame().rename(columns={"value": self.measure})
        return frame.astype({"components": "Int64"})

    def label_of(self, one: TriedKernel) -> str:
        """Return a kernel as it is written.

        Parameters
        ----------
        one : TriedKernel
            A member of ``tried``.

        Returns
        -------
        str
            Its expression.
        """
        return one.expression

    def remarks(self) -> list[str]:
        """Return the reason, remarks about kernels, and the notes."""
        doubts = [f"- {t.expression}: {t.remark}" for t in self.tried if t.remark]
        return [self.reason, *doubts, *(f"- {note}" for note in self.notes)]


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
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> KernelSelection:
    """Compare kernels, and choose one with its width and number of components.

    Explained variance in feature space is not comparable: each kernel has its own feature space, and a wide
    enough rbf keeps all variance in few components. The criteria compare in the space of the rows or of the
    labels, or against chance.

    Parameters
    ----------
    X : array-like, frame, Path, Scan or Rows of shape (n_samples, n_features)
        Dense rows.
    y : array-like of shape (n_samples,), optional
        Labels: classes or numbers. Those of a file that was read with ``label=`` are used where it is None.
    candidates : sequence of str, callable, Kernel or KernelPCA, optional
        Kernels to compare, simple ones first: values within 0.1 %, or a tenth of the standard error, tie,
        and ties go to the first. A KernelPCA keeps its other parameters, and ``n_components`` where it is a
        number. None compares linear, cosine, poly of degree 2 and 3, rbf of 6 widths around the median
        distance, laplacian of 2, and for few columns without negative entries chi2. Widths that depend on
        the data come from all rows, before folds are drawn.
    criterion : {"preimage", "parallel", "alignment", "score"}, optional
        - "preimage", the default without y: noise is added to held-out rows, and the pre-images of their
          projections are compared with the rows without noise. The error is the mean squared error over
          that of the noise, the same for all kernels. At most 300 rows.
        - "parallel": share of the variance in feature space by which the leading components exceed those of
          data with permuted columns. Also chooses the number of components. At most 400 rows.
        - "alignment": cosine between the centred Gram matrices of rows and labels. Does not choose the
          number of components. At most 2000 rows.
        - "score", the default with y: cross-validated score of ``estimator`` on the kernel's components.
          At most 500 rows.

        Larger data are reduced to evenly spaced rows, stratified by label where there are labels; with
        thousands of columns to fewer, but at least 100.
    estimator : estimator of scikit-learn, optional
        For "score". None is logistic regression for classes and ridge for numbers, on standardised scores.
    cv : int, splitter or iterable of (train, test), default=5
        For "preimage" and "score". A number splits the rows at random, stratified by classes. With explicit
        splits all rows are used.
    n_components : int, list of int or None
        Numbers to compare; None is 1, 2, 3, 4, 6, 8, ... 64 for "preimage", 1, 2, 4, ... 64 for "score".
    scoring : str or callable, optional
        For "score": of scikit-learn. None is the estimator's own, accuracy or r2.
    random_state : int, RandomState, Generator or None, default=0
        For folds, noise and permutations, which are the same for all kernels; None draws a new seed at each
        call.
    n_jobs : int or None
        Number of kernels compared in parallel, as in joblib.

    Returns
    -------
    KernelSelection
        Prints as a table of all kernels. ``best`` is the kernel, ``model`` a KernelPCA with it.

    Raises
    ------
    ParameterError
        For an unknown criterion or kernel, a precomputed kernel, and settings of another criterion.
    DataError
        For equal rows, a single class, labels that are missing or do not match, and where no kernel can be
        evaluated. A kernel that fails while others do not is in the table with the reason.
    InputTypeError
        For sparse data, and candidates that are not a list.

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
    rows = as_rows(X, weigh=False, estimator="choose_kernel", minimum=3)
    rows.require_dense("choose_kernel does not support sparse data. Use X.toarray().", InputTypeError)
    rows = replace(rows, values=to_numpy(rows.in_memory()))  # type: ignore[call-arg]
    has_labels = y is not None or (rows.table is not None and rows.table.labels is not None)
    if criterion is None:
        criterion = "score" if has_labels else "preimage"
    check_choice("criterion", criterion, CRITERIA)
    labelled = _labelled(rows, y, criterion, estimator)
    if not np.ptp(rows.in_memory(), axis=0).any():
        raise DataError(f"All {rows.shape[0]} rows are equal, so kernels cannot be compared.")
    tried = as_candidates(candidates, rows)
    asked = Asked(criterion, rows.in_memory(), labelled, tried, estimator, cv, n_components, scoring)
    with shows_progress("choose_kernel"):
        judge = prepare(asked, random_state)
        result = Parallel(n_jobs=n_jobs)(
            delayed(_tried)(judge, one, place, len(tried)) for place, one in enumerate(tried, 1)
        )
    said = Counter(text for one in result for text in one.said)
    unread = (f"criterion={criterion!r} does not use the labels.",)
    notes = unread * (has_labels and criterion not in READ_LABELS) + notes_of(said)
    return _selection(criterion, judge, rows, tuple(result), notes)


def _labelled(rows: Rows, y: Any, criterion: str, estimator: Any) -> Labelled | None:
    """Return rows with labels where the criterion reads them; elsewhere labels must only be as many."""
    if criterion in READ_LABELS:
        return as_labelled(rows, y, estimator="choose_kernel", discrete=kind_of_label(estimator))
    count = rows.shape[0] if y is None else np.size(to_numpy(y))
    if count != rows.shape[0]:
        raise DataError(f"y has {count} labels but X has {rows.shape[0]} rows. Give one label for each row.")
    return None


def _tried(judge: Judge, one: KernelPCA, place: int, total: int) -> TriedKernel:
    """Evaluate one kernel; a failure becomes a remark, so that it does not hide the others."""
    report(f"kernel {place} of {total}: {one.kernel!r}", "kernel", place - 1, total)
    try:
        # Matrices of a few hundred rows: threads of BLAS cost more than they save.
        with blas_threads():
            result = judge.judged(one)
    except GramianError as error:
        return TriedKernel(one, None, math.nan, remark=str(error))
    return replace(result, candidate=one, remark=_doubt(one))


def _doubt(one: KernelPCA) -> str:
    """Return the remark about a kernel that is not proven positive semidefinite."""
    validity = kernel_of(one).validity
    if validity.proven:
        return ""
    if one.repair is not None:
        return "It is not proven positive semidefinite; negative eigenvalues are set to 0."
    if validity.refuted:
        return "It is not a valid kernel, but has no negative eigenvalues among the components used here."
    return "It is not proven positive semidefinite."


# ------------------------------------------------------------------- the choice


def _selection(
    criterion: str, judge: Judge, rows: Rows, tried: tuple[TriedKernel, ...], notes: tuple[str, ...]
) -> KernelSelection:
    judged = [one for one in tried if one.value is not None]
    if not judged:
        said = "; ".join(f"{one.expression}: {one.remark}" for one in tried[:3])
        raise DataError(f"None of {len(tried)} kernels can be evaluated by criterion={criterion!r}. {said}")
    sign = -1.0 if criterion == "preimage" else 1.0
    values = sign * np.array([one.mean for one in judged])
    top = int(np.argmax(values))
    slack = max(TIE * abs(values[top]), TIE_ERROR * _error(judged[top]))
    best = judged[int(np.argmax(values >= values[top] - slack))]
    n, d = rows.shape
    used = [f"{judge.rows:,} of the {n:,} rows were used, evenly spaced."] if judge.rows < n else []
    return KernelSelection(
        tried,
        f"Kernel for {n:,} rows x {d:,} columns, by {criterion}",
        Choice(tried.index(best), _reason(criterion, judge, best, len(judged))),
        (*_remarks(criterion, judge, best, judged, sign), *used, *notes),
        judge.measure,
        criterion,
    )


def _error(one: TriedKernel) -> float:
    return 0.0 if math.isnan(one.standard_error) else one.standard_error


def _reason(criterion: str, judge: Judge, best: TriedKernel, count: int) -> str:
    error = "" if math.isnan(best.standard_error) else f" (standard error {best.standard_error:.2g})"
    components = "" if best.size is None else counted(best.size, "component")
    what = f"{best.expression} with {components}" if components else best.expression
    kernels = counted(count, "kernel")
    if criterion == "preimage":
        return (
            f"Pre-images by {what} have {best.mean:.4g}{error} times the error of noisy held-out rows, the "
            f"smallest of {kernels}. No filter has 1, the best linear filter {judge.linear_filter:.4g}."
        )
    if criterion == "parallel":
        if not best.size:
            return (
                f"No component of {kernels} exceeds those of permuted columns. The first kernel is returned, "
                "with one component."
            )
        return (
            f"The first {components} of {best.expression} exceed those of permuted columns by "
            f"{best.mean:.4g}{error} of the variance in feature space, the most of {kernels}."
        )
    if criterion == "alignment":
        return (
            f"{best.expression} has the alignment {best.mean:.4g}{error} with the labels, the largest of "
            f"{kernels}."
        )
    mean = f"a mean {judge.measure} of {best.mean:.4g}{error}"
    return f"{what} has {mean} on held-out rows, the best of {kernels}."


def _remarks(
    criterion: str, judge: Judge, best: TriedKernel, judged: list[TriedKernel], sign: float
) -> list[str]:
    results = []
    margin = _error(best)
    before = judged[: judged.index(best)]
    near = [one for one in before if sign * one.mean >= sign * best.mean - margin]
    if near:
        results.append(
            f"{near[0].expression}, listed before it, is within one standard error: {near[0].mean:.4g}."
        )
    if judge.linear_filter is not None and best.mean > judge.linear_filter - margin:
        results.append(
            "No kernel removes noticeably more noise than a linear filter: the rows show no nonlinear "
            "structure, or it is weaker than their own noise."
        )
    if criterion == "score":
        results.append("The score that chose the kernel is optimistic. Validate on other rows.")
    # Say so when the best width is the last one that was tried.
    widths = [_width(one) for one in judged if not math.isnan(_width(one))]
    if len(set(widths)) >= 3 and _width(best) in (min(widths), max(widths)):
        which = "narrowest" if _width(best) == min(widths) else "widest"
        results.append(f"It is the {which} rbf in the comparison. Extend the range: candidates=[...].")
    return results


def _width(one: TriedKernel) -> float:
    """The width of an rbf that has a single one; NaN for other kernels."""
    sigma = one.kernel.sigma if isinstance(one.kernel, RBF) else None
    return math.nan if sigma is None or np.ndim(sigma) else float(sigma)


# ------------------------------------------------------- criteria, prepared


@dataclass(frozen=True, eq=False)
class Judge:
    """A prepared criterion: the same rows, folds and noise for all kernels.

    Attributes
    ----------
    judged : callable
        Takes a candidate, returns a TriedKernel; raises a GramianError where there is none.
    measure : str
        Name of the values.
    rows : int
        Number of rows used.
    linear_filter : float or None
        For pre-images: the error of the best linear filter of the noisy rows.
    """

    judged: Callable[[KernelPCA], TriedKernel]
    measure: str
    rows: int
    linear_filter: float | None = None


@dataclass(frozen=True, eq=False)
class Asked:
    """The arguments of :func:`gramian.choose_kernel`."""

    criterion: str
    X: np.ndarray[Any, Any]
    labelled: Labelled | None
    tried: Sequence[KernelPCA]
    estimator: Any = None
    cv: Any = FOLDS
    n_components: Any = None
    scoring: Any = None


def prepare(asked: Asked, random_state: Any) -> Judge:
    """Return the requested criterion, prepared on the rows that it uses.

    Raises
    ------
    ParameterError
        For settings that belong to another criterion, and numbers of components that cannot be.
    DataError
        For too few rows.
    """
    _check(asked)
    folding, drawing = generators(random_state)
    if asked.criterion == "preimage":
        return _preimage(asked, folding, drawing)
    if asked.criterion == "parallel":
        return _parallel(asked, drawing)
    return _alignment(asked) if asked.criterion == "alignment" else _score(asked, folding)


def _check(asked: Asked) -> None:
    criterion = asked.criterion
    for name in ("estimator", "scoring"):
        if criterion != "score" and getattr(asked, name) is not None:
            raise ParameterError(
                f"{name} applies to criterion='score' only, but the criterion is {criterion!r}. Leave out "
                "one of them."
            )
    default = asked.cv is None or (is_number(asked.cv) and asked.cv == FOLDS)
    if criterion in ("parallel", "alignment") and not default:
        raise ParameterError(
            f"criterion={criterion!r} does not use cross-validation. Leave out cv={asked.cv!r}."
        )
    given = asked.n_components is not None or any(one.n_components is not None for one in asked.tried)
    if criterion == "parallel" and given:
        raise ParameterError("criterion='parallel' chooses the number of components. Leave out n_components.")


def _preimage(asked: Asked, folding: np.random.Generator, drawing: np.random.Generator) -> Judge:
    X = _varying(asked.X[_picked(asked)])
    folds = draw_folds(asked.cv, X, np.zeros(len(X)), classifier=False, shuffle=folding)
    noisy = NoisyRows.of(X, folds, drawing)
    counts = _counts_of(asked, _smallest(folds))
    return Judge(lambda one: preimage_error(one, noisy, counts(one)), "error", len(X), noisy.linear_filter)


def _parallel(asked: Asked, drawing: np.random.Generator) -> Judge:
    X = _varying(asked.X[_picked(asked)])
    if X.shape[1] < 2:
        raise DataError(
            "criterion='parallel' permutes columns against each other, but X has one. Use another criterion."
        )
    seeds = drawing.integers(2**62, size=REPEATS).tolist()
    return Judge(lambda one: parallel_energy(one, X, seeds), "energy", len(X))


def _alignment(asked: Asked) -> Judge:
    labelled = asked.labelled
    assert labelled is not None
    picked = _picked(asked, labelled.y)
    X = _varying(asked.X[picked])
    target = label_gram(labelled.y[picked], discrete=labelled.classes is not None)
    counts = _counts_of(asked, len(X))
    if asked.n_components is not None and len(counts(asked.tried[0])) > 1:
        raise ParameterError(
            f"criterion='alignment' does not choose between n_components={asked.n_components!r}. "
            "Give one number, or None."
        )

    def judged(one: KernelPCA) -> TriedKernel:
        return replace(alignment(one, X, target), size=next(iter(counts(one)), None))

    return Judge(judged, "alignment", len(X))


def _score(asked: Asked, folding: np.random.Generator) -> Judge:
    labelled = asked.labelled
    assert labelled is not None
    discrete = labelled.classes is not None
    estimator = default_estimator(discrete) if asked.estimator is None else asked.estimator
    scorer = scorer_of(estimator, asked.scoring)
    # Every class is in every fold.
    picked = _picked(asked, labelled.y, int(asked.cv) if is_number(asked.cv) else FOLDS)
    X, y = _varying(asked.X[picked]), labelled.original[picked]
    folds = draw_folds(asked.cv, X, y, classifier=discrete, shuffle=folding)
    counts = _counts_of(asked, _smallest(folds))
    usual = "accuracy" if is_classifier(estimator) else "r2" if is_regressor(estimator) else "score"

    def judged(one: KernelPCA) -> TriedKernel:
        return downstream_score(one, X, y, folds, estimator, scorer, counts(one))

    return Judge(judged, score_name(asked.scoring, usual), len(X))


# ----------------------------------------------------------------------- rows


def _picked(asked: Asked, y: np.ndarray[Any, Any] | None = None, least: int = 2) -> npt.NDArray[np.intp]:
    """Evenly spaced rows; all of them where the folds were given as numbers of rows."""
    (n, d), rows = asked.X.shape, ROWS[asked.criterion]
    if not (asked.cv is None or is_number(asked.cv) or hasattr(asked.cv, "split")):
        return np.arange(n)
    entries = ENTRIES_ONCE if asked.criterion == "alignment" else ENTRIES
    limit = max(min(FEWEST, rows), min(rows, entries // d))
    if asked.criterion == "score" and asked.labelled is not None and asked.labelled.classes is not None:
        limit = max(limit, least * len(asked.labelled.classes))
    return spread_rows(n, limit, y, least)


def spread_rows(
    n: int, limit: int, y: np.ndarray[Any, Any] | None = None, least: int = 2
) -> npt.NDArray[np.intp]:
    """Return the rows that are looked at: all, or evenly spaced ones, in the order of labels where given.

    Parameters
    ----------
    n, limit : int
        How many there are, and how many are taken of more.
    y : ndarray of shape (n,), optional
        Of each value that few rows have, at least some are taken.
    least : int
        How many.

    Examples
    --------
    >>> spread_rows(9, 3), spread_rows(6, 2, np.array([0, 1, 1, 1, 1, 1]), least=1)
    (array([0, 4, 8]), array([0, 5]))
    """
    if n <= limit:
        return np.arange(n)
    places = np.array(evenly(n, limit), dtype=np.intp)
    if y is None:
        return places
    order = np.argsort(y, kind="stable")
    _, starts, sizes = np.unique(y[order], return_index=True, return_counts=True)
    if len(starts) * least <= limit:
        taken = np.searchsorted(places, starts + sizes) - np.searchsorted(places, starts)
        few = taken < np.minimum(sizes, least)
        more = [
            start + np.arange(min(least, size)) for start, size in zip(starts[few], sizes[few], strict=True)
        ]
        places = np.unique(np.concatenate([places, *more]))
    return np.sort(order[places])


def _varying(X: np.ndarray[Any, Any]) -> FloatArray:
    if not np.ptp(X, axis=0).any():
        raise DataError(f"The {len(X)} rows used are all equal, so kernels cannot be compared.")
    return as_float64(X)


# ------------------------------------------------------ numbers of components


def _smallest(folds: Sequence[Fold]) -> int:
    return min(len(train) for train, _ in folds)


def _counts_of(asked: Asked, limit: int) -> Callable[[KernelPCA], tuple[int, ...]]:
    """Return which numbers of components a candidate is tried with; checked for all before any work."""
    wanted, advice = asked.n_components, "Or a list to choose from, or None for a default list."
    given = () if wanted is None else wanted if np.ndim(wanted) else [wanted]
    numbers = tuple(sorted({check_integer("n_components", k, 1, advice=advice) for k in given}))
    default = COUNTS.get(asked.criterion, ())
    common = numbers or tuple(k for k in default if k < limit) or default[:1]
    for k in (*numbers, *(int(one.n_components) for one in asked.tried if one.n_components is not None)):
        if k > limit:
            raise ParameterError(
                f"n_components={k}, but the {limit} rows used for fitting have at most {limit} components. "
                "Ask for fewer."
            )
    return lambda one: common if one.n_components is None else (int(one.n_components),)
