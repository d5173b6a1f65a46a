"""Chooses a kernel, its width and the number of components by a criterion comparable between kernels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.parallel import Parallel, delayed

from gramian import errors
from gramian.core import progress
from gramian.core.arrays import as_float64, blas_threads, to_numpy
from gramian.core.checks import check_choice, check_integer, counted, evenly, plain
from gramian.core.records import FloatArray, IndexArray, Seed
from gramian.engine.linear import factors
from gramian.errors import DataError, GramianError, InputTypeError, ParameterError
from gramian.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial
from gramian.kernels.expression import PRECOMPUTED
from gramian.kernels.widths import MEDIAN_ROWS, median_distance
from gramian.models.inputs import generators
from gramian.models.kernel_pca.estimator import KernelPCA
from gramian.models.kernel_pca.fits import asked_kernel
from gramian.models.kernel_pca.projection import Standardisation, as_scaled
from gramian.models.kernel_pca.rules import first_components, with_kernel
from gramian.select import validation
from gramian.select.targets import Labelled, as_labelled
from gramian.statistics.candidates import Candidate, Choice, Selection
from gramian.tables.as_rows import as_rows
from gramian.tables.labels import as_array
from gramian.tables.rows import Rows

CRITERIA = ("preimage", "score")
FOLDS = 5
ROWS = {"preimage": 300, "score": 500}  # taken at most
COUNTS = {"preimage": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64), "score": (1, 2, 4, 8, 16, 32, 64)}
# Of many columns fewer rows, so that what is looked at has at most this many entries.
ENTRIES = 1 << 20
FEWEST = 100
# Of the best value, and of its standard error: what differs by less is a tie, and goes to the first kernel.
TIE, TIE_ERROR = 1e-3, 0.1


@dataclass(frozen=True, eq=False)
class TriedKernel(Candidate):
    """One kernel of the comparison.

    Attributes
    ----------
    candidate : KernelPCA
        Not fitted; its kernel has every parameter a number.
    size : int or None
        Number of components of the value; None where the criterion failed.
    mean, standard_error : float
        Value of the criterion; NaN where it failed.
    remark : str
        Why there is no value, or a doubt about the kernel.
    """

    remark: str = ""

    @property
    def kernel(self) -> Kernel:
        """The kernel, every parameter a number."""
        kernel: Kernel = self.candidate.kernel
        return kernel

    @property
    def expression(self) -> str:
        """The kernel as :class:`gramian.KernelPCA` and the command line read it."""
        return repr(self.kernel)


@dataclass(frozen=True, eq=False, repr=False)
class KernelSelection(Selection[TriedKernel]):
    """The kernels that were compared, and the chosen one; prints as a table.

    Attributes
    ----------
    tried : tuple of TriedKernel
        In the order that they were given.
    choice : Choice
        The best of them, and the reason.
    n_components : int or None
        The chosen number of components; None where the criterion does not choose one.
    criterion : {"preimage", "score"}
        How kernels were compared.
    scale : str or None
        "unit" for standardised columns.
    measure : str
        Name of the values: error, or the name of a score.
    notes : tuple of str
        Automatic decisions, such as fewer rows.
    about : str
        Description of the comparison.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian
    >>> X, y = load_iris(return_X_y=True)
    >>> selection = gramian.choose_kernel(X, y, ["linear", "rbf(sigma=1)"], n_components=[2])
    >>> selection.best, selection.n_components, selection.measure
    (linear(), 2, 'accuracy')
    """

    criterion: str = ""
    scale: str | None = None

    columns: ClassVar[tuple[str, ...]] = (
        *("kernel", "value", "standard_error", "components", "best", "remark"),
    )
    unit: ClassVar[str] = "components"

    @property
    def n_components(self) -> int | None:
        """The number of components that goes with the best kernel."""
        return self.chosen.size and max(1, self.chosen.size)

    @property
    def best(self) -> Kernel:
        """The best kernel, for ``KernelPCA(kernel=...)``; every parameter is a number."""
        return self.chosen.kernel

    @property
    def model(self) -> KernelPCA:
        """A KernelPCA with this kernel and number of components, ready to be fitted."""
        model: KernelPCA = clone(self.chosen.candidate).set_params(n_components=self.n_components)
        return model if self.scale is None else model.set_params(scale=self.scale)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return expression, value, standard error, components, whether it is best, and remark, for each."""
        return [
            (t.expression, t.mean, t.standard_error, t.size, t is self.chosen, t.remark) for t in self.tried
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; None for a value that there is not."""
        facts = {
            "about": self.about,
            "criterion": self.criterion,
            "measure": self.measure,
            "kernel": repr(self.best),
            "components": self.n_components,
            "reason": self.choice.why,
            "notes": self.notes,
            "candidates": [dict(zip(self.columns, row, strict=True)) for row in self.rows()],
        }
        return dict(plain(facts))

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row for each kernel."""
        frame = super().to_frame().rename(columns={"value": self.measure})
        return frame.astype({"components": "Int64"})

    def label_of(self, candidate: TriedKernel) -> str:
        """Return a kernel as it is written."""
        return candidate.expression

    def remarks(self) -> list[str]:
        """Return the reason, remarks about kernels, and the notes."""
        doubts = [f"- {t.expression}: {t.remark}" for t in self.tried if t.remark]
        return [self.choice.why, *doubts, *(f"- {note}" for note in self.notes)]


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
    scale: Literal["unit"] | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> KernelSelection:
    """Compare kernels, and choose one with its width and number of components.

    Explained variance in feature space is not comparable: each kernel has its own feature space, and a wide
    enough rbf keeps all variance in few components. The criteria compare in the space of the rows or of the
    labels.

    Parameters
    ----------
    X : array-like, frame, Path, Scan or Rows of shape (n_samples, n_features)
        Dense rows.
    y : array-like of shape (n_samples,), optional
        Labels: classes or numbers. Those of a file that was read with ``label=`` are used where it is None.
        Where they are used, rows whose label is missing are left out, with a warning.
    candidates : sequence of str, callable, Kernel or KernelPCA, optional
        Kernels to compare, simple ones first: values within 0.1 %, or a tenth of the standard error, tie,
        and ties go to the first. A KernelPCA keeps its other parameters, and ``n_components`` where it is a
        number. None compares linear, cosine, poly of degree 2 and 3, rbf of 6 widths around the median
        distance, and laplacian of 2. Widths that depend on
        the data come from all rows, before folds are drawn.
    criterion : {"preimage", "score"}, optional
        - "preimage", the default without y: noise is added to held-out rows, and the pre-images of their
          projections are compared with the rows without noise. The error is the mean squared error over
          that of the noise, the same for all kernels. At most 300 rows.
        - "score", the default with y: cross-validated score of ``estimator`` on the kernel's components.
          At most 500 rows.

        Larger data are reduced to evenly spaced rows, stratified by label where there are labels; with
        thousands of columns to fewer, but at least 100.
    estimator : estimator of scikit-learn, optional
        For "score". None is logistic regression for classes and ridge for numbers, on standardised scores.
    cv : int, splitter or iterable of (train, test), default=5
        A number splits the rows at random, stratified by classes. With explicit
        splits all rows are used.
    n_components : int, list of int or None
        Numbers to compare; None is 1, 2, 3, 4, 6, 8, ... 64 for "preimage", 1, 2, 4, ... 64 for "score".
    scoring : str or callable, optional
        For "score": of scikit-learn. None is the estimator's own, accuracy or r2.
    scale : {None, "unit"}, default=None
        "unit" compares kernels of standardised columns, by all rows; ``model`` has it too.
    random_state : int, RandomState, Generator or None, default=0
        For folds and noise, which are the same for all kernels; None draws a new seed at each
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
        For equal rows, a single class, labels that do not match, and where no kernel can be
        evaluated. A kernel that fails while others do not is in the table with the reason.
    InputTypeError
        For sparse data, and candidates that are not a list.

    References
    ----------
    Mika et al. (1998), Kernel PCA and de-noising in feature spaces, for pre-images.

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
    rows, labelled = _with_labels(rows, y, criterion, estimator, scoring, cv)
    scaling = Standardisation.of(scale, rows)
    rows = rows if scaling is None else scaling.rows(rows)
    indices = _rows_used(criterion, rows.shape, labelled, cv)
    X = as_float64(rows.in_memory()[indices])
    if not np.ptp(X, axis=0).any():
        raise DataError(f"The {len(X)} rows used are all equal, so kernels cannot be compared.")
    models = as_candidates(candidates, rows)
    for name, value in (("estimator", estimator), ("scoring", scoring)):
        if criterion != "score" and value is not None:
            only = f'applies to criterion="score" only, but the criterion is {criterion!r}.'
            raise ParameterError(name, allowed=only, hint="Leave out one of them.")
    folding, drawing = generators(random_state)
    (n, d), classes = rows.shape, labelled is not None and labelled.classes is not None
    y = np.zeros(len(X)) if labelled is None else labelled.original[indices]
    folds = validation.draw_folds(cv, X, y, classifier=classes, shuffle=folding)
    numbers = _numbers_of(criterion, n_components, models, min(len(train) for train, _ in folds))
    measure, linear_filter = "error", None
    with progress.shows_progress("choose_kernel"):
        if criterion == "preimage":
            noisy = NoisyRows.of(X, folds, drawing)
            linear_filter, judge = noisy.linear_filter, partial(preimage_error, noisy=noisy)
        else:
            estimator = validation.default_estimator(classes) if estimator is None else estimator
            scorer = validation.scorer_of(estimator, scoring)
            usual = "accuracy" if is_classifier(estimator) else "r2" if is_regressor(estimator) else "score"
            measure, task = validation.score_name(scoring, usual), {"X": X, "y": y, "folds": folds}
            judge = partial(downstream_score, **task, estimator=estimator, scorer=scorer)
        with warnings.catch_warnings():  # scikit-learn's threads mix up the filters that they put back
            tried = Parallel(n_jobs=n_jobs)(
                delayed(_tried)(judge, model, numbers, number, len(models))
                for number, model in enumerate(models, 1)
            )
    judged = [candidate for candidate in tried if not math.isnan(candidate.mean)]
    if not judged:
        problems = "; ".join(f"{candidate.expression}: {candidate.remark}" for candidate in tried[:3])
        raise DataError(f"None of {len(tried)} kernels can be evaluated by {criterion=}. {problems}")
    best = _best(judged, sign=-1.0 if criterion == "preimage" else 1.0)
    notes = list(_remarks(best, linear_filter))
    notes += [f"{len(X):,} of the {n:,} rows were used, evenly spaced."] if len(X) < n else []
    notes += [f"{criterion=} does not use the labels."] if has_labels and criterion != "score" else []
    about = f"Kernel for {n:,} rows x {d:,} columns, by {criterion}"
    choice = Choice(tried.index(best), _reason(best, len(judged), measure, linear_filter))
    about += "" if scaling is None else ", of standardised columns"
    return KernelSelection(tuple(tried), about, choice, tuple(notes), measure, criterion, scale)


def _with_labels(
    rows: Any, y: Any, criterion: str, estimator: Any, scoring: Any, cv: Any
) -> tuple[Any, Labelled | None]:
    """Return rows and labels where these decide, without the rows that have none; else all rows."""
    if criterion == "score":
        if estimator is not None:
            validation.scorer_of(estimator, scoring)  # raises an error for what is no estimator
        kind = validation.kind_of_label(estimator)
        labelled = as_labelled(rows, y, estimator="choose_kernel", discrete=kind, cv=cv)
        return replace(rows, values=labelled.X), labelled
    if y is not None and np.size(as_array(y)) != rows.shape[0]:
        labels = f"y has {np.size(as_array(y))} labels but X has {rows.shape[0]} rows."
        raise DataError(labels, "Give one label for each row.")
    return rows, None


def _tried(
    judge: Callable[..., TriedKernel], model: KernelPCA, numbers: Sequence[int], number: int, total: int
) -> TriedKernel:
    """Evaluate one kernel; a failure becomes a remark, so that it does not hide the others."""
    progress.report(f"kernel {number} of {total}: {model.kernel!r}", "kernel", number - 1, total)
    counts = numbers if model.n_components is None else (int(model.n_components),)
    try:
        # Matrices of a few hundred rows: threads of BLAS cost more than they save.
        with blas_threads():
            result = judge(model, counts=counts)
    except GramianError as error:
        return TriedKernel(model, None, math.nan, remark=str(error))
    return replace(result, candidate=model, remark=_doubt(model))


def _doubt(model: Any) -> str:
    """Return the remark about a kernel that is not proven positive semidefinite."""
    if model.kernel.psd:
        return ""
    if model.repair is not None:
        return "It is not proven positive semidefinite; negative eigenvalues are set to 0."
    if model.kernel.validity.refuted:
        return "It is not a valid kernel, but has no negative eigenvalues among the components used here."
    return "It is not proven positive semidefinite."


def _best(judged: Sequence[TriedKernel], sign: float) -> TriedKernel:
    """Return the first kernel whose value, times the sign, is the largest or ties with it."""
    values = sign * np.array([candidate.mean for candidate in judged])
    top = int(np.argmax(values))
    slack = max(TIE * abs(values[top]), TIE_ERROR * float(np.nan_to_num(judged[top].standard_error)))
    return judged[int(np.argmax(values >= values[top] - slack))]


def _reason(best: TriedKernel, count: int, measure: str, linear_filter: float | None) -> str:
    error = "" if math.isnan(best.standard_error) else f" (standard error {best.standard_error:.2g})"
    what, kernels = f"{best.expression} with {counted(best.size or 0, 'component')}", counted(count, "kernel")
    if linear_filter is None:
        mean = f"a mean {measure} of {best.mean:.4g}{error}"
        return f"{what} has {mean} on held-out rows, the best of {kernels}."
    return (
        f"Pre-images by {what} have {best.mean:.4g}{error} times the error of noisy held-out rows, the "
        f"smallest of {kernels}. Without denoising it is 1, with the best linear filter {linear_filter:.4g}."
    )


def _remarks(best: TriedKernel, linear_filter: float | None) -> Iterator[str]:
    if linear_filter is None:
        yield "The score that chose the kernel is optimistic. Validate on other rows."
    elif best.mean > linear_filter - float(np.nan_to_num(best.standard_error)):
        yield (
            "No kernel removes noticeably more noise than a linear filter: the rows show no nonlinear "
            "structure, or it is weaker than their own noise."
        )


def _rows_used(criterion: str, shape: tuple[int, ...], labelled: Labelled | None, cv: Any) -> IndexArray:
    """Evenly spaced rows; all of them where the folds were given as numbers of rows."""
    (n, d), most, least = shape, ROWS[criterion], 2
    if not (cv is None or isinstance(cv, Integral) or hasattr(cv, "split")):
        return np.arange(n)
    limit = max(min(FEWEST, most), min(most, ENTRIES // d))
    if labelled is not None:  # every class is in every fold
        least = int(cv) if isinstance(cv, Integral) else FOLDS
        limit = limit if labelled.classes is None else max(limit, least * len(labelled.classes))
    return spread_rows(n, limit, None if labelled is None else labelled.y, least)


def spread_rows(n: int, limit: int, y: np.ndarray[Any, Any] | None = None, least: int = 2) -> IndexArray:
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
    rows = np.array(evenly(n, limit), dtype=np.intp)
    if y is None:
        return rows
    order = np.argsort(y, kind="stable")
    _, starts, sizes = np.unique(y[order], return_index=True, return_counts=True)
    if len(starts) * least <= limit:
        taken = np.searchsorted(rows, starts + sizes) - np.searchsorted(rows, starts)
        few = taken < np.minimum(sizes, least)
        more = [
            start + np.arange(min(least, size)) for start, size in zip(starts[few], sizes[few], strict=True)
        ]
        rows = np.unique(np.concatenate([rows, *more]))
    return np.sort(order[rows])


def _numbers_of(criterion: str, n_components: Any, tried: Sequence[KernelPCA], limit: int) -> tuple[int, ...]:
    """Return the numbers of components to try; checked for all candidates before any work."""
    advice = "Or a list to choose from, or None for a default list."
    requested = () if n_components is None else n_components if np.ndim(n_components) else [n_components]
    numbers = tuple(sorted({check_integer("n_components", k, 1, advice=advice) for k in requested}))
    default = COUNTS[criterion]
    for k in (*numbers, *(int(model.n_components) for model in tried if model.n_components is not None)):
        if k > limit:
            why = f"is too many: the {limit} rows used for fitting have at most {limit} components."
            raise ParameterError("n_components", k, why, "Ask for fewer.")
    return numbers or tuple(k for k in default if k < limit) or default[:1]


# ---- The kernels to compare: those of the user, or a default list for the data

WIDTHS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125)  # of rbf, over the median distance
LAPLACIAN_WIDTHS = (2.0, 1.0)
DIGITS = 4


def as_candidates(candidates: Any, rows: Rows) -> tuple[KernelPCA, ...]:
    """Return unfitted models whose kernels have every parameter a number.

    Widths that depend on the data are filled in. A number of components is the one that the user asked for.

    Parameters
    ----------
    candidates : sequence of str, callable, Kernel or KernelPCA, or None
        None takes :func:`default_kernels`.
    rows : Rows
        All of the data.

    Raises
    ------
    ParameterError
        For an expression that cannot be read, a precomputed kernel.
    InputTypeError
        For what is no list, an empty one, and for what is no kernel.
    """
    if candidates is None:
        candidates = default_kernels(rows.in_memory())
    lists = isinstance(candidates, (Sequence, np.ndarray)) and not isinstance(candidates, str)
    if not lists or not len(candidates):
        example = "Give for instance ['linear', 'rbf(sigma=2)'], or None for a default list."
        raise InputTypeError(f"candidates={candidates!r} is not a list of kernels.", example)
    return tuple(_candidate(candidate, rows) for candidate in candidates)


def _candidate(kernel_or_model: Any, rows: Rows) -> KernelPCA:
    model = kernel_or_model if isinstance(kernel_or_model, KernelPCA) else KernelPCA(kernel=kernel_or_model)
    if isinstance(model.kernel, str) and model.kernel.strip() == PRECOMPUTED:
        why = "cannot be compared: a matrix has no held-out rows and no columns"
        hint = "Give the rows, and kernels by name, expression or object."
        raise ParameterError("kernel", PRECOMPUTED, why, hint)
    wanted = model.n_components
    if wanted is not None:
        check_integer(f"The n_components of {model!r}", wanted, 1, advice="None chooses it.")
    kernel = asked_kernel(model)
    resolved = kernel.resolve(as_scaled(model.scale, rows), rows.feature_names)
    # As it was written, where nothing in it waits for data: a width stays a width.
    candidate: KernelPCA = with_kernel(model, kernel if _settled(kernel) else resolved)
    return candidate


def _settled(kernel: Kernel) -> bool:
    """Whether every parameter is a number already."""
    values = [value for value in kernel.get_params(deep=False).values() if not isinstance(value, Kernel)]
    if isinstance(kernel, RBF):
        # One of its two parameters is never given.
        values = [kernel.gamma if kernel.sigma is None else kernel.sigma]
    waits = any(value is None or "U" in np.asarray(value).dtype.char for value in values)
    return not waits and all(_settled(inner) for inner in kernel.parts)


def default_kernels(X: Any) -> list[Kernel]:
    """Return a list of kernels that fits the data, simple ones first.

    linear, cosine, poly of degree 2 and 3 with x . y over the median of ``||x||^2``, rbf with the median
    distance between rows times 4, 2, 1, 1/2, 1/4 and 1/8 as width, laplacian with twice and once its own
    median distance.
    Distances are those of at most 1000 evenly spaced rows. Numbers are rounded to 4 digits. Of a single
    column there is no cosine.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Finite, not all rows equal.

    Examples
    --------
    >>> default_kernels(np.array([[0.0, 1.0], [2.0, -1.0], [1.0, 3.0], [2.0, 2.0]]))[:3]
    [linear(), cosine(), poly(degree=2, gamma=0.1538)]
    """
    X = _evenly(X, MEDIAN_ROWS)
    results: list[Kernel] = [Linear()]
    if X.shape[1] > 1:
        results.append(Cosine())
    gamma = _factor(np.sum(X**2, axis=1))
    if 0 < gamma < np.inf:
        results += [Polynomial(2, gamma), Polynomial(3, gamma)]
    middle, sums = median_distance(X), median_distance(X, "cityblock")
    results += [RBF(sigma=_rounded(factor * middle)) for factor in WIDTHS]
    results += [Laplacian(_rounded(1.0 / (factor * sums))) for factor in LAPLACIAN_WIDTHS]
    return results


def _rounded(value: float) -> float:
    """Few digits, so that the kernel can be typed."""
    return float(f"{value:.{DIGITS}g}")


def _evenly(X: Any, limit: int) -> FloatArray:
    """Evenly spaced rows as float64; where they would be equal, different ones."""
    subset = X[evenly(len(X), limit)]
    return as_float64(subset if np.ptp(subset, axis=0).any() else np.unique(X, axis=0)[:limit])


def _factor(sizes: FloatArray) -> float:
    """Return 1 over the median size, over the mean where that is 0; 4 digits."""
    with np.errstate(over="ignore", divide="ignore"):
        return _rounded(float(1.0 / np.float64(float(np.median(sizes)) or sizes.mean())))


# ---- Criteria comparable between kernels: pre-images, cross-validated score

# Least and most noise, over the spread of the data.
LEAST, MOST = 0.25, 1.0
# Relatively: values that agree like this are equal, and the fewer components are taken.
SAME_ERROR = 1e-3
QUIET = errors.RankWarning, errors.CertificateWarning, errors.IndefiniteKernelWarning


def _measured(
    model: KernelPCA,
    X: FloatArray,
    folds: Sequence[validation.Fold],
    counts: Sequence[int],
    measure: Callable[[KernelPCA, int], Callable[[int], Any]],
) -> tuple[FloatArray, list[int]]:
    """Return a measure for each fold and number of components, shape (folds, counts, ...), and the numbers.

    Of several numbers those beyond the rank, whose components are 0, are named by it.
    """
    values, rank = [], 0
    for fold, (train, _) in enumerate(folds):
        fitted = clone(model).set_params(n_components=int(counts[-1])).fit(X[train])
        rank, by_count = max(rank, fitted.rank_), measure(fitted, fold)
        results: list[Any] = []
        for column, k in enumerate(counts):
            # Components beyond the rank are 0 for all rows.
            same = column and fitted.rank_ <= counts[column - 1]
            results.append(results[-1] if same else by_count(int(k)))
        values.append(results)
    return np.array(values), [int(k) if len(counts) == 1 else min(int(k), max(1, rank)) for k in counts]


# ------------------------------------------------------------------ pre-images


def spread(X: FloatArray) -> float:
    """Return the root of the mean variance of the columns that vary.

    Examples
    --------
    >>> spread(np.array([[1e200, 0.1], [3e200, 0.1]]))
    1e+200
    """
    varies = np.ptp(X, axis=0) > 0
    away = X[:, varies] - X[:, varies].mean(axis=0)
    largest = float(np.abs(away).max())
    return largest * float(np.sqrt(np.mean((away / largest) ** 2)))


def noise_size(X: FloatArray) -> float:
    """Return how much noise tells kernels apart on these rows, over their spread.

    Noise as long as the way from a row to the nearest other one, in the median: less can hardly be told from
    the gaps between rows, more wipes out what they show. From 0.25 to 1 times the spread.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Not all rows equal.

    Examples
    --------
    >>> noise_size(np.array([[0.0], [1.0], [5.0], [5.5], [6.0]]))
    0.25
    """
    varies = np.ptp(X, axis=0) > 0
    away = (X[:, varies] - X[:, varies].mean(axis=0)) / spread(X)
    apart = squareform(pdist(away))
    np.fill_diagonal(apart, np.inf)
    near = float(np.median(apart.min(axis=0))) / np.sqrt(away.shape[1])
    return float(np.clip(near, LEAST, MOST))


@dataclass(frozen=True, eq=False)
class NoisyRows:
    """Rows, and what is added to them when they are held out: the same for every kernel.

    Attributes
    ----------
    rows, noise : ndarray of shape (n, d)
    folds : sequence of (train, test)
    axes : ndarray of shape (d, r)
        Principal axes of the rows.
    """

    rows: FloatArray
    noise: FloatArray
    folds: Sequence[validation.Fold]
    axes: FloatArray

    @classmethod
    def of(cls, X: FloatArray, folds: Sequence[validation.Fold], rng: np.random.Generator) -> Self:
        """Draw noise of the size that suits the rows; a column that does not vary gets none."""
        unit = spread(X)
        noise = noise_size(X) * unit * rng.standard_normal(X.shape) * (np.ptp(X, axis=0) > 0)
        return cls(X, noise, folds, factors((X - X.mean(axis=0)) / unit, min(X.shape))[2].T)

    @cached_property
    def added(self) -> FloatArray:
        """Sum of squares of the noise in every fold."""
        return np.array([np.sum(self.noise[test] ** 2) for _, test in self.folds])

    @cached_property
    def linear_filter(self) -> float:
        """The error of the best linear filter.

        Each principal axis of the noisy rows times a factor; what lies outside of the span of the fitted rows
        is left out.
        """
        results = []
        for fold, (train, test) in enumerate(self.folds):
            mean = self.rows[train].mean(axis=0)
            fitted = self.rows[train] - mean
            span = factors(fitted, min(fitted.shape))[2]
            away = self.rows[test] + self.noise[test] - mean
            results.append([self.products(fold, mean + away @ span.T @ span)])
        return float(filtered_errors(np.array(results), self.added).mean())

    def products(self, fold: int, result: FloatArray) -> FloatArray:
        """Compare what was found for the held-out rows of a fold with the rows themselves.

        Returns
        -------
        ndarray of shape (3, r)
            Along each axis the sums of squares of found rows, of their products with the true ones, and of
            squares of the true ones, all away from the mean of the fitted rows.
        """
        train, test = self.folds[fold]
        mean = self.rows[train].mean(axis=0)
        back, true = ((away - mean) @ self.axes for away in (result, self.rows[test]))
        return np.array([np.sum(a * b, axis=0) for a, b in ((back, back), (back, true), (true, true))])


def preimage_error(model: KernelPCA, noisy: NoisyRows, counts: Sequence[int]) -> TriedKernel:
    """Return the error of pre-images of held-out rows with noise, for the best number of components.

    A pre-image of a row as it is comes the closer to it the more components there are, and says nothing.
    Noise is added to held-out rows instead, and the pre-images of their projections are compared with the
    rows before the noise, in the space of the data, which all kernels share. The error is the sum of squares
    of what is wrong over that of the noise: 1 for doing nothing, 0 for the rows themselves.

    The number of components is the one whose pre-images have the least error. Kernels are compared after one
    more step: distances from the mean along each principal axis of the data are multiplied by the factor
    that makes the error least. Pulling rows towards the mean, more so along axes with little variance,
    lowers the error for any data; curved kernels do it by themselves, and must not be credited for it.
    A kernel that takes no negative numbers sees noisy rows cut off at 0.

    Parameters
    ----------
    model : KernelPCA
        Not fitted; its kernel has every parameter a number.
    noisy : NoisyRows
    counts : sequence of int
        Numbers of components to try, ascending, at most the rows of every training part.

    Returns
    -------
    TriedKernel
        The standard error is the standard deviation over folds over the root of their number. Of numbers of
        components whose errors agree to 0.1 % the smallest.

    Raises
    ------
    DataError
        Where pre-images are so far away that squares are no numbers.

    References
    ----------
    Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature spaces.
    """
    kernel: Any = model.kernel
    X, floor = noisy.rows, kernel.floor(noisy.rows.shape[1])

    def measure(fitted: KernelPCA, fold: int) -> Callable[[int], FloatArray]:
        test = noisy.folds[fold][1]
        scores = fitted.transform(np.maximum(X[test] + noisy.noise[test], floor))
        return lambda k: noisy.products(fold, first_components(fitted, k).inverse_transform(scores[:, :k]))

    with errors.ignoring(*QUIET, errors.PreimageWarning):
        values, numbers = _measured(model, X, noisy.folds, counts, measure)
    if not np.isfinite(values).all():
        raise DataError("Pre-images exceed the range of float64. Scale the data first.")
    plain = np.sum(values[:, :, 0] - 2.0 * values[:, :, 1] + values[:, :, 2], axis=2)
    total = plain.sum(axis=0)
    best = int(np.argmax(total <= total.min() * (1.0 + SAME_ERROR)))
    return TriedKernel.in_folds(model, numbers[best], filtered_errors(values, noisy.added)[:, best])


def filtered_errors(products: FloatArray, added: FloatArray) -> FloatArray:
    """Return errors over the noise, with the factor for each axis that makes their sum over folds least.

    Parameters
    ----------
    products : ndarray of shape (folds, counts, 3, r)
    added : ndarray of shape (folds,)

    Returns
    -------
    ndarray of shape (folds, counts)
    """
    squares, cross, true = (products[:, :, i] for i in range(3))
    total = squares.sum(axis=0)
    factor = np.where(total > 0, cross.sum(axis=0) / np.where(total > 0, total, 1.0), 0.0)
    left = np.sum(factor**2 * squares - 2.0 * factor * cross + true, axis=2)
    return np.asarray(left / added[:, None])


# ---------------------------------------------------------------------- score


def downstream_score(
    model: KernelPCA,
    X: FloatArray,
    y: np.ndarray[Any, Any],
    folds: Sequence[validation.Fold],
    estimator: Any,
    scorer: validation.Scorer,
    counts: Sequence[int],
) -> TriedKernel:
    """Return the cross-validated score of an estimator on kernel PCA's scores, for the best number of them.

    In every fold the training rows alone are decomposed; the held-out rows are transformed by that.

    Parameters
    ----------
    model : KernelPCA
        Not fitted; its kernel has every parameter a number.
    X : ndarray of shape (n, d), float64
    y : ndarray of shape (n,)
    folds : sequence of (train, test)
    estimator : object
        Cloned for every fit.
    scorer : callable
        Takes a fitted estimator, rows and labels; larger is better.
    counts : sequence of int
        Numbers of components to try, ascending, at most the rows of every training part.

    Returns
    -------
    TriedKernel
        The mean over folds; the standard error is the standard deviation over folds over the root of their
        number. Of numbers of components whose means agree to 0.1 % the smallest.

    Raises
    ------
    DataError
        Where the estimator cannot be fitted, and for a score that is no number.
    """

    def measure(fitted: KernelPCA, fold: int) -> Callable[[int], float]:
        (train, test), where = folds[fold], f"components in fold {fold + 1} of {len(folds)}"
        fitted_scores, new_scores = fitted.transform(X[train]), fitted.transform(X[test])
        return lambda k: validation.fitted_score(
            estimator,
            scorer,
            (fitted_scores[:, :k], y[train]),
            (new_scores[:, :k], y[test]),
            f"with {k} {where}",
        )

    with errors.ignoring(*QUIET):
        values, numbers = _measured(model, X, folds, counts, measure)
    mean = values.mean(axis=0)
    best = int(np.argmax(mean >= mean.max() - SAME_ERROR * abs(mean.max())))
    return TriedKernel.in_folds(model, numbers[best], values[:, best])
