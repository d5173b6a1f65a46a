"""What is measured of the rows: monomials of all of them, of parts, and of columns shuffled apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.laws.points import Points
from gramian.laws.polynomials import Monomials, reduced, triangle
from gramian.laws.sparse import Features
from gramian.records import FloatArray

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
