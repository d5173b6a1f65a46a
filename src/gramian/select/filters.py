"""Univariate feature selection: each feature is scored by itself."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import chdtrc, ndtri
from scipy.stats import rankdata
from sklearn.feature_selection import chi2, f_classif, f_regression
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import dense, parallel_map
from gramian.core.checks import check_choice, check_integer, check_number, counted
from gramian.core.notebook import Grid
from gramian.core.records import AnyArray, FloatArray, IndexArray, Seed
from gramian.errors import DataError, ParameterError
from gramian.models.inputs import generators
from gramian.models.sklearn import knows_names
from gramian.select import validation
from gramian.select.mutual_information import mutual_information
from gramian.select.targets import ColumnSelector, Labelled, as_labelled
from gramian.statistics import candidates, components
from gramian.statistics.associations import unit_columns
from gramian.statistics.candidates import Candidate, Choice, Selection

# So many features at least are put in order by "mrmr"; each costs a pass over the data.
MOST_ORDERED = 1000
HEADS = {"mutual-information": "nats", "f": "F", "chi2": "chi2"}
STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
LEAST_CEILING, PERFECT = 100, 0.9999  # score of one feature from which it may be the label itself


@dataclass(frozen=True, eq=False, repr=False)
class FilterSelection(Selection[Candidate]):
    """Numbers of features that were validated, and the choice between them."""

    columns: ClassVar[tuple[str, ...]] = ("features", "score", "standard_error", "chosen")

    def rows(self) -> list[tuple[Any, ...]]:
        """Return number of features, score, standard error and whether it was chosen, for each."""
        return [row[1:] for row in super().rows()]

    def label_of(self, candidate: Candidate) -> str:
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
    score_func : {"mutual-information", "f", "chi2"}, default="mutual-information"
        Score of a feature: ``mutual_information`` in nats; the F statistic of the analysis of variance, or
        of simple regression where the label is a number; chi-squared, for counts and classes.
    k : "cv", int or float, default="cv"
        Number of features to select. ``"cv"``: the smallest of 1, 2, 3, 4, 5, 7, 10, 15, 20, ... whose
        validated score is within one standard error of the best. A number. A share in (0, 1], rounded half
        up, at least one feature.
    estimator : estimator, optional
        The estimator of ``k="cv"``. It also decides whether the label names classes. By default, on
        standardised features, logistic regression for classes and ridge regression for numbers.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn; each class needs as many rows.
    redundancy : {None, "mrmr"}, default=None
        ``"mrmr"`` ranks greedily by relevance minus the mean redundancy with the features ranked before.
        Redundancy is the mutual information of the Gaussian copula in nats for mutual information, otherwise
        ``|r|``. Relevance is then the correlation ratio (for ``"f"``) or the share of the largest score. At
        least 1,000 features are ranked so, the others by their value after those.
    scoring : str or callable, optional
        Score of ``k="cv"``, as in scikit-learn; by default the estimator's own, accuracy or R2.
    n_neighbors : int, default=3
        Of the estimate of mutual information.
    random_state : int, RandomState, Generator or None, default=0
        For the noise that breaks ties in mutual information; None draws a new seed at each fit.
    n_jobs : int or None, default=None
        Number of folds validated in parallel, as in joblib.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each feature; 0 for a constant one.
    pvalues_ : ndarray of shape (n_features,) or None
        Where the score has them.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature, from 1; equal scores in the order of the columns.
    k_, support_ : int, ndarray of bool of shape (n_features,)
        Number and mask of the selected features.
    selection_ : Selection or None
        With ``k="cv"`` the numbers of features that were tried and their scores in every fold; prints as a
        table, ``to_frame()``. The best of these scores is optimistic, because it was chosen: validate a
        pipeline with the filter in it to know how it does.
    estimator_ : estimator or None
        The estimator of ``k="cv"``, unfitted.
    task_ : "classes" or "numbers"
        What the label is.
    reason_ : str
        Reason for the number.
    notes_ : tuple of str
        Automatic decisions.
    classes_ : ndarray or None
        The classes, shape (n_classes,); None for numbers.
    n_samples_, n_features_in_, feature_names_in_
        Of the data.

    References
    ----------
    Guyon and Elisseeff (2003), An introduction to variable and feature selection, Journal of Machine
    Learning Research 3. Ambroise and McLachlan (2002), Selection bias in gene extraction on the basis of
    microarray gene-expression data, PNAS 99, for the ranking inside of the folds. Breiman, Friedman, Olshen
    and Stone (1984) for the one-standard-error rule. Peng, Long and Ding (2005) for mRMR.

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

    score_func: str = "mutual-information"
    k: int | float | str = "cv"
    _: KW_ONLY
    estimator: Any = None
    cv: Any = 5
    redundancy: str | None = None
    scoring: str | Callable[..., float] | None = None
    n_neighbors: int = 3
    random_state: Seed = 0
    n_jobs: int | None = None

    # ------------------------------------------------------------------ fit

    def fit(self, X: Any, y: Any = None) -> Self:
        """Rank the features and choose the number to select.

        Parameters
        ----------
        X : array-like, frame, sparse matrix, Path or Scan of shape (n_samples, n_features)
            Of a sparse matrix some columns are made dense at a time: those that are scored together, and
            those that ``estimator`` is validated on.
        y : array-like of shape (n_samples,), optional
            Classes or numbers; not needed for a file that is read with ``label=``. Text, booleans and whole
            numbers of few distinct values are classes, unless the estimator says otherwise. Rows whose label
            is missing are left out, with a warning.

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
        check_choice("score_func", self.score_func, SCORES)
        if self.redundancy is not None:
            check_choice("redundancy", self.redundancy, ("mrmr",))
        check_integer("n_neighbors", self.n_neighbors)
        if self.estimator is not None:
            validation.scorer_of(self.estimator, self.scoring)
        kind = validation.kind_of_label(self.estimator)
        data = as_labelled(X, y, estimator=self, discrete=kind, cv=self.cv)
        if sparse.issparse(data.X) and self.redundancy is not None:
            why = 'redundancy="mrmr" compares every feature with every other one, and X is sparse.'
            raise DataError(why, "Pass X.toarray(), or leave redundancy out.")
        d = data.X.shape[1]
        requested = number_of_features(self.k, d)
        self.task_ = "numbers" if data.classes is None else "classes"
        # Before the ranking, so that what cannot be validated is refused at once.
        validator = self._validator(data) if self.k == "cv" else None
        drawing, folding = generators(self.random_state, 2)
        options: Any = {"redundancy": self.redundancy, "n_neighbors": self.n_neighbors}
        ranker = Ranker(self.score_func, data.names, data.classes is not None, **options)
        scores, order = ranker.rank(data.X, data.y, max(requested or 0, MOST_ORDERED), drawing)
        self.classes_, self.n_samples_ = data.classes, len(data.y)
        self.scores_, self.pvalues_ = scores.values, scores.p_values
        self.notes_ = scores.notes
        self.ranking_ = np.empty(d, dtype=np.intp)
        self.ranking_[order] = np.arange(1, d + 1)
        self.estimator_ = self.selection_ = None
        if validator is not None:
            self.estimator_ = validator.estimator
            result = self._validated(ranker, data, validator, folding)
            self.selection_ = result
            requested, self.reason_ = result.chosen.size, result.choice.why
        elif isinstance(self.k, Integral):
            self.reason_ = f"Requested: {counted(int(self.k), 'feature')}."
        else:
            share = f"The share {self.k:g} of {d:,} features is {self.k * d:g}"
            self.reason_ = f"{share}, rounded half up, at least one."
        self.support_ = self.ranking_ <= requested
        self.k_ = int(self.support_.sum())
        return self

    def _validator(self, data: Labelled) -> validation.Validation:
        discrete = data.classes is not None
        estimator = validation.default_estimator(discrete) if self.estimator is None else self.estimator
        X, y = data.X, data.original
        folds = validation.draw_folds(self.cv, X, y, classifier=discrete)
        for fold, (train, _) in enumerate(folds):
            if np.unique(y[train]).size < 2:
                hint = "Give fewer folds, or k as a number."
                raise DataError(f"The training rows of fold {fold + 1} all have the same label.", hint)
        scorer = validation.scorer_of(estimator, self.scoring)
        return validation.Validation(estimator, X, y, folds, scorer, data.names)

    def _validated(
        self, ranker: Ranker, data: Labelled, validator: validation.Validation, rng: np.random.Generator
    ) -> FilterSelection:
        """Score the estimator on the K best features, for every K and fold, ranked on training rows only."""
        sizes, folds = tried_sizes(len(data.names), len(data.y)), len(validator.folds)
        with warnings.catch_warnings():  # scikit-learn's threads mix up the filters that they put back
            runs = Parallel(n_jobs=self.n_jobs)(
                delayed(_fold_scores)(ranker, data, validator, sizes, fold, state)
                for fold, state in enumerate(rng.spawn(folds))
            )
        scores = np.array(runs).T
        tried = tuple(
            Candidate.in_folds(size, size, row) for size, row in zip(sizes.tolist(), scores, strict=True)
        )
        about = (
            f"Cross-validated: {validation.estimator_name(validator.estimator)}, on features ranked by "
            f"the training rows of each of {counted(folds, 'fold')}. The best of {len(sizes)} scores "
            "is optimistic."
        )
        name = self.score_name_
        choice = Choice(candidates.within_one_standard_error(tried), why_so_many(tried, name))
        return FilterSelection(tried, about, choice, measure=name)

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
        d, n = len(self.ranking_), self.n_samples_
        how = self.score_func + (", less redundancy (mrmr)" if self.redundancy else "")
        about = f"{d:,} features by {how} with {label}, {n:,} rows"
        lines = [about, str(self._table(features)), ""]
        lines += textwrap.wrap(f"Selected {self.k_:,}. {self.reason_}", candidates.WIDTH)
        if self.selection_ is not None:
            wrapped = textwrap.wrap(self.selection_.about, candidates.WIDTH)
            lines += ["", str(self.selection_.table()), "", *wrapped]
        for note in self.notes_:
            lines += textwrap.wrap(note, candidates.WIDTH, subsequent_indent="  ")
        return "\n".join(lines)

    def _table(self, features: int) -> Grid:
        order, p = np.argsort(self.ranking_, kind="stable"), self.pvalues_
        largest = float(self.scores_[np.isfinite(self.scores_)].max(initial=0.0))
        form = candidates.number_format([largest], least=2)
        rows = [
            (
                *(self.ranking_[j], self.feature_names_[j], float(self.scores_[j])),
                *([] if p is None else [p[j]]),
                "selected" if self.support_[j] else "",
            )
            for j in order
        ]
        tested = p is not None
        heads = ("rank", "feature", HEADS[self.score_func], *["p"] * tested, "")
        return Grid(heads, rows, ("", "", form, *[".2g"] * tested, ""), most=features)

    @property
    def feature_names_(self) -> list[str]:
        """Names of all features; x0, x1, ... where they have none."""
        check_is_fitted(self)
        return components.column_names(self)

    @property
    def score_name_(self) -> str:
        """What was validated, in words."""
        return validation.score_name(self.scoring, "accuracy" if self.task_ == "classes" else "R2")


