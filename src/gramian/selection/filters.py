"""Univariate feature selection: each feature is scored by itself."""

from __future__ import annotations

import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.stats import false_discovery_control
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from gramian.analysis.candidates import (
    WIDTH,
    Candidate,
    Choice,
    Selection,
    bar,
    best,
    within_one_standard_error,
    writer,
)
from gramian.analysis.components import column_names
from gramian.checks import check_choice, check_integer, check_number, check_share, counted, listed
from gramian.errors import DataError, ParameterError
from gramian.estimators.inputs import generators
from gramian.estimators.sklearn_hints import knows_names, refuse_metadata
from gramian.records import FloatArray, Seed
from gramian.selection.labels import Labelled, as_labelled
from gramian.selection.ranking import SCORES, Ranker
from gramian.selection.selector import ColumnSelector
from gramian.selection.validation import (
    Fold,
    Validation,
    default_estimator,
    draw_folds,
    estimator_name,
    is_number,
    kind_of_label,
    notes_of,
    score_name,
    scorer_of,
    warnings_counted,
)

# So many features at least are put in order by "mrmr"; each costs a pass over the data.
MOST_ORDERED = 1000
HEADS = {"mutual-information": "nats", "f": "F", "chi2": "chi2", "correlation": "|r|"}
STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
LEAST_CEILING = 100


@dataclass(frozen=True, eq=False, repr=False)
class FilterSelection(Selection[Candidate]):
    """Numbers of features that were validated, and the choice between them."""

    columns: ClassVar[tuple[str, ...]] = ("features", "score", "standard_error", "chosen")

    def rows(self) -> list[tuple[Any, ...]]:
        """Return number of features, score, standard error and whether it was chosen, for each."""
        return [row[1:] for row in super().rows()]

    def label_of(self, one: Candidate) -> str:
        """Return nothing: the number is the candidate."""
        return ""


