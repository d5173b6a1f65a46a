"""Polynomial equations that rows obey: null directions of the uncentred second moment of the monomials.

Everything is measured as a distance: the root mean square of a polynomial over that of its gradient, in
units in which every feature has spread 1 (to first order, the distance of the rows from its zero set).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from gramian.core.records import FloatArray, IntArray
from gramian.select.polynomials import Frame, Monomials, Points, reduced, term_order, triangle

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
        self, R: FloatArray, found: list[FloatArray], degree: int, slack: float
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
        apart = _complement(self.monomials.multiples(found, degree)[1:], slack)
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

    def held_out(self, found: list[FloatArray], count: int, slack: float) -> float:
        """Return the distance of rows from ``count`` polynomials that were found without them."""
        degree = self.monomials.degree
        values = slopes = 0.0
        for k, fold in enumerate(self.folds):
            others = np.concatenate([R for j, R in enumerate(self.folds) if j != k])
            _, vectors = self.directions(reduced(others), found, degree, slack)
            chosen = vectors[:, :count]
            values += float(np.sum((fold @ chosen) ** 2))
            slopes += float(
                np.sum((self.monomials.gradients(fold, np.ones_like(self.rounding)) @ chosen) ** 2)
            )
        return float(np.sqrt(values / slopes)) if slopes else np.inf

    def by_chance(self, found: list[FloatArray], slack: float) -> float:
        """Return how near to vanishing polynomials come when columns have nothing to do with each other."""
        degree = self.monomials.degree
        nearest = [self.directions(R, found, degree, slack)[0][:1] for R in self.shuffled]
        return float(min((d[0] for d in nearest if d.size), default=np.inf))


def evidence_of(U: Points, degree: int, rounding: FloatArray, shuffles: int) -> Evidence:
    monomials = Monomials(U.values.shape[1], degree)
    rng = np.random.default_rng(0)
    folds = [triangle(U.values[fold], monomials) for fold in U.parts]
    whole = reduced(np.concatenate(folds))
    shuffled = [triangle(U.shuffled(rng).values, monomials) for _ in range(shuffles)]
    return Evidence(monomials, whole, folds, shuffled, rounding)


def features_of(evidence: Evidence, V: Points) -> Features:
    monomials = evidence.monomials
    values = triangle(V.values, monomials)
    ones = np.ones_like(evidence.rounding)
    slopes = reduced(monomials.gradients(values, ones))
    rounding = reduced(monomials.gradients(values, evidence.rounding))
    return Features(values, slopes, rounding, len(V.values), len(monomials))


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
        indices = np.flatnonzero(powers.sum(axis=1) == powers[:, k])
        for relation in alone.found:
            vector = np.zeros(len(powers))
            vector[indices] = relation.vector
            self._keep(vector, relation.limit, relation.level)

    def _keep(self, vector: FloatArray, limit: float, level: float) -> None:
        scaled = self.to_scaled @ vector
        self.found.append(RelationFit(vector, scaled / np.linalg.norm(scaled), limit, level))
        self.level = max(self.level, level)

    # ------------------------------------------------------- polynomials of any number of terms

    def _accepted(self) -> tuple[float, float, float] | None:
        """Return the next level of noise at which there are relations, the next one beyond, and the limit."""
        evidence, found, slack = self.evidence, self.known, _slack(self.level)
        distances, _ = evidence.directions(evidence.whole, found, evidence.monomials.degree, slack)
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
            held_out = evidence.held_out(found, r, slack)
            limit, most = self.limit, self.limit
            if self.tol is None:
                chance = min(chance, evidence.by_chance(found, slack))
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
        basis = basis_of(monomials.multiples(self.known, degree), slack)
        space = monomials.shift(self.offset)[:m, :m] @ np.column_stack([basis, vectors[:, :count]])
        back = self.to_scaled[:m, :m]
        news = vectors[1:, :count].T @ back[1:]
        degrees = monomials.powers[:m].sum(axis=1)
        for vector in sparse_basis(self.features, degrees, space, basis, news, back, slack):
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
            level > CLEARER * relation.level
            and np.sum(used & powers[np.flatnonzero(relation.vector)].any(axis=0)) > 1
            for relation in self.found
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
        found, slack = self.known, _slack(max(self.level, level))
        new = []
        for _, vector, scaled in near:
            if self._is_new(scaled, found, slack):
                found.append(scaled / np.linalg.norm(scaled))
                new.append(vector)
        # All that were looked at may hold, and then it is not known how far the next one is.
        beyond = fits[-1][0] if len(fits) >= LOOKED_AT else np.inf
        others = (fit[0] for fit in fits[len(near) :] if self._is_new(fit[2], found, slack))
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
        for distance, support, coefficients in simple_fits(features, size, written):
            vector = np.zeros(len(monomials))
            vector[support] = coefficients
            scaled = self.to_scaled @ vector
            fits.append((max(distance, FLOOR), vector, scaled / np.linalg.norm(scaled[1:])))
        return fits

    def _simple_chance(self, size: int) -> float:
        """Return how near so few terms come when columns have nothing to do with each other."""
        rng = np.random.default_rng(1)
        nearest, found, slack = np.inf, self.known, _slack(self.level)
        for _ in range(SIMPLE_SHUFFLES):
            fits = self._simple(features_of(self.evidence, self.V.shuffled(rng)), size)
            new = (distance for distance, _, scaled in fits if self._is_new(scaled, found, slack))
            nearest = min(nearest, next(new, np.inf))
        return nearest

    def _is_new(self, scaled: FloatArray, found: list[FloatArray], slack: float) -> bool:
        """Return whether a polynomial is no multiple of known ones."""
        monomials = self.evidence.monomials
        basis = basis_of(monomials.multiples(found, monomials.degree)[1:], slack)
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


# ---- The simplest equations among all that hold: sparse vectors in a space of vanishing polynomials.
# Terms are left out one after the other, and laws of two or three terms are few enough to try all of them.

# Seeds of the search for sparse vectors: one linear programme each.
SEEDS = 80
# Directions along which the gradient all but vanishes have no distance; they are multiples of others.
IDLE = 1e-9
# All triples of so many terms are tried: 34,220.
MOST_FOR_TRIPLES = 60
CHUNK = 20_000
# So many of the nearest are fitted again without squares, whose rounding hides what is clearer than 1e-8.
LOOKED_AT = 60
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Features:
    """The monomials of the data in the coordinates of the equation, compressed to triangles.

    Attributes
    ----------
    values : ndarray of shape (m, m)
        ``|values @ a|`` is the norm of a polynomial's values on the rows.
    slopes : ndarray of shape (m, m)
        ``|slopes @ a|`` is the norm of its gradients, in units in which every feature has spread 1.
    rounding : ndarray of shape (r, m)
        ``|rounding @ a|`` is what rounding of the data does to the values.
    n_rows : int
    n_monomials : int
        How many terms there were to choose from.
    first_is_constant : bool
        Whether column 0 belongs to the constant.
    """

    values: FloatArray
    slopes: FloatArray
    rounding: FloatArray
    n_rows: int
    n_monomials: int
    first_is_constant: bool = True

    def fit(self, support: IntArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the polynomial on a support that is nearest to vanishing, by distance to first order.

        Returns
        -------
        residual : float
            Root mean square of the values over that of the gradients.
        vector : ndarray of shape (s,)
            With gradients of unit root sum of squares.
        importance : ndarray of shape (s,)
            By how much the squared residual would grow, to first order, without each term.

        References
        ----------
        G. Taubin (1991), Estimation of planar curves, surfaces and nonplanar space curves defined by
        implicit equations, IEEE Transactions on Pattern Analysis and Machine Intelligence 13.
        """
        constant = self.first_is_constant and support[0] == 0
        free = support[1:] if constant else support
        scale = np.linalg.norm(self.values[:, free], axis=0)
        scale[scale == 0] = 1.0
        A = self.values[:, free] / scale
        _, g, Vt = np.linalg.svd(self.slopes[:, free] / scale, full_matrices=False)
        keep = g > IDLE * g.max(initial=0.0)
        if not keep.any():
            return np.inf, np.zeros(len(support)), np.zeros(len(support))
        Y = Vt[keep].T / g[keep]
        # The first column is the constant, so without the first row the best constant is taken out.
        _, s, Wt = np.linalg.svd((A[1:] if constant else A) @ Y, full_matrices=False)
        vectors = Y @ Wt.T
        inverse = np.zeros(len(s))
        inverse[:-1] = 1 / np.maximum(s[:-1] ** 2 - s[-1] ** 2, (EPS * s[0]) ** 2 + 1e-300)
        if constant:
            vectors = np.vstack([-(A[0] @ vectors) / self.values[0, 0], vectors])
            scale = np.concatenate([[1.0], scale])
        spread = vectors**2 @ inverse
        if constant:
            spread[0] += 1 / self.n_rows
        with np.errstate(over="ignore"):  # without residual nothing may be left out
            importance = vectors[:, -1] ** 2 / np.maximum(spread, 1e-300)
        return float(s[-1]), vectors[:, -1] / scale, importance

    def floor(self, support: IntArray, vector: FloatArray) -> float:
        """Return the residual below which nothing can be told, for a polynomial as :meth:`fit` returns it."""
        sizes = np.linalg.norm(self.values[:, support], axis=0)
        return 4 * EPS * float(np.abs(vector) @ sizes) + float(
            np.linalg.norm(self.rounding[:, support] @ vector)
        )


