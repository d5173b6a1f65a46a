"""Polynomial equations that rows obey: null directions of the uncentred second moment of the monomials.

Everything is measured as a distance: the root mean square of a polynomial over that of its gradient, in
units in which every feature has spread 1 (to first order, the distance of the rows from its zero set).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gramian.core.records import FloatArray
from gramian.select.polynomials import Frame, Monomials, Points, reduced, triangle
from gramian.select.sparse_relations import LOOKED_AT, Features, Refined, refine, simple_fits, sparse_basis

# ---------------------------------------------------------------- what is measured

SHUFFLES = 3
# Directions with a gradient below 1e-4 of the largest are squares of relations and have no distance.
FLAT = 1e-8
# No distance is told from zero below this, because of the directions that are kept.
FLOOR = 1e-12


@dataclass(frozen=True, eq=False)
class Evidence:
    """The monomials of the rows, of each fold of them, and of rows whose columns are shuffled apart."""

    monomials: Monomials
    whole: FloatArray
    folds: list[FloatArray]
    shuffled: list[FloatArray]
    rounding: FloatArray

    def directions(
        self, R: FloatArray, known: list[FloatArray], degree: int, slack: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return all polynomials up to a degree by distance from vanishing, without multiples of known ones.

        Returns
        -------
        distances : ndarray of shape (c,)
            Ascending; never below what rounding of the data allows to tell.
        vectors : ndarray of shape (m_t, c)
            With gradients of unit root sum of squares over the rows of ``R``.
        """
        m = self.monomials.up_to(degree)
        R = R[:m, :m]
        apart = _complement(self.monomials.multiples(known, degree)[1:], slack)
        slopes = self.monomials.gradients(R, np.ones_like(self.rounding))[:, 1:]
        lengths, Q = np.linalg.eigh(apart.T @ (slopes.T @ slopes) @ apart)
        keep = lengths > FLAT * lengths.max(initial=0.0)
        Y = apart @ (Q[:, keep] / np.sqrt(lengths[keep]))
        _, s, Vt = np.linalg.svd(R[1:, 1:] @ Y, full_matrices=False)
        vectors = Y @ Vt[::-1].T
        blurred = np.linalg.norm(self.monomials.gradients(R, self.rounding)[:, 1:] @ vectors, axis=0)
        distances = np.maximum(np.maximum(s[::-1], blurred), FLOOR)
        constants = -(R[0, 1:] @ vectors) / R[0, 0]
        return distances, np.vstack([constants, vectors])

    def held_out(self, known: list[FloatArray], count: int, slack: float) -> float:
        """Return the distance of rows from ``count`` polynomials that were found without them."""
        degree = self.monomials.degree
        values = slopes = 0.0
        for k, fold in enumerate(self.folds):
            others = np.concatenate([R for j, R in enumerate(self.folds) if j != k])
            _, vectors = self.directions(reduced(others), known, degree, slack)
            chosen = vectors[:, :count]
            values += float(np.sum((fold @ chosen) ** 2))
            slopes += float(
                np.sum((self.monomials.gradients(fold, np.ones_like(self.rounding)) @ chosen) ** 2)
            )
        return float(np.sqrt(values / slopes)) if slopes else np.inf

    def by_chance(self, known: list[FloatArray], slack: float) -> float:
        """Return how near to vanishing polynomials come when columns have nothing to do with each other."""
        degree = self.monomials.degree
        nearest = [self.directions(R, known, degree, slack)[0][:1] for R in self.shuffled]
        return float(min((d[0] for d in nearest if d.size), default=np.inf))


def evidence_of(U: Points, degree: int, rounding: FloatArray, shuffles: int) -> Evidence:
    monomials = Monomials(U.values.shape[1], degree)
    rng = np.random.default_rng(0)
    folds = [triangle(U.values[part], monomials, U.counts[part]) for part in U.parts]
    whole = reduced(np.concatenate(folds))
    shuffled = [triangle(V.values, monomials, V.counts) for V in (U.shuffled(rng) for _ in range(shuffles))]
    return Evidence(monomials, whole, folds, shuffled, rounding)


def features_of(evidence: Evidence, V: Points) -> Features:
    monomials = evidence.monomials
    values = triangle(V.values, monomials, V.counts)
    ones = np.ones_like(evidence.rounding)
    slopes = reduced(monomials.gradients(values, ones))
    rounding = reduced(monomials.gradients(values, evidence.rounding))
    return Features(values, slopes, rounding, V.n, len(monomials))


def basis_of(columns: FloatArray, slack: float) -> FloatArray:
    """Return an orthonormal basis of the span of unit vectors that are known to a part ``slack``."""
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(U[:, s > slack])