# --------------------------------------------------------------- what is asked


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
        check_choice("k", k, ("cv",))
        return None
    advice = f"Give a number from 1 to {d}, a share such as 0.1, or 'cv'."
    if isinstance(k, (Integral, bool)):
        return check_integer("k", k, 1, d, advice)
    return max(1, int(np.floor(check_number("k", k, above=0, most=1, advice=advice) * d + 0.5)))


# ---------------------------------------------------- how many, by validation


def tried_sizes(d: int, n: int) -> IndexArray:
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


def _fold_scores(
    ranker: Ranker, data: Labelled, validator: validation.Validation, sizes: Places, fold: int, rng: Any
) -> list[float]:
    """Return the scores of the best features for every number, ranked on the training rows."""
    train = validator.folds[fold][0]
    try:
        order = ranker.rank(data.X[train], data.y[train], int(sizes[-1]), rng)[1]
    except (DataError, ParameterError) as error:
        raise DataError(f"In fold {fold + 1}, which trains on {len(train)} rows: {error}") from error
    return [validator.score(np.sort(order[:size]), fold) for size in sizes]


def why_so_many(tried: Sequence[Candidate], name: str) -> str:
    """Return the reason for the number chosen by cross-validation."""
    top, chosen = tried[candidates.best(tried)], tried[candidates.within_one_standard_error(tried)]
    error, many = f"{top.standard_error:.2g}", counted(chosen.candidate, "feature")
    mean = f"mean {name} {chosen.mean:.4g} over {counted(len(top.fold_scores), 'fold')}"
    if chosen is not top:
        return (
            f"{many} ({mean}): the fewest within one standard error ({error}) of the best, "
            f"{top.mean:.4g} with {top.candidate:,}."
        )
    rest = f"; no smaller number is within one standard error ({error})"
    why = f"{many} ({mean}): the best score{rest * (top is not tried[0])}."
    leak = " It predicts the label without an error: ask whether it is the label in another form."
    return why + leak * (chosen.candidate == 1 and chosen.mean > PERFECT)