def sparse_basis(
    features: Features,
    degrees: IntArray,
    space: FloatArray,
    found: FloatArray,
    news: FloatArray,
    to_scaled: FloatArray,
    slack: float,
) -> list[FloatArray]:
    """Return simple polynomials that span, together with known ones, a space of vanishing polynomials.

    Every vector of the space with as few terms as possible is a candidate: the smallest sums of absolute
    contributions with one coefficient held at 1, with the terms left out that the data do not ask for.
    Candidates are taken from the simplest on, as long as they say something new; of all bases this greedy
    choice gives the simplest, because independence is a matroid.

    Parameters
    ----------
    features : Features
    degrees : ndarray of shape (m_t,)
        Of the monomials.
    space : ndarray of shape (m_t, q)
        Basis of the space, in the coordinates of ``features``.
    found : ndarray of shape (m_t, w)
        What is known already: polynomials in scaled coordinates, as unit vectors.
    news : ndarray of shape (r, m_t)
        Functionals that are 0 for what is known: one for each polynomial that is wanted beside it.
    to_scaled : ndarray of shape (m_t, m_t)
        Takes coefficients to the scaled coordinates, where independence is judged.
    slack : float
        Part of a unit vector that counts as something new.

    Returns
    -------
    list of ndarray of shape (m_t,)
        At most ``r``, in the coordinates of ``features``.
    """
    candidates: dict[tuple[int, ...], FloatArray] = {}
    for start in _candidates(features, space, degrees, news):
        support, vector = pruned(features, start)
        candidates.setdefault(tuple(support.tolist()), vector)
    order = sorted(candidates, key=lambda s: (len(s), int(degrees[list(s)].sum()), s))
    basis, _ = np.linalg.qr(found[1:]) if found.shape[1] else (np.zeros((len(space) - 1, 0)), None)
    chosen: list[FloatArray] = []
    for terms in order:
        if len(chosen) == len(news):
            break
        vector = np.zeros(len(space))
        vector[list(terms)] = candidates[terms]
        scaled = (to_scaled @ vector)[1:]
        length = np.linalg.norm(scaled)
        if not length:
            continue
        scaled /= length
        rest = scaled - basis @ (basis.T @ scaled)
        rest -= basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > slack:
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
            chosen.append(vector)
    return chosen


