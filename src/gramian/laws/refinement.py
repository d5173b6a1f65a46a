"""The coefficients of one relation as well as the rows determine them, and how well that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.laws.polynomials import reduced
from gramian.laws.sparse import EPS, Features, pruned
from gramian.records import FloatArray, IntArray

__all__ = ["Refined", "columns", "refine"]

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
    """Values and then partial derivatives of the terms on the rows, shape (1 + d, n, s)."""

    powers: IntArray
    facts: FloatArray

    @property
    def values(self) -> FloatArray:
        return np.asarray(self.facts[0])

    @property
    def slopes(self) -> FloatArray:
        return self.facts[1:]

    def part(self, terms: IntArray) -> _Terms:
        return _Terms(self.powers[terms], self.facts[:, :, terms])

    def rows(self, chosen: IntArray) -> _Terms:
        return _Terms(self.powers, self.facts[:, chosen])

    def weights(self, vector: FloatArray) -> FloatArray:
        """Return one over the gradient's length in every row, so that rows weigh as their distance."""
        squares = np.sum((self.slopes @ vector) ** 2, axis=0)
        typical = float(squares.mean())
        least = LEAST_SLOPE**2 * typical if typical else 1.0
        return np.asarray(1 / np.sqrt(np.maximum(squares, least)))

    def features(self, weights: FloatArray, rounding: FloatArray, n_monomials: int) -> Features:
        """Compress the weighted rows to triangles."""
        n, s = self.values.shape
        slopes = self.slopes * weights[:, None]
        return Features(
            values=reduced(self.values * weights[:, None]),
            slopes=reduced(slopes.reshape(-1, s)),
            rounding=reduced((slopes * rounding[:, None, None]).reshape(-1, s)),
            n_rows=n,
            n_monomials=n_monomials,
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


def refine(
    V: FloatArray,
    powers: IntArray,
    vector: FloatArray,
    spread: FloatArray,
    rounding: FloatArray,
    n_monomials: int,
    parts: list[IntArray],
) -> Refined:
    """Fit the coefficients with every row weighted by its distance, and leave out terms that are then idle.

    Plain fits of the values let rows with a long gradient decide. Weights of one over its length make the
    residuals alike, and Taubin's quotient keeps the fit free of the bias that noise has on squares.

    Parameters
    ----------
    V : ndarray of shape (n, d)
        Rows counted from the origin, with spread 1.
    powers : ndarray of shape (s, d)
        The terms, the constant first where there is one.
    vector : ndarray of shape (s,)
        Coefficients to start from.
    spread, rounding : ndarray of shape (d,)
        Of the features.
    n_monomials : int
        How many terms there were to choose from.
    parts : list of ndarray of int
        The rows in parts, for the held-out residual.

    References
    ----------
    P. D. Sampson (1982), Fitting conic sections to "very scattered" data, Computer Graphics and Image
    Processing 18. K. Kanatani (1994), Statistical bias of conic fitting and renormalization, IEEE
    Transactions on Pattern Analysis and Machine Intelligence 16.
    """
    terms = _terms(V, powers)
    vector, features = _weighted(terms, vector, rounding, n_monomials)
    support, vector = pruned(features, vector)
    terms = terms.part(support)
    vector, _ = _weighted(terms, vector, rounding, n_monomials)
    lead = int(np.lexsort((np.arange(len(vector)), -terms.powers.sum(axis=1)))[0])
    vector = vector / vector[lead]
    whole = _distances(terms, [vector], [np.arange(len(V))], spread)
    others = [np.setdiff1d(np.arange(len(V)), part) for part in parts]
    fitted = [_weighted(terms.rows(rest), vector, rounding, n_monomials)[0] for rest in others]
    apart = _distances(terms, fitted, parts, spread)
    # Again, because the weights belong to coefficients of another size.
    features = terms.features(terms.weights(vector), rounding, n_monomials)
    triangle = features.values / np.sqrt(len(V))
    errors = _errors(triangle, vector, lead, len(V))
    return Refined(
        terms.powers, vector, errors, lead, whole[0], apart[0], (whole[1], apart[1]), triangle, len(V)
    )


def _terms(V: FloatArray, powers: IntArray) -> _Terms:
    facts = [columns(V, powers)]
    for k in range(V.shape[1]):
        lower = powers.copy()
        lower[:, k] = np.maximum(lower[:, k] - 1, 0)
        facts.append(columns(V, lower) * powers[:, k])
    return _Terms(powers, np.stack(facts))


def _weighted(
    terms: _Terms, vector: FloatArray, rounding: FloatArray, n_monomials: int
) -> tuple[FloatArray, Features]:
    """Return the coefficients in the largest of which is 1, and the features weighted for them."""
    every = np.arange(len(vector))
    for _ in range(ROUNDS):
        vector = vector / np.abs(vector).max()
        features = terms.features(terms.weights(vector), rounding, n_monomials)
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
