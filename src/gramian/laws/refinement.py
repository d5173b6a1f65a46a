"""The coefficients of one relation as well as the rows determine them, and how well that is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gramian.laws.equations import term_order
from gramian.laws.frames import Frame
from gramian.laws.points import Points
from gramian.laws.polynomials import reduced
from gramian.laws.sparse import EPS, Features, pruned
from gramian.records import FloatArray, IntArray

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

    With them how often each row counts, by the root of which all is multiplied, the rounding of each feature,
    and how many terms there were to choose from.
    """

    powers: IntArray
    facts: FloatArray
    counts: FloatArray
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
        return replace(self, facts=self.facts[:, chosen], counts=self.counts[chosen])

    def weights(self, vector: FloatArray) -> FloatArray:
        """Return one over the gradient's length in every row, so that rows weigh as their distance."""
        squares = np.sum((self.slopes @ vector) ** 2, axis=0) / self.counts
        typical = float(np.average(squares, weights=self.counts))
        least = LEAST_SLOPE**2 * typical if typical else 1.0
        return np.asarray(1 / np.sqrt(np.maximum(squares, least)))

    def features(self, vector: FloatArray) -> Features:
        """Compress the rows, weighted for a polynomial, to triangles."""
        weights = self.weights(vector)
        s = self.values.shape[1]
        slopes = self.slopes * weights[:, None]
        return Features(
            values=reduced(self.values * weights[:, None]),
            slopes=reduced(slopes.reshape(-1, s)),
            rounding=reduced((slopes * self.rounding[:, None, None]).reshape(-1, s)),
            n_rows=round(float(self.counts.sum())),
            n_monomials=self.n_monomials,
            first_is_constant=not self.powers[0].any(),
        )


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
    terms = _terms(V, powers, frame.rounding, n_monomials)
    vector, features = _weighted(terms, vector)
    support, vector = pruned(features, vector)
    terms = terms.part(support)
    vector, _ = _weighted(terms, vector)
    lead = int(term_order(terms.powers)[0])
    vector = vector / vector[lead]
    every = np.arange(len(V.values))
    whole = _distances(terms, [vector], [every], frame.spread)
    others = [np.setdiff1d(every, part) for part in V.parts]
    fitted = [_weighted(terms.rows(rest), vector)[0] for rest in others]
    apart = _distances(terms, fitted, V.parts, frame.spread)
    # Again, because the weights belong to coefficients of another size.
    triangle = terms.features(vector).values / np.sqrt(V.n)
    errors = _errors(triangle, vector, lead, V.n)
    return Refined(
        terms.powers, vector, errors, lead, whole[0], apart[0], (whole[1], apart[1]), triangle, V.n
    )


def _terms(points: Points, powers: IntArray, rounding: FloatArray, n_monomials: int) -> _Terms:
    V = points.values
    facts = [columns(V, powers)]
    for k in range(V.shape[1]):
        lower = powers.copy()
        lower[:, k] = np.maximum(lower[:, k] - 1, 0)
        facts.append(columns(V, lower) * powers[:, k])
    each = np.sqrt(points.counts)[:, None]
    return _Terms(powers, np.stack(facts) * each, points.counts, rounding, n_monomials)


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
    terms: _Terms, vectors: list[FloatArray], parts: list[IntArray], spread: FloatArray
) -> tuple[float, float]:
    """Return the root mean square of values over that of gradients: in units of spread, and of the data."""
    values = 0.0
    slopes = np.zeros(len(spread))
    for vector, part in zip(vectors, parts, strict=True):
        some = terms.rows(part)
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
