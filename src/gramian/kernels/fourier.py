"""Random Fourier features: few features for the Gaussian kernel in any dimension, right on average."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.arrays import from_numpy, memory_limit_bytes, namespace
from gramian.errors import DataError, ParameterError
from gramian.kernels.arithmetic import is_number
from gramian.kernels.maps import (
    EPS,
    FeatureMap,
    check_gamma,
    check_labels,
    check_origin,
    gaussian_gram,
    largest_norm,
)
from gramian.records import BoundKind, FloatArray

__all__ = ["FourierFeatureMap", "fourier_map", "frequencies"]

# The probability with which the bound of a measured error holds for all pairs at once.
CONFIDENCE = 0.99
# Largest rounding error of a phase, in radians, before cos and sin say nothing about the row.
WORST_PHASE = 1e-3


class FourierFeatureMap(FeatureMap):
    """[cos(w_j . x), sin(w_j . x)] / sqrt(m), j = 1 ... m; made by :func:`fourier_map`.

    Attributes
    ----------
    frequencies : ndarray of shape (m, d)
        The w_j.
    offset : float or None
        With an odd number of features the last frequency has one, sqrt(2) cos(w_m . x + offset): right on
        average over a uniform offset.
    gamma : ndarray of shape (d,)
    independent : float
        Number of draws on which the Hoeffding bound rests: all frequencies, or, where they were drawn
        orthogonal in groups of d, the number of whole groups; a little less with an offset.
    """

    kind: BoundKind = "probabilistic"

    def __init__(
        self,
        labels: tuple[str, ...],
        frequencies: FloatArray,
        gamma: FloatArray,
        offset: float | None,
        orthogonal: bool,
        origin: FloatArray | None,
    ) -> None:
        super().__init__(labels, None, origin)
        self.frequencies = frequencies
        self.gamma = gamma
        self.offset = offset
        m, d = frequencies.shape
        self.independent = float(max(1, m // d) if orthogonal else m)
        if offset is not None:
            # The last draw lies in [-2, 2], the others in [-1, 1]: Hoeffding's sum of squared ranges.
            alike = (m - 1) // d + 1 if orthogonal else m
            self.independent = min(self.independent, alike**2 / (alike + 3))
        same = bool((gamma == gamma[0]).all())
        self.formula = f"exp(-{gamma[0]:.6g} |x - y|^2)" if same else "exp(-sum gamma_i (x_i - y_i)^2)"
        self.reason = (
            f"Random features are right on average; the bound is Hoeffding's for {self.independent:.4g} "
            f"independent draws and holds for all pairs at once with probability {CONFIDENCE:g} over "
            "random_state."
        )

    def __len__(self) -> int:
        return 2 * len(self.frequencies) - (self.offset is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features: cos(w1.x), ..., sin(w1.x), ..."""
        count = range(1, len(self) // 2 + 1)
        pairs = [f"{function}(w{j}.x)" for function in ("cos", "sin") for j in count]
        last = [] if self.offset is None else [f"sqrt(2) cos(w{len(self.frequencies)}.x + b)"]
        return tuple(pairs + last)

    def kernel(self, X: Any, Y: Any = None) -> FloatArray:
        return gaussian_gram(X, Y, self.gamma)

    def _features(self, Z: Any) -> Any:
        rounding = self._phase_rounding(largest_norm(Z))
        if not rounding <= WORST_PHASE:
            raise DataError(
                f"Rows lie so far from the origin that w . x is rounded by {rounding:.1g} radians, which "
                "leaves its cosine no digits. Centre or scale the data, remove outliers, or lower gamma."
            )
        xp = namespace(Z)
        phases = Z @ from_numpy(self.frequencies.T, Z)
        pairs = len(self) // 2
        parts = [xp.cos(phases[:, :pairs]), xp.sin(phases[:, :pairs])]
        if self.offset is not None:
            parts.append(math.sqrt(2.0) * xp.cos(phases[:, pairs:] + self.offset))
        return xp.concat(parts, axis=1) * (1.0 / math.sqrt(len(self.frequencies)))

    def _phase_rounding(self, radius: float) -> float:
        longest = math.sqrt(float((self.frequencies**2).sum(axis=1).max()))
        return EPS * (self.n_features_in + 2) * radius * longest

    def error_bound(self, pairs: int = 1, confidence: float = CONFIDENCE) -> float:
        """Bound ``|phi(x) . phi(y) - k(x, y)|`` for given pairs of rows, all at once.

        Parameters
        ----------
        pairs : int
            Number of pairs (x, y), chosen without looking at the frequencies.
        confidence : float
            Probability, over the draw of the frequencies, with which the bound holds.

        Notes
        -----
        phi(x) . phi(y) is the mean of cos(w_j . (x - y)), each in [-1, 1] with mean k(x, y): Hoeffding's
        inequality and a union over the pairs. Of frequencies that are orthogonal in groups of d, only those
        at the same place of different groups are independent; the mean over places obeys the same bound with
        the number of groups (Hoeffding 1963, section 5). This is what is proven: their error is smaller than
        that of independent ones (Yu et al. 2016), which the measured error shows and the bound does not.

        References
        ----------
        Hoeffding (1963), Probability inequalities for sums of bounded random variables, theorem 2.
        Rahimi and Recht (2007), Random features for large-scale kernel machines, claim 1.
        """
        if not is_number(pairs) or pairs < 1:
            raise ParameterError(f"pairs={pairs!r} must be a positive whole number.")
        if not is_number(confidence) or not 0 < confidence < 1:
            raise ParameterError(f"confidence={confidence!r} must lie between 0 and 1, such as 0.99.")
        bound = math.sqrt(2.0 * math.log(2.0 * pairs / (1.0 - confidence)) / self.independent)
        return min(bound, self._largest_gap)

    @property
    def _largest_gap(self) -> float:
        """A mean of cosines and a kernel value lie within [-1, 1]; a draw with an offset within [-2, 2]."""
        return 2.0 if self.offset is None else 2.0 + 1.0 / len(self.frequencies)

    def _bound(self, radius: float, pairs: int, eps: float) -> float:
        rounding = 4 * self._phase_rounding(radius) + 2 * (len(self) + 16) * EPS + 4 * eps
        return min(self.error_bound(pairs) + rounding, self._largest_gap)


def fourier_map(
    n_features: int,
    *,
    n_components: int = 100,
    gamma: Any = None,
    sigma: Any = None,
    orthogonal: bool = True,
    rng: np.random.Generator | int | None = None,
    origin: Any = None,
    names: Sequence[str] | None = None,
) -> FourierFeatureMap:
    """Return random Fourier features of the Gaussian kernel exp(-sum_i gamma_i (x_i - y_i)^2).

    By Bochner's theorem the kernel is the mean of cos(w . (x - y)) over normal w of variances 2 gamma_i;
    m = n_components / 2 of them give ``[cos(w_j . x), sin(w_j . x)] / sqrt(m)``.

    Parameters
    ----------
    n_features : int
        d, at least 1.
    n_components : int
        Number of features; an even number wastes none: they come in pairs of cosine and sine.
    gamma : float, array of shape (d,) or None
        1 / (2 sigma^2); None takes 1 / n_features.
    sigma : float, array of shape (d,) or None
        The same as a width, in units of the data; give one of the two.
    orthogonal : bool
        Draw frequencies orthogonal to each other in groups of d, with the lengths of normal vectors: as
        right on average, and closer to it.
    rng : numpy Generator, int or None
        Source of the frequencies.
    origin : array of shape (d,), optional
        Subtracted from rows first, which leaves the kernel as it is and large phases exact.

    References
    ----------
    Rahimi and Recht (2007), Random features for large-scale kernel machines.
    Yu, Suresh, Choromanski, Holtmann-Rice and Kumar (2016), Orthogonal random features, theorem 1.

    Examples
    --------
    >>> phi = fourier_map(2, n_components=1000, gamma=0.5, rng=0)
    >>> phi.kernel_error([[0.0, 0.0], [1.0, 1.0]]).maximum < 0.1
    True
    """
    labels = check_labels(n_features, names)
    whole = is_number(n_components) and float(n_components).is_integer()
    if not whole or n_components < 1:
        raise ParameterError(f"n_components={n_components!r} must be a whole number of features, at least 1.")
    need, limit = 4 * int(n_components) * len(labels), memory_limit_bytes(None)
    if need > limit:
        raise ParameterError(
            f"n_components={n_components} frequencies of {len(labels):,} features take {need / 1e9:,.1f} GB, "
            f"more than the {limit / 1e9:,.1f} GB that may be used. Ask for fewer."
        )
    factors = check_gamma(gamma, len(labels), several=True, sigma=sigma)
    start = check_origin(origin, len(labels))
    source = np.random.default_rng(rng)
    count, odd = divmod(int(n_components), 2)
    drawn = frequencies(count + odd, len(labels), orthogonal=bool(orthogonal), rng=source)
    offset = float(source.uniform(0.0, 2.0 * math.pi)) if odd else None
    return FourierFeatureMap(labels, drawn * np.sqrt(2.0 * factors), factors, offset, bool(orthogonal), start)


def frequencies(count: int, d: int, *, orthogonal: bool, rng: np.random.Generator) -> FloatArray:
    """Return standard normal vectors, shape (count, d): independent, or orthogonal in groups of d."""
    if not orthogonal:
        return rng.standard_normal((count, d))
    groups = []
    for start in range(0, count, d):
        size = min(d, count - start)
        Q, R = np.linalg.qr(rng.standard_normal((d, size)))
        # The signs make the columns uniform on the sphere (Mezzadri 2007).
        groups.append((Q * np.where(np.diag(R) < 0, -1.0, 1.0)).T)
    # Lengths of independent normal vectors, so that each row is normal.
    lengths = np.sqrt(rng.chisquare(d, size=count))
    return np.concatenate(groups) * lengths[:, None]