def _complement(columns: FloatArray, slack: float) -> FloatArray:
    U, s, _ = np.linalg.svd(columns)
    return np.asarray(U[:, int(np.sum(s > slack)) :])


# ---------------------------------------------------------------------- the search

# The least clear law that is reported without being asked for: noise of 5 % of a feature's spread.
CAP = 0.05
# How much farther from vanishing everything else must be; more where a law between the same features is
# CLEARER by a factor, whose approximations would pass otherwise.
GAP, SECOND_GAP, CLEARER = 4.0, 30.0, 10.0
# The same for laws of two or three terms, and what counts as the same level of noise among them.
SIMPLE_GAP, SAME, SIMPLE_SHUFFLES = 10.0, 3.0, 2
# Rows that were not used may be this much farther away; fewer rows than two a monomial are refused earlier.
HELD_OUT = 4.0
# Whether one relation follows from others is not asked above so many monomials.
MOST_PRODUCTS = 2000
MANY_TERMS = "it has many terms and more noise than an equation in the list"


@dataclass(frozen=True, eq=False)
class RelationFit:
    """A relation and how it was accepted.

    Attributes
    ----------
    vector, scaled : ndarray of shape (m,)
        Its coefficients over the monomials of ``(x - origin) / spread``; and over those of
        ``(x - centre) / spread``, of unit length.
    limit, level : float
        The largest distance that would have been accepted, and the level of noise it belongs to.
    """

    vector: FloatArray
    scaled: FloatArray
    limit: float
    level: float