@knows_names
@dataclass(eq=False, repr=False)
class FeatureFilter(ColumnSelector):
    """Select the K features with the best scores against a label, each scored by itself.

    A filter is cheaper than a search over subsets, but misses features that are informative only together. K
    is chosen by cross-validation: features are ranked on the training rows of every fold, and an estimator is
    fitted to the K best. Ranking on all rows first would leak the held-out labels: with many features the
    score is then high even for random labels.

    Parameters
    ----------
    score_func : {"mutual-information", "f", "chi2", "correlation"} or callable, default="mutual-information"
        Score of a feature: ``mutual_information`` in nats; the F statistic of the analysis of variance, or
        of simple regression where the label is a number; chi-squared, for counts and classes; the absolute
        Pearson correlation, for classes the correlation ratio. Or a function of rows and labels that returns
        scores, or scores and p-values; larger is better.
    k : "cv", int, float or "fdr", default="cv"
        Number of features to select. ``"cv"``: the smallest of 1, 2, 3, 4, 5, 7, 10, 15, 20, ... whose
        validated score is within one standard error of the best. A number. A share in (0, 1], rounded half
        up, at least one feature. ``"fdr"``: the discoveries of Benjamini and Hochberg's procedure at the
        false discovery rate ``alpha``; there may be none, and ``transform`` then raises an error.
    estimator : estimator, optional
        The estimator of ``k="cv"``. It also decides whether the label names classes. By default, on
        standardised features, logistic regression for classes and ridge regression for numbers.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn. A class with fewer rows than folds reduces their number.
    redundancy : {None, "mrmr"}, default=None
        ``"mrmr"`` ranks greedily by relevance minus the mean redundancy with the features ranked before.
        Redundancy is the mutual information of the Gaussian copula in nats for mutual information, otherwise
        ``|r|``. Relevance is then the correlation ratio (for ``"f"`` and ``"correlation"``) or the share of
        the largest score. At least 1,000 features are ranked so, the others by their value after those.
    scoring : str or callable, optional
        Score of ``k="cv"``, as in scikit-learn; by default the estimator's own, accuracy or R2.
    n_neighbors : int, default=3
        Of the estimate of mutual information.
    alpha : float, default=0.05
        False discovery rate of ``k="fdr"``. For mutual information p-values come from permuted labels, pooled
        over features with as many distinct values.
    random_state : int, RandomState, Generator or None, default=0
        For the noise that breaks ties in mutual information, and for permutations; None draws a new seed at
        each fit.
    n_jobs : int or None, default=None
        Number of folds validated in parallel, as in joblib.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each feature; 0 for a constant one.
    pvalues_ : ndarray of shape (n_features,) or None
        Where the score has them; for mutual information with ``k="fdr"`` only.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature, from 1; equal scores in the order of the columns.
    k_, support_ : int, ndarray of bool of shape (n_features,)
        Number and mask of the selected features.
    cv_results_ : dict or None
        With ``k="cv"``: ``"k"``, ``"mean_score"``, ``"standard_error"``, ``"fold_scores"`` of shape (tried,
        folds), ``"best_k"`` and ``"one_standard_error_k"``. The best of these scores is optimistic, because
        it was chosen: validate a pipeline with the filter in it to know how it does.
    selection_ : Selection or None
        The same as a record that prints as a table; ``to_frame()``.
    estimator_ : estimator or None
        The estimator of ``k="cv"``, unfitted.
    task_ : "classes" or "numbers"
    reason_ : str
        Reason for the number.
    notes_ : tuple of str
    classes_ : ndarray or None
    n_samples_, n_features_in_, feature_names_in_
        Of the data.

    References
    ----------
    Guyon and Elisseeff (2003), An introduction to variable and feature selection, Journal of Machine
    Learning Research 3. Ambroise and McLachlan (2002), Selection bias in gene extraction on the basis of
    microarray gene-expression data, PNAS 99, for the ranking inside of the folds. Breiman, Friedman, Olshen
    and Stone (1984) for the one-standard-error rule. Benjamini and Hochberg (1995). Peng, Long and Ding
    (2005) for mRMR.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import FeatureFilter
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> chosen = FeatureFilter("f").fit(X, y)
    >>> chosen.get_feature_names_out().tolist()
    ['petal length (cm)']
    >>> chosen.ranking_.tolist(), chosen.scores_.round(1).tolist()
    ([3, 4, 1, 2], [119.3, 49.2, 1180.2, 960.0])
    """

    score_func: str | Callable[..., Any] = "mutual-information"
    k: int | float | str = "cv"
    _: KW_ONLY
    estimator: Any = None
    cv: Any = 5
    redundancy: str | None = None
    scoring: str | Callable[..., float] | None = None
    n_neighbors: int = 3
    alpha: float = 0.05
    random_state: Seed = 0
    n_jobs: int | None = None

    # ------------------------------------------------------------------ fit

    def fit(self, X: Any, y: Any = None, **metadata: Any) -> Self:
        """Rank the features and choose the number to select.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, Path or Scan of shape (n_samples, n_features)
            Of a sparse matrix some columns are made dense at a time: those that are scored together, and
            those that ``estimator`` is validated on. A function as ``score_func`` is given the CSC matrix.
        y : array-like of shape (n_samples,), optional
            Classes or numbers; not needed for a file that is read with ``label=``. Text, booleans and whole
            numbers of few distinct values are classes, unless the estimator says otherwise.
        **metadata
            Not supported: ``sample_weight`` and other routed metadata raise an error with advice.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        DataError
            NaN, a single class, sparse data with ``redundancy="mrmr"``, negative values for chi2, too few
            rows for cross-validation.
        ParameterError
            A parameter outside of what it may be.
        """
        refuse_metadata(self, metadata)
        check_settings(self)
        permuted = self.k == "fdr" and self.score_func == "mutual-information"
        one_by_one = isinstance(self.score_func, str) and self.redundancy is None and self.k != "cv"
        kind = kind_of_label(self.estimator)
        data = as_labelled(X, y, estimator=self, discrete=kind, by_columns=one_by_one and not permuted)
        if sparse.issparse(data.X) and self.redundancy is not None:
            raise DataError(
                "redundancy='mrmr' compares every feature with every other one, all of them dense, and X is "
                "sparse. Pass X.toarray(), or leave redundancy out."
            )
        d = data.X.shape[1]
        asked = number_of_features(self.k, d)
        self.task_ = "numbers" if data.classes is None else "classes"
        # Before the ranking, so that what cannot be validated is refused at once.
        validation, notes = self._validation(data) if self.k == "cv" else (None, ())
        drawing, folding = generators(self.random_state, 2)
        ranker = Ranker(self.score_func, data.names, data.classes, self.redundancy, self.n_neighbors)
        ranked = ranker.rank(data.X, data.y, max(asked or 0, MOST_ORDERED), drawing)
        self.classes_, self.n_samples_ = data.classes, len(data.y)
        self.scores_, self.pvalues_ = ranked.scores.values, ranked.scores.p_values
        self.notes_ = ranked.scores.notes
        self.ranking_ = np.empty(d, dtype=np.intp)
        self.ranking_[ranked.order] = np.arange(1, d + 1)
        self.estimator_ = self.cv_results_ = self.selection_ = None
        if validation is not None:
            self.estimator_ = validation.estimator
            result = _validated(ranker, data, validation, folding, self.n_jobs, self.score_name_)
            self.selection_, self.cv_results_ = result, _cv_results(result)
            self.notes_ += (*notes, *result.notes)
            asked, self.reason_ = result.chosen.size, result.choice.why if result.choice else ""
        if asked is None:
            self.support_, self.reason_ = self._discoveries(ranker, data, drawing)
        else:
            self.support_ = self.ranking_ <= asked
            if self.k != "cv":
                self.reason_ = reason_for_number(self.k, d)
        self.k_ = int(self.support_.sum())
        return self

    def _validation(self, data: Labelled) -> tuple[Validation, tuple[str, ...]]:
        discrete = data.classes is not None
        estimator = default_estimator(discrete) if self.estimator is None else self.estimator
        folds, notes = choose_folds(self.cv, data)
        X, y = data.X, data.original
        if self.estimator is None:
            # The default standardises, so that a power of two changes nothing but what overflows.
            X = X if sparse.issparse(X) else near_one(X)
            if self.scoring is None and not discrete:
                y = near_one(y[:, None])[:, 0]
        scorer = scorer_of(estimator, self.scoring)
        return Validation(estimator, X, y, folds, scorer, data.names), notes

    def _discoveries(
        self, ranker: Ranker, data: Labelled, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.bool_], str]:
        """Return which features are significant, and say so."""
        if ranker.score == "mutual-information":
            self.pvalues_, most = ranker.by_permutation(data.X, data.y, self.alpha, rng)
            self.notes_ += (
                f"p-values by up to {most:,} permutations of the label, pooled over similar features.",
            )
        if self.pvalues_ is None:
            raise ParameterError(
                f"k='fdr' needs p-values, but score_func={score_name(self.score_func)} returns none. "
                "Return a pair of scores and p-values, or give k as a number or 'cv'."
            )
        adjusted = false_discovery_control(self.pvalues_)
        support = adjusted <= self.alpha
        level = f"significant at a false discovery rate of {self.alpha:g} (Benjamini and Hochberg)"
        count, d = int(support.sum()), support.size
        if count:
            return support, f"{count:,} of {d:,} features {'is' if count == 1 else 'are'} {level}."
        return support, f"No feature is {level}: the smallest adjusted p-value is {adjusted.min():.3g}."

    # ------------------------------------------------ what the selector says

    def summary(self, features: int = 30) -> str:
        """Return the ranking with bars, the number selected and the reason, as text.

        Parameters
        ----------
        features : int
            Number of features listed.

        Returns
        -------
        str
            Lines of text.
        """
        check_is_fitted(self)
        label = "a number" if self.classes_ is None else f"{len(self.classes_)} classes"
        how = score_name(self.score_func) + (", less redundancy (mrmr)" if self.redundancy else "")
        d, n = len(self.ranking_), self.n_samples_
        lines = [f"{d:,} features by {how} with {label}, {n:,} rows", *_ranking(self, features), ""]
        lines += textwrap.wrap(f"Selected {self.k_:,}. {self.reason_}", WIDTH)
        if self.selection_ is not None:
            lines += ["", *self.selection_.table(), "", *textwrap.wrap(self.selection_.about, WIDTH)]
        for note in self.notes_:
            lines += textwrap.wrap(note, WIDTH, subsequent_indent="  ")
        return "\n".join(lines)

    @property
    def feature_names_(self) -> list[str]:
        """Names of all features; x0, x1, ... where they have none."""
        check_is_fitted(self)
        return column_names(self)

    @property
    def score_name_(self) -> str:
        """What was validated, in words."""
        return score_name(self.scoring, "accuracy" if self.task_ == "classes" else "R2")