def _candidates(
    features: Features, space: FloatArray, degrees: IntArray, news: FloatArray
) -> list[FloatArray]:
    """Return vectors of the space with many zeros, each entry measured by its contribution."""
    sizes = np.linalg.norm(features.values[:, : len(space)], axis=0) / np.sqrt(features.n_rows)
    sizes[sizes == 0] = 1.0
    space = space / np.linalg.norm(space, axis=0)
    if space.shape[1] == 1:
        return [space[:, 0]]
    Q, _ = np.linalg.qr(space * sizes[:, None])
    weight = np.linalg.norm(Q, axis=1)
    seeds = np.argsort(-weight, kind="stable")[:SEEDS]
    m, q = Q.shape
    both = np.block([[Q, -np.eye(m)], [-Q, -np.eye(m)]])
    # Of terms that contribute alike the lower degree is taken, and then the first.
    cost = np.concatenate([np.zeros(q), 1 + 0.05 * degrees + 1e-3 * np.arange(m) / m])
    bounds = [(None, None)] * q + [(0, None)] * m
    # With one coefficient held at 1 the simplest may be known; what is held at 1 last is new.
    helds = [Q[seed] for seed in seeds[weight[seeds] > 1e-3]] + list((news / sizes) @ Q)
    results = []
    for held in helds:
        row = np.concatenate([held / np.abs(held).max(), np.zeros(m)])[None, :]
        best = linprog(cost, both, np.zeros(2 * m), row, [1.0], bounds, method="highs")
        if best.status == 0:
            results.append(Q @ best.x[:q] / sizes)
    return results


