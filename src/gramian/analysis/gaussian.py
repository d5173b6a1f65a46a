"""Probabilistic PCA: the Gaussian that components, their variances and one noise variance describe."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gramian.errors import DataError
from gramian.records import FloatArray


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal density with variances along k directions and one noise variance in all others.

    Parameters
    ----------
    directions : ndarray of shape (k, d)
        Orthonormal rows.
    variances : ndarray of shape (k,)
        Variance along each.
    noise : float
        Variance along every other direction.
    divisor : ndarray of shape (d,) or None
        What the data was divided by before the directions were found.

    References
    ----------
    Tipping and Bishop (1999), Probabilistic principal component analysis.
    """

    directions: FloatArray
    variances: FloatArray
    noise: float
    divisor: FloatArray | None

    def covariance(self) -> FloatArray:
        """Return ``W.T diag(variance - noise) W + noise I`` in units of the data, shape (d, d)."""
        W = self.directions
        extra = np.maximum(self.variances - self.noise, 0.0)
        return self._in_data_units(W, extra, self.noise, inverse=False)

    def precision(self) -> FloatArray:
        """Return the inverse of the covariance by the matrix inversion lemma, shape (d, d)."""
        variances = self._positive_variances()
        rest = 1.0 / self.noise if self._has_rest else 0.0
        return self._in_data_units(self.directions, 1.0 / variances - rest, rest, inverse=True)

    def log_density(self, C: FloatArray) -> FloatArray:
        """Return the log density of centred, scaled rows C of shape (n, d), in units of the data."""
        variances = self._positive_variances()
        k, d = self.directions.shape
        Z = C @ self.directions.T
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
        return bool(self.directions.shape[0] < self.directions.shape[1])

    def _in_data_units(self, W: FloatArray, weights: FloatArray, rest: float, *, inverse: bool) -> FloatArray:
        matrix = (W.T * weights) @ W
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
