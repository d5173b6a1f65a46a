"""Polynomial equations that rows obey: null directions of the uncentred second moment of the monomials.

Everything is measured as a distance: the root mean square of a polynomial over that of its gradient, in
units in which every feature has spread 1 (to first order, the distance of the rows from its zero set).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gramian.kernels.monomials import exponents
from gramian.laws.evidence import FLOOR, SHUFFLES, Evidence, basis_of, evidence_of, features_of, parts_of
from gramian.laws.frames import Frame
from gramian.laws.polynomials import Monomials
from gramian.laws.refinement import Refined, refine
from gramian.laws.simple import LOOKED_AT, simple_fits
from gramian.laws.sparse import Features, sparse_basis
from gramian.records import FloatArray, IntArray

__all__ = ["CAP", "Found", "Search", "search"]

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


@dataclass(frozen=True, eq=False)
class Found:
    """A relation: coefficients over the monomials of ``(x - origin) / spread``, and how it was accepted."""

    vector: FloatArray
    limit: float
    level: float


@dataclass(frozen=True, eq=False)
class Search:
    """What was found, with limits, and how near to vanishing the next polynomial comes."""

    found: list[tuple[Refined, float]]
    nearest: float
    limit: float
    reason: str


@dataclass(eq=False)
class _State:
    known: list[FloatArray] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    level: float = FLOOR
    nearest: float = np.inf
    limit: float = CAP
    reason: str = ""

    @property
    def slack(self) -> float:
        return _slack(self.level)

    def approximates(self, monomials: Monomials, vector: FloatArray, level: float) -> bool:
        """Return whether a law with two features in common is known much more clearly."""
        used = monomials.powers[np.flatnonzero(vector)].any(axis=0)
        return any(
            level > CLEARER * known.level
            and np.sum(used & monomials.powers[np.flatnonzero(known.vector)].any(axis=0)) > 1
            for known in self.found
        )


def _slack(level: float) -> float:
    """Return the part of a unit vector that noise explains."""
    return min(max(1e-7, 10 * level), 0.3)


def _few(m: int) -> int:
    """Return how many terms look like a law and not like an approximation, among m monomials."""
    return max(3, m // 4)


def search(X: FloatArray, frame: Frame, degree: int, tol: float | None) -> Search:
    """Find the polynomial equations of lowest degree and fewest terms that the rows obey.

    Parameters
    ----------
    X : ndarray of shape (n, d), float64
        Distinct rows, clearly more than monomials.
    frame : Frame
    degree : int
    tol : float or None
        The largest distance accepted, in scaled units, on the rows and held out; None decides by the gap to
        the next polynomial, by held-out rows and by shuffled columns.
    """
    U, V = frame.scaled(X), frame.shifted(X)
    state = _State()
    for k in range(X.shape[1]):
        _single(U[:, k : k + 1], V[:, k : k + 1], frame, k, degree, tol, state)
    if X.shape[1] > 1:
        _explore(evidence_of(U, degree, frame.rounding, SHUFFLES), V, frame.offset, tol, state)
    listed = _minimal(state, Monomials(X.shape[1], degree + 1))
    powers = exponents(X.shape[1], degree)
    refined = [(_refined(relation, V, powers, frame), relation.limit) for relation in listed]
    return Search(
        _confirmed(refined, frame, tol, len(powers), state), state.nearest, state.limit, state.reason
    )


def _refined(relation: Found, V: FloatArray, powers: IntArray, frame: Frame) -> Refined:
    terms = np.flatnonzero(relation.vector)
    return refine(
        V, powers[terms], relation.vector[terms], frame.spread, frame.rounding, len(powers), parts_of(len(V))
    )


def _confirmed(
    refined: list[tuple[Refined, float]], frame: Frame, tol: float | None, m: int, state: _State
) -> list[tuple[Refined, float]]:
    """Leave out what does not hold as well as asked, and approximations of clearer laws.

    Where a law is smooth on the range of the data, others with many terms come near to it and to zero.
    """
    floor = max(FLOOR, 4 * float(frame.rounding.max()))
    used = [r.powers.any(axis=0) for r, _ in refined]
    kept: list[tuple[Refined, float]] = []
    for i, (r, limit) in enumerate(refined):
        sound = r.held_out <= min(HELD_OUT * max(r.distance, floor), CAP)
        nearer = any(
            r.distance > 2 * max(other.distance, floor) and np.sum(used[i] & used[j]) > 1
            for j, (other, _) in enumerate(refined)
        )
        if tol is not None:
            sound, nearer = max(r.distance, r.held_out) <= tol, False
        again = any(np.array_equal(r.powers, other.powers) for other, _ in kept)
        if again:
            continue
        if sound and (len(r.vector) <= _few(m) or not nearer):
            kept.append((r, limit))
        else:
            state.nearest = min(state.nearest, r.distance)
            state.reason = "it has many terms and is less clear than a law that was found"
    return kept


def _single(
    u: FloatArray, v: FloatArray, frame: Frame, k: int, degree: int, tol: float | None, state: _State
) -> None:
    """Find what one column obeys by itself, such as being constant: shuffling columns would keep that."""
    alone = _State()
    _explore(evidence_of(u, degree, frame.rounding[k : k + 1], 0), v, frame.offset[k : k + 1], tol, alone)
    d = len(frame.spread)
    powers = Monomials(d, degree).powers
    places = np.flatnonzero(powers.sum(axis=1) == powers[:, k])
    for scaled, relation in zip(alone.known, alone.found, strict=True):
        state.known.append(_spread_out(scaled, places, len(powers)))
        vector = _spread_out(relation.vector, places, len(powers))
        state.found.append(Found(vector, relation.limit, relation.level))
    state.level = max(state.level, alone.level)
    if d == 1:
        state.nearest, state.limit, state.reason = alone.nearest, alone.limit, alone.reason


def _spread_out(vector: FloatArray, places: IntArray, size: int) -> FloatArray:
    wide = np.zeros(size)
    wide[places[: len(vector)]] = vector
    return wide


def _explore(evidence: Evidence, V: FloatArray, offset: FloatArray, tol: float | None, state: _State) -> None:
    """Add relations level by level of noise, and within a level by degree."""
    features = features_of(evidence, V)
    if len(offset) > 1:
        for size in (2, 3):
            _add_simple(features, V, offset, size, CAP if tol is None else tol, state, evidence)
    while True:
        accepted = _accepted(evidence, tol, state)
        if accepted is None:
            return
        before = len(state.known)
        for degree in range(1, evidence.monomials.degree + 1):
            _add(evidence, features, offset, degree, accepted, state)
        if len(state.known) == before:
            state.reason = "it has many terms and is less clear than a law that was found"
            return


@dataclass(frozen=True)
class _Accepted:
    """Polynomials up to a ``level`` are relations; the next is ``beyond``, those below ``limit`` pass."""

    level: float
    beyond: float
    limit: float
    sparse_only: bool


def _accepted(evidence: Evidence, tol: float | None, state: _State) -> _Accepted | None:
    """Return the next level of noise at which there are relations."""
    degree = evidence.monomials.degree
    distances, _ = evidence.directions(evidence.whole, state.known, degree, state.slack)
    ends = np.append(distances, np.inf)
    state.nearest = float(ends[0])
    state.limit = CAP if tol is None else tol
    chance = np.inf
    for r in range(1, len(distances) + 1):
        here, beyond = float(ends[r - 1]), float(ends[r])
        if here > state.limit:
            break
        if beyond < GAP * here and (tol is None or beyond <= tol):
            state.reason = "others come as near, without a gap between"
            continue
        held_out = evidence.held_out(state.known, r, state.slack)
        if tol is not None:
            if held_out <= tol:
                return _Accepted(here, beyond, tol, False)
            state.reason = f"rows that were not used are farther away ({held_out:.2g})"
            continue
        chance = min(chance, evidence.by_chance(state.known, state.slack))
        limit = min(CAP, beyond / GAP, chance / 2)
        if held_out > min(HELD_OUT * here, CAP):
            state.reason = f"rows that were not used are farther away ({held_out:.2g})"
        elif here > limit:
            state.reason = f"columns shuffled apart come as near ({chance:.2g})"
        else:
            return _Accepted(here, beyond, limit, True)
    return None


def _add(
    evidence: Evidence,
    features: Features,
    offset: FloatArray,
    degree: int,
    accepted: _Accepted,
    state: _State,
) -> None:
    """Add the simplest relations of one degree that do not follow from those of lower degrees."""
    level = accepted.level
    slack = _slack(max(state.level, level))
    distances, vectors = evidence.directions(evidence.whole, state.known, degree, slack)
    count = int(np.sum(distances <= min(accepted.limit, np.sqrt(GAP) * level)))
    if not count:
        return
    monomials, m = evidence.monomials, len(vectors)
    known = basis_of(monomials.multiples(state.known, degree), slack)
    space = monomials.shift(offset)[:m, :m] @ np.column_stack([known, vectors[:, :count]])
    back = monomials.shift(-offset)[:m, :m]
    news = vectors[1:, :count].T @ back[1:]
    degrees = monomials.powers[:m].sum(axis=1)
    pad = len(monomials) - m
    for vector in sparse_basis(features, degrees, space, known, news, back, slack):
        wide = np.pad(vector, (0, pad))
        clear = np.count_nonzero(vector) <= _few(m) and accepted.beyond > SECOND_GAP * level
        if accepted.sparse_only and not clear and state.approximates(monomials, wide, level):
            continue
        scaled = back @ vector
        state.known.append(np.pad(scaled / np.linalg.norm(scaled), (0, pad)))
        state.found.append(Found(wide, accepted.limit, level))
        state.level = max(state.level, level)


def _add_simple(
    features: Features,
    V: FloatArray,
    offset: FloatArray,
    size: int,
    cap: float,
    state: _State,
    evidence: Evidence,
) -> None:
    """Add laws of two or three terms that are far nearer to vanishing than all others of so many terms.

    Where a law is smooth on the range of the data, polynomials of many terms come as near as noise lets it
    come itself, and the gap between all polynomials closes. Among those of few terms it stays.
    """
    monomials = evidence.monomials
    fits = _simple(features, monomials, offset, size, state)
    near = [fit for fit in fits if fit[0] <= SAME * fits[0][0]]
    degrees = monomials.powers.sum(axis=1)
    near.sort(
        key=lambda fit: (
            monomials.degree_of(fit[1]),
            int(degrees[fit[1] != 0].sum()),
            fit[0],
            tuple(np.flatnonzero(fit[1])),
        )
    )
    if not near or fits[0][0] > cap:
        return
    level = max(fit[0] for fit in near)
    trial = _State(list(state.known), level=max(state.level, level))
    new = [fit for fit in near if _adds(monomials, trial, fit[2])]
    # All that were looked at may hold, and then it is not known how far the next one is.
    beyond = fits[-1][0] if len(fits) >= LOOKED_AT else np.inf
    for distance, _, scaled in fits[len(near) :]:
        if _adds(monomials, trial, scaled, keep=False):
            beyond = distance
            break
    if not new or level > cap or beyond < SIMPLE_GAP * fits[0][0]:
        return
    limit = min(cap, beyond * SAME / SIMPLE_GAP, _simple_chance(V, offset, size, state, evidence) / GAP)
    if level <= limit:
        state.known, state.level = trial.known, trial.level
        state.found += [Found(vector, limit, level) for _, vector, _ in new]


def _simple(
    features: Features, monomials: Monomials, offset: FloatArray, size: int, state: _State
) -> list[tuple[float, FloatArray, FloatArray]]:
    """Return laws of so many terms by distance: with their coefficients, as written and in scaled form."""
    back = monomials.shift(-offset)
    written = monomials.multiples([relation.vector for relation in state.found], monomials.degree)
    fits = []
    for distance, support, part in simple_fits(features, size, written):
        vector = np.zeros(len(monomials))
        vector[support] = part
        scaled = back @ vector
        fits.append((max(distance, FLOOR), vector, scaled / np.linalg.norm(scaled[1:])))
    return fits


def _simple_chance(V: FloatArray, offset: FloatArray, size: int, state: _State, evidence: Evidence) -> float:
    """Return how near to vanishing so few terms come when columns have nothing to do with each other."""
    rng = np.random.default_rng(1)
    nearest = np.inf
    for _ in range(SIMPLE_SHUFFLES):
        shuffled = features_of(evidence, rng.permuted(V, axis=0))
        fits = _simple(shuffled, evidence.monomials, offset, size, state)
        new = (distance for distance, _, s in fits if _adds(evidence.monomials, state, s, keep=False))
        nearest = min(nearest, next(new, np.inf))
    return nearest


def _adds(monomials: Monomials, state: _State, scaled: FloatArray, *, keep: bool = True) -> bool:
    """Return whether a polynomial is no multiple of known ones; it is then known too, if it is to be kept."""
    known = basis_of(monomials.multiples(state.known, monomials.degree)[1:], state.slack)
    new = np.linalg.norm(scaled[1:] - known @ (known.T @ scaled[1:])) > max(state.slack, 1e-3)
    if new and keep:
        state.known.append(scaled / np.linalg.norm(scaled))
    return bool(new)


def _minimal(state: _State, monomials: Monomials) -> list[Found]:
    """Leave out relations that follow from simpler ones: sums of multiples up to one degree higher."""
    found = state.found
    order = sorted(
        range(len(found)),
        key=lambda i: (np.count_nonzero(found[i].vector), monomials.degree_of(found[i].vector), i),
    )
    kept = list(range(len(found)))
    for i in reversed(order):
        # What is less clear implies nothing clearer.
        rest = [state.known[j] for j in kept if j != i and found[j].level <= SAME * found[i].level]
        if not rest or len(monomials) > MOST_PRODUCTS:
            continue
        slack = _slack(found[i].level)
        basis = basis_of(
            monomials.multiples(rest, min(monomials.degree_of(found[i].vector) + 1, monomials.degree)), slack
        )
        target = np.zeros(len(basis))
        size = min(len(basis), len(state.known[i]))
        target[:size] = state.known[i][:size]
        if np.linalg.norm(target - basis @ (basis.T @ target)) < slack:
            kept.remove(i)
    return [found[i] for i in kept]
