"""Similarity of pictures and enrolled people, and its thresholds for a given false accept rate.

Similarity is the cosine along components or discriminants. Thresholds are counted from the enrolled pictures
alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.validation import check_array

from gramian.core.arrays import as_float64, blas_threads, to_numpy
from gramian.core.checks import counted, evenly, slices
from gramian.core.records import FloatArray
from gramian.errors import DataError

ENTRIES = 1 << 24  # similarity scores held at a time, 64 MB
Codes = npt.NDArray[np.intp]
Vectors = npt.NDArray[np.float32]


def as_vectors(vectors: Any, n_components: int | None = None, at_least: int = 0) -> Vectors:
    """Return the vectors of pictures, as a model's ``transform`` gives them, as finite float32.

    Parameters
    ----------
    vectors : array-like of shape (n, k)
    n_components : int, optional
        What k must be.
    at_least : int
        How many there must be.

    Raises
    ------
    ValueError
        By scikit-learn's check_array: for another shape, other than real numbers, and a vector that is not
        finite in float32.
    DataError
        For another number of components.
    """
    with np.errstate(over="ignore"):
        values: Vectors = check_array(
            to_numpy(vectors), dtype=np.float32, order="C", ensure_min_samples=at_least, input_name="vectors"
        )
    if n_components is not None and values.shape[1] != n_components:
        why = f"The vectors have {values.shape[1]} components, but the enrolled people have {n_components}."
        raise DataError(why, "Use the model that they were enrolled with.")
    return values


class Matcher:
    """Compares query vectors with the vectors of people, by the cosine to the nearest one of each person.

    Parameters
    ----------
    vectors : ndarray of shape (n, k)
    codes : ndarray of shape (n,), int
        The person of each, ascending.
    model : LinearDiscriminantAnalysis, optional
        Compare along its discriminants.

    Attributes
    ----------
    people : ndarray of int
        The codes of those with a column in the similarity scores.

    Examples
    --------
    >>> vectors = np.array([[0.0, 1.0], [0.0, 3.0], [4.0, 0.0]], dtype=np.float32)
    >>> Matcher(vectors, np.array([0, 0, 1])).similarity(vectors[:1]).tolist()
    [[1.0, 0.0]]
    """

    def __init__(
        self, vectors: Vectors, codes: Codes, model: LinearDiscriminantAnalysis | None = None
    ) -> None:
        self.people = np.unique(codes)
        self._directions: Vectors | None = None
        if model is not None:
            count = min(len(model.classes_) - 1, model.scalings_.shape[1])
            self._directions = np.ascontiguousarray(model.scalings_[:, :count], dtype=np.float32)
        # One row a component: a vector times such a matrix is read at the speed of memory.
        self._columns = np.ascontiguousarray(self._projected(vectors).T)
        self._starts = np.flatnonzero(np.diff(codes, prepend=-1))

    def similarity(self, queries: Vectors) -> Vectors:
        """Return the similarity of queries and people, shape (m, n_people), float32; larger is more similar.

        Parameters
        ----------
        queries : ndarray of shape (m, k)
        """
        queries = self._projected(queries)
        values = np.empty((len(queries), len(self.people)), dtype=np.float32)
        for some in slices(len(queries), max(1, ENTRIES // self._columns.shape[1])):
            block = queries[some]
            # One vector by gemv, which does not copy the matrix first as gemm does.
            products = (block[0] @ self._columns)[None] if len(block) == 1 else block @ self._columns
            values[some] = np.maximum.reduceat(products, self._starts, axis=1)
        return np.clip(values, -1, 1, out=values)

    def _projected(self, vectors: Vectors) -> Vectors:
        return directions(vectors if self._directions is None else vectors @ self._directions)


def directions(vectors: npt.NDArray[Any]) -> Vectors:
    """Return vectors divided by their lengths, float32; 0 stays 0."""
    values = np.asarray(vectors, dtype=np.float32)
    # Squares of float32 can overflow and vanish; a copy of all vectors in float64 would be large.
    squares = np.einsum("ij,ij->i", values, values, dtype=np.float64)
    lengths = np.sqrt(squares).astype(np.float32)[:, None]
    return np.asarray(np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0))


SHRINKAGE = 0.1  # 0.05 to 0.3 differ by less than chance on ORL; on Extended Yale B 0.3 does worse
FEWEST = 10  # people with two pictures below which few directions are left, and strangers fit them too
MOST_FITTED = 1000  # people that discriminants are found from; more make it slow, and change little


def discriminants(vectors: npt.NDArray[Any], people: Codes) -> LinearDiscriminantAnalysis | None:
    """Fit scikit-learn's linear discriminant analysis of people, with shrunk covariance within people.

    Without shrinkage the estimate breaks down where there are about as many components as pictures.

    Parameters
    ----------
    vectors : ndarray of shape (n, k)
    people : ndarray of shape (n,), int

    Returns
    -------
    LinearDiscriminantAnalysis or None
        Fitted on people with two pictures: at most 1000, evenly spread. The first ``n_people - 1`` columns of
        ``scalings_`` are used. None where fewer than two people have two pictures, or nobody varies.

    References
    ----------
    Belhumeur, Hespanha and Kriegman (1997), Eigenfaces vs. Fisherfaces, section 2.4. Friedman (1989),
    Regularized discriminant analysis, for the shrinkage.
    """
    several = np.flatnonzero(np.bincount(people) > 1)
    kept = np.isin(people, several[evenly(len(several), MOST_FITTED)])
    values, owners = as_float64(vectors[kept]), people[kept]
    if len(several) < 2 or not _varies(values, owners):
        return None
    # A small product for each person: threads would wait for each other longer than they work.
    with blas_threads():
        return LinearDiscriminantAnalysis(solver="eigen", shrinkage=SHRINKAGE).fit(values, owners)


def _varies(values: npt.NDArray[Any], owners: Codes) -> bool:
    order = np.argsort(owners, kind="stable")
    apart = np.diff(values[order], axis=0)[np.diff(owners[order]) == 0]
    return bool(np.abs(apart).max(initial=0.0) > 1e-6 * np.abs(values).max(initial=0.0))


# ---- Thresholds of similarity scores

FEWEST_PEOPLE = 5  # who show how similar strangers are
# Of held-out comparisons.
FOLDS = 10
MANY = 200  # people above which there are fewer folds
MOST = 500  # people whose pictures are compared in a large gallery, one of four times as many
PAIRS = 1 << 23
POSITIONS = 5
LEAST_FAR, UNSTATED_FAR = 0.001, 0.05  # the least rate where none is asked for; the one where none is stated
# As many times more new strangers get a name where the model was fitted on the pictures of those who serve as
# strangers; and people below which no rate is stated. docs/decisions/0011-thresholds-of-few-people.md.
KNOWN, STATED = 3.0, 10


def counted_threshold(
    scores: FloatArray, far: float, groups: npt.NDArray[Any] | None = None
) -> tuple[float, float] | None:
    """Return the threshold that a new stranger's picture reaches with probability ``far`` at most.

    It is the least t for which ``(F_1(t) + ... + F_N(t) + 1) / (N + 1) <= far``, where ``F_i(t)`` is the
    share of the pictures of stranger i with a score of at least t: if a new stranger is of the same kind, the
    expected share of his pictures is no larger.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Larger is more alike.
    far : float
    groups : ndarray of shape (n,), int, optional
        Whose picture each is, 0 .. N - 1; by default of a stranger each.

    Returns
    -------
    threshold, rate
        The rate expected of new strangers; None where N strangers cannot show so small a rate.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei and Schuster (2024), Conformal risk control, theorem 1.

    Examples
    --------
    >>> counted_threshold(np.arange(1.0, 1000.0) / 1000, 0.01)
    (0.991, 0.01)
    >>> counted_threshold(np.arange(1.0, 100.0) / 100, 0.001)
    """
    owners = np.arange(len(scores)) if groups is None else groups
    counts = np.bincount(owners)
    strangers = len(counts)
    allowed = far * (strangers + 1) - 1
    if not len(scores) or allowed < -1e-9:
        return None
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    shares = np.cumsum(1 / counts[owners[order]])
    # Of equal scores all are accepted or none.
    ends = np.append(np.diff(falling) != 0, True)
    fitting = np.flatnonzero(ends & (shares <= allowed + 1e-9))
    if not len(fitting):
        return float(np.nextafter(falling[0], np.inf)), 1 / (strangers + 1)
    index = int(fitting[-1])
    return float(falling[index]), float(shares[index] + 1) / (strangers + 1)


# ------------------------------------------------------------------ held-out comparisons

Bools = npt.NDArray[np.bool_]
Build = Callable[[Bools], Matcher]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Similarity scores of pictures that were held out from everything they are compared with.

    Attributes
    ----------
    strangers : ndarray of shape (s,), float64
        Of pictures of people who were left out, to whoever is most alike.
    who : ndarray of shape (s,), int
        Which of the people who were left out each shows, counted from 0.
    share : float
        How many people they were compared with, as a share of all.
    pairs : ndarray of shape (p,), float64
        Of the same pictures to each of the people; of very many every so many.
    n_pairs : int
        Of how many.
    own : ndarray of shape (g,), float64
        Of pictures to other pictures of the same person.
    """

    strangers: FloatArray
    who: Codes
    share: float
    pairs: FloatArray
    n_pairs: int
    own: FloatArray

    @property
    def n_strangers(self) -> int:
        """Number of people who were left out."""
        return len(np.unique(self.who))

    @property
    def n_couples(self) -> int:
        """Number of couples of somebody who was left out and somebody who was not."""
        return round(self.n_pairs * self.n_strangers / max(1, len(self.who)))

    @property
    def identification_far(self) -> float:
        """The least rate of strangers with a name that they can show, among all people."""
        return -math.expm1(-math.log1p(1 / max(1, self.n_strangers)) / self.share)

    @property
    def verification_far(self) -> float:
        """The least rate of others taken for a given person that they can show."""
        return 1 / (self.n_couples + 1)