# --------------------------------------------------------------- what is asked


def check_settings(model: FeatureFilter) -> None:
    """Refuse parameters that cannot be, alone or together.

    Raises
    ------
    ParameterError
        For a value that is not allowed.
    InputTypeError
        For an estimator that is none.
    """
    if not callable(model.score_func):
        check_choice("score_func", model.score_func, SCORES)
    if model.redundancy is not None:
        check_choice("redundancy", model.redundancy, ("mrmr",))
    check_integer("n_neighbors", model.n_neighbors)
    check_share("alpha", model.alpha, advice="It is a false discovery rate, such as 0.05.")
    if isinstance(model.k, str) and model.k == "fdr" and model.redundancy is not None:
        raise ParameterError(
            f"k='fdr' selects every significant feature, but redundancy={model.redundancy!r} skips redundant "
            "ones. Leave out one of them."
        )
    if model.estimator is not None:
        scorer_of(model.estimator, model.scoring)


def number_of_features(k: Any, d: int) -> int | None:
    """Return how many of d features were asked for, or None where the data decide.

    Raises
    ------
    ParameterError
        For what is neither a number, a share nor a rule.

    Examples
    --------
    >>> number_of_features(3, 10), number_of_features(0.25, 10), number_of_features("cv", 10)
    (3, 3, None)
    """
    if isinstance(k, str):
        check_choice("k", k, ("cv", "fdr"))
        return None
    advice = f"Give a number from 1 to {d}, a share such as 0.1, 'cv' or 'fdr'."
    if isinstance(k, (Integral, bool)):
        return check_integer("k", k, 1, d, advice)
    return max(1, int(np.floor(check_number("k", k, above=0, most=1, advice=advice) * d + 0.5)))


