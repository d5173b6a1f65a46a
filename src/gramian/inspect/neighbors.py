"""Which rows keep their nearest neighbours in the scores, whatever the errors of the scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from gramian.arrays import as_float64
from gramian.checks import slices
from gramian.data import Block, Rows
from gramian.errors import DataError
from gramian.operators.costs import TableCosts
from gramian.operators.scatter import product_error
from gramian.records import FloatArray, SolveRequest, Target
from gramian.solve import LinearProblem, solve

ROWS = 2048  # whose distances are recomputed at once
UNIT = float(np.finfo(np.float64).eps) / 2
EXACT, FAR = 1e-9, 0.1  # a tolerance for float64, and a share of scores that no rounding makes


@dataclass(frozen=True, eq=False)
class NeighborsMargin:
    """How certain the nearest neighbours of each row are.

    Attributes
    ----------
    margin : ndarray of shape (n_samples,)
        Distance between the nearest row that is not a neighbour and the farthest neighbour, less all that
        errors of the scores can change of it. Infinite where every other row is a neighbour.
    error : ndarray of shape (n_samples,)
        Bound on the error of the scores of each row, up to a rotation of all rows alike.
    sine : float
        Bound on the sine of the largest angle between the subspace of the components and the exact one.
    n_neighbors : int
        Number of neighbours, the row itself included.
    """

    margin: FloatArray
    error: FloatArray
    sine: float
    n_neighbors: int

    @property
    def certain(self) -> npt.NDArray[np.bool_]:
        """Whether the neighbours of each row are those in the exact scores."""
        return self.margin > 0

    @property
    def share(self) -> float:
        """Share of the rows whose neighbours are not certain."""
        return float(1.0 - self.certain.mean())

    def __str__(self) -> str:
        return (
            f"{np.count_nonzero(~self.certain):,} of {self.margin.size:,} rows ({self.share:.2%}) have "
            f"neighbours that hang on the last digits: the subspace is known to a sine of {self.sine:.1e}, "
            f"the median score to {np.median(self.error):.1e}."
        )


@dataclass(eq=False)
class _InDouble(LinearProblem):
    """A table whose matrix is made in float64, so that its error has a bound and no estimate."""

    @property
    def costs(self) -> TableCosts:
        return replace(super().costs, quick=True)


def score_errors(
    rows: Rows, directions: Any, scores: Any, *, center: bool, memory_limit: int
) -> tuple[FloatArray, float]:
    """Bound the errors of scores, whoever computed them.

    Parameters
    ----------
    rows : Rows of shape (n, d)
    directions : array of shape (d, k)
        Nearly orthonormal.
    scores : array of shape (n, k)
    center : bool
        Whether they are those of the centred rows.
    memory_limit : int

    Returns
    -------
    errors : ndarray of shape (n,)
        With the exact scores ``V.T c`` and one rotation U, ``||scores - U V.T c|| <= errors``.
    sine : float
        Bound on the sine of the largest angle between the spans of ``directions`` and V.

    Raises
    ------
    DataError
        If the scores are not those of these rows and directions.

    Notes
    -----
    Let Q be the orthonormal matrix nearest to the directions, turned so that ``H = Q.T S Q`` of the scatter
    matrix S is diagonal, and l the largest eigenvalue of S beyond the first k. With the orthonormal
    complement W of V, ``W.T S W`` is at most l, and column j of ``X = W.T Q`` solves
    ``(W.T S W - H[j, j]) x = W.T r`` with the residual ``r = S q - H[j, j] q``. Hence the sine ``||X||_2`` is
    at most ``s``, the root of the sum of squares of ``||r|| / (H[j, j] - l)``, as Davis and Kahan (1970)
    prove the sin theta theorem. The cosines of the principal angles are the singular values of ``V.T Q``;
    with the rotation U of its polar form ``U V.T Q`` differs from I by at most ``1 - sqrt(1 - s^2)``, so that
    the exact score of a centred row c differs from ``Q.T c`` by at most that times ``||Q.T c||`` and s times
    ``||c - Q Q.T c||``. The difference between the scores and ``Q.T c`` is measured in float64, with a bound
    on the rounding of that.
    """
    problem, k = _InDouble(rows, center=center, ddof=0), scores.shape[1]
    left, _, right = np.linalg.svd(as_float64(directions), full_matrices=False)
    Q = left @ right
    request = SolveRequest(Target(), EXACT, memory_limit, vectors=False, certify=False)
    spectrum = solve(problem, request).spectrum
    view = problem.measured().multiplied_in(double=True)
    T = view.times(Q)
    SQ = view.transposed_times(T)
    H = T.T @ T
    off, _ = product_error(view, rows.shape[0], view.thin, products=2)
    beyond = float(spectrum.values[k]) if spectrum.values.size > k else 0.0
    sine = 0.0
    if k < rows.shape[1]:
        values, turned = np.linalg.eigh(H)
        gaps = values - off - beyond - spectrum.error_bound
        residuals = np.linalg.norm((SQ - Q @ (Q.T @ SQ)) @ turned, axis=0) + 2 * off
        sine = min(1.0, float(np.linalg.norm(residuals / gaps))) if gaps[0] > 0 else 1.0
    mean, unit = view.mean, math.ldexp(1.0, view.exponent)

    def lengths(block: Block) -> FloatArray:
        """Squares of the norms of centred rows, and norms of the numbers that they are differences of."""
        values = block.values
        if not issparse(values):
            values = as_float64(values) / unit
            gross = np.linalg.norm(values, axis=1)
            return np.column_stack([((values - mean) ** 2).sum(axis=1), gross])
        values = values / unit
        squares = np.asarray(values.multiply(values).sum(axis=1)).ravel()
        return np.column_stack([squares - 2 * (values @ mean) + mean @ mean, np.sqrt(squares)])

    squares, gross = rows.map(lengths).T
    gross = gross + math.sqrt(mean @ mean)
    rounding = (rows.shape[1] + 10) * UNIT * gross
    inside = np.linalg.norm(T, axis=1)
    outside = np.sqrt(np.maximum(squares - inside**2, 0.0) + 4 * rounding * gross)
    measured = np.linalg.norm(as_float64(scores) / unit - T, axis=1)
    if np.median(measured) > FAR * np.median(inside):
        raise DataError(
            "The scores are not those of this data and these components: they differ by "
            f"{np.median(measured) / (np.median(inside) or 1.0):.2g} of their size.",
            "Compute them again from the data as they are now, without a scale or weights.",
        )
    errors = measured + rounding + sine * outside + (1.0 - math.sqrt(1.0 - sine**2)) * inside
    return errors * unit, sine


def neighbor_margins(scores: FloatArray, errors: FloatArray, n_neighbors: int) -> FloatArray:
    """Return by how much the neighbours of each row are nearer than all others, errors taken off.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
    errors : ndarray of shape (n,)
        The distance of rows i and j is known to ``errors[i] + errors[j]``.
    n_neighbors : int
        The row itself included, from 2 to n.

    Notes
    -----
    scikit-learn finds twice as many neighbours, and their distances are computed again as norms of
    differences. Every other row is at least as far as the last of them, but for the rounding of products,
    and has at most the largest error.
    """
    from sklearn.neighbors import NearestNeighbors

    n, k = scores.shape
    count = n_neighbors - 1
    more = min(n - 1, 2 * count + 10)
    if count == n - 1:
        return np.full(n, np.inf)
    found = NearestNeighbors(n_neighbors=more, algorithm="brute").fit(scores)
    far, others = found.kneighbors()
    size = np.linalg.norm(scores, axis=1)
    slack = 4 * (k + 8) * UNIT * (size + size.max()) ** 2
    beyond = np.sqrt(np.maximum(far[:, -1] ** 2 - slack, 0.0)) - errors.max()
    result = np.empty(n)
    for some in slices(n, ROWS):
        distances = np.linalg.norm(scores[others[some]] - scores[some, None], axis=2)
        order = np.argsort(distances, axis=1, kind="stable")
        distances = np.take_along_axis(distances, order, axis=1)
        own = np.take_along_axis(errors[others[some]], order, axis=1)
        inner = (distances + own)[:, :count].max(axis=1)
        outer = (distances - own)[:, count:].min(axis=1)
        if more < n - 1:
            outer = np.minimum(outer, beyond[some])
        result[some] = outer - inner - 2 * errors[some]
    return result
