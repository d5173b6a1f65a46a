"""What each criterion needs, drawn once so that all kernels are judged on the same rows, folds and noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold

from gramian.arrays import as_float64
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.estimators.inputs import generators
from gramian.records import FloatArray
from gramian.rows import Rows
from gramian.selection import criteria_alignment, criteria_parallel, criteria_preimage, criteria_score
from gramian.selection.filter_settings import default_estimator
from gramian.selection.folds import Fold, draw_folds
from gramian.selection.kernel_candidates import Candidate
from gramian.selection.kernel_choice import Judgement
from gramian.selection.labels import Labelled

__all__ = ["CRITERIA", "Judge", "Settings", "prepare", "spread_rows"]

CRITERIA = ("preimage", "parallel", "alignment", "score")
FOLDS = 5
# Of many columns fewer rows, so that what is looked at has at most this many entries; alignment passes over
# them once for each kernel, the others many times.
ENTRIES, ENTRIES_ONCE = 1 << 20, 1 << 24
FEWEST = 100


@dataclass(frozen=True, eq=False)
class Settings:
    """What was asked for, as :func:`gramian.choose_kernel` takes it."""

    criterion: str
    estimator: Any
    cv: Any
    n_components: Any
    scoring: Any
    random_state: Any


@dataclass(frozen=True, eq=False)
class Judge:
    """A criterion with all that it needs.

    Attributes
    ----------
    ask : callable
        Takes a Candidate, returns a Judgement; raises a GramianError where there is none.
    measure : str
        What the values are called.
    rows : int
        How many rows it looks at.
    seed : int
        For the models of candidates that have none of their own.
    linear_filter : float or None
        Of pre-images: the error that the best linear filter of the noisy rows has.
    """

    ask: Callable[[Candidate], Judgement]
    measure: str
    rows: int
    seed: int
    linear_filter: float | None = None


@dataclass(frozen=True, eq=False)
class Given:
    """What criteria are made of."""

    settings: Settings
    X: np.ndarray[Any, Any]
    labelled: Labelled | None
    tried: Sequence[Candidate]
    folds_rng: np.random.Generator
    draws_rng: np.random.Generator
    seed: int


def prepare(settings: Settings, rows: Rows, labelled: Labelled | None, tried: Sequence[Candidate]) -> Judge:
    """Return the criterion that was asked for, on the rows that it looks at.

    Raises
    ------
    ParameterError
        For settings that belong to another criterion, and numbers of components that cannot be.
    DataError
        For too few rows.
    """
    _check(settings, tried)
    folds_rng, draws_rng, models_rng = generators(settings.random_state, 3)
    seed = int(models_rng.integers(2**31))
    given = Given(settings, rows.in_memory(), labelled, tried, folds_rng, draws_rng, seed)
    make = {"preimage": _preimage, "parallel": _parallel, "alignment": _alignment, "score": _score}
    return make[settings.criterion](given)


def _check(settings: Settings, tried: Sequence[Candidate]) -> None:
    criterion = settings.criterion
    if criterion != "score":
        for name in ("estimator", "scoring"):
            if getattr(settings, name) is not None:
                raise ParameterError(
                    f"{name} belongs to criterion='score', and the criterion is {criterion!r}. Leave one of "
                    "them out."
                )
    default = settings.cv is None or (_is_number(settings.cv) and settings.cv == FOLDS)
    if criterion in ("parallel", "alignment") and not default:
        raise ParameterError(
            f"criterion={criterion!r} holds no rows out, so that cv={settings.cv!r} has no meaning. Leave it "
            "out."
        )
    given = settings.n_components is not None or any(one.n_components is not None for one in tried)
    if criterion == "parallel" and given:
        raise ParameterError(
            "criterion='parallel' finds the number of components itself. Leave n_components out."
        )


# ------------------------------------------------------------------ criteria


def _preimage(given: Given) -> Judge:
    cv = given.settings.cv
    X = _varying(given.X[_picked(cv, len(given.X), _limit(given, criteria_preimage.ROWS))])
    folds = _folds(cv, X, None, given.folds_rng)
    noisy = criteria_preimage.NoisyRows.of(X, folds, given.draws_rng)
    counts = _counts_of(given, criteria_preimage.COUNTS, _smallest(folds))

    def ask(one: Candidate) -> Judgement:
        return criteria_preimage.preimage_error(one.model, noisy, counts(one))

    return Judge(ask, "error", len(X), given.seed, noisy.linear_filter)


def _parallel(given: Given) -> Judge:
    X = _varying(given.X[spread_rows(len(given.X), _limit(given, criteria_parallel.ROWS))])
    if X.shape[1] < 2:
        raise DataError(
            "criterion='parallel' permutes columns against each other, and X has one. Take another criterion."
        )
    seeds = given.draws_rng.integers(2**62, size=criteria_parallel.REPEATS).tolist()

    def ask(one: Candidate) -> Judgement:
        return criteria_parallel.parallel_energy(one.model, X, seeds)

    return Judge(ask, "energy", len(X), given.seed)


def _alignment(given: Given) -> Judge:
    labelled = given.labelled
    assert labelled is not None
    picked = spread_rows(len(given.X), _limit(given, criteria_alignment.ROWS, ENTRIES_ONCE), labelled.y)
    X = _varying(given.X[picked])
    target = criteria_alignment.label_gram(labelled.y[picked], discrete=labelled.classes is not None)
    counts = _counts_of(given, (), len(X))
    if given.settings.n_components is not None and len(counts(given.tried[0])) > 1:
        raise ParameterError(
            f"criterion='alignment' does not choose between n_components={given.settings.n_components!r}. "
            "Give one number, or none."
        )

    def ask(one: Candidate) -> Judgement:
        found = criteria_alignment.alignment(one.model, X, target)
        return Judgement(found.value, found.standard_error, next(iter(counts(one)), None))

    return Judge(ask, "alignment", len(X), given.seed)


def _score(given: Given) -> Judge:
    settings, labelled = given.settings, given.labelled
    assert labelled is not None
    discrete = labelled.classes is not None
    estimator = default_estimator(discrete) if settings.estimator is None else settings.estimator
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputTypeError(
            f"estimator={estimator!r} is no estimator of scikit-learn. Give one, such as "
            "LogisticRegression(), or None."
        )
    try:
        scorer = check_scoring(estimator, scoring=settings.scoring)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"scoring={settings.scoring!r} cannot be used: {error}") from error
    least = int(settings.cv) if _is_number(settings.cv) else FOLDS
    # Every class is in every fold.
    limit = max(
        _limit(given, criteria_score.ROWS), least * (0 if labelled.classes is None else len(labelled.classes))
    )
    picked = _picked(settings.cv, len(given.X), limit, labelled.y, least)
    X, y = _varying(given.X[picked]), labelled.original[picked]
    folds = _folds(settings.cv, X, y if discrete else None, given.folds_rng, y)
    counts = _counts_of(given, criteria_score.COUNTS, _smallest(folds))

    def ask(one: Candidate) -> Judgement:
        return criteria_score.downstream_score(one.model, X, y, folds, estimator, scorer, counts(one))

    return Judge(ask, _score_name(settings.scoring, estimator), len(X), given.seed)


def _score_name(scoring: Any, estimator: Any) -> str:
    if scoring is not None:
        return scoring if isinstance(scoring, str) else str(getattr(scoring, "__name__", "score"))
    return "accuracy" if is_classifier(estimator) else "r2" if is_regressor(estimator) else "score"


# ----------------------------------------------------------- rows and folds


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
    places = np.unique(np.linspace(0, n - 1, limit).round().astype(np.intp))
    if y is None:
        return places
    order = np.argsort(y, kind="stable")
    ordered = y[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if len(first) * least <= limit:
        sizes = np.diff(np.append(first, n))
        kept = [start + np.arange(min(least, size)) for start, size in zip(first, sizes, strict=True)]
        places = (
            np.union1d(places, np.concatenate(kept)) if _missing(ordered, places, first, least) else places
        )
    return np.sort(order[places])


def _missing(ordered: Any, places: Any, first: Any, least: int) -> bool:
    """Whether some value has fewer rows among those taken than it should."""
    taken = np.searchsorted(places, np.append(first, len(ordered)))
    sizes = np.diff(np.append(first, len(ordered)))
    return bool(np.any(np.diff(taken) < np.minimum(sizes, least)))


def _limit(given: Given, rows: int, entries: int = ENTRIES) -> int:
    """How many rows are looked at."""
    return max(min(FEWEST, rows), min(rows, entries // int(given.X.shape[1])))


def _picked(
    cv: Any, n: int, limit: int, y: np.ndarray[Any, Any] | None = None, least: int = 2
) -> npt.NDArray[np.intp]:
    """Evenly spaced rows; all of them where the folds were given as numbers of rows."""
    cut = cv is None or _is_number(cv) or hasattr(cv, "split")
    return spread_rows(n, limit, y, least) if cut else np.arange(n)


def _is_number(cv: Any) -> bool:
    return isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)


def _folds(
    cv: Any,
    X: FloatArray,
    classes: np.ndarray[Any, Any] | None,
    rng: np.random.Generator,
    y: np.ndarray[Any, Any] | None = None,
) -> list[Fold]:
    """Draw folds at random for a number of them; stratified where there are classes."""
    cv = FOLDS if cv is None else cv
    labels = np.zeros(len(X)) if y is None else y
    if not _is_number(cv):
        return draw_folds(cv, X, labels, classifier=classes is not None)
    if cv < 2:
        raise ParameterError(f"cv={cv} is no number of folds. Give at least 2.")
    if len(X) < cv:
        raise DataError(
            f"cv={cv} but there are {len(X)} rows: every fold needs one. Give cv={len(X)} at most."
        )
    kind = KFold if classes is None else StratifiedKFold
    splitter = kind(int(cv), shuffle=True, random_state=int(rng.integers(2**31)))
    return draw_folds(splitter, X, labels, classifier=classes is not None)


def _varying(X: np.ndarray[Any, Any]) -> FloatArray:
    if not np.ptp(X, axis=0).any():
        raise DataError(
            f"The {len(X)} rows looked at are all equal: there is nothing to tell kernels apart by."
        )
    return as_float64(X)


# ------------------------------------------------------ numbers of components


def _smallest(folds: Sequence[Fold]) -> int:
    return min(len(train) for train, _ in folds)


def _counts_of(given: Given, default: tuple[int, ...], limit: int) -> Callable[[Candidate], tuple[int, ...]]:
    """Return which numbers of components a candidate is tried with; checked for all before any work."""
    asked = _numbers(given.settings.n_components)
    common = asked if asked is not None else tuple(k for k in default if k < limit) or default[:1]
    for k in (*(asked or ()), *(one.n_components for one in given.tried if one.n_components is not None)):
        if k > limit:
            raise ParameterError(
                f"n_components={k} but only {limit} rows are left to fit on, which have at most {limit} "
                "components. Ask for fewer."
            )
    return lambda one: common if one.n_components is None else (one.n_components,)


def _numbers(n_components: Any) -> tuple[int, ...] | None:
    if n_components is None:
        return None
    several = n_components if isinstance(n_components, (Sequence, np.ndarray, range)) else [n_components]
    whole = [isinstance(k, (int, np.integer)) and not isinstance(k, bool) and k >= 1 for k in several]
    if isinstance(n_components, str) or not len(whole) or not all(whole):
        raise ParameterError(
            f"n_components={n_components!r} must be a number of at least 1, or a list of them to choose "
            "from, or None for a list that fits."
        )
    return tuple(sorted({int(k) for k in several}))