def reason_for_number(k: Any, d: int) -> str:
    """Return the reason for a requested number or share."""
    if isinstance(k, Integral):
        return f"Requested: k={k}."
    return f"k={float(k):g} is a share of {d:,} features: {float(k) * d:g}, rounded half up, at least one."


def near_one(X: npt.NDArray[Any]) -> FloatArray:
    """Return columns over the power of two above their largest magnitude, which rounds nothing.

    Examples
    --------
    >>> near_one(np.array([[1.0, 6e200], [3.0, 3e200]])).round(3)
    array([[0.25, 0.98],
           [0.75, 0.49]])
    """
    X = X.astype(np.float64)
    return np.asarray(np.ldexp(X, -np.frexp(np.abs(X).max(axis=0))[1]))


# ---------------------------------------------------- how many, by validation


def tried_sizes(d: int, n: int) -> npt.NDArray[np.intp]:
    """Return the numbers of features to try: 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, ..., d.

    Beyond 100 only as many as there are rows: with more, a linear model fits any label.

    Examples
    --------
    >>> tried_sizes(12, 50).tolist()
    [1, 2, 3, 4, 5, 7, 10, 12]
    >>> tried_sizes(3000, 38).tolist()
    [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100]
    """
    ceiling = min(d, max(LEAST_CEILING, n))
    steps = {int(step * 10**power) for power in range(len(str(ceiling))) for step in STEPS}
    return np.array(sorted({size for size in steps if size <= ceiling} | {ceiling}), dtype=np.intp)


