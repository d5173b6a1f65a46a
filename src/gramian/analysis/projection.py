"""How a new row is mapped to scores, and scores are mapped back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from gramian.analysis.incomplete import IncompleteRows
from gramian.analysis.whitening import divided, multiplied
from gramian.arrays import (
    alike,
    as_float64,
    dense,
    from_numpy,
    is_numpy,
    moved,
    numpy_dtype,
    parallel_map,
    require_range,
    to_dtype,
    to_float64,
    to_numpy,
)
from gramian.checks import NAMES_SHOWN, counted, slices
from gramian.errors import MissingValuesWarning
from gramian.kernels import Evaluator, Kernel
from gramian.kernels.feature_maps import FeatureMap
from gramian.operators.centered import CenteredRows
from gramian.operators.kernel_source import cross_times
from gramian.records import FloatArray
from gramian.rows import Rows
from gramian.rows.kinds.device import tile_length
from gramian.rows.rows import row_text

HOLED = 1 << 22  # entries of rows with missing values that are mapped at a time
BLOCK = 480  # new rows mapped at a time by one worker


@dataclass(frozen=True, eq=False)
class LinearProjection:
    """The affine map of PCA, in both directions.

    Parameters
    ----------
    directions : array of shape (k, d)
        Orthonormal rows.
    center : ndarray of shape (d,)
        Subtracted from every row.
    divisor : ndarray of shape (d,) or None
        What centred columns are divided by.
    deviations : ndarray of shape (k,) or None
        Standard deviations that whitening divides scores by; 0 gives scores of 0.
    rank : int
        Scores beyond it are exactly 0.
    incomplete : IncompleteRows or None
        How rows with missing values are mapped; None raises a DataError for them.
    """

    directions: Any
    center: FloatArray
    divisor: FloatArray | None
    deviations: FloatArray | None
    rank: int
    incomplete: IncompleteRows | None = None

    def centered(self, rows: Rows) -> CenteredRows:
        """Return new rows as the model centres and scales them."""
        return CenteredRows(rows, self.center, self.divisor, 0, np.zeros(1), 0.0)

    def centered_blocks(self, rows: Rows, *, double: bool = False) -> Iterator[FloatArray]:
        """Yield a few of these rows at a time, in NumPy; ``double`` computes in float64."""
        view = replace(self.centered(rows), double=double)
        for some in view.row_slices():
            yield as_float64(view.block(some, slice(None)))

    def scores(self, rows: Rows) -> Any:
        """Return the scores of rows, shape (n, k).

        Raises
        ------
        DataError
            For NaN where rows with missing values are not mapped, for infinity, and where a score is beyond
            the range of the rows' dtype.
        """
        view = self.centered(rows)
        # One memory layout, so that a model read from a file gives the same bits.
        W = np.ascontiguousarray(to_numpy(self.directions).T, dtype=view.arithmetic)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = to_dtype(view.times(from_numpy(W, rows.like)), rows.dtype)
            finite = bool(rows.xp.isfinite(rows.xp.sum(rows.xp.abs(scores))))
        # A NaN in a row shows in its scores, so one look at them replaces a pass over the data.
        if not finite:
            rows.require_finite(holes=self.incomplete is not None)
            scores = self._with_holes(rows, scores)
        scores[:, self.rank :] = 0
        return self.whitened(scores)

    def _with_holes(self, rows: Rows, scores: Any) -> Any:
        """Replace the scores of rows with missing values by those that their observed entries determine."""
        results = np.array(to_numpy(scores))
        complete = np.ones(len(results), dtype=bool)
        for places, X in incomplete_rows(rows, np.flatnonzero(~np.isfinite(results).all(axis=1))):
            assert self.incomplete is not None
            complete[places] = False
            results[places, : self.rank] = self.incomplete.scores(X)[0]
        require_range(results[complete], "Scores")  # or only their sum is beyond the range
        warn_of_undetermined(rows, np.flatnonzero(np.isnan(results[:, : max(1, self.rank)]).any(axis=1)))
        return from_numpy(results, scores)

    def whitened(self, scores: Any) -> Any:
        """Return scores divided by their standard deviations, where whitening is asked for."""
        return scores if self.deviations is None else divided(scores, self.deviations)

    def back(self, scores: Any) -> Any:
        """Return ``center + divisor * (scores . directions)``, shape (n, d).

        Raises
        ------
        DataError
            Where a row is beyond the range of the scores' dtype.
        """
        dtype = numpy_dtype(scores)

        def like(values: Any) -> Any:
            return from_numpy(np.ascontiguousarray(values, dtype=dtype), scores)

        with np.errstate(over="ignore", invalid="ignore"):
            if self.deviations is not None:
                scores = multiplied(scores, self.deviations)
            rows = scores @ like(to_numpy(self.directions))
            if self.divisor is not None:
                rows = rows * like(self.divisor)[None, :]
            rows = rows + like(self.center)[None, :]
        return require_range(rows, "Rows of these scores")


def incomplete_rows(
    rows: Rows, places: npt.NDArray[np.intp] | None = None
) -> Iterator[tuple[npt.NDArray[np.intp], FloatArray]]:
    """Yield those of some rows, or of all, that have missing values, block by block, with their numbers."""
    if places is None:
        holes = rows.holes()
        places = np.array(sorted(holes.by_row if holes else ()), dtype=np.intp)
    for part in slices(len(places), max(1, HOLED // rows.shape[1])):
        X = as_float64(dense(rows.at(places[part])))
        with_holes = np.isnan(X).any(axis=1)
        if with_holes.any():
            yield places[part][with_holes], X[with_holes]


def warn_of_undetermined(rows: Rows, places: npt.NDArray[np.intp]) -> None:
    """Warn of rows whose observed entries determine no scores."""
    if not len(places):
        return
    names = [row_text(rows, int(place)) for place in places[:NAMES_SHOWN]]
    more = f" and {len(places) - NAMES_SHOWN} more" if len(places) > NAMES_SHOWN else ""
    warnings.warn(
        f"{counted(len(places), 'row has', 'rows have')} too few observed entries to determine scores, which "
        f"are NaN: {', '.join(names)}{more}. Leave such rows out, or measure more of their columns.",
        MissingValuesWarning,
        stacklevel=2,
    )


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
    """

    kernel: Kernel | None
    nodes: Any
    mapping: FeatureMap | None
    coefficients: FloatArray
    offset: FloatArray
    weights: FloatArray
    precision: float
    centered: bool

    def bound(self, nodes: Any) -> Evaluator:
        """Return the kernel on the nodes, wherever they are, as it was when the model was fitted."""
        assert self.kernel is not None
        return self.kernel.bind(nodes, self.precision, centered=self.centered)

    def scores(self, rows: Rows) -> Any:
        """Return the scores of rows, shape (n, k); the kernel matrix is filled tile by tile."""
        xp, like = rows.xp, rows.like
        work = self._block_scores(rows)
        n = rows.shape[0]
        size = BLOCK if is_numpy(like) else tile_length(like)
        slices = [slice(start, min(n, start + size)) for start in range(0, n, size)]
        if is_numpy(like):
            parts = parallel_map(work, slices, part="block of rows")
        else:
            parts = [work(part) for part in slices]
        scores = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
        with np.errstate(over="ignore"):
            scores = to_dtype(scores - from_numpy(self.offset, like), rows.dtype)
        return require_range(scores, "Scores")

    def _block_scores(self, rows: Rows) -> Callable[[slice], Any]:
        """Return the function that maps a slice of new rows to uncentred scores."""
        alpha = from_numpy(self.coefficients, rows.like)
        if self.kernel is None:
            return lambda part: to_float64(rows.block(part).values) @ alpha
        if self.mapping is not None:
            features = self.mapping
            return lambda part: features.evaluate(rows.block(part).dense) @ alpha
        sparse = issparse(self.nodes)
        fitted = self.nodes if sparse else moved(self.nodes, rows.like)
        evaluator = self.bound(fitted)
        _, right = evaluator.encode(fitted)
        # Sparse factors are NumPy's, wherever the new rows are.
        factors = self.coefficients if sparse else alpha
        size = 2 * BLOCK if is_numpy(rows.like) else tile_length(rows.like)

        def work(part: slice) -> Any:
            left, _ = evaluator.encode(alike(rows.block(part).values, fitted))
            return moved(cross_times(evaluator, left, right, factors, size), rows.like)

        return work