def held_out(vectors: Any, people: Codes, build: Build) -> Comparisons:
    """Compare enrolled pictures with each other, as if each had not been enrolled.

    A stranger's picture is one of a person who is neither in the gallery nor among those that discriminants
    are found from; a picture of an enrolled person is one that is in neither, while others of the person are.

    Parameters
    ----------
    vectors : ndarray of shape (n, k)
    people : ndarray of shape (n,), int
        0 .. n_people - 1.
    build : callable
        Makes a gallery of the pictures of a mask, fitting what is fitted on these alone.
    """
    n_people = int(people.max()) + 1
    batches: list[tuple[npt.NDArray[Any], ...]] = []
    shares, n_pairs = [], 0
    for left_out in _left_out(n_people):
        held = np.isin(people, left_out)
        gallery = build(~held)
        shares.append(len(gallery.people) / n_people)
        strange = np.flatnonzero(held)
        count = len(strange) * len(gallery.people)
        every, n_pairs = max(1, -(-count // (PAIRS // FOLDS))), n_pairs + count
        for block in np.array_split(strange, -(-count // PAIRS)):
            scores = gallery.similarity(vectors[block])
            pairs = scores.ravel()
            batches.append((scores.max(axis=1), people[block], pairs[::every].copy()))
    same_person = [np.empty(0)]
    for held in _positions(people):
        gallery = build(~held)
        scores = gallery.similarity(vectors[held])
        columns = np.searchsorted(gallery.people, people[held])
        same_person.append(scores[np.arange(len(scores)), columns].astype(np.float64))
    nothing = np.empty(0), np.empty(0, dtype=np.intp), np.empty(0)
    best, who, pairs = (np.concatenate(values) for values in zip(nothing, *batches, strict=True))
    who, share = np.unique(who, return_inverse=True)[1], float(np.mean(shares or [1.0]))
    of_pairs, of_own = pairs.astype(np.float64), np.concatenate(same_person)
    return Comparisons(best.astype(np.float64), who, share, of_pairs, n_pairs, of_own)


def _left_out(n_people: int) -> Iterator[npt.NDArray[np.intp]]:
    """Yield people that are left out together; in a large gallery one part of them, once."""
    everybody = np.arange(n_people)
    if n_people > 4 * MOST:
        yield everybody[evenly(n_people, MOST)]
        return
    folds = min(n_people, FOLDS if n_people <= MANY else FOLDS // 2)
    for fold in range(folds):
        yield everybody[everybody % folds == fold]


def _positions(people: Codes) -> Iterator[Bools]:
    """Yield pictures that are held out together, one of a person, such that each person keeps one.

    Where hardly anybody has three pictures they are held out of every other person, so that discriminants can
    still be found.
    """
    counts = np.bincount(people)
    order = np.argsort(people, kind="stable")
    starts = np.cumsum(counts) - counts
    rank = np.empty(len(people), dtype=np.intp)
    rank[order] = np.arange(len(people)) - np.repeat(starts, counts)
    several = counts[people] > 1
    if not several.any():
        return
    groups = 1 if np.median(counts[counts > 1]) > 2 else 2
    large = len(counts) > 4 * MOST
    some = np.isin(people, evenly(len(counts), MOST if large else len(counts)))
    most = min(int(counts.max()), 1 if large else POSITIONS)
    for position in range(most):
        for group in range(groups):
            held = several & some & (rank == position) & (people % groups == group)
            if held.any():
                yield held


# ------------------------------------------------------------------ calibration

NOBODY_TWICE = "Nobody has two pictures, so the false reject rate is unknown."


@dataclass(frozen=True)
class Threshold:
    """From which similarity score on an answer is given.

    Attributes
    ----------
    value : float
        Answers need at least this.
    far : float
        The rate of false accepts asked for, or chosen by :func:`supported`.
    false_accept : float or None
        The rate that is counted: at most ``far``, or the least that the people enrolled can show; None where
        fewer than ten are.
    false_reject : float or None
        Share of new pictures of enrolled people predicted to be below; None where nobody has two pictures.
    observed : bool
        Whether there were strangers enough to count so small a rate; otherwise none of them is accepted.
    notes : tuple of str
        What cannot be promised.
    """

    value: float
    far: float
    false_accept: float | None
    false_reject: float | None
    observed: bool
    notes: tuple[str, ...]


def supported(least: float) -> float:
    """Return the rate of false accepts that is taken where none is asked for.

    The least that the people enrolled can show, rounded up to a thousandth, and not below 0.001.

    Examples
    --------
    >>> [supported(1 / (people + 1)) for people in (10, 30, 200, 5000)]
    [0.091, 0.033, 0.005, 0.001]
    """
    return max(LEAST_FAR, math.ceil(least * 1000 - 1e-9) / 1000)


def margin_of(vectors: Any, n_people: int, variances: FloatArray) -> float:
    """Return by what rates are divided: 1, or ``KNOWN`` if the model was fitted on these very pictures.

    Their vectors have mean 0 then. The squared length of the mean of those of N new people is about an N-th
    of the sum of the variances.

    Examples
    --------
    >>> new = np.random.default_rng(0).standard_normal((30, 40))
    >>> margin_of(new, 30, np.ones(40)), margin_of(new - new.mean(axis=0), 30, np.ones(40))
    (1.0, 3.0)
    """
    mean = np.asarray(vectors, dtype=np.float64).mean(axis=0)
    share = float(mean @ mean) * n_people / max(float(np.sum(variances)), np.finfo(float).tiny)
    return KNOWN if share < 0.01 else 1.0


def calibrate(
    vectors: Any, people: Codes, build: Build, *, far: float | None, variances: FloatArray
) -> tuple[Threshold, Threshold]:
    """Return the thresholds of a gallery: for the most similar of all people, and for one person.

    Parameters
    ----------
    vectors, people, build
        As in :func:`held_out`.
    far : float or None
        For all people the share of strangers' pictures that get a name, for one the share of other people's
        pictures taken for them. None takes what the people enrolled can show: :func:`supported`.
    variances : ndarray of shape (k,), float64
        Of the vectors, over faces.

    Raises
    ------
    DataError
        For fewer than five people.
    """
    n_people = int(people.max()) + 1
    if n_people < FEWEST_PEOPLE:
        who = counted(n_people, "enrolled person", "enrolled people")
        why = f"{who} cannot show how similar strangers are."
        raise DataError(why, f"Enroll at least {FEWEST_PEOPLE}.")
    result = held_out(vectors, people, build)
    stated = n_people >= STATED
    notes: tuple[str, ...] = () if len(result.own) else (NOBODY_TWICE,)
    if not stated:
        notes += (
            f"{n_people} enrolled people are too few to state a false accept rate: at least {STATED} are "
            "needed. The rate asked for only sets the threshold.",
        )
    margin = margin_of(vectors, n_people, variances) if stated else 1.0
    default = margin * result.identification_far, result.verification_far
    rates = [(supported(least) if stated else UNSTATED_FAR) if far is None else far for least in default]
    identify, verify = _counted(result, margin, rates[0]), _counted(result, None, rates[1])
    of_own = [replace(threshold, notes=threshold.notes + notes) for threshold in (identify, verify)]
    if not stated:
        of_own = [replace(threshold, false_accept=None) for threshold in of_own]
    return of_own[0], of_own[1]


def _counted(result: Comparisons, margin: float | None, far: float) -> Threshold:
    """Return the threshold for the most alike of all people by a margin; without one that for one person.

    It is above all strangers where they cannot show the rate.
    """
    if margin is None:
        scores, least, n = result.pairs, result.verification_far, result.n_couples
        whom, scale = f"{n:,} pairs of a stranger and a person", 1.0
        found = counted_threshold(scores, far) if far * (n + 1) >= 1 - 1e-9 else None
    else:
        scores, least, n = result.strangers, margin * result.identification_far, result.n_strangers
        # Those who were left out were compared with fewer people.
        rate = -math.expm1(math.log1p(-far / margin) * result.share)
        whom, scale = f"{n:,} people who serve as strangers", far / rate
        found = counted_threshold(scores, rate, result.who)
    notes: tuple[str, ...] = ()
    if found is None:
        value, accepted = float(np.nextafter(scores.max(), np.inf)), min(1.0, least)
        notes = (
            f"{whom} are too few to count a false accept rate of {far:g}. The threshold is above all of "
            f"them. Rates from {least:.2g} can be counted.",
        )
    else:
        value, accepted = found[0], min(far, found[1] * scale)
    rejected = float((result.own < value).mean()) if len(result.own) else None
    return Threshold(value, far, accepted, rejected, not notes, notes)