@dataclass(eq=False)
class LawSearch:
    """What is looked for in some columns, and what has been found.

    Attributes
    ----------
    evidence : Evidence
    V : Points
        Counted from the origin, with spread 1.
    offset : ndarray of shape (d,)
        Where their centre is.
    tol : float or None
    relations : list of (Refined, float)
        What was found and confirmed, with limits.
    nearest, limit : float
        How near to vanishing the next polynomial comes, and what would have been accepted.
    reason : str
        Why it was not.
    """

    evidence: Evidence
    V: Points
    offset: FloatArray
    tol: float | None
    relations: list[tuple[Refined, float]] = field(default_factory=list)
    found: list[RelationFit] = field(default_factory=list)
    level: float = FLOOR
    nearest: float = np.inf
    limit: float = CAP
    reason: str = ""

    @cached_property
    def features(self) -> Features:
        """The monomials in the coordinates of the equation."""
        return features_of(self.evidence, self.V)

    @cached_property
    def to_scaled(self) -> FloatArray:
        """Takes coefficients over the monomials to the scaled coordinates."""
        return self.evidence.monomials.shift(-self.offset)

    @property
    def known(self) -> list[FloatArray]:
        """What was found, in scaled coordinates."""
        return [relation.scaled for relation in self.found]

    def explore(self) -> None:
        """Add relations level by level of noise, and within a level by degree."""
        if len(self.offset) > 1:
            for size in (2, 3):
                self._add_simple(size, CAP if self.tol is None else self.tol)
        while (accepted := self._accepted()) is not None:
            before = len(self.found)
            for degree in range(1, self.evidence.monomials.degree + 1):
                self._add(degree, *accepted)
            if len(self.found) == before:
                self.reason = MANY_TERMS
                return

    def confirm(self, frame: Frame) -> None:
        """Refine what does not follow from the rest, and keep what holds as well as asked.

        Approximations of clearer laws are left out: where a law is smooth on the range of the data, others
        with many terms come near to it and to zero.
        """
        monomials = self.evidence.monomials
        listed = _minimal(self.found, Monomials(monomials.n_features, monomials.degree + 1))
        rest = (frame, len(monomials))
        refined = []
        for relation in listed:
            terms = np.flatnonzero(relation.vector)
            refined.append(refine(self.V, monomials.powers[terms], relation.vector[terms], *rest))
        floor = max(FLOOR, 4 * float(frame.rounding.max()))
        used = [r.powers.any(axis=0) for r in refined]
        for i, r in enumerate(refined):
            sound = r.held_out <= min(HELD_OUT * max(r.distance, floor), CAP)
            nearer = any(
                r.distance > 2 * max(other.distance, floor) and np.sum(used[i] & used[j]) > 1
                for j, other in enumerate(refined)
            )
            if self.tol is not None:
                sound, nearer = max(r.distance, r.held_out) <= self.tol, False
            if any(np.array_equal(r.powers, other.powers) for other, _ in self.relations):
                continue
            if sound and (len(r.vector) <= _few(len(monomials)) or not nearer):
                self.relations.append((r, listed[i].limit))
            else:
                self.nearest = min(self.nearest, r.distance)
                self.reason = MANY_TERMS

    def take_over(self, alone: LawSearch, k: int) -> None:
        """Take over what column ``k`` obeys by itself."""
        powers = self.evidence.monomials.powers
        places = np.flatnonzero(powers.sum(axis=1) == powers[:, k])
        for relation in alone.found:
            vector = np.zeros(len(powers))
            vector[places] = relation.vector
            self._keep(vector, relation.limit, relation.level)

    def _keep(self, vector: FloatArray, limit: float, level: float) -> None:
        scaled = self.to_scaled @ vector
        self.found.append(RelationFit(vector, scaled / np.linalg.norm(scaled), limit, level))
        self.level = max(self.level, level)

    # ------------------------------------------------------- polynomials of any number of terms

    def _accepted(self) -> tuple[float, float, float] | None:
        """Return the next level of noise at which there are relations, the next one beyond, and the limit."""
        evidence, known, slack = self.evidence, self.known, _slack(self.level)
        distances, _ = evidence.directions(evidence.whole, known, evidence.monomials.degree, slack)
        ends = np.append(distances, np.inf)
        self.nearest = float(ends[0])
        self.limit = CAP if self.tol is None else self.tol
        chance = np.inf
        for r in range(1, len(distances) + 1):
            here, beyond = float(ends[r - 1]), float(ends[r])
            if here > self.limit:
                break
            if beyond < GAP * here and (self.tol is None or beyond <= self.tol):
                self.reason = "others are as near, without a gap"
                continue
            held_out = evidence.held_out(known, r, slack)
            limit, most = self.limit, self.limit
            if self.tol is None:
                chance = min(chance, evidence.by_chance(known, slack))
                limit, most = min(CAP, beyond / GAP, chance / 2), min(HELD_OUT * here, CAP)
            if held_out > most:
                self.reason = f"held-out rows are farther away ({held_out:.2g})"
            elif here > limit:
                self.reason = f"shuffled columns are as near ({chance:.2g})"
            else:
                return here, beyond, limit
        return None

    def _add(self, degree: int, level: float, beyond: float, limit: float) -> None:
        """Add the simplest relations of one degree that do not follow from those of lower degrees."""
        monomials, slack = self.evidence.monomials, _slack(max(self.level, level))
        distances, vectors = self.evidence.directions(self.evidence.whole, self.known, degree, slack)
        count = int(np.sum(distances <= min(limit, np.sqrt(GAP) * level)))
        if not count:
            return
        m = len(vectors)
        known = basis_of(monomials.multiples(self.known, degree), slack)
        space = monomials.shift(self.offset)[:m, :m] @ np.column_stack([known, vectors[:, :count]])
        back = self.to_scaled[:m, :m]
        news = vectors[1:, :count].T @ back[1:]
        degrees = monomials.powers[:m].sum(axis=1)
        for vector in sparse_basis(self.features, degrees, space, known, news, back, slack):
            wide = np.pad(vector, (0, len(monomials) - m))
            clear = np.count_nonzero(vector) <= _few(m) and beyond > SECOND_GAP * level
            if self.tol is None and not clear and self._approximates(wide, level):
                continue
            self._keep(wide, limit, level)

    def _approximates(self, vector: FloatArray, level: float) -> bool:
        """Return whether a law with two features in common is known much more clearly."""
        powers = self.evidence.monomials.powers
        used = powers[np.flatnonzero(vector)].any(axis=0)
        return any(
            level > CLEARER * known.level
            and np.sum(used & powers[np.flatnonzero(known.vector)].any(axis=0)) > 1
            for known in self.found
        )

    # --------------------------------------------------------------- two or three terms

    def _add_simple(self, size: int, cap: float) -> None:
        """Add laws of two or three terms that are far nearer to vanishing than all others of so many terms.

        Where a law is smooth on the range of the data, polynomials of many terms come as near as noise lets
        it come itself, and the gap between all polynomials closes. Among those of few terms it stays.
        """
        monomials = self.evidence.monomials
        fits = self._simple(self.features, size)
        if not fits or fits[0][0] > cap:
            return
        near = [fit for fit in fits if fit[0] <= SAME * fits[0][0]]
        degrees = monomials.powers.sum(axis=1)
        simplicity = [
            (monomials.degree_of(v), int(degrees[v != 0].sum()), distance, tuple(np.flatnonzero(v)))
            for distance, v, _ in near
        ]
        near = [near[i] for i in sorted(range(len(near)), key=simplicity.__getitem__)]
        level = max(fit[0] for fit in near)
        known, slack = self.known, _slack(max(self.level, level))
        new = []
        for _, vector, scaled in near:
            if self._is_new(scaled, known, slack):
                known.append(scaled / np.linalg.norm(scaled))
                new.append(vector)
        # All that were looked at may hold, and then it is not known how far the next one is.
        beyond = fits[-1][0] if len(fits) >= LOOKED_AT else np.inf
        others = (fit[0] for fit in fits[len(near) :] if self._is_new(fit[2], known, slack))
        beyond = next(others, beyond)
        if not new or level > cap or beyond < SIMPLE_GAP * fits[0][0]:
            return
        limit = min(cap, beyond * SAME / SIMPLE_GAP, self._simple_chance(size) / GAP)
        for vector in new if level <= limit else ():
            self._keep(vector, limit, level)

    def _simple(self, features: Features, size: int) -> list[tuple[float, FloatArray, FloatArray]]:
        """Return laws of so many terms by distance: with coefficients as written and in scaled form."""
        monomials = self.evidence.monomials
        written = monomials.multiples([relation.vector for relation in self.found], monomials.degree)
        fits = []
        for distance, support, part in simple_fits(features, size, written):
            vector = np.zeros(len(monomials))
            vector[support] = part
            scaled = self.to_scaled @ vector
            fits.append((max(distance, FLOOR), vector, scaled / np.linalg.norm(scaled[1:])))
        return fits

    def _simple_chance(self, size: int) -> float:
        """Return how near so few terms come when columns have nothing to do with each other."""
        rng = np.random.default_rng(1)
        nearest, known, slack = np.inf, self.known, _slack(self.level)
        for _ in range(SIMPLE_SHUFFLES):
            fits = self._simple(features_of(self.evidence, self.V.shuffled(rng)), size)
            new = (distance for distance, _, scaled in fits if self._is_new(scaled, known, slack))
            nearest = min(nearest, next(new, np.inf))
        return nearest

    def _is_new(self, scaled: FloatArray, known: list[FloatArray], slack: float) -> bool:
        """Return whether a polynomial is no multiple of known ones."""
        monomials = self.evidence.monomials
        basis = basis_of(monomials.multiples(known, monomials.degree)[1:], slack)
        rest = scaled[1:] - basis @ (basis.T @ scaled[1:])
        return bool(np.linalg.norm(rest) > max(slack, 1e-3))