# ---- Scores of single features against a label, with the p-values that the classical tests give

Values = Any  # an array, or a CSC matrix, of which a block of columns at a time is made dense


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of single features against a label.

    Attributes
    ----------
    values : ndarray of shape (d,), float64
        Larger is better.
    p_values : ndarray of shape (d,) or None
        Probability of a score as large without any relation; None where the score has no test.
    notes : tuple of str
        What should be known about them.
    """

    values: FloatArray
    p_values: FloatArray | None = None
    notes: tuple[str, ...] = ()


def f_score(X: Values, y: Values, *, discrete: bool) -> Scores:
    """Return the F statistic of every feature against a label, by scikit-learn.

    That of ``f_classif`` for classes and of ``f_regression`` for numbers. Features are centred and scaled
    before they are squared.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Finite numbers of any scale.
    y : ndarray of shape (n,)
        Codes of classes, or numbers.
    discrete : bool
        Whether ``y`` names classes.

    Returns
    -------
    Scores
        Infinite, with p-value 0, where nothing is left within the classes or beside the line but rounding. A
        constant feature has 0 and p-value 1.

    Raises
    ------
    DataError
        Where no degree of freedom is left.

    References
    ----------
    Fisher (1925), Statistical Methods for Research Workers, chapter VII.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [5.0, 5.0]])
    >>> found = f_score(X, np.array([0, 0, 1, 1]), discrete=True)
    >>> found.values.round(4).tolist(), found.p_values.round(4).tolist()
    ([18.0, 0.0], [0.0513, 1.0])
    """
    between = len(np.unique(y)) - 1 if discrete else 1
    within = len(y) - between - 1
    if within < 1:
        why = f"There are as many {'classes' if discrete else 'coefficients'} as rows"
        hint = "Add rows, or use another score."
        raise DataError(f"{why}, so no degree of freedom is left for an F score.", hint)
    label = y if discrete else unit_columns(y[None, :])[0]
    # Of this size is what rounding leaves, of either sign, of a feature that the label explains completely.
    rounding = 4 * np.finfo(np.float64).eps * np.sqrt(len(y)) * between

    def work(columns: FloatArray) -> FloatArray:
        columns = unit_columns(columns)
        with np.errstate(divide="ignore", invalid="ignore"):
            F, p = (f_classif if discrete else f_regression)(columns.T, label)
        constant, whole = ~columns.any(axis=1), np.abs(F) * rounding > within
        F = np.select([constant, whole], [0.0, np.inf], np.abs(F))
        return np.vstack([F, np.select([constant, whole], [1.0, 0.0], np.nan_to_num(p, nan=1.0))])

    # Scikit-learn warns that features are constant, also of those that are explained completely.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Scores(*by_columns(X, work))


def chi2_score(X: Values, y: Values, *, discrete: bool, names: Sequence[str]) -> Scores:
    """Return scikit-learn's chi-squared statistic of every feature, read as counts, against classes.

    ``sum over classes of (O - E)^2 / E`` with O the sum of the feature over the rows of a class and E the
    share of the rows that are in the class, times the sum over all rows; c - 1 degrees of freedom. It
    measures counts: a feature in other units has another score.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Counts, or other numbers of at least 0.
    y : ndarray of shape (n,)
        Codes of classes.
    discrete : bool
        Whether ``y`` names classes; it must.
    names : sequence of str
        Of the features, for messages.

    Raises
    ------
    DataError
        For a negative number.
    ParameterError
        For a label that is a number.

    References
    ----------
    Pearson (1900), On the criterion that a given system of deviations ..., Philosophical Magazine 50.

    Examples
    --------
    >>> X = np.array([[3.0, 1.0], [1.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    >>> chi2_score(X, np.array([0, 0, 1, 1]), discrete=True, names=["a", "b"]).values.tolist()
    [4.0, 0.0]
    """
    if not discrete:
        hint = 'Use score_func="f" or "mutual-information".'
        raise ParameterError("score_func", "chi2", "needs classes, but the label is a number", hint)
    least = dense(X.min(axis=0)).ravel()
    negative = np.flatnonzero(least < 0)
    if negative.size:
        j = int(negative[0])
        raise DataError(
            f'score_func="chi2" needs counts, but column {names[j]!r} has the negative value {least[j]:g}.',
            "Negative values in data passed to chi2 are not allowed: use another score, or leave such "
            "columns out.",
        )

    def work(columns: FloatArray) -> FloatArray:
        return np.where(np.ptp(columns, axis=1) > 0, chi2(columns.T, y)[0], 0.0)[None, :]

    (values,) = by_columns(X, work)
    return Scores(values, np.asarray(chdtrc(len(np.unique(y)) - 1, values)))


BLOCK_ENTRIES = 1 << 20


def by_columns(X: Values, work: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Apply work to blocks of columns, dense, each column a contiguous row."""
    n, d = X.shape
    width = max(1, BLOCK_ENTRIES // n)

    def block(start: int) -> FloatArray:
        return work(np.ascontiguousarray(dense(X[:, start : start + width]).T, dtype=np.float64))

    return np.concatenate(parallel_map(block, range(0, d, width)), axis=1)


# ---- Ranks features by a score; repeated in every fold

Places = IndexArray

SCORES = ("mutual-information", "f", "chi2")
# Scores that are nearer than this are equal: they are sums that may be rounded differently.
TIE, DIGITS = 1e-12, 12


@dataclass(frozen=True, eq=False)
class Ranker:
    """How features are scored and ordered.

    Attributes
    ----------
    score : str
        One of ``SCORES``.
    names : tuple of str
        Of the features.
    discrete : bool
        Whether the label names classes.
    redundancy : str or None
        "mrmr" orders by relevance less redundancy.
    n_neighbors : int
        For mutual information.
    """

    score: str
    names: tuple[str, ...]
    discrete: bool
    redundancy: str | None = None
    n_neighbors: int = 3

    def rank(self, X: Values, y: Values, limit: int, random_state: Any = None) -> tuple[Scores, Places]:
        """Score the features and order them; with "mrmr" the first ``limit`` by the greedy rule.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Codes of classes, or numbers.
        limit : int
        random_state
            For mutual information.
        """
        scores = self._measured(X, y, random_state)
        if self.redundancy is not None:
            nats = self.score == "mutual-information"
            return scores, greedy_order(self._relevance(y, scores.values), _redundancy(X, nats), limit)
        digits, exponent = np.frexp(scores.values)
        return scores, np.argsort(-np.ldexp(digits.round(DIGITS), exponent), kind="stable")

    def _measured(self, X: Values, y: Values, random_state: Any) -> Scores:
        if self.score == "mutual-information":
            options: Any = {"n_neighbors": self.n_neighbors, "random_state": random_state}
            result = mutual_information(X, y, discrete_target=self.discrete, **options)
            return Scores(result.values, None, tuple(result.notes))
        if self.score == "chi2":
            return chi2_score(X, y, discrete=self.discrete, names=self.names)
        return f_score(X, y, discrete=self.discrete)

    def _relevance(self, y: Values, values: FloatArray) -> FloatArray:
        """Return scores in the unit of the redundancy: nats, or the scale of a correlation."""
        if self.score == "mutual-information":
            return values
        if self.score == "chi2":
            return values / (values.max() or 1.0)
        between = len(np.unique(y)) - 1 if self.discrete else 1
        with np.errstate(divide="ignore"):
            return np.asarray(1 / np.sqrt(1 + (len(y) - between - 1) / (between * values)))


def greedy_order(relevance: FloatArray, redundancy: Callable[[int], FloatArray], limit: int) -> Places:
    """Order features by relevance less mean redundancy with those before.

    The first is the most relevant feature; each next one has the largest ``relevance_j - (1 / |S|) sum over
    s in S of redundancy_js``, with S the features before it: the difference criterion (MID) of the
    reference. Ties go to the first feature.

    Parameters
    ----------
    relevance : ndarray of shape (d,)
        Finite; larger is better.
    redundancy : callable
        Takes the number of a feature and returns how much every feature repeats of it, shape (d,).
    limit : int
        So many are ordered by the rule. The others follow by the value that they have after those.

    Returns
    -------
    ndarray of shape (d,)
        Numbers of the features, best first.

    References
    ----------
    Peng, Long and Ding (2005), Feature selection based on mutual information: criteria of max-dependency,
    max-relevance, and min-redundancy, IEEE Transactions on Pattern Analysis and Machine Intelligence 27,
    equation 7.

    Examples
    --------
    >>> copies = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> greedy_order(np.array([0.9, 0.9, 0.5]), copies.__getitem__, 3).tolist()
    [0, 2, 1]
    """
    d = relevance.size
    repeated = np.zeros(d)
    value = relevance.astype(np.float64)
    order: list[int] = []
    left = np.ones(d, dtype=bool)
    for count in range(1, min(limit, d) + 1):
        best = value[left].max()
        near = left & (value >= best - TIE * max(1.0, abs(best)))
        order.append(int(np.argmax(near)))
        left[order[-1]] = False
        if count < d:
            repeated += redundancy(order[-1])
            value = relevance - repeated / count
    rest = np.flatnonzero(left)
    return np.concatenate([np.array(order, dtype=np.intp), rest[np.argsort(-value[rest], kind="stable")]])


def _redundancy(X: AnyArray, nats: bool) -> Callable[[int], FloatArray]:
    """Return a function of j that gives how much every feature repeats of feature j.

    That is ``|r|``, or in nats the mutual information of the Gaussian copula, ``-1/2 ln(1 - rho^2)`` with rho
    the correlation of the normal quantiles of ``(rank - 1/2) / n``. Of n values it is at most ``ln n``.

    References
    ----------
    Ince, Giordano, Kayser, Rousselet, Gross and Schyns (2017), A statistical framework for neuroimaging data
    analysis based on mutual information estimated via a Gaussian copula, Human Brain Mapping 38.
    """
    columns, n = np.ascontiguousarray(X.T, dtype=np.float64), len(X)
    U = unit_columns(ndtri((rankdata(columns, axis=1) - 0.5) / n) if nats else columns)
    # Beyond this the logarithm would pass ln n.
    largest = np.sqrt(1.0 - 1.0 / n**2) if nats else 1.0

    def shared(j: int) -> FloatArray:
        r = np.minimum(np.abs(U @ U[j]), largest)
        return np.asarray(-0.5 * np.log1p(-(r**2)) if nats else r)

    return shared
