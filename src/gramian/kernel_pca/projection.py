"""How kernel PCA maps a new row to scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gramian import arrays
from gramian.checks import slices
from gramian.data import Rows
from gramian.data.device import tile_length
from gramian.kernel_pca.scaling import Standardisation
from gramian.kernels import Evaluator, Kernel
from gramian.kernels.feature_maps import FeatureMap
from gramian.records import FloatArray

BLOCK = 480  # new rows mapped at a time by one worker


@dataclass(frozen=True, eq=False)
class KernelProjection:
    """The map of kernel PCA: scores are ``k(x, nodes) @ coefficients - offset``.

    Attributes
    ----------
    kernel : Kernel or None
        None where rows hold kernel values already.
    nodes : array or sparse matrix of shape (m, d), or None
        Fitted rows or landmarks; None where functions of a row take the place of k(x, nodes).
    mapping : FeatureMap or None
        Those functions.
    coefficients : ndarray of shape (m, k)
    offset : ndarray of shape (k,)
        What the mean of the fitted rows has; 0 without centring.
    weights : ndarray of shape (m,)
        The mean of the fitted rows in feature space, as a combination of the nodes; 0 without centring.
    precision : float
        Error of a kernel value, relative to the largest, that is allowed.
    centered : bool
        Whether the kernel may take another origin.
    scaling : Standardisation or None
        What new rows go through first; nodes and mapping are of standardised rows.
    """

    kernel: Kernel | None
    nodes: Any
    mapping: FeatureMap | None
    coefficients: FloatArray
    offset: FloatArray
    weights: FloatArray
    precision: float
    centered: bool
    scaling: Standardisation | None = None

    def bound(self, nodes: Any) -> Evaluator:
        """Return the kernel on the nodes, wherever they are, as it was when the model was fitted."""
        assert self.kernel is not None
        return self.kernel.bind(nodes, self.precision, centered=self.centered)

    def scores(self, rows: Rows) -> Any:
        """Return the scores of rows, shape (n, k); the kernel matrix is filled tile by tile."""
        xp, like = rows.xp, rows.like
        work = self._block_scores(rows)
        size = BLOCK if arrays.is_numpy(like) else tile_length(like)
        blocks = slices(rows.shape[0], size)
        parts = arrays.parallel_map(work, blocks, like=like, part="block of rows")
        scores = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
        with np.errstate(over="ignore"):
            scores = arrays.to_dtype(scores - arrays.from_numpy(self.offset, like), rows.dtype)
        return arrays.require_range(scores, "Scores")

    def _block_scores(self, rows: Rows) -> Callable[[slice], Any]:
        """Return the function that maps a slice of new rows to uncentred scores."""
        alpha, scaling = arrays.from_numpy(self.coefficients, rows.like), self.scaling

        def values_of(part: slice) -> Any:
            values = rows.block(part).values
            return values if scaling is None else scaling.apply(values, rows.dtype)

        if self.kernel is None:
            return lambda part: arrays.to_float64(values_of(part)) @ alpha
        if self.mapping is not None:
            features = self.mapping
            return lambda part: features.evaluate(arrays.dense(values_of(part))) @ alpha
        sparse = issparse(self.nodes)
        fitted = self.nodes if sparse else arrays.moved(self.nodes, rows.like)
        evaluator = self.bound(fitted)
        _, right = evaluator.encode(fitted)
        # Sparse factors are NumPy's, wherever the new rows are.
        factors = self.coefficients if sparse else alpha
        size = 2 * BLOCK if arrays.is_numpy(rows.like) else tile_length(rows.like)

        def work(part: slice) -> Any:
            left, _ = evaluator.encode(arrays.alike(values_of(part), fitted))
            return arrays.moved(evaluator.times(left, right, factors, size), rows.like)

        return work