def pruned(features: Features, vector: FloatArray) -> tuple[IntArray, FloatArray]:
    """Leave out the terms of a relation that the data do not ask for, the least important first.

    A term stays when the mean squared residual without it is larger by more than chance makes it, and at
    least by 1 %. The price of a term is about that of the extended Bayesian information criterion (Chen and
    Chen 2008, Biometrika 95), a little stricter: an idle term in print misleads more than a faint one lost.
    """
    sizes = np.linalg.norm(features.values[:, : len(vector)], axis=0)
    magnitudes = np.abs(vector) * np.where(sizes > 0, sizes, 1.0)
    support = np.flatnonzero(magnitudes > 1e-9 * magnitudes.max())
    residual, vector, importance = features.fit(support)
    needed: set[int] = set()
    while len(support) > 1:
        order = [j for j in np.argsort(importance, kind="stable") if int(support[j]) not in needed]
        if not order:
            break
        freedom = max(features.n_rows - len(support), 1)
        price = max(2 * np.log(features.n_rows * features.n_monomials) / freedom, 0.01)
        light = [j for j in order if importance[j] <= price * residual**2]
        for batch in ([light[: len(light) // 2]] if len(light) > 3 else []) + [order[:1]]:
            fewer = np.delete(support, batch)
            refit = features.fit(fewer)
            # Idle terms make the residual smaller by about one part in the degrees of freedom each.
            idle = 1.5 * (len(batch) - 1) / freedom
            if refit[0] <= max(residual * np.sqrt(1 + price + idle), features.floor(fewer, refit[1])):
                support, (residual, vector, importance) = fewer, refit
                break
        else:
            needed.add(int(support[order[0]]))
    return support, vector


def simple_fits(
    features: Features, size: int, without: FloatArray
) -> Iterator[tuple[float, IntArray, FloatArray]]:
    """Yield equations of 2 or 3 terms, about from the nearest to vanishing on.

    Parameters
    ----------
    features : Features
    size : int
        Number of terms; with 3 and more than 60 monomials there are none.
    without : ndarray of shape (m, q)
        Equations that are known: what holds all terms of one of them is passed over.

    Yields
    ------
    distance : float
        Root mean square of the values over that of the gradient, not below what can be told.
    support : ndarray of shape (size,)
    vector : ndarray of shape (size,)
    """
    m = features.values.shape[1]
    if m < size or (size > 2 and m > MOST_FOR_TRIPLES):
        return
    supports = np.array(list(combinations(range(m), size)))
    for coefficients in without.T:
        if np.count_nonzero(coefficients) <= size:
            supports = supports[np.sum(coefficients[supports] != 0, axis=1) < np.count_nonzero(coefficients)]
    if not len(supports):
        return
    scale = np.linalg.norm(features.values, axis=0)
    scale[scale == 0] = 1.0
    values, slopes = features.values / scale, features.slopes / scale
    chunks = (supports[start : start + CHUNK] for start in range(0, len(supports), CHUNK))
    squares = np.concatenate([_least(values, slopes, chunk) for chunk in chunks])
    fits = []
    for index in np.argsort(squares, kind="stable")[:LOOKED_AT]:
        support = supports[index]
        distance, vector, _ = features.fit(support)
        if np.all(vector != 0):
            fits.append((max(distance, features.floor(support, vector)), support, vector))
    yield from sorted(fits, key=lambda fit: fit[0])


def _least(values: FloatArray, slopes: FloatArray, supports: IntArray) -> FloatArray:
    """Return the least eigenvalue of every small pencil of moments of values and of slopes."""
    P, G = values.T @ values, slopes.T @ slopes
    A = P[supports[:, :, None], supports[:, None, :]]
    B = G[supports[:, :, None], supports[:, None, :]]
    # The best constant is taken out of the others, and its own place is filled with what is never least.
    has = supports[:, 0] == 0
    Q = values[1:].T @ values[1:]
    A[has] = Q[supports[has][:, :, None], supports[has][:, None, :]]
    A[has, 0, 0] = 1e6
    B[has, 0, 0] = 1.0
    trace = np.trace(B, axis1=1, axis2=2)
    B += (1e-13 * trace + 1e-300)[:, None, None] * np.eye(supports.shape[1])
    L = np.linalg.cholesky(B)
    half = np.linalg.solve(L, A)
    return np.asarray(np.linalg.eigvalsh(np.linalg.solve(L, half.transpose(0, 2, 1)))[:, 0])


# ---- The coefficients of one relation as well as the rows determine them, and how well that is

ROUNDS = 4
# A row where the gradient vanishes, such as the centre of a circle, has no distance to first order.
LEAST_SLOPE = 0.2


@dataclass(frozen=True, eq=False)
class Refined:
    """A relation with its precision.

    Attributes
    ----------
    powers : ndarray of shape (s, d)
    vector : ndarray of shape (s,)
        Coefficients; that of the term named ``lead`` is 1.
    errors : ndarray of shape (s,)
        Standard errors of the coefficients.
    lead : int
    distance, held_out : float
        Root mean square of the values over that of the gradient, in units of the features' spread: on the
        rows, and on rows in five parts, each with coefficients found on the other four.
    lengths : tuple of two floats
        The same two in data units.
    triangle : ndarray of shape (s, s)
        ``|triangle @ vector|`` is the distance with every row weighted by one over its gradient.
    n_rows : int
    """

    powers: IntArray
    vector: FloatArray
    errors: FloatArray
    lead: int
    distance: float
    held_out: float
    lengths: tuple[float, float]
    triangle: FloatArray
    n_rows: int


@dataclass(frozen=True, eq=False)
class _Terms:
    """Values and then partial derivatives of the terms on the rows, shape (1 + d, n, s).

    With them the rounding of each feature, and how many terms there were to choose from.
    """

    powers: IntArray
    facts: FloatArray
    rounding: FloatArray
    n_monomials: int

    @property
    def values(self) -> FloatArray:
        return np.asarray(self.facts[0])

    @property
    def slopes(self) -> FloatArray:
        return self.facts[1:]

    def part(self, terms: IntArray) -> _Terms:
        return replace(self, powers=self.powers[terms], facts=self.facts[:, :, terms])

    def rows(self, chosen: IntArray) -> _Terms:
        return replace(self, facts=self.facts[:, chosen])

    def weights(self, vector: FloatArray) -> FloatArray:
        """Return one over the gradient's length in every row, so that rows weigh as their distance."""
        squares = np.sum((self.slopes @ vector) ** 2, axis=0)
        typical = float(squares.mean())
        least = LEAST_SLOPE**2 * typical if typical else 1.0
        return np.asarray(1 / np.sqrt(np.maximum(squares, least)))

    def features(self, vector: FloatArray) -> Features:
        """Compress the rows, weighted for a polynomial, to triangles."""
        weights = self.weights(vector)
        s = self.values.shape[1]
        slopes = self.slopes * weights[:, None]
        values, rounding = self.values * weights[:, None], slopes * self.rounding[:, None, None]
        triangles = reduced(values), reduced(slopes.reshape(-1, s)), reduced(rounding.reshape(-1, s))
        constant = not self.powers[0].any()
        return Features(*triangles, len(values), self.n_monomials, first_is_constant=constant)


def columns(V: FloatArray, powers: IntArray) -> FloatArray:
    """Return the monomials of every row, shape (n, s).

    Examples
    --------
    >>> columns(np.array([[2.0, 3.0]]), np.array([[1, 0], [2, 1]])).tolist()
    [[2.0, 12.0]]
    """
    values = np.ones((len(V), len(powers)))
    for k in np.flatnonzero(powers.any(axis=0)):
        values *= V[:, k, None] ** powers[:, k]
    return values


def refine(V: Points, powers: IntArray, vector: FloatArray, frame: Frame, n_monomials: int) -> Refined:
    """Fit the coefficients with every row weighted by its distance, and leave out terms that are then idle.

    Plain fits of the values let rows with a long gradient decide. Weights of one over its length make the
    residuals alike, and Taubin's quotient keeps the fit free of the bias that noise has on squares.

    Parameters
    ----------
    V : Points
        Counted from the origin, with spread 1.
    powers : ndarray of shape (s, d)
        The terms, the constant first where there is one.
    vector : ndarray of shape (s,)
        Coefficients to start from.
    frame : Frame
    n_monomials : int
        How many terms there were to choose from.

    References
    ----------
    P. D. Sampson (1982), Fitting conic sections to "very scattered" data, Computer Graphics and Image
    Processing 18. K. Kanatani (1994), Statistical bias of conic fitting and renormalization, IEEE
    Transactions on Pattern Analysis and Machine Intelligence 16.
    """
    terms, n = _terms(V.values, powers, frame.rounding, n_monomials), len(V.values)
    vector, features = _weighted(terms, vector)
    support, vector = pruned(features, vector)
    terms = terms.part(support)
    vector, _ = _weighted(terms, vector)
    lead = int(term_order(terms.powers)[0])
    vector = vector / vector[lead]
    every = np.arange(n)
    whole = _distances(terms, [vector], [every], frame.spread)
    others = [np.setdiff1d(every, fold) for fold in V.parts]
    fitted = [_weighted(terms.rows(rest), vector)[0] for rest in others]
    apart = _distances(terms, fitted, V.parts, frame.spread)
    # Again, because the weights belong to coefficients of another size.
    triangle = terms.features(vector).values / np.sqrt(n)
    errors = _errors(triangle, vector, lead, n)
    return Refined(terms.powers, vector, errors, lead, whole[0], apart[0], (whole[1], apart[1]), triangle, n)


def _terms(V: FloatArray, powers: IntArray, rounding: FloatArray, n_monomials: int) -> _Terms:
    facts = [columns(V, powers)]
    for k in range(V.shape[1]):
        lower = powers.copy()
        lower[:, k] = np.maximum(lower[:, k] - 1, 0)
        facts.append(columns(V, lower) * powers[:, k])
    return _Terms(powers, np.stack(facts), rounding, n_monomials)


def _weighted(terms: _Terms, vector: FloatArray) -> tuple[FloatArray, Features]:
    """Return the coefficients in the largest of which is 1, and the features weighted for them."""
    every = np.arange(len(vector))
    for _ in range(ROUNDS):
        vector = vector / np.abs(vector).max()
        features = terms.features(vector)
        residual, fitted, _ = features.fit(every)
        if not np.isfinite(residual) or not fitted.any():
            break
        vector = fitted
    return vector, features


def _distances(
    terms: _Terms, vectors: list[FloatArray], folds: list[IntArray], spread: FloatArray
) -> tuple[float, float]:
    """Return the root mean square of values over that of gradients: in units of spread, and of the data."""
    values = 0.0
    slopes = np.zeros(len(spread))
    for vector, fold in zip(vectors, folds, strict=True):
        some = terms.rows(fold)
        size = np.abs(vector).max()
        values += float(np.sum((some.values @ (vector / size)) ** 2))
        slopes += np.sum((some.slopes @ (vector / size)) ** 2, axis=1)
    used = slopes > 0
    least = float(spread[used].min())
    root = np.sqrt(values)
    relative = float(root / np.sqrt(slopes.sum()))
    return relative, least * float(root / np.sqrt(np.sum(slopes[used] * (least / spread[used]) ** 2)))


def _errors(triangle: FloatArray, vector: FloatArray, lead: int, n: int) -> FloatArray:
    """Return standard errors of the other coefficients, with the leading one held."""
    others = np.delete(np.arange(len(vector)), lead)
    sizes = np.linalg.norm(triangle, axis=0)
    rounding = EPS * float(np.abs(vector) @ sizes)
    values = float(np.linalg.norm(triangle @ vector))
    noise = max(values / np.sqrt(max(1 - len(others) / n, 0.1)), rounding) / np.sqrt(n)
    R = reduced(triangle[:, others] / sizes[others])
    inverse = np.linalg.pinv(R)
    errors = np.zeros(len(vector))
    errors[others] = noise * np.linalg.norm(inverse, axis=1) / sizes[others]
    return errors