def choose_folds(cv: Any, data: Labelled) -> tuple[list[Fold], tuple[str, ...]]:
    """Return the parts that are trained on and held out, and what was decided about them.

    A number of folds is that of scikit-learn's check_cv: stratified for classes, not shuffled. There are
    fewer where a class has fewer rows, and for numbers where a fold would have a single row.

    Raises
    ------
    ParameterError
        For folds that cannot be made.
    DataError
        For too few rows, and training rows of a single class.
    """
    cv, notes = 5 if cv is None else cv, []
    X, y, discrete = data.X, data.y, data.classes is not None
    if is_number(cv):
        sizes = np.bincount(y) if discrete else np.array([len(y) // 2])
        if not (sizes > 1).any():
            few = f"a minimum of 4 samples is needed, and there are {len(y)}"
            what = f"each of the {len(sizes)} classes has one row" if discrete else few
            raise DataError(f"Cross-validation is not possible: {what}. Give k as a number, or more rows.")
        most = int(sizes[sizes > 1].min())
        if most < cv:
            why = f"there are {len(y)} rows"
            if data.classes is not None:
                name = data.classes[[int(np.argmax(sizes == most))]].tolist()[0]
                why = f"class {name!r} has {most} rows"
            notes.append(f"{most} folds instead of {cv}: {why}.")
            cv = most
        single = np.flatnonzero(sizes == 1)
        if single.size and data.classes is not None:
            named = listed(data.classes[single].tolist())
            notes.append(f"Classes with a single row cannot be predicted when it is held out: {named}.")
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The least populated class", UserWarning)
                cv = list(StratifiedKFold(check_integer("cv", cv, 2)).split(X, y))
    splits = draw_folds(cv, X, y, classifier=discrete)
    for place, (train, _) in enumerate(splits):
        if np.unique(data.y[train]).size < 2:
            raise DataError(
                f"The training rows of fold {place} all have the same label. Give fewer folds, more rows of "
                "each class, or k as a number."
            )
    return splits, tuple(notes)


def _validated(
    ranker: Ranker,
    data: Labelled,
    validation: Validation,
    rng: np.random.Generator,
    n_jobs: int | None,
    name: str,
) -> FilterSelection:
    """Score the estimator on the K best features, for every K and fold, ranked on the training rows only."""
    sizes, folds = tried_sizes(len(data.names), len(data.y)), len(validation.folds)
    runs = Parallel(n_jobs=n_jobs)(
        delayed(_one_fold)(ranker, data.X, data.y, validation, sizes, place, state)
        for place, state in enumerate(rng.spawn(folds))
    )
    scores = np.array([scores for scores, _ in runs]).T
    tried = tuple(
        Candidate.in_folds(size, size, row) for size, row in zip(sizes.tolist(), scores, strict=True)
    )
    about = (
        f"Cross-validated: {estimator_name(validation.estimator)}, on features ranked by the training rows "
        f"of each of {counted(folds, 'fold')}. The best of {len(sizes)} scores is optimistic."
    )
    choice = Choice(within_one_standard_error(tried), why_so_many(tried, name))
    said: Counter[str] = sum((said for _, said in runs), Counter())
    return FilterSelection(tried, about, choice, notes_of(said), name)


def _one_fold(
    ranker: Ranker,
    rows: Any,
    labels: Any,
    validation: Validation,
    sizes: npt.NDArray[np.intp],
    fold: int,
    state: np.random.Generator,
) -> tuple[list[float], Counter[str]]:
    train = validation.folds[fold][0]
    try:
        order = ranker.rank(rows[train], labels[train], int(sizes[-1]), state).order
    except (DataError, ParameterError) as error:
        raise type(error)(f"In fold {fold + 1}, which trains on {len(train)} rows: {error}") from error
    with warnings_counted() as said:
        scores = [validation.score(np.sort(order[:size]), fold) for size in sizes]
    return scores, said


def why_so_many(tried: Sequence[Candidate], name: str) -> str:
    """Return the reason for the number chosen by cross-validation."""
    top, chosen = tried[best(tried)], tried[within_one_standard_error(tried)]
    error, many = f"{top.standard_error:.2g}", counted(chosen.candidate, "feature")
    mean = f"mean {name} {chosen.mean:.4g} over {counted(len(top.fold_scores), 'fold')}"
    if chosen is not top:
        return (
            f"{many} ({mean}): the fewest within one standard error ({error}) of the best, "
            f"{top.mean:.4g} with {top.candidate:,}."
        )
    rest = f"; no smaller number is within one standard error ({error})"
    return f"{many} ({mean}): the best score{rest * (top is not tried[0])}."


def _cv_results(result: FilterSelection) -> dict[str, Any]:
    return {
        "k": np.array([t.size for t in result], dtype=np.intp),
        "mean_score": np.array([t.mean for t in result]),
        "standard_error": np.array([t.standard_error for t in result]),
        "fold_scores": np.array([t.fold_scores for t in result]),
        "best_k": result[best(result)].size,
        "one_standard_error_k": result.chosen.size,
    }


# ------------------------------------------------------------------------ text


def _ranking(model: FeatureFilter, features: int) -> Iterator[str]:
    order = np.argsort(model.ranking_, kind="stable")
    names, p_values = model.feature_names_, model.pvalues_
    shown = order[:features]
    width = max([7, *(len(names[j]) for j in shown)])
    largest = float(model.scores_[np.isfinite(model.scores_)].max(initial=0.0))
    write = writer([largest], least=2)
    head = HEADS.get(score_name(model.score_func), "score")
    yield f"rank  {'feature':{width}} {head:>10}" + ("" if p_values is None else f" {'p':>9}")
    for j in shown:
        score = float(model.scores_[j])
        # The bar of an infinite score is full.
        length = bar(min(score, largest) if largest > 0 else float(score > 0), largest or 1.0)
        chance = "" if p_values is None else f" {p_values[j]:9.2g}"
        kept = "selected" if model.support_[j] else ""
        start = f"{model.ranking_[j]:4d}  {names[j]:{width}} {write(score):>10}{chance}"
        yield f"{start}  {length:20} {kept}".rstrip()
    if len(order) > len(shown):
        more = int(model.support_[order[features:]].sum())
        yield f"... and {len(order) - len(shown):,} more" + (f", {more:,} of them selected" if more else "")
