"""A fitted PCA as a normal model: its covariance, and rows that it describes, also with missing values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian.core.arrays import as_float64
from gramian.core.records import BoolArray, FloatArray
from gramian.errors import DataError
from gramian.statistics.imputation import Patterns, grams, grams_of_holes

# Least eigenvalue of P_O.T P_O, which lies between 0 and 1, for least squares to determine all scores.
DETERMINED = 1e-10


@dataclass(frozen=True, eq=False)
class ProjectionQuality:
    """How well the observed entries of rows determine their scores.

    Attributes
    ----------
    scores : ndarray of shape (n, k)
        As ``transform`` returns them.
    observed : ndarray of shape (n,)
        Share of the columns that each row has.
    standard_errors : ndarray of shape (n, k)
        Of the scores, about those of the complete row; NaN where a row determines none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X = load_wine().data
    >>> pca = gramian.PCA(2, scale="unit", missing="em").fit(X)
    >>> row = np.where(np.arange(13) < 6, X[:1], np.nan)
    >>> quality = pca.projection_quality(row)
    >>> quality.observed.round(2), quality.standard_errors.shape
    (array([0.46]), (1, 2))
    """

    scores: FloatArray
    observed: FloatArray
    standard_errors: FloatArray


@dataclass(frozen=True, eq=False)
class NormalModel:
    """A fitted PCA as a normal density of rows, also of rows of which only some entries O are observed.

    Attributes
    ----------
    directions : array of shape (k, d)
        Orthonormal rows, of any kind and dtype.
    variances : ndarray of shape (k,)
        Variance along each; 0 for directions in which the model has noise only.
    noise : float
        Variance along every other direction; 0 stands for the limit.
    center : ndarray of shape (d,)
    divisor : ndarray of shape (d,) or None
        What centred columns are divided by.
    method : str
        "mean" fills holes with ``means``, "projection" is least squares on the observed entries; any other
        name stands for the conditional expectation given them.
    strength : float
        Conditional expectations assume this multiple of the noise.
    means : ndarray of shape (d,) or None

    Notes
    -----
    With ``P`` the directions as columns, ``G = P_O.T P_O``, ``D`` the roots of variances above the noise s,
    and ``M = s I + D G D``, the scores of the conditionally expected row are ``p + (I - G) D inv(M) D p``,
    ``p = P_O.T (x_O - m_O)``. Their covariance about the scores of the complete row is
    ``s (I - G) + s (I - G) D inv(M) D (I - G)``, and that of least squares is ``s (inv(G) - I)``: 0 without
    holes.

    References
    ----------
    Tipping and Bishop (1999), Probabilistic principal component analysis. Nelson, Taylor, MacGregor (1996),
    Missing data methods in PCA and PLS: score calculations with incomplete observations.
    """

    directions: Any
    variances: FloatArray
    noise: float
    center: FloatArray
    divisor: FloatArray | None
    method: str = "em"
    strength: float = 1.0
    means: FloatArray | None = None

    def scores(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return scores and their standard errors, both (n, k); NaN where a row determines none."""
        t, errors, _ = self._mapped(X)
        return t, errors

    def filled(self, X: FloatArray) -> FloatArray:
        """Return X with the model's values at the holes; a row that determines none stays as it is."""
        holes = np.isnan(X)
        divisor = 1.0 if self.divisor is None else self.divisor
        values = (self._mapped(X)[2] @ self._rows) * divisor + self.center
        if self.method == "mean" and self.means is not None:
            values = np.where(np.all(holes, axis=1, keepdims=True), np.nan, self.means)
        return np.where(holes, values, X)

    def deviations_at_holes(self, X: FloatArray) -> FloatArray:
        """Return conditional standard deviations of missing entries, in units of the data; 0 elsewhere.

        With K the conditional covariance of the combination of directions, variances are
        ``noise + p_j.T K p_j``.
        """
        observed, P = ~np.isnan(X), self._rows.T
        k, patterns = P.shape[1], Patterns.of(observed)
        result = np.empty(X.shape)
        for batch, here, which in patterns.batches(k):
            _, K = self._coefficients(grams(patterns.masks[batch], P))
            result[here] = np.maximum(np.einsum("dj,ujl,dl->ud", P, K, P, optimize=True), 0.0)[which]
        result = np.where(observed, 0.0, np.sqrt(result + self._noise))
        return result if self.divisor is None else result * self.divisor

    def observed_log_density(self, X: FloatArray) -> FloatArray:
        """Return the log density of the observed entries of each row, in units of the data.

        Raises
        ------
        DataError
            If the covariance is singular.
        """
        if self._noise <= 0:
            why = "The fitted covariance is singular, so rows with missing values have no likelihood."
            hint = "Ask for fewer components than the rank, so that noise_variance_ is positive."
            raise DataError(why, hint)
        C, observed = self._centered(X)
        patterns, s, D = Patterns.of(observed), self._noise, self._roots
        p, counts = (C @ self._rows.T) * D, observed.sum(axis=1)
        squares, logdet = (C**2).sum(axis=1), np.empty(len(X))
        for batch, here, which in patterns.batches(len(D)):
            M = grams(patterns.masks[batch], self._rows.T * D) + s * np.eye(len(D))
            logdet[here] = np.linalg.slogdet(M)[1][which]
            solved = np.matmul(np.linalg.inv(M)[which], p[here][:, :, None])[:, :, 0]
            squares[here] -= (p[here] * solved).sum(axis=1)
        logdet += (counts - len(D)) * math.log(s) + counts * math.log(2 * math.pi)
        if self.divisor is not None:
            logdet += 2 * (observed @ np.log(self.divisor))
        return np.asarray(-0.5 * (logdet + squares / s))

    @cached_property
    def _rows(self) -> FloatArray:
        return as_float64(self.directions)

    @cached_property
    def _noise(self) -> float:
        # With every direction known, the least variance is what is noise.
        reliable = self._has_rest or not self.variances.size
        return self._above_rounding(self.noise if reliable else max(self.noise, float(self.variances.min())))

    def _above_rounding(self, noise: float) -> float:
        least = 10 * self._rows.shape[1] * np.finfo(float).eps * float(self.variances.max(initial=0.0))
        return noise if noise > least else 0.0

    @cached_property
    def _roots(self) -> FloatArray:
        return np.sqrt(np.maximum(self.variances - self._noise, 0.0))

    def _centered(self, X: FloatArray) -> tuple[FloatArray, BoolArray]:
        observed = ~np.isnan(X)
        C = np.array(X, dtype=np.float64)
        C -= self.center
        if self.divisor is not None:
            C /= self.divisor
        np.copyto(C, 0.0, where=~observed)
        return C, observed

    def _mapped(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return scores, standard errors, and the combination of directions that is expected at the holes."""
        C, observed = self._centered(X)
        P, patterns = self._rows.T, Patterns.of(observed)
        k = P.shape[1]
        p = C @ P
        if self.method == "mean" and self.means is not None:
            p = np.where(observed, C, self._centered(self.means[None, :])[0]) @ P
        scores, errors, expected = np.empty_like(p), np.empty_like(p), np.empty_like(p)
        for batch, here, which in patterns.batches(k):
            G, gone = grams_of_holes(patterns.observed[batch], P)
            B, K = self._coefficients(G)
            B[~patterns.observed[batch].any(axis=1)] = np.nan
            expected[here] = np.matmul(B[which], p[here][:, :, None])[:, :, 0]
            scores[here] = p[here] + np.matmul(gone[which], expected[here][:, :, None])[:, :, 0]
            spread = self._noise * gone + gone @ K @ gone
            diagonal = np.maximum(np.diagonal(spread, axis1=1, axis2=2), 0.0)
            errors[here] = np.where(np.isnan(scores[here]), np.nan, np.sqrt(diagonal)[which])
        return scores, errors, expected

    def _coefficients(self, G: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the map from p to the expected combination of directions, and its covariance K, of patterns.

        G are the products of the directions over observed entries.
        """
        k = G.shape[-1]
        eye, s, D = np.eye(k), self._noise, self._roots
        if self.method == "mean":
            return np.zeros_like(G), np.broadcast_to(np.diag(D**2), G.shape)
        if self.method == "projection":
            possible = np.linalg.eigvalsh(G)[:, 0] > DETERMINED if k else np.ones(len(G), bool)
            B = np.linalg.inv(np.where(possible[:, None, None], G, eye))
            B[~possible] = np.nan
            return B, s * B
        B, K = self._given_noise(G, s)
        shrinkage = self._above_rounding(self.strength * s)
        return (B if shrinkage == s else self._given_noise(G, shrinkage)[0]), K

    def _given_noise(self, G: FloatArray, s: float) -> tuple[FloatArray, FloatArray]:
        """Return ``D inv(s I + D G D) D`` and s times it, or their limits at s = 0."""
        k = G.shape[-1]
        eye, D = np.eye(k), np.sqrt(np.maximum(self.variances - s, 0.0))
        top = float(D.max(initial=0.0)) or 1.0
        E, noise = D / top, s / top**2
        M = G * np.outer(E, E)
        if s > 0:
            B = np.linalg.inv(M + noise * eye) * np.outer(E, E)
            return B, s * B
        inverse = np.linalg.pinv(M, rcond=10 * k * np.finfo(float).eps, hermitian=True)
        return inverse * np.outer(E, E), (eye - inverse @ M) * np.outer(D, D)

    def covariance(self) -> FloatArray:
        """Return ``W.T diag(variance - noise) W + noise I`` in units of the data, shape (d, d)."""
        extra = np.maximum(self.variances - self.noise, 0.0)
        return self._in_data_units(extra, self.noise, inverse=False)

    def precision(self) -> FloatArray:
        """Return the inverse of the covariance by the matrix inversion lemma, shape (d, d)."""
        variances = self._positive_variances()
        rest = 1.0 / self.noise if self._has_rest else 0.0
        return self._in_data_units(1.0 / variances - rest, rest, inverse=True)

    def log_density(self, C: FloatArray) -> FloatArray:
        """Return the log density of centred, scaled rows C of shape (n, d), in units of the data."""
        variances = self._positive_variances()
        k, d = self._rows.shape
        Z = C @ self._rows.T
        distance = np.sum(Z**2 / variances, axis=1)
        logdet = float(np.log(variances).sum())
        if self._has_rest:
            distance += np.maximum(np.sum(C**2, axis=1) - np.sum(Z**2, axis=1), 0.0) / self.noise
            logdet += (d - k) * math.log(self.noise)
        if self.divisor is not None:
            logdet += 2 * float(np.log(self.divisor).sum())
        return np.asarray(-0.5 * (distance + d * math.log(2 * math.pi) + logdet))

    @property
    def _has_rest(self) -> bool:
        return bool(self._rows.shape[0] < self._rows.shape[1])

    def _in_data_units(self, weights: FloatArray, rest: float, *, inverse: bool) -> FloatArray:
        matrix = (self._rows.T * weights) @ self._rows
        matrix.flat[:: matrix.shape[0] + 1] += rest
        if self.divisor is None:
            return np.asarray(matrix)
        scale = 1.0 / self.divisor if inverse else self.divisor
        return np.asarray(matrix * scale[:, None] * scale[None, :])

    def _positive_variances(self) -> FloatArray:
        """Variances along the directions, refused where the covariance has no inverse."""
        variances = np.maximum(self.variances, self.noise)
        if (self._has_rest and self.noise <= 0) or (variances <= 0).any():
            raise DataError(
                f"The fitted covariance is singular ({int((self.variances > 0).sum())} of "
                f"{self.directions.shape[1]} directions have variance), so it has no inverse and no "
                "likelihood. Ask for fewer components than the rank, so that noise_variance_ is positive."
            )
        return variances