def search(points: Points, frame: Frame, degree: int, tol: float | None) -> LawSearch:
    """Find the polynomial equations of lowest degree and fewest terms that the rows obey.

    Parameters
    ----------
    points : Points
        For clearly more rows than monomials.
    frame : Frame
    degree : int
    tol : float or None
        The largest distance accepted, in scaled units, on the rows and held out; None decides by the gap to
        the next polynomial, by held-out rows and by shuffled columns.
    """
    X, d = points.values, points.values.shape[1]
    U, V = replace(points, values=frame.scaled(X)), replace(points, values=frame.shifted(X))

    def of(columns: slice, shuffles: int) -> LawSearch:
        evidence = evidence_of(U.columns(columns), degree, frame.rounding[columns], shuffles)
        return LawSearch(evidence, V.columns(columns), frame.offset[columns], tol)

    whole = of(slice(None), SHUFFLES if d > 1 else 0)
    # What a column obeys by itself, such as being constant, shuffling columns would keep.
    for k in range(d if d > 1 else 0):
        alone = of(slice(k, k + 1), 0)
        alone.explore()
        whole.take_over(alone, k)
    whole.explore()
    whole.confirm(frame)
    return whole


def _slack(level: float) -> float:
    """Return the part of a unit vector that noise explains."""
    return min(max(1e-7, 10 * level), 0.3)


def _few(m: int) -> int:
    """Return how many terms look like a law and not like an approximation, among m monomials."""
    return max(3, m // 4)


def _minimal(result: list[RelationFit], monomials: Monomials) -> list[RelationFit]:
    """Leave out relations that follow from simpler ones: sums of multiples up to one degree higher."""
    degrees = [monomials.degree_of(relation.vector) for relation in result]
    order = sorted(range(len(result)), key=lambda i: (np.count_nonzero(result[i].vector), degrees[i], i))
    kept = list(range(len(result)))
    for i in reversed(order):
        # What is less clear implies nothing clearer.
        rest = [result[j].scaled for j in kept if j != i and result[j].level <= SAME * result[i].level]
        if not rest or len(monomials) > MOST_PRODUCTS:
            continue
        slack = _slack(result[i].level)
        basis = basis_of(monomials.multiples(rest, min(degrees[i] + 1, monomials.degree)), slack)
        target = np.zeros(len(basis))
        size = min(len(basis), len(result[i].scaled))
        target[:size] = result[i].scaled[:size]
        if np.linalg.norm(target - basis @ (basis.T @ target)) < slack:
            kept.remove(i)
    return [result[i] for i in kept]
